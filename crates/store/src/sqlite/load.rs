//! Rows as they are asked for: one query a wish.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use piton_core::id::{Node, RunId, TreePosition};
use piton_core::memory::{KINDS, MemoryKind};
use piton_core::name::{FreeNumbers, NameRange, Space, entry_prefix};
use piton_core::plan::ItemTurn;
use piton_core::standing::{ItemStanding, StandingCounts};
use piton_core::tables::HOLDING_MAX;
use piton_core::{ItemRow, Key, Need, Row, Rows, Tables};
use rusqlite::{Connection, OptionalExtension, Params, Result, params};

use super::index;
use super::rows::{find_row, parse_column, to_sqlite_integer};

// SQLite prepares a statement again whenever a value is bound that may change its
// plan: that of a LIMIT, and those of equalities where there is an order. It does
// not look into expressions, hence `+?` and `0 + ?` in all of these. The test
// `values_are_bound_without_preparing_again` holds that.
const NUMBERS: &str = "SELECT kind, first, next FROM numbers";
const NUMBERS_FROM: &str =
    "SELECT number FROM memory WHERE kind = +?1 AND number >= ?2 ORDER BY number";
const LAST_OF_KIND: &str = "SELECT max(number) FROM memory WHERE kind = +?1";
const RECENT_ENTRIES: &str =
    "SELECT body FROM entries ORDER BY time DESC, position DESC LIMIT 0 + ?1";
const RECENT_ATTEMPTS: &str =
    "SELECT body FROM attempts WHERE NOT open ORDER BY time DESC, id DESC LIMIT 0 + ?1";

const LAST_ENTRY: &str =
    "SELECT body FROM entries WHERE type = +?1 ORDER BY time DESC, position DESC LIMIT 1";
const LAST_ITEM: &str = "SELECT node FROM items WHERE run = +?1 ORDER BY place DESC LIMIT 1";
const FIRST_OF_STANDING: &str = "SELECT body FROM items WHERE run = +?1 AND standing = +?2 \
    AND standing <> 0 AND standing <> 4 ORDER BY place LIMIT 1";
const COUNT_OF_STANDING: &str = "SELECT count(*) FROM items WHERE run = ?1 AND standing = ?2 AND standing <> 0 AND standing <> 4";
const OPEN_CHILDREN: &str = "SELECT body FROM items WHERE run = +?1 AND place >= ?2 AND place < ?3 \
    AND standing <> 4 AND length(place) = ?4 ORDER BY place";
const OPEN_CHILDREN_OF_LAST: &str = "SELECT body FROM items WHERE run = +?1 AND place >= ?2 AND ?3 IS NULL \
    AND standing <> 4 AND length(place) = ?4 ORDER BY place";

/// Loads what is asked for, within the transaction that is open.
pub(super) fn load_rows(connection: &Connection, wanted: &[Need], now: Timestamp) -> Result<Rows> {
    let mut loader = Loader {
        connection,
        tables: Tables::default(),
        leases: BTreeMap::new(),
        free_numbers: [FreeNumbers::free_from(1); KINDS],
        naming: NameRange::ALONE,
        standings: None,
        now,
    };
    for need in wanted {
        loader.load_need(need)?;
    }
    // Always: a decision that forgot to ask would give a number out twice.
    let last: Option<u64> = connection
        .prepare_cached("SELECT max(number) FROM decisions")?
        .query_row([], |row| {
            Ok(row
                .get::<_, Option<i64>>(0)?
                .and_then(|number| u64::try_from(number).ok()))
        })?;
    Ok(Rows {
        tables: loader.tables,
        now,
        next_decision: last.map_or(1, |last| last + 1),
        leases: loader.leases,
        free_numbers: loader.free_numbers,
        naming: loader.naming,
        standings: loader.standings,
    })
}

struct Loader<'c> {
    connection: &'c Connection,
    tables: Tables,
    leases: BTreeMap<u64, Timestamp>,
    free_numbers: [FreeNumbers; KINDS],
    naming: NameRange,
    standings: Option<StandingCounts>,
    now: Timestamp,
}

impl Loader<'_> {
    fn load_need(&mut self, need: &Need) -> Result<()> {
        match need {
            Need::Run(run) => self.load_key(&Key::Run(*run)),
            Need::Runs => self.load_query("runs", "SELECT body FROM runs", []),
            Need::RunNamed(name) => {
                self.load_query("runs", "SELECT body FROM runs WHERE name = ?1", [name])
            }
            Need::Line(run, node) => self.load_line(*run, node),
            Need::Subtree(run, node) => self.load_subtree(*run, node),
            Need::Tree(run) => self.load_query(
                "items",
                "SELECT body FROM items WHERE run = ?1",
                [run_id_bytes(run)],
            ),
            Need::FailureTree(run) => self.load_failure_tree(*run),
            Need::Dependents(run, node) => self.load_dependents(*run, node),
            Need::Successors(run, node) => self.load_successors(*run, node),
            Need::Standings(run) => self.load_standings(*run),
            Need::Attempt(attempt) => self.load_key(&Key::Attempt(*attempt)),
            Need::OpenAttempts(None) => {
                self.load_query("attempts", "SELECT body FROM attempts WHERE open", [])
            }
            Need::OpenAttempts(Some(run)) => self.load_query(
                "attempts",
                "SELECT body FROM attempts WHERE run = ?1 AND open",
                [run_id_bytes(run)],
            ),
            Need::AttemptsAt(run, node) => self.load_query(
                "attempts",
                "SELECT body FROM attempts WHERE run = ?1 AND node = ?2",
                params![run_id_bytes(run), node.as_str()],
            ),
            Need::AttemptsOf(run) => self.load_query(
                "attempts",
                "SELECT body FROM attempts WHERE run = ?1",
                [run_id_bytes(run)],
            ),
            Need::Decision(decision) => self.load_key(&Key::Decision(*decision)),
            Need::DecisionNumbered(wanted) => self.load_query(
                "decisions",
                "SELECT body FROM decisions WHERE number = ?1",
                [to_sqlite_integer(*wanted)],
            ),
            Need::OpenDecisions(Some(run)) => self.load_query(
                "decisions",
                "SELECT body FROM decisions WHERE run = ?1 AND open",
                [run_id_bytes(run)],
            ),
            Need::Decisions(run) => self.load_query(
                "decisions",
                "SELECT body FROM decisions WHERE run = ?1",
                [run_id_bytes(run)],
            ),
            Need::OpenDecisions(None) => {
                self.load_query("decisions", "SELECT body FROM decisions WHERE open", [])
            }
            Need::RecentEntries(limit) => {
                let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
                self.load_query("entries", RECENT_ENTRIES, [limit])
            }
            Need::LastEntry(kind) => self.load_query("entries", LAST_ENTRY, [kind.as_str()]),
            Need::Blocker { spec, task_id } => {
                self.load_key(&Key::Blocker(spec.clone(), task_id.clone()))
            }
            Need::Blockers => self.load_query("blockers", "SELECT body FROM blockers", []),
            Need::NextDecision => Ok(()),
            Need::Leases(run) => self.load_leases(*run),
            Need::Name(space, name) => self.load_name(*space, name),
            Need::NamesFrom(space, start) => self.load_names_from(*space, start),
            Need::NamedFrom(space, start) => self.load_named_from(*space, start),
            Need::EntryNames => self.load_names_from(Space::Entry, &entry_prefix(self.now)),
            Need::Memory(id) => self.load_key(&Key::Memory(id.clone())),
            Need::Memories(Some(kind)) => {
                let sql = "SELECT body FROM memory WHERE kind = ?1";
                self.load_query("memory", sql, [kind.as_str()])
            }
            Need::Memories(None) => self.load_query("memory", "SELECT body FROM memory", []),
            Need::MemoriesNear(tokens) => {
                let near = index::find_similar(self.connection, tokens)?;
                let mut near = near.into_iter();
                near.try_for_each(|id| self.load_key(&Key::Memory(id)))
            }
            Need::FreeNumbers => self.load_free_numbers(),
            Need::RecentAttempts(limit) => {
                let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
                self.load_query("attempts", RECENT_ATTEMPTS, [limit])
            }
            Need::Faces => self.load_query("faces", "SELECT body FROM faces", []),
            Need::Face(path) => self.load_key(&Key::Face(path.clone())),
            Need::LastItem(run) => self.load_last_item(*run),
            Need::Entry(position) => self.load_key(&Key::Entry(*position)),
        }
    }

    /// A name, and what it names.
    fn load_name(&mut self, space: Space, name: &str) -> Result<()> {
        let key = Key::Name(space, name.to_owned());
        self.load_key(&key)?;
        let Some(Row::Name(row)) = self.tables.get(&key) else {
            return Ok(());
        };
        let of = row.target_key();
        self.load_key(&of)
    }

    fn load_names_from(&mut self, space: Space, start: &str) -> Result<()> {
        // No text that begins with it comes after it with the last character of all.
        let end = format!("{start}{}", char::MAX);
        self.load_query(
            "names",
            "SELECT body FROM names WHERE space = ?1 AND name >= ?2 AND name <= ?3",
            params![space.as_str(), start, end],
        )?;
        if space == Space::Attempt {
            self.load_next_numbers()?;
        }
        Ok(())
    }

    fn load_named_from(&mut self, space: Space, start: &str) -> Result<()> {
        self.load_names_from(space, start)?;
        let names = self.tables.names_with_prefix(space, start);
        let named: Vec<Key> = names.map(piton_core::name::NameRow::target_key).collect();
        named.iter().try_for_each(|key| self.load_key(key))
    }

    fn load_free_numbers(&mut self) -> Result<()> {
        for (kind, next) in self.load_next_numbers()? {
            self.free_numbers[kind as usize] = self.free_numbers_from(kind, next)?;
        }
        Ok(())
    }

    /// The next number of each kind, unless a memory has it already; it also says
    /// where names begin.
    fn load_next_numbers(&mut self) -> Result<Vec<(MemoryKind, u64)>> {
        let mut statement = self.connection.prepare_cached(NUMBERS)?;
        let mut rows = statement.query([])?;
        let mut numbers = Vec::new();
        while let Some(row) = rows.next()? {
            self.naming.first = row.get::<_, i64>(1)?.cast_unsigned();
            let next = row.get::<_, i64>(2)?.cast_unsigned();
            let kind = MemoryKind::parse(row.get_ref(0)?.as_str()?);
            numbers.extend(kind.map(|kind| (kind, next)));
        }
        Ok(numbers)
    }

    fn free_numbers_from(&self, kind: MemoryKind, next: u64) -> Result<FreeNumbers> {
        let mut free = FreeNumbers::free_from(next);
        let mut statement = self.connection.prepare_cached(NUMBERS_FROM)?;
        let mut rows = statement.query(params![kind.as_str(), next.cast_signed()])?;
        while let Some(row) = rows.next()? {
            let taken = row.get::<_, i64>(0)?.cast_unsigned();
            if taken > free.from {
                free.until = Some(taken);
                break;
            }
            free.from = taken + 1;
        }
        free.beyond = free.from;
        if free.until.is_some() {
            let mut last = self.connection.prepare_cached(LAST_OF_KIND)?;
            let last: i64 = last.query_row([kind.as_str()], |row| row.get(0))?;
            free.beyond = last.cast_unsigned() + 1;
        }
        Ok(free)
    }

    fn load_last_item(&mut self, run: RunId) -> Result<()> {
        let mut statement = self.connection.prepare_cached(LAST_ITEM)?;
        let last: Option<String> = statement
            .query_row([run_id_bytes(&run)], |row| row.get(0))
            .optional()?;
        last.map_or(Ok(()), |node| self.load_line(run, &Node::from_text(node)))
    }

    fn load_key(&mut self, key: &Key) -> Result<()> {
        if self.tables.get(key).is_none()
            && let Some(row) = find_row(self.connection, key)?
        {
            self.tables.insert(row);
        }
        Ok(())
    }

    fn load_query(&mut self, table: &str, sql: &str, params: impl Params) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            self.tables
                .insert(parse_column(table, row.get_ref(0)?.as_str()?)?);
        }
        Ok(())
    }

    fn load_line(&mut self, run: RunId, node: &Node) -> Result<()> {
        self.load_key(&Key::Item(run, node.clone()))?;
        node.ancestors()
            .try_for_each(|node| self.load_key(&Key::Item(run, node)))
    }

    fn load_subtree(&mut self, run: RunId, node: &Node) -> Result<()> {
        let key = Key::Item(run, node.clone());
        self.load_key(&key)?;
        let Some(Row::Item(top)) = self.tables.get(&key) else {
            return Ok(());
        };
        let (from, to) = subtree_key_range(&top.plan.place);
        match to {
            Some(to) => {
                let sql = "SELECT body FROM items WHERE run = ?1 AND place >= ?2 AND place < ?3";
                self.load_query("items", sql, params![run_id_bytes(&run), from, to])
            }
            None => self.load_query(
                "items",
                "SELECT body FROM items WHERE run = ?1 AND place >= ?2",
                params![run_id_bytes(&run), from],
            ),
        }
    }

    fn load_failure_tree(&mut self, run: RunId) -> Result<()> {
        self.load_need(&Need::Run(run))?;
        let policy = self.tables.run(run).map(|row| &row.plan.policy);
        match policy.and_then(|policy| policy.on_dependency_failure) {
            Some(_) => self.load_need(&Need::Tree(run)),
            None => Ok(()),
        }
    }

    fn load_dependents(&mut self, run: RunId, node: &Node) -> Result<()> {
        for node in self.items_waiting_for(run, node)? {
            self.load_subtree(run, &node)?;
            let Some(Row::Item(item)) = self.tables.get(&Key::Item(run, node)) else {
                continue;
            };
            for on in item.plan.depends_on.clone() {
                self.load_key(&Key::Item(run, on))?;
            }
        }
        Ok(())
    }

    /// The items that depend on one, or on one above it.
    fn items_waiting_for(&self, run: RunId, node: &Node) -> Result<BTreeSet<Node>> {
        let mut found = BTreeSet::new();
        let mut statement = self
            .connection
            .prepare_cached("SELECT node FROM dependencies WHERE run = ?1 AND on_node = ?2")?;
        for on in std::iter::once(node.clone()).chain(node.ancestors()) {
            let nodes = statement.query_map(params![run_id_bytes(&run), on.as_str()], |row| {
                row.get::<_, String>(0)
            })?;
            for node in nodes {
                found.insert(Node::from_text(node?));
            }
        }
        Ok(found)
    }

    fn load_successors(&mut self, run: RunId, node: &Node) -> Result<()> {
        let Some(Row::Item(item)) = self.tables.get(&Key::Item(run, node.clone())) else {
            return Ok(());
        };
        let place = item.plan.place.clone();
        for waiting in self.items_waiting_for(run, node)? {
            self.load_line(run, &waiting)?;
            if let Some(Row::Item(item)) = self.tables.get(&Key::Item(run, waiting)) {
                let place = item.plan.place.clone();
                self.open_siblings_along_path(run, &place)?;
            }
        }
        let mut needed: Vec<Node> = self.open_siblings_along_path(run, &place)?;
        needed.retain(|other| !node.is_within(other));
        for other in &needed {
            self.load_subtree(run, other)?;
        }
        needed.push(node.clone());
        needed.extend(node.ancestors());
        let on = |row: &ItemRow| row.plan.depends_on.clone();
        let tables = &self.tables;
        let within = |row: &&ItemRow| needed.iter().any(|top| row.node.is_within(top));
        let on: Vec<Node> = tables.tree(run).filter(within).flat_map(on).collect();
        on.into_iter()
            .try_for_each(|on| self.load_key(&Key::Item(run, on)))
    }

    /// The items beside the one at a place, and beside each of those above it:
    /// see [`Tables::open_items_beside`].
    fn open_siblings_along_path(&mut self, run: RunId, place: &TreePosition) -> Result<Vec<Node>> {
        let mut found = Vec::new();
        for depth in (0..place.depth()).rev() {
            found.extend(self.open_children(run, &TreePosition(place.0[..depth].to_vec()))?);
        }
        Ok(found)
    }

    fn open_children(&mut self, run: RunId, above: &TreePosition) -> Result<Vec<Node>> {
        let (from, to) = subtree_key_range(above);
        let level = i64::try_from(above.child(0).to_key().len()).unwrap_or(i64::MAX);
        let sql = if to.is_some() {
            OPEN_CHILDREN
        } else {
            OPEN_CHILDREN_OF_LAST
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![run_id_bytes(&run), from, to, level])?;
        let (mut found, mut holding) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let row = parse_column("items", row.get_ref(0)?.as_str()?)?;
            if let Row::Item(item) = &row {
                found.push(item.node.clone());
                holding += u32::from(item.plan.turn.is_blocking(ItemTurn::default()));
            }
            if self.tables.get(&row.key()).is_none() {
                self.tables.insert(row);
            }
            if holding == HOLDING_MAX {
                break;
            }
        }
        Ok(found)
    }

    fn load_standings(&mut self, run: RunId) -> Result<()> {
        let count = |standing: ItemStanding| -> Result<u64> {
            let mut statement = self.connection.prepare_cached(COUNT_OF_STANDING)?;
            let found = params![run_id_bytes(&run), standing.column_value()];
            let count: i64 = statement.query_row(found, |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or(0))
        };
        let standings = StandingCounts {
            active: count(ItemStanding::Active)?,
            asking: count(ItemStanding::Asking)?,
            broken: count(ItemStanding::Broken)?,
        };
        let first_of = [
            (ItemStanding::Asking, standings.asking),
            (ItemStanding::Broken, standings.broken),
        ];
        for (standing, _) in first_of.into_iter().filter(|(_, count)| *count > 0) {
            let found = params![run_id_bytes(&run), standing.column_value()];
            self.load_query("items", FIRST_OF_STANDING, found)?;
        }
        self.standings = Some(standings);
        Ok(())
    }

    fn load_leases(&mut self, run: RunId) -> Result<()> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT token, expires FROM leases WHERE run = ?1")?;
        let found = statement.query_map([run_id_bytes(&run)], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
        for lease in found {
            let (token, micros) = lease?;
            let expires = Timestamp::from_microsecond(micros).ok();
            let lease = expires.map(|expires| (token.cast_unsigned(), expires));
            self.leases.extend(lease);
        }
        Ok(())
    }
}

fn run_id_bytes(run: &RunId) -> &[u8] {
    run.0.as_bytes()
}

/// The keys of a place and of all below it: from this one, to before that one;
/// to the end where there is none.
fn subtree_key_range(place: &TreePosition) -> (Vec<u8>, Option<Vec<u8>>) {
    let from = place.to_key();
    let mut to = from.clone();
    while to.last() == Some(&u8::MAX) {
        to.pop();
    }
    match to.last_mut() {
        Some(last) => {
            *last += 1;
            (from, Some(to))
        }
        None => (from, None),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::sqlite::{index, journal, schema};

    #[test]
    fn values_are_bound_without_preparing_again() {
        let mut connection = Connection::open_in_memory().expect("a store in memory");
        schema::migrate(&mut connection, std::path::Path::new("memory")).expect("a schema");
        let statements = [
            LAST_OF_KIND,
            NUMBERS_FROM,
            LAST_ENTRY,
            LAST_ITEM,
            FIRST_OF_STANDING,
            OPEN_CHILDREN,
            OPEN_CHILDREN_OF_LAST,
            RECENT_ENTRIES,
            RECENT_ATTEMPTS,
            index::HOLDERS,
            journal::STREAM,
            journal::OF_COMMAND,
        ];
        for sql in statements {
            for value in ["2", "3", "4"] {
                // What was bound is cleared in between, which counts as well.
                let mut statement = connection.prepare_cached(sql).expect("sound");
                for parameter in 1..=statement.parameter_count() {
                    let bound = statement.raw_bind_parameter(parameter, value);
                    bound.expect("bound");
                }
                statement.raw_query().next().expect("a query");
                let again = statement.get_status(StatementStatus::RePrepare);
                assert_eq!(again, 0, "{sql}");
            }
        }
    }

    #[test]
    fn a_range_of_keys_holds_a_place_and_what_lies_below_it_and_nothing_else() {
        let place = TreePosition(vec![1, u32::MAX]);
        let (from, to) = subtree_key_range(&place);
        let to = to.expect("there is something after it");
        let holds = |place: &TreePosition| (&from..&to).contains(&&place.to_key());
        assert!(holds(&place));
        assert!(holds(&place.child(0)) && holds(&place.child(u32::MAX)));
        assert!(
            !holds(&TreePosition(vec![1]))
                && !holds(&TreePosition(vec![2]))
                && !holds(&TreePosition(vec![1, u32::MAX - 1]))
        );
        assert_eq!(subtree_key_range(&TreePosition(vec![u32::MAX])).1, None);
    }
}
