//! The flags that an invocation takes over from the one before it.
//!
//! Which flags these are, and what wins, stands in [`piton_core::flags`].

use piton_core::RunRow;
use piton_core::flags::RunFlags;
use piton_core::policy::Limits;

use super::request::{RunRequest, RunTarget, TargetPlan};
use crate::config::VerdictSource;
use crate::failure::Failure;
use crate::native_files::plan_file_owner::run_of_file;
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;

/// A request with what the invocation before it was given, where it was not
/// given anything itself.
pub(super) struct RememberedRequest {
    pub(super) request: RunRequest,
    /// The flags that were not typed now, as they would be typed.
    pub(super) taken_over: Vec<String>,
    given: RunFlags,
}

impl RememberedRequest {
    /// The command that was typed, with one more flag.
    pub(super) fn command_with_flag(&self, flag: &str) -> String {
        let mut given = self.given.clone();
        // One that is replaced is not typed twice.
        match flag.split(' ').next().unwrap_or_default() {
            "--agent" => given.agent = None,
            "--verdict" => given.verdict = None,
            "--workers" => given.workers = None,
            _ => {}
        }
        format!("{} {flag}", command_of_request(&self.request, &given))
    }

    /// A failure whose hint names flags to add, with the command that they are
    /// added to: of `--recompile`, `piton run demo --recompile`.
    pub(super) fn complete_hint(&self, failure: Failure) -> Failure {
        let Some(hint) = &failure.hint else {
            return failure;
        };
        let parts: Vec<String> = hint
            .split('`')
            .enumerate()
            .map(|(at, part)| {
                let is_flag = at % 2 == 1 && part.starts_with("--");
                if is_flag {
                    self.command_with_flag(part)
                } else {
                    part.to_owned()
                }
            })
            .collect();
        let whole = parts.join("`");
        failure.with_hint(whole)
    }
}

/// Fills in what the last invocation of the same run, or of the run that this
/// one takes the place of, was given.
///
/// # Errors
///
/// When the store cannot be read.
pub(super) fn fill_in_flags(
    world: &World,
    request: &RunRequest,
    target: &RunTarget,
) -> Result<RememberedRequest, Failure> {
    let before = match Session::open_read_only(world, &target.project.root)? {
        Some(session) => last_invoked_run(&session, target)?,
        None => None,
    };
    let before = before.map(|row| row.invocation.flags).unwrap_or_default();
    let given = flags_of_request(world, request, &target.project);
    let now = before.with_overrides(&given);
    let workflows = now
        .workflows
        .as_deref()
        .map(|at| target.project.absolute_path(at));
    let verdict = now.verdict.as_deref().and_then(VerdictSource::parse);
    Ok(RememberedRequest {
        taken_over: added_flags(&given, &now),
        request: RunRequest {
            agent: now.agent,
            model: now.model,
            verdict,
            workflows: request.workflows.clone().or(workflows),
            limits: Limits {
                stop_on_failure: request.limits.stop_on_failure,
                ..now.limits
            },
            workers: now.workers,
            ignore: now.ignore,
            ..request.clone()
        },
        given,
    })
}

/// The run that is meant, or the last one of its plan, if it was ever worked on.
fn last_invoked_run(session: &Session<'_>, target: &RunTarget) -> Result<Option<RunRow>, Failure> {
    let source = match &target.what {
        // A name that fits no run is refused where the run is looked up.
        TargetPlan::Run(name) => return Ok(session.resolve_run(name).ok()),
        TargetPlan::Sprint(sprint) => target.project.relative_path(&sprint.folder),
        TargetPlan::File(file) => target.project.relative_path(&file.file),
    };
    let runs = session.runs()?;
    let is_another = runs.iter().any(|run| run.plan.source == source)
        && run_of_file(&session.project, &runs, &source).is_none();
    let mut invoked = runs.into_iter().filter(|run| run.plan.source == source);
    // What was said of one plan is not said of the next in the same file.
    Ok(invoked.rfind(|run| run.invocation.invocations > 0 && !is_another))
}

/// What a request says of the flags that are remembered.
pub(super) fn flags_of_request(world: &World, request: &RunRequest, project: &Project) -> RunFlags {
    let workflows = request
        .workflows
        .as_ref()
        .map(|folder| world.resolve_path(folder));
    let agent = request.agent.as_ref();
    RunFlags {
        agent: agent.filter(|agent| !agent.trim().is_empty()).cloned(),
        model: request.model.clone(),
        verdict: request.verdict.map(|by| by.as_str().to_owned()),
        workflows: workflows.map(|folder| project.relative_path(&folder)),
        workers: request.workers,
        ignore: request.ignore.clone(),
        // How an invocation ends is no limit of the next.
        limits: Limits {
            stop_on_failure: false,
            ..request.limits.clone()
        },
    }
}

/// The flags that are stored. A command that holds a secret is not: without the
/// secret it would be another command.
pub(super) fn without_secrets(world: &World, flags: RunFlags) -> RunFlags {
    let redactor = world.redactor();
    let agent = flags.agent.clone();
    RunFlags {
        agent: agent.filter(|agent| redactor.redact(agent) == *agent),
        ..flags
    }
}

/// The command of a request.
fn command_of_request(request: &RunRequest, given: &RunFlags) -> String {
    let mut words = vec!["piton run".to_owned()];
    words.extend(
        request
            .plan
            .as_deref()
            .map(|plan| quote_word(plan).into_owned()),
    );
    words.extend(added_flags(&RunFlags::default(), given));
    let from = request.from.as_ref();
    words.extend(from.map(|file| format!("--from {}", quote_word(&file.to_string_lossy()))));
    let switches = [
        ("--wait", request.wait),
        ("--once", request.once),
        ("--recompile", request.recompile),
        ("--stop-on-failure", request.limits.stop_on_failure),
    ];
    let on = switches.iter().filter(|(_, is_on)| *is_on);
    words.extend(on.map(|(name, _)| (*name).to_owned()));
    words.join(" ")
}

/// What holds now and was not given, as it would be typed.
fn added_flags(given: &RunFlags, now: &RunFlags) -> Vec<String> {
    let mut typed = Vec::new();
    let mut flag = |name: &str, given: Option<String>, now: Option<String>| {
        if let Some(value) = now.filter(|_| given.is_none()) {
            typed.push(format!("{name} {}", quote_word(&value)));
        }
    };
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    flag("--agent", given.agent.clone(), now.agent.clone());
    flag("--model", given.model.clone(), now.model.clone());
    flag("--verdict", given.verdict.clone(), now.verdict.clone());
    flag(
        "--workflows",
        given.workflows.clone(),
        now.workflows.clone(),
    );
    let workers = |flags: &RunFlags| flags.workers.map(|workers| workers.to_string());
    flag("--workers", workers(given), workers(now));
    let (was, is) = (&given.limits, &now.limits);
    let count = |value: Option<u32>| value.map(|value| value.to_string());
    let seconds = |value: Option<u64>| value.map(|value| format!("{value}s"));
    flag(
        "--max-iterations",
        count(was.iterations_max),
        count(is.iterations_max),
    );
    flag(
        "--time-box",
        seconds(was.time_box_s),
        seconds(is.time_box_s),
    );
    let dollars = |limits: &Limits| {
        let amount = limits.budget_usd.map(|amount| amount.to_string());
        amount.map(|amount| amount.trim_start_matches('$').to_owned())
    };
    flag("--budget-usd", dollars(was), dollars(is));
    flag(
        "--budget-tokens",
        number(was.budget_tokens),
        number(is.budget_tokens),
    );
    let ignored = now.ignore.iter().filter(|key| !given.ignore.contains(key));
    typed.extend(ignored.map(|key| format!("--ignore {}", quote_word(key))));
    typed
}
