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

use crate::markdown::{Doc, Kind, indent_of, marker, starts_with_date};
use crate::tree::{Node, Span};

/// What the lines of a list item and of a plain line are deeper than any heading.
const ITEM_DEPTH: usize = 10;
const LINE_DEPTH: usize = usize::MAX;

#[derive(Debug, Default)]
pub(super) struct Block {
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
    blocks: Vec<Block>,
}

/// The name that the words of an item begin with.
type ItemName = fn(&str) -> Option<String>;

/// Reads a text, whose first `head` bytes are no Markdown.
pub(super) fn parse(text: &str, head: usize, item_name: ItemName) -> Vec<Block> {
    let doc = Doc::behind(text, head);
    let mut tree = Tree::default();
    let mut lead = String::new();
    let mut line = 0;
    while line < doc.line_count() {
        let kind = doc.kind(line);
        let start = doc.start(line);
        let is_front = start < head;
        if !is_front && matches!(kind, Kind::Blank | Kind::Rule) {
            lead.push_str(&text[start..doc.start(line + 1)]);
            line += 1;
            continue;
        }
        // What is no text of lines of its own stays together.
        let is_whole = !is_front
            && match kind {
                Kind::Code | Kind::Comment | Kind::Html | Kind::Quote => true,
                Kind::Text | Kind::Blank | Kind::Heading(_) | Kind::Rule => false,
            };
        let mut next = line + 1;
        while is_whole && next < doc.line_count() && doc.kind(next) == kind {
            next += 1;
        }
        let bytes = start..doc.start(next);
        let lead = std::mem::take(&mut lead);
        let block = match kind {
            _ if is_front => front_line(text, bytes, lead),
            Kind::Heading(level) => heading(text, bytes, lead, level),
            Kind::Text => text_line(text, bytes, lead, item_name),
            Kind::Code | Kind::Comment | Kind::Html | Kind::Quote | Kind::Blank | Kind::Rule => {
                plain(text, bytes, lead)
            }
        };
        tree.push(block, indent_of(doc.line(line)));
        line = next;
    }
    if !lead.is_empty() {
        tree.push(
            Block {
                lead,
                depth: 0,
                ..Block::default()
            },
            0,
        );
    }
    let mut blocks = tree.closed();
    tell_apart(&mut blocks);
    blocks
}

#[derive(Default)]
struct Tree {
    roots: Vec<Block>,
    open: Vec<Block>,
}

impl Tree {
    fn push(&mut self, block: Block, indent: usize) {
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

    fn closed(mut self) -> Vec<Block> {
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

fn plain(text: &str, bytes: Range<usize>, lead: String) -> Block {
    Block {
        depth: LINE_DEPTH,
        name: text[bytes.clone()].trim().to_owned(),
        lead,
        text: text[bytes.clone()].to_owned(),
        bytes,
        ..Block::default()
    }
}

fn front_line(text: &str, bytes: Range<usize>, lead: String) -> Block {
    let line = &text[bytes.clone()];
    let key = line.split_once(':').map(|(key, _)| key);
    let key = key.filter(|key| !key.is_empty() && !key.starts_with([' ', '#', '-']));
    Block {
        is_named: key.is_some(),
        name: format!("front {}", key.unwrap_or(line.trim())),
        ..plain(text, bytes, lead)
    }
}

fn heading(text: &str, bytes: Range<usize>, lead: String, level: u8) -> Block {
    let words = text[bytes.clone()].trim().trim_start_matches('#').trim();
    let noted = name_in_note(words);
    Block {
        depth: usize::from(level),
        is_named: true,
        time: time_in(words),
        // What has a name is not known by its number.
        counter: counter_in(words).filter(|_| noted.is_none()),
        name: noted.unwrap_or_else(|| words.to_owned()),
        ..plain(text, bytes, lead)
    }
}

/// `Session 3` of `Session 3 (2026-01-15)`, `G3:` of `G3: Look first`.
fn counter_in(words: &str) -> Option<String> {
    let mut parts = words.split_whitespace();
    let (first, second) = (parts.next()?, parts.next()?);
    if first.ends_with(':') && first.bytes().any(|byte| byte.is_ascii_digit()) {
        return Some(first.to_owned());
    }
    let is_number = second.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("{first} {second}"))
}

/// The first date of a heading, with the time behind it.
fn time_in(words: &str) -> Option<String> {
    let mut starts = words.char_indices().map(|(at, _)| &words[at..]);
    let from = starts.find(|rest| starts_with_date(rest))?;
    let time = from.get(11..19).filter(|time| time.as_bytes()[2] == b':');
    Some(format!("{}T{}", &from[..10], time.unwrap_or("00:00:00")))
}

fn text_line(text: &str, bytes: Range<usize>, lead: String, item_name: ItemName) -> Block {
    let line = &text[bytes.clone()];
    let Some(item) = marker(line.trim_end()) else {
        let words = line.trim();
        let name = field_name(words);
        return Block {
            is_named: name.is_some(),
            name: name.unwrap_or_else(|| words.to_owned()),
            ..plain(text, bytes, lead)
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
    Block {
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
fn tell_apart(blocks: &mut [Block]) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for block in blocks {
        let count = counts.entry(block.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            block.name = format!("{} #{count}", block.name);
        }
        tell_apart(&mut block.blocks);
    }
}

/// Gives a block whose words were changed the name that it has in `base`: one
/// of the same kind, in the same place between others, with half of its words.
pub(super) fn align(base: &[Block], side: &mut [Block]) {
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
        align(&base[place].blocks, &mut block.blocks);
        from = place + 1;
    }
}

fn is_reworded(base: &Block, side: &Block) -> bool {
    base.depth == side.depth
        && !(base.is_named && side.is_named && base.depth >= ITEM_DEPTH)
        && crate::task::is_similar(&base.text, &side.text)
}

/// The blocks as a tree; each has the place of its own line.
pub(super) fn to_node(blocks: &[Block]) -> Node {
    let nodes = blocks.iter().map(|block| {
        let span = Span {
            start: block.bytes.start,
            end: block.bytes.end,
            ..Span::default()
        };
        let text = |text: &str| Node {
            span,
            ..Node::string(text)
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
        let mut pairs: Vec<(&str, Node)> = always
            .into_iter()
            .chain(sometimes)
            .map(|(key, value)| (key, text(value)))
            .collect();
        pairs.push(("blocks", list_of(&block.blocks)));
        let end = block.end();
        Node {
            span: Span { end, ..span },
            ..Node::map(pairs)
        }
    });
    Node::map([("blocks", Node::seq(nodes.collect()))])
}

fn list_of(blocks: &[Block]) -> Node {
    match to_node(blocks).value {
        crate::tree::Value::Map(mut map) => map
            .pairs
            .pop()
            .map_or_else(|| Node::seq(Vec::new()), |(_, list)| list),
        crate::tree::Value::Scalar(_) | crate::tree::Value::Seq(_) => Node::seq(Vec::new()),
    }
}

impl Block {
    fn end(&self) -> usize {
        self.blocks.last().map_or(self.bytes.end, Self::end)
    }
}

/// The text of a tree.
pub(super) fn render(root: &Node) -> String {
    let mut out = String::new();
    push(&mut out, root);
    out
}

fn push(out: &mut String, node: &Node) {
    for key in ["lead", "mark", "tick", "text"] {
        let text = node.get(key).and_then(Node::text).unwrap_or_default();
        out.push_str(text);
    }
    let blocks = node.get("blocks").and_then(Node::as_seq);
    for block in blocks.unwrap_or_default() {
        push(out, block);
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
