//! Where the marks of a plan's file were set, and which of them neither a person nor an
//! agent set: those that a merge put on other words.
//!
//! A merge of two versions of a plan's file takes the words of a story from one of
//! them and its mark from the other. Where the story has other words or another check
//! in each, neither side says that what the file asks for now is done. See
//! `docs/design/0024-branches.md`.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use piton_core::plan::{ImportedItemHistory, Plan, PlannedItem};
use piton_core::{ItemState, Node};

use crate::plan_format::{PlanContext, PlanFormat};
use crate::problem::SourceText;

/// What an item asks for: its words and its check.
type ItemRequirement = (String, Option<String>);

/// The items that a version of a plan's file marks as done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoneMarks {
    done: HashMap<Node, ItemRequirement>,
    asks: HashSet<ItemRequirement>,
}

/// One version of the file in its history.
#[derive(Clone, Debug, Default)]
pub struct MarkedVersion {
    /// Its marks.
    pub marks: Rc<DoneMarks>,
    /// The names of the versions that it was made of; none where the search ends.
    pub parents: Vec<String>,
}

impl DoneMarks {
    /// The marks that stand in a text.
    #[must_use]
    pub fn parse(format: &PlanFormat, text: &str) -> Self {
        let of = PlanContext::of_text();
        let plan = (format.read)(SourceText { name: "", text }, of).0;
        plan.map_or_else(Self::default, |plan| Self::from_items(format, &plan.items))
    }

    /// The marks of the items of a plan. What holds others is done by what it holds.
    #[must_use]
    pub fn from_items(format: &PlanFormat, items: &[PlannedItem]) -> Self {
        let parents: HashSet<Node> = items.iter().filter_map(|item| item.node.parent()).collect();
        let done = items.iter().filter(|item| item.state == ItemState::Done);
        let leaves = done.filter(|item| !parents.contains(&item.node));
        let done: HashMap<Node, ItemRequirement> = leaves
            .map(|item| {
                let words = item.native.as_ref().and_then(format.words.words_of_native);
                let words = words.or_else(|| item.prompt.clone()).unwrap_or_default();
                let check = item.gate.as_ref().map(|gate| gate.script.clone());
                (item.node.clone(), (words, check))
            })
            .collect();
        let asks = done.values().cloned().collect();
        Self { done, asks }
    }

    /// Whether nothing is marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }
}

/// Where a mark was set: in a version that has it and was made of none that had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkOrigin {
    /// The name of that version; none where it is the one that is looked at.
    pub version: Option<String>,
    /// Whether it was made of several, of which one marks the item and asks for
    /// something else: the merge took the mark from there.
    pub is_lent: bool,
}

/// Where the marks of `now` were set, for each item at least one origin. `version`
/// gives the versions of the file by name.
#[must_use]
pub fn find_mark_origins(
    now: MarkedVersion,
    mut version: impl FnMut(&str) -> MarkedVersion,
) -> HashMap<Node, Vec<MarkOrigin>> {
    let mut origins: HashMap<Node, Vec<MarkOrigin>> = HashMap::new();
    let mut traced: HashSet<(String, Node)> = HashSet::new();
    let marked: Vec<Node> = now.marks.done.keys().cloned().collect();
    let asks = now.marks.done.clone();
    let has = |parent: &MarkedVersion, node: &Node| parent.marks.asks.contains(&asks[node]);
    let mut open = vec![(None, now.parents, marked)];
    while let Some((child, parents, nodes)) = open.pop() {
        let named = parents.into_iter();
        let parents: Vec<(String, MarkedVersion)> = named
            .map(|name| {
                let parent = version(&name);
                (name, parent)
            })
            .collect();
        for (name, parent) in &parents {
            let mut is_traced_on =
                |node: &&Node| has(parent, node) && traced.insert((name.clone(), (*node).clone()));
            let further: Vec<Node> = nodes.iter().filter(&mut is_traced_on).cloned().collect();
            if !further.is_empty() {
                open.push((Some(name.clone()), parent.parents.clone(), further));
            }
        }
        for node in nodes {
            if parents.iter().any(|(_, parent)| has(parent, &node)) {
                continue;
            }
            let marks =
                |(_, parent): &(String, MarkedVersion)| parent.marks.done.contains_key(&node);
            let origin = MarkOrigin {
                version: child.clone(),
                is_lent: parents.len() > 1 && parents.iter().any(marks),
            };
            origins.entry(node).or_default().push(origin);
        }
    }
    origins
}

/// The items whose marks come from merges alone: each merge took the mark from a version
/// in which the item asked for something else.
#[must_use]
pub fn misplaced_marks(origins: &HashMap<Node, Vec<MarkOrigin>>) -> HashSet<Node> {
    let all = origins.iter();
    let lent = all.filter(|(_, origins)| origins.iter().all(|origin| origin.is_lent));
    lent.map(|(node, _)| node.clone()).collect()
}

/// Makes items of a plan open that it has as done, with those above them.
pub fn reopen_items(plan: &mut Plan, nodes: &HashSet<Node>) {
    if nodes.is_empty() {
        return;
    }
    let above = nodes.iter().flat_map(Node::ancestors);
    let reopened: HashSet<Node> = nodes.iter().cloned().chain(above).collect();
    for item in &mut plan.items {
        if item.state == ItemState::Done && reopened.contains(&item.node) {
            item.state = ItemState::Ready;
            item.past = ImportedItemHistory::default();
        }
    }
    let finished = plan.items.iter().filter(|item| item.state.is_finished());
    let finished: HashSet<Node> = finished.map(|item| item.node.clone()).collect();
    for item in &mut plan.items {
        let waits = item.depends_on.iter().any(|on| !finished.contains(on));
        if item.state == ItemState::Ready && waits {
            item.state = ItemState::Pending;
        }
    }
    if let Some(past) = &mut plan.past {
        past.done = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::plan_format;

    const KEEL: (&str, &str) = ("lay the keel", "test -f keel");
    const SAIL: (&str, &str) = ("sew a sail", "test -f sail");

    fn list() -> &'static PlanFormat {
        plan_format(crate::prd::FACE).expect("it is known")
    }

    /// A list of stories, each with its words, its check and whether it is marked.
    fn text(stories: &[(&str, (&str, &str), bool)]) -> String {
        let story = |(id, (title, check), passes): &(&str, (&str, &str), bool)| {
            format!(
                "{{\"id\": \"{id}\", \"title\": \"{title}\", \"verificationCommands\": [\"{check}\"], \"passes\": {passes}}}"
            )
        };
        let stories: Vec<String> = stories.iter().map(story).collect();
        format!("{{\"userStories\": [{}]}}", stories.join(","))
    }

    type Stories<'s> = &'s [(&'s str, (&'s str, &'s str), bool)];

    /// Which marks of the last of these versions are misplaced: each with its name, the
    /// names of its parents and what stands in it.
    #[track_caller]
    fn check(versions: &[(&str, &str, Stories<'_>)], expected: &[&str]) {
        let known: HashMap<&str, MarkedVersion> = versions
            .iter()
            .map(|(name, parents, stories)| {
                let version = MarkedVersion {
                    marks: Rc::new(DoneMarks::parse(list(), &text(stories))),
                    parents: parents.split_whitespace().map(str::to_owned).collect(),
                };
                (*name, version)
            })
            .collect();
        let now = versions.last().expect("there is one").0;
        let origins = find_mark_origins(known[now].clone(), |name| known[name].clone());
        let found = misplaced_marks(&origins);
        let mut found: Vec<String> = found.iter().map(Node::to_string).collect();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_mark_of_other_words_is_misplaced_by_a_merge() {
        let begin = ("begin", "", &[("1", KEEL, false)][..]);
        let run = ("run", "begin", &[("1", KEEL, true)][..]);
        let other = ("other", "begin", &[("1", SAIL, false)][..]);
        let merge = ("merge", "other run", &[("1", SAIL, true)][..]);
        check(&[begin, run, other, merge], &["1"]);
        let check_alone = ("lay the keel", "test -f other");
        let other = ("other", "begin", &[("1", check_alone, false)][..]);
        let merge = ("merge", "other run", &[("1", check_alone, true)][..]);
        check(&[begin, run, other, merge], &["1"]);
        // The same words are what the run did, whatever else was changed.
        let other = (
            "other",
            "begin",
            &[("1", KEEL, false), ("2", SAIL, false)][..],
        );
        let merge = (
            "merge",
            "other run",
            &[("1", KEEL, true), ("2", SAIL, false)][..],
        );
        check(&[begin, run, other, merge], &[]);
    }

    #[test]
    fn it_stays_misplaced_in_what_becomes_of_the_merge() {
        let begin = ("begin", "", &[("1", KEEL, false)][..]);
        let run = ("run", "begin", &[("1", KEEL, true)][..]);
        let other = ("other", "begin", &[("1", SAIL, false)][..]);
        let merge = ("merge", "other run", &[("1", SAIL, true)][..]);
        let later = (
            "later",
            "merge",
            &[("1", SAIL, true), ("2", KEEL, false)][..],
        );
        let side = (
            "side",
            "other",
            &[("1", SAIL, false), ("3", KEEL, false)][..],
        );
        let second = ("second", "later side", &[("1", SAIL, true)][..]);
        check(&[begin, run, other, merge, later], &["1"]);
        check(&[begin, run, other, merge, later, side, second], &["1"]);
    }

    #[test]
    fn what_a_person_marked_is_theirs() {
        let begin = ("begin", "", &[("1", KEEL, false)][..]);
        let run = ("run", "begin", &[("1", KEEL, true)][..]);
        let other = ("other", "begin", &[("1", SAIL, false)][..]);
        let by_hand = ("by-hand", "other", &[("1", SAIL, true)][..]);
        let merge = ("merge", "by-hand run", &[("1", SAIL, true)][..]);
        check(&[begin, run, other, by_hand], &[]);
        check(&[begin, run, other, by_hand, merge], &[]);
        // A person resolves a merge of two open versions, and marks the story there.
        let merge = ("merge", "other begin", &[("1", SAIL, true)][..]);
        check(&[begin, other, merge], &[]);
        // After the merge it was opened again, and marked anew.
        let merge = ("merge", "other run", &[("1", SAIL, true)][..]);
        let opened = ("opened", "merge", &[("1", SAIL, false)][..]);
        let marked = ("marked", "opened", &[("1", SAIL, true)][..]);
        check(&[begin, run, other, merge, opened, marked], &[]);
    }

    #[test]
    fn a_mark_has_the_versions_in_which_it_was_set() {
        let marks = |passes| Rc::new(DoneMarks::parse(list(), &text(&[("1", KEEL, passes)])));
        let version = |passes, parents: &[&str]| MarkedVersion {
            marks: marks(passes),
            parents: parents.iter().map(|name| (*name).to_owned()).collect(),
        };
        let known = HashMap::from([
            ("begin", version(false, &[])),
            ("mine", version(true, &["begin"])),
            ("theirs", version(true, &["begin"])),
            ("merge", version(true, &["mine", "theirs"])),
        ]);
        let now = |parents: &[&str]| {
            let found = find_mark_origins(version(true, parents), |name| known[name].clone());
            let found = found.into_values().flatten();
            let mut names: Vec<Option<String>> = found.map(|origin| origin.version).collect();
            names.sort();
            names
        };
        assert_eq!(now(&["begin"]), [None]);
        assert_eq!(now(&["mine"]), [Some("mine".to_owned())]);
        let both = ["mine", "theirs"].map(|name| Some(name.to_owned()));
        assert_eq!(now(&["merge"]), both);
    }

    #[test]
    fn what_was_reopened_is_ready_and_holds_up_what_waits_for_it() {
        let text = r#"{"userStories": [
            {"id": "1", "title": "a", "passes": true},
            {"id": "2", "title": "b", "passes": true},
            {"id": "3", "title": "c", "dependsOn": ["1", "2"], "passes": false}
        ]}"#;
        let of = PlanContext::of_text();
        let mut plan = (list().read)(SourceText { name: "", text }, of)
            .0
            .expect("it is read");
        reopen_items(&mut plan, &HashSet::from([Node::from_text("2".to_owned())]));
        let states: Vec<ItemState> = plan.items.iter().map(|item| item.state).collect();
        let expected = [ItemState::Done, ItemState::Ready, ItemState::Pending];
        assert_eq!(states, expected);
    }
}
