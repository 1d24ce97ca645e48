//! A `prd.json` as a face of its run: it shows what passes, and edits of the file
//! become edits of the run.

use std::collections::{HashMap, HashSet};

use piton_core::{Edit, ItemRow, ItemState, RunId, Tables};

use super::new_item::added_element;
use super::passes::{items_mut, push_item, write_passes};
use super::plan::{node_of_item, plan_item, work_order};
use super::{Prd, PrdItem, layout, parse_prd};
use crate::json;
use crate::native_file::RenderError;
use crate::plan_file::{MarkChange, PlanChanges, PlannedChange, file_items};
use crate::problem::{Problem, SourceText};
use crate::sprint::ShownRun;
use crate::tree::ValueNode;

/// The same text, saying of every item of the run whether it passes: it does
/// when it is done. What is skipped stays as it stands there. Open items that were added
/// by command come behind the others.
///
/// # Errors
///
/// When the text is no list, or an item stands there twice.
pub fn render_run(text: &str, tables: &Tables, run: RunId) -> Result<String, RenderError> {
    let parsed = json::parse(text);
    if let Some(fault) = parsed.faults.first() {
        let line = fault.span.line;
        return Err(RenderError(format!("line {line}: {}", fault.message)));
    }
    let Some(mut root) = parsed.root else {
        return Err(RenderError("there is no list in it".to_owned()));
    };
    let layout = layout::layout_of_root(&root);
    let Some(key) = layout.items_location() else {
        return Err(RenderError(format!("this is {}", layout.describe())));
    };
    let rows: HashMap<&str, &ItemRow> = file_items(tables, run)
        .map(|row| (row.plan.id.as_str(), row))
        .collect();
    let mut seen = HashSet::new();
    for item in items_mut(&mut root, key) {
        let Some(id) = item.get("id").and_then(ValueNode::text).map(str::to_owned) else {
            continue;
        };
        let Some(row) = rows.get(id.as_str()) else {
            continue;
        };
        if !seen.insert(id) {
            return Err(RenderError(format!("`{}` stands there twice", row.plan.id)));
        }
        let passes = item.get("passes").and_then(ValueNode::as_bool) == Some(true);
        let done = row.state == ItemState::Done;
        // One that does not pass need not say so.
        if passes != done && !row.state.is_left_out() {
            write_passes(item, done);
        }
    }
    // What a person added by command, and no version of the file had yet.
    let added = file_items(tables, run).filter(|row| !seen.contains(&row.plan.id));
    for element in added.filter_map(added_element) {
        push_item(&mut root, key, element);
    }
    json::patch(text, &root).map_err(|why| RenderError(why.to_string()))
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
    let (theirs, problems) = parse_prd(SourceText {
        name: shown.file,
        text: theirs,
    });
    let Some(theirs) = theirs.filter(|_| !problems.iter().any(Problem::is_error)) else {
        return Err(problems);
    };
    let base = base.and_then(|text| {
        let name = shown.file;
        parse_prd(SourceText { name, text }).0
    });
    Ok(PrdDiffer::new(&shown).diff(base.as_ref(), &theirs))
}

struct PrdDiffer<'a> {
    rows: Vec<&'a ItemRow>,
    by_id: HashMap<&'a str, &'a ItemRow>,
    found: PlanChanges,
}

fn items_by_id(prd: &Prd) -> HashMap<&str, &PrdItem> {
    prd.items
        .iter()
        .map(|item| (item.id.as_str(), item))
        .collect()
}

impl<'a> PrdDiffer<'a> {
    fn new(shown: &ShownRun<'a>) -> Self {
        let rows: Vec<&ItemRow> = file_items(shown.tables, shown.run).collect();
        Self {
            by_id: rows
                .iter()
                .map(|row| (row.plan.id.as_str(), *row))
                .collect(),
            rows,
            found: PlanChanges::default(),
        }
    }

    fn diff(mut self, base: Option<&Prd>, theirs: &Prd) -> PlanChanges {
        let before = base.map(items_by_id);
        let known: HashSet<&str> = theirs
            .items
            .iter()
            .map(|item| item.id.as_str())
            .chain(self.by_id.keys().copied())
            .collect();
        let done: HashSet<&str> = self
            .rows
            .iter()
            .filter(|row| row.state.is_finished())
            .map(|row| row.plan.id.as_str())
            .collect();
        let order = work_order(&theirs.items);
        let mut after = None;
        for item in order.iter().map(|at| &theirs.items[*at]) {
            if !self.by_id.contains_key(item.id.as_str()) {
                self.found.edits.push(Edit::Insert {
                    parent: None,
                    after,
                    items: vec![plan_item(theirs, item, &known, &done)],
                });
            }
            after = Some(node_of_item(&item.id));
        }
        self.diff_order(base, theirs, &order);
        for item in &theirs.items {
            let Some(row) = self.by_id.get(item.id.as_str()).copied() else {
                continue;
            };
            let planned_item = plan_item(theirs, item, &known, &done);
            let was = before
                .as_ref()
                .and_then(|before| before.get(item.id.as_str()));
            let waits_for_others = was.is_some_and(|was| was.depends_on != item.depends_on);
            if waits_for_others && !row.state.is_finished() {
                self.found.edits.push(Edit::SetDependsOn {
                    node: row.node.clone(),
                    depends_on: planned_item.depends_on.clone(),
                });
            }
            let marked = MarkChange {
                before: before
                    .is_some()
                    .then(|| was.is_some_and(|was| was.passes == Some(true))),
                is_back: before.is_some() && was.is_none(),
                now: item.passes == Some(true),
                row,
            };
            marked.push_edit(&mut self.found);
            let said = PlannedChange {
                before: base
                    .zip(was)
                    .map(|(base, was)| plan_item(base, was, &known, &done)),
                now: planned_item,
            };
            said.push_word_edits(row, &mut self.found);
        }
        let there = items_by_id(theirs);
        for row in &self.rows {
            let id = row.plan.id.as_str();
            let was_there = before.as_ref().is_none_or(|before| before.contains_key(id));
            self.found
                .note_presence(row, was_there, there.contains_key(id));
        }
        self.found
    }

    /// The order is changed where those that were there before are to be
    /// worked on otherwise than before.
    fn diff_order(&mut self, base: Option<&Prd>, theirs: &Prd, order: &[usize]) {
        let there: HashSet<&str> = theirs.items.iter().map(|item| item.id.as_str()).collect();
        let before: Vec<&str> = match base {
            Some(base) => work_order(&base.items)
                .into_iter()
                .map(|at| base.items[at].id.as_str())
                .collect(),
            None => self.rows.iter().map(|row| row.plan.id.as_str()).collect(),
        };
        let before: Vec<&str> = before
            .into_iter()
            .filter(|id| there.contains(id) && self.by_id.contains_key(id))
            .collect();
        let known: HashSet<&str> = before.iter().copied().collect();
        let now = order.iter().map(|at| theirs.items[*at].id.as_str());
        if !now.clone().filter(|id| known.contains(id)).eq(before) {
            self.found.edits.push(Edit::Order {
                parent: None,
                nodes: now.map(node_of_item).collect(),
            });
        }
    }
}
