//! A conversation in a terminal: lines are edited, commands cost nothing, and the terminal is left as it was.

use serde_json::json;

use crate::chat::CHAT;
use crate::crew::{assert_has, assert_lacks, stalls};
use crate::house::{House, Running, Wire, reads, says, wait_for};
use crate::terminal::{Terminal, seen};

fn house() -> House {
    House::new(
        Wire::Anthropic,
        &json!([{"when": {"nth": 1}, "then": says("On **Tuesday**.")}, {"then": says("In the hall.")}]),
    )
}

#[test]
fn lines_are_edited_and_commands_are_no_words() {
    let house = house();
    let terminal = Terminal::sized(100, 40);
    let before = terminal.settings();
    let running = Running::start_wholly_in(&terminal, house.command(&CHAT));
    running.showed("> ");
    terminal.type_in("/help\r");
    running.told("what the conversation has cost so far");
    terminal.type_in("/hlep\r");
    running.told("unknown command /hlep");
    // The cursor goes back over the last letter, and a letter is put before it.
    terminal.type_in("Whn?\u{1b}[D\u{1b}[De\r");
    running.told("Tuesday");
    terminal.type_in("/cost\r");
    running.told(" of 5000 sat so far");
    terminal.type_in("/agents\r");
    // The next prompt: keys before it are echoed by the terminal, and wait for the next key.
    running.showed_then("1 general-contractor\r\n", "> ");
    // The line before is there again, to be said once more.
    terminal.type_in("\u{1b}[A\u{1b}[A\u{1b}[A\r");
    running.told("In the hall.");
    terminal.type_in("/exit\r");
    let ended = running.end().expect(0);
    assert_eq!(terminal.settings(), before);
    let shown = seen(&ended.stderr, 100);
    assert_has(&shown, &["> When?", "\nOn Tuesday.\n", "\nIn the hall.\n", "every balance adds up"]);
    assert_lacks(&shown, &["^[[A"]);
    let asked: Vec<String> = house.requests().iter().map(ToString::to_string).collect();
    assert!(asked.len() == 2 && asked[1].matches("When?").count() == 2, "{asked:#?}");
    assert!(!asked[1].contains("/cost") && !asked[1].contains("hlep"), "{asked:#?}");
    // The next conversation knows the lines of this one.
    let terminal = Terminal::sized(100, 40);
    let running = Running::start_wholly_in(&terminal, house.command(&CHAT));
    running.showed("> ");
    terminal.type_in("\u{1b}[A\r");
    assert_has(&running.end().expect(0).stderr, &["no message was sent"]);
}

#[test]
fn a_long_reply_is_shown_block_by_block_while_it_arrives_and_once() {
    let reply = |text: &str| {
        let mut reply = says(text);
        reply["reply"]["pace"] = json!({"chunk_chars": 5, "between_ms": 30});
        reply
    };
    let mut looks = reads(&["notes.txt"]);
    looks["reply"]["text"] = json!("First I look.\n\nInto the notes.");
    let rules = json!([
        {"when": {"nth": 1}, "then": looks},
        {"when": {"nth": 2}, "then": reply("# Days\n\nOn **Tuesday**.\n\n- one\n- two\n\nThe end of the reply.")},
        {"then": says("Short.")},
    ]);
    let house = House::new(Wire::Anthropic, &rules);
    let terminal = Terminal::sized(60, 24);
    let running = Running::start_wholly_in(&terminal, house.command(&CHAT));
    running.showed("> ");
    terminal.type_in("When?\r");
    // The second block is there before the last one has arrived.
    running.showed("Tuesday");
    running.showed("The end of the reply.");
    terminal.type_in("And?\r");
    running.showed("Short.");
    terminal.type_in("/exit\r");
    let ended = running.end().expect(0);
    let (block, end) = (ended.stderr.find("Tuesday").unwrap(), ended.stderr.find("The end of").unwrap());
    assert!(ended.stderr[block..end].contains("> "), "the blocks came one after the other: {}", ended.stderr);
    let shown = seen(&ended.stderr, 60);
    assert_has(&shown, &["Days\n\nOn Tuesday.\n\n• one\n• two\n\nThe end of the reply.\n"]);
    for once in ["First I look.", "Into the notes.", "Tuesday", "The end of", "Short."] {
        assert_eq!(shown.matches(once).count(), 1, "{once}: {shown}");
    }
}

#[test]
fn ctrl_c_while_a_line_is_edited_asks_for_the_end_and_the_terminal_is_as_before() {
    let house =
        House::new(Wire::Anthropic, &json!([{"when": {"nth": 1}, "then": stalls()}, {"then": says("This far.")}]));
    let terminal = Terminal::sized(100, 40);
    let before = terminal.settings();
    let running = Running::start_wholly_in(&terminal, house.command(&CHAT));
    running.showed("> ");
    terminal.type_in("When?\r");
    wait_for("the call", || (!house.requests().is_empty()).then_some(()));
    terminal.type_in("half a li\u{3}");
    // Before the next prompt, the key would be lost: this terminal makes no signals.
    running.showed_then("Ctrl-C again stops at once", "> ");
    terminal.type_in("\u{3}");
    let ended = running.end().expect(130);
    assert_has(&ended.stderr, &["guildhall resume "]);
    assert_eq!(terminal.settings(), before);
}

#[test]
fn commands_in_a_pipe_are_no_words_either() {
    let house = house();
    let lines = "/help\n/agents\nWhen?\n/cost\n/nonsense\n/etc/hosts has what?\n/exit\nnever\n";
    let ended = Running::start(house.command(&CHAT), lines).end().expect(0);
    assert_eq!(ended.stdout, "On **Tuesday**.\nIn the hall.\n");
    assert_has(
        &ended.stderr,
        &["/cost    what", "no agent is at work now", " of 5000 sat so far", "unknown command /nonsense"],
    );
    assert_eq!(house.requests().len(), 2);
}

#[test]
fn a_reply_that_is_asked_about_is_shown_whole_and_stands() {
    // The first part has time to be shown.
    let pace = json!({"chunk_chars": 20, "between_ms": 400});
    let plan = json!({"reply": {"text": "Here is my plan.\n\nThe tester will do it.", "pace": pace}});
    let rules = json!([{"when": {"nth": 1}, "then": plan}, {"then": says("The whole report.")}]);
    let house = House::new(Wire::Anthropic, &rules);
    let terminal = Terminal::sized(160, 40);
    let running = Running::start_wholly_in(&terminal, house.command(&CHAT));
    running.showed("> ");
    terminal.type_in("Plan.\r");
    running.showed_then("The tester will do it.", "The whole report.");
    terminal.type_in("/exit\r");
    let shown = seen(&running.end().expect(0).stderr, 160);
    assert_has(&shown, &["Here is my plan.\n", "The tester will do it.\n", "The whole report.\n"]);
    assert_lacks(&shown, &["asking again", "answer only DONE"]);
}

#[test]
fn a_conversation_has_the_status_line_below_the_typed_line_while_the_agent_works() {
    let house = House::new(Wire::Anthropic, &json!([{"then": stalls()}]));
    let terminal = Terminal::sized(120, 24);
    let running = Running::start_wholly_in(&terminal, house.command(&CHAT));
    running.showed("> ");
    terminal.type_in("When?\r");
    running.showed("1 call in flight");
    terminal.type_in("half a li");
    running.showed_then("half a li", "1 call in flight");
    // The typed line is whole, and the status is one row below it.
    wait_for("the status below the line", || {
        let rows = seen(&running.stderr_so_far(), 120);
        let rows: Vec<&str> = rows.lines().collect();
        let typed = rows.iter().rposition(|row| row.trim_end() == "> half a li")?;
        rows.get(typed + 1).filter(|row| row.contains("1 agent at work")).map(|_| ())
    });
    terminal.type_in("\u{3}");
    running.showed_then("Ctrl-C again stops at once", "> ");
    terminal.type_in("\u{3}");
    let shown = seen(&running.end().expect(130).stderr, 120);
    assert_has(&shown, &["> When?", "> half a li", "guildhall resume "]);
    assert_lacks(&shown, &["in flight", " · "]);
}

#[test]
fn a_conversation_whose_input_is_a_pipe_has_the_status_line_too() {
    let mut slow = says("On Tuesday.");
    slow["reply"]["pace"] = json!({"headers_ms": 1500});
    let house = House::new(Wire::Anthropic, &json!([{"then": slow}]));
    let terminal = Terminal::sized(100, 24);
    let mut command = house.command(&CHAT);
    let file = house.project().join("lines");
    std::fs::write(&file, "When?\n").unwrap();
    command.stdin(std::fs::File::open(&file).unwrap());
    let running = Running::start_with_stdin(&terminal, command);
    running.showed(" · 1 call · ");
    let ended = running.end().expect(0);
    assert_eq!(ended.stdout, "On Tuesday.\n");
    assert_lacks(&seen(&ended.stderr, 100), &[" · "]);
}
