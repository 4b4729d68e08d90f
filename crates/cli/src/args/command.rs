//! What several commands have in common: the format of the result, the session, the level of detail.

use super::{ChatArgs, Command, Output, RunArgs};
use crate::screen::Level;
use crate::session_ref::SessionRef;

impl Command {
    /// The format of the result. A command without this choice prints text.
    pub(crate) fn output(&self) -> Output {
        let args = match self {
            Command::Run(RunArgs { work, .. }) | Command::Chat(ChatArgs { work }) => &work.watch.output,
            Command::Resume(args) => &args.watch.output,
            Command::Show(args) => &args.output,
            Command::Ls(args) => &args.output,
            Command::Wallet(args) => &args.output,
            Command::Fund(args) => &args.output,
            Command::Close(args) => &args.output,
            Command::Payments(args) => &args.output,
            Command::Ledger(args) => &args.output,
            Command::Models(args) => &args.output,
            Command::Paths(args) => &args.output,
            Command::Transcript(_)
            | Command::Stop(_)
            | Command::Message(_)
            | Command::Hire(_)
            | Command::Topup(_)
            | Command::Correct(_)
            | Command::Map(_)
            | Command::Agents(_)
            | Command::Verify(_)
            | Command::Serve(_)
            | Command::Demo(_)
            | Command::Completions(_)
            | Command::Man(_) => return Output::Text,
        };
        args.output
    }

    /// The session whose work the command continues.
    pub(crate) fn session(&self) -> Option<&SessionRef> {
        match self {
            Command::Run(RunArgs { work, .. }) | Command::Chat(ChatArgs { work }) => {
                work.after.as_ref().or(work.session.as_ref())
            }
            Command::Resume(args) => args.id.as_ref(),
            Command::Show(_)
            | Command::Transcript(_)
            | Command::Ls(_)
            | Command::Stop(_)
            | Command::Message(_)
            | Command::Hire(_)
            | Command::Topup(_)
            | Command::Correct(_)
            | Command::Wallet(_)
            | Command::Fund(_)
            | Command::Close(_)
            | Command::Payments(_)
            | Command::Ledger(_)
            | Command::Map(_)
            | Command::Agents(_)
            | Command::Verify(_)
            | Command::Models(_)
            | Command::Paths(_)
            | Command::Serve(_)
            | Command::Demo(_)
            | Command::Completions(_)
            | Command::Man(_) => None,
        }
    }

    /// How much output the person wants.
    pub(crate) fn level(&self) -> Level {
        match self {
            Command::Run(RunArgs { work, .. }) | Command::Chat(ChatArgs { work }) => work.watch.level(),
            Command::Resume(args) => args.watch.level(),
            Command::Show(_)
            | Command::Transcript(_)
            | Command::Ls(_)
            | Command::Stop(_)
            | Command::Message(_)
            | Command::Hire(_)
            | Command::Topup(_)
            | Command::Correct(_)
            | Command::Wallet(_)
            | Command::Fund(_)
            | Command::Close(_)
            | Command::Payments(_)
            | Command::Ledger(_)
            | Command::Map(_)
            | Command::Agents(_)
            | Command::Verify(_)
            | Command::Models(_)
            | Command::Paths(_)
            | Command::Serve(_)
            | Command::Demo(_)
            | Command::Completions(_)
            | Command::Man(_) => Level::Normal,
        }
    }
}
