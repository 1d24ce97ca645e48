//! How answers look to people.

pub(crate) mod account;
pub(crate) mod adoption;
pub(crate) mod attempt;
pub(crate) mod costs;
pub(crate) mod count;
pub(crate) mod entry;
pub(crate) mod item;
pub(crate) mod live;
pub(crate) mod outcome;
pub(crate) mod place;
pub(crate) mod problems;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod status;
pub(crate) mod table;
