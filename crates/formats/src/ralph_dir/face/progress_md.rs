//! `progress.md` as a face: the sessions, and what each got done.
//!
//! What piton shows carries the name of its entry in a comment ([`PitonNote`]), so a
//! second showing finds it there and a taking passes it over. What others wrote
//! has no names; it is known by a mark made of its words and its session.
//!
//! [`PitonNote`]: crate::ralph_dir::progress::PitonNote

mod plan;
mod show;
mod take;

pub use super::detect_words as detect;
pub use show::{find_ends, render_rows};
pub use take::import_changes;

use crate::ralph_dir::SourceText;
use crate::ralph_dir::progress::{self, RalphProgress};

/// What the mark of an entry that was taken from this file begins with.
const MARK: &str = "progress.md:";

fn parse_text(text: &str) -> RalphProgress {
    progress::parse_progress_md(SourceText { name: "", text }).0
}
