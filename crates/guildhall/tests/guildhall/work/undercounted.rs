//! A model whose provider reported more input than a request held: its texts count by their bytes for the rest of the session.

use super::*;

/// A reply whose provider reports this input, which is more or less than its request held.
fn reply(text: &str, input: u64) -> Value {
    json!({"reply": {"text": text, "usage": {"input": input, "output": 190}}})
}

const FEW: u64 = 400;
const TOO_MANY: u64 = 900_000;

/// A hall with two models of one provider, at the same price.
fn hall_of_two(peer: &Peer, data: &FilePath, project: &FilePath) -> Hall {
    let url = BaseUrl::parse(&peer.url()).unwrap();
    let mut source = Source::new("test", agent::Wire::Anthropic, url, Some(Key::new(KEY).unwrap()));
    source.replays = Replays::Yes;
    let models = Models::default().with_source(source);
    let models = ["model-a", "model-b"].into_iter().fold(models, |models, name| models.with_price(name, LOCAL_PRICE));
    Hall::builder().data(data).project(project).models(models).allow_overrun().build().unwrap()
}

/// Starts work of the only agent, which has the same name in all roots.
fn work(hall: &Hall, model: &str) -> guildhall::Undertaking {
    let agent = Agent::new(AgentName::parse("reader").unwrap(), "You read files and answer.");
    hall.run("When is the meeting?").agent(agent).model(model)
}

/// The reported tokens of each reply so far, as later requests count them. Zero if the reply counts by its bytes.
async fn counted(hall: &Hall) -> Vec<u32> {
    let facts = hall.journal().facts(&"s1".parse().unwrap(), 1).await.unwrap();
    facts.iter().filter_map(|stored| Some(stored.fact.said()?.1.size.tokens)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_a_model_count_by_their_bytes_also_after_a_resume() {
    let text = "Tuesday. ".repeat(40);
    let mut above = reads(&["notes.txt"]);
    above["reply"]["usage"] = json!({"input": TOO_MANY, "output": 190});
    let peer = Peer::start(&script(&json!([
        {"when": {"messages": 1}, "then": above},
        {"when": {"nth": 2}, "then": {"reply": {"text": text, "damage": {"stall": {"after": {"events": 2}}},
            "usage": {"input": FEW, "output": 190}}}},
    ])));
    let (data, project) = (tempfile::tempdir().unwrap(), project());
    let first = hall_of_two(&peer, data.path(), project.path());
    let budget = Msat::from_sat(100_000).unwrap();
    let running = work(&first, "model-a").budget(budget).id("s1".parse().unwrap()).start().await.unwrap();
    while peer.executions() < 2 {
        tokio::task::yield_now().await;
    }
    drop((running, first));
    let second = hall_of_two(&peer, data.path(), project.path());
    let ended = second.resume(&"s1".parse().unwrap()).await.unwrap().wait().await.unwrap();
    assert_eq!((ended.report.outcome, ended.text.trim()), (Outcome::Done, text.trim()));
    assert_eq!(counted(&second).await, [0, 0]);
    assert_lawful(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_model_that_reported_too_much_counts_by_bytes_in_later_work_of_the_session() {
    let text = "Tuesday. ".repeat(40);
    let peer = Peer::start(&script(&json!([
        {"when": {"nth": 1}, "then": reply(&text, TOO_MANY)},
        {"then": reply(&text, FEW)},
    ])));
    let (data, project) = (tempfile::tempdir().unwrap(), project());
    let hall = hall_of_two(&peer, data.path(), project.path());
    let (id, budget) = ("s1".parse::<guildhall::local::SessionId>().unwrap(), Msat::from_sat(100_000).unwrap());
    work(&hall, "model-a").budget(budget).id(id.clone()).await.unwrap();
    work(&hall, "model-b").after(id.clone()).await.unwrap();
    work(&hall, "model-a").after(id).await.unwrap();
    assert_eq!(counted(&hall).await, [0, 190, 0]);
    assert_lawful(&hall).await;
}
