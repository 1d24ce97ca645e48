//! The server that answers as a model would, asked as a program would.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use piton_testkit::fake_api::{FakeApi, NAMES, Piece, Scenario, Turn, Usage, named};
use serde_json::{Value, json};

const MESSAGES: &str = "/v1/messages?beta=true";
const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/some-model:streamGenerateContent?alt=sse&key=secret";

/// One request and the whole answer, with its head.
fn ask(api: &FakeApi, path: &str, body: &Value) -> String {
    let mut answer = String::new();
    begin(api, path, body)
        .read_to_string(&mut answer)
        .expect("the server answers and closes");
    answer
}

fn begin(api: &FakeApi, path: &str, body: &Value) -> TcpStream {
    let address = api.url();
    let address = address.strip_prefix("http://").expect("it is http");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: secret\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    stream
}

fn prompt(text: &str) -> Value {
    json!({
        "stream": true, "model": "some-model", "prompt": text,
        "tools": [{"name": "any"}],
    })
}

fn said(text: &str) -> Turn {
    Turn::say([Piece::text(text)])
}

#[test]
fn turns_come_in_order_and_the_last_one_stays() {
    let api = FakeApi::start(Scenario::new([said("one"), said("two")])).expect("a port");
    let words: Vec<bool> = (0..3)
        .map(|_| ask(&api, MESSAGES, &prompt("go")).contains("\"two\""))
        .collect();
    assert_eq!(words, [false, true, true]);
}

#[test]
fn turns_can_come_over_and_over() {
    let scenario = Scenario::new([said("one"), said("two")]).over_and_over();
    let api = FakeApi::start(scenario).expect("a port");
    let words: Vec<bool> = (0..4)
        .map(|_| ask(&api, MESSAGES, &prompt("go")).contains("\"two\""))
        .collect();
    assert_eq!(words, [false, true, false, true]);
}

#[test]
fn a_rule_with_a_text_answers_only_requests_that_have_it() {
    let scenario = Scenario::new([said("other")]).when("step \"one\"\n", [said("mine")]);
    let api = FakeApi::start(scenario).expect("a port");
    assert!(ask(&api, RESPONSES, &prompt("do step \"one\"\n")).contains("\"mine\""));
    assert!(ask(&api, RESPONSES, &prompt("do step two")).contains("\"other\""));
}

#[test]
fn a_command_becomes_the_tool_that_each_program_has() {
    #[track_caller]
    fn check(path: &str, name: &str) {
        let scenario = Scenario::new([Turn::say([Piece::shell("ls")])]);
        let api = FakeApi::start(scenario).expect("a port");
        let answer = ask(&api, path, &prompt("go"));
        assert!(answer.contains(&format!("\"name\":\"{name}\"")), "{answer}");
    }
    check(MESSAGES, "Bash");
    check(RESPONSES, "exec_command");
    check(GEMINI, "run_shell_command");
}

#[test]
fn usage_is_told_as_each_vendor_tells_it() {
    #[track_caller]
    fn check(path: &str, expected: &str) {
        let usage = Usage {
            input: 10,
            output: 4,
            cache_read: 3,
            cache_write: 2,
            reasoning: 1,
        };
        let scenario = Scenario {
            usage,
            ..Scenario::new([said("done")])
        };
        let api = FakeApi::start(scenario).expect("a port");
        let answer = ask(&api, path, &prompt("go"));
        assert!(answer.contains(expected), "{answer}");
    }
    check(MESSAGES, "\"cache_read_input_tokens\":3");
    check(RESPONSES, "\"total_tokens\":17");
    check(CHAT, "\"total_tokens\":17");
    check(GEMINI, "\"promptTokenCount\":13");
}

#[test]
fn chat_calls_the_tool_that_the_request_offers() {
    let api = FakeApi::start(Scenario::new([Turn::say([Piece::shell("make")])])).expect("a port");
    for shell in ["run_shell_command", "bash"] {
        let tools = json!([{"type": "function", "function": {"name": shell}}]);
        let answer = ask(&api, CHAT, &json!({"model": "some-model", "tools": tools}));
        assert!(
            answer.contains(&format!("\"name\":\"{shell}\"")),
            "{answer}"
        );
        assert!(answer.ends_with("data: [DONE]\n\n"), "{answer}");
    }
}

#[test]
fn a_limit_is_told_as_each_vendor_tells_it() {
    #[track_caller]
    fn check(path: &str, expected: &str) {
        let scenario = Scenario::new([Turn::Limit { resets_in_s: 60 }]);
        let api = FakeApi::start(scenario).expect("a port");
        let answer = ask(&api, path, &prompt("go"));
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        assert!(answer.contains(expected), "{answer}");
    }
    check(MESSAGES, "anthropic-ratelimit-unified-status: rejected");
    check(RESPONSES, "\"resets_in_seconds\":60");
    check(CHAT, "retry-after: 60");
    check(GEMINI, "\"retryDelay\":\"60s\"");
}

#[test]
fn an_error_may_have_headers_and_a_body_of_its_own() {
    let scenario: Scenario = serde_json::from_value(json!({"rules": [{"turns": [{"error": {
        "status": 503,
        "headers": {"x-until": "{now_rfc3339+60}"},
        "body": {"why": "in {work}", "until": "number:{now+60}"},
    }}]}]}))
    .expect("it is a scenario");
    let scenario = scenario.in_folder(std::path::Path::new("/home/dev/project"));
    let api = FakeApi::start(scenario).expect("a port");
    let answer = ask(&api, MESSAGES, &prompt("go"));
    assert!(answer.contains("x-until: 2"), "{answer}");
    assert!(
        answer.contains("\"why\":\"in /home/dev/project\",\"until\":1"),
        "{answer}"
    );
}

#[test]
fn what_was_asked_is_kept_without_keys() {
    let api = FakeApi::start(Scenario::new([said("done")])).expect("a port");
    ask(&api, GEMINI, &prompt("a \"prompt\"\nof two lines"));
    assert!(api.was_told("a \"prompt\"\nof two"));
    assert!(!api.was_told("another"));
    let requests = api.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body["prompt"], "a \"prompt\"\nof two lines");
    let whole = serde_json::to_string(&requests).expect("it can be written");
    assert!(!whole.contains("secret"), "{whole}");
}

#[test]
fn a_question_aside_takes_no_turn() {
    let api = FakeApi::start(Scenario::new([said("one"), said("two")])).expect("a port");
    ask(
        &api,
        MESSAGES,
        &json!({"stream": true, "prompt": "a title?"}),
    );
    ask(&api, "/v1/messages/count_tokens", &prompt("how many?"));
    assert!(ask(&api, MESSAGES, &prompt("go")).contains("\"one\""));
    assert_eq!((api.requests().len(), api.turns().len()), (3, 1));
}

#[test]
fn an_answer_cut_short_has_no_end() {
    for path in [MESSAGES, RESPONSES, GEMINI] {
        let pieces = vec![Piece::text("never to its end")];
        let api = FakeApi::start(Scenario::new([Turn::Cut { pieces }])).expect("a port");
        let answer = ask(&api, path, &prompt("go"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        for end in ["message_stop", "response.completed", "finishReason"] {
            assert!(!answer.contains(end), "{answer}");
        }
    }
}

#[test]
fn who_waits_for_an_answer_is_let_go_when_the_server_ends() {
    for turn in [Turn::Hang, Turn::slow(60_000, [Piece::text("a b c")])] {
        let api = FakeApi::start(Scenario::new([turn])).expect("a port");
        let mut waiting = begin(&api, MESSAGES, &prompt("go"));
        let request = api.request_after(0, Duration::from_secs(20));
        assert!(request.is_some_and(|request| request.turn));
        drop(api);
        let mut answer = Vec::new();
        // Closed or reset: both are an end.
        drop(waiting.read_to_end(&mut answer));
    }
}

#[test]
fn every_name_has_a_scenario() {
    for (name, _) in NAMES {
        let scenario = named(name).unwrap_or_else(|| panic!("`{name}` has none"));
        assert!(!scenario.rules[0].turns.is_empty(), "{name}");
    }
    assert!(named("no such").is_none());
}
