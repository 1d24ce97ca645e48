//! How an agent says what came of its work: one way for each kind of plan, and
//! for an agent with piton's tools one call instead.

use super::{Ingredients, ReportBy, Templates};

/// The form, in which STATUS stands for a status: an agent that repeats its
/// prompt has not answered yet.
pub(super) const FORM: &str = r#"one fenced block of this form, and nothing after it:

```json
{"status": "STATUS", "summary": "what you did, in a sentence", "evidence": "the command that you ran, and what it said"}
```

STATUS is `completed`, `failed` or `blocked` (then add `"error": "why"`; blocked is what something outside of your work stands in the way of), or `needs-human` (then add `"humanNeeded": {"reason": "the question", "details": "what a person must know to answer it"}`). Say `completed` only when it is done."#;

const NOTICED: &str = "What the next one who works here must know and cannot see in the files, say before that, each in an XML element `observation` with the attribute `type` (`finding` or `blocker`) and the children `title` and `description`.";

const NOTICED_BY_TOOL: &str = "What the next one who works here must know and cannot see in the files goes into `observations` of `record`. `recall` with an error message finds what helped before.";

// No signal stands here as it is printed: an agent that repeats its prompt has
// not said anything yet.
/// That of a task file.
pub(super) const TASK: &str = "## When you are finished

Say in a sentence or two what you did and what you ran to check it, or what stands in the way. Then end with one line `<ralph>WORD</ralph>`, and nothing after it. WORD is `COMPLETE` when this criterion is true, `BLOCKED` when something stands in the way that you cannot move, `GUTTER` when you are stuck because the same thing fails again and again.";

const TASK_BY_TOOL: &str = "## When you are finished

Call the tool `record` of piton once, and end. Only if you have no such tool, say in a sentence or two what you did or what stands in the way, and end with one line `<ralph>WORD</ralph>`. WORD is `COMPLETE`, `BLOCKED` when something stands in the way that you cannot move, or `GUTTER` when the same thing fails again and again.";

/// How an agent reports that works on the item. A template of the author stands
/// as it is.
pub(super) fn of_work(templates: &Templates, of: &Ingredients<'_>) -> String {
    let has_tools = of.report_by == ReportBy::Tool;
    match templates.result_reporting.as_deref() {
        Some(TASK) if has_tools => format!("{TASK_BY_TOOL}\n\n{NOTICED_BY_TOOL}"),
        Some(own) => own.to_owned(),
        None if has_tools => format!(
            "## When you are finished\n\nCall the tool `record` of piton once, and end: nothing else is needed then. Only if you have no such tool, end with {FORM}\n\n{NOTICED_BY_TOOL}"
        ),
        None => format!("## When you are finished\n\nEnd with {FORM}\n\n{NOTICED}"),
    }
}
