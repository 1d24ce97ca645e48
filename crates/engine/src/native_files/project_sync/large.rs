//! Large files, of which only the ends are read for what is new.

use std::collections::BTreeSet;

use piton_formats::ends::{Ends, WINDOW_BYTES};
use piton_formats::face::{About, Shown};
use piton_formats::project_format::FaceFile;

use super::rows::Behind;
use super::{Fault, ProjectSync, archive, name_of, project_name};
use crate::native_files::synced_file::{Put, SyncedFile, Tail};

/// From this size on only the ends of a file are read.
const LARGE_BYTES: usize = 32 << 10;
/// An archive is looked at that much later than it may be, once for all days.
const ARCHIVE_REST_DAYS: u32 = 1;

/// The ends of a large file; none for a small one.
pub(super) fn tail(file: &FaceFile, text: &str) -> Option<Tail> {
    let ends = file.ends.filter(|_| text.len() >= LARGE_BYTES)?;
    Some(Tail::of(text, ends(text)?))
}

impl ProjectSync<'_, '_> {
    /// Shows what is new at the end of a large file that is as piton left it; none
    /// where that needs the whole of it.
    pub(super) fn extend(
        &self,
        synced: &mut SyncedFile,
        behind: &Behind,
    ) -> Result<Option<Put>, Fault> {
        let (Some(ends), Some(tail)) = (self.file.ends, synced.stamp().tail.clone()) else {
            return Ok(None);
        };
        let Some(text) = synced.abridged(&tail)? else {
            return Ok(None);
        };
        let name = project_name(self.session);
        let about = About {
            is_part: true,
            iteration: behind.iteration,
            ..self.about(&name)
        };
        if !self.is_within(&text, &tail, behind, &about) {
            return Ok(None);
        }
        // Whatever is wrong with it, the whole of it will tell.
        let Ok(new) = self.text_of(Some(&text), behind.shown(), &about) else {
            return Ok(None);
        };
        let kept = usize::try_from(tail.head + tail.first).unwrap_or(usize::MAX);
        let is_behind = text.get(..kept).is_some_and(|first| new.starts_with(first));
        if !is_behind || archive::is_due(self.session, self.file, &new, ARCHIVE_REST_DAYS) {
            return Ok(None);
        }
        if new == text {
            synced.note(behind.positions.clone())?;
            return Ok(Some(Put::Done));
        }
        if !self.derive_more([&text, &new], &behind.positions)? {
            return Ok(None);
        }
        let head = usize::try_from(tail.head).unwrap_or(usize::MAX);
        let is_long = new.len() - head > 2 * WINDOW_BYTES;
        let smaller = is_long.then(|| ends(&new)).flatten();
        let smaller = smaller.filter(|ends: &Ends| ends.head == head);
        let next = smaller.and_then(|ends| tail.within(&new, ends));
        let next = next.unwrap_or_else(|| tail.clone());
        let end = &new.as_bytes()[head..];
        let put = synced.splice(&tail, (end, next), behind.positions.clone())?;
        Ok(Some(put))
    }

    /// Whether what is left out of a text has nothing to do with what is new.
    fn is_within(&self, text: &str, tail: &Tail, behind: &Behind, about: &About<'_>) -> bool {
        let is_apart = |row: &Shown<'_>| match row {
            Shown::Entry(row) => {
                let task = row.entry.task_id.as_ref();
                row.entry.native.is_none() && task.is_none_or(|task| !tail.open.contains(task))
            }
            Shown::Attempt(row) => row.native.is_none(),
            Shown::Memory(row) => row.memory.native.is_none(),
            Shown::Call(_) => true,
        };
        if !behind.shown().iter().all(is_apart) {
            return false;
        }
        if behind.changed.is_empty() {
            return true;
        }
        let found = self.file.found(text, None, about).found;
        let names: BTreeSet<&str> = found.iter().filter_map(name_of).collect();
        behind.changed.iter().all(|name| names.contains(&**name))
    }
}
