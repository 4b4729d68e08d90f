//! Checks on final words: which reports pass, and the exact text of each failure.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use guildhall_agent::checks::{Check, Hundredths, Report, output, perform};
use serde_json::{Value, json};

/// Performs a check on words, by a contract that made the calls `1.2#7` and `1.2#9` and wrote `out.md`.
fn performed(check: &str, words: &str) -> String {
    let receipts = BTreeSet::from(["1.2#7".to_owned(), "1.2#9".to_owned()]);
    let report = Report { words, receipts: &receipts, exists: &|file| file == "out.md" };
    let check: Check = check.parse().unwrap();
    perform(&check, &report).err().unwrap_or_else(|| "passed".to_owned())
}

#[track_caller]
fn check(check: &str, words: &str, expect: &str) {
    assert_eq!(performed(check, words), expect, "{check}\n{words:.200}");
}

#[test]
fn output_is_the_whole_or_the_last_block_or_the_last_object() {
    let cases: &[(&str, Option<Value>)] = &[
        (r#"{"a": 1}"#, Some(json!({"a": 1}))),
        (" \n[1, 2]\n", Some(json!([1, 2]))),
        ("```json\n{\"a\": 1}\n```", Some(json!({"a": 1}))),
        ("First:\n```json\n{\"a\": 1}\n```\nBetter:\n```JSON\n[2]\n```\nDone.", Some(json!([2]))),
        ("```json\n{\"a\": 1}\n```\nNot {\"b\": 2}.", Some(json!({"a": 1}))),
        ("```\n{\"a\": 1}\n```", Some(json!({"a": 1}))),
        ("```rust\nfn f() {}\n```\n```json\n{\"a\": \"```\"}\n```", Some(json!({"a": "```"}))),
        ("```json\n{\"a\": 1}", Some(json!({"a": 1}))),
        ("It is {\"a\": {\"b\": \"}\\\"{\"}} and no more.", Some(json!({"a": {"b": "}\"{"}}))),
        ("{\"a\": 1} then {\"b\": 2}", Some(json!({"b": 2}))),
        ("Open it with { and go on: {\"b\": 2}", Some(json!({"b": 2}))),
        ("He said \"{\"a\": 1}\".", Some(json!({"a": 1}))),
        // A part of broken JSON is not taken for the whole.
        ("{\"options\": [{\"price\": 1}, {\"price\": 2}", None),
        ("```json\n{\"a\": 1}\n```\n```json\n{\"a\": oops}\n```", None),
        ("It is {\"a\": 1, oops, \"b\": {\"c\": 2}}.", None),
        ("fn f() {}", Some(json!({}))),
        ("fn f() { x }", None),
        ("}{", None),
        ("7", None),
        ("\"text\"", None),
        ("", None),
        ("{\"a\": 1}}", Some(json!({"a": 1}))),
    ];
    for (words, expect) in cases {
        assert_eq!(output(words), *expect, "{words}");
    }
}

#[test]
fn hostile_output_neither_overflows_nor_hangs() {
    let begun = Instant::now();
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    for words in [
        deep("[", "]"),
        deep("{\"a\":", "}"),
        deep("{", "}"),
        format!("```json\n{}\n```", deep("[", "]")),
        "{".repeat(1_000_000),
        "{\"".repeat(500_000),
        "}".repeat(1_000_000),
        "```json\n".repeat(100_000),
        "[1.2#".repeat(200_000),
        format!("[{}", "1.2#7,".repeat(150_000)),
        format!("{{\"a\": \"{}\"}}", "x".repeat(2_000_000)),
        "{\u{0}\u{202e}é".repeat(10_000),
    ] {
        assert_eq!(output(&words), None, "{words:.20}");
        for check in [r#"{"schema":{}}"#, r#"{"sum":{"of":"a","max":"1"}}"#, r#""receipts""#] {
            assert_ne!(performed(check, &words), "passed", "{words:.20}");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

const OPTIONS: &str = r#"{"schema":{"type":"object","additionalProperties":false,"required":["options","month"],"properties":{
    "month":{"enum":["May","June",7]},"kind":{"const":1},"note":{"type":["string","null"],"minLength":2,"maxLength":4},
    "options":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object","required":["price_usd"],"properties":{
        "price_usd":{"type":"number","minimum":0,"maximum":900.5},"stops":{"type":"integer"}}}}}}}"#;

#[test]
fn output_that_follows_its_schema_passes() {
    for words in [
        r#"{"month": "May", "options": [{"price_usd": 900.5, "stops": 2}]}"#,
        r#"{"month": 7.0, "kind": 1.0, "note": null, "options": [{"price_usd": 0, "stops": 1.0, "more": []}, {"price_usd": 1}]}"#,
        r#"Here: {"month": "June", "note": "äöü€", "options": [{"price_usd": 1}]}"#,
    ] {
        check(OPTIONS, words, "passed");
    }
    check(r#"{"schema":{}}"#, "[]", "passed");
    check(r#"{"schema":{"maximum":18446744073709551615}}"#, "{\"a\": 18446744073709551615}", "passed");
}

#[test]
fn output_that_does_not_follow_its_schema_fails_with_the_place_and_the_expected_value() {
    let no = "Your structured output does not follow the schema:\n- ";
    for (words, expect) in [
        ("[]", "the whole output: expected an object, found []"),
        ("{}", "the whole output: the key options is missing\n- the whole output: the key month is missing"),
        (
            r#"{"month": "July", "options": [{"price_usd": "850"}], "extra": 1}"#,
            "month: expected one of [\"May\",\"June\",7], found \"July\"\n- options[0].price_usd: expected a number, found \"850\"\n- the whole output: the key extra is not allowed",
        ),
        (
            r#"{"month": "May", "kind": 2, "note": "x", "options": []}"#,
            "kind: expected 1, found 2\n- note: expected at least 2 characters, found 1\n- options: expected at least 1 item, found 0",
        ),
        (
            r#"{"month": "May", "note": 5, "options": [{"price_usd": -0.5, "stops": 1.5}, {}, 3]}"#,
            "note: expected a string or null, found 5\n- options: expected at most 2 items, found 3\n- options[0].price_usd: expected at least 0, found -0.5\n- options[0].stops: expected an integer, found 1.5\n- options[1]: the key price_usd is missing\n- options[2]: expected an object, found 3",
        ),
        (
            r#"{"month": "May", "note": "12345", "options": [{"price_usd": 900.51}]}"#,
            "note: expected at most 4 characters, found 5\n- options[0].price_usd: expected at most 900.5, found 900.51",
        ),
    ] {
        check(OPTIONS, words, &format!("{no}{expect}"));
    }
}

#[test]
fn a_thousand_mistakes_are_described_in_a_few_lines() {
    let failure = performed(r#"{"schema":{"items":{"type":"null"}}}"#, &format!("[{}1]", "1,".repeat(999)));
    assert_eq!((failure.lines().count(), failure.lines().last()), (10, Some("- and 992 more")));
    let long = format!("{{\"{0}\": \"{0}\\u0007\"}}", "k".repeat(10_000));
    let failure = performed(r#"{"schema":{"additionalProperties":false,"required":["a"]}}"#, &long);
    assert!(failure.len() < 400 && failure.contains("the key a is missing"), "{failure}");
}

#[test]
fn a_report_without_output_fails_with_what_to_write() {
    let none = "Your report has no structured output that can be read. End it with one block that begins with ```json, ends with ``` and has one JSON value in it.";
    check(OPTIONS, "I found a flight for $850.", none);
    check(r#"{"sum":{"of":"a","max":"1"}}"#, "{\"a\": 1", none);
}

#[test]
fn receipts_must_be_cited_and_exist() {
    let receipts = r#""receipts""#;
    for words in
        ["It times out [1.2#7].", "[1.2#7, 1.2#9]", "See [1.2#9; 1.2#7] and [1] and [#3](x) and [a#b].", "[[1.2#7]]"]
    {
        check(receipts, words, "passed");
    }
    let none = "Your report cites no call. Put the id of the call that shows it after each claim, such as [1.2#7].";
    for words in ["It times out.", "", "1.2#7", "[1.2 # 7]", "[#7]", "[1.2#7"] {
        check(receipts, words, none);
    }
    let wrong = |ids: &str| {
        format!("Your report cites calls that you did not make: {ids}. Cite only calls that you made, by their ids.")
    };
    check(receipts, "So [1.2#7] and [1.2#8] and [1.2#8].", &wrong("[1.2#8]"));
    check(receipts, "[1.2#07] [1.2#] [1..2#7]", &wrong("[1..2#7], [1.2#], [1.2#07]"));
    let many = (10..30).map(|ask| format!("[1.2#{ask}]")).collect::<Vec<_>>().join(" ");
    assert!(performed(receipts, &many).contains("[1.2#17], 12 more."), "{}", performed(receipts, &many));
}

#[test]
fn files_must_exist() {
    check(r#"{"files":["out.md"]}"#, "", "passed");
    check(r#"{"files":["a", "out.md", "../b"]}"#, "", "These files must exist and do not: a, ../b.");
}

#[test]
fn sums_are_exact_and_say_by_how_much_they_are_over() {
    let cap = r#"{"sum":{"of":"options.price_usd","max":"2000"}}"#;
    let options = |prices: &[&str]| {
        let prices: Vec<String> = prices.iter().map(|price| format!("{{\"price_usd\": {price}}}")).collect();
        format!("{{\"options\": [{}]}}", prices.join(","))
    };
    check(cap, &options(&["850", "1150"]), "passed");
    check(cap, &options(&["1999.9", "0.1"]), "passed");
    check(cap, &options(&["\"$850\"", "\"1,150.00 USD\"", "-0", "-0.0"]), "passed");
    check(cap, &options(&[]), "passed");
    let over = |sum: &str, of: &str, over: &str| {
        format!(
            "The sum of options.price_usd is {sum} ({of}), which is {over} over the cap of 2000. Find options that cost less, or leave some out."
        )
    };
    check(cap, &options(&["1999.9", "0.11"]), &over("2000.01", "1999.90 + 0.11", "0.01"));
    check(cap, &options(&["1e3", "1150.5"]), &over("2150.50", "1000 + 1150.50", "150.50"));
    let tenths = options(&vec!["0.1"; 20_001]);
    let failure = performed(cap, &tenths);
    assert!(
        failure.contains("is 2000.10 (0.10 + ") && failure.contains(" + 19989 more), which is 0.10 over"),
        "{failure}"
    );
}

#[test]
fn a_missing_or_wrong_price_does_not_pass() {
    let cap = r#"{"sum":{"of":"options.price_usd","max":"2000"}}"#;
    let missing = |at: &str| format!("There is no {at} in your output: its amounts are needed for the sum.");
    let plain = "it is not an amount: write a plain number such as 850 or 850.50";
    let wrong = |at: &str, value: &str, why: &str| format!("At {at}: {value} can't be added up, since {why}.");
    let price = |price: &str| format!("{{\"options\": [{{\"price_usd\": {price}}}]}}");
    let at = "options[0].price_usd";
    check(cap, "{}", &missing("options"));
    check(cap, "{\"options\": 7}", &missing("options.price_usd"));
    check(cap, "{\"options\": [{\"price_usd\": 1}, {}]}", &missing("options[1].price_usd"));
    check(cap, &price("null"), &wrong(at, "null", plain));
    check(cap, &price("{}"), &wrong(at, "{}", plain));
    check(cap, &price("\"about 40\""), &wrong(at, "\"about 40\"", plain));
    check(cap, &price("\"15-25\""), &wrong(at, "\"15-25\"", plain));
    check(cap, &price("-500"), &wrong(at, "-500", "it is negative: write what it costs"));
    check(cap, &price("-5e30"), &wrong(at, "-5e+30", "it is negative: write what it costs"));
    check(cap, &price("12.345"), &wrong(at, "12.345", "it has more than two digits after the point"));
    check(cap, &price("1e-9"), &wrong(at, "1e-9", "it has more than two digits after the point"));
    check(cap, &price("1e300"), &wrong(at, "1e+300", "it is larger than 10000000000000"));
    check(cap, &price("18446744073709551615"), &wrong(at, "18446744073709551615", "it is larger than 10000000000000"));
    let many = format!("[{}{{\"options\": []}}]", "{\"options\": {\"price_usd\": 10000000000000}},".repeat(20_000));
    check(cap, &many, "The sum of options.price_usd is too large; the cap is 2000.");
}

#[test]
fn amounts_are_read_as_people_write_them() {
    for (text, expect) in [
        ("850", "850"),
        ("0850.5", "850.50"),
        ("850.500", "850.50"),
        ("$ 850", "850"),
        ("850 usd", "850"),
        ("1,234,567.89", "1234567.89"),
        (" 0 ", "0"),
        ("10000000000000", "10000000000000"),
    ] {
        assert_eq!(Hundredths::parse(text).unwrap().to_string(), expect, "{text}");
    }
    for text in [
        "", "-", "$", ".", ".5", "5.", "1,2", "1,2345", "1234,567", ",123", "1.2.3", "1 2", "€15", "٣", "+5", "1e3",
        "--5", "0x1",
    ] {
        assert!(Hundredths::parse(text).is_err(), "{text}");
    }
}
