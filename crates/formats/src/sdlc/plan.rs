//! From the state of a run to a plan: an item for each phase before the issues that
//! is not over, and for each issue.

use std::collections::{HashMap, HashSet};

use piton_core::attempt::HumanNeeded;
use piton_core::plan::{ImportedItemHistory, ImportedRunHistory, Plan, PlannedItem};
use piton_core::policy::Policy;
use piton_core::review::ReviewPolicy;
use piton_core::{DecisionKind, ItemRow, ItemState, RunId, Stage, Tables, TreePosition};

use super::native::{native_of_issue, native_of_run};
use super::phase_item::{node_before_issues, phase_of_item};
use super::phases;
use super::state::{FACE, IssueStatus, SdlcIssue, SdlcState};
use crate::plan_file::{nodes_of_ids, plan_of_items, planned_item};

/// So often an issue goes back because its reviewer wants changes.
const REVIEW_ROUNDS_MAX: u32 = 3;

/// The plan that a state describes, for a run of this id and name. `source` is
/// the path of the file, as the journal keeps it.
#[must_use]
pub fn plan_of_state(state: &SdlcState, run: RunId, name: &str, source: &str) -> Plan {
    let phases = phases::planned_phases(state, source);
    let review = ReviewPolicy {
        rounds_max: REVIEW_ROUNDS_MAX,
        except: phases.iter().map(|item| item.node.clone()).collect(),
    };
    let names = phases.iter().map(|item| item.id.as_str());
    let ids = state.issues.iter().map(|issue| issue.id.as_str());
    let known: HashSet<&str> = ids.chain(names).collect();
    let done: HashSet<&str> = state
        .issues
        .iter()
        .filter(|issue| issue.status == Some(IssueStatus::Done))
        .map(|issue| issue.id.as_str())
        .collect();
    let issues = state.issues.iter();
    let issues: Vec<PlannedItem> = issues
        .map(|issue| planned_issue(issue, &known, &done))
        .collect();
    let items = phases.into_iter().chain(issues).zip(0..);
    let items = items.map(|(item, index)| PlannedItem {
        place: TreePosition::default().child(index),
        ..item
    });
    let plan = plan_of_items(FACE, run, name, source, items.collect());
    Plan {
        policy: Policy {
            review: Some(review),
            ..Policy::default()
        },
        native: Some(native_of_run(state)),
        past: plan.past.clone().or_else(|| find_standstill(&plan.items)),
        ..plan
    }
}

/// That a run whose items all wait for people, or for others that do, stands still.
fn find_standstill(items: &[PlannedItem]) -> Option<ImportedRunHistory> {
    // One with a pull request may be merged by now.
    let is_open =
        |item: &PlannedItem| item.state == ItemState::Ready || item.past.pull_request.is_some();
    let stands = |item: &&PlannedItem| item.state == ItemState::Waiting || item.state.is_broken();
    let at = items.iter().find(stands)?;
    (!items.iter().any(is_open)).then(|| ImportedRunHistory {
        stuck: Some(at.node.clone()),
        waits: at.state == ItemState::Waiting,
        ..ImportedRunHistory::default()
    })
}

/// An issue as it is planned. Of what it waits for only what is `known` counts.
pub(super) fn planned_issue(
    issue: &SdlcIssue,
    known: &HashSet<&str>,
    done: &HashSet<&str>,
) -> PlannedItem {
    let needs = || issue.blocked_by.iter().filter(|id| known.contains(&***id));
    let before = node_before_issues(known);
    let is_held = before
        .as_ref()
        .is_some_and(|node| !done.contains(node.as_str()));
    let waits = is_held || needs().any(|id| !done.contains(&**id));
    let state = match issue.status {
        Some(IssueStatus::Done) => ItemState::Done,
        Some(IssueStatus::Failed) => ItemState::Failed,
        Some(IssueStatus::AwaitingHuman) => ItemState::Waiting,
        Some(IssueStatus::Ready) if !is_held => ItemState::Ready,
        // An agent or a person outside of piton implements or reviews it: that stays
        // a word of the file until piton itself begins.
        Some(
            IssueStatus::Ready
            | IssueStatus::Blocked
            | IssueStatus::Implementing
            | IssueStatus::Reviewing,
        )
        | None => {
            if waits {
                ItemState::Pending
            } else {
                ItemState::Ready
            }
        }
    };
    let human = (state == ItemState::Waiting).then(|| HumanNeeded {
        reason: match &issue.pr {
            Some(pr) => format!("{pr} waits for a person"),
            None => format!("{} waits for a person", issue.id),
        },
        details: None,
    });
    PlannedItem {
        prompt: Some(issue.title.clone().unwrap_or_else(|| issue.id.clone())),
        depends_on: nodes_of_ids(needs()).into_iter().chain(before).collect(),
        native: Some(native_of_issue(issue)),
        repository: issue.repo.clone(),
        past: ImportedItemHistory {
            human,
            pull_request: issue.pr_number.filter(|_| state != ItemState::Done),
            pull_request_name: issue.pr.clone().filter(|_| state != ItemState::Done),
            ..ImportedItemHistory::default()
        },
        ..planned_item(&issue.id, state)
    }
}

/// The word for where an item stands: that of the file as long as it says no
/// less. None where the format has no word.
pub(super) fn status_of_item(
    row: &ItemRow,
    tables: &Tables,
    said: Option<IssueStatus>,
) -> Option<IssueStatus> {
    use IssueStatus::{AwaitingHuman, Done, Failed, Implementing, Ready, Reviewing};
    let by_others = matches!(
        said,
        Some(Implementing | Reviewing | AwaitingHuman | Failed)
    );
    match row.state {
        ItemState::Pending | ItemState::Ready if by_others && row.started_at.is_none() => said,
        ItemState::Pending => Some(pending_status(row, tables)),
        ItemState::Ready => Some(Ready),
        ItemState::Waiting if is_worked_on_elsewhere(row, tables) => Some(match said {
            Some(Reviewing) => Reviewing,
            _ => Implementing,
        }),
        ItemState::Working if row.stage == Stage::Review => Some(Reviewing),
        ItemState::Working => Some(Implementing),
        // It waits for a time.
        ItemState::Waiting if row.people.human.is_none() && row.stage == Stage::Review => {
            Some(Reviewing)
        }
        ItemState::Waiting if row.people.human.is_none() => Some(Implementing),
        ItemState::Waiting => Some(AwaitingHuman),
        ItemState::Done => Some(Done),
        ItemState::Failed => Some(Failed),
        // What was begun is no other tool's to take up.
        ItemState::Skipped if row.started_at.is_some() => Some(AwaitingHuman),
        ItemState::Skipped | ItemState::Dropped | ItemState::Blocked => said,
    }
}

/// Whether a person or an agent outside of piton works on an item.
pub(super) fn is_worked_on_elsewhere(row: &ItemRow, tables: &Tables) -> bool {
    let mut open = tables.open_decisions(row.run);
    open.any(|one| one.kind == DecisionKind::InHand && one.node.as_ref() == Some(&row.node))
}

/// The word for an issue that waits: for others, for the pieces into which it was
/// split, or for what comes before all issues.
fn pending_status(row: &ItemRow, tables: &Tables) -> IssueStatus {
    let on = row.plan.depends_on.iter();
    let on = on.filter_map(|on| tables.item(row.run, on));
    let open: Vec<&ItemRow> = on.filter(|on| !on.state.is_finished()).collect();
    let is_issue = |on: &&ItemRow| on.plan.piece_of.is_none() && phase_of_item(on).is_none();
    match (open.iter().any(is_issue), row.attempts) {
        (true, _) => IssueStatus::Blocked,
        (false, 0) => IssueStatus::Ready,
        (false, _) => IssueStatus::Implementing,
    }
}

/// The issues by their ids.
pub(super) fn issues_by_id(state: &SdlcState) -> HashMap<&str, &SdlcIssue> {
    let issues = state.issues.iter();
    issues.map(|issue| (issue.id.as_str(), issue)).collect()
}
