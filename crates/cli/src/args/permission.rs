//! Who may give which command. What becomes of a command that its caller may
//! not give is decided by `piton_engine::caller`.
//!
//! Each command stands here by name, without a pattern that holds for all
//! others: a new one is placed by the person who adds it, or does not compile.

use std::path::Path;

use piton_engine::caller::{Access, Permission};

use super::{
    Command, Deferred, FilesCommand, HookCommand, InboxCommand, IssueCommand, JournalCommand,
    LearnCommand, MergeDriverCommand, PlanCommand, SessionCommand, StoreCommand,
};

impl Command {
    /// Whether it merges files that git names, and looks at nothing else.
    pub(crate) fn is_merge(&self) -> bool {
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
            Self::Init(Deferred(args)) => Permission::new("piton init", changing(!args.dry_run)),
            Self::Run(Deferred(args)) => {
                Permission::new("piton run", changing(!args.dry_run)).at(args.plan.as_ref())
            }
            Self::Status { .. } => Permission::new("piton status", Access::Read),
            Self::Show { .. } => Permission::new("piton show", Access::Read),
            Self::Transcript(_) => Permission::new("piton transcript", Access::Read),
            Self::Next { .. } => Permission::new("piton next", Access::Read),
            Self::Inbox { command: None } => Permission::new("piton inbox", Access::Read),
            Self::Inbox {
                command: Some(InboxCommand::Ask { .. }),
            } => Permission::new("piton inbox ask", Access::Signed),
            Self::Decide(_) => Permission::new("piton decide", Access::Person),
            Self::Pause { run } => Permission::new("piton pause", Access::Person).at(run.as_ref()),
            Self::Resume { run } => {
                Permission::new("piton resume", Access::Person).at(run.as_ref())
            }
            Self::Stop { run } => Permission::new("piton stop", Access::Person).at(run.as_ref()),
            Self::Land { run } => Permission::new("piton land", Access::Person).at(run.as_ref()),
            Self::Plan(Deferred(command)) => of_plan(command),
            Self::Log(_) => Permission::new("piton log", Access::OwnItem),
            Self::Session(Deferred(command)) => of_session(command),
            Self::Record(_) => Permission::new("piton record", Access::OwnItem),
            Self::Recent(_) => Permission::new("piton recent", Access::Read),
            Self::Prepare { .. } => Permission::new("piton prepare", Access::Read),
            Self::Recover { .. } => Permission::new("piton recover", Access::Read),
            Self::Recall(_) => Permission::new("piton recall", Access::Read),
            Self::Learn(Deferred(command)) => of_learn(command),
            Self::Issue(Deferred(command)) => of_issue(command),
            Self::Files(Deferred(command)) => of_files(command),
            Self::Journal(Deferred(command)) => of_journal(command),
            Self::Store(Deferred(command)) => of_store(command),
            Self::Hook(Deferred(args)) => match &args.command {
                None => Permission::new("piton hook", Access::Signed),
                Some(HookCommand::Install(settings)) => {
                    Permission::new("piton hook install", changing(!settings.dry_run))
                }
                Some(HookCommand::Uninstall(settings)) => {
                    Permission::new("piton hook uninstall", changing(!settings.dry_run))
                }
            },
            Self::Mcp { .. } => Permission::new("piton mcp", Access::Signed),
            Self::Completions { .. } => Permission::new("piton completions", Access::Read),
            Self::Man => Permission::new("piton man", Access::Read),
        }
    }
}

/// A command that a person gives when it changes something.
fn changing(changes: bool) -> Access {
    if changes {
        Access::Person
    } else {
        Access::Read
    }
}

fn of_plan(command: &PlanCommand) -> Permission {
    match command {
        PlanCommand::Compile { sprint, output, .. } => {
            let writes = output.as_deref() != Some(Path::new("-"));
            Permission::new("piton plan compile", changing(writes)).at(Some(sprint))
        }
        PlanCommand::Check { .. } => Permission::new("piton plan check", Access::Read),
        PlanCommand::New(_) => Permission::new("piton plan new", Access::Person),
        PlanCommand::Inject(args) => {
            Permission::new("piton plan inject", Access::Person).at(args.run.as_ref())
        }
        PlanCommand::AddStep { target, .. } => {
            Permission::new("piton plan add-step", Access::Person).at(target.sprint.as_ref())
        }
        PlanCommand::Import { target, .. } => {
            Permission::new("piton plan import", Access::Person).at(target.sprint.as_ref())
        }
        PlanCommand::Skip { .. } => Permission::new("piton plan skip", Access::Person),
        PlanCommand::Retry { .. } => Permission::new("piton plan retry", Access::Person),
        PlanCommand::Clean { .. } => Permission::new("piton plan clean", Access::Person),
    }
}

fn of_session(command: &SessionCommand) -> Permission {
    match command {
        SessionCommand::Start { .. } => Permission::new("piton session start", Access::Person),
        SessionCommand::End { .. } => Permission::new("piton session end", Access::Person),
        SessionCommand::Focus { .. } => Permission::new("piton session focus", Access::Person),
    }
}

fn of_issue(command: &IssueCommand) -> Permission {
    match command {
        IssueCommand::Add(args) => {
            Permission::new("piton issue add", Access::Person).at(args.run.as_ref())
        }
        IssueCommand::List(_) => Permission::new("piton issue list", Access::Read),
        IssueCommand::Ready(_) => Permission::new("piton issue ready", Access::Read),
        IssueCommand::Show { .. } => Permission::new("piton issue show", Access::Read),
        IssueCommand::Start(_) => Permission::new("piton issue start", Access::Person),
        IssueCommand::Review { .. } => Permission::new("piton issue review", Access::Person),
        IssueCommand::Done(_) => Permission::new("piton issue done", Access::Person),
        IssueCommand::Fail(_) => Permission::new("piton issue fail", Access::Person),
        IssueCommand::Block { .. } => Permission::new("piton issue block", Access::Person),
        IssueCommand::Unblock { .. } => Permission::new("piton issue unblock", Access::Person),
    }
}

fn of_learn(command: &LearnCommand) -> Permission {
    match command {
        LearnCommand::Add(_) => Permission::new("piton learn add", Access::OwnItem),
        LearnCommand::List { .. } => Permission::new("piton learn list", Access::Read),
        LearnCommand::Show { .. } => Permission::new("piton learn show", Access::Read),
        LearnCommand::Supersede { .. } => Permission::new("piton learn supersede", Access::Person),
        LearnCommand::Doctor => Permission::new("piton learn doctor", Access::Read),
        LearnCommand::Import { .. } => Permission::new("piton learn import", Access::Person),
        LearnCommand::Retire { .. } => Permission::new("piton learn retire", Access::Person),
    }
}

fn of_files(command: &FilesCommand) -> Permission {
    match command {
        FilesCommand::List { .. } => Permission::new("piton files list", Access::Read),
        FilesCommand::Check { .. } => Permission::new("piton files check", Access::Read),
        FilesCommand::Schema { .. } => Permission::new("piton files schema", Access::Read),
        FilesCommand::Sync => Permission::new("piton files sync", Access::Person),
        FilesCommand::Convert { output, .. } => {
            let writes = output != Path::new("-");
            Permission::new("piton files convert", changing(writes))
        }
        FilesCommand::Migrate => Permission::new("piton files migrate", Access::Person),
        FilesCommand::MergeDriver(MergeDriverCommand::Install(settings)) => Permission::new(
            "piton files merge-driver install",
            changing(!settings.dry_run),
        ),
        FilesCommand::MergeDriver(MergeDriverCommand::Uninstall(settings)) => Permission::new(
            "piton files merge-driver uninstall",
            changing(!settings.dry_run),
        ),
        // An agent that merges is not asked who it is: git names the files.
        FilesCommand::MergeDriver(MergeDriverCommand::Run(_)) => {
            Permission::new("piton files merge-driver run", Access::Read)
        }
    }
}

fn of_journal(command: &JournalCommand) -> Permission {
    match command {
        JournalCommand::Show { .. } => Permission::new("piton journal show", Access::Read),
        JournalCommand::Verify => Permission::new("piton journal verify", Access::Read),
        JournalCommand::Export => Permission::new("piton journal export", Access::Read),
    }
}

fn of_store(command: &StoreCommand) -> Permission {
    match command {
        StoreCommand::Info => Permission::new("piton store info", Access::Read),
        StoreCommand::Backup { .. } => Permission::new("piton store backup", Access::Person),
        StoreCommand::Restore { .. } => Permission::new("piton store restore", Access::Person),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Args;

    #[track_caller]
    fn check(expected: Access, lines: &[&str]) {
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
        check(Access::Read, &lines);
    }

    #[test]
    fn an_agent_writes_about_its_own_item() {
        check(
            Access::OwnItem,
            &["record x", "record -", "log task_completed", "learn add x"],
        );
        check(
            Access::Signed,
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
        check(Access::Person, &lines);
    }
}
