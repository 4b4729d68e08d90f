//! The stored form of every variant, byte for byte. A changed line means that journals of before can't be read any more: the form
//! then gets its next number, never one that was used.
//!
//! One file per enum, one line per variant. `GOLDEN=write cargo test -p guildhall-kernel golden::` writes the files again.

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
        assert_eq!(today, line, "{name} of {file} is written as the file says");
        let read: T = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name} of {file}: {error}"));
        assert_eq!(&read, sample, "{name} of {file} reads as the sample");
    }
}

fn written(sample: &impl Serialize) -> String {
    serde_json::to_string(sample).expect("samples can be stored")
}

fn check_stored(file: &str, samples: Vec<(&'static str, guildhall_kernel::Fact)>) {
    let store = |(name, fact)| (name, samples::stored(fact));
    check(file, &samples.into_iter().map(store).collect::<Vec<(&str, Stored)>>());
}

#[test]
fn every_fact_has_a_fixed_form() {
    check_stored("fact", samples::facts());
}

#[test]
fn every_ask_has_a_fixed_form() {
    check_stored("ask", samples::asks());
}

#[test]
fn every_answer_has_a_fixed_form() {
    check_stored("answer", samples::answers());
}

#[test]
fn every_stimulus_has_a_fixed_form() {
    check_stored("stimulus", samples::stimuli());
}

#[test]
fn every_refusal_has_a_fixed_form() {
    check_stored("refusal", samples::refusals());
    check("wrong_field", &samples::wrong_fields());
}

#[test]
fn every_fact_of_a_session_has_a_fixed_form() {
    check("session_fact", &samples::session_facts());
}

#[test]
fn every_fact_of_the_treasury_has_a_fixed_form() {
    check("treasury_fact", &samples::treasury_facts());
    check("failed_because", &samples::failed_becauses());
    check("network", &samples::networks());
}

#[test]
fn every_cause_has_a_fixed_form() {
    check("cause", &samples::causes());
}

#[test]
fn every_other_enum_has_a_fixed_form() {
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
    check("close_when", &samples::close_whens());
    check("text_kind", &samples::text_kinds());
    check("turn", &samples::turns());
    check("waking", &samples::wakings());
    check("wording", &samples::wordings());
}

#[test]
fn the_version_changes_with_the_form_and_only_then() {
    let versions = (FORMAT, ACCOUNT_FORMAT, TREASURY_FORMAT);
    assert_eq!(versions, (4, 5, 1), "a form that was used gets the next number, never an older one");
}
