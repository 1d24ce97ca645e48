//! Which commands of a project may be started: those that a person here trusts.
//!
//! A repository that was cloned may hold any command. What is executed of a project is
//! the closed list of [`piton_core::trust`]; a person trusts each text once, and the
//! register keeps that by project and content. [`Trusted`] is the door: a command can be
//! started through it alone, and only [`TrustCheck`] makes one. Reading starts nothing
//! and asks nothing. The design is `docs/design/0050-trust.md`.

mod parts;
mod register;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use piton_core::trust::{ExecutablePart, PartKind, hash_of_parts, without_repeats};

use self::register::{Register, RegisterFault, RegisterStamp};
use crate::agents::LaunchCommand;
use crate::config::Config;
use crate::failure::Failure;
use crate::process::shell::quote_word;
use crate::process::{ProcessProgram, Trusted};
use crate::project::Project;
use crate::world::World;

pub(crate) use self::parts::{
    all_config_parts, config_parts, group_part, lanes_folder_part, typed_agent,
};

/// The hash of all parts that a script trusts.
const TRUST_VARIABLE: &str = "PITON_TRUST";

/// Who answers where something is not trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustRequest {
    /// A person who finds the question in the inbox.
    #[default]
    Inbox,
    /// A person at a terminal, who is asked by the caller.
    Terminal,
    /// It was trusted with the command.
    Given,
}

/// What is trusted of a project.
#[derive(Clone)]
pub struct TrustCheck(Arc<CheckState>);

struct CheckState {
    /// None where everything is trusted, for tests.
    register: Option<Register>,
    /// The root of the project, by no link.
    root: String,
    known: Mutex<KnownParts>,
    /// The hash that a script gave.
    given: Option<String>,
}

#[derive(Default)]
struct KnownParts {
    /// What the register holds.
    hashes: BTreeSet<String>,
    /// What is trusted for as long as this process works, whatever the register holds.
    allowed: BTreeSet<String>,
    /// The register as it was read; none before.
    stamp: Option<RegisterStamp>,
    /// Why nothing is known, where the register cannot be used.
    fault: Option<RegisterFault>,
    /// Whether the register knows the project.
    has_project: bool,
}

impl fmt::Debug for TrustCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TrustCheck").field(&self.0.root).finish()
    }
}

impl TrustCheck {
    /// What the user of this world trusts of a project. A register that cannot be used
    /// is no trust, and is reported where trust is needed.
    #[must_use]
    pub fn open(world: &World, project: &Project) -> Self {
        let register = (!is_everything_trusted(world)).then(|| Register::of_world(world));
        let check = Self(Arc::new(CheckState {
            register,
            root: root_of_project(project),
            known: Mutex::default(),
            given: world.var(TRUST_VARIABLE).map(str::to_owned),
        }));
        check.read_register();
        check
    }

    /// One that trusts everything.
    #[cfg(any(test, feature = "failpoints"))]
    #[must_use]
    pub fn of_test() -> Self {
        Self(Arc::new(CheckState {
            register: None,
            root: String::new(),
            known: Mutex::default(),
            given: None,
        }))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, KnownParts> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_register(&self) {
        let Some(register) = &self.0.register else {
            return;
        };
        let mut known = self.known();
        // Before it is read: what is written meanwhile is seen the next time.
        known.stamp = Some(register.stamp());
        known.hashes.clear();
        match register.read_project(&self.0.root) {
            Ok(lines) => {
                known.has_project = !lines.is_empty();
                known.fault = None;
                known.hashes.extend(lines.into_iter().map(|line| line.part));
            }
            Err(fault) => known.fault = Some(fault),
        }
    }

    /// Reads the register where it is another one than was read: a person may have
    /// trusted something since, or trusts it no longer.
    fn refresh(&self) {
        let Some(register) = &self.0.register else {
            return;
        };
        if self.known().stamp != Some(register.stamp()) {
            self.read_register();
        }
    }

    fn is_trusted(&self, part: &ExecutablePart) -> bool {
        if self.0.register.is_none() {
            return true;
        }
        let (known, hash) = (self.known(), part.hash());
        known.hashes.contains(&hash) || known.allowed.contains(&hash)
    }

    /// Those of the parts that are not trusted.
    #[must_use]
    pub fn untrusted(&self, parts: Vec<ExecutablePart>) -> Vec<ExecutablePart> {
        let mut parts = without_repeats(parts);
        self.refresh();
        parts.retain(|part| !self.is_trusted(part));
        parts
    }

    /// Trusts parts for as long as this process works.
    pub(crate) fn allow(&self, parts: &[ExecutablePart]) {
        let hashes = parts.iter().map(ExecutablePart::hash);
        self.known().allowed.extend(hashes);
    }

    /// Whether a script gave a hash.
    pub(crate) fn has_given_hash(&self) -> bool {
        self.0.given.is_some()
    }

    /// Trusts these parts for as long as this process works, where a script gave the hash
    /// of those that are not trusted.
    pub(crate) fn allow_given(&self, parts: Vec<ExecutablePart>) {
        let parts = self.untrusted(parts);
        if !parts.is_empty() && self.0.given == Some(hash_of_parts(&parts)) {
            self.allow(&parts);
        }
    }

    /// Trusts what a person types, also where the run takes it up without being told
    /// again. What cannot be kept is trusted this time alone.
    pub(crate) fn trust_typed(&self, world: &World, part: ExecutablePart) {
        let new = self.untrusted(vec![part]);
        if !new.is_empty() && self.store(world, &new).is_err() {
            self.allow(&new);
        }
    }

    /// Trusts parts from now on.
    ///
    /// # Errors
    ///
    /// `trust.register` when that cannot be kept.
    pub fn store(&self, world: &World, parts: &[ExecutablePart]) -> Result<(), Failure> {
        let Some(register) = &self.0.register else {
            return Ok(());
        };
        register
            .append(&self.0.root, parts, world.now())
            .map_err(RegisterFault::into_failure)?;
        self.read_register();
        Ok(())
    }

    /// Trusts nothing of the project any more; whether something was.
    ///
    /// # Errors
    ///
    /// `trust.register` when the register cannot be used.
    pub fn forget(&self, world: &World) -> Result<usize, Failure> {
        let Some(register) = &self.0.register else {
            return Ok(0);
        };
        let gone = register
            .forget(&self.0.root, world.now())
            .map_err(RegisterFault::into_failure)?;
        *self.known() = KnownParts::default();
        Ok(gone)
    }

    /// Why it cannot be known what is trusted, where that is so.
    pub(crate) fn find_fault(&self) -> Option<Failure> {
        let fault = self.known().fault.clone();
        fault.map(RegisterFault::into_failure)
    }

    /// Whether the register knows the project: what ran here before there was trust is
    /// looked for once.
    pub(crate) fn knows_project(&self) -> bool {
        self.0.register.is_none() || self.known().has_project
    }

    /// Notes that the project is known from now on, with what has been executed here. What
    /// cannot be kept is not trusted: it would be found again and again, with what came
    /// since.
    pub(crate) fn adopt(&self, world: &World, parts: &[ExecutablePart]) {
        let Some(register) = &self.0.register else {
            return;
        };
        if register
            .note_project(&self.0.root, parts, world.now())
            .is_ok()
        {
            self.read_register();
        }
        self.known().has_project = true;
    }

    /// Refuses to go on where a part is not trusted, and asks for it as the caller wants.
    ///
    /// # Errors
    ///
    /// `trust.needed`; `trust.register` where the register cannot be used.
    pub(crate) fn require(
        &self,
        world: &World,
        parts: Vec<ExecutablePart>,
        request: TrustRequest,
        ask: impl FnOnce(&[ExecutablePart]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let parts = self.untrusted(parts);
        if parts.is_empty() {
            return Ok(());
        }
        if self.0.given == Some(hash_of_parts(&parts)) {
            self.allow(&parts);
            return Ok(());
        }
        if request == TrustRequest::Given {
            if let Err(failure) = self.store(world, &parts) {
                world.warn(format!("{failure}; it is trusted this time alone"));
                self.allow(&parts);
            }
            return Ok(());
        }
        if let Some(fault) = self.known().fault.clone() {
            return Err(fault.into_failure());
        }
        if request == TrustRequest::Inbox {
            ask(&parts)?;
        }
        Err(trust_needed_failure(&parts))
    }

    /// A script that may be started.
    ///
    /// # Errors
    ///
    /// `trust.needed` where it is not trusted.
    pub(crate) fn admit_script(&self, part: ExecutablePart) -> Result<Trusted<String>, Failure> {
        let text = part.text.clone();
        self.refuse_untrusted(vec![part])?;
        Ok(Trusted::of_checked(text))
    }

    /// The same, for a process that is followed.
    pub(crate) fn admit_gate(
        &self,
        part: ExecutablePart,
    ) -> Result<Trusted<ProcessProgram>, Failure> {
        let text = part.text.clone();
        self.refuse_untrusted(vec![part])?;
        Ok(Trusted::of_checked(ProcessProgram::Shell(text)))
    }

    /// The program of the agent `name`, with `more` that it is started with.
    ///
    /// # Errors
    ///
    /// `trust.needed` where something of it is not trusted.
    pub(crate) fn admit_agent(
        &self,
        config: &Config,
        name: &str,
        launch: &LaunchCommand,
        more: Option<ExecutablePart>,
    ) -> Result<Trusted<ProcessProgram>, Failure> {
        let parts = parts::agent_parts(config, name);
        self.refuse_untrusted(parts.into_iter().chain(more).collect())?;
        Ok(Trusted::of_checked(launch.program.clone()))
    }

    /// Refuses to go on where a part is not trusted.
    ///
    /// # Errors
    ///
    /// `trust.needed` where one is not.
    pub(crate) fn refuse_untrusted(&self, parts: Vec<ExecutablePart>) -> Result<(), Failure> {
        let parts = self.untrusted(parts);
        if parts.is_empty() {
            Ok(())
        } else {
            Err(trust_needed_failure(&parts))
        }
    }
}

/// The root of a project, by no link: under this name the register knows it.
fn root_of_project(project: &Project) -> String {
    let root = std::fs::canonicalize(&project.root).unwrap_or_else(|_| project.root.clone());
    root.to_string_lossy().into_owned()
}

/// Whether everything is trusted: for tests, in builds that are for them.
#[cfg(any(test, feature = "failpoints"))]
fn is_everything_trusted(world: &World) -> bool {
    world.var("PITON_TEST_TRUST") == Some("all")
}

/// Whether everything is trusted: never in this build.
#[cfg(not(any(test, feature = "failpoints")))]
fn is_everything_trusted(_world: &World) -> bool {
    false
}

fn trust_needed_failure(parts: &[ExecutablePart]) -> Failure {
    let what = match parts {
        [one] => format!(
            "{} of {} is not trusted here, and was not started",
            describe_kind(one.kind),
            one.source
        ),
        several => format!(
            "{} commands of this project are not trusted here, and none was started",
            several.len()
        ),
    };
    Failure::new("trust.needed", what).with_hint(
        "look at what would run with `piton trust --show`, then trust it with `piton trust`",
    )
}

/// What a part is, in a few words.
#[must_use]
pub fn describe_kind(kind: PartKind) -> &'static str {
    match kind {
        PartKind::AgentCommand => "the command of an agent",
        PartKind::AgentArguments => "the arguments of an agent",
        PartKind::AgentEnvironment => "the environment of an agent",
        PartKind::AgentPermissions => "the permissions of an agent",
        PartKind::Notify => "the command of [notify]",
        PartKind::Setup => "the setup of lanes",
        PartKind::Teardown => "the teardown of lanes",
        PartKind::Wait => "a command that is waited for",
        PartKind::Check => "a check",
        PartKind::Close => "the command that closes items",
        PartKind::Hook => "a hook",
        PartKind::StoreGroup => "the group of the store",
        PartKind::LanesFolder => "the folder of lanes",
    }
}

/// A command about the trust of a plan, as it is typed; without one of the project.
#[must_use]
pub fn typed_trust(plan: Option<&str>, flag: &str) -> String {
    let plan = plan.map_or_else(String::new, |plan| format!(" {}", quote_word(plan)));
    format!("`piton trust{plan}{flag}`")
}

/// The same failure, which names the plan that was meant.
pub(crate) fn name_plan(failure: Failure, plan: Option<&str>) -> Failure {
    if failure.code != "trust.needed" || plan.is_none() {
        return failure;
    }
    let (show, trust) = (typed_trust(plan, " --show"), typed_trust(plan, ""));
    failure.with_hint(format!(
        "look at what would run with {show}, then trust it with {trust}"
    ))
}
