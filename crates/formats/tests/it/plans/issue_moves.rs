//! What becomes of each change that a person makes of `phase` and `phase_status`, and
//! of the status of an issue, in the file: accepted, asked about, or written again.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::issues::{STATE, at_phase, planned_at};
use super::*;

const PHASES: [&str; 6] = [
    "BOOTSTRAP",
    "DESIGN",
    "PLANNING",
    "TRACKING",
    "EXECUTING",
    "COMPLETED",
];
const PHASE_STATUSES: [&str; 4] = [
    "in_progress",
    "awaiting_approval",
    "awaiting_human",
    "completed",
];
const STATUSES: [&str; 7] = [
    "blocked",
    "ready",
    "implementing",
    "reviewing",
    "awaiting_human",
    "done",
    "failed",
];

fn by_person() -> piton_core::command::EditAuthor {
    piton_core::command::EditAuthor::Hand {
        by: "ada".to_owned(),
        brought: Vec::new(),
    }
}

/// A run that a file in this phase began, as piton shows it.
fn begun_at(phase: &str, status: &str) -> Desk {
    match phase {
        "EXECUTING" | "COMPLETED" => {
            let text = at_phase(phase, status);
            let mut desk = Desk::of(sdlc_plan(&text), &text);
            desk.show();
            desk
        }
        _ => planned_at(phase, status),
    }
}

/// A run of issues in which `A-3`, `Show`, has one status, and `A-2`, `Serve`, for which
/// it waits, another.
fn with_statuses(blocker: &str, status: &str) -> String {
    let text = with_status(STATE, "Serve", "blocked", blocker);
    with_status(&text, "Show", "blocked", status)
}

#[track_caller]
fn with_status(text: &str, title: &str, from: &str, to: &str) -> String {
    let now = |status: &str| format!("\"title\": \"{title}\", \"status\": \"{status}\"");
    assert_eq!(
        text.matches(&now(from)).count(),
        1,
        "{title} {from}\n{text}"
    );
    text.replacen(&now(from), &now(to), 1)
}

type States = BTreeMap<String, ItemState>;

fn states(desk: &Desk) -> States {
    let items = desk.tables.tree(RUN);
    items
        .map(|item| (item.plan.id.clone(), item.state))
        .collect()
}

/// What an edit did: to which items, what was asked, and what was told.
fn effect(desk: &mut Desk, before: &States) -> String {
    let mut told: Vec<String> = Vec::new();
    for (id, state) in states(desk) {
        let was = before.get(&id);
        if was != Some(&state) {
            told.push(format!("{id} {state}"));
        }
    }
    told.extend(desk.left().iter().map(|left| format!("asked: {left}")));
    told.extend(desk.problems.iter().map(|problem| problem.code.to_string()));
    match told.is_empty() {
        true => "-".to_owned(),
        false => told.join(", "),
    }
}

#[test]
fn case_49_what_becomes_of_each_change_of_a_phase_by_a_person() {
    let mut table = String::new();
    for phase in PHASES {
        for status in PHASE_STATUSES {
            let desk = begun_at(phase, status);
            let (shown, shown_status) = desk.words();
            writeln!(table, "{phase} {status}, as {shown} {shown_status}:").expect("a text");
            // Each effect with the changes that have it.
            let mut effects: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for to in PHASES {
                for to_status in PHASE_STATUSES {
                    if (to, to_status) == (&*shown, &*shown_status) {
                        continue;
                    }
                    let mut desk = begun_at(phase, status);
                    let before = states(&desk);
                    desk.set_words(to, to_status);
                    desk.take_in_as(by_person());
                    let effect = effect(&mut desk, &before);
                    desk.show();
                    let (now, now_status) = desk.words();
                    let effect = format!("{effect}; {now} {now_status}");
                    let changes = effects.entry(effect).or_default();
                    changes.push(format!("{to} {to_status}"));
                }
            }
            for (effect, changes) in effects {
                let changes = match changes.len() {
                    0..=6 => changes.join(", "),
                    count => format!("{count} others"),
                };
                writeln!(table, "  {changes}: {effect}").expect("a text");
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn case_49_what_becomes_of_each_change_of_a_status_by_a_person() {
    let mut table = String::new();
    for status in STATUSES {
        for to in STATUSES {
            if to == status {
                continue;
            }
            // `A-3` waits for `A-2`, and nothing waits for it.
            let blocker = if status == "blocked" { "ready" } else { "done" };
            let text = with_statuses(blocker, status);
            let mut desk = Desk::of(sdlc_plan(&text), &text);
            desk.show();
            let before = states(&desk);
            desk.text = with_status(&desk.text, "Show", status, to);
            desk.take_in_as(by_person());
            let effect = effect(&mut desk, &before);
            desk.show();
            let (state, _) = sdlc::parse_state(SourceText {
                name: "",
                text: &desk.text,
            });
            let state = state.expect("a state");
            let issue = state.issues.iter().find(|issue| issue.id == "A-3");
            let now = issue.and_then(|issue| issue.status).expect("it has one");
            writeln!(table, "{status} to {to}: {effect}; {}", now.as_str()).expect("a text");
        }
    }
    insta::assert_snapshot!(table);
}
