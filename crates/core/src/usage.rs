//! What attempts used: tokens by type, and dollars.
//!
//! Three things are told apart: what the agent's program says that it cost,
//! what it would cost by a price table, and what is not known. Unknown is
//! absent here, and never 0.

mod spend;

use serde::{Deserialize, Serialize};

pub use spend::Spend;

/// What an attempt used. What is not known is absent, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Fresh tokens read: neither from a cache nor written to one. In events of
    /// older versions they may hold both: see [`Usage::without_cached_input`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written. Reasoning counts here where the program counts it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Tokens of reasoning, as the program says; they may be part of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Whether the tokens from and to a cache are part of the input: only in
    /// events of older versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_holds_cached: bool,
    /// Dollars, as the agent's program says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Dollars, reckoned from a price table. Only where the program says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_usd: Option<f64>,
    /// The date of that price table: `2026-11-01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
}

impl Usage {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// All tokens that count for a budget: read, written, from and to a cache.
    /// None where no program reported tokens.
    #[must_use]
    pub fn budget_tokens(&self) -> Option<u64> {
        let all = [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
        ];
        let sum = all.into_iter().flatten().reduce(u64::saturating_add)?;
        Some(sum.saturating_sub(self.tokens_counted_twice()))
    }

    /// Tokens that stand both in the input and in those of a cache.
    #[must_use]
    pub fn tokens_counted_twice(&self) -> u64 {
        if !self.input_holds_cached {
            return 0;
        }
        let cached = [self.cache_read_tokens, self.cache_write_tokens];
        let cached = cached.into_iter().flatten().fold(0, u64::saturating_add);
        cached.min(self.input_tokens.unwrap_or(0))
    }

    /// The same, without the tokens of a cache among the input.
    #[must_use]
    pub fn without_cached_input(self) -> Self {
        let cached = self.tokens_counted_twice();
        Self {
            input_tokens: self.input_tokens.map(|input| input - cached),
            input_holds_cached: false,
            ..self
        }
    }

    /// The larger of two lower bounds of one amount, kind by kind: nothing is
    /// counted twice. Dollars stay with this one where it has any.
    #[must_use]
    pub fn max_of_bounds(&self, other: &Self) -> Self {
        let (own, other) = (
            self.clone().without_cached_input(),
            other.clone().without_cached_input(),
        );
        Self {
            input_tokens: own.input_tokens.max(other.input_tokens),
            output_tokens: own.output_tokens.max(other.output_tokens),
            cache_read_tokens: own.cache_read_tokens.max(other.cache_read_tokens),
            cache_write_tokens: own.cache_write_tokens.max(other.cache_write_tokens),
            reasoning_tokens: own.reasoning_tokens.max(other.reasoning_tokens),
            ..own.or_lower_bound(&other)
        }
    }

    /// Dollars, said or reckoned.
    #[must_use]
    pub fn total_dollars(&self) -> Option<f64> {
        self.cost_usd.or(self.estimate_usd)
    }

    /// The same, with what `least` says where this says nothing: what was seen
    /// of an attempt while it worked, when its end says less.
    #[must_use]
    pub fn or_lower_bound(&self, least: &Self) -> Self {
        let is_said = self.total_dollars().is_some();
        Self {
            input_tokens: self.input_tokens.or(least.input_tokens),
            output_tokens: self.output_tokens.or(least.output_tokens),
            cache_read_tokens: self.cache_read_tokens.or(least.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.or(least.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.or(least.reasoning_tokens),
            cost_usd: self.cost_usd.or(least.cost_usd.filter(|_| !is_said)),
            estimate_usd: self
                .estimate_usd
                .or(least.estimate_usd.filter(|_| !is_said)),
            prices: self.prices.clone().or_else(|| least.prices.clone()),
            input_holds_cached: self.input_holds_cached || least.input_holds_cached,
        }
    }

    /// What was used since `before`, where this is a total that goes on from
    /// it: what grew less than nothing began anew and is taken as it is.
    #[must_use]
    pub fn usage_since(&self, before: &Self) -> Self {
        let tokens = |now: Option<u64>, then: Option<u64>| {
            now.map(|now| now.checked_sub(then.unwrap_or(0)).unwrap_or(now))
        };
        let dollars = |now: Option<f64>, then: Option<f64>| {
            now.map(|now| {
                let grown = now - then.unwrap_or(0.0);
                if grown < 0.0 { now } else { grown }
            })
        };
        Self {
            input_tokens: tokens(self.input_tokens, before.input_tokens),
            output_tokens: tokens(self.output_tokens, before.output_tokens),
            cache_read_tokens: tokens(self.cache_read_tokens, before.cache_read_tokens),
            cache_write_tokens: tokens(self.cache_write_tokens, before.cache_write_tokens),
            reasoning_tokens: tokens(self.reasoning_tokens, before.reasoning_tokens),
            cost_usd: dollars(self.cost_usd, before.cost_usd),
            estimate_usd: self.estimate_usd,
            prices: self.prices.clone(),
            input_holds_cached: self.input_holds_cached,
        }
    }

    /// Both together. What is known of one alone counts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let tokens = |a, b| sum_of_known(a, b, u64::saturating_add);
        let dollars = |a, b| sum_of_known(a, b, |a: f64, b| a + b);
        Self {
            input_tokens: tokens(self.input_tokens, other.input_tokens),
            output_tokens: tokens(self.output_tokens, other.output_tokens),
            cache_read_tokens: tokens(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: tokens(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens: tokens(self.reasoning_tokens, other.reasoning_tokens),
            cost_usd: dollars(self.cost_usd, other.cost_usd),
            estimate_usd: dollars(self.estimate_usd, other.estimate_usd),
            prices: self.prices.clone().or_else(|| other.prices.clone()),
            input_holds_cached: self.input_holds_cached || other.input_holds_cached,
        }
    }
}

/// A sum in which what is not known counts nothing; none where nothing is known.
fn sum_of_known<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cost: Option<f64>) -> Usage {
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cost_usd: cost,
            ..Usage::default()
        }
    }

    #[test]
    fn a_total_of_a_thread_less_what_it_was_before_is_what_was_used_since() {
        let since = usage(3000, 154, None).usage_since(&usage(1500, 77, None));
        assert_eq!(since, usage(1500, 77, None));
        // A thread that began anew counts from nothing.
        let since = usage(200, 10, None).usage_since(&usage(1500, 77, None));
        assert_eq!(since, usage(200, 10, None));
    }

    #[test]
    fn an_unknown_cost_stays_unknown() {
        assert_eq!(usage(1, 1, None).plus(&usage(1, 1, None)).cost_usd, None);
        assert_eq!(usage(1, 1, None).total_dollars(), None);
        assert_eq!(Usage::default().budget_tokens(), None);
        assert_eq!(usage(1, 2, None).budget_tokens(), Some(3));
    }

    #[test]
    fn tokens_of_a_cache_that_are_part_of_the_input_count_once() {
        let codex = Usage {
            cache_read_tokens: Some(500),
            input_holds_cached: true,
            ..usage(1500, 77, None)
        };
        assert_eq!(codex.budget_tokens(), Some(1577));
        let fresh = codex.without_cached_input();
        assert_eq!(
            (fresh.input_tokens, fresh.budget_tokens()),
            (Some(1000), Some(1577))
        );
        assert_eq!(fresh.clone().without_cached_input(), fresh);
    }

    #[test]
    fn of_two_lower_bounds_the_larger_counts_and_never_their_sum() {
        let stream = usage(2400, 8, Some(0.5));
        let file = Usage {
            cache_read_tokens: Some(800),
            ..usage(1200, 42, None)
        };
        let both = stream.max_of_bounds(&file);
        assert_eq!(both, file.max_of_bounds(&stream));
        assert_eq!(
            (both.input_tokens, both.output_tokens),
            (Some(2400), Some(42))
        );
        assert_eq!(
            (both.cache_read_tokens, both.cost_usd),
            (Some(800), Some(0.5))
        );
        assert_eq!(both.max_of_bounds(&Usage::default()), both);
        assert!(
            Usage::default()
                .max_of_bounds(&Usage::default())
                .is_unknown()
        );
    }
}
