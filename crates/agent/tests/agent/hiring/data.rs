//! The data that a model within the process is shown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use guildhall_agent::{
    Attempt, Heard, HeardReport, Hired, History, Model, Prompt, PromptData, Reply, Reported, Status, Task, Text, Usage,
    Watch,
};
use guildhall_kernel::{
    Acceptance, Answer, Ask, AskId, AskKey, Brief, CallRef, Cost, Fact, Heads, Hold, Millis, Mode, Msat, Nudge, Origin,
    Outcome, Path, Refusal, Report, Request, Said, Sender, Stimulus, TextKind, Turn, Wording,
};
use serde_json::json;

use crate::hiring::{TASK, TextCache, agent, brief, offered, runtime, said, text, with_ad_hoc};

/// A model that records the data that it is shown.
struct Recorder {
    reads: bool,
    shown: Mutex<Vec<Option<PromptData>>>,
}

impl Model for Recorder {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        self.shown.lock().unwrap().push(prompt.data.as_deref().cloned());
        Box::pin(async { Attempt { outcome: Ok(Reply::words("done")), usage: Reported::Whole(Usage::default()) } })
    }

    fn reads_data(&self) -> bool {
        self.reads
    }
}

const STATUS: Status = Status { money: Msat::ZERO, turns: 3, hiring: None, time: None, may_draw: false };

/// Returns the data that a model is shown after these facts.
fn shown(reads: bool, facts: &[Fact], texts: &[Text], turn: Turn) -> Option<PromptData> {
    let model = Arc::new(Recorder { reads, shown: Mutex::default() });
    let mut runtime = runtime(Some(with_ad_hoc(offered())), Hired::ByOwner, Reply::words(""));
    runtime.model = model.clone();
    let texts = TextCache(texts.iter().map(|text| (text.of, text.says.clone())).collect::<BTreeMap<_, _>>());
    let upto = u32::try_from(facts.len()).unwrap();
    let request = Request { upto, hears: Vec::new(), tokens: 100_000, max_tokens: 100, turn, cut: false };
    let key = AskKey { contract: Path::root(1), ask: AskId(9) };
    let history = History { before: &[], root_task: None, facts, texts: &texts };
    let mut asked = Box::pin(runtime.ask(key, &request, history, &STATUS, &|_| {}, &|| Millis(0)));
    let Poll::Ready(arrival) = asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the model replies immediately")
    };
    arrival.unwrap();
    model.shown.lock().unwrap().pop().unwrap()
}

fn call(index: u32) -> Origin {
    Origin::Call(CallRef { reply: AskId(1), index })
}

pub(crate) fn asked(id: u32, ask: Ask, origin: Origin) -> Fact {
    Fact::Asked { id: AskId(id), ask, hold: Hold { money: Msat::ZERO, heads: Heads(0) }, origin }
}

pub(crate) fn answered(id: u32, answer: Answer) -> Fact {
    Fact::Answered { id: AskId(id), answer, cost: Cost::Known(Msat::ZERO) }
}

pub(crate) fn report(text: &Text, outcome: Outcome) -> Answer {
    Answer::Report(Box::new(Report {
        outcome,
        text: Wording::Final(text.of),
        output: None,
        acceptance: Acceptance::Accepted,
        undone: None,
        unheard: Vec::new(),
        spent: Msat::ZERO,
        change: Msat::ZERO,
        fee: Msat::ZERO,
        reserved: Msat::ZERO,
        estimated: Msat::ZERO,
        heads: Heads(0),
        cut: false,
        tokens: 0,
    }))
}

#[test]
fn the_data_of_a_prompt_is_in_the_order_of_the_calls_and_without_the_runtime_s_texts() {
    let reply = said(None, &[("delegate_task", json!({})), ("delegate_task", json!({})), ("delegate_task", json!({}))]);
    let task = text(TextKind::Task, TASK);
    let (fly, eat) = (text(TextKind::Task, "Fly."), text(TextKind::Task, "Eat."));
    let (flown, which) = (text(TextKind::Words, "<b>Flown.</b>"), text(TextKind::Message, "Which?"));
    let (owner, whole) =
        (text(TextKind::Message, "Hurry."), text(TextKind::Reply, &serde_json::to_string(&reply).unwrap()));
    let hire = |index: u32, name: &str, task: &Text, mode: Mode| Ask::Hire {
        brief: Arc::new(Brief { path: Path::root(1).hire(index), agent: agent(name), task: task.of, ..brief() }),
        mode,
    };
    let request = Request { upto: 1, hears: Vec::new(), tokens: 1, max_tokens: 1, turn: Turn::Next, cut: false };
    let said = Said {
        reply: whole.of,
        words: None,
        output: None,
        input_tokens: None,
        used: None,
        size: guildhall_kernel::OwnSize::default(),
        cut: None,
        implausible: None,
        confirms: false,
        calls: 3,
        undone: None,
    };
    let from = Sender::Contract(AskKey { contract: Path::root(1).hire(2), ask: AskId(4) });
    let facts = [
        Fact::Opened(Arc::new(brief())),
        asked(1, Ask::Model(request), Origin::Course),
        Fact::Heard { from: Sender::Owner { command: 1 }, stimulus: Stimulus::Message(owner.of) },
        answered(1, Answer::Said(said)),
        asked(2, hire(1, "Flight Agent", &fly, Mode::Blocking), call(0)),
        asked(3, hire(2, "food-agent", &eat, Mode::Blocking), call(1)),
        Fact::Refused { why: Refusal::SelfHire, origin: call(2), bytes: 40, agent: None, ordinal: None },
        Fact::Heard { from, stimulus: Stimulus::Question(which.of) },
        answered(3, report(&eat, Outcome::Cancelled)),
        answered(2, report(&flown, Outcome::Done)),
        Fact::Nudged(Nudge::Required),
    ];
    let texts = [task, fly, eat, flown, which, owner, whole];
    let data = shown(true, &facts, &texts, Turn::Last).unwrap();
    let hired = |index: u32, hire: u32, name: &str| Heard::Hired {
        call: Some(index.to_string()),
        hire: Path::root(1).hire(hire),
        agent: agent(name),
    };
    let reported = |index: u32, hire: u32, name: &str, outcome: Outcome, text: &str| {
        let (call, hire) = (Some(index.to_string()), Path::root(1).hire(hire));
        Heard::Report(HeardReport { call, hire, agent: agent(name), outcome, text: text.to_owned() })
    };
    let expected = PromptData {
        agent: agent("boss"),
        team: Some(Arc::new(with_ad_hoc(offered()))),
        task: TASK.to_owned(),
        turn: Turn::Last,
        status: STATUS,
        heard: vec![
            Heard::Reply(Arc::new(reply)),
            hired(0, 1, "Flight Agent"),
            reported(0, 1, "Flight Agent", Outcome::Done, "<b>Flown.</b>"),
            hired(1, 2, "food-agent"),
            reported(1, 2, "food-agent", Outcome::Cancelled, ""),
            Heard::Refused { call: Some("2".to_owned()), hire: None, why: Refusal::SelfHire },
            Heard::Owner("Hurry.".to_owned()),
            Heard::Question { from: Path::root(1).hire(2), text: "Which?".to_owned() },
            Heard::Nudged(Nudge::Required),
        ],
    };
    assert_eq!(data, expected);
    assert_eq!(shown(false, &facts, &texts, Turn::Last), None, "the data is not collected for other models");
}
