//! A contract with every kind of fact: `1.1`, hired with a deadline, terms, a fee and a check, makes four hires and is
//! asked to wrap up.

use guildhall_kernel::{
    Answer, AskId, AskKey, Brief, Compaction, Cost, Fact, Grant, Inherit, Input, Millis, Need, Offer, Powers, Reply,
    Sender, Stimulus, TextKind, Undone, Unreadable, Verdict, WRAP_UP_MARGIN_MAX,
};

use crate::hall::Hall;
use crate::say::{
    calling, check, hire, invalid, known, message, path, powers, root, sat, tell, term, text, tool, undone, wait, words,
};

const AT: &str = "1.1";

/// Returns the facts of the contract.
pub(crate) fn journal() -> Vec<Fact> {
    scenario().journal[&path(AT)].clone()
}

/// Returns the number of facts at the end of each step of the contract.
pub(crate) fn steps() -> Vec<usize> {
    let mut ends = scenario().steps[&path(AT)].clone();
    ends.dedup();
    ends
}

fn scenario() -> Hall {
    let own = root("contractor", 2000);
    let mut hall = Hall::open(Brief {
        terms: [term("in English")].into(),
        adds: [term("under $900")].into(),
        grant: Grant { deadline: Some(Millis(900_000)), margin: Some(WRAP_UP_MARGIN_MAX), ..own.grant },
        ..own
    });
    hall.says("1", &[hire("researcher").budget(1000).team(&["reader", "scout"]).with(strict)]);
    begin_work(&mut hall);
    continue_work(&mut hall);
    end_work(&mut hall);
    hall
}

fn strict(offer: &mut Offer) {
    offer.fee = sat(20);
    offer.terms = [term("only today")].into();
    offer.adds = [term("cite all")].into();
    offer.powers = Powers { usable: powers(&["read"]), grantable: powers(&["read", "write"]) };
    offer.checks = [check("tests", 3)].into();
}

/// A lost call, a tool, two hires, a refusal, an approval, a top-up that is passed on, a message that ends a wait.
fn begin_work(hall: &mut Hall) {
    hall.model(AT, Answer::Lost, Cost::Unknown);
    let read = tool("read").price(2).on_tool(|call| call.needs = powers(&["read"]));
    let reader = hire("reader").budget(200).background().with(|offer| {
        offer.terms = [term("page one")].into();
        offer.powers.usable = powers(&["write"]);
    });
    let fork = hire("researcher").task("the left half").budget(100).with(|offer| offer.inherit = Inherit::Fork);
    let send = tool("send").price(5).if_approved_by(60_000);
    hall.says(AT, &[read, reader, fork, invalid(Unreadable::Malformed), send]);
    hall.tool_ends(AT, "read", known(1));
    hall.owner_decides(AT, Answer::Approved);
    hall.tool_ends(AT, "send", known(4));
    hall.owner_sends("1", Stimulus::TopUp { to: path("1.1.1"), money: sat(50), draw: None });
    hall.owner_sends(AT, Stimulus::Message(message("how far are you?")));
    // A message from another contract waits for the next turn.
    let from = Sender::Contract(AskKey { contract: path("1.1.1"), ask: AskId(9) });
    hall.step(AT, Input::Stimulus { from, what: Stimulus::Message(message("and be quick")) });
}

/// Compaction, a wait, a message, a hire that the runtime makes, a check that fails.
fn continue_work(hall: &mut Hall) {
    let shorter = Verdict { compact: Some(Compaction { upto: 4, bytes: 300 }), ..Verdict::default() };
    let calls = [wait(&["1.1.1", "1.1.2"], Need::Any), tell("1.1.2", "hurry")];
    hall.replies(AT, Reply { input_tokens: Some(250), verdict: shorter, ..calling(&calls) });
    hall.final_text("1.1.2");
    hall.final_text("1.1.2");
    let promise = || undone(Undone::PromisedHire, &[hire("scout").budget(60)]);
    hall.replies(AT, promise());
    hall.replies(AT, promise());
    hall.final_text("1.1.3");
    hall.final_text(AT);
    hall.final_text("1.1.1");
    hall.final_text(AT);
    hall.check(AT, Answer::FailedCheck(text(TextKind::Finding, "2 of 9 fail")), known(3));
}

/// A question to the owner, a live hire, a wrap-up, a last request, a check that passes.
fn end_work(hall: &mut Hall) {
    let reader = hire("reader").task("page two").budget(50).background();
    hall.says(AT, &[reader, tool("deploy").if_approved_by(60_000)]);
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.final_text("1.1.4");
    hall.replies(AT, Reply { output: Some(text(TextKind::Output, "{}")), ..words("what I found") });
    hall.check(AT, Answer::Passed, known(2));
}
