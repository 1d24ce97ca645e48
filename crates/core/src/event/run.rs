//! What has happened to a run as a whole.

use serde::{Deserialize, Serialize};

use super::edited::RunChanged;
use super::subject::subject_events;
use super::texts::{
    TextVisitor, visit_gate, visit_native, visit_option, visit_policy, visit_run_flags,
};
use crate::evidence::ClaimSettings;
use crate::flags::RunFlags;
use crate::id::{Node, RunId};
use crate::lane::LaneTerms;
use crate::native::Native;
use crate::plan::{ImportedRunHistory, Order};
use crate::policy::{Limits, Policy};
use crate::run::{Pause, RunState, RunnerRequest};

subject_events! {
    /// What has happened to a run as a whole.
    RunEvent {
        /// A run was planned; its items follow.
        "run-planned" Planned(Box<RunPlanned>),
        /// A runner took a run.
        "lease-taken" LeaseTaken {
            /// The run.
            run: RunId,
            /// The runner, in words.
            owner: String,
            /// Its fencing token.
            token: u64,
            /// The name of its lock, where it works beside the runner that holds the run.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            joins: Option<String>,
        },
        /// A runner is known to have gone without giving its run back.
        "lease-lost" LeaseLost {
            /// The run.
            run: RunId,
            /// The runner that is gone.
            owner: String,
            /// Its fencing token.
            token: u64,
        },
        /// A runner gave its run back.
        "lease-released" LeaseReleased {
            /// The run.
            run: RunId,
            /// Its fencing token.
            token: u64,
        },
        /// A runner began to work: an invocation of `piton run`.
        "run-started" Started {
            /// The run.
            run: RunId,
            /// The limits of this invocation.
            limits: Limits,
            /// What it asks of agents that say that an item is done.
            #[serde(default, skip_serializing_if = "ClaimSettings::is_default")]
            claims: ClaimSettings,
            /// What a person typed for it, for the next invocation.
            #[serde(default, skip_serializing_if = "RunFlags::is_empty")]
            flags: Box<RunFlags>,
            /// A person wants to be notified of its end.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            notify: bool,
        },
        /// The work of a run goes to a branch of its own from now on.
        "run-targeted" Targeted {
            /// The run.
            run: RunId,
            /// The repository that the branch is of; none is the one in which the project
            /// lies.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            repository: Option<String>,
            /// The branch; it is made after this is stored.
            branch: String,
            /// The commit at which the work begins.
            base: String,
            /// The branch that was checked out then, and that the work is for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            onto: Option<String>,
            /// The folder of the worktree in which the branch is checked out, where
            /// the plan asks for one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            path: Option<String>,
            /// That worktree was there before.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            was_there: bool,
        },
        /// The run is worked on in lanes from now on, or with another check.
        "lanes-entered" LanesEntered {
            /// The run.
            run: RunId,
            /// How its work comes back.
            #[serde(flatten)]
            terms: Box<LaneTerms>,
        },
        /// The work of a run is brought to the branch that it is for: an intent, durable
        /// before that branch is moved.
        "land-started" LandStarted {
            /// The run.
            run: RunId,
            /// The commit of the target.
            commit: String,
            /// The branch.
            onto: String,
            /// Where the branch is that has the work in commits of others.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            at: Option<String>,
        },
        /// It is there.
        "run-landed" Landed {
            /// The run.
            run: RunId,
            /// The commit of the target.
            commit: String,
            /// The branch.
            onto: String,
            /// Where the branch is that has the work in commits of others.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            at: Option<String>,
        },
        /// A run came into another state.
        "run-moved" Moved {
            /// The run.
            run: RunId,
            /// The state it was in.
            from: RunState,
            /// The state it is in now.
            to: RunState,
            /// Why it is paused.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pause: Option<Pause>,
            /// The node that this is about.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            at: Option<Node>,
            /// Why, in one line.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<String>,
        },
        /// A person asked the live runner for something.
        "run-asked" Asked {
            /// The run.
            run: RunId,
            /// What was asked.
            request: RunnerRequest,
            /// Who asked.
            by: String,
        },
        /// What the plan says of the whole run was changed.
        "run-changed" Changed(Box<RunChanged>),
    }
}

impl RunEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::Planned(planned) => visit_run_planned(planned, each),
            Self::LeaseTaken {
                run: _,
                owner: _,
                token: _,
                joins: _,
            }
            | Self::Targeted {
                run: _,
                repository: _,
                branch: _,
                base: _,
                onto: _,
                path: _,
                was_there: _,
            }
            | Self::LandStarted {
                run: _,
                commit: _,
                onto: _,
                at: _,
            }
            | Self::Landed {
                run: _,
                commit: _,
                onto: _,
                at: _,
            }
            | Self::LeaseLost {
                run: _,
                owner: _,
                token: _,
            }
            | Self::LeaseReleased { run: _, token: _ }
            | Self::Asked {
                run: _,
                request: _,
                by: _,
            } => {}
            Self::LanesEntered { run: _, terms } => {
                let LaneTerms {
                    check,
                    checks,
                    review: _,
                    pull_requests: _,
                } = &mut **terms;
                visit_gate(check.as_deref_mut(), each);
                for own in checks.values_mut() {
                    visit_gate(own.as_mut(), each);
                }
            }
            Self::Started {
                run: _,
                limits: _,
                claims:
                    ClaimSettings {
                        rules: _,
                        baseline: _,
                        check: gate,
                        items: _,
                    },
                flags,
                notify: _,
            } => {
                visit_gate(gate.as_deref_mut(), each);
                visit_run_flags(flags, each);
            }
            Self::Moved {
                run: _,
                from: _,
                to: _,
                pause: _,
                at: _,
                reason,
            } => visit_option(reason, each),
            Self::Changed(changed) => {
                let RunChanged {
                    run: _,
                    native,
                    policy,
                } = &mut **changed;
                visit_native(native, each);
                if let Some(policy) = policy {
                    visit_policy(policy, each);
                }
            }
        }
    }
}

/// See [`RunEvent::Planned`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlanned {
    /// The run.
    pub run: RunId,
    /// Its short name.
    pub name: String,
    /// The native format it came from.
    pub face: String,
    /// The plan's path, relative to the project.
    pub source: String,
    /// Retries, limits, commits.
    pub policy: Policy,
    /// In which order its items are worked on.
    /// Absent in events of an older version: then the format says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// What only its native format has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// What it went through before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<ImportedRunHistory>,
}

fn visit_run_planned(planned: &mut RunPlanned, each: TextVisitor<'_>) {
    let RunPlanned {
        run: _,
        name: _,
        face: _,
        source: _,
        policy,
        order: _,
        native,
        past: _,
    } = planned;
    visit_native(native, each);
    visit_policy(policy, each);
}

impl RunEvent {
    /// The run.
    #[must_use]
    pub fn run(&self) -> RunId {
        match self {
            Self::Planned(planned) => planned.run,
            Self::Changed(changed) => changed.run,
            Self::LeaseTaken { run, .. }
            | Self::LeaseLost { run, .. }
            | Self::LeaseReleased { run, .. }
            | Self::Started { run, .. }
            | Self::Targeted { run, .. }
            | Self::LanesEntered { run, .. }
            | Self::LandStarted { run, .. }
            | Self::Landed { run, .. }
            | Self::Moved { run, .. }
            | Self::Asked { run, .. } => *run,
        }
    }
}
