//! The same table with one rule of piton switched off.

use std::path::Path;

use serde_json::{Value, json};

use super::report::shortened;
use super::row::Judged;
use super::rules::{Rule, SWITCH};
use super::table::RowOutcome;

/// What a piton without one rule made of the table.
#[derive(Clone, Debug)]
pub struct RuleOff {
    /// The rule.
    pub rule: Rule,
    /// Rows that were as expected with it, and are not without it.
    pub turned_red: Vec<String>,
    /// Rows that came to something else without it, red or not.
    pub changed: usize,
}

impl RuleOff {
    /// Compares the rows without `rule` with those of the whole table.
    #[must_use]
    pub fn new(rule: Rule, base: &[RowOutcome], without: &[Judged]) -> Self {
        let pairs = || base.iter().map(|outcome| &outcome.piton).zip(without);
        let turned_red = pairs()
            .filter(|(base, without)| !base.is_red() && without.is_red())
            .map(|(base, _)| base.row.name())
            .collect();
        let changed = pairs()
            .filter(|(base, without)| base.conclusions != without.conclusions)
            .count();
        Self {
            rule,
            turned_red,
            changed,
        }
    }

    /// One line.
    #[must_use]
    pub fn line(&self) -> String {
        let rule = self.rule.as_str();
        match self.turned_red.len() {
            0 => format!("- without `{rule}`: nothing turned red"),
            1 => format!(
                "- without `{rule}`: 1 row turned red: {}",
                shortened(&self.turned_red)
            ),
            rows => format!(
                "- without `{rule}`: {rows} rows turned red: {}",
                shortened(&self.turned_red)
            ),
        }
    }

    /// The same as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "rule": self.rule.as_str(),
            "turned_red": self.turned_red,
            "changed": self.changed,
        })
    }
}

/// What does not hold of the rules that were switched off in `piton`: each is
/// to turn a row red, or the table does not stand for it.
#[must_use]
pub fn rule_faults(piton: &Path, rules_off: &[RuleOff]) -> Vec<String> {
    if !rules_off.is_empty() && rules_off.iter().all(|rule| rule.changed == 0) {
        let piton = piton.display();
        let build = "cargo build --release -p piton --features lies";
        return vec![format!(
            "{piton} does not react to {SWITCH}: build it with `{build}`"
        )];
    }
    let blind = rules_off.iter().filter(|rule| rule.turned_red.is_empty());
    blind
        .map(|rule| format!("no row turns red without the rule `{}`", rule.rule.as_str()))
        .collect()
}
