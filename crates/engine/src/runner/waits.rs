//! Commands that say whether items may begin: asked beside the runner, a few at once.

use std::path::Path;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use piton_core::gate::is_script_unrunnable;
use piton_core::redact::Redactor;
use piton_core::run_loop::{Input, WaitAnswer};
use piton_core::trust::{ExecutablePart, PartKind};
use piton_core::wait::Wait;
use piton_core::{ItemRow, Node, RunId, Tables};

use super::runner_state::{Runner, RunnerMessage};
use crate::config::trust::TrustCheck;
use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::process::Trusted;
use crate::process::shell::quote_word;
use crate::process::{self, CallOutput, ScriptCall, StopHandle};

/// How long a command may take to answer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How much of what it prints a person is shown, in characters.
const PRINTED_MAX: usize = 1_000;

/// What the commands are found by that are asked for a run.
fn wait_mark(run: RunId) -> String {
    process::own_mark(&format!("wait-{run}"))
}

/// What commands are found by that a dead runner may have left: also those of items
/// that have waited enough since.
pub(super) fn mark_of_wait_commands(tables: &Tables, run: RunId) -> Option<String> {
    let asks = |item: &ItemRow| {
        let wait = item.plan.wait.as_ref();
        wait.is_some_and(|wait| wait.command.is_some())
    };
    tables.tree(run).any(asks).then(|| wait_mark(run))
}

/// Asks a command.
fn run_wait_command(call: &ScriptCall<'_>, redactor: &Redactor) -> WaitAnswer {
    let output = match process::run_script(call) {
        Ok(output) => output,
        Err(error) => {
            let printed = Some(format!("it cannot be started: {error}"));
            return WaitAnswer::NotRun { printed };
        }
    };
    if output.exit.code == Some(0) {
        return WaitAnswer::Yes;
    }
    let printed = tail_of_output(&output, call.timeout, redactor);
    match is_script_unrunnable(output.exit.code) {
        true => WaitAnswer::NotRun { printed },
        false => WaitAnswer::No { printed },
    }
}

/// The end of what a command printed.
fn tail_of_output(output: &CallOutput, timeout: Duration, redactor: &Redactor) -> Option<String> {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&all);
    // Before it is cut: half a secret is not known for one.
    let text = redactor.redact(text.trim());
    let from = text.char_indices().rev().nth(PRINTED_MAX - 1);
    let last = text[from.map_or(0, |(at, _)| at)..].trim();
    if !last.is_empty() {
        return Some(last.to_owned());
    }
    output
        .exit
        .describe_failure(&format!("{} s", timeout.as_secs()))
}

impl Runner<'_, '_> {
    /// Asks a command whether an item may begin. Its answer comes as a message.
    pub(super) fn start_wait_command(
        &mut self,
        node: Node,
        wait: &Wait,
    ) -> Result<Vec<Input>, Failure> {
        let item = self.lp.tables().item(self.row.id, &node);
        let id = item.map_or_else(String::new, |item: &ItemRow| item.plan.id.clone());
        let Some(command) = wait.command.clone() else {
            return Ok(Vec::new());
        };
        tracing::info!(%node, command, "asks");
        let place = format!("{}: {node}", self.row.plan.source);
        let part = ExecutablePart::new(PartKind::Wait, &place, &command);
        let command = self.admit_part(part, TrustCheck::admit_script)?;
        failpoint::point("wait.before-ask");
        let (at, sender) = (node.clone(), self.threads.sender.clone());
        let (stop, sprint_id) = (StopHandle::default(), self.prompts.sprint_id.clone());
        let tree = self.work.sites.of_run.tree_path().to_owned();
        let mark = wait_mark(self.row.id);
        let redactor = self.session.world.redactor();
        let stopped_by = stop.clone();
        let thread = thread::spawn(move || {
            let env = [("SPRINT_ID", &*sprint_id), ("PHASE_ID", &*id)];
            let answer = run_wait_command(
                &wait_call(&command, &env, &tree, &mark, &stopped_by),
                &redactor,
            );
            // The receiver is gone where the invocation is over.
            sender.send(RunnerMessage::Answered(at, answer)).ok();
        });
        self.threads.asked_commands.insert(node, stop, thread);
        Ok(Vec::new())
    }

    /// The item that a person took until this time, in words.
    fn held_until(&self, until: Timestamp) -> Option<String> {
        let now = self.session.world.now();
        let mut items = self.lp.tables().items(self.row.id);
        items.find_map(|item| {
            let hold = item.hold_at(now).filter(|hold| hold.until == until)?;
            let typed = format!("{}:{}", self.row.name, item.node);
            Some(format!(
                "waiting: `{}` is {hold}; give it back with `piton release {}`",
                item.node,
                quote_word(&typed)
            ))
        })
    }

    /// Tells what is waited for until a time, once.
    pub(super) fn report_waits_once(&mut self, until: Timestamp, tell: &mut dyn FnMut(Notice<'_>)) {
        let waiting = self.lp.tables().items_waiting_by_plan(self.row.id);
        let waiting: Vec<&Wait> = waiting.filter_map(ItemRow::current_wait).collect();
        let words = match waiting.as_slice() {
            [] => match self.held_until(until) {
                Some(held) => held,
                None => return tell(Notice::Waiting(Some(until))),
            },
            [wait] => format!("waiting {wait}"),
            waiting => format!("{} items wait: see `piton next`", waiting.len()),
        };
        if self.reported.waits.as_ref() != Some(&words) {
            tell(Notice::Said(&words));
            self.reported.waits = Some(words);
        }
    }

    /// Tells what a command printed that said no, where that is something new.
    fn report_refused_wait(
        &mut self,
        node: &Node,
        printed: Option<&str>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) {
        let last = printed.and_then(|printed| printed.lines().last());
        let last = last.map(|last| format!(" ({last})")).unwrap_or_default();
        let words = format!("`{node}` waits: its command said no{last}");
        if self.reported.noes.get(node) != Some(&words) {
            tell(Notice::Said(&words));
            self.reported.noes.insert(node.clone(), words);
        }
    }

    pub(super) fn stop_wait_command(&mut self, node: &Node) {
        self.threads.asked_commands.request_stop(node);
    }

    pub(super) fn handle_wait_answer(
        &mut self,
        node: Node,
        answer: WaitAnswer,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Vec<Input> {
        tracing::info!(%node, ?answer, "answered");
        self.threads.asked_commands.remove(&node);
        failpoint::point("wait.answered");
        if let WaitAnswer::No { printed } = &answer {
            self.report_refused_wait(&node, printed.as_deref(), tell);
        }
        vec![Input::WaitAnswered { node, answer }]
    }
}

fn wait_call<'a>(
    script: &'a Trusted<String>,
    env: &'a [(&'a str, &'a str)],
    cwd: &'a Path,
    mark: &'a str,
    stop: &'a StopHandle,
) -> ScriptCall<'a> {
    ScriptCall {
        script,
        cwd,
        input: b"",
        env,
        mark: Some(mark),
        stop: Some(stop),
        timeout: TIMEOUT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, timeout: Duration, answer: &WaitAnswer) {
        let script = Trusted::of_test(command.to_owned());
        let stop = StopHandle::default();
        let folder = std::env::temp_dir();
        let call = ScriptCall {
            timeout,
            ..wait_call(&script, &[], &folder, "-wait-test", &stop)
        };
        assert_eq!(
            run_wait_command(&call, &Redactor::rules_only()),
            *answer,
            "{command}"
        );
    }

    fn no(printed: &str) -> WaitAnswer {
        WaitAnswer::No {
            printed: Some(printed.to_owned()),
        }
    }

    #[test]
    fn a_command_says_yes_by_its_exit_status_alone() {
        check("echo no", TIMEOUT, &WaitAnswer::Yes);
        check("echo yes; exit 1", TIMEOUT, &no("yes"));
        check("echo out; echo err >&2; exit 8", TIMEOUT, &no("out\nerr"));
        check("exit 3", TIMEOUT, &no("ended with 3"));
        let long = "yes | head -c 5000; exit 1";
        check(long, TIMEOUT, &no("y\n".repeat(PRINTED_MAX / 2).trim()));
    }

    #[test]
    fn a_command_that_is_not_there_has_not_answered() {
        let script = Trusted::of_test("no-such-command-anywhere 7".to_owned());
        let (stop, folder) = (StopHandle::default(), std::env::temp_dir());
        let call = wait_call(&script, &[], &folder, "-wait-test", &stop);
        let answer = run_wait_command(&call, &Redactor::rules_only());
        let WaitAnswer::NotRun { printed } = answer else {
            panic!("{answer:?}");
        };
        assert!(printed.is_some_and(|printed| printed.contains("not found")));
    }

    #[test]
    fn a_command_that_hangs_is_ended_and_has_said_no() {
        let short = Duration::from_secs(1);
        check("echo asking; sleep 50", short, &no("asking"));
    }
}
