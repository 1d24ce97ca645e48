//! An item that is added to a list by command.

use std::collections::HashSet;

use piton_core::ItemRow;
use piton_core::plan::PlannedItem;

use super::layout::{PrdLayout, layout_of_root};
use super::passes::push_item;
use super::plan::{FACE, node_of_item, plan_item};
use super::{Prd, parse_prd};
use crate::json;
use crate::native::{native_body, native_of_body};
use crate::plan_format::NewItem;
use crate::problem::{Problem, SourceText};
use crate::tree::ValueNode;

/// The item as it will be read from the file. What is to stand there is kept beside it
/// until the file shows it.
pub(super) fn plan_new_item(text: Option<&str>, new: &NewItem) -> Result<PlannedItem, String> {
    let text = text.ok_or("the file of the list cannot be read")?;
    refuse_labels(&new.tags.labels)?;
    let element = element_of_item(&read_list(text)?, new);
    let list = read_list(&with_element(text, element.clone())?)?;
    let item = list.items.iter().find(|item| item.id == new.id);
    let item = item.ok_or("the list has no place for it")?;
    let known: HashSet<&str> = list.items.iter().map(|item| item.id.as_str()).collect();
    let done = list.items.iter().filter(|item| item.passes == Some(true));
    let done: HashSet<&str> = done.map(|item| item.id.as_str()).collect();
    Ok(PlannedItem {
        native: Some(native_of_body(FACE, json::render(&element))),
        ..plan_item(&list, item, &known, &done)
    })
}

/// The text of a list with one more item, and no other change.
pub(super) fn write_new_item(text: &str, new: &NewItem) -> Result<String, String> {
    refuse_labels(&new.tags.labels)?;
    with_element(text, element_of_item(&read_list(text)?, new))
}

/// What is to stand in the file of an item that was added by command, and is still open.
pub(super) fn added_element(row: &ItemRow) -> Option<ValueNode> {
    let is_added = row.plan.injected.is_some() && !row.state.is_finished();
    let body = native_body(row.plan.native.as_ref(), FACE).filter(|_| is_added)?;
    json::parse(body).root
}

pub(super) fn read_list(text: &str) -> Result<Prd, String> {
    let (list, problems) = parse_prd(SourceText { name: "", text });
    match problems.iter().find(|problem| problem.is_error()) {
        Some(problem) => Err(describe_problem(problem)),
        None => list.ok_or_else(|| "the file holds no list".to_owned()),
    }
}

/// Items of such a list have no labels.
pub(super) fn refuse_labels(labels: &[String]) -> Result<(), String> {
    match labels {
        [] => Ok(()),
        [..] => Err("an item of such a list has no labels".to_owned()),
    }
}

fn describe_problem(problem: &Problem) -> String {
    format!("the file cannot be added to: {problem}")
}

fn with_element(text: &str, element: ValueNode) -> Result<String, String> {
    let root = json::parse(text).root;
    let mut root = root.ok_or("the file holds no list")?;
    let location = layout_of_root(&root).items_location();
    push_item(
        &mut root,
        location.ok_or("the file holds no list")?,
        element,
    );
    json::patch(text, &root).map_err(|why| format!("the file cannot be changed: {why}"))
}

/// The item with the keys that lists of this kind have.
fn element_of_item(list: &Prd, new: &NewItem) -> ValueNode {
    let ids = list.items.iter().map(|item| &item.id);
    let after: Vec<String> = ids
        .filter(|id| new.after.contains(&node_of_item(id)))
        .cloned()
        .collect();
    let after = || (!after.is_empty()).then(|| ValueNode::seq_of_texts(&after));
    let check = new.check.as_ref();
    let check = check.map(|check| ValueNode::seq_of_texts(std::slice::from_ref(check)));
    let id = Some(ValueNode::string(&new.id));
    let title = Some(ValueNode::string(&new.title));
    let passes = Some(ValueNode::bool(false));
    let given = new.tags.priority.map(|priority| priority.to_string());
    if list.layout == PrdLayout::Features {
        return ValueNode::map_of_present([
            ("id", id),
            ("description", Some(ValueNode::string(new.words()))),
            ("steps", Some(ValueNode::seq(Vec::new()))),
            ("priority", given.map(ValueNode::plain)),
            ("passes", passes),
            ("may_depend_on", after()),
            ("verification", check),
        ]);
    }
    let priorities = list.items.iter().filter_map(|item| item.priority);
    let last = priorities.fold(0.0, f64::max);
    let has_branch = list.layout == PrdLayout::UserStories;
    // Behind all others, where nothing is said.
    let behind = (has_branch || last > 0.0).then(|| (last.floor() + 1.0).to_string());
    ValueNode::map_of_present([
        ("id", id),
        ("title", title),
        ("description", new.prompt.as_ref().map(ValueNode::string)),
        (
            "acceptanceCriteria",
            has_branch.then(|| ValueNode::seq(Vec::new())),
        ),
        ("priority", given.or(behind).map(ValueNode::plain)),
        ("passes", passes),
        ("dependsOn", after()),
        ("verification", check),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> NewItem {
        NewItem {
            id: "ship".to_owned(),
            title: "Ship it".to_owned(),
            prompt: Some("To all.".to_owned()),
            check: Some("test -e shipped".to_owned()),
            after: vec![node_of_item("a")],
            ..NewItem::default()
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let written = write_new_item(text, &item()).expect("it is added");
        assert_eq!(written, expected);
        let planned = plan_new_item(Some(text), &item()).expect("it is planned");
        let list = read_list(&written).expect("a list");
        let read = super::super::plan_of_prd(&list, piton_core::RunId::PROJECT, "prd", "prd.json");
        let read = read.items.last().expect("an item");
        assert_eq!((&planned.prompt, &planned.gate), (&read.prompt, &read.gate));
        assert_eq!(planned.depends_on, read.depends_on);
    }

    #[test]
    fn an_item_is_added_as_its_like_are_written() {
        check(
            "{\"features\": [\n  {\"id\": \"a\", \"description\": \"A\", \"steps\": [], \"passes\": true}\n], \"verification\": \"make lint\"}\n",
            "{\"features\": [\n  {\"id\": \"a\", \"description\": \"A\", \"steps\": [], \"passes\": true},\n  {\"id\": \"ship\", \"description\": \"Ship it\\n\\nTo all.\", \"steps\": [], \"passes\": false, \"may_depend_on\": [\"a\"], \"verification\": [\"test -e shipped\"]}\n], \"verification\": \"make lint\"}\n",
        );
        check(
            "{\"branchName\": \"b\", \"userStories\": [\n  {\"id\": \"a\", \"title\": \"A\", \"acceptanceCriteria\": [], \"priority\": 2, \"passes\": false}\n]}",
            "{\"branchName\": \"b\", \"userStories\": [\n  {\"id\": \"a\", \"title\": \"A\", \"acceptanceCriteria\": [], \"priority\": 2, \"passes\": false},\n  {\"id\": \"ship\", \"title\": \"Ship it\", \"description\": \"To all.\", \"acceptanceCriteria\": [], \"priority\": 3, \"passes\": false, \"dependsOn\": [\"a\"], \"verification\": [\"test -e shipped\"]}\n]}",
        );
    }

    #[test]
    fn a_file_that_is_no_list_is_not_added_to() {
        for text in ["", "{", "{\"a\": 1}"] {
            assert!(write_new_item(text, &item()).is_err(), "{text}");
        }
    }
}
