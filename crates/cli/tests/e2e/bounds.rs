//! The limits of tools: time, memory, and the delay of a stop.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::house::{House, Running, Wire, says, wait_for};

/// The most memory of the program during any search, in KiB.
const MEMORY_KIB_MAX: u64 = 256 * 1024;

/// The pattern that needs the most states for a line of the letters a and b.
const MANY_STATES: &str = "a[ab]{30}c";

/// A line of random letters a and b.
fn letters(bytes: usize) -> Vec<u8> {
    let mut seed: u64 = 88_172_645_463_325_252;
    let letter = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        b"ab"[usize::from(seed & 1 == 1)]
    };
    std::iter::repeat_with(letter).take(bytes).collect()
}

/// A house whose model makes several parallel searches and then replies "Done.".
fn searching(times: usize, line: &[u8]) -> House {
    let call = json!({"name": "search", "arguments": {"pattern": MANY_STATES}});
    let rules = json!([
        {"when": {"last_user": "last reply"}, "then": says("Stopped.")},
        {"when": {"has_tool_result": false}, "then": {"reply": {"calls": vec![call; times]}}},
        {"then": says("Done.")},
    ]);
    let house = House::new(Wire::OpenAi, &rules);
    fs::write(house.project().join("long.txt"), line).unwrap();
    house
}

/// The processor time of a process, in ticks of 10 ms.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let times = after_name.split_whitespace().skip(11).take(2);
    times.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// The tool results for the calls of the first reply.
fn results(house: &House) -> Vec<String> {
    let request = house.requests().pop().unwrap();
    let of_tool = |message: &&Value| message["role"] == "tool";
    let messages = request["messages"].as_array().unwrap().iter().filter(of_tool);
    messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn five_parallel_searches_stay_within_their_memory() {
    let house = searching(5, &letters(2_000_000));
    let (ended, memory_kib) = house.start(&[]).end_with_memory();
    ended.expect(0);
    assert!(memory_kib < MEMORY_KIB_MAX, "{memory_kib} KiB");
    let results = results(&house);
    assert_eq!(results.len(), 5);
    for result in results {
        // On a busy machine, the time may be up before the end of the line.
        let is_cut = result.contains("(stopped after 20 s, before the end of long.txt: 0 matches");
        assert!(result.contains("(no match in 3 files)") || is_cut, "{result}");
    }
}

#[test]
fn a_second_ctrl_c_ends_the_program_within_a_second_during_a_search() {
    let house = searching(5, &letters(16_000_000));
    let running = house.start(&["-v"]);
    let id = running.session();
    running.told("searches for ");
    // At this point, each search has read the file and is in the middle of its only line.
    wait_for("work on the line", || (cpu_ticks(running.pid()) > 300).then_some(()));
    running.interrupt();
    running.told("wraps up");
    let start = Instant::now();
    running.interrupt();
    running.end().expect(130).says(&format!("guildhall resume {id}"));
    // Twice the documented time, for a busy machine.
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());

    fs::write(house.project().join("long.txt"), "short\n").unwrap();
    let result = house.guildhall(&["resume", &id, "--output", "json"]).expect(130).json();
    assert_eq!(result["answer"], "Stopped.", "the order to wrap up is stored");
    house.guildhall(&["verify", &id]).expect(0);
}

/// A directory with this many entries, in memory if possible, because that is fast.
fn crowded(entries: usize) -> TempDir {
    let quick = Path::new("/dev/shm");
    let project = if quick.is_dir() { tempfile::tempdir_in(quick) } else { tempfile::tempdir() }.unwrap();
    let first = project.path().join("0000000");
    fs::write(&first, "").unwrap();
    for number in 1..entries {
        fs::hard_link(&first, project.path().join(format!("{number:07}"))).unwrap();
    }
    project
}

#[test]
fn a_directory_of_more_than_half_a_million_entries_is_listed_with_the_right_count() {
    const ENTRIES: usize = 510_000;
    let rules = json!([
        {"when": {"has_tool_result": false}, "then": {"reply": {"calls": [{"name": "list_files", "arguments": {}}]}}},
        {"then": says("Done.")},
    ]);
    let house = House::new(Wire::OpenAi, &rules);
    let project = crowded(ENTRIES);
    let (ended, memory_kib) = house.start(&["--project", project.path().to_str().unwrap()]).end_with_memory();
    ended.expect(0);
    assert!(memory_kib < MEMORY_KIB_MAX, "{memory_kib} KiB");
    let result = results(&house).remove(0);
    assert!(result.contains("0000000\n0000001\n0000002\n") && result.contains("\n0000999\n("), "{result}");
    let all = format!("(and {} more; narrow it", ENTRIES - 1000);
    // If the time is up before all entries are counted, the result gives no total.
    let some = "(stopped after 20 s: 1000 of the ";
    assert!(result.contains(&all) || result.contains(some), "{result}");
}

#[test]
fn a_home_that_is_not_utf8_is_an_error() {
    let not_utf8 = OsStr::from_bytes(b"/tmp/h\xffme");
    let house = House::new(Wire::Anthropic, &json!([{"then": says("never")}]));
    let with = |name: &str| {
        let mut command = house.command(&["run", "When?", "--yes"]);
        command.env_remove("GUILDHALL_HOME").env(name, not_utf8);
        Running::start(command, "").end().expect(2).says("not UTF-8").says("GUILDHALL_HOME")
    };
    for name in ["GUILDHALL_HOME", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        let ended = with(name);
        assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 1), "{name}: {}", ended.stderr);
    }
    assert!(!house.home().join(".local").exists() && !Path::new(not_utf8).exists(), "no files were written elsewhere");
    // A provider with an invalid variable is an error and not ignored.
    let mut command = house.command(&["run", "When?", "--yes"]);
    command.env("ANTHROPIC_BASE_URL", not_utf8);
    Running::start(command, "").end().expect(2).says("the variable ANTHROPIC_BASE_URL is not UTF-8");
    assert_eq!(house.requests().len(), 0);
}
