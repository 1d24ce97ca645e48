//! A plan of any format as a list of features or of user stories.

use std::collections::HashMap;

use jiff::Timestamp;
use piton_core::ItemState;
use piton_core::evidence::ClaimOverrides;
use piton_core::plan::PlannedItem;

use super::{Item, read};
use crate::json;
use crate::plan_convert::{Outline, Whole, Words, in_a_line, points};
use crate::plan_format::Conversion;
use crate::problem::Source;
use crate::tree::Node;
use crate::understood::from_json;

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
        write: features,
        words,
        judged: JUDGED,
    },
    Conversion {
        name: "prd-user-stories",
        write: stories,
        words,
        judged: JUDGED,
    },
];

/// What a list says of its whole and of each item.
fn words(text: &str, outline: &mut Outline) {
    let Some(list) = read(Source { name: "", text }).0 else {
        return;
    };
    outline.whole = Whole {
        project: list.project,
        branch: list.branch_name,
        description: list.description,
        checks: list.verification,
    };
    let items = list.items.into_iter();
    let mut items: HashMap<String, Item> = items.map(|item| (item.id.clone(), item)).collect();
    for (planned, words) in outline.plan.items.iter().zip(&mut outline.words) {
        if let Some(item) = items.remove(&planned.id) {
            *words = Words {
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

fn text(text: &str) -> Option<Node> {
    Some(Node::string(text))
}

fn texts(texts: &[String]) -> Option<Node> {
    Some(Node::texts(texts))
}

fn paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// The list of features that a plan makes.
fn features(outline: &Outline, _: Timestamp) -> String {
    let outline = &outline.flattened();
    let feature = |(item, words): (&PlannedItem, &Words)| {
        let texts_of = [&words.title, &words.description].into_iter().flatten();
        let said = texts_of.cloned().chain(points(&words.criteria));
        let mut description = paragraphs(said);
        if description.is_empty() {
            description.clone_from(&item.id);
        }
        Node::known([
            ("id", text(&item.id)),
            ("description", text(&description)),
            ("steps", texts(&words.steps)),
            ("passes", Some(Node::bool(item.state == ItemState::Done))),
            ("may_depend_on", texts(&depends_on(outline, item))),
            ("notes", words.notes.as_deref().and_then(text)),
            ("verification", checks(outline, item, words)),
            ("claims", claims(item)),
            ("related_files", related_files(item)),
        ])
    };
    let features = Node::seq(outline.items().map(feature).collect());
    json::render(&Node::known([
        ("features", Some(features)),
        ("verification", common(outline)),
    ]))
}

/// The list of user stories that a plan makes.
fn stories(outline: &Outline, _: Timestamp) -> String {
    let outline = &outline.flattened();
    let story = |(nth, (item, words)): (usize, (&PlannedItem, &Words))| {
        let line = words.line(item);
        let title = words.title.as_deref().unwrap_or(&line);
        let description = words.description.clone().filter(|text| text != title);
        let said = description.into_iter().chain(points(&words.steps));
        let description = paragraphs(said);
        let priority = words.priority.map(|priority| priority.to_string());
        let priority = priority.unwrap_or_else(|| (nth + 1).to_string());
        let on = depends_on(outline, item);
        Node::known([
            ("id", text(&item.id)),
            ("title", text(title)),
            (
                "description",
                text(&description).filter(|_| !description.is_empty()),
            ),
            ("acceptanceCriteria", texts(&words.criteria)),
            ("priority", Some(Node::plain(priority))),
            ("passes", Some(Node::bool(item.state == ItemState::Done))),
            ("notes", words.notes.as_deref().and_then(text)),
            ("dependsOn", texts(&on).filter(|_| !on.is_empty())),
            ("verification", checks(outline, item, words)),
            ("claims", claims(item)),
            ("related_files", related_files(item)),
        ])
    };
    let stories = Node::seq(outline.items().enumerate().map(story).collect());
    let whole = &outline.whole;
    let own = in_a_line(&outline.plan.name);
    let branch = whole.branch.as_deref().unwrap_or(&own);
    json::render(&Node::known([
        ("project", whole.project.as_deref().and_then(text)),
        ("branchName", text(branch)),
        ("description", whole.description.as_deref().and_then(text)),
        ("userStories", Some(stories)),
        ("verification", common(outline)),
    ]))
}

fn depends_on(outline: &Outline, item: &PlannedItem) -> Vec<String> {
    let others = outline.plan.items.iter();
    let on = others.filter(|other| item.depends_on.contains(&other.node));
    on.map(|other| other.id.clone()).collect()
}

/// The commands that every item is checked by.
fn common(outline: &Outline) -> Option<Node> {
    let checks = &outline.whole.checks;
    texts(checks).filter(|_| !checks.is_empty())
}

/// The commands that this item alone is checked by.
fn checks(outline: &Outline, item: &PlannedItem, words: &Words) -> Option<Node> {
    if !words.checks.is_empty() {
        return texts(&words.checks);
    }
    let script = item.gate.as_ref()?.script.trim().to_owned();
    let is_common = !outline.whole.checks.is_empty();
    (!is_common).then(|| texts(&[script])).flatten()
}

fn related_files(item: &PlannedItem) -> Option<Node> {
    texts(&item.scope.0).filter(|_| !item.scope.is_empty())
}

fn claims(item: &PlannedItem) -> Option<Node> {
    let said = item.claims != ClaimOverrides::default();
    let claims = serde_json::to_value(item.claims).ok().filter(|_| said)?;
    Some(from_json(&claims))
}
