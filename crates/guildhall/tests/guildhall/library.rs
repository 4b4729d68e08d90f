//! The library inside a program: the model and the tool are functions, and there is no network.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use guildhall::kernel::{Millis, Path as RootPath, SessionFact, TextKind, TextRef};
use guildhall::local::{NewSession, SessionBatch, UnixMs, hash_text};
use guildhall::roster::Source;
use guildhall::{
    Agent, AgentName, Effect, Ended, Fact, Hall, HallBuilder, HallError, Model, Models, Msat, Opening, Outcome,
    OutputError, Price, Prompt, REHEARSAL_PRICE, Reply, Roster, TRANSCRIPT_TEXT_BYTES_MAX, model_fn, tool_fn,
};
use serde_json::{Value, json};

/// A model that records its prompts and gives these replies in order. The last reply repeats.
fn scripted(replies: &[Reply]) -> (impl Model + use<>, Arc<Mutex<Vec<Prompt>>>) {
    let (seen, replies) = (Arc::new(Mutex::new(Vec::new())), replies.to_vec());
    let prompts = Arc::clone(&seen);
    let model = model_fn(move |prompt| {
        let mut prompts = prompts.lock().unwrap();
        prompts.push(prompt);
        std::future::ready(replies[(prompts.len() - 1).min(replies.len() - 1)].clone())
    });
    (model, seen)
}

fn at(project: &Path) -> HallBuilder {
    Hall::builder().project(project)
}

fn day() -> Value {
    json!({"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]})
}

fn assert_done(ended: &Ended, text: &str) {
    assert_eq!((ended.report.outcome, ended.text.as_str()), (Outcome::Done, text), "{:?}", ended.failure);
    assert!(ended.violations.is_empty(), "{:?}", ended.violations);
}

fn team(agents: &[(&str, &str)]) -> (tempfile::TempDir, Roster) {
    let dir = tempfile::tempdir().unwrap();
    for (name, hires) in agents {
        let front = format!("---\nname: {name}\ndescription: Does a part.\n{hires}---\nYou are {name}.\n");
        fs::write(dir.path().join(format!("{name}.md")), front).unwrap();
    }
    let roster = Roster::load(&[Source::Named(dir.path().to_owned())]);
    (dir, roster)
}

#[tokio::test]
async fn the_programs_own_tool_is_called_and_its_result_is_in_the_answer_and_on_the_bill() {
    let project = tempfile::tempdir().unwrap();
    let stock = tool_fn("stock", "Counts.", json!({"type": "object"}), |cache: Value| async move {
        format!("12 lanterns on {}", cache["shelf"])
    });
    let clerk = model_fn(|prompt| async move {
        match prompt.last_result() {
            None => Reply::call("stock", json!({"shelf": "north"})),
            Some(found) => Reply::words(format!("I counted: {found}")),
        }
    });
    let hall = at(project.path()).model("clerk", clerk, REHEARSAL_PRICE).tool(stock).build().unwrap();
    let ended = hall.run("How many lanterns?").budget(Msat::from_sat(500).unwrap()).await.unwrap();
    assert_done(&ended, "I counted: 12 lanterns on \"north\"");
    assert_eq!((ended.bill.lines.len(), ended.bill.lines[0].calls), (1, 2));
    assert!(Msat::ZERO < ended.report.spent && ended.report.spent < Msat::from_sat(20).unwrap());
}

#[tokio::test]
async fn the_journal_is_in_the_project_and_hidden_from_git_and_the_tools() {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("notes.txt"), "Tuesday").unwrap();
    let (clerk, prompts) = scripted(&[Reply::call("list_files", json!({"depth": 5})), Reply::words("done")]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    hall.run("What is there?").await.unwrap();
    let prompts = prompts.lock().unwrap();
    let listed = prompts[1].last_result().unwrap();
    assert!(listed.contains("notes.txt") && !listed.contains("journal"), "{listed}");
    let data = project.path().join(".guildhall/hall");
    assert!(data.join("journal.db").is_file());
    assert_eq!(fs::read_to_string(data.join(".gitignore")).unwrap(), "*\n");
}

#[test]
fn a_missing_project_is_refused_and_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("gone");
    assert!(matches!(at(&project).build(), Err(HallError::Project(_))));
    assert!(!project.exists());
}

#[test]
fn with_a_journal_elsewhere_the_project_is_not_changed() {
    let (data, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    at(project.path()).data(data.path()).build().unwrap();
    assert!(data.path().join("journal.db").is_file() && !data.path().join(".gitignore").exists());
    assert_eq!(fs::read_dir(project.path()).unwrap().count(), 0);
}

#[test]
fn a_tool_with_an_invalid_name_is_refused() {
    let project = tempfile::tempdir().unwrap();
    let nameless = tool_fn("a/b", "Nothing.", json!({}), |_: Value| async { String::new() });
    let refused = at(project.path()).tool(nameless).build().map(drop).unwrap_err();
    assert!(matches!(&refused, HallError::ToolName { name, .. } if name == "a/b"), "{refused}");
}

#[tokio::test]
async fn the_first_model_is_the_default_and_a_free_model_needs_no_budget() {
    let project = tempfile::tempdir().unwrap();
    let (one, other) = (scripted(&[Reply::words("one")]).0, scripted(&[Reply::words("other")]).0);
    let hall = at(project.path()).model("one", one, Price::FREE).model("other", other, Price::FREE).build().unwrap();
    let ended = hall.run("Who are you?").await.unwrap();
    assert_done(&ended, "one");
    assert_eq!(ended.granted, Msat::ZERO);
    assert_done(&hall.run("Who are you?").model("other").await.unwrap(), "other");
}

#[tokio::test]
async fn the_programs_own_model_can_have_a_built_in_short_name() {
    let project = tempfile::tempdir().unwrap();
    let (haiku, _) = scripted(&[Reply::words("An old silent pond.")]);
    let hall = at(project.path()).model("haiku", haiku, Price::FREE).build().unwrap();
    assert_done(&hall.run("Write one.").await.unwrap(), "An old silent pond.");
    assert_done(&hall.run("Write one.").model("haiku").await.unwrap(), "An old silent pond.");
}

#[tokio::test]
async fn without_a_roster_an_assistant_works_with_every_tool_of_the_hall() {
    let project = tempfile::tempdir().unwrap();
    let (clerk, prompts) = scripted(&[Reply::words("done")]);
    let ring = tool_fn("ring", "Rings.", json!({"type": "object"}), |_: Value| async { String::new() });
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).tool(ring).build().unwrap();
    let ended = hall.run("Ring.").await.unwrap();
    assert_eq!(ended.bill.lines[0].agent.as_str(), "assistant");
    let tools: Vec<String> = prompts.lock().unwrap()[0].opening.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(tools, ["list_files", "read_file", "ring", "search"]);
}

#[tokio::test]
async fn with_a_roster_the_first_agent_is_the_one_that_no_other_agent_hires() {
    let project = tempfile::tempdir().unwrap();
    let (_files, roster) = team(&[("cook", ""), ("host", "delegation:\n  team: [cook]\n")]);
    let (clerk, _) = scripted(&[Reply::words("done")]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).roster(roster).build().unwrap();
    assert_eq!(hall.run("Dinner.").await.unwrap().bill.lines[0].agent.as_str(), "host");
}

#[tokio::test]
async fn teams_of_one_journal_share_their_limits_and_have_their_own_project_and_roster() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_files, cooks) = team(&[("cook", "")]);
    let running = Arc::new(Mutex::new((0, 0)));
    let seen = Arc::clone(&running);
    let clerk = model_fn(move |_| {
        let running = Arc::clone(&running);
        async move {
            {
                let mut running = running.lock().unwrap();
                *running = (running.0 + 1, running.1.max(running.0 + 1));
            }
            // Both teams work on one thread, so the other call would have started at this point.
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            running.lock().unwrap().0 -= 1;
            Reply::words("done")
        }
    });
    let watched = Arc::new(Mutex::new(BTreeSet::new()));
    let sessions = Arc::clone(&watched);
    let hall = at(one.path())
        .models(Models::default().with_calls_at_once(1))
        .model("clerk", clerk, Price::FREE)
        .watch(Arc::new(move |session, _, _| sessions.lock().unwrap().extend([session.to_string()])))
        .build()
        .unwrap();
    let kitchen = hall.team(other.path(), cooks).unwrap();
    let (first, second) = tokio::join!(hall.run("Go.").into_future(), kitchen.run("Dinner.").into_future());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(second.bill.lines[0].agent.as_str(), "cook");
    assert_eq!(*seen.lock().unwrap(), (0, 1), "both teams use the same limit");
    for (session, project) in [(&first.session, &one), (&second.session, &other)] {
        let row = hall.session(session).await.unwrap().row;
        assert_eq!(row.project, project.path().display().to_string());
    }
    let both = [first.session, second.session].iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(*watched.lock().unwrap(), both);
    assert!(matches!(hall.team(other.path().join("gone"), Roster::default()), Err(HallError::Project(_))));
}

#[tokio::test]
async fn a_roster_with_several_possible_first_agents_is_refused() {
    let project = tempfile::tempdir().unwrap();
    let (_files, roster) = team(&[("cook", ""), ("host", "")]);
    let (clerk, _) = scripted(&[Reply::words("done")]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).roster(roster).build().unwrap();
    let refused = hall.run("Dinner.").await.unwrap_err();
    assert_eq!(refused.to_string(), "several agents in the roster can do this work: choose one of cook, host");
}

#[tokio::test]
async fn a_report_without_json_is_sent_back_and_the_corrected_json_is_the_output() {
    let project = tempfile::tempdir().unwrap();
    let mended = "Here it is:\n```json\n{\"day\": \"Tuesday\"}\n```";
    let (clerk, prompts) = scripted(&[Reply::words("On Tuesday."), Reply::words(mended)]);
    let hall = at(project.path()).model("clerk", clerk, REHEARSAL_PRICE).build().unwrap();
    let work = hall.run("When is the meeting?").output(day()).budget(Msat::from_sat(500).unwrap());
    let ended = work.await.unwrap();
    assert_done(&ended, mended);
    assert_eq!(ended.output::<Value>().unwrap(), json!({"day": "Tuesday"}));
    let unfit = ended.output::<Vec<u32>>().unwrap_err();
    assert!(matches!(&unfit, OutputError::WrongType { output, .. } if output == r#"{"day":"Tuesday"}"#), "{unfit}");
    let prompts = prompts.lock().unwrap();
    let (first, second) = (prompts[0].last_words().unwrap(), format!("{:?}", prompts[1].messages.last()));
    assert!(first.starts_with("When is the meeting?") && first.contains(r#""required":["day"]"#), "{first}");
    assert!(second.contains("no structured output") && second.contains("Correct it"), "{second}");
}

#[tokio::test]
async fn a_missing_output_is_an_error_with_the_reason_and_the_text() {
    let project = tempfile::tempdir().unwrap();
    let (clerk, prompts) = scripted(&[Reply::words(r#"{"day": 2}"#)]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    let ended = hall.run("When is the meeting?").output(day()).await.unwrap();
    assert_eq!(prompts.lock().unwrap().len(), 2, "the report is corrected once");
    let OutputError::NotAccepted { why, text } = ended.output::<Value>().unwrap_err() else { panic!("{ended:?}") };
    assert!(why.contains("day: expected a string, found 2"), "{why}");
    assert_eq!(text, r#"{"day": 2}"#);
}

#[tokio::test]
async fn without_a_schema_there_is_no_output() {
    let project = tempfile::tempdir().unwrap();
    let (clerk, _) = scripted(&[Reply::words(r#"{"day": "Tuesday"}"#)]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    let ended = hall.run("When is the meeting?").await.unwrap();
    assert!(matches!(ended.output::<Value>(), Err(OutputError::NotAsked)));
}

#[tokio::test]
async fn a_schema_that_can_t_be_checked_is_refused_before_anything_is_stored() {
    let project = tempfile::tempdir().unwrap();
    let (clerk, _) = scripted(&[Reply::words("never")]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    let refused = hall.run("When?").output(json!({"type": "date", "pattern": "^T"})).await.unwrap_err();
    let HallError::Schema(errors) = &refused else { panic!("{refused}") };
    assert_eq!(errors.len(), 2, "{refused}");
    assert!(hall.sessions().await.unwrap().is_empty());
}

#[tokio::test]
async fn resumed_work_still_has_its_output() {
    let project = tempfile::tempdir().unwrap();
    let thinker = model_fn(|_| std::future::pending::<Reply>());
    let hall = at(project.path()).model("clerk", thinker, Price::FREE).build().unwrap();
    let mut running = hall.run("When is the meeting?").output(day()).start().await.unwrap();
    while let Some(stored) = running.next().await.unwrap() {
        if matches!(stored.fact, Fact::Asked { .. }) {
            break;
        }
    }
    let id = running.id().clone();
    drop((running, hall));
    let (clerk, prompts) = scripted(&[Reply::words("On Tuesday."), Reply::words(r#"{"day": "Tuesday"}"#)]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    let ended = hall.resume(&id).await.unwrap().wait().await.unwrap();
    assert_eq!(ended.output::<Value>().unwrap(), json!({"day": "Tuesday"}));
    assert!(prompts.lock().unwrap()[0].last_words().unwrap().contains("follows this schema"));
}

#[tokio::test]
async fn a_resume_starts_requested_work_that_never_started_and_it_has_its_output() {
    let project = tempfile::tempdir().unwrap();
    let (clerk, prompts) = scripted(&[Reply::words(r#"{"day": "Tuesday"}"#)]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    // On one thread, the spawned task has not run yet at this point: the request is stored, but the work has not started.
    let running = hall.run("When is the meeting?").output(day()).start().await.unwrap();
    let id = running.id().clone();
    drop(running);
    assert_eq!(hall.journal().facts(&id, 1).await.unwrap(), []);
    let ended = hall.resume(&id).await.unwrap().wait().await.unwrap();
    assert_eq!(ended.output::<Value>().unwrap(), json!({"day": "Tuesday"}));
    assert!(prompts.lock().unwrap()[0].last_words().unwrap().contains("follows this schema"));
}

#[tokio::test]
async fn facts_arrive_in_order_and_end_with_the_work() {
    let project = tempfile::tempdir().unwrap();
    let (clerk, _) = scripted(&[Reply::words("done")]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    let mut running = hall.run("Go.").start().await.unwrap();
    let mut facts = Vec::new();
    while let Some(stored) = running.next().await.unwrap() {
        facts.push(stored);
    }
    let facts: Vec<_> = facts.into_iter().map(Arc::unwrap_or_clone).collect();
    assert_eq!(facts, hall.journal().facts(running.id(), 1).await.unwrap());
    assert!(matches!(facts.last().unwrap().fact, Fact::Closed(_)));
    assert_eq!(running.next().await.unwrap(), None);
    assert_done(&running.wait().await.unwrap(), "done");
}

#[tokio::test]
async fn the_number_of_parallel_tool_calls_stays_within_the_limit_of_the_hall() {
    for (at_once, most) in [(0, 1), (2, 2), (100, 5)] {
        let project = tempfile::tempdir().unwrap();
        let running = Arc::new(Mutex::new((0, 0)));
        let seen = Arc::clone(&running);
        let wait = tool_fn("wait", "Waits.", json!({"type": "object"}), move |_: Value| {
            let running = Arc::clone(&running);
            async move {
                {
                    let mut running = running.lock().unwrap();
                    *running = (running.0 + 1, running.1.max(running.0 + 1));
                }
                // All tasks are on one thread, so every other call that is allowed to run has started at this point.
                for _ in 0..1000 {
                    tokio::task::yield_now().await;
                }
                running.lock().unwrap().0 -= 1;
                String::from("waited")
            }
        });
        let five = (1..5).fold(Reply::call("wait", json!({})), |reply, _| reply.and_call("wait", json!({})));
        let (clerk, _) = scripted(&[five, Reply::words("done")]);
        let builder = at(project.path()).model("clerk", clerk, Price::FREE).tool(wait.effect(Effect::Pure));
        let ended = builder.tools_at_once(at_once).build().unwrap().run("Wait.").await.unwrap();
        assert_done(&ended, "done");
        assert_eq!(*seen.lock().unwrap(), (0, most), "{at_once}");
    }
}

#[tokio::test]
async fn any_limit_of_parallel_calls_works() {
    let project = tempfile::tempdir().unwrap();
    for calls in [0, 1, usize::MAX] {
        let clerk = model_fn(|_| async { Reply::words("On Tuesday.") });
        let models = Models::default().with_calls_at_once(calls);
        let hall = at(project.path()).models(models).model("clerk", clerk, Price::FREE).build().unwrap();
        assert_done(&hall.run("When?").await.unwrap(), "On Tuesday.");
    }
}

#[tokio::test]
async fn a_session_of_a_newer_version_is_an_error_and_the_others_are_listed() {
    let project = tempfile::tempdir().unwrap();
    let (clerk, _) = scripted(&[Reply::words("done")]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    hall.run("Go.").await.unwrap();
    let (id, journal) = ("newer-newt".parse().unwrap(), hall.journal());
    let setup = br#"{"form":99,"wisdom":"of later years"}"#.to_vec();
    let bytes = u32::try_from(setup.len()).unwrap();
    let prices = TextRef { hash: hash_text(&setup), bytes, kind: TextKind::Prices };
    let requested = SessionFact::Requested { root: RootPath::root(1), money: Msat::ZERO, prices };
    let new = NewSession { id, created_at: UnixMs(9), project: "/".into(), label: "Go on.".into() };
    let id = new.id.clone();
    journal.create(new).await.unwrap();
    let lease = journal.lease(&id, UnixMs(9)).await.unwrap();
    let batch = SessionBatch { at: Millis(0), facts: vec![requested], texts: vec![(prices, setup)], done: None };
    journal.append_session(&lease, batch).await.unwrap();
    drop(lease);
    let listed = hall.sessions().await.unwrap();
    let [Ok(_), Err(unreadable)] = &listed[..] else { panic!("{listed:?}") };
    assert!(matches!(unreadable.why, HallError::OtherForm { found: 99, .. }), "{unreadable}");
    assert!(matches!(hall.resume(&id).await.map(drop), Err(HallError::OtherForm { found: 99, .. })));
}

#[tokio::test]
async fn a_resume_finds_a_model_and_an_agent_whose_name_is_also_a_secret() {
    let project = tempfile::tempdir().unwrap();
    let hall = |reply: Option<Reply>| {
        let model = model_fn(move |_| {
            let reply = reply.clone();
            async move {
                match reply {
                    Some(reply) => reply,
                    None => std::future::pending().await,
                }
            }
        });
        // The key of a local server is often its name.
        let secrets = ["lm-studio", "a-word-of-power"].map(str::to_owned);
        at(project.path()).data(project.path().join("data")).model("lm-studio", model, Price::FREE).secrets(secrets)
    };
    let agent = Agent::new(AgentName::parse("lm-studio").unwrap(), "The password is a-word-of-power.");
    let thinking = hall(None).build().unwrap();
    let mut running = thinking.run("When?").agent(agent).start().await.unwrap();
    let id = running.id().clone();
    while let Some(stored) = running.next().await.unwrap() {
        if matches!(stored.fact, Fact::Asked { .. }) {
            break;
        }
    }
    drop(running);
    let journal = thinking.journal().clone();
    drop(thinking);
    journal.close().await;

    let hall = hall(Some(Reply::words("On Tuesday."))).build().unwrap();
    let ended = hall.resume(&id).await.unwrap().wait().await.unwrap();
    assert_done(&ended, "On Tuesday.");
    assert_eq!(ended.bill.lines[0].agent.as_str(), "lm-studio");
    hall.journal().clone().close().await;
    for file in ["journal.db", "journal.db-wal"] {
        let bytes = fs::read(project.path().join("data").join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("a-word-of-power"), "the stored instructions contain no secret");
    }
}

#[tokio::test]
async fn ad_hoc_specialists_of_one_specialty_share_their_opening_and_others_have_their_own() {
    let project = tempfile::tempdir().unwrap();
    let (_dir, roster) = team(&[("lead", "delegation:\n  ad_hoc: true\n")]);
    let hire = |who: &str, task: &str| json!({"specialty": who, "task": task, "budget": 20});
    let hires = Reply::call("delegate_task", hire("botany", "Name a moss."));
    let hires = hires.and_call("delegate_task", hire("botany", "Name a fern."));
    let hires = hires.and_call("delegate_task", hire("geology", "Name a stone."));
    let (clerk, prompts) = scripted(&[hires, Reply::words("Fine.")]);
    let hall = at(project.path()).model("clerk", clerk, REHEARSAL_PRICE).roster(roster).build().unwrap();
    let lead = AgentName::parse("lead").unwrap();
    let ended = hall.run("Name three.").entry(lead).budget(Msat::from_sat(500).unwrap()).await.unwrap();
    assert_done(&ended, "Fine.");
    let prompts = prompts.lock().unwrap();
    let of = |specialty: &str| -> Vec<&Arc<Opening>> {
        let begins = format!("You are a specialist in this field: {specialty}");
        let openings = prompts.iter().map(|prompt| &prompt.opening);
        openings.filter(|opening| opening.system().starts_with(&begins)).collect()
    };
    let (botany, geology) = (of("botany"), of("geology"));
    assert_eq!((botany.len(), geology.len()), (2, 1));
    assert!(Arc::ptr_eq(botany[0], botany[1]) && !Arc::ptr_eq(botany[0], geology[0]));
}

/// The transcript of a contract.
async fn transcript(hall: &Hall, ended: &Ended, contract: &RootPath) -> String {
    let mut transcript = hall.transcript(&ended.session, contract).await.unwrap();
    let mut text = String::new();
    while let Some(line) = transcript.next().await {
        text += &(line + "\n");
    }
    assert_eq!(transcript.unreadable(), []);
    text
}

#[tokio::test]
async fn transcripts_are_read_on_request_and_written_live_only_if_the_program_asks_for_it() {
    let project = tempfile::tempdir().unwrap();
    let live = project.path().join("live");
    let (_files, roster) = team(&[("lead", "delegation:\n  team: [ada]\n"), ("ada", "")]);
    let hire = json!({"specialty": "ada", "task": "When is it?"});
    for is_live in [false, true] {
        let replies =
            [Reply::call("delegate_task", hire.clone()), Reply::words("Tuesday."), Reply::words("On Tuesday.")];
        let (clerk, prompts) = scripted(&replies);
        let mut builder = at(project.path()).model("clerk", clerk, Price::FREE).roster(roster.clone());
        if is_live {
            builder = builder.transcripts(&live);
        }
        let hall = builder.build().unwrap();
        let ended = hall.run("When is the meeting?").await.unwrap();
        assert_done(&ended, "On Tuesday.");
        let (root, hired) = (RootPath::root(1), RootPath::root(1).hire(1));
        let (root, hired) = (transcript(&hall, &ended, &root).await, transcript(&hall, &ended, &hired).await);
        for (text, prompt) in [(&root, 0), (&hired, 1)] {
            let opening: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            assert_eq!(opening["content"], prompts.lock().unwrap()[prompt].opening.system());
        }
        let files = live.join(ended.session.as_str());
        assert_eq!(files.exists(), is_live);
        if is_live {
            assert_eq!(fs::read_to_string(files.join("1.jsonl")).unwrap(), root);
            assert_eq!(fs::read_to_string(files.join("1.1.jsonl")).unwrap(), hired);
        }
        let written = hall.write_transcripts(&ended.session, &project.path().join(format!("all-{is_live}"))).await;
        let written: Vec<String> =
            written.unwrap().files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        assert_eq!(written, [root, hired]);
    }
}

#[tokio::test]
async fn a_transcript_shows_the_beginning_of_a_very_long_text_and_invisible_characters_as_escapes() {
    let project = tempfile::tempdir().unwrap();
    let long = format!("\u{202e}{}", "y".repeat(TRANSCRIPT_TEXT_BYTES_MAX + 9));
    let (clerk, _) = scripted(&[Reply::words(long.clone())]);
    let hall = at(project.path()).model("clerk", clerk, Price::FREE).build().unwrap();
    let ended = hall.run("Say why.").await.unwrap();
    assert_done(&ended, &long);
    let text = transcript(&hall, &ended, &RootPath::root(1)).await;
    assert!(text.contains("yyy… (12 bytes more)") && !text.contains(&long), "{} bytes", text.len());
    assert!(text.contains("\\u202eyyy") && !text.contains('\u{202e}'), "invisible characters are escaped");
}

#[tokio::test]
async fn live_transcripts_are_complete_when_the_work_has_ended_however_many_agents_report_at_once() {
    const HIRES: usize = 60;
    let project = tempfile::tempdir().unwrap();
    let (_files, roster) = team(&[("lead", "delegation:\n  team: [ada]\n"), ("ada", "")]);
    let clerk = model_fn(|prompt| async move {
        let is_lead = prompt.opening.system().starts_with("You are lead");
        match prompt.last_result() {
            None if is_lead => (1..HIRES).fold(hire(0), |reply, n| reply.and_call("delegate_task", task(n))),
            Some(_) | None => Reply::words("Tuesday. ".repeat(1000)),
        }
    });
    let live = project.path().join("live");
    let builder = at(project.path()).model("clerk", clerk, Price::FREE).roster(roster).transcripts(&live);
    let hall = builder.build().unwrap();
    let ended = hall.run("When is the meeting?").await.unwrap();
    let written = hall.write_transcripts(&ended.session, &project.path().join("all")).await.unwrap().files;
    assert_eq!(written.len(), HIRES + 1);
    for file in written {
        let of_live = fs::read(live.join(ended.session.as_str()).join(file.file_name().unwrap())).unwrap();
        assert!(of_live == fs::read(&file).unwrap(), "{}", file.display());
    }
}

fn hire(n: usize) -> Reply {
    Reply::call("delegate_task", task(n))
}

fn task(n: usize) -> Value {
    json!({"specialty": "ada", "task": format!("Part {n} of it.")})
}
