//! `piton record`: an attempt that piton did not start, recorded when it is over.
//!
//! What is told comes from flags, from JSON, or from both. What attempts of
//! piton's own agents come to is recorded by the runner.

pub(crate) mod item;
mod json;
mod pictures;
mod resolve;
pub(crate) mod unknown_item;

use piton_core::event::AttemptEvent;
use std::path::PathBuf;

use jiff::Timestamp;
use piton_core::attempt::{
    AttemptContext, HumanNeeded, ProgramReport, Report, ReportedAttempt, ReportedChanges,
};
use piton_core::observation::{Observation, ObservationKind};
use piton_core::usage::Usage;
use piton_core::{
    AttemptId, AttemptRow, Command, DecodedRecord, Event, ItemState, Need, Outcome, RunId,
};
use piton_formats::plan_file::PlanFile;
use piton_formats::registry::plan_format;
use serde::Serialize;

use self::item::{ResolvedItem, check_item_name, resolve_item, resolve_recorded_item};
use self::pictures::{Picture, StoredPictures};
pub use self::resolve::BlockedTask;
use super::{NoticeSink, create_session, sync_project_files};
use crate::agents::missing_check::{self, ClaimEnvironment};
use crate::caller::held_item::{HeldItem, attempt_over, own_item, refuse_other_item};
use crate::failure::Failure;
use crate::native_files::FileNotice;
use crate::native_files::plan_sync::at_rest::sync_plan_file;
use crate::project::Project;
use crate::session::Session;
use crate::verbs::arguments::{join_words, non_blank};
use crate::world::World;

/// What the caller says of an attempt. What is not said is absent.
#[derive(Clone, Debug)]
pub struct AttemptAccount {
    /// The item: `[RUN:]NODE`.
    pub item: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Who made it.
    pub agent: Option<String>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// Which attempt at the item it is.
    pub number: Option<u32>,
    /// All else; its outcome and its screenshots are not looked at.
    pub report: Report,
}

impl Default for AttemptAccount {
    fn default() -> Self {
        Self {
            item: None,
            outcome: None,
            agent: None,
            ended_at: None,
            number: None,
            report: Report::with_outcome(Outcome::Completed),
        }
    }
}

/// What is to be recorded.
#[derive(Clone, Debug, Default)]
pub struct RecordRequest {
    /// What was typed.
    pub typed: AttemptAccount,
    /// What was told in JSON: the name of the file, and its text.
    pub json: Option<(String, String)>,
    /// Pictures that show it.
    pub screenshots: Vec<PathBuf>,
    /// A blocker that it resolves, and how.
    pub resolves: Option<(String, String)>,
}

/// What was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedAttempt {
    /// The name that it has in `.ralph/progress.json`.
    pub name: String,
    /// Which attempt at the item it is, from 1.
    pub number: u32,
    /// Its id.
    pub attempt: AttemptId,
    /// The run of its item; none for an item of no plan.
    pub run: Option<String>,
    /// Its item.
    pub node: String,
    /// Nothing was known of the item before.
    pub new_item: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// Where its pictures are kept, relative to the project.
    pub screenshots: Vec<String>,
    /// The blocker that it resolved.
    pub resolved: Option<BlockedTask>,
    /// The attempt is the caller's own: what was said counts when it ends.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_pending: bool,
    /// What it used; absent where nothing of it is known.
    #[serde(skip_serializing_if = "Usage::is_unknown")]
    pub usage: Usage,
    /// The item of a plan that the caller says was completed, and that is not done in
    /// its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_done: Option<UnfinishedItem>,
}

crate::name_schema!(RecordedAttempt, "piton.record/1");

/// An item of a plan that a record does not complete: its run does, by its
/// check, or a person in the file of the plan.
#[derive(Clone, Debug, Serialize)]
pub struct UnfinishedItem {
    /// How it stands.
    pub state: ItemState,
    /// Its run.
    pub run: String,
    /// The file of the plan, where it has one that people mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether a command verifies it.
    pub has_check: bool,
}

impl UnfinishedItem {
    fn of_item(session: &Session<'_>, meant: &ResolvedItem) -> Result<Option<Self>, Failure> {
        if meant.run == RunId::PROJECT {
            return Ok(None);
        }
        let rows = session.load(&[
            Need::Run(meant.run),
            Need::Line(meant.run, meant.node.clone()),
        ])?;
        let found = rows.tables.run(meant.run);
        let found = found.zip(rows.tables.item(meant.run, &meant.node));
        let open = found.filter(|(_, item)| !item.state.is_finished());
        Ok(open.map(|(run, item)| Self {
            state: item.state,
            run: run.name.clone(),
            file: PlanFile::path_of_run(run),
            has_check: item.plan.gate.is_some(),
        }))
    }
}

/// An observation as it is typed: `blocker: no key for the API`.
///
/// # Errors
///
/// When its type is not known, or it has no title.
pub fn parse_observation(text: &str) -> Result<Observation, Failure> {
    let (kind, title) = text.split_once(':').unwrap_or((text, ""));
    let known = ObservationKind::parse(kind.trim());
    let title = title.trim();
    match known {
        Some(kind) if !title.is_empty() => Ok(Observation::bare(kind, title)),
        Some(kind) => Err(
            Failure::new("usage", format!("the observation `{text}` has no title"))
                .with_hint(format!("write it as '{kind}: what was noticed'")),
        ),
        None => Err(Failure::new(
            "usage",
            format!("the observation `{text}` does not begin with its type"),
        )
        .with_hint(format!(
            "write it as 'TYPE: what was noticed'; the types are: {}",
            join_words(ObservationKind::WORDS)
        ))),
    }
}

/// A duration as it is typed: seconds, or `45m`.
///
/// # Errors
///
/// When the text has another form.
pub fn parse_seconds(text: &str) -> Result<u64, piton_core::amount::ParseDurationError> {
    match text.trim().parse() {
        Ok(seconds) => Ok(seconds),
        Err(_) => piton_core::amount::parse_duration(text),
    }
}

/// Records an attempt, and resolves a blocker if it did. What an agent records
/// of its own attempt is its answer, and counts when the attempt ends.
///
/// # Errors
///
/// When an agent names another item than its own, or resolves a blocker.
/// When something of it is wrong, or its item or the blocker is not known:
/// nothing is recorded then. When the store fails between the two, the blocker
/// is resolved and the attempt is not recorded.
pub fn record(
    world: &World,
    request: RecordRequest,
    told: &mut NoticeSink<'_>,
) -> Result<RecordedAttempt, Failure> {
    let account = merge_accounts(world, &request)?;
    let text = account.item.clone().unwrap_or_default();
    check_item_name(&text)?;
    let pictures = request
        .screenshots
        .iter()
        .map(|path| pictures::open_picture(world, path))
        .collect::<Result<Vec<Picture>, Failure>>()?;
    if let Some((blocker, resolution)) = &request.resolves {
        if resolution.trim().is_empty() {
            return Err(
                Failure::new("usage", format!("how `{blocker}` was resolved is not said"))
                    .with_hint("say it with `--resolution TEXT`"),
            );
        }
        if !Project::find(world, &world.cwd).exists() {
            return Err(piton_core::Refusal::NotBlocked(blocker.clone()).into());
        }
    }
    let session = create_session(world, told)?;
    if let Some(held) = own_item(&session)? {
        refuse_other_item(&session, &held, &text)?;
        return store_answer(
            &session,
            &held,
            account,
            pictures,
            request.resolves.is_some(),
        );
    }
    let meant = resolve_item(&session, &text)?;
    unknown_item::refuse_new_item(&session, &meant, &text)?;
    let recorded = store_record(&session, &meant, account, pictures, request.resolves)?;
    sync_project_files(&session, told);
    show_attempt_in_file(&session, meant.run, told)?;
    Ok(recorded)
}

/// Shows what was recorded in the file of its run, where that shows attempts.
fn show_attempt_in_file(
    session: &Session<'_>,
    run: RunId,
    told: &mut NoticeSink<'_>,
) -> Result<(), Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    let row = rows.tables.run(run);
    let format = row.and_then(|row| plan_format(&row.plan.face));
    if let Some(row) = row.filter(|_| format.is_some_and(|format| format.shows_attempts)) {
        FileNotice::emit_all(&sync_plan_file(session, row)?, told);
    }
    Ok(())
}

/// Keeps what an agent says came of its own attempt at the item that it holds,
/// while it still works. The last word counts when the attempt ends, before what
/// it prints then.
///
/// # Errors
///
/// When the attempt is over, or the store fails.
pub fn answer_attempt(
    world: &World,
    held: &HeldItem,
    attempt: &AttemptRow,
    answer: Report,
) -> Result<RecordedAttempt, Failure> {
    let (outcome, screenshots) = (answer.outcome, answer.screenshots.clone());
    let session =
        Session::open_writable(world, &world.cwd)?.ok_or_else(|| attempt_over(attempt))?;
    let command = Command::AnswerAttempt {
        run: attempt.run,
        attempt: attempt.id,
        node: attempt.node.clone(),
        answer: Box::new(crate::agents::answer::truncate_report(answer)),
    };
    // It may have ended since it was looked at.
    session
        .execute_command(&command)
        .map_err(|failure| match failure.code {
            "item.state" | "item.being_worked_on" | "item.unknown" => attempt_over(attempt),
            _ => failure,
        })?;
    Ok(RecordedAttempt {
        name: attempt.name.clone().unwrap_or_default(),
        number: attempt.number,
        attempt: attempt.id,
        run: held.run_name.clone(),
        node: held.node.as_str().to_owned(),
        new_item: false,
        outcome,
        screenshots,
        resolved: None,
        is_pending: true,
        usage: Usage::default(),
        not_done: None,
    })
}

fn store_record(
    session: &Session<'_>,
    meant: &ResolvedItem,
    account: AttemptAccount,
    pictures: Vec<Picture>,
    resolves: Option<(String, String)>,
) -> Result<RecordedAttempt, Failure> {
    let outcome = account.outcome.unwrap_or(Outcome::Completed);
    let resolved = resolves
        .as_ref()
        .map(|(text, _)| resolve::find_blocker(session, text))
        .transpose()?;
    let kept = StoredPictures::copy_all(session, pictures, meant, outcome)?;
    let screenshots = kept.paths(session);
    // First what is resolved: to complete a blocked task resolves it, too, and
    // would leave nothing to say how.
    let commands = resolved
        .clone()
        .zip(resolves)
        .map(|(blocker, (_, resolution))| Command::ResolveBlocker {
            spec: blocker.spec,
            task_id: blocker.task_id,
            resolution,
        })
        .into_iter()
        .chain([record_command(
            session,
            meant,
            account,
            outcome,
            screenshots.clone(),
        )]);
    let mut events = Vec::new();
    for command in commands {
        match session.execute_command(&command) {
            Ok(committed) => events = committed.events,
            Err(failure) => {
                kept.remove_all();
                return Err(failure);
            }
        }
    }
    let told = find_reported_attempt(events).expect("an attempt that is told is an event");
    let not_done = unfinished_item(session, meant, outcome)?;
    Ok(RecordedAttempt {
        name: told.name.unwrap_or_default(),
        number: told.number.unwrap_or_default(),
        attempt: told.attempt,
        run: meant.run_name.clone(),
        node: meant.node.as_str().to_owned(),
        new_item: meant.is_new && meant.run == RunId::PROJECT,
        outcome,
        screenshots,
        resolved,
        is_pending: false,
        usage: told.report.program.usage,
        not_done,
    })
}

fn find_reported_attempt(events: Vec<DecodedRecord>) -> Option<Box<ReportedAttempt>> {
    events.into_iter().find_map(|recorded| {
        if let Event::Attempt(AttemptEvent::Reported(told)) = recorded.event {
            Some(told)
        } else {
            None
        }
    })
}

/// The item that the caller says was completed, where it is not done in its run.
fn unfinished_item(
    session: &Session<'_>,
    meant: &ResolvedItem,
    outcome: Outcome,
) -> Result<Option<UnfinishedItem>, Failure> {
    match outcome {
        Outcome::Completed => UnfinishedItem::of_item(session, meant),
        Outcome::Failed
        | Outcome::Blocked
        | Outcome::Partial
        | Outcome::NeedsHuman
        | Outcome::Interrupted => Ok(None),
    }
}

/// Stores what an agent records of its own attempt. Who made the attempt, which
/// one it is and when it ends is known without it.
fn store_answer(
    session: &Session<'_>,
    held: &HeldItem,
    account: AttemptAccount,
    pictures: Vec<Picture>,
    resolves: bool,
) -> Result<RecordedAttempt, Failure> {
    let attempt = held.open_attempt()?;
    let (Some(attempt), Some(agent)) = (attempt, session.world.agent()) else {
        return Err(
            Failure::new("attempt.unknown", "the caller belongs to no attempt")
                .with_hint("name an item: `piton record ITEM --summary TEXT`"),
        );
    };
    if resolves {
        return Err(agent
            .not_allowed_failure("`--resolves` is for people")
            .with_hint("say in `--summary` how it was resolved; a person can record that"));
    }
    let outcome = account.outcome.unwrap_or(Outcome::Completed);
    let meant = resolve_recorded_item(session, &held.item)?;
    let kept = StoredPictures::copy_all(session, pictures, &meant, outcome)?;
    let report = Report {
        screenshots: kept.paths(session),
        ..report_with_outcome(account.report, outcome)
    };
    let answered = answer_attempt(session.world, held, attempt, report);
    if answered.is_err() {
        kept.remove_all();
    }
    answered
}

/// A report with this outcome, and with the question where a person is needed.
fn report_with_outcome(report: Report, outcome: Outcome) -> Report {
    let human = (outcome == Outcome::NeedsHuman).then(|| {
        let reason = report.summary.clone().or_else(|| report.error.clone());
        HumanNeeded {
            reason: reason.unwrap_or_else(|| "a person is needed".to_owned()),
            details: report.notes.clone(),
        }
    });
    Report {
        outcome,
        human: human.or(report.human),
        ..report
    }
}

fn record_command(
    session: &Session<'_>,
    meant: &ResolvedItem,
    account: AttemptAccount,
    outcome: Outcome,
    screenshots: Vec<String>,
) -> Command {
    let mut report = Report {
        screenshots,
        ..report_with_outcome(account.report, outcome)
    };
    missing_check::record_blocker_check(
        &mut report,
        &ClaimEnvironment {
            env: &session.world.env,
            work_tree: &session.project.work_tree,
        },
    );
    let agent = account.agent;
    Command::TellAttempt(Box::new(ReportedAttempt {
        attempt: AttemptId(session.world.new_id()),
        run: meant.run,
        node: meant.node.clone(),
        item: meant.item.clone(),
        number: account.number,
        name: None,
        agent: agent.unwrap_or_else(|| session.world.user_name().to_owned()),
        ended_at: account.ended_at,
        report: Box::new(report),
        native: None,
    }))
}

/// What was typed and what was told in JSON, together: of two words for one
/// thing the typed one holds, lists are joined.
fn merge_accounts(world: &World, request: &RecordRequest) -> Result<AttemptAccount, Failure> {
    let typed = request.typed.clone();
    let Some((file, text)) = &request.json else {
        return Ok(without_blanks(typed));
    };
    let told = json::parse_account(world, file, text)?;
    if let (Some(typed), Some(told)) = (&typed.item, &told.item)
        && typed != told
    {
        return Err(Failure::new(
            "usage",
            format!("{file} tells of `{told}`, and `{typed}` was typed"),
        )
        .with_hint("leave one of the two out, or type `-` as the item"));
    }
    let AttemptAccount { report, .. } = told;
    Ok(without_blanks(AttemptAccount {
        item: typed.item.or(told.item),
        outcome: typed.outcome.or(told.outcome),
        agent: typed.agent.or(told.agent),
        ended_at: typed.ended_at.or(told.ended_at),
        number: typed.number.or(told.number),
        report: Report {
            summary: typed.report.summary.or(report.summary),
            error: typed.report.error.or(report.error),
            notes: typed.report.notes.or(report.notes),
            observations: [report.observations, typed.report.observations].concat(),
            validations: [report.validations, typed.report.validations].concat(),
            context: merge_contexts(report.context, typed.report.context),
            program: ProgramReport {
                duration_s: typed
                    .report
                    .program
                    .duration_s
                    .or(report.program.duration_s),
                usage: typed
                    .report
                    .program
                    .usage
                    .or_lower_bound(&report.program.usage),
                ..ProgramReport::default()
            },
            changes: ReportedChanges {
                files: join_lists(report.changes.files, typed.report.changes.files),
                commits: join_lists(report.changes.commits, typed.report.changes.commits),
                ..ReportedChanges::default()
            },
            ..Report::with_outcome(Outcome::Completed)
        },
    }))
}

/// A text of blanks says nothing.
fn without_blanks(account: AttemptAccount) -> AttemptAccount {
    let all = |list: Vec<String>| -> Vec<String> {
        let mut list = list;
        list.retain(|text| !text.trim().is_empty());
        list
    };
    let report = account.report;
    AttemptAccount {
        agent: non_blank(account.agent),
        report: Report {
            summary: non_blank(report.summary),
            error: non_blank(report.error),
            notes: non_blank(report.notes),
            validations: all(report.validations),
            changes: ReportedChanges {
                files: report.changes.files.map(all),
                commits: report.changes.commits.map(all),
                ..report.changes
            },
            ..report
        },
        ..account
    }
}

fn join_lists(told: Option<Vec<String>>, typed: Option<Vec<String>>) -> Option<Vec<String>> {
    match (told, typed) {
        (Some(told), Some(typed)) => Some([told, typed].concat()),
        (one, other) => one.or(other),
    }
}

/// What is typed holds, but for the list, which is joined as others are.
fn merge_contexts(
    told: Option<AttemptContext>,
    typed: Option<AttemptContext>,
) -> Option<AttemptContext> {
    let (mut told, mut typed) = match (told, typed) {
        (Some(told), Some(typed)) => (told, typed),
        (one, other) => return one.or(other),
    };
    let done = join_lists(
        told.dependencies_completed.take(),
        typed.dependencies_completed.take(),
    );
    Some(AttemptContext {
        dependencies_completed: done,
        ..typed.merge_missing(told)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_is_its_type_and_its_title() {
        let one = parse_observation(" blocker : no key: none at all ").expect("it is one");
        assert_eq!(
            (one.kind, one.title.as_str()),
            (ObservationKind::Blocker, "no key: none at all")
        );
        for wrong in ["", ":", "blocker", "blocker:  ", "idea: x", "Blocker: x"] {
            let failure = parse_observation(wrong).expect_err("it is none");
            assert!(failure.hint.is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_duration_is_seconds_or_as_people_say_it() {
        assert_eq!(parse_seconds("0").ok(), Some(0));
        assert_eq!(parse_seconds("90").ok(), Some(90));
        assert_eq!(parse_seconds("1h30m").ok(), Some(5_400));
        for wrong in ["", "-1", "1.5", "soon"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_typed_holds_and_lists_are_joined() {
        let told = AttemptContext {
            retry_count: Some(1),
            dependencies_completed: Some(vec!["a".to_owned()]),
            ..AttemptContext::default()
        };
        let typed = AttemptContext {
            retry_count: Some(2),
            dependencies_completed: Some(vec!["b".to_owned()]),
            ..AttemptContext::default()
        };
        let context = merge_contexts(Some(told.clone()), Some(typed)).expect("there are two");
        assert_eq!(context.retry_count, Some(2));
        assert_eq!(
            context.dependencies_completed,
            Some(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(merge_contexts(Some(told.clone()), None), Some(told));
        assert_eq!(join_lists(None, Some(Vec::new())), Some(Vec::new()));
    }
}
