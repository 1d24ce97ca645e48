//! Any commands in any order, by runners that follow no loop and people who
//! follow nobody: nothing panics, and all that must always hold holds.

use std::collections::BTreeMap;

use piton_core::attempt::{ProgramReport, Report, ReportedChanges, Usage};
use piton_core::classify::FailureCategory;
use piton_core::command::EditAuthor;
use piton_core::evidence::{ClaimRules, ClaimSettings, Worth};
use piton_core::gate::{Gate, GateReport};

use piton_core::policy::{Limits, Policy, RetryPolicy};
use piton_core::run::Pause;
use piton_core::trouble::Trouble;
use piton_core::wait::{WaitChange, WaitStep};
use piton_core::{AttemptId, Command, Edit, ItemState, Node, Outcome, Role, RunId, Stage, Verb};
use piton_simkit::seed::cases;
use proptest::prelude::*;

use crate::edits::draw_edits;
use crate::plans::draw_plan;
use crate::world::{
    ANY_ORDER, RECOVERIES, World, a_wait, iteration_hooks, needs_human, node, pieces,
    start_attempt, start_run,
};

/// One thing that somebody does: what, and two numbers to choose by.
type Act = (u8, u16, u16);

fn pick<T: Clone>(from: &[T], by: u16) -> Option<T> {
    (!from.is_empty()).then(|| from[usize::from(by) % from.len()].clone())
}

/// Any report, by somebody who may have looked at the tree and at the bill.
fn report(by: u16) -> Report {
    let usage = Usage {
        input_tokens: (by % 5 > 1).then(|| u64::from(by)),
        cost_usd: (by % 7 > 2).then(|| f64::from(by) / 3_000.0),
        estimate_usd: (by % 3 > 1).then(|| f64::from(by) / 7_000.0),
        prices: (by % 3 > 1).then(|| "2026-11-01".to_owned()),
        ..Usage::default()
    };
    let tree = |by: u16| (!by.is_multiple_of(4)).then(|| (by % 2).to_string());
    Report {
        program: ProgramReport {
            models: if by % 11 > 5 {
                [(format!("model-{}", by % 2), usage.clone())].into()
            } else {
                BTreeMap::new()
            },
            usage,
            ..outcome(by).program
        },
        changes: ReportedChanges {
            tree_before: tree(by >> 8),
            tree_after: tree(by >> 10),
            ..outcome(by).changes
        },
        ..outcome(by)
    }
}

/// A run that is begun with any claims.
fn start(run: RunId, by: u16) -> Command {
    let mut command = start_run(run, Limits::default());
    if let Command::StartRun { claims, .. } = &mut command {
        let worths = [Worth::Accept, Worth::Check, Worth::Ask];
        *claims = ClaimSettings {
            rules: ClaimRules {
                word: worths[usize::from(by % 3)],
                changed: worths[usize::from(by / 3 % 3)],
                ..ClaimRules::default()
            },
            check: (!by.is_multiple_of(5)).then(|| {
                Box::new(Gate {
                    script: "check".to_owned(),
                    on_fail_prompt: "mend it".to_owned(),
                    runs_max: 2,
                    timeout_s: 60,
                })
            }),
            ..ClaimSettings::default()
        };
    }
    command
}

fn outcome(by: u16) -> Report {
    let category = [
        FailureCategory::Network,
        FailureCategory::Validation,
        FailureCategory::Logic,
    ];
    match by % 10 {
        0 | 1 => Report::with_outcome(Outcome::Completed),
        8 | 9 => Report {
            program: ProgramReport {
                trouble: Some(Trouble::NoVerdict),
                can_be_asked: by.is_multiple_of(2),
                ..ProgramReport::default()
            },
            ..Report::with_outcome(Outcome::Failed)
        },
        2 => pieces(2),
        3 => Report {
            category: pick(&category, by / 8),
            ..Report::with_outcome(Outcome::Failed)
        },
        4 => needs_human("how?"),
        5 => Report::with_outcome(Outcome::Blocked),
        6 => Report::with_outcome(Outcome::Interrupted),
        _ => Report {
            program: ProgramReport {
                cannot_start: true,
                ..ProgramReport::default()
            },
            ..Report::with_outcome(Outcome::Interrupted)
        },
    }
}

fn gate_report(by: u16) -> GateReport {
    GateReport {
        passed: by.is_multiple_of(3),
        interrupted: by % 3 == 1,
        tree: Some(format!("tree-{}", by >> 6 & 3)),
        ..GateReport::default()
    }
}

/// What a runner would do that follows the tree, as far as it can.
fn proper(world: &mut World, by: u16) -> Option<Command> {
    let (run, token) = (world.run, world.run_row().fence);
    if world.run_row().holder.is_none() {
        return Some(start(run, by));
    }
    let open = world.tables.open_attempts().next();
    if let Some((attempt, at)) = open.map(|row| (row.id, row.node.clone())) {
        let mut end = world.end_attempt(token, attempt, at.as_str(), report(by));
        if let Command::EndAttempt { recovery, .. } = &mut end {
            let drawn = RECOVERIES.get(usize::from(by >> 4) % 12);
            *recovery =
                drawn.map(|(action, rule)| Box::new(crate::world::recovery(*action, *rule)));
        }
        return Some(end);
    }
    let attempt = world.fresh_attempt();
    let item = world.tables.next_actionable_item(run)?;
    let (node, fence) = (item.node.clone(), item.fence);
    if item.has_open_wait() {
        return step_wait(world, &node, by);
    }
    let start = |role| start_attempt(run, token, attempt, node.as_str(), role);
    Some(match item.stage {
        Stage::Repair => start(Role::Repair),
        Stage::Split => start(Role::Split),
        Stage::Verdict => start(Role::Verdict),
        Stage::Review => start(Role::Reviewer),
        Stage::Baseline if item.proof.gate_runs.is_some() => Command::EndGate {
            run,
            token,
            node,
            fence,
            report: gate_report(by),
            recovery: None,
        },
        Stage::Work
            if item.plan.gate.is_some() && item.work.change.is_none() && by.is_multiple_of(2) =>
        {
            Command::StartBaseline {
                run,
                token,
                node,
                before: None,
            }
        }
        _ if item.state != ItemState::Working => start(Role::Worker),
        Stage::Work | Stage::Baseline => start(Role::Worker),
        Stage::Fix => start(Role::GateFix),
        Stage::IterationHooks => start(Role::IterationHook),
        // In place nothing is merged.
        Stage::Merge | Stage::Resolve => return None,
        Stage::Gate if item.proof.gate_runs.as_ref().is_some_and(|runs| runs.open) => {
            Command::EndGate {
                run,
                token,
                node,
                fence,
                report: gate_report(by),
                recovery: None,
            }
        }
        Stage::Gate => Command::StartGate { run, token, node },
        Stage::Commit if item.work.committing.is_some() => Command::EndCommit {
            run,
            token,
            node,
            fence,
            result: commit_result(by),
        },
        Stage::Commit => Command::StartCommit {
            run,
            token,
            node,
            head: None,
        },
    })
}

/// A step of the wait of an item, mostly one that fits.
fn step_wait(world: &World, node: &Node, by: u16) -> Option<Command> {
    let item = world.item(node.as_str());
    let wait = item.plan.wait.as_deref().cloned()?;
    let what = match (item.state, by % 4) {
        (ItemState::Ready, 0..3) => WaitChange::Begins,
        (_, 0) => WaitChange::Late { printed: None },
        (_, 1) if wait.command.is_some() => WaitChange::NotRun { printed: None },
        (_, _) if wait.command.is_some() => WaitChange::SaidYes,
        _ => WaitChange::TimeCame,
    };
    let holds_others = what.is_over() && !item.is_leaf();
    let node = node.clone();
    Some(Command::StepWaits {
        run: world.run,
        token: world.run_row().fence,
        steps: vec![WaitStep { node, wait, what }],
        holds_others,
    })
}

/// The plan, of which some items wait before they begin.
fn with_waits(plan: &str) -> String {
    let with_wait = |(at, line): (usize, &str)| match at % 5 {
        _ if line == ANY_ORDER.trim_end() => format!("{line}\n"),
        1 => format!("{line} wait=ok\n"),
        2 => format!("{line} wait=600\n"),
        4 => format!("{line} wait=ok,600\n"),
        _ => format!("{line}\n"),
    };
    plan.lines().enumerate().map(with_wait).collect()
}

/// The token with which an item was taken, or the one before.
fn an_old_one_at_times(fence: u64, by: u16) -> u64 {
    fence.saturating_sub(u64::from(by.is_multiple_of(5)))
}

fn commit_result(by: u16) -> Result<Option<String>, String> {
    match by % 3 {
        0 => Err("the hook says no".to_owned()),
        1 => Ok(None),
        _ => Ok(Some("6673e79".to_owned())),
    }
}

fn any_node(world: &World, by: u16) -> Node {
    let nodes: Vec<_> = world
        .tables
        .tree(world.run)
        .map(|item| item.node.clone())
        .collect();
    pick(&nodes, by).unwrap_or_else(|| node("nowhere"))
}

fn any_attempt(world: &mut World, by: u16) -> (AttemptId, Node) {
    let rows: Vec<_> = world
        .tables
        .attempts()
        .map(|row| (row.id, row.node.clone()))
        .collect();
    let fresh = world.fresh_attempt();
    pick(&rows, by).unwrap_or_else(|| (fresh, any_node(world, by)))
}

fn command(world: &mut World, (what, a, b): Act) -> Option<Command> {
    let run = world.run;
    let token = world.run_row().fence.saturating_sub(u64::from(b % 7 == 6));
    let at = any_node(world, a);
    Some(match what % 32 {
        0 => start(run, b),
        1 => Command::ContinueRun { run, token },
        2 => Command::ReleaseRun { run, token },
        3 => Command::PauseRun {
            run,
            token,
            pause: if b % 2 == 0 {
                Pause::File
            } else {
                Pause::Limit {
                    limit: "once".to_owned(),
                }
            },
        },
        4 => Command::InterruptRun {
            run,
            token,
            reason: "asked".to_owned(),
        },
        5 => Command::AskPause { run },
        6 => Command::AskStop { run },
        7 => Command::ResumeRun { run },
        8 | 9 => {
            let attempt = world.fresh_attempt();
            let role = [Role::Worker, Role::GateFix][usize::from(b % 2)];
            start_attempt(run, token, attempt, at.as_str(), role)
        }
        10 => {
            let (attempt, at) = any_attempt(world, a);
            world.end_attempt(token, attempt, at.as_str(), report(b))
        }
        11 => Command::StartGate {
            run,
            token,
            node: at,
        },
        12 => Command::EndGate {
            run,
            token,
            fence: an_old_one_at_times(world.fence(at.as_str()), b),
            node: at,
            report: gate_report(b),
            recovery: None,
        },
        13 => Command::StartCommit {
            run,
            token,
            node: at,
            head: None,
        },
        14 => Command::EndCommit {
            run,
            token,
            fence: an_old_one_at_times(world.fence(at.as_str()), b),
            node: at,
            result: commit_result(b),
        },
        15 => Command::SkipItem {
            run,
            node: at,
            why: None,
        },
        16 | 17 => Command::RetryItem {
            run,
            node: at,
            why: None,
        },
        18 | 19 => {
            let asked: Vec<_> = world.tables.decisions().map(|row| row.id).collect();
            let verbs = [
                Verb::Approve,
                Verb::Answer,
                Verb::Retry,
                Verb::Skip,
                Verb::KeepPiton,
            ];
            let verb = pick(&verbs, b).unwrap_or(Verb::Retry);
            // The last questions are the open ones.
            let decision = *asked.iter().rev().nth(usize::from(a % 3))?;
            world.answer_to(decision, verb, Some("because"))
        }
        22..=24 => {
            let mut seed = u64::from(a) << 16 | u64::from(b);
            let edits = draw_edits(world, &mut |below| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(seed >> 33).expect("31 bits") % below
            });
            Command::TakeEdits {
                run,
                token: (b % 2 == 0).then_some(token),
                file: "PROGRESS.yaml".to_owned(),
                edits,
                word: match b % 3 {
                    0 => crate::edits::a_persons(world),
                    1 => EditAuthor::Hand {
                        by: "ada".to_owned(),
                        brought: Vec::new(),
                    },
                    _ => EditAuthor::File,
                },
            }
        }
        20 => {
            world.pass(i64::from(b % 90));
            return None;
        }
        21 => {
            world.holder_gone = !world.holder_gone;
            return None;
        }
        26 => return step_wait(world, &at, b),
        27 => Command::TakeEdits {
            run,
            token: None,
            file: "PROGRESS.yaml".to_owned(),
            edits: vec![Edit::SetWait {
                node: at,
                wait: ["ok", "600", "ok,9"]
                    .get(usize::from(b % 4))
                    .map(|it| a_wait(it)),
            }],
            word: EditAuthor::File,
        },
        25 if b % 2 == 0 => Command::TakeRun {
            run,
            owner: "process 9 on ada".to_owned(),
        },
        _ => return proper(world, b),
    })
}

fn policy(by: u8) -> Policy {
    Policy {
        retry: RetryPolicy {
            categories: vec![FailureCategory::Network, FailureCategory::Validation],
            at_once_max: u32::from(by % 2),
            ..RetryPolicy::default()
        },
        auto_commit: by % 3 == 2,
        iteration_hooks: iteration_hooks(u32::from(by % 5 / 3)),
        ..Policy::default()
    }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn whatever_is_asked_in_whatever_order_all_that_must_hold_holds(
        numbers in prop::collection::vec(0..60_usize, 0..60),
        commits in any::<u8>(),
        acts in prop::collection::vec(any::<Act>(), 0..120),
    ) {
        carry_out(&numbers, commits, &acts);
    }
}

/// Carries the acts out on the plan that the numbers draw; the world checks
/// what must hold after each of them.
fn carry_out(numbers: &[usize], commits: u8, acts: &[Act]) -> World {
    let mut numbers = numbers.iter();
    let text = draw_plan(&mut |below| numbers.next().unwrap_or(&0) % below);
    let text = if commits % 4 == 3 {
        with_waits(&text)
    } else {
        text
    };
    let mut world = World::with_policy(&text, policy(commits));
    world.holder_gone = true;
    for act in acts {
        let before = world.journal.len();
        if let Some(command) = command(&mut world, *act)
            && world.commit(&command).is_err()
        {
            assert_eq!(world.journal.len(), before, "a refusal stores nothing");
        }
    }
    assert_eq!(world.folded(), world.tables);
    world
}

/// An input that was found: brought back below a phase that had not begun, `p0/s0`
/// had begun all the same; a hook refused its commit, and `p0` did not show that.
#[test]
fn a_refused_commit_below_a_phase_that_has_not_begun_shows_above_it() {
    let mut numbers = vec![43, 0, 0, 3, 12, 0, 9, 12, 0, 0, 12, 0, 10, 0, 0, 0, 0, 52];
    numbers.resize(25, 0);
    let acts = [
        (246, 58_610, 52_840),
        (86, 24_789, 55_415),
        (182, 61_316, 3_755),
        (0, 0, 0),
        (143, 14_248, 0),
        (176, 8_583, 0),
        (175, 36_656, 0),
        (0, 0, 0),
        (8, 0, 0),
        (153, 0, 0),
        (25, 0, 42_948),
    ];
    carry_out(&numbers, 101, &acts);
}

/// The same in plain commands, which mean the same whatever is drawn from numbers.
#[test]
fn a_refused_commit_after_a_skip_and_a_retry_shows_above_it() {
    let mut world = World::with_policy("p0\n  s0\n    n\n  s1\n    x\np1", policy(2));
    world.skip("p1");
    world.skip("p0/s0");
    world.retry("p0/s0");
    let nodes = ["p0", "p0/s0", "p0/s0/n"];
    assert_eq!(world.states(&nodes), ["ready", "ready", "ready"]);
    let token = world.start();
    world.complete(token, "p0/s0/n");
    world.make_commit(token, "p0/s0", Err("the hook says no"));
    assert_eq!(world.states(&nodes), ["failed", "failed", "done"]);
}

/// An input that was found: a retry of what was done logged an entry without
/// having asked which names entries have.
#[test]
fn a_retry_of_what_is_done_asks_for_the_names_of_entries() {
    let numbers = [53, 12, 0, 11, 12, 0, 29];
    let acts = [
        (239, 23_107, 0),
        (0, 0, 0),
        (25, 0, 0),
        (64, 0, 0),
        (0, 0, 0),
        (64, 0, 0),
        (32, 0, 0),
        (11, 0, 0),
        (96, 0, 0),
        (25, 0, 6),
        (118, 15_194, 28_117),
        (25, 0, 0),
        (11, 0, 0),
        (8, 0, 0),
        (21, 0, 0),
        (107, 0, 0),
        (160, 0, 0),
        (72, 0, 0),
        (5, 0, 0),
        (128, 0, 0),
        (160, 0, 0),
        (0, 0, 0),
        (32, 0, 0),
        (11, 0, 0),
        (0, 0, 0),
        (89, 0, 0),
        (118, 26, 0),
        (43, 0, 0),
        (32, 0, 0),
        (194, 0, 26_110),
        (25, 0, 1_089),
        (3, 0, 0),
        (25, 0, 0),
        (25, 0, 0),
        (208, 43_976, 0),
    ];
    carry_out(&numbers, 0, &acts);
}
