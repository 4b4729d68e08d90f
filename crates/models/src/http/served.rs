//! Which models a server has: what an OpenAI-compatible one answers to `GET /v1/models`. The program that
//! listens there may be no model server at all, so nothing but such a list is taken from its answer, and the wait is short.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::http::client::{connectable, root_cause};
use crate::http::endpoint::{BaseUrl, MODELS};

/// The most bytes of a list.
const LIST_BYTES_MAX: usize = 1024 * 1024;

/// The most models of a list that are taken.
const LISTED_MAX: usize = 1000;

/// The longest name of a model, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// How long to leave a server in peace that says that it is not ready.
const NOT_READY_WAIT: Duration = Duration::from_millis(50);

/// A model that a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its name there: printable, on one line.
    pub name: String,
    /// How many tokens it can be shown, if the server says.
    pub window: Option<u64>,
}

impl Served {
    /// Whether it can be talked to, as far as its name tells: some models only compare texts.
    pub fn talks(&self) -> bool {
        let name = self.name.to_lowercase();
        !name.contains("embed") && !name.contains("rerank")
    }
}

/// Says why a server has no list of models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NoList {
    why: String,
}

impl NoList {
    fn new(why: impl Into<String>) -> NoList {
        NoList { why: why.into() }
    }
}

/// Asks a server which models it has, within a total time limit. A server that is still loading its model is asked again until
/// the limit is reached.
pub async fn served(base_url: &BaseUrl, wait_max: Duration) -> Result<Vec<Served>, NoList> {
    let silent = |_| NoList::new(format!("no list of models within {} ms", wait_max.as_millis()));
    let body = timeout(wait_max, body(base_url, wait_max)).await.map_err(silent)??;
    listed(&body)
}

/// The body of its answer.
async fn body(base_url: &BaseUrl, wait_max: Duration) -> Result<Vec<u8>, NoList> {
    let broken = |error: reqwest::Error| NoList::new(root_cause(&error));
    let http = connectable(base_url, wait_max).map_err(NoList::new)?;
    let mut response = loop {
        let request = http.get(base_url.method(MODELS));
        let request = request.header(ACCEPT, "application/json").header(ACCEPT_ENCODING, "identity");
        let response = request.send().await.map_err(broken)?;
        match response.status() {
            StatusCode::OK => break response,
            StatusCode::SERVICE_UNAVAILABLE => sleep(NOT_READY_WAIT).await,
            other => return Err(NoList::new(format!("HTTP {} instead of a list of models", other.as_u16()))),
        }
    };
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        body.extend_from_slice(&chunk);
        if body.len() > LIST_BYTES_MAX {
            return Err(NoList::new(format!("a list of more than {LIST_BYTES_MAX} bytes")));
        }
    }
    Ok(body)
}

/// Reads a list. An entry that is none is left out.
fn listed(body: &[u8]) -> Result<Vec<Served>, NoList> {
    let list: Value = serde_json::from_slice(body).map_err(|_| NoList::new("no JSON instead of a list of models"))?;
    let Some(entries) = list["data"].as_array() else { return Err(NoList::new("JSON that is no list of models")) };
    let models = entries.iter().take(LISTED_MAX).filter_map(|entry| {
        let name = entry["id"].as_str().filter(|name| is_name(name))?;
        Some(Served { name: name.to_owned(), window: window(entry) })
    });
    let models: Vec<Served> = models.collect();
    if models.is_empty() { Err(NoList::new("a list without models")) } else { Ok(models) }
}

/// Whether a name can be shown and typed: no control characters, none that turn text around, no blanks at its ends.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.trim() == name && name.chars().all(is_plain)
}

/// The window, by the names that vLLM and llama.cpp have for it. What a server was started with counts more than what its
/// model was trained with.
fn window(entry: &Value) -> Option<u64> {
    let said = [&entry["max_model_len"], &entry["meta"]["n_ctx"], &entry["meta"]["n_ctx_train"]];
    said.into_iter().filter_map(Value::as_u64).find(|tokens| *tokens > 0)
}
