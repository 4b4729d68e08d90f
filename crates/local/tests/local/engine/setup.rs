//! Briefs that can't be set up: their contracts fail with the reason, and the session goes on.

use guildhall_kernel::{Hiring, Inherit, Mode, Offer};

use super::*;

/// A boss that is made to hire during its first call and reports after that. Its hire uses a tool, and then its model is stuck.
#[derive(Default)]
struct Boss {
    engine: Mutex<Option<SessionEngine>>,
    asked: Mutex<Vec<(Path, String)>>,
    stuck: Notify,
}

impl Model for Boss {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        let (path, first) = (&prompt.key.contract, prompt.messages.len() == 1);
        self.asked.lock().unwrap().push((path.clone(), format!("{:?}", prompt.messages)));
        if first && path.level() == 0 {
            let (offer, task) = helper();
            let engine = self.engine.lock().unwrap().clone().unwrap();
            assert!(engine.tell(path, 1, Stimulus::Hire(Box::new(offer)), vec![task]));
        }
        Box::pin(async move {
            match (path.level(), first) {
                (0, _) => says("The boss is done."),
                (_, true) => calls("count"),
                (_, false) => {
                    self.stuck.notify_one();
                    std::future::pending().await
                }
            }
        })
    }
}

fn team() -> Hiring {
    Hiring { team: Arc::from([AgentName::parse("helper").unwrap()]), ad_hoc: false, recursive: false }
}

fn helper() -> (Offer, Text) {
    let (brief, _) = brief();
    let task = redactor().text(TextKind::Task, "Help.");
    let offer = Offer {
        model_slot: 0,
        same_model: false,
        share_max: None,
        agent: AgentName::parse("helper").unwrap(),
        standing: Standing::Listed,
        label: None,
        task: task.of,
        task_key: task_key(&task.says),
        inherit: Inherit::Fresh,
        mode: Mode::Background,
        budget: Some(sat(500)),
        heads: Some(Heads(0)),
        depth: None,
        deadline: None,
        terms: Arc::from([]),
        adds: Arc::from([]),
        fee: Msat::ZERO,
        payee: None,
        severance: sat(20),
        tariff: brief.tariff,
        turns_max: 10,
        opening_bytes: 100,
        opening: None,
        powers: Powers::default(),
        hiring: None,
        checks: Arc::from([]),
    };
    (offer, task)
}

fn boss() -> (Arc<Brief>, Vec<Text>) {
    let (brief, texts) = brief();
    let grant = Grant { heads: Heads(1), depth: 1, ..brief.grant };
    (Arc::new(Brief { grant, hiring: Some(team()), ..Brief::clone(&brief) }), texts)
}

/// Opens the session with environments for all contracts of these levels.
async fn open_at(dir: &FilePath, model: &Arc<Boss>, levels: std::ops::Range<usize>) -> Hall<Boss> {
    let can_set_up = move |brief: &Brief| levels.contains(&brief.path.level());
    let tool = Counting { effect: Effect::Pure, calls: Arc::new(Mutex::new(1)) };
    let hall = open_for(Journal::open(dir).unwrap(), model, tool, Replays::No, Overruns::Allow, can_set_up).await;
    *model.engine.lock().unwrap() = Some(hall.engine.clone());
    hall
}

/// The reports of a contract and its text.
async fn report_of(hall: &Hall<Boss>, path: &Path) -> (Report, String) {
    let closed = |stored: &Stored| {
        if let (true, Fact::Closed(report)) = (stored.contract == *path, &stored.fact) {
            Some(report.clone())
        } else {
            None
        }
    };
    let report = hall.facts().await.iter().find_map(closed).unwrap();
    let text = hall.text(&report).await;
    (*report, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hire_that_can_t_be_set_up_fails_with_the_reason_and_its_hirer_goes_on() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Arc::new(Boss::default()));
    let hall = open_at(dir.path(), &model, 0..1).await;
    let (brief, texts) = boss();
    let report = hall.engine.run(brief, texts).await.unwrap();
    assert_eq!((report.outcome, hall.text(&report).await.as_str()), (Outcome::Done, "The boss is done."));
    let (hire, text) = report_of(&hall, &Path::root(1).hire(1)).await;
    assert_eq!((hire.outcome, hire.spent, text.as_str()), (Outcome::Failed, Msat::ZERO, NOT_SET_UP));
    let asked = std::mem::take(&mut *model.asked.lock().unwrap());
    assert!(asked.iter().all(|(path, _)| path.level() == 0), "no model was called for the hire");
    assert!(asked.last().unwrap().1.contains(NOT_SET_UP), "the boss was told the reason: {asked:?}");
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hire_that_can_t_be_set_up_after_a_crash_fails_and_its_hirer_goes_on() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Arc::new(Boss::default()));
    let first = open_at(dir.path(), &model, 0..2).await;
    let (brief, texts) = boss();
    tokio::select! {
        _ = first.engine.run(Arc::clone(&brief), texts) => panic!("the hire's model is stuck"),
        () = model.stuck.notified() => {}
    }
    let Hall { engine, journal, .. } = first;
    drop((engine, model.engine.lock().unwrap().take()));
    until(async || journal.running(&id()).await.unwrap().is_none()).await;
    journal.close().await;

    let model = Arc::new(Boss::default());
    let hall = open_at(dir.path(), &model, 0..1).await;
    let report = hall.engine.run(brief, Vec::new()).await.unwrap();
    assert_eq!(report.outcome, Outcome::Done);
    let (hire, _) = report_of(&hall, &Path::root(1).hire(1)).await;
    // The first reply, and the hold of the call that the crash interrupted.
    assert_eq!((hire.outcome, hire.spent), (Outcome::Failed, sat(20)));
    let asked = std::mem::take(&mut *model.asked.lock().unwrap());
    assert!(asked.iter().all(|(path, _)| path.level() == 0), "no model was called for the hire");
    assert!(asked.last().unwrap().1.contains("sub-agent-failed"), "the boss was told: {asked:?}");
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_can_t_be_set_up_fails_with_the_reason() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Arc::new(Boss::default()));
    let hall = open_at(dir.path(), &model, 0..0).await;
    let (brief, texts) = boss();
    let report = hall.engine.run(brief, texts).await.unwrap();
    assert_eq!((report.outcome, report.spent), (Outcome::Failed, Msat::ZERO));
    assert_eq!(hall.text(&report).await, NOT_SET_UP);
    assert_lawful(&hall.facts().await);
}
