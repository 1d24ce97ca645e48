//! Whether a `SPRINT.yaml` and a workflow are what the format asks for.
//!
//! The codes, and what gets which, are the original compiler's. It checks in
//! stages and stops behind the first stage that finds something; the stages
//! are [`check_sprint`], [`check_workflow`] of the main workflow, [`check_collections_exist`],
//! and [`check_workflow`] of those that it names. Within a stage everything is told.

use std::collections::HashSet;

use super::checker::NodeChecker;
use super::elapsed::parse_elapsed;
use super::field::{
    ProblemReport, ValuePath, describe_found, first_key_span, is_object, is_truthy, non_empty_text,
    span_of_key,
};
use super::shape::{MODELS, RETRY_CATEGORIES};
use super::{SPRINT_SHAPE, WORKFLOW_SHAPE, dependencies, wait, worktree};
use crate::problem::Severity;
use crate::report::MapPosition;
use crate::yaml::{ScalarKind, Span, Value, ValueNode};

/// Checks `SPRINT.yaml` on its own.
pub(super) fn check_sprint(root: &ValueNode, report: &mut ProblemReport<'_>) {
    let mut top = NodeChecker::new(root, ValuePath::ROOT, report);
    let hint = "begin with `workflow:` and `collections:`";
    if !top.is_mapping("INVALID_SPRINT", "a sprint is a mapping", hint) {
        return;
    }
    if non_empty_text(root, "workflow").is_none() {
        top.error(
            "MISSING_WORKFLOW",
            "workflow",
            format!(
                "the sprint names no workflow{}",
                describe_found(root, "workflow")
            ),
            "add `workflow: NAME`, the name of a file in the folder of workflows",
        );
    }
    check_model(&mut top, Severity::Error);
    if let Some(node) = root.get("collections") {
        check_collections(node, span_of_key(root, "collections"), top.report);
        if root.get("steps").is_some() {
            // The older form beside the newer one, which alone is read.
            top.warning(
                "STEPS_IGNORED",
                "steps",
                "`steps` has no effect beside `collections`",
                "move its items into a collection",
            );
        }
    }
    worktree::check_sprint_worktree(root, report);
    check_limits(root, report);
    check_retry(root, report);
    report.warn_unknown_keys(root, &SPRINT_SHAPE);
}

/// Tells that there is no `collections` at all.
pub(super) fn report_missing_collections(root: &ValueNode, report: &mut ProblemReport<'_>) {
    let hint = if root.get("steps").is_some() {
        "this is the older form: write `collections:`, indent `steps:` below it and call it `step:`"
    } else {
        "add `collections:` with one list, as in `step:` with `- prompt: …` below it"
    };
    let span = root.as_map().and_then(|map| map.entry("steps"));
    let span = span.map_or_else(|| first_key_span(root), |(key, _)| key.span);
    let words = ("the sprint has no collections".to_owned(), hint);
    report.error(
        "MISSING_COLLECTIONS",
        ValuePath::ROOT.key("collections"),
        span,
        words,
    );
}

/// Which workflow of a sprint is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkflowLevel {
    /// The one that the sprint names.
    Main,
    /// One that a phase or an item names. Nothing reads its model.
    Inner,
}

/// Checks that `model` is one of the three. One that nothing reads stops nothing.
fn check_model(at: &mut NodeChecker<'_, '_>, severity: Severity) {
    let Some(model) = at.node.get("model").filter(|model| !model.is_null()) else {
        return;
    };
    if !model.as_str().is_some_and(|name| MODELS.contains(&name)) {
        let message = match model.as_str() {
            Some(name) => format!("there is no model `{name}`"),
            None => format!("a model is a name, not {}", model.describe()),
        };
        let hint = "write `sonnet`, `opus` or `haiku`";
        match severity {
            Severity::Error => at.error("INVALID_MODEL", "model", message, hint),
            Severity::Warning => {
                let message = format!("{message}; this one has no effect");
                at.warning("INVALID_MODEL", "model", message, hint);
            }
        }
    }
}

fn check_collections(node: &ValueNode, span: Span, report: &mut ProblemReport<'_>) {
    let path = ValuePath::ROOT.key("collections");
    if !is_object(node) {
        let message = format!("`collections` must be a mapping, not {}", node.describe());
        let hint = "write a name such as `step:` below it, and a list below that";
        return report.error("INVALID_COLLECTIONS", path, span, (message, hint));
    }
    let mut unfit: Vec<String> = Vec::new();
    for (name, span, list) in entries_of_node(node) {
        let Some(items) = list.as_seq() else {
            let list = list.describe();
            let message = format!("the collection `{name}` must be a list, not {list}");
            let words = (message, "begin each of its items with `- `");
            report.error("INVALID_COLLECTION", path.key(&name), span, words);
            continue;
        };
        let collection_path = path.key(&name);
        let mut ids = HashSet::new();
        for (index, entry) in items.iter().enumerate() {
            let mut at = NodeChecker::new(entry, collection_path.index(index), report);
            if !check_item(&mut at) {
                unfit.push(format!("{name}["));
            }
            if non_empty_text(entry, "id").is_some_and(|id| !ids.insert(id)) {
                let id = non_empty_text(entry, "id").unwrap_or_default();
                at.warning(
                    "DUPLICATE_ITEM_ID",
                    "id",
                    format!("an item above has the id `{id}` too"),
                    "give each item of a collection an id of its own",
                );
            }
        }
        // As in the original, which compares the beginnings of paths.
        if !unfit.iter().any(|other| other.starts_with(&name)) {
            dependencies::check_graph(items, &name, collection_path, report);
        }
    }
}

/// The pairs of a mapping; of a list, its elements under their numbers.
pub(super) fn entries_of_node(node: &ValueNode) -> Vec<(String, Span, &ValueNode)> {
    match &node.value {
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| {
                let span = if value.is_null() {
                    key.span
                } else {
                    value.span
                };
                (key.text.clone(), span, value)
            })
            .collect(),
        Value::Seq(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value.span, value))
            .collect(),
        Value::Scalar(_) => Vec::new(),
    }
}

/// Checks what an item waits for. A text under that key is a variable of the prompts,
/// as it was before items could wait.
fn check_item_wait(at: &mut NodeChecker<'_, '_>) {
    let Some(wait) = at.node.get("wait").filter(|wait| !wait.is_null()) else {
        return;
    };
    if wait.as_map().is_none() {
        let message = format!(
            "nothing waits: `wait` is {}, not a mapping",
            wait.describe()
        );
        let hint = "write `command:`, `until:` or both below it; give a variable another name";
        return at.warning("WAIT_IGNORED", "wait", message, hint);
    }
    if let Some(map) = at.node.as_map() {
        wait::check_wait(MapPosition { map, path: at.path }, at.report);
    }
}

/// Checks one item; false when nothing can be said about its dependencies.
fn check_item(at: &mut NodeChecker<'_, '_>) -> bool {
    let item = at.node;
    let hint = "write `- prompt: …`";
    if !at.is_mapping("INVALID_COLLECTION_ITEM", "an item must be a mapping", hint) {
        return false;
    }
    check_item_wait(at);
    match non_empty_text(item, "prompt") {
        None => at.error(
            "MISSING_ITEM_PROMPT",
            "prompt",
            format!("the item has no prompt{}", describe_found(item, "prompt")),
            prompt_hint(item, "add `prompt:` with what is to be done"),
        ),
        Some(prompt) if prompt.trim().is_empty() => at.error(
            "EMPTY_ITEM_PROMPT",
            "prompt",
            "the prompt of the item is blank",
            "say what is to be done",
        ),
        Some(_) => {}
    }
    let workflow = item.get("workflow");
    if workflow.is_some_and(|node| node.as_str().is_none()) {
        let found = describe_found(item, "workflow");
        at.error(
            "INVALID_ITEM_WORKFLOW",
            "workflow",
            format!("the workflow of an item must be a string{found}"),
            "write the name of a workflow, in quotes if it looks like a number",
        );
    }
    check_model(at, Severity::Error);
    dependencies::check_depends_on(at)
}

/// The hint for a prompt that is not there, or that is a mapping because its braces
/// are not quoted.
fn prompt_hint(node: &ValueNode, otherwise: &'static str) -> &'static str {
    match node.get("prompt").map(|prompt| &prompt.value) {
        Some(Value::Map(map)) if map.iter().any(|(key, _)| key.is_collection) => {
            "a text that begins with `{{` must stand in quotes"
        }
        Some(Value::Scalar(scalar))
            if scalar.kind() != ScalarKind::Null && !scalar.text.is_empty() =>
        {
            "put the text in quotes"
        }
        Some(_) | None => otherwise,
    }
}

/// Checks that the collections that the phases of a workflow go through exist.
pub(super) fn check_collections_exist(
    root: &ValueNode,
    workflow: &ValueNode,
    report: &mut ProblemReport<'_>,
) {
    let collections = root
        .get("collections")
        .map(entries_of_node)
        .unwrap_or_default();
    if collections.is_empty() {
        return NodeChecker::new(root, ValuePath::ROOT, report).error(
            "EMPTY_COLLECTIONS",
            "collections",
            "there is no collection in `collections`",
            "add one list, as in `step:` with `- prompt: …` below it",
        );
    }
    let names: HashSet<&str> = collections.iter().map(|(name, ..)| name.as_str()).collect();
    for phase in workflow
        .get("phases")
        .and_then(ValueNode::as_seq)
        .unwrap_or_default()
    {
        let Some(name) = collection_of_phase(phase) else {
            continue;
        };
        if !names.contains(name) {
            let span = span_of_key(root, "collections");
            report_unknown_collection(name, phase, span, &collections, report);
        }
    }
}

/// The name of the collection that a phase goes through.
pub(super) fn collection_of_phase(phase: &ValueNode) -> Option<&str> {
    let kind = non_empty_text(phase, "for-each")?;
    Some(
        phase
            .get("collection")
            .and_then(ValueNode::as_str)
            .unwrap_or(kind),
    )
}

/// Tells that a phase goes through a collection that is not there.
pub(super) fn report_unknown_collection(
    name: &str,
    phase: &ValueNode,
    span: Span,
    have: &[(String, Span, &ValueNode)],
    report: &mut ProblemReport<'_>,
) {
    let names: Vec<String> = have.iter().map(|(name, ..)| format!("`{name}`")).collect();
    let id = phase
        .get("id")
        .and_then(ValueNode::text)
        .unwrap_or_default();
    let message = format!(
        "the phase `{id}` goes through the collection `{name}`, which is not here; here is {}",
        names.join(", ")
    );
    let hint = "add the collection, or name another one at the phase with `collection:`";
    let path = ValuePath::ROOT.key("collections");
    report.error(
        "COLLECTION_NOT_FOUND",
        path.key(name),
        span,
        (message, hint),
    );
}

/// Checks a workflow on its own.
pub(super) fn check_workflow(
    root: Option<&ValueNode>,
    standing: WorkflowLevel,
    report: &mut ProblemReport<'_>,
) {
    let Some(root) = root.filter(|root| is_object(root)) else {
        let span = root.map_or(Span::TOP, |root| root.span);
        let what = root.map_or_else(|| "nothing".to_owned(), ValueNode::describe);
        let message = format!("a workflow is a mapping, not {what}");
        let words = (message, "begin with `name:` and `phases:`");
        return report.error("INVALID_WORKFLOW", ValuePath::ROOT, span, words);
    };
    let mut top = NodeChecker::new(root, ValuePath::ROOT, report);
    if non_empty_text(root, "name").is_none() {
        let message = format!("the workflow has no name{}", describe_found(root, "name"));
        top.error(
            "MISSING_WORKFLOW_NAME",
            "name",
            message,
            "add `name:` with a few words",
        );
    }
    worktree::check_workflow_worktree(root, top.report);
    let severity = match standing {
        WorkflowLevel::Main => Severity::Error,
        WorkflowLevel::Inner => Severity::Warning,
    };
    check_model(&mut top, severity);
    match root.get("phases").and_then(ValueNode::as_seq) {
        None => top.error(
            "MISSING_PHASES",
            "phases",
            format!(
                "the workflow has no list of phases{}",
                describe_found(root, "phases")
            ),
            if root.get("mode").and_then(ValueNode::as_str) == Some("ralph") {
                "`mode: ralph` is no longer a kind of workflow: write the work as phases"
            } else {
                "add `phases:` with a list of `- id: …` and `prompt: …`"
            },
        ),
        Some([]) => top.error(
            "EMPTY_WORKFLOW",
            "phases",
            "the list of phases is empty",
            "add at least one phase with `id` and `prompt`",
        ),
        Some(phases) => {
            let path = ValuePath::ROOT.key("phases");
            let mut ids = HashSet::new();
            for (index, node) in phases.iter().enumerate() {
                check_phase(node, &mut ids, path.index(index), report);
            }
        }
    }
    report.warn_unknown_keys(root, &WORKFLOW_SHAPE);
}

/// Warns of a workflow that does not say which version of the format it is in.
pub(super) fn check_schema_version(root: &ValueNode, report: &mut ProblemReport<'_>) {
    let version = root.get("schema-version").filter(|node| is_truthy(node));
    let (message, hint) = match version.and_then(ValueNode::text) {
        Some("2.0" | "2") => return,
        None => (
            "the workflow does not say in which version of the format it is written".to_owned(),
            "add `schema-version: \"2.0\"`",
        ),
        Some(other) => (
            format!("the workflow is written in version {other} of the format; this is 2.0"),
            "check it against 2.0 and write `schema-version: \"2.0\"`",
        ),
    };
    let mut top = NodeChecker::new(root, ValuePath::ROOT, report);
    top.warning("SCHEMA_VERSION", "schema-version", message, hint);
}

fn check_phase<'n>(
    node: &'n ValueNode,
    ids: &mut HashSet<&'n str>,
    path: ValuePath<'_>,
    report: &mut ProblemReport<'_>,
) {
    let mut at = NodeChecker::new(node, path, report);
    let hint = "write `- id: …` with `prompt: …` below it";
    if !at.is_mapping("INVALID_PHASE", "a phase must be a mapping", hint) {
        return;
    }
    match non_empty_text(node, "id") {
        None => at.error(
            "MISSING_PHASE_ID",
            "id",
            format!("the phase has no id{}", describe_found(node, "id")),
            "add `id:` with a short name, in quotes if it looks like a number or a date",
        ),
        Some(id) if !ids.insert(id) => at.error(
            "DUPLICATE_PHASE_ID",
            "id",
            format!("a phase above has the id `{id}` too"),
            "give each phase of a workflow an id of its own",
        ),
        Some(_) => {}
    }
    check_action(&mut at);
    check_for_each(&mut at);
    check_boolean(&mut at, "parallel", "INVALID_PARALLEL");
    check_boolean(&mut at, "wait-for-parallel", "INVALID_WAIT_FOR_PARALLEL");
    let parallel = node.get("parallel").and_then(ValueNode::as_bool) == Some(true);
    if parallel && node.get("for-each").is_some_and(is_truthy) {
        at.error_at_node(
            "PARALLEL_FOREACH_WARNING",
            "parallel",
            "a phase with `for-each` cannot be `parallel` as a whole",
            "set `parallel: true` on phases of the workflow that it uses",
        );
    }
    // Where other phases stand in for it, theirs count.
    let stands_in = ["for-each", "workflow"];
    let stands_in = stands_in
        .iter()
        .any(|key| non_empty_text(node, key).is_some());
    let severity = match stands_in {
        true => Severity::Warning,
        false => Severity::Error,
    };
    check_model(&mut at, severity);
    check_boolean(&mut at, "break", "INVALID_BREAK");
    if let Some(gate_node) = node.get("gate") {
        check_gate(
            gate_node,
            span_of_key(node, "gate"),
            path.key("gate"),
            report,
        );
    }
    if let Some(map) = node.as_map() {
        report.field_reader().read_claims(MapPosition { map, path });
        wait::check_wait(MapPosition { map, path }, report);
    }
}

/// Checks that a phase says what to do, and not two things.
fn check_action(at: &mut NodeChecker<'_, '_>) {
    let has = |key| non_empty_text(at.node, key).is_some();
    let (prompt, for_each, workflow) = (has("prompt"), has("for-each"), has("workflow"));
    if prompt && workflow {
        at.error_at_node(
            "PROMPT_WORKFLOW_MUTUAL_EXCLUSIVE",
            "workflow",
            "the phase has both a prompt and a workflow",
            "keep one of them, or make two phases of it",
        );
    }
    if !prompt && !for_each && !workflow {
        at.error_at_node(
            "PHASE_MISSING_ACTION",
            "prompt",
            "the phase does not say what to do",
            prompt_hint(at.node, "add `prompt:`, `for-each:` or `workflow:`"),
        );
    }
}

fn check_for_each(at: &mut NodeChecker<'_, '_>) {
    for (key, wrong_type, empty, example) in [
        (
            "for-each",
            "INVALID_FOREACH",
            "EMPTY_FOREACH",
            "write the name of a collection, as in `for-each: step`",
        ),
        (
            "collection",
            "INVALID_COLLECTION_REF",
            "EMPTY_COLLECTION_REF",
            "write the name of a collection, or leave `collection` out",
        ),
    ] {
        let text = at.expect_string(wrong_type, key, &format!("`{key}`"), example);
        if text.is_some_and(|text| text.trim().is_empty()) {
            at.error(empty, key, format!("`{key}` is empty"), example);
        }
    }
}

fn check_boolean(at: &mut NodeChecker<'_, '_>, key: &str, code: &'static str) {
    let Some(value) = at.node.get(key) else {
        return;
    };
    if value.as_bool().is_none() {
        let message = format!("`{key}` must be true or false, not {}", value.describe());
        at.error(
            code,
            key,
            message,
            "write `true` or `false`, without quotes",
        );
    }
}

fn check_gate(gate: &ValueNode, span: Span, path: ValuePath<'_>, report: &mut ProblemReport<'_>) {
    if !is_object(gate) {
        let message = format!("a gate must be a mapping, not {}", gate.describe());
        let words = (message, "write `script:` and `on-fail:` below it");
        return report.error("INVALID_GATE", path, span, words);
    }
    let mut at = NodeChecker::new(gate, path, report);
    check_required_text(
        &mut at,
        "script",
        ["GATE_MISSING_SCRIPT", "GATE_EMPTY_SCRIPT"],
        "the gate has no script",
        "add `script:` with a command whose exit status says whether the work passes",
    );
    match gate.get("on-fail").filter(|node| is_object(node)) {
        None => {
            let found = describe_found(gate, "on-fail");
            at.error(
                "GATE_MISSING_ON_FAIL",
                "on-fail",
                format!("the gate does not say what to do when it fails{found}"),
                "add `on-fail:` with `prompt:` below it",
            );
        }
        Some(on_fail) => {
            let mut on_fail = NodeChecker::new(on_fail, path.key("on-fail"), at.report);
            check_required_text(
                &mut on_fail,
                "prompt",
                ["GATE_MISSING_ON_FAIL_PROMPT", "GATE_EMPTY_ON_FAIL_PROMPT"],
                "`on-fail` has no prompt",
                "add `prompt:` with what the agent is to mend",
            );
            check_max_retries(&mut on_fail);
        }
    }
    // Not a number is not positive either.
    let is_positive = |node: &ValueNode| node.as_f64().is_some_and(|seconds| seconds > 0.0);
    if let Some(timeout) = gate.get("timeout").filter(|node| !is_positive(node)) {
        let found = timeout.describe();
        at.error(
            "GATE_INVALID_TIMEOUT",
            "timeout",
            format!("the timeout must be a number of seconds above 0, not {found}"),
            "write the seconds as a number, as in `timeout: 60`",
        );
    }
}

/// Checks a text that must be there (first code) and not be blank (second).
fn check_required_text(
    at: &mut NodeChecker<'_, '_>,
    key: &str,
    codes: [&'static str; 2],
    missing: &str,
    hint: &str,
) {
    match at.node.get(key).and_then(ValueNode::as_str) {
        None => {
            let message = format!("{missing}{}", describe_found(at.node, key));
            at.error(codes[0], key, message, hint);
        }
        Some(text) if text.trim().is_empty() => {
            at.error(codes[1], key, format!("`{key}` is blank"), hint);
        }
        Some(_) => {}
    }
}

fn check_max_retries(on_fail: &mut NodeChecker<'_, '_>) {
    let Some(value) = on_fail.node.get("max-retries") else {
        return;
    };
    if as_whole_number(value).is_none_or(|count| count < 1) {
        let found = value.describe();
        on_fail.error(
            "GATE_INVALID_MAX_RETRIES",
            "max-retries",
            format!("`max-retries` must be a whole number above 0, not {found}"),
            "write how often the script may run, as in `max-retries: 3`",
        );
    }
}

/// A number without a fraction, also when it is written `3.0` or `1e3`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float converts by saturating, and beyond the range any count will do"
)]
pub(super) fn as_whole_number(node: &ValueNode) -> Option<i64> {
    match node.kind() {
        Some(ScalarKind::Int(value)) => Some(value),
        Some(ScalarKind::Float(value)) if value.is_finite() && value.fract() == 0.0 => {
            Some(value as i64)
        }
        Some(
            ScalarKind::Float(_)
            | ScalarKind::Null
            | ScalarKind::Bool(_)
            | ScalarKind::Timestamp
            | ScalarKind::Text,
        )
        | None => None,
    }
}

/// A mapping of settings of which none is an error: the original reads none.
struct Settings {
    key: &'static str,
    code: &'static str,
    hint: &'static str,
    /// The hint at one of them.
    hint_of_one: &'static str,
}

impl Settings {
    /// Warns of what cannot be read. `wanted` says what a value must be that
    /// does not fit.
    fn check(
        &self,
        root: &ValueNode,
        report: &mut ProblemReport<'_>,
        wanted: impl Fn(&str, &ValueNode) -> Option<&'static str>,
    ) {
        let Some(settings) = root.get(self.key).filter(|node| !node.is_null()) else {
            return;
        };
        let path = ValuePath::ROOT.key(self.key);
        let Some(map) = settings.as_map() else {
            let message = format!(
                "`{}` must be a mapping, not {}",
                self.key,
                settings.describe()
            );
            return report.warning(self.code, path, settings.span, (message, self.hint));
        };
        for (key, value) in map.iter() {
            let key = &key.text;
            if let Some(wanted) = wanted(key, value) {
                let message = format!("`{key}` must be {wanted}, not {}", value.describe());
                let words = (message, self.hint_of_one);
                report.warning(self.code, path.key(key), value.span, words);
            }
        }
    }
}

fn check_limits(root: &ValueNode, report: &mut ProblemReport<'_>) {
    let config = Settings {
        key: "config",
        code: "INVALID_CONFIG",
        hint: "write limits below it, as in `max-tasks: 5`",
        hint_of_one: "correct the value; as it stands the limit does not hold",
    };
    config.check(root, report, |key, value| {
        let (fits, wanted) = match key {
            "max-tasks" | "max-iterations" => (
                value.as_u64().is_some_and(|count| count > 0),
                "a whole number above 0",
            ),
            "time-box" => (
                value.text().and_then(parse_elapsed).is_some(),
                "a time such as `90s`, `45m`, `1h30m` or `4h`",
            ),
            "auto-commit" => (value.as_bool().is_some(), "true or false"),
            _ => return None,
        };
        (!fits && !value.is_null()).then_some(wanted)
    });
}

fn check_retry(root: &ValueNode, report: &mut ProblemReport<'_>) {
    let retry = Settings {
        key: "retry",
        code: "INVALID_RETRY",
        hint: "write `maxAttempts`, `backoffMs` and `retryOn` below it",
        hint_of_one: "correct the value; as it stands the rule does not hold",
    };
    let all = |value: &ValueNode, fits: fn(&ValueNode) -> bool| {
        value.as_seq().is_some_and(|list| list.iter().all(fits))
    };
    let is_category = |node: &ValueNode| {
        node.as_str()
            .is_some_and(|name| RETRY_CATEGORIES.contains(&name))
    };
    retry.check(root, report, |key, value| {
        let (fits, wanted) = match key {
            "maxAttempts" => (value.as_u64().is_some(), "a whole number"),
            "backoffMs" => (
                all(value, |node| node.as_u64().is_some()),
                "a list of milliseconds, as in `[1000, 5000]`",
            ),
            "retryOn" => (
                all(value, is_category),
                "a list of `network`, `rate-limit`, `timeout`, `validation`, `logic`",
            ),
            _ => return None,
        };
        (!fits).then_some(wanted)
    });
}
