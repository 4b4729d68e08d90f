//! Work that is under way, as the person at this terminal sees and steers it: until it ends, or is interrupted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use guildhall::kernel::{Limit, Msat, Outcome, Path, Stored, TextRef};
use guildhall::local::{EngineError, SessionId, raise_open_files};
use guildhall::{Ended, Ending, Hall, HallError, Lack, Running};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::amount::{both, sats};
use crate::args::{Output, WatchArgs};
use crate::bill::{Extent, Sheet, charges};
use crate::commands::chat::unknown;
use crate::commands::out_json;
use crate::commands::stop::late;
use crate::exit::{self, Exit, Failure, Interrupted};
use crate::live::{Live, ended_as, ending};
use crate::print::{BAD, Unwritten, WARN, note, out_reply, out_words, rule, say, say_in, tame, warn};
use crate::quote;
use crate::screen::{self, Level, stderr_columns, stdout_columns};
use crate::showing;
use crate::talk::{Command, HELP, Next, Talk, Typed, is_for_person};
use crate::world::{REHEARSAL, is_dumb_terminal};

/// The most that is shown of why a model failed, in characters.
const WHY_CHARS_MAX: usize = 1000;

/// What is said to somebody who said too much at once.
pub(crate) const TOO_LONG: &str = "that was too long to be heard: put it into a file and name the file";

/// How long the journal may take to close when the process is to stop at once.
const LEAVE_TIME_MAX: Duration = Duration::from_millis(500);

/// What a person or the system asks of this process. It listens before work begins: until then, a signal ends the process
/// without a word about how to go on.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let listen = |kind| signal(kind).map_err(|why| Failure::failed(format!("signals can't be heard: {why}")));
        Ok(Signals { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits until the process is to stop: told by the system, or by a second Ctrl-C. At the first one the work is to wrap up.
    async fn until_stop(&mut self, wrap_up: &Notify) {
        tokio::select! {
            _ = self.terminate.recv() => return,
            _ = self.interrupt.recv() => wrap_up.notify_one(),
        }
        self.any().await;
    }
}

/// How often the status line is drawn anew.
const DRAW: Duration = Duration::from_millis(100);

/// When the person is told what happens.
enum Telling {
    /// As it happens.
    Live,
    /// When all has happened: the lines until now.
    Later(Vec<String>),
    /// Not at all.
    Never,
}

/// A status line below the lines. However the work ends, it is taken away.
struct StatusLine;

impl Drop for StatusLine {
    fn drop(&mut self) {
        screen::clear();
    }
}

/// Watches work that is under way, and hears the signals.
pub(crate) struct Watch {
    work: Work,
    signals: Signals,
}

impl Watch {
    pub(crate) fn new(hall: Hall, running: Running, args: WatchArgs, signals: Signals) -> Watch {
        raise_open_files();
        let live = Live::new(hall.clone(), running.token_limit());
        let (telling, interrupted) = (Telling::Live, Interrupted::No);
        let work = Work { live, telling, hall, running, args, talk: None, interrupted, unwritten: None };
        Watch { work, signals }
    }

    /// Makes it a conversation.
    pub(crate) fn with(mut self, talk: Option<Talk>) -> Watch {
        if talk.is_some() && self.work.args.output.output == Output::Text {
            screen::stream_replies();
        }
        self.work.talk = talk;
        self
    }

    /// Tells it what happened before.
    pub(crate) async fn after(mut self, before: &[Stored]) -> Watch {
        self.work.live.know(before).await;
        self
    }

    /// Follows the work until it ends, or until the process is to stop. Whatever is being done then is dropped at once.
    pub(crate) async fn until_the_end(self) -> Result<Exit, Failure> {
        let Watch { mut work, mut signals } = self;
        let (began, wrap_up) = (Instant::now(), Notify::new());
        let ended = tokio::select! {
            biased;
            () = signals.until_stop(&wrap_up) => return Ok(work.leave().await),
            ended = work.follow(&wrap_up) => ended?,
        };
        work.show(&ended, began.elapsed(), &mut signals).await;
        work.finish(ended).await
    }
}

/// Work that is under way, as the person at this terminal is told of it.
struct Work {
    hall: Hall,
    running: Running,
    live: Live,
    telling: Telling,
    args: WatchArgs,
    /// What the person says meanwhile, if it is a conversation.
    talk: Option<Talk>,
    /// Whether the person asked for the end, and the work was told.
    interrupted: Interrupted,
    /// Why something of the result was not written, if so. The work goes on all the same.
    unwritten: Option<Unwritten>,
}

impl Work {
    /// Tells what happens until the work has ended.
    async fn follow(&mut self, wrap_up: &Notify) -> Result<Ended, Failure> {
        if screen::level() == Level::Quiet {
            self.telling = Telling::Never;
        } else if self.is_to_be_shown() {
            self.telling = Telling::Later(Vec::new());
        }
        let status = self.has_status_line().then_some(StatusLine);
        let mut ticks = interval(DRAW);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut facts = self.running.facts();
        self.look().await?;
        let ended = loop {
            tokio::select! {
                biased;
                () = wrap_up.notified() => {
                    say_in(WARN, "wrapping up: one last report. Ctrl-C again stops at once");
                    self.running.end(Ending::WrapUp).await?;
                    self.interrupted = Interrupted::Yes;
                }
                _ = ticks.tick(), if status.is_some() => screen::draw(&|columns| self.live.status(columns)),
                fact = facts.next() => {
                    self.tell(&fact?).await?;
                    // What was stored together is seen together before anything follows from it.
                    if !facts.has_more() {
                        self.look().await?;
                    }
                }
                ended = self.running.wait() => break ended,
                heard = listen(self.talk.as_mut()) => self.pass_on(heard).await?,
            }
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(why) => {
                self.show_at_once();
                say_in(WARN, &kept(self.running.id(), &why));
                return Err(why.into());
            }
        };
        while let Some(fact) = facts.try_next().await? {
            self.tell(&fact).await?;
        }
        Ok(ended)
    }

    /// Prints what the work came to, and closes everything.
    async fn finish(mut self, ended: Ended) -> Result<Exit, Failure> {
        let words = self.talk.as_mut().and_then(Talk::rest);
        self.speak(words).await?;
        let shown = self.talk.take().and_then(|talk| talk.shown);
        let exit = exit::of(&ended, self.interrupted);
        self.print(&ended, exit, shown);
        // What has queued up for the transcripts is written before the process ends.
        close(self.hall, self.running, self.live).await;
        let id = &ended.session;
        let kept = |why| Failure::failed(format!("{why}. It is kept: read it with guildhall show {id}"));
        self.unwritten.map_or(Ok(exit), |why| Err(kept(why)))
    }

    /// Whether a line at the bottom says how things stand. In a conversation, the line that is typed stands there.
    fn has_status_line(&self) -> bool {
        !matches!(self.telling, Telling::Never) && self.talk.is_none() && screen::can_draw()
    }

    /// Whether the work is over before a person could read along, and a person is there to see it afterwards.
    fn is_to_be_shown(&self) -> bool {
        let rehearsed = self.running.models().all(|model| model == REHEARSAL);
        let read = self.args.output.output == Output::Text && self.talk.is_none();
        rehearsed && read && !is_dumb_terminal() && showing::has_a_viewer()
    }

    /// Tells what was not told as it happened. A person who asked for the end is not kept waiting.
    async fn show(&mut self, ended: &Ended, took: Duration, signals: &mut Signals) {
        if self.interrupted == Interrupted::Yes {
            return self.show_at_once();
        }
        let Some(lines) = self.untold() else { return };
        let what = ending(ended.report.outcome, ended.out_of_tokens);
        let title = format!("{what} after {:.1} s; shown from its facts", took.as_secs_f64());
        showing::show(&title, &lines, signals).await;
    }

    fn show_at_once(&mut self) {
        self.untold().unwrap_or_default().iter().for_each(|line| say(line));
    }

    /// The lines that were not told as it happened, if they were not.
    fn untold(&mut self) -> Option<Vec<String>> {
        match std::mem::replace(&mut self.telling, Telling::Live) {
            Telling::Later(lines) => Some(lines),
            Telling::Live => None,
            Telling::Never => {
                self.telling = Telling::Never;
                None
            }
        }
    }

    async fn tell(&mut self, stored: &Stored) -> Result<(), Failure> {
        let root = self.running.root().path.clone();
        let is_own = self.talk.as_ref().is_some_and(|talk| talk.is_own_words(&stored.fact));
        let talk = self.talk.as_mut().filter(|_| stored.contract == root);
        let words = talk.and_then(|talk| talk.take(&stored.fact));
        self.speak(words).await?;
        let shown = self.talk.is_some() && self.args.output.output == Output::Text && is_for_person(stored, &root);
        let told = self.live.lines(stored).await.into_iter().map(|(_, line)| line);
        match &mut self.telling {
            Telling::Live if !shown && !is_own => told.for_each(|line| say(&line)),
            Telling::Later(lines) => lines.extend(told),
            Telling::Live | Telling::Never => {}
        }
        Ok(())
    }

    /// Prints words of the agent that are for the person.
    async fn speak(&mut self, words: Option<TextRef>) -> Result<(), Failure> {
        let (Some(words), Some(talk)) = (words, &mut self.talk) else { return Ok(()) };
        if self.args.output.output == Output::Text {
            let text = self.hall.journal().text(words.hash).await?.unwrap_or_default();
            let written = out_reply(&String::from_utf8_lossy(&text));
            self.unwritten = self.unwritten.take().or(written.err());
            talk.shown = Some(words);
        }
        Ok(())
    }

    /// Looks whose turn it is, once all facts were told that there are.
    async fn look(&mut self) -> Result<(), Failure> {
        let words = self.talk.as_mut().and_then(Talk::rest);
        self.speak(words).await?;
        let Some(talk) = &mut self.talk else { return Ok(()) };
        match talk.look(self.running.floor().await?) {
            Next::Wait => {}
            Next::End => self.running.end(Ending::WrapUp).await?,
            Next::Report { hires } => {
                warn(&format!("{hires} still at work; the conversation ends when they have reported"));
            }
        }
        Ok(())
    }

    /// Passes on what was typed.
    async fn pass_on(&mut self, typed: Typed) -> Result<(), Failure> {
        let Some(talk) = &mut self.talk else { return Ok(()) };
        match typed {
            Typed::Words(words) => match self.running.say(&words).await {
                Ok(number) => talk.said(number),
                Err(why @ (HallError::NobodyThere { .. } | HallError::Refused(_))) => {
                    say_in(WARN, &format!("not said: {why}"));
                }
                Err(why) => return Err(why.into()),
            },
            Typed::Command(command) => {
                tell_command(&self.live, &command);
                talk.lines.invite();
                return Ok(());
            }
            Typed::TooLong => say_in(WARN, TOO_LONG),
            Typed::Unreadable(why) => {
                say_in(WARN, &format!("stdin can't be read any more: {why}"));
                talk.over();
            }
            Typed::Over => talk.over(),
        }
        self.look().await
    }

    /// Stops where it is. Nothing closes; everything that was stored is there for the resume.
    async fn leave(mut self) -> Exit {
        self.talk = None;
        let id = self.running.id().clone();
        // What was stored is durable without this. A journal that is slow to close does not delay the end.
        let _ = timeout(LEAVE_TIME_MAX, close(self.hall, self.running, self.live)).await;
        let then = match self.interrupted {
            Interrupted::No => "",
            // It was asked for, and that is stored.
            Interrupted::Yes => ", which makes the last report",
        };
        say_in(WARN, &format!("stopped; everything that was stored is kept. Go on with: guildhall resume {id}{then}"));
        Exit::Interrupted
    }

    fn print(&mut self, ended: &Ended, exit: Exit, shown: Option<TextRef>) {
        let sheet = sheet(ended, self.live.names());
        let models = self.hall.models();
        let quotes = quote::quotes(models, ended);
        let written = match self.args.output.output {
            Output::Json => out_json(&json!({
                "session": ended.session,
                "outcome": ended.report.outcome,
                "answer": Some(&ended.text).filter(|text| !text.trim().is_empty()),
                "failure": ended.failure,
                "unreadable": ended.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "exit_code": exit.code(),
                "bill": sheet.json(),
                "quote": quote::json(&quotes, models),
            })),
            Output::Text => {
                let written = answer(ended, shown).map_or(Ok(()), out_words);
                if screen::level() > Level::Quiet {
                    rule("");
                    for line in sheet.lines(extent(), stderr_columns()).iter().chain(&quote::lines(&quotes, models)) {
                        say(line);
                    }
                }
                for text in &ended.unreadable {
                    say_in(WARN, &format!("can't be read: {}", tame(&text.to_string(), 1000)));
                }
                written
            }
        };
        self.unwritten = self.unwritten.take().or(written.err());
        if !self.args.no_advice {
            advise(ended);
        }
    }
}

/// The answer that is printed, set off from what was told before. One that failed has none, and one that was shown as words of a
/// conversation is not shown again.
fn answer(ended: &Ended, shown: Option<TextRef>) -> Option<&str> {
    let is_shown = shown.is_some_and(|shown| shown.hash == ended.report.text.text().hash);
    let answer = ended.text.trim();
    if is_shown || answer.is_empty() || ended.report.outcome == Outcome::Failed {
        return None;
    }
    // An answer that goes to a file is not between the lines of the terminal.
    if stdout_columns().is_some() || stderr_columns().is_none() {
        rule("answer");
    }
    Some(answer)
}

/// How much of the bill is printed after the work.
fn extent() -> Extent {
    if screen::level() == Level::Verbose { Extent::Whole } else { Extent::Short }
}

/// Does what a person asked of this program in a conversation. The agent hears nothing of it, and it costs nothing.
fn tell_command(live: &Live, command: &Command) {
    match command {
        Command::Help => say(HELP),
        Command::Cost => {
            let (spent, budget) = live.cost();
            say(&format!("{} of {} so far", charges(spent, sats), sats(budget)));
        }
        Command::Agents => live.at_work().iter().for_each(|agent| say(agent)),
        Command::Unknown(typed) => unknown(typed),
    }
}

/// Waits for what is typed, in a conversation.
async fn listen(talk: Option<&mut Talk>) -> Typed {
    match talk {
        Some(talk) => talk.listen().await,
        None => std::future::pending().await,
    }
}

/// What to type after an error. One that comes from what is stored comes again.
fn kept(id: &SessionId, why: &HallError) -> String {
    if matches!(why, HallError::SessionEngine(EngineError::Text { .. })) {
        format!(
            "session {id} is kept, and its model was not asked. See it with: guildhall show {id}. \
             End it with: guildhall stop {id}, then guildhall resume {id}"
        )
    } else {
        format!("session {id} is kept; go on with: guildhall resume {id}")
    }
}

async fn close(hall: Hall, running: Running, live: Live) {
    drop((running, live));
    let journal = hall.journal().clone();
    drop(hall);
    journal.close().await;
}

fn sheet(ended: &Ended, names: BTreeMap<Path, String>) -> Sheet<'_> {
    Sheet {
        bill: Cow::Borrowed(&ended.bill),
        names,
        rate: &ended.setup.staffing.rate,
        model: ended.setup.staffing.model(),
        out_of_tokens: ended.out_of_tokens,
        session: &ended.session,
        granted: ended.granted,
        credited: ended.credited,
        head: &ended.head,
        violations: &ended.violations,
    }
}

/// Says what happened and what to type next.
fn advise(ended: &Ended) {
    let id = &ended.session;
    if ended.late > Msat::ZERO {
        let amount = both(ended.late, &ended.setup.staffing.rate);
        say_in(WARN, &late(id, &ended.setup.brief.path, &amount));
    }
    let what = ending(ended.report.outcome, ended.out_of_tokens);
    match ended.report.outcome {
        Outcome::Done if ended.undone > 0 => {
            say_in(WARN, &format!("{} not done; who did what: guildhall show {id}", ended.undone));
        }
        Outcome::Done if Lack::of(&ended.report).is_some() => {
            let what = ended_as(ended.report.outcome, Lack::of(&ended.report), ended.out_of_tokens);
            say_in(WARN, &format!("{what}; who did what: guildhall show {id}"));
        }
        Outcome::Done => {
            note(&format!("{id} is kept: guildhall show {id}, or go on with guildhall run --continue {id} \"…\""));
        }
        Outcome::Exhausted(_) if ended.setup.staffing.is_list() => say_in(
            WARN,
            &format!("{what}. To go on, put what is not done into a list: guildhall run --continue {id} --tasks FILE"),
        ),
        Outcome::Exhausted(limit) => {
            let found =
                if ended.text.trim().is_empty() { "nothing was found" } else { "this is what was found so far" };
            let more = if limit == Limit::Purse { " --budget AMOUNT" } else { "" };
            let used = ended.out_of_tokens.map_or_else(String::new, |_| format!(", {} used", ended.bill.tokens()));
            if let Some(why) = &ended.failure {
                say_in(BAD, &format!("the model failed: {}", tame(why, WHY_CHARS_MAX)));
            }
            say_in(WARN, &format!("{what}{used}: {found}. Go on with: guildhall run --continue {id}{more}"));
        }
        Outcome::Failed => {
            let why = ended.failure.as_deref().unwrap_or("the model gave no answer, and no reason is known");
            say_in(BAD, &format!("failed: {}", tame(why, WHY_CHARS_MAX)));
            let overrun = ended.bill.overrun() > Msat::ZERO && !ended.setup.allow_overrun;
            let flag = if overrun { " --allow-overrun" } else { "" };
            say_in(WARN, &format!("session {id} is kept. To go on: guildhall run --continue {id}{flag}"));
        }
        Outcome::Cancelled => say_in(WARN, &format!("{what}. Go on with: guildhall run --continue {id}")),
    }
}
