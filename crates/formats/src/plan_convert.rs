//! A plan of one format in the form of another, and what that has no place for.

mod lost;

use jiff::Timestamp;
use piton_core::event::{ItemPlanned, RunPlanned};
use piton_core::journal::Stamp;
use piton_core::native::Native;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::{Actor, Event, EventId, ItemState, Node as CoreNode, Place, RunId, Tables};

use crate::json;
use crate::problem::{Problem, Source};
use crate::tree::Node;
use crate::{prd, sdlc, sprint, task};

pub use self::lost::{Lost, lost};

/// A format of plans that can be turned into others.
pub const NAMES: &[&str] = &["sprint-progress", "prd-features", "task-file", "sdlc"];

/// The plan in a text of that format; none when it cannot be read.
#[must_use]
pub fn read(format: &str, source: Source<'_>, run: RunId) -> (Option<Plan>, Vec<Problem>) {
    let name = "plan";
    match format {
        "prd-features" => {
            let (list, problems) = prd::read(source);
            let plan = list.map(|list| prd::import(&list, run, name, ""));
            (sound(plan, &problems), problems)
        }
        "task-file" => {
            let (task, problems) = task::read(source);
            let plan = Some(task::import(&task, run, &title(&task), ""));
            (sound(plan, &problems), problems)
        }
        "sdlc" => {
            let (state, problems) = sdlc::read(source);
            let plan = state.map(|state| {
                let name = state.run_id.clone().unwrap_or_else(|| name.to_owned());
                sdlc::import(&state, run, &name, "")
            });
            (sound(plan, &problems), problems)
        }
        _ => {
            let (progress, problems) = sprint::parse_progress(source);
            let plan =
                progress.map(|progress| sprint::import(&progress, run, &progress.sprint_id, ""));
            (sound(plan, &problems), problems)
        }
    }
}

fn sound(plan: Option<Plan>, problems: &[Problem]) -> Option<Plan> {
    plan.filter(|_| !problems.iter().any(Problem::is_error))
}

fn title(task: &task::Task) -> String {
    let front = task.front.as_ref().and_then(|front| front.task.clone());
    front
        .or_else(|| task.title.clone())
        .unwrap_or_else(|| "task".to_owned())
}

/// The text of a plan in that format.
#[must_use]
pub fn write(format: &str, plan: &Plan, now: Timestamp) -> String {
    match format {
        "prd-features" => list_of(&flattened(plan)),
        "task-file" => task_of(plan),
        "sdlc" => {
            let plan = issues_of(&flattened(plan));
            let tables = tables(&plan, sdlc::FACE, now);
            let text = sdlc::show(None, &tables, plan.run, now).ok().flatten();
            text.unwrap_or_default()
        }
        _ => {
            let tables = tables(plan, sprint::FACE, now);
            let progress = sprint::Exporter::new(&tables, plan.run).export(&tables, now);
            let text = progress.map(|mut progress| {
                if progress.sprint_id.is_empty() {
                    progress.sprint_id.clone_from(&plan.name);
                }
                progress.last_activity = None;
                sprint::render_progress(&progress)
            });
            text.unwrap_or_default()
        }
    }
}

/// The rows of a plan as if it had just been planned, in the words of a format.
fn tables(plan: &Plan, face: &str, now: Timestamp) -> Tables {
    let stamp = Stamp {
        id: EventId(plan.run.0),
        position: 1,
        time: now,
        actor: Actor::File(plan.source.clone()),
    };
    let mut tables = Tables::default();
    let own =
        |native: Option<piton_core::native::Native>| native.filter(|native| native.face == face);
    let planned = Event::RunPlanned(Box::new(RunPlanned {
        run: plan.run,
        name: plan.name.clone(),
        face: face.to_owned(),
        source: plan.source.clone(),
        policy: plan.policy.clone(),
        order: Some(plan.order),
        native: own(plan.native.clone()),
        past: plan.past.clone(),
    }));
    tables.fold(&planned, &stamp);
    for item in &plan.items {
        let event = Event::ItemPlanned(Box::new(ItemPlanned {
            run: plan.run,
            item: PlannedItem {
                native: own(item.native.clone()),
                ..item.clone()
            },
        }));
        tables.fold(&event, &stamp);
    }
    tables
}

fn is_leaf(plan: &Plan, item: &PlannedItem) -> bool {
    !plan
        .items
        .iter()
        .any(|other| other.node.parent().as_ref() == Some(&item.node))
}

/// The check that every item has that has one.
fn common_gate(plan: &Plan) -> Option<&str> {
    let mut gates = plan.items.iter().filter_map(|item| item.gate.as_ref());
    let first = gates.next()?;
    gates
        .all(|gate| gate.script == first.script)
        .then_some(&*first.script)
}

/// The name of an item where names have no levels.
fn flat(item: &PlannedItem) -> String {
    if item.node.parent().is_none() {
        item.id.clone()
    } else {
        item.node.as_str().replace('/', ".")
    }
}

/// The same work without levels: what only holds others is left out, and what
/// it waits for is waited for by what it holds.
fn flattened(plan: &Plan) -> Plan {
    let leaves = plan.items.iter().filter(|item| is_leaf(plan, item));
    let items = leaves.zip(0..).map(|(item, index)| {
        let above = |other: &&PlannedItem| item.node.is_within(&other.node);
        let on = plan.items.iter().filter(above);
        let on = on
            .flat_map(|other| &other.depends_on)
            .flat_map(|on| lost::leaves_within(plan, on));
        let mut depends_on: Vec<CoreNode> = Vec::new();
        for node in on.map(|on| CoreNode::child(None, &flat(on), 1)) {
            if !depends_on.contains(&node) {
                depends_on.push(node);
            }
        }
        PlannedItem {
            node: CoreNode::child(None, &flat(item), 1),
            id: flat(item),
            place: Place::default().child(index),
            depends_on,
            ..item.clone()
        }
    });
    Plan {
        items: items.collect(),
        ..plan.clone()
    }
}

/// The plan with an issue for each item that was none.
fn issues_of(plan: &Plan) -> Plan {
    let issue = |item: &PlannedItem| {
        let is_one = |native: &Native| native.face == sdlc::FACE;
        if item.native.as_ref().is_some_and(is_one) {
            return item.clone();
        }
        let on = plan.items.iter();
        let on = on.filter(|other| item.depends_on.contains(&other.node));
        let blocked_by = on.map(|other| other.id.clone()).collect();
        PlannedItem {
            native: Some(sdlc::issue(&item.id, &words_of(item), blocked_by)),
            ..item.clone()
        }
    };
    Plan {
        items: plan.items.iter().map(issue).collect(),
        ..plan.clone()
    }
}

fn list_of(plan: &Plan) -> String {
    let feature = |item: &PlannedItem| {
        let ids = plan.items.iter();
        let on = ids.filter(|other| item.depends_on.contains(&other.node));
        let on = on.map(|other| Node::string(other.id.clone()));
        let gate = item.gate.as_ref().map(|gate| gate.script.trim().to_owned());
        let mut pairs = vec![
            ("id", Node::string(item.id.clone())),
            (
                "description",
                Node::string(item.prompt.clone().unwrap_or_else(|| item.id.clone())),
            ),
            ("steps", Node::seq(Vec::new())),
            ("passes", Node::bool(item.state == ItemState::Done)),
            ("may_depend_on", Node::seq(on.collect())),
        ];
        pairs.extend(gate.map(|gate| ("verification", Node::seq(vec![Node::string(gate)]))));
        Node::map(pairs)
    };
    let features = Node::seq(plan.items.iter().map(feature).collect());
    json::render(&Node::map([("features", features)]))
}

/// What an item is, in a line.
fn words_of(item: &PlannedItem) -> String {
    let words = task::words_of(item).or_else(|| item.prompt.clone());
    in_a_line(words.as_deref().unwrap_or(&item.id))
}

fn task_of(plan: &Plan) -> String {
    let name = in_a_line(&plan.name);
    let mut front = Node::map([("task", Node::string(name.clone()))]);
    if let Some(gate) = common_gate(plan) {
        let test = Node::string(gate.trim().to_owned());
        front = Node::map([("task", Node::string(name.clone())), ("test_command", test)]);
    }
    let mut text = format!("---\n{}---\n\n# {name}\n\n", crate::yaml::emit(&front));
    for item in &plan.items {
        let indent = "   ".repeat(item.place.depth().saturating_sub(1));
        let number = item.place.0.last().map_or(1, |index| index + 1);
        let tick = if item.state == ItemState::Done {
            'x'
        } else {
            ' '
        };
        let words = words_of(item);
        text.push_str(&format!("{indent}{number}. [{tick}] {words}\n"));
    }
    text
}

/// The first line of a text that says anything.
fn in_a_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{"branchName": "feat/a-yard", "features": [
        {"id": "a", "description": "Lay it", "steps": ["with care"], "passes": true, "may_depend_on": []},
        {"id": "b", "description": "Build it", "steps": [], "passes": false, "may_depend_on": ["a"],
         "verification": ["make test"]}
    ]}"#;
    const TASK: &str = "---\ntask: A yard\nmax_iterations: 7\n---\n\n# A yard\n\nIn the open.\n\n1. [ ] It stands\n   1. [x] The keel is laid\n   2. [ ] It floats\n";
    const STATE: &str = r#"{"run_id": "2026-01-15-x", "prd_url": "https://example.org/x", "phase": "EXECUTING",
        "phase_status": "in_progress", "issues": {
          "X-1": {"repo": "shop", "title": "Lay it", "status": "done", "pr": "org/shop#1", "blocked_by": []},
          "X-2": {"repo": "shop", "title": "Build it", "status": "blocked", "pr": null, "blocked_by": ["X-1"]}
        }}"#;
    const SPRINT: &str = "sprint-id: s\nstatus: in-progress\nphases:\n  - id: dev\n    status: in-progress\n    steps:\n      - {id: one, prompt: Lay it, status: completed, model: opus, phases: []}\n      - {id: two, prompt: Build it, status: pending, break: true, phases: []}\ncurrent: {phase: 0, step: 1, sub-phase: null}\nstats: {}\n";

    fn source(text: &str) -> Source<'_> {
        Source { name: "x", text }
    }

    fn plan(format: &str, text: &str) -> Plan {
        let (plan, problems) = read(format, source(text), RunId::PROJECT);
        plan.unwrap_or_else(|| panic!("{format}: {problems:?}\n{text}"))
    }

    /// What is lost on the way, one a line.
    fn on_the_way(from: &str, to: &str, text: &str) -> String {
        let plan = plan(from, text);
        let written = write(to, &plan, Timestamp::UNIX_EPOCH);
        let lost = lost((from, text, &plan), (to, &written));
        let lines = lost
            .iter()
            .map(|lost| format!("{} {}", lost.count, lost.what));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_plan_in_any_other_format_is_a_plan_of_the_same_items() {
        let plan = plan("prd-features", LIST);
        for format in NAMES {
            let text = write(format, &plan, Timestamp::UNIX_EPOCH);
            let again = self::plan(format, &text);
            assert_eq!(again.items.len(), plan.items.len(), "{format}: {text}");
            let done = |plan: &Plan| {
                plan.items
                    .iter()
                    .map(|item| item.state == ItemState::Done)
                    .collect::<Vec<_>>()
            };
            assert_eq!(done(&again), done(&plan), "{format}: {text}");
        }
    }

    #[test]
    fn a_list_keeps_what_it_says_in_a_list() {
        insta::assert_snapshot!(on_the_way("prd-features", "prd-features", LIST), @r"
        1 branchName
        ");
    }

    #[test]
    fn of_a_list_what_has_no_place_is_counted() {
        insta::assert_snapshot!(on_the_way("prd-features", "task-file", LIST), @r"
        1 dependencies
        1 branchName
        1 steps
        ");
        insta::assert_snapshot!(on_the_way("prd-features", "sdlc", LIST), @r"
        1 checks
        1 branchName
        1 steps
        1 verification
        ");
        insta::assert_snapshot!(on_the_way("prd-features", "sprint-progress", LIST), @r"
        1 branchName
        ");
    }

    #[test]
    fn of_a_task_file_what_has_no_place_is_counted() {
        insta::assert_snapshot!(on_the_way("task-file", "task-file", TASK), @r"
        1 settings of retries, limits and commits
        2 lines
        ");
        insta::assert_snapshot!(on_the_way("task-file", "prd-features", TASK), @r"
        1 items that hold others
        1 settings of retries, limits and commits
        2 lines
        ");
        insta::assert_snapshot!(on_the_way("task-file", "sdlc", TASK), @r"
        1 items that hold others
        1 settings of retries, limits and commits
        5 lines
        ");
        insta::assert_snapshot!(on_the_way("task-file", "sprint-progress", TASK), @r"
        1 settings of retries, limits and commits
        2 lines
        ");
    }

    #[test]
    fn of_a_state_what_has_no_place_is_counted() {
        insta::assert_snapshot!(on_the_way("sdlc", "sdlc", STATE), @"");
        insta::assert_snapshot!(on_the_way("sdlc", "prd-features", STATE), @r"
        1 pr
        1 prd_url
        2 repo
        1 run_id
        ");
        insta::assert_snapshot!(on_the_way("sdlc", "task-file", STATE), @r"
        1 dependencies
        1 blocked_by
        1 pr
        1 prd_url
        2 repo
        ");
        insta::assert_snapshot!(on_the_way("sdlc", "sprint-progress", STATE), @r"
        1 pr
        1 prd_url
        2 repo
        ");
    }

    #[test]
    fn of_a_sprint_what_has_no_place_is_counted() {
        insta::assert_snapshot!(on_the_way("sprint-progress", "sprint-progress", SPRINT), @"");
        insta::assert_snapshot!(on_the_way("sprint-progress", "prd-features", SPRINT), @r"
        1 items that hold others
        1 models
        1 breaks
        ");
        insta::assert_snapshot!(on_the_way("sprint-progress", "task-file", SPRINT), @r"
        1 models
        1 breaks
        2 id
        ");
        insta::assert_snapshot!(on_the_way("sprint-progress", "sdlc", SPRINT), @r"
        1 items that hold others
        1 models
        1 breaks
        ");
    }
}
