use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use regex_automata::util::syntax;

use super::{FORM_BYTES_MIN, FORMS, SecretPatterns};

fn check(text: &str, expected: &str) {
    let redactor = SecretPatterns::new(Vec::new());
    let clean = redactor.redact(text);
    assert_eq!(clean, expected);
    assert_eq!(redactor.redact(&clean), expected, "redacting twice changes nothing");
}

/// Returns digits and letters that look random.
fn random(length: usize) -> String {
    "a1B2c3D4e5F6g7H8".chars().cycle().take(length).collect()
}

#[test]
fn known_values_are_removed_in_every_place_and_encoding() {
    let redactor =
        SecretPatterns::new(vec!["pa\"ss\\wörd & co".to_owned(), "  another-secret\n".to_owned(), "ollama".to_owned()]);
    let cases = [
        ("key=pa\"ss\\wörd & co;", "key=[redacted: secret];"),
        (r#"{"key":"pa\"ss\\wörd & co"}"#, r#"{"key":"[redacted: secret]"}"#),
        ("?k=pa%22ss%5Cw%C3%B6rd%20%26%20co&x", "?k=[redacted: secret]&x"),
        ("another-secretanother-secret", "[redacted: secret][redacted: secret]"),
        ("ollama is a word", "ollama is a word"),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor.redact(text), expected);
    }
}

#[test]
fn overlapping_values_are_removed_completely() {
    let secrets = ["abcdefgh12", "gh12zzzzzz", "cdefgh12", "abcdefgh12345"];
    let redactor = SecretPatterns::new(secrets.map(str::to_owned).to_vec());
    assert_eq!(redactor.redact("<abcdefgh12zzzzzz>"), "<[redacted: secret]>");
    assert_eq!(redactor.redact("<abcdefgh12345>"), "<[redacted: secret]>");
    assert_eq!(redactor.redact("<cdefgh12>"), "<[redacted: secret]>");
}

#[test]
fn no_secret_is_shorter_than_the_shortest_scanned_text() {
    let shortest = |form: &str| syntax::parse(form).unwrap().properties().minimum_len().unwrap();
    assert_eq!(FORMS.iter().map(|(_, form, ..)| shortest(form)).min(), Some(FORM_BYTES_MIN));
}

#[test]
fn text_with_the_form_of_a_secret_is_removed() {
    let cases = [
        (format!("sk-ant-api03-{}", random(80)), "Anthropic key"),
        (format!("sk-proj-{}", random(100)), "API key"),
        (format!("sk-or-v1-{}", random(64)), "API key"),
        (format!("sk-{}", random(48)), "API key"),
        (format!("ghp_{}", random(36)), "GitHub token"),
        (format!("github_pat_{}", random(82)), "GitHub token"),
        (format!("glpat-{}", random(20)), "GitLab token"),
        (format!("AKIA{}", "ABCDEFGH234567ZZ"), "AWS key"),
        (format!("AIza{}", random(35)), "Google key"),
        (format!("xoxb-{}-{}", "123456789012", random(24)), "Slack token"),
        (format!("sk_live_{}", random(24)), "Stripe key"),
        (format!("eyJ{}.eyJ{}.{}", random(20), random(40), random(43)), "token"),
        (format!("Bearer {}", random(40)), "bearer token"),
        (format!("?usr={}", "0123456789abcdef".repeat(2)), "wallet key"),
        (format!("nsec1{}", "q".repeat(58)), "Nostr key"),
    ];
    for (secret, kind) in cases {
        for (before, after) in [("", ""), ("\"", "\""), ("x = ", "\nnext"), ("é(", ")é")] {
            check(&format!("{before}{secret}{after}"), &format!("{before}[redacted: {kind}]{after}"));
        }
    }
}

#[test]
fn the_header_before_a_wallet_key_and_its_quotes_remain() {
    let key = "0123456789abcdef".repeat(2);
    for (before, after) in
        [("X-Api-Key: ", "\n"), (r#"{"X-Api-Key":""#, r#""}"#), ("curl -H 'x-api-key: ", "'"), ("x-api-key='", "'")]
    {
        check(&format!("{before}{key}{after}"), &format!("{before}[redacted: wallet key]{after}"));
    }
}

#[test]
fn the_mark_that_replaces_a_secret_is_not_searched() {
    let secrets = ["redacted", "secret] and more", "[redacted: API"].map(str::to_owned).to_vec();
    let redactor = SecretPatterns::new(secrets);
    for (text, expected) in [
        ("[redacted: secret] and more", "[redacted: secret] and more"),
        ("redacted", "[redacted: secret]"),
        ("[redacted: other]", "[[redacted: secret]: other]"),
    ] {
        let clean = redactor.redact(text);
        assert_eq!(clean, expected);
        assert_eq!(redactor.redact(&clean), expected);
    }
}

#[test]
fn adjacent_secrets_without_a_gap_are_found_in_one_pass() {
    let key = format!("AIza{}", random(35));
    check(&key.repeat(3), &"[redacted: Google key]".repeat(3));
}

/// Parts of secrets, of marks, and of the text between them.
const PIECES: [&str; 24] = [
    "sk-ant-",
    "sk-proj-",
    "a1B2c3D4e5F6g7H8i9J0",
    "0123456789abcdef0123456789abcdef",
    "Bearer ",
    "AKIA",
    "ABCDEFGH234567ZZ",
    "AIza",
    "x-api-key",
    "\"",
    ":",
    "=",
    " ",
    "?usr=",
    "[redacted: ",
    "secret",
    "]",
    "API key",
    "-----BEGIN PRIVATE KEY-----",
    "\n",
    "ghp_",
    "correct horse",
    "é",
    "eyJaaaaaaaaaaa.",
];

#[test]
fn redacting_twice_is_the_same_as_redacting_once() {
    let redactor =
        SecretPatterns::new(vec!["correct horse".to_owned(), "horse correct".to_owned(), "secret]se".to_owned()]);
    let mut chance = fastrand::Rng::with_seed(8);
    for _ in 0..20_000 {
        let text: String = (0..chance.usize(1..16)).map(|_| PIECES[chance.usize(..PIECES.len())]).collect();
        let clean = redactor.redact(&text).into_owned();
        assert_eq!(redactor.redact(&clean), clean, "{text:?}");
    }
}

#[test]
fn private_keys_are_removed_completely() {
    let dashes = "-----";
    let body = format!("{}\n", random(64)).repeat(20);
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let key = format!("{dashes}BEGIN {kind}PRIVATE KEY{dashes}\n{body}{dashes}END {kind}PRIVATE KEY{dashes}");
        check(&format!("a\n{key}\nb"), "a\n[redacted: private key]\nb");
        let in_json = key.replace('\n', "\\n");
        check(&format!("\"{in_json}\""), "\"[redacted: private key]\"");
        for mark in ["\t", "- ", ": "] {
            let lines = key.lines().enumerate().map(|(at, line)| format!("{}{mark}{line}", at + 9));
            let numbered = lines.collect::<Vec<_>>().join("\n");
            check(&format!("{numbered}\nb"), &format!("9{mark}[redacted: private key]\nb"));
        }
        let cut = &key[..key.len() / 2];
        check(&format!("{cut}."), "[redacted: private key].");
    }
    let headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n";
    let key = format!("{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{headers}{body}{dashes}END RSA PRIVATE KEY{dashes}");
    check(&key, "[redacted: private key]");
}

#[test]
fn ordinary_text_is_not_changed() {
    for text in [
        "",
        "Authorization: Bearer {token}",
        "bearer authentication-and-authorization/overview",
        "the risk-assessment-of-long-hyphenated-words task-force",
        "sk-fading-circle-something-long-enough",
        "let x_api_key = config.api_key;",
        "-----BEGIN RSA PRIVATE KEY----- is how it begins",
        "a commit 7e9d4c9d0b5f4a1c9e8d7f6a5b4c3d2e1f0a9b8c and a UUID 123e4567-e89b-12d3-a456-426614174000",
        "sk-ant-",
        "ghp_short",
        "\u{0}\u{202e}\u{10ffff}",
    ] {
        check(text, text);
    }
}

#[test]
fn our_own_sources_are_ordinary_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 100, "too few files were found: {files:?}");
    let redactor = SecretPatterns::new(vec!["a secret that is nowhere".repeat(2)]);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(matches!(redactor.redact(&text), Cow::Borrowed(_)), "{}", file.display());
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !["target", ".git", "node_modules"].contains(&name.as_str()) {
            collect(&path, files);
        } else if [".rs", ".md", ".toml", ".lock"].iter().any(|end| name.ends_with(end)) {
            files.push(path);
        }
    }
}

#[test]
fn the_time_grows_linearly_with_the_text() {
    let redactor = SecretPatterns::new(vec!["aaaaaaaab".to_owned(), "a".repeat(64)]);
    let dashes = "-----";
    let hostile = [
        "a".to_owned(),
        "sk-".to_owned(),
        "sk-ant-".to_owned(),
        "Bearer ".to_owned(),
        format!("{dashes}BEGIN PRIVATE KEY{dashes}\n"),
        format!("{dashes}BEGIN PRIVATE KEY{dashes}\nA: b\n1\t"),
        format!("{dashes}BEGIN PRIVATE KEY{dashes}{}", random(30)),
        "eyJaaaaaaaaaaaa.".to_owned(),
        "nostr+walletconnect:".to_owned(),
    ];
    for seed in hostile {
        let time = |bytes: usize| {
            let text = seed.repeat(bytes / seed.len());
            let start = Instant::now();
            std::hint::black_box(redactor.redact(&text));
            start.elapsed()
        };
        time(1 << 12);
        let (short, long) = (time(1 << 17), time(1 << 21));
        // The text is 16 times as long. Quadratic time would be 256 times as long.
        assert!(long < short * 80 + std::time::Duration::from_millis(200), "{seed:?}: {short:?}, {long:?}");
    }
}
