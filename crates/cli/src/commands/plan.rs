//! `piton plan`.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::request::Injection;
use piton_engine::verbs::clean::{UnsavedPolicy, clean};
use piton_engine::verbs::compile::{
    CompileTarget, CompiledSprint, check_plan, compile_sprint, sprint_path,
};
use piton_engine::verbs::control::{self, ControlOutcome, ItemControl};
use piton_engine::verbs::new_run::{NewRunArgs, new_run};
use piton_engine::verbs::sprint::{self, InjectRequest, NewStep, StepTarget};
use piton_engine::{CommandExit, Failure, Findings};

use crate::args::position::PlaceArgs;
use crate::input::read_text;
use crate::invocation::{Invocation, TypedCommand, access_of_change};
use crate::output::{CliOutput, RED};
use crate::show::count::format_count;
use crate::show::outcome::show_outcome;
use crate::show::place::cleanup_lines;

#[derive(Debug, ClapArgs)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Debug, Subcommand)]
enum PlanCommand {
    /// Compile a sprint to PROGRESS.yaml
    #[command(
        after_help = "Examples:\n  piton plan compile sprints/2026-01-15_auth\n  piton plan compile . --workflows workflows -o - --strict"
    )]
    Compile {
        /// The sprint's folder, or its SPRINT.yaml
        sprint: PathBuf,
        /// The folder of the workflows [default: .claude/workflows of the work tree]
        #[arg(long, value_name = "DIR")]
        workflows: Option<PathBuf>,
        /// The file to write; `-` is stdout [default: PROGRESS.yaml of a sprint that has not started]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Treat undefined variables as errors
        #[arg(long)]
        strict: bool,
    },
    /// Check a plan for problems without writing anything
    #[command(
        after_help = "Examples:\n  piton plan check sprints/2026-01-15_auth\n  piton plan check prd.json\n  piton plan check . --strict --json | jq -r '.problems[].code'"
    )]
    Check {
        /// The sprint's folder, its SPRINT.yaml, a prd.json, a state.json or a task file
        #[arg(value_name = "PLAN")]
        sprint: PathBuf,
        /// The folder of the workflows [default: .claude/workflows of the work tree]
        #[arg(long, value_name = "DIR")]
        workflows: Option<PathBuf>,
        /// Treat undefined variables and every deviation from the format as errors
        #[arg(long)]
        strict: bool,
    },
    /// Create a sprint, or a run of issues from a manifest
    #[command(
        after_help = "A sprint is a folder with a SPRINT.yaml to fill in. With --manifest, the command writes the\nstate.json of a run that turns requirements into issues.\n\nExamples:\n  piton plan new --sprint feature-auth\n  piton plan new --sprint feature-auth --workflow bugfix-workflow\n  piton plan new --manifest manifest.yaml --prd requirements/orders.md\n  piton plan new --manifest .sdlc/manifest.yaml --prd https://example.org/orders"
    )]
    New(Box<NewArgs>),
    /// Add phases to a sprint that has started
    #[command(
        after_help = "Examples:\n  piton plan inject 'Update the changelog'\n  piton plan inject 'Review the API' --after development --id-prefix review\n  piton plan inject --workflow hardening --at end-of-workflow"
    )]
    Inject(Box<InjectArgs>),
    /// Add a step to a sprint, and to its run if it has started
    #[command(
        after_help = "Examples:\n  piton plan add-step 'Add a login page'\n  piton plan add-step 'Fix the reset mail' --sprint .claude/sprints/2026-01-15_auth --workflow bugfix"
    )]
    AddStep {
        /// The prompt of the step
        prompt: String,
        #[command(flatten)]
        target: StepsArgs,
        /// The id of the step
        #[arg(long)]
        id: Option<String>,
        /// The workflow of this step
        #[arg(long, value_name = "NAME")]
        workflow: Option<String>,
        /// The model for this step
        #[arg(long)]
        model: Option<String>,
    },
    /// Add the steps in a file to a sprint
    #[command(
        after_help = "Examples:\n  piton plan import steps.yaml\n  gh issue list --label bug --json number,title,body | piton plan import -"
    )]
    Import {
        /// A list of `- prompt: TEXT` under `steps:`, or the output of `gh issue list --json`; `-`
        /// is stdin
        file: PathBuf,
        #[command(flatten)]
        target: StepsArgs,
    },
    /// Skip a node and everything below it
    #[command(
        after_help = "Examples:\n  piton plan skip development/step-2\n  piton plan skip 2026-01-15_auth:release --why 'not needed any more'"
    )]
    Skip {
        /// The node: [RUN:]NODE, as `piton status` shows it
        node: String,
        /// The reason
        #[arg(long)]
        why: Option<String>,
    },
    /// Retry a node and everything that failed below it
    #[command(
        after_help = "Examples:\n  piton plan retry development/step-2\n  piton plan retry 2026-01-15_auth:release --why 'the disk has room again'"
    )]
    Retry {
        /// The node: [RUN:]NODE, as `piton status` shows it
        node: String,
        /// The reason
        #[arg(long)]
        why: Option<String>,
    },
    /// Remove the worktree or the lanes of a run
    #[command(
        after_help = "A worktree is removed if it has no uncommitted changes; its branch stays. Lanes are removed,\nwith their branch, if the run has landed. If a lane has work that exists nowhere else,\nnothing is removed.\n\nExamples:\n  piton plan clean 2026-01-15_auth\n  piton plan clean sprints/2026-01-15_auth\n  piton plan clean 2026-01-15_auth --abandon"
    )]
    Clean {
        /// The run: its name, or the path of its plan
        run: String,
        /// Remove the lanes even if they have work that exists nowhere else
        #[arg(long)]
        abandon: bool,
    },
}

/// What is begun.
#[derive(Debug, ClapArgs)]
struct NewArgs {
    /// The name of the sprint; the name of its folder starts with the date
    #[arg(long, value_name = "NAME", required_unless_present = "manifest")]
    sprint: Option<String>,
    /// The workflow of the sprint
    #[arg(long, value_name = "NAME", requires = "sprint")]
    workflow: Option<String>,
    /// The owner of the sprint
    #[arg(long, requires = "sprint")]
    owner: Option<String>,
    /// Create a run of issues in the repository that this manifest.yaml names
    #[arg(long, value_name = "FILE", conflicts_with = "sprint")]
    manifest: Option<PathBuf>,
    /// The requirements: a file, or a URL, which piton does not fetch
    /// [default: `prd` of the manifest]
    #[arg(long, value_name = "FILE|URL", requires = "manifest")]
    prd: Option<String>,
    /// The file to write [default: state.json beside the manifest]
    #[arg(long, value_name = "FILE", requires = "manifest")]
    out: Option<PathBuf>,
}

/// What is added to a sprint that is under way.
#[derive(Debug, ClapArgs)]
struct InjectArgs {
    /// The prompt for the agent; with --workflow, the subject of its phases
    #[arg(required_unless_present = "workflow")]
    prompt: Option<String>,
    /// The run: its name, the path of its plan, or a prefix of its id
    #[arg(long)]
    run: Option<String>,
    /// Add the phases of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// The folder of the workflows [default: .claude/workflows of the work tree]
    #[arg(long, value_name = "DIR", requires = "workflow")]
    workflows: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    /// The prefix of the new ids
    #[arg(long, value_name = "PREFIX")]
    id_prefix: Option<String>,
    /// The model to use
    #[arg(long)]
    model: Option<String>,
}

/// The sprint that steps are added to.
#[derive(Debug, ClapArgs)]
struct StepsArgs {
    /// The sprint's folder [default: the current one, else the newest in .claude/sprints]
    #[arg(long, value_name = "DIR")]
    sprint: Option<PathBuf>,
    /// The collection [default: step, or the only one]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// The folder of the workflows [default: .claude/workflows of the work tree]
    #[arg(long, value_name = "DIR")]
    workflows: Option<PathBuf>,
}

impl TypedCommand for PlanArgs {
    const ABOUT: &'static str = "Create, check, compile and change plans";
    const AFTER_HELP: &'static str = "Examples:\n  piton plan check sprints/2026-01-15_auth\n  piton plan skip development/step-2 --why 'not needed any more'";

    fn permission(&self) -> Permission {
        match &self.command {
            PlanCommand::Compile { sprint, output, .. } => {
                let writes = output.as_deref() != Some(Path::new("-"));
                Permission::new("piton plan compile", access_of_change(writes))
                    .for_path(Some(sprint))
            }
            PlanCommand::Check { .. } => Permission::new("piton plan check", CommandAccess::Read),
            PlanCommand::New(_) => Permission::new("piton plan new", CommandAccess::Person),
            PlanCommand::Inject(args) => {
                Permission::new("piton plan inject", CommandAccess::Person)
                    .for_path(args.run.as_ref())
            }
            PlanCommand::AddStep { target, .. } => {
                Permission::new("piton plan add-step", CommandAccess::Person)
                    .for_path(target.sprint.as_ref())
            }
            PlanCommand::Import { target, .. } => {
                Permission::new("piton plan import", CommandAccess::Person)
                    .for_path(target.sprint.as_ref())
            }
            PlanCommand::Skip { .. } => Permission::new("piton plan skip", CommandAccess::Person),
            PlanCommand::Retry { .. } => Permission::new("piton plan retry", CommandAccess::Person),
            PlanCommand::Clean { .. } => Permission::new("piton plan clean", CommandAccess::Person),
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let world = call.world;
        match self.command {
            PlanCommand::Compile {
                sprint,
                workflows,
                output: file,
                strict,
            } => {
                let target = match file {
                    None => CompileTarget::Beside,
                    Some(file) if file == Path::new("-") => CompileTarget::Caller,
                    Some(file) => CompileTarget::File(file),
                };
                let sprint = sprint_path(world, &sprint)?;
                let compiled =
                    compile_sprint(world, &sprint, workflows.as_deref(), strict, &target)?;
                Ok(show_compiled_plan(compiled, &target, call))
            }
            PlanCommand::Check {
                sprint,
                workflows,
                strict,
            } => {
                let checked = check_plan(world, &sprint, workflows.as_deref(), strict)?;
                call.print(&checked, |checked, _, output| {
                    output.print_findings(&checked.findings);
                    show_error_count(&checked.findings, output);
                    if checked.is_fine {
                        output.print_note(&format!("{} is fine", checked.shown.display()));
                    }
                });
                Ok(if checked.is_fine {
                    CommandExit::Done
                } else {
                    CommandExit::No
                })
            }
            PlanCommand::New(args) => create_plan(*args, call),
            PlanCommand::Inject(args) => {
                let addition = InjectRequest {
                    run: args.run,
                    prompt: args.prompt,
                    workflow: args.workflow,
                    workflows: args.workflows,
                    injection: Injection {
                        position: args.place.position(),
                        model: args.model,
                        id_prefix: args.id_prefix,
                        ..Injection::default()
                    },
                };
                let outcome =
                    sprint::inject(world, addition, &mut |notice| call.show_notice(&notice))?;
                Ok(print_outcome(&outcome, call))
            }
            PlanCommand::AddStep {
                prompt,
                target,
                id,
                workflow,
                model,
            } => {
                let step = NewStep {
                    prompt,
                    id,
                    workflow,
                    model,
                };
                add_steps(target, &[step], call)
            }
            PlanCommand::Import { file, target } => {
                let (name, text) = read_text(world, &file)?;
                let steps = sprint::parse_steps(&name, &text)?;
                add_steps(target, &steps, call)
            }
            PlanCommand::Skip { node, why } => {
                let outcome = control::skip_or_retry_item(world, &node, ItemControl::Skip, why)?;
                Ok(print_outcome(&outcome, call))
            }
            PlanCommand::Retry { node, why } => {
                let outcome = control::skip_or_retry_item(world, &node, ItemControl::Retry, why)?;
                Ok(print_outcome(&outcome, call))
            }
            PlanCommand::Clean { run, abandon } => {
                let unsaved = match abandon {
                    true => UnsavedPolicy::Abandon,
                    false => UnsavedPolicy::Refuse,
                };
                let cleaned = clean(world, &run, unsaved, &mut |notice| {
                    call.show_notice(&notice)
                })?;
                call.print(&cleaned, |cleaned, _, output| {
                    for line in cleanup_lines(cleaned) {
                        output.print_note(&line);
                    }
                });
                Ok(CommandExit::Done)
            }
        }
    }
}

pub(super) fn print_outcome(outcome: &ControlOutcome, call: &mut Invocation<'_>) -> CommandExit {
    call.print(outcome, |outcome, _, output| show_outcome(outcome, output));
    CommandExit::Done
}

fn create_plan(args: NewArgs, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
    if let Some(manifest) = args.manifest {
        let args = NewRunArgs {
            manifest,
            requirements: args.prd,
            out: args.out,
        };
        let made = new_run(call.world, &args)?;
        call.print(&made, |made, _, output| {
            for problem in &made.problems {
                output.print_warning(&format!("{}: {}", problem.file, problem.message));
            }
            output.print_note(&format!("wrote {}: run `{}`", made.file, made.run));
            output.print_hint(&format!("begin it with `{}`", made.next));
        });
        return Ok(CommandExit::Done);
    }
    let (workflow, owner) = (args.workflow.as_deref(), args.owner.as_deref());
    let name = args.sprint.unwrap_or_default();
    let made = sprint::new_sprint(call.world, &name, workflow, owner)?;
    call.print(&made, |made, _, output| {
        output.print_note(&format!("wrote {}", made.file));
        if let Some(missing) = &made.missing {
            output.print_warning(&format!(
                "its workflow is not there: steps can be added when {missing} is written"
            ));
        }
        output.print_hint(&format!("add to it with `{}`", made.next));
    });
    Ok(CommandExit::Done)
}

fn add_steps(
    target: StepsArgs,
    steps: &[NewStep],
    call: &mut Invocation<'_>,
) -> Result<CommandExit, Failure> {
    let target = StepTarget {
        sprint: target.sprint,
        collection: target.collection,
        workflows: target.workflows,
    };
    let added = sprint::add_steps(call.world, &target, steps, &mut |notice| {
        call.show_notice(&notice)
    })?;
    call.print(&added, |added, _, output| {
        if added.known > 0 {
            let (steps, are) = (
                format_count(added.known, "step"),
                if added.known == 1 { "is" } else { "are" },
            );
            output.print_note(&format!("{steps} {are} there already"));
        }
        let steps = format_count(added.steps, "step");
        output.print_note(&format!("added {steps} to {}", added.file));
        match &added.run {
            Some(run) => show_outcome(run, output),
            None => output.print_hint(&format!("run it with `{}`", added.next)),
        }
    });
    Ok(CommandExit::Done)
}

fn show_compiled_plan(
    mut compiled: CompiledSprint,
    target: &CompileTarget,
    call: &mut Invocation<'_>,
) -> CommandExit {
    let exit = if compiled.progress.is_some() {
        CommandExit::Done
    } else {
        CommandExit::No
    };
    if *target != CompileTarget::Caller {
        (compiled.progress, compiled.text) = (None, None);
    }
    call.print(&compiled, |compiled, _, output| {
        output.print_findings(&compiled.findings);
        if let Some(text) = &compiled.text {
            output.print_file(text);
        }
        if let Some(written) = &compiled.written {
            output.print_note(&format!("wrote {}", written.display()));
        }
        show_error_count(&compiled.findings, output);
    });
    exit
}

fn show_error_count(findings: &Findings, output: &mut CliOutput) {
    let errors = findings.error_count();
    if errors > 0 {
        output.print_note(&format!(
            "{RED}{}; nothing was written{RED:#}",
            format_count(errors, "error")
        ));
    }
}
