//! Every known way to read outside of the project.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guildhall_agent::ToolOutcome;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::{Bench, OUTSIDE};

fn check(bench: &Bench, path: &str, expected: &str) {
    for (tool, arguments) in [
        ("read_file", json!({ "path": path })),
        ("list_files", json!({ "path": path })),
        ("search", json!({ "path": path, "pattern": "." })),
    ] {
        let text = bench.failed(tool, &arguments);
        assert!(text.contains(expected) && !text.contains(OUTSIDE), "{tool}: {text}");
    }
}

#[test]
fn dots_do_not_lead_outside() {
    let bench = Bench::new(&[("src/main.rs", "fn main() {}")]);
    for path in ["..", "../outside/file.txt", "src/../../outside/file.txt", "src/../..", "./../project/src/main.rs"] {
        check(&bench, path, "is outside the project");
    }
    assert_eq!(bench.done("read_file", &json!({ "path": "src/../src/./main.rs" })), "1\tfn main() {}");
}

#[test]
fn absolute_paths_are_refused() {
    let bench = Bench::new(&[("a.txt", "a")]);
    let outside = bench.outside().join("file.txt");
    check(&bench, outside.to_str().unwrap(), "is an absolute path");
    check(&bench, bench.at("a.txt").to_str().unwrap(), "is an absolute path");
    check(&bench, "//etc/passwd", "is an absolute path");
}

#[test]
fn links_do_not_lead_outside() {
    let bench = Bench::new(&[]);
    bench.link("absolute.txt", bench.outside().join("file.txt"));
    bench.link("relative.txt", "../outside/file.txt");
    bench.link("directory", bench.outside());
    bench.link("up", "..");
    bench.link("to_link", "relative.txt");
    check(&bench, "absolute.txt", "goes through the link `absolute.txt`, which leads outside");
    check(&bench, "relative.txt", "is outside the project");
    check(&bench, "directory/file.txt", "goes through the link `directory`, which leads outside");
    check(&bench, "up/outside/file.txt", "is outside the project");
    check(&bench, "to_link", "is outside the project");
    let found = bench.done("search", &json!({ "pattern": "outside" }));
    assert!(!found.contains(OUTSIDE), "{found}");
}

#[test]
fn magic_links_are_not_followed() {
    let bench = Bench::new(&[]);
    bench.link("environ", "/proc/self/environ");
    bench.link("root", "/proc/self/root");
    bench.link("cwd", "/proc/self/cwd/Cargo.toml");
    check(&bench, "environ", "leads outside the project");
    check(&bench, "root/etc/passwd", "leads outside the project");
    check(&bench, "cwd", "leads outside the project");
}

#[test]
fn links_that_stay_inside_work() {
    let bench = Bench::new(&[("src/deep/a.txt", "here\n"), ("top.txt", "top\n")]);
    bench.link("a.txt", "src/deep/a.txt");
    bench.link("src/deep/up.txt", "../../top.txt");
    bench.link("short", "src/deep");
    bench.link("again", "short");
    for (path, expected) in [
        ("a.txt", "1\there"),
        ("src/deep/up.txt", "1\ttop"),
        ("again/a.txt", "1\there"),
        ("again/../deep/a.txt", "1\there"),
    ] {
        assert_eq!(bench.done("read_file", &json!({ "path": path })), expected);
    }
    assert_eq!(
        bench.done("list_files", &json!({ "path": "again" })),
        "src/deep/a.txt\nsrc/deep/up.txt -> ../../top.txt"
    );
}

#[test]
fn hard_links_are_files() {
    let bench = Bench::new(&[("a.txt", "same\n")]);
    fs::hard_link(bench.at("a.txt"), bench.at("b.txt")).unwrap();
    assert_eq!(bench.read("b.txt").text, "1\tsame");
}

#[test]
fn a_circle_of_links_is_detected() {
    let bench = Bench::new(&[]);
    bench.link("a", "b");
    bench.link("b", "a");
    bench.link("self", "self/self");
    bench.link("here", ".");
    check(&bench, "a", "circle");
    check(&bench, "self", "circle");
    let far = "here/".repeat(30) + "here";
    assert_eq!(bench.done("list_files", &json!({ "path": far, "pattern": "a" })), "a -> b");
}

#[test]
fn pipes_and_sockets_are_refused_without_waiting() {
    let bench = Bench::new(&[("a.txt", "a needle\n")]);
    mknodat(CWD, bench.at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _listening = std::os::unix::net::UnixListener::bind(bench.at("socket")).unwrap();
    bench.link("device", "/dev/zero");
    let start = Instant::now();
    check(&bench, "pipe", "is a pipe");
    check(&bench, "socket", "is a socket");
    check(&bench, "device", "leads outside the project");
    assert_eq!(
        bench.done("search", &json!({ "pattern": "needle" })),
        "a.txt\n1: a needle\n(1 matches in 1 of 1 files)"
    );
    let listed = bench.done("list_files", &json!({}));
    assert_eq!(
        listed,
        "a.txt\ndevice -> /dev/zero\npipe [not a regular file: can't be read]\nsocket [not a regular file: can't be read]"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn devices_are_refused() {
    let bench = Bench::new(&[]);
    let zero = rustix::fs::makedev(1, 5);
    match mknodat(CWD, bench.at("zero"), FileType::CharacterDevice, Mode::from_raw_mode(0o600), zero) {
        Ok(()) => check(&bench, "zero", "is a device"),
        // Only root can create a device, so other users can't put one into a project.
        Err(error) => assert_eq!(error, rustix::io::Errno::PERM),
    }
}

/// Swaps a name between a directory of the project and a link that leads outside, as fast as possible, while it is read.
fn race(bench: &Bench, name: &str, rounds: usize, inside: &str, try_it: impl Fn() -> String) {
    let over = AtomicBool::new(false);
    let (mut reads, mut leaks) = (0, 0);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            for _ in 0..rounds {
                fs::rename(bench.at(name), bench.at("aside")).unwrap();
                symlink(bench.outside(), bench.at(name)).unwrap();
                std::thread::yield_now();
                fs::remove_file(bench.at(name)).unwrap();
                fs::rename(bench.at("aside"), bench.at(name)).unwrap();
            }
            over.store(true, Ordering::Relaxed);
        });
        while !over.load(Ordering::Relaxed) {
            let text = try_it();
            leaks += usize::from(text.contains(OUTSIDE));
            reads += usize::from(text.contains(inside));
        }
        swapper.join().unwrap();
    });
    assert_eq!(leaks, 0, "of {reads} reads");
    assert!(reads > 0, "the reader never read the file inside the project");
}

#[test]
fn swapping_a_directory_for_a_link_while_it_is_read_leaks_nothing() {
    let bench = Bench::new(&[("dir/file.txt", "text inside")]);
    race(&bench, "dir", 20_000, "text inside", || {
        let result = bench.read("dir/file.txt");
        assert!(result.outcome == ToolOutcome::Failed || result.text == "1\ttext inside", "{}", result.text);
        result.text
    });
}

#[test]
fn swapping_a_directory_for_a_link_while_it_is_searched_leaks_nothing() {
    let bench = Bench::new(&[("dir/file.txt", "text inside")]);
    race(&bench, "dir", 5_000, "text inside", || bench.call("search", &json!({ "pattern": "text" })).text);
}
