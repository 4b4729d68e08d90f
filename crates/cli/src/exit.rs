//! How the program ends: the exit codes that scripts rely on, and the error messages.

use std::io::ErrorKind;
use std::process::ExitCode;

use guildhall::kernel::{InvoiceError, Limit, Msat, Outcome, Refusal, SessionError, TreasuryError};
use guildhall::local::{JournalError, SessionId};
use guildhall::providers::NoPrice;
use guildhall::{ANTHROPIC, Ended, HallError, Lack, ModelsError, OPENAI, TranscriptError, WalletError};

use crate::amount::sats;
use crate::print::NotWritten;

/// The meaning of each exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    OutOfBudget = 3,
    Refused = 4,
    Provider = 5,
    Wallet = 6,
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

/// Whether the person at this terminal interrupted the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupted {
    Yes,
    No,
}

/// The exit code of work that ended.
pub(crate) fn of(ended: &Ended, interrupted: Interrupted) -> Exit {
    let limited = ended.out_of_tokens.is_some() && interrupted == Interrupted::No;
    match ended.report.outcome {
        _ if !ended.violations.is_empty() => Exit::Failed,
        // The person who pays must notice an overrun, even if there is an answer.
        _ if ended.bill.overrun() > Msat::ZERO && !ended.setup.allow_overrun => Exit::Provider,
        Outcome::Done if Lack::of(&ended.report).is_some_and(Lack::is_partial) || ended.undone > 0 => Exit::Partial,
        Outcome::Done if ended.transcript_failure.is_some() => Exit::Partial,
        Outcome::Done => Exit::Done,
        Outcome::Exhausted(Limit::Asked) if !limited => Exit::Interrupted,
        Outcome::Exhausted(Limit::Length) => Exit::Partial,
        // The time ran out because the provider failed.
        Outcome::Exhausted(Limit::Deadline) if ended.failure.is_some() => Exit::Provider,
        Outcome::Exhausted(Limit::Purse | Limit::Turns | Limit::Deadline | Limit::Asked) => Exit::OutOfBudget,
        Outcome::Failed => Exit::Provider,
        Outcome::Cancelled => Exit::Failed,
    }
}

/// An error that ends the program without an answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
    /// The session whose work failed, if it exists.
    pub(crate) session: Option<SessionId>,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into(), session: None }
    }

    /// The same failure, of the work of a session.
    pub(crate) fn of_session(self, id: &SessionId) -> Failure {
        Failure { session: Some(id.clone()), ..self }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Refused, message)
    }

    /// The failure of a payment to an invoice that was typed. An invoice that can never be paid is wrong input.
    pub(crate) fn of_typed_invoice(why: HallError) -> Failure {
        let is_wrong = matches!(&why, HallError::Wallet(WalletError::Invoice(why)) if can_never_be_paid(why));
        let failure = Failure::from(why);
        if is_wrong { Failure { exit: Exit::Usage, ..failure } } else { failure }
    }

    pub(crate) fn temporary(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Temporary, message)
    }

    /// The same failure, with its place before the message.
    pub(crate) fn at(self, place: &str) -> Failure {
        Failure { message: format!("{place}: {}", self.message), ..self }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Failed, message)
    }
}

impl From<HallError> for Failure {
    fn from(error: HallError) -> Failure {
        let (exit, advice) = match &error {
            HallError::Refused(Refusal::Money { asked, minimum, .. }) => {
                let (asked, minimum) = (sats(*asked), sats(*minimum));
                return Failure::refused(format!(
                    "a budget of {asked} is too small: this agent with this model needs at least {minimum}. Nothing was spent"
                ));
            }
            HallError::Journal(why) => (of_journal(why), journal_advice(why).to_owned()),
            HallError::SessionEngine(_) => (Exit::Failed, String::new()),
            HallError::OtherForm { session, .. } => {
                (Exit::Failed, format!(". To end the session without a last report, run `guildhall stop {session}`"))
            }
            HallError::Damaged(_) => (Exit::Failed, ". To check the journal, run `guildhall verify`".to_owned()),
            HallError::NoSetup { .. } => {
                let advice = ". The session can't continue. To end it and release its money, run `guildhall stop ID`";
                (Exit::Failed, advice.to_owned())
            }
            HallError::Crashed(id) => (Exit::Failed, format!(". To continue it, run `guildhall resume {id}`")),
            HallError::Stopping => (Exit::Temporary, String::new()),
            HallError::ContinuedElsewhere(id) => {
                (Exit::Temporary, format!(". To see the session, run `guildhall show {id}`. Then try again"))
            }
            HallError::NothingToResume(_) => (Exit::Refused, ". To start again, run `guildhall run \"…\"`".to_owned()),
            HallError::NoWorkYet(id) => {
                (Exit::Refused, format!(". To start work, run `guildhall run --session {id} --budget AMOUNT \"…\"`"))
            }
            HallError::HasEnded(id) => (
                Exit::Refused,
                format!(
                    ". To read its answer, run `guildhall show {id}`. To continue it, run `guildhall run --continue {id} \"…\"`"
                ),
            ),
            HallError::NotEnded(id) => (Exit::Refused, format!(". To continue it, run `guildhall resume {id}`")),
            HallError::NotAtWork { session, .. } => {
                (Exit::Refused, format!(". To list the contracts, run `guildhall show {session}`"))
            }
            HallError::NotReserved { session, .. } => {
                (Exit::Refused, format!(". To list the reserved calls, run `guildhall show {session}`"))
            }
            HallError::Refused(_)
            | HallError::Account(_)
            | HallError::NotInTeam { .. }
            | HallError::TooMuchMoney { .. }
            | HallError::BilledBeyondReserve { .. } => (Exit::Refused, String::new()),
            HallError::Wallet(why) => (of_wallet(why), String::new()),
            HallError::Models(why) => (Exit::Usage, model_advice(why)),
            HallError::WasTaskList(id) => {
                (Exit::Usage, format!(". Run `guildhall run --continue {id} --agent NAME \"…\"`"))
            }
            HallError::TooFewHeads { tasks, .. } => {
                (Exit::Usage, format!(". Allow more with --max-hires {tasks}, or shorten the list"))
            }
            HallError::NoContract { session, .. } => {
                (Exit::Usage, format!(". To see the session, run `guildhall show {session}`"))
            }
            HallError::TranscriptsNotStarted(why) | HallError::TranscriptsNotWritten { why, written: 0, .. } => {
                (of_transcript(why), transcript_advice(why, "Name"))
            }
            // The directory has some of the files now, and files are not replaced.
            HallError::TranscriptsNotWritten { why, .. } => {
                (of_transcript(why), transcript_advice(why, "To write all of them, name"))
            }
            HallError::Project(_)
            | HallError::NoAgent { .. }
            | HallError::NoEntry { .. }
            | HallError::Schema(_)
            | HallError::ToolName { .. }
            | HallError::NoTool { .. } => (Exit::Usage, String::new()),
        };
        Failure::new(exit, format!("{error}{advice}"))
    }
}

fn of_transcript(why: &TranscriptError) -> Exit {
    match why {
        TranscriptError::Exists { .. } | TranscriptError::NotDirectory { .. } => Exit::Usage,
        TranscriptError::NotWritten { .. } => Exit::Failed,
    }
}

/// What to do about a transcript that can't be written.
fn transcript_advice(why: &TranscriptError, name: &str) -> String {
    match why {
        TranscriptError::Exists { .. } => format!(". {name} another directory, or move the file away"),
        TranscriptError::NotDirectory { .. } => format!(". {name} another directory"),
        TranscriptError::NotWritten { source, .. } => {
            let is_full =
                matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge);
            let with = if is_full { "has room" } else { "can be written" };
            format!(". {name} another directory that {with}")
        }
    }
}

/// What to do about a model that can't be used.
fn model_advice(why: &ModelsError) -> String {
    match why {
        ModelsError::NoneChosen => {
            ": name one with --model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or set `model` in the config file \
            (run `guildhall paths` to find the file)"
                .to_owned()
        }
        ModelsError::NoSource { source_name, .. } => match source_name.as_str() {
            ANTHROPIC => ": set ANTHROPIC_API_KEY".to_owned(),
            OPENAI => ": set OPENAI_API_KEY".to_owned(),
            other => format!(": add [providers.{other}] to the config file (run `guildhall paths` to find the file)"),
        },
        ModelsError::Unclear { model, .. } if model.starts_with("local/") => {
            ". A model server on this machine is used only after you agree: run the command without --model, or add \
            [providers.local] to the config file (run `guildhall paths` to find the file)"
                .to_owned()
        }
        ModelsError::Unclear { .. } => String::new(),
        ModelsError::NoPrice(NoPrice { model, .. }) => {
            let provider = model.split_once('/').map_or_else(String::new, |(provider, _)| {
                format!(". No provider is named {provider}, so this is taken as the name of a model")
            });
            format!(
                "{provider}. To list the models, run: guildhall models. If your provider sells this model, add its price to \
                 the config file (run `guildhall paths` to find the file): [prices.{model:?}] with `input` and `output`, \
                 in dollars per million tokens"
            )
        }
    }
}

impl From<JournalError> for Failure {
    fn from(why: JournalError) -> Failure {
        HallError::from(why).into()
    }
}

impl From<NotWritten> for Failure {
    fn from(why: NotWritten) -> Failure {
        Failure::failed(why.to_string())
    }
}

/// Whether an invoice can't be paid by any session at any time.
fn can_never_be_paid(why: &InvoiceError) -> bool {
    match why {
        InvoiceError::NoAmount
        | InvoiceError::Fractional { .. }
        | InvoiceError::Expired
        | InvoiceError::TooLong
        | InvoiceError::OtherNetwork { .. }
        | InvoiceError::Ours
        | InvoiceError::Used => true,
        InvoiceError::NotConnected | InvoiceError::OtherAmount { .. } | InvoiceError::TooMuch { .. } => false,
    }
}

fn of_wallet(why: &WalletError) -> Exit {
    match why {
        WalletError::Busy(_) => Exit::Temporary,
        // Typed input that can never work.
        WalletError::Decode(_)
        | WalletError::PlaySession(_)
        | WalletError::NoPayment(_)
        | WalletError::WrongPreimage => Exit::Usage,
        // The state of the wallet, of a session or of a payment.
        WalletError::NotConnected
        | WalletError::NoKey
        | WalletError::NoAdminKey
        | WalletError::Server(_)
        | WalletError::Invoice(_)
        | WalletError::SessionLimit { .. }
        | WalletError::WasPaid(_)
        | WalletError::Exists(_)
        | WalletError::Frozen
        | WalletError::Insolvent { .. }
        | WalletError::OldRate { .. } => Exit::Wallet,
    }
}

/// What to do about a payment that another payment waits for.
fn journal_advice(why: &JournalError) -> &'static str {
    if is_still_paying(why) { ". To see the payment, run `guildhall payments`" } else { "" }
}

fn is_still_paying(why: &JournalError) -> bool {
    matches!(
        why,
        JournalError::Treasury(TreasuryError::StillPaying { .. })
            | JournalError::Account { source: SessionError::StillPaying { .. }, .. }
    )
}

fn of_journal(why: &JournalError) -> Exit {
    match why {
        JournalError::Held { .. }
        | JournalError::Busy
        | JournalError::DiskFull { .. }
        | JournalError::Unwritable { .. }
        | JournalError::TreasuryNotLeased => Exit::Temporary,
        JournalError::Treasury(_) | JournalError::SessionLimit { .. } => Exit::Wallet,
        JournalError::Stopped { why } => of_journal(why),
        JournalError::UnknownSession { .. } | JournalError::UnknownEvent { .. } => Exit::Usage,
        why if is_still_paying(why) => Exit::Wallet,
        JournalError::SessionExists { .. } | JournalError::Account { .. } | JournalError::Served(_) => Exit::Refused,
        JournalError::NotDurable { .. }
        | JournalError::Damaged { .. }
        | JournalError::Foreign { .. }
        | JournalError::OtherForm { .. }
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
        | JournalError::TreasuryDamaged { .. }
        | JournalError::NotJson { .. } => Exit::Failed,
    }
}
