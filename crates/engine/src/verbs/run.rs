//! `piton run`: what is to be run, whether it may be, and the running of it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use piton_core::policy::Limits;
use piton_core::{Command, Need, RunId, RunRow, RunState};
use piton_formats::problem::Problem;
use piton_formats::sprint::{self, Layout, Progress, Source, detect_layout, parse_progress};

use super::compile::{SprintPath, check_sprint, sprint_path};
use crate::config::Config;
use crate::exchange::sha256;
use crate::fail;
use crate::failure::{Failure, Findings, run_state, unreadable, unwritable};
use crate::mirror::{adopt, keep_copy};
use crate::project::Project;
use crate::run_lock;
use crate::runner::{self, Job, Notice};
use crate::session::Session;
use crate::world::World;

/// What `piton run` is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The plan or run; without it, what is found here.
    pub plan: Option<String>,
    /// The agent: a name from the configuration, else a shell command.
    pub agent: Option<String>,
    /// The folder of the workflows.
    pub workflows: Option<PathBuf>,
    /// The model for nodes whose plan names none.
    pub model: Option<String>,
    /// The limits of this invocation, before those of the plan.
    pub limits: Limits,
    /// Stay and go on when a person has decided.
    pub wait: bool,
    /// End after one node.
    pub once: bool,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// Compile and begin anew.
    pub recompile: bool,
    /// Begin with this file as the progress.
    pub from: Option<PathBuf>,
    /// Settings of the sprint that are passed over although piton cannot do them.
    pub ignore: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum Answer {
    /// An invocation ended; the run as it left it.
    Ran(Box<RunRow>),
    /// There was nothing to do: the run is finished.
    Finished(Box<RunRow>),
    /// What would be done.
    Dry(Vec<DryNode>),
}

/// A node that a run would work on.
#[derive(Clone, Debug, serde::Serialize)]
pub struct DryNode {
    /// Its path.
    pub node: String,
    /// Where it stands.
    pub state: piton_core::ItemState,
    /// The model that it would use.
    pub model: Option<String>,
    /// Whether it has a gate.
    pub gate: bool,
    /// Whether the run pauses after it.
    pub breakpoint: bool,
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
    request: &Request,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Answer, Failure> {
    let target = find(world, request)?;
    let config = Config::load(&target.project)?;
    if request.dry_run {
        return dry_run(world, request, &target);
    }
    let prepared = match &target.sprint {
        Some(sprint) => prepare(world, request, &target, sprint, tell)?,
        None => Prepared::Known(existing(world, &target, request)?),
    };
    if let Prepared::Known(row) = &prepared {
        if row.state == RunState::Done {
            return Ok(Answer::Finished(Box::new(row.clone())));
        }
        refuse_state(world, &target.project, row)?;
    }
    let agent = agent(world, request, &config)?;
    let session = Session::create(world, target.project.clone(), &mut |text| {
        tell(Notice::Said(text))
    })?;
    let (run, fresh) = match prepared {
        Prepared::Known(row) => (row.id, None),
        Prepared::Fresh(fresh) => (fresh.plan.run, Some(fresh)),
    };
    if let Some(fresh) = fresh {
        fresh.keep_present(&session, tell)?;
        fail::point("run.present-kept");
        session.tell(&Command::PlanRun(Box::new(fresh.plan)))?;
        fail::point("run.planned");
        if fresh.taken_over {
            set_aside(&fresh.sprint.progress(), tell)?;
        }
    }
    let Some(lock) = run_lock::take(&session.project, run)? else {
        return Err(busy(&session, run)?);
    };
    fail::point("run.locked");
    let job = Job {
        run,
        agent: agent.clone(),
        command: config.command(&agent).to_owned(),
        agent_limits: config.agent.limits(),
        model: request.model.clone(),
        limits: request.limits.clone(),
        wait: request.wait,
        once: request.once,
        ignore: request.ignore.clone(),
    };
    let row = runner::work(&session, job, tell)?;
    drop(lock);
    Ok(if row.state == RunState::Done && row.invocations == 0 {
        Answer::Finished(Box::new(row))
    } else {
        Answer::Ran(Box::new(row))
    })
}

/// What is to be run, and where it belongs.
struct Found {
    project: Project,
    sprint: Option<SprintPath>,
    run: Option<String>,
}

fn find(world: &World, request: &Request) -> Result<Found, Failure> {
    let Some(plan) = &request.plan else {
        return find_here(world);
    };
    let looks_like_path = plan.contains('/') || world.path(plan).exists();
    if !looks_like_path {
        let project = Project::find(world, &world.cwd);
        return Ok(Found {
            project,
            sprint: None,
            run: Some(plan.clone()),
        });
    }
    let sprint = sprint_path(world, Path::new(plan))?;
    if !sprint.file.is_file()
        && !sprint.progress().is_file()
        && request.from.is_none()
        && !backup(&sprint).is_file()
    {
        return Err(Failure::new(
            "plan.none",
            format!("{} holds no plan", sprint.shown.display()),
        )
        .hint("a plan is a folder with a SPRINT.yaml; see docs/guide/sprints.md"));
    }
    Ok(Found {
        project: Project::find(world, &sprint.folder),
        sprint: Some(sprint),
        run: None,
    })
}

fn find_here(world: &World) -> Result<Found, Failure> {
    let project = Project::find(world, &world.cwd);
    if world.cwd.join("SPRINT.yaml").is_file() {
        return Ok(Found {
            project,
            sprint: Some(sprint_path(world, Path::new("."))?),
            run: None,
        });
    }
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Err(Failure::new("plan.none", "there is no plan here")
            .hint("name one: `piton run PLAN`, where PLAN is a folder with a SPRINT.yaml"));
    };
    let run = session.run_meant(None)?;
    Ok(Found {
        project,
        sprint: None,
        run: Some(run.name),
    })
}

fn existing(world: &World, target: &Found, request: &Request) -> Result<RunRow, Failure> {
    let name = target.run.as_deref().unwrap_or_default();
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Err(Failure::new(
            "plan.none",
            format!("there is no plan and no run `{name}` here"),
        )
        .hint("name a folder with a SPRINT.yaml"));
    };
    if request.recompile || request.from.is_some() {
        return Err(
            Failure::new("usage", "`--recompile` and `--from` need the plan's folder")
                .hint("name the folder: `piton run PLAN --recompile`"),
        );
    }
    session.run_named(name)
}

/// Whoever may not be run is told so before anything is taken.
fn refuse_state(world: &World, project: &Project, row: &RunRow) -> Result<(), Failure> {
    let paused_by_limit = matches!(row.pause, Some(piton_core::run::Pause::Limit { .. }));
    match row.state {
        RunState::New | RunState::Interrupted | RunState::Done => Ok(()),
        RunState::Paused if paused_by_limit => Ok(()),
        RunState::Running => {
            if run_lock::is_free(project, row.id) {
                return Ok(());
            }
            let session = Session::read(world, &project.root)?;
            Err(session.map_or_else(
                || Ok(run_state(&row.name, row.state, None, None)),
                |session| busy(&session, row.id),
            )?)
        }
        RunState::Paused | RunState::Waiting | RunState::Blocked => {
            // One that waits for its answer is held all the same.
            if row.holder.is_some() && !run_lock::is_free(project, row.id) {
                let session = Session::read(world, &project.root)?;
                if let Some(session) = session {
                    return Err(busy(&session, row.id)?);
                }
            }
            Err(run_state(
                &row.name,
                row.state,
                row.pause.as_ref(),
                row.at.as_ref().map(ToString::to_string),
            ))
        }
    }
}

fn busy(session: &Session<'_>, run: RunId) -> Result<Failure, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    let row = rows
        .tables
        .run(run)
        .cloned()
        .ok_or_else(|| Failure::new("run.unknown", "the run is gone"))?;
    Ok(match row.holder {
        Some(holder) => piton_core::Refusal::Busy {
            name: row.name,
            holder,
        }
        .into(),
        None => Failure::new(
            "run.busy",
            format!("another process is about to run `{}`", row.name),
        )
        .hint("see who with `piton status`"),
    })
}

fn agent(world: &World, request: &Request, config: &Config) -> Result<String, Failure> {
    if let Some(agent) = request
        .agent
        .as_ref()
        .or(config.agent.use_.as_ref())
        .filter(|agent| !agent.trim().is_empty())
    {
        return Ok(agent.clone());
    }
    let found: Vec<&str> = ["claude", "codex", "gemini"]
        .into_iter()
        .filter(|name| is_on_path(world, name))
        .collect();
    let found = if found.is_empty() {
        "no known agent is on PATH".to_owned()
    } else {
        format!("on PATH there is: {}", found.join(", "))
    };
    Err(Failure::new("agent.missing", format!("no agent is named; {found}"))
        .hint("name a command that reads a prompt: `--agent 'claude -p'`, or set `use` under `[agent]` in .piton/config.toml"))
}

fn is_on_path(world: &World, name: &str) -> bool {
    let path = world.var("PATH").unwrap_or_default();
    std::env::split_paths(path).any(|folder| folder.join(name).is_file())
}

enum Prepared {
    /// The journal knows it.
    Known(RunRow),
    /// It is new.
    Fresh(Box<Fresh>),
}

/// A plan that the journal does not know yet, and what lies around it.
struct Fresh {
    plan: piton_core::plan::Plan,
    sprint: SprintPath,
    /// Whether it was a `PROGRESS.yaml` already.
    taken_over: bool,
}

impl Fresh {
    /// What the mirror is about to take the place of is kept beside it, unless
    /// writing it anew loses nothing, and noted as a file that may be replaced.
    ///
    /// This comes before the run is recorded: a crash between the two leaves a
    /// copy too many and nothing else.
    fn keep_present(
        &self,
        session: &Session<'_>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<(), Failure> {
        let progress = self.sprint.progress();
        let Ok(text) = fs::read_to_string(&progress) else {
            return Ok(());
        };
        if !(self.taken_over && is_own_style(&text)) {
            let suffix = if self.taken_over {
                "before-piton"
            } else {
                "before-recompile"
            };
            let copy =
                keep_copy(&progress, suffix).map_err(|error| unwritable(&progress, error))?;
            tell(Notice::Said(&format!(
                "the present PROGRESS.yaml is kept as {}",
                copy.display()
            )));
        }
        adopt(&session.project.home, self.plan.run, &text)
            .map_err(|error| unwritable(&session.project.home, error))
    }
}

/// What the original left beside its file is kept under another name.
fn set_aside(progress: &Path, tell: &mut dyn FnMut(Notice<'_>)) -> Result<(), Failure> {
    for ending in ["checksum", "backup"] {
        rename_aside(progress, ending, tell)?;
    }
    Ok(())
}

/// Whether writing the file anew loses nothing of it: no comment, no order.
fn is_own_style(text: &str) -> bool {
    let (progress, _) = parse_progress(Source { name: "", text });
    progress.is_some_and(|progress| sprint::render_progress(&progress) == text)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

fn backup(sprint: &SprintPath) -> PathBuf {
    with_ending(&sprint.progress(), "backup")
}

fn rename_aside(
    progress: &Path,
    ending: &str,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let old = with_ending(progress, ending);
    if !old.is_file() {
        return Ok(());
    }
    let new = with_ending(&old, "before-piton");
    fs::rename(&old, &new).map_err(|error| unwritable(&old, error))?;
    fail::point("run.set-aside");
    tell(Notice::Said(&format!(
        "{} is now {}: piton needs neither",
        old.display(),
        new.display()
    )));
    Ok(())
}

fn prepare(
    world: &World,
    request: &Request,
    target: &Found,
    sprint: &SprintPath,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Prepared, Failure> {
    let source = target.project.relative(&sprint.folder);
    let runs = match Session::read(world, &target.project.root)? {
        Some(session) => session.runs()?,
        None => Vec::new(),
    };
    let known = runs.iter().rev().find(|run| run.source == source);
    if let Some(row) = known.filter(|_| !request.recompile && request.from.is_none()) {
        return Ok(Prepared::Known(row.clone()));
    }
    if let Some(row) = known.filter(|row| !run_lock::is_free(&target.project, row.id)) {
        refuse_state(world, &target.project, row)?;
    }
    let (progress, taken_over) = if let Some(from) = &request.from {
        let path = world.path(from);
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        (take_over(&path, &text)?, true)
    } else if request.recompile {
        (compile(world, request, sprint, tell)?, false)
    } else {
        choose(world, request, sprint, tell)?
    };
    refuse_unsupported(&progress, &request.ignore)?;
    warn_sequential(&progress, tell);
    let name = free_name(&progress.sprint_id, &runs);
    let plan = sprint::import(&progress, RunId(world.id()), &name, &source);
    Ok(Prepared::Fresh(Box::new(Fresh {
        plan,
        sprint: sprint.clone(),
        taken_over,
    })))
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

fn compile(
    world: &World,
    request: &Request,
    sprint: &SprintPath,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Progress, Failure> {
    let compiled = check_sprint(world, sprint, request.workflows.as_deref(), false);
    match compiled.progress {
        Some(progress) => {
            if !compiled.findings.problems.is_empty() {
                tell(Notice::Problems(&compiled.findings));
            }
            Ok(progress)
        }
        None => Err(problems(sprint, compiled.findings)),
    }
}

/// What is wrong with a plan, as a failure.
fn problems(sprint: &SprintPath, findings: Findings) -> Failure {
    let errors = findings.errors();
    let count = if errors == 1 {
        "1 error".to_owned()
    } else {
        format!("{errors} errors")
    };
    Failure::new(
        "plan.problems",
        format!(
            "{} has {count}; nothing was started",
            sprint.shown.display()
        ),
    )
    .hint(format!(
        "mend the plan, and look again with `piton plan check {}`",
        sprint.shown.display()
    ))
    .finding(findings)
}

/// What to begin with: a `PROGRESS.yaml` that is there, or the definition.
fn choose(
    world: &World,
    request: &Request,
    sprint: &SprintPath,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(Progress, bool), Failure> {
    let path = sprint.progress();
    let text = match fs::read(&path) {
        Ok(bytes) => Some(
            String::from_utf8(bytes)
                .map_err(|error| damaged(sprint, "is not UTF-8 text").because(error))?,
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(damaged(sprint, "cannot be read").because(error)),
    };
    match text {
        Some(text) if !text.trim().is_empty() => {
            let progress = match detect_layout(&text) {
                Layout::Current => take_over(&path, &text)?,
                layout @ (Layout::TaskQueue | Layout::GoalDriven) => {
                    return Err(legacy(sprint, &layout));
                }
                layout @ Layout::Foreign(_) => return Err(foreign(sprint, &layout)),
                Layout::Empty | Layout::Unreadable => {
                    return Err(damaged(sprint, "is not readable YAML"));
                }
            };
            report_checksum(&path, &text, tell);
            Ok((progress, true))
        }
        _ if backup(sprint).is_file() => Err(damaged(sprint, "is missing")),
        _ => Ok((compile(world, request, sprint, tell)?, false)),
    }
}

fn take_over(path: &Path, text: &str) -> Result<Progress, Failure> {
    let name = path.to_string_lossy().into_owned();
    let (progress, problems) = parse_progress(Source { name: &name, text });
    if let Some(progress) = progress
        && !problems.iter().any(Problem::is_error)
    {
        return Ok(progress);
    }
    let findings = Findings {
        problems,
        sources: [(name.clone(), text.to_owned())].into(),
    };
    Err(Failure::new(
        "plan.unreadable",
        format!("{name} cannot be understood; nothing was changed"),
    )
    .hint("mend the file, or begin anew with `--recompile`, which keeps the old file beside")
    .finding(findings))
}

fn damaged(sprint: &SprintPath, what: &str) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    let backup = backup(sprint);
    let readable = fs::read_to_string(&backup)
        .is_ok_and(|text| matches!(detect_layout(&text), Layout::Current));
    let failure = Failure::new(
        "plan.unreadable",
        format!("{} {what}; nothing was changed", path.display()),
    );
    if readable {
        let shown = with_ending(&path, "backup");
        return Failure::new(
            "plan.unreadable",
            format!(
                "{} {what}, and {} is readable; nothing was changed",
                path.display(),
                shown.display()
            ),
        )
        .hint(format!(
            "go on from the backup with `piton run {} --from {}`",
            sprint.shown.display(),
            shown.display()
        ));
    }
    failure.hint("mend the file, or begin anew with `--recompile`, which keeps the old file beside")
}

fn legacy(sprint: &SprintPath, layout: &Layout) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    Failure::new(
        "plan.legacy",
        format!("{} is {}", path.display(), layout.describe()),
    )
    .hint("run the definition anew with `--recompile`, which keeps the old file beside")
}

fn foreign(sprint: &SprintPath, layout: &Layout) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    Failure::new(
        "plan.foreign",
        format!(
            "{} is {}; it was left alone",
            path.display(),
            layout.describe()
        ),
    )
    .hint("keep the sprint in a folder of its own")
}

/// The original keeps a hash of its file beside it; when it is stale, people
/// are told what that means.
fn report_checksum(path: &Path, text: &str, tell: &mut dyn FnMut(Notice<'_>)) {
    let Ok(expected) = fs::read_to_string(with_ending(path, "checksum")) else {
        return;
    };
    let expected = expected
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    if !expected.is_empty() && expected != sha256(text.as_bytes()) {
        tell(Notice::Warning(&format!(
            "{}.checksum does not fit its file: somebody edited the file, or a crash came between the two writes. The file itself is readable and is taken over as it stands",
            path.display()
        )));
    }
}

/// What a sprint may ask for that piton cannot do yet, and how to see that it does.
const UNSUPPORTED: &[(&str, fn(&Progress) -> bool)] = &[
    ("worktree", |progress| {
        is_enabled(progress.worktree.as_ref())
    }),
    ("orchestration", |progress| {
        is_enabled(progress.orchestration.as_ref())
    }),
    ("per-iteration-hooks", |progress| {
        let hooks = progress
            .per_iteration_hooks
            .as_ref()
            .and_then(|hooks| hooks.as_seq());
        hooks.is_some_and(|hooks| hooks.iter().any(|hook| is_enabled(Some(hook))))
    }),
];

fn is_enabled(node: Option<&piton_formats::yaml::Node>) -> bool {
    node.and_then(|node| node.get("enabled"))
        .and_then(piton_formats::yaml::Node::as_bool)
        == Some(true)
}

pub(crate) fn refuse_unsupported(progress: &Progress, ignore: &[String]) -> Result<(), Failure> {
    let missing: Vec<&str> = UNSUPPORTED
        .iter()
        .filter(|(key, asks)| asks(progress) && !ignore.iter().any(|ignored| ignored == key))
        .map(|(key, _)| *key)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let flags: Vec<String> = missing
        .iter()
        .map(|key| format!("--ignore {key}"))
        .collect();
    Err(Failure::new(
        "plan.unsupported",
        format!(
            "the sprint enables what piton does not do yet: {}",
            missing.join(", ")
        ),
    )
    .hint(format!(
        "leave it out of the plan, or run without it: `{}`",
        flags.join(" ")
    )))
}

/// Says what is done one after another although the plan allows more.
fn warn_sequential(progress: &Progress, tell: &mut dyn FnMut(Notice<'_>)) {
    let mut keys = Vec::new();
    let mut nodes: Vec<&sprint::PhaseNode> = progress.phases.iter().collect();
    while let Some(node) = nodes.pop() {
        keys.extend((node.parallel == Some(true)).then_some("parallel"));
        keys.extend((node.wait_for_parallel == Some(true)).then_some("wait-for-parallel"));
        keys.extend((!node.depends_on.is_empty()).then_some("depends-on"));
        nodes.extend(node.children.as_slice());
    }
    keys.extend(is_enabled(progress.parallel_execution.as_ref()).then_some("parallel-execution"));
    keys.sort_unstable();
    keys.dedup();
    if !keys.is_empty() {
        tell(Notice::Warning(&format!(
            "{}: done one after another, in an order that the dependencies allow",
            keys.join(", ")
        )));
    }
}

fn dry_run(world: &World, request: &Request, target: &Found) -> Result<Answer, Failure> {
    let mut quiet = |_: Notice<'_>| {};
    let prepared = match &target.sprint {
        Some(sprint) => prepare(world, request, target, sprint, &mut quiet)?,
        None => Prepared::Known(existing(world, target, request)?),
    };
    let dry = |node: String, state, model: &Option<String>, gate: bool, breakpoint| DryNode {
        node,
        state,
        model: model.clone().or_else(|| request.model.clone()),
        gate,
        breakpoint,
    };
    Ok(Answer::Dry(match prepared {
        Prepared::Fresh(fresh) => {
            let parents: std::collections::HashSet<_> = fresh
                .plan
                .items
                .iter()
                .filter_map(|item| item.node.parent())
                .collect();
            fresh
                .plan
                .items
                .iter()
                .filter(|item| !parents.contains(&item.node) && !item.state.is_finished())
                .map(|item| {
                    dry(
                        item.node.to_string(),
                        item.state,
                        &item.model,
                        item.gate.is_some(),
                        item.breakpoint,
                    )
                })
                .collect()
        }
        Prepared::Known(row) => {
            let Some(session) = Session::read(world, &target.project.root)? else {
                return Ok(Answer::Dry(Vec::new()));
            };
            let rows = session.load(&[Need::Tree(row.id)])?;
            rows.tables
                .tree(row.id)
                .filter(|item| item.is_leaf() && !item.state.is_finished())
                .map(|item| {
                    dry(
                        item.node.to_string(),
                        item.state,
                        &item.model,
                        item.gate.is_some(),
                        item.breakpoint,
                    )
                })
                .collect()
        }
    }))
}
