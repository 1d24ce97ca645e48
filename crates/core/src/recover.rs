//! What to do after an attempt that did not complete: the recovery of seed 000,
//! with the three actions that it names and never decides.
//!
//! The rules are a table, tried in their order; the first that fits decides.
//! The answer lists the rules before it, each with the reason why it did not fit, so
//! that its reader sees what was known. Nothing here looks anything up: what helps
//! comes from recall, what is wrong with the workspace from the caller.

mod followed_recovery;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptRow, Outcome, RecoveryAction, Report};
use crate::classify::{FailureCategory, classify_failure};
use crate::observation::ObservationKind;
use crate::stuck::error_signature;
use crate::trouble::Trouble;
use crate::word::words;

pub use followed_recovery::{FOLLOWED_MAX, FollowedRecovery};

/// After so many attempts in a row without completion a person decides. Source:
/// `DecideRecovery` of seed 000.
pub const ATTEMPTS_MAX: usize = 3;

/// After so many attempts in a row that were stopped it is too large. Ours.
const STOPPED_MANY: usize = 2;

/// From so many changed files on an attempt was at more than one thing. Ours.
const FILES_MANY: usize = 20;

/// An attempt that did not complete, and what is known around it.
#[derive(Clone, Copy, Debug)]
pub struct FailureContext<'a> {
    /// What the attempt, or the caller that saw it, said of it.
    pub detail: &'a str,
    /// The attempts at the item, oldest first; the last is the one that failed.
    pub attempts: &'a [&'a AttemptRow],
    /// What recall advises for this failure, best first; nothing where it keeps
    /// silent.
    pub advice: &'a [Advice<'a>],
    /// What is wrong with the workspace, each in a sentence: seen, not guessed.
    pub workspace: &'a [&'a str],
    /// The items that wait for this one.
    pub needed_by: &'a [&'a str],
}

/// Something of the memory that helps.
#[derive(Clone, Copy, Debug)]
pub struct Advice<'a> {
    /// The id of what says so.
    pub id: &'a str,
    /// What it is.
    pub kind: AdviceKind,
    /// What to do.
    pub guidance: &'a str,
}

/// What says how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdviceKind {
    /// How a blocker like this one was resolved.
    Resolution,
    /// A learning, a pattern or a guardrail.
    Memory,
}

words! {
    /// Which rule decided.
    Rule {
        /// It was done before.
        AlreadyDone = "already-done",
        /// It was tried often enough.
        AttemptsUsedUp = "attempts-used-up",
        /// A blocker like it was resolved.
        ResolvedBlocker = "resolved-blocker",
        /// The memory has something against it.
        KnownWorkaround = "known-workaround",
        /// It comes and goes by itself.
        PassingTrouble = "passing-trouble",
        /// The workspace or the environment is at fault.
        BrokenState = "broken-state",
        /// It failed as before, and nothing was changed in between.
        SameAgain = "same-again",
        /// The agent went in circles until it was stopped.
        InCircles = "in-circles",
        /// The item is too large.
        TooLarge = "too-large",
        /// The item is not needed.
        NotNeeded = "not-needed",
        /// Nothing else fits.
        NothingKnown = "nothing-known",
    }
}

/// What to do, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// What to do.
    pub action: RecoveryAction,
    /// Which rule says so.
    pub rule: Rule,
    /// What to tell the next attempt, or the person.
    pub guidance: String,
    /// What it rests on: ids of memories and attempts, or facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What was considered before, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedRule>,
}

/// A rule that did not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedRule {
    /// Which.
    pub rule: Rule,
    /// What it would have led to.
    pub action: RecoveryAction,
    /// Why it did not fit.
    pub why: String,
}

/// What a rule says: what to do and what that rests on, or why it does not fit.
type RuleJudgement = Result<(String, Vec<String>), String>;

type RuleCheck = fn(&FailureContext<'_>) -> RuleJudgement;

/// The rules, in the order in which they are tried, each with what it leads to.
/// Where none fits, a person decides.
const RULES: &[(Rule, RecoveryAction, RuleCheck)] = &[
    (Rule::AlreadyDone, RecoveryAction::Skip, judge_already_done),
    (
        Rule::AttemptsUsedUp,
        RecoveryAction::Manual,
        judge_attempts_used_up,
    ),
    (
        Rule::ResolvedBlocker,
        RecoveryAction::Retry,
        judge_resolved_blocker,
    ),
    (
        Rule::KnownWorkaround,
        RecoveryAction::Retry,
        judge_known_workaround,
    ),
    (
        Rule::PassingTrouble,
        RecoveryAction::Retry,
        judge_transient_failure,
    ),
    (
        Rule::BrokenState,
        RecoveryAction::FixState,
        judge_broken_state,
    ),
    (Rule::SameAgain, RecoveryAction::Manual, judge_same_failure),
    (Rule::InCircles, RecoveryAction::Retry, judge_loop),
    (Rule::TooLarge, RecoveryAction::BreakChunks, judge_too_large),
    (Rule::NotNeeded, RecoveryAction::Skip, judge_not_needed),
];

/// What to do after an attempt that did not complete.
#[must_use]
pub fn choose_recovery(failure: &FailureContext<'_>) -> Recovery {
    choose_by_rules(RULES, failure)
}

fn choose_by_rules(
    rules: &[(Rule, RecoveryAction, RuleCheck)],
    failure: &FailureContext<'_>,
) -> Recovery {
    let mut rejected = Vec::new();
    for &(rule, action, judge) in rules {
        match judge(failure) {
            Ok((guidance, evidence)) => {
                return Recovery {
                    action,
                    rule,
                    guidance,
                    evidence,
                    rejected,
                };
            }
            Err(why) => rejected.push(RejectedRule { rule, action, why }),
        }
    }
    Recovery {
        action: RecoveryAction::Manual,
        rule: Rule::NothingKnown,
        guidance: "nothing recorded helps with this: a person should look at it".to_owned(),
        evidence: Vec::new(),
        rejected,
    }
}

/// How often the item was tried in a row without being completed. Attempts that
/// were interrupted do not count, nor do those that have not ended.
#[must_use]
pub fn count_failed_tries(attempts: &[&AttemptRow]) -> usize {
    let outcomes = attempts.iter().rev().filter_map(|row| row.report.as_ref());
    outcomes
        .map(|report| report.outcome)
        .filter(|outcome| *outcome != Outcome::Interrupted)
        .take_while(|outcome| *outcome != Outcome::Completed)
        .count()
}

impl FailureContext<'_> {
    fn last_report(&self) -> Option<&Report> {
        self.attempts.last()?.report.as_ref()
    }

    /// Whether the attempt that failed began with this action.
    fn was_started_by(&self, action: RecoveryAction) -> bool {
        let context = self
            .last_report()
            .and_then(|report| report.context.as_ref());
        context.and_then(|context| context.recovery_action) == Some(action)
    }

    /// The name of the attempt that was given this advice and failed all the same:
    /// as guidance, or as something that stood in its prompt.
    fn attempt_with_advice(&self, advice: &Advice<'_>) -> Option<String> {
        let guidance = advice.guidance;
        let with_it = |row: &&&AttemptRow| {
            if row.memories.iter().any(|id| id == advice.id) {
                return true;
            }
            let report = row.report.as_ref();
            let context = report.and_then(|report| report.context.as_ref());
            let given = context.and_then(|context| context.recovery_guidance.as_deref());
            given.is_some_and(|given| given.contains(guidance.trim()))
        };
        // What an attempt completed with is worth giving again.
        let failed = |row: &&&AttemptRow| {
            let report = row.report.as_ref();
            report.is_none_or(|report| report.outcome != Outcome::Completed)
        };
        let row = self.attempts.iter().filter(failed).find(with_it)?;
        Some(name_of_attempt(row))
    }

    /// The best advice of a kind that was not tried yet.
    fn judge_by_advice(&self, kind: AdviceKind, none: &str) -> RuleJudgement {
        let mut tried = Vec::new();
        for advice in self.advice.iter().filter(|advice| advice.kind == kind) {
            match self.attempt_with_advice(advice) {
                Some(attempt) => tried.push(format!("{} was tried in {attempt}", advice.id)),
                None => return Ok((advice.guidance.to_owned(), vec![advice.id.to_owned()])),
            }
        }
        Err(if tried.is_empty() {
            none.to_owned()
        } else {
            tried.join("; ")
        })
    }
}

fn name_of_attempt(row: &AttemptRow) -> String {
    row.name
        .clone()
        .unwrap_or_else(|| format!("attempt {}", row.number))
}

/// Whether the attempt said all that it had to say, rather than breaking off:
/// only then is its word taken that there is nothing to do.
fn check_ended_by_itself(failure: &FailureContext<'_>) -> Result<(), String> {
    let process = failure
        .last_report()
        .and_then(|report| report.program.process.as_ref());
    if process.is_none_or(|process| process.code == Some(0)) {
        return Ok(());
    }
    Err("the attempt broke off, so that its word is not taken for it".to_owned())
}

fn judge_already_done(failure: &FailureContext<'_>) -> RuleJudgement {
    let observations = failure
        .last_report()
        .map(|report| report.observations.as_slice());
    let done = observations
        .unwrap_or_default()
        .iter()
        .find(|seen| seen.kind == ObservationKind::Completion);
    let Some(seen) = done else {
        return Err("nothing says that it was done already".to_owned());
    };
    check_ended_by_itself(failure)?;
    if failure.last_report().is_some_and(has_changed) {
        return Err("it changed files, so that it was not done before".to_owned());
    }
    Ok((
        format!("it was done already: {}", seen.title),
        vec![seen.title.clone()],
    ))
}

/// Whether the attempt changed something, as far as its report says.
fn has_changed(report: &Report) -> bool {
    let trees = report
        .changes
        .tree_before
        .as_ref()
        .zip(report.changes.tree_after.as_ref());
    report
        .changes
        .files
        .as_ref()
        .is_some_and(|files| !files.is_empty())
        || trees.is_some_and(|(before, after)| before != after)
}

/// Whether the work tree was compared, and nothing had changed.
fn is_idle(report: &Report) -> bool {
    let looked = report.changes.files.is_some() && report.changes.tree_after.is_some();
    let commits = report.changes.commits.as_ref().is_none_or(Vec::is_empty);
    looked && commits && !has_changed(report)
}

/// The last two attempts that were not interrupted, the last one first.
fn last_two_attempts<'r>(failure: &FailureContext<'r>) -> Option<(&'r AttemptRow, &'r AttemptRow)> {
    let spoken = |row: &&&AttemptRow| {
        let report = row.report.as_ref();
        report.is_some_and(|report| report.outcome != Outcome::Interrupted)
    };
    let mut rows = failure
        .attempts
        .iter()
        .rev()
        .copied()
        .filter(|row| spoken(&row));
    Some((rows.next()?, rows.next()?))
}

fn judge_same_failure(failure: &FailureContext<'_>) -> RuleJudgement {
    let Some((last, before)) = last_two_attempts(failure) else {
        return Err("it failed for the first time".to_owned());
    };
    let report = |row: &'_ AttemptRow| row.report.clone();
    let (Some(now), Some(then)) = (report(last), report(before)) else {
        return Err("it failed for the first time".to_owned());
    };
    let of = |report: &Report| report.error.as_deref().map(error_signature);
    if of(&now).is_none_or(|now| now.is_empty()) || of(&now) != of(&then) {
        return Err("it did not fail as the attempt before did".to_owned());
    }
    if !is_idle(&now) || !is_idle(&then) {
        return Err("something was changed in between, or it is not known whether".to_owned());
    }
    Ok((
        "it failed twice in the same way and changed nothing: a person should look at it"
            .to_owned(),
        vec![name_of_attempt(before), name_of_attempt(last)],
    ))
}

fn judge_loop(failure: &FailureContext<'_>) -> RuleJudgement {
    let is_stuck = |row: &AttemptRow| {
        let report = row.report.as_ref();
        report.is_some_and(|report| report.program.trouble == Some(Trouble::Stuck))
    };
    let Some(last) = failure.attempts.last().filter(|row| is_stuck(row)) else {
        return Err("it did not go in circles".to_owned());
    };
    if last_two_attempts(failure).is_some_and(|(_, before)| is_stuck(before)) {
        return Err("it went in circles twice in a row".to_owned());
    }
    let error = last
        .report
        .as_ref()
        .and_then(|report| report.error.as_deref());
    let error = error.unwrap_or("it went in circles");
    Ok((
        format!(
            "{error}. Find out why before you do the same again, or go about it in another way"
        ),
        vec![name_of_attempt(last)],
    ))
}

fn judge_attempts_used_up(failure: &FailureContext<'_>) -> RuleJudgement {
    let tries = count_failed_tries(failure.attempts);
    if tries < ATTEMPTS_MAX {
        return Err(format!(
            "it failed {tries} of {ATTEMPTS_MAX} times in a row"
        ));
    }
    let names = failure.attempts.iter().rev().take(tries).rev();
    Ok((
        format!("it has failed {tries} times in a row: a person should look at it"),
        names.map(|row| name_of_attempt(row)).collect(),
    ))
}

fn judge_resolved_blocker(failure: &FailureContext<'_>) -> RuleJudgement {
    failure.judge_by_advice(
        AdviceKind::Resolution,
        "no blocker like it is known to be resolved",
    )
}

fn judge_known_workaround(failure: &FailureContext<'_>) -> RuleJudgement {
    failure.judge_by_advice(AdviceKind::Memory, "nothing in the memory is about it")
}

fn judge_transient_failure(failure: &FailureContext<'_>) -> RuleJudgement {
    let exit = failure
        .last_report()
        .and_then(|report| report.program.process.as_ref())
        .and_then(|process| process.code);
    if is_local_connection_failure(failure.detail) {
        return Err("what does not answer is a service of this machine".to_owned());
    }
    match classify_failure(exit, failure.detail) {
        category @ (FailureCategory::Network | FailureCategory::RateLimit) => Ok((
            "nothing about the work is wrong: try it again a little later".to_owned(),
            vec![format!(
                "the failure is one of category {}",
                category.as_str()
            )],
        )),
        FailureCategory::Timeout | FailureCategory::Validation | FailureCategory::Logic => {
            Err("neither the network nor a limit of a service is at fault".to_owned())
        }
    }
}

/// Whether the failure is that something on this machine does not answer.
fn is_local_connection_failure(detail: &str) -> bool {
    let said = detail.to_lowercase();
    let refused = ["econnrefused", "connection refused", "could not connect"];
    let here = ["127.0.0.1", "localhost", "[::1]"];
    let says = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    says(&refused) && says(&here)
}

/// Words of a workspace or an environment that is not as it should be, as
/// shells, git, package managers, databases and file systems say it. Lower case.
const STATE_SIGNS: &[&str] = &[
    "command not found",
    "not recognized as an internal or external command",
    "executable file not found",
    "no space left on device",
    "disk quota exceeded",
    "read-only file system",
    "your local changes to the following files would be overwritten",
    "you have unstaged changes",
    "you have unmerged paths",
    "needs merge",
    "index.lock",
    "dirty database version",
    "migration failed to apply",
    "partially applied",
    "address already in use",
    "cannot find module 'node_modules",
    "no module named",
    "modulenotfounderror",
    "could not find a lock file",
    "lock file needs to be updated",
    "cannot connect to the docker daemon",
];

fn judge_broken_state(failure: &FailureContext<'_>) -> RuleJudgement {
    if failure.was_started_by(RecoveryAction::FixState) {
        return Err("the state was mended before this attempt, and it failed again".to_owned());
    }
    let said = failure.detail.to_lowercase();
    let sign = STATE_SIGNS.iter().find(|sign| said.contains(**sign));
    let silent = is_local_connection_failure(failure.detail);
    let silent = silent.then(|| "a service of this machine does not answer".to_owned());
    let evidence: Vec<String> = failure
        .workspace
        .iter()
        .map(|fact| (*fact).to_owned())
        .chain(silent)
        .chain(sign.map(|sign| format!("the failure says \"{sign}\"")))
        .collect();
    if evidence.is_empty() {
        return Err("nothing is wrong with the workspace that is known".to_owned());
    }
    let guidance = format!(
        "first put the workspace in order, and nothing else: {}",
        evidence.join("; ")
    );
    Ok((guidance, evidence))
}

/// Words of an agent that ran out of something. Lower case.
const TOO_LARGE_SIGNS: &[&str] = &[
    "context window",
    "context length",
    "prompt is too long",
    "ran out of context",
    "maximum number of turns",
    "max turns",
    "out of budget",
    "budget exceeded",
    "token budget",
    "output limit",
];

fn judge_too_large(failure: &FailureContext<'_>) -> RuleJudgement {
    if failure.was_started_by(RecoveryAction::BreakChunks) {
        return Err("it was to be split before this attempt".to_owned());
    }
    let said = failure.detail.to_lowercase();
    let mut evidence = Vec::new();
    if let Some(report) = failure.last_report() {
        if report.outcome == Outcome::Partial {
            evidence.push("a part of it was done".to_owned());
        }
        let files = report.changes.files.as_ref().map_or(0, Vec::len);
        if files >= FILES_MANY {
            evidence.push(format!("{files} files were changed"));
        }
        // Once may be chance: a machine that was slow, a tool that hung.
        let reports = failure
            .attempts
            .iter()
            .rev()
            .map_while(|row| row.report.as_ref());
        let stopped = reports.take_while(|report| was_stopped(report)).count();
        if files > 0 && stopped >= STOPPED_MANY {
            evidence.push(format!(
                "it worked until it was stopped, {stopped} times in a row"
            ));
        }
    }
    let sign = TOO_LARGE_SIGNS.iter().find(|sign| said.contains(**sign));
    evidence.extend(sign.map(|sign| format!("the failure says \"{sign}\"")));
    if evidence.is_empty() {
        return Err("nothing says that it is too large".to_owned());
    }
    let guidance = format!(
        "split it into parts that can be done one by one: {}",
        evidence.join("; ")
    );
    Ok((guidance, evidence))
}

/// Whether it went on until piton ended it.
fn was_stopped(report: &Report) -> bool {
    let process = report.program.process.as_ref();
    let by = process.and_then(|process| process.stopped_by.as_deref());
    matches!(by, Some("wall-timeout" | "output-limit"))
}

/// Words that say that the item is not needed. Lower case.
const NOT_NEEDED_SIGNS: &[&str] = &[
    "no longer needed",
    "not needed any more",
    "not needed anymore",
    "is obsolete",
    "has been superseded",
    "superseded by",
    "is a duplicate of",
    "out of scope",
];

fn judge_not_needed(failure: &FailureContext<'_>) -> RuleJudgement {
    let said = failure.detail.to_lowercase();
    let Some(sign) = NOT_NEEDED_SIGNS.iter().find(|sign| said.contains(**sign)) else {
        return Err("nothing says that it is not needed".to_owned());
    };
    check_ended_by_itself(failure)?;
    if let Some(waiting) = failure.needed_by.first() {
        return Err(format!("{waiting} waits for it"));
    }
    let evidence = vec![
        format!("the failure says \"{sign}\""),
        "no other item waits for it".to_owned(),
    ];
    Ok((
        format!("it can be left out: {}", evidence.join("; ")),
        evidence,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{AttemptContext, ProcessEnd, ReportedChanges};
    use crate::observation::Observation;

    fn report(outcome: Outcome) -> Report {
        serde_json::from_value(serde_json::json!({ "outcome": outcome })).expect("a report")
    }

    fn attempt(number: u32, report: Report) -> AttemptRow {
        let mut row: AttemptRow = serde_json::from_value(serde_json::json!({
            "id": "01900000-0000-7000-8000-000000000001",
            "run": "01900000-0000-7000-8000-000000000002",
            "node": "keel", "number": number, "role": "worker", "agent": "adze",
            "iteration": number, "started_at": "2026-01-15T10:30:00Z",
        }))
        .expect("an attempt");
        row.report = Some(report);
        row
    }

    /// A failure about which nothing else is known.
    #[derive(Default)]
    struct Case {
        detail: &'static str,
        reports: Vec<Report>,
        advice: Vec<Advice<'static>>,
        workspace: Vec<&'static str>,
        needed_by: Vec<&'static str>,
    }

    impl Case {
        fn judged(&self, rules: &[(Rule, RecoveryAction, RuleCheck)]) -> Recovery {
            let reports = self.reports.iter().cloned();
            let rows: Vec<AttemptRow> = (1..).zip(reports).map(|(n, r)| attempt(n, r)).collect();
            let attempts: Vec<&AttemptRow> = rows.iter().collect();
            choose_by_rules(
                rules,
                &FailureContext {
                    detail: self.detail,
                    attempts: &attempts,
                    advice: &self.advice,
                    workspace: &self.workspace,
                    needed_by: &self.needed_by,
                },
            )
        }
    }

    const RESOLUTION: Advice<'_> = Advice {
        id: "blocker-3",
        kind: AdviceKind::Resolution,
        guidance: "start the relay first",
    };
    const WORKAROUND: Advice<'_> = Advice {
        id: "learning-0007",
        kind: AdviceKind::Memory,
        guidance: "use the other port",
    };

    fn failed() -> Case {
        Case {
            detail: "assertion failed: left == right",
            reports: vec![report(Outcome::Failed)],
            ..Case::default()
        }
    }

    fn saying(detail: &'static str) -> Case {
        Case { detail, ..failed() }
    }

    fn with(change: impl FnOnce(&mut Report)) -> Case {
        let mut case = failed();
        change(&mut case.reports[0]);
        case
    }

    /// So many attempts that changed a file and were ended by their time.
    fn stopped(times: usize) -> Case {
        let mut report = report(Outcome::Failed);
        report.changes.files = Some(vec!["a.rs".to_owned()]);
        report.program.process = Some(ProcessEnd {
            stopped_by: Some("wall-timeout".to_owned()),
            ..ProcessEnd::default()
        });
        Case {
            reports: vec![report; times],
            ..failed()
        }
    }

    /// An attempt that failed like that and changed nothing.
    fn idle(error: &str) -> Report {
        Report {
            error: Some(error.to_owned()),
            changes: ReportedChanges {
                files: Some(Vec::new()),
                tree_before: Some("aa".to_owned()),
                tree_after: Some("aa".to_owned()),
                ..report(Outcome::Failed).changes
            },
            ..report(Outcome::Failed)
        }
    }

    /// So many attempts in a row that went in circles.
    fn circling(times: usize) -> Case {
        let mut report = report(Outcome::Failed);
        report.error = Some("it went in circles and was stopped".to_owned());
        report.program.trouble = Some(Trouble::Stuck);
        Case {
            reports: vec![report; times],
            ..failed()
        }
    }

    fn after(action: RecoveryAction, guidance: &str, case: Case) -> Case {
        let mut case = case;
        let last = case.reports.last_mut().expect("an attempt");
        last.context = Some(AttemptContext {
            recovery_action: Some(action),
            recovery_guidance: Some(guidance.to_owned()),
            ..AttemptContext::default()
        });
        case
    }

    fn advised(advice: &[Advice<'static>]) -> Case {
        Case {
            advice: advice.to_vec(),
            ..failed()
        }
    }

    fn outcomes(all: &[Outcome]) -> Case {
        Case {
            reports: all.iter().copied().map(report).collect(),
            ..failed()
        }
    }

    /// A case, the rule that decides it, what it leads to, and what stands in
    /// the guidance.
    fn cases() -> Vec<(Case, Rule, RecoveryAction, &'static str)> {
        use Outcome::{Completed, Failed, Interrupted, Partial};
        use RecoveryAction::{BreakChunks, FixState, Manual, Retry, Skip};
        let done = Observation::bare(ObservationKind::Completion, "the keel is laid");
        let done_thrice = Case {
            reports: vec![report(Failed); 3],
            ..failed()
        };
        vec![
            (
                with(|report| report.observations = vec![done.clone()]),
                Rule::AlreadyDone,
                Skip,
                "the keel is laid",
            ),
            (done_thrice, Rule::AttemptsUsedUp, Manual, "3 times"),
            (
                Case {
                    advice: vec![RESOLUTION],
                    ..outcomes(&[Failed, Failed, Failed])
                },
                Rule::AttemptsUsedUp,
                Manual,
                "3 times",
            ),
            // Interrupted ones do not count, and a completed one begins anew.
            (
                outcomes(&[Failed, Failed, Interrupted]),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                outcomes(&[Failed, Interrupted, Failed, Failed]),
                Rule::AttemptsUsedUp,
                Manual,
                "3 times",
            ),
            (
                outcomes(&[Failed, Failed, Completed, Failed]),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                advised(&[WORKAROUND, RESOLUTION]),
                Rule::ResolvedBlocker,
                Retry,
                "start the relay first",
            ),
            (
                advised(&[WORKAROUND]),
                Rule::KnownWorkaround,
                Retry,
                "use the other port",
            ),
            // What did not help is not offered again.
            (
                after(
                    Retry,
                    "start the relay first",
                    advised(&[RESOLUTION, WORKAROUND]),
                ),
                Rule::KnownWorkaround,
                Retry,
                "use the other port",
            ),
            (
                after(Retry, "use the other port", advised(&[WORKAROUND])),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                saying("connect ECONNREFUSED 10.2.0.7:443"),
                Rule::PassingTrouble,
                Retry,
                "a little later",
            ),
            (
                saying("connect ECONNREFUSED 127.0.0.1:5432"),
                Rule::BrokenState,
                FixState,
                "a service of this machine",
            ),
            (
                saying("HTTP 429 too many requests"),
                Rule::PassingTrouble,
                Retry,
                "a little later",
            ),
            (
                saying("sh: 1: cmake: command not found"),
                Rule::BrokenState,
                FixState,
                "command not found",
            ),
            (
                Case {
                    workspace: vec!["migration 12 is half applied"],
                    ..failed()
                },
                Rule::BrokenState,
                FixState,
                "migration 12 is half applied",
            ),
            (
                after(
                    FixState,
                    "put it in order",
                    saying("sh: 1: cmake: command not found"),
                ),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                outcomes(&[Partial]),
                Rule::TooLarge,
                BreakChunks,
                "a part of it was done",
            ),
            (
                saying("Error: prompt is too long: 210000 tokens"),
                Rule::TooLarge,
                BreakChunks,
                "prompt is too long",
            ),
            (
                with(|report| {
                    report.changes.files = Some((0..FILES_MANY).map(|n| n.to_string()).collect());
                }),
                Rule::TooLarge,
                BreakChunks,
                "20 files",
            ),
            (
                stopped(2),
                Rule::TooLarge,
                BreakChunks,
                "until it was stopped, 2 times",
            ),
            (
                stopped(1),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                after(BreakChunks, "split it", outcomes(&[Partial])),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                Case {
                    reports: vec![idle("2 of 3 tests failed"), idle("2 of 5 tests failed")],
                    ..failed()
                },
                Rule::SameAgain,
                Manual,
                "twice in the same way",
            ),
            (
                Case {
                    reports: vec![idle("2 tests failed"), idle("no such module")],
                    ..failed()
                },
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                circling(1),
                Rule::InCircles,
                Retry,
                "go about it in another way",
            ),
            (
                circling(2),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                saying("the export is no longer needed since 2.0"),
                Rule::NotNeeded,
                Skip,
                "no longer needed",
            ),
            (
                Case {
                    needed_by: vec!["hull"],
                    ..saying("the export is no longer needed since 2.0")
                },
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
            (
                failed(),
                Rule::NothingKnown,
                Manual,
                "nothing recorded helps",
            ),
        ]
    }

    #[test]
    fn each_failure_is_recovered_from_as_its_rule_says() {
        for (case, rule, action, guidance) in cases() {
            let recovery = case.judged(RULES);
            let place = format!("{}: {recovery:?}", case.detail);
            assert_eq!((recovery.rule, recovery.action), (rule, action), "{place}");
            assert!(recovery.guidance.contains(guidance), "{place}");
            let before = RULES.iter().take_while(|(have, ..)| *have != rule);
            let before: Vec<Rule> = before.map(|(rule, ..)| *rule).collect();
            let rejected: Vec<Rule> = recovery.rejected.iter().map(|r| r.rule).collect();
            assert_eq!(rejected, before, "{place}");
            assert!(recovery.rejected.iter().all(|r| !r.why.is_empty()));
        }
    }

    #[test]
    fn every_rule_has_a_case_that_needs_it() {
        for rule in Rule::ALL {
            let without: Vec<_> = RULES
                .iter()
                .filter(|(have, ..)| have != rule)
                .copied()
                .collect();
            let needs = |(case, decided, ..): &(Case, Rule, RecoveryAction, &str)| {
                let (with, without) = (case.judged(RULES), case.judged(&without));
                decided == rule
                    && (with.action, with.guidance) != (without.action, without.guidance)
            };
            // That nothing is known is what is left where no rule fits.
            let needed = cases().iter().any(needs);
            assert_eq!(needed, *rule != Rule::NothingKnown, "{rule}");
        }
    }

    #[test]
    fn what_stood_in_the_prompt_of_an_attempt_that_failed_is_not_offered_again() {
        let mut row = attempt(1, report(Outcome::Failed));
        row.memories = vec!["learning-0007".to_owned()];
        let attempts = [&row];
        let failure = |advice| FailureContext {
            detail: "assertion failed",
            attempts: &attempts,
            advice,
            workspace: &[],
            needed_by: &[],
        };
        let recovery = choose_recovery(&failure(&[WORKAROUND]));
        assert_eq!(recovery.rule, Rule::NothingKnown);
        assert_eq!(
            choose_recovery(&failure(&[WORKAROUND, RESOLUTION])).rule,
            Rule::ResolvedBlocker
        );
    }

    #[test]
    fn advice_that_an_attempt_completed_with_is_offered_again() {
        let mut completed = attempt(1, report(Outcome::Completed));
        completed.memories = vec![WORKAROUND.id.to_owned()];
        let failed = attempt(2, report(Outcome::Failed));
        let recovery = choose_recovery(&FailureContext {
            detail: "assertion failed",
            attempts: &[&completed, &failed],
            advice: &[WORKAROUND],
            workspace: &[],
            needed_by: &[],
        });
        assert_eq!(recovery.rule, Rule::KnownWorkaround);
        assert_eq!(recovery.evidence, [WORKAROUND.id]);
    }

    #[test]
    fn nothing_is_left_out_on_the_word_of_an_attempt_that_broke_off_or_changed_something() {
        let done = Observation::bare(ObservationKind::Completion, "the keel is laid");
        let broke_off = with(|report| {
            report.observations = vec![done.clone()];
            report.program.process = Some(ProcessEnd {
                code: Some(1),
                ..ProcessEnd::default()
            });
        });
        let changed = with(|report| {
            report.observations = vec![done.clone()];
            report.changes.files = Some(vec!["keel.rs".to_owned()]);
        });
        let said_by_a_tool = Case {
            detail: "npm warn deprecated rimraf@2: superseded by rm",
            ..with(|report| {
                report.program.process = Some(ProcessEnd {
                    code: Some(1),
                    ..ProcessEnd::default()
                });
            })
        };
        for case in [broke_off, changed, said_by_a_tool] {
            assert_eq!(case.judged(RULES).rule, Rule::NothingKnown);
        }
    }

    #[test]
    fn what_is_tried_in_a_row_begins_anew_with_what_was_completed() {
        use Outcome::{Blocked, Completed, Failed, Interrupted};
        for (all, tries) in [
            (&[][..], 0),
            (&[Completed], 0),
            (&[Failed, Blocked], 2),
            (&[Failed, Completed, Blocked], 1),
            (&[Failed, Interrupted, Blocked, Interrupted], 2),
        ] {
            let rows: Vec<AttemptRow> = all.iter().map(|o| attempt(1, report(*o))).collect();
            let rows: Vec<&AttemptRow> = rows.iter().collect();
            assert_eq!(count_failed_tries(&rows), tries, "{all:?}");
        }
    }
}
