//! `piton config`: what the settings of a project are, where each comes from, and a change
//! of one.

use piton_core::redact::Redactor;
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::config::keys::{
    SettingKey, line_of_key, literal_of_value, literals_of_typed, set_value, values_of_config,
};
use crate::config::store_access::check_group;
use crate::config::trust::{TrustCheck, all_config_parts};
use crate::failure::{Failure, unwritable_file};
use crate::native_files::text_change::TextChange;
use crate::project::Project;
use crate::world::World;

/// Settings of a project, with defaults.
#[derive(Clone, Debug, Serialize)]
pub struct SettingsReport {
    /// The file, relative to the project; it need not be there.
    pub file: String,
    /// Those that have a value.
    pub settings: Vec<Setting>,
}

crate::name_schema!(SettingsReport, "piton.config/1");

/// A setting.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// Its key, as in the file: `agent.use`.
    pub key: String,
    /// Its value, without secrets.
    pub value: Value,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: SettingOrigin,
}

/// Where the value of a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "origin", rename_all = "kebab-case")]
pub enum SettingOrigin {
    /// The file says nothing of it.
    Default,
    /// The file says so.
    File {
        /// In this line, from 1.
        line: usize,
    },
}

/// A setting that was changed.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedSetting {
    /// The file, relative to the project.
    pub file: String,
    /// The setting, as it is now.
    #[serde(flatten)]
    pub setting: Setting,
    /// Whether the file is another one than before.
    pub changed: bool,
}

crate::name_schema!(ChangedSetting, "piton.config.set/1");

impl Setting {
    /// The value as the file has it.
    #[must_use]
    pub fn literal(&self) -> String {
        literal_of_value(&self.value)
    }
}

/// The settings of the project, or those of one key: a setting or a table.
///
/// # Errors
///
/// `usage` where there is no such setting; when the file cannot be read or is no
/// configuration.
pub fn show(world: &World, key: Option<&str>) -> Result<SettingsReport, Failure> {
    let project = Project::find(world, &world.cwd);
    let key = key.map(parse_key).transpose()?;
    let text = Config::read_text(&project)?.unwrap_or_default();
    let config = Config::load(&project)?;
    Ok(SettingsReport {
        file: project.relative_path(&Config::path(&project)),
        settings: list_settings(world, &config, &text, key.as_ref()),
    })
}

/// Writes the value of one setting into the file, and leaves the rest as it is. What a
/// person types is trusted.
///
/// # Errors
///
/// `usage` where there is no such setting, it does not take the value, or the file has no
/// place for it in one line; when the file cannot be read or written.
pub fn set(world: &World, key: &str, typed: &str) -> Result<ChangedSetting, Failure> {
    let project = Project::find(world, &world.cwd);
    world.check_write_allowed(&project)?;
    let key = parse_key(key)?;
    let path = Config::path(&project);
    let mut made = None;
    let change = TextChange::compute(&project, path.clone(), |text| {
        let (text, literal, config) = change_text(&project, text.unwrap_or_default(), &key, typed)?;
        made = Some((text.clone(), literal, config));
        Ok(Some(text))
    })?;
    let (text, literal, config) = made.expect("the change was computed");
    refuse_useless(&key, &config)?;
    if change.is_needed() {
        let made = project.create_tree_folder();
        made.map_err(|error| unwritable_file(&path, error))?;
        change.apply()?;
    }
    trust_typed_setting(world, &project, &config, &format!("{key} = {literal}\n"));
    Ok(ChangedSetting {
        file: project.relative_path(&path),
        setting: written_setting(world, &config, &text, &key),
        changed: change.is_needed(),
    })
}

/// Refuses what every later command would stumble over.
fn refuse_useless(key: &SettingKey, config: &Config) -> Result<(), Failure> {
    match (key.to_string().as_str(), config) {
        ("agent.use", config) if config.used_agents().is_empty() => {
            let what = "`agent.use` does not take an empty name";
            Err(Failure::new("usage", what)
                .with_hint("name an agent, as `piton config set agent.use claude` does"))
        }
        ("store.group", config) => config.store.group.as_deref().map_or(Ok(()), check_group),
        _ => Ok(()),
    }
}

/// What the file says of a key now: a table in braces has what was written in it.
fn written_setting(world: &World, config: &Config, text: &str, key: &SettingKey) -> Setting {
    let is_written = |setting: &Setting| setting.origin != SettingOrigin::Default;
    let mut settings = list_settings(world, config, text, Some(key));
    settings.retain(is_written);
    if settings.len() == 1 && settings[0].key == key.to_string() {
        return settings.remove(0);
    }
    let prefix = format!("{key}.");
    let entries = settings.into_iter().map(|setting| {
        let name = setting.key.strip_prefix(&prefix).unwrap_or(&setting.key);
        (name.to_owned(), setting.value)
    });
    Setting {
        key: key.to_string(),
        value: Value::Object(entries.collect()),
        origin: line_of_key(text, key)
            .map_or(SettingOrigin::Default, |line| SettingOrigin::File { line }),
    }
}

/// The text with the first form of what was typed that the setting takes.
fn change_text(
    project: &Project,
    text: &str,
    key: &SettingKey,
    typed: &str,
) -> Result<(String, String, Config), Failure> {
    if typed.contains(['\n', '\r']) {
        let what = format!("`{key}` does not take this value: it is more than one line");
        return Err(Failure::new("usage", what)
            .with_hint("write it in one line, or into .piton/config.toml by hand"));
    }
    let mut refused = None;
    for literal in literals_of_typed(typed) {
        let Some(changed) = set_value(text, key, &literal) else {
            continue;
        };
        match Config::parse(&changed) {
            Ok(config) => return Ok((changed, literal, config)),
            Err(what) => refused = refused.or(Some(what)),
        }
    }
    // What is wrong already is named with its line.
    Config::load(project)?;
    let Some(what) = refused else {
        let what = format!("`{key}` has no place in .piton/config.toml that is one line");
        return Err(Failure::new("usage", what).with_hint(format!(
            "write it there by hand, or set one of the keys that `piton config get {key}` lists"
        )));
    };
    // The line is one of a file that is not written.
    let what = what
        .strip_prefix("line ")
        .and_then(|what| Some(what.split_once(": ")?.1))
        .unwrap_or(&what);
    let what = format!("`{key}` does not take this value: {}", in_plain_words(what));
    Err(Failure::new("usage", what)
        .with_hint("the guide to the configuration lists what each setting takes"))
}

/// What a reader of TOML says, without the words of Rust.
fn in_plain_words(what: &str) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("a nonzero u32", "a whole number from 1"),
        ("a nonzero u64", "a whole number from 1"),
        ("f64", "a number"),
        ("u16", "a whole number"),
        ("u32", "a whole number"),
        ("u64", "a whole number"),
        ("i64", "a whole number"),
        ("a boolean", "`true` or `false`"),
        ("a string", "a text"),
        ("a sequence", "a list"),
        ("a map", "a table"),
    ];
    let Some((before, expected)) = what.rsplit_once("expected ") else {
        return what.to_owned();
    };
    let plain = WORDS.iter().find(|(word, _)| *word == expected.trim());
    plain.map_or_else(
        || what.to_owned(),
        |(_, plain)| format!("{before}expected {plain}"),
    )
}

/// Trusts what a person typed, and nothing else that stands in the file.
fn trust_typed_setting(world: &World, project: &Project, config: &Config, line: &str) {
    let Ok(typed) = toml::from_str::<Config>(line) else {
        return;
    };
    let held = all_config_parts(config);
    let mut parts = all_config_parts(&typed);
    parts.retain(|part| held.iter().any(|held| held.hash() == part.hash()));
    let trust = TrustCheck::open(world, project);
    let parts = trust.untrusted(parts);
    if !parts.is_empty()
        && let Err(failure) = trust.store(world, &parts)
    {
        world.warn(format!("{failure}; a run asks about what was set"));
    }
}

fn parse_key(typed: &str) -> Result<SettingKey, Failure> {
    let parsed = SettingKey::parse(typed);
    if let Some(known) = parsed.as_ref().filter(|key| key.is_known()) {
        return Ok(known.clone());
    }
    let meant = parsed.and_then(|key| key.closest());
    let hint = match meant {
        Some(meant) => format!("the setting may be `{meant}`"),
        None => "the settings that have a value are listed by `piton config show`".to_owned(),
    };
    Err(Failure::new("usage", format!("there is no setting `{typed}`")).with_hint(hint))
}

fn list_settings(
    world: &World,
    config: &Config,
    text: &str,
    of: Option<&SettingKey>,
) -> Vec<Setting> {
    let redactor = world
        .with_agent_secrets(config.agent_variables())
        .redactor();
    let values = values_of_config(config).into_iter();
    values
        .filter(|(key, _)| of.is_none_or(|of| of.holds(key)))
        .map(|(key, value)| Setting {
            origin: match line_of_key(text, &key) {
                Some(line) => SettingOrigin::File { line },
                None => SettingOrigin::Default,
            },
            value: redact_value(value, &redactor),
            key: key.to_string(),
        })
        .collect()
}

fn redact_value(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => redactor.redact(&text).into_owned().into(),
        Value::Array(values) => values
            .into_iter()
            .map(|value| redact_value(value, redactor))
            .collect(),
        // Tables in lists are the rules of requests, and hold words of piton.
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
