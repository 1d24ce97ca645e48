//! An item of a list that is edited by command: the keys that a person would change.

use piton_core::ItemRow;

use super::layout::layout_of_root;
use super::new_item::{read_list, refuse_labels};
use super::passes::items_mut;
use super::plan::node_of_item;
use super::read::DEPENDS_ON;
use super::{Prd, PrdLayout, parse_prd};
use crate::json;
use crate::plan_format::{ItemPatch, join_title, split_title};
use crate::problem::{Problem, SourceText};
use crate::tree::{Map, MapKey, Value, ValueNode};

/// The text of a list with an item changed, and no other change.
pub(super) fn edit_item(text: &str, row: &ItemRow, patch: &ItemPatch) -> Result<String, String> {
    refuse_labels(patch.labels.as_deref().unwrap_or_default())?;
    let list = read_list(text)?;
    let root = json::parse(text).root;
    let mut root = root.ok_or("the file holds no list")?;
    let at = layout_of_root(&root).items_location();
    let items = items_mut(&mut root, at.ok_or("the file holds no list")?);
    let id = Some(row.plan.id.as_str());
    let mut items = items.iter_mut();
    let item = items.find(|item| item.get("id").and_then(ValueNode::text) == id);
    let Some(Value::Map(map)) = item.map(|item| &mut item.value) else {
        return Err("the file does not have the item".to_owned());
    };
    set_words(map, patch);
    if let Some(check) = &patch.check {
        set_check(map, check.as_deref())?;
    }
    if let Some(priority) = patch.priority {
        let priority = priority.map(|priority| ValueNode::plain(priority.to_string()));
        set_key(map, "priority", priority);
    }
    if let Some(on) = &patch.depends_on {
        let own = list.items.iter().find(|item| Some(&*item.id) == id);
        let have = own.map_or(&[][..], |item| &item.depends_on);
        let is_there = |id: &String| list.items.iter().any(|item| item.id == *id);
        let is_wanted = |id: &&String| on.contains(&node_of_item(id));
        // What is not there now may come yet.
        let kept = have.iter().filter(|id| !is_there(id) || is_wanted(id));
        let mut ids: Vec<String> = kept.cloned().collect();
        let wanted = list.items.iter().map(|item| &item.id).filter(is_wanted);
        for id in wanted {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        set_depends_on(&list, map, &ids);
    }
    let text =
        json::patch(text, &root).map_err(|why| format!("the file cannot be changed: {why}"))?;
    // Items that wait for each other are an error of the list.
    let (_, problems) = parse_prd(SourceText {
        name: "",
        text: &text,
    });
    match problems.into_iter().find(Problem::is_error) {
        Some(problem) => Err(problem.message),
        None => Ok(text),
    }
}

/// The title stands alone where the item has one, else before the rest.
fn set_words(map: &mut Map, patch: &ItemPatch) {
    let description = map.get("description").and_then(ValueNode::text);
    let description = description.map(str::to_owned);
    if map.get("title").is_some() {
        if let Some(title) = &patch.title {
            set_key(map, "title", Some(ValueNode::string(title)));
        }
        if let Some(prompt) = &patch.prompt {
            set_key(map, "description", prompt.as_ref().map(ValueNode::string));
        }
    } else if patch.title.is_some() || patch.prompt.is_some() {
        let (title, rest) = split_title(description.as_deref().unwrap_or_default());
        let title = patch.title.as_deref().unwrap_or(title);
        let rest = patch.prompt.as_ref().map_or(rest, Option::as_deref);
        let words = join_title(title, rest);
        set_key(map, "description", Some(ValueNode::string(words)));
    }
}

fn set_check(map: &mut Map, check: Option<&str>) -> Result<(), String> {
    let now = map.get("verification");
    let is_text = now.is_some_and(|now| now.text().is_some());
    let several = now.and_then(ValueNode::as_seq).map_or(0, <[_]>::len) > 1;
    let by_kind = now.is_some_and(|now| now.as_map().is_some());
    if several || by_kind || map.get("verificationCommands").is_some() {
        return Err("its check has several parts; change them in the file".to_owned());
    }
    let check = check.map(|check| match is_text {
        true => ValueNode::string(check),
        false => ValueNode::seq_of_texts(&[check.to_owned()]),
    });
    set_key(map, "verification", check);
    Ok(())
}

/// Under the key that it has, and under no other.
fn set_depends_on(list: &Prd, map: &mut Map, ids: &[String]) {
    let usual = match list.layout == PrdLayout::Features {
        true => "may_depend_on",
        false => "dependsOn",
    };
    let known = DEPENDS_ON.into_iter().find(|key| map.get(key).is_some());
    let key = known.unwrap_or(usual);
    map.pairs
        .retain(|(have, _)| have.text == key || !DEPENDS_ON.contains(&have.text.as_str()));
    let is_said = known.is_some() || !ids.is_empty();
    set_key(map, key, is_said.then(|| ValueNode::seq_of_texts(ids)));
}

/// Gives a key another value, or takes it away.
fn set_key(map: &mut Map, key: &str, value: Option<ValueNode>) {
    let at = map.pairs.iter().position(|(have, _)| have.text == key);
    match (at, value) {
        (Some(at), Some(value)) => map.pairs[at].1 = value,
        (Some(at), None) => drop(map.pairs.remove(at)),
        (None, Some(value)) => map.pairs.push((MapKey::new(key), value)),
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use piton_core::RunId;
    use piton_core::plan::PlannedItem;

    use super::super::plan_of_prd;
    use super::*;

    const STORIES: &str = "{\"userStories\": [\n  {\"id\": \"a\", \"title\": \"A\", \"passes\": true},\n  {\"id\": \"b\", \"title\": \"B\", \"verification\": \"true\", \"dependsOn\": [\"a\"]}\n], \"branchName\": \"x\"}\n";
    const FEATURES: &str = "{\"features\": [\n  {\"id\": \"a\", \"description\": \"A\\n\\nAt length.\", \"steps\": []},\n  {\"id\": \"b\", \"description\": \"B\", \"may_depend_on\": [\"a\"], \"notes\": \"\"}\n]}\n";

    fn row_of(text: &str, id: &str) -> ItemRow {
        let list = read_list(text).expect("a list");
        let plan = plan_of_prd(&list, RunId::PROJECT, "prd", "prd.json");
        let mut items = plan.items.into_iter();
        let item: PlannedItem = items.find(|item| item.id == id).expect("an item");
        let row = serde_json::json!({
            "run": RunId::PROJECT, "node": item.node, "state": "ready",
            "plan": { "id": item.id, "place": item.place },
        });
        serde_json::from_value(row).expect("a row")
    }

    #[track_caller]
    fn check(text: &str, id: &str, patch: &ItemPatch, (old, new): (&str, &str)) {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        let edited = edit_item(text, &row_of(text, id), patch).expect("it is edited");
        assert_eq!(edited, text.replace(old, new));
    }

    #[test]
    fn an_edit_changes_the_keys_that_it_is_about() {
        let title = ItemPatch {
            title: Some("Better".to_owned()),
            ..ItemPatch::default()
        };
        check(STORIES, "b", &title, ("\"B\"", "\"Better\""));
        check(FEATURES, "a", &title, ("\"A\\n", "\"Better\\n"));
        let checked = |check: Option<&str>| ItemPatch {
            check: Some(check.map(str::to_owned)),
            ..ItemPatch::default()
        };
        check(
            STORIES,
            "b",
            &checked(Some("make")),
            ("\"true\"", "\"make\""),
        );
        check(
            STORIES,
            "b",
            &checked(None),
            ("\"verification\": \"true\", ", ""),
        );
        let added = (
            "\"notes\": \"\"}",
            "\"notes\": \"\", \"verification\": [\"make\"]}",
        );
        check(FEATURES, "b", &checked(Some("make")), added);
        let first = ItemPatch {
            priority: Some(Some(1)),
            ..ItemPatch::default()
        };
        let added = ("\"passes\": true}", "\"passes\": true, \"priority\": 1}");
        check(STORIES, "a", &first, added);
        let alone = ItemPatch {
            depends_on: Some(Vec::new()),
            ..ItemPatch::default()
        };
        check(FEATURES, "b", &alone, ("[\"a\"]", "[]"));
    }

    #[test]
    fn what_an_item_waits_for_that_is_not_there_stays_named() {
        let list = r#"{"userStories": [{"id": "a", "title": "A"}, {"id": "2", "title": "B"},
            {"id": "c", "title": "C", "dependsOn": ["ghost", "a"], "depends_on": [2]}]}"#;
        for (on, expected) in [
            (&["2", "a"][..], r#"["ghost", "a", "2"]"#),
            (&["2"], r#"["ghost", "2"]"#),
            (&[], r#"["ghost"]"#),
        ] {
            let patch = ItemPatch {
                depends_on: Some(on.iter().map(|id| node_of_item(id)).collect()),
                ..ItemPatch::default()
            };
            let edited = edit_item(list, &row_of(list, "c"), &patch).expect("it is edited");
            assert!(
                edited.contains(&format!("\"dependsOn\": {expected}")),
                "{edited}"
            );
        }
    }

    #[test]
    fn an_item_of_a_list_cannot_wait_for_itself() {
        let round = ItemPatch {
            depends_on: Some(vec![node_of_item("b")]),
            ..ItemPatch::default()
        };
        let why = edit_item(STORIES, &row_of(STORIES, "a"), &round);
        let why = why.expect_err("a cycle");
        assert!(why.contains("depend on each other"), "{why}");
    }
}
