//! The reference engine on every script: what other engines are held against must be right itself.

use guildhall_kernel::{Fact, Stored};
use guildhall_laws::Checker;
use guildhall_sim::conformance::{Played, Script, Stage, reference, scripts};

fn play(script: &Script) -> (Vec<Stored>, Played) {
    let stage = Stage::new(script);
    let stored = reference(script, &stage);
    assert_eq!(stage.unplayed(), Vec::<&str>::new(), "{}", script.name);
    let played = Played::new(&stored, &stage);
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
        let mut checker = Checker::new();
        let broken: Vec<_> = stored.iter().flat_map(|stored| checker.observe(stored)).collect();
        assert_eq!(broken, [], "{}", script.name);
        assert_eq!(checker.at_end(), [], "{}", script.name);
    }
}

#[test]
fn the_same_script_gives_the_same_every_time() {
    for script in scripts() {
        assert_eq!(play(&script), play(&script), "{}", script.name);
    }
}

#[test]
fn no_two_scripts_are_the_same() {
    let all: Vec<Played> = scripts().iter().map(|script| play(script).1).collect();
    for (at, played) in all.iter().enumerate() {
        assert!(!all[..at].contains(played), "{}", scripts()[at].name);
    }
}
