//! `piton plan clean`: takes away what a run has of its own beside its work.

use piton_core::event::UnitEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use piton_core::lane::TargetRow;
use piton_core::{Event, Need, Node, RunRow, RunState, StreamId};
use serde::Serialize;

use super::NoticeSink;
use super::land::{is_commit_landed, record_landed_run};
use super::land_others::{has_merged_work, is_commit_landed_in};
use crate::config::Config;
use crate::config::trust::TrustCheck;
use crate::failpoint;
use crate::failure::Failure;
use crate::git::repositories::{RepositoryWorkTrees, try_work_trees_of_run};
use crate::git::worktree::merge_command;
use crate::git::{self, GitControl, RefMove, RefStep};
use crate::process::shell::quote_word;
use crate::process::{self, StopHandle};
use crate::runner::lane_pool::{Lane, LaneFault, LaneRecord, LaneRemoval, Pool, run_of_tree};
use crate::runner::run_lock;
use crate::runner::run_worktrees::{self, CleanupOccasion, RemovedWorktree, WorktreeRemoval};
use crate::runner::{self, unmerged_work_in_lane};
use crate::session::{Session, no_runs_failure};
use crate::verbs::arguments::search_folder;
use crate::verbs::trust::allow_given_parts;
use crate::world::World;

/// What was taken away of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CleanedRun {
    /// Its worktree, where its plan asks for one; the branch stays.
    pub worktree: Option<RemovedWorktree>,
    /// Its lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<PathBuf>,
    /// Its branch, which has landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Its branches in other repositories, which have landed there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// What went with lanes and was nowhere else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub abandoned: Vec<AbandonedWork>,
    /// What was begun and left out, and is kept under no name any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutWork>,
    /// What is still there, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<String>,
}

crate::name_schema!(CleanedRun, "piton.plan.clean/1");

/// Work in a lane that was removed with it, as a person asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AbandonedWork {
    /// The lane.
    pub lane: PathBuf,
    /// What was in it and nowhere else.
    pub what: String,
    /// The commit that was checked out there, where no branch has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// What becomes of a lane that has what is nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsavedPolicy {
    /// Nothing is removed.
    Refuse,
    /// It goes with its lane.
    Abandon,
}

/// Work that a person left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutWork {
    /// The item.
    pub item: String,
    /// The commit that has it, as long as git keeps what nothing names.
    pub commit: String,
}

/// Removes what a run that is not worked on has beside its work: its worktree,
/// whose branch stays; or its lanes and its branch, once that has landed.
///
/// # Errors
///
/// When there is no such run, it is worked on or has not landed, or a worktree
/// stays, with the reason: then nothing is removed.
pub fn clean(
    world: &World,
    run: &str,
    unsaved: UnsavedPolicy,
    told: &mut NoticeSink<'_>,
) -> Result<CleanedRun, Failure> {
    let Some(session) = Session::open_writable(world, &search_folder(world, Some(run)))? else {
        return Err(no_runs_failure());
    };
    let row = session.resolve_run(run)?;
    let holder = row.runners().next().cloned();
    if let Some(holder) = holder
        && !run_lock::is_free(&session.project, &row)
    {
        let name = row.name;
        return Err(piton_core::Refusal::Busy { name, holder }.into());
    }
    let config = Config::load(&session.project)?;
    // What a dead runner left may still work there.
    runner::clean_up_dead_runner(&session, row.id, config.agent.process_limits().grace, told)?;
    let has_path = row
        .branches
        .target
        .as_ref()
        .is_some_and(|it| it.path.is_some());
    if row.branches.lanes.is_some() && !has_path {
        return clean_lanes(&session, &row, &config, unsaved);
    }
    run_worktrees::reattach_branches(&session, told);
    let mut cleaned = CleanedRun::default();
    if row.branches.lanes.is_some() {
        let mark = process::own_mark(&format!("clean-{}", row.id));
        let cleaning = RunCleaner {
            session: &session,
            row: &row,
            unsaved,
            by: GitControl {
                mark: &mark,
                stop: &StopHandle::default(),
            },
        };
        if let Some(why) = run_worktrees::reason_not_removable(&session, &row)? {
            return Err(why);
        }
        cleaning.remove_lanes(&config, &BTreeMap::new(), &mut cleaned)?;
        cleaning.drop_refs(&session.project.work_tree, None, &mut cleaned)?;
    }
    cleaned.worktree =
        match run_worktrees::remove_if_due(&session, &row, CleanupOccasion::Asked, told)? {
            Some(WorktreeRemoval::Removed(removed)) => Some(removed),
            Some(WorktreeRemoval::Stays(why)) => return Err(why),
            None => None,
        };
    Ok(cleaned)
}

/// Takes away the lanes of a run that has landed, the refs of its units, and its
/// branch. Each of these is looked for anew, so a death in between needs no case
/// of its own.
fn clean_lanes(
    session: &Session<'_>,
    row: &RunRow,
    config: &Config,
    unsaved: UnsavedPolicy,
) -> Result<CleanedRun, Failure> {
    let row = &record_landed_run(session, row)?;
    let each = try_work_trees_of_run(session.world, &session.project, row)?;
    let (mut others, mut missing) = (RepositoryWorkTrees::new(), BTreeMap::new());
    for (name, tree) in each {
        match tree {
            Ok(tree) => {
                others.insert(name, tree);
            }
            Err(failure) => {
                missing.insert(name, failure);
            }
        }
    }
    let mut places = vec![RunBranch {
        main: &session.project.root,
        repository: None,
        target: row.branches.target.as_deref(),
        tip: None,
    }];
    places.extend(others.iter().map(|(name, tree)| RunBranch {
        main: tree,
        repository: Some(name),
        target: row.target_in_repository(Some(name)),
        tip: None,
    }));
    for place in &mut places {
        place.tip = refuse_unlanded(session, row, place)?;
    }
    let mark = process::own_mark(&format!("clean-{}", row.id));
    let cleaning = RunCleaner {
        session,
        row,
        unsaved,
        by: GitControl {
            mark: &mark,
            stop: &StopHandle::default(),
        },
    };
    let mut cleaned = CleanedRun::default();
    for (name, failure) in missing
        .iter()
        .filter(|(name, _)| has_merged_work(row, name))
    {
        let stays = format!("in {name} nothing was looked at: {failure}");
        cleaned.stays.push(stays);
    }
    cleaning.remove_lanes(config, &missing, &mut cleaned)?;
    failpoint::point("clean.lanes-removed");
    for place in &places {
        cleaning.drop_refs(place.main, place.repository, &mut cleaned)?;
    }
    failpoint::point("clean.refs-dropped");
    for place in &places {
        cleaning.drop_branch(place, &mut cleaned)?;
    }
    Ok(cleaned)
}

/// A repository in which a run has a branch.
struct RunBranch<'a> {
    main: &'a Path,
    /// Its name in the plan; none is that of the project.
    repository: Option<&'a str>,
    target: Option<&'a TargetRow>,
    /// Where the branch is.
    tip: Option<String>,
}

/// Refuses a run whose branch has what no other one has. Where the branch is.
fn refuse_unlanded(
    session: &Session<'_>,
    row: &RunRow,
    place: &RunBranch<'_>,
) -> Result<Option<String>, Failure> {
    let (Some(target), main) = (place.target, place.main) else {
        return Ok(None);
    };
    let tip = git::tip_of_branch(main, &target.branch);
    let is_landed = match &tip {
        Some(tip) if *tip == target.base && target.tip == target.base => true,
        Some(tip) => {
            // One that is behind has not all that was merged.
            let is_behind = git::is_built_on(main, &target.tip, tip)?;
            let work = if is_behind { &target.tip } else { tip };
            match place.repository {
                None => is_commit_landed(session, row, target, work)?,
                Some(_) => is_commit_landed_in(main, target, work)?,
            }
        }
        None if target.tip == target.base => true,
        None => match place.repository {
            None => row.branches.landed.is_some(),
            Some(_) => is_commit_landed_in(main, target, &target.tip)?,
        },
    };
    if is_landed {
        return Ok(tip);
    }
    let within = place.repository.map(|name| format!(" in {name}"));
    let message = format!(
        "the work of run `{}` is on the branch {}{} and has not landed",
        row.name,
        target.branch,
        within.unwrap_or_default()
    );
    let onto = target.onto.as_deref().unwrap_or_default();
    let merge = match (place.repository, &tip) {
        (None, _) => format!("`{}`", merge_command(main, row, &target.branch, onto)),
        (Some(_), None) => {
            let git = git::git_command_for(Some(main));
            format!("`{git} merge {}`", quote_word(&target.tip))
        }
        (Some(_), Some(_)) => {
            let git = git::git_command_for(Some(main));
            let here = git::read_checkout(main).and_then(|here| here.branch);
            let switch = match (onto, here) {
                ("", Some(_)) => String::new(),
                ("", None) => format!("`{git} switch BRANCH`, then "),
                (onto, Some(here)) if here == onto => String::new(),
                (onto, _) => format!("`{git} switch {}`, then ", quote_word(onto)),
            };
            format!("{switch}`{git} merge {}`", quote_word(&target.branch))
        }
    };
    let hint = format!("land it with {merge}, and type it again");
    Err(Failure::new("run.not_landed", message).with_hint(hint))
}

/// Most lanes that one message names.
const NAMED_MAX: usize = 3;

/// Refuses to remove anything where something stays, with all that a person has to see
/// to.
fn refuse_removal(faults: &[Failure]) -> Result<(), Failure> {
    let more = match faults.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = &faults[..faults.len().min(NAMED_MAX)];
    let messages: Vec<&str> = named.iter().map(|fault| &*fault.message).collect();
    let hints: Vec<&str> = named
        .iter()
        .filter_map(|fault| fault.hint.as_deref())
        .collect();
    let message = format!("nothing was removed: {}{more}", messages.join("; "));
    let hint = format!("{}; then type it again", hints.join("; "));
    match faults.first() {
        Some(first) => Err(Failure::new(first.code, message).with_hint(hint)),
        None => Ok(()),
    }
}

struct RunCleaner<'a> {
    session: &'a Session<'a>,
    row: &'a RunRow,
    unsaved: UnsavedPolicy,
    by: GitControl<'a>,
}

impl RunCleaner<'_> {
    /// Removes the lanes that this run used last and that no unit has: all of them, or
    /// none where one has what would go with it.
    fn remove_lanes(
        &self,
        config: &Config,
        missing: &BTreeMap<String, Failure>,
        cleaned: &mut CleanedRun,
    ) -> Result<(), Failure> {
        let project = &self.session.project;
        let known = self.row.plan.policy.repositories.as_ref();
        let trust = TrustCheck::open(self.session.world, project);
        allow_given_parts(self.session.world, &trust, Some(&self.row.name));
        let pool =
            Pool::open_for_run(project, config, known, &trust).map_err(runner::failure_of_lane)?;
        let mut taken = self.acquire_lanes(&pool, missing, &mut cleaned.stays)?;
        let mut lanes = Vec::new();
        let (mut faults, mut abandoned) = (Vec::new(), Vec::new());
        // That of the queue is changed as it is looked at: only where all others may go.
        taken.sort_by_key(|(_, used)| used.is_of_merge_queue());
        for (lane, used) in taken {
            if used.is_of_merge_queue() && !faults.is_empty() {
                break;
            }
            let pool = pool.for_lane(Some(&used));
            let found = self.find_unsaved(&pool, &lane, &used)?;
            if self.unsaved == UnsavedPolicy::Abandon {
                abandoned.extend(self.collect_abandoned(&pool, &lane, &found));
            } else {
                faults.extend(found);
            }
            lanes.push((lane, pool));
        }
        refuse_removal(&faults)?;
        let redactor = self.session.world.redactor();
        let order = LaneRemoval {
            by: &self.by,
            redactor: &redactor,
        };
        let mut first = None;
        for (lane, pool) in lanes {
            let tree = lane.tree.clone();
            match pool
                .remove_lane(lane, &order)
                .map_err(runner::failure_of_lane)
            {
                Ok(()) => cleaned.lanes.push(tree),
                Err(failure) => {
                    let stays = format!("the lane {} stays: {failure}", tree.display());
                    cleaned.stays.push(stays);
                    first = first.or(Some(failure));
                }
            }
        }
        // Of what is gone is said what it was, whatever stays.
        let gone = abandoned
            .into_iter()
            .filter(|one| cleaned.lanes.contains(&one.lane));
        cleaned.abandoned.extend(gone);
        match first.filter(|_| cleaned.lanes.is_empty()) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Acquires the lanes that this run used last and that no unit has. The others go
    /// to `stays`, each with the reason.
    fn acquire_lanes(
        &self,
        pool: &Pool,
        missing: &BTreeMap<String, Failure>,
        stays: &mut Vec<String>,
    ) -> Result<Vec<(Lane, LaneRecord)>, Failure> {
        let held = self.held_lanes(pool)?;
        let mut taken = Vec::new();
        for (number, used) in pool.list_lanes().map_err(runner::failure_of_lane)? {
            let is_of_run = |used: &LaneRecord| used.taken.run == self.row.id.to_string();
            let Some(used) = used.filter(is_of_run) else {
                continue;
            };
            let tree = pool.tree_of_lane(number);
            let repository = used.repository.as_ref().map(|of| &of.name);
            if let Some(name) = repository.filter(|name| missing.contains_key(*name)) {
                stays.push(format!("the lane {} of {name} stays", tree.display()));
                continue;
            }
            if held.contains(&number) {
                stays.push(format!("the lane {} stays: a unit has it", tree.display()));
                continue;
            }
            let Some(lane) = pool.reacquire(number).map_err(runner::failure_of_lane)? else {
                stays.push(format!(
                    "the lane {} stays: a process has it",
                    tree.display()
                ));
                continue;
            };
            taken.push((lane, used));
        }
        Ok(taken)
    }

    /// What goes with a lane, and the commit that was checked out there: git keeps it
    /// for a while.
    fn collect_abandoned(&self, pool: &Pool, lane: &Lane, found: &[Failure]) -> Vec<AbandonedWork> {
        let main = pool.main_work_tree();
        let head = git::head_commit(&lane.tree).ok().flatten();
        let is_on_none = |head: &String| git::is_on_branch(main, head).ok() == Some(false);
        let commit = head.filter(is_on_none);
        let named = |fault: &Failure| AbandonedWork {
            lane: lane.tree.clone(),
            what: fault.message.clone(),
            commit: commit.clone(),
        };
        found.iter().map(named).collect()
    }

    /// What the work in the lanes builds on.
    fn target_tip(&self, repository: Option<&str>) -> &str {
        let target = self.row.target_in_repository(repository);
        target.map_or("HEAD", |target| &target.tip)
    }

    /// What is in a lane and nowhere else.
    fn find_unsaved(
        &self,
        pool: &Pool,
        lane: &Lane,
        used: &LaneRecord,
    ) -> Result<Vec<Failure>, Failure> {
        if used.is_of_merge_queue() {
            self.discard_merge_changes(pool, lane);
        }
        let left = pool.find_unsaved_changes(lane, self.target_tip(pool.repository_name()));
        let (inner, own): (Vec<LaneFault>, Vec<LaneFault>) = left
            .map_err(runner::failure_of_lane)?
            .into_iter()
            .partition(|fault| matches!(fault, LaneFault::Inner { .. }));
        let mut found: Vec<Failure> = inner.into_iter().map(runner::failure_of_lane).collect();
        let unmerged = unmerged_work_in_lane(self.session, self.row, lane.number, &lane.tree)?;
        match unmerged {
            Some(unmerged) => found.push(unmerged),
            None if own.is_empty() || self.is_saved(pool, lane, used)? => {}
            None => found.extend(own.into_iter().map(runner::failure_of_lane)),
        }
        Ok(found)
    }

    /// Whether what is in a lane is what was saved of its unit, and nothing else: the
    /// unit waits with it, was left out, or went on from there in another lane.
    fn is_saved(&self, pool: &Pool, lane: &Lane, used: &LaneRecord) -> Result<bool, Failure> {
        let own = match pool.repository_name() {
            None => runner::non_agent_files(self.session, self.row),
            Some(_) => Vec::new(),
        };
        for saved in self.saved_commits(&Node::from_text(&used.taken.unit))? {
            let is_there = git::has_commit(pool.main_work_tree(), &saved)?;
            let excluded = git::ExcludedFiles {
                own: &own,
                files: &used.included,
            };
            if is_there && git::is_work_saved(&lane.tree, &saved, excluded, &self.by)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The commits that hold what was saved of a unit, the last one first.
    fn saved_commits(&self, unit: &Node) -> Result<Vec<String>, Failure> {
        const PAGE: usize = 500;
        let stream = StreamId::of_run(self.row.id);
        let (mut found, mut seen) = (Vec::new(), 0);
        loop {
            let page = self.session.store.read_stream(&stream, seen, PAGE)?;
            let Some(last) = page.last() else { break };
            seen = last.stamp.position;
            // An event of a newer piton says nothing here.
            let events = page.iter().filter_map(|record| record.decode_event().ok());
            found.extend(events.filter_map(|event| {
                let Event::Unit(UnitEvent::LaneLeft { node, saved, .. }) = event else {
                    return None;
                };
                saved.filter(|_| node == *unit)
            }));
        }
        found.reverse();
        found.dedup();
        Ok(found)
    }

    /// Takes away what checks of merges made, as before each of them.
    fn discard_merge_changes(&self, pool: &Pool, lane: &Lane) {
        if let git::WorktreeState::Sound { .. } =
            git::worktree_state(pool.main_work_tree(), &lane.tree)
            && let Err(failure) = git::restore_merge_worktree(&lane.tree, "HEAD", &self.by)
        {
            tracing::info!(%failure, "a lane is left as it is");
        }
    }

    /// The lanes that units of runs which are not over have, by the journal. Another run
    /// may have taken one since, while that run was done.
    fn held_lanes(&self, pool: &Pool) -> Result<BTreeSet<u32>, Failure> {
        let runs = self.session.runs()?;
        let open = runs.iter().filter(|row| row.state != RunState::Done);
        let lanes = open.filter_map(|row| Some((row.id.to_string(), row.branches.lanes.as_ref()?)));
        let held = lanes.flat_map(|(run, lanes)| {
            let numbers = lanes.held.keys().copied();
            let is_its =
                move |number: &u32| run_of_tree(&pool.tree_of_lane(*number)) == Some(run.clone());
            numbers.filter(is_its)
        });
        Ok(held.collect())
    }

    /// Removes the refs under which work of units was kept that is merged, or that
    /// a person left out.
    fn drop_refs(
        &self,
        main: &Path,
        repository: Option<&str>,
        cleaned: &mut CleanedRun,
    ) -> Result<(), Failure> {
        let run = self.row.id;
        let rows = self.session.load(&[Need::Run(run), Need::Tree(run)])?;
        let items = rows.tables.tree(run);
        let finished: Vec<_> = items.filter(|item| item.state.is_finished()).collect();
        let refs = git::list_refs(main, &runner::unit_ref_folder(self.row, repository))?;
        let kept = |commit: &String| refs.iter().any(|(_, at)| at == commit);
        let left_out = finished.iter().filter_map(|item| {
            let work = item.work.unit.as_deref()?.work.clone();
            Some(LeftOutWork {
                item: item.plan.id.to_string(),
                commit: work.filter(kept)?,
            })
        });
        cleaned.left_out.extend(left_out);
        runner::drop_unit_refs(main, repository, self.row, &finished, &self.by)
    }

    fn drop_ref(&self, main: &Path, name: &str, at: &str) -> Result<RefMove, Failure> {
        let step = RefStep {
            from: Some(at),
            to: None,
        };
        git::move_ref(main, name, step, &self.by)
    }

    /// Removes the branch, whose work up to a commit is on another one.
    fn drop_branch(&self, place: &RunBranch<'_>, cleaned: &mut CleanedRun) -> Result<(), Failure> {
        let (main, landed) = (place.main, place.tip.as_ref());
        let Some(target) = place.target else {
            return Ok(());
        };
        let branch = &target.branch;
        let Some(tip) = git::tip_of_branch(main, branch) else {
            return Ok(());
        };
        let trees = git::list_worktrees(main)?;
        let mut checked_out = trees
            .iter()
            .filter(|tree| tree.branch.as_ref() == Some(branch));
        let why = match checked_out.next() {
            Some(tree) => Some(format!("it is checked out in {}", tree.path.display())),
            None if self.row.state != RunState::Done => Some(format!(
                "run `{}` is {}, and goes on there",
                self.row.name, self.row.state
            )),
            // Another process moved it a moment ago.
            None if landed != Some(&tip) => Some("it has work that has not landed".to_owned()),
            None => None,
        };
        match why {
            Some(why) => cleaned
                .stays
                .push(format!("the branch {branch} stays: {why}")),
            None => {
                let name = format!("refs/heads/{branch}");
                if self.drop_ref(main, &name, &tip)? == RefMove::Moved {
                    match place.repository {
                        None => cleaned.branch = Some(branch.clone()),
                        Some(name) => cleaned.others.push(format!("{branch} in {name}")),
                    }
                }
            }
        }
        Ok(())
    }
}
