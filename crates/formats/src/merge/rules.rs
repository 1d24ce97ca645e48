//! What a family says of its files so that three versions can be made one.

use crate::tree::ValueNode;

/// How a text is read as a tree, and a tree written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Yaml,
    /// Text with headings and list items.
    Markdown,
}

/// What is counted: its path, and what must stand there.
pub(crate) type CountedValue = (Vec<&'static str>, ValueNode);

/// How the files of a format are merged.
pub(crate) struct MergeRules {
    pub(crate) syntax: Syntax,
    /// The lists whose elements have names; in others, elements that have an
    /// `id` each are known by it.
    pub(crate) lists: &'static [NamedList],
    /// Values that have one answer where both sides changed them, by the end of
    /// their path: `stats.elapsed`.
    pub(crate) settled: &'static [(&'static str, ConflictRule)],
    /// Whether a mark or a state that one side set holds where the other one changed it.
    pub(crate) settles_marks: bool,
    /// What is counted in a text, by its path.
    pub(crate) recount: fn(&str) -> Vec<CountedValue>,
    /// How many bytes at its beginning are no Markdown.
    pub(crate) head: fn(&str) -> usize,
    /// The name that the words of a list item begin with, in Markdown.
    pub(crate) item_name: fn(&str) -> Option<String>,
}

impl MergeRules {
    /// A document of which nothing is known.
    pub(crate) const JSON: Self = Self {
        syntax: Syntax::Json,
        lists: &[],
        settled: &[],
        settles_marks: true,
        recount: |_| Vec::new(),
        head: |_| 0,
        item_name: |_| None,
    };

    /// Text with headings and list items.
    pub(crate) const MARKDOWN: Self = Self {
        syntax: Syntax::Markdown,
        lists: &[BLOCKS],
        settled: BLOCKS_SETTLED,
        ..Self::JSON
    };

    pub(super) fn list_rule_at(&self, path: &str) -> Option<&'static NamedList> {
        let key = path.rsplit('.').next().unwrap_or_default();
        self.lists.iter().find(|list| list.key == key)
    }

    pub(super) fn conflict_rule_at(&self, path: &str) -> Option<ConflictRule> {
        let is_at = |end: &str| {
            let before = path.strip_suffix(end);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let mut settled = self.settled.iter();
        let how = settled.find(|(end, _)| is_at(end)).map(|(_, how)| *how);
        let is_mark =
            |how: &ConflictRule| matches!(how, ConflictRule::Mark | ConflictRule::Overtaken(_));
        how.filter(|how| self.settles_marks || !is_mark(how))
    }
}

/// A list whose elements have names.
pub(crate) struct NamedList {
    /// The key under which it stands; empty for a document that is a list.
    pub(crate) key: &'static str,
    /// The keys that name an element together; the first group counts of which
    /// it has every key. An element without any is known by all that it says.
    pub(crate) names: &'static [&'static [&'static str]],
    /// The key of the time by which the elements are in order.
    pub(crate) time: Option<&'static str>,
    /// The key of a number that two elements cannot both have, where neither
    /// side gave it twice.
    pub(crate) unique: Option<&'static str>,
}

impl NamedList {
    /// One whose elements have an `id`, in the order of the file.
    pub(crate) const BY_ID: Self = Self {
        key: "",
        names: &[&["id"]],
        time: None,
        unique: None,
    };

    pub(super) fn name_of_element(&self, node: &ValueNode) -> String {
        let name = |keys: &&[&str]| {
            let texts = keys
                .iter()
                .map(|key| node.get(key).and_then(ValueNode::text));
            let texts: Option<Vec<&str>> = texts.collect();
            Some(texts?.join("\u{1f}"))
        };
        self.names
            .iter()
            .find_map(name)
            .unwrap_or_else(|| node_as_text(node))
    }
}

/// All that a node says, as one text.
pub(super) fn node_as_text(node: &ValueNode) -> String {
    serde_json::to_string(node).unwrap_or_default()
}

/// The blocks of a Markdown text and those within a block; see
/// [`super::blocks`].
pub(crate) const BLOCKS: NamedList = NamedList {
    key: "blocks",
    names: &[&["name"]],
    ..NamedList::BY_ID
};

const BLOCKS_SETTLED: &[(&str, ConflictRule)] = &[
    ("name", ConflictRule::Ours),
    ("time", ConflictRule::Ours),
    ("number", ConflictRule::Ours),
    ("counter", ConflictRule::Ours),
    ("lead", ConflictRule::Ours),
    ("mark", ConflictRule::Ours),
    ("tick", ConflictRule::Mark),
];

/// Which of two values holds that both sides changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictRule {
    /// Ours: it says nothing of its own, or is counted anew.
    Ours,
    /// Ours where both sides added it: piton named it after the folder of a clone.
    OursIfAdded,
    /// The one that is a mark: `true`, a ticked box.
    Mark,
    /// The earlier or lesser one.
    Least,
    /// The later or greater one.
    Greatest,
    /// One of these words gives way to a later one of them, and to any other word;
    /// two other words contradict each other.
    Overtaken(&'static [&'static str]),
}
