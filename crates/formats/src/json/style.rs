//! How a file is written, so that what is added to it looks like the rest.

use std::collections::HashMap;

use crate::markdown::newline_of;
use crate::tree::{Value, ValueNode};

/// Where a value stands, for the question how its like are written.
#[derive(Clone, Copy)]
pub(super) enum Spot<'d> {
    /// The whole document.
    Root,
    /// Under `key` of the mapping called `parent`.
    Member { parent: &'d str, key: &'d str },
    /// In the list called so.
    Element { list: &'d str },
}

impl<'d> Spot<'d> {
    /// What the collection at this place is called by what it holds.
    pub(super) fn name(self) -> &'d str {
        match self {
            Self::Root => "",
            Self::Member { key, .. } => key,
            Self::Element { list } => list,
        }
    }
}

/// The habits of one file.
pub(super) struct JsonStyle<'d> {
    /// The line end.
    pub(super) newline: &'static str,
    /// The indentation of one level.
    pub(super) unit: String,
    /// What stands between a key and its value.
    pub(super) colon: String,
    /// What stands between two elements on one line.
    pub(super) comma: &'static str,
    /// What stands inside the brackets of a list on one line.
    pub(super) list_pad: &'static str,
    /// What stands inside the braces of a mapping on one line.
    pub(super) map_pad: &'static str,
    root: Option<bool>,
    by_key: HashMap<&'d str, bool>,
    by_parent: HashMap<&'d str, bool>,
    by_list: HashMap<&'d str, bool>,
    scalar_lists: Option<bool>,
}

impl<'d> JsonStyle<'d> {
    /// How a new file is written: two blanks, nothing on one line.
    pub(super) fn for_new_file() -> Self {
        Self {
            newline: "\n",
            unit: "  ".to_owned(),
            colon: ": ".to_owned(),
            comma: ", ",
            list_pad: "",
            map_pad: "",
            root: None,
            by_key: HashMap::new(),
            by_parent: HashMap::new(),
            by_list: HashMap::new(),
            scalar_lists: None,
        }
    }

    /// The habits of `text`, which says `root`.
    pub(super) fn detect(text: &str, root: &'d ValueNode) -> Self {
        let mut form = Self::for_new_file();
        form.newline = newline_of(text);
        if let Some(head) = collection_head(text, root).filter(|head| head.contains('\n')) {
            form.unit = indentation_of(head).to_owned();
        }
        let mut seen = SeenSeparators::default();
        form.learn_node(text, root, Spot::Root, &mut seen);
        if let Some(colon) = seen.colon {
            form.colon = colon;
        }
        let is_dense = form.root == Some(true) && !form.colon.ends_with([' ', '\t']);
        form.comma = match seen.comma {
            Some(blank) if !blank => ",",
            None if is_dense => ",",
            Some(_) | None => ", ",
        };
        form.list_pad = pad_text(seen.list_pad);
        form.map_pad = pad_text(seen.map_pad);
        form
    }

    /// Notes how `node` and what it holds are written. The first of a kind counts.
    fn learn_node(
        &mut self,
        text: &str,
        node: &'d ValueNode,
        spot: Spot<'d>,
        seen: &mut SeenSeparators,
    ) {
        let inline = is_inline(text, node);
        if let Some(inline) = inline {
            self.note_inline(node, spot, inline);
            if inline {
                seen.note_separators(text, node);
            }
        }
        let parent = spot.name();
        match &node.value {
            Value::Scalar(_) => {}
            Value::Seq(items) => {
                for item in items {
                    self.learn_node(text, item, Spot::Element { list: parent }, seen);
                }
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    if seen.colon.is_none() {
                        seen.colon = text
                            .get(key.span.end..value.span.start)
                            .filter(|colon| !colon.contains('\n'))
                            .map(str::to_owned);
                    }
                    let key = key.text.as_str();
                    self.learn_node(text, value, Spot::Member { parent, key }, seen);
                }
            }
        }
    }

    fn note_inline(&mut self, node: &ValueNode, spot: Spot<'d>, inline: bool) {
        match spot {
            Spot::Root => self.root = Some(inline),
            Spot::Member { parent, key } => {
                self.by_key.entry(key).or_insert(inline);
                self.by_parent.entry(parent).or_insert(inline);
            }
            Spot::Element { list } => {
                self.by_list.entry(list).or_insert(inline);
            }
        }
        if is_scalar_list(node) {
            self.scalar_lists.get_or_insert(inline);
        }
    }

    /// Whether a collection at `spot` is written on one line here.
    pub(super) fn is_written_inline(&self, node: &ValueNode, spot: Spot<'_>) -> bool {
        let own = match spot {
            Spot::Root => None,
            Spot::Member { key, .. } => self.by_key.get(key),
            Spot::Element { list } => self.by_list.get(list),
        };
        let of_kind = || self.scalar_lists.filter(|_| is_scalar_list(node));
        let beside = || match spot {
            Spot::Member { parent, .. } => self.by_parent.get(parent).copied(),
            Spot::Root | Spot::Element { .. } => None,
        };
        own.copied()
            .or_else(of_kind)
            .or_else(beside)
            .or(self.root)
            .unwrap_or(false)
    }
}

/// What was seen first of what stands between values.
#[derive(Default)]
struct SeenSeparators {
    colon: Option<String>,
    comma: Option<bool>,
    list_pad: Option<bool>,
    map_pad: Option<bool>,
}

impl SeenSeparators {
    fn note_separators(&mut self, text: &str, node: &ValueNode) {
        let padded = collection_head(text, node).is_some_and(|head| !head.is_empty());
        let (slot, gap) = match &node.value {
            Value::Seq(items) => (
                &mut self.list_pad,
                items
                    .get(1)
                    .map(|next| (items[0].span.end, next.span.start)),
            ),
            Value::Map(map) => (
                &mut self.map_pad,
                map.pairs
                    .get(1)
                    .map(|(next, _)| (map.pairs[0].1.span.end, next.span.start)),
            ),
            Value::Scalar(_) => return,
        };
        slot.get_or_insert(padded);
        let gap = gap.and_then(|(from, to)| text.get(from..to));
        if let (None, Some(gap)) = (self.comma, gap) {
            self.comma = Some(gap.ends_with([' ', '\t', '\n']));
        }
    }
}

fn pad_text(padded: Option<bool>) -> &'static str {
    if padded == Some(true) { " " } else { "" }
}

fn is_scalar_list(node: &ValueNode) -> bool {
    node.as_seq().is_some_and(|items| {
        items
            .iter()
            .all(|item| matches!(item.value, Value::Scalar(_)))
    })
}

/// Whether a collection that holds something is written on one line.
///
/// Looks at its beginning only: to look at all of it would cost, at every
/// level, everything below.
fn is_inline(text: &str, node: &ValueNode) -> Option<bool> {
    let mut node = node;
    loop {
        let head = collection_head(text, node)?;
        if head.contains('\n') {
            return Some(false);
        }
        let first = match &node.value {
            Value::Seq(items) => items.first(),
            Value::Map(map) => map.pairs.first().map(|(_, value)| value),
            Value::Scalar(_) => None,
        };
        match first {
            Some(first) if has_elements(first) => node = first,
            Some(_) | None => return Some(true),
        }
    }
}

fn has_elements(node: &ValueNode) -> bool {
    match &node.value {
        Value::Scalar(_) => false,
        Value::Seq(items) => !items.is_empty(),
        Value::Map(map) => !map.pairs.is_empty(),
    }
}

/// What stands between the bracket of a collection and its first element.
pub(super) fn collection_head<'t>(text: &'t str, node: &ValueNode) -> Option<&'t str> {
    let first = match &node.value {
        Value::Scalar(_) => None,
        Value::Seq(items) => items.first().map(|item| item.span),
        Value::Map(map) => map.pairs.first().map(|(key, _)| key.span),
    }?;
    text.get(node.span.start + 1..first.start)
}

/// What a line begins with, given what stands before its first value.
pub(super) fn indentation_of(head: &str) -> &str {
    head.rsplit_once('\n').map_or("", |(_, indent)| indent)
}
