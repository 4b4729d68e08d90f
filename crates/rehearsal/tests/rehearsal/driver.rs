//! A small hall in memory. It runs a team on a directory with the real file tools, and runs hires by recursion. Money is not
//! counted here; the end-to-end tests check money.

use std::future::Future;
use std::path::Path as FilePath;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use guildhall_agent::{
    Heard, HeardReport, HiringLeft, Model, Opening, Prompt, PromptData, RawCall, Reply, Status, Tool, ToolOutcome,
    ToolSpec,
};
use guildhall_kernel::{AgentName, AskId, AskKey, Heads, Msat, Outcome as Ending, Path, Refusal, Turn};
use guildhall_rehearsal::{LABEL, Rehearsal};
use guildhall_tools::{Project, read_only};
use serde_json::json;

use crate::team::{Agent, Team};

const TURNS_MAX: u32 = 12;
const MAX_TOKENS: u32 = 16_000;

/// The result of one contract.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) path: Path,
    pub(crate) agent: String,
    pub(crate) report: String,
}

/// The answer of the root, and the results of all contracts.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: String,
    pub(crate) work: Vec<Work>,
}

pub(crate) struct Hall {
    team: Team,
    tools: Vec<Arc<dyn Tool>>,
    work: Mutex<Vec<Work>>,
    /// The agent whose hire is refused.
    pub(crate) refused: Option<String>,
}

type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

impl Hall {
    pub(crate) fn new(team: Team, project: &FilePath) -> Hall {
        let tools = read_only(&Project::open(project).unwrap());
        Hall { team, tools, work: Mutex::default(), refused: None }
    }

    pub(crate) async fn run(self, question: &str) -> Outcome {
        let answer = self.hire(self.team.entry(), question.to_owned(), Path::root(1)).await;
        Outcome { answer, work: self.work.into_inner().unwrap() }
    }

    /// Runs a contract from brief to report.
    fn hire<'a>(&'a self, agent: &'a Agent, task: String, path: Path) -> Pending<'a, String> {
        Box::pin(async move {
            let team = self.team.data(agent);
            let hiring = team.is_some().then_some(HiringLeft { money: Msat::ZERO, heads: Heads(99), depth: 9 });
            let status = Status { money: Msat::ZERO, turns: TURNS_MAX, hiring, time: None, may_draw: false };
            let name = AgentName::parse(&agent.name).unwrap();
            let mut data = PromptData { agent: name, team, task, turn: Turn::Next, status, heard: Vec::new() };
            let report = loop {
                let reply = self.ask(&path, &data).await;
                data.heard.push(Heard::Reply(Arc::new(reply.clone())));
                if reply.calls.is_empty() {
                    break reply.words.unwrap();
                }
                data.status.turns = data.status.turns.checked_sub(1).expect("a contract ends within its turns");
                for call in &reply.calls {
                    self.perform(call, &path, &mut data).await;
                }
            };
            assert!(report.starts_with(LABEL), "{report}");
            let work = Work { path, agent: agent.name.clone(), report: report.clone() };
            self.work.lock().unwrap().push(work);
            report
        })
    }

    async fn ask(&self, path: &Path, data: &PromptData) -> Reply {
        let spec = |name: &str| ToolSpec { name: name.to_owned(), description: String::new(), schema: json!({}) };
        let hiring = data.team.iter().flat_map(|_| ["delegate_task", "wait_for_agents", "message_agent"]).map(spec);
        let prompt = Prompt {
            key: AskKey { contract: path.clone(), ask: AskId(1) },
            opening: Arc::new(Opening::new("", self.tools.iter().map(|tool| tool.spec()).chain(hiring).collect())),
            messages: Vec::new(),
            status: None,
            max_tokens: MAX_TOKENS,
            must_call: None,
            json_turn: None,
            continues: None,
            data: Some(Box::new(data.clone())),
        };
        let attempt = Rehearsal.ask(&prompt, &|_| {}).await;
        assert_eq!(attempt, Rehearsal.ask(&prompt, &|_| {}).await, "the same prompt has the same reply");
        attempt.outcome.unwrap()
    }

    async fn perform(&self, call: &RawCall, path: &Path, data: &mut PromptData) {
        let arguments = call.arguments.as_ref().unwrap();
        if call.name != "delegate_task" {
            let tool = self.tools.iter().find(|tool| tool.spec().name == call.name).unwrap();
            let result = tool.call(&AskKey { contract: path.clone(), ask: AskId(2) }, arguments).await;
            assert_eq!(result.outcome, ToolOutcome::Done, "{call:?}: {}", result.text);
            data.heard.push(Heard::Result { call: call.id.clone(), text: result.text, failed: false });
            return;
        }
        let argument = |name: &str| arguments[name].as_str().unwrap().to_owned();
        let (name, task, id) = (argument("specialty"), argument("task"), Some(call.id.clone()));
        if self.refused.as_ref() == Some(&name) {
            data.heard.push(Heard::Refused { call: id, hire: None, why: Refusal::CantHire });
            return;
        }
        let hired = data.heard.iter().filter(|heard| matches!(heard, Heard::Hired { .. })).count();
        let hire = path.hire(u32::try_from(hired).unwrap() + 1);
        let agent = AgentName::parse(&name).unwrap();
        data.heard.push(Heard::Hired { call: id.clone(), hire: hire.clone(), agent: agent.clone() });
        let text = self.hire(&self.team.0[&name], task, hire.clone()).await;
        data.heard.push(Heard::Report(HeardReport { call: id, hire, agent, outcome: Ending::Done, text }));
    }
}
