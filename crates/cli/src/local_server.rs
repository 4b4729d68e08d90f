//! Model servers on this machine. They are searched on their default ports, announced, and used after the user has agreed. An
//! open port may belong to any program, so before that, the only request is the one for the list of models.

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

/// The provider name of such a server.
pub(crate) const LOCAL: &str = "local";

/// The window of a model whose server does not report it, in tokens: small enough for the default settings of such servers.
const WINDOW_TOKENS: u64 = 8192;

/// The shortest timeout for a server that the user agreed to: it is worth waiting for.
const AGREED_WAIT: Duration = Duration::from_secs(3);

/// The most models of a server that are named when it is announced.
const NAMED_MAX: usize = 3;

/// A server that answered, with the model to use.
struct Found {
    address: SocketAddrV4,
    model: Served,
    /// The names of all its chat models.
    names: Vec<String>,
}

impl Found {
    /// Reads a list of models. The first chat model is the one to use.
    fn of(address: SocketAddrV4, list: Vec<Served>) -> Option<Found> {
        let chat_models: Vec<Served> = list.into_iter().filter(Served::talks).collect();
        let names = chat_models.iter().map(|model| model.name.clone()).collect();
        chat_models.into_iter().next().map(|model| Found { address, model, names })
    }

    fn full_name(&self) -> String {
        format!("{LOCAL}/{}", self.model.name)
    }

    /// A short list of its models.
    fn named(&self) -> String {
        let named = self.names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        match self.names.len().saturating_sub(NAMED_MAX) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }

    /// The environment with this server, and the full name of its model.
    fn join(self, world: &World) -> (World, String) {
        let model = self.full_name();
        (world.with_local(source(self.address, self.model.window)), model)
    }
}

/// The provider for a server that the user agreed to.
pub(crate) fn source(address: SocketAddrV4, window: Option<u64>) -> Source {
    let window = Some(window.unwrap_or(WINDOW_TOKENS));
    // Small models rarely make valid tool calls except in JSON turns. A server without support for JSON schemas refuses the
    // request, and the call is made with tools.
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

/// Finds a server for a user who named no model and set nothing up. Returns the environment with the server, and its model.
pub(crate) async fn find(world: &World, given: Consent) -> Result<Option<(World, String)>, Failure> {
    for address in world.local.agreed() {
        match ask(address, world.local.wait_max().max(AGREED_WAIT)).await.map(|list| Found::of(address, list)) {
            Ok(Some(found)) => {
                let model = found.full_name();
                note(&format!(
                    "using the model server at {address}, as you agreed: {model}. It receives prompts and the contents of files"
                ));
                return Ok(Some(found.join(world)));
            }
            Ok(None) => warn_not_used(address, "it has no chat model"),
            Err(why) => warn_not_used(address, &why.to_string()),
        }
    }
    // The user is asked only about the first server that answers: a no ends the search, and a yes needs no other server.
    let Some(found) = ask_all(world.local.unknown(), world.local.wait_max()).await.into_iter().next() else {
        return Ok(None);
    };
    Ok(if agrees(world, &found, given)? { Some(found.join(world)) } else { None })
}

/// Asks the server that the user agreed to for the window of a model that was named.
pub(crate) async fn learn(world: &World, model: &str) -> World {
    let Some(name) = world.models.unalias(model).strip_prefix(LOCAL).and_then(|rest| rest.strip_prefix('/')) else {
        return world.clone();
    };
    if !world.has_local() {
        return world.clone();
    }
    for address in world.local.agreed() {
        // If the server does not answer now, the first model call gives the error.
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

/// Asks all addresses at the same time. Returns the servers that have a chat model, in the order of the addresses.
async fn ask_all(addresses: Vec<SocketAddrV4>, wait_max: Duration) -> Vec<Found> {
    let mut asked = JoinSet::new();
    for address in addresses.iter().copied() {
        asked.spawn(async move { (address, ask(address, wait_max).await) });
    }
    let mut found = Vec::new();
    while let Some(answered) = asked.join_next().await {
        let (address, list) = answered.expect("a question for models ends");
        // An error means another program on this port, or none. Most people have no such server, so this prints nothing.
        found.extend(list.ok().and_then(|list| Found::of(address, list)));
    }
    found.sort_by_key(|found| addresses.iter().position(|address| *address == found.address));
    found
}

fn warn_not_used(address: SocketAddrV4, why: &str) {
    say_in(WARN, &format!("not using the model server at {address}, which you agreed to: {why}"));
}

/// Announces a server and asks the user to agree. The answer is stored in the config.
fn agrees(world: &World, found: &Found, given: Consent) -> Result<bool, Failure> {
    let Found { address, .. } = found;
    say(&format!(
        "found a model server at {address}: {}. It would receive prompts and the contents of files",
        found.named()
    ));
    let config = &world.paths.config;
    let question = format!(
        "Use {} there, now and in later runs? The answer is stored in {}.",
        found.full_name(),
        config.display()
    );
    let agreed = match consent::to_use(&question, given)? {
        Consent::Given => true,
        Consent::Refused => false,
        Consent::NotAsked => {
            note("the server is not used until you agree: run this in a terminal, or add --yes");
            return Ok(false);
        }
    };
    let forget =
        format!("To be asked again, remove the [[local_server.answers]] entry for {address} from {}", config.display());
    match (remember(config, *address, agreed), agreed) {
        (Ok(()), true) => note(&format!("agreed: {} is used from now on. {forget}", found.full_name())),
        (Ok(()), false) => note(&format!("not agreed: no model server is searched from now on. {forget}")),
        (Err(why), _) => {
            say_in(
                WARN,
                &format!(
                    "the answer applies only to this run, because it can't be added to {}: {why}",
                    config.display()
                ),
            );
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
    fn the_first_chat_model_is_used() {
        let several = found(&["nomic-embed-text", "a", "bge-reranker", "b", "c", "d", "e"]).unwrap();
        assert_eq!((several.full_name().as_str(), several.named().as_str()), ("local/a", "a, b, c and 2 more"));
        assert!(found(&["nomic-embed-text"]).is_none() && found(&[]).is_none());
    }

    #[test]
    fn a_window_that_is_not_reported_is_assumed_to_be_small() {
        let window = |reported| source(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1), reported).window;
        assert_eq!((window(None), window(Some(32768))), (Some(8192), Some(32768)));
    }
}
