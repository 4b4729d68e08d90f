//! Questions about our own source. Every cited line must exist.

use crate::cited::checked;
use crate::driver::Hall;
use crate::example::repository;
use crate::team::Team;

async fn check(question: &str, expected: &str) {
    let crates = repository().join("crates");
    let outcome = Hall::new(Team::alone(), &crates).run(question).await;
    let cited = checked(&outcome.answer, &crates);
    assert!(cited.len() >= 3, "{question}: {}", outcome.answer);
    assert!(cited.iter().any(|cited| cited.path.starts_with(expected)), "{question}: {}", outcome.answer);
}

#[tokio::test]
async fn a_question_about_severance_cites_lines_that_exist() {
    check("Where is `last_min` used when a severance is set aside?", "kernel/").await;
}

#[tokio::test]
async fn a_question_about_refusals_cites_lines_that_exist() {
    check("Why is a hire refused with TooDeep?", "kernel/").await;
}

#[tokio::test]
async fn a_question_about_the_journal_cites_lines_that_exist() {
    check("Which thread writes to the journal, and what does the writer do after an fsync error?", "local/").await;
}

#[tokio::test]
async fn a_question_about_secrets_cites_lines_that_exist() {
    check("How does the Redactor take secrets out of a text, and what is SECRET_BYTES_MIN?", "tools/").await;
}

#[tokio::test]
async fn a_question_about_prices_cites_lines_that_exist() {
    check("What does LOCAL_PRICE cost per million tokens?", "models/").await;
}

/// Asks a plain question about the whole repository, with the built-in team. The important word must be in one of the best places.
async fn check_plain(question: &str, word: &str) {
    let root = repository();
    let roster = Team::read(&root.join("crates/agent/roster"));
    let outcome = Hall::new(roster, &root).run(question).await;
    assert!(outcome.work.len() > 1, "{question}: {}", outcome.answer);
    checked(&outcome.answer, &root);
    let places =
        outcome.answer.lines().filter(|line| line.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok()));
    let places: Vec<String> = places.map(str::to_lowercase).collect();
    let is_among_the_best = places.iter().take(3).any(|place| place.contains(word));
    assert!(places.len() >= 3 && is_among_the_best, "{question}: {}", outcome.answer);
}

#[tokio::test]
async fn a_plain_question_about_severance_is_answered_with_matching_lines() {
    check_plain("How does a contract compute its severance?", "severance").await;
}

#[tokio::test]
async fn a_plain_question_about_secrets_is_answered_with_matching_lines() {
    check_plain("How are secrets redacted from what a tool returns?", "secret").await;
}

#[tokio::test]
async fn a_plain_question_about_resuming_is_answered_with_matching_lines() {
    check_plain("Where is a killed run resumed?", "resum").await;
}
