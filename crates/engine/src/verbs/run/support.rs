//! What a sprint asks for that piton cannot do yet: refused by name, never
//! silently passed over.

use piton_core::plan::Plan;
use piton_core::redact::Redactor;
use piton_formats::sprint::{PhaseNode, Progress};
use piton_formats::yaml::Node;

use crate::failure::Failure;
use crate::notice::Notice;

/// Whether a sprint asks for it.
type Asks = fn(&Progress) -> bool;

/// What a sprint may ask for that piton cannot do yet, and how to see that it does.
const UNSUPPORTED: &[(&str, Asks)] = &[
    ("worktree", |progress| {
        is_enabled(progress.worktree.as_ref())
    }),
    ("orchestration", |progress| {
        is_enabled(progress.orchestration.as_ref())
    }),
    ("per-iteration-hooks", |progress| {
        let hooks = progress
            .per_iteration_hooks
            .as_ref()
            .and_then(|hooks| hooks.as_seq());
        hooks.is_some_and(|hooks| hooks.iter().any(|hook| is_enabled(Some(hook))))
    }),
];

fn is_enabled(node: Option<&Node>) -> bool {
    node.and_then(|node| node.get("enabled"))
        .and_then(Node::as_bool)
        == Some(true)
}

pub(crate) fn refuse_unsupported(progress: &Progress, ignore: &[String]) -> Result<(), Failure> {
    let missing: Vec<&str> = UNSUPPORTED
        .iter()
        .filter(|(key, asks)| asks(progress) && !ignore.iter().any(|ignored| ignored == key))
        .map(|(key, _)| *key)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let flags: Vec<String> = missing
        .iter()
        .map(|key| format!("--ignore {key}"))
        .collect();
    Err(Failure::new(
        "plan.unsupported",
        format!(
            "the sprint enables what piton does not do yet: {}",
            missing.join(", ")
        ),
    )
    .hint(format!(
        "leave it out of the plan, or run without it: `{}`",
        flags.join(" ")
    )))
}

/// Says what is done one after another although the plan allows more.
pub(super) fn warn_sequential(progress: &Progress, tell: &mut dyn FnMut(Notice<'_>)) {
    let mut keys = Vec::new();
    let mut nodes: Vec<&PhaseNode> = progress.phases.iter().collect();
    while let Some(node) = nodes.pop() {
        keys.extend((node.parallel == Some(true)).then_some("parallel"));
        keys.extend((node.wait_for_parallel == Some(true)).then_some("wait-for-parallel"));
        keys.extend((!node.depends_on.is_empty()).then_some("depends-on"));
        nodes.extend(node.children.as_slice());
    }
    keys.extend(is_enabled(progress.parallel_execution.as_ref()).then_some("parallel-execution"));
    keys.sort_unstable();
    keys.dedup();
    if !keys.is_empty() {
        tell(Notice::Warning(&format!(
            "{}: done one after another, in an order that the dependencies allow",
            keys.join(", ")
        )));
    }
}

/// A gate runs as it was recorded, and what is recorded holds no secret: one
/// whose script would be altered by that is refused. Prompts lose theirs, and
/// that is said.
pub(super) fn refuse_secrets(
    plan: &Plan,
    redactor: &Redactor,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    for item in &plan.items {
        let script = item.gate.as_ref().map(|gate| gate.script.as_str());
        if let Some(found) = script.and_then(|script| secret_in(script, redactor)) {
            return Err(Failure::new(
                "plan.secret",
                format!("the gate of `{}` holds a secret ({found})", item.node),
            )
            .hint("put the secret into an environment variable, and use that in the script"));
        }
    }
    for item in &plan.items {
        let on_fail = item.gate.as_ref().map(|gate| &gate.on_fail_prompt);
        let prompts = item.prompt.iter().chain(on_fail);
        for found in prompts.filter_map(|prompt| secret_in(prompt, redactor)) {
            tell(Notice::Warning(&format!(
                "the prompt of `{}` holds a secret ({found}); the agent gets it without",
                item.node
            )));
        }
    }
    Ok(())
}

/// What kind of secret a text holds, if it holds one.
fn secret_in(text: &str, redactor: &Redactor) -> Option<String> {
    let redacted = redactor.redact(text);
    if redacted == text {
        return None;
    }
    let (_, mark) = redacted.split_once("[redacted:")?;
    mark.split_once(']').map(|(name, _)| name.to_owned())
}
