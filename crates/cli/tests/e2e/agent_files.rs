//! Which agent files are found, and what is said about files that were written for other programs.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::crew::{assert_has, assert_lacks};
use crate::house::{Ended, House, Running, Wire, says};

fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]))
}

/// Writes an agent file below a directory.
fn write(directory: &Path, name: &str, front: &str) {
    fs::create_dir_all(directory).unwrap();
    let text = format!("---\nname: {name}\ndescription: Knows all about {name}ry.\n{front}---\nYou are {name}.\n");
    fs::write(directory.join(format!("{name}.md")), text).unwrap();
}

/// Runs a command in a directory of the project.
fn within(house: &House, directory: &str, args: &[&str]) -> Ended {
    let mut command = house.command(args);
    command.current_dir(house.project().join(directory));
    Running::start(command, "").end()
}

#[test]
fn agents_are_found_from_a_subdirectory_up_to_the_root_of_the_repository() {
    let house = house();
    let inner = house.project().join("repo/src/inner");
    fs::create_dir_all(house.project().join("repo/.git")).unwrap();
    write(&house.project().join(".claude/agents"), "outsider", "");
    write(&house.project().join("repo/.claude/agents"), "ada", "");
    write(&house.project().join("repo/.claude/agents"), "bob", "");
    write(&inner.join(".guildhall/agents"), "bob", "maxTurns: 3\n");
    let listed = within(&house, "repo/src/inner", &["agents"]).expect(0).stdout;
    assert_has(&listed, &["repo/.claude/agents/ada.md", "inner/.guildhall/agents/bob.md"]);
    assert_lacks(&listed, &["outsider", "repo/.claude/agents/bob.md"]);
    let ran = within(&house, "repo/src/inner", &["run", "When?", "--yes", "--agent", "ada", "--output", "json"]);
    let id = ran.expect(0).json()["session"].as_str().unwrap().to_owned();
    let project = inner.canonicalize().unwrap();
    assert_eq!(house.show(&id)["project"], project.to_str().unwrap(), "the project stays where the command was typed");
}

#[test]
fn without_a_repository_only_the_agents_of_the_project_itself_are_found() {
    let house = house();
    fs::create_dir_all(house.project().join("inner")).unwrap();
    write(&house.project().join(".claude/agents"), "outsider", "");
    assert_has(&within(&house, ".", &["agents"]).expect(0).stdout, &["outsider"]);
    assert_lacks(&within(&house, "inner", &["agents"]).expect(0).stdout, &["outsider"]);
}

#[test]
fn the_users_agents_of_claude_code_are_searched_after_the_users_own() {
    let house = house();
    write(&house.home().join("agents"), "ada", "");
    write(&house.home().join(".claude/agents"), "ada", "");
    write(&house.home().join(".claude/agents"), "bob", "");
    let listed = house.guildhall(&["agents"]).expect(0).stdout;
    assert_has(&listed, &["/agents/ada.md", "/.claude/agents/bob.md"]);
    assert_lacks(&listed, &["/.claude/agents/ada.md"]);
}

#[test]
fn what_agent_files_ask_for_and_is_not_here_is_one_line_and_the_map_has_the_list() {
    let house = house();
    let agents = house.project().join(".claude/agents");
    let asks = "tools: Read, Bash, Edit, Write, WebFetch, mcp__git__log\npermissionMode: plan\nmemory: user\n";
    for name in ["ada", "bob", "cyd", "dan"] {
        write(&agents, name, asks);
    }
    write(&agents, "lead", &format!("{asks}delegation: {{team: [ada, bob, cyd, dan]}}\n"));
    let line = "5 agent files ask for what guildhall does not have, which is ignored: Bash, Edit, WebFetch, Write, \
                mcp__git__log, memory, permissionMode. To list it, run: guildhall map\n";
    for args in [&["agents"][..], &["run", "When?", "--yes", "--agent", "lead"]] {
        let stderr = house.guildhall(args).expect(0).stderr;
        assert_has(&stderr, &[line]);
        assert_lacks(&stderr, &["isn't supported", "has no effect here", "not supported yet"]);
    }
    let map = house.guildhall(&["map", "--agent", "lead"]).expect(0).stdout;
    assert_eq!(map.matches("isn't supported; ignored").count(), 25, "{map}");
    assert_has(&map, &["ada.md:4: warning: Bash isn't supported", "ada.md:5: warning: the key permissionMode has no"]);
}
