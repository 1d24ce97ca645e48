//! Taking piton's hooks out of settings.

use super::{
    HOOKS, Hook, HookSettingsError, find_member, hook_command, hooks_of_group, is_piton_command,
    pair_spans, parse_settings, render_new_settings,
};
use crate::json::{ByteEdit, apply_edits};
use crate::tree::{Value, ValueNode};

/// The settings without piton's hooks; none where the file is exactly what
/// [`super::install`] makes where there is none, so that it may go.
///
/// # Errors
///
/// [`HookSettingsError`] when the text is no JSON.
pub fn uninstall(text: &str, hooks: &[Hook]) -> Result<Option<String>, HookSettingsError> {
    let made = render_new_settings(hooks);
    if text == made {
        return Ok(None);
    }
    // There was a file that said nothing.
    if let Some(blanks) = text.strip_suffix(made.trim_end())
        && crate::document::is_blank(blanks)
    {
        return Ok(Some(blanks.to_owned()));
    }
    let Some(root) = parse_settings(text)? else {
        return Ok(Some(text.to_owned()));
    };
    let mut edits = Vec::new();
    if let Value::Map(map) = &root.value
        && let Some((at, node)) = find_member(map, HOOKS)
        && cut_events(text, node, &mut edits)
    {
        edits.clear();
        let gone: Vec<bool> = (0..map.pairs.len()).map(|nth| nth == at).collect();
        cut_spans(&pair_spans(map), &gone, &mut edits);
    }
    Ok(Some(apply_edits(text, edits)))
}

/// Notes what goes of the events; whether the whole object goes.
fn cut_events(text: &str, node: &ValueNode, edits: &mut Vec<ByteEdit>) -> bool {
    let Value::Map(map) = &node.value else {
        return false;
    };
    let mut inner = Vec::new();
    let lists = map
        .iter()
        .map(|(_, list)| cut_groups(text, list, &mut inner));
    let gone: Vec<bool> = lists.collect();
    let all = !gone.is_empty() && gone.iter().all(|gone| *gone);
    // What lies within something that goes as a whole is not cut as well.
    let whole: Vec<&ValueNode> = map
        .iter()
        .zip(&gone)
        .filter(|(_, gone)| **gone)
        .map(|((_, node), _)| node)
        .collect();
    inner.retain(|edit: &ByteEdit| {
        let within = |node: &&ValueNode| node.span.start <= edit.start && edit.end <= node.span.end;
        !whole.iter().any(within)
    });
    edits.extend(inner);
    if all && is_made_by_piton(text, node) {
        return true;
    }
    cut_spans(&pair_spans(map), &gone, edits);
    false
}

/// Notes what goes of the groups of an event; whether the whole list goes.
fn cut_groups(text: &str, node: &ValueNode, edits: &mut Vec<ByteEdit>) -> bool {
    let Some(groups) = node.as_seq() else {
        return false;
    };
    let mut gone = Vec::with_capacity(groups.len());
    for group in groups {
        let hooks = hooks_of_group(group).unwrap_or_default();
        let own = |hook: &ValueNode| hook_command(hook).is_some_and(is_piton_command);
        let own: Vec<bool> = hooks.iter().map(own).collect();
        let all = !own.is_empty() && own.iter().all(|own| *own);
        if !all {
            cut_spans(&node_spans(hooks), &own, edits);
        }
        gone.push(all);
    }
    if !gone.is_empty() && gone.iter().all(|gone| *gone) && is_made_by_piton(text, node) {
        return true;
    }
    cut_spans(&node_spans(groups), &gone, edits);
    false
}

/// Whether piton made a collection, and did not find it empty: it opens over
/// several lines then.
fn is_made_by_piton(text: &str, node: &ValueNode) -> bool {
    text[node.span.start + 1..].starts_with(['\n', '\r'])
}

fn node_spans(nodes: &[ValueNode]) -> Vec<(usize, usize)> {
    let nodes = nodes.iter();
    nodes.map(|node| (node.span.start, node.span.end)).collect()
}

/// Cuts things out of a collection with the commas that belong to them: up to
/// the next one that stays, or, of the last ones, from the one before.
fn cut_spans(spans: &[(usize, usize)], gone: &[bool], edits: &mut Vec<ByteEdit>) {
    let mut at = 0;
    while at < spans.len() {
        if !gone[at] {
            at += 1;
            continue;
        }
        let first = at;
        while at < spans.len() && gone[at] {
            at += 1;
        }
        let (start, end) = match (first.checked_sub(1), spans.get(at)) {
            (_, Some(next)) => (spans[first].0, next.0),
            (Some(before), None) => (spans[before].1, spans[at - 1].1),
            (None, None) => (spans[first].0, spans[at - 1].1),
        };
        edits.push(ByteEdit {
            start,
            end,
            text: String::new(),
        });
    }
}
