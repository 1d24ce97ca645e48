//! Starts what works: agents, gates and calls of git.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Sender;

use jiff::Timestamp;
use piton_core::{AttemptId, Node, Refusal};

use super::active_work::{ActiveWork, GitCallEnd, WorkHandle, WorkNumber, WorkPurpose};
use super::runner_state::{Runner, RunnerMessage};
use super::site::Site;
use crate::failpoint;
use crate::failure::{Failure, unwritable_file};
use crate::git::GitControl;
use crate::process::{self, FileInPlace, ProcessEvent, ProcessSpec, StartError, StopHandle};

impl Runner<'_, '_> {
    /// Starts a process and notes it as what works on `node`, before anything else can
    /// fail: so the runner ends every process that it started.
    pub(super) fn start_process(
        &mut self,
        spec: ProcessSpec,
        node: &Node,
        deadline: Option<Timestamp>,
        for_: WorkPurpose,
    ) -> Result<Result<(), StartError>, Failure> {
        let mark = spec.mark.clone();
        tracing::info!(%node, mark, program = ?spec.program, cwd = %spec.cwd.display(), "starts");
        let number = self.work.works.next_number();
        self.refuse_lost_lock()?;
        let site = self.work.sites.site_of_item(node);
        // What was seen there may change from now on.
        site.clear_snapshot();
        let running = match process::start(
            spec,
            forward_process_events(number, self.threads.sender.clone()),
        ) {
            Ok(running) => running,
            Err(error) => {
                tracing::warn!(%node, %error, "cannot be started");
                return Ok(Err(error));
            }
        };
        let id = running.id().clone();
        let writer = match &for_ {
            WorkPurpose::Agent { .. } => None,
            WorkPurpose::Gate(_) | WorkPurpose::MergeCheck(_) | WorkPurpose::Calls => {
                self.writer_of_item(node, &site)
            }
        };
        let work = ActiveWork {
            writer,
            deadline,
            for_,
            ..ActiveWork::new(node.clone(), site, self.now(), WorkHandle::Process(running))
        };
        self.work.works.insert(number, work);
        failpoint::point("run.started");
        self.spool
            .record_process(&mark, &id)
            .map_err(|error| unwritable_file(self.spool.folder(), error))?;
        failpoint::point("run.recorded");
        Ok(Ok(()))
    }

    /// Makes calls of git beside the runner, which hears of everything else
    /// meanwhile, and notes them as what works on `node`. What they came to comes
    /// as a message.
    pub(super) fn start_git_calls(
        &mut self,
        node: &Node,
        mark: String,
        calls: impl FnOnce(&GitControl<'_>) -> GitCallEnd + Send + 'static,
    ) {
        let site = self.work.sites.site_of_item(node);
        site.clear_snapshot();
        let stop = StopHandle::while_in_place(self.plan_lock_file());
        let number = self.work.works.next_number();
        let writer = self.writer_of_item(node, &site);
        let handle = WorkHandle::Calls(stop.clone());
        let work = ActiveWork {
            writer,
            ..ActiveWork::new(node.clone(), site, self.now(), handle)
        };
        self.work.works.insert(number, work);
        let sender = self.threads.sender.clone();
        std::thread::spawn(move || {
            let (mark, stop) = (&*mark, &stop);
            let calls = AssertUnwindSafe(|| calls(&GitControl { mark, stop }));
            // The runner waits for an end, whatever that is.
            let end = catch_unwind(calls).unwrap_or(GitCallEnd::Panicked);
            // The runner that would hear it may be gone already.
            sender.send(RunnerMessage::Called(number, end)).ok();
        });
    }

    /// The file of the lock on the plan, where this runner holds the run by it.
    fn plan_lock_file(&self) -> Option<FileInPlace> {
        let lock = self.job.plan_lock.as_deref()?;
        lock.as_file_in_place().ok()
    }

    /// Refuses to start anything in a run that was taken from this runner while it was
    /// stopped: it may not have seen that in the journal yet.
    pub(super) fn refuse_lost_lock(&self) -> Result<(), Failure> {
        match self.plan_lock_file() {
            Some(file) if file.is_replaced() => Err(Refusal::Fenced {
                name: self.row.name.clone(),
            }
            .into()),
            Some(_) | None => Ok(()),
        }
    }

    /// The attempt whose writing a check or a commit of an item runs.
    fn writer_of_item(&self, node: &Node, site: &Site) -> Option<AttemptId> {
        let item = self.lp.tables().item(self.row.id, node);
        let unchecked = item.and_then(|item| item.proof.unchecked);
        unchecked.or(site.last_attempt.get())
    }
}

/// Tells the runner of a process.
fn forward_process_events(
    number: WorkNumber,
    sender: Sender<RunnerMessage>,
) -> impl FnMut(ProcessEvent) + Send + 'static {
    move |event| {
        let message = match event {
            ProcessEvent::OutputGrew { bytes } => RunnerMessage::Grew(number, bytes),
            ProcessEvent::Exited(exit) => RunnerMessage::Exited(number, exit),
            ProcessEvent::Stopping { .. } => return,
        };
        // The runner that would hear it may be gone already.
        sender.send(message).ok();
    }
}
