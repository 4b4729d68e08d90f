//! Questions that are not about any project. They are written in parts, so that no search finds their words in this file.

use crate::driver::Hall;
use crate::example::{Example, repository};
use crate::team::Team;

const NONSENSE: &[&[&str]] = &[
    &["Why do the pur", "ple lla", "mas si", "ng at da", "wn in Zanz", "ibar?"],
    &["How ta", "ll is Mou", "nt Eve", "rest?"],
    &["what is the mea", "ning of li", "fe"],
    &["color", "less gre", "en ide", "as sle", "ep furi", "ously"],
    &["What is the cap", "ital of Fra", "nce?"],
    &["Who wo", "n the wor", "ld cu", "p in 19", "98?"],
    &["Is it go", "ing to ra", "in tomor", "row?"],
];

async fn check(hall: Hall, parts: &[&str]) {
    let question = parts.concat();
    let outcome = hall.run(&question).await;
    assert!(outcome.answer.contains("\nsearched: `"), "{question}: {}", outcome.answer);
    assert!(outcome.answer.contains("\nNobody was hired: "), "{question}: {}", outcome.answer);
    assert_eq!(outcome.work.len(), 1);
}

#[tokio::test]
async fn a_nonsense_question_hires_nobody_and_the_report_says_so() {
    let example = Example::payment();
    for parts in NONSENSE {
        let hall = Hall::new(Team::read(&example.root.join("agents")), &example.root);
        check(hall, parts).await;
    }
}

#[tokio::test]
async fn a_nonsense_question_hires_nobody_in_a_large_project_either() {
    let roster = Team::read(&repository().join("crates/agent/roster"));
    for parts in NONSENSE {
        check(Hall::new(roster.clone(), &repository()), parts).await;
    }
}
