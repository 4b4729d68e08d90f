//! Usage reports that can't be right are not used: the charge is the same as without a report.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use guildhall_agent::{
    Attempt, Billing, Hired, History, Message, Model, Part, Price, Prompt, RawCall, Reply, Reported, Status, Stop,
    Task, Usage, Watch, Wire,
};
use guildhall_kernel::{
    self as kernel, AskId, AskKey, Cost, Cut, Fact, ImplausibleUsage, Input, Millis, Msat, Path, Request, TextKind,
    Turn,
};
use serde_json::json;

use crate::hiring::{TASK, TextCache, brief, runtime, text};

/// A model with one reply and one usage report.
struct Reporting {
    reply: Reply,
    usage: Reported,
    billing: Billing,
    shown: Mutex<Option<Prompt>>,
}

impl Model for Reporting {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        *self.shown.lock().unwrap() = Some(prompt.clone());
        Box::pin(async { Attempt { outcome: Ok(self.reply.clone()), usage: self.usage } })
    }

    fn billing(&self) -> Billing {
        self.billing
    }
}

/// One millisatoshi per input token, two if the token is written to a cache, and five per output token.
fn price(usage: &Usage) -> Msat {
    let input = u128::from(usage.input) + u128::from(usage.cache_write);
    Msat::capped(input + 5 * u128::from(usage.output))
}

fn free(_: &Usage) -> Msat {
    Msat::ZERO
}

fn free_output(usage: &Usage) -> Msat {
    price(&Usage { output: 0, ..*usage })
}

fn used(input: u64, output: u64) -> Reported {
    Reported::Whole(Usage { input, output, ..Usage::default() })
}

fn msat(msat: u64) -> Msat {
    Msat::new(msat).unwrap()
}

/// What the kernel is given for a reply, and how many bytes of text were sent for it.
struct Charged {
    reply: kernel::Reply,
    cost: Cost,
    sent: u64,
}

fn charged(reply: &Reply, usage: Reported, price: fn(&Usage) -> Msat) -> Charged {
    charged_by(reply, usage, Arc::new(price), Billing::Billed)
}

fn charged_by(reply: &Reply, usage: Reported, price: Price, billing: Billing) -> Charged {
    let model = Arc::new(Reporting { reply: reply.clone(), usage, billing, shown: Mutex::default() });
    let mut runtime = runtime(None, Hired::ByOwner, Reply::words(""));
    (runtime.model, runtime.price) = (model.clone(), price);
    let task = text(TextKind::Task, TASK);
    let texts = TextCache(BTreeMap::from([(task.of, task.says)]));
    let key = AskKey { contract: Path::root(1), ask: AskId(9) };
    let facts = [Fact::Opened(Arc::new(brief()))];
    let before = [Message::User(vec![Part::Words("x".repeat(12_000))])];
    let history = History { before: &before, root_task: None, facts: &facts, texts: &texts };
    let request =
        Request { upto: 1, hears: Vec::new(), tokens: 100_000, max_tokens: 8192, turn: Turn::Next, cut: false };
    let status = Status { money: Msat::ZERO, turns: 3, hiring: None, time: None, may_draw: false };
    let mut asked = Box::pin(runtime.ask(key, &request, history, &status, &|_| {}, &|| Millis(0)));
    let Poll::Ready(arrival) = asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the model replies immediately")
    };
    let Input::Reply { reply, cost, .. } = arrival.unwrap().input else { panic!("the model replies") };
    let prompt = model.shown.lock().unwrap().take().unwrap();
    let words = |part: &Part| if let Part::Words(words) = part { words.len() as u64 } else { 0 };
    let parts = |message: &Message| match message {
        Message::User(parts) => parts.iter().map(words).sum::<u64>(),
        Message::Assistant(_) => 0,
    };
    Charged { reply: *reply, cost, sent: prompt.opening.bytes() + prompt.messages.iter().map(parts).sum::<u64>() }
}

/// The charge without any report.
fn estimate(reply: &Reply) -> Cost {
    charged(reply, Reported::Nothing, price).cost
}

#[test]
fn input_has_at_least_a_token_for_sixteen_bytes() {
    let reply = Reply::words("yes");
    let Charged { sent, .. } = charged(&reply, Reported::Nothing, price);
    assert!(sent > 12_000, "{sent}");
    let least = sent / 16;
    for input in [least, sent / 4, sent, 10 * sent] {
        let Charged { reply, cost, .. } = charged(&reply, used(input, 1), price);
        assert_eq!((cost, reply.implausible), (Cost::Known(msat(input + 5)), None), "{input} tokens");
        assert_eq!(reply.used.map(|used| used.input), Some(input));
        assert!(reply.input_tokens.is_some_and(|tokens| tokens >= input));
    }
    for input in [0, 1, least - 1] {
        let charged = charged(&reply, used(input, 1), price);
        assert_eq!(charged.cost, estimate(&reply), "{input} tokens");
        assert_eq!(charged.reply.implausible, Some(ImplausibleUsage { tokens: input, bytes: sent }));
        assert_eq!((charged.reply.used, charged.reply.input_tokens), (None, None), "nothing is computed from it");
    }
}

#[test]
fn cached_input_counts() {
    let reply = Reply::words("yes");
    let usage = |cache_read| Reported::Whole(Usage { input: cache_read, cache_read, cache_write: 0, output: 1 });
    assert_eq!(charged(&reply, usage(3000), price).reply.implausible, None);
    assert_eq!(charged(&reply, usage(300), price).cost, estimate(&reply));
}

#[test]
fn output_has_at_least_a_token_for_sixteen_bytes_and_a_short_one_at_least_one() {
    for (bytes, least) in [(1, 1), (255, 1), (256, 16), (1600, 100)] {
        let reply = Reply::words("y".repeat(bytes));
        let enough = charged(&reply, used(5000, least), price);
        assert_eq!((enough.cost, enough.reply.implausible), (Cost::Known(msat(5000 + 5 * least)), None));
        let too_few = charged(&reply, used(5000, least - 1), price);
        assert_eq!(too_few.cost, estimate(&reply), "{bytes} bytes");
        assert_eq!(too_few.reply.implausible, Some(ImplausibleUsage { tokens: least - 1, bytes: bytes as u64 }));
        assert_eq!((too_few.reply.used, too_few.reply.input_tokens), (None, None));
    }
}

#[test]
fn calls_are_output_and_what_a_protocol_adds_is_not() {
    let call = Reply::call("look", json!({"at": "z".repeat(1592)}));
    assert_eq!(charged(&call, used(5000, 99), price).cost, estimate(&call));
    assert_eq!(charged(&call, used(5000, 100), price).reply.implausible, None);
    let invalid = Reply {
        calls: vec![RawCall { id: "1".into(), name: "look".into(), arguments: Err("{".repeat(1596)) }],
        ..call.clone()
    };
    assert_eq!(charged(&invalid, used(5000, 99), price).cost, estimate(&invalid));
    // A signature or encrypted thinking may have many bytes and few tokens.
    let signed = Reply { wire: Wire::Anthropic, raw: json!([{"signature": "s".repeat(9000)}]), ..Reply::words("yes") };
    assert_eq!(charged(&signed, used(5000, 3), price).reply.implausible, None);
    let nothing = Reply { words: None, calls: Vec::new(), stop: Stop::End, ..Reply::words("") };
    assert_eq!(charged(&nothing, used(5000, 0), price).cost, Cost::Known(msat(5000)), "no bytes may have no tokens");
}

#[test]
fn zero_usage_is_charged_by_size_also_at_a_nominal_price() {
    let reply = Reply::words("y".repeat(300));
    for billing in [Billing::Billed, Billing::Nominal] {
        let charged = charged_by(&reply, used(0, 0), Arc::new(price), billing);
        assert_eq!(charged.cost, estimate(&reply));
        assert_eq!(charged.reply.implausible, Some(ImplausibleUsage { tokens: 0, bytes: charged.sent + 300 }));
    }
}

#[test]
fn a_reply_that_was_cut_without_usage_is_charged_up_to_its_limit() {
    for words in [None, Some("y".repeat(10))] {
        let cut = Reply { words, stop: Stop::Length, ..Reply::words("") };
        let nothing = charged(&cut, Reported::Nothing, price);
        let Cost::Estimated(charge) = nothing.cost else { panic!("{:?}", nothing.cost) };
        assert!(charge >= msat(2 * nothing.sent + 5 * 8192), "the limit was reached, whatever was shown of it");
        let zero = charged(&cut, used(5000, 0), price);
        assert_eq!(zero.cost, nothing.cost, "a reply that reached its limit has tokens");
        assert!(zero.reply.implausible.is_some());
    }
}

#[test]
fn a_reply_that_reached_its_limit_was_not_cut_by_the_window() {
    let reply = Reply { stop: Stop::Length, ..Reply::words("y".repeat(400)) };
    let cut = |input, output| charged(&reply, used(input, output), price).reply.cut;
    assert_eq!(cut(99_000, 1_000), Some(Cut::Window));
    assert_eq!(cut(99_000, 8192), Some(Cut::MaxTokens), "the window may be larger than the configured one");
    assert_eq!(cut(5_000, 1_000), Some(Cut::MaxTokens), "a server may have a limit of its own");
    assert_eq!(charged(&reply, Reported::Nothing, price).reply.cut, Some(Cut::MaxTokens));
}

#[test]
fn thinking_that_is_not_sent_again_is_part_of_the_estimate() {
    let thinking = json!([{"type": "thinking", "thinking": "t".repeat(3000)}]);
    let reply = Reply { wire: Wire::Anthropic, raw: thinking, stop: Stop::Window, ..Reply::words("yes") };
    let Cost::Estimated(charge) = estimate(&reply) else { panic!("nothing was reported") };
    assert!(charge >= msat(5 * 3000), "{charge:?}");
}

#[test]
fn a_count_without_a_price_is_not_told_and_not_used() {
    let reply = Reply::words("y".repeat(300));
    for (usage, price, cost) in [
        (used(0, 0), free as fn(&Usage) -> Msat, Cost::Known(Msat::ZERO)),
        (used(5000, 0), free_output, Cost::Known(msat(5000))),
    ] {
        let charged = charged(&reply, usage, price);
        assert_eq!((charged.cost, charged.reply.implausible), (cost, None));
        assert_eq!((charged.reply.used, charged.reply.input_tokens), (None, None));
    }
}

#[test]
fn the_charge_is_never_below_what_was_reported() {
    let reply = Reply::words("yes");
    let charge = |usage| match charged(&reply, usage, price).cost {
        Cost::Estimated(charge) => charge,
        Cost::Known(_) | Cost::Unknown => panic!("{usage:?} can't be right"),
    };
    assert!(charge(used(0, 400_000)) >= msat(5 * 400_000));
    for usage in [used(u64::MAX, 0), used(0, u64::MAX)] {
        assert!(charge(usage) > msat(5 * u64::from(u32::MAX)), "{usage:?}");
    }
}
