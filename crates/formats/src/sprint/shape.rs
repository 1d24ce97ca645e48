//! What `PROGRESS.yaml`, `SPRINT.yaml` and workflows must be, strictly.

use super::progress::{
    Children, GateStatus, GateTracking, NodePointer, PhaseNode, PhaseStatus, SprintGate,
    SprintHumanNeeded, SprintProgress, SprintStatus, Stats,
};
use super::wait::WAIT_SHAPE;
use super::worktree::CLEANUP_MODES;
use crate::record::{Columns, ValuePosition, WrittenValue, extra_pairs, record};
use crate::shape::{
    FieldShape, NamedShape, OtherKeys, Shape, TextShape, closed_map, optional_field, required_field,
};
use crate::yaml::ValueNode;

const TEXT: Shape = Shape::TEXT;
const COUNT: Shape = Shape::COUNT;
const TIME: Shape = Shape::DATE_TIME;
const TEXTS: Shape = Shape::List(&Shape::TEXT);
const ID: Shape = Shape::Text(TextShape::NotEmpty);
const MODEL: Shape = Shape::one_of(MODELS);
pub(super) const MODELS: &[&str] = &["sonnet", "opus", "haiku"];
const PHASE_STATUS: Shape = Shape::one_of(PhaseStatus::WORDS);
const SPRINT_STATUS: Shape = Shape::one_of(SprintStatus::WORDS);
const CATEGORIES: Shape = Shape::List(&Shape::one_of(RETRY_CATEGORIES));
pub(super) const RETRY_CATEGORIES: &[&str] =
    &["network", "rate-limit", "timeout", "validation", "logic"];
const CLEANUP: Shape = Shape::one_of(CLEANUP_MODES);
const PRIORITY: Shape = Shape::one_of(&["low", "medium", "high", "critical"]);
const INDEX_OR_NULL: Shape = Shape::Either(&[COUNT, Shape::Null]);
const TIME_OR_NULL: Shape = Shape::Either(&[TIME, Shape::Null]);

/// A `PROGRESS.yaml`.
pub static PROGRESS_SHAPE: Shape = closed_map(PROGRESS);

record! {
    static PROGRESS: SprintProgress {
        sprint_id: required_field("sprint-id", ID).with_about("The id of the sprint"),
        status: required_field("status", SPRINT_STATUS).with_about("Where the sprint stands"),
        phases: required_field("phases", Shape::List(&Shape::Named(&PHASE))),
        current: required_field("current", closed_map(CURRENT)).with_about("The node to go on with, counted from 0"),
        stats: required_field("stats", Shape::Named(&STATS_SHAPE)),
        parallel_tasks: optional_field("parallel-tasks", Shape::List(&Shape::Named(&PARALLEL_TASK))),
        settings.orchestration: optional_field("orchestration", Shape::Named(&ORCHESTRATION)),
        step_queue: optional_field("step-queue", Shape::List(&Shape::Named(&QUEUED_STEP))),
        settings.prompts: optional_field("prompts", PROMPTS),
        settings.worktree: optional_field("worktree", WORKTREE),
        settings.dependency_graph: optional_field("dependency-graph", Shape::List(&DEPENDENCIES)),
        settings.per_iteration_hooks: optional_field("per-iteration-hooks", Shape::List(&Shape::Named(&HOOK))),
        hook_tasks: optional_field("hook-tasks", Shape::List(&Shape::Named(&HOOK_TASK))),
        settings.retry: RETRY,
        settings.config: CONFIG,
        settings.parallel_execution: PARALLEL_EXECUTION,
        operator_queue: optional_field("operator-queue", Shape::List(&Shape::Named(&REQUEST))),
        last_activity: optional_field("last-activity", TIME).with_about("The last sign of life"),
        stop.pause_reason: optional_field("pause-reason", TEXT),
        stop.breakpoint_phase_id: optional_field("breakpoint-phase-id", TEXT),
        stop.error: optional_field("error", TEXT),
        stop.failed_phase: optional_field("failed-phase", TEXT),
        stop.blocked_at: optional_field("blocked-at", TIME),
        stop.human_needed: optional_field("human-needed", closed_map(HUMAN_NEEDED)),
        summary: optional_field("summary", TEXT),
        stop.interrupted_at: optional_field("interrupted-at", TIME),
        stop.interrupted_signal: optional_field("interrupted-signal", TEXT),
        ..extra
    }

    fn written_columns(&self) -> Columns<'_> {
        let mut columns = self.columns();
        if let Some((_, current)) = columns.iter_mut().find(|(key, _)| *key == "current") {
            *current = Some(WrittenValue::Record(&self.current, &self.current_extra));
        }
        columns
    }
}

// A phase, a step or a sub-phase. What each of them must have strictly differs
// in the first five keys.
record! {
    static NODE: PhaseNode {
        id: required_field("id", ID),
        status: required_field("status", PHASE_STATUS),
        prompt: optional_field("prompt", TEXT),
        children: optional_field("steps", Shape::List(&Shape::Named(&STEP))),
        children: optional_field("phases", Shape::List(&Shape::Named(&SUB_PHASE))),
        parallel: optional_field("parallel", Shape::Bool),
        wait_for_parallel: optional_field("wait-for-parallel", Shape::Bool),
        model: optional_field("model", MODEL),
        break_after: optional_field("break", Shape::Bool),
        gate: optional_field("gate", Shape::Named(&COMPILED_GATE)),
        progress.gate_tracking: optional_field("gate-tracking", Shape::Named(&TRACKING_SHAPE)),
        wait: WAIT,
        claims: CLAIMS,
        files: optional_field("files", TEXTS).with_about("The files or folders that it is about"),
        depends_on: optional_field("depends-on", TEXTS).with_about("Siblings that must be done before"),
        injected: optional_field("injected", Shape::Bool).with_about("Put in while the sprint ran"),
        injected_at: optional_field("injected-at", TIME),
        progress.started_at: optional_field("started-at", TIME),
        progress.completed_at: optional_field("completed-at", TIME),
        progress.elapsed: optional_field("elapsed", TEXT).with_about("HH:MM:SS"),
        progress.summary: optional_field("summary", TEXT),
        progress.error: optional_field("error", TEXT),
        progress.retry_count: optional_field("retry-count", COUNT),
        progress.next_retry_at: optional_field("next-retry-at", TIME),
        progress.human_needed: optional_field("human-needed", closed_map(HUMAN_NEEDED)),
        progress.commit: optional_field("commit", TEXT),
        ..extra
    }

    fn written_columns(&self) -> Columns<'_> {
        let mut columns = self.columns();
        let at = |name| columns.iter().position(|(key, _)| *key == name);
        // A step has them the other way round.
        if let (Children::Phases(_), Some(status), Some(prompt)) =
            (&self.children, at("status"), at("prompt"))
        {
            columns.swap(status, prompt);
        }
        columns
    }

    fn id(&self) -> &str {
        &self.id
    }
}

/// The keys of a kind of node: its own ones, and those that all kinds have.
const fn node_fields<const N: usize>(
    own: &[FieldShape],
    all_kinds: &[FieldShape],
) -> [FieldShape; N] {
    // Behind `id`, `status`, `prompt`, `steps` and `phases`.
    const SHARED_FROM: usize = 5;
    let mut all = [own[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < own.len() {
            own[at]
        } else {
            all_kinds[SHARED_FROM + at - own.len()]
        };
        at += 1;
    }
    all
}

static PHASE: NamedShape = NamedShape::closed_map("Phase", &PHASE_KEYS);

static PHASE_KEYS: [FieldShape; 25] = {
    let own = [
        required_field("id", ID),
        required_field("status", PHASE_STATUS),
        optional_field("prompt", TEXT).with_about("Of a phase without steps"),
        optional_field("steps", Shape::List(&Shape::Named(&STEP))),
    ];
    let mut fields = node_fields(&own, NODE);
    // The key `break`.
    fields[7] = fields[7].with_about("Whether the sprint stops behind it");
    fields
};

static STEP: NamedShape = NamedShape::closed_map("Step", &STEP_KEYS);

static STEP_KEYS: [FieldShape; 25] = {
    let own = [
        required_field("id", ID),
        required_field("prompt", TEXT),
        required_field("status", PHASE_STATUS),
        required_field("phases", Shape::List(&Shape::Named(&SUB_PHASE))),
    ];
    node_fields(&own, NODE)
};

static SUB_PHASE: NamedShape = NamedShape::closed_map("SubPhase", &SUB_PHASE_KEYS);

static SUB_PHASE_KEYS: [FieldShape; 24] = {
    let own = [
        required_field("id", ID),
        required_field("status", PHASE_STATUS),
        required_field("prompt", TEXT),
    ];
    node_fields(&own, NODE)
};

const WAIT: FieldShape = optional_field("wait", Shape::Named(&WAIT_SHAPE))
    .with_about("What it waits for before it begins");

const CLAIMS: FieldShape = optional_field("claims", Shape::CLAIMS)
    .with_about("What little proof is worth, as in piton's `[claims]`");

record! {
    static HUMAN_NEEDED: SprintHumanNeeded {
        reason: required_field("reason", TEXT),
        details: optional_field("details", TEXT),
        ..extra
    }

    fn read_record(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self> {
        let Some(reason) = node.get("reason").and_then(ValueNode::text) else {
            at.report_mistyped(node, "a mapping with `reason`");
            return None;
        };
        let details = node.get("details").filter(|details| !details.is_null());
        let details = details.and_then(ValueNode::text).map(str::to_owned);
        let mut extra = extra_pairs(node, &[]);
        extra.retain(|(key, _)| match key.as_str() {
            "reason" => false,
            // What is no text is kept as it stands.
            "details" => details.is_none(),
            _ => true,
        });
        Some(SprintHumanNeeded {
            reason: reason.to_owned(),
            details,
            extra,
        })
    }
}

static COMPILED_GATE: NamedShape = NamedShape::closed_map("Gate", GATE);

record! {
    static GATE: SprintGate {
        script: required_field("script", ID),
        on_fail_prompt: required_field("on-fail-prompt", ID),
        max_retries: required_field("max-retries", COUNT).with_about("How often the script runs in all"),
        timeout_s: required_field("timeout", Shape::Number { min: Some(0) }).with_about("Seconds"),
        ..extra
    }

    /// A gate in which something is missing is none.
    fn read_record(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self> {
        let text = |key| node.get(key).and_then(ValueNode::text).map(str::to_owned);
        let gate = text("script").and_then(|script| {
            Some(SprintGate {
                script,
                on_fail_prompt: text("on-fail-prompt")?,
                max_retries: node.get("max-retries").map_or(Some(3), ValueNode::as_u64)?,
                timeout_s: node.get("timeout").map_or(Some(60.0), ValueNode::as_f64)?,
                extra: extra_pairs(node, GATE),
            })
        });
        if gate.is_none() {
            at.report_mistyped(node, "a mapping with `script` and `on-fail-prompt`");
        }
        gate
    }
}

static TRACKING_SHAPE: NamedShape = NamedShape::closed_map("GateTracking", TRACKING);

record! {
    static TRACKING: GateTracking {
        attempts: required_field("attempts", COUNT),
        status: required_field("status", Shape::one_of(GateStatus::WORDS)),
        last_output: optional_field("last-output", TEXT),
        last_exit_code: optional_field("last-exit-code", Shape::Integer { min: None }),
        error: optional_field("error", TEXT),
        ..extra
    }
}

record! {
    static CURRENT: NodePointer {
        phase: required_field("phase", COUNT),
        step: required_field("step", INDEX_OR_NULL),
        sub_phase: required_field("sub-phase", INDEX_OR_NULL),
    }
}

static STATS_SHAPE: NamedShape = NamedShape::closed_map("Stats", STATS);

record! {
    static STATS: Stats {
        started_at: required_field("started-at", TIME_OR_NULL),
        completed_at: optional_field("completed-at", TIME_OR_NULL),
        total_phases: required_field("total-phases", COUNT).with_about("Top-level phases"),
        completed_phases: required_field("completed-phases", COUNT),
        total_steps: optional_field("total-steps", COUNT),
        completed_steps: optional_field("completed-steps", COUNT),
        elapsed: optional_field("elapsed", TEXT),
        current_iteration: optional_field("current-iteration", COUNT),
        max_iterations: optional_field("max-iterations", COUNT),
        ..extra
    }
}

static PARALLEL_TASK: NamedShape = NamedShape::closed_map(
    "ParallelTask",
    &[
        required_field("id", ID),
        optional_field("step-id", TEXT),
        optional_field("phase-id", TEXT),
        required_field(
            "status",
            Shape::one_of(&["spawned", "running", "completed", "failed"]),
        ),
        optional_field("pid", COUNT),
        optional_field("log-file", TEXT),
        optional_field("spawned-at", TIME),
        optional_field("completed-at", TIME),
        optional_field("exit-code", Shape::Integer { min: None }),
        optional_field("error", TEXT),
    ],
);

static ORCHESTRATION: NamedShape = NamedShape::closed_map(
    "Orchestration",
    &[
        required_field("enabled", Shape::Bool),
        optional_field("prompt", TEXT),
        optional_field(
            "insertStrategy",
            Shape::one_of(&["after-current", "end-of-phase", "custom"]),
        ),
        optional_field("autoApprove", Shape::Bool),
    ],
);

static QUEUED_STEP: NamedShape = NamedShape::closed_map(
    "QueuedStep",
    &[
        required_field("id", ID),
        required_field("prompt", TEXT),
        required_field("proposedBy", TEXT),
        required_field("proposedAt", TIME),
        optional_field("reasoning", TEXT),
        required_field("priority", PRIORITY),
        optional_field("depends-on", TEXTS),
    ],
);

const DEPENDENCIES: Shape = closed_map(&[
    required_field("phase-id", TEXT),
    required_field(
        "nodes",
        Shape::List(&closed_map(&[
            required_field("id", ID),
            required_field("depends-on", TEXTS),
            required_field("blocked-by", TEXTS),
        ])),
    ),
]);

static HOOK: NamedShape = NamedShape::closed_map(
    "Hook",
    &[
        required_field("id", ID),
        optional_field("workflow", TEXT),
        optional_field("prompt", TEXT),
        optional_field("parallel", Shape::Bool),
        optional_field("enabled", Shape::Bool),
    ],
);

static HOOK_TASK: NamedShape = NamedShape::closed_map(
    "HookTask",
    &[
        required_field("iteration", COUNT),
        required_field("hook-id", TEXT),
        required_field("status", TEXT),
        optional_field("spawned-at", TIME),
        optional_field("completed-at", TIME),
        optional_field("exit-code", Shape::Integer { min: None }),
        optional_field("transcript", TEXT),
    ],
);

static REQUEST: NamedShape = NamedShape::closed_map(
    "Request",
    &[
        required_field("id", ID),
        required_field("title", TEXT),
        required_field("description", TEXT),
        required_field("priority", PRIORITY),
        required_field(
            "type",
            Shape::one_of(&["bug", "improvement", "refactor", "test", "docs", "security"]),
        ),
        required_field(
            "status",
            Shape::one_of(&["pending", "approved", "rejected", "deferred", "backlog"]),
        ),
        required_field("created-at", TIME),
        required_field("discovered-in", TEXT).with_about("The path of the node: a > b > c"),
        optional_field("decided-at", TIME),
        optional_field("decision", Shape::Named(&DECISION)),
        optional_field("rejection-reason", TEXT),
        optional_field("deferred-until", DEFERRED),
        optional_field("context", Shape::Map(&[], OtherKeys::Open)),
    ],
);

const DEFERRED: Shape = Shape::one_of(&["end-of-phase", "end-of-sprint", "next-sprint"]);

static DECISION: NamedShape = NamedShape::closed_map(
    "Decision",
    &[
        required_field(
            "decision",
            Shape::one_of(&["approve", "reject", "defer", "backlog"]),
        ),
        required_field("reasoning", TEXT),
        optional_field(
            "injection",
            closed_map(&[
                required_field("position", POSITION),
                required_field("prompt", TEXT),
                optional_field("idPrefix", TEXT),
                optional_field("model", MODEL),
            ]),
        ),
        optional_field("deferredUntil", DEFERRED),
        optional_field("rejectionReason", TEXT),
    ],
);

const POSITION: Shape = Shape::Map(
    &[required_field(
        "type",
        Shape::one_of(&[
            "after-current",
            "after-step",
            "before-step",
            "end-of-phase",
            "end-of-workflow",
        ]),
    )],
    OtherKeys::Open,
);

const PROMPTS: Shape = closed_map(&[
    optional_field("header", TEXT),
    optional_field("position", TEXT),
    optional_field("retry-warning", TEXT),
    optional_field("instructions", TEXT),
    optional_field("result-reporting", TEXT),
]);

const WORKTREE: Shape = closed_map(&[
    required_field("enabled", Shape::Bool),
    optional_field("branch", ID),
    optional_field("path", ID),
    optional_field("cleanup", CLEANUP),
]);

const RETRY: FieldShape = optional_field(
    "retry",
    closed_map(&[
        optional_field("maxAttempts", COUNT),
        optional_field("backoffMs", Shape::List(&COUNT)),
        optional_field("retryOn", CATEGORIES),
    ]),
);

const CONFIG: FieldShape = optional_field(
    "config",
    closed_map(&[
        optional_field("max-tasks", COUNT),
        optional_field("max-iterations", COUNT),
        optional_field("time-box", TEXT).with_about("90s, 45m, 1h30m"),
        optional_field("auto-commit", Shape::Bool),
    ]),
);

const PARALLEL_EXECUTION: FieldShape = optional_field(
    "parallel-execution",
    closed_map(&[
        optional_field("enabled", Shape::Bool),
        optional_field("maxConcurrency", COUNT),
        optional_field(
            "onDependencyFailure",
            Shape::one_of(&["skip-dependents", "fail-phase", "continue"]),
        ),
    ]),
);

/// A `SPRINT.yaml`.
pub static SPRINT_SHAPE: Shape = closed_map(&[
    required_field("workflow", ID).with_about("A file in .claude/workflows"),
    optional_field(
        "collections",
        Shape::Each(&Shape::List(&Shape::Named(&ITEM))),
    )
    .with_about("What the phases with for-each go through"),
    optional_field("sprint-id", ID),
    optional_field("name", TEXT),
    optional_field("created", TEXT),
    optional_field("owner", TEXT),
    optional_field("model", MODEL),
    CONFIG,
    RETRY,
    optional_field("prompts", PROMPTS),
    optional_field("worktree", WORKTREE),
    optional_field(
        "per-iteration-hooks",
        Shape::Each(&closed_map(&[optional_field("enabled", Shape::Bool)])),
    ),
    PARALLEL_EXECUTION,
    // Of older forms, each of which is told of by name.
    FieldShape::tolerated("steps", Shape::Any),
    FieldShape::tolerated("goal", TEXT),
]);

static ITEM: NamedShape = NamedShape {
    name: "Item",
    shape: Shape::Map(
        &[
            required_field("prompt", ID),
            optional_field("id", ID),
            optional_field("workflow", ID),
            optional_field("model", MODEL),
            optional_field("depends-on", Shape::List(&ID)),
            WAIT,
        ],
        // Any other key is a variable of the prompts.
        OtherKeys::Open,
    ),
};

/// A workflow.
pub static WORKFLOW_SHAPE: Shape = closed_map(&[
    required_field("name", ID),
    optional_field("description", TEXT),
    optional_field("schema-version", TEXT),
    required_field("phases", Shape::List(&Shape::Named(&WORKFLOW_PHASE))),
    optional_field("model", MODEL),
    optional_field("orchestration", Shape::Named(&ORCHESTRATION)),
    optional_field(
        "worktree",
        closed_map(&[
            required_field("enabled", Shape::Bool),
            optional_field("branch-prefix", TEXT),
            optional_field("path-prefix", TEXT),
            optional_field("cleanup", CLEANUP),
        ]),
    ),
    optional_field("per-iteration-hooks", Shape::List(&Shape::Named(&HOOK))),
    FieldShape::tolerated("mode", TEXT),
]);

static WORKFLOW_PHASE: NamedShape = NamedShape::closed_map(
    "WorkflowPhase",
    &[
        required_field("id", ID),
        optional_field("prompt", ID),
        optional_field("for-each", ID),
        optional_field("workflow", ID),
        optional_field("collection", ID),
        optional_field("parallel", Shape::Bool),
        optional_field("wait-for-parallel", Shape::Bool),
        optional_field("model", MODEL),
        optional_field("break", Shape::Bool),
        CLAIMS,
        WAIT,
        optional_field(
            "gate",
            closed_map(&[
                required_field("script", ID),
                required_field(
                    "on-fail",
                    closed_map(&[
                        required_field("prompt", ID),
                        optional_field("max-retries", COUNT),
                    ]),
                ),
                optional_field("timeout", Shape::Number { min: Some(0) }),
            ]),
        ),
        // Words for people.
        FieldShape::tolerated("name", TEXT),
        FieldShape::tolerated("description", TEXT),
    ],
);
