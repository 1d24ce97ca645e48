//! BMAD's `sprint-status.yaml`: a map of epics and stories to how they stand.
//!
//! An epic holds its stories: `1-2-slug` is one of `epic-1`. What a story asks for stands
//! in a file of its name beside. Retrospectives are for people, and no items.

mod formats;
mod read;

pub use formats::PLAN;
