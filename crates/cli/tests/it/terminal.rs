//! Text from agents, files, names and arguments, as it reaches a terminal: without
//! orders to it, and with all that is not seen written out.

use serde_json::json;

use crate::harness::{Said, Scratch};

/// What an attacker writes: the clipboard, a cleared screen, colours that piton has none
/// of, words over other words, letters in another order, and letters that are not seen.
const EVIL: &str = "good\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{1b}[5;41m \u{9b}2J\
    \u{9d}52;c;ZXZpbA==\u{9c}\u{1b}Pq#ZXZpbA\u{1b}\\ over\rwritten\u{8}\u{8} \u{202e}turned\
    \u{2066} zero\u{200b}width \u{e0041}\u{e007f}tagged \u{1b}]0;open";

/// What stands there instead.
const CLEAN: &str = "good  overwritten <U+202E>turned<U+2066> zero<U+200B>width \
    <U+E0041><U+E007F>tagged 0;open";

/// The command as on a terminal that shows colours.
fn colourful(scratch: &Scratch, args: &[&str]) -> Said {
    let mut command = scratch.command(args);
    command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
    Said::of(&command.output().expect("piton starts"))
}

/// A text without the styles of piton, clap and the problems beside their source.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';');
        let end = end.filter(|end| part[*end..].starts_with('m') && !part.starts_with("5;41"));
        plain.push_str(end.map_or("\u{1b}[", |_| ""));
        plain.push_str(end.map_or(part, |end| &part[end + 1..]));
    }
    plain
}

#[track_caller]
fn check_harmless(what: &[&str], text: &str) {
    let plain = without_styles(text);
    let is_order = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let is_unseen = |c: char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{e0000}'..='\u{e007f}')
    };
    let bad: Vec<char> = plain
        .chars()
        .filter(|c| is_order(*c) || is_unseen(*c))
        .collect();
    assert!(bad.is_empty(), "{what:?}: {bad:?} in {text:?}");
}

/// Both streams of a command, on a terminal with colours and in a pipe.
#[track_caller]
fn check_command(scratch: &Scratch, args: &[&str]) -> Said {
    let said = colourful(scratch, args);
    check_harmless(args, &said.out);
    check_harmless(args, &said.err);
    let piped = scratch.piton(args);
    check_harmless(args, &piped.out);
    check_harmless(args, &piped.err);
    piped
}

/// A sprint whose agent answers with this.
fn answered(answer: &serde_json::Value) -> Scratch {
    let scratch = Scratch::new();
    scratch
        .sprint_with(
            "retry: {maxAttempts: 0}\n",
            "  - id: build\n    prompt: build it\n",
        )
        .write("said", &format!("{EVIL}\u{7}\n{answer}\n"))
        .agent("cat said");
    scratch
}

const RUN: &[&str] = &["run", "demo", "--agent", "./agent.sh"];

#[test]
fn what_an_agent_asks_reaches_the_terminal_as_letters() {
    let scratch = answered(&json!({"status": "needs-human", "summary": EVIL,
        "humanNeeded": {"reason": EVIL, "details": format!("{EVIL}\nand more {EVIL}")},
        "observations": [{"type": "blocker", "title": EVIL, "description": EVIL}]}));
    let said = colourful(&scratch, RUN);
    check_harmless(RUN, &said.err);
    check_harmless(RUN, &said.out);
    assert_eq!(said.exit, 3, "{}", said.err);
    for args in [
        &["inbox"][..],
        &["status"],
        &["status", "--all"],
        &["show", "build"],
        &["show", "build#1"],
        &["transcript", "build"],
        &["recent"],
        &["recent", "--observations"],
        &["recent", "--blockers"],
        &["recover", "build"],
        &["prepare", "build"],
        &["next"],
        &["journal", "show"],
        &["learn", "list"],
        &["learn", "doctor"],
        &["run", "demo", "--dry-run"],
        &["decide", "d1", "approve"],
    ] {
        check_command(&scratch, args);
    }
    let shown = scratch.piton(&["inbox"]).out;
    assert!(shown.contains(CLEAN), "{shown}");
    // As data it is what was said, to the character.
    let asked = scratch.json_list(&["inbox"]);
    let details = asked[0]["details"].as_str().unwrap_or_default();
    assert!(
        details.contains('\u{202e}') && details.contains("\u{e0041}"),
        "{asked}"
    );
}

#[test]
fn what_an_agent_reports_reaches_the_terminal_as_letters() {
    let scratch = answered(&json!({"status": "failed", "summary": EVIL, "error": EVIL}));
    let said = scratch.piton(RUN);
    check_harmless(RUN, &said.err);
    for args in [&["status"][..], &["show", "build"], &["recent"], RUN] {
        check_command(&scratch, args);
    }
}

/// A list whose ids, titles and texts are an attacker's.
#[test]
fn what_a_plan_says_reaches_the_terminal_as_letters() {
    let scratch = Scratch::new();
    let folder = format!("pl{EVIL}an").replace('/', "");
    let list = format!("{folder}/prd.json");
    let story = |id: &str| {
        json!({"id": id, "title": EVIL, "description": EVIL, "category": EVIL,
            "steps": [EVIL], "passes": false})
    };
    let plan = json!({"project": EVIL, "branchName": EVIL,
        "features": [story("login"), story(&format!("out-{EVIL}"))]});
    scratch.write(&list, &plan.to_string()).agent("exit 1");
    let run = [
        "run",
        &list,
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ];
    check_harmless(&["run"], &colourful(&scratch, &run).err);
    for args in [
        &["status"][..],
        &["show", "login"],
        &["next"],
        &["prepare", "login"],
        &["files", "list"],
        &["files", "check", &list],
        &["plan", "check", &folder],
        &["plan", "skip", "login", "--why", EVIL],
        &["status"],
        &["init", "--dry-run"],
        &["run", &list, "--dry-run"],
    ] {
        check_command(&scratch, args);
    }
}

#[test]
fn what_a_source_says_reaches_the_terminal_as_letters() {
    let scratch = Scratch::new();
    let list = format!("{{\n \"features\": [{{\"id\": 7, {EVIL} \"{EVIL}\": {EVIL}\n");
    scratch
        .write("prd.json", &list)
        .sprint_with(&format!("x{EVIL}: {EVIL}\n"), &format!("  - id: {EVIL}\n"))
        .write(
            "memory.jsonl",
            &format!("{{\"id\": \"{EVIL}\", \"kind\": \"x\"}}\n"),
        );
    for args in [
        &["files", "check", "prd.json"][..],
        &["files", "list"],
        &["plan", "check", "demo"],
        &["plan", "compile", "demo"],
        &["run", "prd.json", "--agent", "./agent.sh"],
        &["learn", "import", "memory.jsonl"],
        &["init", "--yes"],
    ] {
        let said = check_command(&scratch, args);
        assert!(!said.out.is_empty() || !said.err.is_empty(), "{args:?}");
    }
}

#[test]
fn what_is_typed_reaches_the_terminal_as_letters() {
    let scratch = Scratch::new();
    for args in [
        &[
            "log",
            "task_completed",
            "--spec",
            EVIL,
            "--description",
            EVIL,
        ][..],
        &["log", "task_blocked", "--task", EVIL, "--description", EVIL],
        &["log", EVIL],
        &["record", EVIL, "--summary", EVIL],
        &["learn", "add", "--type", "tool-usage", EVIL],
        &[
            "learn",
            "add",
            "--kind",
            "guardrail",
            "--title",
            EVIL,
            "--trigger",
            EVIL,
            EVIL,
        ],
        &["learn", "list"],
        &["learn", "show", "learning-0001"],
        &["learn", "show", EVIL],
        &["learn", "retire", "learning-0001", "--why", EVIL],
        &["learn", "import", EVIL],
        &["learn", "doctor"],
        &["recall", "overwritten turned tagged"],
        &["recall", EVIL],
        &["issue", "add", "one", EVIL],
        &["issue", "list"],
        &["issue", "show", "one"],
        &["inbox", "ask", EVIL],
        &["inbox", "ask", "why?", "--details", EVIL],
        &["inbox"],
        &["session", "start", "--spec", EVIL],
        &["recent"],
        &["recent", "--blockers"],
        &["recent", "--item", EVIL],
        &["status", EVIL],
        &["show", EVIL],
        &["transcript", EVIL],
        &["prepare", EVIL],
        &["recover", EVIL],
        &["decide", EVIL, "approve"],
        &["run", EVIL],
        &["files", "check", EVIL],
        &["files", "schema", EVIL],
        &["plan", "check", EVIL],
        &["store", "restore", EVIL],
        &["journal", "show", "--since", EVIL],
        &["status", "--log", &format!("no/{EVIL}")],
        // What clap repeats.
        &[EVIL],
        &["status", &format!("--{EVIL}")],
        &["decide", "d1", EVIL],
        &["recall", "x", "--now", EVIL],
        &["log", "task_completed", "--data", EVIL],
        &["hook", "install", "--agent", EVIL],
    ] {
        check_command(&scratch, args);
    }
}

#[test]
fn what_another_program_says_reaches_the_terminal_as_letters() {
    let scratch = Scratch::new();
    scratch
        .write("said", EVIL)
        .script("check.sh", "cat said; cat said >&2; exit 1");
    let phase = "  - id: build\n    prompt: p\n    gate: {script: ./check.sh, on-fail: {prompt: fix it, max-retries: 1}}\n";
    scratch
        .sprint_with("retry: {maxAttempts: 0}\n", phase)
        .agent("cat said; cat said >&2; touch made; exit 0");
    for args in [
        RUN,
        &["status"],
        &["show", "build"],
        &["inbox"],
        &["transcript", "build"],
    ] {
        check_command(&scratch, args);
    }
}

#[test]
fn one_line_does_not_flood_the_terminal() {
    let scratch = Scratch::new();
    let long = "x".repeat(100_000);
    scratch.piton(&["learn", "add", "--type", "tool-usage", &long]);
    let shown = scratch.piton(&["learn", "show", "learning-0001"]).out;
    let longest = shown.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(10_000), "{longest:?}");
    assert!(shown.contains("characters left out)"), "{}", &shown[..200]);
    let whole = scratch.json(&["learn", "show", "learning-0001"]);
    assert!(whole.to_string().contains(&long), "{whole}");
}

#[test]
fn what_is_for_a_program_is_exact() {
    let scratch = Scratch::new();
    scratch.piton(&["inbox", "ask", "why?", "--details", EVIL]);
    let said = colourful(&scratch, &["inbox", "--json"]);
    // Not even the C1 controls, which JSON allows in a text, are obeyed by a terminal.
    let is_order = |c: char| c.is_control() && c != '\n';
    assert!(!said.out.contains(is_order), "{:?}", said.out);
    let asked: serde_json::Value = serde_json::from_str(&said.out).expect("it is JSON");
    assert_eq!(asked["questions"][0]["details"], EVIL);
    // A transcript as it is stored goes to a file as it is stored.
    let scratch = answered(&json!({"status": "completed", "summary": "fine"}));
    scratch.piton(RUN);
    let raw = scratch.piton(&["transcript", "build", "--raw"]).out;
    assert!(raw.contains(EVIL), "{raw:?}");
}

#[test]
fn the_styles_of_piton_are_seen_on_a_terminal() {
    let scratch = answered(&json!({"status": "failed", "summary": "no", "error": "no"}));
    let said = colourful(&scratch, RUN);
    assert!(said.err.contains("\u{1b}[36m>\u{1b}[0m"), "{:?}", said.err);
    let failed = colourful(&scratch, &["show", "none"]).err;
    assert!(
        failed.contains("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m"),
        "{failed:?}"
    );
    let help = colourful(&scratch, &["--help"]).out;
    assert!(help.contains("\u{1b}[1m"), "{help:?}");
    let usage = colourful(&scratch, &["nonsense"]).err;
    assert!(usage.contains("\u{1b}[1m"), "{usage:?}");
    scratch.write("prd.json", "{\"features\": 7}");
    let found = colourful(&scratch, &["files", "check", "prd.json"]).err;
    assert!(found.contains("\u{1b}["), "{found:?}");
}
