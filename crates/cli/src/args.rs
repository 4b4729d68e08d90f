//! What can be typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use guildhall::kernel::AskKey;
use guildhall::local::Head;
use guildhall::{CALLS_AT_ONCE, CALLS_AT_ONCE_MAX, DEPTH_MAX, HEADS_MAX};

use crate::amount::{Billed, Budget};
use crate::complete;
use crate::consent::Consent;
use crate::screen::Level;
use crate::session_ref::{SessionRef, TargetRef};

const EXAMPLES: &str = "\
Examples:
  guildhall run \"Which of our endpoints have no test?\"
  guildhall run --budget 2000sat --model haiku \"Summarise docs/\"
  guildhall demo                        see a team at work, without a key
  guildhall chat --budget 2000sat       talk with an agent and its team
  guildhall resume last                 take up what was interrupted
  guildhall show brave/1.2              what one agent did; ids may be shortened
  guildhall models                      what can be asked, and what it costs

Exit codes: 0 done, 1 failed, 2 usage, 3 out of budget or time, 4 refused, 5 provider, 7 partial, 75 temporary, 130 interrupted.";

const RUN_EXAMPLES: &str = "\
Examples:
  guildhall run \"When is the meeting, and who said so?\"
  git diff | guildhall run --budget 0.10usd --agent reviewer.md
  guildhall run --timeout 10m --max-turns 20 --output json \"List the public functions\"
  guildhall run --continue brave-otter-17 \"And who was invited?\"
  guildhall run --team examples/payment --tasks tasks.toml --budget 500sat

A file of tasks; each is begun when those it comes after have reported, and is handed their reports:
  [[task]]
  name = \"logs\"
  agent = \"log-reader\"
  task = \"Which errors are new?\"
  [[task]]
  agent = \"writer\"
  task = \"Write a summary for the team.\"
  after = [\"logs\"]
  budget = \"40sat\"

Without --model, the model is the one that the config names; else sonnet or gpt-5-mini, if ANTHROPIC_API_KEY or \
OPENAI_API_KEY is set; else that of a model server on this machine (127.0.0.1, ports 11434, 1234, 8080 and 8000), which is \
announced, and used once you have agreed. If there is none of these, a terminal offers the rehearsal, a program in a model's \
place, and a script gets exit code 2. All settings: docs/configuration.md.

Ctrl-C once asks for a last report, which is paid for; twice stops at once, and `guildhall resume ID` goes on. What is stored is \
kept either way; a call that is cut off may be billed, so what was held for it stays reserved.";

const CHAT_EXAMPLES: &str = "\
Examples:
  guildhall chat --team examples/research --budget 2000sat
  guildhall chat --continue brave-otter-17

/help lists what else can be typed: /cost, /agents and /exit are not said to the agent and cost nothing.

Hires in the background live on while you talk; at the end they are waited for. From another terminal:
  guildhall hire ID AGENT TASK          put somebody to work without being asked by the model

Ctrl-C once ends it, with a last report if one is due; go on with `chat --continue ID`. Twice stops at once; go on with `resume ID`.";

const CORRECT_EXAMPLES: &str = "\
Examples:
  guildhall show brave-otter-17                     names the calls for which money is reserved
  guildhall correct brave-otter-17 1.2#7 0          the provider billed nothing for that call
  guildhall correct brave-otter-17 1.2#7 0.002usd   it billed so much: the rest is free again

A call is reserved if it was lost, stopped or failed, or if nobody reported its cost: it may have been billed, so what was \
held for it counts against the budget until you know.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  echo 'source <(guildhall completions bash)' >> ~/.bashrc
  echo 'source <(guildhall completions zsh)' >> ~/.zshrc
  guildhall completions fish > ~/.config/fish/completions/guildhall.fish";

/// Agents at work, within a budget, in a journal that survives everything.
#[derive(Debug, Parser)]
#[command(name = "guildhall", version, about = "Agents at work, within a budget, in a journal that survives everything", after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Do a task, within a budget
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Talk with an agent and its team: each line is said to it, until /exit or the end of input
    #[command(after_help = CHAT_EXAMPLES)]
    Chat(ChatArgs),
    /// Take up a session that was interrupted
    Resume(ResumeArgs),
    /// Show a session: its task, its answer, its bill
    Show(ShowArgs),
    /// List the sessions
    Ls(LsArgs),
    /// End a session that runs in another terminal, or one contract of it
    Stop(StopArgs),
    /// Say something to an agent at work
    Message(MessageArgs),
    /// Put an agent to work in a session without a model's decision
    Hire(HireArgs),
    /// Give a session, or one contract of it, more money
    Topup(TopupArgs),
    /// Record what the provider billed for a reserved call, and release the rest
    #[command(after_help = CORRECT_EXAMPLES)]
    Correct(CorrectArgs),
    /// Draw who can hire whom
    Map(TeamArgs),
    /// List the agents, or copy the built-in ones
    Agents(AgentsArgs),
    /// Check what is stored of a session, or of all: the chain of hashes and every law
    Verify(VerifyArgs),
    /// List the models that can be asked, and what they cost
    Models(ModelsArgs),
    /// Print where everything is kept
    Paths(PathsArgs),
    /// See a team at work on a small service with a fault: no key, no network, nothing of yours is touched
    Demo(DemoArgs),
    /// Print the script that lets a shell complete commands, flags, sessions and agents
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write a page for each command into a directory
    Man(ManArgs),
}

impl Command {
    /// How much the person wants to be told.
    pub(crate) fn level(&self) -> Level {
        match self {
            Command::Run(RunArgs { work, .. }) | Command::Chat(ChatArgs { work }) => work.watch.level(),
            Command::Resume(args) => args.watch.level(),
            Command::Show(_)
            | Command::Ls(_)
            | Command::Stop(_)
            | Command::Message(_)
            | Command::Hire(_)
            | Command::Topup(_)
            | Command::Correct(_)
            | Command::Map(_)
            | Command::Agents(_)
            | Command::Verify(_)
            | Command::Models(_)
            | Command::Paths(_)
            | Command::Demo(_)
            | Command::Completions(_)
            | Command::Man(_) => Level::Normal,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(complete::shells()))]
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Where the pages are written, such as ~/.local/share/man/man1 [default: one page, to stdout]
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
    /// Kill it half-way with SIGKILL, take it up again, and compare with an undisturbed run
    Crash,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What is to be done; read from stdin if it is left out or `-`
    pub(crate) task: Option<String>,
    /// Work off a list of tasks instead, under one purse: a TOML file of [[task]] with task, agent, after, name, budget
    #[arg(long, value_name = "FILE", conflicts_with_all = ["task", "max_turns"])]
    pub(crate) tasks: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// Who works on what, with which means.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// Who takes the work on: an agent of the roster by its name, or a Markdown file with front matter (name, description,
    /// tools, model, maxTurns) and instructions [default: the agent of --team that no other agent hires]
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: Option<String>,
    /// A directory of agents. One beneath the current directory that keeps them in agents/ is also the project
    #[arg(long, value_name = "DIR")]
    pub(crate) team: Option<PathBuf>,
    /// How many levels of hires there may be
    #[arg(long, value_name = "N", default_value_t = DEPTH_MAX, value_parser = clap::value_parser!(u8).range(0..=64))]
    pub(crate) max_depth: u8,
    /// How many may be hired in all
    #[arg(long, value_name = "N", default_value_t = HEADS_MAX)]
    pub(crate) max_hires: u32,
    #[arg(long, value_name = "N", default_value_t = CALLS_AT_ONCE, value_parser = calls_at_once, help = calls_help())]
    pub(crate) max_concurrency: usize,
    /// What it may cost at most: 500sat, 20000msat or 0.50usd [default: 1usd, or what is left with --continue]
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    pub(crate) budget: Option<Budget>,
    /// Keep calling a provider that charged more than was held for a call. The budget does not cover the difference
    #[arg(long)]
    pub(crate) allow_overrun: bool,
    /// Wrap up before about so many tokens are used, input and output together. Hires at work still make their last reports,
    /// so that it can be exceeded; --budget can't
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens_total: Option<u64>,
    /// The model: sonnet, opus, haiku, a full name, PROVIDER/NAME, or rehearsal [default: the agent's, the config's, a key's, a local server's]
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// How many replies the agent may take [default: 50, or what its file says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// How long it may take: 90s, 10m, 2h. It reports what it has found by then
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Go on in a session that has ended, with what is left of its money
    #[arg(long = "continue", value_name = "ID", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) after: Option<SessionRef>,
    /// The directory that the agent may read [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Agree without being asked: to spend real money, and to use a model server that is found on this machine
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

impl WorkArgs {
    /// What the user says to questions before they are asked.
    pub(crate) fn consent(&self) -> Consent {
        if self.yes { Consent::Given } else { Consent::NotAsked }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The session: its id, the beginning of its id, or `last`
    #[arg(add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) id: SessionRef,
    #[arg(long, value_name = "N", default_value_t = CALLS_AT_ONCE, value_parser = calls_at_once, help = calls_help())]
    pub(crate) max_concurrency: usize,
    /// Keep calling a provider that charged more than was held for a call. The budget does not cover the difference
    #[arg(long)]
    pub(crate) allow_overrun: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The session, or a contract of it: ID or ID/1.2, where ID may be shortened or `last`
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) id: TargetRef,
    /// List every fact as well
    #[arg(long)]
    pub(crate) facts: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// The session, or a contract of it: ID or ID/1.2, where ID may be shortened or `last`
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) to: TargetRef,
    /// What to say
    pub(crate) text: String,
}

#[derive(Debug, Args)]
pub(crate) struct HireArgs {
    /// The session, or a contract of it, which is the hirer and hears the report: ID or ID/1.2
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) to: TargetRef,
    /// The agent: one that the hirer may hire
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: String,
    /// What is to be done
    pub(crate) task: String,
    /// What it may cost at most [default: what the agent's file says, or a share of what is free]
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    pub(crate) budget: Option<Budget>,
}

#[derive(Debug, Args)]
pub(crate) struct TopupArgs {
    /// The session, or a contract of it: ID or ID/1.2, where ID may be shortened or `last`
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) to: TargetRef,
    /// How much: 500sat, 20000msat or 0.50usd
    #[arg(allow_hyphen_values = true)]
    pub(crate) amount: Budget,
}

#[derive(Debug, Args)]
pub(crate) struct CorrectArgs {
    /// The session: its id, the beginning of its id, or `last`
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) session: SessionRef,
    /// The call, as the bill names it: 1.2#7
    #[arg(value_parser = ask)]
    pub(crate) ask: AskKey,
    /// What the provider billed: 3sat, 2500msat, 0.002usd, or 0 for nothing
    #[arg(value_name = "AMOUNT", allow_hyphen_values = true)]
    pub(crate) billed: Billed,
}

fn ask(text: &str) -> Result<AskKey, String> {
    AskKey::try_from(text.to_owned()).map_err(|_| "write the call as the bill names it, such as 1.2#7".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct TeamArgs {
    /// A directory of agents
    #[arg(long, value_name = "DIR")]
    pub(crate) team: Option<PathBuf>,
    /// Who takes the work on
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::agents))]
    pub(crate) agent: Option<String>,
    /// The project whose agents count [default: the current directory]
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
    /// Copy the built-in agents, to change them; files that are there are left alone
    Eject {
        /// Where to
        #[arg(value_name = "DIR", default_value = ".guildhall/agents")]
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The session; all if it is left out
    #[arg(add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) id: Option<SessionRef>,
    /// The head that `verify` or JSON output printed: finds out whether anything was cut off since
    #[arg(long, requires = "id")]
    pub(crate) head: Option<Head>,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// The session, or a contract of it: ID or ID/1.2, where ID may be shortened or `last`
    #[arg(value_name = "ID[/CONTRACT]", add = ArgValueCompleter::new(complete::targets))]
    pub(crate) id: TargetRef,
    /// Let it make one last report, which is paid for
    #[arg(long)]
    pub(crate) wrap_up: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Only those whose name contains this
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
    /// How the result is printed on stdout
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// What a person who watches is told.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print the answer alone: no progress, no bill. A failure is still told
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// Also tell every model call, every tool call and every report that is heard, and print the whole bill
    #[arg(long, short)]
    verbose: bool,
    /// Do not say what to type next: a demo's session does not stay
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

/// Reads a time as people write it.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write it like 90s, 10m or 2h");
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

    use super::{Cli, duration};

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let read = |text| duration(text).map(|time| time.as_secs());
        assert_eq!((read("90s"), read("10m"), read("2 h")), (Ok(90), Ok(600), Ok(7200)));
        assert_eq!(read("5"), Err("5 has no unit: write 5s, 5m or 5h".to_owned()));
        for wrong in ["", "0", "-1s", "1.5h", "soon", "3 days", "99999999999999999999h", "NaN"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration("1m").ok(), Some(Duration::from_mins(1)));
    }
}
