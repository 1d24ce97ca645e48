//! Whose the marks are that a plan's file has: what git says of them.

use std::collections::HashMap;
use std::fs;
use std::rc::Rc;

use piton_core::amount::list_first;
use piton_core::evidence::Evidence;
use piton_core::gate::Gate;
use piton_core::plan::{Plan, PlannedItem};
use piton_core::{ItemRow, ItemState, Need, Node};
use piton_formats::mark_origins::{self, DoneMarks, MarkOrigin, MarkedVersion};
use piton_formats::plan_format::PlanFormat;
use piton_formats::registry::plan_format;

use crate::failure::Failure;
use crate::git::{self, FileHistory};
use crate::project::Project;
use crate::session::Session;

/// Where the mark of each item was set.
pub(crate) type MarkOrigins = HashMap<Node, Vec<MarkOrigin>>;

/// So many items are named.
const NAMED_MAX: usize = 3;

/// So many versions of a file are looked at, and together no more than so many bytes.
const VERSIONS_MAX: usize = 500;
const VERSIONS_BYTES_MAX: u64 = 64 << 20;

/// So many versions are asked for at once.
const AT_ONCE: usize = 32;

/// Where the marks of a plan's file were set, as far as git can say, back to the commit
/// `since`.
pub(crate) fn find_mark_origins(
    project: &Project,
    format: &PlanFormat,
    path: &str,
    marks: DoneMarks,
    since: Option<&str>,
) -> MarkOrigins {
    let inside = project.path_in_work_tree(path);
    let inside = inside.filter(|_| !marks.is_empty() && project.is_tracked(path));
    let size = fs::metadata(project.absolute_path(path)).map_or(0, |found| found.len());
    let room = VERSIONS_BYTES_MAX / size.max(1);
    let commits_max = usize::try_from(room).map_or(VERSIONS_MAX, |room| room.min(VERSIONS_MAX));
    let history = inside.as_deref().and_then(|inside| {
        FileHistory::load(&project.work_tree, inside, since, commits_max.max(1))
    });
    // All of a long history is looked at only for what a merge may have done.
    let history = history.filter(|history| since.is_some() || history.has_merge());
    let Some((inside, history)) = inside.zip(history) else {
        return MarkOrigins::new();
    };
    let mut known: HashMap<String, Rc<DoneMarks>> = HashMap::new();
    let version = |commit: &str| {
        if !known.contains_key(commit) {
            let others = history.commits.iter();
            let others = others.filter(|other| *other != commit && !known.contains_key(*other));
            let asked = std::iter::once(commit).chain(others.map(String::as_str));
            let asked: Vec<String> = asked.take(AT_ONCE).map(str::to_owned).collect();
            let names: Vec<String> = asked.iter().map(|at| format!("{at}:{inside}")).collect();
            let texts = git::texts_of_objects(&project.work_tree, &names);
            let read = |text: Option<String>| DoneMarks::parse(format, &text.unwrap_or_default());
            let read = texts.into_iter().map(|text| Rc::new(read(text)));
            known.extend(asked.into_iter().zip(read));
        }
        MarkedVersion {
            marks: known[commit].clone(),
            parents: history.parents.get(commit).cloned().unwrap_or_default(),
        }
    };
    let now = MarkedVersion {
        marks: Rc::new(marks),
        parents: history.heads.clone(),
    };
    let mut origins = mark_origins::find_mark_origins(now, version);
    // What was set before `since` was known then: set anew, it is no commit's.
    for origin in origins.values_mut().flatten() {
        origin.version = origin
            .version
            .take()
            .filter(|commit| history.parents.contains_key(commit));
    }
    origins
}

/// The items whose marks came with commits that were made elsewhere: by another person,
/// or in another clone.
pub(crate) fn items_marked_elsewhere(project: &Project, origins: &MarkOrigins) -> Vec<Node> {
    if origins.is_empty() {
        return Vec::new();
    }
    let Some(own) = git::commits_made_here(&project.work_tree) else {
        return Vec::new();
    };
    let is_elsewhere = |origin: &MarkOrigin| {
        let version = origin.version.as_ref();
        version.is_some_and(|commit| !own.contains(commit))
    };
    let brought = origins
        .iter()
        .filter(|(_, origins)| origins.iter().all(is_elsewhere));
    let mut brought: Vec<Node> = brought.map(|(node, _)| node.clone()).collect();
    brought.sort();
    brought
}

/// Makes the items of a new plan open that are done by such a mark alone: unless a run
/// of the same file has done what they ask for. They are given back.
///
/// # Errors
///
/// When the store cannot be read.
pub(crate) fn reopen_misplaced_items(
    project: &Project,
    session: Option<&Session<'_>>,
    plan: &mut Plan,
) -> Result<Vec<Node>, Failure> {
    let Some(format) = plan_format(&plan.face) else {
        return Ok(Vec::new());
    };
    let marks = DoneMarks::from_items(format, &plan.items);
    let origins = find_mark_origins(project, format, &plan.source, marks, None);
    let mut nodes = mark_origins::misplaced_marks(&origins);
    if let Some(session) = session.filter(|_| !nodes.is_empty()) {
        for row in session
            .runs()?
            .iter()
            .filter(|row| row.plan.source == plan.source)
        {
            let rows = session.load(&[Need::Tree(row.id)])?.tables;
            let items = plan.items.iter().filter(|item| nodes.contains(&item.node));
            let has_done = |item: &&PlannedItem| {
                let done = rows.item(row.id, &item.node);
                done.is_some_and(|done| was_done_as_planned(done, item))
            };
            let done: Vec<Node> = items
                .filter(has_done)
                .map(|item| item.node.clone())
                .collect();
            nodes.retain(|node| !done.contains(node));
        }
    }
    mark_origins::reopen_items(plan, &nodes);
    let items = plan.items.iter().map(|item| &item.node);
    Ok(items.filter(|node| nodes.contains(node)).cloned().collect())
}

/// Whether an item was done when it asked for what a plan asks for, and not because a
/// file said so.
fn was_done_as_planned(row: &ItemRow, item: &PlannedItem) -> bool {
    let script = |gate: &Option<Gate>| gate.as_ref().map(|gate| gate.script.clone());
    row.state == ItemState::Done
        && !row.proof.evidence.contains(&Evidence::TakenOver)
        && (&row.plan.prompt, script(&row.plan.gate)) == (&item.prompt, script(&item.gate))
}

/// What is said of items that stay open, or are open again, although the file marks
/// them.
pub(crate) fn describe_misplaced_marks(file: &str, nodes: &[Node]) -> String {
    let named: Vec<String> = nodes.iter().map(|node| format!("`{node}`")).collect();
    let (marks, items) = match nodes.len() {
        1 => ("this mark", "an item"),
        _ => ("these marks", "items"),
    };
    format!(
        "{file} marks {} as done, but a merge took {marks} from {items} of other words or another check: open; leave out what is done with `piton plan skip ITEM`",
        list_first(&named, NAMED_MAX)
    )
}
