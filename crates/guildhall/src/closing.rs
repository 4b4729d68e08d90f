//! Ending a session that can't go on: what its work was set up with can't be read, so nobody knows who works with which model.
//! Everybody in it is cancelled, which needs neither, and what was not charged comes back.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::{AgentRuntime, Hired, ModelError, Reply, model_fn};
use guildhall_kernel::{Msat, SessionFact};
use guildhall_local::{AgentEnv, CallLimiter, Overruns, Replays, SessionEngine, SessionId, UnixMs};

use crate::hall::{Ending, Hall, HallError};
use crate::running::settle;
use crate::setup::newest_root;

impl Hall {
    /// Ends a session whose setup can't be read, at once and without asking any model. Returns whether it did: a session that
    /// can go on, or that another process runs, is left as it is.
    pub async fn end_unreadable(&self, id: &SessionId) -> Result<bool, HallError> {
        if !matches!(newest_root(self.journal(), id).await, Err(HallError::NoSetup { .. })) {
            return Ok(false);
        }
        // Whoever holds the session read its setup while that could be read, and obeys the order to end it.
        if self.journal().running(id).await?.is_some() {
            return Ok(false);
        }
        let root = self.open_root(id).await?;
        let lease = self.journal().lease(id, UnixMs::now()).await?;
        let env = self.empty_env();
        let find_env = Arc::new(move |_: &_| Some(env.clone()));
        let engine = SessionEngine::open(self.journal().clone(), lease, find_env, Overruns::Allow).await?;
        let brief = match self.brief(id, &root).await {
            Ok(brief) => brief,
            // It was asked for and never begun.
            Err(HallError::NobodyThere { .. }) => {
                let (spent, reserved, estimated) = (Msat::ZERO, Some(Msat::ZERO), Some(Msat::ZERO));
                engine.account(vec![SessionFact::Ended { root, spent, reserved, estimated }], Vec::new()).await?;
                engine.conclude_orders().await?;
                return Ok(true);
            }
            Err(why) => return Err(why),
        };
        self.end(id, Ending::Cancel).await?;
        let report = engine.run(brief, Vec::new()).await?;
        settle(self, id, &engine, &root, &report).await?;
        Ok(true)
    }

    /// A place at which nobody can work.
    fn empty_env(&self) -> AgentEnv {
        let model = model_fn(|_| async {
            let why = "what the work was set up with can't be read".to_owned();
            Err::<Reply, _>(ModelError::Refused { provider: "nobody".to_owned(), why })
        });
        let runtime = AgentRuntime {
            system: String::new(),
            model: Arc::new(model),
            window: u64::MAX,
            price: Arc::new(|_| Msat::ZERO),
            tools: BTreeMap::new(),
            team: None,
            hired: Hired::ByOwner,
            redactor: self.redactor().clone(),
        };
        AgentEnv {
            runtime: Arc::new(runtime),
            limiter: Arc::new(CallLimiter::new(1)),
            tools: Arc::new(CallLimiter::new(1)),
            replays: Replays::No,
            watch: Arc::new(|_, _| {}),
            exists: Arc::new(|_| false),
        }
    }
}
