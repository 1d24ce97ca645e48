//! `piton issue`.

use clap::{ArgAction, Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::ItemState;
use piton_engine::verbs::issue::{
    self, IssueDetails, IssueFilter, IssueMove, MovedIssue, NewIssue, RunIssues,
};
use piton_engine::{CommandExit, Failure, Notice, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM, GREEN, RED, YELLOW};
use crate::show::outcome::show_outcome;
use crate::show::progress::first_line;
use crate::show::table;

#[derive(Debug, ClapArgs)]
pub(crate) struct IssueArgs {
    #[command(subcommand)]
    command: IssueCommand,
}

#[derive(Debug, Subcommand)]
enum IssueCommand {
    /// Add an issue
    #[command(
        after_help = "Examples:\n  piton issue add shop#7 'Filter the list'\n  piton issue add shop#8 'Show totals' --on shop#7 --repo shop --description 'Below the list.'"
    )]
    Add(IssueAdd),
    /// List issues with their status and dependencies
    #[command(
        after_help = "Examples:\n  piton issue list\n  piton issue list payments --status awaiting_human\n  piton issue list --repo shop --json | jq -r '.issues[].id'"
    )]
    List(IssueList),
    /// List the issues that are ready to start
    #[command(
        after_help = "Examples:\n  piton issue ready\n  piton issue ready --repo shop --json | jq -r '.issues[0].id'"
    )]
    Ready(IssueList),
    /// Start work on an issue yourself
    #[command(
        after_help = "No runner starts the issue; `piton plan retry ID` gives it back. For an issue in review, or one\nthat waits for a person, the command records that more work is needed.\n\nExamples:\n  piton issue start shop#7\n  piton issue start payments:shop#7 --why 'needs the staging key'"
    )]
    Start(IssueWhy),
    /// Move an issue in progress to review
    #[command(
        after_help = "Examples:\n  piton issue review shop#7\n  piton issue review shop#7 --pr ada/shop#12"
    )]
    Review {
        /// The issue: [RUN:]ID
        issue: String,
        /// The pull request, as org/repo#N
        #[arg(long)]
        pr: Option<String>,
    },
    /// Mark an issue as done
    #[command(
        after_help = "Issues that waited only for this one become ready. The evidence is the word of a person, as\nfor a mark in the file.\n\nExamples:\n  piton issue done shop#7\n  piton issue done shop#7 --json | jq .then.state"
    )]
    Done(IssueWhy),
    /// Mark an issue in progress as failed
    #[command(after_help = "Example:\n  piton issue fail shop#7 --why 'the API is gone'")]
    Fail(IssueWhy),
    /// Make an issue wait for another one
    #[command(after_help = "Example:\n  piton issue block shop#8 --on shop#7")]
    Block {
        /// The issue: [RUN:]ID
        issue: String,
        /// The issue that it waits for
        #[arg(long, value_name = "ID")]
        on: String,
    },
    /// Let an issue proceed without another one, even a failed one
    #[command(
        after_help = "Examples:\n  piton issue unblock shop#8\n  piton issue unblock shop#8 --on shop#7"
    )]
    Unblock {
        /// The issue: [RUN:]ID
        issue: String,
        /// The issue that it waits for [default: the only one that is open]
        #[arg(long, value_name = "ID")]
        on: Option<String>,
    },
    /// Show an issue, its dependencies and its dependents
    #[command(
        after_help = "`piton show ID` shows the attempts and all other details.\n\nExamples:\n  piton issue show shop#7\n  piton issue show shop#7 --json | jq -r .prompt"
    )]
    Show {
        /// The issue: [RUN:]ID
        issue: String,
    },
}

/// An issue to be added.
#[derive(Debug, ClapArgs)]
struct IssueAdd {
    /// The id of the issue
    id: String,
    /// The title, in one line
    title: String,
    /// The run [default: the only one that has issues]
    #[arg(long)]
    run: Option<String>,
    /// The repository of the issue [default: the only one]
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// An issue that it waits for (can be repeated)
    #[arg(long, alias = "blocked-by", value_name = "ID", action = ArgAction::Append)]
    on: Vec<String>,
    /// Details for the person or agent that works on it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

/// Which issues are listed.
#[derive(Debug, ClapArgs)]
struct IssueList {
    /// The run [default: the only one that has issues]
    run: Option<String>,
    /// List only issues with this status, in the word of piton or of the file
    #[arg(long, alias = "state")]
    status: Option<String>,
    /// List only issues of this repository
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
}

/// An issue, and why something is said of it.
#[derive(Debug, ClapArgs)]
struct IssueWhy {
    /// The issue: [RUN:]ID
    issue: String,
    /// The reason
    #[arg(long)]
    why: Option<String>,
}

impl TypedCommand for IssueArgs {
    const ABOUT: &'static str = "List, add and update the issues of a run";
    const AFTER_HELP: &'static str = "The issues are those of a state.json. The file shows every change at once.\n\nExamples:\n  piton issue ready\n  piton issue start shop#7\n  piton issue done shop#7\n  piton issue list --status failed --json | jq -r '.issues[].id'";

    fn permission(&self) -> Permission {
        match &self.command {
            IssueCommand::Add(args) => Permission::new("piton issue add", CommandAccess::Person)
                .for_path(args.run.as_ref()),
            IssueCommand::List(_) => Permission::new("piton issue list", CommandAccess::Read),
            IssueCommand::Ready(_) => Permission::new("piton issue ready", CommandAccess::Read),
            IssueCommand::Show { .. } => Permission::new("piton issue show", CommandAccess::Read),
            IssueCommand::Start(_) => Permission::new("piton issue start", CommandAccess::Person),
            IssueCommand::Review { .. } => {
                Permission::new("piton issue review", CommandAccess::Person)
            }
            IssueCommand::Done(_) => Permission::new("piton issue done", CommandAccess::Person),
            IssueCommand::Fail(_) => Permission::new("piton issue fail", CommandAccess::Person),
            IssueCommand::Block { .. } => {
                Permission::new("piton issue block", CommandAccess::Person)
            }
            IssueCommand::Unblock { .. } => {
                Permission::new("piton issue unblock", CommandAccess::Person)
            }
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let (name, what, why) = match self.command {
            IssueCommand::Add(args) => return add_issue(args, call),
            IssueCommand::List(args) => return list_issues(args, false, call),
            IssueCommand::Ready(args) => return list_issues(args, true, call),
            IssueCommand::Show { issue } => {
                call.print(&issue::show(call.world, &issue)?, |shown, _, output| {
                    output.print_data(&render_issue(shown));
                });
                return Ok(CommandExit::Done);
            }
            IssueCommand::Start(args) => (args.issue, IssueMove::Start, args.why),
            IssueCommand::Review { issue, pr } => (issue, IssueMove::Review { pr }, None),
            IssueCommand::Done(args) => (args.issue, IssueMove::Done, args.why),
            IssueCommand::Fail(args) => (args.issue, IssueMove::Fail, args.why),
            IssueCommand::Block { issue, on } => (issue, IssueMove::Block { on }, None),
            IssueCommand::Unblock { issue, on } => (issue, IssueMove::Unblock { on }, None),
        };
        let world = call.world;
        let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
        let moved = issue::move_issue(world, &name, &what, why, told)?;
        call.print(&moved, show_moved_issue);
        Ok(CommandExit::Done)
    }
}

fn add_issue(args: IssueAdd, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
    let new = NewIssue {
        id: args.id,
        title: args.title,
        description: args.description,
        repo: args.repo,
        blocked_by: args.on,
    };
    let world = call.world;
    let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
    let moved = issue::add(world, args.run.as_deref(), &new, told)?;
    call.print(&moved, show_moved_issue);
    Ok(CommandExit::Done)
}

fn show_moved_issue(moved: &MovedIssue, _: &World, output: &mut CliOutput) {
    let issue = &moved.issue.issue;
    output.print_note(&format!("{}: {}", issue.id, issue_state_word(&moved.issue)));
    show_outcome(&moved.outcome, output);
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
    args: IssueList,
    is_ready: bool,
    call: &mut Invocation<'_>,
) -> Result<CommandExit, Failure> {
    let filter = IssueFilter {
        state: args.status,
        repo: args.repo,
        is_ready,
    };
    let found = issue::list(call.world, args.run.as_deref(), &filter)?;
    call.print(&found, show_issues);
    Ok(CommandExit::Done)
}

fn show_issues(found: &RunIssues, _: &World, output: &mut CliOutput) {
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
        output.print_note(&format!("run `{}` has no such issue", found.run));
    }
}
