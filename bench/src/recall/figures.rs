//! The figures of `score.py`, by the same rules.

use std::collections::HashMap;

use super::data::{Query, Ranking};

/// How well a ranking answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Queries that something answers.
    pub answerable: f64,
    /// Queries that nothing does.
    pub unanswerable: f64,
    /// Of what helps, how much is found first.
    pub recall_1: f64,
    /// How much is among the first three.
    pub recall_3: f64,
    /// One through the place of the first that helps.
    pub mrr: f64,
    /// Whether the best come first.
    pub ndcg: f64,
    /// Of queries that nothing answers, how many got advice.
    pub wrong: f64,
    /// Of those that something answers, how many got none.
    pub silent: f64,
    /// Of all, how many got what they should.
    pub right: f64,
}

/// How well the rankings answer those of the queries that are looked for.
pub fn figures<'a>(queries: impl Iterator<Item = &'a Query>, rankings: &[Ranking]) -> Figures {
    let known: HashMap<(&str, &str), &Ranking> = rankings
        .iter()
        .map(|ranking| ((ranking.project.as_str(), ranking.id.as_str()), ranking))
        .collect();
    let mut sum = Figures::default();
    for query in queries {
        let ranking = known.get(&(query.project.as_str(), query.id.as_str()));
        let advise = ranking.is_some_and(|ranking| ranking.advise);
        if query.relevant.is_empty() {
            sum.unanswerable += 1.0;
            sum.wrong += number(advise);
            sum.right += number(!advise);
            continue;
        }
        let ranked = ranking
            .map(|ranking| ranking.ranked.as_slice())
            .unwrap_or_default();
        let grades: Vec<u32> = ranked
            .iter()
            .map(|ranked| query.grade(&ranked.id))
            .collect();
        sum.answerable += 1.0;
        sum.recall_1 += recall(&grades, query, 1);
        sum.recall_3 += recall(&grades, query, 3);
        let first = grades.iter().take(10).position(|grade| *grade > 0);
        sum.mrr += first.map_or(0.0, |place| 1.0 / count(place + 1));
        let mut ideal: Vec<u32> = query
            .relevant
            .iter()
            .map(|relevant| relevant.grade)
            .collect();
        ideal.sort_unstable_by(|one, other| other.cmp(one));
        sum.ndcg += gain(&grades) / gain(&ideal);
        sum.silent += number(!advise);
        sum.right += number(advise && grades.iter().take(3).any(|grade| *grade > 0));
    }
    let all = (sum.answerable + sum.unanswerable).max(1.0);
    let (answerable, unanswerable) = (sum.answerable.max(1.0), sum.unanswerable.max(1.0));
    Figures {
        answerable: sum.answerable,
        unanswerable: sum.unanswerable,
        recall_1: sum.recall_1 / answerable,
        recall_3: sum.recall_3 / answerable,
        mrr: sum.mrr / answerable,
        ndcg: sum.ndcg / answerable,
        wrong: sum.wrong / unanswerable,
        silent: sum.silent / answerable,
        right: sum.right / all,
    }
}

fn recall(grades: &[u32], query: &Query, first: usize) -> f64 {
    let found = grades
        .iter()
        .take(first)
        .filter(|grade| **grade > 0)
        .count();
    count(found) / count(query.relevant.len().min(first))
}

/// The discounted gain of the first five.
fn gain(grades: &[u32]) -> f64 {
    let first = grades.iter().take(5).enumerate();
    first
        .map(|(place, grade)| (f64::from(*grade).exp2() - 1.0) / count(place + 2).log2())
        .sum()
}

fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

fn count(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::data::Ranked;

    fn query(id: &str, relevant: &str) -> Query {
        let text = format!(r#"{{"project":"p","id":"{id}","text":"","relevant":[{relevant}]}}"#);
        serde_json::from_str(&text).expect("a query")
    }

    fn ranking(id: &str, found: &[&str], advise: bool) -> Ranking {
        let ranked = |id: &&str| Ranked {
            id: (*id).to_owned(),
            score: 1.0,
        };
        Ranking {
            project: "p".to_owned(),
            id: id.to_owned(),
            ranked: found.iter().map(ranked).collect(),
            advise,
        }
    }

    #[test]
    fn each_figure_counts_what_it_says() {
        let queries = [
            query("first", r#"{"id":"a","grade":2},{"id":"b","grade":1}"#),
            query("second", r#"{"id":"a","grade":2}"#),
            query("nothing", ""),
            query("quiet", ""),
        ];
        let rankings = [
            ranking("first", &["a", "c", "d", "b"], true),
            ranking("second", &["c", "a"], false),
            ranking("nothing", &["a"], true),
        ];
        let found = figures(queries.iter(), &rankings);
        let expected = [
            (found.recall_1, 0.5),
            (found.recall_3, 0.75),
            (found.mrr, 0.75),
            (found.wrong, 0.5),
            (found.silent, 0.5),
            (found.right, 0.5),
        ];
        for (found, expected) in expected {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        let first = (3.0 + 1.0 / 5.0_f64.log2()) / (3.0 + 1.0 / 3.0_f64.log2());
        let second = 1.0 / 3.0_f64.log2();
        assert!((found.ndcg - (first + second) / 2.0).abs() < 1e-9);
    }
}
