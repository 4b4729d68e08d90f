//! Plants known bugs (mutants), one at a time, to prove that the simulator and the examples can fail. It never changes the
//! source itself: each bug is planted in a copy.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

use toml::{Table, Value};

use crate::Outcome;
use crate::slot::{Slot, Verdict};

const LIST: &str = "crates/sim/mutants.toml";
const SLOTS: usize = 2;

pub(crate) struct Mutant {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) find: String,
    pub(crate) replace: String,
    pub(crate) catcher: Catcher,
    why: String,
}

/// The check that must detect the bug.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Catcher {
    /// The simulator's schedules of contracts.
    Schedules,
    /// The simulator's schedules of payments.
    Payments,
    /// The kernel's tests whose names contain this text.
    Example(String),
}

/// Tries the mutants with these names, or all mutants. Fails unless every mutant is detected.
pub(crate) fn run(names: &[&str]) -> Outcome {
    let text = fs::read_to_string(LIST).map_err(|e| format!("{LIST}: {e}"))?;
    let mutants = choose(parse(&text)?, names)?;
    let misplaced: Vec<String> = mutants.iter().filter_map(|mutant| mutant.planted(Path::new(".")).err()).collect();
    fail_with(&misplaced)?;

    let name_width = mutants.iter().map(|mutant| mutant.name.len()).max().unwrap_or_default();
    println!("{:name_width$}  caught by         seconds  first line", "name");
    let queue = Mutex::new(jobs(&mutants));
    let work = |number| -> Result<Vec<String>, String> {
        let slot = Slot::prepare(number).map_err(|e| format!("slot {number}: {e}"))?;
        let next = || lock(&queue).pop_front();
        let mut failures = Vec::new();
        while let Some(job) = next() {
            match job {
                Job::Clean(catcher, name) => {
                    expect_clean(&slot, catcher, name).inspect_err(|_| lock(&queue).clear())?;
                }
                Job::Mutant(mutant) => failures.extend(try_out(&slot, mutant, name_width)),
            }
        }
        Ok(failures)
    };
    let work = &work;
    let failures: Result<Vec<_>, _> = thread::scope(|scope| {
        let slots: Vec<_> = (0..SLOTS.min(mutants.len())).map(|number| scope.spawn(move || work(number))).collect();
        slots.into_iter().map(|slot| slot.join().expect("a slot returns errors and does not panic")).collect()
    });
    fail_with(&failures?.concat())
}

fn fail_with(failures: &[String]) -> Outcome {
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// What a slot does.
enum Job<'a> {
    /// Runs a check without a bug. The name is that of a mutant which the check must detect.
    Clean(&'a Catcher, &'a str),
    Mutant(&'a Mutant),
}

/// Returns every check without a bug, and then every mutant.
fn jobs(mutants: &[Mutant]) -> VecDeque<Job<'_>> {
    let catchers: BTreeMap<&Catcher, &str> = mutants.iter().map(|m| (&m.catcher, m.name.as_str())).collect();
    let clean = catchers.into_iter().map(|(catcher, name)| Job::Clean(catcher, name));
    clean.chain(mutants.iter().map(Job::Mutant)).collect()
}

fn lock<'a, 'b>(queue: &'a Mutex<VecDeque<Job<'b>>>) -> MutexGuard<'a, VecDeque<Job<'b>>> {
    queue.lock().expect("no slot panics while it holds the queue")
}

fn expect_clean(slot: &Slot, catcher: &Catcher, name: &str) -> Outcome {
    slot.expect_clean(catcher).map_err(|why| format!("{name}: the check fails without the bug: {why}"))
}

/// Tries a mutant and prints its row of the table. Returns an error message unless the mutant was detected.
fn try_out(slot: &Slot, mutant: &Mutant, name_width: usize) -> Option<String> {
    let Mutant { name, catcher, why, .. } = mutant;
    let start = Instant::now();
    let verdict = slot.try_out(mutant);
    let (by, line, failure) = match (verdict, catcher) {
        (Verdict::Caught(line), Catcher::Schedules) => ("schedules", line, None),
        (Verdict::Caught(line), Catcher::Payments) => ("payments", line, None),
        (Verdict::Caught(line), Catcher::Example(_)) => ("example", line, None),
        (Verdict::Hung, Catcher::Schedules) => ("schedules (hang)", String::new(), None),
        (Verdict::Hung, Catcher::Payments) => ("payments (hang)", String::new(), None),
        (Verdict::Hung, Catcher::Example(_)) => ("example (hang)", String::new(), None),
        (Verdict::Survived, _) => ("NOTHING", String::new(), Some(format!("{name} survived. {why}"))),
        (Verdict::Unusable(fault), _) => ("UNUSABLE", String::new(), Some(format!("{name} can't be tried: {fault}"))),
    };
    println!("{name:name_width$}  {by:16}  {:7.1}  {line}", start.elapsed().as_secs_f64());
    failure
}

impl Mutant {
    /// Returns the text of the mutant's file below `root`, with the bug in it.
    pub(crate) fn planted(&self, root: &Path) -> Result<String, String> {
        let Self { name, file, find, replace, .. } = self;
        let text = fs::read_to_string(root.join(file)).map_err(|e| format!("{name}: {}: {e}", file.display()))?;
        match text.matches(find.as_str()).count() {
            1 => Ok(text.replacen(find, replace, 1)),
            count => Err(format!("{name}: `{find}` must occur once in {}, but occurs {count} times", file.display())),
        }
    }
}

fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    let mut list: Table = text.parse().map_err(|e| format!("{LIST}: {e}"))?;
    let mutants = match list.remove("mutant") {
        Some(Value::Array(mutants)) => mutants,
        other => return Err(format!("{LIST}: expected [[mutant]] tables, found {other:?}")),
    };
    mutants.into_iter().map(parse_mutant).collect::<Result<_, _>>().map_err(|why| format!("{LIST}: {why}"))
}

fn parse_mutant(value: Value) -> Result<Mutant, String> {
    let mut fields: BTreeMap<String, String> = value.try_into().map_err(|e| e.to_string())?;
    let name = fields.remove("name").ok_or("a mutant has no name")?;
    let mut take = |key: &str| fields.remove(key).ok_or(format!("{name} has no `{key}`"));
    let file = take("file")?.into();
    let (find, replace) = (take("find")?, take("replace")?);
    let catcher = match take("caught_by")?.as_str() {
        "schedules" => Catcher::Schedules,
        "payments" => Catcher::Payments,
        "example" => Catcher::Example(take("example")?),
        other => {
            return Err(format!("{name}: `caught_by` is `{other}`, but must be `schedules`, `payments` or `example`"));
        }
    };
    let why = fields.remove("why").unwrap_or_default();
    match fields.keys().next() {
        None => Ok(Mutant { name, file, find, replace, catcher, why }),
        Some(key) => Err(format!("{name} has the unknown key `{key}`")),
    }
}

fn choose(all: Vec<Mutant>, names: &[&str]) -> Result<Vec<Mutant>, String> {
    if let Some(name) = names.iter().find(|name| all.iter().all(|mutant| mutant.name != **name)) {
        let known: Vec<&str> = all.iter().map(|mutant| mutant.name.as_str()).collect();
        return Err(format!("there is no mutant {name}; the mutants are: {}", known.join(", ")));
    }
    let chosen: Vec<_> = all.into_iter().filter(|m| names.is_empty() || names.contains(&m.name.as_str())).collect();
    if chosen.is_empty() { Err(format!("{LIST} lists no mutant")) } else { Ok(chosen) }
}
