//! The stories in a status file.

use std::collections::HashSet;

use crate::field_reader::root_without_faults;
use crate::plan_format::PlanContext;
use crate::problem::{Problem, SourceText};
use crate::status_list::{ItemList, ListedItem, ListedStatus, StatusMark};
use crate::tree::{MapKey, ValueNode};
use crate::yaml;

/// The name of this format.
pub(super) const FACE: &str = "bmad-sprint-status";
/// The key of the map.
pub(super) const STATUSES: &str = "development_status";

/// The epic that a story belongs to: `1` of `1-2-slug`.
fn epic_of_story(key: &str) -> Option<&str> {
    let mut parts = key.split('-');
    let (epic, story) = (parts.next()?, parts.next()?);
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    (is_number(epic) && is_number(story)).then_some(epic)
}

/// The stories of a status file, in their epics.
pub(super) fn parse_status(
    source: SourceText<'_>,
    _: PlanContext<'_>,
    problems: &mut Vec<Problem>,
) -> Option<ItemList> {
    let parsed = yaml::parse(source.text);
    let root = root_without_faults(parsed, "STATUS_PARSE_ERROR", source.name, problems)?;
    let Some(map) = root.get(STATUSES).and_then(ValueNode::as_map) else {
        let problem = Problem::error("NOT_A_SPRINT_STATUS", source.name, STATUSES, root.span);
        let message = format!("there is no map `{STATUSES}`");
        problems.push(problem.with_message(message, "name another file"));
        return None;
    };
    let epics: HashSet<String> = map
        .iter()
        .filter_map(|(key, _)| epic_of_story(&key.text))
        .map(|epic| format!("epic-{epic}"))
        .collect();
    let mut items = Vec::new();
    for (key, node) in map.iter() {
        let is_retrospective = key.text.ends_with("-retrospective");
        let is_epic = key.text.starts_with("epic-");
        if is_retrospective || (is_epic && !epics.contains(&key.text)) {
            continue;
        }
        let epic = epic_of_story(&key.text).map(|epic| format!("epic-{epic}"));
        let epic = epic.filter(|epic| map.get(epic).is_some());
        let (status, note) = match is_epic {
            // How an epic stands follows from its stories.
            true => (ListedStatus::Open, None),
            false => parse_story_status(key, node, source.name, problems),
        };
        let mark = mark_of_story(key, node, source.text);
        if mark.is_none() && !is_epic {
            problems.push(unwritable_status(key, source.name));
        }
        items.push(ListedItem {
            id: key.text.clone(),
            parent: epic,
            status,
            title: (!is_epic).then(|| title_of_story(&key.text)),
            words: vec![format!(
                "What it asks for stands in `{}.md` beside the list, where there is such a file, else in the file of the epics. Tick the boxes of the tasks that you did there.",
                key.text
            )],
            note,
            documents: [
                format!("{}.md", key.text),
                format!("stories/{}.md", key.text),
                "../planning-artifacts/epics.md".to_owned(),
                "../planning-artifacts/architecture.md".to_owned(),
                "../project-context.md".to_owned(),
            ]
            .into(),
            // Stories are written for one developer after another.
            scope: vec![".".to_owned()],
            mark,
            span: key.span,
            ..ListedItem::default()
        });
    }
    let project = root.get("project").and_then(ValueNode::text);
    Some(ItemList {
        name: project.map(str::to_owned),
        items,
        ..ItemList::default()
    })
}

fn parse_story_status(
    key: &MapKey,
    node: &ValueNode,
    file: &str,
    problems: &mut Vec<Problem>,
) -> (ListedStatus, Option<String>) {
    let written = node.text().unwrap_or_default().trim();
    let note = Some(format!("Its status in the list is `{written}`."));
    match written.to_ascii_lowercase().as_str() {
        "done" => (ListedStatus::Done, None),
        "optional" | "archived" | "deferred" | "cancelled" => (ListedStatus::LeftOut, None),
        "backlog" | "drafted" | "ready-for-dev" => (ListedStatus::Open, None),
        "in-progress" | "review" | "blocked" => (ListedStatus::Open, note),
        _ => {
            let path = format!("{STATUSES}.{}", key.text);
            let message = format!(
                "{} is no status of BMAD, so `{}` counts as open",
                node.describe(),
                key.text
            );
            let hint = "write `done` if it is done, `backlog` if it is not";
            let problem = Problem::warning("UNKNOWN_STATUS", file, path, key.span);
            problems.push(problem.with_message(message, hint));
            (ListedStatus::Open, None)
        }
    }
}

fn title_of_story(key: &str) -> String {
    let words = key.splitn(3, '-').nth(2).unwrap_or(key);
    words.replace('-', " ")
}

/// Where the status of a story stands; none where it is no word in the line of its key,
/// less its quotes, and so cannot be replaced.
fn mark_of_story(key: &MapKey, node: &ValueNode, text: &str) -> Option<StatusMark> {
    let at = node.span.start..node.span.end;
    let written = text.get(at.clone())?;
    if written.is_empty() {
        // Behind the colon, where nothing is said.
        let rest = text.get(key.span.end..)?;
        let colon = rest.find(':')?;
        let line = rest[colon + 1..].lines().next().unwrap_or_default();
        let is_bare = rest[..colon].trim_matches([' ', '\t']).is_empty()
            && (line.trim().is_empty() || line.trim_start().starts_with('#'));
        let end = key.span.end + colon + 1;
        let (done, open) = (" done".to_owned(), " in-progress".to_owned());
        let at = end..end;
        return is_bare.then_some(StatusMark { at, done, open });
    }
    let quote = written.chars().next().filter(|one| "\"'".contains(*one));
    let bare = match quote {
        Some(quote) => written.strip_prefix(quote)?.strip_suffix(quote)?,
        None => written,
    };
    let is_word = !bare.contains(['\n', '\r']) && node.text() == Some(bare);
    let quoted = |status: &str| match quote {
        Some(quote) => format!("{quote}{status}{quote}"),
        None => status.to_owned(),
    };
    is_word.then(|| StatusMark {
        at,
        done: quoted("done"),
        open: quoted("in-progress"),
    })
}

fn unwritable_status(key: &MapKey, file: &str) -> Problem {
    let path = format!("{STATUSES}.{}", key.text);
    let message = format!(
        "the status of `{}` is no word behind its key, so piton does not write it",
        key.text
    );
    let hint = format!("write it in one line: `{}: backlog`", key.text);
    Problem::warning("STATUS_NOT_WRITABLE", file, path, key.span).with_message(message, hint)
}
