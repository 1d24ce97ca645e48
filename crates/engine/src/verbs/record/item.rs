//! Which item a caller means by what it typed.

use piton_core::{ItemRow, Need, Node, Rows, RunId, RunRow};
use piton_formats::plan_format::PlanFormat;
use piton_formats::registry::plan_format;
use serde_json::Value;

use crate::failure::Failure;
use crate::session::{Session, open_runs, runs_of_plans};
use crate::verbs::arguments::require_one_line;
use crate::verbs::run::plan_path::PlanPath;

/// Names longer than this are no names.
const LENGTH_MAX: usize = 200;
/// How the project's own run is named before an item.
const OWN: &str = "project";

/// The item that a caller means.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedItem {
    /// Its run.
    pub(crate) run: RunId,
    /// The name of its run; none for an item of no plan.
    pub(crate) run_name: Option<String>,
    /// Its node.
    pub(crate) node: Node,
    /// What names of its attempts are made from.
    pub(crate) item: String,
    /// Nothing is known of it yet.
    pub(crate) is_new: bool,
    /// Its number, where its file numbers its items.
    pub(crate) number: Option<u64>,
    /// It belongs to no plan although there are plans, and the caller did not say so.
    pub(crate) is_beside_plans: bool,
}

/// The item that `text`, `[RUN:]NODE`, names: a node of a run, an item of its
/// file by number, or else an item of the project's own run.
pub(crate) fn resolve_item(session: &Session<'_>, text: &str) -> Result<ResolvedItem, Failure> {
    let text = check_item_name(text)?;
    let own = Node::child(None, text, 1);
    let rows = session.load(&[Need::Runs, Need::Line(RunId::PROJECT, own)])?;
    let runs = runs_of_plans(&rows);
    if let Some(own) = project_item_name(&runs, text) {
        return project_item(session, own);
    }
    if let Some((run, node)) = session.find_item(&runs, text)? {
        return load_item(session, run, node);
    }
    let named = text
        .split_once(':')
        .and_then(|(run, node)| Some((session.resolve_run_among(&runs, run).ok()?, node)));
    let (among, number) = match &named {
        Some((run, node)) => (vec![*run], *node),
        None => (open_runs(&runs).collect(), text),
    };
    if let Some(meant) = find_by_number(session, &among, number)? {
        return Ok(meant);
    }
    match named {
        Some((run, node)) => Err(Failure::new(
            "item.unknown",
            format!("run `{}` has no node `{node}`", run.name),
        )
        .with_hint(format!("see its nodes with `piton status {}`", run.name))),
        None => {
            let own = project_item_in_rows(&rows, text);
            let has_plan = || !runs.is_empty() || plan_at_root(session).is_some();
            Ok(ResolvedItem {
                is_beside_plans: own.is_new && has_plan(),
                ..own
            })
        }
    }
}

/// The name of an item, in one line and not too long.
pub(crate) fn check_item_name(text: &str) -> Result<&str, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::new("usage", "the item has no name")
            .with_hint("name an item; `piton list` shows those of the plans"));
    }
    require_one_line("the name of an item", text)?;
    if text.chars().count() > LENGTH_MAX {
        return Err(Failure::new(
            "usage",
            format!("the name of an item has at most {LENGTH_MAX} characters"),
        )
        .with_hint(
            "name the item shortly, and say the rest with `--summary TEXT` or `--notes TEXT`",
        ));
    }
    Ok(text)
}

/// What stands after `project:`, unless a plan has that name.
fn project_item_name<'t>(runs: &[RunRow], text: &'t str) -> Option<&'t str> {
    let (_, name) = text.split_once(':').filter(|(run, _)| *run == OWN)?;
    let taken = runs.iter().any(|run| run.name == OWN);
    (!taken).then_some(name)
}

fn project_item(session: &Session<'_>, text: &str) -> Result<ResolvedItem, Failure> {
    let text = check_item_name(text)?;
    let rows = session.load(&[Need::Line(RunId::PROJECT, Node::child(None, text, 1))])?;
    Ok(project_item_in_rows(&rows, text))
}

/// A plan at the root of the work tree, as it is typed.
pub(super) fn plan_at_root(session: &Session<'_>) -> Option<String> {
    let root = &session.project.work_tree;
    let plan = PlanPath::collect_in_folder(session.world, root)
        .into_iter()
        .find(PlanPath::is_plan)?;
    Some(session.project.relative_path(&plan.file))
}

fn project_item_in_rows(rows: &Rows, text: &str) -> ResolvedItem {
    let run = RunId::PROJECT;
    let node = Node::child(None, text, 1);
    ResolvedItem {
        is_new: rows.tables.item(run, &node).is_none(),
        run,
        run_name: None,
        node,
        item: text.to_owned(),
        number: text.parse().ok(),
        is_beside_plans: false,
    }
}

/// The item that `text` names, as it was recorded or, where nothing was recorded
/// under that name, as it is shown: with `%2F` for a `/`.
pub(crate) fn resolve_recorded_item(
    session: &Session<'_>,
    text: &str,
) -> Result<ResolvedItem, Failure> {
    let typed = resolve_item(session, text)?;
    if !typed.is_new {
        return Ok(typed);
    }
    let node = Node::from_text(typed.item.clone());
    let rows = session.load(&[Need::Line(typed.run, node.clone())])?;
    match rows.tables.item(typed.run, &node) {
        Some(_) => Ok(ResolvedItem {
            node,
            is_new: false,
            ..typed
        }),
        None => Ok(typed),
    }
}

pub(super) fn load_item(
    session: &Session<'_>,
    run: RunId,
    node: Node,
) -> Result<ResolvedItem, Failure> {
    let rows = session.load(&[Need::Run(run), Need::Line(run, node.clone())])?;
    let number = rows.tables.item(run, &node).and_then(number_of_item);
    Ok(ResolvedItem {
        run,
        run_name: rows.tables.run(run).map(|row| row.name.clone()),
        item: node.as_str().to_owned(),
        number: number.or_else(|| node.as_str().parse().ok()),
        node,
        is_new: false,
        is_beside_plans: false,
    })
}

/// Whether a file may give the items of a run numbers.
fn has_numbers(run: &&&RunRow) -> bool {
    plan_format(&run.plan.face).is_none_or(PlanFormat::is_one_file)
}

/// The item that a file gives this number, in one of these runs.
fn find_by_number(
    session: &Session<'_>,
    among: &[&RunRow],
    text: &str,
) -> Result<Option<ResolvedItem>, Failure> {
    let Ok(number) = text.parse::<u64>() else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for run in among.iter().filter(has_numbers) {
        let rows = session.load(&[Need::Tree(run.id)])?;
        let mut items = rows.tables.tree(run.id);
        if let Some(item) = items.find(|item| number_of_item(item) == Some(number)) {
            found.push((*run, item.node.clone()));
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [(run, node)] => load_item(session, run.id, node.clone()).map(Some),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|(run, _)| format!("{}:{number}", run.name))
                .collect();
            Err(
                Failure::new("usage", format!("more than one run has an item {number}"))
                    .with_hint(format!("name one of: {}", names.join(", "))),
            )
        }
    }
}

/// The number that its file gives an item.
fn number_of_item(item: &ItemRow) -> Option<u64> {
    let native = item.plan.native.as_ref()?;
    let body: Value = serde_json::from_str(&native.body).ok()?;
    body.get("number")?.as_u64()
}
