//! The file of a run whose items have a status each.

use std::collections::HashMap;

use jiff::Timestamp;
use piton_core::native::Native;
use piton_core::{ItemRow, ItemState, Node, RunId, Tables};

use super::differ::StatusDiffer;
use super::{ArrangedList, ListTraits, ListedStatus};
use crate::json::{ByteEdit, apply_edits};
use crate::native_file::RenderError;
use crate::plan_file::{PlanChanges, ShownRun, file_items};
use crate::plan_format::{FilesBeside, PlanContext, PlanDocument, PlanFolder};
use crate::problem::{Problem, SourceText};

/// The file of a run: piton writes statuses into it, and takes the edits of people.
#[derive(Debug)]
pub(crate) struct StatusListDocument {
    traits: &'static ListTraits,
    run: RunId,
    /// What the run keeps of its file.
    native: Option<Native>,
    /// Where it lies.
    folder: Option<PlanFolder>,
}

impl StatusListDocument {
    /// The file of this run.
    pub(crate) fn open(
        traits: &'static ListTraits,
        tables: &Tables,
        run: RunId,
    ) -> Box<dyn PlanDocument> {
        let native = tables.run(run).and_then(|row| row.plan.native.clone());
        Box::new(Self {
            traits,
            run,
            native,
            folder: None,
        })
    }

    /// The file by itself: how its items stand.
    fn parse_marks(&self, source: SourceText<'_>) -> Result<ArrangedList, Vec<Problem>> {
        self.parse(source, FilesBeside(&|_| None))
    }

    /// The file with what lies beside it now: what its items are.
    fn parse_items(&self, source: SourceText<'_>) -> Result<ArrangedList, Vec<Problem>> {
        let read = |path: &str| {
            let folder = self.folder.as_ref()?;
            let mut ends = self.traits.reads_again.iter();
            let is_read = ends.any(|end| path.ends_with(end));
            is_read.then(|| (folder.read)(&folder.path, path))?
        };
        self.parse(source, FilesBeside(&read))
    }

    fn parse(
        &self,
        source: SourceText<'_>,
        beside: FilesBeside<'_>,
    ) -> Result<ArrangedList, Vec<Problem>> {
        let of = PlanContext {
            native: self.native.as_ref(),
            beside,
            ..PlanContext::of_text()
        };
        match self.traits.arrange(source, of) {
            (Some(list), problems) if !problems.iter().any(Problem::is_error) => Ok(list),
            (_, problems) => Err(problems),
        }
    }
}

impl PlanDocument for StatusListDocument {
    fn set_beside(&mut self, folder: PlanFolder) {
        self.folder = Some(folder);
    }

    fn render(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        _: Timestamp,
    ) -> Result<Option<String>, RenderError> {
        // What people wrote cannot be made anew.
        let Some(text) = present else {
            return Ok(None);
        };
        let list = self.parse_marks(SourceText { name: "", text });
        let list = list.map_err(|problems| {
            let first = problems.first().map(ToString::to_string);
            RenderError(first.unwrap_or_else(|| "there is no list in it".to_owned()))
        })?;
        let rows: HashMap<&Node, &ItemRow> = file_items(tables, self.run)
            .map(|row| (&row.node, row))
            .collect();
        let edits = (0..list.list.items.len()).filter_map(|at| {
            let row = rows.get(&list.nodes[at])?;
            let mark = list.list.items[at].mark.as_ref()?;
            let is_done = row.state == ItemState::Done;
            let text = match list.list.items[at].status {
                // It holds others: what the file says of it beyond them is its own.
                _ if list.is_holder(at) && !self.traits.writes_holders => return None,
                ListedStatus::Open if is_done => &mark.done,
                ListedStatus::Done if is_done || row.state.is_left_out() => return None,
                ListedStatus::Done if !list.is_holder(at) => &mark.open,
                ListedStatus::Open | ListedStatus::LeftOut | ListedStatus::Done => return None,
            };
            Some(ByteEdit {
                start: mark.at.start,
                end: mark.at.end,
                text: text.clone(),
            })
        });
        let mut edits: Vec<ByteEdit> = edits.collect();
        // Two items may have one status, as an alias of YAML.
        edits.sort_by_key(|edit| edit.start);
        edits.dedup_by(|later, first| later.start < first.end || later.start == first.start);
        Ok(Some(apply_edits(text, edits)))
    }

    fn collect_edits(
        &mut self,
        base: Option<&str>,
        theirs: &str,
        shown: ShownRun<'_>,
        _: Timestamp,
    ) -> Result<PlanChanges, Vec<Problem>> {
        let name = shown.file;
        let theirs = self.parse_items(SourceText { name, text: theirs })?;
        let base = base.and_then(|text| self.parse_items(SourceText { name, text }).ok());
        let differ = StatusDiffer {
            traits: self.traits,
            base: base.as_ref(),
            theirs: &theirs,
        };
        Ok(differ.diff(shown))
    }
}
