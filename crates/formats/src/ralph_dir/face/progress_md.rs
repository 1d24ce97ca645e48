//! `progress.md` as a face: the sessions, and what each got done.
//!
//! What piton shows carries the name of its entry in a comment ([`Own`]), so a
//! second showing finds it there and a taking passes it over. What others wrote
//! has no names; it is known by a mark made of its words and its session.
//!
//! [`Own`]: crate::ralph_dir::progress::Own

mod plan;
mod show;
mod take;

pub use super::detect_words as detect;
pub use show::{ends, show};
pub use take::take;

use crate::ralph_dir::Source;
use crate::ralph_dir::progress::{self, Progress};

/// What the mark of an entry that was taken from this file begins with.
const MARK: &str = "progress.md:";

fn read(text: &str) -> Progress {
    progress::read(Source { name: "", text }).0
}
