//! The format in the registry.

use jiff::Timestamp;
use piton_core::Tables;

use super::backlog;
use super::field::is_enabled;
use super::{
    FACE, PROGRESS_SHAPE, PhaseNode, SPRINT_SHAPE, SprintExporter, SprintLayout, SprintProgress,
    WORKFLOW_SHAPE, collect_edits, collect_edits_without_base, convert, detect_layout,
    name_of_native, native, parse_progress, plan_of_progress, render_progress, update_progress,
    worktree,
};
use crate::format::{
    ANYWHERE, DocumentRole, Format, StrictCheck, UNNAMED, detect_yaml_key, yaml_problems,
};
use crate::merge::rules::{ConflictRule, CountedValue, MergeRules, Syntax};
use crate::native_file::{Detection, RenderError};
use crate::plan_file::{PlanChanges, ShownRun};
use crate::plan_format::{
    CompanionList, IN_ONE_FILE, ItemUnit, PlanDocument, PlanFinding, PlanFormat, PlanKind,
    PlanPlace, PlanWords, PromptTemplates, reject_broken_plan,
};
use crate::problem::{Problem, SourceText};
use crate::yaml::ValueNode;

/// Which files agents leave alone.
pub(crate) const FILES: &str = "Leave `.piton/`, `PROGRESS.yaml` and `SPRINT.yaml` alone.";

/// Sprints.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    kind: PlanKind::Sprint,
    unit: ItemUnit::NODES,
    formats: &[
        Format {
            name: "sprint-progress",
            face: FACE,
            about: "the progress of a sprint",
            paths: &["PROGRESS.yaml"],
            folders: ANYWHERE,
            role: DocumentRole::Progress,
            detect: detect_progress,
            read: |source| parse_progress(source).1,
            strict: StrictCheck::Yaml(&PROGRESS_SHAPE, "progress"),
            merge: Some(&MERGE),
            ..UNNAMED
        },
        Format {
            name: "sprint",
            face: FACE,
            about: "the definition of a sprint",
            paths: &["SPRINT.yaml"],
            folders: ANYWHERE,
            role: DocumentRole::Definition,
            detect: |text| detect_yaml_key(text, "workflow"),
            read: yaml_problems,
            strict: StrictCheck::Yaml(&SPRINT_SHAPE, "sprint"),
            ..UNNAMED
        },
        Format {
            name: "workflow",
            face: FACE,
            about: "a workflow of sprints",
            paths: &[".yaml", ".yml"],
            detect: detect_workflow,
            read: yaml_problems,
            strict: StrictCheck::Yaml(&WORKFLOW_SHAPE, "workflow"),
            ..UNNAMED
        },
    ],
    read: |source, of| {
        let (progress, problems) = parse_progress(source);
        let plan = progress.map(|progress| {
            let name = of.name.resolve(Some(&progress.sprint_id));
            plan_of_progress(&progress, of.run, &name, of.source)
        });
        reject_broken_plan(source.name, plan, problems)
    },
    document: |tables, run| Box::new(SprintExporter::new(tables, run)),
    worktree: |native| worktree::worktree_settings(&native::sprint_of_native(native)),
    conversions: convert::CONVERSIONS,
    list_beside: Some(CompanionList {
        name: backlog::NAME,
        count: backlog::count_backlog_requests,
        with_new: backlog::with_new_items,
    }),
    finding: PlanFinding {
        place: PlanPlace::Folder("PROGRESS.yaml"),
        example: Some("a folder with a SPRINT.yaml"),
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |native, _| templates_of_sprint(&native::sprint_of_native(native)),
        title: |row| native::sprint_of_native(row.plan.native.as_ref()).sprint_id,
        title_of_native: name_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

/// States of a sprint, a phase and a step that others come after, in their order.
const ON_THE_WAY: &[&str] = &[
    "pending",
    "not-started",
    "in-progress",
    "interrupted",
    "paused",
    "paused-at-breakpoint",
    "needs-human",
];

/// Phases and steps are known by their `id`.
static MERGE: MergeRules = MergeRules {
    syntax: Syntax::Yaml,
    settled: &[
        ("status", ConflictRule::Overtaken(ON_THE_WAY)),
        ("current", ConflictRule::Greatest),
        ("last-activity", ConflictRule::Greatest),
        ("started-at", ConflictRule::Least),
        ("completed-at", ConflictRule::Greatest),
        ("elapsed", ConflictRule::Greatest),
        ("stats.total-phases", ConflictRule::Ours),
        ("stats.completed-phases", ConflictRule::Ours),
        ("stats.total-steps", ConflictRule::Ours),
        ("stats.completed-steps", ConflictRule::Ours),
        ("stats.current-iteration", ConflictRule::Greatest),
        ("stats.max-iterations", ConflictRule::Ours),
        // Why a run stands still is written anew by the run.
        ("pause-reason", ConflictRule::Ours),
        ("breakpoint-phase-id", ConflictRule::Ours),
        ("interrupted-at", ConflictRule::Ours),
        ("interrupted-signal", ConflictRule::Ours),
    ],
    recount: recount_stats,
    ..MergeRules::JSON
};

/// The counters of a text as they must be.
fn recount_stats(text: &str) -> Vec<CountedValue> {
    let Some(progress) = parse_progress(SourceText { name: "", text }).0 else {
        return Vec::new();
    };
    let real = progress.derived_stats();
    let counts = [
        ("total-phases", Some(real.total_phases)),
        ("completed-phases", Some(real.completed_phases)),
        ("total-steps", real.total_steps),
        ("completed-steps", real.completed_steps),
    ];
    let counts = counts.into_iter();
    counts
        .filter_map(|(key, count)| Some((vec!["stats", key], ValueNode::plain(count?.to_string()))))
        .collect()
}

fn detect_progress(text: &str) -> Detection {
    match detect_layout(text) {
        SprintLayout::Current => Detection::Ours,
        SprintLayout::Empty => Detection::Empty,
        SprintLayout::Unreadable => Detection::Unreadable,
        layout
        @ (SprintLayout::TaskQueue | SprintLayout::GoalDriven | SprintLayout::Foreign(_)) => {
            Detection::Foreign(layout.describe())
        }
    }
}

fn detect_workflow(text: &str) -> Detection {
    if detect_yaml_key(text, "sprint-id") == Detection::Ours {
        return Detection::Foreign("the progress of a sprint".to_owned());
    }
    detect_yaml_key(text, "phases")
}

fn templates_of_sprint(settings: &SprintProgress) -> PromptTemplates {
    let get = |key: &str| {
        let prompts = settings.settings.prompts.as_ref()?;
        prompts
            .get(key)
            .and_then(|node| node.as_str())
            .map(str::to_owned)
    };
    PromptTemplates {
        header: get("header"),
        position: get("position"),
        retry_warning: get("retry-warning"),
        instructions: get("instructions"),
        result_reporting: get("result-reporting"),
        ..PromptTemplates::default()
    }
}

/// The keys by which a sprint allows more than one thing after another.
#[must_use]
pub fn parallel_keys(progress: &SprintProgress) -> Vec<&'static str> {
    let mut keys = Vec::new();
    let mut nodes: Vec<&PhaseNode> = progress.phases.iter().collect();
    while let Some(node) = nodes.pop() {
        keys.extend((node.parallel == Some(true)).then_some("parallel"));
        keys.extend((node.wait_for_parallel == Some(true)).then_some("wait-for-parallel"));
        keys.extend((!node.depends_on.is_empty()).then_some("depends-on"));
        nodes.extend(node.children.as_slice());
    }
    let is_parallel =
        |hook: &ValueNode| hook.get("parallel").and_then(ValueNode::as_bool) == Some(true);
    keys.extend(
        progress
            .enabled_hooks()
            .any(is_parallel)
            .then_some("parallel"),
    );
    keys.extend(
        is_enabled(progress.settings.parallel_execution.as_ref()).then_some("parallel-execution"),
    );
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl PlanDocument for SprintExporter {
    fn render(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        now: Timestamp,
    ) -> Result<Option<String>, RenderError> {
        let progress = self.export(tables, now);
        Ok(progress.map(|progress| match present {
            Some(present) => update_progress(present, progress),
            None => render_progress(&progress),
        }))
    }

    fn collect_edits(
        &mut self,
        base: Option<&str>,
        theirs: &str,
        shown: ShownRun<'_>,
        now: Timestamp,
    ) -> Result<PlanChanges, Vec<Problem>> {
        let read = |text| {
            parse_progress(SourceText {
                name: shown.file,
                text,
            })
        };
        let (theirs, mut problems) = read(theirs);
        let Some(theirs) = theirs.filter(|_| !problems.iter().any(Problem::is_error)) else {
            return Err(problems);
        };
        let base = base.and_then(|base| read(base).0);
        let ours = self.export(shown.tables, now);
        let mut changed = match (base, ours) {
            (Some(base), _) => collect_edits(&base, &theirs, shown),
            (None, Some(ours)) => collect_edits_without_base(&ours, &theirs, shown),
            (None, None) => PlanChanges::default(),
        };
        problems.append(&mut changed.problems);
        changed.problems = problems;
        Ok(changed)
    }
}
