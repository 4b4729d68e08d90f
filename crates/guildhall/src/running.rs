//! Work that is running: how to watch it, send messages to it, end it and wait for it.

use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guildhall_agent::Text;
use guildhall_kernel::{Brief, Contract, NextSpeaker, Path, Report, SessionFact, Stored};
use guildhall_local::{CallGate, JournalError, Progress, SessionEngine, SessionId, Subscription};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use crate::faults::Faults;
use crate::hall::{Ending, Hall, HallError, Instruction};
use crate::session::Ended;
use crate::setup::{Setup, newest_root};
use crate::stored::stored_text;
use crate::token_limit::TokenLimit;
use crate::transcript::{LiveTranscripts, ReadyTranscripts, TranscriptFailure};
#[cfg(feature = "lightning")]
use crate::treasury::TreasuryWorker;
use crate::undertaking::account;
use crate::usage_warnings::UsageWarnings;

/// The pause between two looks into the inbox, and the number of looks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS_MAX: u32 = 100;

/// Work that is running. Dropping it stops the work at its current state; [`Hall::resume`] continues the work.
///
/// ```
/// use guildhall::{Ending, Fact, Hall, Outcome, Price, Reply, model_fn};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let project = tempfile::tempdir()?;
/// let thinker = model_fn(|_| std::future::pending::<Reply>());
/// let hall = Hall::builder().project(project.path()).model("thinker", thinker, Price::FREE).build()?;
/// let mut running = hall.run("Is there anything to think about?").start().await?;
/// while let Some(stored) = running.next().await? {
///     println!("{} {:?}", stored.contract, stored.fact);
///     if matches!(stored.fact, Fact::Asked { .. }) {
///         running.end(Ending::Cancel).await?;
///     }
/// }
/// assert_eq!(running.wait().await?.report.outcome, Outcome::Cancelled);
/// # Ok(())
/// # }
/// ```
pub struct Running {
    hall: Hall,
    id: SessionId,
    root: Arc<Brief>,
    token_limit: Option<TokenLimit>,
    model: String,
    models: BTreeSet<String>,
    is_of_wallet: bool,
    first: u64,
    facts: Subscription,
    /// This channel is closed when the work has ended, with a report or an error.
    over: watch::Receiver<()>,
    transcript_directory: Option<PathBuf>,
    transcript_failure: TranscriptFailure,
    stopper: Stopper,
    progress: watch::Receiver<Progress>,
    /// `None` after [`Running::wait`] returned the result.
    work: Option<JoinHandle<Result<Ended, HallError>>>,
}

/// Stops running work in an orderly way.
#[derive(Clone)]
pub(crate) struct Stopper {
    order: watch::Sender<Option<Duration>>,
    gate: CallGate,
}

impl Stopper {
    /// Orders the work to stop. No call is sent after this. The calls that were sent have this much time to end.
    pub(crate) fn stop(&self, grace: Duration) {
        self.gate.close();
        self.order.send_replace(Some(grace));
    }

    /// Waits for the order to stop.
    async fn ordered(&self) -> Duration {
        let mut order = self.order.subscribe();
        let grace = order.wait_for(Option::is_some).await.ok().and_then(|grace| *grace);
        // This value keeps the channel open, so the wait ends only with an order.
        grace.unwrap_or_default()
    }
}

impl Running {
    pub(crate) async fn resume(hall: &Hall, id: &SessionId) -> Result<Running, HallError> {
        let root = newest_root(hall.journal(), id).await?;
        if account(hall.journal(), id).await?.has_ended(&root.path) {
            return Err(HallError::HasEnded(id.clone()));
        }
        let brief = &root.setup.brief;
        let mut texts = Vec::new();
        let named = std::iter::once(brief.task).chain(brief.adds.iter().copied());
        for of in named.chain(brief.checks.iter().map(|check| check.what)) {
            // A text that can't be read is an error later, when a contract needs the text.
            texts.extend(stored_text(hall.journal(), of).await.ok().map(|says| Text { of, says }));
        }
        let engine = hall.engine(id, &root.setup).await?;
        let transcripts = match hall.open_transcripts(id).await? {
            Some(transcripts) => Some(transcripts.catch_up(hall, id, &root.path).await?),
            None => None,
        };
        Running::spawn(hall.clone(), id.clone(), root.setup, engine, texts, transcripts).await
    }

    pub(crate) async fn spawn(
        hall: Hall,
        id: SessionId,
        setup: Setup,
        (engine, faults): (SessionEngine, Faults),
        texts: Vec<Text>,
        transcripts: Option<ReadyTranscripts>,
    ) -> Result<Running, HallError> {
        let first = hall.journal().head(&id).await?.facts.saturating_add(1);
        let root = Arc::clone(&setup.brief);
        let token_limit = setup.token_limit();
        let model = setup.staffing.model().to_owned();
        let models = setup.staffing.models().into_iter().map(str::to_owned).collect();
        let is_of_wallet = setup.staffing.is_of_wallet();
        let facts = hall.journal().subscribe(&id, first);
        let transcripts = transcripts.map(|ready| ready.begin(&hall, &setup));
        let transcript_directory = transcripts.as_ref().map(|live| live.directory().to_owned());
        let transcript_failure = transcripts.as_ref().map(LiveTranscripts::failure).cloned().unwrap_or_default();
        let failure = Arc::clone(&transcript_failure);
        #[cfg(feature = "lightning")]
        let treasury = TreasuryWorker::start_for(&hall, &id).await?;
        let (still_running, over) = watch::channel(());
        let (stopper, progress) =
            (Stopper { order: watch::Sender::new(None), gate: engine.call_gate() }, engine.progress());
        let work = work(hall.clone(), id.clone(), setup, (engine, faults), texts, stopper.clone());
        let work = tokio::spawn(async move {
            let ended = work.await;
            if let Some(transcripts) = transcripts {
                transcripts.finish().await;
            }
            #[cfg(feature = "lightning")]
            if let Some(treasury) = treasury {
                treasury.finish().await;
            }
            drop(still_running);
            ended.map(|ended| Ended { transcript_failure: failure.get().cloned(), ..ended })
        });
        Ok(Running {
            hall,
            id,
            root,
            token_limit,
            model,
            models,
            is_of_wallet,
            first,
            facts,
            over,
            transcript_directory,
            transcript_failure,
            stopper,
            progress,
            work: Some(work),
        })
    }

    /// Returns the session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the next fact of this work as soon as the fact is durable, and `None` after the work has ended. Dropping the
    /// future loses no fact.
    pub async fn next(&mut self) -> Result<Option<Arc<Stored>>, HallError> {
        tokio::select! {
            biased;
            stored = self.facts.next() => return Ok(Some(stored?)),
            // Nothing is ever sent: `changed` returns when the sender is dropped.
            _ = self.over.changed() => {}
        }
        // No more facts will be stored from here on.
        Ok(self.facts.try_next().await?)
    }

    /// Returns a second stream of the facts of this work. After the last fact, the stream waits forever.
    pub fn facts(&self) -> Subscription {
        self.hall.journal().subscribe(&self.id, self.first)
    }

    /// Returns the model of the first agent, as `PROVIDER/NAME`.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the models of all agents that the work can use, as `PROVIDER/NAME`.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.models.iter().map(String::as_str)
    }

    /// Whether the session pays with the money of a wallet.
    pub fn is_of_wallet(&self) -> bool {
        self.is_of_wallet
    }

    /// Returns the brief of the root.
    pub fn root(&self) -> &Brief {
        &self.root
    }

    /// Returns a token counter that starts at zero, if the tokens are limited. Code that watches the facts can feed it.
    pub fn token_limit(&self) -> Option<TokenLimit> {
        self.token_limit.clone()
    }

    /// Returns the warnings about providers whose usage reports can't be right. The facts of earlier processes were taken. Code
    /// that watches the facts can feed it.
    pub async fn usage_warnings(&self) -> Result<UsageWarnings, HallError> {
        let mut warnings = self.hall.usage_warnings(&self.id).await?;
        if self.first > 1 {
            let before = self.hall.journal().facts(&self.id, 1).await?;
            before.iter().filter(|stored| stored.seq < self.first).for_each(|stored| drop(warnings.note(stored)));
        }
        Ok(warnings)
    }

    /// Returns the directory in which this work's transcripts are written while it runs, if they are.
    pub fn transcript_directory(&self) -> Option<&FilePath> {
        self.transcript_directory.as_deref()
    }

    /// Returns why the transcripts in that directory will not be complete, as soon as that is known.
    pub fn transcript_failure(&self) -> Option<&str> {
        self.transcript_failure.get().map(String::as_str)
    }

    /// Sends a message to the root. The message is stored before this returns. The number that this returns identifies the
    /// message in [`Fact::Heard`](crate::Fact::Heard).
    pub async fn say(&self, text: &str) -> Result<u64, HallError> {
        let order = self.hall.order(&self.id, &self.root.path, Instruction::Message(text.to_owned())).await?;
        Ok(order.number)
    }

    /// Returns who speaks next, according to the stored facts. This waits a short time for the root to read its inbox: before
    /// that, the root can seem to wait for a message that it already has.
    pub async fn next_speaker(&self) -> Result<NextSpeaker, HallError> {
        for _ in 0..LOOKS_MAX {
            // The inbox is read before the facts: an order that the root reads in between is then in the facts. An inbox that
            // can't be read now may have orders in it.
            let is_empty = self.hall.journal().take_after(&self.id, 0).await.is_ok_and(|left| left.is_empty());
            let speaker = self.next_speaker_now().await?;
            if is_empty || !matches!(speaker, NextSpeaker::Owner { .. }) {
                return Ok(speaker);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.next_speaker_now().await
    }

    async fn next_speaker_now(&self) -> Result<NextSpeaker, HallError> {
        let stored = self.hall.journal().contract_facts(&self.id, &self.root.path).await?;
        if stored.is_empty() {
            return Ok(NextSpeaker::Agent);
        }
        let root = Contract::restore(stored.into_iter().map(|stored| stored.fact));
        root.map(|root| root.next_speaker()).map_err(|why| HallError::Damaged(why.to_string()))
    }

    /// Orders the work to end before it is done.
    pub async fn end(&self, how: Ending) -> Result<(), HallError> {
        match self.hall.end(&self.id, how).await {
            // The work ended by itself meanwhile.
            Ok(_) | Err(HallError::HasEnded(_)) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Orders the work to stop in an orderly way, so that [`Hall::resume`] can continue it without a lost call: no more calls are
    /// sent, the calls that were sent have this much time to end, and their answers are stored. Then [`Running::wait`] returns
    /// [`HallError::NotEnded`].
    pub fn stop(&self, grace: Duration) {
        self.stopper.stop(grace);
    }

    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Returns whether the session does something or only waits for a person, and each change of that.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Whether the session only waits for a person, and no order waits in its inbox. An inbox that can't be read may have orders.
    pub(crate) async fn has_nothing_to_do(&self) -> bool {
        let orders = self.hall.journal().take_after(&self.id, 0).await;
        orders.is_ok_and(|orders| orders.is_empty()) && *self.progress.borrow() == Progress::AwaitsPerson
    }

    /// Waits until the work has ended. The result is returned once; after that, [`Hall::session`] returns it. A panic of the work
    /// is passed on.
    pub async fn wait(&mut self) -> Result<Ended, HallError> {
        match self.join().await {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Waits until the work has ended. A panic of the work is an error.
    pub(crate) async fn outcome(&mut self) -> Result<Ended, HallError> {
        // The message of a panic may contain anything, so it is not passed on.
        let id = self.id.clone();
        self.join().await.unwrap_or_else(|_| Err(HallError::Crashed(id)))
    }

    /// Waits until the work has ended. The outer error is a panic.
    async fn join(&mut self) -> Result<Result<Ended, HallError>, Box<dyn Any + Send>> {
        let Some(work) = &mut self.work else { return Ok(Err(HallError::HasEnded(self.id.clone()))) };
        let ended = work.await;
        self.work = None;
        match ended.map_err(JoinError::try_into_panic) {
            Ok(ended) => Ok(ended),
            Err(Ok(panic)) => Err(panic),
            Err(Err(_)) => Ok(Err(HallError::NotEnded(self.id.clone()))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}

/// Runs the root, follows orders from other terminals meanwhile, and settles the account.
async fn work(
    hall: Hall,
    id: SessionId,
    setup: Setup,
    (engine, faults): (SessionEngine, Faults),
    texts: Vec<Text>,
    stopper: Stopper,
) -> Result<Ended, HallError> {
    let brief = Arc::clone(&setup.brief);
    let root = brief.path.clone();
    let warn = |why: &JournalError| {
        hall.warn(&format!("orders from other terminals can't be read at the moment ({why}). The work continues, and reading is tried again"));
    };
    let report = tokio::select! {
        report = engine.run(brief, texts) => report?,
        why = engine.process_orders(&warn) => return Err(why.into()),
        result = async { engine.stop(stopper.ordered().await).await } => {
            result?;
            return Err(HallError::NotEnded(id));
        }
    };
    settle(&hall, &id, &engine, &root, &report).await?;
    // A resume may allow overruns that the start did not allow.
    let setup = Setup { allow_overrun: setup.allow_overrun || hall.allows_overrun(), ..setup };
    Ended::read(hall.journal(), &id, &root, setup, report, &faults).await
}

/// Settles the account of a root that has reported.
pub(crate) async fn settle(
    hall: &Hall,
    id: &SessionId,
    engine: &SessionEngine,
    root: &Path,
    report: &Report,
) -> Result<(), HallError> {
    let mut session = account(hall.journal(), id).await?;
    if !session.has_ended(root) {
        // A process may have ended after the root closed and before it was settled: then it is settled here, once.
        let ended = SessionFact::Ended {
            root: root.clone(),
            spent: report.spent,
            reserved: report.reserved,
            estimated: report.estimated,
        };
        session.apply(&ended)?;
        engine.account(vec![ended], Vec::new()).await?;
    }
    // Orders may have arrived while the root closed, and no other code reads the inbox from now on.
    Ok(engine.finish_orders().await?)
}
