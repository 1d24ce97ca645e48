//! What a person sets with `piton init`: the agent of new runs, and a check.

use std::fmt::Write as _;

use serde_json::Value;

use crate::config::Config;
use crate::config::keys::literal_of_value;
use crate::failure::{Failure, unwritable_file};
use crate::native_files::text_change::TextChange;
use crate::project::Project;
use crate::verbs::config::{self, Setting};
use crate::verbs::run::agents_on_path;
use crate::world::World;

/// How a new file begins.
const HEADER: &str = "# Settings of piton in this project. Commit this file.\n# `piton config show` lists all settings, with their defaults.\n";

/// What a person wants; what is none or empty is left as it is.
#[derive(Clone, Debug, Default)]
pub struct SetupAnswers {
    /// The agent of new runs.
    pub agent: Option<String>,
    /// The check of items that have none of their own.
    pub check: Option<String>,
}

/// What the configuration does not say yet.
#[derive(Clone, Debug, Default)]
pub struct OpenSettings {
    /// Which agent works.
    pub agent: bool,
    /// A check.
    pub check: bool,
    /// The programs that could be the agent, the likeliest first.
    pub installed: Vec<&'static str>,
}

/// A setting that is to be written, with the comment that a new file has above it.
struct NewSetting {
    table: &'static str,
    name: &'static str,
    comment: Option<&'static str>,
    literal: String,
}

/// What a person may be asked; nothing where the configuration cannot be read.
#[must_use]
pub fn find_open_settings(world: &World) -> OpenSettings {
    let project = Project::find(world, &world.cwd);
    let Ok(config) = Config::load(&project) else {
        return OpenSettings::default();
    };
    OpenSettings {
        agent: config.agent.use_.is_none(),
        check: config.claims.check_script().is_none(),
        installed: agents_on_path(world),
    }
}

/// Writes the answers into the configuration, with comments where it makes the file. What
/// stands in the file already stays, and what was typed is trusted.
///
/// # Errors
///
/// When the file cannot be read or written, or has no place for a setting in one line.
pub fn write_settings(world: &World, answers: &SetupAnswers) -> Result<Vec<Setting>, Failure> {
    let project = Project::find(world, &world.cwd);
    let wanted = [&answers.agent, &answers.check];
    if !wanted.into_iter().flatten().any(|text| is_said(text)) {
        return Ok(Vec::new());
    }
    let chosen = choose_settings(answers, &Config::load(&project)?);
    world.check_write_allowed(&project)?;
    let path = Config::path(&project);
    let change = TextChange::compute(&project, path.clone(), |text| {
        let made = text.map_or_else(|| render_new_file(&chosen), str::to_owned);
        Ok(Some(made))
    })?;
    if change.is_needed() {
        let made = project.create_tree_folder();
        made.map_err(|error| unwritable_file(&path, error))?;
        change.apply()?;
    }
    let set = chosen.iter().map(|new| {
        let key = format!("{}.{}", new.table, new.name);
        Ok(config::set(world, &key, &new.literal)?.setting)
    });
    set.collect()
}

fn is_said(text: &str) -> bool {
    !text.trim().is_empty()
}

/// The settings that follow from answers. The check is no use where nothing asks for it.
fn choose_settings(answers: &SetupAnswers, config: &Config) -> Vec<NewSetting> {
    let mut chosen = Vec::new();
    let mut choose = |table, name, comment, value: &str| {
        chosen.push(NewSetting {
            table,
            name,
            comment,
            literal: literal_of_value(&Value::from(value.trim())),
        });
    };
    if let Some(agent) = answers.agent.as_deref().filter(|text| is_said(text)) {
        let comment = "The agent of new runs; `piton run --agent` names another one.";
        choose("agent", "use", Some(comment), agent);
    }
    if let Some(check) = answers.check.as_deref().filter(|text| is_said(text)) {
        let comment = "The check of items that have none of their own.";
        choose("claims", "check", Some(comment), check);
        let mut comment = Some("Such an item is done when its agent says so and the check passes.");
        let claims = &config.claims;
        if claims.changed.is_none() {
            choose("claims", "changed", comment.take(), "check");
        }
        if claims.word.is_none() && claims.worth.is_none() && claims.change.is_none() {
            choose("claims", "word", comment.take(), "check");
        }
    }
    chosen
}

fn render_new_file(chosen: &[NewSetting]) -> String {
    let mut text = HEADER.to_owned();
    let mut table = "";
    for new in chosen {
        if table != new.table {
            table = new.table;
            write!(text, "\n[{table}]\n").expect("a text takes everything");
        }
        if let Some(comment) = new.comment {
            writeln!(text, "# {comment}").expect("a text takes everything");
        }
        writeln!(text, "{} = {}", new.name, new.literal).expect("a text takes everything");
    }
    text
}
