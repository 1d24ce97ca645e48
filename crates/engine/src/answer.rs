//! What an agent said came of its work.
//!
//! The result is the last fenced `json` block or JSON line that fits
//! `{status, summary, error?, humanNeeded?}`. Without one, the last signal
//! counts that loops of other tools know: `<ralph>COMPLETE</ralph>`,
//! `###BLOCKED:why###`. Without that the exit status speaks, and the last line
//! is the summary. What it noticed is read wherever it stands.

mod noticed;
mod words;

use piton_core::attempt::{HumanNeeded, Outcome, Piece, Report};
use piton_core::classify::{Category, classify};
use piton_core::observation::Observation;
use piton_core::trouble::Trouble;
use serde::Deserialize;

use self::noticed::{noticed, with_blocker};
use self::words::{of_word, said};

/// Longest text that is kept of a summary or an error, in characters.
const TEXT_CHARS_MAX: usize = 4_000;

#[derive(Deserialize)]
struct Answer {
    status: Status,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(
        default,
        rename = "humanNeeded",
        alias = "human-needed",
        alias = "human_needed"
    )]
    human: Option<Human>,
    /// Whatever stands there: what cannot be read spoils no answer.
    #[serde(default)]
    pieces: serde_json::Value,
    /// What it used: `input_tokens`, `output_tokens`, `cost_usd`.
    #[serde(default)]
    usage: serde_json::Value,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Completed,
    Failed,
    Blocked,
    NeedsHuman,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Human {
    Reason(String),
    Whole {
        reason: String,
        details: Option<String>,
    },
}

impl Answer {
    /// Whether it says enough to be an answer and not any JSON with a status.
    fn fits(&self) -> bool {
        // A failure needs no words to be believed; a success does.
        self.summary.is_some() || self.status != Status::Completed
    }
}

/// How the agent's process ended, as far as the report needs it.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Its exit status.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it was stopped for, in words: `it ran longer than 2h`.
    pub stopped: Option<Stopped>,
}

/// Why piton stopped an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// In words.
    pub why: String,
    /// Somebody asked for it: nothing is the agent's fault.
    pub asked: bool,
    /// It took too long.
    pub late: bool,
}

/// Makes a report of what an agent printed (the end of it) and how it ended.
#[must_use]
pub fn report(output: &str, ended: &Ended) -> Report {
    let output = strip_ansi(output);
    let report = match find(&output) {
        Some(answer) => of_answer(answer, &output, ended),
        None => match said(&output) {
            Some(word) => of_word(word, &output, ended),
            None => of_exit(&output, ended),
        },
    };
    let report = Report {
        observations: noticed(&output),
        ..report
    };
    with_blocker(finish(report, ended))
}

/// Lets what the agent said by a tool of piton, while it worked, count before
/// what it printed. A program that broke down is not believed all the same.
pub fn settle(report: &mut Report, answer: &Report) {
    // Something that was not permitted is no reason to fail.
    let trouble = report
        .trouble
        .filter(|trouble| *trouble != Trouble::Permission);
    let broke_down = trouble.is_some() || report.cannot_start;
    let success = report
        .process
        .as_ref()
        .is_none_or(|end| end.code == Some(0));
    // Whoever asks, and is ended then, still waits for the answer.
    let asks = answer.outcome == Outcome::NeedsHuman;
    if (report.outcome == Outcome::Interrupted && !asks)
        || (broke_down && answer.outcome == Outcome::Completed)
    {
        report
            .observations
            .extend(answer.observations.iter().cloned());
        return;
    }
    if answer.outcome == Outcome::Completed && !success {
        return;
    }
    report.outcome = answer.outcome;
    report.error.clone_from(&answer.error);
    report.category = answer.category;
    report.human.clone_from(&answer.human);
    report.summary = answer.summary.clone().or(report.summary.take());
    if !answer.pieces.is_empty() {
        report.pieces.clone_from(&answer.pieces);
    }
    report
        .observations
        .extend(answer.observations.iter().cloned());
}

/// A report no text of which is longer than one that was printed may be.
#[must_use]
pub fn bounded(mut report: Report) -> Report {
    let cut = |text: &mut String| *text = shorten(text, TEXT_CHARS_MAX);
    let texts = [&mut report.summary, &mut report.error, &mut report.notes];
    texts.into_iter().flatten().for_each(cut);
    if let Some(human) = &mut report.human {
        cut(&mut human.reason);
        human.details.iter_mut().for_each(cut);
    }
    report.observations = noticed::few(report.observations);
    report
}

/// Whether the words of an agent say what came of its work: by an answer or by
/// a word of other loops.
#[must_use]
pub fn is_account(words: &str) -> bool {
    let words = strip_ansi(words);
    find(&words).is_some() || said(&words).is_some()
}

/// What an agent says that it noticed, wherever it stands in what it printed.
#[must_use]
pub fn noticed_in(output: &str) -> Vec<Observation> {
    noticed(&strip_ansi(output))
}

/// Makes a report where what the agent printed cannot be read: it may have
/// failed or asked, so that its exit status alone is not believed.
#[must_use]
pub fn unread(error: &std::io::Error, ended: &Ended) -> Report {
    let report = Report {
        error: Some(format!(
            "what the agent printed cannot be read: {error} ({})",
            ending(ended)
        )),
        category: Some(Category::Logic),
        ..Report::bare(Outcome::Failed)
    };
    finish(report, ended)
}

/// Why it was stopped goes before what it said, and nothing is too long.
pub(crate) fn finish(mut report: Report, ended: &Ended) -> Report {
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
            Category::Timeout
        } else {
            Category::Logic
        });
    }
    report.summary = report.summary.map(|text| shorten(&text, TEXT_CHARS_MAX));
    report.error = report.error.map(|text| shorten(&text, TEXT_CHARS_MAX));
    report
}

fn of_answer(answer: Answer, output: &str, ended: &Ended) -> Report {
    let failed_exit = ended.code != Some(0);
    let outcome = match answer.status {
        Status::NeedsHuman => Outcome::NeedsHuman,
        Status::Failed => Outcome::Failed,
        Status::Blocked => Outcome::Blocked,
        // A program that fails after it said that all is well is not believed.
        Status::Completed if failed_exit => Outcome::Failed,
        Status::Completed => Outcome::Completed,
    };
    let mut report = Report {
        summary: answer.summary,
        pieces: pieces(answer.pieces),
        usage: serde_json::from_value(answer.usage).unwrap_or_default(),
        ..Report::bare(outcome)
    };
    match outcome {
        Outcome::NeedsHuman => {
            report.human = Some(match answer.human {
                Some(Human::Reason(reason)) => HumanNeeded {
                    reason,
                    details: None,
                },
                Some(Human::Whole { reason, details }) => HumanNeeded { reason, details },
                None => HumanNeeded {
                    reason: report
                        .summary
                        .clone()
                        .unwrap_or_else(|| "the agent gave no reason".to_owned()),
                    details: answer.error,
                },
            });
        }
        Outcome::Failed | Outcome::Blocked => {
            let said = answer.error.or_else(|| report.summary.clone());
            let error = match (answer.status, said) {
                (Status::Completed, _) => {
                    format!("the agent said completed, but ended with {}", ending(ended))
                }
                (_, Some(said)) => said,
                (_, None) => format!("the agent ended with {}", ending(ended)),
            };
            let context = format!("{error}\n{}", last_lines(output, 40));
            report.category = Some(classify(
                ended.code,
                if answer.status == Status::Completed {
                    &context
                } else {
                    &error
                },
            ));
            report.error = Some(error);
        }
        Outcome::Completed | Outcome::Partial | Outcome::Interrupted => {}
    }
    report
}

/// The pieces of an answer; none where one of them is no piece, for then the
/// rest is not the whole.
fn pieces(said: serde_json::Value) -> Vec<Piece> {
    let read: Vec<Piece> = serde_json::from_value(said).unwrap_or_default();
    let shortened = read.into_iter().map(|piece| Piece {
        title: shorten(&piece.title, TEXT_CHARS_MAX),
        prompt: shorten(&piece.prompt, TEXT_CHARS_MAX),
    });
    shortened.collect()
}

fn of_exit(output: &str, ended: &Ended) -> Report {
    let last = last_line(output);
    if ended.code == Some(0) {
        return Report {
            summary: last,
            ..Report::bare(Outcome::Completed)
        };
    }
    // The shell could not start the program, and nothing else was tried.
    if matches!(ended.code, Some(126 | 127)) && lines(output).count() <= 1 {
        let what =
            last.unwrap_or_else(|| format!("the shell says status {}", ended.code.unwrap_or(127)));
        if output.trim().is_empty() || is_shell_complaint(&what) {
            return Report {
                error: Some(what),
                cannot_start: true,
                ..Report::bare(Outcome::Interrupted)
            };
        }
        return failed(Some(what), output, ended);
    }
    failed(last, output, ended)
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

fn failed(last: Option<String>, output: &str, ended: &Ended) -> Report {
    let ending = ending(ended);
    let error = match last {
        Some(last) => format!("{last} ({ending})"),
        None => format!("the agent ended with {ending} and printed nothing"),
    };
    let category = classify(ended.code, &last_lines(output, 40));
    Report {
        error: Some(error),
        category: Some(category),
        ..Report::bare(Outcome::Failed)
    }
}

/// How a process ended, in words.
#[must_use]
pub fn ending(ended: &Ended) -> String {
    match (ended.code, ended.signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
}

fn last_line(text: &str) -> Option<String> {
    lines(text).next_back().map(|line| line.trim().to_owned())
}

fn last_lines(text: &str, count: usize) -> String {
    let mut last: Vec<&str> = lines(text).rev().take(count).collect();
    last.reverse();
    last.join("\n")
}

fn shorten(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(chars_max) {
        // At the end of a word: half a secret would not be known for one.
        Some((end, _)) => {
            let cut = &text[..end];
            let word = cut.rfind(char::is_whitespace).filter(|at| end - at < 512);
            format!("{} …", cut[..word.unwrap_or(end)].trim_end())
        }
        None => text.to_owned(),
    }
}

/// The last block or line that fits.
///
/// A block that is not closed hides nothing: lines within one count too, unless
/// the block as a whole is an answer.
fn find(output: &str) -> Option<Answer> {
    let mut found = None;
    let mut block: Option<Block> = None;
    for line in output.lines() {
        let bare = line.trim();
        if let Some(tag) = bare.strip_prefix("```") {
            let begins = tag.trim().eq_ignore_ascii_case("json");
            if begins || block.is_some() {
                found = block.take().and_then(Block::answer).or(found);
                block = begins.then(Block::default);
            }
            continue;
        }
        let answer = bare.starts_with('{').then(|| read(bare)).flatten();
        match &mut block {
            Some(block) => {
                block.line = answer.or(block.line.take());
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => found = answer.or(found),
        }
    }
    block.and_then(Block::answer).or(found)
}

/// A block marked as `json`, as far as it was read.
#[derive(Default)]
struct Block {
    text: String,
    /// The last line of it that fits.
    line: Option<Answer>,
}

impl Block {
    /// The whole of it, else its last line that fits, else what it begins with:
    /// there may be prose after the JSON of a block that was not closed.
    fn answer(self) -> Option<Answer> {
        read(&self.text).or(self.line).or_else(|| {
            let values = serde_json::Deserializer::from_str(&self.text);
            let first = values.into_iter::<Answer>().next()?;
            first.ok().filter(Answer::fits)
        })
    }
}

fn read(text: &str) -> Option<Answer> {
    serde_json::from_str::<Answer>(text.trim())
        .ok()
        .filter(Answer::fits)
}

/// The text without terminal escapes and other control characters.
pub(crate) fn strip_ansi(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' if chars.peek() != Some(&'\n') => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
        // A title or a link: up to BEL or ESC \.
        Some(']') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' {
                    break;
                }
                if c == '\u{1b}' {
                    chars.next();
                    break;
                }
            }
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: i32) -> Ended {
        Ended {
            code: Some(code),
            ..Ended::default()
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
        let talk = "I would print ###BLOCKED:x### if I were";
        check(talk, 0, Outcome::Completed, Some(talk));
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
    fn without_an_answer_the_exit_status_speaks() {
        check(
            "working\nall done\n\n",
            0,
            Outcome::Completed,
            Some("all done"),
        );
        check("", 0, Outcome::Completed, None);
        check("boom\n", 3, Outcome::Failed, Some("boom (exit status 3)"));
        check(
            "",
            1,
            Outcome::Failed,
            Some("the agent ended with exit status 1 and printed nothing"),
        );
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
        check(
            "{\"status\":\"completed\"}",
            0,
            Outcome::Completed,
            Some("{\"status\":\"completed\"}"),
        );
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
            &Ended {
                signal: Some(9),
                ..Ended::default()
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
        assert!(missing.cannot_start);
        assert_eq!(missing.outcome, Outcome::Interrupted);
        assert!(report("", &exit(126)).cannot_start);
        assert!(!report("I worked\nand then\nsh: 1: x: not found", &exit(127)).cannot_start);
        assert!(!report("done some\n", &exit(1)).cannot_start);
    }

    #[test]
    fn a_stop_is_not_the_agents_failure_but_a_timeout_is() {
        let asked = Stopped {
            why: "stopped by SIGINT".to_owned(),
            asked: true,
            late: false,
        };
        let stopped = report(
            "half",
            &Ended {
                signal: Some(15),
                stopped: Some(asked),
                ..Ended::default()
            },
        );
        assert_eq!(
            (stopped.outcome, stopped.category),
            (Outcome::Interrupted, None)
        );
        let late = Stopped {
            why: "it ran longer than 2h".to_owned(),
            asked: false,
            late: true,
        };
        let late = report(
            "{\"status\":\"completed\",\"summary\":\"x\"}",
            &Ended {
                signal: Some(15),
                stopped: Some(late),
                ..Ended::default()
            },
        );
        assert_eq!(
            (late.outcome, late.category),
            (Outcome::Failed, Some(Category::Timeout))
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
            let ended = Ended {
                code: Some(0),
                ..Ended::default()
            };
            let report = report(&answer, &ended);
            assert_eq!(report.outcome, Outcome::Completed, "{text}");
            (report.usage.input_tokens, report.usage.cost_usd)
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
}
