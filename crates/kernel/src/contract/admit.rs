//! Admits or refuses the calls of a reply, one by one. All checks come first; a refusal costs nothing.

use std::sync::Arc;

use super::share::{Place, Share, Want};
use super::{Contract, Phase};
use crate::ask::{Addressee, Ask, Matter, Origin, Stimulus, ToolCall};
use crate::brief::{Brief, CloseWhen, Context, Grant, Inherit, Link, Mode, Offer, Standing};
use crate::fact::{Fact, Hold, Pause, Waking};
use crate::input::{CALLS_MAX, Call, Need, Reply};
use crate::money::{Heads, Msat, Quantity};
use crate::name::AgentName;
use crate::path::{AskId, CallRef, Path};
use crate::refusal::{MESSAGE_BYTES_MAX, Refusal};
use crate::repeats::REPEATS_MAX;
use crate::report::{Nudge, Outcome, Undone};
use crate::text::{Hash, TextRef};
use crate::time::Millis;

/// A hire whose report is due sooner than this is refused: there would be no time to work.
const WORK_TIME_MIN: Millis = Millis(1_000);

/// A task that this many contracts above a hire have is not given to the hire again.
const SAME_TASK_ABOVE_MAX: u32 = 3;

impl Contract {
    /// Processes a reply while the contract works: its calls in order, or the verdict if there are no calls.
    pub(super) fn take_reply(&mut self, id: AskId, reply: Reply, now: Millis, facts: &mut Vec<Fact>) {
        if let Some(shorter) = reply.verdict.compact
            && self.view.compacted < shorter.upto
            && self.request.is_some_and(|request| shorter.upto <= request.upto)
        {
            self.emit(Fact::Compacted { upto: shorter.upto, bytes: shorter.bytes }, facts);
        }
        if reply.calls.is_empty() && self.part.is_none() {
            return self.apply_verdict(&reply, now, facts);
        }
        let wants: Vec<Want<'_>> = reply.calls.iter().take(CALLS_MAX as usize).map(Want::of).collect();
        let mut places = self.places(&wants, now).into_iter();
        let mut later = Later::of(&wants);
        self.place(id, reply.calls, facts, |contract, call, at, facts| {
            later.pass(&call);
            contract.admit(call, at, &mut places, later, now, facts);
        });
        // An urgent message that came while the model worked must not wait for the hires of this reply: such a hire may
        // wait for this contract.
        if self.urgent {
            self.detach(facts);
        }
    }

    /// Refuses all calls of a reply that comes when the contract is ending.
    pub(super) fn refuse_calls(&mut self, id: AskId, calls: Vec<Call>, facts: &mut Vec<Fact>) {
        self.place(id, calls, facts, |contract, call, at, facts| {
            if let Call::Hire(offer) = call {
                contract.refuse_hire(Refusal::Closing, &offer, Origin::Call(at), facts);
            } else {
                contract.refuse(Refusal::Closing, Origin::Call(at), facts);
            }
        });
    }

    /// Handles a reply's calls in order; all calls beyond the limit are refused together.
    fn place(
        &mut self,
        reply: AskId,
        calls: Vec<Call>,
        facts: &mut Vec<Fact>,
        mut each: impl FnMut(&mut Contract, Call, CallRef, &mut Vec<Fact>),
    ) {
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        for (index, call) in (0..CALLS_MAX).zip(calls) {
            each(self, call, CallRef { reply, index }, facts);
        }
        if count > CALLS_MAX {
            let call = CallRef { reply, index: CALLS_MAX };
            self.refuse(Refusal::TooManyCalls { calls: count }, Origin::Call(call), facts);
        }
    }

    /// Applies the agent layer's verdict on a final text: give the nudge about what is undone, if the agent has not had it
    /// yet; otherwise hire.
    fn apply_verdict(&mut self, reply: &Reply, now: Millis, facts: &mut Vec<Fact>) {
        let nudge = match (reply.words, reply.confirms) {
            (_, true) => None,
            (None, false) => Some(Nudge::Empty),
            (Some(_), false) => reply.verdict.undone.map(Undone::nudge),
        };
        match nudge {
            Some(nudge) if self.can_nudge(nudge) => self.emit(Fact::Nudged(nudge), facts),
            Some(Nudge::Empty) => self.begin_closing(Outcome::Failed, facts),
            Some(Nudge::Required | Nudge::ConfirmReport | Nudge::FixReport) | None => {
                let offers = &reply.verdict.then_hire;
                let places = self.places(&offers.iter().map(Want::Hire).collect::<Vec<_>>(), now);
                for (offer, place) in offers.iter().zip(places) {
                    self.place_hire(offer, Origin::Cascade, place, Later::default(), now, facts);
                }
            }
        }
    }

    /// Returns whether the agent can be given a nudge: only once, and only if another turn can follow. After an empty
    /// reply there is no text to fall back on, so the contract always tries another turn. Nobody asks whether a text is the
    /// report if it is cut, or if the agent has not read all that came meanwhile: its next reply is about that.
    fn can_nudge(&self, nudge: Nudge) -> bool {
        let is_no_report = nudge == Nudge::ConfirmReport && (self.wording_is_cut() || self.unread);
        let can_follow = nudge == Nudge::Empty || self.has_another_turn();
        !self.nudged.contains(&nudge) && can_follow && !is_no_report
    }

    /// Admits or refuses one call, or lets it wait. Each hire of a reply takes the next place.
    fn admit(
        &mut self,
        call: Call,
        at: CallRef,
        places: &mut impl Iterator<Item = Place>,
        later: Later,
        now: Millis,
        facts: &mut Vec<Fact>,
    ) {
        let origin = Origin::Call(at);
        match call {
            Call::Tool { call, approval: None } => self.admit_tool(call, origin, facts),
            Call::Tool { call, approval: Some(until) } => {
                match self.missing_power(&call).or_else(|| self.repeated(&call)) {
                    Some(why) => self.refuse(why, origin, facts),
                    None => self.ask_question(Addressee::Owner, Matter::Approval(call), until, origin, facts),
                }
            }
            Call::Hire(offer) => {
                let place = places.next().expect("every hire of a reply has a place");
                self.place_hire(&offer, origin, place, later, now, facts);
            }
            Call::Wait { on, need, until } => self.admit_wait(&on, need, until, at, facts),
            Call::Stop(to) => self.admit_stop(to, origin, facts),
            Call::Message { to, text } => match too_long(text) {
                Some(why) => self.refuse(why, origin, facts),
                None => self.admit_tell(to, Stimulus::Message(text), origin, facts),
            },
            Call::AskHirer { question, until } => match too_long(question) {
                Some(why) => self.refuse(why, origin, facts),
                None => self.ask_question(self.hirer(), Matter::Text(question), until, origin, facts),
            },
            Call::Invalid(why) => self.refuse(why.into(), origin, facts),
        }
    }

    pub(super) fn missing_power(&self, call: &ToolCall) -> Option<Refusal> {
        let power = call.needs.beyond(&self.brief.powers.usable)?.clone();
        Some(Refusal::NoPower { tool: call.tool.clone(), power })
    }

    fn repeated(&self, call: &ToolCall) -> Option<Refusal> {
        let times = self.repeats.of(call);
        (times >= REPEATS_MAX).then(|| Refusal::Repeated { tool: call.tool.clone(), times })
    }

    pub(super) fn admit_tool(&mut self, call: ToolCall, origin: Origin, facts: &mut Vec<Fact>) {
        let (price, free) = (call.price, self.purse.available());
        if let Some(why) = self.missing_power(&call).or_else(|| self.repeated(&call)) {
            return self.refuse(why, origin, facts);
        }
        if price > free {
            return self.refuse(Refusal::Money { asked: price, free, minimum: price }, origin, facts);
        }
        self.emit_ask(Ask::Tool(call), Hold::money(price), origin, facts);
    }

    fn ask_question(&mut self, to: Addressee, matter: Matter, until: Millis, origin: Origin, facts: &mut Vec<Fact>) {
        self.emit_ask(Ask::Question { to, matter, until }, Hold::default(), origin, facts);
    }

    /// Returns who hired the contract: a root's hirer is its owner.
    fn hirer(&self) -> Addressee {
        if self.brief.path.level() == 0 { Addressee::Owner } else { Addressee::Hirer }
    }

    /// Stops a hire. A hire that waits for money has no contract yet, so the hire is given up here.
    fn admit_stop(&mut self, hire: Path, origin: Origin, facts: &mut Vec<Fact>) {
        match self.waiting_hire(&hire) {
            None => self.admit_tell(hire, Stimulus::Cancel, origin, facts),
            Some(ordinal) => {
                self.refuse(Refusal::StoppedBeforeStart { hire }, origin, facts);
                self.drop_queued(ordinal, facts);
            }
        }
    }

    fn admit_tell(&mut self, to: Path, what: Stimulus, origin: Origin, facts: &mut Vec<Fact>) {
        if self.waiting_hire(&to).is_some() {
            return self.refuse(Refusal::NotStarted { hire: to }, origin, facts);
        }
        if self.live_hire(&to).is_none() {
            return self.refuse(Refusal::UnknownHire { hire: to }, origin, facts);
        }
        self.emit_ask(Ask::Tell { to, what }, Hold::default(), origin, facts);
    }

    fn admit_wait(&mut self, on: &[Path], need: Need, until: Option<Millis>, call: CallRef, facts: &mut Vec<Fact>) {
        let own = |hire: &Path| hire.hirer().as_ref() == Some(&self.brief.path) && hire.ordinal() <= self.hires;
        // A report that the model has not been shown ends such a wait at once.
        let is_over = need == Need::Any && on.is_empty() && !self.owed.is_empty();
        let refusal = match on.iter().find(|hire| !own(hire)) {
            _ if is_over => None,
            Some(unknown) => Some(Refusal::UnknownHire { hire: unknown.clone() }),
            None if on.is_empty() && self.live.is_empty() && self.queue.is_empty() => Some(Refusal::NothingToAwait),
            // Such a hire waits for a message that can't come while this contract waits for the hire.
            None => self.asker_among(on).map(|hire| Refusal::AskedYou { hire }),
        };
        if let Some(why) = refusal {
            return self.refuse(why, Origin::Call(call), facts);
        }
        let unreported = |hire: &Path| self.live_hire(hire).is_some() || self.waiting_hire(hire).is_some();
        let mut live: Vec<u32> = match on {
            [] => self.live.keys().chain(self.queue.keys()).copied().collect(),
            named => named.iter().filter(|hire| unreported(hire)).map(Path::ordinal).collect(),
        };
        // One of the unclears has reported already, so a wait for any of them is over.
        if is_over || need == Need::Any && live.len() < on.len() {
            live.clear();
        }
        live.sort_unstable();
        live.dedup();
        self.emit(Fact::Waiting { call, on: live, need, until }, facts);
        self.wake_ready(facts);
    }

    /// Returns the first of these hires (of all hires, if the list is empty) that waits for an answer from this
    /// contract.
    fn asker_among(&self, on: &[Path]) -> Option<Path> {
        let asks = |hire: &Path| self.live_hire(hire).is_some_and(|id| self.open[&id].waits_for_answer);
        match on {
            [] => self.live.keys().map(|ordinal| self.brief.path.hire(*ordinal)).find(asks),
            named => named.iter().find(|hire| asks(hire)).cloned(),
        }
    }

    /// Ends the waits whose hires have reported.
    pub(super) fn wake_ready(&mut self, facts: &mut Vec<Fact>) {
        let ready: Vec<CallRef> = self.waits.iter().filter(|wait| wait.ready).map(|wait| wait.call).collect();
        for call in ready {
            self.emit(Fact::Woke { pause: Pause::Call(call), why: Waking::Reported }, facts);
        }
    }

    /// Admits, refuses or queues a new hire. Nobody overtakes a hire that waits.
    pub(super) fn place_hire(
        &mut self,
        offer: &Offer,
        origin: Origin,
        place: Place,
        later: Later,
        now: Millis,
        facts: &mut Vec<Fact>,
    ) {
        let context = self.context_of(offer);
        let place = match place {
            Place::Admit(share) if self.row_is_empty() => {
                match self.consider(offer, context.clone(), self.hires + 1, share, now) {
                    Ok(brief) => return self.emit_hire(brief, offer.mode, origin, facts),
                    Err(Refusal::Money { .. }) => Place::Queue,
                    Err(why) => Place::Refuse(why),
                }
            }
            Place::Admit(_) => Place::Behind,
            Place::Queue | Place::Behind | Place::Refuse(_) => place,
        };
        match place {
            Place::Refuse(why) => self.refuse_hire(self.as_of_now(why), offer, origin, facts),
            Place::Admit(_) | Place::Behind => self.queue_hire(offer, context, origin, facts),
            Place::Queue if self.may_queue(offer.mode, later) => self.queue_hire(offer, context, origin, facts),
            Place::Queue => {
                let (minimum, free) = (self.minimum_of(offer, &context), self.pot());
                self.refuse_hire(Refusal::Money { asked: minimum, free, minimum }, offer, origin, facts);
            }
        }
    }

    /// Returns whether there is something that a new hire may wait for. If nothing moves, the contract draws for its hires.
    fn may_queue(&self, mode: Mode, later: Later) -> bool {
        let draws = self.is_stuck() && self.brief.path.level() > 0;
        !self.row_is_empty() || draws || later.holds_money() || self.may_wait(mode)
    }

    /// Lets a hire wait for money, unless more hires wait than heads are free.
    fn queue_hire(&mut self, offer: &Offer, context: Context, origin: Origin, facts: &mut Vec<Fact>) {
        let (asked, free) = (Heads(u32::try_from(self.queue.len()).unwrap_or(u32::MAX)), self.heads.available());
        if asked >= free {
            let asked = Heads(asked.0.saturating_add(1));
            return self.refuse_hire(Refusal::NoHeads { asked, free }, offer, origin, facts);
        }
        let (ordinal, offer) = (self.hires + 1, Box::new(offer.clone()));
        self.emit(Fact::Queued { origin, ordinal, offer, context }, facts);
    }

    /// Records a hire.
    pub(super) fn emit_hire(&mut self, brief: Brief, mode: Mode, origin: Origin, facts: &mut Vec<Fact>) {
        let heads = brief.grant.heads.plus(Heads(1)).expect("a considered hire's heads are free");
        let hold = Hold { money: brief.grant.money, heads };
        self.emit_ask(Ask::Hire { brief: Arc::new(brief), mode }, hold, origin, facts);
    }

    fn refuse_hire(&mut self, why: Refusal, offer: &Offer, origin: Origin, facts: &mut Vec<Fact>) {
        let (bytes, agent) = (why.bytes(), Some(self.candidate(offer).agent.clone()));
        self.emit(Fact::Refused { why, origin, bytes, agent, ordinal: None }, facts);
    }

    /// Corrects the available amount in a refusal: other hires of the reply may have used it since the shares were
    /// computed.
    fn as_of_now(&self, why: Refusal) -> Refusal {
        if let Refusal::Money { asked, free, minimum } = why {
            return Refusal::Money { asked, free: free.min(self.purse.available()), minimum };
        }
        if let Refusal::NoHeads { asked, free } = why {
            return Refusal::NoHeads { asked, free: free.min(self.heads.available()) };
        }
        why
    }

    /// Makes a brief from an offer and its share, or returns the refusal.
    pub(super) fn consider(
        &self,
        offer: &Offer,
        context: Context,
        ordinal: u32,
        share: Share,
        now: Millis,
    ) -> Result<Brief, Refusal> {
        // The shares count on some calls of the reply being refused. Another call may have used that money.
        let (asked, free) = (share.money, self.purse.available());
        let brief = self.draft(offer, context, ordinal, share, now);
        if asked > free {
            return Err(Refusal::Money { asked, free, minimum: brief.minimum() });
        }
        brief.check()?;
        Ok(brief)
    }

    /// Checks an offer against every law that does not depend on the available money and heads.
    pub(super) fn check_offer(&self, offer: &Offer, now: Millis) -> Result<(), Refusal> {
        let own = &*self.brief;
        if self.phase != Phase::Working {
            return Err(Refusal::Closing);
        }
        self.check_candidate(self.candidate(offer))?;
        let (asked, left) = (offer.depth.unwrap_or(0), own.grant.depth);
        if asked >= left {
            return Err(Refusal::TooDeep { asked: asked.saturating_add(1), left });
        }
        match self.due(offer) {
            Some(deadline) if deadline.before(WORK_TIME_MIN) <= now => {
                return Err(Refusal::Deadline { deadline, now });
            }
            Some(_) | None => {}
        }
        match own.beyond_grantable(&offer.powers) {
            Some(power) => Err(Refusal::Powers { power: power.clone() }),
            None => Ok(()),
        }
    }

    /// Law 9: a contract hires only agents of its team, not its own agent, not an agent above it, and no agent for a
    /// task that the same agent above it already has. Only names of listed agents are compared, because an ad-hoc
    /// specialist may have the name of a listed agent.
    pub(super) fn check_candidate(&self, candidate: Candidate<'_>) -> Result<(), Refusal> {
        let Candidate { agent, standing, task_key, fork } = candidate;
        let Some(hiring) = &self.brief.hiring else { return Err(Refusal::CantHire) };
        let ad_hoc = standing == Standing::AdHoc;
        let known = if ad_hoc { hiring.ad_hoc } else { hiring.team.contains(agent) };
        // An agent that names itself gets the refusal for that, even if it is not on its own team: the list of the team
        // would not explain the mistake.
        let own = self.brief.link();
        if !fork && !known && !ad_hoc && !hiring.recursive && own.is_listed(agent) {
            return Err(Refusal::SelfHire);
        }
        if !fork && !known {
            let team = hiring.team.iter().filter(|listed| *listed != agent).cloned().collect();
            return Err(Refusal::UnknownAgent { agent: agent.clone(), team });
        }
        let above = || std::iter::once(&own).chain(self.brief.lineage.upward());
        let same = |link: &&Link| link.task_key == task_key && (ad_hoc || link.is_listed(agent));
        if let Some(link) = above().find(same) {
            return Err(Refusal::SameTask { agent: link.agent.clone() });
        }
        let times = u32::try_from(above().filter(|link| link.task_key == task_key).count()).unwrap_or(u32::MAX);
        if times >= SAME_TASK_ABOVE_MAX {
            return Err(Refusal::PassedOn { times });
        }
        if fork || ad_hoc || hiring.recursive {
            return Ok(());
        }
        match above().position(|link| link.is_listed(agent)) {
            None => Ok(()),
            Some(0) => Err(Refusal::SelfHire),
            Some(level) => {
                let mut way: Vec<_> = above().take(level + 1).map(|link| link.agent.clone()).collect();
                way.reverse();
                way.push(agent.clone());
                Err(Refusal::Cycle { way })
            }
        }
    }

    /// Returns the agent that would be hired: a fork has the same agent as its hirer, whatever agent the offer names.
    pub(super) fn candidate<'a>(&'a self, offer: &'a Offer) -> Candidate<'a> {
        let fork = offer.inherit == Inherit::Fork;
        let (agent, standing) =
            if fork { (&self.brief.agent, self.brief.standing) } else { (&offer.agent, offer.standing) };
        Candidate { agent, standing, task_key: offer.task_key, fork }
    }

    /// Returns when a hire's report is due: at the offer's deadline, but before the hirer begins to wrap up.
    fn due(&self, offer: &Offer) -> Option<Millis> {
        [self.brief.grant.wrap_up_at(), offer.deadline].into_iter().flatten().min()
    }

    /// Returns the number of levels below a hire: the offer's depth, otherwise all that are left.
    pub(super) fn depth_of(&self, offer: &Offer) -> u8 {
        offer.depth.unwrap_or(self.brief.grant.depth.saturating_sub(1))
    }

    pub(super) fn draft(&self, offer: &Offer, context: Context, ordinal: u32, share: Share, now: Millis) -> Brief {
        let own = &*self.brief;
        let Share { money, heads } = share;
        let grant = Grant { money, heads, depth: self.depth_of(offer), deadline: None, margin: None };
        let Candidate { agent, standing, .. } = self.candidate(offer);
        let (model_slot, tariff, same_model, opening) = match context {
            Context::Fork { .. } => (own.model_slot, own.tariff, true, &own.opening),
            Context::Fresh | Context::After { .. } => {
                (offer.model_slot, offer.tariff, offer.same_model, &offer.opening)
            }
        };
        Brief {
            path: own.path.hire(ordinal),
            agent: agent.clone(),
            standing,
            label: offer.label.clone(),
            task: offer.task,
            task_key: offer.task_key,
            terms: own.terms.iter().chain(&*own.adds).chain(&*offer.terms).copied().collect(),
            adds: Arc::clone(&offer.adds),
            grant: grant.due(self.due(offer), now),
            money_max: offer.money_max(),
            fee: offer.fee,
            payee: offer.payee.clone(),
            severance: offer.severance.max(tariff.last_min()),
            model_slot,
            tariff,
            same_model,
            turns_max: offer.turns_max,
            context,
            opening_bytes: offer.opening_bytes,
            opening: opening.clone(),
            lineage: own.lineage.with(own.link()),
            powers: offer.powers.clone(),
            hiring: offer.hiring.clone(),
            checks: Arc::clone(&offer.checks),
            close_when: CloseWhen::FinalText,
        }
    }

    /// Returns the ask of a live hire of this contract.
    pub(super) fn live_hire(&self, path: &Path) -> Option<AskId> {
        let own = path.hirer().as_ref() == Some(&self.brief.path);
        own.then(|| self.live.get(&path.ordinal()).copied()).flatten()
    }
}

/// A possible hire: the data that law 9 needs.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) agent: &'a AgentName,
    pub(super) standing: Standing,
    pub(super) task_key: Hash,
    /// Whether the hire is a fork: the hirer's own agent in a second contract.
    pub(super) fork: bool,
}

/// The calls of a reply that follow the one that is decided on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Later {
    /// The number of tool calls with a price.
    priced: usize,
}

impl Later {
    fn of(wants: &[Want<'_>]) -> Later {
        let priced = |want: &&Want<'_>| matches!(want, Want::Tool(call) if call.price > Msat::ZERO);
        Later { priced: wants.iter().filter(priced).count() }
    }

    fn pass(&mut self, call: &Call) {
        if let Want::Tool(tool) = Want::of(call)
            && tool.price > Msat::ZERO
        {
            self.priced = self.priced.saturating_sub(1);
        }
    }

    fn holds_money(self) -> bool {
        self.priced > 0
    }
}

fn too_long(text: TextRef) -> Option<Refusal> {
    (text.bytes > MESSAGE_BYTES_MAX).then_some(Refusal::MessageTooLong { bytes: text.bytes })
}
