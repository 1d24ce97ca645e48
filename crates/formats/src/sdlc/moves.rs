//! What a person, or an agent outside of piton, may say of an issue: which of it fits
//! which status, and the edits that bring it about.
//!
//! What a status may become otherwise, by a runner or an edit of the file, is decided
//! in the core, as is whether an edit fits.

use std::collections::HashSet;

use piton_core::{Edit, ItemRow, ItemState, Node, RunId, Tables};

use super::native::{issue_of_item, native_of_issue, state_of_native};
use super::own_work::repository_names;
use super::phase_item::{is_reserved, node_of_id};
use super::phases::{issue_rows, phase_rows};
use super::plan::{planned_issue, status_of_item};
use super::state::{IssueStatus, SdlcIssue};
use super::{FACE, parse_manifest};
use crate::plan_file::nodes_of_ids;
use crate::plan_format::{IssueMove, IssueRefusal, NewIssue};
use crate::problem::SourceText;

fn refuse_move<T>(
    code: &'static str,
    what: impl Into<String>,
    hint: impl Into<String>,
) -> Result<T, IssueRefusal> {
    Err(IssueRefusal {
        code,
        what: what.into(),
        hint: hint.into(),
    })
}

/// The status into which a move brings an issue that is in this one; else why it does
/// not, and what to type instead, with `ID` for the issue.
pub(super) fn target_status(
    status: IssueStatus,
    what: &IssueMove,
) -> Result<IssueStatus, (&'static str, &'static str)> {
    use IssueStatus::{AwaitingHuman, Blocked, Done, Failed, Implementing, Ready, Reviewing};
    const WAITS: (&str, &str) = (
        "waits for other issues",
        "see for which with `piton issue show ID`; `piton issue unblock ID` lets it go on without them",
    );
    const IS_DONE: (&str, &str) = ("is done", "`piton plan retry ID` has it done again");
    const FAILED: (&str, &str) = ("failed", "`piton plan retry ID` makes it ready again");
    const ASKS: (&str, &str) = (
        "waits for a person",
        "answer with `piton decide`, as `piton inbox` shows it, or take it with `piton issue start ID`",
    );
    const NOT_BEGUN: (&str, &str) = (
        "was not begun",
        "`piton issue start ID` begins it, `piton plan skip ID` leaves it out",
    );
    const BEGUN: (&str, &str) = (
        "is being worked on",
        "`piton plan retry ID` gives it back first",
    );
    match (what, status) {
        (IssueMove::Start, Ready | Reviewing | AwaitingHuman) => Ok(Implementing),
        (IssueMove::Start, Implementing) => Err((
            "is being worked on",
            "`piton plan retry ID` gives it back, `piton issue done ID` finishes it",
        )),
        (IssueMove::Start, Failed) => Err(FAILED),
        (IssueMove::Review { .. }, Implementing) => Ok(Reviewing),
        (IssueMove::Review { .. }, Reviewing) => Err((
            "is in review",
            "`piton issue start ID` sends it back, `piton issue done ID` accepts it",
        )),
        (IssueMove::Review { .. } | IssueMove::Fail, Ready) => Err(NOT_BEGUN),
        (IssueMove::Done, Ready | Implementing | Reviewing | AwaitingHuman | Failed) => Ok(Done),
        (IssueMove::Fail, Implementing) => Ok(Failed),
        (IssueMove::Fail, Reviewing) => Err((
            "is in review",
            "`piton issue start ID` sends it back first, `piton plan skip ID` leaves it out",
        )),
        (IssueMove::Review { .. } | IssueMove::Fail, AwaitingHuman) => Err(ASKS),
        (IssueMove::Review { .. } | IssueMove::Fail, Failed) => Err(FAILED),
        (IssueMove::Block { .. }, Blocked | Ready | Failed) => Ok(Blocked),
        (IssueMove::Block { .. }, Implementing | Reviewing) => Err(BEGUN),
        (IssueMove::Block { .. }, AwaitingHuman) => Err(ASKS),
        // With more that it waits for it stays blocked.
        (IssueMove::Unblock { .. }, Blocked) => Ok(Ready),
        (IssueMove::Unblock { .. }, Ready | Implementing | Reviewing | AwaitingHuman | Failed) => {
            Err((
                "waits for no other issue",
                "see it with `piton issue show ID`",
            ))
        }
        (
            IssueMove::Start | IssueMove::Review { .. } | IssueMove::Done | IssueMove::Fail,
            Blocked,
        ) => Err(WAITS),
        (
            IssueMove::Start
            | IssueMove::Review { .. }
            | IssueMove::Done
            | IssueMove::Fail
            | IssueMove::Block { .. }
            | IssueMove::Unblock { .. },
            Done,
        ) => Err(IS_DONE),
    }
}

/// The edits that carry out a move of an issue.
pub(super) fn edits_of_move(
    tables: &Tables,
    row: &ItemRow,
    what: &IssueMove,
) -> Result<Vec<Edit>, IssueRefusal> {
    let id = row.plan.id.as_str();
    let holder = tables.run(row.run).and_then(|run| run.holder.as_ref());
    let is_working = row.state == ItemState::Working;
    if row.is_under_way() || (is_working && holder.is_some()) {
        let who = holder.map_or("a runner", |holder| &*holder.owner);
        let hint = format!(
            "follow it with `piton transcript {id} -f`; `piton stop` ends the run and leaves it to you"
        );
        let what = format!("`{id}` is being worked on by {who}");
        return refuse_move("item.being_worked_on", what, hint);
    }
    if row.state.is_left_out() || row.state == ItemState::Blocked {
        let what = format!("`{id}` is {}", row.state);
        return refuse_move(
            "item.state",
            what,
            format!("`piton plan retry {id}` takes it up again"),
        );
    }
    let kept = issue_of_item(row);
    let status = match is_working {
        // A runner that is gone left it.
        true => IssueStatus::Ready,
        false => status_of_item(row, tables, kept.status).unwrap_or(IssueStatus::Ready),
    };
    let to = target_status(status, what).map_err(|(why, hint)| {
        let by = row
            .people
            .human
            .as_ref()
            .filter(|_| status == IssueStatus::Implementing);
        let by = by.map_or_else(String::new, |human| format!(": {}", human.reason));
        IssueRefusal {
            code: "item.state",
            what: format!("`{id}` {why}{by}"),
            hint: hint.replace("ID", id),
        }
    })?;
    let before = phase_rows(tables, row.run).find(|(_, phase)| !phase.state.is_finished());
    if let (Some((_, phase)), ItemState::Pending, IssueStatus::Ready) = (before, row.state, status)
        && !matches!(what, IssueMove::Block { .. })
    {
        let run = tables.run(row.run).map_or("", |run| &*run.name);
        let what = format!("`{id}` waits for `{}`", phase.plan.id);
        return refuse_move("item.state", what, format!("go on with `piton run {run}`"));
    }
    let mut issue = SdlcIssue {
        status: Some(to),
        ..kept
    };
    let node = row.node.clone();
    let set = |to| Edit::SetState {
        node: row.node.clone(),
        to,
    };
    let mut edits = Vec::new();
    match what {
        IssueMove::Start => {
            let counted = match status {
                IssueStatus::Reviewing => Some(&mut issue.review_iterations),
                IssueStatus::AwaitingHuman => Some(&mut issue.human_iterations),
                IssueStatus::Blocked
                | IssueStatus::Ready
                | IssueStatus::Implementing
                | IssueStatus::Done
                | IssueStatus::Failed => None,
            };
            if let Some(count) = counted {
                *count = Some(count.unwrap_or_default() + 1);
            }
            edits.push(set(ItemState::Waiting));
        }
        IssueMove::Review { pr } => {
            if let Some(pr) = pr {
                issue.pr_number = Some(parse_pull_request_number(pr)?);
                issue.pr = Some(pr.clone());
            }
            edits.push(set(ItemState::Waiting));
        }
        IssueMove::Done => edits.push(set(ItemState::Done)),
        IssueMove::Fail => edits.push(set(ItemState::Failed)),
        IssueMove::Block { on } => {
            let blocker = check_blocker(tables, row, &issue, on)?;
            issue.blocked_by.push(on.clone());
            let mut depends_on = row.plan.depends_on.clone();
            depends_on.push(blocker);
            edits.push(Edit::SetDependsOn {
                node: node.clone(),
                depends_on,
            });
            if row.state == ItemState::Failed {
                edits.push(set(ItemState::Pending));
            }
        }
        IssueMove::Unblock { on } => {
            let on = find_blocker(tables, row, &issue, on.as_deref())?;
            issue.blocked_by.retain(|id| *id != on);
            let gone = node_of_id(&on);
            let mut depends_on = row.plan.depends_on.clone();
            depends_on.retain(|node| *node != gone);
            if issue
                .blocked_by
                .iter()
                .any(|id| is_open(tables, row.run, id))
            {
                issue.status = Some(IssueStatus::Blocked);
            }
            edits.push(Edit::SetDependsOn {
                node: node.clone(),
                depends_on,
            });
        }
    }
    edits.push(Edit::SetNative {
        node: Some(node),
        native: Some(native_of_issue(&issue)),
    });
    Ok(edits)
}

/// The number of a pull request that is named as `org/repo#7`.
fn parse_pull_request_number(pr: &str) -> Result<u64, IssueRefusal> {
    let parts = pr.split_once('#').and_then(|(repo, number)| {
        let (owner, name) = repo.split_once('/')?;
        let is_name = |part: &str| !part.is_empty() && !part.contains(['/', '#', ' ']);
        let number = number.parse().ok().filter(|number| *number > 0)?;
        (is_name(owner) && is_name(name)).then_some(number)
    });
    match parts {
        Some(number) => Ok(number),
        None => refuse_move(
            "usage",
            format!("`{pr}` names no pull request"),
            "write it as `org/repo#7`",
        ),
    }
}

fn find_issue<'t>(tables: &'t Tables, run: RunId, id: &str) -> Option<&'t ItemRow> {
    issue_rows(tables, run).find(|row| row.plan.id == id)
}

fn is_open(tables: &Tables, run: RunId, id: &str) -> bool {
    find_issue(tables, run, id).is_some_and(|row| !row.state.is_finished())
}

fn refuse_unknown_issue<T>(id: &str) -> Result<T, IssueRefusal> {
    refuse_move(
        "item.unknown",
        format!("the run has no issue `{id}`"),
        "see the issues with `piton issue list`",
    )
}

/// The item of an issue for which another is to wait.
fn check_blocker(
    tables: &Tables,
    row: &ItemRow,
    issue: &SdlcIssue,
    on: &str,
) -> Result<Node, IssueRefusal> {
    let id = row.plan.id.as_str();
    let Some(blocker) = find_issue(tables, row.run, on) else {
        return refuse_unknown_issue(on);
    };
    if issue.blocked_by.iter().any(|have| have == on) {
        let what = format!("`{id}` waits for `{on}` already");
        return refuse_move(
            "usage",
            what,
            format!("see it with `piton issue show {id}`"),
        );
    }
    if blocker.state.is_finished() {
        let what = format!("`{on}` is {}: there is nothing to wait for", blocker.state);
        return refuse_move(
            "item.state",
            what,
            format!("`piton plan retry {on}` has it done again"),
        );
    }
    let mut open = vec![blocker];
    let mut seen: HashSet<&Node> = HashSet::new();
    while let Some(one) = open.pop() {
        if one.node == row.node {
            let what = format!("`{on}` waits for `{id}`: they would wait for each other");
            let hint = format!("see what it waits for with `piton issue show {on}`");
            return refuse_move("usage", what, hint);
        }
        if seen.insert(&one.node) {
            let on = one.plan.depends_on.iter();
            open.extend(on.filter_map(|on| tables.item(row.run, on)));
        }
    }
    Ok(blocker.node.clone())
}

/// The issue for which another is to wait no longer.
fn find_blocker(
    tables: &Tables,
    row: &ItemRow,
    issue: &SdlcIssue,
    on: Option<&str>,
) -> Result<String, IssueRefusal> {
    let id = row.plan.id.as_str();
    let blockers = issue.blocked_by.iter();
    let open: Vec<&str> = blockers
        .filter(|on| is_open(tables, row.run, on))
        .map(String::as_str)
        .collect();
    let hint = || format!("name one of them with `--on`: {}", open.join(", "));
    match (on, open.as_slice()) {
        (Some(on), _) if issue.blocked_by.iter().any(|have| have == on) => Ok(on.to_owned()),
        (Some(on), _) => refuse_move("usage", format!("`{id}` does not wait for `{on}`"), hint()),
        (None, [one]) => Ok((*one).to_owned()),
        (None, _) => refuse_move("usage", format!("`{id}` waits for several issues"), hint()),
    }
}

/// The edits that add an issue.
pub(super) fn edits_to_add(
    tables: &Tables,
    run: RunId,
    manifest: Option<&str>,
    new: &NewIssue,
) -> Result<Vec<Edit>, IssueRefusal> {
    let id = new.id.trim();
    if id.is_empty() || new.title.trim().is_empty() {
        return refuse_move(
            "usage",
            "an issue has an id and a title",
            "see `piton issue add --help`",
        );
    }
    if is_reserved(id) {
        return refuse_move(
            "usage",
            format!("`{id}` is the name of a phase"),
            "give the issue another id",
        );
    }
    if find_issue(tables, run, id).is_some() {
        let what = format!("there is an issue `{id}` already");
        return refuse_move(
            "usage",
            what,
            format!("see it with `piton issue show {id}`"),
        );
    }
    for on in &new.blocked_by {
        if find_issue(tables, run, on).is_none() {
            return refuse_unknown_issue(on);
        }
    }
    let mut state = state_of_native(tables.run(run).and_then(|row| row.plan.native.as_ref()));
    state
        .issues
        .extend(issue_rows(tables, run).map(issue_of_item));
    let name = super::own_work::MANIFEST;
    let manifest = manifest.and_then(|text| parse_manifest(SourceText { name, text }).0);
    let known = repository_names(manifest.as_ref(), &state);
    let repo = match (&new.repo, known.as_slice()) {
        (Some(repo), []) => repo.clone(),
        (Some(repo), known) if known.contains(repo) => repo.clone(),
        (None, [only]) => only.clone(),
        (given, known) => {
            let what = match given {
                Some(repo) => format!("there is no repository `{repo}`"),
                None => "the issue names no repository".to_owned(),
            };
            let known = match known {
                [] => "NAME".to_owned(),
                known => known.join(", or "),
            };
            return refuse_move("usage", what, format!("name it with `--repo {known}`"));
        }
    };
    let is_blocked = new.blocked_by.iter().any(|on| is_open(tables, run, on));
    let issue = SdlcIssue {
        id: id.to_owned(),
        repo: Some(repo),
        title: Some(new.title.trim().to_owned()),
        status: Some(match is_blocked {
            true => IssueStatus::Blocked,
            false => IssueStatus::Ready,
        }),
        blocked_by: new.blocked_by.clone(),
        review_iterations: Some(0),
        human_iterations: Some(0),
        ..SdlcIssue::default()
    };
    let rows = || issue_rows(tables, run).chain(phase_rows(tables, run).map(|(_, row)| row));
    let there: HashSet<&str> = rows().map(|row| row.plan.id.as_str()).collect();
    let done = rows().filter(|row| row.state.is_finished());
    let done: HashSet<&str> = done.map(|row| row.plan.id.as_str()).collect();
    let last = rows().max_by(|a, b| a.plan.place.cmp(&b.plan.place));
    let description = new.description.as_deref().map(str::trim);
    let mut item = planned_issue(&issue, &there, &done);
    if let Some(text) = description.filter(|text| !text.is_empty()) {
        item.prompt = Some(format!("{}\n\n{text}", new.title.trim()));
    }
    Ok(vec![Edit::Insert {
        parent: None,
        after: last.map(|row| row.node.clone()),
        items: vec![item],
    }])
}

/// Writes into an issue of the file what was said of it since: its pull request, what
/// it waits for, and how often others wanted it otherwise.
pub(super) fn write_moves(issue: &mut SdlcIssue, row: &ItemRow) {
    if row
        .plan
        .native
        .as_ref()
        .is_none_or(|native| native.face != FACE)
    {
        return;
    }
    let kept = issue_of_item(row);
    // What a person is asked about is not what it waits for.
    let on: HashSet<Node> = nodes_of_ids(kept.blocked_by.iter()).into_iter().collect();
    let is_in_force = on.iter().all(|on| row.plan.depends_on.contains(on))
        && row
            .plan
            .depends_on
            .iter()
            .all(|node| on.contains(node) || is_reserved(node.as_str()));
    if is_in_force {
        issue.blocked_by = kept.blocked_by;
    }
    issue.pr = kept.pr.or(issue.pr.take());
    issue.pr_number = kept.pr_number.or(issue.pr_number);
    issue.review_iterations = issue.review_iterations.max(kept.review_iterations);
    issue.human_iterations = issue.human_iterations.max(kept.human_iterations);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each status with what becomes of it by each word; `-` is refused.
    const TABLE: [(&str, [&str; 6]); 7] = [
        // start, review, done, fail, block, unblock
        ("blocked", ["-", "-", "-", "-", "blocked", "ready"]),
        ("ready", ["implementing", "-", "done", "-", "blocked", "-"]),
        (
            "implementing",
            ["-", "reviewing", "done", "failed", "-", "-"],
        ),
        ("reviewing", ["implementing", "-", "done", "-", "-", "-"]),
        (
            "awaiting_human",
            ["implementing", "-", "done", "-", "-", "-"],
        ),
        ("done", ["-", "-", "-", "-", "-", "-"]),
        ("failed", ["-", "-", "done", "-", "blocked", "-"]),
    ];

    #[test]
    fn each_status_takes_the_words_that_fit_it_and_each_refusal_says_what_to_type() {
        let words = [
            IssueMove::Start,
            IssueMove::Review { pr: None },
            IssueMove::Done,
            IssueMove::Fail,
            IssueMove::Block {
                on: "S-9".to_owned(),
            },
            IssueMove::Unblock { on: None },
        ];
        let statuses: Vec<&str> = TABLE.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, IssueStatus::WORDS);
        for (status, row) in TABLE {
            let from = IssueStatus::parse(status).expect("a status");
            for (word, expected) in words.iter().zip(row) {
                let verb = word.verb();
                match target_status(from, word) {
                    Ok(to) => assert_eq!(to.as_str(), expected, "{status} {verb}"),
                    Err((why, hint)) => {
                        assert_eq!(expected, "-", "{status} {verb}: {why}");
                        assert!(hint.contains("`piton "), "{status} {verb}: {hint}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_pull_request_is_named_by_its_repository_and_number() {
        assert_eq!(parse_pull_request_number("ada/shop#7"), Ok(7));
        for wrong in [
            "7",
            "#7",
            "shop#7",
            "ada/shop#0",
            "ada/shop#x",
            "a/b/c#1",
            "https://x/y#1",
        ] {
            assert!(parse_pull_request_number(wrong).is_err(), "{wrong}");
        }
    }
}
