//! The words of a user's hook that stopped Claude Code.

use serde_json::Value;

/// What stands behind the words of a hook that refused a prompt.
const PROMPT: &str = "\nOriginal prompt:";
/// What stands before the words of a hook that stopped the session.
const STOPPED: &str = "Operation stopped by hook:";
/// Ends the line before the words of a hook that refused a prompt.
const BLOCKED: &str = "operation blocked by hook:";

/// Whether a result is that of a session which a hook stopped, or which asked
/// no model because a hook refused the prompt.
pub(super) fn is_hook_refusal(result: &Value) -> bool {
    let models = result["modelUsage"].as_object();
    let asked_no_model = result["num_turns"].as_u64() == Some(0)
        && models.is_none_or(serde_json::Map::is_empty)
        && result["duration_api_ms"].as_u64().unwrap_or(0) == 0;
    asked_no_model || result["terminal_reason"].as_str() == Some("hook_stopped")
}

/// Why a hook stops the session, if the line is the answer of one that does.
pub(super) fn stop_reason(event: &Value) -> Option<String> {
    let answer: Value = serde_json::from_str(event["stdout"].as_str()?.trim()).ok()?;
    let stops = answer["continue"].as_bool() == Some(false);
    let reason = answer["stopReason"].as_str().filter(|_| stops)?;
    Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty())
}

/// The hook's words in the text of a result, without the prompt and the command
/// of the hook that stand there as well. `known` is its reason, where that
/// was printed elsewhere.
pub(super) fn hook_message(text: &str, known: Option<&str>) -> String {
    let text = text.split(PROMPT).next().unwrap_or_default().trim();
    let words = if let Some(words) = text.strip_prefix(STOPPED) {
        words
    } else {
        match text.split_once(BLOCKED) {
            // The command stands in brackets where the hook wrote to stderr.
            Some((_, rest)) => match rest.trim_start().strip_prefix('[') {
                Some(command) => command.split_once("]: ").map_or(rest, |(_, words)| words),
                None => rest,
            },
            None => text,
        }
    };
    match (words.trim(), known) {
        ("", Some(known)) => known.to_owned(),
        ("", None) => "a hook stopped Claude Code, and its reason was not printed".to_owned(),
        (words, _) => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_of_a_hook_are_told_from_the_prompt_and_its_command() {
        let blocked = "UserPromptSubmit operation blocked by hook:\n[check >&2; exit 2]: no prompts \
                       on Fridays\nask the owner\n\n\nOriginal prompt: # Sprint x\nOriginal prompt:";
        assert_eq!(
            hook_message(blocked, None),
            "no prompts on Fridays\nask the owner"
        );
        let by_json = "UserPromptSubmit operation blocked by hook:\nnot now\n\nOriginal prompt: x";
        assert_eq!(hook_message(by_json, None), "not now");
        assert_eq!(
            hook_message("Operation stopped by hook: enough", None),
            "enough"
        );
        assert_eq!(
            hook_message("", Some("the tree is frozen")),
            "the tree is frozen"
        );
        assert!(hook_message("", None).contains("its reason was not printed"));
    }

    #[test]
    fn only_an_answer_that_stops_has_a_reason_to_stop() {
        let reason = |stdout: &str| stop_reason(&json!({ "stdout": stdout }));
        let stops = r#"{"continue":false,"stopReason":"the tree is frozen"}"#;
        assert_eq!(reason(stops).as_deref(), Some("the tree is frozen"));
        assert_eq!(reason(r#"{"continue":true,"stopReason":"x"}"#), None);
        assert_eq!(reason("plain text"), None);
    }

    #[test]
    fn a_session_that_asked_no_model_was_refused() {
        let refused = |result: Value| is_hook_refusal(&result);
        assert!(refused(
            json!({"num_turns": 0, "modelUsage": {}, "duration_api_ms": 0})
        ));
        assert!(refused(
            json!({"num_turns": 2, "terminal_reason": "hook_stopped"})
        ));
        assert!(!refused(json!({"num_turns": 1, "modelUsage": {}})));
        // It compacted: no turn of the agent, but a model was asked.
        let compacted = json!({"num_turns": 0, "modelUsage": {"m": {}}, "duration_api_ms": 140});
        assert!(!refused(compacted));
    }
}
