//! Final words, each with what they promise. Half of them promise nothing, however much they talk of hiring.

use std::time::{Duration, Instant};

use guildhall_agent::promise::{Promise, promised};

const TEAM: &[&str] = &[
    "scheduling-agent",
    "Financial Agent",
    "flight-agent",
    "experiences_agent",
    "food-agent",
    "investigator",
    "tester",
    "code-reviewer",
];

const SCHEDULING: usize = 0;
const FINANCIAL: usize = 1;
const FLIGHT: usize = 2;
const EXPERIENCES: usize = 3;
const FOOD: usize = 4;
const INVESTIGATOR: usize = 5;
const TESTER: usize = 6;
const REVIEWER: usize = 7;

/// Sentences that promise a hire of those named.
const NAMED: &[(&str, &[usize])] = &[
    ("I'm delegating to Scheduling Agent...", &[SCHEDULING]),
    ("I'll have the flight agent look into it.", &[FLIGHT]),
    ("Let me hand this to the investigator.", &[INVESTIGATOR]),
    ("Delegating to flight-agent now.", &[FLIGHT]),
    ("I’ll ask the tester to run the suite.", &[TESTER]),
    ("I will delegate this to the Financial Agent and report back.", &[FINANCIAL]),
    ("I'll coordinate with my scheduling and financial teams...", &[SCHEDULING, FINANCIAL]),
    ("We'll hand this off to the code reviewer next.", &[REVIEWER]),
    ("I'm going to ask Flight Agent for options.", &[FLIGHT]),
    ("I am now handing this over to **Scheduling Agent**.", &[SCHEDULING]),
    ("Handing off to `investigator`.", &[INVESTIGATOR]),
    ("I'm passing this along to the \"Financial Agent\" for a budget.", &[FINANCIAL]),
    ("Let me get the tester to confirm that.", &[TESTER]),
    ("I'll start by asking the investigator what the logs say.", &[INVESTIGATOR]),
    ("I'll review the request and then delegate to the flight agent.", &[FLIGHT]),
    ("First, I'll engage the Flight, Experiences and Food agents.", &[FLIGHT, EXPERIENCES, FOOD]),
    ("I'll delegate flights to the flight agent and restaurants to the food agent.", &[FLIGHT, FOOD]),
    ("Now calling the FLIGHT_AGENT for prices…", &[FLIGHT]),
    ("I need to consult the financial agent before I can answer.", &[FINANCIAL]),
    ("I'll check with the tester whether the fix holds.", &[TESTER]),
    ("I'll ask the tester if the build is green.", &[TESTER]),
    ("I'm asking the investigator to see if the gateway times out.", &[INVESTIGATOR]),
    ("Thanks for the details! I'll loop in FlightAgent right away.", &[FLIGHT]),
    ("I'll need to bring in the code-reviewer for this.", &[REVIEWER]),
    ("I'll let the investigator handle the logs.", &[INVESTIGATOR]),
    ("I'll split this between the food and experiences agents.", &[FOOD, EXPERIENCES]),
    ("Here is the plan: I'll send the request to the flight agent.", &[FLIGHT]),
    (
        "I'll delegate to the following agents:\n- **Flight Agent**: find flights\n- food-agent: find food\n\nMore soon.",
        &[FLIGHT, FOOD],
    ),
    ("The logs show timeouts.\n\nI'm going to pass these findings to the tester.", &[TESTER]),
    ("I'll give the flight agent your dates.", &[FLIGHT]),
    ("I'll assign this to flight.", &[FLIGHT]),
    ("OK, tasking the investigator with the root cause.", &[INVESTIGATOR]),
    ("I'm delegating the parser class to the tester.", &[TESTER]),
    ("I'll go ahead and hire the investigator.", &[INVESTIGATOR]),
    ("We're bringing in the tester, who will try the edge cases.", &[TESTER]),
    ("I asked the tester already. Now I'll ask the investigator.", &[INVESTIGATOR]),
    ("Spawning the investigator in the background.", &[INVESTIGATOR]),
    ("I'll reach out to the investigator and the tester.", &[INVESTIGATOR, TESTER]),
    // A second hand, written after the rules.
    (
        "I will now delegate the flight search to our Flight Agent, then the dining plan to the Food Agent.",
        &[FLIGHT, FOOD],
    ),
    ("Great question! I'm handing the baton to the Scheduling Agent to work out dates.", &[SCHEDULING]),
    ("I'll be coordinating with the Financial Agent on this.", &[FINANCIAL]),
    ("Based on the above, I am delegating the following task to the Investigator: read api.ts.", &[INVESTIGATOR]),
    ("Let's have the code reviewer take a look at this diff.", &[REVIEWER]),
    ("**Next step:** I'll dispatch the investigator to look at the gateway logs.", &[INVESTIGATOR]),
    ("I'm on it. Forwarding your request to the Experiences Agent.", &[EXPERIENCES]),
    ("I'll work with the Flight Agent and Financial Agent to find something under $900.", &[FLIGHT, FINANCIAL]),
    ("I'm routing this to `flight-agent` and `food-agent`.", &[FLIGHT, FOOD]),
    ("Since this is about money, I will consult with the financial agent.", &[FINANCIAL]),
    ("🚀 Delegating to: flight-agent, food-agent", &[FLIGHT, FOOD]),
    ("Let me check with Financial Agent first.", &[FINANCIAL]),
    ("I'll turn this over to the Scheduling Agent.", &[SCHEDULING]),
    ("My next step will be to ask the investigator.", &[INVESTIGATOR]),
    ("I'm going to involve the tester here, since the failure is flaky.", &[TESTER]),
    ("I'll get started by having the investigator read the logs.", &[INVESTIGATOR]),
    ("[Delegating to Flight Agent]", &[FLIGHT]),
    (
        "I'm now invoking the Flight Agent, the Experiences Agent, and the Food Agent in parallel.",
        &[FLIGHT, EXPERIENCES, FOOD],
    ),
    // A third hand.
    ("Understood. I will involve the Financial Agent to set per-category caps.", &[FINANCIAL]),
    ("I am assigning this task to: Scheduling Agent.", &[SCHEDULING]),
    ("I'll kick this over to the investigator.", &[INVESTIGATOR]),
    ("I'll delegate the search for flights (LAX to Rome) to the flight agent.", &[FLIGHT]),
    ("Passing this to Financial Agent → it will set the caps.", &[FINANCIAL]),
    ("First I'll ask the flight agent. Then I'll ask the food agent.", &[FLIGHT, FOOD]),
    ("I’m going to delegate: flight-agent gets the flights.", &[FLIGHT]),
    ("I'll now send this brief over to the code-reviewer agent.", &[REVIEWER]),
    // A fourth hand.
    ("I'll begin by asking the flight agent for its cheapest options, then I'll compare them.", &[FLIGHT]),
    ("We will now proceed to delegate the remaining work to the tester and the code-reviewer.", &[TESTER, REVIEWER]),
    ("Sure! Let me call on the investigator for the summary.", &[INVESTIGATOR]),
    ("I'm reaching out to our flight agent 🛫", &[FLIGHT]),
    ("I'll pass it to investigator, tester and code-reviewer in that order.", &[INVESTIGATOR, TESTER, REVIEWER]),
    ("Delegating this to investigator: \"Read api.ts and look for timeouts\"", &[INVESTIGATOR]),
    ("I think the tester should take this, so I'll give it to the tester.", &[TESTER]),
    ("I'll reassign this to the code reviewer.", &[REVIEWER]),
];

/// Sentences that promise a hire, of nobody whom the team knows.
const SOMEONE: &[&str] = &[
    "I'm delegating to my child agent...",
    "I'll delegate this.",
    "To stay within budget, I'll coordinate with my specialists...",
    "I'll hand this to a specialist.",
    "Let me delegate that task and come back to you.",
    "I will hire a security expert to look at it.",
    "Spawning three sub-agents to research this.",
    "I'm going to ask my team.",
    "I'll launch researchers in the background.",
    "Delegating now.",
    "I'll delegate this to the Legal Agent.",
    "I'll get one of my agents to check the logs.",
];

/// Sentences that promise nothing.
const NOTHING: &[&str] = &[
    // Reports of what was done.
    "I asked the investigator and it found a timeout in api.ts.",
    "The flight agent reported two options below $900.",
    "I've delegated this to the flight agent, and it found nothing.",
    "I delegated to Scheduling Agent, which proposed October.",
    "After delegating to the tester, I have the result: all green.",
    "I was going to delegate this to the tester, but the answer is in the log.",
    "Let me summarise what the flight agent found.",
    "I'll use the investigator's findings: the pool has 4 connections.",
    "According to the tester, the build is green.",
    "I had the tester run the suite; it passed.",
    "Having asked the tester, I can say that it works.",
    "I'll pass the tester report to you below.",
    "I'm forwarding the findings of the investigator to you.",
    "I am reporting what the Financial Agent told me.",
    "I'll wait for the flight agent.",
    // Advice to the user.
    "You could hire a lawyer.",
    "I recommend delegating this to a specialist.",
    "Consider asking the tester for a second opinion.",
    "You should ask the flight agent for other dates.",
    "I'd suggest that you hand this to your travel agent.",
    "Delegate the flights to flight-agent and the rest to food-agent.",
    "I'll explain how to plan and delegate work.",
    "I'll help you hire a developer.",
    "Next steps: have the investigator look at the gateway.",
    // Denials.
    "I won't delegate this.",
    "I will not ask the flight agent again.",
    "I'm not delegating to anyone.",
    "I'll do it myself rather than delegate.",
    "I'll answer directly without asking the investigator.",
    "There is no need to hand this to the tester.",
    "I can't delegate to the flight agent: the purse is empty.",
    "Instead of delegating to the tester, I'll read the code.",
    // Questions, offers and conditions.
    "Should I ask the tester?",
    "If needed, I would delegate.",
    "Shall I hand this to the flight agent?",
    "Do you want me to delegate this to the investigator?",
    "I'll delegate to the flight agent if you agree.",
    "Let me know if you want me to ask the tester.",
    "If the price rises, I'll ask the flight agent again.",
    "Once you confirm the dates, I'll hand this to the flight agent.",
    "Just confirm and I'll delegate it to the flight agent.",
    "I could ask the investigator, and I might have the tester look.",
    "I can delegate this to the flight agent.",
    "Unless you object, I'll hand this to the tester.",
    "I'd be happy to ask the flight agent.",
    // Quotations and code.
    "The prompt says \"I'll delegate to the flight agent\" and stops there.",
    "It printed “I'm delegating to Scheduling Agent...” and nothing else.",
    "It answered 'I'll ask the tester' twice.",
    "> I'll ask the tester to run it.\n\nThat is what it said.",
    "```\nI'll delegate to flight-agent\n```\nThis is the log.",
    "~~~text\nDelegating to flight-agent now.\n~~~",
    "The line `I'll ask the tester` is in log.txt.",
    "## Delegating to flight-agent\nThis chapter is about briefs.",
    // Programs.
    "A C# delegate is a type-safe function pointer.",
    "I'll use the delegate pattern here.",
    "I'll delegate to the base class.",
    "Delegating to the parent implementation keeps it short.",
    "I'm delegating the click events to the list element.",
    "I'll add a delegate to the table view.",
    "I'm delegating to super in the constructor.",
    "I'll start the agent server and read its log.",
    "I'll use the tester template for this file.",
    "Delegating to sub-agents is a good way to save context.",
    "Asking the tester costs 20 sats.",
    // Other talk of the same things.
    "I'll get the flight details from the file.",
    "I'll have a look at the food options.",
    "Let me ask you something: which month?",
    "I'll send the itinerary to the user.",
    "I'll call the flight price p.",
    "I'll hire a car in Rome on day two.",
    "Let me get the flight options in order.",
    "You hired three agents yesterday.",
    "The scheduling agent has 0 sub-agents.",
    "I'll hand the keys over to you.",
    "I'll pass the answer to the parent agent.",
    "We'll have food before the flight.",
    "I'll contact your travel agent's office number as an example entry.",
    // Other languages.
    "Ich delegiere das an den flight-agent.",
    "Je vais déléguer cela à l'agent financier.",
    "我会把这个任务交给 flight-agent。",
    "Delegaré esta tarea al investigator.",
    // A second hand, written after the rules.
    "I'll now put together the itinerary from what the Flight Agent and the Food Agent sent.",
    "I'm attaching the report of the investigator.",
    "I have asked the flight agent and the food agent; here is what they found.",
    "My flight agent found three options, and I'm recommending the second.",
    "I'm happy to delegate more if you top up the budget.",
    "I'd delegate the flights to the flight agent next time.",
    "Once you've chosen, I'll ask the flight agent to book.",
    "I'll leave the choice to you.",
    "I'm going to use the numbers the financial agent gave me.",
    "I'll ask for less next time.",
    "The tester will not be asked again.",
    "It's your call whether I ask the investigator.",
    "I'll let you ask the investigator yourself.",
    "I'll share the results with you and your team.",
    "I'm sending you the list from the food agent.",
    "I'll start with the flight, then the food, then the experiences.",
    "Let me start with flight: the cheapest is $850.",
    "I'll assign the value to the field flight.",
    "I'll pass the flight to the constructor.",
    "I'll use delegation here, as the style guide asks.",
    "The class hands the call to its delegate.",
    "I'll have the food at seven and the flight at nine in the plan.",
    "We will let the tester know in the final report what broke.",
    "I'm calling the function tester.",
    "I'll start the tests and query the API.",
    "Working with the flight agent was fruitful.",
    "I'm working with what the flight agent sent.",
    "I'll call it flight agent for now.",
    "Using the flight agent's prices, the total is $1,850.",
    "I'll see what the flight agent can find in its next contract.",
    "I'll ask around, but no agent was hired.",
    // A third hand.
    "I'll conclude: the tester and the investigator agree.",
    "I'm confident that the flight agent covered this.",
    "I'm using the options that flight-agent returned.",
    "I will present the flights, the food and the experiences in that order.",
    "I'm giving the investigator credit for the find.",
    "I'll refer to the tester as T below.",
    "I'll hand in the final report with the tester cited.",
    "We're going to Rome with the flight at nine, and I'll book nothing.",
    "Let me put the flight on day one.",
    "I'll let the numbers speak: flight $850, food $300.",
    "I'll get to the food in a moment.",
    "I'm leaving the flight to the last day.",
    "I will send the flight to page two.",
    "I'll share the food with the group.",
    "My team and I are done.",
    "I'll work with the files in src/agent.",
    "I'll call the agent's run method in a test.",
    "I'm starting with the agent loop.",
    "I'll use an agent loop here.",
    "I'll create a new agent file for the tester.",
    "I'll start the team section with a table.",
    "The runtime says: delegating to flight-agent was refused.",
    "Delegating to flight-agent was refused: the purse is empty.",
    "Delegating to flight-agent (refused: too deep).",
    "I need to ask the user first.",
    "I must ask you for the dates.",
    "I hired the investigator; I'll pay it from my purse.",
    "I'll route the request through the proxy to the server.",
    "I'll transfer the data to the team page.",
    "I'll forward port 80 to the worker.",
    // A fourth hand.
    "I'll get back to you once the flight agent has answered.",
    "I'll note that the investigator and the tester disagree.",
    "I will cite the investigator in full.",
    "I'll start with what the investigator reported.",
    "Let me give you the flight agent's answer in full.",
    "I'm including the tester's output and the reviewer's patch.",
    "I'll end with the open points: nobody asked the tester.",
    "We will let the results of the tester decide.",
    "I need to say that the tester was not hired for lack of money.",
    "I'll use the word agent for every entry in the roster.",
    "I'll add a team key to the file and give the agent a name.",
    "I'm going to describe how an agent can delegate to a team.",
    "We'll need an agent loop, a team page and a worker pool.",
    "Let me start the worker process and call the agent endpoint.",
    "I'll have the agents listed in a table below.",
    "I'm using worker threads, so I'll spawn workers per core.",
    "Now I'll get the team roster and send it to the workers over a channel.",
    "I'm not sure the tester is needed, so I'll skip it.",
    "I'll call this agent A and the other agent B.",
    // Nothing at all.
    "",
    "Done.",
    "The answer is 42 [1.2#7].",
];

fn labelled() -> Vec<(&'static str, Promise)> {
    let named = NAMED.iter().map(|(words, of)| {
        let mut of = of.to_vec();
        of.sort_unstable();
        (*words, Promise::Named(of))
    });
    let someone = SOMEONE.iter().map(|words| (*words, Promise::Someone));
    let nothing = NOTHING.iter().map(|words| (*words, Promise::None));
    named.chain(someone).chain(nothing).collect()
}

#[test]
fn what_is_promised_is_told_from_what_is_not() {
    let labelled = labelled();
    assert!(labelled.len() >= 80 && NOTHING.len() * 2 >= labelled.len(), "{}", labelled.len());
    let misses: Vec<String> = labelled
        .iter()
        .map(|(words, expect)| (words, expect, promised(words, TEAM)))
        .filter(|(_, expect, found)| *expect != found)
        .map(|(words, expect, found)| format!("{words:?}\n    expected {expect:?}, found {found:?}"))
        .collect();
    assert!(misses.is_empty(), "{} of {} missed:\n{}", misses.len(), labelled.len(), misses.join("\n"));
}

#[test]
fn without_a_team_a_promise_is_to_nobody_in_particular() {
    assert_eq!(promised("I'm delegating to Scheduling Agent...", &[]), Promise::Someone);
    assert_eq!(promised("I'll ask the tester.", &[]), Promise::None);
    assert_eq!(promised("I'll ask the tester.", &["", "-", "agent"]), Promise::None);
}

#[test]
fn a_promise_among_many_words_is_found() {
    let words = format!("{}\nI'll ask the tester.", "The log says nothing. ".repeat(10_000));
    assert_eq!(promised(&words, TEAM), Promise::Named(vec![TESTER]));
}

#[test]
fn hostile_words_end_quickly() {
    let begun = Instant::now();
    for piece in [
        "I'll ",
        "“",
        "'",
        "\"`",
        "I'll and ",
        "let me, ",
        "if ",
        "😀",
        "I'll ask the flight agent and ",
        "to to ",
        "> ",
    ] {
        promised(&piece.repeat(1_000_000 / piece.len()), TEAM);
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
