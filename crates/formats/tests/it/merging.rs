//! Three versions of a file made one: nothing is lost, nothing stands twice, and
//! only what contradicts is marked.

use std::collections::BTreeSet;

use piton_formats::format::{self, Grade, RecognisedFile};
use piton_formats::json;
use piton_formats::merge::{ConflictMarks, MergeVersions, MergedText, merge, merge_additions};
use piton_formats::problem::SourceText;
use piton_simkit::seed::salted;

use crate::chance::Chance;

const MARKS: ConflictMarks<'_> = ConflictMarks {
    ours: "ours",
    theirs: "theirs",
    size: 7,
};

fn merged(path: &str, [base, ours, theirs]: [&str; 3]) -> MergedText {
    merge(path, MergeVersions { base, ours, theirs }, MARKS)
}

/// The merged text, without a contradiction and right to the letter.
#[track_caller]
fn clean(path: &str, versions: [&str; 3]) -> String {
    let merged = merged(path, versions);
    assert_eq!(
        (merged.conflicts, merged.by_lines),
        (0, None),
        "{}",
        merged.text
    );
    let source = |text| SourceText { name: path, text };
    let Ok(RecognisedFile::Format(format)) = format::recognise_file(path, &merged.text) else {
        panic!("not recognised: {}", merged.text);
    };
    let problems = format.check(source(&merged.text), Grade::Strict);
    assert!(problems.is_empty(), "{problems:?}\n{}", merged.text);
    merged.text
}

mod additions {
    use super::*;

    fn sign(id: &str, words: &str) -> String {
        format!(
            "### Sign: {id}\n- **Trigger**: always\n- **Instruction**: {words}\n- **Added after**: core\n"
        )
    }

    fn signs(signs: &[String]) -> String {
        format!(
            "# Ralph Guardrails (Signs)\n\n## Core Signs\n\n{}",
            signs.join("\n")
        )
    }

    fn log(lines: &[&str]) -> String {
        let head = "# Progress Log\n\n## Session History\n\n";
        let entry = |line: &&str| format!("### 2026-02-03 08:00:00\n{line}\n");
        head.to_owned() + &lines.iter().map(entry).collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn check(path: &str, [base, ours, theirs]: [&str; 3], expect: Option<&str>) {
        let text = merge_additions(path, MergeVersions { base, ours, theirs });
        assert_eq!(text.as_deref(), expect);
    }

    /// What a careless agent leaves of a file is not what is left of it.
    #[test]
    fn what_theirs_took_out_or_reworded_stays() {
        let path = ".ralph/guardrails.md";
        let (a, b, c) = (sign("A", "read"), sign("B", "test"), sign("C", "ask"));
        let both = signs(&[a.clone(), b.clone()]);
        let fewer = signs(std::slice::from_ref(&a));
        let reworded = signs(&[a.clone(), sign("B", "never test")]);
        for theirs in ["", &fewer, &reworded] {
            check(path, [&both, &both, theirs], Some(&both));
        }
        let instead = signs(&[a.clone(), c.clone()]);
        let all = signs(&[a.clone(), b.clone(), c.clone()]);
        check(path, [&both, &both, &instead], Some(&all));
        // What ours took out stays out.
        let theirs = signs(&[a.clone(), b, c.clone()]);
        check(path, [&both, &fewer, &theirs], Some(&signs(&[a, c])));
    }

    #[test]
    fn a_log_that_was_cut_grows_by_what_was_written_all_the_same() {
        let path = ".ralph/progress.md";
        let (base, cut) = (log(&["one", "two"]), log(&["three"]));
        check(path, [&base, &base, ""], Some(&base));
        let text = merge_additions(
            path,
            MergeVersions {
                base: &base,
                ours: &base,
                theirs: &cut,
            },
        );
        let text = text.expect("it can be read");
        for line in ["one", "two", "three"] {
            assert_eq!(text.matches(line).count(), 1, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_adds_nothing() {
        let path = ".agent-os/progress/progress.json";
        let base = r#"{"version": "1.0", "entries": []}"#;
        check(path, [base, base, "{\"version\": "], None);
    }
}

mod logs {
    use super::*;

    const PATH: &str = ".ralph/progress.json";

    fn entry(id: &str, time: &str, summary: &str) -> String {
        format!(
            r#"    {{
      "id": "{id}",
      "timestamp": "2026-02-03T{time}:00Z",
      "prd_id": "a",
      "iteration": 1,
      "status": "completed",
      "summary": "{summary}",
      "observations": []
    }}"#
        )
    }

    fn learning(id: &str, content: &str) -> String {
        format!(
            r#"    {{
      "id": "{id}",
      "type": "gotcha",
      "content": "{content}",
      "source_prd_id": "a",
      "created_at": "2026-02-03T08:00:00Z"
    }}"#
        )
    }

    fn list(items: &[String]) -> String {
        match items {
            [] => "[]".to_owned(),
            items => format!("[\n{}\n  ]", items.join(",\n")),
        }
    }

    fn log(entries: &[String], learnings: &[String]) -> String {
        format!(
            "{{\n  \"version\": \"1.0\",\n  \"created_at\": \"2026-02-03T08:00:00Z\",\n  \"project_name\": \"tides\",\n  \"entries\": {},\n  \"learnings\": {}\n}}\n",
            list(entries),
            list(learnings)
        )
    }

    #[test]
    fn what_both_appended_stands_once_in_the_order_of_time() {
        let first = entry("a-1", "08:00", "began");
        let both = entry("a-5", "12:00", "said by both");
        let ours = [first.clone(), entry("a-2", "09:00", "o"), both.clone()];
        let theirs = [
            first.clone(),
            entry("b-1", "08:30", "t"),
            entry("b-2", "10:00", "t"),
            both.clone(),
        ];
        let versions = [
            log(std::slice::from_ref(&first), &[]),
            log(&ours, &[]),
            log(&theirs, &[]),
        ];
        let text = clean(PATH, [&versions[0], &versions[1], &versions[2]]);
        let expect = [
            first,
            theirs[1].clone(),
            ours[1].clone(),
            theirs[2].clone(),
            both,
        ];
        assert_eq!(text, log(&expect, &[]));
        let turned = clean(PATH, [&versions[0], &versions[2], &versions[1]]);
        assert_eq!(turned, text);
    }

    #[test]
    fn two_clones_that_made_a_file_each_agree_on_its_name() {
        let (a, b) = (
            entry("a-1", "08:00", "ours"),
            entry("b-1", "09:00", "theirs"),
        );
        let ours = log(std::slice::from_ref(&a), &[]);
        let theirs = log(std::slice::from_ref(&b), &[]).replace("tides", "clone-2");
        assert_eq!(clean(PATH, ["", &ours, &theirs]), log(&[a.clone(), b], &[]));
        // Who renamed it says something.
        let renamed = ours.replace("tides", "ebb");
        assert_eq!(merged(PATH, [&ours, &renamed, &theirs]).conflicts, 1);
    }

    #[test]
    fn one_name_for_two_things_is_a_conflict_of_the_whole_of_both() {
        let begin = [learning("learning-0001", "known")];
        let of = |content| log(&[], &[begin[0].clone(), learning("learning-0002", content)]);
        let merged = merged(PATH, [&log(&[], &begin), &of("ours"), &of("theirs")]);
        assert_eq!(merged.conflicts, 1);
        let expect = format!(
            "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n",
            learning("learning-0002", "ours"),
            learning("learning-0002", "theirs")
        );
        assert!(merged.text.contains(&expect), "{}", merged.text);
    }

    #[test]
    fn one_field_with_two_values_is_marked_alone() {
        let of = |summary| {
            log(
                &[
                    entry("a-1", "08:00", summary),
                    entry("a-2", "09:00", "same"),
                ],
                &[],
            )
        };
        let merged = merged(PATH, [&of("was"), &of("is this"), &of("is that")]);
        assert_eq!(merged.conflicts, 1);
        insta::assert_snapshot!(around(&merged.text), @r#"
              "status": "completed",
        <<<<<<< ours
              "summary": "is this",
        =======
              "summary": "is that",
        >>>>>>> theirs
              "observations": []
        "#);
    }

    #[test]
    fn what_one_side_removed_and_the_other_changed_is_a_conflict() {
        let begin = log(
            &[entry("a-1", "08:00", "x"), entry("a-2", "09:00", "was")],
            &[],
        );
        let ours = log(&[entry("a-1", "08:00", "x")], &[]);
        let theirs = begin.replace("was", "is");
        let found = merged(PATH, [&begin, &ours, &theirs]);
        assert_eq!(found.conflicts, 1);
        for side in ["ours", "theirs"] {
            let settled = settled(&found.text, side == "ours");
            let expect = if side == "ours" { &ours } else { &theirs };
            assert_eq!(&settled, expect);
        }
        // Removed on one side alone, it is gone.
        let theirs = begin.replace("\"x\"", "\"y\"");
        let text = clean(PATH, [&begin, &ours, &theirs]);
        assert_eq!(text, log(&[entry("a-1", "08:00", "y")], &[]));
    }

    #[test]
    fn a_log_that_both_began_holds_the_entries_of_both() {
        let ours = log(&[entry("a-1", "08:00", "o")], &[]);
        let theirs = log(&[entry("b-1", "07:00", "t")], &[])
            .replace("T08:00:00Z\",\n  \"project", "T07:00:00Z\",\n  \"project");
        let text = clean(PATH, ["", &ours, &theirs]);
        let expect = log(
            &[entry("b-1", "07:00", "t"), entry("a-1", "08:00", "o")],
            &[],
        );
        assert_eq!(text, expect.replacen("T08", "T07", 1));
    }

    const AGENT_OS: &str = ".agent-os/progress/progress.json";

    fn agent_os(entries: &[(&str, &str)]) -> String {
        let list: Vec<String> = entries
            .iter()
            .map(|(id, time)| {
                format!(
                    "    {{\n      \"id\": \"entry-20260203-{id}\",\n      \"timestamp\": \"2026-02-03T{time}:00.000Z\",\n      \"type\": \"milestone_reached\",\n      \"data\": {{\n        \"description\": \"{id}\"\n      }}\n    }}"
                )
            })
            .collect();
        let times: Vec<&str> = entries.iter().map(|(_, time)| *time).collect();
        format!(
            "{{\n  \"version\": \"1.0\",\n  \"project\": \"tides\",\n  \"entries\": [\n{}\n  ],\n  \"metadata\": {{\n    \"total_entries\": {},\n    \"oldest_entry\": \"2026-02-03T{}:00.000Z\",\n    \"last_updated\": \"2026-02-03T{}:00.000Z\",\n    \"archived_through\": null\n  }}\n}}\n",
            list.join(",\n"),
            entries.len(),
            times.iter().min().unwrap(),
            times.iter().max().unwrap()
        )
    }

    #[test]
    fn totals_are_counted_again() {
        let base = [("080000-aaa", "08:00")];
        let ours = [base[0], ("100000-bbb", "10:00")];
        let theirs = [("070000-ddd", "07:00"), base[0], ("090000-ccc", "09:00")];
        let versions = [agent_os(&base), agent_os(&ours), agent_os(&theirs)];
        let text = clean(AGENT_OS, [&versions[0], &versions[1], &versions[2]]);
        let expect = [theirs[0], base[0], theirs[2], ours[1]];
        assert_eq!(text, agent_os(&expect));
    }

    #[test]
    fn an_archive_and_the_page_for_people_hold_the_entries_of_both() {
        let month = |ids: &[&str]| {
            let list: Vec<String> = ids.iter().map(|at| format!("{{\"id\": \"e-{at}\", \"timestamp\": \"2026-01-{at}T00:00:00Z\", \"type\": \"x\"}}")).collect();
            format!("{{\"entries\": [{}]}}\n", list.join(", "))
        };
        let versions = [month(&["01"]), month(&["01", "03"]), month(&["01", "02"])];
        let path = ".agent-os/progress/archive/2026-01.json";
        let found = merged(path, versions.each_ref().map(String::as_str));
        assert_eq!(found.text, month(&["01", "02", "03"]));
        let page = |entries: &[(&str, &str)]| {
            let entry = |(time, title): &(&str, &str)| {
                format!("### {time} - {title}\n- **Details**: {title}\n\n")
            };
            format!(
                "# Log\n\n*Total entries: {}*\n\n---\n\n## 2026-01-15\n\n{}---\n\n",
                entries.len(),
                entries.iter().map(entry).collect::<String>()
            )
        };
        let (began, o, t) = (("10:00", "began"), ("11:00", "o"), ("12:00", "t"));
        let versions = [page(&[began]), page(&[o, began]), page(&[t, began])];
        let path = ".agent-os/progress/progress.md";
        let found = merged(path, versions.each_ref().map(String::as_str));
        assert_eq!((found.conflicts, found.text), (0, page(&[t, o, began])));
    }

    #[test]
    fn unknown_keys_form_and_line_ends_of_ours_stay() {
        let base = "{\"version\": \"1.0\", \"entries\": [\r\n  {\"id\":\"a-1\",   \"timestamp\":\"2026-02-03T08:00:00Z\"}\r\n], \"mine\": {\"x\":1}}\r\n";
        let ours = base.replace("\"x\":1", "\"x\":  2");
        let theirs = base.replace(
            "\r\n]",
            ",\r\n  {\"id\":\"b-1\", \"timestamp\":\"2026-02-03T09:00:00Z\"}\r\n]",
        );
        let theirs = theirs
            .replace("\r\n", "\n")
            .replace("\"mine\"", "\"theirs\": 3, \"mine\"");
        let text = merged(PATH, [base, &ours, &theirs]).text;
        assert_eq!(
            text,
            "{\"version\": \"1.0\", \"entries\": [\r\n  {\"id\":\"a-1\",   \"timestamp\":\"2026-02-03T08:00:00Z\"},\r\n  {\"id\": \"b-1\", \"timestamp\": \"2026-02-03T09:00:00Z\"}\r\n], \"theirs\": 3, \"mine\": {\"x\":  2}}\r\n"
        );
    }
}

/// The text with every conflict settled for one side.
fn settled(text: &str, ours: bool) -> String {
    let mut out = String::new();
    let mut within = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with("<<<<<<< ") {
            within = Some(true);
        } else if line == "=======\n" && within.is_some() {
            within = Some(false);
        } else if line.starts_with(">>>>>>> ") {
            within = None;
        } else if within.is_none_or(|side| side == ours) {
            out.push_str(line);
        }
    }
    out
}

/// The marks, with a line before and behind.
fn around(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.iter().position(|line| line.starts_with('<')).unwrap();
    let to = lines
        .iter()
        .rposition(|line| line.starts_with('>'))
        .unwrap();
    lines[from.saturating_sub(1)..lines.len().min(to + 2)].join("\n")
}

mod plans {
    use super::*;

    #[test]
    fn marks_of_both_sides_are_kept_in_every_layout() {
        let story = |id: &str, passes: bool| {
            format!(
                "{{\"id\": \"{id}\", \"title\": \"{id}\", \"acceptanceCriteria\": [], \"priority\": 1, \"passes\": {passes}}}"
            )
        };
        let layouts = [
            ("{\"features\": [", "]}\n"),
            ("{\"branchName\": \"b\", \"userStories\": [", "]}\n"),
            ("{\"stories\": [", "]}\n"),
            ("{\"tasks\": [", "]}\n"),
            ("[", "]\n"),
        ];
        for (head, tail) in layouts {
            let list = |marks: &[(&str, bool)]| {
                let items: Vec<String> = marks
                    .iter()
                    .map(|(id, passes)| story(id, *passes))
                    .collect();
                format!("{head}{}{tail}", items.join(", "))
            };
            let base = list(&[("a", false), ("b", false)]);
            let ours = list(&[("a", true), ("b", false), ("c", false)]);
            let theirs = list(&[("a", false), ("b", true), ("d", true)]);
            let merged = merged("prd.json", [&base, &ours, &theirs]);
            assert_eq!(merged.conflicts, 0, "{}", merged.text);
            let expect = list(&[("a", true), ("b", true), ("c", false), ("d", true)]);
            assert_eq!(merged.text, expect);
        }
    }

    #[test]
    fn an_order_of_one_side_holds_and_two_orders_are_a_conflict() {
        let list = |ids: &str| {
            let items: Vec<String> = ids.chars().map(|id| {
                format!("    {{\n      \"id\": \"{id}\",\n      \"description\": \"\",\n      \"steps\": [],\n      \"passes\": false\n    }}")
            }).collect();
            format!("{{\n  \"features\": [\n{}\n  ]\n}}\n", items.join(",\n"))
        };
        for [base, ours, theirs, expect] in [
            ["abc", "abcd", "cba", "cdba"],
            ["abc", "cab", "abxc", "cabx"],
            ["abc", "xabc", "abcy", "xabcy"],
        ] {
            let texts = [base, ours, theirs].map(list);
            assert_eq!(
                clean("prd.json", texts.each_ref().map(String::as_str)),
                list(expect)
            );
        }
        let merged = merged("prd.json", [&list("abc"), &list("bac"), &list("acb")]);
        assert!(merged.conflicts > 0);
        assert_eq!(settled(&merged.text, true), list("bac"));
        assert_eq!(settled(&merged.text, false), list("acb"));
    }

    #[test]
    fn criteria_that_both_added_are_kept_and_a_reworded_one_is_a_conflict() {
        let of = |criteria: &str| {
            format!(
                "{{\n  \"branchName\": \"b\",\n  \"userStories\": [\n    {{\n      \"id\": \"a\",\n      \"title\": \"A\",\n      \"acceptanceCriteria\": [\n        {criteria}\n      ],\n      \"priority\": 1,\n      \"passes\": false\n    }}\n  ]\n}}\n"
            )
        };
        let base = of("\"one\"");
        let gap = ",\n        ";
        let ours = of(&format!("\"one\"{gap}\"two\"{gap}\"both\""));
        let theirs = of(&format!("\"one\"{gap}\"both\"{gap}\"three\""));
        let text = clean("prd.json", [&base, &ours, &theirs]);
        assert_eq!(
            text,
            of(&format!("\"one\"{gap}\"two\"{gap}\"both\"{gap}\"three\""))
        );
        let merged = merged("prd.json", [&base, &of("\"this\""), &of("\"that\"")]);
        assert_eq!(merged.conflicts, 1);
        assert_eq!(settled(&merged.text, true), of("\"this\""));
        assert_eq!(settled(&merged.text, false), of("\"that\""));
    }

    const SPRINT: &str = "# the plan\nsprint-id: s # mine\nstatus: in-progress\nphases:\n  - id: one\n    status: pending # look\n    prompt: |\n      Write it\n  - id: two\n    status: pending\n    prompt: Test it\ncurrent:\n  phase: 0\n  step: null\n  sub-phase: null\nstats:\n  started-at: \"2026-01-15T09:00:00Z\"\n  total-phases: 2\n  completed-phases: 0\n";

    #[test]
    fn a_sprint_counts_again_and_keeps_its_comments() {
        let ours = SPRINT
            .replace("status: pending # look", "status: completed # look")
            .replace("completed-phases: 0", "completed-phases: 1")
            .replace("phase: 0", "phase: 1");
        let theirs = SPRINT
            .replace(
                "status: pending\n    prompt: Test",
                "status: skipped\n    prompt: Test",
            )
            .replace(
                "current:",
                "  - id: three\n    status: completed\n    prompt: Ship it\ncurrent:",
            )
            .replace("total-phases: 2", "total-phases: 3")
            .replace("completed-phases: 0", "completed-phases: 1");
        let text = clean("PROGRESS.yaml", [SPRINT, &ours, &theirs]);
        let expect = theirs
            .replace("status: pending # look", "status: completed # look")
            .replace("completed-phases: 1", "completed-phases: 2")
            .replace("phase: 0", "phase: 1");
        assert_eq!(text, expect);
    }

    /// What two branches did of one sprint, each some of its steps.
    #[test]
    fn runs_of_one_sprint_on_two_branches_merge() {
        let base = "sprint-id: s\nstatus: in-progress\nphases:\n  - id: dev\n    status: in-progress\n    steps:\n      - id: a\n        prompt: x\n        status: pending\n        phases:\n          - {id: i, status: pending, prompt: x}\n      - id: b\n        prompt: x\n        status: pending\n        phases:\n          - {id: i, status: pending, prompt: x}\n      - id: c\n        prompt: x\n        status: pending\n        phases:\n          - {id: i, status: pending, prompt: x}\ncurrent: {phase: 0, step: 0, sub-phase: 0}\nstats: {started-at: null, total-phases: 1, completed-phases: 0, total-steps: 3, completed-steps: 0}\npause-reason: by hand\n";
        let leaf = "{id: i, status: pending, prompt: x}";
        let done = "{id: i, status: completed, prompt: x, started-at: '2026-01-15T09:00:00Z'}";
        let did = |id: &str, status: &str, text: &str| {
            let step = format!(
                "- id: {id}\n        prompt: x\n        status: pending\n        phases:\n          - "
            );
            let now = format!(
                "- id: {id}\n        prompt: x\n        status: {status}\n        phases:\n          - "
            );
            text.replace(&format!("{step}{leaf}"), &format!("{now}{done}"))
        };
        let ours = did("a", "completed", base)
            .replace("step: 0", "step: 1")
            .replace(
                "completed-steps: 0",
                "completed-steps: 1, current-iteration: 2, max-iterations: 2",
            )
            .replace("pause-reason: by hand\n", "");
        let theirs = did("b", "in-progress", &did("c", "completed", base))
            .replace(
                "status: in-progress\nphases:\n  - id: dev\n",
                "status: paused\nphases:\n  - id: dev\n",
            )
            .replace(
                "completed-steps: 0",
                "completed-steps: 1, current-iteration: 3, max-iterations: 1",
            )
            .replace("by hand", "limit max-iterations (1)");
        let expect = did("c", "completed", &did("b", "in-progress", &ours))
            .replace(
                "status: in-progress\nphases:\n  - id: dev\n",
                "status: paused\nphases:\n  - id: dev\n",
            )
            .replace(
                "completed-steps: 1, current-iteration: 2",
                "completed-steps: 2, current-iteration: 3",
            );
        assert_eq!(clean("PROGRESS.yaml", [base, &ours, &theirs]), expect);

        // Whose step is further holds, whichever side it is on.
        let begun = did("a", "in-progress", base);
        let failed = did("a", "failed", base);
        for [ours, theirs] in [[&begun, &failed], [&failed, &begun]] {
            assert_eq!(clean("PROGRESS.yaml", [base, ours, theirs]), failed);
        }
        let merged = merged(
            "PROGRESS.yaml",
            [base, &failed, &did("a", "completed", base)],
        );
        assert_eq!(merged.conflicts, 1);
    }

    #[test]
    fn comments_that_both_put_beside_new_phases_stay() {
        let with = |id: &str| {
            let phase = format!(
                "  # {id} is new\n  - id: {id} # why\n    status: pending\n    prompt: x\n"
            );
            let text = SPRINT.replace("current:", &format!("{phase}current:"));
            text.replace("total-phases: 2", "total-phases: 3")
        };
        let text = clean("PROGRESS.yaml", [SPRINT, &with("mine"), &with("yours")]);
        let both = with("yours").replace("total-phases: 3", "total-phases: 4");
        let mine = "  # mine is new\n  - id: mine # why\n    status: pending\n    prompt: x\n";
        assert_eq!(
            text,
            both.replace("  # yours is", &format!("{mine}  # yours is"))
        );
    }

    #[test]
    fn two_states_of_one_phase_are_marked_alone() {
        let with = |status: &str| {
            SPRINT.replace(
                "status: pending # look",
                &format!("status: {status} # look"),
            )
        };
        let merged = merged(
            "s/PROGRESS.yaml",
            [SPRINT, &with("completed"), &with("skipped")],
        );
        insta::assert_snapshot!(around(&merged.text), @"
          - id: one
        <<<<<<< ours
            status: completed # look
        =======
            status: skipped # look
        >>>>>>> theirs
            prompt: |
        ");
    }
}

mod words {
    use super::*;

    const TASK: &str = "---\ntask: Tides\ntest_command: make check\n---\n\n# Tides\n\n1. [ ] The list of harbours loads\n2. [ ] A tide is computed\n   for every hour\n3. [ ] It is drawn\n";

    #[test]
    fn ticks_words_and_new_criteria_of_both_are_kept() {
        let ours = TASK
            .replace("1. [ ]", "1. [x]")
            .replace("is computed", "is computed exactly");
        let theirs = TASK
            .replace("2. [ ]", "2. [x]")
            .replace(
                "3. [ ] It is drawn\n",
                "3. [ ] It is drawn\n4. [ ] It is printed\n",
            )
            .replace("test_command", "model: opus\ntest_command");
        let text = clean("RALPH_TASK.md", [TASK, &ours, &theirs]);
        let expect = theirs
            .replace("1. [ ]", "1. [x]")
            .replace("is computed", "is computed exactly");
        assert_eq!(text, expect);
    }

    #[test]
    fn two_criteria_of_one_number_are_a_conflict() {
        let ours = format!("{TASK}4. [ ] It is printed\n");
        let theirs = format!("{TASK}4. [ ] It is sold\n5. [ ] It is liked\n");
        let merged = merged("RALPH_TASK.md", [TASK, &ours, &theirs]);
        insta::assert_snapshot!(around(&merged.text), @"
        3. [ ] It is drawn
        <<<<<<< ours
        4. [ ] It is printed
        =======
        4. [ ] It is sold
        >>>>>>> theirs
        5. [ ] It is liked
        ");
        let plain = "- [ ] a\n";
        let ours = format!("{plain}- [ ] b\n- [x] both\n");
        let theirs = format!("{plain}- [ ] c\n- [ ] both\n");
        let merged = super::merged("TODO.md", [plain, &ours, &theirs]);
        assert_eq!(merged.text, "- [ ] a\n- [ ] b\n- [ ] c\n- [x] both\n");
    }

    const SIGNS: &str = "# Guardrails (Signs)\n\n## Active Guardrails\n\n### Sign: Measure twice\n- **Trigger**: Before a cut\n- **Instruction**: Do this:\n  1. measure\n  2. measure again\n- **Added after**: Session 1\n\n## Resolved Guardrails\n";

    fn sign(name: &str, instruction: &str) -> String {
        format!(
            "### Sign: {name}\n- **Trigger**: Always\n- **Instruction**: {instruction}\n- **Added after**: Session 2\n\n"
        )
    }

    #[test]
    fn signs_of_both_stand_once_each() {
        let with = |signs: &[String]| {
            SIGNS.replace("## Resolved", &format!("{}## Resolved", signs.concat()))
        };
        let ours = with(&[sign("Look", "look"), sign("Both", "same")]);
        let theirs = with(&[sign("Both", "same"), sign("Ask", "ask")])
            .replace("Before a cut", "Before any cut");
        let text = clean(".ralph/guardrails.md", [SIGNS, &ours, &theirs]);
        let expect = with(&[
            sign("Look", "look"),
            sign("Both", "same"),
            sign("Ask", "ask"),
        ]);
        assert_eq!(text, expect.replace("Before a cut", "Before any cut"));
    }

    #[test]
    fn one_sign_with_two_instructions_is_a_conflict() {
        let with = |text: &str| SIGNS.replace("Before a cut", text);
        let merged = merged(
            ".ralph/guardrails.md",
            [SIGNS, &with("Before saws"), &with("Before knives")],
        );
        insta::assert_snapshot!(around(&merged.text), @"
        ### Sign: Measure twice
        <<<<<<< ours
        - **Trigger**: Before saws
        =======
        - **Trigger**: Before knives
        >>>>>>> theirs
        - **Instruction**: Do this:
        ");
        let ours = SIGNS.replace(
            "## Resolved",
            &format!("{}## Resolved", sign("New", "this")),
        );
        let theirs = SIGNS.replace(
            "## Resolved",
            &format!("{}## Resolved", sign("New", "that")),
        );
        let merged = super::merged(".ralph/guardrails.md", [SIGNS, &ours, &theirs]);
        assert_eq!(merged.conflicts, 1);
        assert_eq!(settled(&merged.text, true), ours);
        assert_eq!(settled(&merged.text, false), theirs);
    }

    const SESSIONS: &str = "# Progress Log\n\n## Session 1 (2026-01-15)\n\n### Completed\n- [x] Criterion 1 - Lay the keel\n  - Commit: 1a2b3c4\n\n### Blockers Encountered\n- None\n";

    #[test]
    fn what_both_recorded_of_a_session_is_kept() {
        let ours = SESSIONS.replace("\n### Block", "- [x] Criterion 2 - Caulk it <!-- piton: entry-1 -->\n  - Commit: 2222222\n\n### Block");
        let theirs = SESSIONS
            .replace("\n### Block", "- [x] Criterion 3 - Paint it <!-- piton: entry-2 -->\n  - Commit: 3333333\n\n### Block")
            .replace("- None", "- No tar (resolved: bought some)");
        let text = clean(".ralph/progress.md", [SESSIONS, &ours, &theirs]);
        let expect = theirs.replace(
            "- [x] Criterion 3",
            "- [x] Criterion 2 - Caulk it <!-- piton: entry-1 -->\n  - Commit: 2222222\n- [x] Criterion 3",
        );
        assert_eq!(text, expect);
    }

    #[test]
    fn a_criterion_with_two_commits_is_a_conflict() {
        let with = |commit: &str| {
            SESSIONS.replace(
                "\n### Block",
                &format!("- [x] Criterion 2 - Caulk it\n  - Commit: {commit}\n\n### Block"),
            )
        };
        let merged = merged(
            ".ralph/progress.md",
            [SESSIONS, &with("2222222"), &with("3333333")],
        );
        assert_eq!(merged.conflicts, 1);
        assert_eq!(settled(&merged.text, true), with("2222222"));
        assert_eq!(settled(&merged.text, false), with("3333333"));
    }

    #[test]
    fn sessions_of_both_stand_in_the_order_of_time() {
        let session = |number: u32, day: u32, what: &str| {
            format!(
                "\n---\n\n## Session {number} (2026-01-{day})\n\n### Completed\n- [x] {what} <!-- piton: entry-{day} -->\n  - Commit: 1a2b3c4\n"
            )
        };
        let ours = format!("{SESSIONS}{}", session(2, 20, "Sails"));
        let theirs = format!("{SESSIONS}{}", session(3, 18, "Ropes"));
        let text = clean(".ralph/progress.md", [SESSIONS, &ours, &theirs]);
        assert_eq!(
            text,
            format!(
                "{SESSIONS}{}{}",
                session(3, 18, "Ropes"),
                session(2, 20, "Sails")
            )
        );
        // What piton noted tells two sessions of one number apart.
        let noted = |text: String, name: &str| {
            let text = text.replace("-18)", &format!("-18) <!-- piton: {name} -->"));
            text.replace("-20)", &format!("-20) <!-- piton: {name} -->"))
        };
        let (one, two) = (
            noted(session(2, 20, "Sails"), "entry-b"),
            noted(session(2, 18, "Ropes"), "entry-a"),
        );
        let versions = [
            SESSIONS.to_owned(),
            format!("{SESSIONS}{one}"),
            format!("{SESSIONS}{two}"),
        ];
        let text = clean(
            ".ralph/progress.md",
            versions.each_ref().map(String::as_str),
        );
        assert_eq!(text, format!("{SESSIONS}{two}{one}"));
        // Without a note, a number that both gave is a name for two things.
        let theirs = format!("{SESSIONS}{}", session(2, 18, "Ropes"));
        let merged = merged(".ralph/progress.md", [SESSIONS, &ours, &theirs]);
        assert_eq!(merged.conflicts, 1);
        assert_eq!(settled(&merged.text, true), ours);
        assert_eq!(settled(&merged.text, false), theirs);
    }
}

mod refusals {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_merged_by_lines_and_loses_nothing() {
        let merged = merged(
            "prd.json",
            [
                "{\"features\": []}\n",
                "{\"features\": [1\n",
                "{\"features\": [2]}\n",
            ],
        );
        assert!(merged.by_lines.is_some());
        assert_eq!(
            merged.text,
            "<<<<<<< ours\n{\"features\": [1\n=======\n{\"features\": [2]}\n>>>>>>> theirs\n"
        );
        let unresolved = "- [ ] a\n<<<<<<< a\n- [ ] b\n=======\n- [ ] c\n>>>>>>> b\n";
        let found = super::merged("RALPH_TASK.md", ["- [ ] a\n", unresolved, "- [x] a\n"]);
        assert!(found.by_lines.is_some());
        assert!(found.text.contains("- [x] a\n") && found.text.contains("- [ ] c\n"));
        let notes = super::merged("notes.txt", ["a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n"]);
        assert_eq!((notes.text.as_str(), notes.conflicts), ("x\nb\ny\n", 0));
    }

    #[test]
    fn an_unchanged_side_gives_the_other_to_the_byte() {
        let texts = ["{\"features\": []}", "{ \"features\":[]}\r\n", "no json"];
        for base in texts {
            for other in texts {
                assert_eq!(merged("prd.json", [base, base, other]).text, other);
                assert_eq!(merged("prd.json", [base, other, base]).text, other);
                assert_eq!(merged("prd.json", [base, other, other]).text, other);
            }
        }
    }
}

mod random {
    use super::*;

    /// A log of entries by their number, changed where the number is among `changed`.
    fn log(entries: &BTreeSet<usize>, changed: &BTreeSet<usize>) -> String {
        let list: Vec<String> = entries
            .iter()
            .map(|at| {
                let word = if changed.contains(at) { "failed" } else { "completed" };
                format!("    {{\n      \"id\": \"a-{at}\",\n      \"timestamp\": \"2026-02-{:02}T08:00:00Z\",\n      \"status\": \"{word}\"\n    }}", at % 28 + 1)
            })
            .collect();
        format!(
            "{{\n  \"version\": \"1.0\",\n  \"entries\": [\n{}\n  ]\n}}\n",
            list.join(",\n")
        )
    }

    fn task(entries: &BTreeSet<usize>, changed: &BTreeSet<usize>) -> String {
        let mut text = String::from("# Task\n\n");
        for at in entries {
            let tick = if changed.contains(at) { 'x' } else { ' ' };
            text.push_str(&format!("- [{tick}] **[{at}]** words\n"));
            if at % 3 == 0 {
                text.push_str(&format!("  more of {at}\n\n"));
            }
        }
        text
    }

    fn sprint(entries: &BTreeSet<usize>, changed: &BTreeSet<usize>) -> String {
        let mut text = String::from("sprint-id: s\nstatus: in-progress\nphases:\n");
        for at in entries {
            let word = if changed.contains(at) {
                "completed"
            } else {
                "pending"
            };
            text.push_str(&format!(
                "  - id: p-{at}\n    status: {word}\n    prompt: x\n"
            ));
        }
        text.push_str(&format!(
            "current:\n  phase: 0\nstats:\n  total-phases: {}\n  completed-phases: {}\n",
            entries.len(),
            entries.intersection(changed).count()
        ));
        text
    }

    fn signs(entries: &BTreeSet<usize>, changed: &BTreeSet<usize>) -> String {
        let mut text = String::from("# Guardrails (Signs)\n\n## Active Guardrails\n");
        for at in entries {
            let word = if changed.contains(at) {
                "never"
            } else {
                "rarely"
            };
            text.push_str(&format!("\n### Sign: {at}\n- **Trigger**: {at} comes\n- **Instruction**: saw {word}\n- **Added after**: {at}\n"));
        }
        text
    }

    fn sessions(entries: &BTreeSet<usize>, changed: &BTreeSet<usize>) -> String {
        let mut text = String::from("# Progress Log\n");
        for at in entries {
            let none = if changed.contains(at) {
                "No tar"
            } else {
                "None"
            };
            text.push_str(&format!("\n---\n\n## Session {at} (2026-01-{:02})\n\n### Completed\n- [x] a-{at} - done <!-- piton: entry-{at} -->\n  - Commit: 1a2b{at}\n\n### Blockers Encountered\n- {none}\n", at + 1));
        }
        text
    }

    type Make = fn(&BTreeSet<usize>, &BTreeSet<usize>) -> String;
    const KINDS: [(&str, Make); 5] = [
        (".ralph/progress.json", log),
        ("RALPH_TASK.md", task),
        ("PROGRESS.yaml", sprint),
        (".ralph/guardrails.md", signs),
        (".ralph/progress.md", sessions),
    ];

    /// Entries whose numbers leave `rest` divided by three, or none.
    fn some(
        chance: &mut Chance,
        from: std::ops::Range<usize>,
        rest: Option<usize>,
    ) -> BTreeSet<usize> {
        let numbers = from.filter(|at| rest.is_none_or(|rest| at % 3 == rest));
        numbers.filter(|_| chance.below(2) == 0).collect()
    }

    #[test]
    fn edits_of_both_sides_are_all_there_and_none_twice() {
        let mut chance = Chance::new(salted(23));
        for _ in 0..120 {
            let (path, make) = *chance.pick(&KINDS);
            let mut all = some(&mut chance, 1..12, None);
            all.insert(0);
            let base = make(&all, &BTreeSet::new());
            // Sides add, mark and remove what the other leaves alone.
            let mut side = |rest: usize| {
                let chance = &mut chance;
                let added = some(chance, 12..20, Some(rest));
                let marked = some(chance, 0..20, Some(rest));
                let gone: BTreeSet<usize> = some(chance, 1..12, Some(rest));
                (added, &marked - &gone, gone)
            };
            let (ours, theirs) = (side(1), side(2));
            let text =
                |(added, marked, gone): &(BTreeSet<usize>, BTreeSet<usize>, BTreeSet<usize>)| {
                    make(&(&(&all | added) - gone), marked)
                };
            let versions = [&base, &text(&ours), &text(&theirs)];
            let merged = merged(path, versions.map(String::as_str));
            assert_eq!(merged.conflicts, 0, "{versions:#?}\n{}", merged.text);
            let everything = &(&(&(&all | &ours.0) | &theirs.0) - &ours.2) - &theirs.2;
            let expect = make(&everything, &(&ours.1 | &theirs.1));
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text
                    .lines()
                    .map(|line| line.trim_end_matches(',').to_owned())
                    .collect();
                lines.retain(|line| !line.is_empty());
                lines.sort();
                lines
            };
            assert_eq!(
                sorted(&merged.text),
                sorted(&expect),
                "{path}\n{versions:#?}\n{}",
                merged.text
            );
            let turned = super::merged(
                path,
                [versions[0], versions[2], versions[1]].map(String::as_str),
            );
            assert_eq!(sorted(&turned.text), sorted(&expect), "{path}");
            if path.ends_with(".json") {
                assert_eq!(said(&turned.text), said(&merged.text));
            }
        }
    }

    const REAL: [(&str, &str); 5] = [
        (
            ".ralph/progress.md",
            include_str!("../corpus/markdown/progress_loop.md"),
        ),
        (
            ".ralph/progress.md",
            include_str!("../corpus/markdown/progress_crlf.md"),
        ),
        (
            ".ralph/guardrails.md",
            include_str!("../corpus/markdown/guardrails_loop.md"),
        ),
        (
            "RALPH_TASK.md",
            include_str!("../corpus/markdown/task_wild.md"),
        ),
        (
            "RALPH_TASK.md",
            include_str!("../corpus/markdown/task_spec.md"),
        ),
    ];

    #[test]
    fn lines_that_either_side_puts_into_a_real_file_are_all_there() {
        let mut chance = Chance::new(salted(25));
        for round in 0..100 {
            let (path, text) = *chance.pick(&REAL);
            let mut side = |name: &str| {
                let mut lines: Vec<String> =
                    text.split_inclusive('\n').map(str::to_owned).collect();
                let new: Vec<String> = (0..3).map(|at| format!("{name} {round} {at}")).collect();
                for words in &new {
                    let mark = *chance.pick(&[
                        "", "- ", "- [ ] ", "  - ", "### ", "\n## ", "**x**: ", "1. ",
                    ]);
                    let place = chance.below(lines.len() + 1);
                    lines.insert(place, format!("{mark}{words}\n"));
                    if chance.below(3) == 0 {
                        let place = chance.below(lines.len());
                        let ticked = lines[place].replace("[ ]", "[x]");
                        lines[place] = ticked;
                    }
                }
                (lines.concat(), new)
            };
            let ((ours, by_us), (theirs, by_them)) = (side("keel"), side("mast"));
            let merged = merged(path, [text, &ours, &theirs]);
            for words in by_us.iter().chain(&by_them) {
                let count = merged.text.matches(words).count();
                let may_twice = merged.conflicts > 0;
                assert!(
                    count == 1 || (may_twice && count > 0),
                    "{path}: {words}\n{ours}\n-----\n{theirs}\n-----\n{}",
                    merged.text
                );
            }
            if merged.conflicts == 0 {
                for line in text
                    .lines()
                    .filter(|line| !line.contains("[ ]") && !line.trim().is_empty())
                {
                    assert!(
                        merged.text.contains(line.trim_end()),
                        "{path}: {line}\n{}",
                        merged.text
                    );
                }
            }
        }
    }

    fn said(text: &str) -> String {
        serde_json::to_string(&json::parse(text).root).unwrap()
    }

    #[test]
    fn whatever_both_changed_both_sides_can_be_had_again() {
        let mut chance = Chance::new(salted(24));
        for _ in 0..200 {
            let (path, make) = *chance.pick(&KINDS);
            let mut version = || {
                let entries = some(&mut chance, 0..10, None);
                let marked = some(&mut chance, 0..10, None);
                make(&(&entries | &BTreeSet::from([0])), &marked)
            };
            let versions = [version(), version(), version()];
            let [base, ours, theirs] = versions.each_ref().map(String::as_str);
            let merged = merged(path, [base, ours, theirs]);
            assert_eq!(super::merged(path, [base, ours, ours]).text, ours);
            // What either side added stands in the text, and what it changed.

            let ids = |text: &str| {
                let is_id = |line: &&str| {
                    line.contains("\"id\"") || line.contains("- id:") || line.contains("**[")
                };
                text.lines()
                    .filter(is_id)
                    .map(|line| {
                        line.split(" # ")
                            .next()
                            .unwrap_or(line)
                            .replace("[x]", "[ ]")
                    })
                    .collect::<BTreeSet<_>>()
            };
            for side in [ours, theirs] {
                let new = &ids(side) - &ids(base);
                assert!(
                    new.is_subset(&ids(&merged.text)),
                    "{path}\n{base}\n{ours}\n{theirs}\n{}",
                    merged.text
                );
            }
            for is_ours in [true, false] {
                let text = settled(&merged.text, is_ours);
                let again = super::merged(path, [base, &text, &text]);
                assert_eq!((again.conflicts, again.text), (0, text));
            }
        }
    }
}
