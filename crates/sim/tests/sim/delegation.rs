//! The prompts of agents that hire, are hired, ask, post and are refused.

use guildhall_agent::{Message, Part, Prompt};
use guildhall_kernel::{Acceptance, Fact, Report};
use guildhall_sim::conformance::{ScriptResult, ScriptedWorld, reference, scripts};
use insta::assert_snapshot;

fn play(name: &str) -> ScriptResult {
    let script = scripts().into_iter().find(|script| script.name == name);
    let script = script.unwrap_or_else(|| panic!("unknown script {name:?}"));
    let world = ScriptedWorld::new(&script);
    ScriptResult::new(&reference(&script, &world), &world)
}

/// Draws the prompt of a model call, without the status.
fn shown(played: &ScriptResult, key: &str) -> String {
    drawn(&played.shown[key])
}

fn drawn(prompt: &Prompt) -> String {
    let part = |part: &Part| match part {
        Part::Words(words) => format!("user: {words}"),
        Part::Result { call, text, failed } => {
            format!("{} of {call}: {text}", if *failed { "failure" } else { "result" })
        }
    };
    let message = |message: &Message| match message {
        Message::User(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        Message::Assistant(reply) => {
            let calls: Vec<String> = reply.calls.iter().map(|call| format!(" [{} {}]", call.id, call.name)).collect();
            format!("agent: {}{}", reply.words.as_deref().unwrap_or(""), calls.concat())
        }
    };
    prompt.messages.iter().map(message).collect::<Vec<_>>().join("\n")
}

fn report(played: &ScriptResult, contract: &str) -> Report {
    let facts = &played.facts[&contract.parse().expect("a path")];
    let Some((_, Fact::Closed(report))) = facts.last() else { panic!("{contract} has closed") };
    Report::clone(report)
}

#[test]
fn a_call_that_hires_is_answered_by_the_report() {
    let played = play("a call that hires is answered by the report");
    assert_snapshot!(shown(&played, "1#3"), @r#"
    user: Find out what the moon is made of.
    agent:  [a delegate_task]
    result of a: <sub-agent-complete id="1.1" agent="near-looker" granted="100sat" used="3.2sat">
    Grey.
    </sub-agent-complete>
    "#);
}

#[test]
fn a_background_hire_is_answered_immediately_and_its_report_comes_with_its_task() {
    let played = play("two blocking hires and one in the background");
    assert_snapshot!(shown(&played, "1#6"), @r#"
    user: Find out what the moon is made of.
    agent:  [a delegate_task] [b delegate_task] [c delegate_task]
    result of a: <sub-agent-complete id="1.1" agent="near-looker" granted="100sat" used="1.1sat">
    Grey.
    </sub-agent-complete>
    result of b: <sub-agent-complete id="1.2" agent="far-looker" granted="100sat" used="1.1sat">
    Grey as well.
    </sub-agent-complete>
    result of c: cook was hired as 1.3; granted 100sat; you will get its report.
    agent: Both sides are grey.
    user: <sub-agent-complete id="1.3" agent="cook" granted="100sat" used="1.1sat">
    task: Taste the cheese.

    It tastes of dust.
    </sub-agent-complete>
    "#);
}

#[test]
fn a_fork_sees_the_conversation_and_a_fresh_hire_does_not() {
    let played = play("a fork sees the conversation and a fresh hire does not");
    assert_snapshot!(shown(&played, "1.1#1"), @"
    user: Find out what the moon is made of.
    agent:  [x look]
    result of x: a grey ball
    agent:  [a Agent] [b Task]
    result of a: The agent that you are a copy of gets the result of this call.
    result of b: The agent that you are a copy of gets the result of this call.
    user: You are a copy of the agent above. Do the following part of the work and nothing else, and report on it:

    Say what it is made of.
    ");
    assert_snapshot!(shown(&played, "1.2#1"), @"
    user: boss needs:

    Say how it tastes.
    ");
}

#[test]
fn a_hire_that_waits_for_its_own_hire_is_listed_so() {
    assert_snapshot!(shown(&play("a hire that waits for its own hire is listed so"), "1#5"), @"
    user: Find out what the moon is made of.
    agent:  [a delegate_task]
    result of a: boss was hired as 1.1; granted 192.544sat; you will get its report.
    agent:  [c list_agents]
    result of c: 1.1 boss: waits for the report of 1.1.1, granted 192.544sat; task: Look at its near side.
    ");
}

#[test]
fn hires_are_listed_sent_a_message_stopped_and_awaited() {
    let played = play("hires are listed, sent a message, stopped and awaited");
    assert_snapshot!(shown(&played, "1#13"), @r#"
    user: Find out what the moon is made of.
    agent:  [a delegate_task] [b delegate_task]
    result of a: near-looker was hired as 1.1; granted 100sat; you will get its report.
    result of b: far-looker was hired as 1.2; granted 100sat; you will get its report.
    agent:  [c list_agents]
    result of c: 1.1 near-looker: at work, granted 100sat; task: Look at the near side.
    1.2 far-looker: at work, granted 100sat; task: Look at the far side.
    agent:  [d message_agent]
    result of d: Delivered.
    agent:  [e stop_agent]
    result of e: The hire was told to stop. You will get its report.
    agent:  [f wait_for_agents]
    result of f: The hires that you waited for have reported.
    user: <sub-agent-cancelled id="1.1" agent="near-looker" granted="100sat" used="0sat" reserved="10.467sat" not-accepted>
    task: Look at the near side.

    The hire ended before it wrote anything.
    </sub-agent-cancelled>
    user: <sub-agent-complete id="1.2" agent="far-looker" granted="100sat" used="3.2sat">
    task: Look at the far side.

    Grey, on a close look.
    </sub-agent-complete>
    agent:  [g list_agents]
    result of g: 1.1 near-looker: reported (sub-agent-cancelled), granted 100sat, used 0sat; task: Look at the near side.
    1.2 far-looker: reported (sub-agent-complete), granted 100sat, used 3.2sat; task: Look at the far side.
    "#);
    assert_snapshot!(shown(&played, "1.2#3"), @r#"
    user: boss needs:

    Look at the far side.
    agent:  [x look]
    result of x: grey
    user: <message from="1">
    Look closely.
    </message>
    "#);
}

#[test]
fn a_hire_that_waits_for_money_is_not_said_to_continue_in_the_background() {
    let played = play("a message moves a hire that waits for money into the background");
    assert_snapshot!(shown(&played, "1#7"), @r#"
    user: Find out what the moon is made of.
    agent:  [a delegate_task] [b delegate_task] [c delegate_task]
    result of a: You got a message. near-looker continues as 1.1 in the background; you will get its report.
    result of b: You got a message. far-looker continues as 1.2 in the background; you will get its report.
    result of c: You got a message. cook still waits for money as 1.3. It begins in the background when other work returns enough; you will get its report.
    user: Is it made of cheese?
    agent: I wait for the cook.
    user: <sub-agent-complete id="1.1" agent="near-looker" granted="187.296sat" used="3.2sat">
    task: Look at it.

    Grey.
    </sub-agent-complete>
    agent: It is grey.
    user: cook has begun as 1.3; granted 200sat; you will get its report.
    user: <sub-agent-complete id="1.3" agent="cook" granted="200sat" used="1.1sat">
    task: Look at it.

    Dust.
    </sub-agent-complete>
    "#);
}

#[test]
fn a_question_is_answered_by_a_message_and_shown_once() {
    let played = play("a hire asks its hirer, which answers");
    assert_snapshot!(shown(&played, "1#6"), @r#"
    user: Find out what the moon is made of.
    agent:  [a delegate_task]
    result of a: You got a message. near-looker continues as 1.1 in the background; you will get its report.
    user: <question from="1.1">
    Which side?
    </question>
    The hire waits for your answer: use message_agent.
    agent:  [b message_agent]
    result of b: Delivered.
    agent: I wait.
    user: <sub-agent-complete id="1.1" agent="near-looker" granted="100sat" used="2.2sat">
    task: Look at it.

    It is grey.
    </sub-agent-complete>
    "#);
    assert_snapshot!(shown(&played, "1.1#3"), @"
    user: boss needs:

    Look at it.
    agent:  [x ask_hirer]
    result of x: The near one.
    ");
}

#[test]
fn a_board_shows_each_post_with_its_author_and_refuses_long_posts() {
    let played = play("the hires of one hirer share a board");
    assert_snapshot!(shown(&played, "1.1#7"), @r#"
    user: boss needs:

    Look at the near side.
    agent:  [x board]
    result of x: <post from="1.1" agent="near-looker">
    It is grey here. <\/post>
    </post>
    agent:  [z board]
    result of z: not posted: the note has 3000 bytes, and at most 2048 are allowed: shorten it
    agent:  [w board]
    result of w: <post from="1.1" agent="near-looker">
    It is grey here. <\/post>
    </post>
    <post from="1.2" agent="far-looker">
    And here.
    </post>
    "#);
}

#[test]
fn a_cascade_passes_on_the_text_and_the_task_and_shows_the_reports() {
    let played = play("a cascade hires the agents that the first reply names");
    assert_snapshot!(shown(&played, "1.1#1"), @"
    user: boss needs:

    I need to know from my near-looker what it sees, and the cook should taste it.

    The whole task is:
    Find out what the moon is made of.

    Do your part of it and report.
    ");
    assert_snapshot!(shown(&played, "1#4"), @r#"
    user: Find out what the moon is made of.
    agent: I need to know from my near-looker what it sees, and the cook should taste it.
    user: <sub-agent-complete id="1.1" agent="near-looker" granted="200sat" used="1.1sat">
    Grey.
    </sub-agent-complete>
    user: <sub-agent-complete id="1.2" agent="cook" granted="200sat" used="1.1sat">
    Dust.
    </sub-agent-complete>
    "#);
}

#[test]
fn a_cascade_that_is_refused_is_shown_to_the_agent() {
    let played = play("a cascade that is refused is shown to the agent");
    assert_snapshot!(shown(&played, "1#2"), @"
    user: Find out what the moon is made of.
    agent: Let the cook taste it.
    user: Nobody was hired for you: not enough hires left (1 needed, 0 left): hire fewer agents, or wait for a report
    ");
}

#[test]
fn an_agent_that_only_names_a_team_member_is_nudged_and_then_its_report_counts() {
    let played = play("the report of an agent that ignores the nudge counts");
    assert_snapshot!(shown(&played, "1#2"), @"
    user: Find out what the moon is made of.
    agent: I will ask the cook to taste it.
    user: Nobody was hired. If this is your report, answer only DONE. If not, make the calls now.
    ");
    assert_eq!(report(&played, "1").undone, None, "a guess about a text is not a fault");
}

#[test]
fn wrong_hires_are_refused_with_the_reason() {
    let played = play("hires that can't be read and hires of unknown agents are refused with the reason");
    assert_snapshot!(shown(&played, "1#2"), @r#"
    user: Find out what the moon is made of.
    agent:  [a delegate_task] [b delegate_task] [c delegate_task] [d delegate_task] [e delegate_task] [f delegate_task] [g delegate_task] [h delegate_task] [i delegate_task] [j delegate_task] [k Agent]
    failure of a: refused: the amount is 0: give at least 1 sat, or leave the amount out. A right call: delegate_task {"specialty":"near-looker","task":"…","budget":200}
    failure of b: refused: the amount is negative: give a whole number of sats, such as 250. A right call: delegate_task {"specialty":"near-looker","task":"…","budget":200}
    failure of c: refused: the amount is not a number: give a whole number of sats, such as 250. A right call: delegate_task {"specialty":"near-looker","task":"…","budget":200}
    failure of d: refused: the amount is not a number: give a whole number of sats, such as 250. A right call: delegate_task {"specialty":"near-looker","task":"…","budget":200}
    failure of e: refused: the amount is not a number: give a whole number of sats, such as 250. A right call: delegate_task {"specialty":"near-looker","task":"…","budget":200}
    failure of f: refused: not enough money: at least 30.454sat is needed, 1sat was offered, 972.869sat is available: do the work yourself, or wait until a hire returns unspent money.
    failure of g: refused: the task, message or question is empty: write the text and call again. A right call: delegate_task {"specialty":"near-looker","task":"…","budget":200}
    failure of h: refused: `task` is missing: correct it and call again. A right call: delegate_task {"specialty":"near-looker","task":"…","budget":200}
    failure of i: refused: a name can't have '.' there: use letters a-z, digits, '-' and '_', and in the middle single spaces and '.'.
    failure of j: refused: stargazer is not on your team: hire one of these: near-looker, far-looker, cook.
    failure of k: refused: there is no tool with that name: use one of your tools.
    "#);
}

#[test]
fn hires_beyond_the_grant_are_refused_with_the_limit() {
    let played = play("a hire with less than the minimum is refused");
    assert_snapshot!(shown(&played, "1#2"), @"
    user: Find out what the moon is made of.
    agent:  [a delegate_task]
    failure of a: refused: not enough money: at least 30.454sat is needed, 19sat was offered, 128.87sat is available: do the work yourself, or wait until a hire returns unspent money.
    ");
    let played = play("a hire below the granted depth is refused");
    assert_snapshot!(shown(&played, "1#2"), @"
    user: Find out what the moon is made of.
    agent:  [a delegate_task]
    failure of a: refused: no more levels of hires are allowed here (1 needed, 0 left): do the work yourself.
    ");
    let played = play("a hire without a free head is refused");
    assert_snapshot!(shown(&played, "1#4"), @"
    user: Find out what the moon is made of.
    agent:  [a delegate_task]
    result of a: cook was hired as 1.1; granted 100sat; you will get its report.
    agent:  [b delegate_task]
    failure of b: refused: not enough hires left (1 needed, 0 left): hire fewer agents, or wait for a report.
    ");
}

#[test]
fn an_agent_does_not_hire_itself_or_an_agent_above_it() {
    let played = play("an agent does not hire itself or an agent above it");
    assert_snapshot!(shown(&played, "1#4"), @r#"
    user: Find out what the moon is made of.
    agent:  [a delegate_task]
    failure of a: refused: you can't hire yourself: do the work yourself, or hire a different agent.
    agent:  [b delegate_task]
    result of b: <sub-agent-complete id="1.1" agent="near-looker" granted="100sat" used="2.353sat">
    Grey.
    </sub-agent-complete>
    "#);
    assert_snapshot!(shown(&played, "1.1#2"), @"
    user: boss needs:

    Look at the near side.

    These members of your team work above you and can't be hired: boss.
    agent:  [c delegate_task]
    failure of c: refused: boss -> near-looker -> boss would be a cycle: hire an agent that is not waiting for you.
    ");
}

#[test]
fn an_unknown_hire_is_not_sent_a_message_stopped_or_awaited() {
    let played = play("an unknown hire is not sent a message, stopped or awaited");
    assert_snapshot!(shown(&played, "1#2"), @r#"
    user: Find out what the moon is made of.
    agent:  [a message_agent] [b stop_agent] [c wait_for_agents] [d wait_for_agents] [e message_agent] [f message_agent]
    failure of a: refused: 1.1 is not one of your active hires: list your hires, then use the id of an active hire.
    failure of b: refused: 2 is not one of your active hires: list your hires, then use the id of an active hire.
    failure of c: refused: 1.7 is not one of your active hires: list your hires, then use the id of an active hire.
    failure of d: refused: you have no active hires to wait for: continue with your own work.
    failure of e: refused: `id` is not the id of a hire, such as "1.2": correct it and call again. A right call: message_agent {"id":"1.2","text":"…"}
    failure of f: refused: the task, message or question is empty: write the text and call again. A right call: message_agent {"id":"1.2","text":"…"}
    "#);
}

#[test]
fn the_runtime_hires_for_an_agent_that_must_hire_and_does_not() {
    for script in
        ["the runtime hires for an agent that must hire and does not", "an agent that must hire is nudged once"]
    {
        let played = play(script);
        assert_eq!(report(&played, "1").undone, None, "{script}");
        assert!(played.shown.contains_key("1.1#1"), "{script}");
    }
}

#[test]
fn a_hire_knows_its_checks_and_can_correct_its_report_once() {
    let played = play("a report that fails a check is corrected once");
    assert_snapshot!(shown(&played, "1.1#6"), @r#"
    user: boss needs:

    Count the stones.

    Your report counts only if it passes these checks:
    - The numbers `stones` in its JSON add up to no more than 10.
    - Each claim is followed by the id of the call that shows it, in brackets, as the result of that call has it.
    agent:  [x look]
    result of x: [1.1#2]
    stones
    agent: Many [1.1#2]. {"stones": 20}
    user: The sum of stones is 20 (20), which is 10 over the cap of 10. Find options that cost less, or leave some out.
    user: Your report did not pass its checks, see above. Correct it and report again: it is checked once more.
    "#);
    assert_eq!(report(&played, "1.1").acceptance, Acceptance::Accepted);
    let played = play("a report that passes its checks is accepted");
    assert_eq!(report(&played, "1.1").acceptance, Acceptance::Accepted);
    let played = play("a report that fails a check twice is not accepted");
    assert_eq!(report(&played, "1.1").acceptance, Acceptance::NotAccepted);
    assert!(shown(&played, "1#3").contains(
        "<sub-agent-complete id=\"1.1\" agent=\"near-looker\" granted=\"100sat\" used=\"4.3sat\" not-accepted>"
    ));
}
