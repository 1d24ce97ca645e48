//! `operator-queue` and `step-queue`: what agents ask for beside their work, as
//! a `PROGRESS.yaml` says it.
//!
//! Both are views of decisions. An entry of a file that no decision is about,
//! one that was decided before piton took the file over, stays as it is.

use std::collections::HashMap;

use piton_core::request::{
    Deferral, Injection, InsertPosition, RequestAnswer, RequestKind, Ruling, Until, WorkRequest,
};
use piton_core::{DecisionRow, Edit, RunId, Tables, Verb};
use serde_json::{Map, Value};

use super::elapsed::render_time;
use super::progress::SprintProgress;
use crate::plan_file::ShownRun;
use crate::yaml::ValueNode;

/// Keys of a request that piton writes itself.
const OWN_KEYS: [&str; 9] = [
    "id",
    "title",
    "status",
    "created-at",
    "discovered-in",
    "decided-at",
    "decision",
    "rejection-reason",
    "deferred-until",
];

/// Keys of a proposed step that piton writes itself.
const OWN_STEP_KEYS: [&str; 4] = ["id", "prompt", "proposedBy", "proposedAt"];

/// Shows the requests of a run in its file.
pub(super) fn export_requests(progress: &mut SprintProgress, tables: &Tables, run: RunId) {
    let decisions = tables.decisions().filter(|row| row.run == run);
    let mut rows: Vec<(&DecisionRow, &WorkRequest)> = decisions
        .filter_map(|row| Some((row, row.request.as_deref()?)))
        .collect();
    rows.sort_by_key(|(row, _)| row.number);
    let (found, steps): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|(_, request)| request.kind == RequestKind::Discovery);
    let shown = |(row, request): &(&DecisionRow, &WorkRequest)| Some(request_node(row, request));
    progress.operator_queue = merge_queue(progress.operator_queue.take(), &found, shown);
    // The original keeps what is decided out of this one.
    let shown = |(row, request): &(&DecisionRow, &WorkRequest)| {
        row.verdict.is_none().then(|| step_node(row, request))
    };
    progress.step_queue = merge_queue(progress.step_queue.take(), &steps, shown);
}

/// The entries that are there, each as it is now, and those that are new.
fn merge_queue<'r>(
    before: Option<ValueNode>,
    rows: &[(&'r DecisionRow, &'r WorkRequest)],
    shown: impl Fn(&(&'r DecisionRow, &'r WorkRequest)) -> Option<ValueNode>,
) -> Option<ValueNode> {
    if rows.is_empty() {
        return before;
    }
    let is_id = |node: &ValueNode, request: &WorkRequest| {
        let id = node.get("id").and_then(ValueNode::text);
        id.is_some() && id == request.id.as_deref()
    };
    let kept = before
        .as_ref()
        .and_then(ValueNode::as_seq)
        .unwrap_or_default();
    let mut all: Vec<ValueNode> = Vec::new();
    for node in kept {
        match rows.iter().find(|(_, request)| is_id(node, request)) {
            Some(row) => all.extend(shown(row)),
            None => all.push(node.clone()),
        }
    }
    let is_new = |(_, request): &&(_, &WorkRequest)| !kept.iter().any(|node| is_id(node, request));
    all.extend(rows.iter().filter(is_new).filter_map(shown));
    Some(ValueNode::seq(all))
}

fn request_node(row: &DecisionRow, request: &WorkRequest) -> ValueNode {
    let string = |text: &str| ValueNode::string(text);
    let mut pairs = vec![
        (
            "id".to_owned(),
            string(request.id.as_deref().unwrap_or_default()),
        ),
        ("title".to_owned(), string(&request.title)),
    ];
    pairs.extend(fields_except(request, &OWN_KEYS));
    let (created, discovered) = (created_at(row, request), discovered_in(row, request));
    let mut push = |key: &str, value: ValueNode| pairs.push((key.to_owned(), value));
    push("status", string(status_of_decision(row)));
    push("created-at", string(&created));
    push("discovered-in", string(&discovered));
    if let Some(Deferral { until, why, at, .. }) = row.deferred.as_deref() {
        push("decided-at", string(&render_time(*at)));
        let more = [("deferredUntil", Some(string(until.as_str())))];
        push("decision", decision_node("defer", why.as_deref(), more));
        push("deferred-until", string(until.as_str()));
    }
    let Some(verdict) = &row.verdict else {
        return ValueNode::map(pairs);
    };
    push("decided-at", string(&render_time(verdict.at)));
    let why = verdict.why.as_deref();
    match (verdict.verb, verdict.answer.as_deref()) {
        (Verb::Approve, Some(RequestAnswer::Approve(injection))) => {
            let more = [("injection", Some(injection_node(injection)))];
            push("decision", decision_node("approve", why, more));
        }
        (Verb::Backlog, _) => push("decision", decision_node("backlog", why, [])),
        // It went on to the next sprint.
        (Verb::Settled, _) => {
            let until = Until::NextSprint.as_str();
            let more = [("deferredUntil", Some(string(until)))];
            push("decision", decision_node("defer", why, more));
            push("deferred-until", string(until));
        }
        (Verb::Answer, _) => push("decision", decision_node("answer", why, [])),
        (_, _) => {
            let more = [("rejectionReason", why.map(ValueNode::string))];
            push("decision", decision_node("reject", why, more));
            if let Some(why) = why {
                push("rejection-reason", string(why));
            }
        }
    }
    ValueNode::map(pairs)
}

/// When a request was made.
pub(super) fn created_at(row: &DecisionRow, request: &WorkRequest) -> String {
    let own = request.fields.get("created-at").and_then(Value::as_str);
    own.map_or_else(|| render_time(row.opened_at), str::to_owned)
}

/// Where it was discovered: `a > b > c`.
pub(super) fn discovered_in(row: &DecisionRow, request: &WorkRequest) -> String {
    let own = request.fields.get("discovered-in").and_then(Value::as_str);
    let node = row
        .node
        .as_ref()
        .map(piton_core::Node::display_path)
        .unwrap_or_default();
    own.map_or(node, str::to_owned)
}

fn decision_node<const N: usize>(
    word: &str,
    why: Option<&str>,
    more: [(&str, Option<ValueNode>); N],
) -> ValueNode {
    let mut pairs = vec![
        ("decision", ValueNode::string(word)),
        ("reasoning", ValueNode::string(why.unwrap_or_default())),
    ];
    let more = more.into_iter();
    pairs.extend(more.filter_map(|(key, node)| Some((key, node?))));
    ValueNode::map(pairs)
}

fn injection_node(injection: &Injection) -> ValueNode {
    let position = injection.position.clone().unwrap_or_default();
    let of = match &position {
        InsertPosition::EndOfPhase(_) => "phaseId",
        InsertPosition::AfterCurrent
        | InsertPosition::EndOfWorkflow
        | InsertPosition::After(_)
        | InsertPosition::Before(_) => "stepId",
    };
    let place = ValueNode::map_of_present([
        ("type", Some(ValueNode::string(position.as_str()))),
        (of, position.reference_item().map(ValueNode::string)),
    ]);
    let text = |text: &Option<String>| text.as_deref().map(ValueNode::string);
    ValueNode::map_of_present([
        ("position", Some(place)),
        ("prompt", text(&injection.prompt)),
        ("idPrefix", text(&injection.id_prefix)),
        ("model", text(&injection.model)),
    ])
}

fn status_of_decision(row: &DecisionRow) -> &'static str {
    match row.verdict.as_ref().map(|verdict| verdict.verb) {
        None if row.deferred.is_some() => "deferred",
        None => "pending",
        Some(Verb::Approve) => "approved",
        Some(Verb::Backlog) => "backlog",
        Some(Verb::Settled) => "deferred",
        // The original knows no answer in words, and leaves alone what is not pending.
        Some(Verb::Answer) => "answered",
        Some(
            Verb::Reject
            | Verb::Defer
            | Verb::Retry
            | Verb::Skip
            | Verb::KeepFile
            | Verb::KeepPiton
            | Verb::Merge,
        ) => "rejected",
    }
}

fn step_node(row: &DecisionRow, request: &WorkRequest) -> ValueNode {
    let own = |key: &str| request.fields.get(key).and_then(Value::as_str);
    let by = match (own("proposedBy"), &row.node) {
        (Some(text), _) => text.to_owned(),
        (None, Some(node)) => node.display_path(),
        (None, None) => String::new(),
    };
    let at = own("proposedAt").map(str::to_owned);
    let at = at.unwrap_or_else(|| render_time(row.opened_at));
    let prompt = request.prompt_text().unwrap_or_default();
    let id = request.id.as_deref().unwrap_or_default();
    let mut pairs = vec![
        ("id".to_owned(), ValueNode::string(id)),
        ("prompt".to_owned(), ValueNode::string(prompt)),
        ("proposedBy".to_owned(), ValueNode::string(by)),
        ("proposedAt".to_owned(), ValueNode::string(at)),
    ];
    pairs.extend(fields_except(request, &OWN_STEP_KEYS));
    ValueNode::map(pairs)
}

/// What the agent wrote, but for these keys.
fn fields_except<'r>(
    request: &'r WorkRequest,
    but: &'r [&str],
) -> impl Iterator<Item = (String, ValueNode)> + 'r {
    let fields = request.fields.iter();
    let fields = fields.filter(|(key, _)| !but.contains(&key.as_str()));
    fields.map(|(key, value)| (key.clone(), node_of_value(value)))
}

fn node_of_value(value: &Value) -> ValueNode {
    match value {
        Value::Null => ValueNode::plain("null"),
        Value::Bool(value) => ValueNode::bool(*value),
        Value::Number(number) => ValueNode::plain(number.to_string()),
        Value::String(text) => ValueNode::string(text),
        Value::Array(values) => ValueNode::seq(values.iter().map(node_of_value).collect()),
        Value::Object(fields) => {
            let pairs = fields.iter();
            ValueNode::map(pairs.map(|(key, value)| (key.clone(), node_of_value(value))))
        }
    }
}

/// What a person or an agent changed in a queue.
#[derive(Default)]
pub(super) struct QueueChanges {
    pub(super) edits: Vec<Edit>,
    /// All entries, where one changed that no decision is about.
    pub(super) kept: Option<Vec<ValueNode>>,
    /// The names of what was changed and is known from decisions.
    pub(super) ignored: Vec<String>,
}

/// What changed in a queue since piton wrote it.
pub(super) fn diff_queue(
    shown: ShownRun<'_>,
    kind: RequestKind,
    base: &[ValueNode],
    theirs: &[ValueNode],
) -> QueueChanges {
    let id_of = |node: &ValueNode| node.get("id").and_then(ValueNode::text).map(str::to_owned);
    let decisions = shown.tables.decisions().filter(|row| row.run == shown.run);
    let known: HashMap<&str, &DecisionRow> = decisions
        .filter_map(|row| Some((row.request.as_ref()?.id.as_deref()?, row)))
        .collect();
    let mut found = QueueChanges::default();
    let mut kept_changed = false;
    for entry in theirs {
        let id = id_of(entry);
        let before = base.iter().find(|node| id.is_some() && id_of(node) == id);
        if base.contains(entry) {
            continue;
        }
        let row = id.as_deref().and_then(|id| known.get(id));
        let (Some(id), Some(row)) = (&id, row) else {
            match parse_open_request(kind, entry).filter(|_| before.is_none()) {
                Some(request) => found.edits.push(Edit::AddRequest(Box::new(request))),
                None => kept_changed = true,
            }
            continue;
        };
        let status = |node: &ValueNode| {
            node.get("status")
                .and_then(ValueNode::text)
                .map(str::to_owned)
        };
        let is_decided = before.map(status) != Some(status(entry));
        match answer_of_entry(entry).filter(|_| is_decided && row.verdict.is_none()) {
            Some((answer, why)) => found.edits.push(Edit::AnswerRequest {
                id: id.clone(),
                answer,
                why,
            }),
            None => found.ignored.push(id.clone()),
        }
    }
    // Whose entry is taken out before it was decided is not to be done. It comes
    // back as a rejected one, which says so.
    for entry in base {
        let id =
            id_of(entry).filter(|id| !theirs.iter().any(|their| id_of(their).as_ref() == Some(id)));
        let Some(id) = id else { continue };
        let is_open = |row: &&DecisionRow| row.verdict.is_none();
        if known.get(id.as_str()).copied().filter(is_open).is_some() {
            found.edits.push(Edit::AnswerRequest {
                id,
                answer: RequestAnswer::Reject,
                why: Some("its entry was taken out of the file".to_owned()),
            });
        }
    }
    let is_gone = |node: &&ValueNode| {
        let id = id_of(node);
        let is_known = id.as_deref().is_some_and(|id| known.contains_key(id));
        !is_known
            && !theirs
                .iter()
                .any(|their| id.is_some() && id_of(their) == id)
    };
    kept_changed |= base.iter().any(|node| is_gone(&node));
    found.kept = kept_changed.then(|| theirs.to_vec());
    found
}

/// What an entry says became of it, and why.
fn answer_of_entry(entry: &ValueNode) -> Option<(RequestAnswer, Option<String>)> {
    let text = |node: Option<&ValueNode>, key: &str| {
        let text = node?.get(key)?.text()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let decision = entry.get("decision");
    let answer = match text(Some(entry), "status")?.as_str() {
        "approved" => {
            let said = decision.and_then(|decision| decision.get("injection"));
            let place = said.and_then(|said| said.get("position"));
            let of = text(place, "stepId").or_else(|| text(place, "phaseId"));
            let word = text(place, "type");
            RequestAnswer::Approve(Box::new(Injection {
                position: word.and_then(|word| InsertPosition::parse(&word, of.as_deref())),
                prompt: text(said, "prompt"),
                model: text(said, "model"),
                id_prefix: text(said, "idPrefix"),
                items: Vec::new(),
            }))
        }
        "rejected" => RequestAnswer::Reject,
        "backlog" => RequestAnswer::Backlog,
        "deferred" => {
            let until = text(Some(entry), "deferred-until");
            let until = until.or_else(|| text(decision, "deferredUntil"));
            let until = until.and_then(|word| Until::parse(&word));
            RequestAnswer::Defer(until.unwrap_or(Until::EndOfPhase))
        }
        _ => return None,
    };
    let why = text(Some(entry), "rejection-reason");
    Some((answer, why.or_else(|| text(decision, "reasoning"))))
}

/// What of the queues of a file is to be decided still.
pub(super) fn open_requests(progress: &SprintProgress) -> Vec<WorkRequest> {
    let queues = [
        (RequestKind::Discovery, &progress.operator_queue),
        (RequestKind::Step, &progress.step_queue),
    ];
    let entries = queues.into_iter().flat_map(|(kind, queue)| {
        let entries = queue.as_ref().and_then(ValueNode::as_seq);
        let entries = entries.unwrap_or_default().iter();
        entries.map(move |entry| (kind, entry))
    });
    entries
        .filter_map(|(kind, entry)| parse_open_request(kind, entry))
        .collect()
}

/// A request that stands in a file and is open; it needs an id to be known by.
pub(super) fn parse_open_request(kind: RequestKind, entry: &ValueNode) -> Option<WorkRequest> {
    let id = entry.get("id").and_then(ValueNode::text)?.to_owned();
    let status = entry.get("status").and_then(ValueNode::text);
    let until = match status {
        None | Some("pending") => None,
        Some("deferred") => {
            let until = entry.get("deferred-until").and_then(ValueNode::text);
            Some(until.and_then(Until::parse).unwrap_or(Until::EndOfPhase))
        }
        Some(_) => return None,
    };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(entry) else {
        return None;
    };
    let text = |fields: &Map<String, Value>, key: &str| {
        let text = fields.get(key).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let title = text(&fields, "title").or_else(|| text(&fields, "prompt"));
    let title = title.unwrap_or_default();
    // These are the queue's own, and are said anew.
    for key in ["status", "decided-at", "decision", "deferred-until"] {
        fields.remove(key);
    }
    let ruling = until.map(|until| {
        Box::new(Ruling {
            answer: RequestAnswer::Defer(until),
            why: "it was put off in the file".to_owned(),
        })
    });
    Some(WorkRequest {
        kind,
        id: Some(id),
        title,
        fields,
        ruling,
    })
}
