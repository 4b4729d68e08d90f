//! Mistakes of people and failures of their machines: a clear message, an exit code, and no existing file is changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::house::{House, Running, WIRES, Wire, reads, says};

fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]))
}

#[test]
fn an_empty_or_too_long_task_is_exit_2() {
    let house = house();
    house.guildhall(&["run", "", "--yes"]).expect(2).says("the task is empty");
    house.guildhall(&["run", " \n\t", "--yes"]).expect(2).says("the task is empty");
    Running::start(house.command(&["run", "--yes"]), "").end().expect(2).says("the task is empty");
    let long = "word ".repeat(20 * 1024);
    house.guildhall(&["run", &long, "--yes"]).expect(2).says("put it into a file");
    Running::start(house.command(&["run", "--yes"]), &long).end().expect(2).says("put it into a file");
    assert_eq!(house.requests().len(), 0);
}

#[test]
fn a_config_that_is_not_a_file_is_an_error_and_is_not_read() {
    let house = house();
    let config = house.home().join("config.toml");
    fs::remove_file(&config).unwrap();
    for target in ["/dev/zero", "/dev/full"] {
        std::os::unix::fs::symlink(target, &config).unwrap();
        house.guildhall(&["ls"]).expect(2).says("config.toml is not a file");
        fs::remove_file(&config).unwrap();
    }
}

#[test]
fn a_task_of_the_longest_length_is_done() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": says("On Tuesday.")}]));
        let task = "ü".repeat(24 * 1024);
        Running::start(house.command(&["run", "--yes", "--budget", "2000sat"]), &task).end().expect(0);
        assert!(house.requests()[0].to_string().contains(&task), "{wire:?}");
    }
}

#[test]
fn a_missing_project_is_exit_2() {
    let house = house();
    house.run(&["--project", "no/such/place"]).expect(2).says("no/such/place");
    house.run(&["--project", "notes.txt"]).expect(2).says("notes.txt");
    assert_eq!(house.requests().len(), 0);
}

#[test]
fn a_file_whose_name_has_a_line_break_is_listed_and_read() {
    for wire in WIRES {
        let name = "line\nbreak.txt";
        let list = json!({"reply": {"calls": [{"name": "list_files", "arguments": {}}]}});
        let rules = json!([{"when": {"nth": 1}, "then": list}, {"when": {"nth": 2}, "then": reads(&[name])}, {"then": says("Read.")}]);
        let house = House::new(wire, &rules);
        fs::write(house.project().join(name), "found it\n").unwrap();
        house.run(&[]).expect(0);
        let returned = crate::work::results(&house.requests()[2]);
        assert!(returned[0].contains("found it"), "{wire:?}: {returned:?}");
    }
}

#[test]
fn a_config_with_a_mistake_is_exit_2_with_file_and_line() {
    let house = house();
    let good = house.read_config();
    for (wrong, word) in [("modle = \"x\"\n", "modle"), ("[prices.x]\ninput = -1\noutput = 1\n", "line")] {
        house.write_config(&format!("{wrong}{}", if wrong.starts_with('[') { "" } else { &good }));
        for args in [&["run", "When?", "--yes"][..], &["ls"], &["models"]] {
            let ended = house.guildhall(args).expect(2).says("config.toml").says("line");
            assert!(ended.stderr.contains(word), "{}", ended.stderr);
        }
        // Where the config is can be found all the same.
        house.guildhall(&["paths"]).expect(0);
    }
    fs::write(house.home().join("config.toml"), b"\xff\xfe").unwrap();
    house.guildhall(&["ls"]).expect(2).says("config.toml");
    fs::remove_file(house.home().join("config.toml")).unwrap();
    assert_eq!(house.requests().len(), 0);
    house.write_config(&good);
}

#[test]
fn a_bad_variable_is_exit_2_and_names_it() {
    let house = house();
    for (name, value) in [("ANTHROPIC_BASE_URL", "localhost:80"), ("ANTHROPIC_API_KEY", "two words")] {
        let mut command = house.command(&["run", "When?", "--yes"]);
        command.env(name, value);
        Running::start(command, "").end().expect(2).says(name);
    }
}

/// Replaces the journal by a file and runs every command that needs a journal. No command may change the file.
fn assert_untouched(house: &House, bytes: &[u8], words: &str) {
    fs::write(house.journal(), bytes).unwrap();
    for args in
        [&["run", "When?", "--yes"][..], &["ls"], &["show", "x-1"], &["resume", "x-1"], &["stop", "x-1"], &["verify"]]
    {
        let ended = house.guildhall(args);
        assert_ne!(ended.code(), 0, "{args:?}: {ended:?}");
        let ended = ended.says(words);
        assert!(
            !ended.stderr.contains("guildhall verify"),
            "`verify` could not read the file either: {}",
            ended.stderr
        );
        assert!(ended.stdout.is_empty(), "{ended:?}");
        assert!(fs::read(house.journal()).unwrap() == bytes, "{args:?} changed it");
    }
    assert_eq!(house.requests().len(), 0, "no request without a journal");
    fs::remove_file(house.journal()).unwrap();
}

#[test]
fn a_foreign_or_damaged_journal_is_not_changed() {
    let house = house();
    assert_untouched(&house, &b"this is no database, and long enough to look like one. ".repeat(100), "damaged");
    house.run(&[]).expect(0);
    let ours = fs::read(house.journal()).unwrap();
    assert_eq!(&ours[..16], b"SQLite format 3\0");
    let other = self::house();
    // The offsets at which SQLite stores the number of the program and the number of the format.
    let mut foreign = ours.clone();
    foreign[68..72].copy_from_slice(&7_u32.to_be_bytes());
    assert_untouched(&other, &foreign, "another program");
    let mut newer = ours.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    assert_untouched(&other, &newer, "has journal format");
    let mut torn = ours;
    torn[100..].fill(0xa5);
    assert_untouched(&other, &torn, "damaged");
}

#[test]
fn a_home_that_can_not_be_used_is_an_error() {
    let house = house();
    let mut command = house.command(&["run", "When?", "--yes"]);
    command.env("GUILDHALL_HOME", house.project().join("notes.txt"));
    let ended = Running::start(command, "").end();
    assert!(ended.code() != 0 && ended.stderr.contains("notes.txt"), "{ended:?}");
    // Root can read every file: then there is nothing to test.
    fs::write(house.journal(), "").unwrap();
    fs::set_permissions(house.journal(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(house.journal()).is_err() {
        let ended = house.guildhall(&["ls"]);
        assert!(ended.code() != 0 && !ended.stderr.is_empty(), "{ended:?}");
    }
    fs::set_permissions(house.journal(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(house.requests().len(), 0);
}

/// The arguments for a shell that can mount a small private disk, or `None` if that is not allowed.
#[allow(clippy::print_stderr, reason = "the output of the tests must show what was not tested")]
pub(crate) fn shell_with_a_disk() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["-m"], &["-rm"]];
    let works = |way: &&&[&str]| {
        let tried = Command::new("unshare")
            .args(**way)
            .args(["sh", "-c", "mount -t tmpfs -o size=1m none /mnt"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    };
    let way = ways.iter().find(works).copied();
    if way.is_none() {
        eprintln!("SKIPPED: no disk can be mounted here, so a full disk can't be tested");
    }
    way
}

#[test]
fn a_full_disk_is_an_error_and_resume_works_after_there_is_room() {
    let Some(way) = shell_with_a_disk() else { return };
    let large = "x".repeat(60_000);
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"last_user": "last reply"}, "then": says("This far.")},
                {"when": {"tool_result": "Tuesday"}, "then": says("On Tuesday.")},
                {"when": {"has_tool_result": true}, "then": reads(&["notes.txt"])},
                {"then": {"reply": {"text": large, "usage": {"input": 100, "output": 100}, "calls":
                    [{"name": "read_file", "arguments": {"path": "agenda.txt"}}]}}},
            ]),
        );
        // All in one shell, because the disk disappears with the shell. The first run fills the disk, the second has room.
        let script = r#"
            mkdir "$GUILDHALL_HOME/disk" && mount -t tmpfs -o size=1m none "$GUILDHALL_HOME/disk" || exit 99
            cp "$GUILDHALL_HOME/config.toml" "$GUILDHALL_HOME/disk/"
            export GUILDHALL_HOME="$GUILDHALL_HOME/disk"
            "$0" ls
            head -c 10m /dev/zero > "$GUILDHALL_HOME/filler" 2> /dev/null
            truncate -s -150k "$GUILDHALL_HOME/filler"
            "$0" run 'When is the meeting?' --yes --budget 2000sat --allow-overrun; echo "first: $?"
            rm "$GUILDHALL_HOME/filler"
            "$0" ls
            "$0" resume "$("$0" ls --output json | sed -n 's/.*"session": "\(.*\)".*/\1/p')"; echo "second: $?"
        "#;
        let own = [way, &["sh", "-c", script]].concat();
        let ended = Running::start(house.command_under("unshare", &own, &[]), "").end().expect(0);
        assert!(ended.stdout.contains("first: 75"), "{wire:?}: {ended:?}");
        let ended =
            ended.says("the disk is full").says("Everything acknowledged before is kept").says("guildhall resume");
        assert!(ended.stdout.contains("On Tuesday.\nsecond: 0"), "{wire:?}: {ended:?}");
    }
}

#[test]
fn a_write_that_the_system_refuses_is_an_error_and_resume_works_later() {
    let large = "x".repeat(60_000);
    let house = House::new(
        Wire::OpenAi,
        &json!([
            {"when": {"tool_result": "Tuesday"}, "then": says("On Tuesday.")},
            {"when": {"has_tool_result": true}, "then": reads(&["notes.txt"])},
            {"then": {"reply": {"text": large, "usage": {"input": 100, "output": 100}, "calls":
                    [{"name": "read_file", "arguments": {"path": "agenda.txt"}}]}}},
        ]),
    );
    house.guildhall(&["ls"]).expect(0);
    // Files can grow to 100 KiB. By default, a longer write is a signal that ends the process, not an error.
    let script = "ulimit -f 200; exec \"$0\" \"$@\"";
    let args = ["run", "When is the meeting?", "--yes", "--budget", "2000sat", "--allow-overrun"];
    let ended = Running::start(house.command_under("sh", &["-c", script], &args), "").end().expect(75);
    let ended = ended.says("refuses to write the journal");
    assert!(ended.stdout.is_empty(), "{ended:?}");
    let id = house.guildhall(&["ls", "--output", "json"]).json()[0]["session"].as_str().unwrap().to_owned();
    let ended = ended.says(&format!("guildhall resume {id}"));
    assert!(ended.stderr.contains("is saved"), "{}", ended.stderr);
    let result = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json();
    assert_eq!(result["answer"], "On Tuesday.");
}

#[test]
fn a_refused_write_without_a_session_gives_no_advice_to_resume() {
    let house = house();
    let under =
        |script: &str, args: &[&str]| Running::start(house.command_under("sh", &["-c", script], args), "").end();
    for args in [&["run", "When?", "--yes"][..], &["ls"]] {
        let ended = under("ulimit -f 8; exec \"$0\" \"$@\"", args).expect(75).says("refuses to write the journal");
        assert!(!ended.stderr.contains("resume ID") && !ended.stderr.contains("is saved"), "{}", ended.stderr);
    }
    assert_eq!(house.requests().len(), 0, "no request without a journal");
    house.run(&[]).expect(0);
}

#[test]
fn a_usage_error_repeats_no_characters_that_reorder_or_hide_text() {
    let house = house();
    let bidi = "mod\u{202e}els\u{1b}[31m\u{200b}";
    for args in [
        &[bidi][..],
        &[&format!("--{bidi}")],
        &["run", "x", "--budget", bidi],
        &["run", "x", "--max-depth", bidi],
        &["ls", bidi],
        &["show", bidi],
        &["completions", bidi],
        &["-y", bidi],
    ] {
        let ended = house.guildhall(args).expect(2);
        assert!(!ended.stderr.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("mod"), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn a_relative_home_is_an_error_and_makes_no_files() {
    let house = house();
    for (home, config) in [("here", None), (".", None), ("here", Some("there"))] {
        for args in [&["ls"][..], &["run", "When?", "--yes"], &["paths"], &["verify"]] {
            let mut command = house.command(args);
            command.env_remove("GUILDHALL_HOME").env("HOME", home);
            command.envs(config.map(|config| ("XDG_CONFIG_HOME", config)));
            let ended = Running::start(command, "").end().expect(2);
            assert!(ended.stderr.contains("HOME is not an absolute path"), "{args:?}: {}", ended.stderr);
        }
    }
    let files: Vec<_> = fs::read_dir(house.project()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_an_error_and_does_not_hang() {
    let house = house();
    for name in ["opening.lock", "journal.db-marker", "journal.db"] {
        let file = house.home().join(name);
        fs::remove_file(&file).ok();
        mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for args in [&["ls"][..], &["run", "When?", "--yes"], &["show", "last"], &["verify"]] {
            let ended = house.guildhall(args);
            assert_ne!(ended.code(), 0, "{args:?}: {ended:?}");
            let ended = ended.says(name).says("it is not a regular file");
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        }
        fs::remove_file(&file).unwrap();
    }
    house.guildhall(&["ls"]).expect(0);
}
