//! What the server remembers between requests: how often each rule fired, how many requests there were and what each
//! request key was answered. Decides what is answered; never touches a connection.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::answer::{Answer, Finish};
use crate::bomb::gzip_bomb;
use crate::entry::Said;
use crate::refusal::{bad_request, refuse};
use crate::render::render;
use crate::script::{Damage, Endpoint, Protocol, Reply, Rule, Script, Then, When, Wrong};
use crate::tree;
use crate::turn::Turn;

/// The memory of the server.
pub(crate) struct Book {
    script: Script,
    fired: Vec<u64>,
    /// Requests until now.
    received: u64,
    /// Requests until now, without replays.
    requests: u64,
    /// Requests per marker of an agent.
    by_agent: HashMap<String, u64>,
    by_key: HashMap<String, Remembered>,
}

/// What is known of a request key.
#[derive(Default)]
struct Remembered {
    executions: u64,
    /// The body of the request and what is answered when it comes again.
    replay: Option<(Vec<u8>, Answer)>,
}

/// What is answered, and why.
pub(crate) struct Decision {
    pub(crate) answer: Answer,
    pub(crate) rule: Option<usize>,
    pub(crate) executions: u64,
}

impl Book {
    pub(crate) fn new(script: Script) -> Self {
        let agents = script.rules.iter().filter_map(|rule| rule.when.agent.clone());
        Self {
            fired: vec![0; script.rules.len()],
            received: 0,
            requests: 0,
            by_agent: agents.map(|agent| (agent, 0)).collect(),
            by_key: HashMap::new(),
            script,
        }
    }

    /// The key that requests must carry.
    pub(crate) fn api_key(&self) -> Option<&str> {
        self.script.key.as_deref()
    }

    /// The number of the next request.
    pub(crate) fn receive(&mut self) -> u64 {
        self.received += 1;
        self.received
    }

    pub(crate) fn decide(&mut self, turn: &mut Turn) -> Decision {
        turn.n = self.requests;
        let (rule, answer) = match self.recall(turn) {
            Some(answer) => (None, answer),
            None => self.answer(turn),
        };
        let executions = turn.request_key.as_ref().and_then(|key| self.by_key.get(key)).map_or(0, |key| key.executions);
        Decision { answer, rule, executions }
    }

    /// The answer that the request key got before.
    fn recall(&self, turn: &Turn) -> Option<Answer> {
        let (body, answer) = self.by_key.get(turn.request_key.as_ref()?)?.replay.as_ref()?;
        if *body == turn.body {
            return Some(Answer { said: Said::Replayed, ..answer.clone() });
        }
        let message = "model-server: this request key came with another body before";
        Some(bad_request(Said::KeyReused, message, turn))
    }

    fn answer(&mut self, turn: &mut Turn) -> (Option<usize>, Answer) {
        self.requests += 1;
        turn.n = self.requests;
        for (agent, count) in &mut self.by_agent {
            *count += u64::from(turn.system.contains(agent.as_str()));
        }
        if let Some(refusal) = self.refusal(turn) {
            return (None, refusal);
        }
        let Some(at) = (0..self.fired.len()).find(|at| self.applies(*at, turn)) else {
            return (None, self.without_rule(turn));
        };
        self.fired[at] += 1;
        (Some(at), self.carry_out(at, turn))
    }

    /// What is refused whatever the rules say.
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
        let fault = turn.fault.as_ref().filter(|_| !self.script.lenient)?;
        Some(bad_request(Said::BadRequest, fault, turn))
    }

    fn applies(&self, at: usize, turn: &Turn) -> bool {
        let Rule { when, repeat, .. } = &self.script.rules[at];
        let When { endpoint, protocol, model, agent, last_user, tool_result, .. } = when;
        let When { has_tool_result, nth, nth_of_agent, messages, request_key, stream, .. } = when;
        let of_agent = agent.as_ref().map_or(0, |agent| self.by_agent[agent]);
        repeat.is_none_or(|times| self.fired[at] < times)
            && *endpoint == turn.endpoint
            && protocol.is_none_or(|protocol| protocol == turn.protocol)
            && model.as_ref().is_none_or(|model| *model == turn.model)
            && agent.as_ref().is_none_or(|agent| turn.system.contains(agent))
            && last_user.as_ref().is_none_or(|text| turn.last_user().contains(text))
            && tool_result.as_ref().is_none_or(|text| turn.tool_results.iter().any(|result| result.contains(text)))
            && has_tool_result.is_none_or(|has| has != turn.tool_results.is_empty())
            && nth.is_none_or(|nth| nth.holds(self.requests))
            && nth_of_agent.is_none_or(|nth| nth.holds(of_agent))
            && messages.is_none_or(|messages| messages.holds(turn.messages))
            && (request_key.is_none() || *request_key == turn.request_key)
            && stream.is_none_or(|stream| stream == turn.stream)
    }

    fn carry_out(&mut self, at: usize, turn: &Turn) -> Answer {
        match self.script.rules[at].then.clone() {
            Then::Reply(reply) => self.execute(turn, &reply),
            Then::Tree(tree) => self.execute(turn, &tree::reply(&tree, turn)),
            Then::Wrong(wrong) => refuse(&wrong, turn),
            Then::Raw(raw) => {
                let body = turn.fill(&raw.body, 0);
                Answer::whole(Said::Fault, raw.status, raw.headers.into_iter().collect(), body)
            }
            Then::Redirect { to } => Answer::whole(Said::Fault, 307, vec![("location".into(), to)], ""),
            Then::Close => Answer::bare(Finish::Close),
            Then::Reset => Answer::bare(Finish::Reset),
            Then::Stall => Answer::bare(Finish::Stall),
            Then::Down { ms } => Answer::bare(Finish::Down(Duration::from_millis(ms))),
            Then::GzipBomb { mib } => {
                let packed = vec![("content-encoding".into(), "gzip".into())];
                Answer::whole(Said::Fault, 200, packed, gzip_bomb(mib))
            }
        }
    }

    /// The model's turn: it is counted for its key and, where that is wanted, remembered.
    fn execute(&mut self, turn: &Turn, reply: &Reply) -> Answer {
        let body = render(reply, turn);
        let answer = |damage| Answer::reply(body.clone(), reply, damage, turn);
        if let Some(key) = &turn.request_key {
            let known = self.by_key.entry(key.clone()).or_default();
            known.executions += 1;
            // What happened to the reply on its way is not remembered.
            let lasting = reply.damage.as_ref().filter(|damage| **damage == Damage::EndTwice);
            known.replay = self.script.replay.then(|| (turn.body.clone(), answer(lasting)));
        }
        answer(reply.damage.as_ref())
    }

    fn without_rule(&self, turn: &Turn) -> Answer {
        match turn.endpoint {
            Endpoint::Models => {
                let list = list_models(&self.script.models, turn.protocol);
                Answer::whole(Said::Models, 200, Vec::new(), list.to_string())
            }
            Endpoint::Turn => {
                let message = format!("model-server: no rule of the script matches request {}", turn.n);
                bad_request(Said::NoRule, &message, turn)
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
