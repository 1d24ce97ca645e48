//! What a runner may start of its project. Something new, that an agent or a pull brought
//! while it worked, stops the run for a person: nothing of it is started.

use piton_core::trust::{ExecutablePart, part_of_hook};
use piton_core::{ItemRow, Role};

use super::runner_state::Runner;
use super::trust_questions::ask_in_inbox;
use crate::config::trust::{TrustCheck, name_plan};
use crate::failure::Failure;

impl Runner<'_, '_> {
    /// What may be started of a part; else a person is asked in the inbox.
    pub(super) fn admit_part<T>(
        &self,
        part: ExecutablePart,
        admit: impl FnOnce(&TrustCheck, ExecutablePart) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let admitted = admit(&self.job.trust, part.clone());
        admitted.map_err(|failure| self.ask_for_trust(&[part], failure))
    }

    /// The refusal of parts, of which a person is asked.
    pub(super) fn ask_for_trust(&self, parts: &[ExecutablePart], failure: Failure) -> Failure {
        let names = [&self.row.name, &self.row.plan.source].map(|name| Some(name.as_str()));
        if let Err(fault) = ask_in_inbox(self.session, &names, parts) {
            tracing::warn!(%fault, "the question about trust could not be asked");
        }
        name_plan(failure, Some(&self.row.name))
    }

    /// The hook that the agent of this role is started for; none for another role.
    pub(super) fn hook_part(&self, item: &ItemRow, role: Role) -> Option<ExecutablePart> {
        let run = item
            .work
            .hook_runs
            .last()
            .filter(|_| role == Role::IterationHook)?;
        let policy = &self.lp.run()?.plan.policy;
        let hook = policy
            .iteration_hooks
            .iter()
            .find(|hook| hook.id == run.id)?;
        Some(part_of_hook(&self.row.plan.source, hook))
    }
}
