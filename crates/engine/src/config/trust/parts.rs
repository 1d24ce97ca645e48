//! The parts of the configuration that can be executed.

use piton_core::trust::{ExecutablePart, PartKind};

use crate::agents::program_table;
use crate::agents::settings::{AgentTable, Permissions};
use crate::config::{Config, WorkspaceConfig};
use crate::process::shell::quote_word;

/// The group of the settings as what a person trusts.
pub(crate) fn group_part(group: &str) -> ExecutablePart {
    ExecutablePart::of_setting(PartKind::StoreGroup, "store.group", group)
}

/// The folder of lanes, where it is named from the root of the file system: a relative
/// one cannot lead out of the project.
pub(crate) fn lanes_folder_part(workspace: &WorkspaceConfig) -> Option<ExecutablePart> {
    let root = workspace.root.as_ref().filter(|root| root.is_absolute())?;
    let text = root.to_string_lossy();
    Some(ExecutablePart::of_setting(
        PartKind::LanesFolder,
        "workspace.root",
        &text,
    ))
}

/// The agent that a person typed: it is trusted by that.
pub(crate) fn typed_agent(name: &str) -> ExecutablePart {
    ExecutablePart::of_setting(PartKind::AgentCommand, "agent.use", name)
}

/// The parts of a configuration, given the names of the agents that are to work.
pub(crate) fn config_parts(config: &Config, agents: &[String]) -> Vec<ExecutablePart> {
    let agents = agents.iter();
    let mut parts: Vec<ExecutablePart> =
        agents.flat_map(|name| agent_parts(config, name)).collect();
    let setting = |kind, text: Option<&str>| {
        let text = text.filter(|text| !text.trim().is_empty());
        text.map(|text| ExecutablePart::new(kind, ".piton/config.toml", text))
    };
    parts.extend(setting(PartKind::Notify, config.notify.command()));
    let workspace = &config.workspace;
    parts.extend(setting(PartKind::Setup, workspace.setup.as_deref()));
    parts.extend(setting(PartKind::Teardown, workspace.teardown.as_deref()));
    parts.extend(setting(PartKind::Check, config.merge.check.as_deref()));
    parts.extend(setting(PartKind::Check, config.claims.check_script()));
    parts.extend(config.store.group.as_deref().map(group_part));
    parts.extend(lanes_folder_part(workspace));
    for table in config.repositories.values() {
        parts.extend(setting(PartKind::Check, table.check.as_deref()));
        parts.extend(setting(PartKind::Setup, table.setup.as_deref()));
        parts.extend(setting(PartKind::Teardown, table.teardown.as_deref()));
    }
    parts
}

/// The parts of a configuration, whichever agent works.
pub(crate) fn all_config_parts(config: &Config) -> Vec<ExecutablePart> {
    let names = config.agents.keys().chain(config.agent.commands.keys());
    let names = names.chain(config.used_agents());
    let parts = names.flat_map(|name| agent_parts(config, name));
    config_parts(config, &[]).into_iter().chain(parts).collect()
}

/// What the configuration says of how the agent of this name is started. A program that
/// piton knows, and of which the configuration says nothing, has no part.
pub(super) fn agent_parts(config: &Config, name: &str) -> Vec<ExecutablePart> {
    if let Some(table) = config.agents.get(name) {
        return table_parts(name, table);
    }
    let command = config.agent.commands.get(name);
    if let Some(command) = command.filter(|_| !name.starts_with("sh:")) {
        let named = format!("agent.commands.{name}");
        let kind = PartKind::AgentCommand;
        return vec![ExecutablePart::of_setting(kind, &named, command)];
    }
    match program_table::find_program(name) {
        Some(_) => Vec::new(),
        None => vec![typed_agent(name)],
    }
}

fn table_parts(name: &str, table: &AgentTable) -> Vec<ExecutablePart> {
    use PartKind::{AgentArguments, AgentCommand, AgentEnvironment, AgentPermissions};
    let permissions = match table.permissions {
        Permissions::Default => None,
        Permissions::Edits => Some("edits"),
        Permissions::Plan => Some("plan"),
        Permissions::Bypass => Some("bypass"),
    };
    // An empty list says nothing. Quoted, so that no two lists are one text.
    let list = |words: &[String]| {
        let quoted: Vec<_> = words.iter().map(|word| quote_word(word)).collect();
        (!words.is_empty()).then(|| quoted.join("\n"))
    };
    let text = |text: &Option<String>| text.clone();
    // An empty list says something: nothing more is inherited.
    let env_pass = table.env_pass.as_ref().map(|pass| {
        let patterns: Vec<String> = pass.patterns().map(str::to_owned).collect();
        list(&patterns).unwrap_or_else(|| "[]".to_owned())
    });
    let settings = [
        (AgentCommand, "program", text(&table.program)),
        (AgentArguments, "args", list(&table.args)),
        (AgentArguments, "model-flag", text(&table.model_flag)),
        (AgentArguments, "session-flag", text(&table.session_flag)),
        (AgentArguments, "resume-flag", text(&table.resume_flag)),
        (AgentEnvironment, "env-pass", env_pass),
        (
            AgentPermissions,
            "permissions",
            permissions.map(str::to_owned),
        ),
        (
            AgentPermissions,
            "allowed-tools",
            list(&table.allowed_tools),
        ),
    ];
    let part = |kind, key: &str, text: &str| {
        ExecutablePart::of_setting(kind, &format!("agents.{name}.{key}"), text)
    };
    let settings = settings.into_iter();
    let mut parts: Vec<ExecutablePart> = settings
        .filter_map(|(kind, key, text)| Some(part(kind, key, &text?)))
        .collect();
    // A table under a name of its own may stand for a program that piton knows.
    if let Some(adapter) = &table.adapter
        && adapter.as_str() != name
    {
        parts.push(part(AgentCommand, "adapter", adapter.as_str()));
    }
    let variables = table.env.iter();
    parts.extend(
        variables
            .map(|(variable, value)| part(AgentEnvironment, &format!("env.{variable}"), value)),
    );
    parts
}
