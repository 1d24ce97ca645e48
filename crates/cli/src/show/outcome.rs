//! What became of a run that a person or a plan changed.

use piton_engine::model::RunState;
use piton_engine::verbs::control::ControlOutcome;

use crate::output::CliOutput;

/// How the run stands now, and what to type next.
pub(crate) fn show_outcome(outcome: &ControlOutcome, output: &mut CliOutput) {
    let state = match (outcome.state, outcome.live) {
        (RunState::Interrupted, true) => "goes on".to_owned(),
        (RunState::Interrupted, false) => "may go on".to_owned(),
        (state, _) => format!("is {state}"),
    };
    for added in &outcome.added {
        output.print_note(&format!("added `{added}` to the plan"));
    }
    output.print_note(&format!("run `{}` {state}", outcome.run));
    for warning in &outcome.warnings {
        output.print_warning(warning);
    }
    if let Some(hint) = &outcome.hint {
        output.print_hint(hint);
    }
}

/// The same where a person asked for it: a runner at work does `what` in its time.
pub(crate) fn show_control(outcome: &ControlOutcome, what: &str, output: &mut CliOutput) {
    if outcome.asked {
        output.print_note(&format!("run `{}` {what}", outcome.run));
    } else {
        show_outcome(outcome, output);
    }
}
