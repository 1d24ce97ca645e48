//! `piton find`.

use clap::Args as ClapArgs;
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::verbs::find::{self, FoundThings};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM};
use crate::show::item::title_suffix;
use crate::show::progress::first_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct FindArgs {
    /// Words that an item has all of, or that a memory is about
    #[arg(required = true)]
    text: Vec<String>,
}

impl TypedCommand for FindArgs {
    const ABOUT: &'static str = "Find items and memories by their words";
    const AFTER_HELP: &'static str = "Items of all runs, open and done, are found by id, title and prompt. Every id that is printed\ncan be typed.\n\nExamples:\n  piton find login\n  piton find connection refused\n  piton find login --json | jq -r '.items[].item'";

    fn permission(&self) -> Permission {
        Permission::new("piton find", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let found = find::find(call.world, &self.text.join(" "))?;
        call.print(&found, show_found);
        Ok(CommandExit::Done)
    }
}

fn show_found(found: &FoundThings, _: &World, output: &mut CliOutput) {
    let items = found.items.iter().map(|item| {
        let name = first_line(&Node::shown(&item.item));
        let title = title_suffix(item.title.as_deref());
        let state = match &item.taken_by {
            Some(by) => format!("taken by {}", first_line(by)),
            None => item.state.to_string(),
        };
        format!("{BOLD}{name}{BOLD:#}{title} {DIM}({state}){DIM:#}\n")
    });
    let memories = found.memories.iter().map(|memory| {
        let (id, title) = (first_line(&memory.id), first_line(&memory.title));
        let kind = memory.kind.as_str();
        format!("{BOLD}{id}{BOLD:#}  {title} {DIM}({kind}){DIM:#}\n")
    });
    output.print_data(&items.chain(memories).collect::<String>());
    if found.more_items > 0 {
        output.print_note(&format!("{} more items have these words", found.more_items));
    }
    if found.items.is_empty() && found.memories.is_empty() {
        output.print_note("nothing here has these words");
    }
}
