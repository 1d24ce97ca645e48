//! What an attempt would cost by a price table, where its program does not say.
//!
//! An estimate is none of the program's figures and never replaces one: a
//! subscription costs nothing by the token, and prices change. A model that
//! stands in no table has no estimate.

use std::collections::BTreeMap;

use piton_core::attempt::Usage;

use super::program_table::KNOWN_PROGRAMS;
use super::settings::{Price, PricesTable};
use super::{AgentResult, TokenCounting};

/// Prices by model, each with the date of its table.
#[derive(Clone, Debug)]
pub struct Prices {
    models: BTreeMap<String, (Price, String)>,
}

impl Prices {
    /// Those that piton knows, with those of a configuration over them.
    #[must_use]
    pub fn new(table: &PricesTable) -> Self {
        let lists = KNOWN_PROGRAMS.iter().filter_map(|program| program.prices);
        let known = lists.flat_map(|list| {
            let models = list.models.iter();
            models.map(move |(model, input, output, cache_read)| {
                let price = Price {
                    input: *input,
                    output: *output,
                    cache_read: Some(*cache_read),
                    cache_write: None,
                };
                ((*model).to_owned(), (price, list.date.to_owned()))
            })
        });
        // A table with prices has a date: see `PricesTable::check`.
        let date = table.date.map(|date| date.to_string()).unwrap_or_default();
        let told = table
            .models
            .iter()
            .map(|(model, price)| (model.clone(), (*price, date.clone())));
        Self {
            models: known.chain(told).collect(),
        }
    }

    /// Reckons what was used, where the program says no dollars and the model is
    /// known: by itself, or `asked` for where the program does not name it.
    pub fn fill_estimates(&self, said: &mut AgentResult, asked: Option<&str>) {
        let counting = said.counting;
        if said.models.is_empty()
            && let Some(model) = asked
            && !said.usage.is_unknown()
        {
            said.models.insert(model.to_owned(), said.usage.clone());
        }
        for (model, usage) in &mut said.models {
            self.estimate_usage(usage, model, counting);
        }
        if said.usage.cost_usd.is_some() || said.models.is_empty() {
            return;
        }
        // A sum of a part would look like the whole.
        let parts = said.models.values();
        let Some(sum) = parts.map(Usage::total_dollars).sum::<Option<f64>>() else {
            return;
        };
        said.usage.estimate_usd = Some(sum);
        // The oldest: no part is newer than it says.
        let dates = said
            .models
            .values()
            .filter_map(|usage| usage.prices.clone());
        said.usage.prices = dates.min();
    }

    fn estimate_usage(&self, usage: &mut Usage, model: &str, counting: TokenCounting) {
        if usage.cost_usd.is_some() {
            return;
        }
        let (Some((price, date)), Some(input), Some(output)) = (
            self.price_of_model(model),
            usage.input_tokens,
            usage.output_tokens,
        ) else {
            return;
        };
        let read = usage.cache_read_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let reasoning = if counting.reasoning_is_apart {
            usage.reasoning_tokens.unwrap_or(0)
        } else {
            0
        };
        let dollars = token_cost(input, price.input)
            + token_cost(output.saturating_add(reasoning), price.output)
            + token_cost(read, price.cache_read.unwrap_or(price.input))
            + token_cost(written, price.cache_write.unwrap_or(price.input));
        usage.estimate_usd = Some(dollars);
        usage.prices = Some(date.clone());
    }

    /// The price of a model: `gpt-5-2025-08-07` is a `gpt-5`, `gpt-5-mini` none.
    fn price_of_model(&self, model: &str) -> Option<&(Price, String)> {
        self.models.get(model).or_else(|| {
            let dated = |known: &str| {
                let rest = model.strip_prefix(known)?.strip_prefix('-')?;
                (rest.len() >= 8 && rest.chars().all(|c| c.is_ascii_digit() || c == '-'))
                    .then_some(())
            };
            let found = self.models.iter().find(|(known, _)| dated(known).is_some());
            found.map(|(_, price)| price)
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "beyond 2^53 tokens an estimate need not be right to the token"
)]
fn token_cost(tokens: u64, per_million: f64) -> f64 {
    tokens as f64 * per_million / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input: u64, output: u64) -> Usage {
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cache_read_tokens: Some(500_000),
            reasoning_tokens: Some(100_000),
            ..Usage::default()
        }
    }

    fn filled(mut said: AgentResult, asked: Option<&str>) -> Usage {
        let table: PricesTable =
            toml::from_str("date = \"2026-11-01\"\n[models.mine]\ninput = 1\noutput = 2\n")
                .expect("a table");
        Prices::new(&table).fill_estimates(&mut said, asked);
        said.usage
    }

    #[test]
    fn an_estimate_is_made_as_the_program_counts_and_dated() {
        let codex = AgentResult {
            usage: used(1_000_000, 1_000_000),
            ..AgentResult::default()
        };
        let usage = filled(codex.clone(), Some("gpt-5-2025-08-07"));
        assert_eq!(usage.estimate_usd, Some(1.25 + 10.0 + 0.0625));
        assert_eq!(usage.prices.as_deref(), Some("2026-06-04"));
        let usage = filled(codex, Some("mine"));
        assert_eq!(usage.estimate_usd, Some(1.0 + 2.0 + 0.5));
        assert_eq!(usage.prices.as_deref(), Some("2026-11-01"));
        let gemini = AgentResult {
            models: [("mine".to_owned(), used(1_000_000, 1_000_000))].into(),
            usage: used(1_000_000, 1_000_000),
            counting: TokenCounting {
                reasoning_is_apart: true,
            },
            ..AgentResult::default()
        };
        assert_eq!(filled(gemini, None).estimate_usd, Some(1.0 + 2.2 + 0.5));
    }

    #[test]
    fn what_is_said_or_not_known_is_not_reckoned() {
        let said = AgentResult {
            usage: Usage {
                cost_usd: Some(0.0),
                ..used(1, 1)
            },
            ..AgentResult::default()
        };
        assert_eq!(filled(said, Some("gpt-5")).estimate_usd, None);
        let unknown = AgentResult {
            usage: used(1, 1),
            ..AgentResult::default()
        };
        assert_eq!(
            filled(unknown.clone(), Some("gpt-5-giant")).estimate_usd,
            None
        );
        assert_eq!(filled(unknown, None).estimate_usd, None);
        let half = AgentResult {
            usage: used(2, 2),
            models: [
                ("mine".to_owned(), used(1, 1)),
                ("other".to_owned(), used(1, 1)),
            ]
            .into(),
            ..AgentResult::default()
        };
        assert_eq!(filled(half, None).estimate_usd, None);
    }
}
