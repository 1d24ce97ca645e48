//! Native files of agent loops to and from the core types. Text in, text out.
//!
//! - [`tree`]: what a JSON or YAML document holds, with the place of every value.
//! - [`yaml`]: YAML to that tree, and a writer whose output
//!   every YAML reader takes for the same strings.
//! - [`face`]: what a file of the project has to do with the core.
//! - [`json`]: JSON to that tree, and changes written into a JSON text so that
//!   only what changed is touched.
//! - [`problem`]: what is wrong in a person's file, where, and how to mend it.
//! - [`shape`]: what a format demands strictly, as a table that is checked and
//!   printed as JSON Schema.
//! - [`sprint`]: `SPRINT.yaml` and workflows compiled to `PROGRESS.yaml`, and
//!   `PROGRESS.yaml` read and written.
//!
//! Nothing here opens a file, asks for the time or reads the environment, and
//! no input makes it panic.

pub mod face;
pub mod json;
pub mod problem;
mod report;
pub mod shape;
pub mod sprint;
pub mod tree;
pub mod yaml;
