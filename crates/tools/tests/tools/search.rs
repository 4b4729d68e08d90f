use guildhall_agent::RESULT_BYTES_MAX;
use serde_json::{Value, json};

use crate::Bench;

fn check(bench: &Bench, arguments: &Value, expected: &str) {
    assert_eq!(bench.done("search", arguments), expected);
}

#[test]
fn matches_are_grouped_by_file_with_line_numbers() {
    let bench = Bench::new(&[("b.txt", "x\nneedle 1\nx\nneedle 2\n"), ("a/c.txt", "needle"), ("d.txt", "nothing")]);
    let expected = "a/c.txt\n1: needle\n\nb.txt\n2: needle 1\n4: needle 2\n(3 matches in 2 of 3 files)";
    check(&bench, &json!({ "pattern": "needle" }), expected);
    check(
        &bench,
        &json!({ "pattern": "needle", "path": "b.txt" }),
        "b.txt\n2: needle 1\n4: needle 2\n(2 matches in 1 of 1 files)",
    );
    check(&bench, &json!({ "pattern": "needle", "path": "a" }), "a/c.txt\n1: needle\n(1 matches in 1 of 1 files)");
    check(&bench, &json!({ "pattern": "haystack" }), "(no match in 3 files)");
}

#[test]
fn context_shows_the_lines_around() {
    let bench = Bench::new(&[("a.txt", "1\n2\nneedle\n4\n5\n6\n7\nneedle\n9\n")]);
    let expected = "a.txt\n2- 2\n3: needle\n4- 4\n--\n7- 7\n8: needle\n9- 9\n(2 matches in 1 of 1 files)";
    check(&bench, &json!({ "pattern": "needle", "context": 1 }), expected);
}

#[test]
fn upper_and_lower_case_differ_as_requested() {
    let bench = Bench::new(&[("a.txt", "word\nWord\n")]);
    let both = "a.txt\n1: word\n2: Word\n(2 matches in 1 of 1 files)";
    let one = "a.txt\n2: Word\n(1 matches in 1 of 1 files)";
    check(&bench, &json!({ "pattern": "word" }), both);
    check(&bench, &json!({ "pattern": "Word" }), one);
    check(&bench, &json!({ "pattern": "Word", "case": "insensitive" }), both);
    check(&bench, &json!({ "pattern": "Word", "case": "sensitive" }), one);
}

#[test]
fn globs_and_gitignore_narrow_a_search() {
    let bench = Bench::new(&[
        (".gitignore", "out\n"),
        ("a.rs", "needle"),
        ("b.md", "needle"),
        ("out/c.rs", "needle"),
        (".git/d.rs", "needle"),
        (".github/e.rs", "needle"),
    ]);
    let expected = ".github/e.rs\n1: needle\n\na.rs\n1: needle\n(2 matches in 2 of 2 files)";
    check(&bench, &json!({ "pattern": "needle", "glob": "*.rs" }), expected);
    check(&bench, &json!({ "pattern": "needle", "path": "out" }), "out/c.rs\n1: needle\n(1 matches in 1 of 1 files)");
}

#[test]
fn the_message_about_a_bad_pattern_says_what_to_change() {
    let bench = Bench::new(&[]);
    let text = bench.failed("search", &json!({ "pattern": "foo(" }));
    assert!(text.starts_with("The pattern `foo(` can't be used:\n") && text.contains("unclosed group"), "{text}");
    assert!(text.contains("Put a backslash before"), "{text}");
    for pattern in ["(?=a)b", r"(a)\1", "a\nb", r"a\nb", "[z-a]", "*"] {
        assert!(bench.failed("search", &json!({ "pattern": pattern })).contains("can't be used"), "{pattern}");
    }
}

#[test]
fn matches_are_limited_in_number_and_in_bytes() {
    let bench = Bench::new(&[("a.txt", &"needle\n".repeat(500))]);
    let text = bench.done("search", &json!({ "pattern": "needle" }));
    assert!(text.contains("\n200: needle\n(cut off after 200 matches in 1 of 1 files; narrow it"), "{text}");
    let wide = "\u{1b}needle".repeat(60) + "\n";
    let bench = Bench::new(&[("a.txt", &wide.repeat(150))]);
    let text = bench.done("search", &json!({ "pattern": "needle", "context": 10 }));
    assert!(text.contains("cut off after") && text.len() > RESULT_BYTES_MAX / 2, "{text}");
}

#[test]
fn binary_files_are_skipped() {
    let bench = Bench::new(&[("b.txt", "needle")]);
    bench.write("a.bin", b"\0\x01needle\n");
    check(&bench, &json!({ "pattern": "needle" }), "b.txt\n1: needle\n(1 matches in 1 of 2 files)");
}

#[test]
fn patterns_that_match_empty_text_work() {
    let bench = Bench::new(&[("a.txt", "a\n\nb\n")]);
    check(&bench, &json!({ "pattern": "" }), "a.txt\n1: a\n2: \n3: b\n(3 matches in 1 of 1 files)");
    check(&bench, &json!({ "pattern": "^$" }), "a.txt\n2: \n(1 matches in 1 of 1 files)");
}
