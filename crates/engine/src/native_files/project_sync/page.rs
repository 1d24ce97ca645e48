//! The page that is made of a file for people to read.

use std::collections::BTreeMap;

use piton_formats::project_format::DerivedFile;

use super::SyncMoment;
use super::{ProjectSync, SyncFault, read_text, stamp_key};
use crate::native_files::FileNotice;
use crate::native_files::copies::store_rotated_copy;
use crate::native_files::synced_file::{
    FlushScope, PresentFile, StatFingerprint, SyncedFile, WriteOutcome,
};
use crate::world::input;

/// Up to this size what is made of a file follows every change, else when the
/// project comes to rest: nothing of it can be left as it is.
const PAGE_BYTES: u64 = 256 << 10;

impl ProjectSync<'_, '_> {
    /// The page, with its stamp.
    fn open_page(&self, path: &str) -> Result<SyncedFile, SyncFault> {
        let project = &self.session.project;
        let target = project.root.join(path);
        Ok(SyncedFile::open(
            project,
            &stamp_key(path),
            &target,
            FlushScope::Nothing,
        )?)
    }

    /// What is made of a large file follows at rest.
    pub(super) fn write_page_at_rest(
        &self,
        synced: &SyncedFile,
        news: &mut Vec<FileNotice>,
    ) -> Result<(), SyncFault> {
        let (Some(path), SyncMoment::Rest) = (self.file.derived_path(), self.moment) else {
            return Ok(());
        };
        let positions = &synced.stamp().positions;
        let is_behind = self.open_page(path)?.stamp().positions != *positions;
        if !is_behind || !synced.target_path().is_file() {
            return Ok(());
        }
        let text = read_text(synced.target_path())?;
        self.write_page(None, &text, positions, news)
    }

    /// Writes what is made of the file for people to read. `before` is the file as
    /// it stood: what is made of that is piton's, also where another branch has it.
    pub(super) fn write_page(
        &self,
        before: Option<&str>,
        text: &str,
        positions: &BTreeMap<String, u64>,
        news: &mut Vec<FileNotice>,
    ) -> Result<(), SyncFault> {
        let Some(DerivedFile { path, render, .. }) = self.file.derived else {
            return Ok(());
        };
        let Ok(text) = render(text) else {
            return Ok(());
        };
        let target = self.session.project.root.join(path);
        let mut synced = self.open_page(path)?;
        synced.with_lock::<_, SyncFault>(|synced| {
            // Only people read the page: what they wrote there is kept for them.
            let keep = |bytes: &[u8], news: &mut Vec<FileNotice>| {
                let copy = store_rotated_copy(&target, bytes)?;
                let copy = copy.file_name().unwrap_or_default().to_string_lossy();
                news.push(FileNotice::Left(format!(
                    "{path} is made of {}: the version that piton did not write is kept beside it as \
                     {copy}, and is not taken in; record it with `piton log`",
                    self.file.path
                )));
                Ok::<_, SyncFault>(())
            };
            // What a crash left.
            synced.remove_leftovers(|left| keep(left, news).map(|()| true))?;
            // What was merged may have entries of one minute in another order: that
            // is seen to with the next one.
            if input::read_file_text(&target).is_ok_and(|there| has_same_lines(&there, &text)) {
                return Ok(synced.record_positions(positions.clone())?);
            }
            let is_own = |bytes: &[u8]| {
                let own = before.and_then(|before| render(before).ok());
                own.is_some_and(|own| own.as_bytes() == bytes)
            };
            if let PresentFile::Foreign(bytes) = synced.read_present()? {
                if !is_own(&bytes) {
                    keep(&bytes, news)?;
                }
                synced.accept_version(&bytes)?;
            }
            synced.write_version(text.as_bytes(), positions.clone(), None)?;
            Ok(())
        })
    }

    /// Brings what is made of the file up to date, given its ends before and
    /// afterwards. Not where another writer changed it: then the whole is needed.
    pub(super) fn extend_page(
        &self,
        ends: [&str; 2],
        positions: &BTreeMap<String, u64>,
    ) -> Result<bool, SyncFault> {
        let Some(DerivedFile {
            path,
            render,
            extend,
            ..
        }) = self.file.derived
        else {
            return Ok(true);
        };
        let target = self.session.project.root.join(path);
        if StatFingerprint::of_path(&target).is_some_and(|page| page.size_bytes() > PAGE_BYTES) {
            return Ok(true);
        }
        let mut synced = self.open_page(path)?;
        synced.with_lock::<_, SyncFault>(|synced| {
            let ([Ok(before), Ok(after)], false) = (ends.map(render), synced.may_be_foreign())
            else {
                return Ok(false);
            };
            let page = read_text(&target)?;
            let page = extend([&before, &page, &after]);
            let put = synced.write_version(page.as_bytes(), positions.clone(), None)?;
            Ok(put == WriteOutcome::Done)
        })
    }
}

/// Whether two texts are the same lines, in any order.
fn has_same_lines(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    one == other || (one.len() == other.len() && sorted(one) == sorted(other))
}
