//! Lists the models of an OpenAI-compatible server: its answer to `GET /v1/models`. The program at the address may not be a model
//! server at all, so only a valid list is accepted, and the time limit is short.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::http::client::{http_client, root_cause};
use crate::http::endpoint::{BaseUrl, MODELS};

/// The most bytes of a list.
const LIST_BYTES_MAX: usize = 1024 * 1024;

/// The most models that are read from a list.
const LISTED_MAX: usize = 1000;

/// The longest name of a model, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// The pause before a server that is not ready is asked again.
const NOT_READY_WAIT: Duration = Duration::from_millis(50);

/// A model of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The name on the server: printable, on one line.
    pub name: String,
    /// The size of the model's window in tokens, if the server reports it.
    pub window: Option<u64>,
}

impl Served {
    /// Whether the model can chat, judging by its name: some models only compare texts.
    pub fn talks(&self) -> bool {
        let name = self.name.to_lowercase();
        !name.contains("embed") && !name.contains("rerank")
    }
}

/// Why there is no list of models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoList(String);

/// Asks a server for its list of models, within a total time limit. A server that is still loading its model is asked again until
/// the limit is reached.
pub async fn served(base_url: &BaseUrl, wait_max: Duration) -> Result<Vec<Served>, NoList> {
    let too_late = |_| NoList(format!("no list of models within {} ms", wait_max.as_millis()));
    let body = timeout(wait_max, body(base_url, wait_max)).await.map_err(too_late)??;
    listed(&body)
}

/// Returns the body of the server's answer.
async fn body(base_url: &BaseUrl, wait_max: Duration) -> Result<Vec<u8>, NoList> {
    let broken = |error: reqwest::Error| NoList(root_cause(&error));
    let http = http_client(base_url, wait_max).map_err(NoList)?;
    let mut response = loop {
        let request = http.get(base_url.method(MODELS));
        let request = request.header(ACCEPT, "application/json").header(ACCEPT_ENCODING, "identity");
        let response = request.send().await.map_err(broken)?;
        match response.status() {
            StatusCode::OK => break response,
            StatusCode::SERVICE_UNAVAILABLE => sleep(NOT_READY_WAIT).await,
            other => return Err(NoList(format!("HTTP {} instead of a list of models", other.as_u16()))),
        }
    };
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        body.extend_from_slice(&chunk);
        if body.len() > LIST_BYTES_MAX {
            return Err(NoList(format!("the list of models is larger than {LIST_BYTES_MAX} bytes")));
        }
    }
    Ok(body)
}

/// Reads a list. Invalid entries are ignored.
fn listed(body: &[u8]) -> Result<Vec<Served>, NoList> {
    let no_list = |why: &str| NoList(why.to_owned());
    let list: Value = serde_json::from_slice(body).map_err(|_| no_list("the answer is not JSON"))?;
    let entries = list["data"].as_array().ok_or_else(|| no_list("the answer is not a list of models"))?;
    let models = entries.iter().take(LISTED_MAX).filter_map(|entry| {
        let name = entry["id"].as_str().filter(|name| is_name(name))?;
        Some(Served { name: name.to_owned(), window: window(entry) })
    });
    let models: Vec<Served> = models.collect();
    if models.is_empty() { Err(no_list("the list of models is empty")) } else { Ok(models) }
}

/// Whether a name can be shown and typed: no control characters, no characters that change the text direction, no blanks at the ends.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.trim() == name && name.chars().all(is_plain)
}

/// Returns the size of the window, under the names of vLLM and llama.cpp. The size that the server was started with comes before
/// the size that the model was trained with.
fn window(entry: &Value) -> Option<u64> {
    let sizes = [&entry["max_model_len"], &entry["meta"]["n_ctx"], &entry["meta"]["n_ctx_train"]];
    sizes.into_iter().filter_map(Value::as_u64).find(|tokens| *tokens > 0)
}
