//! The rules of the core, held up against worlds small enough to hold in the hand.

mod dependencies;
mod gates;
mod leases;
mod people;

mod plans;
mod pointer;
mod runner;
mod sequences;
mod simulation;
mod transitions;
mod world;
