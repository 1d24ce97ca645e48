//! `piton status --costs`: what attempts used, by item and by model.

use std::collections::BTreeMap;

use piton_core::usage::Spend;
use piton_core::{Need, RunId, RunRow};
use serde::Serialize;

use super::control::start;
use super::status::{shown, status};
use crate::failure::Failure;
use crate::session::Session;
use crate::world::World;

/// What attempts used.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Costs {
    /// One run whole: the one that was asked for, or the one that is meant.
    pub run: Option<RunCosts>,
    /// All runs of the project together, and what was recorded without one.
    pub project: Spend,
}

/// What the attempts of a run used.
#[derive(Clone, Debug, Serialize)]
pub struct RunCosts {
    /// Its name.
    pub run: String,
    /// All of it.
    pub spend: Spend,
    /// By item, in tree order; those that nobody tried are left out.
    pub items: Vec<ItemCosts>,
    /// By model. What no model is known of stands in the sum alone.
    pub models: BTreeMap<String, Spend>,
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
    let Some(session) = Session::read(world, &start(world, run))? else {
        // A run that is named must be there.
        status(world, run)?;
        return Ok(Costs::default());
    };
    let meant = shown(&session, run)?;
    let tree = meant.iter().map(|row| Need::Tree(row.id));
    let needs: Vec<Need> = std::iter::once(Need::Runs).chain(tree).collect();
    let tables = session.load(&needs)?.tables;
    let project = tables.runs().map(|run| &run.spend);
    let of_run = |row: &RunRow| RunCosts {
        run: row.name.clone(),
        spend: row.spend.clone(),
        items: items(&tables, row.id),
        models: row.spend_by_model.clone(),
    };
    Ok(Costs {
        run: meant.and_then(|row| tables.run(row.id).map(of_run)),
        project: project.fold(Spend::default(), |sum, one| sum.plus(one)),
    })
}

fn items(tables: &piton_core::Tables, run: RunId) -> Vec<ItemCosts> {
    let tried = tables.tree(run).filter(|item| !item.spend.is_empty());
    let costs = tried.map(|item| ItemCosts {
        node: item.node.to_string(),
        spend: item.spend.clone(),
    });
    costs.collect()
}
