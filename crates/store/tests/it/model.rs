//! Any sequence of commands, on every store, compared with a model that a
//! reader can check by eye.

use std::collections::BTreeMap;

use piton_core::Need;
use piton_core::entry::{Entry, EntryType};
use piton_core::id::{CommandId, StreamId};
use piton_simkit::seed::cases;
use piton_store::CommitError;
use piton_testkit::contract::{self, Subject};
use piton_testkit::sketch::{entry, facts, keep, log, plan};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Log {
        kind: EntryType,
        spec: Option<u8>,
        task: Option<u8>,
    },
    Plan {
        name: u8,
        items: u8,
    },
    Repeat,
    Reopen,
    Clock {
        seconds: i16,
    },
}

fn step() -> impl Strategy<Value = Step> {
    use EntryType::{DebugResolved, TaskBlocked, TaskCompleted};
    let kind = prop_oneof![Just(TaskBlocked), Just(TaskCompleted), Just(DebugResolved)];
    let few = || proptest::option::of(0_u8..3);
    prop_oneof![
        8 => (kind, few(), few()).prop_map(|(kind, spec, task)| Step::Log { kind, spec, task }),
        2 => (0_u8..4, 0_u8..6).prop_map(|(name, items)| Step::Plan { name, items }),
        1 => Just(Step::Repeat),
        1 => Just(Step::Reopen),
        1 => (-100_i16..100).prop_map(|seconds| Step::Clock { seconds }),
    ]
}

type Task = (Option<String>, Option<String>);

#[derive(Default)]
struct Model {
    entries: BTreeMap<u64, Entry>,
    blockers: BTreeMap<Task, Vec<u64>>,
    runs: BTreeMap<String, usize>,
}

impl Model {
    fn log(&mut self, entry: &Entry) {
        let position = self.entries.len() as u64 + 1;
        let task = (entry.spec.clone(), entry.task_id.clone());
        match entry.kind {
            EntryType::TaskBlocked => self.blockers.entry(task).or_default().push(position),
            EntryType::TaskCompleted => drop(self.blockers.remove(&task)),
            EntryType::SessionStarted
            | EntryType::SessionEnded
            | EntryType::DebugResolved
            | EntryType::ScopeOverride
            | EntryType::MilestoneReached
            | EntryType::Other => {}
        }
        self.entries.insert(position, entry.clone());
    }

    fn compare(&self, subject: &Subject) {
        let rows = subject
            .store
            .load_rows(&[Need::RecentEntries(1_000), Need::Blockers, Need::Runs])
            .expect("readable");
        let entries = rows
            .tables
            .entries()
            .map(|row| {
                // The name is drawn by chance.
                let entry = Entry {
                    name: None,
                    ..row.entry.clone()
                };
                (row.position, entry)
            })
            .collect();
        assert_eq!(self.entries, entries);
        let positions = |entries: &[piton_core::entry::EntryRow]| {
            entries.iter().map(|entry| entry.position).collect()
        };
        let blockers = rows
            .tables
            .blockers()
            .map(|row| {
                (
                    (row.spec.clone(), row.task_id.clone()),
                    positions(&row.entries),
                )
            })
            .collect();
        assert_eq!(self.blockers, blockers);
        let runs: BTreeMap<String, usize> = rows
            .tables
            .runs()
            .map(|run| {
                let tree = subject
                    .store
                    .load_rows(&[Need::Tree(run.id)])
                    .expect("readable");
                (run.name.clone(), tree.tables.tree(run.id).count())
            })
            .collect();
        assert_eq!(self.runs, runs);
        let logged = subject
            .store
            .event_count(&StreamId::sessions())
            .expect("readable");
        assert_eq!(logged, self.entries.len() as u64);
    }
}

fn check(subject: &mut Subject, steps: &[Step]) {
    let mut model = Model::default();
    let mut last: Option<(CommandId, piton_core::Command)> = None;
    for step in steps {
        match step {
            Step::Log { kind, spec, task } => {
                let words = entry(*kind, "words");
                let entry = Entry {
                    spec: spec.map(|n| format!("spec{n}")),
                    task_id: task.map(|n| format!("t{n}")),
                    ..words
                };
                let (id, command) = (subject.ids.command(), log(entry.clone()));
                subject
                    .store
                    .commit(id, &command, &facts())
                    .expect("never refused");
                model.log(&entry);
                last = Some((id, command));
            }
            Step::Plan { name, items } => {
                let nodes: Vec<String> = (0..*items).map(|nth| format!("step-{nth}")).collect();
                let first: &[&str] = &["step-0"];
                let nodes: Vec<(&str, &[&str])> = nodes
                    .iter()
                    .enumerate()
                    .map(|(nth, node)| (node.as_str(), if nth == 0 { &[] } else { first }))
                    .collect();
                let (name, run) = (format!("run{name}"), subject.ids.run());
                let outcome = subject.commit(&keep(plan(run, &name, &nodes)));
                let taken = model.runs.contains_key(&name);
                if taken {
                    assert!(matches!(outcome, Err(CommitError::Refused(_))));
                } else {
                    outcome.expect("the name is free");
                    model.runs.insert(name, nodes.len());
                }
            }
            Step::Repeat => {
                if let Some((id, command)) = &last {
                    assert!(
                        subject
                            .store
                            .commit(*id, command, &facts())
                            .expect("known")
                            .repeated
                    );
                }
            }
            Step::Reopen => subject.reopen(),
            Step::Clock { seconds } => subject.clock.step_s(i64::from(*seconds)),
        }
    }
    model.compare(subject);
    subject.assert_whole();
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn any_commands_leave_in_memory_what_the_model_says(steps in proptest::collection::vec(step(), 0..60)) {
        check(&mut contract::memory(), &steps);
    }

    #[test]
    fn any_commands_leave_on_sqlite_what_the_model_says(steps in proptest::collection::vec(step(), 0..60)) {
        check(&mut contract::sqlite(), &steps);
    }
}
