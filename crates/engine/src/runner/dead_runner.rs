//! What a dead runner left: agents that still work, files that are not needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_core::lane::unit_of_node;
use piton_core::{ItemRow, RunId, RunRow, RunState, Tables};

use super::pull_requests::mark_of_pull_requests;
use super::run_facts::commit_mark;
use super::waits::mark_of_wait_commands;
use crate::agents::spool::{Spool, SpooledAttempt};
use crate::failpoint;
use crate::failure::notice::Notice;
use crate::failure::{Failure, unwritable_file};
use crate::native_files::plan_sync::PlanSync;
use crate::process;
use crate::session::Session;

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
pub(crate) fn sanitize_file_name(text: &str) -> String {
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

fn format_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
