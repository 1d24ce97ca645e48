//! Runs recall over the queries of a data set.

use jiff::Timestamp;
use piton_core::recall::{
    MemoryDocument, Query, Recall, RecallCandidate, Statistics, score_candidates,
};

use super::data;

/// No more of what was found is kept for judging.
const RESULTS: usize = 10;

/// A query, and what recall says to it.
pub struct Answer<'a> {
    /// What was asked.
    pub query: &'a data::Query,
    /// What was said.
    pub recall: Recall,
}

impl Answer<'_> {
    /// Whether one of the first three helps.
    #[must_use]
    pub fn helps(&self) -> bool {
        let first = self.recall.results.iter().take(3);
        first
            .into_iter()
            .any(|found| self.query.grade(&found.id) > 0)
    }

    /// What `score.py` judges, with a decision of its own.
    #[must_use]
    pub fn ranking(&self, advise: bool) -> data::Ranking {
        let found = self.recall.results.iter().take(RESULTS);
        data::Ranking {
            project: self.query.project.clone(),
            id: self.query.id.clone(),
            ranked: found
                .map(|found| data::Ranked {
                    id: found.id.clone(),
                    score: found.score,
                })
                .collect(),
            advise,
        }
    }
}

/// The answers to all queries, each from the memory of its project.
#[must_use]
pub fn answers<'a>(
    memories: &[data::Memory],
    queries: &'a [data::Query],
    now: Timestamp,
) -> Vec<Answer<'a>> {
    let documents: Vec<(&data::Memory, MemoryDocument)> = memories
        .iter()
        .map(|memory| {
            let context = memory.context.as_deref().unwrap_or_default();
            (
                memory,
                MemoryDocument::from_fields(&memory.title, &memory.content, context),
            )
        })
        .collect();
    queries
        .iter()
        .map(|query| {
            let known = documents
                .iter()
                .filter(|(memory, _)| memory.project == query.project);
            let candidates: Vec<RecallCandidate<'_>> = known
                .map(|(memory, document)| RecallCandidate {
                    id: &memory.id,
                    document,
                    followed: memory.superseded_by.is_none(),
                    learned_at: memory.created_at,
                    helped: 0,
                    failed: 0,
                })
                .collect();
            let followed = candidates.iter().filter(|candidate| candidate.followed);
            let statistics =
                Statistics::from_documents(followed.map(|candidate| candidate.document));
            let recall =
                score_candidates(&Query::parse(&query.text), &statistics, &candidates, now);
            Answer { query, recall }
        })
        .collect()
}
