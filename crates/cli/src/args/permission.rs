//! Who may give which command. What becomes of a command that its caller may
//! not give is decided by `piton_engine::caller`.
//!
//! Each command stands here by name, without a pattern that holds for all
//! others: a new one is placed by the person who adds it, or does not compile.

use std::path::Path;

use piton_engine::caller::{CommandAccess, Permission};

use super::{
    CliCommand, Deferred, FilesCommand, HookCommand, InboxCommand, IssueCommand, JournalCommand,
    LearnCommand, MergeDriverCommand, PlanCommand, SessionCommand, StoreCommand,
};

impl CliCommand {
    /// Whether it merges files that git names, and looks at nothing else.
    pub(crate) fn is_merge_driver_run(&self) -> bool {
        matches!(
            self,
            Self::Files(Deferred(FilesCommand::MergeDriver(
                MergeDriverCommand::Run(_)
            )))
        )
    }

    /// Who may give this command.
    pub(crate) fn permission(&self) -> Permission {
        match self {
            Self::Init(Deferred(args)) => {
                Permission::new("piton init", access_of_change(!args.dry_run))
            }
            Self::Run(Deferred(args)) => {
                Permission::new("piton run", access_of_change(!args.dry_run))
                    .for_path(args.plan.as_ref())
            }
            Self::Status { .. } => Permission::new("piton status", CommandAccess::Read),
            Self::Show { .. } => Permission::new("piton show", CommandAccess::Read),
            Self::Transcript(_) => Permission::new("piton transcript", CommandAccess::Read),
            Self::Next { .. } => Permission::new("piton next", CommandAccess::Read),
            Self::Inbox { command: None } => Permission::new("piton inbox", CommandAccess::Read),
            Self::Inbox {
                command: Some(InboxCommand::Ask { .. }),
            } => Permission::new("piton inbox ask", CommandAccess::Signed),
            Self::Decide(_) => Permission::new("piton decide", CommandAccess::Person),
            Self::Pause { run } => {
                Permission::new("piton pause", CommandAccess::Person).for_path(run.as_ref())
            }
            Self::Resume { run } => {
                Permission::new("piton resume", CommandAccess::Person).for_path(run.as_ref())
            }
            Self::Stop { run } => {
                Permission::new("piton stop", CommandAccess::Person).for_path(run.as_ref())
            }
            Self::Land { run } => {
                Permission::new("piton land", CommandAccess::Person).for_path(run.as_ref())
            }
            Self::Plan(Deferred(command)) => plan_permission(command),
            Self::Log(_) => Permission::new("piton log", CommandAccess::OwnItem),
            Self::Session(Deferred(command)) => session_permission(command),
            Self::Record(_) => Permission::new("piton record", CommandAccess::OwnItem),
            Self::Recent(_) => Permission::new("piton recent", CommandAccess::Read),
            Self::Prepare { .. } => Permission::new("piton prepare", CommandAccess::Read),
            Self::Recover { .. } => Permission::new("piton recover", CommandAccess::Read),
            Self::Recall(_) => Permission::new("piton recall", CommandAccess::Read),
            Self::Learn(Deferred(command)) => learn_permission(command),
            Self::Issue(Deferred(command)) => issue_permission(command),
            Self::Files(Deferred(command)) => files_permission(command),
            Self::Journal(Deferred(command)) => journal_permission(command),
            Self::Store(Deferred(command)) => store_permission(command),
            Self::Hook(Deferred(args)) => match &args.command {
                None => Permission::new("piton hook", CommandAccess::Signed),
                Some(HookCommand::Install(settings)) => {
                    Permission::new("piton hook install", access_of_change(!settings.dry_run))
                }
                Some(HookCommand::Uninstall(settings)) => {
                    Permission::new("piton hook uninstall", access_of_change(!settings.dry_run))
                }
            },
            Self::Mcp { .. } => Permission::new("piton mcp", CommandAccess::Signed),
            Self::Completions { .. } => Permission::new("piton completions", CommandAccess::Read),
            Self::Man => Permission::new("piton man", CommandAccess::Read),
        }
    }
}

/// A command that a person gives when it changes something.
fn access_of_change(changes: bool) -> CommandAccess {
    if changes {
        CommandAccess::Person
    } else {
        CommandAccess::Read
    }
}

fn plan_permission(command: &PlanCommand) -> Permission {
    match command {
        PlanCommand::Compile { sprint, output, .. } => {
            let writes = output.as_deref() != Some(Path::new("-"));
            Permission::new("piton plan compile", access_of_change(writes)).for_path(Some(sprint))
        }
        PlanCommand::Check { .. } => Permission::new("piton plan check", CommandAccess::Read),
        PlanCommand::New(_) => Permission::new("piton plan new", CommandAccess::Person),
        PlanCommand::Inject(args) => {
            Permission::new("piton plan inject", CommandAccess::Person).for_path(args.run.as_ref())
        }
        PlanCommand::AddStep { target, .. } => {
            Permission::new("piton plan add-step", CommandAccess::Person)
                .for_path(target.sprint.as_ref())
        }
        PlanCommand::Import { target, .. } => {
            Permission::new("piton plan import", CommandAccess::Person)
                .for_path(target.sprint.as_ref())
        }
        PlanCommand::Skip { .. } => Permission::new("piton plan skip", CommandAccess::Person),
        PlanCommand::Retry { .. } => Permission::new("piton plan retry", CommandAccess::Person),
        PlanCommand::Clean { .. } => Permission::new("piton plan clean", CommandAccess::Person),
    }
}

fn session_permission(command: &SessionCommand) -> Permission {
    match command {
        SessionCommand::Start { .. } => {
            Permission::new("piton session start", CommandAccess::Person)
        }
        SessionCommand::End { .. } => Permission::new("piton session end", CommandAccess::Person),
        SessionCommand::Focus { .. } => {
            Permission::new("piton session focus", CommandAccess::Person)
        }
    }
}

fn issue_permission(command: &IssueCommand) -> Permission {
    match command {
        IssueCommand::Add(args) => {
            Permission::new("piton issue add", CommandAccess::Person).for_path(args.run.as_ref())
        }
        IssueCommand::List(_) => Permission::new("piton issue list", CommandAccess::Read),
        IssueCommand::Ready(_) => Permission::new("piton issue ready", CommandAccess::Read),
        IssueCommand::Show { .. } => Permission::new("piton issue show", CommandAccess::Read),
        IssueCommand::Start(_) => Permission::new("piton issue start", CommandAccess::Person),
        IssueCommand::Review { .. } => Permission::new("piton issue review", CommandAccess::Person),
        IssueCommand::Done(_) => Permission::new("piton issue done", CommandAccess::Person),
        IssueCommand::Fail(_) => Permission::new("piton issue fail", CommandAccess::Person),
        IssueCommand::Block { .. } => Permission::new("piton issue block", CommandAccess::Person),
        IssueCommand::Unblock { .. } => {
            Permission::new("piton issue unblock", CommandAccess::Person)
        }
    }
}

fn learn_permission(command: &LearnCommand) -> Permission {
    match command {
        LearnCommand::Add(_) => Permission::new("piton learn add", CommandAccess::OwnItem),
        LearnCommand::List { .. } => Permission::new("piton learn list", CommandAccess::Read),
        LearnCommand::Show { .. } => Permission::new("piton learn show", CommandAccess::Read),
        LearnCommand::Supersede { .. } => {
            Permission::new("piton learn supersede", CommandAccess::Person)
        }
        LearnCommand::Doctor => Permission::new("piton learn doctor", CommandAccess::Read),
        LearnCommand::Import { .. } => Permission::new("piton learn import", CommandAccess::Person),
        LearnCommand::Retire { .. } => Permission::new("piton learn retire", CommandAccess::Person),
    }
}

fn files_permission(command: &FilesCommand) -> Permission {
    match command {
        FilesCommand::List { .. } => Permission::new("piton files list", CommandAccess::Read),
        FilesCommand::Check { .. } => Permission::new("piton files check", CommandAccess::Read),
        FilesCommand::Schema { .. } => Permission::new("piton files schema", CommandAccess::Read),
        FilesCommand::Sync => Permission::new("piton files sync", CommandAccess::Person),
        FilesCommand::Convert { output, .. } => {
            let writes = output != Path::new("-");
            Permission::new("piton files convert", access_of_change(writes))
        }
        FilesCommand::Migrate => Permission::new("piton files migrate", CommandAccess::Person),
        FilesCommand::MergeDriver(MergeDriverCommand::Install(settings)) => Permission::new(
            "piton files merge-driver install",
            access_of_change(!settings.dry_run),
        ),
        FilesCommand::MergeDriver(MergeDriverCommand::Uninstall(settings)) => Permission::new(
            "piton files merge-driver uninstall",
            access_of_change(!settings.dry_run),
        ),
        // An agent that merges is not asked who it is: git names the files.
        FilesCommand::MergeDriver(MergeDriverCommand::Run(_)) => {
            Permission::new("piton files merge-driver run", CommandAccess::Read)
        }
    }
}

fn journal_permission(command: &JournalCommand) -> Permission {
    match command {
        JournalCommand::Show { .. } => Permission::new("piton journal show", CommandAccess::Read),
        JournalCommand::Verify => Permission::new("piton journal verify", CommandAccess::Read),
        JournalCommand::Export => Permission::new("piton journal export", CommandAccess::Read),
    }
}

fn store_permission(command: &StoreCommand) -> Permission {
    match command {
        StoreCommand::Info => Permission::new("piton store info", CommandAccess::Read),
        StoreCommand::Backup { .. } => Permission::new("piton store backup", CommandAccess::Person),
        StoreCommand::Restore { .. } => {
            Permission::new("piton store restore", CommandAccess::Person)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Args;

    #[track_caller]
    fn check(expected: CommandAccess, lines: &[&str]) {
        for line in lines {
            let typed = std::iter::once("piton").chain(line.split(' '));
            let args = Args::try_parse_from(typed).expect("it can be typed");
            let permission = args.command.permission();
            assert_eq!(permission.access, expected, "{line}");
            let named = format!("piton {line}");
            assert!(
                named.starts_with(permission.command),
                "{named}: {permission:?}"
            );
        }
    }

    #[test]
    fn every_caller_may_read() {
        let lines = [
            "status",
            "status --watch",
            "show x",
            "transcript x -f",
            "next",
            "inbox",
            "recent",
            "prepare x",
            "recall x",
            "recover x",
            "learn list",
            "learn show x",
            "learn doctor",
            "issue list",
            "issue ready",
            "issue show x",
            "files list",
            "files check x",
            "files schema sdlc",
            "plan check .",
            "plan compile . -o -",
            "files convert --from sdlc --to task-file",
            "journal show",
            "journal verify",
            "journal export",
            "store info",
            "run --dry-run",
            "init --dry-run",
            "hook install --agent claude --dry-run",
            "hook uninstall --agent claude --dry-run",
            "files merge-driver install --dry-run",
            "files merge-driver uninstall --dry-run",
            "files merge-driver run a b c 7 d",
            "completions bash",
            "man",
        ];
        check(CommandAccess::Read, &lines);
    }

    #[test]
    fn an_agent_writes_about_its_own_item() {
        check(
            CommandAccess::OwnItem,
            &["record x", "record -", "log task_completed", "learn add x"],
        );
        check(
            CommandAccess::Signed,
            &["inbox ask x", "hook Stop", "mcp", "mcp --item x"],
        );
    }

    #[test]
    fn all_else_is_for_people() {
        let lines = [
            "init",
            "init --yes",
            "run",
            "run demo --once",
            "decide d1 answer",
            "pause",
            "resume",
            "stop",
            "plan compile .",
            "plan compile . -o x",
            "plan skip x",
            "plan retry x",
            "session start",
            "session end",
            "session focus x",
            "learn supersede a --by b",
            "learn import x",
            "learn retire x",
            "issue add x title",
            "issue start x",
            "issue review x",
            "issue done x",
            "issue fail x",
            "issue block x --on y",
            "issue unblock x",
            "files sync",
            "files migrate",
            "files convert --from sdlc --to task-file -o x",
            "store backup x",
            "store restore x",
            "hook install --agent claude",
            "hook uninstall --agent codex",
            "files merge-driver install",
            "files merge-driver uninstall --yes",
        ];
        check(CommandAccess::Person, &lines);
    }
}
