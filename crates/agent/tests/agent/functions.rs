//! Functions as models and tools.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use guildhall_agent::{
    Attempt, Message, Model, ModelError, Opening, Part, Prompt, Reply, Reported, Tool, ToolOutcome, ToolResult, Usage,
    model_fn, tool_fn,
};
use guildhall_kernel::{AskId, AskKey, Effect, Path};
use serde_json::{Value, json};

/// Returns the result of a task that does not wait.
fn ready<T>(task: impl Future<Output = T>) -> T {
    match pin!(task).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the task does not wait"),
    }
}

fn key(ask: u32) -> AskKey {
    AskKey { contract: Path::root(1), ask: AskId(ask) }
}

fn prompt(ask: u32, parts: Vec<Part>) -> Prompt {
    Prompt {
        key: key(ask),
        opening: Arc::new(Opening::new("Be brief.", Vec::new())),
        messages: vec![Message::User(parts)],
        status: None,
        max_tokens: 100,
        must_call: None,
        json_turn: None,
        continues: None,
        data: None,
    }
}

fn asked(model: &impl Model, prompt: &Prompt) -> Attempt {
    ready(model.ask(prompt, &|_| {}))
}

#[test]
fn a_function_gets_the_prompt_and_its_usage_is_counted_in_bytes() {
    let parrot = model_fn(|prompt: Prompt| async move { Reply::words(prompt.last_words().unwrap_or_default()) });
    let attempt = asked(&parrot, &prompt(1, vec![Part::Words("Good morning.".to_owned())]));
    assert_eq!(attempt.outcome, Ok(Reply::words("Good morning.")));
    let input = "Be brief.".len() + "[]".len() + "Good morning.".len();
    let output = r#"{"words":"Good morning."}"#.len();
    let usage = Usage { input: input as u64, output: output as u64, ..Usage::default() };
    assert_eq!(attempt.usage, Reported::Whole(usage));
}

#[test]
fn the_usage_and_the_error_that_a_function_returns_are_used() {
    let used = Usage { input: 7, output: 1, ..Usage::default() };
    let counted =
        model_fn(move |_| async move { Attempt { outcome: Ok(Reply::words("yes")), usage: Reported::Whole(used) } });
    assert_eq!(asked(&counted, &prompt(1, Vec::new())).usage, Reported::Whole(used));
    let why = ModelError::Unavailable { provider: "cellar".to_owned(), why: "it is dark".to_owned() };
    let (error, broken) = (why.clone(), model_fn(move |_| std::future::ready(Err::<Reply, _>(why.clone()))));
    assert_eq!(asked(&broken, &prompt(1, Vec::new())), Attempt { outcome: Err(error), usage: Reported::Nothing });
}

#[test]
fn call_ids_differ_between_the_replies_of_a_function() {
    let caller = model_fn(|_| async { Reply::call("look", json!({})).and_call("look", json!({"at": 2})) });
    let ids = |ask| -> Vec<String> {
        let reply = asked(&caller, &prompt(ask, Vec::new())).outcome.unwrap();
        reply.calls.into_iter().map(|call| call.id).collect()
    };
    assert_eq!(
        (ids(1), ids(2)),
        (
            vec!["1#1-call-1".to_owned(), "1#1-call-2".to_owned()],
            vec!["1#2-call-1".to_owned(), "1#2-call-2".to_owned()],
        )
    );
}

#[test]
fn last_words_and_last_result_read_only_the_newest_message() {
    let result = |text: &str| Part::Result { call: "c".to_owned(), text: text.to_owned(), failed: false };
    let newest = prompt(1, vec![result("one"), result("two"), Part::Words("Go on.".to_owned())]);
    assert_eq!((newest.last_result(), newest.last_words()), (Some("two"), Some("Go on.")));
    let mut later = newest;
    later.messages.extend([Message::Assistant(Arc::new(Reply::words("Yes."))), Message::User(vec![result("three")])]);
    assert_eq!((later.last_result(), later.last_words()), (Some("three"), None));
}

#[test]
fn a_function_tool_is_never_repeated_by_default() {
    let tool = tool_fn("ring", "Rings the bell.", json!({"type": "object"}), |_: Value| async { "rung".to_owned() });
    assert_eq!(tool.terms().effect, Effect::Once);
    assert_eq!(tool.clone().effect(Effect::Pure).terms().effect, Effect::Pure);
    assert_eq!(ready(tool.call(&key(1), &json!({}))), ToolResult::done("rung"));
}

#[test]
fn wrong_arguments_fail_the_call_and_the_function_is_not_called() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let half = tool_fn("half", "Halves an even number.", json!({"type": "object"}), move |[number]: [u32; 1]| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(if number % 2 == 0 { Ok((number / 2).to_string()) } else { Err("it is odd") })
    });
    assert_eq!(ready(half.call(&key(1), &json!([4]))), ToolResult::done("2"));
    assert_eq!(ready(half.call(&key(1), &json!([3]))), ToolResult::failed("it is odd"));
    let refused = ready(half.call(&key(1), &json!(["four"])));
    assert_eq!((refused.outcome, calls.load(Ordering::Relaxed)), (ToolOutcome::Failed, 2));
    assert!(
        refused.text.starts_with("the arguments are not what half takes: invalid type: string"),
        "{}",
        refused.text
    );
}
