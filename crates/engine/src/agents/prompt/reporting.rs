//! How an agent says what came of its work: one way for each kind of plan, and
//! for an agent with piton's tools one call instead.

use super::PromptTemplates;
use super::input::{PromptInput, ReportBy};

/// The form, in which STATUS stands for a status: an agent that repeats its
/// prompt has not answered yet.
pub(super) const FORM: &str = r#"one fenced block of this form, and nothing after it:

```json
{"status": "STATUS", "summary": "what you did, in a sentence", "evidence": "the command that you ran, and what it said"}
```

STATUS is `completed`, `failed` or `blocked` (then add `"error": "why"`; blocked is what something outside of your work stands in the way of), or `needs-human` (then add `"humanNeeded": {"reason": "the question", "details": "what a person must know to answer it"}`). Say `completed` only when it is done."#;

const NOTICED: &str = "What the next one who works here must know and cannot see in the files, say before that, each in an XML element `observation` with the attribute `type` (`finding` or `blocker`) and the children `title` and `description`.";

const NOTICED_BY_TOOL: &str = "What the next one who works here must know and cannot see in the files goes into `observations` of `record`. `recall` with an error message finds what helped before.";

/// How an agent reports that works on the item. A template of the author stands
/// as it is.
pub(super) fn work_reporting(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let has_tools = of.report_by == ReportBy::Tool;
    let by_tool = templates.reporting_by_tool.as_deref().filter(|_| has_tools);
    match (by_tool, templates.result_reporting.as_deref()) {
        (Some(by_tool), _) => format!("{by_tool}\n\n{NOTICED_BY_TOOL}"),
        (None, Some(own)) => own.to_owned(),
        (None, None) if has_tools => format!(
            "## When you are finished\n\nCall the tool `record` of piton once, and end: nothing else is needed then. Only if you have no such tool, end with {FORM}\n\n{NOTICED_BY_TOOL}"
        ),
        (None, None) => format!("## When you are finished\n\nEnd with {FORM}\n\n{NOTICED}"),
    }
}
