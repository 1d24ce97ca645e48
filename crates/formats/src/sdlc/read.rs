//! `state.json` as it is met: what can be read is read.

use std::collections::HashMap;

use super::SHAPE;
use super::layout::{self, StateLayout};
use super::phase_item::is_reserved;
use super::shape::{ISSUE_KEYS, STATE_KEYS};
use super::state::{
    AgentInvocation, IssueStatus, Metrics, Phase, PhaseTimes, SdlcIssue, SdlcState, Totals,
    derived_totals,
};
use crate::field_reader::{FieldReader, parse_json_with, span_of_key};
use crate::graph::find_cycles;
use crate::problem::{Problem, SourceText};
use crate::report::{MapPosition, ProblemReport, ValuePath};
use crate::shape::FieldShape;
use crate::tree::{Map, MapKey, Span, ValueNode};

/// Reads a `state.json`.
///
/// There is no state when the file is not JSON, or is another document. An
/// error beside a state means that something in it could not be understood: it
/// may be shown, but not be worked on. Times are not compared with each other;
/// those of real files were often invented.
pub fn parse_state(source: SourceText<'_>) -> (Option<SdlcState>, Vec<Problem>) {
    parse_json_with("STATE_PARSE_ERROR", source, |reader, root| {
        let layout = layout::layout_of_root(root);
        if let (StateLayout::Current, Some(map)) = (&layout, root.as_map()) {
            reader.report.warn_unknown_keys(root, &SHAPE);
            return Some(read_state(reader, map));
        }
        let words = (format!("this is {}", layout.describe()), NOT_OURS_HINT);
        let report = &mut reader.report;
        report.error("NOT_A_STATE_FILE", ValuePath::ROOT, root.span, words);
        None
    })
}

const NOT_OURS_HINT: &str = "keep the file, and name the state of the run that you mean";

fn extra_pairs(map: &Map, known: &[FieldShape]) -> Vec<(String, ValueNode)> {
    let is_known = |key: &MapKey| known.iter().any(|field| field.key == key.text);
    let pairs = map.iter().filter(|(key, _)| !is_known(key));
    pairs
        .map(|(key, node)| (key.text.clone(), node.clone()))
        .collect()
}

fn read_state(reader: &mut FieldReader<'_>, map: &Map) -> SdlcState {
    let path = ValuePath::ROOT;
    let top = MapPosition { map, path };
    let mut state = SdlcState {
        run_id: reader.read_text(top, "run_id"),
        prd_url: reader.read_text(top, "prd_url"),
        phase: reader.read_value(top, "phase"),
        phase_status: reader.read_value(top, "phase_status"),
        updated_at: reader.read_text(top, "updated_at"),
        extra: extra_pairs(map, STATE_KEYS),
        ..SdlcState::default()
    };
    read_bootstrap(reader, top, &mut state);
    let artifacts = reader.read_child(&top, "artifacts");
    state.scoping_doc = reader.read_text(artifacts, "scoping_doc");
    state.pert = reader.read_text(artifacts, "pert");
    let issues = reader.read_child(&top, "issues");
    state.issues = read_issues(reader, issues);
    check_graph(reader, issues, &state.issues);
    let metrics = reader.read_child(&top, "metrics");
    state.metrics = read_metrics(reader, metrics);
    check_totals(reader, metrics, &state);
    state
}

fn read_bootstrap(reader: &mut FieldReader<'_>, top: MapPosition<'_>, state: &mut SdlcState) {
    let bootstrap = reader.read_child(&top, "bootstrap");
    let each = |reader: &mut FieldReader<'_>, key: &str| -> Vec<(String, Option<String>)> {
        let place = reader.read_child(&bootstrap, key);
        let keys = place.map.iter().map(|(key, _)| key.text.clone());
        let texts = keys.map(|key| (reader.read_text(place, &key), key));
        texts.map(|(text, key)| (key, text)).collect()
    };
    state.languages = each(reader, "languages")
        .into_iter()
        .filter_map(|(repo, language)| Some((repo, language?)))
        .collect();
    state.docs_generated = each(reader, "docs_generated");
}

fn read_issues(reader: &mut FieldReader<'_>, issues: MapPosition<'_>) -> Vec<SdlcIssue> {
    let mut out = Vec::new();
    for (key, _) in issues.map.iter() {
        // Whatever else stands there is told, and is no issue.
        let Some(map) = reader.read_map(issues, &key.text) else {
            continue;
        };
        let path = issues.path.key(&key.text);
        if is_reserved(&key.text) {
            let message = format!("an issue is called `{}`, as a phase is", key.text);
            let words = (message, "give the issue another id");
            reader.report.error("RESERVED_ID", path, key.span, words);
        }
        let place = MapPosition { map, path };
        let status = reader.read_value(place, "status");
        if map.get("status").is_none_or(ValueNode::is_null) {
            let message = format!("the issue `{}` has no status", key.text);
            let words = (message, "write one; `ready` lets it be begun");
            let path = path.key("status");
            reader.report.error("MISSING_KEY", path, key.span, words);
        }
        out.push(SdlcIssue {
            id: key.text.clone(),
            repo: reader.read_text(place, "repo"),
            title: reader.read_text(place, "title"),
            status,
            pr: reader.read_text(place, "pr"),
            pr_number: reader.read_count(place, "pr_number"),
            blocked_by: reader.read_texts(place, "blocked_by"),
            review_iterations: reader.read_count(place, "review_iterations"),
            human_iterations: reader.read_count(place, "human_iterations"),
            extra: extra_pairs(map, ISSUE_KEYS),
        });
    }
    out
}

/// Checks what issues say of each other.
fn check_graph(reader: &mut FieldReader<'_>, place: MapPosition<'_>, issues: &[SdlcIssue]) {
    let index = |(index, issue): (usize, &'_ SdlcIssue)| (issue.id.clone(), index);
    let places: HashMap<String, usize> = issues.iter().enumerate().map(index).collect();
    let spans: HashMap<&str, Span> = place
        .map
        .iter()
        .map(|(key, node)| {
            let of = node.as_map().map(|map| span_of_key(map, "blocked_by"));
            (key.text.as_str(), of.unwrap_or(key.span))
        })
        .collect();
    let span = |issue: &SdlcIssue| spans.get(issue.id.as_str()).copied().unwrap_or_default();
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
    for cycle in find_cycles(&edges) {
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

fn read_metrics(reader: &mut FieldReader<'_>, place: MapPosition<'_>) -> Metrics {
    let phases = reader.read_child(&place, "phases");
    let mut metrics = Metrics {
        started_at: reader.read_text(place, "started_at"),
        ..Metrics::default()
    };
    for (key, _) in phases.map.iter() {
        let (Some(phase), Some(map)) =
            (Phase::parse(&key.text), reader.read_map(phases, &key.text))
        else {
            continue;
        };
        let path = phases.path.key(&key.text);
        let place = MapPosition { map, path };
        let times = PhaseTimes {
            started_at: reader.read_text(place, "started_at"),
            ended_at: reader.read_text(place, "ended_at"),
            duration_s: reader.read_number(place, "duration_s"),
        };
        metrics.phases.push((phase, times));
    }
    let nothing = Map::default();
    let path = place.path.key("agent_invocations");
    for (index, node) in reader
        .read_list(place, "agent_invocations")
        .iter()
        .enumerate()
    {
        let path = path.index(index);
        let map = node.as_map().unwrap_or(&nothing);
        if node.as_map().is_none() {
            let words = (
                format!("a mapping belongs here, not {}", node.describe()),
                "write what the agent was, or remove the element",
            );
            reader.report.error("WRONG_TYPE", path, node.span, words);
        }
        let invocation = read_invocation(reader, MapPosition { map, path });
        metrics.agent_invocations.push(invocation);
    }
    metrics.totals = read_totals(reader, place);
    metrics
}

fn read_invocation(reader: &mut FieldReader<'_>, place: MapPosition<'_>) -> AgentInvocation {
    let tokens = reader.read_child(&place, "tokens");
    AgentInvocation {
        agent: reader.read_text(place, "agent"),
        model: reader.read_text(place, "model"),
        repo: reader.read_text(place, "repo"),
        issue: reader.read_text(place, "issue"),
        started_at: reader.read_text(place, "started_at"),
        duration_s: reader.read_number(place, "duration_s"),
        tokens_input: reader.read_count(tokens, "input"),
        tokens_output: reader.read_count(tokens, "output"),
    }
}

fn read_totals(reader: &mut FieldReader<'_>, metrics: MapPosition<'_>) -> Totals {
    let place = reader.read_child(&metrics, "totals");
    let reviews = reader.read_child(&place, "review_iterations");
    Totals {
        duration_s: reader.read_number(place, "duration_s"),
        agent_spawns: reader.read_count(place, "agent_spawns"),
        review_iterations_agent: reader.read_count(reviews, "agent"),
        review_iterations_human: reader.read_count(reviews, "human"),
        issues_created: reader.read_count(place, "issues_created"),
        prs_created: reader.read_count(place, "prs_created"),
        prs_merged: reader.read_count(place, "prs_merged"),
    }
}

/// Warns of totals that are not what can be counted.
fn check_totals(reader: &mut FieldReader<'_>, metrics: MapPosition<'_>, state: &SdlcState) {
    // What is wrong with them was told when they were read.
    let mut quiet = Vec::new();
    let report = ProblemReport {
        file: "",
        problems: &mut quiet,
    };
    let mut unheard = FieldReader { report };
    let (have, want) = (&state.metrics.totals, derived_totals(state));
    let totals = unheard.read_child(&metrics, "totals");
    let reviews = unheard.read_child(&totals, "review_iterations");
    let mut compare = |place, key, have, want| compare_total(reader, place, key, have, want);
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
        compare(place, key, have.map(to_f64), want.map(to_f64));
    }
}

/// Exact up to more agents than any run starts.
#[expect(clippy::cast_precision_loss, reason = "only compared and shown")]
fn to_f64(count: u64) -> f64 {
    count as f64
}

fn compare_total(
    reader: &mut FieldReader<'_>,
    place: MapPosition<'_>,
    key: &str,
    have: Option<f64>,
    want: Option<f64>,
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
    reader.report_warning("TOTAL_DISAGREES", place, key, message, hint);
}
