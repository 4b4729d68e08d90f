//! The desk of one contract: it keeps the contract's facts and texts, performs what is asked, and opens its mail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use guildhall_agent::{Arrival, Engine, Reply, Text, Texts};
use guildhall_kernel::{
    Addressee, Answer, Ask, AskId, AskKey, Brief, Cause, Contract, Cost, Effect, Fact, Hash, Input, Matter, Millis,
    Msat, Path, Request, Sender, Stimulus, TextRef, ToolCall,
};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::{Mail, Office, OfficeError, Place, Replays};
use crate::journal::{Batch, texts_in};

/// The engine, as one contract sees it.
pub(super) struct Desk {
    office: Office,
    path: Path,
    place: Place,
    post: mpsc::UnboundedSender<Mail>,
    mail: mpsc::UnboundedReceiver<Mail>,
    facts: Vec<Fact>,
    texts: Shelf,
    /// Texts that no stored fact names yet.
    fresh: Vec<Text>,
    /// The order that the next facts carry out.
    order: Option<u64>,
    /// Asks up to this one were stored by an earlier process: they may have left with it.
    left: Option<AskId>,
    begun: BTreeSet<AskId>,
    leaves: BTreeMap<AskId, AbortHandle>,
    /// Everything that was started here. It ends with the desk.
    tasks: JoinSet<()>,
}

/// Texts at hand.
#[derive(Clone, Default)]
struct Shelf(BTreeMap<Hash, Arc<str>>);

impl Texts for Shelf {
    fn text(&self, of: &TextRef) -> String {
        self.0.get(&of.hash).map_or_else(String::new, |text| text.as_ref().to_owned())
    }

    fn reply(&self, of: &TextRef) -> Arc<Reply> {
        let stored = self.0.get(&of.hash).and_then(|text| serde_json::from_str(text).ok());
        Arc::new(stored.expect("a reply is stored before the fact that names it"))
    }
}

impl Desk {
    pub(super) fn new(
        office: Office,
        path: Path,
        place: Place,
        post: mpsc::UnboundedSender<Mail>,
        mail: mpsc::UnboundedReceiver<Mail>,
        texts: Vec<Text>,
    ) -> Desk {
        let mut desk = Desk {
            office,
            path,
            place,
            post,
            mail,
            facts: Vec::new(),
            texts: Shelf::default(),
            fresh: Vec::new(),
            order: None,
            left: None,
            begun: BTreeSet::new(),
            leaves: BTreeMap::new(),
            tasks: JoinSet::new(),
        };
        desk.keep(texts);
        desk
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn keep(&mut self, texts: Vec<Text>) {
        for text in texts {
            self.texts.0.insert(text.of.hash, text.says.as_str().into());
            self.fresh.push(text);
        }
    }

    fn key(&self, ask: AskId) -> AskKey {
        AskKey { contract: self.path.clone(), ask }
    }

    /// Asks the model, on a permit that is held no longer than the call.
    fn ask_model(&mut self, id: AskId, request: &Request) {
        let (key, request, place, post) = (self.key(id), request.clone(), self.place.clone(), self.post.clone());
        let (facts, texts) = (self.facts.clone(), self.texts.clone());
        self.leaf(id, async move {
            let Ok(permit) = place.lane.acquire().await else { return };
            let arrival = place.seat.ask(key, &request, &facts, &texts, &|_| {}).await;
            drop(permit);
            send(&post, arrival);
        });
    }

    fn call_tool(&mut self, id: AskId, call: &ToolCall) {
        let (key, call, place, post) = (self.key(id), call.clone(), self.place.clone(), self.post.clone());
        let arguments = self.texts.text(&call.arguments);
        self.leaf(id, async move {
            let arrival = place.seat.call(&key, &call, &arguments).await;
            send(&post, arrival);
        });
    }

    fn leaf(&mut self, id: AskId, work: impl Future<Output = ()> + Send + 'static) {
        let handle = self.tasks.spawn(work);
        self.leaves.insert(id, handle);
    }

    /// Starts the same loop on the hire's brief, as a task of its own.
    fn hire(&mut self, id: AskId, brief: &Arc<Brief>) {
        let named = std::iter::once(&brief.task).chain(brief.terms.iter()).chain(brief.adds.iter());
        let named = named.map(|of| Text { of: *of, says: self.texts.text(of) }).collect();
        let mut desk = self.office.desk(brief, named);
        let (office, brief, post) = (self.office.clone(), Arc::clone(brief), self.post.clone());
        self.tasks.spawn(async move {
            let report = Box::pin(guildhall_agent::run(&mut desk, Arc::clone(&brief))).await;
            office.close(&brief.path);
            let mail = match report {
                Ok(report) => {
                    let cost = Cost::Known(report.spent);
                    let input = Input::Answer { id, answer: Answer::Report(Box::new(report)), cost };
                    Mail::Arrival { arrival: Arrival { input, texts: Vec::new() }, order: None }
                }
                Err(why) => Mail::Failed(OfficeError::Below { contract: brief.path.clone(), why: why.to_string() }),
            };
            // A hirer that is gone has failed itself, and says so.
            post.send(mail).ok();
        });
    }

    /// Tells another contract something, and itself that it did.
    fn tell(&mut self, id: AskId, to: &Path, what: &Stimulus) {
        let heard = self.deliver(id, to, what);
        let answer = if heard { Answer::Delivered } else { Answer::Gone };
        self.answer(id, answer);
    }

    fn deliver(&self, id: AskId, to: &Path, what: &Stimulus) -> bool {
        let (Stimulus::Message(text) | Stimulus::Question(text)) = what else {
            return self.send_told(id, to, what, Vec::new());
        };
        self.send_told(id, to, what, vec![Text { of: *text, says: self.texts.text(text) }])
    }

    fn send_told(&self, id: AskId, to: &Path, what: &Stimulus, texts: Vec<Text>) -> bool {
        let input = Input::Told { from: Sender::Contract(self.key(id)), what: what.clone() };
        self.office.send(to, Mail::Arrival { arrival: Arrival { input, texts }, order: None })
    }

    fn answer(&self, id: AskId, answer: Answer) {
        let input = Input::Answer { id, answer, cost: Cost::Known(Msat::ZERO) };
        send(&self.post, Arrival { input, texts: Vec::new() });
    }

    /// What may have happened before a crash and can't be attached to or done again is lost, at its hold.
    fn is_lost(&self, id: AskId, ask: &Ask) -> bool {
        let may_have_left = self.left.is_some_and(|left| id <= left);
        may_have_left
            && match ask {
                Ask::Model(_) => self.place.replays == Replays::No,
                Ask::Tool(call) => call.effect == Effect::Once,
                Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. } => false,
            }
    }

    /// Stops the leaf calls of a contract that was cancelled. What they used is not known, so they cost their holds.
    fn abort(&mut self, id: AskId, ask: &Ask) {
        let leaf = matches!(ask, Ask::Model(_) | Ask::Tool(_) | Ask::Check(_));
        if leaf && (self.leaves.contains_key(&id) || !self.begun.contains(&id)) {
            let running = self.leaves.remove(&id);
            let cost = if running.is_some() { Cost::Unknown } else { Cost::Known(Msat::ZERO) };
            if let Some(running) = running {
                running.abort();
            }
            self.begun.insert(id);
            let input = Input::Answer { id, answer: Answer::Aborted, cost };
            send(&self.post, Arrival { input, texts: Vec::new() });
        }
    }
}

fn send(post: &mpsc::UnboundedSender<Mail>, arrival: Arrival) {
    // A desk that is gone has closed, and what comes late changes nothing.
    post.send(Mail::Arrival { arrival, order: None }).ok();
}

impl Engine for Desk {
    type Error = OfficeError;

    fn now(&self) -> Millis {
        self.office.inner.time.now()
    }

    async fn stored(&mut self) -> Result<Vec<Fact>, OfficeError> {
        let inner = &self.office.inner;
        let stored = inner.journal.contract_facts(inner.lease.session(), &self.path).await?;
        let facts: Vec<Fact> = stored.into_iter().map(|stored| stored.fact).collect();
        let asked = |fact: &Fact| if let Fact::Asked { id, .. } = fact { Some(*id) } else { None };
        self.left = facts.iter().filter_map(asked).max();
        let named = |fact: &Fact| texts_in(&serde_json::to_value(fact).expect("a fact is JSON"));
        for of in facts.iter().flat_map(named) {
            let says = inner.journal.text(of.hash).await?.ok_or(OfficeError::TextGone(of.hash))?;
            self.texts.0.insert(of.hash, String::from_utf8_lossy(&says).into());
        }
        self.facts.clone_from(&facts);
        Ok(facts)
    }

    async fn record(&mut self, cause: Cause, at: Millis, facts: Vec<Fact>) -> Result<(), OfficeError> {
        let inner = &self.office.inner;
        let texts = std::mem::take(&mut self.fresh).into_iter().map(|text| (text.of, text.says.into_bytes())).collect();
        let (contract, done) = (self.path.clone(), self.order.take());
        let batch = Batch { contract, at, cause, facts: facts.clone(), texts, done };
        inner.journal.append(&inner.lease, batch).await?;
        self.facts.extend(facts);
        Ok(())
    }

    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        if contract.is_cancelled() {
            self.abort(id, ask);
        }
        if !self.begun.insert(id) {
            return;
        }
        if self.is_lost(id, ask) {
            let input = Input::Answer { id, answer: Answer::Lost, cost: Cost::Unknown };
            return send(&self.post, Arrival { input, texts: Vec::new() });
        }
        match ask {
            Ask::Model(request) => self.ask_model(id, request),
            Ask::Tool(call) => self.call_tool(id, call),
            Ask::Hire { brief, .. } => self.hire(id, brief),
            Ask::Tell { to, what } => self.tell(id, to, what),
            Ask::Question { to: Addressee::Hirer, matter: Matter::Words(words), .. } => {
                if let Some(hirer) = self.path.hirer() {
                    self.deliver(id, &hirer, &Stimulus::Question(*words));
                }
            }
            // Whoever watches shows it to the owner; no reply in time is one.
            Ask::Question { .. } => {}
            // No brief of this engine names checks yet; one that does is not accepted.
            Ask::Check(_) => self.answer(id, Answer::Lost),
        }
    }

    async fn next(&mut self, wake: Option<Millis>) -> Result<Input, OfficeError> {
        if let Some(order) = self.order.take() {
            // It changed nothing, so no fact carried it out: it is done all the same.
            self.office.inner.journal.mark_done(&self.office.inner.lease, order).await?;
        }
        let wait = wake.map(|wake| self.office.inner.time.until(wake));
        let mail = match wait {
            None => self.mail.recv().await,
            Some(wait) => match tokio::time::timeout(wait, self.mail.recv()).await {
                Ok(mail) => mail,
                Err(_elapsed) => return Ok(Input::Tick),
            },
        };
        match mail.expect("the desk keeps its own post open") {
            Mail::Failed(why) => Err(why),
            Mail::Arrival { arrival, order } => {
                self.keep(arrival.texts);
                self.order = order;
                if let Input::Answer { id, .. } | Input::Reply { id, .. } = &arrival.input {
                    self.leaves.remove(id);
                }
                Ok(arrival.input)
            }
        }
    }
}
