//! The map of a roster: its levels, the agents outside, the problems, and the text form.

use guildhall_agent::roster::{Roster, Source};
use guildhall_kernel::AgentName;
use insta::assert_snapshot;

use super::load::write;

/// Draws the map of agents, each given as name, hiring list and further front matter.
fn drawn(entry: &str, agents: &[(&str, &str, &str)]) -> String {
    let home = tempfile::tempdir().unwrap();
    for (name, team, more) in agents {
        let team = if team.is_empty() { String::new() } else { format!("\ndelegation: {{team: {team}}}") };
        write(home.path(), &format!("{name}.md"), &format!("name: {name}\ndescription: Does {name}.{team}{more}"));
    }
    let roster = Roster::load(&[Source::Named(home.path().to_owned())]);
    let map = roster.map(&AgentName::parse(entry).unwrap()).expect("the agent is on the roster");
    map.to_string().replace(&home.path().display().to_string(), "DIR")
}

#[test]
fn agents_are_at_their_shortest_distance_and_once() {
    let agents = [
        ("top", "[left, right]", ""),
        ("left", "[deep, right]", ""),
        ("right", "[deep]", ""),
        ("deep", "[leaf]", ""),
        ("leaf", "", ""),
        ("lone", "[leaf]", ""),
    ];
    assert_snapshot!(drawn("top", &agents), @r"
    5 agents across 4 levels
    top: Does top.
      left (+ right): Does left.
        deep: Does deep.
          leaf: Does leaf.
      right (+ deep): Does right.

    not hired by any of these agents:
      lone: Does lone.
    ");
    assert_snapshot!(drawn("leaf", &agents[4..5]), @r"
    1 agent across 1 level
    leaf: Does leaf.
    ");
}

#[test]
fn an_agent_that_may_hire_any_agent_has_all_agents_below() {
    assert_snapshot!(drawn("a", &[("a", "any", ""), ("b", "", ""), ("c", "any", "")]), @r"
    3 agents across 2 levels
    a: Does a.
      b: Does b.
      c (+ every agent that is not above it): Does c.
    ");
}

#[test]
fn unknown_names_cycles_and_missing_tools_are_problems_with_file_and_line() {
    let agents =
        [("a", "[b, ghost]", ""), ("b", "[c]", "\ntools: Read, Bash"), ("c", "[a, c]", ""), ("d", "{x: 1}", "")];
    assert_snapshot!(drawn("a", &agents), @r"
    3 agents across 3 levels
    a: Does a.
      b: Does b.
        c: Does c.

    not hired by any of these agents:
      d: Does d.

    problems:
      DIR/b.md:5: warning: Bash isn't supported; ignored
      DIR/a.md:4: warning: a may hire ghost, but there is no agent of that name
      DIR/c.md:4: warning: a hiring cycle, which is refused when the agents work: a -> b -> c -> a
      DIR/c.md:4: warning: a hiring cycle, which is refused when the agents work: c -> c
    ");
}

#[test]
fn cycles_of_recursive_agents_are_not_a_problem() {
    let recursive = |name, team| (name, "", format!("\ndelegation: {{team: [{team}], recursive: true}}"));
    let agents = [recursive("a", "b"), recursive("b", "a, b")];
    let agents: Vec<(&str, &str, &str)> =
        agents.iter().map(|(name, team, more)| (*name, *team, more.as_str())).collect();
    assert_snapshot!(drawn("a", &agents), @r"
    2 agents across 2 levels
    a: Does a.
      b (+ a, b): Does b.
    ");
}

#[test]
fn a_long_chain_does_not_overflow_the_stack() {
    let names: Vec<String> = (0..900).map(|number| format!("n{number:03}")).collect();
    let teams: Vec<String> = (1..=900).map(|number| format!("[n{:03}]", number % 900)).collect();
    let agents: Vec<(&str, &str, &str)> =
        names.iter().zip(&teams).map(|(name, team)| (name.as_str(), team.as_str(), "")).collect();
    let drawn = drawn("n000", &agents);
    assert!(drawn.starts_with("900 agents across 900 levels\n"));
    assert!(drawn.contains("n898 -> n899 -> n000"), "the cycle is a problem");
}

#[test]
fn a_description_is_one_line_without_control_characters() {
    let long = format!("\ncolor: red\ndescription: {}", "long ".repeat(40));
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "a.md", &format!("name: a{long}"));
    write(home.path(), "b.md", "name: b\ndescription: \"\\n\\e[31mred\\n\\nmore\"");
    let roster = Roster::load(&[Source::Named(home.path().to_owned())]);
    let map = |name| roster.map(&AgentName::parse(name).unwrap()).unwrap().to_string();
    let line = map("a").lines().nth(1).unwrap().to_owned();
    assert!(line.starts_with("a: long long") && line.ends_with('…') && line.chars().count() <= 80, "{line}");
    assert_eq!(map("b").lines().nth(1), Some("b: [31mred"));
    assert_eq!(roster.map(&AgentName::parse("nobody").unwrap()), None);
}

/// The map of a team whose agents all list each other: its text, and the number of its problems.
fn of_all_pairs(agents: usize) -> (String, usize) {
    let home = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..agents).map(|number| format!("n{number:03}")).collect();
    let team = names.join(", ");
    for name in &names {
        let front = format!("name: {name}\ndescription: Does {name}.\ndelegation: {{team: [{team}]}}");
        write(home.path(), &format!("{name}.md"), &front);
    }
    let roster = Roster::load(&[Source::Named(home.path().to_owned())]);
    let map = roster.map(&AgentName::parse("n000").unwrap()).expect("the agent is on the roster");
    (map.to_string().replace(&home.path().display().to_string(), "DIR"), map.problems.len())
}

#[test]
fn the_map_of_agents_that_all_list_each_other_grows_with_the_pairs() {
    let ((small, _), (large, problems)) = (of_all_pairs(60), of_all_pairs(240));
    // Four times the agents have 16 times the pairs and 64 times the agents on their cycles.
    assert!(large.len() <= 17 * small.len(), "{} bytes, then {}", small.len(), large.len());
    assert_eq!(problems, 21);
    assert!(large.ends_with("28900 more hiring cycles, which are refused, too\n"), "{}", large.lines().last().unwrap());
    assert!(large.contains(": n000 -> n000\n"), "the first cycles are described");
}
