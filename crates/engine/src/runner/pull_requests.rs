//! How the work of a unit gets into a pull request, and how that is looked at.
//!
//! What was begun is in the journal before anything is done outside; each step here
//! finds out whether it was done already. What a look means is decided in
//! `piton_core::pull_request`.

use std::path::{Path, PathBuf};
use std::thread;

use piton_core::lane::TargetRow;
use piton_core::merge::{MergeCommit, MergeStep};
use piton_core::pull_request::{
    AdoptedPullRequest, PullRequestRow, PullRequestSnapshot, PullRequestState,
    is_other_pull_request,
};
use piton_core::redact::Redactor;
use piton_core::run_loop::{Input, MergeEnd, PullRequestOpenEnd};
use piton_core::{ItemRow, Need, Node, RunId, RunRow, Tables};
use piton_formats::title::title_of_item;

use super::runner_state::{Runner, RunnerJob, RunnerMessage};
use super::target_branch::target_moved_failure;
use crate::config::PullRequestProgram;
use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git::gh::{Gh, ListedPullRequest, REMOTE};
use crate::git::repositories::work_trees_of_run;
use crate::git::{
    self, GitControl, GitMergeOutcome, MergeSpec, OwnPaths, PushOutcome, RefStep, RemoteBranch,
    WorkRange,
};
use crate::process::{self, StopHandle};
use crate::session::Session;

use super::active_work::GitCallEnd;

/// What calls for a run's pull requests are found by.
fn pull_request_mark(run: RunId) -> String {
    process::own_mark(&format!("pull-request-{run}"))
}

/// What calls are found by that a dead runner may have left: one of them might open a
/// pull request after it was looked for.
pub(super) fn mark_of_pull_requests(tables: &Tables, run: RunId) -> Option<String> {
    let lanes = tables.run(run)?.branches.lanes.as_deref()?;
    lanes.terms.pull_requests.then(|| pull_request_mark(run))
}

/// Where the work of a run goes from its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkGoal {
    /// To the target, as the project says.
    Target,
    /// There, when a person has looked at it: what people would see in a pull request
    /// that cannot be.
    Review,
    /// To pull requests.
    PullRequests,
}

/// Where the work of a run is to go: as it was begun, else as the project wants, where
/// that can be.
pub(super) fn work_goal(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<WorkGoal, Failure> {
    let is_wanted = job.config.pull_requests.with == Some(PullRequestProgram::Gh);
    if let Some(lanes) = &row.branches.lanes {
        return Ok(match &lanes.terms {
            terms if terms.pull_requests => WorkGoal::PullRequests,
            terms if terms.review && is_wanted => WorkGoal::Review,
            _ => WorkGoal::Target,
        });
    }
    let rows = session.load(&[Need::Tree(row.id)])?;
    let is_begun = rows.tables.tree(row.id).any(|item| item.attempts > 0);
    if !is_wanted || is_begun {
        return Ok(WorkGoal::Target);
    }
    if !session.project.in_git {
        tell(Notice::Warning(
            "work goes to no pull requests: the project is in no git repository",
        ));
        return Ok(WorkGoal::Target);
    }
    let Some(why) = find_hindrance(session, row) else {
        warn_unpushed_commits(session, row, tell);
        return Ok(WorkGoal::PullRequests);
    };
    tell(Notice::Warning(&format!(
        "work goes to no pull requests, and waits in the inbox before it is merged here: {why}"
    )));
    Ok(WorkGoal::Review)
}

/// Warns of commits that are not pushed yet: they are part of what is pushed first.
fn warn_unpushed_commits(session: &Session<'_>, row: &RunRow, tell: &mut dyn FnMut(Notice<'_>)) {
    let others = work_trees_of_run(session.world, &session.project, row).unwrap_or_default();
    for tree in std::iter::once(&session.project.work_tree).chain(others.values()) {
        let Some(branch) = git::read_checkout(tree).and_then(|here| here.branch) else {
            continue;
        };
        let count = git::count_unpushed(tree, branch_at_origin(&branch)).unwrap_or(0);
        if count > 0 {
            let commits = if count == 1 {
                "1 commit"
            } else {
                &format!("{count} commits")
            };
            tell(Notice::Warning(&format!(
                "{commits} of {branch} in {} that `{REMOTE}` did not have when it was asked last will be part of the first pull request: see `git log {REMOTE}/{branch}..{branch}`",
                tree.display()
            )));
        }
    }
}

/// Why there can be no pull requests, if something is in the way.
fn find_hindrance(session: &Session<'_>, row: &RunRow) -> Option<String> {
    let tree = &session.project.work_tree;
    let others = work_trees_of_run(session.world, &session.project, row).unwrap_or_default();
    let mut all = std::iter::once(tree).chain(others.values());
    if let Some(why) = all.find_map(|tree| find_hindrance_in(tree)) {
        return Some(why);
    }
    let (mark, stop) = (pull_request_mark(row.id), StopHandle::default());
    let by = GitControl {
        mark: &mark,
        stop: &stop,
    };
    let is_there = Gh { tree, by: &by }.is_installed();
    (!is_there).then(|| "there is no `gh`".to_owned())
}

/// Why there can be none in a repository.
fn find_hindrance_in(tree: &Path) -> Option<String> {
    let shown = tree.display();
    if git::remote_url(tree, REMOTE).is_none() {
        return Some(format!(
            "the repository in {shown} has no remote `{REMOTE}`"
        ));
    }
    let here = git::read_checkout(tree).and_then(|here| here.branch);
    here.is_none()
        .then(|| format!("no branch is checked out in {shown} into which they could be merged"))
}

/// Refuses a repository that comes into a run whose work goes to pull requests, and cannot
/// have any.
pub(super) fn refuse_without_pull_requests(tree: &Path) -> Result<(), Failure> {
    let Some(why) = find_hindrance_in(tree) else {
        return Ok(());
    };
    let git = git::git_command_for(Some(tree));
    let hint =
        format!("see what is missing with `{git} remote` and `{git} branch`, then run again");
    let what = format!("work goes to pull requests, and {why}");
    Err(Failure::new("plan.repository", what).with_hint(hint))
}

/// What is opened.
struct PullRequestOpening {
    known: PullRequestRow,
    title: String,
    body: String,
    /// Where work begins here.
    tip: String,
    /// The files of which nothing of the work goes there: those of the plan.
    plans: Vec<String>,
}

/// Why the work of a unit is in no pull request.
enum PullRequestError {
    /// It will not change by itself.
    ForGood(String),
    /// It may.
    Now(String),
}

impl From<Failure> for PullRequestError {
    fn from(failure: Failure) -> Self {
        Self::Now(failure.message)
    }
}

impl PullRequestOpening {
    /// Pushes, and finds the pull request or opens it.
    fn push_and_open(
        &self,
        tree: &Path,
        by: &GitControl<'_>,
    ) -> Result<(u64, String), PullRequestError> {
        let known = &self.known;
        failpoint::point("pull-request.before-push");
        self.push_branch(tree, by)?;
        failpoint::point("pull-request.pushed");
        if let Some((number, url)) = known.number.zip(known.url.clone()) {
            return Ok((number, url));
        }
        let gh = Gh { tree, by };
        let find = || self.find_pull_request(tree, by);
        if let Some(found) = find()? {
            return Ok((found.number, found.url));
        }
        failpoint::point("pull-request.before-create");
        let (title, body) = (&self.title, &self.body);
        let created = gh.create_pull_request(&known.branch, &known.base, title, body);
        failpoint::point("pull-request.created");
        // Whatever it said: it may have been opened all the same.
        match (find()?, created) {
            (Some(found), _) => Ok((found.number, found.url)),
            (None, Err(why)) => Err(PullRequestError::Now(why)),
            (None, Ok(())) => Err(PullRequestError::Now("it is not there yet".to_owned())),
        }
    }
}

impl PullRequestOpening {
    /// The pull request in which the work stands: one that is open for the branch, else
    /// one that had it when it was closed or merged.
    fn find_pull_request(
        &self,
        tree: &Path,
        by: &GitControl<'_>,
    ) -> Result<Option<ListedPullRequest>, PullRequestError> {
        let known = &self.known;
        let mut listed = Gh { tree, by }
            .list_of_branch(&known.branch)
            .map_err(PullRequestError::Now)?;
        if let Some(open) = listed.iter().position(ListedPullRequest::is_open) {
            return Ok(Some(listed.swap_remove(open)));
        }
        for one in listed {
            let there = PullRequestHead {
                number: one.number,
                head: &one.head_ref_oid,
            };
            if has_work(tree, there, &known.head, &self.plans, by)?.unwrap_or(false) {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }

    /// Overwrites nothing but what was pushed from here: what people pushed since is
    /// merged with the work.
    fn push_branch(&self, tree: &Path, by: &GitControl<'_>) -> Result<(), PullRequestError> {
        let known = &self.known;
        let at_remote = branch_at_origin(&known.branch);
        let there = git::branch_at_remote(tree, at_remote, by)?;
        let own = || {
            let message = format!("{}: leave the plan to piton", self.title);
            let range = WorkRange {
                base: &self.tip,
                work: &known.head,
            };
            git::strip_files_from_work(tree, range, &self.plans, &message, by)
        };
        let to = match there.as_deref() {
            None => own()?,
            Some(at) if *at == known.head || self.is_built_on_work(tree, at, by)? => return Ok(()),
            Some(at) if self.was_pushed(tree, at, by)? => own()?,
            Some(at) => self.merge_with_theirs(tree, at, &own()?, by)?,
        };
        match git::push(tree, at_remote, there.as_deref(), &to, by)? {
            PushOutcome::There => Ok(()),
            PushOutcome::Refused(why) => Err(PullRequestError::Now(format!(
                "`{REMOTE}` did not take the branch {}: {why}",
                known.branch
            ))),
        }
    }

    /// Whether what is there is built on the work.
    fn is_built_on_work(
        &self,
        tree: &Path,
        at: &str,
        by: &GitControl<'_>,
    ) -> Result<bool, PullRequestError> {
        let refs = [format!("refs/heads/{}", self.known.branch)];
        if !git::fetch_commit(tree, REMOTE, &refs, at, by)? {
            let why = format!("{} of `{REMOTE}` cannot be fetched", self.known.branch);
            return Err(PullRequestError::Now(why));
        }
        Ok(git::is_built_on(tree, at, &self.known.head)?)
    }

    /// Whether what is there is what was pushed from here before.
    fn was_pushed(
        &self,
        tree: &Path,
        at: &str,
        by: &GitControl<'_>,
    ) -> Result<bool, PullRequestError> {
        for before in &self.known.before {
            let range = WorkRange {
                base: &self.tip,
                work: before,
            };
            if before == at
                || (git::has_commit(tree, before)?
                    && git::is_work_without_files(tree, at, range, &self.plans, by)?)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The work merged with what people pushed on top of what stood there before.
    fn merge_with_theirs(
        &self,
        tree: &Path,
        at: &str,
        own: &str,
        by: &GitControl<'_>,
    ) -> Result<String, PullRequestError> {
        let known = &self.known;
        let mut is_on_own = false;
        for before in &known.before {
            is_on_own |= git::has_commit(tree, before)? && git::is_built_on(tree, at, before)?;
        }
        let lost = |how: &str| {
            PullRequestError::ForGood(format!(
                "another user pushed {} to the branch {} of `{REMOTE}`, {how}",
                git::short_commit(at),
                known.branch
            ))
        };
        if !is_on_own {
            return Err(lost("and that would be lost"));
        }
        let order = MergeSpec {
            onto: at,
            work: own,
            own: &OwnPaths::default(),
            put: &[],
            checked: None,
            message: &format!("{}: merge what was pushed meanwhile", self.title),
        };
        match git::merge_commits(&merge_folder(tree), &order, by)? {
            GitMergeOutcome::Made { commit, .. } => Ok(commit),
            GitMergeOutcome::Nothing { onto, .. } => Ok(onto),
            GitMergeOutcome::Conflict { files } => Err(lost(&format!(
                "which contradicts the work in {}",
                files.join(", ")
            ))),
        }
    }
}

/// A branch of the remote to which pull requests go.
fn branch_at_origin(branch: &str) -> RemoteBranch<'_> {
    RemoteBranch {
        remote: REMOTE,
        branch,
    }
}

/// A pull request, and the last commit of its branch.
#[derive(Clone, Copy)]
struct PullRequestHead<'a> {
    number: u64,
    head: &'a str,
}

/// Whether the last commit of a pull request has some work, apart from these files; none
/// where it cannot be fetched.
fn has_work(
    tree: &Path,
    there: PullRequestHead<'_>,
    work: &str,
    plans: &[String],
    by: &GitControl<'_>,
) -> Result<Option<bool>, Failure> {
    let PullRequestHead { number, head } = there;
    if head == work {
        return Ok(Some(true));
    }
    let refs = [format!("refs/pull/{number}/head")];
    if !git::has_commit(tree, work)? || !git::fetch_commit(tree, REMOTE, &refs, head, by)? {
        return Ok(None);
    }
    let plan = plans.first().map(String::as_str);
    git::has_work_of(tree, head, work, plan).map(Some)
}

/// Where merges are made: a merge driver writes there, and it must not be a work tree.
fn merge_folder(tree: &Path) -> PathBuf {
    git::git_dir(tree).unwrap_or_else(|| tree.to_owned())
}

/// Finds the pull request in which others left work, and gets that.
fn fetch_pull_request(
    tree: &Path,
    number: u64,
    named: Option<&str>,
    kept: &str,
    by: &GitControl<'_>,
) -> Result<AdoptedPullRequest, PullRequestError> {
    let found = Gh { tree, by }
        .existing_pull_request(number)
        .map_err(PullRequestError::Now)?;
    let (url, head) = (found.url.clone(), found.head_ref_oid.clone());
    if let Some(named) = named.filter(|named| is_other_pull_request(named, &url)) {
        return Err(PullRequestError::ForGood(format!(
            "the plan says {named}, and #{number} of `{REMOTE}` is another one: {url}"
        )));
    }
    if found.is_cross_repository {
        return Err(PullRequestError::ForGood(format!(
            "its branch is in another repository: {url}"
        )));
    }
    let refs = [
        format!("refs/heads/{}", found.head_ref_name),
        format!("refs/pull/{number}/head"),
    ];
    let is_here = git::fetch_commit(tree, REMOTE, &refs, &head, by)?;
    // Of what is merged only that matters.
    if !is_here && !found.is_merged() {
        return Err(PullRequestError::ForGood(format!(
            "`{REMOTE}` does not have its work any more: {url}"
        )));
    }
    if is_here {
        let at = git::read_ref(tree, kept)?;
        let step = RefStep {
            from: at.as_deref(),
            to: Some(&head),
        };
        git::move_ref(tree, kept, step, by)?;
    }
    Ok(AdoptedPullRequest {
        number,
        url,
        head,
        branch: found.head_ref_name,
        base: found.base_ref_name,
    })
}

/// A merged pull request, and the target that is to have its work.
#[derive(Clone, Copy)]
struct MergedPullRequest<'a> {
    target: &'a TargetRow,
    /// The branch of the remote into which it was merged.
    base: &'a str,
    /// The commit by which it was merged.
    commit: &'a str,
}

/// What the target is to be moved to, so that it has what was merged.
fn merge_into_target(
    tree: &Path,
    pull_request: MergedPullRequest<'_>,
    message: &str,
    by: &GitControl<'_>,
) -> Result<MergeCommit, PullRequestError> {
    let MergedPullRequest {
        target,
        base: base_branch,
        commit: merged,
    } = pull_request;
    let base = git::fetch(tree, branch_at_origin(base_branch), by)?;
    failpoint::point("pull-request.fetched");
    if !git::has_commit(tree, merged)? || !git::is_built_on(tree, &base, merged)? {
        return Err(PullRequestError::Now(format!(
            "{base_branch} of `{REMOTE}` does not have {} yet, by which it was merged",
            git::short_commit(merged)
        )));
    }
    let name = format!("refs/heads/{}", target.branch);
    let onto = git::read_ref(tree, &name)?;
    let onto = match onto {
        Some(at) if git::is_built_on(tree, &at, &target.tip)? => at,
        elsewhere => {
            let moved = target_moved_failure(None, target, elsewhere);
            return Err(PullRequestError::ForGood(moved.message));
        }
    };
    let commit = if git::is_built_on(tree, &base, &onto)? {
        base
    } else if git::is_built_on(tree, &onto, &base)? {
        onto.clone()
    } else {
        let order = MergeSpec {
            onto: &onto,
            work: &base,
            own: &OwnPaths::default(),
            put: &[],
            checked: None,
            message,
        };
        match git::merge_commits(&merge_folder(tree), &order, by)? {
            GitMergeOutcome::Made { commit, .. } => commit,
            GitMergeOutcome::Nothing { onto, .. } => onto,
            GitMergeOutcome::Conflict { files } => {
                return Err(PullRequestError::ForGood(format!(
                    "the branch {} and {base_branch} of `{REMOTE}` contradict each other in {}",
                    target.branch,
                    files.join(", ")
                )));
            }
        }
    };
    let tree = git::tree_of_commit(tree, &commit)?;
    Ok(MergeCommit { onto, commit, tree })
}

impl Runner<'_, '_> {
    fn pull_request_of_item(&self, node: &Node) -> Option<(ItemRow, PullRequestRow)> {
        let item = self.lp.tables().item(self.row.id, node)?;
        Some((item.clone(), item.pull_request()?.clone()))
    }

    /// Pushes the work of a unit, and finds its pull request or opens it, beside the
    /// runner.
    pub(super) fn open_pull_request(&mut self, node: &Node) -> Vec<Input> {
        let Some((item, known)) = self.pull_request_of_item(node) else {
            let end = PullRequestOpenEnd::Stopped;
            let node = node.clone();
            return vec![Input::PullRequestOpened { node, end }];
        };
        let title = title_of_item(&item).unwrap_or_else(|| item.plan.id.clone());
        let title = match title.starts_with(&item.plan.id) {
            true => title,
            false => format!("{}: {title}", item.plan.id),
        };
        let redactor = self.session.world.redactor();
        let summary = item
            .summary
            .as_deref()
            .map(|summary| redactor.redact(summary));
        let Some(target) = self.target_of_item(node) else {
            let end = PullRequestOpenEnd::Stopped;
            let node = node.clone();
            return vec![Input::PullRequestOpened { node, end }];
        };
        let opening = PullRequestOpening {
            known,
            tip: target.tip,
            plans: self.native_file_paths_at(node).plans,
            title: redactor.redact(&title).into_owned(),
            body: summary
                .map(|summary| summary.into_owned())
                .unwrap_or_default(),
        };
        let tree = self.main_tree_of_item(node);
        self.start_git_calls(node, pull_request_mark(self.row.id), move |by| {
            let end = match opening.push_and_open(&tree, by) {
                Ok((number, url)) => PullRequestOpenEnd::Opened {
                    head: opening.known.head,
                    number,
                    url,
                },
                Err(hindered) => hindered.into_end(&redactor),
            };
            GitCallEnd::Requested(end)
        });
        Vec::new()
    }

    /// Looks for the pull request in which others left the work of a unit, beside the
    /// runner.
    pub(super) fn adopt_pull_request(&mut self, node: &Node, number: u64) -> Vec<Input> {
        let tree = self.main_tree_of_item(node);
        let kept = self.ref_of_unit(node);
        let known = self.pull_request_of_item(node);
        let named = known.and_then(|(_, known)| known.named);
        let redactor = self.session.world.redactor();
        self.start_git_calls(node, pull_request_mark(self.row.id), move |by| {
            let found = fetch_pull_request(&tree, number, named.as_deref(), &kept, by);
            GitCallEnd::Requested(match found {
                Ok(found) => PullRequestOpenEnd::Found(found),
                Err(hindered) => hindered.into_end(&redactor),
            })
        });
        Vec::new()
    }

    /// It is open, or could not be opened.
    pub(super) fn handle_opened_pull_request(
        &mut self,
        node: Node,
        is_stopped: bool,
        end: PullRequestOpenEnd,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Input {
        let has_failed = matches!(
            end,
            PullRequestOpenEnd::Failed(_) | PullRequestOpenEnd::Refused(_)
        );
        let end = match has_failed && is_stopped {
            true => PullRequestOpenEnd::Stopped,
            false => end,
        };
        if let PullRequestOpenEnd::Failed(why) = &end {
            self.warn_pull_request_failure(&node, why, tell);
        }
        Input::PullRequestOpened { node, end }
    }

    /// Fetches what a pull request was merged into, beside the runner.
    pub(super) fn fetch_merged_pull_request(&mut self, node: &Node) -> Vec<Input> {
        let known = self
            .pull_request_of_item(node)
            .zip(self.target_of_item(node));
        let merged = known
            .as_ref()
            .and_then(|((_, known), _)| known.merged.clone());
        let Some((((item, known), target), merged)) = known.zip(merged) else {
            let end = MergeEnd::Stopped;
            let node = node.clone();
            return vec![Input::MergeEnded { node, end }];
        };
        let tree = self.main_tree_of_item(node);
        let redactor = self.session.world.redactor();
        let message = format!("{}: follow {}", self.prompts.sprint_id, item.plan.id);
        self.start_git_calls(node, pull_request_mark(self.row.id), move |by| {
            let pull_request = MergedPullRequest {
                target: &target,
                base: &known.base,
                commit: &merged,
            };
            let made = merge_into_target(&tree, pull_request, &message, by);
            GitCallEnd::Followed(made.map_err(|hindered| hindered.into_end(&redactor)))
        });
        Vec::new()
    }

    pub(super) fn handle_fetched_pull_request(
        &mut self,
        node: Node,
        is_stopped: bool,
        made: Result<MergeCommit, PullRequestOpenEnd>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Input {
        match made {
            Ok(made) => Input::MergeEnded {
                node,
                end: MergeEnd::Step(MergeStep::Start {
                    made,
                    is_checked: true,
                }),
            },
            Err(end) => self.handle_opened_pull_request(node, is_stopped, end, tell),
        }
    }

    /// Looks at a pull request. What is seen comes as a message.
    pub(super) fn poll_pull_request(&mut self, node: Node, number: u64) -> Vec<Input> {
        tracing::info!(%node, number, "looks at its pull request");
        let (at, sender) = (node.clone(), self.threads.sender.clone());
        let (stop, mark) = (StopHandle::default(), pull_request_mark(self.row.id));
        let tree = self.main_tree_of_item(&at);
        let redactor = self.session.world.redactor();
        let work = self.pull_request_of_item(&at).map(|(_, known)| known.head);
        let plans = self.native_file_paths_at(&at).plans;
        let stopped_by = stop.clone();
        let thread = thread::spawn(move || {
            let by = GitControl {
                mark: &mark,
                stop: &stopped_by,
            };
            let gh = Gh {
                tree: &tree,
                by: &by,
            };
            let look = gh.view_pull_request(number).and_then(|mut look| {
                // Of one that waits it matters as soon as it is merged.
                if let (PullRequestState::Merged, Some(head), Some(work)) =
                    (look.state, &look.head, &work)
                {
                    let found =
                        has_work(&tree, PullRequestHead { number, head }, work, &plans, &by);
                    let found = found.map_err(|failure| failure.message)?;
                    look.has_work = found.ok_or_else(|| {
                        format!("what was merged cannot be fetched from `{REMOTE}`")
                    })?;
                }
                Ok(look)
            });
            let look = look.map_err(|why| redactor.redact(&why).into_owned());
            // The receiver is gone where the invocation is over.
            sender.send(RunnerMessage::Seen(at, number, look)).ok();
        });
        self.threads.looks.insert(node, stop, thread);
        Vec::new()
    }

    /// A pull request was looked at.
    pub(super) fn handle_polled_pull_request(
        &mut self,
        node: Node,
        number: u64,
        look: Result<PullRequestSnapshot, String>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Vec<Input> {
        self.threads.looks.remove(&node);
        match &look {
            Err(why) => self.warn_pull_request_failure(&node, why, tell),
            Ok(_) => drop(self.reported.failures.remove(&node)),
        }
        vec![Input::PullRequestSeen { node, number, look }]
    }

    /// Tells why a pull request cannot be opened or seen, where that is something new.
    fn warn_pull_request_failure(
        &mut self,
        node: &Node,
        why: &str,
        tell: &mut dyn FnMut(Notice<'_>),
    ) {
        let words = format!("the pull request of `{node}`: {why}; it is asked on");
        if self.reported.failures.get(node) != Some(&words) {
            tell(Notice::Warning(&words));
            self.reported.failures.insert(node.clone(), words);
        }
    }
}

impl PullRequestError {
    fn into_end(self, redactor: &Redactor) -> PullRequestOpenEnd {
        let plain = |why: &str| redactor.redact(why).into_owned();
        match self {
            Self::ForGood(why) => PullRequestOpenEnd::Refused(plain(&why)),
            Self::Now(why) => PullRequestOpenEnd::Failed(plain(&why)),
        }
    }
}
