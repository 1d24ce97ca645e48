//! Markdown as a tree of blocks: headings with what stands below them, list
//! items with what is nested in them, lines.
//!
//! The texts of all blocks, one behind the other, are the text. A block is a
//! mapping with `name` (what it is known by), `lead` (blank lines and rules
//! above it), `mark`, `tick` and `text` (its own line, taken apart at a box),
//! `blocks` (what is below it), and, where they are there, `time`, `number` (of
//! an item in an ordered list) and `counter` (`Session 3`, `G3:`) of a heading.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::markdown::{Doc, LineKind, has_date_prefix, indent_columns, parse_marker};
use crate::tree::{Span, ValueNode};

/// What the lines of a list item and of a plain line are deeper than any heading.
const ITEM_DEPTH: usize = 10;
const LINE_DEPTH: usize = usize::MAX;

#[derive(Debug, Default)]
pub(super) struct MarkdownBlock {
    depth: usize,
    name: String,
    /// Whether the name is one that was given, not just the words.
    is_named: bool,
    time: Option<String>,
    number: Option<String>,
    counter: Option<String>,
    lead: String,
    mark: String,
    tick: String,
    text: String,
    /// Its own lines.
    bytes: Range<usize>,
    blocks: Vec<MarkdownBlock>,
}

/// The name that the words of an item begin with.
type ItemNameFn = fn(&str) -> Option<String>;

/// Reads a text, whose first `head` bytes are no Markdown.
pub(super) fn parse(text: &str, head: usize, item_name: ItemNameFn) -> Vec<MarkdownBlock> {
    let doc = Doc::with_head(text, head);
    let mut tree = BlockTree::default();
    let mut lead = String::new();
    let mut line = 0;
    while line < doc.line_count() {
        let kind = doc.kind_of_line(line);
        let start = doc.line_start(line);
        let is_front = start < head;
        if !is_front && matches!(kind, LineKind::Blank | LineKind::Rule) {
            lead.push_str(&text[start..doc.line_start(line + 1)]);
            line += 1;
            continue;
        }
        // What is no text of lines of its own stays together.
        let is_whole = !is_front
            && match kind {
                LineKind::Code | LineKind::Comment | LineKind::Html | LineKind::Quote => true,
                LineKind::Text | LineKind::Blank | LineKind::Heading(_) | LineKind::Rule => false,
            };
        let mut next = line + 1;
        while is_whole && next < doc.line_count() && doc.kind_of_line(next) == kind {
            next += 1;
        }
        let bytes = start..doc.line_start(next);
        let lead = std::mem::take(&mut lead);
        let block = match kind {
            _ if is_front => front_block(text, bytes, lead),
            LineKind::Heading(level) => heading_block(text, bytes, lead, level),
            LineKind::Text => text_block(text, bytes, lead, item_name),
            LineKind::Code
            | LineKind::Comment
            | LineKind::Html
            | LineKind::Quote
            | LineKind::Blank
            | LineKind::Rule => plain_block(text, bytes, lead),
        };
        tree.push(block, indent_columns(doc.line(line)));
        line = next;
    }
    if !lead.is_empty() {
        tree.push(
            MarkdownBlock {
                lead,
                depth: 0,
                ..MarkdownBlock::default()
            },
            0,
        );
    }
    let mut blocks = tree.into_roots();
    number_duplicates(&mut blocks);
    blocks
}

#[derive(Default)]
struct BlockTree {
    roots: Vec<MarkdownBlock>,
    open: Vec<MarkdownBlock>,
}

impl BlockTree {
    fn push(&mut self, block: MarkdownBlock, indent: usize) {
        if block.depth < LINE_DEPTH {
            self.close(block.depth);
        } else if !block.lead.is_empty() {
            // Behind a blank line only what is indented belongs to an item.
            self.close(ITEM_DEPTH + indent);
        } else {
            self.close(LINE_DEPTH);
        }
        self.open.push(block);
    }

    /// Closes what is as deep or deeper.
    fn close(&mut self, depth: usize) {
        while let Some(block) = self.open.pop_if(|open| open.depth >= depth) {
            match self.open.last_mut() {
                Some(parent) => parent.blocks.push(block),
                None => self.roots.push(block),
            }
        }
    }

    fn into_roots(mut self) -> Vec<MarkdownBlock> {
        self.close(0);
        self.roots
    }
}

/// The name that piton gave in a comment behind the words.
fn name_in_note(text: &str) -> Option<String> {
    let (_, note) = text.rsplit_once("<!-- piton: ")?;
    let name = note.split([',', ' ']).next()?;
    (name != "resolved").then(|| format!("note {name}"))
}

/// `Trigger` of `**Trigger**: words` and of `**Trigger:** words`.
fn field_name(text: &str) -> Option<String> {
    let (name, rest) = text.strip_prefix("**")?.split_once("**")?;
    let bare = name.strip_suffix(':');
    (bare.is_some() || rest.starts_with(':')).then(|| format!("field {}", bare.unwrap_or(name)))
}

fn plain_block(text: &str, bytes: Range<usize>, lead: String) -> MarkdownBlock {
    MarkdownBlock {
        depth: LINE_DEPTH,
        name: text[bytes.clone()].trim().to_owned(),
        lead,
        text: text[bytes.clone()].to_owned(),
        bytes,
        ..MarkdownBlock::default()
    }
}

fn front_block(text: &str, bytes: Range<usize>, lead: String) -> MarkdownBlock {
    let line = &text[bytes.clone()];
    let key = line.split_once(':').map(|(key, _)| key);
    let key = key.filter(|key| !key.is_empty() && !key.starts_with([' ', '#', '-']));
    MarkdownBlock {
        is_named: key.is_some(),
        name: format!("front {}", key.unwrap_or(line.trim())),
        ..plain_block(text, bytes, lead)
    }
}

fn heading_block(text: &str, bytes: Range<usize>, lead: String, level: u8) -> MarkdownBlock {
    let words = text[bytes.clone()].trim().trim_start_matches('#').trim();
    let noted = name_in_note(words);
    MarkdownBlock {
        depth: usize::from(level),
        is_named: true,
        time: find_time(words),
        // What has a name is not known by its number.
        counter: find_counter(words).filter(|_| noted.is_none()),
        name: noted.unwrap_or_else(|| words.to_owned()),
        ..plain_block(text, bytes, lead)
    }
}

/// `Session 3` of `Session 3 (2026-01-15)`, `G3:` of `G3: Look first`.
fn find_counter(words: &str) -> Option<String> {
    let mut parts = words.split_whitespace();
    let (first, second) = (parts.next()?, parts.next()?);
    if first.ends_with(':') && first.bytes().any(|byte| byte.is_ascii_digit()) {
        return Some(first.to_owned());
    }
    let is_number = second.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{first} {second}"))
}

/// The first date of a heading, with the time behind it.
fn find_time(words: &str) -> Option<String> {
    let mut starts = words.char_indices().map(|(at, _)| &words[at..]);
    let from = starts.find(|rest| has_date_prefix(rest))?;
    let time = from.get(11..19).filter(|time| time.as_bytes()[2] == b':');
    Some(format!("{}T{}", &from[..10], time.unwrap_or("00:00:00")))
}

fn text_block(
    text: &str,
    bytes: Range<usize>,
    lead: String,
    item_name: ItemNameFn,
) -> MarkdownBlock {
    let line = &text[bytes.clone()];
    let Some(item) = parse_marker(line.trim_end()) else {
        let words = line.trim();
        let name = field_name(words);
        return MarkdownBlock {
            is_named: name.is_some(),
            name: name.unwrap_or_else(|| words.to_owned()),
            ..plain_block(text, bytes, lead)
        };
    };
    let (mark, rest) = line.split_at(item.content.min(line.trim_end().len()));
    let (mark, tick, text_from) = match rest.as_bytes() {
        [b'[', b' ' | b'x' | b'X', b']', ..] => {
            (format!("{mark}["), rest[1..2].to_owned(), &rest[2..])
        }
        _ => (mark.to_owned(), String::new(), rest),
    };
    let words = text_from.trim_start_matches(']').trim();
    let given = name_in_note(words)
        .or_else(|| item_name(words))
        .or_else(|| field_name(words));
    MarkdownBlock {
        depth: ITEM_DEPTH + item.indent,
        is_named: given.is_some(),
        name: given.unwrap_or_else(|| words.to_owned()),
        time: None,
        number: item.number.map(|number| number.to_string()),
        counter: None,
        lead,
        mark,
        tick,
        text: text_from.to_owned(),
        bytes,
        blocks: Vec::new(),
    }
}

/// Gives blocks of one name names of their own.
fn number_duplicates(blocks: &mut [MarkdownBlock]) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for block in blocks {
        let count = counts.entry(block.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            block.name = format!("{} #{count}", block.name);
        }
        number_duplicates(&mut block.blocks);
    }
}

/// Gives a block whose words were changed the name that it has in `base`: one
/// of the same kind, in the same place between others, with half of its words.
pub(super) fn align_names(base: &[MarkdownBlock], side: &mut [MarkdownBlock]) {
    let places: HashMap<String, usize> = base
        .iter()
        .enumerate()
        .map(|(at, block)| (block.name.clone(), at))
        .collect();
    let known: HashSet<String> = side.iter().map(|block| block.name.clone()).collect();
    let mut from = 0;
    for block in side {
        let found = places.get(&block.name).copied().or_else(|| {
            let free = base[from..].iter();
            let mut free = free.take_while(|had| !known.contains(&had.name));
            let place = free.position(|had| is_reworded(had, block));
            place.map(|place| from + place)
        });
        let Some(place) = found else { continue };
        block.name.clone_from(&base[place].name);
        align_names(&base[place].blocks, &mut block.blocks);
        from = place + 1;
    }
}

fn is_reworded(base: &MarkdownBlock, side: &MarkdownBlock) -> bool {
    base.depth == side.depth
        && !(base.is_named && side.is_named && base.depth >= ITEM_DEPTH)
        && crate::task::is_similar(&base.text, &side.text)
}

/// The blocks as a tree; each has the place of its own line.
pub(super) fn to_node(blocks: &[MarkdownBlock]) -> ValueNode {
    let nodes = blocks.iter().map(|block| {
        let span = Span {
            start: block.bytes.start,
            end: block.bytes.end,
            ..Span::default()
        };
        let text = |text: &str| ValueNode {
            span,
            ..ValueNode::string(text)
        };
        let always = [
            ("name", &block.name),
            ("lead", &block.lead),
            ("mark", &block.mark),
            ("tick", &block.tick),
            ("text", &block.text),
        ];
        let sometimes = [
            ("time", &block.time),
            ("number", &block.number),
            ("counter", &block.counter),
        ];
        let sometimes = sometimes
            .iter()
            .filter_map(|(key, value)| Some((*key, value.as_ref()?)));
        let mut pairs: Vec<(&str, ValueNode)> = always
            .into_iter()
            .chain(sometimes)
            .map(|(key, value)| (key, text(value)))
            .collect();
        pairs.push(("blocks", block_list(&block.blocks)));
        let end = block.end();
        ValueNode {
            span: Span { end, ..span },
            ..ValueNode::map(pairs)
        }
    });
    ValueNode::map([("blocks", ValueNode::seq(nodes.collect()))])
}

fn block_list(blocks: &[MarkdownBlock]) -> ValueNode {
    match to_node(blocks).value {
        crate::tree::Value::Map(mut map) => map
            .pairs
            .pop()
            .map_or_else(|| ValueNode::seq(Vec::new()), |(_, list)| list),
        crate::tree::Value::Scalar(_) | crate::tree::Value::Seq(_) => ValueNode::seq(Vec::new()),
    }
}

impl MarkdownBlock {
    fn end(&self) -> usize {
        self.blocks.last().map_or(self.bytes.end, Self::end)
    }
}

/// The text of a tree.
pub(super) fn render(root: &ValueNode) -> String {
    let mut out = String::new();
    push_text(&mut out, root);
    out
}

fn push_text(out: &mut String, node: &ValueNode) {
    for key in ["lead", "mark", "tick", "text"] {
        let text = node.get(key).and_then(ValueNode::text).unwrap_or_default();
        out.push_str(text);
    }
    let blocks = node.get("blocks").and_then(ValueNode::as_seq);
    for block in blocks.unwrap_or_default() {
        push_text(out, block);
    }
}

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::*;

    fn again(text: &str) -> String {
        render(&to_node(&parse(text, 0, |_| None)))
    }

    #[test]
    fn a_text_is_its_blocks_one_behind_the_other() {
        for text in [
            "",
            "\u{feff}# a\r\n\r\n- [x] b\r\n  - c\r\n\r\n    d\r\n***\r\n",
            "a\n===\n\n```\n- [ ] b\n\n# c\n```\n> d\n> e\n<!-- f\n\ng -->\n| h |\n",
            "1. [X] a\n\n   b\n10) [ ]\n- [x]\n-\n\n\n",
            "## Session 1 (2026-01-15) <!-- piton: entry-1 -->\n**Session 1 ended** - x",
        ] {
            assert_eq!(again(text), text);
        }
    }

    #[test]
    fn a_block_is_known_by_its_name() {
        let text = "## Session 3 (2026-01-15 10:20:30) <!-- piton: entry-1, at x -->\n- **Trigger**: a\n- b\n- b\n";
        let blocks = parse(text, 0, |_| None);
        assert_eq!(blocks[0].name, "note entry-1");
        assert_eq!(blocks[0].time.as_deref(), Some("2026-01-15T10:20:30"));
        assert_eq!(blocks[0].counter, None);
        let names: Vec<&str> = blocks[0].blocks.iter().map(|block| &*block.name).collect();
        assert_eq!(names, ["field Trigger", "b", "b #2"]);
    }

    proptest! {
        #![proptest_config(cases(512))]

        #[test]
        fn nothing_of_any_text_is_lost(text in "([-*+#>|`~=<! \\t]{0,4}(\\[[ xX]\\]|1\\.|--|ab?|€)?(\\r?\n)?){0,14}") {
            prop_assert_eq!(again(&text), text);
        }
    }
}
