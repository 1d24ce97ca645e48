//! What becomes of the `progress.txt` of earlier times.

use jiff::Timestamp;
use piton_core::memory::{LearningType, Memory, MemoryKind};

/// The text as a learning, as seed 000 has it: `learning-0000`, from the item
/// `migration`.
///
/// Nothing in the text is told apart: it was written for people.
#[must_use]
pub fn from_progress_txt(text: &str, created_at: Timestamp) -> Memory {
    Memory {
        id: Some(MemoryKind::Learning.id(0)),
        topic: Some(LearningType::CodebasePattern.as_str().to_owned()),
        context: Some("Migrated from progress.txt".to_owned()),
        source_item: Some("migration".to_owned()),
        learned_at: Some(created_at),
        ..Memory::bare(MemoryKind::Learning, text)
    }
}
