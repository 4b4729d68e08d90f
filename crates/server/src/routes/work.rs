//! Requests for work, and what steers work that runs.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use guildhall::kernel::{Path, Refusal};
use guildhall::local::RequestKey;
use guildhall::{Ending, HallError, Instruction, SessionId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{Caller, LimitedOwner, Owner};
use crate::input::{Input, Key};
use crate::problem::{Problem, WriteProblems, too_little_for_request};
use crate::replay::{at_the_same_time, earlier};
use crate::routes::offers::{amount, priced};

/// The longest task.
const TASK_BYTES_MAX: usize = 64 * 1024;

/// A request for work.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRequest {
    /// What to do, at most 64 KiB.
    #[schema(example = "Why is the payment API failing?", min_length = 1, max_length = 65_536)]
    task: String,
    /// The most that it may cost. It comes out of the session's free money. Without it, all free money.
    #[serde(default)]
    #[schema(example = 200, minimum = 1, maximum = 1_000_000_000_000_u64)]
    budget_sats: Option<u64>,
}

/// A request that was taken.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RequestTaken {
    /// The root contract that works on it.
    #[schema(example = "1")]
    root: String,
}

/// Asks the team to do something. One request at a time.
#[utoipa::path(post, path = "/api/sessions/{id}/requests", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), Key),
    request_body = NewRequest, responses((status = 202, body = RequestTaken, description = "The request is stored, and the team begins"), WriteProblems))]
pub(crate) async fn request(
    State(app): State<App>,
    LimitedOwner { session, caller }: LimitedOwner,
    key: Key,
    Input(new): Input<NewRequest>,
) -> Result<(StatusCode, Json<RequestTaken>), Problem> {
    let key = key.of("requests", &new);
    if let Some(root) = earlier(&app, &session, key).await? {
        app.load(&session).await;
        return Ok(taken(root));
    }
    if new.task.trim().is_empty() {
        return Err(Problem::unprocessable("task", "The task is empty."));
    }
    if new.task.len() > TASK_BYTES_MAX {
        let detail = format!("The task has {} bytes, but at most {TASK_BYTES_MAX} are allowed.", new.task.len());
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", detail));
    }
    let budget = new.budget_sats.map(amount).transpose()?;
    let offer = app.offer_of(&session).await?;
    let account = app.journal().folded_account(&session).await?;
    if offer.needs_operator_for(account.kind()) && caller != Caller::Operator {
        return Err(priced());
    }
    let Some(_place) = app.take_work() else {
        let detail = "As many requests are at work as this server takes at the same time. Try again later.";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_much_work", detail).retry_after(10));
    };
    let work = offer.work(new.task);
    // Later requests of a session continue the conversation.
    let work =
        if account.next_root() == Path::root(1) { work.within(session.clone()) } else { work.after(session.clone()) };
    let work = match budget {
        Some(budget) => work.budget(budget),
        None => work,
    };
    let work = match key {
        Some(key) => work.key(key),
        None => work,
    };
    let why = match app.keeper().start(work).await {
        Ok(started) => return Ok(taken(started.root.to_string())),
        Err(why) => why,
    };
    // The same request may have come twice at the same time, and the session is busy with it.
    if let Some(root) = earlier(&app, &session, key).await? {
        return Ok(taken(root));
    }
    if let HallError::Refused(Refusal::Money { minimum, .. }) = &why
        && account.free() < *minimum
    {
        return Err(too_little_for_request(account.free(), *minimum));
    }
    Err(why.into())
}

fn taken(root: String) -> (StatusCode, Json<RequestTaken>) {
    (StatusCode::ACCEPTED, Json(RequestTaken { root }))
}

/// An instruction that was taken.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OrderTaken {
    /// Its number. The fact that follows from it names this number as `command`.
    order: u64,
}

fn ordered(order: u64) -> (StatusCode, Json<OrderTaken>) {
    (StatusCode::ACCEPTED, Json(OrderTaken { order }))
}

/// How work ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    /// At once, without a report from the model.
    #[default]
    Cancel,
    /// With one last report, which is paid for.
    WrapUp,
}

/// The work to stop.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    /// The contract. Without it, the whole request.
    #[serde(default)]
    #[schema(example = "1.2", max_length = 400)]
    contract: Option<String>,
    /// How it ends. Without it, `cancel`.
    #[serde(default)]
    how: How,
}

/// Stops a contract and everyone it hired, or the whole request.
#[utoipa::path(post, path = "/api/sessions/{id}/stop", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), Key),
    request_body = Stop, responses((status = 202, body = OrderTaken, description = "The instruction is stored"), WriteProblems))]
pub(crate) async fn stop(
    State(app): State<App>,
    Owner { session, .. }: Owner,
    key: Key,
    Input(stop): Input<Stop>,
) -> Result<(StatusCode, Json<OrderTaken>), Problem> {
    let key = key.of("stop", &stop);
    let how = match stop.how {
        How::Cancel => Ending::Cancel,
        How::WrapUp => Ending::WrapUp,
    };
    instruct(&app, &session, stop.contract.as_deref(), Instruction::End(how), key).await
}

/// A message to an agent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// The contract. Without it, the root.
    #[serde(default)]
    #[schema(example = "1.2", max_length = 400)]
    contract: Option<String>,
    /// What to tell it.
    #[schema(example = "Look at the log of yesterday, too.", min_length = 1, max_length = 65_536)]
    text: String,
}

/// Tells an agent something. It reads the message in its next turn.
#[utoipa::path(post, path = "/api/sessions/{id}/message", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), Key),
    request_body = Message, responses((status = 202, body = OrderTaken, description = "The instruction is stored"), WriteProblems))]
pub(crate) async fn message(
    State(app): State<App>,
    LimitedOwner { session, .. }: LimitedOwner,
    key: Key,
    Input(message): Input<Message>,
) -> Result<(StatusCode, Json<OrderTaken>), Problem> {
    let key = key.of("message", &message);
    if message.text.trim().is_empty() {
        return Err(Problem::unprocessable("text", "The message is empty."));
    }
    instruct(&app, &session, message.contract.as_deref(), Instruction::Message(message.text), key).await
}

/// More money for running work.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopUp {
    /// The contract. Without it, the root.
    #[serde(default)]
    #[schema(example = "1.2", max_length = 400)]
    contract: Option<String>,
    /// The amount. It comes out of the session's free money.
    #[schema(example = 100, minimum = 1, maximum = 1_000_000_000_000_u64)]
    amount_sats: u64,
}

/// Gives a contract more of the session's free money.
#[utoipa::path(post, path = "/api/sessions/{id}/topup", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"), Key),
    request_body = TopUp, responses((status = 202, body = OrderTaken, description = "The instruction is stored"), WriteProblems))]
pub(crate) async fn top_up(
    State(app): State<App>,
    LimitedOwner { session, caller }: LimitedOwner,
    key: Key,
    Input(more): Input<TopUp>,
) -> Result<(StatusCode, Json<OrderTaken>), Problem> {
    let key = key.of("topup", &more);
    if let Some(order) = earlier_order(&app, &session, key).await? {
        return Ok(ordered(order));
    }
    let money = amount(more.amount_sats)?;
    let kind = app.journal().folded_account(&session).await?.kind().clone();
    if app.offer_of(&session).await?.needs_operator_for(&kind) && caller != Caller::Operator {
        return Err(priced());
    }
    instruct(&app, &session, more.contract.as_deref(), Instruction::Grant(money), key).await
}

/// Sends an instruction to a contract, or to the newest root.
async fn instruct(
    app: &App,
    session: &SessionId,
    contract: Option<&str>,
    what: Instruction,
    key: Option<RequestKey>,
) -> Result<(StatusCode, Json<OrderTaken>), Problem> {
    if let Some(order) = earlier_order(app, session, key).await? {
        return Ok(ordered(order));
    }
    let hall = app.hall_for(session, &what).await?;
    let to = match contract {
        Some(contract) => contract.parse().map_err(|_| Problem::not_found("There is no such contract."))?,
        None => hall.root(session).await?,
    };
    match app.keeper().instruct_once(hall, session, &to, what, key).await {
        Ok(order) => Ok(ordered(order)),
        Err(why) => at_the_same_time(why, key)?.parse().map_err(Problem::internal).map(ordered),
    }
}

/// Returns the number of an earlier instruction under the same key, and makes sure that the session reads it.
async fn earlier_order(app: &App, session: &SessionId, key: Option<RequestKey>) -> Result<Option<u64>, Problem> {
    let Some(result) = earlier(app, session, key).await? else { return Ok(None) };
    app.load(session).await;
    result.parse().map(Some).map_err(Problem::internal)
}
