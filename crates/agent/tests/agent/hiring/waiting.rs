//! What a hirer's model is told about hires that wait for money.

use guildhall_agent::{Message, Part, ToolContext, transcript};
use guildhall_kernel::{
    Answer, Ask, CallRef, Effect, Hold, Mode, Offer, Origin, OwnSize, Pause, PowerSet, Said, Sender, Stimulus,
    ToolCall, ToolName, WaitsFor, Waking,
};

use super::data::{answered, asked};
use super::read::delegate;
use super::*;

/// The only call of the first reply.
pub(super) const CALL: Origin = Origin::Call(CallRef { reply: AskId(1), index: 0 });

/// A request, and a reply with one call.
pub(super) fn one_call() -> (Vec<Fact>, Text) {
    let reply = said(None, &[("delegate_task", json!({}))]);
    let reply = text(TextKind::Reply, &serde_json::to_string(&reply).unwrap());
    let request = Request { upto: 1, hears: Vec::new(), tokens: 1, max_tokens: 1, turn: Turn::Next, cut: false };
    let said = Said {
        reply: reply.of,
        words: None,
        output: None,
        input_tokens: None,
        used: None,
        size: OwnSize::default(),
        cut: None,
        implausible: None,
        confirms: false,
        calls: 1,
        undone: None,
    };
    let facts = vec![
        Fact::Opened(Arc::new(brief())),
        asked(1, Ask::Model(request), Origin::Course),
        answered(1, Answer::Said(said)),
    ];
    (facts, reply)
}

fn eat() -> Offer {
    delegate(offered(), json!({"specialty": "Eating", "task": "Eat."}))
}

/// The brief of the hire.
fn hired(offer: &Offer) -> Brief {
    Brief { path: Path::root(1).hire(1), agent: offer.agent.clone(), task: offer.task, ..brief() }
}

/// Returns the newest result or text that a model is shown after these facts.
fn newest(facts: &[Fact], reply: &Text) -> String {
    let texts = TextCache(BTreeMap::from([(reply.of, reply.says.clone())]));
    let messages = transcript(facts, &texts).unwrap();
    let Some(Message::User(parts)) = messages.last() else { panic!("{messages:?}") };
    match parts.last().unwrap() {
        Part::Words(text) | Part::Result { text, .. } => text.clone(),
    }
}

#[test]
fn a_hire_that_moves_into_the_background_before_it_has_begun_is_not_said_to_work() {
    let (facts, reply) = one_call();
    let offer = eat();
    let context = BriefContext::Fresh;
    let queued = Fact::Queued { origin: CALL, ordinal: 1, offer: Box::new(offer.clone()), context };
    let begun = |mode| asked(2, Ask::Hire { brief: Arc::new(hired(&offer)), mode }, CALL);
    let woke = Fact::Woke { pause: Pause::Hire(1), why: Waking::Message };
    let after = |more: &[&Fact]| {
        let facts: Vec<Fact> = facts.iter().chain(more.iter().copied()).cloned().collect();
        newest(&facts, &reply)
    };
    let agent = &offer.agent;
    let waits = format!(
        "You got a message. {agent} still waits for money as 1.1. It begins in the background when other work returns enough; you \
         will get its report."
    );
    let works = format!("You got a message. {agent} continues as 1.1 in the background; you will get its report.");
    assert_eq!(after(&[&queued, &woke]), waits);
    assert_eq!(after(&[&begun(Mode::Blocking), &woke]), works);
    assert_eq!(after(&[&queued, &begun(Mode::Blocking), &woke]), works);
    // Once it has begun, the model is told.
    let begins = after(&[&queued, &woke, &begun(Mode::Background)]);
    assert_eq!(begins, format!("{agent} has begun as 1.1; granted 1000sat; you will get its report."));
}

/// Lists the hires of a contract with these facts, whose hires wait for this now.
fn listed(facts: &[Fact], waits: &BTreeMap<Path, WaitsFor>) -> String {
    let runtime = runtime(Some(offered()), Hired::ByOwner, said(None, &[]));
    let arguments = text(TextKind::Arguments, "{}");
    let call = ToolCall {
        tool: ToolName::parse("list_agents").unwrap(),
        arguments: arguments.of,
        price: Msat::ZERO,
        effect: Effect::Pure,
        needs: PowerSet::default(),
        for_hires: false,
    };
    let key = AskKey { contract: Path::root(1), ask: AskId(9) };
    let around = ToolContext { facts, board: &[], waits, texts: &TextCache(BTreeMap::new()) };
    let mut called = Box::pin(runtime.call(&key, &call, &arguments.says, around));
    let Poll::Ready(mut arrival) = called.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it answers at once")
    };
    arrival.texts.remove(0).says
}

#[test]
fn a_hire_is_listed_as_waiting_for_money_exactly_as_long_as_its_draw_is_open() {
    let (mut facts, _) = one_call();
    let offer = eat();
    let (hire, agent) = (Path::root(1).hire(1), &offer.agent);
    let brief = hired(&offer);
    let hold = Hold::money(brief.grant.money);
    let hires = Ask::Hire { brief: Arc::new(brief), mode: Mode::Background };
    facts.push(Fact::Asked { id: AskId(2), ask: hires, hold, origin: CALL });
    let from = Sender::Contract(AskKey { contract: hire.clone(), ask: AskId(5) });
    facts.push(Fact::Heard { from, stimulus: Stimulus::Draw { least: sat(300) } });
    // A person's top-up on the way to the hire is no answer to the draw.
    facts.push(Fact::Raised { hire: AskId(2), by: sat(100), draw: None });
    let waits = BTreeMap::from([(hire, WaitsFor::Money)]);
    assert_eq!(listed(&facts, &waits), format!("1.1 {agent}: waits for money, granted 1100sat; task: "));
    // The hire ended its draw itself: it has enough now, or it makes its last report. Its hirer has heard nothing of that.
    assert_eq!(listed(&facts, &BTreeMap::new()), format!("1.1 {agent}: at work, granted 1100sat; task: "));
}
