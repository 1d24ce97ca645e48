//! Exactly the rows that are asked for: no decision works in a test because it
//! happened to see more than it would see of a database.

use jiff::Timestamp;
use piton_core::id::{Node, RunId};
use piton_core::name::{Space, entry_prefix};
use piton_core::recall::TableIndex;
use piton_core::{ItemRow, Key, Need, Tables};

/// The rows of `all` that `wanted` asks for.
pub(super) fn pick(all: &Tables, wanted: &[Need], now: Timestamp) -> Tables {
    let mut picked = Picked {
        all,
        rows: Tables::default(),
        now,
    };
    wanted.iter().for_each(|need| picked.need(need));
    picked.rows
}

struct Picked<'t> {
    all: &'t Tables,
    rows: Tables,
    now: Timestamp,
}

impl Picked<'_> {
    fn key(&mut self, key: &Key) {
        if let Some(row) = self.all.get(key) {
            self.rows.put(row.clone());
        }
    }

    fn keys(&mut self, keys: impl IntoIterator<Item = Key>) {
        keys.into_iter().for_each(|key| self.key(&key));
    }

    fn need(&mut self, need: &Need) {
        let all = self.all;
        match need {
            Need::Run(run) => self.key(&Key::Run(*run)),
            Need::Runs => self.keys(all.runs().map(|run| Key::Run(run.id))),
            Need::RunNamed(name) => self.keys(
                all.runs()
                    .filter(|run| run.name == *name)
                    .map(|run| Key::Run(run.id)),
            ),
            Need::Line(run, node) => {
                self.key(&Key::Item(*run, node.clone()));
                self.keys(node.ancestors().map(|node| Key::Item(*run, node)));
            }
            Need::Subtree(run, node) => self.subtree(*run, node),
            Need::Tree(run) => self.keys(
                all.tree(*run)
                    .map(|item| Key::Item(*run, item.node.clone())),
            ),
            Need::FailureTree(run) => {
                self.key(&Key::Run(*run));
                let policy = all.run(*run).map(|row| &row.policy);
                if policy.is_some_and(|policy| policy.on_dependency_failure.is_some()) {
                    self.need(&Need::Tree(*run));
                }
            }
            Need::Dependents(run, node) => self.dependents(*run, node),
            Need::Successors(run, node) => self.successors(*run, node),
            Need::Standings(run) => {
                let first = all.first_in_trouble(*run);
                self.keys(first.map(|item| Key::Item(*run, item.node.clone())));
            }
            Need::Attempt(attempt) => self.key(&Key::Attempt(*attempt)),
            Need::OpenAttempts(run) => {
                self.keys(
                    all.open_attempts()
                        .filter(|row| run.is_none_or(|run| row.run == run))
                        .map(|row| Key::Attempt(row.id)),
                );
            }
            Need::AttemptsAt(run, node) => {
                let at = all
                    .attempts()
                    .filter(|row| row.run == *run && row.node == *node);
                self.keys(at.map(|row| Key::Attempt(row.id)));
            }
            Need::AttemptsOf(run) => {
                let of_run = all.attempts().filter(|row| row.run == *run);
                self.keys(of_run.map(|row| Key::Attempt(row.id)));
            }
            Need::Decision(decision) => self.key(&Key::Decision(*decision)),
            Need::DecisionNumbered(number) => {
                self.keys(
                    all.decisions()
                        .filter(|row| row.number == *number)
                        .map(|row| Key::Decision(row.id)),
                );
            }
            Need::Decisions(run) => {
                let of_run = all.decisions().filter(|row| row.run == *run);
                self.keys(of_run.map(|row| Key::Decision(row.id)));
            }
            Need::OpenDecisions(run) => {
                let open = all
                    .decisions()
                    .filter(|row| row.verdict.is_none() && run.is_none_or(|run| row.run == run));
                self.keys(open.map(|row| Key::Decision(row.id)));
            }
            Need::RecentEntries(limit) => self.keys(
                all.entries_by_time()
                    .into_iter()
                    .rev()
                    .take(*limit)
                    .map(|row| Key::Entry(row.position)),
            ),
            Need::LastEntry(kind) => {
                let entries = all.entries_by_time();
                let last = entries.iter().rfind(|row| row.entry.kind == *kind);
                self.keys(last.map(|row| Key::Entry(row.position)));
            }
            Need::Blocker { spec, task_id } => {
                self.key(&Key::Blocker(spec.clone(), task_id.clone()))
            }
            Need::Blockers => self.keys(
                all.blockers()
                    .map(|row| Key::Blocker(row.spec.clone(), row.task_id.clone())),
            ),
            Need::Name(space, name) => {
                let row = all.named(*space, name);
                self.keys(
                    row.into_iter()
                        .flat_map(|row| [Key::Name(row.space, row.name.clone()), row.of_key()]),
                );
            }
            Need::NamesFrom(space, start) => self.names_from(*space, start),
            Need::NamedFrom(space, start) => {
                let fits = all.names_from(*space, start);
                self.keys(
                    fits.flat_map(|row| [Key::Name(row.space, row.name.clone()), row.of_key()]),
                );
            }
            Need::EntryNames => self.names_from(Space::Entry, &entry_prefix(self.now)),
            Need::Memory(id) => self.key(&Key::Memory(id.clone())),
            Need::Memories(kind) => {
                let fits = all
                    .memory()
                    .filter(|row| kind.is_none_or(|kind| row.memory.kind == kind));
                self.keys(fits.map(|row| Key::Memory(row.id.clone())));
            }
            Need::MemoriesNear(tokens) => {
                let near = TableIndex::of(all).near(tokens);
                self.keys(near.into_iter().map(Key::Memory));
            }
            Need::RecentAttempts(limit) => {
                let attempts = all.attempts_by_time();
                let over = attempts.into_iter().rev().filter(|row| !row.is_open());
                self.keys(over.take(*limit).map(|row| Key::Attempt(row.id)));
            }
            Need::Faces => self.keys(all.faces().map(|row| Key::Face(row.path.clone()))),
            Need::Face(path) => self.key(&Key::Face(path.clone())),
            Need::LastItem(run) => {
                let last = all.tree(*run).last();
                for node in last.into_iter().flat_map(|last| {
                    std::iter::once(last.node.clone()).chain(last.node.ancestors())
                }) {
                    self.key(&Key::Item(*run, node));
                }
            }
            Need::Entry(position) => self.key(&Key::Entry(*position)),
            Need::NextDecision | Need::Leases(_) | Need::FreeNumbers => {}
        }
    }

    fn names_from(&mut self, space: Space, start: &str) {
        let all = self.all;
        let fits = all.names_from(space, start);
        self.keys(fits.map(|row| Key::Name(row.space, row.name.clone())));
    }

    fn subtree(&mut self, run: RunId, node: &Node) {
        if let Some(top) = self.all.item(run, node) {
            let all = self.all;
            self.keys(
                all.subtree(run, &top.place)
                    .map(|item| Key::Item(run, item.node.clone())),
            );
        }
    }

    fn dependents(&mut self, run: RunId, node: &Node) {
        let all = self.all;
        for item in all.tree(run).filter(|item| waits_for_line(item, node)) {
            self.subtree(run, &item.node);
            self.keys(item.depends_on.iter().map(|on| Key::Item(run, on.clone())));
        }
    }

    fn successors(&mut self, run: RunId, node: &Node) {
        let all = self.all;
        for item in all.tree(run).filter(|item| waits_for_line(item, node)) {
            let needed = item.node.ancestors();
            let needed = needed.chain(all.beside(run, &item.node));
            let needed = needed.chain([item.node.clone()]);
            self.keys(needed.map(|on| Key::Item(run, on)));
        }
        let beside = all.beside(run, node);
        self.keys(beside.iter().map(|node| Key::Item(run, node.clone())));
        let mut needed: Vec<Node> = beside;
        needed.retain(|other| !node.is_within(other));
        needed.iter().for_each(|other| self.subtree(run, other));
        let line = std::iter::once(node.clone()).chain(node.ancestors());
        let line = line.filter_map(|node| all.item(run, &node));
        let below = needed.iter().filter_map(|other| all.item(run, other));
        let below = below.flat_map(|other| all.subtree(run, &other.place));
        let on: Vec<Node> = line
            .chain(below)
            .flat_map(|row| row.depends_on.iter().cloned())
            .collect();
        self.keys(on.into_iter().map(|on| Key::Item(run, on)));
    }
}

/// Whether an item depends on one, or on one above it.
fn waits_for_line(item: &ItemRow, node: &Node) -> bool {
    item.depends_on.iter().any(|on| node.is_within(on))
}
