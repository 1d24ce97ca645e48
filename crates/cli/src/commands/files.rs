//! `piton files`.

mod merge_driver;

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::files::{
    self, CheckedFiles, ConvertedFile, FileStanding, Grade, ListedFile, ListedFiles, MigratedFiles,
    SyncReport,
};
use piton_engine::verbs::init::{self, Intent};
use piton_engine::{CommandExit, Failure, Findings, World};

use self::merge_driver::MergeDriverCommand;
use crate::invocation::{Invocation, TypedCommand, access_of_change};
use crate::output::{BOLD, CliOutput, DIM, GREEN, RED, YELLOW};
use crate::show::adoption::{TAKEN_OVER, describe_import_count, show_adoption};
use crate::show::count::format_count;
use crate::show::table;

#[derive(Debug, ClapArgs)]
pub(crate) struct FilesArgs {
    #[command(subcommand)]
    command: FilesCommand,
}

#[derive(Debug, Subcommand)]
enum FilesCommand {
    /// List the native files of the project and their status
    #[command(
        after_help = "Examples:\n  piton files list\n  piton files list --json | jq -r '.files[] | select(.standing == \"asked\") | .path'"
    )]
    List {
        /// Exit with status 1 if a part of a file cannot be imported
        #[arg(long)]
        strict: bool,
    },
    /// Check native files without writing anything
    #[command(
        after_help = "Prints the problems of each file, and what piton would import from it.\n\nExamples:\n  piton files check .ralph/progress.json prd.json\n  piton files check --strict sprints/2026-01-15_auth/PROGRESS.yaml"
    )]
    Check {
        /// Check strictly against the format; exit with status 1 if a part cannot be imported
        #[arg(long)]
        strict: bool,
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of a format
    #[command(
        after_help = "Formats: ralph-json, agent-os, sdlc, prd-features, prd-user-stories, sprint,\nsprint-progress, workflow.\n\nExample:\n  piton files schema ralph-json > progress.schema.json"
    )]
    Schema {
        /// The format
        format: String,
    },
    /// Import changes to native files, and update all of them
    #[command(after_help = "Example:\n  piton files sync")]
    Sync,
    /// Convert a file to another format
    #[command(
        after_help = "Lists what the other format has no place for.\n\nLogs: ralph-json, agent-os, ralph-progress. Plans: sprint-progress, prd-features,\nprd-user-stories, task-file, sdlc.\n\nExamples:\n  piton files convert --from prd-features --to task-file -o RALPH_TASK.md\n  piton files convert --from ralph-json --to agent-os\n  piton files convert --from agent-os --to ralph-json --input old.json -o progress.json"
    )]
    Convert {
        /// The format of the input
        #[arg(long, value_name = "FORMAT")]
        from: String,
        /// The format of the output
        #[arg(long, value_name = "FORMAT")]
        to: String,
        /// The input file [default: the usual path of its format]
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// The output file, which must not exist yet; `-` is stdout
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
        /// Exit with status 1 if something is lost
        #[arg(long)]
        strict: bool,
    },
    /// Import the files of older layouts: progress.txt
    #[command(after_help = "Example:\n  piton files migrate")]
    Migrate,
    /// Manage the git merge driver for native files
    #[command(
        subcommand,
        after_help = "Examples:\n  piton files merge-driver install\n  piton files merge-driver uninstall"
    )]
    MergeDriver(MergeDriverCommand),
}

impl TypedCommand for FilesArgs {
    const ABOUT: &'static str = "List, check, sync, convert and migrate native files";
    const AFTER_HELP: &'static str = "Examples:\n  piton files list\n  piton files check --strict .ralph/progress.json\n  piton files sync";

    fn permission(&self) -> Permission {
        match &self.command {
            FilesCommand::List { .. } => Permission::new("piton files list", CommandAccess::Read),
            FilesCommand::Check { .. } => Permission::new("piton files check", CommandAccess::Read),
            FilesCommand::Schema { .. } => {
                Permission::new("piton files schema", CommandAccess::Read)
            }
            FilesCommand::Sync => Permission::new("piton files sync", CommandAccess::Person),
            FilesCommand::Convert { output, .. } => {
                let writes = output != Path::new("-");
                Permission::new("piton files convert", access_of_change(writes))
            }
            FilesCommand::Migrate => Permission::new("piton files migrate", CommandAccess::Person),
            FilesCommand::MergeDriver(MergeDriverCommand::Install(settings)) => Permission::new(
                "piton files merge-driver install",
                access_of_change(!settings.dry_run),
            ),
            FilesCommand::MergeDriver(MergeDriverCommand::Uninstall(settings)) => Permission::new(
                "piton files merge-driver uninstall",
                access_of_change(!settings.dry_run),
            ),
            // An agent that merges is not asked who it is: git names the files.
            FilesCommand::MergeDriver(MergeDriverCommand::Run(_)) => {
                Permission::new("piton files merge-driver run", CommandAccess::Read)
            }
        }
    }

    fn needs_config(&self) -> bool {
        // git starts it for each file of a merge; it looks at these files alone.
        !matches!(
            self.command,
            FilesCommand::MergeDriver(MergeDriverCommand::Run(_))
        )
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        match self.command {
            FilesCommand::List { strict } => list_files(strict, call),
            FilesCommand::Check { strict, files } => {
                let grade = if strict {
                    Grade::Strict
                } else {
                    Grade::Tolerant
                };
                Ok(check_files(&files, grade, call))
            }
            FilesCommand::Schema { format } => {
                let schema = files::json_schema(&format)?;
                let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
                call.output.print_file(&format!("{text}\n"));
                Ok(CommandExit::Done)
            }
            FilesCommand::Sync => sync_files(call),
            FilesCommand::Convert {
                from,
                to,
                input,
                output: target,
                strict,
            } => {
                let converted = files::convert(call.world, &from, &to, input.as_ref())?;
                let is_no = strict && !converted.lost.is_empty();
                show_conversion(converted, &to, &target, call)?;
                Ok(if is_no {
                    CommandExit::No
                } else {
                    CommandExit::Done
                })
            }
            FilesCommand::Migrate => {
                let world = call.world;
                let migrated = files::migrate(world, &mut |text| {
                    call.output.print_note(&format!("{DIM}{text}{DIM:#}"));
                })?;
                call.print(&migrated, show_migrated);
                Ok(CommandExit::Done)
            }
            FilesCommand::MergeDriver(command) => command.run(call),
        }
    }
}

fn list_files(strict: bool, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
    let mut listed = files::list(call.world)?;
    let older = mark_older_layouts(call.world, &mut listed.files)?;
    let is_whole = listed.files.iter().all(|file| file.adoption.is_complete());
    call.print(&listed, |listed, _, output| {
        show_files(listed, &older, output)
    });
    Ok(if strict && !is_whole {
        CommandExit::No
    } else {
        CommandExit::Done
    })
}

fn show_files(listed: &ListedFiles, older: &[String], output: &mut CliOutput) {
    let rows = listed.files.iter().map(|file| {
        let standing = match (file.standing, &file.run) {
            (FileStanding::Face, _) => format!("{GREEN}kept up to date{GREEN:#}"),
            (FileStanding::Asked, _) => format!("{YELLOW}asked about, see `piton inbox`{YELLOW:#}"),
            (FileStanding::Missing, _) => {
                format!(
                    "{YELLOW}not there: `piton files sync` writes what there is to show{YELLOW:#}"
                )
            }
            (FileStanding::Off | FileStanding::Elsewhere, _) => "not kept up to date".to_owned(),
            (FileStanding::Plan, Some(run)) => format!("{GREEN}plan of run {run}{GREEN:#}"),
            (FileStanding::Plan, None) => "a plan".to_owned(),
            (FileStanding::Foreign, _) if older.contains(&file.path) => TAKEN_OVER.to_owned(),
            (FileStanding::Foreign, _) => "another tool's".to_owned(),
            (FileStanding::Unreadable, _) => format!("{RED}cannot be read{RED:#}"),
        };
        let problems = match (file.errors, file.warnings) {
            (0, 0) => String::new(),
            (0, warnings) => format_count(warnings, "warning"),
            (errors, _) => format_count(errors, "error"),
        };
        let link = file.link.as_ref();
        let link = link.map(|to| format!(" -> {}", to.display()));
        let counts: Vec<String> = file
            .adoption
            .counts
            .iter()
            .map(describe_import_count)
            .collect();
        [
            format!("{BOLD}{}{BOLD:#}{}", file.path, link.unwrap_or_default()),
            standing,
            problems,
            counts.join(", "),
            format!("{DIM}{}{DIM:#}", file.about),
        ]
    });
    output.print_data(&table::render(rows));
    if listed.files.is_empty() {
        output.print_note("no native files were found here");
    }
    for file in listed
        .files
        .iter()
        .filter(|file| !file.adoption.is_complete())
    {
        show_adoption(&file.path, &file.adoption, output);
    }
}

/// The listed files that are of an older layout. They belong to no format; what
/// they are is said as `piton init` says it.
fn mark_older_layouts(world: &World, listed: &mut [ListedFile]) -> Result<Vec<String>, Failure> {
    let mut foreign = listed
        .iter_mut()
        .filter(|file| file.standing == FileStanding::Foreign)
        .peekable();
    if foreign.peek().is_none() {
        return Ok(Vec::new());
    }
    let mut older = init::survey_project(world, &[])?.found;
    older.retain(|found| found.intent == Intent::Migrate);
    for file in foreign {
        if let Some(found) = older.iter().find(|found| found.path == file.path) {
            file.about.clone_from(&found.about);
        }
    }
    Ok(older.into_iter().map(|found| found.path).collect())
}

fn check_files(paths: &[PathBuf], grade: Grade, call: &mut Invocation<'_>) -> CommandExit {
    let checked = files::check(call.world, paths, grade);
    call.print(&checked, show_checked);
    for (_, failure) in &checked.unread {
        call.output.print_failure(failure);
    }
    checked.exit_code(grade)
}

fn show_checked(checked: &CheckedFiles, _: &World, output: &mut CliOutput) {
    if checked.files == 0 {
        return;
    }
    let errors = checked.findings.error_count();
    output.print_findings(&add_problem_paths(&checked.findings));
    for file in &checked.adopted {
        show_adoption(&file.file, &file.counts, output);
    }
    let warnings = checked.findings.problems.len() - errors;
    let said = match (errors, warnings) {
        (0, 0) if !checked.is_fully_adopted() => {
            format!(
                "{}: no errors, and not all is taken",
                format_count(checked.files, "file")
            )
        }
        (0, 0) => format!(
            "{GREEN}{}: all is well{GREEN:#}",
            format_count(checked.files, "file")
        ),
        (0, warnings) => format!("{}, no errors", format_count(warnings, "warning")),
        (errors, 0) => format!("{RED}{}{RED:#}", format_count(errors, "error")),
        (errors, warnings) => {
            format!(
                "{RED}{}{RED:#}, {}",
                format_count(errors, "error"),
                format_count(warnings, "warning")
            )
        }
    };
    output.print_note(&said);
}

/// The problems, each with its place in the document: in a long file a line does
/// not tell which entry it is of.
fn add_problem_paths(findings: &Findings) -> Findings {
    let mut findings = findings.clone();
    for problem in &mut findings.problems {
        if !problem.path.is_empty() {
            problem.message = format!("{}, at {}", problem.message, problem.path);
        }
    }
    findings
}

fn sync_files(call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
    let synced = files::sync(call.world)?;
    call.print(&synced, show_synced);
    Ok(if !synced.asked.is_empty() {
        CommandExit::Waits
    } else if synced.behind.is_empty() {
        CommandExit::Done
    } else {
        CommandExit::No
    })
}

fn show_synced(synced: &SyncReport, _: &World, output: &mut CliOutput) {
    for said in &synced.said {
        output.print_note(said);
    }
    for behind in &synced.behind {
        output.print_warning(behind);
    }
    if !synced.asked.is_empty() {
        output.print_warning(&format!(
            "a person is asked about {}; see `piton inbox`",
            synced.asked.join(", ")
        ));
    }
    match &synced.elsewhere {
        Some(elsewhere) => output.print_note(&elsewhere.to_string()),
        None if synced.asked.is_empty() && synced.behind.is_empty() => {
            output.print_note("all native files are up to date")
        }
        None => {}
    }
}

fn show_conversion(
    mut converted: ConvertedFile,
    to: &str,
    target: &Path,
    call: &mut Invocation<'_>,
) -> Result<(), Failure> {
    call.output.print_findings(&converted.findings);
    let is_written = target != Path::new("-");
    if is_written {
        files::write_new(call.world, target, &converted.text)?;
        converted.text.clear();
    }
    call.print(&converted, |converted, _, output| {
        if is_written {
            output.print_note(&format!("wrote {}", target.display()));
        } else {
            output.print_file(&converted.text);
        }
        if !converted.lost.is_empty() {
            output.print_note(&format!("{to} has no place for:"));
            let lost = converted.lost.iter();
            let rows = lost.map(|lost| [format!("  {}", lost.count), lost.what.clone()]);
            output.print_note(table::render(rows).trim_end());
        }
    });
    Ok(())
}

fn show_migrated(migrated: &MigratedFiles, _: &World, output: &mut CliOutput) {
    for file in &migrated.migrated {
        let what = if file.said_something {
            let kept = match file.learnings {
                1 => "learning-0000".to_owned(),
                several => format!("{several} learnings, from learning-0000 on,"),
            };
            format!(
                "what {} said is kept as {kept} and shown in {}",
                file.from, file.to
            )
        } else {
            format!(
                "{} said nothing yet; {} is kept up to date from now on",
                file.from, file.to
            )
        };
        output.print_note(&what);
        output.print_note(&format!("the old file is kept as {}", file.kept));
        for said in &file.said {
            output.print_note(said);
        }
    }
    if migrated.migrated.is_empty() {
        output.print_note("there is nothing of an older layout here");
    }
}
