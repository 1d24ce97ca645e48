//! The memory is kept in order: `learn supersede`, `learn doctor`.

use serde_json::{Value, json};

use super::project;
use crate::harness::Scratch;

#[track_caller]
fn learn(scratch: &Scratch, content: &str) {
    let said = scratch.piton(&["learn", "add", "--type", "tool-usage", content]);
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn what_takes_the_place_of_something_is_named_with_it() {
    let scratch = project();
    learn(&scratch, "Steam the oak for an hour");
    learn(&scratch, "Soak the oak over night");
    insta::assert_snapshot!(scratch.shows(&["learn", "supersede", "learning-0001", "--by", "learning-0002", "--why", "steam splits it"]), @r"
    learning-0001 is superseded by learning-0002
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "show", "learning-0001"]), @r"
    learning-0001  learning (tool-usage)
    Learned: 2026-01-15 09:00 UTC, by Ada
    Origin: added by `Ada` on 2026-01-15
    Trust: told
    Retired: 2026-01-15 09:00 UTC, by Ada: steam splits it
    Superseded by: learning-0002

    Steam the oak for an hour
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "list"]), @r"
    learning-0002  tool-usage  Soak the oak over night
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "supersede", "learning-0001", "--by", "learning-0002"]), @r"
    error: `learning-0001` is retired already [memory.retired]
    hint: see what is followed with `piton learn list`
    [exit 1]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "supersede", "learning-0002", "--by", "learning-0009"]), @r"
    error: nothing is remembered as `learning-0009` [memory.unknown]
    hint: see what is remembered with `piton learn list`
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["learn", "supersede", "learning-0002", "--by", "learning-0002"]), @r"
    error: `learning-0002` cannot take its own place [usage]
    hint: name the one that holds from now on, or see `piton learn retire --help`
    [exit 2]
    ");
    assert_eq!(
        scratch.piton(&["learn", "supersede", "learning-0002"]).exit,
        2
    );
    let row = scratch.json(&["learn", "show", "learning-0002"]);
    assert_eq!(
        row["retired"],
        Value::Null,
        "what was refused stored nothing"
    );
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

/// One of each kind but what is doubted or never used, which takes attempts and
/// time. What is imported is as new here as anything, however old it is.
fn untidy() -> Scratch {
    let scratch = project();
    scratch.write("src/hull.rs", "");
    for content in [
        "The importer of lots needs `make gen` before its tests run",
        "the importer of lots needs make gen, before its tests run!",
        "Use the rope locker",
        "Do not use the rope locker",
        "The mast is stepped by hand, see src/mast.rs",
        "The hull is caulked with oakum, see src/hull.rs",
    ] {
        learn(&scratch, content);
    }
    let old = json!({
        "id": "old", "kind": "learning", "content": "Barnacles come off with a hoe",
        "created_at": "2025-09-01T00:00:00Z",
    });
    let said = scratch.fed(&["learn", "import", "-"], old.to_string().as_bytes());
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch
}

#[test]
fn the_doctor_tells_each_thing_once_and_what_to_type() {
    let scratch = untidy();
    let before = scratch.piton(&["journal", "export"]).out;
    insta::assert_snapshot!(scratch.shows(&["learn", "doctor"]), @r#"
    duplicate  learning-0001 says the same as learning-0002
      next: piton learn supersede learning-0001 --by learning-0002
    contradiction  learning-0003 says "Use the rope locker" and learning-0004 says "Do not use the rope locker"; if the latter holds, it takes its place
      next: piton learn supersede learning-0003 --by learning-0004
    stale  learning-0005 names src/mast.rs, which is gone
      next: piton learn retire learning-0005 --why 'what it names is gone'
    7 memories looked at: 3 findings
    [exit 1]
    "#);
    let examined = scratch.json(&["learn", "doctor"]);
    assert_eq!(
        (&examined["followed"], &examined["paths_looked_for"]),
        (&json!(7), &json!(true))
    );
    let findings = examined["findings"].as_array().expect("a list");
    insta::assert_snapshot!(findings[0].to_string(), @r#"
    {"kind":"duplicate","ids":["learning-0001","learning-0002"],"text":"learning-0001 says the same as learning-0002","next":"piton learn supersede learning-0001 --by learning-0002"}
    "#);
    assert_eq!(scratch.piton(&["learn", "doctor", "--json"]).exit, 1);
    assert_eq!(
        scratch.piton(&["journal", "export"]).out,
        before,
        "it only looks"
    );
}

#[test]
fn who_does_what_the_doctor_says_is_done_with_it() {
    let scratch = untidy();
    let examined = scratch.json(&["learn", "doctor"]);
    for finding in examined["findings"].as_array().expect("a list") {
        let next = finding["next"].as_str().expect("what to type");
        let typed = next.replacen("piton", env!("CARGO_BIN_EXE_piton"), 1);
        scratch.write("next.sh", &typed);
        let output = scratch.shell("next.sh").output().expect("a shell starts");
        assert!(output.status.success(), "{next}");
    }
    insta::assert_snapshot!(scratch.shows(&["learn", "doctor"]), @r"
    4 memories looked at: 0 findings
    [exit 0]
    ");
}

#[test]
fn a_memory_with_nothing_to_look_at_and_none_at_all_are_well() {
    let scratch = project();
    learn(&scratch, "Steam the oak for an hour");
    insta::assert_snapshot!(scratch.shows(&["learn", "doctor"]), @r"
    1 memory looked at: 0 findings
    [exit 0]
    ");
    let nothing = Scratch::new();
    insta::assert_snapshot!(nothing.shows(&["learn", "doctor"]), @r"
    0 memories looked at: 0 findings
    [exit 0]
    ");
    assert!(!nothing.has(".piton"));
}
