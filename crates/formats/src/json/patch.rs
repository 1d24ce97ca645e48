//! Changes written into a text: the fewest edits that make it say something else.

use std::fmt;

use super::emit::{At, Finder, push, push_string, same};
use super::parse::parse;
use super::style::{Form, Spot, head, indentation};
use crate::tree::{DEPTH_MAX, Fault, Map, Node, Value};

mod matching;
mod splice;

use matching::{Pairing, pair};
use splice::Splice;

/// Why a text could not be changed. It is left as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotPatch {
    /// The text is not JSON; the first of its faults.
    Unreadable(Fault),
    /// What is wanted is nested too deep to be read again.
    TooDeep,
    /// The changed text would not have said what was wanted, as with a
    /// mapping that holds one key twice.
    Differs,
}

impl fmt::Display for CannotPatch {
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

impl std::error::Error for CannotPatch {}

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
/// [`CannotPatch`] when `text` has any fault, or when the result would not be
/// the [`same`] as `wanted`.
pub fn patch(text: &str, wanted: &Node) -> Result<String, CannotPatch> {
    if !is_shallow(wanted) {
        return Err(CannotPatch::TooDeep);
    }
    let edits = {
        // A tree is far larger than its text: there is one of them at a time.
        let root = read(text)?;
        let mut patcher = Patcher {
            text,
            form: Form::of(text, &root),
            edits: Vec::new(),
        };
        patcher.change(&root, wanted, &At::root());
        patcher.edits
    };
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let patched = apply(text, edits);
    match read(&patched) {
        Ok(root) if same(&root, wanted) => Ok(patched),
        Ok(_) | Err(_) => Err(CannotPatch::Differs),
    }
}

fn read(text: &str) -> Result<Node, CannotPatch> {
    let parsed = parse(text);
    match (parsed.root, parsed.faults.into_iter().next()) {
        (_, Some(fault)) => Err(CannotPatch::Unreadable(fault)),
        (Some(root), None) => Ok(root),
        (None, None) => Err(CannotPatch::Differs),
    }
}

/// Whether `node` can be walked, and read again, without running out of depth.
fn is_shallow(node: &Node) -> bool {
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

/// Text instead of a range of bytes.
pub(crate) struct Edit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

/// The text with edits that do not overlap. Of two at one place the one that
/// was noted first comes first.
pub(crate) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.start]);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(&text[at..]);
    out
}

struct Patcher<'d> {
    text: &'d str,
    form: Form<'d>,
    edits: Vec<Edit>,
}

impl Patcher<'_> {
    /// Notes what makes `old`, which stands at `at`, say `new`.
    fn change(&mut self, old: &Node, new: &Node, at: &At<'_>) {
        match (&old.value, &new.value) {
            (Value::Scalar(_), Value::Scalar(_)) if same(old, new) => {}
            (Value::Map(have), Value::Map(want)) if fits(&have.pairs, &want.pairs) => {
                self.members(old, (have, want), at);
            }
            (Value::Seq(have), Value::Seq(want)) if fits(have, want) => {
                self.elements(old, (have, want), at);
            }
            _ => {
                let text = self.rendered(new, at);
                self.replace(old.span.start, old.span.end, text);
            }
        }
    }

    fn replace(&mut self, start: usize, end: usize, text: String) {
        self.edits.push(Edit { start, end, text });
    }

    fn rendered(&self, node: &Node, at: &At<'_>) -> String {
        let mut out = String::new();
        push(&mut out, node, &self.form, at);
        out
    }

    fn members(&mut self, old: &Node, (have, want): (&Map, &Map), at: &At<'_>) {
        let parent = at.spot.name();
        let text = self.text;
        let inner = within(text, old, at);
        let spans = have
            .pairs
            .iter()
            .map(|(key, node)| (key.span.start, node.span.end));
        let mut splice = Splice::new(old.span, spans.collect());
        let (in_have, in_want) = (Finder::new(have), Finder::new(want));
        let mut last = None;
        for (key, node) in want.iter() {
            let key = key.text.as_str();
            if let Some(index) = in_have.position(key) {
                splice.keep(index);
                last = Some(index);
                continue;
            }
            let mut out = String::new();
            push_string(&mut out, key);
            out.push_str(&self.form.colon);
            let spot = Spot::Member { parent, key };
            push(&mut out, node, &self.form, &At { spot, ..inner });
            splice.insert(last, out);
        }
        splice.note(self.text, &self.form, &inner, &mut self.edits);
        for (key, node) in have.iter() {
            let key = key.text.as_str();
            if let Some(wanted) = in_want.get(key) {
                let spot = Spot::Member { parent, key };
                self.change(node, wanted, &At { spot, ..inner });
            }
        }
    }

    fn elements(&mut self, old: &Node, (have, want): (&[Node], &[Node]), at: &At<'_>) {
        let spot = Spot::Element {
            list: at.spot.name(),
        };
        let inner = At {
            spot,
            ..within(self.text, old, at)
        };
        let spans = have.iter().map(|node| (node.span.start, node.span.end));
        let mut splice = Splice::new(old.span, spans.collect());
        let mut last = None;
        let pairing = pair(have, want);
        for (node, pairing) in want.iter().zip(&pairing) {
            match pairing {
                Pairing::Stays(index) => {
                    splice.keep(*index);
                    last = Some(*index);
                }
                Pairing::Comes(from) => {
                    let moved = from.map(|index| &have[index]).filter(|had| same(had, node));
                    let out = match moved {
                        Some(had) => self.text[had.span.start..had.span.end].to_owned(),
                        None => self.rendered(node, &inner),
                    };
                    splice.insert(last, out);
                }
            }
        }
        splice.note(self.text, &self.form, &inner, &mut self.edits);
        for (node, pairing) in want.iter().zip(&pairing) {
            if let Pairing::Stays(index) = pairing {
                self.change(&have[*index], node, &inner);
            }
        }
    }
}

/// Whether one list can be made of the other: where either is empty, it is
/// written anew, or there is nothing to do.
fn fits<A, B>(have: &[A], want: &[B]) -> bool {
    have.is_empty() == want.is_empty()
}

/// How what stands within `old` is written, but for its name.
fn within<'a>(text: &'a str, old: &Node, at: &At<'a>) -> At<'a> {
    match head(text, old) {
        Some(head) if head.contains('\n') => At {
            indent: indentation(head),
            inline: false,
            ..*at
        },
        Some(_) => At {
            inline: true,
            ..*at
        },
        None => *at,
    }
}

#[cfg(test)]
mod tests;
