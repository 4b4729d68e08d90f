//! One sample of every variant that is stored. A variant without a sample does not compile.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, Addressee, AgentName, AmountError, Answer, Ask, AskId, AskKey, Brief, CallRef, Cause, Check, CloseWhen,
    Context, Cost, Cut, Effect, FORMAT, Fact, FailedBecause, FieldName, Grant, Hash, Heads, Hiring, Hold,
    ImplausibleUsage, Inherit, Limit, Lineage, Link, Matter, Millis, Mode, Msat, NameError, Need, Network, Nudge,
    Offer, Origin, Outcome, OwnSize, Path, Pause, PayeeName, Payer, PaymentHash, Power, PowerSet, Powers, Preimage,
    Refusal, Report, Request, Said, Sender, SessionFact, SessionId, Standing, Stimulus, Stored, Tariff, TextKind,
    TextRef, Tokens, ToolCall, ToolName, TreasuryFact, Turn, Undone, UnixMs, Waking, WalletId, Wording, WrongField,
};

/// Lists samples by name and pattern. The match has no wildcard, so a new variant needs a line; and each sample must
/// match its pattern.
macro_rules! samples {
    ($($name:literal: $pattern:pat $(if $guard:expr)? => $sample:expr,)*) => {{
        let samples = vec![$(($name, $sample)),*];
        for (name, sample) in &samples {
            let variant = match sample { $($pattern $(if $guard)? => $name),* };
            assert_eq!(*name, variant, "each sample is of its own variant");
        }
        samples
    }};
}

type Samples<T> = Vec<(&'static str, T)>;

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).expect("the samples are small")
}

fn text(byte: u8, kind: TextKind) -> TextRef {
    TextRef { hash: Hash([byte; 32]), bytes: u32::from(byte), kind }
}

fn agent(name: &str) -> AgentName {
    AgentName::parse(name).expect("the samples are names")
}

fn power(name: &str) -> Power {
    Power::parse(name).expect("the samples are names")
}

fn tool(name: &str) -> ToolName {
    ToolName::parse(name).expect("the samples are names")
}

fn path(text: &str) -> Path {
    text.parse().expect("the samples are paths")
}

fn asked() -> AskKey {
    AskKey { contract: path("1.2"), ask: AskId(7) }
}

fn call() -> CallRef {
    CallRef { reply: AskId(1), index: 2 }
}

fn powers() -> Powers {
    let set = |names: &[&str]| PowerSet::from(names.iter().map(|name| power(name)).collect::<Vec<_>>());
    Powers { usable: set(&["read"]), grantable: set(&["write", "read"]) }
}

fn tariff() -> Tariff {
    Tariff { input: sat(3000), output: sat(15_000), max_tokens: 4096 }
}

fn tool_call() -> ToolCall {
    ToolCall {
        tool: tool("web-search"),
        arguments: text(6, TextKind::Arguments),
        price: sat(2),
        effect: Effect::Pure,
        needs: powers().usable,
        for_hires: false,
    }
}

fn check() -> Check {
    Check { what: text(5, TextKind::Term), price: sat(1) }
}

fn hiring() -> Hiring {
    Hiring { team: [agent("coder"), agent("log-reader")].into(), ad_hoc: true, recursive: false }
}

/// A brief with all fields.
fn brief() -> Arc<Brief> {
    let (deadline, margin) = (Some(Millis(600_000)), Some(Millis(30_000)));
    let above = Lineage::default().with(Link {
        agent: agent("contractor"),
        standing: Standing::Listed,
        task_key: Hash([8; 32]),
    });
    Arc::new(Brief {
        money_max: Some(sat(400)),
        same_model: true,
        model_slot: 2,
        path: path("1.2.1"),
        agent: agent("log-reader"),
        standing: Standing::Listed,
        label: Some(Box::new(text(13, TextKind::Label))),
        task: text(1, TextKind::Task),
        task_key: Hash([2; 32]),
        terms: [text(3, TextKind::Term)].into(),
        adds: [text(4, TextKind::Term)].into(),
        grant: Grant { money: sat(300), heads: Heads(3), depth: 2, deadline, margin },
        fee: sat(20),
        payee: Some(Box::new(payee())),
        severance: sat(5),
        tariff: tariff(),
        turns_max: 40,
        context: Context::Fork { request: AskId(3), upto: 12, tokens: 900 },
        opening_bytes: 2048,
        opening: Some(Arc::new(text(14, TextKind::Opening))),
        lineage: above.with(Link { agent: agent("researcher"), standing: Standing::AdHoc, task_key: Hash([9; 32]) }),
        powers: powers(),
        hiring: Some(hiring()),
        checks: [check()].into(),
        close_when: CloseWhen::FinalText,
    })
}

/// A brief with as few fields as possible.
fn bare_brief() -> Arc<Brief> {
    let brief = brief();
    Arc::new(Brief {
        model_slot: 0,
        path: path("1"),
        label: None,
        terms: [].into(),
        adds: [].into(),
        grant: Grant { deadline: None, margin: None, ..brief.grant },
        payee: None,
        context: Context::Fresh,
        opening: None,
        lineage: Lineage::default(),
        powers: Powers::default(),
        hiring: None,
        checks: [].into(),
        close_when: CloseWhen::Asked,
        ..(*brief).clone()
    })
}

/// An offer with all fields but `heads`.
fn offer() -> Offer {
    Offer {
        same_model: true,
        model_slot: 2,
        share_max: Some(sat(400)),
        agent: agent("log-reader"),
        standing: Standing::AdHoc,
        label: Some(Box::new(text(13, TextKind::Label))),
        task: text(1, TextKind::Task),
        task_key: Hash([2; 32]),
        inherit: Inherit::Fresh,
        mode: Mode::Background,
        budget: Some(sat(300)),
        heads: None,
        depth: Some(1),
        deadline: Some(Millis(500_000)),
        terms: [text(3, TextKind::Term)].into(),
        adds: [text(4, TextKind::Term)].into(),
        fee: sat(20),
        payee: Some(Box::new(payee())),
        severance: sat(5),
        tariff: tariff(),
        turns_max: 40,
        opening_bytes: 2048,
        opening: Some(Arc::new(text(14, TextKind::Opening))),
        powers: powers(),
        hiring: Some(hiring()),
        checks: [check()].into(),
    }
}

/// An offer with as few fields as possible.
fn bare_offer() -> Offer {
    let offer =
        Offer { model_slot: 0, share_max: None, label: None, budget: None, depth: None, deadline: None, ..offer() };
    Offer { payee: None, opening: None, hiring: None, ..offer }
}

fn report() -> Box<Report> {
    Box::new(Report {
        outcome: Outcome::Exhausted(Limit::Turns),
        text: Wording::Final(text(10, TextKind::Words)),
        output: Some(text(11, TextKind::Output)),
        acceptance: Acceptance::Accepted,
        undone: Some(Undone::RequiredHire),
        unheard: vec![AskId(4), AskId(6)],
        spent: sat(120),
        change: sat(180),
        fee: sat(20),
        reserved: sat(7),
        estimated: sat(3),
        heads: Heads(1),
        cut: true,
        tokens: 80,
    })
}

fn request() -> Request {
    Request { upto: 9, hears: vec![AskId(4)], tokens: 1500, max_tokens: 4096, turn: Turn::Next, cut: false }
}

fn said() -> Said {
    Said {
        reply: text(12, TextKind::Reply),
        words: Some(text(10, TextKind::Words)),
        output: Some(text(11, TextKind::Output)),
        input_tokens: Some(1400),
        used: Some(Tokens { input: 1300, cached: 1000, output: 80 }),
        size: OwnSize { bytes: 320, tokens: 80 },
        cut: Some(Cut::MaxTokens),
        implausible: None,
        calls: 3,
        confirms: true,
        undone: Some(Undone::PromisedHire),
    }
}

/// A fact as it is stored in a journal.
pub(super) fn stored(fact: Fact) -> Stored {
    Stored { v: FORMAT, seq: 17, contract: path("1.2"), at: Millis(1234), cause: Cause::Answer(AskId(7)), fact }
}

pub(super) fn facts() -> Samples<Fact> {
    let hold = Hold { money: sat(10), heads: Heads(2) };
    samples! {
        "opened": Fact::Opened(_) => Fact::Opened(brief()),
        "asked": Fact::Asked { .. } =>
            Fact::Asked { id: AskId(7), ask: Ask::Model(request()), hold, origin: Origin::Course },
        "answered": Fact::Answered { .. } =>
            Fact::Answered { id: AskId(7), answer: Answer::Said(said()), cost: Cost::Known(sat(4)) },
        "queued": Fact::Queued { .. } => Fact::Queued {
            origin: Origin::Call(call()),
            ordinal: 4,
            offer: Box::new(offer()),
            context: Context::Fork { request: AskId(3), upto: 12, tokens: 900 },
        },
        "refused": Fact::Refused { .. } =>
            Fact::Refused { why: Refusal::SelfHire, origin: Origin::Call(call()), bytes: 73, agent: Some(agent("coder")), ordinal: Some(4) },
        "raised": Fact::Raised { .. } => Fact::Raised { hire: AskId(2), by: sat(50), draw: Some(AskId(5)) },
        "heard": Fact::Heard { .. } =>
            Fact::Heard { from: Sender::Owner { command: 3 }, stimulus: Stimulus::WrapUp },
        "waiting": Fact::Waiting { .. } =>
            Fact::Waiting { call: call(), on: vec![2], need: Need::All, until: Some(Millis(9000)) },
        "woke": Fact::Woke { .. } => Fact::Woke { pause: Pause::Call(call()), why: Waking::TimedOut },
        "nudged": Fact::Nudged(_) => Fact::Nudged(Nudge::ConfirmReport),
        "compacted": Fact::Compacted { .. } => Fact::Compacted { upto: 12, bytes: 4000 },
        "closing": Fact::Closing(_) => Fact::Closing(Outcome::Exhausted(Limit::Purse)),
        "closed": Fact::Closed(_) => Fact::Closed(report()),
    }
}

pub(super) fn asks() -> Samples<Fact> {
    let until = Millis(9000);
    let asks = samples! {
        "model": Ask::Model(_) => Ask::Model(request()),
        "tool": Ask::Tool(_) => Ask::Tool(tool_call()),
        "hire": Ask::Hire { mode: Mode::Blocking, .. } => Ask::Hire { brief: brief(), mode: Mode::Blocking },
        "bare hire": Ask::Hire { mode: Mode::Background, .. } =>
            Ask::Hire { brief: bare_brief(), mode: Mode::Background },
        "check": Ask::Check(_) => Ask::Check(check()),
        "question": Ask::Question { .. } =>
            Ask::Question { to: Addressee::Hirer, matter: Matter::Text(text(7, TextKind::Message)), until },
        "draw": Ask::Draw { .. } => Ask::Draw { least: sat(7) },
        "tell": Ask::Tell { .. } =>
            Ask::Tell { to: path("1.2.1"), what: Stimulus::TopUp { to: path("1.2.1.4"), money: sat(50), draw: None } },
    };
    let hold = Hold { money: sat(10), heads: Heads(2) };
    let asked = |ask| Fact::Asked { id: AskId(7), ask, hold, origin: Origin::Call(call()) };
    asks.into_iter().map(|(name, ask)| (name, asked(ask))).collect()
}

pub(super) fn answers() -> Samples<Fact> {
    let bare =
        Said { words: None, output: None, input_tokens: None, used: None, confirms: false, undone: None, ..said() };
    let implausible = Some(ImplausibleUsage { tokens: 0, bytes: 12_000 });
    let answers = samples! {
        "said": Answer::Said(Said { words: Some(_), implausible: None, .. }) => Answer::Said(said()),
        "said with implausible usage": Answer::Said(Said { words: Some(_), implausible: Some(_), .. }) =>
            Answer::Said(Said { used: None, implausible, ..said() }),
        "said nothing": Answer::Said(Said { words: None, .. }) => Answer::Said(bare),
        "result": Answer::Result(_) => Answer::Result(text(20, TextKind::Result)),
        "report": Answer::Report(_) => Answer::Report(report()),
        "passed": Answer::Passed => Answer::Passed,
        "failed check": Answer::FailedCheck(_) => Answer::FailedCheck(text(21, TextKind::Finding)),
        "text": Answer::Text(_) => Answer::Text(text(22, TextKind::Message)),
        "approved": Answer::Approved => Answer::Approved,
        "denied": Answer::Denied => Answer::Denied,
        "no reply": Answer::NoReply => Answer::NoReply,
        "met": Answer::Met => Answer::Met,
        "not met": Answer::NotMet => Answer::NotMet,
        "delivered": Answer::Delivered => Answer::Delivered,
        "gone": Answer::Gone => Answer::Gone,
        "lost": Answer::Lost => Answer::Lost,
        "aborted": Answer::Aborted => Answer::Aborted,
        "failed": Answer::Failed(_) => Answer::Failed(text(23, TextKind::Error)),
    };
    let answered = |answer| Fact::Answered { id: AskId(7), answer, cost: Cost::Unknown };
    answers.into_iter().map(|(name, answer)| (name, answered(answer))).collect()
}

pub(super) fn stimuli() -> Samples<Fact> {
    let stimuli = samples! {
        "message": Stimulus::Message(_) => Stimulus::Message(text(30, TextKind::Message)),
        "question": Stimulus::Question(_) => Stimulus::Question(text(31, TextKind::Message)),
        "top-up": Stimulus::TopUp { .. } => Stimulus::TopUp { to: path("1.2.1"), money: sat(50), draw: Some(AskId(5)) },
        "draw": Stimulus::Draw { .. } => Stimulus::Draw { least: sat(7) },
        "refuse draw": Stimulus::RefuseDraw { .. } => Stimulus::RefuseDraw { draw: AskId(5) },
        "drop hire": Stimulus::DropHire { .. } => Stimulus::DropHire { ordinal: 4 },
        "hire": Stimulus::Hire(hired) if hired.label.is_some() => Stimulus::Hire(Box::new(offer())),
        "bare hire": Stimulus::Hire(_) => Stimulus::Hire(Box::new(bare_offer())),
        "wrap up": Stimulus::WrapUp => Stimulus::WrapUp,
        "out of tokens": Stimulus::OutOfTokens { .. } => Stimulus::OutOfTokens { left: 9_000 },
        "cancel": Stimulus::Cancel => Stimulus::Cancel,
    };
    let heard = |stimulus| Fact::Heard { from: Sender::Contract(asked()), stimulus };
    stimuli.into_iter().map(|(name, stimulus)| (name, heard(stimulus))).collect()
}

pub(super) fn refusals() -> Samples<Fact> {
    let (coder, reader) = (agent("coder"), agent("log-reader"));
    let refusals = samples! {
        "can't hire": Refusal::CantHire => Refusal::CantHire,
        "self-hire": Refusal::SelfHire => Refusal::SelfHire,
        "unknown agent": Refusal::UnknownAgent { .. } =>
            Refusal::UnknownAgent { agent: agent("poet"), team: vec![coder.clone(), reader.clone()] },
        "cycle": Refusal::Cycle { .. } => Refusal::Cycle { way: vec![coder.clone(), reader, coder.clone()] },
        "same task": Refusal::SameTask { .. } => Refusal::SameTask { agent: coder },
        "passed on": Refusal::PassedOn { .. } => Refusal::PassedOn { times: 3 },
        "repeated": Refusal::Repeated { .. } => Refusal::Repeated { tool: tool("read_file"), times: 7 },
        "too deep": Refusal::TooDeep { .. } => Refusal::TooDeep { asked: 3, left: 2 },
        "no heads": Refusal::NoHeads { .. } => Refusal::NoHeads { asked: Heads(3), free: Heads(2) },
        "money": Refusal::Money { .. } => Refusal::Money { asked: sat(7), free: sat(6), minimum: sat(8) },
        "deadline": Refusal::Deadline { .. } => Refusal::Deadline { deadline: Millis(70), now: Millis(90) },
        "powers": Refusal::Powers { .. } => Refusal::Powers { power: power("shell") },
        "no power": Refusal::NoPower { .. } => Refusal::NoPower { tool: tool("edit"), power: power("write") },
        "not approved": Refusal::NotApproved => Refusal::NotApproved,
        "stays open": Refusal::StaysOpen => Refusal::StaysOpen,
        "unworkable": Refusal::Unworkable => Refusal::Unworkable,
        "brief too long": Refusal::BriefTooLong { .. } => Refusal::BriefTooLong { bytes: 70_000 },
        "message too long": Refusal::MessageTooLong { .. } => Refusal::MessageTooLong { bytes: 70_000 },
        "too many calls": Refusal::TooManyCalls { .. } => Refusal::TooManyCalls { calls: 1026 },
        "unknown hire": Refusal::UnknownHire { .. } => Refusal::UnknownHire { hire: path("1.2.9") },
        "nothing to await": Refusal::NothingToAwait => Refusal::NothingToAwait,
        "asked you": Refusal::AskedYou { .. } => Refusal::AskedYou { hire: path("1.2.1") },
        "not started": Refusal::NotStarted { .. } => Refusal::NotStarted { hire: path("1.2.4") },
        "stopped before start": Refusal::StoppedBeforeStart { .. } =>
            Refusal::StoppedBeforeStart { hire: path("1.2.4") },
        "closing": Refusal::Closing => Refusal::Closing,
        "top-up stays": Refusal::TopUpStays { .. } =>
            Refusal::TopUpStays { to: path("1.2.1"), with: path("1.2") },
        "bad amount": Refusal::BadAmount(_) => Refusal::BadAmount(AmountError::Zero),
        "bad name": Refusal::BadName(_) => Refusal::BadName(NameError::Empty),
        "malformed": Refusal::Malformed => Refusal::Malformed,
        "cut call": Refusal::CutCall => Refusal::CutCall,
        "field": Refusal::Field { .. } =>
            Refusal::Field { field: FieldName::parse("task").expect("a name"), wrong: WrongField::Missing },
        "empty text": Refusal::EmptyText => Refusal::EmptyText,
        "unknown tool": Refusal::UnknownTool => Refusal::UnknownTool,
        "duplicate call id": Refusal::DuplicateCallId => Refusal::DuplicateCallId,
    };
    let refused = |why| Fact::Refused { why, origin: Origin::Outside, bytes: 73, agent: None, ordinal: None };
    refusals.into_iter().map(|(name, why)| (name, refused(why))).collect()
}

pub(super) fn session_facts() -> Samples<SessionFact> {
    let payment = PaymentHash(Hash([5; 32]));
    samples! {
        "funded": SessionFact::Funded { root: None, payment: None, .. } =>
            SessionFact::Funded { money: sat(1000), root: None, payment: None },
        "topped up": SessionFact::Funded { root: Some(_), .. } =>
            SessionFact::Funded { money: sat(50), root: Some(path("1")), payment: None },
        "requested": SessionFact::Requested { .. } =>
            SessionFact::Requested { root: path("1"), money: sat(600), prices: text(40, TextKind::Prices) },
        "corrected": SessionFact::Corrected { .. } => SessionFact::Corrected { ask: asked(), credit: sat(3) },
        "ended": SessionFact::Ended { .. } =>
            SessionFact::Ended { root: path("1"), spent: sat(420), reserved: sat(20), estimated: sat(10) },
        "opened": SessionFact::Opened { .. } => SessionFact::Opened { wallet: wallet() },
        "paid in": SessionFact::Funded { root: None, payment: Some(_), .. } =>
            SessionFact::Funded { money: sat(1000), root: None, payment: Some(payment) },
        "granted": SessionFact::Granted { .. } => SessionFact::Granted { root: path("1"), money: sat(50) },
        "withdrawing": SessionFact::Withdrawing { .. } => SessionFact::Withdrawing { payment, money: sat(102) },
        "withdrawn": SessionFact::Withdrawn { .. } => SessionFact::Withdrawn { payment, spent: sat(101) },
        "returned": SessionFact::Returned { .. } => SessionFact::Returned { money: sat(80) },
    }
}

fn payee() -> PayeeName {
    PayeeName::parse("ada").expect("a valid name")
}

fn wallet() -> WalletId {
    WalletId::parse("0a1b2c3d").expect("a valid name")
}

pub(super) fn treasury_facts() -> Samples<TreasuryFact> {
    let (payment, expires, invoice) =
        (PaymentHash(Hash([5; 32])), UnixMs(1_800_000_000_000), text(41, TextKind::Invoice));
    let session: SessionId = "brave-otter-17".parse().expect("a valid id");
    samples! {
        "connected": TreasuryFact::Connected { .. } =>
            TreasuryFact::Connected { wallet: wallet(), network: Network::Bitcoin, url: text(42, TextKind::Url) },
        "payouts": TreasuryFact::Payouts { .. } => TreasuryFact::Payouts { allowed: true },
        "invoiced": TreasuryFact::Invoiced { .. } =>
            TreasuryFact::Invoiced { payment, session: session.clone(), money: sat(1000), expires, invoice },
        "received": TreasuryFact::Received { .. } => TreasuryFact::Received { payment },
        "earned": TreasuryFact::Earned { .. } =>
            TreasuryFact::Earned { payee: payee(), session: session.clone(), contract: path("1.2"), money: sat(20) },
        "refund wanted": TreasuryFact::Wanted { from: Payer::Session(_), .. } =>
            TreasuryFact::Wanted { payment, from: Payer::Session(session), money: sat(500), fee_max: sat(5), expires, invoice },
        "payout wanted": TreasuryFact::Wanted { from: Payer::Payee(_), .. } =>
            TreasuryFact::Wanted { payment, from: Payer::Payee(payee()), money: sat(100), fee_max: sat(2), expires, invoice },
        "sending": TreasuryFact::Sending { .. } => TreasuryFact::Sending { payment, attempt: 2 },
        "settled": TreasuryFact::Settled { .. } =>
            TreasuryFact::Settled { payment, fee: sat(1), preimage: Preimage(Hash([6; 32])) },
        "failed": TreasuryFact::Failed { .. } => TreasuryFact::Failed { payment, why: FailedBecause::Expired },
        "frozen": TreasuryFact::Frozen { .. } => TreasuryFact::Frozen { payment },
        "accepted": TreasuryFact::Accepted { .. } => TreasuryFact::Accepted { payment },
    }
}

pub(super) fn failed_becauses() -> Samples<FailedBecause> {
    samples! {
        "refused": FailedBecause::Refused => FailedBecause::Refused,
        "expired": FailedBecause::Expired => FailedBecause::Expired,
        "person": FailedBecause::Person => FailedBecause::Person,
    }
}

pub(super) fn networks() -> Samples<Network> {
    samples! {
        "bitcoin": Network::Bitcoin => Network::Bitcoin,
        "testnet": Network::Testnet => Network::Testnet,
        "signet": Network::Signet => Network::Signet,
        "regtest": Network::Regtest => Network::Regtest,
        "simnet": Network::Simnet => Network::Simnet,
    }
}

pub(super) fn causes() -> Samples<Cause> {
    samples! {
        "opening": Cause::Opening => Cause::Opening,
        "answer": Cause::Answer(_) => Cause::Answer(AskId(7)),
        "stimulus": Cause::Stimulus(_) => Cause::Stimulus(Sender::Contract(asked())),
        "tick": Cause::Tick => Cause::Tick,
    }
}

pub(super) fn acceptances() -> Samples<Acceptance> {
    samples! {
        "accepted": Acceptance::Accepted => Acceptance::Accepted,
        "not accepted": Acceptance::NotAccepted => Acceptance::NotAccepted,
    }
}

pub(super) fn addressees() -> Samples<Addressee> {
    samples! {
        "hirer": Addressee::Hirer => Addressee::Hirer,
        "owner": Addressee::Owner => Addressee::Owner,
    }
}

pub(super) fn amount_errors() -> Samples<AmountError> {
    samples! {
        "zero": AmountError::Zero => AmountError::Zero,
        "negative": AmountError::Negative => AmountError::Negative,
        "fractional": AmountError::Fractional => AmountError::Fractional,
        "not a number": AmountError::NotANumber => AmountError::NotANumber,
        "beyond supply": AmountError::BeyondSupply => AmountError::BeyondSupply,
    }
}

pub(super) fn contexts() -> Samples<Context> {
    samples! {
        "fresh": Context::Fresh => Context::Fresh,
        "fork": Context::Fork { .. } => Context::Fork { request: AskId(3), upto: 12, tokens: 900 },
        "after": Context::After { .. } => Context::After { root: path("1"), tokens: 5000 },
    }
}

pub(super) fn costs() -> Samples<Cost> {
    samples! {
        "known": Cost::Known(_) => Cost::Known(sat(4)),
        "unknown": Cost::Unknown => Cost::Unknown,
        "estimated": Cost::Estimated(_) => Cost::Estimated(sat(4)),
    }
}

pub(super) fn effects() -> Samples<Effect> {
    samples! {
        "pure": Effect::Pure => Effect::Pure,
        "idempotent": Effect::Idempotent => Effect::Idempotent,
        "reconcilable": Effect::Reconcilable => Effect::Reconcilable,
        "once": Effect::Once => Effect::Once,
    }
}

pub(super) fn inherits() -> Samples<Inherit> {
    samples! {
        "fresh": Inherit::Fresh => Inherit::Fresh,
        "fork": Inherit::Fork => Inherit::Fork,
    }
}

pub(super) fn matters() -> Samples<Matter> {
    samples! {
        "text": Matter::Text(_) => Matter::Text(text(7, TextKind::Message)),
        "approval": Matter::Approval(_) => Matter::Approval(tool_call()),
    }
}

pub(super) fn modes() -> Samples<Mode> {
    samples! {
        "blocking": Mode::Blocking => Mode::Blocking,
        "background": Mode::Background => Mode::Background,
    }
}

pub(super) fn name_errors() -> Samples<NameError> {
    samples! {
        "empty": NameError::Empty => NameError::Empty,
        "too long": NameError::TooLong { .. } => NameError::TooLong { bytes: 65 },
        "bad character": NameError::BadCharacter { .. } => NameError::BadCharacter { found: '/' },
    }
}

pub(super) fn needs() -> Samples<Need> {
    samples! {
        "any": Need::Any => Need::Any,
        "all": Need::All => Need::All,
    }
}

pub(super) fn nudges() -> Samples<Nudge> {
    samples! {
        "required": Nudge::Required => Nudge::Required,
        "confirm report": Nudge::ConfirmReport => Nudge::ConfirmReport,
        "fix report": Nudge::FixReport => Nudge::FixReport,
        "empty": Nudge::Empty => Nudge::Empty,
    }
}

pub(super) fn origins() -> Samples<Origin> {
    samples! {
        "course": Origin::Course => Origin::Course,
        "call": Origin::Call(_) => Origin::Call(call()),
        "cascade": Origin::Cascade => Origin::Cascade,
        "outside": Origin::Outside => Origin::Outside,
    }
}

pub(super) fn outcomes() -> Samples<Outcome> {
    samples! {
        "done": Outcome::Done => Outcome::Done,
        "purse": Outcome::Exhausted(Limit::Purse) => Outcome::Exhausted(Limit::Purse),
        "turns": Outcome::Exhausted(Limit::Turns) => Outcome::Exhausted(Limit::Turns),
        "deadline": Outcome::Exhausted(Limit::Deadline) => Outcome::Exhausted(Limit::Deadline),
        "length": Outcome::Exhausted(Limit::Length) => Outcome::Exhausted(Limit::Length),
        "asked": Outcome::Exhausted(Limit::Asked) => Outcome::Exhausted(Limit::Asked),
        "failed": Outcome::Failed => Outcome::Failed,
        "cancelled": Outcome::Cancelled => Outcome::Cancelled,
    }
}

pub(super) fn pauses() -> Samples<Pause> {
    samples! {
        "call": Pause::Call(_) => Pause::Call(call()),
        "hire": Pause::Hire(_) => Pause::Hire(2),
    }
}

pub(super) fn senders() -> Samples<Sender> {
    samples! {
        "owner": Sender::Owner { .. } => Sender::Owner { command: 3 },
        "contract": Sender::Contract(_) => Sender::Contract(asked()),
    }
}

pub(super) fn standings() -> Samples<Standing> {
    samples! {
        "listed": Standing::Listed => Standing::Listed,
        "ad hoc": Standing::AdHoc => Standing::AdHoc,
    }
}

pub(super) fn close_whens() -> Samples<CloseWhen> {
    samples! {
        "final text": CloseWhen::FinalText => CloseWhen::FinalText,
        "asked": CloseWhen::Asked => CloseWhen::Asked,
    }
}

pub(super) fn text_kinds() -> Samples<TextKind> {
    samples! {
        "task": TextKind::Task => TextKind::Task,
        "term": TextKind::Term => TextKind::Term,
        "reply": TextKind::Reply => TextKind::Reply,
        "words": TextKind::Words => TextKind::Words,
        "output": TextKind::Output => TextKind::Output,
        "arguments": TextKind::Arguments => TextKind::Arguments,
        "result": TextKind::Result => TextKind::Result,
        "message": TextKind::Message => TextKind::Message,
        "finding": TextKind::Finding => TextKind::Finding,
        "error": TextKind::Error => TextKind::Error,
        "prices": TextKind::Prices => TextKind::Prices,
        "label": TextKind::Label => TextKind::Label,
        "opening": TextKind::Opening => TextKind::Opening,
        "invoice": TextKind::Invoice => TextKind::Invoice,
        "url": TextKind::Url => TextKind::Url,
    }
}

pub(super) fn turns() -> Samples<Turn> {
    samples! {
        "next": Turn::Next => Turn::Next,
        "last": Turn::Last => Turn::Last,
    }
}

pub(super) fn wakings() -> Samples<Waking> {
    samples! {
        "reported": Waking::Reported => Waking::Reported,
        "timed out": Waking::TimedOut => Waking::TimedOut,
        "message": Waking::Message => Waking::Message,
        "closing": Waking::Closing => Waking::Closing,
    }
}

pub(super) fn wrong_fields() -> Samples<WrongField> {
    samples! {
        "missing": WrongField::Missing => WrongField::Missing,
        "not text": WrongField::NotText => WrongField::NotText,
        "not bool": WrongField::NotBool => WrongField::NotBool,
        "not seconds": WrongField::NotSeconds => WrongField::NotSeconds,
        "not id": WrongField::NotId => WrongField::NotId,
        "unknown value": WrongField::UnknownValue => WrongField::UnknownValue,
    }
}

pub(super) fn wordings() -> Samples<Wording> {
    samples! {
        "final": Wording::Final(_) => Wording::Final(text(10, TextKind::Words)),
        "assembled": Wording::Assembled(_) => Wording::Assembled(text(12, TextKind::Result)),
    }
}
