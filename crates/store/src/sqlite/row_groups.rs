//! From version 10 to 11: what the body of a row says of one matter stands in one
//! object of it.
//!
//! The bodies are changed as they are, without the journal: a store with an event that
//! cannot be understood is brought up to date as any other.

use rusqlite::{Connection, Result, params};
use serde_json::{Map, Value};

/// Table, group, and the fields that move into it, in their order.
const GROUPS: [(&str, &str, &[&str]); 9] = [
    (
        "items",
        "plan",
        &[
            "id",
            "place",
            "prompt",
            "model",
            "gate",
            "breakpoint",
            "approval",
            "depends_on",
            "native",
            "claims",
            "turn",
            "scope",
            "repository",
            "wait",
            "piece_of",
            "injected",
        ],
    ),
    (
        "items",
        "tries",
        &[
            "retries",
            "until",
            "recovery",
            "made_no_progress",
            "put_off",
            "broken_off",
            "denied",
            "check_recoveries",
            "carried",
            "ongoing",
        ],
    ),
    (
        "items",
        "people",
        &[
            "human",
            "answer",
            "rejected",
            "rejections",
            "skip_asked",
            "without_merge",
        ],
    ),
    (
        "items",
        "work",
        &[
            "worked_in",
            "committing",
            "commits",
            "done_on",
            "spend",
            "change",
            "started_on",
            "at_work_since",
            "work_ms",
            "hook_runs",
            "unit",
            "waited",
        ],
    ),
    (
        "items",
        "proof",
        &[
            "gate_runs",
            "review",
            "evidence",
            "proof",
            "baseline",
            "seen_to_fail",
            "claimed",
            "unchecked",
            "claim_gate",
        ],
    ),
    (
        "runs",
        "plan",
        &["face", "source", "policy", "order", "is_settled", "native"],
    ),
    (
        "runs",
        "invocation",
        &[
            "invocations",
            "invoked_at",
            "limits",
            "iterations",
            "iterations_total",
            "tasks",
            "claims",
            "flags",
            "asked",
        ],
    ),
    (
        "runs",
        "spent",
        &["spend", "spend_by_model", "has_counted", "hook_refused"],
    ),
    (
        "runs",
        "branches",
        &["target", "targets", "lanes", "landing", "landed"],
    ),
];

/// Groups the fields of all runs and items.
pub(super) fn group_row_fields(connection: &Connection) -> Result<()> {
    for table in ["runs", "items"] {
        let mut select = connection.prepare(&format!("SELECT rowid, body FROM {table}"))?;
        let mut update =
            connection.prepare(&format!("UPDATE {table} SET body = ?1 WHERE rowid = ?2"))?;
        let mut rows = select.query([])?;
        let mut grouped = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, body): (i64, String) = (row.get(0)?, row.get(1)?);
            if let Some(body) = group_fields(table, &body) {
                grouped.push((id, body));
            }
        }
        for (id, body) in grouped {
            update.execute(params![body, id])?;
        }
    }
    Ok(())
}

/// The body with its fields in groups; none where it is no object: `verify` names it.
fn group_fields(table: &str, body: &str) -> Option<String> {
    let mut fields: Map<String, Value> = serde_json::from_str(body).ok()?;
    let mut groups = Map::new();
    for (_, group, names) in GROUPS.iter().filter(|(of, ..)| *of == table) {
        let moved = names.iter().filter_map(|name| {
            let value = fields.shift_remove(*name)?;
            Some(((*name).to_owned(), value))
        });
        let moved: Map<String, Value> = moved.collect();
        if !moved.is_empty() {
            groups.insert((*group).to_owned(), Value::Object(moved));
        }
    }
    fields.extend(groups);
    serde_json::to_string(&fields).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_move_into_their_groups_and_others_stay() {
        let body =
            r#"{"run":"r","id":"keel","state":"done","retries":2,"proof":{"a":1},"late":true}"#;
        let expect = r#"{"run":"r","state":"done","late":true,"plan":{"id":"keel"},"tries":{"retries":2},"proof":{"proof":{"a":1}}}"#;
        assert_eq!(group_fields("items", body).as_deref(), Some(expect));
        assert_eq!(group_fields("items", "[]"), None);
    }
}
