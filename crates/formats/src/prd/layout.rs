//! Which document a file named `prd.json` really is.

use crate::document::{Opened, open};
use crate::sdlc::first_keys;
use crate::tree::Node;

/// A document that stands, or may stand, under the name `prd.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `{"features": […]}`
    Features,
    /// `{"branchName": …, "userStories": […]}`
    UserStories,
    /// A list of requirements in another place: what is in it makes it one.
    Requirements(ItemsAt),
    /// One requirement with a status and attempts of its own.
    Single,
    /// Some other tool's, with the first of its keys.
    Foreign(Vec<String>),
    /// Nothing but blanks.
    Empty,
    /// Not JSON, or not one document.
    Unreadable,
}

/// Where the items of a list stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemsAt {
    /// Under a key of the document.
    Key(&'static str),
    /// The document is the list.
    Top,
}

impl ItemsAt {
    /// The items.
    pub(super) fn list(self, root: &Node) -> Option<&[Node]> {
        match self {
            Self::Key(key) => root.get(key)?.as_seq(),
            Self::Top => root.as_seq(),
        }
    }
}

/// Where lists stand that are known by what is in them: other tools have lists
/// of these names, too.
const OTHER_LISTS: [ItemsAt; 3] = [ItemsAt::Key("stories"), ItemsAt::Key("tasks"), ItemsAt::Top];

/// Whether these can be requirements: mappings, of which one at least says
/// whether it passes.
fn are_requirements(items: &[Node]) -> bool {
    let says = |item: &Node| item.get("passes").and_then(Node::as_bool).is_some();
    items.iter().all(|item| item.as_map().is_some()) && items.iter().any(says)
}

impl Layout {
    /// A fragment that says what the document is.
    pub fn describe(&self) -> String {
        match self {
            Self::Features => "a list of features".to_owned(),
            Self::UserStories => "a list of user stories".to_owned(),
            Self::Requirements(_) => "a list of requirements".to_owned(),
            Self::Single => {
                "a single requirement with its own status and attempts, not a list of them"
                    .to_owned()
            }
            Self::Foreign(keys) => format!(
                "a document of another tool, not a list of requirements: it begins with {}",
                keys.join(", ")
            ),
            Self::Empty => "an empty file".to_owned(),
            Self::Unreadable => "not a JSON document".to_owned(),
        }
    }

    /// Where the items stand.
    pub(super) fn items_key(&self) -> Option<ItemsAt> {
        match self {
            Self::Features => Some(ItemsAt::Key("features")),
            Self::UserStories => Some(ItemsAt::Key("userStories")),
            Self::Requirements(at) => Some(*at),
            Self::Single | Self::Foreign(_) | Self::Empty | Self::Unreadable => None,
        }
    }
}

/// Tells which document `text` is, by its content.
pub fn detect(text: &str) -> Layout {
    match open(text) {
        Opened::Root(root) => of_root(&root),
        Opened::Blank => Layout::Empty,
        Opened::Broken => Layout::Unreadable,
    }
}

/// Tells which document this is.
pub(super) fn of_root(root: &Node) -> Layout {
    const SINGLE: [&str; 6] = [
        "acceptance_criteria",
        "steps",
        "verification",
        "attempts",
        "current_iteration",
        "max_iterations",
    ];
    let has = |key: &str| root.get(key).is_some();
    let is_list = |key: &str| root.get(key).is_some_and(|node| node.as_seq().is_some());
    if is_list("features") {
        return Layout::Features;
    }
    if is_list("userStories") {
        return Layout::UserStories;
    }
    let is_at = |at: &&ItemsAt| at.list(root).is_some_and(are_requirements);
    if let Some(at) = OTHER_LISTS.iter().find(is_at) {
        return Layout::Requirements(*at);
    }
    if has("title") && has("status") && SINGLE.iter().any(|key| has(key)) {
        return Layout::Single;
    }
    Layout::Foreign(first_keys(root))
}
