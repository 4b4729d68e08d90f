//! What to type instead of a model that can't be used here: the nearest name, or the key of the provider that sells the model.

use std::time::SystemTime;

use guildhall::providers::{ALIASES, NoPrice, sellers_of};
use guildhall::{ANTHROPIC, HallError, Models, ModelsError, OPENAI};

use crate::exit::Failure;
use crate::nearest::nearest;
use crate::world::REHEARSAL;

/// The failure of work whose model may have a wrong name.
pub(crate) fn failure(models: &Models, why: HallError) -> Failure {
    if let HallError::Models(of_model) = &why
        && let Some(advice) = advice(models, of_model)
    {
        return Failure::usage(advice);
    }
    why.into()
}

fn advice(models: &Models, why: &ModelsError) -> Option<String> {
    let (ModelsError::NoPrice(NoPrice { model, .. }) | ModelsError::Unclear { model, .. }) = why else { return None };
    if let Some(seller) = sellers_of(model).into_iter().find(|seller| models.sources().all(|own| own.name != **seller))
    {
        let set_up = match seller {
            ANTHROPIC => "set ANTHROPIC_API_KEY".to_owned(),
            OPENAI => "set OPENAI_API_KEY".to_owned(),
            other => format!(
                "add [providers.{other}] with its base_url and the variable with your key (key_env) to the config file \
                 (run `guildhall paths` to find the file)"
            ),
        };
        return Some(format!("the model {model:?} is sold by {seller}, which is not set up here: {set_up}"));
    }
    let listed = models.listed(SystemTime::now());
    let full = listed.iter().map(|listed| format!("{}/{}", listed.provider, listed.model)).collect::<Vec<_>>();
    let short = ALIASES.iter().map(|(alias, _)| *alias).chain([REHEARSAL]);
    let known = short.chain(listed.iter().map(|listed| listed.model.as_str())).chain(full.iter().map(String::as_str));
    nearest(model, known).map(|near| {
        format!("no model is named {model:?}. Did you mean {near}? To list the models, run: guildhall models")
    })
}
