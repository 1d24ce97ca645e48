//! What piton knows of an agent program: one row of [`super::program_table`].
//!
//! Each program has a module of its own, with its row and the reader of what it
//! prints. What is not particular to a program does not belong into a row.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use piton_core::call::CallKind;

use super::Agent;
use super::session_file::{SessionFileFormat, SessionFiles};
use super::settings::AgentTable;

/// All that is particular to a program.
#[derive(Debug)]
pub struct KnownProgram {
    /// Its name: as an agent, as an adapter, and as the program on `PATH`.
    pub name: &'static str,
    /// How people call it.
    pub called: ProgramName,
    /// How people install it, as they type it.
    pub install: &'static str,
    /// What shows that the user is logged in.
    pub(super) login_trace: LoginTrace,
    /// Makes the adapter of the program.
    pub agent: fn(ProgramSetup) -> Box<dyn Agent>,
    /// How words for models begin that this program understands and others do not.
    pub models: &'static [&'static str],
    /// What its models cost, where it does not report that itself.
    pub prices: Option<PriceList>,
    /// The keys of its table `[agents.NAME]` that not every adapter has.
    pub keys: &'static [&'static str],
    /// Its longest silence, where the project sets none.
    pub idle_timeout: &'static str,
    /// What its tools are for.
    pub tools: &'static [(CallKind, &'static [&'static str])],
    /// Where it keeps the settings and the sessions of its user.
    pub home: ProgramHome,
    /// The variable in which its hooks find the folder that their session began in.
    pub project_variable: Option<&'static str>,
    /// How it keeps its hooks, where it has any.
    pub hooks: Option<HookFormat>,
    /// The files in which it records its sessions, where piton can read them.
    pub(super) session_files: Option<SessionFileFormat>,
}

/// A program, as its errors speak of it.
#[derive(Clone, Copy, Debug)]
pub struct ProgramName {
    /// Itself: `Claude Code`.
    pub title: &'static str,
    /// How one logs in.
    pub login: &'static str,
}

/// What a program leaves of a login. That it is missing proves nothing: a
/// program may use a keyring, or a service of a cloud.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoginTrace {
    /// A JSON file in its home.
    pub(super) file: &'static str,
    /// Where a login stands in that file, as JSON pointers: one is enough.
    pub(super) pointers: &'static [&'static str],
    /// Variables with a key that it works with.
    pub(super) variables: &'static [&'static str],
}

/// A known program as it is configured: what its adapter is made of.
#[derive(Clone, Debug)]
pub struct ProgramSetup {
    /// What the configuration says.
    pub table: AgentTable,
    /// The zone of times that the program reports without one.
    pub zone: TimeZone,
    /// How words for models begin that only other programs understand.
    pub foreign_models: Vec<&'static str>,
}

/// The public prices of a vendor.
#[derive(Clone, Copy, Debug)]
pub struct PriceList {
    /// When they held: `2026-06-04`.
    pub date: &'static str,
    /// Dollars for a million tokens: model, input, output, from a cache.
    pub models: &'static [(&'static str, f64, f64, f64)],
}

/// The folder in which a program keeps what belongs to its user.
#[derive(Clone, Copy, Debug)]
pub struct ProgramHome {
    /// Its name in the home of the user. That of a project has the same name.
    pub folder: &'static str,
    /// A variable that names another one.
    pub variable: &'static str,
    /// Where in the folder that the variable names.
    pub below: &'static str,
}

/// How a program keeps its hooks.
#[derive(Clone, Copy, Debug)]
pub struct HookFormat {
    /// The file that names them, in the folder of the settings.
    pub file: &'static str,
    /// The events at which piton has something to do, in the program's words.
    pub events: &'static [(&'static str, HookEventKind)],
    /// Other events that may name piton.
    pub other_events: &'static [(&'static str, HookEventKind)],
    /// After how long the program gives a hook up, in its own unit.
    pub timeout: u64,
    /// What must be done before it runs new hooks.
    pub next_step: Option<&'static str>,
}

/// What happened at a hook, as far as piton has something to do then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEventKind {
    /// A session begins, goes on, or was compacted.
    SessionStart,
    /// A tool was called.
    Called,
    /// The agent wants to stop.
    Stop,
    /// A session ends.
    SessionEnd,
    /// Something that needs nothing.
    Quiet,
}

/// The events at which piton has something to do, as Claude Code calls them and
/// programs that follow it.
pub(super) const USUAL_HOOK_EVENTS: &[(&str, HookEventKind)] = &[
    ("SessionStart", HookEventKind::SessionStart),
    ("PostToolUse", HookEventKind::Called),
    ("Stop", HookEventKind::Stop),
    ("SessionEnd", HookEventKind::SessionEnd),
];

impl KnownProgram {
    /// Whether a word for a model is one of this program's.
    #[must_use]
    pub fn understands_model(&self, word: &str) -> bool {
        self.models.iter().any(|begin| word.starts_with(begin))
    }

    /// What a tool of the program is for; none for one that is not known.
    #[must_use]
    pub fn kind_of_tool(&self, tool: &str) -> Option<CallKind> {
        let mut kinds = self.tools.iter();
        let known = kinds.find(|(_, names)| names.contains(&tool));
        known.map(|(kind, _)| *kind)
    }

    /// Where the program records its sessions, for one with these variables.
    #[must_use]
    pub fn session_files<'e>(
        &self,
        variable: impl Fn(&str) -> Option<&'e str>,
    ) -> Option<SessionFiles> {
        let format = self.session_files?;
        Some(SessionFiles::new(format, &self.home.path(variable)?))
    }
}

impl ProgramHome {
    /// Its path: as its variable says, else in the home of its user.
    pub(super) fn path<'e>(&self, variable: impl Fn(&str) -> Option<&'e str>) -> Option<PathBuf> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let own = set(self.variable).map(|own| Path::new(own).join(self.below));
        own.or_else(|| Some(Path::new(set("HOME")?).join(self.folder)))
    }
}

impl ProgramSetup {
    /// The model for a word that a plan or a person uses, in the program's words.
    #[must_use]
    pub fn model_for(&self, asked: Option<&str>) -> Option<String> {
        let foreign = &self.foreign_models;
        let is_foreign = |word: &str| foreign.iter().any(|begin| word.starts_with(begin));
        self.table.model_for(asked, is_foreign)
    }
}
