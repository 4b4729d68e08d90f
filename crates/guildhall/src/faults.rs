//! The newest faults of providers that this process has seen. A call that is cut off at its deadline leaves no reason in the
//! journal, although its provider may have refused every attempt. Contracts never see these faults: they only explain the
//! outcome to a person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_agent::{AgentRuntime, Attempt, Billing, Delta, Model, Prompt, Redactor, Task, Watch};
use guildhall_kernel::{AskId, AskKey, Brief, Path, TextKind};
use guildhall_local::AgentEnv;

/// The newest fault of each root's newest ask.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<BTreeMap<Path, Fault>>>);

struct Fault {
    ask: AskId,
    why: String,
}

impl Faults {
    /// Returns the newest fault of an ask, if no reply arrived after it.
    pub(crate) fn of(&self, contract: &Path, ask: AskId) -> Option<String> {
        let faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        faults.get(contract).filter(|fault| fault.ask == ask).map(|fault| fault.why.clone())
    }

    /// Records the faults of a root's model. Faults of a hire are in the report to its hirer.
    pub(crate) fn record(&self, env: AgentEnv, brief: &Brief) -> AgentEnv {
        if brief.path.level() > 0 {
            return env;
        }
        let (model, redactor) = (Arc::clone(&env.runtime.model), env.runtime.redactor.clone());
        let model = Arc::new(Recorder { model, redactor, faults: self.clone() });
        AgentEnv { runtime: Arc::new(AgentRuntime { model, ..AgentRuntime::clone(&env.runtime) }), ..env }
    }

    fn note(&self, key: &AskKey, why: String) {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        faults.insert(key.contract.clone(), Fault { ask: key.ask, why });
    }

    fn forget(&self, key: &AskKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key.contract);
    }
}

/// A model whose faults are recorded.
struct Recorder {
    model: Arc<dyn Model>,
    redactor: Redactor,
    faults: Faults,
}

impl Recorder {
    fn note(&self, key: &AskKey, why: &str) {
        self.faults.note(key, self.redactor.text(TextKind::Error, why).says);
    }
}

impl Model for Recorder {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(async move {
            let key = &prompt.key;
            let hear = |delta: Delta<'_>| {
                match delta {
                    Delta::Waiting { message, .. } => self.note(key, message),
                    Delta::Words(_) | Delta::Thinking | Delta::Call { .. } | Delta::Used(_) => self.faults.forget(key),
                    // The outcome below has the reason of a lost reply.
                    Delta::Asking | Delta::Received { .. } | Delta::Lost { .. } => {}
                }
                watch(delta);
            };
            let attempt = self.model.ask(prompt, &hear).await;
            match &attempt.outcome {
                Ok(_) => self.faults.forget(key),
                Err(why) => self.note(key, &why.to_string()),
            }
            attempt
        })
    }

    fn has_json_turns(&self) -> bool {
        self.model.has_json_turns()
    }

    fn billing(&self) -> Billing {
        self.model.billing()
    }

    fn reads_data(&self) -> bool {
        self.model.reads_data()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use guildhall_agent::{
        Attempt, Delta, Model, ModelError, Opening, Prompt, Redactor, Reply, Reported, Task, WaitReason, Watch,
    };
    use guildhall_kernel::{AskId, AskKey, Path};

    use super::{Faults, Recorder};

    /// A model that reports a rate limit and then breaks off, or answers.
    struct Flaky {
        answers: AtomicBool,
    }

    impl Model for Flaky {
        fn ask<'a>(&'a self, _: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
            watch(Delta::Waiting { seconds: 1, why: WaitReason::RateLimited, message: "HTTP 429" });
            watch(Delta::Asking);
            let broken = ModelError::Broken { provider: "test".to_owned(), why: "it fell silent".to_owned() };
            let outcome = if self.answers.load(Ordering::Relaxed) { Ok(Reply::words("yes")) } else { Err(broken) };
            Box::pin(async { Attempt { outcome, usage: Reported::Nothing } })
        }
    }

    #[tokio::test]
    async fn the_newest_fault_of_an_ask_is_known_until_it_is_answered() {
        let faults = Faults::default();
        let flaky = Arc::new(Flaky { answers: AtomicBool::new(false) });
        let redactor = Redactor::new(Arc::new(|text| text.into()));
        let model = Recorder { model: flaky.clone(), redactor, faults: faults.clone() };
        let (root, ask) = (Path::root(1), AskId(3));
        let prompt = Prompt {
            key: AskKey { contract: root.clone(), ask },
            opening: Arc::new(Opening::new("", Vec::new())),
            messages: Vec::new(),
            status: None,
            max_tokens: 1,
            must_call: None,
            json_turn: None,
            continues: None,
            data: None,
        };
        let cut_off = model.ask(&prompt, &|_| {});
        drop(cut_off);
        assert_eq!(faults.of(&root, ask), None, "the model was not called");
        model
            .ask(&prompt, &|delta| {
                if let Delta::Asking = delta {
                    assert_eq!(faults.of(&root, ask).unwrap(), "HTTP 429");
                }
            })
            .await;
        assert_eq!(faults.of(&root, ask).unwrap(), "did not get a complete reply from test: it fell silent");
        assert_eq!(faults.of(&root, AskId(4)), None);
        flaky.answers.store(true, Ordering::Relaxed);
        model.ask(&prompt, &|_| {}).await;
        assert_eq!(faults.of(&root, ask), None);
    }
}
