//! The replay after a rehearsal, in a terminal: it has a title, any key skips it, and it restores the terminal.

use std::process::Command;

use serde_json::json;

use crate::house::{House, Running, Wire, says};
use crate::terminal::{Terminal, seen};

const SHOWN: &str = "replay of the stored facts";

fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("This reply is not used.")}]))
}

/// A rehearsal of one agent.
fn rehearsal(house: &House, more: &[&str]) -> Command {
    house.command(&[&["run", "When is the meeting?", "--model", "rehearsal"], more].concat())
}

/// The lines about contracts.
fn contract_lines(stderr: &str) -> Vec<String> {
    // A pipe gets plain lines.
    let seen = if stderr.contains('\r') { seen(stderr, 160) } else { stderr.to_owned() };
    let lines = seen.lines().take_while(|line| !line.starts_with("bill")).map(str::to_owned);
    // The time of each contract differs from run to run.
    let lines = lines.map(|line| line.rsplit_once(" sat, ").map_or(line.clone(), |(line, _)| line.to_owned()));
    lines.filter(|line| line.trim_start().starts_with("1 ") || line.trim_start().starts_with("1.")).collect()
}

#[test]
fn any_key_skips_the_replay_and_the_terminal_is_restored() {
    let house = house();
    let terminal = Terminal::open();
    let before = terminal.settings();
    let mut command = house.command(&["demo"]);
    command.env("TMPDIR", house.project());
    let running = Running::start_in(&terminal, command);
    let title = running.told(SHOWN);
    assert_eq!(title, "at reading speed, any key skips");
    assert_ne!(terminal.settings(), before, "a key arrives without Enter");
    terminal.type_in("~");
    let ended =
        running.end().expect(0).says("at work").says("skipped").says("every balance adds up").says("done after ");
    let (work, rest) = ended.stderr.split_once(SHOWN).unwrap();
    assert!(
        contract_lines(work).is_empty() && contract_lines(rest).len() < 20,
        "the rest is skipped: {}",
        ended.stderr
    );
    assert!(!rest.contains('~') && ended.stdout.contains("rehearsal: no language model"), "{ended:?}");
    assert_eq!(terminal.settings(), before);
}

#[test]
fn a_replay_has_the_same_lines_as_live_output() {
    let house = house();
    let terminal = Terminal::open();
    let running = Running::start_in(&terminal, rehearsal(&house, &[]));
    running.told(" hired with ");
    terminal.type_in("\n");
    let shown = running.end().expect(0);
    let live = Running::start(rehearsal(&house, &[]), "").end().expect(0);
    assert!(shown.stderr.contains(SHOWN) && !live.stderr.contains(SHOWN), "{} {}", shown.stderr, live.stderr);
    let (show, _) = shown.stderr.split_once(" lines skipped").unwrap();
    let (shown_lines, live_lines) = (contract_lines(show), contract_lines(&live.stderr));
    assert!(!shown_lines.is_empty() && live_lines.starts_with(&shown_lines), "{shown_lines:#?} {live_lines:#?}");
    assert_eq!(shown.stdout, live.stdout);
}

#[test]
fn a_signal_during_the_replay_skips_it_and_the_work_stays_done() {
    let house = house();
    for signal in [Running::interrupt, Running::terminate, Running::quit, Running::hang_up] {
        let terminal = Terminal::open();
        let before = terminal.settings();
        let running = Running::start_in(&terminal, rehearsal(&house, &[]));
        running.told(SHOWN);
        signal(&running);
        running.end().expect(0).says("skipped").says("every balance adds up");
        assert_eq!(terminal.settings(), before);
    }
}

#[test]
fn json_output_conversations_and_dumb_terminals_get_no_replay() {
    let house = house();
    let mut dumb = rehearsal(&house, &[]);
    dumb.env("TERM", "dumb");
    for command in [rehearsal(&house, &["--output", "json"]), dumb] {
        let terminal = Terminal::open();
        let ended = Running::start_in(&terminal, command).end().expect(0);
        assert!(!ended.stderr.contains(SHOWN) && !contract_lines(&ended.stderr).is_empty(), "{ended:?}");
    }
    let terminal = Terminal::open();
    let running = Running::start_in(&terminal, house.command(&["chat", "--model", "rehearsal"]));
    terminal.type_in("When is the meeting?\n/end\n");
    let ended = running.end().expect(0);
    assert!(!ended.stderr.contains(SHOWN) && !contract_lines(&ended.stderr).is_empty(), "{ended:?}");
}

#[test]
fn work_with_a_real_model_is_shown_live() {
    let house = house();
    let terminal = Terminal::open();
    let ended = Running::start_in(&terminal, house.command(&["run", "When?", "--yes"])).end().expect(0);
    assert!(!ended.stderr.contains(SHOWN) && ended.stdout == "This reply is not used.\n", "{ended:?}");
}
