//! Marks and edits in the file of a plan: an agent's, and a person's.

use piton_core::attempt::{Report, ReportedChanges};
use piton_core::command::EditAuthor;
use piton_core::evidence::{
    ClaimOverrides, Evidence, Level, WeakenedProof, Worth, level_of_evidence,
};
use piton_core::gate::{Gate, GateReport};
use piton_core::policy::{Limits, Policy};
use piton_core::{
    AttemptId, Command, DecisionKind, DecisionRow, Edit, ItemState, Outcome, Refusal, RunState,
    Verb,
};

use crate::edits::new_item;
use crate::world::{ANY_ORDER, World, node, tried_once};

const FILE: &str = "prd.json";

/// A world with the items `a` and `b`, of which `a` is worked on; the attempt.
fn at_work(plan: &str) -> (World, u64, AttemptId) {
    let (mut world, token) = World::running(plan);
    let attempt = world.begin(token, "a");
    (world, token, attempt)
}

fn take(world: &World, edits: Vec<Edit>, token: Option<u64>, word: EditAuthor) -> Command {
    Command::TakeEdits {
        run: world.run,
        token,
        file: FILE.to_owned(),
        edits,
        word,
    }
}

fn by_agent(world: &mut World, attempt: AttemptId, edits: Vec<Edit>) {
    let word = EditAuthor::MaybeAgent {
        attempt,
        criteria: true,
        in_lane: false,
    };
    let command = take(world, edits, None, word);
    world.ok(command);
}

fn by_hand(world: &mut World, edits: Vec<Edit>) {
    by_hand_and_git(world, edits, &[]);
}

/// The same, where git brought the marks of these items.
fn by_hand_and_git(world: &mut World, edits: Vec<Edit>, brought: &[&str]) {
    let word = EditAuthor::Hand {
        by: "ada".to_owned(),
        brought: brought.iter().map(|at| node(at)).collect(),
    };
    let command = take(world, edits, None, word);
    world.ok(command);
}

fn set(at: &str, to: ItemState) -> Edit {
    Edit::SetState { node: node(at), to }
}

fn tick(at: &str) -> Edit {
    set(at, ItemState::Done)
}

fn gate(script: &str) -> Gate {
    Gate {
        script: script.to_owned(),
        on_fail_prompt: "fix it".to_owned(),
        runs_max: 3,
        timeout_s: 60,
    }
}

fn open_of(world: &World, kind: DecisionKind) -> Option<&DecisionRow> {
    let mut open = world.tables.open_decisions(world.run);
    open.find(|row| row.kind == kind)
}

fn details(world: &World, kind: DecisionKind) -> Vec<String> {
    let open = open_of(world, kind);
    let lines = open
        .iter()
        .flat_map(|row| row.details.as_deref())
        .flat_map(str::lines);
    lines.map(str::to_owned).collect()
}

/// A report of an attempt that found this tree and left that one.
fn changed(outcome: Outcome, before: &str, after: &str) -> Report {
    Report {
        changes: ReportedChanges {
            tree_before: Some(before.to_owned()),
            tree_after: Some(after.to_owned()),
            ..ReportedChanges::default()
        },
        ..Report::with_outcome(outcome)
    }
}

fn level(world: &World, at: &str) -> Option<Level> {
    level_of_evidence(&world.item(at).proof.evidence)
}

/// Whose mark, what the check comes to, whose item; then what the item is when
/// it was worked on by an attempt that ended well and whether a person was asked.
const TABLE: &str = "
    agent   passes own    done:check    -
    agent   passes other  done:check    asked
    agent   fails  own    open          -
    agent   fails  other  open          asked
    agent   none   own    done:word     -
    agent   none   other  done:word     asked
    process passes own    done:check    -
    process passes other  done:check    asked
    process fails  own    open          -
    process fails  other  open          asked
    process none   own    done:word     -
    process none   other  done:word     asked
    person  passes own    done:person   -
    person  passes other  done:person   -
    person  fails  own    done:person   -
    person  fails  other  done:person   -
    person  none   own    done:person   -
    person  none   other  done:person   -
";

#[test]
fn a_mark_of_an_agent_proves_nothing_and_that_of_a_person_does() {
    for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [who, check, whose, comes_to, asked] = words[..] else {
            panic!("five words: {line}");
        };
        for outcome in [Outcome::Completed, Outcome::Partial, Outcome::Interrupted] {
            check_mark(line, outcome, (who, check, whose), (comes_to, asked));
        }
    }
}

/// What a person merges is not what they say.
#[test]
fn a_mark_that_git_brought_is_taken_over_and_no_persons_word() {
    let mut world = World::planned("a\nb\nc");
    by_hand_and_git(&mut world, vec![tick("a"), tick("b")], &["b", "c"]);
    let evidence = |at: &str| world.item(at).proof.evidence.clone();
    assert!(matches!(&evidence("a")[..], [Evidence::Decided { by, .. }] if by == "ada"));
    assert_eq!(evidence("b"), [Evidence::TakenOver]);
    assert_ne!(world.item("c").state, ItemState::Done);
}

fn check_mark(
    line: &str,
    outcome: Outcome,
    (who, check, whose): (&str, &str, &str),
    (comes_to, asked): (&str, &str),
) {
    let plan = match check {
        "none" => "a\nb",
        _ => "a gate=1\nb gate=1",
    };
    let (mut world, token, attempt) = at_work(plan);
    let at = if whose == "own" { "a" } else { "b" };
    if who == "person" {
        world.end(
            token,
            "a",
            attempt,
            Report::with_outcome(Outcome::Interrupted),
        );
        by_hand(&mut world, vec![tick(at)]);
        assert!(
            matches!(world.item(at).proof.evidence.as_slice(),
                [Evidence::Decided { by, through, .. }] if by == "ada" && through == FILE),
            "{line}"
        );
    } else {
        by_agent(&mut world, attempt, vec![tick(at)]);
        assert!(!world.item(at).state.is_finished(), "{line}");
        let claimed: &[&str] = if whose == "other" { &["b"] } else { &[] };
        let report = changed(outcome, "t0", "t1");
        end_with_claims(&mut world, token, attempt, report, claimed);
        let is_done = world.item(at).state == ItemState::Done;
        let by_verdict = outcome == Outcome::Completed && whose == "own" && check == "none";
        assert_eq!(is_done, by_verdict, "{line} {outcome:?}");
    }
    let is_asked = open_of(&world, DecisionKind::ClaimedItems).is_some();
    assert_eq!(is_asked, asked == "asked", "{line} {outcome:?}");
    if outcome != Outcome::Completed {
        return;
    }
    for node in ["a", "b"] {
        finish(&mut world, token, node, check == "passes" || node != at);
    }
    let item = world.item(at);
    let is_done = item.state == ItemState::Done;
    let comes = match level_of_evidence(&item.proof.evidence).filter(|_| is_done) {
        Some(Level::Changed) => "done:word".to_owned(),
        Some(level) => format!("done:{}", level.as_str()),
        None => "open".to_owned(),
    };
    assert_eq!(comes, comes_to, "{line}");
    let left = details(&world, DecisionKind::ClaimedItems).len();
    assert_eq!(
        left,
        usize::from(asked == "asked" && comes == "open"),
        "{line}"
    );
}

/// Works on an item until its check has said what it comes to.
fn finish(world: &mut World, token: u64, at: &str, passes: bool) {
    if world.state() != RunState::Running {
        return;
    }
    if world.item(at).state == ItemState::Ready {
        let attempt = world.begin(token, at);
        let report = changed(Outcome::Completed, "t1", "t2");
        world.end(token, at, attempt, report);
    }
    if world.item(at).stage == piton_core::Stage::Gate && world.item(at).state == ItemState::Working
    {
        run_gate(world, token, at, passes);
    }
}

fn end_with_claims(
    world: &mut World,
    token: u64,
    attempt: AttemptId,
    report: Report,
    claimed: &[&str],
) {
    let command = Command::EndAttempt {
        run: world.run,
        token,
        attempt,
        node: node("a"),
        fence: world.fence("a"),
        report: Box::new(report),
        recovery: None,
        claimed: claimed.iter().map(|at| node(at)).collect(),
        agents: Vec::new(),
    };
    world.ok(command);
}

fn run_gate(world: &mut World, token: u64, at: &str, passed: bool) {
    let (run, node) = (world.run, node(at));
    world.ok(Command::StartGate {
        run,
        token,
        node: node.clone(),
    });
    let report = GateReport {
        passed,
        exit: Some(i32::from(!passed)),
        tree: Some("t9".to_owned()),
        ..GateReport::default()
    };
    world.ok(Command::EndGate {
        run,
        token,
        node,
        fence: world.fence(at),
        report,
        recovery: None,
    });
}

#[test]
fn a_claimed_item_is_proven_by_a_check_that_failed_before_and_passes_now() {
    for passes in [true, false] {
        let (mut world, token, attempt) = at_work("a\nb gate=3");
        by_agent(&mut world, attempt, vec![tick("b")]);
        let report = changed(Outcome::Completed, "t0", "t1");
        end_with_claims(&mut world, token, attempt, report, &["b"]);
        let before = piton_core::evidence::BaselineResult {
            passed: false,
            tree: Some("t0".to_owned()),
            took_s: 1,
            reused: true,
            exit: None,
        };
        let run = world.run;
        world.ok(Command::StartBaseline {
            run,
            token,
            node: node("b"),
            before: Some(before),
        });
        world.ok(Command::EndGate {
            run,
            token,
            node: node("b"),
            fence: world.fence("b"),
            report: GateReport {
                passed: passes,
                exit: Some(i32::from(!passes)),
                tree: Some("t1".to_owned()),
                ..GateReport::default()
            },
            recovery: None,
        });
        if passes {
            assert_eq!(world.item("b").state, ItemState::Done);
            assert_eq!(level(&world, "b"), Some(Level::Check));
            assert_eq!(world.state(), RunState::Done);
            assert_eq!(open_of(&world, DecisionKind::ClaimedItems), None);
        } else {
            assert_eq!(world.item("b").state, ItemState::Ready);
            assert_eq!(world.item("b").proof.evidence, []);
            assert!(open_of(&world, DecisionKind::ClaimedItems).is_some());
        }
    }
}

#[test]
fn a_check_that_merely_passes_before_the_first_attempt_proves_no_claim() {
    let (mut world, token, attempt) = at_work("a\nb gate=3");
    by_agent(&mut world, attempt, vec![tick("b")]);
    let report = changed(Outcome::Completed, "t0", "t1");
    end_with_claims(&mut world, token, attempt, report, &["b"]);
    let run = world.run;
    world.ok(Command::StartBaseline {
        run,
        token,
        node: node("b"),
        before: None,
    });
    world.ok(Command::EndGate {
        run,
        token,
        node: node("b"),
        fence: world.fence("b"),
        report: GateReport {
            passed: true,
            tree: Some("t1".to_owned()),
            ..GateReport::default()
        },
        recovery: None,
    });
    assert_eq!(world.item("b").state, ItemState::Working);
    assert_eq!(world.item("b").proof.evidence, []);
}

/// Both items have the same check, as all criteria of a task file have.
#[test]
fn a_check_that_the_item_of_the_attempt_shares_proves_no_claim() {
    for (own_change, expected) in [(false, Level::Word), (true, Level::Check)] {
        let (mut world, token, attempt) = at_work("a gate=3\nb gate=3");
        by_agent(&mut world, attempt, vec![tick("b")]);
        let report = changed(Outcome::Completed, "t0", "t1");
        end_with_claims(&mut world, token, attempt, report, &["b"]);
        run_gate(&mut world, token, "a", true);
        let claimed = world.item("b").proof.claimed.clone().expect("a claim");
        assert_eq!(claimed.change, None);
        let attempt = world.begin(token, "b");
        let after = if own_change { "t2" } else { "t1" };
        let report = changed(Outcome::Completed, "t1", after);
        world.end(token, "b", attempt, report);
        run_gate(&mut world, token, "b", true);
        assert_eq!(level(&world, "b"), Some(expected));
    }
}

#[test]
fn one_question_lists_the_claims_and_shrinks_as_items_end() {
    let (mut world, token, attempt) = at_work("a\nb\nc\nd");
    by_agent(&mut world, attempt, vec![tick("b"), tick("c")]);
    by_agent(&mut world, attempt, vec![tick("d"), tick("b")]);
    assert_eq!(details(&world, DecisionKind::ClaimedItems).len(), 3);
    assert_eq!(world.state(), RunState::Running);
    world.end(
        token,
        "a",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    world.skip("c");
    let lines = details(&world, DecisionKind::ClaimedItems);
    assert_eq!(
        lines,
        [
            "`b` was ticked in prd.json by the attempt at `a`; nothing checks it",
            "`d` was ticked in prd.json by the attempt at `a`; nothing checks it",
        ]
    );
    world.complete(token, "b");
    assert_eq!(details(&world, DecisionKind::ClaimedItems).len(), 1);
    world.complete(token, "d");
    assert_eq!(world.tables.open_decisions(world.run).count(), 0);
    assert_eq!(world.state(), RunState::Done);
}

#[test]
fn a_person_may_take_the_claims_or_leave_them() {
    for verb in [Verb::Approve, Verb::Skip] {
        let (mut world, token, attempt) = at_work("a\nb\nc");
        by_agent(&mut world, attempt, vec![tick("b"), tick("c")]);
        world.end(
            token,
            "a",
            attempt,
            Report::with_outcome(Outcome::Completed),
        );
        world.decide(verb, None);
        assert_eq!(open_of(&world, DecisionKind::ClaimedItems), None);
        let state = world.item("b").state;
        match verb {
            Verb::Approve => {
                assert_eq!(state, ItemState::Done);
                assert_eq!(level(&world, "c"), Some(Level::Person));
            }
            _ => assert_eq!(state, ItemState::Ready),
        }
    }
}

#[test]
fn a_phase_that_is_ticked_claims_what_is_open_in_it_but_the_own_item() {
    let (mut world, token) = World::running("p\n  a\n  b\nq");
    let attempt = world.begin(token, "p/a");
    by_agent(&mut world, attempt, vec![tick("p")]);
    let row = open_of(&world, DecisionKind::ClaimedItems).expect("a question");
    assert_eq!(row.edits, [tick("p/b")]);
    assert!(world.item("p/b").is_claimed());
    assert!(!world.item("p/a").is_claimed());
}

#[test]
fn what_takes_a_control_away_is_asked_about_and_not_in_force() {
    let plan = "a\nb gate=3 break\nc after=b";
    let policy = Policy {
        limits: Limits {
            iterations_max: Some(5),
            ..Limits::default()
        },
        ..tried_once()
    };
    let b = || node("b");
    let edits: Vec<(Edit, &str)> = vec![
        (set("b", ItemState::Skipped), "`b`: pending → skipped"),
        (
            Edit::SetRetries {
                node: b(),
                retries: 7,
            },
            "`b`: retries 0 → 7",
        ),
        (
            Edit::SetGate {
                node: b(),
                gate: None,
            },
            "`b`: check `make test` → none",
        ),
        (
            Edit::SetGate {
                node: b(),
                gate: Some(gate("true")),
            },
            "`b`: check `make test` → `true`",
        ),
        (
            Edit::SetGate {
                node: b(),
                gate: Some(Gate {
                    runs_max: 1,
                    on_fail_prompt: "look".to_owned(),
                    ..gate("make test")
                }),
            },
            "`b`: check `make test`: runs at most 3 × 60 s → 1 × 60 s; where it fails, the agent is told `mend it` → `look`",
        ),
        (
            Edit::SetBreakpoint {
                node: b(),
                breakpoint: false,
            },
            "`b`: break → no break",
        ),
        (
            Edit::SetDependsOn {
                node: node("c"),
                depends_on: Vec::new(),
            },
            "`c`: waits for `b` → nothing",
        ),
        (
            Edit::SetPrompt {
                node: b(),
                prompt: Some("nothing to do".to_owned()),
            },
            "`b`: `do b` → `nothing to do`",
        ),
        (
            Edit::SetPrompt {
                node: b(),
                prompt: Some(String::new()),
            },
            "`b`: without `do b`",
        ),
        (
            Edit::SetPresent {
                node: b(),
                present: false,
            },
            "`b` → not in the file any more",
        ),
        (
            Edit::SetClaims {
                node: b(),
                claims: ClaimOverrides {
                    word: Some(Worth::Accept),
                    ..ClaimOverrides::default()
                },
            },
            "`b`: other rules for what proof is worth",
        ),
        (Edit::SetPolicy(Box::default()), "max-iterations 5 → none"),
    ];
    for (edit, line) in edits {
        for verb in [Verb::KeepPiton, Verb::KeepFile] {
            let mut world = World::with_policy(plan, policy.clone());
            let token = world.start();
            let attempt = world.begin(token, "a");
            let before = in_force(&world);
            by_agent(&mut world, attempt, vec![edit.clone()]);
            assert_eq!(in_force(&world), before, "{edit}");
            assert_eq!(
                details(&world, DecisionKind::AgentEdit),
                [format!("prd.json: {line}")]
            );
            assert_eq!(world.state(), RunState::Running, "nothing waits");
            let row = open_of(&world, DecisionKind::AgentEdit).expect("a question");
            assert_eq!(row.edits, std::slice::from_ref(&edit));
            world.end(
                token,
                "a",
                attempt,
                Report::with_outcome(Outcome::Completed),
            );
            world.decide(verb, None);
            assert_eq!(open_of(&world, DecisionKind::AgentEdit), None, "{edit}");
            let is_same = in_force(&world) == before;
            assert_eq!(is_same, verb == Verb::KeepPiton, "{edit}");
        }
    }
}

/// What the plan says of the items that edits are about, and of the run.
fn in_force(world: &World) -> impl PartialEq + std::fmt::Debug + use<> {
    // Whose turn it is is not what the plan says.
    let items = ["b", "c"].map(|at| {
        let mut item = world.item(at).clone();
        if item.state == ItemState::Ready {
            item.state = ItemState::Pending;
        }
        item
    });
    (items, world.run_row().plan.policy.clone())
}

#[test]
fn what_no_file_can_bring_about_is_refused_by_name_when_it_is_to_be_kept() {
    let (mut world, token, attempt) = at_work("a\nb");
    by_agent(&mut world, attempt, vec![set("b", ItemState::Blocked)]);
    world.end(
        token,
        "a",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    let command = world.answer_to(world.question(), Verb::KeepFile, None);
    let refusal = world.refused(command);
    assert!(matches!(refusal, Refusal::Unfit { .. }), "{refusal}");
}

#[test]
fn a_question_about_an_agents_edit_closes_when_it_matters_no_more() {
    let edit = || Edit::SetGate {
        node: node("b"),
        gate: None,
    };
    // The item is finished, and is not to be tried again.
    let (mut world, token, attempt) = at_work("a\nb gate=3");
    let retries = Edit::SetRetries {
        node: node("b"),
        retries: 7,
    };
    by_agent(&mut world, attempt, vec![retries]);
    world.end(
        token,
        "a",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    world.skip("b");
    assert_eq!(open_of(&world, DecisionKind::AgentEdit), None);
    // The file says the old value again.
    let (mut world, _, attempt) = at_work("a\nb gate=3");
    by_agent(&mut world, attempt, vec![edit()]);
    let gate = world.item("b").plan.gate.clone();
    let back = Edit::SetGate {
        node: node("b"),
        gate,
    };
    by_agent(&mut world, attempt, vec![back]);
    assert_eq!(open_of(&world, DecisionKind::AgentEdit), None);
}

/// Its file goes on to say it, and it would hold should the item be done again.
#[test]
fn what_an_agent_changed_of_an_item_stays_asked_about_when_the_item_is_finished() {
    let words = || Edit::SetPrompt {
        node: node("b"),
        prompt: Some("nothing to do".to_owned()),
    };
    let check = || Edit::SetGate {
        node: node("b"),
        gate: None,
    };
    for verb in [Verb::KeepFile, Verb::KeepPiton] {
        let (mut world, token, attempt) = at_work("a\nb gate=3");
        let retries = Edit::SetRetries {
            node: node("b"),
            retries: 7,
        };
        by_agent(&mut world, attempt, vec![words(), retries, check()]);
        world.end(
            token,
            "a",
            attempt,
            Report::with_outcome(Outcome::Completed),
        );
        finish(&mut world, token, "b", true);
        assert_eq!(world.state(), RunState::Done, "nothing waits");
        let asked = open_of(&world, DecisionKind::AgentEdit).map(|row| row.edits.clone());
        assert_eq!(asked, Some(vec![words(), check()]));
        let before = world.item("b").clone();
        world.decide(verb, None);
        assert_eq!(open_of(&world, DecisionKind::AgentEdit), None);
        assert_eq!(world.item("b").state, ItemState::Done);
        assert_eq!(*world.item("b") == before, verb == Verb::KeepPiton);
        let is_taken = world.item("b").plan.prompt.as_deref() == Some("nothing to do");
        assert_eq!(is_taken, verb == Verb::KeepFile);
    }
}

#[test]
fn another_check_of_what_is_done_may_be_an_agents_as_well() {
    let (mut world, token) = World::running("a gate=3\nb");
    finish(&mut world, token, "a", true);
    let attempt = world.begin(token, "b");
    let before = world.item("a").clone();
    let check = Edit::SetGate {
        node: node("a"),
        gate: Some(gate("true")),
    };
    by_agent(&mut world, attempt, vec![check]);
    assert_eq!(*world.item("a"), before);
    assert_eq!(
        details(&world, DecisionKind::AgentEdit),
        ["prd.json: `a`: check `make test` → `true`"]
    );
}

#[test]
fn everything_else_is_taken_from_an_agent_as_well() {
    let (mut world, _, attempt) = at_work("a\nb\nc");
    let mut item = new_item(None, "new", ItemState::Done);
    item.claims.weakened = Some(WeakenedProof::Note);
    let new = Edit::Insert {
        parent: None,
        after: Some(node("b")),
        items: vec![item],
    };
    let more = Edit::SetPrompt {
        node: node("c"),
        prompt: Some("do c\nand test it".to_owned()),
    };
    by_agent(&mut world, attempt, vec![new, more]);
    assert_eq!(world.item("new").state, ItemState::Pending);
    assert!(world.item("new").is_claimed());
    assert!(
        world.item("new").plan.claims.is_empty(),
        "its proof is the plan's"
    );
    assert_eq!(
        world.item("c").plan.prompt.as_deref(),
        Some("do c\nand test it")
    );
    assert_eq!(open_of(&world, DecisionKind::AgentEdit), None);
    let asked = open_of(&world, DecisionKind::ClaimedItems).map(|row| row.edits.clone());
    assert_eq!(asked, Some(vec![tick("new")]));
}

/// With a check no verdict is needed.
#[test]
fn a_check_that_an_agent_gives_to_an_item_does_not_stand_for_its_verdict() {
    let (mut world, token, attempt) = at_work("a\nb");
    let check = Edit::SetGate {
        node: node("b"),
        gate: Some(gate("true")),
    };
    by_agent(&mut world, attempt, vec![check]);
    assert_eq!(world.item("b").plan.gate, None);
    assert_eq!(
        details(&world, DecisionKind::AgentEdit),
        ["prd.json: `b`: check none → `true`"]
    );
    world.end(
        token,
        "a",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    let question = open_of(&world, DecisionKind::AgentEdit).expect("asked").id;
    let keep = world.answer_to(question, Verb::KeepFile, None);
    world.ok(keep);
    assert_eq!(world.item("b").plan.gate, Some(gate("true")));
}

#[test]
fn a_hand_edit_that_is_stored_while_an_attempt_is_open_may_be_an_agents() {
    let (mut world, _, _) = at_work("a\nb");
    by_hand(&mut world, vec![tick("b")]);
    assert_eq!(world.item("b").state, ItemState::Pending);
    assert!(world.item("b").is_claimed());
}

#[test]
fn an_edit_that_is_stored_after_the_attempt_has_ended_is_still_an_agents() {
    let (mut world, token, attempt) = at_work("a\nb");
    let report = changed(Outcome::Completed, "t0", "t1");
    world.end(token, "a", attempt, report);
    by_agent(&mut world, attempt, vec![tick("b")]);
    assert_eq!(world.item("b").state, ItemState::Ready);
    let claimed = world.item("b").proof.claimed.clone().expect("a claim");
    let change = claimed.change.expect("the attempt is over");
    assert_eq!(change.first.as_deref(), Some("t0"));
}

#[test]
fn an_earlier_claim_that_changed_something_is_not_replaced() {
    let (mut world, token, attempt) = at_work("a\nb\nc");
    by_agent(&mut world, attempt, vec![tick("c")]);
    let report = changed(Outcome::Completed, "t0", "t1");
    end_with_claims(&mut world, token, attempt, report, &["c"]);
    let second = world.begin(token, "b");
    by_agent(&mut world, second, vec![tick("c")]);
    let claimed = world.item("c").proof.claimed.clone().expect("a claim");
    assert_eq!(claimed.attempt, Some(attempt));
}

#[test]
fn a_person_who_ticks_a_claimed_item_closes_the_question() {
    let (mut world, token, attempt) = at_work("a\nb");
    by_agent(&mut world, attempt, vec![tick("b")]);
    world.end(
        token,
        "a",
        attempt,
        Report::with_outcome(Outcome::Completed),
    );
    by_hand(&mut world, vec![tick("b")]);
    assert_eq!(world.item("b").state, ItemState::Done);
    assert_eq!(level(&world, "b"), Some(Level::Person));
    assert_eq!(open_of(&world, DecisionKind::ClaimedItems), None);
}

#[test]
fn what_stands_in_the_lane_of_an_attempt_is_that_attempts_and_asks_about_no_file() {
    for in_lane in [true, false] {
        let (mut world, token) = World::running(&format!("{ANY_ORDER}a\nb"));
        let attempt = world.begin(token, "a");
        world.begin(token, "b");
        let word = EditAuthor::MaybeAgent {
            attempt,
            criteria: true,
            in_lane,
        };
        let new = Edit::Insert {
            parent: Some(node("gone")),
            after: None,
            items: vec![new_item(Some(&node("gone")), "new", ItemState::Pending)],
        };
        let edits = vec![tick("b"), new];
        let command = take(&world, edits, None, word);
        world.ok(command);
        let claims = details(&world, DecisionKind::ClaimedItems);
        let about_file = world.tables.open_decisions(world.run);
        let about_file = about_file.filter(|row| row.file.is_some()).count();
        let expected = match in_lane {
            true => (1, 0),
            false => (0, 1),
        };
        assert_eq!((claims.len(), about_file), expected, "{claims:?}");
    }
}
