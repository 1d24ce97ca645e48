//! A state put over the document that it was read from.

use super::state::{Invocation, Issue, IssueStatus, Phase, PhaseStatus, PhaseTimes, State, Totals};
use crate::tolerant::{count, texts_of};
use crate::tree::{Key, Map, Node, Value};

/// The document that says `state`, with everything of `original` that a state
/// has no word for: unknown keys, values that could not be read, and whether
/// nothing is written as `null` or not at all.
///
/// Handed to [`crate::json::patch`] it changes a file in place. Without an
/// `original` every key of the format is there.
pub fn to_tree(state: &State, original: Option<&Node>) -> Node {
    let mut top = Overlay::new(original);
    top.text("run_id", state.run_id.as_deref());
    top.text("prd_url", state.prd_url.as_deref());
    top.word("phase", state.phase, Phase::parse, Phase::as_str);
    top.word(
        "phase_status",
        state.phase_status,
        PhaseStatus::parse,
        PhaseStatus::as_str,
    );
    top.child("bootstrap", |bootstrap| {
        bootstrap.child("languages", |languages| {
            for (repo, language) in &state.languages {
                languages.text(repo, Some(language));
            }
        });
        bootstrap.child("docs_generated", |docs| {
            for (repo, pr) in &state.docs_generated {
                docs.text(repo, pr.as_deref());
            }
        });
    });
    top.child("artifacts", |artifacts| {
        artifacts.text("scoping_doc", state.scoping_doc.as_deref());
        artifacts.text("pert", state.pert.as_deref());
    });
    top.child("issues", |issues| {
        issues.only(|key| state.issues.iter().any(|issue| issue.id == key));
        for issue in &state.issues {
            issues.child(&issue.id, |place| put_issue(place, issue));
        }
    });
    top.text("updated_at", state.updated_at.as_deref());
    top.child("metrics", |metrics| put_metrics(metrics, state));
    top.extra(&state.extra);
    top.finish()
}

fn put_issue(place: &mut Overlay, issue: &Issue) {
    place.text("repo", issue.repo.as_deref());
    place.text("title", issue.title.as_deref());
    place.word(
        "status",
        issue.status,
        IssueStatus::parse,
        IssueStatus::as_str,
    );
    place.text("pr", issue.pr.as_deref());
    place.count("pr_number", issue.pr_number);
    place.texts("blocked_by", &issue.blocked_by);
    place.count("review_iterations", issue.review_iterations);
    place.count("human_iterations", issue.human_iterations);
    place.extra(&issue.extra);
}

fn put_metrics(metrics: &mut Overlay, state: &State) {
    let from = &state.metrics;
    metrics.text("started_at", from.started_at.as_deref());
    metrics.child("phases", |phases| {
        for (phase, times) in &from.phases {
            phases.child(phase.as_str(), |place| put_times(place, times));
        }
    });
    metrics.list("agent_invocations", &from.agent_invocations, put_invocation);
    metrics.child("totals", |totals| put_totals(totals, &from.totals));
}

fn put_times(place: &mut Overlay, times: &PhaseTimes) {
    place.text("started_at", times.started_at.as_deref());
    place.text("ended_at", times.ended_at.as_deref());
    place.number("duration_s", times.duration_s);
}

fn put_invocation(place: &mut Overlay, from: &Invocation) {
    place.text("agent", from.agent.as_deref());
    place.text("model", from.model.as_deref());
    place.text("repo", from.repo.as_deref());
    place.text("issue", from.issue.as_deref());
    place.text("started_at", from.started_at.as_deref());
    place.number("duration_s", from.duration_s);
    place.child("tokens", |tokens| {
        tokens.count("input", from.tokens_input);
        tokens.count("output", from.tokens_output);
    });
}

fn put_totals(totals: &mut Overlay, from: &Totals) {
    totals.number("duration_s", from.duration_s);
    totals.count("agent_spawns", from.agent_spawns);
    totals.child("review_iterations", |reviews| {
        reviews.count("agent", from.review_iterations_agent);
        reviews.count("human", from.review_iterations_human);
    });
    totals.count("issues_created", from.issues_created);
    totals.count("prs_created", from.prs_created);
    totals.count("prs_merged", from.prs_merged);
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
            Some(_) | None => Node {
                value: Value::Map(Map { pairs: self.pairs }),
                span: crate::tree::Span::default(),
            },
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
    fn put<T: PartialEq>(
        &mut self,
        key: &str,
        value: Option<T>,
        read: impl Fn(&Node) -> Option<T>,
        write: impl Fn(&T) -> Node,
    ) {
        let have = self.get(key).filter(|node| !node.is_null()).and_then(read);
        match value {
            Some(value) if have.as_ref() == Some(&value) => {}
            Some(value) => self.set(key, write(&value)),
            None if have.is_some() => self.set(key, Node::plain("null")),
            // Absent, null or unreadable, it stays so.
            None if self.has_original => {}
            None => self.set(key, Node::plain("null")),
        }
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        let read = |node: &Node| node.text().map(str::to_owned);
        self.put(key, value, read, |text| Node::string(text));
    }

    fn word<T: PartialEq + Copy>(
        &mut self,
        key: &str,
        value: Option<T>,
        parse: fn(&str) -> Option<T>,
        word: fn(T) -> &'static str,
    ) {
        let read = |node: &Node| node.as_str().and_then(parse);
        self.put(key, value, read, |value| Node::string(word(*value)));
    }

    fn count(&mut self, key: &str, value: Option<u64>) {
        self.put(key, value, count, |count| Node::plain(count.to_string()));
    }

    fn number(&mut self, key: &str, value: Option<f64>) {
        let value = value.filter(|value| value.is_finite());
        let write = |number: &f64| Node::plain(number.to_string());
        let read = |node: &Node| node.as_f64().filter(|value| value.is_finite());
        self.put(key, value, read, write);
    }

    fn texts(&mut self, key: &str, values: &[String]) {
        let have = self.get(key).map(texts_of);
        // Nothing at all and an empty list are read alike.
        let same = have.unwrap_or_default() == values && self.has_original;
        if !same {
            self.set(key, Node::seq(values.iter().map(Node::string).collect()));
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
