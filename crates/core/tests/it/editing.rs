//! What somebody changes in the file of a plan by hand: case 16.

use piton_core::classify::FailureCategory;
use piton_core::command::EditAuthor;
use piton_core::event::DecisionEvent;
use piton_core::gate::Gate;
use piton_core::item::Evidence;
use piton_core::native::Native;
use piton_core::plan::PlannedItem;
use piton_core::run::Pause;
use piton_core::{
    Command, DecisionId, DecisionKind, Edit, Event, ItemState, Node, Refusal, RunState, Stage, Verb,
};

use crate::edits::new_item;
use crate::world::{World, failure, needs_human, node};

const PLAN: &str = "
build
  s1
    a
    b
  s2
test gate=3
release after=test
";

const FILE: &str = "sprints/auth/PROGRESS.yaml";

fn edits(world: &mut World, edits: Vec<Edit>) {
    let (run, file) = (world.run, FILE.to_owned());
    world.ok(Command::TakeEdits {
        run,
        token: None,
        file,
        edits,
        word: EditAuthor::File,
    });
}

fn edit(world: &mut World, edit: Edit) {
    edits(world, vec![edit]);
}

fn set(at: &str, to: ItemState) -> Edit {
    Edit::SetState { node: node(at), to }
}

fn prompt(at: &str, text: &str) -> Edit {
    Edit::SetPrompt {
        node: node(at),
        prompt: Some(text.to_owned()),
    }
}

fn insert(parent: Option<&str>, after: Option<&str>, items: Vec<PlannedItem>) -> Edit {
    Edit::Insert {
        parent: parent.map(node),
        after: after.map(node),
        items,
    }
}

fn phase(id: &str) -> Vec<PlannedItem> {
    vec![new_item(None, id, ItemState::Ready)]
}

/// What could not be taken, a line an edit.
fn left(world: &World) -> Vec<String> {
    let open: Vec<_> = world.tables.open_decisions(world.run).collect();
    let about: Vec<_> = open
        .iter()
        .filter(|row| row.kind == DecisionKind::FileConflict)
        .collect();
    assert!(about.len() < 2, "one question a file: {about:?}");
    about
        .iter()
        .flat_map(|row| row.details.as_deref().unwrap_or_default().lines())
        .map(str::to_owned)
        .collect()
}

fn order_of(world: &World, parent: Option<&str>) -> Vec<String> {
    let parent = parent.map(node);
    let tree = world.tables.tree(world.run);
    let below = tree.filter(|item| item.node.parent() == parent);
    below.map(|item| item.node.to_string()).collect()
}

/// A world and where its run stands.
type Situation = (&'static str, fn() -> World);

const SITUATIONS: [Situation; 8] = [
    ("new", || World::planned(PLAN)),
    ("running", || World::running(PLAN).0),
    ("under way", || {
        let (mut world, token) = World::running(PLAN);
        world.begin(token, "build/s1/a");
        world
    }),
    ("failed", || {
        let (mut world, token) = World::running(PLAN);
        world.fail(token, "build/s1/a");
        world
    }),
    ("waiting", || {
        let (mut world, token) = World::running(PLAN);
        world.work(token, "build/s1/a", needs_human("how?"));
        world
    }),
    ("skipped", || {
        let (mut world, _) = World::running(PLAN);
        world.skip("build/s1/a");
        world
    }),
    ("done", || {
        let (mut world, token) = World::running(PLAN);
        world.complete(token, "build/s1/a");
        world
    }),
    ("at its gate", || {
        let (mut world, token) = World::running(PLAN);
        world.skip("build");
        world.complete(token, "test");
        world
    }),
];

#[test]
fn an_edit_does_what_the_same_wish_of_a_person_does() {
    use ItemState::{Done, Pending, Skipped, Working};
    let a = "build/s1/a";
    // For each situation: what becomes of `a`, or `-` when it does not fit.
    let table: [(&str, Edit, [&str; 8]); 6] = [
        (
            "to pending",
            set(a, Pending),
            [
                "ready", "ready", "-working", "ready", "ready", "ready", "-done", "ready",
            ],
        ),
        (
            "to skipped",
            set(a, Skipped),
            [
                "skipped", "skipped", "working", "skipped", "skipped", "skipped", "-done",
                "skipped",
            ],
        ),
        (
            "to completed",
            set(a, Done),
            [
                "done", "done", "-working", "done", "done", "done", "done", "done",
            ],
        ),
        (
            "to in-progress",
            set(a, Working),
            [
                "-ready", "-ready", "working", "-failed", "-waiting", "-skipped", "-done",
                "-skipped",
            ],
        ),
        (
            "another prompt",
            prompt(a, "otherwise"),
            [
                "ready", "ready", "working", "failed", "waiting", "skipped", "done", "skipped",
            ],
        ),
        (
            "retries",
            Edit::SetRetries {
                node: node(a),
                retries: 2,
            },
            [
                "ready", "ready", "working", "failed", "waiting", "-skipped", "-done", "-skipped",
            ],
        ),
    ];
    for (name, wish, expected) in table {
        for ((situation, make), expected) in SITUATIONS.iter().zip(expected) {
            let mut world = make();
            // The phase was left out as a whole there: its step comes back alone.
            edit(&mut world, wish.clone());
            let (fits, state) = match expected.strip_prefix('-') {
                Some(state) => (false, state),
                None => (true, expected),
            };
            assert_eq!(world.item(a).state.as_str(), state, "{name}, {situation}");
            assert_eq!(
                left(&world).is_empty(),
                fits,
                "{name}, {situation}: {:?}",
                left(&world)
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_asked_about_and_stops_nothing() {
    let (mut world, token) = World::running(PLAN);
    let attempt = world.begin(token, "build/s1/a");
    let again = set("build/s1/a", ItemState::Pending);
    let both = vec![again, prompt("build/s1/b", "y")];
    edits(&mut world, both.clone());
    assert_eq!(
        left(&world),
        ["`build/s1/a` is to be pending: `build/s1/a` is being worked on"]
    );
    assert_eq!(world.item("build/s1/b").plan.prompt.as_deref(), Some("y"));
    assert_eq!(world.state(), RunState::Running);
    // The same again says nothing new.
    let before = world.journal.len();
    edits(&mut world, both);
    assert_eq!(world.journal.len(), before);
    // The run goes on, fails, and is let go on while the file waits.
    world.end(
        token,
        "build/s1/a",
        attempt,
        piton_core::attempt::Report::with_outcome(piton_core::Outcome::Failed),
    );
    assert_eq!(world.state(), RunState::Blocked);
    world.retry("build/s1/a");
    assert_eq!(world.state(), RunState::Interrupted);
    let question = world.question();
    for verb in [Verb::Retry, Verb::Skip, Verb::Answer, Verb::Approve] {
        let command = world.answer_to(question, verb, Some("x"));
        let kind = DecisionKind::FileConflict;
        let fits = vec![Verb::KeepPiton, Verb::Merge];
        assert_eq!(
            world.refused(command),
            Refusal::WrongVerb { kind, verb, fits }
        );
    }
    world.decide(Verb::KeepPiton, None);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    assert_eq!(world.state(), RunState::Interrupted);
}

#[test]
fn a_file_that_fits_again_closes_its_question() {
    let (mut world, token) = World::running(PLAN);
    world.begin(token, "build/s1/a");
    edit(&mut world, set("build/s1/a", ItemState::Pending));
    assert_eq!(left(&world).len(), 1);
    let question = world.question();
    edits(&mut world, vec![]);
    assert_eq!(left(&world).len(), 0);
    // Nobody said so, and nobody is said to have.
    let verdict = world
        .tables
        .decision(question)
        .and_then(|row| row.verdict.clone());
    assert_eq!(verdict.map(|verdict| verdict.verb), Some(Verb::Settled));
}

fn says_person(world: &World, edits: Vec<Edit>, why: Option<&str>) -> Command {
    let decision = about_the_file(world);
    let why = why.map(str::to_owned);
    says(world, FILE, edits, EditAuthor::Person { decision, why })
}

fn says(world: &World, file: &str, edits: Vec<Edit>, word: EditAuthor) -> Command {
    Command::TakeEdits {
        run: world.run,
        token: None,
        file: file.to_owned(),
        edits,
        word,
    }
}

/// The open question about the file, whatever else is asked.
#[track_caller]
fn about_the_file(world: &World) -> DecisionId {
    let mut open = world.tables.open_decisions(world.run);
    let about = open.find(|row| row.kind == DecisionKind::FileConflict);
    about.expect("a question about the file").id
}

/// Sets back what is done, by a person's word.
#[track_caller]
fn set_back(world: &mut World, at: &str) {
    let again = vec![set(at, ItemState::Pending)];
    edits(world, again.clone());
    let command = says_person(world, again, None);
    world.ok(command);
}

#[test]
fn what_is_done_is_done_again_when_a_person_says_so() {
    let (mut world, token) = World::running("build\n  s1\n  s2\ndocs\ntest after=build\n");
    for at in ["build/s1", "build/s2", "docs"] {
        world.complete(token, at);
    }
    assert_eq!(world.states(&["build", "test"]), ["done", "ready"]);
    let again = vec![set("build/s1", ItemState::Pending)];
    edits(&mut world, again.clone());
    assert_eq!(left(&world), ["`build/s1` is to be pending: it is done"]);
    let row = world.tables.decision(world.question()).cloned();
    assert_eq!(
        row.map(|row| row.allowed_verbs()),
        Some(vec![Verb::KeepFile, Verb::KeepPiton, Verb::Merge])
    );
    let command = says_person(&world, again, Some("it lost the flag"));
    let told = world.ok(command);
    let states = world.states(&["build", "build/s1", "build/s2", "test", "docs"]);
    assert_eq!(states, ["working", "ready", "done", "pending", "done"]);
    let item = world.item("build/s1");
    assert_eq!((item.attempts, item.proof.evidence.len()), (1, 0));
    assert_eq!(item.people.answer.as_deref(), Some("it lost the flag"));
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    let made = told.iter().find_map(|recorded| match &recorded.event {
        Event::Decision(DecisionEvent::Made { verb, why, .. }) => Some((*verb, why.clone())),
        _ => None,
    });
    let why = Some("it lost the flag".to_owned());
    assert_eq!(made, Some((Verb::KeepFile, why)));
    for at in ["build/s1", "test"] {
        assert_eq!(world.next(), Some(at));
        world.complete(token, at);
    }
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn what_ended_badly_waits_again_for_what_is_to_be_done_again() {
    let bare = piton_core::attempt::Report::with_outcome;
    for (ended, report) in [
        ("failed", failure(FailureCategory::Logic, "it broke")),
        ("blocked", bare(piton_core::Outcome::Blocked)),
        ("waiting", needs_human("which one?")),
    ] {
        for (plan, at) in [
            ("first\nthen after=first", "then"),
            ("first\nthen after=first\n  s1\n  s2", "then/s1"),
        ] {
            let (mut world, token) = World::running(plan);
            world.complete(token, "first");
            world.work(token, at, report.clone());
            assert_eq!(world.states(&[at]), [ended]);
            set_back(&mut world, "first");
            let question = world.question();
            let answer = world.answer_to(question, Verb::Retry, None);
            world.ok(answer);
            assert_eq!(
                world.states(&["first", at]),
                ["ready", "pending"],
                "{ended}"
            );
            let run = world.run;
            world.ok(Command::ContinueRun { run, token });
            assert_eq!(world.next(), Some("first"), "{ended}");
            world.complete(token, "first");
            assert_eq!(world.states(&[at]), ["ready"], "{ended}");
            assert_eq!(world.next(), Some(at), "{ended}");
        }
    }
}

#[test]
fn an_answer_is_kept_while_what_it_is_for_waits_again() {
    let (mut world, token) = World::running("first\nthen after=first");
    world.complete(token, "first");
    world.work(token, "then", needs_human("which one?"));
    set_back(&mut world, "first");
    world.decide(Verb::Answer, Some("the second"));
    assert_eq!(world.states(&["then"]), ["pending"]);
    let run = world.run;
    world.ok(Command::ContinueRun { run, token });
    world.complete(token, "first");
    assert_eq!(world.states(&["then"]), ["ready"]);
    assert_eq!(
        world.item("then").people.answer.as_deref(),
        Some("the second")
    );
}

#[test]
fn a_step_that_has_not_begun_waits_for_what_its_phase_waits_for() {
    let (mut world, token) = World::running("first\nthen after=first\n  s1\n  s2\n    x");
    world.complete(token, "first");
    world.complete(token, "then/s1");
    set_back(&mut world, "first");
    let nodes = ["then", "then/s1", "then/s2", "then/s2/x"];
    assert_eq!(
        world.states(&nodes),
        ["working", "done", "pending", "pending"]
    );
    // So does what is set back itself, and what is new.
    set_back(&mut world, "then/s1");
    let step = vec![new_item(Some(&node("then")), "s3", ItemState::Ready)];
    edit(&mut world, insert(Some("then"), Some("then/s2"), step));
    assert_eq!(world.states(&["then/s1", "then/s3"]), ["pending"; 2]);
    assert_eq!(world.next(), Some("first"));
    world.complete(token, "first");
    for at in ["then/s1", "then/s2/x", "then/s3"] {
        assert_eq!(world.next(), Some(at));
        world.complete(token, at);
    }
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn a_run_that_is_done_goes_on_with_what_is_to_be_done_again() {
    let (mut world, token) = World::running("build\n  s1\nrelease\n");
    world.complete(token, "build/s1");
    world.complete(token, "release");
    assert_eq!(world.state(), RunState::Done);
    let again = vec![
        set("build", ItemState::Pending),
        set("build/s1", ItemState::Pending),
    ];
    edits(&mut world, again.clone());
    let command = says_person(&world, again, None);
    world.ok(command);
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.states(&["build", "build/s1"]), ["working", "ready"]);
}

#[test]
fn nothing_is_offered_that_would_be_refused() {
    let both = [Verb::KeepPiton, Verb::Merge];
    for (situation, edit) in [
        ("a phase alone", set("build/s1", ItemState::Pending)),
        (
            "something else to wait for",
            Edit::SetDependsOn {
                node: node("build/s1/a"),
                depends_on: vec![node("build/s1/b")],
            },
        ),
        ("by hand at work", set("build/s1/b", ItemState::Working)),
    ] {
        let (mut world, token) = World::running(PLAN);
        world.complete(token, "build/s1/a");
        world.complete(token, "build/s1/b");
        edits(&mut world, vec![edit.clone()]);
        let row = world.tables.decision(world.question()).cloned();
        assert_eq!(row.expect("asked").allowed_verbs(), both, "{situation}");
        let command = says_person(&world, vec![edit], None);
        let refusal = world.refused(command);
        assert!(
            matches!(refusal, Refusal::WrongVerb { .. }),
            "{situation}: {refusal}"
        );
        assert_eq!(left(&world).len(), 1, "{situation}");
    }
}

#[test]
fn a_persons_word_holds_for_what_was_asked_and_only_once() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    let again = vec![set("build/s1/a", ItemState::Pending)];
    edits(&mut world, again.clone());
    let asked = about_the_file(&world);
    let of_person = |world: &World, decision, file| {
        let why = None;
        says(
            world,
            file,
            again.clone(),
            EditAuthor::Person { decision, why },
        )
    };
    let (word, nobody) = (
        of_person(&world, asked, FILE),
        DecisionId(uuid::Uuid::nil()),
    );
    for (refused, unknown) in [
        (of_person(&world, nobody, FILE), nobody),
        (
            of_person(&world, asked, "sprints/other/PROGRESS.yaml"),
            asked,
        ),
    ] {
        let refusal = world.refused(refused);
        assert_eq!(refusal, Refusal::NoSuchDecision(unknown.to_string()));
    }
    world.ok(word.clone());
    world.complete(token, "build/s1/a");
    let refusal = world.refused(word);
    assert!(matches!(refusal, Refusal::Decided { .. }), "{refusal}");
    assert_eq!(world.states(&["build/s1/a"]), ["done"]);
    // A question about something else is no word about the file.
    world.work(token, "build/s1/b", needs_human("how?"));
    let command = of_person(&world, world.question(), FILE);
    let refusal = world.refused(command);
    assert!(matches!(refusal, Refusal::WrongVerb { .. }), "{refusal}");
}

#[test]
fn a_persons_word_that_cannot_be_carried_out_any_more_is_refused_as_a_whole() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    let again = vec![set("build/s1/a", ItemState::Pending)];
    edits(&mut world, again.clone());
    let mut more = again;
    more.push(set("build/s1/b", ItemState::Working));
    let command = says_person(&world, more, None);
    let refusal = world.refused(command);
    assert!(matches!(refusal, Refusal::Unfit { .. }), "{refusal}");
    assert_eq!(world.states(&["build/s1/a"]), ["done"]);
    assert_eq!(left(&world).len(), 1);
}

#[test]
fn a_claim_needs_no_agent_and_says_who_made_it() {
    let (mut world, token) = World::running(PLAN);
    edit(&mut world, set("build/s1", ItemState::Done));
    let nodes = ["build", "build/s1", "build/s1/a", "build/s1/b", "build/s2"];
    assert_eq!(
        world.states(&nodes),
        ["working", "done", "done", "done", "ready"]
    );
    let by = FILE.to_owned();
    assert_eq!(
        world.item("build/s1/a").proof.evidence,
        [Evidence::Claimed { by }]
    );
    edit(&mut world, set("build/s2", ItemState::Done));
    assert_eq!(world.states(&["build"]), ["done"]);
    edit(&mut world, set("test", ItemState::Done));
    assert_eq!(world.states(&["test", "release"]), ["done", "ready"]);
    world.complete(token, "release");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn a_claimed_node_that_failed_lets_the_run_go_on() {
    let (mut world, token) = World::running(PLAN);
    world.fail(token, "build/s1/a");
    edit(&mut world, set("build/s1/a", ItemState::Done));
    assert_eq!(world.states(&["build", "build/s1"]), ["working", "working"]);
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
}

#[test]
fn case_16_a_phase_put_in_the_middle_moves_the_others_and_is_run_in_its_turn() {
    let (mut world, token) = World::running(PLAN);
    let mut docs = phase("docs");
    let top = docs[0].node.clone();
    for (index, id) in (0..).zip(["x", "y"]) {
        let mut step = new_item(Some(&top), id, ItemState::Ready);
        step.place = docs[0].place.child(index);
        docs.push(step);
    }
    edit(&mut world, insert(None, Some("build"), docs));
    assert_eq!(order_of(&world, None), ["build", "docs", "test", "release"]);
    assert_eq!(world.item("release").plan.place.0, [3]);
    assert_eq!(world.item("docs/y").plan.place.0, [1, 1]);
    for at in ["build/s1/a", "build/s1/b", "build/s2", "docs/x", "docs/y"] {
        assert_eq!(world.next(), Some(at));
        world.complete(token, at);
    }
    assert_eq!(world.states(&["docs", "release"]), ["done", "pending"]);
}

#[test]
fn an_id_that_is_there_already_gets_the_next_number() {
    let mut world = World::planned(PLAN);
    edit(&mut world, insert(None, None, phase("build")));
    edit(&mut world, insert(None, None, phase("build")));
    assert_eq!(
        order_of(&world, None),
        ["build#3", "build#2", "build", "test", "release"]
    );
    assert_eq!(world.item("build/s1/b").plan.place.0, [2, 0, 1]);
}

#[test]
fn a_new_step_reopens_the_phase_that_it_stands_in() {
    let (mut world, token) = World::running("build\n  s1\nrelease\n");
    world.complete(token, "build/s1");
    assert_eq!(world.states(&["build"]), ["done"]);
    let step = vec![new_item(Some(&node("build")), "s2", ItemState::Ready)];
    edit(
        &mut world,
        insert(Some("build"), Some("build/s1"), step.clone()),
    );
    assert_eq!(world.states(&["build", "build/s2"]), ["working", "ready"]);
    assert_eq!(world.next(), Some("build/s2"));
    // Below what is left out nothing begins.
    world.skip("build/s2");
    world.skip("release");
    let step = vec![new_item(Some(&node("release")), "s", ItemState::Ready)];
    edit(&mut world, insert(Some("release"), None, step));
    assert_eq!(
        left(&world).len(),
        1,
        "a phase that is left out has been begun as it is"
    );
}

#[test]
fn a_finished_run_with_a_new_phase_is_to_be_run_again() {
    let (mut world, token) = World::running("build\n");
    world.complete(token, "build");
    assert_eq!(world.state(), RunState::Done);
    let run = world.run;
    world.ok(Command::ReleaseRun { run, token });
    edit(&mut world, insert(None, Some("build"), phase("more")));
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(world.pointer(), Some("more"));
    let token = world.start();
    world.complete(token, "more");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn what_is_new_waits_for_what_it_names() {
    let mut world = World::planned(PLAN);
    let mut later = phase("later");
    later[0].depends_on = vec![node("docs")];
    let both = vec![
        insert(None, None, later.clone()),
        insert(None, None, phase("docs")),
    ];
    edits(&mut world, both);
    assert_eq!(left(&world), Vec::<String>::new());
    assert_eq!(world.states(&["later", "docs"]), ["pending", "ready"]);
    later[0].depends_on = vec![node("nobody")];
    edit(&mut world, insert(None, None, later));
    assert_eq!(
        left(&world),
        ["a new `later`: it waits for `nobody`, which is not there"]
    );
}

#[test]
fn case_16_phases_in_another_order_are_run_in_that_order() {
    let (mut world, token) = World::running(PLAN);
    world.complete(token, "build/s1/a");
    // What is not named stays behind the one that it stands behind.
    let nodes = vec![node("release"), node("build")];
    edit(
        &mut world,
        Edit::Order {
            parent: None,
            nodes,
        },
    );
    assert_eq!(order_of(&world, None), ["release", "build", "test"]);
    assert_eq!(world.item("build/s1/b").plan.place.0, [1, 0, 1]);
    let nodes = vec![node("test"), node("build"), node("release")];
    edit(
        &mut world,
        Edit::Order {
            parent: None,
            nodes,
        },
    );
    assert_eq!(world.next(), Some("test"));
    let nodes = vec![node("build/s2"), node("build/s1")];
    let parent = Some(node("build"));
    edit(&mut world, Edit::Order { parent, nodes });
    assert_eq!(order_of(&world, Some("build")), ["build/s2", "build/s1"]);
    assert_eq!(world.folded(), world.tables);
}

#[test]
fn a_prompt_a_model_a_gate_and_a_break_are_used_as_they_stand_then() {
    let (mut world, token) = World::running(PLAN);
    let gate = Gate {
        script: "true".to_owned(),
        on_fail_prompt: "mend".to_owned(),
        runs_max: 1,
        timeout_s: 5,
    };
    let at = || node("build/s2");
    edits(
        &mut world,
        vec![
            prompt("build/s2", "new"),
            Edit::SetModel {
                node: at(),
                model: Some("opus".to_owned()),
            },
            Edit::SetGate {
                node: at(),
                gate: Some(gate.clone()),
            },
            Edit::SetBreakpoint {
                node: at(),
                breakpoint: true,
            },
        ],
    );
    let item = world.item("build/s2");
    assert_eq!(item.plan.prompt.as_deref(), Some("new"));
    assert_eq!(item.plan.model.as_deref(), Some("opus"));
    assert_eq!(item.plan.gate, Some(gate));
    world.skip("build/s1");
    world.complete(token, "build/s2");
    world.gate(token, "build/s2", true);
    assert_eq!(world.state(), RunState::Waiting);
    edit(
        &mut world,
        Edit::SetPrompt {
            node: node("build/s1/a"),
            prompt: None,
        },
    );
    assert_eq!(
        left(&world),
        ["another prompt for `build/s1/a`: an agent needs a prompt"]
    );
}

#[test]
fn a_gate_that_is_being_passed_is_not_taken_away() {
    let (mut world, token) = World::running(PLAN);
    world.skip("build");
    world.complete(token, "test");
    edit(
        &mut world,
        Edit::SetGate {
            node: node("test"),
            gate: None,
        },
    );
    assert_eq!(left(&world).len(), 1);
    world.gate(token, "test", true);
}

#[test]
fn keys_that_the_core_has_no_words_for_always_fit() {
    for (_, make) in SITUATIONS {
        let mut world = make();
        let native = Some(Native {
            face: "sprint-yaml".to_owned(),
            version: 1,
            body: "{\"extra\":\"x: 1\"}".to_owned(),
        });
        for node in [None, Some(node("build/s1/a"))] {
            let native = native.clone();
            edit(&mut world, Edit::SetNative { node, native });
        }
        assert_eq!(left(&world), Vec::<String>::new());
        assert_eq!(world.run_row().plan.native, native);
        assert_eq!(world.item("build/s1/a").plan.native, native);
    }
}

#[test]
fn a_status_of_paused_asks_for_a_pause_and_in_progress_resumes() {
    let to = |to| Edit::SetRunState { to };
    let (mut world, _) = World::running(PLAN);
    edit(&mut world, to(RunState::Paused));
    assert!(world.run_row().invocation.asked.is_some());
    assert_eq!(world.state(), RunState::Running);
    let mut world = World::planned(PLAN);
    edit(&mut world, to(RunState::Paused));
    assert!(matches!(world.run_row().pause, Some(Pause::Person { .. })));
    edit(&mut world, to(RunState::Running));
    assert_eq!(world.state(), RunState::Interrupted);
    edit(&mut world, to(RunState::Done));
    assert_eq!(left(&world).len(), 1);
}

#[test]
fn the_runner_that_takes_edits_itself_is_not_taken_for_dead() {
    let (mut world, token) = World::running(PLAN);
    world.begin(token, "build/s1/a");
    world.holder = Some(piton_core::HolderLiveness::Nothing);
    world.leases.clear();
    let (run, file) = (world.run, FILE.to_owned());
    world.ok(Command::TakeEdits {
        run,
        token: Some(token),
        file,
        edits: vec![set("build/s1/a", ItemState::Skipped)],
        word: EditAuthor::File,
    });
    assert_eq!(world.state(), RunState::Running);
    assert!(world.item("build/s1/a").people.skip_asked);
}

#[test]
fn an_edit_of_what_is_not_there_is_left() {
    let mut world = World::planned(PLAN);
    edits(
        &mut world,
        vec![
            set("nowhere", ItemState::Skipped),
            insert(Some("nowhere"), None, phase("x")),
            insert(None, None, vec![]),
            Edit::Order {
                parent: None,
                nodes: vec![node("nowhere")],
            },
        ],
    );
    assert_eq!(left(&world).len(), 4);
    let kinds: Vec<_> = world.journal.iter().map(|it| it.event.kind()).collect();
    assert_eq!(kinds.last(), Some(&"decision-opened"));
    assert!(matches!(
        &world.journal.last().expect("events").event,
        Event::Decision(DecisionEvent::Opened { node: None, file: Some(file), .. }) if file == FILE
    ));
}

#[test]
fn new_items_must_hang_together() {
    let mut world = World::planned(PLAN);
    let mut items = phase("x");
    items.push(PlannedItem {
        node: Node::from_text("elsewhere/y"),
        ..new_item(Some(&node("x")), "y", ItemState::Ready)
    });
    edit(&mut world, insert(None, None, items));
    let mut turned = phase("x");
    for id in ["p", "q"] {
        turned.push(new_item(Some(&node("x")), id, ItemState::Ready));
    }
    turned[2].place.0[1] = 1;
    turned[1].depends_on = vec![node("x/q")];
    turned[2].depends_on = vec![node("x/p")];
    edit(&mut world, insert(None, None, turned));
    assert_eq!(left(&world).len(), 1);
    assert_eq!(order_of(&world, None), ["build", "test", "release"]);
}

// What is at work.

#[test]
fn what_a_person_changes_of_an_item_at_work_is_in_force_from_the_next_start() {
    let (mut world, token) = World::running("build gate=2");
    let attempt = world.begin(token, "build");
    let gate = |script: &str| Gate {
        script: script.to_owned(),
        on_fail_prompt: "mend it".to_owned(),
        runs_max: 2,
        timeout_s: 60,
    };
    let another = |script: &str| Edit::SetGate {
        node: node("build"),
        gate: Some(gate(script)),
    };
    edits(&mut world, vec![prompt("build", "better"), another("true")]);
    assert_eq!(left(&world), [""; 0]);
    let item = world.item("build");
    assert_eq!(
        (item.state, item.attempt),
        (ItemState::Working, Some(attempt))
    );
    assert_eq!(item.plan.prompt.as_deref(), Some("better"));
    let completed = piton_core::attempt::Report::with_outcome(piton_core::Outcome::Completed);
    world.end(token, "build", attempt, completed);

    // What came of the check before is told neither of the new one nor to an agent.
    let start = Command::StartGate {
        run: world.run,
        token,
        node: node("build"),
    };
    world.ok(start.clone());
    edits(&mut world, vec![another("test -e done")]);
    let end = |world: &World, passed| Command::EndGate {
        run: world.run,
        token,
        node: node("build"),
        fence: world.fence("build"),
        report: piton_core::gate::GateReport {
            passed,
            exit: Some(i32::from(!passed)),
            ..Default::default()
        },
        recovery: None,
    };
    let ended = end(&world, true);
    world.ok(ended);
    let item = world.item("build");
    assert_eq!((item.state, item.stage), (ItemState::Working, Stage::Gate));
    assert_eq!(item.proof.evidence, []);
    assert_eq!(item.proof.gate_runs.as_ref().map(|runs| runs.runs), Some(0));

    // An agent is not asked to mend what another check found.
    world.ok(start.clone());
    let ended = end(&world, false);
    world.ok(ended);
    assert_eq!(world.item("build").stage, Stage::Fix);
    edits(&mut world, vec![another("true")]);
    let item = world.item("build");
    assert_eq!(
        (item.stage, item.proof.gate_runs.is_some()),
        (Stage::Gate, false)
    );
    world.ok(start);
    let ended = end(&world, true);
    world.ok(ended);
    assert_eq!(world.item("build").state, ItemState::Done);
}

#[test]
fn a_breakpoint_that_is_set_while_a_node_runs_holds_at_its_end() {
    let (mut world, token) = World::running("a\nb");
    let attempt = world.begin(token, "a");
    let breakpoint = Edit::SetBreakpoint {
        node: node("a"),
        breakpoint: true,
    };
    let word = EditAuthor::MaybeAgent {
        attempt,
        criteria: false,
        in_lane: false,
    };
    world.ok(Command::TakeEdits {
        run: world.run,
        token: Some(token),
        file: FILE.to_owned(),
        edits: vec![breakpoint],
        word,
    });
    let completed = piton_core::attempt::Report::with_outcome(piton_core::Outcome::Completed);
    world.end(token, "a", attempt, completed);
    assert_eq!(world.state(), RunState::Waiting);
    assert_eq!(world.item("b").attempts, 0);
}

/// Edits that piton makes in a step of the plan that it does itself.
fn by_piton(world: &World, at: &str, depends_on: &[&str]) -> Command {
    Command::TakeEdits {
        run: world.run,
        token: None,
        file: FILE.to_owned(),
        edits: vec![Edit::SetDependsOn {
            node: node(at),
            depends_on: depends_on.iter().map(|on| node(on)).collect(),
        }],
        word: EditAuthor::Piton,
    }
}

#[test]
fn piton_itself_can_have_an_item_wait_for_more_others() {
    let plan = "in any order:\na\nb\nc after=b\n";
    let mut world = World::planned(plan);
    let command = by_piton(&world, "a", &["c"]);
    world.ok(command);
    assert_eq!(world.item("a").plan.depends_on, [node("c")]);
    assert_eq!(
        world.states(&["a", "b", "c"]),
        ["pending", "ready", "pending"]
    );
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    for (at, on, why) in [
        ("b", "a", "which waits for it"),
        ("b", "b", "which waits for it"),
        ("b", "gone", "is not there"),
    ] {
        let refusal = world.refused(by_piton(&world, at, &[on]));
        let Refusal::Unfit { why: said, .. } = refusal else {
            panic!("{at} after {on}: {refusal}");
        };
        assert!(said.contains(why), "{at} after {on}: {said}");
    }
    let token = world.start();
    world.complete(token, "b");
    let refusal = world.refused(by_piton(&world, "b", &["a"]));
    assert!(matches!(refusal, Refusal::Unfit { .. }), "{refusal}");
}
