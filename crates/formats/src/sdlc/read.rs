//! `state.json` as it is met: what can be read is read.

use std::collections::HashMap;

use super::SHAPE;
use super::layout::{self, Layout};
use super::shape::{ISSUE_KEYS, STATE_KEYS};
use super::state::{
    Invocation, Issue, IssueStatus, Metrics, Phase, PhaseTimes, State, Totals, derived_totals,
};
use super::tasks::is_reserved;
use crate::graph::cycles;
use crate::problem::{Problem, Source};
use crate::report::{Path, Report};
use crate::shape::Field;
use crate::tolerant::{Place, Reader, read_json, span_of};
use crate::tree::{Key, Map, Node, Span};

/// Reads a `state.json`.
///
/// There is no state when the file is not JSON, or is another document. An
/// error beside a state means that something in it could not be understood: it
/// may be shown, but not be worked on. Times are not compared with each other;
/// those of real files were often invented.
pub fn read(source: Source<'_>) -> (Option<State>, Vec<Problem>) {
    read_json("STATE_PARSE_ERROR", source, |reader, root| {
        let layout = layout::of_root(root);
        if let (Layout::Current, Some(map)) = (&layout, root.as_map()) {
            reader.report.unknown_keys(root, &SHAPE);
            return Some(read_state(reader, map));
        }
        let words = (format!("this is {}", layout.describe()), NOT_OURS_HINT);
        let report = &mut reader.report;
        report.error("NOT_A_STATE_FILE", Path::ROOT, root.span, words);
        None
    })
}

const NOT_OURS_HINT: &str = "keep the file, and name the state of the run that you mean";

fn extra(map: &Map, known: &[Field]) -> Vec<(String, Node)> {
    let is_known = |key: &Key| known.iter().any(|field| field.key == key.text);
    let pairs = map.iter().filter(|(key, _)| !is_known(key));
    pairs
        .map(|(key, node)| (key.text.clone(), node.clone()))
        .collect()
}

fn read_state(reader: &mut Reader<'_>, map: &Map) -> State {
    let path = Path::ROOT;
    let top = Place { map, path };
    let mut state = State {
        run_id: reader.text(top, "run_id"),
        prd_url: reader.text(top, "prd_url"),
        phase: reader.get(top, "phase"),
        phase_status: reader.get(top, "phase_status"),
        updated_at: reader.text(top, "updated_at"),
        extra: extra(map, STATE_KEYS),
        ..State::default()
    };
    read_bootstrap(reader, top, &mut state);
    let artifacts = reader.child(&top, "artifacts");
    state.scoping_doc = reader.text(artifacts, "scoping_doc");
    state.pert = reader.text(artifacts, "pert");
    let issues = reader.child(&top, "issues");
    state.issues = read_issues(reader, issues);
    check_graph(reader, issues, &state.issues);
    let metrics = reader.child(&top, "metrics");
    state.metrics = read_metrics(reader, metrics);
    check_totals(reader, metrics, &state);
    state
}

fn read_bootstrap(reader: &mut Reader<'_>, top: Place<'_>, state: &mut State) {
    let bootstrap = reader.child(&top, "bootstrap");
    let each = |reader: &mut Reader<'_>, key: &str| -> Vec<(String, Option<String>)> {
        let place = reader.child(&bootstrap, key);
        let keys = place.map.iter().map(|(key, _)| key.text.clone());
        let texts = keys.map(|key| (reader.text(place, &key), key));
        texts.map(|(text, key)| (key, text)).collect()
    };
    state.languages = each(reader, "languages")
        .into_iter()
        .filter_map(|(repo, language)| Some((repo, language?)))
        .collect();
    state.docs_generated = each(reader, "docs_generated");
}

fn read_issues(reader: &mut Reader<'_>, issues: Place<'_>) -> Vec<Issue> {
    let mut out = Vec::new();
    for (key, _) in issues.map.iter() {
        // Whatever else stands there is told, and is no issue.
        let Some(map) = reader.map(issues, &key.text) else {
            continue;
        };
        let path = issues.path.key(&key.text);
        if is_reserved(&key.text) {
            let message = format!("an issue is called `{}`, as a phase is", key.text);
            let words = (message, "give the issue another id");
            reader.report.error("RESERVED_ID", path, key.span, words);
        }
        let place = Place { map, path };
        let status = reader.get(place, "status");
        if map.get("status").is_none_or(Node::is_null) {
            let message = format!("the issue `{}` has no status", key.text);
            let words = (message, "write one; `ready` lets it be begun");
            let path = path.key("status");
            reader.report.error("MISSING_KEY", path, key.span, words);
        }
        out.push(Issue {
            id: key.text.clone(),
            repo: reader.text(place, "repo"),
            title: reader.text(place, "title"),
            status,
            pr: reader.text(place, "pr"),
            pr_number: reader.count(place, "pr_number"),
            blocked_by: reader.texts(place, "blocked_by"),
            review_iterations: reader.count(place, "review_iterations"),
            human_iterations: reader.count(place, "human_iterations"),
            extra: extra(map, ISSUE_KEYS),
        });
    }
    out
}

/// Checks what issues say of each other.
fn check_graph(reader: &mut Reader<'_>, place: Place<'_>, issues: &[Issue]) {
    let index = |(index, issue): (usize, &'_ Issue)| (issue.id.clone(), index);
    let places: HashMap<String, usize> = issues.iter().enumerate().map(index).collect();
    let spans: HashMap<&str, Span> = place
        .map
        .iter()
        .map(|(key, node)| {
            let of = node.as_map().map(|map| span_of(map, "blocked_by"));
            (key.text.as_str(), of.unwrap_or(key.span))
        })
        .collect();
    let span = |issue: &Issue| spans.get(issue.id.as_str()).copied().unwrap_or_default();
    let mut edges = Vec::new();
    for issue in issues {
        let path = place.path.key(&issue.id);
        let path = path.key("blocked_by");
        let mut known = Vec::new();
        for id in &issue.blocked_by {
            match places.get(id) {
                Some(index) => known.push(*index),
                None => {
                    let name = &issue.id;
                    let message =
                        format!("the issue `{name}` waits for `{id}`, which is not there");
                    let words = (
                        message,
                        "name an issue of this file, or remove the reference",
                    );
                    reader
                        .report
                        .error("MISSING_REFERENCE", path, span(issue), words);
                }
            }
        }
        let is_done = |index: &usize| issues[*index].status == Some(IssueStatus::Done);
        let resolved = known.len() == issue.blocked_by.len() && known.iter().all(is_done);
        if issue.status == Some(IssueStatus::Blocked) && resolved {
            let name = &issue.id;
            let message = format!("the issue `{name}` is blocked, but nothing is left to wait for");
            let hint = "piton takes it for ready; write `ready` as its status to say so";
            reader
                .report
                .warning("NOT_BLOCKED", path, span(issue), (message, hint));
        }
        edges.push(known);
    }
    for cycle in cycles(&edges) {
        let Some(first) = cycle.first().map(|index| &issues[*index]) else {
            continue;
        };
        let ids = cycle.iter().chain(cycle.first());
        let names: Vec<String> = ids
            .map(|index| format!("`{}`", issues[*index].id))
            .collect();
        let path = place.path.key(&first.id);
        let words = (
            format!("issues wait for each other: {}", names.join(" for ")),
            "remove one of the references",
        );
        reader
            .report
            .error("CYCLE_DETECTED", path.key("blocked_by"), span(first), words);
    }
}

fn read_metrics(reader: &mut Reader<'_>, place: Place<'_>) -> Metrics {
    let phases = reader.child(&place, "phases");
    let mut metrics = Metrics {
        started_at: reader.text(place, "started_at"),
        ..Metrics::default()
    };
    for (key, _) in phases.map.iter() {
        let (Some(phase), Some(map)) = (Phase::parse(&key.text), reader.map(phases, &key.text))
        else {
            continue;
        };
        let path = phases.path.key(&key.text);
        let place = Place { map, path };
        let times = PhaseTimes {
            started_at: reader.text(place, "started_at"),
            ended_at: reader.text(place, "ended_at"),
            duration_s: reader.number(place, "duration_s"),
        };
        metrics.phases.push((phase, times));
    }
    let nothing = Map::default();
    let path = place.path.key("agent_invocations");
    for (index, node) in reader.list(place, "agent_invocations").iter().enumerate() {
        let path = path.index(index);
        let map = node.as_map().unwrap_or(&nothing);
        if node.as_map().is_none() {
            let words = (
                format!("a mapping belongs here, not {}", node.describe()),
                "write what the agent was, or remove the element",
            );
            reader.report.error("WRONG_TYPE", path, node.span, words);
        }
        let invocation = read_invocation(reader, Place { map, path });
        metrics.agent_invocations.push(invocation);
    }
    metrics.totals = read_totals(reader, place);
    metrics
}

fn read_invocation(reader: &mut Reader<'_>, place: Place<'_>) -> Invocation {
    let tokens = reader.child(&place, "tokens");
    Invocation {
        agent: reader.text(place, "agent"),
        model: reader.text(place, "model"),
        repo: reader.text(place, "repo"),
        issue: reader.text(place, "issue"),
        started_at: reader.text(place, "started_at"),
        duration_s: reader.number(place, "duration_s"),
        tokens_input: reader.count(tokens, "input"),
        tokens_output: reader.count(tokens, "output"),
    }
}

fn read_totals(reader: &mut Reader<'_>, metrics: Place<'_>) -> Totals {
    let place = reader.child(&metrics, "totals");
    let reviews = reader.child(&place, "review_iterations");
    Totals {
        duration_s: reader.number(place, "duration_s"),
        agent_spawns: reader.count(place, "agent_spawns"),
        review_iterations_agent: reader.count(reviews, "agent"),
        review_iterations_human: reader.count(reviews, "human"),
        issues_created: reader.count(place, "issues_created"),
        prs_created: reader.count(place, "prs_created"),
        prs_merged: reader.count(place, "prs_merged"),
    }
}

/// Warns of totals that are not what can be counted.
fn check_totals(reader: &mut Reader<'_>, metrics: Place<'_>, state: &State) {
    // What is wrong with them was told when they were read.
    let mut quiet = Vec::new();
    let report = Report {
        file: "",
        problems: &mut quiet,
    };
    let mut unheard = Reader { report };
    let (have, want) = (&state.metrics.totals, derived_totals(state));
    let totals = unheard.child(&metrics, "totals");
    let reviews = unheard.child(&totals, "review_iterations");
    let mut compare = |place, key, have, want| compare(reader, place, key, (have, want));
    compare(totals, "duration_s", have.duration_s, want.duration_s);
    let counts = |totals: &Totals| {
        [
            totals.agent_spawns,
            totals.review_iterations_agent,
            totals.review_iterations_human,
            totals.issues_created,
            totals.prs_created,
            totals.prs_merged,
        ]
    };
    let keys = [
        (totals, "agent_spawns"),
        (reviews, "agent"),
        (reviews, "human"),
        (totals, "issues_created"),
        (totals, "prs_created"),
        (totals, "prs_merged"),
    ];
    let counts = counts(have).into_iter().zip(counts(&want));
    for ((place, key), (have, want)) in keys.into_iter().zip(counts) {
        compare(place, key, have.map(approximate), want.map(approximate));
    }
}

/// Exact up to a number of agents that nobody starts.
#[expect(clippy::cast_precision_loss, reason = "only compared and shown")]
fn approximate(count: u64) -> f64 {
    count as f64
}

fn compare(
    reader: &mut Reader<'_>,
    place: Place<'_>,
    key: &str,
    (have, want): (Option<f64>, Option<f64>),
) {
    let (Some(have), Some(want)) = (have, want) else {
        return;
    };
    // Sums of fractions differ in their last digits with the order.
    if (have - want).abs() < 0.001 {
        return;
    }
    let message = format!("`{key}` is {have}, but the file itself gives {want}");
    let hint = "nothing need be done; the counted one is used";
    reader.warning("TOTAL_DISAGREES", (place, key), message, hint);
}
