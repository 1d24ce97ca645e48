//! How a verb says that it could not: one shape for text, JSON and exit status.

use crate::shell::quote;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;

use piton_core::dollars::Dollars;
use piton_core::run::{Pause, RunState};
use piton_core::usage::Spend;
use piton_core::{Refusal, RunRow};
use piton_formats::problem::Problem;
use piton_store::{CommitError, Fault, FaultKind};

/// What a command ends with. The same for every command; of several things the
/// greatest is the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The answer is no: problems were found, a plan ended blocked.
    No = 1,
    /// The command was not understood, or names what is not there.
    Usage = 2,
    /// It waits for a person.
    Waits = 3,
    /// Somebody else holds it.
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

impl Exit {
    /// The number that the process ends with.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Every code of a failure, with its exit status. Each has a page of its own
/// in `docs/errors/`, compared by a test.
pub const CODES: &[(&str, Exit)] = &[
    ("agent.cannot_start", Exit::Fault),
    ("agent.missing", Exit::Usage),
    ("agent.not_allowed", Exit::No),
    ("agent.turned_away", Exit::Fault),
    ("attempt.over", Exit::No),
    ("attempt.unknown", Exit::Usage),
    ("blocker.unknown", Exit::Usage),
    ("decision.decided", Exit::No),
    ("decision.needs_words", Exit::Usage),
    ("decision.unknown", Exit::Usage),
    ("decision.wrong_verb", Exit::Usage),
    ("file.conflict", Exit::No),
    ("file.exists", Exit::No),
    ("file.missing", Exit::Usage),
    ("file.not_an_image", Exit::Usage),
    ("file.unreadable", Exit::Damaged),
    ("file.unwritable", Exit::Fault),
    ("git.dirty", Exit::No),
    ("git.missing", Exit::Fault),
    ("git.no_commit", Exit::No),
    ("git.no_identity", Exit::No),
    ("item.being_worked_on", Exit::Busy),
    ("item.not_planned", Exit::No),
    ("item.state", Exit::No),
    ("item.unknown", Exit::Usage),
    ("land.nothing", Exit::No),
    ("land.refused", Exit::No),
    ("lane.dirty", Exit::No),
    ("lane.not_ours", Exit::No),
    ("memory.known", Exit::No),
    ("memory.retired", Exit::No),
    ("memory.unknown", Exit::Usage),
    ("plan.foreign", Exit::Damaged),
    ("plan.legacy", Exit::No),
    ("plan.none", Exit::Usage),
    ("plan.problems", Exit::No),
    ("plan.repository", Exit::Usage),
    ("plan.secret", Exit::No),
    ("plan.started", Exit::No),
    ("plan.unreadable", Exit::Damaged),
    ("plan.unsupported", Exit::No),
    ("record.problems", Exit::Usage),
    ("run.blocked", Exit::No),
    ("run.busy", Exit::Busy),
    ("run.fenced", Exit::Busy),
    ("run.finished", Exit::No),
    ("run.needs_human", Exit::Waits),
    ("run.not_landed", Exit::No),
    ("run.not_started", Exit::No),
    ("run.other_tree", Exit::No),
    ("run.paused", Exit::Waits),
    ("run.same_tree", Exit::Busy),
    ("run.state", Exit::No),
    ("run.unknown", Exit::Usage),
    ("store.busy", Exit::Busy),
    ("store.damaged", Exit::Damaged),
    ("store.fault", Exit::Fault),
    ("store.gone", Exit::Fault),
    ("store.missing", Exit::No),
    ("store.network", Exit::Fault),
    ("store.newer", Exit::Damaged),
    ("target.checked_out", Exit::No),
    ("target.moved", Exit::No),
    ("usage", Exit::Usage),
    ("workspace.setup_failed", Exit::Fault),
    ("worktree.dirty", Exit::No),
    ("worktree.failed", Exit::Fault),
    ("worktree.gone", Exit::No),
    ("worktree.in_use", Exit::No),
    ("worktree.locked", Exit::No),
    ("worktree.taken", Exit::No),
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
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// The text of each file that has a problem, by the name that the problem uses.
    pub sources: BTreeMap<String, String>,
}

impl Findings {
    /// How many problems are errors.
    #[must_use]
    pub fn errors(&self) -> usize {
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
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what lies below.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says what is wrong in which files.
    #[must_use]
    pub fn finding(mut self, findings: Findings) -> Self {
        self.findings = Some(Box::new(findings));
        self
    }

    /// What the process ends with.
    #[must_use]
    pub fn exit(&self) -> Exit {
        CODES
            .iter()
            .find(|(code, _)| *code == self.code)
            .map_or(Exit::Fault, |(_, exit)| *exit)
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

/// A file that could not be read. One that is not there is no damage: whoever
/// named it named another.
pub fn unreadable(path: &std::path::Path, source: io::Error) -> Failure {
    if source.kind() == io::ErrorKind::NotFound {
        return Failure::new(
            "file.missing",
            format!("there is no file {}", path.display()),
        )
        .hint("see that the path is right; it is seen from the present folder");
    }
    let hint = if source.kind() == io::ErrorKind::PermissionDenied {
        "see that you may read the file"
    } else {
        "name a file that can be read as a whole"
    };
    Failure::new("file.unreadable", format!("cannot read {}", path.display()))
        .hint(hint)
        .because(source)
}

/// A file that could not be written.
pub fn unwritable(path: &std::path::Path, source: io::Error) -> Failure {
    Failure::new(
        "file.unwritable",
        format!("cannot write {}", path.display()),
    )
    .hint("see that the folder is there, that you may write to it and that the disk has room")
    .because(source)
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let (code, hint) = match fault.kind {
            FaultKind::Missing => (
                "store.missing",
                "a plan that is run begins one: `piton run PLAN`",
            ),
            FaultKind::Io => (
                "store.fault",
                "see that the disk has room and that you may write to `.piton/`, then repeat the command",
            ),
            FaultKind::Gone => (
                "store.gone",
                "what was recorded went with it, as where an agent types `git clean -x`; what is done stands in the file of its plan: go on from there with `piton run PLAN`. Of a run in lanes it is on a branch that `git branch --list 'piton/*'` names: merge that first",
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
            FaultKind::Flush => (
                "store.fault",
                "see that the disk is well, then repeat the command; `piton journal verify` tells what is there",
            ),
        };
        let failure = Self::new(code, fault.what.clone()).hint(hint);
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
                failure.hint("repeat the command: what was stored already is not stored twice")
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
            } => run_state(
                &name,
                state,
                pause.as_ref(),
                at.as_ref().map(ToString::to_string),
            ),
            Refusal::NameTaken(_) => {
                Self::new("run.state", message).hint("see it with `piton status`")
            }
            Refusal::NoSuchRun(_) => {
                Self::new("run.unknown", message).hint("see the runs with `piton status`")
            }
            Refusal::NoSuchItem(_) => {
                Self::new("item.unknown", message).hint("see the nodes with `piton status`")
            }
            Refusal::NoSuchDecision(_) => {
                Self::new("decision.unknown", message).hint("see what is open with `piton inbox`")
            }
            Refusal::Busy { name, holder } => {
                let typed = quote(&name);
                let hint = format!(
                    "follow it with `piton status {typed} --watch`, end it with `piton stop {typed}`"
                );
                Self::new(
                    "run.busy",
                    format!(
                        "run `{name}` is held by {}, since {}",
                        holder.owner,
                        crate::world::local_time_s(holder.since)
                    ),
                )
                .hint(hint)
            }
            Refusal::Fenced { name } => Self::new("run.fenced", message)
                .hint(format!("see who does with `piton status {}`", quote(&name))),
            Refusal::Targeted { name, .. } => Self::new("run.state", message)
                .hint(format!("see where it stands with `piton status {}`", quote(&name))),
            Refusal::NothingToLand { name, .. } => Self::new("land.nothing", message)
                .hint(format!("see where it stands with `piton status {}`", quote(&name))),
            Refusal::ItemState { node, state, until } => {
                let message = match until {
                    Some(until) => {
                        format!("`{node}` is {state} until {}", crate::world::local_time_s(until))
                    }
                    None => message,
                };
                Self::new("item.state", message)
                    .hint("see where everything stands with `piton status`")
            }
            Refusal::BeingWorkedOn(_) => Self::new("item.being_worked_on", message)
                .hint("stop the run first with `piton stop`, or wait for the agent to end"),
            Refusal::Decided { .. } => {
                Self::new("decision.decided", message).hint("see what is open with `piton inbox`")
            }
            Refusal::Unfit { .. } => Self::new("file.conflict", message).hint(
                "see with `piton inbox` what can be done, or change the file and type `piton files sync`",
            ),
            Refusal::WrongVerb { fits, .. } if fits.is_empty() => {
                Self::new("decision.wrong_verb", message)
                    .hint("mend the file by hand, then type `piton files sync`")
            }
            Refusal::WrongVerb { fits, .. } => {
                let verbs: Vec<&str> = fits.iter().map(|verb| verb.as_str()).collect();
                Self::new("decision.wrong_verb", message)
                    .hint(format!("what fits is: {}", verbs.join(", ")))
            }
            Refusal::EmptyAnswer => {
                Self::new("decision.needs_words", message).hint("say it with `--why TEXT`")
            }
            Refusal::Remembered { .. } => Self::new("memory.known", message)
                .hint("read it with `piton learn list --kind guardrail`"),
            Refusal::NotRemembered(_) => Self::new("memory.unknown", message)
                .hint("see what is remembered with `piton learn list`"),
            Refusal::OwnSuccessor(_) => Self::new("usage", message).hint(
                "name the one that holds from now on, or see `piton learn retire --help`",
            ),
            Refusal::Retired(_) => Self::new("memory.retired", message)
                .hint("see what is followed with `piton learn list`"),
            Refusal::NotBlocked(_) => Self::new("blocker.unknown", message)
                .hint("see what is unresolved with `piton recent --blockers`"),
            Refusal::BadPlan(_) => Self::new("plan.problems", message)
                .hint("see what is wrong with `piton plan check`"),
        }
    }
}

/// What to type to go on where a limit was reached. A budget is not counted
/// anew: what was `spent` stays spent; without it no amount can be named.
fn beyond(name: &str, limit: &str, spent: Option<&Spend>) -> String {
    let typed = format!("piton run {}", quote(name));
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
        let used = tokens.max(spent.tokens().unwrap_or(0));
        return Some(format!("--budget-tokens {}", used.saturating_mul(2)));
    }
    let dollars: f64 = amount.strip_prefix('$')?.parse().ok()?;
    let used = dollars.max(spent.dollars().map_or(0.0, Dollars::usd));
    // Whole cents, upwards: less than what was spent would end it at once.
    let twice = ((used * 200.0).ceil() / 100.0).max(0.02);
    Some(format!("--budget-usd {twice}"))
}

/// [`run_state`] for a run that is in this state.
#[must_use]
pub fn state_of_run(row: &RunRow, state: RunState) -> Failure {
    let at = row.at.as_ref().map(ToString::to_string);
    in_state((&row.name, state), row.pause.as_ref(), at, Some(&row.spend))
}

/// What is said when a run is not in a state in which something can be done:
/// one sentence and one way out for each row of the table of states.
#[must_use]
pub fn run_state(
    name: &str,
    state: RunState,
    pause: Option<&Pause>,
    at: Option<String>,
) -> Failure {
    in_state((name, state), pause, at, None)
}

/// [`run_state`], where it may be known what was spent.
pub(crate) fn in_state(
    (name, state): (&str, RunState),
    pause: Option<&Pause>,
    at: Option<String>,
    spent: Option<&Spend>,
) -> Failure {
    let at = at.map(|node| format!(" at {node}")).unwrap_or_default();
    let typed = quote(name);
    match (state, pause) {
        (RunState::New, _) => Failure::new("run.not_started", format!("run `{name}` has not been started")).hint(format!("start it with `piton run {typed}`")),
        (RunState::Running, _) => Failure::new("run.state", format!("run `{name}` is running")).hint(format!("follow it with `piton status {typed} --watch`")),
        (RunState::Interrupted, _) => Failure::new("run.state", format!("run `{name}` is interrupted; nobody works on it")).hint(format!("go on with `piton run {typed}`")),
        (RunState::Waiting, Some(Pause::Breakpoint { node })) => Failure::new("run.needs_human", format!("run `{name}` waits for a person at the breakpoint after {node}"))
            .hint(format!("look at what was done, then go on with `piton resume {typed}`")),
        (RunState::Paused, Some(Pause::Limit { limit })) => {
            Failure::new("run.paused", format!("run `{name}` is paused (limit {limit})"))
                .hint(beyond(name, limit, spent))
        }
        (RunState::Paused, pause) => {
            let why = pause.map(|pause| format!(" ({})", pause.reason())).unwrap_or_default();
            Failure::new("run.paused", format!("run `{name}` is paused{why}")).hint(format!("let it go on with `piton resume {typed}`"))
        }
        (RunState::Waiting, _) => Failure::new("run.needs_human", format!("run `{name}` waits for a person{at}")).hint("see the question with `piton inbox`"),
        (RunState::Blocked, _) => Failure::new("run.blocked", format!("run `{name}` is blocked{at}"))
            .hint("see why, and what to type to go on, with `piton inbox`"),
        (RunState::Done, _) => Failure::new("run.finished", format!("run `{name}` is finished")).hint(format!("see what was done with `piton status {typed}`; run it anew with `piton run {typed} --recompile`")),
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
            let failure = run_state("auth", state, None, None);
            let hint = failure.hint.unwrap_or_default().to_lowercase();
            assert!(!hint.is_empty());
            for word in ["delete", "remove", "reset", "force", "rm "] {
                assert!(!hint.contains(word), "{hint}");
            }
        }
    }
}
