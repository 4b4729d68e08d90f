//! What the server remembers between requests: how often each rule fired, how many requests there were and what each
//! request key was answered. Decides what is answered; never touches a connection.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use crate::answer::{Answer, Head, lasting};
use crate::bomb::gzip_bomb;
use crate::entry::Said;
use crate::refusal::Refused;
use crate::render::Resolved;
use crate::script::reply::Reply;
use crate::script::{Endpoint, Protocol, Rule, Script, Then, When, Wrong};
use crate::template::Filler;
use crate::tree;
use crate::turn::Turn;

/// The memory of the server.
pub(crate) struct Book {
    script: Script,
    fired: Vec<u64>,
    /// Requests until now, without replays.
    requests: u64,
    /// Requests per marker of an agent.
    by_agent: HashMap<String, u64>,
    by_key: HashMap<String, Remembered>,
}

struct Remembered {
    executions: u64,
    body_hash: u64,
    reply: Option<Rc<Answer>>,
}

/// A request, as far as the book needs it.
pub(crate) struct Asked<'a> {
    pub(crate) endpoint: Endpoint,
    pub(crate) turn: Turn,
    pub(crate) key_is_good: bool,
    pub(crate) request_key: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

/// What is answered, and why.
pub(crate) struct Decision {
    pub(crate) answer: Rc<Answer>,
    pub(crate) said: Said,
    pub(crate) rule: Option<usize>,
    pub(crate) executions: u64,
}

impl Book {
    pub(crate) fn new(script: Script) -> Self {
        let agents = script.rules.iter().filter_map(|rule| rule.when.agent.clone());
        Self {
            fired: vec![0; script.rules.len()],
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

    pub(crate) fn decide(&mut self, asked: &Asked<'_>) -> Decision {
        if let Some(decision) = self.recall(asked) {
            return decision;
        }
        self.requests += 1;
        for (agent, count) in &mut self.by_agent {
            *count += u64::from(asked.turn.system.contains(agent.as_str()));
        }
        if let Some(wrong) = self.at_the_door(asked) {
            return self.decision(asked, None, refuse(&wrong, asked, self.requests));
        }
        if let Some(fault) = self.unacceptable(asked) {
            return self.decision(asked, None, bad_request(Said::BadRequest, fault, asked, self.requests));
        }
        let Some(at) = self.script.rules.iter().enumerate().position(|(at, rule)| self.applies(at, rule, asked)) else {
            return self.decision(asked, None, self.without_rule(asked));
        };
        self.fired[at] += 1;
        self.carry_out(at, asked)
    }

    /// The answer that the request key got before.
    fn recall(&self, asked: &Asked<'_>) -> Option<Decision> {
        if !self.script.replay {
            return None;
        }
        let known = self.by_key.get(asked.request_key?)?;
        let reply = known.reply.as_ref()?;
        if known.body_hash == hash(asked.body) {
            let (answer, executions) = (Rc::clone(reply), known.executions);
            return Some(Decision { answer, said: Said::Replayed, rule: None, executions });
        }
        let message = "model-server: this request key came with another body before";
        let answer = bad_request(Said::KeyReused, message, asked, self.requests);
        Some(self.decision(asked, None, answer))
    }

    fn at_the_door(&self, asked: &Asked<'_>) -> Option<Wrong> {
        let models = &self.script.models;
        if !asked.key_is_good {
            Some(Wrong::Key)
        } else if asked.endpoint == Endpoint::Turn && !models.is_empty() && !models.contains(&asked.turn.model) {
            Some(Wrong::Model)
        } else {
            None
        }
    }

    fn unacceptable<'a>(&self, asked: &'a Asked<'_>) -> Option<&'a str> {
        let judged = asked.endpoint == Endpoint::Turn && !self.script.lenient;
        asked.turn.fault.as_deref().filter(|_| judged)
    }

    fn applies(&self, at: usize, rule: &Rule, asked: &Asked<'_>) -> bool {
        let turn = &asked.turn;
        let When { endpoint, protocol, model, agent, last_user, tool_result, .. } = &rule.when;
        let When { has_tool_result, nth, nth_of_agent, messages, request_key, stream, .. } = &rule.when;
        let of_agent = agent.as_ref().map_or(0, |agent| self.by_agent[agent]);
        rule.repeat.is_none_or(|times| self.fired[at] < times)
            && *endpoint == asked.endpoint
            && protocol.is_none_or(|protocol| protocol == turn.protocol)
            && model.as_ref().is_none_or(|model| *model == turn.model)
            && agent.as_ref().is_none_or(|agent| turn.system.contains(agent))
            && last_user.as_ref().is_none_or(|text| turn.last_user().contains(text))
            && tool_result.as_ref().is_none_or(|text| turn.tool_results.iter().any(|result| result.contains(text)))
            && has_tool_result.is_none_or(|has| has != turn.tool_results.is_empty())
            && nth.is_none_or(|nth| nth.holds(self.requests))
            && nth_of_agent.is_none_or(|nth| nth.holds(of_agent))
            && messages.is_none_or(|messages| messages.holds(turn.messages))
            && request_key.as_ref().is_none_or(|key| asked.request_key == Some(key))
            && stream.is_none_or(|stream| stream == turn.stream)
    }

    fn carry_out(&mut self, at: usize, asked: &Asked<'_>) -> Decision {
        let n = self.requests;
        let then = self.script.rules[at].then.clone();
        let answer = match then {
            Then::Reply(reply) => return self.execute(at, asked, &reply),
            Then::Tree(tree) => return self.execute(at, asked, &tree::reply(&tree, &asked.turn)),
            Then::Wrong(wrong) => refuse(&wrong, asked, n),
            Then::Raw(raw) => {
                let filler = Filler { turn: &asked.turn, n, request_key: asked.request_key };
                let headers = raw.headers.into_iter().collect();
                Answer::whole(Said::Fault, raw.status, headers, filler.fill(&raw.body, 0))
            }
            Then::Redirect { to } => Answer::whole(Said::Fault, 307, vec![("location".into(), to)], ""),
            Then::Close => Answer::bare(Head::Close),
            Then::Reset => Answer::bare(Head::Reset),
            Then::Stall => Answer::bare(Head::Stall),
            Then::Down { ms } => Answer::bare(Head::Down(Duration::from_millis(ms))),
            Then::GzipBomb { mib } => {
                let packed = vec![("content-encoding".into(), "gzip".into())];
                Answer::whole(Said::Fault, 200, packed, gzip_bomb(mib))
            }
        };
        self.decision(asked, Some(at), answer)
    }

    /// The model's turn: it is counted for its key and, where that is wanted, remembered.
    fn execute(&mut self, at: usize, asked: &Asked<'_>, reply: &Reply) -> Decision {
        let turn = &asked.turn;
        let filler = Filler { turn, n: self.requests, request_key: asked.request_key };
        let body = Resolved::of(reply, filler).render(turn.protocol, turn.stream);
        let made = |damage| Answer::reply(body.clone(), reply, damage, turn.protocol, turn.stream);
        let answer = Rc::new(made(reply.damage.as_ref()));
        let mut executions = 0;
        if let Some(key) = asked.request_key {
            let fresh = Remembered { executions: 0, body_hash: hash(asked.body), reply: None };
            let known = self.by_key.entry(key.into()).or_insert(fresh);
            known.executions += 1;
            executions = known.executions;
            if self.script.replay {
                let lasts = reply.damage.as_ref().is_none_or(lasting);
                known.reply = Some(if lasts { Rc::clone(&answer) } else { Rc::new(made(None)) });
            }
        }
        Decision { answer, said: Said::Reply, rule: Some(at), executions }
    }

    fn without_rule(&self, asked: &Asked<'_>) -> Answer {
        match asked.endpoint {
            Endpoint::Models => {
                let list = list_models(&self.script.models, asked.turn.protocol);
                Answer::whole(Said::Models, 200, Vec::new(), list)
            }
            Endpoint::Turn => {
                let message = format!("model-server: no rule of the script matches request {}", self.requests);
                bad_request(Said::NoRule, &message, asked, self.requests)
            }
        }
    }

    fn decision(&self, asked: &Asked<'_>, rule: Option<usize>, answer: Answer) -> Decision {
        let known = asked.request_key.and_then(|key| self.by_key.get(key));
        let executions = known.map_or(0, |known| known.executions);
        Decision { said: answer.said, answer: Rc::new(answer), rule, executions }
    }
}

fn refuse(wrong: &Wrong, asked: &Asked<'_>, n: u64) -> Answer {
    let refused = Refused::of(wrong, asked.turn.protocol, &asked.turn.model, n);
    Answer::whole(Said::Fault, refused.status, refused.headers, refused.body)
}

fn bad_request(said: Said, message: &str, asked: &Asked<'_>, n: u64) -> Answer {
    let refused = Refused::bad_request(message, asked.turn.protocol, n);
    Answer::whole(said, refused.status, refused.headers, refused.body)
}

fn hash(body: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    hasher.finish()
}

fn list_models(models: &[String], protocol: Protocol) -> String {
    use serde_json::{Value, json};
    let list: Vec<Value> = match protocol {
        Protocol::Anthropic => models
            .iter()
            .map(|id| json!({"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"}))
            .collect(),
        Protocol::OpenAi => models
            .iter()
            .map(|id| json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "guildhall"}))
            .collect(),
    };
    let list = match protocol {
        Protocol::Anthropic => {
            json!({"data": list, "has_more": false, "first_id": models.first(), "last_id": models.last()})
        }
        Protocol::OpenAi => json!({"object": "list", "data": list}),
    };
    list.to_string()
}
