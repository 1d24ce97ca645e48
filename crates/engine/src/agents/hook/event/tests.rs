use super::*;

#[track_caller]
fn told(json: &str) -> HookEvent {
    HookEvent::parse(json.as_bytes()).expect("an object")
}

#[track_caller]
fn check_call(json: &str, expect: &str) {
    let call = told(json)
        .tool_call(&Redactor::rules_only())
        .expect("a call");
    let line = format!(
        "{} {} `{}` exit {:?} failed {} bytes {:?} ms {:?}",
        call.kind, call.tool, call.what, call.exit, call.failed, call.bytes, call.ms
    );
    assert_eq!(line, expect);
}

#[test]
fn a_call_is_read_from_each_program() {
    check_call(
        r#"{"tool_name":"Bash","tool_input":{"command":"echo hi","description":"say"},"tool_response":{"stdout":"hi","stderr":"","interrupted":false},"duration_ms":285}"#,
        "shell Bash `echo hi` exit None failed false bytes Some(2) ms Some(285)",
    );
    check_call(
        r#"{"tool_name":"Write","tool_input":{"file_path":"/p/out.txt","content":"x"},"tool_response":{"type":"create","structuredPatch":[],"originalFile":null}}"#,
        "write Write `/p/out.txt` exit None failed false bytes Some(6) ms None",
    );
    check_call(
        r#"{"tool_name":"exec_command","tool_input":{"cmd":["make","test"]},"tool_response":{"output":"no","exit_code":2}}"#,
        "shell exec_command `make test` exit Some(2) failed true bytes Some(2) ms None",
    );
    check_call(
        r#"{"tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: src/a.rs\n@@"},"tool_response":"ok"}"#,
        "write apply_patch `src/a.rs` exit None failed false bytes Some(2) ms None",
    );
    check_call(
        r#"{"tool_name":"read_file","tool_input":{"absolute_path":"/p/a"},"tool_response":{"llmContent":[{"text":"abc"}],"error":null}}"#,
        "read read_file `/p/a` exit None failed false bytes Some(3) ms None",
    );
    check_call(
        r#"{"tool_name":"mcp__x__y","tool_input":{"n":1},"tool_response":{"error":{"message":"no"}}}"#,
        "other mcp__x__y `` exit None failed true bytes Some(2) ms None",
    );
}

#[test]
fn what_has_another_type_is_as_good_as_absent() {
    let told = told(
        r#"{"session_id":7,"hook_event_name":["Stop"],"source":{},"tool_name":null,"tool_input":"x","tool_response":[1.5,null],"duration_ms":"long","last_assistant_message":5}"#,
    );
    assert_eq!(told.session_name(), None);
    assert_eq!(told.source(), "startup");
    assert_eq!(told.last_message(), "");
    assert_eq!(told.tool_call(&Redactor::rules_only()), None);
    for text in ["", "nothing", "[1", "{\"a\":", "\u{0}"] {
        assert!(HookEvent::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn what_was_typed_counts_unless_it_is_not_known() {
    let stop = told(r#"{"hook_event_name":"Stop"}"#);
    assert_eq!(stop.event_kind(None), HookEventKind::Stop);
    assert_eq!(
        stop.event_kind(Some("SessionEnd")),
        HookEventKind::SessionEnd
    );
    assert_eq!(stop.event_kind(Some("PreToolUse")), HookEventKind::Quiet);
    assert_eq!(stop.event_kind(Some("TaskCompleted")), HookEventKind::Stop);
    assert_eq!(
        told("{}").event_kind(Some("TaskCompleted")),
        HookEventKind::Quiet
    );
    assert_eq!(
        told("{}").event_kind(Some("AfterAgent")),
        HookEventKind::Stop
    );
}

#[test]
fn a_session_has_a_name_that_is_no_path() {
    let session = |id: &str| told(&format!("{{\"session_id\":{id:?}}}")).session_name();
    assert_eq!(session("01a2-b"), Some("01a2-b".to_owned()));
    assert_eq!(session(""), None);
    for odd in ["../../etc", "a b", &"x".repeat(101)] {
        let name = session(odd).expect("a name");
        assert!(name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}

#[test]
fn half_a_secret_is_none_that_stays() {
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(20));
    let json = format!(
        r#"{{"tool_name":"Bash","tool_input":{{"command":"{}KEY={key} ./x"}},"tool_response":""}}"#,
        "y".repeat(270)
    );
    let call = told(&json)
        .tool_call(&Redactor::rules_only())
        .expect("a call");
    assert!(!call.what.contains("sk-ant"), "{}", call.what);
}
