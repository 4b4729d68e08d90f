//! Sessions that are ended without a resume, because they can't be resumed.

use guildhall::{Ending, Fact, Hall, HallError, Msat, Outcome, REHEARSAL_PRICE, Reply, model_fn};

use crate::settings::with_settings;

/// The settings of another version of the program.
const OTHER_SETTINGS: &[u8] = br#"{"form":99,"wisdom":"of later years"}"#;

#[tokio::test]
async fn stop_ends_a_session_whose_settings_have_another_form() {
    let project = tempfile::tempdir().unwrap();
    let thinker = model_fn(|_| std::future::pending::<Reply>());
    let hall = Hall::builder().project(project.path()).model("thinker", thinker, REHEARSAL_PRICE).build().unwrap();
    let granted = Msat::from_sat(100).unwrap();
    let mut running = hall.run("Go.").budget(granted).start().await.unwrap();
    while !matches!(running.next().await.unwrap().unwrap().fact, Fact::Asked { .. }) {}
    let like = running.id().clone();
    drop(running);
    let id = with_settings(hall.journal(), &like, OTHER_SETTINGS, |_| true).await;
    let head = hall.journal().head(&id).await.unwrap();

    // Only the program that started the session can resume it or let its agents make a last report.
    for refused in [
        hall.resume(&id).await.map(drop),
        hall.end_here(&id, Ending::WrapUp).await.map(drop),
        hall.session(&id).await.map(drop),
    ] {
        let why = refused.unwrap_err();
        assert!(matches!(&why, HallError::OtherForm { found: 99, session } if *session == id), "{why}");
        let told = why.to_string();
        assert!(told.starts_with("session newer-newt has settings of form 99, but") && !told.contains('\n'), "{told}");
    }
    assert_eq!(hall.journal().head(&id).await.unwrap(), head, "nothing was stored");

    assert!(hall.end_here(&id, Ending::Cancel).await.unwrap());
    let ended = hall.session(&id).await.unwrap();
    assert_eq!(ended.report.map(|report| report.outcome), Some(Outcome::Cancelled));
    assert!(ended.violations.is_empty(), "{:?}", ended.violations);
    assert!(ended.charges.reserved > Msat::ZERO, "the interrupted call may have been billed");
    assert_eq!(ended.free.get() + ended.charges.total().get(), granted.get());
    assert!(matches!(hall.end_here(&id, Ending::Cancel).await, Err(HallError::HasEnded(_))));
}
