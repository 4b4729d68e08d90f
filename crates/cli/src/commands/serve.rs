//! `serve`: sessions over HTTP. This command reads the config and hands everything to the server.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall::local::{create_private_dir, open_lock, open_regular, private_file, raise_open_files};
use guildhall::{AgentName, Hall, Roster};
use guildhall_server::{
    Activities, Limits, LogKind, MoneyKind, Offer, Rate, STREAMS_MAX, Server, ServerError, Settings, Sites, Token,
};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::args::serve::ServeArgs;
use crate::commands::demo::{QUESTION, write_example};
use crate::config::serve::{Count, OfferConfig, OfferMoney, ServeConfig};
use crate::exit::{Exit, Failure};
use crate::print::{note, out, tame, warn};
use crate::signals::Signals;
use crate::team;
use crate::world::{LIVE_DEMO, World};

/// The name of the live demo.
const DEMO: &str = "demo";

/// The budget that is proposed for the live demo.
const DEMO_BUDGET_SATS: u64 = 500;

/// The directory of the live demo, inside the data directory.
const DEMO_DIR: &str = "live-demo";

/// The file with the operator's token, inside the data directory.
const TOKEN_FILE: &str = "operator-token";

/// The file that one server at a time locks, inside the data directory.
const LOCK_FILE: &str = "serve.lock";

/// The longest name of an offer.
const OFFER_NAME_BYTES_MAX: usize = 64;

/// The longest token file, in bytes.
const TOKEN_BYTES_MAX: u64 = 1024;

/// The longest line of the log, in characters.
const LOG_CHARS_MAX: usize = 1000;

/// Serves until the process is told to stop.
pub(crate) async fn serve(world: &World, args: ServeArgs) -> Result<Exit, Failure> {
    require_public_origin(&args)?;
    let limits = limits(&world.serve);
    check_limits(&limits).map_err(|why| Failure::usage(format!("{}: {why}", world.paths.config.display())))?;
    // From here on, a signal is an order to stop, and does not kill the process.
    let mut signals = Signals::listen()?;
    let _only_server = lock(world)?;
    let listening = |why| {
        let advice = "Choose another address, such as --addr 127.0.0.1:8788";
        Failure::temporary(format!("can't listen on {}: {why}. {advice}", args.addr))
    };
    let listener = TcpListener::bind(args.addr).await.map_err(listening)?;
    let address = listener.local_addr().map_err(listening)?;
    let sites = sites(&args, address)?;
    // Each viewer is an open file.
    raise_open_files();
    let activities = Activities::default();
    let demo_dir = prepare_demo(world)?;
    let hall = world.builder(demo_dir.clone()).watch(activities.watcher()).build()?;
    if let Some(why) = hall.journal().unwritable() {
        return Err(guildhall::HallError::from(why.clone()).into());
    }
    let offers = offers(world, &hall, &demo_dir)?;
    warn_without_wallet(&hall, &offers).await?;
    let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
    let offered = names.join(", ");
    let (operator, token_file) = operator_token(world)?;
    let quiet = args.quiet;
    let log = Arc::new(move |kind: LogKind, line: &str| match kind {
        LogKind::Request if quiet => {}
        LogKind::Request | LogKind::Event => note(&tame(line, LOG_CHARS_MAX)),
    });
    let settings = Settings { operator, sites, limits, log };
    let server = Server::new(hall, offers, activities, settings).await.map_err(|why| match why {
        ServerError::Hall(why) => Failure::from(why),
        ServerError::Offer { name, source } => Failure::from(source).at(&place(world, &name)),
    })?;
    out(&format!("serving {offered} at http://{address}"))?;
    for origin in &args.public {
        out(&format!("others reach it at {origin}"))?;
    }
    out(&format!("operator token: {}", token_file.display()))?;
    let stop = Notify::new();
    let mut serving = std::pin::pin!(server.serve(listener, stop.notified()));
    tokio::select! {
        ended = serving.as_mut() => ended?,
        () = signals.any() => {
            stop.notify_one();
            note("stopping: no new call leaves, and those under way get 20 s. Press Ctrl-C again to stop immediately");
            tokio::select! {
                ended = serving => ended?,
                () = signals.any() => {
                    note("stopped immediately; calls that were under way stay reserved. The next `guildhall serve` continues the work");
                    return Ok(Exit::Interrupted);
                }
            }
        }
    }
    note("stopped; the next `guildhall serve` continues work that was under way");
    Ok(Exit::Done)
}

/// Another address than a loopback address needs a public origin.
fn require_public_origin(args: &ServeArgs) -> Result<(), Failure> {
    if !args.addr.ip().is_loopback() && args.public.is_empty() {
        return Err(Failure::usage(format!(
            "--addr {} can be reached from other machines: say at which address, such as --public https://hall.example.com. \
             Requests for other hosts are refused",
            args.addr
        )));
    }
    Ok(())
}

/// The hosts and origins that are ours.
fn sites(args: &ServeArgs, address: SocketAddr) -> Result<Sites, Failure> {
    let with = |sites: Sites, origin: &String| sites.with_origin(origin);
    let sites = args.public.iter().try_fold(Sites::of_machine(address), with);
    sites.map_err(|why| Failure::usage(format!("--public: {why}")))
}

fn limits(config: &ServeConfig) -> Limits {
    let default = Limits::default();
    let size = |count: Option<Count>, default: usize| count.map_or(default, |Count(count)| count as usize);
    let rate = |per_minute: Option<u32>, default: Rate| match per_minute {
        // As many at once, in proportion, as by default.
        Some(per_minute) => Rate { per_minute, burst: per_minute.saturating_mul(default.burst) / default.per_minute },
        None => default,
    };
    let of_minute = |count: Option<Count>| count.map(|Count(count)| count);
    let of_second = |count: Option<Count>| count.map(|Count(count)| count.saturating_mul(60));
    Limits {
        unpaid_max: of_minute(config.unpaid_sessions).unwrap_or(default.unpaid_max),
        streams_max: size(config.streams, default.streams_max),
        streams_each_max: size(config.streams_each, default.streams_each_max),
        invoice_sats_max: config.invoice_max.map_or(default.invoice_sats_max, |most| most.0.get() / 1000),
        work_max: size(config.work, default.work_max),
        new_sessions: rate(of_minute(config.new_sessions_per_minute), default.new_sessions),
        changes: rate(of_minute(config.changes_per_minute), default.changes),
        public: rate(of_second(config.public_rate), default.public),
        client: rate(of_second(config.client_rate), default.client),
        ..default
    }
}

/// Writes the files of the live demo.
fn prepare_demo(world: &World) -> Result<PathBuf, Failure> {
    let dir = world.paths.data.join(DEMO_DIR);
    let failed = |why| Failure::failed(format!("can't write the files of the live demo to {}: {why}", dir.display()));
    create_private_dir(&dir).map_err(failed)?;
    write_example(&dir).map_err(failed)?;
    Ok(dir)
}

fn offers(world: &World, hall: &Hall, demo_dir: &Path) -> Result<Vec<Offer>, Failure> {
    let mut offers = Vec::new();
    if world.serve.live_demo.unwrap_or(world.offers.is_empty()) {
        offers.push(live_demo(world, hall, demo_dir)?);
    }
    for (name, config) in &world.offers {
        if offers.iter().any(|offer| offer.name == *name) {
            return Err(Failure::usage(format!("offers.{name} in the config: the live demo has this name")));
        }
        offers.push(offer(world, hall, name, config)?);
    }
    if offers.is_empty() {
        let config = world.paths.config.display();
        let why = "nothing is offered. Add [offers.NAME], or remove `live_demo = false` from [serve]";
        return Err(Failure::usage(format!("{config}: {why}")));
    }
    Ok(offers)
}

fn live_demo(world: &World, hall: &Hall, dir: &Path) -> Result<Offer, Failure> {
    let found = team::find(world, dir, Some(dir))?;
    let entry = found.entry(None)?;
    Ok(Offer {
        name: DEMO.to_owned(),
        description:
            "A team searches for the fault of a small payment service. Its model is a program that replaces a language \
                      model, so nothing costs real money."
                .to_owned(),
        hall: team_hall(hall, dir, found.roster, &[])?,
        entry: Some(entry),
        model: Some(LIVE_DEMO.to_owned()),
        money: MoneyKind::Play,
        budget_sats: DEMO_BUDGET_SATS,
        example: Some(QUESTION.to_owned()),
    })
}

fn offer(world: &World, hall: &Hall, name: &str, config: &OfferConfig) -> Result<Offer, Failure> {
    let place = place(world, name);
    let wrong = |why: String| Failure::usage(format!("{place}: {why}"));
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > OFFER_NAME_BYTES_MAX || !name.bytes().all(is_allowed) {
        let rule = "the name of an offer has small letters, digits and hyphens";
        return Err(wrong(format!("{rule}, at most {OFFER_NAME_BYTES_MAX}")));
    }
    let base = world.paths.config.parent().unwrap_or(Path::new("."));
    let project = base.join(&config.project);
    let team = config.team.as_ref().map(|team| base.join(team));
    let found = team::find(world, &project, team.as_deref()).map_err(|why| wrong(why.to_string()))?;
    for problem in found.errors() {
        warn(&tame(&problem.to_string(), LOG_CHARS_MAX));
    }
    let entry = found.entry(config.agent.as_deref()).map_err(|why| wrong(why.to_string()))?;
    let unpaid = found.of_project(&project);
    let budget_sats = config.budget.0.get() / 1000;
    if budget_sats == 0 {
        return Err(wrong("the budget is less than 1 sat".to_owned()));
    }
    Ok(Offer {
        name: name.to_owned(),
        description: config.description.clone(),
        hall: team_hall(hall, &project, found.roster, &unpaid).map_err(|why| wrong(why.to_string()))?,
        entry: Some(entry),
        model: config.model.clone(),
        money: match config.money {
            OfferMoney::Play => MoneyKind::Play,
            OfferMoney::Wallet => MoneyKind::Real,
        },
        budget_sats,
        example: config.example.clone(),
    })
}

/// Where the settings of an offer are.
fn place(world: &World, name: &str) -> String {
    format!("offers.{name} in {}", world.paths.config.display())
}

/// Real money needs a wallet. It can be connected while the server runs.
async fn warn_without_wallet(hall: &Hall, offers: &[Offer]) -> Result<(), Failure> {
    let real: Vec<&str> =
        offers.iter().filter(|offer| offer.money == MoneyKind::Real).map(|offer| offer.name.as_str()).collect();
    if !real.is_empty() && hall.treasury().await?.wallet().is_none() {
        let names = real.join(", ");
        warn(&format!("nobody can pay for {names} yet: no wallet is connected. Run `guildhall wallet connect URL`"));
    }
    Ok(())
}

/// Makes sure that no other server uses the same home: a token that is revoked at one would still be valid for streams of the other.
fn lock(world: &World) -> Result<fs::File, Failure> {
    let file = world.paths.data.join(LOCK_FILE);
    let failed = |why: std::io::Error| Failure::failed(format!("{}: {why}", file.display()));
    create_private_dir(&world.paths.data).map_err(failed)?;
    let lock = open_lock(&file).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(Failure::temporary(format!(
            "another `guildhall serve` works in {}. Stop it, or set GUILDHALL_HOME to another directory",
            world.paths.data.display()
        ))),
        Err(fs::TryLockError::Error(why)) => Err(failed(why)),
    }
}

/// Checks the limits that depend on what the server can do.
fn check_limits(limits: &Limits) -> Result<(), String> {
    if limits.streams_max > STREAMS_MAX {
        return Err(format!("serve.streams is {}: at most {STREAMS_MAX} are possible", limits.streams_max));
    }
    if limits.invoice_sats_max == 0 {
        return Err("serve.invoice_max is below 1 sat, which would refuse every invoice".to_owned());
    }
    Ok(())
}

fn team_hall(hall: &Hall, project: &Path, roster: Roster, unpaid: &[AgentName]) -> Result<Hall, Failure> {
    Ok(hall.team(project, roster)?.without_fees(unpaid))
}

/// Reads the operator's token, or makes one that only this user can read.
fn operator_token(world: &World) -> Result<(Token, PathBuf), Failure> {
    let file = world.paths.data.join(TOKEN_FILE);
    let failed = |why: String| Failure::failed(format!("the file of the operator's token, {}: {why}", file.display()));
    match open_regular(&file, fs::OpenOptions::new().read(true)) {
        Ok(stored) => {
            require_private(&stored).map_err(failed)?;
            let mut text = String::new();
            stored.take(TOKEN_BYTES_MAX).read_to_string(&mut text).map_err(|why| failed(why.to_string()))?;
            let token = Token::parse(text.trim()).ok_or_else(|| {
                failed(
                    "this is not a token. Remove the file, and the next `guildhall serve` makes a new one".to_owned(),
                )
            })?;
            Ok((token, file))
        }
        Err(why) if why.kind() == ErrorKind::NotFound => {
            let token = Token::random().map_err(|why| failed(why.to_string()))?;
            let made = private_file().write(true).create_new(true).open(&file);
            let written = made.and_then(|mut made| writeln!(made, "{}", token.reveal()).and_then(|()| made.sync_all()));
            written.map_err(|why| failed(why.to_string()))?;
            Ok((token, file))
        }
        Err(why) => Err(failed(why.to_string())),
    }
}

/// Makes sure that only the user can read a file.
fn require_private(file: &fs::File) -> Result<(), String> {
    let mode = file.metadata().map_err(|why| why.to_string())?.permissions().mode();
    if mode & 0o077 != 0 {
        let why = "other users can read it. Remove the file, and the next `guildhall serve` makes a new one";
        return Err(why.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use guildhall_server::Limits;

    use super::limits;
    use crate::config::Config;
    use crate::config::serve::{Count, ServeConfig};

    #[test]
    fn the_documented_defaults_are_the_defaults() {
        let docs = include_str!("../../../../docs/serve.md");
        let block = docs.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let documented = limits(&Config::parse(block).unwrap().serve);
        assert_eq!(format!("{documented:?}"), format!("{:?}", Limits::default()));
    }

    #[test]
    fn the_config_changes_only_the_limits_that_it_names() {
        let config = ServeConfig { streams: Some(Count(7)), public_rate: Some(Count(3)), ..ServeConfig::default() };
        let (own, default) = (limits(&config), Limits::default());
        assert_eq!((own.streams_max, own.public.per_minute, own.public.burst), (7, 180, 30));
        assert_eq!((own.unpaid_max, own.client), (default.unpaid_max, default.client));
    }
}
