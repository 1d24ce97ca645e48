//! The `.ralph/` directory, seen from outside.

use piton_formats::ralph_dir::guardrails::{
    self, FieldName, NewSign, add_signs, resolve_sign, set_sign_field,
};
use piton_formats::ralph_dir::logs::{
    self, Colour, LogItem, LogTime, render_activity_line, render_error_line,
};
use piton_formats::ralph_dir::progress::{
    self, CriterionRecord, Dialect, RalphProgress, SessionEndReason, SessionRef, end_session,
    set_focus, start_session,
};
use piton_formats::ralph_dir::{EditError, SourceText, iteration};

use crate::edits::{add_blocker, add_completed, add_validation};

const SEED: &str = include_str!("../corpus/markdown/progress_seed.md");
const LOOP: &str = include_str!("../corpus/markdown/progress_loop.md");
const CRLF: &str = include_str!("../corpus/markdown/progress_crlf.md");
const SIGNS: &str = include_str!("../corpus/markdown/guardrails_seed.md");
const LEARNED: &str = include_str!("../corpus/markdown/guardrails_loop.md");
const LOG: &str = include_str!("../corpus/markdown/activity.log.md");

const ONE: SessionRef<'_> = SessionRef {
    number: 1,
    date: "2025-03-01",
};
const TWO: SessionRef<'_> = SessionRef {
    number: 2,
    date: "2025-03-02",
};

fn progress(text: &str) -> RalphProgress {
    progress::parse_progress_md(SourceText { name: "p", text }).0
}

fn done(number: u64, text: &str) -> CriterionRecord {
    CriterionRecord {
        number: Some(number),
        text: text.to_owned(),
        commit: Some("c0ffee1".to_owned()),
        ..CriterionRecord::default()
    }
}

/// What an edit put in, if it took nothing out.
#[track_caller]
fn inserted(before: &str, after: &str) -> String {
    let same = |(a, b): &(u8, u8)| a == b;
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let lead = old
        .iter()
        .copied()
        .zip(new.iter().copied())
        .take_while(same)
        .count();
    let tail = old[lead..]
        .iter()
        .rev()
        .copied()
        .zip(new[lead..].iter().rev().copied())
        .take_while(same)
        .count();
    assert_eq!(lead + tail, old.len(), "something was taken out:\n{after}");
    String::from_utf8_lossy(&new[lead..new.len() - tail]).into_owned()
}

#[test]
fn a_file_of_the_format_is_read_in_full() {
    let (progress, problems) = progress::parse_progress_md(SourceText {
        name: "p",
        text: SEED,
    });
    assert_eq!(problems, []);
    let [first, second] = progress.sessions.as_slice() else {
        panic!("{progress:#?}");
    };
    assert_eq!(first.date.as_deref(), Some("2025-03-01"));
    let keel = &first.completed[0];
    assert_eq!(keel.what.number, Some(1));
    assert_eq!(keel.what.text, "Lay the keel");
    assert_eq!(keel.what.commit.as_deref(), Some("1a2b3c4"));
    assert_eq!(
        keel.what.notes.as_deref(),
        Some("Oak, not pine.\nIt swells.")
    );
    assert_eq!(keel.span.line, 6);
    assert_eq!(first.validations.len(), 1);
    assert!(first.blockers.is_empty());
    let focus = second.focus.as_ref().unwrap();
    assert_eq!(focus.text, "Working on Criterion 4 - the mast");
    assert_eq!(
        second.completed[0].what.screenshot.as_deref(),
        Some(".ralph/screenshots/criterion-3.png")
    );
    let blockers: Vec<_> = second
        .blockers
        .iter()
        .map(|b| (b.text.as_str(), b.resolved, b.resolution.as_deref()))
        .collect();
    assert_eq!(
        blockers,
        [
            ("No tar in the yard", true, Some("bought some")),
            ("The crane is out of order", false, None)
        ]
    );
}

#[test]
fn case_29_loop_lines_under_a_foreign_heading_are_read_and_kept() {
    let progress = progress(LOOP);
    let rows: Vec<_> = progress
        .sessions
        .iter()
        .map(|s| {
            (
                s.number,
                s.time.as_deref(),
                s.model.as_deref(),
                s.ended.as_ref().map(|e| e.how),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (
                1,
                Some("08:00:00"),
                Some("tern-2"),
                Some(SessionEndReason::Rotation)
            ),
            (
                2,
                Some("08:30:02"),
                Some("auto (picked later)"),
                Some(SessionEndReason::Natural(Some(5)))
            ),
        ]
    );
    assert_eq!(
        progress.loop_ends[0].how,
        SessionEndReason::MaxIterations(Some(2))
    );
    assert_eq!(progress.highest_session(), 2);
    let three = SessionRef {
        number: 3,
        date: "2025-04-06",
    };
    let text = add_completed(LOOP, three, &done(1, "Paint")).unwrap();
    assert!(text.starts_with(LOOP));
    insta::assert_snapshot!(&text[LOOP.len()..], @r##"

    ---

    ## Session 3 (2025-04-06)

    ### Completed
    - [x] Criterion 1 - Paint
      - Commit: c0ffee1
    "##);
}

#[test]
fn case_29_additions_go_into_their_own_section_before_what_a_loop_appended() {
    let text =
        format!("{SEED}\n### 2025-03-03 09:00:00\n**Session 9 started** (model: m)\n\nprose\n");
    let new = add_completed(&text, TWO, &done(4, "Step the mast")).unwrap();
    assert_eq!(
        inserted(&text, &new).trim(),
        "- [x] Criterion 4 - Step the mast\n  - Commit: c0ffee1"
    );
    assert_eq!(progress(&new).find_section(TWO).unwrap().completed.len(), 2);
    let ended = end_session(&text, TWO, "done for today", None).unwrap();
    assert_eq!(
        inserted(&text, &ended).trim(),
        "**Session 2 ended** - done for today"
    );
    assert!(ended.find("done for today").unwrap() < ended.find("### 2025-03-03").unwrap());
}

#[test]
fn case_33_a_block_to_keep_stays_and_one_without_an_end_is_told() {
    let (_, problems) = progress::parse_progress_md(SourceText {
        name: "p",
        text: LOOP,
    });
    assert_eq!(problems, []);
    let cut = LOOP.replace("<!-- RALPH_COMPACT_KEEP_END -->", "");
    let (_, problems) = progress::parse_progress_md(SourceText {
        name: "p",
        text: &cut,
    });
    assert_eq!(problems[0].code, "KEEP_NOT_CLOSED");
    let new = start_session(
        LOOP,
        SessionRef {
            number: 3,
            date: "2025-04-06",
        },
        None,
    )
    .unwrap();
    assert!(new.starts_with(LOOP));
}

#[test]
fn case_34_crlf_stays_and_so_does_a_missing_line_end() {
    let new = add_completed(CRLF, ONE, &done(2, "Oil")).unwrap();
    let put_in = inserted(CRLF, &new);
    assert_eq!(put_in.matches('\n').count(), put_in.matches("\r\n").count());
    assert!(!new.ends_with('\n'));
    let new = set_focus(&new, ONE, "Varnish", None).unwrap();
    let new = start_session(&new, TWO, None).unwrap();
    assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
}

#[test]
fn an_empty_file_gets_a_head_and_its_first_session() {
    let text = start_session("", ONE, None).unwrap();
    assert_eq!(text, "# Progress Log\n\n## Session 1 (2025-03-01)\n");
    let text = add_blocker(&text, ONE, "no wood").unwrap();
    let text = add_completed(&text, ONE, &done(1, "Keel")).unwrap();
    let text = set_focus(&text, ONE, "Hull", None).unwrap();
    let text = add_validation(&text, ONE, "opens").unwrap();
    let text = add_blocker(&text, ONE, "no nails").unwrap();
    let text = start_session(&text, TWO, None).unwrap();
    insta::assert_snapshot!(text, @r##"
    # Progress Log

    ## Session 1 (2025-03-01)

    ### Completed
    - [x] Criterion 1 - Keel
      - Commit: c0ffee1

    ### Browser Validations
    - opens

    ### Current Focus
    Hull

    ### Blockers Encountered
    - no wood
    - no nails

    ---

    ## Session 2 (2025-03-02)
    "##);
    let parsed = progress(&text);
    assert_eq!(parsed.sessions.len(), 2);
    assert!(
        parsed
            .sessions
            .iter()
            .all(|s| s.dialect == Dialect::Section)
    );
}

#[test]
fn the_placeholder_gives_way_to_the_first_blocker() {
    let new = add_blocker(SEED, ONE, "the saw is blunt").unwrap();
    assert_eq!(new, SEED.replacen("- None", "- the saw is blunt", 1));
}

#[test]
fn the_focus_is_exchanged_and_nothing_else() {
    let new = set_focus(SEED, TWO, "Rigging", None).unwrap();
    assert_eq!(
        new,
        SEED.replace("Working on Criterion 4 - the mast", "Rigging")
    );
}

#[test]
fn words_cannot_break_the_file() {
    let nasty = "# Session 9\n## Session 8 (2025-01-01)\n---\n```\n<!-- never\n**Session 7 ended** - x\n- [ ] y";
    let what = CriterionRecord {
        number: None,
        text: nasty.to_owned(),
        commit: Some("a\nb".to_owned()),
        notes: Some(nasty.to_owned()),
        screenshot: None,
    };
    let text = add_completed(SEED, ONE, &what).unwrap();
    let text = add_validation(&text, ONE, nasty).unwrap();
    let text = set_focus(&text, ONE, nasty, None).unwrap();
    let text = add_blocker(&text, ONE, nasty).unwrap();
    let text = add_blocker(&text, ONE, "None").unwrap();
    let text = add_blocker(&text, ONE, "gone (resolved)").unwrap();
    let text = end_session(&text, ONE, nasty, None).unwrap();
    let parsed = progress(&text);
    assert_eq!(parsed.sessions.len(), 2, "{text}");
    assert_eq!(
        parsed.sessions[0].completed[2].what.notes.as_deref(),
        Some(nasty)
    );
    assert_eq!(parsed.sessions[0].blockers.len(), 3);
    assert!(parsed.sessions[0].blockers.iter().all(|b| !b.resolved));
    assert_eq!(parsed.sessions[1].completed.len(), 1);
}

#[test]
fn a_session_ends_once() {
    let ended = end_session(SEED, ONE, "all done", None).unwrap();
    assert_eq!(end_session(&ended, ONE, "all done", None).unwrap(), ended);
    let other = end_session(&ended, ONE, "not yet", None);
    assert!(matches!(other, Err(EditError::Exists { .. })));
}

#[test]
fn a_loop_ends_its_own_session_and_not_the_section_of_that_number() {
    let text = "# P\n\n### 2025-01-01 10:00:00\n**Session 1 started** (model: m)\n\n\
         ## Session 1 (2025-01-01)\n\n### Current Focus\nx\n\n\
         ### 2025-01-01 11:00:00\n**Session 1 ended** - GUTTER\n";
    let progress = progress(text);
    let [by_loop, section] = progress.sessions.as_slice() else {
        panic!("{progress:#?}");
    };
    assert_eq!(
        by_loop.ended.as_ref().map(|ended| ended.how),
        Some(SessionEndReason::Gutter)
    );
    assert_eq!(section.ended, None);
}

#[test]
fn an_open_fence_at_the_end_refuses_what_would_vanish_in_it() {
    let text = format!("{SEED}\n```\nnever closed\n");
    let three = SessionRef {
        number: 3,
        date: "2025-03-03",
    };
    let refused = start_session(&text, three, None);
    assert!(matches!(refused, Err(EditError::NotReadBack { .. })));
}

fn signs(text: &str) -> guardrails::Guardrails {
    guardrails::parse_guardrails(SourceText { name: "g", text }).0
}

fn new_sign() -> NewSign {
    NewSign {
        name: "Count the ribs".to_owned(),
        trigger: "Before planking".to_owned(),
        instruction: "Do:\n1. count\n\n```sh\n# ribs\nribs --count <!-- x\n```".to_owned(),
        evidence: None,
        added_after: "Session 2 - one was missing".to_owned(),
    }
}

#[test]
fn case_30_an_instruction_of_many_lines_is_kept() {
    let (all, problems) = guardrails::parse_guardrails(SourceText {
        name: "g",
        text: SIGNS,
    });
    let sign = all.find_sign("Measure twice").unwrap();
    assert_eq!(
        sign.get(FieldName::Instruction),
        Some(
            "Do this:\n1. measure\n2. measure again\n\n```bash\n# not a heading\nmeasure --twice\n```"
        )
    );
    assert_eq!(
        sign.get(FieldName::AddedAfter),
        Some("Session 1 - the short plank")
    );
    assert_eq!(sign.fields[3].name, "Weather");
    assert!(SIGNS[sign.bytes.clone()].ends_with("A word of a person."));
    let told: Vec<_> = problems.iter().map(|p| (p.line, p.code.as_ref())).collect();
    assert_eq!(told, [(23, "MISSING_FIELD"), (23, "MISSING_FIELD")]);
    assert!(
        guardrails::check_guardrails(SourceText {
            name: "g",
            text: SIGNS
        })
        .iter()
        .all(|p| p.is_error())
    );
}

#[test]
fn a_sign_is_added_where_signs_hold() {
    for (text, section) in [
        (SIGNS, "Active Guardrails"),
        (LEARNED, "Learned Signs"),
        ("", "Active Guardrails"),
        ("# Rules\n", "Active Guardrails"),
    ] {
        let new = add_signs(text, &[new_sign()]).unwrap();
        inserted(text, &new);
        let all = signs(&new);
        let sign = all.find_sign("Count the ribs").unwrap();
        assert_eq!(sign.section.as_deref(), Some(section));
        assert_eq!(
            sign.get(FieldName::Instruction),
            Some(new_sign().instruction.as_str())
        );
        assert_eq!(
            sign.get(FieldName::AddedAfter),
            Some("Session 2 - one was missing")
        );
    }
}

#[test]
fn a_new_file_gets_the_head_of_the_format() {
    insta::assert_snapshot!(add_signs("", &[new_sign()]).unwrap(), @r##"
    # Guardrails (Signs)

    Lessons learned from previous iterations. Read this FIRST before starting work.

    ## Active Guardrails

    ### Sign: Count the ribs
    - **Trigger**: Before planking
    - **Instruction**: Do:
      1. count

      ```sh
      # ribs
      ribs --count <!-- x
      ```
    - **Added after**: Session 2 - one was missing

    ## Resolved Guardrails

    <!-- Move guardrails here when the underlying issue is permanently fixed -->
    "##);
}

#[test]
fn a_resolved_sign_moves_with_every_byte() {
    for (text, name) in [(SIGNS, "Measure twice"), (LEARNED, "Look before you write")] {
        let before = signs(text);
        let sign = before.find_sign(name).unwrap();
        let new = resolve_sign(text, name, "a jig does it", "2025-05-01").unwrap();
        let bytes = &text[sign.bytes.clone()];
        assert!(
            new.contains(&format!(
                "{bytes}\n- **Resolved**: 2025-05-01 - a jig does it"
            )),
            "{new}"
        );
        let after = signs(&new);
        let moved = after.find_sign(name).unwrap();
        assert!(moved.resolved);
        assert_eq!(moved.section.as_deref(), Some("Resolved Guardrails"));
        assert!(matches!(
            resolve_sign(&new, name, "", ""),
            Err(EditError::Missing { .. })
        ));
    }
}

#[test]
fn a_field_of_a_sign_is_exchanged_or_added() {
    let new = set_sign_field(SIGNS, "Measure twice", FieldName::Trigger, "Before any cut").unwrap();
    assert_eq!(new, SIGNS.replace("Before a cut", "Before any cut"));
    let new = set_sign_field(SIGNS, "Ask the smith", FieldName::Instruction, "Ask\nhim").unwrap();
    assert_eq!(
        inserted(SIGNS, &new).trim(),
        "- **Instruction**: Ask\n  him"
    );
}

#[test]
fn case_31_lines_without_a_date_stay_in_the_order_of_the_file() {
    let entries = logs::parse_log(LOG);
    let known: Vec<String> = entries
        .iter()
        .map(|entry| format!("{}: {:?} {:?}", entry.span.line, entry.when, entry.item))
        .collect();
    insta::assert_snapshot!(known.join("\n"), @r##"
    1: Unknown Other("# Activity Log")
    3: Unknown Other("═══════════════════════════")
    4: Unknown Banner { date: "Sat Apr  5 23:58:00 CET 2025" }
    5: Unknown Other("═══════════════════════════")
    6: Time("23:58:01") SessionStart { model: "tern-2" }
    7: Time("23:58:09") Read(LoggedFile { path: "/yard/plan (v2).txt", lines: Some(12), size: Some("~.3KB") })
    8: Time("23:59:59") Write(LoggedFile { path: "hull.rs", lines: Some(40), size: Some("2KB") })
    9: Time("00:00:03") Shell { command: "for x in a b; do\n  echo $x\ndone", exit: Some(0), output_chars: Some(4) }
    12: Time("00:00:09") Tokens { used: 70000, limit: 80000, note: Some("approaching limit [read:1KB write:2KB]") }
    13: Time("00:00:10") Warn { tokens: Some((70000, 70000)) }
    14: Time("00:00:11") Rotate { tokens: Some((80001, 80000)) }
    15: DateTime("2025-04-06 00:00:12") Complete
    16: DateTime("2025-04-06T00:00:13Z") Other("2025-04-06T00:00:13Z S36 something else")
    17: Time("00:00:14") ShellFail { command: "make", exit: Some(2), attempt: Some(3) }
    18: Time("00:00:15") Gutter { failures: Some(3) }
    19: Time("00:00:16") Thrashing { path: "a written b.rs", times: Some(5) }
    20: Time("00:00:17") ApiError { message: "529 overloaded" }
    21: Time("00:00:18") SessionEnd { duration_ms: Some(1500), tokens: Some(1200) }
    22: Unknown Other("*No errors logged yet*")
    "##);
    assert_eq!(entries[4].colour, Some(Colour::Green));
}

#[test]
fn a_command_without_an_end_does_not_swallow_the_log() {
    let log = "[10:00:00] 🟢 SHELL cat <<X\nline\n[10:00:01] 🟢 READ a (1 lines, ~1KB)\n";
    let items: Vec<LogItem> = logs::parse_log(log)
        .into_iter()
        .map(|entry| entry.item)
        .collect();
    assert_eq!(items.len(), 3);
    assert_eq!(items[1], LogItem::Other("line".to_owned()));
    assert!(matches!(items[2], LogItem::Read(_)));
}

#[test]
fn what_is_logged_is_one_line_and_read_back() {
    let at = "2025-04-06 00:00:12";
    for entry in logs::parse_log(LOG) {
        let activity = render_activity_line(at, Colour::Green, &entry.item);
        assert_eq!(activity.matches('\n').count(), 1);
        let back = logs::parse_log(&activity);
        assert_eq!(back.len(), 1, "{activity}");
        assert_eq!(back[0].when, LogTime::DateTime(at.to_owned()));
        let error = logs::parse_log(&render_error_line(at, &entry.item));
        assert_eq!(error.len(), 1);
        let flattens =
            matches!(&entry.item, LogItem::Shell { command, .. } if command.contains('\n'));
        if !flattens && !matches!(entry.item, LogItem::Other(_)) {
            assert_eq!(back[0].item, entry.item);
            assert_eq!(error[0].item, entry.item);
        }
    }
    let end = LogItem::SessionEnd {
        duration_ms: Some(5),
        tokens: None,
    };
    assert_eq!(
        render_activity_line(at, Colour::Green, &end),
        "[2025-04-06 00:00:12] 🟢 SESSION END: 5ms\n"
    );
}

#[test]
fn case_32_an_iteration_file_is_a_number_or_nothing() {
    let number = |text| iteration::parse_iteration(SourceText { name: "i", text });
    assert_eq!(number("").0, None);
    assert_eq!(number("0").0, Some(0));
    assert_eq!(number("30\n").0, Some(30));
    let (none, problems) = number("thirty\n");
    assert_eq!(none, None);
    assert_eq!(problems[0].code, "NOT_A_NUMBER");
    assert_eq!(iteration::render_iteration(Some("30\n"), 31), "31\n");
    assert_eq!(iteration::render_iteration(Some("30"), 31), "31");
}
