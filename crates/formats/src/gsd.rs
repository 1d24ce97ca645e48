//! GSD's `.planning/ROADMAP.md`: phases that wait for each other, each with plans that
//! are carried out in waves.
//!
//! A plan is a line `- [ ] 25-01-PLAN.md …` with a file of that name in the folder of its
//! phase; its wave stands there. The lines of a roadmap that sum up its phases
//! (`- [ ] **Phase 25: …**`) are no plans. A plan with a `25-01-SUMMARY.md` is done.

mod formats;
mod read;

pub use formats::PLAN;
