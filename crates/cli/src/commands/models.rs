//! `models`: lists the models and their prices.

use std::time::SystemTime;

use guildhall::REHEARSAL_LABEL;
use guildhall::providers::{ALIASES, LOCAL_PRICE, Listed, REHEARSAL_PRICE, Usd};
use serde_json::{Value, json};

use crate::amount::at_rate;
use crate::args::{ModelsArgs, Output};
use crate::commands::out_json;
use crate::exit::{Exit, Failure};
use crate::print::{NotWritten, note, out};
use crate::world::{REHEARSAL, World};

/// Lists the models.
pub(crate) fn models(world: &World, args: &ModelsArgs) -> Result<Exit, Failure> {
    let wanted = args.filter.as_deref().unwrap_or_default();
    let mut listed = world.models.listed(SystemTime::now());
    listed.retain(|listed| format!("{}/{}", listed.provider, listed.model).contains(wanted));
    match args.output.output {
        Output::Json => out_json(&listed.iter().map(|listed| json_line(world, listed)).collect::<Vec<_>>())?,
        Output::Text => text(world, &listed)?,
    }
    Ok(Exit::Done)
}

fn text(world: &World, listed: &[Listed]) -> Result<(), NotWritten> {
    let sats = |usd: Usd| world.models.rate().usd_per_btc.to_msat(usd).get() / 1000;
    for Listed { provider, model, price, window } in listed {
        let name = format!("{provider}/{model}");
        let window = window.map_or_else(String::new, |tokens| format!("  {}k", tokens / 1000));
        let both = |usd: Usd| format!("{:>8} = {:>7} sat", usd.to_string(), sats(usd));
        out(&format!("{name:<48} in {}, out {}{window}", both(price.input), both(price.output)))?;
    }
    if listed.is_empty() {
        note("no model of a provider that is set up matches");
    }
    note(&format!("per million tokens, {}", at_rate(world.models.rate())));
    let play = |usd: Usd| format!("{} sat", sats(usd));
    note(&format!(
        "{REHEARSAL} is always available ({REHEARSAL_LABEL}): free; against the budget count {} per million bytes of input and {} per million bytes of output",
        play(REHEARSAL_PRICE.input),
        play(REHEARSAL_PRICE.output)
    ));
    for (alias, model) in ALIASES {
        note(&format!("{alias} is {model}"));
    }
    let sources: Vec<String> =
        world.models.sources().map(|source| format!("{} ({})", source.name, source.base_url.as_str())).collect();
    if sources.is_empty() {
        note(
            "no provider is set up: set ANTHROPIC_API_KEY, OPENAI_API_KEY or OLLAMA_HOST, or add a provider to the config file (run `guildhall paths` to find the file)",
        );
    } else {
        note(&format!("providers: {}", sources.join(", ")));
        note(&format!(
            "a server on this machine without a key counts as {} in, {} out",
            LOCAL_PRICE.input, LOCAL_PRICE.output
        ));
    }
    Ok(())
}

fn json_line(world: &World, listed: &Listed) -> Value {
    let msat = |usd| world.models.rate().usd_per_btc.to_msat(usd);
    json!({
        "provider": listed.provider,
        "model": listed.model,
        "window": listed.window,
        "usd_per_million": {"input": listed.price.input, "output": listed.price.output,
            "cache_read": listed.price.cache_read, "cache_write": listed.price.cache_write},
        "msat_per_million": {"input": msat(listed.price.input), "output": msat(listed.price.output)},
    })
}
