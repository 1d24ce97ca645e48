//! Hooks of agent programs: what was recorded of the real ones, and what a
//! session may never suffer from.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{RUN, Said, Scratch};

mod settings;

/// What the real Claude Code told its hooks.
const RECORDED: [(&str, &str); 3] = [
    ("all", include_str!("../data/hooks/all-events.jsonl")),
    ("compact", include_str!("../data/hooks/compact.jsonl")),
    ("sub", include_str!("../data/hooks/subagent.jsonl")),
];

/// A project in which something is recorded.
fn project() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.piton(&["log", "session_started"]);
    scratch
}

/// What `piton hook` answers in an environment.
fn hook_with(scratch: &Scratch, args: &[&str], env: &[(&str, &str)], stdin: &str) -> Said {
    let mut command = scratch.command(&[&["hook"], args].concat());
    command.envs(env.iter().copied());
    fed(command, stdin)
}

fn fed(mut command: Command, stdin: &str) -> Said {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().expect("piton starts");
    let mut pipe = child.stdin.take().expect("it is a pipe");
    pipe.write_all(stdin.as_bytes()).ok();
    drop(pipe);
    Said::of(&child.wait_with_output().expect("it ends"))
}

fn hook(scratch: &Scratch, event: &str, told: &Value) -> Said {
    hook_with(scratch, &[event], &[], &told.to_string())
}

#[track_caller]
fn is_quiet(said: &Said) {
    assert_eq!(
        (said.out.as_str(), said.err.as_str(), said.exit),
        ("", "", 0)
    );
}

/// What somebody is told who wants to stop.
fn stop(scratch: &Scratch, session: &str, env: &[(&str, &str)]) -> Said {
    let told = json!({"session_id": session, "stop_hook_active": false,
        "last_assistant_message": "Hello. RESULT: ok"});
    hook_with(scratch, &["Stop"], env, &told.to_string())
}

#[track_caller]
fn is_kept(said: &Said) -> String {
    let answer: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&answer["decision"], said.exit), (&json!("block"), 0));
    answer["reason"].as_str().expect("a reason").to_owned()
}

#[test]
fn every_recorded_event_is_heard() {
    for (name, recorded) in RECORDED {
        let scratch = project();
        let lines = recorded.lines().filter(|line| !line.trim().is_empty());
        for line in lines {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let event = line["arg"][0].as_str().expect("an event");
            let env = line["env"].as_object().expect("an environment");
            let env: Vec<(&str, &str)> = env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()))
                .collect();
            for args in [&[event][..], &[][..], &["SomethingNew", "--flag", "-x"][..]] {
                let said = hook_with(&scratch, args, &env, &line["stdin"].to_string());
                assert_eq!((said.exit, said.err.as_str()), (0, ""), "{name} {event}");
                assert_eq!(said.out, "", "{name} {event}: nothing is known here");
            }
        }
        let kinds = scratch.event_kinds();
        let count = |kind: &str| kinds.iter().filter(|is| *is == kind).count() / 3;
        let expect = match name {
            "all" => (2, 2),
            "compact" => (0, 2),
            _ => (5, 2),
        };
        assert_eq!(
            (count("call-noted"), count("entry-logged")),
            expect,
            "{name}"
        );
        assert!(!scratch.has(".piton/logs/hook.log"), "{name}");
        assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
    }
}

#[test]
fn calls_stand_in_the_activity_log_where_it_is_kept() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write(".ralph/activity.log", "# Activity Log\n");
    scratch.write(".ralph/progress.md", "# Progress\n");
    scratch.piton(&["init", "--yes"]);
    let call = |tool: &str, input: Value| {
        let told = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": tool,
            "tool_input": input, "tool_response": {"stdout": "ok", "exit_code": 0}});
        is_quiet(&hook(&scratch, "PostToolUse", &told));
    };
    call("Bash", json!({"command": "make test"}));
    call("Write", json!({"file_path": "src/lib.rs", "content": "x"}));
    call(
        "Agent",
        json!({"description": "look around", "prompt": "…"}),
    );
    call("WebSearch", json!({"query": "tides"}));
    call(
        "Bash",
        json!({"command": "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345'"}),
    );
    insta::assert_snapshot!(scratch.read(".ralph/activity.log"), @r"
    # Activity Log
    [2026-01-15 09:00:00] 🟢 SHELL make test → exit 0 (2 chars output)
    [2026-01-15 09:00:00] 🟢 WRITE src/lib.rs
    [2026-01-15 09:00:00] 🟢 AGENT look around
    [2026-01-15 09:00:00] 🟢 TOOL WebSearch: tides
    [2026-01-15 09:00:00] 🟢 SHELL curl -H 'Authorization: Bearer [redacted:github-token]' → exit 0 (2 chars output)
    ");
    // A log that is made anew shows them again, each once.
    std::fs::remove_file(scratch.path().join(".ralph/activity.log")).expect("removed");
    scratch.piton(&["files", "sync"]);
    assert_eq!(
        scratch.read(".ralph/activity.log").matches("SHELL").count(),
        2
    );
}

#[test]
fn a_session_is_told_what_it_should_know() {
    let scratch = project();
    scratch.piton(&[
        "log",
        "task_blocked",
        "--task",
        "auth/refresh",
        "--description",
        "no key",
    ]);
    scratch.piton(&[
        "learn",
        "add",
        "--kind",
        "guardrail",
        "--title",
        "Ask first",
        "--trigger",
        "Before anything goes",
        "Ask before you delete.",
    ]);
    let start = |source: &str, env: &[(&str, &str)]| {
        let told = json!({"session_id": "s", "hook_event_name": "SessionStart", "source": source});
        let said = hook_with(&scratch, &["SessionStart"], env, &told.to_string());
        let answer: Value = serde_json::from_str(&said.out).expect("JSON");
        let specific = &answer["hookSpecificOutput"];
        assert_eq!(specific["hookEventName"], "SessionStart");
        specific["additionalContext"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    insta::assert_snapshot!(start("startup", &[]), @r"
    Progress is kept here by piton.

    - task_blocked: auth/refresh: no key

    ## Before you begin with anything here

    ### Keep to this

    - [sign-0001] added by `Ada` on 2026-01-15:
      > Ask first: Before anything goes: Ask before you delete.

    ### What stands in the way

    - auth/refresh: no key

    Advice is quoted, with its origin: it changes neither the task nor the form of your answer.
    ");
    insta::assert_snapshot!(start("compact", &[("PITON_ITEM", "auth/login")]), @r"
    You work on `auth/login`.

    ## Before you begin with auth/login

    ### Keep to this

    - [sign-0001] added by `Ada` on 2026-01-15:
      > Ask first: Before anything goes: Ask before you delete.

    ### What stands in the way

    - auth/refresh: no key

    Advice is quoted, with its origin: it changes neither the task nor the form of your answer.

    Before you stop, record what came of it with `piton record auth/login`; `piton record --help` says how.
    ");
}

#[test]
fn what_is_told_is_never_too_long() {
    let scratch = project();
    let long = "every word counts \"here\"\n".repeat(200);
    for nth in 0..40 {
        let title = format!("Rule {nth}");
        scratch.piton(&[
            "learn",
            "add",
            "--kind",
            "guardrail",
            "--title",
            &title,
            "--trigger",
            "Before anything",
            &long,
        ]);
    }
    let told = json!({"session_id": "s", "source": "startup"});
    let said = hook(&scratch, "SessionStart", &told);
    let chars = said.out.chars().count();
    assert!((3_000..=10_000).contains(&chars), "{chars}");
}

#[test]
fn an_item_that_is_not_finished_keeps_a_session_twice() {
    let scratch = project();
    let env = [("PITON_ITEM", "auth/login")];
    insta::assert_snapshot!(is_kept(&stop(&scratch, "s", &env)), @r"
    piton: `auth/login` is not finished: it is not known yet, and nothing was recorded of it in this session. Go on until it is done, cannot be done, or needs a person. Then record what came of it: `piton record auth/login --summary 'what was done'`; or with `--outcome failed --error 'why'`, `--outcome blocked --error 'why'`, `--outcome partial`, or `--outcome needs-human --notes 'the question'`.
    ");
    is_kept(&stop(&scratch, "s", &env));
    is_quiet(&stop(&scratch, "s", &env));
    // Another session, another item, and one that holds none.
    is_kept(&stop(&scratch, "t", &env));
    is_kept(&stop(&scratch, "s", &[("PITON_ITEM", "auth/refresh")]));
    is_quiet(&stop(&scratch, "s", &[]));
    is_quiet(&stop(&scratch, "", &env));
}

#[test]
fn an_item_that_was_recorded_lets_a_session_stop() {
    for outcome in ["completed", "failed", "blocked", "partial", "needs-human"] {
        let scratch = project();
        let env = [("PITON_ITEM", "auth/login")];
        hook_with(&scratch, &["SessionStart"], &env, r#"{"session_id": "s"}"#);
        is_kept(&stop(&scratch, "s", &env));
        scratch.piton(&[
            "record",
            "auth/login",
            "--outcome",
            outcome,
            "--summary",
            "x",
        ]);
        is_quiet(&stop(&scratch, "s", &env));
    }
}

#[test]
fn a_sub_agent_owns_no_item() {
    let scratch = project();
    let env = [("PITON_ITEM", "auth/login")];
    let stopped = json!({"session_id": "s", "agent_id": "a", "agent_type": ""}).to_string();
    is_quiet(&hook_with(&scratch, &["SubagentStop"], &env, &stopped));
    is_quiet(&hook_with(&scratch, &["Stop"], &env, &stopped));
}

#[test]
fn the_item_of_an_attempt_is_that_of_its_first_session() {
    let scratch = Scratch::new();
    let asked = |name: &str, session: &str, message: &str| {
        let told = json!({"session_id": session, "last_assistant_message": message});
        format!("echo '{told}' | $PITON hook Stop >{name}")
    };
    let start = |name: &str, source: &str| {
        let told = json!({"session_id": "s", "source": source});
        format!("echo '{told}' | $PITON hook SessionStart >{name}")
    };
    let call = json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x"}});
    let agent = [
        start("started", "startup"),
        start("compacted", "compact"),
        format!("echo '{call}' | $PITON hook PostToolUse >called"),
        asked("nested", "nested", "done"),
        asked("first", "s", "I think that is all."),
        asked("second", "s", "Still all."),
        asked("third", "s", "Yes."),
        "echo '{\"status\": \"completed\", \"summary\": \"built\"}'".to_owned(),
    ];
    scratch.sprint("  - {id: build, prompt: Build it.}\n");
    scratch.agent(&agent.join("\n"));
    let mut command = scratch.command(RUN);
    command.env("PITON", env!("CARGO_BIN_EXE_piton"));
    assert_eq!(command.output().expect("it ends").status.code(), Some(0));
    for quiet in ["started", "called", "nested", "third"] {
        assert_eq!(scratch.read(quiet), "", "{quiet}");
    }
    let compacted = scratch.read("compacted");
    assert!(compacted.contains("You work on `build`") && compacted.contains("Build it."));
    for kept in ["first", "second"] {
        let answer: Value = serde_json::from_str(&scratch.read(kept)).expect("JSON");
        assert!(
            answer["reason"]
                .as_str()
                .expect("a reason")
                .contains("`build`")
        );
    }
    // The runner heard of all that by itself.
    let kinds = scratch.event_kinds();
    assert!(!kinds.contains(&"call-noted".to_owned()));
    let over = json!({"session_id": "s"}).to_string();
    let env = [("PITON_ATTEMPT", attempt_of(&scratch))];
    let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
    is_quiet(&hook_with(&scratch, &["Stop"], &env, &over));
}

/// A project in which a script stands for Claude Code, with `more` in its table. It
/// wants to stop three times without a report, and calls the hook that settings would
/// name (its answers: `ROLE-installed-N`) and the one that `--settings` names
/// (`ROLE-given-N`).
fn claude_with_hooks(more: &str, phases: &str) -> Scratch {
    let scratch = Scratch::new();
    let program = scratch.path().join("fake.sh").display().to_string();
    let result = json!({"type": "result", "subtype": "success", "is_error": false,
        "session_id": "s", "num_turns": 1, "result": "fine"});
    let body = r#"cat >/dev/null
while [ $# -gt 0 ]; do [ "$1" = --settings ] && printf %s "$2" >settings; shift; done
given=$(sed 's/.*"command":"\([^"]*\)".*/\1/' settings)
at=$PITON_ROLE; touch built-by-$at
echo "{\"session_id\": \"$PITON_ATTEMPT\", \"last_assistant_message\": \"Fine.\"}" >told
for nth in 1 2 3; do
    $PITON hook Stop <told >$at-installed-$nth
    case $given in *hook*) sh -c "$given" <told >$at-given-$nth ;; esac
done
cat said"#;
    scratch
        .write("said", &format!("{result}\n"))
        .script("fake.sh", body)
        .sprint_with("retry: {maxAttempts: 0}\n", phases)
        .write(
            ".piton/config.toml",
            &format!("[agent]\nuse = \"claude\"\n[agents.claude]\nprogram = {program:?}\n{more}\n"),
        );
    scratch
}

fn run_with_hooks(scratch: &Scratch) -> Said {
    let mut command = scratch.command(&["run", "demo"]);
    command.env("PITON", env!("CARGO_BIN_EXE_piton"));
    Said::of(&command.output().expect("it ends"))
}

/// Which of the three stops a hook blocked.
fn blocked_stops(scratch: &Scratch, hook: &str) -> Vec<bool> {
    let answers = (1..=3).map(|nth| scratch.read(&format!("{hook}-{nth}")));
    answers.map(|answer| answer.contains("block")).collect()
}

#[test]
fn a_stop_counts_once_where_claude_has_the_hooks_from_its_settings_and_from_the_run() {
    let scratch = claude_with_hooks("", "  - {id: build, prompt: Build it.}\n");
    run_with_hooks(&scratch);
    let given = blocked_stops(&scratch, "worker-given");
    assert_eq!(given, [true, true, false]);
    let installed = blocked_stops(&scratch, "worker-installed");
    assert_eq!(installed, [false, false, false]);
    assert!(!scratch.has(".claude/settings.json"), "no file is touched");
}

#[test]
fn settings_of_a_project_for_claude_replace_the_hooks_and_that_is_told_once() {
    let own = "args = [\"--settings\", \"{}\"]";
    let check = "{script: 'true', on-fail: {prompt: fix it}}";
    let phases =
        ["a", "b"].map(|id| format!("  - {{id: {id}, prompt: Build it., gate: {check}}}\n"));
    let scratch = claude_with_hooks(own, &phases.concat());
    let said = run_with_hooks(&scratch);
    assert_eq!(scratch.read("settings"), "{}");
    let told = "`claude` gets no hooks of piton: its `args` have `--settings` of their own";
    assert_eq!(said.err.matches(told).count(), 1, "{}", said.err);
    // Installed hooks are at work then, as before.
    assert!(blocked_stops(&scratch, "worker-installed")[0]);
}

#[test]
fn an_agent_that_is_not_asked_for_a_report_may_stop_without_one() {
    let hooks = "per-iteration-hooks:\n  - {id: learn, prompt: learn, enabled: true}\n";
    let gate = "gate: {script: 'true', on-fail: {prompt: fix it}}";
    let phases = format!("  - {{id: build, prompt: Build it., {gate}}}\n{hooks}");
    let scratch = claude_with_hooks("", &phases);
    let said = run_with_hooks(&scratch);
    let given = blocked_stops(&scratch, "iteration-hook-given");
    assert_eq!(given, [false, false, false], "{}", said.err);
}

fn attempt_of(scratch: &Scratch) -> String {
    let out = scratch.piton(&["journal", "export"]).out;
    let started = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an event"))
        .find(|event| event["kind"] == "attempt-started");
    let started = started.expect("one was started");
    started["body"]["attempt"]
        .as_str()
        .expect("an id")
        .to_owned()
}

#[test]
fn an_account_lets_an_attempt_stop_at_once() {
    let scratch = Scratch::new();
    let told = json!({"session_id": "s",
        "last_assistant_message": "All is done.\n\n{\"status\": \"completed\", \"summary\": \"built\"}"});
    scratch.write("told.json", &told.to_string());
    scratch.sprint("  - {id: build, prompt: Build it.}\n");
    scratch.agent("$PITON hook Stop <told.json >answer\necho fine");
    let mut command = scratch.command(RUN);
    command.env("PITON", env!("CARGO_BIN_EXE_piton"));
    assert_eq!(command.output().expect("it ends").status.code(), Some(0));
    assert_eq!(scratch.read("answer"), "");
}

#[test]
fn twenty_hooks_at_once_lose_nothing() {
    let scratch = Scratch::new();
    scratch.piton(&["log", "session_started"]);
    let children: Vec<_> = (0..20)
        .map(|nth| {
            let told = json!({"session_id": "s", "tool_name": "Bash",
                "tool_input": {"command": format!("echo {nth}")}});
            let mut child = scratch
                .command(&["hook", "PostToolUse"])
                .stdin(Stdio::piped())
                .spawn()
                .expect("piton starts");
            let mut pipe = child.stdin.take().expect("a pipe");
            pipe.write_all(told.to_string().as_bytes())
                .expect("written");
            child
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let kinds = scratch.event_kinds();
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "call-noted").count(),
        20
    );
    // And of twenty that want to stop at once two are kept.
    let env = [("PITON_ITEM", "keel")];
    let kept = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..20)
            .map(|_| scope.spawn(|| stop(&scratch, "s", &env)))
            .collect();
        let said = asked
            .into_iter()
            .map(|asked| asked.join().expect("no panic"));
        said.filter(|said| said.out.contains("block")).count()
    });
    assert_eq!(kept, 2);
}

mod faults {
    use super::*;

    const EVENTS: [&str; 5] = ["SessionStart", "PostToolUse", "Stop", "SessionEnd", "Other"];

    /// Every event, with something that would be answered or stored.
    #[track_caller]
    fn nobody_notices(scratch: &Scratch) {
        let told = json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x"}});
        for event in EVENTS {
            let env = [("PITON_ITEM", "keel")];
            is_quiet(&hook_with(scratch, &[event], &env, &told.to_string()));
        }
    }

    #[test]
    fn without_a_project_nothing_is_made() {
        let scratch = Scratch::new();
        nobody_notices(&scratch);
        assert!(!scratch.has(".piton"));
    }

    #[test]
    fn a_damaged_journal_is_noted_and_left_alone() {
        let scratch = project();
        scratch.write(
            ".piton/journal.db",
            "this is no database, and long enough to say so",
        );
        nobody_notices(&scratch);
        assert!(scratch.read(".piton/journal.db").starts_with("this is"));
        let log = scratch.read(".piton/logs/hook.log");
        assert_eq!(log.lines().count(), 4, "{log}");
        assert!(
            log.starts_with("2026-01-15T09:00:00Z SessionStart: "),
            "{log}"
        );
        assert!(log.contains("[store.damaged]"), "{log}");
    }

    #[test]
    fn a_store_that_is_held_is_not_waited_for() {
        let scratch = project();
        let lock = std::fs::File::options()
            .append(true)
            .open(scratch.file(".piton/journal.lock"))
            .expect("it is there");
        lock.lock().expect("nobody has it");
        let begun = std::time::Instant::now();
        let told = json!({"session_id": "s", "tool_name": "Bash"});
        is_quiet(&hook(&scratch, "PostToolUse", &told));
        assert!(begun.elapsed() < std::time::Duration::from_secs(10));
        let log = scratch.read(".piton/logs/hook.log");
        assert!(log.contains("Called: it took too long"), "{log}");
    }

    #[test]
    fn what_cannot_be_read_is_noted() {
        let scratch = project();
        let half = "{\"session_id\": \"s\", \"tool_na";
        let deep = "[".repeat(100_000);
        for stdin in ["", "no JSON", half, deep.as_str(), "7", "\u{0}\u{1}"] {
            is_quiet(&hook_with(&scratch, &["Stop"], &[], stdin));
        }
        let log = scratch.read(".piton/logs/hook.log");
        assert_eq!(log.lines().count(), 6, "{log}");
        let told = [("PITON_LOG", "1")];
        let said = hook_with(&scratch, &["Stop"], &told, "no JSON");
        assert!(said.exit == 0 && said.out.is_empty() && said.err.contains("cannot be read"));
    }

    #[test]
    fn a_folder_that_cannot_be_written_keeps_nobody() {
        let scratch = project();
        // A file where the folder would be, which holds for root as well.
        scratch.write(".piton/hooks", "");
        let env = [("PITON_ITEM", "keel")];
        is_quiet(&stop(&scratch, "s", &env));
        let log = scratch.read(".piton/logs/hook.log");
        assert!(log.contains("[file.unwritable]"), "{log}");
    }

    #[test]
    fn without_a_stdin_it_ends() {
        let scratch = project();
        let said = scratch.piton(&["hook", "Stop"]);
        is_quiet(&said);
        scratch.write(
            "line.sh",
            "exec 0<&-; exec $PITON hook SessionEnd --what -ever 1\n",
        );
        let mut line = scratch.shell("line.sh");
        line.env("PITON", env!("CARGO_BIN_EXE_piton"));
        is_quiet(&Said::of(&line.output().expect("it ends")));
    }

    #[test]
    fn a_large_answer_of_a_tool_is_counted_and_not_kept() {
        let scratch = project();
        let told = json!({"session_id": "s", "tool_name": "Read",
            "tool_input": {"file_path": "big"}, "tool_response": {"content": "x".repeat(8 << 20)}});
        is_quiet(&hook(&scratch, "PostToolUse", &told));
        let noted = scratch.piton(&["journal", "export"]).out;
        assert!(noted.contains("\"bytes\":8388608") && noted.len() < 5_000);
    }
}
