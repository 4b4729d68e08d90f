//! The two protocols as models.

use guildhall_agent::{Attempt, Billing, Model, Prompt, Task, Watch, Wire};

use crate::client::Client;
use crate::endpoint::Endpoint;

/// A model over Anthropic Messages.
#[derive(Debug)]
pub struct Anthropic(Client);

impl Anthropic {
    /// Makes the model. No connection is made before it is asked.
    pub fn new(endpoint: Endpoint) -> Anthropic {
        Anthropic(Client::new(Wire::Anthropic, endpoint))
    }
}

impl Model for Anthropic {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(self.0.ask(prompt, watch))
    }

    fn billing(&self) -> Billing {
        self.0.billing()
    }

    fn has_json_turns(&self) -> bool {
        self.0.has_json_turns()
    }
}

/// A model over OpenAI-compatible Chat Completions: `OpenAI`, Ollama, llama.cpp, vLLM, LM Studio, `OpenRouter` and others.
#[derive(Debug)]
pub struct OpenAi(Client);

impl OpenAi {
    /// Makes the model. No connection is made before it is asked.
    pub fn new(endpoint: Endpoint) -> OpenAi {
        OpenAi(Client::new(Wire::OpenAi, endpoint))
    }
}

impl Model for OpenAi {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(self.0.ask(prompt, watch))
    }

    fn billing(&self) -> Billing {
        self.0.billing()
    }

    fn has_json_turns(&self) -> bool {
        self.0.has_json_turns()
    }
}

/// A model over either protocol.
#[derive(Debug)]
pub enum Provider {
    /// Over Anthropic Messages.
    Anthropic(Anthropic),
    /// Over Chat Completions.
    OpenAi(OpenAi),
}

impl Provider {
    /// Returns where the model is.
    pub fn endpoint(&self) -> &Endpoint {
        match self {
            Provider::Anthropic(Anthropic(client)) | Provider::OpenAi(OpenAi(client)) => client.endpoint(),
        }
    }
}

impl Model for Provider {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        match self {
            Provider::Anthropic(model) => model.ask(prompt, watch),
            Provider::OpenAi(model) => model.ask(prompt, watch),
        }
    }

    fn billing(&self) -> Billing {
        match self {
            Provider::Anthropic(model) => model.billing(),
            Provider::OpenAi(model) => model.billing(),
        }
    }

    fn has_json_turns(&self) -> bool {
        match self {
            Provider::Anthropic(model) => model.has_json_turns(),
            Provider::OpenAi(model) => model.has_json_turns(),
        }
    }
}
