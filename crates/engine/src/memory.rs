//! What is looked up in the memory of a project around an attempt: what its agent is
//! told before it, what follows a failure, and who still waits for a person.
//!
//! The rules are those of `piton_core`; how a prompt is written: see
//! [`crate::agents::prompt`].

pub(crate) mod open_blockers;
pub mod preparation;
pub mod recall;
pub mod recovery;
