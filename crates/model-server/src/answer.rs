//! An answer as a list of steps: what to send, when to wait, where to break off. Damage is worked out here, on bytes; the
//! connection only carries the steps out.

use std::time::Duration;

use bytes::Bytes;

use crate::entry::{Ending, Said};
use crate::render::Rendered;
use crate::script::Protocol;
use crate::script::reply::{Cut, Damage, Pace, Place, Reply};
use crate::{anthropic, openai};

/// How far from the end of an event its JSON is surely not finished: `"}}` and two line ends.
const INSIDE_JSON: usize = 8;

/// All that is done for one request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) said: Said,
    /// Before anything is done.
    pub(crate) wait: Duration,
    pub(crate) head: Head,
    pub(crate) steps: Vec<Step>,
}

/// How an answer begins.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    Response { status: u16, headers: Vec<(String, String)> },
    Close,
    Reset,
    Stall,
    Down(Duration),
}

/// A piece of the body, or what happens between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Send(Bytes),
    Wait(Duration),
    /// What was sent goes out before the next step.
    Flush,
    Stall,
    Break(Ending),
}

impl Answer {
    pub(crate) fn bare(head: Head) -> Self {
        Self { said: Said::Fault, wait: Duration::ZERO, head, steps: Vec::new() }
    }

    /// A response in one piece.
    pub(crate) fn whole(said: Said, status: u16, mut headers: Vec<(String, String)>, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("content-type".into(), "application/json".into()));
        }
        headers.push(("content-length".into(), body.len().to_string()));
        Self { said, wait: Duration::ZERO, head: Head::Response { status, headers }, steps: vec![Step::Send(body)] }
    }

    /// A turn of the model, with this damage and not that of the reply.
    pub(crate) fn reply(
        mut body: Rendered,
        reply: &Reply,
        damage: Option<&Damage>,
        protocol: Protocol,
        streamed: bool,
    ) -> Self {
        if reply.noise && streamed {
            make_noise(&mut body, protocol);
        }
        let broken = damage.and_then(|damage| spoil(&mut body, damage, protocol));
        let usual = if streamed { "text/event-stream; charset=utf-8" } else { "application/json" };
        let content_type = reply.content_type.as_deref().unwrap_or(usual);
        let mut headers = vec![("content-type".into(), content_type.into())];
        let mut steps = paced(&body, &reply.pace);
        let mut head = None;
        if let Some((place, step)) = broken {
            match locate(&body, place) {
                None => head = Some(unsent(&step)),
                Some(at) => truncate(&mut steps, at, step),
            }
        }
        if !streamed {
            let promised = match steps.last() {
                Some(Step::Break(Ending::Closed | Ending::Reset) | Step::Stall) => body.len(),
                _ => sent(&steps),
            };
            headers.push(("content-length".into(), promised.to_string()));
        }
        Self {
            said: Said::Reply,
            wait: Duration::from_millis(reply.pace.headers_ms),
            head: head.unwrap_or(Head::Response { status: 200, headers }),
            steps,
        }
    }

    /// The status that goes out, if any.
    pub(crate) fn status(&self) -> Option<u16> {
        match &self.head {
            Head::Response { status, .. } => Some(*status),
            Head::Close | Head::Reset | Head::Stall | Head::Down(_) => None,
        }
    }
}

/// Changes the content, or says where and how the body breaks off.
fn spoil(body: &mut Rendered, damage: &Damage, protocol: Protocol) -> Option<(Place, Step)> {
    match damage {
        Damage::Cut { after, how } => {
            let step = match how {
                Cut::Reset => Step::Break(Ending::Reset),
                Cut::Close => Step::Break(Ending::Closed),
                Cut::End => Step::Flush,
            };
            Some((*after, step))
        }
        Damage::Stall { after } => Some((*after, Step::Stall)),
        Damage::Error { events, kind, message } => {
            body.events.truncate(*events);
            body.events.push(match protocol {
                Protocol::Anthropic => anthropic::error_event(kind, message),
                Protocol::OpenAi => openai::error_event(kind, message),
            });
            None
        }
        Damage::EndTwice => {
            let end = body.events.len() - body.end;
            body.events.extend_from_within(end..);
            None
        }
    }
}

/// Whether a reply with this damage is another when it is given again: what the way did to it is not remembered.
pub(crate) fn lasting(damage: &Damage) -> bool {
    match damage {
        Damage::EndTwice => true,
        Damage::Cut { .. } | Damage::Stall { .. } | Damage::Error { .. } => false,
    }
}

fn make_noise(body: &mut Rendered, protocol: Protocol) {
    body.events.insert(
        1,
        match protocol {
            Protocol::Anthropic => anthropic::unknown_event(),
            Protocol::OpenAi => openai::unknown_event(),
        },
    );
    body.last_delta = body.last_delta.map(|at| at + 1);
    for event in &mut body.events {
        *event = format!(": still here\n\n{event}").replace('\n', "\r\n");
    }
}

/// The byte at which a place is; none is before the headers.
fn locate(body: &Rendered, place: Place) -> Option<usize> {
    let length = body.len();
    let at = match place {
        Place::Start => return None,
        Place::Bytes(bytes) => bytes,
        Place::Events(events) => body.events.iter().take(events).map(String::len).sum(),
        Place::InsideUtf8 => {
            let text = body.events.concat();
            text.char_indices().find(|(_, char)| char.len_utf8() > 1).map_or(length / 2, |(at, _)| at + 1)
        }
        Place::InsideDelta => match body.last_delta {
            Some(last) => body.events[..=last].iter().map(String::len).sum::<usize>() - INSIDE_JSON,
            None => length / 2,
        },
    };
    Some(at.min(length))
}

fn paced(body: &Rendered, pace: &Pace) -> Vec<Step> {
    let mut steps = Vec::new();
    if pace.first_ms > 0 {
        steps.push(Step::Wait(Duration::from_millis(pace.first_ms)));
    }
    if let Some(drip) = pace.drip {
        let whole = Bytes::from(body.events.concat());
        for start in (0..whole.len()).step_by(drip.bytes) {
            steps.push(Step::Send(whole.slice(start..whole.len().min(start + drip.bytes))));
            steps.push(pause(drip.every_ms));
        }
    } else if pace.between_ms > 0 {
        for event in &body.events {
            steps.push(Step::Send(Bytes::from(event.clone())));
            steps.push(pause(pace.between_ms));
        }
    } else {
        steps.push(Step::Send(Bytes::from(body.events.concat())));
    }
    if matches!(steps.last(), Some(Step::Wait(_) | Step::Flush)) {
        steps.pop();
    }
    steps
}

fn pause(ms: u64) -> Step {
    if ms == 0 { Step::Flush } else { Step::Wait(Duration::from_millis(ms)) }
}

fn truncate(steps: &mut Vec<Step>, at: usize, last: Step) {
    let mut left = at;
    let mut kept = 0;
    for step in steps.iter_mut() {
        if let Step::Send(bytes) = step {
            bytes.truncate(left);
            left -= bytes.len();
        }
        kept += 1;
        if left == 0 {
            break;
        }
    }
    steps.truncate(kept);
    steps.extend([Step::Flush, last]);
}

fn unsent(step: &Step) -> Head {
    match step {
        Step::Break(Ending::Reset) => Head::Reset,
        Step::Stall => Head::Stall,
        Step::Break(_) | Step::Flush | Step::Send(_) | Step::Wait(_) => Head::Close,
    }
}

fn sent(steps: &[Step]) -> usize {
    let lengths = steps.iter().map(|step| match step {
        Step::Send(bytes) => bytes.len(),
        Step::Wait(_) | Step::Flush | Step::Stall | Step::Break(_) => 0,
    });
    lengths.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::reply::Drip;

    fn body(events: &[&str]) -> Rendered {
        let events = events.iter().map(ToString::to_string).collect();
        Rendered { events, last_delta: Some(1), end: 1 }
    }

    fn send(text: &'static str) -> Step {
        Step::Send(Bytes::from_static(text.as_bytes()))
    }

    fn check(pace: Pace, damage: &Damage, expect: &[Step]) {
        let reply = Reply { pace, ..Reply::default() };
        let body = body(&["one", "d\u{e9}lta-and-more", "end"]);
        let answer = Answer::reply(body, &reply, Some(damage), Protocol::OpenAi, true);
        assert_eq!(answer.steps, expect);
    }

    #[test]
    fn damage_is_worked_out_to_the_byte() {
        let cut = |after, how| Damage::Cut { after, how };
        let (reset, closed) = (Step::Break(Ending::Reset), Step::Break(Ending::Closed));
        let drip = Pace { drip: Some(Drip { bytes: 2, every_ms: 0 }), ..Pace::default() };
        let slow = Pace { between_ms: 7, ..Pace::default() };
        let wait = Step::Wait(Duration::from_millis(7));
        check(Pace::default(), &cut(Place::Bytes(2), Cut::Reset), &[send("on"), Step::Flush, reset.clone()]);
        check(Pace::default(), &cut(Place::Events(1), Cut::Close), &[send("one"), Step::Flush, closed]);
        check(Pace::default(), &cut(Place::InsideDelta, Cut::End), &[send("onedélta-"), Step::Flush, Step::Flush]);
        check(Pace::default(), &Damage::EndTwice, &[send("onedélta-and-moreendend")]);
        check(
            drip,
            &cut(Place::Bytes(3), Cut::Reset),
            &[send("on"), Step::Flush, send("e"), Step::Flush, reset.clone()],
        );
        let stall = Damage::Stall { after: Place::Bytes(4) };
        check(slow, &stall, &[send("one"), wait, send("d"), Step::Flush, Step::Stall]);
        let inside = Step::Send(Bytes::from_static(b"oned\xc3"));
        check(Pace::default(), &cut(Place::InsideUtf8, Cut::Reset), &[inside, Step::Flush, reset]);
    }
}
