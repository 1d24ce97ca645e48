//! Fits the weights by which recall decides whether to advise.
//!
//! A logistic model with a penalty on large weights, by Newton's method, on
//! features brought to one scale first. What a fit is worth is only told by
//! projects that it has not seen: [`unseen`] leaves each out in turn.

use piton_core::recall::advise::{FEATURES, Features, Weights};

use super::ranking::Answer;

/// How strongly large weights are held down, on features of one scale.
const PENALTY: f64 = 3.0;
const STEPS: usize = 30;
/// The bias and the features.
const SIZE: usize = FEATURES + 1;

/// The chance of each answer, by weights fitted on all other projects.
#[must_use]
pub fn unseen(answers: &[Answer<'_>]) -> Vec<f64> {
    let chance = |answer: &Answer<'_>| {
        let others = answers
            .iter()
            .filter(|other| other.query.project != answer.query.project);
        let weights = fit(others);
        let features = answer.recall.features.as_ref();
        features.map_or(0.0, |features| weights.predict_chance(features))
    };
    answers.iter().map(chance).collect()
}

/// The weights that tell best which of these answers help.
#[must_use]
pub fn fit<'a>(answers: impl Iterator<Item = &'a Answer<'a>>) -> Weights {
    let cases: Vec<(Features, f64)> = answers
        .filter_map(|answer| {
            let features = answer.recall.features?;
            Some((features, f64::from(u8::from(answer.helps()))))
        })
        .collect();
    let scales: Vec<(f64, f64)> = (0..FEATURES).map(|at| scale(&cases, at)).collect();
    let mut weights = [0.0; SIZE];
    for _ in 0..STEPS {
        let step = newton(&cases, &scales, &weights);
        for (weight, step) in weights.iter_mut().zip(step) {
            *weight += step;
        }
    }
    // Back to the features as they are.
    let mut fitted = Weights {
        bias: weights[0],
        features: [0.0; FEATURES],
    };
    for (at, (mean, spread)) in scales.iter().enumerate() {
        fitted.features[at] = weights[at + 1] / spread;
        fitted.bias -= weights[at + 1] * mean / spread;
    }
    fitted
}

/// The mean of a feature, and how far it spreads.
fn scale(cases: &[(Features, f64)], at: usize) -> (f64, f64) {
    let number = cases.len().max(1);
    let number = f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let mean = cases
        .iter()
        .map(|(features, _)| features.0[at])
        .sum::<f64>()
        / number;
    let square = |(features, _): &(Features, f64)| (features.0[at] - mean).powi(2);
    let spread = (cases.iter().map(square).sum::<f64>() / number).sqrt();
    (mean, if spread > 0.0 { spread } else { 1.0 })
}

/// The step towards the weights that are best if the model were a parabola.
fn newton(cases: &[(Features, f64)], scales: &[(f64, f64)], weights: &[f64; SIZE]) -> [f64; SIZE] {
    let mut slope = [0.0; SIZE];
    let mut curve = [[0.0; SIZE]; SIZE];
    for (features, helps) in cases {
        let mut row = [1.0; SIZE];
        for (at, (mean, spread)) in scales.iter().enumerate() {
            row[at + 1] = (features.0[at] - mean) / spread;
        }
        let sum: f64 = row
            .iter()
            .zip(weights)
            .map(|(value, weight)| value * weight)
            .sum();
        let chance = 1.0 / (1.0 + (-sum).exp());
        for one in 0..SIZE {
            slope[one] += (helps - chance) * row[one];
            for other in 0..SIZE {
                curve[one][other] += chance * (1.0 - chance) * row[one] * row[other];
            }
        }
    }
    for at in 1..SIZE {
        slope[at] -= PENALTY * weights[at];
        curve[at][at] += PENALTY;
    }
    solve(curve, slope)
}

/// Solves a positive definite system by elimination.
fn solve(mut rows: [[f64; SIZE]; SIZE], mut right: [f64; SIZE]) -> [f64; SIZE] {
    for at in 0..SIZE {
        for below in at + 1..SIZE {
            let factor = rows[below][at] / rows[at][at];
            let above = rows[at];
            for (value, above) in rows[below].iter_mut().zip(above).skip(at) {
                *value -= factor * above;
            }
            right[below] -= factor * right[at];
        }
    }
    for at in (0..SIZE).rev() {
        let known: f64 = (at + 1..SIZE)
            .map(|other| rows[at][other] * right[other])
            .sum();
        right[at] = (right[at] - known) / rows[at][at];
    }
    right
}

#[cfg(test)]
mod tests {
    use piton_core::recall::Recall;

    use super::*;
    use crate::recall::data::Query;

    #[test]
    fn what_tells_the_cases_apart_gets_the_weight() {
        let queries: Vec<Query> = (0..40)
            .map(|at| {
                let relevant = if at % 2 == 0 {
                    r#"{"id":"m","grade":2}"#
                } else {
                    ""
                };
                let text = format!(
                    r#"{{"project":"p{}","id":"q{at}","text":"","relevant":[{relevant}]}}"#,
                    at % 4
                );
                serde_json::from_str(&text).expect("a query")
            })
            .collect();
        let answers: Vec<Answer<'_>> = queries
            .iter()
            .enumerate()
            .map(|(at, query)| {
                let helps = f64::from(u8::from(at % 2 == 0));
                let noise = f64::from(u8::from(at % 3 == 0));
                let found = piton_core::recall::ScoredMemory {
                    id: "m".to_owned(),
                    score: 1.0,
                    why: Vec::new(),
                };
                Answer {
                    query,
                    recall: Recall {
                        advise: false,
                        chance: 0.0,
                        features: Some(Features([helps, noise, 1.0, -noise])),
                        results: vec![found],
                    },
                }
            })
            .collect();
        let weights = fit(answers.iter());
        assert!(weights.features[0] > 2.0, "{weights:?}");
        assert!(weights.features[1].abs() < 0.5, "{weights:?}");
        let chances = unseen(&answers);
        assert!(chances[0] > 0.7 && chances[1] < 0.3, "{chances:?}");
    }
}
