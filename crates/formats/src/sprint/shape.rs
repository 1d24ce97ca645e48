//! What `PROGRESS.yaml`, `SPRINT.yaml` and workflows must be, strictly.

use crate::shape::{Field, Named, Rest, Shape, Text};

const TEXT: Shape = Shape::TEXT;
const COUNT: Shape = Shape::COUNT;
const TIME: Shape = Shape::DATE_TIME;
const TEXTS: Shape = Shape::List(&Shape::TEXT);
const ID: Shape = Shape::Text(Text::NotEmpty);
const MODEL: Shape = Shape::one_of(&["sonnet", "opus", "haiku"]);
const PHASE_STATUS: Shape = Shape::one_of(&[
    "pending",
    "in-progress",
    "completed",
    "blocked",
    "skipped",
    "failed",
]);
const SPRINT_STATUS: Shape = Shape::one_of(&[
    "not-started",
    "in-progress",
    "completed",
    "blocked",
    "paused",
    "paused-at-breakpoint",
    "needs-human",
    "interrupted",
]);
const CATEGORIES: Shape = Shape::List(&Shape::one_of(&[
    "network",
    "rate-limit",
    "timeout",
    "validation",
    "logic",
]));
const CLEANUP: Shape = Shape::one_of(&["never", "on-complete", "on-merge"]);
const PRIORITY: Shape = Shape::one_of(&["low", "medium", "high", "critical"]);
const INDEX_OR_NULL: Shape = Shape::Either(&[COUNT, Shape::Null]);
const TIME_OR_NULL: Shape = Shape::Either(&[TIME, Shape::Null]);

const fn must(key: &'static str, shape: Shape) -> Field {
    Field::required(key, shape)
}

const fn may(key: &'static str, shape: Shape) -> Field {
    Field::optional(key, shape)
}

const fn closed(fields: &'static [Field]) -> Shape {
    Shape::Map(fields, Rest::Closed)
}

/// A `PROGRESS.yaml`.
pub static PROGRESS_SHAPE: Shape = closed(&[
    must("sprint-id", ID).about("The id of the sprint"),
    must("status", SPRINT_STATUS).about("Where the sprint stands"),
    must("phases", Shape::List(&Shape::Named(&PHASE))),
    must("current", CURRENT).about("The node to go on with, counted from 0"),
    must("stats", Shape::Named(&STATS)),
    may("parallel-tasks", Shape::List(&Shape::Named(&PARALLEL_TASK))),
    may("orchestration", Shape::Named(&ORCHESTRATION)),
    may("step-queue", Shape::List(&Shape::Named(&QUEUED_STEP))),
    may("prompts", PROMPTS),
    may("worktree", WORKTREE),
    may("dependency-graph", Shape::List(&DEPENDENCIES)),
    may("per-iteration-hooks", Shape::List(&Shape::Named(&HOOK))),
    may("hook-tasks", Shape::List(&Shape::Named(&HOOK_TASK))),
    RETRY,
    CONFIG,
    PARALLEL_EXECUTION,
    may("operator-queue", Shape::List(&Shape::Named(&REQUEST))),
    may("last-activity", TIME).about("The last sign of life"),
    may("pause-reason", TEXT),
    may("breakpoint-phase-id", TEXT),
    may("error", TEXT),
    may("failed-phase", TEXT),
    may("blocked-at", TIME),
    HUMAN_NEEDED,
    may("summary", TEXT),
    may("interrupted-at", TIME),
    may("interrupted-signal", TEXT),
]);

static PHASE: Named = Named {
    name: "Phase",
    shape: closed(&[
        must("id", ID),
        must("status", PHASE_STATUS),
        may("prompt", TEXT).about("Of a phase without steps"),
        may("steps", Shape::List(&Shape::Named(&STEP))),
        may("parallel", Shape::Bool),
        may("wait-for-parallel", Shape::Bool),
        may("model", MODEL),
        may("break", Shape::Bool).about("Whether the sprint stops behind it"),
        GATE,
        GATE_TRACKING,
        CLAIMS,
        DEPENDS_ON,
        INJECTED,
        INJECTED_AT,
        STARTED_AT,
        COMPLETED_AT,
        ELAPSED,
        may("summary", TEXT),
        may("error", TEXT),
        may("retry-count", COUNT),
        may("next-retry-at", TIME),
        HUMAN_NEEDED,
        may("commit", TEXT),
    ]),
};

static STEP: Named = Named {
    name: "Step",
    shape: closed(&[
        must("id", ID),
        must("prompt", TEXT),
        must("status", PHASE_STATUS),
        must("phases", Shape::List(&Shape::Named(&SUB_PHASE))),
        may("parallel", Shape::Bool),
        may("wait-for-parallel", Shape::Bool),
        may("model", MODEL),
        may("break", Shape::Bool),
        GATE,
        GATE_TRACKING,
        CLAIMS,
        DEPENDS_ON,
        INJECTED,
        INJECTED_AT,
        STARTED_AT,
        COMPLETED_AT,
        ELAPSED,
        may("summary", TEXT),
        may("error", TEXT),
        may("retry-count", COUNT),
        may("next-retry-at", TIME),
        HUMAN_NEEDED,
        may("commit", TEXT),
    ]),
};

static SUB_PHASE: Named = Named {
    name: "SubPhase",
    shape: closed(&[
        must("id", ID),
        must("status", PHASE_STATUS),
        must("prompt", TEXT),
        may("parallel", Shape::Bool),
        may("wait-for-parallel", Shape::Bool),
        may("model", MODEL),
        may("break", Shape::Bool),
        GATE,
        GATE_TRACKING,
        CLAIMS,
        DEPENDS_ON,
        INJECTED,
        INJECTED_AT,
        STARTED_AT,
        COMPLETED_AT,
        ELAPSED,
        may("summary", TEXT),
        may("error", TEXT),
        may("retry-count", COUNT),
        may("next-retry-at", TIME),
        HUMAN_NEEDED,
        may("commit", TEXT),
    ]),
};

const DEPENDS_ON: Field = may("depends-on", TEXTS).about("Siblings that must be done before");
const INJECTED: Field = may("injected", Shape::Bool).about("Put in while the sprint ran");
const INJECTED_AT: Field = may("injected-at", TIME);
const STARTED_AT: Field = may("started-at", TIME);
const COMPLETED_AT: Field = may("completed-at", TIME);
const ELAPSED: Field = may("elapsed", TEXT).about("HH:MM:SS");
const HUMAN_NEEDED: Field = may(
    "human-needed",
    closed(&[must("reason", TEXT), may("details", TEXT)]),
);
const CLAIMS: Field =
    may("claims", Shape::CLAIMS).about("What little proof is worth, as in piton's `[claims]`");
const GATE: Field = may("gate", Shape::Named(&COMPILED_GATE));
const GATE_TRACKING: Field = may("gate-tracking", Shape::Named(&TRACKING));

static COMPILED_GATE: Named = Named {
    name: "Gate",
    shape: closed(&[
        must("script", ID),
        must("on-fail-prompt", ID),
        must("max-retries", COUNT).about("How often the script runs in all"),
        must("timeout", Shape::Number { min: Some(0) }).about("Seconds"),
    ]),
};

static TRACKING: Named = Named {
    name: "GateTracking",
    shape: closed(&[
        must("attempts", COUNT),
        must(
            "status",
            Shape::one_of(&[
                "pending", "running", "passed", "retrying", "failed", "blocked",
            ]),
        ),
        may("last-output", TEXT),
        may("last-exit-code", Shape::Integer { min: None }),
        may("error", TEXT),
    ]),
};

const CURRENT: Shape = closed(&[
    must("phase", COUNT),
    must("step", INDEX_OR_NULL),
    must("sub-phase", INDEX_OR_NULL),
]);

static STATS: Named = Named {
    name: "Stats",
    shape: closed(&[
        must("started-at", TIME_OR_NULL),
        may("completed-at", TIME_OR_NULL),
        must("total-phases", COUNT).about("Top-level phases"),
        must("completed-phases", COUNT),
        may("total-steps", COUNT),
        may("completed-steps", COUNT),
        may("elapsed", TEXT),
        may("current-iteration", COUNT),
        may("max-iterations", COUNT),
    ]),
};

static PARALLEL_TASK: Named = Named {
    name: "ParallelTask",
    shape: closed(&[
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
    ]),
};

static ORCHESTRATION: Named = Named {
    name: "Orchestration",
    shape: closed(&[
        must("enabled", Shape::Bool),
        may("prompt", TEXT),
        may(
            "insertStrategy",
            Shape::one_of(&["after-current", "end-of-phase", "custom"]),
        ),
        may("autoApprove", Shape::Bool),
    ]),
};

static QUEUED_STEP: Named = Named {
    name: "QueuedStep",
    shape: closed(&[
        must("id", ID),
        must("prompt", TEXT),
        must("proposedBy", TEXT),
        must("proposedAt", TIME),
        may("reasoning", TEXT),
        must("priority", PRIORITY),
        may("depends-on", TEXTS),
    ]),
};

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

static HOOK: Named = Named {
    name: "Hook",
    shape: closed(&[
        must("id", ID),
        may("workflow", TEXT),
        may("prompt", TEXT),
        may("parallel", Shape::Bool),
        may("enabled", Shape::Bool),
    ]),
};

static HOOK_TASK: Named = Named {
    name: "HookTask",
    shape: closed(&[
        must("iteration", COUNT),
        must("hook-id", TEXT),
        must("status", TEXT),
        may("spawned-at", TIME),
        may("completed-at", TIME),
        may("exit-code", Shape::Integer { min: None }),
        may("transcript", TEXT),
    ]),
};

static REQUEST: Named = Named {
    name: "Request",
    shape: closed(&[
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
    ]),
};

const DEFERRED: Shape = Shape::one_of(&["end-of-phase", "end-of-sprint", "next-sprint"]);

static DECISION: Named = Named {
    name: "Decision",
    shape: closed(&[
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
    ]),
};

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

static WORKFLOW_PHASE: Named = Named {
    name: "WorkflowPhase",
    shape: closed(&[
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
    ]),
};
