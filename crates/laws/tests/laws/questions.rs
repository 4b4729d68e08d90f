//! A hire that asks its hirer a question: the hirer must answer before it waits for the hire.

use guildhall_kernel::{
    Addressee, Answer, Ask, Fact, Matter, Millis, Mode, Need, Outcome, Refusal, Report, Stimulus, TextKind,
};
use guildhall_laws::Law;

use crate::journal::{Journal, call, call_ref, hire, known, msat, path, refused, report, root, said, sender, text};

/// An event between a hirer and its hires.
#[derive(Clone, Copy)]
enum Then {
    /// The first hire asks its hirer a question and continues without an answer.
    Asks,
    /// The hirer sends a hire a message.
    Messages(&'static str),
    /// The first hire reports.
    Reports,
}

/// A root with two hires in the background, and what happens then, up to the root's next reply.
fn asked(then: &[Then]) -> Journal {
    let (one, two) = (hire(&root(), 1, "scout"), hire(&root(), 2, "writer"));
    let words = |seed: u8| text(TextKind::Message, seed);
    let question =
        |seed: u8| Ask::Question { to: Addressee::Hirer, matter: Matter::Text(words(seed)), until: Millis(9000) };
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 2), known(10));
    j.hire(&one, Mode::Background, call(1, 0)).hire(&two, Mode::Background, call(1, 1)).request(&[]);
    j.open(&one).request(&[]);
    j.open(&two).request(&[]);
    let (mut asks, mut newest) = (1, 4);
    for (seed, then) in (50..).zip(then) {
        match then {
            Then::Asks => {
                j.answer("1.1", asks, said(5, 1), known(10)).ask(question(seed), 0, 0, call(asks, 0));
                j.hear("1", sender("1.1", asks + 1), Stimulus::Question(words(seed)));
                j.answer("1.1", asks + 1, Answer::NoReply, known(0)).request(&[]);
                asks += 2;
            }
            Then::Messages(to) => {
                let tell = Ask::Tell { to: path(to), what: Stimulus::Message(words(seed)) };
                j.answer("1", newest, said(7, 1), known(10)).ask(tell, 0, 0, call(newest, 0));
                j.answer("1", newest + 1, Answer::Delivered, known(0)).request(&[]);
                newest += 2;
            }
            Then::Reports => {
                let spent = 10 * u64::from(asks.div_ceil(2)) + 100;
                let end = Report { fee: msat(100), ..report(Outcome::Done, 6, 2_500_000, spent) };
                j.answer("1.1", asks, said(6, 0), known(10)).close(end.clone());
                j.answer("1", 2, Answer::Report(Box::new(end)), known(spent));
            }
        }
    }
    j.answer("1", newest, said(8, 1), known(10));
    j
}

/// The newest reply of the root.
fn newest(then: &[Then]) -> u32 {
    4 + 2 * u32::try_from(then.iter().filter(|then| matches!(then, Then::Messages(_))).count()).unwrap()
}

/// The hirer's call to wait is refused, because this hire has asked.
fn refuses(then: &[Then], hire: &str) -> Journal {
    let mut j = asked(then);
    j.fact(refused(Refusal::AskedYou { hire: path(hire) }, call(newest(then), 0)));
    j.request(if matches!(then.last(), Some(Then::Reports)) { &[2] } else { &[] });
    j
}

/// The hirer waits for these hires.
fn waits(then: &[Then], on: &[u32]) -> Journal {
    let mut j = asked(then);
    j.fact(Fact::Waiting { call: call_ref(newest(then), 0), on: on.to_vec(), need: Need::Any, until: None });
    j
}

#[test]
fn waiting_is_refused_only_for_a_hire_that_has_asked_and_was_sent_no_message() {
    use Then::{Asks, Messages, Reports};
    let untrue = "the reason of the refusal is not true";
    refuses(&[Asks], "1.1").is_lawful_so_far();
    refuses(&[Asks, Messages("1.2")], "1.1").is_lawful_so_far();
    refuses(&[Asks, Messages("1.1"), Asks], "1.1").is_lawful_so_far();
    refuses(&[], "1.1").breaks(Law::Refusals, untrue);
    refuses(&[Asks], "1.2").breaks(Law::Refusals, untrue);
    refuses(&[Asks], "1.3").breaks(Law::Refusals, untrue);
    refuses(&[Asks, Messages("1.1")], "1.1").breaks(Law::Refusals, untrue);
    refuses(&[Messages("1.1"), Asks, Messages("1.1")], "1.1").breaks(Law::Refusals, untrue);
    refuses(&[Asks, Reports], "1.1").breaks(Law::Refusals, untrue);
}

#[test]
fn a_wait_for_a_hire_that_waits_for_an_answer_is_found() {
    use Then::{Asks, Messages};
    let stuck = "a call waits for hire 1, which waits for an answer itself";
    waits(&[Asks], &[2]).is_lawful_so_far();
    waits(&[Asks], &[1]).breaks(Law::Refusals, stuck);
    waits(&[Asks], &[2, 1]).breaks(Law::Refusals, stuck);
    waits(&[Asks, Messages("1.1")], &[1, 2]).is_lawful_so_far();
}
