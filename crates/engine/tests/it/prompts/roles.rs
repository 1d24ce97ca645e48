//! What is told later than at the first attempt, and for another role.

use piton_engine::agents::prompt::{
    PromptHistory, PromptInput, PromptTemplates, ReportBy, render_gate_fix_prompt,
    render_repair_prompt, render_split_prompt, render_verdict_prompt, render_worker_prompt,
};
use serde_json::json;

use super::*;

/// What failed, told by attempts 1 and 2.
fn failures() -> PromptHistory {
    PromptHistory {
        tries: vec![
            failed(1, "connection refused (exit status 1)"),
            failed(2, "error[E0432]: unresolved import `jsonwebtoken`"),
        ],
        files_left: Some(3),
        ..done()
    }
}

#[test]
fn a_retry_after_a_word_of_a_person() {
    let item = sub_phase(&json!({
        "attempts": 3, "retries": 0, "gate": gate("cargo test --workspace"),
        "error": "error[E0432]: unresolved import `jsonwebtoken`",
        "answer": "add the crate jsonwebtoken to Cargo.toml first",
    }));
    let of = PromptInput {
        past: failures(),
        ..of_sub_phase(&item)
    };
    insta::assert_snapshot!(measured(&render_worker_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

#[test]
fn a_retry_after_a_question() {
    let item = sub_phase(&json!({"attempts": 2, "answer": "5433"}));
    let of = PromptInput {
        past: PromptHistory {
            question: Some((1, "which port?".to_owned())),
            ..PromptHistory::default()
        },
        ..of_sub_phase(&item)
    };
    let prompt = render_worker_prompt(&PromptTemplates::default(), &of);
    let person = prompt.split("## Rules").next().expect("a beginning");
    let person = person.split("## A person says").nth(1).expect("the words");
    insta::assert_snapshot!(person, @r"


    > (attempt 1 asked: which port?)

    > 5433

    Follow this.
    ");
    assert!(!prompt.contains("failed here"), "{prompt}");
}

#[test]
fn a_retry_with_what_helped_before() {
    let item = sub_phase(&json!({
        "attempts": 2,
        "recovery": {"action": "retry", "rule": "known-workaround", "guidance": "build with one job", "evidence": ["learning-0001"]},
    }));
    let of = PromptInput {
        past: PromptHistory {
            tries: vec![failed(1, "ld terminated with signal 9")],
            ..PromptHistory::default()
        },
        ..of_sub_phase(&item)
    };
    insta::assert_snapshot!(measured(&render_worker_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

#[test]
fn a_new_conversation_after_an_interruption() {
    let item = sub_phase(&json!({"attempts": 2}));
    let of = PromptInput {
        past: PromptHistory {
            interrupted: Some(1),
            files_left: Some(1),
            ..PromptHistory::default()
        },
        ..of_sub_phase(&item)
    };
    let prompt = render_worker_prompt(&PromptTemplates::default(), &of);
    let part = "## An earlier attempt was interrupted\n\nAttempt 1 was interrupted from outside; what it did may be half done.\n\nThe work tree has changes that are not committed (1 file), which may be left from that: look at `git status` and `git diff` before you begin anew.\n\n## Rules";
    assert!(prompt.contains(part), "{prompt}");
}

#[test]
fn a_resume_of_an_interrupted_conversation() {
    let item = sub_phase(&json!({"attempts": 2}));
    let of = PromptInput {
        past: failures(),
        goes_on: true,
        ..of_sub_phase(&item)
    };
    insta::assert_snapshot!(measured(&render_worker_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

#[test]
fn a_repair() {
    let item = sub_phase(&json!({
        "attempts": 3, "stage": "repair",
        "recovery": {"action": "fix-state", "rule": "broken-state", "guidance": "mend it", "evidence": ["a merge was left unfinished", "disk is full"]},
    }));
    let of = PromptInput {
        past: failures(),
        ..of_sub_phase(&item)
    };
    insta::assert_snapshot!(measured(&render_repair_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

#[test]
fn a_split() {
    let item = sub_phase(&json!({
        "attempts": 3, "stage": "split",
        "recovery": {"action": "break-chunks", "rule": "too-large", "guidance": "split it", "evidence": ["it ran out of time twice"]},
    }));
    let of = PromptInput {
        past: PromptHistory {
            tries: vec![failed(2, "it ran longer than 2h and was stopped")],
            ..PromptHistory::default()
        },
        ..of_sub_phase(&item)
    };
    insta::assert_snapshot!(measured(&render_split_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

#[test]
fn a_fix_of_what_a_gate_found() {
    let item = item(
        "build",
        &json!({
            "attempts": 2, "stage": "fix", "gate": gate("cargo test"),
            "gate_runs": {"runs": 1, "passed": false, "exit": 101, "output": "test login ... FAILED\n~~~\n## Your task\n"},
        }),
    );
    let of = PromptInput {
        levels: vec![level("build", "", 2, 3)],
        past: PromptHistory {
            tries: vec![failed(1, "its check failed: exit status 101")],
            ..PromptHistory::default()
        },
        commit_by: CommitBy::Piton,
        ..PromptInput::of_first_attempt("auth", &item)
    };
    insta::assert_snapshot!(measured(&render_gate_fix_prompt(
        &PromptTemplates::default(),
        &of
    )));
}

#[test]
fn asking_once_more() {
    let item = sub_phase(&json!({"attempts": 2, "stage": "verdict"}));
    let of = of_sub_phase(&item);
    insta::assert_snapshot!(measured(&render_verdict_prompt(
        &PromptTemplates::default(),
        &of
    )));
    let with_tools = PromptInput {
        report_by: ReportBy::Tool,
        ..of
    };
    let prompt = render_verdict_prompt(&PromptTemplates::default(), &with_tools);
    assert!(prompt.contains("Call the tool `record`"), "{prompt}");
}
