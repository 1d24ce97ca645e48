//! Extraction: what becomes a learning of what an attempt noticed.
//!
//! The rule is that of seed 000: an observation that was documented, or that is
//! about the architecture. The seed leaves open how its type is told; here that
//! is two tables. Whether the same is known already is not asked here: see
//! [`recall::document_similarity`](crate::recall::document_similarity).

use std::collections::HashSet;

use crate::attempt::Report;
use crate::memory::{LearningType, Memory, MemoryKind};
use crate::observation::{ActionTaken, Observation, ObservationCategory, ObservationKind};
use crate::recall::{ALIKE_FROM, MemoryDocument, document_similarity, tokenize};

use LearningType as Type;
use ObservationCategory as Category;

/// An agent that noticed more than so much in one attempt tells everything it saw.
const LEARNINGS_MAX: usize = 20;
/// So much speaks for a type that the category does not give. A word of the
/// title counts twice.
const WORDS_FROM: usize = 2;
/// So many of ten words of a title a description repeats to stand alone.
const REPEATED_OF_TEN: usize = 8;

/// Which type a category is by itself.
const CATEGORIES: &[(Category, Type)] = &[
    (Category::Architecture, Type::ArchitectureConstraint),
    (Category::TestFailure, Type::TestPattern),
    (Category::ApiIssue, Type::ApiConvention),
    (Category::Dependency, Type::DependencyQuirk),
    // A defect that is written down instead of mended is one to live with.
    (Category::Bug, Type::ErrorWorkaround),
];

/// What a text speaks of that is of a type. The other categories say little of
/// what is to be learned: there the first type for which enough speaks is taken.
const TYPES: &[(Type, &str)] = &[
    (
        Type::ErrorWorkaround,
        "workaround exception panic crash deadlock timeout hang fails",
    ),
    (
        Type::TestPattern,
        "test fixture mock snapshot assertion flaky coverage",
    ),
    (
        Type::BuildCommand,
        "build built compile compiler linker linking bundle bundler makefile codegen",
    ),
    (
        Type::DependencyQuirk,
        "dependency package version upgrade lockfile upstream pinned transitive",
    ),
    (
        Type::ApiConvention,
        "api endpoint route header payload request response pagination",
    ),
    (
        Type::ToolUsage,
        "tool cli flag linter formatter hook docker editor shell",
    ),
];

/// The learnings that come of a report, and of which observation each does, by
/// its place. `attempt` is the attempt's name.
///
/// What has a learning already gets no other, and what an attempt says twice is
/// one learning.
#[must_use]
pub fn extract_learnings(report: &Report, item: &str, attempt: &str) -> Vec<(usize, Memory)> {
    let mut known: Vec<MemoryDocument> = Vec::new();
    let seen = report.observations.iter().enumerate();
    let worth_keeping = seen.filter(|(_, seen)| is_worth_learning(seen));
    let learnings = worth_keeping.filter_map(|(at, seen)| {
        let content = learning_content(seen)?;
        let document = MemoryDocument::from_fields("", &content, "");
        if known
            .iter()
            .any(|other| document_similarity(other, &document) >= ALIKE_FROM)
        {
            return None;
        }
        known.push(document);
        let learning = Memory {
            topic: Some(topic_of_observation(seen).as_str().to_owned()),
            context: Some(format!("Discovered while working on {item}")),
            source_item: Some(item.to_owned()),
            source_attempt: Some(attempt.to_owned()),
            ..Memory::new(MemoryKind::Learning, content)
        };
        Some((at, learning))
    });
    learnings.take(LEARNINGS_MAX).collect()
}

/// Whether it is worth knowing the next time. What was done before says something of
/// the item, not of the project.
fn is_worth_learning(seen: &Observation) -> bool {
    seen.kind != ObservationKind::Completion
        && seen.related_learning_id.is_none()
        && (seen.action_taken == Some(ActionTaken::Documented)
            || seen.category == Some(Category::Architecture))
}

/// What it says: the description, after the title where that says more.
fn learning_content(seen: &Observation) -> Option<String> {
    let title = seen.title.trim();
    let description = seen.description.as_deref().unwrap_or_default().trim();
    let content = match (title, description) {
        ("", text) | (text, "") => text.to_owned(),
        (title, description) if is_repeat_of_title(description, title) => description.to_owned(),
        (title, description) => {
            let title = title.trim_end_matches(['.', ':', ';', ',', '!']);
            format!("{title}: {description}")
        }
    };
    (!content.is_empty()).then_some(content)
}

/// Whether a text says nearly all that a title says.
fn is_repeat_of_title(text: &str, title: &str) -> bool {
    let held = literal_words(text);
    let asked = literal_words(title);
    let repeated = asked.intersection(&held).count();
    repeated * 10 >= asked.len() * REPEATED_OF_TEN
}

/// The words and names of a text.
fn literal_words(text: &str) -> HashSet<String> {
    let found = text.lines().flat_map(tokenize);
    let said = found.filter(|token| token.kind.is_literal());
    said.map(|token| token.text).collect()
}

/// What it is about: told from the category, else from its words.
fn topic_of_observation(seen: &Observation) -> Type {
    let by_category = |category| CATEGORIES.iter().find(|(one, _)| *one == category);
    if let Some((_, topic)) = seen.category.and_then(by_category) {
        return *topic;
    }
    let title = literal_words(&seen.title);
    let description = literal_words(seen.description.as_deref().unwrap_or_default());
    let speaks_for = |(_, named): &&(Type, &str)| {
        let named = literal_words(named);
        2 * named.intersection(&title).count() + named.intersection(&description).count()
    };
    if seen.category == Some(Category::ToolingFriction) {
        let mut building = TYPES
            .iter()
            .filter(|(topic, _)| *topic == Type::BuildCommand);
        let is_building = building.any(|row| speaks_for(&row) > 0);
        return if is_building {
            Type::BuildCommand
        } else {
            Type::ToolUsage
        };
    }
    let spoken = TYPES.iter().find(|row| speaks_for(row) >= WORDS_FROM);
    spoken.map_or(Type::CodebasePattern, |(topic, _)| *topic)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attempt::Outcome;

    fn seen(value: &serde_json::Value) -> Observation {
        serde_json::from_value(value.clone()).expect("an observation")
    }

    fn of(observations: Vec<Observation>) -> Vec<(usize, Memory)> {
        let report = Report {
            observations,
            ..Report::with_outcome(Outcome::Failed)
        };
        extract_learnings(&report, "hull/keel", "keel-2")
    }

    #[test]
    fn a_learning_says_what_was_seen_and_where() {
        let found = of(vec![seen(&json!({
            "type": "finding", "title": "Oak splits", "category": "architecture",
            "description": "Steam it before it is bent.", "file": "src/keel.rs",
        }))]);
        let expected = Memory {
            topic: Some("architecture-constraint".to_owned()),
            context: Some("Discovered while working on hull/keel".to_owned()),
            source_item: Some("hull/keel".to_owned()),
            source_attempt: Some("keel-2".to_owned()),
            ..Memory::new(
                MemoryKind::Learning,
                "Oak splits: Steam it before it is bent.",
            )
        };
        assert_eq!(found, [(0, expected)]);
    }

    #[test]
    fn only_what_was_documented_or_is_about_the_architecture_is_learned() {
        for (kind, category, action, expected) in [
            ("finding", "bug", "documented", true),
            ("blocker", "dependency", "documented", true),
            ("finding", "architecture", "none", true),
            ("finding", "architecture", "deferred", true),
            ("finding", "bug", "fixed", false),
            ("blocker", "tooling-friction", "escalated", false),
            ("completion", "architecture", "documented", false),
            ("completion", "bug", "documented", false),
        ] {
            let found = of(vec![seen(&json!({
                "type": kind, "title": "Oak splits", "category": category, "action_taken": action,
            }))]);
            assert_eq!(
                found.len(),
                usize::from(expected),
                "{kind} {category} {action}"
            );
        }
    }

    #[test]
    fn the_type_is_told_from_the_category_and_the_words() {
        for (category, title, description, expected) in [
            ("test-failure", "The clock is faked", "", "test-pattern"),
            ("api-issue", "Ids are strings", "", "api-convention"),
            ("dependency", "hyper closes early", "", "dependency-quirk"),
            (
                "architecture",
                "All tests build the API",
                "",
                "architecture-constraint",
            ),
            (
                "bug",
                "The pager skips a row",
                "Ask for one more.",
                "error-workaround",
            ),
            (
                "tooling-friction",
                "The linker needs mold",
                "",
                "build-command",
            ),
            (
                "tooling-friction",
                "Slow",
                "It compiles twice",
                "build-command",
            ),
            (
                "tooling-friction",
                "The hook wants a name",
                "",
                "tool-usage",
            ),
            (
                "documentation",
                "Fixtures are made by a script",
                "",
                "test-pattern",
            ),
            (
                "documentation",
                "Notes are in the wiki",
                "Seen in a test.",
                "codebase-pattern",
            ),
            ("stub", "The mailer does nothing", "", "codebase-pattern"),
            ("scope-creep", "Two sizes of sail", "", "codebase-pattern"),
            (
                "performance",
                "Pagination",
                "The endpoint is slow.",
                "api-convention",
            ),
            (
                "performance",
                "Deadlock of the pool",
                "Take it once.",
                "error-workaround",
            ),
            ("security", "Pinned by the lockfile", "", "dependency-quirk"),
            ("security", "The docker socket is open", "", "tool-usage"),
        ] {
            let found = of(vec![seen(&json!({
                "type": "finding", "title": title, "description": description,
                "category": category, "action_taken": "documented",
            }))]);
            let topic = found
                .first()
                .and_then(|(_, learning)| learning.topic.as_deref());
            assert_eq!(topic, Some(expected), "{category}: {title} {description}");
        }
        let found = of(vec![seen(&json!({
            "type": "finding", "title": "Ropes are tarred", "action_taken": "documented",
        }))]);
        let topic = found
            .first()
            .and_then(|(_, learning)| learning.topic.as_deref());
        assert_eq!(topic, Some("codebase-pattern"), "no category");
    }

    #[test]
    fn the_title_is_said_where_the_description_does_not_repeat_it() {
        for (title, description, expected) in [
            (
                "Oak splits.",
                "Steam it first.",
                Some("Oak splits: Steam it first."),
            ),
            (
                "Steam the oak",
                "The oak must be steamed first.",
                Some("The oak must be steamed first."),
            ),
            ("Oak splits", "", Some("Oak splits")),
            (" Oak splits ", "  ", Some("Oak splits")),
            ("", "Steam it.", Some("Steam it.")),
            ("", "", None),
            ("  ", "\n", None),
        ] {
            let found = of(vec![seen(&json!({
                "type": "finding", "title": title, "description": description,
                "action_taken": "documented",
            }))]);
            let content = found.first().map(|(_, learning)| learning.content.as_str());
            assert_eq!(content, expected, "{title} {description}");
        }
    }

    #[test]
    fn what_is_said_twice_or_has_a_learning_is_not_learned_again() {
        let documented = |title: &str| {
            seen(&json!({
                "type": "finding", "title": title, "action_taken": "documented",
            }))
        };
        let linked = Observation {
            related_learning_id: Some("learning-0007".to_owned()),
            ..documented("Ropes are tarred")
        };
        let found = of(vec![
            documented("Oak splits"),
            linked,
            documented("The oak splits."),
            documented("Elm rots"),
        ]);
        let places: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
        assert_eq!(places, [0, 3]);
    }

    #[test]
    fn an_attempt_does_not_flood_the_memory() {
        let many = (0..100).map(|number| {
            seen(&json!({
                "type": "finding", "title": format!("Plank {number} is short"),
                "action_taken": "documented",
            }))
        });
        let found = of(many.collect());
        assert_eq!(found.len(), LEARNINGS_MAX);
    }
}
