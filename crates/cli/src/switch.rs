//! A conversation that goes on with another model (`/model NAME`) or from the beginning (`/clear`): the first agent's contract ends,
//! and the next message opens the session's next root with the money that is left.

use std::time::{Duration, SystemTime};

use guildhall::kernel::Msat;
use guildhall::{Ended, Hall, HallError, Models, Paid, Undertaking};

use crate::consent::{self, Consent};
use crate::exit::Failure;
use crate::print::{WARN, note, say, say_in};
use crate::talk::{Command, HELP, Lines, Typed, unknown};
use crate::unknown_model;
use crate::watch::{NOT_TEXT, TOO_LONG};
use crate::world::World;

/// What the next root of a conversation has of the root before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Conversation,
    Nothing,
}

/// How a conversation goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    /// The model that the person named. Without a name, the model stays.
    pub(crate) model: Option<String>,
    pub(crate) keeps: Keeps,
}

impl Switch {
    pub(crate) fn to_model(model: String) -> Switch {
        Switch { model: Some(model), keeps: Keeps::Conversation }
    }

    pub(crate) fn clear() -> Switch {
        Switch { model: None, keeps: Keeps::Nothing }
    }

    /// Both switches, one after the other.
    pub(crate) fn then(self, next: Switch) -> Switch {
        let keeps = match (self.keeps, next.keeps) {
            (Keeps::Conversation, Keeps::Conversation) => Keeps::Conversation,
            (Keeps::Nothing, _) | (_, Keeps::Nothing) => Keeps::Nothing,
        };
        Switch { model: next.model.or(self.model), keeps }
    }
}

/// What a person may use in a conversation: the models of this machine, and whether spending real money was agreed to in advance.
pub(crate) struct Permissions {
    pub(crate) world: World,
    pub(crate) given: Consent,
}

impl Permissions {
    /// Makes sure that a model can be used, and returns its full name. No question is asked here, because the person is typing.
    pub(crate) fn check(&self, models: &Models, typed: &str) -> Result<String, Failure> {
        let found = models.find(Some(typed)).and_then(|found| models.lock(&found, SystemTime::now()).map(|_| found));
        let found = found.map_err(|why| unknown_model::failure(models, why.into()))?;
        let name = found.to_string();
        self.world.need_keys([&name.as_str()])?;
        match models.paid(&found) {
            Paid::Provider if !consent::is_given(&self.world.paths.data, self.given) => Err(Failure::refused(format!(
                "{name} costs real money, and nothing here has spent any yet. To agree, end the conversation with /exit \
                 and start it with --model {typed}"
            ))),
            Paid::Provider | Paid::Nobody => Ok(name),
        }
    }
}

/// The person's next step before an agent is at work.
pub(crate) enum First {
    Message(String),
    Switch(Switch),
    Over,
}

/// Waits for the first message, and answers commands until then. `model` is the agent's model.
pub(crate) async fn first(
    lines: &mut Lines,
    permissions: &Permissions,
    models: &Models,
    model: &str,
) -> Result<First, Failure> {
    loop {
        lines.invite();
        match lines.next().await {
            Typed::Words(words) => return Ok(First::Message(words)),
            Typed::Command(Command::Help) => say(HELP),
            Typed::Command(Command::Cost | Command::Agents) => note("no agent is at work now"),
            Typed::Command(Command::Model(None)) => say_model(model),
            Typed::Command(Command::Model(Some(typed))) => match permissions.check(models, &typed) {
                Ok(name) => {
                    note(&format!("the model is {name} from now on"));
                    return Ok(First::Switch(Switch::to_model(typed)));
                }
                Err(why) => say_in(WARN, &why.to_string()),
            },
            Typed::Command(Command::Clear) => {
                note("the agent starts without an earlier conversation");
                return Ok(First::Switch(Switch::clear()));
            }
            Typed::Command(Command::Unknown(typed)) => unknown(&typed),
            Typed::TooLong => say_in(WARN, TOO_LONG),
            Typed::NotText => say_in(WARN, NOT_TEXT),
            Typed::Unreadable(why) => return Err(Failure::usage(format!("stdin can't be read: {why}"))),
            Typed::Over => return Ok(First::Over),
        }
    }
}

/// Says which model the agent has.
pub(crate) fn say_model(model: &str) {
    say(&format!("the model is {model}. To change it, type /model NAME. `guildhall models` lists the names"));
}

/// The money that a root has left for the next one.
pub(crate) fn left(ended: &Ended) -> Msat {
    ended.report.change
}

/// Describes the next root of a conversation: the same agents and limits, with the money, the time and the tokens that are left.
pub(crate) async fn next_root(
    hall: &Hall,
    ended: &Ended,
    switch: &Switch,
    message: String,
) -> Result<Undertaking, HallError> {
    let (id, setup) = (&ended.session, &ended.setup);
    let grant = &setup.brief.grant;
    let mut work = hall.run(message).after(id.clone()).open().budget(left(ended)).turns_max(setup.brief.turns_max);
    if setup.brief.hiring.is_some() {
        work = work.heads_max(grant.heads.0).depth_max(grant.depth);
    }
    if let Some(deadline) = grant.deadline {
        let now = hall.journal().newest_time(id).await?;
        work = work.time_max(Duration::from_millis(deadline.0.saturating_sub(now.0).max(1)));
    }
    if let Some(tokens) = setup.tokens_max {
        work = work.tokens_max(tokens.saturating_sub(ended.bill.tokens()).max(1));
    }
    if setup.allow_overrun {
        work = work.allow_overrun();
    }
    if let Some(model) = &switch.model {
        work = work.model(model);
    }
    Ok(match switch.keeps {
        Keeps::Conversation => work,
        Keeps::Nothing => work.forgetting(),
    })
}
