//! What is printed.

use std::io::{Result, Write};

use serde_json::{Value, json};

use super::Outcome;
use super::counts::{Part, Took};

/// Items that took so many attempts or more stand in one column.
const ATTEMPTS_SHOWN: u32 = 9;

/// Prints what came of each policy, and how the attempts were spread.
///
/// # Errors
///
/// When it cannot be written.
pub fn table(out: &mut impl Write, title: &str, outcomes: &[Outcome]) -> Result<()> {
    writeln!(out, "{title}\n")?;
    writeln!(
        out,
        "{:<20} {:>7} {:>8} {:>8} {:>6} {:>7} {:>12} {:>8} {:>9} {:>10}",
        "",
        "items",
        "finished",
        "attempts",
        "aside",
        "advised",
        "per finished",
        "per item",
        "asked",
        "told bytes"
    )?;
    for outcome in outcomes {
        let counts = &outcome.counts;
        line(out, outcome.policy.name(), &counts.all())?;
        line(out, "  answerable", &counts.answerable)?;
        line(out, "  unanswerable", &counts.unanswerable)?;
    }
    writeln!(out, "\nitems that took so many attempts")?;
    write!(out, "{:<20} {:<9}", "", "")?;
    for attempts in 1..ATTEMPTS_SHOWN {
        write!(out, " {attempts:>6}")?;
    }
    writeln!(out, " {:>6}", format!("{ATTEMPTS_SHOWN}+"))?;
    for outcome in outcomes {
        spread(out, outcome, "finished", |took| took.finished)?;
        spread(out, outcome, "left out", |took| took.left_out)?;
    }
    writeln!(
        out,
        "\nseeds in which piton took fewer attempts, as many, more"
    )?;
    for outcome in outcomes.iter().skip(1) {
        let [fewer, equal, more] = outcome.beside_piton;
        let name = outcome.policy.name();
        writeln!(out, "{name:<20} {fewer:>7} {equal:>8} {more:>8}")?;
    }
    writeln!(out)
}

fn line(out: &mut impl Write, name: &str, part: &Part) -> Result<()> {
    let shown = |ratio: Option<f64>, digits: usize| {
        ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.digits$}"))
    };
    writeln!(
        out,
        "{name:<20} {:>7} {:>8} {:>8} {:>6} {:>7} {:>12} {:>8} {:>9} {:>10}",
        part.items,
        part.finished,
        part.attempts,
        part.aside,
        part.advised,
        shown(part.per_finished(), 3),
        shown(part.per_item(), 3),
        shown(part.asked_per_item(), 3),
        shown(part.told_per_attempt(), 0),
    )
}

fn spread(
    out: &mut impl Write,
    outcome: &Outcome,
    what: &str,
    of: impl Fn(&Took) -> u64,
) -> Result<()> {
    write!(out, "{:<20} {what:<9}", outcome.policy.name())?;
    let took = &outcome.counts.took;
    for attempts in 1..ATTEMPTS_SHOWN {
        write!(out, " {:>6}", took.get(&attempts).map_or(0, &of))?;
    }
    let more = took.range(ATTEMPTS_SHOWN..).map(|(_, took)| of(took));
    writeln!(out, " {:>6}", more.sum::<u64>())
}

/// The same as JSON.
#[must_use]
pub fn json(outcomes: &[Outcome]) -> Value {
    let each = outcomes.iter().map(|outcome| {
        let all = outcome.counts.all();
        let [fewer, equal, more] = outcome.beside_piton;
        json!({
            "policy": outcome.policy.name(),
            "judged": outcome.policy.is_judged(),
            "all": all,
            "counts": outcome.counts,
            "attempts_per_finished": all.per_finished(),
            "attempts_per_item": all.per_item(),
            "asked_per_item": all.asked_per_item(),
            "told_bytes_per_attempt": all.told_per_attempt(),
            "seeds_with_piton": {"fewer": fewer, "equal": equal, "more": more},
        })
    });
    each.collect()
}
