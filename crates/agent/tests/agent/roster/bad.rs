//! Files that are not agents: each gives one clear error with its line, quickly.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use guildhall_agent::roster::{AgentFile, Amount};

use super::{drawn, read};

#[track_caller]
fn refused(bytes: &[u8], expect: &str) {
    let begun = Instant::now();
    let taken = AgentFile::read(Path::new("x.md"), bytes);
    assert_eq!((taken.agent.is_none(), drawn(&taken).as_str()), (true, expect));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_file_that_is_not_an_agent_is_refused_with_its_line() {
    let empty = "x.md:1: error: the file is empty: begin it with front matter, as in ---, name: x, ---";
    refused(b"", empty);
    refused(b" \n\n", empty);
    refused("\u{feff}".as_bytes(), empty);
    refused(b"# Notes\n", "x.md:1: error: there is no front matter: begin the file with a line ---");
    refused(b"\n\nNotes\n---\n", "x.md:3: error: there is no front matter: begin the file with a line ---");
    refused(b"---\nname: a\n", "x.md:1: error: the front matter does not end: close it with a line ---");
    refused(b"---", "x.md:1: error: the front matter does not end: close it with a line ---");
    refused(
        b"---\njust words\n---\n",
        "x.md:2: error: the front matter can't be read: this line is not of the form `key: value`",
    );
}

#[test]
fn a_file_that_is_not_text_is_refused_with_its_line() {
    let binary = "it is not a text file: an agent file is Markdown in UTF-8";
    refused(b"\x7fELF\0\0", &format!("x.md:1: error: {binary}"));
    refused(b"---\nname: \xff\n---\n", &format!("x.md:2: error: {binary}"));
    refused(b"---\nname: a\n---\n\n\0", &format!("x.md:5: error: {binary}"));
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_read() {
    let big = format!("---\nname: a\n---\n{}", "x".repeat(10_000_000));
    refused(big.as_bytes(), "x.md:1: error: an agent file has at most 1048576 bytes");
    let front = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(70_000));
    refused(front.as_bytes(), "x.md:1: error: front matter has at most 65536 bytes");
}

#[test]
fn anchors_are_refused_with_their_line() {
    let anchor = "error: anchors are not supported here: write the value out";
    refused(b"---\nname: a\nmodel: &m opus\ncolor: *m\n---\n", &format!("x.md:3: {anchor}"));
    let mut bomb = "---\nname: a\nb0: &b0 [x, x]\n".to_owned();
    for level in 1..60 {
        writeln!(bomb, "b{level}: &b{level} [*b{0}, *b{0}, *b{0}, *b{0}]", level - 1).unwrap();
    }
    refused(format!("{bomb}---\n").as_bytes(), &format!("x.md:3: {anchor}"));
    // An anchor is also refused after lines that have to be repaired, and within another value.
    refused(format!("{}---\n", bomb.replace("name: a", "name: a: b")).as_bytes(), &format!("x.md:3: {anchor}"));
    refused(b"---\ndescription: a: b\nhooks:\n  x: &y 1\n---\n", &format!("x.md:4: {anchor}"));
}

#[test]
fn deep_and_wide_front_matter_ends_quickly() {
    for front in [
        "[".repeat(60_000),
        format!("name: {}", "{a: ".repeat(15_000)),
        (0..200).map(|depth| " ".repeat(depth) + "a:").collect::<Vec<_>>().join("\n"),
        "a: b: c\n".repeat(8000),
        "- ".repeat(30_000),
        "description: x\n<a>:\n".to_owned() + &"user: y\n".repeat(8000),
        "? ".repeat(30_000),
        "a: |\n b\n".repeat(8000),
        "\"".repeat(60_000),
    ] {
        let begun = Instant::now();
        read(&front);
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}: {}", begun.elapsed(), &front[..20]);
    }
}

#[test]
fn wrong_names_are_refused() {
    for (name, why) in [
        (
            "../etc/passwd",
            "a name can't have '.' there: use letters a-z, digits, '-' and '_', and in the middle single spaces and '.'",
        ),
        ("\"\"", "the name is empty: use letters, digits, '-', '_' or '.', such as log-reader"),
        (&"x".repeat(65), "the name is too long (65 bytes, at most 64): use a shorter name"),
    ] {
        let front = format!("description: d\nname: {name}");
        assert_eq!(drawn(&read(&front)), format!("x.md:3: error: {why}"));
    }
    let taken = AgentFile::read(Path::new("dir/a@b.md"), b"---\ndescription: d\n---\n");
    assert!(drawn(&taken).starts_with("dir/a@b.md:2: error: a name can't have '@' there"), "{}", drawn(&taken));
}

#[test]
fn money_that_can_t_be_read_is_an_error_with_its_line() {
    let check = |amount: &str, why: &str| {
        let taken = read(&format!("name: a\ndescription: d\nbudget:\n  fee: 5\n  max: {amount}"));
        assert_eq!(drawn(&taken), format!("x.md:6: error: budget.max: {why}"), "{amount}");
    };
    check("NaN", "the amount is not a number: give a whole number of sats, such as 250");
    check("[5]", "the amount is not a number: give a whole number of sats, such as 250");
    check("-5sat", "the amount is negative: give a whole number of sats, such as 250");
    check("", "an amount is missing: write 500sat, 2000msat or 0.05usd");
    check("0", "the amount is 0: give at least 1 sat, or leave the amount out");
    check("1e400", "the amount is not a number: give a whole number of sats, such as 250");
    check("99999999999999999999sat", "the amount exceeds 21 million bitcoin: give at most 2100000000000000 sats");
    check("0usd", "the amount is 0: give at least 1 sat, or leave the amount out");
    for amount in ["-1", "nan", "", "0.0000000001", "99999999999", "1e3", ".5"] {
        let why = "is not an amount of dollars: write it like 0.25, with at most nine digits after the point";
        check(&format!("{amount}usd"), &format!("{amount:?} {why}"));
    }
}

#[test]
fn amounts_are_read_in_each_unit_and_written_as_they_were() {
    for (written, shown) in [
        ("500", "500sat"),
        (" 500 sats ", "500sat"),
        ("2000msat", "2sat"),
        ("1500msat", "1.5sat"),
        ("0.05usd", "$0.05"),
        ("5 USD", "$5.00"),
        ("$1.50", "$1.50"),
        ("0.000001usd", "$0.000001"),
    ] {
        assert_eq!(Amount::parse(written).unwrap().to_string(), shown, "{written}");
    }
}
