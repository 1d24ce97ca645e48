//! `piton plan clean`: takes away what a run has of its own beside its work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use piton_core::{Need, RunRow, RunState};
use serde::Serialize;

use super::Told;
use super::control::start;
use super::land::{land_command, note_run};
use crate::config::Config;
use crate::fail;
use crate::failure::Failure;
use crate::git::{self, By, RefMove, RefStep};
use crate::lanes::{Lane, LaneUse, Pool, RemoveOrder, run_of_tree};
use crate::notice::Notice;
use crate::process::{self, Stop};
use crate::run_lock;
use crate::runner;
use crate::session::{Session, no_runs};
use crate::shell::quote;
use crate::worktree::{self, Occasion, Removal, RemovedWorktree};
use crate::world::World;

/// What was taken away of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// Its worktree, where its plan asks for one; the branch stays.
    pub worktree: Option<RemovedWorktree>,
    /// Its lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<PathBuf>,
    /// Its branch, which has landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What is still there, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<String>,
}

/// Removes what a run that is not worked on has beside its work: its worktree,
/// whose branch stays; or its lanes and its branch, once that has landed.
///
/// # Errors
///
/// When there is no such run, it is worked on or has not landed, or a worktree
/// stays, with the reason.
pub fn clean(world: &World, run: &str, told: &mut Told<'_>) -> Result<Cleaned, Failure> {
    let Some(session) = Session::write(world, &start(world, Some(run)))? else {
        return Err(no_runs());
    };
    let row = session.run_named(run)?;
    let holder = row.runners().next().cloned();
    if let Some(holder) = holder
        && !run_lock::is_free(&session.project, &row)
    {
        let name = row.name;
        return Err(piton_core::Refusal::Busy { name, holder }.into());
    }
    let config = Config::load(&session.project)?;
    // What a dead runner left may still work there.
    runner::clear_up(&session, row.id, config.agent.limits().grace, told)?;
    let has_path = row.target.as_ref().is_some_and(|it| it.path.is_some());
    if row.lanes.is_some() && !has_path {
        return clean_lanes(&session, &row, &config);
    }
    worktree::put_back(&session, told);
    let mut cleaned = Cleaned::default();
    if row.lanes.is_some() {
        let mark = process::own_mark(&format!("clean-{}", row.id));
        let cleaning = Cleaning {
            session: &session,
            row: &row,
            by: By {
                mark: &mark,
                stop: &Stop::default(),
            },
        };
        let fault = cleaning.remove_lanes(&config, &mut cleaned)?;
        cleaning.drop_refs()?;
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
    cleaned.worktree = match worktree::remove(&session, &row, Occasion::Asked, told)? {
        Some(Removal::Removed(removed)) => Some(removed),
        Some(Removal::Stays(why)) => return Err(why),
        None => None,
    };
    Ok(cleaned)
}

/// Takes away the lanes of a run that has landed, the refs of its units, and its
/// branch. Each of these is looked for anew, so a death in between needs no case
/// of its own.
fn clean_lanes(session: &Session<'_>, row: &RunRow, config: &Config) -> Result<Cleaned, Failure> {
    let row = &note_run(session, row)?;
    refuse_unlanded(session, row)?;
    let mark = process::own_mark(&format!("clean-{}", row.id));
    let cleaning = Cleaning {
        session,
        row,
        by: By {
            mark: &mark,
            stop: &Stop::default(),
        },
    };
    let mut cleaned = Cleaned::default();
    let fault = cleaning.remove_lanes(config, &mut cleaned)?;
    fail::point("clean.lanes-removed");
    cleaning.drop_refs()?;
    fail::point("clean.refs-dropped");
    cleaning.drop_branch(&mut cleaned)?;
    match fault {
        Some(fault) => Err(fault),
        None => Ok(cleaned),
    }
}

/// Refuses a run whose branch has what no other one has.
fn refuse_unlanded(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    let Some(target) = row.target.as_deref() else {
        return Ok(());
    };
    let landed = row.landed.as_ref().map(|landed| &landed.commit);
    let is_landed = match git::tip_of(&session.project.root, &target.branch) {
        Some(tip) => tip == target.base || landed == Some(&tip),
        None => landed.is_some() || target.tip == target.base,
    };
    if is_landed {
        return Ok(());
    }
    let message = format!(
        "the work of run `{}` is on the branch {} and has not landed",
        row.name, target.branch
    );
    let hint = format!(
        "land it with `{}`, and type it again",
        land_command(&row.name)
    );
    Err(Failure::new("run.not_landed", message).hint(hint))
}

struct Cleaning<'a> {
    session: &'a Session<'a>,
    row: &'a RunRow,
    by: By<'a>,
}

impl Cleaning<'_> {
    /// Removes the lanes that this run used last and that no unit has. The failure
    /// of the first that stays.
    fn remove_lanes(
        &self,
        config: &Config,
        cleaned: &mut Cleaned,
    ) -> Result<Option<Failure>, Failure> {
        let project = &self.session.project;
        let pool = Pool::open(project, &config.workspace).map_err(runner::failure_of)?;
        let redactor = self.session.world.redactor();
        let order = RemoveOrder {
            by: &self.by,
            redactor: &redactor,
        };
        let held = self.held()?;
        let mut fault = None;
        for (number, used) in pool.lanes().map_err(runner::failure_of)? {
            let is_of_run = |used: &LaneUse| used.taken.run == self.row.id.to_string();
            let Some(used) = used.filter(is_of_run) else {
                continue;
            };
            let tree = pool.tree_of(number);
            if held.contains(&number) {
                let stays = format!("the lane {} stays: a unit has it", tree.display());
                cleaned.stays.push(stays);
                continue;
            }
            let Some(lane) = pool.retake(number).map_err(runner::failure_of)? else {
                let stays = format!("the lane {} stays: a process has it", tree.display());
                cleaned.stays.push(stays);
                continue;
            };
            if used.is_of_queue() {
                self.leave_merged(&lane);
            } else if let Some(left) = unmerged_in(self.session, self.row, (number, &tree))? {
                cleaned.stays.push(left.message.clone());
                fault.get_or_insert(left);
                continue;
            }
            match pool.remove(lane, &order) {
                Ok(()) => cleaned.lanes.push(tree),
                Err(stays) => {
                    let failure = runner::failure_of(stays);
                    cleaned.stays.push(failure.message.clone());
                    fault.get_or_insert(failure);
                }
            }
        }
        Ok(fault)
    }

    /// What the checks of merges left in the lane of the queue is no work.
    fn leave_merged(&self, lane: &Lane) {
        if let git::WorktreeState::Sound { .. } =
            git::worktree_state(&self.session.project.work_tree, &lane.tree)
            && let Err(failure) = git::restore(&lane.tree, "HEAD", &self.by)
        {
            tracing::info!(%failure, "the lane of the queue is left as it is");
        }
    }

    /// The lanes that units of runs which are not over have, by the journal.
    fn held(&self) -> Result<BTreeSet<u32>, Failure> {
        let runs = self.session.runs()?;
        let open = runs.iter().filter(|row| row.state != RunState::Done);
        let lanes = open.filter_map(|row| row.lanes.as_ref());
        Ok(lanes.flat_map(|lanes| lanes.held.keys().copied()).collect())
    }

    /// Removes the refs under which work of units was kept that is merged, or that
    /// a person left out.
    fn drop_refs(&self) -> Result<(), Failure> {
        let main = &self.session.project.work_tree;
        let run = self.row.id;
        let rows = self.session.load(&[Need::Run(run), Need::Tree(run)])?;
        let items = rows.tables.tree(run);
        let finished: Vec<_> = items.filter(|item| item.state.is_finished()).collect();
        runner::drop_unit_refs(main, self.row, &finished, &self.by)
    }

    fn drop_ref(&self, name: &str, at: &str) -> Result<RefMove, Failure> {
        let step = RefStep {
            from: Some(at),
            to: None,
        };
        git::move_ref(&self.session.project.work_tree, name, step, &self.by)
    }

    /// Removes the branch, whose work is on another one.
    fn drop_branch(&self, cleaned: &mut Cleaned) -> Result<(), Failure> {
        let main = &self.session.project.work_tree;
        let Some(target) = self.row.target.as_deref() else {
            return Ok(());
        };
        let branch = &target.branch;
        let Some(tip) = git::tip_of(main, branch) else {
            return Ok(());
        };
        let landed = self.row.landed.as_ref().map(|landed| &landed.commit);
        let trees = git::worktrees(main)?;
        let mut checked_out = trees
            .iter()
            .filter(|tree| tree.branch.as_ref() == Some(branch));
        let why = match checked_out.next() {
            Some(tree) => Some(format!("it is checked out in {}", tree.path.display())),
            None if self.row.state != RunState::Done => Some(format!(
                "run `{}` is {}, and goes on there",
                self.row.name, self.row.state
            )),
            // Somebody moved it a moment ago.
            None if landed != Some(&tip) && target.base != tip => {
                Some("it has work that has not landed".to_owned())
            }
            None => None,
        };
        match why {
            Some(why) => cleaned
                .stays
                .push(format!("the branch {branch} stays: {why}")),
            None => {
                let name = format!("refs/heads/{branch}");
                if self.drop_ref(&name, &tip)? == RefMove::Moved {
                    cleaned.branch = Some(branch.clone());
                }
            }
        }
        Ok(())
    }
}

/// Says what a run that is done has left in its lanes.
pub(crate) fn tell_unmerged(session: &Session<'_>, row: &RunRow, tell: &mut Told<'_>) {
    for left in unmerged_in_lanes(session, row) {
        tell(Notice::Warning(&left));
    }
}

/// What a run that is done has left in its lanes, and how to see it: a person marked a
/// unit that had one, so that nothing of it was merged.
pub(crate) fn unmerged_in_lanes(session: &Session<'_>, row: &RunRow) -> Vec<String> {
    if row.state != RunState::Done || row.lanes.as_ref().is_none_or(|lanes| lanes.held.is_empty()) {
        return Vec::new();
    }
    let run = Some(row.id.to_string());
    let looked = || {
        let mut left = Vec::new();
        for tree in git::worktrees(&session.project.work_tree)? {
            // Another run may have taken the lane since.
            let number = tree.path.parent().and_then(Path::file_name);
            let number = number.and_then(|name| name.to_str()?.parse().ok());
            if let Some(number) = number.filter(|_| run_of_tree(&tree.path) == run) {
                left.extend(unmerged_in(session, row, (number, &tree.path))?);
            }
        }
        Ok::<_, Failure>(left)
    };
    let looked = looked()
        .inspect_err(|failure| tracing::info!(%failure, "nobody looked into the lanes"))
        .unwrap_or_default();
    let in_words = |left: &Failure| format!("{left}: {}", left.hint.as_deref().unwrap_or_default());
    looked.iter().map(in_words).collect()
}

/// What the unit that has a lane has in it and nowhere else.
fn unmerged_in(
    session: &Session<'_>,
    row: &RunRow,
    (number, tree): (u32, &Path),
) -> Result<Option<Failure>, Failure> {
    let main = &session.project.work_tree;
    let unit = row.lanes.as_ref().and_then(|lanes| lanes.held.get(&number));
    let (Some(unit), Some(target)) = (unit, row.target.as_deref()) else {
        return Ok(None);
    };
    let git::WorktreeState::Sound { .. } = git::worktree_state(main, tree) else {
        return Ok(None);
    };
    let head = git::head(tree)?.unwrap_or_default();
    let next = if !git::changes(tree, &[])?.is_empty() {
        "status".to_owned()
    } else if !git::is_built_on(main, &target.tip, &head)? && !git::is_on_branch(main, &head)? {
        format!("log {}..", target.tip)
    } else {
        return Ok(None);
    };
    let said = format!("what was begun on {unit} is not merged, and in its lane alone");
    let tree = quote(&tree.display().to_string()).into_owned();
    let hint =
        format!("see it with `git -C {tree} {next}`, and commit on a branch what you want to keep");
    Ok(Some(Failure::new("lane.dirty", said).hint(hint)))
}
