//! A state put over the document that it was read from.

use super::state::{AgentInvocation, PhaseTimes, SdlcIssue, SdlcState, Totals};
use crate::field_reader::texts_of_node;
use crate::record::{self, OptionalValue, WrittenValue};
use crate::tree::{Map, MapKey, Value, ValueNode};

/// The document that says `state`, with everything of `original` that a state
/// has no word for: unknown keys, values that could not be read, and whether
/// nothing is written as `null` or not at all.
///
/// Handed to [`crate::json::patch`] it changes a file in place. Without an
/// `original` every key of the format is there.
pub fn to_tree(state: &SdlcState, original: Option<&ValueNode>) -> ValueNode {
    let mut top = Overlay::new(original);
    top.set_value("run_id", &state.run_id);
    top.set_value("prd_url", &state.prd_url);
    top.set_value("phase", &state.phase);
    top.set_value("phase_status", &state.phase_status);
    top.set_child("bootstrap", |bootstrap| {
        bootstrap.set_child("languages", |languages| {
            for (repo, language) in &state.languages {
                languages.set_value(repo, &Some(language.clone()));
            }
        });
        bootstrap.set_child("docs_generated", |docs| {
            for (repo, pr) in &state.docs_generated {
                docs.set_value(repo, pr);
            }
        });
    });
    top.set_child("artifacts", |artifacts| {
        artifacts.set_value("scoping_doc", &state.scoping_doc);
        artifacts.set_value("pert", &state.pert);
    });
    top.set_child("issues", |issues| {
        issues.retain_keys(|key| state.issues.iter().any(|issue| issue.id == key));
        for issue in &state.issues {
            issues.set_child(&issue.id, |place| write_issue(place, issue));
        }
    });
    top.set_value("updated_at", &state.updated_at);
    top.set_child("metrics", |metrics| write_metrics(metrics, state));
    top.set_extra(&state.extra);
    top.finish()
}

fn write_issue(place: &mut Overlay, issue: &SdlcIssue) {
    place.set_value("repo", &issue.repo);
    place.set_value("title", &issue.title);
    place.set_value("status", &issue.status);
    place.set_value("pr", &issue.pr);
    place.set_value("pr_number", &issue.pr_number);
    place.set_texts("blocked_by", &issue.blocked_by);
    place.set_value("review_iterations", &issue.review_iterations);
    place.set_value("human_iterations", &issue.human_iterations);
    place.set_extra(&issue.extra);
}

fn write_metrics(metrics: &mut Overlay, state: &SdlcState) {
    let from = &state.metrics;
    metrics.set_value("started_at", &from.started_at);
    metrics.set_child("phases", |phases| {
        for (phase, times) in &from.phases {
            phases.set_child(phase.as_str(), |place| write_times(place, times));
        }
    });
    metrics.set_list(
        "agent_invocations",
        &from.agent_invocations,
        write_invocation,
    );
    metrics.set_child("totals", |totals| write_totals(totals, &from.totals));
}

fn write_times(place: &mut Overlay, times: &PhaseTimes) {
    place.set_value("started_at", &times.started_at);
    place.set_value("ended_at", &times.ended_at);
    place.set_value("duration_s", &times.duration_s);
}

fn write_invocation(place: &mut Overlay, from: &AgentInvocation) {
    place.set_value("agent", &from.agent);
    place.set_value("model", &from.model);
    place.set_value("repo", &from.repo);
    place.set_value("issue", &from.issue);
    place.set_value("started_at", &from.started_at);
    place.set_value("duration_s", &from.duration_s);
    place.set_child("tokens", |tokens| {
        tokens.set_value("input", &from.tokens_input);
        tokens.set_value("output", &from.tokens_output);
    });
}

fn write_totals(totals: &mut Overlay, from: &Totals) {
    totals.set_value("duration_s", &from.duration_s);
    totals.set_value("agent_spawns", &from.agent_spawns);
    totals.set_child("review_iterations", |reviews| {
        reviews.set_value("agent", &from.review_iterations_agent);
        reviews.set_value("human", &from.review_iterations_human);
    });
    totals.set_value("issues_created", &from.issues_created);
    totals.set_value("prs_created", &from.prs_created);
    totals.set_value("prs_merged", &from.prs_merged);
}

/// A mapping that is being changed.
struct Overlay {
    pairs: Vec<(MapKey, ValueNode)>,
    /// Whether there was a document at all; without one nothing is left out.
    has_original: bool,
    /// What stood here instead of a mapping.
    other: Option<ValueNode>,
    touched: bool,
}

impl Overlay {
    fn new(original: Option<&ValueNode>) -> Self {
        let pairs = original
            .and_then(ValueNode::as_map)
            .map(|map| map.pairs.clone());
        Self {
            other: original.filter(|_| pairs.is_none()).cloned(),
            pairs: pairs.unwrap_or_default(),
            has_original: original.is_some(),
            touched: false,
        }
    }

    fn finish(self) -> ValueNode {
        match self.other {
            // Nothing was said that would need a mapping.
            Some(other) if !self.touched => other,
            Some(_) | None => ValueNode::from_map(Map { pairs: self.pairs }),
        }
    }

    fn get(&self, key: &str) -> Option<&ValueNode> {
        let mut pairs = self.pairs.iter();
        pairs
            .find(|(have, _)| have.text == key)
            .map(|(_, node)| node)
    }

    fn set(&mut self, key: &str, node: ValueNode) {
        self.touched = true;
        match self.pairs.iter_mut().find(|(have, _)| have.text == key) {
            Some((_, have)) => *have = node,
            None => self.pairs.push((MapKey::new(key), node)),
        }
    }

    /// Sets what differs from what is there, as it would be read.
    fn set_value<T: OptionalValue + PartialEq>(&mut self, key: &str, value: &Option<T>) {
        let have = self.get(key).filter(|node| !node.is_null());
        let have = have.and_then(record::read_without_problems);
        let written = value.as_ref().map(OptionalValue::to_written);
        let is_number = |written: &WrittenValue<'_>| !matches!(written, WrittenValue::Number(value) if !value.is_finite());
        match written.filter(is_number) {
            Some(_) if have == *value => {}
            Some(written) => self.set(key, written.to_node_reusing(None)),
            None if have.is_some() => self.set(key, ValueNode::plain("null")),
            // Absent, null or unreadable, it stays so.
            None if self.has_original => {}
            None => self.set(key, ValueNode::plain("null")),
        }
    }

    fn set_texts(&mut self, key: &str, values: &[String]) {
        let have = self.get(key).map(texts_of_node);
        // Nothing at all and an empty list are read alike.
        let same = have.unwrap_or_default() == values && self.has_original;
        if !same {
            self.set(key, ValueNode::seq_of_texts(values));
        }
    }

    fn set_child(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
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
            .any(|(_, node)| !is_empty_value(node));
        if was_there || !self.has_original || says_something {
            self.touched |= child.touched;
            let node = child.finish();
            match self.pairs.iter_mut().find(|(have, _)| have.text == key) {
                Some((_, have)) => *have = node,
                None => self.set(key, node),
            }
        }
    }

    fn set_list<T>(&mut self, key: &str, items: &[T], put: fn(&mut Self, &T)) {
        let had = self
            .get(key)
            .and_then(ValueNode::as_seq)
            .map(<[ValueNode]>::to_vec);
        let had = had.unwrap_or_default();
        if items.is_empty() && had.is_empty() && self.has_original {
            return;
        }
        let made = items.iter().enumerate().map(|(index, item)| {
            let mut overlay = Self::new(had.get(index));
            put(&mut overlay, item);
            overlay.finish()
        });
        let made = ValueNode::seq(made.collect());
        self.set(key, made);
    }

    /// Drops what `keep` does not name.
    fn retain_keys(&mut self, keep: impl Fn(&str) -> bool) {
        self.pairs
            .retain(|(key, node)| node.as_map().is_none() || keep(&key.text));
    }

    fn set_extra(&mut self, pairs: &[(String, ValueNode)]) {
        for (key, node) in pairs {
            if self.get(key) != Some(node) {
                self.set(key, node.clone());
            }
        }
    }
}

/// Whether a value says nothing that its absence would not say.
fn is_empty_value(node: &ValueNode) -> bool {
    match &node.value {
        Value::Scalar(_) => node.is_null(),
        Value::Seq(items) => items.is_empty(),
        Value::Map(map) => map.iter().all(|(_, node)| is_empty_value(node)),
    }
}
