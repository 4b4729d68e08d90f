//! Changes to facts: for each kind of fact, every number and name that a law depends on.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, Answer, Ask, AskId, AskKey, Brief, CallRef, Check, CloseWhen, Context, Fact, Grant, Heads, Hold, Limit,
    Lineage, Link, Matter, Millis, Msat, Need, Nudge, Offer, Origin, Outcome, OwnSize, Path, Pause, Powers, Refusal,
    Report, Request, Said, Sender, Standing, Stimulus, Tariff, TextRef, ToolCall, Turn, Undone, Waking, Wording,
};

use crate::say::{agent, check, key, message, path, powers, sat, term};

type Changes<T> = Vec<(&'static str, T)>;

/// Returns the changed facts, each with the name of the change.
pub(crate) fn of(fact: &Fact) -> Changes<Fact> {
    match fact {
        Fact::Opened(brief) => each(opened(brief), |brief| Fact::Opened(Arc::new(brief))),
        Fact::Asked { id, ask, hold, origin } => asked(*id, ask, *hold, *origin),
        Fact::Answered { id, answer, cost } => {
            let mut changes = each(answers(answer), |answer| Fact::Answered { id: *id, answer, cost: *cost });
            changes.push(("id", Fact::Answered { id: AskId(id.0 + 1), answer: answer.clone(), cost: *cost }));
            changes.push(("unknown ask", Fact::Answered { id: AskId(99), answer: answer.clone(), cost: *cost }));
            changes
        }
        Fact::Queued { origin, ordinal, offer, context } => queued(*origin, *ordinal, offer, context),
        Fact::Refused { why, origin, bytes, ordinal, .. } => refused(why, *origin, *bytes, *ordinal),
        Fact::Raised { hire, by, .. } => vec![
            ("hire", Fact::Raised { hire: AskId(hire.0 + 1), by: *by, draw: None }),
            ("by more", Fact::Raised { hire: *hire, by: more(*by), draw: None }),
            ("by less", Fact::Raised { hire: *hire, by: less(*by), draw: None }),
        ],
        Fact::Heard { from, stimulus } => heard(from, stimulus),
        Fact::Waiting { call, on, need, until } => waiting(*call, on, *need, *until),
        Fact::Woke { pause, why } => woke(*pause, *why),
        Fact::Nudged(_) => each(nudges(), Fact::Nudged),
        Fact::Compacted { upto, bytes } => vec![
            ("upto beyond", Fact::Compacted { upto: upto + 90, bytes: *bytes }),
            ("upto nothing", Fact::Compacted { upto: 0, bytes: *bytes }),
            ("bytes", Fact::Compacted { upto: *upto, bytes: bytes + 1 }),
        ],
        Fact::Closing(outcome) => each(outcomes(*outcome), Fact::Closing),
        Fact::Closed(report) => each(reports(report), |report| Fact::Closed(Box::new(report))),
    }
}

fn each<T, U>(changes: Changes<T>, make: impl Fn(T) -> U) -> Changes<U> {
    changes.into_iter().map(|(what, changed)| (what, make(changed))).collect()
}

fn more(money: Msat) -> Msat {
    Msat::new(money.get() + 1).expect("the journal's amounts are small")
}

fn less(money: Msat) -> Msat {
    Msat::new(money.get().saturating_sub(1)).expect("less is possible")
}

fn longer(text: TextRef) -> TextRef {
    TextRef { bytes: text.bytes + 1, ..text }
}

fn opened(own: &Brief) -> Changes<Brief> {
    let brief = || own.clone();
    let grant = |grant| Brief { grant, ..brief() };
    vec![
        ("path", Brief { path: path("1.2"), ..brief() }),
        ("agent", Brief { agent: agent("somebody"), ..brief() }),
        ("task key", Brief { task_key: key("another"), ..brief() }),
        ("task beyond the limit", Brief { task: TextRef { bytes: 70_000, ..own.task }, ..brief() }),
        ("money more", grant(Grant { money: more(own.grant.money), ..own.grant })),
        ("money less", grant(Grant { money: less(own.grant.money), ..own.grant })),
        ("heads too few", grant(Grant { heads: Heads(1), ..own.grant })),
        ("depth too small", grant(Grant { depth: 1, ..own.grant })),
        ("depth beyond the limit", grant(Grant { depth: 64, ..own.grant })),
        ("deadline earlier", grant(Grant { deadline: Some(Millis(40_000)), ..own.grant })),
        ("fee", Brief { fee: more(own.fee), ..brief() }),
        ("severance too small to pay", Brief { severance: own.grant.money, ..brief() }),
        ("price of input", Brief { tariff: Tariff { input: sat(1), ..own.tariff }, ..brief() }),
        ("price of output", Brief { tariff: Tariff { output: sat(1), ..own.tariff }, ..brief() }),
        ("longest reply", Brief { tariff: Tariff { max_tokens: 256, ..own.tariff }, ..brief() }),
        ("turns", Brief { turns_max: 2, ..brief() }),
        ("context", Brief { context: Context::After { root: Path::root(1), tokens: 9 }, ..brief() }),
        ("opening", Brief { opening_bytes: own.opening_bytes + 1, ..brief() }),
        ("terms", Brief { terms: [term("anything goes")].into(), ..brief() }),
        ("adds", Brief { adds: [term("anything goes")].into(), ..brief() }),
        ("lineage", Brief { lineage: Lineage::default(), ..brief() }),
        ("usable powers", Brief { powers: Powers { usable: powers(&[]), ..own.powers.clone() }, ..brief() }),
        ("grantable powers", Brief { powers: Powers { grantable: powers(&[]), ..own.powers.clone() }, ..brief() }),
        ("hiring", Brief { hiring: None, ..brief() }),
        ("check dropped", Brief { checks: [].into(), ..brief() }),
        ("check added", Brief { checks: [own.checks[0], check("more", 0)].into(), ..brief() }),
        ("close when", Brief { close_when: CloseWhen::Asked, ..brief() }),
    ]
}

fn asked(id: AskId, ask: &Ask, hold: Hold, origin: Origin) -> Changes<Fact> {
    let mut changes = each(asks(ask), |ask| Fact::Asked { id, ask, hold, origin });
    let holding = |hold| Fact::Asked { id, ask: ask.clone(), hold, origin };
    changes.push(("id", Fact::Asked { id: AskId(id.0 + 1), ask: ask.clone(), hold, origin }));
    changes.push(("hold more", holding(Hold { money: more(hold.money), ..hold })));
    changes.push(("heads more", holding(Hold { heads: Heads(hold.heads.0 + 1), ..hold })));
    if hold.money > Msat::ZERO {
        changes.push(("hold less", holding(Hold { money: less(hold.money), ..hold })));
    }
    let other = each(origins(origin), |origin| Fact::Asked { id, ask: ask.clone(), hold, origin });
    changes.into_iter().chain(other).collect()
}

fn origins(origin: Origin) -> Changes<Origin> {
    let next = |call: CallRef| CallRef { index: call.index + 1, ..call };
    let later = |call: CallRef| CallRef { reply: AskId(call.reply.0 + 1), ..call };
    match origin {
        Origin::Call(call) => vec![
            ("call index", Origin::Call(next(call))),
            ("call reply", Origin::Call(later(call))),
            ("no call", Origin::Outside),
        ],
        Origin::Course | Origin::Cascade | Origin::Outside => {
            vec![("a call", Origin::Call(CallRef { reply: AskId(1), index: 0 }))]
        }
    }
}

fn asks(ask: &Ask) -> Changes<Ask> {
    match ask {
        Ask::Model(request) => each(requests(request), Ask::Model),
        Ask::Tool(call) => {
            let strange = powers(&["shell"]);
            vec![
                ("price", Ask::Tool(ToolCall { price: more(call.price), ..call.clone() })),
                ("needs", Ask::Tool(ToolCall { needs: strange, ..call.clone() })),
            ]
        }
        Ask::Hire { brief, mode } => each(hired(brief), |brief| Ask::Hire { brief: Arc::new(brief), mode: *mode }),
        Ask::Check(check) => vec![
            ("what", Ask::Check(Check { what: longer(check.what), ..*check })),
            ("price", Ask::Check(Check { price: more(check.price), ..*check })),
        ],
        Ask::Question { to, matter: Matter::Approval(call), until } => {
            let another = ToolCall { arguments: longer(call.arguments), ..call.clone() };
            vec![("arguments", Ask::Question { to: *to, matter: Matter::Approval(another), until: *until })]
        }
        Ask::Question { matter: Matter::Text(_), .. } => Vec::new(),
        Ask::Draw { least } => vec![("nothing", Ask::Draw { least: less(*least) })],
        Ask::Tell { to, what } => {
            let mut changes = vec![("to an unknown hire", Ask::Tell { to: path("1.1.9"), what: what.clone() })];
            if let Stimulus::TopUp { to: receiver, money, .. } = what {
                let top_up = |receiver: &Path, money| Stimulus::TopUp { to: receiver.clone(), money, draw: None };
                changes.push(("money", Ask::Tell { to: to.clone(), what: top_up(receiver, more(*money)) }));
                changes.push(("receiver", Ask::Tell { to: to.clone(), what: top_up(&path("1.1.2"), *money) }));
            }
            if *what == Stimulus::WrapUp {
                changes.push(("what", Ask::Tell { to: to.clone(), what: Stimulus::Cancel }));
            }
            changes
        }
    }
}

fn requests(request: &Request) -> Changes<Request> {
    let base = || request.clone();
    let turn = match request.turn {
        Turn::Next => Turn::Last,
        Turn::Last => Turn::Next,
    };
    let mut changes = vec![
        ("upto more", Request { upto: request.upto + 1, ..base() }),
        ("upto less", Request { upto: request.upto - 1, ..base() }),
        ("hears a report that is not owed", Request { hears: vec![AskId(1)], ..base() }),
        ("tokens more", Request { tokens: request.tokens + 1, ..base() }),
        ("max tokens more", Request { max_tokens: request.max_tokens + 1, ..base() }),
        ("max tokens less", Request { max_tokens: request.max_tokens - 1, ..base() }),
        ("turn", Request { turn, ..base() }),
    ];
    if request.turn == Turn::Next {
        changes.push(("tokens less", Request { tokens: request.tokens - 1, ..base() }));
    }
    if !request.hears.is_empty() {
        changes.push(("hears nothing", Request { hears: Vec::new(), ..base() }));
    }
    changes
}

fn hired(theirs: &Brief) -> Changes<Brief> {
    let brief = || theirs.clone();
    let grant = |grant| Brief { grant, ..brief() };
    let shell = || powers(&["shell"]);
    let mut changes = vec![
        ("path", Brief { path: path("1.1.9"), ..brief() }),
        ("another's path", Brief { path: path("1.2.1"), ..brief() }),
        ("money", grant(Grant { money: more(theirs.grant.money), ..theirs.grant })),
        ("heads", grant(Grant { heads: Heads(theirs.grant.heads.0 + 1), ..theirs.grant })),
        ("depth", grant(Grant { depth: theirs.grant.depth + 1, ..theirs.grant })),
        ("no deadline", grant(Grant { deadline: None, ..theirs.grant })),
        ("deadline later", grant(Grant { deadline: theirs.grant.deadline.map(|at| Millis(at.0 + 1)), ..theirs.grant })),
        ("fee beyond the grant", Brief { fee: theirs.grant.money, ..brief() }),
        ("severance beyond the grant", Brief { severance: theirs.grant.money, ..brief() }),
        ("first term", Brief { terms: theirs.terms[1..].into(), ..brief() }),
        ("no terms", Brief { terms: [].into(), ..brief() }),
        ("lineage", Brief { lineage: Lineage::default(), ..brief() }),
        (
            "longer lineage",
            Brief {
                lineage: theirs.lineage.with(Link {
                    agent: agent("x"),
                    standing: Standing::Listed,
                    task_key: key("x"),
                }),
                ..brief()
            },
        ),
        ("usable powers", Brief { powers: Powers { usable: shell(), ..theirs.powers.clone() }, ..brief() }),
        ("grantable powers", Brief { powers: Powers { grantable: shell(), ..theirs.powers.clone() }, ..brief() }),
        ("close when", Brief { close_when: CloseWhen::Asked, ..brief() }),
    ];
    if let Context::Fork { request, upto, tokens } = theirs.context {
        let fork = |request, upto, tokens| Brief { context: Context::Fork { request, upto, tokens }, ..brief() };
        changes.push(("fork of another request", fork(AskId(request.0 + 1), upto, tokens)));
        changes.push(("fork that sees more", fork(request, upto + 1, tokens)));
        changes.push(("fork that pays less", fork(request, upto, tokens - 1)));
    }
    changes
}

fn answers(answer: &Answer) -> Changes<Answer> {
    let unfitting = if *answer == Answer::Delivered { Answer::Passed } else { Answer::Delivered };
    let mut changes = vec![("unfitting", unfitting)];
    match answer {
        Answer::Said(said) => changes.extend(each(replies(said), Answer::Said)),
        Answer::Result(text) => changes.push(("longer", Answer::Result(longer(*text)))),
        Answer::FailedCheck(text) => {
            changes.push(("longer", Answer::FailedCheck(longer(*text))));
            changes.push(("passed", Answer::Passed));
        }
        Answer::Passed => changes.push(("failed", Answer::FailedCheck(message("no")))),
        Answer::Report(report) => {
            let heads = Heads(report.heads.0 + 1);
            let spent = more(report.spent);
            changes.push(("heads", Answer::Report(Box::new(Report { heads, ..(**report).clone() }))));
            changes.push(("spent", Answer::Report(Box::new(Report { spent, ..(**report).clone() }))));
        }
        Answer::Approved => changes.push(("no reply", Answer::NoReply)),
        Answer::NoReply | Answer::Denied => changes.push(("approved", Answer::Approved)),
        Answer::Met => changes.push(("not met", Answer::NotMet)),
        Answer::NotMet => changes.push(("met", Answer::Met)),
        Answer::Text(_) | Answer::Delivered | Answer::Gone | Answer::Lost | Answer::Aborted | Answer::Failed(_) => {}
    }
    changes
}

fn replies(said: &Said) -> Changes<Said> {
    let mut changes = vec![
        ("larger", Said { size: OwnSize { bytes: said.size.bytes + 400, tokens: 0 }, ..*said }),
        ("calls more", Said { calls: said.calls + 1, ..*said }),
        ("input tokens", Said { input_tokens: Some(said.input_tokens.unwrap_or(1000) + 1), ..*said }),
    ];
    if said.calls > 0 {
        changes.push(("calls less", Said { calls: said.calls - 1, ..*said }));
    }
    changes
}

fn queued(origin: Origin, ordinal: u32, offer: &Offer, context: &Context) -> Changes<Fact> {
    let (offer, context) = (|| Box::new(offer.clone()), || context.clone());
    let unseen = Context::Fork { request: AskId(1), upto: 1, tokens: 1 };
    let stranger = Box::new(Offer { agent: agent("stranger"), ..*offer() });
    let mut changes =
        each(origins(origin), |origin| Fact::Queued { origin, ordinal, offer: offer(), context: context() });
    changes.push(("ordinal", Fact::Queued { origin, ordinal: ordinal + 1, offer: offer(), context: context() }));
    changes.push(("unknown agent", Fact::Queued { origin, ordinal, offer: stranger, context: context() }));
    changes.push(("context", Fact::Queued { origin, ordinal, offer: offer(), context: unseen }));
    changes
}

fn refused(why: &Refusal, origin: Origin, bytes: u32, ordinal: Option<u32>) -> Changes<Fact> {
    let with = |why: &Refusal, origin, ordinal| Fact::Refused { why: why.clone(), origin, bytes, agent: None, ordinal };
    let mut changes = each(origins(origin), |origin| with(why, origin, ordinal));
    changes.push(("by the contract itself", with(why, Origin::Course, ordinal)));
    changes.push(("unknown ordinal", with(why, origin, Some(99))));
    if *why == Refusal::NotApproved {
        changes.push(("another reason", with(&Refusal::Malformed, origin, ordinal)));
    }
    changes.push(("the rest", with(&Refusal::TooManyCalls { calls: 2000 }, origin, None)));
    changes
}

fn heard(from: &Sender, stimulus: &Stimulus) -> Changes<Fact> {
    let heard = |stimulus| Fact::Heard { from: from.clone(), stimulus };
    match stimulus {
        Stimulus::TopUp { to, money, .. } => vec![
            ("money", heard(Stimulus::TopUp { to: to.clone(), money: more(*money), draw: None })),
            ("receiver", heard(Stimulus::TopUp { to: path("1.1.2"), money: *money, draw: None })),
            ("for itself", heard(Stimulus::TopUp { to: path("1.1"), money: *money, draw: None })),
            ("from the owner", Fact::Heard { from: Sender::Owner { command: 1 }, stimulus: stimulus.clone() }),
            ("from an unrelated contract", {
                let unrelated = Sender::Contract(AskKey { contract: path("1.2"), ask: AskId(1) });
                Fact::Heard { from: unrelated, stimulus: stimulus.clone() }
            }),
        ],
        Stimulus::Message(text) => vec![("longer", heard(Stimulus::Message(longer(*text))))],
        Stimulus::WrapUp => vec![
            ("cancel", heard(Stimulus::Cancel)),
            ("out of tokens, below a root", heard(Stimulus::OutOfTokens { left: 900 })),
        ],
        Stimulus::Question(_)
        | Stimulus::Draw { .. }
        | Stimulus::RefuseDraw { .. }
        | Stimulus::Hire(_)
        | Stimulus::DropHire { .. }
        | Stimulus::OutOfTokens { .. }
        | Stimulus::Cancel => Vec::new(),
    }
}

fn waiting(call: CallRef, on: &[u32], need: Need, until: Option<Millis>) -> Changes<Fact> {
    let next = CallRef { index: call.index + 1, ..call };
    let other = match need {
        Need::Any => Need::All,
        Need::All => Need::Any,
    };
    let strange = [on, &[99]].concat();
    vec![
        ("call index", Fact::Waiting { call: next, on: on.to_vec(), need, until }),
        ("on no hire", Fact::Waiting { call, on: strange, need, until }),
        ("need", Fact::Waiting { call, on: on.to_vec(), need: other, until }),
    ]
}

fn woke(pause: Pause, why: Waking) -> Changes<Fact> {
    let other = match pause {
        Pause::Call(call) => Pause::Call(CallRef { index: call.index + 1, ..call }),
        Pause::Hire(ordinal) => Pause::Hire(ordinal - 1),
    };
    let all = [Waking::Reported, Waking::TimedOut, Waking::Message, Waking::Closing];
    let mut changes = vec![("what", Fact::Woke { pause: other, why })];
    changes.extend(all.into_iter().filter(|other| *other != why).map(|why| ("why", Fact::Woke { pause, why })));
    changes
}

fn nudges() -> Changes<Nudge> {
    vec![("required", Nudge::Required), ("empty", Nudge::Empty)]
}

fn outcomes(outcome: Outcome) -> Changes<Outcome> {
    let all = vec![
        ("done", Outcome::Done),
        ("purse", Outcome::Exhausted(Limit::Purse)),
        ("turns", Outcome::Exhausted(Limit::Turns)),
        ("deadline", Outcome::Exhausted(Limit::Deadline)),
        ("asked", Outcome::Exhausted(Limit::Asked)),
        ("failed", Outcome::Failed),
        ("cancelled", Outcome::Cancelled),
    ];
    all.into_iter().filter(|(_, other)| *other != outcome).collect()
}

fn reports(report: &Report) -> Changes<Report> {
    let base = || report.clone();
    let text = report.text.text();
    let mut changes = each(outcomes(report.outcome), |outcome| Report { outcome, ..base() });
    changes.extend([
        ("text", Report { text: Wording::Final(longer(text)), ..base() }),
        ("assembled", Report { text: Wording::Assembled(text), ..base() }),
        ("output", Report { output: None, ..base() }),
        ("not accepted", Report { acceptance: Acceptance::NotAccepted, ..base() }),
        ("not accepted, and no fee", Report { acceptance: Acceptance::NotAccepted, fee: Msat::ZERO, ..base() }),
        ("undone", Report { undone: Some(Undone::PromisedHire), ..base() }),
        ("unheard", Report { unheard: vec![AskId(2)], ..base() }),
        ("spent more", Report { spent: more(report.spent), ..base() }),
        ("spent less", Report { spent: less(report.spent), ..base() }),
        ("change", Report { change: more(report.change), ..base() }),
        ("fee more", Report { fee: more(report.fee), ..base() }),
        ("no fee", Report { fee: Msat::ZERO, ..base() }),
        ("heads", Report { heads: Heads(report.heads.0 + 1), ..base() }),
    ]);
    changes
}
