//! Final texts that promise a hire, name an agent or are short: each agent is asked at most once whether its text is its report,
//! the word DONE keeps the first text, and only a promise that is repeated is marked.

use std::fs;
use std::sync::{Arc, Mutex};

use guildhall::roster::Source;
use guildhall::{Ended, Hall, Lack, Msat, Outcome, REHEARSAL_PRICE, Reply, Roster, model_fn};

/// The travel team, whose members' names have several words.
const TRAVEL: [&str; 5] = ["scheduling-agent", "financial-agent", "flight-agent", "experiences-agent", "food-agent"];

/// A team whose members' names are ordinary words.
const PRESS: [&str; 4] = ["writer", "reader", "editor", "buffer"];

/// Promises of a hire that name a member, or write the call.
const NAMING: [&str; 10] = [
    "I'm delegating to Scheduling Agent...",
    "Financial Agent needs: flights for Italy in March.",
    "To stay within budget, Financial Agent invoking its 3 sub-agents...",
    "Selected 2 agents: Scheduling Agent, Financial Agent",
    "Starting Financial Agent...",
    "I need help from the flight-agent.",
    "Ich bitte den Flight Agent um Hilfe.",
    "Le food agent s'en occupe.",
    "我会让Flight Agent去查。",
    "delegate_task(specialty=\"Flight Agent\", task=\"Find flights to Rome.\")",
];

/// Promises of a hire that name nobody.
const NAMELESS: [&str; 5] = [
    "I'm delegating to my child agent...",
    "I'll coordinate with my specialists...",
    "Let me ask my experts first.",
    "This is being worked on by the right people.",
    "Delegation in progress.",
];

/// Right answers that contain a member's name as an ordinary word.
const NAME_AS_WORD: [&str; 12] = [
    "The writer flushes the buffer.",
    "The reader is closed before the file.",
    "An editor opens at line 3.",
    "The buffer holds 4 KiB.",
    "Each reader gets a copy.",
    "Only one writer may hold the lock.",
    "It is a text editor.",
    "The buffer is full.",
    "No reader is left behind.",
    "The writer is generic over its sink.",
    "Close the editor and run it again.",
    "A reader skips the buffer if it is large.",
];

const SHORT_ANSWERS: [&str; 12] = [
    "4",
    "Yes.",
    "No.",
    "Tuesday.",
    "42 km.",
    "The roof.",
    "In March.",
    "It is blue.",
    "Rome",
    "0.6.11",
    "src/main.rs:12",
    "Nothing was found.",
];

/// How an agent answers the question whether its text is its report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Character {
    SaysDone,
    SaysItAgain,
}

/// What an agent was asked, and how its work ended.
struct Told {
    questions: Vec<String>,
    ended: Ended,
}

/// Asks an agent that gives this text without a call.
async fn ask(roster: Option<Roster>, text: &'static str, character: Character) -> Told {
    let project = tempfile::tempdir().unwrap();
    let questions = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&questions);
    let model = model_fn(move |prompt| {
        let words = prompt.last_words().unwrap_or_default().to_owned();
        let is_asked = words.contains("answer only DONE");
        if is_asked {
            heard.lock().unwrap().push(words);
        }
        std::future::ready(match (is_asked, character) {
            (false, _) => Reply::words(text),
            (true, Character::SaysDone) => Reply::words("Done."),
            (true, Character::SaysItAgain) => Reply::words(format!("As I said: {text}")),
        })
    });
    let hall = Hall::builder().project(project.path()).model("clerk", model, REHEARSAL_PRICE);
    let hall = match roster {
        Some(roster) => hall.roster(roster),
        None => hall,
    };
    let hall = hall.build().unwrap();
    let ended = hall.run("What happens then?").budget(Msat::from_sat(5000).unwrap()).await.unwrap();
    assert_eq!((ended.report.outcome, ended.violations.len()), (Outcome::Done, 0), "{text}: {:?}", ended.failure);
    let questions = std::mem::take(&mut *questions.lock().unwrap());
    assert_eq!(ended.bill.lines[0].calls, 1 + questions.len() as u64, "{text}");
    Told { questions, ended }
}

/// A lead whose file lists its team by name, and the team.
fn listed(members: &[&str]) -> (tempfile::TempDir, Roster) {
    let dir = tempfile::tempdir().unwrap();
    let lead = format!("delegation:\n  team: [{}]\n", members.join(", "));
    for (name, keys) in members.iter().map(|name| (*name, "")).chain([("lead", lead.as_str())]) {
        let file = format!("---\nname: {name}\ndescription: Does a part.\n{keys}---\nYou are {name}.\n");
        fs::write(dir.path().join(format!("{name}.md")), file).unwrap();
    }
    let roster = Roster::load(&[Source::Named(dir.path().to_owned())]);
    (dir, roster)
}

/// Checks that one question is asked about each of these texts, that DONE keeps the text, and how a stubborn agent is marked.
async fn check_asked_once(members: &[&str], texts: &[&'static str], lack: Lack) {
    for text in texts {
        let (_dir, roster) = listed(members);
        let told = ask(Some(roster), text, Character::SaysDone).await;
        assert_eq!(
            told.questions,
            ["Nobody was hired. If this is your report, answer only DONE. If not, make the calls now."]
        );
        assert_eq!((told.ended.text.as_str(), Lack::of(&told.ended.report)), (*text, None));
        let (_dir, roster) = listed(members);
        let told = ask(Some(roster), text, Character::SaysItAgain).await;
        assert_eq!((told.questions.len(), told.ended.text), (1, format!("As I said: {text}")));
        assert_eq!((told.ended.bill.lines[0].lack, Lack::of(&told.ended.report)), (Some(lack), Some(lack)), "{text}");
    }
}

#[tokio::test]
async fn a_promise_that_names_a_member_or_writes_the_call_is_asked_about_once_and_marked_if_it_is_repeated() {
    check_asked_once(&TRAVEL, &NAMING, Lack::PromisedHire).await;
}

#[tokio::test]
async fn a_promise_that_names_nobody_is_asked_about_once_and_marked_as_a_report_without_a_hire() {
    check_asked_once(&TRAVEL, &NAMELESS, Lack::NoHire).await;
    assert!(!Lack::NoHire.is_partial() && Lack::PromisedHire.is_partial());
}

#[tokio::test]
async fn an_answer_that_contains_a_name_as_an_ordinary_word_is_asked_about_once_and_kept() {
    check_asked_once(&PRESS, &NAME_AS_WORD, Lack::NoHire).await;
}

#[tokio::test]
async fn a_short_answer_of_an_agent_with_a_listed_team_is_asked_about_once_and_kept() {
    check_asked_once(&TRAVEL, &SHORT_ANSWERS, Lack::NoHire).await;
}

#[tokio::test]
async fn a_short_answer_of_the_built_in_contractor_costs_one_call() {
    for text in SHORT_ANSWERS {
        let told = ask(None, text, Character::SaysItAgain).await;
        assert_eq!((told.questions.len(), told.ended.text.as_str()), (0, text));
        assert_eq!(Lack::of(&told.ended.report), None);
    }
}
