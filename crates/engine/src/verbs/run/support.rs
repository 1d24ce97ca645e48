//! What is looked at in a plan before it is begun.

use piton_core::plan::{Plan, PlannedItem};
use piton_core::redact::Redactor;

use crate::failure::Failure;
use crate::notice::Notice;

/// A gate runs as it was recorded, and what is recorded holds no secret: one
/// whose script would be altered by that is refused. Prompts lose theirs, and
/// that is said.
pub(super) fn refuse_secrets(
    plan: &Plan,
    redactor: &Redactor,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    refuse_secrets_of(&plan.items, redactor, tell)?;
    for hook in &plan.policy.iteration_hooks {
        if let Some(found) = secret_in(&hook.prompt, redactor) {
            tell(Notice::Warning(&format!(
                "the prompt of the hook `{}` holds a secret ({found}); the agent gets it without",
                hook.id
            )));
        }
    }
    Ok(())
}

/// The same, of items.
pub(in crate::verbs) fn refuse_secrets_of(
    items: &[PlannedItem],
    redactor: &Redactor,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    for item in items {
        let script = item.gate.as_ref().map(|gate| gate.script.as_str());
        if let Some(found) = script.and_then(|script| secret_in(script, redactor)) {
            return Err(Failure::new(
                "plan.secret",
                format!("the gate of `{}` holds a secret ({found})", item.node),
            )
            .hint("put the secret into an environment variable, and use that in the script"));
        }
    }
    for item in items {
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
