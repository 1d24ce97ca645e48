//! The file of a plan, as a face of its run.
//!
//! `show` makes the text say how the run stands, in place of what it said, and
//! `edits` returns what a person or another program changed in it. What differs
//! between formats stands in their [`PlanFormat`].

mod changes;
mod planned;

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use piton_core::native::Native;
use piton_core::plan::Plan;
use piton_core::{Edit, ItemRow, ItemState, Node, RunId, RunRow, RunState, Tables};

use crate::conflict;
use crate::native_file::RenderError;
use crate::pending_edits::{AbsentItems, with_pending_edits};
use crate::plan_format::{PlanContext, PlanDocument, PlanFolder, PlanFormat, PlanPlace};
use crate::problem::{Problem, SourceText};
use crate::registry::plan_format;

pub(crate) use changes::{MarkChange, PlannedChange, file_items};
pub use changes::{PlanChanges, PlanFileNotes, ShownRun};
pub(crate) use planned::{
    gate_of_commands, nodes_of_ids, plan_of_items, planned_item, script_of_commands,
};

/// So far apart no two times have a field that is the same.
const ANOTHER_TIME: SignedDuration = SignedDuration::new(86_400 * 431 + 3_661, 1_000_000);

/// The file of a plan.
#[derive(Debug)]
pub struct PlanFile {
    format: &'static PlanFormat,
    run: RunId,
    document: Box<dyn PlanDocument>,
    /// What the run keeps that only its format has.
    native: Option<Native>,
    elsewhere: Vec<Node>,
    /// Those whose mark in the file came along from another branch.
    carried: HashSet<Node>,
}

impl PlanFileNotes {
    /// What a file of this format says of its whole and of the item `row`.
    #[must_use]
    pub fn parse(face: &str, source: SourceText<'_>, row: &ItemRow) -> Self {
        let format = plan_format(face);
        format.map_or_else(Self::default, |format| (format.about)(source, row))
    }
}

impl PlanFormat {
    /// The file of a run of this format.
    #[must_use]
    pub fn open(&'static self, tables: &Tables, run: RunId) -> PlanFile {
        let native = tables.run(run).and_then(|row| row.plan.native.clone());
        PlanFile {
            format: self,
            run,
            document: (self.document)(tables, run),
            native,
            elsewhere: Vec::new(),
            carried: HashSet::new(),
        }
    }
}

impl PlanFile {
    /// Says where the file lies, for formats whose plans say more beside their file.
    pub fn set_beside(&mut self, folder: PlanFolder) {
        self.document.set_beside(folder);
    }

    /// Says which items were done in work that the branch of this file does not
    /// have, as far as git tells: see `docs/design/0024-branches.md`.
    pub fn set_done_elsewhere(&mut self, elsewhere: Vec<Node>) {
        self.elsewhere = elsewhere;
        self.carried.clear();
    }

    /// Says which version of the file piton wrote last, and gives for it what is
    /// committed on this branch: a mark that was only in the former came along from
    /// another branch with a file that was not committed there.
    pub fn set_carried_marks(&mut self, base: &str, committed: impl FnOnce() -> Option<String>) {
        let mut carried = self.done_items_in(base);
        carried.retain(|node| self.elsewhere.contains(node));
        if carried.is_empty() {
            return;
        }
        let Some(committed) = committed() else {
            return;
        };
        let here = self.done_items_in(&committed);
        carried.retain(|node| !here.contains(node));
        self.carried = carried;
    }

    /// The items that were done elsewhere, and are not done in any of the `texts`,
    /// versions of the file of this branch, with those above them.
    #[must_use]
    pub fn done_elsewhere(&self, tables: &Tables, texts: &[Option<&str>]) -> Vec<Node> {
        let mut nodes = self.elsewhere.clone();
        for text in texts.iter().flatten() {
            if nodes.is_empty() {
                break;
            }
            let done = self.done_items_in(text);
            nodes.retain(|node| !done.contains(node) || self.carried.contains(node));
        }
        let is_done = |node: &Node| {
            let row = tables.item(self.run, node);
            row.is_some_and(|row| row.state == ItemState::Done)
        };
        let above: Vec<Node> = nodes.iter().flat_map(Node::ancestors).collect();
        nodes.extend(above.into_iter().filter(is_done));
        nodes
    }

    fn parse_plan(&self, text: &str) -> Option<Plan> {
        let of = PlanContext {
            run: self.run,
            native: self.native.as_ref(),
            ..PlanContext::of_text()
        };
        (self.format.read)(SourceText { name: "", text }, of).0
    }

    /// The items that a version of the file says are done.
    fn done_items_in(&self, text: &str) -> HashSet<Node> {
        let items = self
            .parse_plan(text)
            .into_iter()
            .flat_map(|plan| plan.items);
        let done = items.filter(|item| item.state == ItemState::Done);
        let phases = self.format.phases.iter();
        let over = phases.flat_map(|phases| (phases.over_in)(text));
        done.map(|item| item.node).chain(over).collect()
    }

    /// The file of a run; none for a run that has no plan in a file.
    #[must_use]
    pub fn of_run(tables: &Tables, run: RunId) -> Option<Self> {
        let format = plan_format(&tables.run(run)?.plan.face)?;
        Some(format.open(tables, run))
    }

    /// The ids of the items that are done, and not so in a text of the file. What holds
    /// others is left out.
    #[must_use]
    pub fn done_beyond(&self, text: &str, tables: &Tables) -> Vec<String> {
        let marked = self.done_items_in(text);
        let is_done = |row: &&ItemRow| row.is_leaf() && row.state == ItemState::Done;
        let rows = file_items(tables, self.run).filter(is_done);
        let rows = rows.filter(|row| !marked.contains(&row.node));
        rows.map(|row| row.plan.id.clone()).collect()
    }

    /// Its format.
    #[must_use]
    pub fn format(&self) -> &'static PlanFormat {
        self.format
    }

    /// Its path, relative to the project; none where no file shows the run.
    #[must_use]
    pub fn path_of_run(row: &RunRow) -> Option<String> {
        Self::path_of_source(&row.plan.face, &row.plan.source)
    }

    /// The path of the file of a plan of this format and source, relative to the
    /// project; none of a plan that no file shows. All that reads or writes the file of
    /// a plan finds it by this.
    #[must_use]
    pub fn path_of_source(face: &str, source: &str) -> Option<String> {
        Some(match plan_format(face)?.finding.place {
            PlanPlace::Folder(name) if source.is_empty() => name.to_owned(),
            PlanPlace::Folder(name) => format!("{source}/{name}"),
            PlanPlace::File => source.to_owned(),
            PlanPlace::Journal => return None,
        })
    }

    /// The folder that the plan lies in, relative to the project: that of the project
    /// itself where no file shows it.
    #[must_use]
    pub fn folder_of_run(row: &RunRow) -> &str {
        match plan_format(&row.plan.face).map(|format| format.finding.place) {
            Some(PlanPlace::File) => row
                .plan
                .source
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder),
            Some(PlanPlace::Journal) => "",
            Some(PlanPlace::Folder(_)) | None => &row.plan.source,
        }
    }

    /// The text that shows the run as of `tables`, made from the present one.
    /// None when the run is not in the tables.
    ///
    /// # Errors
    ///
    /// When the present text cannot be made to say it.
    pub fn render(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        now: Timestamp,
    ) -> Result<Option<String>, RenderError> {
        let elsewhere = self.done_elsewhere(tables, &[present]);
        let run = tables.run(self.run);
        let is_over = run.is_some_and(|row| row.state == RunState::Done);
        let tables = &*with_pending_edits(tables, self.run, AbsentItems::LeftOut, &elsewhere);
        let shown = self.document.render(present, tables, now)?;
        if let (Some(before), Some(text)) = (present, &shown)
            && is_over
            && !elsewhere.is_empty()
            && self.is_same_plan(before, text)
        {
            // How the run ended elsewhere is told where it did.
            return Ok(Some(before.to_owned()));
        }
        Ok(shown)
    }

    /// Whether a version of the file shows the run as it is, whenever it was written:
    /// what follows the time alone does not count.
    pub fn is_current_in(&mut self, text: &str, tables: &Tables, now: Timestamp) -> bool {
        let later = now.saturating_add(ANOTHER_TIME).unwrap_or(now);
        let mut shown = |now| self.render(Some(text), tables, now).ok().flatten();
        let Some((one, other)) = shown(now).zip(shown(later)) else {
            return false;
        };
        let both = one.lines().zip(other.lines());
        let is_same = |(text, (one, other)): (&str, (&str, &str))| text == one || one != other;
        text.lines().count() == one.lines().count() && text.lines().zip(both).all(is_same)
    }

    /// Whether two versions of the file say the same of each item, and of whether
    /// the plan is done.
    fn is_same_plan(&self, one: &str, other: &str) -> bool {
        let said = |text| {
            let plan = self.parse_plan(text)?;
            let is_done = plan.past.is_some_and(|past| past.done);
            Some((is_done, plan.items))
        };
        said(one).is_some_and(|one| Some(one) == said(other))
    }

    /// What changed in the file since piton wrote `base`, its last known version.
    ///
    /// # Errors
    ///
    /// What keeps the file from being read.
    pub fn collect_edits(
        &mut self,
        base: Option<&str>,
        theirs: &str,
        shown: ShownRun<'_>,
        now: Timestamp,
    ) -> Result<PlanChanges, Vec<Problem>> {
        let ShownRun { file, tables, run } = shown;
        if let Some(problem) = conflict::find_unresolved_merge(SourceText {
            name: file,
            text: theirs,
        }) {
            return Err(vec![problem]);
        }
        // What is asked about already is not found again.
        let elsewhere = self.done_elsewhere(tables, &[base, Some(theirs)]);
        let state = tables.run(run).map(|row| row.state);
        let tables = &*with_pending_edits(tables, run, AbsentItems::Kept, &elsewhere);
        let shown = ShownRun { file, tables, run };
        let mut changed = self.document.collect_edits(base, theirs, shown, now)?;
        // What this file says of them was said before they were done.
        let is_of = |edit: &Edit| {
            edit.target_node()
                .is_some_and(|node| elsewhere.contains(node))
        };
        // A file that was merged may say of the run what it has come to elsewhere.
        let is_so = |edit: &Edit| matches!(edit, Edit::SetRunState { to } if Some(*to) == state);
        changed.edits.retain(|edit| !is_of(edit) && !is_so(edit));
        Ok(changed)
    }
}
