//! Task lists of other tools: found where those put them, worked through to their end,
//! and changed by marks alone.

use crate::harness::{Said, Scratch};

const SPEC_KIT: &str = include_str!("../../../formats/tests/corpus/checklists/spec_kit.md");
const OPENSPEC: &str = include_str!("../../../formats/tests/corpus/checklists/openspec.md");
const KIRO: &str = include_str!("../../../formats/tests/corpus/checklists/kiro.md");
const CONDUCTOR: &str = include_str!("../../../formats/tests/corpus/checklists/conductor.md");

/// Where each lies, and how many of its items are open.
const LISTS: [(&str, &str, usize); 4] = [
    ("specs/001-tides/tasks.md", SPEC_KIT, 7),
    ("openspec/changes/stations/tasks.md", OPENSPEC, 5),
    (".kiro/specs/stations/tasks.md", KIRO, 4),
    ("conductor/tracks/stations_1/plan.md", CONDUCTOR, 4),
];

/// An agent that changes a file and says that it is done.
const AGENT: &str = "cat > prompts.tmp; cat prompts.tmp >> prompts.txt; echo \"$PITON_NODE\" >> work.txt\necho '<ralph>COMPLETE</ralph>'\n";

fn run(scratch: &Scratch, plan: &[&str]) -> Said {
    let mut args = vec!["run"];
    args.extend(plan);
    args.extend(["--agent", "./agent.sh", "--verdict", "exit-status"]);
    scratch.piton(&args)
}

#[test]
fn lists_of_other_tools_are_found_with_what_is_open_in_them() {
    let scratch = Scratch::new();
    for (path, text, _) in LISTS {
        scratch.write(path, text);
    }
    scratch
        .write("openspec/changes/archive/2026-01-01-old/tasks.md", OPENSPEC)
        .write("specs/002-notes/tasks.md", "# Notes\n\nno boxes\n")
        .write("TODO.md", "# Ideas\n\n- a boat\n");
    let found = scratch.json(&["init", "--dry-run"]);
    for (path, _, open) in LISTS {
        let files = found["found"].as_array().expect("files");
        let file = files.iter().find(|file| file["path"] == path);
        let file = file.unwrap_or_else(|| panic!("{path} is not found"));
        assert_eq!(file["items"]["open"], open, "{path}");
        assert_eq!(file["intent"], "run", "{path}");
        assert_eq!(file["command"], format!("piton run {path}"));
    }
    let several = run(&scratch, &[]);
    assert_eq!(several.exit, 2, "{several:?}");
    for (path, _, open) in LISTS {
        let named = format!("{path} ({open} open)");
        assert!(several.err.contains(&named), "{named}: {}", several.err);
    }
    assert!(!several.err.contains("archive"), "{}", several.err);
}

/// The same text with every mark as a blank.
fn without_marks(text: &str) -> String {
    let mut text = text.to_owned();
    for mark in ["[x]", "[X]", "[-]", "[~]", "[?]"] {
        text = text.replace(mark, "[ ]");
    }
    text
}

#[test]
fn a_list_is_worked_through_to_its_end_and_only_its_marks_change() {
    for (path, text, open) in LISTS {
        let scratch = Scratch::new();
        scratch.write(path, text).agent(AGENT);
        let said = run(&scratch, &[path]);
        // What a person is to see waits for that.
        let waits = path.starts_with("conductor");
        assert_eq!(said.exit, if waits { 3 } else { 0 }, "{path}: {said:?}");
        let after = scratch.read(path);
        assert_eq!(without_marks(&after), without_marks(text), "{path}");
        let is_open = |line: &&str| {
            let line = line.trim_start_matches([' ', '*', '-', '+', '.', ')'].as_slice());
            line.trim_start_matches(|c: char| c.is_ascii_digit() || ".) ".contains(c))
                .starts_with("[ ] ")
        };
        let left = after.lines().filter(is_open).count();
        let expect = match path {
            // A part of what is optional; an item in a fence.
            _ if path.starts_with(".kiro") || path.starts_with("specs") => 1,
            _ if waits => 1,
            _ => 0,
        };
        assert_eq!(left, expect, "{path}:\n{after}");
        let work = scratch.read("work.txt");
        assert_eq!(work.lines().count(), open, "{path}:\n{work}");
    }
}

#[test]
fn a_prompt_names_the_documents_that_are_there() {
    let scratch = Scratch::new();
    scratch
        .write("specs/001-tides/tasks.md", SPEC_KIT)
        .write("specs/001-tides/spec.md", "# Tides\n")
        .write("specs/001-tides/contracts/api.md", "# API\n")
        .agent(AGENT);
    let said = run(&scratch, &["--max-iterations", "1"]);
    assert!(said.exit != 1, "{said:?}");
    let prompt = scratch.read("prompts.txt");
    assert!(
        prompt.contains("`specs/001-tides/spec.md`, `specs/001-tides/contracts`"),
        "{prompt}"
    );
    assert!(!prompt.contains("research.md"), "{prompt}");
    assert!(
        prompt.contains("Do this item of it: **T003 Read harmonic constants"),
        "{prompt}"
    );
    assert!(!prompt.contains("criterion"), "{prompt}");
}

#[test]
fn a_mark_that_is_not_known_is_worked_on_and_told() {
    let scratch = Scratch::new();
    scratch
        .write("TODO.md", "- [x] done\n- [?] perhaps\n")
        .agent(AGENT);
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    assert!(
        said.err.contains("`[?]` is no mark that piton knows"),
        "{said:?}"
    );
    assert_eq!(scratch.read("TODO.md"), "- [x] done\n- [x] perhaps\n");
}

#[test]
fn a_bare_run_takes_the_only_plan_with_open_items() {
    let scratch = Scratch::new();
    scratch
        .write("TODO.md", "- [x] done\n")
        .write("specs/002-next/tasks.md", SPEC_KIT)
        .agent(AGENT);
    let said = run(&scratch, &[]);
    assert_eq!(said.exit, 0, "{said:?}");
    let status = scratch.piton(&["status", "002-next"]);
    assert_eq!(status.exit, 0, "{status:?}");
}

#[test]
fn the_folder_of_a_list_stands_for_the_list() {
    for (folder, name) in [
        ("specs/002-next", "tasks.md"),
        ("conductor/tracks/core/stations_1", "plan.md"),
    ] {
        let scratch = Scratch::new();
        scratch
            .write(&format!("{folder}/{name}"), "- [ ] T001 One\n")
            .agent(AGENT);
        let said = run(&scratch, &[folder]);
        assert_eq!(said.exit, 0, "{said:?}");
        let read = scratch.read(&format!("{folder}/{name}"));
        assert_eq!(read, "- [x] T001 One\n");
    }
    // Other folders do not become plans by a file of that name.
    let scratch = Scratch::new();
    scratch.write("notes/tasks.md", "- [ ] T001 One\n");
    let said = run(&scratch, &["notes"]);
    assert!(said.err.contains("notes holds no plan"), "{said:?}");
}

#[test]
fn a_plan_of_conductor_is_found_below_a_folder_of_tracks() {
    let scratch = Scratch::new();
    let path = "conductor/tracks/core/stations_1/plan.md";
    scratch.write(path, CONDUCTOR);
    let said = scratch.piton(&["init", "--yes"]);
    assert!(said.out.contains(&format!("piton run {path}")), "{said:?}");
    let said = scratch.piton(&["run", "--dry-run", "--agent", "true"]);
    assert_eq!(said.exit, 0, "{said:?}");
}
