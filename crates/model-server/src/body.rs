//! Carries out the steps of an answer as the body of a response, and tells the log how that ended.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::time::Sleep;

use crate::answer::{Answer, Step};
use crate::entry::Ending;

/// Ends a connection without an error of anybody: the script wants it so.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the script breaks the connection off")]
pub(crate) struct Broken;

/// Tells how an answer ended, whichever way it is dropped.
pub(crate) struct Ender {
    pub(crate) ending: Ending,
    pub(crate) bytes: u64,
    tell: Box<dyn Fn(u64, Ending)>,
}

impl Ender {
    pub(crate) fn new(tell: impl Fn(u64, Ending) + 'static) -> Self {
        Self { ending: Ending::HungUp, bytes: 0, tell: Box::new(tell) }
    }
}

impl Drop for Ender {
    fn drop(&mut self) {
        (self.tell)(self.bytes, self.ending);
    }
}

/// A body made of steps.
pub(crate) struct Flow {
    answer: Rc<Answer>,
    at: usize,
    sleep: Option<Pin<Box<Sleep>>>,
    ender: Ender,
    /// Set when the connection is to be reset, not closed.
    reset: Rc<Cell<bool>>,
}

impl Flow {
    pub(crate) fn new(answer: Rc<Answer>, ender: Ender, reset: Rc<Cell<bool>>) -> Self {
        Self { answer, at: 0, sleep: None, ender, reset }
    }
}

impl Body for Flow {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        loop {
            if let Some(sleep) = &mut this.sleep {
                ready!(sleep.as_mut().poll(cx));
                this.sleep = None;
            }
            let Some(step) = this.answer.steps.get(this.at) else { return Poll::Ready(None) };
            if *step != Step::Stall {
                this.at += 1;
            }
            match step {
                Step::Send(bytes) if bytes.is_empty() => {}
                Step::Send(bytes) => {
                    this.ender.bytes += bytes.len() as u64;
                    return Poll::Ready(Some(Ok(Frame::data(bytes.clone()))));
                }
                Step::Wait(time) => this.sleep = Some(Box::pin(tokio::time::sleep(*time))),
                Step::Flush => {
                    // The connection writes out what it has whenever its body has nothing for it.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Step::Stall => return Poll::Pending,
                Step::Break(ending) => {
                    this.ender.ending = *ending;
                    this.reset.set(*ending == Ending::Reset);
                    return Poll::Ready(Some(Err(Broken)));
                }
            }
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        // With a known length nobody asks once more when all is sent, so what counts is that nothing is left.
        let nothing = |step: &Step| match step {
            Step::Send(bytes) => bytes.is_empty(),
            Step::Wait(_) | Step::Flush => true,
            Step::Stall | Step::Break(_) => false,
        };
        if self.ender.ending == Ending::HungUp && self.answer.steps[self.at..].iter().all(nothing) {
            self.ender.ending = Ending::Sent;
        }
    }
}
