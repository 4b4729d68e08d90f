//! The server accepts every example script, and the README lists them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::start;

#[test]
fn every_example_is_a_valid_script_in_the_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let mut names: Vec<String> = fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() > 3, "{names:?}");
    for name in &names {
        let text = fs::read_to_string(root.join("examples").join(name)).unwrap();
        let script: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(script["rules"][0], Value::Null, "{name}");
        start(&script);
        assert!(readme.contains(&format!("(examples/{name})")), "the README does not list {name}");
    }
}

#[test]
fn every_script_in_the_readme_is_valid() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let scripts: Vec<&str> = readme.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!scripts.is_empty());
    for script in scripts {
        start(&serde_json::from_str(script).unwrap_or_else(|error| panic!("{error}: {script}")));
    }
}
