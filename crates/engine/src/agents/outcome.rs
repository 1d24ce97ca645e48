//! What an attempt came to, of what its program said and how it ended.
//!
//! The success of a program, by its own words and exit status 0, is not yet a
//! verdict on the work: that is looked for in the agent's words. A program that
//! stopped before its work was done has not completed, whatever its agent wrote.

use piton_core::attempt::{Conversation, HumanNeeded, Outcome, ProgramReport, Report};
use piton_core::classify::FailureCategory;
use piton_core::trouble::Trouble;

use super::reader_state::terminating_signal;
use super::{AgentResult, EarlyStop, ProgramVerdict};
use crate::agents::answer::{self, PENDING_WORK, ProgramEnd, STOPPED_EARLY, describe_end};
use crate::agents::settings::VerdictSource;

/// What models used is kept for so many of them.
const MODELS_MAX: usize = 32;

/// Makes a report of what a program said and of how it ended.
#[must_use]
pub fn report_of_result(mut said: AgentResult, ended: &ProgramEnd, by: VerdictSource) -> Report {
    let has_succeeded = said.verdict == ProgramVerdict::Succeeded && ended.code == Some(0);
    let words = std::mem::take(&mut said.words);
    let own = answer::report_of_output(&words, &ended_with_code(0), by);
    let was_refused = said.trouble == Some(Trouble::HookRefused);
    let mut report = if has_succeeded {
        let report = Report {
            program: ProgramReport {
                trouble: own.program.trouble.or(said.trouble),
                ..own.program
            },
            ..own
        };
        match said.early.take() {
            Some(early) => report_of_early_stop(report, early),
            None => report,
        }
    } else if own.outcome == Outcome::NeedsHuman && !was_refused {
        // An agent that asked a question waits for the answer even if it was
        // ended then.
        own
    } else {
        Report {
            observations: own.observations,
            ..report_of_failure(&said, ended)
        }
    };
    let is_parked = matches!(
        report.program.trouble,
        Some(Trouble::Auth | Trouble::RateLimit)
    ) && report.outcome == Outcome::Interrupted;
    match &ended.stopped {
        // It was silent because its service turned it away: that is why.
        Some(stopped) if stopped.late && is_parked => {
            let error = report.error.take().unwrap_or_default();
            report.error = Some(format!("{error} ({})", stopped.why));
        }
        Some(stopped) => {
            report = answer::finish_report(report, ended);
            report.program.cannot_start = false;
            report.program.trouble = stopped.late.then_some(Trouble::Timeout);
        }
        None => {}
    }
    if !said.usage.is_unknown() {
        report.program.usage = said.usage;
    }
    report.program.models = said.models.into_iter().take(MODELS_MAX).collect();
    let conversation = said.conversation;
    report.program.conversation = conversation.filter(|one| Conversation::is_valid_id(&one.id));
    // Nothing is too long.
    answer::finish_report(report, &ProgramEnd::default())
}

fn ended_with_code(code: i32) -> ProgramEnd {
    ProgramEnd {
        code: Some(code),
        ..ProgramEnd::default()
    }
}

/// What came of an agent whose program ended well before its work was done.
fn report_of_early_stop(report: Report, early: EarlyStop) -> Report {
    let outcome = report.outcome;
    match early {
        EarlyStop::PendingWork(tasks)
            if matches!(outcome, Outcome::Completed | Outcome::Partial)
                || report.program.trouble == Some(Trouble::NoVerdict) =>
        {
            Report {
                outcome: Outcome::Failed,
                error: Some(format!("{PENDING_WORK}: {}", tasks.join(", "))),
                category: Some(FailureCategory::Logic),
                program: ProgramReport {
                    trouble: Some(Trouble::Unfinished),
                    ..report.program
                },
                ..report
            }
        }
        // A failure then may be the limit and nothing else; a question or a
        // blocker stays one.
        EarlyStop::UsageWindow(resets_at)
            if matches!(outcome, Outcome::Failed | Outcome::Partial) =>
        {
            Report {
                outcome: Outcome::Interrupted,
                error: Some(STOPPED_EARLY.to_owned()),
                category: None,
                program: ProgramReport {
                    trouble: Some(Trouble::RateLimit),
                    resets_at,
                    ..report.program
                },
                ..report
            }
        }
        EarlyStop::PendingWork(_) | EarlyStop::UsageWindow(_) => report,
    }
}

/// A hook's words as what a person is needed for: their first line, and the
/// rest.
fn human_needed_by_hook(words: &str) -> HumanNeeded {
    let (reason, rest) = words.trim().split_once('\n').unwrap_or((words.trim(), ""));
    let rest = rest.trim();
    HumanNeeded {
        reason: reason.trim().to_owned(),
        details: (!rest.is_empty()).then(|| rest.to_owned()),
    }
}

fn report_of_failure(said: &AgentResult, ended: &ProgramEnd) -> Report {
    let signal = terminating_signal(ended).filter(|_| said.verdict != ProgramVerdict::Failed);
    let trouble = match said.trouble {
        // Something not permitted is no reason to fail.
        None | Some(Trouble::Permission) if signal.is_some() => Trouble::Signal,
        None | Some(Trouble::Permission) => Trouble::Logic,
        Some(trouble) => trouble,
    };
    if trouble == Trouble::HookRefused {
        return Report {
            human: Some(human_needed_by_hook(
                said.error.as_deref().unwrap_or_default(),
            )),
            program: ProgramReport {
                trouble: Some(trouble),
                ..ProgramReport::default()
            },
            ..Report::with_outcome(Outcome::NeedsHuman)
        };
    }
    let outcome = outcome_of_trouble(trouble, signal);
    Report {
        error: Some(error_text(said, ended, trouble, signal)),
        category: (outcome == Outcome::Failed).then(|| trouble.category()),
        program: ProgramReport {
            trouble: Some(trouble),
            resets_at: said.resets_at.filter(|_| trouble == Trouble::RateLimit),
            cannot_start: matches!(trouble, Trouble::Auth | Trouble::Setup),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(outcome)
    }
}

fn outcome_of_trouble(trouble: Trouble, signal: Option<i32>) -> Outcome {
    match (trouble, signal) {
        // Hangup, interrupt, quit and termination come from a person or a program that
        // wants it to end; any other signal is a death.
        (Trouble::Signal, None | Some(1 | 2 | 3 | 15)) => Outcome::Interrupted,
        (Trouble::Signal, Some(_)) => Outcome::Failed,
        (Trouble::Auth | Trouble::Setup | Trouble::RateLimit | Trouble::Session, _) => {
            Outcome::Interrupted
        }
        (
            Trouble::Network
            | Trouble::Limit
            | Trouble::Refusal
            | Trouble::Permission
            | Trouble::Timeout
            | Trouble::Stuck
            | Trouble::NoVerdict
            | Trouble::Unfinished
            | Trouble::Logic,
            _,
        ) => Outcome::Failed,
        (Trouble::HookRefused, _) => Outcome::NeedsHuman,
    }
}

fn error_text(
    said: &AgentResult,
    ended: &ProgramEnd,
    trouble: Trouble,
    signal: Option<i32>,
) -> String {
    if said.verdict == ProgramVerdict::Succeeded {
        return format!(
            "the agent said that it succeeded, but ended with {}",
            describe_end(ended)
        );
    }
    match (trouble, signal) {
        (Trouble::Signal, Some(9)) => {
            "the agent was killed by signal 9, which piton did not send; the system may have run out of memory".to_owned()
        }
        (Trouble::Signal, Some(signal)) => {
            format!("the agent was ended by signal {signal}, which piton did not send")
        }
        _ => said
            .error
            .clone()
            .unwrap_or_else(|| format!("the agent ended with {} and gave no result", describe_end(ended))),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::agents::answer::AgentStopReason;

    fn said(verdict: ProgramVerdict, words: &str, trouble: Option<Trouble>) -> AgentResult {
        AgentResult {
            verdict,
            words: words.to_owned(),
            error: trouble.map(|_| "why".to_owned()),
            trouble,
            ..AgentResult::default()
        }
    }

    fn came_to(said: AgentResult, ended: &ProgramEnd) -> Report {
        report_of_result(said, ended, VerdictSource::Form)
    }

    #[track_caller]
    fn check(said: AgentResult, code: i32, outcome: Outcome, trouble: Option<Trouble>) {
        let report = came_to(said, &ended_with_code(code));
        assert_eq!((report.outcome, report.program.trouble), (outcome, trouble));
    }

    const DONE: &str = r#"{"status":"completed","summary":"all done"}"#;

    #[test]
    fn only_a_verdict_of_a_program_that_succeeded_completes() {
        use ProgramVerdict::{Failed, Nothing, Succeeded};
        check(said(Succeeded, DONE, None), 0, Outcome::Completed, None);
        let missing = Some(Trouble::NoVerdict);
        check(said(Succeeded, "", None), 0, Outcome::Failed, missing);
        let logic = Some(Trouble::Logic);
        check(said(Succeeded, DONE, None), 1, Outcome::Failed, logic);
        check(said(Failed, DONE, None), 0, Outcome::Failed, logic);
        check(said(Nothing, DONE, None), 0, Outcome::Failed, logic);
        let permission = Some(Trouble::Permission);
        let denied = said(Succeeded, DONE, permission);
        check(denied, 0, Outcome::Completed, permission);
        let denied = said(Succeeded, "I may not write.", permission);
        check(denied, 0, Outcome::Failed, missing);
    }

    #[test]
    fn the_agents_own_word_makes_a_success_less() {
        let outcome = |words: &str| {
            let said = said(ProgramVerdict::Succeeded, words, None);
            came_to(said, &ended_with_code(0)).outcome
        };
        assert_eq!(
            outcome("I tried.\n{\"status\":\"failed\",\"error\":\"red\"}"),
            Outcome::Failed
        );
        assert_eq!(outcome("###BLOCKED:no key###"), Outcome::Blocked);
    }

    #[test]
    fn a_program_that_is_judged_by_its_exit_status_needs_no_verdict() {
        let outcome = |verdict, words: &str| {
            let said = said(verdict, words, None);
            report_of_result(said, &ended_with_code(0), VerdictSource::ExitStatus).outcome
        };
        assert_eq!(
            outcome(ProgramVerdict::Succeeded, "well"),
            Outcome::Completed
        );
        assert_eq!(
            outcome(ProgramVerdict::Succeeded, "{\"status\": \"failed\""),
            Outcome::Failed
        );
        assert_eq!(outcome(ProgramVerdict::Nothing, "well"), Outcome::Failed);
    }

    fn early(words: &str, early: EarlyStop) -> Report {
        let said = AgentResult {
            early: Some(early),
            ..said(ProgramVerdict::Succeeded, words, None)
        };
        came_to(said, &ended_with_code(0))
    }

    #[test]
    fn pending_work_in_the_background_completes_nothing() {
        let pending = |words: &str| {
            let tasks = vec!["slow tests".to_owned(), "a review".to_owned()];
            early(words, EarlyStop::PendingWork(tasks))
        };
        for words in [DONE, "I will report back.", "{\"status\":\"partial\"}"] {
            let report = pending(words);
            assert_eq!(report.outcome, Outcome::Failed, "{words}");
            assert_eq!(report.program.trouble, Some(Trouble::Unfinished));
            let error = report.error.unwrap_or_default();
            assert!(
                error.ends_with("was pending: slow tests, a review"),
                "{error}"
            );
        }
        assert_eq!(pending("###BLOCKED:no key###").outcome, Outcome::Blocked);
    }

    #[test]
    fn a_usage_window_that_is_nearly_used_up_is_waited_out() {
        let resets_at = Timestamp::from_second(1_795_380_979).ok();
        let window = |words: &str| early(words, EarlyStop::UsageWindow(resets_at));
        for words in ["Remaining: parser", "{\"status\":\"failed\"}"] {
            let report = window(words);
            assert!(report.is_rate_limited(), "{words}");
            assert_eq!(
                (report.program.resets_at, report.category),
                (resets_at, None)
            );
        }
        assert_eq!(window(DONE).outcome, Outcome::Completed);
        let asks = r#"{"status":"needs-human","humanNeeded":"which key?"}"#;
        assert_eq!(window(asks).outcome, Outcome::NeedsHuman);
    }

    #[test]
    fn a_refusal_of_a_hook_waits_for_a_person_with_its_words() {
        let said = AgentResult {
            error: Some("no prompts on Fridays\nask the owner".to_owned()),
            ..said(ProgramVerdict::Failed, DONE, Some(Trouble::HookRefused))
        };
        let report = came_to(said, &ended_with_code(0));
        assert_eq!(report.outcome, Outcome::NeedsHuman);
        assert_eq!(report.program.trouble, Some(Trouble::HookRefused));
        assert!(!report.program.cannot_start);
        let human = report.human.expect("a person is needed");
        assert_eq!(human.reason, "no prompts on Fridays");
        assert_eq!(human.details.as_deref(), Some("ask the owner"));
    }

    #[test]
    fn who_waits_for_a_person_waits_although_it_was_ended() {
        let asks = r#"{"status":"needs-human","summary":"s","humanNeeded":"which key?"}"#;
        check(
            said(ProgramVerdict::Nothing, asks, None),
            143,
            Outcome::NeedsHuman,
            None,
        );
    }

    #[test]
    fn what_stood_in_the_way_decides() {
        let came_to = |trouble| {
            let report = came_to(
                said(ProgramVerdict::Failed, "", Some(trouble)),
                &ended_with_code(1),
            );
            (report.outcome, report.program.cannot_start, report.category)
        };
        let parked = (Outcome::Interrupted, false, None);
        assert_eq!(came_to(Trouble::RateLimit), parked);
        assert_eq!(came_to(Trouble::Session), parked);
        let stopped = (Outcome::Interrupted, true, None);
        assert_eq!(came_to(Trouble::Auth), stopped);
        assert_eq!(came_to(Trouble::Setup), stopped);
        let failed = |category| (Outcome::Failed, false, Some(category));
        assert_eq!(came_to(Trouble::Network), failed(FailureCategory::Network));
        assert_eq!(came_to(Trouble::Refusal), failed(FailureCategory::Logic));
    }

    #[test]
    fn a_foreign_signal_is_no_failure_and_a_kill_is() {
        let by = |signal| {
            let ended = ProgramEnd {
                signal: Some(signal),
                ..ProgramEnd::default()
            };
            came_to(said(ProgramVerdict::Nothing, "", None), &ended)
        };
        assert_eq!(by(15).outcome, Outcome::Interrupted);
        assert_eq!(by(2).program.trouble, Some(Trouble::Signal));
        let killed = by(9);
        assert_eq!(killed.outcome, Outcome::Failed);
        assert!(
            killed
                .error
                .is_some_and(|error| error.contains("out of memory"))
        );
        check(
            said(ProgramVerdict::Nothing, "", None),
            143,
            Outcome::Interrupted,
            Some(Trouble::Signal),
        );
    }

    #[test]
    fn why_piton_stopped_it_goes_before_what_it_said_unless_the_service_is_why() {
        let late = |trouble| {
            let ended = ProgramEnd {
                signal: Some(15),
                stopped: Some(AgentStopReason {
                    why: "it printed nothing for 5m".to_owned(),
                    asked: false,
                    late: true,
                }),
                ..ProgramEnd::default()
            };
            came_to(said(ProgramVerdict::Nothing, "", trouble), &ended)
        };
        let silent = late(None);
        assert_eq!(
            (silent.outcome, silent.program.trouble),
            (Outcome::Failed, Some(Trouble::Timeout))
        );
        let refused = late(Some(Trouble::RateLimit));
        assert_eq!(
            (refused.outcome, refused.program.trouble),
            (Outcome::Interrupted, Some(Trouble::RateLimit))
        );
    }
}
