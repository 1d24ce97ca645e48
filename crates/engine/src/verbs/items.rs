//! `piton add`, `list` and `done`: items by command.
//!
//! An item goes into the plan that is named, else into the project's own list, a run
//! that no file shows. See `docs/design/0058-items-by-command.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use piton_core::command::EditAuthor;
use piton_core::event::ItemEvent;
use piton_core::name::{free_name, slug};
use piton_core::plan::{ItemTags, Plan, PlannedItem};
use piton_core::{
    Command, Edit, Event, HolderLiveness, ItemState, Need, Node, Refusal, RunId, RunRow, Tables,
};
use piton_formats::plan_file::{PlanFile, ShownRun};
use piton_formats::plan_format::NewItem;
use piton_formats::registry::{is_own_list, new_own_list, plan_format};
use piton_store::{CommitError, CommitOutcome};
use serde::Serialize;

use super::control::{ControlOutcome, outcome_of_run};
use super::item_view::{ItemView, ItemWaitKind, Viewer};
use super::run::plan_path::PlanPath;
use super::run::secrets::refuse_secrets_in_items;
use super::run::start_command;
use super::{NoticeSink, create_session};
use crate::failure::Failure;
use crate::native_files::FileNotice;
use crate::native_files::folder_lock::FolderLock;
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::native_files::plan_sync::open_plan_file;
use crate::native_files::text_change::{TextChange, changed_meanwhile};
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::runner;
use crate::runner::run_lock;
use crate::runner::run_standing::RunStanding;
use crate::session::person_edits::trust_typed_check;
use crate::session::{Session, no_runs_failure, open_runs};
use crate::verbs::arguments::{join_words, non_blank, require_one_line, search_folder};
use crate::verbs::record::unknown_item::{resolve_planned_item, unknown_item_failure};
use crate::world::World;

/// Longest id that is made of a title, in characters.
const ID_CHARS_MAX: usize = 32;

/// An item that is to be added.
#[derive(Clone, Debug, Default)]
pub struct AddRequest {
    /// What it is about, in one line.
    pub title: String,
    /// All else that its agent has to know.
    pub prompt: Option<String>,
    /// The shell command that must succeed before it is done.
    pub check: Option<String>,
    /// The items of the same plan that it waits for, by their ids.
    pub after: Vec<String>,
    /// The plan, by the name of its run or its path; the own list when absent.
    pub plan: Option<String>,
    /// The words by which it is listed.
    pub labels: Vec<String>,
    /// Which comes first of those that are ready: the least, from 1.
    pub priority: Option<u32>,
}

/// An item that was added.
#[derive(Clone, Debug, Serialize)]
pub struct AddedItem {
    /// What names it: `write-hello`.
    pub node: String,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub state: ItemState,
    /// The file that shows it; none of the own list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How its run stands; none of a file that is no run yet.
    #[serde(rename = "then", skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ControlOutcome>,
    /// What to type to begin the plan, where it is no run yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

crate::name_schema!(AddedItem, "piton.item.add/1");

/// Adds an item to a plan, or to the own list of the project.
///
/// # Errors
///
/// When there is no such plan, its format cannot take an item, an item that the new one
/// is to wait for is not there, or its check holds a secret. Nothing is stored then.
pub fn add(
    world: &World,
    request: &AddRequest,
    told: &mut NoticeSink<'_>,
) -> Result<AddedItem, Failure> {
    let request = &checked_request(request)?;
    let (session, run) = match &request.plan {
        Some(plan) => {
            let file = PlanPath::resolve(world, Path::new(plan)).filter(PlanPath::is_plan);
            let folder = search_folder(world, Some(plan));
            let session = Session::open_writable(world, &folder)?;
            let known = session.ok_or_else(no_runs_failure).and_then(|session| {
                let run = session.resolve_run(plan)?;
                Ok((session, Some(run)))
            });
            match (known, file) {
                (Err(failure), Some(file)) if failure.code == "run.unknown" => {
                    return add_to_file(world, plan, &file, request, told);
                }
                (known, _) => known?,
            }
        }
        None => (create_session(world, told)?, None),
    };
    let (run, committed) = match run {
        Some(run) => {
            let committed = add_to_run(&session, &run, request, told)?;
            (run, committed)
        }
        None => add_to_own_list(&session, request, told)?,
    };
    trust_typed_check(world, &session.project, request.check.as_deref());
    let node = added_node(&committed).expect("an item was added");
    let outcome = outcome_of_run(&session, &run)?;
    let rows = session.load(&[Need::Line(run.id, node.clone())])?;
    let state = rows.tables.item(run.id, &node).map(|item| item.state);
    Ok(AddedItem {
        node: node.as_str().to_owned(),
        title: request.title.clone(),
        state: state.unwrap_or(ItemState::Ready),
        file: PlanFile::path_of_run(&run),
        outcome: Some(outcome),
        next: None,
    })
}

/// The request without blanks.
fn checked_request(request: &AddRequest) -> Result<AddRequest, Failure> {
    let title = request.title.trim().to_owned();
    require_one_line("the title", &title)?;
    if title.is_empty() {
        return Err(Failure::new("usage", "the title is empty")
            .with_hint("say in one line what is to be done: `piton add 'Write hello'`"));
    }
    let prompt = non_blank(request.prompt.clone());
    Ok(AddRequest {
        title,
        prompt: prompt.map(|prompt| prompt.trim().to_owned()),
        check: non_blank(request.check.clone()),
        labels: checked_labels(&request.labels)?,
        ..request.clone()
    })
}

/// Labels without blanks, each once.
pub(super) fn checked_labels(labels: &[String]) -> Result<Vec<String>, Failure> {
    let mut checked: Vec<String> = Vec::new();
    for label in labels.iter().map(|label| label.trim()) {
        require_one_line("a label", label)?;
        if !label.is_empty() && !checked.iter().any(|known| known == label) {
            checked.push(label.to_owned());
        }
    }
    Ok(checked)
}

/// Adds an item to the own list, which begins with it where there is none.
fn add_to_own_list(
    session: &Session<'_>,
    request: &AddRequest,
    told: &mut NoticeSink<'_>,
) -> Result<(RunRow, CommitOutcome), Failure> {
    loop {
        let runs = session.runs()?;
        if let Some(list) = runs.iter().rfind(|run| is_own_list(run)) {
            let committed = add_to_run(session, list, request, told)?;
            return Ok((list.clone(), committed));
        }
        if let Some(on) = request.after.first() {
            return Err(unknown_item_failure(session, on)?);
        }
        let run = RunId(session.world.new_id());
        let plan = new_own_list(run, &new_item(request, Vec::new(), |_| false));
        // A file may be called so, and its run as well.
        let name = free_name(&plan.name, |name| runs.iter().any(|run| run.name == name));
        refuse_secrets_in_items(&plan.items, &session.world.redactor(), told)?;
        let command = Command::PlanRun(Box::new(Plan { name, ..plan }));
        let facts = session.facts_of_caller(HolderLiveness::Nothing);
        match session.commit(&command, &facts) {
            // Another command took the name since the runs were looked at.
            Err(CommitError::Refused(Refusal::NameTaken(_))) => {}
            committed => {
                let committed = committed?;
                return Ok((load_run(session, run)?, committed));
            }
        }
    }
}

/// Adds an item behind all others of a run. What a dead runner left there is settled
/// first, and what stands in the file of the plan is taken in.
fn add_to_run(
    session: &Session<'_>,
    row: &RunRow,
    request: &AddRequest,
    told: &mut NoticeSink<'_>,
) -> Result<CommitOutcome, Failure> {
    let commands = plan_format(&row.plan.face).and_then(|format| format.item_commands);
    let commands =
        commands.ok_or_else(|| no_items_failure(&row.name, &row.plan.face, &row.plan.source))?;
    let path = PlanFile::path_of_run(row).map(|path| session.project.absolute_path(&path));
    // Who adds another item meanwhile gives it the next id, not the same.
    let _folder = path.as_deref().map(FolderLock::hold).transpose()?;
    // Held until the command is stored: no runner begins anything in between.
    let lock = runner::settle_dead_runner(session, row.id, told)?;
    if lock.is_some() || run_lock::is_free(&session.project, row) {
        FileNotice::emit_all(&sync_plan_file(session, row)?, told);
    }
    let rows = session.load(&[Need::Run(row.id), Need::Tree(row.id)])?;
    let after = dependencies(session, &rows.tables, row.id, &request.after)?;
    let is_taken = |id: &str| rows.tables.tree(row.id).any(|item| item.plan.id == id);
    let new = new_item(request, after, is_taken);
    let present = path.and_then(|path| session.project.read_text(&path).ok());
    // What a runner has not written yet is there as well.
    let text = present.map(|present| {
        let plan = PlanFile::of_run(&rows.tables, row.id);
        let shown = plan.and_then(|mut plan| {
            let shown = plan.render(Some(&present), &rows.tables, session.world.now());
            shown.ok().flatten()
        });
        shown.unwrap_or(present)
    });
    let unfit = |why| Failure::new("usage", why);
    let item = (commands.plan)(text.as_deref(), &new).map_err(unfit)?;
    let (after, item) = match (commands.write, text.as_deref()) {
        (Some(write), Some(text)) => {
            let written = write(text, &new).map_err(unfit)?;
            let inserted = item_in_file(session, &rows.tables, row, (text, &written));
            let (after, read) = inserted
                .ok_or_else(|| no_items_failure(&row.name, &row.plan.face, &row.plan.source))?;
            // What is to stand in the file is kept beside the item.
            let native = item.native.or(read.native.clone());
            (after, PlannedItem { native, ..read })
        }
        (Some(_) | None, _) => (predecessor_by_priority(&rows.tables, row.id, &new), item),
    };
    let items = vec![PlannedItem {
        injected: Some(session.world.now()),
        ..item
    }];
    refuse_secrets_in_items(&items, &session.world.redactor(), told)?;
    let edit = Edit::Insert {
        parent: None,
        after,
        items,
    };
    let committed = session.execute_command(&typed_edits(row, "piton add", None, vec![edit]))?;
    drop(lock);
    Ok(committed)
}

/// The item behind which a new one stands: the last that comes before it by its priority.
fn predecessor_by_priority(tables: &Tables, run: RunId, new: &NewItem) -> Option<Node> {
    let roots = tables.tree(run);
    let roots = roots.filter(|item| item.plan.place.depth() == 1);
    let before = roots.filter(|item| item.plan.tags.rank() <= new.tags.rank());
    before.last().map(|item| item.node.clone())
}

/// The item as it is read from the file of the plan, which says behind which other it
/// stands.
fn item_in_file(
    session: &Session<'_>,
    tables: &Tables,
    row: &RunRow,
    (before, after): (&str, &str),
) -> Option<(Option<Node>, PlannedItem)> {
    let file = PlanFile::path_of_run(row)?;
    let shown = ShownRun {
        file: &file,
        tables,
        run: row.id,
    };
    let mut plan = open_plan_file(&session.project, tables, row.id)?;
    let changes = plan.collect_edits(Some(before), after, shown, session.world.now());
    changes.ok()?.edits.into_iter().find_map(|edit| {
        if let Edit::Insert {
            parent: None,
            after,
            items,
        } = edit
        {
            Some((after, items.into_iter().next()?))
        } else {
            None
        }
    })
}

/// The command that a person typed about a plan.
pub(super) fn typed_edits(
    row: &RunRow,
    through: &str,
    why: Option<String>,
    edits: Vec<Edit>,
) -> Command {
    Command::TakeEdits {
        run: row.id,
        token: None,
        file: PlanFile::path_of_run(row).unwrap_or_else(|| row.name.clone()),
        edits,
        word: EditAuthor::Typed {
            through: through.to_owned(),
            why,
        },
    }
}

fn new_item(request: &AddRequest, after: Vec<Node>, is_taken: impl Fn(&str) -> bool) -> NewItem {
    NewItem {
        id: free_name(&id_of_title(&request.title), is_taken),
        title: request.title.clone(),
        prompt: request.prompt.clone(),
        check: request.check.clone(),
        after,
        tags: ItemTags {
            labels: request.labels.clone(),
            priority: request.priority,
        },
    }
}

/// The first words of a title, as an id that can be typed.
fn id_of_title(title: &str) -> String {
    let whole = slug(title);
    let Some(cut) = whole.get(..=ID_CHARS_MAX) else {
        return whole;
    };
    let end = cut.rfind('-').unwrap_or(ID_CHARS_MAX);
    whole[..end].to_owned()
}

/// The items of a run that are meant by ids.
pub(super) fn dependencies(
    session: &Session<'_>,
    tables: &Tables,
    run: RunId,
    ids: &[String],
) -> Result<Vec<Node>, Failure> {
    let mut nodes = Vec::new();
    for id in ids {
        let mut items = tables.tree(run);
        let found = items.find(|item| item.node.as_str() == id || item.plan.id == *id);
        let Some(found) = found else {
            return Err(unknown_item_failure(session, id)?);
        };
        if !nodes.contains(&found.node) {
            nodes.push(found.node.clone());
        }
    }
    Ok(nodes)
}

/// The item that a command added.
fn added_node(committed: &CommitOutcome) -> Option<Node> {
    committed.events.iter().find_map(|stored| {
        let Event::Item(ItemEvent::Planned(planned)) = &stored.event else {
            return None;
        };
        Some(planned.item.node.clone())
    })
}

/// Adds an item to a plan in a file that is no run yet: the file alone says what there is.
fn add_to_file(
    world: &World,
    typed: &str,
    file: &PlanPath,
    request: &AddRequest,
    told: &mut NoticeSink<'_>,
) -> Result<AddedItem, Failure> {
    let project = Project::find(world, &search_folder(world, Some(typed)));
    world.check_write_allowed(&project)?;
    let _lock = FolderLock::hold(&file.file)?;
    let (plan, text) = file.read_plan(RunId::PROJECT, typed, typed)?;
    let commands = plan_format(&plan.face).and_then(|format| format.item_commands);
    let commands = commands.and_then(|commands| Some((commands, commands.write?)));
    let (commands, write) = commands.ok_or_else(|| no_items_failure(typed, &plan.face, typed))?;
    let mut after = Vec::new();
    for id in &request.after {
        let mut items = plan.items.iter();
        let found = items.find(|item| item.node.as_str() == id || item.id == *id);
        let found = found.ok_or_else(|| {
            let ids: Vec<&str> = plan.items.iter().map(|item| item.id.as_str()).collect();
            Failure::new("item.unknown", format!("{typed} has no item `{id}`"))
                .with_hint(format!("its items are: {}", join_words(&ids)))
        })?;
        after.push(found.node.clone());
    }
    let is_taken = |id: &str| plan.items.iter().any(|item| item.id == id);
    let new = new_item(request, after, is_taken);
    let unfit = |why| Failure::new("usage", why);
    let item = (commands.plan)(Some(&text), &new).map_err(unfit)?;
    let (node, state) = (item.node.as_str().to_owned(), item.state);
    refuse_secrets_in_items(&[item], &world.redactor(), told)?;
    let written = write(&text, &new).map_err(unfit)?;
    let change = TextChange::compute(&project, file.file.clone(), |present| match present {
        Some(present) if present == text => Ok(Some(written)),
        Some(_) | None => Err(changed_meanwhile(&file.shown)),
    })?;
    change.apply()?;
    trust_typed_check(world, &project, request.check.as_deref());
    Ok(AddedItem {
        node,
        title: new.title,
        state,
        file: Some(typed.to_owned()),
        outcome: None,
        next: Some(start_command(world, &project, typed)),
    })
}

fn no_items_failure(name: &str, face: &str, source: &str) -> Failure {
    let what = format!(
        "an item cannot be added to `{name}` by command: it is a plan of the format {face}"
    );
    let hint = match plan_format(face) {
        Some(format) if format.issues.is_some() => "add an issue with `piton issue add`".to_owned(),
        Some(format) if format.is_folder() => {
            format!(
                "add a phase with `piton plan inject --run {}`",
                quote_word(name)
            )
        }
        Some(_) | None => format!("write it into the file of the plan, `{source}`"),
    };
    Failure::new("usage", what).with_hint(hint)
}

pub(super) fn load_run(session: &Session<'_>, run: RunId) -> Result<RunRow, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    rows.tables.run(run).cloned().ok_or_else(no_runs_failure)
}

/// Which items are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemFilter {
    /// All of them.
    All,
    /// Those that are not finished.
    Open,
    /// Those that may be begun.
    Ready,
}

/// Items that agents work on.
#[derive(Clone, Debug, Serialize)]
pub struct ItemList {
    /// The items, run by run, in the order of their plans.
    pub items: Vec<ItemView>,
    /// Why there is none, and what to type then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none_because: Option<String>,
}

crate::name_schema!(ItemList, "piton.items/1");

/// The items of the plan that is named, else of all runs that are not over and of the
/// own list: those that have all of the labels. Changes nothing.
///
/// # Errors
///
/// When there is no such plan, or a store that cannot be read.
pub fn list(
    world: &World,
    plan: Option<&str>,
    filter: ItemFilter,
    labels: &[String],
) -> Result<ItemList, Failure> {
    let session = Session::open_read_only(world, &search_folder(world, plan))?;
    let runs = session.as_ref().map_or(Ok(Vec::new()), Session::runs)?;
    let named = plan.map(|name| match &session {
        Some(session) => session.resolve_run_among(&runs, name),
        None => Err(crate::session::unknown_run(name, &[])),
    });
    if let (Some(name), Some(Err(failure))) = (plan, &named)
        && failure.code == "run.unknown"
        && let Some(items) = items_of_file(world, name)
    {
        let is_meant = |item: &ItemView| match filter {
            ItemFilter::All => true,
            ItemFilter::Open | ItemFilter::Ready => !item.is_finished(),
        };
        let (items, left): (Vec<_>, Vec<_>) = items
            .into_iter()
            .partition(|item| is_meant(item) && has_labels(item, labels));
        return Ok(ItemList::new(items, &left, labels));
    }
    let meant: Vec<&RunRow> = match named {
        Some(run) => vec![run?],
        None => {
            let open: Vec<RunId> = open_runs(&runs).map(|run| run.id).collect();
            let is_meant = |run: &&RunRow| open.contains(&run.id) || is_own_list(run);
            runs.iter().filter(is_meant).collect()
        }
    };
    let Some(session) = session.filter(|_| !meant.is_empty()) else {
        return Ok(ItemList {
            items: Vec::new(),
            none_because: Some(describe_no_plan(world, &runs)),
        });
    };
    let mut items = Vec::new();
    let mut left = Vec::new();
    for row in meant {
        let rows = session.load(&[
            Need::Run(row.id),
            Need::Tree(row.id),
            Need::OpenAttempts(Some(row.id)),
            Need::OpenDecisions(Some(row.id)),
        ])?;
        let viewer = Viewer {
            tables: &rows.tables,
            now: world.now(),
            live: RunStanding::of_run(&session.project, row).is_live,
            current: None,
        };
        for item in rows.tables.tree(row.id).filter(|item| item.is_leaf()) {
            let is_meant = match filter {
                ItemFilter::All => true,
                ItemFilter::Open => !item.state.is_finished(),
                ItemFilter::Ready => {
                    item.state == ItemState::Ready && item.hold_at(world.now()).is_none()
                }
            };
            // What is left out matters as long as nothing is listed.
            if !is_meant && !items.is_empty() {
                continue;
            }
            let view = ItemView::of_item(&viewer, item);
            if is_meant && has_labels(&view, labels) {
                items.push(view);
            } else {
                left.push(view);
            }
        }
    }
    Ok(ItemList::new(items, &left, labels))
}

impl ItemList {
    /// The items that are listed, and why none is where all are `left` out.
    fn new(items: Vec<ItemView>, left: &[ItemView], labels: &[String]) -> Self {
        let none_because = items.is_empty().then(|| describe_left_out(left, labels));
        Self {
            items,
            none_because,
        }
    }
}

fn has_labels(item: &ItemView, labels: &[String]) -> bool {
    let mut wanted = labels.iter();
    wanted.all(|label| item.next.tags.labels.contains(label))
}

/// The items of a plan in a file that is no run yet; none where it is no such file.
fn items_of_file(world: &World, typed: &str) -> Option<Vec<ItemView>> {
    let file = PlanPath::resolve(world, Path::new(typed))?;
    let (plan, _) = file.read_plan(RunId::PROJECT, typed, typed).ok()?;
    let work = plan.items.iter().filter(|item| item.prompt.is_some());
    Some(work.map(|item| ItemView::of_planned(typed, item)).collect())
}

/// A plan that lies here and that none of these runs works on, as it is typed.
fn find_unbegun_plan(project: &Project, world: &World, runs: &[RunRow]) -> Option<String> {
    let files = PlanPath::collect_in_folder(world, Path::new(".")).into_iter();
    let mut files = files.filter(|file| {
        let source = project.relative_path(&file.file);
        runs.iter().all(|run| run.plan.source != source) && file.is_plan()
    });
    let shown = files.next()?.shown;
    let shown = shown.strip_prefix(".").unwrap_or(&shown);
    Some(shown.to_string_lossy().into_owned())
}

/// How to begin the plan that lies here, where there is no run.
pub(crate) fn unbegun_plan_hint(world: &World) -> Option<String> {
    let project = Project::find(world, &world.cwd);
    let plan = find_unbegun_plan(&project, world, &[])?;
    let start = start_command(world, &project, &plan);
    Some(format!(
        "begin the plan that is here with `{start}`, or change its file, {plan}"
    ))
}

/// That no run has an item yet.
pub(super) fn no_items_here_failure(world: &World) -> Failure {
    let failure = no_runs_failure();
    match unbegun_plan_hint(world) {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// What there is where no run has an item to list; `runs` are all of them.
fn describe_no_plan(world: &World, runs: &[RunRow]) -> String {
    let project = Project::find(world, &world.cwd);
    if let Some(plan) = find_unbegun_plan(&project, world, runs) {
        let typed = quote_word(&plan);
        let start = start_command(world, &project, &plan);
        return format!(
            "no run works on {plan} yet: see its items with `piton list --in {typed}`, begin it with `{start}`"
        );
    }
    let what = match runs {
        [] => return NO_ITEM.to_owned(),
        [run] => format!("run `{}` is done", run.name),
        runs => format!("all {} runs are done", runs.len()),
    };
    let last = runs.last().map_or("", |run| &run.name);
    format!(
        "{what}; see its items with `piton list --in {}`",
        quote_word(last)
    )
}

/// What is said where nothing was ever planned.
const NO_ITEM: &str = "there is no item here; add one with `piton add TITLE`";

/// Why none of these items is listed.
fn describe_left_out(left: &[ItemView], labels: &[String]) -> String {
    let quoted = |labels: &BTreeSet<&String>| {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        labels.join(", ")
    };
    let labelled: Vec<&ItemView> = left
        .iter()
        .filter(|item| has_labels(item, labels))
        .collect();
    if labelled.is_empty() && !labels.is_empty() {
        let known = left
            .iter()
            .flat_map(|item| &item.next.tags.labels)
            .collect();
        let what = format!("no item is labelled {}", quoted(&labels.iter().collect()));
        return match quoted(&known) {
            none if none.is_empty() => format!("{what}; none has a label"),
            known => format!("{what}; the labels here are: {known}"),
        };
    }
    let open: Vec<&&ItemView> = labelled.iter().filter(|item| !item.is_finished()).collect();
    if open.is_empty() {
        return match labelled.len() {
            0 => NO_ITEM.to_owned(),
            1 => "the only item is finished".to_owned(),
            count => format!("all {count} items are finished"),
        };
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for item in open {
        *reasons.entry(reason_not_ready(item)).or_default() += 1;
    }
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(why, count)| format!("{count} {why}"))
        .collect();
    format!("nothing is ready: {}", reasons.join(", "))
}

/// Why an item that is not finished cannot be started, behind a count.
fn reason_not_ready(item: &ItemView) -> &'static str {
    let waits = item.next.waits.as_ref();
    match waits.map(|wait| wait.what) {
        Some(ItemWaitKind::Dependency) => "waiting for other items",
        Some(ItemWaitKind::Person | ItemWaitKind::Breakpoint) => "waiting for a person",
        Some(ItemWaitKind::Time) => "waiting for a time",
        Some(ItemWaitKind::Command) => "waiting for a command",
        Some(ItemWaitKind::Files) => "waiting for files",
        Some(ItemWaitKind::Taken) => "taken by a person",
        None => item.state.as_str(),
    }
}

/// Marks an item as done at a person's word, as a mark in its file would.
///
/// # Errors
///
/// When there is no such item, or a runner works on it. Nothing is stored then.
pub fn mark_done(
    world: &World,
    item: &str,
    why: Option<String>,
    told: &mut NoticeSink<'_>,
) -> Result<ControlOutcome, Failure> {
    let session = Session::open_writable(world, &world.cwd)?;
    let session = session.ok_or_else(|| no_items_here_failure(world))?;
    let (run, node) = resolve_planned_item(&session, item)?;
    let row = load_run(&session, run)?;
    let lock = runner::settle_dead_runner(&session, run, told)?;
    let edit = Edit::SetState {
        node,
        to: ItemState::Done,
    };
    session.execute_command(&typed_edits(&row, "piton done", why, vec![edit]))?;
    drop(lock);
    outcome_of_run(&session, &row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_first_words_of_a_title() {
        for (title, id) in [
            ("Write hello", "write-hello"),
            ("  Fix: the `login`! ", "fix-the-login"),
            ("Über größe", "ber-gr-e"),
            ("日本語", "item"),
            (
                "Add the login page and wire it to the session store",
                "add-the-login-page-and-wire-it",
            ),
            (&"x".repeat(50), &"x".repeat(ID_CHARS_MAX)),
        ] {
            assert_eq!(id_of_title(title), id, "{title}");
        }
    }
}
