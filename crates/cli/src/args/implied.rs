//! The command that a person leaves out: `guildhall "two words"` is `guildhall run "two words"`, also behind the flags of `run`.
//! One word that is no command stays an error, because a typo must not cost money.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command, CommandFactory};

use super::Cli;

const RUN: &str = "run";

/// Adds `run` to a command line that has a task and no command. All other command lines stay as they are.
pub(crate) fn with_command(mut words: Vec<OsString>) -> Vec<OsString> {
    let program = Cli::command();
    let run = program.find_subcommand(RUN).expect("`run` is a command");
    match first(run, &words) {
        First::Task => words.insert(1, RUN.into()),
        // The error must be about the word, and not about the flags before it.
        First::Word(at) if at > 1 && !is_command(&program, &words[at]) => {
            words.swap(1, at);
            words.truncate(2);
        }
        First::Word(_) | First::Other => {}
    }
    words
}

fn is_command(program: &Command, word: &OsStr) -> bool {
    word == "help" || program.find_subcommand(word).is_some()
}

/// How a command line begins, apart from the flags of `run`.
enum First {
    /// With a task: several words, `-` for stdin, or flags alone.
    Task,
    /// With one word, at this position.
    Word(usize),
    /// With a flag that `run` does not have, or with nothing.
    Other,
}

fn first(run: &Command, words: &[OsString]) -> First {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(word) = word.to_str() else { return First::Other };
        let skipped = match word {
            "-" => return First::Task,
            "--" => {
                let is_task = words.get(at + 1).and_then(|next| next.to_str()).is_some_and(has_several_words);
                return if is_task { First::Task } else { First::Other };
            }
            flag if flag.starts_with("--") => long(run, &flag[2..]),
            flag if flag.starts_with('-') => shorts(run, &flag[1..]),
            task if has_several_words(task) => return First::Task,
            _ => return First::Word(at),
        };
        let Some(skipped) = skipped else { return First::Other };
        at += skipped;
    }
    if words.len() > 1 { First::Task } else { First::Other }
}

fn has_several_words(text: &str) -> bool {
    text.split_whitespace().nth(1).is_some()
}

/// How many words a long flag of `run` takes, with its value.
fn long(run: &Command, flag: &str) -> Option<usize> {
    let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
    let arg = run.get_arguments().find(|arg| arg.get_long() == Some(name))?;
    Some(if takes_value(arg) && value.is_none() { 2 } else { 1 })
}

/// How many words short flags of `run` take, with the value of the last one.
fn shorts(run: &Command, flags: &str) -> Option<usize> {
    for (at, flag) in flags.char_indices() {
        let arg = run.get_arguments().find(|arg| arg.get_short() == Some(flag))?;
        if takes_value(arg) {
            let is_last = flags[at..].chars().nth(1).is_none();
            return Some(if is_last { 2 } else { 1 });
        }
    }
    Some(1)
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::with_command;

    #[track_caller]
    fn check(typed: &[&str], parsed: &[&str]) {
        let words: Vec<OsString> = std::iter::once("guildhall").chain(typed.iter().copied()).map(Into::into).collect();
        let with: Vec<String> =
            with_command(words).into_iter().skip(1).map(|word| word.into_string().unwrap()).collect();
        assert_eq!(with, parsed, "{typed:?}");
    }

    #[test]
    fn several_words_are_a_task_for_run_also_behind_flags() {
        check(&["two words"], &["run", "two words"]);
        check(&["-m", "haiku", "two words"], &["run", "-m", "haiku", "two words"]);
        check(&["--model=haiku", "-yq", "two words"], &["run", "--model=haiku", "-yq", "two words"]);
        check(&["-ymhaiku", "two words", "-v"], &["run", "-ymhaiku", "two words", "-v"]);
        check(&["--budget", "5 sat", "two\nwords"], &["run", "--budget", "5 sat", "two\nwords"]);
        check(&["-p", "two words"], &["run", "-p", "two words"]);
        check(&["-c"], &["run", "-c"]);
        check(&["-y", "-"], &["run", "-y", "-"]);
        check(&["--", "-two words"], &["run", "--", "-two words"]);
    }

    #[test]
    fn one_word_is_a_command_or_an_error_about_this_word() {
        check(&["modls"], &["modls"]);
        check(&["-m", "haiku", "modls", "x"], &["modls"]);
        check(&["two ", "words"], &["two ", "words"]);
        check(&["-m", "haiku", "models"], &["-m", "haiku", "models"]);
        check(&["show", "two words"], &["show", "two words"]);
    }

    #[test]
    fn flags_of_the_program_and_unknown_flags_stay_as_they_are() {
        for typed in [&[][..], &["--help"], &["-V"], &["--no-such-flag", "two words"], &["-yz", "two words"]] {
            check(typed, typed);
        }
    }
}
