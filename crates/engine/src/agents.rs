//! Agents: the programs that do the work, each behind a small adapter.
//!
//! An adapter says how its program is started and reads what it prints: which
//! tools it called, what it used, whether it succeeded, and what stood in its
//! way. It starts nothing and decides nothing; [`crate::runner`] does.
//!
//! What a program prints is never obeyed: it is read for the facts above, and
//! its words are searched for the agent's own account by [`crate::agents::answer`].

pub mod answer;
mod calls;
mod claude;
mod codex;
mod copilot;
mod custom;
pub mod env_pass;
mod gemini;
pub mod hook;
pub mod installed;
pub mod known_program;
pub mod lines;
pub mod missing_check;
mod opencode;
pub mod outcome;
mod output_reader;
pub mod prices;
mod program;
pub mod program_table;
pub mod prompt;
mod qwen;
mod reader_state;
mod reset;
pub mod session_file;
pub mod settings;
mod shell;
mod signs;
pub mod spool;
mod stream;
mod tail;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use piton_core::attempt::{Conversation, Usage};
use piton_core::call::AgentCall;
use piton_core::trouble::Trouble;

use crate::agents::settings::{AgentTable, Permissions};
use crate::failure::Failure;
use crate::process::ProcessProgram;

pub use self::custom::Custom;
pub use self::output_reader::AgentOutputReader;
pub use self::program::{ProgramSearch, check_program, preflight_options, relative_program};
pub use self::session_file::SessionFiles;
pub use self::shell::Shell;

/// What an agent is started for.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions<'o> {
    /// The id that its conversation is to have, where the program lets one
    /// choose: a UUID, that of the attempt.
    pub conversation: &'o str,
    /// The conversation that is to go on, instead of a new one.
    pub resume: Option<&'o str>,
    /// The model that the plan or the person asks for.
    pub model: Option<&'o str>,
    /// What it may cost at most, where there is a budget, in dollars.
    pub budget_usd: Option<f64>,
    /// Whether piton runs as root: some programs refuse to work without
    /// permissions then.
    pub is_root: bool,
    /// The tools of piton, where the agent is to have them.
    pub tools: Option<&'o McpServerCommand>,
    /// How a shell starts this piton, where the process is to have its hooks: those of
    /// the attempt that `conversation` names.
    pub hooks: Option<&'o str>,
}

impl LaunchOptions<'_> {
    /// The conversation, as programs take it that let one choose its id.
    fn conversation_args(&self) -> Vec<String> {
        let (flag, id) = match self.resume {
            Some(id) => ("--resume", id),
            None => ("--session-id", self.conversation),
        };
        match id {
            "" => Vec::new(),
            id => [flag, id].map(str::to_owned).to_vec(),
        }
    }
}

/// The name that the tools of piton have in an agent's program.
pub const SERVER: &str = "piton";

/// How an agent's program starts the tools of piton: an MCP server over stdio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerCommand {
    /// This program.
    pub program: String,
    /// What says which attempt the tools are of: not every program hands its
    /// own environment on.
    pub env: Vec<(String, String)>,
}

/// How the program is started. The prompt comes on its stdin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCommand {
    /// The program.
    pub program: ProcessProgram,
    /// Added to its environment.
    pub env: Vec<(String, String)>,
}

/// A program that does work, as piton knows it.
pub trait Agent: fmt::Debug {
    /// How it is started.
    ///
    /// # Errors
    ///
    /// When what is asked for is not possible: what is said is what to do instead.
    fn launch_command(&self, order: &LaunchOptions<'_>) -> Result<LaunchCommand, Failure>;

    /// Reads what it prints, for one attempt. None where the program prints
    /// plain text, of which only the end is looked at when it is over.
    ///
    /// `before` is what the conversation used until now, where it goes on.
    fn output_reader(&self, before: Option<&Usage>) -> Option<AgentOutputReader>;

    /// The program that does the work, where the one that is started is another.
    fn wrapped_program(&self) -> Option<String> {
        None
    }

    /// Whether a conversation can go on in another process.
    fn can_resume(&self) -> bool {
        false
    }

    /// Whether the conversation has the id that the order chose for it, so that
    /// it is known though the program prints none.
    fn can_set_conversation_id(&self) -> bool {
        false
    }

    /// Whether it hands the tools of piton to the agent.
    fn can_use_tools(&self) -> bool {
        false
    }

    /// Whether its own configuration takes the place of the hooks of piton, which it
    /// could be given for one process.
    fn replaces_hooks(&self) -> bool {
        false
    }

    /// How lines begin that hold a part of what a later line has whole. They are
    /// no part of a transcript: a secret that is cut in two is none to find.
    fn partial_line_prefix(&self) -> Option<&'static str> {
        None
    }

    /// Where the program records what a conversation uses, if it is started
    /// in this environment; None where it keeps no record that piton can read.
    fn session_files(&self, _env: &BTreeMap<String, String>) -> Option<SessionFiles> {
        None
    }

    /// The model that works where `asked` is asked for, as the program names
    /// it; None where that is the program's own affair.
    fn resolve_model(&self, _asked: Option<&str>) -> Option<String> {
        None
    }
}

/// So much of what a call gave is handed on, in characters.
pub const RETURNED_CHARS_MAX: usize = 2_000;

/// What shows while a program works.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputEvent {
    /// Its conversation has this id.
    Conversation(String),
    /// A call of a tool is over.
    Called(AgentCall),
    /// What the call before it gave: at most [`RETURNED_CHARS_MAX`] characters
    /// of its beginning.
    Returned(String),
    /// The agent said something.
    Said(String),
    /// It has used at least so much, all in all, in this attempt.
    Used(Usage),
    /// The service has enough for now; until then, where it says so.
    Refused(Option<Timestamp>),
    /// A line that this piton does not know.
    Unknown,
}

/// Whether a program says that it succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramVerdict {
    /// It says so, and how it ended fits.
    Succeeded,
    /// It says that it did not.
    Failed,
    /// It said nothing of it: it was ended before, or broke down.
    #[default]
    Nothing,
}

/// Why a program ended well before its work was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyStop {
    /// The usage window of its service is nearly used up. It resets at this
    /// time, where that is known.
    UsageWindow(Option<Timestamp>),
    /// Work in the background was pending: what it is.
    PendingWork(Vec<String>),
}

/// How a program counts tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounting {
    /// Tokens of reasoning are not counted as output, though they cost as much.
    pub reasoning_is_apart: bool,
}

/// What a program said, all in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentResult {
    /// Whether it succeeded, by the rules of this program.
    pub verdict: ProgramVerdict,
    /// The agent's words, all of them or their end: its account stands in them.
    pub words: String,
    /// What went wrong, in the program's words.
    pub error: Option<String>,
    /// What stood in its way.
    pub trouble: Option<Trouble>,
    /// When the service that had enough serves again.
    pub resets_at: Option<Timestamp>,
    /// Why it stopped before its work was done, although it succeeded.
    pub early: Option<EarlyStop>,
    /// The conversation, with what all of it used where the program counts so.
    pub conversation: Option<Conversation>,
    /// Whether the program itself said what this attempt used in all: what was
    /// seen of one that was killed is less.
    pub has_total: bool,
    /// What this attempt used.
    pub usage: Usage,
    /// The same by model.
    pub models: BTreeMap<String, Usage>,
    /// How many calls were not permitted.
    pub denied: u32,
    /// How the program counts tokens.
    pub counting: TokenCounting,
}

impl AgentResult {
    /// The same, where the program counts what all of the conversation used.
    fn with_conversation_total(mut self, total: Usage) -> Self {
        if let Some(conversation) = &mut self.conversation {
            conversation.total = Some(total).filter(|total| !total.is_unknown());
        }
        self
    }
}

impl LaunchCommand {
    /// A program with what is configured for it behind what its adapter says.
    fn new(table: &AgentTable, program: &str, args: &[String]) -> Self {
        let program = table.program.as_deref().unwrap_or(program);
        let args = args.iter().chain(&table.args);
        Self {
            program: ProcessProgram::Args {
                program: program.into(),
                args: args.map(Into::into).collect(),
            },
            env: Vec::new(),
        }
        .with_env(&table.env)
    }

    fn with_env(mut self, env: &BTreeMap<String, String>) -> Self {
        let pairs = env.iter();
        self.env
            .extend(pairs.map(|(name, value)| (name.clone(), value.clone())));
        self
    }

    /// More arguments, behind all others.
    fn with_trailing_args<'a>(mut self, last: impl IntoIterator<Item = &'a str>) -> Self {
        if let ProcessProgram::Args { args, .. } = &mut self.program {
            args.extend(last.into_iter().map(Into::into));
        }
        self
    }
}

/// Root may not be given a program that asks for nothing. `tools` is what it may be
/// allowed instead.
fn refuse_bypass_as_root(
    table: &AgentTable,
    order: &LaunchOptions<'_>,
    program: &str,
    tools: &str,
) -> Result<(), Failure> {
    if !order.is_root || table.permissions != Permissions::Bypass {
        return Ok(());
    }
    let instead = match tools {
        "" => String::new(),
        tools => format!(" and allowed-tools = [\"{tools}\"]"),
    };
    Err(Failure::new(
        "agent.cannot_start",
        format!("{program} is not started without permissions as root"),
    )
    .with_hint(format!(
        "take permissions = \"bypass\" away, or set permissions = \"edits\"{instead}, or run piton as another user"
    )))
}
