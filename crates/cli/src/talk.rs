//! A conversation, as far as this terminal goes: what the person types, whose turn it is, and which of the agent's words are
//! for the person. A pipe is read line by line, each when the agent has said what it had to say; a terminal at any time.

use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;
use std::thread;
use std::time::Duration;

use guildhall::kernel::{Answer, Fact, NextSpeaker, Path as ContractPath, Sender, Stored, TextRef};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor, Editor};
use tokio::sync::mpsc;

use crate::commands::run::TASK_BYTES_MAX;
use crate::exit::Failure;
use crate::print::prompt;
use crate::screen;

/// How many lines may be typed ahead.
const LINES_MAX: usize = 1024;

/// How many lines are kept in the history.
const HISTORY_LINES_MAX: usize = 1000;

/// How long it takes at most until a line that was told is shown above the one that is typed.
const SHOWN_WITHIN: Duration = Duration::from_millis(50);

/// What stands before a line that is typed.
const PROMPT: &str = "> ";

/// What is told to a person who asks for help.
pub(crate) const HELP: &str = "\
/help    these lines
/cost    what the conversation has cost so far
/agents  who is at work
/exit    end the conversation; hires that are at work report first
Any other line is said to the agent. Ctrl-C asks for a last report; twice stops at once.";

/// Something that came from stdin.
pub(crate) enum Typed {
    /// Words for the agent.
    Words(String),
    /// Something for this program.
    Command(Command),
    /// More than can be said at once.
    TooLong,
    /// It can't be read any more, and why.
    Unreadable(io::Error),
    /// No more will come.
    Over,
}

/// What a person can ask of this program in a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Cost,
    Agents,
    Unknown(String),
}

impl Typed {
    /// Reads a line that says something. One word after a slash is a command; a path or a longer line is not.
    fn of(line: &str) -> Typed {
        let Some(word) = line.strip_prefix('/') else { return Typed::Words(line.to_owned()) };
        match word {
            "exit" | "quit" | "end" => Typed::Over,
            "help" => Typed::Command(Command::Help),
            "cost" => Typed::Command(Command::Cost),
            "agents" => Typed::Command(Command::Agents),
            other if !other.is_empty() && other.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                Typed::Command(Command::Unknown(line.to_owned()))
            }
            _ => Typed::Words(line.to_owned()),
        }
    }
}

/// What is typed, line by line.
pub(crate) struct Lines {
    from: mpsc::Receiver<Typed>,
    terminal: bool,
    /// How the terminal was set before lines were edited in it.
    before: Option<Termios>,
}

impl Lines {
    /// Begins to read. The thread is not waited for: a read of a terminal can't be called off, and ends with the process.
    pub(crate) fn read(history: &Path) -> Result<Lines, Failure> {
        let terminal = io::stdin().is_terminal();
        if terminal && io::stdout().is_terminal() && screen::can_draw() {
            return Lines::edit(history).map_err(|why| Failure::failed(format!("lines can't be edited here: {why}")));
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
        spawn(read).map_err(|why| Failure::failed(format!("stdin can't be read: {why}")))?;
        Ok(Lines { from, terminal, before: None })
    }

    /// Reads lines that a person edits in a terminal. What is told meanwhile is written above the line.
    fn edit(history: &Path) -> io::Result<Lines> {
        let before = tcgetattr(io::stdin())?;
        let config = Config::builder().max_history_size(HISTORY_LINES_MAX).map_err(io::Error::other)?;
        let config = config.history_ignore_space(true).build();
        let mut editor: DefaultEditor = Editor::with_config(config).map_err(io::Error::other)?;
        let printer = editor.create_external_printer().map_err(io::Error::other)?;
        screen::set_printer(Some(Box::new(printer)));
        let history = history.to_owned();
        let (to, from) = mpsc::channel(LINES_MAX);
        spawn(move || {
            // The first conversation finds no history; one that can't be read is not worth a word.
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

    /// Returns the next line that says something.
    pub(crate) async fn next(&mut self) -> Typed {
        self.from.recv().await.unwrap_or(Typed::Over)
    }

    /// Shows that something can be typed. Where lines are edited, that is always shown.
    pub(crate) fn invite(&self) {
        if self.terminal && self.before.is_none() {
            prompt(PROMPT);
        }
    }
}

impl Drop for Lines {
    /// Leaves the terminal as it was, and takes the line away that nobody types any more.
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            screen::set_printer(None);
            // What was just told is shown by the thread that reads; nothing says when it has done so.
            thread::sleep(SHOWN_WITHIN);
            // It fails only where the terminal is gone, and with it all its settings.
            tcsetattr(io::stdin(), OptionalActions::Now, &before).ok();
            screen::end_editing();
        }
    }
}

fn spawn(read: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("stdin".to_owned()).spawn(read).map(drop)
}

/// Reads an edited line, or nothing if it says nothing.
fn edited(editor: &mut DefaultEditor, history: &Path) -> Option<Typed> {
    loop {
        match editor.readline(PROMPT) {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) if line.len() as u64 > TASK_BYTES_MAX => return Some(Typed::TooLong),
            Ok(line) => {
                let line = line.trim();
                // A history that can't be kept is not worth a word either: the line is said all the same.
                editor.add_history_entry(line).ok();
                editor.append_history(history).ok();
                return Some(Typed::of(line));
            }
            // The terminal makes no signal of Ctrl-C while a line is edited; everybody who listens for one hears this one.
            Err(ReadlineError::Interrupted) => {
                kill_process(getpid(), Signal::INT).ok()?;
            }
            Err(ReadlineError::Eof) => return Some(Typed::Over),
            Err(ReadlineError::Signal(_)) => {}
            Err(ReadlineError::Io(why)) => return Some(Typed::Unreadable(why)),
            Err(why) => return Some(Typed::Unreadable(io::Error::other(why))),
        }
    }
}

/// Reads lines until one says something.
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

/// Leaves out the rest of a line.
fn skip_line(stdin: &mut impl BufRead, mut ended: bool) -> io::Result<()> {
    while !ended {
        let mut rest = Vec::new();
        ended = stdin.take(TASK_BYTES_MAX).read_until(b'\n', &mut rest)? == 0 || rest.ends_with(b"\n");
    }
    Ok(())
}

/// Whether more will be typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    /// No more will come: the conversation ends when all who are at work have reported.
    Over {
        /// How many those are, as the person was told.
        awaited: usize,
    },
    /// The agent was told so.
    Told,
}

/// A conversation.
pub(crate) struct Talk {
    pub(crate) lines: Lines,
    input: Input,
    floor: NextSpeaker,
    /// The newest words that the agent has not heard yet, by their number.
    unheard: Option<u64>,
    /// Words of the agent that are for the person, unless it is told to mend them.
    words: Option<TextRef>,
    /// Its newest words that the person was shown.
    pub(crate) shown: Option<TextRef>,
}

impl Talk {
    pub(crate) fn new(lines: Lines) -> Talk {
        Talk { lines, input: Input::Open, floor: NextSpeaker::Agent, unheard: None, words: None, shown: None }
    }

    /// Takes a fact of the root. Returns words that are now known to be for the person.
    pub(crate) fn take(&mut self, fact: &Fact) -> Option<TextRef> {
        let before = self.words.take().filter(|_| !matches!(fact, Fact::Nudged(_)));
        self.words = final_words(fact);
        if let Fact::Heard { from: Sender::Owner { command }, .. } = fact
            && self.unheard == Some(*command)
        {
            self.unheard = None;
        }
        before
    }

    /// Whether a fact is that the agent heard what was typed here. The person knows.
    pub(crate) fn is_own_words(&self, fact: &Fact) -> bool {
        matches!(fact, Fact::Heard { from: Sender::Owner { command }, .. } if self.unheard == Some(*command))
    }

    /// Returns words that nothing has followed.
    pub(crate) fn rest(&mut self) -> Option<TextRef> {
        self.words.take()
    }

    /// Notes that words were stored for the agent: it is its turn, however soon it has answered.
    pub(crate) fn said(&mut self, number: u64) {
        self.unheard = Some(number);
        self.floor = NextSpeaker::Agent;
    }

    /// Notes that no more will be typed.
    pub(crate) fn over(&mut self) {
        self.input = Input::Over { awaited: 0 };
    }

    /// Takes note of whose turn it is, and says what follows from it.
    pub(crate) fn look(&mut self, floor: NextSpeaker) -> Next {
        let before = std::mem::replace(&mut self.floor, floor);
        match (self.input, floor) {
            (Input::Open, NextSpeaker::Owner { .. }) if self.unheard.is_none() => {
                if before != floor {
                    self.lines.invite();
                }
                Next::Wait
            }
            (Input::Over { .. }, NextSpeaker::Owner { hires: 0 }) if self.unheard.is_none() => {
                self.input = Input::Told;
                Next::End
            }
            (Input::Over { awaited }, NextSpeaker::Owner { hires }) if hires != awaited => {
                self.input = Input::Over { awaited: hires };
                Next::Report { hires }
            }
            (
                Input::Open | Input::Over { .. } | Input::Told,
                NextSpeaker::Agent | NextSpeaker::Owner { .. } | NextSpeaker::Nobody,
            ) => Next::Wait,
        }
    }

    /// Returns what is typed next, once the agent can listen.
    pub(crate) async fn listen(&mut self) -> Typed {
        let turn = matches!(self.floor, NextSpeaker::Owner { .. }) && self.unheard.is_none();
        let listens = turn || self.lines.terminal && self.floor == NextSpeaker::Agent;
        if self.input == Input::Open && listens { self.lines.next().await } else { std::future::pending().await }
    }
}

/// What follows from whose turn it is.
pub(crate) enum Next {
    /// Nothing.
    Wait,
    /// The conversation can end.
    End,
    /// It ends when so many hires have reported.
    Report { hires: usize },
}

/// The words of a reply that asks for nothing.
fn final_words(fact: &Fact) -> Option<TextRef> {
    let Fact::Answered { answer: Answer::Said(said), .. } = fact else { return None };
    said.words.filter(|_| said.calls == 0)
}

/// Whether a fact is such a reply of the root: the person is shown it whole.
pub(crate) fn is_for_person(stored: &Stored, root: &ContractPath) -> bool {
    stored.contract == *root && final_words(&stored.fact).is_some()
}

#[cfg(test)]
mod tests {
    use super::{Command, TASK_BYTES_MAX, Typed, line};

    #[test]
    fn one_word_after_a_slash_is_a_command_and_everything_else_is_words() {
        assert!(matches!(Typed::of("/help"), Typed::Command(Command::Help)));
        assert!(matches!(Typed::of("/exit"), Typed::Over));
        assert!(matches!(Typed::of("/hlep"), Typed::Command(Command::Unknown(line)) if line == "/hlep"));
        for words in ["/etc/passwd is what?", "/", "/help me", "/2", "help"] {
            assert!(matches!(Typed::of(words), Typed::Words(said) if said == words), "{words}");
        }
    }

    #[test]
    fn lines_are_read_until_end() {
        let long = "x".repeat(usize::try_from(TASK_BYTES_MAX).unwrap() + 9);
        let mut stdin = std::io::Cursor::new(format!("\n  hello \r\n{long}\nlast\n/end\nnever\n"));
        let mut read = || match line(&mut stdin).unwrap() {
            Typed::Words(words) => words,
            Typed::Command(command) => format!("{command:?}"),
            Typed::TooLong => "(too long)".to_owned(),
            Typed::Unreadable(why) => why.to_string(),
            Typed::Over => "(over)".to_owned(),
        };
        assert_eq!([read(), read(), read(), read()], ["hello", "(too long)", "last", "(over)"]);
        assert_eq!(read(), "never");
        assert_eq!((read(), read()), ("(over)".to_owned(), "(over)".to_owned()));
    }
}
