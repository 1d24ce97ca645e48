//! A [`Progress`] as YAML text and as JSON.
//!
//! The order of the keys is told once, in [`Record::write`], to a [`Sink`].
//! The YAML sink writes straight into one string: a document of ten thousand
//! nodes is written several times a second. Another sink makes a tree that
//! takes over what a present document says already, for [`update_progress`].

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use piton_core::evidence::{ClaimOverrides, WeakenedProof, Worth};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};

use super::progress::{
    Children, Current, Gate, GateTracking, HumanNeeded, PhaseNode, Progress, Stats,
};
use crate::tolerant::CLAIMS_KEYS;
use crate::yaml::{self, Key, Map, Node, Value};

/// The text of `PROGRESS.yaml`.
pub fn render_progress(progress: &Progress) -> String {
    let mut out = String::with_capacity(4096);
    let mut sink = YamlSink {
        out: &mut out,
        indent: 0,
        inline: true,
    };
    // A string takes everything that is written to it.
    let Ok(()) = progress.write(&mut sink);
    out
}

impl Serialize for Progress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AsJson(self).serialize(serializer)
    }
}

impl Serialize for PhaseNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AsJson(&Placed::of(self)).serialize(serializer)
    }
}

/// The text `present` with what it says brought up to date: what did not
/// change keeps its bytes, and keys that neither piton nor `progress` knows
/// stay wherever they stand. A text that cannot be changed in place is written
/// anew, with such keys where it could be read.
pub fn update_progress(present: &str, progress: &Progress) -> String {
    let Some(root) = yaml::parse(present).root else {
        return render_progress(progress);
    };
    let wanted = merged(progress, Some(&root));
    yaml::patch(present, &wanted).unwrap_or_else(|_| yaml::emit(&wanted))
}

/// The tree of `progress`, with the unknown keys of `present`.
fn merged(record: &impl Record, present: Option<&Node>) -> Node {
    let mut sink = TreeSink {
        present,
        pairs: Vec::new(),
    };
    let Ok(()) = record.write(&mut sink);
    sink.finish(record)
}

/// Something that is written as a mapping.
trait Record {
    /// Whether this format has such a key here. The value of such a key that
    /// is not written is gone, that of any other belongs to somebody.
    fn knows(&self, key: &str) -> bool;

    /// By which it is told from others of its list.
    fn id(&self) -> &str {
        ""
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error>;
}

/// Where a mapping is written to.
trait Sink {
    type Error;
    fn text(&mut self, key: &str, value: &str) -> Result<(), Self::Error>;
    fn flag(&mut self, key: &str, value: bool) -> Result<(), Self::Error>;
    fn integer(&mut self, key: &str, value: i128) -> Result<(), Self::Error>;
    fn number(&mut self, key: &str, value: f64) -> Result<(), Self::Error>;
    fn null(&mut self, key: &str) -> Result<(), Self::Error>;
    fn tree(&mut self, key: &str, value: &Node) -> Result<(), Self::Error>;
    fn texts(&mut self, key: &str, values: &[String]) -> Result<(), Self::Error>;
    fn record(&mut self, key: &str, value: &impl Record) -> Result<(), Self::Error>;
    fn records<R: Record>(
        &mut self,
        key: &str,
        values: impl ExactSizeIterator<Item = R>,
    ) -> Result<(), Self::Error>;

    fn maybe_text(&mut self, key: &str, value: Option<&String>) -> Result<(), Self::Error> {
        value.map_or(Ok(()), |value| self.text(key, value))
    }

    fn maybe_flag(&mut self, key: &str, value: Option<bool>) -> Result<(), Self::Error> {
        value.map_or(Ok(()), |value| self.flag(key, value))
    }

    fn maybe_integer(
        &mut self,
        key: &str,
        value: Option<impl Into<i128>>,
    ) -> Result<(), Self::Error> {
        value.map_or(Ok(()), |value| self.integer(key, value.into()))
    }

    fn maybe_tree(&mut self, key: &str, value: Option<&Node>) -> Result<(), Self::Error> {
        value.map_or(Ok(()), |value| self.tree(key, value))
    }

    fn maybe_record(&mut self, key: &str, value: Option<&impl Record>) -> Result<(), Self::Error> {
        value.map_or(Ok(()), |value| self.record(key, value))
    }
}

impl Record for Progress {
    fn knows(&self, key: &str) -> bool {
        PROGRESS_KEYS.contains(&key)
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.text("sprint-id", &self.sprint_id)?;
        sink.text("status", self.status.as_str())?;
        sink.records("phases", self.phases.iter().map(Placed::of))?;
        sink.record("current", &Pointer(&self.current, &self.current_extra))?;
        sink.record("stats", &self.stats)?;
        sink.maybe_tree("parallel-tasks", self.parallel_tasks.as_ref())?;
        sink.maybe_tree("orchestration", self.orchestration.as_ref())?;
        sink.maybe_tree("step-queue", self.step_queue.as_ref())?;
        sink.maybe_tree("prompts", self.prompts.as_ref())?;
        sink.maybe_tree("worktree", self.worktree.as_ref())?;
        sink.maybe_tree("dependency-graph", self.dependency_graph.as_ref())?;
        sink.maybe_tree("per-iteration-hooks", self.per_iteration_hooks.as_ref())?;
        sink.maybe_tree("hook-tasks", self.hook_tasks.as_ref())?;
        sink.maybe_tree("retry", self.retry.as_ref())?;
        sink.maybe_tree("config", self.config.as_ref())?;
        sink.maybe_tree("parallel-execution", self.parallel_execution.as_ref())?;
        sink.maybe_tree("operator-queue", self.operator_queue.as_ref())?;
        sink.maybe_text("last-activity", self.last_activity.as_ref())?;
        sink.maybe_text("pause-reason", self.pause_reason.as_ref())?;
        sink.maybe_text("breakpoint-phase-id", self.breakpoint_phase_id.as_ref())?;
        sink.maybe_text("error", self.error.as_ref())?;
        sink.maybe_text("failed-phase", self.failed_phase.as_ref())?;
        sink.maybe_text("blocked-at", self.blocked_at.as_ref())?;
        sink.maybe_record("human-needed", self.human_needed.as_ref())?;
        sink.maybe_text("summary", self.summary.as_ref())?;
        sink.maybe_text("interrupted-at", self.interrupted_at.as_ref())?;
        sink.maybe_text("interrupted-signal", self.interrupted_signal.as_ref())?;
        extra(sink, &self.extra, |key| self.sets(key))
    }
}

/// A node and whether it is a step, whose keys have an order of their own.
struct Placed<'p> {
    node: &'p PhaseNode,
    is_step: bool,
}

impl<'p> Placed<'p> {
    fn of(node: &'p PhaseNode) -> Self {
        Self {
            node,
            is_step: matches!(node.children, Children::Phases(_)),
        }
    }
}

impl Record for Placed<'_> {
    fn knows(&self, key: &str) -> bool {
        NODE_KEYS.contains(&key)
    }

    fn id(&self) -> &str {
        &self.node.id
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let node = self.node;
        sink.text("id", &node.id)?;
        if self.is_step {
            sink.maybe_text("prompt", node.prompt.as_ref())?;
        }
        sink.text("status", node.status.as_str())?;
        if !self.is_step {
            sink.maybe_text("prompt", node.prompt.as_ref())?;
        }
        match &node.children {
            Children::None => {}
            Children::Steps(steps) => sink.records("steps", steps.iter().map(Placed::of))?,
            Children::Phases(phases) => sink.records("phases", phases.iter().map(Placed::of))?,
        }
        sink.maybe_flag("parallel", node.parallel)?;
        sink.maybe_flag("wait-for-parallel", node.wait_for_parallel)?;
        sink.maybe_text("model", node.model.as_ref())?;
        sink.maybe_flag("break", node.break_after)?;
        sink.maybe_record("gate", node.gate.as_ref())?;
        sink.maybe_record("gate-tracking", node.gate_tracking.as_ref())?;
        let claims = Some(&node.claims).filter(|claims| !claims.is_empty());
        sink.maybe_record("claims", claims)?;
        if !node.depends_on.is_empty() {
            sink.texts("depends-on", &node.depends_on)?;
        }
        sink.maybe_flag("injected", node.injected)?;
        sink.maybe_text("injected-at", node.injected_at.as_ref())?;
        sink.maybe_text("started-at", node.started_at.as_ref())?;
        sink.maybe_text("completed-at", node.completed_at.as_ref())?;
        sink.maybe_text("elapsed", node.elapsed.as_ref())?;
        sink.maybe_text("summary", node.summary.as_ref())?;
        sink.maybe_text("error", node.error.as_ref())?;
        sink.maybe_integer("retry-count", node.retry_count)?;
        sink.maybe_text("next-retry-at", node.next_retry_at.as_ref())?;
        sink.maybe_record("human-needed", node.human_needed.as_ref())?;
        sink.maybe_text("commit", node.commit.as_ref())?;
        extra(sink, &node.extra, |key| node.sets(key))
    }
}

/// The pointer and what else stands beside it.
struct Pointer<'p>(&'p Current, &'p [(String, Node)]);

impl Record for Pointer<'_> {
    fn knows(&self, key: &str) -> bool {
        matches!(key, "phase" | "step" | "sub-phase")
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let Self(current, others) = self;
        let mut index = |key, value: Option<usize>| match value {
            Some(value) => sink.integer(key, i128::try_from(value).unwrap_or(i128::MAX)),
            None => sink.null(key),
        };
        index("phase", Some(current.phase))?;
        index("step", current.step)?;
        index("sub-phase", current.sub_phase)?;
        extra(sink, others, |key| {
            matches!(key, "phase" | "step" | "sub-phase")
        })
    }
}

impl Record for Stats {
    fn knows(&self, key: &str) -> bool {
        STATS_KEYS.contains(&key)
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        match &self.started_at {
            Some(time) => sink.text("started-at", time)?,
            None => sink.null("started-at")?,
        }
        sink.maybe_text("completed-at", self.completed_at.as_ref())?;
        sink.integer("total-phases", self.total_phases.into())?;
        sink.integer("completed-phases", self.completed_phases.into())?;
        sink.maybe_integer("total-steps", self.total_steps)?;
        sink.maybe_integer("completed-steps", self.completed_steps)?;
        sink.maybe_text("elapsed", self.elapsed.as_ref())?;
        sink.maybe_integer("current-iteration", self.current_iteration)?;
        sink.maybe_integer("max-iterations", self.max_iterations)?;
        extra(sink, &self.extra, |key| match key {
            "started-at" | "total-phases" | "completed-phases" => true,
            "completed-at" => self.completed_at.is_some(),
            "total-steps" => self.total_steps.is_some(),
            "completed-steps" => self.completed_steps.is_some(),
            "elapsed" => self.elapsed.is_some(),
            "current-iteration" => self.current_iteration.is_some(),
            "max-iterations" => self.max_iterations.is_some(),
            _ => false,
        })
    }
}

impl Record for Gate {
    fn knows(&self, key: &str) -> bool {
        matches!(key, "script" | "on-fail-prompt" | "max-retries" | "timeout")
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.text("script", &self.script)?;
        sink.text("on-fail-prompt", &self.on_fail_prompt)?;
        sink.integer("max-retries", self.max_retries.into())?;
        sink.number("timeout", self.timeout_s)?;
        extra(sink, &self.extra, |key| {
            matches!(key, "script" | "on-fail-prompt" | "max-retries" | "timeout")
        })
    }
}

impl Record for ClaimOverrides {
    fn knows(&self, key: &str) -> bool {
        CLAIMS_KEYS.contains(&key)
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        let values = [
            self.changed.map(Worth::as_str),
            self.word.map(Worth::as_str),
            self.weakened.map(WeakenedProof::as_str),
        ];
        for (key, value) in CLAIMS_KEYS.iter().zip(values) {
            if let Some(value) = value {
                sink.text(key, value)?;
            }
        }
        Ok(())
    }
}

impl Record for GateTracking {
    fn knows(&self, key: &str) -> bool {
        matches!(
            key,
            "attempts" | "status" | "last-output" | "last-exit-code" | "error"
        )
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.integer("attempts", self.attempts.into())?;
        sink.text("status", self.status.as_str())?;
        sink.maybe_text("last-output", self.last_output.as_ref())?;
        sink.maybe_integer("last-exit-code", self.last_exit_code)?;
        sink.maybe_text("error", self.error.as_ref())?;
        extra(sink, &self.extra, |key| match key {
            "attempts" | "status" => true,
            "last-output" => self.last_output.is_some(),
            "last-exit-code" => self.last_exit_code.is_some(),
            "error" => self.error.is_some(),
            _ => false,
        })
    }
}

impl Record for HumanNeeded {
    fn knows(&self, key: &str) -> bool {
        matches!(key, "reason" | "details")
    }

    fn write<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.text("reason", &self.reason)?;
        sink.maybe_text("details", self.details.as_ref())?;
        extra(sink, &self.extra, |key| {
            key == "reason" || (key == "details" && self.details.is_some())
        })
    }
}

/// Writes what piton does not know, except what a typed field has written.
fn extra<S: Sink>(
    sink: &mut S,
    pairs: &[(String, Node)],
    is_set: impl Fn(&str) -> bool,
) -> Result<(), S::Error> {
    for (key, node) in pairs {
        if !is_set(key) {
            sink.tree(key, node)?;
        }
    }
    Ok(())
}

impl Progress {
    /// Whether a typed field writes this key.
    fn sets(&self, key: &str) -> bool {
        match key {
            "sprint-id" | "status" | "phases" | "current" | "stats" => true,
            "parallel-tasks" => self.parallel_tasks.is_some(),
            "orchestration" => self.orchestration.is_some(),
            "step-queue" => self.step_queue.is_some(),
            "prompts" => self.prompts.is_some(),
            "worktree" => self.worktree.is_some(),
            "dependency-graph" => self.dependency_graph.is_some(),
            "per-iteration-hooks" => self.per_iteration_hooks.is_some(),
            "hook-tasks" => self.hook_tasks.is_some(),
            "retry" => self.retry.is_some(),
            "config" => self.config.is_some(),
            "parallel-execution" => self.parallel_execution.is_some(),
            "operator-queue" => self.operator_queue.is_some(),
            "last-activity" => self.last_activity.is_some(),
            "pause-reason" => self.pause_reason.is_some(),
            "breakpoint-phase-id" => self.breakpoint_phase_id.is_some(),
            "error" => self.error.is_some(),
            "failed-phase" => self.failed_phase.is_some(),
            "blocked-at" => self.blocked_at.is_some(),
            "human-needed" => self.human_needed.is_some(),
            "summary" => self.summary.is_some(),
            "interrupted-at" => self.interrupted_at.is_some(),
            "interrupted-signal" => self.interrupted_signal.is_some(),
            _ => false,
        }
    }
}

impl PhaseNode {
    /// Whether a typed field writes this key.
    fn sets(&self, key: &str) -> bool {
        match key {
            "id" | "status" => true,
            "prompt" => self.prompt.is_some(),
            "steps" => matches!(self.children, Children::Steps(_)),
            "phases" => matches!(self.children, Children::Phases(_)),
            "parallel" => self.parallel.is_some(),
            "wait-for-parallel" => self.wait_for_parallel.is_some(),
            "model" => self.model.is_some(),
            "break" => self.break_after.is_some(),
            "gate" => self.gate.is_some(),
            "gate-tracking" => self.gate_tracking.is_some(),
            "claims" => !self.claims.is_empty(),
            "depends-on" => !self.depends_on.is_empty(),
            "injected" => self.injected.is_some(),
            "injected-at" => self.injected_at.is_some(),
            "started-at" => self.started_at.is_some(),
            "completed-at" => self.completed_at.is_some(),
            "elapsed" => self.elapsed.is_some(),
            "summary" => self.summary.is_some(),
            "error" => self.error.is_some(),
            "retry-count" => self.retry_count.is_some(),
            "next-retry-at" => self.next_retry_at.is_some(),
            "human-needed" => self.human_needed.is_some(),
            "commit" => self.commit.is_some(),
            _ => false,
        }
    }
}

/// The keys of a document, in the order in which they are written.
pub(super) const PROGRESS_KEYS: [&str; 27] = [
    "sprint-id",
    "status",
    "phases",
    "current",
    "stats",
    "parallel-tasks",
    "orchestration",
    "step-queue",
    "prompts",
    "worktree",
    "dependency-graph",
    "per-iteration-hooks",
    "hook-tasks",
    "retry",
    "config",
    "parallel-execution",
    "operator-queue",
    "last-activity",
    "pause-reason",
    "breakpoint-phase-id",
    "error",
    "failed-phase",
    "blocked-at",
    "human-needed",
    "summary",
    "interrupted-at",
    "interrupted-signal",
];

/// The keys of a phase, a step or a sub-phase.
pub(super) const NODE_KEYS: [&str; 24] = [
    "id",
    "status",
    "prompt",
    "steps",
    "phases",
    "parallel",
    "wait-for-parallel",
    "model",
    "break",
    "gate",
    "gate-tracking",
    "claims",
    "depends-on",
    "injected",
    "injected-at",
    "started-at",
    "completed-at",
    "elapsed",
    "summary",
    "error",
    "retry-count",
    "next-retry-at",
    "human-needed",
    "commit",
];

const STATS_KEYS: [&str; 9] = [
    "started-at",
    "completed-at",
    "total-phases",
    "completed-phases",
    "total-steps",
    "completed-steps",
    "elapsed",
    "current-iteration",
    "max-iterations",
];

struct YamlSink<'o> {
    out: &'o mut String,
    /// The column of the keys.
    indent: usize,
    /// Whether the next key continues a line that is already indented.
    inline: bool,
}

/// Writing into a string cannot fail.
enum Never {}

/// A number in the words of YAML.
fn number_text(value: f64) -> String {
    match value {
        _ if value.is_nan() => ".nan".to_owned(),
        f64::INFINITY => ".inf".to_owned(),
        f64::NEG_INFINITY => "-.inf".to_owned(),
        _ => value.to_string(),
    }
}

impl YamlSink<'_> {
    fn key(&mut self, key: &str) {
        if self.inline {
            self.inline = false;
        } else {
            yaml::push_indent(self.out, self.indent);
        }
        yaml::push_key(self.out, key, self.indent);
    }

    fn plain(&mut self, key: &str, value: impl std::fmt::Display) {
        self.key(key);
        writeln!(self.out, " {value}").expect("a string takes everything");
    }
}

impl Sink for YamlSink<'_> {
    type Error = Never;

    fn text(&mut self, key: &str, value: &str) -> Result<(), Never> {
        self.key(key);
        yaml::push_text(self.out, value, self.indent);
        Ok(())
    }

    fn flag(&mut self, key: &str, value: bool) -> Result<(), Never> {
        self.plain(key, value);
        Ok(())
    }

    fn integer(&mut self, key: &str, value: i128) -> Result<(), Never> {
        self.plain(key, value);
        Ok(())
    }

    fn number(&mut self, key: &str, value: f64) -> Result<(), Never> {
        self.plain(key, number_text(value));
        Ok(())
    }

    fn null(&mut self, key: &str) -> Result<(), Never> {
        self.plain(key, "null");
        Ok(())
    }

    fn tree(&mut self, key: &str, value: &Node) -> Result<(), Never> {
        self.key(key);
        yaml::push_node(self.out, value, self.indent, false);
        Ok(())
    }

    fn texts(&mut self, key: &str, values: &[String]) -> Result<(), Never> {
        self.key(key);
        self.out.push('\n');
        for value in values {
            yaml::push_indent(self.out, self.indent + 2);
            self.out.push('-');
            yaml::push_text(self.out, value, self.indent + 2);
        }
        Ok(())
    }

    fn record(&mut self, key: &str, value: &impl Record) -> Result<(), Never> {
        self.key(key);
        self.out.push('\n');
        value.write(&mut YamlSink {
            out: self.out,
            indent: self.indent + 2,
            inline: false,
        })
    }

    fn records<R: Record>(
        &mut self,
        key: &str,
        values: impl ExactSizeIterator<Item = R>,
    ) -> Result<(), Never> {
        self.key(key);
        if values.len() == 0 {
            self.out.push_str(" []\n");
            return Ok(());
        }
        self.out.push('\n');
        for value in values {
            yaml::push_indent(self.out, self.indent + 2);
            self.out.push_str("- ");
            value.write(&mut YamlSink {
                out: self.out,
                indent: self.indent + 4,
                inline: true,
            })?;
        }
        Ok(())
    }
}

/// Makes a tree out of what is written and what stood there before.
struct TreeSink<'p> {
    present: Option<&'p Node>,
    pairs: Vec<(Key, Node)>,
}

impl<'p> TreeSink<'p> {
    fn present(&self, key: &str) -> Option<&'p Node> {
        self.present.and_then(|present| present.get(key))
    }

    fn put(&mut self, key: &str, node: Node) {
        self.pairs.push((Key::new(key), node));
    }

    /// Puts what stands there, if it says the same, else something new.
    fn keep(&mut self, key: &str, says: impl Fn(&Node) -> bool, new: impl FnOnce() -> Node) {
        let kept = self.present(key).filter(|node| says(node)).cloned();
        self.put(key, kept.unwrap_or_else(new));
    }

    fn finish(mut self, record: &impl Record) -> Node {
        let written = self.pairs.len();
        for (key, node) in self
            .present
            .and_then(Node::as_map)
            .into_iter()
            .flat_map(Map::iter)
        {
            let mut before = self.pairs[..written].iter();
            if !record.knows(&key.text) && !before.any(|(have, _)| have.text == key.text) {
                self.pairs.push((key.clone(), node.clone()));
            }
        }
        let map = Map { pairs: self.pairs };
        Node {
            value: Value::Map(map),
            span: yaml::Span::default(),
        }
    }
}

impl Sink for TreeSink<'_> {
    type Error = Never;

    fn text(&mut self, key: &str, value: &str) -> Result<(), Never> {
        let says = |node: &Node| !node.is_null() && node.text() == Some(value);
        self.keep(key, says, || Node::string(value));
        Ok(())
    }

    fn flag(&mut self, key: &str, value: bool) -> Result<(), Never> {
        let says = |node: &Node| node.as_bool() == Some(value);
        self.keep(key, says, || Node::bool(value));
        Ok(())
    }

    fn integer(&mut self, key: &str, value: i128) -> Result<(), Never> {
        let says = |node: &Node| node.as_i64().map(i128::from) == Some(value);
        self.keep(key, says, || Node::plain(value.to_string()));
        Ok(())
    }

    fn number(&mut self, key: &str, value: f64) -> Result<(), Never> {
        let says = |node: &Node| node.as_f64() == Some(value);
        self.keep(key, says, || Node::plain(number_text(value)));
        Ok(())
    }

    fn null(&mut self, key: &str) -> Result<(), Never> {
        self.keep(key, Node::is_null, || Node::plain("null"));
        Ok(())
    }

    fn tree(&mut self, key: &str, value: &Node) -> Result<(), Never> {
        self.put(key, value.clone());
        Ok(())
    }

    fn texts(&mut self, key: &str, values: &[String]) -> Result<(), Never> {
        let says = |node: &Node| {
            let items = node.as_seq().unwrap_or_default();
            let texts = items.iter().map(Node::text);
            texts.eq(values.iter().map(|value| Some(value.as_str())))
        };
        self.keep(key, says, || {
            Node::seq(values.iter().map(Node::string).collect())
        });
        Ok(())
    }

    fn record(&mut self, key: &str, value: &impl Record) -> Result<(), Never> {
        let node = merged(value, self.present(key));
        self.put(key, node);
        Ok(())
    }

    fn records<R: Record>(
        &mut self,
        key: &str,
        values: impl ExactSizeIterator<Item = R>,
    ) -> Result<(), Never> {
        let there = self.present(key).and_then(Node::as_seq).unwrap_or_default();
        let mut by_id: HashMap<&str, VecDeque<&Node>> = HashMap::new();
        for node in there {
            let id = node.get("id").and_then(Node::text).unwrap_or_default();
            by_id.entry(id).or_default().push_back(node);
        }
        let mut before = |record: &R| by_id.get_mut(record.id())?.pop_front();
        let nodes = values
            .map(|record| merged(&record, before(&record)))
            .collect();
        self.put(key, Node::seq(nodes));
        Ok(())
    }
}

struct JsonSink<M>(M);

impl<M: SerializeMap> Sink for JsonSink<M> {
    type Error = M::Error;

    fn text(&mut self, key: &str, value: &str) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn flag(&mut self, key: &str, value: bool) -> Result<(), M::Error> {
        self.0.serialize_entry(key, &value)
    }

    fn integer(&mut self, key: &str, value: i128) -> Result<(), M::Error> {
        let value = i64::try_from(value).map_err(M::Error::custom)?;
        self.0.serialize_entry(key, &value)
    }

    fn number(&mut self, key: &str, value: f64) -> Result<(), M::Error> {
        self.0.serialize_entry(key, &value)
    }

    fn null(&mut self, key: &str) -> Result<(), M::Error> {
        self.0.serialize_entry(key, &())
    }

    fn tree(&mut self, key: &str, value: &Node) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn texts(&mut self, key: &str, values: &[String]) -> Result<(), M::Error> {
        self.0.serialize_entry(key, values)
    }

    fn record(&mut self, key: &str, value: &impl Record) -> Result<(), M::Error> {
        self.0.serialize_entry(key, &AsJson(value))
    }

    fn records<R: Record>(
        &mut self,
        key: &str,
        values: impl ExactSizeIterator<Item = R>,
    ) -> Result<(), M::Error> {
        let values: Vec<R> = values.collect();
        let values: Vec<AsJson<'_, R>> = values.iter().map(AsJson).collect();
        self.0.serialize_entry(key, &values)
    }
}

struct AsJson<'r, R>(&'r R);

impl<R: Record> Serialize for AsJson<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sink = JsonSink(serializer.serialize_map(None)?);
        self.0.write(&mut sink)?;
        sink.0.end()
    }
}
