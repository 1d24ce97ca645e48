//! `piton learn`.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args as ClapArgs, Subcommand, ValueEnum};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Actor;
use piton_engine::model::memory::{Confidence, Memory, MemoryKind};
use piton_engine::model::terminal::clean_line;
use piton_engine::verbs::doctor::{self, DoctorReport};
use piton_engine::verbs::import;
use piton_engine::verbs::learn::{self, MemoryFilter, RememberedRow, RememberedRows};
use piton_engine::{CommandExit, Failure, Notice, World};

use crate::input::read_text;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CliOutput, DIM};
use crate::show::count::format_count;
use crate::show::progress::first_line;
use crate::show::table;

#[derive(Debug, ClapArgs)]
pub(crate) struct LearnArgs {
    #[command(subcommand)]
    command: LearnCommand,
}

#[derive(Debug, Subcommand)]
enum LearnCommand {
    /// Add a memory
    #[command(after_help = ADD)]
    Add(Box<LearnAdd>),
    /// List memories
    #[command(
        after_help = "Examples:\n  piton learn list\n  piton learn list --kind learning --type error-workaround\n  piton learn list --retired --json"
    )]
    List {
        /// List only this kind
        #[arg(long)]
        kind: Option<KindArg>,
        /// List only this type
        #[arg(long = "type", value_name = "TYPE")]
        topic: Option<String>,
        /// List retired memories as well
        #[arg(long)]
        retired: bool,
    },
    /// Show a memory in full
    #[command(after_help = "Example:\n  piton learn show sign-0002")]
    Show {
        /// The id, as `piton learn list` shows it
        id: String,
    },
    /// Confirm memories that came by a file: agents are shown them as a person's
    #[command(
        after_help = "What came by a file, such as the guardrails of a cloned repository, is marked in prompts until a person confirms it. Read it first.\n\nExamples:\n  piton learn show sign-0002\n  piton learn confirm sign-0002 sign-0003"
    )]
    Confirm {
        /// The ids, as `piton learn list` shows them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Replace a memory with another; both stay on record
    #[command(after_help = "Example:\n  piton learn supersede learning-0003 --by learning-0009")]
    Supersede {
        /// The id of the memory to replace
        id: String,
        /// The id of the memory that replaces it
        #[arg(long, value_name = "ID")]
        by: String,
        /// The reason
        #[arg(long)]
        why: Option<String>,
    },
    /// Find duplicate, contradictory, stale and unhelpful memories
    #[command(
        after_help = "Changes nothing: each finding names the command to type. Exits with status 1 if there are any.\n\nExamples:\n  piton learn doctor\n  piton learn doctor --json | jq -r '.findings[].next'"
    )]
    Doctor,
    /// Import memories from a file, each one once
    #[command(after_help = IMPORT)]
    Import {
        /// A file with one JSON object per line; `-` is stdin
        file: PathBuf,
        /// Import only the memories of this project, if the lines name several
        #[arg(long)]
        project: Option<String>,
    },
    /// Retire a memory: it is no longer used, and stays on record
    #[command(
        after_help = "Example:\n  piton learn retire learning-0003 --why 'the build does it now'"
    )]
    Retire {
        /// The id of the memory
        id: String,
        /// The reason
        #[arg(long)]
        why: Option<String>,
    },
}

const IMPORT: &str =
    "Each line has `id`, `kind` (learning, pattern, guardrail, resolved-blocker) and `content`,
and may have `type`, `title`, `context`, `created_at`, `superseded_by` and `project`.

Examples:
  piton learn import memory.jsonl
  piton learn import - --project ledger < memory.jsonl";

const ADD: &str = "A pattern needs --type and --title, a guardrail --title and --trigger,
a resolved blocker --title.

Types of learnings: codebase-pattern, build-command, test-pattern, api-convention,
error-workaround, tool-usage, architecture-constraint, dependency-quirk.
Types of patterns: file-structure, naming-convention, api-pattern, test-pattern,
error-handling, state-management, build-pattern, deployment-pattern.

Examples:
  piton learn add 'The tests need `make db-up`'
  piton learn add --type build-command 'Run `make gen` before the tests'
  piton learn add --kind pattern --type error-handling --title 'Wrapped errors' \\
      --example src/error.rs 'Errors carry a context of their own'
  piton learn add --kind guardrail --title 'Ask before a migration' \\
      --trigger 'Before the schema is changed' 'Write the migration down and ask first.'
  piton learn add --type tool-usage - < notes.md";

#[derive(Debug, ClapArgs)]
struct LearnAdd {
    /// The kind of memory
    #[arg(long, default_value = "learning")]
    kind: KindArg,
    /// The type: one of those listed below [default: codebase-pattern for a learning]
    #[arg(long = "type", value_name = "TYPE")]
    topic: Option<String>,
    /// The name of a pattern or of a guardrail
    #[arg(long)]
    title: Option<String>,
    /// Where or when it applies
    #[arg(long, visible_alias = "context", value_name = "TEXT")]
    trigger: Option<String>,
    /// The evidence that it is true
    #[arg(long, value_name = "TEXT")]
    evidence: Option<String>,
    /// The event after which a guardrail was added [default: today's session, and your name]
    #[arg(long, value_name = "TEXT")]
    added_after: Option<String>,
    /// A path or snippet that shows a pattern (can be repeated)
    #[arg(long, value_name = "TEXT", action = ArgAction::Append)]
    example: Vec<String>,
    /// How certain a pattern is
    #[arg(long)]
    confidence: Option<ConfidenceArg>,
    /// The item that the memory comes from
    #[arg(long)]
    item: Option<String>,
    /// The text of the memory; `-` reads it from stdin
    content: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindArg {
    /// A fact that was learned
    Learning,
    /// How this code base does things
    Pattern,
    /// A rule that prevents a failure of the past
    Guardrail,
    /// A blocker of the past and how it was resolved
    ResolvedBlocker,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ConfidenceArg {
    /// Very certain
    High,
    /// Somewhat certain
    Medium,
    /// Hardly certain
    Low,
}

impl TypedCommand for LearnArgs {
    const ABOUT: &'static str = "Manage memories: learnings, patterns, guardrails, blockers";
    const AFTER_HELP: &'static str = "Examples:\n  piton learn add --type build-command 'Run `make gen` before the tests'\n  piton learn list --kind guardrail\n  piton learn retire learning-0003 --why 'the build does it now'";

    fn permission(&self) -> Permission {
        match &self.command {
            LearnCommand::Add(_) => Permission::new("piton learn add", CommandAccess::OwnItem),
            LearnCommand::List { .. } => Permission::new("piton learn list", CommandAccess::Read),
            LearnCommand::Show { .. } => Permission::new("piton learn show", CommandAccess::Read),
            LearnCommand::Confirm { .. } => {
                Permission::new("piton learn confirm", CommandAccess::Person)
            }
            LearnCommand::Supersede { .. } => {
                Permission::new("piton learn supersede", CommandAccess::Person)
            }
            LearnCommand::Doctor => Permission::new("piton learn doctor", CommandAccess::Read),
            LearnCommand::Import { .. } => {
                Permission::new("piton learn import", CommandAccess::Person)
            }
            LearnCommand::Retire { .. } => {
                Permission::new("piton learn retire", CommandAccess::Person)
            }
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let world = call.world;
        match self.command {
            LearnCommand::Add(args) => add_memory(*args, call)?,
            LearnCommand::List {
                kind,
                topic,
                retired,
            } => {
                let filter = MemoryFilter {
                    kind: kind.map(MemoryKind::from),
                    topic,
                    retired,
                };
                call.print(&learn::list(world, &filter)?, show_memories);
            }
            LearnCommand::Show { id } => {
                call.print(&learn::show(world, &id)?, |row, world, output| {
                    output.print_data(&render_memory(world, row));
                });
            }
            LearnCommand::Doctor => {
                let examined = doctor::doctor(world)?;
                call.print(&examined, show_findings);
                if !examined.findings.is_empty() {
                    return Ok(CommandExit::No);
                }
            }
            LearnCommand::Confirm { ids } => {
                call.print(&learn::confirm(world, &ids)?, |confirmed, _, output| {
                    for row in confirmed.memories.iter().map(|found| &found.row) {
                        let title = memory_title(&row.memory);
                        output.print_note(&format!("confirmed {}: {title}", row.id));
                    }
                });
            }
            LearnCommand::Supersede { id, by, why } => {
                let by = by.trim().to_owned();
                let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
                let retired = learn::retire(world, &id, why, Some(by.clone()), told)?;
                call.print(&retired, |retired, _, output| {
                    output.print_note(&format!("{} is superseded by {by}", retired.row.id));
                });
            }
            LearnCommand::Import { file, project } => {
                let (name, text) = read_text(world, &file)?;
                let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
                let imported = import::import(world, &name, &text, project.as_deref(), told)?;
                call.print(&imported, |imported, _, output| {
                    output.print_note(&format!(
                        "imported {} new, {} revised, {} known before, {} superseded since",
                        imported.added, imported.revised, imported.known, imported.superseded
                    ));
                });
            }
            LearnCommand::Retire { id, why } => {
                let told = &mut |notice: Notice<'_>| call.show_notice(&notice);
                let retired = learn::retire(world, &id, why, None, told)?;
                call.print(&retired, |retired, _, output| {
                    let row = &retired.row;
                    output.print_note(&format!(
                        "retired {}: {}",
                        row.id,
                        memory_title(&row.memory)
                    ));
                });
            }
        }
        Ok(CommandExit::Done)
    }
}

fn add_memory(args: LearnAdd, call: &mut Invocation<'_>) -> Result<(), Failure> {
    let content = match args.content.as_deref() {
        Some("-") => read_text(call.world, Path::new("-"))?.1.trim().to_owned(),
        Some(text) => text.to_owned(),
        None => String::new(),
    };
    let memory = Memory {
        topic: args.topic,
        title: args.title,
        context: args.trigger,
        evidence: args.evidence,
        added_after: args.added_after,
        examples: args.example,
        confidence: args.confidence.map(Confidence::from),
        source_item: args.item,
        ..Memory::new(args.kind.into(), content)
    };
    let added = learn::add(call.world, memory, &mut |notice| call.show_notice(&notice))?;
    call.print(&added, |added, _, output| {
        let row = &added.row;
        let what = match added.was_known {
            true => "known already, as",
            false => "remembered",
        };
        output.print_note(&format!("{what} {}: {}", row.id, memory_title(&row.memory)));
    });
    Ok(())
}

fn show_memories(found: &RememberedRows, _: &World, output: &mut CliOutput) {
    let rows = found.memories.iter().map(memory_columns);
    output.print_data(&table::render(rows));
    if found.memories.is_empty() {
        output.print_note("nothing of this is remembered");
    }
}

fn show_findings(examined: &DoctorReport, _: &World, output: &mut CliOutput) {
    for finding in &examined.findings {
        // One line, whose parts are short already.
        output.print_data(&format!(
            "{BOLD}{}{BOLD:#}  {}\n  {DIM}next:{DIM:#} {}\n",
            finding.kind,
            clean_line(&finding.text),
            finding.next
        ));
    }
    if !examined.paths {
        output.print_note("the project has too many files to look for those that are named");
    }
    let memories = format_count(
        u32::try_from(examined.followed).unwrap_or(u32::MAX),
        "memory",
    );
    let to_look_at = format_count(
        u32::try_from(examined.findings.len()).unwrap_or(u32::MAX),
        "finding",
    );
    output.print_note(&format!("{memories} looked at: {to_look_at}"));
}

fn memory_title(memory: &Memory) -> String {
    first_line(memory.title.as_deref().unwrap_or(&memory.content))
}

fn memory_columns(found: &RememberedRow) -> [String; 4] {
    let row = &found.row;
    let unconfirmed = found.origin.unconfirmed.then_some("(not confirmed)");
    let retired = row.retired.as_ref().map(|_| "(retired)").or(unconfirmed);
    [
        row.id.clone(),
        row.memory
            .topic
            .as_deref()
            .map(first_line)
            .unwrap_or_default(),
        memory_title(&row.memory),
        retired.unwrap_or_default().to_owned(),
    ]
}

/// Who did something, as people say it.
fn actor_name(actor: &str) -> String {
    Actor::parse(actor).name().to_owned()
}

fn render_memory(world: &World, remembered: &RememberedRow) -> String {
    let row = &remembered.row;
    let memory = &row.memory;
    let kind = match &memory.topic {
        Some(topic) => format!("{} ({topic})", memory.kind),
        None => memory.kind.to_string(),
    };
    let mut text = format!("{BOLD}{}{BOLD:#}  {kind}\n", row.id);
    let mut line = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            text.push_str(&format!("{DIM}{name}:{DIM:#} {}\n", first_line(value)));
        }
    };
    line("Title", memory.title.as_deref());
    let context = if memory.kind == MemoryKind::Guardrail {
        "Trigger"
    } else {
        "Context"
    };
    line(context, memory.context.as_deref());
    line("Added after", memory.added_after.as_deref());
    line("Evidence", memory.evidence.as_deref());
    for example in &memory.examples {
        line("Example", Some(example));
    }
    line("Confidence", memory.confidence.map(Confidence::as_str));
    line("From", memory.source_item.as_deref());
    let learned = format!(
        "{}, by {}",
        world.local_time(row.learned_at()),
        actor_name(&row.by)
    );
    line("Learned", Some(&learned));
    line("Origin", Some(&remembered.origin.text));
    for source in &row.again {
        let from = source.attempt.as_deref().or(source.item.as_deref());
        line("Again from", from);
    }
    line("Trust", Some(remembered.confidence.as_str()));
    let uses = row.uses;
    if uses.referenced > 0 {
        let used = format!(
            "{}; {} done with it, {} failed",
            format_count(uses.referenced, "time"),
            uses.helped,
            uses.failed
        );
        line("Used", Some(&used));
    }
    if let Some(retired) = &row.retired {
        let why = retired.why.as_deref().unwrap_or("without a reason");
        let said = format!(
            "{}, by {}: {why}",
            world.local_time(retired.at),
            actor_name(&retired.by)
        );
        line("Retired", Some(&said));
        line("Superseded by", retired.superseded_by.as_deref());
    }
    text.push('\n');
    text + memory.content.trim_end() + "\n"
}

impl From<KindArg> for MemoryKind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Learning => Self::Learning,
            KindArg::Pattern => Self::Pattern,
            KindArg::Guardrail => Self::Guardrail,
            KindArg::ResolvedBlocker => Self::ResolvedBlocker,
        }
    }
}

impl From<ConfidenceArg> for Confidence {
    fn from(confidence: ConfidenceArg) -> Self {
        match confidence {
            ConfidenceArg::High => Self::High,
            ConfidenceArg::Medium => Self::Medium,
            ConfidenceArg::Low => Self::Low,
        }
    }
}
