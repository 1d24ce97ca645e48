//! `PROGRESS.yaml` as it is met: what can be read is read.
//!
//! A value of the wrong type is told and kept in `extra`; a counter that is
//! wrong is a warning, because it can be counted again.

use super::SourceText;
use super::elapsed::parse_elapsed;
use super::field::{ProblemReport, ValuePath, first_key_span};
use super::layout::{self, SprintLayout};
use super::progress::{
    Children, GateStatus, NodePointer, PhaseNode, PhaseStatus, SprintProgress, SprintStatus, Stats,
};
use super::shape::{CURRENT, NODE, PROGRESS};
use super::workflow::report_syntax_problems;
use crate::problem::Problem;
use crate::record::{
    FieldSlot, ReadMode, TableRecord, ValuePosition, WrittenValue, extra_pairs, fill_record,
};
use crate::report::MapPosition;
use crate::shape::FieldShape;
use crate::yaml::{Map, Span, ValueNode, parse};

/// Reads a `PROGRESS.yaml`.
///
/// There is no document when the file is not YAML, or is not the progress of a
/// sprint. An error beside a document means that something in it could not be
/// understood: it may be shown, but should not be written over.
pub fn parse_progress(source: SourceText<'_>) -> (Option<SprintProgress>, Vec<Problem>) {
    let mut problems = Vec::new();
    let parsed = parse(source.text);
    let broken = !parsed.faults.is_empty();
    report_syntax_problems(
        "PROGRESS_PARSE_ERROR",
        source.name,
        parsed.faults,
        &mut problems,
    );
    if broken && parsed.root.is_none() {
        return (None, problems);
    }
    let mut report = ProblemReport {
        file: source.name,
        problems: &mut problems,
    };
    let layout = parsed
        .root
        .as_ref()
        .map_or(SprintLayout::Empty, layout::layout_of_root);
    match (layout, parsed.root) {
        (SprintLayout::Current, Some(root)) => {
            // What the values mean is told when all of the text is YAML: most of
            // it would only follow from the fault.
            let mut untold = Vec::new();
            if broken {
                report.problems = &mut untold;
            }
            let progress = parse_root(&root, &mut report);
            (Some(progress), problems)
        }
        (layout, _) => {
            let (code, hint) = match layout {
                SprintLayout::TaskQueue | SprintLayout::GoalDriven => (
                    "LEGACY_LAYOUT",
                    "compile the sprint anew from its SPRINT.yaml; this file stays as it is",
                ),
                SprintLayout::Current
                | SprintLayout::Foreign(_)
                | SprintLayout::Empty
                | SprintLayout::Unreadable => (
                    "NOT_A_PROGRESS_FILE",
                    "keep the file, and name the folder of the sprint that you mean",
                ),
            };
            let message = format!("this is {}", layout.describe());
            report.error(code, ValuePath::ROOT, Span::TOP, (message, hint));
            (None, problems)
        }
    }
}

fn parse_root(root: &ValueNode, report: &mut ProblemReport<'_>) -> SprintProgress {
    let mut progress = SprintProgress::default();
    let empty = Map::default();
    let map = root.as_map().unwrap_or(&empty);
    let path = ValuePath::ROOT;
    fill_record(
        &mut progress,
        MapPosition { map, path },
        report,
        ReadMode::Literal,
    );
    if let Some(current) = map.get("current") {
        progress.current_extra = extra_pairs(current, CURRENT);
    }
    warn_missing_keys(report, root, PROGRESS, ValuePath::ROOT, |key| {
        let hint = "piton adds it when it next writes the file";
        (format!("the document has no `{key}`"), hint)
    });
    check_document(report, map, &progress);
    progress
}

/// Gives a status its place in a file: one that is always written.
macro_rules! statuses {
    ($($status:ty),*) => {
        $(impl FieldSlot for $status {
            fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
                Some(WrittenValue::text(self.as_str()))
            }

            fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
                let status = node.as_str().and_then(Self::parse);
                if status.is_none() {
                    report_unknown_status(Self::WORDS, node, at);
                }
                *self = status.unwrap_or_default();
                true
            }
        })*
    };
}

statuses!(SprintStatus, PhaseStatus, GateStatus);

fn report_unknown_status(words: &[&str], node: &ValueNode, at: &mut ValuePosition<'_, '_>) {
    if node.is_null() {
        let path = at.place.path.key("status");
        let message = "the status is empty; it counts as not begun".to_owned();
        let words = (message, "write the status, or `pending`");
        return at.report.warning("NULL_STATUS", path, at.key.span, words);
    }
    let message = format!("there is no status {}", node.describe());
    let hint = format!("write one of `{}`", words.join("`, `"));
    at.report_error("UNKNOWN_STATUS", node, message, &hint);
}

impl FieldSlot for Vec<PhaseNode> {
    fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
        let records = self.iter().map(|node| node as &dyn TableRecord);
        Some(WrittenValue::Records(records.collect()))
    }

    fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
        if node.is_null() {
            return true;
        }
        let key = &at.key.text;
        let Some(items) = node.as_seq() else {
            let message = format!("`{key}` must be a list, not {}", node.describe());
            at.report_error(
                "WRONG_TYPE",
                node,
                message,
                "begin each element with `- id: …`",
            );
            return true;
        };
        let path = at.place.path.key(key);
        let items = items.iter().enumerate();
        *self = items
            .filter_map(|(index, item)| parse_phase(item, path.index(index), at.report))
            .collect();
        true
    }
}

fn parse_phase(
    item: &ValueNode,
    path: ValuePath<'_>,
    report: &mut ProblemReport<'_>,
) -> Option<PhaseNode> {
    let Some(map) = item.as_map() else {
        let message = format!("a phase must be a mapping, not {}", item.describe());
        let words = (message, "write `- id: …` with `status: …` below it");
        report.error("WRONG_TYPE", path, item.span, words);
        return None;
    };
    let mut node = PhaseNode::default();
    fill_record(
        &mut node,
        MapPosition { map, path },
        report,
        ReadMode::Literal,
    );
    warn_missing_keys(report, item, NODE, path, |key| {
        (format!("the phase has no `{key}`"), "add it")
    });
    Some(node)
}

impl FieldSlot for Children {
    fn value_to_write(&self, key: &str) -> Option<WrittenValue<'_>> {
        match (self, key) {
            (Self::Steps(nodes), "steps") | (Self::Phases(nodes), "phases") => {
                nodes.value_to_write(key)
            }
            (Self::None | Self::Steps(_) | Self::Phases(_), _) => None,
        }
    }

    fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
        if node.is_null() {
            return false;
        }
        if *self != Self::None {
            let path = at.place.path.key(&at.key.text);
            let message = "the phase has both `steps` and `phases`".to_owned();
            let words = (message, "keep one of them");
            at.report
                .error("STEPS_AND_PHASES", path, at.key.span, words);
            return false;
        }
        if node.as_seq().is_none() {
            at.report_mistyped(node, "a list");
            return false;
        }
        let mut nodes = Vec::new();
        nodes.read_value(node, at);
        *self = if at.key.text == "steps" {
            Self::Steps(nodes)
        } else {
            Self::Phases(nodes)
        };
        true
    }
}

/// Gives mappings that are always there their place in a file.
macro_rules! mappings {
    ($($record:ty),*) => {
        $(impl FieldSlot for $record {
            fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
                Some(WrittenValue::record(self))
            }

            fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
                *self = <Self as TableRecord>::read_record(node, at).unwrap_or_default();
                true
            }
        })*
    };
}

mappings!(NodePointer, Stats);

/// Warns of the keys that must be there and are not.
fn warn_missing_keys(
    report: &mut ProblemReport<'_>,
    node: &ValueNode,
    fields: &[FieldShape],
    path: ValuePath<'_>,
    words: impl Fn(&str) -> (String, &'static str),
) {
    for FieldShape { key, .. } in fields.iter().filter(|field| field.required) {
        if node.get(key).is_none() {
            let span = first_key_span(node);
            report.warning("MISSING_KEY", path.key(key), span, words(key));
        }
    }
}

/// What only shows when the whole document has been read.
fn check_document(report: &mut ProblemReport<'_>, map: &Map, progress: &SprintProgress) {
    check_counters(report, map, progress);
    check_pointer(report, map, progress);
    let stats = map.get("stats");
    let Some(value) = stats.and_then(|stats| stats.get("elapsed")) else {
        return;
    };
    let text = value.text().filter(|_| !value.is_null());
    if text.is_some_and(|text| parse_elapsed(text).is_none()) {
        let path = ValuePath::ROOT.key("stats");
        let message = format!("{} is no duration", value.describe());
        let words = (message, "write it as HH:MM:SS");
        let path = path.key("elapsed");
        report.warning("UNREADABLE_DURATION", path, value.span, words);
    }
}

fn check_counters(report: &mut ProblemReport<'_>, map: &Map, progress: &SprintProgress) {
    let Some(stats) = map.get("stats").and_then(ValueNode::as_map) else {
        return;
    };
    let (have, real) = (&progress.stats, progress.derived_stats());
    let steps = |steps: Option<u64>| steps.unwrap_or(0);
    for (key, have, real) in [
        ("total-phases", Some(have.total_phases), real.total_phases),
        (
            "completed-phases",
            Some(have.completed_phases),
            real.completed_phases,
        ),
        ("total-steps", have.total_steps, steps(real.total_steps)),
        (
            "completed-steps",
            have.completed_steps,
            steps(real.completed_steps),
        ),
    ] {
        let (Some(node), Some(have)) = (stats.get(key), have) else {
            continue;
        };
        if have != real && !node.is_null() {
            let path = ValuePath::ROOT.key("stats");
            let message = format!("`{key}` is {have}; counted, it is {real}");
            let hint = "nothing to do: piton counts again when it next writes the file";
            let words = (message, hint);
            report.warning("COUNTER_DISAGREES", path.key(key), node.span, words);
        }
    }
}

/// The pointer may stand behind the last phase when all is done.
fn check_pointer(report: &mut ProblemReport<'_>, map: &Map, progress: &SprintProgress) {
    let Some((key, _)) = map.entry("current") else {
        return;
    };
    let finished = progress.status == SprintStatus::Completed;
    let nothing = progress.phases.is_empty();
    if !finished && !nothing && progress.current_node().is_none() {
        let message = "`current` names no phase that exists".to_owned();
        let hint = "point it at the phase to go on with; without that piton takes the first \
            that is not done";
        let path = ValuePath::ROOT.key("current");
        report.warning("POINTER_OUT_OF_RANGE", path, key.span, (message, hint));
    }
}
