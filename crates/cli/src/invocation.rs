//! A command under way: what each must say of itself, and what all of them share.

use clap::Args as ClapArgs;
use piton_engine::answer::Answer;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::item_view::item_of_event;
use piton_engine::verbs::journal::EventView;
use piton_engine::{CommandExit, Failure, Notice, World};

use crate::output::{CliOutput, DIM};
use crate::show::{live, progress};

/// A command as it was typed.
pub(crate) trait TypedCommand: ClapArgs {
    /// What it does, in the list of all commands.
    const ABOUT: &'static str;
    /// What stands below its help: examples, and what else is to be known.
    const AFTER_HELP: &'static str;

    /// Who may give it. What becomes of a command that its caller may not give is
    /// decided by `piton_engine::caller`; in doubt it is for a person.
    fn permission(&self) -> Permission;

    /// Whether it looks at the project, and so at its configuration.
    fn needs_config(&self) -> bool {
        true
    }

    /// Calls the verb, and shows the answer.
    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure>;
}

/// Who may give a command that changes something, or only shows what it would.
pub(crate) fn access_of_change(changes: bool) -> CommandAccess {
    if changes {
        CommandAccess::Person
    } else {
        CommandAccess::Read
    }
}

/// A command that is carried out: in which world, and where its answer goes.
pub(crate) struct Invocation<'i> {
    pub(crate) world: &'i World,
    pub(crate) output: &'i mut CliOutput,
    /// Describes what can be typed, all of it.
    pub(crate) describe: fn() -> clap::Command,
}

impl<'i> Invocation<'i> {
    /// Prints what a verb answered: as JSON where that is asked for, else as `show`
    /// does for people.
    pub(crate) fn print<A: Answer>(
        &mut self,
        answer: &A,
        show: impl FnOnce(&A, &'i World, &mut CliOutput),
    ) {
        if self.output.json {
            self.output.print_answer(answer);
        } else {
            show(answer, self.world, self.output);
        }
    }

    /// Prints the warnings that came up, before an answer that cannot be read right
    /// without them.
    pub(crate) fn print_warnings(&mut self) {
        for warning in self.world.drain_warnings() {
            self.output.print_warning(&warning);
        }
    }

    /// Shows what a verb reports while it works.
    pub(crate) fn show_notice(&mut self, notice: &Notice<'_>) {
        self.print_warnings();
        let (world, output) = (self.world, &mut *self.output);
        match notice {
            Notice::Said(text) => output.print_note(&format!("{DIM}{text}{DIM:#}")),
            Notice::Warning(text) => output.print_warning(text),
            Notice::Problems(findings) => output.print_findings(findings),
            Notice::Event(recorded, tables) if output.json => {
                output.print_answer_line(&EventView {
                    item: item_of_event(&recorded.event, tables, world.now()),
                    ..EventView::from(&recorded.record)
                });
            }
            Notice::Event(recorded, tables) => {
                let line = progress::render_event_line(recorded, tables);
                if let Some(line) = line.filter(|line| !(output.is_live() && line.is_shown_live()))
                {
                    output.print_note(&line.render(output.marks()));
                }
            }
            Notice::Progress(progress) => {
                if output.is_live() {
                    let view = live::RunView::of_progress(progress);
                    output.show_live(|screen| live::region_lines(&view, screen));
                }
            }
            Notice::Waiting(until) => {
                if let Some(until) = until {
                    let now = world.now();
                    // Whether a shorter one is seen at all depends on the machine.
                    if until.duration_since(now).as_secs() >= 1 {
                        output.print_note(&format!(
                            "{DIM}waiting {} before the next attempt{DIM:#}",
                            progress::format_wait(now, *until)
                        ));
                    }
                } else {
                    output.print_note(&format!(
                        "{DIM}waiting for a person: see `piton inbox`{DIM:#}"
                    ));
                }
            }
        }
    }
}
