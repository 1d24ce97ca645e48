//! `piton run --detach`, in both of its processes.

use std::ffi::OsString;

use piton_engine::model::Event;
use piton_engine::model::event::RunEvent;
use piton_engine::process::PrintedLine;
use piton_engine::process::shell::quote_word;
use piton_engine::runner::run_log::RunLog;
use piton_engine::verbs::detach::{self, DetachEnd, DetachedRun};
use piton_engine::{CommandExit, Failure, Notice};

use crate::invocation::Invocation;
use crate::output::{CliOutput, OutputFlow};

/// Starts the process in the background with what was typed, and shows what it says until
/// it has the run, or why it ended.
pub(crate) fn start(call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
    let flag = |word: OsString| match word == "--detach" {
        true => OsString::from("--detached"),
        false => word,
    };
    let arguments: Vec<OsString> = std::env::args_os().skip(1).map(flag).collect();
    let output = &mut *call.output;
    let end = detach::detach(call.world, &arguments, &mut |line| match line {
        PrintedLine::Out(line) => {
            output.print_data(&format!("{line}\n"));
        }
        PrintedLine::Err(line) => output.print_note(&line),
    })?;
    match end {
        DetachEnd::Ended(exit) => Ok(exit),
        DetachEnd::Working(run) => {
            call.print(&run, |run, _, output| show_detached(run, output));
            Ok(CommandExit::Done)
        }
    }
}

fn show_detached(run: &DetachedRun, output: &mut CliOutput) {
    let DetachedRun { run, process, log } = run;
    output.print_note(&format!(
        "process {process} works on run `{run}` in the background"
    ));
    if let Some(log) = log {
        output.print_note(&format!("log: {log}"));
    }
    let run = quote_word(run);
    output.print_hint(&format!(
        "watch it with `piton attach {run}`, end it with `piton stop {run}`"
    ));
}

/// The process in the background, which prints to the one that was typed until it has the
/// run, and to a log from there on.
pub(crate) struct Background {
    is_announced: bool,
    log: Option<RunLog>,
}

impl Background {
    /// Leaves the terminal.
    pub(crate) fn enter() -> Self {
        detach::leave_terminal();
        Self {
            is_announced: false,
            log: None,
        }
    }

    /// Announces that this process has the run, when it has, and shows what goes on.
    pub(crate) fn handle_notice(
        &mut self,
        notice: &Notice<'_>,
        plan: Option<&str>,
        call: &mut Invocation<'_>,
    ) {
        self.announce(notice, plan, call);
        // One answer is printed, and no events before it.
        let is_event = matches!(notice, Notice::Event(..));
        if self.is_announced || !call.output.json || !is_event {
            call.show_notice(notice);
        }
    }

    fn announce(&mut self, notice: &Notice<'_>, plan: Option<&str>, call: &mut Invocation<'_>) {
        if let Some(log) = &mut self.log {
            log.bound();
        }
        let Notice::Event(recorded, tables) = notice else {
            return;
        };
        let Event::Run(RunEvent::LeaseTaken { run, .. }) = &recorded.event else {
            return;
        };
        if std::mem::replace(&mut self.is_announced, true) {
            return;
        }
        let name = tables.run(*run).map(|row| row.name.clone());
        let name = name.unwrap_or_else(|| run.to_string());
        let (log, announced) = match detach::open_log(call.world, plan, &name) {
            Ok((log, announced)) => (Some(log), announced),
            Err(error) => {
                call.output.print_warning(&format!(
                    "the run goes on without a log, which cannot be opened: {error}"
                ));
                (None, DetachedRun::without_log(&name))
            }
        };
        if call.output.print_answer_line(&announced) == OutputFlow::Over {
            // The person took the command back, and would not know of this process.
            detach::end_this_process();
        }
        self.log = log.filter(|log| log.capture_output().is_ok());
        // What was asked for as JSON is the answer; a log is for people.
        call.output.json = false;
        let process = announced.process;
        call.output
            .print_note(&format!("process {process} works on run `{name}`"));
    }
}
