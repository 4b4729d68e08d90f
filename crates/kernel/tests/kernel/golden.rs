//! The stored form of every variant, byte for byte. Every later version must read the journals of a released version.
//! So a line in `golden/` never changes after a release; a new variant adds a line, and a changed form gets a new
//! version number and its own files.
//!
//! One file per enum, one line per variant. `GOLDEN=write cargo test -p guildhall-kernel golden::` writes the
//! files again. Use it only for new lines.

#![expect(clippy::disallowed_methods, reason = "the test reads its files; the kernel reads none")]

mod samples;

use std::fmt::Debug;
use std::path::PathBuf;

use guildhall_kernel::{ACCOUNT_FORMAT, FORMAT, Stored, TREASURY_FORMAT};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Checks a file in both directions: today's code writes the file's lines, and reads them back as the samples.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(file: &str, samples: &[(&str, T)]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file).with_extension("jsonl");
    let lines: Vec<String> = samples.iter().map(|(_, sample)| written(sample)).collect();
    if std::env::var("GOLDEN").as_deref() == Ok("write") {
        std::fs::write(&path, lines.join("\n") + "\n").expect("golden files can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(stored.ends_with('\n') && !stored.contains('\r'), "{file} has whole lines");
    assert_eq!(stored.lines().count(), samples.len(), "{file} has a line for each variant, and no other");
    for ((line, (name, sample)), today) in stored.lines().zip(samples).zip(&lines) {
        assert_eq!(today, line, "{name} of {file} is written as it always was");
        let read: T = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name} of {file}: {error}"));
        assert_eq!(&read, sample, "{name} of {file} reads as it always did");
    }
}

fn written(sample: &impl Serialize) -> String {
    serde_json::to_string(sample).expect("samples can be stored")
}

fn check_stored(file: &str, v: u16, samples: Vec<(&'static str, guildhall_kernel::Fact)>) {
    let store = |(name, fact)| (name, samples::stored(v, fact));
    check(file, &samples.into_iter().map(store).collect::<Vec<(&str, Stored)>>());
}

#[test]
fn every_fact_is_stored_as_it_always_was() {
    check_stored("fact", 1, samples::facts());
}

#[test]
fn every_ask_is_stored_as_it_always_was() {
    check_stored("ask", 1, samples::asks());
}

#[test]
fn every_answer_is_stored_as_it_always_was() {
    check_stored("answer", 1, samples::answers());
}

#[test]
fn every_stimulus_is_stored_as_it_always_was() {
    check_stored("stimulus", 1, samples::stimuli());
}

#[test]
fn every_refusal_is_stored_as_it_always_was() {
    let in_form_1 = |(name, _): &(&str, _)| !["asked you", "field"].contains(name);
    check_stored("refusal", 1, samples::refusals().into_iter().filter(in_form_1).collect());
}

#[test]
fn every_addition_of_form_2_is_stored_as_it_always_was() {
    check_stored("form_2", 2, samples::facts_of_form_2());
    check("session_fact_form_2", &samples::session_facts_of_form_2());
}

#[test]
fn every_fact_of_a_session_is_stored_as_it_always_was() {
    let is_of_form_1 = |name: &str| ["funded", "topped up", "requested", "corrected", "ended"].contains(&name);
    let (form_1, later) = samples::session_facts().into_iter().partition::<Vec<_>, _>(|(name, _)| is_of_form_1(name));
    let (form_4, form_3) = later.into_iter().partition::<Vec<_>, _>(|(name, _)| *name == "returned");
    check("session_fact", &form_1);
    check("session_fact_form_3", &form_3);
    check("session_fact_form_4", &form_4);
}

#[test]
fn every_fact_of_the_treasury_is_stored_as_it_always_was() {
    check("treasury_fact", &samples::treasury_facts());
    check("failed_because", &samples::failed_becauses());
    check("network", &samples::networks());
}

#[test]
fn every_cause_is_stored_as_it_always_was() {
    check("cause", &samples::causes());
}

#[test]
fn every_other_enum_is_stored_as_it_always_was() {
    check("acceptance", &samples::acceptances());
    check("addressee", &samples::addressees());
    check("amount_error", &samples::amount_errors());
    check("context", &samples::contexts());
    check("cost", &samples::costs());
    check("effect", &samples::effects());
    check("inherit", &samples::inherits());
    check("matter", &samples::matters());
    check("mode", &samples::modes());
    check("name_error", &samples::name_errors());
    check("need", &samples::needs());
    check("nudge", &samples::nudges());
    check("origin", &samples::origins());
    check("outcome", &samples::outcomes());
    check("pause", &samples::pauses());
    check("sender", &samples::senders());
    check("standing", &samples::standings());
    check("stay", &samples::close_whens());
    check("text_kind", &samples::text_kinds());
    check("turn", &samples::turns());
    check("waking", &samples::wakings());
    check("wording", &samples::wordings());
}

#[test]
fn the_version_changes_with_the_form_and_only_then() {
    let versions = (FORMAT, ACCOUNT_FORMAT, TREASURY_FORMAT);
    assert_eq!(versions, (2, 4, 1), "a new version needs files of its own beside those of the old one");
}
