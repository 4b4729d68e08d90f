//! Teams at work: the first commands of the README, what each agent sees, and what each agent costs.

use std::fs;

use serde_json::{Value, json};

use crate::crew::{
    CREW, always, answer, assert_has, assert_lacks, by, calls, delegates, first, hires, repository, rule, shown,
    staffed, stalls, worked,
};
use crate::house::{Ended, House, KEY, Known, MODEL, Running, WIRES, Wire, msat, reads, says, wait_for};

/// The README's first command, with another question, in the repository's root.
fn rehearse(question: &str) -> Ended {
    let house = House::new(Wire::Anthropic, &json!([]));
    let args = ["run", "--model", "rehearsal", "--team", "examples/payment", "--budget", "500sat", question];
    let mut command = house.command(&args);
    command.current_dir(repository());
    let ended = Running::start(command, "").end();
    assert_eq!(house.requests(), Vec::<Value>::new(), "a rehearsal makes no request");
    ended
}

#[test]
fn the_first_command_of_the_readme_finds_the_fault_and_the_chain_of_evidence() {
    let known: toml::Table = fs::read_to_string(repository().join("examples/payment.toml")).unwrap().parse().unwrap();
    let says = |what: &str| known[what].as_str().unwrap();
    let ended = rehearse(says("question")).expect(0);
    let fault = format!("{}:", says("fault"));
    assert_has(&ended.stdout, &["rehearsal: no language model", &fault, "\nchain: ", says("config"), "logs/"]);
    assert_has(&ended.stderr, &["1.2.1.2 ", "every balance adds up"]);
    // The costs of the contracts add up to the total.
    let cost = |line: &&str| line.split(" sat").next()?.split(' ').next_back()?.parse::<f64>().ok();
    let table = || ended.stderr.lines().skip_while(|line| !line.contains("bytes in"));
    let lines = || table().take_while(|line| !line.starts_with("  total ")).filter(|line| line.starts_with("  1"));
    let all = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("  total ")?.split_once("used ")?.1.split(" sat").next());
    let (sum, all): (f64, f64) = (lines().filter_map(|line| cost(&line)).sum(), all.unwrap().parse().unwrap());
    assert!(lines().count() == 10 && (sum - all).abs() < 0.0005, "{sum} and {all}: {}", ended.stderr);
}

#[test]
fn a_question_without_matches_hires_no_agent() {
    let ended = rehearse("xyzzy plugh frobnicate?").expect(0).says("every balance adds up");
    assert_has(
        &ended.stdout,
        &[
            "rehearsal: no language model",
            "Nothing matches",
            "`xyzzy` in all files of the project (no line)",
            "Nobody was hired",
        ],
    );
    assert_lacks(&ended.stderr, &[" hired ", "1.1"]);
}

#[test]
fn the_finding_of_a_hire_three_levels_down_is_in_the_answer() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                first("lead", delegates("mid", "Ask low.", 2000)),
                first("mid", delegates("low", "Ask leaf.", 1000)),
                first("low", delegates("leaf", "Look into the notes.", 500)),
                first("leaf", reads(&["notes.txt"])),
                always("leaf", says("notes.txt:1 says so: {{tool_result}}")),
                {"then": says("I heard: {{tool_result}}")},
            ]),
        );
        let house = staffed(
            house,
            &[("lead", &hires(&["mid"])), ("mid", &hires(&["low"])), ("low", &hires(&["leaf"])), ("leaf", "")],
        );
        let result = house.run(&CREW).expect(0).json();
        assert_has(answer(&result), &["notes.txt:1", "the meeting is on Tuesday"]);
        assert_eq!(worked(&result), ["1 lead done", "1.1 mid done", "1.1.1 low done", "1.1.1.1 leaf done"]);
    }
}

#[test]
fn an_agent_sees_only_its_own_team() {
    for wire in WIRES {
        let house = House::new(wire, &json!([first("lead", delegates("ada", "Look.", 900)), {"then": says("Done.")}]));
        let house = staffed(
            house,
            &[
                ("lead", &hires(&["ada", "bob"])),
                ("ada", &format!("specialties: [lookery]\n{}", hires(&["eve"]))),
                ("bob", ""),
                ("eve", ""),
            ],
        );
        house.run(&CREW).expect(0);
        let lead = house.requests().swap_remove(0);
        let team = ["ada: Knows all about adary.", "lookery", "bob: Knows all about bobry."];
        assert_has(&lead.to_string(), &team);
        for line in team {
            assert_eq!(lead.to_string().matches(line).count(), 1, "the team is listed once: {line}");
        }
        assert_lacks(&lead.to_string(), &["everybody else", "Knows all about every."]);
        let ada = shown(&house, "ada").swap_remove(0);
        assert_has(&ada, &["eve: Knows all about every."]);
        assert_lacks(&ada, &["bobry"]);
    }
}

/// The agents of the travel example, by the first words of their instructions.
const TRAVELLERS: [&str; 6] = [
    "You plan trips",
    "You fix when things happen.",
    "You are the filter between wishes and money.",
    "You find flights.",
    "You find things to do.",
    "You find places to eat.",
];

/// The final answer of both travel teams.
const PLAN: &str = "Booked: flight A for $850, tour B for $75, tables C for $250. In all $1175.";

/// The condition that a request has tool results, or has none.
fn has(has: bool) -> Value {
    json!({"has_tool_result": has})
}

/// The replies of the financial agent and its hires. The first flight offer is too expensive. `hire` returns a hiring call.
fn offers(hire: impl Fn(&str) -> (&'static str, Value)) -> Vec<Value> {
    let [.., financial, flights, experiences, food] = TRAVELLERS;
    let books = |what: &str, price: u64| {
        says(&format!("This.\n```json\n{{\"options\": [{{\"name\": \"{what}\", \"price_usd\": {price}}}]}}\n```"))
    };
    let all = "```json\n{\"options\": [{\"category\": \"flights\", \"name\": \"A\", \"price_usd\": 850}, \
        {\"category\": \"experiences\", \"name\": \"B\", \"price_usd\": 75}, \
        {\"category\": \"food\", \"name\": \"C\", \"price_usd\": 250}]}\n```";
    let three = ["flight-agent", "experiences-agent", "food-agent"].map(hire);
    vec![
        rule(financial, has(false), calls(&three)),
        rule(financial, has(true), says(all)),
        rule(flights, json!({"last_user": "did not pass"}), books("A", 850)),
        rule(flights, json!({}), books("A", 2850)),
        rule(experiences, json!({}), books("B", 75)),
        rule(food, json!({}), books("C", 250)),
    ]
}

/// The replies of the deep travel team.
fn trip() -> Value {
    let [head, scheduling, ..] = TRAVELLERS;
    let hire =
        |agent: &str| ("delegate_task", json!({"specialty": agent, "task": "Ten days in Italy.", "budget": 300}));
    let mut rules = vec![
        rule(head, has(false), delegates("scheduling", "Italy in October.", 4000)),
        rule(head, json!({"tool_result": "\"price_usd\": 850"}), says(PLAN)),
        rule(scheduling, has(false), delegates("financial-agent", "Ten days in Italy.", 3000)),
        rule(scheduling, has(true), says("Day by day: {{tool_result}}")),
    ];
    rules.extend(offers(hire));
    json!(rules)
}

/// The replies of the flat travel team, in which the head's first reply names its hires.
fn flat_trip() -> Value {
    let [head, scheduling, ..] = TRAVELLERS;
    let hire = |agent: &str| ("delegate_to_agent", json!({"target_agent": agent, "prompt": "Ten days in Italy."}));
    let wish = "Ten days in Italy in October, for one. I need the scheduling-agent and the financial-agent.";
    let mut rules = vec![
        rule(head, json!({"messages": 1}), says(wish)),
        rule(head, json!({"last_user": "\"price_usd\": 850"}), says(PLAN)),
        rule(scheduling, json!({}), says("From the 3rd to the 12th.")),
    ];
    rules.extend(offers(hire));
    json!(rules)
}

/// The requests of the agent with these instructions, as texts.
fn shown_to(house: &House, instructions: &str) -> Vec<String> {
    let requests = house.requests().into_iter().map(|request| request.to_string());
    requests.filter(|request| request.contains(instructions)).collect()
}

/// Starts an example with the command of its README, in the root of the repository.
fn start_example(house: &House, example: &str, agent: &str, more: &[&str]) -> Running {
    let team = format!("examples/{example}");
    let args = ["run", "--team", &team, "--agent", agent, "--project", &team, "--yes", "--output", "json"];
    let mut command = house.command(&[&args, more].concat());
    command.current_dir(repository());
    Running::start(command, "")
}

#[test]
fn terms_reach_every_leaf_unchanged_and_a_report_that_breaks_them_is_sent_back_once() {
    let house = House::new(Wire::Anthropic, &trip());
    let team = repository().join("examples/travel").display().to_string();
    let result = house.run(&["--team", &team, "--budget", "8000sat"]).expect(0).json();
    assert_eq!(answer(&result), PLAN);
    let shown = |agent: &str| shown_to(&house, agent);
    let terms = [
        "- The traveller wants a plan to book from, not a list of ideas.",
        "- Every offer must be available on the dates in this brief.",
        "- Flights: at most $900 in total.",
        "- Experiences: at most $600 in total.",
        "- Food: at most $500 in total.",
        "- Prefer the best value for the price over the lowest price.",
    ];
    for leaf in &TRAVELLERS[3..] {
        assert_has(&shown(leaf)[0], &terms);
    }
    let [scheduling, financial] = [TRAVELLERS[1], TRAVELLERS[2]].map(|agent| shown(agent).swap_remove(0));
    assert_has(&scheduling, &terms[..1]);
    assert_lacks(&scheduling, &terms[1..]);
    assert_has(&financial, &terms[..2]);
    let flights = shown(TRAVELLERS[3]);
    assert_eq!(flights.len(), 2, "one chance to correct the report");
    assert_has(&flights[1], &["2850", "did not pass its checks"]);
    assert_lacks(&shown(TRAVELLERS[2])[1], &["2850", "not-accepted"]);
}

#[test]
fn the_same_trip_from_a_flat_team_has_the_same_answer() {
    let wish = ["--budget", "5000sat", "Plan a budget-friendly trip to Italy."];
    for wire in WIRES {
        let house = House::new(wire, &flat_trip());
        let running = start_example(&house, "travel-flat", "head-travel-agent", &wish);
        let result = running.end().expect(0).json();
        assert_eq!(answer(&result), PLAN, "{wire:?}: the same as on four levels");
        let agents = ["1.1 scheduling-agent", "1.2 financial-agent", "1.2.1 flight-agent"];
        let leaves = ["1.2.2 experiences-agent", "1.2.3 food-agent"];
        let contracts = std::iter::once("1 head-travel-agent").chain(agents).chain(leaves);
        assert_eq!(worked(&result), contracts.map(|who| format!("{who} done")).collect::<Vec<_>>(), "{wire:?}");
        let [head, scheduling, financial, flights, experiences, food] = TRAVELLERS.map(|agent| shown_to(&house, agent));
        assert_eq!((head.len(), scheduling.len()), (2, 1), "{wire:?}: the head calls no tool");
        for brief in [&scheduling[0], &financial[0]] {
            assert_has(brief, &["Ten days in Italy in October, for one.", "- The traveller wants a plan to book from"]);
            assert_lacks(brief, &["Flights: at most"]);
        }
        for brief in [&flights[0], &experiences[0], &food[0]] {
            assert_has(
                brief,
                &["- The traveller wants a plan", "- Flights: at most $900 in total.", "- Food: at most $500"],
            );
        }
        assert_eq!(flights.len(), 2, "{wire:?}: one chance to correct the report");
        assert_has(&flights[1], &["2850", "did not pass its checks"]);
        assert_has(&head[1], &["From the 3rd to the 12th."]);
    }
}

#[test]
fn a_lead_continues_while_background_reports_arrive_and_ends_after_the_last() {
    let lead = "You answer questions from the files in `notes/`.";
    let researcher = |of: &str| format!("You search `notes/{of}.txt`");
    let hire = |who: &str, prompt: &str| {
        let subagent = format!("{who}-researcher");
        ("Agent", json!({"subagent_type": subagent, "description": "Look it up", "prompt": prompt}))
    };
    let team = [
        hire("decisions", "Why did it go?"),
        hire("incidents", "What broke?"),
        hire("figures", "Was it slower?"),
        hire("decisions", "Who says so?"),
    ];
    let search = calls(&[("search", json!({"pattern": "cache", "path": "notes"}))]);
    let question = ["--budget", "3000sat", "Why was the session cache removed, and did it get slower?"];
    let end = "It went because of I-31. Nobody found out whether it got slower.";
    let rules = json!([
        rule(lead, json!({"messages": 1}), calls(&team)),
        rule(lead, json!({"tool_result": "2024-04-17"}), says("I expect an incident.")),
        rule(lead, has(true), reads(&["notes/figures.txt"])),
        rule(lead, json!({"last_user": "sub-agent-cancelled"}), says(end)),
        rule(lead, json!({}), says("I wait for the others.")),
        rule(&researcher("decisions"), json!({"last_user": "Who says so?"}), json!({"wrong": "request"})),
        rule(&researcher("decisions"), has(false), search.clone()),
        rule(&researcher("decisions"), has(true), says("notes/decisions.txt:4 has I-31.")),
        rule(&researcher("incidents"), json!({"last_user": "last reply"}), says("This far: I-27.")),
        rule(&researcher("incidents"), json!({}), search),
        rule(&researcher("figures"), json!({}), stalls()),
    ]);
    for wire in WIRES {
        let house = House::new(wire, &rules);
        let running = start_example(&house, "research", "research-lead", &question);
        let id = running.session();
        let arrived = |report: &str| shown_to(&house, lead).pop().is_some_and(|shown| shown.contains(report));
        for report in ["<sub-agent-complete", "<sub-agent-exhausted", "<sub-agent-failed"] {
            wait_for(report, || arrived(report).then_some(()));
        }
        // All other hires have reported, and the lead is idle.
        running.told("research-lead says: I wait for the others.");
        house.guildhall(&["stop", &format!("{id}/1.3")]).expect(0);
        let result = running.end().expect(0).json();
        assert_eq!(answer(&result), end, "{wire:?}: a text while a hire is at work is not the report");
        let contracts = [
            "1 research-lead done",
            "1.1 decisions-researcher done",
            "1.2 incidents-researcher exhausted turns",
            "1.3 figures-researcher cancelled",
            "1.4 decisions-researcher failed",
        ];
        assert_eq!(worked(&result), contracts, "{wire:?}");
        let shown = shown_to(&house, lead);
        assert_lacks(&shown[1], &["I-31"]);
        assert_has(&shown[2], &["p95 17 ms"]);
        assert_has(shown.last().unwrap(), &["notes/decisions.txt:4 has I-31.", "This far: I-27."]);
        let decisions = shown_to(&house, &researcher("decisions")).join("");
        assert_has(&decisions, &["Cite every finding as path and line.", "Sign-outs and a cache of 15 minutes"]);
    }
}

#[test]
fn the_usage_of_each_agent_adds_up_to_the_bill() {
    let used = |mut then: Value, input: u64, output: u64| {
        then["reply"]["usage"] = json!({"input": input, "output": output});
        then
    };
    for wire in WIRES {
        let two = [("ada", 400), ("bob", 300)]
            .map(|(who, budget)| ("delegate_task", json!({"specialty": who, "task": "Look.", "budget": budget})));
        let house = House::new(
            wire,
            &json!([
                first("lead", used(calls(&two), 1000, 100)),
                always("lead", used(says("Tuesday."), 2000, 10)),
                first("ada", used(reads(&["notes.txt"]), 300, 20)),
                always("ada", used(says("Tuesday."), 400, 30)),
                always("bob", used(says("Nothing."), 500, 40)),
            ]),
        );
        let house = staffed(house, &[("lead", &hires(&["ada", "bob"])), ("ada", ""), ("bob", "")]);
        let result = house.run(&CREW).expect(0).json();
        let line = |line: &Value| {
            let (tokens, granted) = (&line["tokens"], msat(&line["granted"]));
            let tokens = (tokens["input"].as_u64(), tokens["output"].as_u64());
            (
                line["agent"].as_str().unwrap().to_owned(),
                granted,
                msat(&line["own"]["charged"]),
                line["calls"].as_u64(),
                tokens,
            )
        };
        let lines: Vec<_> = result["bill"]["contracts"].as_array().unwrap().iter().map(line).collect();
        assert_eq!(
            lines,
            [
                ("lead".to_owned(), 5_000_000, 3550, Some(2), (Some(3000), Some(110))),
                ("ada".to_owned(), 400_000, 950, Some(2), (Some(700), Some(50))),
                ("bob".to_owned(), 300_000, 700, Some(1), (Some(500), Some(40))),
            ],
            "{wire:?}"
        );
        assert_eq!(msat(&result["bill"]["charged"]), 3550 + 950 + 700, "{wire:?}");
    }
}

#[test]
fn what_a_hire_reads_never_enters_the_prompt_of_its_hirer() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                first("lead", delegates("ada", "When is it?", 500)),
                always("lead", says("It is on {{tool_result}}")),
                first("ada", reads(&["notes.txt"])),
                always("ada", says("I looked it up: the second day of the week.")),
            ]),
        );
        let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
        let result = house.run(&CREW).expect(0).json();
        assert_has(answer(&result), &["the second day of the week"]);
        assert_has(&shown(&house, "ada")[1], &["the meeting is on Tuesday"]);
        for request in shown(&house, "lead") {
            assert_lacks(&request, &["Tuesday", "read_file\",\"input\"", "You are ada."]);
        }
    }
}

#[test]
fn a_hire_sees_its_brief_and_not_the_conversation_of_its_hirer() {
    let house = House::new(
        Wire::OpenAi,
        &json!([
            first("lead", reads(&["agenda.txt"])),
            by("lead", json!({"tool_result": "the roof"}), delegates("ada", "Count the days.", 500)),
            always("lead", says("Seven.")),
            always("ada", says("Seven.")),
        ]),
    );
    let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
    house.run(&CREW).expect(0);
    let ada = shown(&house, "ada").swap_remove(0);
    assert_has(&ada, &["Count the days."]);
    assert_lacks(&ada, &["the roof", "When is the meeting?", "You are lead."]);
}

#[test]
fn a_claude_code_team_works_unchanged() {
    let rule = |agent: &str, fresh: bool, then: Value| json!({"when": {"agent": agent, "has_tool_result": !fresh}, "then": then});
    let (lead, hunter) = ("You are a senior tech lead.", "You are an expert debugger.");
    let hire = json!({"subagent_type": "bug-hunter", "description": "Find the day", "prompt": "Find out which day."});
    let rules = json!([
        rule(lead, true, calls(&[("Agent", hire)])),
        rule(lead, false, says("Found: {{tool_result}}")),
        rule(hunter, true, reads(&["notes.txt"])),
        rule(hunter, false, says("notes.txt:1 has the day.")),
    ]);
    let house = House::scripted(Wire::Anthropic, Known::ByVariables, json!({"key": KEY, "rules": rules}));
    let team = repository().join("examples/claude").display().to_string();
    let result = house.run(&["--team", &team, "--budget", "90000sat"]).expect(0).json();
    assert_has(answer(&result), &["notes.txt:1 has the day."]);
    assert_eq!(worked(&result), ["1 tech-lead done", "1.1 bug-hunter done"]);
    let requests = house.requests();
    let model = |agent: &str| {
        let request = requests.iter().find(|request| request["system"].to_string().contains(agent)).unwrap();
        request["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(model(lead), MODEL, "the lead uses the session's model");
    assert_has(&model(hunter), &["sonnet"]);
    assert_has(&requests[0].to_string(), &["Use when: something fails", "Writes tests for code that has none."]);
}

#[test]
fn the_live_lines_show_hires_waits_and_reports() {
    let hire = |who: &str| ("delegate_task", json!({"specialty": who, "task": "Look.", "budget": 300}));
    let rules = json!([
        first("lead", calls(&[hire("bob"), hire("ada"), hire("bob")])),
        always("lead", says("Tuesday, for the roof.")),
        always("ada", says("Tuesday.")),
        always("bob", says("The roof.")),
    ]);
    let team = [
        ("lead", hires(&["ada", "bob", "eve"])),
        ("ada", String::new()),
        ("bob", String::new()),
        ("eve", String::new()),
    ];
    let house =
        staffed(House::new(Wire::Anthropic, &rules), &team.each_ref().map(|(name, front)| (*name, front.as_str())));
    let lines =
        house.guildhall(&["run", "When?", "--yes", "--team", "crew", "--budget", "2000sat", "-v"]).expect(0).stderr;
    let expected = [
        "4 agents across 2 levels: lead | ada, bob, eve\n",
        "1 lead may hire 3 agents: ada, bob, eve\n",
        "1 lead selected 2 of 3: bob, ada\n1 lead waits for 1.1 bob, 1.2 ada, 1.3 bob\n",
        "\n  1.2 ada hired with 300 sat: Look.\n",
        "1 lead receives the report of 1.2 ada; ",
        "1 lead asks the model to combine 3 reports (holds ",
        "1 lead done: used ",
        "lead: with its hires: used ",
    ];
    assert_has(&lines, &expected);
}

#[test]
fn agents_come_from_the_first_directory_that_has_them_and_the_general_contractor_can_hire_them() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("Tuesday.")}]));
    let places = [".guildhall/agents", ".agents/agents", ".claude/agents"].map(|place| house.project().join(place));
    let places = [&places[..], &[house.home().join("agents")]].concat();
    // The first directory has one agent, the second has the same agent and another, and so on.
    let names = ["ada", "bob", "eve", "coder"];
    for (at, place) in places.iter().enumerate() {
        fs::create_dir_all(place).unwrap();
        for name in &names[..=at] {
            let text = format!("---\nname: {name}\ndescription: Is out of place {at}.\n---\nYou are {name}.\n");
            fs::write(place.join(format!("{name}.md")), text).unwrap();
        }
    }
    let listed = house.guildhall(&["agents"]).expect(0).stdout;
    house.run(&[]).expect(0);
    let prompt = house.requests().swap_remove(0)["system"].to_string();
    for (at, name) in names.iter().enumerate() {
        let found = listed.lines().filter(|line| line.split_whitespace().next() == Some(name)).collect::<Vec<_>>();
        assert!(matches!(found[..], [line] if line.contains(&format!("place {at}."))), "{name}: {listed}");
        assert_has(&prompt, &[&format!("{name}: Is out of place {at}.")]);
    }
    assert_has(&listed, &["tester ", "built-in/"]);
}

#[test]
fn the_instructions_of_the_project_reach_every_agent() {
    for file in ["AGENTS.md", "CLAUDE.md"] {
        let rules = json!([
            first("lead", delegates("ada", "Look.", 500)),
            always("lead", says("Tuesday.")),
            always("ada", says("Tuesday.")),
        ]);
        let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
        fs::write(house.project().join(file), "Whoever works here speaks of the roof.\n").unwrap();
        house.run(&CREW).expect(0);
        for agent in ["lead", "ada"] {
            assert_has(&shown(&house, agent)[0], &["Whoever works here speaks of the roof."]);
        }
    }
}

#[test]
fn an_incomplete_report_is_shown_as_such_and_makes_the_work_partial() {
    let lead = format!("{}\n  mode: required", hires(&["ada"]));
    let rules = json!([always("lead", says("I know it all."))]);
    let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &lead), ("ada", "")]);
    // No agent can be hired, neither by the model nor by the runtime.
    let ended = house.run(&[&CREW[..], &["--max-hires", "0"]].concat()).expect(7);
    let expected = "1 lead done, but it hired nobody although its file requires a hire";
    assert_has(&ended.stderr, &[expected]);
    assert_eq!(ended.json()["bill"]["contracts"][0]["lack"], "hire");

    let lead = format!("{}\n  accept: {{schema: {{type: object}}}}", hires(&["ada"]));
    let rules = json!([
        first("lead", delegates("ada", "Look.", 900)),
        always("lead", says("Tuesday.")),
        always("ada", says("No object.")),
    ]);
    let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &lead), ("ada", "")]);
    let ended = house.run(&CREW).expect(0);
    assert_has(&ended.stderr, &["1.1 ada done, but its report is not accepted"]);
    assert_eq!(ended.json()["bill"]["contracts"][1]["lack"], "acceptance");
}
