//! Whatever is changed behind the store's back is found, and stops nothing.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use piton_core::Need;
use piton_core::entry::EntryType;
use piton_core::id::RunId;
use piton_simkit::seed::salted;
use piton_store::{
    Cursor, Damage, FaultKind, SqliteStore, Store, StoreAccess, StoreOptions, UnreadableEvent,
};
use piton_testkit::chance::{Chance, Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry_of, facts, keep, log, plan};
use rusqlite::{Connection, params};
use tempfile::TempDir;
use uuid::Uuid;

/// A store with some of everything, written back into one file.
struct Victim {
    dir: TempDir,
}

impl Victim {
    fn new() -> Self {
        Self::with_entries(12)
    }

    fn with_entries(count: u32) -> Self {
        let dir = scratch();
        let store = sqlite_in(dir.path(), TestClock::seeded(1));
        let mut ids = Ids::seeded(3);
        let run = RunId(Uuid::from_u128(5));
        let nodes: &[(&str, &[&str])] = &[("a", &[]), ("a/one", &[]), ("b", &["a"])];
        store
            .commit(ids.command(), &keep(plan(run, "auth", nodes)), &facts())
            .expect("writable");
        for nth in 0..count {
            let kind = if nth % 5 == 4 {
                EntryType::TaskCompleted
            } else {
                EntryType::TaskBlocked
            };
            let command = log(entry_of(
                kind,
                &format!("t{}", nth % 3),
                &format!("number {nth} of the words"),
            ));
            store
                .commit(ids.command(), &command, &facts())
                .expect("writable");
        }
        drop(store);
        let victim = Self { dir };
        victim.sql("PRAGMA wal_checkpoint(TRUNCATE)");
        victim
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn db(&self) -> PathBuf {
        self.path().join("journal.db")
    }

    fn connection(&self) -> Connection {
        Connection::open(self.db()).expect("it is there")
    }

    fn sql(&self, sql: &str) {
        self.connection().execute_batch(sql).expect("good SQL");
    }

    /// What stands in the tables that say what happened, as SQLite reads it.
    fn bodies(&self) -> Vec<String> {
        let connection = self.connection();
        let sql = "SELECT body FROM events UNION ALL SELECT body FROM entries \
                   UNION ALL SELECT body FROM blockers";
        let mut statement = connection.prepare(sql).expect("good SQL");
        let bodies = statement.query_map([], |row| row.get(0)).expect("readable");
        bodies.collect::<Result<_, _>>().expect("texts")
    }

    fn damage(&self) -> Vec<Damage> {
        let store = SqliteStore::open(self.path(), StoreOptions::read_only()).expect("it opens");
        store.verify().expect("damage is an answer").damage
    }

    #[track_caller]
    fn check(&self, place: &str, position: Option<u64>, says: &str) {
        let damage = self.damage();
        let found = damage
            .iter()
            .any(|one| one.place == place && one.position == position && one.what.contains(says));
        assert!(found, "{damage:#?}");
    }
}

/// Changes the store with SQL and checks what is found.
#[track_caller]
fn check(sql: &str, place: &str, position: Option<u64>, says: &str) {
    let victim = Victim::new();
    assert_eq!(victim.damage(), []);
    victim.sql(sql);
    victim.check(place, position, says);
}

const RUN_STREAM: &str = "run:00000000-0000-0000-0000-000000000005";

#[test]
fn one_flipped_bit_in_any_stored_body_is_found() {
    let victim = Victim::new();
    let db = victim.connection();
    let bodies: Vec<(i64, Vec<u8>)> = db
        .prepare("SELECT seq, CAST(body AS BLOB) FROM events")
        .and_then(|mut select| {
            select
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
        .expect("readable");
    assert_eq!(bodies.len(), 16);
    let mut chance = Chance::seeded(salted(11));
    for (seq, body) in bodies {
        for _ in 0..6 {
            let (at, bit) = (chance.below(body.len() as u64), chance.below(8));
            let mut flipped = body.clone();
            flipped[usize::try_from(at).expect("small")] ^= 1 << bit;
            let put = |bytes: &[u8]| {
                db.execute(
                    "UPDATE events SET body = CAST(?2 AS TEXT) WHERE seq = ?1",
                    params![seq, bytes],
                )
                .expect("writable")
            };
            put(&flipped);
            let damage = victim.damage();
            let (place, position) = if seq <= 4 {
                (RUN_STREAM, seq)
            } else {
                ("sessions", seq - 4)
            };
            let found = damage.iter().any(|one| {
                one.place == place
                    && one.position == u64::try_from(position).ok()
                    && one.kind.is_some()
            });
            assert!(found, "bit {bit} of byte {at} of event {seq}: {damage:#?}");
            put(&body);
        }
    }
    assert_eq!(victim.damage(), []);
}

#[test]
fn one_flipped_bit_in_the_file_is_found() {
    let victim = Victim::new();
    let whole = fs::read(victim.db()).expect("readable");
    let read = victim.bodies();
    let words = b"number 7 of the words";
    let places: Vec<usize> = whole
        .windows(words.len())
        .enumerate()
        .filter(|(_, found)| found == words)
        .map(|(at, _)| at)
        .collect();
    let mut found = 0;
    for place in places {
        for at in [place, place + 7, place + 20] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x20;
            fs::write(victim.db(), &flipped).expect("writable");
            // What SQLite has moved leaves a copy behind, which nobody reads.
            if victim.bodies() != read {
                assert_ne!(victim.damage(), [], "byte {at}");
                found += 1;
            }
        }
    }
    assert!(
        found >= 9,
        "in the event, the entry and the blocker: {found}"
    );
    fs::write(victim.db(), &whole).expect("writable");
    assert_eq!(victim.damage(), []);
}

#[test]
fn a_page_of_noise_anywhere_is_found_and_the_rest_is_read() {
    let victim = Victim::new();
    let whole = fs::read(victim.db()).expect("readable");
    let mut chance = Chance::seeded(salted(5));
    // The first page is the header: without it there is no database.
    for page in 1..whole.len() / 4096 {
        let mut noisy = whole.clone();
        for byte in &mut noisy[page * 4096..(page + 1) * 4096] {
            *byte = chance.number().to_be_bytes()[0];
        }
        fs::write(victim.db(), &noisy).expect("writable");
        match SqliteStore::open(victim.path(), StoreOptions::read_only()) {
            Ok(store) => match store.verify() {
                Ok(verdict) => assert_ne!(verdict.damage, [], "page {page}"),
                Err(fault) => assert_eq!(fault.kind, FaultKind::Damaged, "page {page}"),
            },
            Err(fault) => assert_eq!(fault.kind, FaultKind::Damaged, "page {page}"),
        }
    }
}

#[test]
fn a_file_that_was_cut_off_is_found() {
    let victim = Victim::new();
    let whole = fs::read(victim.db()).expect("readable");
    for kept in [
        whole.len() - 4096,
        whole.len() / 2,
        5000,
        4096,
        1000,
        100,
        17,
    ] {
        fs::write(victim.db(), &whole[..kept]).expect("writable");
        match SqliteStore::open(victim.path(), StoreOptions::read_only()) {
            Ok(store) => match store.verify() {
                Ok(verdict) => assert_ne!(verdict.damage, [], "{kept} bytes"),
                Err(fault) => assert_eq!(fault.kind, FaultKind::Damaged, "{kept} bytes"),
            },
            Err(fault) => assert_eq!(fault.kind, FaultKind::Damaged, "{kept} bytes: {fault:?}"),
        }
    }
}

#[test]
fn a_missing_end_of_a_stream_is_found_by_its_head() {
    check(
        "DELETE FROM events WHERE seq > 14",
        "sessions",
        None,
        "the last 2 of 12 events are missing",
    );
    check(
        "DELETE FROM events WHERE stream = 1",
        RUN_STREAM,
        None,
        "the last 4 of 4 events are missing",
    );
}

#[test]
fn a_missing_event_in_the_middle_is_found() {
    check(
        "DELETE FROM events WHERE seq = 8",
        "sessions",
        Some(5),
        "the event before it, 4, is missing",
    );
    check(
        "DELETE FROM events WHERE seq IN (6, 7, 8)",
        "sessions",
        Some(5),
        "the events before it, 2 to 4, are missing",
    );
}

#[test]
fn a_stream_that_was_taken_out_with_its_head_is_found() {
    let sql = "DELETE FROM events WHERE stream = 1; DELETE FROM streams WHERE id = 1";
    check(sql, "events", None, "numbers 1 to 4 are missing");
}

#[test]
fn a_missing_head_is_found() {
    check(
        "DELETE FROM streams WHERE name = 'sessions'",
        "events",
        None,
        "belongs to no stream",
    );
}

#[test]
fn a_head_that_was_set_back_is_found() {
    check(
        "UPDATE streams SET count = 10 WHERE id = 2",
        "sessions",
        None,
        "2 events more than the 10",
    );
    check(
        "UPDATE streams SET hash = zeroblob(32) WHERE id = 2",
        "sessions",
        None,
        "names another last event",
    );
    check(
        "UPDATE streams SET time = time + 1 WHERE id = 2",
        "sessions",
        None,
        "another time",
    );
}

#[test]
fn a_changed_column_of_an_event_is_found() {
    let says = "is not what its hash was made of";
    for change in [
        "time = time + 1",
        "kind = 'entry-loggee'",
        "version = 2",
        "actor = 'person:eve'",
        "id = zeroblob(16)",
        "command = zeroblob(16)",
    ] {
        check(
            &format!("UPDATE events SET {change} WHERE seq = 16"),
            "sessions",
            Some(12),
            says,
        );
    }
    check(
        "UPDATE events SET actor = 'ada' WHERE seq = 9",
        "sessions",
        Some(5),
        "cannot be read",
    );
    check(
        "UPDATE events SET hash = zeroblob(31) WHERE seq = 9",
        "sessions",
        Some(5),
        "cannot be read",
    );
}

#[test]
fn a_row_of_a_view_that_was_changed_by_hand_is_found() {
    check(
        "UPDATE entries SET body = replace(body, 'number 3', 'number 4')",
        "entries",
        None,
        "entry 4 is not what the journal says",
    );
    check(
        "DELETE FROM entries WHERE position = 4",
        "entries",
        None,
        "entry 4 is missing",
    );
    check("DELETE FROM blockers", "blockers", None, "is missing");
    check(
        "UPDATE runs SET body = replace(body, '\"open_roots\":2', '\"open_roots\":1')",
        "runs",
        None,
        "is not what the journal says",
    );
    check(
        "UPDATE items SET body = 'x' WHERE node = 'b'",
        "items",
        None,
        "cannot be read",
    );
    check(
        "UPDATE items SET standing = 3 WHERE node = 'b'",
        "items",
        None,
        "the columns of item",
    );
    check(
        "UPDATE runs SET name = 'other'",
        "runs",
        None,
        "the columns of run",
    );
    check(
        "DELETE FROM dependencies",
        "dependencies",
        None,
        "`b` depends on `a`, which is not noted",
    );
    check(
        "INSERT INTO dependencies SELECT run, 'b', 'a' FROM dependencies",
        "dependencies",
        None,
        "`a` is noted to depend on `b`",
    );
    let twice =
        "INSERT INTO entries SELECT 99, type, body, time, checksum FROM entries WHERE position = 4";
    check(twice, "entries", None, "entry 4 is there twice");
}

/// One bit of a row that is still JSON, as a bad disk can leave it.
#[test]
fn a_row_with_a_changed_word_is_never_an_answer() {
    let run = RunId(Uuid::from_u128(5));
    let changes = [
        ("runs", "auth", "auti", Need::Runs),
        ("runs", "auth", "auti", Need::Run(run)),
        ("items", "a/one", "a/ong", Need::Tree(run)),
        ("runs", "auth", "auti", Need::RunNamed("auth".to_owned())),
        ("entries", "number 3", "number 2", Need::RecentEntries(20)),
        ("blockers", "number", "numbes", Need::Blockers),
    ];
    for (table, is, becomes, need) in changes {
        let victim = Victim::new();
        let load = || {
            let store = SqliteStore::open(victim.path(), StoreOptions::read_only());
            let loaded = store.and_then(|store| store.load_rows(std::slice::from_ref(&need)));
            loaded.map(|rows| rows.tables)
        };
        load().expect("it is whole");
        victim.sql(&format!(
            "UPDATE {table} SET body = replace(body, '{is}', '{becomes}')"
        ));
        match load() {
            Ok(rows) => panic!("{table}: {rows:?}"),
            Err(fault) => assert_eq!(fault.kind, FaultKind::Damaged, "{table}"),
        }
    }
}

#[test]
fn an_event_of_a_newer_piton_is_named_and_not_called_damaged_by_its_hash() {
    let victim = Victim::new();
    // A whole event of a kind that only the future knows.
    let db = victim.connection();
    let (hash, time): ([u8; 32], i64) = db
        .query_row("SELECT hash, time FROM streams WHERE id = 2", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("readable");
    let record = future_record(time, &hash);
    db.execute(
        "INSERT INTO events (stream, position, id, time, actor, kind, version, body, command, hash) \
         VALUES (2, 13, ?1, ?2, 'person:ada', 'entry-undone', 7, '{}', ?3, ?4)",
        params![record.stamp.id.0.as_bytes(), time, record.command.0.as_bytes(), record.hash],
    )
    .expect("writable");
    db.execute(
        "UPDATE streams SET count = 13, hash = ?1 WHERE id = 2",
        [record.hash],
    )
    .expect("writable");
    let damage = victim.damage();
    let one = damage
        .iter()
        .find(|one| one.position == Some(13))
        .expect("it is named");
    assert_eq!(one.kind.as_deref(), Some("entry-undone"));
    assert!(
        one.what
            .contains("is whole, but of a kind that this piton does not know (version 7)"),
        "{one:?}"
    );
    assert!(
        damage.iter().all(|one| !one.what.contains("hash")),
        "{damage:#?}"
    );
}

fn future_record(time: i64, previous: &[u8; 32]) -> piton_core::journal::Record {
    use piton_core::id::{CommandId, EventId, StreamId};
    let mut record = piton_core::journal::Record {
        stream: StreamId::sessions(),
        stamp: piton_core::journal::EventStamp {
            id: EventId(Uuid::from_u128(13)),
            position: 13,
            time: jiff::Timestamp::from_microsecond(time).expect("in range"),
            actor: piton_core::Actor::Person("ada".to_owned()),
            checkout: None,
        },
        kind: "entry-undone".to_owned(),
        version: 7,
        body: piton_core::journal::RecordBody::Text("{}".to_owned()),
        command: CommandId(Uuid::from_u128(14)),
        form: piton_core::journal::HashForm::One,
        hash: [0; 32],
    };
    record.hash = record.compute_hash(previous);
    record
}

/// The events that were read: their streams and positions.
type Positions = BTreeSet<(String, u64)>;

/// What comes of reading the journal event by event: positions by stream, and what
/// cannot be read.
fn salvage(victim: &Victim) -> Option<(Positions, Vec<UnreadableEvent>)> {
    let store = SqliteStore::open(victim.path(), StoreOptions::read_only()).ok()?;
    let (mut whole, mut unreadable) = (BTreeSet::new(), Vec::new());
    let read = store.salvage_journal(&mut |event| {
        match event {
            Ok(record) => {
                let at = (record.stream.to_string(), record.stamp.position);
                assert!(whole.insert(at), "one is there twice");
            }
            Err(event) => unreadable.push(event),
        }
        ControlFlow::Continue(())
    });
    read.ok().map(|()| (whole, unreadable))
}

#[test]
fn a_damaged_event_hides_no_other_one() {
    for (sql, reads) in [
        (
            "UPDATE events SET body = CAST(x'ff00' AS TEXT) WHERE seq = 9",
            15,
        ),
        ("UPDATE events SET actor = 'ada' WHERE seq = 9", 15),
        (
            "UPDATE events SET time = 9223372036854775807 WHERE seq = 9",
            15,
        ),
        (
            "UPDATE events SET id = zeroblob(3) WHERE seq IN (1, 16)",
            14,
        ),
        ("UPDATE events SET position = -3 WHERE seq = 9", 15),
        ("UPDATE events SET position = 99 WHERE seq = 9", 16),
        ("DELETE FROM events WHERE seq = 9", 15),
        ("UPDATE events SET stream = 77 WHERE seq = 9", 15),
        ("UPDATE streams SET count = 3 WHERE id = 2", 16),
        ("DELETE FROM streams WHERE id = 2", 4),
    ] {
        let victim = Victim::new();
        let (healthy, none) = salvage(&victim).expect("it opens");
        assert_eq!((healthy.len(), none), (16, vec![]));
        victim.sql(sql);
        let (whole, unreadable) = salvage(&victim).expect("it opens");
        assert_eq!(whole.len(), reads, "{sql}: {unreadable:#?}");
        if reads < 16 {
            // One whose position is lost is named, and so is the gap in its stream.
            let named = whole.len() + unreadable.len();
            assert!((16..=17).contains(&named), "{sql}: {unreadable:#?}");
            let named = |event: &UnreadableEvent| event.position.is_some() || event.seq.is_some();
            assert!(unreadable.iter().all(named), "{sql}: {unreadable:#?}");
        }
    }
}

#[test]
fn behind_a_damaged_page_every_event_is_read_or_named() {
    let victim = Victim::with_entries(300);
    let whole = fs::read(victim.db()).expect("readable");
    let mut chance = Chance::seeded(salted(6));
    for page in 1..whole.len() / 4096 {
        let mut noisy = whole.clone();
        for byte in &mut noisy[page * 4096..(page + 1) * 4096] {
            *byte = chance.number().to_be_bytes()[0];
        }
        fs::write(victim.db(), &noisy).expect("writable");
        let Some((read, unreadable)) = salvage(&victim) else {
            continue;
        };
        let named = read.len() + unreadable.len();
        assert!(named >= 304, "page {page}: {named} {unreadable:#?}");
    }
}

/// Reads page by page, as `piton journal export` does.
fn read_pages(victim: &Victim) -> Result<usize, FaultKind> {
    let store = SqliteStore::open(victim.path(), StoreOptions::read_only()).expect("it opens");
    let (mut cursor, mut count) = (None, 0);
    for _ in 0..100 {
        let page = store.read_journal(cursor.as_ref(), 5);
        let page = page.map_err(|fault| fault.kind)?;
        let Some(last) = page.last() else {
            return Ok(count);
        };
        cursor = Some(Cursor::from(last));
        count += page.len();
    }
    panic!("it does not end");
}

#[test]
fn pages_of_a_journal_end_with_all_of_its_events_or_with_damage() {
    let victim = Victim::new();
    assert_eq!(read_pages(&victim), Ok(16));
    for sql in [
        "UPDATE streams SET count = 3 WHERE id = 2",
        "UPDATE streams SET count = 0 WHERE id = 2",
        "UPDATE streams SET count = 13 WHERE id = 2",
        "UPDATE streams SET count = count + 1000000 WHERE id = 2",
        "DELETE FROM streams WHERE id = 2",
        "DELETE FROM streams",
        "UPDATE events SET position = 99 WHERE seq = 16",
        "UPDATE events SET position = 99 WHERE seq = 9",
        "DELETE FROM events WHERE seq = 9",
    ] {
        let victim = Victim::new();
        victim.sql(sql);
        assert_eq!(read_pages(&victim), Err(FaultKind::Damaged), "{sql}");
    }
}

/// A third stream, so that counts near the greatest number add up to more than there is.
const GREATEST_COUNTS: &str = "INSERT INTO streams SELECT 3, 'third', count, hash, time FROM streams \
                               WHERE id = 2; UPDATE streams SET count = 9223372036854775800";

#[test]
fn what_a_head_counts_too_many_is_one_gap() {
    for (sql, gaps) in [
        ("UPDATE streams SET count = count + 1000000 WHERE id = 2", 1),
        (
            "UPDATE streams SET count = count + 1099511627776 WHERE id = 2",
            1,
        ),
        (GREATEST_COUNTS, 3),
    ] {
        let victim = Victim::new();
        victim.sql(sql);
        let (whole, unreadable) = salvage(&victim).expect("it opens");
        assert_eq!((whole.len(), unreadable.len()), (16, gaps), "{sql}");
        let first = &unreadable[gaps.min(2) - 1];
        assert_eq!(
            (
                first.stream.as_ref().map(ToString::to_string),
                first.position
            ),
            (Some("sessions".to_owned()), Some(13)),
            "{sql}"
        );
        assert!(first.what.contains("13 to "), "{sql}: {}", first.what);
    }
}

#[test]
fn numbers_that_are_too_great_keep_nothing_from_ending() {
    let noise = |victim: &Victim| {
        let mut bytes = fs::read(victim.db()).expect("readable");
        let words = b"number 100 of the words";
        let at = bytes.windows(words.len()).position(|found| found == words);
        let page = at.expect("it is there") / 4096 * 4096;
        bytes[page..page + 4096].fill(0xa5);
        fs::write(victim.db(), bytes).expect("writable");
    };
    for sql in [
        GREATEST_COUNTS,
        "UPDATE events SET seq = 4611686018427387904 WHERE seq = 9",
        "UPDATE events SET position = 4611686018427387904 WHERE seq = 9",
    ] {
        let victim = Victim::with_entries(300);
        victim.sql(sql);
        assert_ne!(victim.damage(), [], "{sql}");
        let (whole, _) = salvage(&victim).expect("it opens");
        assert_eq!(whole.len(), 304, "{sql}");
        noise(&victim);
        assert_ne!(victim.damage(), [], "{sql}");
        let (whole, unreadable) = salvage(&victim).expect("it opens");
        assert!(whole.len() > 200, "{sql}: {}", whole.len());
        assert!(unreadable.len() < 2_000, "{sql}: {}", unreadable.len());
    }
}

#[test]
fn views_are_made_anew_whatever_was_wrong_with_them() {
    for sql in [
        "UPDATE items SET body = 'x'",
        "DELETE FROM entries; DELETE FROM dependencies; DELETE FROM runs",
        "UPDATE attempts SET open = 1; UPDATE items SET standing = 3 WHERE node = 'b'",
        "DROP INDEX items_in_tree; DELETE FROM blockers",
        "",
    ] {
        let victim = Victim::new();
        victim.sql(sql);
        let verdict = SqliteStore::open(victim.path(), StoreOptions::read_only())
            .and_then(|store| store.verify())
            .expect("damage is an answer");
        assert_eq!(verdict.journal_damage, 0, "{sql}");
        let rebuilt = SqliteStore::rebuild(victim.path(), &mut |_| ()).expect("it is possible");
        assert!(rebuilt.kept.expect("it is kept").exists());
        assert_eq!(
            (rebuilt.verdict.events, rebuilt.verdict.damage),
            (16, vec![])
        );
        assert_eq!(victim.damage(), [], "{sql}");
    }
}

#[test]
fn a_view_whose_description_is_damaged_keeps_nothing_of_the_journal_back() {
    let names = [
        "decisions",
        "items",
        "items_open",
        "documents",
        "attempts_at",
    ];
    for name in names {
        let victim = Victim::new();
        let connection = victim.connection();
        let tolerant = rusqlite::config::DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA;
        connection.set_db_config(tolerant, true).expect("it can be");
        let damage =
            "UPDATE sqlite_schema SET sql = replace(sql, 'CREATE ', 'CRE') WHERE name = ?1";
        assert_eq!(connection.execute(damage, [name]).expect("writable"), 1);
        drop(connection);
        let refused = SqliteStore::open(victim.path(), StoreOptions::read_only());
        let fault = refused.expect_err("the views are not whole");
        assert_eq!(fault.kind, FaultKind::Damaged, "{name}");
        let options = StoreOptions {
            access: StoreAccess::JournalOnly,
            ..StoreOptions::read_only()
        };
        let store = SqliteStore::open(victim.path(), options).expect("the journal is whole");
        let mut events = 0;
        let salvaged = store.salvage_journal(&mut |event| {
            events += u32::from(event.is_ok());
            ControlFlow::Continue(())
        });
        salvaged.expect("readable");
        assert_eq!(events, 16, "{name}");
        let verdict = store.verify().expect("damage is an answer");
        assert_ne!(verdict.damage, [], "{name}");
        assert_eq!(verdict.journal_damage, 0, "{name}: {:?}", verdict.damage);
        drop(store);
        SqliteStore::rebuild(victim.path(), &mut |_| ()).expect("the events are whole");
        assert_eq!(victim.damage(), [], "{name}");
    }
}

#[test]
fn a_page_of_noise_among_the_views_is_left_behind_by_a_rebuild() {
    let victim = Victim::new();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name IN ('items', 'entries', 'items_open')";
    let pages: Vec<u32> = victim
        .connection()
        .prepare(sql)
        .and_then(|mut select| select.query_map([], |row| row.get(0))?.collect())
        .expect("readable");
    let whole = fs::read(victim.db()).expect("readable");
    for page in pages {
        let mut noisy = whole.clone();
        let page = page as usize;
        noisy[(page - 1) * 4096..page * 4096].fill(0xa5);
        fs::write(victim.db(), noisy).expect("writable");
        assert_ne!(victim.damage(), [], "page {page}");
        SqliteStore::rebuild(victim.path(), &mut |_| ()).expect("the events are whole");
        assert_eq!(victim.damage(), [], "page {page}");
    }
}

#[test]
fn a_rebuild_refuses_a_damaged_journal_and_a_store_in_use() {
    let victim = Victim::new();
    let open = SqliteStore::open(victim.path(), StoreOptions::read_only()).expect("it opens");
    open.verify().expect("readable");
    let fault = SqliteStore::rebuild(victim.path(), &mut |_| ()).expect_err("it is in use");
    assert!(fault.what.contains("in use"), "{fault}");
    drop(open);
    victim.sql("UPDATE events SET body = '{' WHERE seq = 9");
    let before = fs::read(victim.db()).expect("readable");
    let fault = SqliteStore::rebuild(victim.path(), &mut |_| ()).expect_err("it is damaged");
    assert_eq!(fault.kind, FaultKind::Damaged);
    assert!(fault.what.contains("sessions, event 5"), "{fault}");
    assert_eq!(fs::read(victim.db()).expect("readable"), before);
    let left = fs::read_dir(victim.path()).expect("readable").flatten();
    let names: Vec<_> = left.map(|file| file.file_name()).collect();
    let is_new = |name: &std::ffi::OsString| name.to_string_lossy().contains(".new");
    assert!(!names.iter().any(is_new), "{names:?}");
}

#[test]
fn a_rebuild_names_the_first_event_that_cannot_be_copied() {
    let victim = Victim::with_entries(300);
    let mut bytes = fs::read(victim.db()).expect("readable");
    let words = b"number 100 of the words";
    let windows = bytes.windows(words.len()).enumerate();
    let found: Vec<usize> = windows
        .filter(|(_, found)| found == words)
        .map(|(at, _)| at / 4096 * 4096)
        .collect();
    for page in found {
        bytes[page..page + 4096].fill(0xa5);
    }
    fs::write(victim.db(), bytes).expect("writable");
    let fault = SqliteStore::rebuild(victim.path(), &mut |_| ()).expect_err("it is damaged");
    assert_eq!(fault.kind, FaultKind::Damaged);
    assert!(fault.what.contains("sessions, event "), "{fault}");
}
