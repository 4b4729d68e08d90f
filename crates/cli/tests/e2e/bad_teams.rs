//! Teams with errors: one clear message with the file and the line, an exit code, and no work is started.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::crew::{CREW, assert_has, assert_lacks, delegates, enlist, first, hires, shown};
use crate::house::{House, Known, MODEL, Running, Wire, says};

fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]))
}

/// Runs a team with this broken file. The run is refused with this message if another agent can hire the file's agent. Otherwise
/// the message is a warning.
#[track_caller]
fn check(file: &str, content: &[u8], line: u32, words: &str) {
    let place = format!("crew/{file}:{line}: ");
    for (team, hired) in [(hires(&["bob"]), true), (String::new(), false)] {
        let house = house();
        enlist(&house, &[("ada", &team)]);
        fs::write(house.project().join("crew").join(file), content).unwrap();
        if hired {
            refused(&house, &CREW, &[&format!("{place}error: "), words]);
        } else {
            let warning = format!("{place}warning: this file is not used: ");
            assert_has(&house.run(&CREW).expect(0).stderr, &[&warning, words]);
        }
    }
}

/// A run that does not start: there is no request and no session.
#[track_caller]
fn refused(house: &House, more: &[&str], words: &[&str]) {
    let ended = house.run(more).expect(2);
    assert_has(&ended.stderr, words);
    assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    let result = ended.json();
    assert_eq!((result.as_object().unwrap().len(), &result["exit_code"]), (2, &json!(2)), "{result:#}");
    assert_has(result["failure"].as_str().unwrap(), words);
    assert_eq!(house.requests().len(), 0);
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).expect(0).json(), json!([]));
}

#[test]
fn a_missing_team_is_named() {
    refused(&house(), &["--team", "nowhere"], &["--team nowhere: this directory does not exist"]);
}

#[test]
fn a_team_without_an_agent_is_named() {
    let house = house();
    fs::create_dir(house.project().join("crew")).unwrap();
    refused(&house, &CREW, &["--team crew: this directory has no agent files"]);
    fs::write(house.project().join("crew/readme.txt"), "nobody").unwrap();
    refused(&house, &CREW, &["--team crew: this directory has no agent files"]);
}

#[test]
fn a_team_that_is_a_file_is_named() {
    refused(&house(), &["--team", "notes.txt"], &["notes.txt"]);
}

#[test]
fn an_invalid_agent_file_is_named_with_its_line() {
    check("bob.md", b"", 1, "the file is empty");
    check("bob.md", b"\x00\xff\xfe\x80\x81", 1, "it is not a text file");
    check("bob.md", &vec![b'x'; 10 * 1024 * 1024], 1, "an agent file has at most");
    check("bob.md", b"Just words.\n", 1, "there is no front matter");
    check("bob.md", b"---\nname: bob\n", 1, "the front matter does not end");
    check("bob.md", b"---\nname: bob\ndescription: x\nbudget: {max: -1}\n---\n", 4, "budget.max: ");
    check("bob.md", b"---\nname: Bob the Builder!\ndescription: x\n---\n", 2, "a name can't have '!' there");
}

#[test]
fn a_bomb_of_anchors_is_refused_at_its_line() {
    let mut bomb = "---\nname: bob\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let nine = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{nine}]").unwrap();
    }
    bomb.push_str("---\nBoom.\n");
    check("bob.md", bomb.as_bytes(), 3, "anchors are not supported here");
}

#[test]
fn front_matter_that_is_nested_too_deep_or_too_long_is_refused() {
    let deep = format!("---\nname: bob\ndescription: {}\n---\n", "[".repeat(100_000));
    check("bob.md", deep.as_bytes(), 1, "front matter has at most");
    // A value with useless nesting is ignored, and the rest of the file is used.
    let deep = format!("---\nname: bob\ndescription: x\ntools: {}x{}\n---\n", "[".repeat(900), "]".repeat(900));
    let house = house();
    enlist(&house, &[("ada", &hires(&["bob"]))]);
    fs::write(house.project().join("crew/bob.md"), deep).unwrap();
    house.run(&CREW).expect(0);
}

#[test]
fn a_device_in_place_of_an_agent_file_is_not_read() {
    for target in ["/dev/zero", "/dev/stdin"] {
        let house = house();
        enlist(&house, &[("ada", &hires(&["bob"]))]);
        symlink(target, house.project().join("crew/bob.md")).unwrap();
        refused(&house, &CREW, &["crew/bob.md:1: error: it can't be read: it is not a file"]);
    }
}

#[test]
fn two_agents_of_one_name_are_refused_with_both_files() {
    let twin = b"---\nname: ada\ndescription: The other.\n---\nYou are another.\n";
    let house = house();
    enlist(&house, &[("ada", "")]);
    fs::write(house.project().join("crew/twin.md"), twin).unwrap();
    refused(&house, &CREW, &["crew/twin.md:2: error: the agent ada is also in "]);
}

#[test]
fn a_team_in_which_all_agents_are_hired_by_others_is_refused_with_the_cycle() {
    let house = house();
    enlist(&house, &[("ada", &hires(&["bob"])), ("bob", &hires(&["ada"]))]);
    let cycle = ["choose one with --agent: ada, bob", "crew/bob.md:5: ", "ada -> bob -> ada"];
    refused(&house, &CREW, &cycle);
    let mapped = house.guildhall(&["map", "--team", "crew"]).expect(2);
    assert_has(&mapped.stderr, &cycle);
}

#[test]
fn settings_without_effect_are_warnings_before_the_work_starts() {
    let house = house();
    let ineffective =
        "foo: 1\nmemory: project\ntools: [Read, Frobnicate]\ndelegation: {team: [bob, zoe], mode: sometimes}";
    enlist(&house, &[("ada", ineffective), ("bob", "")]);
    let warnings = house.run(&CREW).expect(0).stderr;
    assert_has(
        &warnings,
        &[
            "crew/ada.md:4: warning: the key foo is unknown and has no effect",
            "1 agent file asks for what guildhall does not have, which is ignored: memory. To list it, run: guildhall map --team crew\n",
            "crew/ada.md:6: warning: there is no tool named Frobnicate",
            "ada may hire zoe, but there is no agent of that name",
            "crew/ada.md:7: warning: delegation.mode is ignored",
        ],
    );
}

#[test]
fn several_possible_first_agents_are_listed() {
    let house = house();
    enlist(&house, &[("ada", ""), ("bob", "")]);
    refused(&house, &CREW, &["choose one with --agent: ada, bob"]);
    refused(&house, &[&CREW[..], &["--agent", "zoe"]].concat(), &["unknown agent \"zoe\"", "ada, bob"]);
}

#[test]
fn a_team_with_a_hiring_cycle_works_and_the_map_shows_the_cycle() {
    let house = house();
    enlist(&house, &[("ada", &hires(&["bob", "zoe"])), ("bob", &hires(&["ada"]))]);
    house.run(&[&CREW[..], &["--agent", "ada"]].concat()).expect(0);
    assert_eq!(
        shown(&house, "ada").len(),
        2,
        "an agent with a team of its own is asked whether a short text is its report"
    );
    let map = house.guildhall(&["map", "--team", "crew", "--agent", "ada"]);
    let said = format!("{}{}", map.stdout, map.stderr);
    assert_has(&said, &["crew/ada.md:5: ", "ada may hire zoe, but there is no agent of that name", "a hiring cycle"]);
}

#[test]
fn an_agent_whose_model_is_not_available_uses_another_and_its_file_is_named() {
    let rules = json!([first("lead", delegates("ada", "Look.", 900)), {"then": says("On Tuesday.")}]);
    let house = House::known(Wire::OpenAi, Known::AsReplaying, &rules);
    enlist(&house, &[("lead", &format!("model: opus\n{}", hires(&["ada"]))), ("ada", "model: haiku")]);
    let ended = house.run(&CREW).expect(0);
    for (name, model) in [("lead", "opus"), ("ada", "haiku")] {
        let warning =
            format!("crew/{name}.md: warning: {name} asks for model \"{model}\" and uses test/{MODEL} instead");
        assert_has(&ended.stderr, &[&warning]);
    }
    assert_eq!(ended.json()["bill"]["model"], format!("test/{MODEL}"));
    let named = house.run(&[&CREW[..], &["--model", &format!("test/{MODEL}")]].concat()).expect(0);
    assert_lacks(&named.stderr, &["asks for model"]);
}

#[test]
fn a_provider_without_its_key_is_named_with_the_variable_for_the_key() {
    let house = House::known(Wire::OpenAi, Known::AsReplaying, &json!([{"then": says("On Tuesday.")}]));
    let mut command = house.command(&["run", "When?", "--yes"]);
    command.env_remove("TEST_KEY");
    let ended = Running::start(command, "").end().expect(2);
    assert_has(&ended.stderr, &["the variable TEST_KEY is not set, and providers.test in ", "config.toml", "key_env"]);
    // Commands that need no key work without it.
    for args in [&["ls"][..], &["models"], &["run", "When?", "--model", "rehearsal"]] {
        let mut command = house.command(args);
        command.env_remove("TEST_KEY");
        Running::start(command, "").end().expect(0);
    }
    assert_eq!(house.requests().len(), 0);
}
