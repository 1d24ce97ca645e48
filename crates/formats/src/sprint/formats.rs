//! The format in the registry.

use jiff::Timestamp;
use piton_core::Tables;

use super::backlog;
use super::{
    Exporter, FACE, Layout, PROGRESS_SHAPE, PhaseNode, Progress, SPRINT_SHAPE, WORKFLOW_SHAPE,
    convert, detect_layout, edits, edits_without_base, import, name_of_node, native,
    parse_progress, render_progress, update_progress, worktree,
};
use crate::face::{CannotShow, Detected};
use crate::format::{ANYWHERE, Format, Role, Strict, UNNAMED, faults_of_yaml, has_key};
use crate::merge::rules::{Count, Merge, Settled, Syntax};
use crate::plan_file::{Changed, Shown};
use crate::plan_format::{
    IN_ONE_FILE, ItemUnit, ListBeside, PlanDocument, PlanFormat, PlanKind, PlanPlace, Templates,
    sound,
};
use crate::problem::{Problem, Source};
use crate::yaml::Node;

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
            role: Role::Progress,
            detect: detected,
            read: |source| parse_progress(source).1,
            strict: Strict::Yaml(&PROGRESS_SHAPE, "progress"),
            merge: Some(&MERGE),
            ..UNNAMED
        },
        Format {
            name: "sprint",
            face: FACE,
            about: "the definition of a sprint",
            paths: &["SPRINT.yaml"],
            folders: ANYWHERE,
            role: Role::Definition,
            detect: |text| has_key(text, "workflow"),
            read: faults_of_yaml,
            strict: Strict::Yaml(&SPRINT_SHAPE, "sprint"),
            ..UNNAMED
        },
        Format {
            name: "workflow",
            face: FACE,
            about: "a workflow of sprints",
            paths: &[".yaml", ".yml"],
            detect: is_workflow,
            read: faults_of_yaml,
            strict: Strict::Yaml(&WORKFLOW_SHAPE, "workflow"),
            ..UNNAMED
        },
    ],
    place: PlanPlace::Folder("PROGRESS.yaml"),
    example: Some("a folder with a SPRINT.yaml"),
    read: |source, of| {
        let (progress, problems) = parse_progress(source);
        let plan = progress.map(|progress| {
            let name = of.name.or_own(Some(&progress.sprint_id));
            import(&progress, of.run, &name, of.source)
        });
        sound((plan, problems))
    },
    document: |tables, run| Box::new(Exporter::new(tables, run)),
    templates: |native, _| templates(&native::sprint(native)),
    title: |row| native::sprint(row.native.as_ref()).sprint_id,
    worktree: |native| worktree::settings(&native::sprint(native)),
    conversions: convert::CONVERSIONS,
    title_of_native: name_of_node,
    list_beside: Some(ListBeside {
        name: backlog::NAME,
        count: backlog::count,
        with_new: backlog::with_new,
    }),
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
static MERGE: Merge = Merge {
    syntax: Syntax::Yaml,
    settled: &[
        ("status", Settled::Overtaken(ON_THE_WAY)),
        ("current", Settled::Greatest),
        ("last-activity", Settled::Greatest),
        ("started-at", Settled::Least),
        ("completed-at", Settled::Greatest),
        ("elapsed", Settled::Greatest),
        ("stats.total-phases", Settled::Ours),
        ("stats.completed-phases", Settled::Ours),
        ("stats.total-steps", Settled::Ours),
        ("stats.completed-steps", Settled::Ours),
        ("stats.current-iteration", Settled::Greatest),
        ("stats.max-iterations", Settled::Ours),
        // Why a run stands still is written anew by the run.
        ("pause-reason", Settled::Ours),
        ("breakpoint-phase-id", Settled::Ours),
        ("interrupted-at", Settled::Ours),
        ("interrupted-signal", Settled::Ours),
    ],
    recount,
    ..Merge::JSON
};

/// The counters of a text as they must be.
fn recount(text: &str) -> Vec<Count> {
    let Some(progress) = parse_progress(Source { name: "", text }).0 else {
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
        .filter_map(|(key, count)| Some((vec!["stats", key], Node::plain(count?.to_string()))))
        .collect()
}

fn detected(text: &str) -> Detected {
    match detect_layout(text) {
        Layout::Current => Detected::Ours,
        Layout::Empty => Detected::Empty,
        Layout::Unreadable => Detected::Unreadable,
        layout @ (Layout::TaskQueue | Layout::GoalDriven | Layout::Foreign(_)) => {
            Detected::Foreign(layout.describe())
        }
    }
}

fn is_workflow(text: &str) -> Detected {
    if has_key(text, "sprint-id") == Detected::Ours {
        return Detected::Foreign("the progress of a sprint".to_owned());
    }
    has_key(text, "phases")
}

fn templates(settings: &Progress) -> Templates {
    let get = |key: &str| {
        let prompts = settings.prompts.as_ref()?;
        prompts
            .get(key)
            .and_then(|node| node.as_str())
            .map(str::to_owned)
    };
    Templates {
        header: get("header"),
        position: get("position"),
        retry_warning: get("retry-warning"),
        instructions: get("instructions"),
        result_reporting: get("result-reporting"),
        ..Templates::default()
    }
}

pub(super) fn is_enabled(node: Option<&Node>) -> bool {
    node.and_then(|node| node.get("enabled"))
        .and_then(Node::as_bool)
        == Some(true)
}

/// The keys by which a sprint allows more than one thing after another.
#[must_use]
pub fn done_in_turn(progress: &Progress) -> Vec<&'static str> {
    let mut keys = Vec::new();
    let mut nodes: Vec<&PhaseNode> = progress.phases.iter().collect();
    while let Some(node) = nodes.pop() {
        keys.extend((node.parallel == Some(true)).then_some("parallel"));
        keys.extend((node.wait_for_parallel == Some(true)).then_some("wait-for-parallel"));
        keys.extend((!node.depends_on.is_empty()).then_some("depends-on"));
        nodes.extend(node.children.as_slice());
    }
    let is_parallel = |hook: &Node| hook.get("parallel").and_then(Node::as_bool) == Some(true);
    keys.extend(
        progress
            .enabled_hooks()
            .any(is_parallel)
            .then_some("parallel"),
    );
    keys.extend(is_enabled(progress.parallel_execution.as_ref()).then_some("parallel-execution"));
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl PlanDocument for Exporter {
    fn show(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        now: Timestamp,
    ) -> Result<Option<String>, CannotShow> {
        let progress = self.export(tables, now);
        Ok(progress.map(|progress| match present {
            Some(present) => update_progress(present, progress),
            None => render_progress(&progress),
        }))
    }

    fn edits(
        &mut self,
        base: Option<&str>,
        theirs: &str,
        shown: Shown<'_>,
        now: Timestamp,
    ) -> Result<Changed, Vec<Problem>> {
        let read = |text| {
            parse_progress(Source {
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
            (Some(base), _) => edits(&base, &theirs, shown),
            (None, Some(ours)) => edits_without_base(&ours, &theirs, shown),
            (None, None) => Changed::default(),
        };
        problems.append(&mut changed.problems);
        changed.problems = problems;
        Ok(changed)
    }
}
