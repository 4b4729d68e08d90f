//! Measures the real `guildhall serve` with many viewers: how long after a fact is durable they receive it, how much memory they
//! need, and whether they slow the work down. Every viewer that reads must receive every event exactly once.

mod figures;
mod http;
mod server;
mod viewers;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use self::figures::{Key, Values};
use self::server::{OFFERS, Server, Session};
use self::viewers::Viewers;
use crate::fake::{FakeBehaviour, PACE_ANSWER, now_us};
use crate::pace::Pace;
use crate::program::{self, Fake, float};
use crate::raise_limit;
use crate::report::{self, Page};
use crate::tree::Tree;

const RUNS: usize = 3;
const SMALL_RUNS: usize = 1;

const KIB: f64 = 1024.0;

/// A reply and its call are four facts: at least 20 facts a second, with the pause before the first reply.
const TURN_MS: u64 = 190;

/// How long before its first reply a paced session is asked.
const LEAD_MS: u64 = 500;

/// How long the model of the many agents takes for each reply.
const REPLY_MS: u64 = 500;

/// The time after the end of the work, before a session counts as at rest.
const REST: Duration = Duration::from_secs(1);

/// Measures the real `guildhall serve` with many viewers.
#[derive(Args)]
pub(crate) struct Serve {
    /// Measure this binary and build none.
    #[arg(long, value_name = "PATH")]
    guildhall: Option<PathBuf>,
    /// How often each case runs; the figures are medians [default: 3, or 1 if small].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    runs: Option<u16>,
    /// A short run for CI with fewer viewers: fail if an event is missing or doubled, not because of times.
    #[arg(long)]
    small: bool,
    /// Write the table into docs.
    #[arg(long, conflicts_with = "small")]
    write: bool,
}

/// How large the cases are.
pub(crate) struct Size {
    /// The viewers of one session.
    viewers: usize,
    /// How many of them never read, in the case with many agents.
    never_read: usize,
    /// The sessions of the case with many sessions, and the viewers of each.
    sessions: usize,
    each: usize,
    agents: u64,
    /// How long paced work takes.
    work: Duration,
    /// How long viewers watch a session at rest.
    idle: Duration,
}

pub(crate) const FULL: Size = Size {
    viewers: 500,
    never_read: 50,
    sessions: 50,
    each: 10,
    agents: 100,
    work: Duration::from_secs(20),
    idle: Duration::from_secs(10),
};

const SMALL: Size = Size {
    viewers: 100,
    never_read: 10,
    sessions: 10,
    each: 5,
    agents: 30,
    work: Duration::from_secs(4),
    idle: Duration::from_secs(2),
};

pub(crate) fn run(serve: Serve) -> Result<(), String> {
    let page = serve.write.then(|| Page::open("serve")).transpose()?;
    let guildhall = serve.guildhall.ok_or("no binary to measure: run `cargo xtask bench -- serve`")?;
    let guildhall = guildhall.canonicalize().map_err(|e| format!("{}: {e}", guildhall.display()))?;
    raise_limit()?;
    let size = if serve.small { SMALL } else { FULL };
    let runs = serve.runs.map_or(if serve.small { SMALL_RUNS } else { RUNS }, usize::from);
    let load = report::load();
    let bench = Bench { guildhall: &guildhall, scratch: &program::scratch()?, size: &size };
    let mut values = Values::default();
    for round in 1..=runs {
        let begin = |case: &str| eprintln!("round {round} of {runs}: {case}");
        begin("one session");
        bench.one_session(&mut values)?;
        begin("many sessions");
        bench.many_sessions(&mut values)?;
        begin("many agents");
        bench.many_agents(&mut values)?;
    }
    let results = format!("{}\n\n{}", report::machine(&load, report::Figures::Medians(runs)), values.table(&size));
    println!("{results}");
    page.map_or(Ok(()), |page| page.write(&results))
}

/// A server whose work has ended, with its viewers.
struct Watched {
    server: Server,
    _fake: Fake,
    sessions: Vec<Session>,
    viewers: Viewers,
    /// The memory of the server in bytes.
    memory: f64,
}

impl Watched {
    /// The memory per viewer beyond that of a server that did the same work without viewers.
    fn memory_kib_beyond(&self, alone: &Watched, viewers: usize) -> f64 {
        (self.memory - alone.memory) / float(viewers as u64) / KIB
    }
}

struct Bench<'a> {
    guildhall: &'a Path,
    scratch: &'a Path,
    size: &'a Size,
}

impl Bench<'_> {
    fn server(&self, latency_ms: u64) -> Result<(Server, Fake), String> {
        let fake = Fake::start(&FakeBehaviour { latency_ms, ..FakeBehaviour::default() })?;
        Ok((Server::start(self.guildhall, self.scratch, &fake.url)?, fake))
    }

    /// Many viewers of one session at work, and then at rest.
    fn one_session(&self, values: &mut Values) -> Result<(), String> {
        let alone = self.paced(1, 0)?;
        let watched = self.paced(1, self.size.viewers)?;
        let latencies = Latencies::of(&watched.viewers);
        values.add(Key::OneRate, latencies.rate);
        values.add(Key::OneMedian, latencies.percentile_ms(50));
        values.add(Key::OneP99, latencies.percentile_ms(99));
        values.add(Key::OneHighest, latencies.percentile_ms(100));
        values.add(Key::OneMemory, watched.memory_kib_beyond(&alone, self.size.viewers));
        values.add(Key::IdleReads, float(self.reads_at_rest(watched)?));
        Ok(())
    }

    /// How often the server reads its database while its sessions are at rest. Any read is an error.
    fn reads_at_rest(&self, Watched { mut server, sessions, viewers, .. }: Watched) -> Result<u64, String> {
        thread::sleep(REST);
        let before = server.reads()?;
        thread::sleep(self.size.idle);
        let reads = server.reads()? - before;
        if reads > 0 {
            return Err(format!("the server read its database {reads} times while its only session was at rest"));
        }
        server.received(&viewers, &sessions)?;
        Ok(reads)
    }

    fn many_sessions(&self, values: &mut Values) -> Result<(), String> {
        let Size { sessions, each, .. } = *self.size;
        let alone = self.paced(sessions, 0)?;
        let watched = self.paced(sessions, each)?;
        let latencies = Latencies::of(&watched.viewers);
        values.add(Key::ManyRate, latencies.rate);
        values.add(Key::ManyMedian, latencies.percentile_ms(50));
        values.add(Key::ManyP99, latencies.percentile_ms(99));
        values.add(Key::ManyHighest, latencies.percentile_ms(100));
        values.add(Key::ManyMemory, watched.memory_kib_beyond(&alone, sessions * each));
        Ok(())
    }

    /// Work at a steady pace in so many sessions, with so many viewers of each.
    fn paced(&self, sessions: usize, each: usize) -> Result<Watched, String> {
        let (mut server, fake) = self.server(0)?;
        let offers = OFFERS.into_iter().cycle().take(sessions);
        let sessions = offers.map(|offer| server.session(offer)).collect::<Result<Vec<_>, _>>()?;
        let viewers = server.watch(&sessions, each, 0)?;
        let turns = u64::try_from(self.size.work.as_millis()).unwrap_or(u64::MAX) / TURN_MS;
        let start_ms = now_us() / 1000 + LEAD_MS;
        for (number, session) in (0..).zip(&sessions) {
            // The sessions do not reply at the same moment.
            let shift_ms = TURN_MS * number / sessions.len() as u64;
            let pace = Pace { turns, every_ms: TURN_MS, start_ms: start_ms + shift_ms };
            server.request(session, &pace.task())?;
        }
        server.wait_ended(sessions.len() as u64)?;
        server.received(&viewers, &sessions)?;
        sessions.iter().try_for_each(|session| server.expect_answer(session, PACE_ANSWER))?;
        let memory = server.memory()?;
        Ok(Watched { server, _fake: fake, sessions, viewers, memory })
    }

    /// Many agents without viewers, and with viewers of whom some never read.
    fn many_agents(&self, values: &mut Values) -> Result<(), String> {
        let (alone_ms, alone_bytes) = self.agents(REPLY_MS, 0, 0, |_| ())?;
        let Size { viewers, never_read, .. } = *self.size;
        let (watched_ms, watched_bytes) = self.agents(REPLY_MS, viewers, never_read, |viewers| {
            values.add(Key::WatchedP99, Latencies::of(viewers).percentile_ms(99));
        })?;
        values.add(Key::Alone, alone_ms);
        values.add(Key::Watched, watched_ms);
        values.add(Key::Times, watched_ms / alone_ms);
        values.add(Key::WatchedMemory, (watched_bytes - alone_bytes) / float(viewers as u64) / KIB);
        let (alone_ms, _) = self.agents(0, 0, 0, |_| ())?;
        let (watched_ms, _) = self.agents(0, viewers, never_read, |_| ())?;
        values.add(Key::AloneAtOnce, alone_ms);
        values.add(Key::WatchedAtOnce, watched_ms);
        Ok(())
    }

    /// One agent that hires all others in one reply. Returns the time of the work in milliseconds, and the memory of the server
    /// at its end in bytes.
    fn agents(
        &self,
        reply_ms: u64,
        viewers: usize,
        never_read: usize,
        seen: impl FnOnce(&Viewers),
    ) -> Result<(f64, f64), String> {
        let (mut server, _fake) = self.server(reply_ms)?;
        let sessions = [server.session(OFFERS[0])?];
        let viewers = server.watch(&sessions, viewers, never_read)?;
        let tree = Tree { fanout: self.size.agents, depth: 1 };
        let start = Instant::now();
        server.request(&sessions[0], &tree.task())?;
        server.wait_ended(1)?;
        let took_ms = start.elapsed().as_secs_f64() * 1000.0;
        server.received(&viewers, &sessions)?;
        server.expect_answer(&sessions[0], &tree.answer())?;
        seen(&viewers);
        Ok((took_ms, server.memory()?))
    }
}

/// The times from durable to received of all viewers.
struct Latencies {
    sorted_us: Vec<u64>,
    /// The events of a session per second, on average over the viewers.
    rate: f64,
}

impl Latencies {
    fn of(viewers: &Viewers) -> Latencies {
        let (mut sorted_us, mut rates) = (Vec::new(), Vec::new());
        viewers.for_each(|viewer| {
            sorted_us.extend_from_slice(&viewer.latencies_us);
            if let Some((first, last)) = viewer.durable_ms.filter(|(first, last)| last > first) {
                rates.push(float(viewer.latencies_us.len() as u64) * 1000.0 / float(last - first));
            }
        });
        sorted_us.sort_unstable();
        Latencies { sorted_us, rate: rates.iter().sum::<f64>() / float(rates.len() as u64) }
    }

    /// The time that so many of 100 events took at most.
    fn percentile_ms(&self, percent: usize) -> f64 {
        let position = (self.sorted_us.len() * percent).div_ceil(100).saturating_sub(1);
        self.sorted_us.get(position).map_or(f64::NAN, |us| float(*us) / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_time_of_the_last_event_within_it() {
        let latencies = Latencies { sorted_us: (1..=200).map(|ms| ms * 1000).collect(), rate: 0.0 };
        let text = |percent| latencies.percentile_ms(percent).to_string();
        assert_eq!([50, 99, 100].map(text), ["100", "198", "200"]);
        let none = Latencies { sorted_us: Vec::new(), rate: 0.0 };
        assert!(none.percentile_ms(99).is_nan());
    }
}
