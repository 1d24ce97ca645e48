//! A task file as a face of its run: piton ticks boxes, and edits of the file become
//! edits of the run.

use std::collections::{BTreeSet, HashMap};

use piton_core::{Edit, ItemRow, ItemState, Node, RunId, Tables, TreePosition};

use super::new_item::add_missing_boxes;
use super::plan::{CriterionGroups, StoredCriterion, planned_criterion, policy_of_task};
use super::{Criterion, TaskFile, match_criteria, parse_task};
use crate::plan_file::{MarkChange, PlanChanges, PlannedChange, file_items};
use crate::problem::{Problem, SourceText};
use crate::sprint::ShownRun;

/// The same text with the box of every criterion ticked that is done, and of
/// no other. What is skipped stays as it stands there. One mark differs for
/// each box that does. Open items that were added by command get a box.
#[must_use]
pub fn render_run(text: &str, tables: &Tables, run: RunId) -> String {
    let (task, _) = parse_task(SourceText { name: "", text });
    let rows: Vec<&ItemRow> = file_items(tables, run).collect();
    let mut out = text.to_owned();
    // From the end on: a mark may be longer than what replaces it.
    let of_criteria = match_rows(&rows, &task);
    let found = task.criteria.iter().zip(&of_criteria);
    for (criterion, row) in found.rev() {
        let Some(row) = row else { continue };
        let ticked = row.state == ItemState::Done;
        if ticked == criterion.ticked || row.state.is_left_out() {
            continue;
        }
        out.replace_range(criterion.tick.clone(), if ticked { "x" } else { " " });
    }
    let is_there = |row: &&ItemRow| {
        let mut there = of_criteria.iter().flatten();
        there.any(|known| known.node == row.node)
    };
    let missing: Vec<&ItemRow> = rows.iter().copied().filter(|row| !is_there(row)).collect();
    add_missing_boxes(out, &missing)
}

/// For each criterion of a file, the item that it is.
pub(super) fn match_rows<'r>(rows: &[&'r ItemRow], task: &TaskFile) -> Vec<Option<&'r ItemRow>> {
    let known = TaskFile {
        criteria: rows
            .iter()
            .map(|row| Criterion {
                ticked: row.state == ItemState::Done,
                ..StoredCriterion::unpack(row).to_criterion()
            })
            .collect(),
        ..TaskFile::default()
    };
    match_criteria(&known, task)
        .into_iter()
        .map(|at| at.and_then(|at| rows.get(at).copied()))
        .collect()
}

/// Takes back that a criterion is an item which the version before had no more,
/// where only some of their words are the same: it is a new one.
fn forget_similar(
    of_theirs: &mut [Option<&ItemRow>],
    theirs: &TaskFile,
    before: &[Option<&ItemRow>],
) {
    let were_there: BTreeSet<&Node> = before.iter().flatten().map(|row| &row.node).collect();
    for (criterion, row) in theirs.criteria.iter().zip(of_theirs) {
        let is_alike_only = row.is_some_and(|row| {
            let known = StoredCriterion::unpack(row).to_criterion();
            let is_same = known.id == criterion.id || known.text == criterion.text;
            !is_same && !were_there.contains(&row.node)
        });
        if is_alike_only {
            *row = None;
        }
    }
}

/// What changed in the file since piton wrote `base`.
///
/// # Errors
///
/// What keeps the file from being read.
pub fn collect_edits(
    base: Option<&str>,
    theirs: &str,
    shown: ShownRun<'_>,
) -> Result<PlanChanges, Vec<Problem>> {
    let name = shown.file;
    let (theirs, problems) = parse_task(SourceText { name, text: theirs });
    if problems.iter().any(Problem::is_error) {
        return Err(problems);
    }
    let base = base.map(|text| parse_task(SourceText { name, text }).0);
    let rows: Vec<&ItemRow> = file_items(shown.tables, shown.run).collect();
    let mut of_theirs = match_rows(&rows, &theirs);
    if let Some(base) = &base {
        forget_similar(&mut of_theirs, &theirs, &match_rows(&rows, base));
    }
    let differ = TaskDiffer {
        shown,
        // A file that lost its name is known by the run.
        source: shown
            .tables
            .run(shown.run)
            .map_or(name, |run| run.plan.source.as_str()),
        theirs: &theirs,
        of_theirs,
        rows,
        found: PlanChanges::default(),
    };
    Ok(differ.diff(base.as_ref()))
}

struct TaskDiffer<'a> {
    shown: ShownRun<'a>,
    source: &'a str,
    theirs: &'a TaskFile,
    /// The item of each of their criteria.
    of_theirs: Vec<Option<&'a ItemRow>>,
    rows: Vec<&'a ItemRow>,
    found: PlanChanges,
}

impl TaskDiffer<'_> {
    fn diff(mut self, base: Option<&TaskFile>) -> PlanChanges {
        let of_base = base.map(|base| match_rows(&self.rows, base));
        let names = self.push_inserts();
        self.push_orders(of_base.as_deref(), &names);
        let before = |node: &Node| {
            let (base, of_base) = (base?, of_base.as_ref()?);
            let at = of_base
                .iter()
                .position(|row| row.is_some_and(|row| row.node == *node))?;
            Some((base, at))
        };
        let groups = CriterionGroups::of_task(self.theirs);
        let mut natives = Vec::new();
        for (at, row) in self.of_theirs.iter().enumerate() {
            let Some(row) = row else { continue };
            let criterion = &self.theirs.criteria[at];
            let was = before(&row.node);
            let marked = MarkChange {
                before: base
                    .is_some()
                    .then(|| was.is_some_and(|(base, at)| base.criteria[at].ticked)),
                is_back: base.is_some() && was.is_none(),
                now: criterion.ticked,
                row,
            };
            marked.push_edit(&mut self.found);
            let said = PlannedChange {
                before: was.map(|(base, at)| planned_criterion(base, at, self.source)),
                now: planned_criterion(self.theirs, at, self.source),
            };
            said.push_word_edits(row, &mut self.found);
            let is_regrouped =
                was.is_some_and(|(base, at)| base.criteria[at].group != criterion.group);
            let depends_on = groups.nodes_before(at, &names);
            if is_regrouped && !row.state.is_finished() && row.plan.depends_on != depends_on {
                self.found.edits.push(Edit::SetDependsOn {
                    node: row.node.clone(),
                    depends_on,
                });
            }
            let native = StoredCriterion::new(self.theirs, criterion).pack();
            if row.plan.native.as_ref() != Some(&native) {
                natives.push(Edit::SetNative {
                    node: Some(row.node.clone()),
                    native: Some(native),
                });
            }
        }
        self.found.edits.extend(natives);
        self.push_policy(base);
        for row in &self.rows {
            let is_there = self
                .of_theirs
                .iter()
                .any(|there| there.is_some_and(|there| there.node == row.node));
            let was_there = base.is_none() || before(&row.node).is_some();
            self.found.note_presence(row, was_there, is_there);
        }
        self.found
    }

    /// Tells of what is new, and gives the name of every criterion.
    fn push_inserts(&mut self) -> Vec<Node> {
        let rows = self.shown.tables.tree(self.shown.run);
        let mut taken: BTreeSet<Node> = rows.map(|row| row.node.clone()).collect();
        let mut names: Vec<Node> = Vec::with_capacity(self.theirs.criteria.len());
        // Where in the edits the item stands that a new one is a part of.
        let mut part_of: HashMap<usize, usize> = HashMap::new();
        let mut last: HashMap<Option<Node>, Node> = HashMap::new();
        let mut counts: HashMap<usize, u32> = HashMap::new();
        let mut inserts: Vec<Edit> = Vec::new();
        for (at, criterion) in self.theirs.criteria.iter().enumerate() {
            let parent = match (self.of_theirs[at], criterion.parent) {
                (Some(row), _) => row.node.parent(),
                (None, above) => above.map(|above| names[above].clone()),
            };
            let after = last.get(&parent).cloned();
            let name = match self.of_theirs[at] {
                Some(row) => row.node.clone(),
                None => (1..)
                    .map(|nth| Node::child(parent.as_ref(), &criterion.id, nth))
                    .find(|name| !taken.contains(name))
                    .unwrap_or_else(|| Node::child(parent.as_ref(), &criterion.id, 1)),
            };
            if self.of_theirs[at].is_none() {
                taken.insert(name.clone());
                let mut item = planned_criterion(self.theirs, at, self.source);
                item.node = name.clone();
                let above = criterion
                    .parent
                    .and_then(|above| part_of.get(&above).copied());
                match (above, criterion.parent) {
                    (Some(edit), Some(above)) => {
                        let index = counts.entry(above).or_default();
                        if let Some(Edit::Insert { items, .. }) = inserts.get_mut(edit) {
                            let top = items.iter().find(|item| item.node == names[above]);
                            let place = top.map(|top| top.place.clone()).unwrap_or_default();
                            item.place = place.child(*index);
                            items.push(item);
                        }
                        *index += 1;
                        part_of.insert(at, edit);
                    }
                    _ => {
                        let depth = name.ancestors().count();
                        item.place = TreePosition(vec![0; depth]).child(0);
                        part_of.insert(at, inserts.len());
                        inserts.push(Edit::Insert {
                            parent: parent.clone(),
                            after,
                            items: vec![item],
                        });
                    }
                }
            }
            last.insert(parent, name.clone());
            names.push(name);
        }
        // What is inserted later cannot be waited for yet.
        let rows = self.rows.iter().map(|row| &row.node);
        let mut there: BTreeSet<Node> = rows.cloned().collect();
        let groups = CriterionGroups::of_task(self.theirs);
        for insert in &mut inserts {
            let Edit::Insert { items, .. } = insert else {
                continue;
            };
            there.extend(items.iter().map(|item| item.node.clone()));
            for item in items {
                let at = names.iter().position(|name| *name == item.node);
                let before = at.map(|at| groups.nodes_before(at, &names));
                let before = before.into_iter().flatten();
                item.depends_on = before.filter(|node| there.contains(node)).collect();
            }
        }
        self.found.edits.extend(inserts);
        names
    }

    /// An order is changed where those that were there before stand otherwise
    /// than before.
    fn push_orders(&mut self, of_base: Option<&[Option<&ItemRow>]>, names: &[Node]) {
        let rows: Vec<&Node> = match of_base {
            Some(of_base) => of_base.iter().flatten().map(|row| &row.node).collect(),
            None => self.rows.iter().map(|row| &row.node).collect(),
        };
        let there: BTreeSet<&Node> = names.iter().collect();
        let known: BTreeSet<&Node> = rows.iter().copied().collect();
        let parents: BTreeSet<Option<Node>> = rows.iter().map(|node| node.parent()).collect();
        for parent in parents {
            let of_parent = |node: &&Node| node.parent() == parent;
            let then = rows
                .iter()
                .copied()
                .filter(of_parent)
                .filter(|node| there.contains(node));
            let now = || names.iter().filter(of_parent);
            if !now().filter(|node| known.contains(node)).eq(then) {
                let nodes = now().cloned().collect();
                self.found.edits.push(Edit::Order { parent, nodes });
            }
        }
    }

    /// What stands at the head of the file.
    fn push_policy(&mut self, base: Option<&TaskFile>) {
        let Some(run) = self.shown.tables.run(self.shown.run) else {
            return;
        };
        let mut rules = run.plan.policy.clone();
        let said = policy_of_task(self.theirs).limits.iterations_max;
        rules.limits.iterations_max = said;
        let is_new = base.is_none_or(|base| policy_of_task(base).limits.iterations_max != said);
        if is_new && rules != run.plan.policy {
            self.found.edits.push(Edit::SetPolicy(Box::new(rules)));
        }
    }
}
