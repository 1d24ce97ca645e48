//! The plans in a roadmap.

use std::collections::HashSet;

use crate::markdown::{Doc, Heading, LineKind, parse_marker};
use crate::plan_format::{FilesBeside, PlanContext};
use crate::problem::{Problem, SourceText};
use crate::status_list::{ItemList, ListedItem, ListedStatus, StatusMark};
use crate::tree::ValueNode;
use crate::{task, yaml};

/// The name of this format.
pub(super) const FACE: &str = "gsd-roadmap";

/// A line of a plan.
struct PlanLine<'t> {
    line: usize,
    /// `25-01`.
    id: &'t str,
    /// Bytes into the line: what stands in the box, if there is one.
    mark: char,
    mark_at: usize,
    words: &'t str,
}

/// What a roadmap has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoadmapLayout {
    /// Plans.
    Plans,
    /// Phases without plans.
    Phases,
    /// Something else.
    Foreign,
}

/// Tells what a text is, by its content.
pub(super) fn detect_layout(text: &str) -> RoadmapLayout {
    let doc = Doc::new(text);
    let mut lines = (0..doc.line_count()).map(|line| doc.line(line));
    if find_plans(&doc).next().is_some() {
        return RoadmapLayout::Plans;
    }
    let is_phase = |line: &str| {
        let words = line.trim_start_matches(['-', '*', '#', ' ']);
        let words = words.trim_start_matches(['[', ']', 'x', ' ', '*']);
        words.starts_with("Phase ") && words[6..].starts_with(|c: char| c.is_ascii_digit())
    };
    match lines.any(is_phase) {
        true => RoadmapLayout::Phases,
        false => RoadmapLayout::Foreign,
    }
}

fn find_plans<'d>(doc: &'d Doc<'d>) -> impl Iterator<Item = PlanLine<'d>> {
    let lines = (0..doc.line_count()).filter(|line| doc.kind_of_line(*line) == LineKind::Text);
    lines.filter_map(|line| parse_plan_line(doc.line(line), line))
}

/// `- [ ] 25-01-PLAN.md — words`, or `- [ ] 25-01: words` of a plan that is not written.
fn parse_plan_line(text: &str, line: usize) -> Option<PlanLine<'_>> {
    let content = parse_marker(text)?.content;
    let rest = text.get(content..)?.strip_prefix('[')?;
    let mark = rest.chars().next()?;
    let rest = rest[mark.len_utf8()..].strip_prefix(']')?.trim_start();
    let rest = rest.trim_start_matches(['*', '`']);
    let end = rest.find(|c: char| !(c.is_ascii_digit() || "-.".contains(c)))?;
    let id = rest[..end].trim_end_matches(['-', '.']);
    let (phase, number) = id.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_id = phase.split('.').all(is_number) && is_number(number);
    let after = rest[id.len()..].strip_prefix("-PLAN.md");
    let words = match after {
        Some(words) => words,
        None => rest[id.len()..].strip_prefix(':')?,
    };
    let words = words.trim_start_matches(['*', '`', ':', '-', '–', '—', ' ']);
    is_id.then_some(PlanLine {
        line,
        id,
        mark,
        mark_at: content + 1,
        words,
    })
}

/// What the file of a plan says of its order.
#[derive(Default)]
struct PlanHead {
    wave: Option<u64>,
    is_for_person: bool,
}

fn read_head(id: &str, beside: FilesBeside<'_>) -> PlanHead {
    let text = beside.read(&format!("phases/*/{id}-PLAN.md"));
    let text = text.unwrap_or_default();
    let root = task::front_text(&text).and_then(|front| yaml::parse(front).root);
    let Some(root) = root else {
        return PlanHead::default();
    };
    PlanHead {
        wave: root.get("wave").and_then(ValueNode::as_u64).filter(is_wave),
        is_for_person: root.get("autonomous").and_then(ValueNode::as_bool) == Some(false),
    }
}

/// `Wave 2: words` in a line of a roadmap.
fn wave_of_words(words: &str) -> Option<u64> {
    let rest = words.strip_prefix("Wave ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok().filter(is_wave)
}

/// Whether there can be a wave behind this one.
fn is_wave(wave: &u64) -> bool {
    *wave < u64::from(u32::MAX)
}

/// Where a plan comes in the order of work: by the numbers of its phase, then its wave.
type WaveKey = (Vec<u64>, u64);

/// The plans of a roadmap. Phases wait for each other in the order of their numbers, and
/// in a phase one wave for the one before; a plan whose wave nothing says has one of its
/// own, behind the plans above it.
pub(super) fn parse_roadmap(
    source: SourceText<'_>,
    of: PlanContext<'_>,
    problems: &mut Vec<Problem>,
) -> Option<ItemList> {
    let doc = Doc::new(source.text);
    let plans: Vec<PlanLine<'_>> = find_plans(&doc).collect();
    if plans.is_empty() {
        return None;
    }
    let mut seen = HashSet::new();
    let mut items: Vec<(WaveKey, ListedItem)> = Vec::new();
    for plan in plans {
        if !seen.insert(plan.id) {
            let problem =
                Problem::warning("DUPLICATE_ID", source.name, "", doc.line_span(plan.line));
            let message = format!("plan `{}` stands in this roadmap twice", plan.id);
            problems.push(problem.with_message(message, "the first line of it counts"));
            continue;
        }
        let head = read_head(plan.id, of.beside);
        let phase = phase_numbers(plan.id);
        let in_phase = items.iter().filter(|((other, _), _)| *other == phase);
        let behind = in_phase.map(|((_, wave), _)| wave + 1).max().unwrap_or(0);
        let wave = head
            .wave
            .or_else(|| wave_of_words(plan.words))
            .unwrap_or(behind);
        let item = listed_item(&doc, &plan, &head, of.beside, source.name, problems);
        items.push(((phase, wave), item));
    }
    let mut waves: Vec<WaveKey> = items.iter().map(|(key, _)| key.clone()).collect();
    waves.sort();
    waves.dedup();
    let ids_of = |wave: &WaveKey| -> Vec<String> {
        let of_wave = items.iter().filter(|(key, _)| key == wave);
        of_wave.map(|(_, item)| item.id.clone()).collect()
    };
    let ids: Vec<Vec<String>> = waves.iter().map(ids_of).collect();
    let items = items.into_iter().map(|(key, item)| {
        let nth = waves.binary_search(&key).unwrap_or_default();
        ListedItem {
            after: nth
                .checked_sub(1)
                .map_or_else(Vec::new, |before| ids[before].clone()),
            #[expect(clippy::cast_precision_loss, reason = "few waves")]
            priority: nth as f64,
            ..item
        }
    });
    Some(ItemList {
        name: None,
        items: items.collect(),
        ..ItemList::default()
    })
}

/// `[25]` of `25-01`, `[30, 1]` of `30.1-02`.
fn phase_numbers(id: &str) -> Vec<u64> {
    let phase = id.split('-').next().unwrap_or_default();
    phase
        .split('.')
        .filter_map(|part| part.parse().ok())
        .collect()
}

fn listed_item(
    doc: &Doc<'_>,
    plan: &PlanLine<'_>,
    head: &PlanHead,
    beside: FilesBeside<'_>,
    file: &str,
    problems: &mut Vec<Problem>,
) -> ListedItem {
    let id = plan.id;
    let at = doc.line_start(plan.line) + plan.mark_at;
    let span = doc.line_span(plan.line);
    if !"xX ~-".contains(plan.mark) {
        let problem = Problem::warning("UNKNOWN_MARK", file, "", span);
        let message = format!(
            "`[{}]` is no mark that piton knows, so this counts as open",
            plan.mark
        );
        let hint = "write `[x]` if it is done, `[ ]` if it is not";
        problems.push(problem.with_message(message, hint));
    }
    let has_summary = || beside.read(&format!("phases/*/{id}-SUMMARY.md")).is_some();
    let is_done = matches!(plan.mark, 'x' | 'X') || has_summary();
    let above = |heading: &&Heading| heading.line < plan.line;
    let phase = doc.headings.iter().rfind(above);
    let phase = phase.map(|heading| doc.heading_text(heading).trim());
    let phase = phase.filter(|text| text.starts_with("Phase "));
    let number = id.split('-').next().unwrap_or_default();
    ListedItem {
        id: id.to_owned(),
        status: match is_done {
            true => ListedStatus::Done,
            false => ListedStatus::Open,
        },
        title: Some(plan.words.trim().to_owned()).filter(|words| !words.is_empty()),
        words: phase
            .map(|phase| format!("It is a plan of {phase}."))
            .into_iter()
            .chain([format!(
                "Carry out `{id}-PLAN.md`, which lies in the folder of its phase in `phases/` beside the roadmap: its tasks, their checks, and what must be true in the end. Then write `{id}-SUMMARY.md` beside it. Leave the roadmap as it is."
            )])
            .collect(),
        needs_approval: head.is_for_person,
        documents: [
            format!("phases/*/{id}-PLAN.md"),
            format!("phases/*/{number}-CONTEXT.md"),
            format!("phases/*/{number}-RESEARCH.md"),
            "PROJECT.md".to_owned(),
        ]
        .into(),
        mark: Some(StatusMark {
            at: at..at + plan.mark.len_utf8(),
            done: "x".to_owned(),
            open: " ".to_owned(),
        }),
        span,
        ..ListedItem::default()
    }
}
