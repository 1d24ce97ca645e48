//! A plan of one format in the form of another, and what that has no place for.

mod losses;
mod outline;

use jiff::Timestamp;
use piton_core::RunId;
use piton_core::plan::Plan;

use crate::format;
use crate::native_file::Detection;
use crate::plan_format::{Conversion, PlanContext, PlanFormat, PlanName};
use crate::problem::{Problem, SourceText};
use crate::registry;
use crate::title::{name_of_planned, words_of_planned};

pub use self::losses::ConversionLoss;
pub(crate) use self::losses::{has_words, words_of_text};
pub use self::outline::{ItemWords, Outline, OutsideWork, PlanHeader};
pub(crate) use self::outline::{bullet_list, first_line, tables_of_plan};

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
        ..PlanContext::of_text()
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

#[cfg(test)]
mod tests {
    use piton_core::ItemState;

    use super::outline::is_leaf;
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
