//! Files, patterns and directories that would take too much time or memory: each call stays within its limits and says what
//! it left out.

use std::fs;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::{Bench, key};

/// How long a call may take to end after its time is up, on a busy machine.
const LATE_MAX: Duration = Duration::from_secs(4);

/// Returns a line of random letters a and b, for which an automaton has a new state after almost every byte.
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

/// A pattern that needs very many states for such a line.
const MANY_STATES: &str = "a[ab]{30}c";

#[test]
fn a_search_can_run_out_of_time_in_the_middle_of_a_line() {
    let bench = Bench::new(&[("a.txt", "x\n")]).with_time_max(Duration::from_secs(1));
    bench.write("long.txt", letters(16_000_000));
    let start = Instant::now();
    let text = bench.done("search", &json!({ "pattern": MANY_STATES }));
    assert!(start.elapsed() < Duration::from_secs(1) + LATE_MAX, "{:?}", start.elapsed());
    let expected = "(stopped after 1 s, before the end of long.txt: 0 matches in 0 of 2 files searched so far; narrow it with \
                    `path`, `glob` or the pattern)";
    assert_eq!(text, expected);
}

/// Returns how much processor time the threads of this name have used, in ticks of 10 ms.
fn cpu_ticks(name: &str) -> u64 {
    let threads = fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    // A thread that has ended meanwhile has no files.
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.join("stat")).ok());
    let of_name = stats.filter(|stat| stat.contains(&format!("({name})")));
    let ticks = |stat: String| -> u64 {
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    };
    of_name.map(ticks).sum()
}

#[test]
fn a_search_whose_task_is_dropped_ends_in_the_middle_of_a_line() {
    const THREAD: &str = "long-line";
    let bench = Bench::new(&[]);
    bench.write("long.txt", letters(16_000_000));
    let runtime = tokio::runtime::Builder::new_current_thread().thread_name(THREAD).build().unwrap();
    let (tool, key, arguments) = (bench.tool("search"), key(), json!({ "pattern": MANY_STATES }));
    let mut call = tool.call(&key, &arguments);
    let has_ended = runtime.block_on(poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())));
    assert!(!has_ended, "the search is running");
    let until = Instant::now() + Duration::from_mins(5);
    while cpu_ticks(THREAD) < 100 {
        assert!(Instant::now() < until, "the file was not read");
        // A thread that only yields would take the time that the search needs.
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(call);
    let start = Instant::now();
    // Dropping the runtime waits for the thread of the search.
    drop(runtime);
    assert!(start.elapsed() < LATE_MAX, "{:?}", start.elapsed());
}

#[test]
fn a_line_that_is_too_long_to_store_is_searched_to_its_end() {
    let bench = Bench::new(&[]);
    let line = [vec![b'x'; 40_000_000], b" needle\nneedle\n".to_vec()].concat();
    bench.write("long.txt", line);
    let text = bench.done("search", &json!({ "pattern": "needle$" }));
    let shown = format!("…{} needle [part of a line of 40000007 bytes]", "x".repeat(193));
    assert_eq!(text, format!("long.txt\n1: {shown}\n2: needle\n(2 matches in 1 of 1 files)"));
}

#[test]
fn a_line_too_long_for_word_boundaries_is_named() {
    let bench = Bench::new(&[]);
    let long = "é ".repeat(1_000_000);
    bench.write("a.txt", format!("naïve via {long}\n{long} via\nviaé\nvia é\n"));
    let text = bench.done("search", &json!({ "pattern": r"\bvia\b" }));
    let expected = "a.txt\n4: via é\n(1 matches in 1 of 1 files)\n(lines that are too long for a pattern with word boundaries \
                    (\\b) were left out: a.txt:1, a.txt:2)";
    assert_eq!(text, expected);
}

#[test]
fn ignore_rules_above_the_limit_are_counted() {
    let bench = Bench::new(&[("kept.log", ""), ("sub/kept.txt", "")]);
    let rules: Vec<String> = (0..3000).map(|number| format!("*a*b*c*d*e{number:04}")).collect();
    bench.write(".gitignore", format!("*.log\n# a comment\n\n{}\n*.txt\n", rules.join("\n")));
    let text = bench.done("list_files", &json!({}));
    // The first rule is applied, the last is not.
    let expected = ".gitignore\nsub/\nsub/kept.txt\n(661 rules of ignore files were not applied, because there are too many: some \
                    files that git ignores are included)";
    assert_eq!(text, expected);
}

#[test]
fn lines_that_were_read_before_the_time_was_up_are_shown() {
    let bench = Bench::new(&[]).with_time_max(Duration::from_millis(300));
    let file = fs::File::create(bench.at("endless.txt")).unwrap();
    std::io::Write::write_all(&mut &file, "line\n".repeat(100_000).as_bytes()).unwrap();
    file.set_len(1 << 40).unwrap();
    let text = bench.done("read_file", &json!({ "path": "endless.txt", "limit": 2 }));
    let expected = "1\tline\n2\tline\n(lines 1 to 2; the rest could not be counted within 0 s; continue with offset 3)";
    assert_eq!(text, expected);
    let text = bench.failed("read_file", &json!({ "path": "endless.txt", "offset": 200_000 }));
    assert!(text.contains("took too long"), "{text}");
}

#[test]
fn a_call_without_time_says_that_it_was_stopped() {
    let bench = Bench::new(&[("a.txt", "needle\n")]).with_time_max(Duration::ZERO);
    let text = bench.done("search", &json!({ "pattern": "needle" }));
    assert!(text.starts_with("(stopped after 0 s: 0 matches in 0 of 0 files searched so far;"), "{text}");
    let text = bench.failed("read_file", &json!({ "path": "a.txt" }));
    assert!(text.contains("took too long"), "{text}");
    let text = bench.done("list_files", &json!({}));
    assert!(text.starts_with("(stopped after 0 s: 0 of the 0 found so far are shown;"), "{text}");
}
