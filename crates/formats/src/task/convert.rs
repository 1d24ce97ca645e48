//! A plan of any format as a task file.

use jiff::Timestamp;
use piton_core::ItemState;
use piton_core::plan::PlannedItem;

use super::ids::is_name;
use super::{TaskFile, parse_task};
use crate::plan_convert::{ItemWords, Outline, first_line};
use crate::plan_format::Conversion;
use crate::problem::SourceText;
use crate::tree::ValueNode;

pub(super) const CONVERSIONS: &[Conversion] = &[Conversion {
    name: "task-file",
    write: render_outline,
    words: |text, outline| {
        let task = parse_task(SourceText { name: "", text }).0;
        let front = task.front.unwrap_or_default();
        let name = front.task.or(task.title);
        outline.whole.project = name.filter(|name| !name.trim().is_empty());
        outline.whole.checks = front.test_command.into_iter().collect();
    },
    judged: &["task", "test_command", "max_iterations", "model"],
}];

/// The lines at which the criteria begin.
pub(super) fn lines_of_items(text: &str) -> Vec<usize> {
    let (task, _) = parse_task(SourceText { name: "", text });
    let lines = task.criteria.iter().map(|criterion| criterion.line);
    lines
        .map(|line| usize::try_from(line).unwrap_or(usize::MAX))
        .collect()
}

/// The task file that a plan makes: what is said of an item beyond its line
/// stands below it, as long as nothing there is taken for a criterion.
fn render_outline(outline: &Outline, _: Timestamp) -> String {
    let whole = render_task(outline, true);
    let (task, _) = parse_task(SourceText {
        name: "",
        text: &whole,
    });
    if has_all_items(&task, outline) {
        whole
    } else {
        render_task(outline, false)
    }
}

/// Whether a task has a criterion for each item, as far as that.
fn has_all_items(task: &TaskFile, outline: &Outline) -> bool {
    let ticked = task.criteria.iter().map(|criterion| criterion.ticked);
    let done = outline.plan.items.iter();
    ticked.eq(done.map(|item| item.state == ItemState::Done))
}

fn render_task(outline: &Outline, with_details: bool) -> String {
    let plan = &outline.plan;
    let whole = &outline.whole;
    let name = first_line(whole.project.as_deref().unwrap_or(&plan.name));
    let limit = plan.policy.limits.iterations_max;
    let front = ValueNode::map_of_present([
        ("task", Some(ValueNode::string(&name))),
        (
            "test_command",
            outline
                .common_check()
                .map(|check| ValueNode::string(check.trim())),
        ),
        (
            "max_iterations",
            limit.map(|limit| ValueNode::plain(limit.to_string())),
        ),
        ("model", common_model(outline).map(ValueNode::string)),
    ]);
    let mut text = format!("---\n{}---\n\n# {name}\n\n", crate::yaml::render(&front));
    if with_details {
        let branch = whole
            .branch
            .as_ref()
            .map(|branch| format!("Branch: {branch}"));
        for block in whole.description.iter().cloned().chain(branch) {
            push_block(&mut text, &block, "");
            text.push('\n');
        }
    }
    for (item, words) in outline.items() {
        let level = item.place.depth().saturating_sub(1);
        let indent = "   ".repeat(level);
        let number = item.place.0.last().map_or(1, |index| index + 1);
        let tick = if item.state == ItemState::Done {
            'x'
        } else {
            ' '
        };
        let id = id_prefix(item, words);
        let line = words.headline(item);
        text.push_str(&format!("{indent}{number}. [{tick}] {id}{line}\n"));
        if with_details {
            for block in words.body_blocks(item) {
                push_block(&mut text, &block, &format!("{indent}   "));
            }
        }
    }
    text
}

/// The id of an item, where its words do not make it.
fn id_prefix(item: &PlannedItem, words: &ItemWords) -> String {
    let is_made = super::ids::id_of_text(&words.headline(item)) == item.id;
    if is_made
        || item
            .native
            .as_ref()
            .is_some_and(|native| native.face == super::FACE)
    {
        return String::new();
    }
    let id = Some(&item.id).filter(|id| is_name(id));
    id.map(|id| format!("**[{id}]** ")).unwrap_or_default()
}

/// Lines below an item. A box among them is no criterion.
fn push_block(text: &mut String, block: &str, indent: &str) {
    for line in block.lines() {
        let line = line
            .trim_end()
            .replace("[ ]", "\\[ ]")
            .replace("[x]", "\\[x]");
        if !line.is_empty() {
            text.push_str(&format!("{indent}{line}\n"));
        }
    }
}

/// The model that every item asks for.
fn common_model(outline: &Outline) -> Option<String> {
    let items = || {
        outline
            .plan
            .items
            .iter()
            .filter(|item| item.prompt.is_some())
    };
    let first = items().next()?.model.clone()?;
    let is_common = items().all(|item| item.model.as_ref() == Some(&first));
    is_common.then_some(first)
}
