//! What a last request shows if there is not enough money for everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use guildhall_agent::{
    Attempt, Hired, History, Message, Model, Part, Profile, Prompt, Reply, Status, Task, Text, Usage, Watch,
};
use guildhall_kernel::{
    Ask, AskId, AskKey, Brief, Fact, Millis, Mode, Msat, Origin, Outcome, Path, Request, TextKind, Turn,
};

use crate::hiring::data::{answered, asked, report};
use crate::hiring::{TASK, TextCache, brief, runtime, text};

/// A model that keeps the prompt that it was shown.
#[derive(Default)]
struct Recorder(Mutex<Option<Prompt>>);

impl Model for Recorder {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        *self.0.lock().unwrap() = Some(prompt.clone());
        Box::pin(async { Reply::words("done").into() })
    }
}

/// What a last request shows: the instructions, and the parts of its only message.
#[derive(Debug)]
struct Last {
    instructions: String,
    parts: Vec<String>,
}

impl Last {
    /// Makes the last request of a contract with this task and these reports, the oldest first.
    fn request(instructions: &str, task: &str, reports: &[String], tokens: u64) -> Last {
        let reports = reports.iter().map(|words| text(TextKind::Words, words)).collect::<Vec<_>>();
        let (task, eat) = (text(TextKind::Task, task), text(TextKind::Task, "Eat."));
        let mut facts = vec![Fact::Opened(Arc::new(Brief { task: task.of, ..brief() }))];
        for (id, words) in (1..).zip(&reports) {
            let hire = Brief { path: Path::root(1).hire(id), task: eat.of, ..brief() };
            facts.push(asked(id, Ask::Hire { brief: Arc::new(hire), mode: Mode::Background }, Origin::Outside));
            facts.push(answered(id, report(words, Outcome::Done)));
        }
        let texts = [task, eat].into_iter().chain(reports).map(|Text { of, says }| (of, says));
        let texts = TextCache(texts.collect::<BTreeMap<_, _>>());
        let model = Arc::new(Recorder::default());
        let mut runtime = runtime(None, Hired::ByOwner, Reply::words(""));
        runtime.profile = Arc::new(Profile::new(instructions, BTreeMap::new(), None, Hired::ByOwner));
        (runtime.model, runtime.price) = (model.clone(), Arc::new(|_: &Usage| Msat::ZERO));
        let upto = u32::try_from(facts.len()).unwrap();
        let request = Request { upto, hears: Vec::new(), tokens, max_tokens: 512, turn: Turn::Last, cut: true };
        let history = History { before: &[], root_task: None, facts: &facts, texts: &texts };
        let status = Status { money: Msat::ZERO, turns: 0, hiring: None, time: None, may_draw: false };
        let key = AskKey { contract: Path::root(1), ask: AskId(99) };
        let mut asked = Box::pin(runtime.ask(key, &request, history, &status, &|_| {}, &|| Millis(0)));
        assert!(matches!(asked.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(_))));
        let prompt = model.0.lock().unwrap().take().unwrap();
        let [Message::User(parts)] = prompt.messages.as_slice() else { panic!("{:?}", prompt.messages) };
        let text = |(Part::Words(text) | Part::Result { text, .. }): &Part| text.clone();
        let parts = parts.iter().map(text).collect();
        Last { instructions: prompt.opening.system().to_owned(), parts }
    }

    fn bytes(&self) -> u32 {
        u32::try_from(self.instructions.len() + self.parts.iter().map(String::len).sum::<usize>()).unwrap()
    }
}

fn reports(count: usize, bytes: usize) -> Vec<String> {
    (0..count).map(|at| format!("Report {at}. {}", "é".repeat(bytes / 2))).collect()
}

/// The bytes of our own sentences in a last request that is cut. They are plain English, with three bytes or more for a token.
const OURS: u32 = 320;

#[test]
fn a_last_request_that_is_cut_fits_into_its_tokens_and_uses_them() {
    let long = "Look at it. ".repeat(1700);
    for (instructions, task) in
        [("", TASK), ("Be brief.", TASK), (&*long, TASK), ("Be brief.", &*long), (&*long, &*long)]
    {
        for tokens in [0_u32, 1, 110, 256, 1000, 1024, 1500, 2000, 5000, 9000] {
            let bytes = Last::request(instructions, task, &reports(9, 1001), tokens.into()).bytes();
            assert!(bytes <= tokens + OURS, "{tokens}: {bytes} bytes");
            assert!(tokens < 256 || bytes >= tokens, "{tokens}: {bytes} bytes");
        }
    }
}

#[test]
fn long_instructions_are_left_out_and_a_long_task_is_cut_so_that_the_newest_texts_are_shown() {
    let (instructions, task) = ("Never stop looking. ".repeat(500), "Look everywhere. ".repeat(500));
    let last = Last::request(&instructions, &task, &reports(3, 600), 2000);
    assert_eq!(last.instructions, "");
    let [task, newest, demand] = last.parts.as_slice() else { panic!("{last:?}") };
    assert!(task.starts_with("Look everywhere.") && task.ends_with("[the rest of the task had to be cut]"), "{task}");
    assert!(newest.contains("Report 2. é"), "{newest}");
    assert!(
        demand.contains("This is your last reply") && demand.contains("2 reports could not be shown in full"),
        "{demand}"
    );
    let short = Last::request("Be brief.", TASK, &reports(3, 600), 1000);
    assert_eq!((short.instructions.as_str(), short.parts[0].as_str()), ("Be brief.", TASK));
}

#[test]
fn a_report_counts_as_shown_only_if_it_is_shown_in_whole() {
    let mut seen = Vec::new();
    for tokens in 256..1700 {
        let last = Last::request("", TASK, &reports(4, 300), tokens);
        let whole = last.parts[1].matches("</sub-agent-complete>").count();
        let demand = &last.parts[2];
        let left_out = match 4 - whole {
            0 => String::new(),
            1 => " 1 report could not be shown in full: say so.".to_owned(),
            some => format!(" {some} reports could not be shown in full: say so."),
        };
        assert!(demand.ends_with(&format!("words.{left_out}")), "{tokens}: {whole} of 4: {demand}");
        seen.push(whole);
    }
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn everything_is_shown_if_it_fits_without_the_tools() {
    let last = Last::request("Be brief.", TASK, &reports(1, 300), 1000);
    let [task, report, demand] = last.parts.as_slice() else { panic!("{last:?}") };
    assert_eq!((last.instructions.as_str(), task.as_str()), ("Be brief.", TASK));
    assert!(report.starts_with("<sub-agent-complete") && report.ends_with("</sub-agent-complete>"), "{report}");
    assert!(demand.ends_with("words."), "{demand}");
}
