//! What can be typed of what is worth knowing.

use clap::{ArgAction, Args as ClapArgs, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum LearnCommand {
    /// Add something worth knowing
    #[command(after_help = ADD)]
    Add(Box<LearnAdd>),
    /// List what is remembered
    #[command(
        after_help = "Examples:\n  piton learn list\n  piton learn list --kind learning --type error-workaround\n  piton learn list --retired --json"
    )]
    List {
        /// Only this kind
        #[arg(long)]
        kind: Option<KindArg>,
        /// Only this type
        #[arg(long = "type", value_name = "TYPE")]
        topic: Option<String>,
        /// What is retired as well
        #[arg(long)]
        retired: bool,
    },
    /// Show one thing that is remembered, whole
    #[command(after_help = "Example:\n  piton learn show sign-0002")]
    Show {
        /// Its id, as `piton learn list` shows it
        id: String,
    },
    /// Say that something else takes the place of something; both stay on record
    #[command(after_help = "Example:\n  piton learn supersede learning-0003 --by learning-0009")]
    Supersede {
        /// The id of what is superseded
        id: String,
        /// The id of what takes its place
        #[arg(long, value_name = "ID")]
        by: String,
        /// Why
        #[arg(long)]
        why: Option<String>,
    },
    /// Check what is remembered: what is repeated, contradicts, is stale or does not help
    #[command(
        after_help = "Changes nothing: each finding says what to type. Ends with 1 when there is one.\n\nExamples:\n  piton learn doctor\n  piton learn doctor --json | jq -r '.findings[].next'"
    )]
    Doctor,
    /// Take in what was remembered elsewhere, each thing once
    #[command(after_help = IMPORT)]
    Import {
        /// A file with a JSON object a line; `-` reads it from stdin
        file: std::path::PathBuf,
        /// Only what is of this project, where the lines name several
        #[arg(long)]
        project: Option<String>,
    },
    /// Say that something is not to be followed any more; it stays on record
    #[command(
        after_help = "Example:\n  piton learn retire learning-0003 --why 'the build does it now'"
    )]
    Retire {
        /// Its id
        id: String,
        /// Why
        #[arg(long)]
        why: Option<String>,
    },
}

const IMPORT: &str =
    "A line holds `id`, `kind` (learning, pattern, guardrail, resolved-blocker) and `content`,
and may hold `type`, `title`, `context`, `created_at`, `superseded_by` and `project`.

Examples:
  piton learn import memory.jsonl
  piton learn import - --project ledger < memory.jsonl";

const ADD: &str =
    "A learning needs --type, a pattern --type and --title, a guardrail --title and --trigger,
a resolved blocker --title.

Types of learnings: codebase-pattern, build-command, test-pattern, api-convention,
error-workaround, tool-usage, architecture-constraint, dependency-quirk.
Types of patterns: file-structure, naming-convention, api-pattern, test-pattern,
error-handling, state-management, build-pattern, deployment-pattern.

Examples:
  piton learn add --type build-command 'Run `make gen` before the tests'
  piton learn add --kind pattern --type error-handling --title 'Wrapped errors' \\
      --example src/error.rs 'Errors carry a context of their own'
  piton learn add --kind guardrail --title 'Ask before a migration' \\
      --trigger 'Before the schema is changed' 'Write the migration down and ask first.'
  piton learn add --type tool-usage - < notes.md";

#[derive(Debug, ClapArgs)]
pub(crate) struct LearnAdd {
    /// What kind it is
    #[arg(long, default_value = "learning")]
    pub(crate) kind: KindArg,
    /// What it is about: one of the types below
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) topic: Option<String>,
    /// The name of a pattern or of a guardrail
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Where or when it applies
    #[arg(long, visible_alias = "context", value_name = "TEXT")]
    pub(crate) trigger: Option<String>,
    /// What shows that it is so
    #[arg(long, value_name = "TEXT")]
    pub(crate) evidence: Option<String>,
    /// After what a guardrail was put up [default: today's session, and your name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) added_after: Option<String>,
    /// A path or snippet that shows a pattern, as often as needed
    #[arg(long, value_name = "TEXT", action = ArgAction::Append)]
    pub(crate) example: Vec<String>,
    /// How sure it is that a pattern is one
    #[arg(long)]
    pub(crate) confidence: Option<ConfidenceArg>,
    /// The item that it came from
    #[arg(long)]
    pub(crate) item: Option<String>,
    /// What to know; `-` reads it from stdin
    pub(crate) content: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KindArg {
    /// Something that was learned
    Learning,
    /// How this code base does things
    Pattern,
    /// What to do instead of what went wrong
    Guardrail,
    /// What was in the way once, and how it was resolved
    ResolvedBlocker,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ConfidenceArg {
    /// Very
    High,
    /// Somewhat
    Medium,
    /// Hardly
    Low,
}
