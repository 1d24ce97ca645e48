//! A state put over the document that it was read from.

use super::state::{Invocation, Issue, PhaseTimes, State, Totals};
use crate::record::{self, Optional, Written};
use crate::tolerant::texts_of;
use crate::tree::{Key, Map, Node, Value};

/// The document that says `state`, with everything of `original` that a state
/// has no word for: unknown keys, values that could not be read, and whether
/// nothing is written as `null` or not at all.
///
/// Handed to [`crate::json::patch`] it changes a file in place. Without an
/// `original` every key of the format is there.
pub fn to_tree(state: &State, original: Option<&Node>) -> Node {
    let mut top = Overlay::new(original);
    top.value("run_id", &state.run_id);
    top.value("prd_url", &state.prd_url);
    top.value("phase", &state.phase);
    top.value("phase_status", &state.phase_status);
    top.child("bootstrap", |bootstrap| {
        bootstrap.child("languages", |languages| {
            for (repo, language) in &state.languages {
                languages.value(repo, &Some(language.clone()));
            }
        });
        bootstrap.child("docs_generated", |docs| {
            for (repo, pr) in &state.docs_generated {
                docs.value(repo, pr);
            }
        });
    });
    top.child("artifacts", |artifacts| {
        artifacts.value("scoping_doc", &state.scoping_doc);
        artifacts.value("pert", &state.pert);
    });
    top.child("issues", |issues| {
        issues.only(|key| state.issues.iter().any(|issue| issue.id == key));
        for issue in &state.issues {
            issues.child(&issue.id, |place| put_issue(place, issue));
        }
    });
    top.value("updated_at", &state.updated_at);
    top.child("metrics", |metrics| put_metrics(metrics, state));
    top.extra(&state.extra);
    top.finish()
}

fn put_issue(place: &mut Overlay, issue: &Issue) {
    place.value("repo", &issue.repo);
    place.value("title", &issue.title);
    place.value("status", &issue.status);
    place.value("pr", &issue.pr);
    place.value("pr_number", &issue.pr_number);
    place.texts("blocked_by", &issue.blocked_by);
    place.value("review_iterations", &issue.review_iterations);
    place.value("human_iterations", &issue.human_iterations);
    place.extra(&issue.extra);
}

fn put_metrics(metrics: &mut Overlay, state: &State) {
    let from = &state.metrics;
    metrics.value("started_at", &from.started_at);
    metrics.child("phases", |phases| {
        for (phase, times) in &from.phases {
            phases.child(phase.as_str(), |place| put_times(place, times));
        }
    });
    metrics.list("agent_invocations", &from.agent_invocations, put_invocation);
    metrics.child("totals", |totals| put_totals(totals, &from.totals));
}

fn put_times(place: &mut Overlay, times: &PhaseTimes) {
    place.value("started_at", &times.started_at);
    place.value("ended_at", &times.ended_at);
    place.value("duration_s", &times.duration_s);
}

fn put_invocation(place: &mut Overlay, from: &Invocation) {
    place.value("agent", &from.agent);
    place.value("model", &from.model);
    place.value("repo", &from.repo);
    place.value("issue", &from.issue);
    place.value("started_at", &from.started_at);
    place.value("duration_s", &from.duration_s);
    place.child("tokens", |tokens| {
        tokens.value("input", &from.tokens_input);
        tokens.value("output", &from.tokens_output);
    });
}

fn put_totals(totals: &mut Overlay, from: &Totals) {
    totals.value("duration_s", &from.duration_s);
    totals.value("agent_spawns", &from.agent_spawns);
    totals.child("review_iterations", |reviews| {
        reviews.value("agent", &from.review_iterations_agent);
        reviews.value("human", &from.review_iterations_human);
    });
    totals.value("issues_created", &from.issues_created);
    totals.value("prs_created", &from.prs_created);
    totals.value("prs_merged", &from.prs_merged);
}

/// A mapping that is being changed.
struct Overlay {
    pairs: Vec<(Key, Node)>,
    /// Whether there was a document at all; without one nothing is left out.
    has_original: bool,
    /// What stood here instead of a mapping.
    other: Option<Node>,
    touched: bool,
}

impl Overlay {
    fn new(original: Option<&Node>) -> Self {
        let pairs = original.and_then(Node::as_map).map(|map| map.pairs.clone());
        Self {
            other: original.filter(|_| pairs.is_none()).cloned(),
            pairs: pairs.unwrap_or_default(),
            has_original: original.is_some(),
            touched: false,
        }
    }

    fn finish(self) -> Node {
        match self.other {
            // Nothing was said that would need a mapping.
            Some(other) if !self.touched => other,
            Some(_) | None => Node::of_map(Map { pairs: self.pairs }),
        }
    }

    fn get(&self, key: &str) -> Option<&Node> {
        let mut pairs = self.pairs.iter();
        pairs
            .find(|(have, _)| have.text == key)
            .map(|(_, node)| node)
    }

    fn set(&mut self, key: &str, node: Node) {
        self.touched = true;
        match self.pairs.iter_mut().find(|(have, _)| have.text == key) {
            Some((_, have)) => *have = node,
            None => self.pairs.push((Key::new(key), node)),
        }
    }

    /// Sets what differs from what is there, as it would be read.
    fn value<T: Optional + PartialEq>(&mut self, key: &str, value: &Option<T>) {
        let have = self.get(key).filter(|node| !node.is_null());
        let have = have.and_then(record::read_alone);
        let written = value.as_ref().map(Optional::written);
        let is_number = |written: &Written<'_>| !matches!(written, Written::Number(value) if !value.is_finite());
        match written.filter(is_number) {
            Some(_) if have == *value => {}
            Some(written) => self.set(key, written.in_place_of(None)),
            None if have.is_some() => self.set(key, Node::plain("null")),
            // Absent, null or unreadable, it stays so.
            None if self.has_original => {}
            None => self.set(key, Node::plain("null")),
        }
    }

    fn texts(&mut self, key: &str, values: &[String]) {
        let have = self.get(key).map(texts_of);
        // Nothing at all and an empty list are read alike.
        let same = have.unwrap_or_default() == values && self.has_original;
        if !same {
            self.set(key, Node::texts(values));
        }
    }

    fn child(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        let mut child = Self::new(self.get(key));
        // Of what is new nothing is left out, though the document is there.
        child.has_original = self.has_original && self.get(key).is_some();
        let was_there = self.get(key).is_some();
        let before = child.pairs.len();
        fill(&mut child);
        let says_something = child
            .pairs
            .iter()
            .skip(before)
            .any(|(_, node)| !is_nothing(node));
        if was_there || !self.has_original || says_something {
            self.touched |= child.touched;
            let node = child.finish();
            match self.pairs.iter_mut().find(|(have, _)| have.text == key) {
                Some((_, have)) => *have = node,
                None => self.set(key, node),
            }
        }
    }

    fn list<T>(&mut self, key: &str, items: &[T], put: fn(&mut Self, &T)) {
        let had = self.get(key).and_then(Node::as_seq).map(<[Node]>::to_vec);
        let had = had.unwrap_or_default();
        if items.is_empty() && had.is_empty() && self.has_original {
            return;
        }
        let made = items.iter().enumerate().map(|(index, item)| {
            let mut overlay = Self::new(had.get(index));
            put(&mut overlay, item);
            overlay.finish()
        });
        let made = Node::seq(made.collect());
        self.set(key, made);
    }

    /// Drops what `keep` does not name.
    fn only(&mut self, keep: impl Fn(&str) -> bool) {
        self.pairs
            .retain(|(key, node)| node.as_map().is_none() || keep(&key.text));
    }

    fn extra(&mut self, pairs: &[(String, Node)]) {
        for (key, node) in pairs {
            if self.get(key) != Some(node) {
                self.set(key, node.clone());
            }
        }
    }
}

/// Whether a value says nothing that its absence would not say.
fn is_nothing(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => node.is_null(),
        Value::Seq(items) => items.is_empty(),
        Value::Map(map) => map.iter().all(|(_, node)| is_nothing(node)),
    }
}
