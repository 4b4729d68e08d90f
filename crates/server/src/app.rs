//! What all requests share: the offers, the keeper of running work, the limits and the counters.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use guildhall::kernel::Path;
use guildhall::kernel::{Hash, Msat};
use guildhall::local::Journal;
use guildhall::{Ended, Ending, Hall, HallError, Instruction, Keeper, SessionId, Tree};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::activity::Activities;
use crate::guard::Sites;
use crate::metrics::{Gauges, Metrics};
use crate::offer::{Costs, Offer, Published};
use crate::peer::Peer;
use crate::places::{Full, Place, Places};
use crate::problem::Problem;
use crate::rates::{Buckets, Rate};
use crate::server::ServerError;
use crate::token::Token;
use crate::trees::Trees;

/// The ends of work: what it cost, or why it stopped.
pub(crate) type Endings = mpsc::UnboundedReceiver<(SessionId, Result<Msat, String>)>;

/// A function that receives the lines of the log. They have no text of a session and no token in them.
pub type LogFn = Arc<dyn Fn(LogKind, &str) + Send + Sync>;

/// The kind of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// A request of a client.
    Request,
    /// Something that the operator should know.
    Event,
}

/// How many earlier costs are read when the server starts.
const COSTS_READ_MAX: u32 = 10_000;

/// How many revoked tokens a stream may miss before it asks the journal again.
const REVOKED_MAX: usize = 64;

/// The settings of a server.
pub struct Settings {
    /// The token of the operator.
    pub operator: Token,
    /// The hosts and origins that are ours.
    pub sites: Sites,
    /// The limits.
    pub limits: Limits,
    /// The log.
    pub log: LogFn,
}

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many sessions may wait for their first money.
    pub unpaid_max: u32,
    /// How long they count, and how long an invoice in play money is valid.
    pub unpaid_for: Duration,
    /// How many streams of events may be open.
    pub streams_max: usize,
    /// How many of them one client may have, and how many one session.
    pub streams_each_max: usize,
    /// The most that an invoice may be about, in satoshis.
    pub invoice_sats_max: u64,
    /// How many requests may be at work at the same time.
    pub work_max: usize,
    /// The sessions that one client makes.
    pub new_sessions: Rate,
    /// What the owner of one session changes: requests, messages, top-ups, payments and viewers. Each is stored for ever. Stopping work
    /// and revoking a token are always possible.
    pub changes: Rate,
    /// The requests of one client that have no token, or a wrong one.
    pub public: Rate,
    /// All requests of one client.
    pub client: Rate,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            unpaid_max: 100,
            unpaid_for: Duration::from_mins(15),
            streams_max: 2_000,
            streams_each_max: 1_000,
            invoice_sats_max: 10_000_000,
            work_max: 200,
            // One client alone can't reach the limit on unpaid sessions.
            new_sessions: Rate { per_minute: 5, burst: 20 },
            changes: Rate { per_minute: 120, burst: 120 },
            public: Rate { per_minute: 1_200, burst: 200 },
            client: Rate { per_minute: 30_000, burst: 5_000 },
        }
    }
}

/// The place of work that is about to start, until it is dropped.
pub(crate) struct WorkPlace(Arc<Mutex<usize>>);

impl Drop for WorkPlace {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

/// The place of a stream of events, until it is dropped.
pub(crate) struct StreamPlace {
    _client: Place<Option<IpAddr>>,
    _session: Place<SessionId>,
}

/// What all requests share. A clone is another handle to the same.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    hall: Hall,
    offers: BTreeMap<String, Published>,
    keeper: Keeper,
    operator: Hash,
    sites: Sites,
    limits: Limits,
    log: LogFn,
    metrics: Metrics,
    costs: Costs,
    activities: Activities,
    trees: Trees,
    new_sessions: Buckets<Option<IpAddr>>,
    changes_of_sessions: Buckets<SessionId>,
    public: Buckets<Option<IpAddr>>,
    clients: Buckets<Option<IpAddr>>,
    client_streams: Places<Option<IpAddr>>,
    session_streams: Places<SessionId>,
    revoked: broadcast::Sender<(SessionId, u64)>,
    stop: watch::Sender<bool>,
    /// How many requests for work are about to start.
    starting: Arc<Mutex<usize>>,
    /// Whether work of the last server is still being resumed.
    is_resuming: AtomicBool,
    /// Requests that change something. They go on when their clients go.
    changes: Mutex<JoinSet<()>>,
}

impl App {
    pub(crate) async fn new(
        hall: Hall,
        offers: Vec<Offer>,
        activities: Activities,
        settings: Settings,
    ) -> Result<(App, Endings), ServerError> {
        let mut published = BTreeMap::new();
        for offer in offers {
            let name = offer.name.clone();
            let offer = Published::new(offer).await;
            published.insert(name.clone(), offer.map_err(|source| ServerError::Offer { name, source })?);
        }
        let costs = Costs::default();
        for (team, cost) in
            hall.journal().costs_of_teams(COSTS_READ_MAX).await.map_err(HallError::from)?.into_iter().rev()
        {
            costs.add(&team, cost);
        }
        let Settings { operator, sites, limits, log } = settings;
        let (ended, endings) = mpsc::unbounded_channel();
        let on_end = move |session: &SessionId, _: &Path, result: Result<&Ended, &HallError>| {
            let ending = result.map(|ended| ended.report.spent).map_err(ToString::to_string);
            // The receiver is gone only if the server is.
            let _ = ended.send((session.clone(), ending));
        };
        let app = App(Arc::new(Inner {
            hall,
            offers: published,
            keeper: Keeper::new(Arc::new(on_end)),
            operator: operator.hash(),
            sites,
            limits,
            log,
            metrics: Metrics::default(),
            costs,
            activities,
            trees: Trees::default(),
            new_sessions: Buckets::new(limits.new_sessions),
            changes_of_sessions: Buckets::new(limits.changes),
            public: Buckets::new(limits.public),
            clients: Buckets::new(limits.client),
            client_streams: Places::new(limits.streams_max, limits.streams_each_max),
            session_streams: Places::new(usize::MAX, limits.streams_each_max),
            revoked: broadcast::Sender::new(REVOKED_MAX),
            stop: watch::Sender::new(false),
            starting: Arc::default(),
            is_resuming: AtomicBool::new(true),
            changes: Mutex::default(),
        }));
        Ok((app, endings))
    }

    pub(crate) fn hall(&self) -> &Hall {
        &self.0.hall
    }

    pub(crate) fn journal(&self) -> &Journal {
        self.0.hall.journal()
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.0.keeper
    }

    pub(crate) fn operator(&self) -> Hash {
        self.0.operator
    }

    pub(crate) fn sites(&self) -> &Sites {
        &self.0.sites
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.0.costs
    }

    /// The tree of a session as it is now.
    pub(crate) async fn tree(&self, session: &SessionId) -> Result<Arc<Tree>, HallError> {
        self.0.trees.newest(self.hall(), session).await
    }

    pub(crate) fn activities(&self) -> &Activities {
        &self.0.activities
    }

    /// Tells the operator something.
    pub(crate) fn log(&self, line: &str) {
        (self.0.log)(LogKind::Event, line);
    }

    pub(crate) fn log_request(&self, line: &str) {
        (self.0.log)(LogKind::Request, line);
    }

    pub(crate) fn offers(&self) -> impl Iterator<Item = &Published> {
        self.0.offers.values()
    }

    pub(crate) fn offer(&self, team: &str) -> Option<&Published> {
        self.0.offers.get(team)
    }

    /// The offer that a session was made with.
    pub(crate) async fn offer_of(&self, session: &SessionId) -> Result<&Published, Problem> {
        let team = self.journal().team_of(session).await?;
        let gone =
            "The team of this session is not offered any more. The session can be read, and its money paid back.";
        team.and_then(|team| self.offer(&team)).ok_or_else(|| Problem::conflict("team_gone", gone))
    }

    /// The hall for an instruction to a session. If the team is not offered any more, the work can still be cancelled: a cancelled
    /// contract calls neither a model nor a tool, so any hall will do.
    pub(crate) async fn hall_for(&self, session: &SessionId, what: &Instruction) -> Result<&Hall, Problem> {
        match self.offer_of(session).await {
            Ok(offer) => Ok(&offer.offer.hall),
            Err(_) if *what == Instruction::End(Ending::Cancel) => Ok(self.hall()),
            Err(problem) => Err(problem),
        }
    }

    /// Makes sure that the work of a session runs, if it is under way. A request that comes again may have been cut off before.
    pub(crate) async fn load(&self, session: &SessionId) {
        let Ok(offer) = self.offer_of(session).await else { return };
        match self.keeper().resume(&offer.offer.hall, session).await {
            Ok(()) | Err(HallError::HasEnded(_) | HallError::NoWorkYet(_) | HallError::NothingToResume(_)) => {}
            Err(why) => self.log(&format!("session {session} is not resumed: {why}")),
        }
    }

    /// Tells the streams of a revoked token to end.
    pub(crate) fn revoke(&self, session: SessionId, number: u64) {
        // Without a stream, nobody has to be told.
        let _ = self.0.revoked.send((session, number));
    }

    pub(crate) fn revoked(&self) -> broadcast::Receiver<(SessionId, u64)> {
        self.0.revoked.subscribe()
    }

    /// Lets a request go on to its end, also if its client goes. `None` if the request panics, which ends it alone.
    pub(crate) async fn finish<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (done, result) = oneshot::channel();
        {
            let mut changes = self.0.changes.lock().unwrap_or_else(PoisonError::into_inner);
            while changes.try_join_next().is_some() {}
            changes.spawn(async move {
                // The client may have gone.
                let _ = done.send(work.await);
            });
        }
        result.await.ok()
    }

    /// Waits for the requests that change something.
    pub(crate) async fn finish_changes(&self) {
        let mut changes = std::mem::take(&mut *self.0.changes.lock().unwrap_or_else(PoisonError::into_inner));
        while changes.join_next().await.is_some() {}
    }

    /// Tells the streams and the connections to end.
    pub(crate) fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stop.subscribe()
    }

    pub(crate) fn take_session(&self, peer: Option<Peer>) -> Result<(), Duration> {
        self.0.new_sessions.take(peer.map(Peer::network), Instant::now())
    }

    pub(crate) fn take_public(&self, peer: Option<Peer>) -> Result<(), Duration> {
        self.0.public.take(peer.map(Peer::network), Instant::now())
    }

    pub(crate) fn take(&self, peer: Option<Peer>) -> Result<(), Duration> {
        self.0.clients.take(peer.map(Peer::network), Instant::now())
    }

    /// Takes one of the changes that a session may make in a time.
    pub(crate) fn take_change(&self, session: &SessionId) -> Result<(), Duration> {
        self.0.changes_of_sessions.take(session.clone(), Instant::now())
    }

    /// Takes a place for work that is about to start. The session counts as loaded before the place is given back.
    pub(crate) fn take_work(&self) -> Option<WorkPlace> {
        let mut starting = self.0.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.keeper().count() + *starting >= self.limits().work_max {
            return None;
        }
        *starting += 1;
        Some(WorkPlace(Arc::clone(&self.0.starting)))
    }

    /// Whether work of the last server is still being resumed.
    pub(crate) fn is_resuming(&self) -> bool {
        self.0.is_resuming.load(Ordering::Acquire)
    }

    /// Takes a place for a stream of events.
    pub(crate) fn take_stream(&self, peer: Option<Peer>, session: &SessionId) -> Result<StreamPlace, Full> {
        let client = self.0.client_streams.take(peer.map(Peer::network))?;
        let session = self.0.session_streams.take(session.clone())?;
        Ok(StreamPlace { _client: client, _session: session })
    }

    /// Notes the cost of work that ends, and why work stopped, until the server ends.
    pub(crate) async fn note_endings(&self, mut endings: Endings) {
        while let Some((session, ending)) = endings.recv().await {
            match ending {
                Ok(spent) => {
                    self.metrics().requests_ended.fetch_add(1, Ordering::Relaxed);
                    // Without its team, a cost is not part of the statistics.
                    if let Ok(Some(team)) = self.journal().team_of(&session).await {
                        self.costs().add(&team, spent);
                    }
                }
                Err(why) => self.log(&format!("the work of session {session} stopped: {why}")),
            }
        }
    }

    /// Resumes the work of all sessions of this server that was under way when the last server ended.
    pub(crate) async fn resume_all(&self) {
        self.resume_each().await;
        self.0.is_resuming.store(false, Ordering::Release);
    }

    async fn resume_each(&self) {
        let under_way = match self.journal().under_way().await {
            Ok(under_way) => under_way,
            Err(why) => return self.log(&format!("no session is resumed: {why}")),
        };
        for session in under_way {
            // A session without a team belongs to somebody at a terminal.
            let Ok(Some(team)) = self.journal().team_of(&session).await else { continue };
            let Some(offer) = self.offer(&team) else {
                self.log(&format!("session {session} is not resumed: its team {team} is not offered any more"));
                continue;
            };
            match self.keeper().resume(&offer.offer.hall, &session).await {
                Ok(()) => self.log(&format!("session {session} was resumed")),
                // One session that can't be resumed does not hold up the others.
                Err(why) => self.log(&format!("session {session} is not resumed: {why}")),
            }
        }
    }

    pub(crate) fn gauges(&self) -> Gauges {
        let counts = self.journal().counts();
        Gauges {
            streams: self.0.client_streams.count(),
            sessions_loaded: self.keeper().count(),
            journal_jobs: counts.jobs,
            journal_commits: counts.commits,
            journal_reads: counts.reads,
            journal_works: self.journal().stopped().is_none(),
        }
    }
}

/// Waits until the server stops.
pub(crate) async fn until_stop(stop: &mut watch::Receiver<bool>) {
    // The sender is gone only if the server is.
    drop(stop.wait_for(|stop| *stop).await);
}
