//! The examples are scripts, and the README names them.

use std::fs;
use std::path::Path;

use guildhall_model_server::Script;

#[test]
fn every_example_is_a_script_that_the_readme_names() {
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
        let script: Script = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!script.rules.is_empty(), "{name}");
        assert!(readme.contains(&format!("(examples/{name})")), "the README does not name {name}");
    }
}

#[test]
fn every_script_in_the_readme_is_one() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let scripts: Vec<&str> = readme.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!scripts.is_empty());
    for script in scripts {
        script.parse::<Script>().unwrap_or_else(|error| panic!("{error}: {script}"));
    }
}
