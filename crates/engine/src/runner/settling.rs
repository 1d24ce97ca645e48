//! Clearing up after a dead runner of a run that is not to be run now.

use std::time::Duration;

use piton_core::evidence::ClaimSettings;
use piton_core::flags::RunFlags;
use piton_core::policy::Limits;
use piton_core::{AttemptRow, Command, ItemRow, Need, RunId, RunRow, Tables};

use super::dead_runner::{
    OrphanedRun, end_survivors, open_run_spool, remove_temporary_files, was_interrupted,
};
use super::run_facts::{facts_of_run, load_run_snapshot, open_plan_sync, require_run};
use super::run_invocation;
use super::run_lock::{self, RunLock, locks_of_living_runners};
use super::runner_state::{RunAim, RunnerJob, WorkingAgent};
use crate::agents::prices::Prices;
use crate::config::Config;
use crate::config::trust::TrustCheck;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::session::Session;
use crate::world;

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
    let Some(lock) = lock_plan_of_run(session, &row)? else {
        return Ok(());
    };
    clean_up_dead_runner_locked(session, &lock, run, grace, tell)
}

/// The lock of the plan of a run; none where another process has it.
fn lock_plan_of_run(session: &Session<'_>, row: &RunRow) -> Result<Option<RunLock>, Failure> {
    let (face, source) = (&row.plan.face, &row.plan.source);
    run_lock::acquire_with_retry(&session.project, face, source, &mut world::pause)
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
    let Some(lock) = lock_plan_of_run(session, &row)? else {
        return Ok(None);
    };
    // Another process may have settled it until now.
    let (tables, _) = load_run_snapshot(session, run)?;
    if has_work_under_way(&tables, run) {
        let config = Config::load(&session.project)?;
        let world = session.world.with_agent_secrets(config.agent_variables());
        if let Some(mut session) = Session::open_writable(&world, &session.project.root)? {
            session.project.work_tree = work_tree.unwrap_or(session.project.work_tree);
            session.project = session.project.with_run_worktree(&row);
            let attempt = tables.open_attempts().next();
            run_invocation(
                &session,
                settling_job(&session, run, &config, attempt)?,
                tell,
            )?;
        }
    }
    Ok(Some(lock))
}

fn has_work_under_way(tables: &Tables, run: RunId) -> bool {
    tables.open_attempts().next().is_some() || tables.tree(run).any(ItemRow::is_under_way)
}

/// What settles a run: nothing of it is used to start anything.
fn settling_job(
    session: &Session<'_>,
    run: RunId,
    config: &Config,
    attempt: Option<&AttemptRow>,
) -> Result<RunnerJob, Failure> {
    let agent = attempt.map_or_else(String::new, |attempt| attempt.agent.clone());
    // One that is not configured any more is read as a program unknown to piton.
    let world = session.world;
    let working = WorkingAgent::resolve(world, config, &agent, None)
        .or_else(|_| WorkingAgent::resolve(world, config, "sh:true", None))?;
    let working = WorkingAgent {
        recorded_name: agent.clone(),
        name: agent,
        ..working
    };
    Ok(RunnerJob {
        trust: TrustCheck::open(session.world, &session.project),
        aim: RunAim::Settle,
        run,
        agents: vec![working],
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
        plan_lock: None,
    })
}
