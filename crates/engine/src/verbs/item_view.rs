//! An item, as every verb describes it: one object for `status`, `next`, `run`
//! and `run --dry-run`.
//!
//! It is made of rows alone, by [`ItemView::of_item`], or of a plan that is not
//! stored yet, by [`ItemView::of_planned`]. What a field means stands in
//! `docs/guide/reading.md`.

use jiff::Timestamp;
use piton_core::event::{AttemptEvent, ItemEvent};
use piton_core::evidence::{Basis, Evidence, basis_of_evidence};
use piton_core::gate::{GateRuns, OutputExcerpt, excerpt_output};
use piton_core::item::Stage;
use piton_core::lane::unit_of_node;
use piton_core::plan::{ItemTags, PlannedItem};
use piton_core::quote::{first_line, truncate_chars};
use piton_core::recover::FollowedRecovery;
use piton_core::run::Pause;
use piton_core::terminal::clean_line;
use piton_core::usage::Spend;
use piton_core::wait::Wait;
use piton_core::{DecisionKind, DecisionRow, Event, ItemRow, ItemState, Node, Role, RunId, Tables};
use piton_formats::plan_file::PlanFile;
use piton_formats::title::title_of_planned;
use serde::Serialize;

pub use piton_formats::title::title_of_item;

/// So many characters of a reason are shown.
const CHARS_MAX: usize = 200;
/// So many characters of the command of an agent are shown.
const AGENT_CHARS_MAX: usize = 60;
/// So many of the items that one waits for are named.
const ON_MAX: usize = 5;

/// What happened to an item so far.
#[derive(Clone, Debug, Serialize)]
pub struct ItemLifeView {
    /// Attempts started on it, in every role.
    pub attempts: u32,
    /// How often it was tried again after a failure.
    pub retries: u32,
    /// When it was first started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// How long agents and checks were at work on it and on what it holds, in
    /// seconds. What it waited for is not in it.
    pub work_s: u64,
    /// What was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// When an item is worked on: what it waits for, or who works on it.
#[derive(Clone, Debug, Serialize)]
pub struct ItemNextView {
    /// The labels and the priority that people gave it.
    #[serde(flatten)]
    pub tags: ItemTags,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<ItemWait>,
    /// Not before this time is it tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What its plan has it wait for before it begins, while that is not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Box<Wait>>,
    /// The open question about it, as it is typed: `d7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// An attempt at it is over, and its check is to show what it came to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub being_checked: bool,
    /// Who works on it now, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_work: Option<ItemWorker>,
}

/// An item of a run. Fields that say nothing are absent in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ItemView {
    /// The name of its run.
    pub run: String,
    /// Its path.
    pub node: String,
    /// Its id, as the plan gives it.
    pub id: String,
    /// What it is called, where that says more than its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How deep it stands, from 1.
    pub depth: usize,
    /// Where it stands.
    pub state: ItemState,
    /// Whether the pointer of its run names it, or something below it.
    pub current: bool,
    /// How many items it holds; an agent works on one that holds none.
    #[serde(skip_serializing_if = "is_zero")]
    pub children: u32,
    /// The model that works on it, where the plan or the run names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What must pass before it is done, and how that fared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckView>,
    /// Whether the run pauses for people after it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub breakpoint: bool,
    /// What happened to it so far.
    #[serde(flatten)]
    pub life: ItemLifeView,
    /// What it waits for, or who works on it.
    #[serde(flatten)]
    pub next: ItemNextView,
    /// How its reviews by agents go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewView>,
    /// Why it counts as done; absent while it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Proof>,
    /// The branch that has its work, where what is checked out does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_on: Option<String>,
    /// What the next attempt follows, after one that did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<FollowedRecovery>,
    /// The item that was split, of which this is a piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece_of: Option<String>,
    /// How many calls its attempts were not permitted to make.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u32,
    /// What its attempts used; absent where nothing of it is known.
    #[serde(skip_serializing_if = "Spend::is_unknown")]
    pub spend: Spend,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why an item counts as done.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    /// How well it is proven, or that it was taken over.
    pub level: Basis,
    /// The same in a few words.
    pub summary: String,
    /// All that shows it.
    pub all: Vec<Evidence>,
}

impl Proof {
    /// That of an item which is done; none of one that only holds others.
    /// `file` is the file of its plan.
    #[must_use]
    pub fn of_item(item: &ItemRow, file: impl FnOnce() -> Option<String>) -> Option<Self> {
        let is_done = item.state == ItemState::Done;
        let evidence = is_done.then_some(item.proof.evidence.as_slice())?;
        let level = basis_of_evidence(evidence)?;
        let words = item.describe_evidence()?;
        let is_taken_over = level == Basis::TakenOver;
        let file = is_taken_over.then(file).flatten();
        Some(Self {
            level,
            summary: file.map_or_else(|| words.clone(), |file| format!("{words} from {file}")),
            all: evidence.to_vec(),
        })
    }
}

/// What must pass before an item is done, and how its last run fared.
#[derive(Clone, Debug, Serialize)]
pub struct CheckView {
    /// The command.
    pub command: String,
    /// How often it was run since its item was begun.
    pub runs: u32,
    /// The item was done by another check than this one, which has not run since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// Whether the last run passed; absent where none is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// Whether a run is under way.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub under_way: bool,
    /// Whether it passed before the first attempt; absent where it did not run then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_before: Option<bool>,
    /// The exit status of the last run; -1 when it ran out of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What was wrong, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the last run took, in seconds.
    pub took_s: u64,
    /// What the last run printed, its head and its tail, if it printed anything
    /// and failed, or was asked for.
    #[serde(skip_serializing_if = "OutputExcerpt::is_empty")]
    pub output: OutputExcerpt,
}

impl CheckView {
    /// The check of an item; what it printed is there where it failed.
    #[must_use]
    pub fn of_item(item: &ItemRow) -> Option<Self> {
        let view = Self::with_output(item)?;
        let failed = view.passed == Some(false);
        Some(Self {
            output: if failed {
                view.output
            } else {
                OutputExcerpt::default()
            },
            ..view
        })
    }

    /// The same with what the last run printed, however it ended.
    #[must_use]
    pub fn with_output(item: &ItemRow) -> Option<Self> {
        let gate = item.pending_gate()?;
        let is_own = item.proof.claim_gate.is_none();
        // What the old one came to says nothing of it.
        let changed = is_own && item.is_done_by_old_check();
        let runs = match &item.proof.gate_runs {
            Some(runs) if !changed => (**runs).clone(),
            // Changed in the merge queue, it passed on the merged tree.
            None if is_own && item.state == ItemState::Done && !item.is_missing_check() => {
                GateRuns {
                    runs: 1,
                    passed: true,
                    ..GateRuns::default()
                }
            }
            Some(_) | None => GateRuns::default(),
        };
        let is_over = runs.runs > 0 && !runs.open;
        let passed_before = item.proof.baseline.as_ref().map(|baseline| baseline.passed);
        Some(Self {
            command: gate.script.clone(),
            changed,
            runs: runs.runs,
            passed: is_over.then_some(runs.passed),
            under_way: runs.open,
            passed_before: passed_before.filter(|_| item.proof.claim_gate.is_none()),
            exit: runs.exit,
            error: runs.error.clone(),
            took_s: runs.took_s,
            output: excerpt_output(&runs.output),
        })
    }

    /// How the last run ended, in a few words.
    #[must_use]
    pub fn describe_result(&self) -> String {
        match (self.passed, &self.error) {
            (None, _) if self.under_way => "is running".to_owned(),
            (None, _) if self.changed => "has not run: the item was done by another one".to_owned(),
            (None, _) => "has not run".to_owned(),
            (Some(true), _) => "passed".to_owned(),
            (Some(false), Some(error)) => format!("failed: {error}"),
            (Some(false), None) => "failed".to_owned(),
        }
    }
}

/// What an item waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemWaitKind {
    /// A person, who was asked something.
    Person,
    /// A time.
    Time,
    /// A command that says yes.
    Command,
    /// Other items.
    Dependency,
    /// A person who looks at what was done.
    Breakpoint,
    /// The files that it is about: an item at work is about them as well.
    Files,
    /// The person who took it.
    Taken,
}

/// What an item waits for, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ItemWait {
    /// For what.
    #[serde(rename = "for")]
    pub what: ItemWaitKind,
    /// The question, which items it waits for and for which of their files, or what
    /// its plan has it wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ItemWait {
    /// What the parent waits for, where the item waits for nothing else.
    fn inherited_from_parent(
        tables: &Tables,
        item: &ItemRow,
        parent: Option<&Self>,
    ) -> Option<Self> {
        let parent = parent.filter(|waits| waits.what == ItemWaitKind::Dependency)?;
        let has_own =
            !item.plan.depends_on.is_empty() || tables.find_blocking_predecessor(item).is_some();
        let is_same = item.state == ItemState::Pending && !has_own;
        is_same.then(|| parent.clone())
    }

    /// What an item waits for by its own row and those that it depends on;
    /// `open` is the question about it.
    pub(crate) fn of_item(
        tables: &Tables,
        item: &ItemRow,
        open: Option<&DecisionRow>,
        now: Timestamp,
    ) -> Option<Self> {
        let pause = tables.run(item.run).and_then(|run| run.pause.as_ref());
        if matches!(pause, Some(Pause::Breakpoint { node }) if *node == item.node) {
            return Some(Self {
                what: ItemWaitKind::Breakpoint,
                why: None,
            });
        }
        if let Some(hold) = item.hold_at(now) {
            return Some(Self {
                what: ItemWaitKind::Taken,
                why: Some(hold.to_string()),
            });
        }
        let later = item.tries.until.is_some_and(|until| until > now);
        let planned = item.plan.wait.as_deref().filter(|_| item.has_open_wait());
        let planned = planned.filter(|_| item.people.human.is_none());
        let (what, why) = match item.state {
            ItemState::Ready | ItemState::Waiting if planned.is_some() => {
                let wait = planned?;
                let what = match wait.command {
                    Some(_) => ItemWaitKind::Command,
                    None if wait.until.is_some_and(|until| until <= now) => return None,
                    None => ItemWaitKind::Time,
                };
                (what, Some(shorten_line(&wait.to_string())))
            }
            ItemState::Ready | ItemState::Waiting if later => {
                (ItemWaitKind::Time, item.error.as_deref().map(shorten_line))
            }
            ItemState::Waiting => {
                let human = item.people.human.as_ref()?;
                // A question about several items says less of this one.
                let question = open.filter(|row| row.node.is_some());
                let question = question.map(|row| shorten_line(&row.question));
                (
                    ItemWaitKind::Person,
                    question.or_else(|| Some(shorten_line(&human.reason))),
                )
            }
            ItemState::Pending => (ItemWaitKind::Dependency, describe_needs(tables, item)),
            ItemState::Ready => (
                ItemWaitKind::Files,
                Some(describe_file_conflict(tables, item)?),
            ),
            ItemState::Working
            | ItemState::Done
            | ItemState::Failed
            | ItemState::Skipped
            | ItemState::Dropped
            | ItemState::Blocked => return None,
        };
        Some(Self { what, why })
    }
}

/// What the views of one run have in common.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'v> {
    /// The rows of the run.
    pub tables: &'v Tables,
    /// What time it is.
    pub now: Timestamp,
    /// Whether a runner works on the run: what is under way counts until now.
    pub live: bool,
    /// The item that the run's pointer names; none where the run is over.
    pub current: Option<&'v Node>,
}

impl Viewer<'_> {
    /// Until when what is under way counts; none where no runner works on it.
    fn open_work_end(&self) -> Option<Timestamp> {
        self.live.then_some(self.now)
    }
}

/// How long was worked on each of the items, which are in tree order, and on those
/// below it, in milliseconds: as [`Tables::total_work_ms`] of each says.
fn subtree_work_ms(items: &[&ItemRow], until: Option<Timestamp>) -> Vec<u64> {
    let mut work = vec![0_u64; items.len()];
    // By depth: what those below the item that comes next, from behind, took.
    let mut below: Vec<u64> = Vec::new();
    for (at, item) in items.iter().enumerate().rev() {
        let depth = item.plan.place.depth();
        below.resize(below.len().max(depth + 1), 0);
        let own = item.work_ms_until(until);
        work[at] = own.saturating_add(std::mem::take(&mut below[depth]));
        if let Some(above) = depth.checked_sub(1) {
            below[above] = below[above].saturating_add(work[at]);
        }
    }
    work
}

/// How the reviews of an item by agents go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewView {
    /// An agent reviews it, or is to.
    pub under_way: bool,
    /// How often a reviewer wanted changes since a person looked last.
    pub rounds: u32,
    /// How often a reviewer wanted changes in all.
    pub changes_wanted: u32,
    /// Who approved what is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// Why the last answer of a reviewer was no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl ReviewView {
    /// None of an item that no agent reviews or reviewed.
    fn of_item(item: &ItemRow) -> Option<Self> {
        let is_at_review = item.stage == Stage::Review && item.people.human.is_none();
        let is_open = matches!(item.state, ItemState::Working | ItemState::Waiting);
        let under_way = is_at_review && is_open;
        if !under_way && item.proof.review.is_none() {
            return None;
        }
        let review = item.proof.review.as_deref().cloned().unwrap_or_default();
        Some(Self {
            under_way,
            rounds: review.rounds,
            changes_wanted: review.changes_wanted,
            approved_by: review.approved_by,
            fault: review.fault,
        })
    }
}

/// Who works on an item now, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ItemWorker {
    /// The command of the agent, in one line.
    pub agent: String,
    /// The model that it was asked to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is there for.
    pub role: Role,
    /// Since when.
    pub since: Timestamp,
    /// The lane in which it works, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
}

impl ItemWorker {
    /// None where no agent is at work, or no runner is there to wait for it.
    fn of_item(viewer: &Viewer<'_>, item: &ItemRow) -> Option<Self> {
        let attempt = item.attempt.filter(|_| viewer.live)?;
        let attempt = viewer.tables.attempt(attempt)?;
        let unit = viewer.tables.item(item.run, &unit_of_node(&item.node));
        Some(Self {
            agent: first_line(&attempt.agent, AGENT_CHARS_MAX),
            model: attempt.model.clone(),
            role: attempt.role,
            since: attempt.started_at,
            lane: unit.and_then(ItemRow::lane).map(|hold| hold.lane),
        })
    }
}

impl ItemView {
    /// An item as its rows say.
    #[must_use]
    pub fn of_item(viewer: &Viewer<'_>, item: &ItemRow) -> Self {
        let work_ms = viewer.tables.total_work_ms(item, viewer.open_work_end());
        Self::build_view(viewer, item, None, work_ms)
    }

    /// The same, where it is known what the item above waits for, and how long
    /// was worked on it and those below.
    fn build_view(
        viewer: &Viewer<'_>,
        item: &ItemRow,
        above: Option<&ItemWait>,
        work_ms: u64,
    ) -> Self {
        let tables = viewer.tables;
        let run = tables.run(item.run);
        let open = open_question(tables, item.run, &item.node);
        Self {
            run: run.map_or_else(String::new, |run| run.name.clone()),
            node: item.node.as_str().to_owned(),
            id: item.plan.id.clone(),
            title: title_of_item(item),
            depth: item.plan.place.depth(),
            state: item.state,
            current: viewer.current.is_some_and(|at| at.is_within(&item.node)),
            children: item.children,
            model: item.plan.model.clone(),
            check: CheckView::of_item(item),
            breakpoint: item.plan.breakpoint,
            review: ReviewView::of_item(item),
            evidence: Proof::of_item(item, || run.and_then(PlanFile::path_of_run)),
            recovery: item.tries.recovery.as_deref().cloned(),
            piece_of: item
                .plan
                .piece_of
                .as_ref()
                .map(|node| node.as_str().to_owned()),
            done_on: None,
            denied: item.tries.denied,
            spend: item.work.spend.clone().without_cached_input(),
            life: ItemLifeView {
                attempts: item.attempts,
                retries: item.tries.retries,
                started_at: item.started_at,
                completed_at: item.completed_at,
                work_s: work_ms / 1_000,
                summary: item.summary.clone(),
                error: item.error.clone(),
            },
            next: ItemNextView {
                tags: item.plan.tags.clone(),
                waits: ItemWait::inherited_from_parent(tables, item, above)
                    .or_else(|| ItemWait::of_item(tables, item, open, viewer.now)),
                until: item
                    .tries
                    .until
                    .or(item.hold_at(viewer.now).map(|hold| hold.until)),
                wait: item.plan.wait.clone().filter(|_| item.has_open_wait()),
                decision: open.map(|row| format!("d{}", row.number)),
                being_checked: item.is_being_checked(),
                at_work: ItemWorker::of_item(viewer, item),
            },
        }
    }

    /// All items of a run, in tree order, as their rows say.
    #[must_use]
    pub fn all_of_run(viewer: &Viewer<'_>, run: RunId) -> Vec<Self> {
        let items: Vec<&ItemRow> = viewer.tables.tree(run).collect();
        let work_ms = subtree_work_ms(&items, viewer.open_work_end());
        let mut views: Vec<Self> = Vec::with_capacity(items.len());
        // Where the views of those above an item stand.
        let mut above: Vec<usize> = Vec::new();
        for (item, work_ms) in items.into_iter().zip(work_ms) {
            above.truncate(item.plan.place.depth().saturating_sub(1));
            let parent = above.last().and_then(|at| views.get(*at));
            let parent = parent.and_then(|view| view.next.waits.as_ref());
            let view = Self::build_view(viewer, item, parent, work_ms);
            above.push(views.len());
            views.push(view);
        }
        views
    }

    /// An item of a plan that is not stored yet.
    #[must_use]
    pub fn of_planned(run: &str, item: &PlannedItem) -> Self {
        Self {
            run: run.to_owned(),
            node: item.node.as_str().to_owned(),
            id: item.id.clone(),
            title: title_of_planned(item),
            depth: item.place.depth(),
            state: item.state,
            current: false,
            children: 0,
            model: item.model.clone(),
            check: item.gate.as_ref().map(|gate| CheckView {
                command: gate.script.clone(),
                changed: false,
                runs: 0,
                passed: None,
                under_way: false,
                passed_before: None,
                exit: None,
                error: None,
                took_s: 0,
                output: OutputExcerpt::default(),
            }),
            breakpoint: item.breakpoint,
            review: None,
            evidence: None,
            recovery: None,
            piece_of: item.piece_of.as_ref().map(|node| node.as_str().to_owned()),
            done_on: None,
            denied: 0,
            spend: Spend::default(),
            life: ItemLifeView {
                attempts: 0,
                retries: item.past.retries.unwrap_or(0),
                started_at: item.past.started_at,
                completed_at: item.past.completed_at,
                work_s: 0,
                summary: item.past.summary.clone(),
                error: item.past.error.clone(),
            },
            next: ItemNextView {
                tags: item.tags.clone(),
                waits: None,
                until: None,
                wait: item.wait.clone().map(Box::new),
                decision: None,
                being_checked: false,
                at_work: None,
            },
        }
    }

    /// Whether nothing more is to be done at it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state.is_finished()
    }

    /// Its path and what it is called: `a-1: Add the login`.
    #[must_use]
    pub fn label(&self) -> String {
        label_of_node(&Node::shown(&self.node), self.title.as_deref())
    }
}

/// The item that an event of a run at work is about, as the event left it;
/// none for an event that is about the run, a question or the memory.
#[must_use]
pub fn item_of_event(event: &Event, tables: &Tables, now: Timestamp) -> Option<ItemView> {
    let moved = if let Event::Item(ItemEvent::Moved(moved)) = event {
        Some((moved.run, &moved.node))
    } else {
        None
    };
    let (run, node) = moved.or_else(|| node_of_work(event))?;
    let current = tables.current_item(run).map(|item| item.node.clone());
    let viewer = Viewer {
        tables,
        now,
        live: true,
        current: current.as_ref(),
    };
    Some(ItemView::of_item(&viewer, tables.item(run, node)?))
}

fn node_of_work(event: &Event) -> Option<(RunId, &Node)> {
    let (Event::Attempt(
        AttemptEvent::Started { run, node, .. }
        | AttemptEvent::Ended { run, node, .. }
        | AttemptEvent::Judged { run, node, .. },
    )
    | Event::Item(
        ItemEvent::GateStarted { run, node, .. }
        | ItemEvent::GateEnded { run, node, .. }
        | ItemEvent::CommitStarted { run, node, .. }
        | ItemEvent::CommitEnded { run, node, .. }
        | ItemEvent::Staged { run, node, .. },
    )) = event
    else {
        return None;
    };
    Some((*run, node))
}

/// A path or an id, and what it is called.
#[must_use]
pub fn label_of_node(node: &str, title: Option<&str>) -> String {
    match title {
        Some(title) => format!("{node}: {}", clean_line(title)),
        None => node.to_owned(),
    }
}

/// Whether an item is worked on itself: it holds no others, or they are
/// finished and its check or its commit is next.
pub(crate) fn is_directly_worked_on(item: &ItemRow) -> bool {
    item.is_leaf() || (item.stage != Stage::Work && item.open_children == 0)
}

/// The question about an item that a person has to answer before it goes on.
pub(crate) fn open_question<'t>(
    tables: &'t Tables,
    run: RunId,
    node: &Node,
) -> Option<&'t DecisionRow> {
    let asked = tables.open_decisions(run).filter(|row| {
        let is_about = row.node.as_ref() == Some(node) && row.kind != DecisionKind::Question;
        is_about || row.nodes_needing_merge().any(|waiting| waiting == node)
    });
    // A run that stands at a breakpoint goes on by its answer alone; the other questions
    // hold up less.
    asked.min_by_key(|row| row.kind != DecisionKind::Breakpoint)
}

/// The items that an item waits for, or that something above it does.
pub(crate) fn unfinished_needs<'t>(tables: &'t Tables, item: &'t ItemRow) -> Vec<&'t ItemRow> {
    let above = item.node.ancestors();
    let above = above.filter_map(|node| tables.item(item.run, &node));
    std::iter::once(item)
        .chain(above)
        .flat_map(|row| {
            let on = row.plan.depends_on.iter();
            let on = on.filter_map(|node| tables.item(item.run, node));
            on.chain(tables.find_blocking_predecessor(row))
        })
        .filter(|row| !row.state.is_finished())
        .collect()
}

/// The items that an item waits for, each with where it stands.
fn describe_needs(tables: &Tables, item: &ItemRow) -> Option<String> {
    let on = unfinished_needs(tables, item);
    let words = on.iter().take(ON_MAX);
    let mut words: Vec<String> = words
        .map(|row| format!("{} ({})", row.node, row.state))
        .collect();
    if let Some(more) = on.len().checked_sub(ON_MAX).filter(|more| *more > 0) {
        words.push(format!("{more} more"));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// The item at work that keeps the files which this one is about, and which those are.
fn describe_file_conflict(tables: &Tables, item: &ItemRow) -> Option<String> {
    let lanes = tables.run(item.run)?.branches.lanes.as_deref();
    let unit = tables.item(item.run, &unit_of_node(&item.node))?;
    let overlapping = tables.find_overlapping_unit(lanes?, unit);
    let (other, path) = overlapping.filter(|_| unit.lane().is_none())?;
    Some(format!("{other}, which is about {path} as well"))
}

/// The first line of a text, if need be cut.
pub(crate) fn shorten_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    truncate_chars(line, CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use piton_core::Row;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_question_of_a_breakpoint_goes_before_what_else_is_asked_of_its_item() {
        let run = "01900000-0000-7000-8000-000000000002";
        let mut tables = Tables::default();
        for (number, kind) in [(1, "review"), (2, "breakpoint"), (3, "review")] {
            let row = json!({
                "id": format!("01900000-0000-7000-8000-00000000001{number}"),
                "number": number, "kind": kind, "run": run, "node": "look",
                "question": "?", "opened_at": Timestamp::UNIX_EPOCH,
            });
            let row: DecisionRow = serde_json::from_value(row).expect("a row");
            tables.insert(Row::Decision(Box::new(row)));
        }
        let look = Node::child(None, "look", 1);
        let run = serde_json::from_value(json!(run)).expect("an id");
        let asked = open_question(&tables, run, &look).map(|row| row.number);
        assert_eq!(asked, Some(2));
    }
}
