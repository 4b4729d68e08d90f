//! One line of a transcript: the fields that Claude Code writes, and in addition the stored fact with its texts.

use guildhall_agent::{Part, RawCall, Reply, Stop, TextError, Wire, escape_unseen};
use guildhall_kernel::{
    Answer, Ask, AskKey, Brief, Context, Cost, Fact, Limit, Msat, Nudge, Outcome, Report, Said, Stimulus, Stored,
    TextKind, TextRef, Tokens, UnixMs,
};
use guildhall_local::{SessionId, SessionRow, hash_text};
use serde_json::{Map, Value, json};

use super::{FactTexts, TRANSCRIPT_TEXT_BYTES_MAX};
use crate::opening::StoredOpening;

/// The version of this format, in the field in which Claude Code writes its own version.
const VERSION: &str = "1";

/// What the first line says if the system prompt is missing.
const NO_OPENING: &str = "The system prompt and the tools of this contract are not stored.";

/// The fields of a line that do not depend on its place.
pub(super) struct Line {
    /// The number of the line among the lines of its fact.
    part: u8,
    fields: Map<String, Value>,
    /// Whether the message has everything that is in the stored reply.
    has_whole_reply: bool,
}

/// Where a line belongs.
pub(super) struct Place<'a> {
    pub(super) row: &'a SessionRow,
    pub(super) stored: &'a Stored,
    /// The id of the line before.
    pub(super) parent: Option<&'a str>,
}

impl Line {
    fn new(kind: &str, rest: Value) -> Line {
        let mut fields = Map::from_iter([("type".to_owned(), json!(kind))]);
        if let Value::Object(rest) = rest {
            fields.extend(rest);
        }
        Line { part: 1, fields, has_whole_reply: false }
    }

    /// The first line of a contract: the system prompt and the tools.
    pub(super) fn opening(
        session: &SessionId,
        brief: &Brief,
        opening: Option<Result<StoredOpening, TextError>>,
    ) -> Line {
        let (content, tools) = match opening {
            Some(Ok(opening)) => {
                let (system, tools) = opening.shown_to(brief);
                (system, Some(tools))
            }
            Some(Err(why)) => (format!("[{why}]"), None),
            None => (NO_OPENING.to_owned(), None),
        };
        let mut fields = json!({"subtype": "opening", "agent": brief.agent, "content": content, "tools": tools});
        if let Some(continues) = continues(session, brief) {
            fields["continues"] = json!(continues);
        }
        Line { part: 0, ..Line::new("system", fields) }
    }

    /// What the agent is shown.
    pub(super) fn user(parts: &[Part]) -> Line {
        let block = |part: &Part| match part {
            Part::Words(text) => json!({"type": "text", "text": text}),
            Part::Result { call, text, failed } => {
                json!({"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed})
            }
        };
        let content: Vec<Value> = parts.iter().map(block).collect();
        Line::new("user", json!({"message": {"role": "user", "content": content}}))
    }

    /// What the model replied.
    pub(super) fn assistant(ask: &AskKey, said: &Said, reply: &Reply, model: Option<&str>) -> Line {
        let has_whole_reply = reply.wire == Wire::Anthropic && reply.raw.is_array();
        let content = if has_whole_reply { reply.raw.clone() } else { blocks(reply) };
        let stop = match reply.stop {
            Stop::End => "end_turn",
            Stop::Calls => "tool_use",
            Stop::Length => "max_tokens",
            Stop::Window => "model_context_window_exceeded",
            Stop::Refusal => "refusal",
        };
        let message = json!({
            "id": ask, "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": said.used.map(usage),
        });
        Line { has_whole_reply, ..Line::new("assistant", json!({"message": message})) }
    }

    /// A fact that is not a part of the conversation.
    pub(super) fn system(fact: &Fact) -> Line {
        Line::new("system", json!({"subtype": fact.kind(), "content": summary(fact)}))
    }

    /// Adds the fact, and its texts as far as the message does not show them in full. A text that can't be read is null.
    pub(super) fn with_fact(mut self, stored: &Stored, named: &[TextRef], texts: &FactTexts) -> Line {
        let blocks = self.fields.get("message").and_then(|message| message["content"].as_array());
        let is_shown = |of: &TextRef, text: &str| {
            let is_block = |block: &Value| block["text"] == text || block["content"] == text;
            (of.kind == TextKind::Reply && self.has_whole_reply) || blocks.is_some_and(|all| all.iter().any(is_block))
        };
        let mut rest = Map::new();
        for of in named.iter().filter(|of| of.kind != TextKind::Opening) {
            match texts.get(of) {
                Ok(text) if is_shown(of, text) => {}
                text => drop(rest.insert(of.hash.to_string(), json!(text.ok()))),
            }
        }
        self.fields.insert("stored".to_owned(), json!(stored));
        if !rest.is_empty() {
            self.fields.insert("texts".to_owned(), Value::Object(rest));
        }
        self
    }

    /// Returns the line's id and the line, without a line end.
    pub(super) fn written(self, place: &Place<'_>) -> (String, String) {
        let Place { row, stored, parent } = place;
        let contract = &stored.contract;
        let id = uuid(&format!("{} {contract} {} {}", row.id, stored.seq, self.part));
        let mut line = json!({
            "parentUuid": parent,
            "isSidechain": contract.level() > 0,
            "userType": "external",
            "cwd": row.project,
            "sessionId": row.id,
            "version": VERSION,
            "agentId": contract,
            "uuid": id,
            // Session time stands still while a session does not run, so the moments of a resumed session are earlier than
            // they were.
            "timestamp": timestamp(row.created_at.after(stored.at)),
        });
        if let Value::Object(fields) = &mut line {
            fields.extend(self.fields);
        }
        cut(&mut line);
        (id, escape_unseen(line.to_string()))
    }
}

/// What the agent is shown before its brief: the transcript of another contract, which is not repeated here.
fn continues(session: &SessionId, brief: &Brief) -> Option<String> {
    match &brief.context {
        Context::Fresh => None,
        Context::After { root, .. } => Some(format!("{session}/{root}")),
        Context::Fork { request, .. } => {
            brief.path.hirer().map(|hirer| format!("{session}/{hirer} up to ask {request}"))
        }
    }
}

/// The reply of a model that does not use the protocol of Anthropic, as blocks of that protocol.
fn blocks(reply: &Reply) -> Value {
    let words = reply.words.iter().map(|words| json!({"type": "text", "text": words}));
    let call = |RawCall { id, name, arguments }: &RawCall| {
        // Arguments that are not JSON are shown as the model wrote them.
        let input = arguments.as_ref().map_or_else(|text| json!(text), Value::clone);
        json!({"type": "tool_use", "id": id, "name": name, "input": input})
    };
    words.chain(reply.calls.iter().map(call)).collect()
}

/// Tokens as Anthropic counts them: input that was read from a cache is not part of the other input.
fn usage(used: Tokens) -> Value {
    let Tokens { input, cached, output } = used;
    json!({
        "input_tokens": input.saturating_sub(cached), "cache_read_input_tokens": cached, "output_tokens": output,
    })
}

/// A fact in a few words. All of it is in the field `stored`.
fn summary(fact: &Fact) -> String {
    match fact {
        Fact::Opened(brief) => format!("{} begins with {}", brief.agent, sats(brief.grant.money)),
        Fact::Asked { id, ask, hold, .. } => format!("ask {id}: {}; {} held", asked(ask), sats(hold.money)),
        Fact::Answered { id, answer, cost } => format!("ask {id} answered: {}; {}", answered(answer), paid(*cost)),
        Fact::Queued { ordinal, .. } => format!("hire {ordinal} waits for money"),
        Fact::Refused { why, .. } => format!("refused: {why}"),
        Fact::Raised { hire, by, .. } => format!("the hire of ask {hire} gets {} more", sats(*by)),
        Fact::Heard { stimulus, .. } => format!("heard: {}", heard(stimulus)),
        Fact::Waiting { on, .. } if on.len() == 1 => "waits for 1 hire".to_owned(),
        Fact::Waiting { on, .. } => format!("waits for {} hires", on.len()),
        Fact::Woke { .. } => "stops waiting".to_owned(),
        Fact::Nudged(nudge) => format!("reminded: {}", reminder(*nudge)),
        Fact::Compacted { upto, .. } => format!("facts before number {upto} are shortened in later requests"),
        Fact::Closing(outcome) => format!("makes its last report: {}", ended(*outcome)),
        Fact::Closed(report) => {
            format!("closed: {}; {}, {} returned", ended(report.outcome), charged(report), sats(report.change))
        }
    }
}

/// An amount with a space before its unit.
fn sats(amount: Msat) -> String {
    amount.to_string().replace("sat", " sat")
}

/// What a report charges, by how much is known about it.
fn charged(report: &Report) -> String {
    let also = [("estimated", report.estimated), ("reserved", report.reserved)]
        .into_iter()
        .filter(|(_, part)| *part > Msat::ZERO);
    also.fold(format!("{} used", sats(report.used())), |said, (what, part)| format!("{said}, {} {what}", sats(part)))
}

fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Exhausted(Limit::Purse) => "out of money",
        Outcome::Exhausted(Limit::Turns) => "out of turns",
        Outcome::Exhausted(Limit::Deadline) => "out of time",
        Outcome::Exhausted(Limit::Asked) => "told to wrap up",
        Outcome::Exhausted(Limit::Length) => "its report is cut",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

fn reminder(nudge: Nudge) -> &'static str {
    match nudge {
        Nudge::Required => "a hire is required before the report",
        Nudge::ConfirmReport => "is this text the report?",
        Nudge::FixReport => "the report failed a check",
        Nudge::Empty => "the reply was empty",
    }
}

fn asked(ask: &Ask) -> String {
    match ask {
        Ask::Model(request) => format!("a reply of at most {} tokens", request.max_tokens),
        Ask::Tool(call) => format!("tool {}", call.tool),
        Ask::Hire { brief, .. } => format!("hire {} as {}", brief.agent, brief.path),
        Ask::Check(_) => "check of the report".to_owned(),
        Ask::Question { .. } => "question".to_owned(),
        Ask::Draw { least } => format!("{} more from the hirer", sats(*least)),
        Ask::Tell { to, what } => format!("to {to}: {}", heard(what)),
    }
}

fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Said(_) => "reply",
        Answer::Result(_) => "result",
        Answer::Report(_) => "report",
        Answer::Passed => "check passed",
        Answer::FailedCheck(_) => "check failed",
        Answer::Text(_) => "text",
        Answer::Approved => "approved",
        Answer::Denied => "not approved",
        Answer::NoReply => "no reply in time",
        Answer::Met => "the money is there",
        Answer::NotMet => "the money did not come",
        Answer::Delivered => "delivered",
        Answer::Gone => "the receiver has closed",
        Answer::Lost => "lost",
        Answer::Aborted => "stopped",
        Answer::Failed(_) => "failed",
    }
}

fn paid(cost: Cost) -> String {
    match cost {
        Cost::Known(money) => format!("cost {}", sats(money)),
        Cost::Estimated(money) => format!("cost at most {}", sats(money)),
        Cost::Unknown => "cost unknown".to_owned(),
    }
}

fn heard(stimulus: &Stimulus) -> String {
    match stimulus {
        Stimulus::Message(_) => "message".to_owned(),
        Stimulus::Question(_) => "question".to_owned(),
        Stimulus::TopUp { to, money, .. } => format!("{} more for {to}", sats(*money)),
        Stimulus::Draw { least } => format!("a hire needs {} more", sats(*least)),
        Stimulus::RefuseDraw { .. } => "the hirer gives no more money".to_owned(),
        Stimulus::DropHire { ordinal } => format!("stop hire {ordinal} before it begins"),
        Stimulus::Hire(offer) => format!("hire {}", offer.agent),
        Stimulus::WrapUp => "wrap up".to_owned(),
        Stimulus::OutOfTokens { .. } => "wrap up: out of tokens".to_owned(),
        Stimulus::Cancel => "cancel".to_owned(),
    }
}

/// Cuts the texts that are too long for a transcript.
fn cut(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > TRANSCRIPT_TEXT_BYTES_MAX => {
            let end = text.floor_char_boundary(TRANSCRIPT_TEXT_BYTES_MAX);
            let rest = text.len() - end;
            *text = format!("{}… ({rest} bytes more)", &text[..end]);
        }
        Value::Object(fields) => fields.values_mut().for_each(cut),
        Value::Array(items) => items.iter_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An id made from a name. The version in it is 8, which says that a program made the id in its own way.
fn uuid(name: &str) -> String {
    let hex = hash_text(name.as_bytes()).to_string();
    format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30])
}

/// Returns a moment in UTC, as `2026-11-15T09:30:00.000Z`.
pub fn timestamp(UnixMs(unix_ms): UnixMs) -> String {
    let (days, ms) = (unix_ms / 86_400_000, unix_ms % 86_400_000);
    // Years are counted from March, so that a leap day is the last day of its year, in cycles of 400 years.
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * cycle + year + carry;
    let (hour, minute, second, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::{
        Acceptance, Fact, Heads, Limit, Msat, Nudge, Outcome, Report, TextKind, TextRef, UnixMs, Wording,
    };
    use guildhall_local::hash_text;
    use serde_json::json;

    use super::{TRANSCRIPT_TEXT_BYTES_MAX, cut, summary, timestamp, uuid};

    #[test]
    fn reserved_money_is_never_called_used_and_no_summary_has_a_name_of_the_code() {
        let msat = |msat: u64| Msat::capped(u128::from(msat));
        let text = TextRef { hash: hash_text(b"x"), bytes: 1, kind: TextKind::Words };
        let report = |reserved, estimated| {
            Fact::Closed(Box::new(Report {
                outcome: Outcome::Exhausted(Limit::Asked),
                text: Wording::Final(text),
                output: None,
                acceptance: Acceptance::NotAccepted,
                undone: None,
                unheard: Vec::new(),
                spent: msat(16_844),
                change: msat(1000),
                fee: Msat::ZERO,
                reserved,
                estimated,
                heads: Heads(0),
                cut: false,
                tokens: 0,
            }))
        };
        let whole = summary(&report(msat(10_000), msat(844)));
        assert_eq!(whole, "closed: told to wrap up; 6 sat used, 0.844 sat estimated, 10 sat reserved, 1 sat returned");
        let used = summary(&report(Msat::ZERO, Msat::ZERO));
        assert_eq!(used, "closed: told to wrap up; 16.844 sat used, 1 sat returned");
        assert_eq!(summary(&Fact::Nudged(Nudge::FixReport)), "reminded: the report failed a check");
        assert_eq!(summary(&Fact::Closing(Outcome::Exhausted(Limit::Purse))), "makes its last report: out of money");
    }

    #[test]
    fn moments_are_written_as_dates() {
        for (ms, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_794_735_000_123, "2026-11-15T09:30:00.123Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UnixMs(ms)), date);
        }
        assert!(timestamp(UnixMs(u64::MAX)).ends_with('Z'));
    }

    #[test]
    fn an_id_has_the_form_of_a_uuid_and_depends_on_its_name_alone() {
        let id = uuid("brave-otter 1 3 1");
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!((id.as_bytes()[14], id.as_bytes()[19]), (b'8', b'8'));
        assert!(id == uuid("brave-otter 1 3 1") && id != uuid("brave-otter 1 3 0"));
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = "é".repeat(TRANSCRIPT_TEXT_BYTES_MAX);
        let mut line = json!({"a": [{"text": format!("y{long}")}], "short": "é"});
        cut(&mut line);
        let text = line["a"][0]["text"].as_str().unwrap();
        assert!(
            text.len() < TRANSCRIPT_TEXT_BYTES_MAX + 40 && text.ends_with("é… (262146 bytes more)"),
            "{}",
            text.len()
        );
        assert_eq!(line["short"], "é");
    }
}
