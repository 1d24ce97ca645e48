//! The figures: one function a budget, or a few that are measured together.

mod append;
mod commit;
mod compile;
mod hook;
mod mirror;
mod read;
mod recall;
mod run;

use crate::Result;
use crate::bed::Bed;
use crate::figure::Figure;

/// Budgets that are measured together, and the function that does it.
pub type Measurement = (&'static [&'static str], fn(&Bed) -> Result<Vec<Figure>>);

/// All of them, in the order of their numbers.
pub const ALL: [Measurement; 12] = [
    (&["P1"], append::flat),
    (&["P1"], mirror::small),
    (&["P2"], append::practice),
    (&["P3"], commit::in_process),
    (&["P4"], commit::many_at_once),
    (&["P5"], read::at_rest),
    (&["P6"], recall::among_many),
    (&["P7"], mirror::large),
    (&["P8"], compile::compile),
    (&["P9"], run::per_node),
    (&["P10"], run::recovery),
    (&["P13"], hook::each),
];
