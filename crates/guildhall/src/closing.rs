//! Ends a session that no process runs, without a resume. All contracts of the session are cancelled, which needs neither a model nor
//! a tool, and the money that was not charged goes back to the session. So a session ends also if it can't be resumed: its
//! settings can't be read or have another form, or an agent, a model or the project is gone.

use std::sync::Arc;

use guildhall_kernel::{Fact, Msat, SessionFact, Stored};
use guildhall_local::{AgentEnv, FindEnv, JournalError, Overruns, SessionEngine, SessionId, unix_now};

use crate::hall::{Ending, Hall, HallError};
use crate::running::settle;
use crate::setup::{Staffing, newest_root};
use crate::undertaking::account;

/// Why no model is called for a session that is ended.
const ENDED: &str = "this session was ended without a resume";

impl Hall {
    /// Ends a session that no process runs, immediately and without a model call. Returns whether it did. A session that another
    /// process runs is not changed: [`Hall::end`] orders that process to end it. A wrap-up needs a model for the last report, so
    /// it ends only a session whose settings can't be read.
    pub async fn end_here(&self, id: &SessionId, how: Ending) -> Result<bool, HallError> {
        let find_env = match (newest_root(self.journal(), id).await, how) {
            (Ok(_), Ending::WrapUp) => return Ok(false),
            (Ok(root), Ending::Cancel) => self.envs_of_ended(id, &root.setup.staffing),
            // The facts have the form of this journal, so they can be ended without the settings.
            (Err(HallError::NoSetup { .. } | HallError::OtherForm { .. }), Ending::Cancel)
            | (Err(HallError::NoSetup { .. }), Ending::WrapUp) => self.no_envs(),
            (Err(why), Ending::WrapUp | Ending::Cancel) => return Err(why),
        };
        // The process that runs the session follows the stop.
        if self.journal().running(id).await?.is_some() {
            return Ok(false);
        }
        let root = self.root(id).await?;
        if account(self.journal(), id).await?.has_ended(&root) {
            return Err(HallError::HasEnded(id.clone()));
        }
        let lease = match self.journal().lease(id, unix_now()).await {
            // A process has begun to run the session meanwhile.
            Err(JournalError::Held { .. }) => return Ok(false),
            lease => lease?,
        };
        let engine = SessionEngine::open(self.journal().clone(), lease, find_env, Overruns::Allow, None).await?;
        // Orders that came before this one may let an agent begin a turn. Its calls are cancelled before they are sent.
        engine.call_gate().close();
        let Some(Stored { fact: Fact::Opened(brief), .. }) = self.journal().first_fact(id, &root).await? else {
            // The root was requested and never started.
            let (spent, reserved, estimated) = (Msat::ZERO, Msat::ZERO, Msat::ZERO);
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

    /// The environments for ending a session. They know which models nobody bills. Without them, each interrupted call is charged at
    /// its hold.
    fn envs_of_ended(&self, id: &SessionId, staffing: &Staffing) -> FindEnv {
        // An agent, a model or the project may be gone. That must not keep the session from ending.
        let Ok(table) = self.table(id, staffing) else { return self.no_envs() };
        let none = AgentEnv::failing(ENDED, self.redactor());
        Arc::new(move |brief| table.env(brief).unwrap_or_else(|_| none.clone()))
    }

    /// Environments without models and tools.
    fn no_envs(&self) -> FindEnv {
        let none = AgentEnv::failing(ENDED, self.redactor());
        Arc::new(move |_| none.clone())
    }
}
