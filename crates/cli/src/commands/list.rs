//! `piton list`.

use clap::{ArgAction, Args as ClapArgs};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::verbs::item_view::ItemView;
use piton_engine::verbs::items::{self, ItemFilter, ItemList};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput};
use crate::show::item::render_item_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// List only items that are not finished
    #[arg(long, conflicts_with = "ready")]
    open: bool,
    /// List only items that are ready to start
    #[arg(long)]
    ready: bool,
    /// List only items with this label (can be repeated)
    #[arg(long = "label", value_name = "LABEL", action = ArgAction::Append)]
    labels: Vec<String>,
    /// The plan: the name of its run, or its path [default: every unfinished run, and the list
    /// of this project]
    #[arg(long = "in", value_name = "PLAN")]
    plan: Option<String>,
}

impl TypedCommand for ListArgs {
    const ABOUT: &'static str = "List items with their state";
    const AFTER_HELP: &'static str = "Examples:\n  piton list\n  piton list --open --in prd.json\n  piton list --label bug\n  piton list --ready --json | jq -r '.items[].node'";

    fn permission(&self) -> Permission {
        Permission::new("piton list", CommandAccess::Read)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let filter = match (self.ready, self.open) {
            (true, _) => ItemFilter::Ready,
            (false, true) => ItemFilter::Open,
            (false, false) => ItemFilter::All,
        };
        let found = items::list(call.world, self.plan.as_deref(), filter, &self.labels)?;
        call.print(&found, show_items);
        Ok(CommandExit::Done)
    }
}

fn show_items(found: &ItemList, world: &World, output: &mut CliOutput) {
    let mut text = String::new();
    let mut run = None;
    for item in &found.items {
        if run != Some(&item.run) {
            run = Some(&item.run);
            text.push_str(&format!("{BOLD}{}{BOLD:#}\n", item.run));
        }
        // What stands above an item is not printed: its own id may be that of others.
        let id = Node::shown(&item.node);
        let item = ItemView { id, ..item.clone() };
        text.push_str(&format!("  {}\n", render_item_line(&item, world.now())));
    }
    output.print_data(&text);
    if let Some(why) = &found.none_because {
        output.print_note(why);
    }
}
