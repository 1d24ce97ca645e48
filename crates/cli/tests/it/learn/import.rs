//! What was remembered elsewhere: `learn import`.

use serde_json::{Value, json};

use super::project;
use crate::harness::{Said, Scratch};

/// Imports these lines.
fn import(scratch: &Scratch, lines: &[Value]) -> Said {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    scratch.fed(&["learn", "import", "-"], text.as_bytes())
}

fn learning(id: &str, content: &str) -> Value {
    json!({"id": id, "kind": "learning", "type": "tool-usage", "content": content})
}

fn exported(scratch: &Scratch) -> String {
    scratch.piton(&["journal", "export"]).out
}

fn contents(scratch: &Scratch) -> Vec<String> {
    let rows = scratch.json_list(&["learn", "list"]);
    let rows = rows.as_array().expect("a list").iter();
    rows.map(|row| row["content"].as_str().expect("a text").to_owned())
        .collect()
}

#[track_caller]
fn whole(scratch: &Scratch) {
    let said = scratch.piton(&["journal", "verify"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

#[test]
fn each_thing_is_taken_in_once_and_what_changed_is_revised() {
    let scratch = project();
    let sign = json!({
        "id": "mem_2", "kind": "guardrail", "title": "Measure twice", "context": "Before a cut",
        "content": "Measure again.", "created_at": "2025-12-01T08:00:00Z",
    });
    let lines = [learning("mem_1", "Steam oak first"), sign];
    insta::assert_snapshot!(import(&scratch, &lines).shown(&scratch), @r"
    imported 2 new, 0 revised, 0 known before, 0 superseded since
    [exit 0]
    ");
    let before = exported(&scratch);
    insta::assert_snapshot!(import(&scratch, &lines).shown(&scratch), @r"
    imported 0 new, 0 revised, 2 known before, 0 superseded since
    [exit 0]
    ");
    assert_eq!(exported(&scratch), before, "what is known is no event");
    let changed = [
        learning("mem_1", "Steam oak for an hour first"),
        lines[1].clone(),
    ];
    insta::assert_snapshot!(import(&scratch, &changed).shown(&scratch), @r"
    imported 0 new, 1 revised, 1 known before, 0 superseded since
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "list"]), @r"
    learning-0001  tool-usage  Steam oak for an hour first
    sign-0001                  Measure twice
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "show", "sign-0001"]), @r"
    sign-0001  guardrail
    Title: Measure twice
    Trigger: Before a cut
    Learned: 2025-12-01 08:00 UTC, by Ada
    Origin: added by `Ada` on 2026-01-15
    Trust: told

    Measure again.
    [exit 0]
    ");
    let row = scratch.json(&["learn", "show", "learning-0001"]);
    assert_eq!(row["external_id"], "mem_1");
    let found = scratch.json(&["recall", "the oak needs steam"]);
    assert_eq!(found["results"][0]["external_id"], "mem_1");
    whole(&scratch);
}

#[test]
fn what_has_a_secret_in_it_is_known_again_without_it() {
    let scratch = project();
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let lines = [
        learning("mem_1", &format!("push with {key}")),
        json!({"id": "mem_2", "kind": "resolved-blocker", "title": format!("{key} is refused"),
            "context": format!("with {key}"), "content": "ask for another one"}),
    ];
    assert_eq!(import(&scratch, &lines).exit, 0);
    let said = import(&scratch, &lines);
    assert!(
        said.err.contains("0 new, 0 revised, 2 known"),
        "{}",
        said.err
    );
    assert!(!exported(&scratch).contains(&key));
}

#[test]
fn of_several_projects_one_can_be_chosen() {
    let scratch = project();
    let of = |id: &str, project: &str| {
        let mut line = learning(id, &format!("known in {project}"));
        line["project"] = json!(project);
        format!("{line}\n")
    };
    let text = of("a", "ledger") + &of("b", "quay") + &of("c", "ledger");
    scratch.write("memory.jsonl", &text);
    let with =
        |project: &str| scratch.shows(&["learn", "import", "memory.jsonl", "--project", project]);
    insta::assert_snapshot!(with("ledger"), @r"
    imported 2 new, 0 revised, 0 known before, 0 superseded since
    [exit 0]
    ");
    assert_eq!(contents(&scratch), ["known in ledger", "known in ledger"]);
    insta::assert_snapshot!(with("keel"), @r"
    error: memory.jsonl holds nothing of project keel [usage]
    hint: see which projects it names in `project`, or leave `--project` out
    [exit 2]
    ");
    let answer = scratch.json(&["learn", "import", "memory.jsonl"]);
    assert_eq!(
        answer,
        json!({"added": 1, "revised": 0, "known": 2, "superseded": 0})
    );
}

#[test]
fn of_broken_lines_each_is_told_and_nothing_is_taken_in() {
    let scratch = project();
    let good = learning("a", "fine").to_string();
    let text = format!(
        "{good}\nnot json\n\n{}\n{}\n{}\n{}\n{}\n",
        json!({"id": " ", "kind": "learning", "content": "x"}),
        json!({"id": "b", "kind": "idea", "content": "x"}),
        json!({"id": "c", "kind": "learning", "content": "\n"}),
        json!({"id": "d", "kind": "learning"}),
        json!({"id": "e", "kind": "learning", "content": "x", "superseded_by": "e"}),
    );
    scratch.write("memory.jsonl", &text);
    let before = exported(&scratch);
    insta::assert_snapshot!(scratch.shows(&["learn", "import", "memory.jsonl"]), @r"
    error: nothing was imported: memory.jsonl:2:2: expected ident; memory.jsonl:4: `id` is empty; memory.jsonl:5:23: unknown variant `idea`, expected one of `learning`, `pattern`, `guardrail`, `resolved-blocker`; memory.jsonl:6: `content` is empty; memory.jsonl:7:28: missing field `content`; memory.jsonl:8: `superseded_by` names the line itself [file.unreadable]
    hint: each line is an object with `id`, `kind` (learning, pattern, guardrail, resolved-blocker) and `content`; mend these lines, then import again
    [exit 6]
    ");
    scratch.write("memory.jsonl", &format!("{good}\n{}", "x\n".repeat(30)));
    let said = scratch.piton(&["learn", "import", "memory.jsonl"]);
    assert!(said.err.contains("and 20 more"), "{}", said.err);
    assert_eq!(scratch.piton(&["learn", "import", "nowhere.jsonl"]).exit, 2);
    assert_eq!(exported(&scratch), before);
    let nothing = Scratch::new();
    nothing.write("memory.jsonl", "x\n");
    assert_ne!(nothing.piton(&["learn", "import", "memory.jsonl"]).exit, 0);
    assert!(!nothing.has(".piton"), "nothing was recorded");
}

#[test]
fn what_something_else_takes_the_place_of_is_superseded_wherever_that_stands() {
    let scratch = project();
    // More than are kept at once.
    let mut lines: Vec<Value> = (0..1_100)
        .map(|n| learning(&format!("mem_{n}"), &format!("word{n} of wood{n}")))
        .collect();
    lines[0]["superseded_by"] = json!("mem_1");
    lines[2]["superseded_by"] = json!("mem_1099");
    lines[1_098]["superseded_by"] = json!("mem_3");
    lines[4]["superseded_by"] = json!("of another file");
    let said = import(&scratch, &lines);
    insta::assert_snapshot!(said.shown(&scratch), @r"
    warning: `mem_4` stays: what should take its place is not there, or leads back to it; `piton learn retire learning-0005` retires it all the same
    imported 1100 new, 0 revised, 0 known before, 3 superseded since
    [exit 0]
    ");
    let retired =
        |id: &str| scratch.json(&["learn", "show", id])["retired"]["superseded_by"].clone();
    assert_eq!(retired("learning-0001"), "learning-0002");
    assert_eq!(retired("learning-0003"), "learning-1100");
    assert_eq!(retired("learning-1099"), "learning-0004");
    let stays = scratch.json(&["learn", "show", "learning-0005"]);
    assert_eq!(stays["retired"], Value::Null);
    assert_eq!(contents(&scratch).len(), 1_097);
    let before = exported(&scratch);
    insta::assert_snapshot!(import(&scratch, &lines).shown(&scratch), @r"
    warning: `mem_4` stays: what should take its place is not there, or leads back to it; `piton learn retire learning-0005` retires it all the same
    imported 0 new, 0 revised, 1100 known before, 0 superseded since
    [exit 0]
    ");
    assert_eq!(exported(&scratch), before);
    whole(&scratch);
}

#[test]
fn a_file_of_another_system_is_read_and_an_empty_one_says_nothing() {
    let scratch = project();
    let line = learning("a", "two words");
    scratch.write(
        "memory.jsonl",
        &format!(
            "\u{feff}{line}\r\n\r\n{}\r\n",
            learning("b", "three more words")
        ),
    );
    insta::assert_snapshot!(scratch.shows(&["learn", "import", "memory.jsonl"]), @r"
    imported 2 new, 0 revised, 0 known before, 0 superseded since
    [exit 0]
    ");
    assert_eq!(contents(&scratch), ["two words", "three more words"]);
    scratch.write("empty.jsonl", "");
    insta::assert_snapshot!(scratch.shows(&["learn", "import", "empty.jsonl"]), @r"
    imported 0 new, 0 revised, 0 known before, 0 superseded since
    [exit 0]
    ");
    let said = scratch.fed(&["learn", "import", "-"], b"{\"id\": \"\xff\"}");
    assert_eq!(said.exit, 2, "{}", said.err);
}

/// piton dies between two commits of one import: to import again completes it.
#[test]
fn an_import_that_died_is_completed_by_the_next_one() {
    let mut lines: Vec<Value> = (0..1_001)
        .map(|n| learning(&format!("mem_{n}"), &format!("word{n} of wood{n}")))
        .collect();
    lines[0]["superseded_by"] = json!("mem_1");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for point in ["commit.durable:1", "commit.durable:2", "commit.event:1002"] {
        let scratch = project();
        scratch.write("memory.jsonl", &text);
        let mut dies = scratch.command(&["learn", "import", "memory.jsonl"]);
        dies.env("PITON_FAILPOINT", point);
        let died = dies.output().expect("piton starts");
        assert_eq!(died.status.code(), None, "{point}: it lives");
        whole(&scratch);
        assert!(!contents(&scratch).is_empty(), "the first commit is kept");
        assert_eq!(scratch.piton(&["learn", "import", "memory.jsonl"]).exit, 0);
        assert_eq!(contents(&scratch).len(), 1_000);
        whole(&scratch);
    }
}

#[test]
fn nothing_is_retired_without_something_in_its_place_and_of_one_id_the_last_line_counts() {
    let scratch = project();
    let lines = concat!(
        "{\"id\":\"a\",\"kind\":\"learning\",\"content\":\"make moon\",\"superseded_by\":\"b\"}\n",
        "{\"id\":\"b\",\"kind\":\"learning\",\"content\":\"make luna\",\"superseded_by\":\"a\"}\n",
        "{\"id\":\"c\",\"kind\":\"learning\",\"content\":\"grease\",\"superseded_by\":\"nowhere\"}\n",
        "{\"id\":\"d\",\"kind\":\"learning\",\"content\":\"first\",\"superseded_by\":\"e\"}\n",
        "{\"id\":\"e\",\"kind\":\"learning\",\"content\":\"second\",\"superseded_by\":\"f\"}\n",
        "{\"id\":\"f\",\"kind\":\"learning\",\"content\":\"an earlier third\"}\n",
        "{\"id\":\"f\",\"kind\":\"learning\",\"content\":\"third\"}\n",
    );
    let import = || scratch.fed(&["learn", "import", "-", "--json"], lines.as_bytes());
    let said = import();
    assert_eq!(said.exit, 0, "{}", said.err);
    for id in ["`a` stays", "`b` stays", "`c` stays"] {
        assert!(said.err.contains(id), "{}", said.err);
    }
    let told: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(
        (&told["added"], &told["superseded"]),
        (&6.into(), &2.into())
    );
    let first = scratch.json(&["learn", "show", "learning-0004"]);
    assert_eq!(first["retired"]["superseded_by"], "learning-0006");
    let events = scratch.piton(&["journal", "export"]).out.lines().count();
    assert_eq!(import().exit, 0);
    let again = scratch.piton(&["journal", "export"]).out.lines().count();
    assert_eq!(again, events, "what is known is known");
}
