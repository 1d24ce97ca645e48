//! What the memory has to say about a text: `recall`.

use serde_json::{Value, json};

use crate::harness::Scratch;

/// A project that remembers a few things.
fn project() -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    for args in [
        &["--type", "error-workaround", KILLED][..],
        &[
            "--kind",
            "resolved-blocker",
            "--title",
            REFUSED,
            "Start the database with `make db-up`.",
        ],
        &["--type", "build-command", "Run `make gen` before the tests"],
        &["--type", "codebase-pattern", "Widgets are kept in gadgets"],
    ] {
        let said = scratch.piton(&[&["learn", "add"], args].concat());
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    scratch
}

const KILLED: &str = "ld terminated with signal 9: build with one job";
const REFUSED: &str = "could not connect to server: Connection refused on port 5433";
const LINKER: &str = "collect2: fatal error: ld terminated with signal 9 [Killed]";

#[test]
fn what_helps_is_said_with_what_of_the_text_it_answers() {
    let scratch = project();
    insta::assert_snapshot!(scratch.shows(&["recall", LINKER]), @r"
    learning-0001  ld terminated with signal 9: build with one job
      speaks of: ld, signal, terminated, linker
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["recall", "psql: could not connect to server: Connection refused"]), @r"
    blocker-0001  could not connect to server: Connection refused on port 5433
      Start the database with `make db-up`.
      speaks of: connect, refused, server
    [exit 0]
    ");
}

#[test]
fn a_content_that_does_not_fit_into_a_line_is_shown_whole() {
    let scratch = project();
    let content = format!("The zygomorphic flounder {} ends here", "swims ".repeat(30));
    let lines = "A vermilion pangolin\nneeds a second line";
    for text in [&content[..], lines] {
        scratch.piton(&["learn", "add", "--type", "tool-usage", text]);
    }
    let said = scratch.piton(&["recall", "zygomorphic flounder"]);
    assert!(said.out.contains("ends here\n"), "{}", said.out);
    insta::assert_snapshot!(scratch.shows(&["recall", "vermilion pangolin"]), @r"
    learning-0005  A vermilion pangolin
      A vermilion pangolin
      needs a second line
      speaks of: pangolin, vermilion
    [exit 0]
    ");
}

#[test]
fn where_nothing_helps_that_is_said_with_what_is_nearest() {
    let scratch = project();
    insta::assert_snapshot!(scratch.shows(&["recall", "the gadgets of another house burn, and nobody calls the firemen"]), @r"
    nothing recorded helps with this
    nearest, and probably about something else: learning-0003 Widgets are kept in gadgets
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["recall", "quokka"]), @r"
    nothing recorded helps with this
    [exit 0]
    ");
}

/// The names of a value's fields, in order.
fn fields(value: &Value) -> Vec<&str> {
    let fields = value.as_object().expect("an object");
    fields.keys().map(String::as_str).collect()
}

#[test]
fn the_answer_as_json_has_these_fields_whether_it_advises_or_not() {
    let scratch = project();
    let far = "the gadgets of another house burn, and nobody calls the firemen";
    for (text, advise) in [(LINKER, true), (far, false)] {
        let answer = scratch.json(&["recall", text]);
        assert_eq!(fields(&answer), ["advise", "results"]);
        assert_eq!(answer["advise"], advise, "{answer}");
        let result = &answer["results"][0];
        assert_eq!(
            fields(result),
            [
                "id",
                "external_id",
                "kind",
                "title",
                "content",
                "origin",
                "score",
                "why"
            ]
        );
        assert!(result["score"].is_f64() && result["why"].is_array());
    }
    let result = &scratch.json(&["recall", LINKER])["results"][0];
    assert_eq!(
        (&result["id"], &result["external_id"], &result["title"]),
        (&json!("learning-0001"), &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&result["kind"], &result["content"]),
        (&json!("learning"), &json!(KILLED))
    );
    assert_eq!(
        scratch.json(&["recall", "quokka"]),
        json!({"advise": false, "results": []})
    );
}

#[test]
fn the_output_of_a_tool_is_read_whatever_bytes_it_has() {
    let scratch = project();
    let bytes = [
        b"\x1b[1m\x1b[31merror\x1b[0m: linking with `cc` failed\r\n\xff\xfe\0".as_slice(),
        b"\x1b[31mcollect2: fatal error: ld \x1b[1mterminated\x1b[0m with signal 9 [Killed]\n",
    ]
    .concat();
    let said = scratch.fed(&["recall", "-", "--json"], &bytes);
    assert_eq!(said.exit, 0, "{}", said.err);
    let answer: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(answer["advise"], true, "{answer}");
    assert_eq!(answer["results"][0]["id"], "learning-0001");
}

#[test]
fn a_text_that_says_nothing_and_a_time_that_is_none_are_mistakes() {
    let scratch = project();
    insta::assert_snapshot!(scratch.shows(&["recall", " \n"]), @r"
    error: there is no text to recall by [usage]
    hint: write `piton recall 'WHAT FAILED'`, or pipe it: `make test 2>&1 | piton recall -`
    [exit 2]
    ");
    assert_eq!(scratch.fed(&["recall", "-"], b"").exit, 2);
    insta::assert_snapshot!(scratch.shows(&["recall", "x", "--now", "soon"]), @r"
    error: invalid value 'soon' for '--now <TIME>': failed to parse four digit integer as year: invalid digit, expected 0-9 but got s

    For more information, try '--help'.
    [exit 2]
    ");
    assert_eq!(scratch.piton(&["recall"]).exit, 2);
}

#[test]
fn where_nothing_is_recorded_nothing_helps_and_nothing_is_made() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(scratch.shows(&["recall", LINKER]), @r"
    nothing recorded helps with this
    [exit 0]
    ");
    assert_eq!(
        scratch.json(&["recall", LINKER]),
        json!({"advise": false, "results": []})
    );
    assert!(!scratch.has(".piton"));
}

#[test]
fn the_same_question_gets_the_same_answer_and_changes_nothing() {
    let scratch = project();
    let before = scratch.piton(&["journal", "export"]).out;
    let ask = |now: &str| {
        scratch
            .piton(&["recall", LINKER, "--json", "--now", now])
            .out
    };
    let then = "2026-02-01T00:00:00Z";
    assert_eq!(ask(then), ask(then));
    let shown = |scratch: &Scratch| scratch.piton(&["recall", LINKER]).out;
    assert_eq!(shown(&scratch), shown(&scratch));
    assert_eq!(scratch.piton(&["journal", "export"]).out, before);
}

#[test]
fn what_is_superseded_or_retired_does_not_come_again() {
    let scratch = project();
    let ids = |scratch: &Scratch| -> Vec<String> {
        let answer = scratch.json(&["recall", LINKER]);
        let results = answer["results"].as_array().expect("a list").iter();
        results
            .map(|found| found["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    let newer = "ld terminated with signal 9: link with mold";
    scratch.piton(&["learn", "add", "--type", "error-workaround", newer]);
    assert_eq!(ids(&scratch).len(), 2);
    scratch.piton(&[
        "learn",
        "supersede",
        "learning-0001",
        "--by",
        "learning-0004",
    ]);
    assert_eq!(ids(&scratch), ["learning-0004"]);
    scratch.piton(&["learn", "retire", "learning-0004"]);
    assert_eq!(ids(&scratch), Vec::<String>::new());
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

#[test]
fn what_a_memory_says_does_not_reach_the_terminal_as_an_order() {
    let scratch = project();
    let content = "clear \u{1b}[2J the zygomorphic flounder\n\u{1b}]0;title\u{7}second\rline";
    let title = "zygomorphic \u{1b}[31mmarmot";
    scratch.piton(&["learn", "add", "--type", "tool-usage", content]);
    let line = json!({"id": "a", "kind": "resolved-blocker", "title": title, "content": content});
    let said = scratch.fed(&["learn", "import", "-"], line.to_string().as_bytes());
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch.piton(&["record", "zygomorphic flounder", "--summary", "found"]);
    for args in [
        &["recall", "zygomorphic flounder"][..],
        &["recall", "zygomorphic marmot"],
        &[
            "recall",
            "a flounder that is prepared with butter and capers by the cook",
        ],
        &["recall", "zygomorphic flounder", "--json"],
        &["learn", "list"],
        &["learn", "show", "learning-0004"],
        &["learn", "show", "blocker-0002"],
        &["learn", "doctor"],
        &["prepare", "zygomorphic flounder"],
    ] {
        let said = scratch.piton(args);
        let is_order = |c: char| c.is_control() && c != '\n';
        assert!(said.exit <= 1 && !said.out.is_empty(), "{args:?}");
        assert!(!said.out.contains(is_order), "{args:?}: {:?}", said.out);
        assert!(!said.err.contains(is_order), "{args:?}: {:?}", said.err);
    }
}

#[test]
fn how_something_was_resolved_is_remembered_when_it_is_logged() {
    let scratch = Scratch::new();
    let args = [
        "log",
        "debug_resolved",
        "--data",
        "issue=no key for the register",
    ];
    let said = scratch.piton(&[&args[..], &["--data", "resolution=ask ops for it"]].concat());
    assert_eq!(said.exit, 0, "{}", said.err);
    let listed = scratch.piton(&["learn", "list"]).out;
    assert!(
        listed.contains("blocker-0001") && listed.contains("no key"),
        "{listed}"
    );
}
