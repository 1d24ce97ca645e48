//! The words to the loop that agents know from other loops: `<ralph>COMPLETE</ralph>`,
//! `###BLOCKED:why###`, as outcomes.

use piton_core::attempt::{HumanNeeded, Report};
use piton_core::classify::FailureCategory;

use super::form::AgentAnswer;
use super::marker_signals::{FailureSubject, RalphMarkerSignal, SignalFailure, signal_of_line};
use super::status::AnswerStatus;
use super::tag_signals::{RalphTagSignal, parse_tag_signals};
use super::{ProgramEnd, last_lines, report_of_answer};

/// What an agent says in the words of other loops.
pub(super) enum LoopSignal {
    Complete,
    Blocked(Option<String>),
    Failed(String),
    Stuck,
    BrowserNeeded,
}

/// The last word to the loop, and where its line begins.
pub(super) fn last_loop_signal(output: &str) -> Option<(usize, LoopSignal)> {
    let mut last = None;
    let mut at = 0;
    for line in output.split_inclusive('\n') {
        let tag = parse_tag_signals(line)
            .pop()
            .and_then(|signal| match signal {
                RalphTagSignal::Complete => {
                    is_unquoted_signal(line).then_some(LoopSignal::Complete)
                }
                RalphTagSignal::Blocked => Some(LoopSignal::Blocked(None)),
                RalphTagSignal::Gutter => Some(LoopSignal::Stuck),
                RalphTagSignal::BrowserNeeded => Some(LoopSignal::BrowserNeeded),
            });
        let word = tag.or_else(|| signal_of_line(line).and_then(convert_signal));
        last = word.map(|word| (at, word)).or(last);
        at += line.len();
    }
    last
}

/// Whether a line gives a signal, and does not only speak of it: it begins or
/// ends with it, and where other words stand beside it, it is not quoted.
fn is_unquoted_signal(line: &str) -> bool {
    let is_quote = |c: char| matches!(c, '`' | '"' | '\'');
    let is_markup = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '>' | '-' | '.' | '#');
    let is_around = |c: char| is_quote(c) || is_markup(c);
    let Some((before, rest)) = line.rsplit_once("<ralph>") else {
        return false;
    };
    let behind = rest.split_once("</ralph>").map_or("", |(_, behind)| behind);
    let begins = before.trim_matches(is_around).is_empty();
    let ends = behind.trim_matches(is_around).is_empty();
    let is_quoted = before.trim_end_matches(is_markup).ends_with(is_quote);
    (begins && ends) || ((begins || ends) && !is_quoted)
}

/// What a signal of seed 000 says; nothing where it is no end.
fn convert_signal(signal: RalphMarkerSignal) -> Option<LoopSignal> {
    let SignalFailure { what, detail } = match signal {
        RalphMarkerSignal::Selected => return None,
        RalphMarkerSignal::IterationComplete
        | RalphMarkerSignal::AllComplete
        | RalphMarkerSignal::PlanComplete => {
            return Some(LoopSignal::Complete);
        }
        RalphMarkerSignal::Failed(failure) => failure,
    };
    let what = match what {
        FailureSubject::Blocked => return Some(LoopSignal::Blocked(Some(detail))),
        FailureSubject::Task | FailureSubject::Plan => "it failed",
        FailureSubject::Build => "the build failed",
        FailureSubject::Test => "a test failed",
        FailureSubject::Bailout => "the agent gave up",
    };
    Some(LoopSignal::Failed(format!("{what}: {detail}")))
}

pub(super) fn report_of_signal(word: LoopSignal, output: &str, ended: &ProgramEnd) -> Report {
    /// How many lines of what was said before the word tell why.
    const LINES: usize = 3;
    let mut answer = AgentAnswer {
        status: AnswerStatus::Failed,
        summary: None,
        error: None,
        human: None,
        checked: None,
        requests: Vec::new(),
        pieces: serde_json::Value::Null,
        usage: serde_json::Value::Null,
    };
    match word {
        LoopSignal::Complete => {
            answer.status = AnswerStatus::Completed;
            answer.summary = last_lines_without_signals(output, 1);
        }
        LoopSignal::Blocked(why) => {
            answer.status = AnswerStatus::Blocked;
            answer.error = why
                .or_else(|| last_lines_without_signals(output, LINES))
                .or(Some(
                    "the agent says that it is blocked, and not why".to_owned(),
                ));
        }
        LoopSignal::Failed(why) => answer.error = Some(why),
        LoopSignal::Stuck => {
            answer.error = Some(match last_lines_without_signals(output, LINES) {
                Some(why) => format!("the agent is stuck: {why}"),
                None => "the agent says that it is stuck".to_owned(),
            });
            // The same again does not help an agent that is stuck.
            return Report {
                category: Some(FailureCategory::Logic),
                ..report_of_answer(answer, output, ended)
            };
        }
        LoopSignal::BrowserNeeded => {
            answer.status = AnswerStatus::NeedsHuman;
            answer.error = last_lines_without_signals(output, LINES);
            answer.human = Some(HumanNeeded {
                reason: "the agent needs a browser and has none".to_owned(),
                details: last_lines_without_signals(output, LINES),
            });
        }
    }
    report_of_answer(answer, output, ended)
}

/// The last lines of what was said, without the words to the loop.
fn last_lines_without_signals(output: &str, count: usize) -> Option<String> {
    let told = output.lines().map(|line| {
        if signal_of_line(line).is_some() {
            return String::new();
        }
        let mut line = line.to_owned();
        for signal in parse_tag_signals(&line) {
            line = line.replace(&format!("<ralph>{}</ralph>", signal.as_str()), "");
        }
        line
    });
    let told: Vec<String> = told.collect();
    let words = last_lines(&told.join("\n"), count);
    let words = words.trim();
    (!words.is_empty()).then(|| words.to_owned())
}
