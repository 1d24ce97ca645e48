//! From the events of the parser to the tree.

use std::collections::{HashMap, HashSet};

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StructureStyle, Tag};

use super::faults::{TAB, TAB_HINT, span_at, syntax_fault, to_u32};
use crate::tree::{
    DEPTH_MAX, FAULTS_MAX, Map, MapKey, ParsedTree, Scalar, Span, Style, SyntaxFault, Value,
    ValueNode,
};

/// How many nodes, and bytes of text, aliases may add to a document.
///
/// A document of a few lines can otherwise name billions of nodes.
const ALIAS_NODES_MAX: usize = 100_000;
const ALIAS_BYTES_MAX: usize = 16 << 20;

/// Up to this many keys a mapping is searched, beyond it they are hashed.
const KEYS_SEARCHED_MAX: usize = 16;

/// Reads `text`; when it failed at a line of a quoted text that is not
/// indented deeper than its key, tells where that line is.
pub(super) fn try_parse(text: &str) -> (ParsedTree, Option<usize>) {
    let mut builder = Builder::new(text);
    let mut shallow = None;
    let options = granit_parser::options! {
        block_nesting_limit: DEPTH_MAX,
        flow_nesting_limit: DEPTH_MAX,
    };
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((event, span)) => builder.handle_event(event, convert_span(span)),
            Err(error) => {
                let fault = syntax_fault(text, &error);
                if *error.kind() == ErrorKind::InvalidQuotedScalarIndent {
                    shallow = Some(fault.span.start);
                }
                if !builder.has_explanation_for(&fault) {
                    builder.faults.push(fault);
                }
                builder.stopped = true;
            }
        }
        if builder.stopped {
            builder.root = None;
            break;
        }
    }
    let mut faults = builder.faults;
    faults.sort_by_key(|fault| fault.span.start);
    let parsed = ParsedTree {
        root: builder.root,
        faults,
    };
    (parsed, shallow)
}

fn convert_span(span: granit_parser::Span) -> Span {
    Span {
        start: span.start.byte_offset().unwrap_or_default(),
        end: span.end.byte_offset().unwrap_or_default(),
        line: to_u32(span.start.line()),
        column: to_u32(span.start.col() + 1),
    }
}

/// A collection that is still open.
struct OpenYamlCollection {
    anchor: usize,
    span: Span,
    is_block: bool,
    content: Content,
}

enum Content {
    Seq(Vec<ValueNode>),
    Map {
        pairs: Vec<(MapKey, ValueNode)>,
        /// Keys seen, once there are too many to search.
        seen: HashSet<String>,
        /// Keys that came from a `<<` and may still be set by the mapping itself.
        merged: HashSet<String>,
        key: Option<PendingKey>,
    },
}

struct PendingKey {
    key: MapKey,
    is_merge: bool,
}

struct AnchoredNode {
    node: ValueNode,
    nodes: usize,
    bytes: usize,
}

struct Builder<'t> {
    text: &'t str,
    open: Vec<OpenYamlCollection>,
    anchors: HashMap<usize, AnchoredNode>,
    root: Option<ValueNode>,
    documents: usize,
    alias_nodes: usize,
    alias_bytes: usize,
    faults: Vec<SyntaxFault>,
    stopped: bool,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            documents: 0,
            alias_nodes: 0,
            alias_bytes: 0,
            faults: Vec::new(),
            stopped: false,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the events that are left carry no data"
    )]
    fn handle_event(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::DocumentStart(..) => self.start_document(span),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = self.resolve_tag(tag.as_deref(), span);
                // The parser gives `~` for a value that is not there.
                let is_absent = style == ScalarStyle::Plain && span.start == span.end;
                let scalar = Scalar {
                    text: if is_absent {
                        String::new()
                    } else {
                        text.into_owned()
                    },
                    style: style_of_scalar(style),
                    tag,
                };
                self.check_tagged(&scalar, span);
                let node = ValueNode {
                    value: Value::Scalar(scalar),
                    span,
                };
                self.place_node(node, anchor);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.resolve_tag(tag.as_deref(), span);
                self.open.push(OpenYamlCollection {
                    anchor,
                    span,
                    is_block: style == StructureStyle::Block,
                    content: Content::Seq(Vec::new()),
                });
            }
            Event::MappingStart(style, anchor, tag) => {
                self.resolve_tag(tag.as_deref(), span);
                self.open.push(OpenYamlCollection {
                    anchor,
                    span,
                    is_block: style == StructureStyle::Block,
                    content: Content::Map {
                        pairs: Vec::new(),
                        seen: HashSet::new(),
                        merged: HashSet::new(),
                        key: None,
                    },
                });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(span),
            Event::Alias(anchor) => self.resolve_alias(anchor, span),
            _ => {}
        }
    }

    fn start_document(&mut self, span: Span) {
        self.documents += 1;
        if self.documents == 2 {
            self.push_fault(
                span,
                "a second document in the same file".to_owned(),
                "keep one document; a `---` within text belongs in quotes or a `|` block",
            );
            // What comes after belongs to no document; the first one stays.
            self.anchors.clear();
        }
    }

    fn close_collection(&mut self, end: Span) {
        let Some(open) = self.open.pop() else { return };
        // A large document is thousands of small mappings.
        let value = match open.content {
            Content::Seq(mut items) => {
                items.shrink_to_fit();
                Value::Seq(items)
            }
            Content::Map { mut pairs, .. } => {
                pairs.shrink_to_fit();
                Value::Map(Map { pairs })
            }
        };
        let span = Span {
            end: end.end.max(open.span.end),
            ..open.span
        };
        self.place_node(ValueNode { value, span }, open.anchor);
    }

    /// Puts a complete node where it belongs.
    fn place_node(&mut self, node: ValueNode, anchor: usize) {
        if anchor != 0 {
            let NodeWeight { nodes, bytes } = node_weight(&node);
            self.anchors.insert(
                anchor,
                AnchoredNode {
                    node: node.clone(),
                    nodes,
                    bytes,
                },
            );
        }
        let Some(top) = self.open.last() else {
            if self.documents < 2 {
                self.root = Some(node);
            }
            return;
        };
        if top.is_block {
            self.check_line(&node);
        }
        let Some(top) = self.open.last_mut() else {
            return;
        };
        match &mut top.content {
            Content::Seq(items) => items.push(node),
            Content::Map { key: slot, .. } => match slot.take() {
                None => *slot = Some(pending_key(node)),
                Some(pending) => self.push_pair(pending, node),
            },
        }
    }

    /// Checks how the line begins on which a key or an element stands. Some
    /// readers take a tab there for indentation and a missing key for `null`,
    /// the one that these files are written for does neither.
    fn check_line(&mut self, node: &ValueNode) {
        let Some(OpenYamlCollection { content, .. }) = self.open.last() else {
            return;
        };
        let is_key = match content {
            Content::Map { key, .. } => {
                if key.is_some() {
                    return;
                }
                true
            }
            Content::Seq(_) => false,
        };
        let before = &self.text[..node.span.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let lead = &before[line_start..];
        if !lead
            .bytes()
            .all(|b| matches!(b, b' ' | b'\t' | b'-' | b'?'))
        {
            return;
        }
        let indentation = if is_key {
            lead
        } else {
            lead.rsplit_once('-')
                .map_or("", |(indentation, _)| indentation)
        };
        if let Some(at) = indentation.find('\t') {
            return self.push_fault(
                span_at(self.text, line_start + at),
                TAB.to_owned(),
                TAB_HINT,
            );
        }
        let is_absent = node.text() == Some("") && node.span.start == node.span.end;
        if is_key && is_absent && !lead.contains('?') {
            self.push_fault(
                node.span,
                "a `:` without a key before it".to_owned(),
                "write the key, or quote the text if its `:` is meant literally",
            );
        }
    }

    fn push_pair(&mut self, pending: PendingKey, node: ValueNode) {
        if pending.is_merge {
            return self.merge_mappings(pending.key.span, &node);
        }
        let key = pending.key;
        let Some(OpenYamlCollection {
            content:
                Content::Map {
                    pairs,
                    seen,
                    merged,
                    ..
                },
            ..
        }) = self.open.last_mut()
        else {
            return;
        };
        if merged.remove(&key.text) {
            if let Some(pair) = pairs.iter_mut().find(|(have, _)| *have == key) {
                *pair = (key, node);
            }
            return;
        }
        if pairs.len() == KEYS_SEARCHED_MAX {
            seen.extend(pairs.iter().map(|(key, _)| key.text.clone()));
        }
        let is_new = if pairs.len() < KEYS_SEARCHED_MAX {
            !pairs.iter().any(|(have, _)| *have == key)
        } else {
            seen.insert(key.text.clone())
        };
        if is_new {
            pairs.push((key, node));
            return;
        }
        let first = pairs
            .iter()
            .find(|(have, _)| *have == key)
            .map_or_else(Span::default, |(have, _)| have.span);
        self.push_fault(
            key.span,
            format!(
                "the key `{}` stands here a second time; the first is in line {}, column {}",
                key.text, first.line, first.column
            ),
            "keep one of the two, or give one another name",
        );
    }

    fn merge_mappings(&mut self, span: Span, node: &ValueNode) {
        let sources: Vec<&ValueNode> = match &node.value {
            Value::Map(_) => vec![node],
            Value::Seq(items) => items.iter().collect(),
            Value::Scalar(_) => Vec::new(),
        };
        let all_maps = sources.iter().all(|source| source.as_map().is_some());
        if sources.is_empty() || !all_maps {
            return self.push_fault(
                span,
                format!("`<<` merges mappings, not {}", node.describe()),
                "give it an alias to a mapping, or quote the key if it is meant literally",
            );
        }
        let Some(OpenYamlCollection {
            content: Content::Map { pairs, merged, .. },
            ..
        }) = self.open.last_mut()
        else {
            return;
        };
        for (key, value) in sources
            .iter()
            .filter_map(|source| source.as_map())
            .flat_map(Map::iter)
        {
            if !pairs.iter().any(|(have, _)| have == key) {
                merged.insert(key.text.clone());
                pairs.push((key.clone(), value.clone()));
            }
        }
    }

    fn resolve_alias(&mut self, anchor: usize, span: Span) {
        let Some(anchored) = self.anchors.get(&anchor) else {
            self.push_fault(
                span,
                "an alias inside the very node that it names".to_owned(),
                "repeat the value instead of the alias",
            );
            return self.place_node(ValueNode::plain("null"), 0);
        };
        self.alias_nodes += anchored.nodes;
        self.alias_bytes += anchored.bytes;
        if self.alias_nodes > ALIAS_NODES_MAX || self.alias_bytes > ALIAS_BYTES_MAX {
            self.push_fault(
                span,
                format!("aliases that add more than {ALIAS_NODES_MAX} values to the document"),
                "write the values out, or use fewer aliases",
            );
            self.stopped = true;
            return;
        }
        let node = anchored.node.clone();
        self.place_node(node, 0);
    }

    /// The full name of a tag; a fault when no reader knows it.
    fn resolve_tag(&mut self, tag: Option<&Tag>, span: Span) -> Option<String> {
        const KNOWN: [&str; 13] = [
            "str",
            "int",
            "float",
            "bool",
            "null",
            "timestamp",
            "binary",
            "seq",
            "map",
            "set",
            "omap",
            "pairs",
            "merge",
        ];
        let tag = tag?;
        let name = format!("{}{}", tag.handle(), tag.suffix());
        let known = name
            .strip_prefix("tag:yaml.org,2002:")
            .is_some_and(|suffix| KNOWN.contains(&suffix));
        if !known && name != "!" {
            self.push_fault(
                span,
                format!("the tag `{name}`, which is not known here"),
                "remove the tag, or quote the text if its `!` is meant literally",
            );
        }
        Some(name)
    }

    /// Whether a fault that was found before is why the parser gave up: one on
    /// the same line or the line above, or a document that should not be there.
    fn has_explanation_for(&self, end: &SyntaxFault) -> bool {
        let is_near = |fault: &SyntaxFault| fault.span.line.saturating_add(1) >= end.span.line;
        self.documents > 1 || self.faults.last().is_some_and(is_near)
    }

    fn check_tagged(&mut self, scalar: &Scalar, span: Span) {
        use crate::tree::ScalarKind;
        let Some(tag) = &scalar.tag else { return };
        let kind = scalar.kind();
        let fits = match tag.strip_prefix("tag:yaml.org,2002:") {
            Some("int") => matches!(kind, ScalarKind::Int(_)),
            Some("float") => matches!(kind, ScalarKind::Int(_) | ScalarKind::Float(_)),
            Some("bool") => matches!(kind, ScalarKind::Bool(_)),
            Some("null") => kind == ScalarKind::Null,
            Some("timestamp") => kind == ScalarKind::Timestamp,
            Some("seq" | "map" | "set" | "omap" | "pairs") => kind == ScalarKind::Null,
            Some(_) | None => true,
        };
        if !fits {
            self.push_fault(
                span,
                format!(
                    "`{}` does not have the type of its tag `{tag}`",
                    scalar.text
                ),
                "remove the tag",
            );
        }
    }

    fn push_fault(&mut self, span: Span, message: String, hint: &str) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(SyntaxFault {
                span,
                message,
                hint: hint.to_owned(),
            });
        }
    }
}

fn style_of_scalar(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    }
}

fn pending_key(node: ValueNode) -> PendingKey {
    let span = node.span;
    match node.value {
        Value::Scalar(scalar) => {
            let is_merge = match scalar.tag.as_deref() {
                None => scalar.style == Style::Plain && scalar.text == "<<",
                Some(tag) => tag == "tag:yaml.org,2002:merge",
            };
            PendingKey {
                key: MapKey {
                    text: key_text(scalar),
                    span,
                    is_collection: false,
                },
                is_merge,
            }
        }
        Value::Seq(_) | Value::Map(_) => PendingKey {
            key: MapKey {
                text: collection_text(&node.value),
                span,
                is_collection: true,
            },
            is_merge: false,
        },
    }
}

/// The key that JavaScript makes of a list or a mapping.
fn collection_text(value: &Value) -> String {
    match value {
        Value::Scalar(scalar) => scalar.text.clone(),
        Value::Seq(items) => {
            let texts: Vec<String> = items
                .iter()
                .map(|item| collection_text(&item.value))
                .collect();
            texts.join(",")
        }
        Value::Map(_) => "[object Object]".to_owned(),
    }
}

/// An empty key is the key `null`, as every reader that has only string keys
/// makes it.
fn key_text(scalar: Scalar) -> String {
    if scalar.style == Style::Plain && scalar.text.is_empty() {
        "null".to_owned()
    } else {
        scalar.text
    }
}

/// How large a tree is.
struct NodeWeight {
    nodes: usize,
    /// The bytes of its text.
    bytes: usize,
}

impl NodeWeight {
    fn add_node(&mut self, node: &ValueNode) {
        let NodeWeight { nodes, bytes } = node_weight(node);
        self.nodes += nodes;
        self.bytes += bytes;
    }
}

fn node_weight(node: &ValueNode) -> NodeWeight {
    let mut weight = NodeWeight { nodes: 1, bytes: 0 };
    match &node.value {
        Value::Scalar(scalar) => weight.bytes = scalar.text.len(),
        Value::Seq(items) => items.iter().for_each(|item| weight.add_node(item)),
        Value::Map(map) => {
            for (key, node) in map.iter() {
                weight.bytes += key.text.len();
                weight.add_node(node);
            }
        }
    }
    weight
}
