//! The data set: memories and queries, one JSON object a line.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use piton_core::memory::MemoryKind;
use serde::{Deserialize, Serialize};

use crate::Result;

/// Something remembered.
#[derive(Clone, Debug, Deserialize)]
pub struct Memory {
    /// The project that it belongs to.
    pub project: String,
    /// Its id, unique in the set.
    pub id: String,
    /// What kind it is.
    pub kind: MemoryKind,
    /// What a learning is about: `error-workaround` and so on.
    #[serde(default, rename = "type")]
    pub topic: Option<String>,
    /// Its title.
    pub title: String,
    /// What it says.
    pub content: String,
    /// Where it came up.
    #[serde(default)]
    pub context: Option<String>,
    /// When it was learned.
    pub created_at: Timestamp,
    /// What replaces it.
    #[serde(default)]
    pub superseded_by: Option<String>,
}

/// A query and what answers it.
#[derive(Clone, Debug, Deserialize)]
pub struct Query {
    /// The project in which it is asked.
    pub project: String,
    /// Its id, unique in the project.
    pub id: String,
    /// What is asked: all that recall may see.
    pub text: String,
    /// What helps; empty when nothing does.
    pub relevant: Vec<Relevant>,
    /// Why it is so, for a reader.
    #[serde(default)]
    pub why: String,
    /// How hard it is to find.
    #[serde(default)]
    pub difficulty: String,
    /// Where the text comes from.
    #[serde(default)]
    pub source: String,
}

impl Query {
    /// Its grade for a memory: 2 solves it, 1 helps, 0 does not.
    #[must_use]
    pub fn grade(&self, id: &str) -> u32 {
        let relevant = self.relevant.iter().find(|relevant| relevant.id == id);
        relevant.map_or(0, |relevant| relevant.grade)
    }
}

/// A memory that helps.
#[derive(Clone, Debug, Deserialize)]
pub struct Relevant {
    /// Its id.
    pub id: String,
    /// How much.
    pub grade: u32,
}

/// What was found for a query: a line of the file that `score.py` reads.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Ranking {
    /// The project of the query.
    pub project: String,
    /// The id of the query.
    pub id: String,
    /// What was found, the best first.
    pub ranked: Vec<Ranked>,
    /// Whether to say it.
    pub advise: bool,
}

/// A memory that was found.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Ranked {
    /// Its id.
    pub id: String,
    /// How well it answers.
    pub score: f64,
}

/// Reads a file of one JSON object a line.
///
/// # Errors
///
/// When the file cannot be read, or a line is not such an object.
pub fn load<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line)
                .map_err(|error| format!("{}:{}: {error}", path.display(), at + 1).into())
        })
        .collect()
}
