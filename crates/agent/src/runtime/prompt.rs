//! What the runtime sends: the prompt of a request, its size, and the limit of the reply.

use std::sync::Arc;

use guildhall_kernel::{AskKey, Brief, Fact, Nudge, Request, Turn};

use super::{AgentRuntime, brief_of, json_so_far};
use crate::hiring::DelegationTool;
use crate::history::History;
use crate::json_turn::{JsonTurn, Moment};
use crate::model::Prompt;
use crate::prompt_data::PromptData;
use crate::status::{STATUS_BYTES_MAX, Status};
use crate::text::TextError;
use crate::transcript::{LastPrompt, heard, last_prompt};
use crate::wording;

/// The room for the task of the root, which the hires of an agent with JSON turns are shown, in bytes.
const ROOT_TASK_ROOM_BYTES: u64 = 1024;

/// The most tokens of a reply, and what follows when the reply has reached them.
#[derive(Clone, Copy)]
pub(super) enum ReplyLimit {
    /// The reply is continued.
    Continued(u32),
    /// The reply is a report that is long enough: it stays cut.
    Final(u32),
}

impl ReplyLimit {
    pub(super) fn tokens(self) -> u32 {
        match self {
            ReplyLimit::Continued(max_tokens) | ReplyLimit::Final(max_tokens) => max_tokens,
        }
    }
}

impl AgentRuntime {
    /// Returns the size of the parts of every request besides the transcript: what precedes it, and the status after it.
    pub fn opening_bytes(&self) -> u64 {
        let opening = self.profile.opening().bytes();
        if !self.model.has_json_turns() {
            return opening + STATUS_BYTES_MAX;
        }
        // A server may refuse the schema later. Then the tools replace the list of tools.
        let turns = self.profile.json_turns();
        let opening = opening.max(turns.opening().bytes() + turns.managing_bytes());
        opening + STATUS_BYTES_MAX + ROOT_TASK_ROOM_BYTES
    }

    /// Returns the size of the parts of a request that the request before may not have had: the status and, for JSON turns, the
    /// tools, if the server refuses the schema. They are larger than the list of tools for hires that may follow the status.
    pub(super) fn changing_bytes(&self) -> u64 {
        let opening = self.profile.opening();
        let tools = opening.bytes().saturating_sub(opening.system().len() as u64);
        STATUS_BYTES_MAX + if self.model.has_json_turns() { tools } else { 0 }
    }

    pub(super) fn prompt(
        &self,
        key: AskKey,
        request: &Request,
        history: History<'_>,
        status: &Status,
    ) -> Result<Prompt, TextError> {
        let data = match brief_of(history.facts).filter(|_| self.model.reads_data()) {
            Some(brief) => Some(Box::new(PromptData {
                agent: brief.agent.clone(),
                team: self.profile.team().cloned(),
                task: history.texts.text(&brief.task)?,
                turn: request.turn,
                status: *status,
                heard: heard(history.facts, history.texts)?,
            })),
            None => None,
        };
        match request.turn {
            Turn::Next => self.next_prompt(key, request, &history, status, data),
            Turn::Last => self.last_prompt(key, request, &history, data),
        }
    }

    fn next_prompt(
        &self,
        key: AskKey,
        request: &Request,
        history: &History<'_>,
        status: &Status,
        data: Option<Box<PromptData>>,
    ) -> Result<Prompt, TextError> {
        let (profile, facts) = (&self.profile, history.facts);
        let (must_call, continues) = (self.must_call(facts), json_so_far(history)?);
        let (team, line) = (profile.team().map(Arc::as_ref), wording::status(status));
        let brief = brief_of(facts).filter(|_| self.model.has_json_turns());
        let json_turn = brief.map(|brief| {
            let moment = Moment::new(brief, team, status, facts, must_call.as_deref());
            profile.json_turns().next(&line, &moment, request.max_tokens)
        });
        Ok(Prompt {
            key,
            opening: Arc::clone(profile.opening()),
            messages: history.messages()?,
            status: Some(line),
            max_tokens: request.max_tokens,
            must_call,
            json_turn,
            continues,
            data,
        })
    }

    /// No turn follows the last request, so a status would only cost money.
    fn last_prompt(
        &self,
        key: AskKey,
        request: &Request,
        history: &History<'_>,
        data: Option<Box<PromptData>>,
    ) -> Result<Prompt, TextError> {
        let (profile, facts) = (&self.profile, history.facts);
        let brief = brief_of(facts).filter(|_| self.model.has_json_turns());
        let turn = |instructed| brief.map(|brief| profile.json_turns().last(instructed, brief, request.max_tokens));
        let [turn, bare_turn] = [true, false].map(turn);
        let max_tokens = turn.as_ref().map_or(request.max_tokens, |turn| turn.max_tokens);
        let shown = Request { max_tokens, ..request.clone() };
        let opening = |turn: &Option<JsonTurn>, instructed| {
            Arc::clone(turn.as_ref().map_or(profile.last_opening(instructed), |turn| &turn.opening))
        };
        let openings = [opening(&turn, true), opening(&bare_turn, false)];
        let instructions = openings.each_ref().map(|opening| opening.system());
        let LastPrompt { messages, instructed } = last_prompt(facts, history.texts, &shown, instructions)?;
        Ok(Prompt {
            key,
            opening: Arc::clone(profile.last_opening(instructed)),
            messages,
            status: None,
            max_tokens: request.max_tokens,
            must_call: None,
            json_turn: if instructed { turn } else { bare_turn },
            continues: None,
            data,
        })
    }

    /// Returns the JSON turn of a prompt, if the reply to the prompt is one: the server may have refused the schema.
    pub(super) fn sent_turn<'a>(&self, prompt: &'a Prompt) -> Option<&'a JsonTurn> {
        prompt.json_turn.as_ref().filter(|_| self.model.has_json_turns())
    }

    /// Returns the limit of the reply to a prompt.
    pub(super) fn reply_limit(&self, prompt: &Prompt, brief: Option<&Brief>) -> ReplyLimit {
        let limited = self.sent_turn(prompt).zip(brief).filter(|(turn, brief)| turn.is_limited(brief));
        limited.map_or(ReplyLimit::Continued(prompt.max_tokens), |(turn, _)| ReplyLimit::Final(turn.max_tokens))
    }

    /// Returns the tool that the next reply must call: the hiring tool, if an agent that must hire was nudged to hire.
    fn must_call(&self, facts: &[Fact]) -> Option<String> {
        let mut since_reply = facts.iter().rev().take_while(|fact| fact.said().is_none());
        let was_nudged = since_reply.any(|fact| *fact == Fact::Nudged(Nudge::Required));
        self.profile.team().filter(|_| was_nudged).map(|team| DelegationTool::Hire.name(team.dialect).to_owned())
    }
}
