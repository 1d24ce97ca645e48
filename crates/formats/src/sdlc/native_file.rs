//! A `state.json` as a face of its run: it shows statuses, and edits of the file become
//! edits of the run.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use piton_core::policy::Policy;
use piton_core::{Edit, ItemRow, ItemState, RunId, Tables};

use super::metrics;
use super::native::{issue_of_item, native_of_issue, native_of_run, state_of_native};
use super::phase_item::node_of_id;
use super::phases::{self, issue_rows};
use super::plan::{issues_by_id, planned_issue, status_of_item};
use super::state::{IssueStatus, SdlcIssue, SdlcState, derived_totals};
use super::{moves, parse_state, to_tree};
use crate::field_reader::span_of_key;
use crate::json;
use crate::native_file::RenderError;
use crate::plan_file::{PlanChanges, file_items};
use crate::problem::{Problem, SourceText};
use crate::sprint::ShownRun;
use crate::tree::{Span, ValueNode};

/// The text that shows the run: its statuses, totals as they follow from the
/// rest, and the time when any of that changed. Without a text, one of what
/// the journal keeps. None when there is no such run.
///
/// # Errors
///
/// When the text is no state, or cannot be changed.
pub fn render_run(
    text: Option<&str>,
    tables: &Tables,
    run: RunId,
    now: Timestamp,
) -> Result<Option<String>, RenderError> {
    let Some(run_row) = tables.run(run) else {
        return Ok(None);
    };
    let mut state = match text {
        Some(text) => parse_state(SourceText { name: "", text })
            .0
            .ok_or_else(|| RenderError("this is not the state of a run".to_owned()))?,
        None => state_of_native(run_row.plan.native.as_ref()),
    };
    for row in issue_rows(tables, run) {
        let kept = issue_of_item(row);
        let status = status_of_item(row, tables, kept.status);
        let iterations = IssueIterations::of_row(row);
        match state
            .issues
            .iter_mut()
            .find(|issue| issue.id == row.plan.id)
        {
            Some(issue) => {
                issue.status = status.or(issue.status);
                moves::write_moves(issue, row);
                iterations.add_to_issue(issue, &kept);
                write_pull_request(issue, row);
                write_repository(issue, row, &run_row.plan.policy);
            }
            // What is finished and not in the file was taken out by a person.
            None if text.is_some() && row.state.is_finished() => {}
            None => {
                let mut issue = SdlcIssue {
                    status,
                    ..kept.clone()
                };
                iterations.add_to_issue(&mut issue, &kept);
                write_pull_request(&mut issue, row);
                write_repository(&mut issue, row, &run_row.plan.policy);
                state.issues.push(issue);
            }
        }
    }
    phases::write_phases(&mut state, tables, run_row);
    metrics::add_invocations(&mut state, tables, run);
    state.metrics.totals = derived_totals(&state);
    let Some(text) = text else {
        state.updated_at = Some(now.to_string());
        return Ok(Some(json::render(&to_tree(&state, None))));
    };
    let original = json::parse(text).root;
    let patched = |state: &SdlcState| {
        json::patch(text, &to_tree(state, original.as_ref()))
            .map_err(|why| RenderError(why.to_string()))
    };
    let shown = patched(&state)?;
    if shown == text {
        return Ok(Some(shown));
    }
    state.updated_at = Some(now.to_string());
    patched(&state).map(Some)
}

/// The pull request in which the work on an issue is; what the file says of others stays.
fn write_pull_request(issue: &mut SdlcIssue, row: &ItemRow) {
    let Some(known) = row.pull_request().filter(|known| !known.is_unadopted()) else {
        return;
    };
    if known.number.is_some() && known.url.is_some() {
        issue.pr_number = known.number;
        issue.pr = known.short_reference().or_else(|| known.url.clone());
    }
}

/// The repository in which an issue is worked on, unless the file says the same.
pub(super) fn write_repository(issue: &mut SdlcIssue, row: &ItemRow, policy: &Policy) {
    let Some(known) = &policy.repositories else {
        return;
    };
    if policy.resolve_repository(issue.repo.clone()) != row.plan.repository {
        let name = row.plan.repository.as_ref().or(known.own.first());
        issue.repo = name.cloned().or(issue.repo.take());
    }
}

/// Leaves piton's pull request out of what the file says, unless the file was changed there.
fn remove_pull_request(
    issue: &mut SdlcIssue,
    row: &ItemRow,
    was: Option<&SdlcIssue>,
    kept: &SdlcIssue,
) {
    let mut own = kept.clone();
    write_pull_request(&mut own, row);
    let of = |issue: &SdlcIssue| (issue.pr.clone(), issue.pr_number);
    let is_own = of(issue) == of(&own) || was.is_some_and(|was| of(was) == of(issue));
    if row.pull_request().is_some() && is_own {
        issue.pr.clone_from(&kept.pr);
        issue.pr_number = kept.pr_number;
    }
}

/// What piton counted of an issue, on top of what the file had when it was taken over.
struct IssueIterations {
    review: u64,
    human: u64,
}

impl IssueIterations {
    fn of_row(row: &ItemRow) -> Self {
        let review = row
            .proof
            .review
            .as_ref()
            .map_or(0, |review| review.changes_wanted);
        Self {
            review: u64::from(review),
            human: u64::from(row.people.rejections),
        }
    }

    /// Where nothing was counted the file's own numbers stay as they are.
    fn add_to_issue(&self, issue: &mut SdlcIssue, kept: &SdlcIssue) {
        let add = |number: &mut Option<u64>, kept: Option<u64>, counted: u64| {
            if counted > 0 {
                *number = Some(kept.unwrap_or(0).saturating_add(counted));
            }
        };
        add(
            &mut issue.review_iterations,
            kept.review_iterations,
            self.review,
        );
        add(
            &mut issue.human_iterations,
            kept.human_iterations,
            self.human,
        );
    }

    /// Subtracts what piton counted from the numbers of the file, so that it is not
    /// counted twice. Unchanged numbers become those that were kept.
    fn subtract_from_issue(
        &self,
        issue: &mut SdlcIssue,
        was: Option<&SdlcIssue>,
        kept: &SdlcIssue,
    ) {
        let take = |number: &mut Option<u64>, was: Option<Option<u64>>, kept, counted: u64| {
            if counted > 0 {
                *number = match was == Some(*number) {
                    true => kept,
                    false => number.map(|number| number.saturating_sub(counted)),
                };
            }
        };
        take(
            &mut issue.review_iterations,
            was.map(|was| was.review_iterations),
            kept.review_iterations,
            self.review,
        );
        take(
            &mut issue.human_iterations,
            was.map(|was| was.human_iterations),
            kept.human_iterations,
            self.human,
        );
    }
}

/// What changed in the file since piton wrote `base`.
///
/// # Errors
///
/// What keeps the file from being read.
pub fn collect_edits(
    base: Option<&str>,
    theirs: &str,
    shown: ShownRun<'_>,
) -> Result<PlanChanges, Vec<Problem>> {
    let name = shown.file;
    let (state, problems) = parse_state(SourceText { name, text: theirs });
    let root = json::parse(theirs).root;
    let Some(theirs) = state.filter(|_| !problems.iter().any(Problem::is_error)) else {
        return Err(problems);
    };
    let base = base.and_then(|text| parse_state(SourceText { name, text }).0);
    Ok(diff(base.as_ref(), &theirs, root.as_ref(), shown))
}

/// Where a mapping has a key.
fn key_span(map: Option<&ValueNode>, key: &str) -> Span {
    let map = map.and_then(ValueNode::as_map);
    map.map_or(Span::TOP, |map| span_of_key(map, key))
}

/// `root` is where what `theirs` says stands.
fn diff(
    base: Option<&SdlcState>,
    theirs: &SdlcState,
    root: Option<&ValueNode>,
    shown: ShownRun<'_>,
) -> PlanChanges {
    let rows: Vec<&ItemRow> = issue_rows(shown.tables, shown.run).collect();
    let of_id: HashMap<&str, &ItemRow> = rows
        .iter()
        .map(|row| (row.plan.id.as_str(), *row))
        .collect();
    let before = base.map(issues_by_id);
    let all = || file_items(shown.tables, shown.run);
    let known: HashSet<&str> = theirs
        .issues
        .iter()
        .map(|issue| issue.id.as_str())
        .chain(all().map(|row| row.plan.id.as_str()))
        .collect();
    let finished = all().filter(|row| row.state.is_finished());
    let done: HashSet<&str> = finished.map(|row| row.plan.id.as_str()).collect();
    let mut found = PlanChanges::default();
    let phases = phases::phase_rows(shown.tables, shown.run);
    let mut after = phases.last().map(|(_, row)| row.node.clone());
    for issue in &theirs.issues {
        match of_id.get(issue.id.as_str()) {
            None => found.edits.push(insert_edit(issue, after, &known, &done)),
            Some(row) => {
                let was = before
                    .as_ref()
                    .map(|before| before.get(&*issue.id).copied());
                let written = status_of_item(row, shown.tables, issue_of_item(row).status);
                let item = WrittenIssue {
                    row,
                    status: written,
                };
                let change = issue_edits(item, was, issue, &known, &done);
                found.edits.extend(change);
                let issues = || root?.get("issues")?.get(&issue.id);
                let at = FileSpan {
                    file: shown.file,
                    span: key_span(issues(), "status"),
                };
                let told = was.flatten().and_then(|was| {
                    let open = || open_blockers(theirs, issue);
                    rewritten_status_problem(row, was, issue, open, at)
                });
                found.problems.extend(told);
            }
        }
        after = Some(node_of_id(&issue.id));
    }
    let there = issues_by_id(theirs);
    for row in &rows {
        let id = row.plan.id.as_str();
        let was_there = before.as_ref().is_none_or(|before| before.contains_key(id));
        found.note_presence(row, was_there, there.contains_key(id));
    }
    let Some(run) = shown.tables.run(shown.run) else {
        return found;
    };
    if let Some(base) = base {
        let span = key_span(root, "phase");
        phases::collect_phase_edits(base, theirs, shown, span, &mut found);
    }
    // What piton itself wrote is no edit.
    let native = native_of_run(theirs);
    let as_written = |state: &SdlcState| {
        let mut state = state.clone();
        phases::write_phases(&mut state, shown.tables, run);
        metrics::add_invocations(&mut state, shown.tables, shown.run);
        native_of_run(&state)
    };
    let is_new = match base {
        Some(base) => native_of_run(base) != native && as_written(base) != as_written(theirs),
        None => phases::phase_standing(shown.tables, run).is_none(),
    };
    if is_new && run.plan.native.as_ref() != Some(&native) {
        let native = Some(native);
        found.edits.push(Edit::SetNative { node: None, native });
    }
    found
}

fn insert_edit(
    issue: &SdlcIssue,
    after: Option<piton_core::Node>,
    known: &HashSet<&str>,
    done: &HashSet<&str>,
) -> Edit {
    let mut item = planned_issue(issue, known, done);
    // What is new cannot have come to anything yet but its end; how others
    // call where it stands is kept as their word.
    if !item.state.is_finished() && item.state != ItemState::Pending {
        item.state = ItemState::Ready;
    }
    Edit::Insert {
        parent: None,
        after,
        items: vec![item],
    }
}

/// An issue that is an item of the run.
#[derive(Clone, Copy)]
struct WrittenIssue<'r> {
    row: &'r ItemRow,
    /// The status that piton writes for it.
    status: Option<IssueStatus>,
}

/// What was changed of an issue. `was` is none when it is not known what piton wrote last,
/// and holds none when the issue was not in it.
fn issue_edits(
    item: WrittenIssue<'_>,
    was: Option<Option<&SdlcIssue>>,
    issue: &SdlcIssue,
    known: &HashSet<&str>,
    done: &HashSet<&str>,
) -> Vec<Edit> {
    let WrittenIssue {
        row,
        status: written,
    } = item;
    let mut edits = Vec::new();
    let node = || row.node.clone();
    let old_status = was.map(|was| was.and_then(|was| was.status));
    if let Some(old) = old_status
        && old != issue.status
        && let Some(to) = issue.status.and_then(|status| wanted_state(row, status))
    {
        edits.push(Edit::SetState { node: node(), to });
    }
    let item = planned_issue(issue, known, done);
    let waits_for_others = was
        .flatten()
        .is_some_and(|was| was.blocked_by != issue.blocked_by);
    if waits_for_others && !row.state.is_finished() {
        let depends_on = item.depends_on;
        let node = node();
        edits.push(Edit::SetDependsOn { node, depends_on });
    }
    if was.flatten().is_some_and(|was| was.repo != issue.repo) {
        edits.push(Edit::SetRepository {
            node: node(),
            repository: issue.repo.clone(),
        });
    }
    // An unchanged status is piton's own; without a base it may only be old.
    let mut kept = issue.clone();
    let is_written = written.is_some() && issue.status == written;
    if is_written || old_status.is_none_or(|old| old == issue.status) {
        kept.status = issue_of_item(row).status;
    }
    IssueIterations::of_row(row).subtract_from_issue(&mut kept, was.flatten(), &issue_of_item(row));
    remove_pull_request(&mut kept, row, was.flatten(), &issue_of_item(row));
    let native = native_of_issue(&kept);
    if row.plan.native.as_ref() != Some(&native) {
        edits.push(Edit::SetNative {
            node: Some(node()),
            native: Some(native),
        });
    }
    edits
}

/// The issues that are not done, of those for which one waits.
fn open_blockers<'s>(state: &SdlcState, issue: &'s SdlcIssue) -> Vec<&'s str> {
    let is_open = |id: &&str| {
        let blocker = state.issues.iter().find(|issue| issue.id == *id);
        blocker.is_some_and(|blocker| blocker.status != Some(IssueStatus::Done))
    };
    let ids = issue.blocked_by.iter().map(String::as_str);
    ids.filter(is_open).collect()
}

/// A place in a file.
#[derive(Clone, Copy)]
struct FileSpan<'f> {
    /// The file, as the caller wants it shown.
    file: &'f str,
    span: Span,
}

/// The warning that a status in the file follows from what the issue waits for, and that
/// piton writes it again; none where the status may stay.
fn rewritten_status_problem<'s>(
    row: &ItemRow,
    was: &SdlcIssue,
    issue: &SdlcIssue,
    open: impl Fn() -> Vec<&'s str>,
    at: FileSpan<'_>,
) -> Option<Problem> {
    let is_open = matches!(row.state, ItemState::Ready | ItemState::Pending);
    if was.status == issue.status || !is_open || row.attempts > 0 {
        return None;
    }
    let (id, open) = (&issue.id, open());
    let (message, hint) = match (issue.status?, open.as_slice()) {
        (IssueStatus::Ready, [_, ..]) => (
            format!(
                "`{id}` was made ready, and it waits for {}: it stays blocked",
                open.join(", ")
            ),
            format!("let it go on without them with `piton issue unblock {id}`"),
        ),
        (IssueStatus::Blocked, []) => (
            format!("`{id}` was blocked, and it waits for no other issue: it stays ready"),
            format!("say for which with `piton issue block {id} --on ID`, or in its `blocked_by`"),
        ),
        _ => return None,
    };
    let path = format!("issues.{id}.status");
    Some(Problem::warning("STATUS_FOLLOWS", at.file, path, at.span).with_message(message, hint))
}

/// The state that a word of the file asks for; none where the core need not,
/// or cannot, be told: the word itself is kept.
fn wanted_state(row: &ItemRow, status: IssueStatus) -> Option<ItemState> {
    match status {
        IssueStatus::Done => Some(ItemState::Done),
        IssueStatus::Ready | IssueStatus::Blocked => {
            let fits = matches!(row.state, ItemState::Ready | ItemState::Pending);
            (!fits).then_some(ItemState::Pending)
        }
        // What is under way comes to its end by itself.
        IssueStatus::AwaitingHuman | IssueStatus::Failed if row.state == ItemState::Working => None,
        IssueStatus::AwaitingHuman => {
            (row.state != ItemState::Waiting).then_some(ItemState::Waiting)
        }
        IssueStatus::Failed => (row.state != ItemState::Failed).then_some(ItemState::Failed),
        // Others work on it: for the core it is open again.
        IssueStatus::Implementing | IssueStatus::Reviewing => {
            let closed = matches!(
                row.state,
                ItemState::Done | ItemState::Failed | ItemState::Waiting
            );
            closed.then_some(ItemState::Pending)
        }
    }
}
