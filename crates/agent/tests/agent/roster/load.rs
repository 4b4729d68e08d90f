//! Rosters from directories: the agents in their order, and the problems.

use std::fs;
use std::path::Path;

use guildhall_agent::roster::{Roster, Source};

use super::messages;

pub(crate) fn write(directory: &Path, file: &str, front: &str) {
    let file = directory.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("---\n{front}\n---\nDo it.\n")).unwrap();
}

/// The agents with their descriptions.
fn agents(roster: &Roster) -> Vec<String> {
    roster.agents().map(|agent| format!("{}: {}", agent.name, agent.description)).collect()
}

/// The problems, without the directory that differs from test to test.
pub(crate) fn problems(roster: &Roster, directory: &Path) -> Vec<String> {
    messages(roster.problems()).iter().map(|message| message.replace(&directory.display().to_string(), "DIR")).collect()
}

#[test]
fn the_first_directory_s_agent_is_used_and_subdirectories_are_read() {
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (home.path().join("1"), home.path().join("2"));
    write(&first, "a.md", "name: a\ndescription: first");
    write(&second, "a.md", "name: a\ndescription: second");
    write(&second, "team/b.md", "name: b\ndescription: second");
    write(&second, "README.md", "name: c\ndescription: no agent");
    write(&second, ".hidden/d.md", "name: d\ndescription: no agent");
    write(&second, "e.txt", "name: e\ndescription: no agent");
    let roster = Roster::load(&[Source::Named(first), Source::Usual(second)]);
    assert_eq!((agents(&roster), messages(roster.problems())), (vec!["a: first".into(), "b: second".into()], vec![]));
}

#[test]
fn two_agents_of_one_name_in_one_directory_are_a_problem_that_names_both_files() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "one.md", "name: a\ndescription: one");
    write(home.path(), "two.md", "name: a\ndescription: two");
    let roster = Roster::load(&[Source::Named(home.path().to_owned())]);
    assert_eq!(agents(&roster), ["a: one"]);
    assert_eq!(
        problems(&roster, home.path()),
        ["DIR/two.md:2: error: the agent a is also in DIR/one.md: rename one of them"]
    );
}

#[test]
fn a_directory_that_the_user_named_must_exist() {
    let home = tempfile::tempdir().unwrap();
    let (gone, file) = (home.path().join("gone"), home.path().join("file"));
    fs::write(&file, "").unwrap();
    assert_eq!(messages(Roster::load(&[Source::Usual(gone.clone())]).problems()), [""; 0]);
    let roster = Roster::load(&[Source::Named(gone), Source::Usual(file), Source::BuiltIn]);
    assert_eq!(
        problems(&roster, home.path()),
        ["DIR/gone:1: error: the directory does not exist", "DIR/file:1: error: the directory does not exist"]
    );
    assert_eq!(roster.agents().count(), 7, "the other agents are loaded all the same");
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "a.md", "name: a\ndescription: fine");
    fs::write(home.path().join("b.md"), b"\xff").unwrap();
    fs::write(home.path().join("c.md"), "x".repeat(10_000_000)).unwrap();
    let roster = Roster::load(&[Source::Named(home.path().to_owned())]);
    assert_eq!(agents(&roster), ["a: fine"]);
    assert_eq!(
        problems(&roster, home.path()),
        [
            "DIR/b.md:1: error: it is not a text file: an agent file is Markdown in UTF-8",
            "DIR/c.md:1: error: an agent file has at most 1048576 bytes",
        ]
    );
}

#[cfg(unix)]
#[test]
fn links_that_form_a_loop_or_are_broken_do_not_stop_the_reading() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "a.md", "name: a\ndescription: fine");
    std::os::unix::fs::symlink(home.path(), home.path().join("back")).unwrap();
    std::os::unix::fs::symlink(home.path(), home.path().join("back.md")).unwrap();
    std::os::unix::fs::symlink("nowhere", home.path().join("gone.md")).unwrap();
    let roster = Roster::load(&[Source::Named(home.path().to_owned())]);
    assert_eq!(agents(&roster), ["a: fine"]);
    let problems = problems(&roster, home.path());
    assert_eq!(problems[0], "DIR/back.md:1: error: it can't be read: it is not a file");
    assert!(problems[1].starts_with("DIR/gone.md:1: error: it can't be read: "), "{problems:?}");
}

#[test]
fn no_more_files_are_read_than_the_limit() {
    let home = tempfile::tempdir().unwrap();
    for number in 0..=1000 {
        fs::write(home.path().join(format!("{number:04}.md")), "---\ndescription: d\n---\n").unwrap();
    }
    let roster = Roster::load(&[Source::Named(home.path().to_owned())]);
    assert_eq!(roster.agents().count(), 1000);
    assert_eq!(
        problems(&roster, home.path())[0],
        "DIR:1: error: there are more than 1000 files in this directory: the rest was not read"
    );
}
