//! The example with a known fault, unchanged and changed.

use std::fs;

use crate::cited::{Cited, chain, checked};
use crate::driver::{Hall, Outcome};
use crate::example::{Example, repository, walk};
use crate::team::Team;

fn hall(example: &Example) -> Hall {
    Hall::new(Team::read(&example.root.join("agents")), &example.root)
}

async fn ask(example: &Example) -> Outcome {
    let outcome = hall(example).run(example.says("question")).await;
    for work in &outcome.work {
        checked(&work.report, &example.root);
    }
    outcome
}

/// Checks that an answer names the fault, with a chain of these kinds of evidence.
fn check_fault(outcome: &Outcome, fault: &Cited, sources: &[&str]) {
    let Cited { path, line } = fault;
    assert!(outcome.answer.contains(&format!("\nThe evidence leads to {path}:{line}.\n")), "{}", outcome.answer);
    let chain = chain(&outcome.answer);
    assert_eq!(&chain.last().unwrap().0, fault);
    assert_eq!(chain.iter().map(|(_, source)| source.as_str()).collect::<Vec<_>>(), sources, "{}", outcome.answer);
}

fn fault(example: &Example) -> Cited {
    let path = example.says("fault").to_owned();
    Cited { line: example.line(&path, example.says("fault_line")), path }
}

#[tokio::test]
async fn the_question_ends_at_the_fault_with_a_chain_from_log_over_config_to_code() {
    let example = Example::payment();
    let outcome = ask(&example).await;
    check_fault(&outcome, &fault(&example), &["logs", "config", "code"]);
    let setting = Cited {
        path: example.says("config").to_owned(),
        line: example.line(example.says("config"), example.says("setting")),
    };
    assert_eq!(chain(&outcome.answer)[1].0, setting);
}

#[tokio::test]
async fn a_line_found_at_the_fourth_level_is_in_the_answer_of_the_root() {
    let example = Example::payment();
    let outcome = ask(&example).await;
    let levels: Vec<usize> = outcome.work.iter().map(|work| work.path.level()).collect();
    assert_eq!((outcome.work.len(), levels.iter().max()), (10, Some(&3)), "{:?}", outcome.work);
    let Cited { path, line } = fault(&example);
    let deepest = outcome.work.iter().filter(|work| work.path.level() == 3);
    let found = deepest.filter(|work| work.report.contains(&format!(" {path}:{line}: ")));
    let finders: Vec<&str> = found.map(|work| work.agent.as_str()).collect();
    let place = outcome.answer.split_once(&format!("1. {path}:{line}: ")).unwrap().1;
    assert!(!finders.is_empty() && finders.iter().all(|finder| place.contains(finder)), "{}", outcome.answer);
}

#[tokio::test]
async fn the_answer_is_right_with_renamed_identifiers_and_files() {
    let example = Example::copy();
    let renames = example.renames();
    let change = |text: &str| renames.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new));
    example.rewrite(change);
    let path = change(example.says("fault"));
    let line = example.line(&path, &change(example.says("fault_line")));
    check_fault(&ask(&example).await, &Cited { path, line }, &["logs", "config", "code"]);
}

#[tokio::test]
async fn the_answer_is_right_with_a_fault_moved_to_another_file() {
    let example = Example::copy();
    let (from, to) = (example.says("fault"), example.says("moved_to"));
    let module = |path: &str| path.trim_end_matches(".py").replace('/', ".");
    example.rewrite(|text| text.replace(from, to).replace(&module(from), &module(to)));
    let line = example.line(to, example.says("fault_line"));
    check_fault(&ask(&example).await, &Cited { path: to.to_owned(), line }, &["logs", "config", "code"]);
}

#[tokio::test]
async fn without_the_log_the_report_has_the_other_evidence_and_the_searches() {
    let example = Example::copy();
    fs::remove_dir_all(example.root.join("logs")).unwrap();
    let outcome = ask(&example).await;
    assert!(checked(&outcome.answer, &example.root).len() >= 3, "{}", outcome.answer);
    assert!(!outcome.answer.contains("othing matches"), "{}", outcome.answer);
    assert!(outcome.answer.contains("in all logs of the project (no line)"), "{}", outcome.answer);
}

/// Asks a question that is not about trouble. The line with the text must be among the best places, and the chain must not end at
/// the fault.
async fn check_plain(question: &str, file: &str, text: &str) {
    let example = Example::payment();
    let outcome = hall(&example).run(question).await;
    let cited = checked(&outcome.answer, &example.root);
    let (file, text) = (example.says(file), example.says(text));
    let expected = Cited { path: file.to_owned(), line: example.line(file, text) };
    assert!(cited.iter().take(3).any(|cited| *cited == expected), "{question}: {}", outcome.answer);
    assert!(chain(&outcome.answer).last().is_none_or(|(end, _)| *end != fault(&example)), "{}", outcome.answer);
}

#[tokio::test]
async fn a_question_without_trouble_is_answered_by_its_rare_words() {
    check_plain("How long is an idempotency key remembered?", "settings_page", "remembered_line").await;
    check_plain("Which port does the service listen on?", "config", "port_line").await;
    check_plain("Where is the ledger written?", "settings_page", "ledger_line").await;
}

#[tokio::test]
async fn a_question_with_a_name_is_answered_with_a_line_that_contains_the_name() {
    let example = Example::payment();
    let name = example.says("other_setting");
    let outcome = hall(&example).run(&format!("What is {name} set to, and who reads it?")).await;
    let chain = chain(&outcome.answer);
    let place = format!("\n1. {}:{}: ", chain.last().unwrap().0.path, chain.last().unwrap().0.line);
    let line = outcome.answer.split_once(&place).unwrap().1.lines().next().unwrap();
    assert!(line.contains(name), "{}", outcome.answer);
}

#[tokio::test]
async fn a_refused_hire_is_listed_as_missing() {
    let example = Example::payment();
    let mut hall = hall(&example);
    let refused = example.says("log_reader").to_owned();
    hall.refused = Some(refused.clone());
    let answer = hall.run(example.says("question")).await.answer;
    let expected = format!("missing: {refused}, refused: ");
    assert!(answer.contains(&expected), "{answer}");
    assert!(answer.contains("\nThe evidence leads to "), "{answer}");
}

#[tokio::test]
async fn the_fault_is_found_inside_a_larger_project() {
    let example = Example::payment();
    let hall = Hall::new(Team::read(&example.root.join("agents")), &repository());
    let outcome = hall.run(example.says("question")).await;
    let Cited { path, line } = fault(&example);
    let expected = format!("\nThe evidence leads to examples/payment/{path}:{line}.\n");
    assert!(outcome.answer.contains(&expected), "{}", outcome.answer);
}

/// Names of files that every project has.
const COMMON_FILES: [&str; 2] = ["README.md", "__init__.py"];

#[test]
fn our_crates_contain_no_name_of_the_example() {
    let example = Example::payment();
    let mut known: Vec<String> = Vec::new();
    for file in example.files() {
        known.push(file.rsplit('/').next().unwrap().to_owned());
        let text = fs::read_to_string(example.root.join(&file)).unwrap();
        for line in text.lines() {
            let setting = line.split_once(" = ").filter(|(name, _)| file.starts_with("config/") && name.contains('_'));
            known.extend(setting.map(|(name, _)| name.to_owned()));
            let class = line.strip_prefix("class ").and_then(|rest| rest.split(['(', ':']).next());
            known.extend(class.filter(|name| name.chars().filter(|c| c.is_uppercase()).count() > 1).map(str::to_owned));
            known.extend(file.starts_with("logs/").then(|| line.to_owned()));
        }
    }
    known.extend(Team::read(&example.root.join("agents")).0.into_keys());
    known.retain(|name| !COMMON_FILES.contains(&name.as_str()));
    assert!(known.len() > 100, "{known:?}");
    walk(&repository().join("crates"), &mut |path| {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        for name in &known {
            assert!(!text.contains(name.as_str()), "{} is in {}", name, path.display());
        }
    });
}
