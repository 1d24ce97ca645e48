//! Which agent a name means, and what its table `[agents.NAME]` may say.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use piton_core::amount::parse_duration;
use serde::{Deserialize, Serialize};

use super::{AgentConfig, Config, OFF};
use crate::agents::known_program::KnownProgram;
use crate::agents::program_table::{self, CUSTOM, program_of_table};
use crate::agents::settings::{
    AgentOutputFormat, AgentTable, OutputFieldsTable, Permissions, PromptChannel, VerdictSource,
};
use crate::agents::{Agent, Custom, Shell};
use crate::failure::Failure;
use crate::process::InheritedEnvironment;

/// The keys that only the adapter `custom` has, of those that not every one has.
const CUSTOM_KEYS: &[&str] = &[
    "model-flag",
    "session-flag",
    "resume-flag",
    "prompt",
    "output",
    "read",
];

/// The agents that `use` names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a name, or a list of names")]
pub enum UsedAgents {
    /// A name or a command.
    One(String),
    /// Names, in the order in which they are tried.
    Chain(Vec<String>),
}

impl UsedAgents {
    /// The names, in their order; none where `use` says nothing.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            Self::One(name) if name.trim().is_empty() => &[],
            Self::One(name) => std::slice::from_ref(name),
            Self::Chain(names) => names,
        }
    }
}

impl Config {
    /// The agents that work when no other is named.
    #[must_use]
    pub fn used_agents(&self) -> &[String] {
        self.agent.use_.as_ref().map_or(&[], UsedAgents::names)
    }

    /// The shell command that `agent` names, or is.
    ///
    /// `sh:CMD` is always a command.
    #[must_use]
    pub fn command_of_agent<'a>(&'a self, agent: &'a str) -> &'a str {
        match agent.strip_prefix("sh:") {
            Some(command) => command,
            None => self.agent.commands.get(agent).map_or(agent, String::as_str),
        }
    }

    /// The program that piton knows and the agent `name` means; none for others, and
    /// for a shell command.
    #[must_use]
    pub fn program_of_agent(&self, name: &str) -> Option<&'static KnownProgram> {
        if let Some(table) = self.agents.get(name) {
            return program_of_table(name, table);
        }
        // What a person configured goes before what piton knows.
        let is_command = name.starts_with("sh:") || self.agent.commands.contains_key(name);
        program_table::find_program(name).filter(|_| !is_command)
    }

    /// What bounds the agent of this name.
    #[must_use]
    pub fn limits_of_agent(&self, agent: &str) -> crate::process::ProcessLimits {
        let table = self.agents.get(agent);
        let program = self.program_of_agent(agent);
        let idle_default = program.map(|program| program.idle_timeout);
        let own = AgentConfig {
            wall_timeout: table
                .and_then(|table| table.wall_timeout.clone())
                .unwrap_or_else(|| self.agent.wall_timeout.clone()),
            idle_timeout: table
                .and_then(|table| table.idle_timeout.clone())
                .or_else(|| self.agent.idle_timeout.clone())
                .or_else(|| idle_default.map(str::to_owned)),
            ..self.agent.clone()
        };
        own.process_limits()
    }

    /// What the agent `name` inherits of the environment of this process, `env`.
    #[must_use]
    pub fn environment_for_agent(
        &self,
        name: &str,
        env: &BTreeMap<String, String>,
    ) -> InheritedEnvironment {
        let table = self.agents.get(name);
        match table.and_then(|table| table.env_pass.as_ref()) {
            Some(pass) => InheritedEnvironment::Only(pass.select(env)),
            None => InheritedEnvironment::Everything,
        }
    }

    /// The agent that `name` means: one that is configured, one that piton knows,
    /// else a shell command. `sh:CMD` is always a command.
    ///
    /// # Errors
    ///
    /// When what is configured for it does not fit.
    pub fn resolve_agent(&self, name: &str) -> Result<Box<dyn Agent>, Failure> {
        let table = self.agents.get(name).cloned();
        let zone = TimeZone::system();
        match (self.program_of_agent(name), table) {
            (Some(program), table) => {
                let table = table.unwrap_or_default();
                Ok(program_table::build_agent(program, table, zone))
            }
            (None, Some(table)) => Ok(Box::new(Custom::new(table, zone)?)),
            (None, None) => shell_agent(name, self.command_of_agent(name)),
        }
    }

    /// What says that the work of the agent `name` is done: what was `asked` for,
    /// else what its table says.
    ///
    /// # Errors
    ///
    /// When the exit status was asked for, and the program is one that can be asked
    /// what came of its work.
    pub fn resolve_verdict_by(
        &self,
        name: &str,
        asked: Option<VerdictSource>,
    ) -> Result<VerdictSource, Failure> {
        let Some(asked) = asked else {
            let table = self.agents.get(name);
            return Ok(table.map_or(VerdictSource::Form, |table| table.verdict));
        };
        let program = self.program_of_agent(name);
        match program.and_then(|program| reason_unfit(asked, program)) {
            Some(why) => Err(Failure::new("usage", format!("--verdict: {why}"))
                .with_hint("leave --verdict out, or name a command: `--agent 'sh:CMD'`")),
            None => Ok(asked),
        }
    }
}

/// A command for a shell; one that says nothing would do nothing and end well.
fn shell_agent(name: &str, command: &str) -> Result<Box<dyn Agent>, Failure> {
    let says_something = |line: &str| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#')
    };
    if command.lines().any(says_something) {
        return Ok(Box::new(Shell::new(command)));
    }
    let what = format!("the agent `{name}` is a command that does nothing");
    Err(Failure::new("agent.missing", what)
        .with_hint("name a program, or a command that reads a prompt; see which are installed with `piton agents`"))
}

/// Why the work of a program that piton knows cannot be judged so; none where it can.
fn reason_unfit(by: VerdictSource, program: &KnownProgram) -> Option<String> {
    (by == VerdictSource::ExitStatus).then(|| {
        format!(
            "`exit-status` is for plain commands; {} is asked once more when it does not say what came of its work",
            program.name
        )
    })
}

/// What does not fit in a chain. A word that is no name of an agent would be a command, and
/// a mistyped name be noticed in the middle of the night.
pub(super) fn check_chain(config: &Config) -> Result<(), String> {
    let Some(UsedAgents::Chain(names)) = &config.agent.use_ else {
        return Ok(());
    };
    if names.is_empty() {
        return Err("agent.use: a chain names at least one agent".to_owned());
    }
    for (nth, name) in names.iter().enumerate() {
        let is_known = config.agents.contains_key(name)
            || config.agent.commands.contains_key(name)
            || program_table::find_program(name).is_some()
            || name.starts_with("sh:");
        if !is_known {
            return Err(format!(
                "agent.use: no agent is called `{name}`; in a chain stand names of `[agents]` and `[agent.commands]`, `sh:CMD`, and programs that piton knows: {}",
                program_table::program_names()
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        if names[..nth].contains(name) {
            return Err(format!("agent.use: `{name}` stands there twice"));
        }
    }
    Ok(())
}

/// What does not fit in the table of an agent, with the key that says it.
pub(super) fn check_agent_table(name: &str, table: &AgentTable) -> Result<(), String> {
    let wrong = |key: &str, why: String| Err(format!("agents.{name}.{key}: {why}"));
    let times = [
        ("wall-timeout", &table.wall_timeout),
        ("idle-timeout", &table.idle_timeout),
    ];
    for (key, time) in times {
        let is_off = key == "idle-timeout" && time.as_deref() == Some(OFF);
        let time = time.as_deref().filter(|_| !is_off);
        if let Some(Err(error)) = time.map(parse_duration) {
            return wrong(key, error.to_string());
        }
    }
    let program = program_of_table(name, table);
    let (adapter, keys) = program.map_or((CUSTOM, CUSTOM_KEYS), |known| (known.name, known.keys));
    for (key, is_set) in adapter_specific_keys(table) {
        if is_set && !keys.contains(&key) {
            return wrong(key, format!("no key of the adapter {adapter}"));
        }
    }
    if let Some(why) = program.and_then(|program| reason_unfit(table.verdict, program)) {
        return wrong("verdict", why);
    }
    if program.is_none() && table.program.as_deref().unwrap_or("").is_empty() {
        return wrong(
            "program",
            "which program? piton knows none of this name".to_owned(),
        );
    }
    let flags = [
        ("model-flag", &table.model_flag, "{model}"),
        ("session-flag", &table.session_flag, "{session}"),
        ("resume-flag", &table.resume_flag, "{session}"),
    ];
    for (key, flag, hole) in flags {
        if flag.as_ref().is_some_and(|flag| !flag.contains(hole)) {
            return wrong(key, format!("has no {hole} in it"));
        }
    }
    if table.output == AgentOutputFormat::Text && table.read != OutputFieldsTable::default() {
        return wrong("read", "needs output = \"json\" or \"jsonl\"".to_owned());
    }
    Ok(())
}

/// Keys that not every adapter has, and whether they are set.
fn adapter_specific_keys(table: &AgentTable) -> [(&'static str, bool); 9] {
    [
        ("permissions", table.permissions != Permissions::Default),
        ("allowed-tools", !table.allowed_tools.is_empty()),
        ("max-turns", table.max_turns.is_some()),
        ("model-flag", table.model_flag.is_some()),
        ("session-flag", table.session_flag.is_some()),
        ("resume-flag", table.resume_flag.is_some()),
        ("prompt", table.prompt != PromptChannel::Stdin),
        ("output", table.output != AgentOutputFormat::Text),
        ("read", table.read != OutputFieldsTable::default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Result<&[&str], &str>) {
        let text = format!("[agent]\nuse = {value}\n[agents.careful]\nadapter = \"claude\"\n");
        match (Config::parse(&text), expect) {
            (Ok(config), Ok(names)) => assert_eq!(config.used_agents(), names),
            (Err(said), Err(part)) => assert!(said.contains(part), "{said}"),
            (said, _) => panic!("{value}: {said:?}"),
        }
    }

    #[test]
    fn a_chain_is_of_known_names_and_a_mistyped_one_is_named() {
        check("\"claude\"", Ok(&["claude"]));
        check("\"make work\"", Ok(&["make work"]));
        check("\"\"", Ok(&[]));
        check(
            "[\"careful\", \"codex\", \"sh:make work\"]",
            Ok(&["careful", "codex", "sh:make work"]),
        );
        check("[\"claude\", \"codx\"]", Err("no agent is called `codx`"));
        check("[\"claude\", \"make work\"]", Err("`make work`"));
        check("[\"codex\", \"codex\"]", Err("`codex` stands there twice"));
        check("[]", Err("names at least one agent"));
        check("7", Err("expected a name, or a list of names"));
    }
}
