//! The command line: commands, flags and their help texts.

mod command;
mod examples;
pub(crate) mod implied;
pub(crate) mod money;
pub(crate) mod serve;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use guildhall::kernel::AskKey;
use guildhall::local::Head;
use guildhall::{CALLS_AT_ONCE, CALLS_AT_ONCE_MAX, DEPTH_MAX, HEADS_MAX, HallBuilder};

use crate::amount::{Billed, Budget};
use crate::complete;
use crate::consent::Consent;
use crate::screen::Level;
use crate::session_ref::{SessionRef, TargetRef};
use examples::{CHAT_EXAMPLES, COMPLETIONS_EXAMPLES, CORRECT_EXAMPLES, EXAMPLES, RUN_EXAMPLES, TRANSCRIPT_EXAMPLES};
use money::{CloseArgs, FundArgs, LedgerArgs, PaymentsArgs, WalletArgs};
use serve::ServeArgs;

/// Agents that hire agents, within a budget, with a journal that survives crashes.
#[derive(Debug, Parser)]
#[command(name = "guildhall", version, about = "Agents that hire agents, within a budget, with a journal that survives crashes", after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a task within a budget
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Talk with an agent and its team: each line is a message, until /exit or the end of input
    #[command(after_help = CHAT_EXAMPLES)]
    Chat(ChatArgs),
    /// Continue a session that was interrupted
    Resume(ResumeArgs),
    /// Show a session: its task, answer and bill
    Show(ShowArgs),
    /// Print what one agent was shown and replied, as JSON lines, or write the transcripts of a whole session
    #[command(after_help = TRANSCRIPT_EXAMPLES)]
    Transcript(TranscriptArgs),
    /// List the sessions
    Ls(LsArgs),
    /// End a session, or one contract of it, from another terminal
    Stop(StopArgs),
    /// Send a message to an agent at work
    Message(MessageArgs),
    /// Add an agent to a running session yourself
    Hire(HireArgs),
    /// Add money to a session or to one contract of it
    Topup(TopupArgs),
    /// Record what the provider billed for a reserved call, and release the rest
    #[command(after_help = CORRECT_EXAMPLES)]
    Correct(CorrectArgs),
    /// Show or connect the wallet
    #[command(after_help = money::WALLET_EXAMPLES)]
    Wallet(WalletArgs),
    /// Fund a session: prints a Lightning invoice and waits until it is paid
    #[command(after_help = money::FUND_EXAMPLES)]
    Fund(FundArgs),
    /// Pay back the free money of a funded session
    #[command(after_help = money::CLOSE_EXAMPLES)]
    Close(CloseArgs),
    /// List the payments out of the wallet
    #[command(after_help = money::PAYMENTS_EXAMPLES)]
    Payments(PaymentsArgs),
    /// Print the double-entry ledger of the wallet's money
    Ledger(LedgerArgs),
    /// Draw which agent can hire which agents
    Map(TeamArgs),
    /// List the agents, or copy the built-in ones
    Agents(AgentsArgs),
    /// Check the stored data of one session or of all: every hash and every balance
    Verify(VerifyArgs),
    /// List the models and their prices
    Models(ModelsArgs),
    /// Print where guildhall stores its files
    Paths(PathsArgs),
    /// Serve sessions over HTTP: fund, ask, watch and steer teams from programs and browsers
    #[command(after_help = serve::SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Watch a team search for a fault in a small service, without a key or a network, and without touching your files
    Demo(DemoArgs),
    /// Print a script for your shell that completes commands, flags, sessions and agents
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write a page for each command into a directory
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(complete::shells()))]
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory for the pages, such as ~/.local/share/man/man1 [default: print one page to stdout]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(subcommand)]
    pub(crate) kind: Option<DemoKind>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum DemoKind {
    /// Kill a run half-way with SIGKILL, resume it, and compare it with an uninterrupted run
    Crash,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The task. If stdin is a pipe or a file, its text is added. Without a task, or if it is `-`, stdin is the task
    pub(crate) task: Option<String>,
    /// Run a list of tasks with one budget: a TOML file of [[task]] with the keys task, agent, after, name and budget
    #[arg(long, value_name = "FILE", conflicts_with_all = ["task", "max_turns"])]
    pub(crate) tasks: Option<PathBuf>,
    /// Changes nothing: `run` always prints its answer and ends. Other programs have this flag
    #[arg(short = 'p')]
    print: bool,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// The flags that `run` and `chat` share.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// The first agent: the name of an agent, or a Markdown file with front matter (name, description, tools, model,
    /// maxTurns) and instructions [default: the agent of --team that no other agent hires]
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: Option<String>,
    /// A directory with agent files. If it is below the current directory and has its agents in agents/, it is also the project
    #[arg(long, value_name = "DIR")]
    pub(crate) team: Option<PathBuf>,
    /// Maximum number of levels of hires
    #[arg(long, value_name = "N", default_value_t = DEPTH_MAX, value_parser = clap::value_parser!(u8).range(0..=64))]
    pub(crate) max_depth: u8,
    /// Maximum number of hires in total
    #[arg(long, value_name = "N", default_value_t = HEADS_MAX)]
    pub(crate) max_hires: u32,
    #[arg(long, value_name = "N", default_value_t = CALLS_AT_ONCE, value_parser = calls_at_once, help = calls_help())]
    pub(crate) max_concurrency: usize,
    /// Spending limit: 500sat, 20000msat or 0.50usd [default: 1usd; with --continue,
    /// what is left; with --session, 1usd or what is free, if that is less]
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    pub(crate) budget: Option<Budget>,
    /// Keep calling a provider that charged more than was held for a call. The budget does not cover the difference
    #[arg(long)]
    pub(crate) allow_overrun: bool,
    /// Limit on tokens, input and output together. A request is sent only if all tokens that it can use are free. When the tokens are
    /// used up, the agents make their last reports. Some tokens are kept for the report of the first agent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens_total: Option<u64>,
    /// The model for all agents: sonnet, opus, haiku, a full name, PROVIDER/NAME, or rehearsal [default: the model of the
    /// agent's file, of the config, for your API key, or of a server on this machine]
    #[arg(long, short)]
    pub(crate) model: Option<String>,
    /// Maximum number of replies of the first agent [default: the number in its file, or 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Time limit: 90s, 10m, 2h. The agent reports its findings before the time is up
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Continue a session that has ended, with the money that it has left
    #[arg(long = "continue", value_name = "ID", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) after: Option<SessionRef>,
    /// Continue the newest session of this project
    #[arg(short = 'c', conflicts_with_all = ["after", "session"])]
    pub(crate) newest: bool,
    /// Work in an existing session, with its money: one that `guildhall fund` made. The agent sees no earlier work of it
    #[arg(long, value_name = "ID", conflicts_with = "after", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) session: Option<SessionRef>,
    /// The directory that agents can read [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Agree in advance to spend real money and to use a model server that is found on this machine
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) transcripts: TranscriptFlags,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

/// The flags of commands that run work, about its transcripts.
#[derive(Debug, Args)]
pub(crate) struct TranscriptFlags {
    /// Write transcripts while the work runs: a directory below DIR for each session, and in it a file for each agent. This costs
    /// time; `guildhall transcript` prints the same later
    #[arg(long = "transcripts", value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

impl TranscriptFlags {
    /// Adds the flags to a hall.
    pub(crate) fn apply(&self, builder: HallBuilder) -> HallBuilder {
        match &self.directory {
            Some(directory) => builder.transcripts(directory),
            None => builder,
        }
    }
}

impl WorkArgs {
    /// Whether the work continues a session.
    pub(crate) fn continues(&self) -> bool {
        self.after.is_some() || self.newest
    }

    /// The user's answer to questions, given in advance.
    pub(crate) fn consent(&self) -> Consent {
        if self.yes { Consent::Given } else { Consent::NotAsked }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The session: its id, the beginning of its id, or `last` [default: the one that you choose from a list, in a terminal]
    #[arg(add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) id: Option<SessionRef>,
    #[arg(long, value_name = "N", default_value_t = CALLS_AT_ONCE, value_parser = calls_at_once, help = calls_help())]
    pub(crate) max_concurrency: usize,
    /// Keep calling a provider that charged more than was held for a call. The budget does not cover the difference
    #[arg(long)]
    pub(crate) allow_overrun: bool,
    #[command(flatten)]
    pub(crate) transcripts: TranscriptFlags,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TranscriptArgs {
    /// A session or a contract of it: ID or ID/1.2. ID can be shortened, and `last` is the newest session. ID alone is ID/1
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) id: TargetRef,
    /// Write the transcripts of all contracts to files in this directory. It is created if necessary, and no file is replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) all: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A session or a contract of it: ID or ID/1.2. ID can be shortened, and `last` is the newest session
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) id: TargetRef,
    /// Also list every fact
    #[arg(long)]
    pub(crate) facts: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// Only sessions that were made in this time, such as 12h or 7d, and what they cost together
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub(crate) since: Option<Duration>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// A session or a contract of it: ID or ID/1.2. ID can be shortened, and `last` is the newest session
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) to: TargetRef,
    /// The message
    pub(crate) text: String,
}

#[derive(Debug, Args)]
pub(crate) struct HireArgs {
    /// The hirer, which receives the report: a session (ID) or a contract of it (ID/1.2)
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) to: TargetRef,
    /// The agent to hire. It must be in the team of the hirer
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: String,
    /// The task
    pub(crate) task: String,
    /// Spending limit of the hire [default: the budget of the agent's file, or a share of the free money]
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    pub(crate) budget: Option<Budget>,
}

#[derive(Debug, Args)]
pub(crate) struct TopupArgs {
    /// A session or a contract of it: ID or ID/1.2. ID can be shortened, and `last` is the newest session
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) to: TargetRef,
    /// The amount: 500sat, 20000msat or 0.50usd
    #[arg(allow_hyphen_values = true)]
    pub(crate) amount: Budget,
}

#[derive(Debug, Args)]
pub(crate) struct CorrectArgs {
    /// The session: its id, the beginning of its id, or `last`
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) session: SessionRef,
    /// The call, as the bill names it: 1.2#7
    #[arg(value_parser = ask, required_unless_present = "all")]
    pub(crate) ask: Option<AskKey>,
    /// The amount that the provider billed: 3sat, 2500msat, 0.002usd, or 0
    #[arg(value_name = "AMOUNT", allow_hyphen_values = true, required_unless_present = "all")]
    pub(crate) billed: Option<Billed>,
    /// Record this amount for each of the session's reserved calls
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true, conflicts_with_all = ["ask", "billed"])]
    pub(crate) all: Option<Billed>,
}

fn ask(text: &str) -> Result<AskKey, String> {
    AskKey::try_from(text.to_owned()).map_err(|_| "write the call as the bill names it, such as 1.2#7".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct TeamArgs {
    /// A directory with agent files
    #[arg(long, value_name = "DIR")]
    pub(crate) team: Option<PathBuf>,
    /// The first agent
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: Option<String>,
    /// The project, which can have agents of its own [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<AgentsAction>,
    #[command(flatten)]
    pub(crate) team: TeamArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsAction {
    /// Copy the built-in agents, so that you can change them. Existing files are not changed
    Eject {
        /// The directory for the copies
        #[arg(value_name = "DIR", default_value = ".guildhall/agents")]
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The session [default: all sessions]
    #[arg(add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) id: Option<SessionRef>,
    /// A head that `verify` or JSON output printed earlier. It detects stored data that was cut off or replaced since then
    #[arg(long, requires = "id")]
    pub(crate) head: Option<Head>,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// A session or a contract of it: ID or ID/1.2. ID can be shortened, and `last` is the newest session
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) id: TargetRef,
    /// Let the agent make one last report, which is paid for
    #[arg(long)]
    pub(crate) wrap_up: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// List only models whose name contains this text
    pub(crate) filter: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PathsArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgs {
    /// The format of the result on stdout
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// The flags for the output.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print only the answer, without progress and bill. Errors are still printed
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// Also print every model call, every tool call and every report that arrives, and the whole bill
    #[arg(long, short)]
    verbose: bool,
    /// Do not print what to type next. A demo needs this, because its session is removed
    #[arg(long, hide = true)]
    pub(crate) no_advice: bool,
}

impl WatchArgs {
    fn level(self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Quiet,
            (false, true) => Level::Verbose,
            (false, false) => Level::Normal,
        }
    }
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

fn calls_help() -> String {
    format!(
        "Maximum number of calls to one provider at the same time, up to {CALLS_AT_ONCE_MAX}. After a rate limit error, this number is halved for a while"
    )
}

fn calls_at_once(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=CALLS_AT_ONCE_MAX).contains(number));
    number.ok_or_else(|| format!("{text:?} is not a number from 1 to {CALLS_AT_ONCE_MAX}"))
}

/// Parses the age of a session: a time, or days such as `7d`.
fn age(text: &str) -> Result<Duration, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim_end().parse::<u64>().ok());
    match days.map(|days| days.checked_mul(24 * 60 * 60)) {
        Some(Some(seconds @ 1..)) => Ok(Duration::from_secs(seconds)),
        Some(Some(0) | None) => Err(format!("{text:?} is not a time: write it like 12h or 7d")),
        None => duration(text).map_err(|why| format!("{why}, or days such as 7d")),
    }
}

/// Parses a time such as `90s`, `10m` or `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time: write it like 90s, 10m or 2h");
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text} has no unit: write {text}s, {text}m or {text}h"));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.trim_end().parse().map_err(|_| wrong())?;
    let seconds = match &text[digits.len()..] {
        "s" => Some(number),
        "m" | "min" => number.checked_mul(60),
        "h" => number.checked_mul(60 * 60),
        _ => None,
    };
    match seconds {
        Some(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        Some(0) | None => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::CommandFactory;

    use super::{Cli, age, duration};

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_parsed_and_need_a_unit() {
        let read = |text| duration(text).map(|time| time.as_secs());
        assert_eq!((read("90s"), read("10m"), read("2 h")), (Ok(90), Ok(600), Ok(7200)));
        assert_eq!(read("5"), Err("5 has no unit: write 5s, 5m or 5h".to_owned()));
        for wrong in ["", "0", "-1s", "1.5h", "soon", "3 days", "99999999999999999999h", "NaN"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration("1m").ok(), Some(Duration::from_mins(1)));
        assert_eq!(age("7d").ok(), Some(Duration::from_hours(168)));
        assert_eq!(age("12h").ok(), Some(Duration::from_hours(12)));
        for wrong in ["0d", "7", "d", "-1d", "18446744073709551615d", "soon"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
