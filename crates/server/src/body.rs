//! Bodies that are made while they are sent. A client that reads slowly holds up only the task that makes its body.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};

/// How many parts wait to be sent.
const PARTS_MAX: usize = 8;

/// Sends the parts of a body. Sending fails when the client has gone.
pub(crate) type Parts = mpsc::Sender<Bytes>;

/// Returns a body that a task makes. The task ends when the client goes.
pub(crate) fn made_by<F: Future<Output = ()> + Send + 'static>(make: impl FnOnce(Parts) -> F) -> Body {
    let (parts, received) = mpsc::channel(PARTS_MAX);
    let task: JoinHandle<()> = tokio::spawn(make(parts));
    Body::new(Made { received, task: task.abort_handle() })
}

struct Made {
    received: mpsc::Receiver<Bytes>,
    task: AbortHandle,
}

impl Drop for Made {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl http_body::Body for Made {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.received.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}
