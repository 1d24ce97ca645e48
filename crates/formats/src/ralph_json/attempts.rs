//! An entry of a progress file as an attempt of the core, and back.

use piton_core::attempt::{Outcome, ProgramReport, Report, ReportedAttempt, ReportedChanges};
use piton_core::id::{Node as Item, RunId};
use piton_core::name::slug;

use super::element::{ENTRY, RalphEntry};
use super::shape::FACE;
use crate::json::is_same_json;
use crate::native_file::FILE_AGENT;
use crate::record::{node_of_record, read_lenient};
use crate::shape::Pattern;
use crate::shape_merge::{attempt_id_of_digest, digest, id_of_element, native_of_element};
use crate::tree::ValueNode;

/// Greater numbers were not counted.
pub(super) const NUMBER_MAX: u64 = 1_000_000_000;

impl RalphEntry {
    fn from_node(node: &ValueNode) -> Option<Self> {
        read_lenient(node, &ENTRY.shape)
    }

    fn number(&self) -> Option<u32> {
        let number = self.iteration.filter(|number| *number <= NUMBER_MAX)?;
        u32::try_from(number).ok()
    }

    fn item(&self) -> Option<&String> {
        self.prd_id.as_ref().filter(|prd_id| !prd_id.is_empty())
    }

    /// The id of an entry, or the one that its item and number make.
    fn name(&self) -> Option<String> {
        let derived = || Some(format!("{}-{}", slug(self.item()?), self.number()?));
        let id = self.id.clone().filter(|id| !id.is_empty());
        id.or_else(derived)
    }
}

/// What an entry is known by.
pub(super) fn name_of_entry(node: &ValueNode) -> Option<String> {
    id_of_element(node)
        .filter(|id| !id.is_empty())
        .or_else(|| RalphEntry::from_node(node)?.name())
}

/// The attempt that an entry tells of; `None` when nothing would name it.
pub(super) fn attempt_of_entry(text: &str, node: &ValueNode) -> Option<ReportedAttempt> {
    let entry = RalphEntry::from_node(node)?;
    let number = entry.number();
    let name = entry.name()?;
    let item = entry.item().cloned();
    let item = item.unwrap_or_else(|| match name.rsplit_once('-') {
        Some((item, digits)) if !item.is_empty() && digits.parse::<u64>().is_ok() => {
            item.to_owned()
        }
        Some(_) | None => name.clone(),
    });
    let raw = text.get(node.span.start..node.span.end).unwrap_or_default();
    let mut told = ReportedAttempt {
        attempt: attempt_id_of_digest(digest(&[FACE, &name, raw])),
        run: RunId::PROJECT,
        node: Item::child(None, &item, 1),
        item,
        number,
        name: Some(name),
        agent: FILE_AGENT.to_owned(),
        ended_at: entry.timestamp,
        report: Box::new(report_of_entry(entry)),
        native: None,
    };
    // What the typed form cannot say is kept as it stands, and so is a name
    // that would not be given here.
    let has_own_form = !Pattern::EntryId.is_match(told.name.as_deref().unwrap_or_default());
    if has_own_form || !is_same_json(&node_of_record(&entry_of_reported_attempt(&told)), node) {
        told.native = native_of_element(text, node, FACE);
    }
    Some(told)
}

fn report_of_entry(entry: RalphEntry) -> Report {
    // The outcome of an attempt with an unknown status is not known.
    let outcome = entry.status.as_deref().and_then(outcome_of_status);
    Report {
        summary: entry.summary,
        observations: entry.observations.unwrap_or_default(),
        context: entry.context,
        changes: ReportedChanges {
            files: entry.files,
            commits: entry.commits,
            ..ReportedChanges::default()
        },
        program: ProgramReport {
            duration_s: entry.duration_s,
            ..ProgramReport::default()
        },
        ..Report::with_outcome(outcome.unwrap_or(Outcome::Interrupted))
    }
}

fn outcome_of_status(word: &str) -> Option<Outcome> {
    let known = [
        Outcome::Completed,
        Outcome::Failed,
        Outcome::Blocked,
        Outcome::Partial,
    ];
    known.into_iter().find(|outcome| outcome.as_str() == word)
}

/// What an attempt says that was taken from a file: nothing is filled in.
pub(super) fn entry_of_reported_attempt(told: &ReportedAttempt) -> RalphEntry {
    RalphEntry {
        id: Some(told.name.clone().unwrap_or_default()),
        timestamp: told.ended_at,
        prd_id: Some(told.item.clone()),
        iteration: told.number.map(u64::from),
        duration_s: told.report.program.duration_s,
        summary: told.report.summary.clone(),
        ..entry_of_report(&told.report)
    }
}

pub(super) fn entry_of_report(report: &Report) -> RalphEntry {
    RalphEntry {
        status: Some(status_of_outcome(report.outcome).to_owned()),
        observations: Some(report.observations.clone()),
        files: report.changes.files.clone(),
        commits: report.changes.commits.clone(),
        context: report.context.clone(),
        ..RalphEntry::default()
    }
}

fn status_of_outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed | Outcome::Interrupted => "failed",
        Outcome::Blocked | Outcome::NeedsHuman => "blocked",
        Outcome::Partial => "partial",
    }
}
