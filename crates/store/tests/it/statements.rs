//! How many statements of SQL a command costs: its budget.

use std::sync::{Arc, Mutex};

use piton_core::attempt::Report;
use piton_core::entry::EntryType;
use piton_core::evidence::ClaimSettings;
use piton_core::id::RunId;
use piton_core::policy::Limits;
use piton_core::{AttemptId, Command, Node, Outcome, Role};
use piton_store::{SqliteStore, Store};
use piton_testkit::chance::{Ids, TestClock};
use piton_testkit::scratch::{scratch, sqlite_in};
use piton_testkit::sketch::{entry, entry_of, facts, keep, log, plan};
use uuid::Uuid;

/// An item at depth 3, with others beside it and above it.
const TREE: &[(&str, &[&str])] = &[
    ("a", &[]),
    ("a/one", &[]),
    ("a/one/deep", &[]),
    ("a/one/last", &["a/one/deep"]),
    ("a/two", &[]),
    ("a/two/deep", &["a/one"]),
    ("b", &["a"]),
];

struct Counter {
    store: SqliteStore,
    ids: Ids,
    executed: Arc<Mutex<Vec<String>>>,
    /// What was counted, for people to read.
    figures: String,
    too_many: Vec<String>,
}

impl Counter {
    /// Commits a command, with at most so many statements beside those that begin
    /// and end its transaction.
    fn commit(&mut self, name: &str, most: usize, command: &Command) {
        self.executed.lock().expect("sound").clear();
        let committed = self.store.commit(self.ids.command(), command, &facts());
        let events = committed.expect("it fits the state").events.len();
        let executed = self.executed.lock().expect("sound");
        // It begins with the version of the tables, which is read from the header.
        let frame = ["BEGIN IMMEDIATE", "PRAGMA user_version", "COMMIT"];
        let is_frame = |sql: &&String| frame.contains(&sql.as_str());
        let statements: Vec<&String> = executed.iter().filter(|sql| !is_frame(sql)).collect();
        let count = statements.len();
        let line = format!("| {name} | {events} | {count} | {most} |\n");
        self.figures.push_str(&line);
        if count > most {
            self.too_many.push(format!("{line}{statements:#?}"));
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "what was counted is to be seen")]
fn a_command_costs_a_bounded_number_of_statements() {
    let dir = scratch();
    let store = sqlite_in(dir.path(), TestClock::seeded(1));
    let executed = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&executed);
    store
        .trace_statements(move |sql| sink.lock().expect("sound").push(sql.to_owned()))
        .expect("it can be traced");
    let mut counter = Counter {
        store,
        ids: Ids::seeded(2),
        executed,
        figures: String::new(),
        too_many: Vec::new(),
    };
    let run = RunId(Uuid::from_u128(1));
    counter.commit("PlanRun", 11, &keep(plan(run, "auth", TREE)));
    counter.commit("StartRun", 10, &start(run));
    for (nth, most_to_start, most_to_end) in [(1, 8, 24), (2, 8, 22)] {
        let node = Node::from_text(["a/one/deep", "a/one/last"][nth - 1]);
        let attempt = AttemptId(Uuid::from_u128(9_000 + nth as u128));
        let begin = Command::StartAttempt {
            memories: Vec::new(),
            tree: None,
            baseline: None,
            run,
            token: 1,
            attempt,
            node: node.clone(),
            role: Role::Worker,
            agent: "sh".to_owned(),
            model: None,
        };
        counter.commit("StartAttempt at depth 3", most_to_start, &begin);
        let end = Command::EndAttempt {
            run,
            token: 1,
            attempt,
            node,
            fence: 1,
            report: Box::new(Report::with_outcome(Outcome::Completed)),
            recovery: None,
            claimed: Vec::new(),
            agents: Vec::new(),
        };
        counter.commit("EndAttempt at depth 3", most_to_end, &end);
    }
    let logged = entry(EntryType::MilestoneReached, "the keel is laid");
    counter.commit("LogEntry", 7, &log(logged));
    let blocked = entry_of(EntryType::TaskBlocked, "t1", "no steam box");
    counter.commit("LogEntry of a blocker", 8, &log(blocked));
    counter.commit("AskPause", 5, &Command::AskPause { run });
    println!(
        "| command | events | statements | at most |\n|---|---|---|---|\n{}",
        counter.figures
    );
    assert!(counter.too_many.is_empty(), "{}", counter.too_many.concat());
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
