//! `metrics.jsonl`: a record for each agent that ended.

use crate::json;
use crate::tolerant::count;
use crate::tree::Node;

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
pub fn read_metrics(text: &str) -> MetricsLog {
    let mut log = MetricsLog::default();
    for record in json::parse_stream(text) {
        let node = record.root.filter(|_| record.faults.is_empty());
        match node.as_ref().and_then(read_record) {
            Some(record) => log.records.push(record),
            None => log.skipped += 1,
        }
    }
    log
}

/// A mapping that names an agent.
fn read_record(node: &Node) -> Option<AgentRecord> {
    node.as_map()?;
    let text = |key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let tokens = |key: &str| node.get("tokens")?.get(key).and_then(count);
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
