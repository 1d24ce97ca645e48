//! Exactly the rows that are asked for: no decision works in a test because it
//! happened to see more than it would see of a database.

use jiff::Timestamp;
use piton_core::id::{Node, RunId};
use piton_core::name::{Space, entry_prefix};
use piton_core::recall::TableIndex;
use piton_core::{ItemRow, Key, Need, Tables};

/// The rows of `all` that `wanted` asks for.
pub(super) fn select_rows(all: &Tables, wanted: &[Need], now: Timestamp) -> Tables {
    let mut picked = RowSelection {
        all,
        rows: Tables::default(),
        now,
    };
    wanted.iter().for_each(|need| picked.add_need(need));
    picked.rows
}

struct RowSelection<'t> {
    all: &'t Tables,
    rows: Tables,
    now: Timestamp,
}

impl RowSelection<'_> {
    fn add_key(&mut self, key: &Key) {
        if let Some(row) = self.all.get(key) {
            self.rows.insert(row.clone());
        }
    }

    fn add_keys(&mut self, keys: impl IntoIterator<Item = Key>) {
        keys.into_iter().for_each(|key| self.add_key(&key));
    }

    fn add_need(&mut self, need: &Need) {
        let all = self.all;
        match need {
            Need::Run(run) => self.add_key(&Key::Run(*run)),
            Need::Runs => self.add_keys(all.runs().map(|run| Key::Run(run.id))),
            Need::RunNamed(name) => self.add_keys(
                all.runs()
                    .filter(|run| run.name == *name)
                    .map(|run| Key::Run(run.id)),
            ),
            Need::Line(run, node) => {
                self.add_key(&Key::Item(*run, node.clone()));
                self.add_keys(node.ancestors().map(|node| Key::Item(*run, node)));
            }
            Need::Subtree(run, node) => self.add_subtree(*run, node),
            Need::Tree(run) => self.add_keys(
                all.tree(*run)
                    .map(|item| Key::Item(*run, item.node.clone())),
            ),
            Need::FailureTree(run) => {
                self.add_key(&Key::Run(*run));
                let policy = all.run(*run).map(|row| &row.plan.policy);
                if policy.is_some_and(|policy| policy.on_dependency_failure.is_some()) {
                    self.add_need(&Need::Tree(*run));
                }
            }
            Need::Dependents(run, node) => self.add_dependents(*run, node),
            Need::Successors(run, node) => self.add_successors(*run, node),
            Need::Standings(run) => {
                let first = all.first_in_trouble(*run);
                self.add_keys(first.map(|item| Key::Item(*run, item.node.clone())));
            }
            Need::Attempt(attempt) => self.add_key(&Key::Attempt(*attempt)),
            Need::OpenAttempts(run) => {
                self.add_keys(
                    all.open_attempts()
                        .filter(|row| run.is_none_or(|run| row.run == run))
                        .map(|row| Key::Attempt(row.id)),
                );
            }
            Need::AttemptsAt(run, node) => {
                let at = all
                    .attempts()
                    .filter(|row| row.run == *run && row.node == *node);
                self.add_keys(at.map(|row| Key::Attempt(row.id)));
            }
            Need::AttemptsOf(run) => {
                let of_run = all.attempts().filter(|row| row.run == *run);
                self.add_keys(of_run.map(|row| Key::Attempt(row.id)));
            }
            Need::Decision(decision) => self.add_key(&Key::Decision(*decision)),
            Need::DecisionNumbered(number) => {
                self.add_keys(
                    all.decisions()
                        .filter(|row| row.number == *number)
                        .map(|row| Key::Decision(row.id)),
                );
            }
            Need::Decisions(run) => {
                let of_run = all.decisions().filter(|row| row.run == *run);
                self.add_keys(of_run.map(|row| Key::Decision(row.id)));
            }
            Need::OpenDecisions(run) => {
                let open = all
                    .decisions()
                    .filter(|row| row.verdict.is_none() && run.is_none_or(|run| row.run == run));
                self.add_keys(open.map(|row| Key::Decision(row.id)));
            }
            Need::RecentEntries(limit) => self.add_keys(
                all.entries_by_time()
                    .into_iter()
                    .rev()
                    .take(*limit)
                    .map(|row| Key::Entry(row.position)),
            ),
            Need::LastEntry(kind) => {
                let entries = all.entries_by_time();
                let last = entries.iter().rfind(|row| row.entry.kind == *kind);
                self.add_keys(last.map(|row| Key::Entry(row.position)));
            }
            Need::Blocker { spec, task_id } => {
                self.add_key(&Key::Blocker(spec.clone(), task_id.clone()))
            }
            Need::Blockers => self.add_keys(
                all.blockers()
                    .map(|row| Key::Blocker(row.spec.clone(), row.task_id.clone())),
            ),
            Need::Name(space, name) => {
                let row = all.find_name(*space, name);
                self.add_keys(
                    row.into_iter()
                        .flat_map(|row| [Key::Name(row.space, row.name.clone()), row.target_key()]),
                );
            }
            Need::NamesFrom(space, start) => self.add_names_from(*space, start),
            Need::NamedFrom(space, start) => {
                let fits = all.names_with_prefix(*space, start);
                self.add_keys(
                    fits.flat_map(|row| [Key::Name(row.space, row.name.clone()), row.target_key()]),
                );
            }
            Need::EntryNames => self.add_names_from(Space::Entry, &entry_prefix(self.now)),
            Need::Memory(id) => self.add_key(&Key::Memory(id.clone())),
            Need::Memories(kind) => {
                let fits = all
                    .memories()
                    .filter(|row| kind.is_none_or(|kind| row.memory.kind == kind));
                self.add_keys(fits.map(|row| Key::Memory(row.id.clone())));
            }
            Need::MemoriesNear(tokens) => {
                let near = TableIndex::from_tables(all).nearest_memories(tokens);
                self.add_keys(near.into_iter().map(Key::Memory));
            }
            Need::RecentAttempts(limit) => {
                let attempts = all.attempts_by_time();
                let over = attempts.into_iter().rev().filter(|row| !row.is_open());
                self.add_keys(over.take(*limit).map(|row| Key::Attempt(row.id)));
            }
            Need::Faces => self.add_keys(all.native_files().map(|row| Key::Face(row.path.clone()))),
            Need::Face(path) => self.add_key(&Key::Face(path.clone())),
            Need::LastItem(run) => {
                let last = all.tree(*run).last();
                for node in last.into_iter().flat_map(|last| {
                    std::iter::once(last.node.clone()).chain(last.node.ancestors())
                }) {
                    self.add_key(&Key::Item(*run, node));
                }
            }
            Need::Entry(position) => self.add_key(&Key::Entry(*position)),
            Need::NextDecision | Need::Leases(_) | Need::FreeNumbers => {}
        }
    }

    fn add_names_from(&mut self, space: Space, start: &str) {
        let all = self.all;
        let fits = all.names_with_prefix(space, start);
        self.add_keys(fits.map(|row| Key::Name(row.space, row.name.clone())));
    }

    fn add_subtree(&mut self, run: RunId, node: &Node) {
        if let Some(top) = self.all.item(run, node) {
            let all = self.all;
            self.add_keys(
                all.subtree(run, &top.plan.place)
                    .map(|item| Key::Item(run, item.node.clone())),
            );
        }
    }

    fn add_dependents(&mut self, run: RunId, node: &Node) {
        let all = self.all;
        for item in all.tree(run).filter(|item| depends_on_line(item, node)) {
            self.add_subtree(run, &item.node);
            self.add_keys(
                item.plan
                    .depends_on
                    .iter()
                    .map(|on| Key::Item(run, on.clone())),
            );
        }
    }

    fn add_successors(&mut self, run: RunId, node: &Node) {
        let all = self.all;
        for item in all.tree(run).filter(|item| depends_on_line(item, node)) {
            let needed = item.node.ancestors();
            let needed = needed.chain(all.open_items_beside(run, &item.node));
            let needed = needed.chain([item.node.clone()]);
            self.add_keys(needed.map(|on| Key::Item(run, on)));
        }
        let beside = all.open_items_beside(run, node);
        self.add_keys(beside.iter().map(|node| Key::Item(run, node.clone())));
        let mut needed: Vec<Node> = beside;
        needed.retain(|other| !node.is_within(other));
        needed.iter().for_each(|other| self.add_subtree(run, other));
        let line = std::iter::once(node.clone()).chain(node.ancestors());
        let line = line.filter_map(|node| all.item(run, &node));
        let below = needed.iter().filter_map(|other| all.item(run, other));
        let below = below.flat_map(|other| all.subtree(run, &other.plan.place));
        let on: Vec<Node> = line
            .chain(below)
            .flat_map(|row| row.plan.depends_on.iter().cloned())
            .collect();
        self.add_keys(on.into_iter().map(|on| Key::Item(run, on)));
    }
}

/// Whether an item depends on one, or on one above it.
fn depends_on_line(item: &ItemRow, node: &Node) -> bool {
    item.plan.depends_on.iter().any(|on| node.is_within(on))
}
