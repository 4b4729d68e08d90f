//! What the system reports about this process: its memory, and the processor time of its threads. If the system does not report a
//! value, there is no figure.

use std::collections::BTreeMap;
use std::fs;

/// The threads that run contracts, and those that read the journal for them.
pub(crate) const DESKS: &str = "desks";
pub(crate) const READS: &str = "reads";

/// Returns the memory of this process that is resident, in bytes.
pub(crate) fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1024.0)
}

/// Returns the processor time that the threads of each name have used so far, in the system's ticks.
pub(crate) fn worked() -> Option<BTreeMap<String, f64>> {
    let mut worked: BTreeMap<String, f64> = BTreeMap::new();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        // A thread that has ended meanwhile has no file.
        let Ok(stat) = fs::read_to_string(thread.ok()?.path().join("stat")) else { continue };
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        // After the name: the state, ten other fields, then the time in user mode and in kernel mode.
        let fields: Vec<f64> =
            rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
        *worked.entry(name.to_owned()).or_default() += fields.iter().sum::<f64>();
    }
    Some(worked)
}

/// Returns the share of processor time of the threads of each name between two moments, in percent.
pub(crate) fn shares(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let since = |name: &String, ticks: &f64| ticks - before.get(name).copied().unwrap_or_default();
    let all: f64 = after.iter().map(|(name, ticks)| since(name, ticks)).sum();
    after.iter().map(|(name, ticks)| (name.clone(), 100.0 * since(name, ticks) / all.max(1.0))).collect()
}
