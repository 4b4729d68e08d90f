//! The teams in `examples/`: each loads without an error, and is the team that its README draws.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use guildhall_agent::checks::{Report, perform};
use guildhall_agent::roster::{AgentFile, Roster, Severity, Source};
use guildhall_kernel::AgentName;

use super::load::problems;

/// The examples: the directory of the agents, the first agent, and the warnings.
const TEAMS: &[(&str, &str, &str, &[&str])] = &[
    ("travel", "travel/agents", "head-travel-agent", &[]),
    ("travel-flat", "travel-flat/agents", "head-travel-agent", &[]),
    ("research", "research/agents", "research-lead", &[]),
    (
        "claude",
        "claude/.claude/agents",
        "tech-lead",
        &[
            "DIR/bug-hunter.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
            "DIR/bug-hunter.md:4: warning: Bash isn't supported; ignored",
            "DIR/tech-lead.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
            "DIR/test-writer.md:10: warning: Write isn't supported; ignored",
            "DIR/test-writer.md:10: warning: Edit isn't supported; ignored",
            "DIR/test-writer.md:13: warning: the key permissionMode has no effect here",
        ],
    ),
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn loaded(agents: &str) -> Roster {
    Roster::load(&[Source::Named(examples().join(agents))])
}

fn get<'a>(roster: &'a Roster, name: &str) -> &'a AgentFile {
    roster.get(&AgentName::parse(name).unwrap()).expect("the agent is on the roster")
}

/// Returns the map as a README shows it: without descriptions.
fn drawn(roster: &Roster, entry: &str) -> String {
    let map = roster.map(&AgentName::parse(entry).unwrap()).expect("the agent is on the roster").to_string();
    let tree = map.lines().take_while(|line| !line.is_empty());
    tree.map(|line| line.split(": ").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_team_loads_without_an_error() {
    for (_, agents, _, warnings) in TEAMS {
        let roster = loaded(agents);
        assert!(roster.problems().iter().all(|problem| problem.severity == Severity::Warning), "{agents}");
        assert_eq!(problems(&roster, &examples().join(agents)), *warnings, "{agents}");
    }
}

#[test]
fn every_team_is_on_as_many_levels_as_its_readme_draws() {
    let counts =
        TEAMS.iter().map(|(_, agents, entry, _)| drawn(&loaded(agents), entry).lines().next().map(str::to_owned));
    assert_eq!(
        counts.collect::<Option<Vec<_>>>().unwrap(),
        [
            "6 agents across 4 levels",
            "6 agents across 3 levels",
            "4 agents across 2 levels",
            "3 agents across 2 levels",
        ]
    );
    for (example, agents, entry, _) in TEAMS {
        let roster = loaded(agents);
        let map = roster.map(&AgentName::parse(entry).unwrap()).unwrap();
        assert!(map.apart.is_empty() && map.problems == roster.problems(), "{example}: {map}");
        let readme = fs::read_to_string(examples().join(example).join("README.md")).unwrap();
        let tree = drawn(&roster, entry);
        assert!(readme.contains(&format!("```text\n{tree}\n```")), "{example}/README.md does not draw\n{tree}");
        assert!(
            readme.contains("guildhall run ") && readme.contains(&format!("--agent {entry}")),
            "{example}/README.md"
        );
    }
}

#[test]
fn no_example_has_an_error() {
    let directories = fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    let teams = directories.flat_map(|example| [example.join("agents"), example.join(".claude/agents")]);
    let teams: Vec<PathBuf> = teams.filter(|team| team.is_dir()).collect();
    assert!(teams.len() >= TEAMS.len(), "{teams:?}");
    for team in teams {
        let roster = Roster::load(&[Source::Named(team.clone())]);
        assert!(roster.problems().iter().all(|problem| problem.severity == Severity::Warning), "{}", team.display());
    }
}

#[test]
fn the_whole_directory_of_an_example_loads_as_the_same_team() {
    for example in ["travel", "travel-flat", "research"] {
        let (whole, agents) = (loaded(example), loaded(&format!("{example}/agents")));
        let names = |roster: &Roster| roster.agents().map(|agent| agent.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&whole), whole.problems()), (names(&agents), agents.problems()), "{example}");
    }
}

#[test]
fn the_travel_filter_passes_its_caps_down_and_refuses_reports_over_them() {
    for team in ["travel/agents", "travel-flat/agents"] {
        let roster = loaded(team);
        let filter = get(&roster, "financial-agent").delegation.as_ref().unwrap();
        assert!(filter.terms.contains(&"Flights: at most $900 in total.".to_owned()), "{team}");
        let of_flights = filter.accept_of.iter().filter(|of| of.agent.name.as_str() == "flight-agent");
        let checks: Vec<_> = filter.accept.iter().chain(of_flights.flat_map(|of| &of.checks)).collect();
        let failures = |words: &str| {
            let report = Report { words, receipts: &BTreeSet::new(), exists: &|_| false };
            checks.iter().filter_map(|check| perform(check, &report).err()).collect::<Vec<_>>().join("\n")
        };
        let booked = |price: &str| {
            format!("The best.\n```json\n{{\"options\": [{{\"name\": \"LAX - Rome\", \"price_usd\": {price}}}]}}\n```")
        };
        assert_eq!(failures(&booked("850")), "");
        assert!(failures(&booked("1900")).contains("is 1000 over the cap of 900"), "{}", failures(&booked("1900")));
        assert!(failures(&booked("\"$850\"")).contains("options[0].price_usd: expected a number"), "{team}");
        assert!(failures("A flight for $850.").contains("no structured output"), "{team}");
    }
}

#[test]
fn the_example_blocks_in_instructions_pass_the_hirer_s_checks() {
    let roster = loaded("travel/agents");
    for (hirer, hires) in [
        ("scheduling-agent", &["financial-agent"][..]),
        ("financial-agent", &["flight-agent", "experiences-agent", "food-agent"]),
    ] {
        let how = get(&roster, hirer).delegation.as_ref().unwrap();
        for hire in hires {
            let of_hire = how.accept_of.iter().filter(|of| of.agent.name.as_str() == *hire);
            let checks = how.accept.iter().chain(of_hire.flat_map(|of| &of.checks));
            let words = &get(&roster, hire).instructions;
            let report = Report { words, receipts: &BTreeSet::new(), exists: &|_| false };
            let results: Vec<_> = checks.map(|check| perform(check, &report)).collect();
            assert_eq!(results, [Ok(()), Ok(())], "{hirer} hires {hire}");
        }
    }
}

#[test]
fn researchers_work_in_the_background_and_the_lead_does_not() {
    for agent in loaded("research/agents").agents() {
        assert_eq!(agent.background, agent.name.as_str() != "research-lead", "{}", agent.name);
    }
}

#[test]
fn a_claude_team_keeps_its_models_limits_and_hiring_list() {
    let roster = loaded("claude/.claude/agents");
    let (lead, hunter) = (get(&roster, "tech-lead"), get(&roster, "bug-hunter"));
    assert_eq!((&lead.model, lead.turns_max), (&None, Some(20)));
    assert_eq!((&hunter.model, hunter.turns_max), (&Some("sonnet".to_owned()), Some(15)));
    assert!(hunter.description.starts_with("Use when: something fails"), "{}", hunter.description);
    assert!(lead.delegation.is_some() && hunter.delegation.is_none());
}
