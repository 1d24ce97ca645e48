//! What `PROGRESS.yaml`, `SPRINT.yaml` and workflows must be, strictly.

use super::progress::{
    Children, Current, Gate, GateStatus, GateTracking, HumanNeeded, PhaseNode, PhaseStatus,
    Progress, SprintStatus, Stats,
};
use super::read::{read_gate, read_human_needed};
use super::wait::WAIT_SHAPE;
use super::worktree::CLEANUP_MODES;
use crate::record::{At, Columns, Written, record};
use crate::shape::{Field, Named, Rest, Shape, Text, closed, may, must};
use crate::yaml::Node;

const TEXT: Shape = Shape::TEXT;
const COUNT: Shape = Shape::COUNT;
const TIME: Shape = Shape::DATE_TIME;
const TEXTS: Shape = Shape::List(&Shape::TEXT);
const ID: Shape = Shape::Text(Text::NotEmpty);
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
pub static PROGRESS_SHAPE: Shape = closed(PROGRESS);

record! {
    static PROGRESS: Progress {
        sprint_id: must("sprint-id", ID).about("The id of the sprint"),
        status: must("status", SPRINT_STATUS).about("Where the sprint stands"),
        phases: must("phases", Shape::List(&Shape::Named(&PHASE))),
        current: must("current", closed(CURRENT)).about("The node to go on with, counted from 0"),
        stats: must("stats", Shape::Named(&STATS_SHAPE)),
        parallel_tasks: may("parallel-tasks", Shape::List(&Shape::Named(&PARALLEL_TASK))),
        orchestration: may("orchestration", Shape::Named(&ORCHESTRATION)),
        step_queue: may("step-queue", Shape::List(&Shape::Named(&QUEUED_STEP))),
        prompts: may("prompts", PROMPTS),
        worktree: may("worktree", WORKTREE),
        dependency_graph: may("dependency-graph", Shape::List(&DEPENDENCIES)),
        per_iteration_hooks: may("per-iteration-hooks", Shape::List(&Shape::Named(&HOOK))),
        hook_tasks: may("hook-tasks", Shape::List(&Shape::Named(&HOOK_TASK))),
        retry: RETRY,
        config: CONFIG,
        parallel_execution: PARALLEL_EXECUTION,
        operator_queue: may("operator-queue", Shape::List(&Shape::Named(&REQUEST))),
        last_activity: may("last-activity", TIME).about("The last sign of life"),
        pause_reason: may("pause-reason", TEXT),
        breakpoint_phase_id: may("breakpoint-phase-id", TEXT),
        error: may("error", TEXT),
        failed_phase: may("failed-phase", TEXT),
        blocked_at: may("blocked-at", TIME),
        human_needed: may("human-needed", closed(HUMAN_NEEDED)),
        summary: may("summary", TEXT),
        interrupted_at: may("interrupted-at", TIME),
        interrupted_signal: may("interrupted-signal", TEXT),
        ..extra
    }

    fn written(&self) -> Columns<'_> {
        let mut columns = self.columns();
        if let Some((_, current)) = columns.iter_mut().find(|(key, _)| *key == "current") {
            *current = Some(Written::Record(&self.current, &self.current_extra));
        }
        columns
    }
}

// A phase, a step or a sub-phase. What each of them must have strictly differs
// in the first five keys.
record! {
    static NODE: PhaseNode {
        id: must("id", ID),
        status: must("status", PHASE_STATUS),
        prompt: may("prompt", TEXT),
        children: may("steps", Shape::List(&Shape::Named(&STEP))),
        children: may("phases", Shape::List(&Shape::Named(&SUB_PHASE))),
        parallel: may("parallel", Shape::Bool),
        wait_for_parallel: may("wait-for-parallel", Shape::Bool),
        model: may("model", MODEL),
        break_after: may("break", Shape::Bool),
        gate: may("gate", Shape::Named(&COMPILED_GATE)),
        gate_tracking: may("gate-tracking", Shape::Named(&TRACKING_SHAPE)),
        wait: WAIT,
        claims: CLAIMS,
        files: may("files", TEXTS).about("The files or folders that it is about"),
        depends_on: may("depends-on", TEXTS).about("Siblings that must be done before"),
        injected: may("injected", Shape::Bool).about("Put in while the sprint ran"),
        injected_at: may("injected-at", TIME),
        started_at: may("started-at", TIME),
        completed_at: may("completed-at", TIME),
        elapsed: may("elapsed", TEXT).about("HH:MM:SS"),
        summary: may("summary", TEXT),
        error: may("error", TEXT),
        retry_count: may("retry-count", COUNT),
        next_retry_at: may("next-retry-at", TIME),
        human_needed: may("human-needed", closed(HUMAN_NEEDED)),
        commit: may("commit", TEXT),
        ..extra
    }

    fn written(&self) -> Columns<'_> {
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
const fn node<const N: usize>(own: &[Field], all_kinds: &[Field]) -> [Field; N] {
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

static PHASE: Named = Named::closed("Phase", &PHASE_KEYS);

static PHASE_KEYS: [Field; 25] = {
    let own = [
        must("id", ID),
        must("status", PHASE_STATUS),
        may("prompt", TEXT).about("Of a phase without steps"),
        may("steps", Shape::List(&Shape::Named(&STEP))),
    ];
    let mut fields = node(&own, NODE);
    // The key `break`.
    fields[7] = fields[7].about("Whether the sprint stops behind it");
    fields
};

static STEP: Named = Named::closed("Step", &STEP_KEYS);

static STEP_KEYS: [Field; 25] = {
    let own = [
        must("id", ID),
        must("prompt", TEXT),
        must("status", PHASE_STATUS),
        must("phases", Shape::List(&Shape::Named(&SUB_PHASE))),
    ];
    node(&own, NODE)
};

static SUB_PHASE: Named = Named::closed("SubPhase", &SUB_PHASE_KEYS);

static SUB_PHASE_KEYS: [Field; 24] = {
    let own = [
        must("id", ID),
        must("status", PHASE_STATUS),
        must("prompt", TEXT),
    ];
    node(&own, NODE)
};

const WAIT: Field =
    may("wait", Shape::Named(&WAIT_SHAPE)).about("What it waits for before it begins");

const CLAIMS: Field =
    may("claims", Shape::CLAIMS).about("What little proof is worth, as in piton's `[claims]`");

record! {
    static HUMAN_NEEDED: HumanNeeded {
        reason: must("reason", TEXT),
        details: may("details", TEXT),
        ..extra
    }

    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
        read_human_needed(node, at)
    }
}

static COMPILED_GATE: Named = Named::closed("Gate", GATE);

record! {
    static GATE: Gate {
        script: must("script", ID),
        on_fail_prompt: must("on-fail-prompt", ID),
        max_retries: must("max-retries", COUNT).about("How often the script runs in all"),
        timeout_s: must("timeout", Shape::Number { min: Some(0) }).about("Seconds"),
        ..extra
    }

    /// A gate in which something is missing is none.
    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
        read_gate(node, at)
    }
}

static TRACKING_SHAPE: Named = Named::closed("GateTracking", TRACKING);

record! {
    static TRACKING: GateTracking {
        attempts: must("attempts", COUNT),
        status: must("status", Shape::one_of(GateStatus::WORDS)),
        last_output: may("last-output", TEXT),
        last_exit_code: may("last-exit-code", Shape::Integer { min: None }),
        error: may("error", TEXT),
        ..extra
    }
}

record! {
    static CURRENT: Current {
        phase: must("phase", COUNT),
        step: must("step", INDEX_OR_NULL),
        sub_phase: must("sub-phase", INDEX_OR_NULL),
    }
}

static STATS_SHAPE: Named = Named::closed("Stats", STATS);

record! {
    static STATS: Stats {
        started_at: must("started-at", TIME_OR_NULL),
        completed_at: may("completed-at", TIME_OR_NULL),
        total_phases: must("total-phases", COUNT).about("Top-level phases"),
        completed_phases: must("completed-phases", COUNT),
        total_steps: may("total-steps", COUNT),
        completed_steps: may("completed-steps", COUNT),
        elapsed: may("elapsed", TEXT),
        current_iteration: may("current-iteration", COUNT),
        max_iterations: may("max-iterations", COUNT),
        ..extra
    }
}

static PARALLEL_TASK: Named = Named::closed(
    "ParallelTask",
    &[
        must("id", ID),
        may("step-id", TEXT),
        may("phase-id", TEXT),
        must(
            "status",
            Shape::one_of(&["spawned", "running", "completed", "failed"]),
        ),
        may("pid", COUNT),
        may("log-file", TEXT),
        may("spawned-at", TIME),
        may("completed-at", TIME),
        may("exit-code", Shape::Integer { min: None }),
        may("error", TEXT),
    ],
);

static ORCHESTRATION: Named = Named::closed(
    "Orchestration",
    &[
        must("enabled", Shape::Bool),
        may("prompt", TEXT),
        may(
            "insertStrategy",
            Shape::one_of(&["after-current", "end-of-phase", "custom"]),
        ),
        may("autoApprove", Shape::Bool),
    ],
);

static QUEUED_STEP: Named = Named::closed(
    "QueuedStep",
    &[
        must("id", ID),
        must("prompt", TEXT),
        must("proposedBy", TEXT),
        must("proposedAt", TIME),
        may("reasoning", TEXT),
        must("priority", PRIORITY),
        may("depends-on", TEXTS),
    ],
);

const DEPENDENCIES: Shape = closed(&[
    must("phase-id", TEXT),
    must(
        "nodes",
        Shape::List(&closed(&[
            must("id", ID),
            must("depends-on", TEXTS),
            must("blocked-by", TEXTS),
        ])),
    ),
]);

static HOOK: Named = Named::closed(
    "Hook",
    &[
        must("id", ID),
        may("workflow", TEXT),
        may("prompt", TEXT),
        may("parallel", Shape::Bool),
        may("enabled", Shape::Bool),
    ],
);

static HOOK_TASK: Named = Named::closed(
    "HookTask",
    &[
        must("iteration", COUNT),
        must("hook-id", TEXT),
        must("status", TEXT),
        may("spawned-at", TIME),
        may("completed-at", TIME),
        may("exit-code", Shape::Integer { min: None }),
        may("transcript", TEXT),
    ],
);

static REQUEST: Named = Named::closed(
    "Request",
    &[
        must("id", ID),
        must("title", TEXT),
        must("description", TEXT),
        must("priority", PRIORITY),
        must(
            "type",
            Shape::one_of(&["bug", "improvement", "refactor", "test", "docs", "security"]),
        ),
        must(
            "status",
            Shape::one_of(&["pending", "approved", "rejected", "deferred", "backlog"]),
        ),
        must("created-at", TIME),
        must("discovered-in", TEXT).about("The path of the node: a > b > c"),
        may("decided-at", TIME),
        may("decision", Shape::Named(&DECISION)),
        may("rejection-reason", TEXT),
        may("deferred-until", DEFERRED),
        may("context", Shape::Map(&[], Rest::Open)),
    ],
);

const DEFERRED: Shape = Shape::one_of(&["end-of-phase", "end-of-sprint", "next-sprint"]);

static DECISION: Named = Named::closed(
    "Decision",
    &[
        must(
            "decision",
            Shape::one_of(&["approve", "reject", "defer", "backlog"]),
        ),
        must("reasoning", TEXT),
        may(
            "injection",
            closed(&[
                must("position", POSITION),
                must("prompt", TEXT),
                may("idPrefix", TEXT),
                may("model", MODEL),
            ]),
        ),
        may("deferredUntil", DEFERRED),
        may("rejectionReason", TEXT),
    ],
);

const POSITION: Shape = Shape::Map(
    &[must(
        "type",
        Shape::one_of(&[
            "after-current",
            "after-step",
            "before-step",
            "end-of-phase",
            "end-of-workflow",
        ]),
    )],
    Rest::Open,
);

const PROMPTS: Shape = closed(&[
    may("header", TEXT),
    may("position", TEXT),
    may("retry-warning", TEXT),
    may("instructions", TEXT),
    may("result-reporting", TEXT),
]);

const WORKTREE: Shape = closed(&[
    must("enabled", Shape::Bool),
    may("branch", ID),
    may("path", ID),
    may("cleanup", CLEANUP),
]);

const RETRY: Field = may(
    "retry",
    closed(&[
        may("maxAttempts", COUNT),
        may("backoffMs", Shape::List(&COUNT)),
        may("retryOn", CATEGORIES),
    ]),
);

const CONFIG: Field = may(
    "config",
    closed(&[
        may("max-tasks", COUNT),
        may("max-iterations", COUNT),
        may("time-box", TEXT).about("90s, 45m, 1h30m"),
        may("auto-commit", Shape::Bool),
    ]),
);

const PARALLEL_EXECUTION: Field = may(
    "parallel-execution",
    closed(&[
        may("enabled", Shape::Bool),
        may("maxConcurrency", COUNT),
        may(
            "onDependencyFailure",
            Shape::one_of(&["skip-dependents", "fail-phase", "continue"]),
        ),
    ]),
);

/// A `SPRINT.yaml`.
pub static SPRINT_SHAPE: Shape = closed(&[
    must("workflow", ID).about("A file in .claude/workflows"),
    may(
        "collections",
        Shape::Each(&Shape::List(&Shape::Named(&ITEM))),
    )
    .about("What the phases with for-each go through"),
    may("sprint-id", ID),
    may("name", TEXT),
    may("created", TEXT),
    may("owner", TEXT),
    may("model", MODEL),
    CONFIG,
    RETRY,
    may("prompts", PROMPTS),
    may("worktree", WORKTREE),
    may(
        "per-iteration-hooks",
        Shape::Each(&closed(&[may("enabled", Shape::Bool)])),
    ),
    PARALLEL_EXECUTION,
    // Of older forms, each of which is told of by name.
    Field::tolerated("steps", Shape::Any),
    Field::tolerated("goal", TEXT),
]);

static ITEM: Named = Named {
    name: "Item",
    shape: Shape::Map(
        &[
            must("prompt", ID),
            may("id", ID),
            may("workflow", ID),
            may("model", MODEL),
            may("depends-on", Shape::List(&ID)),
            WAIT,
        ],
        // Any other key is a variable of the prompts.
        Rest::Open,
    ),
};

/// A workflow.
pub static WORKFLOW_SHAPE: Shape = closed(&[
    must("name", ID),
    may("description", TEXT),
    may("schema-version", TEXT),
    must("phases", Shape::List(&Shape::Named(&WORKFLOW_PHASE))),
    may("model", MODEL),
    may("orchestration", Shape::Named(&ORCHESTRATION)),
    may(
        "worktree",
        closed(&[
            must("enabled", Shape::Bool),
            may("branch-prefix", TEXT),
            may("path-prefix", TEXT),
            may("cleanup", CLEANUP),
        ]),
    ),
    may("per-iteration-hooks", Shape::List(&Shape::Named(&HOOK))),
    Field::tolerated("mode", TEXT),
]);

static WORKFLOW_PHASE: Named = Named::closed(
    "WorkflowPhase",
    &[
        must("id", ID),
        may("prompt", ID),
        may("for-each", ID),
        may("workflow", ID),
        may("collection", ID),
        may("parallel", Shape::Bool),
        may("wait-for-parallel", Shape::Bool),
        may("model", MODEL),
        may("break", Shape::Bool),
        CLAIMS,
        WAIT,
        may(
            "gate",
            closed(&[
                must("script", ID),
                must(
                    "on-fail",
                    closed(&[must("prompt", ID), may("max-retries", COUNT)]),
                ),
                may("timeout", Shape::Number { min: Some(0) }),
            ]),
        ),
        // Words for people.
        Field::tolerated("name", TEXT),
        Field::tolerated("description", TEXT),
    ],
);
