//! What attempts used and cost.

use piton_core::usage::Spend;
use piton_engine::verbs::costs::{Costs, RunCosts};

use super::progress::first_line;
use super::table;
use crate::output::{BOLD, DIM};

/// What was used, in words; none where nothing of it is known.
pub(crate) fn used(spend: &Spend) -> Option<String> {
    let parts = [spend.tokens_in_words(), spend.cost_in_words()];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// By item, by model, and in all.
pub(crate) fn render(costs: &Costs) -> String {
    let mut rows = Vec::new();
    if let Some(run) = &costs.run {
        rows.extend(of_run(run));
    }
    rows.push(row("project, in all", &costs.project));
    table::render(rows.into_iter())
}

fn of_run(run: &RunCosts) -> Vec<[String; 4]> {
    let heading = |text: &str| {
        [
            format!("{BOLD}{text}{BOLD:#}"),
            String::new(),
            String::new(),
            String::new(),
        ]
    };
    let mut rows = vec![heading(&first_line(&run.run))];
    for item in &run.items {
        rows.push(row(&format!("  {}", first_line(&item.node)), &item.spend));
    }
    if !run.models.is_empty() {
        rows.push(heading("by model"));
    }
    for (model, spend) in &run.models {
        rows.push(row(&format!("  {}", first_line(model)), spend));
    }
    rows.push(row("run, in all", &run.spend));
    rows
}

fn row(what: &str, spend: &Spend) -> [String; 4] {
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
        spend.tokens_in_words().unwrap_or_else(|| unknown("tokens")),
        spend.cost_in_words().unwrap_or_else(|| unknown("cost")),
    ]
}
