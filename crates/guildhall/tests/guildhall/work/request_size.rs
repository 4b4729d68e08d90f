//! How many bytes a hire's first request has besides its task. Every request of every hire pays for them.

use std::fs;
use std::sync::{Arc, Mutex};

use guildhall::roster::Source as Files;
use guildhall::{Prompt, REHEARSAL_PRICE, Reply, Roster, model_fn};
use guildhall_agent::{Attempt, CallFormat, Model, Task, Watch};
use guildhall_models::{Endpoint, Form, body};

use super::*;

const TASK: &str = "Say what the notes are about.";

/// A model whose replies may be JSON turns.
struct InJson<M>(M);

impl<M: Model> Model for InJson<M> {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        self.0.ask(prompt, watch)
    }

    fn has_json_turns(&self) -> bool {
        true
    }
}

/// The first prompt of an agent with these tools that another agent hires.
async fn prompt_of_hire(tools: &str) -> Prompt {
    let (project, files) = (project(), tempfile::tempdir().unwrap());
    for (name, front) in [("lead", "delegation:\n  team: [hire]"), ("hire", tools)] {
        let text = format!("---\nname: {name}\ndescription: Does a part of the work.\n{front}\n---\nYou are {name}.\n");
        fs::write(files.path().join(format!("{name}.md")), text).unwrap();
    }
    let hired = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&hired);
    let model = model_fn(move |prompt: Prompt| {
        let is_lead = prompt.opening.system().starts_with("You are lead.");
        let is_first = prompt.last_result().is_none();
        if prompt.opening.system().starts_with("You are hire.") {
            seen.lock().unwrap().get_or_insert(prompt);
        }
        let hire = || Reply::call("delegate_task", json!({"specialty": "hire", "task": TASK}));
        std::future::ready(if is_lead && is_first { hire() } else { Reply::words("Done.") })
    });
    let roster = Roster::load(&[Files::Named(files.path().to_owned())]);
    let hall = Hall::builder().project(project.path()).model("clerk", InJson(model), REHEARSAL_PRICE).roster(roster);
    let ended = hall.build().unwrap().run("Look.").budget(Msat::from_sat(500).unwrap()).await.unwrap();
    assert_eq!(ended.report.outcome, Outcome::Done);
    hired.lock().unwrap().take().unwrap()
}

/// Checks the bytes of its request besides the task. In JSON turns, the tools are listed in the instructions and once more in the
/// schema of the reply.
async fn check(tools: &str, bytes_max: usize, bytes_max_in_json: usize) {
    let prompt = prompt_of_hire(tools).await;
    let endpoint = Endpoint::new(BaseUrl::parse("http://127.0.0.1:1").unwrap(), None, "a-model");
    for (wire, calls, bytes_max) in [
        (agent::Wire::Anthropic, CallFormat::Tools, bytes_max),
        (agent::Wire::OpenAi, CallFormat::Tools, bytes_max),
        (agent::Wire::OpenAi, CallFormat::Json, bytes_max_in_json),
    ] {
        let body = body(wire, &endpoint, &prompt, Form { calls, ..Form::of(&endpoint) }).unwrap();
        let bytes = body.len() - TASK.len();
        assert!(bytes <= bytes_max, "{wire:?} {calls:?}: {bytes} bytes\n{}", String::from_utf8_lossy(&body));
    }
}

#[tokio::test]
async fn a_hire_without_tools_adds_at_most_1500_bytes_to_its_task() {
    check("tools: []", 1500, 2050).await;
}

#[tokio::test]
async fn a_hire_with_the_file_tools_adds_at_most_4000_bytes_to_its_task() {
    check("tools: [read_file, list_files, search]", 4000, 4000).await;
}

#[tokio::test]
async fn a_hire_with_the_file_tools_that_can_hire_adds_at_most_6000_bytes_to_its_task() {
    check("tools: [read_file, list_files, search]\ndelegation:\n  team: [hire]\n  recursive: true", 6000, 6500).await;
}
