use guildhall_agent::ToolOutcome;
use serde_json::json;

use crate::Bench;

const CANARY: &str = "canary-in-the-file";

#[test]
fn files_that_may_contain_secrets_are_refused_with_the_reason() {
    let files = [".env", "config/.env.local", ".ssh/config", ".aws/credentials", "tls/server.key", ".git/config"];
    let bench = Bench::new(&files.map(|file| (file, CANARY)));
    for file in files {
        let result = bench.read(file);
        assert_eq!(result.outcome, ToolOutcome::Failed);
        assert!(result.text.contains("is refused: it is a") && !result.text.contains(CANARY), "{}", result.text);
        let found = bench.failed("search", &json!({ "pattern": "canary", "path": file }));
        assert!(found.contains("is refused") && !found.contains(CANARY), "{found}");
    }
    assert!(bench.failed("list_files", &json!({ "path": ".ssh" })).contains("is refused"));
}

#[test]
fn no_link_and_no_other_spelling_leads_to_a_refused_file() {
    let bench = Bench::new(&[(".env", CANARY), (".ssh/id", CANARY), ("src/a.rs", "")]);
    bench.link("notes.txt", ".env");
    bench.link("src/far.txt", "../notes.txt");
    bench.link("keys", ".ssh");
    bench.link(".netrc", "src/a.rs");
    for path in
        ["notes.txt", "src/far.txt", "keys/id", "./.env", "src/../.env", "src/../keys/../.env", ".netrc", "\\x2eenv"]
    {
        let result = bench.read(path);
        assert_eq!(result.outcome, ToolOutcome::Failed, "{path}: {}", result.text);
        assert!(result.text.contains("is refused"), "{path}: {}", result.text);
    }
}

#[test]
fn lists_and_searches_name_refused_files_but_do_not_show_them() {
    let bench = Bench::new(&[(".env", CANARY), (".aws/credentials", CANARY), (".env.example", "KEY=canary-example")]);
    let listed = bench.done("list_files", &json!({ "depth": 9 }));
    let expected =
        ".aws [refused: a directory of keys and credentials]\n.env [refused: an environment file]\n.env.example";
    assert_eq!(listed, expected);
    let found = bench.done("search", &json!({ "pattern": "canary" }));
    let expected = ".env.example\n1: KEY=canary-example\n(1 matches in 1 of 1 files)\n\
                    (not searched, because these files may contain secrets: .aws, .env)";
    assert_eq!(found, expected);
}

#[test]
fn the_owner_can_allow_single_files() {
    let mut bench = Bench::new(&[("fixtures/test.pem", "public\n"), ("real.pem", CANARY)]);
    bench.project = bench.project.clone().allowing(&["fixtures/*.pem"]).unwrap();
    assert_eq!(bench.read("fixtures/test.pem").text, "1\tpublic");
    assert_eq!(bench.read("real.pem").outcome, ToolOutcome::Failed);
}
