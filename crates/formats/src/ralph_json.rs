//! `.ralph/progress.json`: attempts, learnings and patterns of a project.
//!
//! [`detect`] says what a text at that path is, [`import_progress`] what it holds, and
//! [`render_rows`] writes attempts and memory into it. [`SHAPE`] is what the format
//! demands strictly; reading takes more. The page: `docs/formats/ralph-json.md`.

mod attempts;
mod detect;
mod element;
mod formats;
mod import;
mod memories;
mod migrate;
mod render;
mod shape;

pub use detect::detect;
pub(crate) use element::{CONTEXT_KEYS, ENTRY_KEYS};
pub use formats::PROJECT;
pub use import::import_progress;
pub use migrate::learnings_of_progress_txt;
pub use render::{reimport_row, render_rows};
pub use shape::{FACE, ROOT_NAME, SHAPE};
