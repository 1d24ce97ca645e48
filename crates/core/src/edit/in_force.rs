//! Whether all is as an edit says.

use super::Edit;
use crate::id::RunId;
use crate::item::{ItemRow, ItemState};
use crate::tables::Tables;

impl Edit {
    /// Whether all is as it says.
    #[must_use]
    pub fn is_in_force(&self, tables: &Tables, run: RunId) -> bool {
        let row = self.target_node().and_then(|node| tables.item(run, node));
        match (self, row, tables.run(run)) {
            (Self::SetRepository { repository, .. }, Some(row), Some(run)) => {
                row.plan.repository == run.plan.policy.resolve_repository(repository.clone())
            }
            (edit, Some(row), _) => edit.is_in_force_for_item(row),
            (Self::SetNative { node: None, native }, None, Some(row)) => row.plan.native == *native,
            (Self::SetPolicy(policy), None, Some(row)) => row.plan.policy == **policy,
            (Self::SetRunState { to }, None, Some(row)) => row.state == *to,
            _ => false,
        }
    }

    fn is_in_force_for_item(&self, row: &ItemRow) -> bool {
        match self {
            Self::SetState { to, .. } => {
                let is_open = |state| matches!(state, ItemState::Pending | ItemState::Ready);
                let is_so = is_open(row.state) || row.current_wait().is_some();
                row.state == *to || (is_open(*to) && is_so)
            }
            Self::SetRetries { retries, .. } => row.tries.retries == *retries,
            Self::SetPrompt { prompt, .. } => row.plan.prompt == *prompt,
            Self::SetModel { model, .. } => row.plan.model == *model,
            Self::SetGate { gate, .. } => row.plan.gate == *gate,
            Self::SetBreakpoint { breakpoint, .. } => row.plan.breakpoint == *breakpoint,
            Self::SetWait { wait, .. } => row.plan.wait.as_deref() == wait.as_ref(),
            Self::SetSummary { summary, .. } => row.summary == *summary,
            Self::SetDependsOn { depends_on, .. } => row.plan.depends_on == *depends_on,
            Self::SetClaims { claims, .. } => row.plan.claims == *claims,
            Self::SetScope { scope, .. } => row.plan.scope == *scope,
            Self::SetPresent { present, .. } => *present,
            Self::SetTags { tags, .. } => row.plan.tags == *tags,
            Self::SetRepository { .. }
            | Self::Take { .. }
            | Self::Insert { .. }
            | Self::Order { .. }
            | Self::SetNative { .. }
            | Self::SetPolicy(_)
            | Self::AddRequest(_)
            | Self::AnswerRequest { .. }
            | Self::SetRunState { .. } => false,
        }
    }
}
