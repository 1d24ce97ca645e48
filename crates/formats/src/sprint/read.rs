//! `PROGRESS.yaml` as it is met: what can be read is read.
//!
//! A value of the wrong type is told and kept in `extra`; a counter that is
//! wrong is a warning, because it can be counted again.

use super::elapsed::parse_elapsed;
use super::field::{Path, Report, first_line};
use super::layout::{self, Layout};
use super::progress::{
    Children, Current, Gate, GateStatus, GateTracking, HumanNeeded, PhaseNode, PhaseStatus,
    Progress, SprintStatus, Stats,
};
use super::workflow::syntax_problems;
use super::{Source, check};
use crate::problem::Problem;
use crate::tolerant::Place;
use crate::yaml::{Key, Map, Node, Span, parse};

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
            let progress = Reader { report }.progress(&root);
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
            report.error(code, Path::ROOT, check::top(), (message, hint));
            (None, problems)
        }
    }
}

struct Reader<'r> {
    report: Report<'r>,
}

/// Moves a pair that does not fit its field into `extra`.
type Extra = Vec<(String, Node)>;

fn keep(extra: &mut Extra, key: &Key, node: &Node) {
    extra.push((key.text.clone(), node.clone()));
}

impl Reader<'_> {
    fn progress(mut self, root: &Node) -> Progress {
        let mut progress = Progress::default();
        let path = Path::ROOT;
        let empty = Map::default();
        let map = root.as_map().unwrap_or(&empty);
        for (key, node) in map.iter() {
            let slot = match key.text.as_str() {
                "sprint-id" => {
                    progress.sprint_id = self.label(key, node, path);
                    continue;
                }
                "status" => {
                    progress.status = self
                        .status(
                            key,
                            node,
                            path,
                            SprintStatus::parse,
                            &names(SprintStatus::ALL),
                        )
                        .unwrap_or_default();
                    continue;
                }
                "phases" => {
                    progress.phases = self.nodes(key, node, path);
                    continue;
                }
                "current" => {
                    self.current(key, node, &mut progress);
                    continue;
                }
                "stats" => {
                    progress.stats = self.stats(key, node);
                    continue;
                }
                "human-needed" => {
                    progress.human_needed = self.human_needed(key, node, path, &mut progress.extra);
                    continue;
                }
                name => {
                    if let Some(slot) = progress.tree_slot(name) {
                        // Absent and null are two things.
                        if node.is_null() {
                            keep(&mut progress.extra, key, node);
                        } else {
                            *slot = Some(node.clone());
                        }
                        continue;
                    }
                    match progress.text_slot(name) {
                        Some(slot) => slot,
                        None => {
                            keep(&mut progress.extra, key, node);
                            continue;
                        }
                    }
                }
            };
            match self.text(key, node, path) {
                Some(text) => *slot = Some(text),
                None => keep(&mut progress.extra, key, node),
            }
        }
        self.check_whole(map, root, &progress);
        progress
    }

    /// A text; numbers and dates that nobody quoted keep their source text.
    fn text(&mut self, key: &Key, node: &Node, path: Path<'_>) -> Option<String> {
        if node.is_null() {
            return None;
        }
        if let Some(text) = node.text() {
            return Some(text.to_owned());
        }
        self.mistyped(key, node, path, "a text");
        None
    }

    /// A text that must be there.
    fn label(&mut self, key: &Key, node: &Node, path: Path<'_>) -> String {
        if node.is_null() {
            self.mistyped(key, node, path, "a text");
        }
        self.text(key, node, path).unwrap_or_default()
    }

    fn count(&mut self, key: &Key, node: &Node, path: Path<'_>) -> Option<u64> {
        let count = node.as_u64();
        if count.is_none() && !node.is_null() {
            self.mistyped(key, node, path, "a whole number");
        }
        count
    }

    fn flag(&mut self, key: &Key, node: &Node, path: Path<'_>) -> Option<bool> {
        let flag = node.as_bool();
        if flag.is_none() && !node.is_null() {
            self.mistyped(key, node, path, "true or false");
        }
        flag
    }

    fn mistyped(&mut self, key: &Key, node: &Node, path: Path<'_>, wanted: &str) {
        let span = if node.is_null() { key.span } else { node.span };
        self.report.error(
            "WRONG_TYPE",
            path.key(&key.text),
            span,
            (
                format!("`{}` must be {wanted}, not {}", key.text, node.describe()),
                "correct the value; until then it is kept as it stands and has no effect",
            ),
        );
    }

    fn status<T>(
        &mut self,
        key: &Key,
        node: &Node,
        path: Path<'_>,
        parse: fn(&str) -> Option<T>,
        known: &str,
    ) -> Option<T> {
        if node.is_null() {
            self.report.warning(
                "NULL_STATUS",
                path.key("status"),
                key.span,
                (
                    "the status is empty; it counts as not begun".to_owned(),
                    "write the status, or `pending`",
                ),
            );
            return None;
        }
        let status = node.as_str().and_then(parse);
        if status.is_none() {
            self.report.error(
                "UNKNOWN_STATUS",
                path.key("status"),
                node.span,
                (
                    format!("there is no status {}", node.describe()),
                    &format!("write one of {known}"),
                ),
            );
        }
        status
    }

    fn nodes(&mut self, key: &Key, node: &Node, path: Path<'_>) -> Vec<PhaseNode> {
        let path = path.key(&key.text);
        if node.is_null() {
            return Vec::new();
        }
        let Some(items) = node.as_seq() else {
            self.report.error(
                "WRONG_TYPE",
                path,
                node.span,
                (
                    format!("`{}` must be a list, not {}", key.text, node.describe()),
                    "begin each element with `- id: …`",
                ),
            );
            return Vec::new();
        };
        items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| self.node(item, path.index(index)))
            .collect()
    }

    fn node(&mut self, item: &Node, path: Path<'_>) -> Option<PhaseNode> {
        let Some(map) = item.as_map() else {
            self.report.error(
                "WRONG_TYPE",
                path,
                item.span,
                (
                    format!("a phase must be a mapping, not {}", item.describe()),
                    "write `- id: …` with `status: …` below it",
                ),
            );
            return None;
        };
        let mut node = PhaseNode::default();
        for (key, value) in map.iter() {
            self.node_field(&mut node, (key, value), Place { map, path });
        }
        for required in ["id", "status"] {
            if map.get(required).is_none() {
                self.report.warning(
                    "MISSING_KEY",
                    path.key(required),
                    first_line(item),
                    (format!("the phase has no `{required}`"), "add it"),
                );
            }
        }
        Some(node)
    }

    fn node_field(&mut self, node: &mut PhaseNode, (key, value): (&Key, &Node), place: Place<'_>) {
        let path = place.path;
        let taken = match key.text.as_str() {
            "id" => {
                node.id = self.label(key, value, path);
                true
            }
            "status" => {
                node.status = self
                    .status(
                        key,
                        value,
                        path,
                        PhaseStatus::parse,
                        &names(PhaseStatus::ALL),
                    )
                    .unwrap_or_default();
                true
            }
            "steps" | "phases" if !value.is_null() => self.children(node, key, value, path),
            "gate" if !value.is_null() => {
                node.gate = self.gate(key, value, path);
                node.gate.is_some()
            }
            "gate-tracking" if !value.is_null() => {
                node.gate_tracking = self.gate_tracking(key, value, path);
                node.gate_tracking.is_some()
            }
            "claims" => {
                node.claims = self.report.reader().claims(place);
                !node.claims.is_empty()
            }
            "human-needed" => {
                node.human_needed = self.human_needed(key, value, path, &mut node.extra);
                true
            }
            "depends-on" => match text_list(value) {
                Some(list) if !list.is_empty() => {
                    node.depends_on = list;
                    true
                }
                Some(_) => false,
                None => {
                    if !value.is_null() {
                        self.mistyped(key, value, path, "a list of ids");
                    }
                    false
                }
            },
            "retry-count" => {
                node.retry_count = self.count(key, value, path);
                node.retry_count.is_some()
            }
            name => {
                if let Some(slot) = node.flag_slot(name) {
                    *slot = self.flag(key, value, path);
                    slot.is_some()
                } else if let Some(slot) = node.text_slot(name) {
                    *slot = self.text(key, value, path);
                    slot.is_some()
                } else {
                    false
                }
            }
        };
        if !taken {
            keep(&mut node.extra, key, value);
        }
    }

    fn children(&mut self, node: &mut PhaseNode, key: &Key, value: &Node, path: Path<'_>) -> bool {
        if node.children != Children::None {
            self.report.error(
                "STEPS_AND_PHASES",
                path.key(&key.text),
                key.span,
                (
                    "the phase has both `steps` and `phases`".to_owned(),
                    "keep one of them",
                ),
            );
            return false;
        }
        if value.as_seq().is_none() {
            self.mistyped(key, value, path, "a list");
            return false;
        }
        let nodes = self.nodes(key, value, path);
        node.children = if key.text == "steps" {
            Children::Steps(nodes)
        } else {
            Children::Phases(nodes)
        };
        true
    }

    /// A gate; `None`, and told, when something in it is missing.
    fn gate(&mut self, key: &Key, value: &Node, path: Path<'_>) -> Option<Gate> {
        const KEYS: [&str; 4] = ["script", "on-fail-prompt", "max-retries", "timeout"];
        let gate = value.get("script").and_then(Node::text).and_then(|script| {
            Some(Gate {
                script: script.to_owned(),
                on_fail_prompt: value.get("on-fail-prompt").and_then(Node::text)?.to_owned(),
                max_retries: value.get("max-retries").map_or(Some(3), Node::as_u64)?,
                timeout_s: value.get("timeout").map_or(Some(60.0), Node::as_f64)?,
                extra: others(value, &KEYS),
            })
        });
        if gate.is_none() {
            self.mistyped(
                key,
                value,
                path,
                "a mapping with `script` and `on-fail-prompt`",
            );
        }
        gate
    }

    fn gate_tracking(&mut self, key: &Key, value: &Node, path: Path<'_>) -> Option<GateTracking> {
        let Some(map) = value.as_map() else {
            self.mistyped(key, value, path, "a mapping");
            return None;
        };
        let path = path.key(&key.text);
        let mut tracking = GateTracking::default();
        for (key, value) in map.iter() {
            let taken = match key.text.as_str() {
                "attempts" => {
                    tracking.attempts = self.count(key, value, path).unwrap_or_default();
                    true
                }
                "status" => {
                    tracking.status = self
                        .status(key, value, path, GateStatus::parse, &names(GateStatus::ALL))
                        .unwrap_or_default();
                    true
                }
                "last-output" => {
                    tracking.last_output = self.text(key, value, path);
                    tracking.last_output.is_some()
                }
                "last-exit-code" => {
                    tracking.last_exit_code = value.as_i64();
                    tracking.last_exit_code.is_some()
                }
                "error" => {
                    tracking.error = self.text(key, value, path);
                    tracking.error.is_some()
                }
                _ => false,
            };
            if !taken {
                keep(&mut tracking.extra, key, value);
            }
        }
        Some(tracking)
    }

    fn human_needed(
        &mut self,
        key: &Key,
        value: &Node,
        path: Path<'_>,
        outside: &mut Extra,
    ) -> Option<HumanNeeded> {
        const KEYS: [&str; 1] = ["reason"];
        if let Some(reason) = value.get("reason").and_then(Node::text) {
            let mut extra = others(value, &KEYS);
            let details = extra.iter().position(|(key, node)| {
                key == "details" && !node.is_null() && node.text().is_some()
            });
            let details = details.map(|at| extra.remove(at).1);
            return Some(HumanNeeded {
                reason: reason.to_owned(),
                details: details.and_then(|node| node.text().map(str::to_owned)),
                extra,
            });
        }
        if !value.is_null() {
            self.mistyped(key, value, path, "a mapping with `reason`");
        }
        keep(outside, key, value);
        None
    }

    fn current(&mut self, key: &Key, node: &Node, progress: &mut Progress) {
        let path = Path::ROOT.key("current");
        let Some(map) = node.as_map() else {
            return self.mistyped(key, node, Path::ROOT, "a mapping");
        };
        let mut current = Current::default();
        for (key, value) in map.iter() {
            let mut index = || {
                let count = self.count(key, value, path)?;
                usize::try_from(count).ok()
            };
            match key.text.as_str() {
                "phase" => current.phase = index().unwrap_or_default(),
                "step" => current.step = index(),
                "sub-phase" => current.sub_phase = index(),
                _ => keep(&mut progress.current_extra, key, value),
            }
        }
        progress.current = current;
    }

    fn stats(&mut self, key: &Key, node: &Node) -> Stats {
        let path = Path::ROOT.key("stats");
        let mut stats = Stats::default();
        let Some(map) = node.as_map() else {
            self.mistyped(key, node, Path::ROOT, "a mapping");
            return stats;
        };
        for (key, value) in map.iter() {
            let taken = match key.text.as_str() {
                // Written as null when it is not there, so null is nothing to keep.
                "started-at" => {
                    stats.started_at = self.text(key, value, path);
                    value.is_null() || stats.started_at.is_some()
                }
                "total-phases" => {
                    stats.total_phases = self.count(key, value, path).unwrap_or_default();
                    true
                }
                "completed-phases" => {
                    stats.completed_phases = self.count(key, value, path).unwrap_or_default();
                    true
                }
                name => {
                    if let Some(slot) = stats.text_slot(name) {
                        *slot = self.text(key, value, path);
                        slot.is_some()
                    } else if let Some(slot) = stats.count_slot(name) {
                        *slot = self.count(key, value, path);
                        slot.is_some()
                    } else {
                        false
                    }
                }
            };
            if !taken {
                keep(&mut stats.extra, key, value);
            }
        }
        stats
    }

    /// What only shows when the whole document has been read.
    fn check_whole(&mut self, map: &Map, root: &Node, progress: &Progress) {
        for required in ["sprint-id", "status", "phases", "current", "stats"] {
            if map.get(required).is_none() {
                self.report.warning(
                    "MISSING_KEY",
                    Path::ROOT.key(required),
                    first_line(root),
                    (
                        format!("the document has no `{required}`"),
                        "piton adds it when it next writes the file",
                    ),
                );
            }
        }
        self.check_counters(map, progress);
        self.check_pointer(map, progress);
        let elapsed = map
            .get("stats")
            .and_then(|stats| stats.as_map()?.entry("elapsed"));
        let Some((_, value)) = elapsed else { return };
        if value
            .text()
            .is_some_and(|text| !value.is_null() && parse_elapsed(text).is_none())
        {
            let stats = Path::ROOT.key("stats");
            self.report.warning(
                "UNREADABLE_DURATION",
                stats.key("elapsed"),
                value.span,
                (
                    format!("{} is no duration", value.describe()),
                    "write it as HH:MM:SS",
                ),
            );
        }
    }

    fn check_counters(&mut self, map: &Map, progress: &Progress) {
        let Some(stats) = map.get("stats").and_then(Node::as_map) else {
            return;
        };
        let have = &progress.stats;
        let real = progress.derived_stats();
        for (key, have, real) in [
            (
                "total-phases",
                Some(have.total_phases),
                Some(real.total_phases),
            ),
            (
                "completed-phases",
                Some(have.completed_phases),
                Some(real.completed_phases),
            ),
            (
                "total-steps",
                have.total_steps,
                real.total_steps.or(Some(0)),
            ),
            (
                "completed-steps",
                have.completed_steps,
                real.completed_steps.or(Some(0)),
            ),
        ] {
            let (Some((_, node)), Some(have), Some(real)) = (stats.entry(key), have, real) else {
                continue;
            };
            if have != real && !node.is_null() {
                let path = Path::ROOT.key("stats");
                self.report.warning(
                    "COUNTER_DISAGREES",
                    path.key(key),
                    node.span,
                    (
                        format!("`{key}` is {have}; counted, it is {real}"),
                        "nothing to do: piton counts again when it next writes the file",
                    ),
                );
            }
        }
    }

    /// The pointer may stand behind the last phase when all is done.
    fn check_pointer(&mut self, map: &Map, progress: &Progress) {
        let Some((key, _)) = map.entry("current") else {
            return;
        };
        let finished = progress.status == SprintStatus::Completed;
        let nothing = progress.phases.is_empty();
        if !finished && !nothing && progress.current_node().is_none() {
            self.pointer_problem(key.span);
        }
    }

    fn pointer_problem(&mut self, span: Span) {
        self.report.warning("POINTER_OUT_OF_RANGE", Path::ROOT.key("current"), span, (
            "`current` names no phase that exists".to_owned(),
            "point it at the phase to go on with; without that piton takes the first that is not done",
        ));
    }
}

/// All words of a status, for a hint.
fn names<T: Copy + Word>(all: &[T]) -> String {
    all.iter()
        .map(|status| format!("`{}`", status.word()))
        .collect::<Vec<_>>()
        .join(", ")
}

trait Word {
    fn word(self) -> &'static str;
}

impl Word for SprintStatus {
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for PhaseStatus {
    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for GateStatus {
    fn word(self) -> &'static str {
        self.as_str()
    }
}

fn text_list(node: &Node) -> Option<Vec<String>> {
    node.as_seq()?
        .iter()
        .map(|item| item.text().filter(|_| !item.is_null()).map(str::to_owned))
        .collect()
}

/// The pairs under other keys than `known`.
fn others(node: &Node, known: &[&str]) -> Extra {
    let Some(map) = node.as_map() else {
        return Vec::new();
    };
    map.iter()
        .filter(|(key, _)| !known.contains(&key.text.as_str()))
        .map(|(key, node)| (key.text.clone(), node.clone()))
        .collect()
}

impl Progress {
    fn tree_slot(&mut self, key: &str) -> Option<&mut Option<Node>> {
        Some(match key {
            "parallel-tasks" => &mut self.parallel_tasks,
            "orchestration" => &mut self.orchestration,
            "step-queue" => &mut self.step_queue,
            "prompts" => &mut self.prompts,
            "worktree" => &mut self.worktree,
            "dependency-graph" => &mut self.dependency_graph,
            "per-iteration-hooks" => &mut self.per_iteration_hooks,
            "hook-tasks" => &mut self.hook_tasks,
            "retry" => &mut self.retry,
            "config" => &mut self.config,
            "parallel-execution" => &mut self.parallel_execution,
            "operator-queue" => &mut self.operator_queue,
            _ => return None,
        })
    }

    fn text_slot(&mut self, key: &str) -> Option<&mut Option<String>> {
        Some(match key {
            "last-activity" => &mut self.last_activity,
            "pause-reason" => &mut self.pause_reason,
            "breakpoint-phase-id" => &mut self.breakpoint_phase_id,
            "error" => &mut self.error,
            "failed-phase" => &mut self.failed_phase,
            "blocked-at" => &mut self.blocked_at,
            "summary" => &mut self.summary,
            "interrupted-at" => &mut self.interrupted_at,
            "interrupted-signal" => &mut self.interrupted_signal,
            _ => return None,
        })
    }
}

impl PhaseNode {
    fn flag_slot(&mut self, key: &str) -> Option<&mut Option<bool>> {
        Some(match key {
            "parallel" => &mut self.parallel,
            "wait-for-parallel" => &mut self.wait_for_parallel,
            "break" => &mut self.break_after,
            "injected" => &mut self.injected,
            _ => return None,
        })
    }

    fn text_slot(&mut self, key: &str) -> Option<&mut Option<String>> {
        Some(match key {
            "prompt" => &mut self.prompt,
            "model" => &mut self.model,
            "injected-at" => &mut self.injected_at,
            "started-at" => &mut self.started_at,
            "completed-at" => &mut self.completed_at,
            "elapsed" => &mut self.elapsed,
            "summary" => &mut self.summary,
            "error" => &mut self.error,
            "next-retry-at" => &mut self.next_retry_at,
            "commit" => &mut self.commit,
            _ => return None,
        })
    }
}

impl Stats {
    fn text_slot(&mut self, key: &str) -> Option<&mut Option<String>> {
        Some(match key {
            "completed-at" => &mut self.completed_at,
            "elapsed" => &mut self.elapsed,
            _ => return None,
        })
    }

    fn count_slot(&mut self, key: &str) -> Option<&mut Option<u64>> {
        Some(match key {
            "total-steps" => &mut self.total_steps,
            "completed-steps" => &mut self.completed_steps,
            "current-iteration" => &mut self.current_iteration,
            "max-iterations" => &mut self.max_iterations,
            _ => return None,
        })
    }
}
