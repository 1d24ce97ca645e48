//! Ids and places: what names a thing, and where it stands in its tree.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::terminal::escape_controls;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

uuid_id! {
    /// Names a run for ever (UUIDv7).
    RunId
}
uuid_id! {
    /// Names an attempt for ever (UUIDv7); also the mark in an agent's environment.
    AttemptId
}
uuid_id! {
    /// Names a decision for ever (UUIDv7); people type its number instead.
    DecisionId
}
uuid_id! {
    /// Names one event (UUIDv7).
    EventId
}
uuid_id! {
    /// Names a store as a writer of events: a new one after each restore (UUIDv7).
    WriterId
}
uuid_id! {
    /// Names one wish to change something. Asking again with the same id gives
    /// the outcome of the first success and stores nothing again.
    CommandId
}

impl RunId {
    /// The project's own run: it holds the items that people and agents record
    /// without a plan. No runner works through it.
    pub const PROJECT: Self = Self(Uuid::from_u128(0x7069_746f_6e00_7000_8000_0000_0000_0000));
}

/// An ordered list of events: one a run, one for the sessions of the project,
/// one for its memory, one for its native files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StreamId(String);

impl StreamId {
    /// The stream of one run.
    #[must_use]
    pub fn of_run(run: RunId) -> Self {
        Self(format!("run:{run}"))
    }

    /// The stream of the project's sessions: what `piton log` writes.
    #[must_use]
    pub fn sessions() -> Self {
        Self("sessions".to_owned())
    }

    /// The stream of the project's memory.
    #[must_use]
    pub fn memory() -> Self {
        Self("memory".to_owned())
    }

    /// The stream that says which native files are faces.
    #[must_use]
    pub fn files() -> Self {
        Self("files".to_owned())
    }

    /// A stream by the name that a store gave back.
    #[must_use]
    pub fn from_stored(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name, as stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// So many `/` of a text are read as parts of ids, too.
const SLASHES_MAX: usize = 5;

/// The path of an item within its run: ids joined by `/`.
///
/// A `/` inside an id is written `%2F`, a `%` as `%25`; a sibling that repeats
/// an id gets `#2`, `#3` and so on. A node never changes once it is given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Node(String);

impl Node {
    /// The ids on its path, as people write them, in one line: `a > b > c`.
    #[must_use]
    pub fn display_path(&self) -> String {
        let parts = self.0.split('/');
        let parts: Vec<String> = parts.map(show_id).collect();
        parts.join(" > ")
    }

    /// The node of a child named `id` below `parent`, as its `nth` (from 1)
    /// sibling of that id.
    #[must_use]
    pub fn child(parent: Option<&Self>, id: &str, nth: u32) -> Self {
        let mut text = String::new();
        if let Some(parent) = parent {
            text.push_str(&parent.0);
            text.push('/');
        }
        for c in id.chars() {
            match c {
                '/' => text.push_str("%2F"),
                '%' => text.push_str("%25"),
                _ => text.push(c),
            }
        }
        if nth > 1 {
            text.push_str(&format!("#{nth}"));
        }
        Self(text)
    }

    /// A node as a person typed it, or as it was stored.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The nodes that a text may mean as ids are shown, where each `/` divides ids or
    /// is within one, and a `%` is one: none of them where there are more than
    /// [`SLASHES_MAX`] of the former.
    pub fn readings_of_shown(text: &str) -> impl Iterator<Item = Self> {
        let escaped = text.replace('%', "%25");
        let parts: Vec<String> = escaped.split('/').map(str::to_owned).collect();
        let slashes = parts.len() - 1;
        let readings = match slashes <= SLASHES_MAX {
            true => 1_u32 << slashes,
            false => 0,
        };
        (0..readings).map(move |within| {
            let mut path = parts[0].clone();
            for (nth, part) in parts[1..].iter().enumerate() {
                path.push_str(match within >> nth & 1 {
                    0 => "/",
                    _ => "%2F",
                });
                path.push_str(part);
            }
            Self(path)
        })
    }

    /// What is stored of a node, as people type it, in one line.
    #[must_use]
    pub fn shown(stored: &str) -> String {
        show_id(stored)
    }

    /// The path as it is stored, and as programs refer to it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The node above, if there is one.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0
            .rsplit_once('/')
            .map(|(parent, _)| Self(parent.to_owned()))
    }

    /// The nodes above, nearest first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// This node and the nodes above, nearest first.
    pub fn line(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// Whether this node is `other` or lies below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0
            .strip_prefix(&other.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// As people type it, which [`Node::readings_of_shown`] reads, in one line. What is
/// stored, and what programs refer to it by, is [`Node::as_str`].
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_id(&self.0).fmt(f)
    }
}

/// An id as it is shown everywhere: one with a line break forges no line of piton's.
fn show_id(part: &str) -> String {
    let id = part.replace("%2F", "/").replace("%25", "%");
    escape_controls(&id).into_owned()
}

/// Where an item stands in its tree: its index (from 0) at each level.
///
/// `[1, 0, 2]` is the third child of the first child of the second root. The
/// order of places is the order of the tree, a parent before its children.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreePosition(pub Vec<u32>);

impl TreePosition {
    /// The place of the `index`th child.
    #[must_use]
    pub fn child(&self, index: u32) -> Self {
        let mut path = self.0.clone();
        path.push(index);
        Self(path)
    }

    /// The place above this one; that of a root is above all.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(self.0[..self.depth().saturating_sub(1)].to_vec())
    }

    /// How deep the item stands: 1 for a root.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// A key whose order as bytes is the order of places: four bytes a level,
    /// the most significant first.
    #[must_use]
    pub fn to_key(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|index| index.to_be_bytes())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_inside_an_id_is_not_a_level() {
        let phase = Node::child(None, "a/b", 1);
        let step = Node::child(Some(&phase), "50%", 2);
        assert_eq!(step.as_str(), "a%2Fb/50%25#2");
        assert_eq!(step.parent(), Some(phase.clone()));
        assert!(step.is_within(&phase));
        assert!(!Node::from_text("a%2Fbc").is_within(&phase));
    }

    #[test]
    fn an_id_is_shown_in_one_line() {
        let node = Node::child(None, "a\nb\u{1b}[2K", 1);
        let shown = r"a\nb\u{1b}[2K";
        assert_eq!(node.to_string(), shown);
        assert_eq!(Node::shown(node.as_str()), shown);
        assert_eq!(node.display_path(), shown);
        assert_eq!(node.as_str(), "a\nb\u{1b}[2K");
    }

    #[test]
    fn a_node_is_among_the_readings_of_its_ids_as_they_are_shown() {
        let phase = Node::child(None, "a/b", 1);
        let step = Node::child(Some(&phase), "50%", 2);
        assert!(Node::readings_of_shown("a/b/50%#2").any(|node| node == step));
        assert_eq!(
            Node::readings_of_shown("a").collect::<Vec<_>>(),
            [Node::from_text("a")]
        );
        assert_eq!(Node::readings_of_shown(&"a/".repeat(6)).count(), 0);
    }

    #[test]
    fn the_order_of_keys_is_the_order_of_the_tree() {
        let mut places = vec![
            TreePosition(vec![1]),
            TreePosition(vec![0, 300]),
            TreePosition(vec![0]),
            TreePosition(vec![0, 2, 9]),
            TreePosition(vec![0, 2]),
        ];
        places.sort();
        let mut by_key = places.clone();
        by_key.sort_by_key(TreePosition::to_key);
        assert_eq!(places, by_key);
        assert_eq!(places[0], TreePosition(vec![0]));
        assert_eq!(places[4], TreePosition(vec![1]));
    }
}
