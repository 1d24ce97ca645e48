//! Times that were taken in turns, and what they say of each other.

use std::time::Duration;

use crate::Result;

/// What one subject took, in seconds, round by round.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a round.
    pub fn push(&mut self, took: Duration) {
        self.0.push(took.as_secs_f64());
    }

    /// Adds a round, in seconds.
    pub fn push_seconds(&mut self, seconds: f64) {
        self.0.push(seconds);
    }

    /// How many rounds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The median, in seconds; 0 when there are none.
    #[must_use]
    pub fn median(&self) -> f64 {
        quantile(&self.0, 0.5)
    }

    /// The median and where the middle half of the rounds lies, in seconds.
    #[must_use]
    pub fn spread(&self) -> Spread {
        Spread {
            value: self.median(),
            low: quantile(&self.0, 0.25),
            high: quantile(&self.0, 0.75),
            best: self.shortest(),
        }
    }

    /// Each round divided by the same round of `baseline`.
    #[must_use]
    pub fn divided_by(&self, baseline: &Self) -> Self {
        let rounds = self.0.iter().zip(&baseline.0);
        Self(rounds.map(|(own, other)| own / other).collect())
    }

    /// The shortest, in seconds.
    #[must_use]
    pub fn shortest(&self) -> f64 {
        quantile(&self.0, 0.0)
    }

    /// The longest, in seconds.
    #[must_use]
    pub fn longest(&self) -> f64 {
        quantile(&self.0, 1.0)
    }
}

/// An amount, in seconds or as a ratio, and where the middle half of the
/// rounds lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median, or the ratio of two medians.
    pub value: f64,
    /// A quarter of the rounds were below this.
    pub low: f64,
    /// A quarter of the rounds were above this.
    pub high: f64,
    /// The same of the shortest rounds: what is left when the neighbours are quiet.
    pub best: f64,
}

impl Spread {
    /// How often `baseline` goes into `measured`: the ratio of the medians, and
    /// the middle half of the rounds, each compared with itself.
    #[must_use]
    pub fn of_ratio(measured: &Samples, baseline: &Samples) -> Self {
        Self {
            value: measured.median() / baseline.median(),
            best: measured.shortest() / baseline.shortest(),
            ..measured.divided_by(baseline).spread()
        }
    }

    /// A ratio that was taken once.
    #[must_use]
    pub fn once(measured: f64, baseline: f64) -> Self {
        let value = measured / baseline;
        Self {
            value,
            low: value,
            high: value,
            best: value,
        }
    }
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let at = share * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index: never below 0, never above the last"
    )]
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    let part = at - at.floor();
    sorted[below] * (1.0 - part) + sorted[above] * part
}

/// Something that can be done again and again, and says how long it took.
pub type Subject<'s> = Box<dyn FnMut() -> Result<Duration> + 's>;

/// Lets the subjects take turns, one round without being counted first. Each
/// round another one begins, so that none always has the same neighbour.
///
/// # Errors
///
/// What a subject says went wrong.
pub fn take_turns(rounds: usize, subjects: &mut [Subject<'_>]) -> Result<Vec<Samples>> {
    let mut samples = vec![Samples::default(); subjects.len()];
    for subject in &mut *subjects {
        subject()?;
    }
    for round in 0..rounds {
        for turn in 0..subjects.len() {
            let who = (round + turn) % subjects.len();
            let took = subjects[who]()?;
            samples[who].push(took);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(seconds: &[f64]) -> Samples {
        Samples(seconds.to_vec())
    }

    #[test]
    fn a_ratio_is_that_of_the_medians_and_its_spread_that_of_the_rounds() {
        let ratio = Spread::of_ratio(&samples(&[2.0, 4.0, 6.0]), &samples(&[1.0, 2.0, 1.0]));
        assert_eq!(ratio.value, 4.0);
        assert_eq!((ratio.low, ratio.high), (2.0, 4.0));
        assert_eq!(ratio.best, 2.0);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(samples(&[1.0, 9.0, 3.0, 5.0]).median(), 4.0);
        assert_eq!(samples(&[7.0]).median(), 7.0);
        assert_eq!(samples(&[]).median(), 0.0);
    }

    #[test]
    fn everybody_gets_as_many_turns() {
        let (mut a, mut b) = (0, 0);
        let mut subjects: Vec<Subject<'_>> = vec![
            Box::new(|| {
                a += 1;
                Ok(Duration::from_secs(1))
            }),
            Box::new(|| {
                b += 1;
                Ok(Duration::from_secs(2))
            }),
        ];
        let samples = take_turns(4, &mut subjects).expect("nothing fails");
        drop(subjects);
        assert_eq!((a, b), (5, 5));
        assert_eq!((samples[0].len(), samples[1].median()), (4, 2.0));
    }
}
