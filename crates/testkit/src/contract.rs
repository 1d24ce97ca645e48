//! What every store must do, as tests: see [`store_contract!`].
//!
//! Each function states one claim of [`piton_store::Store`] and tries it on an
//! empty store with a clock that stands still.

use piton_core::event::RunEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::{Report, ReportedAttempt};
use piton_core::entry::{Entry, EntryType};
use piton_core::evidence::ClaimSettings;
use piton_core::id::{CommandId, EventId, Node, RunId, StreamId, WriterId};
use piton_core::journal::{BodyRemoval, GENESIS, HashForm, Record};
use piton_core::notification::{NotificationKind, due_notifications, last_failure};
use piton_core::policy::Limits;
use piton_core::redact::Redactor;
use piton_core::{AttemptId, Command, Event, Key, Need, Outcome, Refusal};
use piton_store::{ClockJump, CommitError, CommitOutcome, Cursor, FaultKind, MemoryStore, Store};
use tempfile::TempDir;

use crate::chance::{Ids, TestClock};
use crate::scratch::{scratch, sqlite_in};
use crate::sketch::{entry, entry_of, facts, keep, log, plan};

/// A store to be tried, with what moves its time and where it lies.
pub struct Subject {
    /// The store.
    pub store: Box<dyn Store>,
    /// Its clock.
    pub clock: TestClock,
    /// Ids for commands.
    pub ids: Ids,
    reopen: Option<Box<dyn Fn() -> Box<dyn Store>>>,
    _dir: Option<TempDir>,
}

/// A store in memory.
#[must_use]
pub fn memory() -> Subject {
    let clock = TestClock::seeded(1);
    let store = MemoryStore::new(Redactor::rules_only(), Arc::new(clock.clone()));
    Subject {
        store: Box::new(store),
        clock,
        ids: Ids::seeded(2),
        reopen: None,
        _dir: None,
    }
}

/// A store on SQLite in a scratch folder.
#[must_use]
pub fn sqlite() -> Subject {
    let clock = TestClock::seeded(1);
    let dir = scratch();
    let open = {
        let (path, clock) = (dir.path().to_owned(), clock.clone());
        move || Box::new(sqlite_in(&path, clock.clone())) as Box<dyn Store>
    };
    Subject {
        store: open(),
        clock,
        ids: Ids::seeded(2),
        reopen: Some(Box::new(open)),
        _dir: Some(dir),
    }
}

impl Subject {
    /// Commits under a fresh id.
    ///
    /// # Errors
    ///
    /// As [`Store::commit`].
    pub fn commit(&mut self, command: &Command) -> Result<CommitOutcome, CommitError> {
        self.store.commit(self.ids.command(), command, &facts())
    }

    /// Logs an entry that is not refused.
    ///
    /// # Panics
    ///
    /// When the store fails.
    pub fn log(&mut self, description: &str) -> CommitOutcome {
        self.commit(&log(entry(EntryType::MilestoneReached, description)))
            .expect("an entry is never refused")
    }

    /// Keeps a plan under a fresh id.
    ///
    /// # Panics
    ///
    /// When the name is taken, or the store fails.
    pub fn plan(&mut self, name: &str, nodes: &[(&str, &[&str])]) -> RunId {
        let run = self.ids.run();
        self.commit(&keep(plan(run, name, nodes)))
            .expect("the name is free");
        run
    }

    /// Closes and opens the store, where it is one that is kept.
    pub fn reopen(&mut self) {
        if let Some(reopen) = &self.reopen {
            self.store = Box::new(MemoryStore::default());
            self.store = reopen();
        }
    }

    /// Every event of every stream, in the order in which they were stored.
    ///
    /// # Panics
    ///
    /// When the store fails.
    #[must_use]
    pub fn journal(&self) -> Vec<Record> {
        self.store
            .read_journal(None, usize::MAX)
            .expect("the store can be read")
    }

    /// Checks that nothing is wrong with what is stored.
    ///
    /// # Panics
    ///
    /// When something is.
    #[track_caller]
    pub fn assert_whole(&self) {
        let verdict = self.store.verify().expect("the store can be read");
        assert_eq!(verdict.damage, [], "damage");
        assert_eq!(verdict.events, self.journal().len() as u64);
    }

    fn keys(&self, need: Need) -> BTreeSet<Key> {
        let rows = self
            .store
            .load_rows(&[need])
            .expect("the store can be read");
        rows.tables.iter().map(|(key, _)| key.clone()).collect()
    }
}

const TREE: &[(&str, &[&str])] = &[
    ("a", &[]),
    ("a/one", &[]),
    ("a/two", &["a/one"]),
    ("a/two/deep", &[]),
    ("b", &["a"]),
    ("b/one", &[]),
    ("c", &["b/one", "a/one"]),
    ("c/one", &[]),
    ("d", &[]),
];

/// Committed events are there again after the store was closed.
pub fn what_was_committed_is_there(subject: &mut Subject) {
    let committed = subject.log("first");
    assert!(!committed.repeated);
    assert_eq!(committed.events.len(), 1);
    subject.plan("auth", TREE);
    subject.reopen();
    let journal = subject.journal();
    assert_eq!(journal.len(), 2 + TREE.len());
    let stored = journal
        .iter()
        .find(|record| **record == committed.events[0].record)
        .expect("it is there, byte for byte");
    assert_eq!(
        stored.decode_event().expect("it is known"),
        committed.events[0].event
    );
    subject.assert_whole();
}

/// A refusal leaves no event, no row and no position behind.
pub fn a_refused_command_stores_nothing(subject: &mut Subject) {
    subject.plan("auth", TREE);
    let before = (
        subject.journal(),
        subject.store.stream_heads().expect("readable"),
    );
    let again = subject.ids.run();
    let refused = subject.commit(&keep(plan(again, "auth", &[("a", &[])])));
    assert!(
        matches!(refused, Err(CommitError::Refused(Refusal::NameTaken(name))) if name == "auth")
    );
    assert_eq!(
        (
            subject.journal(),
            subject.store.stream_heads().expect("readable")
        ),
        before
    );
    assert_eq!(
        subject
            .store
            .event_count(&StreamId::of_run(again))
            .expect("readable"),
        0
    );
    subject.assert_whole();
}

/// All events of a command are stored, one after the other, or none.
pub fn a_plan_is_stored_whole(subject: &mut Subject) {
    let run = subject.plan("auth", TREE);
    let records = subject
        .store
        .read_stream(&StreamId::of_run(run), 0, 100)
        .expect("readable");
    assert_eq!(records.len(), 1 + TREE.len());
    let positions: Vec<u64> = records.iter().map(|record| record.stamp.position).collect();
    assert_eq!(positions, (1..=records.len() as u64).collect::<Vec<_>>());
    assert!(matches!(
        records[0].decode_event(),
        Ok(Event::Run(RunEvent::Planned(_)))
    ));
    let command = records[0].command;
    assert!(records.iter().all(|record| record.command == command));
}

/// The same id gives the first outcome again and stores nothing.
pub fn the_same_command_twice_is_stored_once(subject: &mut Subject) {
    let id = subject.ids.command();
    let run = subject.ids.run();
    let command = keep(plan(run, "auth", TREE));
    let first = subject
        .store
        .commit(id, &command, &facts())
        .expect("the name is free");
    subject.clock.step_s(5);
    subject.reopen();
    let second = subject
        .store
        .commit(id, &command, &facts())
        .expect("a repetition is no refusal");
    assert!(!first.repeated && second.repeated);
    assert_eq!(first.events, second.events);
    assert_eq!(subject.journal().len(), 1 + TREE.len());
    subject.assert_whole();
}

/// Time stands still in a stream while the clock is behind it.
pub fn time_never_runs_backwards_in_a_stream(subject: &mut Subject) {
    let first = subject.log("first").events[0].record.stamp.time;
    subject.clock.step_s(-3_600);
    let second = subject.log("second").events[0].record.stamp.time;
    assert_eq!(second, first);
    subject.clock.step_s(3_601);
    let third = subject.log("third").events[0].record.stamp.time;
    assert_eq!(third.duration_since(first), SignedDuration::from_secs(1));
    subject.assert_whole();
}

/// What is finer than a microsecond is not stored, and not seen either.
pub fn times_are_whole_microseconds(subject: &mut Subject) {
    subject.clock.step(SignedDuration::from_nanos(1_999));
    let stamped = subject.log("first").events[0].record.stamp.time;
    assert_eq!(stamped.subsec_nanosecond(), 1_000);
    let rows = subject
        .store
        .load_rows(&[Need::RecentEntries(1)])
        .expect("readable");
    assert_eq!(
        rows.tables.entries().next().expect("it is there").timestamp,
        stamped
    );
    subject.assert_whole();
}

/// Each event is hashed over its predecessor, from nothing to the head.
pub fn the_chain_holds_from_first_to_head(subject: &mut Subject) {
    let run = subject.plan("auth", TREE);
    for stream in [StreamId::of_run(run), StreamId::sessions()] {
        subject.log("between");
        let head = subject
            .store
            .stream_heads()
            .expect("readable")
            .into_iter()
            .find(|head| head.stream == stream)
            .expect("it has one");
        let mut hash = GENESIS;
        for record in subject
            .store
            .read_stream(&stream, 0, 100)
            .expect("readable")
        {
            assert_eq!(record.compute_hash(&hash), record.hash);
            hash = record.hash;
            assert!(record.stamp.time <= head.time);
        }
        assert_eq!(hash, head.hash);
        assert_eq!(
            subject.store.event_count(&stream).expect("readable"),
            head.count
        );
    }
}

/// A stream is read in pages that neither overlap nor leave anything out.
pub fn a_stream_is_read_in_pages(subject: &mut Subject) {
    let sessions = StreamId::sessions();
    assert_eq!(subject.store.event_count(&sessions).expect("readable"), 0);
    assert_eq!(
        subject
            .store
            .read_stream(&sessions, 0, 10)
            .expect("readable"),
        []
    );
    let stored: Vec<Record> = (0..7)
        .map(|nth| subject.log(&nth.to_string()).events[0].record.clone())
        .collect();
    let mut read = Vec::new();
    loop {
        let page = subject
            .store
            .read_stream(&sessions, read.len() as u64, 3)
            .expect("readable");
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        read.extend(page);
    }
    assert_eq!(read, stored);
    assert_eq!(
        subject
            .store
            .read_stream(&sessions, u64::MAX, 3)
            .expect("readable"),
        []
    );
    assert_eq!(
        subject
            .store
            .read_stream(&sessions, 0, 0)
            .expect("readable"),
        []
    );
}

/// The journal is read in the order in which it was stored, in pages of any size.
pub fn the_journal_is_read_in_the_order_in_which_it_was_stored(subject: &mut Subject) {
    let mut stored: Vec<EventId> = Vec::new();
    let ids = |committed: &CommitOutcome| {
        let records = committed.events.iter().map(|event| &event.record);
        records.map(|record| record.stamp.id).collect::<Vec<_>>()
    };
    stored.extend(ids(&subject.log("one")));
    subject.plan("auth", &[("a", &[]), ("b", &[])]);
    let planned = subject.journal();
    stored.extend(planned[1..].iter().map(|record| record.stamp.id));
    subject.clock.step_s(-10);
    stored.extend(ids(&subject.log("two")));
    subject.clock.step_s(-7_200);
    stored.extend(ids(&subject.log("three")));
    let all = subject.journal();
    let read: Vec<EventId> = all.iter().map(|record| record.stamp.id).collect();
    assert_eq!(read, stored);
    for size in [1, 2, 3, 20] {
        let mut read: Vec<Record> = Vec::new();
        loop {
            let after = read.last().map(Cursor::from);
            let page = subject
                .store
                .read_journal(after.as_ref(), size)
                .expect("readable");
            if page.is_empty() {
                break;
            }
            read.extend(page);
        }
        assert_eq!(read, all, "in pages of {size}");
    }
    let nowhere = Cursor {
        stream: StreamId::from_stored("zzz"),
        position: 9,
    };
    let read = subject.store.read_journal(Some(&nowhere), 20);
    assert_eq!(read.expect_err("it is not there").kind, FaultKind::Damaged);
}

/// The events of a time are found also where the clock was behind or ahead meanwhile.
pub fn the_events_since_a_time_are_found(subject: &mut Subject) {
    let found = |subject: &Subject, time: Timestamp| {
        let before = subject.store.find_event_before(time).expect("readable");
        before.map_or(0, |before| before.position)
    };
    assert_eq!(found(subject, Timestamp::MIN), 0);
    let mut times = Vec::new();
    // An hour passes, the clock shows the day before, and then tomorrow, and is right again.
    for step in [0, 3_600, -86_400, 2 * 86_400, 3_600 - 86_400, 60] {
        subject.clock.step_s(step);
        times.push(subject.log("work").events[0].record.stamp.time);
    }
    assert_eq!(found(subject, Timestamp::MIN), 0);
    assert_eq!(found(subject, times[0]), 0);
    assert_eq!(found(subject, times[1]), 1);
    assert_eq!(
        found(subject, times[4]),
        3,
        "that of tomorrow is since then"
    );
    assert_eq!(found(subject, times[5]), 3);
    assert_eq!(found(subject, Timestamp::MAX), 6);
}

/// A clock that was ahead is told once, and its time is not carried on; one that is behind
/// by less holds the time still.
pub fn a_clock_that_jumped_is_told_once_and_not_carried_on(subject: &mut Subject) {
    subject.plan("auth", &[("a", &[])]);
    subject.clock.step_s(4 * 86_400);
    let ahead = subject.log("from the future").events[0].record.stamp.time;
    let billing = subject.plan("billing", &[("a", &[])]);
    subject.clock.step_s(60 - 4 * 86_400);
    let back = subject.log("back");
    let time = back.events[0].record.stamp.time;
    let jump = ClockJump {
        event: ahead,
        clock: time,
    };
    assert_eq!(back.jump, Some(jump));
    assert_eq!(
        ahead.duration_since(time),
        SignedDuration::from_secs(4 * 86_400 - 60)
    );
    assert_eq!(subject.log("on").jump, None);
    // Another stream has an event from then, too.
    let skip = Command::SkipItem {
        run: billing,
        node: Node::from_text("a"),
        why: None,
    };
    let skipped = subject.commit(&skip).expect("it is open");
    assert_eq!(skipped.jump, None);
    assert!(skipped.events[0].record.stamp.time < ahead);
    subject.assert_whole();
    // It happens once more.
    subject.clock.step_s(9 * 86_400);
    assert_eq!(subject.log("ahead again").jump, None);
    subject.clock.step_s(-9 * 86_400);
    assert!(subject.log("back again").jump.is_some());
    assert_eq!(subject.log("on").jump, None);
    subject.assert_whole();
}

/// Each wish for items loads exactly what it says.
pub fn items_are_loaded_as_they_are_asked_for(subject: &mut Subject) {
    let run = subject.plan("auth", TREE);
    let other = subject.plan("other", TREE);
    let items = |nodes: &[&str]| {
        nodes
            .iter()
            .map(|node| Key::Item(run, Node::from_text(*node)))
            .collect::<BTreeSet<_>>()
    };
    let node = |text: &str| Node::from_text(text);
    let all: Vec<&str> = TREE.iter().map(|(node, _)| *node).collect();
    assert_eq!(subject.keys(Need::Tree(run)), items(&all));
    assert_eq!(
        subject.keys(Need::Line(run, node("a/two/deep"))),
        items(&["a", "a/two", "a/two/deep"])
    );
    assert_eq!(
        subject.keys(Need::Subtree(run, node("a"))),
        items(&["a", "a/one", "a/two", "a/two/deep"])
    );
    assert_eq!(subject.keys(Need::Subtree(run, node("d"))), items(&["d"]));
    assert_eq!(
        subject.keys(Need::Subtree(run, node("nowhere"))),
        items(&[])
    );
    // Both `a/two` and `c` depend on `a/one`, and `b` on `a`, which is above it.
    let dependents = [
        "a/one",
        "a/two",
        "a/two/deep",
        "c",
        "c/one",
        "b/one",
        "b",
        "a",
    ];
    assert_eq!(
        subject.keys(Need::Dependents(run, node("a/one"))),
        items(&dependents)
    );
    assert_eq!(subject.keys(Need::Dependents(run, node("d"))), items(&[]));
    assert!(
        subject
            .keys(Need::Tree(other))
            .is_disjoint(&subject.keys(Need::Tree(run)))
    );
    let rows = subject
        .store
        .load_rows(&[Need::Tree(run)])
        .expect("readable");
    let in_order: Vec<&str> = rows
        .tables
        .tree(run)
        .map(|item| item.node.as_str())
        .collect();
    assert_eq!(in_order, all);
    assert_eq!(
        rows.tables
            .next_actionable_item(run)
            .map(|item| item.node.as_str()),
        Some("a/one")
    );
}

/// Each wish for runs loads exactly what it says.
pub fn runs_are_loaded_as_they_are_asked_for(subject: &mut Subject) {
    let auth = subject.plan("auth", TREE);
    let billing = subject.plan("billing", TREE);
    assert_eq!(subject.keys(Need::Run(auth)), [Key::Run(auth)].into());
    assert_eq!(
        subject.keys(Need::RunNamed("billing".to_owned())),
        [Key::Run(billing)].into()
    );
    assert_eq!(subject.keys(Need::RunNamed("bill".to_owned())), [].into());
    assert_eq!(
        subject.keys(Need::Runs),
        [Key::Run(auth), Key::Run(billing)].into()
    );
    let row = subject
        .store
        .load_rows(&[Need::Run(auth)])
        .expect("readable");
    assert_eq!(
        row.tables
            .run(auth)
            .map(|run| (run.name.as_str(), run.open_roots)),
        Some(("auth", 4))
    );
}

/// Each wish for entries loads exactly what it says.
pub fn entries_are_loaded_as_they_are_asked_for(subject: &mut Subject) {
    use EntryType::{DebugResolved, TaskBlocked, TaskCompleted};
    let steps = [
        (TaskBlocked, "t1"),
        (TaskBlocked, "t2"),
        (TaskBlocked, "t1"),
        (DebugResolved, "t3"),
        (TaskCompleted, "t2"),
    ];
    for (kind, task) in steps {
        subject
            .commit(&log(entry_of(kind, task, "words")))
            .expect("never refused");
    }
    subject
        .commit(&log(entry(TaskBlocked, "of no task")))
        .expect("never refused");
    let blocker = |task: Option<&str>| Key::Blocker(None, task.map(str::to_owned));
    assert_eq!(
        subject.keys(Need::RecentEntries(2)),
        [Key::Entry(5), Key::Entry(6)].into()
    );
    assert_eq!(subject.keys(Need::RecentEntries(100)).len(), 6);
    assert_eq!(
        subject.keys(Need::LastEntry(TaskBlocked)),
        [Key::Entry(6)].into()
    );
    assert_eq!(
        subject.keys(Need::LastEntry(TaskCompleted)),
        [Key::Entry(5)].into()
    );
    assert_eq!(
        subject.keys(Need::LastEntry(EntryType::SessionEnded)),
        [].into()
    );
    assert_eq!(
        subject.keys(Need::Blockers),
        [blocker(Some("t1")), blocker(None)].into()
    );
    let one = Need::Blocker {
        spec: None,
        task_id: Some("t1".to_owned()),
    };
    assert_eq!(subject.keys(one.clone()), [blocker(Some("t1"))].into());
    let rows = subject.store.load_rows(&[one]).expect("readable");
    let positions: Vec<u64> = rows
        .tables
        .blockers()
        .flat_map(|row| &row.entries)
        .map(|entry| entry.position)
        .collect();
    assert_eq!(positions, [1, 3]);
    let other_spec = Need::Blocker {
        spec: Some("auth".to_owned()),
        task_id: Some("t1".to_owned()),
    };
    assert_eq!(subject.keys(other_spec), [].into());
    subject.assert_whole();
}

/// The last ones are the last by time: neither the order in which things were
/// stored nor their ids say when they happened.
pub fn the_last_ones_go_by_time(subject: &mut Subject) {
    let told = |id: u128, at: &str| {
        Command::TellAttempt(Box::new(ReportedAttempt {
            attempt: AttemptId(uuid::Uuid::from_u128(id)),
            run: RunId::PROJECT,
            node: Node::from_text("login"),
            item: "login".to_owned(),
            number: None,
            name: None,
            agent: "file".to_owned(),
            ended_at: at.parse().ok(),
            report: Box::new(Report::with_outcome(Outcome::Failed)),
            native: None,
        }))
    };
    for (id, at) in [(7, "12:00"), (9, "10:00"), (3, "11:00")] {
        let command = told(id, &format!("2020-01-15T{at}:00Z"));
        subject.commit(&command).expect("never refused");
        let logged = Entry {
            at: Some(format!("2019-01-15T{at}:00Z")),
            ..entry(EntryType::MilestoneReached, at)
        };
        subject.commit(&log(logged)).expect("never refused");
    }
    let attempt = |id| Key::Attempt(AttemptId(uuid::Uuid::from_u128(id)));
    for (count, ids) in [(1, &[7][..]), (2, &[7, 3]), (9, &[7, 3, 9])] {
        let wanted: BTreeSet<Key> = ids.iter().map(|id| attempt(*id)).collect();
        assert_eq!(subject.keys(Need::RecentAttempts(count)), wanted);
    }
    let milestones = |rows: piton_core::Rows| -> Vec<String> {
        let entries = rows.tables.entries_by_time().into_iter();
        let logged = entries.filter(|row| row.entry.kind == EntryType::MilestoneReached);
        logged.map(|row| row.entry.one_line_title()).collect()
    };
    let last =
        |subject: &Subject, need| milestones(subject.store.load_rows(&[need]).expect("readable"));
    let kind = EntryType::MilestoneReached;
    assert_eq!(last(subject, Need::LastEntry(kind)), ["12:00"]);
    // What the attempts left in the log happened a year later.
    assert_eq!(last(subject, Need::RecentEntries(5)), ["11:00", "12:00"]);
    subject.assert_whole();
}

/// Nothing is loaded of a store in which nothing is.
pub fn an_empty_store_has_no_rows(subject: &mut Subject) {
    let run = RunId(uuid::Uuid::from_u128(1));
    let rows = subject
        .store
        .load_rows(&[
            Need::Run(run),
            Need::Runs,
            Need::NextDecision,
            Need::Leases(run),
        ])
        .expect("readable");
    assert_eq!(rows.tables.iter().count(), 0);
    assert_eq!((rows.next_decision, rows.leases.is_empty()), (1, true));
    assert_eq!(subject.store.stream_heads().expect("readable"), []);
    assert_eq!(subject.store.read_journal(None, 10).expect("readable"), []);
    subject.assert_whole();
}

/// A secret is in no body, no view, and not in what the commit gives back.
pub fn a_secret_is_stored_nowhere(subject: &mut Subject) {
    let secret = format!("ghp_{}", "a1B2c3".repeat(6));
    let committed = subject
        .commit(&log(entry_of(
            EntryType::TaskBlocked,
            "t1",
            &format!("use {secret} now"),
        )))
        .expect("never refused");
    let given = format!("{committed:?}");
    let stored = format!("{:?}", subject.journal());
    let rows = format!(
        "{:?}",
        subject
            .store
            .load_rows(&[Need::RecentEntries(9), Need::Blockers])
            .expect("readable")
    );
    for text in [given, stored, rows] {
        assert!(
            !text.contains(&secret) && text.contains("[redacted:github-token]"),
            "{text}"
        );
    }
    subject.assert_whole();
}

/// A lease holds for its time, longer when its holder says that it lives, and
/// not at all when it was given back.
pub fn a_lease_holds_as_long_as_its_holder_lives(subject: &mut Subject) {
    let run = subject.plan("auth", TREE);
    let started = subject.commit(&start(run)).expect("no runner has it");
    let taken_at = started.events[0].record.stamp.time;
    let token = held(subject, run).expect("it is held");
    let expires = |subject: &Subject| {
        let rows = subject.store.load_rows(&[Need::Leases(run)]);
        let leases = rows.expect("readable").leases;
        let expires = leases.get(&token);
        expires.map(|expires| expires.duration_since(taken_at).as_secs())
    };
    assert_eq!(expires(subject), Some(30));
    subject.clock.step_s(20);
    assert!(subject.store.heartbeat(run, token, 45).expect("writable"));
    assert_eq!(expires(subject), Some(65));
    assert!(
        !subject
            .store
            .heartbeat(run, token + 1, 999)
            .expect("writable")
    );
    subject.reopen();
    assert_eq!(expires(subject), Some(65));
    subject
        .commit(&Command::ReleaseRun { run, token })
        .expect("it is held");
    assert_eq!(expires(subject), None);
    assert!(!subject.store.heartbeat(run, token, 30).expect("writable"));
    subject.assert_whole();
}

/// A heartbeat is not history: it leaves the journal as it is.
pub fn a_heartbeat_is_no_event(subject: &mut Subject) {
    let run = subject.plan("auth", TREE);
    subject.commit(&start(run)).expect("no runner has it");
    let token = held(subject, run).expect("it is held");
    let before = subject.journal();
    for _ in 0..40 {
        subject.clock.step_s(10);
        assert!(subject.store.heartbeat(run, token, 30).expect("writable"));
    }
    assert_eq!(subject.journal(), before);
    subject.log("and a commit after it");
    subject.assert_whole();
}

/// What a person is notified of is known by the row that it is about, and the last
/// failure by that of its run, whose stream has all of it.
pub fn a_notification_is_known_by_what_it_is_about(subject: &mut Subject) {
    let run = subject.plan("auth", &[("a", &[])]);
    let mut begin = start(run);
    if let Command::StartRun { notify, .. } = &mut begin {
        *notify = true;
    }
    subject.commit(&begin).expect("it is free");
    let token = held(subject, run).expect("it is held");
    let release = Command::ReleaseRun { run, token };
    subject.commit(&release).expect("it is held");
    let due = |subject: &Subject| {
        let needs = [Need::Runs, Need::OpenDecisions(None)];
        let rows = subject.store.load_rows(&needs).expect("readable");
        let failed = last_failure(rows.tables.runs()).cloned();
        let due = due_notifications(&rows.tables, &NotificationKind::ALL);
        (due, failed.and_then(|failed| failed.error))
    };
    let (ends, _) = due(subject);
    let about = ends.first().expect("the run is given back").subject.clone();
    let begun = Command::StartNotification(about.clone());
    let began = subject.commit(&begun).expect("it is due").events;
    assert_eq!(began.len(), 1);
    assert_eq!(began[0].record.stream, StreamId::of_run(run));
    assert!(due(subject).0[0].again);
    let error = Some("it failed".to_owned());
    let end = Command::EndNotification {
        subject: about,
        error: error.clone(),
    };
    subject.commit(&end).expect("it was started");
    assert_eq!(due(subject), (Vec::new(), error));
    let more = subject.commit(&begun).expect("nothing comes of it").events;
    assert_eq!(more, []);
    subject.assert_whole();
}

fn start(run: RunId) -> Command {
    Command::StartRun {
        run,
        owner: "host, process 7".to_owned(),
        limits: Limits::default(),
        claims: ClaimSettings::default(),
        flags: Box::default(),
        settles: false,
        notify: false,
    }
}

fn held(subject: &Subject, run: RunId) -> Option<u64> {
    let rows = subject
        .store
        .load_rows(&[Need::Run(run)])
        .expect("readable");
    let holder = rows.tables.run(run).and_then(|row| row.holder.as_ref());
    holder.map(|holder| holder.token)
}

/// A heartbeat without a lease is refused.
pub fn a_heartbeat_without_a_lease_is_refused(subject: &mut Subject) {
    let run = subject.plan("auth", TREE);
    assert!(!subject.store.heartbeat(run, 1, 30).expect("writable"));
    let rows = subject
        .store
        .load_rows(&[Need::Leases(run)])
        .expect("readable");
    assert_eq!(rows.leases, BTreeMap::new());
}

/// Ids of commands are remembered however many come after.
pub fn an_old_command_is_still_known_after_many(subject: &mut Subject) {
    let first: CommandId = subject.ids.command();
    let command = log(entry(EntryType::MilestoneReached, "once"));
    subject
        .store
        .commit(first, &command, &facts())
        .expect("never refused");
    for nth in 0..300 {
        subject.log(&nth.to_string());
    }
    let again = subject
        .store
        .commit(first, &command, &facts())
        .expect("never refused");
    assert!(again.repeated);
    assert_eq!(
        subject
            .store
            .event_count(&StreamId::sessions())
            .expect("readable"),
        301
    );
    subject.assert_whole();
}

/// Two threads that write at once lose nothing of each other.
pub fn threads_lose_nothing_of_each_other(subject: &mut Subject) {
    const EACH: usize = 40;
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let store = &subject.store;
            scope.spawn(move || {
                let mut ids = Ids::seeded(seed + 100);
                for nth in 0..EACH {
                    let command = log(entry(EntryType::MilestoneReached, &format!("{seed} {nth}")));
                    store
                        .commit(ids.command(), &command, &facts())
                        .expect("never refused");
                }
            });
        }
    });
    assert_eq!(
        subject
            .store
            .event_count(&StreamId::sessions())
            .expect("readable"),
        4 * EACH as u64
    );
    subject.assert_whole();
}

fn writer_of_record(record: &Record) -> WriterId {
    match record.form {
        HashForm::Two(writer) => writer,
        HashForm::One => panic!("an event of form 1 is new: {record:?}"),
    }
}

/// What a store writes names the store, for as long as it stays where it is.
pub fn every_event_names_the_store_that_wrote_it(subject: &mut Subject) {
    subject.log("first");
    subject.plan("auth", TREE);
    subject.reopen();
    subject.log("last");
    let writers: BTreeSet<WriterId> = subject.journal().iter().map(writer_of_record).collect();
    assert_eq!(writers.len(), 1);
}

/// A body can be removed: the chain holds, the rows are without it, and the rest
/// goes on.
pub fn a_tombstone_keeps_the_chain(subject: &mut Subject) {
    let sessions = StreamId::sessions();
    let run = subject.plan("auth", TREE);
    let first = subject.log("the plum is ripe").events[0].record.clone();
    let command = subject.ids.command();
    let logged = log(entry(EntryType::MilestoneReached, "the pear is ripe"));
    let removed = subject
        .store
        .commit(command, &logged, &facts())
        .expect("never refused")
        .events[0]
        .record
        .clone();
    subject.log("the fig is ripe");
    let remove = |subject: &Subject, stream: &StreamId, position| {
        let removed = subject.store.replace_body_with_tombstone(stream, position);
        removed.expect("writable")
    };
    assert_eq!(remove(subject, &sessions, 2), BodyRemoval::Removed);
    assert_eq!(remove(subject, &sessions, 2), BodyRemoval::AlreadyRemoved);
    assert_eq!(remove(subject, &sessions, 4), BodyRemoval::NoSuchEvent);
    assert_eq!(remove(subject, &sessions, 0), BodyRemoval::NoSuchEvent);
    let nowhere = StreamId::from_stored("zzz");
    assert_eq!(remove(subject, &nowhere, 1), BodyRemoval::NoSuchEvent);
    subject.reopen();
    subject.assert_whole();
    let read = subject
        .store
        .read_stream(&sessions, 0, 10)
        .expect("readable");
    assert_eq!(read.len(), 3);
    assert_eq!(read[0], first);
    assert!(read[1].is_tombstone());
    assert_eq!(read[1].hash, removed.hash);
    assert_eq!(read[1].body.compute_hash(), removed.body.compute_hash());
    assert!(read[1].decode_event().is_err());
    let again = subject.store.commit(command, &logged, &facts());
    let again = again.expect("a repetition is no refusal");
    assert!(again.repeated && again.events.is_empty());
    let entries = |subject: &Subject| subject.keys(Need::RecentEntries(9));
    let left = BTreeSet::from([Key::Entry(1), Key::Entry(3)]);
    assert_eq!(entries(subject), left);
    assert!(subject.store.rebuild_views().expect("writable"));
    assert_eq!(entries(subject), left);
    assert_eq!(subject.keys(Need::Tree(run)).len(), TREE.len());
    subject.log("the quince is ripe");
    subject.assert_whole();
    let verdict = subject.store.verify().expect("readable");
    assert_eq!(verdict.tombstones, 1);
}

/// Views that are made anew are those that were there.
pub fn views_are_made_anew_from_the_journal(subject: &mut Subject) {
    let run = subject.plan("auth", TREE);
    subject.log("first");
    let needs = [Need::Tree(run), Need::Run(run), Need::RecentEntries(9)];
    let rows = |subject: &Subject| subject.store.load_rows(&needs).expect("readable").tables;
    let before = rows(subject);
    assert!(subject.store.rebuild_views().expect("writable"));
    assert_eq!(rows(subject), before);
    let info = subject.store.info().expect("readable");
    let counts = (info.events, info.streams, info.runs, info.entries);
    assert_eq!(counts, (2 + TREE.len() as u64, 2, 1, 1));
    subject.assert_whole();
}

/// Tests of all claims, for one kind of store: a module of that name, and how
/// to make a [`Subject`].
#[macro_export]
macro_rules! store_contract {
    ($name:ident, $subject:expr) => {
        $crate::store_contract!(@claims $name, $subject;
            what_was_committed_is_there
            a_refused_command_stores_nothing
            a_plan_is_stored_whole
            the_same_command_twice_is_stored_once
            time_never_runs_backwards_in_a_stream
            times_are_whole_microseconds
            the_chain_holds_from_first_to_head
            a_stream_is_read_in_pages
            the_journal_is_read_in_the_order_in_which_it_was_stored
            the_events_since_a_time_are_found
            a_clock_that_jumped_is_told_once_and_not_carried_on
            items_are_loaded_as_they_are_asked_for
            runs_are_loaded_as_they_are_asked_for
            entries_are_loaded_as_they_are_asked_for
            the_last_ones_go_by_time
            an_empty_store_has_no_rows
            a_secret_is_stored_nowhere
            a_heartbeat_without_a_lease_is_refused
            a_lease_holds_as_long_as_its_holder_lives
            a_heartbeat_is_no_event
            a_notification_is_known_by_what_it_is_about
            an_old_command_is_still_known_after_many
            threads_lose_nothing_of_each_other
            every_event_names_the_store_that_wrote_it
            a_tombstone_keeps_the_chain
            views_are_made_anew_from_the_journal
        );
    };
    (@claims $name:ident, $subject:expr; $($claim:ident)+) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $claim() {
                    $crate::contract::$claim(&mut $subject());
                }
            )+
        }
    };
}
