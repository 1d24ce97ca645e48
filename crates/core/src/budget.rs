//! Budgets: what a run, and the project with all of its runs, may use.
//!
//! Unlike the other limits they bound all invocations together: what counts is
//! what the journal knows of every attempt. Dollars that were reckoned from a
//! price table count like those that a program reported. An unknown amount cannot
//! count; [`describe_unknown_spend`] says so.

use crate::dollars::Dollars;
use crate::policy::Limits;
use crate::usage::{Spend, Usage};

/// What counts for a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetUse {
    /// Dollars, said and reckoned.
    pub usd: Dollars,
    /// Tokens of every type that counts: see [`Usage::budget_tokens`].
    pub tokens: u64,
}

impl BudgetUse {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            usd: self.usd.saturating_add(other.usd),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}

impl From<&Spend> for BudgetUse {
    fn from(spend: &Spend) -> Self {
        Self {
            usd: spend.total_dollars().unwrap_or_default(),
            tokens: spend.budget_tokens().unwrap_or(0),
        }
    }
}

impl From<&Usage> for BudgetUse {
    fn from(usage: &Usage) -> Self {
        Self::from(&Spend::from_usage(usage))
    }
}

/// What is left of budgets; none where there is no such budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetLeft {
    /// Dollars.
    pub usd: Option<Dollars>,
    /// Tokens.
    pub tokens: Option<u64>,
}

/// What the present attempt may still use: of the budget of the run, and of
/// that of the project, whichever is less.
///
/// `spend` is that of the run, `live` what the present attempt used so far, and
/// `elsewhere` what all other runs of the project used.
#[must_use]
pub fn budget_left(
    limits: &Limits,
    spend: &Spend,
    live: &Usage,
    elsewhere: BudgetUse,
) -> BudgetLeft {
    let run = BudgetUse::from(spend).plus(live.into());
    let project = run.plus(elsewhere);
    let usd = [
        limits.budget_usd.map(|most| most.saturating_sub(run.usd)),
        limits
            .project_usd
            .map(|most| most.saturating_sub(project.usd)),
    ];
    let tokens = [
        limits
            .budget_tokens
            .map(|most| most.saturating_sub(run.tokens)),
        limits
            .project_tokens
            .map(|most| most.saturating_sub(project.tokens)),
    ];
    BudgetLeft {
        usd: usd.into_iter().flatten().min(),
        tokens: tokens.into_iter().flatten().min(),
    }
}

/// The budget that is used up, in words; none while there is something left of
/// each. See [`budget_left`] for the rest.
#[must_use]
pub fn describe_exhausted_budget(
    limits: &Limits,
    spend: &Spend,
    live: &Usage,
    elsewhere: BudgetUse,
) -> Option<String> {
    let run = BudgetUse::from(spend).plus(live.into());
    let project = run.plus(elsewhere);
    let usd = |most: Option<Dollars>, used: Dollars| most.filter(|most| used >= *most);
    let tokens = |most: Option<u64>, used: u64| most.filter(|most| used >= *most);
    let words = [
        usd(limits.budget_usd, run.usd).map(|most| format!("budget ({most})")),
        tokens(limits.budget_tokens, run.tokens).map(|most| format!("budget ({most} tokens)")),
        usd(limits.project_usd, project.usd).map(|most| format!("project budget ({most})")),
        tokens(limits.project_tokens, project.tokens)
            .map(|most| format!("project budget ({most} tokens)")),
    ];
    words.into_iter().flatten().next()
}

/// How much of the budgets is used, in percent of the one that is nearest to its end; none
/// where there is no budget. See [`budget_left`] for what is counted.
#[must_use]
pub fn budget_percent(
    limits: &Limits,
    spend: &Spend,
    live: &Usage,
    elsewhere: BudgetUse,
) -> Option<u64> {
    let run = BudgetUse::from(spend).plus(live.into());
    let project = run.plus(elsewhere);
    let usd = |most: Option<Dollars>, used: Dollars| most.map(|most| used.percent_of(most));
    let tokens = |most: Option<u64>, used: u64| {
        most.map(|most| used.saturating_mul(100).checked_div(most).unwrap_or(100))
    };
    let all = [
        usd(limits.budget_usd, run.usd),
        tokens(limits.budget_tokens, run.tokens),
        usd(limits.project_usd, project.usd),
        tokens(limits.project_tokens, project.tokens),
    ];
    all.into_iter().flatten().max()
}

/// The budgets that were passed, each in a sentence that says by how much. The
/// last attempt of a run may pass one, and no further agent is held back then.
#[must_use]
pub fn describe_exceeded_budgets(
    limits: &Limits,
    spend: &Spend,
    elsewhere: BudgetUse,
) -> Vec<String> {
    let run = BudgetUse::from(spend);
    let project = run.plus(elsewhere);
    let usd = |which: &str, most: Option<Dollars>, used: Dollars| {
        let most = most.filter(|most| used > *most)?;
        let over = used.saturating_sub(most);
        Some(format!(
            "the {which} of {most} was passed by {over}: {used} were used"
        ))
    };
    let tokens = |which: &str, most: Option<u64>, used: u64| {
        let most = most.filter(|most| used > *most)?;
        let over = used - most;
        Some(format!(
            "the {which} of {most} tokens was passed by {over}: {used} were used"
        ))
    };
    let all = [
        usd("budget", limits.budget_usd, run.usd),
        tokens("budget", limits.budget_tokens, run.tokens),
        usd("project budget", limits.project_usd, project.usd),
        tokens("project budget", limits.project_tokens, project.tokens),
    ];
    all.into_iter().flatten().collect()
}

/// A warning for a person who relies on a budget: what some attempts of the run
/// used is not known, and does not count.
#[must_use]
pub fn describe_unknown_spend(limits: &Limits, spend: &Spend) -> Option<String> {
    let attempts = |count: u64| match count {
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    };
    let has_usd = limits.budget_usd.or(limits.project_usd).is_some();
    let has_tokens = limits.budget_tokens.or(limits.project_tokens).is_some();
    if has_usd && spend.unknown > 0 {
        return Some(format!(
            "what {} cost is not known, and does not count for the budget in dollars",
            attempts(spend.unknown)
        ));
    }
    (has_tokens && spend.silent > 0).then(|| {
        format!(
            "how many tokens {} used is not known, and does not count for the budget",
            attempts(spend.silent)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(run: &str, project: &str) -> Limits {
        Limits {
            budget_usd: run.parse().ok(),
            project_usd: project.parse().ok(),
            ..Limits::default()
        }
    }

    fn cost(usd: f64) -> Usage {
        Usage {
            cost_usd: Some(usd),
            input_tokens: Some(100),
            ..Usage::default()
        }
    }

    fn elsewhere(usd: &str) -> BudgetUse {
        BudgetUse {
            usd: usd.parse().expect("an amount"),
            tokens: 0,
        }
    }

    #[track_caller]
    fn check(
        limits: &Limits,
        run: f64,
        live: f64,
        others: &str,
        expect: (Option<&str>, Option<&str>),
    ) {
        let (spend, live) = (Spend::from_usage(&cost(run)), cost(live));
        let left = budget_left(limits, &spend, &live, elsewhere(others));
        let reached = describe_exhausted_budget(limits, &spend, &live, elsewhere(others));
        let left = left.usd.map(|usd| usd.to_string());
        assert_eq!((left.as_deref(), reached.as_deref()), expect);
    }

    #[test]
    fn what_is_left_is_what_neither_the_run_nor_the_project_has_used() {
        check(&limits("", ""), 9.0, 9.0, "9", (None, None));
        check(&limits("5", ""), 1.0, 0.5, "9", (Some("$3.50"), None));
        check(&limits("5", "10"), 1.0, 0.5, "8", (Some("$0.50"), None));
        check(
            &limits("5", ""),
            4.0,
            1.0,
            "0",
            (Some("$0.00"), Some("budget ($5.00)")),
        );
        check(
            &limits("5", ""),
            4.0,
            3.0,
            "0",
            (Some("$0.00"), Some("budget ($5.00)")),
        );
        check(
            &limits("5", "10"),
            1.0,
            1.0,
            "8",
            (Some("$0.00"), Some("project budget ($10.00)")),
        );
    }

    #[test]
    fn the_budget_that_is_nearest_to_its_end_counts_in_percent() {
        let percent = |limits: &Limits, others| {
            let (spend, live) = (Spend::from_usage(&cost(1.0)), cost(0.5));
            budget_percent(limits, &spend, &live, elsewhere(others))
        };
        assert_eq!(percent(&limits("", ""), "9"), None);
        assert_eq!(percent(&limits("5", ""), "9"), Some(30));
        assert_eq!(percent(&limits("5", "10"), "8"), Some(95));
        assert_eq!(percent(&limits("0", ""), "0"), Some(100));
    }

    #[test]
    fn tokens_are_bounded_by_themselves() {
        let limits = Limits {
            budget_tokens: Some(250),
            project_tokens: Some(1_000),
            ..Limits::default()
        };
        let (spend, none) = (Spend::from_usage(&cost(1.0)), Usage::default());
        let of_others = |tokens| BudgetUse {
            tokens,
            ..BudgetUse::default()
        };
        let now = budget_left(&limits, &spend, &cost(1.0), of_others(0));
        assert_eq!((now.usd, now.tokens), (None, Some(50)));
        assert_eq!(
            describe_exhausted_budget(&limits, &spend, &none, of_others(0)),
            None
        );
        let two = spend.plus(&spend);
        assert_eq!(
            describe_exhausted_budget(&limits, &two, &cost(1.0), of_others(0)).as_deref(),
            Some("budget (250 tokens)")
        );
        assert_eq!(
            describe_exhausted_budget(&limits, &spend, &none, of_others(900)).as_deref(),
            Some("project budget (1000 tokens)")
        );
    }

    #[test]
    fn a_budget_that_was_passed_is_told_with_by_how_much() {
        let five = Limits {
            budget_tokens: Some(80),
            ..limits("5", "10")
        };
        let spend = Spend::from_usage(&cost(6.5));
        let said = describe_exceeded_budgets(&five, &spend, elsewhere("4"));
        let expect = [
            "the budget of $5.00 was passed by $1.50: $6.50 were used",
            "the budget of 80 tokens was passed by 20: 100 were used",
            "the project budget of $10.00 was passed by $0.50: $10.50 were used",
        ];
        assert_eq!(said, expect);
        let spend = Spend::from_usage(&cost(5.0));
        assert!(describe_exceeded_budgets(&limits("5", "9"), &spend, elsewhere("4")).is_empty());
    }

    #[test]
    fn an_estimate_counts_and_an_unknown_cost_is_warned_of() {
        let reckoned = Usage {
            estimate_usd: Some(5.0),
            ..Usage::default()
        };
        let five = limits("5", "");
        let spend = Spend::from_usage(&reckoned);
        let none = Usage::default();
        assert!(describe_exhausted_budget(&five, &spend, &none, BudgetUse::default()).is_some());
        assert_eq!(describe_unknown_spend(&five, &spend), None);
        let unknown = Spend::from_usage(&none);
        assert_eq!(
            describe_exhausted_budget(&five, &unknown, &none, BudgetUse::default()),
            None
        );
        assert_eq!(
            describe_unknown_spend(&five, &unknown).as_deref(),
            Some("what 1 attempt cost is not known, and does not count for the budget in dollars")
        );
        assert_eq!(describe_unknown_spend(&limits("", ""), &unknown), None);
    }
}
