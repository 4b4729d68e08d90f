//! How the program ends: the exit codes that scripts are promised, and what is said with them.

use std::process::ExitCode;

use guildhall::kernel::{Limit, Msat, Outcome, Refusal};
use guildhall::local::JournalError;
use guildhall::providers::NoPrice;
use guildhall::{ANTHROPIC, Ended, HallError, Lack, ModelsError, OPENAI};

use crate::amount::sats;
use crate::print::Unwritten;

/// What an exit code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    OutOfBudget = 3,
    Refused = 4,
    Provider = 5,
    Partial = 7,
    Temporary = 75,
    Interrupted = 130,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Whether the person at this terminal asked for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupted {
    Yes,
    No,
}

/// What work that ended says to scripts.
pub(crate) fn of(ended: &Ended, interrupted: Interrupted) -> Exit {
    let limited = ended.out_of_tokens.is_some() && interrupted == Interrupted::No;
    match ended.report.outcome {
        _ if !ended.violations.is_empty() => Exit::Failed,
        // Whoever pays must hear of it, also where there is an answer.
        _ if ended.bill.overrun() > Msat::ZERO && !ended.setup.allow_overrun => Exit::Provider,
        Outcome::Done if Lack::of(&ended.report).is_some() || ended.undone > 0 => Exit::Partial,
        Outcome::Done => Exit::Done,
        Outcome::Exhausted(Limit::Asked) if !limited => Exit::Interrupted,
        // The time ran out because the provider did not do its part.
        Outcome::Exhausted(Limit::Deadline) if ended.failure.is_some() => Exit::Provider,
        Outcome::Exhausted(Limit::Purse | Limit::Turns | Limit::Deadline | Limit::Asked) => Exit::OutOfBudget,
        Outcome::Failed => Exit::Provider,
        Outcome::Cancelled => Exit::Failed,
    }
}

/// Something that ends the program before there is an answer.
#[derive(Debug, thiserror::Error)]
#[error("{says}")]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    says: String,
}

impl Failure {
    pub(crate) fn usage(says: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, says: says.into() }
    }

    pub(crate) fn refused(says: impl Into<String>) -> Failure {
        Failure { exit: Exit::Refused, says: says.into() }
    }

    pub(crate) fn failed(says: impl Into<String>) -> Failure {
        Failure { exit: Exit::Failed, says: says.into() }
    }
}

impl From<HallError> for Failure {
    fn from(why: HallError) -> Failure {
        let exit = match &why {
            HallError::Journal(why) => of_journal(why),
            HallError::SessionEngine(_)
            | HallError::Damaged(_)
            | HallError::NoSetup { .. }
            | HallError::Newer { .. } => Exit::Failed,
            HallError::WentOn(_) => Exit::Temporary,
            HallError::Refused(_)
            | HallError::Account(_)
            | HallError::NothingToResume(_)
            | HallError::HasEnded(_)
            | HallError::NobodyThere { .. }
            | HallError::MayNotHire { .. }
            | HallError::TooMuchMoney { .. }
            | HallError::NotReserved { .. }
            | HallError::BilledBeyondReserve { .. }
            | HallError::NotEnded(_) => Exit::Refused,
            HallError::Models(_)
            | HallError::Project(_)
            | HallError::NoAgent { .. }
            | HallError::NoEntry { .. }
            | HallError::Schema(_)
            | HallError::ToolName { .. }
            | HallError::NoTool { .. }
            | HallError::TooFewHeads { .. }
            | HallError::WasList(_) => Exit::Usage,
        };
        let says = match &why {
            HallError::Models(no_model) => format!("{why}{}", hint(no_model)),
            HallError::Refused(Refusal::Money { asked, minimum, .. }) => {
                let (asked, minimum) = (sats(*asked), sats(*minimum));
                format!(
                    "a budget of {asked} is too small: this agent and model need at least {minimum}. Nothing was spent"
                )
            }
            HallError::NothingToResume(_) => format!("{why}. Ask again with `guildhall run`"),
            HallError::HasEnded(id) => {
                format!(
                    "{why}: read it with `guildhall show {id}`, or go on with `guildhall run --continue {id} \"…\"`"
                )
            }
            HallError::WentOn(id) => format!("{why}. See it with `guildhall show {id}`, then try again"),
            HallError::NotEnded(id) => format!("{why}: go on with `guildhall resume {id}`"),
            HallError::WasList(id) => format!("{why}: run `guildhall run --continue {id} --agent NAME \"…\"`"),
            HallError::TooFewHeads { .. } => format!("{why}. Allow more with --max-hires, or make the list shorter"),
            HallError::NotReserved { session, .. } => {
                format!("{why}. Run `guildhall show {session}` to see what the session contains")
            }
            HallError::NobodyThere { session, .. } => format!("{why}: see who is with `guildhall show {session}`"),
            HallError::NoSetup { .. } => {
                format!("{why}. Nobody can go on; `guildhall stop` ends it and frees its money")
            }
            HallError::Journal(_)
            | HallError::SessionEngine(_)
            | HallError::Damaged(_)
            | HallError::Newer { .. }
            | HallError::Refused(_)
            | HallError::Account(_)
            | HallError::Project(_)
            | HallError::MayNotHire { .. }
            | HallError::TooMuchMoney { .. }
            | HallError::BilledBeyondReserve { .. }
            | HallError::NoAgent { .. }
            | HallError::NoEntry { .. }
            | HallError::Schema(_)
            | HallError::ToolName { .. }
            | HallError::NoTool { .. } => why.to_string(),
        };
        Failure { exit, says }
    }
}

/// What to do about a model that can't be had.
fn hint(why: &ModelsError) -> String {
    match why {
        ModelsError::NoneChosen => {
            ": name one with --model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or set `model` in the config \
            (`guildhall paths` says where it is)"
                .to_owned()
        }
        ModelsError::NoSource { source_name, .. } => match source_name.as_str() {
            ANTHROPIC => ": set ANTHROPIC_API_KEY".to_owned(),
            OPENAI => ": set OPENAI_API_KEY".to_owned(),
            other => format!(": add [providers.{other}] to the config (`guildhall paths` says where it is)"),
        },
        ModelsError::Unclear { model, .. } if model.starts_with("local/") => {
            ". A model server on this machine is used once you have agreed to it: run without --model, or add \
            [providers.local] to the config (`guildhall paths` says where it is)"
                .to_owned()
        }
        ModelsError::Unclear { .. } => String::new(),
        ModelsError::NoPrice(NoPrice { model, .. }) => format!(
            ", for example (`guildhall paths` says where it is):\n\n  [prices.\"{model}\"]\n  input = 0.50\n  output = 1.50\n"
        ),
    }
}

impl From<JournalError> for Failure {
    fn from(why: JournalError) -> Failure {
        HallError::from(why).into()
    }
}

impl From<Unwritten> for Failure {
    fn from(why: Unwritten) -> Failure {
        Failure::failed(why.to_string())
    }
}

fn of_journal(why: &JournalError) -> Exit {
    match why {
        JournalError::Held { .. }
        | JournalError::Busy
        | JournalError::InUse { .. }
        | JournalError::DiskFull { .. }
        | JournalError::Unwritable { .. } => Exit::Temporary,
        JournalError::Stopped { why } => of_journal(why),
        JournalError::UnknownSession { .. } => Exit::Usage,
        JournalError::SessionExists { .. } => Exit::Refused,
        JournalError::NotDurable { .. }
        | JournalError::Damaged { .. }
        | JournalError::Foreign { .. }
        | JournalError::Newer { .. }
        | JournalError::UnsafeSqlite { .. }
        | JournalError::Sqlite { .. }
        | JournalError::File { .. }
        | JournalError::Corrupt { .. }
        | JournalError::ReadOnly { .. }
        | JournalError::LogMissing { .. }
        | JournalError::TextDamaged { .. }
        | JournalError::LeaseLost { .. }
        | JournalError::TextMismatch { .. }
        | JournalError::TextMissing { .. }
        | JournalError::TextTooLong { .. }
        | JournalError::CommandTooLong { .. }
        | JournalError::NotJson { .. } => Exit::Failed,
    }
}
