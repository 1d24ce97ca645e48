//! The lock that a runner holds while it lives, and the system frees when it dies.
//!
//! The lease in the journal says who holds a run; this lock says whether a
//! holder on this machine is still there, without waiting for the lease to run
//! out. It is one for all runs of a plan: they share a folder, its files and
//! the work tree. The file says which process took it last, so that a process
//! can find out that it descends from a runner, and in which work tree that
//! process works on which run, so that two do not work in one.
//!
//! A holder that was stopped (Ctrl-Z) keeps its lock, which no process can take away. When
//! its lease has ended, another runner puts a file of its own in the place of that
//! of the lock, as soon as the run is its: see [`claim_from_stopped`]. A runner starts
//! nothing where its file is not in place any more.
//!
//! A lock outlives its process for a moment: until the last copy of its
//! descriptor is closed, which a child has between `fork` and `exec`. So a lock
//! whose process is dead counts as free, and is waited for.

use std::cell::RefCell;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::{HolderLiveness, RunRow};
use serde::{Deserialize, Serialize};
use tempfile::TempPath;

use crate::failure::{Failure, unwritable_file};
use crate::process::{FileInPlace, ProcessIdentity, current_process, has_ended, is_stopped};
use crate::project::Project;
use crate::project::inside::{create_own_folder, open_own_file};
use crate::world::input::sha256;
use crate::world::{self, input};

/// How long apart a lock that is held is looked at again.
const LOOK_TIME: Duration = Duration::from_millis(20);
/// How often one is looked at whose process lives: another one may only have
/// looked whether it is free.
const LOOKS: u32 = 5;
/// How often one is looked at whose process is dead: for two seconds.
const LOOKS_AT_DEAD: u32 = 100;

/// What the file of a lock says of the process that took it last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// The process.
    #[serde(flatten)]
    pub process: ProcessIdentity,
    /// The name of the run that it works on, once it does.
    #[serde(default)]
    pub run: String,
    /// The work tree that it works in.
    #[serde(default)]
    pub work_tree: PathBuf,
}

/// A lock that is held. It is free again when this is dropped, or its process dies.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
    /// Where the file is that is to be put in the place of that of a stopped holder.
    claim: RefCell<Option<TempPath>>,
}

fn lock_path(project: &Project, face: &str, source: &str) -> PathBuf {
    let plan = sha256(format!("{face}\n{source}").as_bytes());
    locks_folder(project).join(format!("{plan}.lock"))
}

fn locks_folder(project: &Project) -> PathBuf {
    project.home.join("locks")
}

/// Takes the lock on a plan; none when a living process holds it.
///
/// # Errors
///
/// When the file of the lock cannot be made.
pub fn acquire(project: &Project, face: &str, source: &str) -> Result<Option<RunLock>, Failure> {
    acquire_at(&lock_path(project, face, source))
}

fn acquire_at(path: &Path) -> Result<Option<RunLock>, Failure> {
    let fault = |error| unwritable_file(path, error);
    if let Some(folder) = path.parent() {
        create_own_folder(folder).map_err(fault)?;
    }
    let mut options = File::options();
    let options = options.create(true).truncate(false).write(true);
    let file = open_own_file(path, options).map_err(fault)?;
    match file.try_lock() {
        // The file of a stopped holder, in whose place there is another one by now.
        Ok(())
            if FileInPlace::of_file(&file, path)
                .map_err(fault)?
                .is_replaced() =>
        {
            Ok(None)
        }
        Ok(()) => {
            write_holder(&file, &LockHolder::of_this_process()).map_err(fault)?;
            Ok(Some(RunLock {
                file,
                path: path.to_owned(),
                claim: RefCell::default(),
            }))
        }
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(fault(error)),
    }
}

/// The process that has the lock on the plan of a run, where that was stopped.
#[must_use]
pub(super) fn find_stopped_holder(project: &Project, row: &RunRow) -> Option<ProcessIdentity> {
    find_stopped_at(
        &lock_path(project, &row.plan.face, &row.plan.source),
        &mut world::pause,
    )
}

/// A process that is traced stops for a moment at each of its calls, and one that goes on
/// may be met as it does: one is stopped that is so at each of several looks.
fn find_stopped_at(path: &Path, pause: &mut dyn FnMut(Duration)) -> Option<ProcessIdentity> {
    let holder = read_holder(path)?;
    let is_stopped = (0..LOOKS).all(|look| {
        if look > 0 {
            pause(LOOK_TIME);
        }
        is_stopped(&holder.process)
    });
    (is_stopped && !is_free_at(path)).then_some(holder.process)
}

/// Removes the claims of processes that were killed before they had the run.
fn remove_left_claims(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_claim = path.extension().is_some_and(|name| name == "claim");
        if is_claim && read_holder(&path).is_some_and(|holder| has_ended(&holder.process)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Makes a lock on a plan that a stopped process holds, beside its file: it gets the place
/// of that one with [`RunLock::complete_claim`]. None where no stopped process holds it.
///
/// # Errors
///
/// When the file of the lock cannot be made.
pub fn claim_from_stopped(
    project: &Project,
    face: &str,
    source: &str,
) -> Result<Option<RunLock>, Failure> {
    let path = lock_path(project, face, source);
    if find_stopped_at(&path, &mut world::pause).is_none() {
        return Ok(None);
    }
    let fault = |error| unwritable_file(&path, error);
    let folder = locks_folder(project);
    // One that stays does no harm.
    remove_left_claims(&folder).ok();
    let beside = tempfile::Builder::new()
        .suffix(".claim")
        .tempfile_in(folder);
    let (file, beside) = beside.map_err(fault)?.into_parts();
    // Others that may work here may read and lock it as well.
    let permissions = fs::metadata(&path).map_err(fault)?.permissions();
    file.set_permissions(permissions).map_err(fault)?;
    file.lock().map_err(fault)?;
    write_holder(&file, &LockHolder::of_this_process()).map_err(fault)?;
    Ok(Some(RunLock {
        file,
        path,
        claim: RefCell::new(Some(beside)),
    }))
}

/// Takes a lock beside that on the plan of a run: of a runner that joins the one
/// that holds it.
///
/// # Errors
///
/// When the file of the lock cannot be made.
pub fn acquire_joint(project: &Project, run: &RunRow, name: &str) -> Result<RunLock, Failure> {
    let path = joint_lock_path(project, run, name);
    match acquire_at(&path)? {
        Some(lock) => Ok(lock),
        None => Err(Failure::new("run.busy", format!("the lock {name} is held"))
            .with_hint("type the command again")),
    }
}

fn joint_lock_path(project: &Project, run: &RunRow, name: &str) -> PathBuf {
    lock_path(project, &run.plan.face, &run.plan.source).with_extension(format!("{name}.lock"))
}

/// Takes the lock on a plan as [`acquire`] does, and waits with `pause` for one
/// that another process only looks at or whose own process is dead.
///
/// # Errors
///
/// When the file of the lock cannot be made.
pub fn acquire_with_retry(
    project: &Project,
    face: &str,
    source: &str,
    pause: &mut dyn FnMut(Duration),
) -> Result<Option<RunLock>, Failure> {
    let path = lock_path(project, face, source);
    let mut looks = 1;
    loop {
        if let Some(lock) = acquire(project, face, source)? {
            return Ok(Some(lock));
        }
        let is_dead = read_holder(&path).is_some_and(|holder| has_ended(&holder.process));
        if looks >= if is_dead { LOOKS_AT_DEAD } else { LOOKS } {
            return Ok(None);
        }
        looks += 1;
        pause(LOOK_TIME);
    }
}

/// What the file of a lock says; none where it says nothing that can be read.
fn read_holder(path: &Path) -> Option<LockHolder> {
    serde_json::from_slice(&input::read_bytes(path).ok()?).ok()
}

/// Whether a runner may work in a work tree in which another one works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeSharing {
    /// It may not.
    #[default]
    Refused,
    /// A person wants it.
    Wanted,
}

impl LockHolder {
    /// This process, which does not work on a run yet.
    fn of_this_process() -> Self {
        Self {
            process: current_process(),
            run: String::new(),
            work_tree: PathBuf::new(),
        }
    }
}

impl RunLock {
    /// What is known of an earlier holder of the run by this lock: that it is gone, or
    /// nothing but its lease, where it was stopped or this process was itself and another
    /// one has the lock by now.
    #[must_use]
    pub fn liveness_of_others(&self) -> HolderLiveness {
        let is_held = self.claim.borrow().is_none()
            && self
                .as_file_in_place()
                .is_ok_and(|file| !file.is_replaced());
        match is_held {
            true => HolderLiveness::Excluded,
            false => HolderLiveness::Nothing,
        }
    }

    /// Whether a stopped process has the lock, and this one only a claim to it.
    #[must_use]
    pub fn is_claim(&self) -> bool {
        self.claim.borrow().is_some()
    }

    /// Puts the file of this lock in the place of that of a stopped holder, whose run has
    /// been taken: for all others the plan is locked by this process from now on.
    ///
    /// # Errors
    ///
    /// When the file cannot be renamed.
    pub fn complete_claim(&self) -> Result<(), Failure> {
        let Some(beside) = self.claim.take() else {
            return Ok(());
        };
        let placed = beside.persist(&self.path);
        placed.map_err(|fault| unwritable_file(&self.path, fault.error))
    }

    /// The file of the lock: nothing is started once another one is in its place.
    ///
    /// # Errors
    ///
    /// When the system does not say which file it is.
    pub fn as_file_in_place(&self) -> Result<FileInPlace, Failure> {
        let file = FileInPlace::of_file(&self.file, &self.path);
        file.map_err(|error| unwritable_file(&self.path, error))
    }

    /// Writes into the file of the lock which run is worked on in the work tree
    /// of `project`. The living runner that works there already, if there is
    /// one and the tree is not to be shared; then nothing is written.
    ///
    /// # Errors
    ///
    /// When a file of the locks cannot be written.
    pub fn enter_tree(
        &self,
        project: &Project,
        run: &str,
        sharing: TreeSharing,
    ) -> Result<Option<LockHolder>, Failure> {
        // Two runners that enter at once must not both find the tree free, and must not
        // both find each other.
        let path = locks_folder(project).join("entering");
        let fault = |error| unwritable_file(&path, error);
        let turn = open_own_file(&path, File::options().create(true).append(true));
        let turn = turn.map_err(fault)?;
        turn.lock().map_err(fault)?;
        if sharing == TreeSharing::Refused
            && let Some(other) = self.find_other_runner(project)
        {
            return Ok(Some(other));
        }
        let holder = LockHolder {
            process: current_process(),
            run: run.to_owned(),
            work_tree: project.work_tree.clone(),
        };
        write_holder(&self.file, &holder).map_err(|error| unwritable_file(&self.path, error))?;
        Ok(None)
    }

    /// The living runner of another plan that works in the same work tree.
    fn find_other_runner(&self, project: &Project) -> Option<LockHolder> {
        find_runner_in_tree(project, Some(&self.path))
    }
}

/// The living runner of any plan that works in the work tree of `project`, but for
/// the one of the lock at `own`.
pub(crate) fn find_runner_in_tree(project: &Project, own: Option<&Path>) -> Option<LockHolder> {
    let entries = fs::read_dir(locks_folder(project)).ok()?.flatten();
    let others = entries
        .map(|entry| entry.path())
        .filter(|path| Some(path.as_path()) != own);
    let mut living = others.filter_map(|path| Some((read_holder(&path)?, path)));
    let found =
        living.find(|(holder, path)| holder.work_tree == project.work_tree && !is_free_at(path));
    found.map(|(holder, _)| holder)
}

/// Writes which process holds the lock, over the one that held it before.
fn write_holder(mut file: &File, holder: &LockHolder) -> std::io::Result<()> {
    let holder = serde_json::to_vec(holder)?;
    file.rewind()?;
    file.write_all(&holder)?;
    file.set_len(holder.len() as u64)
}

/// Whether a plan was ever run here: without that there is no agent.
#[must_use]
pub fn was_ever_acquired(project: &Project) -> bool {
    locks_folder(project).exists()
}

/// The processes that took a lock here last, one for each plan. Most of them
/// are gone; what cannot be read is left out.
#[must_use]
pub fn list_holders(project: &Project) -> Vec<ProcessIdentity> {
    let Ok(entries) = fs::read_dir(locks_folder(project)) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| serde_json::from_slice(&input::read_bytes(&entry.path()).ok()?).ok())
        .collect()
}

/// Whether no living process of this machine works on a run: none holds the lock on
/// its plan, nor one beside it. What cannot be found out counts as held.
#[must_use]
pub fn is_free(project: &Project, run: &RunRow) -> bool {
    let mut names = run
        .runners()
        .filter_map(|runner| runner.lock_name.as_deref());
    is_plan_free(project, run) && names.all(|name| is_joint_lock_free(project, run, name))
}

/// Whether no living process of this machine holds the lock on the plan of a run.
#[must_use]
pub fn is_plan_free(project: &Project, run: &RunRow) -> bool {
    is_free_at(&lock_path(project, &run.plan.face, &run.plan.source))
}

/// Whether no living process of this machine holds this lock beside that on the plan.
#[must_use]
pub fn is_joint_lock_free(project: &Project, run: &RunRow, name: &str) -> bool {
    is_free_at(&joint_lock_path(project, run, name))
}

/// Removes the file of a lock beside that on the plan, which is not needed any more.
pub fn remove_joint_lock(project: &Project, run: &RunRow, name: &str) {
    // A file that stays does no harm.
    fs::remove_file(joint_lock_path(project, run, name)).ok();
}

/// The work tree in which the runner works, or worked last, that took the lock
/// on the plan of a run; none where that is not known or the tree is gone.
#[must_use]
pub fn last_work_tree(project: &Project, run: &RunRow) -> Option<PathBuf> {
    let holder = read_holder(&lock_path(project, &run.plan.face, &run.plan.source))?;
    Some(holder.work_tree).filter(|tree| tree.is_dir())
}

/// Whether the process that took the lock on the plan of a run last is dead.
#[must_use]
pub fn has_holder_ended(project: &Project, face: &str, source: &str) -> bool {
    read_holder(&lock_path(project, face, source)).is_some_and(|holder| has_ended(&holder.process))
}

fn is_free_at(path: &Path) -> bool {
    match input::open_file(path) {
        // Shared, so that two who look do not take each other for a runner.
        Ok(file) => {
            file.try_lock_shared().is_ok()
                || read_holder(path).is_some_and(|holder| has_ended(&holder.process))
        }
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// The names of the locks beside that on the plan that living runners of a run hold.
pub(super) fn locks_of_living_runners<'a>(
    project: &Project,
    row: &'a RunRow,
) -> Vec<Option<&'a str>> {
    let locks = row
        .runners()
        .filter_map(|runner| runner.lock_name.as_deref());
    let living = locks.filter(|lock| !is_joint_lock_free(project, row, lock));
    living.map(Some).collect()
}

/// Whether no runner works on a run any more: the last runner does what is due at its
/// end.
pub(crate) fn is_without_runners(project: &Project, row: &RunRow) -> bool {
    row.holder.is_none() && locks_of_living_runners(project, row).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        folder: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            Self { folder }
        }

        fn project(&self, work_tree: &str) -> Project {
            Project {
                root: self.folder.path().to_owned(),
                home: self.folder.path().join(".piton"),
                work_tree: self.folder.path().join(work_tree),
                in_git: false,
            }
        }

        #[track_caller]
        fn take(&self, source: &str) -> RunLock {
            let lock = acquire(&self.project(""), "face", source).expect("it can be taken");
            lock.expect("no process holds it")
        }
    }

    /// A process that is over.
    #[expect(clippy::disallowed_methods, reason = "a real process that has ended")]
    fn dead() -> ProcessIdentity {
        let mut child = std::process::Command::new("true").spawn().expect("started");
        let identity = ProcessIdentity::of_pid(child.id()).expect("it was not waited for");
        child.wait().expect("it ends");
        identity
    }

    /// Writes into the file of a held lock that this process took it.
    fn taken_by(lock: &RunLock, process: ProcessIdentity) {
        let holder = LockHolder {
            process,
            ..read_holder(&lock.path).expect("it can be read")
        };
        write_holder(&lock.file, &holder).expect("written");
    }

    fn run_row(project: &Project) -> bool {
        is_free_at(&lock_path(project, "face", "demo"))
    }

    #[test]
    fn a_lock_names_the_process_that_took_it_last() {
        let bench = Bench::new();
        let project = bench.project("");
        assert_eq!(list_holders(&project), []);
        assert!(!was_ever_acquired(&project));
        let lock = bench.take("demo");
        assert_eq!(list_holders(&project), [current_process()]);
        drop(lock);
        assert!(was_ever_acquired(&project));
        // A longer text of another process leaves nothing behind.
        let path = lock_path(&project, "face", "demo");
        fs::write(&path, "x".repeat(5_000)).expect("written");
        assert_eq!(list_holders(&project), []);
        let lock = bench.take("demo");
        assert_eq!(list_holders(&project), [current_process()]);
        drop(lock);
    }

    #[test]
    fn a_lock_whose_process_is_dead_is_free_and_waited_for() {
        let bench = Bench::new();
        let project = bench.project("");
        let mut left = Some(bench.take("demo"));
        assert!(!run_row(&project));
        taken_by(left.as_ref().expect("held"), dead());
        assert!(run_row(&project), "no living process holds it");
        let mut pauses = 0;
        let taken = acquire_with_retry(&project, "face", "demo", &mut |_| {
            pauses += 1;
            // The last copy of the descriptor is closed.
            left = left.take().filter(|_| pauses < 30);
        });
        assert!(taken.expect("no fault").is_some());
        assert_eq!(pauses, 30);
    }

    /// A process that was stopped; it is ended when this is dropped.
    struct Suspended(std::process::Child);

    impl Suspended {
        #[expect(clippy::disallowed_methods, reason = "a real process that is stopped")]
        fn start() -> (Self, ProcessIdentity) {
            let mut sleep = std::process::Command::new("sleep");
            let child = Self(sleep.arg("600").spawn().expect("started"));
            child.signal(rustix::process::Signal::STOP);
            let identity = ProcessIdentity::of_pid(child.0.id()).expect("it is there");
            while !is_stopped(&identity) {
                std::thread::yield_now();
            }
            (child, identity)
        }

        fn signal(&self, signal: rustix::process::Signal) {
            let pid = rustix::process::Pid::from_child(&self.0);
            rustix::process::kill_process(pid, signal).expect("it is there");
        }
    }

    impl Drop for Suspended {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }

    #[test]
    fn a_lock_whose_process_is_stopped_is_replaced_and_means_nothing_from_then_on() {
        let bench = Bench::new();
        let project = bench.project("");
        let claim = || claim_from_stopped(&project, "face", "demo").expect("it can be made");
        let stopped = bench.take("demo");
        assert!(claim().is_none(), "its process lives");
        let (_suspended, identity) = Suspended::start();
        taken_by(&stopped, identity);
        drop(claim().expect("its process is stopped"));
        assert_eq!(stopped.liveness_of_others(), HolderLiveness::Excluded);

        let next = claim().expect("its process is stopped");
        assert!(next.is_claim());
        assert_eq!(next.liveness_of_others(), HolderLiveness::Nothing);
        next.complete_claim().expect("renamed");
        assert_eq!(next.liveness_of_others(), HolderLiveness::Excluded);
        assert_eq!(stopped.liveness_of_others(), HolderLiveness::Nothing);
        assert!(!run_row(&project), "the next one holds it");
        drop(next);
        assert!(run_row(&project), "whatever the stopped one has");
        bench.take("demo");
        let left = fs::read_dir(locks_folder(&project)).expect("a folder");
        assert_eq!(left.count(), 1, "no claim is left");
    }

    #[test]
    fn a_process_that_goes_on_between_two_looks_was_not_stopped() {
        let bench = Bench::new();
        let lock = bench.take("demo");
        let (suspended, identity) = Suspended::start();
        taken_by(&lock, identity);
        assert!(find_stopped_at(&lock.path, &mut |_| {}).is_some());
        let mut goes_on = |_| suspended.signal(rustix::process::Signal::CONT);
        assert_eq!(find_stopped_at(&lock.path, &mut goes_on), None);
    }

    #[test]
    fn the_claim_of_a_process_that_was_killed_is_removed_by_the_next() {
        let bench = Bench::new();
        let project = bench.project("");
        let stopped = bench.take("demo");
        let (_suspended, identity) = Suspended::start();
        taken_by(&stopped, identity);
        let claims = ["killed", "at-work"].map(|name| locks_folder(&project).join(name));
        let claims = claims.map(|path| path.with_extension("claim"));
        for (path, process) in claims.iter().zip([dead(), current_process()]) {
            let holder = LockHolder {
                process,
                ..LockHolder::of_this_process()
            };
            fs::write(path, serde_json::to_vec(&holder).expect("JSON")).expect("written");
        }
        let claim = claim_from_stopped(&project, "face", "demo").expect("it can be made");
        assert!(claim.is_some(), "its process is stopped");
        assert_eq!(claims.map(|path| path.exists()), [false, true]);
    }

    #[test]
    fn a_lock_whose_process_lives_is_not_waited_for() {
        let bench = Bench::new();
        let _lock = bench.take("demo");
        let mut pauses = 0;
        let taken = acquire_with_retry(&bench.project(""), "face", "demo", &mut |_| pauses += 1);
        assert!(taken.expect("no fault").is_none());
        assert_eq!(pauses, LOOKS - 1);
    }

    #[test]
    fn one_runner_works_in_a_work_tree_unless_a_person_wants_two() {
        let bench = Bench::new();
        let here = bench.project("");
        let (first, second) = (bench.take("a"), bench.take("b"));
        let enter = |lock: &RunLock, run, sharing| {
            let other = lock.enter_tree(&here, run, sharing).expect("no fault");
            other.map(|holder| holder.run)
        };
        assert_eq!(enter(&first, "a", TreeSharing::Refused), None);
        assert_eq!(
            enter(&second, "b", TreeSharing::Refused).as_deref(),
            Some("a")
        );
        // A linked worktree is another tree.
        let linked = bench.project("linked");
        let other = second.enter_tree(&linked, "b", TreeSharing::Refused);
        assert_eq!(other.expect("no fault"), None);
        assert_eq!(enter(&second, "b", TreeSharing::Wanted), None);
        // One that was let in counts as well.
        drop(first);
        let third = bench.take("c");
        assert_eq!(
            enter(&third, "c", TreeSharing::Refused).as_deref(),
            Some("b")
        );
        taken_by(&second, dead());
        assert_eq!(enter(&third, "c", TreeSharing::Refused), None);
    }
}
