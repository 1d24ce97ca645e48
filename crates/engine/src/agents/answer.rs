//! What an agent said came of its work.
//!
//! The verdict is the last JSON object of the form
//! `{status, summary, error?, humanNeeded?}`: see `form`. Without one, the last
//! signal counts that loops of other tools know: `<ralph>COMPLETE</ralph>`,
//! `###BLOCKED:why###`. Without that there is no verdict: exit status 0 says
//! that the program ended well, not that the work is done. Only a program that
//! was configured so is judged by its exit status. What an agent noticed is read
//! wherever it stands.

mod agent_observations;
mod form;
mod loop_signals;
mod marker_signals;
mod observation_markup;
mod shortening;
mod status;
pub(super) mod tag_signals;

use std::fmt;

use piton_core::attempt::{HumanNeeded, Outcome, ProgramReport, Report, SplitPiece};
use piton_core::classify::{FailureCategory, classify_failure};
use piton_core::observation::Observation;
use piton_core::quote;
use piton_core::request::WorkRequest;
use piton_core::terminal::strip_sequences;
use piton_core::trouble::Trouble;

use self::agent_observations::{add_missing_blocker, collect_observations};
use self::form::{AgentAnswer, BlockFault, StatusBlock, last_block};
use self::loop_signals::{LoopSignal, last_loop_signal, report_of_signal};
use self::shortening::shorten_text;
use self::status::AnswerStatus;
use crate::agents::settings::VerdictSource;

/// What an attempt failed with whose program ended well and whose agent gave no
/// verdict.
const NO_VERDICT: &str = "the agent ended with exit status 0 and did not say what came of its work";

/// How the error of an agent begins whose turn ended before its work in the
/// background.
pub(crate) const PENDING_WORK: &str =
    "the agent ended its turn while work in the background was pending";

/// How the error of an agent begins that stopped before a limit was reached.
pub(crate) const STOPPED_EARLY: &str =
    "the agent stopped early because the usage window of its service is nearly used up";

/// Longest text that is kept of a summary or an error, in characters.
const TEXT_CHARS_MAX: usize = 4_000;
/// Longest text that is kept of a request, in characters: longer than what an
/// agent writes that knows what it does.
const REQUEST_CHARS_MAX: usize = 64_000;
/// Longest status that is quoted, in characters.
const STATUS_CHARS_MAX: usize = 60;

/// What an output says of what came of the work.
enum OutputVerdict {
    /// A block of the form; how it was read where it is a near miss.
    Block(Box<AgentAnswer>, Vec<String>),
    /// A signal of other loops.
    Signal(LoopSignal),
    /// A block that cannot be read, as the last thing of this kind.
    Broken(BlockFault),
    /// Nothing.
    Missing,
}

/// Finds what an output says of what came of the work.
///
/// A block goes before any signal. One that cannot be read takes back whatever
/// stands before it.
fn find_verdict(output: &str) -> OutputVerdict {
    let word = last_loop_signal(output);
    match (last_block(output), word) {
        (Some((_, StatusBlock::Whole { answer, notes })), _) => OutputVerdict::Block(answer, notes),
        (Some((at, StatusBlock::Broken(_))), Some((word_at, word))) if word_at > at => {
            OutputVerdict::Signal(word)
        }
        (Some((_, StatusBlock::Broken(fault))), _) => OutputVerdict::Broken(fault),
        (None, Some((_, word))) => OutputVerdict::Signal(word),
        (None, None) => OutputVerdict::Missing,
    }
}

/// How the agent's process ended, as far as the report needs it.
#[derive(Clone, Debug, Default)]
pub struct ProgramEnd {
    /// Its exit status.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it was stopped for, in words: `it ran longer than 2h`.
    pub stopped: Option<AgentStopReason>,
}

/// Why piton stopped an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStopReason {
    /// In words.
    pub why: String,
    /// A person or the runner asked for it: nothing is the agent's fault.
    pub asked: bool,
    /// It took too long.
    pub late: bool,
}

/// Makes a report of what an agent printed (the end of it) and how it ended.
#[must_use]
pub fn report_of_output(output: &str, ended: &ProgramEnd, by: VerdictSource) -> Report {
    let output = strip_ansi(output);
    let report = match find_verdict(&output) {
        OutputVerdict::Block(mut answer, mut notes) => {
            bound_requests(&mut answer.requests, &mut notes);
            if answer.status == AnswerStatus::Completed {
                answer.summary = answer.summary.or_else(|| last_prose_line(&output));
            }
            Report {
                notes: (!notes.is_empty()).then(|| notes.join("; ")),
                ..report_of_answer(*answer, &output, ended)
            }
        }
        OutputVerdict::Signal(word) => report_of_signal(word, &output, ended),
        OutputVerdict::Broken(fault) if has_exited_cleanly(ended) => {
            report_without_verdict(&output, &fault.to_string())
        }
        OutputVerdict::Missing if has_exited_cleanly(ended) && by == VerdictSource::Form => {
            let found = match last_line(&output) {
                Some(_) => "it printed text only",
                None => "it printed nothing",
            };
            report_without_verdict(&output, found)
        }
        OutputVerdict::Broken(_) | OutputVerdict::Missing => report_of_exit(&output, ended),
    };
    let report = Report {
        observations: collect_observations(&output),
        ..report
    };
    add_missing_blocker(finish_report(report, ended))
}

/// Whether the program ended by itself, and well.
fn has_exited_cleanly(ended: &ProgramEnd) -> bool {
    ended.code == Some(0) && ended.stopped.is_none()
}

/// A report of a program that ended well, and of what stands where a verdict
/// belongs.
fn report_without_verdict(output: &str, found: &str) -> Report {
    Report {
        summary: last_prose_line(output).or_else(|| last_line(output)),
        error: Some(format!("{NO_VERDICT}: {found}")),
        category: Some(FailureCategory::Logic),
        program: ProgramReport {
            trouble: Some(Trouble::NoVerdict),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Failed)
    }
}

impl fmt::Display for BlockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutOff => f.write_str("its status block is cut off"),
            Self::Malformed => f.write_str("its status block is not valid JSON"),
            Self::UnknownStatus(word) => {
                let word = shorten_text(word, STATUS_CHARS_MAX);
                write!(f, "its status `{word}` is unknown")
            }
        }
    }
}

/// Lets what the agent said by a tool of piton, while it worked, count before
/// what it printed. A program that broke down is not believed all the same.
pub fn merge_tool_report(report: &mut Report, answer: &Report) {
    let observations = answer.observations.iter().cloned();
    report.observations.extend(observations);
    let screenshots = answer.screenshots.iter().cloned();
    report.screenshots.extend(screenshots);
    let requests = answer.requests.iter().cloned();
    report.requests.extend(requests);
    let validations = answer.validations.iter().cloned();
    report.validations.extend(validations);
    if !should_override_report(report, answer) {
        return;
    }
    report.outcome = answer.outcome;
    report.error.clone_from(&answer.error);
    report.category = answer.category;
    report.human.clone_from(&answer.human);
    report.notes.clone_from(&answer.notes);
    report.checked = answer.checked.clone().or(report.checked.take());
    report.summary = answer.summary.clone().or(report.summary.take());
    report.program.trouble = report
        .program
        .trouble
        .filter(|trouble| *trouble != Trouble::NoVerdict);
    if !answer.pieces.is_empty() {
        report.pieces.clone_from(&answer.pieces);
    }
}

/// Whether the answer by a tool decides what came of an attempt.
fn should_override_report(report: &Report, answer: &Report) -> bool {
    let asks = answer.outcome == Outcome::NeedsHuman;
    let completes = answer.outcome == Outcome::Completed;
    let success = report
        .program
        .process
        .as_ref()
        .is_none_or(|end| end.code == Some(0));
    if report.program.trouble == Some(Trouble::HookRefused) {
        return false;
    }
    if has_stopped_early(report) {
        return asks || answer.outcome == Outcome::Blocked || (completes && success);
    }
    // An agent that asked a question waits for the answer even if it was ended
    // then.
    if report.outcome == Outcome::Interrupted {
        return asks;
    }
    // Something that was not permitted is no reason to fail, and the verdict
    // that is missing is this one.
    let is_harmless =
        |trouble: Trouble| matches!(trouble, Trouble::Permission | Trouble::NoVerdict);
    let trouble = report
        .program
        .trouble
        .filter(|trouble| !is_harmless(*trouble));
    !completes || (success && trouble.is_none() && !report.program.cannot_start)
}

/// Whether an agent printed something of the form, also what cannot be read.
pub(crate) fn has_status_block(output: &str) -> bool {
    let output = strip_ansi(output);
    !matches!(find_verdict(&output), OutputVerdict::Missing)
}

/// Whether the agent stopped because its usage window is nearly used up. It was
/// not turned away: its program ended well.
fn has_stopped_early(report: &Report) -> bool {
    let error = report.error.as_deref().unwrap_or_default();
    report.program.trouble == Some(Trouble::RateLimit) && error.starts_with(STOPPED_EARLY)
}

/// A report no text of which is longer than one that was printed may be.
#[must_use]
pub fn truncate_report(mut report: Report) -> Report {
    let cut = |text: &mut String| *text = shorten_text(text, TEXT_CHARS_MAX);
    let texts = [
        &mut report.summary,
        &mut report.error,
        &mut report.notes,
        &mut report.checked,
    ];
    texts.into_iter().flatten().for_each(cut);
    if let Some(human) = &mut report.human {
        cut(&mut human.reason);
        human.details.iter_mut().for_each(cut);
    }
    report.observations = agent_observations::bound_observations(report.observations);
    report
}

/// Whether the words of an agent say what came of its work: by a block of the
/// form or by a signal of other loops.
#[must_use]
pub fn has_verdict(words: &str) -> bool {
    match find_verdict(&strip_ansi(words)) {
        OutputVerdict::Block(..) | OutputVerdict::Signal(_) => true,
        OutputVerdict::Broken(_) | OutputVerdict::Missing => false,
    }
}

/// What an agent says that it noticed, wherever it stands in what it printed.
#[must_use]
pub fn observations_of_output(output: &str) -> Vec<Observation> {
    collect_observations(&strip_ansi(output))
}

/// Makes a report where piton cannot read what the agent printed: it may have
/// failed or asked, so that its exit status alone is not believed. That is no fault
/// of the item, so that nothing counts against it.
#[must_use]
pub fn report_of_unreadable_output(error: &std::io::Error, ended: &ProgramEnd) -> Report {
    let report = Report {
        error: Some(format!(
            "what the agent printed cannot be read: {error} ({})",
            describe_end(ended)
        )),
        ..Report::with_outcome(Outcome::Interrupted)
    };
    finish_report(report, ended)
}

/// Why it was stopped goes before what it said, and nothing is too long.
pub(crate) fn finish_report(mut report: Report, ended: &ProgramEnd) -> Report {
    if let Some(stopped) = &ended.stopped
        && report.outcome != Outcome::NeedsHuman
    {
        report.outcome = if stopped.asked {
            Outcome::Interrupted
        } else {
            Outcome::Failed
        };
        report.error = Some(stopped.why.clone());
        report.category = (!stopped.asked).then_some(if stopped.late {
            FailureCategory::Timeout
        } else {
            FailureCategory::Logic
        });
    }
    report.summary = report
        .summary
        .map(|text| shorten_text(&text, TEXT_CHARS_MAX));
    report.error = report.error.map(|text| shorten_text(&text, TEXT_CHARS_MAX));
    report.checked = report
        .checked
        .map(|text| shorten_text(&text, TEXT_CHARS_MAX));
    report
}

fn report_of_answer(answer: AgentAnswer, output: &str, ended: &ProgramEnd) -> Report {
    // A program that fails after it said that all is well is not believed.
    let is_contradicted = answer.status == AnswerStatus::Completed && ended.code != Some(0);
    let outcome = if is_contradicted {
        Outcome::Failed
    } else {
        answer.status.outcome()
    };
    let mut report = Report {
        summary: answer.summary,
        checked: answer.checked,
        pieces: parse_pieces(answer.pieces),
        requests: answer.requests,
        program: ProgramReport {
            usage: serde_json::from_value(answer.usage).unwrap_or_default(),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(outcome)
    };
    let reason = answer.error.clone().or_else(|| report.summary.clone());
    match outcome {
        Outcome::NeedsHuman => {
            report.human = Some(answer.human.unwrap_or_else(|| {
                let reason = report.summary.clone();
                HumanNeeded {
                    reason: reason.unwrap_or_else(|| "the agent gave no reason".to_owned()),
                    details: answer.error,
                }
            }));
        }
        Outcome::Failed if is_contradicted => {
            let error = format!(
                "the agent said completed, but ended with {}",
                describe_end(ended)
            );
            let context = format!("{error}\n{}", last_lines(output, 40));
            report.category = Some(classify_failure(ended.code, &context));
            report.error = Some(error);
        }
        Outcome::Failed | Outcome::Blocked => {
            let error =
                reason.unwrap_or_else(|| format!("the agent ended with {}", describe_end(ended)));
            report.category = Some(classify_failure(ended.code, &error));
            report.error = Some(error);
        }
        Outcome::Partial => {
            report.category = Some(FailureCategory::Logic);
            report.error = Some(reason.unwrap_or_else(|| "only a part is done".to_owned()));
        }
        Outcome::Completed | Outcome::Interrupted => {}
    }
    report
}

/// The last line of what was printed that is no JSON and no fence.
fn last_prose_line(output: &str) -> Option<String> {
    let is_prose = |line: &&str| !line.trim().starts_with(['{', '}', '`', '~', '"']);
    let line = nonblank_lines(output).rfind(is_prose)?;
    Some(line.trim().to_owned())
}

/// So many requests of one answer are kept; who writes more has lost its way.
const REQUESTS_MAX: usize = 100;

/// Cuts what is too long of the requests, and says of which.
fn bound_requests(requests: &mut Vec<WorkRequest>, notes: &mut Vec<String>) {
    let left = requests.len().saturating_sub(REQUESTS_MAX);
    if left > 0 {
        notes.push(format!(
            "asked for more than {REQUESTS_MAX} things: {left} of them stand in the transcript alone"
        ));
    }
    requests.truncate(REQUESTS_MAX);
    for request in requests {
        let whole = (request.title.clone(), request.fields.clone());
        request.title = quote::shorten_middle(&request.title, REQUEST_CHARS_MAX);
        request.fields.values_mut().for_each(shorten_value);
        if whole != (request.title.clone(), request.fields.clone()) {
            let title = shorten_text(request.title.lines().next().unwrap_or_default(), 60);
            notes.push(format!(
                "the request `{title}` is cut: its texts are longer than {REQUEST_CHARS_MAX} characters, or its lists than {REQUEST_VALUES_MAX}; it stands as a whole in the transcript"
            ));
        }
    }
}

/// So many values of a list in a request are kept.
const REQUEST_VALUES_MAX: usize = 1_000;

/// Shortens all texts and lists of a value.
fn shorten_value(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = quote::shorten_middle(text, REQUEST_CHARS_MAX),
        serde_json::Value::Array(values) => {
            values.truncate(REQUEST_VALUES_MAX);
            values.iter_mut().for_each(shorten_value);
        }
        serde_json::Value::Object(fields) => fields.values_mut().for_each(shorten_value),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

/// The pieces of an answer; none where one of them is no piece, for then the
/// rest is not the whole.
fn parse_pieces(said: serde_json::Value) -> Vec<SplitPiece> {
    let read: Vec<SplitPiece> = serde_json::from_value(said).unwrap_or_default();
    let shortened = read.into_iter().map(|piece| SplitPiece {
        title: shorten_text(&piece.title, TEXT_CHARS_MAX),
        prompt: shorten_text(&piece.prompt, TEXT_CHARS_MAX),
    });
    shortened.collect()
}

fn report_of_exit(output: &str, ended: &ProgramEnd) -> Report {
    let last = last_line(output);
    if ended.code == Some(0) {
        return Report {
            summary: last,
            ..Report::with_outcome(Outcome::Completed)
        };
    }
    // The shell could not start the program, and nothing else was tried.
    if matches!(ended.code, Some(126 | 127)) && nonblank_lines(output).count() <= 1 {
        let what =
            last.unwrap_or_else(|| format!("the shell says status {}", ended.code.unwrap_or(127)));
        if output.trim().is_empty() || is_shell_complaint(&what) {
            return Report {
                error: Some(what),
                program: ProgramReport {
                    cannot_start: true,
                    ..ProgramReport::default()
                },
                ..Report::with_outcome(Outcome::Interrupted)
            };
        }
        return failed_report(Some(what), output, ended);
    }
    failed_report(last, output, ended)
}

/// Whether a line is the shell's own: `sh: 1: claude: not found`.
fn is_shell_complaint(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "not found",
        "no such file",
        "permission denied",
        "cannot execute",
        "exec format error",
    ]
    .iter()
    .any(|sign| line.ends_with(sign) || line.contains(&format!("{sign}:")))
}

fn failed_report(last: Option<String>, output: &str, ended: &ProgramEnd) -> Report {
    let ending = describe_end(ended);
    let error = match last {
        Some(last) => format!("{last} ({ending})"),
        None => format!("the agent ended with {ending} and printed nothing"),
    };
    let category = classify_failure(ended.code, &last_lines(output, 40));
    Report {
        error: Some(error),
        category: Some(category),
        ..Report::with_outcome(Outcome::Failed)
    }
}

/// How a process ended, in words.
#[must_use]
pub fn describe_end(ended: &ProgramEnd) -> String {
    match (ended.code, ended.signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

fn nonblank_lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
}

fn last_line(text: &str) -> Option<String> {
    nonblank_lines(text)
        .next_back()
        .map(|line| line.trim().to_owned())
}

fn last_lines(text: &str, count: usize) -> String {
    let mut last: Vec<&str> = nonblank_lines(text).rev().take(count).collect();
    last.reverse();
    last.join("\n")
}

/// The text without terminal escapes and other control characters.
pub(crate) fn strip_ansi(text: &str) -> String {
    let text = strip_sequences(text);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() != Some(&'\n') => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(output: &str, ended: &ProgramEnd) -> Report {
        super::report_of_output(output, ended, VerdictSource::Form)
    }

    fn exit(code: i32) -> ProgramEnd {
        ProgramEnd {
            code: Some(code),
            ..ProgramEnd::default()
        }
    }

    #[track_caller]
    fn check(output: &str, code: i32, outcome: Outcome, text: Option<&str>) {
        let report = report(output, &exit(code));
        let said = report
            .human
            .as_ref()
            .map(|human| human.reason.as_str())
            .or(report.error.as_deref())
            .or(report.summary.as_deref());
        assert_eq!((report.outcome, said), (outcome, text));
    }

    #[track_caller]
    fn check_no_verdict(output: &str, found: &str) {
        let report = report(output, &exit(0));
        assert_eq!(
            (report.outcome, report.program.trouble, report.category),
            (
                Outcome::Failed,
                Some(Trouble::NoVerdict),
                Some(FailureCategory::Logic)
            ),
            "{output}"
        );
        assert_eq!(
            report.error.as_deref(),
            Some(format!("{NO_VERDICT}: {found}").as_str())
        );
    }

    #[test]
    fn without_a_verdict_the_last_words_of_the_agent_are_its_summary() {
        for (output, summary) in [
            ("working\nall done\n\n", Some("all done")),
            (
                "all done\n```json\n{\"outcome\": \"completed\"}\n```\n",
                Some("all done"),
            ),
            ("```\n", Some("```")),
            ("", None),
        ] {
            let report = report_without_verdict(output, "it printed text only");
            assert_eq!(report.summary.as_deref(), summary, "{output}");
        }
    }

    #[test]
    fn exit_status_0_alone_is_no_verdict() {
        check_no_verdict("", "it printed nothing");
        check_no_verdict(" \n\n", "it printed nothing");
        for text in [
            "I could not do it, the tests fail",
            "Invalid API key",
            "Which one would you like me to take?",
            "Two background agents are running. I will report back when they finish.",
            "Approaching your usage limit, so I stop here. Remaining: parser, tests",
            "working\nall done\n\n",
        ] {
            check_no_verdict(text, "it printed text only");
        }
        check_no_verdict("{\"status\": \"failed\"", "its status block is cut off");
        check(
            r#"{"status": "needs_human", "summary": "s", "humanNeeded": "which key?"}"#,
            0,
            Outcome::NeedsHuman,
            Some("which key?"),
        );
    }

    #[test]
    fn what_was_run_is_kept_with_the_answer_and_decides_nothing() {
        let checked = |output: &str| report(output, &exit(0)).checked;
        let ran = r#"{"status":"completed","summary":"x","evidence":"make test: 12 passed"}"#;
        assert_eq!(checked(ran).as_deref(), Some("make test: 12 passed"));
        let listed = r#"{"status":"failed","error":"x","evidence":["make","1 failed"]}"#;
        assert_eq!(checked(listed).as_deref(), Some("make\n1 failed"));
        assert_eq!(checked(r#"{"status":"completed","summary":"x"}"#), None);
        check_no_verdict(
            r#"{"evidence":"make test: 12 passed"}"#,
            "it printed text only",
        );
    }

    #[test]
    fn words_of_other_loops_count_where_there_is_no_answer() {
        let done = "Tides are computed.\n<ralph>COMPLETE</ralph>\n";
        check(done, 0, Outcome::Completed, Some("Tides are computed."));
        check(
            done,
            2,
            Outcome::Failed,
            Some("the agent said completed, but ended with exit status 2"),
        );
        check("###ITERATION_COMPLETE###\n", 0, Outcome::Completed, None);
        check(
            "There is no key.\nNobody answers.\n<ralph>BLOCKED</ralph>",
            0,
            Outcome::Blocked,
            Some("There is no key.\nNobody answers."),
        );
        check(
            "x\n###BLOCKED: no key ###",
            0,
            Outcome::Blocked,
            Some("no key"),
        );
        check(
            "the same again <ralph>GUTTER</ralph>",
            0,
            Outcome::Failed,
            Some("the agent is stuck: the same again"),
        );
        check(
            "###TEST_FAILED:tides:off by one###",
            0,
            Outcome::Failed,
            Some("a test failed: tides:off by one"),
        );
        check(
            "<ralph>BROWSER_NEEDED</ralph>",
            0,
            Outcome::NeedsHuman,
            Some("the agent needs a browser and has none"),
        );
        // The last one counts, an answer before any, and talk of one is none.
        check(
            "<ralph>COMPLETE</ralph>\nno, wait\n<ralph>BLOCKED</ralph>",
            0,
            Outcome::Blocked,
            Some("no, wait"),
        );
        check(
            "{\"status\":\"completed\",\"summary\":\"well\"}\n<ralph>BLOCKED</ralph>",
            0,
            Outcome::Completed,
            Some("well"),
        );
        for talk in [
            "I would print ###BLOCKED:x### if I were",
            "I would print <ralph>COMPLETE</ralph> if the tests passed",
            "The tests fail, so I cannot say `<ralph>COMPLETE</ralph>`.",
        ] {
            check_no_verdict(talk, "it printed text only");
        }
        for meant in [
            "**<ralph>COMPLETE</ralph>**",
            "All boxes are ticked. <ralph>COMPLETE</ralph>",
            "`<ralph>COMPLETE</ralph>`",
        ] {
            assert_eq!(
                report(meant, &exit(0)).outcome,
                Outcome::Completed,
                "{meant}"
            );
        }
    }

    #[test]
    fn a_signal_with_a_number_in_it_counts_and_a_chosen_item_is_no_end() {
        check(
            "x\n###BLOCKED:issue #12 is open###",
            0,
            Outcome::Blocked,
            Some("issue #12 is open"),
        );
        check(
            "all well\nSELECTED_PRD: p-1\n###PLAN_COMPLETE###",
            0,
            Outcome::Completed,
            Some("all well"),
        );
    }

    #[test]
    fn a_failure_of_the_program_is_one_without_a_verdict() {
        check("boom\n", 3, Outcome::Failed, Some("boom (exit status 3)"));
        check(
            "",
            1,
            Outcome::Failed,
            Some("the agent ended with exit status 1 and printed nothing"),
        );
        check(
            "{\"status\": \"failed\"",
            1,
            Outcome::Failed,
            Some("{\"status\": \"failed\" (exit status 1)"),
        );
        assert_eq!(report("boom", &exit(3)).program.trouble, None);
    }

    #[test]
    fn a_plain_command_may_be_judged_by_its_exit_status() {
        let by_status = |output: &str| {
            let report = super::report_of_output(output, &exit(0), VerdictSource::ExitStatus);
            (report.outcome, report.summary, report.program.trouble)
        };
        let completed = |summary: &str| (Outcome::Completed, Some(summary.to_owned()), None);
        assert_eq!(by_status("working\nall done\n\n"), completed("all done"));
        assert_eq!(by_status(""), (Outcome::Completed, None, None));
        // What it says goes before its exit status, and what cannot be read is
        // no success.
        assert_eq!(by_status("###BLOCKED:no key###").0, Outcome::Blocked);
        for broken in ["{\"status\": \"failed\"", "{\"status\": \"half done\"}"] {
            assert_eq!(by_status(broken).2, Some(Trouble::NoVerdict), "{broken}");
        }
        let failed = super::report_of_output("boom", &exit(3), VerdictSource::ExitStatus);
        assert_eq!(failed.outcome, Outcome::Failed);
    }

    #[test]
    fn the_last_answer_that_fits_counts() {
        let two = "```json\n{\"status\":\"failed\",\"summary\":\"no\"}\n```\nthen\n{\"status\":\"completed\",\"summary\":\"yes\"}\n";
        check(two, 0, Outcome::Completed, Some("yes"));
        check(
            "{\"status\":\"completed\",\"summary\":\"yes\"}\n{\"status\":\"ok\"}\n{broken",
            0,
            Outcome::Completed,
            Some("yes"),
        );
        check(
            "```json\n{\n \"status\": \"failed\",\n \"summary\": \"s\", \"error\": \"e\"\n}\n```",
            0,
            Outcome::Failed,
            Some("e"),
        );
        check(
            "```\n{\"status\":\"failed\",\"summary\":\"not tagged, but a line\"}\n```",
            0,
            Outcome::Failed,
            Some("not tagged, but a line"),
        );
    }

    #[test]
    fn a_success_without_words_counts_where_a_verdict_belongs() {
        let bare = "{\"status\":\"completed\"}";
        check(bare, 0, Outcome::Completed, None);
        check(
            &format!("It works.\n{bare}\n"),
            0,
            Outcome::Completed,
            Some("It works."),
        );
        check(
            &format!("It works.\n```json\n{bare}\n```\nBye."),
            0,
            Outcome::Completed,
            Some("Bye."),
        );
        check_no_verdict(&format!("{bare}\nand so on"), "it printed text only");
        check_no_verdict(
            "x\n{\"status\":\"success\",\"data\":[]}",
            "it printed text only",
        );
    }

    #[track_caller]
    fn check_note(output: &str, outcome: Outcome, note: &str) {
        let report = report(output, &exit(0));
        assert_eq!(
            (report.outcome, report.notes.as_deref()),
            (outcome, Some(note)),
            "{output}"
        );
    }

    #[test]
    fn a_near_miss_is_read_as_what_it_means_and_noted() {
        check_note(
            r#"{"status": "needs_human", "summary": "s", "humanNeeded": {"question": "which?"}}"#,
            Outcome::NeedsHuman,
            "the status `needs_human` was read as `needs-human`",
        );
        check_note(
            "```json\n{\"status\": \"Done\", \"summary\": \"s\",}\n```",
            Outcome::Completed,
            "the status `Done` was read as `completed`; a comma before a closing bracket was passed over",
        );
        check_note(
            "```json\n{\"status\": \"failed\", \"error\": \"one\ntwo\"}\n```",
            Outcome::Failed,
            "a line break within a text was kept",
        );
        check_note(
            r#"{"status": "FAILURE", "summary": "s"}"#,
            Outcome::Failed,
            "the status `FAILURE` was read as `failed`",
        );
        assert_eq!(
            report(r#"{"status":"completed","summary":"s"}"#, &exit(0)).notes,
            None
        );
    }

    #[test]
    fn a_block_counts_wherever_it_stands_unless_it_is_talked_about() {
        let red = r#"{"status": "failed", "error": "red"}"#;
        for output in [
            format!("```\n{red}\n```"),
            format!("~~~ JSON\n{red}\n~~~"),
            format!("```json {red} ```"),
            "{\n  \"status\": \"failed\",\n  \"error\": \"red\"\n}\nBye.".to_owned(),
            format!("This is the result: {red}."),
            format!("- `{red}` as it is"),
            "{\"Status\": \"failed\", \"error\": [\"red\"]}".to_owned(),
        ] {
            check(&output, 0, Outcome::Failed, Some("red"));
        }
        let talk = r#"I would end with {"status":"completed","summary":"x"} if it were done"#;
        check_no_verdict(talk, "it printed text only");
        let within = r#"{"type":"result","result":{"status":"completed","summary":"x"}}"#;
        check_no_verdict(within, "it printed text only");
        check_no_verdict("{\"status\": 200}", "it printed text only");
    }

    #[test]
    fn a_prompt_that_is_repeated_says_nothing() {
        let prompt = r#"```json
{"status": "STATUS", "summary": "what you did, in a sentence"}
```
STATUS is `completed`, `failed` or `blocked` (then add `"error": "why"`)."#;
        check_no_verdict(prompt, "it printed text only");
    }

    #[test]
    fn what_came_last_is_what_the_agent_meant() {
        let done = "{\"status\":\"completed\",\"summary\":\"yes\"}";
        check_no_verdict(
            &format!("{done}\n```json\n{{\"status\": \"failed\",\n```"),
            "its status block is cut off",
        );
        check_no_verdict(
            &format!("{done}\n{{\"status\": \"wip\", \"summary\": \"half\"}}"),
            "its status `wip` is unknown",
        );
        check_no_verdict(
            "<ralph>COMPLETE</ralph>\n{status: \"x\",\n\"status\": failed}",
            "its status block is not valid JSON",
        );
        check(
            &format!("{{\"status\": \"failed\"\nNo, wait:\n{done}"),
            0,
            Outcome::Completed,
            Some("yes"),
        );
        check(
            "{\"status\": \"failed\"\n<ralph>BLOCKED</ralph>",
            0,
            Outcome::Blocked,
            Some("{\"status\": \"failed\""),
        );
        // JSON of another form takes nothing back.
        let other = "```json\n{\"files\": [1]}\n```\n{\"status\": \"up\", \"port\": 80}\nx";
        check(
            &format!("{done}\n{other}"),
            0,
            Outcome::Completed,
            Some("yes"),
        );
    }

    #[test]
    fn a_part_that_is_done_is_partial() {
        let report = report(r#"{"status":"partial","summary":"the parser"}"#, &exit(0));
        assert_eq!(
            (report.outcome, report.error.as_deref(), report.notes),
            (Outcome::Partial, Some("the parser"), None)
        );
    }

    #[test]
    fn an_output_that_was_made_to_cost_time_is_read_in_time() {
        let deep = "{\"status\":\"x\",\"a\":".repeat(20_000);
        let closed = format!("{deep}1{}", "}".repeat(20_000));
        for output in [
            deep,
            closed,
            "{\n".repeat(100_000),
            "\"status\" { ".repeat(20_000),
        ] {
            let end = format!("{output}\n{{\"status\":\"blocked\",\"error\":\"no key\"}}\n");
            check(&end, 0, Outcome::Blocked, Some("no key"));
        }
    }

    #[test]
    fn the_stop_hook_takes_for_an_account_what_is_one() {
        assert!(has_verdict("{\"status\":\"Done\",\"summary\":\"s\"}"));
        assert!(has_verdict("<ralph>BLOCKED</ralph>"));
        assert!(!has_verdict("I will report back."));
        assert!(!has_verdict("{\"status\":\"failed\""));
        assert!(!has_verdict("{\"status\":\"wip\",\"summary\":\"s\"}"));
    }

    #[test]
    fn an_answer_by_a_tool_is_the_verdict_that_is_missing() {
        let answer = |outcome| Report {
            summary: Some("done".to_owned()),
            ..Report::with_outcome(outcome)
        };
        let settled = |mut report: Report, outcome| {
            merge_tool_report(&mut report, &answer(outcome));
            (report.outcome, report.program.trouble, report.error)
        };
        let text = || report("I am done.", &exit(0));
        assert_eq!(
            settled(text(), Outcome::Completed),
            (Outcome::Completed, None, None)
        );
        assert_eq!(settled(text(), Outcome::Blocked).0, Outcome::Blocked);
        let early = |error: &str, trouble, outcome| Report {
            error: Some(error.to_owned()),
            program: ProgramReport {
                trouble: Some(trouble),
                ..ProgramReport::default()
            },
            ..Report::with_outcome(outcome)
        };
        let pending = || early(PENDING_WORK, Trouble::Unfinished, Outcome::Failed);
        assert_eq!(settled(pending(), Outcome::Completed).0, Outcome::Failed);
        let window = || early(STOPPED_EARLY, Trouble::RateLimit, Outcome::Interrupted);
        assert_eq!(settled(window(), Outcome::Completed).0, Outcome::Completed);
        assert_eq!(settled(window(), Outcome::Failed).0, Outcome::Interrupted);
        let refused = || early("x", Trouble::RateLimit, Outcome::Interrupted);
        assert_eq!(
            settled(refused(), Outcome::Completed).0,
            Outcome::Interrupted
        );
        let hook = || early("x", Trouble::HookRefused, Outcome::NeedsHuman);
        assert_eq!(settled(hook(), Outcome::Completed).0, Outcome::NeedsHuman);
    }

    #[test]
    fn a_block_that_is_not_closed_hides_nothing() {
        let asks = r#"{"status":"needs-human","summary":"","humanNeeded":{"reason":"which key?"}}"#;
        check(
            &format!("```json\n{{\"files\": [\nthen I wondered\n{asks}\n"),
            0,
            Outcome::NeedsHuman,
            Some("which key?"),
        );
        // What is not JSON as a whole may have an answer in it.
        check(
            &format!("```json\nthis:\n{asks}\n```\nbye\n"),
            0,
            Outcome::NeedsHuman,
            Some("which key?"),
        );
        let failed = "{\n \"status\": \"failed\",\n \"error\": \"red\"\n}\n";
        for end in ["", "and so it ends\n", "```json\n{broken\n"] {
            check(
                &format!("```json\n{failed}{end}"),
                0,
                Outcome::Failed,
                Some("red"),
            );
        }
        // The next block begins where the one before was forgotten.
        check(
            &format!("```json\n{{broken\n```json\n{failed}```\n"),
            0,
            Outcome::Failed,
            Some("red"),
        );
        // A block that fits is the answer, and not a line of it.
        check(
            "```json\n{\"status\": \"failed\", \"error\": \"whole\", \"before\":\n{\"status\": \"completed\", \"summary\": \"part\"}\n}\n```\n",
            0,
            Outcome::Failed,
            Some("whole"),
        );
    }

    #[test]
    fn a_failure_is_believed_without_words_and_a_success_is_not() {
        check(
            "{\"status\":\"failed\"}",
            0,
            Outcome::Failed,
            Some("the agent ended with exit status 0"),
        );
        check(
            "{\"status\":\"blocked\",\"summary\":\"no access\"}",
            0,
            Outcome::Blocked,
            Some("no access"),
        );
    }

    #[test]
    fn completed_with_a_bad_exit_is_a_failure() {
        let said = "{\"status\":\"completed\",\"summary\":\"yes\"}";
        check(
            said,
            1,
            Outcome::Failed,
            Some("the agent said completed, but ended with exit status 1"),
        );
        let report = report(
            said,
            &ProgramEnd {
                signal: Some(9),
                ..ProgramEnd::default()
            },
        );
        assert_eq!(report.outcome, Outcome::Failed);
    }

    #[test]
    fn needs_human_wins_over_the_exit_status() {
        let said = "{\"status\":\"needs-human\",\"summary\":\"s\",\"humanNeeded\":{\"reason\":\"which key?\",\"details\":\"d\"}}";
        check(said, 1, Outcome::NeedsHuman, Some("which key?"));
        check(
            "{\"status\":\"needs-human\",\"summary\":\"help\"}",
            0,
            Outcome::NeedsHuman,
            Some("help"),
        );
    }

    #[test]
    fn a_program_that_the_shell_cannot_start_was_not_tried() {
        let missing = report("sh: 1: claude: not found\n", &exit(127));
        assert!(missing.program.cannot_start);
        assert_eq!(missing.outcome, Outcome::Interrupted);
        assert!(report("", &exit(126)).program.cannot_start);
        assert!(
            !report("I worked\nand then\nsh: 1: x: not found", &exit(127))
                .program
                .cannot_start
        );
        assert!(!report("done some\n", &exit(1)).program.cannot_start);
    }

    #[test]
    fn a_stop_is_not_the_agents_failure_but_a_timeout_is() {
        let asked = AgentStopReason {
            why: "stopped by SIGINT".to_owned(),
            asked: true,
            late: false,
        };
        let stopped = report(
            "half",
            &ProgramEnd {
                signal: Some(15),
                stopped: Some(asked),
                ..ProgramEnd::default()
            },
        );
        assert_eq!(
            (stopped.outcome, stopped.category),
            (Outcome::Interrupted, None)
        );
        let late = AgentStopReason {
            why: "it ran longer than 2h".to_owned(),
            asked: false,
            late: true,
        };
        let late = report(
            "{\"status\":\"completed\",\"summary\":\"x\"}",
            &ProgramEnd {
                signal: Some(15),
                stopped: Some(late),
                ..ProgramEnd::default()
            },
        );
        assert_eq!(
            (late.outcome, late.category),
            (Outcome::Failed, Some(FailureCategory::Timeout))
        );
    }

    #[test]
    fn pieces_are_read_whole_or_not_at_all() {
        let titles = |said: &str| {
            let said = format!(r#"{{"status":"completed","summary":"s","pieces":{said}}}"#);
            let report = report(&said, &exit(0));
            assert_eq!(report.outcome, Outcome::Completed);
            let titles = report.pieces.into_iter().map(|piece| piece.title);
            titles.collect::<Vec<_>>().join(",")
        };
        let two = r#"[{"title":"a","prompt":"do a"},{"title":"b"}]"#;
        assert_eq!(titles(two), "a,b");
        assert_eq!(titles(r#"[{"title":"a"},{"name":"b"}]"#), "");
        assert_eq!(titles("\"two\""), "");
        assert_eq!(titles("null"), "");
    }

    #[test]
    fn what_it_used_is_read_and_what_cannot_be_read_spoils_nothing() {
        let usage = |text: &str| {
            let answer = format!("{{\"status\":\"completed\",\"summary\":\"s\",\"usage\":{text}}}");
            let ended = ProgramEnd {
                code: Some(0),
                ..ProgramEnd::default()
            };
            let report = report(&answer, &ended);
            assert_eq!(report.outcome, Outcome::Completed, "{text}");
            (
                report.program.usage.input_tokens,
                report.program.usage.cost_usd,
            )
        };
        let told = usage(r#"{"input_tokens": 12, "output_tokens": 3, "cost_usd": 0.5}"#);
        assert_eq!(told, (Some(12), Some(0.5)));
        assert_eq!(usage("\"much\""), (None, None));
        assert_eq!(usage("null"), (None, None));
    }

    #[test]
    fn terminal_escapes_and_progress_bars_do_not_hide_an_answer() {
        check(
            "\u{1b}[32mok\u{1b}[0m\r\u{1b}]0;title\u{7}{\"status\":\"completed\",\"summary\":\"fine\"}",
            0,
            Outcome::Completed,
            Some("fine"),
        );
    }

    #[test]
    fn a_request_is_kept_as_it_was_given() {
        let long = "word ".repeat(4_000).trim().to_owned();
        let said = serde_json::json!({"status": "completed", "summary": "s",
            "operatorRequests": [
                {"title": "one\ntwo", "description": long},
                {"title": 42, "description": "d"},
            ],
        });
        let report = report(&said.to_string(), &exit(0));
        let [one, two] = report.requests.as_slice() else {
            panic!("{:?}", report.requests);
        };
        assert_eq!(one.title, "one\ntwo");
        assert_eq!(one.description(), Some(long.as_str()));
        assert_eq!(two.title, "42");
    }

    #[test]
    fn a_request_that_is_cut_says_so() {
        let long = "word ".repeat(40_000);
        let said = serde_json::json!({"status": "completed", "summary": "s",
            "operatorRequests": [{"title": "t", "description": long}],
        });
        let report = report(&said.to_string(), &exit(0));
        let description = report.requests[0].description().expect("it is there");
        assert!(description.contains("characters left out"));
        let notes = report.notes.expect("it is noted");
        assert!(notes.contains("is cut"), "{notes}");
    }

    #[test]
    fn a_bare_verdict_may_ask_for_something_in_each_spelling() {
        for key in ["operator_requests", "proposed_steps"] {
            let said =
                format!(r#"{{"status": "failed", "{key}": [{{"title": "t", "prompt": "p"}}]}}"#);
            assert_eq!(report(&said, &exit(0)).requests.len(), 1, "{key}");
        }
    }
}
