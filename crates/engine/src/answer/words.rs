//! The words to the loop that agents know from other loops: `<ralph>COMPLETE</ralph>`,
//! `###BLOCKED:why###`. How they are written is the business of `piton_formats`.

use piton_core::attempt::{HumanNeeded, Report};
use piton_core::classify::Category;
use piton_formats::ralph_dir::signals::{Signal, signals};
use piton_formats::ralph_json::{self, signal_of_line};

use super::{Answer, Ended, Status, last_lines, of_answer};

/// What an agent says in the words of other loops.
pub(super) enum Word {
    Complete,
    Blocked(Option<String>),
    Failed(String),
    Stuck,
    BrowserNeeded,
}

/// The last word to the loop, and where its line begins.
pub(super) fn last_word(output: &str) -> Option<(usize, Word)> {
    let mut last = None;
    let mut at = 0;
    for line in output.split_inclusive('\n') {
        let tag = signals(line).pop().and_then(|signal| match signal {
            Signal::Complete => is_meant(line).then_some(Word::Complete),
            Signal::Blocked => Some(Word::Blocked(None)),
            Signal::Gutter => Some(Word::Stuck),
            Signal::BrowserNeeded => Some(Word::BrowserNeeded),
        });
        let word = tag.or_else(|| signal_of_line(line).and_then(of_signal));
        last = word.map(|word| (at, word)).or(last);
        at += line.len();
    }
    last
}

/// Whether a line gives a signal, and does not only speak of it: it begins or
/// ends with it, and where other words stand beside it, it is not quoted.
fn is_meant(line: &str) -> bool {
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
fn of_signal(signal: ralph_json::Signal) -> Option<Word> {
    use ralph_json::{Failure, Signal, What};
    let Failure { what, detail } = match signal {
        Signal::Selected(_) => return None,
        Signal::IterationComplete | Signal::AllComplete | Signal::PlanComplete => {
            return Some(Word::Complete);
        }
        Signal::Failed(failure) => failure,
    };
    let what = match what {
        What::Blocked => return Some(Word::Blocked(Some(detail))),
        What::Task | What::Plan => "it failed",
        What::Build => "the build failed",
        What::Test => "a test failed",
        What::Bailout => "the agent gave up",
    };
    Some(Word::Failed(format!("{what}: {detail}")))
}

pub(super) fn of_word(word: Word, output: &str, ended: &Ended) -> Report {
    /// How many lines of what was said before the word tell why.
    const LINES: usize = 3;
    let mut answer = Answer {
        status: Status::Failed,
        summary: None,
        error: None,
        human: None,
        checked: None,
        requests: Vec::new(),
        pieces: serde_json::Value::Null,
        usage: serde_json::Value::Null,
    };
    match word {
        Word::Complete => {
            answer.status = Status::Completed;
            answer.summary = last_words(output, 1);
        }
        Word::Blocked(why) => {
            answer.status = Status::Blocked;
            answer.error = why.or_else(|| last_words(output, LINES)).or(Some(
                "the agent says that it is blocked, and not why".to_owned(),
            ));
        }
        Word::Failed(why) => answer.error = Some(why),
        Word::Stuck => {
            answer.error = Some(match last_words(output, LINES) {
                Some(why) => format!("the agent is stuck: {why}"),
                None => "the agent says that it is stuck".to_owned(),
            });
            // Whoever is stuck is not helped by the same again.
            return Report {
                category: Some(Category::Logic),
                ..of_answer(answer, output, ended)
            };
        }
        Word::BrowserNeeded => {
            answer.status = Status::NeedsHuman;
            answer.error = last_words(output, LINES);
            answer.human = Some(HumanNeeded {
                reason: "the agent needs a browser and has none".to_owned(),
                details: last_words(output, LINES),
            });
        }
    }
    of_answer(answer, output, ended)
}

/// The last lines of what was said, without the words to the loop.
fn last_words(output: &str, count: usize) -> Option<String> {
    let told = output.lines().map(|line| {
        if signal_of_line(line).is_some() {
            return String::new();
        }
        let mut line = line.to_owned();
        for signal in signals(&line) {
            line = line.replace(&format!("<ralph>{}</ralph>", signal.as_str()), "");
        }
        line
    });
    let told: Vec<String> = told.collect();
    let words = last_lines(&told.join("\n"), count);
    let words = words.trim();
    (!words.is_empty()).then(|| words.to_owned())
}
