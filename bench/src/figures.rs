//! The figures: one function a budget, or a few that are measured together.

mod append;
mod commit;
mod compile;
mod hook;
mod lists;
mod native_file;
mod node;
mod paired_unit;
mod read;
mod recall;
mod restart;

use crate::Result;
use crate::bed::Bed;
use crate::figure::Figure;

pub use paired_unit::PairedUnit;

/// Budgets that are measured together, and the function that does it.
pub type Measurement = (&'static [&'static str], fn(&Bed) -> Result<Vec<Figure>>);

/// All of them, in the order of their numbers.
pub const ALL: [Measurement; 14] = [
    (&["P1"], append::flat),
    (&["P1"], native_file::small),
    (&["P2"], append::practice),
    (&["P3"], commit::in_process),
    (&["P4"], commit::many_at_once),
    (&["P5"], read::at_rest),
    (&["P6"], recall::among_many),
    (&["P7"], native_file::large),
    (&["P7"], lists::each),
    (&["P8"], compile::compile),
    (&["P9"], node::outside_of_git),
    (&["P9"], node::in_repositories),
    (&["P10"], restart::after_kill),
    (&["P13"], hook::each),
];

/// A budget, and the work that two pitons are compared by: on the bed of the one
/// that does it, with stores that the piton of the second bed has filled.
pub type PairedMeasurement = (
    &'static str,
    for<'b> fn(&'b Bed, &Bed) -> Result<Vec<PairedUnit<'b>>>,
);

/// What two pitons are compared by, in the order of the numbers.
pub const PAIRED: [PairedMeasurement; 8] = [
    ("P1", append::paired),
    ("P5", read::paired),
    ("P6", recall::paired),
    ("P7", native_file::paired),
    ("P8", compile::paired),
    ("P9", node::paired),
    ("P10", restart::paired),
    ("P13", hook::paired),
];
