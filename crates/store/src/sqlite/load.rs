//! Rows as they are asked for: all needs that can be answered at once are one
//! statement, whose parts are made of the descriptors of the tables.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use piton_core::id::{Node, RunId, TreePosition};
use piton_core::memory::{KINDS, MemoryKind};
use piton_core::name::{FreeNumbers, NameRange, Space};
use piton_core::plan::ItemTurn;
use piton_core::standing::{ItemStanding, StandingCounts};
use piton_core::tables::HOLDING_MAX;
use piton_core::{
    ColumnCondition, ColumnValue, ItemRow, Key, Need, Row, RowQuery, Rows, Selector, Tables,
};
use rusqlite::types::Value;
use rusqlite::{Connection, Result, params, params_from_iter};

use super::index;
use super::rows::{parse_column, to_sqlite_value};

/// So many selects are one statement.
const SELECTS_MAX: usize = 32;

// SQLite prepares a statement again whenever a value is bound that may change its
// plan: that of a LIMIT, and those of equalities where there is an order. It does
// not look into expressions, hence `+?` and `0 + ?` in all of these. The test
// `values_are_bound_without_preparing_again` holds that.
const NUMBERS: &str = "SELECT 'numbers', kind, first, next FROM numbers";
const NEXT_DECISION: &str = "SELECT 'next decision', NULL, max(number), NULL FROM decisions";
const LEASES: &str = "SELECT 'leases', NULL, token, expires FROM leases WHERE run = +?";
/// The first number that is not free, of those that would be next.
const TAKEN: &str = "SELECT * FROM (SELECT 'taken', kind, number, NULL FROM memory \
    WHERE kind = +? AND number >= (SELECT next FROM numbers WHERE kind = +?) \
    ORDER BY number LIMIT 1)";
const STANDINGS: &str = "SELECT 'standings', NULL, standing, count(*) FROM items \
    WHERE run = +? AND standing <> 0 AND standing <> 4 GROUP BY standing";
const FIRST_OF_STANDING: &str = "SELECT * FROM (SELECT 'items', body, checksum, NULL FROM items \
    WHERE run = +? AND standing = +? AND standing <> 0 AND standing <> 4 ORDER BY place LIMIT 1)";
const WAITING: &str = "SELECT 'items', body, checksum, NULL FROM dependencies \
    JOIN items ON items.run = dependencies.run AND items.node = dependencies.node \
    WHERE dependencies.run = +? AND on_node = +?";
const SUBTREE: &str =
    "SELECT 'items', body, checksum, NULL FROM items WHERE run = +? AND place >= ? AND place < ?";
const SUBTREE_OF_LAST: &str =
    "SELECT 'items', body, checksum, NULL FROM items WHERE run = +? AND place >= ?";
const NUMBERS_FROM: &str =
    "SELECT number FROM memory WHERE kind = +?1 AND number >= ?2 ORDER BY number";
const LAST_OF_KIND: &str = "SELECT max(number) FROM memory WHERE kind = +?1";
const OPEN_CHILDREN: &str = "SELECT body, checksum FROM items WHERE run = +?1 AND place >= ?2 AND place < ?3 \
    AND standing <> 4 AND length(place) = ?4 ORDER BY place";
const OPEN_CHILDREN_OF_LAST: &str = "SELECT body, checksum FROM items WHERE run = +?1 AND place >= ?2 AND ?3 IS NULL \
    AND standing <> 4 AND length(place) = ?4 ORDER BY place";

/// One select of a statement: what kind of row it is, or its table; then its body
/// and the checksum of it, or two numbers, as far as it has them.
struct RowSelect {
    sql: String,
    values: Vec<Value>,
}

impl RowSelect {
    fn new(sql: &str, values: impl IntoIterator<Item = Value>) -> Self {
        Self {
            sql: sql.to_owned(),
            values: values.into_iter().collect(),
        }
    }

    /// The row of that key.
    fn by_key(key: &Key) -> Self {
        let descriptor = key.table().descriptor();
        let conditions = descriptor.key.iter().map(|column| format!("{column} = +?"));
        let conditions: Vec<String> = conditions.collect();
        let (name, conditions) = (descriptor.name, conditions.join(" AND "));
        Self {
            sql: format!("SELECT '{name}', body, checksum, NULL FROM {name} WHERE {conditions}"),
            values: key.columns().into_iter().map(to_sqlite_value).collect(),
        }
    }

    /// The rows of a query.
    fn by_query(query: &RowQuery) -> Self {
        let descriptor = query.table.descriptor();
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        for (column, condition) in &query.conditions {
            match condition {
                // So that an index of these rows alone is used.
                ColumnCondition::Is(ColumnValue::Flag(true)) => conditions.push((*column).into()),
                ColumnCondition::Is(ColumnValue::Flag(false)) => {
                    conditions.push(format!("NOT {column}"));
                }
                ColumnCondition::Is(value) => {
                    conditions.push(format!("{column} = +?"));
                    values.push(to_sqlite_value(value.clone()));
                }
                ColumnCondition::StartsWith(start) => {
                    // No text that begins with it comes after it with the last
                    // character of all.
                    conditions.push(format!("{column} >= ? AND {column} <= ?"));
                    values.push(Value::Text(start.clone()));
                    values.push(Value::Text(format!("{start}{}", char::MAX)));
                }
            }
        }
        let name = descriptor.name;
        let mut sql = format!("SELECT '{name}', body, checksum, NULL FROM {name}");
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        if let Some(most) = query.last {
            let order: Vec<String> = descriptor
                .order
                .iter()
                .map(|c| format!("{c} DESC"))
                .collect();
            sql = format!(
                "SELECT * FROM ({sql} ORDER BY {} LIMIT 0 + ?)",
                order.join(", ")
            );
            values.push(Value::Integer(i64::try_from(most).unwrap_or(i64::MAX)));
        }
        Self { sql, values }
    }

    /// The item at a place, and all below it.
    fn by_subtree(run: RunId, place: &TreePosition) -> Self {
        let (from, to) = subtree_key_range(place);
        let sql = if to.is_some() {
            SUBTREE
        } else {
            SUBTREE_OF_LAST
        };
        let places = std::iter::once(from).chain(to).map(Value::Blob);
        Self::new(sql, std::iter::once(run_value(run)).chain(places))
    }
}

/// What was loaded, and of which rows it is known whether they are there.
pub(super) struct LoadedRows {
    pub(super) rows: Rows,
    asked: BTreeSet<Key>,
    /// The names that were asked for, by their space and how they begin.
    names: Vec<(ColumnValue, String)>,
}

impl LoadedRows {
    /// Whether it is known if there is a row of that key.
    pub(super) fn knows(&self, key: &Key) -> bool {
        let is_named = |space: &Space, name: &str| {
            let mut names = self.names.iter();
            names.any(|(of, start)| *of == space.as_str().into() && name.starts_with(start))
        };
        self.rows.tables.get(key).is_some()
            || self.asked.contains(key)
            || matches!(key, Key::Name(space, name) if is_named(space, name))
    }
}

/// Loads what is asked for, within the transaction that is open.
pub(super) fn load_rows(
    connection: &Connection,
    wanted: &[Need],
    now: Timestamp,
) -> Result<LoadedRows> {
    let selectors: BTreeSet<Selector> = wanted.iter().map(|need| need.selector(now)).collect();
    let rows = Rows {
        tables: Tables::default(),
        now,
        next_decision: 1,
        leases: BTreeMap::new(),
        free_numbers: [FreeNumbers::free_from(1); KINDS],
        naming: NameRange::ALONE,
        standings: None,
    };
    let mut loader = Loader {
        connection,
        loaded: LoadedRows {
            rows,
            asked: BTreeSet::new(),
            names: Vec::new(),
        },
        selects: Vec::new(),
        numbers: Vec::new(),
        taken: Vec::new(),
    };
    // Always: a decision that forgot to ask would give a number out twice.
    loader.selects.push(RowSelect::new(NEXT_DECISION, []));
    selectors
        .iter()
        .for_each(|selector| loader.select_first(selector));
    loader.execute_selects()?;
    for selector in &selectors {
        loader.select_second(selector)?;
    }
    loader.execute_selects()?;
    for selector in &selectors {
        if let Selector::Successors(run, node) = selector {
            loader.load_successors(*run, node)?;
        }
    }
    if selectors.contains(&Selector::FreeNumbers) {
        loader.load_free_numbers()?;
    }
    Ok(loader.loaded)
}

/// The rows of these keys.
pub(super) fn load_keys<'k>(
    connection: &Connection,
    keys: impl IntoIterator<Item = &'k Key>,
) -> Result<Tables> {
    let selects: Vec<RowSelect> = keys.into_iter().map(RowSelect::by_key).collect();
    let mut tables = Tables::default();
    query_selects(connection, &selects, |row| {
        tables.insert(parse_column(
            row.get_ref(0)?.as_str()?,
            row.get_ref(1)?.as_str()?,
            row.get_ref(2)?,
        )?);
        Ok(())
    })?;
    Ok(tables)
}

/// Executes selects, many in a statement.
fn query_selects(
    connection: &Connection,
    selects: &[RowSelect],
    mut each: impl FnMut(&rusqlite::Row<'_>) -> Result<()>,
) -> Result<()> {
    for some in selects.chunks(SELECTS_MAX) {
        let sql: Vec<&str> = some.iter().map(|select| select.sql.as_str()).collect();
        let mut statement = connection.prepare_cached(&sql.join(" UNION ALL "))?;
        let values = some.iter().flat_map(|select| &select.values);
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            each(row)?;
        }
    }
    Ok(())
}

struct Loader<'c> {
    connection: &'c Connection,
    loaded: LoadedRows,
    /// What is to be selected next.
    selects: Vec<RowSelect>,
    /// The next number of each kind, unless a memory has it already.
    numbers: Vec<(MemoryKind, u64)>,
    /// The kinds of which one has.
    taken: Vec<MemoryKind>,
}

impl Loader<'_> {
    /// Selects all that can be known at once.
    fn select_first(&mut self, selector: &Selector) {
        match selector {
            Selector::Key(key) => self.select_key(key.clone()),
            Selector::Rows(query) | Selector::Named(query) | Selector::Lines(query) => {
                self.select_query(query);
            }
            Selector::Line(run, node) => self.select_nodes(*run, node.line()),
            Selector::Subtree(run, node) => self.select_key(Key::Item(*run, node.clone())),
            Selector::FailureTree(run) => self.select_key(Key::Run(*run)),
            Selector::Dependents(run, node) | Selector::Successors(run, node) => {
                for on in node.line() {
                    let values = [run_value(*run), Value::Text(on.as_str().to_owned())];
                    self.select(WAITING, values);
                }
            }
            Selector::Near(_) | Selector::NextDecision => {}
            Selector::Standings(run) => {
                self.loaded.rows.standings = Some(StandingCounts::default());
                self.select(STANDINGS, [run_value(*run)]);
                for standing in [ItemStanding::Asking, ItemStanding::Broken] {
                    let values = [run_value(*run), Value::Integer(standing.column_value())];
                    self.select(FIRST_OF_STANDING, values);
                }
            }
            Selector::Leases(run) => self.select(LEASES, [run_value(*run)]),
            Selector::FreeNumbers => {
                self.select_numbers();
                for kind in MemoryKind::ALL {
                    let kind = Value::Text(kind.as_str().to_owned());
                    self.select(TAKEN, [kind.clone(), kind]);
                }
            }
        }
    }

    /// Selects what follows from what was found.
    fn select_second(&mut self, selector: &Selector) -> Result<()> {
        match selector {
            Selector::Named(query) => {
                let names = self.loaded.rows.tables.matching_rows(query).into_iter();
                let named: Vec<Key> = names.filter_map(key_of_named_row).collect();
                named.into_iter().for_each(|key| self.select_key(key));
            }
            Selector::Lines(query) => {
                let items = self.loaded.rows.tables.matching_rows(query).into_iter();
                for key in items.map(Row::key).collect::<Vec<_>>() {
                    if let Key::Item(run, node) = key {
                        self.select_nodes(run, node.ancestors());
                    }
                }
            }
            Selector::Subtree(run, node) => self.select_subtree(*run, node),
            Selector::FailureTree(run) => {
                let row = self.loaded.rows.tables.run(*run);
                if row.is_some_and(|row| row.plan.policy.on_dependency_failure.is_some())
                    && let Selector::Rows(tree) = Need::Tree(*run).selector(self.loaded.rows.now)
                {
                    self.select_query(&tree);
                }
            }
            Selector::Dependents(run, node) => {
                for (waiting, depends_on) in self.items_waiting_for(*run, node) {
                    self.select_subtree(*run, &waiting);
                    self.select_nodes(*run, depends_on);
                }
            }
            Selector::Successors(run, node) => {
                for (waiting, _) in self.items_waiting_for(*run, node) {
                    self.select_nodes(*run, waiting.ancestors());
                }
            }
            Selector::Near(tokens) => {
                let near = index::find_similar(self.connection, tokens)?;
                near.into_iter()
                    .for_each(|id| self.select_key(Key::Memory(id)));
            }
            Selector::Key(_)
            | Selector::Rows(_)
            | Selector::Line(..)
            | Selector::Standings(_)
            | Selector::Leases(_)
            | Selector::FreeNumbers
            | Selector::NextDecision => {}
        }
        Ok(())
    }

    fn select(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.selects.push(RowSelect::new(sql, values));
    }

    fn select_numbers(&mut self) {
        if !self.selects.iter().any(|select| select.sql == NUMBERS) {
            self.select(NUMBERS, []);
        }
    }

    fn select_key(&mut self, key: Key) {
        if self.loaded.rows.tables.get(&key).is_none() && !self.loaded.asked.contains(&key) {
            self.selects.push(RowSelect::by_key(&key));
            self.loaded.asked.insert(key);
        }
    }

    fn select_nodes(&mut self, run: RunId, nodes: impl IntoIterator<Item = Node>) {
        let keys = nodes.into_iter().map(|node| Key::Item(run, node));
        keys.for_each(|key| self.select_key(key));
    }

    fn select_query(&mut self, query: &RowQuery) {
        self.selects.push(RowSelect::by_query(query));
        if let [
            (_, ColumnCondition::Is(space)),
            (_, ColumnCondition::StartsWith(start)),
        ] = &*query.conditions
        {
            self.loaded.names.push((space.clone(), start.clone()));
            // Names of attempts begin where the store's do.
            if *space == Space::Attempt.as_str().into() {
                self.select_numbers();
            }
        }
    }

    fn select_subtree(&mut self, run: RunId, node: &Node) {
        if let Some(top) = self.loaded.rows.tables.item(run, node) {
            let select = RowSelect::by_subtree(run, &top.plan.place);
            self.selects.push(select);
        }
    }

    /// The items that depend on one or on one above it, of those that are loaded,
    /// and on what each depends.
    fn items_waiting_for(&self, run: RunId, node: &Node) -> Vec<(Node, Vec<Node>)> {
        let waiting = self.loaded.rows.tables.items_waiting_for(run, node);
        let waiting = waiting.map(|item| (item.node.clone(), item.plan.depends_on.clone()));
        waiting.collect()
    }

    fn execute_selects(&mut self) -> Result<()> {
        let selects = std::mem::take(&mut self.selects);
        query_selects(self.connection, &selects, |row| self.add_row(row))
    }

    fn add_row(&mut self, row: &rusqlite::Row<'_>) -> Result<()> {
        let number = |column: usize| row.get::<_, Option<i64>>(column);
        let unsigned = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
        let rows = &mut self.loaded.rows;
        match row.get_ref(0)?.as_str()? {
            "next decision" => {
                let last = number(2)?.and_then(|last| u64::try_from(last).ok());
                rows.next_decision = last.map_or(1, |last| last + 1);
            }
            "leases" => {
                let expires = Timestamp::from_microsecond(row.get(3)?).ok();
                let token = unsigned(2)?;
                rows.leases.extend(expires.map(|expires| (token, expires)));
            }
            "standings" => {
                let counts = rows.standings.get_or_insert_default();
                let (standing, count) = (number(2)?, unsigned(3)?);
                let count_of = [
                    (ItemStanding::Active, &mut counts.active),
                    (ItemStanding::Asking, &mut counts.asking),
                    (ItemStanding::Broken, &mut counts.broken),
                ];
                for (of, kept) in count_of {
                    if standing == Some(of.column_value()) {
                        *kept = count;
                    }
                }
            }
            "numbers" => {
                rows.naming.first = unsigned(2)?;
                let kind = MemoryKind::parse(row.get_ref(1)?.as_str()?);
                let next = unsigned(3)?;
                self.numbers.extend(kind.map(|kind| (kind, next)));
            }
            "taken" => self
                .taken
                .extend(MemoryKind::parse(row.get_ref(1)?.as_str()?)),
            table => rows.tables.insert(parse_column(
                table,
                row.get_ref(1)?.as_str()?,
                row.get_ref(2)?,
            )?),
        }
        Ok(())
    }

    fn load_free_numbers(&mut self) -> Result<()> {
        for (kind, next) in std::mem::take(&mut self.numbers) {
            let free = if self.taken.contains(&kind) {
                self.free_numbers_from(kind, next)?
            } else {
                FreeNumbers::free_from(next)
            };
            self.loaded.rows.free_numbers[kind as usize] = free;
        }
        Ok(())
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

    fn load_successors(&mut self, run: RunId, node: &Node) -> Result<()> {
        let place = |loader: &Self, node: &Node| {
            let item = loader.loaded.rows.tables.item(run, node);
            item.map(|item| item.plan.place.clone())
        };
        let Some(own) = place(self, node) else {
            return Ok(());
        };
        for (waiting, _) in self.items_waiting_for(run, node) {
            if let Some(place) = place(self, &waiting) {
                self.open_siblings_along_path(run, &place)?;
            }
        }
        let mut needed = self.open_siblings_along_path(run, &own)?;
        needed.retain(|other| !node.is_within(other));
        for other in &needed {
            self.select_subtree(run, other);
        }
        self.execute_selects()?;
        needed.extend(node.line());
        let on = |row: &ItemRow| row.plan.depends_on.clone();
        let within = |row: &&ItemRow| needed.iter().any(|top| row.node.is_within(top));
        let items = self.loaded.rows.tables.items(run);
        let on: Vec<Node> = items.filter(within).flat_map(on).collect();
        self.select_nodes(run, on);
        self.execute_selects()
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
        let mut rows = statement.query(params![run.0.as_bytes(), from, to, level])?;
        let (mut found, mut holding) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let row = parse_column("items", row.get_ref(0)?.as_str()?, row.get_ref(1)?)?;
            if let Row::Item(item) = &row {
                found.push(item.node.clone());
                holding += u32::from(item.plan.turn.is_blocking(ItemTurn::default()));
            }
            if self.loaded.rows.tables.get(&row.key()).is_none() {
                self.loaded.rows.tables.insert(row);
            }
            if holding == HOLDING_MAX {
                break;
            }
        }
        Ok(found)
    }
}

fn run_value(run: RunId) -> Value {
    Value::Blob(run.0.as_bytes().to_vec())
}

/// What a name names.
fn key_of_named_row(row: &Row) -> Option<Key> {
    if let Row::Name(name) = row {
        Some(name.target_key())
    } else {
        None
    }
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
    use piton_core::entry::EntryType;
    use rusqlite::StatementStatus;

    use super::*;
    use crate::sqlite::{index, journal, schema};

    fn sql_of_need(need: &Need) -> String {
        let selector = need.selector(Timestamp::UNIX_EPOCH);
        let (Selector::Rows(query) | Selector::Named(query) | Selector::Lines(query)) = selector
        else {
            panic!("{need:?} is no query");
        };
        RowSelect::by_query(&query).sql
    }

    #[test]
    fn what_a_command_asks_for_is_found_by_an_index() {
        let mut connection = Connection::open_in_memory().expect("a store in memory");
        schema::migrate(&mut connection, std::path::Path::new("memory")).expect("a schema");
        let (run, node) = (RunId::PROJECT, Node::from_text("a"));
        let needs = [
            Need::RunNamed("auth".to_owned()),
            Need::Tree(run),
            Need::OpenAttempts(Some(run)),
            Need::AttemptsAt(run, node.clone()),
            Need::AttemptsOf(run),
            Need::DecisionNumbered(1),
            Need::OpenDecisions(Some(run)),
            Need::LastEntry(EntryType::TaskBlocked),
            Need::Name(Space::Mark, "m".to_owned()),
            Need::NamesFrom(Space::Attempt, "a-".to_owned()),
            Need::Memories(Some(MemoryKind::Learning)),
            Need::LastItem(run),
        ];
        let mut statements: Vec<String> = needs.iter().map(sql_of_need).collect();
        statements.push(RowSelect::by_key(&Key::Item(run, node)).sql);
        let others = [TAKEN, STANDINGS, FIRST_OF_STANDING, WAITING, SUBTREE];
        statements.extend(others.map(str::to_owned));
        for sql in statements {
            let mut statement = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .expect("sound");
            for parameter in 1..=statement.parameter_count() {
                statement.raw_bind_parameter(parameter, "2").expect("bound");
            }
            let mut steps = statement.raw_query();
            while let Some(step) = steps.next().expect("a plan") {
                let step: String = step.get(3).expect("a text");
                let is_scan = step.starts_with("SCAN") && !step.starts_with("SCAN (subquery");
                assert!(!is_scan && !step.contains("TEMP B-TREE"), "{sql}: {step}");
            }
        }
    }

    #[test]
    fn values_are_bound_without_preparing_again() {
        let mut connection = Connection::open_in_memory().expect("a store in memory");
        schema::migrate(&mut connection, std::path::Path::new("memory")).expect("a schema");
        let selects = [
            Need::RunNamed("auth".to_owned()),
            Need::Tree(RunId::PROJECT),
            Need::OpenAttempts(Some(RunId::PROJECT)),
            Need::RecentAttempts(3),
            Need::RecentEntries(3),
            Need::LastEntry(EntryType::TaskBlocked),
            Need::LastItem(RunId::PROJECT),
            Need::NamesFrom(Space::Attempt, "a-".to_owned()),
        ];
        let mut statements: Vec<String> = selects.iter().map(sql_of_need).collect();
        let item = Key::Item(RunId::PROJECT, Node::from_text("a"));
        statements.push(RowSelect::by_key(&item).sql);
        statements.push(statements.join(" UNION ALL "));
        let others = [
            LEASES,
            TAKEN,
            STANDINGS,
            FIRST_OF_STANDING,
            WAITING,
            SUBTREE,
            SUBTREE_OF_LAST,
            LAST_OF_KIND,
            NUMBERS_FROM,
            OPEN_CHILDREN,
            OPEN_CHILDREN_OF_LAST,
            index::HOLDERS,
            journal::STREAM,
            journal::OF_COMMAND,
        ];
        statements.extend(others.map(str::to_owned));
        for sql in &statements {
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
