//! Two pitons side by side: the same work by both, in turns.
//!
//! One is the reference (`--piton`), the other is judged beside it (`--beside`).
//! Each ratio is that of the second over the first: above 1, the second is slower.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::Result;
use crate::bed::{Bed, Size};
use crate::figure::{aligned, number, seconds};
use crate::figures::{self, PairedUnit};
use crate::sample::{Samples, Spread};

/// A ratio above this is a slowdown, unless its middle half includes 1.
const RATIO_MAX: f64 = 1.05;

/// Budgets that are not compared, and why.
pub const NOT_COMPARED: &str = "Not compared are P2 (its `piton log` is that of P1), P3 and P4 (they are measured in the process of the bench: run the bench of each version), and P12 (run `long` for each).";

/// A figure of both.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The budget's number: `P1`.
    pub id: &'static str,
    /// What was measured.
    pub what: String,
    /// What the reference took, pair by pair.
    pub piton: Samples,
    /// What the other one took, pair by pair.
    pub beside: Samples,
}

impl Comparison {
    /// The median over the pairs of `beside` divided by `piton`, and the middle
    /// half of them.
    #[must_use]
    pub fn ratio(&self) -> Spread {
        self.beside.divided_by(&self.piton).spread()
    }

    /// Whether `beside` is slower: the median ratio is above 1.05 and the middle
    /// half does not include 1.
    #[must_use]
    pub fn is_slower(&self) -> bool {
        let ratio = self.ratio();
        ratio.value > RATIO_MAX && ratio.low > 1.0
    }

    fn verdict(&self, size: Size) -> &'static str {
        match self.is_slower() {
            _ if size == Size::Small => "not judged",
            true => "SLOWER",
            false => "holds",
        }
    }

    /// The comparison for the history.
    #[must_use]
    pub fn to_json(&self, size: Size) -> Value {
        let ratio = self.ratio();
        json!({
            "id": self.id,
            "measured": self.what,
            "pairs": self.piton.len(),
            "piton_s": self.piton.median(),
            "beside_s": self.beside.median(),
            "beside_over_piton": ratio.value,
            "beside_over_piton_low": ratio.low,
            "beside_over_piton_high": ratio.high,
            "slower": (size != Size::Small).then(|| self.is_slower()),
        })
    }
}

/// Both pitons, and how many pairs of runs are made.
#[derive(Debug)]
pub struct Sides<'b> {
    /// Where the reference is measured; stores are filled by it.
    pub piton: &'b Bed,
    /// Where the other one is measured.
    pub beside: &'b Bed,
    /// How many pairs.
    pub pairs: usize,
}

impl Sides<'_> {
    /// Compares both by the budgets that `wants` names.
    ///
    /// # Errors
    ///
    /// When one of them fails.
    pub fn compare(&self, wants: impl Fn(&str) -> bool) -> Result<Vec<Comparison>> {
        let mut all = Vec::new();
        for (id, measure) in figures::PAIRED {
            if wants(id) {
                writeln!(io::stderr(), "comparing {id} ...")?;
                let piton = measure(self.piton, self.piton)?;
                let beside = measure(self.beside, self.piton)?;
                for (piton, beside) in piton.into_iter().zip(beside) {
                    all.push(take_pairs(self.pairs, piton, beside)?);
                }
            }
        }
        Ok(all)
    }
}

/// Lets both take turns, one pair without being counted first. They begin
/// alternately; what a pair counts is the median of its repetitions.
fn take_pairs<'b>(
    pairs: usize,
    mut piton: PairedUnit<'b>,
    mut beside: PairedUnit<'b>,
) -> Result<Comparison> {
    let mut samples = [Samples::default(), Samples::default()];
    for pair in 0..=pairs {
        let mut repeated = [Samples::default(), Samples::default()];
        for repetition in 0..piton.repeats {
            for turn in 0..2 {
                let side = (pair + repetition + turn) % 2;
                let unit = if side == 0 { &mut piton } else { &mut beside };
                repeated[side].push((unit.subject)()?);
            }
        }
        if pair > 0 {
            for (samples, repeated) in samples.iter_mut().zip(&repeated) {
                samples.push_seconds(repeated.median());
            }
        }
    }
    let [of_piton, of_beside] = samples;
    Ok(Comparison {
        id: piton.id,
        what: piton.what,
        piton: of_piton,
        beside: of_beside,
    })
}

/// The table of all comparisons, and below it which are slower.
#[must_use]
pub fn table(comparisons: &[Comparison], size: Size) -> String {
    let head = [
        "",
        "measured",
        "piton",
        "beside",
        "beside/piton",
        "middle half",
        "",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(comparisons.iter().map(|comparison| {
        let ratio = comparison.ratio();
        [
            comparison.id.to_owned(),
            comparison.what.clone(),
            seconds(comparison.piton.median()),
            seconds(comparison.beside.median()),
            number(ratio.value),
            format!("{} - {}", number(ratio.low), number(ratio.high)),
            comparison.verdict(size).to_owned(),
        ]
    }));
    aligned(&rows, &[0, 1, 6])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn comparison(beside_ms: &[u64]) -> Comparison {
        let [mut piton, mut beside] = [Samples::default(), Samples::default()];
        for took in beside_ms {
            piton.push(Duration::from_millis(100));
            beside.push(Duration::from_millis(*took));
        }
        Comparison {
            id: "P1",
            what: "piton log".to_owned(),
            piton,
            beside,
        }
    }

    #[track_caller]
    fn check_slower(beside_ms: &[u64], expected: bool) {
        assert_eq!(comparison(beside_ms).is_slower(), expected, "{beside_ms:?}");
    }

    #[test]
    fn slower_is_a_median_above_the_limit_whose_middle_half_is_above_1() {
        check_slower(&[104, 110, 110, 110, 120], true);
        check_slower(&[101, 102, 104, 104, 104], false);
        check_slower(&[90, 95, 110, 120, 130], false);
        check_slower(&[60, 70, 80, 85, 90], false);
    }

    #[test]
    fn the_ratio_is_that_of_beside_over_piton() {
        let text = table(&[comparison(&[150, 150, 150])], Size::Ordinary);
        let row = text.lines().last().expect("a row");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "P1", "piton", "log", "100.00", "ms", "150.00", "ms", "1.50", "1.50", "-", "1.50",
                "SLOWER"
            ]
        );
    }

    #[test]
    fn both_sides_have_as_many_turns_and_begin_alternately() {
        let order = std::cell::RefCell::new(String::new());
        let unit = |name: char| {
            let order = &order;
            let subject = Box::new(move || {
                order.borrow_mut().push(name);
                Ok(Duration::from_secs(1))
            });
            PairedUnit::new("P1", "a unit", subject)
        };
        let comparison = take_pairs(2, unit('a'), unit('b')).expect("nothing fails");
        assert_eq!(order.borrow().as_str(), "abbaab");
        assert_eq!((comparison.piton.len(), comparison.beside.len()), (2, 2));
    }
}
