//! `piton init` and `piton files`.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use piton_engine::verbs::files::{self, Adoption, Count, Grade, Listed, Standing};
use piton_engine::verbs::init::{self, Init, Intent};
use piton_engine::{Exit, Failure, Findings, World};

use super::{count, merge_driver};
use crate::args::{FilesCommand, InitArgs};
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW};
use crate::show::table;

pub(super) fn init(world: &World, args: &InitArgs, output: &mut Output) -> Result<Exit, Failure> {
    let looked = init::look(world, &args.with)?;
    if !output.json {
        show_found(&looked, output);
    }
    let exit = if args.strict && !looked.is_whole() {
        Exit::No
    } else {
        Exit::Done
    };
    if args.dry_run {
        if output.json {
            output.json(&looked);
        } else {
            output.note("nothing was done");
        }
        return Ok(exit);
    }
    let asks = looked.adopts() && !args.yes && !output.json;
    let is_asked = asks && std::io::stdin().is_terminal();
    if is_asked && !is_agreed(output) {
        output.note("nothing was done");
        return Ok(Exit::No);
    }
    if asks && !is_asked {
        output.note("stdin is no terminal, so nobody is asked: this goes on as with `--yes`; `--dry-run` only looks");
    }
    let done = init::init(world, &args.with, &mut |text| {
        output.note(&format!("{DIM}{text}{DIM:#}"))
    })?;
    if output.json {
        output.json(&done);
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
    output.note(&next(&done));
    Ok(exit)
}

fn is_agreed(output: &mut Output) -> bool {
    output.note("adopt these? [Y/n]");
    std::io::stderr().flush().ok();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok();
    matches!(answer.trim(), "" | "y" | "Y" | "yes")
}

fn show_found(looked: &Init, output: &mut Output) {
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
    output.data(&table::render(rows));
    for found in &looked.found {
        if let Some(adoption) = &found.adoption {
            show_adoption(&found.path, adoption, output);
        }
    }
}

/// Says what of a file is taken, and names the first things that are not.
fn show_adoption(file: &str, adoption: &Adoption, output: &mut Output) {
    let counts = &adoption.counts;
    if counts.is_empty() {
        return;
    }
    let taken: Vec<String> = counts.iter().map(taken).collect();
    output.note(&format!("{file}: took {}", taken.join(", ")));
    for count in adoption.lacking() {
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
            let more = format!("and {more} more {}", count.what.words(more));
            output.note(&format!("  {YELLOW}not taken{YELLOW:#}: {more}"));
        }
        if let Some(hint) = count.hint {
            output.note(&format!("  {hint}"));
        }
    }
}

/// `3 rules`, or `0 of 41 ticked boxes` where not all were taken.
fn taken(count: &Count) -> String {
    let all = count.taken + count.left;
    let words = count.what.words(all);
    match count.left {
        0 => format!("{all} {words}"),
        _ => format!("{} of {all} {words}", count.taken),
    }
}

fn next(done: &Init) -> String {
    let mut found = done.found.iter();
    let plan = found.find(|found| found.intent == Intent::Run);
    match plan.and_then(|plan| plan.command.as_ref()) {
        Some(command) => format!("next: `{command}`"),
        None => "next: `piton log session_started`, or `piton run PLAN`".to_owned(),
    }
}

pub(super) fn files(
    world: &World,
    command: FilesCommand,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        FilesCommand::List { strict } => list(world, strict, output),
        FilesCommand::Check { strict, files } => {
            let grade = if strict {
                Grade::Strict
            } else {
                Grade::Tolerant
            };
            Ok(check(world, &files, grade, output))
        }
        FilesCommand::Schema { format } => {
            let schema = files::schema(&format)?;
            let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
            output.data(&format!("{text}\n"));
            Ok(Exit::Done)
        }
        FilesCommand::Sync => sync(world, output),
        FilesCommand::Convert {
            from,
            to,
            input,
            output: target,
            strict,
        } => {
            let converted = files::convert(world, &from, &to, input.as_ref())?;
            let is_no = strict && !converted.lost.is_empty();
            show_converted(world, &to, &converted, &target, output)?;
            Ok(if is_no { Exit::No } else { Exit::Done })
        }
        FilesCommand::Migrate => migrate(world, output),
        FilesCommand::MergeDriver(command) => merge_driver::merge_driver(world, &command, output),
    }
}

fn list(world: &World, strict: bool, output: &mut Output) -> Result<Exit, Failure> {
    let mut listed = files::list(world)?;
    let older = older_layouts(world, &mut listed)?;
    let is_whole = listed.iter().all(|file| file.adoption.is_whole());
    let exit = if strict && !is_whole {
        Exit::No
    } else {
        Exit::Done
    };
    if output.json {
        output.json(&listed);
        return Ok(exit);
    }
    let rows = listed.iter().map(|file| {
        let standing = match (file.standing, &file.run) {
            (Standing::Face, _) => format!("{GREEN}kept up to date{GREEN:#}"),
            (Standing::Asked, _) => format!("{YELLOW}asked about, see `piton inbox`{YELLOW:#}"),
            (Standing::Missing, _) => {
                format!(
                    "{YELLOW}not there: `piton files sync` writes what there is to show{YELLOW:#}"
                )
            }
            (Standing::Off | Standing::Elsewhere, _) => "not kept up to date".to_owned(),
            (Standing::Plan, Some(run)) => format!("{GREEN}plan of run {run}{GREEN:#}"),
            (Standing::Plan, None) => "a plan".to_owned(),
            (Standing::Foreign, _) if older.contains(&file.path) => TAKEN_OVER.to_owned(),
            (Standing::Foreign, _) => "another tool's".to_owned(),
            (Standing::Unreadable, _) => format!("{RED}cannot be read{RED:#}"),
        };
        let problems = match (file.errors, file.warnings) {
            (0, 0) => String::new(),
            (0, warnings) => count(warnings, "warning"),
            (errors, _) => count(errors, "error"),
        };
        let link = file.link.as_ref();
        let link = link.map(|to| format!(" -> {}", to.display()));
        let counts: Vec<String> = file.adoption.counts.iter().map(taken).collect();
        [
            format!("{BOLD}{}{BOLD:#}{}", file.path, link.unwrap_or_default()),
            standing,
            problems,
            counts.join(", "),
            format!("{DIM}{}{DIM:#}", file.about),
        ]
    });
    output.data(&table::render(rows));
    if listed.is_empty() {
        output.note("no native files were found here");
    }
    for file in listed.iter().filter(|file| !file.adoption.is_whole()) {
        show_adoption(&file.path, &file.adoption, output);
    }
    Ok(exit)
}

/// What happens to a file of an older layout.
const TAKEN_OVER: &str = "taken over by `piton files migrate`";

/// The listed files that are of an older layout. They belong to no format; what
/// they are is said as `piton init` says it.
fn older_layouts(world: &World, listed: &mut [Listed]) -> Result<Vec<String>, Failure> {
    let mut foreign = listed
        .iter_mut()
        .filter(|file| file.standing == Standing::Foreign)
        .peekable();
    if foreign.peek().is_none() {
        return Ok(Vec::new());
    }
    let mut older = init::look(world, &[])?.found;
    older.retain(|found| found.intent == Intent::Migrate);
    for file in foreign {
        if let Some(found) = older.iter().find(|found| found.path == file.path) {
            file.about.clone_from(&found.about);
        }
    }
    Ok(older.into_iter().map(|found| found.path).collect())
}

fn check(world: &World, paths: &[std::path::PathBuf], grade: Grade, output: &mut Output) -> Exit {
    let checked = files::check(world, paths, grade);
    let errors = checked.findings.errors();
    if output.json {
        let unread: Vec<&str> = checked.unread.iter().map(|(file, _)| &**file).collect();
        output.json(&serde_json::json!({
            "files": checked.files,
            "problems": checked.findings.problems,
            "adopted": checked.adopted,
            "unread": unread,
        }));
    } else if checked.files > 0 {
        output.findings(&with_places(&checked.findings));
        for file in &checked.adopted {
            show_adoption(&file.file, &file.counts, output);
        }
        let warnings = checked.findings.problems.len() - errors;
        let said = match (errors, warnings) {
            (0, 0) if !checked.is_whole() => {
                format!(
                    "{}: no errors, and not all is taken",
                    count(checked.files, "file")
                )
            }
            (0, 0) => format!(
                "{GREEN}{}: all is well{GREEN:#}",
                count(checked.files, "file")
            ),
            (0, warnings) => format!("{}, no errors", count(warnings, "warning")),
            (errors, 0) => format!("{RED}{}{RED:#}", count(errors, "error")),
            (errors, warnings) => {
                format!(
                    "{RED}{}{RED:#}, {}",
                    count(errors, "error"),
                    count(warnings, "warning")
                )
            }
        };
        output.note(&said);
    }
    for (_, failure) in &checked.unread {
        output.failure(failure);
    }
    checked.exit(grade)
}

/// The problems, each with its place in the document: in a long file a line does
/// not tell which entry it is of.
fn with_places(findings: &Findings) -> Findings {
    let mut findings = findings.clone();
    for problem in &mut findings.problems {
        if !problem.path.is_empty() {
            problem.message = format!("{}, at {}", problem.message, problem.path);
        }
    }
    findings
}

fn sync(world: &World, output: &mut Output) -> Result<Exit, Failure> {
    let synced = files::sync(world)?;
    let waits = !synced.asked.is_empty();
    let exit = if waits {
        Exit::Waits
    } else if synced.behind.is_empty() {
        Exit::Done
    } else {
        Exit::No
    };
    if output.json {
        output.json(&synced);
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
        None if exit == Exit::Done => output.note("all native files are up to date"),
        None => {}
    }
    Ok(exit)
}

fn show_converted(
    world: &World,
    to: &str,
    converted: &files::Converted,
    target: &Path,
    output: &mut Output,
) -> Result<(), Failure> {
    output.findings(&converted.findings);
    if target == Path::new("-") {
        if output.json {
            output.json(&serde_json::json!({
                "text": converted.text,
                "lost": converted.lost,
                "problems": converted.findings.problems,
            }));
            return Ok(());
        }
        output.data(&converted.text);
    } else {
        files::write_new(world, target, &converted.text)?;
        if output.json {
            output.json(&serde_json::json!({ "lost": converted.lost }));
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

fn migrate(world: &World, output: &mut Output) -> Result<Exit, Failure> {
    let migrated = files::migrate(world, &mut |text| {
        output.note(&format!("{DIM}{text}{DIM:#}"))
    })?;
    if output.json {
        output.json(&migrated);
        return Ok(Exit::Done);
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
    Ok(Exit::Done)
}
