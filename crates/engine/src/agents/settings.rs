//! The tables `[agents.NAME]` and `[prices]` of the configuration, as plain data.
//!
//! What of it fits which program is checked in [`crate::config`].

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::env_pass::EnvPass;

/// The table `[agents.NAME]`: a program that works.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentTable {
    /// Which adapter drives it. Without it that of its name, else `custom`.
    pub adapter: Option<AdapterName>,
    /// The program. Without it the one that its adapter is for.
    pub program: Option<String>,
    /// More arguments for it.
    pub args: Vec<String>,
    /// More for its environment.
    pub env: BTreeMap<String, String>,
    /// What it inherits of the environment of piton. Without it everything.
    #[serde(alias = "env_pass")]
    pub env_pass: Option<EnvPass>,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// Tools that it may use without asking, in its own words.
    pub allowed_tools: Vec<String>,
    /// Most turns of an attempt, where the program can count them.
    pub max_turns: Option<u32>,
    /// The model where neither the plan nor the command names one, in the program's words.
    pub model: Option<String>,
    /// Words of plans for models, each with that of the program.
    pub models: BTreeMap<String, String>,
    /// Whether it gets the tools of piton, where it can be told so at its start.
    pub tools: Option<bool>,
    /// What says that its work is done. Only of `custom`.
    pub verdict: VerdictSource,
    /// In place of that of `[agent]`.
    pub wall_timeout: Option<String>,
    /// In place of that of `[agent]`.
    pub idle_timeout: Option<String>,
    /// How it is told a model: `--model {model}`. Only of `custom`.
    pub model_flag: Option<String>,
    /// How it is told the id of a new conversation: `--session {session}`.
    /// Only of `custom`.
    pub session_flag: Option<String>,
    /// How it is told to go on with one: `--resume {session}`. Only of `custom`.
    pub resume_flag: Option<String>,
    /// How it gets the prompt. Only of `custom`.
    pub prompt: PromptChannel,
    /// What it prints. Only of `custom`.
    pub output: AgentOutputFormat,
    /// Where the facts stand in what it prints. Only of `custom`.
    pub read: OutputFieldsTable,
}

/// The name of an adapter: that of a program that piton knows, or `custom`. It is
/// read in [`super::program_table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AdapterName(pub(super) &'static str);

impl AdapterName {
    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

/// What says that the work of an agent is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictSource {
    /// The agent, in the form that its prompt asks for.
    #[default]
    Form,
    /// Exit status 0 of its program, unless the agent says otherwise.
    ExitStatus,
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// Change files and run commands.
    #[default]
    Default,
    /// Change files, and what `allowed-tools` adds.
    Edits,
    /// Look and plan.
    Plan,
    /// Everything.
    Bypass,
}

impl VerdictSource {
    /// Its name, as typed and stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::ExitStatus => "exit-status",
        }
    }

    /// That of a name; none where a newer piton stored it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Form, Self::ExitStatus]
            .into_iter()
            .find(|by| by.as_str() == name)
    }
}

/// How a program gets its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptChannel {
    /// On its stdin.
    #[default]
    Stdin,
    /// As its last argument.
    Argument,
}

/// What a program prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentOutputFormat {
    /// Text, of which the end is looked at.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// One JSON object a line.
    Jsonl,
}

/// Where facts stand in what a program prints: names joined by dots, such as
/// `result.usage.input`; a number is the place in a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OutputFieldsTable {
    /// The id of the conversation.
    pub session: Option<String>,
    /// What the agent says: a text.
    pub words: Option<String>,
    /// When it succeeded. Without it exit status 0 without an error is enough.
    pub success_when: Option<SuccessWhen>,
    /// What went wrong: a text.
    pub error: Option<String>,
    /// The model that works.
    pub model: Option<String>,
    /// Tokens read.
    pub input_tokens: Option<String>,
    /// Tokens written.
    pub output_tokens: Option<String>,
    /// Tokens read from a cache.
    pub cache_read_tokens: Option<String>,
    /// Tokens written to a cache.
    pub cache_write_tokens: Option<String>,
    /// Tokens of reasoning.
    pub reasoning_tokens: Option<String>,
    /// Dollars.
    pub cost_usd: Option<String>,
    /// The tokens of a cache are counted as input as well.
    pub input_holds_cached: bool,
    /// The numbers are totals of the conversation, and not of this attempt.
    pub cumulative: bool,
    /// The name of a tool that was called.
    pub tool: Option<String>,
    /// Its file.
    pub tool_file: Option<String>,
    /// Its command.
    pub tool_command: Option<String>,
    /// The exit status of that command.
    pub tool_exit: Option<String>,
}

/// When a program succeeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuccessWhen {
    /// Where it is said.
    pub path: String,
    /// What is said then.
    pub equals: serde_json::Value,
}

impl AgentTable {
    /// The model for a word that a plan or a person uses, in the words of its
    /// program.
    ///
    /// A word of another program says nothing to it: a plan that was written for
    /// one program can be carried out by another.
    #[must_use]
    pub fn model_for(
        &self,
        word: Option<&str>,
        is_foreign: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let own = || self.model.clone();
        let Some(word) = word else { return own() };
        if let Some(model) = self.models.get(word) {
            return Some(model.clone());
        }
        if is_foreign(word) {
            return own();
        }
        Some(word.to_owned())
    }

    /// The value of a variable as its program finds it in this environment.
    #[must_use]
    pub fn env_variable<'v>(
        &'v self,
        name: &str,
        env: &'v BTreeMap<String, String>,
    ) -> Option<&'v str> {
        let is_passed = self.env_pass.as_ref().is_none_or(|pass| pass.passes(name));
        self.env
            .get(name)
            .or_else(|| env.get(name).filter(|_| is_passed))
            .map(String::as_str)
    }

    /// The tools that it may use unasked: `shell` where the table leaves that open.
    pub(super) fn allowed_tools_or(&self, shell: &str) -> Vec<String> {
        if self.allowed_tools.is_empty() && self.permissions == Permissions::Default {
            return vec![shell.to_owned()];
        }
        self.allowed_tools.clone()
    }

    /// Whether it gets the tools of piton.
    #[must_use]
    pub fn has_tools(&self) -> bool {
        self.tools.unwrap_or(true)
    }
}

/// The table `[prices]`: what models cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PricesTable {
    /// When these prices held: `2026-11-01`.
    #[serde(deserialize_with = "deserialize_date")]
    pub date: Option<jiff::civil::Date>,
    /// By model.
    pub models: BTreeMap<String, Price>,
}

/// A date, as TOML writes it or as a text.
fn deserialize_date<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<jiff::civil::Date>, D::Error> {
    let value = toml::Value::deserialize(from)?;
    let text = value.as_str().map(str::to_owned);
    let text = text.or_else(|| value.as_datetime().map(ToString::to_string));
    let date = text.and_then(|text| text.parse().ok());
    let wrong = || D::Error::custom("a date is written 2026-11-01");
    date.map(Some).ok_or_else(wrong)
}

/// What a model costs, in dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache; as `input` without it.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Written to a cache; as `input` without it.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl PricesTable {
    /// What does not fit, with the key that says it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.date.is_none() && !self.models.is_empty() {
            return Err("prices.date: say from when these prices are".to_owned());
        }
        for (model, price) in &self.models {
            let amounts = [
                Some(price.input),
                Some(price.output),
                price.cache_read,
                price.cache_write,
            ];
            if amounts
                .into_iter()
                .flatten()
                .any(|dollars| !dollars.is_finite() || dollars < 0.0)
            {
                return Err(format!("prices.models.{model}: a price is no less than 0"));
            }
        }
        Ok(())
    }
}
