//! An agent's word that an item is done, and what it is worth.

use piton_core::attempt::{DiffStat, Report};
use piton_core::command::Word;
use piton_core::evidence::{Claims, Worth};
use piton_core::gate::Gate;
use piton_core::item::Evidence;
use piton_core::policy::{Limits, Policy};
use piton_core::{Command, DecisionKind, Edit, ItemState, Outcome, Role, RunState, Stage, Verb};

use crate::edits::a_persons;
use crate::world::{World, node, start_run};

/// A report of somebody who looked at the tree before and after.
fn between(before: &str, after: &str) -> Report {
    Report {
        tree_before: Some(before.to_owned()),
        tree_after: Some(after.to_owned()),
        ..Report::bare(Outcome::Completed)
    }
}

fn nothing_changed() -> Report {
    between("a", "a")
}

fn a_gate() -> Gate {
    Gate {
        script: "cargo test".to_owned(),
        on_fail_prompt: "mend it".to_owned(),
        runs_max: 2,
        timeout_s: 60,
    }
}

fn asking(worth: Worth) -> Claims {
    Claims {
        worth,
        asked: true,
        gate: (worth == Worth::Gate).then(|| Box::new(a_gate())),
    }
}

fn running(text: &str, policy: Policy, claims: Claims) -> (World, u64) {
    let mut world = World::with_policy(text, policy);
    let Command::StartRun {
        run, owner, limits, ..
    } = start_run(world.run, Limits::default())
    else {
        unreachable!("it is one")
    };
    world.ok(Command::StartRun {
        run,
        owner,
        limits,
        claims,
    });
    let token = world.run_row().fence;
    (world, token)
}

fn with(worth: Worth) -> (World, u64) {
    running("build\nrelease", Policy::default(), asking(worth))
}

#[test]
fn a_change_is_evidence_whether_it_was_asked_for_or_not() {
    let files = Some(3);
    let report = Report {
        diff: Some(DiffStat {
            files: 3,
            ..DiffStat::default()
        }),
        ..between("a", "b")
    };
    for claims in [Claims::default(), asking(Worth::Ask)] {
        let (mut world, token) = running("build", Policy::default(), claims);
        world.work(token, "build", report.clone());
        assert_eq!(world.item("build").evidence, [Evidence::Changed { files }]);
    }
}

#[test]
fn where_nothing_was_asked_for_a_word_is_enough() {
    let (mut world, token) = running("build", Policy::default(), Claims::default());
    world.work(token, "build", nothing_changed());
    assert_eq!(world.item("build").evidence, [Evidence::NoneAsked]);
}

#[test]
fn a_tree_that_nobody_looked_at_is_no_claim() {
    let (mut world, token) = with(Worth::Ask);
    world.complete(token, "build");
    assert_eq!(world.item("build").evidence, [Evidence::NoneAsked]);
}

#[test]
fn a_claim_that_is_accepted_is_recorded_as_one() {
    let (mut world, token) = with(Worth::Accept);
    world.work(token, "build", nothing_changed());
    let item = world.item("build");
    assert_eq!(
        (item.state, &item.evidence[..]),
        (ItemState::Done, &[Evidence::Claim][..])
    );
}

#[test]
fn what_an_interrupted_attempt_changed_counts() {
    let (mut world, token) = with(Worth::Ask);
    let interrupted = Report {
        outcome: Outcome::Interrupted,
        ..between("a", "b")
    };
    world.work(token, "build", interrupted);
    world.work(token, "build", nothing_changed());
    let files = None;
    assert_eq!(world.item("build").evidence, [Evidence::Changed { files }]);
}

#[test]
fn a_commit_that_was_asked_for_and_has_nothing_in_it_is_a_claim() {
    let policy = Policy {
        auto_commit: true,
        ..Policy::default()
    };
    for (commit, evidence) in [
        (None, Evidence::Claim),
        (
            Some("6673e79"),
            Evidence::Committed {
                commit: "6673e79".to_owned(),
            },
        ),
    ] {
        let (mut world, token) = running("build", policy.clone(), Claims::default());
        world.work(token, "build", nothing_changed());
        assert_eq!(world.item("build").stage, Stage::Commit);
        let head = None;
        let (run, node) = (world.run, node("build"));
        world.ok(Command::StartCommit {
            run,
            token,
            node: node.clone(),
            head,
        });
        let result = Ok(commit.map(str::to_owned));
        world.ok(Command::EndCommit {
            run,
            token,
            node,
            result,
        });
        assert_eq!(world.item("build").evidence, [evidence]);
    }
}

#[test]
fn a_claim_may_have_to_stand_up_to_a_gate() {
    let (mut world, token) = with(Worth::Gate);
    world.work(token, "build", nothing_changed());
    let item = world.item("build");
    assert_eq!((item.state, item.stage), (ItemState::Working, Stage::Gate));
    assert_eq!(
        (item.gate.as_ref(), item.gate_to_pass()),
        (None, Some(&a_gate()))
    );
    world.gate(token, "build", true);
    let item = world.item("build");
    assert_eq!(
        (item.state, &item.evidence[..]),
        (ItemState::Done, &[Evidence::GatePassed][..])
    );
}

#[test]
fn a_gate_for_claims_that_fails_is_mended_and_gives_up_like_any_other() {
    let (mut world, token) = with(Worth::Gate);
    world.work(token, "build", nothing_changed());
    world.gate(token, "build", false);
    assert_eq!(world.item("build").stage, Stage::Fix);
    let attempt = world.begin_as(token, "build", Role::GateFix);
    world.end(token, "build", attempt, between("a", "b"));
    world.gate(token, "build", false);
    assert_eq!(world.item("build").state, ItemState::Failed);
    world.retry("build");
    assert_eq!(
        world.item("build").gate_to_pass(),
        None,
        "it begins at its work"
    );
}

#[test]
fn a_person_may_be_asked_and_takes_the_word_or_does_not() {
    let question = "`build` says that it is done, and nothing changed";
    for verb in [Verb::Approve, Verb::Retry, Verb::Answer, Verb::Skip] {
        let (mut world, token) = with(Worth::Ask);
        world.work(token, "build", nothing_changed());
        assert_eq!(world.state(), RunState::Waiting);
        assert_eq!(world.item("build").state, ItemState::Waiting);
        let asked = world
            .tables
            .decision(world.question())
            .expect("it is asked");
        assert_eq!(
            (asked.kind, asked.question.as_str()),
            (DecisionKind::Claim, question)
        );
        world.decide(verb, Some("look again"));
        assert_eq!(world.state(), RunState::Interrupted);
        let item = world.item("build");
        match verb {
            Verb::Approve => {
                assert_eq!(item.state, ItemState::Done);
                assert_eq!(item.evidence, [Evidence::Claim]);
                assert_eq!(world.next(), Some("release"));
            }
            Verb::Skip => assert_eq!(item.state, ItemState::Skipped),
            _ => assert_eq!(item.state, ItemState::Ready),
        }
    }
}

#[test]
fn a_word_that_is_taken_finishes_what_holds_the_item_and_the_run() {
    let (mut world, token) = running("build\n  s1", Policy::default(), asking(Worth::Ask));
    world.work(token, "build/s1", nothing_changed());
    world.ok(Command::ReleaseRun {
        run: world.run,
        token,
    });
    world.decide(Verb::Approve, None);
    assert_eq!(world.item("build").state, ItemState::Done);
    world.start();
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn what_is_done_again_has_to_change_something_again() {
    let (mut world, token) = with(Worth::Accept);
    world.work(token, "build", between("a", "b"));
    let redo = |word, run| Command::TakeEdits {
        run,
        token: None,
        file: "PROGRESS.yaml".to_owned(),
        edits: vec![Edit::SetState {
            node: node("build"),
            to: ItemState::Ready,
        }],
        word,
    };
    let run = world.run;
    world.ok(redo(Word::File, run));
    let word = a_persons(&world);
    world.ok(redo(word, run));
    world.work(token, "build", nothing_changed());
    assert_eq!(world.item("build").evidence, [Evidence::Claim]);
}
