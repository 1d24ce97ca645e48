//! Whether `done` is true: agents that lie and agents that do not, and what
//! piton concludes of each.
//!
//! | what | where |
//! |---|---|
//! | the table of agents, as data | [`cases`] |
//! | what a case is made of | [`case`] |
//! | the plan that a case is tried with | [`plan`] |
//! | the folder of one row | [`scene`] |
//! | what the work tree shows | [`judge`] |
//! | what `piton run` makes of it | [`piton`] |
//! | what two simple loops make of it | [`plain_loop`] |
//! | one row, from the folder to its conclusion | [`row`] |
//! | all rows | [`table`] |
//! | what must hold | [`totals`] |
//! | the rules of piton that can be switched off | [`rules`] |
//! | the same table with one of them switched off | [`rule_off`] |
//! | what is printed | [`report`] |
//!
//! Nothing here reads what piton keeps: `piton status --json` gives what it
//! concluded, and the work tree gives what is true.

pub mod case;
pub mod cases;
pub mod judge;
pub mod piton;
pub mod plain_loop;
pub mod plan;
pub mod process;
pub mod report;
pub mod row;
pub mod rule_off;
pub mod rules;
pub mod scene;
pub mod table;
pub mod totals;
