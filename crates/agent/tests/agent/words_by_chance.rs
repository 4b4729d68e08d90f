//! Random final words, made from the texts that the checks look for, make no check panic. The seed is fixed, so a failure can be
//! repeated.

use std::collections::BTreeSet;

use guildhall_agent::checks::{Check, Report, perform};

const ROUNDS: usize = 20_000;

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "I'll ", "I’m ", "let me ", "ask ", "delegating ", "delegate ", "to ", "the ", "flight", "-", "agent ", "tester ",
    "and ", ", ", ": ", ". ", "? ", "…", "if ", "you ", "'", "\"", "“", "”", "`", "```", "```json\n", "\n", "- ",
    "1. ", "> ", "# ",
    "{", "}", "[", "]", "\"a\":", "1", "-2.5", "1e400", "\"$5\"", "null", "\\", "1.2#7", "[1.2#7]",
    "{\"a\": 1}", "#", "é", "漢", "\u{0}", "\u{301}", "İ",
];

/// A source of random numbers with a fixed seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % limit
    }

    fn words(&mut self) -> String {
        (0..self.below(40)).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }
}

#[test]
fn no_words_make_the_checks_panic_and_all_outcomes_are_reached() {
    let mut chance = Chance(7);
    let checks = [
        r#"{"schema":{"type":["object","array"],"items":{"type":"number","minimum":0},"properties":{"a":{"const":1}}}}"#,
        r#"{"sum":{"of":"a","max":"1"}}"#,
        r#""receipts""#,
    ];
    let checks = checks.map(|text| text.parse::<Check>().unwrap());
    let receipts = BTreeSet::from(["1.2#7".to_owned()]);
    let mut passed = [0; 3];
    for _ in 0..ROUNDS {
        let words = chance.words();
        let report = Report { words: &words, receipts: &receipts, exists: &|_| true };
        for (check, passed) in checks.iter().zip(&mut passed) {
            *passed += usize::from(perform(check, &report).is_ok());
        }
    }
    assert!(passed.iter().all(|count| *count > 20 && *count < ROUNDS), "{passed:?}");
}
