use serde_json::json;

use crate::Bench;

#[test]
fn files_are_listed_in_order_with_their_directories() {
    let bench =
        Bench::new(&[("b.txt", ""), ("a/z.rs", ""), ("a/deep/x.rs", ""), ("a/deep/er/y.rs", ""), ("B.txt", "")]);
    assert_eq!(bench.done("list_files", &json!({})), "B.txt\na/\na/deep/\na/z.rs\nb.txt");
    assert_eq!(bench.done("list_files", &json!({ "depth": 1 })), "B.txt\na/\nb.txt");
    assert_eq!(
        bench.done("list_files", &json!({ "path": "a", "depth": 9 })),
        "a/deep/\na/deep/er/\na/deep/er/y.rs\na/deep/x.rs\na/z.rs"
    );
}

#[test]
fn patterns_match_names_or_paths() {
    let bench = Bench::new(&[("a.rs", ""), ("src/b.rs", ""), ("src/c.md", ""), ("src/x/d.rs", "")]);
    let listed = |pattern: &str, path: &str| bench.done("list_files", &json!({ "pattern": pattern, "path": path }));
    assert_eq!(listed("*.rs", ""), "a.rs\nsrc/b.rs\nsrc/x/d.rs");
    assert_eq!(listed("*.{md,txt}", ""), "src/c.md");
    assert_eq!(listed("src/*.rs", ""), "src/b.rs");
    assert_eq!(listed("src/**/*.rs", ""), "src/b.rs\nsrc/x/d.rs");
    assert_eq!(listed("x/*.rs", "src"), "src/x/d.rs");
    assert_eq!(listed("*.c", ""), "(no path matches)");
    let text = bench.failed("list_files", &json!({ "pattern": "a{b" }));
    assert!(text.starts_with("`a{b` is not a valid glob: "), "{text}");
}

#[test]
fn files_that_git_ignores_are_left_out() {
    let bench = Bench::new(&[
        (".git/HEAD", ""),
        (".gitignore", "*.log\n/target\n!keep.log\ndocs/*.tmp\n[\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("target/x", ""),
        ("src/target/y", ""),
        ("src/.gitignore", "!b.log\n*.rs\n!main.rs\n"),
        ("src/b.log", ""),
        ("src/c.log", ""),
        ("src/main.rs", ""),
        ("src/other.rs", ""),
        ("docs/x.tmp", ""),
        ("docs/deep/y.tmp", ""),
        (".ignore", "quiet\n"),
        ("quiet/z", ""),
    ]);
    let expected = ".gitignore\n.ignore\ndocs/\ndocs/deep/\ndocs/deep/y.tmp\nkeep.log\nsrc/\nsrc/.gitignore\nsrc/b.log\nsrc/main.rs\n\
                    src/target/\nsrc/target/y";
    assert_eq!(bench.done("list_files", &json!({ "depth": 9 })), expected);
    assert_eq!(
        bench.done("list_files", &json!({ "path": "src", "depth": 1 })),
        "src/.gitignore\nsrc/b.log\nsrc/main.rs\nsrc/target/",
        "rules of a parent directory apply"
    );
    assert_eq!(bench.done("list_files", &json!({ "path": "target" })), "target/x", "a path that is named is shown");
}

#[test]
fn ignore_files_that_are_links_or_pipes_are_not_read() {
    let bench = Bench::new(&[("a.txt", "")]);
    std::fs::write(bench.outside().join("rules"), "a.txt\n").unwrap();
    bench.link(".gitignore", bench.outside().join("rules"));
    assert!(bench.done("list_files", &json!({})).ends_with("\na.txt"));
}

#[test]
fn a_long_list_says_how_many_more_entries_there_are() {
    let bench = Bench::new(&[]);
    for number in 0..1203 {
        bench.write(format!("{number:04}.txt"), "");
    }
    let text = bench.done("list_files", &json!({}));
    assert!(text.starts_with("0000.txt\n0001.txt\n"));
    assert!(text.ends_with("\n0999.txt\n(and 203 more; narrow it with `path`, `pattern` or `depth`)"), "{text}");
}

#[test]
fn a_file_and_a_missing_directory_get_an_answer() {
    let bench = Bench::new(&[("src/a.txt", "abc")]);
    assert_eq!(
        bench.failed("list_files", &json!({ "path": "src/a.txt" })),
        "`src/a.txt` is a file of 3 bytes. Use read_file to read it."
    );
    assert_eq!(
        bench.failed("list_files", &json!({ "path": "scr" })),
        "`scr` does not exist. Use list_files to see which files exist."
    );
    assert_eq!(Bench::new(&[]).done("list_files", &json!({})), "(no files; files that git ignores are not listed)");
}
