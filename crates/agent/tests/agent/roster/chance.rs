//! Random files, made from bytes and from pieces of front matter, do not make the reader panic. The seed is fixed, so a failure
//! can be repeated.

use std::path::Path;

use guildhall_agent::roster::{AgentFile, Amount};

/// A source of random numbers with a fixed seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % limit
    }
}

const WORDS: &[&str] = &[
    "---\n",
    "\n",
    "\r\n",
    " ",
    "  ",
    "\t",
    "name",
    "description",
    "tools",
    "delegation",
    "budget",
    "team",
    "max",
    ":",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "|",
    ">",
    "|-2",
    "'",
    "\"",
    "#",
    " #1",
    "&a ",
    "*a",
    "!t ",
    "%Y",
    "?",
    "@",
    "`",
    "\\n",
    "\\",
    "(",
    ")",
    "Agent(",
    "Task",
    "Read",
    "5usd",
    "$",
    "-1",
    "é",
    "\u{feff}",
    "\u{2028}",
    "\0",
    "a",
    "user",
    "<example>",
    "...",
    "~",
    "null",
];

fn read(bytes: &[u8]) {
    let taken = AgentFile::read(Path::new("x.md"), bytes);
    assert!(taken.agent.is_some() || !taken.problems.is_empty(), "a refused file has a problem");
    for problem in &taken.problems {
        let lines = bytes.split(|byte| *byte == b'\n').count();
        assert!((1..=lines).contains(&(problem.place.line as usize)), "{problem} of {lines} lines: {bytes:?}");
    }
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for _ in 0..20_000 {
        let length = chance.below(200);
        let mut bytes = if chance.below(2) == 0 { b"---\n".to_vec() } else { Vec::new() };
        bytes.extend((0..length).map(|_| u8::try_from(chance.below(256)).unwrap()));
        read(&bytes);
    }
}

#[test]
fn no_front_matter_makes_the_reader_panic() {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    for _ in 0..40_000 {
        let length = chance.below(60);
        let words: String = (0..length).map(|_| WORDS[chance.below(WORDS.len())]).collect();
        read(format!("---\n{words}\n---\n").as_bytes());
        // The longest files are cut at any byte.
        read(&words.as_bytes()[..chance.below(words.len() + 1)]);
        assert!(Amount::parse(&words).is_err() || !words.is_empty());
    }
}
