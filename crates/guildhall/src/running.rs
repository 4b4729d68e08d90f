//! Work that is under way: it is watched, spoken to, ended and waited for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use guildhall_agent::Text;
use guildhall_kernel::{Brief, Contract, NextSpeaker, Path, Report, SessionFact, Stored};
use guildhall_local::{JournalError, SessionEngine, SessionId, Subscription};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::faults::Faults;
use crate::hall::{Ending, Hall, HallError, Instruction};
use crate::meter::{Meter, TokenLimit};
use crate::session::Ended;
use crate::setup::{Setup, newest_root};
use crate::stored::stored_text;
use crate::undertaking::account;

/// How often to look whether the inbox was heard, and how many times.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS_MAX: u32 = 100;

/// Work that is under way. Dropping it stops it where it is; [`Hall::resume`] goes on.
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
    models: BTreeSet<String>,
    first: u64,
    facts: Subscription,
    /// Closed when the work has ended, one way or another.
    over: watch::Receiver<()>,
    /// Gone once it was waited for.
    work: Option<JoinHandle<Result<Ended, HallError>>>,
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
            // One that can't be read is needed only by whoever goes on working, and is named then.
            texts.extend(stored_text(hall.journal(), of).await.ok().map(|says| Text { of, says }));
        }
        let engine = hall.engine(id, &root.setup).await?;
        Running::spawn(hall.clone(), id.clone(), root.setup, engine, texts).await
    }

    pub(crate) async fn spawn(
        hall: Hall,
        id: SessionId,
        setup: Setup,
        (engine, faults): (SessionEngine, Faults),
        texts: Vec<Text>,
    ) -> Result<Running, HallError> {
        let first = hall.journal().head(&id).await?.facts.saturating_add(1);
        let root = Arc::clone(&setup.brief);
        let token_limit = setup.token_limit();
        let models = setup.staffing.models().into_iter().map(str::to_owned).collect();
        let facts = hall.journal().subscribe(&id, first);
        let (under_way, over) = watch::channel(());
        let work = work(hall.clone(), id.clone(), setup, (engine, faults), texts);
        let work = tokio::spawn(async move {
            let ended = work.await;
            drop(under_way);
            ended
        });
        Ok(Running { hall, id, root, token_limit, models, first, facts, over, work: Some(work) })
    }

    /// Returns the session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the next fact of this work as soon as it is durable, and nothing once it has ended. Nothing is lost if the
    /// waiting is given up.
    pub async fn next(&mut self) -> Result<Option<Stored>, HallError> {
        tokio::select! {
            biased;
            stored = self.facts.next() => return Ok(Some(stored?)),
            // Nobody ever sends anything: this tells that the sender is gone.
            _ = self.over.changed() => {}
        }
        // What is not stored by now never is.
        Ok(self.facts.try_next().await?)
    }

    /// Returns the facts of this work, for another place that watches it: the same ones, and then none for ever.
    pub fn facts(&self) -> Subscription {
        self.hall.journal().subscribe(&self.id, self.first)
    }

    /// Returns the models of all who can come to work in it, as `PROVIDER/NAME`.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.models.iter().map(String::as_str)
    }

    /// Returns what the root was hired for.
    pub fn root(&self) -> &Brief {
        &self.root
    }

    /// Returns the count of its tokens, at nothing, if they are limited: for whoever watches its facts.
    pub fn token_limit(&self) -> Option<TokenLimit> {
        self.token_limit.clone()
    }

    /// Says something to the root. It is stored before this returns, and heard as the command of this number.
    pub async fn say(&self, words: &str) -> Result<u64, HallError> {
        let told = self.hall.order(&self.id, &self.root.path, Instruction::Words(words.to_owned())).await?;
        Ok(told.number)
    }

    /// Returns who is to speak next, by what is stored. What lies in the inbox is given time to be heard first: until then,
    /// an agent that seems to wait for words only has not got them yet.
    pub async fn floor(&self) -> Result<NextSpeaker, HallError> {
        for _ in 0..LOOKS_MAX {
            // The inbox comes first: what is heard between the two looks is seen by the second. One that can't be read now may
            // have something in it.
            let is_empty = self.hall.journal().take_after(&self.id, 0).await.is_ok_and(|left| left.is_empty());
            let floor = self.floor_now().await?;
            if is_empty || !matches!(floor, NextSpeaker::Owner { .. }) {
                return Ok(floor);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.floor_now().await
    }

    async fn floor_now(&self) -> Result<NextSpeaker, HallError> {
        let stored = self.hall.journal().contract_facts(&self.id, &self.root.path).await?;
        if stored.is_empty() {
            return Ok(NextSpeaker::Agent);
        }
        let root = Contract::restore(stored.into_iter().map(|stored| stored.fact));
        root.map(|root| root.next_speaker()).map_err(|why| HallError::Damaged(why.to_string()))
    }

    /// Tells the work to end before it is done.
    pub async fn end(&self, how: Ending) -> Result<(), HallError> {
        match self.hall.end(&self.id, how).await {
            // It ended by itself meanwhile.
            Ok(_) | Err(HallError::HasEnded(_)) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Waits until the work has ended. What it came to is told once; after that, [`Hall::session`] has it.
    pub async fn wait(&mut self) -> Result<Ended, HallError> {
        let Some(work) = &mut self.work else { return Err(HallError::HasEnded(self.id.clone())) };
        let ended = work.await;
        self.work = None;
        match ended {
            Ok(ended) => ended,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(HallError::NotEnded(self.id.clone())),
            },
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

/// Runs the root, obeying orders from other terminals meanwhile, and closes the account.
async fn work(
    hall: Hall,
    id: SessionId,
    setup: Setup,
    (engine, faults): (SessionEngine, Faults),
    texts: Vec<Text>,
) -> Result<Ended, HallError> {
    let brief = Arc::clone(&setup.brief);
    let root = brief.path.clone();
    let meter = Meter::new(&hall, &id, &engine, &root, setup.token_limit());
    let warn = |why: &JournalError| {
        hall.warn(&format!("orders from other terminals can't be read for now ({why}); the work goes on, and so do the attempts to read them"));
    };
    let report = tokio::select! {
        report = engine.run(brief, texts) => report?,
        why = engine.process_orders(&warn) => return Err(why.into()),
        why = meter.watch() => return Err(why),
    };
    settle(&hall, &id, &engine, &root, &report).await?;
    // Whoever took the work up may have allowed what whoever began it did not.
    let setup = Setup { allow_overrun: setup.allow_overrun || hall.allows_overrun(), ..setup };
    Ended::read(hall.journal(), &id, &root, setup, report, &faults).await
}

/// Closes the account of a root that has reported.
pub(crate) async fn settle(
    hall: &Hall,
    id: &SessionId,
    engine: &SessionEngine,
    root: &Path,
    report: &Report,
) -> Result<(), HallError> {
    let mut session = account(hall.journal(), id).await?;
    if !session.has_ended(root) {
        // A root whose process ended between the two is settled once.
        let ended = SessionFact::Ended {
            root: root.clone(),
            spent: report.spent,
            reserved: report.reserved,
            estimated: report.estimated,
        };
        session.apply(&ended)?;
        engine.account(vec![ended], Vec::new()).await?;
    }
    // Orders that came while the root closed: nobody looks into the inbox any more.
    Ok(engine.finish_orders().await?)
}
