//! `piton land`: brings the work of a run to the branch that it is for.
//!
//! That branch only ever goes forward, to a commit that is built on it. Whatever
//! is in the way of that is left as it is, and named with what to type.

use std::io;
use std::path::{Path, PathBuf};

use piton_core::amount::list_first;
use piton_core::lane::{Landing, TargetRow};
use piton_core::{Command, Need, Refusal, RunRow, RunState};
use piton_formats::merge::{ConflictMarks, MergeVersions, merge};
use piton_formats::plan_file::PlanFile;

use super::NoticeSink;
use super::land_others::{LandingTrigger, land_other_repositories};
pub use super::landed_work::LandedWork;
use super::landed_work::not_landed_failure;
use crate::failpoint;
use crate::failure::notice::Notice;
use crate::failure::{Failure, unwritable_file};
use crate::git::worktree::NAMED_MAX;
use crate::git::worktree::land_command;
use crate::git::{self, GitControl, RefMove, RefStep, short_commit};
use crate::native_files::FileNotice;
use crate::native_files::exchange::stage;
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::process::shell::quote_word;
use crate::process::{self, StopHandle};
use crate::project::inside::resolve_within;
use crate::runner::own_files::own_file_prefixes;
use crate::runner::run_lock;
use crate::runner::target_branch::target_moved_failure;
use crate::session::{Session, no_runs_failure};
use crate::verbs::arguments::search_folder;
use crate::world::World;
use crate::world::input;

/// Brings the work of a run to the branch that it is for. Without a name: that of
/// the only run whose work has not landed.
///
/// # Errors
///
/// When there is no such run, there is nothing to land, or the branch cannot go
/// forward, with the reason and what to type.
pub fn land(
    world: &World,
    run: Option<&str>,
    told: &mut NoticeSink<'_>,
) -> Result<LandedWork, Failure> {
    let Some(session) = Session::open_writable(world, &search_folder(world, run))? else {
        return Err(no_runs_failure());
    };
    let row = match (run, only_unlanded_run(&session)?) {
        (None, Some(row)) => row,
        (run, _) => session.resolve_run_or_default(run)?,
    };
    let is_in_place = row.branches.lanes.is_none();
    let holder = row.runners().next().cloned();
    if let Some(holder) = holder
        && is_in_place
        && !run_lock::is_free(&session.project, &row)
    {
        // An agent commits on that branch, and nothing has looked at it yet.
        let name = row.name;
        return Err(Refusal::Busy { name, holder }.into());
    }
    let own = land_run(&session, &row);
    if own.is_ok() {
        sync_landed_plan(&session, &row, told);
    }
    let is_nothing = own
        .as_ref()
        .is_err_and(|failure| failure.code == "land.nothing");
    let tried = land_other_repositories(&session, &row, LandingTrigger::Typed);
    let tried = tried.unwrap_or_else(|failure| vec![Err(failure)]);
    let (mut others, mut refused) = (Vec::new(), Vec::new());
    for landed in tried {
        match landed {
            Ok(landed) => others.push(landed),
            Err(failure) => refused.push(failure),
        }
    }
    let own = match own {
        Err(failure) if !is_nothing => {
            refused.insert(0, failure);
            None
        }
        own => Some(own),
    };
    let own_landed = own.as_ref().and_then(|own| own.as_ref().ok()).cloned();
    let (Some(own), []) = (own, refused.as_slice()) else {
        // What has landed stays where another one fails.
        let landed = own_landed.iter().chain(&others);
        for landed in landed.filter(|landed| !landed.was_there) {
            told(Notice::Said(&landed.describe()));
        }
        for more in refused.iter().skip(1) {
            told(Notice::Warning(&render_with_hint(more)));
        }
        return Err(refused.remove(0));
    };
    join_landed(own, others)
}

/// What landed in the repository of the project, if anything did, with what landed in
/// others.
fn join_landed(
    own: Result<LandedWork, Failure>,
    mut others: Vec<LandedWork>,
) -> Result<LandedWork, Failure> {
    match own {
        Ok(own) => Ok(LandedWork { others, ..own }),
        Err(nothing) => match others.is_empty() {
            true => Err(nothing),
            false => {
                let first = others.remove(0);
                Ok(LandedWork { others, ..first })
            }
        },
    }
}

/// Takes the file of the plan, as it landed, for what piton wrote: what a person changes
/// from then on is an edit.
fn sync_landed_plan(session: &Session<'_>, row: &RunRow, tell: &mut NoticeSink<'_>) {
    let shown = || {
        let rows = session.load(&[Need::Run(row.id)])?;
        // Only where it is known that it landed the file is shown as it is then.
        sync_plan_file(session, rows.tables.run(row.id).unwrap_or(row))
    };
    match shown() {
        Ok(news) => FileNotice::emit_all(&news, tell),
        Err(failure) => tell(Notice::Warning(&failure.to_string())),
    }
}

/// The only run with a branch of its own that is not landed.
fn only_unlanded_run(session: &Session<'_>) -> Result<Option<RunRow>, Failure> {
    let root = session.project.root.clone();
    let runs = session.runs()?;
    let is_unlanded = |row: &&RunRow| {
        let target = row.branches.target.as_deref();
        let tip = target.and_then(|target| git::tip_of_branch(&root, &target.branch));
        tip.is_some_and(|tip| {
            row.branches
                .landed
                .as_ref()
                .is_none_or(|landed| landed.commit != tip)
        })
    };
    let mut unlanded = runs.iter().filter(is_unlanded);
    Ok(match (unlanded.next(), unlanded.next()) {
        (Some(one), None) => Some(one.clone()),
        _ => None,
    })
}

/// At the end of an invocation: lands a run in lanes that is done, if that is
/// possible, and says why not. Nothing of it is a reason to fail. Whether it landed
/// now.
pub(crate) fn land_at_end(session: &Session<'_>, row: &RunRow, tell: &mut NoticeSink<'_>) -> bool {
    let target = row.branches.target.as_deref();
    let is_in_lanes =
        row.branches.lanes.is_some() && target.is_some_and(|target| target.path.is_none());
    if row.state != RunState::Done || !is_in_lanes {
        return false;
    }
    let has_landed = match refuse_reverted(session, row).and_then(|()| land_run(session, row)) {
        Ok(landed) if landed.was_there => false,
        Ok(landed) => {
            tell(Notice::Said(&landed.describe()));
            sync_landed_plan(session, row, tell);
            true
        }
        // None of its items changed a file.
        Err(failure) if failure.code == "land.nothing" => false,
        Err(failure) => {
            tell(Notice::Warning(&failure.to_string()));
            false
        }
    };
    let others = land_other_repositories(session, row, LandingTrigger::AtEnd)
        .unwrap_or_else(|failure| vec![Err(failure)]);
    for other in others {
        match other {
            Ok(landed) if landed.was_there => {}
            Ok(landed) => tell(Notice::Said(&landed.describe())),
            Err(failure) => tell(Notice::Warning(&render_with_hint(&failure))),
        }
    }
    has_landed
}

fn render_with_hint(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{failure}: {hint}"),
        None => failure.to_string(),
    }
}

/// Notes of each run in lanes that is done what of it is on its branch by now: a
/// person may have merged it, or a piton that landed it has died. No branch is
/// moved.
pub(crate) fn record_landed_runs(session: &Session<'_>) {
    let noted = || {
        for row in session.runs()? {
            if row.state == RunState::Done && row.branches.lanes.is_some() {
                record_landed_run(session, &row)?;
            }
        }
        Ok::<_, Failure>(())
    };
    if let Err(failure) = noted() {
        tracing::info!(%failure, "what has landed is not noted");
    }
}

/// The same of one run, as it stands then.
pub(super) fn record_landed_run(session: &Session<'_>, row: &RunRow) -> Result<RunRow, Failure> {
    let Some(Ok(ready)) = ReadyLanding::prepare(session, row)? else {
        return Ok(row.clone());
    };
    if ready.way == LandingMethod::There && row.branches.landed.as_deref() != Some(&ready.landing) {
        ready.carry_out(session, row)?;
    }
    let rows = session.load(&[Need::Run(row.id)])?;
    Ok(rows.tables.run(row.id).unwrap_or(row).clone())
}

fn land_run(session: &Session<'_>, row: &RunRow) -> Result<LandedWork, Failure> {
    let ready = match ReadyLanding::prepare(session, row)? {
        Some(ready) => ready?,
        None => {
            let name = row.name.clone();
            let why = "it works on the branch that is checked out";
            return Err(Refusal::NothingToLand { name, why }.into());
        }
    };
    let was_there = ready.way == LandingMethod::There;
    if !was_there || row.branches.landed.as_deref() != Some(&ready.landing) {
        ready.carry_out(session, row)?;
    }
    Ok(LandedWork {
        run: row.name.clone(),
        branch: ready.branch,
        onto: ready.landing.onto,
        commit: ready.landing.commit,
        was_there,
        repository: None,
        others: Vec::new(),
    })
}

/// Refuses to land by itself what a person has taken off a branch on which it landed.
fn refuse_reverted(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    let (Some(landed), Some(target)) = (
        row.branches.landed.as_deref(),
        row.branches.target.as_deref(),
    ) else {
        return Ok(());
    };
    let main = &session.project.work_tree;
    let Some(at) = git::tip_of_branch(main, &landed.onto) else {
        return Ok(());
    };
    let plan = plan_path(session, row);
    if is_still_landed(main, landed)
        || git::has_work_of(main, &at, &landed.commit, plan.as_deref())?
    {
        return Ok(());
    }
    let why = format!(
        "{} had landed, and was taken back",
        short_commit(&landed.commit)
    );
    let next = format!("`{}` lands it again", land_command(&row.name));
    Err(not_landed_failure(
        &target.branch,
        &landed.onto,
        &why,
        &next,
    ))
}

/// Whether the branch on which work landed still has the commit at which it was there:
/// what became of its lines since is as a person wanted it.
fn is_still_landed(main: &Path, landed: &Landing) -> bool {
    let commit = landed.at.as_deref().unwrap_or(&landed.commit);
    let tip = git::tip_of_branch(main, &landed.onto);
    // A commit that git has no more is on no branch.
    tip.is_some_and(|tip| git::is_built_on(main, &tip, commit).unwrap_or_default())
}

/// The file of the plan, by its path in the work tree.
fn plan_path(session: &Session<'_>, row: &RunRow) -> Option<String> {
    session
        .project
        .path_in_work_tree(&PlanFile::path_of_run(row)?)
}

/// Whether a commit of the branch of a run is on another branch, or the one that it
/// is for has all that it brings.
pub(super) fn is_commit_landed(
    session: &Session<'_>,
    row: &RunRow,
    target: &TargetRow,
    commit: &str,
) -> Result<bool, Failure> {
    let main = &session.project.work_tree;
    let landed = row.branches.landed.as_deref();
    let landed = landed.filter(|landed| landed.commit == commit);
    if landed.is_some_and(|landed| is_still_landed(main, landed))
        || git::is_on_other_branch(main, commit, Some(&target.branch))?
    {
        return Ok(true);
    }
    let here = git::read_checkout(main).and_then(|here| here.branch);
    let onto = target.onto.clone().or(here);
    let Some(at) = onto.and_then(|onto| git::tip_of_branch(main, &onto)) else {
        return Ok(false);
    };
    git::has_work_of(main, &at, commit, plan_path(session, row).as_deref())
}

/// The landing of work that is on the branch which it is for, `onto`, at `at` now, or
/// that is nothing and has landed. None where it is still to land.
fn find_reached_landing(
    session: &Session<'_>,
    row: &RunRow,
    work: &str,
    onto: Option<&str>,
    at: Option<&str>,
) -> Result<Option<Landing>, Failure> {
    let main = &session.project.work_tree;
    let target = row.branches.target.as_deref();
    let is_nothing = target.is_some_and(|target| target.base == work);
    let is_it = |landed: &&Landing| landed.commit == work && onto == Some(&*landed.onto);
    let landed = row.branches.landed.as_deref().filter(is_it);
    let landed = landed
        .filter(|landed| is_still_landed(main, landed))
        .cloned();
    let plan = plan_path(session, row);
    Ok(match (onto, at) {
        _ if is_nothing || landed.is_some() => landed,
        (Some(onto), Some(at)) if git::has_work_of(main, at, work, plan.as_deref())? => {
            let is_itself = git::is_built_on(main, at, work)?;
            Some(Landing {
                commit: work.to_owned(),
                onto: onto.to_owned(),
                at: (!is_itself).then(|| at.to_owned()),
            })
        }
        _ => None,
    })
}

/// Work that can land.
struct ReadyLanding {
    branch: String,
    landing: Landing,
    way: LandingMethod,
}

/// How it gets there.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LandingMethod {
    /// It is there.
    There,
    /// The branch is checked out in this work tree. What a person changed there in the
    /// file of the plan, if anything, lands as well.
    CheckedOut(PathBuf, Option<PlanEdit>),
    /// It is checked out nowhere, and at this commit.
    Ref(String),
}

/// Changes in the file of the plan that are in no commit, and that the work has as well.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlanEdit {
    /// The file, by its path in the work tree.
    file: String,
    /// What is there.
    present: String,
    /// What the commit has that is checked out.
    committed: String,
}

impl PlanEdit {
    /// The changes of the only file that has some: none where it is not that of the
    /// plan, or says anything that the work does not say, or is staged otherwise.
    fn find_contained(
        scene: &LandingContext<'_>,
        changes: &[String],
        commit: &str,
    ) -> Option<Self> {
        let project = &scene.session.project;
        let tree = &project.work_tree;
        let path = PlanFile::path_of_run(scene.row)?;
        let file = project
            .path_in_work_tree(&path)
            .filter(|file| changes == [file.clone()])?;
        let text = |commit: &str| git::text_in_commit(tree, commit, &file);
        let (committed, landing) = (text("HEAD")?, text(commit)?);
        let present = input::read_file_text(tree.join(&file)).ok()?;
        let versions = MergeVersions {
            base: &committed,
            ours: &present,
            theirs: &landing,
        };
        let marks = ConflictMarks {
            ours: "ours",
            theirs: "theirs",
            size: 7,
        };
        let merged = merge(&file, versions, marks);
        let is_contained = merged.conflicts == 0 && merged.text == landing;
        (is_contained && git::is_unstaged(tree, &file)).then_some(Self {
            file,
            present,
            committed,
        })
    }

    /// Brings what is checked out forward. Until git does so itself, the file is as it
    /// was committed: what a death leaves then lands as any other work, with what the
    /// person changed.
    fn forward_without_edit(
        &self,
        tree: &Path,
        forward: impl FnOnce() -> Result<Result<(), String>, Failure>,
    ) -> Result<Result<(), String>, Failure> {
        let path = tree.join(&self.file);
        let path = resolve_within(&[tree], &path).map_err(|error| unwritable_file(&path, error))?;
        let replace = |from: &str, to: &str| {
            let replaced = replace_text(&path, from, to);
            replaced.map_err(|error| unwritable_file(&path, error))
        };
        if !replace(&self.present, &self.committed)? {
            return Ok(Err(format!("{} was changed a moment ago", self.file)));
        }
        failpoint::point("land.edit-put-aside");
        let moved = forward();
        if !matches!(moved, Ok(Ok(()))) {
            replace(&self.committed, &self.present)?;
        }
        moved
    }
}

/// Puts a text in the place of another one, where the file holds that; whether it did.
fn replace_text(path: &Path, from: &str, to: &str) -> io::Result<bool> {
    let displaced = stage(path, to.as_bytes())?.exchange()?;
    let is_known = displaced.read()?.as_deref() == Some(from.as_bytes());
    if !is_known {
        displaced.restore_to_target(|path| {
            input::read_file(path).is_ok_and(|now| now == to.as_bytes())
        })?;
    }
    Ok(is_known)
}

impl ReadyLanding {
    /// Looks at how the work of a run can land: the failure where it cannot, none
    /// where it is worked on in place. Changes nothing.
    fn prepare(
        session: &Session<'_>,
        row: &RunRow,
    ) -> Result<Option<Result<Self, Failure>>, Failure> {
        let Some(target) = row.branches.target.as_deref() else {
            return Ok(None);
        };
        let main = &session.project.work_tree;
        let branch = target.branch.clone();
        let here = git::read_checkout(main).and_then(|here| here.branch);
        // Work that began at a commit is where a person merges it.
        let onto = target.onto.clone().or_else(|| here.clone());
        let at = onto
            .as_ref()
            .and_then(|onto| git::tip_of_branch(main, onto));
        let tip = git::tip_of_branch(&session.project.root, &branch);
        let is_whole = match &tip {
            Some(tip) => git::is_built_on(main, tip, &target.tip)?,
            None => false,
        };
        let work = tip.as_ref().filter(|_| is_whole).unwrap_or(&target.tip);
        if let Some(landing) =
            find_reached_landing(session, row, work, onto.as_deref(), at.as_deref())?
        {
            return Ok(Some(Ok(Self::already_there(branch, landing))));
        }
        let commit = match (tip, row.branches.landed.as_deref()) {
            (Some(tip), _) if is_whole => tip,
            (None, Some(landing)) => {
                return Ok(Some(Ok(Self::already_there(branch, landing.clone()))));
            }
            (elsewhere, _) => {
                let failure = target_moved_failure(None, target, elsewhere);
                return Ok(Some(Err(failure)));
            }
        };
        if commit == target.base {
            let name = row.name.clone();
            let why = "nothing is done on its branch";
            return Ok(Some(Err(Refusal::NothingToLand { name, why }.into())));
        }
        let scene = LandingContext {
            session,
            row,
            target,
            here,
        };
        let way = scene.landing_method(at.as_deref(), &commit)?;
        let onto = onto.unwrap_or_default();
        let at = None;
        let landing = Landing { commit, onto, at };
        Ok(Some(way.map(|way| Self {
            branch,
            landing,
            way,
        })))
    }

    fn already_there(branch: String, landing: Landing) -> Self {
        Self {
            branch,
            landing,
            way: LandingMethod::There,
        }
    }

    /// Stores the intent, brings the branch forward, and stores that it is there.
    fn carry_out(&self, session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
        let (run, landing) = (row.id, self.landing.clone());
        session.execute_command(&Command::LandRun { run, landing })?;
        failpoint::point("land.started");
        self.move_branch(session, row)?;
        failpoint::point("land.moved");
        let landing = self.landing.clone();
        session.execute_command(&Command::EndLanding { run, landing })?;
        Ok(())
    }

    fn move_branch(&self, session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
        let Landing { commit, onto, .. } = &self.landing;
        let mark = process::own_mark(&format!("land-{}", row.id));
        let by = GitControl {
            mark: &mark,
            stop: &StopHandle::default(),
        };
        let stays = |why: &str, next: &str| not_landed_failure(&self.branch, onto, why, next);
        match &self.way {
            LandingMethod::There => Ok(()),
            LandingMethod::CheckedOut(tree, edit) => {
                let forward = || git::fast_forward(tree, commit, &by);
                let moved = match edit {
                    Some(edit) => edit.forward_without_edit(tree, forward),
                    None => forward(),
                };
                moved?.map_err(|why| {
                    let next = format!(
                        "see to that, then `{}` or `git merge --ff-only {}`",
                        land_command(&row.name),
                        quote_word(&self.branch)
                    );
                    stays(&why, &next)
                })
            }
            LandingMethod::Ref(at) => {
                let name = format!("refs/heads/{onto}");
                let step = RefStep {
                    from: Some(at),
                    to: Some(commit),
                };
                match git::move_ref(&session.project.work_tree, &name, step, &by)? {
                    RefMove::Moved => Ok(()),
                    RefMove::Elsewhere(_) => Err(stays(
                        "it was moved a moment ago",
                        &format!("see where it is, then `{}`", land_command(&row.name)),
                    )),
                }
            }
        }
    }
}

/// What a landing is looked at in.
struct LandingContext<'a> {
    session: &'a Session<'a>,
    row: &'a RunRow,
    target: &'a TargetRow,
    /// The branch that is checked out in the work tree of the project.
    here: Option<String>,
}

impl LandingContext<'_> {
    fn stays_failure(&self, why: &str, next: &str) -> Failure {
        let onto = self.target.onto.as_deref().unwrap_or("a branch");
        not_landed_failure(&self.target.branch, onto, why, next)
    }

    /// How the branch, which is there at a commit or is gone, gets to the work.
    fn landing_method(
        &self,
        at: Option<&str>,
        commit: &str,
    ) -> Result<Result<LandingMethod, Failure>, Failure> {
        let main = &self.session.project.work_tree;
        let branch = quote_word(&self.target.branch);
        let Some(onto) = self.target.onto.as_deref() else {
            let next = format!("`git switch BRANCH` and `git merge {branch}`");
            let why = "the work began at a commit, and is for no branch";
            return Ok(Err(self.stays_failure(why, &next)));
        };
        let Some(at) = at else {
            let next = format!("`git branch {} {branch}` makes it", quote_word(onto));
            return Ok(Err(self.stays_failure("that branch is gone", &next)));
        };
        if !git::is_built_on(main, commit, at)? {
            return Ok(Err(self.moved_on_failure(onto, at, commit)?));
        }
        if !git::is_built_on(main, at, &self.target.base)? {
            return Ok(Err(self.set_back_failure(onto, at)));
        }
        if self.here.as_deref() == Some(onto) {
            return self.checked_out_method(at, commit);
        }
        if self.here.is_none() {
            let again = land_command(&self.row.name);
            let next = format!("`git switch {}`, then `{again}`", quote_word(onto));
            let why = format!("no branch is checked out in {}", main.display());
            return Ok(Err(self.stays_failure(&why, &next)));
        }
        let trees = git::list_worktrees(main)?;
        let has_it = |tree: &&git::Worktree| {
            let rebased = git::rebased_branch(&tree.path);
            tree.branch.as_deref() == Some(onto) || rebased.as_deref() == Some(onto)
        };
        Ok(match trees.iter().find(has_it) {
            Some(tree) => {
                let (path, quoted) = (tree.path.display(), tree.path.to_string_lossy());
                let next = format!("`git -C {} merge --ff-only {branch}`", quote_word(&quoted));
                Err(self.stays_failure(&format!("it is checked out in {path}"), &next))
            }
            None => Ok(LandingMethod::Ref(at.to_owned())),
        })
    }

    /// That the branch has commits which the work is not built on.
    fn moved_on_failure(&self, onto: &str, at: &str, commit: &str) -> Result<Failure, Failure> {
        let is_here = self.here.as_deref() == Some(onto);
        let switch = match is_here {
            true => String::new(),
            false => format!("`git switch {}`, ", quote_word(onto)),
        };
        // Git refuses to merge over what is in no commit, also what piton writes.
        let changes = match is_here {
            true => self.changes_except(&[], at, commit)?,
            false => Vec::new(),
        };
        let first = match changes.is_empty() {
            true => String::new(),
            false => format!("commit {} first, then ", list_first(&changes, NAMED_MAX)),
        };
        let branch = quote_word(&self.target.branch);
        let next = format!("{first}{switch}`git merge {branch}`");
        let why = format!("{onto} has moved on since the run began");
        Ok(self.stays_failure(&why, &next))
    }

    /// That the branch lacks the commit at which the run began.
    fn set_back_failure(&self, onto: &str, at: &str) -> Failure {
        let (from, began) = (short_commit(at), short_commit(&self.target.base));
        let branch = quote_word(&self.target.branch);
        let next = format!(
            "see that with `git log {from}..{began}`; `git merge {branch}` brings it back with the work"
        );
        let why = format!(
            "{onto} was set back behind {began}, where the run began, and what was taken off would come back"
        );
        self.stays_failure(&why, &next)
    }

    /// How the branch gets to the work where it is checked out in the work tree of the
    /// project.
    fn checked_out_method(
        &self,
        at: &str,
        commit: &str,
    ) -> Result<Result<LandingMethod, Failure>, Failure> {
        let main = &self.session.project.work_tree;
        let changes = self.conflicting_changes(at, commit)?;
        let edit = PlanEdit::find_contained(self, &changes, commit);
        if changes.is_empty() || edit.is_some() {
            return Ok(Ok(LandingMethod::CheckedOut(main.clone(), edit)));
        }
        let (branch, again) = (
            quote_word(&self.target.branch),
            land_command(&self.row.name),
        );
        Ok(Err(self.stays_failure(
            &format!(
                "these have changes that are in no commit: {}",
                list_first(&changes, NAMED_MAX)
            ),
            &format!(
                "put them aside with `git stash`, then `{again}`; or commit them, then `git merge {branch}`"
            ),
        )))
    }

    /// What has changed in the work tree, is in no commit, and is changed by the work as
    /// well. Of a file of the work that git does not track here git says so.
    fn conflicting_changes(&self, at: &str, commit: &str) -> Result<Vec<String>, Failure> {
        let project = &self.session.project;
        let own = own_file_prefixes(project, &self.row.plan.face, &self.row.plan.source);
        self.changes_except(&own, at, commit)
    }

    /// The same beside some files.
    fn changes_except(
        &self,
        beside: &[git::OwnFilePrefix],
        at: &str,
        commit: &str,
    ) -> Result<Vec<String>, Failure> {
        let project = &self.session.project;
        let mut changes = git::tracked_changes(&project.work_tree, beside)?;
        if let Some(work) = git::file_changes(&project.work_tree, at, commit) {
            changes.retain(|changed| work.iter().any(|file| file.path == *changed));
        }
        Ok(changes)
    }
}
