//! The one place that prints: data to stdout, everything else to stderr.
//!
//! Text for people passes [`clean_text`] here, wherever it comes from. JSON is exact
//! always; other files that piton makes are exact except on a terminal.

mod region;
mod style;
mod terminal;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use piton_engine::answer::{Answer, LabelledAnswer};
use piton_engine::model::terminal::{bound_lines, clean_line, clean_text};
use piton_engine::{CommandExit, Failure, Findings};

use crate::show::problems;

pub(crate) use self::region::{Screen, count_columns, cut_columns};
pub(crate) use self::style::{
    BOLD, CYAN, DIM, GREEN, OutputStyle, PLAIN, RED, YELLOW, mark_styles,
};
pub(crate) use self::terminal::MarkSet;
use self::terminal::TerminalKind;

/// A longer line of a text for people is cut. (What an agent said and what is to be
/// consented to is shown whole.)
const LINE_CHARS_MAX: usize = 8_000;

/// Why an answer can be serialised: its keys are texts, and its numbers finite.
const CAN_BE_JSON: &str = "what piton prints can be said in JSON";

/// Where everything is printed.
pub(crate) struct CliOutput {
    /// Data is printed as JSON.
    pub(crate) json: bool,
    /// What stderr is.
    terminal: TerminalKind,
    /// Why data could not be written, the first time that it could not.
    unwritten: Option<io::Error>,
}

impl CliOutput {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            terminal: TerminalKind::NoTerminal,
            unwritten: None,
        }
    }

    /// Learns from the environment what the terminal can show.
    pub(crate) fn detect_terminal(&mut self, env: &BTreeMap<String, String>) {
        if io::stderr().is_terminal() {
            self.terminal = TerminalKind::of_environment(env);
        }
    }

    /// Prints data for people; without colours where stdout does not show them.
    pub(crate) fn print_data(&mut self, text: &str) -> OutputFlow {
        region::clear();
        let clean = style::render_text(text, bound_clean_text);
        self.write_stdout(anstream::stdout().lock(), &clean)
    }

    /// The same, each line whole however long it is.
    pub(crate) fn print_long_data(&mut self, text: &str) -> OutputFlow {
        region::clear();
        let clean = style::render_text(text, clean_text);
        self.write_stdout(anstream::stdout().lock(), &clean)
    }

    /// Prints what is for another program or a file, as it is; on a terminal without
    /// what that would obey.
    pub(crate) fn print_file(&mut self, text: &str) -> OutputFlow {
        if io::stdout().is_terminal() {
            return self.print_long_data(text);
        }
        self.write_stdout(io::stdout().lock(), text)
    }

    /// Prints an answer as JSON on one line. Nothing else prints JSON of piton's own.
    pub(crate) fn print_answer_line(&mut self, answer: &impl Answer) -> OutputFlow {
        let text = serde_json::to_string(&LabelledAnswer::new(answer)).expect(CAN_BE_JSON);
        self.print_json(text)
    }

    /// The same, for people to read as well.
    pub(crate) fn print_answer(&mut self, answer: &impl Answer) -> OutputFlow {
        let text = serde_json::to_string_pretty(&LabelledAnswer::new(answer)).expect(CAN_BE_JSON);
        self.print_json(text)
    }

    fn print_json(&mut self, text: String) -> OutputFlow {
        self.write_stdout(io::stdout().lock(), &(escape_json_controls(text) + "\n"))
    }

    fn write_stdout(&mut self, mut stdout: impl Write, text: &str) -> OutputFlow {
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        self.check_stdout(written)
    }

    /// What a write to stdout says of those who read.
    fn check_stdout(&mut self, written: io::Result<()>) -> OutputFlow {
        let Err(error) = written else {
            return OutputFlow::On;
        };
        // A reader that closed the pipe has read enough: this is no error.
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.unwritten.get_or_insert(error);
        }
        OutputFlow::Over
    }

    /// What the process ends with. Data that could not be written is told of
    /// here, once, whatever the command did after it.
    pub(crate) fn exit_code(&mut self, exit: CommandExit) -> ExitCode {
        region::clear();
        let Some(error) = self.unwritten.take() else {
            return ExitCode::from(exit.code());
        };
        let failure = Failure::new(
            "file.unwritable",
            "the answer could not be written to stdout",
        )
        .with_source(error)
        .with_hint(
            "see that there is room where the output goes, with `df -h`; what was recorded \
                 stays recorded, and need not be recorded again",
        );
        self.print_failure(&failure);
        ExitCode::from(exit.max(failure.exit_status()).code())
    }

    /// Says something that is not data.
    pub(crate) fn print_note(&mut self, text: &str) {
        let clean = style::render_text(text, bound_clean_text);
        write_stderr(&format!("{clean}\n"));
    }

    /// Asks something that is answered in a line of stdin.
    pub(crate) fn ask_line(&mut self, question: &str) -> String {
        region::clear();
        self.print_note(question);
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok();
        answer.trim().to_owned()
    }

    /// Says something that is not data as JSON on one line.
    pub(crate) fn print_note_line(&mut self, answer: &impl Answer) {
        let text = serde_json::to_string(&LabelledAnswer::new(answer)).expect(CAN_BE_JSON);
        write_stderr(&(escape_json_controls(text) + "\n"));
    }

    /// Prints something that a person should look at.
    pub(crate) fn print_warning(&mut self, text: &str) {
        self.print_note(&format!("{YELLOW}warning:{YELLOW:#} {text}"));
    }

    /// Says what to type next.
    pub(crate) fn print_hint(&mut self, text: &str) {
        self.print_note(&format!("{CYAN}hint:{CYAN:#} {text}"));
    }

    /// Shows problems beside their source lines.
    pub(crate) fn print_findings(&mut self, findings: &Findings) {
        let text = problems::render(findings, terminal_width());
        write_stderr(&style::render_text(&text, bound_clean_text));
    }

    /// Says why a command was not carried out.
    pub(crate) fn print_failure(&mut self, failure: &Failure) {
        if self.json {
            self.print_note_line(failure);
            return;
        }
        if let Some(findings) = &failure.findings {
            self.print_findings(findings);
        }
        self.print_note(&format!(
            "{RED}error:{RED:#} {} {DIM}[{}]{DIM:#}",
            failure.message, failure.code
        ));
        for cause in failure.causes() {
            self.print_note(&format!("  because: {cause}"));
        }
        if let Some(hint) = &failure.hint {
            self.print_hint(hint);
        }
    }

    /// A terminal that does not read holds nothing up from now on.
    pub(crate) fn print_in_background(&mut self) {
        if self.is_watched() {
            region::write_in_background();
        }
    }

    /// Whether a person may be at the terminal that this prints to.
    pub(crate) fn is_watched(&self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// Whether lines can be drawn anew as a run goes on.
    pub(crate) fn is_live(&self) -> bool {
        !self.json && self.terminal.can_redraw()
    }

    /// The marks before lines about events.
    pub(crate) fn marks(&self) -> MarkSet {
        self.terminal.marks()
    }

    /// Shows lines below all others, in the place of those shown before.
    pub(crate) fn show_live(&mut self, lines: impl FnOnce(&Screen) -> Vec<String>) {
        let screen = Screen::of_terminal(self.marks());
        let lines = lines(&screen);
        let render = |line: &String| style::render_text(line, clean_line);
        let lines: Vec<String> = lines.iter().map(render).collect();
        region::show(&lines);
    }

    /// Takes them away.
    pub(crate) fn end_live(&mut self) {
        region::clear();
    }

    /// Begins a screen anew, for what is shown again and again.
    pub(crate) fn clear_screen(&mut self) {
        if io::stdout().is_terminal() {
            region::clear();
            self.write_stdout(anstream::stdout().lock(), "\u{1b}[H\u{1b}[2J");
        }
    }
}

/// Whether there is still somewhere to print to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFlow {
    /// There is.
    On,
    /// There is not: a pipe was closed, or a disk is full.
    Over,
}

/// Writes above the lines of a live region, where there is one.
fn write_stderr(text: &str) {
    region::write_above(text);
}

/// The width of the terminal, in characters.
pub(crate) fn terminal_width() -> usize {
    terminal::size().0
}

/// What clap has to say: help to stdout, mistakes to stderr.
pub(crate) fn print_clap_error(error: &clap::Error, json: bool) -> ExitCode {
    let mut output = CliOutput::new(json);
    if error.use_stderr() {
        if json {
            output.print_failure(&failure_of_clap_error(error));
        } else {
            output.print_note(render_clap_error(error).trim_end_matches('\n'));
        }
        return output.exit_code(CommandExit::Usage);
    }
    output.print_data(&render_clap_error(error));
    output.exit_code(CommandExit::Done)
}

/// What clap says, in its styles where nothing that was typed can pass for one.
fn render_clap_error(error: &clap::Error) -> String {
    let text = error.render();
    let is_clean = |typed: OsString| {
        let typed = typed.to_string_lossy();
        clean_text(&typed) == typed
    };
    if std::env::args_os().all(is_clean) {
        mark_styles(&text.ansi().to_string())
    } else {
        text.to_string()
    }
}

fn bound_clean_text(text: &str) -> Cow<'_, str> {
    match clean_text(text) {
        Cow::Borrowed(text) => bound_lines(text, LINE_CHARS_MAX),
        Cow::Owned(text) => Cow::Owned(bound_lines(&text, LINE_CHARS_MAX).into_owned()),
    }
}

/// JSON that says the same without the controls that JSON allows in a text, which a
/// terminal obeys: DEL and C1.
fn escape_json_controls(text: String) -> String {
    let is_control = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !text.contains(is_control) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// The first paragraph says what is wrong, those behind it what to type.
fn failure_of_clap_error(error: &clap::Error) -> Failure {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::new("usage", "a command is missing")
            .with_hint("see the commands with `piton --help`");
    }
    let text = error.render().to_string();
    let mut paragraphs = text
        .split("\n\n")
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let first = paragraphs.next().unwrap_or_default();
    let mut hints: Vec<String> = paragraphs
        .filter(|text| !text.starts_with("For more information"))
        .collect();
    hints.push("`--help` behind the command shows what it takes".to_owned());
    Failure::new("usage", first.trim_start_matches("error: ")).with_hint(hints.join("; "))
}
