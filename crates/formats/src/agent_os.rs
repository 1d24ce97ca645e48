//! `.agent-os/progress/`: the log of sessions that Agent OS keeps.
//!
//! [`detect`] says what a text at the path of `progress.json` is, [`import_log`]
//! what it holds, [`render_rows`] writes entries into it; [`render_markdown`] makes the
//! `progress.md` beside it, and [`archive_old_entries`] and [`merge_archive`] move what is
//! old to a file for each month. [`SHAPE`] is what the format demands
//! strictly; reading takes more. The page: `docs/formats/agent-os.md`.

mod archive;
mod detect;
mod element;
mod formats;
mod import;
mod markdown;
mod metadata;
mod pages;
mod render;
mod shape;

pub use archive::{archive_old_entries, import_archive, merge_archive};
pub use detect::detect;
pub use formats::PROJECT;
pub use import::import_log;
pub use markdown::render_markdown;
pub use render::{reimport_row, render_rows};
pub(crate) use shape::ENTRY_KEYS;
pub use shape::{FACE, ROOT_NAME, SHAPE};
