//! `piton mcp`: every tool, in both eras of the protocol; what an agent does
//! wrong, and what becomes of the server.

mod client;

use serde_json::{Value, json};

use self::client::{Era, Server, handshake, line};
use crate::harness::Scratch;

const TOOLS: [&str; 8] = [
    "status", "next", "prepare", "recall", "record", "log", "learn", "ask",
];

fn serve(scratch: &Scratch, era: Era) -> Server {
    Server::start(scratch, era, &["--item", "auth"], &[])
}

/// A sprint of which one node waits for a person, and one for that.
fn waiting() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .sprint("  - {id: build, prompt: do it}\n  - {id: release, prompt: ship it}\n")
        .agent(r#"echo '{"status": "needs-human", "humanNeeded": {"reason": "which port?"}}'"#);
    assert_eq!(scratch.run(&[]).exit, 3);
    scratch
}

#[test]
fn within_an_attempt_nobody_is_sent_to_prepare() {
    let instructions = |env: &[(&str, &str)]| {
        let scratch = Scratch::new();
        let server = Server::start(&scratch, Era::Handshake, &[], env);
        let text = server.instructions.clone();
        assert_eq!(server.close(), Some(0));
        text
    };
    let outside = instructions(&[]);
    assert!(
        outside.contains("Before you begin, call `prepare`."),
        "{outside}"
    );
    let attempt = ("PITON_ATTEMPT", "01900000-0000-7000-8000-000000000001");
    let within = instructions(&[attempt]);
    assert!(within.contains("do not call `prepare`"), "{within}");
    assert!(
        within.contains("call `record` once, or end with the block"),
        "{within}"
    );
}

#[test]
fn there_are_eight_tools_and_each_says_what_it_does_and_takes() {
    for era in Era::BOTH {
        let scratch = Scratch::new();
        let mut server = serve(&scratch, era);
        let listed = server.request("tools/list", json!({}));
        let tools = listed["result"]["tools"]
            .as_array()
            .expect("a list")
            .clone();
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(names, TOOLS, "{era:?}");
        for tool in &tools {
            assert!(
                tool["description"]
                    .as_str()
                    .is_some_and(|text| text.len() < 150)
            );
            assert_eq!(tool["inputSchema"]["additionalProperties"], false);
            assert_eq!(tool["annotations"]["destructiveHint"], false);
            let reads = ["status", "next", "prepare", "recall"].map(Value::from);
            assert_eq!(
                tool["annotations"]["readOnlyHint"],
                reads.contains(&tool["name"])
            );
        }
        let text = listed.to_string();
        assert!(!text.contains("$ref") && !text.contains("anyOf"), "{text}");
        assert_eq!(server.close(), Some(0));
        assert!(!scratch.has(".piton"), "listing does not write");
    }
}

#[test]
fn what_is_written_about_an_item_is_what_commands_show() {
    for era in Era::BOTH {
        let scratch = Scratch::new();
        let mut server = serve(&scratch, era);
        let said = server.done(
            "record",
            json!({
                "status": "failed",
                "error": "cc was not found",
                "observations": [{ "type": "blocker", "title": "no compiler", "severity": null }],
            }),
        );
        assert!(
            said.text.contains("recorded attempt 1 at auth: failed"),
            "{}",
            said.text
        );
        assert_eq!(said.data["outcome"], "failed");
        let said = server.done(
            "log",
            json!({
                "type": "debug_resolved", "description": "cc is there now",
                "data": { "resolution": "apt install gcc" },
            }),
        );
        assert!(
            said.text.starts_with("logged debug_resolved: auth: "),
            "{}",
            said.text
        );
        let learn =
            json!({ "type": "build-command", "content": "Run `make gen` before the tests" });
        assert!(
            server
                .done("learn", learn.clone())
                .text
                .starts_with("remembered as learning-0001")
        );
        assert!(
            server
                .done("learn", learn)
                .text
                .starts_with("known already as learning-0001")
        );
        let said = server.done(
            "learn",
            json!({
                "kind": "pattern", "type": "error-handling", "title": "Wrapped errors",
                "content": "Errors carry a context of their own", "examples": ["src/error.rs"],
            }),
        );
        assert_eq!(said.data["id"], "pattern-0001");
        let ask = json!({ "question": "tabs or blanks?", "details": "there are both" });
        assert!(
            server
                .done("ask", ask.clone())
                .text
                .starts_with("asked as d1")
        );
        assert!(server.done("ask", ask).text.starts_with("asked as d1"));
        let prepared = server.done("prepare", json!({}));
        assert!(
            prepared.text.contains("cc was not found"),
            "{}",
            prepared.text
        );
        assert_eq!(prepared.data["item"], "auth");
        let recalled = server.done("recall", json!({ "text": "make gen before tests" }));
        assert!(recalled.text.contains("learning-0001"), "{}", recalled.text);
        let typed = scratch.piton(&["recall", "make gen before tests", "--json"]);
        let typed: Value = serde_json::from_str(&typed.out).expect("JSON");
        assert_eq!(recalled.data["schema"], "piton.recall/1");
        // What it is worth falls with time, by a little between the two.
        let ids = |answer: &Value| answer["results"][0]["id"].clone();
        assert_eq!(ids(&recalled.data), ids(&typed));
        let keys = |answer: &Value| {
            let found = answer["results"][0].as_object().expect("an object");
            found.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(keys(&recalled.data), keys(&typed));
        assert_eq!(server.close(), Some(0));

        let recent = scratch.json(&["recent", "--item", "auth"]).to_string();
        assert!(
            recent.contains("cc was not found") && recent.contains("\"test\""),
            "{recent}"
        );
        let inbox = scratch.json_list(&["inbox"]);
        assert_eq!(
            (&inbox[0]["kind"], &inbox[0]["node"]),
            (&json!("question"), &json!("auth"))
        );
        let learned = scratch.json(&["learn", "show", "learning-0001"]);
        assert_eq!(learned["source_item"], "auth", "{learned}");
        assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
    }
}

#[test]
fn where_everything_stands_is_told_in_words_and_as_data() {
    let scratch = waiting();
    for era in Era::BOTH {
        let mut server = Server::start(&scratch, era, &[], &[]);
        let status = server.done("status", json!({}));
        assert!(
            status.text.contains("question d1 (at build): which port?"),
            "{}",
            status.text
        );
        assert_eq!(status.data["run"]["counters"]["nodes"], 2);
        let next = server.done("next", json!({ "run": crate::harness::DEMO }));
        assert!(
            next.text
                .contains("waits for a person: build “do it”: which port? (d1)"),
            "{}",
            next.text
        );
        assert!(next.text.contains("waits: release"), "{}", next.text);
        assert_eq!(next.data["runs"][0]["waiting"][0]["waits"]["for"], "person");
        let progress = server.request("resources/read", json!({ "uri": "piton://progress" }));
        let contents = &progress["result"]["contents"][0];
        assert_eq!(contents["mimeType"], "text/markdown");
        assert!(
            contents["text"]
                .as_str()
                .is_some_and(|text| text.contains("which port?"))
        );
        assert!(
            server
                .refused("status", json!({ "run": "nobody" }))
                .contains("[run.unknown]")
        );
    }
}

#[test]
fn resources_are_listed_and_read_as_markdown() {
    let scratch = Scratch::new();
    let add = [
        "learn",
        "add",
        "--kind",
        "guardrail",
        "--title",
        "Ask first",
        "--trigger",
        "always",
        "Do ask.",
    ];
    assert_eq!(scratch.piton(&add).exit, 0);
    for era in Era::BOTH {
        let mut server = serve(&scratch, era);
        let listed = server.request("resources/list", json!({}));
        let listed = listed["result"]["resources"]
            .as_array()
            .expect("a list")
            .clone();
        let uris: Vec<&str> = listed
            .iter()
            .filter_map(|one| one["uri"].as_str())
            .collect();
        assert_eq!(
            uris,
            ["piton://item", "piton://guardrails", "piton://progress"]
        );
        for (uri, text) in [
            ("piton://item", "Ask first"),
            ("piton://guardrails", ":\n  > Ask first: always: Do ask.\n"),
        ] {
            let read = server.request("resources/read", json!({ "uri": uri }));
            let read = read["result"]["contents"][0]["text"].to_string();
            let text = json!(text).to_string();
            assert!(read.contains(text.trim_matches('"')), "{read}");
        }
        let unknown = server.request("resources/read", json!({ "uri": "piton://secrets" }));
        assert!(
            unknown["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains("piton://secrets"))
        );
    }
}

#[test]
fn a_server_without_an_item_reads_and_says_how_to_write() {
    let scratch = Scratch::new();
    let mut server = Server::start(&scratch, Era::Stateless, &[], &[]);
    for (tool, arguments) in [
        ("record", json!({ "status": "completed" })),
        (
            "log",
            json!({ "type": "session_started", "description": "x" }),
        ),
        ("learn", json!({ "type": "tool-usage", "content": "x" })),
        ("ask", json!({ "question": "x?" })),
    ] {
        let said = server.refused(tool, arguments);
        assert!(said.contains("piton mcp --item ITEM"), "{said}");
    }
    assert!(
        server
            .refused("prepare", json!({}))
            .contains("`item` is missing")
    );
    // Nothing was ever recorded here, and that is no mistake.
    for (tool, arguments, says) in [
        ("status", json!({}), "Nothing has been run here yet."),
        ("next", json!({}), "Nothing is under way."),
        (
            "recall",
            json!({ "text": "it broke" }),
            "Nothing that is recorded helps",
        ),
    ] {
        let said = server.done(tool, arguments);
        assert!(said.text.contains(says), "{tool}: {}", said.text);
    }
    let said = server.refused("prepare", json!({ "item": "auth" }));
    assert!(said.contains("item.unknown"), "{said}");
    assert_eq!(server.close(), Some(0));
    assert!(!scratch.has(".piton"));
}

#[test]
fn the_variable_names_the_item_where_nothing_else_does() {
    let scratch = Scratch::new();
    let env = [("PITON_ITEM", "login")];
    let mut server = Server::start(&scratch, Era::Stateless, &[], &env);
    server.done("record", json!({ "status": "completed" }));
    let mut server = Server::start(&scratch, Era::Stateless, &["--item", "logout"], &env);
    server.done("record", json!({ "status": "completed" }));
    for item in ["login", "logout"] {
        let recent = scratch.json(&["recent", "--item", item]).to_string();
        assert!(recent.contains("completed"), "{item}: {recent}");
    }
}

#[test]
fn what_an_agent_sends_wrong_is_named_with_an_example() {
    let scratch = Scratch::new();
    let mut server = serve(&scratch, Era::Stateless);
    for (tool, arguments, says) in [
        ("recall", json!({}), "`text` is missing"),
        (
            "recall",
            json!({ "text": 7 }),
            "`text` must be a text, not 7",
        ),
        (
            "status",
            json!({ "name": "x" }),
            "there is no argument `name`; there is run",
        ),
        (
            "record",
            json!({ "status": "done" }),
            "`status` must be one of completed, failed",
        ),
        (
            "record",
            json!({ "status": "needs-human" }),
            "`question` is missing",
        ),
        (
            "record",
            json!({ "status": "failed" }),
            "`error` is missing",
        ),
        (
            "record",
            json!({ "status": "completed", "observations": [{ "type": "idea" }] }),
            "observations[0]",
        ),
        (
            "log",
            json!({ "type": "party", "description": "x" }),
            "`type` must be one of session_started",
        ),
        (
            "learn",
            json!({ "content": "x", "type": "party" }),
            "`type` must be one of codebase-pattern",
        ),
        (
            "learn",
            json!({ "content": "x", "type": "build-pattern" }),
            "build-pattern",
        ),
        (
            "learn",
            json!({ "content": "x", "type": "test-pattern", "title": "x" }),
            "belong to a pattern",
        ),
        (
            "learn",
            json!({ "content": "x", "type": "test-pattern", "kind": "pattern" }),
            "`title` is missing",
        ),
        (
            "learn",
            json!({ "content": "x", "type": "tool-usage", "kind": "guardrail" }),
            "`kind` must be one of learning, pattern",
        ),
        ("ask", json!({ "question": " " }), "`question` is empty"),
        ("ask", json!({ "question": "a\nb" }), "line break"),
    ] {
        let said = server.refused(tool, arguments);
        assert!(said.contains(says), "{tool}: {said}");
    }
    let unknown = server.request("tools/call", json!({ "name": "decide", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let unknown = server.request("piton/reset", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    assert_eq!(server.close(), Some(0));
    assert!(!scratch.has(".piton"), "what is refused stores nothing");
}

#[test]
fn an_answer_is_bounded_and_says_what_shows_the_rest() {
    let scratch = Scratch::new();
    let nodes: String = (0..400)
        .map(|at| format!("  - {{id: a-node-with-quite-a-long-name-{at}, prompt: do it}}\n"))
        .collect();
    scratch
        .sprint(&nodes)
        .agent("echo '{\"status\": \"completed\"}'");
    assert_eq!(scratch.run(&["--max-iterations", "1"]).exit, 5);
    let mut server = serve(&scratch, Era::Stateless);
    let status = server.done("status", json!({}));
    assert!(status.text.chars().count() <= 8_000);
    assert!(
        status.text.ends_with("all of it: `piton status`"),
        "{}",
        status.text
    );
    assert_eq!(status.data, Value::Null);
    let next = server.done("next", json!({}));
    assert!(next.text.contains("and 378 more"), "{}", next.text);
}

#[test]
fn what_is_no_request_is_answered_as_such_and_so_is_the_next_one() {
    let scratch = Scratch::new();
    for era in Era::BOTH {
        let mut server = serve(&scratch, era);
        for (line, code, id) in [
            (r#"{"jsonrpc": "2.0", "id": 1, "meth"#, -32_700, json!(null)),
            ("\n\nthis is no JSON", -32_700, json!(null)),
            ("[1]", -32_600, json!(null)),
            (r#"{"jsonrpc": "2.0", "id": 7}"#, -32_600, json!(7)),
            (
                r#"{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": [1]}"#,
                -32_602,
                json!(8),
            ),
            (
                r#"{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 5}}"#,
                -32_602,
                json!(9),
            ),
        ] {
            server.send(&format!("{line}\n"));
            let answer = server.next();
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert_eq!(answer["id"], id, "{line}: {answer}");
        }
        let unknown = server.request("no/such", json!({}));
        assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
        let large = "x".repeat(4 << 20);
        let said = server.done("recall", json!({ "text": large }));
        assert!(said.text.chars().count() <= 8_000);
        let said = server.refused("status", json!({ "run": [large] }));
        assert!(said.chars().count() <= 8_000);
        // Too large to be read at all: there is no id to answer to.
        server.send(&format!("{{\"a\": \"{}\"}}\n", "x".repeat(17 << 20)));
        let answer = server.next();
        assert_eq!(answer["error"]["code"], -32_600, "{answer}");
        assert_eq!(answer["id"], json!(null), "{answer}");
        server.done("status", json!({}));
        assert_eq!(server.close(), Some(0));
    }
}

#[test]
fn a_request_is_answered_with_its_id_as_it_stands_and_an_answer_never() {
    let scratch = Scratch::new();
    for era in Era::BOTH {
        let mut server = serve(&scratch, era);
        for id in [
            "1.5",
            "1.50",
            "7.0",
            "-0",
            "9223372036854775808",
            "123456789012345678901234567890",
            "null",
            r#""piton-id:1.5""#,
        ] {
            let params = era.params(json!({}));
            let request = |method: &str| {
                format!(
                    r#"{{"jsonrpc": "2.0", "id": {id}, "method": "{method}", "params": {params}}}"#
                )
            };
            for (method, key) in [("tools/list", "result"), ("no/such", "error")] {
                server.send(&format!("{}\n", request(method)));
                let line = server.next_line();
                assert!(line.contains(&format!(r#""id":{id},"#)), "{id}: {line}");
                assert!(line.contains(&format!(r#""{key}":"#)), "{id}: {line}");
            }
            server.send(&format!(
                r#"{{"jsonrpc": "1.0", "id": {id}, "method": "ping"}}{}"#,
                '\n'
            ));
            let line = server.next_line();
            assert!(line.contains(&format!(r#""id":{id},"#)), "{id}: {line}");
            assert!(line.contains("-32600"), "{id}: {line}");
        }
        // The last of two members of one name counts, as for most readers of JSON.
        let params = era.params(json!({}));
        server.send(&format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "id": 2, "params": {params}}}{}"#,
            '\n'
        ));
        assert_eq!(server.next()["id"], 2);
        // Neither an answer of the client nor a notification is answered.
        for line in [
            r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}"#,
            r#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1.5, "result": {}}"#,
            r#"{"jsonrpc": "2.0", "id": [1], "result": {}}"#,
            r#"{"id": 1, "result": {}}"#,
            r#"{"jsonrpc": "2.0", "result": 7, "error": 7}"#,
            r#"{"jsonrpc": "2.0", "method": "tools/call", "params": [1]}"#,
            r#"{"jsonrpc": "2.0", "method": "no/such", "params": 7}"#,
        ] {
            server.send(&format!("{line}\n"));
        }
        server.done("status", json!({}));
        assert_eq!(server.close(), Some(0));
    }
}

#[test]
fn a_client_that_closes_at_once_is_answered_and_the_server_ends_with_0() {
    let scratch = Scratch::new();
    assert_eq!(scratch.fed(&["mcp"], b"").exit, 0);
    assert_eq!(
        scratch
            .fed(&["mcp"], b"{\"jsonrpc\": \"2.0\", \"id\":")
            .exit,
        0
    );
    let call = |era, id| {
        let record = json!({ "name": "record", "arguments": { "status": "completed" } });
        line(era, id, "tools/call", record)
    };
    let lines = format!("{}{}", call(Era::Stateless, 1), call(Era::Stateless, 2));
    let said = scratch.fed(&["mcp", "--item", "auth"], lines.as_bytes());
    assert_eq!((said.exit, said.err.as_str()), (0, ""));
    assert_eq!(said.out.lines().count(), 2, "{}", said.out);
    let lines = format!("{}{}", handshake(), call(Era::Handshake, 1));
    let said = scratch.fed(&["mcp", "--item", "auth"], lines.as_bytes());
    assert_eq!(said.exit, 0, "{}", said.err);
    for line in said.out.lines() {
        let value: Value = serde_json::from_str(line).expect("only the protocol is on stdout");
        assert!(value["result"].is_object(), "{line}");
    }
    assert_eq!(
        scratch
            .event_kinds()
            .iter()
            .filter(|kind| *kind == "attempt-told")
            .count(),
        3
    );
}

#[test]
fn a_signal_ends_the_server_and_what_was_answered_is_stored() {
    let scratch = Scratch::new();
    let mut server = serve(&scratch, Era::Stateless);
    server.done("record", json!({ "status": "completed" }));
    server.signal(rustix::process::Signal::TERM);
    assert_ne!(server.end(), Some(0));
    assert!(scratch.event_kinds().contains(&"attempt-told".to_owned()));
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

#[test]
fn two_servers_and_a_command_work_beside_each_other() {
    let scratch = Scratch::new();
    let mut first = serve(&scratch, Era::Stateless);
    let mut second = Server::start(&scratch, Era::Handshake, &["--item", "login"], &[]);
    for round in 0..5 {
        let text = format!("round {round}");
        for server in [&mut first, &mut second] {
            server.done(
                "log",
                json!({ "type": "milestone_reached", "description": text }),
            );
        }
        assert_eq!(
            scratch
                .piton(&["log", "milestone_reached", "--description", &text])
                .exit,
            0
        );
    }
    let kinds = scratch.event_kinds();
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "entry-logged").count(),
        15
    );
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

/// An agent that says by tools what came of it, and prints nothing.
fn tool_calls(calls: &[(&str, Value)]) -> String {
    let piton = env!("CARGO_BIN_EXE_piton");
    let mut script = format!("'{piton}' mcp >> said.jsonl <<'EOF'\n");
    for (at, (tool, arguments)) in calls.iter().enumerate() {
        let params = json!({ "name": tool, "arguments": arguments });
        let id = u64::try_from(at).expect("small");
        script.push_str(&line(Era::Stateless, id, "tools/call", params));
    }
    script.push_str("EOF\n");
    script
}

#[test]
fn an_agent_of_a_run_writes_about_its_own_attempt_and_is_refused_when_that_is_over() {
    let scratch = Scratch::new();
    let record = json!({ "status": "completed", "summary": "by the tool" });
    let calls = [
        ("prepare", json!({})),
        (
            "log",
            json!({ "type": "milestone_reached", "description": "half of it" }),
        ),
        ("ask", json!({ "question": "tabs or blanks?" })),
        ("record", record.clone()),
    ];
    let body = format!(
        "env > env.txt\n{}sleep 0.1\necho '{{\"status\": \"completed\"}}'",
        tool_calls(&calls)
    );
    scratch
        .sprint("  - {id: build, prompt: do it}\n")
        .agent(&body);
    assert_eq!(scratch.run(&[]).exit, 0);
    let said = scratch.read("said.jsonl");
    assert_eq!(said.matches("\"isError\":false").count(), 4, "{said}");
    assert!(
        said.contains("noted for attempt 1 at 2026-01-15_demo:build: completed"),
        "{said}"
    );
    let kinds = scratch.event_kinds();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "attempt-answered")
            .count(),
        1
    );
    let exported = scratch.piton(&["journal", "export"]).out;
    let answered = exported
        .lines()
        .find(|line| line.contains("attempt-answered"));
    let answered: Value = serde_json::from_str(answered.expect("it is there")).expect("JSON");
    let env = scratch.read("env.txt");
    let mark = env
        .lines()
        .find_map(|line| line.strip_prefix("PITON_ATTEMPT="));
    let mark = mark.expect("the agent is marked").to_owned();
    assert_eq!(answered["actor"], format!("agent:{mark}"), "{answered}");
    assert_eq!(scratch.json_list(&["inbox"])[0]["node"], "build");

    // The agent's program lives on, and so does its server.
    let env = [("PITON_ATTEMPT", mark.as_str())];
    let mut server = Server::start(&scratch, Era::Stateless, &[], &env);
    for (tool, arguments) in [
        ("record", record),
        ("learn", json!({ "type": "tool-usage", "content": "x" })),
        ("ask", json!({ "question": "x?" })),
    ] {
        let said = server.refused(tool, arguments);
        assert!(
            said.contains("attempt 1 at `build` is over: completed [attempt.over]"),
            "{said}"
        );
    }
    server.done("prepare", json!({}));
    let env = [("PITON_ATTEMPT", "01234567-89ab-7def-8123-456789abcdef")];
    let mut server = Server::start(&scratch, Era::Stateless, &[], &env);
    let said = server.refused("record", json!({ "status": "completed" }));
    assert!(said.contains("[attempt.unknown]"), "{said}");
}

#[test]
fn the_clients_of_others_find_what_they_expect() {
    let Some(python) = std::env::var_os("PITON_E2E_MCP_PYTHON") else {
        eprintln!("skipped: PITON_E2E_MCP_PYTHON names no Python that has the package mcp");
        return;
    };
    for mode in ["auto", "legacy"] {
        let scratch = Scratch::new();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mcp_drive.py");
        let output = std::process::Command::new(&python)
            .args([script, env!("CARGO_BIN_EXE_piton"), mode])
            .current_dir(scratch.path())
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{mode}: {said}{err}");
        assert!(
            said.contains("all 8 tools and 3 resources"),
            "{mode}: {said}{err}"
        );
    }
}
