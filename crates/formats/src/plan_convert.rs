//! A plan of one format in the form of another, and what that has no place for.

use jiff::Timestamp;
use piton_core::event::{ItemPlanned, RunPlanned};
use piton_core::journal::Stamp;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::{Actor, Event, EventId, ItemState, RunId, Tables};

use crate::json;
use crate::problem::{Problem, Source};
use crate::tree::Node;
use crate::{prd, sdlc, sprint, task};

/// A format of plans that can be turned into others.
pub const NAMES: &[&str] = &["sprint-progress", "prd-features", "task-file", "sdlc"];

/// What a format has no place for: what it is, and how many of them there are.
pub type Lost = (&'static str, usize);

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

/// The text of a plan in that format, and what of it has no place there.
#[must_use]
pub fn write(format: &str, plan: &Plan, now: Timestamp) -> (String, Vec<Lost>) {
    match format {
        "prd-features" => (
            list_of(plan),
            lost(plan, &[NESTING, MODELS, BREAKS, STATES]),
        ),
        "task-file" => {
            let lost = lost(plan, &[DEPENDENCIES, GATES, MODELS, BREAKS, STATES, WORDS]);
            (task_of(plan), lost)
        }
        "sdlc" => {
            let tables = tables(plan, sdlc::FACE, now);
            let text = sdlc::show(None, &tables, plan.run, now).ok().flatten();
            let lost = lost(plan, &[NESTING, GATES, MODELS, BREAKS, PROMPTS]);
            (text.unwrap_or_default(), lost)
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
            (text.unwrap_or_default(), Vec::new())
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

/// What may have no place in a format, and which items have it.
type Feature = (&'static str, fn(&Plan, &PlannedItem) -> bool);

const NESTING: Feature = ("items that hold others", |plan, item| !is_leaf(plan, item));
const MODELS: Feature = ("models", |_, item| item.model.is_some());
const BREAKS: Feature = ("breaks", |_, item| item.breakpoint);
const DEPENDENCIES: Feature = ("items that wait for others", |_, item| {
    !item.depends_on.is_empty()
});
const PROMPTS: Feature = ("prompts", |_, item| item.prompt.is_some());
const STATES: Feature = ("states other than done and to be done", |_, item| {
    !matches!(
        item.state,
        ItemState::Done | ItemState::Ready | ItemState::Pending
    )
});
const WORDS: Feature = ("prompts of several lines", |_, item| {
    item.prompt
        .as_deref()
        .is_some_and(|prompt| prompt.trim().lines().count() > 1)
});
const GATES: Feature = ("checks of single items", |plan, item| {
    item.gate.is_some() && common_gate(plan).is_none()
});

fn lost(plan: &Plan, features: &[Feature]) -> Vec<Lost> {
    let count = |(what, has): &Feature| {
        (
            *what,
            plan.items.iter().filter(|item| has(plan, item)).count(),
        )
    };
    features
        .iter()
        .map(count)
        .filter(|(_, count)| *count > 0)
        .collect()
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

fn list_of(plan: &Plan) -> String {
    let feature = |item: &PlannedItem| {
        let on = item.depends_on.iter().flat_map(|on| {
            let below = plan
                .items
                .iter()
                .filter(move |other| other.node.is_within(on) && is_leaf(plan, other));
            below.map(|other| Node::string(flat(other)))
        });
        let gate = item.gate.as_ref().map(|gate| gate.script.trim().to_owned());
        let mut pairs = vec![
            ("id", Node::string(flat(item))),
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
    let leaves = plan.items.iter().filter(|item| is_leaf(plan, item));
    let features = Node::seq(leaves.map(feature).collect());
    json::render(&Node::map([("features", features)]))
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
        let words = item.prompt.as_deref().unwrap_or(&item.id);
        text.push_str(&format!(
            "{indent}{number}. [{tick}] {}\n",
            in_a_line(words)
        ));
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

    const LIST: &str = r#"{"features": [
        {"id": "a", "description": "Lay it", "steps": ["x"], "passes": true, "may_depend_on": []},
        {"id": "b", "description": "Build it", "steps": [], "passes": false, "may_depend_on": ["a"],
         "verification": ["make test"]}
    ]}"#;

    fn plan() -> Plan {
        let run = RunId(RunId::PROJECT.0);
        let (plan, problems) = read(
            "prd-features",
            Source {
                name: "prd.json",
                text: LIST,
            },
            run,
        );
        assert!(problems.is_empty(), "{problems:?}");
        plan.expect("it can be read")
    }

    #[test]
    fn a_plan_in_any_other_format_is_a_plan_of_the_same_items() {
        let plan = plan();
        for format in NAMES {
            let (text, _) = write(format, &plan, Timestamp::UNIX_EPOCH);
            let (again, problems) = read(
                format,
                Source {
                    name: "x",
                    text: &text,
                },
                plan.run,
            );
            let again = again.unwrap_or_else(|| panic!("{format}: {problems:?}\n{text}"));
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
    fn what_has_no_place_is_counted() {
        let (text, lost) = write("task-file", &plan(), Timestamp::UNIX_EPOCH);
        assert!(text.contains("test_command: make test\n"), "{text}");
        assert!(
            lost.contains(&("items that wait for others", 1)),
            "{lost:?}"
        );
        let (_, lost) = write("prd-features", &plan(), Timestamp::UNIX_EPOCH);
        assert_eq!(lost, []);
    }
}
