//! The log: what was asked, what was answered and how that ended, a JSON line each, so that tests can assert on what was
//! really sent. It never holds a key.
#![allow(missing_docs, reason = "a field whose name says everything has no comment")]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Entry {
    /// A request came in.
    Request {
        /// Its number, from 1, over all connections.
        request: u64,
        /// The number of its connection, from 1.
        connection: u64,
        /// Microseconds since the server began.
        at_us: u64,
        method: String,
        path: String,
        /// The headers; of a secret only whether it is the expected key: `<expected key>`, `<other key>`, or `<secret>`.
        headers: BTreeMap<String, String>,
        /// The body: JSON, or a text if it is none.
        body: Value,
    },
    /// It is being answered.
    Answer {
        request: u64,
        /// The rule that answers, from 0; absent when none did.
        rule: Option<usize>,
        said: Said,
        /// The status; absent when nothing is sent.
        status: Option<u16>,
        request_key: Option<String>,
        /// How often the key was executed until now; replayed answers don't count.
        executions: u64,
    },
    /// The answer is over.
    End {
        request: u64,
        at_us: u64,
        /// The bytes of the body handed to the connection.
        bytes: u64,
        ending: Ending,
    },
    /// A line came on stdin: whatever was answered before it is above.
    Mark { mark: String },
}

/// What kind of answer was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// A turn of the model: an execution.
    Reply,
    /// The reply that the request key got before.
    Replayed,
    /// A fault or a refusal: nothing was executed.
    Fault,
    Models,
    NoRule,
    /// The provider would not take this request.
    BadRequest,
    /// The request key came with another body than before.
    KeyReused,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// All of it was handed to the connection.
    Sent,
    /// The script reset the connection.
    Reset,
    /// The script closed the connection.
    Closed,
    /// The client went away first.
    HungUp,
}

impl Entry {
    /// The number of the request that the line is about, if it is about one.
    pub fn request(&self) -> Option<u64> {
        match self {
            Self::Request { request, .. } | Self::Answer { request, .. } | Self::End { request, .. } => Some(*request),
            Self::Mark { .. } => None,
        }
    }
}
