//! Who calls a command: a person, or the agent of an attempt of this project.
//!
//! A process is taken for an agent by the first of these that holds:
//!
//! 1. it has the mark of an attempt in its environment ([`MARK`]);
//! 2. a process that it descends from was started with such a mark;
//! 3. it descends from a process that the spool records for an attempt;
//! 4. it descends from a runner, which adopts what its agents leave behind.
//!
//! A mark counts where the store of the project knows the attempt: the agent
//! of another project is a person here. All else is a person, whose name
//! [`World::user_name`] says. Descent can be seen on Linux only.
//!
//! What an agent may do is said by [`CommandAccess`], one for each command. This is a
//! fence and no wall: an agent that edits the journal's files, acts as another user or
//! has a service start its processes is not seen here.

pub(crate) mod agent;
pub mod held_item;
pub(crate) mod person;

use std::path::Path;

use piton_core::{AttemptId, AttemptRow, Need, RunId, RunRow};

use crate::agents::spool;
use crate::failure::Failure;
use crate::lies::EvidenceRule;
use crate::process::{self, Ancestor, MARK, ProcessIdentity};
use crate::project::Project;
use crate::runner::run_lock;
use crate::session::Session;
use crate::world::World;

use self::agent::AdmittedCommand;
pub use self::agent::{AgentEvidence, Caller, CallingAgent, CommandAccess, Permission};

/// Lets a command be carried out, or refuses it; the world in which its caller
/// acts.
///
/// # Errors
///
/// `agent.not_allowed` when an agent of the project gives a command that is for
/// people.
pub fn admit_command(world: &World, permission: Permission) -> Result<World, Failure> {
    if permission.access == CommandAccess::Read {
        return Ok(world.clone());
    }
    let project = target_project(&permission, world);
    let caller = classify_caller(world, &project);
    if let (Caller::Agent(agent), CommandAccess::Person) = (&caller, permission.access) {
        return Err(people_only_failure(agent, permission.command));
    }
    Ok(world.with_caller(
        caller,
        AdmittedCommand {
            permission,
            home: project.home,
        },
    ))
}

/// The project that a command is for, as far as its arguments say.
fn target_project(permission: &Permission, world: &World) -> Project {
    let place = permission.place.as_ref();
    let place = place.map(|typed| world.resolve_path(typed));
    let place = place.and_then(|place| std::fs::canonicalize(place).ok());
    let folder = place.as_deref().and_then(|place| {
        let is_folder = place.is_dir();
        if is_folder {
            Some(place)
        } else {
            place.parent()
        }
    });
    Project::find(world, folder.unwrap_or(&world.cwd))
}

fn people_only_failure(agent: &CallingAgent, command: &str) -> Failure {
    agent
        .not_allowed_failure(&format!("`{command}` is for people"))
        .with_hint(
            "ask a person with `piton inbox ask 'QUESTION'`, or end with the status needs-human",
        )
}

impl World {
    /// Refuses to write to a project in which the caller may not do what it was
    /// let do for another one: an agent whose command turns out to be for its own
    /// project, although its arguments seemed to name another one.
    pub(crate) fn check_write_allowed(&self, project: &Project) -> Result<(), Failure> {
        let Some(AdmittedCommand { permission, home }) = self.admitted_command() else {
            return Ok(());
        };
        if permission.access != CommandAccess::Person || *home == project.home {
            return Ok(());
        }
        match classify_caller(self, project) {
            Caller::Agent(agent) => Err(people_only_failure(&agent, permission.command)),
            Caller::Person => Ok(()),
        }
    }
}

/// The world, knowing its caller, for a hook: an agent program starts it, and
/// nothing about it is refused.
#[must_use]
pub fn recognize_hook_caller(world: &World) -> World {
    let permission = Permission::new("piton hook", CommandAccess::Signed);
    admit_command(world, permission).unwrap_or_else(|_| world.clone())
}

/// Who calls, as seen from a project.
#[must_use]
pub fn classify_caller(world: &World, project: &Project) -> Caller {
    if !project.exists() || EvidenceRule::Fence.is_off(world) {
        return Caller::Person;
    }
    let mut store = LazyStore {
        world,
        root: &project.root,
        session: None,
    };
    let found = find_agent_by_environment(world, &mut store).or_else(|| {
        // Where nothing was ever run, nothing descends from a run.
        let was_run = run_lock::was_ever_acquired(project);
        was_run
            .then(process::list_ancestors)
            .and_then(|above| find_agent_by_descent(project, &above, &mut store))
    });
    match found {
        Some(agent) => Caller::Agent(Box::new(agent)),
        None => Caller::Person,
    }
}

fn find_agent_by_environment(world: &World, store: &mut LazyStore<'_>) -> Option<CallingAgent> {
    let attempt = store.find_attempt(world.var(MARK)?)?;
    Some(store.agent_of_attempt(attempt, AgentEvidence::Environment))
}

fn find_agent_by_descent(
    project: &Project,
    above: &[Ancestor],
    store: &mut LazyStore<'_>,
) -> Option<CallingAgent> {
    for ancestor in above {
        let mark = ancestor.mark.as_deref();
        if let Some(attempt) = mark.and_then(|mark| store.find_attempt(mark)) {
            return Some(
                store.agent_of_attempt(attempt, AgentEvidence::AncestorEnvironment(ancestor.pid)),
            );
        }
    }
    let ancestor =
        |id: &ProcessIdentity| above.iter().find(|ancestor| ancestor.is_same_process(id));
    for recorded in spool::recorded_processes(&project.home.join("spool")) {
        if let Some(ancestor) = ancestor(&recorded.id) {
            let sign = AgentEvidence::Recorded(ancestor.pid);
            return Some(match store.find_attempt(&recorded.attempt) {
                Some(attempt) => store.agent_of_attempt(attempt, sign),
                None => store.agent_of_process(recorded.run.parse().ok(), sign, recorded.attempt),
            });
        }
    }
    let runners = run_lock::list_holders(project);
    let runner = runners.iter().find_map(ancestor)?;
    let sign = AgentEvidence::Runner(runner.pid);
    let run = store.find_run_of_holder(runner.pid);
    Some(match run.and_then(|run| store.find_open_attempt(run)) {
        Some(attempt) => store.agent_of_attempt(attempt, sign),
        None => store.agent_of_process(run, sign, format!("process {}", runner.pid)),
    })
}

/// The store of a project, opened when something is asked of it.
///
/// One that cannot be read knows nothing: the command itself says what is wrong
/// with it.
struct LazyStore<'w> {
    world: &'w World,
    root: &'w Path,
    session: Option<Option<Session<'w>>>,
}

impl<'w> LazyStore<'w> {
    fn open_session(&mut self) -> Option<&Session<'w>> {
        let (world, root) = (self.world, self.root);
        let opened = self
            .session
            .get_or_insert_with(|| Session::open_read_only(world, root).ok().flatten());
        opened.as_ref()
    }

    /// The attempt that a mark names.
    fn find_attempt(&mut self, mark: &str) -> Option<AttemptRow> {
        let id: AttemptId = mark.parse().ok()?;
        let rows = self.open_session()?.load(&[Need::Attempt(id)]).ok()?;
        rows.tables.attempt(id).cloned()
    }

    /// The run that a process of this machine holds.
    fn find_run_of_holder(&mut self, pid: u32) -> Option<RunId> {
        let owner = format!("process {pid} on ");
        let runs = self.open_session()?.runs().ok()?;
        let is_held = |run: &&RunRow| {
            let holder = run.holder.as_ref();
            holder.is_some_and(|holder| holder.owner.starts_with(&owner))
        };
        runs.iter().find(is_held).map(|run| run.id)
    }

    /// The attempt that is under way in a run.
    fn find_open_attempt(&mut self, run: RunId) -> Option<AttemptRow> {
        let rows = self
            .open_session()?
            .load(&[Need::OpenAttempts(Some(run))])
            .ok()?;
        let mut open = rows.tables.open_attempts();
        open.find(|attempt| attempt.run == run).cloned()
    }

    fn run_name(&mut self, run: RunId) -> Option<String> {
        let rows = self.open_session()?.load(&[Need::Run(run)]).ok()?;
        rows.tables.run(run).map(|row| row.name.clone())
    }

    fn agent_of_attempt(&mut self, attempt: AttemptRow, sign: AgentEvidence) -> CallingAgent {
        CallingAgent {
            run: self.run_name(attempt.run),
            attempt: Some(attempt),
            sign,
            name: String::new(),
        }
    }

    fn agent_of_process(
        &mut self,
        run: Option<RunId>,
        sign: AgentEvidence,
        name: String,
    ) -> CallingAgent {
        CallingAgent {
            run: run.and_then(|run| self.run_name(run)),
            attempt: None,
            sign,
            name,
        }
    }
}
