//! `piton status --costs`: what attempts used, by item and by model.

use std::collections::BTreeMap;

use piton_core::usage::Spend;
use piton_core::{Need, RunId, RunRow, Tables};
use serde::Serialize;

use super::status::{select_run, status};
use crate::failure::Failure;
use crate::session::Session;
use crate::verbs::arguments::search_folder;
use crate::world::World;

/// What attempts used.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Costs {
    /// One run whole: the one that was asked for, or the one that is meant.
    pub run: Option<RunCosts>,
    /// All runs of the project together, and what was recorded without one.
    pub project: Spend,
    /// The same by model.
    pub project_models: BTreeMap<String, Spend>,
}

crate::name_schema!(Costs, "piton.costs/1");

/// What the attempts of a run used.
#[derive(Clone, Debug, Serialize)]
pub struct RunCosts {
    /// Its name.
    pub run: String,
    /// All of it.
    pub spend: Spend,
    /// By item, in tree order; those that were never tried are left out.
    pub items: Vec<ItemCosts>,
    /// By model.
    pub models: BTreeMap<String, Spend>,
    /// Of which no model is known; absent where that is nothing.
    #[serde(skip_serializing_if = "Spend::is_empty")]
    pub model_unknown: Spend,
}

/// What the attempts at an item used.
#[derive(Clone, Debug, Serialize)]
pub struct ItemCosts {
    /// The item.
    pub node: String,
    /// What they used.
    pub spend: Spend,
}

/// What attempts used: those of one run by item and by model, and all together.
///
/// # Errors
///
/// When there is a store that cannot be read, or no such run.
pub fn costs(world: &World, run: Option<&str>) -> Result<Costs, Failure> {
    let Some(session) = Session::open_read_only(world, &search_folder(world, run))? else {
        // A run that is named must be there.
        status(world, run)?;
        return Ok(Costs::default());
    };
    let meant = select_run(&session, run)?;
    let tree = meant.iter().map(|row| Need::Tree(row.id));
    let all = [Need::Runs, Need::RecentAttempts(usize::MAX)];
    let needs: Vec<Need> = all.into_iter().chain(tree).collect();
    let tables = session.load(&needs)?.tables;
    let of_run = |row: &RunRow| RunCosts {
        run: row.name.clone(),
        spend: row.spent.spend.clone().without_cached_input(),
        items: costs_of_items(&tables, row.id),
        models: spend_by_model(std::iter::once(row)),
        model_unknown: spend_of_unknown_model(&tables, row.id),
    };
    let project = tables.runs().map(|run| &run.spent.spend);
    let project = project.fold(Spend::default(), |sum, one| sum.plus(one));
    Ok(Costs {
        run: meant.and_then(|row| tables.run(row.id).map(of_run)),
        project: project.without_cached_input(),
        project_models: spend_by_model(tables.runs()),
    })
}

/// What runs used together, by model.
fn spend_by_model<'r>(runs: impl Iterator<Item = &'r RunRow>) -> BTreeMap<String, Spend> {
    let mut sums: BTreeMap<String, Spend> = BTreeMap::new();
    for (model, spend) in runs.flat_map(|run| &run.spent.spend_by_model) {
        let sum = sums.entry(model.clone()).or_default();
        *sum = sum.plus(spend);
    }
    let fresh = sums.into_iter();
    fresh
        .map(|(model, spend)| (model, spend.without_cached_input()))
        .collect()
}

/// What the attempts of a run used whose model is unknown.
fn spend_of_unknown_model(tables: &Tables, run: RunId) -> Spend {
    let reports = tables.attempts().filter(|row| row.run == run);
    let reports = reports.filter_map(|row| row.report.as_ref());
    let unknown = reports.filter(|report| report.program.models.is_empty());
    let sum = unknown.fold(Spend::default(), |sum, report| {
        sum.plus(&report.counted_spend())
    });
    sum.without_cached_input()
}

fn costs_of_items(tables: &Tables, run: RunId) -> Vec<ItemCosts> {
    let tried = tables.tree(run).filter(|item| !item.work.spend.is_empty());
    let costs = tried.map(|item| ItemCosts {
        node: item.node.as_str().to_owned(),
        spend: item.work.spend.clone().without_cached_input(),
    });
    costs.collect()
}
