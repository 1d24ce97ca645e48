//! `piton inbox`.

use clap::{Args as ClapArgs, Subcommand};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::model::terminal::clean_line;
use piton_engine::model::{DecisionChoice, Verb};
use piton_engine::verbs::inbox::{
    self, ApprovalSubject, OpenQuestion, OpenQuestions, Question, ReviewedWork,
};
use piton_engine::verbs::item_view::label_of_node;
use piton_engine::{CommandExit, Failure, World};

use crate::invocation::{Invocation, TypedCommand};
use crate::output::{BOLD, CYAN, CliOutput, DIM, GREEN, RED};
use crate::show::count::format_count;
use crate::show::item::render_failed_check;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    command: Option<InboxCommand>,
}

#[derive(Debug, Subcommand)]
enum InboxCommand {
    /// Ask a person a question without blocking the run
    #[command(
        after_help = "Examples:\n  piton inbox ask 'Do we keep the old endpoint?'\n  piton inbox ask 'Tabs or blanks?' --item auth-login --details 'The files have both.'"
    )]
    Ask {
        /// The question, in one line
        text: String,
        /// The item that the question is about; its next prompt contains the answer
        #[arg(long)]
        item: Option<String>,
        /// Details that do not fit on one line
        #[arg(long, value_name = "TEXT")]
        details: Option<String>,
    },
}

impl TypedCommand for InboxArgs {
    const ABOUT: &'static str = "List questions and approvals that wait for a person";
    const AFTER_HELP: &'static str = "Examples:\n  piton inbox\n  piton inbox --json | jq -r '.questions[].id'\n  piton inbox ask 'Do we keep the old endpoint?' --item release";

    fn permission(&self) -> Permission {
        match &self.command {
            None => Permission::new("piton inbox", CommandAccess::Read),
            Some(InboxCommand::Ask { .. }) => {
                Permission::new("piton inbox ask", CommandAccess::Signed)
            }
        }
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let Some(command) = self.command else {
            let open = inbox::inbox(call.world)?;
            call.print(&open, show_questions);
            return Ok(CommandExit::Done);
        };
        let InboxCommand::Ask {
            text,
            item,
            details,
        } = command;
        let question = Question {
            text,
            details,
            item,
            is_held: false,
        };
        let asked = inbox::ask(call.world, question, &mut |notice| {
            call.show_notice(&notice)
        })?;
        call.print(&asked, |asked, _, output| {
            output.print_note(&format!("asked as {}: {}", asked.id, asked.question));
            let answer = asked.decide_command(Verb::Answer);
            output.print_hint(&format!("answer it with `{answer}`"));
        });
        inbox::send_due_notifications(call.world);
        Ok(CommandExit::Done)
    }
}

fn show_questions(open: &OpenQuestions, _: &World, output: &mut CliOutput) {
    if open.questions.is_empty() {
        output.print_note("nothing waits for a person");
        return;
    }
    output.print_data(
        &open
            .questions
            .iter()
            .map(render_question)
            .collect::<String>(),
    );
}

fn render_question(question: &OpenQuestion) -> String {
    let mut text = String::new();
    let about = match &question.node {
        Some(node) => {
            let name = label_of_node(&Node::shown(node), question.title.as_deref());
            format!("  {DIM}{} at {name}{DIM:#}", question.run)
        }
        // What is asked of a file names the file.
        None => String::new(),
    };
    text.push_str(&format!(
        "{BOLD}{}{BOLD:#}  {}{about}\n",
        question.id, question.question
    ));
    if let Some(until) = question.deferred {
        text.push_str(&format!("    {DIM}put off until {until}{DIM:#}\n"));
    }
    for line in question.details.iter().flat_map(|details| details.lines()) {
        text.push_str(&format!("    {line}\n"));
    }
    if let Some(check) = &question.check {
        text.push_str(&render_failed_check(check, "    "));
    }
    if let Some(work) = &question.review {
        text.push_str(&render_reviewed_work(work));
    }
    if let Some(ApprovalSubject { artifact, see }) = &question.look_at {
        let cyan = |text: &String| format!("{CYAN}{}{CYAN:#}", clean_line(text));
        let shown = match (artifact, see) {
            (Some(path), Some(see)) => Some(format!("{} with {}", clean_line(path), cyan(see))),
            (None, Some(see)) => Some(format!("it with {}", cyan(see))),
            (path, None) => path.as_ref().map(cyan),
        };
        text.extend(shown.map(|shown| format!("    look at {shown}\n")));
    }
    text + &render_ways(question)
}

/// What can be typed to answer a question, and what comes of it.
fn render_ways(question: &OpenQuestion) -> String {
    let mut text = String::new();
    let typed = |verb: &Verb| question.decide_command(*verb);
    let width = question.verbs.iter().map(|verb| typed(verb).len()).max();
    let width = width.unwrap_or(0);
    for (verb, way) in question.verbs.iter().zip(&question.ways) {
        let typed = typed(verb);
        let Some(way) = way else {
            text.push_str(&format!("    {CYAN}{typed}{CYAN:#}\n"));
            continue;
        };
        let does = describe_answer_effect(*way);
        text.push_str(&format!(
            "    {CYAN}{typed:width$}{CYAN:#}  {DIM}{does}{DIM:#}\n"
        ));
    }
    if let Some(file) = &question.file {
        text.push_str(&format!(
            "    {DIM}or change {file} by hand, then type{DIM:#} {CYAN}piton files sync{CYAN:#}\n"
        ));
    }
    text
}

/// What comes of a way to answer a question about a file.
fn describe_answer_effect(way: DecisionChoice) -> &'static str {
    match way {
        DecisionChoice::FileHolds => "what the file says holds",
        DecisionChoice::LeftAlone => "leave the file alone: it is not kept up to date any more",
        DecisionChoice::PitonHolds => {
            "write it as piton has it; what is there now is kept beside it"
        }
        DecisionChoice::Merged => "take what is new in it; for the rest piton's word holds",
        DecisionChoice::Retired => "retire it: it is not followed any more, and stays on record",
        DecisionChoice::FollowedOn => "follow it on",
    }
}

/// So many files of work that waits for a review are listed.
const FILES_SHOWN: usize = 10;

/// How much the work changes that is to be looked at, and what to type to see it.
fn render_reviewed_work(work: &ReviewedWork) -> String {
    let mut text = String::new();
    let files = work.files.as_deref().unwrap_or_default();
    let width = files
        .iter()
        .take(FILES_SHOWN)
        .map(|file| file.path.chars().count());
    let width = width.max().unwrap_or(0);
    for file in files.iter().take(FILES_SHOWN) {
        let path = clean_line(&file.path);
        let lines = match (file.insertions, file.deletions) {
            (Some(added), Some(taken)) => {
                format!("{GREEN}+{added}{GREEN:#} {RED}-{taken}{RED:#}")
            }
            _ => "no text".to_owned(),
        };
        text.push_str(&format!("    {path:width$}  {lines}\n"));
    }
    if let Some(more) = files
        .len()
        .checked_sub(FILES_SHOWN)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!(
            "    {DIM}and {}{DIM:#}\n",
            format_count(more, "more file")
        ));
    }
    text.push_str(&format!("    {CYAN}{}{CYAN:#}\n", work.diff));
    text
}
