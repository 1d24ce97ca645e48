//! What is printed: figures side by side, and what is missed.

use std::io::{Result, Write};

use piton_core::recall::advise::{ADVISE_FROM, Features, Weights};

use super::data::{Memory, Query, Ranking};
use super::figures::{Figures, figures};
use super::ranking::Answer;

/// A report, as it is written.
pub struct Report<W> {
    out: W,
}

impl<W: Write> Report<W> {
    /// A report that goes there.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// What the columns are.
    ///
    /// # Errors
    ///
    /// As for all that is written here: when it cannot be.
    pub fn heading(&mut self) -> Result<()> {
        writeln!(
            self.out,
            "{:<28} {:>7} {:>8} {:>8} {:>6} {:>6} {:>6} {:>7} {:>6}",
            "", "queries", "recall@1", "recall@3", "MRR", "nDCG", "wrong", "silent", "right"
        )
    }

    /// The figures of one ranking.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn row(&mut self, name: &str, figures: &Figures) -> Result<()> {
        writeln!(
            self.out,
            "{name:<28} {:>7} {:>8.3} {:>8.3} {:>6.3} {:>6.3} {:>6.3} {:>7.3} {:>6.3}",
            figures.answerable + figures.unanswerable,
            figures.recall_1,
            figures.recall_3,
            figures.mrr,
            figures.ndcg,
            figures.wrong,
            figures.silent,
            figures.right
        )
    }

    /// The figures of each part of the queries.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn by(
        &mut self,
        what: &str,
        queries: &[Query],
        rankings: &[Ranking],
        part: impl Fn(&Query) -> &str,
    ) -> Result<()> {
        writeln!(self.out, "\nby {what}")?;
        let mut parts: Vec<&str> = Vec::new();
        for query in queries {
            if !parts.contains(&part(query)) {
                parts.push(part(query));
            }
        }
        for name in parts {
            let those = queries.iter().filter(|query| part(query) == name);
            self.row(name, &figures(those, rankings))?;
        }
        Ok(())
    }

    /// What other levels than the one in use would give.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn levels(&mut self, answers: &[Answer<'_>], chances: &[f64]) -> Result<()> {
        writeln!(self.out, "\nadvise from a chance of")?;
        for level in (8..=16).map(|step| f64::from(step) / 20.0) {
            let decided = answers.iter().zip(chances);
            let rankings: Vec<Ranking> = decided
                .map(|(answer, chance)| answer.ranking(*chance >= level))
                .collect();
            let queries = answers.iter().map(|answer| answer.query);
            self.row(&format!("{level:.2}"), &figures(queries, &rankings))?;
        }
        Ok(())
    }

    /// The weights of a fit.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn weights(&mut self, weights: &Weights) -> Result<()> {
        writeln!(self.out, "\n{:<16} {:.3}", "bias", weights.bias)?;
        for (name, weight) in Features::NAMES.iter().zip(weights.features) {
            writeln!(self.out, "{name:<16} {weight:.3}")?;
        }
        Ok(())
    }

    /// What is not answered as it should be.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn misses(
        &mut self,
        memories: &[Memory],
        answers: &[Answer<'_>],
        chances: &[f64],
    ) -> Result<()> {
        for (answer, chance) in answers.iter().zip(chances) {
            let what = match (
                answer.query.relevant.is_empty(),
                *chance >= ADVISE_FROM,
                answer.helps(),
            ) {
                (true, true, _) => "advice where nothing helps",
                (false, _, false) => "what helps is not among the first three",
                (false, false, true) => "found, and not said",
                (true, false, _) | (false, true, true) => continue,
            };
            self.miss(memories, answer, &format!("{chance:.2}: {what}"))?;
        }
        Ok(())
    }

    fn miss(&mut self, memories: &[Memory], answer: &Answer<'_>, what: &str) -> Result<()> {
        let title = |id: &str| {
            let memory = memories.iter().find(|memory| memory.id == id);
            memory.map_or("", |memory| memory.title.as_str())
        };
        let (query, results) = (answer.query, &answer.recall.results);
        let (id, difficulty, source) = (&query.id, &query.difficulty, &query.source);
        writeln!(self.out, "\n{id} {difficulty} {source} {what}")?;
        writeln!(self.out, "  {}", query.why)?;
        for relevant in &query.relevant {
            let id = &relevant.id;
            let place = results.iter().position(|found| found.id == *id);
            let place = place.map_or("nowhere".to_owned(), |place| format!("at {}", place + 1));
            writeln!(self.out, "  helps: {id} {place}: {}", title(id))?;
        }
        for found in results.iter().take(3) {
            let (id, why) = (&found.id, found.why.join(", "));
            let score = found.score;
            writeln!(self.out, "  found: {score:.1} {id} {} [{why}]", title(id))?;
        }
        Ok(())
    }
}
