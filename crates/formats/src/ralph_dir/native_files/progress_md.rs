//! `progress.md` as a face: the sessions, and what each got done.
//!
//! What piton shows carries the name of its entry in a comment ([`PitonNote`]), so a
//! second showing finds it there and a taking passes it over. What others wrote
//! has no names; it is known by a mark made of its words and its session.
//!
//! [`PitonNote`]: crate::ralph_dir::progress::PitonNote

mod import;
mod plan;
mod render;

pub use import::import_changes;
pub use render::{find_ends, render_rows};

use crate::ralph_dir::SourceText;
use crate::ralph_dir::progress::{self, RalphProgress};

/// What the mark of an entry that was taken from this file begins with.
const MARK: &str = "progress.md:";

fn parse_text(text: &str) -> RalphProgress {
    progress::parse_progress_md(SourceText { name: "", text }).0
}
