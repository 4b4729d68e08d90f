//! `guildhall-sim`: runs schedules and reports broken laws.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use guildhall_sim::{Chance, History, Played, Reach, Subject, shrink};

const HELP: &str = "guildhall-sim: tries to break the contract kernel and the treasury

  guildhall-sim                             runs 10,000 schedules, from seed 1
  guildhall-sim --schedules 100000          runs that many
  guildhall-sim --seed 42                   runs one schedule again
  guildhall-sim --seed 42 --history         and prints all facts
  guildhall-sim --choices 3.z2.2.1          runs a shortened schedule again
  guildhall-sim --schedules 1000 --from 5000 --threads 1
  guildhall-sim --payments                  runs schedules of payments instead of trees of contracts; all
                                            other options work with it

Exit codes: 0 no violation, 1 a law was broken or a variant was never reached, 2 wrong arguments.
";

/// More threads than this make the program slower.
const THREADS_MAX: usize = 256;

/// With fewer schedules, rare variants may not be reached.
const REACH_SCHEDULES_MIN: u64 = 10_000;

struct Options {
    subject: Subject,
    schedules: u64,
    from: u64,
    threads: usize,
    seed: Option<u64>,
    choices: Option<Vec<u32>>,
    history: History,
}

struct Total {
    reach: Reach,
    schedules: u64,
    facts: u64,
    failed: Option<u64>,
}

impl Total {
    fn new(subject: Subject) -> Total {
        Total { reach: subject.reach(), schedules: 0, facts: 0, failed: None }
    }
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            say(HELP);
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("{why}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match (&options.choices, options.seed) {
        (Some(choices), _) => one(options.subject, Chance::replaying(choices.clone()), History::Kept),
        (None, Some(seed)) => one(options.subject, Chance::seeded(seed), options.history),
        (None, None) => many(&options),
    }
}

fn one(subject: Subject, chance: Chance, history: History) -> ExitCode {
    match subject.play(chance, history) {
        Err(panic) => {
            say(&format!("violation: {panic}\n"));
            ExitCode::from(1)
        }
        Ok(Played { violations, history, facts, .. }) => {
            say(&history);
            for violation in &violations {
                say(&format!("violation: {violation}\n"));
            }
            say(&format!("{facts} facts, {} violations\n", violations.len()));
            ExitCode::from(u8::from(!violations.is_empty()))
        }
    }
}

fn many(options: &Options) -> ExitCode {
    // A panic is reported as a violation, not on stderr.
    std::panic::set_hook(Box::new(|_| {}));
    let stop = AtomicBool::new(false);
    let totals: Vec<Total> = thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads)
            .map(|worker| {
                scope.spawn({
                    let stop = &stop;
                    move || work(options, worker as u64, stop)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker reports")).collect()
    });
    let mut total = Total::new(options.subject);
    for part in totals {
        total.reach.add(&part.reach);
        total.schedules += part.schedules;
        total.facts += part.facts;
        total.failed = [total.failed, part.failed].into_iter().flatten().min();
    }
    if let Some(seed) = total.failed {
        return explain(options.subject, seed);
    }
    let counted = match options.subject {
        Subject::Trees => {
            let (contracts, crashes) = (total.reach.of("fact opened"), total.reach.of("fault crash"));
            format!("{contracts} contracts, {} facts, {crashes} crashes", total.facts)
        }
        Subject::Payments => format!("{} payments, {} facts", total.reach.of("fact wanted"), total.facts),
    };
    let summary = format!("{}\n{} schedules, {counted}: 0 violations\n", total.reach, total.schedules);
    say(&summary);
    let minimum = (total.schedules / 10_000).max(1);
    let missed = if total.schedules < REACH_SCHEDULES_MIN { Vec::new() } else { total.reach.below(minimum) };
    for name in &missed {
        say(&format!("violation: {name:?} was reached {} times, fewer than {minimum}\n", total.reach.of(name)));
    }
    ExitCode::from(u8::from(!missed.is_empty()))
}

fn work(options: &Options, worker: u64, stop: &AtomicBool) -> Total {
    let mut total = Total::new(options.subject);
    let seeds = (options.from + worker..options.from + options.schedules).step_by(options.threads);
    for seed in seeds {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match options.subject.play(Chance::seeded(seed), History::Dropped) {
            Ok(played) if played.violations.is_empty() => {
                total.reach.add(&played.reach);
                total.schedules += 1;
                total.facts += played.facts;
            }
            Ok(_) | Err(_) => {
                total.failed = Some(seed);
                stop.store(true, Ordering::Relaxed);
            }
        }
    }
    total
}

/// Prints the shortest schedule that breaks the same law, and the command that runs it again.
fn explain(subject: Subject, seed: u64) -> ExitCode {
    let (chance, drawn) = Chance::recording(seed);
    let first = match subject.play(chance, History::Dropped) {
        Ok(played) => played.violations.into_iter().next().unwrap_or_default(),
        Err(panic) => panic,
    };
    let again = match subject {
        Subject::Trees => "run it again: cargo run --release -p guildhall-sim --",
        Subject::Payments => "run it again: cargo run --release -p guildhall-sim -- --payments",
    };
    say(&format!("violation: seed {seed}: {first}\n"));
    say(&format!("{again} --seed {seed} --history\n"));
    let choices = shrink(subject, drawn.take());
    let text = write_choices(&choices);
    if let Ok(least) = subject.play(Chance::replaying(choices), History::Kept) {
        say(&format!("\nthe shortest schedule found:\n{}", least.history));
        for violation in &least.violations {
            say(&format!("  broken: {violation}\n"));
        }
    }
    say(&format!("{again} --choices {text}\n"));
    ExitCode::from(1)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (subject, history) = (Subject::Trees, History::Dropped);
    let mut options = Options { subject, schedules: 10_000, from: 1, threads, seed: None, choices: None, history };
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{flag} needs a value"));
        let number = |text: String| {
            text.replace('_', "").parse::<u64>().map_err(|_| format!("{text:?} is not a whole number below 2^64"))
        };
        match flag.as_str() {
            "--help" | "-h" => return Ok(None),
            "--schedules" => options.schedules = number(value()?)?,
            "--from" => options.from = number(value()?)?,
            "--seed" => options.seed = Some(number(value()?)?),
            "--threads" => {
                options.threads = usize::try_from(number(value()?)?).unwrap_or(usize::MAX).clamp(1, THREADS_MAX);
            }
            "--history" => options.history = History::Kept,
            "--payments" => options.subject = Subject::Payments,
            "--choices" => {
                let choices = value()?;
                let read = read_choices(&choices).ok_or_else(|| {
                    format!("{choices:?} is not a list of choices: write numbers joined by dots, such as 3.z2.1")
                })?;
                options.choices = Some(read);
            }
            other => return Err(format!("{other:?} is not an option")),
        }
    }
    let one = options.seed.is_some() || options.choices.is_some();
    if options.schedules == 0 {
        return Err("--schedules must be at least 1".to_owned());
    }
    if options.history == History::Kept && !one {
        return Err("--history needs a single schedule: add --seed or --choices".to_owned());
    }
    if options.from.checked_add(options.schedules).is_none() {
        return Err("--from plus --schedules is too large: use smaller numbers".to_owned());
    }
    Ok(Some(options))
}

/// Writes choices as numbers joined by dots; `z5` means five zeros.
fn write_choices(choices: &[u32]) -> String {
    let runs = choices.chunk_by(|a, b| *a == 0 && *b == 0);
    let parts = runs.map(|run| if run.len() > 1 { format!("z{}", run.len()) } else { run[0].to_string() });
    parts.collect::<Vec<_>>().join(".")
}

fn read_choices(text: &str) -> Option<Vec<u32>> {
    let mut choices = Vec::new();
    for part in text.split('.') {
        match part.strip_prefix('z') {
            Some(zeros) => choices.extend(std::iter::repeat_n(0, zeros.parse::<u16>().ok()?.into())),
            None => choices.push(part.parse().ok()?),
        }
    }
    Some(choices)
}

fn say(text: &str) {
    // The exit code still reports the result if the reader of the output is gone.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
