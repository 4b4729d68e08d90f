//! Base URLs as people write them, and keys that are never shown.

use guildhall_agent::Wire;
use guildhall_models::{BaseUrl, BaseUrlError, Endpoint, Key, KeyError, WrittenCalls};

use crate::faults::{check_refused, fault, hello};
use crate::server::Server;
use crate::setting::{ask_at, ask_with, endpoint};

#[tokio::test]
async fn every_form_of_a_base_url_leads_to_the_method() {
    for (wire, base, path) in [
        (Wire::OpenAi, "", "/v1/chat/completions"),
        (Wire::OpenAi, "/v1/", "/v1/chat/completions"),
        (Wire::OpenAi, "/v1/chat/completions", "/v1/chat/completions"),
        (Wire::OpenAi, "/api/v1", "/api/v1/chat/completions"),
        (Wire::OpenAi, "/openai", "/openai/chat/completions"),
        (Wire::Anthropic, "", "/v1/messages"),
        (Wire::Anthropic, "/v1", "/v1/messages"),
        (Wire::Anthropic, "/v1/messages", "/v1/messages"),
        (Wire::Anthropic, "/anthropic", "/anthropic/v1/messages"),
    ] {
        let server = Server::start(vec![vec![hello(wire)]]);
        ask_at(wire, endpoint(&format!("{}{base}", server.url()))).await.0.outcome.unwrap();
        let head = &server.requests().await[0].head;
        assert!(head.starts_with(&format!("post {path} http")), "{wire:?} {base}: {head}");
    }
}

#[test]
fn an_invalid_base_url_is_refused() {
    for text in ["localhost:11434", "", "ftp://x", "http://", "/v1"] {
        assert!(matches!(BaseUrl::parse(text), Err(BaseUrlError::NoUrl(_))), "{text}");
    }
    for text in ["http://u:p@x", "http://x/?key=1", "http://x/#a"] {
        assert_eq!(BaseUrl::parse(text), Err(BaseUrlError::TooMuch), "{text}");
    }
}

#[test]
fn only_a_server_on_this_machine_without_a_key_is_local() {
    let key = || Some(Key::new("k").unwrap());
    let local = |text: &str, key| Endpoint::new(BaseUrl::parse(text).unwrap(), key, "m").is_local();
    assert!(local("http://127.0.0.1:1", None) && local("http://[::1]:1", None) && local("http://localhost", None));
    assert!(!local("http://127.0.0.1:1", key()) && !local("http://192.168.0.7", None));
    assert!(!local("http://localhost.evil.example", None));
}

#[tokio::test]
async fn a_key_is_never_shown() {
    let key = Key::new(" sk-secret\n").unwrap();
    assert_eq!(format!("{key:?}"), "Key(…)");
    let endpoint = Endpoint::new(BaseUrl::anthropic(), Some(key), "m");
    assert!(!format!("{endpoint:?}").contains("sk-secret"));
    for text in ["", " ", "a b", "ü", "a\r\nb"] {
        assert_eq!(Key::new(text), Err(KeyError));
    }
    let short = |endpoint: &mut Endpoint| endpoint.key = Some(Key::new("x").unwrap());
    let asked = ask_with(Wire::OpenAi, vec![fault(404, "", "", "no model qwen-x")], short).await;
    check_refused(&asked.attempt, &["no model qwen-x"]);
}

#[test]
fn calls_written_as_text_are_read_except_from_anthropic_and_openai() {
    let of = |url| Endpoint::new(url, None, "m").written_calls;
    assert_eq!(of(BaseUrl::openai()), WrittenCalls::Leave);
    assert_eq!(of(BaseUrl::parse("http://127.0.0.1:8080").unwrap()), WrittenCalls::Read);
}
