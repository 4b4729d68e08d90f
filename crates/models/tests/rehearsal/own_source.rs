//! Questions about our own source: whatever is cited is there.

use crate::cited::checked;
use crate::driver::Hall;
use crate::example::repository;
use crate::team::Team;

async fn check(question: &str, expected: &str) {
    let crates = repository().join("crates");
    let outcome = Hall::new(Team::alone(), &crates).run(question, 5000).await;
    let cited = checked(&outcome.answer, &crates);
    assert!(cited.len() >= 3, "{question}: {}", outcome.answer);
    assert!(cited.iter().any(|cited| cited.path.starts_with(expected)), "{question}: {}", outcome.answer);
    assert!(!outcome.work[0].ran_dry, "{question}");
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
