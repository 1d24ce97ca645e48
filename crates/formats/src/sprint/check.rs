//! Whether a `SPRINT.yaml` and a workflow are what the format asks for.
//!
//! The codes, and what gets which, are the original compiler's. It checks in
//! stages and stops behind the first stage that finds something; the stages
//! are [`sprint`], [`workflow`] of the main workflow, [`collections_exist`],
//! and [`workflow`] of those that it names. Within a stage everything is told.

use std::collections::HashSet;

use super::elapsed::parse_elapsed;
use super::field::{Path, Report, Words, filled, first_line, found, is_object, is_truthy, span_of};
use super::{SPRINT_SHAPE, WORKFLOW_SHAPE, dependencies, worktree};
use crate::tolerant::Place;
use crate::yaml::{Kind, Node, Span, Value};

pub(super) const MODELS: [&str; 3] = ["sonnet", "opus", "haiku"];

/// Checks `SPRINT.yaml` on its own.
pub(super) fn sprint(root: &Node, report: &mut Report<'_>) {
    if !is_object(root) {
        return report.error(
            "INVALID_SPRINT",
            Path::ROOT,
            root.span,
            (
                format!("a sprint is a mapping, not {}", root.describe()),
                "begin with `workflow:` and `collections:`",
            ),
        );
    }
    if filled(root, "workflow").is_none() {
        report.error(
            "MISSING_WORKFLOW",
            Path::ROOT.key("workflow"),
            span_of(root, "workflow"),
            (
                format!("the sprint names no workflow{}", found(root, "workflow")),
                "add `workflow: NAME`, the name of a file in the folder of workflows",
            ),
        );
    }
    model(root, Path::ROOT, report);
    if let Some(node) = root.get("collections") {
        collections(node, span_of(root, "collections"), report);
        steps_beside_collections(root, report);
    }
    worktree::check_sprint(root, report);
    limits(root, report);
    retry(root, report);
    report.unknown_keys(root, &SPRINT_SHAPE);
}

/// Tells that there is no `collections` at all.
pub(super) fn missing_collections(root: &Node, report: &mut Report<'_>) {
    let hint = if root.get("steps").is_some() {
        "this is the older form: write `collections:`, indent `steps:` below it and call it `step:`"
    } else {
        "add `collections:` with one list, as in `step:` with `- prompt: …` below it"
    };
    let span = root.as_map().and_then(|map| map.entry("steps"));
    let span = span.map_or_else(|| first_line(root), |(key, _)| key.span);
    report.error(
        "MISSING_COLLECTIONS",
        Path::ROOT.key("collections"),
        span,
        ("the sprint has no collections".to_owned(), hint),
    );
}

/// Warns of the older form beside the newer one, which alone is read.
fn steps_beside_collections(root: &Node, report: &mut Report<'_>) {
    if root.get("steps").is_none() {
        return;
    }
    let span = span_of(root, "steps");
    report.warning(
        "STEPS_IGNORED",
        Path::ROOT.key("steps"),
        span,
        (
            "`steps` has no effect beside `collections`".to_owned(),
            "move its items into a collection",
        ),
    );
}

/// Checks that `model` is one of the three.
fn model(node: &Node, path: Path<'_>, report: &mut Report<'_>) {
    let Some(model) = node.get("model").filter(|model| !model.is_null()) else {
        return;
    };
    if !model.as_str().is_some_and(|name| MODELS.contains(&name)) {
        report.error(
            "INVALID_MODEL",
            path.key("model"),
            model.span,
            (
                match model.as_str() {
                    Some(name) => format!("there is no model `{name}`"),
                    None => format!("a model is a name, not {}", model.describe()),
                },
                "write `sonnet`, `opus` or `haiku`",
            ),
        );
    }
}

fn collections(node: &Node, span: Span, report: &mut Report<'_>) {
    let path = Path::ROOT.key("collections");
    if !is_object(node) {
        return report.error(
            "INVALID_COLLECTIONS",
            path,
            span,
            (
                format!("`collections` must be a mapping, not {}", node.describe()),
                "write a name such as `step:` below it, and a list below that",
            ),
        );
    }
    let mut unfit: Vec<String> = Vec::new();
    for (name, span, list) in entries(node) {
        let Some(items) = list.as_seq() else {
            report.error(
                "INVALID_COLLECTION",
                path.key(&name),
                span,
                (
                    format!(
                        "the collection `{name}` must be a list, not {}",
                        list.describe()
                    ),
                    "begin each of its items with `- `",
                ),
            );
            continue;
        };
        let collection_path = path.key(&name);
        let mut ids = HashSet::new();
        for (index, entry) in items.iter().enumerate() {
            if !item(entry, collection_path.index(index), report) {
                unfit.push(format!("{name}["));
            }
            duplicate_id(entry, &mut ids, collection_path.index(index), report);
        }
        // As in the original, which compares the beginnings of paths.
        if !unfit.iter().any(|other| other.starts_with(&name)) {
            dependencies::check_graph(items, &name, collection_path, report);
        }
    }
}

/// The pairs of a mapping; of a list, its elements under their numbers.
pub(super) fn entries(node: &Node) -> Vec<(String, Span, &Node)> {
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

/// Checks one item; false when nothing can be said about its dependencies.
fn item(item: &Node, path: Path<'_>, report: &mut Report<'_>) -> bool {
    if !is_object(item) {
        report.error(
            "INVALID_COLLECTION_ITEM",
            path,
            item.span,
            (
                format!("an item must be a mapping, not {}", item.describe()),
                "write `- prompt: …`",
            ),
        );
        return false;
    }
    let span = span_of(item, "prompt");
    match filled(item, "prompt") {
        None => report.error(
            "MISSING_ITEM_PROMPT",
            path.key("prompt"),
            span,
            (
                format!("the item has no prompt{}", found(item, "prompt")),
                prompt_hint(item, "add `prompt:` with what is to be done"),
            ),
        ),
        Some(prompt) if prompt.trim().is_empty() => {
            report.error(
                "EMPTY_ITEM_PROMPT",
                path.key("prompt"),
                span,
                (
                    "the prompt of the item is blank".to_owned(),
                    "say what is to be done",
                ),
            );
        }
        Some(_) => {}
    }
    if item
        .get("workflow")
        .is_some_and(|node| node.as_str().is_none())
    {
        report.error(
            "INVALID_ITEM_WORKFLOW",
            path.key("workflow"),
            span_of(item, "workflow"),
            (
                format!(
                    "the workflow of an item must be a string{}",
                    found(item, "workflow")
                ),
                "write the name of a workflow, in quotes if it looks like a number",
            ),
        );
    }
    model(item, path, report);
    dependencies::check_form(item, path, report)
}

/// What to say about a prompt that is not there, or that is a mapping because
/// nobody quoted its braces.
fn prompt_hint(node: &Node, otherwise: &'static str) -> &'static str {
    match node.get("prompt").map(|prompt| &prompt.value) {
        Some(Value::Map(map)) if map.iter().any(|(key, _)| key.is_collection) => {
            "a text that begins with `{{` must stand in quotes"
        }
        Some(Value::Scalar(scalar)) if scalar.kind() != Kind::Null && !scalar.text.is_empty() => {
            "put the text in quotes"
        }
        Some(_) | None => otherwise,
    }
}

fn duplicate_id<'n>(
    item: &'n Node,
    seen: &mut HashSet<&'n str>,
    path: Path<'_>,
    report: &mut Report<'_>,
) {
    let Some(id) = filled(item, "id") else { return };
    if !seen.insert(id) {
        report.warning(
            "DUPLICATE_ITEM_ID",
            path.key("id"),
            span_of(item, "id"),
            (
                format!("an item above has the id `{id}` too"),
                "give each item of a collection an id of its own",
            ),
        );
    }
}

/// Checks that the collections that the phases of a workflow go through exist.
pub(super) fn collections_exist(root: &Node, workflow: &Node, report: &mut Report<'_>) {
    let collections = root.get("collections").map(entries).unwrap_or_default();
    if collections.is_empty() {
        let span = span_of(root, "collections");
        report.error(
            "EMPTY_COLLECTIONS",
            Path::ROOT.key("collections"),
            span,
            (
                "there is no collection in `collections`".to_owned(),
                "add one list, as in `step:` with `- prompt: …` below it",
            ),
        );
        return;
    }
    let names: HashSet<&str> = collections.iter().map(|(name, ..)| name.as_str()).collect();
    for phase in workflow
        .get("phases")
        .and_then(Node::as_seq)
        .unwrap_or_default()
    {
        let Some(name) = collection_of(phase) else {
            continue;
        };
        if !names.contains(name) {
            let span = span_of(root, "collections");
            collection_not_found(name, phase, span, &collections, report);
        }
    }
}

/// The name of the collection that a phase goes through.
pub(super) fn collection_of(phase: &Node) -> Option<&str> {
    let kind = filled(phase, "for-each")?;
    Some(
        phase
            .get("collection")
            .and_then(Node::as_str)
            .unwrap_or(kind),
    )
}

/// Tells that a phase goes through a collection that is not there.
pub(super) fn collection_not_found(
    name: &str,
    phase: &Node,
    span: Span,
    have: &[(String, Span, &Node)],
    report: &mut Report<'_>,
) {
    let names: Vec<String> = have.iter().map(|(name, ..)| format!("`{name}`")).collect();
    report.error(
        "COLLECTION_NOT_FOUND",
        Path::ROOT.key("collections").key(name),
        span,
        (
            format!(
                "the phase `{}` goes through the collection `{name}`, which is not here; here is {}",
                phase.get("id").and_then(Node::text).unwrap_or_default(),
                names.join(", ")
            ),
            "add the collection, or name another one at the phase with `collection:`",
        ),
    );
}

/// Checks a workflow on its own.
pub(super) fn workflow(root: Option<&Node>, report: &mut Report<'_>) {
    let Some(root) = root.filter(|root| is_object(root)) else {
        let span = root.map_or_else(top, |root| root.span);
        let what = root.map_or_else(|| "nothing".to_owned(), Node::describe);
        return report.error(
            "INVALID_WORKFLOW",
            Path::ROOT,
            span,
            (
                format!("a workflow is a mapping, not {what}"),
                "begin with `name:` and `phases:`",
            ),
        );
    };
    if filled(root, "name").is_none() {
        report.error(
            "MISSING_WORKFLOW_NAME",
            Path::ROOT.key("name"),
            span_of(root, "name"),
            (
                format!("the workflow has no name{}", found(root, "name")),
                "add `name:` with a few words",
            ),
        );
    }
    worktree::check_workflow(root, report);
    model(root, Path::ROOT, report);
    let path = Path::ROOT.key("phases");
    let span = span_of(root, "phases");
    match root.get("phases").and_then(Node::as_seq) {
        None => report.error(
            "MISSING_PHASES",
            path,
            span,
            (
                format!(
                    "the workflow has no list of phases{}",
                    found(root, "phases")
                ),
                if root.get("mode").and_then(Node::as_str) == Some("ralph") {
                    "`mode: ralph` is no longer a kind of workflow: write the work as phases"
                } else {
                    "add `phases:` with a list of `- id: …` and `prompt: …`"
                },
            ),
        ),
        Some([]) => report.error(
            "EMPTY_WORKFLOW",
            path,
            span,
            (
                "the list of phases is empty".to_owned(),
                "add at least one phase with `id` and `prompt`",
            ),
        ),
        Some(phases) => {
            let mut ids = HashSet::new();
            for (index, node) in phases.iter().enumerate() {
                phase(node, &mut ids, path.index(index), report);
            }
        }
    }
    report.unknown_keys(root, &WORKFLOW_SHAPE);
}

/// The start of a file.
pub(super) fn top() -> Span {
    Span {
        start: 0,
        end: 0,
        line: 1,
        column: 1,
    }
}

/// Warns of a workflow that does not say which version of the format it is in.
pub(super) fn schema_version(root: &Node, report: &mut Report<'_>) {
    let path = Path::ROOT.key("schema-version");
    let version = root.get("schema-version").filter(|node| is_truthy(node));
    let span = span_of(root, "schema-version");
    match version.and_then(Node::text) {
        None => report.warning(
            "SCHEMA_VERSION",
            path,
            span,
            (
                "the workflow does not say in which version of the format it is written".to_owned(),
                "add `schema-version: \"2.0\"`",
            ),
        ),
        Some("2.0" | "2") => {}
        Some(other) => report.warning(
            "SCHEMA_VERSION",
            path,
            span,
            (
                format!("the workflow is written in version {other} of the format; this is 2.0"),
                "check it against 2.0 and write `schema-version: \"2.0\"`",
            ),
        ),
    }
}

fn phase<'n>(node: &'n Node, ids: &mut HashSet<&'n str>, path: Path<'_>, report: &mut Report<'_>) {
    if !is_object(node) {
        return report.error(
            "INVALID_PHASE",
            path,
            node.span,
            (
                format!("a phase must be a mapping, not {}", node.describe()),
                "write `- id: …` with `prompt: …` below it",
            ),
        );
    }
    match filled(node, "id") {
        None => report.error(
            "MISSING_PHASE_ID",
            path.key("id"),
            span_of(node, "id"),
            (
                format!("the phase has no id{}", found(node, "id")),
                "add `id:` with a short name, in quotes if it looks like a number or a date",
            ),
        ),
        Some(id) => {
            if !ids.insert(id) {
                report.error(
                    "DUPLICATE_PHASE_ID",
                    path.key("id"),
                    span_of(node, "id"),
                    (
                        format!("a phase above has the id `{id}` too"),
                        "give each phase of a workflow an id of its own",
                    ),
                );
            }
        }
    }
    action(node, path, report);
    for_each(node, path, report);
    boolean(node, "parallel", "INVALID_PARALLEL", path, report);
    boolean(
        node,
        "wait-for-parallel",
        "INVALID_WAIT_FOR_PARALLEL",
        path,
        report,
    );
    let parallel = node.get("parallel").and_then(Node::as_bool) == Some(true);
    if parallel && node.get("for-each").is_some_and(is_truthy) {
        report.error(
            "PARALLEL_FOREACH_WARNING",
            path,
            span_of(node, "parallel"),
            (
                "a phase with `for-each` cannot be `parallel` as a whole".to_owned(),
                "set `parallel: true` on phases of the workflow that it uses",
            ),
        );
    }
    model(node, path, report);
    boolean(node, "break", "INVALID_BREAK", path, report);
    if let Some(gate_node) = node.get("gate") {
        gate(gate_node, span_of(node, "gate"), path.key("gate"), report);
    }
    if let Some(map) = node.as_map() {
        report.reader().claims(Place { map, path });
    }
}

/// Checks that a phase says what to do, and not two things.
fn action(node: &Node, path: Path<'_>, report: &mut Report<'_>) {
    let prompt = filled(node, "prompt").is_some();
    let for_each = filled(node, "for-each").is_some();
    let workflow = filled(node, "workflow").is_some();
    if prompt && workflow {
        report.error(
            "PROMPT_WORKFLOW_MUTUAL_EXCLUSIVE",
            path,
            span_of(node, "workflow"),
            (
                "the phase has both a prompt and a workflow".to_owned(),
                "keep one of them, or make two phases of it",
            ),
        );
    }
    if !prompt && !for_each && !workflow {
        report.error(
            "PHASE_MISSING_ACTION",
            path,
            span_of(node, "prompt"),
            (
                "the phase does not say what to do".to_owned(),
                prompt_hint(node, "add `prompt:`, `for-each:` or `workflow:`"),
            ),
        );
    }
}

fn for_each(node: &Node, path: Path<'_>, report: &mut Report<'_>) {
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
        let Some(value) = node.get(key) else { continue };
        let span = span_of(node, key);
        match value.as_str() {
            None => report.error(
                wrong_type,
                path.key(key),
                span,
                (
                    format!("`{key}` must be a string, not {}", value.describe()),
                    example,
                ),
            ),
            Some(text) if text.trim().is_empty() => {
                report.error(
                    empty,
                    path.key(key),
                    span,
                    (format!("`{key}` is empty"), example),
                );
            }
            Some(_) => {}
        }
    }
}

fn boolean(node: &Node, key: &str, code: &'static str, path: Path<'_>, report: &mut Report<'_>) {
    let Some(value) = node.get(key) else { return };
    if value.as_bool().is_none() {
        report.error(
            code,
            path.key(key),
            span_of(node, key),
            (
                format!("`{key}` must be true or false, not {}", value.describe()),
                "write `true` or `false`, without quotes",
            ),
        );
    }
}

fn gate(gate: &Node, span: Span, path: Path<'_>, report: &mut Report<'_>) {
    if !is_object(gate) {
        return report.error(
            "INVALID_GATE",
            path,
            span,
            (
                format!("a gate must be a mapping, not {}", gate.describe()),
                "write `script:` and `on-fail:` below it",
            ),
        );
    }
    required_text(
        gate,
        "script",
        ["GATE_MISSING_SCRIPT", "GATE_EMPTY_SCRIPT"],
        path,
        report,
        (
            "the gate has no script".to_owned(),
            "add `script:` with a command whose exit status says whether the work passes",
        ),
    );
    match gate.get("on-fail").filter(|node| is_object(node)) {
        None => report.error(
            "GATE_MISSING_ON_FAIL",
            path.key("on-fail"),
            span_of(gate, "on-fail"),
            (
                format!(
                    "the gate does not say what to do when it fails{}",
                    found(gate, "on-fail")
                ),
                "add `on-fail:` with `prompt:` below it",
            ),
        ),
        Some(on_fail) => {
            let path = path.key("on-fail");
            let codes = ["GATE_MISSING_ON_FAIL_PROMPT", "GATE_EMPTY_ON_FAIL_PROMPT"];
            required_text(
                on_fail,
                "prompt",
                codes,
                path,
                report,
                (
                    "`on-fail` has no prompt".to_owned(),
                    "add `prompt:` with what the agent is to mend",
                ),
            );
            max_retries(on_fail, path, report);
        }
    }
    if let Some(timeout) = gate.get("timeout") {
        // Not a number is not positive either.
        if !timeout.as_f64().is_some_and(|seconds| seconds > 0.0) {
            report.error(
                "GATE_INVALID_TIMEOUT",
                path.key("timeout"),
                span_of(gate, "timeout"),
                (
                    format!(
                        "the timeout must be a number of seconds above 0, not {}",
                        timeout.describe()
                    ),
                    "write the seconds as a number, as in `timeout: 60`",
                ),
            );
        }
    }
}

/// Checks a text that must be there (first code) and not be blank (second).
fn required_text(
    node: &Node,
    key: &str,
    codes: [&'static str; 2],
    path: Path<'_>,
    report: &mut Report<'_>,
    (missing, hint): Words<'_>,
) {
    let span = span_of(node, key);
    match node.get(key).and_then(Node::as_str) {
        None => {
            let message = format!("{missing}{}", found(node, key));
            report.error(codes[0], path.key(key), span, (message, hint));
        }
        Some(text) if text.trim().is_empty() => {
            report.error(
                codes[1],
                path.key(key),
                span,
                (format!("`{key}` is blank"), hint),
            );
        }
        Some(_) => {}
    }
}

fn max_retries(on_fail: &Node, path: Path<'_>, report: &mut Report<'_>) {
    let Some(value) = on_fail.get("max-retries") else {
        return;
    };
    if whole_number(value).is_none_or(|count| count < 1) {
        let span = span_of(on_fail, "max-retries");
        report.error(
            "GATE_INVALID_MAX_RETRIES",
            path.key("max-retries"),
            span,
            (
                format!(
                    "`max-retries` must be a whole number above 0, not {}",
                    value.describe()
                ),
                "write how often the script may run, as in `max-retries: 3`",
            ),
        );
    }
}

/// A number without a fraction, also when it is written `3.0` or `1e3`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float converts by saturating, and beyond the range any count will do"
)]
pub(super) fn whole_number(node: &Node) -> Option<i64> {
    match node.kind() {
        Some(Kind::Int(value)) => Some(value),
        Some(Kind::Float(value)) if value.is_finite() && value.fract() == 0.0 => Some(value as i64),
        Some(Kind::Float(_) | Kind::Null | Kind::Bool(_) | Kind::Timestamp | Kind::Text) | None => {
            None
        }
    }
}

/// Warns of limits that cannot be read. The original reads none of them, so
/// none is an error.
fn limits(root: &Node, report: &mut Report<'_>) {
    let Some(config) = root.get("config").filter(|node| !node.is_null()) else {
        return;
    };
    let path = Path::ROOT.key("config");
    let Some(map) = config.as_map() else {
        return report.warning(
            "INVALID_CONFIG",
            path,
            config.span,
            (
                format!("`config` must be a mapping, not {}", config.describe()),
                "write limits below it, as in `max-tasks: 5`",
            ),
        );
    };
    for (key, value) in map.iter() {
        let (fits, wanted) = match key.text.as_str() {
            "max-tasks" | "max-iterations" => (
                value.as_u64().is_some_and(|count| count > 0),
                "a whole number above 0",
            ),
            "time-box" => (
                value.text().and_then(parse_elapsed).is_some(),
                "a time such as `90s`, `45m`, `1h30m` or `4h`",
            ),
            "auto-commit" => (value.as_bool().is_some(), "true or false"),
            _ => continue,
        };
        if !fits && !value.is_null() {
            report.warning(
                "INVALID_CONFIG",
                path.key(&key.text),
                value.span,
                (
                    format!("`{}` must be {wanted}, not {}", key.text, value.describe()),
                    "correct the value; as it stands the limit does not hold",
                ),
            );
        }
    }
}

/// Warns of retry rules that cannot be read. Here too the original has no error.
fn retry(root: &Node, report: &mut Report<'_>) {
    const CATEGORIES: [&str; 5] = ["network", "rate-limit", "timeout", "validation", "logic"];
    let Some(retry) = root.get("retry").filter(|node| !node.is_null()) else {
        return;
    };
    let path = Path::ROOT.key("retry");
    let Some(map) = retry.as_map() else {
        return report.warning(
            "INVALID_RETRY",
            path,
            retry.span,
            (
                format!("`retry` must be a mapping, not {}", retry.describe()),
                "write `maxAttempts`, `backoffMs` and `retryOn` below it",
            ),
        );
    };
    let all = |value: &Node, fits: fn(&Node) -> bool| {
        value.as_seq().is_some_and(|list| list.iter().all(fits))
    };
    for (key, value) in map.iter() {
        let (fits, wanted) = match key.text.as_str() {
            "maxAttempts" => (value.as_u64().is_some(), "a whole number"),
            "backoffMs" => (
                all(value, |node| node.as_u64().is_some()),
                "a list of milliseconds, as in `[1000, 5000]`",
            ),
            "retryOn" => (
                all(value, |node| {
                    node.as_str().is_some_and(|name| CATEGORIES.contains(&name))
                }),
                "a list of `network`, `rate-limit`, `timeout`, `validation`, `logic`",
            ),
            _ => continue,
        };
        if !fits {
            report.warning(
                "INVALID_RETRY",
                path.key(&key.text),
                value.span,
                (
                    format!("`{}` must be {wanted}, not {}", key.text, value.describe()),
                    "correct the value; as it stands the rule does not hold",
                ),
            );
        }
    }
}
