//! What a person is asked when a file and the journal disagree: only what can
//! be done, once, and in words that stay true.

use std::time::Duration;

use piton_core::{Command, DecisionChoice};

use crate::harness::{Running, Said, Scratch};

const LIST: &str = r#"{"features": [
  {"id": "a", "description": "do a", "steps": [], "passes": false},
  {"id": "b", "description": "do b", "steps": [], "passes": false},
  {"id": "c", "description": "do c", "steps": [], "passes": false, "may_depend_on": ["a"]}
]}
"#;
const FILE: &str = ".ralph/progress.json";

fn run(scratch: &Scratch, more: &[&str]) -> Said {
    let all = [
        &[
            "run",
            "prd.json",
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ],
        more,
    ]
    .concat();
    scratch.piton(&all)
}

fn passes(scratch: &Scratch) -> usize {
    scratch.read("prd.json").matches("\"passes\": true").count()
}

/// A list of which one item is done, and unticked by hand.
fn unticked() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .write("prd.json", LIST)
        .agent("cat >>prompts\nsleep 0.4\necho x >>made\necho done");
    assert_eq!(run(&scratch, &["--max-iterations", "1"]).exit, 5);
    assert_eq!(passes(&scratch), 1);
    scratch.write("prd.json", LIST);
    scratch
}

#[test]
fn what_piton_did_while_a_question_is_open_is_nobodys_edit() {
    let scratch = unticked();
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(said.err.matches("prd.json").count(), 1, "{}", said.err);
    let before = scratch.json_list(&["inbox"]);
    assert_eq!(before[0]["details"], "`a` is to be pending: it is done");
    let said = run(&scratch, &["--max-iterations", "9"]);
    // Everything is done, and somebody has something to say about it.
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(!said.err.contains("took"), "{}", said.err);
    let reminded = said.err.matches("1 question about prd.json waits").count();
    assert_eq!(reminded, 2, "when it begins and when it ends: {}", said.err);
    assert_eq!(scratch.json_list(&["inbox"]), before);
    // What is asked about stays, and the rest of the file follows.
    let shown = scratch.read("prd.json");
    let a = r#""do a", "steps": [], "passes": false"#;
    assert!(shown.contains(a) && passes(&scratch) == 2, "{shown}");
    let status = scratch.piton(&["status"]);
    assert!(status.out.contains("? d1: "), "{}", status.out);
    assert!(status.out.contains("Next: piton inbox"), "{}", status.out);
    // What is changed now is taken in once; what piton did is not undone by it.
    scratch.write(
        "prd.json",
        &shown.replace("do b", "do b better").replace(
            "\n]}",
            ",\n  {\"id\": \"d\", \"description\": \"do d\", \"steps\": [], \"passes\": false}\n]}",
        ),
    );
    let said = scratch.piton(&["files", "sync"]);
    assert!(
        said.err.contains("took 2 edits of prd.json in"),
        "{}",
        said.err
    );
    let said = scratch.piton(&["files", "sync"]);
    assert!(!said.err.contains("took"), "{}", said.err);
    assert_eq!(scratch.json_list(&["inbox"]), before);
}

/// It is broken while a question is open, an item is done, and it is mended.
#[test]
fn what_a_broken_file_missed_is_shown_once_it_is_mended_beside_a_question() {
    let scratch = unticked();
    let once = ["--max-iterations", "1"];
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    let asked = scratch.read("prd.json");
    scratch.write("prd.json", &asked.replacen("},", "}", 1));
    assert_eq!(run(&scratch, &once).exit, 5);
    assert_eq!(scratch.read("prd.json"), asked.replacen("},", "}", 1));
    scratch.write("prd.json", &asked);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    let done = |status: &str| status.matches("\ndone ").count();
    let status = scratch.piton(&["status"]).out;
    // All that is done, but for the item that is asked about.
    assert_eq!(passes(&scratch), done(&status) - 1, "{status}");
    let a = r#""do a", "steps": [], "passes": false"#;
    assert!(scratch.read("prd.json").contains(a));
    assert_eq!(scratch.piton(&["decide", "d3", "keep-piton"]).exit, 0);
    assert_eq!(passes(&scratch), done(&status));
}

/// A reworded criterion is told by its words alone.
#[test]
fn other_words_of_an_item_are_told_once() {
    let scratch = Scratch::new();
    let task =
        "---\ntask: Tides\ntest_command: \"true\"\n---\n1. [ ] T1: first\n2. [ ] T2: second\n";
    scratch.write("RALPH_TASK.md", task).agent("echo done");
    let said = scratch.piton(&[
        "run",
        "RALPH_TASK.md",
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ]);
    assert_eq!(said.exit, 5, "{}", said.err);
    let shown = scratch.read("RALPH_TASK.md");
    scratch.write("RALPH_TASK.md", &shown.replace("second", "the second"));
    let said = scratch.piton(&["files", "sync"]);
    assert!(
        said.err
            .contains("took 1 edit of RALPH_TASK.md in: words of `t2`\n"),
        "{}",
        said.err
    );
}

/// The words around the items go with those that are asked about.
#[test]
fn what_an_agent_edits_and_is_asked_about_was_not_taken() {
    let scratch = Scratch::new();
    let task =
        "---\ntask: Tides\ntest_command: \"true\"\n---\n1. [ ] T1: first\n2. [ ] T2: second\n";
    let agent = "sed -i 's/\"true\"/\":\"/; s/second/the second/' RALPH_TASK.md; echo done";
    scratch.write("RALPH_TASK.md", task).agent(agent);
    let said = scratch.piton(&["run", "RALPH_TASK.md", "--agent", "./agent.sh", "--once"]);
    let asked = "3 edits of RALPH_TASK.md may be an agent's and are not in force";
    assert!(said.err.contains(asked), "{}", said.err);
    assert!(!said.err.contains("took"), "{}", said.err);
}

/// An edit is known by what it is, not by how it is told.
#[test]
fn an_edit_that_holds_a_secret_is_asked_about_once() {
    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let scratch = Scratch::new();
    let list = r#"{"userStories": [
  {"id": "A", "title": "first", "passes": false},
  {"id": "B", "title": "second", "acceptanceCriteria": ["log in"], "passes": false}
]}
"#;
    scratch.write("prd.json", list);
    scratch.agent(&format!(
        "cat >/dev/null; echo x >made; sed -i 's/log in/enter {TOKEN}/' prd.json; echo done"
    ));
    assert_eq!(run(&scratch, &["--max-iterations", "1"]).exit, 5);
    let inbox = scratch.json_list(&["inbox"]);
    assert_eq!(inbox.as_array().map(Vec::len), Some(1), "{inbox}");
    assert!(inbox[0]["details"].to_string().contains("redacted"));
    for _ in 0..2 {
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(
            (said.exit, scratch.json_list(&["inbox"])),
            (0, inbox.clone())
        );
        assert!(!said.err.contains("took"), "{}", said.err);
    }
    // Nor is another question beside it asked again.
    let shown = scratch.read("prd.json");
    let unticked = shown.replacen("\"passes\": true", "\"passes\": false", 1);
    scratch.write(
        "prd.json",
        &unticked.replace("first", &format!("first {TOKEN}")),
    );
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.err.matches("took 1 edit").count(), 1, "{}", said.err);
    let inbox = scratch.json_list(&["inbox"]);
    assert_eq!(inbox.as_array().map(Vec::len), Some(2), "{inbox}");
    for _ in 0..2 {
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(
            (said.exit, scratch.json_list(&["inbox"])),
            (3, inbox.clone())
        );
        assert!(!said.err.contains("took"), "{}", said.err);
    }
    assert!(!scratch.piton(&["journal", "export"]).out.contains(TOKEN));
}

#[test]
fn an_item_that_a_person_sets_back_is_done_again_with_their_words() {
    let scratch = unticked();
    assert_eq!(run(&scratch, &["--max-iterations", "9"]).exit, 3);
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
    d1  an edit of `prd.json` cannot be taken: which version holds?
        `a` is to be pending: it is done
        piton decide d1 keep-file   what the file says holds
        piton decide d1 keep-piton  write it as piton has it; what is there now is kept beside it
        piton decide d1 merge       take what is new in it; for the rest piton's word holds
        or change prd.json by hand, then type piton files sync
    [exit 0]
    ");
    let why = "it forgets the empty list";
    insta::assert_snapshot!(scratch.shows(&["decide", "d1", "keep-file", "--why", why]), @r"
    prd.json: what it says holds
    run `prd` may go on
    hint: go on with `piton run prd`
    [exit 0]
    ");
    assert_eq!(passes(&scratch), 2);
    let journal = scratch.piton(&["journal", "export"]).out;
    let moved = journal
        .lines()
        .find(|line| line.contains("\"from\":\"done\",\"to\":\"ready\""))
        .expect("it is an event");
    assert!(moved.contains("person:"), "{moved}");
    assert!(moved.contains(why), "{moved}");
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("> a, attempt 2"), "{}", said.err);
    assert_eq!(passes(&scratch), 3);
    assert!(scratch.read("prompts").contains(why));
}

#[test]
fn a_plan_that_cannot_be_read_offers_what_can_be_done_and_names_what_it_kept() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch
        .write("prd.json", LIST)
        .agent("echo '{ torn' >prd.json\nsleep 0.4\necho x >>made\necho done");
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 3, "{}", said.err);
    let told = said.err.matches("cannot be taken in").count();
    assert_eq!(told, 1, "{}", said.err);
    assert_eq!(run(&scratch, &[]).exit, 3, "still, when it is run again");
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
    d1  `prd.json` cannot be read: which version holds?
        prd.json:1:3: error: the key `torn` without quotes [PRD_PARSE_ERROR]
        prd.json:2:1: error: the end of the text where the `:` behind a key belongs [PRD_PARSE_ERROR]
        piton decide d1 keep-piton  write it as piton has it; what is there now is kept beside it
        or change prd.json by hand, then type piton files sync
    [exit 0]
    ");
    for verb in ["keep-file", "merge"] {
        let said = scratch.piton(&["decide", "d1", verb]);
        assert_eq!(said.exit, 2, "{verb}: {}", said.err);
    }
    insta::assert_snapshot!(scratch.shows(&["decide", "d1", "keep-piton"]), @r"
    prd.json: piton's version holds; what was there is kept as prd.json.before-piton-20260115T090000Z
    run `prd` is done
    [exit 0]
    ");
    assert_eq!(passes(&scratch), 3);
    assert_eq!(run(&scratch, &[]).exit, 0);
}

/// What only the file says (its name, its keys, its layout) was in the version that
/// piton knew last.
#[test]
fn piton_s_version_of_a_log_is_the_one_it_knew_last_with_what_happened_since() {
    const PATH: &str = ".agent-os/progress/progress.json";
    const LOG: &str = "{\n    \"version\": \"1.0\",\n    \"project\": \"tides\",\n    \"ours\": [1, 2],\n    \"entries\": [\n        {\"id\": \"entry-1\", \"timestamp\": \"2025-12-25T10:00:00Z\", \"type\": \"milestone_reached\", \"data\": {\"description\": \"begun\"}}\n    ],\n    \"metadata\": {\"total_entries\": 1, \"last_updated\": \"2025-12-25T10:00:00Z\"}\n}\n";
    let scratch = Scratch::new().with_fixed_clock();
    scratch.write(PATH, LOG);
    assert_eq!(scratch.piton(&["init"]).exit, 0);
    scratch.write(PATH, &LOG.replace("[1, 2]", "[1, 2"));
    assert_eq!(scratch.piton(&["record", "a thing"]).exit, 0);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    assert_eq!(scratch.piton(&["decide", "d1", "keep-piton"]).exit, 0);
    let now = scratch.read(PATH);
    let (head, _) = LOG.split_once("\n    ],").expect("the end of the entries");
    assert!(now.starts_with(head), "{now}");
    assert!(now.contains("a thing"), "{now}");
    assert!(now.contains("\"total_entries\": 2"), "{now}");
}

#[test]
fn nobody_decides_about_a_version_that_is_not_there_any_more() {
    let scratch = unticked();
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    scratch.write("prd.json", "{ torn");
    let said = scratch.piton(&["decide", "d1", "keep-file"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("settled already"), "{}", said.err);
    assert_eq!(scratch.json_list(&["inbox"])[0]["id"], "d2");
    // What was asked about before is asked about again.
    scratch.write("prd.json", LIST);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    let inbox = scratch.json_list(&["inbox"]);
    assert_eq!(inbox[0]["id"], "d3");
    assert_eq!(inbox[0]["details"], "`a` is to be pending: it is done");
    // Whoever takes it back has answered, in nobody's name.
    let ticked = LIST.replacen("\"passes\": false", "\"passes\": true", 1);
    scratch.write("prd.json", &ticked);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    let journal = scratch.piton(&["journal", "export"]).out;
    assert_eq!(journal.matches("\"verb\":\"settled\"").count(), 3);
    assert_eq!(journal.matches("\"verb\":\"keep-file\"").count(), 0);
}

/// As a crash leaves it between the writing of the file and the verdict.
#[test]
fn a_question_about_a_file_that_is_as_piton_wrote_it_is_settled() {
    let scratch = Scratch::new();
    scratch
        .write("prd.json", LIST)
        .agent("echo x >>made; echo done");
    assert_eq!(run(&scratch, &[]).exit, 0);
    let id = scratch.json(&["status"])["run"]["id"].clone();
    let run = serde_json::from_value(id).expect("the id of a run");
    scratch.commit(&Command::AskAboutFile {
        run,
        path: "prd.json".to_owned(),
        question: "`prd.json` cannot be read".to_owned(),
        details: None,
        ways: vec![DecisionChoice::PitonHolds],
    });
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}

#[test]
fn two_entries_of_one_id_are_both_kept_and_stand_in_the_file_once() {
    let entry = |at: &str, words: &str| {
        format!(
            r#"{{"id": "auth-1", "timestamp": "2026-01-15T{at}:00:00Z", "prd_id": "auth", "iteration": 1, "status": "failed", "summary": "{words}", "observations": []}}"#
        )
    };
    let learned = |words: &str| {
        format!(
            r#"{{"id": "learning-0001", "type": "codebase_pattern", "content": "{words}", "source_prd_id": "manual", "created_at": "2026-01-15T10:00:00Z"}}"#
        )
    };
    let text = format!(
        r#"{{"version": "1.0.0", "created_at": "2026-01-15T10:00:00Z", "project_name": "shop",
"entries": [{}, {}, {}], "learnings": [{}, {}], "patterns": []}}
"#,
        entry("10", "one"),
        entry("10", "two"),
        entry("11", "three"),
        learned("use make"),
        learned("use just"),
    );
    let scratch = Scratch::new();
    scratch.write(FILE, &text);
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let known = |scratch: &Scratch| {
        let past = scratch.json(&["recent", "--item", "auth"]);
        past["attempts"].as_array().map(Vec::len)
    };
    assert_eq!(known(&scratch), Some(3));
    assert_eq!(scratch.read(FILE), text, "all of it stands there already");
    for nth in 0..3 {
        // Somebody else writes, and everything is read again.
        let other = text.replace("shop", &format!("shop {nth}"));
        scratch.write(FILE, &other);
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        assert_eq!(scratch.read(FILE), other);
        assert_eq!(known(&scratch), Some(3));
    }
    assert_eq!(scratch.piton(&["record", "auth"]).exit, 0);
    let file = scratch.read(FILE);
    assert_eq!(file.matches("\"id\": \"auth-1\"").count(), 3, "{file}");
    assert_eq!(file.matches("\"timestamp\"").count(), 4, "{file}");
    assert_eq!(file.matches("\"content\"").count(), 2, "{file}");
}

#[test]
fn what_stays_in_a_file_without_being_taken_in_is_told_once() {
    let scratch = Scratch::new();
    scratch.write(FILE, "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    assert_eq!(scratch.piton(&["record", "auth"]).exit, 0);
    let nameless = |scratch: &Scratch, words: &str| {
        let file = scratch.read(FILE);
        let at = file.find("\"entries\": [").expect("a list") + "\"entries\": [".len();
        let entry = format!("{{\"summary\": \"{words}\"}},");
        scratch.write(FILE, &format!("{}{entry}{}", &file[..at], &file[at..]));
    };
    nameless(&scratch, "of nobody");
    let said = scratch.piton(&["record", "auth"]);
    assert!(
        said.err.contains("[NOT_TAKEN]; give it an `id`"),
        "{}",
        said.err
    );
    for _ in 0..2 {
        let said = scratch.piton(&["record", "auth"]);
        assert!(!said.err.contains("NOT_TAKEN"), "{}", said.err);
    }
    assert!(scratch.read(FILE).contains("of nobody"));
}

/// The plan was begun anew from the file as it stands, which answers the question.
#[test]
fn a_question_about_the_file_of_an_older_run_writes_nothing_into_that_of_the_new_one() {
    let scratch = unticked();
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    scratch.agent("echo nothing works; exit 1");
    assert_ne!(run(&scratch, &["--recompile"]).exit, 0);
    let said = scratch.piton(&["decide", "d1", "keep-piton"]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("settled already"), "{}", said.err);
    let synced = scratch.piton(&["files", "sync"]);
    assert_eq!(synced.exit, 0, "{}{}", synced.out, synced.err);
    assert_eq!(passes(&scratch), 0, "nothing was done");
    let status = scratch.piton(&["status"]).out;
    assert!(status.contains("0 of 3"), "{status}");
}

/// It dies behind taking edits in, and a person says otherwise: the same edits
/// are not told once more.
#[cfg(feature = "failpoints")]
#[test]
fn an_edit_that_was_taken_in_does_not_undo_what_a_person_said_since() {
    let scratch = unticked();
    // One edit fits, another is asked about.
    let skipped = LIST.replace(
        r#""description": "do b","#,
        r#""description": "do b better","#,
    );
    scratch.write("prd.json", &skipped);
    let mut sync = scratch.command(&["files", "sync"]);
    sync.env("PITON_FAILPOINT", "plan-sync.edits-taken");
    assert!(!sync.output().expect("piton starts").status.success());
    assert_eq!(scratch.piton(&["plan", "skip", "b"]).exit, 0);
    let events = || scratch.piton(&["journal", "export"]).out.lines().count();
    let before = events();
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert_eq!(events(), before, "nothing is told again");
}

#[test]
fn a_plan_that_cannot_be_written_is_not_said_to_be_up_to_date() {
    let scratch = Scratch::new();
    scratch
        .write("lists/prd.json", LIST)
        .agent("sleep 0.2\necho x >>made\necho done");
    let agent = format!("{}/agent.sh", scratch.path().display());
    let args = [
        "run",
        "lists/prd.json",
        "--agent",
        &agent,
        "--verdict",
        "exit-status",
        "--max-iterations",
        "1",
    ];
    assert_eq!(scratch.piton(&args).exit, 5);
    std::fs::rename(scratch.path().join("lists"), scratch.path().join("moved")).expect("moved");
    scratch.write("lists", "no folder any more");
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    assert!(!said.out.contains("up to date"), "{}", said.out);
}

/// Ids as lists of requirements have them, given twice by somebody who counts.
#[test]
fn entries_of_one_id_in_capitals_are_kept_and_stand_in_the_file_once() {
    let scratch = Scratch::new();
    let entry = |id: &str, summary: &str| {
        serde_json::json!({"id": id, "timestamp": "2026-01-15T09:00:00Z", "prd_id": "US-0",
            "iteration": 1, "status": "completed", "summary": summary, "observations": []})
    };
    let write = |entries: &[serde_json::Value]| {
        let document = serde_json::json!({"version": "1.0", "created_at": "2026-01-01T00:00:00Z",
            "entries": entries, "learnings": [], "patterns": []});
        scratch.write(FILE, &document.to_string());
    };
    let ids = ["US-0-1", "US-0-1", "US-0-1", "Foo Bar", "Foo Bar"];
    let entries: Vec<_> = ids
        .iter()
        .zip(["a", "b", "c", "d", "e"])
        .map(|(id, s)| entry(id, s))
        .collect();
    write(&entries[..1]);
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    for count in 2..=entries.len() {
        write(&entries[..count]);
        let said = scratch.piton(&["files", "sync"]);
        assert!(
            said.err.contains("took 1 thing in"),
            "{count}: {}{}",
            said.out,
            said.err
        );
    }
    assert_eq!(
        scratch.piton(&["record", "other", "--summary", "f"]).exit,
        0
    );
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    let document: serde_json::Value = serde_json::from_str(&scratch.read(FILE)).expect("JSON");
    assert_eq!(
        document["entries"].as_array().map(Vec::len),
        Some(6),
        "{document:#}"
    );
    let journal = scratch.piton(&["journal", "export"]).out;
    assert_eq!(journal.matches("attempt-told").count(), 6);
}

/// What was asked about was asked of the journal that there was then.
#[test]
fn after_a_restore_a_file_is_read_as_if_nobody_had_been_asked() {
    let scratch = unticked();
    scratch.write("prd.json", LIST);
    let ticked = LIST.replace(
        r#""do b", "steps": [], "passes": false"#,
        r#""do b", "steps": [], "passes": true"#,
    );
    assert_eq!(scratch.piton(&["store", "backup", "copy.db"]).exit, 0);
    scratch.write("prd.json", &ticked);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    assert_eq!(scratch.piton(&["store", "restore", "copy.db"]).exit, 0);
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 3, "{}", said.err);
    let journal = scratch.piton(&["journal", "export"]).out;
    let is_of_b = |line: &&str| line.contains("item-moved") && line.contains(r#""node":"b""#);
    let of_b = journal.lines().rfind(is_of_b);
    assert!(of_b.expect("it moved").contains(r#""to":"done""#));
    assert_eq!(scratch.piton(&["decide", "d1", "keep-file"]).exit, 0);
    assert_eq!(passes(&scratch), 1, "b alone");
}

/// Two processes look at an edited file at once: the second one waits for the
/// lock of the first, which asks about it, and must not write over what it asks.
#[test]
fn what_one_process_asks_about_another_does_not_write_over() {
    let scratch = Scratch::new();
    scratch.write(FILE, "");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    assert_eq!(
        scratch.piton(&["record", "auth", "--summary", "one"]).exit,
        0
    );
    let edited = scratch.read(FILE).replace("one", "two");
    scratch.write(FILE, &edited);
    // What piton wrote last is not known any more, so that a person is asked.
    let base = ".piton/mirrors/_ralph_progress_json.base";
    std::fs::remove_file(scratch.file(base)).expect("it is there");
    let stamp = scratch.file(".piton/mirrors/_ralph_progress_json.json");
    let lock = std::fs::File::open(stamp).expect("there is one");
    lock.lock().expect("locked");
    let both = [(); 2].map(|()| Running::start(scratch.command(&["files", "sync"])));
    // Both have read the journal by now, in which nobody is asked yet.
    std::thread::sleep(Duration::from_millis(500));
    lock.unlock().expect("unlocked");
    let exits = both.map(|sync| sync.end().exit);
    assert_eq!(scratch.read(FILE), edited, "{exits:?}");
    assert_eq!(exits, [3, 3]);
}

#[test]
fn the_file_holds_as_it_is_when_a_person_decides() {
    let scratch = Scratch::new();
    let list = LIST.replace(
        r#""may_depend_on": ["a"]"#,
        r#""may_depend_on": ["a", "b"]"#,
    );
    assert_ne!(list, LIST);
    scratch.write("prd.json", &list).agent("echo x >>made");
    scratch.write("prd.json", &list);
    assert_eq!(run(&scratch, &["--max-iterations", "1"]).exit, 5);
    let depends_on = |on: &str| {
        let text = scratch.read("prd.json");
        let from = text.find("\"may_depend_on\": [").expect("it is there");
        let to = from + text[from..].find(']').expect("its end") + 1;
        let text = format!("{}\"may_depend_on\": {on}{}", &text[..from], &text[to..]);
        scratch.write("prd.json", &text);
    };
    depends_on(r#"["b"]"#);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    depends_on("[]");
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
    let asked = scratch.json_list(&["inbox"]);
    let id = asked[0]["id"].as_str().expect("an id");
    let said = scratch.piton(&["decide", id, "keep-file"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let item = scratch.json(&["show", "c"])["item"].clone();
    let left = item.get("depends_on").and_then(|on| on.as_array());
    assert_eq!(left.map_or(0, Vec::len), 0, "{item}");
}
