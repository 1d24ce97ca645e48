//! `piton log` says what happened, and follows it.

use crate::harness::{Running, Scratch};

/// Two steps: the first is done, the second asks a person.
const PHASES: &str = "  - id: first\n    prompt: one\n  - id: second\n    prompt: two\n";
const AGENT: &str = r#"case $PITON_ITEM in
first) echo x >made; echo '{"status": "completed", "summary": "it is made"}' ;;
*) echo '{"status": "needs-human", "humanNeeded": {"reason": "which port?"}}' ;;
esac"#;

/// What the lines say, each with its item.
fn lines(scratch: &Scratch, args: &[&str]) -> Vec<String> {
    let said = scratch.piton(&[&["log", "--json"], args].concat());
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let parse = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["schema"], "piton.log/1");
        let item = line["item"].as_str().unwrap_or("-").to_owned();
        format!("{item} {}", line["what"].as_str().expect("words"))
    };
    said.out.lines().map(parse).collect()
}

#[test]
fn a_run_is_told_line_by_line_with_the_newest_last() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent(AGENT);
    assert_eq!(scratch.run(&[]).exit, 3);
    let all = lines(&scratch, &[]);
    let expected = [
        "- planned from demo",
        "- started",
        "first attempt 1 begins, by ./agent.sh",
        "first its agent says that it is done: it is made",
        "first done",
        "second attempt 1 begins, by ./agent.sh",
        "second waits for a person: which port?",
    ];
    let mut rest = all.iter();
    for line in expected {
        assert!(rest.any(|one| one.starts_with(line)), "{line}: {all:#?}");
    }
    let asked = all
        .iter()
        .any(|line| line.starts_with("second d1 is asked"));
    assert!(asked, "{all:#?}");

    let answered = scratch.piton(&["decide", "d1", "answer", "port 5433"]);
    assert_eq!(answered.exit, 0, "{}{}", answered.out, answered.err);
    let last = lines(&scratch, &["-n", "1", "--item", "second"]);
    assert_eq!(last, ["second d1 is decided: answer: port 5433"]);
    let of_first = lines(&scratch, &["--item", "first", "--since", "1h"]);
    assert!(
        of_first.iter().all(|line| line.starts_with("first ")),
        "{of_first:#?}"
    );
    assert!(of_first.len() >= 3, "{of_first:#?}");
}

#[test]
fn a_type_still_records_and_nothing_is_recorded_without_one() {
    let scratch = Scratch::new();
    for verb in [&["log"][..], &["session", "log"]] {
        let entry = ["milestone_reached", "--description", "half of it"];
        assert_eq!(scratch.piton(&[verb, &entry].concat()).exit, 0);
    }
    assert_eq!(lines(&scratch, &[]), ["- milestone_reached: half of it"; 2]);
    let refused = scratch.piton(&["log", "--description", "half of it"]);
    assert_eq!(refused.exit, 2, "{}", refused.err);
    let refused = scratch.piton(&["log", "milestone_reached", "--follow"]);
    assert_eq!(refused.exit, 2, "{}", refused.err);
    assert_eq!(lines(&scratch, &[]).len(), 2);
}

#[test]
fn a_followed_log_tells_what_happens_next_once() {
    let scratch = Scratch::new();
    let say = |what: &str| {
        let said = scratch.piton(&["log", "milestone_reached", "--description", what]);
        assert_eq!(said.exit, 0, "{}", said.err);
    };
    say("one");
    let follower = Running::start(scratch.command(&["log", "--follow"]));
    let tells = |lines: usize, last: &str| {
        scratch.until(last, || {
            let told = follower.out();
            told.lines().count() == lines && told.trim_end().ends_with(last)
        });
    };
    tells(1, "one");
    say("two");
    tells(2, "two");
    say("three");
    tells(3, "three");
    follower.kill();
}

#[test]
fn a_clock_that_was_ahead_is_named_once() {
    let scratch = Scratch::new();
    let log = |clock: Option<&str>, text: &str| {
        let mut command = scratch.command(&["log", "milestone_reached", "--description", text]);
        clock.map(|clock| command.env("PITON_TEST_CLOCK", clock));
        let output = command.output().expect("piton starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{err}");
        err
    };
    let ahead = log(Some("2098-07-06T05:04:03Z"), "from the future");
    assert!(!ahead.contains("jumped"), "{ahead}");
    let told = log(None, "back");
    assert!(told.contains("the clock jumped"), "{told}");
    assert!(
        told.contains("2098-07-06") && told.contains("`date`"),
        "{told}"
    );
    assert!(!log(None, "on").contains("jumped"));
    // The lines stand as they were recorded, and a search goes by what their times say.
    assert_eq!(lines(&scratch, &[]).len(), 3);
    assert_eq!(lines(&scratch, &["--since", "1h"]).len(), 3);
    let journal = scratch.piton(&["journal", "show", "--json"]).out;
    assert_eq!(journal.matches("2098-07-06").count(), 1, "{journal}");
    let verified = scratch.piton(&["journal", "verify"]);
    assert_eq!(verified.exit, 0, "{}", verified.out);
}
