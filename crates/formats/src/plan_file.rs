//! The file of a plan, as a face of its run.
//!
//! `show` makes the text say how the run stands, in place of what it said, and
//! `edits` returns what a person or another program changed in it. What differs
//! between formats stands in their [`PlanFormat`].

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use piton_core::evidence::ClaimOverrides;
use piton_core::gate::Gate;
use piton_core::plan::{
    ImportedItemHistory, ImportedRunHistory, ItemTurn, Order, Plan, PlannedItem,
};
use piton_core::policy::Policy;
use piton_core::scope::FileScope;
use piton_core::{Edit, ItemRow, ItemState, Node, RunId, RunRow, RunState, Tables, TreePosition};

use crate::conflict;
use crate::native_file::RenderError;
use crate::pending_edits::{AbsentItems, with_pending_edits};
use crate::plan_format::{PlanContext, PlanDocument, PlanFormat, PlanName, PlanPlace};
use crate::problem::{Problem, SourceText};
use crate::registry::plan_format;

/// So far apart no two times have a field that is the same.
const ANOTHER_TIME: SignedDuration = SignedDuration::new(86_400 * 431 + 3_661, 1_000_000);

/// The file of a plan.
#[derive(Debug)]
pub struct PlanFile {
    format: &'static PlanFormat,
    run: RunId,
    document: Box<dyn PlanDocument>,
    elsewhere: Vec<Node>,
    /// Those whose mark in the file came along from another branch.
    carried: HashSet<Node>,
}

/// The run that a file shows, and what to call the file in problems.
#[derive(Clone, Copy, Debug)]
pub struct ShownRun<'a> {
    /// The file, as the caller wants it shown.
    pub file: &'a str,
    /// The rows of the run: the run and all its items.
    pub tables: &'a Tables,
    /// The run.
    pub run: RunId,
}

/// What the file of a plan says beside its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFileNotes {
    /// Of the whole.
    pub whole: Option<String>,
    /// Of one item, beyond the words that it was planned from.
    pub details: Option<String>,
}

impl PlanFileNotes {
    /// What a file of this format says of its whole and of the item `row`.
    #[must_use]
    pub fn parse(face: &str, source: SourceText<'_>, row: &ItemRow) -> Self {
        let format = plan_format(face);
        format.map_or_else(Self::default, |format| (format.about)(source, row))
    }
}

/// What a person or another program changed in the file of a plan.
#[derive(Debug, Default)]
pub struct PlanChanges {
    /// What it comes to, in the order in which it is to be tried.
    pub edits: Vec<Edit>,
    /// What cannot be taken from a file, and stays as it is.
    pub problems: Vec<Problem>,
    /// The items that stood in the file before and stand there no more.
    pub removed: Vec<Node>,
    /// The items that piton knows, that did not stand in the file before and
    /// stand there again.
    pub returned: Vec<Node>,
}

impl PlanChanges {
    /// Whether all of this is part of what another version changed, whatever it says.
    #[must_use]
    pub fn is_subset_of(&self, other: &Self) -> bool {
        let has = |edit: &Edit| {
            other
                .edits
                .iter()
                .any(|have| have.is_same_kind_and_subject(edit))
        };
        self.edits.iter().all(has)
            && self.removed.iter().all(|node| other.removed.contains(node))
            && self
                .returned
                .iter()
                .all(|node| other.returned.contains(node))
    }

    /// Notes that an item is gone, or back.
    pub(crate) fn note_presence(&mut self, row: &ItemRow, was_there: bool, is_there: bool) {
        match (was_there, is_there) {
            (true, false) => self.removed.push(row.node.clone()),
            (false, true) => self.returned.push(row.node.clone()),
            (true, true) | (false, false) => {}
        }
    }
}

impl PlanFile {
    pub(crate) fn new(
        format: &'static PlanFormat,
        run: RunId,
        document: Box<dyn PlanDocument>,
    ) -> Self {
        Self {
            format,
            run,
            document,
            elsewhere: Vec::new(),
            carried: HashSet::new(),
        }
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
            name: PlanName::Given(""),
            source: "",
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

    /// Its format.
    #[must_use]
    pub fn format(&self) -> &'static PlanFormat {
        self.format
    }

    /// The run that it shows.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Its path, relative to the project.
    #[must_use]
    pub fn path_of_run(row: &RunRow) -> Option<String> {
        Self::path_of_source(&row.plan.face, &row.plan.source)
    }

    /// The path of the file of a plan of this format and source, relative to the
    /// project.
    #[must_use]
    pub fn path_of_source(face: &str, source: &str) -> Option<String> {
        Some(match plan_format(face)?.place {
            PlanPlace::Folder(name) if source.is_empty() => name.to_owned(),
            PlanPlace::Folder(name) => format!("{source}/{name}"),
            PlanPlace::File => source.to_owned(),
        })
    }

    /// The folder that the plan lies in, relative to the project.
    #[must_use]
    pub fn folder_of_run(row: &RunRow) -> &str {
        match plan_format(&row.plan.face).map(|format| format.place) {
            Some(PlanPlace::File) => row
                .plan
                .source
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder),
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

/// The items that a file holds which people write: the pieces of an item that
/// was split are piton's own, and stand in no such file.
pub(crate) fn file_items(tables: &Tables, run: RunId) -> impl Iterator<Item = &ItemRow> {
    tables.tree(run).filter(|row| row.plan.piece_of.is_none())
}

/// What a box was, is, and is of.
pub(crate) struct MarkChange<'a> {
    /// Whether piton's last version had it; none when that is not known.
    pub(crate) before: Option<bool>,
    /// Whether the item stands in the file again, where that version did not
    /// have it.
    pub(crate) is_back: bool,
    /// Whether it is there now.
    pub(crate) now: bool,
    /// Of what.
    pub(crate) row: &'a ItemRow,
}

impl MarkChange<'_> {
    /// The edit that setting or removing the mark of a done item means.
    pub(crate) fn push_edit(&self, into: &mut PlanChanges) {
        let done = self.row.state == ItemState::Done;
        let node = self.row.node.clone();
        match (self.before, self.now) {
            // Without a base, what was tried may bear an old mark.
            (before @ (Some(false) | None), true)
                if !done && (before.is_some() || self.row.attempts == 0) =>
            {
                let to = ItemState::Done;
                into.edits.push(Edit::SetState { node, to });
            }
            // What comes back without a mark is not done by what was done before.
            (Some(before), false) if done && (before || self.is_back) => {
                let to = ItemState::Pending;
                into.edits.push(Edit::SetState { node, to });
            }
            _ => {}
        }
    }
}

/// What the file says of one item: as it is planned now, and as it was planned
/// by the version that was read before, where there was one.
pub(crate) struct PlannedChange {
    /// By that version.
    pub(crate) before: Option<PlannedItem>,
    /// By the file as it is.
    pub(crate) now: PlannedItem,
}

impl PlannedChange {
    /// Whether the file says something else than the item has, and did not say
    /// the same before: what a person refused once is not told again.
    fn is_changed<T: PartialEq>(&self, of_row: &T, of: fn(&PlannedItem) -> &T) -> bool {
        let before = self.before.as_ref().map(of);
        of(&self.now) != of_row && before != Some(of(&self.now))
    }

    /// The check of an item. What is asked for when it fails names the item, and
    /// changes with its words; the command stays as it is until the file has
    /// another one.
    fn changed_gate(&self, row: &ItemRow) -> Option<Gate> {
        let script = |gate: &Option<Gate>| gate.as_ref().map(|gate| gate.script.clone());
        let before = self.before.as_ref().map(|item| script(&item.gate));
        let now = self.now.gate.clone();
        if before != Some(script(&now)) {
            return now;
        }
        let on_fail_prompt = now?.on_fail_prompt;
        row.plan.gate.clone().map(|gate| Gate {
            on_fail_prompt,
            ..gate
        })
    }

    /// What the file says that an agent is to be told, and how an item is proven,
    /// where it is not what piton has. Of an item that is finished, and stays so,
    /// only what is new in the file is changed.
    pub(crate) fn push_word_edits(&self, row: &ItemRow, into: &mut PlanChanges) {
        let node = || row.node.clone();
        let is_reopened = into.edits.iter().any(|edit| {
            matches!(edit, Edit::SetState { node, to } if *node == row.node && !to.is_finished())
        });
        if row.state.is_finished() && !is_reopened && self.before.is_none() {
            return;
        }
        let now = &self.now;
        // What is stored holds no secret; the file may.
        let prompt = row.plan.prompt.as_ref();
        let redacted = prompt.is_some_and(|prompt| prompt.contains("[redacted:"));
        if now.prompt.is_some()
            && !redacted
            && self.is_changed(&row.plan.prompt, |item| &item.prompt)
        {
            into.edits.push(Edit::SetPrompt {
                node: node(),
                prompt: now.prompt.clone(),
            });
        }
        // What is only there to hold others has no check of its own.
        let is_work = row.is_leaf() && now.prompt.is_some();
        if is_work && self.is_changed(&row.plan.gate, |item| &item.gate) {
            let gate = self.changed_gate(row);
            into.edits.push(Edit::SetGate { node: node(), gate });
        }
        if self.is_changed(&row.plan.claims, |item| &item.claims) {
            into.edits.push(Edit::SetClaims {
                node: node(),
                claims: now.claims,
            });
        }
        if self.is_changed(&row.plan.scope, |item| &item.scope) {
            into.edits.push(Edit::SetScope {
                node: node(),
                scope: now.scope.clone(),
            });
        }
        if self.is_changed(&row.plan.model, |item| &item.model) {
            into.edits.push(Edit::SetModel {
                node: node(),
                model: now.model.clone(),
            });
        }
    }
}

/// A plan whose items are worked on in any order, of which the file says nothing
/// but the items.
pub(crate) fn plan_of_items(
    face: &str,
    run: RunId,
    name: &str,
    source: &str,
    items: Vec<PlannedItem>,
) -> Plan {
    let all_done = !items.is_empty() && items.iter().all(|item| item.state == ItemState::Done);
    Plan {
        requests: Vec::new(),
        run,
        name: name.to_owned(),
        face: face.to_owned(),
        source: source.to_owned(),
        policy: Policy::default(),
        order: Order::Any,
        native: None,
        past: all_done.then(|| ImportedRunHistory {
            done: true,
            ..ImportedRunHistory::default()
        }),
        items,
    }
}

/// An item of which the file says nothing but its id.
pub(crate) fn planned_item(id: &str, state: ItemState) -> PlannedItem {
    PlannedItem {
        node: Node::child(None, id, 1),
        id: id.to_owned(),
        place: TreePosition::default().child(0),
        state,
        prompt: None,
        model: None,
        gate: None,
        breakpoint: false,
        approval: false,
        turn: ItemTurn::default(),
        depends_on: Vec::new(),
        native: None,
        past: ImportedItemHistory::default(),
        piece_of: None,
        injected: None,
        claims: ClaimOverrides::default(),
        scope: FileScope::default(),
        repository: None,
        wait: None,
    }
}

/// The nodes of ids, each once.
pub(crate) fn nodes_of_ids<'i>(ids: impl Iterator<Item = &'i String>) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for node in ids.map(|id| Node::child(None, id, 1)) {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    nodes
}

/// The check that a list of commands makes, each of which must pass.
pub(crate) fn gate_of_commands(commands: &[&str], on_fail_prompt: String) -> Option<Gate> {
    Some(Gate {
        script: script_of_commands(commands)?,
        on_fail_prompt,
        runs_max: GATE_RUNS_MAX,
        timeout_s: GATE_TIMEOUT_S,
    })
}

/// The script of such a check.
pub(crate) fn script_of_commands(commands: &[impl AsRef<str>]) -> Option<String> {
    match commands {
        [] => None,
        [one] => Some(one.as_ref().to_owned()),
        several => {
            // Each in a shell of its own: none ends or moves the others.
            let commands = several.iter().map(AsRef::as_ref);
            Some(
                commands
                    .map(|one| format!("(\n{one}\n) || exit\n"))
                    .collect(),
            )
        }
    }
}

/// How often a check is run at most, where a format has no word for it.
const GATE_RUNS_MAX: u32 = 3;
/// How long it may take, in seconds: the tests of a whole project.
const GATE_TIMEOUT_S: u64 = 600;
