//! What a dead runner left: agents that still work, files that are not needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use piton_core::evidence::ClaimSettings;
use piton_core::flags::RunFlags;
use piton_core::lane::unit_of_node;
use piton_core::policy::Limits;
use piton_core::{AttemptRow, Command, ItemRow, Need, RunId, RunRow, RunState, Tables};

use super::pull_requests::mark_of_pull_requests;
use super::waits::mark_of_wait_commands;
use super::{
    Notice, RunAim, RunnerJob, commit_mark, facts_of_run, format_count, load_run_snapshot,
    open_plan_sync, require_run, run_invocation,
};
use crate::agents::Agent;
use crate::agents::prices::Prices;
use crate::agents::spool::{Spool, SpooledAttempt};
use crate::config::Config;
use crate::failpoint;
use crate::failure::{Failure, unwritable_file};
use crate::native_files::plan_sync::PlanSync;
use crate::process;
use crate::project::Project;
use crate::runner::run_lock::{self, RunLock};
use crate::session::Session;
use crate::world;

/// The spool of a run.
pub(super) fn open_run_spool(session: &Session<'_>, run: RunId) -> Result<Spool, Failure> {
    let folder = session.project.home.join("spool").join(run.to_string());
    Spool::open(&folder).map_err(|error| unwritable_file(&folder, error))
}

/// Where the transcripts of a run are, relative to the home.
pub(super) fn transcripts_folder(row: &RunRow) -> PathBuf {
    Path::new("blobs")
        .join("transcripts")
        .join(sanitize_file_name(&row.name))
}

/// A text as part of a file's name.
pub(super) fn sanitize_file_name(text: &str) -> String {
    let keep = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '.') {
            c
        } else {
            '_'
        }
    };
    text.chars().map(keep).take(100).collect()
}

/// Whether the last runner of a run died, or was ended, before the run came to rest.
pub(super) fn was_interrupted(row: &RunRow) -> bool {
    row.holder.is_some() || row.state == RunState::Interrupted
}

/// A run of which runners are gone.
pub(super) struct OrphanedRun<'a> {
    pub(super) tables: &'a Tables,
    pub(super) run: RunId,
    /// The last runner was cut short: commands that it started may still work.
    pub(super) was_cut_short: bool,
}

/// Ends what still works of runners of a run that are gone, and removes what is in
/// the spool of attempts whose outcome is durable. `living` are the locks of the
/// runners that are there: none for one that has none beside that on the plan.
pub(super) fn end_survivors(
    spool: &Spool,
    orphaned: &OrphanedRun<'_>,
    living: &[Option<&str>],
    grace: Duration,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let OrphanedRun {
        tables,
        run,
        was_cut_short,
    } = *orphaned;
    let mut left = spool
        .list_attempts()
        .map_err(|error| unwritable_file(spool.folder(), error))?;
    // Of one that has just been made it does not stand there yet whose it is.
    left.retain(|spooled| {
        let by = spooled.by.as_deref();
        by != Some("") && !living.contains(&by)
    });
    let is_of_living = |item: &ItemRow| {
        let unit = tables.item(run, &unit_of_node(&item.node));
        let lane = unit.and_then(ItemRow::lane);
        let row = tables.run(run);
        let has_runner = |by| row.is_some_and(|row| row.has_runner(by));
        !living.is_empty() && lane.is_some_and(|lane| has_runner(lane.by))
    };
    let items = tables
        .tree(run)
        .filter(|item| item.work.committing.is_some() && !is_of_living(item));
    // A git that still works would make its commit after it was looked for.
    let mut marks: Vec<String> = items.map(|item| commit_mark(run, &item.node)).collect();
    if was_cut_short {
        marks.extend(mark_of_wait_commands(tables, run));
        marks.extend(mark_of_pull_requests(tables, run));
    }
    if left.is_empty() && marks.is_empty() {
        return Ok(());
    }
    marks.extend(left.iter().map(|spooled| spooled.attempt.clone()));
    end_processes(&marks, &left, grace, tell)?;
    failpoint::point("run.survivors-ended");
    for spooled in &left {
        let open = tables
            .open_attempts()
            .any(|attempt| attempt.id.to_string() == spooled.attempt);
        if !open {
            // What stays is found again by the next runner.
            spool.remove_attempt(&spooled.attempt).ok();
        }
    }
    Ok(())
}

/// Ends the processes that carry a mark or were recorded with an attempt.
fn end_processes(
    marks: &[String],
    left: &[SpooledAttempt],
    grace: Duration,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let recorded: Vec<process::ProcessIdentity> = left
        .iter()
        .filter_map(|spooled| spooled.id.clone())
        .collect();
    let ended = process::end_survivors(marks, &recorded, grace);
    if !ended.ended.is_empty() {
        tell(Notice::Warning(&format!(
            "ended {} that outlived an earlier runner",
            format_count(ended.ended.len(), "process", "processes")
        )));
    }
    let Some(survivor) = ended.left.first() else {
        return Ok(());
    };
    Err(Failure::new(
        "agent.cannot_start",
        format!(
            "process {} of an earlier attempt still works on this run and cannot be ended",
            survivor.id.pid
        ),
    )
    .with_hint("end it by hand, then run again"))
}

/// Removes temporary files of a run whose lock is held. A file that cannot be
/// removed does no harm.
pub(super) fn remove_temporary_files(
    session: &Session<'_>,
    row: &RunRow,
    plan_sync: Option<&mut PlanSync>,
) {
    let home = &session.project.home;
    remove_temporary_in(&home.join("spool").join(row.id.to_string()));
    remove_temporary_in(&home.join(transcripts_folder(row)));
    if let Some(plan_sync) = plan_sync {
        plan_sync.remove_leftovers().ok();
    }
}

/// Removes the files of the `tempfile` crate whose process died before it renamed or
/// removed them.
fn remove_temporary_in(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(".tmp"));
        if random.is_some_and(|random| {
            random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }) {
            let path = entry.path();
            fs::remove_file(&path)
                .or_else(|_| fs::remove_dir_all(&path))
                .ok();
        }
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
    let living = locks.filter(|lock| !run_lock::is_joint_lock_free(project, row, lock));
    living.map(Some).collect()
}

/// Clears up after the dead runner of a run that is not to be run now: it is
/// finished, waits for a person, or was stopped. Nothing to do when a runner
/// lives, or the last one left nothing.
///
/// # Errors
///
/// When the store fails, or an agent still works and cannot be ended.
pub fn clean_up_dead_runner(
    session: &Session<'_>,
    run: RunId,
    grace: Duration,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    let row = require_run(rows.tables.run(run))?;
    if !run_lock::is_free(&session.project, &row) {
        return Ok(());
    }
    let mut pause = world::pause;
    let lock = run_lock::acquire_with_retry(
        &session.project,
        &row.plan.face,
        &row.plan.source,
        &mut pause,
    )?;
    let Some(lock) = lock else {
        return Ok(());
    };
    clean_up_dead_runner_locked(session, &lock, run, grace, tell)
}

/// The same for one whose plan is locked already. The spool and the open commits say
/// what may still work: another process may have recorded since that the runner is dead,
/// and then no runner holds the run any more.
///
/// # Errors
///
/// When the store fails, or an agent still works and cannot be ended.
pub fn clean_up_dead_runner_locked(
    session: &Session<'_>,
    _lock: &RunLock,
    run: RunId,
    grace: Duration,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let (tables, position) = load_run_snapshot(session, run)?;
    let row = require_run(tables.run(run))?;
    let spool = open_run_spool(session, run)?;
    end_survivors(
        &spool,
        &OrphanedRun {
            tables: &tables,
            run,
            was_cut_short: was_interrupted(&row),
        },
        &locks_of_living_runners(&session.project, &row),
        grace,
        tell,
    )?;
    if row.runners().next().is_none() {
        return Ok(());
    }
    let later = session.runs()?;
    let newest = later
        .iter()
        .rfind(|other| other.plan.source == row.plan.source);
    // The file is the newest run's.
    if newest.is_none_or(|newest| newest.id == row.id) {
        let mut plan_sync = open_plan_sync(session, &row, &tables, tell);
        remove_temporary_files(session, &row, plan_sync.as_mut());
        let now = session.world.now();
        if let Some(trouble) =
            plan_sync.and_then(|mut plan_sync| plan_sync.write_now(&tables, position, now))
        {
            tell(Notice::Warning(&trouble.to_string()));
        }
    } else {
        remove_temporary_files(session, &row, None);
    }
    let facts = facts_of_run(session, run);
    for runner in row.runners() {
        let token = runner.token;
        session.commit(&Command::ReleaseRun { run, token }, &facts)?;
    }
    Ok(())
}

/// Ends what a dead runner left under way in a run, as the next one would: what
/// still works is ended, and what is known of its attempts, its checks and its
/// commits is recorded. Nothing is started. Returns the lock of the plan, so that no
/// other process takes the run before the caller is done; none where nothing is under
/// way, or another runner is at work.
///
/// # Errors
///
/// When the store fails, or an agent still works and cannot be ended.
pub fn settle_dead_runner(
    session: &Session<'_>,
    run: RunId,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Option<RunLock>, Failure> {
    let (tables, _) = load_run_snapshot(session, run)?;
    let row = require_run(tables.run(run))?;
    if !has_work_under_way(&tables, run) || !run_lock::is_free(&session.project, &row) {
        return Ok(None);
    }
    // Read before the lock is taken, and names this process.
    let work_tree = run_lock::last_work_tree(&session.project, &row);
    let mut pause = world::pause;
    let lock = run_lock::acquire_with_retry(
        &session.project,
        &row.plan.face,
        &row.plan.source,
        &mut pause,
    )?;
    let Some(lock) = lock else {
        return Ok(None);
    };
    // Another process may have settled it until now.
    let (tables, _) = load_run_snapshot(session, run)?;
    if has_work_under_way(&tables, run) {
        let config = Config::load(&session.project)?;
        let world = session.world.with_agent_secrets(&config.agents);
        if let Some(mut session) = Session::open_writable(&world, &session.project.root)? {
            session.project.work_tree = work_tree.unwrap_or(session.project.work_tree);
            session.project = session.project.with_run_worktree(&row);
            let attempt = tables.open_attempts().next();
            run_invocation(&session, settling_job(run, &config, attempt)?, tell)?;
        }
    }
    Ok(Some(lock))
}

fn has_work_under_way(tables: &Tables, run: RunId) -> bool {
    tables.open_attempts().next().is_some() || tables.tree(run).any(ItemRow::is_under_way)
}

/// What settles a run: nothing of it is used to start anything.
fn settling_job(
    run: RunId,
    config: &Config,
    attempt: Option<&AttemptRow>,
) -> Result<RunnerJob, Failure> {
    let agent = attempt.map_or_else(String::new, |attempt| attempt.agent.clone());
    // One that is not configured any more is read as a program unknown to piton.
    let program = config
        .resolve_agent(&agent)
        .or_else(|_| config.resolve_agent("sh:true"))?;
    let program: Rc<dyn Agent> = program.into();
    Ok(RunnerJob {
        aim: RunAim::Settle,
        run,
        verdict: config.resolve_verdict_by(&agent, None)?,
        agent_limits: config.limits_of_agent(&agent),
        agent,
        program,
        prices: Prices::new(&config.prices),
        config: config.clone(),
        model: attempt.and_then(|attempt| attempt.model.clone()),
        limits: Limits::default(),
        claims: ClaimSettings::default(),
        flags: RunFlags::default(),
        wait: false,
        once: false,
        worktree: None,
        workers: None,
    })
}
