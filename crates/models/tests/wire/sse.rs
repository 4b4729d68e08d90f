//! Server-sent events, in chunks of every size.

use guildhall_models::{Event, Frame, Sse, TooBig};

fn event(name: &str, data: &str) -> Frame {
    Frame::Event(Event { name: name.into(), data: data.into() })
}

fn check(stream: &[u8], expect: &[Frame]) {
    for size in 1..=stream.len() {
        let mut sse = Sse::default();
        let mut frames = Vec::new();
        for chunk in stream.chunks(size) {
            frames.extend(sse.push(chunk).unwrap());
        }
        frames.extend(sse.finish().map(Frame::Event));
        assert_eq!(frames, expect, "in chunks of {size}");
    }
}

#[test]
fn the_size_of_chunks_does_not_change_the_events() {
    check("event: a\ndata: grüß 🦀\n\ndata: b\n\n".as_bytes(), &[event("a", "grüß 🦀"), event("", "b")]);
    check(b"data: a\r\n\r\ndata: b\r\n\r\n", &[event("", "a"), event("", "b")]);
    check(b"data: a\r\rdata: b\r\r", &[event("", "a"), event("", "b")]);
}

#[test]
fn a_byte_order_mark_comments_and_unknown_fields_are_accepted() {
    check(b"\xef\xbb\xbfdata: a\n\n", &[event("", "a")]);
    check(b": OPENROUTER PROCESSING\n\ndata:a\n\n", &[Frame::Comment, event("", "a")]);
    check(b"id: 7\nretry: 1\nfoo\ndata: a\ndata: b\n\n", &[event("", "a\nb")]);
    check(b"event: a\n\n\n\n", &[]);
}

#[test]
fn the_end_of_a_stream_returns_complete_lines_and_drops_half_a_line() {
    check(b"data: a\n", &[event("", "a")]);
    check(b"data: a\n\ndata: {\"ha", &[event("", "a")]);
}

#[test]
fn bytes_that_are_not_utf8_become_replacement_characters() {
    check(b"data: \xff\xfe\n\n", &[event("", "\u{fffd}\u{fffd}")]);
}

#[test]
fn an_event_larger_than_the_limit_is_an_error() {
    let mut sse = Sse::with_limit(8);
    assert_eq!(sse.push(b"data: 123456789"), Err(TooBig { bytes_max: 8 }));
    let mut sse = Sse::with_limit(16);
    assert_eq!(sse.push(b"data: 12345678\n").unwrap(), []);
    assert_eq!(sse.push(b"data: 12345678\n"), Err(TooBig { bytes_max: 16 }));
}
