//! Checks of the documents: the length of the README, links, headings, and what is written down twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

const README_WORDS_MAX: usize = 1_100;

/// Directories that have no documents of ours.
const SKIPPED: [&str; 4] = ["target", "node_modules", ".git", "dist"];

/// Hosts that documents may link to. A crate or package is linked to its repository or its documentation, never to a registry:
/// a registry says what can be downloaded today, not what was read.
const HOSTS: [&str; 3] = ["github.com", "developers.openai.com", "block.github.io"];

/// What readers reported as hard to understand, from sources and documents. It was replaced, and stays so.
const REPLACED: [&str; 18] = [
    "A person gives a task and a budget",
    "the place where the evidence",
    "never replaces a model without",
    "can be edited and are remembered",
    "who may what",
    "stop it with all below it",
    "Money is moved, not made",
    "without a decision of the model",
    "The most that the work can cost",
    "No model is set up",
    "in all used",
    "made a call that was refused",
    "the order to end",
    "is not available here\"",
    "this is what was found so far",
    "(told to wrap up)",
    "its last reply does not count",
    "How long a process that lacks a key",
];

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The files below a directory with one of these endings, sorted by name.
fn files(directory: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            found.extend(files(&path, endings));
        } else if path.extension().is_some_and(|ending| endings.contains(&&*ending.to_string_lossy())) {
            found.push(path);
        }
    }
    found
}

fn documents() -> Vec<PathBuf> {
    let documents = files(root(), &["md"]);
    assert!(documents.contains(&root().join("docs/cli.md")), "docs/cli.md is missing in the list: {documents:?}");
    documents
}

/// The lines of a document that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The targets of the links and pictures in a document.
fn links(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(text) {
        for rest in line.split("](").skip(1) {
            targets.extend(rest.split([')', ' ']).next().map(str::to_owned));
        }
        // A link whose target is defined below: [name]: target
        if let Some((name, target)) = line.split_once("]: ")
            && name.starts_with('[')
            && !name.contains(' ')
        {
            targets.push(target.trim().to_owned());
        }
    }
    targets
}

/// The name by which a heading is linked.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Says what is wrong with a link of a document.
fn flaw(document: &Path, target: &str) -> Option<String> {
    if let Some(address) = target.strip_prefix("https://").or_else(|| target.strip_prefix("http://")) {
        let host = address.split(['/', ':']).next().unwrap_or_default();
        return (!HOSTS.contains(&host)).then(|| format!("links to {host}, which is not in HOSTS"));
    }
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
    let directory = document.parent().expect("a file is in a directory");
    let file = if path.is_empty() { document.to_owned() } else { directory.join(path) };
    if !file.exists() {
        return Some(format!("links to {target}, which does not exist"));
    }
    let heading = heading?;
    let text = fs::read_to_string(&file).unwrap();
    let headings = prose(&text).filter(|line| line.starts_with('#'));
    let known: Vec<String> = headings.map(|line| anchor(line.trim_start_matches('#'))).collect();
    (!known.iter().any(|known| known == heading)).then(|| format!("links to {target}, and there is no such heading"))
}

#[test]
fn the_readme_can_be_read_in_five_minutes() {
    let words = read("README.md").split_whitespace().count();
    assert!(
        words <= README_WORDS_MAX,
        "README.md has {words} words, at most {README_WORDS_MAX} are allowed: move a part to docs/"
    );
}

#[test]
fn every_link_in_a_document_leads_to_something() {
    let mut flaws = Vec::new();
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let name = document.strip_prefix(root()).unwrap().display().to_string();
        for target in links(&text) {
            count += 1;
            flaws.extend(flaw(&document, &target).map(|what| format!("{name} {what}")));
        }
    }
    assert!(count > 50, "only {count} links were found");
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
}

#[test]
fn links_are_found_and_checked_as_a_reader_would_follow_them() {
    let text =
        "A [page](docs/cli.md#limits), ![a picture](x.png).\n```\n[no](link.md)\n```\n[name]: https://example.com/x\n";
    assert_eq!(links(text), ["docs/cli.md#limits", "x.png", "https://example.com/x"]);
    let readme = root().join("README.md");
    let check = |target: &str, expect: bool| assert_eq!(flaw(&readme, target).is_none(), expect, "{target}");
    check("docs/cli.md", true);
    check("docs/cli.md#limits", true);
    check("#teams", true);
    check("https://github.com/rust-lang/rust", true);
    check("docs/missing.md", false);
    check("docs/cli.md#no-such-heading", false);
    check("https://registry.example.com/crates/rust", false);
}

#[test]
fn phrases_that_readers_could_not_understand_stay_replaced() {
    let this = Path::new(file!()).file_name().unwrap();
    let is_read = |path: &PathBuf| path.file_name() != Some(this) && !path.ends_with("CHANGELOG.md");
    let all = [files(root(), &["md"]), files(&root().join("crates"), &["rs"]), files(&root().join("xtask"), &["rs"])];
    let mut found = Vec::new();
    for path in all.concat().into_iter().filter(is_read) {
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        let phrases = REPLACED.iter().filter(|phrase| text.contains(&phrase.to_lowercase()));
        found.extend(phrases.map(|phrase| format!("{}: {phrase}", path.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The exit codes in the table of a document.
fn exit_codes(document: &str) -> BTreeSet<u32> {
    let table = read(document);
    let rows = table.lines().skip_while(|line| !line.starts_with("| exit code |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| row.split('|').nth(1).unwrap().trim().parse().unwrap())
        .collect()
}

#[test]
fn the_documents_have_the_exit_codes_of_the_program() {
    let source = read("crates/cli/src/exit.rs");
    let variants = source.lines().skip_while(|line| !line.contains("enum Exit")).take_while(|line| *line != "}");
    let codes: BTreeSet<u32> =
        variants.filter_map(|line| line.split_once(" = ")?.1.trim_end_matches(',').parse().ok()).collect();
    assert!(codes.contains(&130), "{codes:?}");
    assert_eq!(exit_codes("README.md"), codes, "README.md");
    assert_eq!(exit_codes("docs/cli.md"), codes, "docs/cli.md");
}

#[test]
fn the_example_of_the_library_is_a_part_of_a_program_that_is_built() {
    let program = read("examples/embed/src/main.rs");
    let readme = read("README.md");
    let example: Vec<&str> =
        readme.lines().skip_while(|line| *line != "```rust").skip(1).take_while(|line| *line != "```").collect();
    assert!(!example.is_empty(), "README.md has an example in Rust");
    for line in example {
        assert!(program.lines().any(|other| other.trim() == line), "examples/embed does not have this line: {line}");
    }
}

#[test]
fn the_picture_of_the_terminal_shows_the_first_command_of_the_readme() {
    let readme = read("README.md");
    let first = readme.lines().find_map(|line| line.strip_prefix("cargo run --release -- ")).expect("a first command");
    let picture = read("docs/terminal.svg").replace("&quot;", "\"");
    assert!(picture.contains(&format!("guildhall {first}<")), "run `cargo xtask terminal` after a change of: {first}");
}
