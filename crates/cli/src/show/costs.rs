//! What attempts used and cost.

use piton_engine::model::Node;
use std::collections::BTreeMap;

use piton_engine::model::usage::Spend;
use piton_engine::verbs::costs::{Costs, RunCosts};

use super::progress::first_line;
use super::table;
use crate::output::{BOLD, DIM};

/// What was used, in words; none where nothing of it is known.
pub(crate) fn describe_spend(spend: &Spend) -> Option<String> {
    let parts = [spend.describe_tokens(), spend.describe_cost()];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// By item, by model, and in all.
pub(crate) fn render(costs: &Costs) -> String {
    let mut rows = Vec::new();
    if let Some(run) = &costs.run {
        rows.extend(run_rows(run));
    }
    let shown = costs.run.as_ref().map(|run| &run.models);
    if shown != Some(&costs.project_models) && !costs.project_models.is_empty() {
        rows.push(heading_row("all runs, by model"));
        rows.extend(model_rows(&costs.project_models));
    }
    rows.push(spend_row("project, in all", &costs.project));
    table::render(rows.into_iter())
}

fn heading_row(text: &str) -> [String; 4] {
    let bold = format!("{BOLD}{text}{BOLD:#}");
    [bold, String::new(), String::new(), String::new()]
}

fn model_rows(models: &BTreeMap<String, Spend>) -> impl Iterator<Item = [String; 4]> {
    let named = models.iter();
    named.map(|(model, spend)| spend_row(&format!("  {}", first_line(model)), spend))
}

fn run_rows(run: &RunCosts) -> Vec<[String; 4]> {
    let mut rows = vec![heading_row(&first_line(&run.run))];
    for item in &run.items {
        rows.push(spend_row(
            &format!("  {}", first_line(&Node::shown(&item.node))),
            &item.spend,
        ));
    }
    // A row that says that nothing is known would say nothing.
    let unknown = &run.model_unknown;
    let says_something = !run.models.is_empty() || !unknown.is_unknown();
    let has_unknown = says_something && !unknown.is_empty();
    if has_unknown || !run.models.is_empty() {
        rows.push(heading_row("by model"));
    }
    rows.extend(model_rows(&run.models));
    if has_unknown {
        rows.push(spend_row("  (model unknown)", unknown));
    }
    rows.push(spend_row("run, in all", &run.spend));
    rows
}

fn spend_row(what: &str, spend: &Spend) -> [String; 4] {
    let attempts = match spend.attempts {
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    };
    if spend.is_empty() {
        return [what.to_owned(), attempts, String::new(), String::new()];
    }
    let unknown = |what: &str| format!("{DIM}{what} unknown{DIM:#}");
    [
        what.to_owned(),
        attempts,
        spend.describe_tokens().unwrap_or_else(|| unknown("tokens")),
        spend.describe_cost().unwrap_or_else(|| unknown("cost")),
    ]
}
