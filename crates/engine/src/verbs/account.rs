//! The account of a run: what is done and what shows it, what failed and why,
//! what waits for whom and what to type, what it used.
//!
//! Made of rows alone. An invocation ends with it, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::evidence::{Basis, basis_of_evidence};
use piton_core::gate::excerpt_output;
use piton_core::standing::ItemStanding;
use piton_core::usage::Spend;
use piton_core::{ItemRow, ItemState, Need, Node, RunId, RunState, Tables};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::ItemUnit;
use piton_formats::registry::item_unit;
use serde::Serialize;

use crate::failure::Failure;
use crate::runner::work_place::WorkPlace;
use crate::session::Session;
use crate::verbs::arguments::search_folder;
use crate::verbs::item_view::{
    ItemView, Viewer, is_directly_worked_on, open_question, unfinished_needs,
};
use crate::world::World;

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
    /// The file of its plan, relative to the project; none for an item of no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What its items are called.
    pub unit: ItemUnit,
    /// How many items an agent works on.
    pub total: usize,
    /// How many of them are done, by what that rests on: `check`, `person`,
    /// `changed`, `word` or `taken-over`.
    pub done: BTreeMap<String, usize>,
    /// What failed.
    pub failed: Vec<AccountItem>,
    /// What an agent says cannot be done.
    pub blocked: Vec<AccountItem>,
    /// What waits for a person or for a time.
    pub waiting: Vec<AccountItem>,
    /// What was left out.
    pub skipped: Vec<AccountItem>,
    /// What a person took out of the file.
    pub dropped: Vec<AccountItem>,
    /// What is neither of these: it was not begun, or is not finished.
    pub left: Vec<AccountItem>,
    /// How long agents and checks were at work, in seconds.
    pub work_s: u64,
    /// What its attempts used.
    #[serde(skip_serializing_if = "Spend::is_empty")]
    pub spend: Spend,
    /// Where its work is; none of a run that is worked on in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<WorkPlace>,
    /// The file with the report that was made when the invocation ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

crate::name_schema!(Account, "piton.account/1");

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
    /// The items that hold it up in the end, each with where it stands and the
    /// question about it: `a-1 (failed, d3)`. What it waits for itself, which may
    /// wait for others again, stands in its `waits`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_up_by: Vec<String>,
}

/// The account of a run as it stands; none where there is no such run. `plan`
/// is what was typed for it: a path may lead into another project.
///
/// # Errors
///
/// When the store cannot be read.
pub fn account_of_run(
    world: &World,
    plan: Option<&str>,
    run: RunId,
) -> Result<Option<Account>, Failure> {
    let Some(session) = Session::open_read_only(world, &search_folder(world, plan))? else {
        return Ok(None);
    };
    let needs = [
        Need::Run(run),
        Need::Tree(run),
        Need::OpenDecisions(Some(run)),
    ];
    let rows = session.load(&needs)?;
    let viewer = Viewer {
        tables: &rows.tables,
        now: world.now(),
        live: false,
        current: None,
    };
    let account = Account::of_run(&viewer, run);
    Ok(account.map(|account| account.with_work_place(&session, &rows.tables, run)))
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
            file: PlanFile::path_of_run(row),
            unit: item_unit(&row.plan.face),
            total: 0,
            done: BTreeMap::new(),
            failed: Vec::new(),
            blocked: Vec::new(),
            waiting: Vec::new(),
            skipped: Vec::new(),
            dropped: Vec::new(),
            left: Vec::new(),
            work_s: 0,
            spend: row.spent.spend.clone().without_cached_input(),
            place: None,
            report: None,
        };
        let mut causes = BlockingCauses::default();
        for item in tables.tree(run) {
            account.add_item(viewer, item, &mut causes);
        }
        Some(account)
    }

    /// The same with where the work is.
    #[must_use]
    pub fn with_work_place(mut self, session: &Session<'_>, tables: &Tables, run: RunId) -> Self {
        let row = tables.run(run);
        self.place = row.and_then(|row| WorkPlace::of_run(session, row));
        self
    }

    /// How many items are done.
    #[must_use]
    pub fn done_count(&self) -> usize {
        self.done.values().sum()
    }

    fn add_item(&mut self, viewer: &Viewer<'_>, item: &ItemRow, causes: &mut BlockingCauses) {
        if item.plan.place.depth() == 1 {
            self.work_s += viewer.tables.total_work_ms(item, None) / 1_000;
        }
        self.total += usize::from(item.is_leaf());
        let is_told = item.is_leaf() || is_directly_worked_on(item);
        let list = match item.state {
            ItemState::Done if item.is_leaf() => {
                let basis = basis_of_evidence(&item.proof.evidence).unwrap_or(Basis::Word);
                *self.done.entry(basis.to_string()).or_default() += 1;
                return;
            }
            ItemState::Failed => &mut self.failed,
            ItemState::Blocked => &mut self.blocked,
            ItemState::Waiting => &mut self.waiting,
            ItemState::Skipped => &mut self.skipped,
            ItemState::Dropped => &mut self.dropped,
            ItemState::Pending | ItemState::Ready | ItemState::Working => &mut self.left,
            ItemState::Done => return,
        };
        if is_told {
            list.push(AccountItem::of_item(viewer, item, causes));
        }
    }
}

impl AccountItem {
    fn of_item(viewer: &Viewer<'_>, item: &ItemRow, causes: &mut BlockingCauses) -> Self {
        let held_up_by = if item.state == ItemState::Pending {
            causes.collect_causes(viewer.tables, item)
        } else {
            BTreeSet::new()
        };
        let in_words = |node: &Node| describe_cause(viewer.tables, item.run, node);
        let open = open_question(viewer.tables, item.run, &item.node);
        let next = open.and_then(|row| {
            let verb = row.allowed_verbs().into_iter().next()?;
            let text = if verb == piton_core::Verb::Answer {
                " --why TEXT"
            } else {
                ""
            };
            Some(format!("piton decide d{} {verb}{text}", row.number))
        });
        let last_lines = if item.state.is_broken() {
            last_output_lines(item)
        } else {
            Vec::new()
        };
        Self {
            item: ItemView::of_item(viewer, item),
            last_lines,
            next,
            held_up_by: held_up_by.iter().filter_map(in_words).collect(),
        }
    }
}

/// What holds up the items of a run in the end, as far as it was looked up.
#[derive(Debug, Default)]
struct BlockingCauses(BTreeMap<Node, BTreeSet<Node>>);

impl BlockingCauses {
    /// The items that one waits for, or those that these wait for, down to what
    /// waits for no other item.
    fn collect_causes(&mut self, tables: &Tables, item: &ItemRow) -> BTreeSet<Node> {
        if let Some(known) = self.0.get(&item.node) {
            return known.clone();
        }
        // Whatever came back to this item would find no cause in it.
        self.0.insert(item.node.clone(), BTreeSet::new());
        let mut causes = BTreeSet::new();
        for on in unfinished_needs(tables, item) {
            let below = if on.state == ItemState::Pending {
                self.collect_causes(tables, on)
            } else if on.is_leaf() {
                BTreeSet::new()
            } else {
                // A phase shows what went wrong below it.
                troubled_descendants(tables, on)
            };
            if below.is_empty() {
                causes.insert(on.node.clone());
            }
            causes.extend(below);
        }
        self.0.insert(item.node.clone(), causes.clone());
        causes
    }
}

/// What waits for a person, failed or is blocked below an item.
fn troubled_descendants(tables: &Tables, item: &ItemRow) -> BTreeSet<Node> {
    let below = tables.subtree(item.run, &item.plan.place);
    let in_trouble =
        |row: &&ItemRow| matches!(row.standing(), ItemStanding::Asking | ItemStanding::Broken);
    below
        .filter(in_trouble)
        .map(|row| row.node.clone())
        .collect()
}

/// An item that holds others up, with where it stands and the question about it.
fn describe_cause(tables: &Tables, run: RunId, node: &Node) -> Option<String> {
    let state = tables.item(run, node)?.state;
    let asked = open_question(tables, run, node);
    let asked = asked.map_or_else(String::new, |row| format!(", d{}", row.number));
    Some(format!("{node} ({state}{asked})"))
}

/// The last lines of what its check printed, or of its error where that has more
/// than one.
fn last_output_lines(item: &ItemRow) -> Vec<String> {
    let check = item.proof.gate_runs.as_ref().filter(|runs| !runs.passed);
    let printed = check.map(|runs| runs.output.as_str());
    let error = item
        .error
        .as_deref()
        .and_then(|error| error.split_once('\n'));
    let text = printed
        .filter(|text| !text.trim().is_empty())
        .or_else(|| error.map(|(_, more)| more))
        .unwrap_or_default();
    let printed = excerpt_output(text).shown_lines();
    let lines = printed
        .into_iter()
        .rev()
        .filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = lines.take(LINES_MAX).collect();
    lines.reverse();
    lines
}
