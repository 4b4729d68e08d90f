//! The tree of a session: at every prefix of what is stored, its money is that of the kernel.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guildhall::kernel::{
    Acceptance, Account, Answer, Ask, AskId, Brief, Cause, Contract, Cost, FORMAT, Grant, Heads, Hold, Millis, Mode,
    Origin, Path, Quantity, Report, Session, Wording,
};
use guildhall::local::{Cursor, EventKind};
use guildhall::roster::Source;
use guildhall::{
    Amounts, ContractState, Ending, Fact, Hall, Instruction, Msat, Outcome, Prompt, REHEARSAL_PRICE, Rehearsal, Reply,
    RootState, Roster, Running, SessionId, Stored, Tree, TreeAccount, Waits, model_fn,
};
use serde_json::{Value, json};

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn path(path: &str) -> Path {
    path.parse().unwrap()
}

fn of_kernel<Q: Quantity>(account: &Account<Q>) -> Amounts<Q> {
    let (granted, available, held, spent) = (account.granted(), account.available(), account.held(), account.spent());
    Amounts { granted, available, held, spent }
}

/// Folds a session event by event, and compares each prefix with the kernel. Returns the tree of the whole session.
async fn checked(hall: &Hall, id: &SessionId) -> Tree {
    let events = hall.journal().events(id, Cursor::START, u32::MAX).await.unwrap();
    let (mut tree, mut account, mut facts) = (Tree::default(), Session::default(), BTreeMap::<_, Vec<Fact>>::new());
    let mut compared = 0;
    for event in &events {
        tree.apply(event);
        assert_eq!(hall.tree(id, Some(event.id)).await.unwrap(), tree, "at {}", event.id);
        assert_eq!(tree.at, event.id);
        let stored = match &event.kind {
            EventKind::Fact(stored) => stored,
            EventKind::Account(fact) => {
                account.apply(&fact.fact).unwrap();
                let TreeAccount { free, at_work, spent, credited, withdrawn, .. } = tree.account;
                let kernels = (account.free(), account.at_work(), account.spent(), account.credited());
                assert_eq!((free, at_work, spent, credited), kernels, "at {}", event.id);
                assert_eq!(withdrawn, account.withdrawn(), "at {}", event.id);
                continue;
            }
        };
        let contract = &tree.contracts[&stored.contract];
        let Amounts { granted, available, held, spent } = contract.money;
        assert_eq!(granted.get(), available.get() + held.get() + spent.get(), "at {}", event.id);
        let facts = facts.entry(stored.contract.clone()).or_default();
        facts.push(stored.fact.clone());
        // A prefix may end in the middle of a step. The kernel refuses such a contract.
        let Ok(kernel) = Contract::restore(facts.iter().cloned()) else { continue };
        compared += 1;
        assert_eq!(contract.money, of_kernel(kernel.purse()), "{} at {}", stored.contract, event.id);
        assert_eq!(contract.heads, of_kernel(kernel.heads()), "{} at {}", stored.contract, event.id);
        assert_eq!(tree.is_open(&stored.contract), kernel.report().is_none());
    }
    assert!(compared * 3 > events.len(), "{compared} of {} prefixes were compared", events.len());
    assert_eq!(hall.tree(id, None).await.unwrap(), tree);
    // The state of a session has the same root, the same report and the same free money.
    let (view, root) = (hall.session(id).await.unwrap(), tree.newest_root().unwrap());
    assert_eq!((view.free, &view.request.unwrap().root), (tree.account.free, &root.path));
    let report = tree.contracts[&root.path].report.as_ref();
    assert_eq!(view.report.map(|report| report.outcome), report.map(|report| report.outcome));
    tree
}

#[tokio::test]
async fn a_tree_at_an_event_that_does_not_exist_is_an_error() {
    let project = tempfile::tempdir().unwrap();
    let clerk = model_fn(|_| async { Reply::words("done") });
    let hall = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).build().unwrap();
    let id = hall.run("Go.").budget(sat(100)).await.unwrap().session;
    let end = hall.journal().end(&id).await.unwrap();
    for beyond in [Cursor { facts: end.facts + 1, ..end }, Cursor { account: end.account + 1, ..end }] {
        let why = hall.tree(&id, Some(beyond)).await.unwrap_err().to_string();
        assert!(why.contains(&format!("no event {beyond}")), "{why}");
    }
    assert_eq!(hall.tree(&id, Some(Cursor::START)).await.unwrap(), Tree::default());
}

fn example(name: &str) -> PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

#[tokio::test]
async fn the_tree_of_the_rehearsal_team_has_the_money_of_the_kernel_at_every_prefix() {
    let data = tempfile::tempdir().unwrap();
    let project = example("payment");
    let roster = Roster::load(&[Source::Named(project.join("agents"))]);
    let builder = Hall::builder().data(data.path()).project(project).roster(roster);
    let hall = builder.model("rehearsal", Rehearsal, REHEARSAL_PRICE).build().unwrap();
    let ended = hall.run("Why is the payment API failing?").budget(sat(500)).await.unwrap();
    let tree = checked(&hall, &ended.session).await;
    assert!(tree.contracts.len() > 3, "{} contracts", tree.contracts.len());
    let root = &tree.contracts[&Path::root(1)];
    assert_eq!((root.state(), root.money.spent), (ContractState::Done, ended.report.spent));
    assert_eq!(tree.newest_root().unwrap().state, RootState::Ended);
    assert_eq!(tree.account.free, ended.report.change);
    let lines: Vec<_> = ended.bill.lines.iter().map(|line| line.contract.clone()).collect();
    assert_eq!(tree.contracts.keys().cloned().collect::<Vec<_>>(), lines);
}

/// A boss that hires a helper and an unknown agent. The helper is never done.
fn troubled(prompt: &Prompt) -> Reply {
    let hire = |name: &str, budget: u64| json!({"specialty": name, "task": format!("Ask {name}."), "budget": budget});
    let is_boss = prompt.opening.system().starts_with("You are boss");
    match (is_boss, prompt.last_result()) {
        (true, None) => Reply::call("delegate_task", hire("helper", 20)).and_call("delegate_task", hire("nobody", 5)),
        (true, Some(_)) => Reply::words("They ran dry."),
        (false, _) => Reply::call("list_files", json!({})),
    }
}

fn trouble(project: &FilePath) -> Hall {
    let agents = project.join("agents");
    std::fs::create_dir(&agents).unwrap();
    for (name, rest) in [("boss", "delegation:\n  team: [helper]\n"), ("helper", "budget:\n  fee: 1sat\n")] {
        let text = format!("---\nname: {name}\ndescription: Does a part.\n{rest}---\nYou are {name}.\n");
        std::fs::write(agents.join(format!("{name}.md")), text).unwrap();
    }
    let roster = Roster::load(&[Source::Named(agents)]);
    let model = model_fn(|prompt| async move { troubled(&prompt) });
    Hall::builder().project(project).roster(roster).model("clerk", model, REHEARSAL_PRICE).build().unwrap()
}

#[tokio::test]
async fn the_tree_of_a_session_with_trouble_has_the_money_of_the_kernel_at_every_prefix() {
    let project = tempfile::tempdir().unwrap();
    let hall = trouble(project.path());
    let ended = hall.run("Go.").budget(sat(100)).await.unwrap();
    let tree = checked(&hall, &ended.session).await;
    let (boss, helper) = (&tree.contracts[&path("1")], &tree.contracts[&path("1.1")]);
    assert_eq!((boss.hires, boss.refusals, boss.state()), (1, 1, ContractState::Done));
    assert_eq!(helper.state(), ContractState::RanDry);
    assert_eq!((helper.hirer.clone(), helper.heads.granted), (Some(path("1")), Heads(0)));
    assert!(helper.requests > 2 && helper.tool_calls > 1, "{helper:?}");
}

/// Waits until a fact has happened.
async fn until(running: &mut Running, happened: impl Fn(&Stored) -> bool) {
    let wait = async { while !happened(&running.next().await.unwrap().unwrap()) {} };
    tokio::time::timeout(Duration::from_secs(30), wait).await.expect("the fact happens in time");
}

#[tokio::test]
async fn a_top_up_a_cancel_and_a_conversation_are_in_the_tree() {
    let project = tempfile::tempdir().unwrap();
    let clerk = model_fn(|prompt| async move {
        if prompt.last_words().is_some_and(|words| words.contains("think")) {
            std::future::pending::<()>().await;
        }
        Reply::words("On Tuesday.")
    });
    let hall = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).build().unwrap();
    let mut running = hall.run("When?").open().budget(sat(100)).start().await.unwrap();
    let id = running.id().clone();
    until(&mut running, |stored| matches!(stored.fact, Fact::Answered { .. })).await;
    let tree = checked(&hall, &id).await;
    let root = &tree.contracts[&path("1")];
    assert_eq!((root.state(), root.waits_for().collect::<Vec<_>>()), (ContractState::Waits, vec![&Waits::Person]));
    hall.instruct(&id, &path("1"), Instruction::Money(sat(50))).await.unwrap();
    running.say("Please think.").await.unwrap();
    until(&mut running, |stored| matches!(stored.fact, Fact::Asked { .. })).await;
    let tree = checked(&hall, &id).await;
    let root = &tree.contracts[&path("1")];
    assert_eq!((root.state(), root.waits_for().collect::<Vec<_>>()), (ContractState::Works, vec![&Waits::Model]));
    assert_eq!((root.money.granted, tree.account.at_work), (sat(150), sat(150)));
    running.end(Ending::Cancel).await.unwrap();
    running.wait().await.unwrap();
    let tree = checked(&hall, &id).await;
    let root = &tree.contracts[&path("1")];
    assert_eq!((root.state(), root.requests), (ContractState::Cancelled, 2));
    let shown = serde_json::to_value(&tree).unwrap();
    assert_eq!(shown["contracts"][0]["state"], json!("cancelled"));
    assert_eq!(shown["contracts"][0]["report"]["outcome"], json!("cancelled"));
    assert_eq!(shown["account"]["kind"], json!("play"));
    assert_eq!(shown["account"]["roots"][0]["granted"], json!(150_000));
}

#[tokio::test]
async fn the_tree_in_json_has_these_fields() {
    let project = tempfile::tempdir().unwrap();
    let hall = trouble(project.path());
    let mut running = hall.run("Go.").budget(sat(100)).start().await.unwrap();
    until(&mut running, |stored| stored.contract == path("1.1") && matches!(stored.fact, Fact::Asked { .. })).await;
    let facts = hall.journal().facts(running.id(), 1).await.unwrap();
    let end = facts.iter().position(|stored| stored.contract == path("1.1") && stored.fact.asked().is_some()).unwrap();
    let mut tree = Tree::default();
    facts[..=end].iter().for_each(|stored| tree.apply_fact(stored));
    let mut shown = serde_json::to_value(&tree).unwrap();
    let boss = shown["contracts"][0].take();
    let keys: Vec<_> = boss.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "agent",
        "closed_at",
        "context",
        "depth",
        "heads",
        "hirer",
        "hires",
        "label",
        "money",
        "opened_at",
        "path",
        "queued",
        "refusals",
        "report",
        "requests",
        "standing",
        "state",
        "task",
        "tool_calls",
        "waits_for",
    ];
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!((&boss["state"], &boss["waits_for"]), (&json!("waits"), &json!([{"kind": "hire", "contract": "1.1"}])));
    assert_eq!(
        (&boss["context"], &boss["hirer"], &boss["standing"]),
        (&json!("fresh"), &Value::Null, &json!("listed"))
    );
    let helper = &shown["contracts"][1];
    assert_eq!((&helper["state"], &helper["waits_for"]), (&json!("works"), &json!([{"kind": "model"}])));
}

/// The facts of a root with many hires that do one request each.
fn wide(brief: &Brief, hires: u32) -> Vec<Stored> {
    let mut facts: Vec<Stored> = Vec::new();
    let mut add = |contract: &Path, fact| {
        let (seq, contract) = (facts.len() as u64 + 1, contract.clone());
        facts.push(Stored { v: FORMAT, seq, contract, at: Millis(seq), cause: Cause::Tick, fact });
    };
    let root = Path::root(1);
    add(&root, Fact::Opened(Arc::new(brief.clone())));
    let report = |spent| Report {
        outcome: Outcome::Done,
        text: Wording::Final(brief.task),
        output: None,
        acceptance: Acceptance::NotAccepted,
        undone: None,
        unheard: Vec::new(),
        spent,
        change: Msat::ZERO,
        fee: Msat::ZERO,
        reserved: Msat::ZERO,
        estimated: Msat::ZERO,
        heads: Heads(0),
        cut: false,
        tokens: 0,
    };
    let (money, cost) = (sat(1), Cost::Known(sat(1)));
    let hold = Hold { money, heads: Heads(1) };
    for ordinal in 1..=hires {
        let path = root.hire(ordinal);
        let grant = Grant { money, heads: Heads(0), ..brief.grant };
        let below = Arc::new(Brief { path: path.clone(), grant, severance: Msat::ZERO, ..brief.clone() });
        let ask = Ask::Hire { brief: Arc::clone(&below), mode: Mode::Blocking };
        add(&root, Fact::Asked { id: AskId(ordinal), ask, hold, origin: Origin::Cascade });
        add(&path, Fact::Opened(below));
        let check = Ask::Check(guildhall::kernel::Check { what: brief.task, price: money });
        add(&path, Fact::Asked { id: AskId(1), ask: check, hold: Hold::money(money), origin: Origin::Course });
    }
    for ordinal in 1..=hires {
        let path = root.hire(ordinal);
        add(&path, Fact::Answered { id: AskId(1), answer: Answer::Passed, cost });
        add(&path, Fact::Closed(Box::new(report(money))));
        let answer = Answer::Report(Box::new(report(money)));
        add(&root, Fact::Answered { id: AskId(ordinal), answer, cost });
    }
    facts
}

#[tokio::test]
async fn a_tree_of_ten_thousand_contracts_is_folded_in_a_moment() {
    let project = tempfile::tempdir().unwrap();
    let clerk = model_fn(|_| async { Reply::words("done") });
    let hall = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).build().unwrap();
    let ended = hall.run("Go.").budget(sat(20_000)).await.unwrap();
    let facts = wide(&ended.setup.brief, 10_000);
    let (began, mut tree) = (Instant::now(), Tree::default());
    for stored in &facts {
        tree.apply_fact(stored);
    }
    let folded = began.elapsed();
    let root = &tree.contracts[&path("1")];
    assert_eq!((tree.contracts.len(), root.money.spent, root.hires), (10_001, sat(10_000), 10_000));
    assert!(folded < Duration::from_secs(1), "{folded:?}");
}
