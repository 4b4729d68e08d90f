//! A journal that was changed by another program, that lost a part, or that is read-only.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::crew::assert_has;
use crate::house::{Ended, House, Running, Wire, says, wait_for};

/// A user that owns no files.
const NOBODY: u32 = 65534;

fn answering() -> Value {
    json!([{"then": says("On Tuesday.")}])
}

/// Runs a task and returns the session's id.
fn session(house: &House, task: &str) -> String {
    let result = house.guildhall(&["run", task, "--yes", "--output", "json"]).expect(0).json();
    result["session"].as_str().unwrap().to_owned()
}

/// Every command that shows a session or continues it.
fn commands(id: &str) -> [Vec<&str>; 8] {
    [
        vec!["show", id],
        vec!["show", id, "--facts"],
        vec!["show", id, "--output", "json"],
        vec!["transcript", id],
        vec!["transcript", id, "--all", "all"],
        vec!["resume", id],
        vec!["run", "--continue", id, "And?", "--yes"],
        vec!["hire", id, "writer", "Write it down."],
    ]
}

#[test]
fn a_forged_session_is_neither_shown_nor_continued() {
    let house = House::new(Wire::Anthropic, &answering());
    let [sound, forged] = ["When?", "Where is it?"].map(|task| session(&house, task));
    let before = fs::read(house.journal()).unwrap();
    for (sql, place) in [
        ("UPDATE fact SET body = replace(body, '\"outcome\":\"done\"', '\"outcome\":\"failed\"')", "fact "),
        ("DELETE FROM fact", "fact 1"),
        ("DELETE FROM fact WHERE seq = (SELECT max(seq) FROM fact)", "fact "),
        ("UPDATE session_fact SET body = replace(body, '\"money\":', '\"money\":9')", "fact 1 of the account"),
        ("DELETE FROM session_fact", "fact 1 of the account"),
        ("UPDATE session SET label = 'Pay me'", "its own row"),
        ("DELETE FROM session_head", "its head row"),
    ] {
        let (id, scope) = if sql.contains(" WHERE ") { ("session", " AND ") } else { ("session", " WHERE ") };
        let id = if sql.starts_with("UPDATE session SET") { "id" } else { id };
        house.tamper(&format!("{sql}{scope}{id} = '{forged}'"));
        for command in commands(&forged) {
            let ended = house.guildhall(&command).expect(1).says(&format!("{forged} is damaged at {place}"));
            let ended = ended.says(&format!("guildhall verify {forged}"));
            if command.contains(&"json") {
                let failed = ended.json();
                assert_eq!((&failed["exit_code"], &failed["bill"]), (&json!(1), &Value::Null), "{sql}: {command:?}");
            } else {
                assert_eq!(ended.stdout, "", "{sql}: {command:?}");
            }
        }
        house.guildhall(&["verify", &forged]).expect(1).says(&format!("{forged}: "));
        let listed = house.guildhall(&["ls", "--output", "json"]).expect(7).json();
        assert_eq!((&listed[0]["state"], &listed[1]["state"]), (&json!("can't be read"), &json!("done")), "{sql}");
        house.guildhall(&["show", &sound]).expect(0);
        fs::write(house.journal(), &before).unwrap();
    }
    assert_eq!(house.requests().len(), 2, "no more requests");
    house.guildhall(&["verify"]).expect(0);
}

/// Returns every file below a directory with its contents.
fn files_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in dir.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}

#[test]
fn a_journal_of_another_form_is_refused_with_one_line_and_not_changed() {
    let house = House::new(Wire::Anthropic, &answering());
    let id = session(&house, "When?");
    house.tamper("PRAGMA user_version = 5");
    let before = files_below(house.home());
    let others = [vec!["run", "When?", "--yes"], vec!["ls"], vec!["verify"], vec!["stop", &id]];
    for command in commands(&id).into_iter().chain(others) {
        let ended = house.guildhall(&command).expect(1);
        let line = ended.stderr.trim_end();
        let what = format!(
            "{} has journal format 5, but this guildhall reads only journal format ",
            house.journal().display()
        );
        assert!(
            line.contains(&what) && line.contains("Nothing was changed") && !line.contains('\n'),
            "{command:?}: {line}"
        );
        if command.contains(&"json") {
            assert_has(ended.json()["failure"].as_str().unwrap(), &[&what]);
        } else {
            assert_eq!(ended.stdout, "", "{command:?}");
        }
        assert!(files_below(house.home()) == before, "{command:?} changed a file");
    }
    assert_eq!(house.requests().len(), 1, "no more requests");
}

#[test]
fn a_forged_text_is_named_and_the_rest_is_shown() {
    let house = House::new(Wire::OpenAi, &answering());
    let id = session(&house, "When?");
    let head = house.show(&id)["bill"]["head"].as_str().unwrap().to_owned();
    house.tamper("UPDATE text SET bytes = CAST('On Friday.' AS BLOB) WHERE CAST(bytes AS TEXT) = 'On Tuesday.'");
    let shown = house.guildhall(&["show", &id]).expect(7).stdout;
    assert!(!shown.contains("On Friday.") && shown.contains("can't be read: contract 1: the text "), "{shown}");
    assert!(shown.contains("bill, paid by you to openai"), "{shown}");
    let facts = house.guildhall(&["show", &id, "--facts"]).expect(7).stdout;
    assert!(!facts.contains("On Friday."), "{facts}");
    let result = house.guildhall(&["show", &id, "--output", "json"]).expect(7).json();
    assert_eq!(result["bill"]["head"], head, "the chain is the same");
    let result = house.guildhall(&["show", &id, "--output", "json"]).expect(7).json();
    assert_eq!((&result["answer"], result["unreadable"].as_array().unwrap().len()), (&Value::Null, 1), "{result}");
    house.guildhall(&["verify", &id]).expect(1).says("is missing, or was changed after it was stored");
    // The model gives the same reply again, and its text is stored again.
    house.guildhall(&["run", "--continue", &id, "And?", "--yes"]).expect(0);
    assert!(!house.requests().iter().any(|request| request.to_string().contains("On Friday.")));
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn verify_detects_missing_sessions_and_names_its_limits() {
    let house = House::new(Wire::Anthropic, &answering());
    let [first, second] = ["When?", "Where is it?"].map(|task| session(&house, task));
    let limits = "detected only with a head";
    let ended = house.guildhall(&["verify"]).expect(0).says(limits);
    assert_eq!(ended.stdout.matches("every hash matches and every balance adds up").count(), 2, "{}", ended.stdout);
    let head = house.show(&first)["bill"]["head"].as_str().unwrap().to_owned();
    let ended = house.guildhall(&["verify", &first, "--head", &head]).expect(0);
    assert!(!ended.stderr.contains(limits) && ended.stdout.contains(&format!("head {head}")), "{ended:?}");

    let tables = ["fact", "session_fact", "lease", "session_head"];
    let rows: String = tables.map(|table| format!("DELETE FROM {table} WHERE session = '{second}';")).concat();
    house.tamper(&format!("{rows} DELETE FROM session WHERE id = '{second}'"));
    let missing = "2 sessions were stored, but the journal has 1";
    house.guildhall(&["verify"]).expect(1).says(missing);
    house.guildhall(&["verify", &first]).expect(1).says(missing);
    let listed = house.guildhall(&["ls"]).expect(7).says(missing).says("guildhall verify");
    assert!(listed.stdout.contains(&first), "{}", listed.stdout);
    // Later work does not hide the loss.
    session(&house, "Who?");
    house.guildhall(&["verify"]).expect(1).says("3 sessions were stored, but the journal has 2");
}

#[test]
fn a_deleted_log_is_an_error_and_no_new_work_starts() {
    let stalled = json!({"reply": {"text": "On Tuesday.", "damage": {"stall": {"after": {"events": 1}}}}});
    let house = House::new(Wire::Anthropic, &json!([{"repeat": 1, "then": says("On Monday.")}, {"then": stalled}]));
    let first = session(&house, "When?");
    let running = house.start(&[]);
    let second = running.session();
    wait_for("the second request", || (house.requests().len() == 2).then_some(()));
    running.kill();
    let log = house.home().join("journal.db-wal");
    let kept = fs::read(&log).unwrap();
    assert!(!kept.is_empty());
    // A killed process does not look like a loss. The files are copied because reading them may change them.
    let copy = tempfile::tempdir().unwrap();
    for name in ["journal.db", "journal.db-wal", "journal.db-marker"] {
        fs::copy(house.home().join(name), copy.path().join(name)).unwrap();
    }
    house.guildhall(&["verify"]).expect(0);
    for name in ["journal.db", "journal.db-marker"] {
        fs::copy(copy.path().join(name), house.home().join(name)).unwrap();
    }
    fs::remove_file(&log).ok();
    let gone = "commits of the journal are gone";
    let listed = house.guildhall(&["ls"]).expect(7).says(gone).says("journal.db-marker");
    assert!(listed.stdout.contains(&first) && !listed.stdout.contains(&second), "{}", listed.stdout);
    house.guildhall(&["verify"]).expect(1).says(gone);
    house.guildhall(&["show", &first]).expect(0).says(gone);
    house.guildhall(&["run", "When?", "--yes"]).expect(1).says(gone);
    assert_eq!(house.requests().len(), 2, "no more requests");
    // With the log, the journal is complete again.
    fs::copy(copy.path().join("journal.db-wal"), &log).unwrap();
    house.guildhall(&["verify", &second]).expect(0);
}

/// Runs the program as a user who can read all files of a house, but write none.
fn as_reader(house: &House, program: &Path, args: &[&str]) -> Ended {
    let mut command = Command::new(program);
    command.args(args).current_dir(house.project()).env_clear();
    command.env("GUILDHALL_HOME", house.home()).env("HOME", house.home());
    if house.home().metadata().unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    Running::start(command, "").end()
}

fn set_modes(dir: &Path, of_dirs: u32, of_files: u32) {
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            set_modes(&path, of_dirs, of_files);
        } else {
            fs::set_permissions(path, Permissions::from_mode(of_files)).unwrap();
        }
    }
    fs::set_permissions(dir, Permissions::from_mode(of_dirs)).unwrap();
}

#[test]
fn a_read_only_home_can_be_listed_shown_and_verified() {
    let house = House::new(Wire::Anthropic, &answering());
    let id = session(&house, "When?");
    let looks: [&[&str]; 6] = [
        &["ls", "--output", "json"],
        &["show", &id],
        &["show", &id, "--output", "json"],
        &["transcript", &id],
        &["verify"],
        &["verify", &id],
    ];
    let before = looks.map(|args| house.guildhall(args).expect(0).stdout);
    // Root can write every file, so another user runs a copy of the program in a directory that all users can read.
    let place = tempfile::tempdir().unwrap();
    let program: PathBuf = place.path().join("guildhall");
    fs::copy(env!("CARGO_BIN_EXE_guildhall"), &program).unwrap();
    set_modes(place.path(), 0o755, 0o755);
    set_modes(house.project(), 0o755, 0o644);
    set_modes(house.home(), 0o555, 0o444);
    let files = || {
        let mut names: Vec<_> = fs::read_dir(house.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        (names, fs::read(house.journal()).unwrap())
    };
    let untouched = files();
    for (args, before) in looks.iter().zip(&before) {
        assert_eq!(&as_reader(&house, &program, args).expect(0).stdout, before, "{args:?}");
    }
    as_reader(&house, &program, &["transcript", &id, "--all", "all"])
        .expect(1)
        .says("can't write the transcript all: Permission denied")
        .says("Nothing was written");
    let read_only = "can't be written";
    as_reader(&house, &program, &["run", "When?", "--model", "rehearsal", "--yes"]).expect(1).says(read_only);
    as_reader(&house, &program, &["message", &id, "Hello."]).expect(4).says("has ended");
    as_reader(&house, &program, &["run", "--continue", &id, "And?", "--model", "rehearsal", "--yes"])
        .expect(1)
        .says(read_only);
    assert!(files() == untouched, "no file was changed");
    set_modes(house.home(), 0o755, 0o644);
}
