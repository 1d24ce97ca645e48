//! A figure, its budget, and the table of all of them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::bed::Size;
use crate::sample::{Samples, Spread};

/// What a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// What is measured may cost so many times the baseline.
    AtMost(f64),
    /// The baseline must cost so many times what is measured.
    AtLeast(f64),
    /// What is measured may take so many seconds, whatever the baseline takes.
    AtMostSeconds(f64),
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
    /// Its median in seconds, and how the rounds spread.
    pub measured_s: Spread,
    /// What it was measured against.
    pub baseline: String,
    /// Its median in seconds.
    pub baseline_s: f64,
    /// How they relate: for [`Budget::AtLeast`], how often the first goes into the second.
    pub ratio: Spread,
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
        let ratio = Spread::of_ratio(measured.1, baseline.1);
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
        let ratio = Spread::of_ratio(baseline.1, measured.1);
        Self::new(Budget::AtLeast(budget), id, measured, baseline, ratio)
    }

    /// What is measured takes at most so many milliseconds.
    #[must_use]
    pub fn at_most_ms(
        budget_ms: f64,
        id: &'static str,
        measured: (&str, &Samples),
        baseline: (&str, &Samples),
    ) -> Self {
        let ratio = Spread::of_ratio(measured.1, baseline.1);
        let budget = Budget::AtMostSeconds(budget_ms / 1e3);
        Self::new(budget, id, measured, baseline, ratio)
    }

    /// To understand the others by.
    #[must_use]
    pub fn aside(id: &'static str, measured: (&str, &Samples), baseline: (&str, &Samples)) -> Self {
        let ratio = Spread::of_ratio(measured.1, baseline.1);
        Self::new(Budget::None, id, measured, baseline, ratio)
    }

    fn new(
        budget: Budget,
        id: &'static str,
        measured: (&str, &Samples),
        baseline: (&str, &Samples),
        ratio: Spread,
    ) -> Self {
        Self {
            id,
            measured: measured.0.to_owned(),
            measured_s: measured.1.spread(),
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
            Budget::AtMostSeconds(most) => Some(self.measured_s.value <= most),
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
            Budget::AtMostSeconds(most) => format!("<= {} ms", number(most * 1e3)),
            Budget::None => String::new(),
        }
    }

    /// The figure for the history.
    #[must_use]
    pub fn to_json(&self, size: Size) -> Value {
        let (mut at_most, mut at_least, mut at_most_s) = (None, None, None);
        match self.budget {
            Budget::AtMost(most) => at_most = Some(most),
            Budget::AtLeast(least) => at_least = Some(least),
            Budget::AtMostSeconds(most) => at_most_s = Some(most),
            Budget::None => {}
        }
        json!({
            "id": self.id,
            "measured": self.measured,
            "measured_s": self.measured_s.value,
            "measured_low_s": self.measured_s.low,
            "measured_high_s": self.measured_s.high,
            "measured_best_s": self.measured_s.best,
            "baseline": self.baseline,
            "baseline_s": self.baseline_s,
            "ratio": self.ratio.value,
            "ratio_low": self.ratio.low,
            "ratio_high": self.ratio.high,
            "ratio_best": self.ratio.best,
            "at_most": at_most,
            "at_least": at_least,
            "at_most_s": at_most_s,
            "holds": self.holds().filter(|_| size != Size::Small),
            "reasons": self.reasons,
        })
    }

    /// The middle half and the best of what the budget is about.
    fn spread_texts(&self) -> [String; 2] {
        let (spread, text): (Spread, fn(f64) -> String) = match self.budget {
            Budget::AtMostSeconds(_) => (self.measured_s, seconds),
            Budget::AtMost(_) | Budget::AtLeast(_) | Budget::None => (self.ratio, number),
        };
        let middle_half = format!("{} - {}", text(spread.low), text(spread.high));
        [middle_half, text(spread.best)]
    }

    /// What a missed budget comes to, in a sentence.
    fn miss_text(&self) -> String {
        let ratio = number(self.ratio.value);
        let (measured, baseline) = (&self.measured, &self.baseline);
        let what = match self.budget {
            Budget::AtMost(_) | Budget::None => {
                format!("{measured} takes {ratio} times {baseline}")
            }
            Budget::AtLeast(_) => format!("{baseline} takes {ratio} times {measured}"),
            Budget::AtMostSeconds(_) => {
                format!("{measured} takes {}", seconds(self.measured_s.value))
            }
        };
        format!(
            "{} MISSED: {what}; the budget is {}",
            self.id,
            self.budget_text()
        )
    }
}

/// A number with as many digits as it deserves.
pub(crate) fn number(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A count with commas: `20,000`.
#[must_use]
pub fn counted(count: usize) -> String {
    let mut text = count.to_string();
    let mut at = text.len();
    while at > 3 {
        at -= 3;
        text.insert(at, ',');
    }
    text
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
        let [middle_half, best] = figure.spread_texts();
        [
            figure.id.to_owned(),
            figure.measured.clone(),
            seconds(figure.measured_s.value),
            figure.baseline.clone(),
            seconds(figure.baseline_s),
            number(figure.ratio.value),
            middle_half,
            best,
            figure.budget_text(),
            figure.verdict(size).to_owned(),
        ]
    }));
    let mut text = aligned(&rows, &[0, 1, 3, 9]);
    for figure in figures {
        if figure.verdict(size) == "MISSED" {
            writeln!(text, "\n{}", figure.miss_text()).expect("a string takes everything");
            for reason in &figure.reasons {
                writeln!(text, "   {reason}").expect("a string takes everything");
            }
        }
    }
    text
}

/// Numbers to the right, words to the left: `words` are the columns of words.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]], words: &[usize]) -> String {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            let padded = if words.contains(&column) {
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
    fn a_budget_in_milliseconds_is_judged_by_the_time_and_not_by_the_ratio() {
        let [mut measured, mut baseline] = [Samples::default(), Samples::default()];
        measured.push(Duration::from_millis(21));
        baseline.push(Duration::from_millis(3));
        let figure = |budget_ms| {
            let sides = (("a node", &measured), ("the agent", &baseline));
            Figure::at_most_ms(budget_ms, "P9", sides.0, sides.1)
        };
        assert_eq!(figure(22.0).holds(), Some(true));
        assert_eq!(figure(9.0).holds(), Some(false));
        let text = table(&[figure(9.0)], Size::Ordinary);
        assert!(
            text.contains("P9 MISSED: a node takes 21.00 ms; the budget is <= 9 ms"),
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
