//! Requests that come again under the same idempotency key: they get the result of the first, and nothing happens twice.

use guildhall::kernel::Hash;
use guildhall::local::{JournalError, RequestKey, ServedError};
use guildhall::{HallError, SessionId};

use crate::app::App;
use crate::problem::Problem;

/// Returns the result of an earlier request under the same key, if there was one. Another request under that key is refused.
pub(crate) async fn earlier(
    app: &App,
    session: &SessionId,
    key: Option<RequestKey>,
) -> Result<Option<String>, Problem> {
    let Some(key) = key else { return Ok(None) };
    match app.journal().result_of(session, key.key).await? {
        Some((request, result)) => same_request(key, request, result).map(Some),
        None => Ok(None),
    }
}

fn same_request(key: RequestKey, request: Hash, result: String) -> Result<String, Problem> {
    if request == key.request {
        return Ok(result);
    }
    let detail = "This idempotency key was used before in this session, for another request. Use a new key.";
    Err(Problem::unprocessable("key_used", detail))
}

/// Returns the result of a request that was made at the same time under the same key, or the problem.
pub(crate) fn at_the_same_time(why: impl Into<HallError>, key: Option<RequestKey>) -> Result<String, Problem> {
    match (why.into(), key) {
        (HallError::Journal(JournalError::Served(ServedError::KeyUsed { request, result })), Some(key)) => {
            same_request(key, request, result)
        }
        (why, _) => Err(why.into()),
    }
}
