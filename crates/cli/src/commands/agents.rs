//! `piton agents`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::agents::{
    self, AgentNamedBy, AgentsReport, InstalledProgram, LoginState, UsedAgent,
};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM, YELLOW};
use crate::show::progress::first_line;
use crate::show::table;

#[derive(Debug, ClapArgs)]
pub(crate) struct AgentsArgs {}

impl TypedCommand for AgentsArgs {
    const ABOUT: &'static str = "List agent programs that are installed, and which one works here";
    const AFTER_HELP: &'static str = "Each program is asked for its version, for at most 5 seconds; nothing else is started. Whether\nyou are logged in is read from the files and variables of the program; `login unknown` means\nthat nothing there shows it.\n\nExamples:\n  piton agents\n  piton agents --json | jq -r '.programs[] | select(.path) | .name'";

    fn permission(&self) -> Permission {
        Permission::new("piton agents", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let report = agents::list_agents(call.world)?;
        call.print(&report, show_agents);
        Ok(CommandExit::Done)
    }
}

fn show_agents(report: &AgentsReport, _: &World, output: &mut CliOutput) {
    output.print_data(&table::render(report.programs.iter().map(program_row)));
    let used = &report.used;
    let lines: String = used.iter().map(used_line).collect();
    output.print_data(&lines);
    if !used.iter().any(|one| one.named_by == AgentNamedBy::Config) {
        let installed = report.programs.iter().find(|one| one.path.is_some());
        output.print_hint(&match installed.map(|one| one.name) {
            Some(name) => format!("no agent is set for new runs: `piton config set agent.use {name}`, or `piton run PLAN --agent {name}`"),
            None => "no agent is set for new runs: install one, or name a command that reads a prompt: `piton run PLAN --agent 'sh:CMD'`".to_owned(),
        });
    }
}

fn program_row(program: &InstalledProgram) -> [String; 4] {
    let name = format!("{BOLD}{}{BOLD:#}", program.name);
    let Some(path) = &program.path else {
        let install = format!("{DIM}install it with `{}`{DIM:#}", program.install);
        return [name, "not installed".to_owned(), String::new(), install];
    };
    let version = match (&program.version, &program.version_unknown) {
        (Some(version), _) => first_line(version),
        (None, Some(why)) => format!("{YELLOW}version unknown: {}{YELLOW:#}", first_line(why)),
        (None, None) => "version unknown".to_owned(),
    };
    let login = match &program.login {
        LoginState::File { login_file } => format!("logged in ({})", login_file.display()),
        LoginState::Key { login_variable } => format!("key in {login_variable}"),
        LoginState::Unknown => "login unknown".to_owned(),
    };
    [
        name,
        version,
        login,
        format!("{DIM}{}{DIM:#}", path.display()),
    ]
}

fn used_line(used: &UsedAgent) -> String {
    let agent = first_line(&used.agent);
    let by = match &used.named_by {
        AgentNamedBy::Config => "new runs use it: `agent.use` in .piton/config.toml".to_owned(),
        AgentNamedBy::Run { run } => format!("run `{run}` goes on with it: its `--agent`"),
    };
    let problem = used.problem.as_deref().map(first_line);
    let problem = problem.map_or_else(String::new, |why| format!("; {YELLOW}{why}{YELLOW:#}"));
    format!("`{agent}`: {by}{problem}\n")
}
