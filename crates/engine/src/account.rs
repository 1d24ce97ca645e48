//! The account of a run: what is done and what shows it, what failed and why,
//! what waits for whom and what to type, what it used.
//!
//! Made of rows alone. An invocation ends with it, as text and as JSON.

use std::collections::BTreeMap;

use piton_core::evidence::level_of_evidence;
use piton_core::gate::excerpt;
use piton_core::usage::Spend;
use piton_core::{ItemRow, ItemState, RunId, RunState};
use serde::Serialize;

use crate::item_view::{ItemView, Viewer, is_worked_on_itself, open_question};
use crate::verbs::status::ItemUnit;

/// So many of the last lines of what failed are told.
const LINES_MAX: usize = 2;

/// The account of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    /// Says in a stream of JSON lines which of them this is: `account`.
    pub kind: &'static str,
    /// The name of the run.
    pub run: String,
    /// Where it stands.
    pub state: RunState,
    /// What its items are called.
    pub unit: ItemUnit,
    /// How many items an agent works on.
    pub total: usize,
    /// How many of them are done, by what shows it: `check`, `person`, `changed`
    /// or `word`.
    pub done: BTreeMap<String, usize>,
    /// What failed.
    pub failed: Vec<AccountItem>,
    /// What an agent says cannot be done.
    pub blocked: Vec<AccountItem>,
    /// What waits for a person.
    pub waiting: Vec<AccountItem>,
    /// What was left out.
    pub skipped: Vec<AccountItem>,
    /// What is neither of these: it was not begun, or is not finished.
    pub left: Vec<AccountItem>,
    /// How long agents and checks were at work, in seconds.
    pub work_s: u64,
    /// What its attempts used.
    #[serde(skip_serializing_if = "Spend::is_empty")]
    pub spend: Spend,
}

/// An item in an account.
#[derive(Clone, Debug, Serialize)]
pub struct AccountItem {
    /// The item, as every verb describes it.
    #[serde(flatten)]
    pub item: ItemView,
    /// The last lines of what failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_lines: Vec<String>,
    /// What to type for the first way to go on with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Account {
    /// The account of a run; none when there is no such run.
    #[must_use]
    pub fn of_run(viewer: &Viewer<'_>, run: RunId) -> Option<Self> {
        let tables = viewer.tables;
        let row = tables.run(run)?;
        let mut account = Self {
            kind: "account",
            run: row.name.clone(),
            state: row.state,
            unit: ItemUnit::of_format(&row.face),
            total: 0,
            done: BTreeMap::new(),
            failed: Vec::new(),
            blocked: Vec::new(),
            waiting: Vec::new(),
            skipped: Vec::new(),
            left: Vec::new(),
            work_s: 0,
            spend: row.spend.clone().with_fresh_input(),
        };
        for item in tables.tree(run) {
            account.add(viewer, item);
        }
        Some(account)
    }

    /// How many items are done.
    #[must_use]
    pub fn done_count(&self) -> usize {
        self.done.values().sum()
    }

    fn add(&mut self, viewer: &Viewer<'_>, item: &ItemRow) {
        if item.place.depth() == 1 {
            self.work_s += viewer.tables.work_ms(item, None) / 1_000;
        }
        self.total += usize::from(item.is_leaf());
        let is_told = item.is_leaf() || is_worked_on_itself(item);
        let list = match item.state {
            ItemState::Done if item.is_leaf() => {
                let level = level_of_evidence(&item.evidence);
                let level = level.map_or("word", |level| level.as_str());
                *self.done.entry(level.to_owned()).or_default() += 1;
                return;
            }
            ItemState::Failed => &mut self.failed,
            ItemState::Blocked => &mut self.blocked,
            ItemState::Waiting if item.human.is_some() => &mut self.waiting,
            ItemState::Skipped => &mut self.skipped,
            ItemState::Pending | ItemState::Ready | ItemState::Working | ItemState::Waiting => {
                &mut self.left
            }
            ItemState::Done => return,
        };
        if is_told {
            list.push(AccountItem::of_item(viewer, item));
        }
    }
}

impl AccountItem {
    fn of_item(viewer: &Viewer<'_>, item: &ItemRow) -> Self {
        let open = open_question(viewer.tables, item.run, &item.node);
        let next = open.and_then(|row| {
            let verb = row.verbs().into_iter().next()?;
            let text = if verb == piton_core::Verb::Answer {
                " --why TEXT"
            } else {
                ""
            };
            Some(format!("piton decide d{} {verb}{text}", row.number))
        });
        let last_lines = if item.state.is_broken() {
            last_lines(item)
        } else {
            Vec::new()
        };
        Self {
            item: ItemView::of_item(viewer, item),
            last_lines,
            next,
        }
    }
}

/// The last lines of what its check printed, or of its error where that has more
/// than one.
fn last_lines(item: &ItemRow) -> Vec<String> {
    let check = item.gate_runs.as_ref().filter(|runs| !runs.passed);
    let printed = check.map(|runs| runs.output.as_str());
    let error = item
        .error
        .as_deref()
        .and_then(|error| error.split_once('\n'));
    let text = printed
        .filter(|text| !text.trim().is_empty())
        .or_else(|| error.map(|(_, more)| more))
        .unwrap_or_default();
    let printed = excerpt(text).lines();
    let lines = printed
        .into_iter()
        .rev()
        .filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = lines.take(LINES_MAX).collect();
    lines.reverse();
    lines
}
