//! `piton issue`: the issues of a run, and what people say of them.

use piton_core::ItemState;
use piton_engine::verbs::issue::{
    self, IssueDetails, IssueFilter, IssueMove, MovedIssue, NewIssue,
};
use piton_engine::{CommandExit, Failure, World};

use super::{show_notice, show_outcome};
use crate::args::{IssueAdd, IssueCommand, IssueList};
use crate::output::{BOLD, CliOutput, DIM, GREEN, RED, YELLOW};
use crate::show::progress::first_line;
use crate::show::table;

pub(super) fn run_issue_command(
    world: &World,
    command: IssueCommand,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let (name, what, why) = match command {
        IssueCommand::Add(args) => return add_issue(world, args, output),
        IssueCommand::List(args) => return list_issues(world, args, false, output),
        IssueCommand::Ready(args) => return list_issues(world, args, true, output),
        IssueCommand::Show { issue } => {
            let shown = issue::show(world, &issue)?;
            if output.json {
                output.print_json(&shown);
            } else {
                output.print_data(&render_issue(&shown));
            }
            return Ok(CommandExit::Done);
        }
        IssueCommand::Start(args) => (args.issue, IssueMove::Start, args.why),
        IssueCommand::Review { issue, pr } => (issue, IssueMove::Review { pr }, None),
        IssueCommand::Done(args) => (args.issue, IssueMove::Done, args.why),
        IssueCommand::Fail(args) => (args.issue, IssueMove::Fail, args.why),
        IssueCommand::Block { issue, on } => (issue, IssueMove::Block { on }, None),
        IssueCommand::Unblock { issue, on } => (issue, IssueMove::Unblock { on }, None),
    };
    let moved = issue::move_issue(world, &name, &what, why, &mut |notice| {
        show_notice(world, &notice, output);
    })?;
    Ok(show_moved_issue(&moved, output))
}

fn add_issue(
    world: &World,
    args: IssueAdd,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let new = NewIssue {
        id: args.id,
        title: args.title,
        description: args.description,
        repo: args.repo,
        blocked_by: args.on,
    };
    let moved = issue::add(world, args.run.as_deref(), &new, &mut |notice| {
        show_notice(world, &notice, output);
    })?;
    Ok(show_moved_issue(&moved, output))
}

fn show_moved_issue(moved: &MovedIssue, output: &mut CliOutput) -> CommandExit {
    if output.json {
        output.print_json(moved);
        return CommandExit::Done;
    }
    let issue = &moved.issue.issue;
    output.note(&format!("{}: {}", issue.id, issue_state_word(&moved.issue)));
    show_outcome(&moved.outcome, output)
}

/// Where an issue stands, in the word of the file where that has one.
fn issue_state_word(shown: &IssueDetails) -> String {
    let issue = &shown.issue;
    let word = issue.file_state.as_deref();
    word.unwrap_or(issue.state.as_str()).to_owned()
}

fn render_issue(shown: &IssueDetails) -> String {
    let issue = &shown.issue;
    let waits = issue.waits_for.iter();
    let waits: Vec<String> = waits
        .map(|other| format!("{} ({})", other.id, other.state))
        .collect();
    let title = first_line(issue.title.as_deref().unwrap_or_default());
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}  {title}", first_line(&issue.id))];
    let mut add = |name: &str, text: Option<String>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            lines.push(format!("  {name:<10} {}", first_line(&text)));
        }
    };
    add("status", Some(issue_state_word(shown)));
    add("run", Some(shown.run.clone()));
    add("repo", issue.repo.clone());
    add("pr", issue.pr.clone());
    add("waits for", Some(waits.join(", ")));
    add("blocks", Some(shown.blocks.join(", ")));
    add("now", shown.human.clone());
    add("error", shown.error.clone());
    lines.push(String::new());
    lines.join("\n")
}

fn list_issues(
    world: &World,
    args: IssueList,
    is_ready: bool,
    output: &mut CliOutput,
) -> Result<CommandExit, Failure> {
    let filter = IssueFilter {
        state: args.status,
        repo: args.repo,
        is_ready,
    };
    let found = issue::list(world, args.run.as_deref(), &filter)?;
    if output.json {
        output.print_json(&found);
        return Ok(CommandExit::Done);
    }
    let rows = found.issues.iter().map(|issue| {
        let style = match issue.state {
            ItemState::Done => GREEN,
            ItemState::Failed | ItemState::Blocked => RED,
            ItemState::Waiting => YELLOW,
            ItemState::Skipped | ItemState::Dropped | ItemState::Pending => DIM,
            ItemState::Ready | ItemState::Working => BOLD,
        };
        let file = issue.file_state.as_deref();
        let file = file.filter(|word| *word != issue.state.as_str());
        let waits: Vec<String> = issue
            .waits_for
            .iter()
            .map(|other| format!("{} ({})", other.id, other.state))
            .collect();
        let waits = if waits.is_empty() {
            String::new()
        } else {
            format!("waits for {}", waits.join(", "))
        };
        [
            first_line(&issue.id),
            format!("{style}{}{style:#}", issue.state),
            file.unwrap_or_default().to_owned(),
            first_line(issue.repo.as_deref().unwrap_or_default()),
            first_line(issue.pr.as_deref().unwrap_or_default()),
            first_line(issue.title.as_deref().unwrap_or_default()),
            first_line(&waits),
        ]
    });
    output.print_data(&table::render(rows));
    if found.issues.is_empty() {
        output.note(&format!("run `{}` has no such issue", found.run));
    }
    Ok(CommandExit::Done)
}
