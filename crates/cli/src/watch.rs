//! Running work at this terminal: what the person sees and types, until the work ends or is interrupted.

mod typed;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use guildhall::kernel::{Outcome, Path, Stored, TextRef};
use guildhall::local::{SessionId, raise_open_files};
use guildhall::{Ended, Ending, Hall, HallError, Running};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::advice::{Continue, WHY_CHARS_MAX, advice_after_error, advise};
use crate::amount::{Money, paid_in_words};
use crate::args::{Output, WatchArgs};
use crate::bill::{BillJson, Extent, Sheet};
use crate::commands::out_json;
use crate::exit::{self, Exit, Failure, Interrupted};
use crate::failed;
use crate::live::{Line, Live, ending};
use crate::print::{NotWritten, WARN, out_answer, out_reply, rule, say, say_in, tame, warn};
use crate::quote;
use crate::screen::{self, Level, stderr_columns, stdout_columns};
use crate::showing;
use crate::signals::Signals;
use crate::talk::{Next, Shown, Talk, Typed, is_for_person};
use crate::world::{REHEARSAL, is_dumb_terminal};

/// The message about a line that is too long to be sent.
pub(crate) const TOO_LONG: &str = "this line is too long and was not sent: put the text into a file and name the file";

/// The message about a line that is not UTF-8.
pub(crate) const NOT_TEXT: &str = "the line is not UTF-8 text and was not sent";

/// How long the journal may take to close when the process must stop immediately.
const LEAVE_TIME_MAX: Duration = Duration::from_millis(500);

/// How often the status line is drawn again.
const DRAW: Duration = Duration::from_millis(100);

/// How often the status line below the line that a person is typing is drawn again, at most: the line is drawn with it.
const DRAW_BELOW: Duration = Duration::from_millis(500);

/// When the lines about the work are printed.
enum Progress {
    /// As the facts arrive.
    Live,
    /// After the work has ended. These are the lines so far.
    Later(Vec<String>),
    /// Never.
    Never,
}

/// The status line at the bottom. Dropping it removes the line, however the work ends.
struct StatusLine;

impl Drop for StatusLine {
    fn drop(&mut self) {
        screen::clear();
        screen::draw_below(String::new());
    }
}

/// Watches running work and the signals.
pub(crate) struct Watch {
    work: Work,
    signals: Signals,
}

impl Watch {
    pub(crate) async fn new(hall: Hall, running: Running, args: WatchArgs, signals: Signals) -> Result<Watch, Failure> {
        raise_open_files();
        let of_session = |why: HallError| Failure::from(why).of_session(running.id());
        let warnings = running.usage_warnings().await.map_err(of_session)?;
        let staffing = hall.staffing_of(running.id()).await.map_err(of_session)?;
        let live = Live::new(hall.clone(), running.token_limit(), warnings).paid_by(paid_in_words(&staffing));
        let (progress, interrupted) = (Progress::Live, Interrupted::No);
        let work = Work {
            live,
            progress,
            hall,
            running,
            args,
            talk: None,
            interrupted,
            write_error: None,
            before: Vec::new(),
            drawn_at: Instant::now(),
            unprinted: Vec::new(),
        };
        Ok(Watch { work, signals })
    }

    /// Makes the work a conversation.
    pub(crate) fn with(mut self, talk: Option<Talk>) -> Watch {
        if talk.is_some() && self.work.args.output.output == Output::Text {
            screen::stream_replies();
        }
        self.work.talk = talk;
        self
    }

    /// Passes the facts of an earlier process.
    pub(crate) fn after(mut self, before: Vec<Stored>) -> Watch {
        self.work.before = before;
        self
    }

    /// Follows the work until it ends or the process must stop. In the second case, all running calls are dropped immediately.
    pub(crate) async fn until_the_end(self) -> Result<Exit, Failure> {
        let mut watch = self;
        loop {
            // Boxed, because the future of a whole root is large.
            match Box::pin(watch.until_the_root_ends()).await? {
                ControlFlow::Continue(next) => watch = next,
                ControlFlow::Break(exit) => return Ok(exit),
            }
        }
    }

    /// Follows one root. A conversation can go on with another one.
    async fn until_the_root_ends(self) -> Result<ControlFlow<Exit, Watch>, Failure> {
        let Watch { mut work, mut signals } = self;
        let (began, wrap_up) = (Instant::now(), Notify::new());
        let id = work.running.id().clone();
        let ended = tokio::select! {
            biased;
            () = signals.until_stop(&wrap_up) => return Ok(ControlFlow::Break(work.leave().await)),
            ended = work.follow(&wrap_up) => ended.map_err(|why| why.of_session(&id))?,
        };
        work.show(&ended, began.elapsed(), &mut signals).await;
        let (work, ended) = match work.talk.as_mut().and_then(|talk| talk.switch.take()) {
            None => (work, ended),
            Some(switch) => {
                match Box::pin(work.go_on(ended, switch, signals)).await.map_err(|why| why.of_session(&id))? {
                    ControlFlow::Continue(watch) => return Ok(ControlFlow::Continue(watch)),
                    ControlFlow::Break((work, ended)) => (*work, *ended),
                }
            }
        };
        work.finish(ended).await.map(ControlFlow::Break).map_err(|why| why.of_session(&id))
    }
}

/// Running work, and what the person at this terminal has seen of it.
struct Work {
    hall: Hall,
    running: Running,
    live: Live,
    progress: Progress,
    args: WatchArgs,
    /// The input of the person, if the work is a conversation.
    talk: Option<Talk>,
    /// Whether the person pressed Ctrl-C and the work was ordered to wrap up.
    interrupted: Interrupted,
    /// The first error of writing to stdout. The work continues after such an error.
    write_error: Option<NotWritten>,
    /// The facts of an earlier process that were not read yet.
    before: Vec<Stored>,
    /// When the status line below the typed line was last drawn.
    drawn_at: Instant,
    /// The lines about facts whose neighbours are still to come.
    unprinted: Vec<Line>,
}

impl Work {
    /// Prints what happens until the work has ended.
    async fn follow(&mut self, wrap_up: &Notify) -> Result<Ended, Failure> {
        if screen::level() == Level::Quiet {
            self.progress = Progress::Never;
        } else if self.is_replayed_later() {
            self.progress = Progress::Later(Vec::new());
        }
        let status = self.has_status_line().then_some(StatusLine);
        let mut ticks = interval(DRAW);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut facts = self.running.facts();
        self.know_earlier().await;
        self.check_speaker().await?;
        let ended = loop {
            tokio::select! {
                biased;
                () = wrap_up.notified() => {
                    let is_idle = self.talk.as_ref().is_some_and(Talk::is_idle);
                    let how = if is_idle { "ending the conversation" } else { "wrapping up with one last report" };
                    say_in(WARN, &format!("{how}. Ctrl-C again stops at once"));
                    self.running.end(Ending::WrapUp).await?;
                    self.interrupted = Interrupted::Yes;
                }
                _ = ticks.tick(), if status.is_some() && self.live.has_begun() => self.draw_status(),
                fact = facts.next() => {
                    let fact = fact?;
                    self.print_fact(&fact).await?;
                    // Facts that were stored together are all printed before the next step.
                    if !facts.has_more() {
                        self.print_lines();
                        self.check_speaker().await?;
                    }
                }
                ended = self.running.wait() => break ended,
                typed = listen(self.talk.as_mut()) => self.handle(typed).await?,
            }
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(why) => {
                self.print_lines();
                self.print_deferred();
                self.print_transcript_failure();
                say_in(WARN, &advice_after_error(self.running.id(), &why));
                return Err(why.into());
            }
        };
        while let Some(fact) = facts.try_next().await? {
            self.print_fact(&fact).await?;
        }
        self.print_lines();
        Ok(ended)
    }

    /// Reads the facts of an earlier process. That takes a while for a large session, and a signal can end it.
    async fn know_earlier(&mut self) {
        let before = std::mem::take(&mut self.before);
        self.live.know(&before).await;
        if let Some(talk) = &mut self.talk {
            let root = &self.running.root().path;
            before.iter().filter(|stored| stored.contract == *root).for_each(|stored| talk.know(&stored.fact));
        }
    }

    /// Prints the result and closes everything.
    async fn finish(mut self, ended: Ended) -> Result<Exit, Failure> {
        let text = self.talk.as_mut().and_then(Talk::rest);
        self.print_reply(text).await?;
        let talk = self.talk.take();
        let command = if talk.is_some() { Continue::Chat } else { Continue::Run };
        let shown = talk.and_then(|talk| talk.shown);
        let exit = exit::of(&ended, self.interrupted);
        self.print(&ended, exit, shown, command);
        close(self.hall, self.running, self.live).await;
        let id = &ended.session;
        let failure = |why| Failure::failed(format!("{why}. It is saved. To read it, run: guildhall show {id}"));
        self.write_error.map_or(Ok(exit), |why| Err(failure(why)))
    }

    /// Whether there is a status line at the bottom. Lines that a terminal echoes itself have no room for it.
    fn has_status_line(&self) -> bool {
        let is_echoed = self.talk.as_ref().is_some_and(|talk| talk.lines.terminal && !talk.lines.are_edited());
        !matches!(self.progress, Progress::Never) && !is_echoed && screen::can_draw()
    }

    /// Draws the status line. In a conversation there is one while the agent or a hire is at work.
    fn draw_status(&mut self) {
        let status = |columns| self.live.status(columns);
        match &self.talk {
            None => screen::draw(&status),
            Some(talk) if !talk.lines.are_edited() && talk.is_at_work() => screen::draw_status(&status),
            Some(talk) if !talk.lines.are_edited() => screen::clear(),
            Some(talk) if !talk.is_at_work() => screen::draw_below(String::new()),
            Some(_) if self.drawn_at.elapsed() < DRAW_BELOW => {}
            Some(_) => {
                screen::draw_below(status(screen::below_columns()));
                self.drawn_at = Instant::now();
            }
        }
    }

    /// Whether the lines are replayed after the work: a rehearsal ends too fast to read along, and a person must be there.
    fn is_replayed_later(&self) -> bool {
        let rehearsed = self.running.models().all(|model| model == REHEARSAL);
        let for_people = self.args.output.output == Output::Text && self.talk.is_none();
        rehearsed && for_people && !is_dumb_terminal() && showing::has_a_viewer()
    }

    /// Replays the lines that were not printed live. After Ctrl-C they are printed without delay.
    async fn show(&mut self, ended: &Ended, took: Duration, signals: &mut Signals) {
        if self.interrupted == Interrupted::Yes {
            return self.print_deferred();
        }
        let Some(lines) = self.take_deferred() else { return };
        let what = ending(ended.report.outcome, ended.out_of_tokens);
        let title = format!("{what} after {:.1} s; replay of the stored facts", took.as_secs_f64());
        showing::show(&title, &lines, signals).await;
    }

    fn print_deferred(&mut self) {
        self.take_deferred().unwrap_or_default().iter().for_each(|line| say(line));
    }

    /// Returns the lines that were not printed live, if there are any.
    fn take_deferred(&mut self) -> Option<Vec<String>> {
        match std::mem::replace(&mut self.progress, Progress::Live) {
            Progress::Later(lines) => Some(lines),
            Progress::Live => None,
            Progress::Never => {
                self.progress = Progress::Never;
                None
            }
        }
    }

    /// Prints a fact. In a conversation each fact is printed alone, because replies are printed between them.
    async fn print_fact(&mut self, stored: &Stored) -> Result<(), Failure> {
        let root = self.running.root().path.clone();
        let is_own = self.talk.as_ref().is_some_and(|talk| talk.is_own_message(&stored.fact));
        let talk = self.talk.as_mut().filter(|_| stored.contract == root);
        let text = talk.and_then(|talk| talk.take(&stored.fact));
        self.print_reply(text).await?;
        let shown = self.talk.is_some() && self.args.output.output == Output::Text && is_for_person(stored, &root);
        let new = self.live.lines(stored).await.into_iter().map(|(_, line)| line);
        match &mut self.progress {
            Progress::Live if self.talk.is_some() => {
                new.filter(|_| !shown && !is_own).for_each(|line| say(&self.live.finish(line)));
            }
            Progress::Live | Progress::Later(_) => self.unprinted.extend(new),
            Progress::Never => {}
        }
        Ok(())
    }

    /// Prints the lines about the facts that arrived together.
    fn print_lines(&mut self) {
        let unprinted = std::mem::take(&mut self.unprinted);
        let lines: Vec<String> = unprinted.into_iter().map(|line| self.live.finish(line)).collect();
        match &mut self.progress {
            Progress::Live if !lines.is_empty() => say(&lines.join("\n")),
            Progress::Later(later) => later.extend(lines),
            Progress::Live | Progress::Never => {}
        }
    }

    /// Prints a reply of the agent to the person.
    async fn print_reply(&mut self, reply: Option<Shown>) -> Result<(), Failure> {
        let (Some(Shown { text, cut }), Some(talk)) = (reply, &mut self.talk) else { return Ok(()) };
        if self.args.output.output == Output::Text {
            let bytes = self.hall.journal().text(text.hash).await?.unwrap_or_default();
            let written = out_reply(&String::from_utf8_lossy(&bytes));
            self.write_error = self.write_error.take().or(written.err());
            talk.shown = Some(text);
            if cut {
                say_in(WARN, "this reply is cut: the agent could not finish it");
            }
        }
        Ok(())
    }

    /// Finds out who speaks next, after all available facts were printed.
    async fn check_speaker(&mut self) -> Result<(), Failure> {
        let text = self.talk.as_mut().and_then(Talk::rest);
        self.print_reply(text).await?;
        let Some(talk) = &mut self.talk else { return Ok(()) };
        match talk.look(self.running.next_speaker().await?) {
            Next::Wait => {}
            Next::End => self.running.end(Ending::WrapUp).await?,
            Next::Money { hires } => {
                let hold = if hires == 1 { "1 hire holds".to_owned() } else { format!("{hires} hires hold") };
                warn(&format!(
                    "too little money is free for a reply: {hold} the rest. The agent replies when a hire returns money. To add money, run: guildhall topup {} AMOUNT",
                    self.running.id()
                ));
            }
            Next::Report { hires } => {
                let hires = if hires == 1 { "1 hire has".to_owned() } else { format!("{hires} hires have") };
                warn(&format!("{hires} not reported yet: the conversation ends after the last report"));
            }
        }
        Ok(())
    }

    /// Stops immediately. No contract is closed; a resume continues from the stored facts.
    async fn leave(mut self) -> Exit {
        self.print_lines();
        self.talk = None;
        let id = self.running.id().clone();
        self.print_transcript_failure();
        let then = match self.interrupted {
            Interrupted::No => "",
            // The order to wrap up is stored.
            Interrupted::Yes => " (this makes the last report)",
        };
        let why = format!("stopped. Everything so far is saved. To continue, run: guildhall resume {id}{then}");
        say_in(WARN, &why);
        if self.args.output.output == Output::Json {
            failed::print_session(&self.hall, &id, &why, Exit::Interrupted).await;
        }
        // The facts are durable already, so a journal that is slow to close need not delay the end.
        let _ = timeout(LEAVE_TIME_MAX, close(self.hall, self.running, self.live)).await;
        Exit::Interrupted
    }

    fn print(&mut self, ended: &Ended, exit: Exit, shown: Option<TextRef>, command: Continue) {
        let sheet = sheet(ended, self.live.names());
        let models = self.hall.models();
        let quotes = quote::quotes(models, ended);
        let written = match self.args.output.output {
            Output::Json => out_json(&ResultJson {
                session: &ended.session,
                outcome: Some(ended.report.outcome),
                answer: Some(ended.text.as_str()).filter(|text| !text.trim().is_empty()),
                failure: ended.failure.as_deref(),
                unreadable: ended.unreadable.iter().map(ToString::to_string).collect(),
                transcript_failure: ended.transcript_failure.as_deref(),
                exit_code: exit.code(),
                bill: Some(sheet.json()),
                quote: quote::json(&quotes, models),
            }),
            Output::Text => {
                let model = ended.setup.staffing.model();
                let written = answer(ended, shown).map_or(Ok(()), |answer| out_answer(answer, model));
                if screen::level() > Level::Quiet {
                    rule("");
                    let quotes = quote::lines(&quotes, &ended.bill, models);
                    for line in sheet.lines(extent(), stderr_columns()).iter().chain(&quotes) {
                        say(line);
                    }
                    if let Some(cost) = self.live.cost_of_all_roots() {
                        say(&cost);
                    }
                }
                for text in &ended.unreadable {
                    say_in(WARN, &format!("can't be read: {}", tame(&text.to_string(), 1000)));
                }
                written
            }
        };
        self.write_error = self.write_error.take().or(written.err());
        self.print_transcript_failure();
        if !self.args.no_advice {
            advise(ended, command);
        }
    }

    /// Prints why the transcripts are not complete. The person asked for them, so this is printed also with `--quiet`.
    fn print_transcript_failure(&self) {
        if let Some(why) = self.running.transcript_failure() {
            let (why, id) = (tame(why, WHY_CHARS_MAX), self.running.id());
            say_in(
                WARN,
                &format!(
                    "the transcripts are not complete: {why}. To write them, run: guildhall transcript {id} --all DIR"
                ),
            );
        }
    }
}

/// The result of work, for programs.
#[derive(Serialize)]
pub(crate) struct ResultJson<'a> {
    pub(crate) session: &'a SessionId,
    /// `None` if the work has not ended.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) answer: Option<&'a str>,
    pub(crate) failure: Option<&'a str>,
    pub(crate) unreadable: Vec<String>,
    pub(crate) transcript_failure: Option<&'a str>,
    pub(crate) exit_code: u8,
    pub(crate) bill: Option<BillJson<'a>>,
    pub(crate) quote: Value,
}

/// The answer to print, after a rule. Failed work has no answer, and an answer that the conversation has shown is not repeated.
fn answer(ended: &Ended, shown: Option<TextRef>) -> Option<&str> {
    let is_shown = shown.is_some_and(|shown| shown.hash == ended.report.text.text().hash);
    let answer = ended.text.trim();
    if is_shown || answer.is_empty() || ended.report.outcome == Outcome::Failed {
        return None;
    }
    // No rule in the terminal if only the answer goes to a file.
    if stdout_columns().is_some() || stderr_columns().is_none() {
        rule("answer");
    }
    Some(answer)
}

/// How much of the bill is printed after the work.
fn extent() -> Extent {
    if screen::level() == Level::Verbose { Extent::Whole } else { Extent::Short }
}

/// Waits for input, in a conversation.
async fn listen(talk: Option<&mut Talk>) -> Typed {
    match talk {
        Some(talk) => talk.listen().await,
        None => std::future::pending().await,
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
        money: Money::of(&ended.setup.staffing),
        out_of_tokens: ended.out_of_tokens,
        session: &ended.session,
        granted: ended.granted,
        credited: ended.credited,
        head: &ended.head,
        violations: &ended.violations,
    }
}
