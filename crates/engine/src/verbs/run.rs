//! `piton run`: what is to be run, whether it may be, and the running of it.

mod definition;
mod earlier_runs;
mod held_up;
pub(crate) mod plan_path;
mod remembered_flags;
mod request;
pub(crate) mod secrets;
mod sprint_plan;
mod takeover;
mod unknown_keys;

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use piton_core::command::EditAuthor;
use piton_core::contradiction::find_contradiction;
use piton_core::evidence::{Baseline, Worth};
use piton_core::flags::RunFlags;
use piton_core::native::Native;
use piton_core::plan::PlannedItem;
use piton_core::policy::Limits;
use piton_core::run::{Pause, RunHolder};
use piton_core::standing::StandingCounts;
use piton_core::trust::{ExecutablePart, PartKind, parts_of_plan, parts_of_run, without_repeats};
use piton_core::{Command, DecisionRow, ItemState, Need, RunId, RunRow, RunState, Tables};
use piton_formats::plan_file::PlanFile;
use piton_formats::registry::{describe_plan_kinds, plan_format, plan_kind};
use serde::Serialize;

use self::earlier_runs::adopt_earlier_runs;
pub use self::plan_path::ItemCounts;
use self::plan_path::PlanPath;
use self::remembered_flags::RememberedRequest;
pub use self::request::RunRequest;
use self::request::{PlanKey, RunTarget, TargetPlan};
use self::sprint_plan::{SprintRun, plan_of_sprint};
use self::unknown_keys::warn_deviations;
use super::compile::{SprintPath, has_definition, sprint_path};
use super::init::enable_companion_files;
use super::land::land_at_end;
use crate::agents;
use crate::agents::prices::Prices;
use crate::agents::program_table::{self, program_names};
use crate::agents::{Agent, ProgramSearch};
use crate::config::Config;
use crate::config::trust::{self, TrustCheck};
use crate::failpoint;
use crate::failure::notice::Notice;
use crate::failure::{CommandExit, Failure, failure_of_run_state, unwritable_file};
use crate::git::history;
use crate::git::repositories::PlanRepositories;
use crate::git::worktree::{self, RunWorktree};
use crate::lies::EvidenceRule;
use crate::native_files::copies::store_copy_beside;
use crate::native_files::plan_file_owner::{is_unchanged_since_write, run_of_file};
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::native_files::plan_sync::{adopt_plan_file, settle_superseded_questions};
use crate::native_files::{FileNotice, describe_open_question, merged_marks};
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::project::own_store::refuse_tracked_store;
use crate::runner::closing::{close_done_items, closing_part};
use crate::runner::notify;
use crate::runner::own_files::refuse_foreign_changes;
use crate::runner::run_lock::{self, TreeSharing};
use crate::runner::run_standing::{RunStanding, exit_of_run};
use crate::runner::run_worktrees::{self, CleanupOccasion};
use crate::runner::stopped_holder::{LeaseState, StoppedHolder};
use crate::runner::trust_questions::{ask_in_inbox, settle_questions};
use crate::runner::{self, InvocationEnd, RunAim, RunnerJob, WorkingAgent};
use crate::session::{self, Session, open_runs, replacing_run};
use crate::verbs::account::Account;
use crate::verbs::item_view::{ItemView, Viewer};
use crate::verbs::open_questions::open_file_questions;
use crate::verbs::trust::PartView;
use crate::world::input;
use crate::world::{self, World};

/// What came of it.
#[derive(Debug)]
pub enum RunAnswer {
    /// An invocation ended; the run as it left it.
    Ran(Box<EndedRun>),
    /// There was nothing to do: the run is finished.
    Finished(Box<EndedRun>),
    /// What would be done.
    Dry(Box<DryRun>),
}

/// What would be done, as things stand.
#[derive(Debug, Default, Serialize)]
pub struct DryRun {
    /// The items, in the order in which they would be done.
    pub items: Vec<ItemView>,
    /// What would be executed for them, trusted or not: the agent as it is started,
    /// without its prompt, checks, waits, hooks and the commands of the configuration.
    pub commands: Vec<PartView>,
    /// How many more wait for a person, have failed, or stand behind such a one.
    #[serde(skip)]
    pub held_up: usize,
    /// What the run waits for, and what to type, where nothing can be started.
    #[serde(skip)]
    pub waits: Option<Failure>,
}

crate::name_schema!(DryRun, "piton.run.dry/1");

/// A run that no runner works on any more.
#[derive(Clone, Debug)]
pub struct EndedRun {
    /// As it was left.
    pub row: RunRow,
    /// The questions about its file and those of the project that are open.
    pub asked: Vec<DecisionRow>,
    /// What came of its items; none of a run that was over before.
    pub account: Option<Account>,
    /// What to type to go on with what is ready, where the run was to stop at
    /// the first failure.
    pub next: Option<String>,
    /// Who goes on with it, where others do.
    pub goes_on_with: Option<String>,
    /// A signal ended the invocation.
    pub by_signal: bool,
}

impl EndedRun {
    /// What the process ends with.
    #[must_use]
    pub fn exit_code(&self) -> CommandExit {
        match &self.goes_on_with {
            // What comes of the run is for those to say.
            Some(_) if !self.by_signal => CommandExit::Done,
            _ => exit_of_run(&self.row, &self.asked),
        }
    }
}

/// Works through a plan.
///
/// # Errors
///
/// Before anything is started: when the plan cannot be read, is not in a state
/// to be run, or asks for something that piton cannot do. Afterwards: when the
/// store fails, or the agent cannot be started.
pub fn run(
    world: &World,
    request: &RunRequest,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<RunAnswer, Failure> {
    let target = resolve_worktree_copy(world, find_target(world, request)?, tell)?;
    let config = Config::load(&target.project)?;
    let world = &world.with_agent_secrets(config.agent_variables());
    let remembered = remembered_flags::fill_in_flags(world, request, &target)?;
    let trust = TrustCheck::open(world, &target.project);
    let asked = RequestContext {
        remembered: &remembered,
        target: &target,
        config: &config,
        trust: &trust,
    };
    if remembered.request.dry_run {
        return work_on_plan(world, &asked, tell);
    }
    // What a journal says that came with the repository is no trust.
    refuse_tracked_store(&target.project)?;
    adopt_earlier_runs(world, &target.project, &trust)?;
    // The agent that the run remembers may come from another machine with its journal.
    if let Some(typed) = &request.agent {
        trust.trust_typed(world, trust::typed_agent(typed));
    }
    let notifying = notify::Notifying {
        project: &target.project,
        config: &config.notify,
        trust: &trust,
    };
    let worked = notify::run_with_notifications(world, notifying, |nudge| {
        work_on_plan(world, &asked, &mut |notice| {
            nudge.wake_if_news(&notice);
            tell(notice);
        })
    });
    worked.map_err(|failure| remembered.complete_hint(failure))
}

/// What is asked for, with what it is about.
struct RequestContext<'a> {
    remembered: &'a RememberedRequest,
    target: &'a RunTarget,
    config: &'a Config,
    trust: &'a TrustCheck,
}

fn work_on_plan(
    world: &World,
    asked: &RequestContext<'_>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<RunAnswer, Failure> {
    let RequestContext {
        remembered, target, ..
    } = *asked;
    let RememberedRequest {
        request,
        taken_over,
        ..
    } = remembered;
    if request.dry_run {
        return dry_run(world, asked);
    }
    let mut prepared = prepare_run(world, request, target, tell)?;
    if request.join {
        let parts = parts_to_execute(world, asked, &prepared, None)?;
        require_trust(world, asked, parts, tell)?;
        return join_run(world, asked, &prepared, tell);
    }
    if prepared.is_new_to_piton(&target.project) {
        warn_deviations(
            &target.project,
            prepared.plan_key(),
            prepared.native(),
            tell,
        );
    }
    if let Some(answer) = answer_without_work(world, asked, &mut prepared, tell)? {
        return Ok(answer);
    }
    if !taken_over.is_empty() {
        tell(Notice::Said(&format!(
            "as before, with {}",
            taken_over.join(" ")
        )));
    }
    let agents = resolve_chosen_agents(world, asked)?;
    if matches!(prepared, PreparedRun::Fresh(_)) {
        // Before there is a store: a question is what makes one then.
        let parts = parts_to_execute(world, asked, &prepared, None)?;
        require_trust(world, asked, parts, tell)?;
    }
    let mut session = Session::open_or_create(world, target.project.clone(), &mut |text| {
        tell(Notice::Said(text))
    })?;
    let plan = prepared.plan_key();
    let lock = match acquire_lock(&session, plan)? {
        None => claim_lock(&session, &prepared)?,
        lock => lock,
    };
    let Some(lock) = lock else {
        return Err(busy_failure(&session, plan)?);
    };
    work_under_lock(&mut session, asked, agents, lock, prepared, tell)
}

/// Works on a plan whose lock was acquired.
fn work_under_lock(
    session: &mut Session<'_>,
    asked: &RequestContext<'_>,
    agents: Vec<WorkingAgent>,
    lock: run_lock::RunLock,
    prepared: PreparedRun,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<RunAnswer, Failure> {
    let world = session.world;
    let (request, config) = (&asked.remembered.request, asked.config);
    // The process that held the lock until now may have planned, or finished the work.
    let prepared = match prepared {
        PreparedRun::Fresh(fresh) if fresh.is_current(session, request)? => {
            PreparedRun::Fresh(fresh)
        }
        PreparedRun::Known(_) | PreparedRun::Fresh(_) => {
            // A large plan is not kept twice.
            drop(prepared);
            prepare_run(world, request, asked.target, &mut |_| {})?
        }
    };
    match &prepared {
        PreparedRun::Known(row) => refuse_rest(session, row)?,
        // A stopped process may still begin another one.
        PreparedRun::Fresh(_) if lock.is_claim() => {
            return Err(busy_failure(session, prepared.plan_key())?);
        }
        PreparedRun::Fresh(_) => {}
    }
    let run = prepared.run_id();
    let items = session.load(&[Need::Run(run), Need::Tree(run)])?.tables;
    refuse_contradiction(&items, run)?;
    let parts = parts_to_execute(world, asked, &prepared, Some(&items))?;
    require_trust(world, asked, parts, tell)?;
    settle_questions(session, &names_of_plan(asked, &prepared), None)?;
    let worktree = prepared.worktree_order(&session.project, request, Some(&items))?;
    drop(items);
    for agent in &agents {
        check_program_in_worktree(worktree.as_ref(), request, &*agent.program)?;
    }
    let main = session.project.clone();
    let project = worktree
        .as_ref()
        .map_or(main.clone(), |order| order.project_in_worktree(&main));
    let sharing = if request.same_tree {
        TreeSharing::Wanted
    } else {
        TreeSharing::Refused
    };
    refuse_shared_tree(&project, &lock, prepared.name(), sharing)?;
    let grace = config.agent.process_limits().grace;
    clean_up_replaced_runs(session, &lock, &prepared, grace, tell)?;
    let run = prepared.run_id();
    if let PreparedRun::Fresh(fresh) = prepared {
        fresh.begin_run(session, tell)?;
    }
    // What was taken over may be finished already.
    let row = session.load(&[Need::Run(run)])?.tables.run(run).cloned();
    let face = row
        .as_ref()
        .map_or_else(String::new, |row| row.plan.face.clone());
    if let Some(row) = row.filter(|row| row.state == RunState::Done) {
        return Ok(RunAnswer::Finished(ended_run(session, row, false)?));
    }
    // Where the runner works, once it has made that.
    session.project = project;
    failpoint::point("run.locked");
    for former in config.claims.deprecated_names() {
        tell(Notice::Said(&former));
    }
    let lock = Rc::new(lock);
    let job = RunnerJob {
        worktree,
        plan_lock: Some(Rc::clone(&lock)),
        ..runner_job(world, asked, agents, run, &face)
    };
    run_locked_job(session, job, lock, tell)
}

/// Imports what the file of a known run says by now, and refuses what may not be run. The
/// answer where there is nothing to do.
fn answer_without_work(
    world: &World,
    asked: &RequestContext<'_>,
    prepared: &mut PreparedRun,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Option<RunAnswer>, Failure> {
    let RequestContext {
        remembered,
        target,
        config,
        ..
    } = *asked;
    let project = &target.project;
    if let PreparedRun::Known(row) = prepared {
        import_edits(world, project, row, tell)?;
        import_repositories(world, project, row, tell)?;
    }
    match &*prepared {
        PreparedRun::Known(row) => {
            report_definition_changes(target, row, tell);
            let grace = config.agent.process_limits().grace;
            answer_at_rest(world, project, row, grace, tell)
        }
        PreparedRun::Fresh(fresh) => {
            // First this: an agent at work changes the work tree.
            refuse_held(world, project, prepared.plan_key(), None)?;
            // Nor is one recorded whose worktree cannot be made.
            if prepared
                .worktree_order(project, &remembered.request, None)?
                .is_none()
            {
                fresh.refuse_dirty(project)?;
            }
            Ok(None)
        }
    }
}

/// A run, with what it would execute.
struct PreparedParts<'a> {
    prepared: &'a PreparedRun,
    parts: Vec<ExecutablePart>,
}

/// What a run would execute, as things stand; `items` are its rows, where they are at
/// hand.
fn parts_to_execute<'a>(
    world: &World,
    asked: &RequestContext<'_>,
    prepared: &'a PreparedRun,
    items: Option<&Tables>,
) -> Result<PreparedParts<'a>, Failure> {
    let agents = choose_agents(world, &asked.remembered.request, asked.config);
    let mut parts = trust::config_parts(asked.config, &agents.unwrap_or_default());
    match prepared {
        PreparedRun::Fresh(fresh) => parts.extend(parts_of_plan(&fresh.plan)),
        PreparedRun::Known(row) => {
            if let Some(items) = items {
                parts.extend(parts_of_run(items, row.id));
            } else if let Some(session) =
                Session::open_read_only(world, &asked.target.project.root)?
            {
                let needs = [Need::Run(row.id), Need::Tree(row.id)];
                parts.extend(parts_of_run(&session.load(&needs)?.tables, row.id));
            }
        }
    }
    let PlanKey { face, source } = prepared.plan_key();
    parts.extend(closing_part(world, face, source));
    Ok(PreparedParts { prepared, parts })
}

/// The names by which a plan may be asked about: those that commands know first.
fn names_of_plan<'a>(
    asked: &'a RequestContext<'_>,
    prepared: &'a PreparedRun,
) -> [Option<&'a str>; 3] {
    let typed = asked.remembered.request.plan.as_deref();
    let (name, source) = (Some(prepared.name()), Some(prepared.plan_key().source));
    match prepared {
        PreparedRun::Known(_) => [typed, name, source],
        // No command finds it by its name yet.
        PreparedRun::Fresh(_) => [typed, source, name],
    }
}

/// Refuses to start anything of a run in which something is not trusted.
fn require_trust(
    world: &World,
    asked: &RequestContext<'_>,
    parts: PreparedParts<'_>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let PreparedParts {
        prepared,
        parts: list,
    } = parts;
    let request = asked.remembered.request.trust;
    let plan = asked.remembered.request.plan.as_deref();
    let ask = |parts: &[ExecutablePart]| {
        let project = asked.target.project.clone();
        let session =
            Session::open_or_create(world, project, &mut |text| tell(Notice::Said(text)))?;
        ask_in_inbox(&session, &names_of_plan(asked, prepared), parts)
    };
    // The hash of all that `piton trust --show` lists holds as well.
    let listed = list
        .iter()
        .cloned()
        .chain(trust::all_config_parts(asked.config));
    asked.trust.allow_given(listed.collect());
    let required = asked.trust.require(world, list, request, ask);
    required.map_err(|failure| trust::name_plan(failure, plan))
}

/// What would be executed and is not trusted.
pub(crate) struct UntrustedParts {
    pub(crate) project: Project,
    pub(crate) parts: Vec<ExecutablePart>,
    /// The names of the plans that are meant.
    pub(crate) plans: Vec<Option<String>>,
}

/// What a run of a plan would execute and is not trusted. Writes nothing.
///
/// # Errors
///
/// As [`run`], before anything is started.
pub(crate) fn untrusted_parts(
    world: &World,
    request: &RunRequest,
) -> Result<UntrustedParts, Failure> {
    let target = resolve_worktree_copy(world, find_target(world, request)?, &mut |_| {})?;
    let config = Config::load(&target.project)?;
    let remembered = remembered_flags::fill_in_flags(world, request, &target)?;
    let trust = TrustCheck::open(world, &target.project);
    if let Some(typed) = &request.agent {
        trust.allow(&[trust::typed_agent(typed)]);
    }
    let asked = RequestContext {
        remembered: &remembered,
        target: &target,
        config: &config,
        trust: &trust,
    };
    let prepared = prepare_run(world, &remembered.request, &target, &mut |_| {})?;
    let mut parts = parts_to_execute(world, &asked, &prepared, None)?.parts;
    // Where no agent is named, a run may name any of the configuration.
    if request.agent.is_none() {
        parts.extend(trust::all_config_parts(&config));
    }
    let plans = names_of_plan(&asked, &prepared).map(|name| name.map(str::to_owned));
    Ok(UntrustedParts {
        project: target.project.clone(),
        parts: trust.untrusted(parts),
        plans: plans.into(),
    })
}

/// The agents that a run is worked on with; the programs of all are there.
fn resolve_chosen_agents(
    world: &World,
    asked: &RequestContext<'_>,
) -> Result<Vec<WorkingAgent>, Failure> {
    let (request, config) = (&asked.remembered.request, asked.config);
    let project = &asked.target.project;
    let names = choose_agents(world, request, config)?;
    let resolve = |name: &String| {
        let agent = WorkingAgent::resolve(world, config, name, request.verdict)?;
        check_program(world, project, request.model.as_deref(), &*agent.program)?;
        Ok(agent)
    };
    names.iter().map(resolve).collect()
}

/// Refuses a run whose rows cannot be true: it would end with items that were never
/// reached, and a report of it would miss them.
pub(super) fn refuse_contradiction(items: &Tables, run: RunId) -> Result<(), Failure> {
    let Some(what) = find_contradiction(items, run) else {
        return Ok(());
    };
    let name = items.run(run).map_or("", |row| row.name.as_str());
    let what = format!("the views of run `{name}` are damaged: {what}");
    Err(Failure::new("store.damaged", what).with_hint(
        "`piton journal verify` says whether the events are whole; `piton store rebuild` makes the views of them anew",
    ))
}

/// The worktree that a run wants or has needs the program of the agent, where that is
/// named by a path below it.
fn check_program_in_worktree(
    worktree: Option<&RunWorktree>,
    request: &RunRequest,
    program: &dyn Agent,
) -> Result<(), Failure> {
    let order = agents::preflight_options(request.model.as_deref());
    if let Some(worktree) = worktree
        && let Some(program) = agents::relative_program(program, &order)?
    {
        worktree.refuse_missing_program(&program)?;
    }
    Ok(())
}

/// Cleans up after the dead runners of the runs that give way to this one.
fn clean_up_replaced_runs(
    session: &Session<'_>,
    lock: &run_lock::RunLock,
    prepared: &PreparedRun,
    grace: std::time::Duration,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let (run, source) = (prepared.run_id(), prepared.plan_key().source);
    for row in session.runs()? {
        // What gives way to this run may still have an agent at work here.
        if row.plan.source == source && row.id != run {
            runner::clean_up_dead_runner_locked(session, lock, row.id, grace, tell)?;
        }
    }
    Ok(())
}

/// The job of a runner that works on a run of a plan with this face, in place.
fn runner_job(
    world: &World,
    asked: &RequestContext<'_>,
    agents: Vec<WorkingAgent>,
    run: RunId,
    face: &str,
) -> RunnerJob {
    let (request, config) = (&asked.remembered.request, asked.config);
    let mut claims = config.claims.claims_of_kind(plan_kind(face));
    if EvidenceRule::Baseline.is_off(world) {
        claims.baseline = Baseline::Never;
    }
    if EvidenceRule::WordAsks.is_off(world) {
        claims.rules.word = Worth::Accept;
    }
    RunnerJob {
        aim: RunAim::Work,
        run,
        agents,
        prices: Prices::new(&config.prices),
        config: config.clone(),
        model: request.model.clone(),
        limits: config.budget.run_limits().with_overrides(&request.limits),
        claims,
        flags: remembered_flags::without_secrets(
            world,
            remembered_flags::flags_of_request(world, request, &asked.target.project),
        ),
        wait: request.wait,
        once: request.once,
        worktree: None,
        workers: request.workers,
        trust: asked.trust.clone(),
        plan_lock: None,
    }
}

/// Works on a run whose lock is held, and sees to what is left to do at its end.
fn run_locked_job(
    session: &Session<'_>,
    job: RunnerJob,
    lock: Rc<run_lock::RunLock>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<RunAnswer, Failure> {
    let run = job.run;
    let trust = job.trust.clone();
    let worked = runner::run_invocation(session, job, tell);
    close_done_items(session, run, &trust, tell);
    runner::commit_target_files(session, run, tell);
    runner::drop_merged_refs(session, run);
    if let Ok(end) = &worked {
        // A runner that joined waits for the lock, and ends with what has landed.
        show_and_land(session, &end.row, tell);
    }
    drop(lock);
    run_worktrees::reattach_branches(session, tell);
    let InvocationEnd { row, by_signal } = worked?;
    if run_lock::is_without_runners(&session.project, &row) {
        run_worktrees::remove_finished_worktrees(session, CleanupOccasion::EndOfRun, tell);
    }
    let is_old = row.state == RunState::Done && row.invocation.invocations == 0;
    let ended = ended_run(session, row, by_signal)?;
    Ok(if is_old {
        RunAnswer::Finished(ended)
    } else {
        RunAnswer::Ran(ended)
    })
}

/// That the run is over is shown as well, and its work lands.
fn show_and_land(session: &Session<'_>, row: &RunRow, tell: &mut dyn FnMut(Notice<'_>)) {
    if !run_lock::is_without_runners(&session.project, row) {
        return;
    }
    super::sync_project_files(session, tell);
    if land_at_end(session, row, tell) {
        super::sync_project_files(session, tell);
    }
    runner::warn_unmerged_lanes(session, row, tell);
}

/// Works on a run beside the runner that holds it.
fn join_run(
    world: &World,
    asked: &RequestContext<'_>,
    prepared: &PreparedRun,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<RunAnswer, Failure> {
    let RequestContext {
        remembered,
        target,
        config,
        ..
    } = *asked;
    let request = &remembered.request;
    let PreparedRun::Known(row) = prepared else {
        return Err(not_joined_failure(prepared.name(), "it has not begun"));
    };
    refuse_to_join(&target.project, row)?;
    let agents = resolve_chosen_agents(world, asked)?;
    let session = Session::open_or_create(world, target.project.clone(), &mut |text| {
        tell(Notice::Said(text))
    })?;
    let job = RunnerJob {
        aim: RunAim::Join,
        run: row.id,
        agents,
        prices: Prices::new(&config.prices),
        config: config.clone(),
        model: request.model.clone(),
        limits: Limits::default(),
        claims: row.invocation.claims.clone(),
        flags: RunFlags::default(),
        wait: false,
        once: false,
        worktree: None,
        workers: request.workers,
        trust: asked.trust.clone(),
        plan_lock: None,
    };
    let run = job.run;
    let worked = runner::run_invocation(&session, job, tell);
    runner::commit_target_files(&session, run, tell);
    runner::drop_merged_refs(&session, run);
    run_worktrees::reattach_branches(&session, tell);
    let InvocationEnd { row, by_signal } = worked?;
    show_and_land(&session, &row, tell);
    if run_lock::is_without_runners(&session.project, &row) {
        run_worktrees::remove_finished_worktrees(&session, CleanupOccasion::EndOfRun, tell);
    }
    Ok(RunAnswer::Ran(ended_run(&session, row, by_signal)?))
}

/// Only a run that a runner works on in lanes can be joined.
fn refuse_to_join(project: &Project, row: &RunRow) -> Result<(), Failure> {
    let is_held = row.runners().next().is_some() && !run_lock::is_free(project, row);
    match (
        is_held && row.state == RunState::Running,
        &row.branches.lanes,
    ) {
        (true, Some(_)) => Ok(()),
        (true, None) => {
            let name = quote_word(&row.name);
            let what = format!(
                "run `{}` is worked on in the work tree, where there is room for one runner",
                row.name
            );
            Err(Failure::new("run.state", what).with_hint(format!(
                "stop it with `piton stop {name}`, then begin in lanes with `piton run {name} --workers 2`"
            )))
        }
        (false, _) => Err(not_joined_failure(&row.name, "no runner works on it")),
    }
}

fn not_joined_failure(name: &str, why: &str) -> Failure {
    Failure::new("run.state", format!("run `{name}` cannot be joined: {why}"))
        .with_hint(format!("work on it with `piton run {}`", quote_word(name)))
}

fn ended_run(
    session: &Session<'_>,
    row: RunRow,
    by_signal: bool,
) -> Result<Box<EndedRun>, Failure> {
    let asked = open_file_questions(session, &row)?;
    let rows = session.load(&[
        Need::Run(row.id),
        Need::Tree(row.id),
        Need::OpenDecisions(Some(row.id)),
    ])?;
    let viewer = Viewer {
        tables: &rows.tables,
        now: session.world.now(),
        live: false,
        current: None,
    };
    let account = Account::of_run(&viewer, row.id)
        .map(|account| account.with_work_place(session, &rows.tables, row.id));
    let stopped = matches!(row.state, RunState::Waiting | RunState::Blocked) && row.pause.is_none();
    let is_ready = StandingCounts::count_items(rows.tables.tree(row.id)).active > 0;
    let works = |runner: &&RunHolder| match &runner.lock_name {
        Some(name) => !run_lock::is_joint_lock_free(&session.project, &row, name),
        None => !run_lock::is_plan_free(&session.project, &row),
    };
    let works_on = || row.runners().find(works).map(|other| other.owner.clone());
    let goes_on_with = (row.state == RunState::Running).then(works_on).flatten();
    Ok(Box::new(EndedRun {
        goes_on_with,
        by_signal,
        next: (stopped && is_ready).then(|| format!("piton run {}", quote_word(&row.name))),
        row,
        asked,
        account,
    }))
}

/// Imports the repositories that were added to the files of a run without a runner.
fn import_repositories(
    world: &World,
    project: &Project,
    row: &mut Box<RunRow>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let Some(found) =
        PlanRepositories::read_plan(world, project, &row.plan.face, &row.plan.source)?
    else {
        return Ok(());
    };
    let Some(session) = Session::open_writable(world, &project.root)? else {
        return Ok(());
    };
    let rows = session.load(&[Need::Tree(row.id)])?;
    let edits = found.edits_for_new_repositories(world, row, &rows.tables)?;
    if edits.is_empty() || !run_lock::is_free(project, row) {
        return Ok(());
    }
    session.execute_command(&Command::TakeEdits {
        run: row.id,
        token: None,
        file: PlanFile::path_of_run(row).unwrap_or_default(),
        edits,
        word: EditAuthor::Piton,
    })?;
    let known = row.plan.policy.repositories.take().unwrap_or_default();
    if let Some(now) = session.load(&[Need::Run(row.id)])?.tables.run(row.id) {
        **row = now.clone();
    }
    let others = row.plan.policy.repositories.iter();
    let mut others = others.flat_map(|known| &known.others);
    for name in others.by_ref().filter(|name| !known.others.contains(name)) {
        tell(Notice::Said(&format!(
            "`{name}` is a repository of run `{}` from now on",
            row.name
        )));
    }
    Ok(())
}

/// Imports what a person wrote into the file of a run that no runner works on: it may
/// be what lets the run go on.
fn import_edits(
    world: &World,
    project: &Project,
    row: &mut Box<RunRow>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    if !run_lock::is_free(project, row) {
        return Ok(());
    }
    let Some(session) = Session::open_writable(world, &project.root)? else {
        return Ok(());
    };
    let is_asked = sync_and_report(&session, row, tell)?;
    if !is_asked {
        // A person who was asked yesterday may have forgotten.
        for asked in open_file_questions(&session, row)? {
            let file = asked.file.unwrap_or_default();
            tell(Notice::Warning(&describe_open_question(&file)));
        }
    }
    if runner::resume_after_merge(&session, row)? {
        // What was merged without its mark is ticked, also where that was the last.
        sync_and_report(&session, row, tell)?;
    }
    if let Some(now) = session.load(&[Need::Run(row.id)])?.tables.run(row.id) {
        **row = now.clone();
    }
    Ok(())
}

/// Shows a run in its file, and tells what came of that. Whether a person is asked
/// about the file.
fn sync_and_report(
    session: &Session<'_>,
    row: &RunRow,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<bool, Failure> {
    let news = sync_plan_file(session, row)?;
    FileNotice::emit_all(&news, tell);
    let is_asked = |one: &FileNotice| matches!(one, FileNotice::Asked(_) | FileNotice::Left(_));
    Ok(news.iter().any(is_asked))
}

/// A run is what was planned, whatever its definition says now.
fn report_definition_changes(target: &RunTarget, row: &RunRow, tell: &mut dyn FnMut(Notice<'_>)) {
    let TargetPlan::Sprint(sprint) = &target.what else {
        return;
    };
    if definition::has_changed(&target.project.home, row.id, sprint) {
        tell(Notice::Warning(&format!(
            "{} has changed since run `{}` was planned, and what changed is no part of it; `--recompile` begins anew with it",
            sprint.file.display(),
            row.name
        )));
    } else if row.state == RunState::New {
        tell(Notice::Said(&format!(
            "run `{}` is begun as it was planned before; `--recompile` takes in what has changed since",
            row.name
        )));
    }
}

/// Names the branches that have work of a finished run which is not checked out.
fn warn_done_elsewhere(
    session: &Session<'_>,
    row: &RunRow,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let rows = session.load(&[Need::Run(row.id), Need::Tree(row.id)])?;
    let found = history::branches_of_done_items(&session.project, &rows.tables, row.id);
    let branches: BTreeSet<&String> = found.values().collect();
    for branch in branches {
        let count = found.values().filter(|on| *on == branch).count();
        let items = if count == 1 { "item" } else { "items" };
        let are = if count == 1 { "is" } else { "are" };
        let typed = quote_word(branch);
        tell(Notice::Warning(&format!(
            "{count} {items} of run `{}` {are} done on the branch {branch}, which is not in what is checked out: `git merge {typed}`, or `git switch {typed}`",
            row.name
        )));
    }
    Ok(())
}

/// What there is to say of a run that is finished, waits for a person or is worked on;
/// none when it may be run.
fn answer_at_rest(
    world: &World,
    project: &Project,
    row: &RunRow,
    grace: std::time::Duration,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Option<RunAnswer>, Failure> {
    let rests = !matches!(
        row.state,
        RunState::New | RunState::Running | RunState::Interrupted
    );
    if rests && row.runners().next().is_some() {
        // Its runner died after it had come to rest.
        if let Some(session) = Session::open_writable(world, &project.root)? {
            runner::clean_up_dead_runner(&session, row.id, grace, tell)?;
        }
    }
    if row.state == RunState::Done {
        let asked = match Session::open_read_only(world, &project.root)? {
            Some(session) => open_file_questions(&session, row)?,
            None => Vec::new(),
        };
        // Its runner may have died before it came to that.
        if let Some(session) = Session::open_writable(world, &project.root)? {
            run_worktrees::remove_finished_worktrees(&session, CleanupOccasion::EndOfRun, tell);
            runner::commit_target_files(&session, row.id, tell);
            runner::drop_merged_refs(&session, row.id);
            if land_at_end(&session, row, tell) {
                super::sync_project_files(&session, tell);
            }
            runner::warn_unmerged_lanes(&session, row, tell);
            warn_done_elsewhere(&session, row, tell)?;
        }
        let row = row.clone();
        let account = None;
        return Ok(Some(RunAnswer::Finished(Box::new(EndedRun {
            row,
            asked,
            account,
            next: None,
            goes_on_with: None,
            by_signal: false,
        }))));
    }
    refuse_state(world, project, row)?;
    Ok(None)
}

/// Takes the lock on a plan.
fn acquire_lock(
    session: &Session<'_>,
    plan: PlanKey<'_>,
) -> Result<Option<run_lock::RunLock>, Failure> {
    let mut pause = world::pause;
    run_lock::acquire_with_retry(&session.project, plan.face, plan.source, &mut pause)
}

/// Makes a lock on the plan of a run that a stopped process has lost; none where it has
/// not, or the run is a new one.
fn claim_lock(
    session: &Session<'_>,
    prepared: &PreparedRun,
) -> Result<Option<run_lock::RunLock>, Failure> {
    let PreparedRun::Known(row) = prepared else {
        return Ok(None);
    };
    let holder = StoppedHolder::find(session, row)?;
    if !holder.is_some_and(|holder| holder.has_lost_run()) {
        return Ok(None);
    }
    run_lock::claim_from_stopped(&session.project, &row.plan.face, &row.plan.source)
}

/// Refuses to work where another runner works: each would take what the other
/// changes for its own.
fn refuse_shared_tree(
    project: &Project,
    lock: &run_lock::RunLock,
    run: &str,
    sharing: TreeSharing,
) -> Result<(), Failure> {
    let Some(other) = lock.enter_tree(project, run, sharing)? else {
        return Ok(());
    };
    let message = format!(
        "run `{}` is at work in this work tree (process {} on {})",
        other.run, other.process.pid, other.process.host
    );
    Err(Failure::new("run.same_tree", message).with_hint(format!(
        "wait for it with `piton status {name} --watch`, or stop it with `piton stop {name}`; `--same-tree` runs both here all the same",
        name = quote_word(&other.run),
    )))
}

fn find_target(world: &World, request: &RunRequest) -> Result<RunTarget, Failure> {
    let Some(plan) = &request.plan else {
        return find_target_here(world);
    };
    let here = Project::find(world, &world.cwd);
    if !plan.contains('/') && !world.resolve_path(plan).exists() {
        return match find_restarted_plan(world, request, plan)? {
            Some(found) => Ok(found),
            None => Ok(RunTarget::of_run(here, plan.clone())),
        };
    }
    if let Some(file) = PlanPath::resolve(world, Path::new(plan)) {
        file.refuse_outside()?;
        return Ok(RunTarget::of_file(world, file));
    }
    let sprint = sprint_path(world, Path::new(plan))?;
    let holds_plan = sprint.file.is_file()
        || sprint.progress_file().is_file()
        || takeover::backup_path(&sprint).is_file();
    if holds_plan || request.from.is_some() {
        return Ok(RunTarget::of_sprint(world, sprint));
    }
    if let Some(file) = only_plan(PlanPath::collect_in_folder(world, Path::new(plan)))? {
        return Ok(RunTarget::of_file(world, file));
    }
    // A folder that only happens to be named like a run does not hide the run.
    let session = Session::open_read_only(world, &world.cwd)?;
    let run = session.and_then(|session| session.resolve_run(plan).ok());
    match run {
        Some(run) => Ok(RunTarget::of_run(here, run.name)),
        None => Err(Failure::new(
            "plan.none",
            format!("{} holds no plan", sprint.shown.display()),
        )
        .with_hint("a plan is a folder with a SPRINT.yaml, a prd.json, a state.json or a task file with criteria")),
    }
}

/// The plan that was found, or the one whose copy it is: a run is not begun again
/// in the worktree in which it is worked on.
fn resolve_worktree_copy(
    world: &World,
    found: RunTarget,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<RunTarget, Failure> {
    let path = match &found.what {
        TargetPlan::Sprint(sprint) => &sprint.folder,
        TargetPlan::File(file) => &file.file,
        TargetPlan::Run(_) => return Ok(found),
    };
    if found.project.root.starts_with(&found.project.work_tree) {
        return Ok(found);
    }
    let Some(session) = Session::open_read_only(world, &found.project.root)? else {
        return Ok(found);
    };
    let runs = session.runs()?;
    let Some(row) = worktree::run_of_plan_copy(&session.project, &runs, path) else {
        return Ok(found);
    };
    tell(Notice::Said(&format!(
        "this worktree is that of run `{0}`: going on with run `{0}`",
        row.name
    )));
    let path = session.project.absolute_path(&row.plan.source);
    match path.is_dir() {
        true => Ok(RunTarget::of_sprint(world, sprint_path(world, &path)?)),
        false => Ok(PlanPath::resolve(world, &path).map_or_else(
            || RunTarget::of_run(session.project, row.name.clone()),
            |file| RunTarget::of_file(world, file),
        )),
    }
}

/// The plan of the run of this name, where it is to be begun anew.
fn find_restarted_plan(
    world: &World,
    request: &RunRequest,
    name: &str,
) -> Result<Option<RunTarget>, Failure> {
    if !request.recompile && request.from.is_none() {
        return Ok(None);
    }
    let session = Session::open_read_only(world, &world.cwd)?;
    let run = session.and_then(|session| {
        let row = session.resolve_run(name).ok()?;
        Some(session.project.absolute_path(&row.plan.source))
    });
    Ok(match run {
        Some(path) if path.is_dir() => {
            Some(RunTarget::of_sprint(world, sprint_path(world, &path)?))
        }
        Some(path) => PlanPath::resolve(world, &path).map(|file| RunTarget::of_file(world, file)),
        None => None,
    })
}

/// The one plan among those that were found, or the only one with something to do; none
/// when there is none.
fn only_plan(files: Vec<PlanPath>) -> Result<Option<PlanPath>, Failure> {
    let mut plans: Vec<(PlanPath, ItemCounts)> = Vec::new();
    let mut foreign = None;
    for file in files {
        match file.count_items() {
            Some(counts) => plans.push((file, counts)),
            None => foreign = foreign.or(Some(file)),
        }
    }
    if plans.iter().any(|(_, counts)| counts.open > 0) {
        plans.retain(|(_, counts)| counts.open > 0);
    }
    match plans.as_slice() {
        // What is wrong with the only one is told when it is read again.
        [] => Ok(foreign),
        [(one, _)] => Ok(Some(one.clone())),
        several => Err(several_plans_failure(several.iter().map(
            |(file, ItemCounts { open, .. })| format!("{} ({open} open)", typed_path(&file.shown)),
        ))),
    }
}

fn typed_path(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    quote_word(&path.to_string_lossy()).into_owned()
}

fn several_plans_failure(names: impl Iterator<Item = String>) -> Failure {
    let names: Vec<String> = names.collect();
    Failure::new("usage", "there is more than one plan here")
        .with_hint(format!("name one of: {}", names.join(", ")))
}

fn find_target_here(world: &World) -> Result<RunTarget, Failure> {
    if has_definition(&world.cwd) {
        return Ok(RunTarget::of_sprint(
            world,
            sprint_path(world, Path::new("."))?,
        ));
    }
    let project = Project::find(world, &world.cwd);
    let session = Session::open_read_only(world, &world.cwd)?;
    let file = only_plan(PlanPath::collect_in_folder(world, Path::new(".")))?;
    match (file, session) {
        (Some(file), None) => Ok(RunTarget::of_file(world, file)),
        (Some(file), Some(session)) => {
            let source = project.relative_path(&file.file);
            let runs = session.runs()?;
            // A run that is not over is as near as a file that lies here.
            let others: Vec<&RunRow> = open_runs(&runs)
                .filter(|run| run.plan.source != source)
                .collect();
            let is_over = run_of_file(&project, &runs, &source)
                .is_some_and(|run| run.state == RunState::Done);
            match others.as_slice() {
                [] => Ok(RunTarget::of_file(world, file)),
                [one] if is_over => Ok(RunTarget::of_run(project, one.name.clone())),
                several => {
                    let names = several.iter().map(|run| quote_word(&run.name).into_owned());
                    Err(several_plans_failure(
                        std::iter::once(typed_path(&file.shown)).chain(names),
                    ))
                }
            }
        }
        (None, Some(session)) => Ok(RunTarget::of_run(
            project,
            session.resolve_run_or_default(None)?.name,
        )),
        (None, None) => Err(
            Failure::new("plan.none", "there is no plan here").with_hint(format!(
                "name one: `piton run PLAN`, where PLAN is {}",
                describe_plan_kinds()
            )),
        ),
    }
}

fn load_run(world: &World, name: &str, request: &RunRequest) -> Result<RunRow, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Err(Failure::new(
            "plan.none",
            format!("there is no plan and no run `{name}` here"),
        )
        .with_hint("name a folder with a SPRINT.yaml"));
    };
    if request.recompile || request.from.is_some() {
        return Err(
            Failure::new("usage", "`--recompile` and `--from` need the plan's folder")
                .with_hint("name the folder, or the file: `piton run PLAN --recompile`"),
        );
    }
    session.resolve_run(name)
}

/// What a run does and its marks belong to one work tree: where git tracks its file,
/// each has its own.
fn refuse_other_tree(world: &World, project: &Project, row: &RunRow) -> Result<(), Failure> {
    let format = plan_format(&row.plan.face);
    let has_own_tree =
        format.is_some_and(|format| (format.worktree)(row.plan.native.as_ref()).is_some());
    let Some(path) =
        PlanFile::path_of_run(row).filter(|_| row.branches.target.is_none() && !has_own_tree)
    else {
        return Ok(());
    };
    let file = project.absolute_path(&path);
    let there = Project::find(world, file.parent().unwrap_or(&project.root));
    if row.state == RunState::Done
        || there.work_tree == project.work_tree
        || !there.is_tracked(&path)
    {
        return Ok(());
    }
    let (name, tree) = (quote_word(&row.name), there.work_tree.to_string_lossy());
    let own = there.path_in_work_tree(&path);
    let own = own.filter(|own| project.work_tree.join(own).is_file());
    let own = own.map_or_else(String::new, |own| {
        let own = project.work_tree.join(own);
        let own = own.to_string_lossy();
        format!(
            ", or the file of this work tree with `piton run {}`",
            quote_word(&own)
        )
    });
    Err(Failure::new(
        "run.other_tree",
        format!(
            "run `{}` belongs to another work tree: its marks go into {}, and its work would be done in {}",
            row.name,
            file.display(),
            project.work_tree.display()
        ),
    )
    .with_hint(format!(
        "go on there, with `cd {}` and `piton run {name}`{own}",
        quote_word(&tree)
    )))
}

/// Refuses a run that may not be run, before anything is imported.
fn refuse_state(world: &World, project: &Project, row: &RunRow) -> Result<(), Failure> {
    // One that waits for its answer is held all the same.
    let plan = PlanKey {
        face: &row.plan.face,
        source: &row.plan.source,
    };
    refuse_held(world, project, plan, Some(row))?;
    let Some(session) = Session::open_read_only(world, &project.root)? else {
        return Ok(());
    };
    let refused = refuse_rest(&session, row);
    let runs = session.runs()?;
    match replacing_run(&runs, row) {
        Some(newer) => refused.map_err(|failure| {
            failure.with_hint(format!(
                "run `{}` has taken its place, and goes on with `piton run {}`; see what this one asks with `piton status {}`",
                newer.name,
                quote_word(&newer.name),
                quote_word(&row.name)
            ))
        }),
        None => refused,
    }
}

/// A plan that a living process works on is left to it. Not to be asked while
/// this process holds the lock: it would take itself for the other. The run that is asked
/// for may be taken from a stopped process whose lease has ended.
fn refuse_held(
    world: &World,
    project: &Project,
    plan: PlanKey<'_>,
    asked: Option<&RunRow>,
) -> Result<(), Failure> {
    let Some(session) = Session::open_read_only(world, &project.root)? else {
        return Ok(());
    };
    let runs = session.runs()?;
    let lost = match asked {
        Some(row) => StoppedHolder::find(&session, row)?
            .filter(StoppedHolder::has_lost_run)
            .map(|_| row.id),
        None => None,
    };
    let mut of_plan = runs
        .iter()
        .filter(|row| row.plan.face == plan.face && row.plan.source == plan.source)
        .filter(|row| Some(row.id) != lost);
    if of_plan.any(|row| row.runners().next().is_some() && !run_lock::is_free(project, row)) {
        return Err(busy_failure(&session, plan)?);
    }
    Ok(())
}

/// Refuses a run that waits for a person or is paused.
fn refuse_rest(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    match row.state {
        RunState::New | RunState::Running | RunState::Interrupted | RunState::Done => Ok(()),
        RunState::Paused if matches!(row.pause, Some(Pause::Limit { .. })) => Ok(()),
        // It was left at the first failure, by a flag or an older version.
        RunState::Waiting | RunState::Blocked
            if row.pause.is_none() && has_startable_items(session, row.id)? =>
        {
            Ok(())
        }
        // What waits in a pull request may be merged by now.
        RunState::Waiting if row.pause.is_none() && needs_pull_requests(row) => Ok(()),
        RunState::Paused | RunState::Waiting | RunState::Blocked => {
            Err(failure_of_run_state(row, row.state))
        }
    }
}

/// Whether work goes to pull requests.
fn needs_pull_requests(row: &RunRow) -> bool {
    let lanes = row.branches.lanes.as_deref();
    lanes.is_some_and(|lanes| lanes.terms.pull_requests)
}

fn has_startable_items(session: &Session<'_>, run: RunId) -> Result<bool, Failure> {
    let rows = session.load(&[Need::Tree(run)])?;
    Ok(StandingCounts::count_items(rows.tables.tree(run)).active > 0)
}

/// A plan whose lock another process holds. Of its runs, the one at work is
/// held: the others were cleared up when it was taken.
fn busy_failure(session: &Session<'_>, plan: PlanKey<'_>) -> Result<Failure, Failure> {
    let PlanKey { face, source } = plan;
    if run_lock::has_holder_ended(&session.project, face, source) {
        return Ok(Failure::new(
            "run.busy",
            format!("the runner of the plan in {source} is dead, and what it started still holds its lock"),
        )
        .with_hint("see what is left of it with `piton status`, and run again when it has ended"));
    }
    let runs = session.runs()?;
    let of_plan = runs
        .into_iter()
        .rev()
        .filter(|row| row.plan.face == face && row.plan.source == source);
    let mut held = of_plan.filter_map(|row| {
        let holder = row.runners().next().cloned()?;
        Some((holder, row))
    });
    Ok(match held.next() {
        Some((holder, row)) => {
            let stopped = StoppedHolder::find(session, &row)?;
            let name = row.name;
            let failure = Failure::from(piton_core::Refusal::Busy {
                name: name.clone(),
                holder,
            });
            match stopped {
                Some(stopped) => describe_stopped(failure, &stopped, &name),
                None => failure,
            }
        }
        None => Failure::new(
            "run.busy",
            format!("another process is about to run the plan in {source}"),
        )
        .with_hint("see who with `piton status`"),
    })
}

/// What to do about a run that a stopped process holds.
fn describe_stopped(busy: Failure, stopped: &StoppedHolder, run: &str) -> Failure {
    let pid = stopped.process.pid;
    let run = quote_word(run);
    let then = match stopped.lease {
        Some((ends, LeaseState::Held)) => {
            let ends = world::local_time_with_seconds(ends);
            format!("; its lease ends at {ends}: `piton run {run}` takes the run over then")
        }
        Some((_, LeaseState::Ended)) => {
            format!("; its lease has ended: `piton run {run}` takes the run over")
        }
        None => String::new(),
    };
    let message = format!("{}; process {pid} is stopped", busy.message);
    Failure { message, ..busy }.with_hint(format!(
        "let it go on with `kill -CONT {pid}`, or with `fg` where it was started{then}"
    ))
}

/// The names of the agents that are to work, in the order in which they are tried.
fn choose_agents(
    world: &World,
    request: &RunRequest,
    config: &Config,
) -> Result<Vec<String>, Failure> {
    let typed = request.agent.as_ref().map(std::slice::from_ref);
    let names = typed.unwrap_or_else(|| config.used_agents());
    if names.iter().any(|name| !name.trim().is_empty()) {
        return Ok(names.to_vec());
    }
    let found = agents_on_path(world);
    let what = match &*found {
        [] => "no agent is named; no known agent is on PATH".to_owned(),
        found => format!("no agent is named; on PATH there is: {}", found.join(", ")),
    };
    Err(Failure::new("agent.missing", what).with_hint(format!(
        "{}; or set `use` under `[agent]` in .piton/config.toml",
        program_table::naming_hint(&found)
    )))
}

/// The programs that piton knows and `PATH` has.
pub(crate) fn agents_on_path(world: &World) -> Vec<&'static str> {
    program_names()
        .filter(|name| world.is_on_path(name))
        .collect()
}

/// What to type to begin a plan that was not begun: with an agent, unless the
/// configuration names one.
pub(crate) fn start_command(world: &World, project: &Project, plan: &str) -> String {
    let typed = format!("piton run {}", quote_word(plan));
    let names_agent = Config::load(project).is_ok_and(|config| config.agent.use_.is_some());
    if names_agent {
        return typed;
    }
    // Where there is none, the command says what to install.
    match agents_on_path(world).first() {
        Some(agent) => format!("{typed} --agent {agent}"),
        None => typed,
    }
}

/// A program that is not there is noticed before anything is stored.
pub(crate) fn check_program(
    world: &World,
    project: &Project,
    model: Option<&str>,
    program: &dyn Agent,
) -> Result<(), Failure> {
    let at = ProgramSearch {
        folder: &project.work_tree,
        path: world.var("PATH"),
    };
    agents::check_program(program, &agents::preflight_options(model), at)
}

enum PreparedRun {
    /// The journal knows it.
    Known(Box<RunRow>),
    /// It is new.
    Fresh(Box<FreshPlan>),
}

impl PreparedRun {
    fn run_id(&self) -> RunId {
        match self {
            Self::Known(row) => row.id,
            Self::Fresh(fresh) => fresh.plan.run,
        }
    }

    /// The name that the run has, or will have.
    fn name(&self) -> &str {
        match self {
            Self::Known(row) => &row.name,
            Self::Fresh(fresh) => &fresh.plan.name,
        }
    }

    /// Whether the file of the plan may say what piton has not read before.
    fn is_new_to_piton(&self, project: &Project) -> bool {
        match self {
            Self::Known(row) => !is_unchanged_since_write(project, row),
            Self::Fresh(_) => true,
        }
    }

    /// The worktree that it wants or has, as things stand.
    fn worktree_order(
        &self,
        project: &Project,
        request: &RunRequest,
        items: Option<&Tables>,
    ) -> Result<Option<RunWorktree>, Failure> {
        let (row, (face, native)) = match self {
            Self::Known(row) => (Some(&**row), (&*row.plan.face, row.plan.native.as_ref())),
            Self::Fresh(fresh) => (None, (&*fresh.plan.face, fresh.plan.native.as_ref())),
        };
        let wanted = worktree::wanted_worktree(face, native, &request.ignore);
        RunWorktree::inspect(project, row.zip(items), wanted)
    }

    /// What the journal has that only the format of its plan has.
    fn native(&self) -> Option<&Native> {
        match self {
            Self::Known(row) => row.plan.native.as_ref(),
            Self::Fresh(_) => None,
        }
    }

    fn plan_key(&self) -> PlanKey<'_> {
        match self {
            Self::Known(row) => PlanKey {
                face: &row.plan.face,
                source: &row.plan.source,
            },
            Self::Fresh(fresh) => PlanKey {
                face: &fresh.plan.face,
                source: &fresh.plan.source,
            },
        }
    }
}

/// A plan that the journal does not know yet, and what lies around it.
struct FreshPlan {
    plan: piton_core::plan::Plan,
    origin: PlanOrigin,
    /// The hash of the definition, if there is one, before the plan was made.
    definition: Option<String>,
    /// How many runs there were.
    run_count: usize,
}

/// What a plan was made of.
enum PlanOrigin {
    /// A sprint; with the text of its `PROGRESS.yaml`, if it was made of that.
    Sprint(SprintPath, Option<String>),
    /// A file of this text.
    File(PlanPath, String),
}

impl FreshPlan {
    /// Whether it was compiled, and would be compiled to the same again: no run
    /// was planned since, nor was the sprint edited or compiled by another program.
    fn is_current(&self, session: &Session<'_>, request: &RunRequest) -> Result<bool, Failure> {
        let PlanOrigin::Sprint(sprint, None) = &self.origin else {
            return Ok(false);
        };
        let is_unchanged = (request.recompile || !sprint.progress_file().exists())
            && definition::hash_definition(sprint) == self.definition;
        Ok(is_unchanged && session.runs()?.len() == self.run_count)
    }

    /// Records the plan as a run, and enables the files that belong beside it.
    fn begin_run(
        self,
        session: &Session<'_>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let face = self.plan.face.clone();
        self.record_run(session, tell)?;
        let begun = enable_companion_files(session, &face)?;
        if !begun.is_empty() {
            let begun = begun.join(", ");
            tell(Notice::Said(&format!("keeping {begun} up to date")));
        }
        Ok(())
    }

    /// Records the plan as a run, after what lies in its folder is safe.
    fn record_run(
        self,
        session: &Session<'_>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let run = self.plan.run;
        let home = &session.project.home;
        match &self.origin {
            PlanOrigin::Sprint(sprint, taken_over) => {
                back_up_progress(session, run, sprint, taken_over.as_deref(), tell)?;
            }
            // Only marks are set in it; what was edited since it was read is
            // an edit of this.
            PlanOrigin::File(path, text) => {
                adopt_plan_file(&session.project, run, &path.file, text.as_bytes())
                    .map_err(|error| unwritable_file(home, error))?;
            }
        }
        failpoint::point("run.present-kept");
        // Before the run is planned: afterwards no command would come here again.
        if let PlanOrigin::Sprint(sprint, Some(_)) = &self.origin {
            takeover::rename_leftovers(&sprint.progress_file(), tell)?;
        }
        let source = self.plan.source.clone();
        session.execute_command(&Command::PlanRun(Box::new(self.plan)))?;
        // What was asked about the file of an older run is answered by this one.
        let runs = session.runs()?;
        for older in runs
            .iter()
            .filter(|row| row.plan.source == source && row.id != run)
        {
            settle_superseded_questions(session, older)?;
        }
        if let PlanOrigin::Sprint(sprint, _) = &self.origin {
            definition::note_definition(home, run, sprint);
        }
        failpoint::point("run.planned");
        Ok(())
    }

    /// A plan that cannot be begun here is not recorded: it may be mended yet.
    fn refuse_dirty(&self, project: &Project) -> Result<(), Failure> {
        let items = &self.plan.items;
        // What has changed since a task was begun belongs to it.
        let begun = |item: &PlannedItem| {
            let inside = |other: &PlannedItem| other.node.parent().as_ref() == Some(&item.node);
            let depth = item.place.depth();
            let is_task = depth == 2 || (depth == 1 && !items.iter().any(inside));
            item.state == ItemState::Working && is_task
        };
        if !self.plan.policy.auto_commit || items.iter().any(begun) {
            return Ok(());
        }
        refuse_foreign_changes(project, &self.plan.face, &self.plan.source)
    }
}

/// What the shown plan is about to take the place of is kept beside it, unless
/// writing it anew loses nothing, and noted as a file that may be replaced.
///
/// This comes before the run is recorded: a crash between the two leaves a
/// copy too many and nothing else.
fn back_up_progress(
    session: &Session<'_>,
    run: RunId,
    sprint: &SprintPath,
    taken_over: Option<&str>,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let progress = sprint.progress_file();
    let Ok(present) = input::read_file(&progress) else {
        return Ok(());
    };
    let text = std::str::from_utf8(&present).unwrap_or_default();
    let whole = taken_over == Some(text) && takeover::is_canonical_text(text);
    if !whole {
        let suffix = if taken_over.is_some() {
            "before-piton"
        } else {
            "before-recompile"
        };
        let copy = store_copy_beside(&progress, suffix)
            .map_err(|error| unwritable_file(&progress, error))?;
        tell(Notice::Said(&format!(
            "the present PROGRESS.yaml is kept as {}",
            copy.display()
        )));
    }
    adopt_plan_file(&session.project, run, &progress, &present)
        .map_err(|error| unwritable_file(&session.project.home, error))
}

/// What is to be run, as things stand. Writes nothing.
fn prepare_run(
    world: &World,
    request: &RunRequest,
    target: &RunTarget,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<PreparedRun, Failure> {
    let source = match &target.what {
        TargetPlan::Run(name) => {
            let row = load_run(world, name, request)?;
            refuse_other_tree(world, &target.project, &row)?;
            return Ok(PreparedRun::Known(Box::new(row)));
        }
        TargetPlan::Sprint(sprint) => target.project.relative_path(&sprint.folder),
        TargetPlan::File(_) if request.from.is_some() => {
            return Err(Failure::new(
                "usage",
                "`--from` is for sprints: this file says itself what is done",
            )
            .with_hint("leave --from out, or name the other file as the plan"));
        }
        TargetPlan::File(file) => target.project.relative_path(&file.file),
    };
    let session = Session::open_read_only(world, &target.project.root)?;
    let runs = match &session {
        Some(session) => session.runs()?,
        None => Vec::new(),
    };
    let begins_anew = request.recompile || request.from.is_some();
    if let Some(session) = session.as_ref().filter(|_| !begins_anew)
        && let Some(row) = known_run(session, &runs, &source, tell)?
    {
        return Ok(PreparedRun::Known(Box::new(row.clone())));
    }
    let id = RunId(world.new_id());
    let mut definition = None;
    let (plan, origin) = match &target.what {
        TargetPlan::Sprint(sprint) => {
            definition = definition::hash_definition(sprint);
            let run = SprintRun {
                id,
                source: &source,
            };
            let (plan, text) = plan_of_sprint(world, request, sprint, run, tell)?;
            let name = free_name(&plan.name, &runs);
            let plan = piton_core::plan::Plan { name, ..plan };
            (plan, PlanOrigin::Sprint(sprint.clone(), text))
        }
        TargetPlan::File(file) => {
            let (mut plan, text) = file.read_plan(id, &file.run_name(), &source)?;
            plan.name = free_name(&plan.name, &runs);
            let open =
                merged_marks::reopen_misplaced_items(&target.project, session.as_ref(), &mut plan)?;
            if !open.is_empty() {
                tell(Notice::Warning(&merged_marks::describe_misplaced_marks(
                    &source, &open,
                )));
            }
            add_repositories(world, &target.project, &mut plan, tell)?;
            plan_path::warn_unchecked(&plan, tell);
            (plan, PlanOrigin::File(file.clone(), text))
        }
        // It was known above.
        TargetPlan::Run(name) => return Err(session::unknown_run(name, &runs)),
    };
    secrets::refuse_secrets(&plan, &world.redactor(), tell)?;
    Ok(PreparedRun::Fresh(Box::new(FreshPlan {
        plan,
        origin,
        definition,
        run_count: runs.len(),
    })))
}

/// Adds the repositories that the files of a new plan name.
fn add_repositories(
    world: &World,
    project: &Project,
    plan: &mut piton_core::plan::Plan,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let found = PlanRepositories::read_plan(world, project, &plan.face, &plan.source)?;
    if let Some(found) = found {
        found.add_to_new_plan(world, plan)?;
        if let Some(told) = found.describe_elsewhere() {
            tell(Notice::Warning(&told));
        }
    }
    Ok(())
}

/// The run that goes on with the plan of `source`. None where the file holds
/// another plan than its runs, unless a person is still asked whether that is
/// to be: until then the run goes on with what it has.
fn known_run<'r>(
    session: &Session<'_>,
    runs: &'r [RunRow],
    source: &str,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Option<&'r RunRow>, Failure> {
    let Some(newest) = runs.iter().rfind(|run| run.plan.source == source) else {
        return Ok(None);
    };
    let is_asked = || match PlanFile::path_of_run(newest) {
        Some(path) => session.open_question_about_file(newest.id, &path),
        None => Ok(None),
    };
    let known = run_of_file(&session.project, runs, source);
    if known.is_some_and(|row| row.id == newest.id) || is_asked()?.is_some() {
        return Ok(Some(newest));
    }
    if known.is_none() {
        tell(Notice::Said(&format!(
            "{source} holds another plan than run `{}`, which is kept; it is for a new run",
            newest.name
        )));
    }
    Ok(known)
}

/// The sprint's id, `~2` and so on when there was a run of that name.
fn free_name(id: &str, runs: &[RunRow]) -> String {
    let taken = |name: &str| runs.iter().any(|run| run.name == name);
    if !taken(id) {
        return id.to_owned();
    }
    (2_u32..)
        .map(|nth| format!("{id}~{nth}"))
        .find(|name| !taken(name))
        .unwrap_or_else(|| id.to_owned())
}

fn dry_run(world: &World, asked: &RequestContext<'_>) -> Result<RunAnswer, Failure> {
    let (request, target) = (&asked.remembered.request, asked.target);
    let mut quiet = |_: Notice<'_>| {};
    let prepared = prepare_run(world, request, target, &mut quiet)?;
    let commands = commands_to_execute(world, asked, &prepared)?;
    let with_model = |item: ItemView| ItemView {
        model: item.model.clone().or_else(|| request.model.clone()),
        ..item
    };
    Ok(RunAnswer::Dry(Box::new(match prepared {
        PreparedRun::Fresh(fresh) => {
            let items = &fresh.plan.items;
            let parents: std::collections::HashSet<_> =
                items.iter().filter_map(|item| item.node.parent()).collect();
            let to_do = items
                .iter()
                .filter(|item| !parents.contains(&item.node) && !item.state.is_finished());
            let items = to_do.map(|item| with_model(ItemView::of_planned(&fresh.plan.name, item)));
            DryRun {
                items: items.collect(),
                commands,
                ..DryRun::default()
            }
        }
        PreparedRun::Known(row) => {
            let Some(session) = Session::open_read_only(world, &target.project.root)? else {
                return Ok(RunAnswer::Dry(Box::default()));
            };
            let needs = [
                Need::Run(row.id),
                Need::Tree(row.id),
                Need::OpenDecisions(Some(row.id)),
            ];
            let rows = session.load(&needs)?;
            refuse_contradiction(&rows.tables, row.id)?;
            let current = rows
                .tables
                .current_item(row.id)
                .map(|item| item.node.clone());
            let viewer = Viewer {
                tables: &rows.tables,
                now: world.now(),
                live: false,
                current: current.as_ref(),
            };
            let row = rows.tables.run(row.id).unwrap_or(&row);
            let standing = RunStanding::of_run(&session.project, row);
            let open = rows.tables.tree(row.id);
            let open = open.filter(|item| item.is_leaf() && !item.state.is_finished());
            let held = held_up::held_up_items(&rows.tables, row.id);
            let (waiting, to_do): (Vec<_>, Vec<_>) =
                open.partition(|item| is_at_rest(row) || held.contains(&item.node));
            let items = to_do.into_iter();
            let items: Vec<ItemView> = items
                .map(|item| with_model(ItemView::of_item(&viewer, item)))
                .collect();
            let waits = || failure_of_run_state(row, standing.state);
            DryRun {
                waits: items.is_empty().then(waits),
                held_up: waiting.len(),
                commands: match items.as_slice() {
                    [] => Vec::new(),
                    _ => commands,
                },
                items,
            }
        }
    })))
}

/// What a run would execute, with the agent as the one line that starts it.
fn commands_to_execute(
    world: &World,
    asked: &RequestContext<'_>,
    prepared: &PreparedRun,
) -> Result<Vec<PartView>, Failure> {
    let request = &asked.remembered.request;
    let mut parts = parts_to_execute(world, asked, prepared, None)?.parts;
    if let Ok(names) = choose_agents(world, request, asked.config) {
        let order = agents::preflight_options(request.model.as_deref());
        let in_line = [PartKind::AgentCommand, PartKind::AgentArguments];
        parts.retain(|part| !in_line.contains(&part.kind));
        for (nth, name) in names.iter().enumerate() {
            let launch = asked.config.resolve_agent(name)?.launch_command(&order)?;
            let line = launch.program.to_shell_line();
            parts.insert(
                nth,
                ExecutablePart::new(PartKind::AgentCommand, name, &line),
            );
        }
    }
    let redactor = world.redactor();
    let parts = without_repeats(parts);
    Ok(parts
        .iter()
        .map(|part| PartView::of_part(part, &redactor))
        .collect())
}

/// Whether a person holds the whole run, whatever is ready in it: it is paused,
/// or stands at a breakpoint.
fn is_at_rest(row: &RunRow) -> bool {
    let pause = row.pause.as_ref();
    pause.is_some_and(|pause| !matches!(pause, Pause::Limit { .. }))
}
