//! What a caller sends: JSON of limited size, without unknown fields, and an optional idempotency key.

use std::error::Error;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use guildhall::kernel::Hash;
use guildhall::local::{RequestKey, hash_text};
use http_body_util::LengthLimitError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::timeout;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::problem::Problem;

/// The longest body of a request.
pub(crate) const BODY_BYTES_MAX: usize = 256 * 1024;

/// How long a client may take to send the body of a request.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The longest idempotency key.
const KEY_BYTES_MAX: usize = 255;

/// The header of an idempotency key.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The JSON body of a request.
pub(crate) struct Input<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Input<T>, Problem> {
        if !is_json(&request) {
            let detail = "The body must be JSON, with the header `Content-Type: application/json`.";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail));
        }
        let bytes = read(request.into_body()).await?;
        let not_json = |why| Problem::bad_request(format!("The body is not valid JSON: {why}."));
        // A list would be taken for the fields of an object.
        let Value::Object(mut body) = serde_json::from_slice(&bytes).map_err(not_json)? else {
            return Err(Problem::unprocessable("invalid", "The body has the wrong form: it is not a JSON object."));
        };
        write_integers(&mut body);
        let invalid = |why| Problem::unprocessable("invalid", format!("The body has the wrong form: {why}."));
        T::deserialize(body).map(Input).map_err(invalid)
    }
}

/// Writes `5.0` as `5`: in JSON both are the same number, and some programs write an amount with a fraction of zero.
fn write_integers(body: &mut Map<String, Value>) {
    for field in body.values_mut().filter(|field| field.is_f64()) {
        let text = field.as_f64().filter(|float| float.fract() == 0.0).map(|float| format!("{float:.0}"));
        if let Some(whole) = text.and_then(|text| text.parse::<u64>().ok()) {
            *field = whole.into();
        }
    }
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn read(body: Body) -> Result<axum::body::Bytes, Problem> {
    let Ok(read) = timeout(BODY_TIME_MAX, to_bytes(body, BODY_BYTES_MAX)).await else {
        let detail = "The body did not arrive in time.";
        return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail));
    };
    read.map_err(|why| {
        if why.source().is_some_and(<dyn Error>::is::<LengthLimitError>) {
            let detail = format!("The body has more than {BODY_BYTES_MAX} bytes.");
            return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail);
        }
        Problem::bad_request("The body could not be read: it broke off, or its transfer encoding is wrong.")
    })
}

/// The idempotency key of a request, if it has one.
pub(crate) struct Key(Option<Hash>);

impl<S: Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Key, Problem> {
        let mut keys = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(key) = keys.next() else { return Ok(Key(None)) };
        let key = key.as_bytes();
        let is_valid = (1..=KEY_BYTES_MAX).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
        if !is_valid || keys.next().is_some() {
            let detail =
                format!("An idempotency key has 1 to {KEY_BYTES_MAX} visible ASCII characters, and comes once.");
            return Err(Problem::bad_request(detail));
        }
        Ok(Key(Some(hash_text(key))))
    }
}

impl IntoParams for Key {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        let text = text.min_length(Some(1)).max_length(Some(KEY_BYTES_MAX)).pattern(Some("^[!-~]+$"));
        let header = ParameterBuilder::new().name("Idempotency-Key").parameter_in(ParameterIn::Header);
        let what = "The same key with the same body has its effect once";
        vec![header.description(Some(what)).schema(Some(text)).build()]
    }
}

impl Key {
    /// Returns the key for a request: the same key can't be used for something else.
    pub(crate) fn of(&self, route: &str, body: &impl Serialize) -> Option<RequestKey> {
        let asked = serde_json::to_string(&(route, body)).expect("the body of a request is JSON");
        self.0.map(|key| RequestKey { key, request: hash_text(asked.as_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::write_integers;

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_of_zero() {
        let check = |written: Value, read: Value| {
            let Value::Object(mut body) = json!({"amount_sats": written}) else { panic!("an object") };
            write_integers(&mut body);
            assert_eq!(body["amount_sats"], read);
        };
        check(json!(5.0), json!(5));
        check(json!(2.1e15), json!(2_100_000_000_000_000_u64));
        for same in [json!(5), json!(5.5), json!(-1.0), json!(1e30), json!("5.0"), json!(null)] {
            check(same.clone(), same);
        }
    }
}
