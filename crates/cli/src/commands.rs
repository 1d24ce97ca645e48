//! One file a command: what can be typed, who may type it, the verb that it
//! calls, and how the answer is shown. A new one is its file, and here its
//! module and a line of the table.

mod add;
mod agents;
mod attach;
mod completions;
mod config;
mod decide;
mod doctor;
mod files;
mod find;
mod gate;
pub(crate) mod hook;
mod inbox;
mod init;
mod issue;
mod item_edit;
mod item_state;
mod journal;
mod land;
mod learn;
mod list;
mod log;
mod man;
mod mcp;
mod next;
mod pause;
mod plan;
mod prepare;
mod recall;
mod recent;
mod record;
mod recover;
mod report;
mod resume;
mod run;
mod session;
mod show;
mod status;
mod stop;
mod store;
mod tail;
mod transcript;
mod trust;

use clap::Subcommand;
use clap::builder::Styles;
use piton_engine::caller::{self, Permission};
use piton_engine::{CommandExit, Failure, World};

use crate::args::Deferred;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;

/// The commands, by the headings and in the order in which `piton --help` lists them.
macro_rules! commands {
    ($($heading:literal: { $($name:ident($module:ident::$args:ident),)* })*) => {
        const HEADINGS: &[(&str, &[(&str, &str)])] = &[
            $(($heading, &[$((stringify!($name), <$module::$args as TypedCommand>::ABOUT),)*]),)*
        ];

        #[derive(Debug, Subcommand)]
        pub(crate) enum CliCommand {
            $($(
                #[command(
                    about = <$module::$args as TypedCommand>::ABOUT,
                    after_help = <$module::$args as TypedCommand>::AFTER_HELP
                )]
                $name(Deferred<Box<$module::$args>>),
            )*)*
        }

        impl CliCommand {
            fn permission(&self) -> Permission {
                match self {
                    $($(Self::$name(Deferred(typed)) => typed.permission(),)*)*
                }
            }

            /// Whether it looks at the project, and so at its configuration.
            pub(crate) fn needs_config(&self) -> bool {
                match self {
                    $($(Self::$name(Deferred(typed)) => typed.needs_config(),)*)*
                }
            }

            fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
                match self {
                    $($(Self::$name(Deferred(typed)) => typed.run(call),)*)*
                }
            }
        }
    };
}

commands! {
    "Plan": {
        Init(init::InitArgs),
        Add(add::AddArgs),
        List(list::ListArgs),
        Show(show::ShowArgs),
        Find(find::FindArgs),
        Edit(item_edit::EditArgs),
        Next(next::NextArgs),
        Dep(item_edit::DepArgs),
        Done(item_state::DoneArgs),
        Take(item_edit::TakeArgs),
        Release(item_edit::ReleaseArgs),
        Skip(item_state::SkipArgs),
        Reopen(item_state::ReopenArgs),
        Plan(plan::PlanArgs),
        Issue(issue::IssueArgs),
    }
    "Run": {
        Run(run::RunArgs),
        Status(status::StatusArgs),
        Report(report::ReportArgs),
        Log(log::LogArgs),
        Transcript(transcript::TranscriptArgs),
        Tail(tail::TailArgs),
        Attach(attach::AttachArgs),
        Gate(gate::GateArgs),
        Pause(pause::PauseArgs),
        Resume(resume::ResumeArgs),
        Stop(stop::StopArgs),
        Land(land::LandArgs),
    }
    "People": {
        Inbox(inbox::InboxArgs),
        Decide(decide::DecideArgs),
        Trust(trust::TrustArgs),
        Untrust(trust::UntrustArgs),
    }
    "Memory": {
        Recall(recall::RecallArgs),
        Learn(learn::LearnArgs),
        Prepare(prepare::PrepareArgs),
        Recent(recent::RecentArgs),
        Record(record::RecordArgs),
        Recover(recover::RecoverArgs),
        Session(session::SessionArgs),
    }
    "Files": {
        Files(files::FilesArgs),
    }
    "Upkeep": {
        Journal(journal::JournalArgs),
        Store(store::StoreArgs),
        Config(config::ConfigArgs),
        Agents(agents::AgentsArgs),
        Doctor(doctor::DoctorArgs),
        Hook(hook::HookArgs),
        Mcp(mcp::McpArgs),
        Completions(completions::CompletionsArgs),
        Man(man::ManArgs),
    }
}

/// The help of `piton` itself, which lists the commands by what they are for:
/// clap knows one heading for all commands.
pub(crate) fn help_template(styles: &Styles) -> String {
    let header = styles.get_header();
    let literal = styles.get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, commands) in HEADINGS {
        text.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        for (name, about) in *commands {
            let name = name.to_ascii_lowercase();
            text.push_str(&format!("  {literal}{name:<11}{literal:#}  {about}\n"));
        }
    }
    text + &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}")
}

/// Calls the verb that was typed, if its caller may.
pub(crate) fn run_command(
    world: &World,
    command: CliCommand,
    output: &mut CliOutput,
    describe: fn() -> clap::Command,
) -> Result<CommandExit, Failure> {
    let world = &caller::admit_command(world, command.permission())?;
    command.run(&mut Invocation {
        world,
        output,
        describe,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use piton_engine::caller::CommandAccess;

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
            "list",
            "list --ready --in demo",
            "find some words",
            "show x",
            "transcript x -f",
            "tail",
            "attach",
            "attach demo",
            "tail x --no-follow",
            "next",
            "gate x",
            "report",
            "report x --since 2h --format html",
            "inbox",
            "log",
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
            "agents",
            "doctor",
            "config get agent.use",
            "config show --origin",
            "trust --show",
            "trust demo --show",
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
            &[
                "record x",
                "record -",
                "log task_completed",
                "session log task_completed",
                "learn add x",
            ],
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
            "run demo --detach",
            "run demo --trust",
            "trust",
            "trust demo",
            "untrust",
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
            "add title",
            "add title --in demo --after x",
            "edit x --title y",
            "dep add x y",
            "dep remove x y",
            "take x --for 2h",
            "release x",
            "done x",
            "skip x",
            "reopen x",
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
            "config set agent.use x",
            "store rebuild",
            "store restore x",
            "report x -o y",
            "hook install --agent claude",
            "hook uninstall --agent codex",
            "files merge-driver install",
            "files merge-driver uninstall --yes",
        ];
        check(CommandAccess::Person, &lines);
    }
}
