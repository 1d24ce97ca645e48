//! The rules of the core, held up against worlds small enough to hold in the hand.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test cares for one kind and not for all the others"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a command written where it is used reads better without a borrow"
)]

mod asking;
mod before;
mod claims;
mod dependencies;
mod doctor;
mod editing;
mod edits;
mod gates;
mod leases;
mod marks;
mod people;

mod plans;
mod pointer;
mod recall;
mod recovering;
mod remembering;
mod runner;
mod sequences;
mod simulation;
mod taking;
mod transitions;
mod world;
