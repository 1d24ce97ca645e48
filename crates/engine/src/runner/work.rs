//! What works at the moment: agents, gates and commits.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use jiff::Timestamp;
use piton_core::{AttemptId, Node};

use super::feed::Feed;
use super::seen::Before;
use super::{Message, Runner};
use crate::fail;
use crate::failure::{Failure, unwritable};
use crate::process::{self, ProcessEvent, Running, Spec, StartError, Stop};

/// What tells one work from every other of a runner. An item may be taken again
/// before what is told last of its former work is read, so its node does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkNumber(u64);

/// All that works at the moment.
#[derive(Default)]
pub(super) struct Works {
    numbered: u64,
    at_work: BTreeMap<WorkNumber, Work>,
}

impl Works {
    /// The number of the work that begins next.
    pub(super) fn next_number(&mut self) -> WorkNumber {
        self.numbered += 1;
        WorkNumber(self.numbered)
    }

    /// Notes what has begun.
    pub(super) fn insert(&mut self, number: WorkNumber, work: Work) {
        self.at_work.insert(number, work);
    }

    /// Takes out what has ended; none where that is known already.
    pub(super) fn take(&mut self, number: WorkNumber) -> Option<Work> {
        self.at_work.remove(&number)
    }

    pub(super) fn get(&self, number: WorkNumber) -> Option<&Work> {
        self.at_work.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: WorkNumber) -> Option<&mut Work> {
        self.at_work.get_mut(&number)
    }

    /// What works on an item.
    pub(super) fn at(&self, node: &Node) -> Option<&Work> {
        self.iter()
            .map(|(_, work)| work)
            .find(|work| work.node == *node)
    }

    /// The same, to be changed.
    pub(super) fn at_mut(&mut self, node: &Node) -> Option<&mut Work> {
        let mut works = self.at_work.values_mut();
        works.find(|work| work.node == *node)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (WorkNumber, &Work)> {
        self.at_work.iter().map(|(number, work)| (*number, work))
    }

    pub(super) fn numbers(&self) -> Vec<WorkNumber> {
        self.at_work.keys().copied().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at_work.is_empty()
    }
}

/// A work at the moment.
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
    /// Starts a process and notes it as what works on `node`, before anything else
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
        let number = self.works.next_number();
        let running = match process::start(spec, told(number, self.sender.clone())) {
            Ok(running) => running,
            Err(error) => {
                tracing::warn!(%node, %error, "cannot be started");
                return Ok(Err(error));
            }
        };
        let id = running.id().clone();
        let work = Work {
            node: node.clone(),
            since: self.now(),
            printed: 0,
            deadline,
            for_,
            asked: None,
            no_progress: None,
            tree: None,
            handle: Handle::Process(running),
        };
        self.works.insert(number, work);
        fail::point("run.started");
        self.spool
            .record(&mark, &id)
            .map_err(|error| unwritable(self.spool.folder(), error))?;
        fail::point("run.recorded");
        Ok(Ok(()))
    }
}

/// Tells the runner of a process.
fn told(number: WorkNumber, sender: Sender<Message>) -> impl FnMut(ProcessEvent) + Send + 'static {
    move |event| {
        let message = match event {
            ProcessEvent::OutputGrew { bytes } => Message::Grew(number, bytes),
            ProcessEvent::Exited(exit) => Message::Exited(number, exit),
            ProcessEvent::Stopping { .. } => return,
        };
        // The runner that would hear it may be gone already.
        sender.send(message).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(works: &mut Works, node: &Node) -> WorkNumber {
        let number = works.next_number();
        let work = Work {
            node: node.clone(),
            since: Timestamp::UNIX_EPOCH,
            printed: 0,
            deadline: None,
            for_: Purpose::Commit,
            asked: None,
            no_progress: None,
            tree: None,
            handle: Handle::Calls(Stop::default()),
        };
        works.insert(number, work);
        number
    }

    #[test]
    fn a_late_end_of_a_former_work_of_an_item_ends_nothing() {
        let (mut works, node) = (Works::default(), Node::named("a"));
        let former = commit(&mut works, &node);
        assert!(works.take(former).is_some());
        commit(&mut works, &node);
        assert!(works.take(former).is_none());
        assert!(works.at(&node).is_some());
    }

    #[test]
    fn works_of_two_items_are_told_apart() {
        let mut works = Works::default();
        let nodes = ["a", "b"].map(Node::named);
        let numbers = nodes.each_ref().map(|node| commit(&mut works, node));
        let asked = Asked::Wanted("stop".to_owned());
        works.at_mut(&nodes[1]).expect("it works").asked = Some(asked);
        assert_eq!(works.take(numbers[0]).expect("it works").asked, None);
        assert!(!works.is_empty() && works.at(&nodes[0]).is_none());
    }
}
