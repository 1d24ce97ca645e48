//! Changes written into a text: the fewest edits that make it say something else.

use std::fmt;

use super::byte_edit::{ByteEdit, apply_edits};
use super::emit::{JsonPosition, KeyFinder, is_same_json, push_node, push_string};
use super::parse::parse;
use super::style::{JsonStyle, Spot, collection_head, indentation_of};
use crate::tree::{DEPTH_MAX, Map, SyntaxFault, Value, ValueNode};

mod matching;
mod splice;

use matching::{ElementPairing, pair_elements};
use splice::Splice;

/// Why a text could not be changed. It is left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonPatchError {
    /// The text is not JSON; the first of its faults.
    Unreadable(SyntaxFault),
    /// What is wanted is nested too deep to be read again.
    TooDeep,
    /// The changed text would not have said what was wanted, as with a
    /// mapping that holds one key twice.
    Differs,
}

impl fmt::Display for JsonPatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(fault) => write!(
                f,
                "line {}, column {}: {}",
                fault.span.line, fault.span.column, fault.message
            ),
            Self::TooDeep => write!(f, "nested more than {DEPTH_MAX} levels deep"),
            Self::Differs => f.write_str("the changed text would not say what is meant"),
        }
    }
}

impl std::error::Error for JsonPatchError {}

/// Changes `text` so that it says `wanted`, and nothing else in it.
///
/// Values that stay keep their bytes. Mappings are matched by key, whatever
/// the order: keys that `wanted` lacks go, new ones come behind the key that
/// they follow in `wanted`. Lists are matched by what is the same at both
/// ends, and lists of mappings that have an `id` each by that. What is new is
/// written as its like are in this file; line ends, the byte order mark and
/// the end of the file stay. The result is read back before it is given out.
///
/// # Errors
///
/// [`JsonPatchError`] when `text` has any fault, or when the result would not be
/// the [`is_same_json`] as `wanted`.
pub fn patch(text: &str, wanted: &ValueNode) -> Result<String, JsonPatchError> {
    if !is_shallow(wanted) {
        return Err(JsonPatchError::TooDeep);
    }
    let edits = {
        // A tree is far larger than its text: there is one of them at a time.
        let root = parse_faultless(text)?;
        let mut patcher = JsonPatcher {
            text,
            form: JsonStyle::detect(text, &root),
            edits: Vec::new(),
        };
        patcher.patch_node(&root, wanted, &JsonPosition::root());
        patcher.edits
    };
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let patched = apply_edits(text, edits);
    match parse_faultless(&patched) {
        Ok(root) if is_same_json(&root, wanted) => Ok(patched),
        Ok(_) | Err(_) => Err(JsonPatchError::Differs),
    }
}

fn parse_faultless(text: &str) -> Result<ValueNode, JsonPatchError> {
    let parsed = parse(text);
    match (parsed.root, parsed.faults.into_iter().next()) {
        (_, Some(fault)) => Err(JsonPatchError::Unreadable(fault)),
        (Some(root), None) => Ok(root),
        (None, None) => Err(JsonPatchError::Differs),
    }
}

/// Whether `node` can be walked, and read again, without running out of depth.
fn is_shallow(node: &ValueNode) -> bool {
    let mut open = vec![(node, 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > DEPTH_MAX {
            return false;
        }
        match &node.value {
            Value::Scalar(_) => {}
            Value::Seq(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Map(map) => open.extend(map.iter().map(|(_, node)| (node, depth + 1))),
        }
    }
    true
}

struct JsonPatcher<'d> {
    text: &'d str,
    form: JsonStyle<'d>,
    edits: Vec<ByteEdit>,
}

impl JsonPatcher<'_> {
    /// Notes what makes `old`, which stands at `at`, say `new`.
    fn patch_node(&mut self, old: &ValueNode, new: &ValueNode, at: &JsonPosition<'_>) {
        match (&old.value, &new.value) {
            (Value::Scalar(_), Value::Scalar(_)) if is_same_json(old, new) => {}
            (Value::Map(have), Value::Map(want)) if can_patch_list(&have.pairs, &want.pairs) => {
                self.patch_members(old, have, want, at);
            }
            (Value::Seq(have), Value::Seq(want)) if can_patch_list(have, want) => {
                self.patch_elements(old, have, want, at);
            }
            _ => {
                let text = self.render_node(new, at);
                self.push_replacement(old.span.start, old.span.end, text);
            }
        }
    }

    fn push_replacement(&mut self, start: usize, end: usize, text: String) {
        self.edits.push(ByteEdit { start, end, text });
    }

    fn render_node(&self, node: &ValueNode, at: &JsonPosition<'_>) -> String {
        let mut out = String::new();
        push_node(&mut out, node, &self.form, at);
        out
    }

    fn patch_members(&mut self, old: &ValueNode, have: &Map, want: &Map, at: &JsonPosition<'_>) {
        let parent = at.spot.name();
        let text = self.text;
        let inner = position_within(text, old, at);
        let spans = have
            .pairs
            .iter()
            .map(|(key, node)| (key.span.start, node.span.end));
        let mut splice = Splice::new(old.span, spans.collect());
        let (in_have, in_want) = (KeyFinder::new(have), KeyFinder::new(want));
        let mut last = None;
        for (key, node) in want.iter() {
            let key = key.text.as_str();
            if let Some(index) = in_have.position(key) {
                splice.mark_kept(index);
                last = Some(index);
                continue;
            }
            let mut out = String::new();
            push_string(&mut out, key);
            out.push_str(&self.form.colon);
            let spot = Spot::Member { parent, key };
            push_node(&mut out, node, &self.form, &JsonPosition { spot, ..inner });
            splice.insert(last, out);
        }
        splice.push_edits(self.text, &self.form, &inner, &mut self.edits);
        for (key, node) in have.iter() {
            let key = key.text.as_str();
            if let Some(wanted) = in_want.get(key) {
                let spot = Spot::Member { parent, key };
                self.patch_node(node, wanted, &JsonPosition { spot, ..inner });
            }
        }
    }

    fn patch_elements(
        &mut self,
        old: &ValueNode,
        have: &[ValueNode],
        want: &[ValueNode],
        at: &JsonPosition<'_>,
    ) {
        let spot = Spot::Element {
            list: at.spot.name(),
        };
        let inner = JsonPosition {
            spot,
            ..position_within(self.text, old, at)
        };
        let spans = have.iter().map(|node| (node.span.start, node.span.end));
        let mut splice = Splice::new(old.span, spans.collect());
        let mut last = None;
        let pairing = pair_elements(have, want);
        for (node, pairing) in want.iter().zip(&pairing) {
            match pairing {
                ElementPairing::Stays(index) => {
                    splice.mark_kept(*index);
                    last = Some(*index);
                }
                ElementPairing::Comes(from) => {
                    let moved = from
                        .map(|index| &have[index])
                        .filter(|had| is_same_json(had, node));
                    let out = match moved {
                        Some(had) => self.text[had.span.start..had.span.end].to_owned(),
                        None => self.render_node(node, &inner),
                    };
                    splice.insert(last, out);
                }
            }
        }
        splice.push_edits(self.text, &self.form, &inner, &mut self.edits);
        for (node, pairing) in want.iter().zip(&pairing) {
            if let ElementPairing::Stays(index) = pairing {
                self.patch_node(&have[*index], node, &inner);
            }
        }
    }
}

/// Whether one list can be made of the other: where either is empty, it is
/// written anew, or there is nothing to do.
fn can_patch_list<A, B>(have: &[A], want: &[B]) -> bool {
    have.is_empty() == want.is_empty()
}

/// How what stands within `old` is written, but for its name.
fn position_within<'a>(text: &'a str, old: &ValueNode, at: &JsonPosition<'a>) -> JsonPosition<'a> {
    match collection_head(text, old) {
        Some(head) if head.contains('\n') => JsonPosition {
            indent: indentation_of(head),
            inline: false,
            ..*at
        },
        Some(_) => JsonPosition {
            inline: true,
            ..*at
        },
        None => *at,
    }
}

#[cfg(test)]
mod tests;
