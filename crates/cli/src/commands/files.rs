//! `piton init` and `piton files`.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use piton_engine::verbs::files::{self, Adoption, AdoptionCount, FileStanding, Grade, ListedFile};
use piton_engine::verbs::init::{self, InitReport, Intent};
use piton_engine::{CommandExit, Failure, Findings, World};

use super::{format_count, merge_driver};
use crate::args::{FilesCommand, InitArgs};
use crate::output::{BOLD, CliOutput, DIM, GREEN, RED, YELLOW};
use crate::show::table;

pub(super) fn run_init(
    world: &World,
    args: &InitArgs,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let looked = init::survey_project(world, &args.with)?;
    if !output.json {
        show_found_files(&looked, output);
    }
    let exit = if args.strict && !looked.is_fully_adopted() {
        CommandExit::No
    } else {
        CommandExit::Done
    };
    if args.dry_run {
        if output.json {
            output.print_json(&looked);
        } else {
            output.note("nothing was done");
        }
        return Ok(exit);
    }
    let asks = looked.has_files_to_adopt() && !args.yes && !output.json;
    let is_asked = asks && std::io::stdin().is_terminal();
    if is_asked && !is_adoption_confirmed(output) {
        output.note("nothing was done");
        return Ok(CommandExit::No);
    }
    if asks && !is_asked {
        output.note("stdin is no terminal, so piton does not ask: this goes on as with `--yes`; `--dry-run` only looks");
    }
    let done = init::init(world, &args.with, &mut |text| {
        output.note(&format!("{DIM}{text}{DIM:#}"))
    })?;
    if output.json {
        output.print_json(&done);
        return Ok(exit);
    }
    for said in &done.said {
        output.note(said);
    }
    if let Some(elsewhere) = &done.elsewhere {
        output.warning(&elsewhere.to_string());
    }
    if !done.ignore.is_empty() {
        output.note("git need not see these; add them to .gitignore if you agree:");
        for line in &done.ignore {
            output.note(&format!("  {line}"));
        }
    }
    for name in &done.could_begin {
        output.hint(&format!(
            "some files of {name} are not there, and none is made; `piton init --with {name}` begins them"
        ));
    }
    output.note(&describe_next_step(&done));
    Ok(exit)
}

fn is_adoption_confirmed(output: &mut CliOutput) -> bool {
    output.note("adopt these? [Y/n]");
    std::io::stderr().flush().ok();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok();
    matches!(answer.trim(), "" | "y" | "Y" | "yes")
}

fn show_found_files(looked: &InitReport, output: &mut CliOutput) {
    if looked.found.is_empty() {
        output.note("no native files were found here");
        return;
    }
    let rows = looked.found.iter().map(|found| {
        let what = match found.intent {
            Intent::Adopt => format!("{GREEN}adopted, and kept up to date{GREEN:#}"),
            Intent::Begin => "kept up to date as soon as there is something to show".to_owned(),
            Intent::Kept => "kept up to date already".to_owned(),
            Intent::Run => "a plan".to_owned(),
            Intent::Migrate => TAKEN_OVER.to_owned(),
            Intent::Ask => format!("{YELLOW}cannot be read, and is asked about{YELLOW:#}"),
            Intent::LeaveAlone => format!("{YELLOW}left alone{YELLOW:#}"),
        };
        let what = match &found.command {
            Some(command) => format!("{what}: `{command}`"),
            None => what,
        };
        [
            format!("{BOLD}{}{BOLD:#}", found.path),
            what,
            format!("{DIM}{}{DIM:#}", found.about),
        ]
    });
    output.print_data(&table::render(rows));
    for found in &looked.found {
        if let Some(adoption) = &found.adoption {
            show_adoption(&found.path, adoption, output);
        }
    }
}

/// Says what of a file is taken, and names the first things that are not.
fn show_adoption(file: &str, adoption: &Adoption, output: &mut CliOutput) {
    let counts = &adoption.counts;
    if counts.is_empty() {
        return;
    }
    let taken: Vec<String> = counts.iter().map(describe_import_count).collect();
    output.note(&format!("{file}: took {}", taken.join(", ")));
    for count in adoption.incomplete_counts() {
        for left in &count.first {
            let nearest = left.nearest;
            let nearest = nearest.map(|nearest| format!(", perhaps meant as `{nearest}`"));
            output.note(&format!(
                "  {YELLOW}not taken{YELLOW:#}: line {}: {}{}",
                left.line,
                left.text,
                nearest.unwrap_or_default()
            ));
        }
        let more = count.left - count.first.len();
        if more > 0 {
            let more = format!("and {more} more {}", count.what.noun(more));
            output.note(&format!("  {YELLOW}not taken{YELLOW:#}: {more}"));
        }
        if let Some(hint) = count.hint {
            output.note(&format!("  {hint}"));
        }
    }
}

/// `3 rules`, or `0 of 41 ticked boxes` where not all were taken.
fn describe_import_count(count: &AdoptionCount) -> String {
    let all = count.taken + count.left;
    let words = count.what.noun(all);
    match count.left {
        0 => format!("{all} {words}"),
        _ => format!("{} of {all} {words}", count.taken),
    }
}

fn describe_next_step(done: &InitReport) -> String {
    let mut found = done.found.iter();
    let plan = found.find(|found| found.intent == Intent::Run);
    match plan.and_then(|plan| plan.command.as_ref()) {
        Some(command) => format!("next: `{command}`"),
        None => "next: `piton log session_started`, or `piton run PLAN`".to_owned(),
    }
}

pub(super) fn run_files_command(
    world: &World,
    command: FilesCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    match command {
        FilesCommand::List { strict } => list_files(world, strict, output),
        FilesCommand::Check { strict, files } => {
            let grade = if strict {
                Grade::Strict
            } else {
                Grade::Tolerant
            };
            Ok(check_files(world, &files, grade, output))
        }
        FilesCommand::Schema { format } => {
            let schema = files::json_schema(&format)?;
            let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
            output.print_data(&format!("{text}\n"));
            Ok(CommandExit::Done)
        }
        FilesCommand::Sync => sync_files(world, output),
        FilesCommand::Convert {
            from,
            to,
            input,
            output: target,
            strict,
        } => {
            let converted = files::convert(world, &from, &to, input.as_ref())?;
            let is_no = strict && !converted.lost.is_empty();
            show_conversion(world, &to, &converted, &target, output)?;
            Ok(if is_no {
                CommandExit::No
            } else {
                CommandExit::Done
            })
        }
        FilesCommand::Migrate => migrate_files(world, output),
        FilesCommand::MergeDriver(command) => {
            merge_driver::run_merge_driver_command(world, &command, output)
        }
    }
}

fn list_files(world: &World, strict: bool, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let mut listed = files::list(world)?;
    let older = mark_older_layouts(world, &mut listed)?;
    let is_whole = listed.iter().all(|file| file.adoption.is_complete());
    let exit = if strict && !is_whole {
        CommandExit::No
    } else {
        CommandExit::Done
    };
    if output.json {
        output.print_json(&listed);
        return Ok(exit);
    }
    let rows = listed.iter().map(|file| {
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
    if listed.is_empty() {
        output.note("no native files were found here");
    }
    for file in listed.iter().filter(|file| !file.adoption.is_complete()) {
        show_adoption(&file.path, &file.adoption, output);
    }
    Ok(exit)
}

/// What happens to a file of an older layout.
const TAKEN_OVER: &str = "taken over by `piton files migrate`";

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

fn check_files(
    world: &World,
    paths: &[std::path::PathBuf],
    grade: Grade,
    output: &mut CliOutput,
) -> CommandExit {
    let checked = files::check(world, paths, grade);
    let errors = checked.findings.error_count();
    if output.json {
        let unread: Vec<&str> = checked.unread.iter().map(|(file, _)| &**file).collect();
        output.print_json(&serde_json::json!({
            "files": checked.files,
            "problems": checked.findings.problems,
            "adopted": checked.adopted,
            "unread": unread,
        }));
    } else if checked.files > 0 {
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
        output.note(&said);
    }
    for (_, failure) in &checked.unread {
        output.print_failure(failure);
    }
    checked.exit_code(grade)
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

fn sync_files(world: &World, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let synced = files::sync(world)?;
    let waits = !synced.asked.is_empty();
    let exit = if waits {
        CommandExit::Waits
    } else if synced.behind.is_empty() {
        CommandExit::Done
    } else {
        CommandExit::No
    };
    if output.json {
        output.print_json(&synced);
        return Ok(exit);
    }
    for said in &synced.said {
        output.note(said);
    }
    for behind in &synced.behind {
        output.warning(behind);
    }
    if waits {
        output.warning(&format!(
            "a person is asked about {}; see `piton inbox`",
            synced.asked.join(", ")
        ));
    }
    match &synced.elsewhere {
        Some(elsewhere) => output.note(&elsewhere.to_string()),
        None if exit == CommandExit::Done => output.note("all native files are up to date"),
        None => {}
    }
    Ok(exit)
}

fn show_conversion(
    world: &World,
    to: &str,
    converted: &files::ConvertedFile,
    target: &Path,
    output: &mut CliOutput,
) -> Result<(), Failure> {
    output.print_findings(&converted.findings);
    if target == Path::new("-") {
        if output.json {
            output.print_json(&serde_json::json!({
                "text": converted.text,
                "lost": converted.lost,
                "problems": converted.findings.problems,
            }));
            return Ok(());
        }
        output.print_data(&converted.text);
    } else {
        files::write_new(world, target, &converted.text)?;
        if output.json {
            output.print_json(&serde_json::json!({ "lost": converted.lost }));
        } else {
            output.note(&format!("wrote {}", target.display()));
        }
    }
    if !converted.lost.is_empty() && !output.json {
        output.note(&format!("{to} has no place for:"));
        let rows = converted
            .lost
            .iter()
            .map(|lost| [format!("  {}", lost.count), lost.what.clone()]);
        output.note(table::render(rows).trim_end());
    }
    Ok(())
}

fn migrate_files(world: &World, output: &mut CliOutput) -> Result<CommandExit, Failure> {
    let migrated = files::migrate(world, &mut |text| {
        output.note(&format!("{DIM}{text}{DIM:#}"))
    })?;
    if output.json {
        output.print_json(&migrated);
        return Ok(CommandExit::Done);
    }
    for file in &migrated {
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
        output.note(&what);
        output.note(&format!("the old file is kept as {}", file.kept));
        for said in &file.said {
            output.note(said);
        }
    }
    if migrated.is_empty() {
        output.note("there is nothing of an older layout here");
    }
    Ok(CommandExit::Done)
}
