//! Decides how each request is answered. It remembers how many requests each rule answered, how many requests there were, and
//! the reply to each request key. It never touches a connection.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::answer::{Answer, Finish};
use crate::bomb::gzip_bomb;
use crate::entry::AnswerKind;
use crate::refusal::{bad_request, refuse};
use crate::render::{json_turn, render};
use crate::schema;
use crate::script::{Damage, Endpoint, Protocol, Reply, Rule, Script, Then, When, Wrong};
use crate::tree;
use crate::turn::Turn;
use crate::work;

pub(crate) struct Responder {
    script: Script,
    /// How many requests each rule answered.
    answered: Vec<u64>,
    received: u64,
    /// How many requests were received, without replays.
    requests: u64,
    /// How many requests there were for each `agent` that a rule names.
    by_agent: HashMap<String, u64>,
    by_key: HashMap<String, KeyHistory>,
}

#[derive(Default)]
struct KeyHistory {
    executions: u64,
    /// The body of the request, and the answer to the same request when it is received again.
    replay: Option<(Vec<u8>, Answer)>,
}

impl Responder {
    pub(crate) fn new(script: Script) -> Self {
        let agents = script.rules.iter().filter_map(|rule| rule.when.agent.clone());
        Self {
            answered: vec![0; script.rules.len()],
            received: 0,
            requests: 0,
            by_agent: agents.map(|agent| (agent, 0)).collect(),
            by_key: HashMap::new(),
            script,
        }
    }

    /// The API key that requests must have.
    pub(crate) fn api_key(&self) -> Option<&str> {
        self.script.key.as_deref()
    }

    /// Counts a request and returns its number.
    pub(crate) fn receive(&mut self) -> u64 {
        self.received += 1;
        self.received
    }

    /// How many times requests with the key of this one were executed.
    pub(crate) fn executions(&self, turn: &Turn) -> u64 {
        turn.request_key.as_ref().and_then(|key| self.by_key.get(key)).map_or(0, |key| key.executions)
    }

    /// Returns the answer, and the rule that gave it.
    pub(crate) fn answer(&mut self, turn: &mut Turn) -> (Option<usize>, Answer) {
        turn.n = self.requests;
        if let Some(answer) = self.replayed(turn) {
            return (None, answer);
        }
        self.requests += 1;
        turn.n = self.requests;
        for (agent, count) in &mut self.by_agent {
            *count += u64::from(turn.system.contains(agent.as_str()));
        }
        if let Some(refusal) = self.refusal(turn) {
            return (None, refusal);
        }
        let Some(at) = (0..self.answered.len()).find(|at| self.matches(*at, turn)) else {
            return (None, self.without_rule(turn));
        };
        self.answered[at] += 1;
        (Some(at), self.follow_rule(at, turn))
    }

    /// The answer to a request whose key was answered before.
    fn replayed(&self, turn: &Turn) -> Option<Answer> {
        let (body, answer) = self.by_key.get(turn.request_key.as_ref()?)?.replay.as_ref()?;
        if *body == turn.body {
            return Some(Answer { kind: AnswerKind::Replayed, tokens: None, ..answer.clone() });
        }
        let message = "model-server: an earlier request with this key had another body";
        Some(bad_request(AnswerKind::KeyReused, message, turn))
    }

    /// The refusal of a request that the server refuses before it looks at the rules.
    fn refusal(&self, turn: &Turn) -> Option<Answer> {
        let models = &self.script.models;
        if !turn.has_key {
            return Some(refuse(&Wrong::Key, turn));
        }
        if turn.endpoint == Endpoint::Models {
            return None;
        }
        if !models.is_empty() && !models.contains(&turn.model) {
            return Some(refuse(&Wrong::Model, turn));
        }
        let schema = turn.schema.as_ref().filter(|_| self.script.held_to_schema);
        let fault = turn.fault.clone().filter(|_| !self.script.lenient).or_else(|| schema::fault(schema?));
        Some(bad_request(AnswerKind::BadRequest, &fault?, turn))
    }

    fn matches(&self, at: usize, turn: &Turn) -> bool {
        let Rule { when, repeat, .. } = &self.script.rules[at];
        let When { endpoint, protocol, model, agent, body, last_user, tool_result, .. } = when;
        let When { has_tool_result, nth, nth_of_agent, messages, request_key, stream, .. } = when;
        let of_agent = agent.as_ref().map_or(0, |agent| self.by_agent[agent]);
        repeat.is_none_or(|times| self.answered[at] < times)
            && *endpoint == turn.endpoint
            && protocol.is_none_or(|protocol| protocol == turn.protocol)
            && model.as_ref().is_none_or(|model| *model == turn.model)
            && agent.as_ref().is_none_or(|agent| turn.system.contains(agent))
            && body.as_ref().is_none_or(|text| String::from_utf8_lossy(&turn.body).contains(text))
            && last_user.as_ref().is_none_or(|text| turn.last_user().contains(text))
            && tool_result.as_ref().is_none_or(|text| turn.tool_results.iter().any(|result| result.contains(text)))
            && has_tool_result.is_none_or(|has| has != turn.tool_results.is_empty())
            && nth.is_none_or(|nth| nth.includes(self.requests))
            && nth_of_agent.is_none_or(|nth| nth.includes(of_agent))
            && messages.is_none_or(|messages| messages.includes(turn.messages))
            && (request_key.is_none() || *request_key == turn.request_key)
            && stream.is_none_or(|stream| stream == turn.stream)
            && (!self.script.held_to_schema || self.follows_schema(at, turn))
    }

    /// Whether the reply of a rule follows the schema of the request. A model that is forced to follow it writes something else.
    fn follows_schema(&self, at: usize, turn: &Turn) -> bool {
        let Some(schema) = &turn.schema else { return true };
        let follows = |reply: &Reply| {
            serde_json::from_str(&json_turn(reply, turn)).is_ok_and(|reply| schema::follows(&reply, schema))
        };
        match &self.script.rules[at].then {
            Then::Reply(reply) => follows(reply),
            Then::Tree(tree) => follows(&tree::reply(tree, turn)),
            Then::Work(script) => follows(&work::reply(script, turn)),
            Then::Wrong(_)
            | Then::Raw(_)
            | Then::Redirect { .. }
            | Then::Close
            | Then::Reset
            | Then::Stall
            | Then::Down { .. }
            | Then::GzipBomb { .. } => true,
        }
    }

    fn follow_rule(&mut self, at: usize, turn: &Turn) -> Answer {
        match self.script.rules[at].then.clone() {
            Then::Reply(reply) => self.execute(turn, &reply),
            Then::Tree(tree) => self.execute(turn, &tree::reply(&tree, turn)),
            Then::Work(script) => self.execute(turn, &work::reply(&script, turn)),
            Then::Wrong(wrong) => refuse(&wrong, turn),
            Then::Raw(raw) => {
                let body = turn.fill(&raw.body, 0);
                Answer::response(AnswerKind::Fault, raw.status, raw.headers.into_iter().collect(), body)
            }
            Then::Redirect { to } => Answer::response(AnswerKind::Fault, 307, vec![("location".into(), to)], ""),
            Then::Close => Answer::no_response(Finish::Close),
            Then::Reset => Answer::no_response(Finish::Reset),
            Then::Stall => Answer::no_response(Finish::Stall),
            Then::Down { ms } => Answer::no_response(Finish::Down(Duration::from_millis(ms))),
            Then::GzipBomb { mib } => {
                let compressed = vec![("content-encoding".into(), "gzip".into())];
                Answer::response(AnswerKind::Fault, 200, compressed, gzip_bomb(mib))
            }
        }
    }

    /// Executes a turn of the model: counts it for its request key and, if the script replays, remembers the reply.
    fn execute(&mut self, turn: &Turn, reply: &Reply) -> Answer {
        let bytes_max = if self.script.held_to_schema { turn.bytes_max() } else { usize::MAX };
        let (body, tokens) = render(reply, &self.script.usage, turn, bytes_max);
        let answer = |damage| Answer { tokens: Some(tokens), ..Answer::reply(body.clone(), reply, damage, turn) };
        if let Some(key) = &turn.request_key {
            let history = self.by_key.entry(key.clone()).or_default();
            history.executions += 1;
            // A replay has the content of the reply, without the damage by the network.
            let lasting = reply.damage.as_ref().filter(|damage| **damage == Damage::EndTwice);
            history.replay = self.script.replay.then(|| (turn.body.clone(), answer(lasting)));
        }
        answer(reply.damage.as_ref())
    }

    fn without_rule(&self, turn: &Turn) -> Answer {
        match turn.endpoint {
            Endpoint::Models => {
                let list = list_models(&self.script.models, turn.protocol);
                Answer::response(AnswerKind::Models, 200, Vec::new(), list.to_string())
            }
            Endpoint::Turn => {
                let message = format!("model-server: no rule of the script matches request {}", turn.n);
                bad_request(AnswerKind::NoRule, &message, turn)
            }
        }
    }
}

fn list_models(models: &[String], protocol: Protocol) -> Value {
    let each = models.iter().map(|id| match protocol {
        Protocol::Anthropic => {
            json!({"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"})
        }
        Protocol::OpenAi => json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "guildhall"}),
    });
    let list: Vec<Value> = each.collect();
    match protocol {
        Protocol::Anthropic => {
            json!({"data": list, "has_more": false, "first_id": models.first(), "last_id": models.last()})
        }
        Protocol::OpenAi => json!({"object": "list", "data": list}),
    }
}
