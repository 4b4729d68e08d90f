//! A request as the rules see it, whichever protocol it came in.

pub(crate) mod check;

use serde_json::Value;

use crate::script::Protocol;

/// What a client asked a model.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the protocol")]
pub(crate) struct Turn {
    pub(crate) protocol: Protocol,
    pub(crate) model: String,
    pub(crate) system: String,
    /// All texts of the user, in order, without results of tools.
    pub(crate) user_texts: Vec<String>,
    /// The results of tools since the last message of the model.
    pub(crate) tool_results: Vec<String>,
    /// All results of tools, in order.
    pub(crate) tool_results_ever: Vec<String>,
    pub(crate) messages: u64,
    pub(crate) stream: bool,
    /// Whether a stream is to end with its usage (OpenAI only; Anthropic always tells).
    pub(crate) include_usage: bool,
    /// Whether a reply is held to a schema, and must be one object: `{"calls": […]}` or `{"report": "…"}`.
    pub(crate) is_json: bool,
    pub(crate) bytes: usize,
    /// What the provider would refuse it for.
    pub(crate) fault: Option<String>,
    /// Whether the newest message of the model has calls in an object.
    awaits_results: bool,
}

impl Turn {
    /// Reads a request; what is missing is taken as empty.
    pub(crate) fn read(protocol: Protocol, body: &Value, bytes: usize) -> Self {
        let mut turn = Self {
            protocol,
            model: text_of(&body["model"]),
            system: text_of(&body["system"]),
            user_texts: Vec::new(),
            tool_results: Vec::new(),
            tool_results_ever: Vec::new(),
            messages: 0,
            stream: body["stream"] == true,
            include_usage: body["stream_options"]["include_usage"] == true,
            is_json: body["response_format"]["type"] == "json_schema",
            bytes,
            fault: check::fault(protocol, body),
            awaits_results: false,
        };
        for message in body["messages"].as_array().into_iter().flatten() {
            turn.hear(message);
        }
        turn.tool_results_ever.extend(turn.tool_results.iter().cloned());
        turn
    }

    pub(crate) fn last_user(&self) -> &str {
        self.user_texts.last().map_or("", String::as_str)
    }

    fn hear(&mut self, message: &Value) {
        let role = message["role"].as_str().unwrap_or_default();
        let content = &message["content"];
        match role {
            "system" | "developer" => {
                self.system.push_str(&text_of(content));
                return;
            }
            "tool" => self.tool_results.push(text_of(content)),
            "assistant" => {
                self.tool_results_ever.append(&mut self.tool_results);
                self.awaits_results = self.is_json && has_calls(&text_of(content));
            }
            // Calls in an object have their results in the next words.
            _ if std::mem::take(&mut self.awaits_results) => self.tool_results.push(text_of(content)),
            _ => self.hear_user(content),
        }
        self.messages += 1;
    }

    fn hear_user(&mut self, content: &Value) {
        let results = content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_result");
        self.tool_results.extend(results.map(|block| text_of(&block["content"])));
        let text = text_of(content);
        if !text.is_empty() {
            self.user_texts.push(text);
        }
    }
}

/// Whether a text is an object with calls.
fn has_calls(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|object| object["calls"].is_array())
}

/// The text of a content: a string, or the text blocks of a list, one per line.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.into();
    }
    let blocks = content.as_array().into_iter().flatten().filter(|block| block["type"] == "text");
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(protocol: Protocol, body: &Value) {
        let turn = Turn { fault: None, ..Turn::read(protocol, body, 7) };
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let expected = Turn {
            protocol,
            model: "m".into(),
            system: "You are ada.".into(),
            user_texts: texts(&["add", "and\nnow"]),
            tool_results: texts(&["3", "4"]),
            tool_results_ever: texts(&["1", "3", "4"]),
            messages: body["messages"].as_array().unwrap().len() as u64 - u64::from(protocol == Protocol::OpenAi),
            stream: true,
            include_usage: protocol == Protocol::OpenAi,
            is_json: false,
            bytes: 7,
            fault: None,
            awaits_results: false,
        };
        assert_eq!(turn, expected);
    }

    #[test]
    fn both_protocols_are_read_alike() {
        let result = |text: &str| json!({"type": "tool_result", "tool_use_id": "t", "content": text});
        let text = |text: &str| json!({"type": "text", "text": text});
        let anthropic = json!({"model": "m", "stream": true, "system": [text("You are ada.")], "messages": [
            {"role": "user", "content": "add"}, {"role": "assistant", "content": []},
            {"role": "user", "content": [result("1")]}, {"role": "assistant", "content": "hm"},
            {"role": "user", "content": [result("3"),
                {"type": "tool_result", "tool_use_id": "u", "content": [text("4")]}, text("and"), text("now")]}]});
        check(Protocol::Anthropic, &anthropic);
        let openai = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": [
            {"role": "system", "content": "You are ada."}, {"role": "user", "content": "add"},
            {"role": "assistant", "tool_calls": []}, {"role": "tool", "content": "1"},
            {"role": "assistant", "content": "hm"}, {"role": "tool", "content": "3"},
            {"role": "tool", "content": [text("4")]}, {"role": "user", "content": [text("and"), text("now")]}]});
        check(Protocol::OpenAi, &openai);
    }
}
