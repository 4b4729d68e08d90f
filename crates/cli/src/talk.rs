//! A conversation at this terminal: what the person types, who speaks next, and which replies of the agent are for the person.
//! A pipe is read line by line, and the next line only after the agent has replied. A terminal is read at any time.

mod below;

use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;
use std::thread;
use std::time::Duration;

use guildhall::kernel::{Answer, Fact, NextSpeaker, Nudge, Path as ContractPath, ReplyParts, Sender, Stored, TextRef};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, Config, Editor};
use tokio::sync::mpsc;

use self::below::StatusRow;
use crate::commands::run::TASK_BYTES_MAX;
use crate::exit::Failure;
use crate::nearest::nearest;
use crate::print::{WARN, prompt, say_in, tame};
use crate::screen;
use crate::switch::{Permissions, Switch};

type LineEditor = Editor<StatusRow, FileHistory>;

/// How many lines may be typed ahead.
const LINES_MAX: usize = 1024;

/// The most lines of the history.
const HISTORY_LINES_MAX: usize = 1000;

/// The longest time until a printed line appears above the line that is typed.
const SHOWN_WITHIN: Duration = Duration::from_millis(50);

/// The prompt.
const PROMPT: &str = "> ";

/// The answer to `/help`.
pub(crate) const HELP: &str = "\
/help    these lines
/cost    what the conversation has cost so far
/agents  the agents at work
/model   the model; /model NAME goes on with another one, which sees the conversation
/clear   go on without the conversation so far, with the money that is left
/exit    end the conversation; hires at work report first
Any other line is sent to the agent. Ctrl-C asks for a last report; a second Ctrl-C stops immediately.";

/// The names of the commands.
const COMMANDS: [&str; 6] = ["/help", "/cost", "/agents", "/model", "/clear", "/exit"];

/// Prints that a command is unknown.
pub(crate) fn unknown(typed: &str) {
    let near = nearest(typed, COMMANDS).map_or_else(String::new, |near| format!(" Did you mean {near}?"));
    say_in(
        WARN,
        &format!("unknown command {}.{near} /help lists the commands. Nothing was sent to the agent", tame(typed, 40)),
    );
}

/// Input from stdin.
pub(crate) enum Typed {
    /// A message to the agent.
    Words(String),
    /// A command to this program.
    Command(Command),
    /// A line that is too long to be sent.
    TooLong,
    /// A line that is not UTF-8.
    NotText,
    /// Stdin can't be read.
    Unreadable(io::Error),
    /// The end of the input.
    Over,
}

/// A command to this program in a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Cost,
    Agents,
    /// Go on with the model of this name, or show the model.
    Model(Option<String>),
    /// Go on without the conversation so far.
    Clear,
    Unknown(String),
}

impl Typed {
    /// Parses a line that is not empty. A line whose first word is a slash and lowercase letters is a command; a path is not.
    fn of(line: &str) -> Typed {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = word.strip_prefix('/').filter(|name| !name.is_empty());
        let Some(name) = name.filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase())) else {
            return Typed::Words(line.to_owned());
        };
        match name {
            "exit" | "quit" | "end" => Typed::Over,
            "help" => Typed::Command(Command::Help),
            "cost" => Typed::Command(Command::Cost),
            "agents" => Typed::Command(Command::Agents),
            "model" => Typed::Command(Command::Model(Some(rest.trim().to_owned()).filter(|model| !model.is_empty()))),
            "clear" => Typed::Command(Command::Clear),
            _ => Typed::Command(Command::Unknown(word.to_owned())),
        }
    }
}

/// The input, line by line.
pub(crate) struct Lines {
    from: mpsc::Receiver<Typed>,
    pub(crate) terminal: bool,
    /// The settings of the terminal before line editing.
    before: Option<Termios>,
}

impl Lines {
    /// Starts a thread that reads stdin. Nothing waits for this thread: a read from a terminal can't be cancelled, and ends with
    /// the process.
    pub(crate) fn read(history: &Path) -> Result<Lines, Failure> {
        let terminal = io::stdin().is_terminal();
        if terminal && io::stdout().is_terminal() && screen::can_draw() {
            return Lines::edit(history).map_err(|why| {
                Failure::failed(format!("can't edit lines in this terminal: {why}. To read plain lines, set TERM=dumb"))
            });
        }
        let (to, from) = mpsc::channel(1);
        let read = move || {
            let mut stdin = io::stdin().lock();
            loop {
                let typed = line(&mut stdin).unwrap_or_else(Typed::Unreadable);
                let last = matches!(typed, Typed::Over | Typed::Unreadable(_));
                if to.blocking_send(typed).is_err() || last {
                    return;
                }
            }
        };
        spawn(read).map_err(|why| Failure::failed(format!("can't read stdin: {why}")))?;
        Ok(Lines { from, terminal, before: None })
    }

    /// Reads lines that a person edits in a terminal. Output meanwhile is written above the line.
    fn edit(history: &Path) -> io::Result<Lines> {
        let before = tcgetattr(io::stdin())?;
        let config = Config::builder().max_history_size(HISTORY_LINES_MAX).map_err(io::Error::other)?;
        // The status line is drawn where the editor would put colours. It has none itself.
        let config = config.history_ignore_space(true).color_mode(ColorMode::Forced).build();
        let mut editor: LineEditor = Editor::with_config(config).map_err(io::Error::other)?;
        editor.set_helper(Some(StatusRow));
        let printer = editor.create_external_printer().map_err(io::Error::other)?;
        screen::set_printer(Some(Box::new(printer)));
        let history = history.to_owned();
        let (to, from) = mpsc::channel(LINES_MAX);
        spawn(move || {
            // The first conversation has no history, and a history that can't be read is not worth a message.
            editor.load_history(&history).ok();
            while let Some(typed) = edited(&mut editor, &history) {
                let last = matches!(typed, Typed::Over | Typed::Unreadable(_));
                if to.blocking_send(typed).is_err() || last {
                    return;
                }
            }
        })?;
        Ok(Lines { from, terminal: true, before: Some(before) })
    }

    /// Whether a person edits the lines in a terminal. The status line is then below the line that is typed.
    pub(crate) fn are_edited(&self) -> bool {
        self.before.is_some()
    }

    /// Returns the next line that is not empty.
    pub(crate) async fn next(&mut self) -> Typed {
        self.from.recv().await.unwrap_or(Typed::Over)
    }

    /// Prints the prompt. With line editing, the prompt is always visible.
    pub(crate) fn invite(&self) {
        if self.terminal && self.before.is_none() {
            prompt(PROMPT);
        }
    }
}

impl Drop for Lines {
    /// Restores the terminal settings and removes the prompt.
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            screen::set_printer(None);
            // The reading thread prints the last output, and does not signal when it is done.
            thread::sleep(SHOWN_WITHIN);
            // This fails only if the terminal is gone, and then there are no settings to restore.
            tcsetattr(io::stdin(), OptionalActions::Now, &before).ok();
            screen::end_editing();
        }
    }
}

fn spawn(read: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("stdin".to_owned()).spawn(read).map(drop)
}

/// Reads an edited line that is not empty. `None` if the process could not interrupt itself.
fn edited(editor: &mut LineEditor, history: &Path) -> Option<Typed> {
    loop {
        let read = editor.readline(PROMPT);
        // Only a whole line removes the status line below it. After Ctrl-C, the cursor is below that, too.
        match &read {
            Ok(_) => {}
            Err(ReadlineError::Interrupted) => screen::clear_below(1),
            Err(_) => screen::clear_below(0),
        }
        match read {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) if line.len() as u64 > TASK_BYTES_MAX => return Some(Typed::TooLong),
            Ok(line) => {
                let line = line.trim();
                // The line is sent even if the history can't be written.
                editor.add_history_entry(line).ok();
                editor.append_history(history).ok();
                return Some(Typed::of(line));
            }
            // The terminal sends no signal for Ctrl-C while a line is edited, so the process sends SIGINT to itself.
            Err(ReadlineError::Interrupted) => {
                kill_process(getpid(), Signal::INT).ok()?;
            }
            Err(ReadlineError::Eof) => return Some(Typed::Over),
            Err(ReadlineError::Signal(_)) => {}
            Err(ReadlineError::Io(why)) if why.kind() == io::ErrorKind::InvalidData => return Some(Typed::NotText),
            Err(ReadlineError::Io(why)) => return Some(Typed::Unreadable(why)),
            Err(why) => return Some(Typed::Unreadable(io::Error::other(why))),
        }
    }
}

/// Reads lines until one is not empty.
fn line(stdin: &mut impl BufRead) -> io::Result<Typed> {
    loop {
        let mut bytes = Vec::new();
        stdin.take(TASK_BYTES_MAX + 1).read_until(b'\n', &mut bytes)?;
        if bytes.len() as u64 > TASK_BYTES_MAX {
            skip_line(stdin, bytes.ends_with(b"\n"))?;
            return Ok(Typed::TooLong);
        }
        let ended = bytes.is_empty();
        match String::from_utf8_lossy(&bytes).trim() {
            _ if ended => return Ok(Typed::Over),
            "" => {}
            line => return Ok(Typed::of(line)),
        }
    }
}

/// Skips the rest of a line.
fn skip_line(stdin: &mut impl BufRead, mut ended: bool) -> io::Result<()> {
    while !ended {
        let mut rest = Vec::new();
        ended = stdin.take(TASK_BYTES_MAX).read_until(b'\n', &mut rest)? == 0 || rest.ends_with(b"\n");
    }
    Ok(())
}

/// The state of the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    /// The input has ended. The conversation ends after all hires at work have reported.
    Over {
        /// The number of hires at work that was last printed.
        awaited: usize,
    },
    /// The stop was sent.
    EndSent,
}

/// A conversation.
pub(crate) struct Talk {
    pub(crate) lines: Lines,
    pub(crate) permissions: Permissions,
    input: Input,
    speaker: NextSpeaker,
    /// How the conversation goes on, if the person says yes.
    pub(crate) asked: Option<Switch>,
    /// How the conversation goes on after this root.
    pub(crate) switch: Option<Switch>,
    /// The number of the newest message that the agent has not read yet.
    unread: Option<u64>,
    /// A reply for the person, unless the next fact sends the reply back to the agent.
    reply: Option<Shown>,
    parts: ReplyParts,
    /// The newest reply that the person has seen.
    pub(crate) shown: Option<TextRef>,
}

impl Talk {
    pub(crate) fn new(lines: Lines, permissions: Permissions) -> Talk {
        Talk {
            lines,
            permissions,
            asked: None,
            switch: None,
            input: Input::Open,
            speaker: NextSpeaker::Agent,
            unread: None,
            reply: None,
            parts: ReplyParts::default(),
            shown: None,
        }
    }

    /// Takes a fact of the root that an earlier process stored. The rest of a cut reply is shown together with these parts.
    pub(crate) fn know(&mut self, fact: &Fact) {
        self.parts.note(fact);
    }

    /// Takes a fact of the root. Returns the earlier reply if this fact shows that it is for the person.
    pub(crate) fn take(&mut self, fact: &Fact) -> Option<Shown> {
        // The agent may still say that this text is all it had to say, so the person sees it at once.
        let is_kept = !matches!(fact, Fact::Nudged(Nudge::Required | Nudge::FixReport | Nudge::Empty));
        let before = self.reply.take().filter(|_| is_kept);
        self.parts.note(fact);
        // A part of a reply is shown with the rest.
        let reply = final_reply(fact).filter(|_| !self.parts.are_continued());
        self.reply = reply.map(|text| Shown { text, cut: is_cut(fact) });
        if let Fact::Heard { from: Sender::Owner { command }, .. } = fact
            && self.unread == Some(*command)
        {
            self.unread = None;
        }
        before
    }

    /// Whether a fact is that the agent read a message that was typed here. The person knows the message.
    pub(crate) fn is_own_message(&self, fact: &Fact) -> bool {
        matches!(fact, Fact::Heard { from: Sender::Owner { command }, .. } if self.unread == Some(*command))
    }

    /// Returns the last reply, if no other fact came after it and it is not continued.
    pub(crate) fn rest(&mut self) -> Option<Shown> {
        self.reply.take()
    }

    /// Notes that a message to the agent was stored. The agent speaks next.
    pub(crate) fn sent(&mut self, number: u64) {
        self.unread = Some(number);
        self.speaker = NextSpeaker::Agent;
    }

    /// Notes the end of the input.
    pub(crate) fn over(&mut self) {
        self.input = Input::Over { awaited: 0 };
    }

    /// Returns whether the conversation can go on with another model or from the beginning.
    pub(crate) fn readiness(&self) -> Readiness {
        match self.speaker {
            NextSpeaker::Owner { hires: 0 } if self.unread.is_none() => Readiness::Ready,
            NextSpeaker::Owner { hires } if self.unread.is_none() => Readiness::EndsHires(hires),
            NextSpeaker::AgentWithoutMoney { hires } => Readiness::EndsHires(hires),
            NextSpeaker::Agent | NextSpeaker::Owner { .. } | NextSpeaker::Nobody => Readiness::AgentAtWork,
        }
    }

    /// Notes that this root was told to end, and how the conversation goes on.
    pub(crate) fn switched(&mut self, switch: Switch) {
        self.input = Input::EndSent;
        self.switch = Some(switch);
    }

    /// Notes who speaks next, and returns what to do.
    pub(crate) fn look(&mut self, speaker: NextSpeaker) -> Next {
        let before = std::mem::replace(&mut self.speaker, speaker);
        match (self.input, speaker) {
            (Input::Open, NextSpeaker::Owner { .. }) if self.unread.is_none() => {
                if before != speaker {
                    self.lines.invite();
                }
                Next::Wait
            }
            (_, NextSpeaker::AgentWithoutMoney { hires }) if before != speaker => Next::Money { hires },
            (Input::Over { .. }, NextSpeaker::Owner { hires: 0 }) if self.unread.is_none() => {
                self.input = Input::EndSent;
                Next::End
            }
            (Input::Over { awaited }, NextSpeaker::Owner { hires }) if hires != awaited => {
                self.input = Input::Over { awaited: hires };
                Next::Report { hires }
            }
            (
                Input::Open | Input::Over { .. } | Input::EndSent,
                NextSpeaker::Agent
                | NextSpeaker::AgentWithoutMoney { .. }
                | NextSpeaker::Owner { .. }
                | NextSpeaker::Nobody,
            ) => Next::Wait,
        }
    }

    /// Whether the agent waits for the person.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.speaker, NextSpeaker::Owner { .. }) && self.unread.is_none()
    }

    /// Whether the agent or a hire is at work.
    pub(crate) fn is_at_work(&self) -> bool {
        match self.speaker {
            NextSpeaker::Agent | NextSpeaker::AgentWithoutMoney { .. } => true,
            NextSpeaker::Owner { hires } => hires > 0 || self.unread.is_some(),
            NextSpeaker::Nobody => false,
        }
    }

    /// Returns the next input, as soon as the agent can receive it.
    pub(crate) async fn listen(&mut self) -> Typed {
        let is_busy = matches!(self.speaker, NextSpeaker::Agent | NextSpeaker::AgentWithoutMoney { .. });
        let accepts = self.is_idle() || self.lines.terminal && is_busy;
        if self.input == Input::Open && accepts { self.lines.next().await } else { std::future::pending().await }
    }
}

/// Whether a root of a conversation can end now.
pub(crate) enum Readiness {
    Ready,
    /// This many hires would end without their reports.
    EndsHires(usize),
    AgentAtWork,
}

/// What to do next in a conversation.
pub(crate) enum Next {
    /// Wait.
    Wait,
    /// End the conversation.
    End,
    /// Print that the agent can't reply before one of these hires returns money.
    Money { hires: usize },
    /// Print that the conversation ends after the reports of these hires.
    Report { hires: usize },
}

/// The text of a reply without calls.
fn final_reply(fact: &Fact) -> Option<TextRef> {
    let Fact::Answered { answer: Answer::Said(said), .. } = fact else { return None };
    said.words.filter(|_| said.calls == 0)
}

/// A reply for the person.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) text: TextRef,
    /// Whether the text is cut: its model could not finish it.
    pub(crate) cut: bool,
}

fn is_cut(fact: &Fact) -> bool {
    matches!(fact, Fact::Answered { answer: Answer::Said(said), .. } if said.cut.is_some())
}

/// Whether a fact is a reply of the root without calls. The person sees the whole reply.
pub(crate) fn is_for_person(stored: &Stored, root: &ContractPath) -> bool {
    stored.contract == *root && final_reply(&stored.fact).is_some()
}

#[cfg(test)]
mod tests {
    use super::{Command, TASK_BYTES_MAX, Typed, line};

    #[test]
    fn a_first_word_of_a_slash_and_letters_is_a_command_and_everything_else_is_a_message() {
        assert!(matches!(Typed::of("/help"), Typed::Command(Command::Help)));
        assert!(matches!(Typed::of("/help me"), Typed::Command(Command::Help)));
        assert!(matches!(Typed::of("/model"), Typed::Command(Command::Model(None))));
        assert!(matches!(Typed::of("/model  haiku "), Typed::Command(Command::Model(Some(name))) if name == "haiku"));
        assert!(matches!(Typed::of("/clear"), Typed::Command(Command::Clear)));
        assert!(
            matches!(Typed::of("/compact all of it"), Typed::Command(Command::Unknown(word)) if word == "/compact")
        );
        assert!(matches!(Typed::of("/exit"), Typed::Over));
        assert!(matches!(Typed::of("/hlep"), Typed::Command(Command::Unknown(line)) if line == "/hlep"));
        for words in ["/etc/passwd is what?", "/", "/ help", "/2", "/Help", "help"] {
            assert!(matches!(Typed::of(words), Typed::Words(said) if said == words), "{words}");
        }
    }

    #[test]
    fn empty_and_too_long_lines_are_skipped_and_slash_end_ends_the_input() {
        let long = "x".repeat(usize::try_from(TASK_BYTES_MAX).unwrap() + 9);
        let mut stdin = std::io::Cursor::new(format!("\n  hello \r\n{long}\nlast\n/end\nnever\n"));
        let mut read = || match line(&mut stdin).unwrap() {
            Typed::Words(words) => words,
            Typed::Command(command) => format!("{command:?}"),
            Typed::TooLong => "(too long)".to_owned(),
            Typed::NotText => "(not text)".to_owned(),
            Typed::Unreadable(why) => why.to_string(),
            Typed::Over => "(over)".to_owned(),
        };
        assert_eq!([read(), read(), read(), read()], ["hello", "(too long)", "last", "(over)"]);
        assert_eq!(read(), "never");
        assert_eq!((read(), read()), ("(over)".to_owned(), "(over)".to_owned()));
    }
}
