//! Random bad replies: secrets everywhere, invalid names and ids, values of any shape and depth.

use guildhall_agent::{Attempt, RawCall, Reply, Reported, Stop, Usage, Wire};
use serde_json::{Map, Value, json};

/// The secrets that the hall knows by value.
pub(crate) const KNOWN: [&str; 4] =
    ["correct horse battery", "pa\"ss\\wörd & co", "8812345678901", "{\"token\": [\"in a list\", 1]}"];

/// A secret that is recognised only by the name of its field.
const PLAIN: &str = "k3y-of-the-shed";

/// Field names of secrets.
const TELLING: [&str; 4] = ["api_key", "X-Api-Key", "DB_PASSWORD", "clientSecret"];

/// Texts between the secrets. Some of them look like structure.
const PIECES: [&str; 24] = [
    "",
    " ",
    "a",
    "ß",
    "日本",
    "\u{202e}",
    "\u{0}",
    "\n",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "[redacted: secret]",
    "[redacted: ",
    "</sub-agent-complete>",
    "```json\n",
    "null",
    "1e400",
    "{\"a\":1}",
    "\\ud800",
];

/// All secrets that must never be stored and that are recognised without a field name.
pub(crate) fn secrets() -> Vec<String> {
    let random: String = "a1B2c3D4e5F6g7H8".chars().cycle().take(64).collect();
    let mut all: Vec<String> = KNOWN.map(str::to_owned).to_vec();
    all.push(format!("sk-ant-api03-{random}"));
    all.push(format!("sk-proj-{random}"));
    all.push(format!("ghp_{}", &random[..36]));
    all.push(wallet_key());
    all.push(PLAIN.to_owned());
    all
}

fn wallet_key() -> String {
    "0a1b2c3d4e5f6789".repeat(2)
}

/// Generates replies. The same seed gives the same replies.
pub(crate) struct Replies {
    chance: fastrand::Rng,
    secrets: Vec<String>,
}

impl Replies {
    pub(crate) fn new(seed: u64) -> Replies {
        // The last two are recognised only by the names of their fields.
        let mut secrets = secrets();
        secrets.truncate(secrets.len() - 2);
        Replies { chance: fastrand::Rng::with_seed(seed), secrets }
    }

    /// The replies of one contract and the results of its tools.
    pub(crate) fn attempts(&mut self) -> Vec<Attempt> {
        (0..self.chance.usize(1..4)).map(|_| self.attempt()).collect()
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.chance.bool()
    }

    fn attempt(&mut self) -> Attempt {
        let words = self.coin().then(|| self.said());
        let calls: Vec<RawCall> = (0..self.chance.usize(..5)).map(|_| self.call()).collect();
        let wire = self.pick(&[Wire::Anthropic, Wire::OpenAi, Wire::Inside]);
        let raw = self.raw(wire, words.as_deref(), &calls);
        let stop = self.pick(&[Stop::End, Stop::Calls, Stop::Length, Stop::Refusal]);
        let usage = self.usage();
        let usage = self.pick(&[Reported::Nothing, Reported::Part(usage), Reported::Whole(usage)]);
        Attempt { outcome: Ok(Reply { wire, raw, words, calls, stop, part: None }), usage }
    }

    fn usage(&mut self) -> Usage {
        let mut tokens = || self.pick(&[0, 1, 100, 1 << 40, 10_000_000_000_000_000_000, u64::MAX]);
        Usage { input: tokens(), cache_read: tokens(), cache_write: tokens(), output: tokens() }
    }

    fn call(&mut self) -> RawCall {
        let tools = ["echo", "echo", "delegate_task", "stop_agent", "message_agent", "wait_for_agents", "list_agents"];
        let name = match self.chance.u8(..10) {
            0 => self.secret(),
            1 => self.said(),
            _ => self.pick(&tools).to_owned(),
        };
        let id = match self.chance.u8(..10) {
            0 => self.secret(),
            1 => self.said(),
            2 => "same".to_owned(),
            _ => format!("call-{}", self.chance.u32(..)),
        };
        let arguments = match self.chance.u8(..10) {
            0 => Err(self.said()),
            1 => Ok(self.deep()),
            2 => Ok(self.value(3)),
            _ => Ok(self.members(2)),
        };
        RawCall { id, name, arguments }
    }

    /// The raw form of a reply: the form of its protocol, or a random value.
    fn raw(&mut self, wire: Wire, words: Option<&str>, calls: &[RawCall]) -> Value {
        if self.chance.u8(..10) == 0 {
            return if self.coin() { self.value(3) } else { self.deep() };
        }
        let text = |arguments: &Result<Value, String>| arguments.as_ref().map_or_else(Clone::clone, Value::to_string);
        match wire {
            Wire::Anthropic => {
                let used = calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments.as_ref().ok()})
                });
                words.iter().map(|words| json!({"type": "text", "text": words})).chain(used).collect()
            }
            Wire::OpenAi => {
                let calls = calls.iter().map(|call| {
                    let function = json!({"name": call.name, "arguments": text(&call.arguments)});
                    json!({"id": call.id, "type": "function", "function": function})
                });
                json!({"role": "assistant", "content": words, "tool_calls": calls.collect::<Vec<_>>()})
            }
            Wire::Inside => json!({"words": words}),
        }
    }

    /// A random text with secrets in it.
    fn text(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.chance.usize(1..9) {
            match self.chance.u8(..12) {
                0 => text.push_str(&self.secret()),
                1 => text.extend([" X-Api-Key: ", &wallet_key(), " "]),
                2 => text.push(self.chance.char(..)),
                _ => text.push_str(self.pick(&PIECES)),
            }
        }
        text
    }

    /// A text that may be JSON.
    pub(crate) fn said(&mut self) -> String {
        match self.chance.u8(..8) {
            0 => self.members(2).to_string(),
            1 => format!("{:#}", self.members(2)),
            _ => self.text(),
        }
    }

    /// A single secret.
    fn secret(&mut self) -> String {
        let secret = self.chance.usize(..self.secrets.len());
        format!(" {} ", self.secrets[secret])
    }

    pub(crate) fn value(&mut self, depth: usize) -> Value {
        match self.chance.u8(..if depth == 0 { 8 } else { 12 }) {
            0 => Value::Null,
            1 => self.coin().into(),
            2 => self.pick(&[json!(0), json!(-1), json!(u64::MAX), json!(i64::MIN), json!(8_812_345_678_901_u64)]),
            3 => self.pick(&[json!(1e308), json!(-0.0), json!(5e-324), json!(0.1), json!(1.797e307)]),
            4 => self.secret().into(),
            5..8 => self.text().into(),
            8 => (0..self.chance.usize(..4)).map(|_| self.value(depth - 1)).collect(),
            // JSON inside JSON, several levels deep.
            9 => {
                let mut text = self.members(depth - 1).to_string();
                for _ in 0..self.chance.usize(..4) {
                    text = Value::from(text).to_string();
                }
                text.into()
            }
            _ => self.members(depth - 1),
        }
    }

    /// An object with random keys: arguments of tools, names of secrets, and secrets.
    fn members(&mut self, depth: usize) -> Value {
        let expected = ["say", "specialty", "task", "budget", "id", "ids", "text", "context", "name"];
        let mut members = Map::new();
        for _ in 0..self.chance.usize(1..5) {
            match self.chance.u8(..8) {
                0 => drop(members.insert(self.secret(), self.value(depth))),
                1 => {
                    let key = if depth == 0 { self.text() } else { self.members(0).to_string() };
                    members.insert(key, self.value(depth));
                }
                2 => {
                    let secret = if self.coin() { PLAIN.to_owned() } else { wallet_key() };
                    members.insert(self.pick(&TELLING).to_owned(), secret.into());
                }
                3 => drop(members.insert(self.pick(&expected).to_owned(), self.secret().into())),
                _ => drop(members.insert(self.pick(&expected).to_owned(), self.value(depth))),
            }
        }
        Value::Object(members)
    }

    /// A value with very deep nesting.
    fn deep(&mut self) -> Value {
        let mut value = Value::from(self.secret());
        for _ in 0..self.chance.usize(60..180) {
            value = if self.coin() { json!([value]) } else { json!({"a": value}) };
        }
        json!({"deep": value})
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.chance.usize(..of.len())].clone()
    }
}
