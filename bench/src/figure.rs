//! A figure, its budget, and the table of all of them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::bed::Size;
use crate::sample::{Ratio, Samples};

/// What a ratio may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// What is measured may cost so many times the baseline.
    AtMost(f64),
    /// The baseline must cost so many times what is measured.
    AtLeast(f64),
    /// To understand other figures by.
    None,
}

/// Something that was measured, beside what it was measured against.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The budget's number: `P1`.
    pub id: &'static str,
    /// What was measured.
    pub measured: String,
    /// Its median in seconds.
    pub measured_s: f64,
    /// What it was measured against.
    pub baseline: String,
    /// Its median in seconds.
    pub baseline_s: f64,
    /// How they relate: for [`Budget::AtLeast`], how often the first goes into the second.
    pub ratio: Ratio,
    /// What it may be.
    pub budget: Budget,
    /// Where the time goes, as far as it can be told: said when it is too much.
    pub reasons: Vec<String>,
}

impl Figure {
    /// What is measured costs at most so many times the baseline.
    #[must_use]
    pub fn at_most(
        budget: f64,
        id: &'static str,
        measured: (&str, &Samples),
        baseline: (&str, &Samples),
    ) -> Self {
        let ratio = Ratio::of(measured.1, baseline.1);
        Self::new(Budget::AtMost(budget), id, measured, baseline, ratio)
    }

    /// The baseline costs at least so many times what is measured.
    #[must_use]
    pub fn at_least(
        budget: f64,
        id: &'static str,
        measured: (&str, &Samples),
        baseline: (&str, &Samples),
    ) -> Self {
        let ratio = Ratio::of(baseline.1, measured.1);
        Self::new(Budget::AtLeast(budget), id, measured, baseline, ratio)
    }

    /// To understand the others by.
    #[must_use]
    pub fn aside(id: &'static str, measured: (&str, &Samples), baseline: (&str, &Samples)) -> Self {
        let ratio = Ratio::of(measured.1, baseline.1);
        Self::new(Budget::None, id, measured, baseline, ratio)
    }

    fn new(
        budget: Budget,
        id: &'static str,
        measured: (&str, &Samples),
        baseline: (&str, &Samples),
        ratio: Ratio,
    ) -> Self {
        Self {
            id,
            measured: measured.0.to_owned(),
            measured_s: measured.1.median(),
            baseline: baseline.0.to_owned(),
            baseline_s: baseline.1.median(),
            ratio,
            budget,
            reasons: Vec::new(),
        }
    }

    /// Says where the time goes.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    /// Whether the budget is kept; none without one.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        match self.budget {
            Budget::AtMost(most) => Some(self.ratio.value <= most),
            Budget::AtLeast(least) => Some(self.ratio.value >= least),
            Budget::None => None,
        }
    }

    fn verdict(&self, size: Size) -> &'static str {
        match self.holds() {
            None => "",
            Some(_) if size == Size::Small => "not judged",
            Some(true) => "holds",
            Some(false) => "MISSED",
        }
    }

    fn budget_text(&self) -> String {
        match self.budget {
            Budget::AtMost(most) => format!("<= {}", number(most)),
            Budget::AtLeast(least) => format!(">= {}", number(least)),
            Budget::None => String::new(),
        }
    }

    /// The figure for the history.
    #[must_use]
    pub fn to_json(&self, size: Size) -> Value {
        let (at_most, at_least) = match self.budget {
            Budget::AtMost(most) => (Some(most), None),
            Budget::AtLeast(least) => (None, Some(least)),
            Budget::None => (None, None),
        };
        json!({
            "id": self.id,
            "measured": self.measured,
            "measured_s": self.measured_s,
            "baseline": self.baseline,
            "baseline_s": self.baseline_s,
            "ratio": self.ratio.value,
            "ratio_low": self.ratio.low,
            "ratio_high": self.ratio.high,
            "ratio_best": self.ratio.best,
            "at_most": at_most,
            "at_least": at_least,
            "holds": self.holds().filter(|_| size != Size::Small),
            "reasons": self.reasons,
        })
    }
}

/// A number with as many digits as it deserves.
fn number(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A time in the unit that suits it.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.0} us", seconds * 1e6)
    }
}

/// The table of all figures, and below it why a budget is missed.
#[must_use]
pub fn table(figures: &[Figure], size: Size) -> String {
    let head = [
        "",
        "measured",
        "",
        "baseline",
        "",
        "ratio",
        "middle half",
        "best",
        "budget",
        "",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(figures.iter().map(|figure| {
        [
            figure.id.to_owned(),
            figure.measured.clone(),
            seconds(figure.measured_s),
            figure.baseline.clone(),
            seconds(figure.baseline_s),
            number(figure.ratio.value),
            format!(
                "{} - {}",
                number(figure.ratio.low),
                number(figure.ratio.high)
            ),
            number(figure.ratio.best),
            figure.budget_text(),
            figure.verdict(size).to_owned(),
        ]
    }));
    let mut text = aligned(&rows);
    for figure in figures {
        if figure.verdict(size) == "MISSED" {
            let (longer, shorter) = match figure.budget {
                Budget::AtMost(_) | Budget::None => (&figure.measured, &figure.baseline),
                Budget::AtLeast(_) => (&figure.baseline, &figure.measured),
            };
            writeln!(
                text,
                "\n{} MISSED: {longer} takes {} times {shorter}; the budget is {}",
                figure.id,
                number(figure.ratio.value),
                figure.budget_text()
            )
            .expect("a string takes everything");
            for reason in &figure.reasons {
                writeln!(text, "   {reason}").expect("a string takes everything");
            }
        }
    }
    text
}

/// Numbers to the right, words to the left.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            let is_word = matches!(column, 0 | 1 | 3 | 9);
            let padded = if is_word {
                format!("{cell:<width$}  ")
            } else {
                format!("{cell:>width$}  ")
            };
            line.push_str(&padded);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn figure(budget: f64) -> Figure {
        let mut samples = [Samples::default(), Samples::default()];
        samples[0].push(Duration::from_millis(3));
        samples[1].push(Duration::from_millis(2));
        let [measured, baseline] = &samples;
        Figure::at_most(budget, "P1", ("piton", measured), ("the floor", baseline))
            .because("it does more")
    }

    #[test]
    fn a_missed_budget_is_said_with_its_reason() {
        let text = table(&[figure(1.2)], Size::Ordinary);
        assert!(
            text.contains("MISSED: piton takes 1.50 times the floor; the budget is <= 1.20"),
            "{text}"
        );
        assert!(text.ends_with("   it does more\n"), "{text}");
    }

    #[test]
    fn a_budget_that_holds_needs_no_reason() {
        let text = table(&[figure(2.5)], Size::Ordinary);
        assert!(
            text.contains("holds") && !text.contains("does more"),
            "{text}"
        );
    }

    #[test]
    fn a_small_run_judges_nothing() {
        let text = table(&[figure(1.2)], Size::Small);
        assert!(
            text.contains("not judged") && !text.contains("MISSED"),
            "{text}"
        );
        assert_eq!(figure(1.2).to_json(Size::Small)["holds"], Value::Null);
    }
}
