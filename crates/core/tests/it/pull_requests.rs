//! Work that goes to a pull request: which step fits which state, what each look does
//! to the unit, and what people may say meanwhile.

use jiff::SignedDuration;
use piton_core::command::EditAuthor;
use piton_core::event::RunEvent;
use piton_core::evidence::Evidence;
use piton_core::gate::Gate;
use piton_core::lane::{LaneTerms, TargetRow};
use piton_core::merge::{MergeCommit, MergeReturn, MergeState, MergeStep};
use piton_core::pull_request::{
    AdoptedPullRequest, PullRequestNews, PullRequestSnapshot, PullRequestState, PullRequestStep,
};
use piton_core::run_loop::{
    Effect, Input, PullRequestOpenEnd, RunLoop, RunLoopEnding, RunLoopOptions,
};
use piton_core::{
    Command, DecisionKind, Edit, Event, ItemState, Refusal, Role, RunState, Stage, Verb,
};

use crate::merges::{enter, step_of, take_lane};
use crate::world::{World, node, plan, start_run};

const AT: &str = "a";
const URL: &str = "https://example.org/pull/7";

/// A run in lanes whose work goes to pull requests.
fn in_lanes() -> (World, u64) {
    in_lanes_with("a gate=3\nb after=a")
}

fn in_lanes_with(plan: &str) -> (World, u64) {
    let (mut world, token) = World::running(plan);
    let run = world.run;
    world.ok(Command::TargetRun {
        run,
        token,
        repository: None,
        target: Box::new(TargetRow {
            branch: "piton/auth".to_owned(),
            base: "base".to_owned(),
            tip: "base".to_owned(),
            onto: Some("main".to_owned()),
            path: None,
            was_there: false,
            merged: 0,
        }),
    });
    enter(&mut world, token, with_pull_requests(true));
    (world, token)
}

fn with_pull_requests(pull_requests: bool) -> LaneTerms {
    LaneTerms {
        pull_requests,
        ..LaneTerms::default()
    }
}

/// The runner goes on after what it waited for.
fn go_on(world: &mut World, token: u64) {
    let run = world.run;
    world.ok(Command::ContinueRun { run, token });
}

fn work(world: &mut World, token: u64, at: &str, commit: &str) {
    let lane = take_lane(world, token, at, 1);
    world.ok(lane);
    world.complete(token, at);
    if at == AT {
        world.gate(token, at, true);
    }
    world.make_commit(token, at, Ok(commit));
}

fn step(world: &World, token: u64, step: PullRequestStep) -> Command {
    Command::StepPullRequest {
        run: world.run,
        token,
        node: node(AT),
        step,
    }
}

fn opened(head: &str) -> PullRequestStep {
    PullRequestStep::Opened {
        head: head.to_owned(),
        number: 7,
        url: URL.to_owned(),
    }
}

fn saw(news: PullRequestNews) -> PullRequestStep {
    PullRequestStep::Saw { news }
}

fn merged() -> PullRequestStep {
    let commit = "m".to_owned();
    saw(PullRequestNews::Merged { commit })
}

fn closed() -> PullRequestStep {
    let words = Some("not like this".to_owned());
    saw(PullRequestNews::Closed { words })
}

fn words(id: &str) -> PullRequestStep {
    saw(PullRequestNews::Words {
        by: "bob".to_owned(),
        words: "make it blue".to_owned(),
        ids: vec![id.to_owned()],
    })
}

fn trouble() -> PullRequestStep {
    let why = "no network".to_owned();
    saw(PullRequestNews::Trouble { why })
}

fn held() -> PullRequestStep {
    let why = "it was given back 10 times".to_owned();
    saw(PullRequestNews::Held { why })
}

fn do_step(world: &mut World, token: u64, to_do: PullRequestStep) {
    let command = step(world, token, to_do);
    world.ok(command);
}

/// A unit whose work stands in a pull request.
fn requested() -> (World, u64) {
    let (mut world, token) = in_lanes();
    work(&mut world, token, AT, "work");
    do_step(&mut world, token, PullRequestStep::Ask);
    do_step(&mut world, token, opened("work"));
    (world, token)
}

fn shown(world: &World) -> String {
    let item = world.item(AT);
    let merge = item.merge().map(|merge| format!("{:?}", merge.state));
    let known = item.pull_request();
    let is_asked = known.is_some_and(|it| Some(&it.head) == item.merge().map(|m| &m.work));
    let merge = merge.unwrap_or_else(|| "no merge".to_owned());
    match (is_asked, known) {
        (true, Some(known)) if known.merged.is_some() => format!("{merge}, merged there"),
        (true, Some(known)) if known.closed => format!("{merge}, closed"),
        (true, Some(known)) if known.is_open => format!("{merge}, open"),
        (true, _) => format!("{merge}, asked"),
        (false, _) => merge,
    }
}

fn question(world: &World) -> String {
    let row = world.tables.decision(world.question()).expect("asked");
    assert_eq!(row.kind, DecisionKind::PullRequest);
    row.question.clone()
}

#[test]
fn each_step_fits_the_states_of_the_table_and_no_other() {
    let no = "refused";
    // Queued; asked for; open; not to be opened; returned.
    let table = [
        (PullRequestStep::Ask, ["Queued, asked", no, no, no, no]),
        (opened("work"), [no, "Requested, open", no, no, no]),
        (opened("other"), [no, no, no, no, no]),
        (merged(), [no, no, "Queued, merged there", no, no]),
        (
            saw(PullRequestNews::MergedBefore {
                head: "old".to_owned(),
            }),
            [no, no, "Queued, asked", no, no],
        ),
        (closed(), [no, no, "Requested, closed", no, no]),
        (words("c1"), [no, no, "Returned, open", no, no]),
        (
            trouble(),
            [no, "Requested, asked", "Requested, open", no, no],
        ),
        (
            saw(PullRequestNews::Open),
            [no, no, "Requested, open", no, no],
        ),
        (held(), [no, no, "Requested, open", no, no]),
    ];
    for (one, expected) in table {
        for (nth, expected) in expected.into_iter().enumerate() {
            let (mut world, token) = in_lanes();
            work(&mut world, token, AT, "work");
            let before = [PullRequestStep::Ask, opened("work"), words("c0")];
            let before = match nth {
                3 => vec![PullRequestStep::Ask, trouble()],
                4 => before.to_vec(),
                _ => before[..nth].to_vec(),
            };
            for one in before {
                do_step(&mut world, token, one);
            }
            let command = step(&world, token, one.clone());
            let came_to = match world.commit(&command) {
                Ok(_) => shown(&world),
                Err(Refusal::ItemState { .. }) => no.to_owned(),
                Err(other) => format!("{other:?}"),
            };
            assert_eq!(came_to, expected, "{one:?} from {nth}");
            world.check();
        }
    }
}

/// A person brought the branch up to date and merges, while another one is asked about
/// what they pushed.
#[test]
fn what_does_not_stand_there_yet_may_be_merged_all_the_same() {
    let news = [
        (merged(), "Queued, merged there"),
        (
            saw(PullRequestNews::MergedBefore {
                head: "theirs".to_owned(),
            }),
            "Queued, asked",
        ),
    ];
    for (seen, came_to) in news {
        let (mut world, token) = requested();
        do_step(&mut world, token, words("c1"));
        go_on(&mut world, token);
        let lane = take_lane(&world, token, AT, 1);
        world.ok(lane);
        let attempt = world.begin_as(token, AT, Role::Resolve);
        let report = piton_core::attempt::Report::with_outcome(piton_core::Outcome::Completed);
        world.end(token, AT, attempt, report);
        world.gate(token, AT, true);
        world.make_commit(token, AT, Ok("more"));
        do_step(&mut world, token, PullRequestStep::Ask);
        let why = "somebody else pushed to it".to_owned();
        do_step(&mut world, token, saw(PullRequestNews::Trouble { why }));
        for other in [closed(), words("c2"), saw(PullRequestNews::Open)] {
            let command = step(&world, token, other);
            assert!(matches!(world.refused(command), Refusal::ItemState { .. }));
        }
        do_step(&mut world, token, seen);
        assert_eq!(shown(&world), came_to);
        assert_eq!(world.tables.open_decisions(world.run).count(), 0);
        world.check();
    }
}

/// What is given back too often waits until a person says here that it goes on.
#[test]
fn words_without_end_end_with_a_question() {
    let (mut world, token) = requested();
    do_step(&mut world, token, held());
    assert_eq!(
        question(&world),
        format!("pull request #7 of `a`: it was given back 10 times: {URL}")
    );
    let known = world.item(AT).pull_request().expect("it is known").clone();
    assert!(known.held && known.returns == 0);
    let retry = world.answer_to(world.question(), Verb::Retry, None);
    world.ok(retry);
    go_on(&mut world, token);
    do_step(&mut world, token, opened("work"));
    let known = world.item(AT).pull_request().expect("it is known").clone();
    assert!(known.is_open && !known.held && known.trouble.is_none());
    do_step(&mut world, token, words("c9"));
    let known = world.item(AT).pull_request().expect("it is known");
    assert_eq!((known.returns, known.heard.len()), (1, 1));
}

#[test]
fn what_waits_in_a_pull_request_waits_for_a_person_and_names_it() {
    let (world, _) = requested();
    assert_eq!(
        question(&world),
        format!("pull request #7 of `a` waits to be merged: {URL}")
    );
    assert_eq!(world.states(&["a", "b"]), ["waiting", "pending"]);
    let known = world.item(AT).pull_request().expect("it is known");
    assert_eq!(
        (known.branch.as_str(), known.base.as_str()),
        ("piton-pr/auth/a", "main")
    );
    let row = world.run_row().branches.lanes.clone().expect("in lanes");
    assert!(row.queue.is_empty() && row.requested.contains_key(&node(AT)));
}

#[test]
fn what_is_merged_there_is_done_by_its_merge_and_lets_others_begin() {
    let (mut world, token) = requested();
    do_step(&mut world, token, merged());
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    go_on(&mut world, token);
    let made = MergeCommit {
        onto: "base".to_owned(),
        commit: "main-tip".to_owned(),
        tree: "tree".to_owned(),
    };
    let start = MergeStep::Start {
        made,
        is_checked: false,
    };
    let command = step_of(&world, token, AT, start);
    world.ok(command);
    // Though it has a check: that is for whoever merges there.
    let state = world.item(AT).merge().map(|merge| merge.state);
    assert_eq!(state, Some(MergeState::Passed));
    let command = step_of(&world, token, AT, MergeStep::End);
    world.ok(command);
    let item = world.item(AT);
    assert_eq!(item.state, ItemState::Done);
    let by = item.proof.evidence.last().expect("there is proof");
    assert!(
        matches!(by, Evidence::Merged { branch, commit, .. } if branch == "main" && commit == "m"),
        "{by:?}"
    );
    assert_eq!(world.states(&["b"]), ["ready"]);
    let target = world.run_row().branches.target.clone().expect("it has one");
    assert_eq!(target.tip, "main-tip");
}

#[test]
fn words_of_people_go_back_to_the_agent_and_each_of_them_once() {
    let (mut world, token) = requested();
    do_step(&mut world, token, words("c1"));
    let item = world.item(AT);
    assert_eq!(
        (item.state, item.stage),
        (ItemState::Working, Stage::Resolve)
    );
    assert_eq!(item.people.rejections, 1);
    let why = item.merge().and_then(|merge| merge.why.clone());
    let expected = MergeReturn::Rejected {
        by: "bob".to_owned(),
        why: "at pull request #7: make it blue".to_owned(),
    };
    assert_eq!(why, Some(expected));
    let known = item.pull_request().expect("it is known");
    assert_eq!(known.heard, ["c1"]);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    // The same one gets what is made of it.
    go_on(&mut world, token);
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    let attempt = world.begin_as(token, AT, Role::Resolve);
    let report = piton_core::attempt::Report::with_outcome(piton_core::Outcome::Completed);
    world.end(token, AT, attempt, report);
    world.gate(token, AT, true);
    world.make_commit(token, AT, Ok("blue"));
    do_step(&mut world, token, PullRequestStep::Ask);
    let known = world.item(AT).pull_request().expect("it is known");
    assert_eq!((known.number, known.is_open), (Some(7), false));
    assert_eq!(
        (known.head.as_str(), &known.before),
        ("blue", &vec!["work".to_owned()])
    );
}

#[test]
fn of_one_that_was_closed_a_person_decides() {
    for (verb, then) in [
        (Verb::Retry, "working at Merge"),
        (Verb::Reject, "working at Resolve"),
        (Verb::Skip, "skipped at Merge"),
    ] {
        let (mut world, token) = requested();
        do_step(&mut world, token, closed());
        assert_eq!(
            question(&world),
            format!("pull request #7 of `a` was closed without a merge: what now?: {URL}")
        );
        let asked = world.tables.decision(world.question()).expect("asked");
        assert_eq!(asked.details.as_deref(), Some("not like this"));
        world.decide(verb, Some("otherwise"));
        let item = world.item(AT);
        let now = format!("{} at {:?}", item.state, item.stage);
        // A retry has no words for an agent here: those go back with it.
        let then = if verb == Verb::Retry {
            "working at Resolve"
        } else {
            then
        };
        assert_eq!(now, then);
        assert_eq!(world.tables.open_decisions(world.run).count(), 0);
        world.check();
    }
    let (mut world, token) = requested();
    do_step(&mut world, token, closed());
    world.decide(Verb::Retry, None);
    assert_eq!(shown(&world), "Queued, closed");
    do_step(&mut world, token, opened("work"));
    assert_eq!(shown(&world), "Requested, open");
}

/// Another one is opened for what is made after that.
#[test]
fn after_a_closed_one_the_next_work_has_another_one() {
    let (mut world, token) = requested();
    do_step(&mut world, token, closed());
    world.decide(Verb::Reject, Some("otherwise"));
    world.check();
    go_on(&mut world, token);
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    let attempt = world.begin_as(token, AT, Role::Resolve);
    let report = piton_core::attempt::Report::with_outcome(piton_core::Outcome::Completed);
    world.end(token, AT, attempt, report);
    world.gate(token, AT, true);
    world.make_commit(token, AT, Ok("new"));
    do_step(&mut world, token, PullRequestStep::Ask);
    let known = world.item(AT).pull_request().expect("it is known");
    assert_eq!((known.number, &known.url), (None, &None));
}

#[test]
fn what_a_person_approves_or_changed_nothing_is_merged_here() {
    let (mut world, token) = in_lanes_with("c approval");
    work(&mut world, token, "c", "work");
    world.decide(Verb::Approve, None);
    let item = world.item("c");
    assert!(
        item.merge()
            .is_some_and(|merge| merge.state == MergeState::Queued)
    );
    assert_eq!(world.run_row().pull_request_base(item), None);
    let (mut world, token) = in_lanes();
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    world.complete(token, AT);
    world.gate(token, AT, true);
    let run = world.run;
    world.ok(Command::StartCommit {
        run,
        token,
        node: node(AT),
        head: Some("base".to_owned()),
    });
    let fence = world.fence(AT);
    world.ok(Command::EndCommit {
        run,
        token,
        node: node(AT),
        fence,
        result: Ok(None),
    });
    assert_eq!(shown(&world), "Queued");
    assert_eq!(world.run_row().pull_request_base(world.item(AT)), None);
    world.refused(step(&world, token, PullRequestStep::Ask));
}

#[test]
fn a_run_goes_on_as_it_was_begun() {
    for begun in [true, false] {
        let (mut world, token) = in_lanes();
        if !begun {
            let (other, its) = crate::merges::in_lanes("a\nb");
            (world, _) = (other, its);
        }
        let token = if begun { token } else { world.run_row().fence };
        enter(&mut world, token, with_pull_requests(!begun));
        let lanes = world.run_row().branches.lanes.as_deref().expect("in lanes");
        assert_eq!(lanes.terms.pull_requests, begun);
    }
}

/// What waits there may be merged by now.
#[test]
fn a_run_that_waits_for_a_pull_request_alone_can_be_started() {
    let (mut world, token) = requested();
    let run = world.run;
    assert_eq!(world.state(), RunState::Waiting);
    world.ok(Command::ReleaseRun { run, token });
    let recorded = world.ok(start_run(run, piton_core::policy::Limits::default()));
    assert!(
        recorded
            .iter()
            .any(|one| matches!(one.event, Event::Run(RunEvent::Started { .. })))
    );
    assert_eq!(world.state(), RunState::Waiting);
}

/// Its work would be on no branch, and the pull request nobody's.
#[test]
fn a_mark_at_an_item_whose_work_is_in_a_pull_request_does_not_drop_it() {
    let (mut world, _) = requested();
    let run = world.run;
    for word in [
        EditAuthor::File,
        EditAuthor::Hand {
            by: "ada".to_owned(),
            brought: Vec::new(),
        },
    ] {
        world.ok(Command::TakeEdits {
            run,
            token: None,
            file: "state.json".to_owned(),
            edits: vec![Edit::SetState {
                node: node(AT),
                to: ItemState::Done,
            }],
            word,
        });
        assert_eq!(shown(&world), "Requested, open");
    }
}

/// It would be done by a check that never saw it.
#[test]
fn a_check_that_was_changed_meanwhile_has_to_pass_on_what_was_merged() {
    let (mut world, token) = requested();
    let run = world.run;
    let gate = world.item(AT).plan.gate.clone().map(|gate| Gate {
        script: "make more".to_owned(),
        ..gate
    });
    world.ok(Command::TakeEdits {
        run,
        token: None,
        file: "state.json".to_owned(),
        edits: vec![Edit::SetGate {
            node: node(AT),
            gate,
        }],
        word: EditAuthor::File,
    });
    do_step(&mut world, token, merged());
    go_on(&mut world, token);
    let start = MergeStep::Start {
        made: MergeCommit {
            onto: "base".to_owned(),
            commit: "main-tip".to_owned(),
            tree: "tree".to_owned(),
        },
        is_checked: true,
    };
    let command = step_of(&world, token, AT, start);
    world.ok(command);
    let state = world.item(AT).merge().map(|merge| merge.state);
    assert_eq!(state, Some(MergeState::Checking));
}

/// An item with a pull request that others left, where a runner has entered lanes.
fn left_to(state: ItemState, reviewed: bool, pull_requests: bool) -> (World, u64) {
    left_in("shop", state, reviewed, pull_requests)
}

/// The same in a repository.
fn left_in(
    repository: &str,
    state: ItemState,
    reviewed: bool,
    pull_requests: bool,
) -> (World, u64) {
    let mut world = World::empty();
    let run = world.run;
    let mut plan = plan(run, "a");
    plan.order = piton_core::plan::Order::Any;
    plan.items[0].state = state;
    plan.items[0].past.pull_request = Some(4);
    plan.items[0].repository = Some(repository.to_owned());
    plan.policy.repositories = Some(piton_core::policy::Repositories {
        own: vec!["shop".to_owned()],
        others: vec!["web".to_owned()],
    });
    if state == ItemState::Waiting {
        plan.items[0].past.human = Some(piton_core::attempt::HumanNeeded {
            reason: "shop#4 waits for a person".to_owned(),
            details: None,
        });
    }
    plan.policy.review = reviewed.then(|| piton_core::review::ReviewPolicy {
        rounds_max: 3,
        except: Vec::new(),
    });
    world.ok(Command::PlanRun(Box::new(plan)));
    let token = world.start();
    world.ok(Command::TargetRun {
        run,
        token,
        repository: None,
        target: Box::new(TargetRow {
            branch: "piton/auth".to_owned(),
            base: "base".to_owned(),
            tip: "base".to_owned(),
            onto: Some("main".to_owned()),
            path: None,
            was_there: false,
            merged: 0,
        }),
    });
    enter(&mut world, token, with_pull_requests(pull_requests));
    (world, token)
}

fn taken(number: u64) -> PullRequestStep {
    PullRequestStep::Take(AdoptedPullRequest {
        number,
        url: "https://github.com/acme/shop/pull/4".to_owned(),
        head: "theirs".to_owned(),
        branch: "feature".to_owned(),
        base: "develop".to_owned(),
    })
}

#[test]
fn what_others_left_in_a_pull_request_goes_on_there() {
    // One that waited for a person waits on, and is not reviewed again.
    let (mut world, token) = left_to(ItemState::Waiting, true, true);
    do_step(&mut world, token, taken(4));
    assert_eq!(shown(&world), "Requested, open");
    assert_eq!(
        question(&world),
        "pull request #4 of `a` waits to be merged: https://github.com/acme/shop/pull/4"
    );
    let known = world.item(AT).pull_request().expect("it is known");
    assert_eq!(known.short_reference().as_deref(), Some("acme/shop#4"));
    // One that was at work is reviewed first, with what is there.
    let (mut world, token) = left_to(ItemState::Ready, true, true);
    do_step(&mut world, token, taken(4));
    let item = world.item(AT);
    assert_eq!(
        (item.state, item.stage),
        (ItemState::Working, Stage::Review)
    );
    assert_eq!(
        item.work
            .unit
            .as_ref()
            .and_then(|unit| unit.work.as_deref()),
        Some("theirs")
    );
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    let lane = world.item(AT).lane().expect("it has one");
    assert_eq!(lane.from, "theirs");
    let (mut world, token) = left_to(ItemState::Ready, false, true);
    do_step(&mut world, token, taken(4));
    assert_eq!(shown(&world), "Requested, open");
}

/// What was merged in another repository moves the target there.
#[test]
fn what_others_left_in_another_repository_is_followed_there() {
    let (mut world, token) = left_in("web", ItemState::Waiting, false, true);
    let base = "base of web".to_owned();
    world.ok(Command::TargetRun {
        run: world.run,
        token,
        repository: Some("web".to_owned()),
        target: Box::new(TargetRow {
            branch: "piton/auth".to_owned(),
            base: base.clone(),
            tip: base.clone(),
            onto: Some("main".to_owned()),
            path: None,
            was_there: false,
            merged: 0,
        }),
    });
    do_step(&mut world, token, taken(4));
    assert_eq!(world.item(AT).repository_of_work(), Some("web"));
    do_step(&mut world, token, merged());
    go_on(&mut world, token);
    let made = MergeCommit {
        onto: base,
        commit: "main of web".to_owned(),
        tree: "tree".to_owned(),
    };
    let start = MergeStep::Start {
        made,
        is_checked: false,
    };
    for one in [start, MergeStep::End] {
        let command = step_of(&world, token, AT, one);
        world.ok(command);
    }
    let row = world.run_row();
    let tip = |name| {
        row.target_in_repository(name)
            .map(|target| target.tip.as_str())
    };
    assert_eq!(
        (tip(None), tip(Some("web"))),
        (Some("base"), Some("main of web"))
    );
}

#[test]
fn another_one_is_not_taken_nor_any_where_work_goes_to_none() {
    let (world, token) = left_to(ItemState::Ready, false, true);
    let mut other = world;
    let command = step(&other, token, taken(5));
    other.refused(command);
    let (mut world, token) = left_to(ItemState::Ready, false, false);
    let command = step(&world, token, taken(4));
    world.refused(command);
    let lane = take_lane(&world, token, AT, 1);
    world.ok(lane);
    world.begin(token, AT);
    assert_eq!(world.item(AT).unadopted_pull_request(), None);
}

#[test]
fn one_that_is_lost_leaves_the_item_as_it_is() {
    for state in [ItemState::Ready, ItemState::Waiting] {
        let (mut world, token) = left_to(state, false, true);
        let why = "not found".to_owned();
        do_step(&mut world, token, saw(PullRequestNews::Lost { why }));
        let item = world.item(AT);
        assert_eq!((item.state, item.pull_request()), (state, None));
        world.check();
    }
}

fn seen(look: Result<PullRequestSnapshot, String>) -> Input {
    Input::PullRequestSeen {
        node: node(AT),
        number: 7,
        look,
    }
}

fn still_open() -> Result<PullRequestSnapshot, String> {
    Ok(PullRequestSnapshot {
        has_work: false,
        state: PullRequestState::Open,
        merge_commit: None,
        head: Some("work".to_owned()),
        words: Vec::new(),
    })
}

/// A runner of a run that waits for a pull request alone.
fn runner(world: &World, token: u64, wait: bool) -> RunLoop {
    let options = RunLoopOptions {
        wait,
        ..RunLoopOptions::default()
    };
    RunLoop::new(world.run, token, options, world.tables.clone())
}

fn looked(world: &mut World) -> Input {
    Input::Looked {
        events: Vec::new(),
        pause_file: false,
        attempt: world.fresh_attempt(),
    }
}

fn look_at() -> Effect {
    let node = node(AT);
    Effect::LookAtPullRequest { node, number: 7 }
}

#[test]
fn a_runner_looks_once_and_ends_or_stays_and_looks_each_minute() {
    for wait in [false, true] {
        let (mut world, token) = requested();
        let mut runner = runner(&world, token, wait);
        let now = world.now;
        let input = looked(&mut world);
        assert_eq!(runner.step(now, input), [look_at()]);
        assert_eq!(runner.step(now, seen(still_open())), [Effect::Look]);
        let input = looked(&mut world);
        let effects = runner.step(now, input);
        if !wait {
            assert_eq!(effects, [Effect::Finish(RunLoopEnding::State)]);
            continue;
        }
        let later = now + SignedDuration::from_secs(60);
        assert_eq!(effects, [Effect::WaitForPerson, Effect::WakeAt(later)]);
        assert_eq!(runner.step(later, Input::Time), [Effect::Look]);
        let input = looked(&mut world);
        let effects = runner.step(later, input);
        assert_eq!(effects, [Effect::WaitForPerson, look_at()]);
    }
}

#[test]
fn what_cannot_be_seen_for_an_hour_is_asked_about() {
    let (mut world, token) = requested();
    let mut runner = runner(&world, token, true);
    let begin = world.now;
    for minute in 0..=60 {
        let now = begin + SignedDuration::from_mins(minute);
        let mut effects = match minute {
            0 => vec![Effect::Look],
            _ => runner.step(now, Input::Time),
        };
        assert_eq!(effects, [Effect::Look], "{minute}");
        let input = looked(&mut world);
        effects = runner.step(now, input);
        assert!(effects.contains(&look_at()), "{minute}: {effects:?}");
        let effects = runner.step(now, seen(Err("no network".to_owned())));
        assert_eq!(effects, [Effect::Look], "{minute}");
        let input = looked(&mut world);
        let effects = runner.step(now, input);
        let asks = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Commit(_)));
        assert_eq!(asks, minute == 60, "{minute}: {effects:?}");
    }
}

/// It would be seen to be merged again at once, and so for ever.
#[test]
fn what_was_merged_and_cannot_be_followed_waits_for_a_person_alone() {
    let (mut world, token) = requested();
    do_step(&mut world, token, merged());
    go_on(&mut world, token);
    let why = "it contradicts the target".to_owned();
    do_step(&mut world, token, saw(PullRequestNews::Trouble { why }));
    assert_eq!(
        question(&world),
        format!("pull request #7 of `a` was merged, and it contradicts the target: {URL}")
    );
    let mut runner = runner(&world, token, false);
    let input = looked(&mut world);
    assert_eq!(
        runner.step(world.now, input),
        [Effect::Finish(RunLoopEnding::State)]
    );
    world.decide(Verb::Retry, None);
    assert_eq!(shown(&world), "Queued, merged there");
}

/// A runner that is not to wait, and has nothing else to do, does not sit for an hour.
#[test]
fn what_cannot_be_opened_is_asked_about_after_an_hour_or_soon_where_nothing_else_is_left() {
    for (wait, last) in [(true, 60), (false, 5)] {
        let (mut world, token) = in_lanes_with("a gate=3");
        work(&mut world, token, AT, "work");
        let ask = step(&world, token, PullRequestStep::Ask);
        world.ok(ask);
        let mut runner = runner(&world, token, wait);
        let begin = world.now;
        for minute in 0..=last {
            let now = begin + SignedDuration::from_mins(minute);
            let mut effects = match minute {
                0 => vec![Effect::Look],
                _ => runner.step(now, Input::Time),
            };
            assert_eq!(effects, [Effect::Look], "{minute}");
            let input = looked(&mut world);
            effects = runner.step(now, input);
            let node = node(AT);
            let tries = Effect::OpenPullRequest { node: node.clone() };
            assert!(effects.contains(&tries), "{minute}: {effects:?}");
            let end = PullRequestOpenEnd::Failed("no network".to_owned());
            // It looks around as the opening goes on.
            let effects = runner.step(now, Input::PullRequestOpened { node, end });
            assert_eq!(effects, [], "{minute}");
            let input = looked(&mut world);
            let effects = runner.step(now, input);
            if minute == last {
                let asks = matches!(effects.as_slice(), [Effect::Commit(_)]);
                assert!(asks, "{wait} {minute}: {effects:?}");
                continue;
            }
            assert_eq!(effects, [Effect::Look], "{wait} {minute}");
            let input = looked(&mut world);
            let effects = runner.step(now, input);
            let sits = matches!(effects.as_slice(), [Effect::WaitUntil(_)]);
            assert!(sits, "{wait} {minute}: {effects:?}");
        }
    }
}

/// Nobody who cannot see it knows that it is not there: nothing is done anew.
#[test]
fn what_others_left_and_nobody_can_see_is_not_forgotten() {
    let (world, token) = in_lanes_with("a pull-request=7");
    let mut world = world;
    let mut runner = runner(&world, token, false);
    let begin = world.now;
    let take = Effect::TakePullRequest {
        node: node(AT),
        number: 7,
    };
    for minute in 0..=5 {
        let now = begin + SignedDuration::from_mins(minute);
        if minute > 0 {
            assert_eq!(runner.step(now, Input::Time), [Effect::Look]);
        }
        let input = looked(&mut world);
        let effects = runner.step(now, input);
        assert!(effects.contains(&take), "{minute}: {effects:?}");
        let end = PullRequestOpenEnd::Failed("no network".to_owned());
        let node = node(AT);
        runner.step(now, Input::PullRequestOpened { node, end });
        let input = looked(&mut world);
        let effects = runner.step(now, input);
        if minute == 5 {
            let [Effect::Commit(command)] = effects.as_slice() else {
                panic!("{effects:?}");
            };
            assert!(
                matches!(command, Command::InterruptRun { .. }),
                "{command:?}"
            );
            continue;
        }
        assert_eq!(effects, [Effect::Look], "{minute}");
        let input = looked(&mut world);
        runner.step(now, input);
    }
}
