//! What the agent of an iteration hook is told: the prompt of the hook and
//! nothing else, with its variables filled in.

use piton_core::attempt::Transcript;
use piton_core::{ItemRow, Need, Role};

use super::runner_state::Runner;
use crate::failure::Failure;

impl Runner<'_, '_> {
    /// The prompt of the hook that was just recorded as started at an item.
    pub(super) fn render_hook_prompt(&self, item: &ItemRow) -> Result<String, Failure> {
        let run = item.work.hook_runs.last();
        let policy = self.lp.run().map(|row| &row.plan.policy);
        let hook = policy.zip(run).and_then(|(policy, run)| {
            let mut hooks = policy.iteration_hooks.iter();
            hooks.find(|hook| hook.id == run.id)
        });
        let transcript = self.path_of_last_transcript(item)?;
        let iteration = run.map_or(0, |run| run.iteration).to_string();
        let variables = [
            ("ITERATION_TRANSCRIPT", transcript.as_str()),
            ("ITERATION", iteration.as_str()),
            ("SPRINT_ID", self.prompts.sprint_id.as_str()),
            ("PHASE_ID", item.plan.id.as_str()),
        ];
        let prompt = hook.map_or("", |hook| hook.prompt.as_str());
        Ok(fill_variables(prompt, &variables))
    }

    /// Where the transcript of the last attempt that worked on an item is; empty
    /// where none could be kept.
    fn path_of_last_transcript(&self, item: &ItemRow) -> Result<String, Failure> {
        let needs = [Need::AttemptsAt(item.run, item.node.clone())];
        let rows = self.session.load(&needs)?;
        let work = rows.tables.attempts().filter(|row| {
            row.run == item.run && row.node == item.node && row.role != Role::IterationHook
        });
        let last = work.max_by_key(|row| row.number);
        let transcript = last
            .and_then(|row| row.report.as_ref())
            .and_then(|report| report.program.transcript.as_ref());
        let path = |kept: &Transcript| self.session.project.home.join(&kept.path);
        let path = transcript.map(path).unwrap_or_default();
        Ok(path.to_string_lossy().into_owned())
    }
}

/// Replaces each `$NAME`; of two names that fit, the one that stands first.
fn fill_variables(template: &str, variables: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let found = variables
            .iter()
            .find_map(|(name, value)| Some((value, behind.strip_prefix(name)?)));
        match found {
            Some((value, left)) => {
                out.push_str(value);
                rest = left;
            }
            None => {
                out.push('$');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::fill_variables;

    #[track_caller]
    fn check(template: &str, expect: &str) {
        let variables = [
            ("ITERATION_TRANSCRIPT", "/t/$ITERATION.log"),
            ("ITERATION", "3"),
            ("PHASE_ID", "qa"),
        ];
        assert_eq!(fill_variables(template, &variables), expect);
    }

    #[test]
    fn the_longest_name_is_meant_and_values_are_not_read_again() {
        check("$ITERATION_TRANSCRIPT: $ITERATION", "/t/$ITERATION.log: 3");
        check("$PHASE_ID$PHASE_ID", "qaqa");
    }

    #[test]
    fn other_dollars_stay() {
        check("costs $5, $HOME, $", "costs $5, $HOME, $");
    }
}
