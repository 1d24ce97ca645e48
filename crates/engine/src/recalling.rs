//! What the memory has to say about a text: the candidates of the store, scored
//! by the core.

use jiff::Timestamp;
use piton_core::memory::MemoryRow;

use crate::failure::Failure;
use crate::session::Session;

/// What the memory has to say.
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// Whether the first results are worth giving to somebody.
    pub advise: bool,
    /// What was found, the best first.
    pub results: Vec<Remembered>,
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// What it is.
    pub row: MemoryRow,
    /// How well it answers; comparable within one recall only.
    pub score: f64,
    /// What of the text it answers.
    pub why: Vec<String>,
}

/// What the memory has to say about a text, as of a time.
///
/// # Errors
///
/// When the store cannot be read.
pub fn recall(_: &Session<'_>, _: &str, _: Timestamp) -> Result<Recalled, Failure> {
    Ok(Recalled::default())
}
