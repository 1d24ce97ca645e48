//! The one place that makes the world: clock, environment, ids, names.
//!
//! Everything else gets a [`World`] handed in. Under test the clock can be
//! fixed by `PITON_TEST_CLOCK`, so that what users see can be compared to the
//! letter.

pub mod input;
mod time;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use piton_core::redact::Redactor;
use piton_core::{Actor, CallerFacts, DecisionId, HolderLiveness};
use piton_store::WaitReport;
use uuid::Uuid;

use crate::caller::agent::{AdmittedCommand, Caller, CallingAgent};

pub use self::time::{local_time_with_seconds, pause};

/// Fixes the clock, for tests: an RFC 3339 time.
const TEST_CLOCK: &str = "PITON_TEST_CLOCK";

/// What a process knows of its surroundings, read once.
#[derive(Clone, Debug)]
pub struct World {
    /// The environment, as far as it is text.
    pub env: Arc<BTreeMap<String, String>>,
    /// The folder that the process was started in.
    pub cwd: PathBuf,
    /// What agents find in their environment beside this, by the configuration.
    given: Vec<(String, String)>,
    fixed: Option<Timestamp>,
    /// Who calls; none for a person.
    agent: Option<Box<CallingAgent>>,
    /// What the caller was let do; none where nothing was asked.
    admitted: Option<AdmittedCommand>,
    /// The name of the person who calls, once [`Self::user_name`] was asked for it.
    pub(crate) person: OnceLock<String>,
    zone: TimeZone,
    begun: std::time::Instant,
    /// What a person is to be told of, whatever the command answers.
    warnings: Arc<Mutex<Vec<String>>>,
    /// Where a runner reports who keeps it waiting; none for a short command.
    wait_report: Option<WaitReport>,
}

impl World {
    /// The world of this process.
    ///
    /// # Errors
    ///
    /// When the present folder cannot be told: it was taken away.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that reads the environment"
    )]
    pub fn from_environment() -> std::io::Result<Self> {
        let env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let fixed = env.get(TEST_CLOCK).and_then(|text| text.parse().ok());
        Ok(Self {
            cwd: std::env::current_dir()?,
            env: Arc::new(env),
            given: Vec::new(),
            begun: std::time::Instant::now(),
            zone: TimeZone::system(),
            fixed,
            agent: None,
            admitted: None,
            person: OnceLock::new(),
            warnings: Arc::default(),
            wait_report: None,
        })
    }

    /// Keeps a warning for the end of the command.
    pub(crate) fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// The warnings that came up, once.
    #[must_use]
    pub fn drain_warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *warnings)
    }

    /// The time.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that reads the clock"
    )]
    pub fn now(&self) -> Timestamp {
        self.fixed.unwrap_or_else(Timestamp::now)
    }

    /// Where the clock on the wall is meant that people's files go by.
    #[must_use]
    pub fn time_zone(&self) -> &TimeZone {
        &self.zone
    }

    /// A time as people read it: local, to the minute, with its zone.
    #[must_use]
    pub fn local_time(&self, time: Timestamp) -> String {
        let local = time.to_zoned(self.zone.clone());
        local.strftime("%F %H:%M %Z").to_string()
    }

    /// How long this process has been at work, whatever the clock does.
    #[must_use]
    pub fn uptime(&self) -> std::time::Duration {
        self.begun.elapsed()
    }

    /// The fixed time, under test.
    #[must_use]
    pub fn fixed_time(&self) -> Option<Timestamp> {
        self.fixed
    }

    /// A fresh id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        // The library takes the time since 1970, and a clock may be set before that.
        match self.now() < Timestamp::UNIX_EPOCH {
            true => Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 0, 0)),
            false => Uuid::now_v7(),
        }
    }

    /// The value of a variable; none for an empty one.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The first program of this name on `PATH`; none where there is none.
    #[must_use]
    pub fn find_on_path(&self, name: &str) -> Option<PathBuf> {
        let path = self.var("PATH").unwrap_or_default();
        std::env::split_paths(path)
            .map(|folder| self.resolve_path(folder).join(name))
            .find(|file| {
                let found = file.metadata();
                found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
            })
    }

    /// Whether there is a program of this name on `PATH`.
    #[must_use]
    pub fn is_on_path(&self, name: &str) -> bool {
        self.find_on_path(name).is_some()
    }

    /// Where this program lies; none where the system cannot tell.
    #[must_use]
    pub fn program_path(&self) -> Option<PathBuf> {
        std::env::current_exe().and_then(std::fs::canonicalize).ok()
    }

    /// The same world, in which this caller acts.
    #[must_use]
    pub(crate) fn with_caller(&self, caller: Caller, admitted: AdmittedCommand) -> Self {
        let agent = match caller {
            Caller::Person => None,
            Caller::Agent(agent) => Some(agent),
        };
        Self {
            agent,
            admitted: Some(admitted),
            ..self.clone()
        }
    }

    /// The agent that acts; none where a person does.
    #[must_use]
    pub fn agent(&self) -> Option<&CallingAgent> {
        self.agent.as_deref()
    }

    /// What the caller was let do; none where nothing was asked.
    pub(crate) fn admitted_command(&self) -> Option<&AdmittedCommand> {
        self.admitted.as_ref()
    }

    /// What the commands of the caller bring with them.
    #[must_use]
    pub fn command_facts(&self, holder: HolderLiveness) -> CallerFacts {
        let person = || Actor::Person(self.user_name().to_owned());
        CallerFacts {
            actor: self.agent().map_or_else(person, CallingAgent::actor),
            decision: DecisionId(self.new_id()),
            holder,
            checkout: None,
        }
    }

    /// The same world, in which a writer waits for its turn without end, and reports each
    /// minute who keeps it waiting.
    #[must_use]
    pub fn with_wait_report(&self, report: WaitReport) -> Self {
        Self {
            wait_report: Some(report),
            ..self.clone()
        }
    }

    /// Where a writer reports that waits without end; none for one that gives up.
    pub(crate) fn wait_report(&self) -> Option<&WaitReport> {
        self.wait_report.as_ref()
    }

    /// Takes secrets out of text: known forms of keys, and the values of
    /// variables whose names look secret, those of agents included.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        let given = self.given.iter().map(|(name, value)| (name, value));
        let all = self.env.iter().chain(given);
        Redactor::with_variables(all.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// The same, knowing the variables that the configuration gives to agents: a key
    /// among them is as secret as one of the environment.
    #[must_use]
    pub fn with_agent_secrets<'v>(
        &self,
        variables: impl Iterator<Item = (&'v String, &'v String)>,
    ) -> Self {
        let mut known = self.clone();
        known
            .given
            .extend(variables.map(|(name, value)| (name.clone(), value.clone())));
        known
    }

    /// A path as it was typed, seen from the present folder.
    #[must_use]
    pub fn resolve_path(&self, typed: impl AsRef<std::path::Path>) -> PathBuf {
        self.cwd.join(typed)
    }
}
