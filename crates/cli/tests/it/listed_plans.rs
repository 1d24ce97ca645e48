//! Plans of other tools in which each item has a status: found where those tools put
//! them, worked through to their end, and changed by statuses alone.

use serde_json::Value;

use crate::harness::{Said, Scratch};

const BEADS: &str = include_str!("../../../formats/tests/corpus/lists/beads.jsonl");
const GSD: &str = include_str!("../../../formats/tests/corpus/lists/gsd_roadmap.md");
const BMAD: &str = include_str!("../../../formats/tests/corpus/lists/sprint_status.yaml");
const TASK_MASTER: &str = include_str!("../../../formats/tests/corpus/lists/task_master.json");

/// An agent that changes a file and says that it is done.
const AGENT: &str =
    "cat >> prompts.txt\necho \"$PITON_ITEM\" >> work.txt\necho '<ralph>COMPLETE</ralph>'\n";

fn run(scratch: &Scratch, plan: &[&str]) -> Said {
    let mut args = vec!["run"];
    args.extend(plan);
    args.extend(["--agent", "./agent.sh", "--verdict", "exit-status"]);
    scratch.piton(&args)
}

/// Where a plan lies, and how many of its items are open and in all.
struct Listed {
    path: &'static str,
    text: &'static str,
    open: usize,
    total: usize,
}

#[track_caller]
fn check_found(scratch: &Scratch, listed: &Listed) {
    let found = scratch.json(&["init", "--dry-run"]);
    let files = found["found"].as_array().expect("files");
    let file = files.iter().find(|file| file["path"] == listed.path);
    let file = file.unwrap_or_else(|| panic!("{} is not found: {files:?}", listed.path));
    assert_eq!(file["items"]["open"], listed.open, "{file}");
    assert_eq!(file["items"]["total"], listed.total, "{file}");
    assert_eq!(file["intent"], "run", "{file}");
    assert_eq!(file["command"], format!("piton run {}", listed.path));
}

/// The lines that differ between two texts of as many lines.
fn changed_lines(before: &str, after: &str) -> Vec<(String, String)> {
    assert_eq!(before.lines().count(), after.lines().count(), "{after}");
    let lines = before.lines().zip(after.lines());
    let changed = lines.filter(|(before, after)| before != after);
    changed
        .map(|(before, after)| (before.to_owned(), after.to_owned()))
        .collect()
}

/// The statuses of the tasks and subtasks below a tag that hold no others.
fn statuses_of_tag(text: &str, tag: &str) -> Vec<String> {
    fn push_leaves(tasks: &Value, out: &mut Vec<String>) {
        for task in tasks.as_array().into_iter().flatten() {
            match task["subtasks"].as_array() {
                Some(parts) if !parts.is_empty() => push_leaves(&task["subtasks"], out),
                _ => out.push(task["status"].as_str().unwrap_or_default().to_owned()),
            }
        }
    }
    let root: Value = serde_json::from_str(text).expect("JSON");
    let mut out = Vec::new();
    push_leaves(&root[tag]["tasks"], &mut out);
    out
}

#[test]
fn a_run_says_that_the_current_tag_is_not_there() {
    let scratch = Scratch::new();
    scratch
        .write(".taskmaster/tasks/tasks.json", TASK_MASTER)
        .write(".taskmaster/state.json", "{\"currentTag\": \"moon\"}")
        .agent(AGENT);
    let said = run(&scratch, &["--max-iterations", "1"]);
    let says = "the tag `moon` of state.json is not among those with tasks (`";
    assert!(said.err.contains(says), "{}", said.err);
    let said = run(&scratch, &[]);
    assert!(!said.err.contains(says), "{}", said.err);
}

#[test]
fn tasks_of_task_master_are_worked_through_by_tag_and_only_statuses_change() {
    let path = ".taskmaster/tasks/tasks.json";
    let scratch = Scratch::new();
    scratch
        .write(path, TASK_MASTER)
        .write(".taskmaster/state.json", "{\"currentTag\": \"tides\"}")
        .agent(AGENT);
    // Counted without piton: the part of a deferred task is not open.
    let statuses = statuses_of_tag(TASK_MASTER, "tides");
    let is_open = |status: &&String| !["done", "cancelled"].contains(&status.as_str());
    let listed = Listed {
        path,
        text: TASK_MASTER,
        open: statuses.iter().filter(is_open).count() - 1,
        total: statuses.len(),
    };
    check_found(&scratch, &listed);
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert!(said.err.contains("`almost` is no status"), "{said:?}");
    let work = scratch.read("work.txt");
    assert_eq!(
        work.lines().collect::<Vec<_>>(),
        ["6", "7", "2/2.2", "2/2.3", "3"],
        "what waits for nothing comes first, by its priority"
    );
    let after = scratch.read(path);
    let changed = changed_lines(listed.text, &after);
    assert_eq!(changed.len(), 6, "{changed:?}");
    for (before, after) in changed {
        let blank =
            |line: &str, status: &str| line.replace(&format!("\"status\": \"{status}\""), "");
        let before = ["pending", "in-progress", "review", "almost"]
            .iter()
            .fold(before.clone(), |line, status| blank(&line, status));
        assert_eq!(before, blank(&after, "done"));
    }
    let statuses = statuses_of_tag(&after, "tides");
    assert_eq!(
        statuses.iter().filter(|status| *status == "done").count(),
        7
    );
    assert_eq!(statuses_of_tag(&after, "master"), ["pending"]);
    let prompts = scratch.read("prompts.txt");
    for words in [
        "**2.2**: Round",
        "How it is tested:\n\nTo a centimetre.",
        "It is a part of **2**: Predict heights",
        "Its status in the list is `review`.",
        "Tides of the coast",
    ] {
        assert!(prompts.contains(words), "{words}: {prompts}");
    }
}

/// A plan of GSD, in the form in which it is written.
fn gsd_plan(wave: u32, autonomous: bool) -> String {
    format!(
        "---\nphase: 02-heights\nwave: {wave}\ndepends_on: []\nautonomous: {autonomous}\n---\n\n<tasks>\n</tasks>\n"
    )
}

#[test]
fn plans_of_gsd_are_worked_through_in_waves_and_only_their_marks_change() {
    let path = ".planning/ROADMAP.md";
    let scratch = Scratch::new();
    scratch
        .write(path, GSD)
        .write(".planning/STATE.md", "---\nstatus: executing\n---\n")
        .write(".planning/phases/01-stations/01-02-SUMMARY.md", "done\n")
        .write(
            ".planning/phases/02-heights/02-01-PLAN.md",
            &gsd_plan(1, true),
        )
        .write(
            ".planning/phases/02-heights/02-02-PLAN.md",
            &gsd_plan(1, true),
        )
        .write(
            ".planning/phases/02.1-storms/02.1-01-PLAN.md",
            &gsd_plan(1, false),
        )
        .agent(AGENT);
    // Counted without piton: boxes with the name of a plan, one of which has a summary.
    let is_plan = |line: &&str| {
        let words = line.get(6..).unwrap_or_default();
        line.starts_with("- [") && words.starts_with(|c: char| c.is_ascii_digit())
    };
    let plans: Vec<&str> = GSD.lines().filter(is_plan).collect();
    let open = plans
        .iter()
        .filter(|line| line.starts_with("- [ ]"))
        .count();
    let listed = Listed {
        path,
        text: GSD,
        open: open - 1,
        total: plans.len(),
    };
    check_found(&scratch, &listed);
    let said = run(&scratch, &[]);
    // The plan that is not autonomous is for a person to see.
    assert_eq!(said.exit, 3, "{said:?}");
    let work = scratch.read("work.txt");
    let work: Vec<&str> = work.lines().collect();
    assert_eq!(work, ["02-01", "02-02", "02-03", "02.1-01"]);
    let said = scratch.piton(&["decide", "d1", "approve"]);
    assert_eq!(said.exit, 0, "{said:?}");
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    let after = scratch.read(path);
    let changed = changed_lines(listed.text, &after);
    assert_eq!(changed.len(), open, "{changed:?}");
    for (before, after) in changed {
        assert!(is_plan(&&*before), "{before}");
        assert_eq!(before.replacen("[ ]", "[x]", 1), after);
    }
    let prompts = scratch.read("prompts.txt");
    for words in [
        "**02-01**: Sum the constituents",
        "It is a plan of Phase 2: Heights.",
        "`.planning/phases/02-heights/02-01-PLAN.md`",
    ] {
        assert!(prompts.contains(words), "{words}: {prompts}");
    }
}

#[test]
fn stories_of_bmad_are_worked_through_and_only_their_statuses_change() {
    let path = "_bmad-output/implementation-artifacts/sprint-status.yaml";
    let scratch = Scratch::new();
    scratch
        .write(path, BMAD)
        .write(
            "_bmad-output/implementation-artifacts/2-1-sum-constituents.md",
            "# Story 2.1\n\nStatus: ready-for-dev\n",
        )
        .agent(AGENT);
    let is_story = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let stories: Vec<&str> = BMAD.lines().filter(is_story).collect();
    let is_over = |line: &&&str| line.ends_with(": done") || line.ends_with(": archived");
    let open = stories.len() - stories.iter().filter(is_over).count();
    let listed = Listed {
        path,
        text: BMAD,
        open,
        total: stories.len(),
    };
    check_found(&scratch, &listed);
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert!(
        said.err.contains("`almost` is no status of BMAD"),
        "{said:?}"
    );
    let changed = changed_lines(listed.text, &scratch.read(path));
    let changed: Vec<(&str, &str)> = changed
        .iter()
        .map(|(before, after)| (before.trim(), after.trim()))
        .collect();
    assert_eq!(
        changed,
        [
            (
                "1-2-check-station-files: 'review' # by ada",
                "1-2-check-station-files: 'done' # by ada"
            ),
            ("1-3-list-stations:   backlog", "1-3-list-stations:   done"),
            (
                "2-1-sum-constituents: ready-for-dev",
                "2-1-sum-constituents: done"
            ),
            ("2-3-print: almost", "2-3-print: done"),
        ]
    );
    let prompts = scratch.read("prompts.txt");
    for words in [
        "**2-1-sum-constituents**: sum constituents",
        "`_bmad-output/implementation-artifacts/2-1-sum-constituents.md`",
        "Its status in the list is `review`.",
    ] {
        assert!(prompts.contains(words), "{words}: {prompts}");
    }
}

#[test]
fn plans_that_only_their_own_tool_can_run_are_named_and_left_alone() {
    for (path, text, name) in [
        (
            ".gsd/STATE.md",
            "# GSD State\n\n**Active Milestone:** M001 — Tides\n",
            "GSD 2",
        ),
        (
            "backlog/config.yml",
            "project_name: \"Tides\"\nstatuses: [\"To Do\", \"Done\"]\n",
            "Backlog.md",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.write(path, text).agent(AGENT);
        let found = scratch.json(&["init", "--dry-run"]);
        let file = &found["found"][0];
        assert_eq!(file["path"], path);
        assert_eq!(file["intent"], "leave-alone", "{file}");
        for plan in [&[][..], &[path]] {
            let said = run(&scratch, plan);
            assert_eq!(said.exit, 6, "{said:?}");
            assert!(said.err.contains(name), "{said:?}");
            assert!(said.err.contains("plan.foreign"), "{said:?}");
        }
        assert_eq!(scratch.read(path), text);
    }
}

/// A stand-in for `bd`, which notes its calls and closes the last one that it is given.
const BD: &str = r#"echo "$@" >> bd.txt
for id; do :; done
sed -i "/\"id\":\"$id\"/s/\"status\":\"[a-z_]*\"/\"status\":\"closed\"/" .beads/issues.jsonl
"#;

/// The issues that are open in an export, epics aside.
fn open_issues(text: &str) -> usize {
    let issues = text.lines().map(|line| {
        let issue: Value = serde_json::from_str(line).expect("an issue");
        issue
    });
    let is_open = |issue: &Value| {
        let status = issue["status"].as_str().unwrap_or_default();
        ["open", "in_progress", "blocked"].contains(&status) && issue["issue_type"] != "epic"
    };
    issues.filter(is_open).count()
}

#[test]
fn issues_of_beads_are_worked_through_and_closed_by_bd_where_it_is_installed() {
    let path = ".beads/issues.jsonl";
    let scratch = Scratch::new();
    scratch.write(path, BEADS).agent(AGENT);
    let open = open_issues(BEADS);
    let listed = Listed {
        path,
        text: BEADS,
        open,
        total: open + 2,
    };
    check_found(&scratch, &listed);
    // Without it the file stays as it is, and the person is told.
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert_eq!(scratch.read(path), BEADS);
    assert!(
        said.err
            .contains("`bd` is not installed: close what is done with `bd close -- tides-5"),
        "{said:?}"
    );
    let work = scratch.read("work.txt");
    assert_eq!(
        work.lines().collect::<Vec<_>>(),
        ["tides-5", "tides-1/tides-3", "tides-1/tides-2", "tides-9"]
    );
    // With it the next run closes what is done.
    let scratch = Scratch::new();
    scratch.write(path, BEADS).agent(AGENT);
    scratch.script("bin/bd", BD);
    let programs = std::env::var("PATH").unwrap_or_default();
    let programs = format!("{}:{programs}", scratch.file("bin").display());
    let mut command =
        scratch.command(&["run", "--agent", "./agent.sh", "--verdict", "exit-status"]);
    command.env("PATH", programs);
    // What the repository sets up for `bd` would run: a person has to trust that.
    command.env_remove("PITON_TEST_TRUST");
    let said = Said::of(&command.output().expect("it starts"));
    assert!(said.err.contains("[trust.needed]"), "{said:?}");
    assert!(!scratch.has("bd.txt") && !scratch.has("work.txt"));
    command.env("PITON_TEST_TRUST", "all");
    let said = Said::of(&command.output().expect("it starts"));
    assert_eq!(said.exit, 0, "{said:?}");
    let after = scratch.read(path);
    let changed = changed_lines(listed.text, &after);
    assert_eq!(changed.len(), open, "{after}");
    assert_eq!(open_issues(&after), 0, "{after}");
    let calls = scratch.read("bd.txt");
    assert!(
        calls.starts_with("close --reason Done, as piton recorded -- tides-5\n"),
        "{calls}"
    );
    assert_eq!(calls.lines().count(), open, "{calls}");
}

#[test]
fn an_issue_that_cannot_be_closed_keeps_no_other_from_being_closed() {
    let path = ".beads/issues.jsonl";
    let scratch = Scratch::new();
    scratch.write(path, BEADS).agent(AGENT);
    let refusal = "for id; do :; done\n[ \"$id\" = tides-5 ] && exit 1\n";
    scratch.script("bin/bd", &format!("{refusal}{BD}"));
    let programs = std::env::var("PATH").unwrap_or_default();
    let programs = format!("{}:{programs}", scratch.file("bin").display());
    let mut command =
        scratch.command(&["run", "--agent", "./agent.sh", "--verdict", "exit-status"]);
    command.env("PATH", programs);
    let said = Said::of(&command.output().expect("it starts"));
    assert_eq!(said.exit, 0, "{said:?}");
    assert_eq!(open_issues(&scratch.read(path)), 1, "{said:?}");
    let typed = "`tides-5` could not be closed: close what is done with `bd close -- tides-5`";
    assert!(said.err.contains(typed), "{said:?}");
}

#[test]
fn plans_of_gsd_that_come_later_keep_their_waves_and_their_approval() {
    let path = ".planning/ROADMAP.md";
    let scratch = Scratch::new();
    let roadmap = "# Roadmap\n\n### Phase 1: A\n\n- [ ] 01-01-PLAN.md — one\n";
    scratch.write(path, roadmap).agent(AGENT);
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    let more = "\n### Phase 2: B\n\n- [ ] 02-01-PLAN.md — two\n- [ ] 02-02-PLAN.md — three\n";
    let ticked = scratch.read(path);
    scratch
        .write(path, &format!("{ticked}{more}"))
        .write(".planning/phases/02-b/02-01-PLAN.md", &gsd_plan(2, false))
        .write(".planning/phases/02-b/02-02-PLAN.md", &gsd_plan(1, true));
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 3, "{said:?}");
    let work = scratch.read("work.txt");
    assert_eq!(
        work.lines().collect::<Vec<_>>(),
        ["01-01", "02-02", "02-01"]
    );
    assert!(scratch.read(path).contains("- [ ] 02-01"), "{said:?}");
}

#[test]
fn a_plan_with_a_null_byte_is_a_binary_file_and_is_not_run() {
    let scratch = Scratch::new();
    let text = "- [ ] one\0\n";
    scratch.write("tasks.md", text).agent(AGENT);
    let said = run(&scratch, &["tasks.md"]);
    assert_ne!(said.exit, 0, "{said:?}");
    assert!(said.err.contains("tasks.md is a binary file"), "{said:?}");
    assert!(!scratch.has("work.txt"));
    assert_eq!(scratch.read("tasks.md"), text);
}

#[test]
fn the_file_to_write_an_item_into_is_named_by_its_path() {
    let path = ".taskmaster/tasks/tasks.json";
    let scratch = Scratch::new();
    scratch.write(path, TASK_MASTER).agent(AGENT);
    let said = run(&scratch, &[path]);
    assert_eq!(said.exit, 0, "{said:?}");
    let said = scratch.piton(&["add", "More", "--in", path]);
    assert!(
        said.err
            .contains(&format!("the file of the plan, `{path}`")),
        "{said:?}"
    );
}
