//! What an agent is told.
//!
//! Each part is a template that the plan's `prompts` may replace, or is made
//! here: see `docs/design/0017-prompts.md`. Unknown variables stay as they are.
//! Nothing is looked up: the runner gathers the [`PromptInput`].

mod input;
mod parts;
mod recovery;
mod reporting;

use crate::project::Project;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;

use piton_core::quote::{render_fenced, shorten_middle};
pub use piton_formats::plan_format::PromptTemplates;

pub use self::input::{
    CommitBy, DoneItem, LaterCheck, Level, OwnWorktree, PromptHistory, PromptInput,
    PromptRepositories, ReportBy, ReviewInput,
};

/// Most characters of shared context that go into a prompt.
const CONTEXT_CHARS_MAX: usize = 60_000;
/// How much of a file of shared context is read: more than goes into a prompt,
/// whatever it is written in, so that what is cut off is always said.
const CONTEXT_BYTES_MAX: u64 = 4 * (CONTEXT_CHARS_MAX as u64) + 4;

const HEADER: &str = "# Sprint {{sprint-id}}: {{node}}";
const POSITION: &str = "You work on phase {{phase.index}} of {{phase.total}} (`{{phase.id}}`){{step.position}}{{sub-phase.position}}. Attempt {{attempt}}.";
const UNATTENDED: &str = "No person is watching or can answer: do not ask and wait. Decide what you can, and say at the end what you decided.";

/// What is another for each role.
struct RoleParts {
    task: String,
    check: Option<String>,
    rules: String,
    report: String,
    /// Whether the agent does the work of the item.
    is_work: bool,
}

/// The prompt of a worker.
#[must_use]
pub fn render_worker_prompt(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let has_form = templates.result_reporting.is_none();
    let role = RoleParts {
        task: parts::worker_task(of),
        check: Some(parts::check_part(of, has_form)),
        rules: parts::rules_part(templates, of),
        report: reporting::work_reporting(templates, of),
        is_work: true,
    };
    render_prompt(templates, of, &role)
}

/// The prompt of an agent that is to mend what a gate found.
#[must_use]
pub fn render_gate_fix_prompt(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let role = RoleParts {
        task: parts::gate_fix_task(of.item),
        check: Some(parts::fix_check_part(of.item)),
        rules: parts::rules_part(templates, of),
        report: reporting::work_reporting(templates, of),
        is_work: true,
    };
    render_prompt(templates, of, &role)
}

/// The prompt of an agent that is to bring its work together with what was merged.
#[must_use]
pub fn render_resolve_prompt(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let role = RoleParts {
        task: parts::resolve_task(of),
        check: Some(parts::check_part(of, templates.result_reporting.is_none())),
        rules: parts::rules_part(templates, of),
        report: reporting::work_reporting(templates, of),
        is_work: true,
    };
    render_prompt(templates, of, &role)
}

/// The prompt of an agent that is to review what others made of the item.
#[must_use]
pub fn render_review_prompt(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let form = of.review.as_ref().map_or("", |review| review.form);
    let role = RoleParts {
        task: parts::review_task(of),
        check: None,
        rules: "## Rules\n\nChange no file, commit nothing, and leave nothing running: the verdict of a reviewer that changes the work under review does not count.".to_owned(),
        report: format!("## When you are finished\n\n{form}"),
        is_work: false,
    };
    render_prompt(templates, of, &role)
}

/// The prompt of an agent that is to put the workspace in order.
#[must_use]
pub fn render_repair_prompt(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let role = RoleParts {
        task: recovery::repair_task(of.item),
        check: None,
        rules: parts::repair_rules_part(templates, of),
        report: recovery::REPAIR_REPORTING.to_owned(),
        is_work: false,
    };
    render_prompt(templates, of, &role)
}

/// The prompt of an agent that is to split the item.
#[must_use]
pub fn render_split_prompt(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let role = RoleParts {
        task: recovery::split_task(of.item),
        check: None,
        rules: "## Rules\n\nChange nothing, and leave nothing running.".to_owned(),
        report: recovery::split_reporting(),
        is_work: false,
    };
    render_prompt(templates, of, &role)
}

/// The prompt that asks once more, in the same conversation, what came of an
/// item: all else stands there already.
#[must_use]
pub fn render_verdict_prompt(templates: &PromptTemplates, of: &PromptInput<'_>) -> String {
    let mut texts = vec![parts::verdict_task(of.item)];
    texts.extend(parts::person_part(of));
    texts.push(expand_template(
        &reporting::work_reporting(templates, of),
        &template_variables(of),
    ));
    join_parts(&texts)
}

/// All parts of a prompt.
fn render_prompt(templates: &PromptTemplates, of: &PromptInput<'_>, role: &RoleParts) -> String {
    let variables = template_variables(of);
    let fill = |own: &Option<String>, default: &str| {
        expand_template(own.as_deref().unwrap_or(default), &variables)
    };
    let mut texts: Vec<String> = parts::guardrails_part(of).into_iter().collect();
    texts.push(fill(&templates.header, HEADER));
    texts.push(fill(&templates.position, POSITION));
    texts.push(UNATTENDED.to_owned());
    texts.extend(of.worktree.as_ref().map(parts::worktree_part));
    texts.push(role.task.clone());
    texts.extend(role.check.clone());
    texts.extend(parts::done_part(of));
    let own_warning = templates
        .retry_warning
        .as_deref()
        .filter(|_| !of.past.tries.is_empty() && !of.goes_on)
        .map(|template| expand_template(template, &variables));
    let failures = own_warning.or_else(|| parts::failures_part(of));
    if let Some(failures) = failures {
        texts.push(failures);
        texts.extend(parts::leftover_files_part(of));
    }
    texts.extend(parts::person_part(of));
    if role.is_work {
        texts.extend(recovery::recovery_part(of.item, &of.pieces));
    }
    texts.extend(parts::memory_part(of));
    texts.push(expand_template(&role.rules, &variables));
    texts.extend(
        templates
            .instructions
            .as_deref()
            .map(|text| expand_template(text, &variables)),
    );
    texts.extend(render_context(&of.context));
    texts.push(expand_template(&role.report, &variables));
    join_parts(&texts)
}

/// The files of a sprint that every agent is shown, name and text. What is not
/// UTF-8 reads as U+FFFD; of a long one, the beginning.
pub(crate) fn read_context(project: &Project, folder: &Path) -> Vec<(String, String)> {
    ["_shared.md", "_shared-context.md"]
        .iter()
        .filter_map(|name| {
            let path = folder.join("context").join(name);
            let text = read_beginning(&project.resolve_inside(&path).ok()?).ok()?;
            (!text.trim().is_empty()).then(|| ((*name).to_owned(), text))
        })
        .collect()
}

fn read_beginning(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    crate::world::input::open_file(path)?
        .take(CONTEXT_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn join_parts(parts: &[String]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| part.trim_end())
        .filter(|part| !part.is_empty())
        .collect();
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

fn render_context(files: &[(String, String)]) -> Option<String> {
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

/// The last failure, for a template of the author: as it is where it is a plain
/// line, fenced where it could be taken for more than that.
fn last_error(of: &PromptInput<'_>) -> String {
    let last = of.past.tries.last();
    let error = last.map_or("", |last| last.error.trim());
    let is_plain = !error.contains(['\n', '\r', '"', '<', '`', '~', '#']);
    if is_plain {
        return error.to_owned();
    }
    format!(
        "\n\n{}\n",
        render_fenced(&shorten_middle(error, parts::ERROR_CHARS_MAX))
    )
}

fn template_variables(of: &PromptInput<'_>) -> BTreeMap<String, String> {
    let failed = u32::try_from(of.past.tries.len()).unwrap_or(u32::MAX);
    let failed = failed.max(of.item.tries.retries);
    let mut known = BTreeMap::from([
        ("sprint-id".to_owned(), of.sprint_id.to_owned()),
        ("iteration".to_owned(), of.iteration.to_string()),
        ("node".to_owned(), of.item.node.to_string()),
        ("attempt".to_owned(), of.item.attempts.max(1).to_string()),
        ("retry-count".to_owned(), failed.to_string()),
        ("error".to_owned(), last_error(of)),
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
fn expand_template(template: &str, variables: &BTreeMap<String, String>) -> String {
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
    use piton_core::ItemRow;

    use super::*;
    use crate::agents::answer::tag_signals::parse_tag_signals;

    #[test]
    fn variables_are_put_in_once_and_unknown_ones_stay() {
        let variables = BTreeMap::from([
            ("a".to_owned(), "{{b}}".to_owned()),
            ("b".to_owned(), "x".to_owned()),
        ]);
        assert_eq!(
            expand_template("{{a}} {{ b }} {{c}} {{", &variables),
            "{{b}} x {{c}} {{"
        );
    }

    #[test]
    fn a_prompt_holds_no_signal_that_could_be_taken_for_an_answer() {
        for format in piton_formats::registry::plan_formats() {
            let templates = PromptTemplates::of_plan(format.name, None, "X");
            let texts = [
                templates.files,
                templates.result_reporting,
                templates.reporting_by_tool,
            ];
            for text in texts.into_iter().flatten() {
                assert_eq!(parse_tag_signals(&text), []);
            }
        }
    }

    fn item() -> ItemRow {
        let row = serde_json::json!({
            "run": piton_core::RunId::PROJECT, "node": "build/login", "state": "working",
            "plan": { "id": "login", "place": [0], "prompt": "write it" },
        });
        serde_json::from_value(row).expect("an item")
    }

    fn ingredients(item: &ItemRow) -> PromptInput<'_> {
        PromptInput::of_first_attempt("auth", item)
    }

    #[test]
    fn asking_once_more_ends_with_the_form_of_the_plan() {
        let item = item();
        let plain = render_verdict_prompt(&PromptTemplates::default(), &ingredients(&item));
        assert!(plain.contains("**build/login**"), "{plain}");
        assert!(plain.contains(reporting::FORM), "{plain}");
        let own = PromptTemplates {
            result_reporting: Some("End with DONE {{node}}.".to_owned()),
            ..PromptTemplates::default()
        };
        let own = render_verdict_prompt(&own, &ingredients(&item));
        assert!(own.ends_with("\n\nEnd with DONE build/login.\n"), "{own}");
    }

    #[test]
    fn an_agent_without_progress_is_asked_to_come_to_an_end() {
        let mut stopped = item();
        stopped.tries.made_no_progress = true;
        let text = render_verdict_prompt(&PromptTemplates::default(), &ingredients(&stopped));
        assert!(text.starts_with("## Come to an end"), "{text}");
        assert!(text.contains("**build/login**"), "{text}");
        assert!(text.contains("leave the rest"), "{text}");
        assert!(text.contains("```json"), "{text}");
        assert!(!crate::agents::answer::has_verdict(&text), "{text}");
    }

    #[test]
    fn an_agent_that_repeats_its_prompt_has_not_answered() {
        let item = item();
        let of = ingredients(&item);
        let task = PromptTemplates::of_plan(piton_formats::task::FACE, None, "X");
        for templates in [PromptTemplates::default(), task] {
            for prompt in [
                render_worker_prompt(&templates, &of),
                render_verdict_prompt(&templates, &of),
            ] {
                assert!(!crate::agents::answer::has_verdict(&prompt), "{prompt}");
            }
        }
        for prompt in [render_repair_prompt, render_split_prompt] {
            assert!(!crate::agents::answer::has_verdict(&prompt(
                &PromptTemplates::default(),
                &of
            )));
        }
    }

    #[test]
    fn long_context_is_cut_and_says_so() {
        let long = "x".repeat(CONTEXT_CHARS_MAX + 1);
        let text = render_context(&[("_shared.md".to_owned(), long)]).expect("there is context");
        assert!(text.contains("too long"));
        assert!(text.len() < CONTEXT_CHARS_MAX + 200);
    }
}
