//! What the hooks of agent programs tell, and what they are told in turn.
//!
//! A program starts `piton hook EVENT` at certain moments and hands it a JSON
//! object. [`event`] reads that, [`context`] makes what is injected into a
//! session, [`finish`] says whether the item that a session holds is finished,
//! [`notes`] is the little that must outlive one such process. What is done with
//! these: [`crate::verbs::hook`]. The settings in which a hook is named:
//! [`settings`].

pub mod context;
pub mod event;
pub mod fault;
pub mod finish;
pub mod notes;
pub mod settings;
