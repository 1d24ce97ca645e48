//! Large files, of which only the ends are read for what is new.

use std::collections::BTreeSet;

use piton_formats::ends::{TextEnds, WINDOW_BYTES};
use piton_formats::native_file::{FileContext, ShownRow};
use piton_formats::project_format::ProjectFile;

use super::rows::PendingRows;
use super::{ProjectSync, SyncFault, archive, name_of_found, project_name};
use crate::native_files::synced_file::{LargeFileTail, SyncedFile, WriteOutcome};

/// From this size on only the ends of a file are read.
const LARGE_BYTES: usize = 32 << 10;
/// An archive is looked at that much later than it may be, once for all days.
const ARCHIVE_REST_DAYS: u32 = 1;

/// The ends of a large file; none for a small one.
pub(super) fn tail_of_large_file(file: &ProjectFile, text: &str) -> Option<LargeFileTail> {
    let ends = file.ends.filter(|_| text.len() >= LARGE_BYTES)?;
    Some(LargeFileTail::from_ends(text, ends(text)?))
}

impl ProjectSync<'_, '_> {
    /// Shows what is new at the end of a large file that is as piton left it; none
    /// where that needs the whole of it.
    pub(super) fn append_at_tail(
        &self,
        synced: &mut SyncedFile,
        behind: &PendingRows,
    ) -> Result<Option<WriteOutcome>, SyncFault> {
        let (Some(ends), Some(tail)) = (self.file.ends, synced.stamp().tail.clone()) else {
            return Ok(None);
        };
        let Some(text) = synced.read_abridged(&tail)? else {
            return Ok(None);
        };
        let name = project_name(self.session);
        let about = FileContext {
            is_part: true,
            iteration: behind.iteration,
            ..self.file_context(&name)
        };
        if !self.is_limited_to_ends(&text, &tail, behind, &about) {
            return Ok(None);
        }
        // Whatever is wrong with it, the whole of it will tell.
        let Ok(new) = self.render_text(Some(&text), behind.shown_rows(), &about) else {
            return Ok(None);
        };
        let kept = usize::try_from(tail.head + tail.first).unwrap_or(usize::MAX);
        let is_behind = text.get(..kept).is_some_and(|first| new.starts_with(first));
        if !is_behind || archive::is_archiving_due(self.session, self.file, &new, ARCHIVE_REST_DAYS)
        {
            return Ok(None);
        }
        if new == text {
            synced.record_positions(behind.positions.clone())?;
            return Ok(Some(WriteOutcome::Done));
        }
        if !self.extend_page([&text, &new], &behind.positions)? {
            return Ok(None);
        }
        let head = usize::try_from(tail.head).unwrap_or(usize::MAX);
        let is_long = new.len() - head > 2 * WINDOW_BYTES;
        let smaller = is_long.then(|| ends(&new)).flatten();
        let smaller = smaller.filter(|ends: &TextEnds| ends.head == head);
        let next = smaller.and_then(|ends| tail.narrow_to_ends(&new, ends));
        let next = next.unwrap_or_else(|| tail.clone());
        let end = &new.as_bytes()[head..];
        let put = synced.splice_end(&tail, end, next, behind.positions.clone())?;
        Ok(Some(put))
    }

    /// Whether what is left out of a text has nothing to do with what is new.
    fn is_limited_to_ends(
        &self,
        text: &str,
        tail: &LargeFileTail,
        behind: &PendingRows,
        about: &FileContext<'_>,
    ) -> bool {
        let is_apart = |row: &ShownRow<'_>| match row {
            ShownRow::Entry(row) => {
                let task = row.entry.task_id.as_ref();
                row.entry.native.is_none() && task.is_none_or(|task| !tail.open.contains(task))
            }
            ShownRow::Attempt(row) => row.native.is_none(),
            ShownRow::Memory(row) => row.memory.native.is_none(),
            ShownRow::Call(_) => true,
        };
        if !behind.shown_rows().iter().all(is_apart) {
            return false;
        }
        if behind.changed.is_empty() {
            return true;
        }
        let found = self.file.import_changes(text, None, about).found;
        let names: BTreeSet<&str> = found.iter().filter_map(name_of_found).collect();
        behind.changed.iter().all(|name| names.contains(&**name))
    }
}
