//! Model servers on this machine: looked for where they usually listen, announced, and used once the user has agreed. A port
//! proves nothing about who listens there, so until then nothing is sent but the question which models it has.

use std::net::SocketAddrV4;
use std::time::Duration;

use guildhall::agent::{CallFormat, Wire};
use guildhall::providers::{BaseUrl, NoList, Served, served};
use guildhall::{Naming, Source};
use tokio::task::JoinSet;

use crate::config::local_server::remember;
use crate::consent::{self, Consent};
use crate::exit::Failure;
use crate::print::{WARN, note, say, say_in};
use crate::world::World;

/// The name that such a server goes by.
pub(crate) const LOCAL: &str = "local";

/// What a model is shown of where its server does not say what it can be shown, in tokens: small enough for the settings
/// that such servers start with.
const WINDOW_TOKENS: u64 = 8192;

/// How long a server that the user agreed to may take at least: it is worth waiting for.
const AGREED_WAIT: Duration = Duration::from_secs(3);

/// How many models of a server are named when it is announced.
const NAMED_MAX: usize = 3;

/// A server that answered, with the model that would be used.
struct Found {
    address: SocketAddrV4,
    model: Served,
    /// The names of all that can be talked to.
    names: Vec<String>,
}

impl Found {
    /// Reads a list: the first model that can be talked to is the one that would be used.
    fn of(address: SocketAddrV4, list: Vec<Served>) -> Option<Found> {
        let talking: Vec<Served> = list.into_iter().filter(Served::talks).collect();
        let names = talking.iter().map(|model| model.name.clone()).collect();
        talking.into_iter().next().map(|model| Found { address, model, names })
    }

    fn full_name(&self) -> String {
        format!("{LOCAL}/{}", self.model.name)
    }

    /// Its models in a few words.
    fn named(&self) -> String {
        let named = self.names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        match self.names.len().saturating_sub(NAMED_MAX) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }

    /// The world with it, and its model by its full name.
    fn join(self, world: &World) -> (World, String) {
        let model = self.full_name();
        (world.with_local(source(self.address, self.model.window)), model)
    }
}

/// Describes a server that the user agreed to.
pub(crate) fn source(address: SocketAddrV4, window: Option<u64>) -> Source {
    let window = Some(window.unwrap_or(WINDOW_TOKENS));
    // Small models make valid calls in JSON turns, and seldom otherwise. A server that can't hold them to it says so.
    Source {
        window,
        naming: Naming::Full,
        calls: CallFormat::Json,
        ..Source::new(LOCAL, Wire::OpenAi, base_url(address), None)
    }
}

fn base_url(address: SocketAddrV4) -> BaseUrl {
    BaseUrl::parse(&format!("http://{address}/v1")).expect("an address makes a URL")
}

/// Finds the server for somebody who named no model and set nothing up, and returns the world with it and its model.
pub(crate) async fn find(world: &World, said: Consent) -> Result<Option<(World, String)>, Failure> {
    for address in world.local.agreed() {
        match ask(address, world.local.wait_max().max(AGREED_WAIT)).await.map(|list| Found::of(address, list)) {
            Ok(Some(found)) => {
                let model = found.full_name();
                note(&format!(
                    "the model server at {address} is used, as agreed: {model}. Prompts and the contents of files go to it"
                ));
                return Ok(Some(found.join(world)));
            }
            Ok(None) => missed(address, "it has no model that can be talked to"),
            Err(why) => missed(address, &why.to_string()),
        }
    }
    // The first that answers is asked about: a no ends all looking, and a yes needs no other.
    let Some(found) = ask_all(world.local.unknown(), world.local.wait_max()).await.into_iter().next() else {
        return Ok(None);
    };
    Ok(if agrees(world, &found, said)? { Some(found.join(world)) } else { None })
}

/// Learns what the server that the user agreed to says about a model of its, which was named.
pub(crate) async fn learn(world: &World, model: &str) -> World {
    let Some(name) = world.models.unalias(model).strip_prefix(LOCAL).and_then(|rest| rest.strip_prefix('/')) else {
        return world.clone();
    };
    if !world.has_local() {
        return world.clone();
    }
    for address in world.local.agreed() {
        // One that does not answer now is told of when it is asked for a reply.
        let list = ask(address, world.local.wait_max().max(AGREED_WAIT)).await.unwrap_or_default();
        if let Some(model) = list.into_iter().find(|model| model.name == name) {
            return world.with_local(source(address, model.window));
        }
    }
    world.clone()
}

async fn ask(address: SocketAddrV4, wait_max: Duration) -> Result<Vec<Served>, NoList> {
    served(&base_url(address), wait_max).await
}

/// Asks all of them at the same time. Those that have a model are returned in the order of the addresses.
async fn ask_all(addresses: Vec<SocketAddrV4>, wait_max: Duration) -> Vec<Found> {
    let mut asked = JoinSet::new();
    for address in addresses.iter().copied() {
        asked.spawn(async move { (address, ask(address, wait_max).await) });
    }
    let mut found = Vec::new();
    while let Some(answered) = asked.join_next().await {
        let (address, list) = answered.expect("a question for models ends");
        // Whatever else listens on these ports, or nobody: most people have no such server, and are told nothing.
        found.extend(list.ok().and_then(|list| Found::of(address, list)));
    }
    found.sort_by_key(|found| addresses.iter().position(|address| *address == found.address));
    found
}

fn missed(address: SocketAddrV4, why: &str) {
    say_in(WARN, &format!("the model server at {address}, which you agreed to, is not used: {why}"));
}

/// Announces a server, and makes sure that the user agrees. The answer is remembered.
fn agrees(world: &World, found: &Found, said: Consent) -> Result<bool, Failure> {
    let Found { address, .. } = found;
    say(&format!(
        "a model server answers at {address}: {}. Prompts and the contents of files would go to it",
        found.named()
    ));
    let config = &world.paths.config;
    let question =
        format!("Use {} there, now and later? The answer is kept in {}.", found.full_name(), config.display());
    let agreed = match consent::to_use(&question, said)? {
        Consent::Given => true,
        Consent::Refused => false,
        Consent::NotAsked => {
            note("it is not used before you agree: in a terminal you are asked, elsewhere --yes agrees");
            return Ok(false);
        }
    };
    let forget = format!("to be asked again, take the answer out of {}", config.display());
    match (remember(config, *address, agreed), agreed) {
        (Ok(()), true) => note(&format!("agreed: {} is used from now on; {forget}", found.full_name())),
        (Ok(()), false) => note(&format!("not agreed: it is not asked again; {forget}")),
        (Err(why), _) => {
            say_in(WARN, &format!("the answer counts only this time: {} can't be added to: {why}", config.display()));
        }
    }
    Ok(agreed)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};

    use guildhall::providers::Served;

    use super::{Found, source};

    fn found(names: &[&str]) -> Option<Found> {
        let list = names.iter().map(|name| Served { name: (*name).to_owned(), window: None });
        Found::of(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1), list.collect())
    }

    #[test]
    fn the_first_model_that_talks_is_the_one_that_is_used() {
        let several = found(&["nomic-embed-text", "a", "bge-reranker", "b", "c", "d", "e"]).unwrap();
        assert_eq!((several.full_name().as_str(), several.named().as_str()), ("local/a", "a, b, c and 2 more"));
        assert!(found(&["nomic-embed-text"]).is_none() && found(&[]).is_none());
    }

    #[test]
    fn a_window_that_nobody_says_is_taken_to_be_small() {
        let window = |said| source(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1), said).window;
        assert_eq!((window(None), window(Some(32768))), (Some(8192), Some(32768)));
    }
}
