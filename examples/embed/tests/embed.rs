//! Runs the example as a person runs it.

use std::process::Command;

#[test]
fn the_answer_contains_the_result_of_the_tool_and_the_cost_is_printed() -> Result<(), Box<dyn std::error::Error>> {
    let project = tempfile::tempdir()?;
    let output = Command::new(env!("CARGO_BIN_EXE_embed")).env_clear().current_dir(project.path()).output()?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    let bill = stdout.strip_prefix("The north shelf has 12 lanterns.\nIt cost ").ok_or(stdout.clone())?;
    let cost = bill.strip_suffix("sat of 100sat.\n").ok_or(stdout.clone())?.parse::<f64>()?;
    assert!(0.0 < cost && cost < 10.0, "{stdout}");
    assert!(project.path().join(".guildhall/hall/journal.db").is_file());
    Ok(())
}

#[test]
fn the_example_has_at_most_twenty_lines() {
    let lines = include_str!("../src/main.rs").lines().count();
    assert!(lines <= 20, "{lines} lines");
}
