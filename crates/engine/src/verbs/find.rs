//! `piton find`: the items and the memories that some words are about.

use jiff::Timestamp;
use piton_core::memory::MemoryKind;
use piton_core::quote::truncate_chars;
use piton_core::{ItemRow, ItemState, Need};
use piton_formats::title::title_of_item;
use serde::Serialize;

use super::recall;
use crate::failure::Failure;
use crate::memory::recall::RecalledMemory;
use crate::session::Session;
use crate::world::World;

/// So many items, and so many memories, are answered.
const FOUND_MAX: usize = 20;
/// So many characters of a title are shown.
const TITLE_CHARS_MAX: usize = 100;

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FoundThings {
    /// The items that have all of the words: those in whose id or title they are come
    /// first, then those that are open, then those of newer runs.
    pub items: Vec<FoundItem>,
    /// How many items more have them.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_items: usize,
    /// What the memory has to say, the best first: as `piton recall` finds it.
    pub memories: Vec<FoundMemory>,
}

crate::name_schema!(FoundThings, "piton.find/1");

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An item that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundItem {
    /// What every command that takes an item accepts: `list:write-hello`.
    pub item: String,
    /// What it is called, where that says more than its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it stands.
    pub state: ItemState,
    /// By whom it was taken, to work on it by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<String>,
    /// Whether the words are in its prompt alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_prompt: bool,
}

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundMemory {
    /// What `piton learn show` accepts.
    pub id: String,
    /// What it is.
    pub kind: MemoryKind,
    /// Its title, or its first line.
    pub title: String,
}

/// What there is about some words: items of all runs, and memories. Changes nothing.
///
/// # Errors
///
/// When there is no word, or there is a store that cannot be read.
pub fn find(world: &World, text: &str) -> Result<FoundThings, Failure> {
    let words = SearchWords::parse(text);
    if words.0.is_empty() {
        return Err(Failure::new("usage", "there is no word to find")
            .with_hint("type what it is about: `piton find login`"));
    }
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(FoundThings::default());
    };
    let mut items = Vec::new();
    for run in session.runs()?.iter().rev() {
        let rows = session.load(&[Need::Tree(run.id)])?;
        let found = rows.tables.tree(run.id);
        items.extend(found.filter_map(|row| words.find_item(&run.name, row, world.now())));
    }
    // Those of one kind stay in the order of their runs and plans.
    items.sort_by_key(|item| (item.in_prompt, item.state.is_finished()));
    let more_items = items.len().saturating_sub(FOUND_MAX);
    items.truncate(FOUND_MAX);
    let recalled = recall::recall(world, text, None)?;
    let is_about = |found: &RecalledMemory| recalled.advise || words.are_in_memory(found);
    let memories = recalled.results.iter().filter(|found| is_about(found));
    let memories = memories.take(FOUND_MAX).map(FoundMemory::of_result);
    Ok(FoundThings {
        items,
        more_items,
        memories: memories.collect(),
    })
}

impl FoundMemory {
    fn of_result(found: &RecalledMemory) -> Self {
        let memory = &found.row.memory;
        let title = memory.title.as_deref().unwrap_or(&memory.content);
        Self {
            id: found.row.id.clone(),
            kind: memory.kind,
            title: shorten_title(title),
        }
    }
}

fn shorten_title(title: &str) -> String {
    let line = title.trim().lines().next().unwrap_or_default();
    truncate_chars(line, TITLE_CHARS_MAX)
}

/// Words of which a text has to have all, wherever they stand in it.
struct SearchWords(Vec<String>);

impl SearchWords {
    fn parse(text: &str) -> Self {
        Self(text.split_whitespace().map(str::to_lowercase).collect())
    }

    fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().all(|word| text.contains(word))
    }

    fn are_in_memory(&self, found: &RecalledMemory) -> bool {
        let memory = &found.row.memory;
        let title = memory.title.as_deref().unwrap_or_default();
        self.are_in(&format!("{} {title} {}", found.row.id, memory.content))
    }

    fn find_item(&self, run: &str, row: &ItemRow, now: Timestamp) -> Option<FoundItem> {
        let title = title_of_item(row);
        let name = format!("{} {}", row.node, title.as_deref().unwrap_or_default());
        let in_prompt = !self.are_in(&name);
        if in_prompt {
            let prompt = row.plan.prompt.as_deref()?;
            self.are_in(&format!("{name} {prompt}")).then_some(())?;
        }
        Some(FoundItem {
            item: format!("{run}:{}", row.node),
            title: title.as_deref().map(shorten_title),
            state: row.state,
            taken_by: row.hold_at(now).map(|hold| hold.by.clone()),
            in_prompt,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_have_to_be_there_in_any_order_and_case() {
        let check = |words: &str, is_found: bool| {
            let found = SearchWords::parse(words).are_in("login-page Add the Login page");
            assert_eq!(found, is_found, "{words}");
        };
        check("page LOGIN", true);
        check("log add", true);
        check("login logout", false);
    }
}
