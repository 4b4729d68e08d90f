//! The list of models of a server, also from programs that are not model servers.

use std::time::Duration;

use guildhall_models::{BaseUrl, NoList, Served, served};
use serde_json::{Value, json};

use crate::server::{Server, Step, answer, closed_url};

const LIST: &str = r#"{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "big", "max_model_len": 32768}]}"#;

/// Asks a server that plays these scripts, one per connection.
async fn ask(scripts: Vec<Vec<Step>>, wait_max: Duration) -> (Result<Vec<Served>, NoList>, Vec<String>) {
    let server = Server::start(scripts);
    let list = served(&BaseUrl::parse(&server.url()).unwrap(), wait_max).await;
    (list, server.requests().await.into_iter().map(|request| request.head).collect())
}

#[tokio::test]
async fn a_server_is_asked_once_and_returns_its_models() {
    let (list, heads) = ask(vec![vec![answer(200, "", LIST)]], Duration::from_secs(30)).await;
    let model = |name: &str, window| Served { name: name.to_owned(), window };
    assert_eq!(list, Ok(vec![model("qwen3:8b", None), model("big", Some(32768))]));
    assert!(heads.len() == 1 && heads[0].starts_with("get /v1/models http/1.1"), "{heads:?}");
    assert!(!heads[0].contains("authorization"), "{heads:?}");
}

#[tokio::test]
async fn a_server_that_is_loading_its_model_is_asked_again() {
    let loading = || vec![answer(503, "", r#"{"error": {"message": "Loading model"}}"#)];
    let server = Server::start(vec![loading(), loading(), vec![answer(200, "", LIST)]]);
    let list = served(&BaseUrl::parse(&server.url()).unwrap(), Duration::from_secs(30)).await;
    assert_eq!(list.map(|list| list.len()), Ok(2));
    assert_eq!(server.requests().await.len(), 3);
}

#[tokio::test]
async fn a_program_that_is_not_a_model_server_gives_no_list_within_the_time_limit() {
    let ok = "HTTP/1.1 200 OK\r\n\r\n";
    let flood = vec![Step::Send(ok.into()), Step::Flood(vec![b' '; 64 * 1024])];
    let drip = vec![Step::Send(ok.into()), Step::Drip(vec![b' '; 1000], Duration::from_millis(20))];
    let scripts = [
        (vec![Step::Hold], "within 100 ms"),
        (drip, "within 100 ms"),
        (vec![answer(200, "", "<html>")], "not JSON"),
        (vec![answer(200, "content-encoding: gzip\r\n", b"\x1f\x8b\x08")], "not JSON"),
        (vec![answer(307, "location: http://127.0.0.1:9/v1/models\r\n", "")], "HTTP 307"),
        (vec![answer(404, "", LIST)], "HTTP 404"),
        (vec![Step::Send(b"220 smtp ready\r\n".to_vec())], ""),
    ];
    for (script, why) in scripts {
        let list = ask(vec![script], Duration::from_millis(100)).await.0;
        assert!(list.as_ref().is_err_and(|error| error.to_string().contains(why)), "{why}: {list:?}");
    }
    let list = ask(vec![flood], Duration::from_secs(30)).await.0;
    assert!(list.as_ref().is_err_and(|error| error.to_string().contains("larger than")), "{list:?}");
    let list = served(&BaseUrl::parse(&closed_url()).unwrap(), Duration::from_secs(30)).await;
    assert!(list.as_ref().is_err_and(|error| error.to_string().contains("refused")), "{list:?}");
}

/// The names and windows that are read from a list.
async fn read(list: &Value) -> Vec<(String, Option<u64>)> {
    let list = ask(vec![vec![answer(200, "", list.to_string())]], Duration::from_secs(30)).await.0;
    list.unwrap_or_default().into_iter().map(|Served { name, window }| (name, window)).collect()
}

#[tokio::test]
async fn the_window_is_read_in_the_form_of_each_server() {
    let list = json!({"object": "list", "data": [
        {"id": "qwen3:8b", "object": "model", "owned_by": "library"},
        {"id": "Qwen/Qwen3-8B", "max_model_len": 32768},
        {"id": "models/smol.gguf", "meta": {"n_ctx_train": 8192, "n_params": 134_515_008}},
        {"id": "small", "meta": {"n_ctx_train": 131_072, "n_ctx": 4096}},
        {"id": "odd", "max_model_len": 0, "meta": null},
        {"id": "odder", "max_model_len": -5},
    ]});
    let windows: Vec<Option<u64>> = read(&list).await.into_iter().map(|(_, window)| window).collect();
    assert_eq!(windows, [None, Some(32768), Some(8192), Some(4096), None, None]);
}

#[tokio::test]
async fn entries_that_can_not_be_shown_or_typed_are_ignored() {
    let long = "x".repeat(1000);
    let names = ["", " ", "a\u{1b}[31mb", "a\nb", "a\u{202e}b", "a\u{200b}b", &long, "good one", "größer"];
    let mut data: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
    data.extend([json!({"name": "no id"}), json!(7), json!(null), json!({"id": 7})]);
    let names: Vec<String> = read(&json!({"data": data})).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["good one", "größer"]);
}

#[tokio::test]
async fn an_invalid_list_is_an_error_and_a_long_list_is_cut() {
    let deep = format!("{{\"data\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for body in ["", "<html>", "[]", "{}", "{\"data\":null}", "{\"data\":[]}", "{\"data\":{}}", "\u{0}", &deep] {
        let list = ask(vec![vec![answer(200, "", body)]], Duration::from_secs(30)).await.0;
        assert!(list.is_err(), "{body:.80}");
    }
    let many: Vec<Value> = (0..5000).map(|number| json!({"id": format!("m{number}")})).collect();
    assert_eq!(read(&json!({"data": many})).await.len(), 1000);
}

#[test]
fn a_model_that_only_compares_texts_can_not_chat() {
    let talks = |name: &str| Served { name: name.to_owned(), window: None }.talks();
    assert!(
        talks("qwen3:8b") && !talks("nomic-embed-text") && !talks("BAAI/bge-Reranker-v2") && !talks("E5-Embedding")
    );
}
