//! How the work of a unit gets into a pull request, and how that is looked at.
//!
//! What was begun is in the journal before anything is done outside; each step here
//! finds out whether it was done already. What a look means is decided in
//! `piton_core::pull_request`.

use std::path::{Path, PathBuf};
use std::thread;

use piton_core::lane::TargetRow;
use piton_core::merge::{MadeMerge, MergeStep};
use piton_core::pull_request::{
    PullRequestLook, PullRequestRow, PullRequestState, TakenPullRequest, is_another,
};
use piton_core::redact::Redactor;
use piton_core::run_loop::{Input, MergeEnd, OpeningEnd};
use piton_core::{ItemRow, Need, Node, RunId, RunRow, Tables};
use piton_formats::title::title_of_item;

use super::{Job, Message, Runner};
use crate::config::PullRequestProgram;
use crate::fail;
use crate::failure::Failure;
use crate::gh::{Gh, ListedPullRequest, REMOTE};
use crate::git::{self, By, MergeOrder, MergeTry, OwnPaths, Pushed, RefStep};
use crate::notice::Notice;
use crate::process::{self, Stop};
use crate::repositories::trees_of_run;
use crate::session::Session;

use super::work::CallEnd;

/// What calls for a run's pull requests are found by.
fn mark(run: RunId) -> String {
    process::own_mark(&format!("pull-request-{run}"))
}

/// What calls are found by that a dead runner may have left: one of them might open a
/// pull request after it was looked for.
pub(super) fn mark_of_pull_requests(tables: &Tables, run: RunId) -> Option<String> {
    let lanes = tables.run(run)?.lanes.as_deref()?;
    lanes.terms.pull_requests.then(|| mark(run))
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
    job: &Job,
    row: &RunRow,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<WorkGoal, Failure> {
    let is_wanted = job.config.pull_requests.with == Some(PullRequestProgram::Gh);
    if let Some(lanes) = &row.lanes {
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
    let Some(why) = hindrance(session, row) else {
        tell_unpushed(session, row, tell);
        return Ok(WorkGoal::PullRequests);
    };
    tell(Notice::Warning(&format!(
        "work goes to no pull requests, and waits in the inbox before it is merged here: {why}"
    )));
    Ok(WorkGoal::Review)
}

/// Says which commits nobody pushed yet: they are part of what is pushed first.
fn tell_unpushed(session: &Session<'_>, row: &RunRow, tell: &mut dyn FnMut(Notice<'_>)) {
    let others = trees_of_run(session.world, &session.project, row).unwrap_or_default();
    for tree in std::iter::once(&session.project.work_tree).chain(others.values()) {
        let Some(branch) = git::checked_out(tree).and_then(|here| here.branch) else {
            continue;
        };
        let count = git::unpushed(tree, (REMOTE, &branch)).unwrap_or(0);
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
fn hindrance(session: &Session<'_>, row: &RunRow) -> Option<String> {
    let tree = &session.project.work_tree;
    let others = trees_of_run(session.world, &session.project, row).unwrap_or_default();
    let mut all = std::iter::once(tree).chain(others.values());
    if let Some(why) = all.find_map(|tree| hindrance_in(tree)) {
        return Some(why);
    }
    let (mark, stop) = (mark(row.id), Stop::default());
    let by = By {
        mark: &mark,
        stop: &stop,
    };
    let is_there = Gh { tree, by: &by }.is_there();
    (!is_there).then(|| "there is no `gh`".to_owned())
}

/// Why there can be none in a repository.
fn hindrance_in(tree: &Path) -> Option<String> {
    let shown = tree.display();
    if git::remote_url(tree, REMOTE).is_none() {
        return Some(format!(
            "the repository in {shown} has no remote `{REMOTE}`"
        ));
    }
    let here = git::checked_out(tree).and_then(|here| here.branch);
    here.is_none()
        .then(|| format!("no branch is checked out in {shown} into which they could be merged"))
}

/// Refuses a repository that comes into a run whose work goes to pull requests, and cannot
/// have any.
pub(super) fn refuse_hindered(tree: &Path) -> Result<(), Failure> {
    let Some(why) = hindrance_in(tree) else {
        return Ok(());
    };
    let git = git::typed_in(Some(tree));
    let hint =
        format!("see what is missing with `{git} remote` and `{git} branch`, then run again");
    let what = format!("work goes to pull requests, and {why}");
    Err(Failure::new("plan.repository", what).hint(hint))
}

/// What is opened.
struct Opening {
    known: PullRequestRow,
    title: String,
    body: String,
    /// Where work begins here.
    tip: String,
    /// The files of which nothing of the work goes there: those of the plan.
    plans: Vec<String>,
}

/// Why the work of a unit is in no pull request.
enum Hindered {
    /// It will not change by itself.
    ForGood(String),
    /// It may.
    Now(String),
}

impl From<Failure> for Hindered {
    fn from(failure: Failure) -> Self {
        Self::Now(failure.message)
    }
}

impl Opening {
    /// Pushes, and finds the pull request or opens it.
    fn carry_out(&self, tree: &Path, by: &By<'_>) -> Result<(u64, String), Hindered> {
        let known = &self.known;
        fail::point("pull-request.before-push");
        self.push(tree, by)?;
        fail::point("pull-request.pushed");
        if let Some((number, url)) = known.number.zip(known.url.clone()) {
            return Ok((number, url));
        }
        let gh = Gh { tree, by };
        let find = || self.find(tree, by);
        if let Some(found) = find()? {
            return Ok((found.number, found.url));
        }
        fail::point("pull-request.before-create");
        let words = (&*self.title, &*self.body);
        let created = gh.create((&known.branch, &known.base), words);
        fail::point("pull-request.created");
        // Whatever it said: it may have been opened all the same.
        match (find()?, created) {
            (Some(found), _) => Ok((found.number, found.url)),
            (None, Err(why)) => Err(Hindered::Now(why)),
            (None, Ok(())) => Err(Hindered::Now("it is not there yet".to_owned())),
        }
    }
}

impl Opening {
    /// The pull request in which the work stands: one that is open for the branch, else
    /// one that had it when it was closed or merged.
    fn find(&self, tree: &Path, by: &By<'_>) -> Result<Option<ListedPullRequest>, Hindered> {
        let known = &self.known;
        let mut listed = Gh { tree, by }
            .of_branch(&known.branch)
            .map_err(Hindered::Now)?;
        if let Some(open) = listed.iter().position(ListedPullRequest::is_open) {
            return Ok(Some(listed.swap_remove(open)));
        }
        for one in listed {
            let there = (one.number, &*one.head_ref_oid);
            if has_work(tree, there, (&known.head, &self.plans), by)?.unwrap_or(false) {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }

    /// Overwrites nothing but what was pushed from here: what people pushed since is
    /// merged with the work.
    fn push(&self, tree: &Path, by: &By<'_>) -> Result<(), Hindered> {
        let known = &self.known;
        let at_remote = (REMOTE, &*known.branch);
        let there = git::branch_at_remote(tree, at_remote, by)?;
        let own = || {
            let message = format!("{}: leave the plan to piton", self.title);
            let sides = (&*self.tip, &*known.head);
            git::without_files(tree, sides, &self.plans, &message, by)
        };
        let to = match there.as_deref() {
            None => own()?,
            Some(at) if *at == known.head || self.is_newer(tree, at, by)? => return Ok(()),
            Some(at) if self.was_pushed(tree, at, by)? => own()?,
            Some(at) => self.with_theirs(tree, at, &own()?, by)?,
        };
        match git::push(tree, at_remote, (there.as_deref(), &to), by)? {
            Pushed::There => Ok(()),
            Pushed::Refused(why) => Err(Hindered::Now(format!(
                "`{REMOTE}` did not take the branch {}: {why}",
                known.branch
            ))),
        }
    }

    /// Whether what is there is built on the work.
    fn is_newer(&self, tree: &Path, at: &str, by: &By<'_>) -> Result<bool, Hindered> {
        let refs = [format!("refs/heads/{}", self.known.branch)];
        if !git::fetch_commit(tree, (REMOTE, &refs), at, by)? {
            let why = format!("{} of `{REMOTE}` cannot be fetched", self.known.branch);
            return Err(Hindered::Now(why));
        }
        Ok(git::is_built_on(tree, at, &self.known.head)?)
    }

    /// Whether what is there is what was pushed from here before.
    fn was_pushed(&self, tree: &Path, at: &str, by: &By<'_>) -> Result<bool, Hindered> {
        for before in &self.known.before {
            let sides = (&*self.tip, &**before);
            if before == at
                || (git::exists(tree, before)?
                    && git::is_without_files(tree, at, sides, &self.plans, by)?)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The work merged with what people pushed on top of what stood there before.
    fn with_theirs(
        &self,
        tree: &Path,
        at: &str,
        own: &str,
        by: &By<'_>,
    ) -> Result<String, Hindered> {
        let known = &self.known;
        let mut is_on_own = false;
        for before in &known.before {
            is_on_own |= git::exists(tree, before)? && git::is_built_on(tree, at, before)?;
        }
        let lost = |how: &str| {
            Hindered::ForGood(format!(
                "somebody else pushed {} to the branch {} of `{REMOTE}`, {how}",
                git::short(at),
                known.branch
            ))
        };
        if !is_on_own {
            return Err(lost("and that would be lost"));
        }
        let order = MergeOrder {
            onto: at,
            work: own,
            own: &OwnPaths::default(),
            put: &[],
            checked: None,
            message: &format!("{}: merge what was pushed meanwhile", self.title),
        };
        match git::merge(&folder_of_merges(tree), &order, by)? {
            MergeTry::Made { commit, .. } => Ok(commit),
            MergeTry::Nothing { onto, .. } => Ok(onto),
            MergeTry::Conflict { files } => Err(lost(&format!(
                "which contradicts the work in {}",
                files.join(", ")
            ))),
        }
    }
}

/// Whether the last commit of a pull request has some work, apart from these files; none
/// where nobody can say, since it cannot be fetched.
fn has_work(
    tree: &Path,
    (number, head): (u64, &str),
    (work, plans): (&str, &[String]),
    by: &By<'_>,
) -> Result<Option<bool>, Failure> {
    if head == work {
        return Ok(Some(true));
    }
    let refs = [format!("refs/pull/{number}/head")];
    if !git::exists(tree, work)? || !git::fetch_commit(tree, (REMOTE, &refs), head, by)? {
        return Ok(None);
    }
    let plan = plans.first().map(String::as_str);
    git::has_work_of(tree, head, work, plan).map(Some)
}

/// Where merges are made: a merge driver writes there, and that is nobody's work tree.
fn folder_of_merges(tree: &Path) -> PathBuf {
    git::git_dir(tree).unwrap_or_else(|| tree.to_owned())
}

/// Finds the pull request in which others left work, and gets that.
fn take(
    tree: &Path,
    (number, named, kept): (u64, Option<&str>, &str),
    by: &By<'_>,
) -> Result<TakenPullRequest, Hindered> {
    let found = Gh { tree, by }.one(number).map_err(Hindered::Now)?;
    let (url, head) = (found.url.clone(), found.head_ref_oid.clone());
    if let Some(named) = named.filter(|named| is_another(named, &url)) {
        return Err(Hindered::ForGood(format!(
            "the plan says {named}, and #{number} of `{REMOTE}` is another one: {url}"
        )));
    }
    if found.is_cross_repository {
        return Err(Hindered::ForGood(format!(
            "its branch is in another repository: {url}"
        )));
    }
    let refs = [
        format!("refs/heads/{}", found.head_ref_name),
        format!("refs/pull/{number}/head"),
    ];
    let is_here = git::fetch_commit(tree, (REMOTE, &refs), &head, by)?;
    // Of what is merged only that matters.
    if !is_here && !found.is_merged() {
        return Err(Hindered::ForGood(format!(
            "`{REMOTE}` does not have its work any more: {url}"
        )));
    }
    if is_here {
        let at = git::ref_at(tree, kept)?;
        let step = RefStep {
            from: at.as_deref(),
            to: Some(&head),
        };
        git::move_ref(tree, kept, step, by)?;
    }
    Ok(TakenPullRequest {
        number,
        url,
        head,
        branch: found.head_ref_name,
        base: found.base_ref_name,
    })
}

/// What the target is to be moved to, so that it has what was merged.
fn follow(
    tree: &Path,
    (target, known, merged): (&TargetRow, &PullRequestRow, &str),
    message: &str,
    by: &By<'_>,
) -> Result<MadeMerge, Hindered> {
    let base = git::fetch(tree, (REMOTE, &known.base), by)?;
    fail::point("pull-request.fetched");
    if !git::exists(tree, merged)? || !git::is_built_on(tree, &base, merged)? {
        return Err(Hindered::Now(format!(
            "{} of `{REMOTE}` does not have {} yet, by which it was merged",
            known.base,
            git::short(merged)
        )));
    }
    let name = format!("refs/heads/{}", target.branch);
    let onto = git::ref_at(tree, &name)?;
    let onto = match onto {
        Some(at) if git::is_built_on(tree, &at, &target.tip)? => at,
        elsewhere => {
            let moved = super::queue::target_moved(None, target, elsewhere);
            return Err(Hindered::ForGood(moved.message));
        }
    };
    let commit = if git::is_built_on(tree, &base, &onto)? {
        base
    } else if git::is_built_on(tree, &onto, &base)? {
        onto.clone()
    } else {
        let order = MergeOrder {
            onto: &onto,
            work: &base,
            own: &OwnPaths::default(),
            put: &[],
            checked: None,
            message,
        };
        match git::merge(&folder_of_merges(tree), &order, by)? {
            MergeTry::Made { commit, .. } => commit,
            MergeTry::Nothing { onto, .. } => onto,
            MergeTry::Conflict { files } => {
                return Err(Hindered::ForGood(format!(
                    "the branch {} and {} of `{REMOTE}` contradict each other in {}",
                    target.branch,
                    known.base,
                    files.join(", ")
                )));
            }
        }
    };
    let tree = git::tree_of(tree, &commit)?;
    Ok(MadeMerge { onto, commit, tree })
}

impl Runner<'_, '_> {
    fn pull_request_of(&self, node: &Node) -> Option<(ItemRow, PullRequestRow)> {
        let item = self.lp.tables().item(self.row.id, node)?;
        Some((item.clone(), item.pull_request()?.clone()))
    }

    /// Pushes the work of a unit, and finds its pull request or opens it, beside the
    /// runner.
    pub(super) fn open_pull_request(&mut self, node: &Node) -> Vec<Input> {
        let Some((item, known)) = self.pull_request_of(node) else {
            let end = OpeningEnd::Stopped;
            let node = node.clone();
            return vec![Input::PullRequestOpened { node, end }];
        };
        let title = title_of_item(&item).unwrap_or_else(|| item.id.clone());
        let title = match title.starts_with(&item.id) {
            true => title,
            false => format!("{}: {title}", item.id),
        };
        let redactor = self.session.world.redactor();
        let summary = item
            .summary
            .as_deref()
            .map(|summary| redactor.redact(summary));
        let Some(target) = self.target_of(node) else {
            let end = OpeningEnd::Stopped;
            let node = node.clone();
            return vec![Input::PullRequestOpened { node, end }];
        };
        let opening = Opening {
            known,
            tip: target.tip,
            plans: self.own_paths_at(node).plans,
            title: redactor.redact(&title).into_owned(),
            body: summary
                .map(|summary| summary.into_owned())
                .unwrap_or_default(),
        };
        let tree = self.main_of(node);
        self.begin_calls(node, mark(self.row.id), move |by| {
            let end = match opening.carry_out(&tree, by) {
                Ok((number, url)) => OpeningEnd::Opened {
                    head: opening.known.head,
                    number,
                    url,
                },
                Err(hindered) => hindered.into_end(&redactor),
            };
            CallEnd::Requested(end)
        });
        Vec::new()
    }

    /// Looks for the pull request in which others left the work of a unit, beside the
    /// runner.
    pub(super) fn take_pull_request(&mut self, node: &Node, number: u64) -> Vec<Input> {
        let tree = self.main_of(node);
        let kept = self.ref_of_unit(node);
        let known = self.pull_request_of(node);
        let named = known.and_then(|(_, known)| known.named);
        let redactor = self.session.world.redactor();
        self.begin_calls(node, mark(self.row.id), move |by| {
            let left = (number, named.as_deref(), &*kept);
            CallEnd::Requested(match take(&tree, left, by) {
                Ok(found) => OpeningEnd::Found(found),
                Err(hindered) => hindered.into_end(&redactor),
            })
        });
        Vec::new()
    }

    /// It is open, or could not be opened.
    pub(super) fn pull_request_opened(
        &mut self,
        (node, is_stopped): (Node, bool),
        end: OpeningEnd,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Input {
        let has_failed = matches!(end, OpeningEnd::Failed(_) | OpeningEnd::Refused(_));
        let end = match has_failed && is_stopped {
            true => OpeningEnd::Stopped,
            false => end,
        };
        if let OpeningEnd::Failed(why) = &end {
            self.tell_of_failure(&node, why, tell);
        }
        Input::PullRequestOpened { node, end }
    }

    /// Fetches what a pull request was merged into, beside the runner.
    pub(super) fn follow_pull_request(&mut self, node: &Node) -> Vec<Input> {
        let known = self.pull_request_of(node).zip(self.target_of(node));
        let merged = known
            .as_ref()
            .and_then(|((_, known), _)| known.merged.clone());
        let Some((((item, known), target), merged)) = known.zip(merged) else {
            let end = MergeEnd::Stopped;
            let node = node.clone();
            return vec![Input::MergeEnded { node, end }];
        };
        let tree = self.main_of(node);
        let redactor = self.session.world.redactor();
        let message = format!("{}: follow {}", self.sprint_id, item.id);
        self.begin_calls(node, mark(self.row.id), move |by| {
            let made = follow(&tree, (&target, &known, &merged), &message, by);
            CallEnd::Followed(made.map_err(|hindered| hindered.into_end(&redactor)))
        });
        Vec::new()
    }

    pub(super) fn pull_request_followed(
        &mut self,
        (node, is_stopped): (Node, bool),
        made: Result<MadeMerge, OpeningEnd>,
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
            Err(end) => self.pull_request_opened((node, is_stopped), end, tell),
        }
    }

    /// Looks at a pull request. What is seen comes as a message.
    pub(super) fn look_at_pull_request(&mut self, node: Node, number: u64) -> Vec<Input> {
        tracing::info!(%node, number, "looks at its pull request");
        let (at, sender) = (node.clone(), self.sender.clone());
        let (stop, mark) = (Stop::default(), mark(self.row.id));
        let tree = self.main_of(&at);
        let redactor = self.session.world.redactor();
        let work = self.pull_request_of(&at).map(|(_, known)| known.head);
        let plans = self.own_paths_at(&at).plans;
        let stopped_by = stop.clone();
        let thread = thread::spawn(move || {
            let by = By {
                mark: &mark,
                stop: &stopped_by,
            };
            let gh = Gh {
                tree: &tree,
                by: &by,
            };
            let look = gh.look(number).and_then(|mut look| {
                // Of one that waits it matters as soon as it is merged.
                if let (PullRequestState::Merged, Some(head), Some(work)) =
                    (look.state, &look.head, &work)
                {
                    let found = has_work(&tree, (number, head), (work, &plans), &by);
                    let found = found.map_err(|failure| failure.message)?;
                    look.has_work = found.ok_or_else(|| {
                        format!("what was merged cannot be fetched from `{REMOTE}`")
                    })?;
                }
                Ok(look)
            });
            let look = look.map_err(|why| redactor.redact(&why).into_owned());
            // Nobody listens any more where the invocation is over.
            sender.send(Message::Seen(at, number, look)).ok();
        });
        self.looks.insert(node, stop, thread);
        Vec::new()
    }

    /// A pull request was looked at.
    pub(super) fn pull_request_seen(
        &mut self,
        node: Node,
        (number, look): (u64, Result<PullRequestLook, String>),
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Vec<Input> {
        self.looks.remove(&node);
        match &look {
            Err(why) => self.tell_of_failure(&node, why, tell),
            Ok(_) => drop(self.told_failures.remove(&node)),
        }
        vec![Input::PullRequestSeen { node, number, look }]
    }

    /// Tells why a pull request cannot be opened or seen, where that is something new.
    fn tell_of_failure(&mut self, node: &Node, why: &str, tell: &mut dyn FnMut(Notice<'_>)) {
        let words = format!("the pull request of `{node}`: {why}; it is asked on");
        if self.told_failures.get(node) != Some(&words) {
            tell(Notice::Warning(&words));
            self.told_failures.insert(node.clone(), words);
        }
    }
}

impl Hindered {
    fn into_end(self, redactor: &Redactor) -> OpeningEnd {
        let plain = |why: &str| redactor.redact(why).into_owned();
        match self {
            Self::ForGood(why) => OpeningEnd::Refused(plain(&why)),
            Self::Now(why) => OpeningEnd::Failed(plain(&why)),
        }
    }
}
