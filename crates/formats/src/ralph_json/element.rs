//! The elements of a progress file, bound to their tables.

use jiff::Timestamp;
use piton_core::attempt::{AttemptContext, RecoveryAction};
use piton_core::memory::{Confidence, LearningType, PatternType};
use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};

use crate::record::{
    FieldSlot, OptionalValue, TableRecord, ValuePosition, WrittenValue, record, words,
};
use crate::shape::{NamedShape, Pattern, Shape, TextShape, optional_field, required_field};
use crate::shape_merge::parse_instant;
use crate::tree::ValueNode;

/// How an attempt can have ended, in the words of this format.
const STATUS: &[&str] = &["completed", "failed", "blocked", "partial"];

const TEXTS: Shape = Shape::List(&Shape::TEXT);

/// An attempt.
#[derive(Default)]
pub(super) struct RalphEntry {
    pub(super) id: Option<String>,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) prd_id: Option<String>,
    pub(super) iteration: Option<u64>,
    pub(super) status: Option<String>,
    pub(super) duration_s: Option<u64>,
    pub(super) summary: Option<String>,
    pub(super) observations: Option<Vec<Observation>>,
    pub(super) files: Option<Vec<String>>,
    pub(super) commits: Option<Vec<String>>,
    pub(super) context: Option<AttemptContext>,
}

/// What is worth knowing the next time.
#[derive(Default)]
pub(super) struct Learning {
    pub(super) id: Option<String>,
    pub(super) topic: Option<String>,
    pub(super) content: Option<String>,
    pub(super) context: Option<String>,
    pub(super) source_item: Option<String>,
    pub(super) source_attempt: Option<String>,
    pub(super) learned_at: Option<Timestamp>,
    pub(super) times_referenced: Option<u64>,
    pub(super) is_valid: Option<bool>,
}

/// How a code base does things.
#[derive(Default)]
pub(super) struct CodePattern {
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) topic: Option<String>,
    pub(super) content: Option<String>,
    pub(super) examples: Option<Vec<String>>,
    pub(super) learned_at: Option<Timestamp>,
    pub(super) source_item: Option<String>,
    pub(super) confidence: Option<Confidence>,
}

pub(super) static ENTRY: NamedShape = NamedShape::closed_map("ProgressEntry", ENTRY_KEYS);

record! {
    static ENTRY_KEYS: RalphEntry {
        id: required_field("id", Shape::Text(TextShape::Pattern(Pattern::EntryId)))
            .with_about("The name of the attempt: its item and its number"),
        timestamp: required_field("timestamp", Shape::DATE_TIME).with_about("When it was over"),
        prd_id: required_field("prd_id", Shape::TEXT).with_about("The item that was worked on"),
        iteration: required_field("iteration", Shape::Integer { min: Some(1) })
            .with_about("Which attempt at the item it was"),
        status: required_field("status", Shape::one_of(STATUS)).with_about("How it ended"),
        duration_s: optional_field("duration_seconds", Shape::COUNT).with_about("How long it took"),
        summary: optional_field("summary", Shape::TEXT).with_about("What was done, in one line"),
        observations: required_field("observations", Shape::List(&Shape::Named(&OBSERVATION)))
            .with_about("What was noticed"),
        files: optional_field("files_modified", TEXTS).with_about("The files that were changed"),
        commits: optional_field("git_commits", TEXTS).with_about("The commits that were made"),
        context: optional_field("context", Shape::Named(&CONTEXT)).with_about("What it started from"),
    }
}

pub(super) static OBSERVATION: NamedShape = NamedShape::closed_map("Observation", OBSERVATION_KEYS);

record! {
    static OBSERVATION_KEYS: Observation {
        kind: required_field("type", Shape::one_of(ObservationKind::WORDS)).with_about("What kind it is"),
        title: required_field("title", Shape::TEXT).with_about("In a few words"),
        description: optional_field("description", Shape::TEXT).with_about("In more words"),
        file: optional_field("file", Shape::TEXT).with_about("The file it is about"),
        category: optional_field("category", Shape::one_of(ObservationCategory::WORDS))
            .with_about("What it is about"),
        severity: optional_field("severity", Shape::one_of(Severity::WORDS)).with_about("How bad it is"),
        action_taken: optional_field("action_taken", Shape::one_of(ActionTaken::WORDS))
            .with_about("What was done about it"),
        related_learning_id: optional_field("related_learning_id", Shape::TEXT)
            .with_about("The learning that came of it"),
    }
}

pub(super) static CONTEXT: NamedShape = NamedShape::closed_map("IterationContext", CONTEXT_KEYS);

record! {
    static CONTEXT_KEYS: AttemptContext {
        retry_count: optional_field("retry_count", Shape::COUNT)
            .with_about("How often the item had been tried again"),
        previous_failure_reason: optional_field("previous_failure_reason", Shape::TEXT)
            .with_about("Why the attempt before failed"),
        recovery_action: optional_field("recovery_action", Shape::one_of(RecoveryAction::WORDS))
            .with_about("What was decided after that"),
        recovery_guidance: optional_field("recovery_guidance", Shape::TEXT).with_about("With what guidance"),
        dependencies_completed: optional_field("dependencies_completed", TEXTS)
            .with_about("Items that were done before"),
        blocker_verified: optional_field("blocker_verified", Shape::Bool)
            .with_about("Whether the claim of a blocker was checked"),
        blocker_valid: optional_field("blocker_valid", Shape::Bool).with_about("Whether the claim was true"),
    }
}

pub(super) static LEARNING: NamedShape = NamedShape::closed_map("Learning", LEARNING_KEYS);

record! {
    static LEARNING_KEYS: Learning {
        id: required_field("id", Shape::Text(TextShape::Pattern(Pattern::LearningId))).with_about("Its name"),
        topic: required_field("type", Shape::one_of(LearningType::WORDS)).with_about("What it is about"),
        content: required_field("content", Shape::TEXT).with_about("What to know"),
        context: optional_field("context", Shape::TEXT).with_about("Where it applies"),
        source_item: required_field("source_prd_id", Shape::TEXT).with_about("The item that it came from"),
        source_attempt: optional_field("source_entry_id", Shape::TEXT).with_about("The attempt that it came from"),
        learned_at: required_field("created_at", Shape::DATE_TIME).with_about("When it was learned"),
        times_referenced: optional_field("times_referenced", Shape::COUNT).with_about("How often it was used"),
        is_valid: optional_field("still_valid", Shape::Bool).with_about("Whether it is to be followed"),
    }
}

pub(super) static PATTERN: NamedShape = NamedShape::closed_map("Pattern", PATTERN_KEYS);

record! {
    static PATTERN_KEYS: CodePattern {
        id: required_field("id", Shape::Text(TextShape::Pattern(Pattern::PatternId))).with_about("Its name"),
        title: required_field("name", Shape::TEXT).with_about("In a few words"),
        topic: required_field("type", Shape::one_of(PatternType::WORDS)).with_about("What it is about"),
        content: optional_field("description", Shape::TEXT).with_about("What it is and how to follow it"),
        examples: optional_field("examples", TEXTS).with_about("Paths or snippets that show it"),
        learned_at: required_field("discovered_at", Shape::DATE_TIME).with_about("When it was noticed"),
        source_item: optional_field("source_prd_id", Shape::TEXT).with_about("The item that it came from"),
        confidence: optional_field("confidence", Shape::one_of(Confidence::WORDS)).with_about("How sure it is"),
    }
}

words!(
    ObservationCategory,
    Severity,
    ActionTaken,
    RecoveryAction,
    Confidence
);

impl FieldSlot for ObservationKind {
    fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
        Some(WrittenValue::text(self.as_str()))
    }

    fn read_value(&mut self, node: &ValueNode, _: &mut ValuePosition<'_, '_>) -> bool {
        let kind = node.as_str().and_then(Self::parse);
        *self = kind.unwrap_or(*self);
        kind.is_some()
    }
}

impl OptionalValue for Timestamp {
    fn to_written(&self) -> WrittenValue<'_> {
        WrittenValue::Text(self.to_string().into())
    }

    fn read_present(node: &ValueNode, _: &mut ValuePosition<'_, '_>) -> Option<Self> {
        parse_instant(node.as_str()?)
    }
}

impl OptionalValue for Vec<Observation> {
    fn to_written(&self) -> WrittenValue<'_> {
        let records = self.iter().map(|seen| seen as &dyn TableRecord);
        WrittenValue::Records(records.collect())
    }

    fn read_present(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self> {
        let nodes = node.as_seq()?.iter();
        let observation = |node: &ValueNode| {
            let mut seen = Observation::bare(ObservationKind::Finding, "");
            at.fill_record(&mut seen, node.as_map()?);
            if node.get("title").is_none() {
                let first = seen
                    .description
                    .as_deref()
                    .and_then(|text| text.lines().next());
                seen.title = first.unwrap_or_default().to_owned();
            }
            Some(seen)
        };
        Some(nodes.filter_map(observation).collect())
    }
}
