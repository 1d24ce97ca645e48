//! Items that are done only when a person approves them.

use piton_core::attempt::{Conversation, ProgramReport, Report, ReportedChanges};
use piton_core::classify::FailureCategory;
use piton_core::command::EditAuthor;
use piton_core::evidence::{Level, Worth, level_of_evidence};
use piton_core::policy::Limits;
use piton_core::{Command, DecisionKind, Edit, ItemState, Outcome, Refusal, RunState, Stage, Verb};

use crate::world::{World, failure, node, start_run};

const PLAN: &str = "
design approval
build after=design
";

fn said(conversation: &str) -> Report {
    Report {
        program: ProgramReport {
            conversation: Some(Conversation {
                agent: "sh".to_owned(),
                id: conversation.to_owned(),
                total: None,
            }),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    }
}

fn in_approval() -> (World, u64) {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "design", said("first"));
    (world, token)
}

fn asked(world: &World) -> (DecisionKind, String) {
    let row = world.tables.decision(world.question());
    let row = row.expect("it is asked");
    (row.kind, row.question.clone())
}

#[test]
fn finished_work_waits_for_an_approval_and_so_does_what_depends_on_it() {
    let (world, _) = in_approval();
    let question = "`design` waits for an approval".to_owned();
    assert_eq!(asked(&world), (DecisionKind::Approval, question));
    assert_eq!(world.states(&["design", "build"]), ["waiting", "pending"]);
    assert_eq!(world.state(), RunState::Waiting);
    let row = world.tables.decision(world.question()).expect("asked");
    assert_eq!(
        row.allowed_verbs(),
        [Verb::Approve, Verb::Reject, Verb::Skip]
    );
}

#[test]
fn an_approval_finishes_it_with_the_person_as_evidence() {
    let (mut world, _) = in_approval();
    world.decide(Verb::Approve, Some("good"));
    let item = world.item("design");
    assert_eq!(item.state, ItemState::Done);
    assert_eq!(level_of_evidence(&item.proof.evidence), Some(Level::Person));
    assert_eq!((&item.tries.ongoing, &item.people.rejected), (&None, &None));
    assert_eq!(world.next(), Some("build"));
}

#[test]
fn a_rejection_goes_back_to_its_conversation_with_the_reason() {
    let (mut world, token) = in_approval();
    for words in [None, Some(" ")] {
        let empty = world.answer_to(world.question(), Verb::Reject, words);
        assert_eq!(world.refused(empty), Refusal::EmptyAnswer);
    }
    world.decide(Verb::Reject, Some("one service is enough"));
    let item = world.item("design");
    assert_eq!((item.state, item.stage), (ItemState::Ready, Stage::Work));
    let rejected = item.people.rejected.as_deref().expect("it is rejected");
    let told = (rejected.by.as_str(), rejected.why.as_str());
    assert_eq!(told, ("ada", "one service is enough"));
    let ongoing = item.tries.ongoing.as_ref().map(|one| one.id.as_str());
    assert_eq!(ongoing, Some("first"));
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    // What is made of it then is looked at as well.
    let token = match world.state() {
        RunState::Running => token,
        _ => {
            world.holder_gone = true;
            world.start()
        }
    };
    world.work(token, "design", said("first"));
    assert_eq!(asked(&world).0, DecisionKind::Approval);
    world.decide(Verb::Reject, Some("name it better"));
    assert_eq!(world.item("design").people.rejections, 2);
}

#[test]
fn a_check_comes_first_and_does_not_replace_it() {
    let (mut world, token) = World::running("design gate=2 approval");
    world.work(token, "design", Report::with_outcome(Outcome::Completed));
    assert_eq!(world.item("design").stage, Stage::Gate);
    world.gate(token, "design", true);
    assert_eq!(asked(&world).0, DecisionKind::Approval);
}

#[test]
fn weak_proof_is_told_to_who_approves_and_asked_about_once() {
    let mut world = World::planned("design approval");
    let mut start = start_run(world.run, Limits::default());
    if let Command::StartRun { claims, .. } = &mut start {
        claims.rules.word = Worth::Ask;
    }
    world.ok(start);
    let token = world.run_row().fence;
    let nothing = Report {
        changes: ReportedChanges {
            tree_before: Some("a".to_owned()),
            tree_after: Some("a".to_owned()),
            ..ReportedChanges::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    };
    world.work(token, "design", nothing);
    let (kind, question) = asked(&world);
    assert_eq!(kind, DecisionKind::Approval);
    assert!(question.contains("changed nothing"), "{question}");
    world.decide(Verb::Approve, None);
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn what_an_agent_marks_in_the_file_approves_nothing_and_a_persons_mark_does() {
    let (mut world, _) = in_approval();
    let mark = || Edit::SetState {
        node: node("design"),
        to: ItemState::Done,
    };
    let attempt = world.tables.attempts().next().map(|row| row.id);
    let attempt = attempt.expect("there was one");
    let words = [
        EditAuthor::MaybeAgent {
            attempt,
            criteria: true,
            in_lane: false,
        },
        EditAuthor::Hand {
            by: "ada".to_owned(),
            brought: Vec::new(),
        },
    ];
    let states = words.map(|word| {
        world.ok(Command::TakeEdits {
            run: world.run,
            token: None,
            file: "PROGRESS.yaml".to_owned(),
            edits: vec![mark()],
            word,
        });
        world.item("design").state
    });
    assert_eq!(states, [ItemState::Waiting, ItemState::Done]);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
}

#[test]
fn what_failed_is_not_approved_and_what_waits_can_be_tried_again_or_left_out() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "design", failure(FailureCategory::Logic, "no"));
    assert_eq!(asked(&world).0, DecisionKind::BlockedNode);
    for (verb, to) in [
        (Verb::Retry, Err(Verb::Retry)),
        (Verb::Answer, Err(Verb::Answer)),
        (Verb::Skip, Ok(ItemState::Skipped)),
    ] {
        let (mut world, _) = in_approval();
        let command = world.answer_to(world.question(), verb, Some("because"));
        match to {
            Ok(state) => {
                world.ok(command);
                assert_eq!(world.item("design").state, state);
            }
            Err(verb) => {
                let kind = DecisionKind::Approval;
                let fits = kind.allowed_verbs().to_vec();
                assert_eq!(
                    world.refused(command),
                    Refusal::WrongVerb { kind, verb, fits }
                );
            }
        }
    }
    let (mut world, _) = in_approval();
    world.retry("design");
    assert_eq!(world.item("design").state, ItemState::Ready);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
}

#[test]
fn what_waits_for_people_in_a_plan_that_was_taken_over_is_asked_about_at_once() {
    let text = "in any order:\ndesign approval state=waiting\nbuild after=design\nship state=failed\nsell\n";
    let mut world = World::planned(text);
    let open = world.tables.open_decisions(world.run);
    let kinds: Vec<DecisionKind> = open.map(|row| row.kind).collect();
    assert_eq!(kinds, [DecisionKind::Approval, DecisionKind::BlockedNode]);
    world.start();
    let states = ["design", "build", "ship"];
    assert_eq!(world.states(&states), ["waiting", "pending", "failed"]);
    assert_eq!(world.next(), Some("sell"));
    let asked = world.tables.open_decisions(world.run).next();
    let approval = asked.expect("it is asked").id;
    let command = world.answer_to(approval, Verb::Approve, None);
    world.ok(command);
    assert_eq!(world.item("design").state, ItemState::Done);
    assert_eq!(world.next(), Some("build"));
}
