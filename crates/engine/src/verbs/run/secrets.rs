//! What is looked at in a plan before it is begun.

use piton_core::Node;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::redact::Redactor;

use crate::failure::Failure;
use crate::failure::notice::Notice;

/// A gate runs as it was recorded, and what is recorded holds no secret: one
/// whose script would be altered by that is refused. Prompts lose theirs, and
/// that is said.
pub(super) fn refuse_secrets(
    plan: &Plan,
    redactor: &Redactor,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    refuse_secrets_in_items(&plan.items, redactor, tell)?;
    for hook in &plan.policy.iteration_hooks {
        if let Some(found) = find_secret(&hook.prompt, redactor) {
            tell(Notice::Warning(&format!(
                "the prompt of the hook `{}` holds a secret ({found}); the agent gets it without",
                hook.id
            )));
        }
    }
    Ok(())
}

/// The same, of items.
pub(in crate::verbs) fn refuse_secrets_in_items(
    items: &[PlannedItem],
    redactor: &Redactor,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    for item in items {
        let script = item.gate.as_ref().map(|gate| gate.script.as_str());
        refuse_secrets_in_check(item.node.as_str(), script, redactor)?;
    }
    for item in items {
        let on_fail = item.gate.as_ref().map(|gate| &gate.on_fail_prompt);
        let prompts = item.prompt.iter().chain(on_fail);
        warn_of_secrets(&item.node, prompts, redactor, tell);
    }
    Ok(())
}

/// Names the secrets in what an agent is to be told of an item.
pub(in crate::verbs) fn warn_of_secrets<'t>(
    node: &Node,
    prompts: impl Iterator<Item = &'t String>,
    redactor: &Redactor,
    tell: &mut dyn FnMut(Notice<'_>),
) {
    for found in prompts.filter_map(|prompt| find_secret(prompt, redactor)) {
        tell(Notice::Warning(&format!(
            "the prompt of `{node}` holds a secret ({found}); the agent gets it without"
        )));
    }
}

/// The same, of a check that is to be that of an item.
pub(in crate::verbs) fn refuse_secrets_in_check(
    node: &str,
    check: Option<&str>,
    redactor: &Redactor,
) -> Result<(), Failure> {
    let found = check.and_then(|check| find_secret(check, redactor));
    match found {
        None => Ok(()),
        Some(found) => Err(Failure::new(
            "plan.secret",
            format!("the gate of `{node}` holds a secret ({found})"),
        )
        .with_hint("put the secret into an environment variable, and use that in the script")),
    }
}

/// What kind of secret a text holds, if it holds one.
fn find_secret(text: &str, redactor: &Redactor) -> Option<String> {
    let redacted = redactor.redact(text);
    if redacted == text {
        return None;
    }
    let (_, mark) = redacted.split_once("[redacted:")?;
    mark.split_once(']').map(|(name, _)| name.to_owned())
}
