//! A plan of one format in the form of another, and what that has no place for.

mod losses;

use jiff::Timestamp;
use piton_core::event::{ItemEvent, ItemPlanned, RunEvent, RunPlanned};
use piton_core::journal::EventStamp;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::{Actor, Event, EventId, Node as CoreNode, RunId, Tables, TreePosition};

use crate::format;
use crate::native_file::Detection;
use crate::plan_format::{Conversion, PlanContext, PlanFormat, PlanName};
use crate::problem::{Problem, SourceText};
use crate::registry;
use crate::title::{name_of_planned, words_of_planned};

pub use self::losses::ConversionLoss;
pub(crate) use self::losses::{has_words, words_of_text};

/// A plan, and what its file says in words that other formats have, too.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The plan.
    pub plan: Plan,
    /// What the file says of the whole.
    pub whole: PlanHeader,
    /// What it says of each item, in the order of the plan.
    pub words: Vec<ItemWords>,
}

/// What a file says of the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanHeader {
    /// The name of the project.
    pub project: Option<String>,
    /// The branch to work on.
    pub branch: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// The commands that must succeed for every item.
    pub checks: Vec<String>,
}

/// What a file says of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemWords {
    /// What it is called.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// What must be true in the end.
    pub criteria: Vec<String>,
    /// What to do, in order.
    pub steps: Vec<String>,
    /// What people or agents noted.
    pub notes: Option<String>,
    /// Where it comes in the order of work.
    pub priority: Option<f64>,
    /// The commands that must succeed for this item alone.
    pub checks: Vec<String>,
    /// Who works on it, where that is none of piton's.
    pub at_work: Option<OutsideWork>,
}

/// What is done to an item that piton itself has not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideWork {
    /// It is worked on.
    Implementing,
    /// The work is looked at.
    Reviewing,
}

impl ItemWords {
    /// What an item is, in a line.
    pub(crate) fn headline(&self, item: &PlannedItem) -> String {
        let said = [&self.title, &self.description, &item.prompt];
        let said = said
            .into_iter()
            .flatten()
            .find(|text| !text.trim().is_empty());
        first_line(said.unwrap_or(&item.id))
    }

    /// All that is said of it but the line: paragraphs, and lists of points.
    pub(crate) fn body_blocks(&self, item: &PlannedItem) -> Vec<String> {
        let line = self.headline(item);
        let texts = [&self.title, &self.description].into_iter().flatten();
        let texts: Vec<&str> = texts.map(|text| text.trim()).collect();
        // The first of them begins with the line.
        let head = texts.first().and_then(|text| text.strip_prefix(&*line));
        let rest = texts.get(1).filter(|text| **text != line);
        let blocks = head.into_iter().chain(rest.copied());
        let mut blocks: Vec<String> = blocks.map(|text| text.trim().to_owned()).collect();
        blocks.extend(bullet_list(&self.criteria));
        blocks.extend(bullet_list(&self.steps));
        blocks.extend(self.notes.clone());
        blocks.retain(|block| !block.trim().is_empty());
        blocks
    }
}

/// A list of points, as a paragraph.
pub(crate) fn bullet_list(points: &[String]) -> Option<String> {
    let lines: Vec<String> = points
        .iter()
        .map(|point| format!("- {}", point.trim()))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl Outline {
    fn new(conversion: Conversion, text: &str, plan: &Plan) -> Self {
        let words = plan.items.iter().map(|item| {
            let title = name_of_planned(item);
            let is_words = words_of_planned(item).is_some();
            let prompt = item.prompt.clone().filter(|_| !is_words);
            ItemWords {
                description: prompt.filter(|prompt| Some(prompt) != title.as_ref()),
                title,
                ..ItemWords::default()
            }
        });
        let mut outline = Self {
            words: words.collect(),
            whole: PlanHeader::default(),
            plan: plan.clone(),
        };
        (conversion.words)(text, &mut outline);
        outline
    }

    /// The items, each with its words.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&PlannedItem, &ItemWords)> {
        self.plan.items.iter().zip(&self.words)
    }

    /// The check that every item has that holds no others: a rule for all. What
    /// only some are checked by is none.
    pub(crate) fn common_check(&self) -> Option<String> {
        let leaves = || {
            self.plan
                .items
                .iter()
                .filter(|item| is_leaf(&self.plan, item))
        };
        let script = |item: &PlannedItem| Some(item.gate.as_ref()?.script.trim().to_owned());
        let first = leaves().next().and_then(script);
        let common =
            first.filter(|first| leaves().all(|item| script(item).as_ref() == Some(first)));
        common.or_else(|| crate::plan_file::script_of_commands(&self.whole.checks))
    }

    /// The same work without levels: what only holds others is left out, and what
    /// it waits for is waited for by what it holds.
    pub(crate) fn flatten(&self) -> Self {
        let plan = &self.plan;
        let leaves = self.items().filter(|(item, _)| is_leaf(plan, item));
        let (items, words) = leaves
            .zip(0..)
            .map(|((item, words), index)| (flat_item(plan, item, index), words.clone()))
            .unzip();
        Self {
            plan: Plan {
                items,
                ..plan.clone()
            },
            whole: self.whole.clone(),
            words,
        }
    }
}

fn flat_item(plan: &Plan, item: &PlannedItem, index: u32) -> PlannedItem {
    let above = |other: &&PlannedItem| item.node.is_within(&other.node);
    let on = plan.items.iter().filter(above);
    let on = on
        .flat_map(|other| &other.depends_on)
        .flat_map(|on| losses::leaves_within(plan, on));
    let mut depends_on: Vec<CoreNode> = Vec::new();
    for node in on.map(|on| CoreNode::child(None, &flat_name(on), 1)) {
        if !depends_on.contains(&node) {
            depends_on.push(node);
        }
    }
    PlannedItem {
        node: CoreNode::child(None, &flat_name(item), 1),
        id: flat_name(item),
        place: TreePosition::default().child(index),
        depends_on,
        ..item.clone()
    }
}

fn all_conversions() -> impl Iterator<Item = (&'static PlanFormat, Conversion)> {
    let formats = registry::plan_formats().iter();
    formats.flat_map(|format| format.conversions.iter().map(|one| (*format, *one)))
}

/// The formats of plans that can be turned into others.
#[must_use]
pub fn plan_format_names() -> Vec<&'static str> {
    all_conversions().map(|(_, one)| one.name).collect()
}

fn find_conversion(name: &str) -> Option<(&'static PlanFormat, Conversion)> {
    all_conversions().find(|(_, one)| one.name == name)
}

/// The plan in a text of that format; none when it cannot be read.
#[must_use]
pub fn parse_plan(
    format: &str,
    source: SourceText<'_>,
    run: RunId,
) -> (Option<Plan>, Vec<Problem>) {
    let of = PlanContext {
        run,
        name: PlanName::Own("plan"),
        source: "",
    };
    find_conversion(format).map_or_else(Default::default, |(format, _)| (format.read)(source, of))
}

/// The text of a plan in another format, given the text that it was read from,
/// and what of that it does not say. A text that is of that format stays as it is.
#[must_use]
pub fn convert(
    from: &str,
    text: &str,
    plan: &Plan,
    to: &str,
    now: Timestamp,
) -> (String, Vec<ConversionLoss>) {
    let is_of = format::format_named(to).is_some_and(|to| (to.detect)(text) == Detection::Ours);
    let (Some((format, source)), Some((other, target))) =
        (find_conversion(from), find_conversion(to))
    else {
        return (String::new(), Vec::new());
    };
    if std::ptr::eq(other, format) && is_of {
        return (text.to_owned(), Vec::new());
    }
    let outline = Outline::new(source, text, plan);
    let written = (target.write)(&outline, now);
    let read_back = SourceText {
        name: "",
        text: &written,
    };
    let again = parse_plan(to, read_back, RunId::PROJECT).0;
    let again = again.map(|plan| Outline::new(target, &written, &plan));
    let from = losses::ConversionText {
        plans: format,
        format: format::format_named(from),
        conversion: source,
        text,
    };
    let to = losses::ConversionText {
        plans: other,
        format: format::format_named(to),
        conversion: target,
        text: &written,
    };
    let lost = losses::find_losses(&from, &outline, &to, again.as_ref());
    (written, lost)
}

/// The rows of a plan as if it had just been planned, in the words of a format.
pub(crate) fn tables_of_plan(plan: &Plan, face: &str, now: Timestamp) -> Tables {
    let stamp = EventStamp {
        id: EventId(plan.run.0),
        position: 1,
        time: now,
        actor: Actor::File(plan.source.clone()),
        checkout: None,
    };
    let mut tables = Tables::default();
    let own =
        |native: Option<piton_core::native::Native>| native.filter(|native| native.face == face);
    let planned = Event::Run(RunEvent::Planned(Box::new(RunPlanned {
        run: plan.run,
        name: plan.name.clone(),
        face: face.to_owned(),
        source: plan.source.clone(),
        policy: plan.policy.clone(),
        order: Some(plan.order),
        native: own(plan.native.clone()),
        past: plan.past.clone(),
    })));
    tables.fold(&planned, &stamp);
    for item in &plan.items {
        let event = Event::Item(ItemEvent::Planned(Box::new(ItemPlanned {
            run: plan.run,
            item: PlannedItem {
                native: own(item.native.clone()),
                ..item.clone()
            },
        })));
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

/// The name of an item where names have no levels.
fn flat_name(item: &PlannedItem) -> String {
    if item.node.parent().is_none() {
        item.id.clone()
    } else {
        item.node.as_str().replace('/', ".")
    }
}

/// The first line of a text that says anything.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use piton_core::ItemState;

    use super::*;

    const LIST: &str = r#"{"features": [
        {"id": "a", "description": "Lay it", "steps": ["with care"], "passes": true, "may_depend_on": []},
        {"id": "b", "description": "Build it\n\nBy hand.", "steps": [], "passes": false, "may_depend_on": ["a"],
         "verification": ["make test"], "notes": "It leaks."}
    ]}"#;
    const STORIES: &str = r#"{"project": "Yard", "branchName": "feat/a-yard", "description": "In the open.",
        "userStories": [
        {"id": "US-1", "title": "Lay it", "description": "As a smith", "acceptanceCriteria": ["it holds"],
         "priority": 3, "passes": true},
        {"id": "US-2", "title": "Build it", "acceptanceCriteria": [], "priority": 7, "passes": false,
         "dependsOn": ["US-1"], "notes": "It leaks.", "claims": {"changed": "ask"}}
    ], "verification": ["make test"]}"#;
    const TASK: &str = "---\ntask: A yard\nmax_iterations: 7\ntest_command: make test\n---\n\n# A yard\n\nIn the open.\n\n1. [ ] It stands\n   1. [x] The keel is laid\n   2. [ ] It floats\n";
    const STATE: &str = r#"{"run_id": "2026-01-15-x", "prd_url": "https://example.org/x", "phase": "EXECUTING",
        "phase_status": "in_progress", "issues": {
          "X-1": {"repo": "shop", "title": "Lay it", "status": "done", "pr": "org/shop#1", "pr_number": 1,
                  "blocked_by": [], "review_iterations": 2, "human_iterations": 0},
          "X-2": {"repo": "shop", "title": "Build it", "status": "implementing", "pr": null, "blocked_by": ["X-1"]},
          "X-3": {"repo": "shop", "title": "Sell it", "status": "reviewing", "pr": null, "blocked_by": []},
          "X-4": {"repo": "shop", "title": "Burn it", "status": "failed", "pr": null, "blocked_by": []}
        }, "metrics": {"started_at": "2026-01-15T10:00:00Z", "totals": {"agent_spawns": 9}}}"#;
    const SPRINT: &str = "sprint-id: s\nstatus: in-progress\nphases:\n  - id: dev\n    status: in-progress\n    steps:\n      - {id: one, prompt: Lay it, status: completed, model: opus, phases: []}\n      - {id: two, prompt: Build it, status: in-progress, break: true, phases: [], gate: {script: make test, on-fail-prompt: Mend it, max-retries: 5, timeout: 60}}\ncurrent: {phase: 0, step: 1, sub-phase: null}\nstats: {}\n";

    const SOURCES: [(&str, &str); 5] = [
        ("sprint-progress", SPRINT),
        ("prd-features", LIST),
        ("prd-user-stories", STORIES),
        ("task-file", TASK),
        ("sdlc", STATE),
    ];

    fn source(text: &str) -> SourceText<'_> {
        SourceText { name: "x", text }
    }

    #[track_caller]
    fn plan(format: &str, text: &str) -> Plan {
        let (plan, problems) = parse_plan(format, source(text), RunId::PROJECT);
        plan.unwrap_or_else(|| panic!("{format}: {problems:?}\n{text}"))
    }

    fn converted(from: &str, to: &str, text: &str) -> (String, Vec<ConversionLoss>) {
        let plan = plan(from, text);
        convert(from, text, &plan, to, Timestamp::UNIX_EPOCH)
    }

    /// What is lost on the way, in a line.
    fn on_the_way(from: &str, to: &str, text: &str) -> String {
        let lost = converted(from, to, text).1;
        let lost = lost
            .iter()
            .map(|lost| format!("{} {}", lost.count, lost.what));
        lost.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn every_format_has_a_plan_here() {
        assert_eq!(plan_format_names(), SOURCES.map(|(name, _)| name));
    }

    #[test]
    fn a_plan_in_any_other_format_is_a_plan_of_the_same_work() {
        for (from, text) in SOURCES {
            let was = plan(from, text);
            let leaves = was.items.iter().filter(|item| is_leaf(&was, item));
            let done: Vec<bool> = leaves.map(|item| item.state == ItemState::Done).collect();
            for to in plan_format_names() {
                let (written, _) = converted(from, to, text);
                let again = plan(to, &written);
                let leaves = again.items.iter().filter(|item| is_leaf(&again, item));
                let now: Vec<bool> = leaves.map(|item| item.state == ItemState::Done).collect();
                assert_eq!(now, done, "{from} to {to}:\n{written}");
            }
        }
    }

    #[test]
    fn what_has_no_place_is_counted_for_each_pair_of_formats() {
        let mut table = String::new();
        for (from, text) in SOURCES {
            for to in plan_format_names() {
                let lost = on_the_way(from, to, text);
                table.push_str(&format!("{from} to {to}: {lost}\n"));
            }
        }
        insta::assert_snapshot!(table, @r"
    sprint-progress to sprint-progress: 
    sprint-progress to prd-features: 1 items that hold others, 1 states, 1 models, 1 limits of checks, 1 breaks, 1 on-fail-prompt, 1 sprint-id
    sprint-progress to prd-user-stories: 1 items that hold others, 1 states, 1 models, 1 limits of checks, 1 breaks, 1 on-fail-prompt
    sprint-progress to task-file: 1 states, 1 models, 1 checks, 1 breaks, 1 on-fail-prompt
    sprint-progress to sdlc: 1 items that hold others, 1 models, 1 checks, 1 breaks, 1 on-fail-prompt, 1 sprint-id
    prd-features to sprint-progress: 
    prd-features to prd-features: 
    prd-features to prd-user-stories: 
    prd-features to task-file: 1 dependencies, 1 checks
    prd-features to sdlc: 1 checks, 1 description, 1 notes, 1 steps
    prd-user-stories to sprint-progress: 1 branchName, 1 description, 2 priority
    prd-user-stories to prd-features: 1 branchName, 1 description, 2 priority, 1 project
    prd-user-stories to prd-user-stories: 
    prd-user-stories to task-file: 1 dependencies, 1 changed, 2 priority
    prd-user-stories to sdlc: 2 checks, 1 acceptanceCriteria, 1 branchName, 1 changed, 2 description, 1 notes, 2 priority, 1 project
    task-file to sprint-progress: 1 lines
    task-file to prd-features: 1 items that hold others, 1 settings of retries, limits and commits, 1 project name, 2 lines
    task-file to prd-user-stories: 1 items that hold others, 1 settings of retries, limits and commits, 2 lines
    task-file to task-file: 
    task-file to sdlc: 1 items that hold others, 2 checks, 1 settings of retries, limits and commits, 1 project name, 2 lines
    sdlc to sprint-progress: 1 states, 1 reviews by agents, 1 phase, 1 phase_status, 1 pr, 1 pr_number, 1 prd_url, 4 repo, 1 review_iterations, 1 started_at
    sdlc to prd-features: 3 states, 1 reviews by agents, 1 phase, 1 phase_status, 1 pr, 1 pr_number, 1 prd_url, 4 repo, 1 review_iterations, 1 run_id, 1 started_at
    sdlc to prd-user-stories: 3 states, 1 reviews by agents, 1 phase, 1 phase_status, 1 pr, 1 pr_number, 1 prd_url, 4 repo, 1 review_iterations, 1 started_at
    sdlc to task-file: 1 dependencies, 3 states, 1 reviews by agents, 1 phase, 1 phase_status, 1 pr, 1 pr_number, 1 prd_url, 4 repo, 1 review_iterations, 1 started_at
    sdlc to sdlc:
    ");
    }

    /// Whatever a document says stands in the other text, or is told of.
    #[test]
    fn nothing_is_lost_without_a_word() {
        for (from, text) in SOURCES {
            let Some((root, _)) =
                format::format_named(from).and_then(|format| format.parse_document(text))
            else {
                continue;
            };
            for to in plan_format_names() {
                let (written, lost) = converted(from, to, text);
                for (key, value) in losses::values_of(&root) {
                    let is_said = written.contains(&value)
                        || value.split('\n').all(|line| written.contains(line));
                    let is_told = lost.iter().any(|lost| lost.what == key);
                    let of_plan = [
                        "status",
                        "stats",
                        "model",
                        "script",
                        "max-retries",
                        "timeout",
                        "verification",
                        "totals",
                        "agent_spawns",
                        "passes",
                        "break",
                        "blocked_by",
                        "dependsOn",
                        "may_depend_on",
                        "step",
                    ];
                    assert!(
                        is_said || is_told || of_plan.contains(&&*key),
                        "{from} to {to}: {key} {value}\n{lost:?}\n{written}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_plan_of_the_format_that_is_asked_for_stays_as_it_is() {
        for (name, text) in SOURCES {
            assert_eq!(converted(name, name, text), (text.to_owned(), Vec::new()));
        }
        assert_eq!(
            converted("prd-features", "prd-user-stories", STORIES).0,
            STORIES
        );
    }

    #[test]
    fn the_check_of_one_story_is_no_rule_for_all() {
        let check = |from, text| {
            let (written, _) = converted(from, "task-file", text);
            let (task, _) = crate::task::parse_task(source(&written));
            task.front.and_then(|front| front.test_command)
        };
        assert_eq!(check("prd-features", LIST), None);
        assert_eq!(check("sprint-progress", SPRINT), None);
        let all = LIST.replace(
            r#""passes": true"#,
            r#""passes": true, "verification": "make test""#,
        );
        assert_eq!(check("prd-features", &all).as_deref(), Some("make test"));
        // What the list says of all of its stories holds for all.
        assert_eq!(
            check("prd-user-stories", STORIES).as_deref(),
            Some("make test")
        );
        let mixed = STORIES.replace(
            r#""passes": true"#,
            r#""passes": true, "verification": "make one""#,
        );
        assert_eq!(
            check("prd-user-stories", &mixed).as_deref(),
            Some("make test")
        );
        assert!(on_the_way("prd-user-stories", "task-file", &mixed).contains("1 checks"));
    }

    #[test]
    fn what_stories_say_is_kept_where_there_is_a_place_for_it() {
        let (features, _) = converted("prd-user-stories", "prd-features", STORIES);
        let (back, lost) = converted("prd-features", "prd-user-stories", &features);
        assert_eq!(lost, [], "{back}");
        let (list, _) =
            crate::prd::parse_prd(source(&converted("task-file", "prd-user-stories", TASK).0));
        let list = list.expect("a list");
        assert_eq!(list.items[1].title.as_deref(), Some("It floats"));
        assert_eq!(list.verification, ["make test"]);
    }

    #[test]
    fn what_another_story_says_does_not_hide_a_loss() {
        let text = r#"{"features": [
            {"id": "f1", "description": "Build", "steps": ["Test"], "passes": false, "notes": "Ship"},
            {"id": "f2", "description": "Test", "steps": [], "passes": false, "notes": "Test"},
            {"id": "f3", "description": "Ship", "steps": [], "passes": false, "notes": ""}]}"#;
        let lost = on_the_way("prd-features", "sdlc", text);
        assert_eq!(lost, "2 notes, 1 steps");
        for to in ["sprint-progress", "prd-user-stories", "task-file"] {
            assert_eq!(on_the_way("prd-features", to, text), "", "{to}");
        }
    }

    #[test]
    fn the_name_of_a_task_is_kept_or_told() {
        let text = "---\ntask: Serve\ntest_command: make check\n---\n\n1. [x] one\n2. [ ] two\n";
        for (to, expect) in [
            ("sprint-progress", ""),
            ("prd-features", "1 project name"),
            ("prd-user-stories", ""),
            ("sdlc", "2 checks, 1 project name"),
        ] {
            assert_eq!(on_the_way("task-file", to, text), expect, "{to}");
        }
        let (stories, _) = converted("task-file", "prd-user-stories", text);
        assert!(stories.contains(r#""project": "Serve""#), "{stories}");
    }

    #[test]
    fn a_box_in_the_words_of_a_story_is_no_criterion() {
        let text = r#"{"features": [{"id": "a", "description": "Lay it\n- [ ] not this\n```\n", "steps": ["[x] nor this"], "passes": false},
            {"id": "b", "description": "Build it", "steps": [], "passes": false}]}"#;
        let (written, _) = converted("prd-features", "task-file", text);
        assert_eq!(plan("task-file", &written).items.len(), 2, "{written}");
    }
}
