//! A plan of any format as a list of features or of user stories.

use std::collections::HashMap;

use jiff::Timestamp;
use piton_core::ItemState;
use piton_core::evidence::ClaimOverrides;
use piton_core::plan::PlannedItem;

use super::{PrdItem, parse_prd};
use crate::json;
use crate::plan_convert::{ItemWords, Outline, PlanHeader, bullet_list, first_line};
use crate::plan_format::Conversion;
use crate::problem::SourceText;
use crate::shape_merge::from_json;
use crate::tree::ValueNode;

/// What is compared in the plan.
const JUDGED: &[&str] = &[
    "passes",
    "may_depend_on",
    "dependsOn",
    "depends_on",
    "dependencies",
    "verification",
    "verificationCommands",
];

pub(super) const CONVERSIONS: &[Conversion] = &[
    Conversion {
        name: "prd-features",
        write: render_features,
        words: collect_words,
        judged: JUDGED,
    },
    Conversion {
        name: "prd-user-stories",
        write: render_stories,
        words: collect_words,
        judged: JUDGED,
    },
];

/// What a list says of its whole and of each item.
fn collect_words(text: &str, outline: &mut Outline) {
    let Some(list) = parse_prd(SourceText { name: "", text }).0 else {
        return;
    };
    outline.whole = PlanHeader {
        project: list.project,
        branch: list.branch_name,
        description: list.description,
        checks: list.verification,
    };
    let items = list.items.into_iter();
    let mut items: HashMap<String, PrdItem> = items.map(|item| (item.id.clone(), item)).collect();
    for (planned, words) in outline.plan.items.iter().zip(&mut outline.words) {
        if let Some(item) = items.remove(&planned.id) {
            *words = ItemWords {
                title: item.title,
                description: item.description,
                criteria: item.criteria,
                steps: item.steps,
                notes: item.notes,
                priority: item.priority,
                checks: item.verification,
                at_work: None,
            };
        }
    }
}

fn string_node(text: &str) -> Option<ValueNode> {
    Some(ValueNode::string(text))
}

fn strings_node(texts: &[String]) -> Option<ValueNode> {
    Some(ValueNode::seq_of_texts(texts))
}

fn join_paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// The list of features that a plan makes.
fn render_features(outline: &Outline, _: Timestamp) -> String {
    let outline = &outline.flatten();
    let feature = |(item, words): (&PlannedItem, &ItemWords)| {
        let texts_of = [&words.title, &words.description].into_iter().flatten();
        let said = texts_of.cloned().chain(bullet_list(&words.criteria));
        let mut description = join_paragraphs(said);
        if description.is_empty() {
            description.clone_from(&item.id);
        }
        ValueNode::map_of_present([
            ("id", string_node(&item.id)),
            ("description", string_node(&description)),
            ("steps", strings_node(&words.steps)),
            (
                "passes",
                Some(ValueNode::bool(item.state == ItemState::Done)),
            ),
            (
                "may_depend_on",
                strings_node(&dependency_ids(outline, item)),
            ),
            ("notes", words.notes.as_deref().and_then(string_node)),
            ("verification", checks_of_item(outline, item, words)),
            ("claims", claims_of_item(item)),
            ("related_files", related_files(item)),
        ])
    };
    let features = ValueNode::seq(outline.items().map(feature).collect());
    json::render(&ValueNode::map_of_present([
        ("features", Some(features)),
        ("verification", common_checks(outline)),
    ]))
}

/// The list of user stories that a plan makes.
fn render_stories(outline: &Outline, _: Timestamp) -> String {
    let outline = &outline.flatten();
    let story = |(nth, (item, words)): (usize, (&PlannedItem, &ItemWords))| {
        let line = words.headline(item);
        let title = words.title.as_deref().unwrap_or(&line);
        let description = words.description.clone().filter(|text| text != title);
        let said = description.into_iter().chain(bullet_list(&words.steps));
        let description = join_paragraphs(said);
        let priority = words.priority.map(|priority| priority.to_string());
        let priority = priority.unwrap_or_else(|| (nth + 1).to_string());
        let on = dependency_ids(outline, item);
        ValueNode::map_of_present([
            ("id", string_node(&item.id)),
            ("title", string_node(title)),
            (
                "description",
                string_node(&description).filter(|_| !description.is_empty()),
            ),
            ("acceptanceCriteria", strings_node(&words.criteria)),
            ("priority", Some(ValueNode::plain(priority))),
            (
                "passes",
                Some(ValueNode::bool(item.state == ItemState::Done)),
            ),
            ("notes", words.notes.as_deref().and_then(string_node)),
            ("dependsOn", strings_node(&on).filter(|_| !on.is_empty())),
            ("verification", checks_of_item(outline, item, words)),
            ("claims", claims_of_item(item)),
            ("related_files", related_files(item)),
        ])
    };
    let stories = ValueNode::seq(outline.items().enumerate().map(story).collect());
    let whole = &outline.whole;
    let own = first_line(&outline.plan.name);
    let branch = whole.branch.as_deref().unwrap_or(&own);
    json::render(&ValueNode::map_of_present([
        ("project", whole.project.as_deref().and_then(string_node)),
        ("branchName", string_node(branch)),
        (
            "description",
            whole.description.as_deref().and_then(string_node),
        ),
        ("userStories", Some(stories)),
        ("verification", common_checks(outline)),
    ]))
}

fn dependency_ids(outline: &Outline, item: &PlannedItem) -> Vec<String> {
    let others = outline.plan.items.iter();
    let on = others.filter(|other| item.depends_on.contains(&other.node));
    on.map(|other| other.id.clone()).collect()
}

/// The commands that every item is checked by.
fn common_checks(outline: &Outline) -> Option<ValueNode> {
    let checks = &outline.whole.checks;
    strings_node(checks).filter(|_| !checks.is_empty())
}

/// The commands that this item alone is checked by.
fn checks_of_item(outline: &Outline, item: &PlannedItem, words: &ItemWords) -> Option<ValueNode> {
    if !words.checks.is_empty() {
        return strings_node(&words.checks);
    }
    let script = item.gate.as_ref()?.script.trim().to_owned();
    let is_common = !outline.whole.checks.is_empty();
    (!is_common).then(|| strings_node(&[script])).flatten()
}

fn related_files(item: &PlannedItem) -> Option<ValueNode> {
    strings_node(&item.scope.0).filter(|_| !item.scope.is_empty())
}

fn claims_of_item(item: &PlannedItem) -> Option<ValueNode> {
    let said = item.claims != ClaimOverrides::default();
    let claims = serde_json::to_value(item.claims).ok().filter(|_| said)?;
    Some(from_json(&claims))
}
