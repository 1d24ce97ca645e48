//! What works at the moment: an agent, a gate, or a commit, one at a time.

use std::sync::mpsc::Sender;

use jiff::Timestamp;
use piton_core::{AttemptId, Node};

use super::feed::Feed;
use super::seen::Before;
use super::{Message, Runner};
use crate::fail;
use crate::failure::{Failure, unwritable};
use crate::process::{self, ProcessEvent, Running, Spec, StartError, Stop};

/// What works at the moment.
pub(super) struct Work {
    pub(super) node: Node,
    pub(super) since: Timestamp,
    pub(super) printed: u64,
    /// When it is to be stopped because the time box is over.
    pub(super) deadline: Option<Timestamp>,
    pub(super) for_: Purpose,
    /// Why it was asked to stop, if it was.
    pub(super) asked: Option<Asked>,
    /// Why it makes no progress, if it makes none.
    pub(super) no_progress: Option<String>,
    /// The tree as it was when it was last looked for a standstill.
    pub(super) tree: Option<String>,
    pub(super) handle: Handle,
}

/// What it works for.
pub(super) enum Purpose {
    Agent {
        attempt: AttemptId,
        /// The work tree when it was started, if it could be looked at.
        before: Option<Box<Before>>,
        /// What it prints, where its adapter reads that.
        feed: Option<Box<Feed>>,
    },
    Gate(GateAtWork),
    Commit,
}

/// A gate that runs.
pub(super) struct GateAtWork {
    pub(super) mark: String,
    pub(super) timeout_s: u64,
    /// The tree on which it runs; none where nobody could look.
    pub(super) tree: Option<String>,
}

/// Why what works was asked to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Somebody wants it, or the time or the budget is over: nothing is the
    /// agent's fault.
    Wanted(String),
    /// It goes in circles.
    Circling(String),
    /// It changes nothing.
    NoProgress(String),
}

/// How it is stopped.
pub(super) enum Handle {
    /// A process that piton follows.
    Process(Running),
    /// Calls of git, one after another.
    Calls(Stop),
}

impl Work {
    /// Why the agent that works leads nowhere, if it does.
    pub(super) fn stuck(&self) -> Option<Asked> {
        let Purpose::Agent {
            feed: Some(feed), ..
        } = &self.for_
        else {
            return None;
        };
        let circling = feed.circling();
        let circling = circling.map(|why| Asked::Circling(why.to_owned()));
        let no_progress = self.no_progress.clone().map(Asked::NoProgress);
        circling.or(no_progress)
    }

    /// Asks it to end, and ends it when it does not.
    pub(super) fn stop(&self, kill: bool) {
        match &self.handle {
            Handle::Process(running) if kill => running.kill(),
            Handle::Process(running) => running.terminate(),
            Handle::Calls(stop) => stop.ask(kill),
        }
    }
}

impl Runner<'_, '_> {
    /// Starts a process and notes it as what works now, before anything else
    /// can fail: whatever is started has somebody who ends it.
    pub(super) fn begin(
        &mut self,
        spec: Spec,
        node: &Node,
        deadline: Option<Timestamp>,
        for_: Purpose,
    ) -> Result<Result<(), StartError>, Failure> {
        let mark = spec.mark.clone();
        tracing::info!(%node, mark, program = ?spec.program, cwd = %spec.cwd.display(), "starts");
        let running = match process::start(spec, told(self.sender.clone())) {
            Ok(running) => running,
            Err(error) => {
                tracing::warn!(%node, %error, "cannot be started");
                return Ok(Err(error));
            }
        };
        let id = running.id().clone();
        self.work = Some(Work {
            node: node.clone(),
            since: self.now(),
            printed: 0,
            deadline,
            for_,
            asked: None,
            no_progress: None,
            tree: None,
            handle: Handle::Process(running),
        });
        fail::point("run.started");
        self.spool
            .record(&mark, &id)
            .map_err(|error| unwritable(self.spool.folder(), error))?;
        fail::point("run.recorded");
        Ok(Ok(()))
    }
}

/// Tells the runner of a process.
fn told(sender: Sender<Message>) -> impl FnMut(ProcessEvent) + Send + 'static {
    move |event| {
        let message = match event {
            ProcessEvent::OutputGrew { bytes } => Message::Grew(bytes),
            ProcessEvent::Exited(exit) => Message::Exited(exit),
            ProcessEvent::Stopping { .. } => return,
        };
        // The runner that would hear it may be gone already.
        sender.send(message).ok();
    }
}
