//! The key `delegation.accept`: its checks are read as they are written, or refused with their line.

use guildhall_agent::checks::Check;

use super::{drawn, read};

/// Compares the checks and the problems of a file with the expected texts.
#[track_caller]
fn check(accept: &str, expect: &[&str]) {
    let taken = read(&format!("name: a\ndescription: d\ndelegation:\n  team: [b]\n  accept:\n{accept}"));
    let checks = taken.agent.iter().filter_map(|agent| agent.delegation.as_ref());
    let checks: Vec<String> = checks.flat_map(|delegation| &delegation.accept).map(Check::to_text).collect();
    let problems = taken.problems.iter().map(ToString::to_string);
    assert_eq!(checks.into_iter().chain(problems).collect::<Vec<_>>(), expect, "{accept}");
}

#[test]
fn every_check_can_be_read_back_from_its_text() {
    check(
        "    schema: {type: object, properties: {a: {enum: [x, 1, \"1\"]}}}\n    sum: {of: a.b, max: 900.5}\n    receipts: yes\n    files: [out.md, b]",
        &[
            r#"{"schema":{"type":"object","properties":{"a":{"enum":["x",1,"1"]}}}}"#,
            r#"{"sum":{"of":"a.b","max":"900.50"}}"#,
            r#""receipts""#,
            r#"{"files":["out.md","b"]}"#,
        ],
    );
    for text in
        [r#"{"schema":{"type":"object"}}"#, r#"{"sum":{"of":"a","max":"0"}}"#, r#""receipts""#, r#"{"files":[]}"#]
    {
        assert_eq!(text.parse::<Check>().unwrap().to_text(), text);
    }
}

#[test]
fn keywords_that_are_not_supported_are_refused_with_their_line() {
    check(
        "    schema:\n      type: object\n      properties:\n        a:\n          type: string\n          pattern: ^x\n        b: {$ref: \"#/a\"}\n      oneOf: []",
        &[
            "x.md:12: error: delegation.accept.schema.properties.a.pattern: the keyword pattern is not supported here, so it can't be checked",
            "x.md:13: error: delegation.accept.schema.properties.b.$ref: the keyword $ref is not supported here, so it can't be checked",
            "x.md:14: error: delegation.accept.schema.oneOf: the keyword oneOf is not supported here, so it can't be checked",
        ],
    );
}

#[test]
fn keywords_that_demand_nonsense_are_refused_with_their_line() {
    check(
        "    schema:\n      type: objekt\n      required: a\n      minItems: -1\n      additionalProperties: {type: string}\n      items: [a]\n      enum: []\n      maximum: many\n      properties: 3\n      title: anything",
        &[
            "x.md:8: error: delegation.accept.schema.type: it must be one of object, array, string, number, integer, boolean, null, or a list of them",
            "x.md:9: error: delegation.accept.schema.required: it must be a list of keys",
            "x.md:10: error: delegation.accept.schema.minItems: it must be a whole number, not below zero",
            "x.md:11: error: delegation.accept.schema.additionalProperties: only true or false is supported here",
            "x.md:12: error: delegation.accept.schema.items: a schema must be a map",
            "x.md:13: error: delegation.accept.schema.enum: it must be a list of values",
            "x.md:14: error: delegation.accept.schema.maximum: it must be a number",
            "x.md:15: error: delegation.accept.schema.properties: it must be a map",
        ],
    );
    check("    schema: object", &["x.md:7: error: delegation.accept.schema: a schema must be a map"]);
    check(
        "    schema:\n      type: object\n      type: array",
        &["x.md:9: error: delegation.accept.schema: the key type appears twice"],
    );
}

#[test]
fn a_wrong_sum_is_refused_with_its_line() {
    let bad = |key: &str, why: &str| format!("x.md:7: error: delegation.accept.sum{key}: {why}");
    for (sum, expect) in [
        ("900", bad("", "it must be a map of `of` and `max`")),
        ("{of: a}", bad("", "it needs both `of` and `max`")),
        ("{max: 9}", bad("", "it needs both `of` and `max`")),
        ("{of: a, max: -1}", bad(".max", "it is negative: write what it costs")),
        ("{of: a, max: NaN}", bad(".max", "it is not an amount: write a plain number such as 850 or 850.50")),
        ("{of: a, max: [9]}", bad(".max", "it is not an amount: write a plain number such as 850 or 850.50")),
        ("{of: a, max: 1e3}", bad(".max", "it is not an amount: write a plain number such as 850 or 850.50")),
        ("{of: a, max: 0.001}", bad(".max", "it has more than two digits after the point")),
        ("{of: a, max: 99999999999999999999}", bad(".max", "it is larger than 10000000000000")),
        (
            "{of: a..b, max: 9}",
            bad(".of", "\"a..b\" is not a place: write keys joined by dots, such as options.price_usd"),
        ),
        ("{of: \"\", max: 9}", bad(".of", "\"\" is not a place: write keys joined by dots, such as options.price_usd")),
    ] {
        check(&format!("    sum: {sum}"), &[&expect]);
    }
}

#[test]
fn a_command_gives_a_warning_and_is_not_run() {
    let warning = "x.md:7: warning: delegation.accept.command is not supported yet, since it needs the sandbox: the command is not run";
    check("    command: make test", &[warning]);
    let taken = read("name: a\ndescription: d\ndelegation: {team: [b], accept: 7}");
    assert_eq!(
        drawn(&taken).lines().last(),
        Some(
            "x.md:4: error: delegation.accept: it must be a map with one or more of the keys schema, sum, receipts and files"
        )
    );
}

/// Compares the checks of single agents, and the problems of a file, with the expected texts.
#[track_caller]
fn check_of(accept_of: &str, expect: &[&str]) {
    let taken = read(&format!("name: a\ndescription: d\ndelegation:\n  team: [b, c]\n  accept_of:\n{accept_of}"));
    let all = taken.agent.iter().filter_map(|agent| agent.delegation.as_ref()).flat_map(|how| &how.accept_of);
    let checks = all.flat_map(|of| of.checks.iter().map(|check| format!("{}: {}", of.agent.name, check.to_text())));
    let problems = taken.problems.iter().map(ToString::to_string);
    assert_eq!(checks.chain(problems).collect::<Vec<_>>(), expect, "{accept_of}");
}

#[test]
fn checks_of_single_agents_are_read_and_wrong_ones_are_refused_with_their_line() {
    check_of(
        "    b: {sum: {of: x.price, max: 900}}\n    c:\n      receipts: yes\n      files: [out.md]",
        &[r#"b: {"sum":{"of":"x.price","max":"900"}}"#, r#"c: "receipts""#, r#"c: {"files":["out.md"]}"#],
    );
    check_of(
        "    d: {receipts: yes}\n    b: {sum: {of: x}}\n    c: 7",
        &[
            "x.md:7: error: delegation.accept_of.d: d is not on the team, so nobody is checked",
            "x.md:8: error: delegation.accept_of.b.sum: it needs both `of` and `max`",
            "x.md:9: error: delegation.accept_of.c: it must be a map with one or more of the keys schema, sum, receipts and files",
        ],
    );
    check_of(
        "    - b",
        &["x.md:7: error: delegation.accept_of: it must be a map from the name of an agent to its checks"],
    );
}
