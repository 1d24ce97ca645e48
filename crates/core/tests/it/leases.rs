//! Who holds a run, for how long, and what is written down of it.

use piton_core::checkout::Checkout;
use piton_core::id::WriterId;
use piton_core::journal::{GENESIS, Record, WriteRequest, redact_and_encode};
use piton_core::policy::Limits;
use piton_core::redact::Redactor;
use piton_core::{Command, Event, HolderLiveness, Refusal, RunState};
use uuid::Uuid;

use crate::world::{LEASE, World, start_run};

#[test]
fn a_held_run_is_busy_and_its_holder_is_named() {
    let (mut world, _) = World::running("a");
    let refusal = world.refused(start_run(world.run, Limits::default()));
    let Refusal::Busy { holder, .. } = refusal else {
        panic!("{refusal:?}")
    };
    assert_eq!(holder.owner, "host, process 1");
}

#[test]
fn a_run_whose_holder_is_gone_is_taken_over_at_once() {
    let (mut world, old) = World::running("a");
    world.holder_gone = true;
    assert!(world.start() > old);
}

#[test]
fn a_run_whose_lease_ran_out_is_taken_over_and_not_a_moment_earlier() {
    let (mut world, old) = World::running("a");
    world.pass(LEASE.as_secs() - 1);
    let early = start_run(world.run, Limits::default());
    assert!(matches!(world.refused(early), Refusal::Busy { .. }));
    world.pass(1);
    assert!(world.start() > old);
}

#[test]
fn a_lease_of_which_nothing_is_known_holds_nobody_off() {
    let (mut world, old) = World::running("a");
    world.leases.clear();
    assert!(world.start() > old);
}

#[test]
fn tokens_only_grow_also_over_a_run_that_was_given_back() {
    let (mut world, mut last) = World::running("a");
    let run = world.run;
    for _ in 0..3 {
        let token = last;
        let reason = "stop".to_owned();
        world.ok(Command::InterruptRun { run, token, reason });
        world.ok(Command::ReleaseRun { run, token });
        last = world.start();
        assert!(last > token);
    }
    assert_eq!(world.run_row().invocation.invocations, 4);
}

#[test]
fn a_runner_that_gives_a_run_at_work_back_interrupts_it() {
    let (mut world, token) = World::running("a\nb");
    let run = world.run;
    world.ok(Command::ReleaseRun { run, token });
    assert_eq!(world.state(), RunState::Interrupted);
    world.skip("b");
    assert_eq!(world.state(), RunState::Interrupted);
}

#[test]
fn what_a_person_does_while_a_runner_lives_takes_nothing_from_it() {
    let (mut world, token) = World::running("a\nb\nc");
    world.skip("b");
    assert_eq!(world.state(), RunState::Running);
    world.complete(token, "a");
    world.complete(token, "c");
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn every_event_of_a_whole_life_reads_back_as_it_was_written() {
    let (mut world, token) = World::running("a gate=2 break\n  s1\nb after=a");
    world.complete(token, "a/s1");
    world.gate(token, "a", false);
    world.mend(token, "a");
    world.gate(token, "a", true);
    world.decide(piton_core::Verb::Approve, Some("fine"));
    world.holder_gone = true;
    let token = world.start();
    world.fail(token, "b");
    world.skip("b");
    let mut previous = GENESIS;
    for recorded in &world.journal {
        let checkout = recorded.record.stamp.checkout.as_ref();
        let (body, sealed) =
            redact_and_encode(recorded.event.clone(), checkout, &Redactor::rules_only());
        assert_eq!(sealed, recorded.event);
        let record = Record::new(
            recorded.record.stream.clone(),
            recorded.record.stamp.clone(),
            &sealed,
            body,
            WriteRequest {
                command: recorded.record.command,
                writer: WriterId(Uuid::from_u128(1)),
            },
            &previous,
        );
        previous = record.hash;
        assert_eq!(
            record
                .body
                .as_text()
                .and_then(Checkout::parse_stored_body)
                .as_ref(),
            checkout
        );
        let read: Event = record.decode_event().expect("it was written a moment ago");
        assert_eq!(read, recorded.event);
    }
    assert_eq!(world.folded(), world.tables);
}

#[test]
fn a_runner_that_lives_is_not_buried_however_long_ago_its_lease_ran_out() {
    let (mut world, _) = World::running("a");
    let run = world.run;
    world.pass(LEASE.as_secs() * 100);
    world.holder = Some(HolderLiveness::Alive);
    world.ok(Command::AskPause { run });
    assert_eq!(world.state(), RunState::Running);
    assert!(world.run_row().holder.is_some());
}

#[test]
fn who_saw_an_earlier_runner_die_does_not_bury_the_one_that_came_since() {
    let (mut world, old) = World::running("a");
    let run = world.run;
    world.holder_gone = true;
    let new = world.start();
    world.holder = Some(HolderLiveness::Gone(old));
    world.ok(Command::AskPause { run });
    assert_eq!(
        world.run_row().holder.as_ref().map(|holder| holder.token),
        Some(new)
    );
    world.holder = Some(HolderLiveness::Gone(new));
    world.ok(Command::AskStop { run });
    assert_eq!(world.run_row().holder, None);
    assert_eq!(world.state(), RunState::Interrupted);
}
