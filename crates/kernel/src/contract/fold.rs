//! Facts change the state here and nowhere else. Each fact is checked first, so that the error for a journal that
//! breaks a law names the fact that breaks it. Nothing here decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::admit::Candidate;
use super::{
    AnsweredApproval, Contract, Ending, FinalText, LOSSES_MAX, NOTICE_BYTES_MAX, Open, Passing, Phase, Placed, Placing,
    Requested, Round, Uncertain, View, Wait,
};
use crate::account::Account;
use crate::ask::{Addressee, Answer, Ask, Cost, Matter, Origin, Request, Said, Sender, Stimulus, ToolCall, Turn};
use crate::brief::{Brief, CloseWhen, Context, Mode};
use crate::fact::{Fact, Hold, Pause};
use crate::input::{CALLS_MAX, Need};
use crate::money::{Heads, Msat, Quantity};
use crate::path::{AskId, CallRef};
use crate::refusal::Refusal;
use crate::report::{Acceptance, Limit, Nudge, Outcome, Report, Wording};
use crate::time::Millis;

pub(super) type Law = Result<(), &'static str>;

pub(super) fn law(holds: bool, law: &'static str) -> Law {
    if holds { Ok(()) } else { Err(law) }
}

/// Returns whether this kind of answer fits this ask.
pub(super) fn fits(ask: &Ask, answer: &Answer, phase: &Phase) -> bool {
    let leaf = matches!(ask, Ask::Model(_) | Ask::Tool(_) | Ask::Check(_));
    let question = match ask {
        Ask::Question { matter, .. } => Some(matter),
        Ask::Model(_) | Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Tell { .. } => None,
    };
    match answer {
        Answer::Said(_) => matches!(ask, Ask::Model(_)),
        Answer::Result(_) => matches!(ask, Ask::Tool(_)),
        Answer::Report(_) => matches!(ask, Ask::Hire { .. }),
        Answer::Passed | Answer::FailedCheck(_) => matches!(ask, Ask::Check(_)),
        Answer::Text(_) => matches!(question, Some(Matter::Text(_))),
        Answer::Approved | Answer::Denied => matches!(question, Some(Matter::Approval(_))),
        Answer::NoReply => question.is_some(),
        Answer::Delivered | Answer::Gone => matches!(ask, Ask::Tell { .. }),
        Answer::Lost => leaf || question.is_some(),
        Answer::Aborted => leaf && *phase == Phase::Closing(Outcome::Cancelled),
        Answer::Failed(_) => leaf,
    }
}

/// Returns the tool call that an ask wants approval for.
pub(super) fn approval(ask: &Ask) -> Option<&ToolCall> {
    match ask {
        Ask::Question { matter: Matter::Approval(call), .. } => Some(call),
        Ask::Question { matter: Matter::Text(_), .. }
        | Ask::Model(_)
        | Ask::Tool(_)
        | Ask::Hire { .. }
        | Ask::Check(_)
        | Ask::Tell { .. } => None,
    }
}

/// Returns the ending that a contract sends to its live hires when it begins to close with this outcome.
pub(super) fn ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Cancelled => Ending::Cancel,
        Outcome::Done | Outcome::Exhausted(_) | Outcome::Failed => Ending::WrapUp,
    }
}

impl Contract {
    pub(super) fn opened(fact: &Fact) -> Result<Contract, &'static str> {
        let Fact::Opened(brief) = fact else { return Err("the first fact of a contract is that it opened") };
        law(brief.check().is_ok(), "a brief is one that a contract can work on within the laws")?;
        let purse = Account::new(brief.grant.money);
        let purse = purse.hold(brief.fee).and_then(|purse| purse.hold(brief.severance));
        let opening = brief.context.tokens().saturating_add(brief.opening_bytes);
        Ok(Contract {
            phase: Phase::Working,
            facts: 1,
            purse: purse.ok_or("the fee and the severance are part of the grant")?,
            heads: Account::new(brief.grant.heads),
            severance: brief.severance,
            uncertain: Uncertain::default(),
            asked: 0,
            open: BTreeMap::new(),
            pauses: 0,
            hires: 0,
            live: BTreeMap::new(),
            questions: Vec::new(),
            waits: Vec::new(),
            placing: None,
            answered_approval: None,
            passing: None,
            turns: 0,
            losses: 0,
            view: View { tokens: opening, since: 0, compacted: 0 },
            request: None,
            unread: true,
            urgent: false,
            owed: Vec::new(),
            final_text: None,
            newest_text: brief.task,
            nudged: BTreeSet::new(),
            round: Round::default(),
            heard: BTreeSet::new(),
            asked_to_end: None,
            model_failed: false,
            brief: Arc::clone(brief),
        })
    }

    pub(super) fn fold(&mut self, fact: &Fact) -> Law {
        law(!matches!(self.phase, Phase::Closed(_)), "a closed contract stays closed")?;
        self.check_lawful(fact)?;
        match fact {
            Fact::Opened(_) => return Err("a contract opens once"),
            Fact::Asked { id, ask, hold, origin } => self.fold_asked(*id, ask, *hold, *origin)?,
            Fact::Answered { id, answer, cost } => self.fold_answered(*id, answer, *cost)?,
            Fact::Refused { why, origin, bytes, .. } => self.fold_refused(why, *origin, *bytes)?,
            Fact::Raised { hire, by } => self.fold_raised(*hire, *by)?,
            Fact::Heard { from, stimulus } => self.fold_heard(from, stimulus)?,
            Fact::Waiting { call, on, need, until } => self.fold_waiting(*call, on, *need, *until)?,
            Fact::Woke { pause, .. } => self.fold_woke(*pause)?,
            Fact::Nudged(nudge) => self.fold_nudged(*nudge)?,
            Fact::Compacted { upto, bytes } => self.fold_compacted(*upto, *bytes)?,
            Fact::Closing(outcome) => self.fold_closing(*outcome)?,
            Fact::Closed(report) => self.fold_closed(report)?,
        }
        self.facts += 1;
        Ok(())
    }

    fn fold_asked(&mut self, id: AskId, ask: &Ask, hold: Hold, origin: Origin) -> Law {
        law(id.0 == self.asked + 1, "asks are numbered in order")?;
        self.fold_origin(origin, Placed::One)?;
        self.check_phase(ask)?;
        let ceiling = match ask {
            Ask::Model(request) => self.fold_request(id, request)?,
            Ask::Tool(call) => {
                law(
                    call.needs.beyond(&self.brief.powers.usable).is_none(),
                    "a contract has the powers that its tool call needs",
                )?;
                Hold::money(call.price)
            }
            Ask::Hire { brief, .. } => self.fold_hire(id, brief)?,
            Ask::Check(check) => {
                law(
                    self.brief.checks.get(self.round.placed) == Some(check),
                    "checks are made in the order of the brief",
                )?;
                self.round.placed += 1;
                self.round.open += 1;
                Hold::money(check.price)
            }
            Ask::Question { to, .. } => {
                law(*to == Addressee::Owner || self.brief.path.level() > 0, "a root has no hirer")?;
                self.questions.push(id);
                Hold::default()
            }
            Ask::Tell { to, what } => {
                let hire = self.live_hire(to).ok_or("only live hires are sent a stimulus")?;
                self.fold_tell(hire, what)?;
                Hold::default()
            }
        };
        law(hold == ceiling, "an ask holds its ceiling")?;
        self.purse = self.purse.hold(hold.money).ok_or("a hold is available before its ask leaves")?;
        self.heads = self.heads.hold(hold.heads).ok_or("heads are available before their hire")?;
        let pauses = match ask {
            Ask::Model(_) | Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } => true,
            Ask::Hire { mode, .. } => *mode == Mode::Blocking,
            Ask::Tell { .. } => matches!(origin, Origin::Call(_)),
        };
        // The call of a background hire is answered immediately, and the model has not been shown this answer.
        if matches!((ask, origin), (Ask::Hire { mode: Mode::Background, .. }, Origin::Call(_))) {
            self.unread = true;
            self.view.add(NOTICE_BYTES_MAX);
        }
        self.pauses += u32::from(pauses);
        self.asked = id.0;
        self.open.insert(
            id,
            Box::new(Open { ask: ask.clone(), hold, origin, pauses, ending_sent: None, waits_for_answer: false }),
        );
        Ok(())
    }

    fn fold_tell(&mut self, hire: AskId, what: &Stimulus) -> Law {
        let ending = match what {
            Stimulus::TopUp { to, money } => {
                let raised = Some(Box::new(Passing { to: to.clone(), money: *money, raised: Some(hire) }));
                return law(
                    self.passing.take() == raised,
                    "only money that was heard and added to the hire's hold is passed on",
                );
            }
            Stimulus::Message(_) => {
                self.open.get_mut(&hire).ok_or("a live hire is open")?.waits_for_answer = false;
                return Ok(());
            }
            Stimulus::WrapUp => Ending::WrapUp,
            Stimulus::Cancel => Ending::Cancel,
            Stimulus::Question(_) | Stimulus::Hire(_) => {
                return Err("only messages, money and endings are sent to a hire");
            }
        };
        self.open.get_mut(&hire).ok_or("a live hire is open")?.ending_sent = Some(ending);
        Ok(())
    }

    fn fold_request(&mut self, id: AskId, request: &Request) -> Result<Hold, &'static str> {
        let Request { upto, hears, tokens, max_tokens, turn } = request;
        law(*upto == self.facts, "a request shows all facts before it")?;
        let whole = *tokens == self.view.total();
        let due = if whole { &*self.owed } else { &[] };
        law(*hears == due, "a request lists every report that is owed, and a request that is cut lists none")?;
        law(self.pauses == 0, "a request waits for every call of the reply before it")?;
        law(
            *max_tokens <= self.brief.tariff.max_tokens,
            "a request asks for no more output tokens than the tariff allows",
        )?;
        match turn {
            Turn::Next => {
                law(whole, "an ordinary request shows and pays for the whole transcript")?;
                law(self.turns < self.brief.turns_max, "a contract asks for no more replies than its brief allows")?;
            }
            Turn::Last => {
                law(*tokens <= self.view.total(), "a last request shows no more than the transcript")?;
                law(self.request.is_none_or(|request| !request.last), "a contract makes at most one last request")?;
                self.purse = self.purse.settle(self.severance, Msat::ZERO).ok_or("the severance is held")?;
                self.severance = Msat::ZERO;
            }
        }
        self.view = View { tokens: *tokens, since: 0, ..self.view };
        self.request = Some(Requested { id, upto: *upto, tokens: *tokens, last: *turn == Turn::Last, reply: 0 });
        self.unread = false;
        self.urgent = false;
        self.final_text = None;
        self.round = Round::default();
        if whole {
            self.owed.clear();
        }
        Ok(Hold::money(self.brief.tariff.ceiling(*tokens, *max_tokens)))
    }

    fn fold_hire(&mut self, id: AskId, brief: &Brief) -> Result<Hold, &'static str> {
        let own = &*self.brief;
        law(brief.path == own.path.hire(self.hires + 1), "hires are numbered in order")?;
        law(brief.check().is_ok(), "a brief is one that a contract can work on within the laws")?;
        law(brief.grant.depth < own.grant.depth, "depth falls by one per level")?;
        let due = match (own.grant.wrap_up_at(), brief.grant.deadline) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(latest), Some(theirs)) => theirs <= latest,
        };
        law(due, "a hire's deadline leaves its hirer the wrap-up margin")?;
        law(
            own.beyond_grantable(&brief.powers).is_none(),
            "a hire's powers are within those that its hirer may grant",
        )?;
        law(brief.lineage == own.lineage.with(own.link()), "a hire's lineage is its hirer's lineage and its hirer")?;
        let mut terms = brief.terms.iter();
        law(own.terms.iter().chain(&*own.adds).all(|term| terms.next() == Some(term)), "terms are never dropped")?;
        let fork = matches!(brief.context, Context::Fork { .. });
        let candidate = Candidate { agent: &brief.agent, standing: brief.standing, task_key: brief.task_key, fork };
        law(
            self.check_candidate(candidate).is_ok(),
            "a hire is on the hirer's team, and neither it nor its task is already above it in the tree",
        )?;
        if let Context::Fork { request, upto, tokens } = brief.context {
            // The first release did not count the reply.
            let sees = |last: &Requested| {
                let known = [last.tokens, last.tokens.saturating_add(last.reply.into())];
                (last.id, last.upto) == (request, upto) && known.contains(&tokens)
            };
            law(self.request.as_ref().is_some_and(sees), "a fork sees its hirer's last request and the reply to it")?;
        }
        let heads = brief.grant.heads.plus(Heads(1)).ok_or("the number of heads is within its maximum")?;
        self.hires += 1;
        self.live.insert(self.hires, id);
        Ok(Hold { money: brief.grant.money, heads })
    }

    fn fold_answered(&mut self, id: AskId, answer: &Answer, cost: Cost) -> Law {
        let open = self.open.remove(&id).ok_or("an answer needs an open ask")?;
        law(fits(&open.ask, answer, &self.phase), "an answer is of a kind that its ask can have")?;
        let claimed = answer.report().is_none_or(|report| cost == Cost::Known(report.spent));
        law(claimed, "the cost of a hire is the spending in its report")?;
        law(
            answer.report().is_none_or(Report::adds_up),
            "the fee and the uncertain parts of a report are within its spending",
        )?;
        let heads = match answer.report() {
            Some(report) => Heads(report.heads.0.saturating_add(1)).min(open.hold.heads),
            None => Heads::ZERO,
        };
        let charge = cost.within(open.hold.money);
        self.purse = self.purse.settle(open.hold.money, charge).ok_or("an open ask holds its ceiling")?;
        self.heads = self.heads.settle(open.hold.heads, heads).ok_or("an open hire holds its heads")?;
        self.uncertain = self.uncertain.add(answer, cost, charge).ok_or("no sum exceeds the supply of bitcoin")?;
        self.pauses -= u32::from(open.pauses);
        match &open.ask {
            Ask::Model(request) => self.fold_reply(id, request, open.hold.money, charge, answer)?,
            Ask::Tool(_) => {
                self.unread = true;
                self.fold_text(answer);
                self.newest_text = answer.text().unwrap_or(self.newest_text);
            }
            Ask::Hire { brief, .. } => {
                self.live.remove(&brief.path.ordinal());
                self.owed.push(id);
                self.unread = true;
                self.fold_text(answer);
                // If a hire found nothing, its report's text is its own task, which is not a result.
                let found =
                    answer.report().map(|report| report.text).filter(|text| *text != Wording::Assembled(brief.task));
                self.newest_text = found.map_or(self.newest_text, |found| found.text());
                // A model is shown a report with its output and its task.
                let output = answer.report().and_then(|report| report.output).map_or(0, |output| output.bytes);
                self.view.add(u64::from(output) + u64::from(brief.task.bytes) + NOTICE_BYTES_MAX);
                for wait in self.waits.iter_mut().filter(|wait| wait.on.contains(&id)) {
                    wait.on.retain(|hire| *hire != id);
                    wait.ready |= wait.need == Need::Any || wait.on.is_empty();
                }
            }
            Ask::Check(_) => {
                self.round.open -= 1;
                self.round.failed |= *answer != Answer::Passed;
                self.fold_text(answer);
            }
            Ask::Question { matter, .. } => {
                self.questions.retain(|question| *question != id);
                self.unread = true;
                self.fold_text(answer);
                if let (Matter::Approval(tool), Origin::Call(call)) = (matter, open.origin) {
                    let approved = (*answer == Answer::Approved).then(|| tool.clone());
                    self.answered_approval = Some(Box::new(AnsweredApproval { call, approved }));
                }
            }
            Ask::Tell { .. } if open.pauses => {
                self.unread = true;
                self.view.add(NOTICE_BYTES_MAX);
            }
            Ask::Tell { .. } => {}
        }
        Ok(())
    }

    fn fold_reply(&mut self, id: AskId, request: &Request, hold: Msat, charge: Msat, answer: &Answer) -> Law {
        if request.turn == Turn::Last {
            // The unspent part of the severance is held again: it must not pay for anything else.
            let rest = hold.minus(charge).ok_or("the charge is at most the hold")?;
            self.severance = rest.min(self.brief.severance);
            self.purse = self.purse.hold(self.severance).ok_or("the rest of the severance is available")?;
        }
        if let Answer::Said(said) = answer {
            self.fold_said(id, said);
            return Ok(());
        }
        self.unread = true;
        // The model did not see this request, so the reports in it are owed again.
        self.owed.splice(0..0, request.hears.iter().copied());
        self.losses += u32::from(*answer == Answer::Lost);
        self.model_failed |= matches!(answer, Answer::Failed(_)) || self.losses >= LOSSES_MAX;
        if let (Answer::Failed(why), true) = (answer, self.newest_text == self.brief.task) {
            self.newest_text = *why;
        }
        Ok(())
    }

    fn fold_said(&mut self, id: AskId, said: &Said) {
        let last = self.request.is_some_and(|request| request.last);
        if let (Some(tokens), Some(request)) = (said.input_tokens, &mut self.request) {
            self.view.tokens = tokens;
            request.tokens = tokens;
        }
        if let Some(request) = &mut self.request {
            let bytes = u64::from(said.reply.bytes) + u64::from(said.calls) * NOTICE_BYTES_MAX;
            request.reply = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        self.view.add(u64::from(said.reply.bytes));
        self.turns += 1;
        self.losses = 0;
        self.newest_text = said.words.unwrap_or(self.newest_text);
        self.final_text = said
            .words
            .filter(|_| said.calls == 0 || last)
            .map(|text| Box::new(FinalText { text, output: said.output, undone: said.undone }));
        self.placing = (said.calls > 0).then_some(Placing { reply: id, next: 0, calls: said.calls });
    }

    /// Adds an answer's text to the size of the next request.
    fn fold_text(&mut self, answer: &Answer) {
        self.view.add(answer.text().map_or(NOTICE_BYTES_MAX, |text| u64::from(text.bytes)));
    }

    /// Checks that a reply's calls are decided on in order, each once. A call that needs approval is decided on again
    /// after the owner's answer.
    fn fold_origin(&mut self, origin: Origin, count: Placed) -> Law {
        let Origin::Call(call) = origin else { return Ok(()) };
        if self.answered_approval.as_ref().is_some_and(|approval| approval.call == call) {
            self.answered_approval = None;
            return law(count == Placed::One, "the calls beyond the limit, and only they, are refused together");
        }
        let placing = self.placing.as_mut().ok_or("a call belongs to the newest reply")?;
        law((placing.reply, placing.next) == (call.reply, call.index), "calls are decided on in order")?;
        let due = if call.index < CALLS_MAX { Placed::One } else { Placed::Rest };
        law(count == due, "the calls beyond the limit, and only they, are refused together")?;
        placing.next = match count {
            Placed::One => placing.next + 1,
            Placed::Rest => placing.calls,
        };
        if placing.next >= placing.calls {
            self.placing = None;
        }
        Ok(())
    }

    fn fold_refused(&mut self, why: &Refusal, origin: Origin, bytes: Option<u32>) -> Law {
        let count = if matches!(why, Refusal::TooManyCalls { .. }) { Placed::Rest } else { Placed::One };
        self.fold_origin(origin, count)?;
        match origin {
            Origin::Call(_) | Origin::Cascade => {
                self.unread = true;
                let bytes = bytes.or_else(|| why.bytes_in_form_1()).ok_or("a refusal stores the size of its text")?;
                self.view.add(u64::from(bytes));
            }
            Origin::Course => {
                law(
                    self.round.placed < self.brief.checks.len(),
                    "only a check can be refused without a call or a stimulus",
                )?;
                self.round.placed += 1;
                self.round.unpaid = true;
            }
            Origin::Outside => {
                if let Refusal::TopUpStays { to, .. } = why {
                    let heard = self.passing.take().is_some_and(|heard| heard.to == *to && heard.raised.is_none());
                    law(heard, "only money that was heard and not passed on can stay")?;
                }
            }
            Origin::Promise => {}
        }
        Ok(())
    }

    fn fold_raised(&mut self, hire: AskId, by: Msat) -> Law {
        let passing = self.passing.as_mut().ok_or("a hold is raised only by a top-up that was heard")?;
        law(
            passing.raised.is_none() && passing.money == by,
            "each top-up raises its hold once, by the amount of the top-up",
        )?;
        let way = self.brief.path.toward(&passing.to).ok_or("money is passed on only to contracts below")?;
        law(self.live.get(&way.ordinal()) == Some(&hire), "money is passed to the hire on the way to its receiver")?;
        passing.raised = Some(hire);
        let open = self.open.get_mut(&hire).ok_or("a live hire is open")?;
        self.purse = self.purse.hold(by).ok_or("a hold is raised by available money")?;
        open.hold.money = open.hold.money.plus(by).ok_or("no sum exceeds the supply of bitcoin")?;
        Ok(())
    }

    fn fold_heard(&mut self, from: &Sender, stimulus: &Stimulus) -> Law {
        law(self.heard.insert(from.clone()), "a stimulus is heard once")?;
        match stimulus {
            Stimulus::Message(text) | Stimulus::Question(text) => {
                self.view.add(u64::from(text.bytes));
                self.unread = true;
                self.urgent |= matches!((from, stimulus), (Sender::Owner { .. }, _) | (_, Stimulus::Question(_)));
                if let (Sender::Contract(key), Stimulus::Question(_)) = (from, stimulus) {
                    let asks = self.live_hire(&key.contract).and_then(|hire| self.open.get_mut(&hire));
                    if let Some(open) = asks {
                        open.waits_for_answer = true;
                    }
                }
                // In a conversation, each message from the owner resets the turns and the nudges.
                if self.brief.close_when == CloseWhen::Asked && matches!(from, Sender::Owner { .. }) {
                    self.turns = 0;
                    self.nudged.clear();
                }
            }
            Stimulus::TopUp { to, money } => {
                law(self.may_pay(from), "money comes from the hirer, and for a root from the owner")?;
                self.purse = self.purse.raised(*money).ok_or("no sum exceeds the supply of bitcoin")?;
                self.passing =
                    (*to != self.brief.path).then(|| Box::new(Passing { to: to.clone(), money: *money, raised: None }));
            }
            Stimulus::WrapUp => self.asked_to_end = self.asked_to_end.or(Some(Outcome::Exhausted(Limit::Asked))),
            Stimulus::Cancel => self.asked_to_end = Some(Outcome::Cancelled),
            Stimulus::Hire(_) => {}
        }
        Ok(())
    }

    fn fold_waiting(&mut self, call: CallRef, on: &[AskId], need: Need, until: Option<Millis>) -> Law {
        law(self.phase == Phase::Working, "a contract that is ending does not begin to wait")?;
        self.fold_origin(Origin::Call(call), Placed::One)?;
        let live = |id: &AskId| matches!(self.ask(*id), Some(Ask::Hire { .. }));
        law(on.iter().all(live), "a call waits for live hires")?;
        self.waits.push(Wait { call, on: on.to_vec(), need, until, ready: on.is_empty() });
        self.pauses += 1;
        Ok(())
    }

    fn fold_woke(&mut self, pause: Pause) -> Law {
        match pause {
            Pause::Call(call) => {
                let at =
                    self.waits.iter().position(|wait| wait.call == call).ok_or("only a pause that exists can end")?;
                self.waits.remove(at);
            }
            Pause::Hire(id) => {
                let open = self.open.get_mut(&id).ok_or("only a pause that exists can end")?;
                law(matches!(open.ask, Ask::Hire { .. }) && open.pauses, "only a pause that exists can end")?;
                open.pauses = false;
            }
        }
        self.pauses -= 1;
        self.unread = true;
        self.view.add(NOTICE_BYTES_MAX);
        Ok(())
    }

    fn fold_nudged(&mut self, nudge: Nudge) -> Law {
        law(self.phase == Phase::Working, "a contract that is ending gets no nudge")?;
        law(self.nudged.insert(nudge), "an agent gets each nudge once")?;
        self.unread = true;
        self.view.add(NOTICE_BYTES_MAX);
        Ok(())
    }

    fn fold_compacted(&mut self, upto: u32, bytes: u64) -> Law {
        let included = self.request.map_or(0, |request| request.upto);
        law(self.view.compacted < upto && upto <= included, "only facts that a request has included are shortened")?;
        self.view = View { tokens: bytes, compacted: upto, ..self.view };
        Ok(())
    }

    fn fold_closing(&mut self, outcome: Outcome) -> Law {
        let lawful = match (&self.phase, outcome) {
            (Phase::Working, Outcome::Done) => self.is_idle(),
            (Phase::Working, Outcome::Exhausted(_) | Outcome::Failed | Outcome::Cancelled) => true,
            (Phase::Closing(before), Outcome::Cancelled) => *before != Outcome::Cancelled,
            (Phase::Closing(_) | Phase::Closed(_), _) => false,
        };
        law(lawful, "a contract begins to close once, except that a cancel may follow another ending")?;
        self.phase = Phase::Closing(outcome);
        Ok(())
    }

    fn fold_closed(&mut self, report: &Report) -> Law {
        law(self.open.is_empty() && self.waits.is_empty(), "a contract closes only when it has no open asks")?;
        let outcome = match self.phase {
            Phase::Closing(outcome) => outcome,
            Phase::Working | Phase::Closed(_) => Outcome::Done,
        };
        law(report.outcome == outcome, "the report has the outcome with which the contract began to close")?;
        let fee = match report.acceptance {
            Acceptance::Accepted => self.brief.fee,
            Acceptance::NotAccepted => Msat::ZERO,
        };
        law(report.fee == fee, "only an accepted report pays the fee")?;
        let purse = self.purse.settle(self.brief.fee, fee).and_then(|purse| purse.settle(self.severance, Msat::ZERO));
        let purse = purse.ok_or("the fee and the severance are held to the end")?;
        law(purse.held() == Msat::ZERO && self.heads.held() == Heads::ZERO, "a closed contract holds nothing")?;
        law(report.spent == purse.spent(), "a report has the right spent amount")?;
        law(report.change == purse.change(), "the change is the granted money that was not spent")?;
        let Uncertain { reserved, estimated } = self.uncertain;
        law(report.reserved.is_none_or(|claimed| claimed == reserved), "a report has the right reserved amount")?;
        law(report.estimated.is_none_or(|claimed| claimed == estimated), "a report has the right estimated amount")?;
        law(
            report.heads == self.heads.spent(),
            "the used heads in a report are the heads that its contract has spent",
        )?;
        law(report.unheard == self.owed, "a report lists every report of a hire that no request included")?;
        self.purse = purse;
        self.severance = Msat::ZERO;
        self.phase = Phase::Closed(Box::new(report.clone()));
        Ok(())
    }

    /// Returns whether this sender may send money: the hirer to its hire, the owner to a root.
    pub(super) fn may_pay(&self, from: &Sender) -> bool {
        match from {
            Sender::Owner { .. } => self.brief.path.level() == 0,
            Sender::Contract(key) => self.brief.path.hirer().as_ref() == Some(&key.contract),
        }
    }
}
