//! The issues in an export.

use std::collections::{HashMap, HashSet};

use crate::json;
use crate::plan_format::PlanContext;
use crate::problem::{Problem, SourceText};
use crate::status_list::{ItemList, ListedItem, ListedStatus};
use crate::tree::{Span, ValueNode};

/// The name of this format.
pub(super) const FACE: &str = "beads";
/// What is kept as an issue and is no work.
const NO_WORK: [&str; 6] = ["message", "event", "agent", "role", "gate", "molecule"];

/// So many lines are looked at to tell an export from another file.
const LINES_LOOKED_AT: usize = 20;
/// What an issue of beads has one of, beyond what issues of other tools have.
const OWN_KEYS: [&str; 4] = ["issue_type", "priority", "created_at", "dependencies"];

/// Whether one of the first lines of a text is an issue: others may be of another kind, or
/// broken.
pub(super) fn is_export(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let is_issue = |line: &str| {
        let root = json::parse(line.trim_start_matches('\u{feff}')).root;
        root.is_some_and(|node| {
            let has = |key: &&str| node.get(key).is_some();
            ["id", "title", "status"].iter().all(has) && OWN_KEYS.iter().any(has)
        })
    };
    lines.take(LINES_LOOKED_AT).any(is_issue)
}

struct Issue {
    node: ValueNode,
    id: String,
    span: Span,
}

impl Issue {
    fn text(&self, key: &str) -> Option<&str> {
        let text = self.node.get(key).filter(|node| !node.is_null())?.text()?;
        Some(text).filter(|text| !text.trim().is_empty())
    }

    /// The issues that this one depends on in this way.
    fn related(&self, how: &str) -> impl Iterator<Item = &str> {
        let all = self.node.get("dependencies").and_then(ValueNode::as_seq);
        let all = all.unwrap_or_default().iter();
        let is_so = move |one: &&ValueNode| {
            one.get("type").and_then(ValueNode::text) == Some(how)
                && one.get("issue_id").and_then(ValueNode::text) == Some(&*self.id)
        };
        all.filter(is_so)
            .filter_map(|one| one.get("depends_on_id")?.text())
    }

    fn is_epic(&self) -> bool {
        self.text("issue_type") == Some("epic")
    }

    /// How it stands, and what its status says beyond that; none of what is no issue any
    /// more.
    fn status(&self) -> Option<(ListedStatus, Option<String>)> {
        let written = self.text("status").unwrap_or("open");
        let note = Some(format!("Its status in beads is `{written}`."));
        Some(match written {
            "tombstone" => return None,
            "closed" => (ListedStatus::Done, None),
            "deferred" | "pinned" => (ListedStatus::LeftOut, None),
            "open" => (ListedStatus::Open, None),
            _ => (ListedStatus::Open, note),
        })
    }

    fn words(&self) -> Vec<String> {
        let parts = [
            ("description", ""),
            ("design", "The design:\n\n"),
            ("acceptance_criteria", "What must be true in the end:\n\n"),
            ("notes", "Notes:\n\n"),
        ];
        let words = parts.iter().filter_map(|(key, head)| {
            let text = self.text(key)?;
            Some(format!("{head}{text}"))
        });
        words.collect()
    }
}

/// The lines of a text, each with where it begins and its number from 1.
fn read_lines(source: SourceText<'_>, problems: &mut Vec<Problem>) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut start = 0;
    for (line, number) in source.text.split_inclusive('\n').zip(1..) {
        let span = Span {
            start,
            end: start + line.trim_end().len(),
            line: number,
            column: 1,
        };
        start += line.len();
        if line.trim().is_empty() {
            continue;
        }
        let parsed = json::parse(line.trim_start_matches('\u{feff}').trim_end());
        let Some(node) = parsed.root.filter(|_| parsed.faults.is_empty()) else {
            let problem = Problem::error("ISSUE_PARSE_ERROR", source.name, "", span);
            let hint = "write the export anew with `bd export`";
            problems.push(problem.with_message("this line is no JSON", hint));
            continue;
        };
        let id = node.get("id").and_then(ValueNode::text).map(str::to_owned);
        match id.filter(|_| node.get("title").is_some()) {
            Some(id) => issues.push(Issue { node, id, span }),
            None => {
                let problem = Problem::warning("NO_ISSUE", source.name, "", span);
                let hint = "nothing has to be done: beads keeps other things in its export as well";
                problems.push(problem.with_message("this line is no issue: it is left out", hint));
            }
        }
    }
    issues
}

/// Leaves out what waits for an issue that is open and that no run closes, as beads does:
/// blocked while a blocker is open. What is a part of one that is blocked is so, too, and
/// an epic is not closed while a part of it is open.
fn leave_out_blocked(
    items: &mut [ListedItem],
    mut blocking: HashSet<String>,
    file: &str,
    problems: &mut Vec<Problem>,
) {
    let is_done = |item: &&ListedItem| item.status == ListedStatus::Done;
    let done = items.iter().filter(is_done).map(|item| item.id.clone());
    let done: HashSet<String> = done.collect();
    let mut blocked: HashSet<String> = HashSet::new();
    loop {
        let known = (blocked.len(), blocking.len());
        for item in items.iter_mut() {
            let is_part = item.parent.as_ref().is_some_and(|id| blocked.contains(id));
            let blocker = item.after.iter().find(|id| blocking.contains(*id));
            let is_open = item.status == ListedStatus::Open;
            if is_open && (is_part || blocker.is_some()) {
                if let Some(blocker) = blocker {
                    let problem = Problem::warning("BLOCKED_ISSUE", file, "", item.span);
                    let message = format!(
                        "`{}` waits for `{blocker}`, which is open and is not worked on, so it is left out",
                        item.id
                    );
                    let hint = format!("close that with `bd close -- {blocker}` when it is done");
                    problems.push(problem.with_message(message, hint));
                }
                item.status = ListedStatus::LeftOut;
                blocked.insert(item.id.clone());
                blocking.insert(item.id.clone());
            }
            if item.status == ListedStatus::LeftOut {
                blocking.extend(item.parent.clone().filter(|id| !done.contains(id)));
            }
        }
        if known == (blocked.len(), blocking.len()) {
            break;
        }
    }
    // What is no item is said to be open above, and not to be missing.
    let ids: HashSet<String> = items.iter().map(|item| item.id.clone()).collect();
    for item in items {
        item.after
            .retain(|id| ids.contains(id) || !blocking.contains(id));
    }
}

/// The issues of an export.
pub(super) fn parse_issues(
    source: SourceText<'_>,
    _: PlanContext<'_>,
    problems: &mut Vec<Problem>,
) -> Option<ItemList> {
    let issues = read_lines(source, problems);
    let epics: HashSet<&str> = issues
        .iter()
        .filter(|issue| issue.is_epic())
        .map(|issue| issue.id.as_str())
        .collect();
    let parent_of = |issue: &Issue| {
        let parent = issue.related("parent-child").find(|id| epics.contains(id));
        parent.map(str::to_owned)
    };
    let mut parts: HashMap<String, usize> = HashMap::new();
    for parent in issues.iter().filter_map(parent_of) {
        *parts.entry(parent).or_default() += 1;
    }
    let mut items = Vec::new();
    let mut closed: HashSet<&str> = HashSet::new();
    // What is open, and no work of a run.
    let mut blocking: HashSet<String> = HashSet::new();
    for issue in &issues {
        let Some((status, note)) = issue.status() else {
            continue;
        };
        if issue
            .text("issue_type")
            .is_some_and(|kind| NO_WORK.contains(&kind))
        {
            if status == ListedStatus::Done {
                closed.insert(&issue.id);
            } else {
                blocking.insert(issue.id.clone());
            }
            continue;
        }
        if issue.is_epic() && !parts.contains_key(&issue.id) {
            if status != ListedStatus::Done {
                blocking.insert(issue.id.clone());
            }
            if status == ListedStatus::Open {
                let problem = Problem::warning("EMPTY_EPIC", source.name, "", issue.span);
                let message = format!("epic `{}` has no issues, so nothing is worked on", issue.id);
                let hint = "split it with `bd create --parent`, or close it with `bd close`";
                problems.push(problem.with_message(message, hint));
            } else if status == ListedStatus::Done {
                closed.insert(&issue.id);
            }
            continue;
        }
        if status == ListedStatus::LeftOut {
            blocking.insert(issue.id.clone());
        }
        let priority = issue.node.get("priority").and_then(ValueNode::as_f64);
        items.push(ListedItem {
            id: issue.id.clone(),
            parent: parent_of(issue),
            status,
            title: issue.text("title").map(str::to_owned),
            words: issue.words(),
            note,
            after: issue.related("blocks").map(str::to_owned).collect(),
            priority: priority.unwrap_or(2.0),
            span: issue.span,
            ..ListedItem::default()
        });
    }
    // What is over and no item holds up nothing.
    for item in &mut items {
        item.after.retain(|id| !closed.contains(&**id));
    }
    leave_out_blocked(&mut items, blocking, source.name, problems);
    Some(ItemList {
        items,
        ..ItemList::default()
    })
}
