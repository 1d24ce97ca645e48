//! What agents are told after an attempt that did not complete: what helped
//! before, to put the workspace in order, to split the item.

use piton_core::ItemRow;
use piton_core::attempt::{PIECES_MAX, PIECES_MIN, RecoveryAction};
use piton_core::recover::{FollowedRecovery, Rule};

use piton_core::quote::{first_line, render_fenced, render_list_item, render_quote};

/// How an agent that puts the workspace in order says what came of it.
pub(super) const REPAIR_REPORTING: &str = r#"## When you are finished

End with one fenced block of this form, and nothing after it:

```json
{"status": "STATUS", "summary": "what was wrong and what you did about it, in a sentence"}
```

STATUS is `completed` when the workspace is in order, `failed` (then add `"error": "why"`) or `needs-human` (then add `"humanNeeded": {"reason": "the question", "details": "what a person must know to answer it"}`)."#;

/// How an agent that splits an item names the pieces.
#[must_use]
pub(super) fn split_reporting() -> String {
    format!(
        r#"## When you are finished

End with one fenced block of this form, and nothing after it:

```json
{{"status": "STATUS", "summary": "how you split it, in a sentence", "pieces": [{{"title": "what the first piece is", "prompt": "all that its agent must know"}}, {{"title": "what the second piece is", "prompt": "all that its agent must know"}}]}}
```

STATUS is `completed`, `failed` (when it cannot be split; then add `"error": "why"`) or `needs-human` (then add `"humanNeeded": {{"reason": "the question", "details": "what a person must know to answer it"}}`). Name {PIECES_MIN} to {PIECES_MAX} pieces, in the order in which they are to be done, each with a title."#
    )
}

/// What a worker is told of what was decided after the last failure; none when
/// nothing was. `pieces` are those that the item was split into.
pub(super) fn recovery_part(item: &ItemRow, pieces: &[String]) -> Option<String> {
    let followed = item.tries.recovery.as_ref()?;
    match followed.action {
        RecoveryAction::Retry if followed.rule == Rule::InCircles => Some(format!(
            "## The attempt before went in circles\n\n{}",
            render_quote(followed.guidance.trim())
        )),
        RecoveryAction::Retry => Some(format!(
            "## What helped before\n\n{}{}",
            render_quote(followed.guidance.trim()),
            describe_sources(followed)
        )),
        RecoveryAction::FixState => Some(format!(
            "## The workspace was looked at first\n\nAnother agent was to put it in order. What was wrong:\n\n{}",
            render_list(&followed.evidence)
        )),
        RecoveryAction::BreakChunks if pieces.is_empty() => None,
        RecoveryAction::BreakChunks => Some(format!(
            "## It was split\n\nIts pieces are finished:\n\n{}\n\nDo what is left of the whole, and check that it holds together.",
            render_list(pieces)
        )),
        RecoveryAction::Skip | RecoveryAction::Manual => None,
    }
}

fn describe_sources(followed: &FollowedRecovery) -> String {
    if followed.evidence.is_empty() {
        return String::new();
    }
    let names = followed.evidence.iter().map(|name| first_line(name, 80));
    let names: Vec<String> = names.collect();
    format!("\n\n(This is from {}.)", names.join(", "))
}

fn render_list(texts: &[String]) -> String {
    let lines: Vec<String> = texts.iter().map(|text| render_list_item(text)).collect();
    lines.join("\n")
}

/// That an item is only a piece.
pub(super) fn piece_note(item: &ItemRow) -> Option<String> {
    let whole = item.plan.piece_of.as_ref()?;
    Some(format!(
        "This is a piece of `{whole}`, which was too large. Do this piece only; the others are done one by one, and the whole comes last."
    ))
}

/// The task of an agent that is to put the workspace in order.
pub(super) fn repair_task(item: &ItemRow) -> String {
    let evidence = item.tries.recovery.as_ref().map_or_else(
        || "nothing more is known".to_owned(),
        |followed| render_list(&followed.evidence),
    );
    format!(
        "## Your task\n\nPut the workspace in order, and nothing else. An attempt at **{}** failed, and the workspace or the environment looks like the reason:\n\n{evidence}\n\nFind out whether that is so, and mend it. Throw no work away that a person may need: keep it aside instead. Do not work on the item itself, whatever stands elsewhere; it is tried again after you.",
        item.node
    )
}

/// The task of an agent that is to split the item.
pub(super) fn split_task(item: &ItemRow) -> String {
    let evidence = item
        .tries
        .recovery
        .as_ref()
        .map_or_else(String::new, |followed| render_list(&followed.evidence));
    let task = item.plan.prompt.as_deref().unwrap_or_default().trim_end();
    let task = render_fenced(task);
    format!(
        "## Your task\n\nSplit **{}** into {PIECES_MIN} to {PIECES_MAX} pieces that can be done one by one, each by an agent that knows nothing of the others. It is too large for one attempt:\n\n{evidence}\n\nThis is what it asks for:\n\n{task}\n\nLook at what is done of it already, and leave that out. When all pieces are done, the whole is checked and finished: that is no piece. Do not work on it, change nothing, whatever stands elsewhere; only name the pieces.",
        item.node
    )
}
