//! Questions that somebody at work asks by the way: nothing waits for them, and
//! the answer is there for whoever comes next.

use piton_core::attempt::Report;
use piton_core::item::ItemState;
use piton_core::memory::MemoryKind;
use piton_core::run::RunState;
use piton_core::{Command, DecisionKind, DecisionRow, Outcome, Refusal, RunId, Verb};

use crate::world::{World, needs_human, node};

const PLAN: &str = "build\n  s1\n    a\n    b\nrelease";

fn ask(run: RunId, at: Option<&str>, question: &str) -> Command {
    Command::AskPerson {
        run,
        node: at.map(node),
        question: question.to_owned(),
        details: None,
    }
}

fn decide(row: &DecisionRow, verb: Verb, why: Option<&str>) -> Command {
    Command::Decide {
        decision: row.id,
        run: row.run,
        verb,
        why: why.map(str::to_owned),
    }
}

/// The question of that number.
fn asked(world: &World, number: u64) -> DecisionRow {
    let mut all = world.tables.decisions();
    all.find(|row| row.number == number)
        .cloned()
        .expect("it was asked")
}

#[test]
fn a_question_by_the_way_holds_nothing_up() {
    let (mut world, token) = World::running(PLAN);
    world.ok(ask(world.run, Some("build/s1/a"), "tabs or blanks?"));
    assert_eq!(world.state(), RunState::Running);
    let row = asked(&world, 1);
    assert_eq!(row.kind, DecisionKind::Question);
    assert_eq!(row.allowed_verbs(), [Verb::Answer, Verb::Skip]);
    world.complete(token, "build/s1/a");
    world.complete(token, "build/s1/b");
    world.complete(token, "release");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn a_screenshot_that_is_missing_is_asked_about_until_there_is_one() {
    let (mut world, token) = World::running(PLAN);
    let report = |lacks_screenshot, outcome| Report {
        lacks_screenshot,
        ..Report::with_outcome(outcome)
    };
    let is_question = |row: &&DecisionRow| row.kind == DecisionKind::Question;
    let count = |world: &World| world.tables.decisions().filter(is_question).count();
    world.work(token, "build/s1/a", report(true, Outcome::Completed));
    assert_eq!(world.item("build/s1/a").state, ItemState::Done);
    let row = world.tables.decisions().find(is_question).cloned();
    let row = row.expect("it was asked");
    assert_eq!(row.verdict, None);
    world.retry("build/s1/a");
    world.work(token, "build/s1/a", report(false, Outcome::Completed));
    let verdict = asked(&world, row.number).verdict.expect("it is closed");
    assert_eq!(verdict.verb, Verb::Settled);
    world.work(token, "build/s1/b", report(true, Outcome::Failed));
    assert_eq!(count(&world), 1, "there is no outcome to be seen");
}

#[test]
fn the_answer_stands_in_the_next_prompt_of_the_item_and_is_remembered() {
    let (mut world, _) = World::running(PLAN);
    world.ok(ask(world.run, Some("build/s1/b"), " tabs or blanks? "));
    let row = asked(&world, 1);
    world.ok(decide(&row, Verb::Answer, Some(" blanks ")));
    let item = world.item("build/s1/b");
    assert_eq!(
        item.people.answer.as_deref(),
        Some("tabs or blanks?\nblanks")
    );
    assert_eq!(item.state, ItemState::Pending, "its turn has not come");
    let known = world.tables.memories().next();
    let known = &known.expect("it is remembered").memory;
    assert_eq!(known.kind, MemoryKind::ResolvedBlocker);
    assert_eq!(known.title.as_deref(), Some("tabs or blanks?"));
    assert_eq!(known.source_item.as_deref(), Some("build/s1/b"));
}

#[test]
fn a_second_answer_stands_after_the_first() {
    let (mut world, _) = World::running(PLAN);
    for (number, question) in [(1, "tabs or blanks?"), (2, "how many?")] {
        world.ok(ask(world.run, Some("release"), question));
        let row = asked(&world, number);
        world.ok(decide(&row, Verb::Answer, Some("as before")));
    }
    assert_eq!(
        world.item("release").people.answer.as_deref(),
        Some("tabs or blanks?\nas before\n\nhow many?\nas before")
    );
}

#[test]
fn an_answer_that_comes_while_an_agent_works_is_for_the_next_one() {
    let (mut world, token) = World::running(PLAN);
    world.ok(ask(world.run, Some("build/s1/a"), "tabs or blanks?"));
    let attempt = world.begin(token, "build/s1/a");
    let row = asked(&world, 1);
    world.ok(decide(&row, Verb::Answer, Some("blanks")));
    assert_eq!(world.item("build/s1/a").attempt, Some(attempt));
    assert!(world.item("build/s1/a").people.answer.is_some());
}

#[test]
fn the_answer_about_an_item_that_is_done_changes_nothing_of_it() {
    let (mut world, token) = World::running(PLAN);
    world.ok(ask(world.run, Some("build/s1/a"), "tabs or blanks?"));
    world.complete(token, "build/s1/a");
    let row = asked(&world, 1);
    world.ok(decide(&row, Verb::Answer, Some("blanks")));
    assert_eq!(world.item("build/s1/a").people.answer, None);
    assert_eq!(world.tables.memories().count(), 1);
}

#[test]
fn the_same_is_asked_once_while_it_is_open() {
    let (mut world, _) = World::running(PLAN);
    world.ok(ask(world.run, Some("release"), "tabs or blanks?"));
    assert!(
        world
            .ok(ask(world.run, Some("release"), "tabs or blanks?"))
            .is_empty()
    );
    let row = asked(&world, 1);
    world.ok(decide(&row, Verb::Skip, None));
    assert_eq!(
        world
            .ok(ask(world.run, Some("release"), "tabs or blanks?"))
            .len(),
        1
    );
}

#[test]
fn an_answer_to_what_holds_the_item_up_is_none_to_what_was_asked_by_the_way() {
    let (mut world, token) = World::running(PLAN);
    world.ok(ask(world.run, Some("build/s1/a"), "tabs or blanks?"));
    world.work(token, "build/s1/a", needs_human("which database?"));
    let row = asked(&world, 2);
    world.ok(decide(&row, Verb::Answer, Some("the small one")));
    assert_eq!(world.state(), RunState::Interrupted);
    assert_eq!(asked(&world, 1).verdict, None);
}

#[test]
fn what_was_asked_about_an_item_that_is_left_out_is_closed() {
    let (mut world, _) = World::running(PLAN);
    world.ok(ask(world.run, Some("release"), "tabs or blanks?"));
    world.skip("release");
    let verdict = asked(&world, 1).verdict.expect("it is closed");
    assert_eq!(verdict.verb, Verb::Skip);
}

#[test]
fn a_question_needs_an_item_that_is_there_and_its_answer_words() {
    let (mut world, _) = World::running(PLAN);
    assert_eq!(
        world.refused(ask(world.run, Some("elsewhere"), "why?")),
        Refusal::NoSuchItem(node("elsewhere"))
    );
    world.ok(ask(world.run, None, "tabs or blanks?"));
    let row = asked(&world, 1);
    assert_eq!(
        world.refused(decide(&row, Verb::Answer, Some(" "))),
        Refusal::EmptyAnswer
    );
}

#[test]
fn what_is_asked_of_nothing_in_particular_is_remembered_when_it_is_answered() {
    let mut world = World::empty();
    world.ok(ask(RunId::PROJECT, None, "who has the key?"));
    let row = asked(&world, 1);
    world.ok(decide(&row, Verb::Answer, Some("ops")));
    let known = world.tables.memories().next().expect("it is remembered");
    assert_eq!(known.memory.content, "ops");
    assert_eq!(known.memory.source_item, None);
}
