//! Many contracts at the same time: hires that hire, all writing to one journal.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use guildhall_kernel::{Hiring, Inherit, Mode, Offer};

use rusqlite::Connection;

use super::*;

/// How many hires each contract above the lowest level makes.
const TEAM: u64 = 11;

/// A model for a tree of three levels. Contracts above the lowest level are made to hire during their first call. Contracts
/// at the lowest level use a tool first and receive money when they are about to report.
#[derive(Default)]
struct TeamModel {
    engine: OnceLock<SessionEngine>,
    top_ups: AtomicU64,
    shown: Mutex<Vec<Prompt>>,
}

impl Model for TeamModel {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        self.shown.lock().unwrap().push(prompt.clone());
        let path = &prompt.key.contract;
        let first = prompt.messages.len() == 1;
        if first && path.level() < 2 {
            for number in 1..=TEAM {
                let (offer, task) = offer(path, number);
                let is_sent =
                    self.engine.get().unwrap().tell(path, number, Stimulus::Hire(Box::new(offer)), vec![task]);
                assert!(is_sent, "{path} is running");
            }
        }
        if !first && path.level() == 2 {
            let top_up = TEAM + 1 + self.top_ups.fetch_add(1, Ordering::Relaxed);
            let what = Stimulus::TopUp { to: path.clone(), money: sat(1), draw: None };
            assert!(self.engine.get().unwrap().tell(&Path::root(1), top_up, what, vec![]), "the boss is running");
        }
        let attempt = if first && path.level() == 2 { calls("count") } else { says(&format!("{path} is done")) };
        Box::pin(async move {
            tokio::task::yield_now().await;
            attempt
        })
    }
}

fn agent(level: usize) -> AgentName {
    AgentName::parse(["boss", "manager", "worker"][level]).unwrap()
}

fn team(level: usize) -> Option<Hiring> {
    (level < 2).then(|| Hiring { team: Arc::from([agent(level + 1)]), ad_hoc: false, recursive: false })
}

fn offer(hirer: &Path, number: u64) -> (Offer, Text) {
    let level = hirer.level() + 1;
    let task = redactor().text(TextKind::Task, &format!("Do part {number} of {hirer}."));
    let offer = Offer {
        same_model: false,
        model_slot: 0,
        share_max: None,
        agent: agent(level),
        standing: Standing::Listed,
        label: None,
        task: task.of,
        task_key: task_key(&task.says),
        inherit: Inherit::Fresh,
        mode: Mode::Background,
        budget: Some(sat(if level == 1 { 20_000 } else { 500 })),
        heads: Some(Heads(if level == 1 { 20 } else { 0 })),
        depth: None,
        deadline: None,
        terms: Arc::from([]),
        adds: Arc::from([]),
        fee: Msat::ZERO,
        payee: None,
        severance: sat(20),
        tariff: Tariff { input: Msat::ZERO, output: sat(100_000), max_tokens: 100 },
        turns_max: 100,
        opening_bytes: 100,
        opening: None,
        powers: Powers::default(),
        hiring: team(level),
        checks: Arc::from([]),
    };
    (offer, task)
}

fn boss() -> (Arc<Brief>, Vec<Text>) {
    let (brief, texts) = brief();
    let grant = Grant { money: sat(400_000), heads: Heads(400), depth: 2, deadline: None, margin: None };
    let brief = Brief { agent: agent(0), grant, hiring: team(0), turns_max: 100, ..Brief::clone(&brief) };
    (Arc::new(brief), texts)
}

/// Runs the tree. Returns the hall and the boss's report.
async fn work(dir: &FilePath, team_model: &Arc<TeamModel>) -> (Hall<TeamModel>, Report) {
    let hall = open(dir, team_model, counting(Effect::Pure).0, Replays::No).await;
    team_model.engine.set(hall.engine.clone()).ok().unwrap();
    let (brief, texts) = boss();
    let report = hall.engine.run(brief, texts).await.unwrap();
    (hall, report)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn facts_are_stored_in_the_order_of_their_times_however_many_contracts_run() {
    // Whether times collide depends on chance, so it is tried a few times.
    for _ in 0..3 {
        let dir = tempfile::tempdir().unwrap();
        let (hall, report) = work(dir.path(), &Arc::default()).await;
        assert_eq!((report.outcome, u64::from(report.heads.0)), (Outcome::Done, TEAM + TEAM * TEAM));
        let facts = hall.facts().await;
        assert!(facts.is_sorted_by_key(|stored| stored.at), "session time went back");
        assert_lawful(&facts);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hirer_is_shown_what_its_hires_report() {
    let (dir, team_model) = (tempfile::tempdir().unwrap(), Arc::default());
    work(dir.path(), &team_model).await;
    let shown = team_model.shown.lock().unwrap();
    let last = shown.iter().rfind(|prompt| prompt.key.contract == Path::root(1)).unwrap();
    let shown = format!("{:?}", last.messages);
    for number in 1..=TEAM {
        assert!(shown.contains(&format!("1.{number} is done")), "the report of 1.{number}");
    }
}

/// How many hires the boss has whose texts will be deleted.
const FEW: u64 = 4;

/// A boss with a few hires. Each hire uses a tool and then never replies.
#[derive(Default)]
struct StuckModel {
    engine: Mutex<Option<SessionEngine>>,
    stuck: AtomicU64,
    asked: AtomicU64,
}

impl Model for StuckModel {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let (path, first) = (&prompt.key.contract, prompt.messages.len() == 1);
        if first && path.level() == 0 {
            for number in 1..=FEW {
                let (offer, task) = offer(path, number);
                let engine = self.engine.lock().unwrap().clone().unwrap();
                // The inbox counts its own orders from 1.
                let is_sent = engine.tell(path, 1000 + number, Stimulus::Hire(Box::new(offer)), vec![task]);
                assert!(is_sent, "{path} is running");
            }
        }
        Box::pin(async move {
            match (path.level(), first) {
                (0, _) => says("They are working."),
                (_, true) => calls("count"),
                (_, false) => {
                    self.stuck.fetch_add(1, Ordering::SeqCst);
                    std::future::pending().await
                }
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tree_whose_hires_lack_texts_can_be_cancelled() {
    // Tried several times: a hire must receive the cancel before it needs its texts, and that must not depend on chance.
    for replays in [Replays::Yes, Replays::No].repeat(5) {
        let (dir, stuck_model) = (tempfile::tempdir().unwrap(), Arc::new(StuckModel::default()));
        let hall = open(dir.path(), &stuck_model, counting(Effect::Pure).0, replays).await;
        *stuck_model.engine.lock().unwrap() = Some(hall.engine.clone());
        let (brief, texts) = boss();
        tokio::select! {
            _ = hall.engine.run(brief, texts) => panic!("the hires never reply"),
            () = until(async || stuck_model.stuck.load(Ordering::SeqCst) == FEW) => {}
        }
        let Hall { engine, journal, .. } = hall;
        drop((engine, stuck_model.engine.lock().unwrap().take()));
        until(async || journal.running(&id()).await.unwrap().is_none()).await;
        journal.close().await;
        let db = Connection::open(dir.path().join("journal.db")).unwrap();
        assert!(db.execute("DELETE FROM text WHERE kind = 'result'", []).unwrap() > 0);

        let again = Arc::new(StuckModel::default());
        let hall = open(dir.path(), &again, counting(Effect::Pure).0, replays).await;
        let order = Order::new(Path::root(1), Stimulus::Cancel);
        hall.journal.put(&id(), &order, unix_now()).await.unwrap();
        let (brief, texts) = boss();
        let report = hall.engine.run(brief, texts).await.unwrap();
        assert_eq!((report.outcome, again.asked.load(Ordering::SeqCst)), (Outcome::Cancelled, 0), "{replays:?}");
        assert_lawful(&hall.facts().await);
    }
}
