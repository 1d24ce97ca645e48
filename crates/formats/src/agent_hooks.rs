//! The hooks in the settings of agent programs: put in and taken out by span.
//!
//! Claude Code, Codex and Gemini CLI keep them alike: a JSON object with
//! `hooks`, in it a list for each event, in that groups, each with a list of
//! its own of commands. [`install`] adds one command an event, [`uninstall`]
//! takes out what is piton's. Nothing else in the text changes a byte, and what
//! [`install`] did, [`uninstall`] undoes to the byte.
//!
//! What piton makes opens over several lines; what it puts into something that
//! was there and empty begins on the line of its bracket. So it shows later
//! what was there before, and no note need be kept beside the file.

mod install;
mod uninstall;

use std::fmt;

use crate::json;
use crate::tree::{Map, Span, SyntaxFault, Value, ValueNode};

pub use install::{install, render_new_settings, render_settings_argument};
pub use uninstall::uninstall;

/// The key of the hooks in the settings.
const HOOKS: &str = "hooks";

/// A command for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The event, in the program's word.
    pub event: &'static str,
    /// The command, for a shell.
    pub command: String,
    /// After how long the program gives it up, in the program's own unit.
    pub timeout: u64,
}

/// Why settings were not changed. They are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookSettingsError {
    /// They are not JSON; the first of their faults.
    Unreadable(SyntaxFault),
    /// Something in them has another shape than their program would read.
    Shape {
        /// Where.
        span: Span,
        /// What, in words: "`hooks` is not an object".
        what: String,
    },
}

impl fmt::Display for HookSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (span, what) = match self {
            Self::Unreadable(fault) => (fault.span, &fault.message),
            Self::Shape { span, what } => (*span, what),
        };
        write!(f, "line {}, column {}: {what}", span.line, span.column)
    }
}

impl std::error::Error for HookSettingsError {}

/// Whether a command is one that [`install`] writes: `piton hook EVENT`, by
/// whatever path.
#[must_use]
pub fn is_piton_command(command: &str) -> bool {
    program_of_piton_command(command).is_some()
}

/// The program that a command of piton starts, as a shell reads its name; none for another
/// command.
#[must_use]
pub fn program_of_piton_command(command: &str) -> Option<String> {
    let (program, event) = command.rsplit_once(" hook ")?;
    let quoted = |text: &'_ str| Some(text.strip_prefix('\'')?.strip_suffix('\'')?.to_owned());
    let program = match quoted(program) {
        Some(program) => program.replace("'\\''", "'"),
        None => program.trim_matches('\'').to_owned(),
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or(&program);
    let is_event = !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_event && matches!(name, "piton" | "piton.exe")).then_some(program)
}

/// The commands of piton in settings, in order. What has another shape than its program
/// would read holds none.
///
/// # Errors
///
/// [`HookSettingsError`] when the text is no JSON.
pub fn find_piton_commands(text: &str) -> Result<Vec<String>, HookSettingsError> {
    let root = parse_settings(text)?;
    let hooks = root.as_ref().and_then(|root| match &root.value {
        Value::Map(map) => find_member(map, HOOKS),
        Value::Scalar(_) | Value::Seq(_) => None,
    });
    let Some(Value::Map(events)) = hooks.map(|(_, node)| &node.value) else {
        return Ok(Vec::new());
    };
    let lists = events.iter().filter_map(|(_, list)| list.as_seq());
    let hooks = lists.flatten().filter_map(hooks_of_group).flatten();
    let commands = hooks.filter_map(hook_command);
    Ok(commands
        .filter(|command| is_piton_command(command))
        .map(str::to_owned)
        .collect())
}

/// The settings as a tree; none for a text of blanks.
fn parse_settings(text: &str) -> Result<Option<ValueNode>, HookSettingsError> {
    if crate::document::is_blank(text) {
        return Ok(None);
    }
    let parsed = json::parse(text);
    match (parsed.root, parsed.faults.into_iter().next()) {
        (_, Some(fault)) => Err(HookSettingsError::Unreadable(fault)),
        (root, None) => Ok(root),
    }
}

fn expect_object<'n>(node: &'n ValueNode, what: &str) -> Result<&'n Map, HookSettingsError> {
    match &node.value {
        Value::Map(map) => Ok(map),
        Value::Scalar(_) | Value::Seq(_) => Err(HookSettingsError::Shape {
            span: node.span,
            what: format!("{what} is not an object"),
        }),
    }
}

fn expect_list<'n>(node: &'n ValueNode, what: &str) -> Result<&'n [ValueNode], HookSettingsError> {
    node.as_seq().ok_or_else(|| HookSettingsError::Shape {
        span: node.span,
        what: format!("{what} is not a list"),
    })
}

/// The value of a key, with its place among the others.
fn find_member<'m>(map: &'m Map, key: &str) -> Option<(usize, &'m ValueNode)> {
    let mut pairs = map.iter().enumerate();
    let (at, (_, node)) = pairs.find(|(_, (known, _))| known.text == key)?;
    Some((at, node))
}

/// From where to where the pairs of an object stand.
fn pair_spans(map: &Map) -> Vec<(usize, usize)> {
    let pairs = map.pairs.iter();
    pairs
        .map(|(key, node)| (key.span.start, node.span.end))
        .collect()
}

/// The command of a hook in a group; none for a hook of another type.
fn hook_command(hook: &ValueNode) -> Option<&str> {
    let Value::Map(map) = &hook.value else {
        return None;
    };
    find_member(map, "command").and_then(|(_, node)| node.as_str())
}

/// The hooks of a group. A group of another shape has none of piton's.
fn hooks_of_group(group: &ValueNode) -> Option<&[ValueNode]> {
    let Value::Map(map) = &group.value else {
        return None;
    };
    find_member(map, HOOKS).and_then(|(_, node)| node.as_seq())
}

#[cfg(test)]
mod tests;
