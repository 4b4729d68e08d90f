//! The log: a JSON line for each request, for each answer, and for the end of each answer, so that tests can check what was
//! really sent. The log never contains a key. The README explains the fields.
#![allow(missing_docs, reason = "a field whose name says everything has no comment")]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Entry {
    /// A request was received.
    Request {
        request: u64,
        connection: u64,
        at_us: u64,
        method: String,
        path: String,
        /// The headers. The value of a secret header is replaced: `<expected key>`, `<other key>`, or `<secret>`.
        headers: BTreeMap<String, String>,
        /// The body as JSON, or as a string if the body is not JSON.
        body: Value,
    },
    /// The server decided how to answer a request.
    Answer {
        request: u64,
        /// The rule that answers, from 0; absent when no rule did.
        rule: Option<usize>,
        #[serde(rename = "said")]
        kind: AnswerKind,
        status: Option<u16>,
        request_key: Option<String>,
        /// How many times requests with this key were executed; replayed answers don't count.
        executions: u64,
        /// The tokens of an executed turn, whatever its reply reports; absent for every other answer.
        tokens: Option<Tokens>,
    },
    /// The server finished or broke off an answer.
    End { request: u64, at_us: u64, bytes: u64, ending: Ending },
    /// A line was read from stdin. All answers that were decided before it are above it in the log.
    Mark { mark: String },
}

/// The tokens of a turn: one for every four bytes of the request and of the reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// A turn of the model: an execution.
    Reply,
    /// The reply that an earlier request with the same key got.
    Replayed,
    /// A fault or a refusal: nothing was executed.
    Fault,
    Models,
    NoRule,
    /// The real provider would refuse the request.
    BadRequest,
    /// An earlier request with the same key had another body.
    KeyReused,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The complete answer was written to the connection.
    Sent,
    /// The script reset the connection.
    Reset,
    /// The script closed the connection.
    Closed,
    /// The client closed the connection first.
    HungUp,
}

impl Entry {
    /// Returns the number of the request that the line is about; a mark has none.
    pub fn request(&self) -> Option<u64> {
        match self {
            Self::Request { request, .. } | Self::Answer { request, .. } | Self::End { request, .. } => Some(*request),
            Self::Mark { .. } => None,
        }
    }
}
