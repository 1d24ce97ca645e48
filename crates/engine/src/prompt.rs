//! What an agent is told.
//!
//! Header, position, what went wrong before, what a person answered, the
//! node's own prompt, shared context, how to report: each part a template that
//! the plan's `prompts` may replace. Unknown variables stay as they are.

mod recovery;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use piton_core::{ItemRow, Node};
use piton_formats::{prd, task};

/// Most characters of shared context that go into a prompt.
const CONTEXT_CHARS_MAX: usize = 60_000;
/// How much of a file of shared context is read: more than goes into a prompt,
/// whatever it is written in, so that what is cut off is always said.
const CONTEXT_BYTES_MAX: u64 = 4 * (CONTEXT_CHARS_MAX as u64) + 4;
/// Most characters of a gate's output that go into a prompt.
const OUTPUT_CHARS_MAX: usize = 10_000;

const HEADER: &str = "# Sprint {{sprint-id}}";
const POSITION: &str = "You work on **{{node}}**: phase {{phase.index}} of {{phase.total}} (`{{phase.id}}`){{step.position}}{{sub-phase.position}}. This is iteration {{iteration}}.";
const RETRY_WARNING: &str = "## This was tried before\n\nIt failed (retries so far: {{retry-count}}):\n\n{{error}}\n\nFind out why before you do the same again.";
const GOES_ON: &str = "## You were interrupted\n\nYou have begun with this already; it was ended from outside. See what is done, and go on from there.";
const RESULT_REPORTING: &str = r#"## When you are finished

End with one fenced block of this form, and nothing after it:

```json
{"status": "STATUS", "summary": "what you did, in a sentence"}
```

STATUS is `completed`, `failed` or `blocked` (then add `"error": "why"`; blocked is what something outside of your work stands in the way of), or `needs-human` (then add `"humanNeeded": {"reason": "the question", "details": "what a person must know to answer it"}`). Say `completed` only when it is done.

What the next one who works here must know and cannot see in the files, say before that block, each in an XML element `observation` with the attribute `type` (`finding` or `blocker`) and the children `title` and `description`."#;

/// The templates of a plan, by their names in its `prompts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Templates {
    /// Before everything else.
    pub header: Option<String>,
    /// Where the agent stands in the plan.
    pub position: Option<String>,
    /// What failed before; only after a failure.
    pub retry_warning: Option<String>,
    /// Further rules of the plan's author.
    pub instructions: Option<String>,
    /// How to say what came of it.
    pub result_reporting: Option<String>,
}

impl Templates {
    /// Those of a plan in one file, at `source`; none for a sprint, which may
    /// bring its own.
    #[must_use]
    pub fn of_file(face: &str, source: &str) -> Option<Self> {
        match face {
            prd::FACE => Some(Self {
                header: Some(format!("# The list in {source}")),
                position: Some("You work on **{{node}}**, item {{phase.index}} of {{phase.total}}. This is iteration {{iteration}}.".to_owned()),
                instructions: Some(format!("## Rules\n\nWork on this item only. Leave `passes` in {source} as it stands: piton sets it when there is evidence that the item is done.")),
                ..Self::default()
            }),
            task::FACE => Some(Self {
                header: Some(format!("# The task in {source}")),
                position: Some("You work on the criterion **{{node}}**. This is iteration {{iteration}}.".to_owned()),
                instructions: Some(format!("## Rules\n\nWork on this criterion only. Do not tick its box in {source} yourself: piton ticks it when there is evidence that it is true.")),
                result_reporting: Some(TASK_REPORTING.to_owned()),
                ..Self::default()
            }),
            _ => None,
        }
    }
}

// No signal stands here as it is printed: an agent that repeats its prompt has
// not said anything yet.
const TASK_REPORTING: &str = "## When you are finished

Say in a sentence or two what you did, or what stands in the way. Then end with one line `<ralph>WORD</ralph>`, and nothing after it. WORD is `COMPLETE` when this criterion is true, `BLOCKED` when something stands in the way that you cannot move, `GUTTER` when you are stuck because the same thing fails again and again.";

/// One level of the place at which an agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// The id.
    pub id: String,
    /// The prompt of that level, if it has one.
    pub prompt: String,
    /// Which of its siblings, from 1.
    pub index: u32,
    /// How many siblings there are, itself included.
    pub total: u32,
}

/// Everything that a prompt is made of.
#[derive(Clone, Debug)]
pub struct Ingredients<'a> {
    /// The sprint's id.
    pub sprint_id: &'a str,
    /// Which agent of this run it is, from 1.
    pub iteration: u32,
    /// Phase, step and sub-phase, as far as there are any.
    pub levels: Vec<Level>,
    /// The item.
    pub item: &'a ItemRow,
    /// Files that every agent of the sprint is shown: name and text.
    pub context: Vec<(String, String)>,
    /// What is known that matters here, which stands before everything else: see
    /// [`crate::preparing`].
    pub known: Option<String>,
    /// The pieces that the item was split into, each with what came of it.
    pub pieces: Vec<String>,
    /// Whether the agent goes on in a conversation that was interrupted.
    pub goes_on: bool,
    /// The item whose attempt marked this one as done.
    pub claimed_at: Option<Node>,
}

/// The prompt of a worker.
#[must_use]
pub fn worker(templates: &Templates, of: &Ingredients<'_>) -> String {
    whole(templates, of, &worker_task(of), None)
}

/// The prompt of an agent that is to mend what a gate found.
#[must_use]
pub fn gate_fix(templates: &Templates, of: &Ingredients<'_>) -> String {
    whole(templates, of, &gate_fix_task(of.item), None)
}

/// The prompt of an agent that is to put the workspace in order.
#[must_use]
pub fn repair(templates: &Templates, of: &Ingredients<'_>) -> String {
    let reporting = recovery::REPAIR_REPORTING;
    whole(
        templates,
        of,
        &recovery::repair_task(of.item),
        Some(reporting),
    )
}

/// The prompt of an agent that is to split the item.
#[must_use]
pub fn split(templates: &Templates, of: &Ingredients<'_>) -> String {
    let reporting = recovery::split_reporting();
    whole(
        templates,
        of,
        &recovery::split_task(of.item),
        Some(&reporting),
    )
}

/// The prompt that asks once more, in the same conversation, what came of an
/// item: all else stands there already.
#[must_use]
pub fn verdict(templates: &Templates, of: &Ingredients<'_>) -> String {
    let variables = variables(of);
    let reporting = templates.result_reporting.as_deref();
    join(&[
        verdict_task(of.item),
        expand(reporting.unwrap_or(RESULT_REPORTING), &variables),
    ])
}

/// All parts of a prompt. Only the task is another for each role, so that what
/// one of them is told is not forgotten for the other. A role whose answer has
/// a form of its own brings how to `report` it.
fn whole(templates: &Templates, of: &Ingredients<'_>, task: &str, report: Option<&str>) -> String {
    let variables = variables(of);
    let fill =
        |own: &Option<String>, default: &str| expand(own.as_deref().unwrap_or(default), &variables);
    let mut parts: Vec<String> = of.known.iter().cloned().collect();
    parts.push(fill(&templates.header, HEADER));
    parts.push(fill(&templates.position, POSITION));
    if of.goes_on {
        parts.push(GOES_ON.to_owned());
    } else if of.item.error.is_some() && of.item.put_off == 0 {
        parts.push(fill(&templates.retry_warning, RETRY_WARNING));
    }
    if report.is_none() {
        parts.extend(recovery::followed(of.item, &of.pieces));
    }
    if let Some(answer) = &of.item.answer {
        parts.push(format!("## A person answered\n\n{answer}"));
    }
    parts.push(task.to_owned());
    parts.extend(
        templates
            .instructions
            .as_deref()
            .map(|text| expand(text, &variables)),
    );
    parts.extend(context(&of.context));
    parts.push(report.map_or_else(
        || fill(&templates.result_reporting, RESULT_REPORTING),
        str::to_owned,
    ));
    join(&parts)
}

fn worker_task(of: &Ingredients<'_>) -> String {
    let item = of.item;
    let task = item.prompt.as_deref().unwrap_or_default();
    let mut text = format!("## Your task\n\n{}", task.trim_end());
    if let Some(piece) = recovery::piece(item) {
        text.push_str(&format!("\n\n{piece}"));
    }
    if let Some(at) = &of.claimed_at {
        text.push_str(&format!(
            "\n\nAn earlier attempt (at `{at}`) marked this item as done: see whether it is; if it is, say completed and why."
        ));
    }
    text
}

fn verdict_task(item: &ItemRow) -> String {
    if item.made_no_progress {
        return end_task(item);
    }
    format!(
        "## What came of it?\n\nYour turn on **{}** is over, and nothing in what you printed says in the form that was asked for whether it is done. A text that sounds as if it were does not count, and a block that is cut off or has another status does not either.\n\nNobody reads this while you work, and no question is answered in time: decide what you can decide. What ran in the background has ended with your turn; run it again and wait for its end. If something is left to do, do it now. Then report what is true now, also when it failed or when only a person can go on.",
        item.node
    )
}

/// What an agent is asked that worked on and changed nothing.
fn end_task(item: &ItemRow) -> String {
    format!(
        "## Come to an end\n\nYou were stopped: for a long time and over many calls your work on **{}** changed nothing. The work tree is as you left it, and what ran in the background has ended.\n\nStop exploring. Finish now what you can finish with what you know, and leave the rest. Nobody reads this while you work, and no question is answered in time. Then end with the report that is asked for below: say what is done and what is left, also when it failed or when only a person can go on.",
        item.node
    )
}

fn gate_fix_task(item: &ItemRow) -> String {
    let runs = item.gate_runs.clone().unwrap_or_default();
    let task = item
        .gate_to_pass()
        .map_or("", |gate| gate.on_fail_prompt.trim_end());
    let code = runs
        .exit
        .map_or_else(|| "none".to_owned(), |code| code.to_string());
    let output = tail(&runs.output, OUTPUT_CHARS_MAX);
    let fence = fence_for(output);
    format!(
        "## Your task\n\nThe check of **{}** failed. {task}\n\n## Output of the check (exit status {code})\n\n{fence}\n{output}\n{fence}",
        item.node
    )
}

/// The files of a sprint that every agent is shown, name and text. What is not
/// UTF-8 reads as U+FFFD; of a long one, the beginning.
pub(crate) fn read_context(folder: &Path) -> Vec<(String, String)> {
    ["_shared.md", "_shared-context.md"]
        .iter()
        .filter_map(|name| {
            let text = beginning(&folder.join("context").join(name)).ok()?;
            (!text.trim().is_empty()).then(|| ((*name).to_owned(), text))
        })
        .collect()
}

fn beginning(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(CONTEXT_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn join(parts: &[String]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| part.trim_end())
        .filter(|part| !part.is_empty())
        .collect();
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

fn context(files: &[(String, String)]) -> Option<String> {
    let mut left = CONTEXT_CHARS_MAX;
    let mut text = String::new();
    for (name, content) in files {
        let part: String = content.chars().take(left).collect();
        let cut = part.len() < content.len();
        left -= part.chars().count();
        text.push_str(&format!(
            "## Shared context ({name})\n\n{}\n",
            part.trim_end()
        ));
        if cut {
            text.push_str(&format!(
                "\n(The rest of {name} is left out: it is too long.)\n"
            ));
        }
        text.push('\n');
    }
    (!text.is_empty()).then_some(text)
}

/// A fence that the text itself does not contain.
fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn tail(text: &str, chars_max: usize) -> &str {
    let count = text.chars().count();
    if count <= chars_max {
        return text;
    }
    text.char_indices()
        .nth(count - chars_max)
        .map_or(text, |(start, _)| &text[start..])
}

fn variables(of: &Ingredients<'_>) -> BTreeMap<String, String> {
    let mut known = BTreeMap::from([
        ("sprint-id".to_owned(), of.sprint_id.to_owned()),
        ("iteration".to_owned(), of.iteration.to_string()),
        ("node".to_owned(), of.item.node.to_string()),
        ("retry-count".to_owned(), of.item.retries.to_string()),
        (
            "error".to_owned(),
            of.item.error.clone().unwrap_or_default(),
        ),
    ]);
    for (index, name) in ["phase", "step", "sub-phase"].into_iter().enumerate() {
        let level = of.levels.get(index).cloned().unwrap_or_default();
        let position = match of.levels.get(index) {
            Some(level) => format!(
                ", {name} {} of {} (`{}`)",
                level.index, level.total, level.id
            ),
            None => String::new(),
        };
        known.insert(format!("{name}.position"), position);
        known.insert(format!("{name}.id"), level.id);
        known.insert(format!("{name}.prompt"), level.prompt);
        known.insert(format!("{name}.index"), level.index.to_string());
        known.insert(format!("{name}.total"), level.total.to_string());
    }
    known
}

/// Puts the known variables in; what stands for one is never expanded again.
fn expand(template: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        out.push_str(&rest[..start]);
        let inner = &rest[start + 2..];
        let known = inner
            .find("}}")
            .and_then(|end| Some((end, variables.get(inner[..end].trim())?)));
        match known {
            Some((end, value)) => {
                out.push_str(value);
                rest = &inner[end + 2..];
            }
            None => {
                out.push_str("{{");
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_once_and_unknown_ones_stay() {
        let variables = BTreeMap::from([
            ("a".to_owned(), "{{b}}".to_owned()),
            ("b".to_owned(), "x".to_owned()),
        ]);
        assert_eq!(
            expand("{{a}} {{ b }} {{c}} {{", &variables),
            "{{b}} x {{c}} {{"
        );
    }

    #[test]
    fn a_prompt_holds_no_signal_that_could_be_taken_for_an_answer() {
        for face in [prd::FACE, task::FACE] {
            let templates = Templates::of_file(face, "X").expect("a plan in a file");
            let said = [templates.instructions, templates.result_reporting];
            for text in said.into_iter().flatten() {
                assert_eq!(piton_formats::ralph_dir::signals::signals(&text), []);
            }
        }
    }

    fn item() -> ItemRow {
        let row = serde_json::json!({
            "run": piton_core::RunId::PROJECT, "node": "build/login", "id": "login",
            "place": [0], "state": "working", "prompt": "write it",
        });
        serde_json::from_value(row).expect("an item")
    }

    fn ingredients(item: &ItemRow) -> Ingredients<'_> {
        Ingredients {
            sprint_id: "auth",
            iteration: 2,
            levels: Vec::new(),
            item,
            context: Vec::new(),
            known: None,
            pieces: Vec::new(),
            goes_on: false,
            claimed_at: None,
        }
    }

    #[test]
    fn asking_once_more_ends_with_the_form_of_the_plan() {
        let item = item();
        let plain = verdict(&Templates::default(), &ingredients(&item));
        assert!(plain.contains("**build/login**"), "{plain}");
        assert!(plain.contains(RESULT_REPORTING), "{plain}");
        let own = Templates {
            result_reporting: Some("End with DONE {{node}}.".to_owned()),
            ..Templates::default()
        };
        let own = verdict(&own, &ingredients(&item));
        assert!(own.ends_with("\n\nEnd with DONE build/login.\n"), "{own}");
    }

    #[test]
    fn an_agent_without_progress_is_asked_to_come_to_an_end() {
        let stopped = ItemRow {
            made_no_progress: true,
            ..item()
        };
        let text = verdict(&Templates::default(), &ingredients(&stopped));
        assert!(text.starts_with("## Come to an end"), "{text}");
        assert!(text.contains("**build/login**"), "{text}");
        assert!(text.contains("leave the rest"), "{text}");
        assert!(text.contains(RESULT_REPORTING), "{text}");
        assert!(!crate::answer::is_account(&text), "{text}");
    }

    #[test]
    fn an_agent_that_repeats_its_prompt_has_not_answered() {
        let item = item();
        let of = ingredients(&item);
        let task = Templates::of_file(task::FACE, "X").expect("a plan in a file");
        for templates in [Templates::default(), task] {
            for prompt in [worker(&templates, &of), verdict(&templates, &of)] {
                assert!(!crate::answer::is_account(&prompt), "{prompt}");
            }
        }
        for prompt in [repair, split] {
            assert!(!crate::answer::is_account(&prompt(
                &Templates::default(),
                &of
            )));
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_within() {
        assert_eq!(fence_for("plain"), "```");
        assert_eq!(fence_for("a ```` b"), "`````");
    }

    #[test]
    fn long_context_is_cut_and_says_so() {
        let long = "x".repeat(CONTEXT_CHARS_MAX + 1);
        let text = context(&[("_shared.md".to_owned(), long)]).expect("there is context");
        assert!(text.contains("too long"));
        assert!(text.len() < CONTEXT_CHARS_MAX + 200);
    }
}
