//! Where something is added to a plan, as it is typed.

use clap::{Args as ClapArgs, ValueEnum};
use piton_engine::model::request::InsertPosition;

#[derive(Debug, ClapArgs)]
pub(crate) struct PlaceArgs {
    /// Where to add it
    #[arg(long, conflicts_with_all = ["after", "before"])]
    at: Option<AtArg>,
    /// Add it after this node
    #[arg(long, value_name = "NODE", conflicts_with = "before")]
    after: Option<String>,
    /// Add it before this node
    #[arg(long, value_name = "NODE")]
    before: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AtArg {
    /// After the current node
    AfterCurrent,
    /// At the end of the current phase
    EndOfPhase,
    /// After everything else
    EndOfWorkflow,
}

impl PlaceArgs {
    /// The position; none where none was typed.
    pub(crate) fn position(self) -> Option<InsertPosition> {
        let at = self.at.map(|at| match at {
            AtArg::AfterCurrent => InsertPosition::AfterCurrent,
            AtArg::EndOfPhase => InsertPosition::EndOfPhase(None),
            AtArg::EndOfWorkflow => InsertPosition::EndOfWorkflow,
        });
        let after = self.after.map(InsertPosition::After);
        at.or(after).or(self.before.map(InsertPosition::Before))
    }
}
