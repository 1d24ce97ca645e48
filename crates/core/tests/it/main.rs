//! The rules of the core, held up against worlds small enough to hold in the hand.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test cares for one kind and not for all the others"
)]

use piton_simkit::{edits, plans, world};

mod agent_review;
mod approval;
mod asking;
mod before;
mod by_hand;
mod claims;
mod dependencies;
mod doctor;
mod dropping;
mod editing;
mod gates;
mod joining;
mod landing;
mod lanes;
mod leases;
mod losing;
mod marks;
mod merges;
mod merging;
mod notifications;
mod people;
mod pointer;
mod pull_requests;
mod recall;
mod recovering;
mod redaction;
mod remembering;
mod repositories;
mod requests;
mod runner;
mod sequences;
mod simulation;
mod taking;
mod terminal;
mod transitions;
mod waits;
