//! Tests of the workspace's dependencies: licences, bans and sources as in `deny.toml`, and which of our crates may depend on
//! which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::licence::is_allowed;
use crate::root;

/// Each of our crates, with those of our crates that it may depend on, tests included.
const OURS: &[(&str, &[&str])] = &[
    ("embed", &["guildhall"]),
    (
        "guildhall",
        &[
            "guildhall-agent",
            "guildhall-kernel",
            "guildhall-laws",
            "guildhall-lightning",
            "guildhall-lnbits-peer",
            "guildhall-local",
            "guildhall-model-server",
            "guildhall-models",
            "guildhall-rehearsal",
            "guildhall-tools",
        ],
    ),
    ("guildhall-agent", &["guildhall-kernel"]),
    ("guildhall-bench", &["guildhall-model-server"]),
    ("guildhall-cli", &["guildhall", "guildhall-lnbits-peer", "guildhall-model-server", "guildhall-server"]),
    ("guildhall-kernel", &[]),
    ("guildhall-laws", &["guildhall-kernel"]),
    ("guildhall-lightning", &["guildhall-kernel", "guildhall-lnbits-peer"]),
    ("guildhall-lnbits-peer", &[]),
    ("guildhall-models", &["guildhall-agent", "guildhall-kernel"]),
    ("guildhall-model-server", &[]),
    ("guildhall-local", &["guildhall-agent", "guildhall-kernel", "guildhall-laws", "guildhall-sim"]),
    ("guildhall-rehearsal", &["guildhall-agent", "guildhall-kernel", "guildhall-tools"]),
    ("guildhall-server", &["guildhall"]),
    ("guildhall-sim", &["guildhall-agent", "guildhall-kernel", "guildhall-laws"]),
    ("guildhall-tools", &["guildhall-agent", "guildhall-kernel"]),
    ("xtask", &[]),
];

/// The library without its features needs fewer crates than this, build dependencies included.
const CORE_CRATES_MAX: usize = 120;

const KERNEL_NEEDS: [&str; 3] = ["serde", "serde_json", "thiserror"];

/// Crates for IO, time, randomness or threads. The kernel must not depend on one of them, even indirectly.
const IO_CRATES: &[&str] = &[
    "async-io",
    "async-std",
    "chrono",
    "fastrand",
    "futures-executor",
    "getrandom",
    "hyper",
    "jiff",
    "libc",
    "mio",
    "parking_lot",
    "polling",
    "rand",
    "rand_core",
    "rayon",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "uuid",
    "web-time",
    "windows-sys",
];

pub(crate) static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let args = ["metadata", "--format-version", "1", "--all-features"];
    let output = Command::new(env!("CARGO")).args(args).current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
});

static DENY: LazyLock<toml::Table> = LazyLock::new(|| {
    let text = fs::read_to_string(root().join("deny.toml")).expect("deny.toml exists");
    text.parse().expect("deny.toml is TOML")
});

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("`{key}` is a list"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text"))
}

fn packages() -> &'static [Value] {
    list(&METADATA, "packages")
}

fn third_party() -> impl Iterator<Item = &'static Value> {
    packages().iter().filter(|package| !package["source"].is_null())
}

fn package(name: &str) -> &'static Value {
    packages().iter().find(|package| package["name"] == name).unwrap_or_else(|| panic!("{name} is in the graph"))
}

#[test]
fn every_licence_is_in_the_allow_list() {
    let allow = DENY["licenses"]["allow"].as_array().expect("an allow list");
    let allow: Vec<&str> = allow.iter().map(|name| name.as_str().expect("a name")).collect();
    let verdict = |package: &Value| is_allowed(package["license"].as_str().unwrap_or_default(), &allow);
    let refused: Vec<String> = third_party()
        .filter(|package| verdict(package) != Ok(true))
        .map(|package| format!("{}: {}", text(package, "name"), package["license"]))
        .collect();
    assert!(refused.is_empty(), "not satisfiable by the allow list of deny.toml: {refused:#?}");
}

#[test]
fn no_banned_crate_is_a_dependency() {
    let names: BTreeSet<&str> = packages().iter().map(|package| text(package, "name")).collect();
    let bans = DENY["bans"]["deny"].as_array().expect("a list of bans");
    let present: Vec<_> = bans.iter().filter(|ban| names.contains(ban["crate"].as_str().expect("a name"))).collect();
    assert!(!bans.is_empty() && present.is_empty(), "{present:#?}");
}

#[test]
fn every_dependency_comes_from_one_registry() {
    let sources: BTreeSet<&str> = third_party().map(|package| text(package, "source")).collect();
    assert!(sources.len() == 1 && sources.iter().all(|source| source.starts_with("registry+")), "{sources:?}");
}

#[test]
fn our_crates_depend_on_each_other_in_one_direction() {
    let allowed: BTreeMap<&str, &[&str]> = OURS.iter().copied().collect();
    for package in packages().iter().filter(|package| package["source"].is_null()) {
        let name = text(package, "name");
        let Some(may) = allowed.get(name) else {
            panic!("{name} is new: add it to OURS with the crates that it may depend on")
        };
        for needed in list(package, "dependencies").iter().filter(|dependency| dependency["path"].is_string()) {
            let needed = text(needed, "name");
            assert!(may.contains(&needed), "{name} depends on {needed}, which OURS does not allow");
        }
    }
}

#[test]
fn the_kernel_needs_three_crates_and_reaches_no_io() {
    let dependencies = list(package("guildhall-kernel"), "dependencies").iter();
    let direct: BTreeSet<&str> =
        dependencies.filter(|needed| needed["kind"] != "dev").map(|needed| text(needed, "name")).collect();
    assert_eq!(direct, BTreeSet::from(KERNEL_NEEDS));

    let reached = normal_tree("guildhall-kernel");
    assert!(reached.is_superset(&direct), "too few dependencies were found: {reached:?}");
    let found: Vec<_> = reached.iter().filter(|name| IO_CRATES.contains(name)).collect();
    assert!(found.is_empty(), "the kernel depends on {found:?}");
}

#[test]
fn the_core_of_the_library_stays_small() {
    let args = ["tree", "-p", "guildhall", "--no-default-features", "-e", "normal,build", "--prefix", "none"];
    let output = Command::new(env!("CARGO")).args(args).current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("cargo writes text");
    let crates: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    assert!(crates.iter().any(|name| name.starts_with("rusqlite ")), "rusqlite is missing in the list: {crates:#?}");
    assert!(crates.len() < CORE_CRATES_MAX, "{} crates: {crates:#?}", crates.len());
}

/// Returns the names of all packages that a package needs outside of tests and build scripts, itself included.
fn normal_tree(name: &str) -> BTreeSet<&'static str> {
    let nodes: BTreeMap<_, _> =
        list(&METADATA["resolve"], "nodes").iter().map(|node| (text(node, "id"), node)).collect();
    let names: BTreeMap<_, _> = packages().iter().map(|package| (text(package, "id"), text(package, "name"))).collect();
    let mut reached = BTreeSet::new();
    let mut open = vec![text(package(name), "id")];
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            let needed = list(nodes[id], "deps").iter();
            let normal = needed.filter(|needed| list(needed, "dep_kinds").iter().any(|kind| kind["kind"].is_null()));
            open.extend(normal.map(|needed| text(needed, "pkg")));
        }
    }
    reached.into_iter().map(|id| names[id]).collect()
}
