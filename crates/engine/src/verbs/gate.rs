//! `piton gate`: runs what an item has to pass, now, and records nothing.
//!
//! What the item counts as is decided by the check that its run makes itself, when its
//! agent is over.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use piton_core::evidence::{ClaimSettings, Worth};
use piton_core::gate::{Gate, GateReport, OutputExcerpt, excerpt_output};
use piton_core::trust::ExecutablePart;
use piton_core::{ItemRow, Need, RunRow, Tables};
use serde::Serialize;

use super::arguments::search_folder;
use super::item_view::title_of_item;
use super::record::unknown_item::resolve_planned_item;
use super::trust::allow_given_parts;
use crate::config::trust::{TrustCheck, name_plan};
use crate::failure::{Failure, unwritable_file};
use crate::git::repositories::work_trees_of_run;
use crate::process::shell::quote_word;
use crate::process::{
    self, InheritedEnvironment, ProcessEvent, ProcessExit, ProcessLimits, ProcessProgram,
    ProcessSpec, StartError, StopHandle, StopReason, Trusted,
};
use crate::runner::gate::{OUTPUT_BYTES_MAX, PHASE_ID, gate_report, read_check_output};
use crate::runner::signals::SignalListener;
use crate::session::{Session, no_runs_failure};
use crate::world::World;

/// What came of the checks of an item.
#[derive(Clone, Debug, Serialize)]
pub struct GateResult {
    /// Its run.
    pub run: String,
    /// The item.
    pub node: String,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether all of its checks passed.
    pub passed: bool,
    /// The caller was asked to end meanwhile: it is not known whether they pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Where they ran.
    pub folder: PathBuf,
    /// The checks that were run, to the first that did not pass.
    pub checks: Vec<CheckResult>,
}

crate::name_schema!(GateResult, "piton.gate/1");

/// What came of one check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckResult {
    /// The command.
    pub command: String,
    /// Whether it passed.
    pub passed: bool,
    /// Its exit status; -1 when it ran out of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What was wrong, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in seconds.
    pub took_s: u64,
    /// What it printed, its head and its tail.
    #[serde(skip_serializing_if = "OutputExcerpt::is_empty")]
    pub output: OutputExcerpt,
}

/// Runs what `item`, `[RUN:]NODE`, has to pass: its own check; where it has none, the check
/// that its run asks for beside an agent's word. Changes nothing that is recorded.
///
/// # Errors
///
/// When there is no such item, nothing is to be passed (`item.no_check`), a check is not
/// trusted (then none is run), or it cannot be run.
pub fn gate(world: &World, item: &str) -> Result<GateResult, Failure> {
    let session = Session::open_read_only(world, &search_folder(world, Some(item)))?
        .ok_or_else(no_runs_failure)?;
    let (run, node) = resolve_planned_item(&session, item)?;
    let tables = session.load(&[Need::Run(run), Need::Line(run, node.clone())])?;
    let tables = &tables.tables;
    let (Some(row), Some(found)) = (tables.run(run), tables.item(run, &node)) else {
        return Err(no_runs_failure());
    };
    let gates = gates_of_item(row, found);
    if gates.is_empty() {
        return Err(no_check_failure(row, found));
    }
    let trust = TrustCheck::open(world, &session.project);
    allow_given_parts(world, &trust, Some(&row.name));
    let place = format!("{}: {node}", row.plan.source);
    let admit = |gate| trust.admit_gate(ExecutablePart::of_gate(&place, gate));
    let programs: Result<Vec<Trusted<ProcessProgram>>, Failure> =
        gates.iter().copied().map(admit).collect();
    let programs = programs.map_err(|failure| name_plan(failure, Some(&row.name)))?;
    let folder = folder_of_check(&session, tables, row, found)?;
    let mut result = GateResult {
        run: row.name.clone(),
        node: node.as_str().to_owned(),
        title: title_of_item(found),
        passed: true,
        interrupted: false,
        folder: folder.clone(),
        checks: Vec::new(),
    };
    let env = environment_of_check(&session, row, found);
    for (gate, program) in gates.into_iter().zip(programs) {
        let spec = CheckSpec {
            program,
            folder: folder.clone(),
            env: env.clone(),
            timeout_s: gate.timeout_s,
        };
        let report = spec.run(world)?;
        result.passed = report.passed;
        result.interrupted = report.interrupted;
        result.checks.push(CheckResult {
            command: gate.script.clone(),
            passed: report.passed,
            exit: report.exit,
            error: report.error,
            took_s: report.took_s,
            output: excerpt_output(&report.output),
        });
        if !report.passed {
            break;
        }
    }
    Ok(result)
}

/// What an item has to pass.
fn gates_of_item<'r>(row: &'r RunRow, item: &'r ItemRow) -> Vec<&'r Gate> {
    let mut gates: Vec<&Gate> = item.required_checks().collect();
    let claims: &ClaimSettings = &row.invocation.claims;
    let rules = claims.rules_of_item(&item.node, &item.plan.claims);
    let wants_check = [rules.changed, rules.word].contains(&Worth::Check);
    if gates.is_empty() && wants_check {
        gates.extend(claims.check.as_deref());
    }
    gates
}

fn no_check_failure(row: &RunRow, item: &ItemRow) -> Failure {
    let what = format!("`{}` of run `{}` has no check", item.node, row.name);
    let name = format!("{}:{}", row.name, item.node);
    Failure::new("item.no_check", what).with_hint(format!(
        "give it one in its plan; see the item with `piton show {}`",
        quote_word(&name)
    ))
}

/// Where the checks of an item run: in the work tree that the caller is in, if that is not
/// the main one; else in that of the run.
fn folder_of_check(
    session: &Session<'_>,
    tables: &Tables,
    row: &RunRow,
    item: &ItemRow,
) -> Result<PathBuf, Failure> {
    let project = &session.project;
    if project.work_tree != project.root {
        return Ok(project.work_tree.clone());
    }
    if let Some(name) = tables.repository_of(item) {
        let mut trees = work_trees_of_run(session.world, project, row)?;
        if let Some(tree) = trees.remove(name) {
            return Ok(tree);
        }
    }
    Ok(project.with_run_worktree(row).work_tree)
}

/// What a check finds in its environment, as in a run.
fn environment_of_check(
    session: &Session<'_>,
    row: &RunRow,
    item: &ItemRow,
) -> Vec<(String, String)> {
    let root = session.project.root.to_string_lossy();
    let number = item.attempts.max(1).to_string();
    let title = piton_formats::registry::plan_format(&row.plan.face)
        .map_or_else(|| row.name.clone(), |format| (format.words.title)(row));
    [
        ("PITON_RUN", row.name.as_str()),
        ("PITON_ITEM", item.node.as_str()),
        ("PITON_PROJECT", &root),
        ("SPRINT_ID", &title),
        (PHASE_ID, &item.plan.id),
        ("ATTEMPT_NUMBER", &number),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// A check that is about to run.
struct CheckSpec {
    program: Trusted<ProcessProgram>,
    folder: PathBuf,
    env: Vec<(String, String)>,
    timeout_s: u64,
}

impl CheckSpec {
    /// Runs the check to its end, or until this process is asked to end.
    fn run(self, world: &World) -> Result<GateReport, Failure> {
        let scratch =
            tempfile::tempdir().map_err(|error| unwritable_file(&std::env::temp_dir(), error))?;
        let output = scratch.path().join("output");
        let spec = ProcessSpec {
            program: self.program,
            cwd: self.folder,
            inherited: InheritedEnvironment::Everything,
            env: self.env,
            stdin: String::new(),
            output: output.clone(),
            limits: ProcessLimits {
                wall: Some(Duration::from_secs(self.timeout_s)),
                output_bytes_max: Some(OUTPUT_BYTES_MAX),
                ..ProcessLimits::default()
            },
            mark: world.new_id().to_string(),
        };
        let exit = match run_to_end(spec)? {
            Ok(exit) => exit,
            Err(error) => {
                return Ok(GateReport {
                    error: Some(format!("the script cannot be started: {error}")),
                    ..GateReport::default()
                });
            }
        };
        let text = read_check_output(&output);
        // Before it is cut: half a secret is not known for one.
        let text = world.redactor().redact(&text).into_owned();
        let asked = exit.stopped_by == Some(StopReason::Asked);
        Ok(GateReport {
            took_s: exit.duration.as_secs(),
            ..gate_report(&text, &exit, asked, self.timeout_s)
        })
    }
}

/// Runs a process to its end; a signal to this one ends it, a second one at once.
fn run_to_end(spec: ProcessSpec) -> Result<Result<ProcessExit, StartError>, Failure> {
    let stop = StopHandle::default();
    let (heard, is_second) = (stop.clone(), AtomicBool::new(false));
    let _listener = SignalListener::listen(move |_| {
        heard.request_stop(is_second.swap(true, Ordering::Relaxed));
        true
    })?;
    let (sender, receiver) = mpsc::channel();
    let started = process::start(spec, move |event| {
        if let ProcessEvent::Exited(exit) = event {
            // The receiver below outlives this.
            sender.send(exit).ok();
        }
    });
    Ok(started.map(|running| {
        stop.attach_process(&running);
        receiver.recv().expect("every child has exactly one end")
    }))
}
