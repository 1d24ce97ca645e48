//! Stores that older pitons wrote are opened by today's.
//!
//! `tests/data/v<N>/journal.db` was written by [`write_a_fixture`] when N was
//! the newest version; it is never written again.

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::attempt::{ProgramReport, Report, ReportedAttempt, Usage};
use piton_core::command::{ImportPolicy, ImportedFile, ImportedRecord};
use piton_core::entry::EntryType;
use piton_core::evidence::ClaimSettings;
use piton_core::id::{RunId, StreamId};
use piton_core::policy::Limits;
use piton_core::redact::Redactor;
use piton_core::{AttemptId, Command, Need, Node, Outcome, Role};
use piton_store::{CommitError, FaultKind, SqliteStore, Store, StoreAccess, StoreOptions};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, entry_of, facts, keep, log, plan};
use uuid::Uuid;

const RUN: RunId = RunId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001));

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/v{version}/journal.db"))
}

/// Run by hand, once a version: `cargo test -p piton-store -- --ignored write_a_fixture`.
#[test]
#[ignore = "writes the fixture of a new version, by hand"]
fn write_a_fixture() {
    let (dir, mut ids) = (scratch(), Ids::seeded(1));
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let nodes: &[(&str, &[&str])] = &[
        ("design", &[]),
        ("build", &["design"]),
        ("build/parser", &[]),
        ("build/store", &["build/parser"]),
    ];
    let blocked = log(entry_of(
        EntryType::TaskBlocked,
        "t1",
        "the parser has no tests",
    ));
    let begun = [
        keep(plan(RUN, "auth", nodes)),
        log(entry(EntryType::SessionStarted, "go")),
        blocked,
    ];
    for command in begun.into_iter().chain(worked()) {
        store
            .commit(ids.command(), &command, &facts())
            .expect("writable");
    }
    let to = fixture(piton_store::SCHEMA_VERSION);
    fs::create_dir_all(to.parent().expect("it has one")).expect("writable");
    store.backup(&to).expect("there is none yet");
}

/// A run that is worked on, and attempts of others: what version 3 and later
/// know of beyond version 1.
fn worked() -> Vec<Command> {
    let attempt = AttemptId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0a01));
    let (run, token, node) = (RUN, 1, Node::from_text("design"));
    let told = |id: u128, run, item: &str, summary: &str, cost_usd| ReportedAttempt {
        attempt: AttemptId(Uuid::from_u128(
            0x0192_0000_0000_7000_8000_0000_0000_0b00 + id,
        )),
        run,
        node: Node::from_text(item),
        item: item.to_owned(),
        number: None,
        name: Some(format!("{item}-1")),
        agent: "ada".to_owned(),
        ended_at: "2026-01-15T12:00:00Z".parse().ok(),
        report: Box::new(Report {
            summary: Some(summary.to_owned()),
            ..used(Some(300), cost_usd)
        }),
        native: None,
    };
    let lost = told(2, RunId::PROJECT, "notes", "written anew", None);
    vec![
        Command::StartRun {
            run,
            owner: "host, process 1".to_owned(),
            limits: Limits::default(),
            claims: ClaimSettings::default(),
            flags: Box::default(),
            settles: true,
            notify: false,
        },
        Command::StartAttempt {
            run,
            token,
            attempt,
            node: node.clone(),
            role: Role::Worker,
            agent: "sh".to_owned(),
            model: Some("opus".to_owned()),
            memories: Vec::new(),
            tree: None,
            baseline: None,
        },
        Command::EndAttempt {
            run,
            token,
            attempt,
            node,
            fence: 1,
            report: Box::new(used(Some(1_200), Some(0.42))),
            recovery: None,
            claimed: Vec::new(),
            agents: Vec::new(),
        },
        Command::TellAttempt(Box::new(told(
            1,
            RUN,
            "build/parser",
            "by hand",
            Some(0.58),
        ))),
        Command::TellAttempt(Box::new(told(
            2,
            RunId::PROJECT,
            "notes",
            "written",
            Some(1.5),
        ))),
        // A file says nothing of what was used.
        Command::TakeFile(Box::new(ImportedFile {
            path: ".ralph/progress.json".to_owned(),
            found: vec![ImportedRecord::Attempt(Box::new(lost))],
            known: ImportPolicy::Take,
            written: Vec::new(),
            by_person: Vec::new(),
        })),
        Command::TellAttempt(Box::new(ReportedAttempt {
            report: Box::new(used(None, None)),
            ..told(3, RunId::PROJECT, "mail", "", None)
        })),
    ]
}

fn used(input_tokens: Option<u64>, cost_usd: Option<f64>) -> Report {
    Report {
        program: ProgramReport {
            usage: Usage {
                input_tokens,
                cost_usd,
                ..Usage::default()
            },
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    }
}

#[test]
fn what_was_used_before_anybody_summed_it_is_summed() {
    let dir = scratch();
    fs::copy(fixture(3), dir.path().join("journal.db")).expect("the fixture is there");
    let summed = |options: StoreOptions| {
        let store = SqliteStore::open(dir.path(), options).expect("it can be opened");
        assert_eq!(store.verify().expect("readable").damage, []);
        let needs = [Need::Runs, Need::Tree(RUN)];
        let tables = store.load_rows(&needs).expect("readable").tables;
        let run = |run| tables.run(run).map(|row| row.spent.spend.clone());
        let design = tables.item(RUN, &Node::from_text("design"));
        let all = [
            run(RUN),
            run(RunId::PROJECT),
            design.map(|row| row.work.spend.clone()),
        ];
        all.map(|spend| {
            let spend = spend.expect("it is there");
            (spend.attempts, spend.budget_tokens(), spend.describe_cost())
        })
    };
    let said = |words: &str| Some(words.to_owned());
    let expect = [
        (2, Some(1_500), said("$1.00 said")),
        (2, Some(300), said("$1.50 said, 1 attempt unknown")),
        (1, Some(1_200), said("$0.42 said")),
    ];
    assert_eq!(summed(StoreOptions::read_only()), expect);
    assert_eq!(summed(StoreOptions::new(Redactor::rules_only())), expect);
    // Whoever comes later finds what the first one made of it.
    assert_eq!(summed(StoreOptions::read_only()), expect);
}

#[track_caller]
fn check(version: u32) {
    let dir = scratch();
    fs::copy(fixture(version), dir.path().join("journal.db")).expect("the fixture is there");
    let reader =
        SqliteStore::open(dir.path(), StoreOptions::read_only()).expect("old stores can be read");
    assert_eq!(reader.verify().expect("readable").damage, []);
    drop(reader);
    let store = SqliteStore::open(dir.path(), StoreOptions::new(Redactor::rules_only()))
        .expect("old stores can be written");
    let rows = store
        .load_rows(&[Need::Tree(RUN), Need::Run(RUN), Need::Blockers])
        .expect("readable");
    assert_eq!(rows.tables.tree(RUN).count(), 4);
    assert_eq!(
        rows.tables.run(RUN).map(|run| run.name.as_str()),
        Some("auth")
    );
    assert_eq!(rows.tables.blockers().count(), 1);
    let sessions = store.event_count(&StreamId::sessions()).expect("readable");
    let more = log(entry(EntryType::SessionEnded, "enough"));
    store
        .commit(Ids::seeded(9).command(), &more, &facts())
        .expect("writable");
    let now = store.event_count(&StreamId::sessions()).expect("readable");
    assert_eq!(now, sessions + 1);
    assert_eq!(store.verify().expect("readable").damage, []);
}

#[test]
fn a_store_of_version_1_is_opened_and_goes_on() {
    check(1);
}

#[test]
fn a_store_of_version_3_is_opened_and_goes_on() {
    check(3);
}

#[test]
fn a_store_of_version_4_is_opened_and_goes_on() {
    check(4);
}

#[test]
fn a_store_of_version_5_is_opened_and_goes_on() {
    check(5);
}

#[test]
fn a_store_of_version_6_is_opened_and_goes_on() {
    check(6);
}

#[test]
fn a_store_of_version_7_is_opened_and_goes_on() {
    check(7);
}

#[test]
fn a_store_of_version_8_is_opened_and_goes_on() {
    check(8);
}

#[test]
fn a_store_of_version_9_is_opened_and_goes_on() {
    check(9);
}

#[test]
fn a_store_of_version_10_is_opened_and_goes_on() {
    check(10);
}

#[test]
fn a_store_of_version_11_is_opened_and_goes_on() {
    check(11);
}

#[test]
fn a_store_of_version_12_is_opened_and_goes_on() {
    check(12);
}

/// Its rows cannot be folded anew, and say what they said.
#[test]
fn a_store_with_an_unknown_event_is_brought_up_to_date() {
    let dir = scratch();
    let db = dir.path().join("journal.db");
    fs::copy(fixture(10), &db).expect("the fixture is there");
    let other = rusqlite::Connection::open(&db).expect("a database");
    let changed = other
        .execute("UPDATE events SET kind = 'keel-laid' WHERE seq = 1", [])
        .expect("writable");
    assert_eq!(changed, 1);
    drop(other);
    let store = SqliteStore::open(dir.path(), StoreOptions::new(Redactor::rules_only()))
        .expect("it can be opened");
    let needs = [Need::Run(RUN), Need::Tree(RUN)];
    let tables = store.load_rows(&needs).expect("readable").tables;
    assert_eq!(tables.tree(RUN).count(), 4);
    let run = tables.run(RUN).expect("it is there");
    assert_eq!(
        run.spent.spend.describe_cost().as_deref(),
        Some("$1.00 said")
    );
    assert_eq!(run.plan.source, "sprints/auth/SPRINT.yaml");
}

#[test]
fn the_journal_of_a_newer_store_can_still_be_read_and_nothing_else() {
    let dir = scratch();
    let db = dir.path().join("journal.db");
    fs::copy(fixture(1), &db).expect("the fixture is there");
    // A newer store has all columns of today.
    let today = SqliteStore::open(dir.path(), StoreOptions::new(Redactor::rules_only()));
    drop(today.expect("old stores can be written"));
    let newer = rusqlite::Connection::open(&db).expect("a database");
    newer
        .execute_batch("PRAGMA user_version = 99; ALTER TABLE runs RENAME TO renamed;")
        .expect("writable");
    drop(newer);
    let options = |access| StoreOptions {
        access,
        ..StoreOptions::read_only()
    };
    let refused = SqliteStore::open(dir.path(), options(StoreAccess::ReadOnly)).expect_err("newer");
    assert_eq!(refused.kind, FaultKind::Newer);
    let journal =
        SqliteStore::open(dir.path(), options(StoreAccess::JournalOnly)).expect("readable");
    assert_eq!(journal.read_journal(None, 100).expect("readable").len(), 7);
}

/// A new version changes every view, and a page that cannot be read ended that.
#[test]
fn behind_a_damaged_view_an_old_store_is_exported_and_rebuilt() {
    let dir = scratch();
    let db = dir.path().join("journal.db");
    let views = "SELECT name, rootpage FROM sqlite_schema \
                 WHERE name IN ('runs', 'items', 'entries', 'names', 'items_open')";
    let pages: Vec<(String, u32)> = rusqlite::Connection::open(fixture(12))
        .and_then(|old| {
            let mut select = old.prepare(views)?;
            let pages = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            pages.collect()
        })
        .expect("readable");
    let whole = fs::read(fixture(12)).expect("the fixture is there");
    for (view, page) in pages {
        let mut noisy = whole.clone();
        let end = page as usize * 4096;
        noisy[end - 4096..end].fill(0xa5);
        fs::write(&db, noisy).expect("writable");
        let journal_only = StoreOptions {
            access: StoreAccess::JournalOnly,
            ..StoreOptions::read_only()
        };
        let journal = SqliteStore::open(dir.path(), journal_only);
        let journal = journal.unwrap_or_else(|fault| panic!("{view}: {fault:?}"));
        let events = journal.read_journal(None, 100).expect("readable").len();
        drop(journal);
        let rebuilt = SqliteStore::rebuild(dir.path(), &mut |_| ());
        let rebuilt = rebuilt.unwrap_or_else(|fault| panic!("{view}: {fault:?}"));
        assert_eq!(rebuilt.verdict.events, events as u64, "{view}");
        assert_eq!(rebuilt.verdict.damage, [], "{view}");
    }
}

#[test]
fn a_store_that_a_newer_piton_migrated_meanwhile_is_written_no_more() {
    let (dir, mut ids) = (scratch(), Ids::seeded(1));
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let command = log(entry(EntryType::SessionStarted, "go"));
    let commit = |id| store.commit(id, &command, &facts());
    commit(ids.command()).expect("writable");
    rusqlite::Connection::open(dir.path().join("journal.db"))
        .and_then(|newer| newer.execute_batch("PRAGMA user_version = 99"))
        .expect("writable");
    let refused = commit(ids.command()).expect_err("the tables are of a newer one");
    let CommitError::Fault(fault) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(fault.kind, FaultKind::Newer);
    let refused = store.rebuild_views().map(drop).expect_err("the same");
    assert_eq!(refused.kind, FaultKind::Newer);
}
