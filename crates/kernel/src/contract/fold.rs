//! Facts become state, here and nowhere else. Each is checked on the way in, so that a stored journal which breaks a law
//! is named at the fact that breaks it. Nothing here decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::admit::Candidate;
use super::{
    Contract, Ending, LOSSES_MAX, LastReport, Leave, NOTICE_BYTES_MAX, Open, Passing, Phase, Placed, Placing,
    Requested, Round, Uncertain, View, Wait,
};
use crate::account::Account;
use crate::ask::{Addressee, Answer, Ask, Cost, Matter, Origin, Request, Said, Sender, Stimulus, ToolCall, Turn};
use crate::brief::{Brief, Context, Mode, Stay};
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

/// Whether an answer can be one to this ask.
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
        Answer::Words(_) => matches!(question, Some(Matter::Words(_))),
        Answer::Approved | Answer::Denied => matches!(question, Some(Matter::Approval(_))),
        Answer::NoReply => question.is_some(),
        Answer::Delivered | Answer::Gone => matches!(ask, Ask::Tell { .. }),
        Answer::Lost => leaf || question.is_some(),
        Answer::Aborted => leaf && *phase == Phase::Closing(Outcome::Cancelled),
        Answer::Failed(_) => leaf,
    }
}

/// The tool call that an ask wants leave for.
pub(super) fn approval(ask: &Ask) -> Option<&ToolCall> {
    match ask {
        Ask::Question { matter: Matter::Approval(call), .. } => Some(call),
        Ask::Question { matter: Matter::Words(_), .. }
        | Ask::Model(_)
        | Ask::Tool(_)
        | Ask::Hire { .. }
        | Ask::Check(_)
        | Ask::Tell { .. } => None,
    }
}

/// What live hires are told when their hirer begins to close so.
pub(super) fn ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Cancelled => Ending::Cancel,
        Outcome::Done | Outcome::Exhausted(_) | Outcome::Failed => Ending::WrapUp,
    }
}

impl Contract {
    pub(super) fn opened(fact: &Fact) -> Result<Contract, &'static str> {
        let Fact::Opened(brief) = fact else { return Err("a contract begins by opening") };
        law(brief.check().is_ok(), "no contract could lawfully work on this brief")?;
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
            leave: None,
            passing: None,
            turns: 0,
            losses: 0,
            view: View { tokens: opening, since: 0, compacted: 0 },
            request: None,
            unread: true,
            spoken_to: false,
            owed: Vec::new(),
            finale: None,
            newest: brief.task,
            nudged: BTreeSet::new(),
            round: Round::default(),
            heard: BTreeSet::new(),
            told: None,
            broken: false,
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
            Fact::Refused { why, origin, bytes } => self.fold_refused(why, *origin, *bytes)?,
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

    /// Says why the contract can't have come to rest here, if so: a journal is cut only between steps.
    pub(super) fn unrest(&self) -> Option<&'static str> {
        let ready = self.waits.iter().any(|wait| wait.ready);
        if ready || self.placing.is_some() || self.leave.is_some() || self.passing.is_some() {
            return Some("the journal breaks off in the middle of a step");
        }
        match self.phase {
            Phase::Working if self.told.is_some() => Some("who is asked to end begins to"),
            Phase::Working if self.open.is_empty() && !self.at_ease() => {
                Some("a contract that is not closed is owed something")
            }
            Phase::Closing(_) if self.open.is_empty() => Some("a contract with nothing open closes"),
            Phase::Closing(_) if !self.waits.is_empty() || !self.questions.is_empty() => {
                Some("who is ending waits for no more words")
            }
            Phase::Closing(outcome) => {
                let told = |id: &AskId| self.open[id].told.is_some_and(|told| told == ending(outcome));
                (!self.live.values().all(told)).then_some("who is ending tells its hires")
            }
            Phase::Working | Phase::Closed(_) => None,
        }
    }

    fn fold_asked(&mut self, id: AskId, ask: &Ask, hold: Hold, origin: Origin) -> Law {
        law(id.0 == self.asked + 1, "asks are numbered in order")?;
        self.fold_origin(origin, Placed::One)?;
        self.check_phase(ask)?;
        let ceiling = match ask {
            Ask::Model(request) => self.fold_request(id, request)?,
            Ask::Tool(call) => {
                law(call.needs.beyond(&self.brief.powers.usable).is_none(), "a tool needs powers that are there")?;
                Hold::money(call.price)
            }
            Ask::Hire { brief, .. } => self.fold_hire(id, brief)?,
            Ask::Check(check) => {
                law(self.brief.checks.get(self.round.placed) == Some(check), "checks are the brief's, in order")?;
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
                let hire = self.live_hire(to).ok_or("only live hires are told something")?;
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
        // A background hire answers its call at once, and that the model has not been shown.
        if matches!((ask, origin), (Ask::Hire { mode: Mode::Background, .. }, Origin::Call(_))) {
            self.unread = true;
            self.view.add(NOTICE_BYTES_MAX);
        }
        self.pauses += u32::from(pauses);
        self.asked = id.0;
        self.open.insert(id, Box::new(Open { ask: ask.clone(), hold, origin, pauses, told: None, asks: false }));
        Ok(())
    }

    fn fold_tell(&mut self, hire: AskId, what: &Stimulus) -> Law {
        let ending = match what {
            Stimulus::TopUp { to, money } => {
                let raised = Some(Box::new(Passing { to: to.clone(), money: *money, raised: Some(hire) }));
                return law(self.passing.take() == raised, "only money that was heard and set aside is passed on");
            }
            Stimulus::Message(_) => {
                self.open.get_mut(&hire).ok_or("a live hire is open")?.asks = false;
                return Ok(());
            }
            Stimulus::WrapUp => Ending::WrapUp,
            Stimulus::Cancel => Ending::Cancel,
            Stimulus::Question(_) | Stimulus::Hire(_) => return Err("only words, money and endings are passed on"),
        };
        self.open.get_mut(&hire).ok_or("a live hire is open")?.told = Some(ending);
        Ok(())
    }

    /// Which asks a contract may make as it ends.
    fn check_phase(&self, ask: &Ask) -> Law {
        let told = |wanted: &[Stimulus]| match ask {
            Ask::Tell { what, .. } => wanted.contains(what),
            Ask::Model(_) | Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } => false,
        };
        let last = matches!(ask, Ask::Model(Request { turn: Turn::Last, .. }));
        match self.phase {
            Phase::Working => law(!last, "the severance is for the last request only"),
            Phase::Closing(Outcome::Cancelled) => {
                law(told(&[Stimulus::Cancel]), "after a cancel nothing is asked but to pass it on")
            }
            Phase::Closing(Outcome::Failed) => law(told(&[Stimulus::WrapUp]), "after a failure nothing is asked"),
            Phase::Closing(Outcome::Exhausted(_)) => {
                let ending = last || matches!(ask, Ask::Check(_)) || told(&[Stimulus::WrapUp]);
                law(ending, "who wraps up asks for one last reply and its checks")
            }
            Phase::Closing(Outcome::Done) => law(matches!(ask, Ask::Check(_)), "who is done asks for its checks"),
            Phase::Closed(_) => Err("a closed contract asks nothing"),
        }
    }

    fn fold_request(&mut self, id: AskId, request: &Request) -> Result<Hold, &'static str> {
        let Request { upto, hears, tokens, max_tokens, turn } = request;
        law(*upto == self.facts, "a request shows all facts before it")?;
        let whole = *tokens == self.view.total();
        let heard = if whole { &*self.owed } else { &[] };
        law(*hears == heard, "a request includes every report that is owed, and one that is cut includes none")?;
        law(self.pauses == 0, "a request waits for every call of the reply before it")?;
        law(*max_tokens <= self.brief.tariff.max_tokens, "a reply has a longest length")?;
        match turn {
            Turn::Next => {
                law(whole, "a request pays for all that it shows")?;
                law(self.turns < self.brief.turns_max, "a contract has so many turns")?;
            }
            Turn::Last => {
                law(*tokens <= self.view.total(), "a last request shows no more than there is")?;
                law(self.request.is_none_or(|request| !request.last), "there is one last request")?;
                self.purse = self.purse.settle(self.severance, Msat::ZERO).ok_or("the severance is held")?;
                self.severance = Msat::ZERO;
            }
        }
        self.view = View { tokens: *tokens, since: 0, ..self.view };
        self.request = Some(Requested { id, upto: *upto, tokens: *tokens, last: *turn == Turn::Last, reply: 0 });
        self.unread = false;
        self.spoken_to = false;
        self.finale = None;
        self.round = Round::default();
        if whole {
            self.owed.clear();
        }
        Ok(Hold::money(self.brief.tariff.ceiling(*tokens, *max_tokens)))
    }

    fn fold_hire(&mut self, id: AskId, brief: &Brief) -> Result<Hold, &'static str> {
        let own = &*self.brief;
        law(brief.path == own.path.hire(self.hires + 1), "hires are numbered in order")?;
        law(brief.check().is_ok(), "no contract could lawfully work on this brief")?;
        law(brief.grant.depth < own.grant.depth, "depth falls by one per level")?;
        let due = match (own.grant.wrap_up_at(), brief.grant.deadline) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(latest), Some(theirs)) => theirs <= latest,
        };
        law(due, "a hire's deadline leaves its hirer the wrap-up margin")?;
        law(own.beyond_grantable(&brief.powers).is_none(), "powers are granted, not made")?;
        law(brief.lineage == own.lineage.with(own.link()), "a hire knows who hired it")?;
        let mut terms = brief.terms.iter();
        law(own.terms.iter().chain(&*own.adds).all(|term| terms.next() == Some(term)), "terms are never dropped")?;
        let fork = matches!(brief.context, Context::Fork { .. });
        let candidate = Candidate { agent: &brief.agent, standing: brief.standing, task_key: brief.task_key, fork };
        law(self.object_to(candidate).is_ok(), "only who is on the team and not in line already is hired")?;
        if let Context::Fork { request, upto, tokens } = brief.context {
            // The first release left the reply out.
            let sees = |last: &Requested| {
                let known = [last.tokens, last.tokens.saturating_add(last.reply.into())];
                (last.id, last.upto) == (request, upto) && known.contains(&tokens)
            };
            law(self.request.as_ref().is_some_and(sees), "a fork sees its hirer's last request and the reply to it")?;
        }
        let heads = brief.grant.heads.plus(Heads(1)).ok_or("heads can be counted")?;
        self.hires += 1;
        self.live.insert(self.hires, id);
        Ok(Hold { money: brief.grant.money, heads })
    }

    fn fold_answered(&mut self, id: AskId, answer: &Answer, cost: Cost) -> Law {
        let open = self.open.remove(&id).ok_or("an answer needs an open ask")?;
        law(fits(&open.ask, answer, &self.phase), "an answer fits its ask")?;
        let claimed = answer.report().is_none_or(|report| cost == Cost::Known(report.spent));
        law(claimed, "a hire costs what its report says was spent")?;
        law(answer.report().is_none_or(Report::adds_up), "a report's parts are within what was spent")?;
        let heads = match answer.report() {
            Some(report) => Heads(report.heads.0.saturating_add(1)).min(open.hold.heads),
            None => Heads::ZERO,
        };
        let charge = cost.within(open.hold.money);
        self.purse = self.purse.settle(open.hold.money, charge).ok_or("an open ask holds its ceiling")?;
        self.heads = self.heads.settle(open.hold.heads, heads).ok_or("an open hire holds its heads")?;
        self.uncertain = self.uncertain.add(answer, cost, charge).ok_or("there is only so much money")?;
        self.pauses -= u32::from(open.pauses);
        match &open.ask {
            Ask::Model(request) => self.fold_reply(id, request, open.hold.money, charge, answer)?,
            Ask::Tool(_) => {
                self.unread = true;
                self.fold_text(answer);
                self.newest = answer.text().unwrap_or(self.newest);
            }
            Ask::Hire { brief, .. } => {
                self.live.remove(&brief.path.ordinal());
                self.owed.push(id);
                self.unread = true;
                self.fold_text(answer);
                // Of a hire that came to nothing the text is its own task: that is nothing that anybody found.
                let found =
                    answer.report().map(|report| report.text).filter(|text| *text != Wording::Assembled(brief.task));
                self.newest = found.map_or(self.newest, |found| found.text());
                // A report is shown with its output, and with the task that it is about.
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
                    self.leave = Some(Box::new(Leave { call, approved }));
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
            // What the last request leaves of the severance pays for nothing else.
            let rest = hold.minus(charge).ok_or("no more is charged than was held")?;
            self.severance = rest.min(self.brief.severance);
            self.purse = self.purse.hold(self.severance).ok_or("the rest of the severance is there")?;
        }
        if let Answer::Said(said) = answer {
            self.fold_said(id, said);
            return Ok(());
        }
        self.unread = true;
        // Nobody heard what that request included.
        self.owed.splice(0..0, request.hears.iter().copied());
        self.losses += u32::from(*answer == Answer::Lost);
        self.broken |= matches!(answer, Answer::Failed(_)) || self.losses >= LOSSES_MAX;
        if let (Answer::Failed(why), true) = (answer, self.newest == self.brief.task) {
            self.newest = *why;
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
        self.newest = said.words.unwrap_or(self.newest);
        self.finale = said.words.filter(|_| said.calls == 0 || last).map(|text| LastReport {
            text,
            output: said.output,
            undone: said.undone,
        });
        self.placing = (said.calls > 0).then_some(Placing { reply: id, next: 0, calls: said.calls });
    }

    /// Adds an answer's text to what the next request shows.
    fn fold_text(&mut self, answer: &Answer) {
        self.view.add(answer.text().map_or(NOTICE_BYTES_MAX, |text| u64::from(text.bytes)));
    }

    /// A reply's calls are placed in order, each once; one that was approved is placed a second time.
    fn fold_origin(&mut self, origin: Origin, count: Placed) -> Law {
        let Origin::Call(call) = origin else { return Ok(()) };
        if self.leave.as_ref().is_some_and(|leave| leave.call == call) {
            self.leave = None;
            return law(count == Placed::One, "only so many calls of a reply are considered");
        }
        let placing = self.placing.as_mut().ok_or("a call belongs to the newest reply")?;
        law((placing.reply, placing.next) == (call.reply, call.index), "calls are placed in order")?;
        let due = if call.index < CALLS_MAX { Placed::One } else { Placed::Rest };
        law(count == due, "only so many calls of a reply are considered")?;
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
                let bytes = bytes.or_else(|| why.bytes_in_form_1()).ok_or("a refusal says how long its reason is")?;
                self.view.add(u64::from(bytes));
            }
            Origin::Course => {
                law(self.round.placed < self.brief.checks.len(), "only a check is refused in the course of things")?;
                self.round.placed += 1;
                self.round.unpaid = true;
            }
            Origin::Outside => {
                if let Refusal::TopUpStays { to, .. } = why {
                    let heard = self.passing.take().is_some_and(|heard| heard.to == *to && heard.raised.is_none());
                    law(heard, "only money that was heard can stay")?;
                }
            }
            Origin::Promise => {}
        }
        Ok(())
    }

    fn fold_raised(&mut self, hire: AskId, by: Msat) -> Law {
        let passing = self.passing.as_mut().ok_or("a hold is raised by money that was heard")?;
        law(passing.raised.is_none() && passing.money == by, "a hold is raised once, by money that was heard")?;
        let way = self.brief.path.toward(&passing.to).ok_or("money goes down")?;
        law(self.live.get(&way.ordinal()) == Some(&hire), "money goes to the hire on its way")?;
        passing.raised = Some(hire);
        let open = self.open.get_mut(&hire).ok_or("a live hire is open")?;
        self.purse = self.purse.hold(by).ok_or("a hold is raised by money that is there")?;
        open.hold.money = open.hold.money.plus(by).ok_or("there is only so much money")?;
        Ok(())
    }

    fn fold_heard(&mut self, from: &Sender, stimulus: &Stimulus) -> Law {
        law(self.heard.insert(from.clone()), "a stimulus is heard once")?;
        match stimulus {
            Stimulus::Message(text) | Stimulus::Question(text) => {
                self.view.add(u64::from(text.bytes));
                self.unread = true;
                self.spoken_to |= matches!((from, stimulus), (Sender::Owner { .. }, _) | (_, Stimulus::Question(_)));
                if let (Sender::Contract(key), Stimulus::Question(_)) = (from, stimulus) {
                    let asks = self.live_hire(&key.contract).and_then(|hire| self.open.get_mut(&hire));
                    if let Some(open) = asks {
                        open.asks = true;
                    }
                }
                // A conversation begins anew with each thing the owner says.
                if self.brief.stay == Stay::Open && matches!(from, Sender::Owner { .. }) {
                    self.turns = 0;
                    self.nudged.clear();
                }
            }
            Stimulus::TopUp { to, money } => {
                law(self.pays(from), "money comes from one's hirer, and a root's from its owner")?;
                self.purse = self.purse.raised(*money).ok_or("there is only so much money")?;
                self.passing =
                    (*to != self.brief.path).then(|| Box::new(Passing { to: to.clone(), money: *money, raised: None }));
            }
            Stimulus::WrapUp => self.told = self.told.or(Some(Outcome::Exhausted(Limit::Asked))),
            Stimulus::Cancel => self.told = Some(Outcome::Cancelled),
            Stimulus::Hire(_) => {}
        }
        Ok(())
    }

    fn fold_waiting(&mut self, call: CallRef, on: &[AskId], need: Need, until: Option<Millis>) -> Law {
        law(self.phase == Phase::Working, "who is ending waits for nothing new")?;
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
                let at = self.waits.iter().position(|wait| wait.call == call).ok_or("only what waits can wake")?;
                self.waits.remove(at);
            }
            Pause::Hire(id) => {
                let open = self.open.get_mut(&id).ok_or("only what waits can wake")?;
                law(matches!(open.ask, Ask::Hire { .. }) && open.pauses, "only what waits can wake")?;
                open.pauses = false;
            }
        }
        self.pauses -= 1;
        self.unread = true;
        self.view.add(NOTICE_BYTES_MAX);
        Ok(())
    }

    fn fold_nudged(&mut self, nudge: Nudge) -> Law {
        law(self.phase == Phase::Working, "who is ending is not nudged")?;
        law(self.nudged.insert(nudge), "an agent is told once")?;
        self.unread = true;
        self.view.add(NOTICE_BYTES_MAX);
        Ok(())
    }

    fn fold_compacted(&mut self, upto: u32, bytes: u64) -> Law {
        let included = self.request.map_or(0, |request| request.upto);
        law(self.view.compacted < upto && upto <= included, "only what a request has included is shortened")?;
        self.view = View { tokens: bytes, compacted: upto, ..self.view };
        Ok(())
    }

    fn fold_closing(&mut self, outcome: Outcome) -> Law {
        let lawful = match (&self.phase, outcome) {
            (Phase::Working, Outcome::Done) => self.at_ease(),
            (Phase::Working, Outcome::Exhausted(_) | Outcome::Failed | Outcome::Cancelled) => true,
            (Phase::Closing(before), Outcome::Cancelled) => *before != Outcome::Cancelled,
            (Phase::Closing(_) | Phase::Closed(_), _) => false,
        };
        law(lawful, "a contract begins to close once, and only a cancel can cut that short")?;
        self.phase = Phase::Closing(outcome);
        Ok(())
    }

    fn fold_closed(&mut self, report: &Report) -> Law {
        law(self.open.is_empty() && self.waits.is_empty(), "a contract closes when nothing it asked is open")?;
        let outcome = match self.phase {
            Phase::Closing(outcome) => outcome,
            Phase::Working | Phase::Closed(_) => Outcome::Done,
        };
        law(report.outcome == outcome, "a contract ends as it began to close")?;
        let fee = match report.acceptance {
            Acceptance::Accepted => self.brief.fee,
            Acceptance::NotAccepted => Msat::ZERO,
        };
        law(report.fee == fee, "only an accepted report pays the fee")?;
        let purse = self.purse.settle(self.brief.fee, fee).and_then(|purse| purse.settle(self.severance, Msat::ZERO));
        let purse = purse.ok_or("the fee and the severance are held to the end")?;
        law(purse.held() == Msat::ZERO && self.heads.held() == Heads::ZERO, "a closed contract holds nothing")?;
        law(report.spent == purse.spent(), "a report says what was spent")?;
        law(report.change == purse.change(), "the change is what was granted and not spent")?;
        let Uncertain { reserved, estimated } = self.uncertain;
        law(report.reserved.is_none_or(|said| said == reserved), "a report says what is reserved")?;
        law(report.estimated.is_none_or(|said| said == estimated), "a report says what is estimated")?;
        law(report.heads == self.heads.spent(), "a report says how many heads were used")?;
        law(report.unheard == self.owed, "a report lists every report that nobody heard")?;
        self.purse = purse;
        self.severance = Msat::ZERO;
        self.phase = Phase::Closed(Box::new(report.clone()));
        Ok(())
    }

    /// Whether money from there is lawful: it moves one hop at a time, and a person pays a root.
    pub(super) fn pays(&self, from: &Sender) -> bool {
        match from {
            Sender::Owner { .. } => self.brief.path.level() == 0,
            Sender::Contract(key) => self.brief.path.hirer().as_ref() == Some(&key.contract),
        }
    }
}
