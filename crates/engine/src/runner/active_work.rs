//! What works at the moment, for what, and what calls of git come to.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use jiff::Timestamp;
use piton_core::gate::Gate;
use piton_core::merge::{MergeCommit, MergeStep};
use piton_core::run_loop::PullRequestOpenEnd;
use piton_core::{AttemptId, ItemRow, Node};

use super::feed::AgentFeed;
use super::site::{Site, SiteSnapshot};
use crate::failure::Failure;
use crate::git::GitMergeOutcome;
use crate::process::{RunningProcess, StopHandle};
use crate::runner::lane_pool::PreparedLane;

/// What tells one work from every other of a runner. An item may be taken again
/// before what is told last of its former work is read, so its node does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkNumber(u64);

/// All that works at the moment.
#[derive(Default)]
pub(super) struct ActiveWorks {
    numbered: u64,
    at_work: BTreeMap<WorkNumber, ActiveWork>,
}

impl ActiveWorks {
    /// The number of the work that begins next.
    pub(super) fn next_number(&mut self) -> WorkNumber {
        self.numbered += 1;
        WorkNumber(self.numbered)
    }

    /// Notes what has begun.
    pub(super) fn insert(&mut self, number: WorkNumber, work: ActiveWork) {
        self.at_work.insert(number, work);
    }

    /// Takes out what has ended; none where that is known already.
    pub(super) fn remove(&mut self, number: WorkNumber) -> Option<ActiveWork> {
        self.at_work.remove(&number)
    }

    pub(super) fn get(&self, number: WorkNumber) -> Option<&ActiveWork> {
        self.at_work.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: WorkNumber) -> Option<&mut ActiveWork> {
        self.at_work.get_mut(&number)
    }

    /// What works on an item.
    pub(super) fn work_on_item(&self, node: &Node) -> Option<&ActiveWork> {
        self.iter()
            .map(|(_, work)| work)
            .find(|work| work.node == *node)
    }

    /// The same, to be changed.
    pub(super) fn work_on_item_mut(&mut self, node: &Node) -> Option<&mut ActiveWork> {
        let mut works = self.at_work.values_mut();
        works.find(|work| work.node == *node)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (WorkNumber, &ActiveWork)> {
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
        let is_agent = |work: &ActiveWork| matches!(work.for_, WorkPurpose::Agent { .. });
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
pub(super) struct ActiveWork {
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
    pub(super) for_: WorkPurpose,
    /// Why it was asked to stop, if it was.
    pub(super) asked: Option<WorkStopCause>,
    /// Why it makes no progress, if it makes none.
    pub(super) no_progress: Option<String>,
    /// The tree as it was when it was last looked for a standstill.
    pub(super) tree: Option<String>,
    pub(super) handle: WorkHandle,
}

/// What it works for.
pub(super) enum WorkPurpose {
    Agent {
        attempt: AttemptId,
        /// The work tree when it was started, if it could be looked at.
        before: Option<Box<SiteSnapshot>>,
        /// What it prints, where its adapter reads that.
        feed: Option<Box<AgentFeed>>,
    },
    Gate(ActiveGate),
    /// Calls of git, whose [`GitCallEnd`] says what for.
    Calls,
    /// A check of a merged tree.
    MergeCheck(Box<MergeCheck>),
}

/// A gate that runs.
pub(super) struct ActiveGate {
    pub(super) mark: String,
    pub(super) timeout_s: u64,
    /// The tree on which it runs; none where it could not be seen.
    pub(super) tree: Option<String>,
}

/// Why what works was asked to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WorkStopCause {
    /// A person or a signal stopped it, or the time or the budget is over: nothing is
    /// the agent's fault.
    Wanted(String),
    /// It goes in circles.
    Circling(String),
    /// It changes nothing.
    NoProgress(String),
}

/// How it is stopped.
pub(super) enum WorkHandle {
    /// A process that piton follows.
    Process(RunningProcess),
    /// Calls of git, one after another.
    Calls(StopHandle),
}

/// What calls of git came to that were made beside the runner.
pub(super) enum GitCallEnd {
    /// The commit of an item: what was made, or why git or a hook refused it.
    Commit(Result<Result<Option<String>, String>, Failure>),
    /// A lane that is made ready.
    Prepared(Result<PreparedLane, Failure>),
    /// A commit of what was in a lane; none where nothing was.
    Saved(Result<Option<String>, Failure>),
    /// A merge that was tried.
    Merged(Result<Box<MergeAttempt>, Failure>),
    /// A merged tree that can be checked.
    Checkable(Result<Option<PreparedLane>, Failure>),
    /// The target that was to be moved.
    Moved(Result<MergeStep, Failure>),
    /// A pull request that was to be opened.
    Requested(PullRequestOpenEnd),
    /// What the target is to be moved to, so that it has what was merged elsewhere.
    Followed(Result<MergeCommit, PullRequestOpenEnd>),
    /// Nothing: a mistake of piton's ended them.
    Panicked,
}

/// A merge that was tried, and on what.
pub(super) struct MergeAttempt {
    pub(super) onto: String,
    pub(super) outcome: GitMergeOutcome,
    /// What came of making the lane of the queue ready, where it was not.
    pub(super) prepared: Option<PreparedLane>,
}

/// The checks of a merged tree.
pub(super) struct MergeCheck {
    pub(super) mark: String,
    pub(super) gate: Gate,
    /// Those that follow.
    pub(super) left: VecDeque<Gate>,
}

impl ActiveWork {
    /// A work that begins now.
    pub(super) fn new(node: Node, site: Rc<Site>, since: Timestamp, handle: WorkHandle) -> Self {
        Self {
            node,
            site,
            writer: None,
            since,
            printed: 0,
            deadline: None,
            for_: WorkPurpose::Calls,
            asked: None,
            no_progress: None,
            tree: None,
            handle,
        }
    }

    /// Why the agent that works leads nowhere, if it does.
    pub(super) fn stuck_cause(&self) -> Option<WorkStopCause> {
        let WorkPurpose::Agent {
            feed: Some(feed), ..
        } = &self.for_
        else {
            return None;
        };
        let circling = feed.loop_reason();
        let circling = circling.map(|why| WorkStopCause::Circling(why.to_owned()));
        let no_progress = self.no_progress.clone().map(WorkStopCause::NoProgress);
        circling.or(no_progress)
    }

    /// Whether the merge queue does it; `item` is the row of its item.
    pub(super) fn is_merge(&self, item: Option<&ItemRow>) -> bool {
        match &self.for_ {
            WorkPurpose::Agent { .. } | WorkPurpose::Gate(_) => false,
            WorkPurpose::MergeCheck(_) => true,
            WorkPurpose::Calls => item.is_some_and(|item| item.merge().is_some()),
        }
    }

    /// What it does now, or did last, in one line.
    pub(super) fn activity(&self) -> Option<&str> {
        match &self.for_ {
            WorkPurpose::Agent { feed, .. } => feed.as_ref()?.activity(),
            WorkPurpose::Gate(_) => Some("its check"),
            WorkPurpose::MergeCheck(_) => Some("the check of the merge"),
            WorkPurpose::Calls => Some("git"),
        }
    }

    /// Asks it to end, and ends it when it does not.
    pub(super) fn stop(&self, kill: bool) {
        match &self.handle {
            WorkHandle::Process(running) if kill => running.kill(),
            WorkHandle::Process(running) => running.terminate(),
            WorkHandle::Calls(stop) => stop.request_stop(kill),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    fn calls(works: &mut ActiveWorks, node: &Node) -> WorkNumber {
        let number = works.next_number();
        let project = Project {
            root: "/p".into(),
            home: "/p/.piton".into(),
            work_tree: "/p".into(),
            in_git: false,
        };
        let site = Rc::new(Site::of_project(project));
        let handle = WorkHandle::Calls(StopHandle::default());
        let work = ActiveWork::new(node.clone(), site, Timestamp::UNIX_EPOCH, handle);
        works.insert(number, work);
        number
    }

    #[test]
    fn a_late_end_of_a_former_work_of_an_item_ends_nothing() {
        let (mut works, node) = (ActiveWorks::default(), Node::from_text("a"));
        let former = calls(&mut works, &node);
        assert!(works.remove(former).is_some());
        calls(&mut works, &node);
        assert!(works.remove(former).is_none());
        assert!(works.work_on_item(&node).is_some());
    }

    #[test]
    fn works_of_two_items_are_told_apart() {
        let mut works = ActiveWorks::default();
        let nodes = ["a", "b"].map(Node::from_text);
        let numbers = nodes.each_ref().map(|node| calls(&mut works, node));
        let asked = WorkStopCause::Wanted("stop".to_owned());
        works.work_on_item_mut(&nodes[1]).expect("it works").asked = Some(asked);
        assert_eq!(works.remove(numbers[0]).expect("it works").asked, None);
        assert!(!works.is_empty() && works.work_on_item(&nodes[0]).is_none());
    }
}
