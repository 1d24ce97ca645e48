//! What several attempts used together.

use serde::{Deserialize, Serialize};

use super::{Usage, sum_of_known};
use crate::dollars::Dollars;

/// A sum of what attempts used. Said, reckoned and unknown stay apart, and a
/// sum of nothing that is known is absent, never 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Attempts that are over.
    #[serde(default)]
    pub attempts: u64,
    /// Fresh tokens read: see [`Usage::input_tokens`]. Of attempts of older
    /// versions they may hold those of a cache: see [`Spend::without_cached_input`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Tokens that stand both in the input and in those of a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub counted_twice: u64,
    /// Tokens of reasoning; they may be part of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Dollars, as programs said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Dollars>,
    /// Dollars, reckoned from a price table for attempts of which no program
    /// said what they cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_usd: Option<Dollars>,
    /// The date of the newest price table of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// Attempts whose cost is neither said nor reckoned.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// Attempts that said nothing of tokens.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub silent: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Spend {
    /// What one attempt used.
    #[must_use]
    pub fn from_usage(usage: &Usage) -> Self {
        let cost_usd = usage.cost_usd.and_then(Dollars::from_reported);
        let estimate_usd = match cost_usd {
            Some(_) => None,
            None => usage.estimate_usd.and_then(Dollars::from_reported),
        };
        Self {
            attempts: 1,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            counted_twice: usage.tokens_counted_twice(),
            reasoning_tokens: usage.reasoning_tokens,
            cost_usd,
            estimate_usd,
            prices: usage.prices.clone().filter(|_| estimate_usd.is_some()),
            unknown: u64::from(cost_usd.is_none() && estimate_usd.is_none()),
            silent: u64::from(usage.budget_tokens().is_none()),
        }
    }

    /// Both together, in any order.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let tokens = |a, b| sum_of_known(a, b, u64::saturating_add);
        Self {
            attempts: self.attempts.saturating_add(other.attempts),
            input_tokens: tokens(self.input_tokens, other.input_tokens),
            output_tokens: tokens(self.output_tokens, other.output_tokens),
            cache_read_tokens: tokens(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: tokens(self.cache_write_tokens, other.cache_write_tokens),
            counted_twice: self.counted_twice.saturating_add(other.counted_twice),
            reasoning_tokens: tokens(self.reasoning_tokens, other.reasoning_tokens),
            cost_usd: sum_of_known(self.cost_usd, other.cost_usd, Dollars::saturating_add),
            estimate_usd: sum_of_known(
                self.estimate_usd,
                other.estimate_usd,
                Dollars::saturating_add,
            ),
            prices: self.prices.clone().max(other.prices.clone()),
            unknown: self.unknown.saturating_add(other.unknown),
            silent: self.silent.saturating_add(other.silent),
        }
    }

    /// Whether nothing is counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.attempts == 0
    }

    /// Whether nothing is known of what was counted.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.unknown == self.attempts && self.silent == self.attempts
    }

    /// The same, without the tokens of a cache among the input: what people and
    /// programs are shown.
    #[must_use]
    pub fn without_cached_input(self) -> Self {
        let input = self.input_tokens;
        Self {
            input_tokens: input.map(|input| input.saturating_sub(self.counted_twice)),
            counted_twice: 0,
            ..self
        }
    }

    /// All tokens that count for a budget: see [`Usage::budget_tokens`]. None where
    /// no program reported tokens.
    #[must_use]
    pub fn budget_tokens(&self) -> Option<u64> {
        let all = [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
        ];
        let sum = all.into_iter().flatten().reduce(u64::saturating_add)?;
        Some(sum.saturating_sub(self.counted_twice))
    }

    /// Dollars, said and reckoned together. None where nothing of it is known.
    #[must_use]
    pub fn total_dollars(&self) -> Option<Dollars> {
        sum_of_known(self.cost_usd, self.estimate_usd, Dollars::saturating_add)
    }

    /// The dollars in words: `$1.24 said, about $0.30 estimated by prices of
    /// 2026-11-01, 2 attempts unknown`. None where nothing of them is known: an
    /// unknown cost is never shown as nothing.
    #[must_use]
    pub fn describe_cost(&self) -> Option<String> {
        self.total_dollars()?;
        let mut parts = Vec::new();
        parts.extend(self.cost_usd.map(|said| format!("{said} said")));
        parts.extend(self.estimate_usd.map(|reckoned| match &self.prices {
            Some(date) => format!("about {reckoned} estimated by prices of {date}"),
            None => format!("about {reckoned} estimated"),
        }));
        parts.extend(describe_unknown(self.unknown));
        Some(parts.join(", "))
    }

    /// The tokens in words: `1200 in, 300 out, 5000 from cache, 40 to cache, 2
    /// attempts unknown`. None where nothing of them is known.
    #[must_use]
    pub fn describe_tokens(&self) -> Option<String> {
        self.budget_tokens()?;
        let kinds = [
            (self.clone().without_cached_input().input_tokens, "in"),
            (self.output_tokens, "out"),
            (self.cache_read_tokens, "from cache"),
            (self.cache_write_tokens, "to cache"),
            (self.reasoning_tokens, "of reasoning"),
        ];
        let said = kinds
            .into_iter()
            .filter_map(|(count, kind)| Some(format!("{} {kind}", count?)));
        let unknown = describe_unknown(self.silent);
        Some(said.chain(unknown).collect::<Vec<_>>().join(", "))
    }
}

/// How many attempts a sum knows nothing of.
fn describe_unknown(attempts: u64) -> Option<String> {
    match attempts {
        0 => None,
        1 => Some("1 attempt unknown".to_owned()),
        more => Some(format!("{more} attempts unknown")),
    }
}

#[cfg(test)]
mod tests {
    use piton_simkit::seed::cases;
    use proptest::prelude::*;

    use super::*;

    fn spend(cost: Option<f64>, estimate: Option<f64>) -> Spend {
        Spend::from_usage(&Usage {
            cost_usd: cost,
            estimate_usd: estimate,
            prices: estimate.map(|_| "2026-11-01".to_owned()),
            ..Usage::default()
        })
    }

    #[test]
    fn said_reckoned_and_unknown_stay_apart() {
        let all = [
            spend(Some(1.0), None),
            spend(Some(0.24), Some(7.0)),
            spend(None, Some(0.3)),
            spend(None, None),
            spend(None, None),
        ];
        let sum = all.iter().fold(Spend::default(), |sum, one| sum.plus(one));
        assert_eq!(
            sum.describe_cost().as_deref(),
            Some("$1.24 said, about $0.30 estimated by prices of 2026-11-01, 2 attempts unknown")
        );
        assert_eq!((sum.attempts, sum.unknown, sum.silent), (5, 2, 5));
        assert_eq!(sum.describe_tokens(), None);
    }

    #[test]
    fn an_unknown_cost_is_never_shown_as_nothing() {
        let unknown = spend(None, None).plus(&spend(None, None));
        assert_eq!(
            (unknown.total_dollars(), unknown.describe_cost()),
            (None, None)
        );
        assert!(unknown.is_unknown());
        assert!(!spend(Some(0.0), None).is_unknown());
        let nothing = spend(Some(0.0), None).describe_cost();
        assert_eq!(nothing.as_deref(), Some("$0.00 said"));
        // A program that says a cost below nothing says none.
        assert_eq!(spend(Some(-1.0), None), spend(None, None));
    }

    #[test]
    fn in_means_fresh_tokens_however_they_were_counted() {
        let counted = |input, input_holds_cached| {
            Spend::from_usage(&Usage {
                input_tokens: Some(input),
                output_tokens: Some(77),
                cache_read_tokens: Some(500),
                input_holds_cached,
                ..Usage::default()
            })
        };
        let former = counted(1500, true);
        assert_eq!(
            former.describe_tokens(),
            counted(1000, false).describe_tokens()
        );
        assert_eq!(former.budget_tokens(), Some(1577));
        assert_eq!(former.without_cached_input(), counted(1000, false));
    }

    #[test]
    fn attempts_that_said_nothing_of_tokens_are_counted_as_unknown() {
        let known = Spend::from_usage(&Usage {
            input_tokens: Some(7),
            ..Usage::default()
        });
        let sum = known.plus(&spend(None, None)).plus(&spend(None, None));
        assert_eq!(
            sum.describe_tokens().as_deref(),
            Some("7 in, 2 attempts unknown")
        );
    }

    fn any_usage() -> impl Strategy<Value = Usage> {
        let tokens = || proptest::option::of(0..1_000_000_u64);
        let dollars = || proptest::option::of(0.0..10.0_f64);
        (
            (tokens(), tokens(), tokens(), tokens(), tokens()),
            (dollars(), dollars()),
            proptest::option::of("2026-1[0-2]-01"),
        )
            .prop_map(|(tokens, (cost_usd, estimate_usd), prices)| Usage {
                input_holds_cached: false,
                input_tokens: tokens.0,
                output_tokens: tokens.1,
                cache_read_tokens: tokens.2,
                cache_write_tokens: tokens.3,
                reasoning_tokens: tokens.4,
                cost_usd,
                estimate_usd,
                prices,
            })
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn a_sum_does_not_depend_on_its_order_nor_on_being_stored(
            usages in proptest::collection::vec(any_usage(), 0..12)
        ) {
            let spends: Vec<Spend> = usages.iter().map(Spend::from_usage).collect();
            let forth = spends.iter().fold(Spend::default(), |sum, one| sum.plus(one));
            let stored = spends.iter().rev().fold(Spend::default(), |sum, one| {
                let text = serde_json::to_string(&sum.plus(one)).expect("JSON");
                serde_json::from_str(&text).expect("the same")
            });
            prop_assert_eq!(forth, stored);
        }
    }
}
