//! What `piton run` is asked for, and what that means.

use std::num::NonZeroU32;
use std::path::PathBuf;

use piton_core::policy::Limits;

use super::super::compile::SprintPath;
use super::plan_path::PlanPath;
use crate::config::VerdictSource;
use crate::config::trust::TrustRequest;
use crate::project::Project;
use crate::world::World;

/// What `piton run` is asked for.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// The plan or run; without it, what is found here.
    pub plan: Option<String>,
    /// The agent: a name from the configuration, else a shell command.
    pub agent: Option<String>,
    /// The folder of the workflows.
    pub workflows: Option<PathBuf>,
    /// What says that the work of the agent is done, before its table.
    pub verdict: Option<VerdictSource>,
    /// The model for nodes whose plan names none.
    pub model: Option<String>,
    /// How many items are worked on at once; more than one, each in a lane.
    pub workers: Option<NonZeroU32>,
    /// The limits of this invocation, before those of the plan.
    pub limits: Limits,
    /// Stay and go on when a person has decided.
    pub wait: bool,
    /// End after one node.
    pub once: bool,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// Compile and begin anew.
    pub recompile: bool,
    /// Begin with this file as the progress.
    pub from: Option<PathBuf>,
    /// Settings of the sprint that are passed over although piton cannot do them.
    pub ignore: Vec<String>,
    /// Work although another run is at work in the same work tree.
    pub same_tree: bool,
    /// Work beside the runner that holds the run, in lanes of this process.
    pub join: bool,
    /// Who answers where something that would be started is not trusted.
    pub trust: TrustRequest,
}

/// What the lock on a plan is known by.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanKey<'a> {
    /// The face of the plan.
    pub(super) face: &'a str,
    /// Its source.
    pub(super) source: &'a str,
}

/// What is to be run, and where it belongs.
pub(super) struct RunTarget {
    pub(super) project: Project,
    pub(super) what: TargetPlan,
}

/// What is to be run.
pub(super) enum TargetPlan {
    /// A sprint in a folder.
    Sprint(SprintPath),
    /// A plan in one file.
    File(PlanPath),
    /// A run, by its name.
    Run(String),
}

impl RunTarget {
    pub(super) fn of_sprint(world: &World, sprint: SprintPath) -> Self {
        Self {
            project: Project::find(world, &sprint.folder),
            what: TargetPlan::Sprint(sprint),
        }
    }

    pub(super) fn of_file(world: &World, file: PlanPath) -> Self {
        Self {
            project: Project::find(world, file.folder()),
            what: TargetPlan::File(file),
        }
    }

    pub(super) fn of_run(project: Project, name: String) -> Self {
        Self {
            project,
            what: TargetPlan::Run(name),
        }
    }
}
