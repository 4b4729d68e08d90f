//! The body of a request, in two parts: the written opening, which many requests share, and the rest. A part is freed as soon as
//! it is sent, so that a call that waits for its reply keeps nothing of its request.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The parts of a request that are not sent yet.
pub(crate) struct RequestBody {
    opening: Bytes,
    rest: Bytes,
}

impl RequestBody {
    pub(crate) fn new(opening: Bytes, rest: Bytes) -> RequestBody {
        RequestBody { opening, rest }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let opening = std::mem::take(&mut self.opening);
        let next = if opening.is_empty() { std::mem::take(&mut self.rest) } else { opening };
        Poll::Ready((!next.is_empty()).then(|| Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.opening.is_empty() && self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.opening.len() + self.rest.len()) as u64)
    }
}
