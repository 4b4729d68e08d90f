//! What a person sees while agents work: a line per hire and per report, a status line, the answer and the bill, for every width;
//! the same lines without a terminal; less with `-q`, more with `-v`.

use std::process::Command;

use serde_json::{Value, json};

use crate::crew::{always, assert_has, assert_lacks, calls, first, hires, staffed};
use crate::house::{House, Running, Wire, reads, says};
use crate::terminal::{Terminal, seen};

/// A reply for which the provider reports this usage.
fn used(mut then: Value, input: u64, output: u64) -> Value {
    then["reply"]["usage"] = json!({"input": input, "output": output});
    then
}

/// A reply that takes so long.
fn slow(mut then: Value, ms: u64) -> Value {
    then["reply"]["pace"] = json!({"headers_ms": ms});
    then
}

const ANSWER: &str = "# Result\n\nThe meeting is on **Tuesday**, says [ada](https://x.y/z).\n\n- `notes.txt` has the day in its first line, and nobody has objected to it\n- the roof comes first\n";

/// A lead with two hires: Ada reads a file, and Bob takes longer.
fn house() -> House {
    let hire = |who: &str, task: &str| ("delegate_task", json!({"specialty": who, "task": task, "budget": 300}));
    let mut both = calls(&[
        hire("ada", "Find out on which day of the week the meeting is, and where that is written."),
        hire("bob", "Find the topic."),
    ]);
    both["reply"]["text"] = json!("I will **ask** both.");
    let rules = json!([
        first("lead", used(both, 1000, 100)),
        always("lead", used(says(ANSWER), 2000, 50)),
        first("ada", used(reads(&["notes.txt"]), 300, 20)),
        always("ada", used(says("Tuesday."), 400, 30)),
        always("bob", used(slow(says("The roof."), 1200), 500, 40)),
    ]);
    staffed(House::new(Wire::Anthropic, &rules), &[("lead", &hires(&["ada", "bob"])), ("ada", ""), ("bob", "")])
}

fn run(house: &House, more: &[&str]) -> Command {
    let run = ["run", "When is the meeting?", "--yes", "--team", "crew", "--budget", "2000sat", "--no-advice"];
    house.command(&[&run, more].concat())
}

/// What a terminal of this size shows in the end, with the same session and the same times every time.
fn shown_in(columns: u16, rows: u16, more: &[&str]) -> String {
    let house = house();
    let terminal = Terminal::sized(columns, rows);
    let ended = Running::start_wholly_in(&terminal, run(&house, more)).end().expect(0);
    same(&seen(&ended.stderr, usize::from(columns)))
}

/// Returns a text without the parts that differ from run to run: ids, times and holds.
fn same(text: &str) -> String {
    let mut is_id = false;
    let mut line = |line: &str| {
        if std::mem::replace(&mut is_id, line == "session") {
            return "  ID".to_owned();
        }
        if line.starts_with("session ") {
            return "session ID".to_owned();
        }
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 1..words.len() {
            match (words[at - 1], words[at]) {
                (_, "s" | "s;") => words[at - 1] = "N",
                ("(holds", _) => words[at] = "N",
                _ => {}
            }
        }
        words.join(" ")
    };
    let lines = text.lines().map(&mut line).collect::<Vec<_>>();
    // The longest ids do not fit into one row of the narrowest terminal: their last digits are in the next row.
    let is_rest = |at: usize| at > 0 && lines[at - 1] == "  ID" && lines[at].trim().bytes().all(|b| b.is_ascii_digit());
    let kept = (0..lines.len()).filter(|at| !is_rest(*at)).map(|at| lines[at].as_str());
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_terminal_of_80_columns_shows_a_line_per_hire_and_per_report_the_answer_and_the_bill() {
    insta::assert_snapshot!(shown_in(80, 24, &[]), @r"
    anthropic/test-model, at most $2.00 (2000 sat), paid by you to anthropic, at
      $100000.00 per bitcoin, as of 2026-11-15
    3 agents across 2 levels: lead | ada, bob
    session ID
    1 lead begins with 2000 sat: When is the meeting?
    1 lead says: I will ask both.
      1.1 ada hired with 300 sat: Find out on which day of the week the meeting is,…
      1.2 bob hired with 300 sat: Find the topic.
      1.1 ada done: used 0.95 sat, N s
      1.2 bob done: used 0.7 sat, N s
    1 lead done: used 5.4 sat, N s
    ── answer ──────────────────────────────────────────────────────────────────────
    Result

    The meeting is on Tuesday, says ada (https://x.y/z).

    • notes.txt has the day in its first line, and nobody has objected to it
    • the roof comes first
    ────────────────────────────────────────────────────────────────────────────────
    bill, paid by you to anthropic, at $100000.00 per bitcoin, as of 2026-11-15:
      contract  agent      used            with hires  calls  tokens in  out  state
      1         lead   3.75 sat  $0.00375     5.4 sat      2       3000  150  done
      1.1       ada    0.95 sat  $0.00095    0.95 sat      2        700   50  done
      1.2       bob     0.7 sat   $0.0007     0.7 sat      1        500   40  done
      total $0.0054 of $2.00: used 5.4 sat of 2000 sat; 1994.6 sat left; model
        anthropic/test-model
      checked: every balance adds up
    ");
}

#[test]
fn a_terminal_of_40_columns_breaks_lines_at_words() {
    insta::assert_snapshot!(shown_in(40, 24, &[]), @r"
    anthropic/test-model, at most $2.00
      (2000 sat), paid by you to anthropic,
      at $100000.00 per bitcoin, as of
      2026-11-15
    3 agents across 2 levels: lead | ada,
      bob
    session ID
    1 lead begins with 2000 sat
    1 lead says: I will ask both.
      1.1 ada hired with 300 sat
      1.2 bob hired with 300 sat
      1.1 ada done: used 0.95 sat, N s
      1.2 bob done: used 0.7 sat, N s
    1 lead done: used 5.4 sat, N s
    ── answer ──────────────────────────────
    Result

    The meeting is on Tuesday, says ada
    (https://x.y/z).

    • notes.txt has the day in its first
      line, and nobody has objected to it
    • the roof comes first
    ────────────────────────────────────────
    bill, paid by you to anthropic, at
      $100000.00 per bitcoin, as of
      2026-11-15:
      contract  agent      used
      1         lead   3.75 sat
      1.1       ada    0.95 sat
      1.2       bob     0.7 sat
      total $0.0054 of $2.00: used 5.4 sat
        of 2000 sat; 1994.6 sat left; model
        anthropic/test-model
      checked: every balance adds up
    ");
}

#[test]
fn a_terminal_of_160_columns_shows_more_of_each_line() {
    insta::assert_snapshot!(shown_in(160, 50, &[]), @r"
    anthropic/test-model, at most $2.00 (2000 sat), paid by you to anthropic, at $100000.00 per bitcoin, as of 2026-11-15
    3 agents across 2 levels: lead | ada, bob
    session ID
    1 lead begins with 2000 sat: When is the meeting?
    1 lead says: I will ask both.
      1.1 ada hired with 300 sat: Find out on which day of the week the meeting is, and where that is written.
      1.2 bob hired with 300 sat: Find the topic.
      1.1 ada done: used 0.95 sat, N s
      1.2 bob done: used 0.7 sat, N s
    1 lead done: used 5.4 sat, N s
    ── answer ──────────────────────────────────────────────────────────────────────
    Result

    The meeting is on Tuesday, says ada (https://x.y/z).

    • notes.txt has the day in its first line, and nobody has objected to it
    • the roof comes first
    ────────────────────────────────────────────────────────────────────────────────
    bill, paid by you to anthropic, at $100000.00 per bitcoin, as of 2026-11-15:
      contract  agent      used            with hires  calls  tokens in  out  state
      1         lead   3.75 sat  $0.00375     5.4 sat      2       3000  150  done
      1.1       ada    0.95 sat  $0.00095    0.95 sat      2        700   50  done
      1.2       bob     0.7 sat   $0.0007     0.7 sat      1        500   40  done
      total $0.0054 of $2.00: used 5.4 sat of 2000 sat; 1994.6 sat left; model anthropic/test-model
      checked: every balance adds up
    ");
}

#[test]
fn a_terminal_of_20_columns_and_5_rows_is_large_enough() {
    let shown = shown_in(20, 5, &[]);
    assert!(shown.lines().all(|line| line.chars().count() <= 20), "{shown}");
    insta::assert_snapshot!(shown, @"
    anthropic/test-mod
      el, at most $2.00
      (2000 sat), paid
      by you to
      anthropic, at
      $100000.00 per
      bitcoin, as of
      2026-11-15
    3 agents across 2
      levels: lead |
      ada, bob
    session
      ID
    1 lead begins with
      2000 sat
    1 lead says: I will
      ask both.
      1.1 ada hired with
        300 sat
      1.2 bob hired with
        300 sat
      1.1 ada done: used
        0.95 sat, N s
      1.2 bob done: used
        0.7 sat, N s
    1 lead done: used
      5.4 sat, N s
    ── answer ──────────
    Result

    The meeting is on
    Tuesday, says ada
    (https://x.y/z).

    • notes.txt has the
      day in its first
      line, and nobody
      has objected to it
    • the roof comes
      first
    ────────────────────
    bill, paid by you to
      anthropic, at
      $100000.00 per
      bitcoin, as of
      2026-11-15:
      contract  agent
        used
      1         lead
        3.75 sat
      1.1       ada
        0.95 sat
      1.2       bob
        0.7 sat
      total $0.0054 of
        $2.00: used 5.4
        sat of 2000 sat;
        1994.6 sat left;
        model
        anthropic/test-m
        odel
      checked: every
        balance adds up
    ");
}

#[test]
fn a_pipe_gets_plain_lines() {
    let house = house();
    let ended = Running::start(run(&house, &[]), "").end().expect(0);
    assert_eq!(ended.stdout.trim(), ANSWER.trim(), "as the model wrote it");
    assert_lacks(&ended.stderr, &["\u{1b}", "\r", "⠋", "─"]);
    insta::assert_snapshot!(same(&ended.stderr), @r"
    anthropic/test-model, at most $2.00 (2000 sat), paid by you to anthropic, at $100000.00 per bitcoin, as of 2026-11-15
    3 agents across 2 levels: lead | ada, bob
    session ID
    1 lead begins with 2000 sat: When is the meeting?
    1 lead says: I will ask both.
      1.1 ada hired with 300 sat: Find out on which day of the week the meeting is, and where that is written.
      1.2 bob hired with 300 sat: Find the topic.
      1.1 ada done: used 0.95 sat, N s
      1.2 bob done: used 0.7 sat, N s
    1 lead done: used 5.4 sat, N s


    bill, paid by you to anthropic, at $100000.00 per bitcoin, as of 2026-11-15:
      contract  agent      used            with hires  calls  tokens in  out  state
      1         lead   3.75 sat  $0.00375     5.4 sat      2       3000  150  done
      1.1       ada    0.95 sat  $0.00095    0.95 sat      2        700   50  done
      1.2       bob     0.7 sat   $0.0007     0.7 sat      1        500   40  done
      total $0.0054 of $2.00: used 5.4 sat of 2000 sat; 1994.6 sat left; model anthropic/test-model
      checked: every balance adds up
    ");
}

#[test]
fn quiet_prints_the_answer_alone() {
    insta::assert_snapshot!(shown_in(80, 24, &["-q"]), @r"
    Result

    The meeting is on Tuesday, says ada (https://x.y/z).

    • notes.txt has the day in its first line, and nobody has objected to it
    • the roof comes first
    ");
    let ended = Running::start(run(&house(), &["-q"]), "").end().expect(0);
    assert_eq!((ended.stdout.trim(), ended.stderr.as_str()), (ANSWER.trim(), ""));
    // Why there is no answer is told all the same.
    let house = House::new(Wire::Anthropic, &json!([{"then": {"raw": {"status": 401, "body": "{}"}}}]));
    let ended = house.guildhall(&["run", "When?", "--yes", "-q"]).expect(5).says("failed: ");
    assert_lacks(&ended.stderr, &["bill", "begins"]);
}

#[test]
fn verbose_adds_asks_and_tool_calls() {
    // Ada and Bob work at the same time: only the lines of one contract have a fixed order.
    let shown = shown_in(100, 50, &["-v"]);
    let mut lines: Vec<&str> = shown.lines().collect();
    let of_hire = |line: &str| line.split_whitespace().next().filter(|path| path.contains('.')).map(str::to_owned);
    let hires = lines.iter().position(|line| of_hire(line).is_some()).unwrap();
    let answer = lines.iter().position(|line| line.contains("answer")).unwrap();
    lines[hires..answer].sort_by_key(|line| of_hire(line).unwrap_or_default());
    insta::assert_snapshot!(lines.join("\n"), @"
    anthropic/test-model, at most $2.00 (2000 sat), paid by you to anthropic, at $100000.00 per bitcoin,
      as of 2026-11-15
    3 agents across 2 levels: lead | ada, bob
    session ID
    1 lead begins with 2000 sat: When is the meeting?
    1 lead may hire 2 agents: ada, bob
    1 lead asks the model (holds N sat)
    1 lead says: I will ask both.
    1 lead selected 2 of 2: ada, bob
    1 lead waits for 1.1 ada, 1.2 bob
    1 lead receives the report of 1.1 ada; 299.05 sat returned
    1 lead receives the report of 1.2 bob; 299.3 sat returned
    1 lead asks the model to combine 2 reports (holds N sat)
    1 lead says: Result  The meeting is on Tuesday, says ada (https://x.y/z).  • notes.txt has the day
      in its first l…
    1 lead done: used 5.4 sat, N s; 1994.6 sat returned
      1.1 ada hired with 300 sat: Find out on which day of the week the meeting is, and where that is w…
      1.1 ada asks the model (holds N sat)
      1.1 ada reads notes.txt
      1.1 ada asks the model (holds N sat)
      1.1 ada says: Tuesday.
      1.1 ada done: used 0.95 sat, N s; 299.05 sat returned
      1.2 bob hired with 300 sat: Find the topic.
      1.2 bob asks the model (holds N sat)
      1.2 bob says: The roof.
      1.2 bob done: used 0.7 sat, N s; 299.3 sat returned
    ── answer ──────────────────────────────────────────────────────────────────────
    Result

    The meeting is on Tuesday, says ada (https://x.y/z).

    • notes.txt has the day in its first line, and nobody has objected to it
    • the roof comes first
    ────────────────────────────────────────────────────────────────────────────────
    bill, paid by you to anthropic, at $100000.00 per bitcoin, as of 2026-11-15:
      contract  agent      used            with hires  calls  tokens in  out  state
      1         lead   3.75 sat  $0.00375     5.4 sat      2       3000  150  done
      1.1       ada    0.95 sat  $0.00095    0.95 sat      2        700   50  done
      1.2       bob     0.7 sat   $0.0007     0.7 sat      1        500   40  done
      1 lead: with its hires: used 5.4 sat, 4200 in + 240 out tokens
      total $0.0054 of $2.00: used 5.4 sat of 2000 sat; 1994.6 sat left; model anthropic/test-model
      checked: every balance adds up
    ");
}

#[test]
fn a_status_line_says_how_things_stand_while_agents_work_and_is_gone_in_the_end() {
    let house = house();
    let terminal = Terminal::sized(160, 50);
    let running = Running::start_wholly_in(&terminal, run(&house, &[]));
    running.told("2 agents at work · 1 call in flight · used ");
    let ended = running.end().expect(0);
    assert_has(&ended.stderr, &["⠋", " of 2000 sat"]);
    assert_lacks(&seen(&ended.stderr, 160), &["at work", "in flight"]);
}

#[test]
fn the_words_of_the_root_are_shown_while_they_come() {
    let mut words = says(&format!("{} end", "word ".repeat(40)));
    words["reply"]["pace"] = json!({"chunk_chars": 5, "between_ms": 40});
    let house = House::new(Wire::Anthropic, &json!([{"then": words}]));
    let terminal = Terminal::sized(60, 24);
    let running = Running::start_wholly_in(&terminal, house.command(&["run", "Talk.", "--yes", "--no-advice"]));
    // The beginning of the reply is there while the call is under way.
    running.told("word word");
    let ended = running.end().expect(0);
    let first = ended.stderr.find("word word").unwrap();
    assert!(first < ended.stderr.find("done").unwrap(), "{}", ended.stderr);
    assert_eq!(seen(&ended.stderr, 60).matches("word").count(), 40, "in the end they are there once");
}

#[test]
fn a_bill_of_many_contracts_lists_ten_and_the_rest_in_a_line() {
    let hire = ("delegate_task", json!({"specialty": "ada", "task": "Look.", "budget": 50}));
    let many: Vec<_> = (0..14)
        .map(|n| {
            (hire.0, {
                let mut task = hire.1.clone();
                task["task"] = json!(format!("Look {n}."));
                task
            })
        })
        .collect();
    let rules = json!([
        first("lead", used(calls(&many), 1000, 100)),
        always("lead", used(says("All."), 1000, 10)),
        always("ada", used(says("Tuesday."), 400, 30)),
    ]);
    let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
    let ended = Running::start(run(&house, &[]), "").end().expect(0);
    let rows = |text: &str| {
        text.lines().skip_while(|line| !line.contains("contract  ")).filter(|line| line.starts_with("  1")).count()
    };
    assert_eq!(rows(&ended.stderr), 10, "{}", ended.stderr);
    assert_has(&ended.stderr, &["  … and 5 more: used 2.75 sat; all of them: guildhall show "]);
    let whole = house.guildhall(&["show", "last"]).expect(0).stdout;
    assert_eq!(rows(&whole), 16, "each of fifteen, and what all cost with the root: {whole}");
}

#[test]
fn labels_are_shown_as_short_plain_text_whatever_a_model_writes() {
    let hire = |name: &str, n: u32| {
        ("delegate_task", json!({"specialty": "ada", "task": format!("Look {n}."), "name": name, "budget": 50}))
    };
    let labels = ["roof check", "--yes", "\u{1b}[31mred\u{7}\u{202e} \n label", &"long ".repeat(2000), " \n "];
    let calls: Vec<_> = labels.iter().zip(1..).map(|(name, n)| hire(name, n)).collect();
    let rules = json!([
        first("lead", crate::crew::calls(&calls)),
        always("lead", used(says("All."), 1000, 10)),
        always("ada", used(says("Tuesday."), 400, 30)),
    ]);
    let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
    let terminal = Terminal::sized(80, 50);
    let ended = Running::start_wholly_in(&terminal, run(&house, &[])).end().expect(0);
    assert_lacks(&ended.stderr, &["\u{1b}[31mred", "\u{7}", "\u{202e}"]);
    let shown = same(&seen(&ended.stderr, 80));
    let lines = |with: &str| shown.lines().filter(|line| line.contains(with)).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(lines(" with 50 sat"), @"
    1.1 roof check (ada) hired with 50 sat: Look 1.
    1.2 --yes (ada) hired with 50 sat: Look 2.
    1.3 [31mred label (ada) hired with 50 sat: Look 3.
    1.4 long long long long long long long long… (ada) hired with 50 sat
    1.5 ada hired with 50 sat: Look 5.
    ");
    insta::assert_snapshot!(lines("0.55 sat  "), @"
    1.1       roof check                  0.55 sat   $0.00055      1  done
    1.2       --yes                       0.55 sat   $0.00055      1  done
    1.3       [31mred label               0.55 sat   $0.00055      1  done
    1.4       long long long long lon…    0.55 sat   $0.00055      1  done
    1.5       ada                         0.55 sat   $0.00055      1  done
    ");
}
