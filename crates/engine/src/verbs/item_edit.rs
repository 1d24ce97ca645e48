//! `piton edit`, `dep`, `take` and `release`: what a person changes of an item.
//!
//! Where no file shows the item, the journal alone is changed. Else the file is, and the
//! edits are those that a person would make there. See
//! `docs/design/0058-items-by-command.md`.

use piton_core::item::ItemHold;
use piton_core::{Edit, ItemRow, Need, Refusal, RunRow, Tables};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{ItemEditing, ItemPatch};
use piton_formats::registry::plan_format;
use piton_formats::title::title_of_item;
use piton_store::CommitError;
use serde::Serialize;

use super::NoticeSink;
use super::control::{ControlOutcome, outcome_of_run};
use super::items::{checked_labels, dependencies, load_run, no_items_here_failure, typed_edits};
use super::run::secrets::{refuse_secrets_in_check, warn_of_secrets};
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::native_files::FileNotice;
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::native_files::plan_sync::load_plan_rows;
use crate::native_files::plan_sync::typed::{TypedFileChange, edits_of_typed_change};
use crate::runner;
use crate::runner::run_lock;
use crate::session::Session;
use crate::session::person_edits::trust_typed_check;
use crate::verbs::arguments::{non_blank, require_one_line};
use crate::verbs::record::unknown_item::{resolve_planned_item, unknown_item_failure};
use crate::world::World;

/// What is to be different of an item. What is absent stays as it is.
#[derive(Clone, Debug, Default)]
pub struct EditRequest {
    /// What it is about, in one line.
    pub title: Option<String>,
    /// All else that its agent has to know; nothing more where it is blank.
    pub prompt: Option<String>,
    /// The shell command that must succeed before it is done; none where it is blank.
    pub check: Option<String>,
    /// Which comes first of those that are ready; 0 for none.
    pub priority: Option<u32>,
    /// All of its labels; none where all of them are blank.
    pub labels: Option<Vec<String>>,
}

/// An item that was edited.
#[derive(Clone, Debug, Serialize)]
pub struct EditedItem {
    /// What names it.
    pub node: String,
    /// What it is called now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether anything is different now.
    pub changed: bool,
    /// The file that shows it; none of the own list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// An attempt is under way, which goes on with what it was started with.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub under_way: bool,
    /// The items that it waits for.
    pub depends_on: Vec<String>,
    /// How its run stands.
    #[serde(rename = "then")]
    pub outcome: ControlOutcome,
}

crate::name_schema!(EditedItem, "piton.item.edit/1");

/// Whether an item is to wait for another one, or no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyChange {
    /// It is to wait.
    Add,
    /// It waits no more.
    Remove,
}

impl DependencyChange {
    fn command(self) -> &'static str {
        match self {
            Self::Add => "piton dep add",
            Self::Remove => "piton dep remove",
        }
    }
}

/// Changes what an item says.
///
/// # Errors
///
/// When there is no such item, the format of its plan cannot say it, or its check holds
/// a secret. Nothing is changed then.
pub fn edit(
    world: &World,
    item: &str,
    request: &EditRequest,
    told: &mut NoticeSink<'_>,
) -> Result<EditedItem, Failure> {
    let patch = checked_patch(request)?;
    let wanted = |_: &Session<'_>, _: &Tables, _: &ItemRow| Ok(patch);
    change_item(world, (item, "piton edit"), told, wanted)
}

/// That an item waits for another one, as it was typed.
#[derive(Clone, Copy, Debug)]
pub struct TypedDependency<'t> {
    /// The item that waits.
    pub item: &'t str,
    /// What it waits for.
    pub on: &'t str,
}

/// Changes what an item waits for.
///
/// # Errors
///
/// When there is no such item in its plan, it would wait for itself, it is finished, or
/// the format of the plan cannot say it. Nothing is changed then.
pub fn change_dependency(
    world: &World,
    dependency: TypedDependency<'_>,
    change: DependencyChange,
    told: &mut NoticeSink<'_>,
) -> Result<EditedItem, Failure> {
    let TypedDependency { item, on } = dependency;
    let wanted = |session: &Session<'_>, tables: &Tables, row: &ItemRow| {
        if row.state.is_finished() {
            let what = format!(
                "`{}` is {}: it waits for nothing any more",
                row.node, row.state
            );
            let hint = format!("open it again with `piton reopen {}`", row.node);
            return Err(Failure::new("item.state", what).with_hint(hint));
        }
        let run = tables.run(row.run).map(|run| format!("{}:", run.name));
        let bare = run.and_then(|run| on.strip_prefix(&run)).unwrap_or(on);
        let found = dependencies(session, tables, row.run, &[bare.to_owned()])?;
        let mut depends_on = row.plan.depends_on.clone();
        match change {
            DependencyChange::Add => {
                let new = found
                    .into_iter()
                    .filter(|on| !row.plan.depends_on.contains(on));
                depends_on.extend(new);
            }
            DependencyChange::Remove => {
                depends_on.retain(|on| !found.contains(on));
                if depends_on == row.plan.depends_on {
                    let what = format!("`{}` does not wait for `{bare}`", row.node);
                    return Err(Failure::new("item.state", what).with_hint(format!(
                        "see what it waits for with `piton show {}`",
                        row.node
                    )));
                }
            }
        }
        Ok(ItemPatch {
            depends_on: Some(depends_on),
            ..ItemPatch::default()
        })
    };
    change_item(world, (item, change.command()), told, wanted)
}

fn checked_patch(request: &EditRequest) -> Result<ItemPatch, Failure> {
    let title = request.title.as_ref().map(|title| title.trim().to_owned());
    if let Some(title) = &title {
        require_one_line("the title", title)?;
        if title.is_empty() {
            return Err(Failure::new("usage", "the title is empty"));
        }
    }
    let text = |text: &Option<String>| {
        let text = text.as_ref();
        text.map(|text| non_blank(Some(text.trim().to_owned())))
    };
    let labels = request.labels.as_deref().map(checked_labels);
    let patch = ItemPatch {
        title,
        prompt: text(&request.prompt),
        check: text(&request.check),
        priority: request.priority.map(|at| Some(at).filter(|at| *at > 0)),
        labels: labels.transpose()?,
        depends_on: None,
    };
    if patch == ItemPatch::default() {
        return Err(Failure::new("usage", "nothing is to be changed")
            .with_hint("say what: `--title`, `--prompt`, `--check`, `--priority` or `--label`"));
    }
    Ok(patch)
}

/// Changes an item, and the file of its plan. What a dead runner left there is settled
/// first, and what stands in the file is taken in.
fn change_item(
    world: &World,
    (item, through): (&str, &str),
    told: &mut NoticeSink<'_>,
    wanted: impl FnOnce(&Session<'_>, &Tables, &ItemRow) -> Result<ItemPatch, Failure>,
) -> Result<EditedItem, Failure> {
    let session = Session::open_writable(world, &world.cwd)?;
    let session = session.ok_or_else(|| no_items_here_failure(world))?;
    let (run, node) = resolve_planned_item(&session, item)?;
    let row = load_run(&session, run)?;
    let commands = plan_format(&row.plan.face).and_then(|format| format.item_commands);
    let commands = commands.ok_or_else(|| no_editing_failure(&row))?;
    // Held until the command is stored: no runner begins anything in between.
    let lock = runner::settle_dead_runner(&session, run, told)?;
    if lock.is_some() || run_lock::is_free(&session.project, &row) {
        FileNotice::emit_all(&sync_plan_file(&session, &row)?, told);
    }
    let tables = load_plan_rows(&session, run, &[])?;
    let Some(before) = tables.item(run, &node) else {
        return Err(unknown_item_failure(&session, item)?);
    };
    let patch = wanted(&session, &tables, before)?;
    let check = patch.check.as_ref().and_then(Option::as_deref);
    let redactor = world.redactor();
    refuse_secrets_in_check(before.node.as_str(), check, &redactor)?;
    let prompts = patch.title.iter().chain(patch.prompt.iter().flatten());
    warn_of_secrets(&before.node, prompts, &redactor, told);
    let changed = match commands.edit {
        ItemEditing::Journal(edits_of) => {
            let mut edits = edits_of(&tables, before, &patch);
            edits.retain(|edit| !edit.is_in_force(&tables, run));
            commit_edits(&session, &row, through, edits)?
        }
        ItemEditing::File(edit) => {
            let change = |text: &str| edit(text, before, &patch);
            let change = TypedFileChange {
                row: &row,
                tables: &tables,
                change: &change,
            };
            let (edits, is_new_text) = edits_of_typed_change(&session, &change)?;
            commit_edits(&session, &row, through, edits)?;
            if is_new_text && !change.write(&session)? {
                told(Notice::Warning(&format!(
                    "{} was changed by another program meanwhile, and does not say so; type the same again",
                    row.plan.source
                )));
            }
            is_new_text
        }
    };
    drop(lock);
    trust_typed_check(world, &session.project, check);
    let outcome = outcome_of_run(&session, &row)?;
    let rows = session.load(&[Need::Line(run, node.clone())])?;
    let after = rows.tables.item(run, &node);
    let depends_on = after.into_iter().flat_map(|item| &item.plan.depends_on);
    Ok(EditedItem {
        title: after.and_then(title_of_item),
        changed,
        under_way: after.is_some_and(ItemRow::is_under_way),
        depends_on: depends_on.map(ToString::to_string).collect(),
        node: node.as_str().to_owned(),
        file: PlanFile::path_of_run(&row),
        outcome,
    })
}

/// Carries out the edits of a run that a person typed; whether there were any.
fn commit_edits(
    session: &Session<'_>,
    row: &RunRow,
    through: &str,
    edits: Vec<Edit>,
) -> Result<bool, Failure> {
    if edits.is_empty() {
        return Ok(false);
    }
    let command = typed_edits(row, through, None, edits);
    let facts = session.facts_of_run(row.id, session.holder_of_run(row.id)?);
    match session.commit(&command, &facts) {
        Err(CommitError::Refused(Refusal::Unfit { why, .. })) => {
            let hint = format!("see where its items stand with `piton status {}`", row.name);
            Err(Failure::new("item.state", why).with_hint(hint))
        }
        committed => {
            committed?;
            Ok(true)
        }
    }
}

fn no_editing_failure(row: &RunRow) -> Failure {
    let what = format!(
        "an item of `{}` cannot be edited by command: it is a plan of the format {}",
        row.name, row.plan.face
    );
    let file = PlanFile::path_of_run(row).unwrap_or_default();
    Failure::new("usage", what).with_hint(format!("change it in {file}"))
}

/// An item that a person took, or gave back.
#[derive(Clone, Debug, Serialize)]
pub struct TakenItem {
    /// What names it.
    pub node: String,
    /// Who works on it, and until when; none where it was given back.
    pub taken: Option<ItemHold>,
    /// How its run stands.
    #[serde(rename = "then")]
    pub outcome: ControlOutcome,
}

crate::name_schema!(TakenItem, "piton.item.take/1");

/// A person works on an item for so many seconds, or, with none, gives it back. No runner
/// starts it meanwhile.
///
/// # Errors
///
/// When there is no such item, another person has it, an agent works on it, or it is in
/// no state in which a runner would start it.
pub fn take(
    world: &World,
    item: &str,
    for_s: Option<u64>,
    told: &mut NoticeSink<'_>,
) -> Result<TakenItem, Failure> {
    let session = Session::open_writable(world, &world.cwd)?;
    let session = session.ok_or_else(|| no_items_here_failure(world))?;
    let (run, node) = resolve_planned_item(&session, item)?;
    let row = load_run(&session, run)?;
    let lock = runner::settle_dead_runner(&session, run, told)?;
    let through = match for_s {
        Some(_) => "piton take",
        None => "piton release",
    };
    let edit = Edit::Take {
        node: node.clone(),
        for_s,
    };
    commit_edits(&session, &row, through, vec![edit])?;
    drop(lock);
    let outcome = outcome_of_run(&session, &row)?;
    let rows = session.load(&[Need::Line(run, node.clone())])?;
    let taken = rows.tables.item(run, &node);
    let taken = taken.and_then(|item| item.hold_at(world.now())).cloned();
    Ok(TakenItem {
        node: node.as_str().to_owned(),
        taken,
        outcome,
    })
}
