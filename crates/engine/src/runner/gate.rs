//! Gates: the scripts that say whether a node is done.

use piton_core::gate::GateReport;
use std::time::Duration;

use piton_core::Node;

use piton_core::run_loop::Input;

use super::Runner;
use super::work::Purpose;
use crate::fail;
use crate::failure::{Failure, unwritable};
use crate::notice::Notice;
use crate::process::{Exit, Limits, Program, Spec, StopReason};
use crate::spool;

/// How much of a gate's output is kept, in characters.
const OUTPUT_CHARS_MAX: usize = 10_000;
/// A gate that prints more is stopped.
const OUTPUT_BYTES_MAX: u64 = 256 << 20;

impl Runner<'_, '_> {
    pub(super) fn start_gate(
        &mut self,
        node: &Node,
        number: u32,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        self.follow(tell);
        let Some(item) = self.lp.tables().item(self.row.id, node).cloned() else {
            return Ok(Vec::new());
        };
        let Some(gate) = item.gate_to_pass().cloned() else {
            return Ok(Vec::new());
        };
        let mark = self.session.world.id().to_string();
        let fault = |error| unwritable(&self.session.project.home.join("spool"), error);
        let mut env = self.environment(&item, &mark);
        env.push(("SPRINT_ID".to_owned(), self.sprint_id.clone()));
        env.push(("PHASE_ID".to_owned(), item.id.clone()));
        env.push(("ATTEMPT_NUMBER".to_owned(), number.to_string()));
        let spec = Spec {
            program: Program::Shell(gate.script.clone()),
            cwd: self.session.project.work_tree.clone(),
            env,
            stdin: String::new(),
            output: self.spool.output(&mark).map_err(fault)?,
            limits: Limits {
                wall: Some(Duration::from_secs(gate.timeout_s)),
                idle: None,
                output_bytes_max: Some(OUTPUT_BYTES_MAX),
                ..self.job.agent_limits
            },
            mark: mark.clone(),
        };
        fail::point("gate.before-start");
        let purpose = Purpose::Gate {
            mark,
            timeout_s: gate.timeout_s,
        };
        Ok(match self.begin(spec, node, None, purpose)? {
            Ok(()) => Vec::new(),
            Err(error) => vec![Input::GateEnded(GateReport {
                error: Some(format!("the script cannot be started: {error}")),
                ..GateReport::default()
            })],
        })
    }

    pub(super) fn gate_ended(
        &mut self,
        mark: &str,
        exit: &Exit,
        asked: bool,
        timeout_s: u64,
    ) -> Result<Input, Failure> {
        fail::point("gate.ended");
        let fault = |error| unwritable(&self.session.project.home.join("spool"), error);
        let output = self.spool.output(mark).map_err(fault)?;
        let text = spool::tail(&output, 4 * OUTPUT_CHARS_MAX as u64).unwrap_or_default();
        self.spool.remove(mark).map_err(fault)?;
        fail::point("gate.spool-removed");
        Ok(Input::GateEnded(report(&text, exit, asked, timeout_s)))
    }
}

fn report(text: &str, exit: &Exit, asked: bool, timeout_s: u64) -> GateReport {
    let output = last_chars(text.trim_end(), OUTPUT_CHARS_MAX);
    let error = match (exit.stopped_by, exit.code, exit.signal) {
        (Some(StopReason::Wall), ..) => {
            Some(format!("it ran longer than {timeout_s} s and was stopped"))
        }
        (Some(StopReason::Flood), ..) => Some(format!(
            "it printed more than {} and was stopped",
            piton_core::amount::size(OUTPUT_BYTES_MAX)
        )),
        (None, Some(0), _) => None,
        (_, Some(code), _) => Some(format!("exit status {code}")),
        (_, None, Some(signal)) => Some(format!("signal {signal}")),
        (_, None, None) => Some("its end is not known".to_owned()),
    };
    let timed_out = exit.stopped_by == Some(StopReason::Wall);
    GateReport {
        passed: exit.success(),
        interrupted: asked && exit.stopped_by == Some(StopReason::Asked),
        exit: if timed_out { Some(-1) } else { exit.code },
        output,
        error,
    }
}

fn last_chars(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    text.chars().skip(count.saturating_sub(chars_max)).collect()
}
