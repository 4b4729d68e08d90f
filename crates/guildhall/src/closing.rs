//! Ends a session that can't continue because its stored settings can't be read. The settings list the agents and their models.
//! All contracts of the session are cancelled, which needs no model, and the money that was not charged goes back to the session.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::{AgentRuntime, Hired, ModelError, Profile, Reply, model_fn};
use guildhall_kernel::{Fact, Msat, SessionFact, Stored};
use guildhall_local::{AgentEnv, CallLimiter, Overruns, Replays, SessionEngine, SessionId, unix_now};

use crate::hall::{Ending, Hall, HallError};
use crate::running::settle;
use crate::setup::newest_root;
use crate::undertaking::account;

impl Hall {
    /// Ends a session whose settings can't be read, immediately and without a model call. Returns whether it did. A session that
    /// can continue, or that another process runs, is not changed.
    pub async fn end_unreadable(&self, id: &SessionId) -> Result<bool, HallError> {
        if !matches!(newest_root(self.journal(), id).await, Err(HallError::NoSetup { .. })) {
            return Ok(false);
        }
        // The process that runs the session has read the settings before they were damaged, and follows an order to end.
        if self.journal().running(id).await?.is_some() {
            return Ok(false);
        }
        let root = self.root(id).await?;
        if account(self.journal(), id).await?.has_ended(&root) {
            return Err(HallError::HasEnded(id.clone()));
        }
        let lease = self.journal().lease(id, unix_now()).await?;
        let env = self.empty_env();
        let find_env = Arc::new(move |_: &_| Some(env.clone()));
        let engine = SessionEngine::open(self.journal().clone(), lease, find_env, Overruns::Allow).await?;
        let Some(Stored { fact: Fact::Opened(brief), .. }) = self.journal().first_fact(id, &root).await? else {
            // The root was requested and never started.
            let (spent, reserved, estimated) = (Msat::ZERO, Some(Msat::ZERO), Some(Msat::ZERO));
            engine.account(vec![SessionFact::Ended { root, spent, reserved, estimated }], Vec::new()).await?;
            engine.finish_orders().await?;
            return Ok(true);
        };
        match self.end(id, Ending::Cancel).await {
            // A process may have closed the root and been killed before it settled the account.
            Ok(_) | Err(HallError::HasEnded(_)) => {}
            Err(why) => return Err(why),
        }
        let report = engine.run(brief, Vec::new()).await?;
        settle(self, id, &engine, &root, &report).await?;
        Ok(true)
    }

    /// An environment in which every model call is refused.
    fn empty_env(&self) -> AgentEnv {
        let model = model_fn(|_| async {
            let why = "the stored settings of this work can't be read".to_owned();
            Err::<Reply, _>(ModelError::Refused { provider: "nobody".to_owned(), why })
        });
        let runtime = AgentRuntime {
            profile: Arc::new(Profile::new("", BTreeMap::new(), None, Hired::ByOwner)),
            model: Arc::new(model),
            window: u64::MAX,
            price: Arc::new(|_| Msat::ZERO),
            redactor: self.redactor().clone(),
        };
        AgentEnv {
            runtime: Arc::new(runtime),
            limiter: Arc::new(CallLimiter::new(1)),
            tools: Arc::new(CallLimiter::new(1)),
            replays: Replays::No,
            watch: Arc::new(|_, _, _| {}),
            exists: Arc::new(|_| false),
        }
    }
}
