//! What depends on work that was done on another branch is not started where
//! that work is missing.

use std::collections::BTreeSet;

use piton_core::command::MergeNeeded;
use piton_core::{
    Command, DecisionKind, ItemRow, ItemState, Node, RunId, RunRow, RunState, Tables,
};
use piton_store::CommitError;

use super::{Runner, facts, picture};
use crate::failure::Failure;
use crate::git;
use crate::history::{self, Keeps};
use crate::native_files::plan_sync::PlanSync;
use crate::session::Session;

/// How many letters of a commit name it to people.
const SHORT_COMMIT: usize = 12;

impl Runner<'_, '_> {
    /// Lets what is ready wait for a merge where what it depends on was done on
    /// another branch, and go on once that has come.
    pub(super) fn ask_for_merge(&mut self) -> Result<(), Failure> {
        let (session, run, tables) = (self.session, self.row.id, self.lp.tables());
        let Some(items) = new_needs(session, tables, run, self.mirror.as_mut()) else {
            return Ok(());
        };
        tell(session, run, Some(self.lp.token()), items)
    }
}

/// Lets go on what waited in a run that nobody works on for what has been merged
/// since.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn let_go_after_merge(session: &Session<'_>, row: &RunRow) -> Result<(), Failure> {
    if row.state != RunState::Waiting {
        return Ok(());
    }
    let (tables, _) = picture(session, row.id)?;
    if asked(&tables, row.id).is_empty() {
        return Ok(());
    }
    // Without its file, what git knows of the commits has to do.
    let mut mirror = PlanSync::open(session, row, &tables).ok().flatten();
    match new_needs(session, &tables, row.id, mirror.as_mut()) {
        Some(items) => tell(session, row.id, None, items),
        None => Ok(()),
    }
}

fn tell(
    session: &Session<'_>,
    run: RunId,
    token: Option<u64>,
    items: Vec<MergeNeeded>,
) -> Result<(), Failure> {
    let command = Command::AskForMerge {
        run,
        token,
        items,
        merged: Vec::new(),
    };
    match session.commit(&command, &facts(session)) {
        // Why it was refused, the loop finds out with its next command.
        Ok(_) | Err(CommitError::Refused(_)) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// The items that wait for a merge already.
fn asked(tables: &Tables, run: RunId) -> BTreeSet<&Node> {
    let open = tables.open_decisions(run);
    let asked = open.filter(|row| row.kind == DecisionKind::MergeNeeded);
    asked.filter_map(|row| row.node.as_ref()).collect()
}

/// The items that have to wait for a merge; none where they do already. Whoever
/// was answered is not held up again.
fn new_needs(
    session: &Session<'_>,
    tables: &Tables,
    run: RunId,
    mirror: Option<&mut PlanSync>,
) -> Option<Vec<MergeNeeded>> {
    let here = git::checked_out(&session.project.work_tree)?;
    let asked = asked(tables, run);
    let is_there = |row: &ItemRow| history::is_of_other_branch(row, &here);
    if asked.is_empty() && !tables.items(run).any(is_there) {
        return None;
    }
    let may_start = |row: &&ItemRow| {
        let is_next = row.state == ItemState::Ready && row.is_leaf() && !row.without_merge;
        asked.contains(&row.node) || (is_next && !depends_on(tables, row).is_empty())
    };
    let next: Vec<&ItemRow> = tables.items(run).filter(may_start).collect();
    if next.is_empty() {
        return None;
    }
    let elsewhere = match mirror {
        Some(mirror) => mirror.done_elsewhere(&here, tables),
        None => history::committed_elsewhere(&session.project, &here, (tables, run), Keeps::Yes),
    };
    let branch_of = |node: &Node| {
        let below = |at: &&Node| at.is_within(node);
        let row = tables.item(run, elsewhere.iter().find(below)?)?;
        let branch = row.done_on.as_ref()?.branch.clone()?;
        // What is missing on its own branch was taken back by whoever set it back.
        if here.branch.as_ref() == Some(&branch) {
            return None;
        }
        // A branch may be renamed or gone: its commit can be merged all the same.
        let is_there = git::has_branch(&session.project.work_tree, &branch);
        let commit = row.commits.last().filter(|_| !is_there);
        let short = |commit: &String| commit.get(..SHORT_COMMIT).unwrap_or(commit).to_owned();
        Some(commit.map_or(branch, short))
    };
    let needed = next.into_iter().filter_map(|row| {
        let on = depends_on(tables, row).into_iter();
        let on = on.filter_map(|on| Some((on.clone(), branch_of(on)?)));
        let on: Vec<(Node, String)> = on.collect();
        let node = row.node.clone();
        (!on.is_empty()).then_some(MergeNeeded { node, on })
    });
    let needed: Vec<MergeNeeded> = needed.collect();
    let nodes: BTreeSet<&Node> = needed.iter().map(|needed| &needed.node).collect();
    (nodes != asked).then_some(needed)
}

/// What an item, or one that it is part of, depends on.
fn depends_on<'t>(tables: &'t Tables, row: &'t ItemRow) -> BTreeSet<&'t Node> {
    let above = row.node.ancestors();
    let above = above.filter_map(|node| tables.item(row.run, &node));
    let line = std::iter::once(row).chain(above);
    line.flat_map(|row| &row.depends_on).collect()
}
