//! Items that an agent reviews before they are committed, or count as done.

use piton_core::attempt::{Conversation, ProgramReport, Report, ReportedChanges};
use piton_core::classify::FailureCategory;
use piton_core::policy::Policy;
use piton_core::review::{AgentReview, ReviewObservation, ReviewPolicy, ReviewVerdict};
use piton_core::trouble::Trouble;
use piton_core::{Command, DecisionKind, ItemState, Outcome, Refusal, Role, RunState, Stage, Verb};

use crate::world::{World, failure, node};

fn reviewed(plan: &str, auto_commit: bool) -> (World, u64) {
    let policy = Policy {
        auto_commit,
        review: Some(ReviewPolicy {
            rounds_max: 2,
            except: vec![node("own")],
        }),
        ..Policy::default()
    };
    let mut world = World::with_policy(plan, policy);
    let token = world.start();
    (world, token)
}

fn said(verdict: ReviewVerdict) -> Report {
    Report {
        review: Some(Box::new(AgentReview {
            verdict,
            summary: None,
            observations: vec![ReviewObservation {
                message: "no bound".to_owned(),
                ..ReviewObservation::default()
            }],
        })),
        changes: ReportedChanges {
            tree_before: Some("t1".to_owned()),
            tree_after: Some("t1".to_owned()),
            ..ReportedChanges::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    }
}

fn done() -> Report {
    Report {
        program: ProgramReport {
            conversation: Some(Conversation {
                agent: "sh".to_owned(),
                id: "first".to_owned(),
                total: None,
            }),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Completed)
    }
}

#[track_caller]
fn review(world: &mut World, token: u64, report: Report) {
    let attempt = world.begin_as(token, "a", Role::Reviewer);
    world.end(token, "a", attempt, report);
}

#[track_caller]
fn stands(world: &World) -> (ItemState, Stage) {
    let item = world.item("a");
    (item.state, item.stage)
}

/// Why the last answer of a reviewer was no verdict.
fn fault(world: &World) -> String {
    let review = world.item("a").proof.review.as_deref().cloned();
    review.and_then(|review| review.fault).unwrap_or_default()
}

#[test]
fn work_is_reviewed_after_its_check_and_before_its_commit() {
    let (mut world, token) = reviewed("a gate=2", true);
    world.work(token, "a", done());
    world.gate(token, "a", true);
    assert_eq!(stands(&world), (ItemState::Working, Stage::Review));
    let commit = Command::StartCommit {
        run: world.run,
        token,
        node: node("a"),
        head: None,
    };
    let refused = world.refused(commit);
    assert!(matches!(refused, Refusal::ItemState { .. }), "{refused:?}");
    review(&mut world, token, said(ReviewVerdict::Approve));
    assert_eq!(stands(&world), (ItemState::Working, Stage::Commit));
    world.make_commit(token, "a", Ok("c1"));
    assert_eq!(stands(&world).0, ItemState::Done);
    let review = world.item("a").proof.review.as_deref().cloned();
    let by = review.and_then(|review| review.approved_by);
    assert_eq!(by.as_deref(), Some("the reviewer (sh)"));
}

#[test]
fn what_a_reviewer_wants_goes_back_to_the_conversation_of_the_work() {
    let (mut world, token) = reviewed("a", false);
    world.work(token, "a", done());
    review(&mut world, token, said(ReviewVerdict::RequestChanges));
    assert_eq!(stands(&world), (ItemState::Ready, Stage::Work));
    let item = world.item("a");
    let rejected = item.people.rejected.as_deref().expect("it is rejected");
    let told = (rejected.by.as_str(), rejected.why.as_str());
    assert_eq!(told, ("the reviewer (sh)", "- no bound"));
    let ongoing = item.tries.ongoing.as_ref().map(|one| one.id.as_str());
    assert_eq!(ongoing, Some("first"));
    // People rejected nothing.
    assert_eq!(item.people.rejections, 0);
    world.work(token, "a", done());
    review(&mut world, token, said(ReviewVerdict::Approve));
    let item = world.item("a");
    let count = item
        .proof
        .review
        .as_ref()
        .map(|review| review.changes_wanted);
    assert_eq!((item.state, count), (ItemState::Done, Some(1)));
    assert_eq!((&item.people.rejected, &item.tries.ongoing), (&None, &None));
}

#[test]
fn a_person_decides_when_the_reviewer_is_never_content() {
    for verb in [Verb::Approve, Verb::Reject, Verb::Skip] {
        let (mut world, token) = reviewed("a", true);
        for _ in 0..3 {
            world.work(token, "a", done());
            review(&mut world, token, said(ReviewVerdict::RequestChanges));
        }
        assert_eq!(stands(&world), (ItemState::Waiting, Stage::Review));
        assert_eq!(world.state(), RunState::Waiting);
        let row = world.tables.decision(world.question()).expect("asked");
        assert_eq!(row.kind, DecisionKind::AgentReview);
        assert_eq!(
            row.allowed_verbs(),
            [Verb::Approve, Verb::Reject, Verb::Skip]
        );
        assert_eq!(row.details.as_deref(), Some("- no bound"));
        world.holder_gone = true;
        let empty = world.answer_to(world.question(), Verb::Reject, None);
        assert_eq!(world.refused(empty), Refusal::EmptyAnswer);
        world.decide(verb, Some("so"));
        let expect = match verb {
            Verb::Approve => (ItemState::Working, Stage::Commit),
            Verb::Reject => (ItemState::Ready, Stage::Work),
            _ => (ItemState::Skipped, Stage::Review),
        };
        assert_eq!(stands(&world), expect);
        assert_eq!(world.tables.open_decisions(world.run).count(), 0);
        let review = world
            .item("a")
            .proof
            .review
            .as_deref()
            .cloned()
            .expect("it was");
        let rounds = if verb == Verb::Reject { 0 } else { 3 };
        assert_eq!((review.rounds, review.changes_wanted), (rounds, 3));
        let is_rejected = verb == Verb::Reject;
        assert_eq!(world.item("a").people.rejections, u32::from(is_rejected));
    }
}

#[test]
fn what_is_no_verdict_is_asked_for_once_more_then_a_person_is() {
    let silent = Report::with_outcome(Outcome::Completed);
    let changed = Report {
        changes: ReportedChanges {
            tree_after: Some("t2".to_owned()),
            ..said(ReviewVerdict::Approve).changes
        },
        ..said(ReviewVerdict::Approve)
    };
    let changed_these = Report {
        changes: ReportedChanges {
            files: Some(["a", "b", "c", "d"].map(str::to_owned).to_vec()),
            ..changed.clone().changes
        },
        ..changed.clone()
    };
    let committed = Report {
        changes: ReportedChanges {
            commits: Some(vec!["c1".to_owned()]),
            ..said(ReviewVerdict::Approve).changes
        },
        ..said(ReviewVerdict::Approve)
    };
    let asks = Report {
        outcome: Outcome::NeedsHuman,
        ..said(ReviewVerdict::Approve)
    };
    for (report, why) in [
        (silent, "holds no verdict"),
        (changed, "changed files"),
        (changed_these, "changed `a`, `b`, `c` and 1 more, which"),
        (committed, "committed c1, which"),
        (asks, "without a verdict"),
        (
            failure(FailureCategory::Timeout, "it took too long"),
            "too long",
        ),
    ] {
        let (mut world, token) = reviewed("a", true);
        world.work(token, "a", done());
        review(&mut world, token, report.clone());
        assert_eq!(stands(&world), (ItemState::Working, Stage::Review));
        assert!(fault(&world).contains(why), "{}", fault(&world));
        review(&mut world, token, report);
        assert_eq!(stands(&world), (ItemState::Waiting, Stage::Review));
        let row = world.tables.decision(world.question()).expect("asked");
        assert_eq!(row.kind, DecisionKind::AgentReview);
    }
}

#[test]
fn a_verdict_after_one_that_was_none_counts_and_begins_anew() {
    let (mut world, token) = reviewed("a", true);
    world.work(token, "a", done());
    for _ in 0..2 {
        review(&mut world, token, Report::with_outcome(Outcome::Completed));
        review(&mut world, token, said(ReviewVerdict::RequestChanges));
        assert_eq!(stands(&world), (ItemState::Ready, Stage::Work));
        assert_eq!(fault(&world), "");
        world.work(token, "a", done());
    }
}

#[test]
fn a_review_that_is_interrupted_is_done_again() {
    let (mut world, token) = reviewed("a", true);
    world.work(token, "a", done());
    let broke = Report {
        program: ProgramReport {
            trouble: Some(Trouble::Signal),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    };
    for report in [Report::with_outcome(Outcome::Interrupted), broke] {
        // What it said before counts for nothing.
        let report = Report {
            review: said(ReviewVerdict::Approve).review,
            ..report
        };
        review(&mut world, token, report);
        assert_eq!(stands(&world), (ItemState::Working, Stage::Review));
    }
    let late = Report {
        program: ProgramReport {
            trouble: Some(Trouble::RateLimit),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Interrupted)
    };
    review(&mut world, token, late);
    assert_eq!(stands(&world), (ItemState::Waiting, Stage::Review));
    assert!(world.item("a").tries.until.is_some() && world.item("a").people.human.is_none());
    review(&mut world, token, said(ReviewVerdict::Approve));
    assert_eq!(stands(&world), (ItemState::Working, Stage::Commit));
}

#[test]
fn an_agent_that_works_after_an_approval_takes_it_back() {
    let (mut world, token) = reviewed("a gate=3", true);
    world.work(token, "a", done());
    world.gate(token, "a", true);
    review(&mut world, token, said(ReviewVerdict::Approve));
    world.make_commit(token, "a", Err("the hook says no"));
    world.holder_gone = true;
    world.decide(Verb::Answer, Some("mend it"));
    world.holder_gone = true;
    let token = world.start();
    world.work(token, "a", done());
    world.gate(token, "a", true);
    assert_eq!(stands(&world), (ItemState::Working, Stage::Review));
}

#[test]
fn nobody_reviews_what_is_left_out_of_it_or_a_person_approves() {
    let (mut world, token) = reviewed("own\na approval\nb after=a", false);
    world.work(token, "own", done());
    assert_eq!(world.item("own").state, ItemState::Done);
    world.work(token, "a", done());
    let row = world.tables.decision(world.question()).expect("asked");
    assert_eq!(row.kind, DecisionKind::Approval);
}
