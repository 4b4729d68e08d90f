//! The example with a known fault, as it is and changed.

use std::path::PathBuf;

use crate::driver::Hall;
use crate::team::Team;

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[tokio::test]
async fn the_question_ends_at_the_fault() {
    let root = examples().join("payment");
    let outcome = Hall::new(Team::read(&root.join("agents")), &root).run("Why is the payment API failing?", 500).await;
    for work in &outcome.work {
        eprintln!("{} {} turns {} granted {} own {} dry {}\n{}\n", work.path, work.agent, work.turns, work.granted, work.own_cost, work.ran_dry, work.report);
    }
    eprintln!("cost {}", outcome.cost());
    eprintln!("{}", outcome.answer);
}
