//! Agents with a known amount of work: they do exactly the work of their tasks, within the limit of each request.

use guildhall_model_server::{Entry, Peer, Tokens};
use serde_json::{Value, json};

use crate::always;
use crate::client::{Wire, ask_with};

/// Both protocols, without streams: a reply is one object.
const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

const CONTINUE: &str = "Your reply was cut at 9 tokens. Continue exactly where you stopped.";

/// What an agent says in one reply.
#[derive(Clone, Debug, Default, PartialEq)]
struct Said {
    text: String,
    /// The names and the arguments of the calls. Arguments that are not JSON are a string.
    calls: Vec<(String, Value)>,
    is_cut: bool,
}

/// An agent that is asked again and again.
struct Agent {
    peer: Peer,
    wire: Wire,
    messages: Vec<Value>,
}

impl Agent {
    fn new(wire: Wire, task: &str) -> Agent {
        let messages = vec![json!({"role": "user", "content": format!("lead needs:\n\n{task}")})];
        Agent { peer: always(&json!({"work": {}})), wire, messages }
    }

    /// Asks for a reply of at most so many tokens, and adds the reply to the conversation.
    fn ask(&mut self, max_tokens: usize) -> Said {
        let mut body = json!({"model": "m", "messages": self.messages});
        body[if self.wire == Wire::Anthropic { "max_tokens" } else { "max_completion_tokens" }] = json!(max_tokens);
        let got = ask_with(&self.peer, self.wire, &[], &body);
        assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.body));
        match self.wire {
            Wire::Anthropic => self.read_anthropic(&got.text()),
            Wire::OpenAi | Wire::AnthropicStream | Wire::OpenAiStream => self.read_openai(&got.json()),
        }
    }

    fn read_anthropic(&mut self, text: &str) -> Said {
        let reply: Value = serde_json::from_str(text).unwrap();
        let mut said = Said { is_cut: reply["stop_reason"] == "max_tokens", ..Said::default() };
        for block in reply["content"].as_array().unwrap() {
            match block["type"].as_str().unwrap() {
                "text" => said.text.push_str(block["text"].as_str().unwrap()),
                _ => said.calls.push((block["name"].as_str().unwrap().into(), block["input"].clone())),
            }
        }
        self.messages.push(json!({"role": "assistant", "content": reply["content"]}));
        said
    }

    fn read_openai(&mut self, reply: &Value) -> Said {
        let (choice, message) = (&reply["choices"][0], &reply["choices"][0]["message"]);
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        let call = |call: &Value| {
            let (name, arguments) = (&call["function"]["name"], call["function"]["arguments"].as_str().unwrap());
            (name.as_str().unwrap().to_owned(), serde_json::from_str(arguments).unwrap_or(json!(arguments)))
        };
        self.messages.push(message.clone());
        Said {
            text: message["content"].as_str().unwrap_or_default().into(),
            calls: calls.iter().map(call).collect(),
            is_cut: choice["finish_reason"] == "length",
        }
    }

    /// Adds a text of the user to the conversation.
    fn tell(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// Adds the results of all calls of the last reply.
    fn results(&mut self, result: impl Fn(usize) -> String) {
        let last = self.messages.last().unwrap();
        let blocks = last["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use");
        let ids: Vec<Value> =
            blocks.chain(last["tool_calls"].as_array().into_iter().flatten()).map(|call| call["id"].clone()).collect();
        let results = ids.iter().enumerate();
        if self.wire == Wire::Anthropic {
            let block = |(at, id)| json!({"type": "tool_result", "tool_use_id": id, "content": result(at)});
            self.messages.push(json!({"role": "user", "content": results.map(block).collect::<Vec<_>>()}));
        } else {
            let message = |(at, id)| json!({"role": "tool", "tool_call_id": id, "content": result(at)});
            self.messages.extend(results.map(message));
        }
    }

    /// The tokens of the last reply, as the server counts them.
    fn tokens(&self) -> Tokens {
        let tokens = |entry| if let Entry::Answer { tokens, .. } = entry { tokens } else { None };
        self.peer.log().into_iter().filter_map(tokens).next_back().unwrap()
    }
}

/// A report as the runtime shows it to a hirer.
fn shown(label: &str, report: &str) -> String {
    format!("<sub-agent-{label} id=\"1.1\" used=\"1 sat\">\n{report}\n</sub-agent-{label}>")
}

fn reads() -> (String, Value) {
    ("read_file".into(), json!({"path": "notes.txt"}))
}

#[test]
fn a_leaf_writes_in_each_turn_calls_a_tool_in_all_but_the_last_and_reports() {
    for wire in WIRES {
        let mut leaf = Agent::new(wire, "WORK levels=0 turns=3 tokens=300");
        for _ in 0..2 {
            let said = leaf.ask(8192);
            assert_eq!((said.text.len(), said.calls, said.is_cut), (1200, vec![reads()], false), "{wire:?}");
            assert!((300..310).contains(&leaf.tokens().output));
            leaf.results(|_| "1\thello".into());
        }
        let said = leaf.ask(8192);
        assert_eq!((said.text.len(), said.calls, said.is_cut), (1200, vec![], false), "{wire:?}");
        assert!(said.text.starts_with("REPORT:bytes=1200:") && said.text.ends_with(":END"), "{}", said.text);
        assert_eq!(leaf.tokens().output, 300);
    }
}

#[test]
fn a_hirer_hires_for_all_its_work_one_level_lower_and_says_which_reports_it_saw_whole() {
    for wire in WIRES {
        let mut hirer = Agent::new(wire, "WORK levels=2 hires=3 turns=2 tokens=300");
        let said = hirer.ask(8192);
        let task = json!({"specialty": "manager", "task": "WORK levels=1 hires=3 turns=2 tokens=300"});
        assert_eq!((said.text.len(), said.calls), (160, vec![("delegate_task".into(), task); 3]), "{wire:?}");
        let whole = "REPORT:bytes=46,saw=3,of=4,poor=1:01234567:END";
        // One whole report of a hirer that saw one report too few, one that is cut, and one hire that said nothing.
        let reports = [shown("complete", whole), shown("complete", &whole[..40]), shown("exhausted", "Nothing.")];
        hirer.results(|at| reports[at].clone());
        let said = hirer.ask(8192);
        assert!(said.text.starts_with("REPORT:bytes=240,saw=2,of=3,poor=3:"), "{}", said.text);
        assert_eq!((said.text.len(), said.calls), (240, vec![]), "{wire:?}");
    }
    let mut hirer = Agent::new(Wire::OpenAi, "WORK levels=1 hires=2 turns=2 tokens=300");
    let task = json!({"specialty": "worker", "task": "WORK levels=0 turns=2 tokens=300"});
    assert_eq!(hirer.ask(8192).calls, vec![("delegate_task".into(), task); 2]);
}

#[test]
fn a_list_of_hires_names_their_work_and_budgets() {
    let task = "WORK list\nHIRE budget=1000000000 turns=50 tokens=500\nHIRE times=2 turns=4 tokens=500\n\
                HIRE levels=1 hires=10 turns=4 tokens=500\n\nFor your information: HIRE turns=1";
    let calls = Agent::new(Wire::Anthropic, task).ask(8192).calls;
    let small = json!({"specialty": "worker", "task": "WORK levels=0 turns=4 tokens=500"});
    let expected = [
        json!({"specialty": "worker", "task": "WORK levels=0 turns=50 tokens=500", "budget": 1_000_000_000}),
        small.clone(),
        small,
        json!({"specialty": "manager", "task": "WORK levels=1 hires=10 turns=4 tokens=500"}),
    ];
    assert_eq!(calls.into_iter().map(|(_, arguments)| arguments).collect::<Vec<_>>(), expected);
}

#[test]
fn a_list_may_have_lists_of_its_hires() {
    let task = "WORK list\nHIRE list\n  HIRE list\n    HIRE turns=2 tokens=300\n  HIRE turns=3 tokens=60\nHIRE turns=1 tokens=70";
    let calls = Agent::new(Wire::Anthropic, task).ask(8192).calls;
    let below = "WORK list\nHIRE list\n  HIRE turns=2 tokens=300\nHIRE turns=3 tokens=60";
    let expected = [
        json!({"specialty": "manager", "task": below}),
        json!({"specialty": "worker", "task": "WORK levels=0 turns=1 tokens=70"}),
    ];
    assert_eq!(calls.into_iter().map(|(_, arguments)| arguments).collect::<Vec<_>>(), expected);
}

#[test]
fn a_cut_reply_goes_on_exactly_where_it_stopped() {
    for wire in WIRES {
        let mut leaf = Agent::new(wire, "WORK levels=0 turns=2 tokens=300");
        let mut whole = Agent::new(wire, "WORK levels=0 turns=2 tokens=300");
        for turn in 0..2 {
            let wanted = whole.ask(8192);
            let mut text = String::new();
            for tokens in [100, 150] {
                let said = leaf.ask(tokens);
                assert_eq!((said.text.len(), said.calls, said.is_cut), (4 * tokens, vec![], true), "{wire:?}");
                assert_eq!(leaf.tokens().output, tokens as u64);
                text.push_str(&said.text);
                leaf.tell(CONTINUE);
            }
            let said = leaf.ask(100);
            text.push_str(&said.text);
            assert_eq!((text, said.calls, said.is_cut), (wanted.text, wanted.calls, false), "{wire:?}, turn {turn}");
            if turn == 0 {
                for agent in [&mut leaf, &mut whole] {
                    agent.results(|_| "1\thello".into());
                }
            }
        }
    }
}

#[test]
fn a_call_in_which_a_reply_is_cut_is_made_again_after_the_whole_ones() {
    let mut hirer = Agent::new(Wire::OpenAi, "WORK levels=1 hires=9 turns=1 tokens=300");
    let said = hirer.ask(110);
    let (cut, made) = said.calls.split_last().unwrap();
    assert!(said.is_cut && cut.1.is_string() && made.len() == 3, "{said:?}");
    assert_eq!(hirer.tokens().output, 110);
    let whole = |at: usize| if at < 3 { shown("complete", "x") } else { "refused: no object".into() };
    hirer.results(whole);
    assert_eq!(hirer.ask(8192).calls.len(), 6);
    hirer.results(|_| shown("complete", "x"));
    assert!(hirer.ask(8192).text.contains(",saw=0,of=9,poor=1:"), "no report of these was whole");
}

#[test]
fn a_last_reply_makes_no_call_and_fits() {
    let last = |most: usize| {
        format!(
            "This is your last reply: no more calls. Write at most {most} tokens, about 9 words. 2 reports could not be shown in full: say so."
        )
    };
    for wire in WIRES {
        for (most, tokens) in [(512, 400), (100, 100)] {
            let mut leaf = Agent::new(wire, "WORK levels=0 turns=9 tokens=500");
            leaf.ask(10);
            leaf.tell(&last(most));
            let said = leaf.ask(most);
            assert_eq!((said.text.len(), said.calls.len(), said.is_cut), (4 * tokens, 0, false), "{wire:?}");
            assert!(said.text.starts_with("REPORT:") && said.text.ends_with(":END"));
        }
        let mut hirer = Agent::new(wire, "WORK levels=1 hires=3 turns=1 tokens=300");
        hirer.tell(&format!("{}\n{}", shown("complete", "REPORT:bytes=23:abc:END"), last(512)));
        let said = hirer.ask(512);
        assert!(said.text.contains(",saw=1,of=3,poor=1:") && said.calls.is_empty(), "{said:?}");
    }
}

#[test]
fn a_task_without_work_is_said_and_a_bad_pace_is_refused() {
    let mut agent = Agent::new(Wire::OpenAi, "Do something.");
    assert_eq!(agent.ask(8192).text, "There is no WORK in the task.");
    let mut peer = std::process::Command::new(crate::program());
    let script = std::env::temp_dir().join(format!("bad-pace-{}.json", std::process::id()));
    std::fs::write(&script, r#"{"rules": [{"then": {"work": {"pace": {"chunk_chars": 0}}}}]}"#).unwrap();
    let output = peer.args(["--port", "0", "--script", script.to_str().unwrap()]).output().unwrap();
    std::fs::remove_file(&script).unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("`chunk_chars` must be at least 1"), "{output:?}");
}
