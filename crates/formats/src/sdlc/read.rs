//! `state.json` as it is met: what can be read is read.

use std::collections::HashMap;

use super::SHAPE;
use super::layout::{self, Layout};
use super::state::{
    Invocation, Issue, IssueStatus, Metrics, Phase, PhaseTimes, State, Totals, derived_totals,
};
use crate::graph::cycles;
use crate::problem::{Problem, Source};
use crate::report::{Path, Report};
use crate::tolerant::{Place, Reader, span_of, whole_json};
use crate::tree::{Map, Node, Span};

const STATE_KEYS: [&str; 9] = [
    "run_id",
    "prd_url",
    "phase",
    "phase_status",
    "bootstrap",
    "artifacts",
    "issues",
    "updated_at",
    "metrics",
];

const ISSUE_KEYS: [&str; 8] = [
    "repo",
    "title",
    "status",
    "pr",
    "pr_number",
    "blocked_by",
    "review_iterations",
    "human_iterations",
];

/// Reads a `state.json`.
///
/// There is no state when the file is not JSON, or is another document. An
/// error beside a state means that something in it could not be understood: it
/// may be shown, but not be worked on. Times are not compared with each other;
/// those of real files were often invented.
pub fn read(source: Source<'_>) -> (Option<State>, Vec<Problem>) {
    let mut problems = Vec::new();
    let root = whole_json("STATE_PARSE_ERROR", source.name, source.text, &mut problems);
    let Some(root) = root else {
        return (None, problems);
    };
    let report = Report {
        file: source.name,
        problems: &mut problems,
    };
    let mut reader = Reader { report };
    let layout = layout::of_root(&root);
    let state = match (&layout, root.as_map()) {
        (Layout::Current, Some(map)) => {
            reader.report.unknown_keys(&root, &SHAPE);
            Some(read_state(&mut reader, map))
        }
        _ => {
            let words = (format!("this is {}", layout.describe()), NOT_OURS_HINT);
            reader
                .report
                .error("NOT_A_STATE_FILE", Path::ROOT, root.span, words);
            None
        }
    };
    problems.sort_by_key(|problem| problem.bytes.start);
    (state, problems)
}

const NOT_OURS_HINT: &str = "keep the file, and name the state of the run that you mean";

/// The members of a mapping that is not there.
const NOTHING: &Map = &Map { pairs: Vec::new() };

fn extra(map: &Map, known: &[&str]) -> Vec<(String, Node)> {
    map.iter()
        .filter(|(key, _)| !known.contains(&key.text.as_str()))
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
        extra: extra(map, &STATE_KEYS),
        ..State::default()
    };
    read_bootstrap(reader, top, &mut state);
    let artifacts = Place {
        map: reader.map(top, "artifacts").unwrap_or(NOTHING),
        path: path.key("artifacts"),
    };
    state.scoping_doc = reader.text(artifacts, "scoping_doc");
    state.pert = reader.text(artifacts, "pert");
    let issues = Place {
        map: reader.map(top, "issues").unwrap_or(NOTHING),
        path: path.key("issues"),
    };
    state.issues = read_issues(reader, issues);
    check_graph(reader, issues, &state.issues);
    let metrics = Place {
        map: reader.map(top, "metrics").unwrap_or(NOTHING),
        path: path.key("metrics"),
    };
    state.metrics = read_metrics(reader, metrics);
    check_totals(reader, metrics, &state);
    state
}

fn read_bootstrap(reader: &mut Reader<'_>, top: Place<'_>, state: &mut State) {
    let bootstrap = Place {
        map: reader.map(top, "bootstrap").unwrap_or(NOTHING),
        path: top.path.key("bootstrap"),
    };
    let each = |reader: &mut Reader<'_>, key: &str| -> Vec<(String, Option<String>)> {
        let place = Place {
            map: reader.map(bootstrap, key).unwrap_or(NOTHING),
            path: bootstrap.path.key(key),
        };
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
        let place = Place { map, path };
        let status = reader.get(place, "status");
        if map.get("status").is_none_or(Node::is_null) {
            let words = (
                format!("the issue `{}` has no status", key.text),
                "write one; `ready` lets it be begun",
            );
            reader
                .report
                .error("MISSING_KEY", path.key("status"), key.span, words);
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
            extra: extra(map, &ISSUE_KEYS),
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
                None => reader.report.error(
                    "MISSING_REFERENCE",
                    path,
                    span(issue),
                    (
                        format!(
                            "the issue `{}` waits for `{id}`, which is not there",
                            issue.id
                        ),
                        "name an issue of this file, or remove the reference",
                    ),
                ),
            }
        }
        let is_done = |index: &usize| issues[*index].status == Some(IssueStatus::Done);
        let resolved = known.len() == issue.blocked_by.len() && known.iter().all(is_done);
        if issue.status == Some(IssueStatus::Blocked) && resolved {
            let words = (
                format!(
                    "the issue `{}` is blocked, but nothing is left to wait for",
                    issue.id
                ),
                "piton takes it for ready; write `ready` as its status to say so",
            );
            reader
                .report
                .warning("NOT_BLOCKED", path, span(issue), words);
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
    let phases = Place {
        map: reader.map(place, "phases").unwrap_or(NOTHING),
        path: place.path.key("phases"),
    };
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
    let path = place.path.key("agent_invocations");
    for (index, node) in reader.list(place, "agent_invocations").iter().enumerate() {
        let path = path.index(index);
        let map = node.as_map().unwrap_or(NOTHING);
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
    let tokens = Place {
        map: reader.map(place, "tokens").unwrap_or(NOTHING),
        path: place.path.key("tokens"),
    };
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
    let place = Place {
        map: reader.map(metrics, "totals").unwrap_or(NOTHING),
        path: metrics.path.key("totals"),
    };
    let reviews = Place {
        map: reader.map(place, "review_iterations").unwrap_or(NOTHING),
        path: place.path.key("review_iterations"),
    };
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
    let (have, want) = (&state.metrics.totals, derived_totals(state));
    let inner = |map: &'_ Map, key: &str| map.get(key).and_then(Node::as_map).cloned();
    let (path, nothing) = (metrics.path.key("totals"), Map::default);
    let map = inner(metrics.map, "totals").unwrap_or_else(nothing);
    let reviews = inner(&map, "review_iterations").unwrap_or_else(nothing);
    let totals = Place { map: &map, path };
    let path = totals.path.key("review_iterations");
    let reviews = Place {
        map: &reviews,
        path,
    };
    let agent = (have.review_iterations_agent, want.review_iterations_agent);
    let human = (have.review_iterations_human, want.review_iterations_human);
    let mut compare = |place, key, have, want| compare(reader, place, key, (have, want));
    compare(totals, "duration_s", have.duration_s, want.duration_s);
    let counts = [
        (
            totals,
            "agent_spawns",
            (have.agent_spawns, want.agent_spawns),
        ),
        (reviews, "agent", agent),
        (reviews, "human", human),
        (
            totals,
            "issues_created",
            (have.issues_created, want.issues_created),
        ),
        (totals, "prs_created", (have.prs_created, want.prs_created)),
        (totals, "prs_merged", (have.prs_merged, want.prs_merged)),
    ];
    for (place, key, (have, want)) in counts {
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
    let words = (
        format!("`{key}` is {have}, but the file itself gives {want}"),
        "nothing need be done; the counted one is used",
    );
    let span = span_of(place.map, key);
    reader
        .report
        .warning("TOTAL_DISAGREES", place.path.key(key), span, words);
}
