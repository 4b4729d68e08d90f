//! Front matter, and the agent and the problems that are read from it. Front matter that strict YAML refuses is read as its
//! author meant it.

use super::{drawn, read};

#[track_caller]
fn check(front: &str, expect: &[&str]) {
    assert_eq!(drawn(&read(front)).lines().collect::<Vec<_>>(), expect, "{front}");
}

#[test]
fn the_plain_case() {
    check("name: a\ndescription: Reads logs.", &["a: Reads logs."]);
}

#[test]
fn colons_in_a_value() {
    check(
        "name: a\ndescription: Use when: reviewing. Context: x",
        &[
            "a: Use when: reviewing. Context: x",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn bold() {
    check(
        "name: a\ndescription: **Bold** words",
        &["a: **Bold** words", "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes"],
    );
}

#[test]
fn a_mention() {
    check(
        "name: a\ndescription: @mention me",
        &["a: @mention me", "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes"],
    );
}

#[test]
fn new_lines_written_as_backslash_n() {
    check(
        "name: a\ndescription: Use it.\\n<example>\\nuser: \"hi\"\\n</example>",
        &[
            "a: Use it.⏎<example>⏎user: \"hi\"⏎</example>",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn a_number_that_yaml_takes_for_a_comment() {
    check(
        "name: a\ndescription: fix issue #12 now",
        &[
            "a: fix issue",
            "x.md:3: warning: the value of description ends at a #, which starts a comment: put the value in quotes",
        ],
    );
}

#[test]
fn a_real_comment() {
    check("name: a\ndescription: fix it # soon", &["a: fix it"]);
}

#[test]
fn tools_with_commas() {
    check("name: a\ndescription: d\ntools: Read, Grep", &["a: d", "tools [\"read_file\", \"search\"]"]);
}

#[test]
fn tools_as_a_list() {
    check(
        "name: a\ndescription: d\ntools:\n  - Read\n  - LS\n  - Glob",
        &["a: d", "tools [\"read_file\", \"list_files\"]"],
    );
}

#[test]
fn tools_in_brackets() {
    check("name: a\ndescription: d\ntools: [Read, Grep, search]", &["a: d", "tools [\"read_file\", \"search\"]"]);
}

#[test]
fn hiring_lists_and_patterns_among_tools() {
    check(
        "name: a\ndescription: d\ntools: Agent(b, c), Bash(git *), Read",
        &[
            "a: d",
            "tools [\"read_file\"]",
            "hires [b@4 c@4] Offered Agent",
            "x.md:4: warning: Bash isn't supported; ignored",
        ],
    );
}

#[test]
fn other_words_for_yes_and_numbers_in_quotes() {
    check("name: a\ndescription: d\nbackground: yes\nmaxTurns: \"5\"", &["a: d", "turns 5", "background"]);
}

#[test]
fn max_turns_with_an_underscore() {
    check("name: a\ndescription: d\nmax_turns: 30", &["a: d", "turns 30"]);
}

#[test]
fn brackets_that_are_not_a_list() {
    check(
        "name: a\ndescription: [WIP] Reads logs.",
        &[
            "a: [WIP] Reads logs.",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn a_backtick() {
    check(
        "name: a\ndescription: `cargo test` runner",
        &[
            "a: `cargo test` runner",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn an_exclamation_mark_that_is_not_a_tag() {
    check(
        "name: a\ndescription: !important stuff",
        &[
            "a: !important stuff",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn a_percent_sign() {
    check(
        "name: a\ndescription: %done is shown",
        &["a: %done is shown", "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes"],
    );
}

#[test]
fn quotes_and_more_after_them() {
    check(
        "name: a\ndescription: \"Quick\" reader of logs",
        &[
            "a: \"Quick\" reader of logs",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn an_apostrophe_within_quotes() {
    check(
        "name: a\ndescription: 'it's fine'",
        &["a: it's fine", "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes"],
    );
}

#[test]
fn a_colon_at_the_end() {
    check(
        "name: a\ndescription: Reads these things:",
        &[
            "a: Reads these things:",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn no_blank_after_a_colon() {
    check("name:a\ndescription:Reads logs.", &["a: Reads logs."]);
}

#[test]
fn tabs() {
    check("name: a\ndescription: d\ntools:\n\t- Read\n\t- Grep", &["a: d", "tools [\"read_file\", \"search\"]"]);
}

#[test]
fn examples_over_several_lines() {
    check(
        "name: a\ndescription: Use this agent when x. Examples:\n<example>\nContext: The user asks.\nuser: \"Check my code\"\nassistant: \"I'll use the a agent\"\n</example>\nmodel: opus\ncolor: red",
        &[
            "a: Use this agent when x. Examples:⏎<example>⏎Context: The user asks.⏎user: \"Check my code\"⏎assistant: \"I'll use the a agent\"⏎</example>",
            "model opus",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn a_folded_block() {
    check("name: a\ndescription: >\n  Reads\n  logs: all\nmodel: inherit", &["a: Reads logs: all"]);
}

#[test]
fn a_literal_block() {
    check("name: a\ndescription: |\n  Reads\n  logs\n", &["a: Reads⏎logs"]);
}

#[test]
fn a_block_that_yaml_refuses() {
    check(
        "name: a\ndescription: |\n    Reads\n  logs\nmodel: x",
        &[
            "a: Reads⏎logs",
            "model x",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn lines_from_windows() {
    check(
        "name: a\r\ndescription: Use when: x\r\nmodel: sonnet\r",
        &[
            "a: Use when: x",
            "model sonnet",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn known_keys_without_effect_and_an_unknown_one() {
    check(
        "name: a\ndescription: d\npermissionMode: plan\nhooks: {}\nfavourite: 1",
        &[
            "a: d",
            "x.md:4: warning: the key permissionMode has no effect here",
            "x.md:5: warning: the key hooks has no effect here",
            "x.md:6: warning: the key favourite is unknown and has no effect",
        ],
    );
}

#[test]
fn a_key_that_appears_twice() {
    check(
        "name: a\ndescription: d\nmodel: x\nmodel: y",
        &["a: d", "model x", "x.md:5: warning: the key model appears twice; the first one is used"],
    );
}

#[test]
fn no_name() {
    check("description: d", &["x: d", "x.md:2: warning: there is no name: x is used, from the name of the file"]);
}

#[test]
fn no_description() {
    check("name: a", &["a: ", "x.md:2: warning: there is no description: say when to hire this agent"]);
}

#[test]
fn unavailable_and_unknown_tools() {
    check(
        "name: a\ndescription: d\ntools: Read, Bash, Edit, mcp__git__log, Fly",
        &[
            "a: d",
            "tools [\"read_file\"]",
            "x.md:4: warning: Bash isn't supported; ignored",
            "x.md:4: warning: Edit isn't supported; ignored",
            "x.md:4: warning: mcp__git__log isn't supported; ignored",
            "x.md:4: warning: there is no tool named Fly",
        ],
    );
}

#[test]
fn every_tool_except_some() {
    check("name: a\ndescription: d\ntools: \"*\"\ndisallowedTools: Grep, Write", &["a: d", "not [\"search\"]"]);
}

#[test]
fn any_agent_may_be_hired() {
    check(
        "name: a\ndescription: d\ntools: Read, Task",
        &["a: d", "tools [\"read_file\"]", "hires [anybody] Offered Agent"],
    );
}

#[test]
fn an_agent_whose_hiring_is_disallowed() {
    check(
        "name: a\ndescription: d\ntools: Read, Agent(b)\ndisallowedTools: [Agent]",
        &["a: d", "tools [\"read_file\"]"],
    );
}

#[test]
fn several_hiring_lists() {
    check(
        "name: a\ndescription: d\ntools: Agent(b), Task(c, b), Agent",
        &["a: d", "tools []", "hires [b@4 c@4] Offered Agent"],
    );
}

#[test]
fn all_keys_of_guildhall() {
    check(
        "name: a\ndescription: d\nspecialties: [logs, log analysis]\nmemory: project\ndelegation:\n  team: [b, c]\n  mode: cascade\n  dialect: delegate_to_agent\n  recursive: true\n  ad_hoc: on\n  terms:\n    - Under $900.\n    - \"Cite: all\"\n  accept: {receipts: true, files: [a.md], command: make, schema: {type: object, required: [a]}, sum: {of: items.price, max: $900}}\nbudget:\n  default: 500\n  max: 2000msat\n  severance: 20sat\n  fee: 0.05usd",
        &[
            "a: d",
            "specialties [\"logs\", \"log analysis\"]",
            "hires [b@7 c@7] Cascade DelegateToAgent recursive ad hoc [\"Under $900.\", \"Cite: all\"] [Schema(Schema(Object {\"type\": String(\"object\"), \"required\": Array [String(\"a\")]})), Sum(Sum { of: \"items.price\", max: Hundredths(90000) }), Receipts, Files([\"a.md\"])]",
            "default 500sat",
            "max 2sat",
            "severance 20sat",
            "fee $0.05",
            "x.md:5: warning: memory is not supported yet: the agent works without it",
            "x.md:15: warning: delegation.accept.command is not supported yet, since it needs the sandbox: the command is not run",
        ],
    );
}

#[test]
fn a_team_in_the_tools_and_the_rest_in_delegation() {
    check(
        "name: a\ndescription: d\ntools: Agent(b)\ndelegation: {mode: required}",
        &["a: d", "tools []", "hires [b@4] Required Agent"],
    );
}

#[test]
fn delegation_in_one_word() {
    check("name: a\ndescription: d\ndelegation: true", &["a: d", "hires [anybody] Offered DelegateTask"]);
}

#[test]
fn a_team_with_commas_and_with_wrong_names() {
    check(
        "name: a\ndescription: d\ndelegation: {team: \"b, ../c\", mode: sometimes, colour: red}",
        &[
            "a: d",
            "hires [b@4] Offered DelegateTask",
            "x.md:4: warning: ../c is ignored: it must be the name of an agent",
            "x.md:4: warning: delegation.mode is ignored: it must be offered, required or cascade",
            "x.md:4: warning: the key delegation.colour is unknown and has no effect",
        ],
    );
}

#[test]
fn a_budget_in_one_amount() {
    check("name: a\ndescription: d\nbudget: $1.50", &["a: d", "default $1.50"]);
}

#[test]
fn values_that_can_t_be_used() {
    check(
        "name: a\ndescription: d\nmaxTurns: many\nbackground: perhaps\nmemory: all\nmodel: [x]",
        &[
            "a: d",
            "x.md:4: warning: maxTurns is ignored: it must be a whole number above zero",
            "x.md:5: warning: background is ignored: it must be true or false",
            "x.md:6: warning: memory is ignored: it must be user, project or local",
            "x.md:7: warning: model is ignored: it must be a text",
        ],
    );
}

#[test]
fn numbers_stay_as_they_were_written() {
    check("name: 1.10\ndescription: 007\nmodel: 4.10", &["1.10: 007", "model 4.10"]);
}

#[test]
fn wrong_lines_beside_nested_ones() {
    check(
        "name: a\ndescription: Use when: x\ndelegation:\n  team: [b]\nbudget:\n  max: 5usd",
        &[
            "a: Use when: x",
            "hires [b@5] Offered DelegateTask",
            "max $5.00",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn wrong_lines_within_nested_ones() {
    check(
        "name: a\ndescription: d\ndelegation:\n\tteam: [b]\n\tterms: Flights: under 900\nbudget:\n  max: 5usd",
        &[
            "a: d",
            "hires [b@5] Offered DelegateTask [\"Flights: under 900\"]",
            "max $5.00",
            "x.md:6: warning: delegation.terms is not valid YAML and was read as text: put it in quotes",
        ],
    );
}

#[test]
fn no_tools() {
    check("name: a\ndescription: d\ntools: Read, Agent\ndisallowedTools: \"*\"", &["a: d", "tools []"]);
}

#[test]
fn comments_between_lines() {
    check(
        "# an agent\nname: a\n# what it does\ndescription: Use when: x\n",
        &["a: Use when: x", "x.md:5: warning: description is not valid YAML and was read as text: put it in quotes"],
    );
}

#[test]
fn a_list_as_far_left_as_its_key() {
    check(
        "name: a\ndescription: Use when: x\ntools:\n- Read\n- Grep",
        &[
            "a: Use when: x",
            "tools [\"read_file\", \"search\"]",
            "x.md:3: warning: description is not valid YAML and was read as text: put it in quotes",
        ],
    );
}
