//! A home directory with all kinds of sessions, and all the output that a user can see of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path as FilePath;
use std::time::Duration;

use guildhall::kernel::Hash;
use guildhall::local::{Replays, UnixMs, texts_named};
use guildhall::roster::Source;
use guildhall::{
    Fact, Hall, HallBuilder, Instruction, Models, Msat, Price, Prompt, Reply, Roster, SessionId, model_fn, tool_fn,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

/// The output that a user can see: for each part, its text or the error.
pub(crate) type Shown = BTreeMap<String, Result<String, String>>;

/// The files of a journal. The marker is copied first, because the other files must contain what it records.
const FILES: [&str; 3] = ["journal.db-marker", "journal.db", "journal.db-wal"];

/// How long to wait for an event, and the pause between two looks.
const LOOKS_MAX: u32 = 3000;
const LOOK: Duration = Duration::from_millis(10);

pub(crate) struct Home {
    project: TempDir,
    closed: TempDir,
    crashed: TempDir,
    ids: Vec<SessionId>,
    texts: BTreeSet<Hash>,
    shown: Shown,
}

impl Home {
    pub(crate) async fn new() -> Home {
        let [project, closed, crashed] = [tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap()];
        fill(project.path(), closed.path(), crashed.path()).await;
        let hall = builder(closed.path(), project.path()).build().unwrap();
        let ids: Vec<SessionId> = hall.journal().sessions().await.unwrap().into_iter().map(|row| row.id).collect();
        let mut texts = BTreeSet::new();
        for id in &ids {
            let facts = hall.journal().facts(id, 1).await.unwrap();
            texts.extend(facts.iter().flat_map(|stored| texts_named(&stored.fact)).map(|text| text.hash));
        }
        hall.journal().clone().close().await;
        drop(hall);
        let mut home = Home { project, closed, crashed, ids, texts, shown: Shown::new() };
        let dir = tempdir().unwrap();
        copy(home.closed(), dir.path());
        home.shown = home.look(dir.path()).await.1;
        home
    }

    /// A journal that was closed, without a log.
    pub(crate) fn closed(&self) -> &FilePath {
        self.closed.path()
    }

    /// The journal of a killed process: the database has only empty tables, and the log has all data.
    pub(crate) fn crashed(&self) -> &FilePath {
        self.crashed.path()
    }

    pub(crate) fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Returns the first finding of `verify` in this directory, and the output that a user can see of it.
    pub(crate) async fn look(&self, dir: &FilePath) -> (Option<String>, Shown) {
        let hall = match builder(dir, self.project.path()).build() {
            Ok(hall) => hall,
            Err(why) => return (Some(why.to_string()), Shown::new()),
        };
        let wrong = match hall.verify(None, None).await {
            Err(why) => Some(why.to_string()),
            Ok(found) => {
                let sessions = found.sessions.iter().flat_map(|checked| checked.wrong.iter());
                found.hall.iter().chain(sessions).next().cloned()
            }
        };
        let shown = self.shown_by(&hall).await;
        let journal = hall.journal().clone();
        drop(hall);
        journal.close().await;
        (wrong, shown)
    }

    /// The output of `show`. It names texts that can't be read.
    async fn view(&self, hall: &Hall, id: &SessionId) -> Result<String, String> {
        let view = hall.session(id).await.map_err(|why| why.to_string())?;
        let unreadable = hall.unreadable_texts(id).await.map_err(|why| why.to_string())?;
        if unreadable.is_empty() { Ok(format!("{view:?}")) } else { Err(format!("{unreadable:?}")) }
    }

    async fn shown_by(&self, hall: &Hall) -> Shown {
        let mut shown = Shown::new();
        let journal = hall.journal();
        match hall.sessions().await {
            Err(why) => drop(shown.insert("ls ".into(), Err(why.to_string()))),
            Ok(listed) => {
                for (place, session) in listed.into_iter().enumerate() {
                    let line = match session {
                        Ok(view) => Ok(format!("{view:?}")),
                        Err(unreadable) => Err(format!("{unreadable}")),
                    };
                    shown.insert(format!("ls {place}"), line);
                }
            }
        }
        for id in &self.ids {
            let mut note = |what: &str, says: Result<String, String>| shown.insert(format!("{what} {id}"), says);
            note("show", self.view(hall, id).await);
            let facts = journal.facts(id, 1).await;
            note("facts", facts.map(|facts| json!(facts).to_string()).map_err(|why| why.to_string()));
            note(
                "account",
                journal.account(id).await.map(|account| json!(account).to_string()).map_err(|why| why.to_string()),
            );
            note(
                "inbox",
                journal.take_after(id, 0).await.map(|left| format!("{left:?}")).map_err(|why| why.to_string()),
            );
        }
        // The data that a resume reads. It is an error if the session can't be leased.
        for id in &self.ids {
            let lease = journal.lease(id, UnixMs(9)).await.map_err(|why| why.to_string());
            for contract in ["1", "1.1", "1.2", "2"] {
                let facts = match &lease {
                    Ok(_) => {
                        journal.contract_facts(id, &contract.parse().unwrap()).await.map_err(|why| why.to_string())
                    }
                    Err(why) => Err(why.clone()),
                };
                shown.insert(format!("contract {contract} {id}"), facts.map(|facts| json!(facts).to_string()));
            }
        }
        for hash in &self.texts {
            let text = journal.text(*hash).await.map_err(|why| why.to_string());
            let text = text.and_then(|text| text.ok_or_else(|| "it is missing".to_owned()));
            shown.insert(format!("text {hash}"), text.map(|bytes| format!("{bytes:?}")));
        }
        shown
    }
}

/// Copies a journal.
pub(crate) fn copy(from: &FilePath, to: &FilePath) {
    for name in FILES {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// A hall whose model replies, hires, or never answers, depending on the agent.
fn builder(data: &FilePath, project: &FilePath) -> HallBuilder {
    let models = Models::default()
        .with_model("clerk", model_fn(answer), Price::FREE, Replays::No)
        .with_calls_at_once(1)
        .with_default("clerk");
    let clock = tool_fn("clock", "Says what time it is.", json!({"type": "object"}), |_: Value| async {
        "half past four".to_owned()
    });
    Hall::builder().data(data).project(project).models(models).tool(clock)
}

async fn answer(prompt: Prompt) -> Reply {
    let words = prompt.last_words().unwrap_or_default();
    match prompt.last_result() {
        _ if prompt.opening.system().contains("You are lead.") => {
            let hire = |who: &str| json!({"specialty": who, "task": format!("Look for {who}."), "background": true});
            Reply::call("delegate_task", hire("ada")).and_call("delegate_task", hire("bob"))
        }
        _ if prompt.opening.system().contains("You are ada.") || prompt.opening.system().contains("You are bob.") => {
            std::future::pending().await
        }
        None if words.contains("What time") => Reply::call("clock", json!({})),
        Some(time) => Reply::words(format!("It is {time}.")),
        None => Reply::words(format!("I heard {} bytes.", words.len())),
    }
}

fn team() -> (TempDir, Roster) {
    let dir = tempdir().unwrap();
    for (name, more) in [("lead", "delegation:\n  team: [ada, bob]\n"), ("ada", ""), ("bob", "")] {
        let file = format!("---\nname: {name}\ndescription: Does a part.\n{more}---\nYou are {name}.\n");
        fs::write(dir.path().join(format!("{name}.md")), file).unwrap();
    }
    let roster = Roster::load(&[Source::Named(dir.path().to_owned())]);
    (dir, roster)
}

/// Fills a home: work that ended and was continued, work with a tool, and an interrupted team with orders in its inbox. The journal
/// is copied just before it is closed, with all data in its log.
async fn fill(project: &FilePath, data: &FilePath, crashed: &FilePath) {
    let (_files, roster) = team();
    let hall = builder(data, project).roster(roster).build().unwrap();
    let alone = builder(data, project).build().unwrap();
    let [first, second, third] = ["calm-otter", "bold-finch", "lost-heron"].map(|id| id.parse::<SessionId>().unwrap());
    alone.run("When is the meeting?").id(first.clone()).await.unwrap();
    alone.run("And where?").after(first).await.unwrap();
    alone.run("What time is it?").id(second).await.unwrap();
    let mut running = hall.run("Find it.").id(third.clone()).start().await.unwrap();
    let root = running.root().path.clone();
    let mut opened = 0;
    while opened < 3 {
        let stored = running.next().await.unwrap().expect("the work does not end");
        opened += u32::from(matches!(stored.fact, Fact::Opened(_)));
    }
    running.say("Hurry up.").await.unwrap();
    wait_for(data, "SELECT count(*) FROM in_line").await;
    wait_for(data, "SELECT count(*) FROM inbox WHERE done = 1").await;
    drop(running);
    for _ in 0..LOOKS_MAX {
        if hall.journal().running(&third).await.unwrap().is_none() {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    hall.instruct(&third, &root, Instruction::Message("Never mind.".into())).await.unwrap();
    hall.instruct(&third, &root, Instruction::Money(Msat::from_sat(7).unwrap())).await.unwrap();
    // No process runs the sessions, and the log was not written to the database yet.
    copy(data, crashed);
    let journals = [hall.journal().clone(), alone.journal().clone()];
    drop((hall, alone));
    for journal in journals {
        journal.close().await;
    }
}

async fn wait_for(data: &FilePath, count: &str) {
    for _ in 0..LOOKS_MAX {
        let db = Connection::open(data.join("journal.db")).unwrap();
        if db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap() > 0 {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
    panic!("nothing came for {count}");
}
