//! How a verb says that it could not: one shape for text, JSON and exit status.

pub mod notice;

use crate::process::shell::quote_word;
use crate::project::inside::OutsideLink;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;

use piton_core::dollars::Dollars;
use piton_core::run::{Pause, RunHolder, RunState};
use piton_core::usage::Spend;
use piton_core::{Node, Refusal, RunRow, Verb};
use piton_formats::problem::Problem;
use piton_store::{CommitError, FaultKind, StoreFault};
use serde::{Serialize, Serializer};

/// What a command ends with. The same for every command; of several things the
/// greatest is the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CommandExit {
    /// Done.
    Done = 0,
    /// The answer is no: problems were found, a plan ended blocked.
    No = 1,
    /// The command was not understood, or names what is not there.
    Usage = 2,
    /// It waits for a person.
    Waits = 3,
    /// Another process or agent holds it.
    Busy = 4,
    /// A limit was reached.
    Limit = 5,
    /// State is damaged or cannot be read; nothing was changed.
    Damaged = 6,
    /// The world failed: a disk, the store, an agent that cannot be started.
    Fault = 7,
    /// Interrupted; everything is saved.
    Interrupted = 130,
}

impl CommandExit {
    /// The number that the process ends with.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Every code of a failure, with its exit status. Each has a page of its own
/// in `docs/errors/`, compared by a test.
pub const CODES: &[(&str, CommandExit)] = &[
    ("agent.cannot_start", CommandExit::Fault),
    ("agent.missing", CommandExit::Usage),
    ("agent.not_allowed", CommandExit::No),
    ("agent.turned_away", CommandExit::Fault),
    ("attempt.over", CommandExit::No),
    ("attempt.unknown", CommandExit::Usage),
    ("blocker.unknown", CommandExit::Usage),
    ("decision.decided", CommandExit::No),
    ("decision.needs_words", CommandExit::Usage),
    ("decision.unknown", CommandExit::Usage),
    ("decision.wrong_verb", CommandExit::Usage),
    ("file.conflict", CommandExit::No),
    ("file.exists", CommandExit::No),
    ("file.fault", CommandExit::Fault),
    ("file.missing", CommandExit::Usage),
    ("file.not_an_image", CommandExit::Usage),
    ("file.outside", CommandExit::No),
    ("file.unreadable", CommandExit::Damaged),
    ("file.unwritable", CommandExit::Fault),
    ("git.dirty", CommandExit::No),
    ("git.missing", CommandExit::Fault),
    ("git.no_commit", CommandExit::No),
    ("git.no_identity", CommandExit::No),
    ("item.being_worked_on", CommandExit::Busy),
    ("item.no_check", CommandExit::Usage),
    ("item.not_planned", CommandExit::No),
    ("item.state", CommandExit::No),
    ("item.unknown", CommandExit::Usage),
    ("land.nothing", CommandExit::No),
    ("land.refused", CommandExit::No),
    ("lane.dirty", CommandExit::No),
    ("lane.not_ours", CommandExit::No),
    ("memory.known", CommandExit::No),
    ("memory.retired", CommandExit::No),
    ("memory.unknown", CommandExit::Usage),
    ("plan.foreign", CommandExit::Damaged),
    ("plan.legacy", CommandExit::No),
    ("plan.none", CommandExit::Usage),
    ("plan.problems", CommandExit::No),
    ("plan.repository", CommandExit::Usage),
    ("plan.secret", CommandExit::No),
    ("plan.started", CommandExit::No),
    ("plan.unreadable", CommandExit::Damaged),
    ("plan.unsupported", CommandExit::No),
    ("record.problems", CommandExit::Usage),
    ("run.blocked", CommandExit::No),
    ("run.busy", CommandExit::Busy),
    ("run.detach_failed", CommandExit::Fault),
    ("run.fenced", CommandExit::Busy),
    ("run.finished", CommandExit::No),
    ("run.needs_human", CommandExit::Waits),
    ("run.not_landed", CommandExit::No),
    ("run.not_started", CommandExit::No),
    ("run.other_tree", CommandExit::No),
    ("run.paused", CommandExit::Waits),
    ("run.same_tree", CommandExit::Busy),
    ("run.state", CommandExit::No),
    ("run.unknown", CommandExit::Usage),
    ("store.busy", CommandExit::Busy),
    ("store.damaged", CommandExit::Damaged),
    ("store.fault", CommandExit::Fault),
    ("store.gone", CommandExit::Fault),
    ("store.lost", CommandExit::Damaged),
    ("store.missing", CommandExit::No),
    ("store.network", CommandExit::Fault),
    ("store.newer", CommandExit::Damaged),
    ("store.tracked", CommandExit::No),
    ("store.two_journals", CommandExit::Damaged),
    ("target.checked_out", CommandExit::No),
    ("target.moved", CommandExit::No),
    ("trust.needed", CommandExit::Waits),
    ("trust.register", CommandExit::Damaged),
    ("usage", CommandExit::Usage),
    ("workspace.setup_failed", CommandExit::Fault),
    ("worktree.dirty", CommandExit::No),
    ("worktree.failed", CommandExit::Fault),
    ("worktree.gone", CommandExit::No),
    ("worktree.in_use", CommandExit::No),
    ("worktree.locked", CommandExit::No),
    ("worktree.taken", CommandExit::No),
];

/// Why a verb was not carried out.
#[derive(Debug)]
pub struct Failure {
    /// The code: `run.busy`.
    pub code: &'static str,
    /// What happened, to what: a fragment without a full stop.
    pub message: String,
    /// What to type next.
    pub hint: Option<String>,
    /// What lies below.
    pub source: Option<Box<dyn Error + Send + Sync>>,
    /// What is wrong in which files, when that is the reason.
    pub findings: Option<Box<Findings>>,
}

/// Problems in files, with the files, so that they can be shown side by side.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Findings {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// The text of each file that has a problem, by the name that the problem uses.
    #[serde(skip)]
    pub sources: BTreeMap<String, String>,
}

impl Findings {
    /// How many problems are errors.
    #[must_use]
    pub fn error_count(&self) -> usize {
        self.problems
            .iter()
            .filter(|problem| problem.is_error())
            .count()
    }
}

impl Failure {
    /// A failure of a known code.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(
            CODES.iter().any(|(known, _)| *known == code),
            "{code} is not in the table"
        );
        Self {
            code,
            message: message.into(),
            hint: None,
            source: None,
            findings: None,
        }
    }

    /// Says what to type next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what lies below.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says what is wrong in which files.
    #[must_use]
    pub fn with_findings(mut self, findings: Findings) -> Self {
        self.findings = Some(Box::new(findings));
        self
    }

    /// What the process ends with.
    #[must_use]
    pub fn exit_status(&self) -> CommandExit {
        CODES
            .iter()
            .find(|(code, _)| *code == self.code)
            .map_or(CommandExit::Fault, |(_, exit)| *exit)
    }

    /// The failure with its causes and its code, in one line.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut parts = vec![self.message.clone()];
        parts.extend(self.causes());
        format!("{} [{}]", parts.join(": "), self.code)
    }

    /// The causes below, outermost first.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        let first = self
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static));
        std::iter::successors(first, |error| (*error).source())
            .map(ToString::to_string)
            .collect()
    }
}

/// What is answered where a verb was not carried out.
#[derive(Serialize)]
struct FailureAnswer<'f> {
    error: FailureFields<'f>,
}

#[derive(Serialize)]
struct FailureFields<'f> {
    code: &'f str,
    message: &'f str,
    causes: Vec<String>,
    hint: Option<&'f str>,
    exit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<&'f [Problem]>,
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FailureAnswer {
            error: FailureFields {
                code: self.code,
                message: &self.message,
                causes: self.causes(),
                hint: self.hint.as_deref(),
                exit: self.exit_status().code(),
                problems: self.findings.as_ref().map(|found| &*found.problems),
            },
        }
        .serialize(serializer)
    }
}

crate::name_schema!(Failure, "piton.error/1");

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

/// A file that could not be read. A missing file is not damage: the path that
/// was named is wrong.
pub fn unreadable_file(path: &std::path::Path, source: io::Error) -> Failure {
    if let Some(link) = OutsideLink::of_error(&source) {
        return outside_failure(link);
    }
    if source.kind() == io::ErrorKind::NotFound {
        return Failure::new(
            "file.missing",
            format!("there is no file {}", path.display()),
        )
        .with_hint("see that the path is right; it is seen from the present folder");
    }
    let what = format!("cannot read {}", path.display());
    if source.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) {
        return Failure::new("file.fault", what)
            .with_hint("try again; if it stays so, see that the disk is well")
            .with_source(source);
    }
    let hint = if source.kind() == io::ErrorKind::PermissionDenied {
        "see that you may read the file"
    } else {
        "let a file that can be read as a whole be in its place, or name another"
    };
    Failure::new("file.unreadable", what)
        .with_hint(hint)
        .with_source(source)
}

/// A link that leads out of the project.
pub(crate) fn outside_failure(link: &OutsideLink) -> Failure {
    let hint = match link.is_link() {
        true => {
            "piton follows no link out of a project: copy what it leads to into its place, or \
             begin piton in a folder that holds both"
        }
        false => "name a file of the project",
    };
    Failure::new("file.outside", link.to_string()).with_hint(hint)
}

/// A file that could not be written.
pub fn unwritable_file(path: &std::path::Path, source: io::Error) -> Failure {
    if let Some(link) = OutsideLink::of_error(&source) {
        return outside_failure(link);
    }
    Failure::new(
        "file.unwritable",
        format!("cannot write {}", path.display()),
    )
    .with_hint("see that the folder is there, that you may write to it and that the disk has room")
    .with_source(source)
}

impl From<StoreFault> for Failure {
    fn from(fault: StoreFault) -> Self {
        let (code, hint) = match fault.kind {
            FaultKind::Missing => (
                "store.missing",
                "a plan that is run begins one: `piton run PLAN`",
            ),
            FaultKind::Io => (
                "store.fault",
                "see that the disk has room and that you may write to the folder, then repeat the command",
            ),
            FaultKind::InUse => (
                "store.busy",
                "end the other process, a runner or a server of tools for one, then repeat the command",
            ),
            FaultKind::Locked => (
                "store.busy",
                "look what that process does (one that is stopped goes on after `kill -CONT` with its number), then repeat the command: nothing was stored",
            ),
            FaultKind::Gone => (
                "store.gone",
                "after `piton store move` or `piton store restore` repeat the command. Else what was recorded went with it, as where an agent types `git clean -x`; what is done stands in the file of its plan: go on from there with `piton run PLAN`. Of a run in lanes it is on a branch that `git branch --list 'piton/*'` names: merge that first",
            ),
            FaultKind::Damaged => (
                "store.damaged",
                "see what is damaged with `piton journal verify`, save what can be read with `piton journal export`, and bring a backup in with `piton store restore FILE`: the damaged store is kept beside it",
            ),
            FaultKind::Newer => (
                "store.newer",
                "use the newer piton that wrote this store; nothing was changed",
            ),
            FaultKind::NetworkFileSystem => (
                "store.network",
                "keep the project on a local disk, or name another folder with PITON_PROJECT",
            ),
            FaultKind::UnknownBackend => ("usage", "name a folder"),
            FaultKind::Flush => (
                "store.fault",
                "see that the disk is well, then repeat the command; `piton journal verify` tells what is there",
            ),
        };
        let failure = Self::new(code, fault.what.clone()).with_hint(hint);
        match fault.source {
            Some(source) => Self {
                source: Some(source),
                ..failure
            },
            None => failure,
        }
    }
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Refused(refusal) => refusal.into(),
            CommitError::Fault(fault) => fault.into(),
            CommitError::Unknown(fault) => {
                let failure: Self = fault.into();
                failure.with_hint("repeat the command: what was stored already is not stored twice")
            }
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::RunState {
                name,
                state,
                pause,
                at,
            } => run_state_failure(
                &name,
                state,
                pause.as_ref(),
                at.as_ref().map(ToString::to_string),
            ),
            Refusal::NameTaken(_) => {
                Self::new("run.state", message).with_hint("see it with `piton status`")
            }
            Refusal::NoSuchRun(_) => {
                Self::new("run.unknown", message).with_hint("see the runs with `piton status`")
            }
            Refusal::NoSuchItem(_) => {
                Self::new("item.unknown", message).with_hint("see the nodes with `piton status`")
            }
            Refusal::NoSuchDecision(_) => {
                Self::new("decision.unknown", message).with_hint("see what is open with `piton inbox`")
            }
            Refusal::Busy { name, holder } => busy_failure(&name, &holder),
            Refusal::Fenced { name } => Self::new("run.fenced", message)
                .with_hint(format!("see who does with `piton status {}`", quote_word(&name))),
            Refusal::Targeted { name, .. } => Self::new("run.state", message)
                .with_hint(format!("see where it stands with `piton status {}`", quote_word(&name))),
            Refusal::NothingToLand { name, .. } => Self::new("land.nothing", message)
                .with_hint(format!("see where it stands with `piton status {}`", quote_word(&name))),
            Refusal::ItemState { node, state, until } => {
                let until = until.map(crate::world::local_time_with_seconds);
                let message = until.map_or(message, |until| format!("`{node}` is {state} until {until}"));
                Self::new("item.state", message)
                    .with_hint("see where everything stands with `piton status`")
            }
            Refusal::BeingWorkedOn(_) => Self::new("item.being_worked_on", message)
                .with_hint("stop the run first with `piton stop`, or wait for the agent to end"),
            Refusal::Decided { .. } => {
                Self::new("decision.decided", message).with_hint("see what is open with `piton inbox`")
            }
            Refusal::Unfit { .. } => Self::new("file.conflict", message).with_hint(
                "see with `piton inbox` what can be done, or change the file and type `piton files sync`",
            ),
            Refusal::WrongVerb { fits, .. } => wrong_verb_failure(message, &fits),
            Refusal::EmptyAnswer => {
                Self::new("decision.needs_words", message).with_hint("say it with `--why TEXT`")
            }
            Refusal::Remembered { .. } => Self::new("memory.known", message)
                .with_hint("read it with `piton learn list --kind guardrail`"),
            Refusal::NotRemembered(_) => Self::new("memory.unknown", message)
                .with_hint("see what is remembered with `piton learn list`"),
            Refusal::OwnSuccessor(_) => Self::new("usage", message).with_hint(
                "name the one that holds from now on, or see `piton learn retire --help`",
            ),
            Refusal::Retired(_) => Self::new("memory.retired", message)
                .with_hint("see what is followed with `piton learn list`"),
            Refusal::NotBlocked(_) => Self::new("blocker.unknown", message)
                .with_hint("see what is unresolved with `piton recent --blockers`"),
            Refusal::BadPlan(_) => Self::new("plan.problems", message)
                .with_hint("see what is wrong with `piton plan check`"),
        }
    }
}

fn busy_failure(name: &str, holder: &RunHolder) -> Failure {
    let typed = quote_word(name);
    let hint =
        format!("follow it with `piton status {typed} --watch`, end it with `piton stop {typed}`");
    Failure::new(
        "run.busy",
        format!(
            "run `{name}` is held by {}, since {}",
            holder.owner,
            crate::world::local_time_with_seconds(holder.since)
        ),
    )
    .with_hint(hint)
}

fn wrong_verb_failure(message: String, fits: &[Verb]) -> Failure {
    let hint = if fits.is_empty() {
        "mend the file by hand, then type `piton files sync`".to_owned()
    } else {
        let verbs: Vec<&str> = fits.iter().map(|verb| verb.as_str()).collect();
        format!("what fits is: {}", verbs.join(", "))
    };
    Failure::new("decision.wrong_verb", message).with_hint(hint)
}

/// What to type to go on where a limit was reached. A budget is not counted
/// anew: what was `spent` stays spent; without it no amount can be named.
fn hint_beyond_limit(name: &str, limit: &str, spent: Option<&Spend>) -> String {
    let typed = format!("piton run {}", quote_word(name));
    match limit.split_once("budget (") {
        Some(("project ", _)) => {
            "what all runs may use stands under [budget] in .piton/config.toml".to_owned()
        }
        Some((_, amount)) => match spent.and_then(|spent| larger_budget(amount, spent)) {
            Some(flag) => format!("go on with a larger budget, for example `{typed} {flag}`"),
            None => format!("go on with `{typed}` and a larger budget"),
        },
        None => format!("go on with `{typed}`; the limit is counted anew"),
    }
}

/// The flag for twice the budget that is used up, or twice what was spent where
/// that is more: of `$5.00)`, `--budget-usd 10`.
#[must_use]
pub fn larger_budget(amount: &str, spent: &Spend) -> Option<String> {
    let amount = amount.trim_end_matches(')');
    if let Some(tokens) = amount.strip_suffix(" tokens") {
        let tokens: u64 = tokens.replace(',', "").parse().ok()?;
        let used = tokens.max(spent.budget_tokens().unwrap_or(0));
        return Some(format!("--budget-tokens {}", used.saturating_mul(2)));
    }
    let dollars: f64 = amount.strip_prefix('$')?.parse().ok()?;
    let used = dollars.max(spent.total_dollars().map_or(0.0, Dollars::as_f64));
    // Whole cents, upwards: less than what was spent would end it at once.
    let twice = ((used * 200.0).ceil() / 100.0).max(0.02);
    Some(format!("--budget-usd {twice}"))
}

/// [`run_state_failure`] for a run that is in this state.
#[must_use]
pub fn failure_of_run_state(row: &RunRow, state: RunState) -> Failure {
    let at = row.at.as_ref().map(ToString::to_string);
    run_state_failure_with_spend(
        &row.name,
        state,
        row.pause.as_ref(),
        at,
        Some(&row.spent.spend),
    )
}

/// What is said when a run is not in a state in which something can be done:
/// one sentence and one way out for each row of the table of states.
#[must_use]
pub fn run_state_failure(
    name: &str,
    state: RunState,
    pause: Option<&Pause>,
    at: Option<String>,
) -> Failure {
    run_state_failure_with_spend(name, state, pause, at, None)
}

/// [`run_state_failure`], where it may be known what was spent.
pub(crate) fn run_state_failure_with_spend(
    name: &str,
    state: RunState,
    pause: Option<&Pause>,
    at: Option<String>,
    spent: Option<&Spend>,
) -> Failure {
    let at = at.map(|node| format!(" at {}", Node::shown(&node)));
    let at = at.unwrap_or_default();
    let typed = quote_word(name);
    match (state, pause) {
        (RunState::New, _) => Failure::new("run.not_started", format!("run `{name}` has not been started")).with_hint(format!("start it with `piton run {typed}`")),
        (RunState::Running, _) => Failure::new("run.state", format!("run `{name}` is running")).with_hint(format!("follow it with `piton status {typed} --watch`")),
        (RunState::Interrupted, _) => Failure::new("run.state", format!("run `{name}` is interrupted; no runner works on it")).with_hint(format!("go on with `piton run {typed}`")),
        (RunState::Waiting, Some(Pause::Breakpoint { node })) => Failure::new("run.needs_human", format!("run `{name}` waits for a person at the breakpoint after {node}"))
            .with_hint(format!("look at what was done, then go on with `piton resume {typed}`")),
        (RunState::Paused, Some(Pause::Limit { limit })) => {
            Failure::new("run.paused", format!("run `{name}` is paused (limit {limit})"))
                .with_hint(hint_beyond_limit(name, limit, spent))
        }
        (RunState::Paused, pause) => {
            let why = pause.map(|pause| format!(" ({})", pause.describe_reason())).unwrap_or_default();
            Failure::new("run.paused", format!("run `{name}` is paused{why}")).with_hint(format!("let it go on with `piton resume {typed}`"))
        }
        (RunState::Waiting, _) => Failure::new("run.needs_human", format!("run `{name}` waits for a person{at}")).with_hint("see the question with `piton inbox`"),
        (RunState::Blocked, _) => Failure::new("run.blocked", format!("run `{name}` is blocked{at}"))
            .with_hint("see why, and what to type to go on, with `piton inbox`"),
        (RunState::Done, _) => Failure::new("run.finished", format!("run `{name}` is finished")).with_hint(format!("see what was done with `piton status {typed}`; run it anew with `piton run {typed} --recompile`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_budget_is_one_that_is_not_used_up_already() {
        let spent = |cost_usd: Option<&str>, output_tokens| Spend {
            cost_usd: cost_usd.and_then(|said| said.parse().ok()),
            output_tokens,
            ..Spend::default()
        };
        let nothing = spent(None, None);
        let of = |amount, spent: &Spend| larger_budget(amount, spent).unwrap_or_default();
        assert_eq!(of("$5.00)", &nothing), "--budget-usd 10");
        assert_eq!(
            of("$0.50)", &spent(Some("1.004"), None)),
            "--budget-usd 2.01"
        );
        assert_eq!(of("1,000 tokens)", &nothing), "--budget-tokens 2000");
        let spent = spent(None, Some(4_000));
        assert_eq!(of("1000 tokens)", &spent), "--budget-tokens 8000");
    }

    #[test]
    fn the_codes_are_sorted_and_each_stands_once() {
        assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn no_hint_tells_anybody_to_delete_reset_or_force() {
        for state in [
            RunState::New,
            RunState::Running,
            RunState::Interrupted,
            RunState::Paused,
            RunState::Waiting,
            RunState::Blocked,
            RunState::Done,
        ] {
            let failure = run_state_failure("auth", state, None, None);
            let hint = failure.hint.unwrap_or_default().to_lowercase();
            assert!(!hint.is_empty());
            for word in ["delete", "remove", "reset", "force", "rm "] {
                assert!(!hint.contains(word), "{hint}");
            }
        }
    }
}
