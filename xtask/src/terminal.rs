//! Makes the picture of a terminal session in the README: runs the real program in a pseudo-terminal and draws what the terminal
//! shows as an animated SVG. It needs no network and no browser.

mod recording;
mod screen;
mod svg;
mod timeline;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Outcome;
use crate::wire::build;
use screen::Screen;
use timeline::Line;

pub(crate) const PICTURE: &str = "docs/terminal.svg";

/// The first command of the README, without the part that builds the program.
const COMMAND: &[&str] = &[
    "guildhall",
    "run",
    "--model",
    "rehearsal",
    "--team",
    "examples/payment",
    "--budget",
    "500sat",
    "Why is the payment API failing?",
];

/// A line that ends with `…` was cut to the width of the terminal. Numbers in it decide where, so only its first words are compared.
const WORDS_OF_CUT_LINE: usize = 4;

/// Makes the picture again.
pub(crate) fn draw() -> Outcome {
    let picture = svg::draw(&session()?);
    fs::write(PICTURE, picture).map_err(|e| format!("{PICTURE}: {e}"))
}

/// Checks that the picture can be made, and that the committed one has the words of today's program. Times, costs and the order of
/// agents that work in parallel differ from run to run.
pub(crate) fn check() -> Outcome {
    let committed = fs::read_to_string(PICTURE).map_err(|e| format!("{PICTURE}: {e}"))?;
    let made = svg::draw(&session()?);
    let (committed, made) = (words(&committed), words(&made));
    if committed == made {
        return Ok(());
    }
    let (old, new): (Vec<_>, Vec<_>) = (committed.difference(&made).collect(), made.difference(&committed).collect());
    Err(format!(
        "{PICTURE} is not what the program prints today: run `cargo xtask terminal`, and commit the result.\n\
         only in the picture: {old:?}\nonly in the program: {new:?}"
    ))
}

/// Runs the command and returns every line that the terminal showed long enough to be read.
fn session() -> Result<Vec<Line>, String> {
    let program = build(&["build", "-p", "guildhall-cli"])?;
    let output = recording::record(Path::new(&program), &COMMAND[1..])?;
    let mut screen = Screen::new();
    screen.write(prompt().as_bytes())?;
    timeline::lines(screen, &output)
}

/// The line with the command, as a shell shows it.
fn prompt() -> String {
    let quoted = |word: &&str| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() };
    format!("\x1b[2m$\x1b[0m \x1b[1m{}\x1b[0m\r\n", COMMAND.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

/// The words of a picture: of letters alone, and without the name of the session, which is new in each run. Status lines are left
/// out: what they show depends on the moment.
fn words(picture: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for line in svg::lasting_texts(picture) {
        let is_cut = line.ends_with('…');
        let kept = line.split_whitespace().take(if is_cut { WORDS_OF_CUT_LINE } else { usize::MAX });
        let kept = kept.map(|word| word.trim_matches(|c: char| !c.is_alphabetic()));
        words.extend(kept.filter(|word| word.len() > 1 && word.chars().all(char::is_alphabetic)).map(str::to_owned));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{Line, prompt, svg, words};
    use crate::terminal::screen::Screen;
    use crate::terminal::timeline;

    fn picture(output: &str) -> String {
        let mut screen = Screen::new();
        screen.write(prompt().as_bytes()).expect("the prompt is drawn");
        let lines: Vec<Line> =
            timeline::lines(screen, &[(0, output.into()), (900, b"\r\n".into())]).expect("it is drawn");
        svg::draw(&lines)
    }

    #[test]
    fn a_picture_with_other_costs_and_times_has_the_same_words() {
        let one = picture("session calm-fletcher-1988\r\n1.1 ada hired with 24 sat: Which errors are new…\r\n");
        let other = picture("session glad-heron-79\r\n1.1 ada hired with 2.4567 sat: Which errors are…\r\n");
        assert_eq!(words(&one), words(&other));
        assert!(words(&one).contains("hired") && !words(&one).contains("errors"), "{:?}", words(&one));
    }

    #[test]
    fn a_picture_of_another_program_has_other_words() {
        assert_ne!(words(&picture("used 3 sat")), words(&picture("paid 3 sat")));
    }

    #[test]
    fn a_status_line_does_not_make_a_picture_another_one() {
        let mut screen = Screen::new();
        screen.write(prompt().as_bytes()).expect("the prompt is drawn");
        let output = [(0, b"1 call in flight".to_vec()), (900, b"\r\x1b[Jsession".to_vec())];
        let lines = timeline::lines(screen, &output).expect("it is drawn");
        assert_eq!(words(&svg::draw(&lines)), words(&picture("session")));
    }
}
