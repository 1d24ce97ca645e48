//! Gates: the scripts that say whether a node is done.

use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::gate::{Gate, GateReport, shorten_output};
use piton_core::memory::UnconfirmedPolicy;

use jiff::SignedDuration;

use piton_core::attempt::Report;
use piton_core::classify::FailureCategory;
use piton_core::evidence::{Baseline, BaselineResult};
use piton_core::recover::Recovery;
use piton_core::run_loop::{BaselineAnswer, Input};
use piton_core::trust::ExecutablePart;
use piton_core::{ItemRow, Node, Outcome, Stage};

use super::active_work::{ActiveGate, WorkPurpose};
use super::runner_state::Runner;
use crate::agents::spool;
use crate::config::trust::TrustCheck;
use crate::failpoint;
use crate::failure::notice::Notice;
use crate::failure::{Failure, unwritable_file};
use crate::lies::EvidenceRule;
use crate::memory::preparation::unconfirmed_policy;
use crate::memory::recovery::IncompleteAttempt;
use crate::process::{InheritedEnvironment, ProcessExit, ProcessLimits, ProcessSpec, StopReason};

/// A gate whose process is gone.
pub(super) struct EndedGate<'e> {
    pub(super) gate: &'e ActiveGate,
    pub(super) exit: &'e ProcessExit,
    /// It was asked to stop.
    pub(super) asked: bool,
    /// How long it ran.
    pub(super) took: SignedDuration,
}

/// How much of a gate's output is kept, in characters.
const OUTPUT_CHARS_MAX: usize = 10_000;
/// A gate that prints more is stopped.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 256 << 20;

/// The variable of a check that names its item, as the original has it.
pub(crate) const PHASE_ID: &str = "PHASE_ID";

/// A check that took longer the last time is not run before the first attempt.
const BASELINE_S_MAX: u64 = 60;

impl Runner<'_, '_> {
    /// Whether the check of an item runs before its first attempt: what is
    /// known of the same command on the same tree is as good.
    pub(super) fn answer_baseline(
        &mut self,
        node: &Node,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> BaselineAnswer {
        let Some(item) = self.lp.tables().item(self.row.id, node) else {
            return BaselineAnswer::Skip(None);
        };
        let Some(script) = item.plan.gate.as_ref().map(|gate| gate.script.clone()) else {
            return BaselineAnswer::Skip(None);
        };
        let when = self
            .lp
            .run()
            .map_or(Baseline::Auto, |row| row.invocation.claims.baseline);
        if when == Baseline::Always {
            return BaselineAnswer::Run;
        }
        let tree = self.tree_hash_to_check(&self.work.sites.site_of_item(node), tell);
        let mut slow = false;
        for known in self.results_of_check(&script, node) {
            if tree.is_some() && known.tree == tree {
                let reused = true;
                return BaselineAnswer::Skip(Some(BaselineResult { reused, ..known }));
            }
            slow |= known.took_s > BASELINE_S_MAX;
        }
        if slow {
            BaselineAnswer::Skip(None)
        } else {
            BaselineAnswer::Run
        }
    }

    /// The last results of a check, of every item that has it; where it asks its
    /// environment which item it is about, of that one.
    fn results_of_check(&self, script: &str, node: &Node) -> Vec<BaselineResult> {
        let asks = ["PITON_", PHASE_ID]
            .iter()
            .any(|name| script.contains(name));
        let mut results = Vec::new();
        for item in self.lp.tables().tree(self.row.id) {
            let same = item
                .plan
                .gate
                .as_ref()
                .is_some_and(|gate| gate.script == script);
            if !same || (asks && item.node != *node) {
                continue;
            }
            results.extend(item.proof.baseline.as_deref().cloned());
            let runs = item.proof.gate_runs.as_ref();
            let over =
                runs.filter(|runs| !runs.open && runs.runs > 0 && item.proof.claim_gate.is_none());
            results.extend(over.map(|runs| BaselineResult {
                passed: runs.passed,
                tree: runs.tree.clone(),
                took_s: runs.took_s,
                reused: false,
                exit: runs.exit,
            }));
        }
        results
    }

    /// How a check of an item is started in a folder.
    pub(super) fn spec_of_gate(
        &mut self,
        gate: &Gate,
        item: &ItemRow,
        cwd: PathBuf,
    ) -> Result<ProcessSpec, Failure> {
        let mark = self.session.world.new_id().to_string();
        let fault = |error| unwritable_file(&self.session.project.home.join("spool"), error);
        let mut env = self.environment(item, &mark);
        env.push(("SPRINT_ID".to_owned(), self.prompts.sprint_id.clone()));
        env.push((PHASE_ID.to_owned(), item.plan.id.clone()));
        let place = format!("{}: {}", self.row.plan.source, item.node);
        let part = ExecutablePart::of_gate(&place, gate);
        let program = self.admit_part(part, TrustCheck::admit_gate)?;
        Ok(ProcessSpec {
            program,
            cwd,
            inherited: InheritedEnvironment::Everything,
            env,
            stdin: String::new(),
            output: self.spool.output_path(&mark).map_err(fault)?,
            limits: ProcessLimits {
                wall: Some(Duration::from_secs(gate.timeout_s)),
                idle: None,
                output_bytes_max: Some(OUTPUT_BYTES_MAX),
                ..self.job.first_agent().limits
            },
            mark,
        })
    }

    pub(super) fn start_gate(
        &mut self,
        node: &Node,
        number: u32,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        self.write_files_if_due(tell);
        let Some(item) = self.lp.tables().item(self.row.id, node).cloned() else {
            return Ok(Vec::new());
        };
        let Some(gate) = item.pending_gate().cloned() else {
            return Ok(Vec::new());
        };
        if let Err(lost) = self.refuse_lost_lane(node) {
            return Ok(vec![self.report_lost_work(node, &lost, tell)]);
        }
        let site = self.work.sites.site_of_item(node);
        let mut spec = self.spec_of_gate(&gate, &item, site.tree_path().to_owned())?;
        let number = ("ATTEMPT_NUMBER".to_owned(), number.to_string());
        spec.env.push(number);
        let tree = self.tree_hash_to_check(&site, tell);
        failpoint::point("gate.before-start");
        let purpose = WorkPurpose::Gate(ActiveGate {
            mark: spec.mark.clone(),
            timeout_s: gate.timeout_s,
            tree,
        });
        Ok(match self.start_process(spec, node, None, purpose)? {
            Ok(()) => Vec::new(),
            Err(error) => vec![Input::GateEnded {
                node: node.clone(),
                report: GateReport {
                    error: Some(format!("the script cannot be started: {error}")),
                    ..GateReport::default()
                },
                recovery: None,
            }],
        })
    }

    pub(super) fn handle_gate_end(
        &mut self,
        node: Node,
        ended: &EndedGate<'_>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Input, Failure> {
        let EndedGate {
            gate,
            exit,
            asked,
            took,
        } = *ended;
        failpoint::point("gate.ended");
        let mut tree = gate.tree.clone();
        if EvidenceRule::CheckNeedsChange.is_off(self.session.world) {
            // A tree that was never seen before: it always looks changed.
            tree = Some(gate.mark.clone());
        }
        let report = GateReport {
            tree,
            took_s: u64::try_from(took.as_secs()).unwrap_or(0),
            ..self.report_of_check(&gate.mark, exit, asked, gate.timeout_s)?
        };
        let recovery = self.recovery_of_check(&node, &report, tell);
        Ok(Input::GateEnded {
            node,
            report,
            recovery,
        })
    }

    /// What came of a check, whose output is not kept any longer.
    pub(super) fn report_of_check(
        &self,
        mark: &str,
        exit: &ProcessExit,
        asked: bool,
        timeout_s: u64,
    ) -> Result<GateReport, Failure> {
        let fault = |error| unwritable_file(&self.session.project.home.join("spool"), error);
        let output = self.spool.output_path(mark).map_err(fault)?;
        let text = read_check_output(&output);
        // Before it is cut: half a secret is not known for one.
        let text = self.session.world.redactor().redact(&text).into_owned();
        self.spool.remove_attempt(mark).map_err(fault)?;
        failpoint::point("gate.spool-removed");
        Ok(gate_report(&text, exit, asked, timeout_s))
    }

    /// What to do now, when the runs of a check are used up.
    fn recovery_of_check(
        &self,
        node: &Node,
        gate: &GateReport,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<Box<Recovery>> {
        let item = self.lp.tables().item(self.row.id, node)?;
        let runs = item.proof.gate_runs.as_ref().map_or(0, |runs| runs.runs);
        let is_used_up = runs >= item.pending_gate()?.runs_max && runs > 0;
        let is_first = item.stage == Stage::Baseline;
        if gate.passed || gate.interrupted || is_first || !is_used_up || !item.is_leaf() {
            return None;
        }
        let error = gate.error.as_deref().unwrap_or("it did not pass");
        let report = Report {
            error: Some(format!("its check failed: {error}")),
            category: Some(FailureCategory::Validation),
            ..Report::with_outcome(Outcome::Failed)
        };
        let ended = IncompleteAttempt {
            run: self.row.id,
            node,
            attempt: item.proof.unchecked?,
            report: &report,
            output: &gate.output,
            unconfirmed: unconfirmed_policy(self.session).unwrap_or(UnconfirmedPolicy::LeaveOut),
        };
        self.find_recovery(&ended, tell)
    }
}

/// What a check came to that printed this.
pub(crate) fn gate_report(
    text: &str,
    exit: &ProcessExit,
    asked: bool,
    timeout_s: u64,
) -> GateReport {
    let output = shorten_output(text.trim_end(), OUTPUT_CHARS_MAX);
    let error = match (exit.stopped_by, exit.code, exit.signal) {
        (Some(StopReason::Wall), ..) => {
            Some(format!("it ran longer than {timeout_s} s and was stopped"))
        }
        (Some(StopReason::Flood), ..) => Some(format!(
            "it printed more than {} and was stopped",
            piton_core::amount::format_size(OUTPUT_BYTES_MAX)
        )),
        (None, Some(0), _) => None,
        (_, Some(code), _) => Some(format!("exit status {code}")),
        (_, None, Some(signal)) => Some(format!("signal {signal}")),
        (_, None, None) => Some("its end is not known".to_owned()),
    };
    let timed_out = exit.stopped_by == Some(StopReason::Wall);
    GateReport {
        passed: exit.is_success(),
        interrupted: asked && exit.stopped_by == Some(StopReason::Asked),
        exit: if timed_out { Some(-1) } else { exit.code },
        output,
        error,
        ..GateReport::default()
    }
}

/// What a check printed; of much its beginning and its end, which are more
/// than is kept of them.
pub(crate) fn read_check_output(output: &Path) -> String {
    let bytes_max = 4 * OUTPUT_CHARS_MAX as u64;
    let bytes = std::fs::metadata(output).map_or(0, |found| found.len());
    let tail = spool::read_tail(output, bytes_max).unwrap_or_default();
    if bytes <= bytes_max {
        return tail;
    }
    let head = spool::read_head(output, bytes_max.min(bytes - bytes_max)).unwrap_or_default();
    format!("{head}\n{tail}")
}
