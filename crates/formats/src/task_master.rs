//! Task Master's `.taskmaster/tasks/tasks.json`: lists of tasks by tag, each with its
//! status, what it depends on, and subtasks.
//!
//! How the file is written: <https://docs.task-master.dev>. The older form has its tasks
//! at the top of the document, without a tag.

mod formats;
mod read;

pub use formats::PLAN;
