//! The example is run as a person runs it.

use std::process::Command;

#[test]
fn the_tools_result_ends_in_the_answer_and_the_bill_is_printed() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let output = Command::new(env!("CARGO_BIN_EXE_embed")).env_clear().current_dir(project.path()).output()?;
    let (said, complained) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert_eq!((output.status.code(), complained.as_str()), (Some(0), ""));
    let bill = said.strip_prefix("The north shelf has 12 lanterns.\nIt cost ").ok_or(said.clone())?;
    let cost = bill.strip_suffix("sat of 100sat.\n").ok_or(said.clone())?.parse::<f64>()?;
    assert!(0.0 < cost && cost < 10.0, "{said}");
    assert!(project.path().join(".guildhall/hall/journal.db").is_file());
    Ok(())
}

#[test]
fn twenty_lines_embed_guildhall_with_a_model_and_a_tool_of_ones_own() {
    let lines = include_str!("../src/main.rs").lines().count();
    assert!(lines <= 20, "{lines} lines");
}

#[test]
fn the_readme_shows_this_very_program() {
    assert!(include_str!("../../../README.md").contains(include_str!("../src/main.rs")));
}
