//! `piton tail`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::process::shell::quote_word;
use piton_engine::verbs::transcript::{self, AgentsAtWork, FollowMode, TranscriptForm};
use piton_engine::{CommandExit, Failure};

use super::transcript::{print_part, show_end};
use crate::invocation::{Invocation, TypedCommand};
use crate::output::{CliOutput, DIM, OutputFlow};
use crate::show::progress::first_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct TailArgs {
    /// An item, for its last attempt, or an attempt, named as for `piton show` [default: the
    /// agent at work that began last]
    item: Option<String>,
    /// Print what there is and end
    #[arg(long)]
    no_follow: bool,
}

impl TypedCommand for TailArgs {
    const ABOUT: &'static str = "Follow what an agent does until its attempt ends";
    const AFTER_HELP: &'static str = "Prints the text of the agent in full, each tool call on one line, and tool results shortened.\nWith --json one object is printed a line. Ctrl-C leaves; the agent goes on.\n\nExamples:\n  piton tail\n  piton tail auth-login\n  piton tail auth-login --no-follow\n  piton tail --json | jq -r 'select(.kind == \"call\").what'";

    fn permission(&self) -> Permission {
        Permission::new("piton tail", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let attempt = match self.item {
            Some(item) => item,
            None => {
                let at_work = transcript::agents_at_work(call.world)?;
                if !call.output.json {
                    show_choice(&at_work, call.output);
                }
                at_work.attempt
            }
        };
        let follow = match self.no_follow {
            true => FollowMode::Now,
            false => FollowMode::UntilOver,
        };
        let form = TranscriptForm::Parts;
        let read = transcript::transcript(call.world, &attempt, form, follow, &mut |part| {
            print_part(&part, call.output) == OutputFlow::On
        })?;
        if !call.output.json {
            show_end(
                &read,
                &format!("piton tail {}", quote_word(&attempt)),
                call.output,
            );
            if !read.under_way && !self.no_follow {
                let item = first_line(&read.item);
                let number = read.number;
                call.output
                    .print_note(&format!("{DIM}attempt {number} at {item} is over{DIM:#}"));
            }
        }
        Ok(CommandExit::Done)
    }
}

/// Says which agent is followed, and which others could be.
fn show_choice(at_work: &AgentsAtWork, output: &mut CliOutput) {
    let item = first_line(&at_work.item);
    output.print_note(&format!("{DIM}following the agent at {item}{DIM:#}"));
    if let Some(other) = at_work.others.first() {
        let all: Vec<String> = at_work.others.iter().map(|item| first_line(item)).collect();
        let (all, other) = (all.join(", "), first_line(other));
        output.print_hint(&format!(
            "others are at work at {all}: follow one with `piton tail {other}`"
        ));
    }
}
