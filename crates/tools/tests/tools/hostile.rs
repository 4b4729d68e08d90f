//! File names, contents and directory trees that are made to do harm.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Bench;

#[test]
fn odd_names_are_shown_on_one_line_and_can_be_read_by_their_shown_form() {
    let bench = Bench::new(&[]);
    let names: [&[u8]; 6] =
        [b"new\nline", b"\x1b[31mred", b"caf\xe9.txt", b"back\\slash", "\u{202e}txt.exe".as_bytes(), b"tab\t"];
    for name in names {
        bench.write(OsStr::from_bytes(name), "needle\n");
    }
    let listed = bench.done("list_files", &json!({}));
    let expected = ["\\x1b[31mred", "back\\\\slash", "caf\\xe9.txt", "new\\x0aline", "tab\\x09", "\\u{202e}txt.exe"];
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
    for name in expected {
        assert_eq!(bench.done("read_file", &json!({ "path": name })), "1\tneedle", "{name}");
    }
    let found = bench.done("search", &json!({ "pattern": "needle" }));
    assert!(expected.iter().all(|name| found.lines().any(|line| line == *name)), "{found}");
    let missing = bench.failed("read_file", &json!({ "path": "\u{1b}[2J\u{202e}" }));
    assert!(missing.starts_with("`\\x1b[2J\\u{202e}` does not exist."), "{missing}");
}

#[test]
fn long_and_invalid_paths_get_an_answer() {
    let bench = Bench::new(&[]);
    let cases = [
        ("a/".repeat(2047) + "a", "does not exist"),
        ("./".repeat(2000), "is a directory"),
        ("../".repeat(1000), "is outside"),
        ("x".repeat(300), "is too long"),
        ("a".repeat(4096), "is too long"),
        ("a\0b".to_owned(), "contains a NUL byte"),
        ("~/.bashrc".to_owned(), "does not exist"),
    ];
    for (path, expected) in cases {
        let text = bench.failed("read_file", &json!({ "path": path }));
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn control_characters_in_files_are_shown_as_escapes() {
    let bench = Bench::new(&[("a.txt", "\u{1b}]0;title\u{7} \u{202e}evil\u{2066}\r\nb\rc\n")]);
    let expected = "1\t\\x1b]0;title\\x07 \\u{202e}evil\\u{2066}\n2\tb\\x0dc";
    assert_eq!(bench.read("a.txt").text, expected);
    let found = bench.done("search", &json!({ "pattern": "evil" }));
    assert!(found.starts_with("a.txt\n1: \\x1b]0;title\\x07 \\u{202e}evil\\u{2066}\n"), "{found}");
}

#[test]
fn a_line_of_ten_megabytes_is_cut_and_can_be_searched() {
    let bench = Bench::new(&[]);
    let line = "é".repeat(2_500_000) + "needle" + &"x".repeat(5_000_000);
    bench.write("one_line.json", &line);
    let text = bench.read("one_line.json").text;
    assert!(
        text.len() < 3000 && text.ends_with("é [line cut: 9998006 bytes more; search shows parts of it]"),
        "{text}"
    );
    let found = bench.done("search", &json!({ "pattern": "needle" }));
    assert!(found.starts_with("one_line.json\n1: …éé") && found.contains("éneedlex"), "{found}");
    assert!(found.contains("… [part of a line of 10000006 bytes]") && found.len() < 1000, "{found}");
}

#[test]
fn a_walk_has_a_limited_depth() {
    let bench = Bench::new(&[]);
    let deep = "d/".repeat(120);
    bench.write(format!("{deep}bottom.txt"), "needle\n");
    bench.write("z.txt", "needle\n");
    let found = bench.done("search", &json!({ "pattern": "needle" }));
    let expected =
        "z.txt\n1: needle\n(1 matches in 1 of 1 files)\n(1 directories more than 64 levels deep were left out)";
    assert_eq!(found, expected);
    assert_eq!(bench.read(&format!("{deep}bottom.txt")).text, "1\tneedle");
    let below = bench.done("search", &json!({ "pattern": "needle", "path": "d/".repeat(100) }));
    assert!(below.contains("bottom.txt\n1: needle"), "{below}");
}

#[test]
fn patterns_that_are_made_to_be_slow_stay_within_the_time() {
    let bench = Bench::new(&[
        ("a.txt", &"a".repeat(100_000)),
        ("short.txt", &"ab".repeat(30_000)),
        ("long.txt", &"ab".repeat(450_000)),
        ("longest.txt", &"ab".repeat(5_000_000)),
    ]);
    for pattern in [
        "(a+)+$b",
        "(a|aa)+$b",
        "(.*)*x",
        "(a?){30}a{30}z",
        "[ab]*a[ab]{30}z",
        "(([ab]{1,9}){1,9}){1,9}z",
        "[ab]{1,100}[abc]{1,100}[xyz]",
        "[ab]{1,1000}[abc]{1,1000}[xyz]",
        "[ab]{1,1000}[abc]{1,1000}z",
        "([ab]{1,40}[abc]{1,40}){1,9}z",
    ] {
        let start = Instant::now();
        let text = bench.done("search", &json!({ "pattern": pattern }));
        assert!(text.contains("no match") || text.contains("stopped after 20 s"), "{pattern}: {text}");
        let elapsed = start.elapsed();
        assert!(elapsed < Duration::from_secs(25), "{pattern}: {elapsed:?}");
    }
}

#[test]
fn patterns_that_become_too_large_are_refused() {
    let bench = Bench::new(&[]);
    let deep = "(".repeat(500) + &")".repeat(500);
    for pattern in ["((a{1000}){1000}){1000}", r"\w{1000}{1000}", "a{4294967295}", deep.as_str()] {
        let text = bench.failed("search", &json!({ "pattern": pattern }));
        assert!(text.contains("can't be used"), "{text}");
    }
}

#[test]
fn unreadable_directories_are_counted() {
    let bench = Bench::new(&[("a.txt", "needle\n"), ("closed/b.txt", "needle\n")]);
    fs::set_permissions(bench.at("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let text = bench.done("search", &json!({ "pattern": "needle" }));
    fs::set_permissions(bench.at("closed"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    // Root can read everything.
    let all = text.contains("2 matches");
    assert!(all || text.contains("1 directories or links could not be read"), "{text}");
}
