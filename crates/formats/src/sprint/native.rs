//! What of a `PROGRESS.yaml` the core has no words for, and how it travels.

use jiff::Timestamp;
use piton_core::amount::{format_duration_flag, parse_duration};
use piton_core::native::Native;
use serde::{Deserialize, Serialize};

use super::elapsed::render_time;
use super::progress::{Children, PhaseNode, SprintProgress, SprintWait};
use super::{SourceText, parse_progress, render_progress};
use crate::native::{native_body, native_of_body, pack, unpack};
use crate::yaml::{ValueNode, parse, render};

/// The name of this format.
pub const FACE: &str = "sprint-yaml";

/// What of a sprint only this format has: everything but phases, state and
/// counters, as a document of its own.
pub(super) fn native_of_sprint(progress: &SprintProgress) -> Native {
    let rest = SprintProgress {
        phases: Vec::new(),
        last_activity: None,
        ..progress.clone()
    };
    native_of_body(FACE, render_progress(&rest))
}

/// The sprint that [`native_of_sprint`] kept; an empty one for another format.
pub(super) fn sprint_of_native(native: Option<&Native>) -> SprintProgress {
    let progress = native_body(native, FACE).and_then(|text| {
        let name = "journal";
        parse_progress(SourceText { name, text }).0
    });
    progress.unwrap_or_default()
}

/// What of a phase, step or sub-phase only this format has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct NodeRest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait_for_parallel: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) break_after: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) injected: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) injected_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
    /// Times as they were written, when piton would write them otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) elapsed: Option<String>,
    /// A list of steps or phases that is there and empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) empty_list: bool,
    /// Where it stood, in words, when that says more than piton's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    /// A time-out of a gate that is no whole number of seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gate_timeout: Option<f64>,
    /// How often a command is asked that it waits for, and until when, as they were
    /// written, when piton would write them otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait_every: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wait_until: Option<String>,
    /// Keys that piton does not know, as YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gate_extra: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gate_tracking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) human_extra: Option<String>,
}

impl NodeRest {
    pub(super) fn from_node(node: &PhaseNode) -> Self {
        let empty_list =
            !matches!(node.children, Children::None) && node.children.as_slice().is_empty();
        let timeout = node.gate.as_ref().map(|gate| gate.timeout_s);
        let wait = node.wait.as_ref().map(original_wait_texts);
        let (wait_every, wait_until) = wait.unwrap_or_default();
        Self {
            parallel: node.parallel,
            wait_for_parallel: node.wait_for_parallel,
            break_after: node.break_after.filter(|stops| !stops),
            injected: node.injected,
            injected_at: node.injected_at.clone(),
            commit: node.progress.commit.clone(),
            started_at: None,
            completed_at: None,
            elapsed: node.progress.elapsed.clone(),
            empty_list,
            status: None,
            gate_timeout: timeout.filter(|timeout| timeout.fract() != 0.0),
            wait_every,
            wait_until,
            extra: pack_keys(&node.extra),
            gate_extra: node.gate.as_ref().and_then(|gate| pack_keys(&gate.extra)),
            gate_tracking: None,
            human_extra: node
                .progress
                .human_needed
                .as_ref()
                .and_then(|human| pack_keys(&human.extra)),
        }
    }

    pub(super) fn pack(&self) -> Option<Native> {
        (*self != Self::default()).then(|| pack(FACE, self))
    }

    pub(super) fn unpack(native: Option<&Native>) -> Self {
        unpack(native, FACE).unwrap_or_default()
    }
}

/// The name that a phase, step or sub-phase has beside its id.
pub(crate) fn name_of_native(native: &Native) -> Option<String> {
    let rest = NodeRest::unpack(Some(native));
    let extra = unpack_keys(rest.extra.as_deref());
    let of_key = |key: &str| {
        let found = extra.iter().find(|(name, _)| name == key)?;
        found.1.as_str().map(str::to_owned)
    };
    of_key("name").or_else(|| of_key("title"))
}

/// A wait as the core knows it.
pub(super) fn import_wait(wait: &SprintWait) -> piton_core::wait::Wait {
    piton_core::wait::Wait {
        command: wait.command.clone(),
        every_s: wait.every.as_deref().and_then(parse_every_s),
        until: wait.until.as_deref().and_then(parse_until),
    }
}

/// The same as the file has it: in the words in which it was written, where they still
/// say the same.
pub(super) fn export_wait(wait: &piton_core::wait::Wait, rest: &NodeRest) -> SprintWait {
    let kept_every = rest.wait_every.clone();
    let kept_every = kept_every.filter(|text| parse_every_s(text) == wait.every_s);
    let kept_until = rest.wait_until.clone();
    let kept_until = kept_until.filter(|text| parse_until(text) == wait.until);
    SprintWait {
        command: wait.command.clone(),
        every: kept_every.or_else(|| wait.every_s.map(format_duration_flag)),
        until: kept_until.or_else(|| wait.until.map(render_time)),
    }
}

/// Durations and times as they were written, where piton would write them otherwise.
fn original_wait_texts(wait: &SprintWait) -> (Option<String>, Option<String>) {
    let own = export_wait(&import_wait(wait), &NodeRest::default());
    let every = wait.every.clone().filter(|_| wait.every != own.every);
    let until = wait.until.clone().filter(|_| wait.until != own.until);
    (every, until)
}

fn parse_every_s(text: &str) -> Option<u64> {
    parse_duration(text).ok()
}

fn parse_until(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Unknown keys as the text of a YAML map.
pub(super) fn pack_keys(extra: &[(String, ValueNode)]) -> Option<String> {
    (!extra.is_empty()).then(|| {
        render(&ValueNode::map(
            extra
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        ))
    })
}

/// The unknown keys of such a text.
pub(super) fn unpack_keys(text: Option<&str>) -> Vec<(String, ValueNode)> {
    let Some(node) = text.and_then(|text| parse(text).root) else {
        return Vec::new();
    };
    let Some(map) = node.as_map() else {
        return Vec::new();
    };
    map.iter()
        .map(|(key, value)| (key.text.clone(), value.clone()))
        .collect()
}
