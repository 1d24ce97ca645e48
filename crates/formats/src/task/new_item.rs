//! A box that is added to a list by command, or gets other words: in the way in which the
//! list is written.

use piton_core::ItemRow;
use piton_core::plan::PlannedItem;

use super::boxes::paragraph_end;
use super::native_file::match_rows;
use super::plan::{StoredCriterion, planned_criterion};
use super::{Criterion, Dialect, TaskFile, ids, parse_task};
use crate::markdown::{Doc, LineKind, indent_columns, insert_at, replace_range, to_u32};
use crate::plan_format::{ItemPatch, NewItem};
use crate::problem::SourceText;

/// Behind the words of an item stands nothing that others read as one.
const GROUP: &str = "<!-- group:";

/// The item as it will be read from the file.
pub(super) fn plan_new_item(text: Option<&str>, new: &NewItem) -> Result<PlannedItem, String> {
    let text = text.ok_or("the file of the list cannot be read")?;
    let text = write_new_item(text, new)?;
    let (task, at) = (read_task(&text), added_index(&text)?);
    Ok(planned_criterion(&task, at, ""))
}

/// The text of a list with one box more, and no other change.
pub(super) fn write_new_item(text: &str, new: &NewItem) -> Result<String, String> {
    let unsaid = [
        (new.prompt.is_some(), "details"),
        (new.check.is_some(), "a check of its own"),
        (!new.after.is_empty(), "what it waits for"),
        (!new.tags.labels.is_empty(), "labels"),
        (new.tags.priority.is_some(), "a priority"),
    ];
    refuse_unsaid(&unsaid)?;
    let task = read_task(text);
    let last = last_root(&task)?;
    let words = format!("{}{}", next_id(text, &task, last), new.title);
    add_box(text, &words)
}

/// A line of a checklist holds its words and a mark.
fn refuse_unsaid(wanted: &[(bool, &str)]) -> Result<(), String> {
    match wanted.iter().find(|(is_wanted, _)| *is_wanted) {
        None => Ok(()),
        Some((_, what)) => Err(format!(
            "a line of a checklist has no place for {what}: say it in the title"
        )),
    }
}

/// Adds the boxes of items that were added by command and are still open, and that the
/// text does not have.
pub(super) fn add_missing_boxes(text: String, missing: &[&ItemRow]) -> String {
    let added = missing.iter().filter(|row| {
        row.plan.injected.is_some() && !row.state.is_finished() && row.plan.native.is_some()
    });
    added.fold(text, |text, row| {
        let known = StoredCriterion::unpack(row);
        let task = read_task(&text);
        let is_bracketed =
            last_root(&task).is_ok_and(|last| words_of_line(&text, last).starts_with("**["));
        let words = match is_bracketed {
            true => format!("**[{}]** {}", known.number, known.text),
            false => known.text,
        };
        add_box(&text, &words).unwrap_or(text)
    })
}

fn read_task(text: &str) -> TaskFile {
    parse_task(SourceText { name: "", text }).0
}

/// The last box that is nested in no other.
fn last_root(task: &TaskFile) -> Result<&Criterion, String> {
    let mut roots = task.criteria.iter().rev();
    let last = roots.find(|one| one.parent.is_none());
    last.ok_or_else(|| "the file has no list to add to".to_owned())
}

/// Where the box stands that was added to a text.
fn added_index(text: &str) -> Result<usize, String> {
    let task = read_task(text);
    let last = last_root(&task)?.line;
    let at = task.criteria.iter().position(|one| one.line == last);
    at.ok_or_else(|| "the file has no list to add to".to_owned())
}

/// Where the words behind a box begin.
fn words_start(text: &str, criterion: &Criterion) -> usize {
    let rest = &text[criterion.tick.end + 1..];
    let words = rest.strip_prefix('*').unwrap_or(rest);
    text.len() - words.trim_start_matches([' ', '\t']).len()
}

/// What stands behind a box in its line.
fn words_of_line<'t>(text: &'t str, criterion: &Criterion) -> &'t str {
    let words = &text[words_start(text, criterion)..];
    words.lines().next().unwrap_or_default().trim_end()
}

/// Adds a box with these words behind all that belongs to the list.
fn add_box(text: &str, words: &str) -> Result<String, String> {
    let doc = Doc::new(text);
    let task = read_task(text);
    let root = last_root(&task)?;
    let root_line = root.line as usize - 1;
    let indent = indent_columns(doc.line(root_line));
    let last = task
        .criteria
        .last()
        .map_or(root_line, |one| one.line as usize - 1);
    let rest = paragraph_end(&doc, last)..doc.line_count();
    let is_blank = |line: usize| doc.kind_of_line(line) == LineKind::Blank;
    let own = |line: &usize| is_blank(*line) || indent_columns(doc.line(*line)) > indent;
    // What is deeper belongs to the item; blank lines at its end do not.
    let below = rest.clone().take_while(own);
    let below = below.filter(|line| !is_blank(*line)).last();
    let end = below.map_or(rest.start, |line| line + 1);
    let marker = &text[doc.line_start(root_line)..root.tick.start - 1];
    let newline = doc.newline();
    let new = format!("{}[ ] {words}", next_marker(marker));
    let at = match end < doc.line_count() {
        true => doc.line_start(end),
        false => text.len(),
    };
    let is_cut = at > 0 && !text[..at].ends_with('\n');
    let written = match is_cut {
        true => insert_at(text, at, &format!("{newline}{new}")),
        false => insert_at(text, at, &format!("{new}{newline}")),
    };
    // Another box may be read otherwise with it.
    let read = read_task(&written);
    let line = to_u32(end + 1);
    let (added, others): (Vec<&Criterion>, Vec<&Criterion>) =
        read.criteria.iter().partition(|one| one.line == line);
    let is_alone = matches!(added.as_slice(), [one] if one.parent.is_none());
    let ids = others.iter().map(|one| &one.id);
    if is_alone && read.dialect == task.dialect && ids.eq(task.criteria.iter().map(|one| &one.id)) {
        Ok(written)
    } else {
        Err("the list has no place for it".to_owned())
    }
}

/// The mark of the list item behind one: the next number, or the same mark.
fn next_marker(marker: &str) -> String {
    match split_number(marker.trim_end().trim_end_matches(['.', ')'])) {
        Some((head, number, _)) => {
            let rest = &marker[marker.trim_end().trim_end_matches(['.', ')']).len()..];
            format!("{head}{}{rest}", number + 1)
        }
        None => marker.to_owned(),
    }
}

/// A text that ends in a number that can be counted on: what stands before it, the number,
/// how long it is.
fn split_number(text: &str) -> Option<(&str, u64, usize)> {
    let head = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &text[head.len()..];
    let number = digits.parse().ok().filter(is_countable)?;
    Some((head, number, digits.len()))
}

fn is_countable(number: &u64) -> bool {
    *number < u64::MAX
}

/// How a list that numbers its items begins the next one; nothing where it does not.
fn next_id(text: &str, task: &TaskFile, last: &Criterion) -> String {
    let words = words_of_line(text, last);
    if words.starts_with("**[") {
        let numbers = task.criteria.iter().filter_map(|one| one.written_number);
        let next = numbers
            .filter(is_countable)
            .max()
            .map_or(1, |last| last + 1);
        return format!("**[{next}]** ");
    }
    if task.dialect == Dialect::Conductor {
        return "Task: ".to_owned();
    }
    let id_of = |text: &str| split_id(task.dialect, text).map(|words| words.id.to_owned());
    let Some(WordsWithId { open, id, rest }) = split_id(task.dialect, words) else {
        return String::new();
    };
    let bare = |id: &str| {
        id.trim_end_matches(|c: char| c.is_ascii_lowercase())
            .to_owned()
    };
    let last = bare(id);
    let Some((head, _, width)) = split_number(&last) else {
        return String::new();
    };
    let ids = task.criteria.iter().filter_map(|one| id_of(&one.text));
    let ids: Vec<String> = ids.map(|id| bare(&id)).collect();
    let alike = ids.iter().filter_map(|id| split_number(id));
    let alike = alike.filter(|(other, _, _)| *other == head);
    let next = alike
        .map(|(_, number, _)| number)
        .max()
        .map_or(1, |last| last + 1);
    // Emphasis that goes on behind the id is of the words of that item.
    let (open, rest) = match rest.strip_prefix(open) {
        Some(rest) => (open, rest),
        None => ("", rest),
    };
    format!("{open}{head}{next:0width$}{open}{}", separator(rest))
}

/// The words of an item that begin with an id.
struct WordsWithId<'w> {
    /// The signs of emphasis before the id.
    open: &'w str,
    id: &'w str,
    rest: &'w str,
}

fn split_id(dialect: Dialect, words: &str) -> Option<WordsWithId<'_>> {
    let id = dialect.find_id(words).or_else(|| ids::leading_id(words))?;
    let (open, rest) = words.split_once(id)?;
    let is_first = open.trim_start_matches(ids::EMPHASIS).is_empty();
    is_first.then_some(WordsWithId { open, id, rest })
}

/// What stands between an id and the words behind it.
fn separator(rest: &str) -> &str {
    let words = rest.trim_start_matches(['.', ':', '-', '–', '—', ' ', '\t']);
    &rest[..rest.len() - words.len()]
}

/// The text of a list in which an item has other words, and no other change.
pub(super) fn edit_item(text: &str, row: &ItemRow, patch: &ItemPatch) -> Result<String, String> {
    let ItemPatch {
        title,
        prompt,
        check,
        priority,
        labels,
        depends_on,
    } = patch;
    refuse_unsaid(&[
        (prompt.is_some(), "details"),
        (check.is_some(), "a check of its own"),
        (priority.is_some(), "a priority"),
        (labels.is_some(), "labels"),
        (depends_on.is_some(), "what it waits for"),
    ])?;
    let Some(title) = title else {
        return Ok(text.to_owned());
    };
    let task = read_task(text);
    let rows = match_rows(&[row], &task);
    let at = rows.iter().position(Option::is_some);
    let criterion = at.and_then(|at| task.criteria.get(at));
    let criterion = criterion.ok_or("the file does not have the item")?;
    let doc = Doc::new(text);
    let line = criterion.line as usize - 1;
    if paragraph_end(&doc, line) > line + 1 {
        return Err("its words go over several lines; change them in the file".to_owned());
    }
    let words = words_of_line(text, criterion);
    let kept = kept_prefix(task.dialect, words);
    let rest = &words[kept..];
    let end = rest
        .find(GROUP)
        .map_or(rest.len(), |at| rest[..at].trim_end().len());
    // Emphasis that began before the id ends where it ended.
    let is_open = words[..kept].matches("**").count() % 2 == 1;
    let is_closed_last = is_open && rest[..end].ends_with("**");
    let end = end - if is_closed_last { 2 } else { 0 };
    let start = words_start(text, criterion) + kept;
    Ok(replace_range(text, start..start + end, title))
}

/// How many bytes of the words of an item are its id and its labels: `T012 [P] `.
fn kept_prefix(dialect: Dialect, words: &str) -> usize {
    let bracketed = words
        .strip_prefix("**[")
        .and_then(|rest| rest.split_once("]**"));
    let rest = match (bracketed, split_id(dialect, words)) {
        (Some((_, rest)), _) => rest,
        (None, Some(WordsWithId { open, rest, .. })) => rest.strip_prefix(open).unwrap_or(rest),
        (None, None) if dialect == Dialect::Conductor => match words.split_once("Task:") {
            Some((open, rest)) if open.trim_start_matches(ids::EMPHASIS).is_empty() => {
                rest.strip_prefix(open).unwrap_or(rest)
            }
            Some(_) | None => return 0,
        },
        (None, None) => return 0,
    };
    let mut kept = words.len() - rest.len() + separator(rest).len();
    while let Some((_, rest)) = words[kept..]
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .filter(|(label, _)| is_label(label))
    {
        kept = words.len() - rest.len();
    }
    kept
}

/// Whether a word in brackets is a label, as `P` and `US1`: others are words of a person.
fn is_label(word: &str) -> bool {
    let is_own = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(is_own)
}

#[cfg(test)]
mod tests {
    use piton_core::ItemState;

    use super::*;

    fn new(title: &str) -> NewItem {
        NewItem {
            title: title.to_owned(),
            ..NewItem::default()
        }
    }

    /// Adds an item, and gives back the lines that are new.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let written = write_new_item(text, &new("Ship it")).expect("it is added");
        let at = text
            .lines()
            .zip(written.lines())
            .take_while(|(a, b)| a == b)
            .count();
        let added: Vec<&str> = written.lines().skip(at).take(1).collect();
        assert_eq!(added, [expected], "{written}");
        let rest: Vec<&str> = written.lines().skip(at + 1).collect();
        assert_eq!(rest, text.lines().skip(at).collect::<Vec<_>>(), "{written}");
        let planned = plan_new_item(Some(text), &new("Ship it")).expect("it is planned");
        assert_eq!(planned.state, ItemState::Ready);
    }

    #[test]
    fn a_box_is_added_as_its_like_are_written() {
        check("- [x] One\n- [ ] Two\n", "- [ ] Ship it");
        check(
            "# A\n\n* [x] One\n  more of it\n\n  At length.\n\nThe end.\n",
            "* [ ] Ship it",
        );
        check("1. [x] One\n2. [ ] Two\n", "3. [ ] Ship it");
        check("- [ ] One\n  - [ ] Inner\n", "- [ ] Ship it");
        check(
            "- [ ] **[1]** One\n- [ ] **[2]** Two\n",
            "- [ ] **[3]** Ship it",
        );
        check("- [ ] AC-09: One\n", "- [ ] AC-10: Ship it");
        check("- [ ] One", "- [ ] Ship it");
        check(
            "## Phase 1\n- [x] T001 One\n- [ ] T002 [P] Two\n\n## Notes\n\nNone.\n",
            "- [ ] T003 Ship it",
        );
        check(
            "## 1. Core\n- [x] 1.1 One\n## 2. More\n- [ ] 2.1 Two\n- [ ] 2.2 Three\n",
            "- [ ] 2.3 Ship it",
        );
        check(
            "# Implementation Plan\n\n- [ ] 1. One\n  - Details\n- [ ] 2. Two\n  - [ ] 2.1 Part\n    - _Requirements: 1.1_\n",
            "- [ ] 3. Ship it",
        );
        check(
            "- [ ] Task: One\n    - [ ] Inner\n- [x] Task: Two\n",
            "- [ ] Task: Ship it",
        );
        check(
            "- [x] **T001** One\n- [ ] **T002** [P] Two\n",
            "- [ ] **T003** Ship it",
        );
        check(
            "- [x] **AC-1: One**\n- [ ] **AC-2: Two**\n",
            "- [ ] AC-3: Ship it",
        );
    }

    #[test]
    fn a_number_that_cannot_be_counted_on_is_no_id_to_count_from() {
        let lonely = "- [ ] T18446744073709551615 last\n";
        assert!(write_new_item(lonely, &new("Ship it")).is_err());
        check(
            "- [ ] T18446744073709551615 last\n- [ ] T002 two\n",
            "- [ ] T003 Ship it",
        );
        check(
            "- [ ] **[18446744073709551615]** last\n",
            "- [ ] **[1]** Ship it",
        );
    }

    #[test]
    fn what_a_line_cannot_say_is_refused() {
        let with_check = NewItem {
            check: Some("make".to_owned()),
            ..new("Ship it")
        };
        let why = write_new_item("- [ ] One\n", &with_check).expect_err("no place");
        assert!(why.contains("a check of its own"), "{why}");
        assert!(write_new_item("No list.\n", &new("Ship it")).is_err());
    }

    #[test]
    fn the_id_and_the_labels_of_an_item_stay() {
        for (dialect, words, kept) in [
            (
                Dialect::SpecKit,
                "T012 [P] [US1] Wire it",
                "T012 [P] [US1] ",
            ),
            (Dialect::OpenSpec, "1.1 Wire it", "1.1 "),
            (Dialect::Kiro, "3. Wire it", "3. "),
            (Dialect::Plain, "AC-3: Wire it", "AC-3: "),
            (Dialect::Plain, "**[3]** Wire it", "**[3]** "),
            (Dialect::Plain, "Wire it", ""),
            (Dialect::SpecKit, "T012 [see docs](a) do [x] now", "T012 "),
            (Dialect::SpecKit, "T012 [P] [see docs] it", "T012 [P] "),
            (Dialect::SpecKit, "T012 [x] now", "T012 "),
            (Dialect::SpecKit, "**T012** [P] Wire it", "**T012** [P] "),
            (Dialect::Plain, "**T01: Wire it**", "**T01: "),
            (Dialect::Conductor, "Task: Wire it", "Task: "),
            (Dialect::Conductor, "**Task:** Wire it", "**Task:** "),
        ] {
            assert_eq!(&words[..kept_prefix(dialect, words)], kept, "{words}");
        }
    }
}
