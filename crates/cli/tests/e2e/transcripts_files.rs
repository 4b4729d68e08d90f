//! Files of transcripts: other people's files stay as they are, and what can't be written is said clearly and costs nothing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::crew::{CREW, always, assert_has, assert_lacks, by, delegates, first, hires, slowly, staffed, stalls};
use crate::house::{Ended, House, Known, Running, Wire, says, wait_for};
use crate::people::shell_with_a_disk;
use crate::terminal::Terminal;
use crate::transcripts::{assert_as_printed, files, parse, printed, team, work};

/// Files can grow to 256 KiB. A longer write fails, as on a full disk.
const FULL: &str = "ulimit -f 512; exec \"$0\" \"$@\"";

/// Runs the program while files can't grow.
fn when_full(house: &House, args: &[&str]) -> Ended {
    Running::start(house.command_under("sh", &["-c", FULL], args), "").end()
}

/// A text that is six times as long in JSON as in the journal.
fn long_in_json(bytes: usize) -> String {
    "\u{1}".repeat(bytes)
}

/// A team whose lead waits for a slow reply after ada was hired, so that a test can change files meanwhile.
fn slow_team() -> House {
    let rules = json!([
        by("lead", json!({"has_tool_result": false}), delegates("ada", "When is it?", 500)),
        always("lead", slowly(says("On Tuesday, says ada."), 1500)),
        always("ada", says("It is on Tuesday.")),
    ]);
    staffed(House::new(Wire::OpenAi, &rules), &[("lead", &hires(&["ada"])), ("ada", "")])
}

/// What another program does to a file.
type Change = fn(&Path);

/// Starts slow work with live transcripts and waits until ada has reported and the lead's last request is written. Returns the
/// directory of its transcripts.
fn start_slow(house: &House, more: &[&str]) -> (Running, std::path::PathBuf) {
    let running = house.start(&[&CREW[..], &["--transcripts", "live"], more].concat());
    let directory = wait_for("a directory", || fs::read_dir(house.project().join("live")).ok()?.next()?.ok());
    let directory = directory.path();
    let lines = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default().lines().count();
    wait_for("the last request", || (house.requests().len() == 3 && lines("1.jsonl") == 7).then_some(()));
    (running, directory)
}

#[test]
fn a_request_whose_transcripts_can_t_be_written_is_not_stored_and_can_be_repeated() {
    let house = House::new(Wire::OpenAi, &json!([{"then": says("On Tuesday.")}]));
    let task = long_in_json(60_000);
    let result = house.guildhall(&["run", &task, "--yes", "--output", "json", "--budget", "5000sat"]).expect(0).json();
    let id = result["session"].as_str().unwrap();
    let before = house.guildhall(&["show", id, "--output", "json"]).json();
    let next = ["run", "--continue", id, "And who?", "--yes", "--output", "json", "--transcripts", "live"];
    let refused = when_full(&house, &next).expect(1);
    refused.says("1.jsonl").says("The work did not start, and nothing was spent").says("has room");
    assert_eq!(house.guildhall(&["show", id, "--output", "json"]).json(), before);
    assert!(!house.project().join("live").exists(), "what was created is removed");
    assert_eq!(house.requests().len(), 1);
    let refused = when_full(&house, &["transcript", id, "--all", "new/all"]).expect(1);
    refused.says("File too large").says("Nothing was written").says("Name another directory that has room");
    assert!(!house.project().join("new").exists(), "what was created is removed");
    house.guildhall(&next).expect(0);
    assert_as_printed(&house, id, &house.project().join("live").join(id), &["1", "2"]);
}

#[test]
fn transcripts_that_become_incomplete_are_reported_even_if_quiet_and_end_with_a_whole_line() {
    let Some(way) = shell_with_a_disk() else { return };
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]));
    // All in one shell, because the disk disappears with the shell.
    let script = r#"
        mkdir live && mount -t tmpfs -o size=100k none live || exit 99
        "$0" chat --yes --quiet --budget 5000sat --transcripts live; code=$?
        cat live/*/1.jsonl > saved
        exit $code
    "#;
    let command = house.command_under("unshare", &[way, &["sh", "-c", script]].concat(), &[]);
    let ended = Running::start(command, &format!("When?\n{}\n", long_in_json(60_000))).end().expect(7);
    assert_eq!(ended.stdout, "On Tuesday.\nOn Tuesday.\n");
    let id = house.guildhall(&["ls", "--output", "json"]).json()[0]["session"].as_str().unwrap().to_owned();
    ended
        .says("the transcripts are not complete")
        .says("1.jsonl")
        .says(&format!("guildhall transcript {id} --all DIR"));
    let text = fs::read_to_string(house.project().join("saved")).unwrap();
    assert!(text.ends_with("}\n"), "the last line is whole");
    assert!(printed(&house, &id).starts_with(&text) && !parse(&text).is_empty());
}

#[test]
fn a_live_file_that_can_t_be_written_does_not_stop_the_work_and_is_exit_7() {
    let rules = json!([
        first("lead", stalls()),
        by("lead", json!({"has_tool_result": false}), delegates("ada", "When is it?", 500)),
        always("lead", says("On Tuesday, says ada.")),
        always("ada", says("It is on Tuesday.")),
    ]);
    let house = House::new(Wire::OpenAi, &rules);
    let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
    let running: Running = house.start(&[&CREW[..], &["--transcripts", "live"]].concat());
    let id = running.session();
    wait_for("the first request", || (!house.requests().is_empty()).then_some(()));
    running.kill();
    // A directory is in the place of the file.
    fs::create_dir_all(house.project().join("live").join(&id).join("1.1.jsonl")).unwrap();
    let ended = house.guildhall(&["resume", &id, "--transcripts", "live", "--output", "json"]).expect(7);
    let result = ended.json();
    assert_eq!((&result["answer"], &result["exit_code"]), (&json!("On Tuesday, says ada."), &json!(7)));
    assert_has(result["transcript_failure"].as_str().unwrap(), &["1.1.jsonl exists"]);
    let ended = ended.says("The work continues without transcripts").says("the transcripts are not complete");
    assert_lacks(&ended.stderr, &["When there is room"]);
}

#[test]
fn a_live_file_that_was_moved_deleted_or_replaced_is_not_begun_again() {
    let changes: [(Change, &str); 3] = [
        (|path| fs::rename(path, path.with_extension("old")).unwrap(), "No such file"),
        (|path| fs::write(path, "mine").unwrap(), "another program has changed it"),
        (
            |path| {
                fs::remove_file(path).unwrap();
                mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            },
            "not a regular file",
        ),
    ];
    for (change, why) in changes {
        let house = slow_team();
        let (running, directory) = start_slow(&house, &[]);
        let path = directory.join("1.jsonl");
        change(&path);
        let before = path.is_file().then(|| fs::read(&path).unwrap());
        let ended = running.end().expect(7);
        assert_eq!(ended.json()["answer"], "On Tuesday, says ada.");
        assert_has(ended.json()["transcript_failure"].as_str().unwrap(), &["1.jsonl", why]);
        assert_eq!(path.is_file().then(|| fs::read(&path).unwrap()), before, "{why}");
    }
}

#[test]
fn live_transcripts_replace_only_a_beginning_of_themselves() {
    let house = team(Wire::OpenAi, Known::ByVariables);
    let id = work(&house);
    let whole = printed(&house, &id);
    let first = whole.lines().next().unwrap();
    let second = whole.lines().nth(1).unwrap();
    let directory = house.project().join("live").join(&id);
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("1.jsonl");
    let next = ["run", "And who?", "--yes", "--continue", &id, "--transcripts", "live"];
    for other in ["", "mine", &format!("{first}\nmine"), &format!("{first}\n{second}x"), &format!("{whole}\n")] {
        fs::write(&path, other).unwrap();
        house.guildhall(&next).expect(2).says("1.jsonl exists").says("The work did not start");
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
        assert_eq!(files(&directory), ["1.jsonl"]);
    }
    fs::remove_file(&path).unwrap();
    let mine = house.project().join("mine");
    fs::write(&mine, &whole).unwrap();
    symlink(&mine, &path).unwrap();
    house.guildhall(&next).expect(2).says("1.jsonl exists");
    fs::remove_file(&path).unwrap();
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    house.guildhall(&next).expect(2).says("1.jsonl exists");
    fs::remove_file(&path).unwrap();
    // The file of the request that is about to begin.
    fs::write(directory.join("2.jsonl"), "mine").unwrap();
    house.guildhall(&next).expect(2).says("2.jsonl exists");
    assert_eq!(files(&directory), ["2.jsonl"], "what was written is removed");
    fs::remove_file(directory.join("2.jsonl")).unwrap();
    assert_eq!(house.requests().len(), 4, "nothing was asked");
    // A crash can leave a part of a line.
    fs::write(&path, format!("{first}\n{}", &second[..9])).unwrap();
    house.guildhall(&next).expect(0);
    assert_as_printed(&house, &id, &directory, &["1", "1.1", "2", "2.1"]);
    assert_eq!(fs::read_to_string(&mine).unwrap(), whole);
}

#[test]
fn files_of_other_programs_stay_as_they_are() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let target = house.project().join("target");
    fs::write(&target, "mine").unwrap();
    let all = house.project().join("all");
    fs::create_dir(&all).unwrap();
    fs::write(all.join("1.jsonl.partial"), "mine").unwrap();
    symlink(&target, all.join("1.1.jsonl.partial")).unwrap();
    fs::write(all.join(".writable"), "mine").unwrap();
    let id = work(&house);
    house.guildhall(&["transcript", &id, "--all", "all"]).expect(0);
    let live = house.project().join("live").join(&id);
    fs::create_dir_all(&live).unwrap();
    fs::write(live.join(".writable"), "mine").unwrap();
    fs::write(live.join("1.jsonl.partial"), "mine").unwrap();
    house.run(&["--continue", &id, "--transcripts", "live"]).expect(0);
    assert_eq!(files(&all), [".writable", "1.1.jsonl", "1.1.jsonl.partial", "1.jsonl", "1.jsonl.partial"]);
    for path in
        [all.join("1.jsonl.partial"), all.join(".writable"), live.join(".writable"), live.join("1.jsonl.partial")]
    {
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine", "{}", path.display());
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    assert!(all.join("1.1.jsonl.partial").is_symlink());
}

#[test]
fn a_directory_that_can_t_be_used_stops_the_work_before_it_starts() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    for (directory, what) in
        [("notes.txt", "notes.txt is not a directory"), ("notes.txt/live", "notes.txt is not a directory")]
    {
        let refused = house.run(&[&CREW[..], &["--transcripts", directory]].concat()).expect(2);
        refused.says(what).says("The work did not start, and nothing was spent").says("Name another directory");
    }
    // A name that is too long can't be created, and the directory above it is removed again.
    let long = format!("new/{}", "x".repeat(300));
    let refused = house.run(&[&CREW[..], &["--transcripts", &long]].concat()).expect(1);
    let refused = refused.says("The work did not start, and nothing was spent").says("that can be written");
    assert_lacks(&refused.stderr, &["room"]);
    assert!(!house.project().join("new").exists());
    assert_eq!(house.requests(), Vec::<Value>::new());
    house.guildhall(&["ls"]).expect(0).says("no sessions yet");
}

#[test]
fn a_refused_start_leaves_no_directory() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let id = work(&house);
    let live = house.project().join("live");
    let running = {
        let rules = json!([{"then": "stall"}]);
        let house = House::new(Wire::OpenAi, &rules);
        let running = house.start(&[]);
        let id = running.session();
        wait_for("the first request", || (!house.requests().is_empty()).then_some(()));
        let args = ["resume", &id, "--transcripts", live.to_str().unwrap()];
        house.guildhall(&args).expect(75);
        running.kill()
    };
    drop(running);
    assert!(!live.exists());
    house.guildhall(&["resume", &id, "--transcripts", "live"]).expect(4).says("has ended");
    assert!(!live.exists());
}

#[test]
fn a_transcript_that_fails_half_way_leaves_no_file_that_looks_complete() {
    let house = House::new(Wire::OpenAi, &json!([{"then": says("On Tuesday.")}]));
    let id = house.run(&["--budget", "5000sat"]).expect(0).json()["session"].as_str().unwrap().to_owned();
    house.guildhall(&["run", &long_in_json(60_000), "--yes", "--continue", &id]).expect(0);
    let directory = house.project().join("all");
    let failed = when_full(&house, &["transcript", &id, "--all", "all"]).expect(1);
    let failed = failed.says("all/2.jsonl: File too large").says("1 of 2 transcripts was written, and it is complete");
    failed.says("To write all of them, name another directory that has room");
    assert_eq!(files(&directory), ["1.jsonl"]);
    assert_eq!(fs::read_to_string(directory.join("1.jsonl")).unwrap(), printed(&house, &id));
    house.guildhall(&["transcript", &id, "--all", "notes.txt"]).expect(2).says("is not a directory");
    house.guildhall(&["transcript", &id, "--all", "notes.txt/all"]).expect(2).says("notes.txt is not a directory");
}

#[test]
fn a_session_that_never_began_has_no_transcripts() {
    let house = House::new(Wire::OpenAi, &json!([{"then": says("On Tuesday.")}]));
    house.run(&[]).expect(0);
    house.refuse("session_fact", "requested");
    house.run(&[]);
    house.refuse_nothing();
    let id = house.guildhall(&["ls", "--output", "json"]).json()[0]["session"].as_str().unwrap().to_owned();
    let alone = house.guildhall(&["transcript", &id]).expect(2).says("its work has not begun");
    let all = house.guildhall(&["transcript", &id, "--all", "all"]).expect(2);
    assert_eq!(all.stderr, alone.stderr);
    assert!(!house.project().join("all").exists());
}

#[test]
fn the_paths_of_files_are_exact_in_a_pipe_and_visible_in_a_terminal() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let id = work(&house);
    let name = OsStr::from_bytes(b"a\x1b[31mb\xff");
    let mut command = house.command(&["transcript", &id, "--all"]);
    command.arg(name).stdin(std::process::Stdio::null());
    let out = command.output().unwrap();
    let mut expected = Vec::new();
    for file in ["1.jsonl", "1.1.jsonl"] {
        expected.extend(Path::new(name).join(file).as_os_str().as_bytes());
        expected.push(b'\n');
    }
    assert_eq!(out.stdout, expected);

    let terminal = Terminal::open();
    let mut command = house.command(&["transcript", &id, "--all"]);
    command.arg(OsStr::from_bytes(b"t\x1b[31mb"));
    let shown = Running::start_wholly_in(&terminal, command).end();
    assert_has(&shown.stderr, &["t\\u{1b}[31mb/1.1.jsonl"]);
}

#[test]
fn the_directory_of_live_transcripts_is_printed() {
    let house = team(Wire::Anthropic, Known::ByVariables);
    let ended = house.run(&[&CREW[..], &["--transcripts", "live"]].concat()).expect(0);
    let id = ended.json()["session"].as_str().unwrap().to_owned();
    assert_eq!(ended.json()["transcript_failure"], Value::Null);
    ended.says(&format!("transcripts are written to live/{id}"));
}
