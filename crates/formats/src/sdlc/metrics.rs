//! What agents took: `metrics.agent_invocations` of the state, and `metrics.jsonl`, with
//! a record for each agent that ended.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use piton_core::attempt::AttemptRow;
use piton_core::{ItemRow, RunId, Tables};
use serde_json::json;

use super::native::issue_of_item;
use super::phase_item::phase_of_item;
use super::phases::format_time;
use super::roles::role_for_attempt;
use super::state::{AgentInvocation, SdlcState};
use crate::json;
use crate::record::count_of_node;
use crate::tree::ValueNode;

/// The name of the list beside the state.
pub(super) const NAME: &str = "metrics.jsonl";

/// The attempts of agents that are over, in the order in which they began.
fn ended_attempts(tables: &Tables, run: RunId) -> Vec<(&AttemptRow, &ItemRow)> {
    let attempts = tables.attempts().filter(|row| row.run == run);
    let ended = attempts.filter(|row| row.ended_at.is_some());
    let at = ended.filter_map(|row| Some((row, tables.item(run, &row.node)?)));
    // What piton does itself is the work of no agent.
    let by_agents = at.filter(|(row, item)| role_for_attempt(item, row.role).is_some());
    let mut ended: Vec<_> = by_agents.collect();
    ended.sort_by_key(|(row, _)| (row.started_at, row.id));
    ended
}

/// How many records a run has.
pub(super) fn record_count(tables: &Tables, run: RunId) -> usize {
    ended_attempts(tables, run).len()
}

fn invocation_of_attempt(row: &AttemptRow, item: &ItemRow) -> AgentInvocation {
    let issue = phase_of_item(item).is_none().then(|| issue_of_item(item));
    let took = row.ended_at.unwrap_or(row.started_at);
    let took = took.as_second() - row.started_at.as_second();
    let usage = row.report.as_ref().map(|report| &report.program.usage);
    AgentInvocation {
        agent: role_for_attempt(item, row.role).map(|role| role.name.to_owned()),
        model: Some(row.model.clone().unwrap_or_else(|| "unknown".to_owned())),
        repo: issue.as_ref().and_then(|issue| issue.repo.clone()),
        issue: issue.map(|issue| issue.id),
        started_at: Some(format_time(row.started_at)),
        #[expect(clippy::cast_precision_loss, reason = "seconds")]
        duration_s: Some(took.max(0) as f64),
        // The format has no word for an unknown amount.
        tokens_input: Some(usage.and_then(|usage| usage.input_tokens).unwrap_or(0)),
        tokens_output: Some(usage.and_then(|usage| usage.output_tokens).unwrap_or(0)),
    }
}

/// What tells one invocation from others: who was started on what, and when.
type InvocationKey = (Option<String>, Option<String>, Option<Timestamp>);

fn invocation_key(of: &AgentInvocation) -> InvocationKey {
    let started = of.started_at.as_ref().and_then(|text| text.parse().ok());
    (of.agent.clone(), of.issue.clone(), started)
}

/// Adds the invocations that the state lacks; those of other tools stay.
pub(super) fn add_invocations(state: &mut SdlcState, tables: &Tables, run: RunId) {
    let have = &mut state.metrics.agent_invocations;
    let mut there: BTreeMap<InvocationKey, usize> = BTreeMap::new();
    for one in have.iter() {
        *there.entry(invocation_key(one)).or_default() += 1;
    }
    for one in ended_attempts(tables, run)
        .into_iter()
        .map(|(row, item)| invocation_of_attempt(row, item))
    {
        match there.get_mut(&invocation_key(&one)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => have.push(one),
        }
    }
}

/// The list with the records that it lacks; none where it lacks nothing.
pub(super) fn append_new_records(
    present: Option<&str>,
    tables: &Tables,
    run: RunId,
) -> Result<Option<String>, String> {
    let present = present.unwrap_or_default();
    let there = parse_metrics(present).records;
    let there: HashSet<&str> = there
        .iter()
        .filter_map(|one| one.agent_id.as_deref())
        .collect();
    let mut text = present.to_owned();
    for (row, item) in ended_attempts(tables, run) {
        let id = row.id.to_string();
        if there.contains(id.as_str()) {
            continue;
        }
        let of = invocation_of_attempt(row, item);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let record = json!({
            "agent_id": id,
            "agent_type": of.agent,
            "tokens": {"input": of.tokens_input, "output": of.tokens_output},
            "timestamp": format_time(row.ended_at.unwrap_or(row.started_at)),
        });
        text.push_str(&format!("{record}\n"));
    }
    Ok((text != present).then_some(text))
}

/// What could be read of a `metrics.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsLog {
    /// The records, in order.
    pub records: Vec<AgentRecord>,
    /// How many were malformed and left out.
    pub skipped: usize,
}

/// An agent that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRecord {
    /// The agent's id.
    pub agent_id: Option<String>,
    /// The agent's name.
    pub agent_type: Option<String>,
    /// Tokens it read; the original always writes 0.
    pub tokens_input: Option<u64>,
    /// Tokens it wrote; the original always writes 0.
    pub tokens_output: Option<u64>,
    /// When it ended.
    pub timestamp: Option<String>,
}

/// Reads a `metrics.jsonl`, whose records may span lines.
pub fn parse_metrics(text: &str) -> MetricsLog {
    let mut log = MetricsLog::default();
    for record in json::parse_stream(text) {
        let node = record.root.filter(|_| record.faults.is_empty());
        match node.as_ref().and_then(read_agent_record) {
            Some(record) => log.records.push(record),
            None => log.skipped += 1,
        }
    }
    log
}

/// A mapping that names an agent.
fn read_agent_record(node: &ValueNode) -> Option<AgentRecord> {
    node.as_map()?;
    let text = |key: &str| node.get(key).and_then(ValueNode::as_str).map(str::to_owned);
    let tokens = |key: &str| node.get("tokens")?.get(key).and_then(count_of_node);
    let record = AgentRecord {
        agent_id: text("agent_id"),
        agent_type: text("agent_type"),
        tokens_input: tokens("input"),
        tokens_output: tokens("output"),
        timestamp: text("timestamp"),
    };
    let names_one = record.agent_id.is_some() || record.agent_type.is_some();
    names_one.then_some(record)
}
