//! `PROGRESS.yaml` as it is met: what can be read is read.
//!
//! A value of the wrong type is told and kept in `extra`; a counter that is
//! wrong is a warning, because it can be counted again.

use super::Source;
use super::elapsed::parse_elapsed;
use super::field::{Path, Report, first_line};
use super::layout::{self, Layout};
use super::progress::{
    Children, Current, Gate, GateStatus, HumanNeeded, PhaseNode, PhaseStatus, Progress,
    SprintStatus, Stats,
};
use super::shape::{CURRENT, GATE, NODE, PROGRESS};
use super::workflow::syntax_problems;
use crate::problem::Problem;
use crate::record::{At, Manner, Record, Slot, Written, fill, others};
use crate::shape::Field;
use crate::tolerant::Place;
use crate::yaml::{Map, Node, Span, parse};

/// Reads a `PROGRESS.yaml`.
///
/// There is no document when the file is not YAML, or is not the progress of a
/// sprint. An error beside a document means that something in it could not be
/// understood: it may be shown, but should not be written over.
pub fn parse_progress(source: Source<'_>) -> (Option<Progress>, Vec<Problem>) {
    let mut problems = Vec::new();
    let parsed = parse(source.text);
    let broken = !parsed.faults.is_empty();
    syntax_problems(
        "PROGRESS_PARSE_ERROR",
        source.name,
        parsed.faults,
        &mut problems,
    );
    if broken && parsed.root.is_none() {
        return (None, problems);
    }
    let mut report = Report {
        file: source.name,
        problems: &mut problems,
    };
    let layout = parsed.root.as_ref().map_or(Layout::Empty, layout::of_root);
    match (layout, parsed.root) {
        (Layout::Current, Some(root)) => {
            // What the values mean is told when all of the text is YAML: most of
            // it would only follow from the fault.
            let mut untold = Vec::new();
            if broken {
                report.problems = &mut untold;
            }
            let progress = progress(&root, &mut report);
            (Some(progress), problems)
        }
        (layout, _) => {
            let (code, hint) = match layout {
                Layout::TaskQueue | Layout::GoalDriven => (
                    "LEGACY_LAYOUT",
                    "compile the sprint anew from its SPRINT.yaml; this file stays as it is",
                ),
                Layout::Current | Layout::Foreign(_) | Layout::Empty | Layout::Unreadable => (
                    "NOT_A_PROGRESS_FILE",
                    "keep the file, and name the folder of the sprint that you mean",
                ),
            };
            let message = format!("this is {}", layout.describe());
            report.error(code, Path::ROOT, Span::TOP, (message, hint));
            (None, problems)
        }
    }
}

fn progress(root: &Node, report: &mut Report<'_>) -> Progress {
    let mut progress = Progress::default();
    let empty = Map::default();
    let map = root.as_map().unwrap_or(&empty);
    let path = Path::ROOT;
    fill(&mut progress, Place { map, path }, report, Manner::Literal);
    if let Some(current) = map.get("current") {
        progress.current_extra = others(current, CURRENT);
    }
    missing(report, root, (PROGRESS, Path::ROOT), |key| {
        let hint = "piton adds it when it next writes the file";
        (format!("the document has no `{key}`"), hint)
    });
    check_whole(report, map, &progress);
    progress
}

/// Gives a status its place in a file: one that is always written.
macro_rules! statuses {
    ($($status:ty),*) => {
        $(impl Slot for $status {
            fn written(&self, _: &str) -> Option<Written<'_>> {
                Some(Written::text(self.as_str()))
            }

            fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
                let status = node.as_str().and_then(Self::parse);
                if status.is_none() {
                    unknown_status(Self::WORDS, node, at);
                }
                *self = status.unwrap_or_default();
                true
            }
        })*
    };
}

statuses!(SprintStatus, PhaseStatus, GateStatus);

fn unknown_status(words: &[&str], node: &Node, at: &mut At<'_, '_>) {
    if node.is_null() {
        let path = at.place.path.key("status");
        let message = "the status is empty; it counts as not begun".to_owned();
        let words = (message, "write the status, or `pending`");
        return at.report.warning("NULL_STATUS", path, at.key.span, words);
    }
    let message = format!("there is no status {}", node.describe());
    let hint = format!("write one of `{}`", words.join("`, `"));
    at.error("UNKNOWN_STATUS", node, (message, &hint));
}

impl Slot for Vec<PhaseNode> {
    fn written(&self, _: &str) -> Option<Written<'_>> {
        let records = self.iter().map(|node| node as &dyn Record);
        Some(Written::Records(records.collect()))
    }

    fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
        if node.is_null() {
            return true;
        }
        let key = &at.key.text;
        let Some(items) = node.as_seq() else {
            let message = format!("`{key}` must be a list, not {}", node.describe());
            at.error(
                "WRONG_TYPE",
                node,
                (message, "begin each element with `- id: …`"),
            );
            return true;
        };
        let path = at.place.path.key(key);
        let items = items.iter().enumerate();
        *self = items
            .filter_map(|(index, item)| phase(item, path.index(index), at.report))
            .collect();
        true
    }
}

fn phase(item: &Node, path: Path<'_>, report: &mut Report<'_>) -> Option<PhaseNode> {
    let Some(map) = item.as_map() else {
        let message = format!("a phase must be a mapping, not {}", item.describe());
        let words = (message, "write `- id: …` with `status: …` below it");
        report.error("WRONG_TYPE", path, item.span, words);
        return None;
    };
    let mut node = PhaseNode::default();
    fill(&mut node, Place { map, path }, report, Manner::Literal);
    missing(report, item, (NODE, path), |key| {
        (format!("the phase has no `{key}`"), "add it")
    });
    Some(node)
}

impl Slot for Children {
    fn written(&self, key: &str) -> Option<Written<'_>> {
        match (self, key) {
            (Self::Steps(nodes), "steps") | (Self::Phases(nodes), "phases") => nodes.written(key),
            (Self::None | Self::Steps(_) | Self::Phases(_), _) => None,
        }
    }

    fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
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
            at.mistyped(node, "a list");
            return false;
        }
        let mut nodes = Vec::new();
        nodes.read(node, at);
        *self = if at.key.text == "steps" {
            Self::Steps(nodes)
        } else {
            Self::Phases(nodes)
        };
        true
    }
}

pub(super) fn read_gate(node: &Node, at: &mut At<'_, '_>) -> Option<Gate> {
    let text = |key| node.get(key).and_then(Node::text).map(str::to_owned);
    let gate = text("script").and_then(|script| {
        Some(Gate {
            script,
            on_fail_prompt: text("on-fail-prompt")?,
            max_retries: node.get("max-retries").map_or(Some(3), Node::as_u64)?,
            timeout_s: node.get("timeout").map_or(Some(60.0), Node::as_f64)?,
            extra: others(node, GATE),
        })
    });
    if gate.is_none() {
        at.mistyped(node, "a mapping with `script` and `on-fail-prompt`");
    }
    gate
}

pub(super) fn read_human_needed(node: &Node, at: &mut At<'_, '_>) -> Option<HumanNeeded> {
    let Some(reason) = node.get("reason").and_then(Node::text) else {
        at.mistyped(node, "a mapping with `reason`");
        return None;
    };
    let details = node.get("details").filter(|details| !details.is_null());
    let details = details.and_then(Node::text).map(str::to_owned);
    let mut extra = others(node, &[]);
    extra.retain(|(key, _)| match key.as_str() {
        "reason" => false,
        // What is no text is kept as it stands.
        "details" => details.is_none(),
        _ => true,
    });
    Some(HumanNeeded {
        reason: reason.to_owned(),
        details,
        extra,
    })
}

/// Gives mappings that are always there their place in a file.
macro_rules! mappings {
    ($($record:ty),*) => {
        $(impl Slot for $record {
            fn written(&self, _: &str) -> Option<Written<'_>> {
                Some(Written::record(self))
            }

            fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
                *self = <Self as Record>::read(node, at).unwrap_or_default();
                true
            }
        })*
    };
}

mappings!(Current, Stats);

/// Warns of the keys that must be there and are not.
fn missing(
    report: &mut Report<'_>,
    node: &Node,
    (fields, path): (&[Field], Path<'_>),
    words: impl Fn(&str) -> (String, &'static str),
) {
    for Field { key, .. } in fields.iter().filter(|field| field.required) {
        if node.get(key).is_none() {
            let span = first_line(node);
            report.warning("MISSING_KEY", path.key(key), span, words(key));
        }
    }
}

/// What only shows when the whole document has been read.
fn check_whole(report: &mut Report<'_>, map: &Map, progress: &Progress) {
    check_counters(report, map, progress);
    check_pointer(report, map, progress);
    let stats = map.get("stats");
    let Some(value) = stats.and_then(|stats| stats.get("elapsed")) else {
        return;
    };
    let text = value.text().filter(|_| !value.is_null());
    if text.is_some_and(|text| parse_elapsed(text).is_none()) {
        let path = Path::ROOT.key("stats");
        let message = format!("{} is no duration", value.describe());
        let words = (message, "write it as HH:MM:SS");
        let path = path.key("elapsed");
        report.warning("UNREADABLE_DURATION", path, value.span, words);
    }
}

fn check_counters(report: &mut Report<'_>, map: &Map, progress: &Progress) {
    let Some(stats) = map.get("stats").and_then(Node::as_map) else {
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
            let path = Path::ROOT.key("stats");
            let message = format!("`{key}` is {have}; counted, it is {real}");
            let hint = "nothing to do: piton counts again when it next writes the file";
            let words = (message, hint);
            report.warning("COUNTER_DISAGREES", path.key(key), node.span, words);
        }
    }
}

/// The pointer may stand behind the last phase when all is done.
fn check_pointer(report: &mut Report<'_>, map: &Map, progress: &Progress) {
    let Some((key, _)) = map.entry("current") else {
        return;
    };
    let finished = progress.status == SprintStatus::Completed;
    let nothing = progress.phases.is_empty();
    if !finished && !nothing && progress.current_node().is_none() {
        let message = "`current` names no phase that exists".to_owned();
        let hint = "point it at the phase to go on with; without that piton takes the first \
            that is not done";
        let path = Path::ROOT.key("current");
        report.warning("POINTER_OUT_OF_RANGE", path, key.span, (message, hint));
    }
}
