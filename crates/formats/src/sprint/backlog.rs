//! `BACKLOG.yaml`: what agents asked for that is kept for people.
//!
//! piton adds to it and changes nothing that is there: it is the people's list.

use piton_core::request::{Priority, WorkRequest};
use piton_core::{DecisionRow, RunId, Tables, Verb};

use super::elapsed::render_time;
use super::requests::{created_at, discovered_in};
use crate::yaml::{self, ValueNode};

/// The name of the file, beside `PROGRESS.yaml`.
pub(super) const NAME: &str = "BACKLOG.yaml";

/// How many requests of a run were kept for people.
pub(super) fn count_backlog_requests(tables: &Tables, run: RunId) -> usize {
    backlog_requests(tables, run).count()
}

fn backlog_requests(
    tables: &Tables,
    run: RunId,
) -> impl Iterator<Item = (&DecisionRow, &WorkRequest)> {
    let of_run = tables.decisions().filter(move |row| row.run == run);
    let kept = of_run.filter(|row| {
        let verdict = row.verdict.as_ref();
        verdict.is_some_and(|verdict| verdict.verb == Verb::Backlog)
    });
    kept.filter_map(|row| Some((row, row.request.as_deref()?)))
}

/// The file with what it lacks; none where it lacks nothing.
///
/// # Errors
///
/// Why what is there is no backlog: then it stays as it is.
pub(super) fn with_new_items(
    present: Option<&str>,
    tables: &Tables,
    run: RunId,
) -> Result<Option<String>, String> {
    let present = present.filter(|text| !text.trim().is_empty());
    let root = present.map(yaml::parse);
    if root
        .as_ref()
        .is_some_and(|parsed| !parsed.faults.is_empty())
    {
        return Err("it is no YAML".to_owned());
    }
    let root = root.and_then(|parsed| parsed.root);
    if root.as_ref().is_some_and(|root| root.as_map().is_none()) {
        return Err("it is no mapping".to_owned());
    }
    let items = root.as_ref().and_then(|root| root.get("items"));
    let before = match items {
        None => &[],
        Some(items) if items.is_null() => &[],
        Some(items) => items.as_seq().ok_or("its `items` are no list")?,
    };
    let is_there = |request: &WorkRequest| {
        let id = request.id.as_deref();
        let mut ids = before
            .iter()
            .map(|item| item.get("id").and_then(ValueNode::text));
        ids.any(|known| known == id)
    };
    let mut new: Vec<_> = backlog_requests(tables, run)
        .filter(|(_, request)| !is_there(request))
        .collect();
    if new.is_empty() {
        return Ok(None);
    }
    new.sort_by_key(|(row, _)| row.number);
    let new = new
        .into_iter()
        .map(|(row, request)| item_of_request(row, request));
    let items = ValueNode::seq(before.iter().cloned().chain(new).collect());
    let keys = root.as_ref().and_then(ValueNode::as_map).into_iter();
    let keys = keys.flat_map(|map| map.iter());
    let keys = keys.filter(|(key, _)| key.text != "items");
    let keys = keys.map(|(key, node)| (key.text.clone(), node.clone()));
    let wanted = ValueNode::map(keys.chain([("items".to_owned(), items)]));
    let Some(text) = present else {
        return Ok(Some(yaml::render(&wanted)));
    };
    // Comments alone hold no document that could be changed in place.
    if root.is_none() {
        return Ok(Some(format!(
            "{}\n{}",
            text.trim_end(),
            yaml::render(&wanted)
        )));
    }
    let patched = yaml::patch(text, &wanted);
    patched
        .map(Some)
        .map_err(|_| "it cannot be changed in place".to_owned())
}

fn item_of_request(row: &DecisionRow, request: &WorkRequest) -> ValueNode {
    let id = request.id.as_deref().unwrap_or_default();
    let description = request.description().unwrap_or_default();
    let category = match request.category() {
        Some("docs") => "documentation",
        Some(_) | None => "tech-debt",
    };
    let priority = match request.priority() {
        Some(Priority::Critical | Priority::High) => "high",
        Some(Priority::Medium) => "medium",
        Some(Priority::Low) | None => "low",
    };
    let verdict = row.verdict.as_ref();
    let why = verdict.and_then(|verdict| verdict.why.as_deref());
    let decided = verdict.map_or(row.opened_at, |verdict| verdict.at);
    let source = ValueNode::map([
        ("request-id", ValueNode::string(id)),
        (
            "discovered-in",
            ValueNode::string(discovered_in(row, request)),
        ),
        ("discovered-at", ValueNode::string(created_at(row, request))),
    ]);
    ValueNode::map([
        ("id", ValueNode::string(id)),
        ("title", ValueNode::string(&request.title)),
        ("description", ValueNode::string(description)),
        ("category", ValueNode::string(category)),
        ("suggested-priority", ValueNode::string(priority)),
        ("operator-notes", ValueNode::string(why.unwrap_or_default())),
        ("source", source),
        ("created-at", ValueNode::string(render_time(decided))),
        ("status", ValueNode::string("pending-review")),
    ])
}
