//! Putting hooks into settings.

use serde::Serialize as _;
use serde_json::json;

use super::{
    HOOKS, Hook, HookSettingsError, expect_list, expect_object, find_member, hook_command,
    hooks_of_group, is_piton_command, parse_settings,
};
use crate::json::{ByteEdit, apply_edits};
use crate::markdown::newline_of;
use crate::tree::{Map, ValueNode};

/// How a text is written: its line end, and the indentation of one level.
struct SettingsStyle {
    newline: &'static str,
    unit: String,
}

/// The settings with these hooks. A command of piton that is there already is
/// brought up to date; settings that have all of them stay as they are.
///
/// # Errors
///
/// [`HookSettingsError`] when the text is no JSON, or what is to be changed in it has
/// another shape.
pub fn install(text: &str, hooks: &[Hook]) -> Result<String, HookSettingsError> {
    let form = SettingsStyle::detect(text);
    let Some(root) = parse_settings(text)? else {
        // Without a line end at the end: `fresh` has one.
        return Ok(format!("{text}{}", render_new_settings(hooks).trim_end()));
    };
    let map = expect_object(&root, "what stands here")?;
    let mut edits = Vec::new();
    match find_member(map, HOOKS) {
        Some((_, node)) => {
            let events = expect_object(node, "`hooks`")?;
            let missing = update_known_events(text, events, hooks, &form, &mut edits)?;
            let members = missing
                .iter()
                .map(|hook| render_event_member(hook, &form, 2));
            let members: Vec<String> = members.collect();
            insert_texts(text, node, first_key_start(events), &members, &mut edits);
        }
        None => {
            let all: Vec<&Hook> = hooks.iter().collect();
            let member = format!("\"{HOOKS}\": {}", form.render_value(&events_json(&all), 1));
            insert_texts(text, &root, first_key_start(map), &[member], &mut edits);
        }
    }
    Ok(apply_edits(text, edits))
}

/// Settings with these hooks and nothing else.
#[must_use]
pub fn render_new_settings(hooks: &[Hook]) -> String {
    let value = settings_json(hooks);
    format!("{}\n", SettingsStyle::detect("").render_value(&value, 0))
}

/// The same in one line, for a command line.
#[must_use]
pub fn render_settings_argument(hooks: &[Hook]) -> String {
    settings_json(hooks).to_string()
}

fn settings_json(hooks: &[Hook]) -> serde_json::Value {
    let all: Vec<&Hook> = hooks.iter().collect();
    json!({ HOOKS: events_json(&all) })
}

/// Notes what changes for the events that have a list, and gives those back
/// that have none.
fn update_known_events<'h>(
    text: &str,
    events: &Map,
    hooks: &'h [Hook],
    form: &SettingsStyle,
    edits: &mut Vec<ByteEdit>,
) -> Result<Vec<&'h Hook>, HookSettingsError> {
    let mut missing = Vec::new();
    for hook in hooks {
        let Some((_, node)) = find_member(events, hook.event) else {
            missing.push(hook);
            continue;
        };
        let groups = expect_list(node, &format!("`hooks.{}`", hook.event))?;
        let mut own = groups
            .iter()
            .filter_map(hooks_of_group)
            .flatten()
            .filter(|hook| hook_command(hook).is_some_and(is_piton_command));
        match own.next() {
            Some(there) if hook_command(there) == Some(&hook.command) => {}
            Some(there) => edits.push(ByteEdit {
                start: there.span.start,
                end: there.span.end,
                text: hook_json(hook).to_string(),
            }),
            None => {
                let first = groups.first().map(|group| group.span.start);
                let element = if first.is_some() {
                    form.render_value(&group_json(hook), 3)
                } else {
                    group_json(hook).to_string()
                };
                insert_texts(text, node, first, &[element], edits);
            }
        }
    }
    Ok(missing)
}

/// Puts texts before the first thing in a collection, or directly behind the
/// bracket of an empty one.
fn insert_texts(
    text: &str,
    node: &ValueNode,
    first: Option<usize>,
    new: &[String],
    edits: &mut Vec<ByteEdit>,
) {
    if new.is_empty() {
        return;
    }
    let open = node.span.start + 1;
    let (at, added) = match first {
        // What parts the first one from its bracket parts it from what is new.
        Some(first) => {
            let gap = &text[open..first];
            let parts = new.iter().map(|text| format!("{text},{gap}"));
            (first, parts.collect::<String>())
        }
        None => (open, new.join(", ")),
    };
    edits.push(ByteEdit {
        start: at,
        end: at,
        text: added,
    });
}

fn first_key_start(map: &Map) -> Option<usize> {
    map.pairs.first().map(|(key, _)| key.span.start)
}

fn hook_json(hook: &Hook) -> serde_json::Value {
    json!({ "type": "command", "command": hook.command, "timeout": hook.timeout })
}

fn group_json(hook: &Hook) -> serde_json::Value {
    json!({ HOOKS: [hook_json(hook)] })
}

fn events_json(hooks: &[&Hook]) -> serde_json::Value {
    let events = hooks.iter();
    let events = events.map(|hook| (hook.event.to_owned(), json!([group_json(hook)])));
    serde_json::Value::Object(events.collect())
}

/// The member of an event.
fn render_event_member(hook: &Hook, form: &SettingsStyle, depth: usize) -> String {
    let groups = form.render_value(&json!([group_json(hook)]), depth);
    format!("\"{}\": {groups}", hook.event)
}

impl SettingsStyle {
    fn detect(text: &str) -> Self {
        // The first line that stands deeper than the one before it.
        let indents = text.lines().map(|line| {
            let own = line.trim_start_matches([' ', '\t']);
            (&line[..line.len() - own.len()], own)
        });
        let mut indents = indents.filter(|(indent, own)| !indent.is_empty() && !own.is_empty());
        let unit = indents.next().map_or("  ", |(indent, _)| indent);
        Self {
            newline: newline_of(text),
            unit: unit.to_owned(),
        }
    }

    /// A value over several lines, for a place so many levels deep.
    fn render_value(&self, value: &serde_json::Value, depth: usize) -> String {
        let mut out = Vec::new();
        let style = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, style);
        value
            .serialize(&mut serializer)
            .expect("a value can be written into memory");
        let text = String::from_utf8(out).expect("JSON is text");
        let outer = format!("{}{}", self.newline, self.unit.repeat(depth));
        text.replace('\n', &outer)
    }
}
