//! Taking piton's hooks out of settings.

use super::{CannotHook, HOOKS, Hook, command, fresh, hooks_of, is_own, member, read, spans};
use crate::json::{Edit, apply};
use crate::tree::{Node, Value};

/// The settings without piton's hooks; none where the file is exactly what
/// [`super::install`] makes where there is none, so that it may go.
///
/// # Errors
///
/// [`CannotHook`] when the text is no JSON.
pub fn uninstall(text: &str, hooks: &[Hook]) -> Result<Option<String>, CannotHook> {
    let made = fresh(hooks);
    if text == made {
        return Ok(None);
    }
    // There was a file that said nothing.
    if let Some(blanks) = text.strip_suffix(made.trim_end())
        && crate::document::is_blank(blanks)
    {
        return Ok(Some(blanks.to_owned()));
    }
    let Some(root) = read(text)? else {
        return Ok(Some(text.to_owned()));
    };
    let mut edits = Vec::new();
    if let Value::Map(map) = &root.value
        && let Some((at, node)) = member(map, HOOKS)
        && events(text, node, &mut edits)
    {
        edits.clear();
        let gone: Vec<bool> = (0..map.pairs.len()).map(|nth| nth == at).collect();
        cut(&spans(map), &gone, &mut edits);
    }
    Ok(Some(apply(text, edits)))
}

/// Notes what goes of the events; whether the whole object goes.
fn events(text: &str, node: &Node, edits: &mut Vec<Edit>) -> bool {
    let Value::Map(map) = &node.value else {
        return false;
    };
    let mut inner = Vec::new();
    let lists = map.iter().map(|(_, list)| groups(text, list, &mut inner));
    let gone: Vec<bool> = lists.collect();
    let all = !gone.is_empty() && gone.iter().all(|gone| *gone);
    // What lies within something that goes as a whole is not cut as well.
    let whole: Vec<&Node> = map
        .iter()
        .zip(&gone)
        .filter(|(_, gone)| **gone)
        .map(|((_, node), _)| node)
        .collect();
    inner.retain(|edit: &Edit| {
        let within = |node: &&Node| node.span.start <= edit.start && edit.end <= node.span.end;
        !whole.iter().any(within)
    });
    edits.extend(inner);
    if all && is_made(text, node) {
        return true;
    }
    cut(&spans(map), &gone, edits);
    false
}

/// Notes what goes of the groups of an event; whether the whole list goes.
fn groups(text: &str, node: &Node, edits: &mut Vec<Edit>) -> bool {
    let Some(groups) = node.as_seq() else {
        return false;
    };
    let mut gone = Vec::with_capacity(groups.len());
    for group in groups {
        let hooks = hooks_of(group).unwrap_or_default();
        let own = |hook: &Node| command(hook).is_some_and(is_own);
        let own: Vec<bool> = hooks.iter().map(own).collect();
        let all = !own.is_empty() && own.iter().all(|own| *own);
        if !all {
            cut(&places(hooks), &own, edits);
        }
        gone.push(all);
    }
    if !gone.is_empty() && gone.iter().all(|gone| *gone) && is_made(text, node) {
        return true;
    }
    cut(&places(groups), &gone, edits);
    false
}

/// Whether piton made a collection, and did not find it empty: it opens over
/// several lines then.
fn is_made(text: &str, node: &Node) -> bool {
    text[node.span.start + 1..].starts_with(['\n', '\r'])
}

fn places(nodes: &[Node]) -> Vec<(usize, usize)> {
    let nodes = nodes.iter();
    nodes.map(|node| (node.span.start, node.span.end)).collect()
}

/// Cuts things out of a collection with the commas that belong to them: up to
/// the next one that stays, or, of the last ones, from the one before.
fn cut(spans: &[(usize, usize)], gone: &[bool], edits: &mut Vec<Edit>) {
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
        edits.push(Edit {
            start,
            end,
            text: String::new(),
        });
    }
}
