//! The `.ralph/` directory: what sessions did, what they learned, what ran.
//!
//! - [`progress`]: `progress.md`, sessions and what each got done.
//! - [`native_files`]: the files as faces of the project.
//! - [`guardrails`]: `guardrails.md`, signs that are read before work begins.
//! - [`logs`]: `activity.log` and `errors.log`, a line for each thing that ran.
//! - [`iteration`]: `.iteration`, a number.
//! - [`progress_txt`]: a `progress.txt`, as far as it can be read.
//!
//! The task file beside it is [`crate::task`].

mod formats;
pub mod guardrails;
pub mod iteration;
pub mod logs;
pub mod native_files;
pub mod progress;
pub mod progress_txt;

pub use crate::markdown::EditError;
pub use crate::problem::SourceText;
pub use formats::PROJECT;
