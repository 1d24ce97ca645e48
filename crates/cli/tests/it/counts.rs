//! What `init`, `files check` and `files list` say that was taken of a file agrees
//! with a count of its lines that knows nothing of piton's readers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;
use serde_json::{Value, json};

use crate::harness::Scratch;

const SEEDS: u64 = 8;
/// Keys that no format has.
const INVENTED: [&str; 2] = ["colour", "tonnage"];

/// How many of a kind were taken, and how many were not.
type Counts = BTreeMap<&'static str, (usize, usize)>;

struct Format {
    file: &'static str,
    make: fn(&mut Chance) -> String,
    count: fn(&str) -> Counts,
}

const FORMATS: [Format; 10] = [
    Format {
        file: ".ralph/progress.json",
        make: log_of_ralph,
        count: |text| of_json(text, "\"id\":"),
    },
    Format {
        file: ".agent-os/progress/progress.json",
        make: log_of_agent_os,
        count: |text| of_json(text, "\"type\":"),
    },
    Format {
        file: ".ralph/progress.md",
        make: sessions,
        count: of_sessions,
    },
    Format {
        file: ".ralph/guardrails.md",
        make: rules,
        count: of_rules,
    },
    Format {
        file: ".ralph/activity.log",
        make: trace,
        count: of_trace,
    },
    Format {
        file: ".ralph/errors.log",
        make: trace,
        count: of_trace,
    },
    Format {
        file: "prd.json",
        make: stories,
        count: |text| of_json(text, "\"id\":"),
    },
    Format {
        file: "RALPH_TASK.md",
        make: criteria,
        count: of_criteria,
    },
    Format {
        file: "yard/PROGRESS.yaml",
        make: phases,
        count: of_phases,
    },
    Format {
        file: "state.json",
        make: issues,
        count: |text| of_json(text, "\"title\":"),
    },
];

// The counters: lines, and how they begin.

fn kinds(counts: &[(&'static str, usize, usize)]) -> Counts {
    let counts = counts.iter().filter(|(_, taken, left)| taken + left > 0);
    counts
        .map(|(what, taken, left)| (*what, (*taken, *left)))
        .collect()
}

/// The keys of lines that begin with one, known and invented.
fn keys<'t>(names: impl Iterator<Item = &'t str>) -> (usize, usize) {
    let (left, taken): (Vec<&str>, Vec<&str>) = names.partition(|name| INVENTED.contains(name));
    (taken.len(), left.len())
}

fn of_json(text: &str, entry: &str) -> Counts {
    let lines = || text.lines().map(str::trim);
    let entries = lines().filter(|line| line.starts_with(entry)).count();
    let names = lines().filter_map(|line| Some(line.strip_prefix('"')?.split_once("\":")?.0));
    // What an issue is called is a name of its own, and no key.
    let (taken, left) = keys(names.filter(|name| !name.starts_with("LIN-")));
    kinds(&[("entries", entries, 0), ("keys", taken, left)])
}

fn of_sessions(text: &str) -> Counts {
    let (mut entries, mut headings, mut ticks) = (0, (0, 0), (0, 0));
    let (mut in_session, mut in_completed) = (false, false);
    for line in text.lines() {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if level > 0 {
            let is_session = level == 2 && line.starts_with("## Session ");
            if level <= 2 {
                in_session = is_session;
            }
            in_completed = in_session && line == "### Completed";
            let is_taken = level == 1 || is_session || in_completed;
            entries += usize::from(is_session);
            headings.0 += usize::from(is_taken);
            headings.1 += usize::from(!is_taken);
        } else if line.starts_with("- [x]") {
            entries += usize::from(in_completed);
            ticks.0 += usize::from(in_completed);
            ticks.1 += usize::from(!in_completed);
        }
    }
    kinds(&[
        ("entries", entries, 0),
        ("headings", headings.0, headings.1),
        ("ticked boxes", ticks.0, ticks.1),
    ])
}

fn of_rules(text: &str) -> Counts {
    let is_field = |line: &str| line.starts_with("- **");
    let is_line = |line: &str| line.starts_with("- ") && !is_field(line);
    let is_titled = |line: &str| line.starts_with("### ");
    let is_rule = |line: &&str| is_line(line) || is_titled(line);
    let taken = text.lines().filter(is_rule).count();
    let left = text.lines().filter(|line| line.starts_with("> ")).count();
    kinds(&[("rules", taken, left)])
}

/// Of a log that is only added to, nothing is taken.
fn of_trace(text: &str) -> Counts {
    let entries = text.lines().filter(|line| line.starts_with('['));
    kinds(&[("entries", 0, entries.count())])
}

fn of_criteria(text: &str) -> Counts {
    let lines = || text.lines();
    let ticked = lines().filter(|line| line.contains("[x]")).count();
    let open = lines().filter(|line| line.contains("[ ]")).count();
    let front = lines().skip(1).take_while(|line| *line != "---");
    let (taken, left) = keys(front.filter_map(|line| Some(line.split_once(':')?.0)));
    kinds(&[
        ("entries", ticked + open, 0),
        ("ticked boxes", ticked, 0),
        ("keys", taken, left),
    ])
}

fn of_phases(text: &str) -> Counts {
    let lines = || text.lines().map(|line| line.trim_start_matches(['-', ' ']));
    let entries = lines().filter(|line| line.starts_with("id:")).count();
    let (taken, left) = keys(lines().filter_map(|line| Some(line.split_once(':')?.0)));
    kinds(&[("entries", entries, 0), ("keys", taken, left)])
}

// The files.

/// Invents a key now and then.
fn invent(chance: &mut Chance, of: &mut Value) {
    for name in INVENTED {
        if chance.below(4) == 0 {
            of[name] = json!("blue");
        }
    }
}

fn several(chance: &mut Chance, mut one: impl FnMut(&mut Chance, u64) -> Value) -> Vec<Value> {
    let count = 1 + chance.below(9);
    (1..=count).map(|nth| one(chance, nth)).collect()
}

fn pretty(of: &Value) -> String {
    serde_json::to_string_pretty(of).expect("JSON") + "\n"
}

fn log_of_ralph(chance: &mut Chance) -> String {
    let entries = several(chance, |chance, nth| {
        let mut entry = json!({
            "id": format!("US-{nth}"), "timestamp": format!("2026-01-15T09:00:{nth:02}Z"),
            "prd_id": "yard", "iteration": nth, "status": "completed", "summary": "Laid it",
        });
        invent(chance, &mut entry);
        entry
    });
    let learnings = several(chance, |_, nth| {
        json!({
            "id": format!("learning-{nth:04}"), "type": "tool-usage",
            "content": format!("Plank {nth} is soft"), "source_prd_id": "manual",
            "created_at": "2026-01-15T09:00:00Z", "still_valid": true,
        })
    });
    pretty(&json!({
        "version": "1.0", "created_at": "2026-01-15T09:00:00Z", "project_name": "yard",
        "entries": entries, "learnings": learnings, "patterns": [],
    }))
}

fn log_of_agent_os(chance: &mut Chance) -> String {
    let entries = several(chance, |chance, nth| {
        let mut entry = json!({
            "id": format!("entry-{nth}"), "timestamp": format!("2026-01-15T09:00:{nth:02}Z"),
            "type": "milestone_reached", "spec": "yard",
            // What a tool adds to the data is taken with them.
            "data": {"description": format!("Plank {nth}"), "weather": "calm"},
        });
        invent(chance, &mut entry);
        entry
    });
    pretty(&json!({"version": "1.0", "project": "yard", "entries": entries}))
}

fn sessions(chance: &mut Chance) -> String {
    let mut text = "# Progress Log\n\n".to_owned();
    for nth in 1..=2 + chance.below(6) {
        match chance.below(3) {
            0 => write!(
                text,
                "## Part {nth}\n\nThe hull.\n\n- [x] Frame {nth}\n- [ ] Rib\n\n"
            ),
            1 => write!(
                text,
                "## Session {nth} (2026-01-{nth:02})\n\n### Completed\n"
            ),
            _ => write!(
                text,
                "## Session {nth} (2026-02-{nth:02})\n\n### Thoughts\n\nNone.\n\n### Completed\n"
            ),
        }
        .expect("a string takes all");
        for plank in 0..chance.below(4) {
            writeln!(text, "- [x] Plank {nth}.{plank}").expect("a string takes all");
        }
        text.push('\n');
    }
    text
}

/// The shapes that real files show, in any order.
fn rules(chance: &mut Chance) -> String {
    let mut text = "# Guardrails\n\n".to_owned();
    for nth in 1..=3 + chance.below(9) {
        match chance.below(6) {
            0 => write!(text, "### Sign: Plank {nth}\n- **Trigger**: Before a cut\n- **Instruction**: Measure\n- **Added after**: The keel\n\n"),
            1 => write!(text, "### G{nth}: Look\n- **Trigger**: a\n- **Instruction**: b\n\n"),
            2 => write!(text, "### SIGN-{nth:03}:\n- **Pattern**: a short plank {nth}\n- **Fix**: glue\n\n"),
            3 => write!(text, "## Wood {nth}\n\n- Never saw {nth}\n- Ask {nth}\n\n"),
            4 => write!(text, "### RULE-{nth}: Never push {nth}\nIt sinks.\n\n"),
            _ => write!(text, "## About {nth}\n\n> Words {nth} of the yard.\n\n"),
        }
        .expect("a string takes all");
    }
    text
}

/// What ran, as tools log it, below the head that they begin with.
fn trace(chance: &mut Chance) -> String {
    let mut text = "# Log\n\n> What ran.\n\n*Nothing yet*\n\n═══════\nRalph Session Started: Mon Jan  5 18:37:57 +08 2026\n═══════\n\n".to_owned();
    for nth in 0..chance.below(9) {
        let words = match chance.below(4) {
            0 => "🟢 READ keel.rs (12 lines, ~1KB)",
            1 => "🟢 SHELL for plank in a b; do\n  saw $plank\ndone → exit 0",
            2 => "SHELL FAIL: make → exit 2 (attempt 1)",
            _ => "The mast fell",
        };
        let day = if chance.below(2) == 0 {
            ""
        } else {
            "2026-01-15 "
        };
        writeln!(text, "[{day}09:00:{nth:02}] {words}").expect("a string takes all");
    }
    text
}

fn stories(chance: &mut Chance) -> String {
    let stories = several(chance, |chance, nth| {
        let mut story = json!({
            "id": format!("US-{nth}"), "title": format!("Plank {nth}"),
            "acceptanceCriteria": ["it fits"], "passes": chance.below(2) == 0,
        });
        invent(chance, &mut story);
        story
    });
    pretty(&json!({"project": "yard", "branchName": "main", "userStories": stories}))
}

fn criteria(chance: &mut Chance) -> String {
    let mut text = "---\ntask: yard\n".to_owned();
    for name in INVENTED {
        if chance.below(2) == 0 {
            writeln!(text, "{name}: blue").expect("a string takes all");
        }
    }
    text.push_str("---\n# Yard\n\n");
    for nth in 0..=chance.below(9) {
        let mark = if chance.below(2) == 0 { "x" } else { " " };
        let line = if chance.below(2) == 0 { "-" } else { "1." };
        writeln!(text, "{line} [{mark}] Plank {nth} fits").expect("a string takes all");
    }
    text
}

fn phases(chance: &mut Chance) -> String {
    let mut text = "sprint-id: yard\nstatus: not-started\nphases:\n".to_owned();
    for nth in 0..=chance.below(9) {
        write!(
            text,
            "- id: US-{nth}\n  status: pending\n  prompt: Lay it\n"
        )
        .expect("a string takes all");
        if chance.below(3) == 0 {
            text.push_str("  colour: blue\n");
        }
    }
    text
}

fn issues(chance: &mut Chance) -> String {
    let issues = several(chance, |chance, nth| {
        let mut issue = json!({
            "repo": "yard", "title": format!("Plank {nth}"), "status": "ready", "blocked_by": [],
        });
        invent(chance, &mut issue);
        issue
    });
    let issues = issues.into_iter().enumerate();
    let issues = issues.map(|(nth, issue)| (format!("LIN-{nth}"), issue));
    let issues: serde_json::Map<String, Value> = issues.collect();
    pretty(&json!({
        "run_id": "yard", "phase": "EXECUTING", "phase_status": "in_progress", "issues": issues,
    }))
}

/// The counts of a report in words: `3 of 4 rules`, `1 ticked box`.
fn in_words(counts: &Counts) -> Vec<String> {
    let words = |(what, (taken, left)): (&&str, &(usize, usize))| {
        let total = taken + left;
        let what = match (*what, total) {
            ("entries", 1) => "entry",
            ("ticked boxes", 1) => "ticked box",
            (what, 1) => what.trim_end_matches('s'),
            (what, _) => what,
        };
        match left {
            0 => format!("{total} {what}"),
            _ => format!("{taken} of {total} {what}"),
        }
    };
    counts.iter().map(words).collect()
}

#[test]
fn the_report_of_adoption_agrees_with_a_count_of_lines() {
    let mut lefts = 0;
    for (format, seed) in FORMATS
        .iter()
        .flat_map(|one| (0..SEEDS).map(move |seed| (one, seed)))
    {
        let text = (format.make)(&mut Chance::seeded(salted(seed)));
        let counts = (format.count)(&text);
        lefts += counts.values().filter(|(_, left)| *left > 0).count();
        let scratch = Scratch::new();
        scratch.write(format.file, &text);
        let checked = scratch.piton(&["files", "check", "--json", format.file]);
        let checked: Value = serde_json::from_str(&checked.out).expect("JSON");
        let said = checked["adopted"][0]["counts"].as_array().cloned();
        let said = said.unwrap_or_default();
        let number = |of: &Value| of.as_u64().and_then(|of| usize::try_from(of).ok());
        let said: BTreeMap<&str, (usize, usize)> = said
            .iter()
            .map(|one| {
                let (taken, left) = (number(&one["taken"]), number(&one["left"]));
                let counts = (taken.expect("a count"), left.expect("a count"));
                (one["what"].as_str().expect("a kind"), counts)
            })
            .collect();
        assert_eq!(said, counts, "{} {seed}\n{text}", format.file);
        let listed = scratch.piton(&["files", "list"]).out;
        let begun = scratch.piton(&["init", "--yes"]);
        for words in in_words(&counts) {
            assert!(listed.contains(&words), "{words} {seed}: {listed}\n{text}");
            assert!(
                begun.err.contains(&words),
                "{words} {seed}: {}\n{text}",
                begun.err
            );
        }
        assert_eq!(scratch.read(format.file), text);
    }
    assert!(lefts > 10, "{lefts} lacked something");
}
