//! `piton agents`: which agent programs are installed, and which one works here.

use serde::Serialize;

use crate::agents::installed::find_installed_programs;
pub use crate::agents::installed::{InstalledProgram, LoginState};
use crate::config::Config;
use crate::failure::Failure;
use crate::project::Project;
use crate::session::{Session, open_runs};
use crate::verbs::run::check_program;
use crate::world::World;

/// The programs that piton knows, and the agents that work in this project.
#[derive(Clone, Debug, Serialize)]
pub struct AgentsReport {
    /// The programs.
    pub programs: Vec<InstalledProgram>,
    /// The agents: that of the configuration first, then those of runs that are not over.
    pub used: Vec<UsedAgent>,
}

crate::name_schema!(AgentsReport, "piton.agents/1");

/// An agent that works in this project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsedAgent {
    /// As it was named.
    pub agent: String,
    /// Who named it.
    #[serde(flatten)]
    pub named_by: AgentNamedBy,
    /// Why it cannot be started; none where nothing certain is in its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Who named an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "named_by", rename_all = "kebab-case")]
pub enum AgentNamedBy {
    /// `use` under `[agent]` of the configuration: it works on each new run.
    Config,
    /// `--agent` of a run, which goes on with it.
    Run {
        /// The name of the run.
        run: String,
    },
}

/// Looks for programs, and at what is configured. Starts nothing but programs for their
/// version, and writes nothing.
///
/// # Errors
///
/// When the configuration or the store cannot be read.
pub fn list_agents(world: &World) -> Result<AgentsReport, Failure> {
    let project = Project::find(world, &world.cwd);
    let config = Config::load(&project)?;
    let session = Session::open_read_only(world, &world.cwd)?;
    Ok(AgentsReport {
        programs: find_installed_programs(world, &project),
        used: used_agents(world, &project, &config, session.as_ref())?,
    })
}

/// The agents that work in a project.
///
/// # Errors
///
/// When the store cannot be read.
pub(crate) fn used_agents(
    world: &World,
    project: &Project,
    config: &Config,
    session: Option<&Session<'_>>,
) -> Result<Vec<UsedAgent>, Failure> {
    let configured = config.used_agents().iter().cloned();
    let mut named: Vec<(String, AgentNamedBy)> = configured
        .map(|agent| (agent, AgentNamedBy::Config))
        .collect();
    let runs = session.map(Session::runs).transpose()?.unwrap_or_default();
    named.extend(open_runs(&runs).filter_map(|row| {
        let run = row.name.clone();
        Some((
            row.invocation.flags.agent.clone()?,
            AgentNamedBy::Run { run },
        ))
    }));
    let redactor = world.redactor();
    let used = named.into_iter().map(|(agent, named_by)| UsedAgent {
        problem: find_problem(world, project, config, &agent),
        agent: redactor.redact(&agent).into_owned(),
        named_by,
    });
    Ok(used.collect())
}

fn find_problem(world: &World, project: &Project, config: &Config, name: &str) -> Option<String> {
    let checked = config
        .resolve_agent(name)
        .and_then(|agent| check_program(world, project, None, &*agent));
    checked.err().map(|failure| failure.message)
}
