//! The elements of a progress file, bound to their tables.

use jiff::Timestamp;
use piton_core::attempt::{Context, RecoveryAction};
use piton_core::memory::{Confidence, LearningType, PatternType};
use piton_core::observation::{
    ActionTaken, Observation, ObservationCategory, ObservationKind, Severity,
};

use super::{STATUS, TEXTS};
use crate::record::{At, Optional, Record, Slot, Written, record, words};
use crate::shape::{Named, Pattern, Shape, Text, may, must};
use crate::tree::Node;
use crate::understood::instant;

/// An attempt.
#[derive(Default)]
pub(super) struct Entry {
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
    pub(super) context: Option<Context>,
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
pub(super) struct Habit {
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) topic: Option<String>,
    pub(super) content: Option<String>,
    pub(super) examples: Option<Vec<String>>,
    pub(super) learned_at: Option<Timestamp>,
    pub(super) source_item: Option<String>,
    pub(super) confidence: Option<Confidence>,
}

pub(super) static ENTRY: Named = Named::closed("ProgressEntry", ENTRY_KEYS);

record! {
    static ENTRY_KEYS: Entry {
        id: must("id", Shape::Text(Text::Pattern(Pattern::EntryId)))
            .about("The name of the attempt: its item and its number"),
        timestamp: must("timestamp", Shape::DATE_TIME).about("When it was over"),
        prd_id: must("prd_id", Shape::TEXT).about("The item that was worked on"),
        iteration: must("iteration", Shape::Integer { min: Some(1) })
            .about("Which attempt at the item it was"),
        status: must("status", Shape::one_of(STATUS)).about("How it ended"),
        duration_s: may("duration_seconds", Shape::COUNT).about("How long it took"),
        summary: may("summary", Shape::TEXT).about("What was done, in one line"),
        observations: must("observations", Shape::List(&Shape::Named(&OBSERVATION)))
            .about("What was noticed"),
        files: may("files_modified", TEXTS).about("The files that were changed"),
        commits: may("git_commits", TEXTS).about("The commits that were made"),
        context: may("context", Shape::Named(&CONTEXT)).about("What it started from"),
    }
}

pub(super) static OBSERVATION: Named = Named::closed("Observation", OBSERVATION_KEYS);

record! {
    static OBSERVATION_KEYS: Observation {
        kind: must("type", Shape::one_of(ObservationKind::WORDS)).about("What kind it is"),
        title: must("title", Shape::TEXT).about("In a few words"),
        description: may("description", Shape::TEXT).about("In more words"),
        file: may("file", Shape::TEXT).about("The file it is about"),
        category: may("category", Shape::one_of(ObservationCategory::WORDS))
            .about("What it is about"),
        severity: may("severity", Shape::one_of(Severity::WORDS)).about("How bad it is"),
        action_taken: may("action_taken", Shape::one_of(ActionTaken::WORDS))
            .about("What was done about it"),
        related_learning_id: may("related_learning_id", Shape::TEXT)
            .about("The learning that came of it"),
    }
}

pub(super) static CONTEXT: Named = Named::closed("IterationContext", CONTEXT_KEYS);

record! {
    static CONTEXT_KEYS: Context {
        retry_count: may("retry_count", Shape::COUNT)
            .about("How often the item had been tried again"),
        previous_failure_reason: may("previous_failure_reason", Shape::TEXT)
            .about("Why the attempt before failed"),
        recovery_action: may("recovery_action", Shape::one_of(RecoveryAction::WORDS))
            .about("What was decided after that"),
        recovery_guidance: may("recovery_guidance", Shape::TEXT).about("With what guidance"),
        dependencies_completed: may("dependencies_completed", TEXTS)
            .about("Items that were done before"),
        blocker_verified: may("blocker_verified", Shape::Bool)
            .about("Whether the claim of a blocker was checked"),
        blocker_valid: may("blocker_valid", Shape::Bool).about("Whether the claim was true"),
    }
}

pub(super) static LEARNING: Named = Named::closed("Learning", LEARNING_KEYS);

record! {
    static LEARNING_KEYS: Learning {
        id: must("id", Shape::Text(Text::Pattern(Pattern::LearningId))).about("Its name"),
        topic: must("type", Shape::one_of(LearningType::WORDS)).about("What it is about"),
        content: must("content", Shape::TEXT).about("What to know"),
        context: may("context", Shape::TEXT).about("Where it applies"),
        source_item: must("source_prd_id", Shape::TEXT).about("The item that it came from"),
        source_attempt: may("source_entry_id", Shape::TEXT).about("The attempt that it came from"),
        learned_at: must("created_at", Shape::DATE_TIME).about("When it was learned"),
        times_referenced: may("times_referenced", Shape::COUNT).about("How often it was used"),
        is_valid: may("still_valid", Shape::Bool).about("Whether it is to be followed"),
    }
}

pub(super) static PATTERN: Named = Named::closed("Pattern", PATTERN_KEYS);

record! {
    static PATTERN_KEYS: Habit {
        id: must("id", Shape::Text(Text::Pattern(Pattern::PatternId))).about("Its name"),
        title: must("name", Shape::TEXT).about("In a few words"),
        topic: must("type", Shape::one_of(PatternType::WORDS)).about("What it is about"),
        content: may("description", Shape::TEXT).about("What it is and how to follow it"),
        examples: may("examples", TEXTS).about("Paths or snippets that show it"),
        learned_at: must("discovered_at", Shape::DATE_TIME).about("When it was noticed"),
        source_item: may("source_prd_id", Shape::TEXT).about("The item that it came from"),
        confidence: may("confidence", Shape::one_of(Confidence::WORDS)).about("How sure it is"),
    }
}

words!(
    ObservationCategory,
    Severity,
    ActionTaken,
    RecoveryAction,
    Confidence
);

impl Slot for ObservationKind {
    fn written(&self, _: &str) -> Option<Written<'_>> {
        Some(Written::text(self.as_str()))
    }

    fn read(&mut self, node: &Node, _: &mut At<'_, '_>) -> bool {
        let kind = node.as_str().and_then(Self::parse);
        *self = kind.unwrap_or(*self);
        kind.is_some()
    }
}

impl Optional for Timestamp {
    fn written(&self) -> Written<'_> {
        Written::Text(self.to_string().into())
    }

    fn read(node: &Node, _: &mut At<'_, '_>) -> Option<Self> {
        instant(node.as_str()?)
    }
}

impl Optional for Vec<Observation> {
    fn written(&self) -> Written<'_> {
        let records = self.iter().map(|seen| seen as &dyn Record);
        Written::Records(records.collect())
    }

    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
        let nodes = node.as_seq()?.iter();
        let observation = |node: &Node| {
            let mut seen = Observation::bare(ObservationKind::Finding, "");
            at.fill(&mut seen, node.as_map()?);
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
