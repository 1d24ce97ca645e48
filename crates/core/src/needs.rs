//! Which rows a command wants to see, and the rows as they are handed over.

mod select;
mod selector;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::attempt::{Report, ReportedAttempt};
use crate::command::{Command, EditAuthor, ImportPolicy, ImportedFile, ImportedRecord};
use crate::decision::Verb;
use crate::extract::extract_learnings;
use crate::id::{AttemptId, DecisionId, Node, RunId, StreamId};
use crate::journal::Draft;
use crate::memory::{Memory, MemoryKind};
use crate::name::{FreeNumbers, NameRange, Space, slug};
use crate::notification::NotificationSubject;
use crate::plan::Order;
use crate::recall::MemoryDocument;
use crate::standing::StandingCounts;
use crate::tables::Tables;

pub use self::selector::{ColumnCondition, RowQuery, Selector};

/// One wish for rows. A store loads at least what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// One run, without its items.
    Run(RunId),
    /// Every run, without their items.
    Runs,
    /// The run of that name.
    RunNamed(String),
    /// An item and all items above it.
    Line(RunId, Node),
    /// An item and all items below it.
    Subtree(RunId, Node),
    /// All items of a run.
    Tree(RunId),
    /// A run, and all its items where its plan says what becomes of what waits for
    /// an item that failed: that may be any of them.
    FailureTree(RunId),
    /// The items that depend on this one or on one above it, each with what
    /// lies below it and with everything that it depends on.
    Dependents(RunId, Node),
    /// What may be released when this item is finished, or one above it: of the
    /// items that are not finished and stand beside it, or beside one above it,
    /// those up to the second that holds up what stands behind it; each with
    /// what lies below it. And the same of each that depends on one of these,
    /// without what lies below.
    Successors(RunId, Node),
    /// How many items of the run stand how, and of those that wait for a person,
    /// and of those that are broken, the first.
    Standings(RunId),
    /// One attempt.
    Attempt(AttemptId),
    /// The attempts without an outcome: of one run, or of all.
    OpenAttempts(Option<RunId>),
    /// The attempts at one item.
    AttemptsAt(RunId, Node),
    /// All attempts at the items of a run.
    AttemptsOf(RunId),
    /// One decision.
    Decision(DecisionId),
    /// The decision of that number.
    DecisionNumbered(u64),
    /// The open decisions: of one run, or of all.
    OpenDecisions(Option<RunId>),
    /// All decisions of a run, those that were made among them.
    Decisions(RunId),
    /// The number that the next decision will have.
    NextDecision,
    /// The last entries of the sessions by time, at most so many.
    RecentEntries(usize),
    /// The last entry of this type by time, if there is one.
    LastEntry(crate::entry::EntryType),
    /// The blockers of one task.
    Blocker {
        /// Its spec.
        spec: Option<String>,
        /// The task.
        task_id: Option<String>,
    },
    /// All blocked tasks that nothing has completed since.
    Blockers,
    /// When the leases on a run run out.
    Leases(RunId),
    /// A name, and the row that it names.
    Name(Space, String),
    /// The names that begin with this text, without the rows that they name.
    NamesFrom(Space, String),
    /// Every name of a space that begins so, and the rows that they name.
    NamedFrom(Space, String),
    /// The names that begin as those of entries of this second do.
    EntryNames,
    /// Something remembered, by its id.
    Memory(String),
    /// Everything remembered, of one kind or of all.
    Memories(Option<MemoryKind>),
    /// The followed memories that share most with these tokens: among them
    /// stands what says the same, if something does.
    MemoriesNear(Vec<String>),
    /// The numbers that the next memories of each kind will have.
    FreeNumbers,
    /// The last attempts by time that are over, at most so many.
    RecentAttempts(usize),
    /// Every native file that is or was a face.
    Faces,
    /// One of these.
    Face(String),
    /// The last item of a run in tree order, with those above it.
    LastItem(RunId),
    /// The entry at that position of the stream of the sessions.
    Entry(u64),
}

/// What a command must lock and load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The streams that it may append to, in the order in which to lock them.
    pub streams: Vec<StreamId>,
    /// The rows that its decision reads.
    pub rows: Vec<Need>,
}

impl Needs {
    /// Panics, in tests and debug builds, where a decision appends to a stream that
    /// was not declared: a store locks only the heads of those that were.
    pub fn check_streams(&self, drafts: &[Draft]) {
        let undeclared = drafts
            .iter()
            .find(|draft| !self.streams.contains(&draft.stream));
        debug_assert!(
            undeclared.is_none(),
            "`written_streams` does not declare the stream of {undeclared:?}"
        );
    }
}

/// The rows that a decision reads, as they are under the store's lock.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The rows that were asked for, and possibly more.
    pub tables: Tables,
    /// The time by the store's clock, not behind the last event of any locked stream.
    pub now: Timestamp,
    /// The number that the next decision will have.
    pub next_decision: u64,
    /// When the leases on the run run out, by their tokens.
    pub leases: BTreeMap<u64, Timestamp>,
    /// The numbers that the next memories of each kind will have.
    pub free_numbers: [FreeNumbers; crate::memory::KINDS],
    /// Where names begin.
    pub naming: NameRange,
    /// How many items of the run stand how; none where that was not asked for.
    pub standings: Option<StandingCounts>,
}

/// Whether the decision on a command sees all items of its run: what is ready
/// and what waits is looked at anew for each of them then.
pub(crate) fn needs_whole_tree(command: &Command) -> bool {
    match command {
        Command::StartRun { settles, .. } => *settles,
        Command::StepWaits { holds_others, .. } => *holds_others,
        Command::SkipItem { .. }
        | Command::RetryItem { .. }
        | Command::Decide { .. }
        | Command::DecideRequest { .. }
        | Command::Inject { .. }
        | Command::AskForMerge { .. }
        // What is done below it may be to be done again.
        | Command::LoseWork { .. }
        | Command::TakeEdits { .. } => true,
        // Its pieces stand among its siblings, and those move.
        // Rules may add to the plan what its agent asks for.
        Command::EndAttempt { report, .. } => {
            !report.pieces.is_empty() || !report.requests.is_empty()
        }
        Command::PlanRun(_)
        | Command::LogEntry(_)
        | Command::NoteCall(_)
        | Command::TellAttempt(_)
        | Command::AddMemory(_)
        | Command::NoticeMemory { .. }
        | Command::RetireMemory { .. }
        | Command::DoubtMemories(_)
        | Command::EndorseMemories(_)
        | Command::AskAboutUnconfirmed
        | Command::ImportMemories(_)
        | Command::ResolveBlocker { .. }
        | Command::TurnFace { .. }
        | Command::TakeFile(_)
        | Command::AskAboutFile { .. }
        | Command::SettleFile { .. }
        | Command::StartNotification(_)
        | Command::EndNotification { .. }
        | Command::TakeRun { .. }
        | Command::TargetRun { .. }
        | Command::EnterLanes { .. }
        | Command::TakeLane { .. }
        | Command::LeaveLane { .. }
        | Command::StepMerge { .. }
        | Command::StepPullRequest { .. }
        | Command::LandRun { .. }
        | Command::EndLanding { .. }
        | Command::ContinueRun { .. }
        | Command::ReleaseRun { .. }
        | Command::JoinRun { .. }
        | Command::HoldRun { .. }
        | Command::LoseRunner { .. }
        | Command::PauseRun { .. }
        | Command::InterruptRun { .. }
        | Command::AskPause { .. }
        | Command::AskStop { .. }
        | Command::ResumeRun { .. }
        | Command::AskPerson { .. }
        | Command::StartAttempt { .. }
        | Command::AnswerAttempt { .. }
        | Command::StartBaseline { .. }
        | Command::StartGate { .. }
        | Command::EndGate { .. }
        | Command::StartCommit { .. }
        | Command::EndCommit { .. } => false,
    }
}

/// Whether an item may fail by it, as far as its runner goes: then all items are
/// seen where [`Need::FailureTree`] asks for them.
pub(crate) fn can_fail_item(command: &Command) -> bool {
    matches!(
        command,
        Command::EndAttempt { .. }
            | Command::EndGate { .. }
            | Command::EndCommit { .. }
            | Command::StepMerge { .. }
            | Command::StepPullRequest { .. }
    )
}

/// Which rows `command` wants to see.
#[must_use]
pub fn needs_of_command(command: &Command) -> Needs {
    let mut rows = Vec::new();
    if let Some(run) = command.run_id() {
        rows.push(Need::Run(run));
        if needs_whole_tree(command) {
            rows.push(Need::Tree(run));
        }
    }
    match command {
        Command::PlanRun(plan) => {
            rows.push(Need::RunNamed(plan.name.clone()));
            rows.push(Need::NextDecision);
            // Something may have been put off until now, in a run of this kind.
            rows.push(Need::OpenDecisions(None));
            if plan.order == Order::InTurn {
                rows.push(Need::Runs);
            }
        }
        Command::StartRun { run, .. } => {
            rows.push(Need::EntryNames);
            rows.push(Need::Leases(*run));
            rows.push(Need::OpenDecisions(Some(*run)));
            rows.push(Need::Standings(*run));
            rows.push(Need::FreeNumbers);
        }
        Command::ReleaseRun { .. } => rows.push(Need::EntryNames),
        Command::HoldRun { run, .. } | Command::LoseRunner { run, .. } => {
            rows.push(Need::Leases(*run));
        }
        Command::ContinueRun { run, .. } => {
            rows.push(Need::OpenDecisions(Some(*run)));
            rows.push(Need::Standings(*run));
        }
        Command::JoinRun { .. }
        | Command::PauseRun { .. }
        | Command::InterruptRun { .. }
        | Command::TargetRun { .. }
        | Command::EnterLanes { .. }
        | Command::LandRun { .. }
        | Command::EndLanding { .. } => {}
        Command::TakeLane { run, node, .. } | Command::LeaveLane { run, node, .. } => {
            rows.push(Need::Line(*run, node.clone()));
            rows.push(Need::Subtree(*run, node.clone()));
        }
        Command::StepMerge { run, node, .. } | Command::StepPullRequest { run, node, .. } => {
            add_needs_of_finish(&mut rows, *run, node);
            add_needs_of_log(&mut rows, *run, node);
        }
        Command::TakeRun { run, .. } | Command::AskPause { run } | Command::AskStop { run } => {
            rows.push(Need::Leases(*run));
        }
        Command::ResumeRun { run } => {
            rows.push(Need::Leases(*run));
            rows.push(Need::OpenDecisions(Some(*run)));
            rows.push(Need::Standings(*run));
        }
        Command::StartAttempt {
            run, node, attempt, ..
        } => {
            rows.push(Need::Line(*run, node.clone()));
            rows.push(Need::Attempt(*attempt));
            rows.push(Need::NamesFrom(Space::Attempt, attempt_name_prefix(node)));
        }
        Command::AnswerAttempt {
            run, node, attempt, ..
        } => {
            rows.push(Need::Line(*run, node.clone()));
            rows.push(Need::Attempt(*attempt));
        }
        Command::StartBaseline { run, node, .. }
        | Command::StartGate { run, node, .. }
        | Command::StartCommit { run, node, .. } => {
            rows.push(Need::Line(*run, node.clone()));
        }
        Command::EndAttempt {
            run,
            node,
            attempt,
            report,
            claimed,
            ..
        } => {
            rows.extend(claimed.iter().map(|node| Need::Line(*run, node.clone())));
            add_needs_of_learnings(&mut rows, report);
            rows.push(Need::Attempt(*attempt));
            // What the work came to that is reviewed is logged with its verdict.
            if report.review.is_some() {
                rows.push(Need::AttemptsAt(*run, node.clone()));
            }
            // What was decided already is not asked again.
            if !report.requests.is_empty() {
                rows.push(Need::Decisions(*run));
            }
            add_needs_of_finish(&mut rows, *run, node);
            add_needs_of_log(&mut rows, *run, node);
        }
        Command::EndGate { run, node, .. } | Command::EndCommit { run, node, .. } => {
            add_needs_of_finish(&mut rows, *run, node);
            add_needs_of_log(&mut rows, *run, node);
            // What the attempts below it changed counts for its check.
            rows.push(Need::Subtree(*run, node.clone()));
            // And what the one did whose outcome waits for it is logged.
            rows.push(Need::AttemptsAt(*run, node.clone()));
        }
        Command::StepWaits { run, steps, .. } => {
            let lines = steps.iter().map(|step| step.node.clone());
            rows.extend(lines.map(|node| Need::Line(*run, node)));
            rows.push(Need::Standings(*run));
            rows.push(Need::NextDecision);
            rows.push(Need::OpenDecisions(Some(*run)));
            rows.push(Need::FreeNumbers);
        }
        Command::SkipItem { run, .. } => {
            add_needs_of_change(&mut rows, *run);
            rows.push(Need::EntryNames);
        }
        Command::TakeEdits { run, word, .. } => {
            match word {
                EditAuthor::File | EditAuthor::Piton | EditAuthor::Typed { .. } => {}
                EditAuthor::Hand { .. } => rows.push(Need::OpenAttempts(None)),
                EditAuthor::MaybeAgent { attempt, .. } => {
                    rows.push(Need::OpenAttempts(None));
                    rows.push(Need::Attempt(*attempt));
                }
                EditAuthor::Person { decision, .. } => rows.push(Need::Decision(*decision)),
            }
            add_needs_of_change(&mut rows, *run);
            rows.push(Need::EntryNames);
        }
        Command::AskForMerge { run, .. } => add_needs_of_change(&mut rows, *run),
        Command::RetryItem { run, .. } | Command::LoseWork { run, .. } => {
            add_needs_of_change(&mut rows, *run);
            rows.push(Need::EntryNames);
        }
        Command::Decide {
            decision,
            run,
            verb,
            why,
        } => {
            if *verb == Verb::Answer {
                add_needs_of_resolution(&mut rows, why.as_deref());
            }
            rows.push(Need::Decision(*decision));
            // Which of them a question names is seen only when it is loaded.
            if *run == RunId::PROJECT && matches!(verb, Verb::Approve | Verb::Reject) {
                rows.push(Need::Memories(None));
            }
            add_needs_of_change(&mut rows, *run);
            rows.push(Need::EntryNames);
        }
        Command::DecideRequest { decision, run, .. } => {
            rows.push(Need::Decision(*decision));
            add_needs_of_change(&mut rows, *run);
            rows.push(Need::EntryNames);
        }
        Command::Inject { run, .. } => {
            add_needs_of_change(&mut rows, *run);
            rows.push(Need::EntryNames);
        }
        Command::AskPerson { run, node, .. } => {
            rows.extend(node.iter().map(|node| Need::Line(*run, node.clone())));
            rows.push(Need::OpenDecisions(Some(*run)));
            rows.push(Need::NextDecision);
        }
        Command::LogEntry(entry) => {
            rows.push(Need::FreeNumbers);
            add_needs_of_resolution(&mut rows, entry.text_field("resolution"));
            rows.push(Need::Blocker {
                spec: entry.spec.clone(),
                task_id: entry.task_id.clone(),
            });
            rows.push(Need::EntryNames);
        }
        Command::NoteCall(_) => {}
        Command::TellAttempt(told) => add_needs_of_attempt(&mut rows, told),
        Command::AddMemory(memory) => add_needs_of_memory(&mut rows, memory),
        Command::NoticeMemory { memory, .. } => {
            add_needs_of_memory(&mut rows, memory);
            add_needs_of_resolution(&mut rows, Some(&memory.content));
        }
        Command::RetireMemory {
            id, superseded_by, ..
        } => {
            rows.push(Need::Memory(id.clone()));
            rows.extend(superseded_by.clone().map(Need::Memory));
            rows.push(Need::OpenDecisions(Some(RunId::PROJECT)));
        }
        Command::DoubtMemories(ids) => {
            // What is asked is told from what became of them.
            rows.push(Need::NextDecision);
            rows.push(Need::OpenDecisions(Some(RunId::PROJECT)));
            rows.extend(ids.iter().cloned().map(Need::Memory));
        }
        Command::EndorseMemories(ids) => {
            rows.push(Need::OpenDecisions(Some(RunId::PROJECT)));
            rows.extend(ids.iter().cloned().map(Need::Memory));
        }
        Command::AskAboutUnconfirmed => {
            rows.push(Need::NextDecision);
            rows.push(Need::OpenDecisions(Some(RunId::PROJECT)));
            rows.push(Need::Memories(None));
        }
        Command::ImportMemories(memories) => {
            memories
                .iter()
                .for_each(|memory| add_needs_of_memory(&mut rows, memory));
        }
        Command::ResolveBlocker {
            spec,
            task_id,
            resolution,
        } => {
            rows.push(Need::FreeNumbers);
            add_needs_of_resolution(&mut rows, Some(resolution));
            rows.push(Need::Blocker {
                spec: spec.clone(),
                task_id: task_id.clone(),
            });
            rows.push(Need::EntryNames);
        }
        Command::TurnFace { path, .. } => rows.push(Need::Face(path.clone())),
        Command::TakeFile(taken) => add_needs_of_import(&mut rows, taken),
        Command::StartNotification(subject) | Command::EndNotification { subject, .. } => {
            rows.push(match subject {
                NotificationSubject::Decision { id, .. } => Need::Decision(*id),
                NotificationSubject::Invocation { run, .. } => Need::Run(*run),
            });
        }
        Command::AskAboutFile { run, .. } | Command::SettleFile { run, .. } => {
            rows.push(Need::OpenDecisions(Some(*run)));
            rows.push(Need::NextDecision);
        }
    }
    let mut streams = command.written_streams();
    streams.sort();
    streams.dedup();
    Needs { streams, rows }
}

/// What names of attempts at an item begin with.
pub(crate) fn attempt_name_prefix(node: &Node) -> String {
    format!("{}-", slug(node.as_str()))
}

/// What may have to be known when an attempt is logged among the sessions.
fn add_needs_of_log(rows: &mut Vec<Need>, run: RunId, node: &Node) {
    rows.push(Need::EntryNames);
    // Its spec is the run's name, which is not known here: views read the row
    // of a blocker when they have to.
    rows.push(Need::Line(run, node.clone()));
}

/// What may say the same as a resolution, or as what was noticed.
fn add_needs_of_resolution(rows: &mut Vec<Need>, said: Option<&str>) {
    let document = said.map(|text| MemoryDocument::from_fields("", text, ""));
    let tokens = document.map(|document| document.tokens().map(str::to_owned).collect());
    rows.extend(tokens.map(Need::MemoriesNear));
}

/// What may say the same as what an attempt noticed.
fn add_needs_of_learnings(rows: &mut Vec<Need>, report: &Report) {
    for (_, learning) in extract_learnings(report, "", "") {
        let tokens = MemoryDocument::from_fields("", &learning.content, "");
        let tokens = tokens.tokens().map(str::to_owned).collect();
        rows.push(Need::MemoriesNear(tokens));
    }
}

fn add_needs_of_attempt(rows: &mut Vec<Need>, told: &ReportedAttempt) {
    rows.push(Need::FreeNumbers);
    add_needs_of_learnings(rows, &told.report);
    rows.push(Need::Run(told.run));
    rows.push(Need::Line(told.run, told.node.clone()));
    rows.push(Need::LastItem(told.run));
    rows.push(Need::NamesFrom(
        Space::Attempt,
        told.name
            .clone()
            .unwrap_or_else(|| format!("{}-", slug(&told.item))),
    ));
    rows.push(Need::EntryNames);
}

fn add_needs_of_memory(rows: &mut Vec<Need>, memory: &Memory) {
    rows.push(Need::FreeNumbers);
    rows.extend(memory.id.clone().map(Need::Memory));
    if memory.kind == MemoryKind::Guardrail {
        let title = memory.title.clone();
        rows.extend(title.map(|title| Need::Name(Space::Sign, title)));
    }
    let external = memory.external_id.clone();
    rows.extend(external.map(|id| Need::Name(Space::External, id)));
}

fn add_needs_of_import(rows: &mut Vec<Need>, taken: &ImportedFile) {
    rows.push(Need::EntryNames);
    rows.push(Need::FreeNumbers);
    rows.push(Need::Run(RunId::PROJECT));
    rows.push(Need::LastItem(RunId::PROJECT));
    rows.push(Need::OpenDecisions(Some(RunId::PROJECT)));
    rows.push(Need::NextDecision);
    let is_memory = |at: &usize| {
        matches!(
            taken.found[*at],
            ImportedRecord::Memory(_) | ImportedRecord::Retired(_) | ImportedRecord::Removed(_)
        )
    };
    if ImportedRecord::group_by_name(&taken.found)
        .iter()
        .flatten()
        .any(is_memory)
    {
        rows.push(Need::Memories(None));
    }
    if taken.known == ImportPolicy::Take {
        // What an entry blocked before it was edited.
        rows.push(Need::Blockers);
    }
    for found in &taken.found {
        match found {
            ImportedRecord::Entry(entry) => {
                add_needs_of_resolution(rows, entry.text_field("resolution"));
                let mark = entry.mark.clone();
                rows.extend(mark.map(|mark| Need::Name(Space::Mark, mark)));
                if let Some(name) = &entry.name {
                    rows.push(Need::Name(Space::Entry, name.clone()));
                    rows.push(Need::NamedFrom(Space::Entry, format!("{name}-")));
                }
                rows.push(Need::Blocker {
                    spec: entry.spec.clone(),
                    task_id: entry.task_id.clone(),
                });
            }
            ImportedRecord::Attempt(told) => {
                add_needs_of_attempt(rows, told);
                if let Some(name) = &told.name {
                    rows.push(Need::Name(Space::Attempt, name.clone()));
                    rows.push(Need::NamedFrom(Space::Attempt, format!("{name}-")));
                }
            }
            ImportedRecord::Memory(memory)
            | ImportedRecord::Retired(memory)
            | ImportedRecord::Removed(memory) => {
                add_needs_of_memory(rows, memory);
            }
        }
    }
}

/// What may have to be known when an item is finished or fails.
fn add_needs_of_finish(rows: &mut Vec<Need>, run: RunId, node: &Node) {
    rows.push(Need::Line(run, node.clone()));
    rows.push(Need::FailureTree(run));
    rows.push(Need::Dependents(run, node.clone()));
    rows.push(Need::Successors(run, node.clone()));
    rows.push(Need::Standings(run));
    rows.push(Need::NextDecision);
    // What is asked about it matters no more when it is finished.
    rows.push(Need::OpenDecisions(Some(run)));
    rows.push(Need::FreeNumbers);
}

/// What may have to be known when a person changes an item: whatever waits for
/// anything below it, and whatever it waits for itself, wherever that stands.
fn add_needs_of_change(rows: &mut Vec<Need>, run: RunId) {
    rows.push(Need::FreeNumbers);
    rows.push(Need::Standings(run));
    rows.push(Need::NextDecision);
    rows.push(Need::OpenDecisions(Some(run)));
    rows.push(Need::Leases(run));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ItemEvent;

    #[test]
    #[should_panic(expected = "does not declare the stream")]
    fn a_draft_on_a_stream_that_was_not_declared_is_a_bug() {
        let paused = Command::AskPause {
            run: RunId::PROJECT,
        };
        let draft = Draft {
            stream: StreamId::sessions(),
            event: ItemEvent::SkipAsked {
                run: RunId::PROJECT,
                node: Node::from_text("a"),
            }
            .into(),
        };
        needs_of_command(&paused).check_streams(&[draft]);
    }
}
