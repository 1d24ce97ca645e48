//! The lanes of a run: which unit is worked on where, and what is done about that.
//!
//! Git is called beside the runner's thread, since a checkout or a `setup` takes
//! its time. What follows from it is decided by `piton_core::run_loop`.

use piton_core::amount::list_first;
use piton_core::event::UnitEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use piton_core::lane::{LaneHold, LaneTerms, TargetRow, UnitRow, unit_of_node};
use piton_core::merge::MergeRow;
use piton_core::run_loop::{Input, LaneEnd};
use piton_core::{
    AttemptId, Command, DecodedRecord, Event, ItemRow, ItemState, Need, Node, Refusal, RunId,
    RunRow, RunState,
};
use piton_formats::plan_file::PlanFile;

use super::active_work::GitCallEnd;
use super::held_lanes::{HeldLane, RunLanes};
use super::own_files::own_file_prefixes;
use super::pull_requests::{WorkGoal, refuse_without_pull_requests};
use super::run_facts::{commit_mark, open_plan_sync, require_run, runner_facts};
use super::run_lock::is_without_runners;
use super::runner_state::{RunAim, Runner, RunnerJob};
use super::site::Site;
use super::target_branch::{refuse_checked_out, target_moved_failure};
use super::unmerged::unmerged_work_in_lane;
use crate::agents;
use crate::config::{LANES, repositories};
use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git::repositories::{RepositoryWorkTrees, try_work_trees_of_run, work_trees_of_run};
use crate::git::worktree::{self, NAMED_MAX, RunWorktree};
use crate::git::{
    self, GitControl, MovedSubmodule, OwnPaths, RefMove, RefStep, UnsavedWork, WorktreeState,
};
use crate::native_files::FileNotice;
use crate::native_files::plan_sync::LanePlanCopy;
use crate::process::StopHandle;
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::runner::lane_pool::{
    Lane, LaneFault, LaneOccupant, LanePreparation, LaneRecord, LaneStart, Pool, PreparedLane,
    has_include_file, read_plan_file, record_left_repository, run_of_tree,
};
use crate::session::Session;
use crate::world::input::sha256;

/// The first git that makes a merge in its objects alone.
const GIT_MIN: (u32, u32) = (2, 38);

/// How many items of a run are worked on at once. What a flag asks for and cannot
/// be is refused; where only the plan or the project wishes for it, it is said why
/// one item comes after another.
pub(super) fn count_workers(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<NonZeroU32, Failure> {
    match job.aim {
        RunAim::Work => {}
        RunAim::Settle => return Ok(NonZeroU32::MIN),
        RunAim::Join => {
            let of_project = job.config.workspace.lanes;
            return Ok(job.workers.or(of_project).unwrap_or(LANES));
        }
    }
    let wished = configured_workers(session, job, row)?;
    let workers = job.workers.or(wished).unwrap_or(NonZeroU32::MIN);
    if row.branches.lanes.is_some() {
        return Ok(workers);
    }
    refuse_unfinished_merge(session, job, row)?;
    let has_several = row.plan.policy.has_several_repositories();
    if workers == NonZeroU32::MIN && !has_several {
        return Ok(workers);
    }
    match refuse_impossible_lanes(session, job, row) {
        Ok(()) => {
            warn_untracked_files(session, job, row, tell)?;
            Ok(workers)
        }
        Err(failure) if job.workers.is_some() || has_several => Err(failure),
        Err(failure) => {
            tell(Notice::Warning(&format!(
                "one item after another, where {workers} could be worked on at once: {failure}"
            )));
            Ok(NonZeroU32::MIN)
        }
    }
}

/// Says which tables of the configuration name no repository of the run: what stands
/// there holds nowhere.
pub(super) fn warn_unknown_tables(job: &RunnerJob, row: &RunRow, tell: &mut dyn FnMut(Notice<'_>)) {
    let Some(known) = &row.plan.policy.repositories else {
        return;
    };
    for name in repositories::unknown_tables(&job.config.repositories, known) {
        let names: Vec<&str> = known
            .own
            .iter()
            .chain(&known.others)
            .map(|it| &**it)
            .collect();
        tell(Notice::Warning(&format!(
            "[repositories.{name}] in .piton/config.toml is none of the repositories of this run: {}",
            names.join(", ")
        )));
    }
}

/// Refuses to begin a run in a work tree in which a person has begun a merge or the
/// like: an agent that commits would conclude it. Later it may be one of its agents
/// that was interrupted, and the next one is told.
fn refuse_unfinished_merge(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
) -> Result<(), Failure> {
    let rows = session.load(&[Need::Tree(row.id)])?;
    if rows.tables.tree(row.id).any(|item| item.attempts > 0) {
        return Ok(());
    }
    let order = job.worktree.as_ref();
    let tree = order.map_or(&*session.project.work_tree, RunWorktree::existing_tree);
    let is_there = order.is_none_or(RunWorktree::is_complete);
    let Some(fact) = git::find_unfinished_operation(tree).filter(|_| is_there) else {
        return Ok(());
    };
    let shown = quote_word(&tree.to_string_lossy()).into_owned();
    Err(Failure::new(
        "git.dirty",
        format!(
            "{fact} in {}, and an agent would conclude it",
            tree.display()
        ),
    )
    .with_hint(format!(
        "see how to end it with `git -C {shown} status`, then run again"
    )))
}

/// How many workers the plan wants, or the project for its parallel items.
fn configured_workers(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
) -> Result<Option<NonZeroU32>, Failure> {
    let of_project = job.config.workspace.lanes;
    if let Some(max) = row.plan.policy.concurrency_max {
        let of_plan = NonZeroU32::new(max);
        return Ok(of_plan.or(of_project).or(Some(LANES)));
    }
    let rows = session.load(&[Need::Tree(row.id)])?;
    let has_parallel = rows.tables.tree(row.id).any(|item| item.plan.turn.parallel);
    Ok(of_project.filter(|_| has_parallel))
}

/// Refuses lanes where they cannot be: they begin at the commit that is checked out.
fn refuse_impossible_lanes(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
) -> Result<(), Failure> {
    let project = &session.project;
    let in_turn = "or work on one item after another with `--workers 1`";
    if !project.in_git {
        return Err(Failure::new(
            "git.missing",
            "several workers need a git worktree each, and the project is in no git repository",
        )
        .with_hint(format!(
            "make one with `git init` and a first commit, {in_turn}"
        )));
    }
    // A worktree of the plan's own may have to be made yet.
    let order = job.worktree.as_ref();
    let tree = order.map_or(&*project.work_tree, RunWorktree::existing_tree);
    if git::head_commit(tree)?.is_none() {
        return Err(Failure::new(
            "git.no_commit",
            "several workers begin at a commit, and the repository has none yet",
        )
        .with_hint(format!("make a first commit, {in_turn}")));
    }
    git::refuse_without_identity(tree, false)?;
    let version = git::git_version(tree)?;
    if version.is_some_and(|version| version < GIT_MIN) {
        let (major, minor) = GIT_MIN;
        return Err(Failure::new(
            "git.missing",
            format!("several workers need git {major}.{minor} or later"),
        )
        .with_hint(format!("install a later git, {in_turn}")));
    }
    if order.is_some_and(|order| !order.is_complete()) {
        return Ok(());
    }
    refuse_missing_agent_program(session, job, row)?;
    let own = own_file_prefixes(project, &row.plan.face, &row.plan.source);
    let changes = git::tracked_changes(&project.work_tree, &own)?;
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        "git.dirty",
        format!(
            "several workers begin at the commit that is checked out, and these have changes that are in none: {}",
            list_first(&changes, NAMED_MAX)
        ),
    )
    .with_hint("commit them or put them aside with `git stash`, then run again"))
}

/// Says which files lie in the work tree alone: they are in no commit, and no lane has
/// them. Nothing of a run overwrites them.
fn warn_untracked_files(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let project = &session.project;
    // A worktree of the plan's own may have to be made yet.
    if job
        .worktree
        .as_ref()
        .is_some_and(|order| !order.is_complete())
    {
        return Ok(());
    }
    let own = own_file_prefixes(project, &row.plan.face, &row.plan.source);
    let mut untracked = git::untracked_files(&project.work_tree, &own)?;
    // Of the plan piton keeps the file here up to date.
    let plan = PlanFile::path_of_run(row).and_then(|path| project.path_in_work_tree(&path));
    untracked.retain(|file| plan.as_ref() != Some(file));
    let rows = session.load(&[Need::Tree(row.id)])?;
    let is_begun = rows.tables.tree(row.id).any(|item| item.attempts > 0);
    if !untracked.is_empty() && is_begun && row.plan.policy.has_several_repositories() {
        // No setting asked for lanes: what was done without them must not be missing there.
        let what = format!(
            "the run goes on in several repositories, and what was done here is in no commit: {}",
            list_first(&untracked, NAMED_MAX)
        );
        return Err(Failure::new("git.dirty", what).with_hint(
            "commit them, or name in `.gitignore` what is of no use to others, then run again",
        ));
    }
    if !untracked.is_empty() {
        tell(Notice::Warning(&format!(
            "git does not track these, and no lane has them: {}",
            list_first(&untracked, NAMED_MAX)
        )));
    }
    Ok(())
}

/// Refuses an agent whose program no lane will have: one by a path in the project that
/// is in no commit. What is copied or made there is seen when it is started.
fn refuse_missing_agent_program(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
) -> Result<(), Failure> {
    let project = &session.project;
    let may_be_made = job.config.workspace.setup.is_some() || has_include_file(&project.work_tree);
    let launch = agents::preflight_options(job.model.as_deref());
    let mut programs = Vec::new();
    for agent in &job.agents {
        programs.extend(agents::relative_program(&*agent.program, &launch)?);
    }
    let tip = row
        .branches
        .target
        .as_ref()
        .map(|target| target.tip.as_str());
    let is_missing = |program: &String| {
        let mut begins = tip.into_iter().chain(["HEAD"]);
        !begins.any(|at| git::is_in_commit(&project.root, at, program))
    };
    let Some(program) = programs
        .into_iter()
        .find(|program| !may_be_made && is_missing(program))
    else {
        return Ok(());
    };
    let whole: PathBuf = project.root.join(&program).components().collect();
    Err(Failure::new(
        "agent.cannot_start",
        format!("the agent cannot be started: `{program}` is in no lane, for it is not in the commit at which they begin"),
    )
    .with_hint(format!(
        "commit it, or name it by its whole path: `--agent {}`; nothing was started",
        quote_word(&whole.to_string_lossy())
    )))
}

/// Begins to work on a run in lanes, or goes on with it: its branch, which is made
/// where it is not there yet, and the pool.
pub(super) fn enter_lanes(
    session: &Session<'_>,
    job: &RunnerJob,
    token: u64,
    begins: Option<TargetRow>,
    goal: WorkGoal,
) -> Result<RunLanes, Failure> {
    let (project, run) = (&session.project, job.run);
    let row = load_run_row(session, run)?;
    let trees = open_repository_trees(session, job, &row)?;
    let own = TargetRepository {
        name: None,
        main: &project.work_tree,
    };
    let target = enter_target(session, &row, token, own, begins)?;
    for (name, tree) in &trees {
        let is_new = row.target_in_repository(Some(name)).is_none();
        if is_new && goal == WorkGoal::PullRequests {
            refuse_without_pull_requests(tree)?;
        }
        let other = TargetRepository {
            name: Some(name),
            main: tree,
        };
        enter_target(session, &row, token, other, None)?;
    }
    let known = row.plan.policy.repositories.as_ref();
    let (check, checks) = job.config.merge_checks(known);
    let terms = LaneTerms {
        check: check.map(Box::new),
        checks,
        review: job.config.merge.review || goal == WorkGoal::Review,
        pull_requests: goal == WorkGoal::PullRequests,
    };
    // A runner that only settles what was left does not decide how the work goes on.
    if job.aim == RunAim::Work || row.branches.lanes.is_none() {
        let terms = Box::new(terms);
        let command = Command::EnterLanes { run, token, terms };
        session.commit(&command, &runner_facts(session))?;
    }
    if target.path.is_some() {
        // A process that finds it detached knows by now that the run is in lanes.
        if job.worktree.is_some() {
            worktree::detach_worktree(project, &row, &target)?;
        }
        advance_to_branch(session, run, token, target)?;
    }
    let pool =
        Pool::open_for_run(project, &job.config, known, &job.trust).map_err(failure_of_lane)?;
    Ok(RunLanes::new(pool, &trees))
}

/// The other repositories in which a run goes on. One in which nothing is left to be done
/// may be gone, and a runner that only settles what was left begins nothing in any.
fn open_repository_trees(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
) -> Result<RepositoryWorkTrees, Failure> {
    let project = &session.project;
    let each = match (try_work_trees_of_run(session.world, project, row), job.aim) {
        (Err(_), RunAim::Settle) => return Ok(RepositoryWorkTrees::new()),
        (each, _) => each?,
    };
    let rows = session.load(&[Need::Tree(row.id)])?;
    let open = rows.tables.tree(row.id);
    let open = open.filter(|item| !item.state.is_finished());
    let needed: BTreeSet<&str> = open
        .filter_map(|item| rows.tables.repository_of(item))
        .collect();
    let mut trees = RepositoryWorkTrees::new();
    for (name, tree) in each {
        let is_needed = needed.contains(&*name) && job.aim != RunAim::Settle;
        match tree {
            Ok(tree) => drop(trees.insert(name, tree)),
            Err(failure) if is_needed => return Err(failure),
            Err(_) => {}
        }
    }
    Ok(trees)
}

fn load_run_row(session: &Session<'_>, run: RunId) -> Result<RunRow, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    require_run(rows.tables.run(run))
}

/// A repository in which a run has a target.
#[derive(Clone, Copy)]
struct TargetRepository<'a> {
    /// Its name in the plan; none for the repository of the project.
    name: Option<&'a str>,
    /// Its main work tree.
    main: &'a Path,
}

/// The target in a repository, of which this is a work tree: its branch is made where it
/// is not there yet, and taken along to what is checked out where that has all of it.
fn enter_target(
    session: &Session<'_>,
    row: &RunRow,
    token: u64,
    at: TargetRepository<'_>,
    begins: Option<TargetRow>,
) -> Result<TargetRow, Failure> {
    let run = row.id;
    let TargetRepository {
        name: repository,
        main,
    } = at;
    let other = repository.map(|_| main);
    let known = row.target_in_repository(repository);
    let target = match known {
        Some(target) => target.clone(),
        None => {
            if repository.is_some() {
                refuse_uncommitted_changes(main)?;
            }
            let chosen = begins.map_or_else(|| new_target(main, row, repository), Ok);
            let target = chosen?;
            let command = Command::TargetRun {
                repository: repository.map(str::to_owned),
                run,
                token,
                target: Box::new(target.clone()),
            };
            session.commit(&command, &runner_facts(session))?;
            target
        }
    };
    failpoint::point("target.recorded");
    // That of the plan's own worktree is let go before anything is merged.
    if target.path.is_none() {
        refuse_checked_out(main, other, &target)?;
    }
    let target = match known.is_none() || target.path.is_some() {
        true => target,
        false => advance_to_head(session, row, token, at, target)?,
    };
    let name = format!("refs/heads/{}", target.branch);
    if target.tip == target.base && git::read_ref(main, &name)?.is_none() {
        let step = RefStep {
            from: None,
            to: Some(&target.base),
        };
        let (mark, stop) = (
            commit_mark(run, &Node::from_text("target")),
            StopHandle::default(),
        );
        let by = GitControl {
            mark: &mark,
            stop: &stop,
        };
        if let RefMove::Elsewhere(at) = git::move_ref(main, &name, step, &by)? {
            return Err(target_moved_failure(other, &target, at));
        }
    }
    Ok(target)
}

/// Refuses another repository in which no lane can begin: at its commit, without what is
/// in none.
fn refuse_uncommitted_changes(main: &Path) -> Result<(), Failure> {
    git::refuse_without_identity(main, true)?;
    let changes = git::tracked_changes(main, &[])?;
    if changes.is_empty() {
        return Ok(());
    }
    let shown = quote_word(&main.to_string_lossy()).into_owned();
    Err(Failure::new(
        "git.dirty",
        format!(
            "work in {} begins at the commit that is checked out there, and these have changes that are in none: {}",
            main.display(),
            list_first(&changes, NAMED_MAX)
        ),
    )
    .with_hint(format!(
        "commit them or put them aside with `git -C {shown} stash`, then run again"
    )))
}

/// Begins at what the branch of the plan's own worktree has by now: what was done in
/// place before, and what a person committed there.
fn advance_to_branch(
    session: &Session<'_>,
    run: RunId,
    token: u64,
    target: TargetRow,
) -> Result<(), Failure> {
    let main = &session.project.root;
    let at = git::read_ref(main, &format!("refs/heads/{}", target.branch))?;
    let Some(at) = at.filter(|at| *at != target.tip) else {
        return Ok(());
    };
    if !git::is_built_on(main, &at, &target.tip)? {
        return Ok(());
    }
    let target = Box::new(TargetRow {
        base: at.clone(),
        tip: at,
        ..target
    });
    let command = Command::TargetRun {
        run,
        token,
        repository: None,
        target,
    };
    session.commit(&command, &runner_facts(session))?;
    Ok(())
}

/// Takes the branch of a run along to the one that it is for, where that is checked out and
/// has all that was merged: the work has landed, and further work begins there.
fn advance_to_head(
    session: &Session<'_>,
    row: &RunRow,
    token: u64,
    at: TargetRepository<'_>,
    target: TargetRow,
) -> Result<TargetRow, Failure> {
    let run = row.id;
    let TargetRepository {
        name: repository,
        main,
    } = at;
    let plan = PlanFile::path_of_run(row).and_then(|path| session.project.path_in_work_tree(&path));
    let plan = plan.filter(|_| repository.is_none());
    let name = format!("refs/heads/{}", target.branch);
    let (Some(head), at) = (git::head_commit(main)?, git::read_ref(main, &name)?) else {
        return Ok(target);
    };
    let is_whole = match &at {
        Some(at) => git::is_built_on(main, at, &target.tip)?,
        None => false,
    };
    let work = at.as_ref().filter(|_| is_whole).unwrap_or(&target.tip);
    let is_at_head = at.as_ref() == Some(&head) && head == target.tip;
    // A checkout of another branch does not mean that the run is for that one.
    let here = git::read_checkout(main).and_then(|here| here.branch);
    let is_for_it = target.onto.is_none() || target.onto == here;
    if is_at_head || !is_for_it || !git::has_work_of(main, &head, work, plan.as_deref())? {
        // Nothing was merged yet, and the branch is made again.
        let is_new = at.is_none() && target.tip == target.base;
        return match is_whole || is_new {
            true => Ok(target),
            false => Err(target_moved_failure(repository.map(|_| main), &target, at)),
        };
    }
    let (mark, stop) = (
        commit_mark(run, &Node::from_text("target")),
        StopHandle::default(),
    );
    let by = GitControl {
        mark: &mark,
        stop: &stop,
    };
    let step = RefStep {
        from: at.as_deref(),
        to: Some(&head),
    };
    if git::move_ref(main, &name, step, &by)? != RefMove::Moved {
        return Ok(target);
    }
    failpoint::point("target.followed");
    let target = TargetRow {
        base: head.clone(),
        tip: head,
        onto: here.or(target.onto),
        ..target
    };
    let command = Command::TargetRun {
        repository: repository.map(str::to_owned),
        run,
        token,
        target: Box::new(target.clone()),
    };
    session.commit(&command, &runner_facts(session))?;
    Ok(target)
}

/// The target of a run that has none yet in a repository. In another one the branch is
/// called by the run's own id as well: runs of other projects may have its name there.
pub(super) fn new_target(
    main: &Path,
    row: &RunRow,
    repository: Option<&str>,
) -> Result<TargetRow, Failure> {
    let here = git::read_checkout(main).and_then(|here| here.branch);
    let base = git::head_commit(main)?.ok_or_else(|| {
        let what = format!(
            "the repository in {} has no commit to begin at",
            main.display()
        );
        Failure::new("git.no_commit", what).with_hint("make a first commit there, then run again")
    })?;
    let named = format!(
        "piton/{}",
        sanitize_ref_name(&row.name_in_repository(repository))
    );
    let mut branch = named.clone();
    for nth in 2.. {
        if git::read_ref(main, &format!("refs/heads/{branch}"))?.is_none() {
            break;
        }
        branch = format!("{named}-{nth}");
    }
    Ok(TargetRow {
        branch,
        tip: base.clone(),
        base,
        onto: here,
        path: None,
        was_there: false,
        merged: 0,
    })
}

impl Runner<'_, '_> {
    /// The lane in which an item is worked on; none where that is the place of the
    /// run.
    pub(super) fn lane_of_item(&self, node: &Node) -> Option<&HeldLane> {
        self.lanes.as_ref()?.lane_of_item(node)
    }

    /// Notes where the units are that a former runner left in their lanes: what
    /// came of their attempts is looked for there.
    pub(super) fn restore_held_lanes(&mut self) {
        let Some(lanes) = &self.lanes else {
            return;
        };
        let row = self.lp.run().and_then(|row| row.branches.lanes.as_ref());
        for (number, node) in row.iter().flat_map(|lanes| &lanes.held) {
            let held = lanes.units.get(node);
            if held.is_some_and(|held| held.lane.number == *number) {
                continue;
            }
            let Some(pool) = self.pool_of_unit(node) else {
                continue;
            };
            let project = Project {
                work_tree: pool.tree_of_lane(*number),
                ..self.session.project.clone()
            };
            let is_of_other = pool.repository_name().is_some();
            if project.work_tree.is_dir() {
                let mut site = Site::of_project(project);
                site.is_of_other = is_of_other;
                self.work.sites.assign_site(node.clone(), site);
            }
        }
    }

    /// Lets go of lanes that units have no more.
    pub(super) fn release_left_lanes(&mut self, events: &[DecodedRecord]) {
        let Some(lanes) = &mut self.lanes else {
            return;
        };
        for recorded in events {
            if let Event::Unit(
                UnitEvent::LaneLeft { node, .. } | UnitEvent::MergeQueued { node, .. },
            ) = &recorded.event
            {
                lanes.units.remove(node);
                self.work.sites.unassign_item(node);
            }
        }
    }

    /// Refuses a lane that is gone, or no worktree of the repository any more: what
    /// was done there is lost.
    pub(super) fn refuse_lost_lane(&self, node: &Node) -> Result<(), Failure> {
        let Some(held) = self.lane_of_item(node) else {
            return Ok(());
        };
        match git::worktree_state(&self.main_tree_of_item(node), &held.lane.tree) {
            WorktreeState::Sound { .. } => Ok(()),
            WorktreeState::Absent | WorktreeState::Broken => {
                Err(lost_lane_failure(&held.lane.tree))
            }
        }
    }

    /// Makes a lane again that was lost, before the next attempt in it.
    pub(super) fn recreate_lane(&mut self, node: &Node) -> Result<(), Failure> {
        if self.refuse_lost_lane(node).is_ok() {
            return Ok(());
        }
        let unit = unit_of_node(node);
        let hold = self.hold_of_unit(&unit);
        let held = self.lane_of_item(node).cloned();
        let Some(((hold, _), held)) = hold.zip(held) else {
            return Ok(());
        };
        let Some(pool) = self.pool_of_unit(&unit) else {
            return Ok(());
        };
        let (mark, stop) = (commit_mark(self.row.id, &unit), StopHandle::default());
        let order = LanePreparation {
            taken: &self.lane_taking(&unit, hold.fence),
            from: &hold.from,
            start: LaneStart::Clean,
            marks: &[],
            recorded: &[],
            by: &GitControl {
                mark: &mark,
                stop: &stop,
            },
            redactor: &self.session.world.redactor(),
        };
        pool.prepare_lane(&held.lane, &order)
            .map_err(failure_of_lane)?;
        if let Some(plan) = self.plan_path_in_lane(&unit) {
            let seen = pool.last_read_plan(held.lane.number);
            seen.record_initial(&held.lane.tree.join(plan))
                .map_err(failure_of_lane)?;
        }
        Ok(())
    }

    /// Takes in what an attempt, or what it wrote, has changed in the plan file of
    /// its lane, where git tracks that file.
    pub(super) fn import_plan_from_lane(
        &mut self,
        node: &Node,
        attempt: AttemptId,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let unit = unit_of_node(node);
        let hold = self.hold_of_unit(&unit);
        let pool = self.pool_of_unit(&unit);
        let (Some((hold, _)), Some(pool), Some(plan)) = (hold, pool, self.plan_path_in_lane(&unit))
        else {
            return Ok(());
        };
        let seen = pool.last_read_plan(hold.lane);
        let now = read_plan_file(&pool.tree_of_lane(hold.lane).join(plan));
        let Some((base, now)) = seen.read().zip(now) else {
            return Ok(());
        };
        if base.as_bytes() == now {
            return Ok(());
        }
        // A runner that joined keeps no file, and knows what one says all the same.
        let mut opened = match self.plan_sync {
            Some(_) => None,
            None => open_plan_sync(self.session, &self.row, self.lp.tables(), tell),
        };
        let Some(plan_sync) = self.plan_sync.as_mut().or(opened.as_mut()) else {
            return Ok(());
        };
        let copy = LanePlanCopy {
            taken: (&unit, hold.fence),
            attempt,
            base: &base,
            now: &now,
        };
        let looked = plan_sync.import_from_lane(self.session, self.lp.token(), &copy)?;
        // What nothing was taken of is no version that later ones go by.
        if !looked.is_passed_over {
            seen.write(&now).map_err(failure_of_lane)?;
        }
        failpoint::point("unit.plan-seen");
        FileNotice::emit_all(&looked.news, tell);
        Ok(())
    }

    /// The file of the plan, by its path in the work tree, where git tracks it: then
    /// each lane has a copy of it.
    fn tracked_plan_path(&self) -> Option<String> {
        let project = &self.session.project;
        let path = PlanFile::path_of_run(&self.row)?;
        let is_tracked = project.is_tracked(&path);
        project.path_in_work_tree(&path).filter(|_| is_tracked)
    }

    /// The same of the lane of a unit: one of another repository has no copy.
    fn plan_path_in_lane(&self, unit: &Node) -> Option<String> {
        self.tracked_plan_path()
            .filter(|_| self.repository_of_item(unit).is_none())
    }

    /// The repository in which an item is worked on; none is that of the project.
    pub(super) fn repository_of_item(&self, node: &Node) -> Option<String> {
        let tables = self.lp.tables();
        let item = tables.item(self.row.id, node)?;
        tables.repository_of(item).map(str::to_owned)
    }

    /// The pool that the lane of an item is of.
    pub(super) fn pool_of_unit(&self, node: &Node) -> Option<&Pool> {
        let repository = self.repository_of_item(node);
        self.lanes
            .as_ref()?
            .pool_of_repository(repository.as_deref())
    }

    /// A work tree of the repository of an item, in which git is asked.
    pub(super) fn main_tree_of_item(&self, node: &Node) -> PathBuf {
        let own = &self.session.project.work_tree;
        self.pool_of_unit(node)
            .map_or_else(|| own.clone(), |pool| pool.main_work_tree().to_owned())
    }

    /// The same where that is not the one of the project.
    pub(super) fn other_tree_of_item(&self, node: &Node) -> Option<PathBuf> {
        let repository = self.repository_of_item(node);
        repository.map(|_| self.main_tree_of_item(node))
    }

    /// The branch that the work on an item goes to, as the loop knows it.
    pub(super) fn target_of_item(&self, node: &Node) -> Option<TargetRow> {
        let repository = self.repository_of_item(node);
        self.lp
            .run()?
            .target_in_repository(repository.as_deref())
            .cloned()
    }

    /// Under what the commit of an item in a lane is kept.
    pub(super) fn commit_ref_order(&self, node: &Node) -> Option<CommitRefOrder> {
        self.lane_of_item(node)?;
        let unit = unit_of_node(node);
        let (hold, _) = self.hold_of_unit(&unit)?;
        Some(CommitRefOrder {
            main: self.main_tree_of_item(&unit),
            kept: self.current_unit_ref(&unit),
            from: hold.from,
            tip: self.target_of_item(&unit)?.tip,
        })
    }

    /// The lane that the journal gives to a unit, and whether its unit was worked
    /// on in it: what is in it is work then.
    fn hold_of_unit(&self, unit: &Node) -> Option<(LaneHold, bool)> {
        let tables = self.lp.tables();
        let item = tables.item(self.row.id, unit)?;
        let hold = item.lane()?.clone();
        let attempts: u32 = tables.items_of_unit(item).map(|item| item.attempts).sum();
        let is_used = attempts > hold.attempts;
        Some((hold, is_used))
    }

    /// Chooses a lane for a unit: the one that it has by the journal, or a free one.
    pub(super) fn choose_lane(
        &mut self,
        node: &Node,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        let hold = self.hold_of_unit(node);
        if let Some(lost) = self.find_lost_lane(node, hold.as_ref()) {
            return self.record_lost_work(node, &lost, tell);
        }
        // Nothing is under way yet that could end with it.
        let (lane, saved) = self.choose_lane_of_unit(node, hold)?;
        let number = lane.number;
        if let Some(lanes) = &mut self.lanes {
            lanes.units.insert(node.clone(), HeldLane::new(lane));
        }
        failpoint::point("unit.lane-chosen");
        let command = Command::TakeLane {
            run: self.row.id,
            token: self.lp.token(),
            node: node.clone(),
            lane: number,
            saved,
        };
        let inputs = self.commit_command(&command)?;
        let is_refused = |input: &Input| matches!(input, Input::Refused(_));
        // Another runner took the unit first: the lane is free again.
        if inputs.iter().any(is_refused)
            && let Some(lanes) = &mut self.lanes
        {
            lanes.units.remove(node);
        }
        Ok(inputs)
    }

    /// Notes that what was done for a unit is gone, in the place of what was to be
    /// begun there.
    pub(super) fn record_lost_work(
        &mut self,
        node: &Node,
        lost: &Failure,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        tell(Notice::Warning(&describe_lost_work(node, lost)));
        let (run, token) = (self.row.id, self.lp.token());
        let item = self.lp.tables().item(run, node);
        let fence = item.map_or(0, |item| item.fence);
        self.commit_command(&Command::LoseWork {
            run,
            token,
            node: node.clone(),
            fence,
            why: lost.to_string(),
        })
    }

    /// A lane that was worked in under an earlier runner and is gone. One that git
    /// does not know any more has its files, and is repaired.
    fn find_lost_lane(&self, node: &Node, hold: Option<&(LaneHold, bool)>) -> Option<Failure> {
        let (hold, _) = hold.filter(|(_, is_used)| *is_used)?;
        let tree = self.pool_of_unit(node)?.tree_of_lane(hold.lane);
        if self.was_reused_by_other_run(&tree) {
            return None;
        }
        let is_gone =
            git::worktree_state(&self.main_tree_of_item(node), &tree) == WorktreeState::Absent;
        is_gone.then(|| lost_lane_failure(&tree))
    }

    /// Whether another run has used a lane since: this one was done, and had left
    /// nothing in it.
    fn was_reused_by_other_run(&self, tree: &Path) -> bool {
        run_of_tree(tree).is_some_and(|run| run != self.row.id.to_string())
    }

    fn choose_lane_of_unit(
        &self,
        node: &Node,
        hold: Option<(LaneHold, bool)>,
    ) -> Result<(Lane, Option<String>), Failure> {
        let Some(pool) = self.pool_of_unit(node) else {
            return Err(Failure::new("run.state", "this run has no lanes here"));
        };
        let Some((hold, is_used)) = hold else {
            let own = match self.lane_of_conversation(node, pool)? {
                None => self.lane_with_left_repository(node, pool)?,
                own => own,
            };
            let lane = own.map_or_else(|| self.take_free_lane(node, pool), Ok)?;
            return Ok((lane, None));
        };
        if self.was_reused_by_other_run(&pool.tree_of_lane(hold.lane)) {
            return Ok((self.take_free_lane(node, pool)?, None));
        }
        if let Some(lane) = pool.reacquire(hold.lane).map_err(failure_of_lane)? {
            return Ok((lane, None));
        }
        // A process that was stopped still has it: what is in it is saved from here.
        let lane = self.take_free_lane(node, pool)?;
        let tree = pool.tree_of_lane(hold.lane);
        if !is_used {
            return Ok((lane, None));
        }
        let order = self.save_order(node, &hold, &tree, &[]);
        let stop = StopHandle::default();
        let saved = order.carry_out(&GitControl {
            mark: &commit_mark(self.row.id, node),
            stop: &stop,
        })?;
        Ok((lane, saved))
    }

    /// The lane in which the conversation with the agent of a unit was held, where that
    /// is to go on and the lane is free.
    fn lane_of_conversation(&self, node: &Node, pool: &Pool) -> Result<Option<Lane>, Failure> {
        let unit = self.lp.tables().item(self.row.id, node);
        let own = unit.and_then(ItemRow::rejected_conversation);
        let Some(own) = own else {
            return Ok(None);
        };
        let lane = pool.acquire_number(own.lane, |used| {
            self.is_lane_free(pool, own.lane, used, node)
        });
        lane.map_err(failure_of_lane)
    }

    /// The lane in which a unit has left a repository, if that is free.
    fn lane_with_left_repository(&self, node: &Node, pool: &Pool) -> Result<Option<Lane>, Failure> {
        let of_unit = self.lane_taking(node, 0);
        let is_own = |used: &LaneRecord| {
            used.keeps
                .as_ref()
                .is_some_and(|by| by.is_same_unit(&of_unit))
        };
        for (number, used) in pool.list_lanes().map_err(failure_of_lane)? {
            if !used.as_ref().is_some_and(is_own) {
                continue;
            }
            let is_free = |used: Option<&LaneRecord>| {
                used.is_some_and(is_own) && self.is_lane_free(pool, number, used, node)
            };
            let lane = pool
                .acquire_number(number, is_free)
                .map_err(failure_of_lane)?;
            if lane.is_some() {
                return Ok(lane);
            }
        }
        Ok(None)
    }

    /// The free lane with the lowest number: no unit of any run has it, and none but
    /// this one has left a repository in it.
    pub(super) fn take_free_lane(&self, node: &Node, pool: &Pool) -> Result<Lane, Failure> {
        let lane = pool.acquire(|number, used| self.is_lane_free(pool, number, used, node));
        lane.map_err(failure_of_lane)
    }

    /// Whether a repository lies in a lane that the next unit would lose, or would find
    /// in its work. One that cannot be asked about is left alone.
    fn has_kept_repository(&self, pool: &Pool, number: u32) -> bool {
        let tree = pool.tree_of_lane(number);
        let state = git::worktree_state(pool.main_work_tree(), &tree);
        let row = self.lp.run();
        let target = row.and_then(|row| row.target_in_repository(pool.repository_name()));
        let (WorktreeState::Sound { .. }, Some(target)) = (state, target) else {
            return false;
        };
        let kept = git::unsaved_repositories(&tree, &target.tip);
        !kept.is_ok_and(|kept| kept.is_empty())
    }

    /// Whether a unit may have a lane: no unit of any run has it, by the journal, and
    /// none but this one has left a repository in it. Git is asked only where one did.
    fn is_lane_free(
        &self,
        pool: &Pool,
        number: u32,
        used: Option<&LaneRecord>,
        node: &Node,
    ) -> bool {
        let held = self.lp.run().and_then(|row| row.branches.lanes.as_ref());
        if held.is_some_and(|lanes| lanes.held.contains_key(&number)) {
            return false;
        }
        let Some(used) = used else {
            return true;
        };
        let unit = self.lane_taking(node, 0);
        let is_others = used
            .keeps
            .as_ref()
            .is_some_and(|by| !by.is_same_unit(&unit));
        let is_kept = is_others && self.has_kept_repository(pool, number);
        !is_kept && !self.is_lane_of_other_run(pool, number, &used.taken)
    }

    /// Whether a unit of another run has a lane, by the journal.
    fn is_lane_of_other_run(&self, pool: &Pool, number: u32, taken: &LaneOccupant) -> bool {
        let Ok(run) = taken.run.parse::<RunId>() else {
            return false;
        };
        if run == self.row.id {
            return false;
        }
        // A lane that cannot be asked about is left alone.
        let Ok(rows) = self.session.load(&[Need::Run(run)]) else {
            return true;
        };
        let Some(row) = rows.tables.run(run) else {
            return false;
        };
        let is_held = row.branches.lanes.as_ref();
        if !is_held.is_some_and(|lanes| lanes.held.contains_key(&number)) {
            return false;
        }
        // Of one that is done a person may have marked what was begun there.
        let tree = pool.tree_of_lane(number);
        let unmerged = || unmerged_work_in_lane(self.session, row, number, &tree);
        row.state != RunState::Done || !matches!(unmerged(), Ok(None))
    }

    /// Makes the lane of a unit ready, beside the runner.
    pub(super) fn prepare_lane(&mut self, node: &Node) -> Vec<Input> {
        let held = self.lane_of_item(node).cloned();
        let hold = self.hold_of_unit(node).zip(held);
        let of_run = self.pool_of_unit(node).zip(self.target_of_item(node));
        let (Some(((hold, is_used), held)), Some((pool, target))) = (hold, of_run) else {
            let (node, end) = (node.clone(), LaneEnd::Stopped);
            return vec![Input::LaneEnded { node, end }];
        };
        let (pool, tip) = (pool.clone(), target.tip);
        let item = self.lp.tables().item(self.row.id, node);
        let merge = item.and_then(ItemRow::merge);
        let shows_both_sides = merge.is_some_and(MergeRow::needs_both_sides);
        let taken = self.lane_taking(node, hold.fence);
        let redactor = self.session.world.redactor();
        let own = self.native_file_paths_at(node);
        let plan = self.plan_path_in_lane(node);
        let start = match is_used {
            true => LaneStart::AsLeft,
            false => LaneStart::Clean,
        };
        self.start_git_calls(node, commit_mark(self.row.id, node), move |by| {
            let is_begun = start == LaneStart::AsLeft && held.lane.tree.is_dir();
            let order = LanePreparation {
                taken: &taken,
                from: &hold.from,
                start,
                marks: &[],
                recorded: &[],
                by,
                redactor: &redactor,
            };
            let prepared = pool.prepare_lane(&held.lane, &order);
            let with_both = prepared.and_then(|prepared| {
                match start {
                    LaneStart::Clean if shows_both_sides => {
                        git::begin_merge(&held.lane.tree, &tip, &own, by)?;
                        git::reopen_saved_work_in_merge(&held.lane.tree, &hold.from, by)?;
                        failpoint::point("unit.both-sides");
                    }
                    LaneStart::Clean => {
                        git::reopen_saved_work(&held.lane.tree, &hold.from, &tip, &own, by)?;
                        failpoint::point("unit.opened");
                    }
                    LaneStart::AsLeft => {}
                }
                if let Some(plan) = plan.filter(|_| !is_begun) {
                    let seen = pool.last_read_plan(held.lane.number);
                    seen.record_initial(&held.lane.tree.join(plan))?;
                }
                Ok(prepared)
            });
            GitCallEnd::Prepared(with_both.map_err(failure_of_lane))
        });
        Vec::new()
    }

    pub(super) fn handle_prepared_lane(
        &mut self,
        node: Node,
        prepared: Result<PreparedLane, Failure>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Input {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => return self.record_lane_fault(&node, failure),
        };
        for warning in &prepared.warnings {
            tell(Notice::Warning(warning));
        }
        let is_of_other = self.repository_of_item(&node).is_some();
        let lanes = self.lanes.as_mut();
        if let Some(held) = lanes.and_then(|lanes| lanes.units.get_mut(&node)) {
            let project = Project {
                work_tree: held.lane.tree.clone(),
                ..self.session.project.clone()
            };
            let mut site = Site::of_project(project);
            site.is_of_other = is_of_other;
            site.env.clone_from(&prepared.env);
            site.left_out.clone_from(&prepared.included);
            held.prepared = Some(Arc::new(prepared));
            self.work.sites.assign_site(node.clone(), site);
        }
        let end = LaneEnd::Prepared;
        Input::LaneEnded { node, end }
    }

    /// Keeps in a commit what is in the lane of a unit, beside the runner.
    pub(super) fn save_work(
        &mut self,
        node: &Node,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Vec<Input> {
        let nothing = |saved| Input::LaneEnded {
            node: node.clone(),
            end: LaneEnd::Saved(saved),
        };
        let held = self.lane_of_item(node).cloned();
        let Some(((hold, is_used), held)) = self.hold_of_unit(node).zip(held) else {
            return vec![nothing(None)];
        };
        if !is_used {
            return vec![nothing(None)];
        }
        if let Err(lost) = self.refuse_lost_lane(node) {
            return vec![self.report_lost_work(node, &lost, tell)];
        }
        let order = self.save_order(node, &hold, &held.lane.tree, &held.included_files());
        self.start_git_calls(node, commit_mark(self.row.id, node), move |by| {
            GitCallEnd::Saved(order.carry_out(by))
        });
        Vec::new()
    }

    pub(super) fn handle_saved_work(
        &mut self,
        node: Node,
        saved: Result<Option<String>, Failure>,
    ) -> Input {
        match saved {
            Ok(saved) => Input::LaneEnded {
                node,
                end: LaneEnd::Saved(saved),
            },
            Err(failure) => self.record_lane_fault(&node, failure),
        }
    }

    fn save_order(
        &self,
        node: &Node,
        hold: &LaneHold,
        tree: &Path,
        included: &[String],
    ) -> SaveOrder {
        SaveOrder {
            main: self.main_tree_of_item(node),
            tree: tree.to_owned(),
            from: hold.from.clone(),
            own: self.non_agent_files_at(node),
            without: included.to_vec(),
            message: format!("{}: work on {}", self.prompts.sprint_id, node),
            kept: self.current_unit_ref(node),
        }
    }

    /// The ref under which the work of a unit is kept.
    pub(super) fn ref_of_unit(&self, unit: &Node) -> String {
        let repository = self.repository_of_item(unit);
        let row = self.lp.run().unwrap_or(&self.row);
        unit_ref(&unit_ref_folder(row, repository.as_deref()), unit)
    }

    /// The ref of a unit, as it stood when this runner was one of the run's.
    fn current_unit_ref(&self, unit: &Node) -> Result<UnitRef, Failure> {
        let name = self.ref_of_unit(unit);
        // In this order: a runner that gave this one up keeps what it finds afterwards.
        let at = git::read_ref(&self.main_tree_of_item(unit), &name)?;
        let rows = self.session.load(&[Need::Run(self.row.id)])?;
        let row = rows.tables.run(self.row.id);
        if row.is_some_and(|row| row.has_runner(self.lp.token())) {
            return Ok(UnitRef { name, at });
        }
        let name = self.row.name.clone();
        Err(Refusal::Fenced { name }.into())
    }

    /// A lane cannot be had: the invocation ends with the failure.
    pub(super) fn record_lane_fault(&mut self, node: &Node, failure: Failure) -> Input {
        let end = LaneEnd::Fault(failure.message.clone());
        self.fault.get_or_insert(failure);
        Input::LaneEnded {
            node: node.clone(),
            end,
        }
    }

    /// Who takes a lane, as it is noted beside it.
    pub(super) fn lane_taking(&self, unit: &Node, token: u64) -> LaneOccupant {
        LaneOccupant {
            run: self.row.id.to_string(),
            unit: unit.to_string(),
            token,
        }
    }

    /// The branch that the work goes to, as the loop knows it.
    pub(super) fn run_target(&self) -> Option<TargetRow> {
        self.lp.run()?.branches.target.as_deref().cloned()
    }

    /// The files that piton writes itself: that of the plan, and those of the project.
    fn native_file_paths(&self) -> OwnPaths {
        let project = &self.session.project;
        let plan = PlanFile::path_of_run(&self.row).map(|path| project.absolute_path(&path));
        let rows = self.session.load(&[Need::Faces]);
        let faces: Vec<PathBuf> = rows.map_or_else(
            |_| Vec::new(),
            |rows| {
                let on = rows.tables.native_files().filter(|row| row.on);
                on.map(|row| project.root.join(&row.path)).collect()
            },
        );
        // A worktree of the plan's own has copies of them.
        let inner = |path: &PathBuf| {
            let inner = path.strip_prefix(&project.work_tree);
            let inner = inner.or_else(|_| path.strip_prefix(&project.root)).ok()?;
            inner.to_str().map(str::to_owned)
        };
        OwnPaths {
            plans: plan.iter().filter_map(inner).collect(),
            natives: faces.iter().filter_map(inner).collect(),
        }
    }

    /// The same, of the repository of an item: another one than the project's has none.
    pub(super) fn native_file_paths_at(&self, node: &Node) -> OwnPaths {
        match self.repository_of_item(node) {
            None => self.native_file_paths(),
            Some(_) => OwnPaths::default(),
        }
    }

    /// The files of the work tree of an item that are none of an agent's work.
    pub(super) fn non_agent_files_at(&self, node: &Node) -> Vec<git::OwnFilePrefix> {
        match self.repository_of_item(node) {
            None => self.non_agent_files(),
            Some(_) => Vec::new(),
        }
    }
}

/// Takes away the refs of work that is on the target, where the last runner of a run
/// in lanes has ended. A death before that, or in it, leaves them to the next end.
pub(crate) fn drop_merged_refs(session: &Session<'_>, run: RunId) {
    if let Err(failure) = try_drop_merged_refs(session, run) {
        tracing::info!(%failure, "the refs of merged work could not be removed");
    }
}

fn try_drop_merged_refs(session: &Session<'_>, run: RunId) -> Result<(), Failure> {
    let rows = session.load(&[Need::Run(run), Need::Tree(run)])?;
    let Some(row) = rows
        .tables
        .run(run)
        .filter(|row| row.branches.lanes.is_some())
    else {
        return Ok(());
    };
    if !is_without_runners(&session.project, row) {
        return Ok(());
    }
    let is_merged = |item: &&ItemRow| {
        let unit = item.work.unit.as_deref();
        let waits =
            |unit: &UnitRow| unit.work.is_some() || unit.merge.is_some() || unit.lane.is_some();
        item.state == ItemState::Done && unit.is_some_and(|unit| !waits(unit))
    };
    let merged: Vec<&ItemRow> = rows.tables.items(run).filter(is_merged).collect();
    let (mark, stop) = (
        commit_mark(run, &Node::from_text("refs")),
        StopHandle::default(),
    );
    let by = GitControl {
        mark: &mark,
        stop: &stop,
    };
    failpoint::point("unit.before-refs-dropped");
    drop_unit_refs(&session.project.work_tree, None, row, &merged, &by)?;
    for (name, tree) in work_trees_of_run(session.world, &session.project, row)? {
        drop_unit_refs(&tree, Some(&name), row, &merged, &by)?;
    }
    Ok(())
}

/// Takes away the refs under which the work of these units was kept. One in the former
/// folder, or in another repository, may be another run's, unless the target or the unit
/// has its commit.
pub(crate) fn drop_unit_refs(
    main: &Path,
    repository: Option<&str>,
    row: &RunRow,
    units: &[&ItemRow],
    by: &GitControl<'_>,
) -> Result<(), Failure> {
    let (folder, former) = (
        unit_ref_folder(row, repository),
        former_unit_ref_folder(row),
    );
    let tip = row
        .target_in_repository(repository)
        .map(|target| &target.tip);
    let mut folders = vec![&folder];
    folders.extend(Some(&former).filter(|former| **former != folder));
    let mut dropped = Vec::new();
    for of in folders {
        let here = units
            .iter()
            .filter(|item| item.repository_of_work() == repository);
        let named = here.map(|item| (unit_ref(of, &item.node), item.work.unit.as_deref()));
        let units: BTreeMap<String, Option<&UnitRow>> = named.collect();
        for (name, at) in git::list_refs(main, of)? {
            let Some(unit) = units.get(&name) else {
                continue;
            };
            let has_it = || unit.is_some_and(|unit| unit.work.as_ref() == Some(&at));
            let is_merged =
                || tip.is_some_and(|tip| git::is_built_on(main, tip, &at).unwrap_or(false));
            let is_own = *of == folder && repository.is_none();
            if is_own || has_it() || is_merged() {
                dropped.push((name, at));
            }
        }
    }
    git::remove_refs(main, &dropped, by)
}

/// Under what a commit in a lane is kept.
pub(super) struct CommitRefOrder {
    main: PathBuf,
    kept: Result<UnitRef, Failure>,
    /// Where the work in the lane began.
    from: String,
    /// Where the target is.
    tip: String,
}

impl CommitRefOrder {
    /// Keeps what was committed; what the agent committed itself counts as well.
    pub(super) fn store_commit(
        self,
        tree: &Path,
        made: Result<Result<Option<String>, String>, Failure>,
        by: &GitControl<'_>,
    ) -> Result<Result<Option<String>, String>, Failure> {
        let made = match made? {
            Ok(Some(commit)) => Some(commit),
            Ok(None) => git::head_commit(tree)?.filter(|head| *head != self.from),
            Err(refused) => return Ok(Err(refused)),
        };
        // What was saved is committed anew, on what it was saved on.
        let from =
            git::base_of_saved_work(&self.main, &self.from)?.unwrap_or_else(|| self.from.clone());
        if let Some(commit) = &made
            && !git::is_built_on(&self.main, commit, &from)?
        {
            let why = format!("what is checked out in its lane, {commit}, was not built on {from}");
            return Ok(Err(why));
        }
        // Work that was refused for this once is what is saved, and begun at.
        let work = made.as_ref().unwrap_or(&self.from);
        if let Some(base) = git::merge_base(&self.main, &self.tip, work)?
            && let Some(moved) = git::moved_submodules(&self.main, &base, work)?.first()
        {
            return Ok(Err(describe_moved_submodule(tree, moved)));
        }
        // What is checked is to be what is committed.
        if let Some(path) = git::changed_submodules(tree)?.first() {
            return Ok(Err(describe_changed_submodule(tree, path)));
        }
        if let Some(commit) = &made {
            self.kept?.update_ref(&self.main, commit, by)?;
        }
        failpoint::point("unit.kept");
        Ok(Ok(made))
    }
}

/// Why the work of a unit is not queued: other lanes, and the check of a merge, would
/// not see what is in that repository, and it goes with its lane.
fn describe_moved_submodule(tree: &Path, moved: &MovedSubmodule) -> String {
    let path = &moved.path;
    let shown = tree.join(path);
    let shown = shown.display();
    let next = match &moved.from {
        Some(from) => {
            format!("leave it at {from}, and do what is to be done in it outside of this run")
        }
        None => {
            let history = tree.join(path).join(".git").display().to_string();
            let history = quote_word(&history);
            format!(
                "move its history out with `mv {history} FOLDER` and `git rm --cached {path}`, so that its files are committed with the others, or leave it out"
            )
        }
    };
    format!(
        "{shown} is a repository of its own, and what is done in it is not merged from a lane: {next}"
    )
}

/// The same where it is in no commit there.
fn describe_changed_submodule(tree: &Path, path: &str) -> String {
    let shown = tree.join(path);
    let shown = shown.display();
    format!(
        "{shown} is a repository of its own, and what is changed in it is not merged from a lane: take it back there, and do what is to be done in it outside of this run"
    )
}

/// What keeps the work in a lane.
pub(super) struct SaveOrder {
    main: PathBuf,
    tree: PathBuf,
    from: String,
    own: Vec<git::OwnFilePrefix>,
    without: Vec<String>,
    message: String,
    kept: Result<UnitRef, Failure>,
}

impl SaveOrder {
    fn carry_out(self, by: &GitControl<'_>) -> Result<Option<String>, Failure> {
        let excluded = git::ExcludedFiles {
            own: &self.own,
            files: &self.without,
        };
        let saved = git::save_work(&self.tree, &self.from, excluded, &self.message, by)?;
        let mut has_left =
            !saved.left_out.is_empty() || !git::changed_submodules(&self.tree)?.is_empty();
        if let Some(commit) = &saved.commit {
            has_left |= !git::moved_submodules(&self.tree, &self.from, commit)?.is_empty();
        }
        // A unit whose commit is refused for one is saved as well.
        if has_left {
            record_left_repository(&self.tree).map_err(failure_of_lane)?;
        }
        failpoint::point("unit.saved");
        if let Some(commit) = &saved.commit {
            self.kept?.update_ref(&self.main, commit, by)?;
        }
        Ok(saved.commit)
    }
}

/// The ref under which the work of a unit is kept, and what it was at when the runner
/// that is to move it was known to be one of the run's.
struct UnitRef {
    name: String,
    at: Option<String>,
}

impl UnitRef {
    /// Keeps a commit there. Where another runner moved the ref since, it gave this one
    /// up: what this one made is older than what is there.
    fn update_ref(&self, main: &Path, commit: &str, by: &GitControl<'_>) -> Result<(), Failure> {
        let step = RefStep {
            from: self.at.as_deref(),
            to: Some(commit),
        };
        match git::move_ref(main, &self.name, step, by)? {
            RefMove::Moved => Ok(()),
            RefMove::Elsewhere(at) => {
                let at = at.unwrap_or_else(|| "gone".to_owned());
                let what = format!("{} was moved meanwhile, and is {at}", self.name);
                let hint = "another runner went on with this run: see it with `piton status`";
                Err(Failure::new("run.fenced", what).with_hint(hint))
            }
        }
    }
}

/// What is said of work that is gone.
pub(super) fn describe_lost_work(node: &Node, lost: &Failure) -> String {
    format!("{lost}: {node} is worked on again")
}

fn lost_lane_failure(tree: &Path) -> Failure {
    let tree = tree.display();
    Failure::new(
        "worktree.gone",
        format!(
            "the lane {tree} is gone, or no worktree of this repository any more, and what was done in it is lost"
        ),
    )
}

/// Where the refs of the units of a run stand in a repository: by its branch there, which
/// no other run has. Names of runs may differ in nothing but what git refuses in a ref.
pub(crate) fn unit_ref_folder(row: &RunRow, repository: Option<&str>) -> String {
    let Some(target) = row.target_in_repository(repository) else {
        return former_unit_ref_folder(row);
    };
    ref_folder_of_branch(&target.branch)
}

/// The same, by that branch.
fn ref_folder_of_branch(branch: &str) -> String {
    match branch.strip_prefix("piton/") {
        Some(name) => format!("refs/piton/{}/", sanitize_ref_name(name)),
        // One that the plan names.
        None => {
            let hash = sha256(branch.as_bytes());
            format!("refs/piton/{}-{}/", sanitize_ref_name(branch), &hash[..8])
        }
    }
}

/// Where they stood before: two runs may have shared that.
pub(crate) fn former_unit_ref_folder(row: &RunRow) -> String {
    format!("refs/piton/{}/", sanitize_ref_name(&row.name))
}

/// The ref under which the work of a unit is kept, below the folder of its run:
/// unique, and legible.
pub(crate) fn unit_ref(folder: &str, node: &Node) -> String {
    let hash = sha256(node.as_str().as_bytes());
    let name = sanitize_ref_name(node.as_str());
    format!("{folder}{name}-{}", &hash[..8])
}

/// The longest part of a ref, in bytes. A file system takes 255 of them, and git writes
/// `.lock` behind it, piton a hash ([`unit_ref`]).
const REF_PART_MAX: usize = 240;

/// What of a longer name is legible; the hash of the whole stands behind it.
const REF_PART_SHORT: usize = 200;

/// A name with `-` for what git refuses in a part of a ref, and one that is too long for
/// it shortened.
pub(crate) fn sanitize_ref_name(name: &str) -> String {
    let plain = |c: char| match c.is_alphanumeric() || matches!(c, '_' | '-' | '.') {
        true => c,
        false => '-',
    };
    let name: String = name.chars().map(plain).collect();
    let name = name.replace("..", "-");
    let name = name.trim_matches(['.', '-']);
    let name = name.strip_suffix(".lock").unwrap_or(name);
    match name {
        "" => "run".to_owned(),
        long if long.len() > REF_PART_MAX => {
            let hash = sha256(long.as_bytes());
            let shown = &long[..long.floor_char_boundary(REF_PART_SHORT)];
            format!("{shown}-{}", &hash[..8])
        }
        name => name.to_owned(),
    }
}

/// What a person is told where a lane could not be had.
pub(crate) fn failure_of_lane(fault: LaneFault) -> Failure {
    let said = fault.to_string();
    match fault {
        LaneFault::Git(failure) => failure,
        LaneFault::Stopped => Failure::new("run.state", said),
        LaneFault::File { path, source } => crate::failure::unwritable_file(&path, source),
        LaneFault::NotOurs { .. } => Failure::new("lane.not_ours", said)
            .with_hint("move what is in it somewhere else, then run again"),
        LaneFault::Dirty { path, .. } => {
            let path = quote_word(&path.display().to_string()).into_owned();
            Failure::new("lane.dirty", said).with_hint(format!(
                "look at it with `git -C {path} status`; commit on a branch what you want to keep, or put it aside with `git -C {path} stash --include-untracked`"
            ))
        }
        LaneFault::Inner { path, work } => {
            let path = quote_word(&path.display().to_string()).into_owned();
            Failure::new("lane.dirty", said).with_hint(rescue_hint(&path, &work))
        }
        LaneFault::Script { script, lines, .. } => {
            let printed = lines.join("\n");
            let said = match printed.is_empty() {
                true => said,
                false => format!("{said}; it printed:\n{printed}"),
            };
            Failure::new("workspace.setup_failed", said).with_hint(format!(
                "mend `{}` in the table [workspace] of .piton/config.toml, then run again",
                script.as_str()
            ))
        }
    }
}

/// How a person keeps what a repository within a lane has.
fn rescue_hint(path: &str, work: &UnsavedWork) -> String {
    match work {
        UnsavedWork::All => format!("move it out of the lane with `mv {path} FOLDER`"),
        UnsavedWork::Worktree => format!(
            "move it out of the lane with `git worktree move {path} FOLDER`, or commit it on a branch"
        ),
        UnsavedWork::Commits(name) => {
            let pushed = match name.strip_prefix("refs/heads/") {
                Some(branch) => branch.to_owned(),
                None => format!("{name}:refs/heads/NAME"),
            };
            format!(
                "see them with `git -C {path} log {name} --not --remotes`, and push what you want to keep with `git -C {path} push origin {pushed}`"
            )
        }
        UnsavedWork::Changes => format!(
            "see them with `git -C {path} status`, and keep them on a branch that you push: `git -C {path} switch --create NAME`, `git -C {path} add --all`, `git -C {path} commit --message TEXT`, `git -C {path} push origin NAME`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::disallowed_methods,
        reason = "a repository as git itself makes it"
    )]
    fn git_in(folder: &Path, args: &[&str]) -> String {
        let mut git = std::process::Command::new("git");
        let person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let output = git.args(person).args(args).current_dir(folder).output();
        let output = output.expect("git is installed");
        assert!(output.status.success(), "{args:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[test]
    fn a_unit_of_any_name_has_a_ref() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        git_in(folder, &["init", "--quiet"]);
        let args = ["commit", "--quiet", "--allow-empty", "--message", "first"];
        git_in(folder, &args);
        let mut named = std::collections::BTreeSet::new();
        for letter in ["a", "Ü", "木", "."] {
            for count in [
                1, 60, 119, 120, 121, 199, 200, 201, 239, 240, 241, 255, 300, 5_000,
            ] {
                let name = letter.repeat(count);
                let unit = unit_ref("refs/piton/r/", &Node::from_text(name.as_str()));
                git_in(folder, &["update-ref", &unit, "HEAD"]);
                let branch = format!("refs/heads/piton/{}", sanitize_ref_name(&name));
                git_in(folder, &["update-ref", &branch, "HEAD"]);
                assert!(named.insert(unit), "{name} has a ref of its own");
            }
        }
        let (short, long) = ("a".repeat(240), "a".repeat(241));
        assert_eq!(sanitize_ref_name(&short), short);
        assert!(sanitize_ref_name(&long).starts_with(&"a".repeat(200)));
    }

    /// It was stopped between its commit and its ref; the runner that gave it up saved
    /// what was in the lane, and went on.
    #[test]
    fn a_late_runner_does_not_move_a_ref_that_was_moved_since() {
        const NAME: &str = "refs/piton/auth/US-1-0123abcd";
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        git_in(folder, &["init", "--quiet"]);
        let mut commits = ["first", "late", "newer"].into_iter().map(|message| {
            let args = ["commit", "--quiet", "--allow-empty", "--message", message];
            git_in(folder, &args);
            git_in(folder, &["rev-parse", "HEAD"])
        });
        let [first, late, newer] = std::array::from_fn(|_| commits.next().expect("three"));
        let stop = StopHandle::default();
        let by = GitControl {
            mark: "piton=test",
            stop: &stop,
        };
        let kept = |at: Option<&str>| UnitRef {
            name: NAME.to_owned(),
            at: at.map(str::to_owned),
        };
        kept(None)
            .update_ref(folder, &first, &by)
            .expect("it is new");
        let of_late = kept(Some(&first));
        let of_next = kept(Some(&first));
        of_next.update_ref(folder, &newer, &by).expect("it goes on");
        let refused = of_late
            .update_ref(folder, &late, &by)
            .expect_err("it is late");
        assert_eq!(refused.code, "run.fenced");
        assert!(refused.message.contains(&newer), "{refused}");
        assert_eq!(git_in(folder, &["rev-parse", NAME]), newer);
        // A runner that begins anew, after a death, knows what is there.
        kept(Some(&newer))
            .update_ref(folder, &late, &by)
            .expect("known");
    }
}
