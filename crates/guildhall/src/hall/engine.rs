//! How the engine of a session is opened: with the environments of all its agents, and with what the stored facts say about its
//! providers.

use std::collections::BTreeMap;
use std::path::{Component, Path as FilePath};
use std::sync::Arc;

use guildhall_kernel::{Brief, Fact, Path, Stored};
use guildhall_local::{AgentEnv, Exists, FindEnv, Overruns, SessionEngine, SessionId, unix_now};
use guildhall_tools::{Project, read_only};

use super::{Hall, HallError};
use crate::agent_table::{AgentTable, TableInputs};
use crate::faults::Faults;
use crate::models::Paid;
use crate::setup::{Setup, Staffing, staffings};

impl Hall {
    /// Opens the engine of a session, with the environments of all its agents. From now on, the faults of the root's
    /// provider are recorded.
    pub(crate) async fn engine(&self, id: &SessionId, setup: &Setup) -> Result<(SessionEngine, Faults), HallError> {
        let table = Arc::new(self.table(id, &setup.staffing)?);
        let lease = self.journal().lease(id, unix_now()).await?;
        let table = if table.lacks_something() { self.fit_for_open_contracts(id, table).await? } else { table };
        let faults = Faults::default();
        let recorded = faults.clone();
        let (redactor, environments) = (self.redactor().clone(), Arc::clone(&table));
        let find_env: FindEnv = Arc::new(move |brief| match environments.env(brief) {
            Ok(env) => recorded.record(env, brief),
            Err(why) => AgentEnv::failing(&why.to_string(), &redactor),
        });
        let mut staffings = staffings(self.journal(), id).await?;
        staffings.insert(setup.brief.path.clone(), setup.staffing.clone());
        let staffings = Arc::new(staffings);
        let overruns = self.overruns(setup, &staffings);
        let tokens_max = setup.token_limit().map(|limit| limit.max().clone());
        let engine = SessionEngine::open(self.journal().clone(), lease, find_env, overruns, tokens_max).await?;
        // An earlier root may have had another model for an agent of the same name.
        let models = engine.undercounted().iter().filter_map(|brief| staffings.get(&brief.path.top())?.model_of(brief));
        models.for_each(|model| table.distrust_counts_of(model));
        Ok((engine, faults))
    }

    /// Returns the table if the agents of all open contracts have their models and tools. Hires that begin later fail without.
    async fn fit_for_open_contracts(
        &self,
        id: &SessionId,
        table: Arc<AgentTable>,
    ) -> Result<Arc<AgentTable>, HallError> {
        let mut open = BTreeMap::new();
        for Stored { contract, fact, .. } in self.journal().facts(id, 1).await? {
            if let Fact::Opened(brief) = fact {
                open.insert(contract, brief);
            } else if let Fact::Closed(_) = fact {
                open.remove(&contract);
            }
        }
        if open.values().all(|brief| table.env(brief).is_ok()) {
            return Ok(table);
        }
        Arc::into_inner(table).expect("the table has one owner").require_all().map(Arc::new)
    }

    /// Whether calls to a provider continue after an overrun, even if the work was started without that permission.
    pub(crate) fn allows_overrun(&self) -> bool {
        self.inner.allow_overrun
    }

    /// What to do with a provider after an overrun. A model without a paid provider has no overruns: nobody sends a bill for it.
    fn overruns(&self, setup: &Setup, staffings: &Arc<BTreeMap<Path, Staffing>>) -> Overruns {
        if self.allows_overrun() || setup.allow_overrun {
            return Overruns::Allow;
        }
        let (models, staffings) = (self.models().clone(), Arc::clone(staffings));
        let provider_of = move |brief: &Brief| {
            let model = staffings.get(&brief.path.top())?.model_of(brief)?;
            // A provider that is no longer set up gets no calls anyway.
            let name = models.find(Some(model)).ok()?;
            (models.paid(&name) == Paid::Provider).then_some(name.source)
        };
        Overruns::Stop(Arc::new(provider_of))
    }

    /// Builds the table of all agents that the session can use.
    pub(crate) fn table(&self, id: &SessionId, staffing: &Staffing) -> Result<AgentTable, HallError> {
        let project = Project::open(&self.inner.project)?;
        let tools = read_only(&project).into_iter().chain(self.inner.tools.iter().cloned());
        let tools = tools.map(|tool| (tool.spec().name, tool)).collect();
        let root = self.inner.project.clone();
        let exists: Exists = Arc::new(move |path| is_beneath(path) && root.join(path).is_file());
        AgentTable::build(&TableInputs {
            models: self.models(),
            session: id,
            staffing,
            tools: &tools,
            tool_limiter: &self.inner.tool_limiter,
            redactor: self.redactor(),
            watch: &self.inner.watch,
            exists: &exists,
        })
    }
}

/// Whether a path stays below its starting directory.
fn is_beneath(path: &str) -> bool {
    FilePath::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
