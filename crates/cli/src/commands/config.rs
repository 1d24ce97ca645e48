//! `piton config`.

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::verbs::config::{self, Setting, SettingOrigin, SettingsReport};
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{CliOutput, DIM};

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the value of a setting, or those of a table
    #[command(
        after_help = "Examples:\n  piton config get agent.use\n  piton config get agents.claude"
    )]
    Get {
        /// The key, as in the file: `agent.use`
        key: String,
    },
    /// Write the value of a setting into `.piton/config.toml`
    #[command(
        after_help = "Comments and all other lines stay as they are. The value is one of TOML (3, true, '[\"a\"]')\nor else a text, which needs no quotes of TOML. A command that you set is trusted.\n\nExamples:\n  piton config set agent.use claude\n  piton config set merge.check 'make test'\n  piton config set workspace.lanes 3"
    )]
    Set {
        /// The key, as in the file: `agent.use`
        key: String,
        /// The value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Print all settings that have a value, defaults too
    #[command(after_help = "Examples:\n  piton config show\n  piton config show --origin")]
    Show {
        /// Say of each setting whether it is a default, or the line of the file that sets it
        #[arg(long)]
        origin: bool,
    },
}

impl TypedCommand for ConfigArgs {
    const ABOUT: &'static str = "Show and change the settings of the project";
    const AFTER_HELP: &'static str =
        "Examples:\n  piton config set agent.use claude\n  piton config show --origin";

    fn permission(&self) -> Permission {
        match &self.command {
            ConfigCommand::Get { .. } => Permission::new("piton config get", CommandAccess::Read),
            ConfigCommand::Set { .. } => Permission::new("piton config set", CommandAccess::Person),
            ConfigCommand::Show { .. } => Permission::new("piton config show", CommandAccess::Read),
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        match self.command {
            ConfigCommand::Get { key } => {
                let report = config::show(call.world, Some(&key))?;
                call.print(&report, |report, _, output| {
                    show_values(&key, report, output)
                });
            }
            ConfigCommand::Set { key, value } => {
                let set = config::set(call.world, &key, &value)?;
                call.print(&set, |set, _, output| {
                    let (line, file) = (assignment(&set.setting), &set.file);
                    output.print_note(&match set.changed {
                        true => format!("{line} is written into {file}"),
                        false => format!("{line} stands in {file} already"),
                    });
                });
            }
            ConfigCommand::Show { origin } => {
                let report = config::show(call.world, None)?;
                let show = |report: &SettingsReport, _: &World, output: &mut CliOutput| {
                    let lines = report.settings.iter().map(|setting| match origin {
                        true => line_with_origin(setting, &report.file),
                        false => format!("{}\n", assignment(setting)),
                    });
                    output.print_long_data(&lines.collect::<String>());
                };
                call.print(&report, show);
            }
        }
        Ok(CommandExit::Done)
    }
}

/// The value alone for a setting; lines for a table.
fn show_values(key: &str, report: &SettingsReport, output: &mut CliOutput) {
    let text = match &report.settings[..] {
        [] => {
            output.print_note(&format!("{key} is not set"));
            return;
        }
        [one] if one.key == key => match one.value.as_str() {
            Some(text) => format!("{text}\n"),
            None => format!("{}\n", one.literal()),
        },
        several => several
            .iter()
            .map(|one| format!("{}\n", assignment(one)))
            .collect(),
    };
    output.print_data(&text);
}

/// A setting as the file has it.
pub(super) fn assignment(setting: &Setting) -> String {
    format!("{} = {}", setting.key, setting.literal())
}

fn line_with_origin(setting: &Setting, file: &str) -> String {
    let origin = match setting.origin {
        SettingOrigin::Default => "default".to_owned(),
        SettingOrigin::File { line } => format!("{file}:{line}"),
    };
    format!("{} {DIM}# {origin}{DIM:#}\n", assignment(setting))
}
