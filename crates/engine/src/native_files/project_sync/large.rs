//! Large files, of which only the ends are read for what is new.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::command::Found;
use piton_formats::ends::{Ends, WINDOW_BYTES};
use piton_formats::face::{About, Shown};
use piton_formats::project_format::{Derived, FaceFile};

use super::rows::Behind;
use super::{Following, Trouble, archive, project_name};
use crate::native_files::synced_file::{Look, Put, SyncedFile, Tail};

/// From this size on only the ends of a file are read.
const LARGE_BYTES: usize = 32 << 10;
/// Up to this size what is made of a file follows every change, else when the
/// project comes to rest: nothing of it can be left as it is.
const PAGE_BYTES: u64 = 256 << 10;
/// An archive is looked at that much later than it may be, once for all days.
const ARCHIVE_REST_DAYS: u32 = 1;

/// The ends of a large file; none for a small one.
pub(super) fn tail(file: &FaceFile, text: &str) -> Option<Tail> {
    let ends = file.ends.filter(|_| text.len() >= LARGE_BYTES)?;
    Some(Tail::of(text, ends(text)?))
}

impl Following<'_, '_> {
    /// Shows what is new at the end of a large file that is as piton left it; none
    /// where that needs the whole of it.
    pub(super) fn extend(
        &self,
        keeper: &mut SyncedFile,
        behind: &Behind,
    ) -> Result<Option<Put>, Trouble> {
        let (Some(ends), Some(tail)) = (self.file.ends, keeper.stamp().tail.clone()) else {
            return Ok(None);
        };
        let Some(text) = keeper.abridged(&tail)? else {
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
            keeper.note(behind.positions.clone())?;
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
        let put = keeper.splice(&tail, (end, next), behind.positions.clone())?;
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

    /// Brings what is made of the file up to date, given its ends before and
    /// afterwards. Not where somebody else wrote there: that takes the whole.
    fn derive_more(
        &self,
        ends: [&str; 2],
        positions: &BTreeMap<String, u64>,
    ) -> Result<bool, Trouble> {
        let Some(Derived {
            path,
            render,
            extend,
            ..
        }) = self.file.derived
        else {
            return Ok(true);
        };
        let target = self.session.project.root.join(path);
        if Look::at(&target).is_some_and(|page| page.bytes() > PAGE_BYTES) {
            return Ok(true);
        }
        let mut keeper = self.page_keeper(path)?;
        keeper.locked::<_, Trouble>(|keeper| {
            let ([Ok(before), Ok(after)], false) = (ends.map(render), keeper.may_be_foreign())
            else {
                return Ok(false);
            };
            let page = super::read_text(&target)?;
            let page = extend([&before, &page, &after]);
            let put = keeper.put(page.as_bytes(), positions.clone(), None)?;
            Ok(put == Put::Done)
        })
    }
}

/// What a thing is called in its file.
fn name_of(found: &Found) -> Option<&str> {
    match found {
        Found::Entry(entry) => entry.name.as_deref(),
        Found::Attempt(told) => told.name.as_deref(),
        Found::Memory(memory) | Found::Retired(memory) | Found::Removed(memory) => {
            memory.id.as_deref().or(memory.title.as_deref())
        }
    }
}
