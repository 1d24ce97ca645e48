//! Files as nobody should write them, and somebody does: what is wrong is said
//! with line and column, nothing is replaced, and nobody is asked twice.

use std::fs;

use crate::harness::{Said, Scratch};

const RALPH: &str = ".ralph/progress.json";
const AGENT_OS: &str = ".agent-os/progress/progress.json";
const JSON: [&str; 2] = [RALPH, AGENT_OS];
const GUARDRAILS: &str = ".ralph/guardrails.md";
const PROGRESS_MD: &str = ".ralph/progress.md";

/// A project that keeps these files up to date, with one attempt recorded.
fn project(files: &[&str]) -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    for file in files {
        scratch.write(file, "");
    }
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let said = scratch.piton(&["record", "auth", "--summary", "the first"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch
}

fn put(scratch: &Scratch, file: &str, bytes: &[u8]) {
    fs::write(scratch.path().join(file), bytes).expect("written");
}

fn get(scratch: &Scratch, file: &str) -> Vec<u8> {
    fs::read(scratch.path().join(file)).expect("read")
}

fn open_questions(scratch: &Scratch) -> usize {
    scratch.json_list(&["inbox"]).as_array().map_or(0, Vec::len)
}

fn attempts(scratch: &Scratch) -> usize {
    let told = scratch.event_kinds();
    told.iter().filter(|kind| *kind == "attempt-told").count()
}

/// Nobody is told to throw work away.
#[track_caller]
fn is_kind(said: &Said) {
    let text = format!("{}{}", said.out, said.err).to_lowercase();
    for word in ["delete", "reset", "force", "panicked"] {
        assert!(!text.contains(word), "{text}");
    }
}

/// The text with one thing wrong, by what is wrong.
fn broken(good: &str) -> Vec<(&'static str, Vec<u8>)> {
    let middle = good.find("the first").expect("it is there");
    let with = |at: usize, insert: &[u8]| {
        let mut bytes = good.as_bytes().to_vec();
        bytes.splice(at..at, insert.iter().copied());
        bytes
    };
    let last = good.rfind('}').expect("it is an object");
    let mut cut = good.as_bytes().to_vec();
    cut.truncate(middle);
    let mut short = good.as_bytes().to_vec();
    short.remove(good.find(':').expect("a pair"));
    vec![
        ("truncated", cut),
        ("a missing byte", short),
        ("no UTF-8", with(middle, b"\xff\xfe")),
        ("half a character", with(middle, b"\xc3")),
        ("NaN", with(last, b", \"odd\": NaN\n")),
        (
            "a list that is an object",
            good.replacen("\"entries\": [", "\"entries\": {\"a\": [", 1)
                .replacen("\n  ]", "\n  ]}", 1)
                .into_bytes(),
        ),
        ("a key twice", with(last, b", \"odd\": 1, \"odd\": 2\n")),
        (
            "too deep",
            with(
                last,
                format!(", \"odd\": {}{}\n", "[".repeat(10_000), "]".repeat(10_000)).as_bytes(),
            ),
        ),
        (
            "a version to come",
            good.replacen("\"1.0\"", "\"2.0\"", 1).into_bytes(),
        ),
    ]
}

/// What is odd, and can be read.
fn odd(good: &str) -> Vec<(&'static str, Vec<u8>)> {
    let last = good.rfind('}').expect("it is an object");
    let with = |text: &str| {
        let mut out = good.to_owned();
        out.insert_str(last, text);
        out.into_bytes()
    };
    vec![
        (
            "a mark of byte order",
            format!("\u{feff}{good}").into_bytes(),
        ),
        ("CRLF", good.replace('\n', "\r\n").into_bytes()),
        ("a huge number", with(", \"odd\": 1e400\n")),
        ("an unknown key", with(", \"odd\": {\"a\": [1, 2.50]}\n")),
    ]
}

#[test]
fn case_40_a_file_that_cannot_be_read_is_left_alone_and_asked_about_once_until_it_is_mended() {
    for file in JSON {
        let scratch = project(&[file]);
        let good = scratch.read(file);
        for (nth, (what, bytes)) in broken(&good).into_iter().enumerate() {
            put(&scratch, file, &bytes);
            let checked = scratch.piton(&["files", "check", file]);
            assert_eq!(checked.exit, 1, "{what}: {}{}", checked.out, checked.err);
            assert!(
                checked.err.contains(&format!("{file}:"))
                    || checked.out.contains(&format!("{file}:")),
                "{what}: {}{}",
                checked.out,
                checked.err
            );
            is_kind(&checked);
            for time in 0..3 {
                let said =
                    scratch.piton(&["record", "auth", "--summary", &format!("{nth}.{time}")]);
                assert_eq!(said.exit, 0, "{what}: {}", said.err);
                is_kind(&said);
                assert_eq!(
                    said.err.contains("piton inbox"),
                    time == 0,
                    "{what}, {time}: {}",
                    said.err
                );
                assert_eq!(open_questions(&scratch), 1, "{what}");
                assert!(get(&scratch, file) == bytes, "{what}: it was changed");
            }
            assert_eq!(scratch.piton(&["files", "sync"]).exit, 3, "{what}");
            let inbox = scratch.piton(&["inbox"]);
            assert!(inbox.out.contains(file), "{what}: {}", inbox.out);
            is_kind(&inbox);
            // Somebody mends it, as it was when piton wrote it last.
            put(&scratch, file, good.as_bytes());
            let said = scratch.piton(&["files", "sync"]);
            assert_eq!(said.exit, 0, "{what}: {}{}", said.out, said.err);
            assert_eq!(open_questions(&scratch), 0, "{what}: it is mended");
            let shown = scratch.read(file);
            assert!(
                shown.contains(&format!("{nth}.2")),
                "{what}: what was recorded is shown"
            );
        }
        let before = attempts(&scratch);
        assert_eq!(
            before,
            1 + 3 * broken(&good).len(),
            "nothing is there twice"
        );
        assert_eq!(scratch.piton(&["files", "check", "--strict", file]).exit, 0);
    }
}

#[test]
fn what_is_odd_and_can_be_read_is_taken_in_and_kept_as_it_is() {
    for file in JSON {
        let scratch = project(&[file]);
        let good = scratch.read(file);
        for (what, bytes) in odd(&good) {
            put(&scratch, file, &bytes);
            let before = attempts(&scratch);
            let said = scratch.piton(&["record", "auth", "--summary", what]);
            assert_eq!(
                (said.exit, open_questions(&scratch)),
                (0, 0),
                "{what}: {}",
                said.err
            );
            assert_eq!(attempts(&scratch), before + 1, "{what}: {}", said.err);
            let after = String::from_utf8(get(&scratch, file)).expect("UTF-8");
            let text = String::from_utf8(bytes).expect("UTF-8");
            assert!(after.contains(&format!("\"{what}\"")), "{what}: {after}");
            assert_eq!(
                after.starts_with('\u{feff}'),
                text.starts_with('\u{feff}'),
                "{what}"
            );
            let newlines = after.matches('\n').count();
            let crlf = if text.contains("\r\n") { newlines } else { 0 };
            assert_eq!(after.matches("\r\n").count(), crlf, "{what}");
            assert_eq!(
                after.contains("\"odd\""),
                text.contains("\"odd\""),
                "{what}"
            );
            assert_eq!(after.contains("1e400"), text.contains("1e400"), "{what}");
        }
    }
}

#[test]
fn case_40_keep_piton_keeps_the_bytes_beside_and_shows_the_whole_journal() {
    for file in JSON {
        let scratch = project(&[file]);
        let good = scratch.read(file);
        for (what, bytes) in broken(&good) {
            put(&scratch, file, &bytes);
            assert_eq!(
                scratch.piton(&["record", "auth", "--summary", what]).exit,
                0
            );
            let id = scratch.json_list(&["inbox"])[0]["id"]
                .as_str()
                .expect("an id")
                .to_owned();
            let merged = scratch.piton(&["decide", &id, "merge"]);
            assert_eq!(merged.exit, 2, "{what}: {}", merged.err);
            is_kind(&merged);
            let said = scratch.piton(&["decide", &id, "keep-piton"]);
            assert_eq!(said.exit, 0, "{what}: {}", said.err);
            assert!(scratch.read(file).contains(what), "{what}");
            assert_eq!(
                scratch.piton(&["files", "check", "--strict", file]).exit,
                0,
                "{what}"
            );
            let folder = scratch.path().join(file);
            let kept = fs::read_dir(folder.parent().expect("a folder"))
                .expect("listed")
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().contains("before-piton"))
                .any(|entry| fs::read(entry.path()).expect("read") == bytes);
            assert!(kept, "{what}: its bytes are kept beside");
            assert_eq!(open_questions(&scratch), 0, "{what}");
        }
    }
}

#[test]
fn keep_file_leaves_a_file_that_cannot_be_read_to_whoever_writes_it() {
    for file in JSON {
        let scratch = project(&[file]);
        put(&scratch, file, b"{ torn");
        assert_eq!(scratch.piton(&["record", "auth"]).exit, 0);
        let said = scratch.piton(&["decide", "d1", "keep-file"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.piton(&["record", "auth"]).exit, 0);
        assert_eq!(get(&scratch, file), b"{ torn");
        assert_eq!(open_questions(&scratch), 0);
        // Whoever wants it back says so.
        put(&scratch, file, b"");
        assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
        assert!(scratch.read(file).contains("the first"));
    }
}

#[test]
fn what_the_formats_do_not_allow_is_said_with_its_place_and_taken_as_far_as_it_goes() {
    let good = project(&[RALPH]).read(RALPH);
    let entry = |status: &str, id: &str, at: &str, observations: &str| {
        let other = format!(
            ",\n    {{\n      \"id\": {id},\n      \"timestamp\": {at},\n      \"prd_id\": \"other\",\n      \"iteration\": 1,\n      \"status\": {status},\n      \"observations\": {observations}\n    }}\n  ],\n  \"learnings\""
        );
        good.replacen("\n  ],\n  \"learnings\"", &other, 1)
    };
    let fine = "\"2026-01-15T08:00:00Z\"";
    for (what, text, path) in [
        (
            "a wrong word",
            entry("\"finished\"", "\"other-1\"", fine, "[]"),
            "progress.entries[1].status",
        ),
        (
            "an id of the wrong form",
            entry("\"failed\"", "\"Other 1!\"", fine, "[]"),
            "progress.entries[1].id",
        ),
        (
            "a time without a zone",
            entry("\"failed\"", "\"other-3\"", "\"2026-01-15 08:00:00\"", "[]"),
            "progress.entries[1].timestamp",
        ),
        (
            "null for a list",
            entry("\"failed\"", "\"other-4\"", fine, "null"),
            "progress.entries[1].observations",
        ),
        (
            "a number for an id",
            entry("\"failed\"", "7", "\"2026-01-15T08:30:00Z\"", "[]"),
            "progress.entries[1].id",
        ),
    ] {
        let scratch = project(&[RALPH]);
        put(&scratch, RALPH, text.as_bytes());
        let strict = scratch.piton(&["files", "check", "--strict", RALPH]);
        let told = format!("{}{}", strict.out, strict.err);
        assert_eq!(strict.exit, 1, "{what}: {told}");
        assert!(told.contains(&format!("{RALPH}:")), "{what}: {told}");
        let listed = scratch.json(&["files", "check", "--strict", RALPH]);
        assert_eq!(listed["problems"][0]["path"], path, "{what}: {listed}");
        is_kind(&strict);
        let before = attempts(&scratch);
        for _ in 0..2 {
            let said = scratch.piton(&["files", "sync"]);
            assert_eq!(said.exit, 0, "{what}: {}", said.err);
            assert_eq!(attempts(&scratch), before + 1, "{what}: once");
            // A byte more makes it another file, and nothing new.
            put(
                &scratch,
                RALPH,
                format!("{} ", scratch.read(RALPH)).as_bytes(),
            );
        }
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        assert_eq!(
            (attempts(&scratch), open_questions(&scratch)),
            (before + 1, 0),
            "{what}"
        );
    }
}

#[test]
fn markdown_that_is_no_text_is_left_alone_and_asked_about_once() {
    for file in [PROGRESS_MD, GUARDRAILS] {
        let scratch = project(&["RALPH_TASK.md"]);
        let begun = scratch.piton(&["init", "--yes", "--with", "ralph-dir"]);
        assert_eq!(begun.exit, 0, "{}", begun.err);
        assert_eq!(
            scratch
                .piton(&[
                    "learn",
                    "add",
                    "--kind",
                    "guardrail",
                    "--title",
                    "Read first",
                    "--trigger",
                    "before an edit",
                    "Read the file before you change it"
                ])
                .exit,
            0
        );
        let good = scratch.read(file);
        let mut bytes = good.clone().into_bytes();
        bytes.extend(b"\n\xff\xfe\n");
        put(&scratch, file, &bytes);
        let checked = scratch.piton(&["files", "check", file]);
        assert_eq!(checked.exit, 1, "{}{}", checked.out, checked.err);
        for _ in 0..2 {
            assert_eq!(scratch.piton(&["session", "start"]).exit, 0);
            assert_eq!(open_questions(&scratch), 1);
            assert!(get(&scratch, file) == bytes);
        }
        put(&scratch, file, good.as_bytes());
        let said = scratch.piton(&["files", "sync"]);
        assert_eq!(
            (said.exit, open_questions(&scratch)),
            (0, 0),
            "{}{}",
            said.out,
            said.err
        );
        // Truncated, garbled and with other line ends it is still text.
        // What was only cut short is whole again.
        put(&scratch, file, &good.as_bytes()[..good.len() / 2]);
        assert_eq!(scratch.piton(&["session", "focus", "x"]).exit, 0);
        assert_eq!(open_questions(&scratch), 0);
        assert!(scratch.read(file).starts_with(&good));
        for text in ["\u{feff}# \u{fffd}\r\n", "", "- [ ] x\r\n### Sign: \r\n"] {
            put(&scratch, file, text.as_bytes());
            let said = scratch.piton(&["session", "focus", "x"]);
            assert_eq!(said.exit, 0, "{text}: {}", said.err);
            // Where every sign is gone, that may be meant otherwise.
            let asked_max = usize::from(file == GUARDRAILS);
            assert!(open_questions(&scratch) <= asked_max, "{text}");
        }
    }
}

#[test]
fn yaml_that_cannot_be_read_is_told_with_its_place() {
    let scratch = Scratch::new();
    let good = "sprint-id: s\nstatus: in-progress\nphases:\n  - id: a\n    status: pending\n    prompt: x\n";
    for (what, bytes) in [
        ("truncated", b"sprint-id: s\nphases: [".to_vec()),
        ("a tab", good.replace("    status", "\tstatus").into_bytes()),
        (
            "a key twice",
            format!("{good}status: pending\n").into_bytes(),
        ),
        ("no UTF-8", [good.as_bytes(), b"# \xff\n"].concat()),
        (
            "too deep",
            format!("{good}odd: {}{}\n", "[".repeat(10_000), "]".repeat(10_000)).into_bytes(),
        ),
        (
            "a wrong word",
            good.replace("pending", "perhaps").into_bytes(),
        ),
        (
            "null for a list",
            b"sprint-id: s\nstatus: in-progress\nphases: null\n".to_vec(),
        ),
    ] {
        scratch.write("demo/PROGRESS.yaml", "");
        put(&scratch, "demo/PROGRESS.yaml", &bytes);
        let said = scratch.piton(&["files", "check", "--strict", "demo/PROGRESS.yaml"]);
        let told = format!("{}{}", said.out, said.err);
        assert_eq!(said.exit, 1, "{what}: {told}");
        assert!(told.contains("demo/PROGRESS.yaml:"), "{what}: {told}");
        is_kind(&said);
        assert!(get(&scratch, "demo/PROGRESS.yaml") == bytes, "{what}");
        assert_eq!(scratch.piton(&["files", "list"]).exit, 0, "{what}");
    }
}

#[test]
fn a_secret_that_somebody_wrote_into_a_file_does_not_reach_the_journal_and_is_asked_about_by_nobody()
 {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for file in JSON {
        let scratch = project(&[file]);
        let text = scratch
            .read(file)
            .replace("the first", &format!("the first, with {secret}"));
        let named =
            text.replacen("auth-1", "other-1", 1)
                .replacen("\"entry-2026", "\"entry-9026", 1);
        put(&scratch, file, named.as_bytes());
        for _ in 0..3 {
            let said = scratch.piton(&["record", "more"]);
            assert_eq!(
                (said.exit, open_questions(&scratch)),
                (0, 0),
                "{}",
                said.err
            );
            put(
                &scratch,
                file,
                format!("{} ", scratch.read(file)).as_bytes(),
            );
        }
        let exported = scratch.piton(&["journal", "export"]).out;
        assert!(!exported.contains("ghp_0123"), "{exported}");
        let is_told = |line: &&str| {
            let is_kind = line.contains("\"attempt-told\"") || line.contains("\"entry-logged\"");
            is_kind && line.contains("the first, with")
        };
        let kept = exported.lines().filter(is_told).count();
        assert_eq!(kept, 1, "{exported}");
        let store = fs::read(scratch.file(".piton/journal.db")).expect("read");
        let wal = fs::read(scratch.file(".piton/journal.db-wal")).unwrap_or_default();
        let has = |bytes: &[u8]| {
            bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes())
        };
        assert!(!has(&store) && !has(&wal));
    }
}

#[test]
fn an_entry_that_was_edited_is_asked_about_once_and_each_verb_does_what_it_says() {
    for (verb, shown) in [
        ("keep-file", "the second"),
        ("keep-piton", "the first"),
        ("merge", "the first"),
    ] {
        let scratch = project(&[RALPH]);
        let edited = scratch.read(RALPH).replace("the first", "the second");
        put(&scratch, RALPH, edited.as_bytes());
        // What piton wrote last is not known any more: the journal may be newer.
        let base = scratch.file(".piton/mirrors/_ralph_progress_json.base");
        fs::remove_file(base).expect("it is there");
        for _ in 0..3 {
            assert_eq!(scratch.piton(&["record", "more"]).exit, 0);
            assert_eq!(open_questions(&scratch), 1);
        }
        assert_eq!(scratch.read(RALPH), edited, "it is left as it is");
        let said = scratch.piton(&["decide", "d1", verb]);
        assert_eq!(said.exit, 0, "{verb}: {}", said.err);
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        assert_eq!(open_questions(&scratch), 0, "{verb}");
        let file = scratch.read(RALPH);
        assert!(file.contains(shown), "{verb}: {file}");
        assert_eq!(file.matches("\"more-").count(), 3, "{verb}: {file}");
    }
}

#[test]
fn an_entry_that_only_a_person_changed_is_taken_as_the_file_has_it() {
    let scratch = project(&[RALPH]);
    let edited = scratch.read(RALPH).replace("the first", "the second");
    put(&scratch, RALPH, edited.as_bytes());
    assert_eq!(scratch.piton(&["record", "more"]).exit, 0);
    assert_eq!(open_questions(&scratch), 0);
    let file = scratch.read(RALPH);
    assert!(file.contains("the second"), "{file}");
    assert_eq!(file.matches("\"more-").count(), 1, "{file}");
}

#[test]
fn a_file_that_was_taken_away_is_brought_back_whole() {
    for file in JSON {
        let scratch = project(&[file]);
        let text = scratch.read(file).replacen('{', "{\n  \"own\": [1, 2],", 1);
        put(&scratch, file, text.as_bytes());
        assert_eq!(
            scratch
                .piton(&["record", "auth", "--summary", "the second"])
                .exit,
            0
        );
        fs::remove_file(scratch.path().join(file)).expect("it is there");
        assert_eq!(
            scratch
                .piton(&["record", "auth", "--summary", "the third"])
                .exit,
            0
        );
        let back = scratch.read(file);
        for text in ["the first", "the second", "the third", "\"own\": [1, 2]"] {
            assert!(back.contains(text), "{text}: {back}");
        }
    }
}

#[test]
fn two_faces_show_one_attempt_at_once() {
    let scratch = project(&JSON);
    for file in JSON {
        assert_eq!(scratch.read(file).matches("the first").count(), 1, "{file}");
    }
}

#[test]
fn a_version_that_somebody_brought_back_gets_what_it_lacks() {
    let scratch = project(&[RALPH]);
    let before = scratch.read(RALPH);
    assert_eq!(
        scratch
            .piton(&["record", "auth", "--summary", "the second"])
            .exit,
        0
    );
    // As `git checkout` does.
    put(&scratch, RALPH, before.as_bytes());
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    assert!(scratch.read(RALPH).contains("the second"));
}

#[test]
fn what_a_restored_store_does_not_know_is_taken_in_from_the_files() {
    for file in JSON {
        let scratch = project(&[file]);
        assert_eq!(scratch.piton(&["store", "backup", "copy.db"]).exit, 0);
        assert_eq!(
            scratch
                .piton(&["record", "auth", "--summary", "the second"])
                .exit,
            0
        );
        let said = scratch.piton(&["store", "restore", "copy.db"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
        assert_eq!(
            scratch
                .piton(&["record", "auth", "--summary", "the third"])
                .exit,
            0
        );
        let text = scratch.read(file);
        for word in ["the first", "the second", "the third"] {
            assert_eq!(text.matches(word).count(), 1, "{file}: {word}: {text}");
        }
        assert!(
            scratch
                .piton(&["journal", "export"])
                .out
                .contains("the second")
        );
    }
}

/// By hand: 100 MB that are no JSON, and 100 MB that are.
#[test]
#[ignore = "it writes 100 MB and takes long; run it by hand"]
fn a_hundred_megabytes_are_refused_or_read() {
    let scratch = project(&[RALPH]);
    let good = scratch.read(RALPH);
    put(&scratch, RALPH, &vec![b'['; 100 << 20]);
    let begun = std::time::Instant::now();
    let said = scratch.piton(&["files", "check", RALPH]);
    eprintln!("no JSON: checked in {:?}", begun.elapsed());
    assert_eq!(said.exit, 1, "{}", said.err);
    let last = good.rfind('}').expect("an object");
    let mut large = good.clone();
    large.insert_str(last, &format!(", \"odd\": \"{}\"\n", "x".repeat(100 << 20)));
    put(&scratch, RALPH, large.as_bytes());
    let begun = std::time::Instant::now();
    let said = scratch.piton(&["record", "auth", "--summary", "the last"]);
    eprintln!("JSON: recorded in {:?}", begun.elapsed());
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(scratch.read(RALPH).contains("the last"));
}

#[test]
fn a_file_that_was_cut_short_is_whole_again_with_the_next_command() {
    for file in [PROGRESS_MD, RALPH] {
        let scratch = project(&[file]);
        if file == PROGRESS_MD {
            let text = String::from_utf8(get(&scratch, file)).expect("text");
            put(
                &scratch,
                file,
                format!("{text}\na word of somebody's own\n").as_bytes(),
            );
        }
        assert_eq!(scratch.piton(&["record", "second"]).exit, 0);
        let whole = get(&scratch, file);
        for at in [0, whole.len() / 4] {
            // Half of a JSON document cannot be read, and is asked about.
            if at > 0 && file == RALPH {
                continue;
            }
            put(&scratch, file, &whole[..at]);
            let said = scratch.piton(&["record", "third"]);
            assert_eq!(said.exit, 0, "{}", said.err);
            let text = String::from_utf8(get(&scratch, file)).expect("text");
            let all = String::from_utf8_lossy(&whole);
            assert!(
                all.lines()
                    .all(|line| text.contains(line.trim_end_matches(','))),
                "{file} cut at {at}:\n{text}"
            );
        }
    }
}

#[test]
fn a_secret_that_somebody_wrote_stays_in_the_file_and_out_of_the_journal() {
    const SECRET: &str = concat!("AKIA", "IOSFODNN7QWERTYU");
    let sign = format!(
        "# Guardrails\n\n### Sign: Key\n- **Trigger**: always\n- **Instruction**: use {SECRET}\n"
    );
    let entries = format!(
        r#"{{"version":"1.0.0","project":"x","entries":[{{"id":"a-1","timestamp":"2026-01-01T00:00:00Z","prd_id":"a","iteration":1,"status":"completed","summary":"used {SECRET}"}}]}}"#
    );
    for (file, text) in [(GUARDRAILS, &sign), (RALPH, &entries)] {
        let scratch = Scratch::new().with_fixed_clock();
        scratch.write(file, text);
        assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
        assert_eq!(scratch.piton(&["record", "auth"]).exit, 0);
        let there = String::from_utf8(get(&scratch, file)).expect("text");
        assert!(there.contains(SECRET), "{there}");
        let journal = scratch.piton(&["journal", "export"]).out;
        assert!(journal.contains("redacted:"), "{journal}");
        assert!(!journal.contains(SECRET), "{journal}");
    }
}

#[test]
fn other_words_of_an_entry_stay_in_the_page_and_are_named() {
    let scratch = Scratch::new();
    scratch.write(".ralph/progress.md", "# Progress Log\n");
    assert_eq!(scratch.piton(&["init", "--yes"]).exit, 0);
    let log = [
        "log",
        "task_completed",
        "--task",
        "1",
        "--description",
        "one",
    ];
    assert_eq!(scratch.piton(&log).exit, 0);
    let page = scratch.read(".ralph/progress.md");
    let edited = page.replace("- one", "- one and a half");
    assert_ne!(page, edited);
    scratch.write(".ralph/progress.md", &edited);
    let said = scratch.piton(&["files", "sync"]);
    assert!(
        said.err.contains("has other words for"),
        "{page}{}{}",
        said.out,
        said.err
    );
    assert_eq!(scratch.read(".ralph/progress.md"), edited);
    let again = scratch.piton(&["files", "sync"]);
    assert!(!again.err.contains("has other words for"), "{}", again.err);
}
