//! The phases of a run before its issues, as items, and the words `phase` and
//! `phase_status`, which follow from where the items stand.

use jiff::Timestamp;
use piton_core::attempt::HumanNeeded;
use piton_core::evidence::{ClaimOverrides, Worth};
use piton_core::plan::{ImportedItemHistory, PlannedItem};
use piton_core::{DecisionKind, Edit, ItemRow, ItemState, Node, RunId, RunRow, RunState, Tables};

use super::native::state_of_native;
use super::phase_item::{
    PHASES, PhaseItem, PhaseNative, SCOPING_DOC, TASKS, item_of_phase, node_of_id, phase_of_item,
};
use super::read::parse_state;
use super::state::{FACE, Phase, PhaseStatus, PhaseTimes, SdlcState};
use crate::native::pack;
use crate::plan_file::{PlanChanges, ShownRun, file_items, planned_item};
use crate::problem::{Problem, SourceText};
use crate::tree::Span;

/// The phase from which on a state has items: that in which it is. None where its
/// issues are worked on already; what is over is not made up.
pub(super) fn first_open_phase(state: &SdlcState) -> Option<Phase> {
    let is_begun = !state.issues.is_empty();
    let mut phase = state.phase.or((!is_begun).then_some(Phase::Bootstrap))?;
    if state.phase_status == Some(PhaseStatus::Completed) {
        phase = Phase::ALL.iter().copied().find(|next| *next > phase)?;
    }
    item_of_phase(phase).map(|item| item.phase)
}

/// Whether a text is a path from the folder of the file.
fn is_relative_path(text: &str) -> bool {
    let is_elsewhere = text.starts_with(['/', '~']) || text.contains("://");
    !is_elsewhere && !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Where an agent writes what comes of a phase: where the file of the run says, if that
/// is a path beside it.
fn output_path(item: &PhaseItem, state: &SdlcState) -> Option<String> {
    let usual = item.role.as_ref()?.artifact?;
    let named = state.scoping_doc.as_deref().map(str::trim);
    let named = named.filter(|_| item.phase == Phase::Design);
    let is_beside =
        |path: &&str| is_relative_path(path) && !path.split('/').any(|part| part == "..");
    Some(named.filter(is_beside).unwrap_or(usual).to_owned())
}

/// Where that lies. What the file of the run names is meant as long as no agent has
/// worked on the phase.
fn artifact_path(item: &PhaseItem, state: &SdlcState, attempts: u32) -> Option<String> {
    let named = match item.phase {
        Phase::Design => state.scoping_doc.as_ref(),
        Phase::Planning => state.pert.as_ref(),
        Phase::Bootstrap | Phase::Tracking | Phase::Executing | Phase::Completed => None,
    };
    let named = named.filter(|text| attempts == 0 && !text.trim().is_empty());
    named.cloned().or_else(|| output_path(item, state))
}

/// Where what comes of an item lies; none where it is no phase that writes something.
pub(super) fn artifact_of_item(run: &RunRow, row: &ItemRow) -> Option<String> {
    artifact_path(
        phase_of_item(row)?,
        &state_of_native(run.plan.native.as_ref()),
        row.attempts,
    )
}

/// A text of a file as a path from where the path of that file begins, if it is one.
pub(super) fn path_from_file(file: &str, text: &str) -> String {
    path_below(folder_of_source(file), text)
}

fn path_below(folder: &str, text: &str) -> String {
    match folder {
        "" => text.to_owned(),
        _ if !is_relative_path(text) => text.to_owned(),
        folder => format!("{folder}/{text}"),
    }
}

/// What stands for what in the prompt of a phase. Paths are those from the root of the
/// work tree, where the agent is.
struct PromptValues {
    requirements: String,
    design: String,
    scoping_doc: String,
    tasks: String,
}

impl PromptValues {
    /// What a state says, where its file lies in `folder`.
    fn of_state(state: &SdlcState, folder: &str) -> Self {
        let path = |text: &str| path_below(folder, text);
        let named = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim);
            let text = text.filter(|text| !text.is_empty());
            text.map(|text| format!("`{}`", path(text)))
        };
        let scoping_doc = item_of_phase(Phase::Design).and_then(|item| output_path(item, state));
        let scoping_doc = path(scoping_doc.as_deref().unwrap_or(SCOPING_DOC));
        let requirements = named(&state.prd_url);
        let own = format!("`{scoping_doc}`");
        Self {
            requirements: requirements
                .unwrap_or_else(|| "the place that the file of the run names".to_owned()),
            design: match named(&state.scoping_doc).filter(|named| *named != own) {
                // It was designed elsewhere, and may be designed again here.
                Some(named) => format!("{own} where that is there, else {named}"),
                None => own,
            },
            tasks: path(TASKS),
            scoping_doc,
        }
    }

    fn fill(&self, prompt: &str) -> String {
        prompt
            .replace("{requirements}", &self.requirements)
            .replace("{design}", &self.design)
            .replace("{scoping_doc}", &self.scoping_doc)
            .replace("{tasks}", &self.tasks)
    }
}

/// Fills the holes of a text that a project has in the place of a prompt.
pub(super) fn fill_prompt(run: &RunRow, text: &str) -> String {
    let state = state_of_native(run.plan.native.as_ref());
    PromptValues::of_state(&state, folder_of_source(&run.plan.source)).fill(text)
}

/// The folder of the file of a run; empty where that is the project itself.
fn folder_of_source(source: &str) -> &str {
    source.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The phases that are over in a text, as items.
pub(super) fn finished_phases_in(text: &str) -> Vec<Node> {
    let Some(state) = parse_state(SourceText { name: "", text }).0 else {
        return Vec::new();
    };
    let first = first_open_phase(&state);
    let over = PHASES.iter();
    let over = over.filter(|item| first.is_none_or(|first| item.phase < first));
    over.map(|item| node_of_id(item.phase.as_str())).collect()
}

/// The phases that are not over, as items. `source` is the path of the file.
pub(super) fn planned_phases(state: &SdlcState, source: &str) -> Vec<PlannedItem> {
    let Some(first) = first_open_phase(state) else {
        return Vec::new();
    };
    let holes = PromptValues::of_state(state, folder_of_source(source));
    let open = PHASES.iter().filter(|item| item.phase >= first);
    let mut before = None;
    open.map(|item| {
        let depends_on = before.replace(node_of_id(item.phase.as_str()));
        PlannedItem {
            depends_on: depends_on.into_iter().collect(),
            ..planned_phase(item, state, &holes)
        }
    })
    .collect()
}

fn planned_phase(item: &PhaseItem, state: &SdlcState, holes: &PromptValues) -> PlannedItem {
    let name = item.phase.as_str();
    let is_first = Some(item.phase) == first_open_phase(state);
    let is_own = is_first && state.phase == Some(item.phase);
    let has_gate = item.role.is_some();
    let status = state.phase_status.filter(|_| is_own);
    let item_state = match status {
        Some(PhaseStatus::AwaitingApproval) if has_gate => ItemState::Waiting,
        Some(PhaseStatus::AwaitingHuman) => ItemState::Waiting,
        _ if is_first => ItemState::Ready,
        _ => ItemState::Pending,
    };
    let human = (status == Some(PhaseStatus::AwaitingHuman)).then(|| HumanNeeded {
        reason: format!("{name} waits for a person"),
        details: None,
    });
    let times = state.metrics.phases.iter();
    let began = times
        .filter(|(phase, _)| *phase == item.phase)
        .find_map(|(_, times)| times.started_at.as_ref()?.parse().ok());
    let native = PhaseNative {
        is_phase: true,
        title: item.title.to_owned(),
    };
    PlannedItem {
        prompt: Some(holes.fill(item.prompt)),
        approval: has_gate,
        // Whether the file is there is looked at, and the person who approves sees it.
        claims: ClaimOverrides {
            changed: Some(Worth::Accept),
            word: Some(Worth::Accept),
            weakened: None,
        },
        native: Some(pack(FACE, &native)),
        past: ImportedItemHistory {
            human,
            started_at: began,
            ..ImportedItemHistory::default()
        },
        ..planned_item(name, item_state)
    }
}

/// How a run stands, in the words of the file.
pub(super) type PhaseStanding = (Phase, PhaseStatus);

/// The items of a run that are issues.
pub(super) fn issue_rows(tables: &Tables, run: RunId) -> impl Iterator<Item = &ItemRow> {
    file_items(tables, run).filter(|row| phase_of_item(row).is_none())
}

/// The phases of a run that are items.
pub(super) fn phase_rows(
    tables: &Tables,
    run: RunId,
) -> impl Iterator<Item = (&'static PhaseItem, &ItemRow)> {
    file_items(tables, run).filter_map(|row| Some((phase_of_item(row)?, row)))
}

/// The phases behind one that came to something or to nothing, the last first.
pub(super) fn finished_later_phases(tables: &Tables, row: &ItemRow) -> Vec<Node> {
    let Some(first) = phase_of_item(row) else {
        return Vec::new();
    };
    let after = phase_rows(tables, row.run).filter(|(item, _)| item.phase > first.phase);
    let is_over = |at: &ItemRow| {
        let waits = at.state == ItemState::Waiting && at.people.human.is_some();
        waits || at.state.is_finished() || at.state.is_broken()
    };
    let over = after.filter(|(_, at)| is_over(at));
    let mut nodes: Vec<Node> = over.map(|(_, at)| at.node.clone()).collect();
    nodes.reverse();
    nodes
}

/// How a run stands; none as long as no runner has worked on it here, nothing blocks
/// the work, and its file alone says so.
pub(super) fn phase_standing(tables: &Tables, row: &RunRow) -> Option<PhaseStanding> {
    let run = row.id;
    let mut has_phases = false;
    for (item, at) in phase_rows(tables, run) {
        has_phases = true;
        if !at.state.is_finished() {
            return Some((item.phase, phase_status_of(tables, at)));
        }
    }
    if !has_phases && row.invocation.invocations == 0 && row.state == RunState::New {
        return None;
    }
    let mut open = issue_rows(tables, run).filter(|row| !row.state.is_finished());
    let Some(first) = open.next() else {
        let is_over = issue_rows(tables, run).next().is_some();
        return Some(match is_over {
            true => (Phase::Completed, PhaseStatus::Completed),
            false => (Phase::Executing, PhaseStatus::InProgress),
        });
    };
    let is_left = |row: &ItemRow| match row.state {
        ItemState::Ready | ItemState::Working => true,
        ItemState::Waiting => row.people.human.is_none(),
        ItemState::Pending | ItemState::Failed | ItemState::Blocked => false,
        ItemState::Done | ItemState::Skipped | ItemState::Dropped => false,
    };
    let goes_on = is_left(first) || open.any(is_left);
    let status = match goes_on {
        true => PhaseStatus::InProgress,
        false => PhaseStatus::AwaitingHuman,
    };
    Some((Phase::Executing, status))
}

fn phase_status_of(tables: &Tables, row: &ItemRow) -> PhaseStatus {
    let mut open = tables.open_decisions(row.run);
    let is_asked = |kind: DecisionKind| kind == DecisionKind::Approval;
    let is_approval = open.any(|one| is_asked(one.kind) && one.node.as_ref() == Some(&row.node));
    match row.state {
        ItemState::Waiting if is_approval => PhaseStatus::AwaitingApproval,
        ItemState::Waiting if row.people.human.is_none() => PhaseStatus::InProgress,
        ItemState::Waiting | ItemState::Failed | ItemState::Blocked => PhaseStatus::AwaitingHuman,
        ItemState::Pending
        | ItemState::Ready
        | ItemState::Working
        | ItemState::Done
        | ItemState::Skipped
        | ItemState::Dropped => PhaseStatus::InProgress,
    }
}

/// Writes into a state what follows from where the items stand: the phase, what
/// the phases made, and how long they took.
pub(super) fn write_phases(state: &mut SdlcState, tables: &Tables, row: &RunRow) {
    let Some((phase, status)) = phase_standing(tables, row) else {
        return;
    };
    state.phase = Some(phase);
    state.phase_status = Some(status);
    let run = row.id;
    let found = phase_rows(tables, run)
        .next()
        .is_some_and(|(_, first)| first.state.is_finished());
    if found {
        // What piton found out stands in the journal first.
        for (repo, language) in state_of_native(row.plan.native.as_ref()).languages {
            if !state.languages.iter().any(|(have, _)| *have == repo) {
                state.languages.push((repo, language));
            }
        }
    }
    if state.metrics.started_at.is_none() {
        state.metrics.started_at = row.started_at.map(format_time);
    }
    let mut began = None;
    for (item, at) in phase_rows(tables, run) {
        let is_made = at.state == ItemState::Done
            || (item.phase == phase && status == PhaseStatus::AwaitingApproval);
        let artifact = artifact_path(item, state, at.attempts);
        let path = match item.phase {
            Phase::Design => Some(&mut state.scoping_doc),
            Phase::Planning => Some(&mut state.pert),
            Phase::Bootstrap | Phase::Tracking | Phase::Executing | Phase::Completed => None,
        };
        if let Some((path, artifact)) = path.zip(artifact).filter(|_| is_made) {
            *path = Some(artifact);
        }
        let ended = at.completed_at.filter(|_| at.state.is_finished());
        note_phase_times(state, item.phase, at.started_at.or(ended), ended);
        began = ended;
    }
    if phase < Phase::Executing {
        return;
    }
    let has_phases = phase_rows(tables, run).next().is_some();
    let began = if has_phases { began } else { row.started_at };
    let last = issue_rows(tables, run)
        .filter_map(|row| row.completed_at)
        .max();
    let ended = last.filter(|_| phase == Phase::Completed);
    note_phase_times(state, Phase::Executing, began, ended);
}

/// Notes when a phase began and ended. When it began stays as it stands there.
fn note_phase_times(
    state: &mut SdlcState,
    phase: Phase,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
) {
    let have = state.metrics.phases.iter().position(|(of, _)| *of == phase);
    let before = have.and_then(|at| state.metrics.phases[at].1.started_at.clone());
    let Some(started_at) = before.or(began.map(format_time)) else {
        return;
    };
    let mut times = PhaseTimes {
        started_at: Some(started_at),
        ended_at: ended.map(format_time),
        duration_s: None,
    };
    times.duration_s = times.ended_at.as_ref().and(times.seconds());
    match have {
        Some(at) => state.metrics.phases[at].1 = times,
        None => state.metrics.phases.push((phase, times)),
    }
}

/// A time to the second, as such files have it.
pub(super) fn format_time(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second());
    whole.unwrap_or(time).to_string()
}

/// The edits that a changed phase in the file means, seen from `base`, which piton wrote.
pub(super) fn collect_phase_edits(
    base: &SdlcState,
    theirs: &SdlcState,
    shown: ShownRun<'_>,
    span: Span,
    found: &mut PlanChanges,
) {
    let ShownRun { file, tables, run } = shown;
    let Some(row) = tables.run(run) else {
        return;
    };
    let now = (theirs.phase, theirs.phase_status);
    let is_so = phase_standing(tables, row)
        .is_none_or(|(phase, status)| now == (Some(phase), Some(status)));
    if now == (base.phase, base.phase_status) || is_so {
        return;
    }
    let at = |phase: Phase| phase_rows(tables, row.id).find(|(item, _)| item.phase == phase);
    if let (Some(from), Some(to)) = (base.phase, theirs.phase) {
        // What waits for a person is over when a person says so.
        let waits = [PhaseStatus::AwaitingApproval, PhaseStatus::AwaitingHuman];
        let gate = at(from).filter(|_| base.phase_status.is_some_and(|it| waits.contains(&it)));
        let is_next = Phase::ALL.iter().find(|phase| **phase > from) == Some(&to);
        let is_over = to == from && theirs.phase_status == Some(PhaseStatus::Completed);
        if let Some((_, gate)) = gate.filter(|_| is_next || is_over) {
            return found.edits.push(set_state_edit(gate, ItemState::Done));
        }
        if let Some((_, again)) = at(to).filter(|(_, at)| to < from && at.state.is_finished()) {
            let after = finished_later_phases(tables, again);
            let nodes = after.into_iter().chain([again.node.clone()]);
            let to = ItemState::Pending;
            return found
                .edits
                .extend(nodes.map(|node| Edit::SetState { node, to }));
        }
    }
    let says = |phase: Option<Phase>, status: Option<PhaseStatus>| {
        let phase = phase.map_or("no phase", Phase::as_str);
        status.map_or_else(|| phase.to_owned(), |status| format!("{phase} ({status})"))
    };
    let message = format!(
        "`phase` was changed to {}, and piton had written {}: it follows from what is done, and is written again",
        says(theirs.phase, theirs.phase_status),
        says(base.phase, base.phase_status),
    );
    let hint =
        "approve what waits with `piton decide`, or leave an issue out with `piton plan skip ID`";
    found
        .problems
        .push(Problem::warning("PHASE_FOLLOWS", file, "phase", span).with_message(message, hint));
}

fn set_state_edit(row: &ItemRow, to: ItemState) -> Edit {
    Edit::SetState {
        node: row.node.clone(),
        to,
    }
}
