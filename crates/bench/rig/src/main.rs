//! The tree of the benchmark with rig: `rig-tree URL TASK` prints the answer of the root. All agents share one model and
//! one HTTP client, and run on one thread, as the floor does. Rig has no limit for parallel calls to a model.

use std::env;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use rig_agent::prelude::{Agent, AgentBuilder, PromptError};
use rig_core::providers::openai::OpenAIConfig;
use rig_core::tool::PortableTool;
use serde::Deserialize;
use serde_json::{Value, json};

/// More than the calls of any reply: all hires of an agent work at the same time.
const AT_ONCE: usize = 100_000;

/// The tool that hires. All agents are runs of the same agent.
struct Delegate(Arc<OnceLock<Agent>>);

#[derive(Deserialize)]
struct Hire {
    task: String,
}

impl PortableTool for Delegate {
    const NAME: &'static str = "delegate_task";
    type Args = Hire;
    type Output = String;
    type Error = PromptError;

    fn description(&self) -> String {
        "Hires an agent for a task and returns its report.".into()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "required": ["specialty", "task"], "properties": {
            "specialty": {"type": "string"}, "task": {"type": "string"}}})
    }

    async fn call(&self, hire: Hire) -> Result<String, PromptError> {
        let agent = self.0.get().expect("the agent is built before it is asked");
        ask(agent, hire.task).await
    }
}

/// Runs an agent. It may ask the model twice: to hire, and to report.
async fn ask(agent: &Agent, task: String) -> Result<String, PromptError> {
    let response = agent.prompt(task).max_turns(2).tool_concurrency(AT_ONCE).await?;
    Ok(response.output())
}

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let (Some(url), Some(task)) = (args.next(), args.next()) else {
        eprintln!("rig-tree needs a URL and a task");
        return ExitCode::FAILURE;
    };
    let model = OpenAIConfig::new("none").with_base_url(url).client().chat("fake");
    let shared = Arc::new(OnceLock::new());
    let builder = AgentBuilder::new(model).preamble("You are worker.").tool(Delegate(Arc::clone(&shared)));
    let agent = shared.get_or_init(|| builder.build());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.expect("a runtime can be built").block_on(ask(agent, task)) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
