//! The agents that come with Guildhall.

use guildhall_agent::roster::{Roster, Source};
use guildhall_kernel::{AgentName, ToolName};
use insta::assert_snapshot;

#[test]
fn the_built_in_roster_is_complete_and_without_problems() {
    let roster = Roster::load(&[Source::BuiltIn]);
    let map = roster.map(&AgentName::parse("general-contractor").unwrap()).unwrap();
    assert_snapshot!(map, @"
    7 agents across 2 levels
    general-contractor (+ specialists): Takes on a whole undertaking, breaks it down, hires specialists for the…
      coder: Plans code changes. Hire it with a clear goal and the files concerned; i…
      investigator (+ specialists): Finds things out. Hire it to learn how something works, where something…
      researcher: Gathers what the project's files say on a topic and sums it up with sour…
      reviewer: Reviews code, plans and texts with fresh eyes. Hire it before something…
      tester: Tries to break things. Hire it to design tests, to find the cases that w…
      writer: Writes for readers. Hire it for documentation, summaries, reports, messa…
    ");
}

#[test]
fn built_in_agents_have_instructions_and_tools_that_exist() {
    for agent in Roster::load(&[Source::BuiltIn]).agents() {
        assert!(agent.instructions.len() > 400 && agent.instructions.len() < 2000, "{}", agent.name);
        for tool in ["read_file", "list_files", "search"] {
            assert!(agent.may_use(&ToolName::parse(tool).unwrap()), "{}", agent.name);
        }
        let hires = agent.delegation.is_some();
        assert_eq!(hires, ["general-contractor", "investigator"].contains(&agent.name.as_str()), "{}", agent.name);
    }
}
