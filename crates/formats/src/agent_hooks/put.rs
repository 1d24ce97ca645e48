//! Putting hooks into settings.

use serde::Serialize as _;
use serde_json::json;

use super::{CannotHook, HOOKS, Hook, command, hooks_of, is_own, list, member, object, read};
use crate::json::{Edit, apply};
use crate::tree::{Map, Node};

/// How a text is written: its line end, and the indentation of one level.
struct Form {
    newline: &'static str,
    unit: String,
}

/// The settings with these hooks. A command of piton that is there already is
/// brought up to date; settings that have all of them stay as they are.
///
/// # Errors
///
/// [`CannotHook`] when the text is no JSON, or what is to be changed in it has
/// another shape.
pub fn install(text: &str, hooks: &[Hook]) -> Result<String, CannotHook> {
    let form = Form::of(text);
    let Some(root) = read(text)? else {
        // Without a line end at the end: `fresh` has one.
        return Ok(format!("{text}{}", fresh(hooks).trim_end()));
    };
    let map = object(&root, "what stands here")?;
    let mut edits = Vec::new();
    match member(map, HOOKS) {
        Some((_, node)) => {
            let events = object(node, "`hooks`")?;
            let missing = known(text, events, hooks, &form, &mut edits)?;
            let members = missing.iter().map(|hook| made(hook, &form, 2));
            let members: Vec<String> = members.collect();
            put(text, (node, first_of(events)), &members, &mut edits);
        }
        None => {
            let all: Vec<&Hook> = hooks.iter().collect();
            let member = format!("\"{HOOKS}\": {}", form.lines(&events(&all), 1));
            put(text, (&root, first_of(map)), &[member], &mut edits);
        }
    }
    Ok(apply(text, edits))
}

/// Settings with these hooks and nothing else.
#[must_use]
pub fn fresh(hooks: &[Hook]) -> String {
    let all: Vec<&Hook> = hooks.iter().collect();
    let value = json!({ HOOKS: events(&all) });
    format!("{}\n", Form::of("").lines(&value, 0))
}

/// Notes what changes for the events that have a list, and gives those back
/// that have none.
fn known<'h>(
    text: &str,
    events: &Map,
    hooks: &'h [Hook],
    form: &Form,
    edits: &mut Vec<Edit>,
) -> Result<Vec<&'h Hook>, CannotHook> {
    let mut missing = Vec::new();
    for hook in hooks {
        let Some((_, node)) = member(events, hook.event) else {
            missing.push(hook);
            continue;
        };
        let groups = list(node, &format!("`hooks.{}`", hook.event))?;
        let mut own = groups
            .iter()
            .filter_map(hooks_of)
            .flatten()
            .filter(|hook| command(hook).is_some_and(is_own));
        match own.next() {
            Some(there) if command(there) == Some(&hook.command) => {}
            Some(there) => edits.push(Edit {
                start: there.span.start,
                end: there.span.end,
                text: one(hook).to_string(),
            }),
            None => {
                let first = groups.first().map(|group| group.span.start);
                let element = if first.is_some() {
                    form.lines(&group(hook), 3)
                } else {
                    group(hook).to_string()
                };
                put(text, (node, first), &[element], edits);
            }
        }
    }
    Ok(missing)
}

/// Puts texts before the first thing in a collection, or directly behind the
/// bracket of an empty one.
fn put(text: &str, into: (&Node, Option<usize>), new: &[String], edits: &mut Vec<Edit>) {
    let (node, first) = into;
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
    edits.push(Edit {
        start: at,
        end: at,
        text: added,
    });
}

fn first_of(map: &Map) -> Option<usize> {
    map.pairs.first().map(|(key, _)| key.span.start)
}

fn one(hook: &Hook) -> serde_json::Value {
    json!({ "type": "command", "command": hook.command, "timeout": hook.timeout })
}

fn group(hook: &Hook) -> serde_json::Value {
    json!({ HOOKS: [one(hook)] })
}

fn events(hooks: &[&Hook]) -> serde_json::Value {
    let events = hooks.iter();
    let events = events.map(|hook| (hook.event.to_owned(), json!([group(hook)])));
    serde_json::Value::Object(events.collect())
}

/// The member of an event.
fn made(hook: &Hook, form: &Form, depth: usize) -> String {
    let groups = form.lines(&json!([group(hook)]), depth);
    format!("\"{}\": {groups}", hook.event)
}

impl Form {
    fn of(text: &str) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            Some(_) | None => "\n",
        };
        // The first line that stands deeper than the one before it.
        let indents = text.lines().map(|line| {
            let own = line.trim_start_matches([' ', '\t']);
            (&line[..line.len() - own.len()], own)
        });
        let mut indents = indents.filter(|(indent, own)| !indent.is_empty() && !own.is_empty());
        let unit = indents.next().map_or("  ", |(indent, _)| indent);
        Self {
            newline,
            unit: unit.to_owned(),
        }
    }

    /// A value over several lines, for a place so many levels deep.
    fn lines(&self, value: &serde_json::Value, depth: usize) -> String {
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
