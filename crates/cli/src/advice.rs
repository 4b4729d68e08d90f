//! What to type next: the lines that a person reads when work has ended, or when an error has stopped it.

use std::fmt;

use guildhall::kernel::{Limit, Msat, Outcome};
use guildhall::local::{EngineError, SessionId};
use guildhall::{Ended, HallError, Lack};

use crate::amount::{Money, both, paid_in_words};
use crate::commands::stop::late;
use crate::live::HowEnded;
use crate::print::{BAD, WARN, note, say_in, tame};

/// The longest reason of a model failure that is shown, in characters.
pub(crate) const WHY_CHARS_MAX: usize = 1000;

/// The command that continues the session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continue {
    Run,
    Chat,
}

impl fmt::Display for Continue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Continue::Run => "run",
            Continue::Chat => "chat",
        })
    }
}

/// Prints how the work ended and what to type next.
pub(crate) fn advise(ended: &Ended, command: Continue) {
    let id = &ended.session;
    let kind = Money::of(&ended.setup.staffing);
    let paid_by = paid_in_words(&ended.setup.staffing);
    if ended.late > Msat::ZERO {
        let amount = both(ended.late, &ended.setup.staffing.rate);
        say_in(WARN, &late(id, &ended.setup.brief.path, &amount));
    }
    let what = HowEnded::of(&ended.report, ended.out_of_tokens);
    match ended.report.outcome {
        Outcome::Done if ended.undone > 0 => {
            let tasks =
                if ended.undone == 1 { "1 task was".to_owned() } else { format!("{} tasks were", ended.undone) };
            say_in(WARN, &format!("{tasks} not done. To see what each agent did, run: guildhall show {id}"));
        }
        Outcome::Done if Lack::of(&ended.report).is_some_and(Lack::is_partial) => {
            say_in(WARN, &format!("{what}. To see what each agent did, run: guildhall show {id}"));
        }
        Outcome::Done => {
            let task = if command == Continue::Run { " \"…\"" } else { "" };
            note(&format!(
                "session {id} ({paid_by}) is saved. To read it, run: guildhall show {id}. To continue with another task, run: guildhall {command} --continue {id}{task}"
            ));
        }
        Outcome::Exhausted(_) if ended.setup.staffing.is_list() => say_in(
            WARN,
            &format!(
                "{what}. To continue, write the open tasks to a file and run: guildhall run --continue {id} --tasks FILE"
            ),
        ),
        Outcome::Exhausted(limit) => {
            let by_request = limit == Limit::Asked && ended.out_of_tokens.is_none();
            let what = if by_request { "stopped at your request".to_owned() } else { what.to_string() };
            let found = if ended.text.trim().is_empty() { "nothing was found" } else { "findings so far" };
            let more = match (limit, kind) {
                (Limit::Purse, Money::Wallet) => {
                    format!(
                        " --budget AMOUNT. To add money to the session first, run: guildhall fund AMOUNT --session {id}"
                    )
                }
                (Limit::Purse, Money::Play) => " --budget AMOUNT".to_owned(),
                (Limit::Turns | Limit::Deadline | Limit::Asked | Limit::Length, Money::Wallet | Money::Play) => {
                    String::new()
                }
            };
            let used =
                ended.out_of_tokens.map_or_else(String::new, |_| format!(", {} tokens used", ended.bill.tokens()));
            // A request that the limit of tokens kept from being sent is no failure of the model.
            if let Some(why) = ended.failure.as_ref().filter(|_| ended.out_of_tokens.is_none()) {
                say_in(BAD, &format!("the model failed: {}", tame(why, WHY_CHARS_MAX)));
            }
            say_in(
                WARN,
                &format!("{what}{used}; {found}. To continue, run: guildhall {command} --continue {id}{more}"),
            );
        }
        Outcome::Failed => {
            let why = ended.failure.as_deref().unwrap_or("the model gave no answer, and no reason is known");
            say_in(BAD, &format!("failed: {}", tame(why, WHY_CHARS_MAX)));
            let overrun = ended.bill.overrun() > Msat::ZERO && !ended.setup.allow_overrun;
            let flag = if overrun { " --allow-overrun" } else { "" };
            say_in(
                WARN,
                &format!(
                    "session {id} ({paid_by}) is saved. To continue, run: guildhall {command} --continue {id}{flag}"
                ),
            );
        }
        Outcome::Cancelled => say_in(WARN, &format!("{what}. To continue, run: guildhall {command} --continue {id}")),
    }
}

/// What to type after an error. An error in a stored text would come again after a resume, so the advice is to end the session.
pub(crate) fn advice_after_error(id: &SessionId, why: &HallError) -> String {
    if matches!(why, HallError::SessionEngine(EngineError::Text { .. })) {
        format!(
            "session {id} is saved, and its model was not called. To see it, run: guildhall show {id}. \
             To end it, run: guildhall stop {id}"
        )
    } else {
        format!("session {id} is saved. To continue, run: guildhall resume {id}")
    }
}
