//! Single replies: to prompts that nobody meant, and to those that must be obeyed.

use std::sync::Arc;

use guildhall_agent::{Message, Model, Part, Prompt, RawCall, Reply, Stop, ToolSpec, Usage, Wire};
use guildhall_kernel::{AskId, AskKey, Path};
use guildhall_models::{REHEARSAL_LABEL, Rehearsal};
use serde_json::{Value, json};

const RUNS: usize = 2000;
const LAST: &str = "This is your last reply: no more calls.";

fn words(text: &str) -> Part {
    Part::Words(text.to_owned())
}

fn result(call: &str, text: &str) -> Part {
    Part::Result { call: call.to_owned(), text: text.to_owned(), failed: text.starts_with("refused") }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), schema: json!({ "type": "object" }) }
}

fn file_tools() -> Vec<ToolSpec> {
    ["list_files", "read_file", "search"].map(tool).into()
}

/// Somebody who can hire two others, and look at nothing.
fn hirer() -> Vec<ToolSpec> {
    let description = "Hires:\n- ann: Reads logs.\n- bob: Reads code.".to_owned();
    vec![ToolSpec { description, ..tool("delegate_task") }]
}

fn prompt(tools: Vec<ToolSpec>, messages: Vec<Message>) -> Prompt {
    let key = AskKey { contract: Path::root(1), ask: AskId(1) };
    Prompt { key, system: "Be brief.".to_owned(), tools, messages, status: None, max_tokens: 8192, must_call: None }
}

fn asked(tools: Vec<ToolSpec>, question: &str) -> Prompt {
    prompt(tools, vec![Message::User(vec![words(question)])])
}

fn ask(prompt: &Prompt) -> (Reply, Usage) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let attempt = runtime.block_on(Rehearsal.ask(prompt, &|_| {}));
    (attempt.outcome.unwrap(), attempt.usage.whole().unwrap())
}

fn said(prompt: &Prompt) -> String {
    let reply = ask(prompt).0;
    assert_eq!(reply.calls, [], "a report was expected");
    reply.words.unwrap()
}

fn lines(numbers: std::ops::Range<u32>, line: impl Fn(u32) -> String) -> String {
    numbers.map(line).collect::<Vec<_>>().join("\n")
}

/// Adds a reply and what came of it.
fn go_on(prompt: &mut Prompt, reply: Reply, parts: Vec<Part>) {
    prompt.messages.extend([Message::Assistant(Arc::new(reply)), Message::User(parts)]);
}

#[test]
fn a_hirer_hires_all_who_read_evidence_in_one_reply_and_says_what_came() {
    let mut prompt = asked(hirer(), "Why does max_size fail?");
    let (reply, _) = ask(&prompt);
    let names: Vec<&Value> = reply.calls.iter().map(|call| &call.arguments.as_ref().unwrap()["specialty"]).collect();
    assert_eq!(names, ["ann", "bob"]);
    let task = reply.calls[0].arguments.as_ref().unwrap()["task"].as_str().unwrap();
    assert!(
        task.starts_with("Question: Why does max_size fail?\nEvidence source: logs\nPart: Reads logs.\n"),
        "{task}"
    );

    let found = "<sub-agent-complete id=\"1.1\" agent=\"ann\" spent=\"1 sat\">\nrehearsal: no language model\nplaces:\n\
                 1. x.log:3: fail: max_size 77\n   shares max_size\n</sub-agent-complete>";
    let ids: Vec<String> = reply.calls.iter().map(|call| call.id.clone()).collect();
    go_on(&mut prompt, reply, vec![result(&ids[0], found), result(&ids[1], "refused: no money")]);
    let report = said(&prompt);
    assert!(report.contains("\n1. x.log:3: fail: max_size 77\n   by ann; shares max_size\n"), "{report}");
    assert!(report.contains("\nmissing: bob was not hired (refused: no money)\n"), "{report}");
    assert!(report.contains("\nno evidence that meets: "), "{report}");
}

#[test]
fn independent_reports_meet_in_a_shared_name() {
    let mut prompt = asked(hirer(), "Why does it fail?");
    let (reply, _) = ask(&prompt);
    let report = |agent: &str, place: &str| {
        format!("<sub-agent-complete id=\"1.1\" agent=\"{agent}\" spent=\"1 sat\">\n1. {place}\n</sub-agent-complete>")
    };
    let ids: Vec<String> = reply.calls.iter().map(|call| call.id.clone()).collect();
    let (log, code) = (report("ann", "x.log:3: fail: max_size 77"), report("bob", "src/x.rs:9: let max_size = 77;"));
    go_on(&mut prompt, reply, vec![result(&ids[0], &log), result(&ids[1], &code)]);
    let report = said(&prompt);
    let expected = "The evidence meets at src/x.rs:9.\nchain: x.log:3 (logs) —max_size→ src/x.rs:9 (code)\n";
    assert!(report.contains(expected), "{report}");
}

#[test]
fn a_place_that_has_nearly_as_much_for_it_is_named_beside_the_best() {
    let mut prompt = asked(hirer(), "Why does it fail?");
    let (reply, _) = ask(&prompt);
    let report = |agent: &str, one: &str, other: &str| {
        format!(
            "<sub-agent-complete id=\"1.1\" agent=\"{agent}\" spent=\"1 sat\">\n1. {one}\n2. {other}\n</sub-agent-complete>"
        )
    };
    let ids: Vec<String> = reply.calls.iter().map(|call| call.id.clone()).collect();
    let log = report("ann", "x.log:3: fail: max_size 77", "x.log:4: fail: min_size 88");
    let code = report("bob", "src/x.rs:9: let max_size = 77;", "src/y.rs:5: let min_size = 88;");
    go_on(&mut prompt, reply, vec![result(&ids[0], &log), result(&ids[1], &code)]);
    let report = said(&prompt);
    assert!(report.contains("The evidence meets at src/x.rs:9.\n"), "{report}");
    assert!(report.contains("\nrival: x.log:4 (logs) —min_size→ src/y.rs:5 (code)\n"), "{report}");
}

#[test]
fn the_last_reply_has_no_calls() {
    for tools in [file_tools(), hirer(), Vec::new()] {
        let fresh = prompt(tools.clone(), vec![Message::User(vec![words("Why does max_size fail?"), words(LAST)])]);
        assert!(said(&fresh).starts_with(REHEARSAL_LABEL));
        let status = Some("[status: 12 sat free; 1 turns left, this one included]".to_owned());
        said(&Prompt { status, ..asked(tools.clone(), "Why does max_size fail?") });
        let mut begun = asked(tools, "Why does max_size fail?");
        let (reply, _) = ask(&begun);
        if let [first, ..] = &reply.calls[..] {
            let text = result(&first.id, "a.rs\n7: max_size fails\n(1 matches in 1 of 1 files)");
            go_on(&mut begun, reply, vec![text, words(LAST)]);
            assert!(said(&begun).starts_with(REHEARSAL_LABEL));
        }
    }
}

#[test]
fn what_was_found_is_in_the_last_reply_even_if_its_prompt_was_cut() {
    let found = "The newest of what was said and found so far (the rest had to be cut):\n\
                 <sub-agent-complete id=\"1.1\" agent=\"ann\" spent=\"1 sat\">\n1. x.log:3: fail: max_size 77\n\
                 </sub-agent-complete>\n\n<sub-agent-complete id=\"1.2\" agent=\"bob\" spent=\"1 sat\">\n1. src/x.rs:9: max_size";
    let cut = Message::User(vec![words("Why does it fail?"), words(found), words(LAST)]);
    assert!(said(&prompt(Vec::new(), vec![cut])).contains("The evidence meets at src/x.rs:9."));
}

#[test]
fn a_leaf_that_runs_dry_reports_what_is_left_of_its_finds() {
    let found = "The newest of what was said and found so far (the rest had to be cut):\nsrc/x.rs\n9: let max_size = 77;\n\
                 (1 matches in 1 of 1 files)";
    let task = "Question: Why does it fail?\nEvidence source: code\nIdentifiers so far: max_size";
    let cut = Message::User(vec![words(task), words(found), words(LAST)]);
    let report = said(&prompt(Vec::new(), vec![cut]));
    assert!(report.contains("\n1. src/x.rs:9: let max_size = 77;\n   shares max_size\n"), "{report}");
}

#[test]
fn what_was_left_out_to_save_room_is_not_taken_for_a_listing() {
    let mut tools = file_tools();
    tools.extend(hirer());
    let mut prompt = asked(tools, "Why does max_size fail?");
    let short = "[312 bytes, left out to save room; call again if you need it]";
    let (listing, _) = ask(&prompt);
    let id = listing.calls[0].id.clone();
    go_on(&mut prompt, listing, vec![result(&id, short)]);
    let (search, _) = ask(&prompt);
    let ids: Vec<String> = search.calls.iter().map(|call| call.id.clone()).collect();
    go_on(&mut prompt, search, ids.iter().map(|id| result(id, "x.log\n7: max_size fails")).collect());
    let (hires, _) = ask(&prompt);
    assert_eq!(hires.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["delegate_task"; 2]);
}

#[test]
fn words_after_a_report_are_a_new_question() {
    let mut prompt = asked(file_tools(), "Why does max_size fail?");
    let report = Reply {
        wire: Wire::Inside,
        raw: json!({ "words": "done" }),
        words: Some("done".to_owned()),
        calls: Vec::new(),
        stop: Stop::End,
    };
    go_on(&mut prompt, report.clone(), vec![words("And where is min_size set?")]);
    let (reply, _) = ask(&prompt);
    let pattern = reply.calls[0].arguments.as_ref().unwrap()["pattern"].as_str().unwrap().to_owned();
    assert!(pattern.contains("min") && !pattern.contains("max"), "{pattern}");
    prompt.messages.truncate(1);
    go_on(&mut prompt, report, vec![words("Your role requires that you hire at least one of your team.")]);
    prompt.tools.extend(hirer());
    assert!(ask(&prompt).0.calls.iter().any(|call| call.name != "read_file"), "a nudge is no question");
}

#[test]
fn usage_is_what_was_really_read_and_written() {
    let mut prompt = asked(Vec::new(), "Why?");
    let (reply, usage) = ask(&prompt);
    let opening = ("Be brief.".len() + "[]".len() + "Why?".len()) as u64;
    let output = reply.raw.to_string().len() as u64;
    assert_eq!(usage, Usage { input: opening, cache_read: 0, cache_write: 0, output });
    go_on(&mut prompt, reply, vec![words("And?")]);
    let (_, usage) = ask(&prompt);
    assert_eq!((usage.input, usage.cache_read), (opening + output + 4, opening + output));
}

#[test]
fn a_reply_is_never_longer_than_it_may_be() {
    let found: String = lines(1..200, |line| format!("{line}: max_size_{line} fails with max_size {line}"));
    for max_tokens in [256, 300, 512, 1000, 2000, 8192] {
        let mut prompt = asked(file_tools(), "Why does max_size fail?");
        for _ in 0..8 {
            prompt.max_tokens = max_tokens;
            let (reply, usage) = ask(&prompt);
            assert!(usage.output <= u64::from(max_tokens), "{} of {max_tokens}", usage.output);
            let results = reply.calls.iter().map(|call| result(&call.id, &format!("a.rs\n{found}"))).collect();
            go_on(&mut prompt, reply, results);
        }
    }
}

/// Texts that prompts are made of, for prompts that are nearly right.
const PIECES: [&str; 44] = [
    "Question: ",
    "Evidence source: ",
    "logs",
    ", code",
    "Part: ",
    "Identifiers so far: ",
    "Directory: ",
    "\n",
    "\t",
    " ",
    ": ",
    "- ",
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
    "'",
    "`",
    "(",
    ")",
    "<sub-agent-complete id=\"1.2\" agent=\"ann\" spent=\"1\">",
    "<sub-agent-",
    "\n</sub-agent-complete>",
    "   by a; shares b",
    "missing: ",
    "refused: ",
    "(cut off after 200)",
    "This is your last reply",
    "Your role requires that you hire",
    "é",
    "𝕏",
    "\u{0}",
    "İ",
    "—",
    "→",
    "\\",
    "[",
    "2026-01-01T10:00:00,123",
];

fn text(bytes: &mut impl Iterator<Item = u8>) -> String {
    let length = bytes.next().unwrap_or(0) % 24;
    (0..length).filter_map(|_| bytes.next()).map(|byte| PIECES[usize::from(byte) % PIECES.len()]).collect()
}

fn call(bytes: &mut impl Iterator<Item = u8>) -> RawCall {
    let kinds = ["search", "read_file", "list_files", "delegate_task", "other"];
    let name = kinds[usize::from(bytes.next().unwrap_or(0)) % kinds.len()].to_owned();
    let id = format!("{}", bytes.next().unwrap_or(0) % 4);
    let arguments = match bytes.next().unwrap_or(0) % 4 {
        0 => Err(text(bytes)),
        1 => Ok(Value::Null),
        _ => Ok(
            json!({ "pattern": text(bytes), "path": text(bytes), "specialty": "ann", "task": text(bytes), "offset": 3 }),
        ),
    };
    RawCall { id, name, arguments }
}

fn message(bytes: &mut impl Iterator<Item = u8>) -> Message {
    let count = bytes.next().unwrap_or(0) % 4;
    if bytes.next().unwrap_or(0).is_multiple_of(2) {
        let part = |bytes: &mut _| match Iterator::next(bytes).unwrap_or(0u8) % 5 {
            4 => words(&text(bytes)),
            id => result(&id.to_string(), &text(bytes)),
        };
        return Message::User((0..count).map(|_| part(bytes)).collect());
    }
    let calls: Vec<RawCall> = (0..count).map(|_| call(bytes)).collect();
    let raw = json!({ "x": text(bytes) });
    Message::Assistant(Arc::new(Reply { wire: Wire::Inside, raw, words: None, calls, stop: Stop::Calls }))
}

#[test]
fn no_prompt_makes_it_panic_or_answer_twice_differently() {
    bolero::check!().with_iterations(RUNS).with_max_len(2048).for_each(|input: &[u8]| {
        let mut bytes = input.iter().copied();
        let mut tools = if bytes.next().unwrap_or(0) % 2 == 0 { file_tools() } else { Vec::new() };
        tools.extend((bytes.next().unwrap_or(0) % 2 == 0).then(hirer).unwrap_or_default());
        let max_tokens = [0, 40, 256, 8192][usize::from(bytes.next().unwrap_or(3)) % 4];
        let count = bytes.next().unwrap_or(0) % 8;
        let messages = (0..count).map(|_| message(&mut bytes)).collect();
        let prompt = Prompt { max_tokens, ..prompt(tools, messages) };
        let (reply, usage) = ask(&prompt);
        assert_eq!(ask(&prompt), (reply.clone(), usage));
        assert!(usage.output <= u64::from(max_tokens).max(64), "{} of {max_tokens}", usage.output);
        assert_eq!(reply.calls.is_empty(), reply.words.is_some());
        assert!(reply.words.is_none_or(|words| words.starts_with(REHEARSAL_LABEL) || max_tokens < 64));
    });
}

#[test]
fn a_huge_prompt_is_answered_with_a_report_of_usual_size() {
    let found: String = lines(0..200_000, |line| format!("{line}: name_{line}.other_{line} fails: 4{line}"));
    let mut prompt = asked(file_tools(), &"why max_size fails ".repeat(100_000));
    for _ in 0..6 {
        let (reply, usage) = ask(&prompt);
        assert!(usage.output <= 8192);
        let results = reply.calls.iter().map(|call| result(&call.id, &format!("a.log\n{found}"))).collect();
        go_on(&mut prompt, reply, results);
    }
}
