//! `piton inbox` and `piton decide`: everything that waits for a person.

use std::path::Path;

use piton_core::request::{Injection, RequestAnswer, Until};
use piton_core::{
    Command, DecisionChoice, DecisionId, DecisionKind, DecisionRow, ItemRow, Need, Node, RunId,
    RunRow, Verb,
};
use piton_formats::registry::plan_format;
use serde::Serialize;

use super::control::{ControlOutcome, apply_command, outcome_of_run};
pub use super::open_questions::{ApprovalSubject, OpenQuestion, ReviewedWork};
use super::open_questions::{approval_subject, is_address, open_decisions, views_of_decisions};
use super::record::item::resolve_recorded_item;
use super::record::unknown_item::resolve_known_item;
use super::{NoticeSink, create_session, display_path, sync_project_files};
use crate::caller::held_item::own_item;
use crate::config::Config;
use crate::config::trust::TrustCheck;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::native_files::{self, plan_sync::describe_done_by_old_checks};
use crate::runner::notify;
use crate::runner::trust_questions::trust_way_on;
use crate::session::person_edits::trust_decided_edits;
use crate::session::{Session, no_runs_failure};
use crate::verbs::arguments::{non_blank, require_one_line};
use crate::verbs::trust::allow_given_parts;
use crate::world::World;

/// Everything that waits for a person.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OpenQuestions {
    /// The oldest first, those that are put off behind all others.
    pub questions: Vec<OpenQuestion>,
}

crate::name_schema!(OpenQuestions, "piton.inbox/1");

/// Everything that waits for a person, the oldest first.
///
/// # Errors
///
/// When there is a store that cannot be read.
pub fn inbox(world: &World) -> Result<OpenQuestions, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(OpenQuestions::default());
    };
    let runs = session.runs()?;
    let (asked, put_off): (Vec<_>, Vec<_>) = open_decisions(&session, &runs)?
        .into_iter()
        .partition(|row| row.deferred.is_none());
    let questions = views_of_decisions(&session, &runs, &[asked, put_off].concat())?;
    Ok(OpenQuestions { questions })
}

/// Refuses to approve a file that is not there. In lanes it is in a commit, and piton
/// cannot look at an address.
fn refuse_missing_artifact(session: &Session<'_>, row: &DecisionRow) -> Result<(), Failure> {
    let Some(node) = row.node.as_ref().filter(|_| row.verdict.is_none()) else {
        return Ok(());
    };
    let needs = [Need::Run(row.run), Need::Line(row.run, node.clone())];
    let rows = session.load(&needs)?.tables;
    let (Some(run), Some(item)) = (rows.run(row.run), rows.item(row.run, node)) else {
        return Ok(());
    };
    let to_see = approval_subject(session, run, item).and_then(|to_see| to_see.artifact);
    let path = to_see.filter(|path| run.branches.lanes.is_none() && !is_address(path));
    let Some(path) = path.filter(|path| !session.project.absolute_path(path).exists()) else {
        return Ok(());
    };
    let id = display_id(row);
    let what = format!("{path}, which is to be approved of `{node}`, is not there");
    let hint = format!(
        "write it and approve it then, or have it written: `piton decide {id} reject --why '...'`"
    );
    Err(Failure::new("file.missing", what).with_hint(hint))
}

/// What a caller asks a person.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The question, in one line.
    pub text: String,
    /// More, if there is more.
    pub details: Option<String>,
    /// The item that it is about.
    pub item: Option<String>,
    /// The caller was given the item to work on: the journal need not know it yet.
    pub is_held: bool,
}

/// A question has at most so many characters; the rest goes into the details.
const QUESTION_CHARS_MAX: usize = 500;

/// Asks a person something that holds nothing up. What is open already, in the
/// same words about the same item, is not asked again, and is the answer.
///
/// # Errors
///
/// When it is no question in one line, more than one item fits, the attempt of
/// the agent that asks is over, or the store fails.
pub fn ask(
    world: &World,
    question: Question,
    told: &mut NoticeSink<'_>,
) -> Result<OpenQuestion, Failure> {
    let text = question.text.trim();
    if text.is_empty() {
        return Err(Failure::new("usage", "the question has no words")
            .with_hint("write `piton inbox ask 'WHAT YOU WANT TO KNOW'`"));
    }
    require_one_line("the question", text)?;
    if text.chars().count() > QUESTION_CHARS_MAX {
        return Err(Failure::new(
            "usage",
            format!("a question has at most {QUESTION_CHARS_MAX} characters"),
        )
        .with_hint("ask shortly, and say the rest with `--details TEXT`"));
    }
    let session = create_session(world, told)?;
    if world.agent().is_some_and(|agent| agent.attempt.is_some()) {
        // An attempt that is over asks nothing.
        own_item(&session)?;
    }
    let about = non_blank(question.item)
        .map(|item| match question.is_held {
            true => resolve_recorded_item(&session, &item),
            false => resolve_known_item(&session, &item),
        })
        .transpose()?;
    let run = about.as_ref().map_or(RunId::PROJECT, |meant| meant.run);
    let run_name = about.as_ref().and_then(|meant| meant.run_name.clone());
    let node = about.map(|meant| meant.node);
    let command = Command::AskPerson {
        run,
        node: node.clone(),
        question: text.to_owned(),
        details: non_blank(question.details),
    };
    session.execute_command(&command)?;
    sync_project_files(&session, told);
    // The words as they are stored: without secrets.
    let rows = session.load(&[Need::OpenDecisions(Some(run))])?;
    let open = rows.tables.open_decisions(run);
    let asked = open.filter(|row| row.kind == DecisionKind::Question && row.node == node);
    let redactor = world.redactor();
    let question = redactor.redact(text);
    let asked: Vec<&DecisionRow> = asked.collect();
    let row = asked.iter().rfind(|row| row.question == question);
    // A person may have answered between the two: then it is the last of them.
    let row = row.or(asked.last()).ok_or_else(|| {
        Failure::new("decision.decided", "a person has answered already")
            .with_hint("see the answer with `piton learn list`")
    })?;
    let node = row.node.clone();
    let needs: Vec<Need> = node
        .iter()
        .map(|node| Need::Line(run, node.clone()))
        .collect();
    let items = session.load(&needs)?.tables;
    let item = node.as_ref().and_then(|node| items.item(run, node));
    Ok(OpenQuestion::of_decision(
        row,
        run_name.unwrap_or_default(),
        item,
    ))
}

/// Notifies a person of what is due, where a person asked: an agent of a run has its
/// runner for that. Waits for it, 30 seconds at most.
pub fn send_due_notifications(world: &World) {
    if world.agent().is_some() {
        return;
    }
    // What cannot be sent now is sent by the next runner.
    if let Ok(Some(session)) = Session::open_writable(world, &world.cwd)
        && let Ok(config) = Config::load(&session.project)
    {
        let trust = TrustCheck::open(world, &session.project);
        allow_given_parts(world, &trust, None);
        notify::send_due(&session, &config.notify, &trust);
    }
}

/// What a decision came to.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionResult {
    /// What was decided about a file.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub file: Option<DecidedFile>,
    /// What was decided about something remembered.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub memory: Option<DecidedMemory>,
    /// What was decided about a question that stops no work.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub question: Option<DecidedQuestion>,
    /// What became of what an agent asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub request: Option<DecidedRequest>,
    /// What became of work that waited for a review or an approval.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub review: Option<DecidedReview>,
    /// How the run stands that it was about.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub run: Option<ControlOutcome>,
}

crate::name_schema!(DecisionResult, "piton.decision/1");

/// What was decided about something remembered.
#[derive(Clone, Debug, Serialize)]
pub struct DecidedMemory {
    /// What to type for the decision.
    pub id: String,
    /// The memory, by its id.
    pub memory: String,
    /// What was said.
    pub verb: Verb,
    /// What that came to.
    #[serde(skip)]
    pub way: Option<DecisionChoice>,
}

/// What was decided about a question that stops no work.
#[derive(Clone, Debug, Serialize)]
pub struct DecidedQuestion {
    /// What to type for the decision.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// The item whose next prompt tells the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What was said.
    pub verb: Verb,
}

/// What became of what an agent asked for.
#[derive(Clone, Debug, Serialize)]
pub struct DecidedRequest {
    /// What to type for the decision.
    pub id: String,
    /// What was asked for.
    pub request: String,
    /// What was said.
    pub verb: Verb,
    /// Until when it is put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

/// What became of work that waited for a review or an approval.
#[derive(Clone, Debug, Serialize)]
pub struct DecidedReview {
    /// What to type for the decision.
    pub id: String,
    /// The item.
    pub node: String,
    /// What was asked.
    pub kind: DecisionKind,
    /// What was said.
    pub verb: Verb,
}

/// What was decided about a file.
#[derive(Clone, Debug, Serialize)]
pub struct DecidedFile {
    /// What to type for the decision.
    pub id: String,
    /// The file, relative to the project.
    pub file: String,
    /// What was said.
    pub verb: Verb,
    /// What that came to.
    #[serde(skip)]
    pub way: Option<DecisionChoice>,
    /// Where the version is kept that gave way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// That a pull request stays open, though piton does not work on it any more.
fn open_pull_request_note(
    session: &Session<'_>,
    row: &DecisionRow,
) -> Result<Option<String>, Failure> {
    let node = row.node.as_ref();
    let Some(node) = node.filter(|_| row.kind == DecisionKind::PullRequest) else {
        return Ok(None);
    };
    let rows = session.load(&[Need::Line(row.run, node.clone())])?;
    let item = rows.tables.item(row.run, node);
    let known = item.and_then(ItemRow::pull_request);
    let known = known.filter(|known| known.is_open && !known.closed);
    Ok(known.and_then(|known| {
        let url = known.url.as_ref()?;
        Some(format!("{} stays open: {url}", known.display_name()))
    }))
}

/// What more is said of what becomes of a request.
#[derive(Clone, Debug, Default)]
pub struct RequestTerms {
    /// Until when it is put off.
    pub until: Option<Until>,
    /// What is added to the plan, and where.
    pub injection: Injection,
}

impl RequestTerms {
    /// The answer that a verb is, with these terms; none where it takes none.
    fn request_answer(
        &self,
        row: &DecisionRow,
        verb: Verb,
    ) -> Result<Option<RequestAnswer>, Failure> {
        let answer = RequestAnswer::from_verb(verb).filter(|_| row.kind == DecisionKind::Request);
        let is_default = self.injection == Injection::default();
        match answer {
            Some(RequestAnswer::Approve(_)) if self.until.is_none() => Ok(Some(
                RequestAnswer::Approve(Box::new(self.injection.clone())),
            )),
            Some(RequestAnswer::Defer(until)) if is_default => {
                Ok(Some(RequestAnswer::Defer(self.until.unwrap_or(until))))
            }
            answer if self.until.is_none() && is_default => Ok(answer),
            _ => Err(Failure::new(
                "usage",
                format!("`{verb}` of {} takes no such option", display_id(row)),
            )
            .with_hint("give --until with `defer`, and the others with `approve`, of a request")),
        }
    }
}

fn display_id(row: &DecisionRow) -> String {
    format!("d{}", row.number)
}

/// What a person decides, and why.
#[derive(Clone, Debug)]
pub struct DecisionAnswer<'a> {
    /// The verb that the person gave.
    pub verb: Verb,
    /// What more the person said about a request.
    pub terms: &'a RequestTerms,
    /// Why.
    pub why: Option<String>,
}

/// Decides what is open. `id` is `d7`, `7`, or the whole id.
///
/// # Errors
///
/// When there is no such question, it is decided already, the verb does not
/// fit, or what was decided cannot be done to the file. Nothing is settled then.
pub fn decide(
    world: &World,
    id: &str,
    answer: DecisionAnswer<'_>,
    told: &mut NoticeSink<'_>,
) -> Result<DecisionResult, Failure> {
    let DecisionAnswer { verb, terms, why } = answer;
    let (session, mut row) = load_decision(world, id)?;
    let answer = terms.request_answer(&row, verb)?;
    if let (Verb::Answer, Some(way_on)) = (verb, trust_way_on(&row)) {
        let what = format!("{} asks for trust, which no answer gives", display_id(&row));
        return Err(Failure::new("usage", what).with_hint(way_on));
    }
    if verb == Verb::Approve && row.kind == DecisionKind::Approval {
        refuse_missing_artifact(&session, &row)?;
    }
    let mut kept = None;
    if row.file.is_some() {
        // A person decides only about the version that the question was about.
        if row.verdict.is_none() {
            row = recheck_file(&session, row)?;
        }
        // What the store would refuse must not have changed the file before.
        row.check_verb(verb)?;
        kept = native_files::apply_file_decision(&session, &row, verb, why.as_deref())?;
    }
    let left_open = if verb == Verb::Skip {
        open_pull_request_note(&session, &row)?
    } else {
        None
    };
    let mut added = Vec::new();
    let put_off = match &answer {
        Some(RequestAnswer::Defer(until)) => Some(*until),
        Some(RequestAnswer::Approve(_) | RequestAnswer::Reject | RequestAnswer::Backlog) | None => {
            None
        }
    };
    if verb == Verb::KeepFile {
        trust_decided_edits(&session, &row);
    }
    // Keeping the file may have settled it.
    if !is_decided(&session, &row)? {
        let command = decision_command(&row, verb, answer, why);
        // The answer to a question that stops no work waits for no runner.
        if row.kind == DecisionKind::Question {
            session.execute_command(&command)?;
        } else {
            added = apply_command(&session, &command, told)?;
        }
    }
    sync_project_files(&session, told);
    if let Some(left) = left_open {
        told(Notice::Warning(&left));
    }
    let mut result = DecisionResult {
        file: decided_file(&session, &row, verb, kept.as_deref()),
        memory: decided_memory(&row, verb),
        question: decided_question(&session, &row, verb)?,
        request: None,
        review: None,
        run: None,
    };
    if row.run == RunId::PROJECT || row.kind == DecisionKind::Question {
        return Ok(result);
    }
    result.request = decided_request(&row, verb, put_off);
    result.review = decided_review(&row, verb);
    let outcome = outcome_of_decision(&session, &row, verb)?;
    result.run = Some(ControlOutcome { added, ..outcome });
    Ok(result)
}

fn decision_command(
    row: &DecisionRow,
    verb: Verb,
    answer: Option<RequestAnswer>,
    why: Option<String>,
) -> Command {
    let (decision, run) = (row.id, row.run);
    match answer {
        Some(answer) => Command::DecideRequest {
            decision,
            run,
            answer,
            why,
        },
        None => Command::Decide {
            decision,
            run,
            verb,
            why,
        },
    }
}

fn decided_file(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
    kept: Option<&Path>,
) -> Option<DecidedFile> {
    Some(DecidedFile {
        id: display_id(row),
        file: row.file.clone()?,
        verb,
        way: row.choice_of_verb(verb),
        kept: kept.map(|kept| display_path(session, kept)),
    })
}

fn decided_memory(row: &DecisionRow, verb: Verb) -> Option<DecidedMemory> {
    let several = Some(&row.memories).filter(|ids| !ids.is_empty());
    let memory = row.memory.clone().or(several.map(|ids| ids.join(", ")));
    Some(DecidedMemory {
        id: display_id(row),
        memory: memory?,
        verb,
        way: row.choice_of_verb(verb),
    })
}

fn decided_question(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
) -> Result<Option<DecidedQuestion>, Failure> {
    if !stops_no_work(row.kind, verb) {
        return Ok(None);
    }
    Ok(Some(DecidedQuestion {
        id: display_id(row),
        question: row.question.clone(),
        node: recipient_item(session, row.run, row.node.as_ref())?,
        verb,
    }))
}

/// Whether a verb answers a question that stops no work.
fn stops_no_work(kind: DecisionKind, verb: Verb) -> bool {
    kind == DecisionKind::Question || (kind == DecisionKind::Request && verb == Verb::Answer)
}

/// What became of a request; `until` is when it is put off to.
fn decided_request(row: &DecisionRow, verb: Verb, until: Option<Until>) -> Option<DecidedRequest> {
    let is_request = row.kind == DecisionKind::Request && verb != Verb::Answer;
    is_request.then(|| DecidedRequest {
        id: display_id(row),
        request: row.question.clone(),
        verb,
        until,
    })
}

fn decided_review(row: &DecisionRow, verb: Verb) -> Option<DecidedReview> {
    let reviewed = row.node.as_ref().filter(|_| {
        use DecisionKind::{AgentReview, Approval, Review};
        matches!(row.kind, Review | Approval | AgentReview)
    });
    reviewed.map(|node| DecidedReview {
        id: display_id(row),
        node: node.as_str().to_owned(),
        kind: row.kind,
        verb,
    })
}

/// How the run stands that a decision was about, with what a person should look at.
fn outcome_of_decision(
    session: &Session<'_>,
    row: &DecisionRow,
    verb: Verb,
) -> Result<ControlOutcome, Failure> {
    let run = session
        .load(&[Need::Run(row.run)])?
        .tables
        .run(row.run)
        .cloned()
        .ok_or_else(no_runs_failure)?;
    let mut outcome = outcome_of_run(session, &run)?;
    if row.kind == DecisionKind::AgentEdit {
        let more = if verb == Verb::KeepFile {
            describe_done_by_old_checks(session, &run, &row.edits)?
        } else {
            refused_value_warning(&run, row)
        };
        outcome.warnings.extend(more);
    }
    Ok(outcome)
}

/// The item whose next prompt tells an answer: one that is there and not finished.
fn recipient_item(
    session: &Session<'_>,
    run: RunId,
    node: Option<&Node>,
) -> Result<Option<String>, Failure> {
    let Some(node) = node else {
        return Ok(None);
    };
    let rows = session.load(&[Need::Line(run, node.clone())])?;
    let item = rows.tables.item(run, node);
    let open = item.filter(|item| !item.state.is_finished());
    Ok(open.map(|item| item.node.as_str().to_owned()))
}

/// The question about a file, after the file was looked at once more: it may
/// have been changed since, and another question be in the place of this one.
fn recheck_file(session: &Session<'_>, row: DecisionRow) -> Result<DecisionRow, Failure> {
    native_files::recheck_asked_file(session, &row)?;
    let rows = session.load(&[Need::Decision(row.id)])?;
    Ok(rows.tables.decision(row.id).cloned().unwrap_or(row))
}

/// That the file of a plan still says what a person refused: the check
/// that piton keeps is made of several places of it. How far the work is piton writes
/// into it again.
fn refused_value_warning(run: &RunRow, row: &DecisionRow) -> Option<String> {
    plan_format(&run.plan.face).filter(|format| format.keeps_what_was_refused)?;
    let lines = row.details.as_deref().unwrap_or_default().lines();
    let refused = row.edits.iter().zip(lines);
    let refused = refused.filter(|(edit, _)| !edit.is_progress_edit());
    let refused: Vec<&str> = refused.map(|(_, line)| line).collect();
    if refused.is_empty() {
        return None;
    }
    let (file, refused) = (&run.plan.source, refused.join("; "));
    Some(format!(
        "{file} still says what was refused, and a new run of it would take it; this run goes by the old value. Put it right by hand: {refused}"
    ))
}

/// Whether what was open when it was asked for is settled by now. A file is;
/// of anything else the store says so itself.
fn is_decided(session: &Session<'_>, row: &DecisionRow) -> Result<bool, Failure> {
    if row.file.is_none() {
        return Ok(false);
    }
    let rows = session.load(&[Need::Decision(row.id)])?;
    let row = rows.tables.decision(row.id);
    Ok(row.is_some_and(|row| row.verdict.is_some()))
}

/// The decision of that number or id, open or not.
fn load_decision<'w>(world: &'w World, id: &str) -> Result<(Session<'w>, DecisionRow), Failure> {
    let unknown = || {
        Failure::new("decision.unknown", format!("there is no decision `{id}`"))
            .with_hint("see what is open with `piton inbox`")
    };
    let session = Session::open_writable(world, &world.cwd)?.ok_or_else(unknown)?;
    let number: Option<u64> = id.strip_prefix('d').unwrap_or(id).parse().ok();
    let whole: Option<DecisionId> = id.parse().ok();
    let need = match (number, whole) {
        (Some(number), _) => Need::DecisionNumbered(number),
        (None, Some(id)) => Need::Decision(id),
        (None, None) => return Err(unknown()),
    };
    let rows = session.load(std::slice::from_ref(&need))?;
    let fits = |row: &&DecisionRow| Some(row.number) == number || Some(row.id) == whole;
    let row = rows.tables.decisions().find(fits).cloned();
    Ok((session, row.ok_or_else(unknown)?))
}
