//! Runs the reference engine on every script, because other engines are compared with its results.

use guildhall_kernel::{Fact, Stored};
use guildhall_laws::Checker;
use guildhall_sim::conformance::{Script, ScriptResult, ScriptedWorld, reference, scripts};

fn play(script: &Script) -> (Vec<Stored>, ScriptResult) {
    let world = ScriptedWorld::new(script);
    let stored = reference(script, &world);
    assert_eq!(world.unused_lines(), Vec::<&str>::new(), "{}", script.name);
    let played = ScriptResult::new(&stored, &world);
    (stored, played)
}

#[test]
fn every_script_ends_as_it_says_and_breaks_no_law() {
    for script in scripts() {
        let (stored, _) = play(&script);
        let of_root = stored.iter().filter(|stored| stored.contract == script.brief.path);
        let last = of_root.map(|stored| &stored.fact).next_back();
        let report = if let Some(Fact::Closed(report)) = last { Some(report) } else { None };
        assert_eq!(report.map(|report| report.outcome), Some(script.outcome), "{}", script.name);
        if script.report.is_some() {
            assert_eq!(report.map(|report| report.text.text()), script.report, "{}", script.name);
        }
        let mut checker = Checker::new();
        let broken: Vec<_> = stored.iter().flat_map(|stored| checker.observe(stored)).collect();
        assert_eq!(broken, [], "{}", script.name);
        assert_eq!(checker.at_end(), [], "{}", script.name);
    }
}

#[test]
fn every_script_shows_what_it_says() {
    for script in scripts() {
        let (_, played) = play(&script);
        for (contract, events) in &script.shows {
            assert_eq!(played.events(contract), *events, "{}: {contract}", script.name);
        }
    }
}

#[test]
fn the_same_script_gives_the_same_result_every_time() {
    for script in scripts() {
        assert_eq!(play(&script), play(&script), "{}", script.name);
    }
}

#[test]
fn no_two_scripts_are_the_same() {
    let all: Vec<ScriptResult> = scripts().iter().map(|script| play(script).1).collect();
    for (at, played) in all.iter().enumerate() {
        assert!(!all[..at].contains(played), "{}", scripts()[at].name);
    }
}
