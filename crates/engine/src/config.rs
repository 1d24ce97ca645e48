//! `.piton/config.toml`: what a project says of how it is run. All optional.

mod agents;
pub(crate) mod keys;
mod memory;
mod merge;
mod notify;
mod pull_requests;
pub mod repositories;
mod requests;
mod roles;
mod store;
pub(crate) mod store_access;
pub mod trust;
mod workspace;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use piton_core::Node;
use piton_core::amount::parse_duration;
use piton_core::dollars::Dollars;
use piton_core::evidence::{
    Baseline, ClaimOverrides, ClaimRules, ClaimSettings, WeakenedProof, Worth,
};
use piton_core::gate::Gate;
use piton_core::policy::Limits;
use piton_core::standstill::StandstillBounds;
use piton_core::stuck::LoopThresholds;
use piton_formats::plan_format::PlanKind;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, unreadable_file};
use crate::project::Project;
use crate::world::input;

pub use crate::agents::settings::{AgentTable, PricesTable, VerdictSource};

pub use self::agents::UsedAgents;
pub use self::memory::MemoryConfig;
pub use self::merge::MergeConfig;
pub use self::notify::NotifyConfig;
pub use self::pull_requests::{PullRequestProgram, PullRequestsConfig};
pub use self::repositories::{RepositoryTable, RepositoryTables};
pub use self::requests::RequestsConfig;
pub use self::roles::RoleTable;
pub use self::store::StoreConfig;
pub use self::workspace::{LANES, PORTS_A_LANE, WorkspaceConfig};

/// The settings of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Which agent works, and what bounds it.
    pub agent: AgentConfig,
    /// Programs that work, by name.
    pub agents: BTreeMap<String, AgentTable>,
    /// What models cost, where their programs do not say.
    pub prices: PricesTable,
    /// What the faces of the project show.
    pub faces: NativeFilesConfig,
    /// When an agent goes in circles.
    pub stuck: StuckConfig,
    /// When old entries are parted from a log.
    pub archive: ArchiveConfig,
    /// What runs may use.
    pub budget: BudgetConfig,
    /// What an agent's word is worth.
    pub claims: ClaimsConfig,
    /// What is committed.
    pub git: GitConfig,
    /// What becomes of what agents ask for beside their work.
    pub requests: RequestsConfig,
    /// What agents are shown of what is remembered.
    pub memory: MemoryConfig,
    /// How the journal is waited for.
    pub store: StoreConfig,
    /// Where several agents work at once.
    pub workspace: WorkspaceConfig,
    /// What their work has to pass together.
    pub merge: MergeConfig,
    /// How a person is notified.
    pub notify: NotifyConfig,
    /// Whether finished work becomes pull requests.
    pub pull_requests: PullRequestsConfig,
    /// What is another in single repositories, by their names in plans.
    pub repositories: RepositoryTables,
    /// How the work of each role is done, by the name of the role.
    pub roles: BTreeMap<String, RoleTable>,
}

/// The table `[git]`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GitConfig {
    /// Whether what piton writes of an item into tracked files is committed after
    /// the commits of its attempt.
    pub commit_progress: bool,
}

impl Default for GitConfig {
    fn default() -> Self {
        Self {
            commit_progress: true,
        }
    }
}

/// The table `[budget]`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BudgetConfig {
    /// Dollars that a run may use, unless the command line says otherwise.
    pub run_usd: Option<Dollars>,
    /// Tokens that a run may use, unless the command line says otherwise.
    pub run_tokens: Option<u64>,
    /// Dollars that all runs may use together.
    pub project_usd: Option<Dollars>,
    /// Tokens that all runs may use together.
    pub project_tokens: Option<u64>,
}

impl BudgetConfig {
    /// As limits of a run.
    #[must_use]
    pub fn run_limits(&self) -> Limits {
        Limits {
            budget_usd: self.run_usd,
            budget_tokens: self.run_tokens,
            project_usd: self.project_usd,
            project_tokens: self.project_tokens,
            ..Limits::default()
        }
    }
}

/// The table `[claims]`: what proof that an item is done is worth.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClaimsConfig {
    /// What the agent's word and a change are worth: `accept`, `check` or `ask`.
    pub changed: Option<Worth>,
    /// What the agent's word alone is worth.
    pub word: Option<Worth>,
    /// What becomes of an item whose proof was weakened: `ask`, `note` or `refuse`.
    pub weakened: Option<WeakenedProof>,
    /// Whether checks run before the first attempts: `auto`, `always`, `never`.
    pub baseline: Option<Baseline>,
    /// The command of `check`.
    pub check: Option<String>,
    /// What holds for the nodes of sprints instead.
    pub sprint: ClaimOverrides,
    /// What holds for the items of lists instead.
    pub list: ClaimOverrides,
    /// What holds for the criteria of task files instead.
    pub task: ClaimOverrides,
    /// What holds for issues instead.
    pub issues: ClaimOverrides,
    /// What holds for single items instead, by their names.
    pub items: BTreeMap<String, ClaimOverrides>,
    /// The former name of `word`.
    pub worth: Option<Worth>,
    /// The former way to say `word = "ask"`.
    pub change: Option<bool>,
    /// The former name of `check`.
    pub gate: Option<String>,
}

/// What the agent is told when the script of `[claims]` fails.
const CLAIM_PROMPT: &str = "The item was said to be done, and little shows it. Do what it asks \
                            for, or find what keeps this check from passing, and fix that.";
/// How often that script is run at most, and how long: as gates of sprints are.
const CLAIM_RUNS_MAX: u32 = 3;
const CLAIM_TIMEOUT_S: u64 = 300;

impl ClaimsConfig {
    /// As a run of a plan of this kind keeps it.
    #[must_use]
    pub fn claims_of_kind(&self, kind: PlanKind) -> ClaimSettings {
        let gate = self.check_script().map(|script| Gate {
            script: script.to_owned(),
            on_fail_prompt: CLAIM_PROMPT.to_owned(),
            runs_max: CLAIM_RUNS_MAX,
            timeout_s: CLAIM_TIMEOUT_S,
        });
        let own = match kind {
            PlanKind::Sprint => &self.sprint,
            PlanKind::List => &self.list,
            PlanKind::Task => &self.task,
            PlanKind::Issues => &self.issues,
        };
        let word = match kind {
            // As in the original, a node without a gate is done by its agent's word.
            PlanKind::Sprint => Worth::Accept,
            PlanKind::List | PlanKind::Task | PlanKind::Issues => Worth::Ask,
        };
        let default = ClaimRules {
            word,
            ..ClaimRules::default()
        };
        let of_all = ClaimOverrides {
            changed: self.changed,
            word: self.word.or(self.deprecated_word()),
            weakened: self.weakened,
        };
        let items = self.items.iter();
        ClaimSettings {
            rules: default.with_overrides(&of_all).with_overrides(own),
            baseline: self.baseline.unwrap_or(Baseline::Auto),
            check: gate.map(Box::new),
            items: items
                .map(|(name, claims)| (Node::from_text(name.as_str()), *claims))
                .collect(),
        }
    }

    fn deprecated_word(&self) -> Option<Worth> {
        self.worth.or_else(|| self.change?.then_some(Worth::Ask))
    }

    pub(crate) fn check_script(&self) -> Option<&str> {
        let script = self.check.as_deref().or(self.gate.as_deref());
        script.map(str::trim).filter(|script| !script.is_empty())
    }

    /// What is said in words of an older version, and what to write instead.
    #[must_use]
    pub fn deprecated_names(&self) -> Vec<String> {
        let said = [
            (self.worth.is_some(), "`worth` is now `word`"),
            (
                self.change.is_some(),
                "`change = true` is now `word = \"ask\"`",
            ),
            (self.gate.is_some(), "`gate` is now `check`"),
        ];
        let former = said.iter().filter(|(is_said, _)| *is_said);
        former
            .map(|(_, what)| {
                format!("[claims] in .piton/config.toml: {what}; the old form still works")
            })
            .collect()
    }

    /// What is wrong with it, if something is.
    fn check_command(&self) -> Result<(), String> {
        let tables = [&self.sprint, &self.list, &self.task, &self.issues];
        let own = tables.into_iter().chain(self.items.values());
        let worths = own.flat_map(|own| [own.changed, own.word]);
        let mut all = worths.chain([self.changed, self.word, self.worth]);
        if self.check_script().is_none() && all.any(|worth| worth == Some(Worth::Check)) {
            return Err(
                "`check` under [claims] needs a command: `check = \"cargo test\"`".to_owned(),
            );
        }
        Ok(())
    }
}

/// The table `[faces]`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NativeFilesConfig {
    /// Whose attempts the faces of the project show.
    pub attempts: ShownAttempts,
}

/// Whose attempts the faces of the project show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownAttempts {
    /// Those of every run.
    #[default]
    All,
    /// Those that were recorded without a run.
    Recorded,
}

/// The table `[stuck]`: how often is a circle. 0 for never.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StuckConfig {
    /// The same command failing in an attempt.
    pub command_failures: u32,
    /// The same file written within ten minutes.
    pub file_writes: u32,
    /// The same words said in a row.
    pub repeated_words: u32,
    /// The same call with the same outcome in a row.
    pub repeated_calls: u32,
}

impl Default for StuckConfig {
    fn default() -> Self {
        let LoopThresholds {
            failures,
            writes,
            repeats,
            calls,
        } = LoopThresholds::default();
        Self {
            command_failures: failures,
            file_writes: writes,
            repeated_words: repeats,
            repeated_calls: calls,
        }
    }
}

impl StuckConfig {
    /// The same, as the core counts.
    #[must_use]
    pub fn thresholds(self) -> LoopThresholds {
        LoopThresholds {
            failures: self.command_failures,
            writes: self.file_writes,
            repeats: self.repeated_words,
            calls: self.repeated_calls,
        }
    }
}

/// The table `[archive]`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ArchiveConfig {
    /// From so many entries on, old ones are parted from the log of Agent OS.
    pub entries: usize,
    /// An entry is old after so many days.
    pub days: u32,
}

impl Default for ArchiveConfig {
    fn default() -> Self {
        Self {
            entries: 500,
            days: 30,
        }
    }
}

/// What turns off what a duration would turn on.
pub const OFF: &str = "off";

/// The table `[agent]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentConfig {
    /// The agent that works when no `--agent` is given: a name from `[agents]`
    /// or `commands`, one that piton knows, else a shell command. A list is a chain: the
    /// next one goes on where a service had enough or a model refused.
    #[serde(rename = "use")]
    pub use_: Option<UsedAgents>,
    /// Names for shell commands.
    pub commands: BTreeMap<String, String>,
    /// Longest life of an agent, as a duration.
    pub wall_timeout: String,
    /// Longest time in which an agent prints nothing, or [`OFF`]. When absent
    /// that of its program: see [`KnownProgram::idle_timeout`](crate::agents::known_program::KnownProgram).
    pub idle_timeout: Option<String>,
    /// After how long without a change and how many calls an agent makes no
    /// progress, or [`OFF`]: see [`StandstillBounds`].
    pub no_progress: String,
    /// Between asking an agent to end and ending it.
    pub grace: String,
    /// Most bytes that an agent may print.
    pub output_bytes_max: u64,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            use_: None,
            commands: BTreeMap::new(),
            wall_timeout: "2h".to_owned(),
            idle_timeout: None,
            no_progress: "60m/200".to_owned(),
            grace: "5s".to_owned(),
            output_bytes_max: 256 << 20,
        }
    }
}

impl Config {
    /// Reads the settings; defaults where there is no file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not TOML, or has an unknown key or value.
    pub fn load(project: &Project) -> Result<Self, Failure> {
        let Some(text) = Self::read_text(project)? else {
            return Ok(Self::default());
        };
        let path = Self::path(project);
        let wrong = |what: String| {
            let unknown = what.contains("unknown field");
            let meant = unknown.then(|| keys::closest_to_unknown(&text)).flatten();
            let meant = meant.map(|key| format!("the setting may be `{key}`: "));
            let hint = format!(
                "{}mend the file, then repeat the command",
                meant.unwrap_or_default()
            );
            Failure::new("usage", format!("{}: {what}", path.display())).with_hint(hint)
        };
        Self::parse(&text).map_err(wrong)
    }

    /// The file of the settings.
    pub(crate) fn path(project: &Project) -> PathBuf {
        project.tree_folder().join("config.toml")
    }

    /// The text of that file; none where there is no file.
    pub(crate) fn read_text(project: &Project) -> Result<Option<String>, Failure> {
        let path = Self::path(project);
        let inside = project.resolve_inside(&path);
        match inside.and_then(input::read_file_text) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable_file(&path, error)),
        }
    }

    /// Reads the settings from their text; what is wrong with it, if something is.
    ///
    /// # Errors
    ///
    /// When it is not TOML, or has an unknown key or value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self =
            toml::from_str(text).map_err(|error| describe_toml_error(text, &error))?;
        let idle = config.agent.idle_timeout.as_ref();
        let durations = [
            Some(&config.agent.wall_timeout),
            idle.filter(|idle| *idle != OFF),
            Some(&config.agent.grace),
        ];
        for text in durations.into_iter().flatten() {
            parse_duration(text).map_err(|error| error.to_string())?;
        }
        let no_progress = &config.agent.no_progress;
        if no_progress != OFF {
            let bounds = no_progress.parse::<StandstillBounds>();
            bounds.map_err(|error| format!("agent.no-progress: {error}"))?;
        }
        for (name, table) in &config.agents {
            agents::check_agent_table(name, table)?;
        }
        agents::check_chain(&config)?;
        config.prices.check()?;
        config.workspace.check()?;
        config.merge.check()?;
        config.notify.check()?;
        roles::check_role_tables(&config.roles)?;
        config.claims.check_command()?;
        Ok(config)
    }

    /// The variables that agents find in their environment by these settings.
    pub fn agent_variables(&self) -> impl Iterator<Item = (&String, &String)> {
        self.agents.values().flat_map(|table| &table.env)
    }
}

impl AgentConfig {
    /// When an agent makes no progress; none where the check is off.
    #[must_use]
    pub fn standstill_bounds(&self) -> Option<StandstillBounds> {
        self.no_progress.parse().ok()
    }

    /// What bounds an agent.
    #[must_use]
    pub fn process_limits(&self) -> crate::process::ProcessLimits {
        let seconds = |text: &str| parse_duration(text).ok().map(Duration::from_secs);
        crate::process::ProcessLimits {
            wall: seconds(&self.wall_timeout),
            idle: self.idle_timeout.as_deref().and_then(seconds),
            output_bytes_max: Some(self.output_bytes_max),
            grace: seconds(&self.grace).unwrap_or(Duration::from_secs(5)),
        }
    }
}

/// What is wrong with a text, and where. The line itself is not shown: a key
/// may stand in it.
fn describe_toml_error(text: &str, error: &toml::de::Error) -> String {
    // A value that does not fit is named by its type only.
    let what = error.message().trim_end();
    let what = match what.split_once("string \"") {
        Some((before, rest)) => {
            let behind = rest.rsplit_once('"').map_or("", |(_, behind)| behind);
            format!("{before}string{behind}")
        }
        None => what.to_owned(),
    };
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return what;
    };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("line {line}, column {column}: {what}")
}
