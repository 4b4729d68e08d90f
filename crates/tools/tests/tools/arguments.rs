use guildhall_kernel::{Effect, Msat, Power, PowerSet};
use guildhall_tools::{Project, ProjectError, READ, read_only};
use serde_json::{Value, json};

use crate::Bench;

#[test]
fn all_tools_are_pure_and_free_and_need_the_power_to_read() {
    let bench = Bench::new(&[]);
    for tool in read_only(&bench.project) {
        let terms = tool.terms();
        let needs = PowerSet::from(vec![Power::parse(READ).unwrap()]);
        assert_eq!((terms.price, terms.effect, terms.needs), (Msat::ZERO, Effect::Pure, needs));
        assert_eq!(tool.spec().schema["type"], "object");
    }
}

#[test]
fn the_message_about_wrong_arguments_says_what_is_expected() {
    let bench = Bench::new(&[]);
    let wrong = [json!(null), json!("a.txt"), json!([]), json!({ "file": "a" }), json!({ "path": 1, "pattern": 1 })];
    for tool in ["read_file", "list_files", "search"] {
        for arguments in &wrong {
            let text = bench.failed(tool, arguments);
            assert!(text.contains("The arguments must be an object with"), "{tool}: {text}");
        }
    }
    assert!(bench.failed("read_file", &json!({})).starts_with("`path` is missing."));
    assert!(bench.failed("search", &json!({})).starts_with("`pattern` is missing."));
    assert!(bench.failed("read_file", &json!({ "path": "a", "offset": 0 })).starts_with("`offset` is 0; it must be"));
}

#[test]
fn the_message_about_deep_or_huge_arguments_is_short() {
    let bench = Bench::new(&[]);
    let deep = (0..100).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    for arguments in [json!({ "path": deep }), json!({ "path": "x".repeat(50_000_000) })] {
        assert!(bench.failed("read_file", &arguments).len() < 1000);
    }
}

#[test]
fn a_directory_that_can_t_be_a_project_is_refused() {
    assert!(matches!(Project::open("/"), Err(ProjectError::WholeFileSystem { .. })));
    assert!(matches!(Project::open("/proc/self/root"), Err(ProjectError::WholeFileSystem { .. })));
    let bench = Bench::new(&[("file", "")]);
    assert!(matches!(Project::open(bench.at("file")), Err(ProjectError::Open { .. })));
    assert!(matches!(Project::open(bench.at("missing")), Err(ProjectError::Open { .. })));
}
