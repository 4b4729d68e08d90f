//! A conversation, as far as this terminal goes: what the person types, whose turn it is, and which of the agent's words are
//! for the person. A pipe is read line by line, each when the agent has said what it had to say; a terminal at any time.

use std::io::{self, BufRead, IsTerminal, Read};
use std::thread;

use guildhall::kernel::{Answer, Fact, NextSpeaker, Path, Sender, Stored, TextRef};
use tokio::sync::mpsc;

use crate::commands::run::TASK_BYTES_MAX;
use crate::exit::Failure;
use crate::print::prompt;

/// What ends a conversation.
const END: &str = "/end";

/// Something that came from stdin.
pub(crate) enum Typed {
    /// Words for the agent.
    Words(String),
    /// More than can be said at once.
    TooLong,
    /// It can't be read any more, and why.
    Unreadable(io::Error),
    /// No more will come.
    Over,
}

/// What is typed, line by line.
pub(crate) struct Lines {
    from: mpsc::Receiver<Typed>,
    terminal: bool,
}

impl Lines {
    /// Begins to read. The thread is not waited for: a read of a terminal can't be called off, and ends with the process.
    pub(crate) fn read() -> Result<Lines, Failure> {
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
        let started = thread::Builder::new().name("stdin".to_owned()).spawn(read);
        started.map_err(|why| Failure::failed(format!("stdin can't be read: {why}")))?;
        Ok(Lines { from, terminal: io::stdin().is_terminal() })
    }

    /// Returns the next line that says something.
    pub(crate) async fn next(&mut self) -> Typed {
        self.from.recv().await.unwrap_or(Typed::Over)
    }

    /// Shows that something can be typed.
    pub(crate) fn invite(&self) {
        if self.terminal {
            prompt("> ");
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
            END => return Ok(Typed::Over),
            words => return Ok(Typed::Words(words.to_owned())),
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
pub(crate) fn is_for_person(stored: &Stored, root: &Path) -> bool {
    stored.contract == *root && final_words(&stored.fact).is_some()
}

#[cfg(test)]
mod tests {
    use super::{TASK_BYTES_MAX, Typed, line};

    #[test]
    fn lines_are_read_until_end() {
        let long = "x".repeat(usize::try_from(TASK_BYTES_MAX).unwrap() + 9);
        let mut stdin = std::io::Cursor::new(format!("\n  hello \r\n{long}\nlast\n/end\nnever\n"));
        let mut read = || match line(&mut stdin).unwrap() {
            Typed::Words(words) => words,
            Typed::TooLong => "(too long)".to_owned(),
            Typed::Unreadable(why) => why.to_string(),
            Typed::Over => "(over)".to_owned(),
        };
        assert_eq!([read(), read(), read(), read()], ["hello", "(too long)", "last", "(over)"]);
        assert_eq!(read(), "never");
        assert_eq!((read(), read()), ("(over)".to_owned(), "(over)".to_owned()));
    }
}
