//! What agents ask for beside their work: nothing waits for it, and nothing of
//! it is lost.

use piton_core::attempt::{Outcome, Report};
use piton_core::event::DecisionEvent;
use piton_core::item::ItemState;
use piton_core::request::{
    Injection, InsertPosition, Proposals, RequestAnswer, RequestKind, RequestRules, Until,
    WorkRequest,
};
use piton_core::run::RunState;
use piton_core::{Command, DecisionKind, DecisionRow, Event, Refusal, RunId, Verb};
use serde_json::{Value, json};

use crate::world::{World, node, plan, start_run, tried_once};

const PLAN: &str = "build\n  s1\n    a\n    b\n  s2\nrelease\nend";

fn request(kind: RequestKind, fields: &Value) -> WorkRequest {
    let title = fields["title"].as_str().unwrap_or_default().to_owned();
    let mut request = WorkRequest {
        kind,
        id: None,
        title,
        fields: fields.as_object().cloned().expect("an object"),
        ruling: None,
    };
    request.ruling = RequestRules::default().find_ruling(&request).map(Box::new);
    request
}

fn bug(priority: &str) -> WorkRequest {
    let fields = json!({
        "title": "fix the login", "description": "It crashes.", "priority": priority,
        "type": "bug", "context": {"relatedFiles": ["src/login.rs"]}, "own": 7,
    });
    request(RequestKind::Discovery, &fields)
}

/// What no rule decides.
fn asked_bug() -> WorkRequest {
    WorkRequest {
        ruling: None,
        ..bug("high")
    }
}

fn step(fields: &Value) -> WorkRequest {
    request(RequestKind::Step, fields)
}

fn asking(requests: &[WorkRequest]) -> Report {
    Report {
        requests: requests.to_vec(),
        ..Report::with_outcome(Outcome::Completed)
    }
}

/// The requests of the run, in their order.
fn requests(world: &World) -> Vec<DecisionRow> {
    let all = world.tables.decisions();
    let mut rows: Vec<_> = all.filter(|row| row.request.is_some()).cloned().collect();
    rows.sort_by_key(|row| row.number);
    rows
}

#[track_caller]
fn only(world: &World) -> DecisionRow {
    let [row] = requests(world).try_into().expect("one request");
    row
}

fn decide(row: &DecisionRow, answer: RequestAnswer) -> Command {
    Command::DecideRequest {
        decision: row.id,
        run: row.run,
        answer,
        why: None,
    }
}

fn approve_at(row: &DecisionRow, position: InsertPosition) -> Command {
    let injection = Injection {
        position: Some(position),
        ..Injection::default()
    };
    decide(row, RequestAnswer::Approve(Box::new(injection)))
}

/// The nodes at one level below a parent, in their order.
fn children(world: &World, parent: Option<&str>) -> Vec<String> {
    let parent = parent.map(node);
    let tree = world.tables.tree(world.run);
    let below = tree.filter(|row| row.node.parent() == parent);
    below.map(|row| row.plan.id.clone()).collect()
}

#[test]
fn a_request_holds_nothing_up_and_keeps_every_field() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", asking(&[asked_bug()]));
    assert_eq!(world.state(), RunState::Running);
    let row = only(&world);
    assert_eq!(row.kind, DecisionKind::Request);
    assert_eq!(row.node, Some(node("build/s1/a")));
    assert_eq!(row.question, "an agent asks for work: fix the login");
    let asked = row.request.expect("what is asked for");
    assert_eq!(asked.fields, asked_bug().fields);
    assert!(asked.id.expect("it has a name").starts_with("req-"));
    for at in ["build/s1/b", "build/s2", "release", "end"] {
        world.complete(token, at);
    }
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(only(&world).verdict, None, "it is asked about still");
}

#[test]
fn what_is_asked_for_twice_is_asked_about_once() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", asking(&[asked_bug(), asked_bug()]));
    world.work(token, "build/s1/b", asking(&[asked_bug()]));
    only(&world);
}

#[test]
fn a_decided_request_is_not_opened_again_by_a_repetition_of_its_node() {
    #[track_caller]
    fn check(answer: RequestAnswer) {
        let (mut world, token) = World::running(PLAN);
        world.work(token, "build/s1/a", asking(&[asked_bug()]));
        world.ok(decide(&only(&world), answer));
        world.retry("build/s1/a");
        world.work(token, "build/s1/a", asking(&[asked_bug()]));
        only(&world);
        // Another item that asks for the same after that is a request of its own.
        world.work(token, "build/s1/b", asking(&[asked_bug()]));
        assert_eq!(requests(&world).len(), 2);
    }
    check(RequestAnswer::Approve(Box::default()));
    check(RequestAnswer::Reject);
    check(RequestAnswer::Backlog);
}

#[test]
fn rules_decide_once_what_a_node_asks_for_again() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", asking(&[bug("high"), bug("high")]));
    world.retry("build/s1/a");
    world.work(token, "build/s1/a", asking(&[bug("high")]));
    only(&world);
    assert_eq!(children(&world, None).len(), 4, "one item was added");
}

#[test]
fn a_failed_attempt_asks_as_well_and_a_retry_closes_nothing() {
    let (mut world, token) = World::running(PLAN);
    let failed = Report {
        error: Some("it broke".to_owned()),
        ..asking(&[asked_bug()])
    };
    let failed = Report {
        outcome: Outcome::Failed,
        ..failed
    };
    world.work(token, "build/s1/a", failed);
    world.retry("build/s1/a");
    assert_eq!(only(&world).verdict, None);
}

#[test]
fn a_request_without_a_title_is_asked_about_and_says_so() {
    let (mut world, token) = World::running(PLAN);
    let untitled = request(
        RequestKind::Discovery,
        &json!({"priority": "high", "type": "bug"}),
    );
    world.work(token, "build/s1/a", asking(&[untitled]));
    let row = only(&world);
    assert_eq!(
        row.question,
        "an agent asks for work, without a title and without any words"
    );
    // There is nothing that an agent could be told.
    let refused = world.refused(decide(&row, RequestAnswer::Approve(Box::default())));
    assert!(matches!(refused, Refusal::WrongVerb { .. }), "{refused}");
    // In the words of a person it can be done.
    let injection = Injection {
        prompt: Some("look at the login".to_owned()),
        ..Injection::default()
    };
    world.ok(decide(&row, RequestAnswer::Approve(Box::new(injection))));
    assert_eq!(children(&world, None).len(), 4);
}

#[test]
fn a_request_is_decided_once() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", asking(&[asked_bug()]));
    let row = only(&world);
    world.ok(decide(&row, RequestAnswer::Backlog));
    let verdict = only(&world).verdict.expect("it is decided");
    assert_eq!(verdict.verb, Verb::Backlog);
    for answer in [
        RequestAnswer::Backlog,
        RequestAnswer::Approve(Box::default()),
        RequestAnswer::Defer(Until::EndOfSprint),
    ] {
        let refused = world.refused(decide(&row, answer));
        assert!(matches!(refused, Refusal::Decided { .. }), "{refused}");
    }
}

#[test]
fn an_approved_request_is_worked_on_at_the_place_that_was_said() {
    #[track_caller]
    fn check(position: InsertPosition, parent: Option<&str>, expect: &[&str]) {
        let (mut world, token) = World::running(PLAN);
        world.work(token, "build/s1/a", asking(&[asked_bug()]));
        let row = only(&world);
        world.ok(approve_at(&row, position));
        let id = row.request.and_then(|request| request.id).expect("a name");
        let added = format!("fix-{id}-0");
        let found = children(&world, parent);
        let found = found.iter().map(|id| id.replace(&added, "NEW"));
        assert_eq!(found.collect::<Vec<_>>(), expect);
        let path = parent.map_or(added.clone(), |parent| format!("{parent}/{added}"));
        let item = world.item(&path);
        assert!(item.plan.injected.is_some());
        let prompt = item.plan.prompt.as_deref();
        assert_eq!(prompt, Some("Fix the bug: fix the login\n\nIt crashes."));
        world.check();
    }
    let roots = |at: usize| {
        let mut roots = vec!["build", "release", "end"];
        roots.insert(at, "NEW");
        roots
    };
    check(InsertPosition::AfterCurrent, None, &roots(1));
    check(InsertPosition::EndOfPhase(None), None, &roots(1));
    check(
        InsertPosition::EndOfPhase(Some("release".to_owned())),
        None,
        &roots(2),
    );
    check(InsertPosition::EndOfWorkflow, None, &roots(3));
    check(InsertPosition::After("release".to_owned()), None, &roots(2));
    check(InsertPosition::Before("build".to_owned()), None, &roots(0));
    let steps = ["NEW", "s1", "s2"];
    check(
        InsertPosition::Before("s1".to_owned()),
        Some("build"),
        &steps,
    );
    let steps = ["s1", "s2", "NEW"];
    check(
        InsertPosition::After("build/s2".to_owned()),
        Some("build"),
        &steps,
    );
}

#[test]
fn a_place_that_is_not_there_is_refused_and_the_request_stays_open() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", asking(&[asked_bug()]));
    let row = only(&world);
    let refused = world.refused(approve_at(
        &row,
        InsertPosition::After("nowhere".to_owned()),
    ));
    assert!(matches!(refused, Refusal::NoSuchItem(_)), "{refused}");
    assert_eq!(only(&world).verdict, None);
}

#[test]
fn rules_decide_without_a_person_and_say_which() {
    let (mut world, token) = World::running(PLAN);
    let asked = [bug("high"), bug("low"), bug("medium")];
    world.work(token, "build/s1/a", asking(&asked));
    let rows = requests(&world);
    let verb = |row: &DecisionRow| row.verdict.as_ref().map(|verdict| verdict.verb);
    assert_eq!(verb(&rows[0]), Some(Verb::Approve));
    assert_eq!(children(&world, None).len(), 4, "an item was added");
    assert_eq!(
        world.item(&children(&world, None)[1]).state,
        ItemState::Pending
    );
    assert_eq!(verb(&rows[1]), Some(Verb::Backlog));
    let why = rows[1].verdict.as_ref().and_then(|said| said.why.clone());
    assert_eq!(why.as_deref(), Some("the rule for low requests"));
    assert_eq!(verb(&rows[2]), None);
    let until = rows[2].deferred.as_ref().map(|deferred| deferred.until);
    assert_eq!(until, Some(Until::EndOfPhase));
}

#[test]
fn what_is_put_off_to_the_end_of_the_phase_is_asked_about_when_it_is_over() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", asking(&[bug("medium")]));
    world.complete(token, "build/s1/b");
    assert!(only(&world).deferred.is_some(), "the phase goes on");
    world.complete(token, "build/s2");
    assert_eq!(only(&world).deferred, None);
    assert_eq!(only(&world).verdict, None);
    // Where the phase is over already, it is that which the run is at.
    world.ok(decide(
        &only(&world),
        RequestAnswer::Defer(Until::EndOfPhase),
    ));
    let deferred = only(&world).deferred.expect("it is put off");
    assert_eq!(deferred.phase, Some(node("release")));
    world.complete(token, "release");
    assert_eq!(only(&world).deferred, None);
}

#[test]
fn what_the_last_of_a_phase_asks_for_is_asked_about_at_once() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    world.complete(token, "build/s1/b");
    world.complete(token, "build/s2");
    world.work(token, "release", asking(&[bug("medium")]));
    assert_eq!(only(&world).deferred, None);
}

#[test]
fn what_is_put_off_to_the_end_of_the_sprint_is_asked_about_then() {
    let (mut world, token) = World::running("a\nb");
    world.work(token, "a", asking(&[asked_bug()]));
    world.ok(decide(
        &only(&world),
        RequestAnswer::Defer(Until::EndOfSprint),
    ));
    assert!(only(&world).deferred.is_some());
    world.complete(token, "b");
    assert_eq!(world.state(), RunState::Done);
    assert_eq!(only(&world).deferred, None);
    let late = decide(&only(&world), RequestAnswer::Defer(Until::EndOfPhase));
    let refused = world.refused(late);
    assert!(matches!(refused, Refusal::RunState { .. }), "{refused}");
    // What is approved then is done all the same.
    world.ok(decide(
        &only(&world),
        RequestAnswer::Approve(Box::default()),
    ));
    assert_eq!(world.state(), RunState::Interrupted);
}

#[test]
fn what_is_put_off_to_the_next_sprint_is_asked_about_in_its_run() {
    let (mut world, token) = World::running("a");
    world.work(token, "a", asking(&[asked_bug()]));
    world.ok(decide(
        &only(&world),
        RequestAnswer::Defer(Until::NextSprint),
    ));
    let id = only(&world).request.and_then(|request| request.id);
    assert!(
        only(&world).deferred.is_some(),
        "the end of this one is not it"
    );
    let next = RunId(uuid::Uuid::from_u128(77));
    let mut planned = plan(next, "c");
    planned.name = "next".to_owned();
    world.ok(Command::PlanRun(Box::new(planned)));
    let rows = requests(&world);
    let verdict = rows[0].verdict.as_ref().map(|verdict| verdict.verb);
    assert_eq!(verdict, Some(Verb::Settled));
    assert_eq!((rows[1].run, &rows[1].verdict), (next, &None));
    let again = rows[1]
        .request
        .as_ref()
        .and_then(|request| request.id.clone());
    assert_eq!(again, id, "it keeps its name");
    let request = rows[1].request.as_ref().expect("what is asked for");
    assert_eq!(request.fields["discovered-in"], "a");
    assert_eq!(request.fields["created-at"], "1970-01-12T13:46:40.000Z");
}

#[test]
fn a_plan_of_another_kind_is_no_next_sprint() {
    #[track_caller]
    fn check(change: impl Fn(&mut piton_core::plan::Plan)) {
        let (mut world, token) = World::running("a");
        world.work(token, "a", asking(&[asked_bug()]));
        world.ok(decide(
            &only(&world),
            RequestAnswer::Defer(Until::NextSprint),
        ));
        let mut planned = plan(RunId(uuid::Uuid::from_u128(77)), "c");
        planned.name = "next".to_owned();
        change(&mut planned);
        world.ok(Command::PlanRun(Box::new(planned)));
        assert_eq!(only(&world).verdict, None);
    }
    check(|plan| plan.order = piton_core::plan::Order::Any);
    check(|plan| plan.face = "ralph-json".to_owned());
}

#[test]
fn settings_that_are_ignored_stay_so_when_the_file_is_edited() {
    let mut world = World::planned(PLAN);
    let flags = piton_core::flags::RunFlags {
        ignore: vec!["orchestration".to_owned()],
        ..piton_core::flags::RunFlags::default()
    };
    let start = match start_run(world.run, piton_core::policy::Limits::default()) {
        Command::StartRun {
            run,
            owner,
            limits,
            claims,
            settles,
            ..
        } => Command::StartRun {
            run,
            owner,
            limits,
            claims,
            flags: Box::new(flags),
            settles,
            notify: false,
        },
        other => other,
    };
    world.ok(start);
    let policy = piton_core::policy::Policy {
        proposals: Some(Proposals {
            insert: None,
            auto_approve: true,
        }),
        ..tried_once()
    };
    world.ok(Command::TakeEdits {
        run: world.run,
        token: None,
        file: "PROGRESS.yaml".to_owned(),
        edits: vec![piton_core::Edit::SetPolicy(Box::new(policy))],
        word: piton_core::command::EditAuthor::File,
    });
    assert_eq!(world.run_row().plan.policy.proposals, None);
}

#[test]
fn an_answer_is_told_to_the_item_and_adds_nothing() {
    let (mut world, token) = World::running(PLAN);
    world.work(token, "build/s1/a", asking(&[asked_bug()]));
    let row = only(&world);
    world.ok(world.answer_to(row.id, Verb::Answer, Some("that is wanted")));
    assert_eq!(children(&world, None).len(), 3);
    let verdict = only(&world).verdict.expect("it is answered");
    assert_eq!(verdict.why.as_deref(), Some("that is wanted"));
}

fn with_proposals(proposals: Proposals) -> (World, u64) {
    let policy = piton_core::policy::Policy {
        proposals: Some(proposals),
        ..tried_once()
    };
    let mut world = World::with_policy(PLAN, policy);
    let token = world.start();
    (world, token)
}

#[test]
fn proposed_steps_go_where_the_plan_says_without_a_person() {
    #[track_caller]
    fn check(insert: Option<InsertPosition>, fields: &Value, expect: &[&str]) {
        let auto_approve = true;
        let (mut world, token) = with_proposals(Proposals {
            insert,
            auto_approve,
        });
        world.work(token, "build/s1/a", asking(&[step(fields)]));
        assert_eq!(children(&world, Some("build")), expect);
        world.check();
    }
    let new = || json!({"id": "new", "prompt": "do more"});
    let after = Some(InsertPosition::AfterCurrent);
    check(after, &new(), &["s1", "new", "s2"]);
    let end = || Some(InsertPosition::EndOfPhase(None));
    check(end(), &new(), &["s1", "s2", "new"]);
    check(None, &new(), &["s1", "s2", "new"]);
    let placed = json!({
        "id": "new", "prompt": "do more",
        "position": {"type": "before-step", "stepId": "s2"},
    });
    check(None, &placed, &["s1", "new", "s2"]);
    let waiting = json!({"id": "new", "prompt": "do more", "depends-on": ["s1"]});
    check(end(), &waiting, &["s1", "s2", "new"]);
}

#[test]
fn what_is_added_at_one_place_stands_in_the_order_given() {
    let steps = [
        step(&json!({"id": "more", "prompt": "do more"})),
        step(&json!({"id": "most", "prompt": "do most"})),
    ];
    let (mut world, token) = with_proposals(Proposals {
        insert: Some(InsertPosition::AfterCurrent),
        auto_approve: true,
    });
    world.work(token, "build/s1/a", asking(&steps));
    let found = children(&world, Some("build"));
    assert_eq!(found, ["s1", "more", "most", "s2"]);

    #[track_caller]
    fn check(position: &InsertPosition, expect: &[&str]) {
        let (mut world, _) = World::running(PLAN);
        for prefix in ["x", "y", "z"] {
            world.ok(Command::Inject {
                run: world.run,
                kind: RequestKind::Discovery,
                injections: vec![Injection {
                    position: Some(position.clone()),
                    prompt: Some("look".to_owned()),
                    id_prefix: Some(prefix.to_owned()),
                    ..Injection::default()
                }],
            });
        }
        assert_eq!(children(&world, None), expect);
    }
    let second = ["build", "x-0", "y-0", "z-0", "release", "end"];
    check(&InsertPosition::AfterCurrent, &second);
    check(&InsertPosition::After("build".to_owned()), &second);
    check(&InsertPosition::EndOfPhase(None), &second);
    check(&InsertPosition::Before("release".to_owned()), &second);
    let last = ["build", "release", "end", "x-0", "y-0", "z-0"];
    check(&InsertPosition::EndOfWorkflow, &last);
}

#[test]
fn a_step_that_calls_itself_by_no_id_gets_another_and_says_so() {
    for id in ["../up", "a b", "", &"x".repeat(200)] {
        let new = json!({"id": id, "prompt": "do more"});
        let (mut world, token) = with_proposals(Proposals {
            insert: None,
            auto_approve: true,
        });
        world.work(token, "build/s1/a", asking(&[step(&new)]));
        let row = only(&world);
        let name = row.request.and_then(|request| request.id).expect("a name");
        let found = children(&world, Some("build"));
        assert_eq!(found, ["s1", "s2", name.as_str()]);
        let details = row.details.expect("what it says");
        assert!(details.contains("is no id of a step"), "{details}");
    }
    // One that is taken is numbered.
    let taken = json!({"id": "s1", "prompt": "do more"});
    let (mut world, token) = with_proposals(Proposals {
        insert: None,
        auto_approve: true,
    });
    world.work(token, "build/s1/a", asking(&[step(&taken)]));
    assert_eq!(children(&world, Some("build")), ["s1", "s2", "s1-0"]);
}

#[test]
fn a_prefix_that_is_no_id_is_refused() {
    let (mut world, _) = World::running(PLAN);
    let refused = world.refused(Command::Inject {
        run: world.run,
        kind: RequestKind::Discovery,
        injections: vec![Injection {
            prompt: Some("look".to_owned()),
            id_prefix: Some("../up".to_owned()),
            ..Injection::default()
        }],
    });
    assert!(
        refused.to_string().contains("`../up` is no id"),
        "{refused}"
    );
}

#[test]
fn a_proposed_step_that_cannot_be_added_waits_for_a_person() {
    let (mut world, token) = with_proposals(Proposals {
        insert: None,
        auto_approve: true,
    });
    let lost = json!({"id": "new", "prompt": "do more", "depends-on": ["nowhere"]});
    world.work(token, "build/s1/a", asking(&[step(&lost)]));
    assert_eq!(only(&world).verdict, None);
    assert_eq!(children(&world, Some("build")), ["s1", "s2"]);
}

#[test]
fn a_proposed_step_waits_for_a_person_where_the_plan_does_not_approve_it() {
    let (mut world, token) = World::running(PLAN);
    let new = json!({"id": "new", "prompt": "do more"});
    world.work(token, "build/s1/a", asking(&[step(&new)]));
    assert_eq!(only(&world).verdict, None);
    world.ok(decide(
        &only(&world),
        RequestAnswer::Approve(Box::default()),
    ));
    assert_eq!(children(&world, Some("build")), ["s1", "s2", "new"]);
}

#[test]
fn what_is_added_by_hand_is_marked_and_gets_ids_of_its_own() {
    let (mut world, _) = World::running(PLAN);
    let inject = |run| Command::Inject {
        run,
        kind: RequestKind::Discovery,
        injections: vec![Injection {
            prompt: Some("look again".to_owned()),
            id_prefix: Some("look".to_owned()),
            ..Injection::default()
        }],
    };
    world.ok(inject(world.run));
    world.ok(inject(world.run));
    let roots = children(&world, None);
    assert_eq!(roots, ["build", "look-0", "look-1", "release", "end"]);
    assert!(world.item("look-0").plan.injected.is_some());
}

#[test]
fn requests_of_a_plan_that_is_taken_over_are_asked_about() {
    let mut world = World::planned("a");
    let next = RunId(uuid::Uuid::from_u128(77));
    let mut taken_over = plan(next, "c");
    taken_over.name = "other".to_owned();
    taken_over.requests = vec![WorkRequest {
        id: Some("req-abc123".to_owned()),
        ..asked_bug()
    }];
    let told = world.ok(Command::PlanRun(Box::new(taken_over)));
    let opened = told.iter().any(|told| {
        matches!(&told.event, Event::Decision(DecisionEvent::Opened { request: Some(request), .. })
            if request.id.as_deref() == Some("req-abc123"))
    });
    assert!(opened);
}
