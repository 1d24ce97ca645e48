//! What works at the moment: agents, gates and commits.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc::Sender;

use jiff::Timestamp;
use piton_core::merge::{MadeMerge, MergeStep};
use piton_core::run_loop::OpeningEnd;
use piton_core::{AttemptId, Node};

use super::feed::Feed;
use super::queue::{MergeCheck, Tried};
use super::seen::Before;
use super::site::Site;
use super::{Message, Runner};
use crate::fail;
use crate::failure::{Failure, unwritable};
use crate::git::By;
use crate::lanes::Prepared;
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

    /// Whether anything works in a work tree.
    pub(super) fn has_any_in(&self, site: &Rc<Site>) -> bool {
        let mut works = self.at_work.values();
        works.any(|work| Rc::ptr_eq(&work.site, site))
    }

    /// Whether an agent works in a work tree.
    pub(super) fn has_agent_in(&self, site: &Rc<Site>) -> bool {
        let is_agent = |work: &Work| matches!(work.for_, Purpose::Agent { .. });
        let mut works = self.at_work.values();
        works.any(|work| is_agent(work) && Rc::ptr_eq(&work.site, site))
    }

    /// The last attempt whose writing is at work beside agents: in a check of its
    /// run, or in the hook of a commit.
    pub(super) fn last_writer(&self) -> Option<AttemptId> {
        let works = self.at_work.values();
        works.filter_map(|work| work.writer).max()
    }
}

/// A work at the moment.
pub(super) struct Work {
    pub(super) node: Node,
    /// Where it works.
    pub(super) site: Rc<Site>,
    /// Whose writing it runs: what stands in a file when it ends may be that
    /// attempt's. None for an agent, whose own attempt is open.
    pub(super) writer: Option<AttemptId>,
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
    /// Calls of git, whose [`CallEnd`] says what for.
    Calls,
    /// A check of a merged tree.
    MergeCheck(Box<MergeCheck>),
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

/// What calls of git came to that were made beside the runner.
pub(super) enum CallEnd {
    /// The commit of an item: what was made, or why git or a hook refused it.
    Commit(Result<Result<Option<String>, String>, Failure>),
    /// A lane that is made ready.
    Prepared(Result<Prepared, Failure>),
    /// A commit of what was in a lane; none where nothing was.
    Saved(Result<Option<String>, Failure>),
    /// A merge that was tried.
    Merged(Result<Box<Tried>, Failure>),
    /// A merged tree that can be checked.
    Checkable(Result<Option<Prepared>, Failure>),
    /// The target that was to be moved.
    Moved(Result<MergeStep, Failure>),
    /// A pull request that was to be opened.
    Requested(OpeningEnd),
    /// What the target is to be moved to, so that it has what was merged elsewhere.
    Followed(Result<MadeMerge, OpeningEnd>),
    /// Nothing: a mistake of piton's ended them.
    Panicked,
}

impl Work {
    /// A work that begins now.
    pub(super) fn new(node: Node, site: Rc<Site>, since: Timestamp, handle: Handle) -> Self {
        Self {
            node,
            site,
            writer: None,
            since,
            printed: 0,
            deadline: None,
            for_: Purpose::Calls,
            asked: None,
            no_progress: None,
            tree: None,
            handle,
        }
    }

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
        let site = self.sites.at(node);
        // What was seen there may change from now on.
        site.forget_look();
        let running = match process::start(spec, told(number, self.sender.clone())) {
            Ok(running) => running,
            Err(error) => {
                tracing::warn!(%node, %error, "cannot be started");
                return Ok(Err(error));
            }
        };
        let id = running.id().clone();
        let writer = match &for_ {
            Purpose::Agent { .. } => None,
            Purpose::Gate(_) | Purpose::MergeCheck(_) | Purpose::Calls => {
                self.writer_at(node, &site)
            }
        };
        let work = Work {
            writer,
            deadline,
            for_,
            ..Work::new(node.clone(), site, self.now(), Handle::Process(running))
        };
        self.works.insert(number, work);
        fail::point("run.started");
        self.spool
            .record(&mark, &id)
            .map_err(|error| unwritable(self.spool.folder(), error))?;
        fail::point("run.recorded");
        Ok(Ok(()))
    }

    /// Makes calls of git beside the runner, which hears of everything else
    /// meanwhile, and notes them as what works on `node`. What they came to comes
    /// as a message.
    pub(super) fn begin_calls(
        &mut self,
        node: &Node,
        mark: String,
        calls: impl FnOnce(&By<'_>) -> CallEnd + Send + 'static,
    ) {
        let site = self.sites.at(node);
        site.forget_look();
        let stop = Stop::default();
        let number = self.works.next_number();
        let writer = self.writer_at(node, &site);
        let handle = Handle::Calls(stop.clone());
        let work = Work {
            writer,
            ..Work::new(node.clone(), site, self.now(), handle)
        };
        self.works.insert(number, work);
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let (mark, stop) = (&*mark, &stop);
            let calls = AssertUnwindSafe(|| calls(&By { mark, stop }));
            // The runner waits for an end, whatever that is.
            let end = catch_unwind(calls).unwrap_or(CallEnd::Panicked);
            // The runner that would hear it may be gone already.
            sender.send(Message::Called(number, end)).ok();
        });
    }

    /// The attempt whose writing a check or a commit of an item runs.
    fn writer_at(&self, node: &Node, site: &Site) -> Option<AttemptId> {
        let item = self.lp.tables().item(self.row.id, node);
        let unchecked = item.and_then(|item| item.unchecked);
        unchecked.or(site.last_attempt.get())
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
    use crate::project::Project;

    fn calls(works: &mut Works, node: &Node) -> WorkNumber {
        let number = works.next_number();
        let project = Project {
            root: "/p".into(),
            home: "/p/.piton".into(),
            work_tree: "/p".into(),
            in_git: false,
        };
        let site = Rc::new(Site::of(project));
        let handle = Handle::Calls(Stop::default());
        let work = Work::new(node.clone(), site, Timestamp::UNIX_EPOCH, handle);
        works.insert(number, work);
        number
    }

    #[test]
    fn a_late_end_of_a_former_work_of_an_item_ends_nothing() {
        let (mut works, node) = (Works::default(), Node::named("a"));
        let former = calls(&mut works, &node);
        assert!(works.take(former).is_some());
        calls(&mut works, &node);
        assert!(works.take(former).is_none());
        assert!(works.at(&node).is_some());
    }

    #[test]
    fn works_of_two_items_are_told_apart() {
        let mut works = Works::default();
        let nodes = ["a", "b"].map(Node::named);
        let numbers = nodes.each_ref().map(|node| calls(&mut works, node));
        let asked = Asked::Wanted("stop".to_owned());
        works.at_mut(&nodes[1]).expect("it works").asked = Some(asked);
        assert_eq!(works.take(numbers[0]).expect("it works").asked, None);
        assert!(!works.is_empty() && works.at(&nodes[0]).is_none());
    }
}
