//! The tables `[agents.NAME]` and `[prices]`.

use std::collections::BTreeMap;

use piton_core::amount::parse_duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::OFF;

/// The table `[agents.NAME]`: a program that works.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AgentTable {
    /// Which adapter drives it. Without it that of its name, else `custom`.
    pub adapter: Option<Adapter>,
    /// The program. Without it the one that its adapter is for.
    pub program: Option<String>,
    /// More arguments for it.
    pub args: Vec<String>,
    /// More for its environment.
    pub env: BTreeMap<String, String>,
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

/// Which adapter drives a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adapter {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Any other one, by the table alone.
    Custom,
}

impl Adapter {
    /// The adapter of that name, for a program that piton knows.
    #[must_use]
    pub fn from_program_name(name: &str) -> Option<Self> {
        match name {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "gemini" => Some(Self::Gemini),
            _ => None,
        }
    }
}

/// Longest silence of a program that prints something while it works. Longer
/// than the longest command that Claude Code lets an agent run: ten minutes.
const IDLE_TIMEOUT: &str = "15m";

impl Adapter {
    /// The longest silence of its program where the project sets none; none where the
    /// silence has no limit.
    #[must_use]
    pub fn idle_timeout_default(self) -> Option<&'static str> {
        match self {
            Self::Claude | Self::Codex | Self::Gemini => Some(IDLE_TIMEOUT),
            Self::Custom => None,
        }
    }
}

/// What says that the work of an agent is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictSource {
    /// The agent, in the form that its prompt asks for.
    #[default]
    Form,
    /// Exit status 0 of its program, unless the agent says otherwise.
    ExitStatus,
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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

    /// Why an agent with this adapter cannot be judged so; none where it can.
    #[must_use]
    pub(crate) fn reason_unfit_for(self, adapter: Adapter) -> Option<String> {
        if self == Self::Form || adapter == Adapter::Custom {
            return None;
        }
        let name = format!("{adapter:?}").to_lowercase();
        Some(format!(
            "`exit-status` is for plain commands; {name} is asked once more when it does not say what came of its work"
        ))
    }
}

/// How a program gets its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptChannel {
    /// On its stdin.
    #[default]
    Stdin,
    /// As its last argument.
    Argument,
}

/// What a program prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuccessWhen {
    /// Where it is said.
    pub path: String,
    /// What is said then.
    pub equals: serde_json::Value,
}

/// Whose words for models a program understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFamily {
    /// Those of Claude Code.
    Claude,
    /// Those of Codex.
    OpenAi,
    /// Those of Gemini CLI.
    Gemini,
}

/// How words for models begin, and whose they are.
const FAMILIES: &[(&str, ModelFamily)] = &[
    ("haiku", ModelFamily::Claude),
    ("sonnet", ModelFamily::Claude),
    ("opus", ModelFamily::Claude),
    ("claude-", ModelFamily::Claude),
    ("gpt-", ModelFamily::OpenAi),
    ("codex-", ModelFamily::OpenAi),
    ("o3", ModelFamily::OpenAi),
    ("o4", ModelFamily::OpenAi),
    ("gemini-", ModelFamily::Gemini),
];

impl AgentTable {
    /// The model for a word that a plan or a person uses, in the words of a
    /// program that understands those of `family`.
    ///
    /// A word of another family says nothing to it: a plan that was written for
    /// one program can be carried out by another.
    #[must_use]
    pub fn model_for(&self, word: Option<&str>, family: Option<ModelFamily>) -> Option<String> {
        let own = || self.model.clone();
        let Some(word) = word else { return own() };
        if let Some(model) = self.models.get(word) {
            return Some(model.clone());
        }
        let of = FAMILIES
            .iter()
            .find(|(begin, _)| word.starts_with(begin))
            .map(|(_, family)| *family);
        match (of, family) {
            (Some(of), Some(family)) if of != family => own(),
            _ => Some(word.to_owned()),
        }
    }

    /// The value of a variable as its program finds it in this environment.
    #[must_use]
    pub fn env_variable<'v>(
        &'v self,
        name: &str,
        env: &'v BTreeMap<String, String>,
    ) -> Option<&'v str> {
        self.env
            .get(name)
            .or_else(|| env.get(name))
            .map(String::as_str)
    }

    /// Whether it gets the tools of piton.
    #[must_use]
    pub fn has_tools(&self) -> bool {
        self.tools.unwrap_or(true)
    }

    /// The adapter of an agent of this name.
    #[must_use]
    pub fn adapter(&self, name: &str) -> Adapter {
        self.adapter
            .or_else(|| Adapter::from_program_name(name))
            .unwrap_or(Adapter::Custom)
    }

    /// What does not fit, with the key that says it.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        let wrong = |key: &str, why: String| Err(format!("agents.{name}.{key}: {why}"));
        let times = [
            ("wall-timeout", &self.wall_timeout),
            ("idle-timeout", &self.idle_timeout),
        ];
        for (key, time) in times {
            let is_off = key == "idle-timeout" && time.as_deref() == Some(OFF);
            let time = time.as_deref().filter(|_| !is_off);
            if let Some(Err(error)) = time.map(parse_duration) {
                return wrong(key, error.to_string());
            }
        }
        let adapter = self.adapter(name);
        for (key, is_set, adapters) in self.adapter_specific_keys() {
            if is_set && !adapters.contains(&adapter) {
                return wrong(
                    key,
                    format!("no key of the adapter {adapter:?}").to_lowercase(),
                );
            }
        }
        if let Some(why) = self.verdict.reason_unfit_for(adapter) {
            return wrong("verdict", why);
        }
        if adapter == Adapter::Custom && self.program.as_deref().unwrap_or("").is_empty() {
            return wrong(
                "program",
                "which program? piton knows none of this name".to_owned(),
            );
        }
        let flags = [
            ("model-flag", &self.model_flag, "{model}"),
            ("session-flag", &self.session_flag, "{session}"),
            ("resume-flag", &self.resume_flag, "{session}"),
        ];
        for (key, flag, hole) in flags {
            if flag.as_ref().is_some_and(|flag| !flag.contains(hole)) {
                return wrong(key, format!("has no {hole} in it"));
            }
        }
        if self.output == AgentOutputFormat::Text && self.read != OutputFieldsTable::default() {
            return wrong("read", "needs output = \"json\" or \"jsonl\"".to_owned());
        }
        Ok(())
    }

    /// Keys that not every adapter has, whether they are set, and whose they are.
    fn adapter_specific_keys(&self) -> [(&'static str, bool, &'static [Adapter]); 9] {
        use Adapter::{Claude, Codex, Custom, Gemini};
        let custom: &[Adapter] = &[Custom];
        [
            (
                "permissions",
                self.permissions != Permissions::Default,
                &[Claude, Codex, Gemini],
            ),
            (
                "allowed-tools",
                !self.allowed_tools.is_empty(),
                &[Claude, Gemini],
            ),
            ("max-turns", self.max_turns.is_some(), &[Claude]),
            ("model-flag", self.model_flag.is_some(), custom),
            ("session-flag", self.session_flag.is_some(), custom),
            ("resume-flag", self.resume_flag.is_some(), custom),
            ("prompt", self.prompt != PromptChannel::Stdin, custom),
            ("output", self.output != AgentOutputFormat::Text, custom),
            ("read", self.read != OutputFieldsTable::default(), custom),
        ]
    }
}

/// The table `[prices]`: what models cost.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
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
    pub(super) fn check(&self) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_a_model_is_put_into_those_of_the_program() {
        let table = AgentTable {
            model: Some("gpt-5.1-codex".to_owned()),
            models: [("haiku".to_owned(), "gpt-5-mini".to_owned())].into(),
            ..AgentTable::default()
        };
        let check = |word: Option<&str>, expect: &str| {
            let model = table.model_for(word, Some(ModelFamily::OpenAi));
            assert_eq!(model.as_deref(), Some(expect), "{word:?}");
        };
        check(None, "gpt-5.1-codex");
        check(Some("haiku"), "gpt-5-mini");
        check(Some("opus"), "gpt-5.1-codex");
        check(Some("gpt-5.1"), "gpt-5.1");
        check(Some("my-model"), "my-model");
        let plain = AgentTable::default();
        assert_eq!(
            plain.model_for(Some("opus"), Some(ModelFamily::Gemini)),
            None
        );
        assert_eq!(
            plain
                .model_for(Some("opus"), Some(ModelFamily::Claude))
                .as_deref(),
            Some("opus")
        );
    }
}
