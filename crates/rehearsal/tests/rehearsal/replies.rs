//! Single replies, also to random data.

use std::sync::Arc;

use guildhall_agent::roster::Dialect;
use guildhall_agent::{
    Heard, HeardReport, HiringLeft, Model, Opening, Prompt, PromptData, RawCall, Reply, Status, Team, ToolSpec, Usage,
};
use guildhall_kernel::{AgentName, AskId, AskKey, Heads, Limit, Msat, Nudge, Outcome, Path, Refusal, Turn};
use guildhall_rehearsal::{LABEL, Rehearsal};
use serde_json::{Value, json};

use crate::team::{team, worker};

const RUNS: usize = 2000;
const ALL_TOOLS: [&str; 7] =
    ["search", "read_file", "list_files", "delegate_task", "Agent", "wait_for_agents", "message_agent"];

fn name(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

/// A root without a team.
fn alone(task: &str) -> PromptData {
    let status = Status { money: Msat::ZERO, turns: 9, hiring: None, time: None, may_draw: false };
    PromptData { agent: name("lead"), team: None, task: task.to_owned(), turn: Turn::Next, status, heard: Vec::new() }
}

/// A root with a team of two.
fn lead(task: &str, dialect: Dialect) -> PromptData {
    let mut data = alone(task);
    data.team = Some(team("lead", dialect, vec![worker("ann", "Reads logs."), worker("bob", "Reads code.")]));
    data.status.hiring = Some(HiringLeft { money: Msat::ZERO, heads: Heads(9), depth: 3 });
    data
}

fn prompt(data: &PromptData, tools: &[&str], max_tokens: u32) -> Prompt {
    let spec = |name: &&str| ToolSpec { name: (*name).to_owned(), description: String::new(), schema: json!({}) };
    Prompt {
        key: AskKey { contract: Path::root(1), ask: AskId(1) },
        opening: Arc::new(Opening::new("Be brief.", tools.iter().map(spec).collect())),
        messages: Vec::new(),
        status: None,
        max_tokens,
        must_call: None,
        json_turn: None,
        continues: None,
        data: Some(Box::new(data.clone())),
    }
}

fn ask_with(prompt: &Prompt) -> (Reply, Usage) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let attempt = runtime.block_on(Rehearsal.ask(prompt, &|_| {}));
    (attempt.outcome.unwrap(), attempt.usage.whole().unwrap())
}

fn ask(data: &PromptData, tools: &[&str]) -> Reply {
    ask_with(&prompt(data, tools, 16_000)).0
}

fn report_of(data: &PromptData, tools: &[&str]) -> String {
    let reply = ask(data, tools);
    assert_eq!(reply.calls, [], "a report was expected");
    reply.words.unwrap()
}

fn called(reply: &Reply) -> Vec<&str> {
    reply.calls.iter().map(|call| call.name.as_str()).collect()
}

/// Adds a reply, and a result for each of its calls.
fn add_reply(data: &mut PromptData, reply: Reply, result: impl Fn(&RawCall) -> String) {
    let results = reply.calls.iter().map(|call| {
        let text = result(call);
        Heard::Result { call: call.id.clone(), text, failed: false }
    });
    let results: Vec<Heard> = results.collect();
    data.heard.push(Heard::Reply(Arc::new(reply)));
    data.heard.extend(results);
}

fn report(hire: u32, agent: &str, text: &str) -> Heard {
    let (hire, agent) = (Path::root(1).hire(hire), name(agent));
    Heard::Report(HeardReport { call: None, hire, agent, outcome: Outcome::Done, text: text.to_owned() })
}

fn hired(hire: u32, agent: &str) -> Heard {
    Heard::Hired { call: None, hire: Path::root(1).hire(hire), agent: name(agent) }
}

/// Returns the results of a project in which every search finds one line.
fn finds(line: &str) -> impl Fn(&RawCall) -> String {
    move |call| if call.name == "search" { format!("{line}\n(1 matches in 1 of 1 files)") } else { "1\tx".to_owned() }
}

#[test]
fn a_root_searches_and_then_hires_all_matching_agents_in_one_reply_in_every_dialect() {
    for (dialect, tool, agent_field, task_field) in [
        (Dialect::DelegateTask, "delegate_task", "specialty", "task"),
        (Dialect::Agent, "Agent", "subagent_type", "prompt"),
    ] {
        let mut data = lead("Why does max_size fail?", dialect);
        let survey = ask(&data, &ALL_TOOLS);
        assert!(called(&survey).iter().all(|name| *name == "search"), "{survey:?}");
        add_reply(&mut data, survey, finds("x.log\n7: max_size failed with SizeError 77"));
        let hires = ask(&data, &ALL_TOOLS);
        assert_eq!(called(&hires), [tool, tool]);
        let arguments: Vec<&Value> = hires.calls.iter().map(|call| call.arguments.as_ref().unwrap()).collect();
        assert_eq!((&arguments[0][agent_field], &arguments[1][agent_field]), (&json!("ann"), &json!("bob")));
        let task = arguments[0][task_field].as_str().unwrap();
        let expected = "Why does max_size fail?\n\nLook for: `max_size`, `SizeError`, `77`\nRead: logs\n";
        assert!(task.starts_with(expected), "{task}");
    }
}

#[test]
fn reports_with_a_shared_name_form_a_chain_and_missing_reports_are_listed() {
    let mut data = lead("Why does it fail?", Dialect::DelegateTask);
    data.heard.extend([hired(1, "ann"), hired(2, "bob"), hired(3, "eve")]);
    data.heard.push(report(
        1,
        "ann",
        "rehearsal: no language model\n1. x y.log:3: fail: max_size 77\nsearched: `fail` in all",
    ));
    data.heard.push(report(2, "bob", "I think it is this:\nsrc/x.rs:9: let max_size = 77;"));
    data.heard.push(Heard::Refused { call: None, hire: None, why: Refusal::SelfHire });
    assert_eq!(called(&ask(&data, &ALL_TOOLS)), ["wait_for_agents"], "one report is missing");
    data.turn = Turn::Last;
    let report = report_of(&data, &[]);
    let expected = "The evidence leads to src/x.rs:9.\nchain: x y.log:3 (logs) —max_size→ src/x.rs:9 (code)\n";
    assert!(report.contains(expected), "{report}");
    assert!(report.contains("\nbob reports:\n   I think it is this:\n"), "{report}");
    assert!(
        report.contains("\nsearched: `fail` in all\n") && report.contains("\nmissing: a hire, refused: "),
        "{report}"
    );
    assert!(report.ends_with("\nmissing: the report of eve (1.3)"), "{report}");
}

#[test]
fn the_last_reply_has_no_calls_and_reports_the_lines_found() {
    let is_last: [fn(&mut PromptData); 2] = [|data| data.turn = Turn::Last, |data| data.status.turns = 1];
    for end in is_last {
        for mut data in [alone("Why does max_size fail?"), lead("Why does max_size fail?", Dialect::DelegateTask)] {
            let first = ask(&data, &ALL_TOOLS);
            add_reply(&mut data, first, finds("a.rs\n7: max_size fails"));
            end(&mut data);
            let report = report_of(&data, &ALL_TOOLS);
            assert!(report.starts_with(LABEL) && report.contains("\n1. a.rs:7: max_size fails\n"), "{report}");
        }
    }
}

#[test]
fn an_agent_is_hired_if_the_runtime_requires_it_even_if_no_search_finds_a_line() {
    let nothing = |_: &RawCall| "(no match in 3 files)".to_owned();
    let mut data = lead("What is the capital of France?", Dialect::DelegateTask);
    let survey = ask(&data, &ALL_TOOLS);
    add_reply(&mut data, survey, nothing);
    let answer = ask(&data, &ALL_TOOLS);
    let words = answer.words.clone().unwrap();
    assert!(words.starts_with("rehearsal: no language model\nNothing matches: "), "{words}");
    assert!(words.contains("`capital` in all files of the project (no line)"), "{words}");
    add_reply(&mut data, answer, nothing);
    data.heard.push(Heard::Nudged(Nudge::Required));
    assert_eq!(called(&ask(&data, &ALL_TOOLS)), ["delegate_task"; 2]);
    let mut ad_hoc = data.clone();
    let nobody = team("lead", Dialect::DelegateTask, Vec::new());
    ad_hoc.team = Some(Arc::new(Team { ad_hoc: Some(Arc::new(worker("specialist", ""))), ..Team::clone(&nobody) }));
    assert_eq!(called(&ask(&ad_hoc, &ALL_TOOLS)), ["delegate_task"]);
}

#[test]
fn a_report_says_nothing_matches_only_if_every_search_finished_without_a_line() {
    for (result, expected) in [
        ("(no match in 3 files)", "Nothing matches: "),
        ("(stopped after 5 s: 0 matches in 0 of 9 files searched so far)", "No search found a line, but not every"),
        ("a b.txt\n3: something else about max_sizes", "Lines that match the searches, "),
    ] {
        let mut data = alone("Where is max_size defined?");
        while let reply @ Reply { words: None, .. } = ask(&data, &ALL_TOOLS) {
            add_reply(
                &mut data,
                reply,
                |call| if call.name == "search" { result.to_owned() } else { "3\tx".to_owned() },
            );
        }
        let report = report_of(&data, &ALL_TOOLS);
        assert!(report.starts_with(&format!("{LABEL}\n{expected}")), "{report}");
        assert!(report.contains("\nsearched: `max_size` in all files of the project ("), "{report}");
    }
    let report = report_of(&alone("Why?"), &ALL_TOOLS);
    assert!(report.starts_with(&format!("{LABEL}\nNothing was searched")), "{report}");
}

#[test]
fn the_definition_comes_before_uses_and_dates_do_not_count_as_numbers() {
    let found = "a.rs\n2: use x::MaxSize;\n5: check(MaxSize);\n9: struct MaxSize {\n";
    let mut data = alone("Where is MaxSize defined?");
    while let reply @ Reply { words: None, .. } = ask(&data, &ALL_TOOLS) {
        add_reply(&mut data, reply, finds(found));
    }
    let report = report_of(&data, &ALL_TOOLS);
    assert!(report.contains("\n1. a.rs:9: struct MaxSize {\n") && report.contains("\n3. a.rs:2: use x"), "{report}");

    let mut data = alone("Why does it fail?");
    let survey = ask(&data, &ALL_TOOLS);
    add_reply(&mut data, survey, finds("x.log\n1: 2026-04-13 14:00:40,423 ERROR failed after 30 ms"));
    let next = ask(&data, &ALL_TOOLS).calls;
    let patterns: Vec<&Value> =
        next.iter().filter_map(|call| call.arguments.as_ref().unwrap().get("pattern")).collect();
    assert_eq!(patterns, [&json!("\\b30\\b")]);
}

#[test]
fn words_are_searched_without_their_endings() {
    for (question, expected) in [
        ("How many retries are made?", "retr"),
        ("When is it stopped?", "stop"),
        ("Where is it killed?", "kill"),
        ("Which addresses does it use?", "address"),
        ("Where is FOO defined?", "foo"),
    ] {
        let reply = ask(&alone(question), &ALL_TOOLS);
        assert_eq!(reply.calls[0].arguments.as_ref().unwrap()["pattern"], expected, "{question}");
    }
}

#[test]
fn a_new_message_of_the_owner_is_a_new_question_and_a_question_of_a_hire_is_answered() {
    let mut data = alone("Where is max_size set?");
    data.heard.extend([Heard::Reply(Arc::new(Reply::words("done"))), Heard::Owner("And min_size?".to_owned())]);
    let pattern = |reply: &Reply| reply.calls[0].arguments.as_ref().unwrap()["pattern"].clone();
    assert_eq!(pattern(&ask(&data, &ALL_TOOLS)), "min_size");

    let mut data = lead("Why does it fail?", Dialect::DelegateTask);
    data.heard.extend([hired(1, "ann"), Heard::Question { from: Path::root(1).hire(1), text: "Which?".to_owned() }]);
    assert_eq!(called(&ask(&data, &ALL_TOOLS)), ["message_agent", "wait_for_agents"]);
}

#[test]
fn a_reply_is_never_longer_than_the_limit() {
    let found: Vec<String> =
        (1..200).map(|at| format!("{at}: max_size_{at} fails{} max_size", "!".repeat(at))).collect();
    let found = format!("a.rs\n{}", found.join("\n"));
    for max_tokens in [256, 300, 512, 1000, 2000, 8192] {
        let mut data = alone("Why does max_size fail?");
        for _ in 0..8 {
            let (reply, usage) = ask_with(&prompt(&data, &ALL_TOOLS, max_tokens));
            assert!(usage.output <= u64::from(max_tokens), "{} of {max_tokens}", usage.output);
            add_reply(&mut data, reply, finds(&found));
        }
    }
}

#[test]
fn the_reply_to_a_prompt_without_data_says_so() {
    let without = Prompt { data: None, ..prompt(&alone("Why?"), &ALL_TOOLS, 1000) };
    assert_eq!(
        ask_with(&without).0.words.unwrap(),
        format!("{LABEL}\nA rehearsal reads the prompt's data, and this prompt has none: nothing was done.")
    );
}

/// Parts of texts, for data that is nearly valid.
const PIECES: [&str; 36] = [
    "Look for: ",
    "Read: ",
    "logs",
    ", code",
    "\n",
    "\n\n",
    "\t",
    " ",
    ": ",
    ". ",
    "1",
    "7",
    "99999999999999999999",
    "a/b.rs",
    "../x",
    "max_size",
    "MaxSize",
    "fail",
    "\"",
    "`",
    "(",
    ")",
    "   by a; shares b",
    "missing: ",
    "searched: ",
    "(cut off after 200)",
    "; ",
    "é",
    "𝕏",
    "\u{0}",
    "İ",
    "—",
    "\\",
    "[",
    "2026-01-01T10:00:00,123",
    "rehearsal: no language model",
];

fn text(bytes: &mut impl Iterator<Item = u8>) -> String {
    let length = bytes.next().unwrap_or(0) % 24;
    (0..length).filter_map(|_| bytes.next()).map(|byte| PIECES[usize::from(byte) % PIECES.len()]).collect()
}

fn heard(bytes: &mut impl Iterator<Item = u8>) -> Heard {
    let byte = bytes.next().unwrap_or(0);
    let (call, hire) = (format!("call-{}", byte % 3), Path::root(1).hire(u32::from(byte % 3) + 1));
    match bytes.next().unwrap_or(0) % 9 {
        0 | 1 => {
            let tool = ALL_TOOLS[usize::from(byte) % ALL_TOOLS.len()];
            let arguments = match byte % 4 {
                0 => Err(text(bytes)),
                1 => Ok(Value::Null),
                _ => Ok(json!({"pattern": text(bytes), "path": text(bytes), "specialty": text(bytes), "offset": 3})),
            };
            let mut reply = Reply::words(text(bytes));
            reply.calls = vec![RawCall { id: call, name: tool.to_owned(), arguments }];
            Heard::Reply(Arc::new(reply))
        }
        2 | 3 => Heard::Result { call, text: text(bytes), failed: byte.is_multiple_of(5) },
        4 => Heard::Hired { call: Some(call), hire, agent: name("ann") },
        5 => Heard::Refused { call: Some(call), hire: None, why: Refusal::CantHire },
        6 => {
            let (agent, outcome) = (name("ann"), Outcome::Exhausted(Limit::Purse));
            Heard::Report(HeardReport { call: Some(call), hire, agent, outcome, text: text(bytes) })
        }
        7 => Heard::Owner(text(bytes)),
        _ => Heard::Nudged(if byte.is_multiple_of(2) { Nudge::Required } else { Nudge::Empty }),
    }
}

#[test]
fn no_data_causes_a_panic_or_two_different_replies() {
    bolero::check!().with_iterations(RUNS).with_max_len(2048).for_each(|input: &[u8]| {
        let mut bytes = input.iter().copied();
        let is_alone = bytes.next().unwrap_or(0).is_multiple_of(2);
        let task = text(&mut bytes);
        let mut data = if is_alone { alone(&task) } else { lead(&task, Dialect::DelegateTask) };
        let max_tokens = [0, 40, 256, 8192][usize::from(bytes.next().unwrap_or(3)) % 4];
        let count = bytes.next().unwrap_or(0) % 16;
        data.heard = (0..count).map(|_| heard(&mut bytes)).collect();
        let prompt = prompt(&data, &ALL_TOOLS, max_tokens);
        let (reply, usage) = ask_with(&prompt);
        assert_eq!(ask_with(&prompt), (reply.clone(), usage));
        assert!(usage.output <= u64::from(max_tokens).max(64), "{} of {max_tokens}", usage.output);
        assert_eq!(reply.calls.is_empty(), reply.words.is_some());
        assert!(reply.words.is_none_or(|words| words.starts_with(LABEL) || max_tokens < 64));
    });
}
