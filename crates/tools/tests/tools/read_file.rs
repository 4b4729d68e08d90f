use std::fmt::Write as _;

use guildhall_agent::RESULT_BYTES_MAX;
use serde_json::json;

use crate::Bench;

fn numbers(last: usize) -> String {
    (1..=last).fold(String::new(), |mut text, number| {
        writeln!(text, "line {number}").unwrap();
        text
    })
}

#[test]
fn lines_are_numbered_from_one() {
    let bench = Bench::new(&[("a.txt", "one\n\n\tthree\r\nlast")]);
    assert_eq!(bench.done("read_file", &json!({ "path": "a.txt" })), "1\tone\n2\t\n3\t\tthree\n4\tlast");
    assert_eq!(bench.done("read_file", &json!({ "path": "./a.txt" })), "1\tone\n2\t\n3\t\tthree\n4\tlast");
}

#[test]
fn a_part_says_how_to_continue() {
    let bench = Bench::new(&[("a.txt", &numbers(10))]);
    let part = bench.done("read_file", &json!({ "path": "a.txt", "offset": 4, "limit": 2 }));
    assert_eq!(part, "4\tline 4\n5\tline 5\n(lines 4 to 5 of 10; continue with offset 6)");
    let rest = bench.done("read_file", &json!({ "path": "a.txt", "offset": 9 }));
    assert_eq!(rest, "9\tline 9\n10\tline 10");
    let beyond = bench.failed("read_file", &json!({ "path": "a.txt", "offset": 11 }));
    assert_eq!(beyond, "`a.txt` has 10 lines: there is no line at offset 11.");
}

#[test]
fn continuing_reaches_every_line_of_a_long_file() {
    let bench = Bench::new(&[("a.txt", &numbers(30_000))]);
    let mut offset = 1;
    let mut lines = Vec::new();
    loop {
        let part = bench.done("read_file", &json!({ "path": "a.txt", "offset": offset, "limit": 10_000 }));
        let (body, next) =
            part.rsplit_once("\n(lines ").map_or((part.as_str(), None), |(body, note)| (body, Some(note)));
        lines.extend(body.lines().map(|line| line.split_once('\t').unwrap().1.to_owned()));
        let Some(note) = next else { break };
        offset = note.rsplit(' ').next().unwrap().trim_end_matches(')').parse().unwrap();
    }
    assert_eq!(lines, numbers(30_000).lines().collect::<Vec<_>>());
}

#[test]
fn a_result_stays_within_its_limit_for_all_lines() {
    let wide = ("\u{1b}".repeat(1900) + "\n").repeat(500);
    let bench = Bench::new(&[("wide.txt", &wide)]);
    let text = bench.done("read_file", &json!({ "path": "wide.txt" }));
    assert!(text.len() > RESULT_BYTES_MAX / 2 && text.contains("of 500; continue with offset"), "{}", text.len());
}

#[test]
fn an_empty_file_gives_a_note() {
    let bench = Bench::new(&[("a.txt", "")]);
    assert_eq!(bench.done("read_file", &json!({ "path": "a.txt" })), "(the file is empty)");
    assert!(bench.failed("read_file", &json!({ "path": "a.txt", "offset": 2 })).contains("has 0 lines"));
}

#[test]
fn a_file_that_is_not_text_is_not_shown() {
    let bench = Bench::new(&[]);
    bench.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    assert_eq!(bench.read("a.png").text, "`a.png` is not a text file (16 bytes); it can't be shown.");
    bench.write("latin.txt", b"na\xefve\n");
    assert_eq!(bench.read("latin.txt").text, "1\tna\\xefve");
}

#[test]
fn a_directory_is_not_read_as_a_file_nor_a_file_as_a_directory() {
    let bench = Bench::new(&[("src/a.txt", "a")]);
    assert!(bench.failed("read_file", &json!({ "path": "src" })).contains("is a directory. Use list_files"));
    assert!(bench.failed("read_file", &json!({ "path": "" })).contains("is a directory"));
    assert!(bench.failed("read_file", &json!({ "path": "src/a.txt/b" })).contains("uses a file as a directory"));
}

#[test]
fn a_missing_file_is_answered_with_suggestions() {
    let bench = Bench::new(&[("src/main.rs", ""), ("src/lib.rs", ""), ("crates/x/deep.rs", ""), (".env", "")]);
    let cases = [
        ("src/mian.rs", "`src/mian.rs` does not exist. Did you mean `src/main.rs`?"),
        ("SRC/main.rs", "`SRC/main.rs` does not exist. Did you mean `src` or `src/main.rs`?"),
        ("main.rs", "`main.rs` does not exist. Did you mean `src/main.rs`?"),
        ("crates/y/deep.rs", "`crates/y/deep.rs` does not exist. Did you mean `crates/x/deep.rs` or `crates/x`?"),
        ("nothing-like-it", "`nothing-like-it` does not exist. Use list_files to see which files exist."),
        (".emv", "`.emv` does not exist. Use list_files to see which files exist."),
    ];
    for (path, expected) in cases {
        assert_eq!(bench.failed("read_file", &json!({ "path": path })), expected);
    }
}

#[test]
fn a_file_that_git_ignores_can_be_read_by_name() {
    let bench = Bench::new(&[(".gitignore", "out/\n"), ("out/log.txt", "log\n")]);
    assert_eq!(bench.read("out/log.txt").text, "1\tlog");
}
