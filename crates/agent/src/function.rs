//! Makes models and tools of functions, for programs that need no type of their own.

use std::fmt;
use std::marker::PhantomData;

use guildhall_kernel::{AskKey, Effect, Msat, PowerSet};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::{Attempt, Delta, Model, ModelError, Prompt, Reply, Reported, Task, ToolSpec, Usage, Watch};
use crate::tool::{Tool, ToolResult, ToolTerms};

/// Makes a model of a function that takes a prompt and returns a reply.
///
/// The function may return a [`Reply`], a `Result` of one, or an [`Attempt`] with the tokens that were used. Without tokens, the
/// bytes of the prompt and of the reply are counted.
///
/// ```
/// use guildhall_agent::{Reply, model_fn};
///
/// let parrot = model_fn(|prompt| async move {
///     let heard = prompt.last_words().unwrap_or_default();
///     Reply::words(format!("You said: {heard}"))
/// });
/// # fn is_model(_: impl guildhall_agent::Model) {}
/// # is_model(parrot);
/// ```
pub fn model_fn<F, Fut>(function: F) -> impl Model
where
    F: Fn(Prompt) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Into<Attempt>> + Send + 'static,
{
    ModelFn(function)
}

struct ModelFn<F>(F);

impl<F, Fut> Model for ModelFn<F>
where
    F: Fn(Prompt) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Into<Attempt>> + Send + 'static,
{
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        let reply = (self.0)(prompt.clone());
        Box::pin(async move {
            let Attempt { mut outcome, mut usage } = reply.await.into();
            if let Ok(reply) = &mut outcome {
                for call in &mut reply.calls {
                    // The ask's key makes the id unique within a contract.
                    call.id = format!("{}-{}", prompt.key, call.id);
                    watch(Delta::Call { name: &call.name });
                }
                if let Some(words) = &reply.words {
                    watch(Delta::Words(words));
                }
                if usage == Reported::Nothing {
                    usage = Reported::Whole(Usage::in_bytes(prompt, reply));
                }
            }
            Attempt { outcome, usage }
        })
    }
}

impl From<Reply> for Attempt {
    fn from(reply: Reply) -> Attempt {
        Attempt { outcome: Ok(reply), usage: Reported::Nothing }
    }
}

impl From<Result<Reply, ModelError>> for Attempt {
    fn from(outcome: Result<Reply, ModelError>) -> Attempt {
        Attempt { outcome, usage: Reported::Nothing }
    }
}

/// Makes a tool of a function that takes arguments and returns a text, or a `Result` of one.
///
/// `schema` is the JSON schema of the arguments, an object. The arguments are deserialized into the type that the function
/// takes, which can be a [`Value`]. If that fails, or if the function returns an error, the model is shown the reason.
///
/// A call that a crash interrupts is never made again, and its agent is shown that the outcome is unknown. Use
/// [`ToolFn::effect`] if the function may be called again.
///
/// ```
/// use guildhall_agent::tool_fn;
/// use guildhall_kernel::Effect;
/// use serde_json::json;
///
/// #[derive(serde::Deserialize)]
/// struct Shelf {
///     shelf: String,
/// }
///
/// let schema = json!({"type": "object", "properties": {"shelf": {"type": "string"}}, "required": ["shelf"]});
/// let stock = tool_fn("stock", "Counts what lies on a shelf.", schema, |Shelf { shelf }| async move {
///     if shelf == "north" { Ok("12 lanterns") } else { Err(format!("there is no shelf {shelf}")) }
/// });
/// let stock = stock.effect(Effect::Pure);
/// # fn is_tool(_: impl guildhall_agent::Tool) {}
/// # is_tool(stock);
/// ```
pub fn tool_fn<A, F, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    schema: Value,
    function: F,
) -> ToolFn<A, F>
where
    A: DeserializeOwned,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Into<ToolResult>> + Send + 'static,
{
    let spec = ToolSpec { name: name.into(), description: description.into(), schema };
    ToolFn { spec, effect: Effect::Once, function, arguments: PhantomData }
}

/// A tool that is a function. [`tool_fn`] makes one.
#[derive(Clone)]
pub struct ToolFn<A, F> {
    spec: ToolSpec,
    effect: Effect,
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F> ToolFn<A, F> {
    /// Sets what the engine may do about a call that a crash interrupted. The default is [`Effect::Once`]: never call again.
    #[must_use]
    pub fn effect(self, effect: Effect) -> ToolFn<A, F> {
        ToolFn { effect, ..self }
    }
}

impl<A, F> fmt::Debug for ToolFn<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFn").field("spec", &self.spec).field("effect", &self.effect).finish_non_exhaustive()
    }
}

impl<A, F, Fut> Tool for ToolFn<A, F>
where
    A: DeserializeOwned,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Into<ToolResult>> + Send + 'static,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn terms(&self) -> ToolTerms {
        ToolTerms { price: Msat::ZERO, effect: self.effect, needs: PowerSet::default() }
    }

    fn call<'a>(&'a self, _key: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult> {
        match A::deserialize(arguments) {
            Ok(arguments) => {
                let result = (self.function)(arguments);
                Box::pin(async move { result.await.into() })
            }
            Err(why) => {
                let why = format!("the arguments are not what {} takes: {why}", self.spec.name);
                Box::pin(async move { ToolResult::failed(why) })
            }
        }
    }
}

impl From<String> for ToolResult {
    fn from(text: String) -> ToolResult {
        ToolResult::done(text)
    }
}

impl<T: Into<String>, E: fmt::Display> From<Result<T, E>> for ToolResult {
    fn from(result: Result<T, E>) -> ToolResult {
        match result {
            Ok(text) => ToolResult::done(text),
            Err(why) => ToolResult::failed(why.to_string()),
        }
    }
}
