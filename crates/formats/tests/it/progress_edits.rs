//! What somebody changes in a `PROGRESS.yaml` by hand, taken in and shown.

use piton_core::evidence::WeakenedProof;
use piton_core::{Command, Edit, Outcome, RunState, Verb};
use piton_formats::plan_file::PlanFile;
use piton_formats::sprint::{
    Children, PhaseNode, PhaseStatus, ShownRun, SprintProgress, collect_edits_without_base,
    update_progress,
};
use piton_simkit::seed::salted;

use crate::desk::{Desk, FILE, read};

const TEXT: &str = "\
# a sprint of mine
sprint-id: s   # short
status: not-started
phases:
  # the first
  - id: build
    status: pending
    prompt: build it
  - id: test     # with care
    status: pending
    steps:
      - id: one
        prompt: 'test one'
        status: pending
      - id: two
        prompt: test two
        status: pending

  # nearly there
  - id: docs
    status: pending
    prompt: |
      write docs
      well
  - id: release
    status: pending
    prompt: release it
current: {phase: 0, step: null, sub-phase: null}
stats:
  started-at: null
  total-phases: 4
  completed-phases: 0
";

fn desk() -> Desk {
    Desk::of(TEXT).expect("a sprint")
}

#[test]
fn showing_a_sprint_keeps_what_a_person_wrote() {
    let mut desk = desk();
    desk.start();
    desk.show();
    for line in TEXT.lines().filter(|line| line.contains('#')) {
        assert!(desk.text.contains(line), "{line}\n{}", desk.text);
    }
    assert!(
        desk.text
            .contains("status: in-progress\nphases:\n  # the first\n")
    );
    assert!(
        desk.text
            .contains("current: {phase: 0, step: null, sub-phase: null}\n")
    );
    assert!(desk.found().is_empty(), "piton's own writing is no edit");
}

#[test]
fn case_16_a_hand_edit_of_a_running_sprint_is_in_effect_and_in_the_file_at_the_end() {
    let mut desk = desk();
    desk.start();
    assert_eq!(desk.work(Outcome::Completed), "build");
    let one = desk.next().expect("the first step");
    let attempt = desk.begin(&one);
    desk.show();
    // While an agent works on test/one, somebody edits the file.
    desk.replace(
        "        prompt: test two\n",
        "        prompt: test two, twice   # more\n",
    );
    desk.replace(
        "  # nearly there\n  - id: docs\n    status: pending\n    prompt: |\n      write docs\n      well\n  - id: release\n    status: pending\n    prompt: release it\n",
        "  # put in by hand\n  - id: lint\n    status: pending\n    x-why: because\n    steps:\n      - id: all\n        status: pending\n        prompt: lint all\n  - id: release\n    status: pending\n    prompt: release it\n    # mine\n    x-key: {a: 1}\n\n  # nearly there\n  - id: docs\n    status: skipped\n    prompt: |\n      write docs\n      well\n",
    );
    desk.replace(
        "sprint-id: s   # short\n",
        "sprint-id: s   # short\nx-top: kept # top\n",
    );
    let edits = desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new(), "{edits:?}");
    desk.end(&one, attempt, Outcome::Failed);
    for _ in 0..2 {
        assert_eq!(desk.work(Outcome::Failed), "test/one");
    }
    desk.show();
    // It failed for good: reset by hand, with a count of retries.
    let before =
        "        error: no reason was given\n        retry-count: 2\n        status: failed\n";
    desk.replace(before, "        status: pending\n        retry-count: 1\n");
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    let item = desk.tables.item(desk.run, &one).expect("there");
    assert_eq!((item.state.as_str(), item.tries.retries), ("ready", 1));
    assert_eq!(
        desk.tables.run(desk.run).expect("there").state,
        RunState::Interrupted
    );
    let (run, token) = (desk.run, desk.token());
    desk.commit(&Command::ContinueRun { run, token })
        .expect("it may go on");
    let order: Vec<String> = (0..4).map(|_| desk.work(Outcome::Completed)).collect();
    assert_eq!(order, ["test/one", "test/two", "lint/all", "release"]);
    let row = desk
        .tables
        .item(desk.run, &piton_core::Node::from_text("test/two"))
        .expect("there");
    assert_eq!(row.plan.prompt.as_deref(), Some("test two, twice"));
    for part in [
        "# a sprint of mine\nsprint-id: s   # short\nx-top: kept # top\nstatus: completed\nphases:\n  # the first\n",
        "prompt: test two, twice   # more\n",
        "  # put in by hand\n  - id: lint\n    status: completed\n    x-why: because\n    steps:\n",
        "    # mine\n    x-key: {a: 1}\n",
        "\n  # nearly there\n  - id: docs\n    status: skipped\n",
    ] {
        assert!(desk.text.contains(part), "{part}\n{}", desk.text);
    }
    let ids: Vec<String> = desk
        .base
        .phases
        .iter()
        .map(|phase| phase.id.clone())
        .collect();
    assert_eq!(ids, ["build", "test", "lint", "release", "docs"]);
    assert!(!desk.text.contains("injected"));
    assert!(desk.found().is_empty());
}

#[test]
fn what_proof_is_worth_is_taken_in_and_stays_in_the_file() {
    let mut desk = desk();
    desk.start();
    assert_eq!(desk.work(Outcome::Completed), "build");
    let said = "        prompt: test two\n        claims: {weakened: note}   # old tests go\n";
    desk.replace("        prompt: test two\n", said);
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    let two = piton_core::Node::from_text("test/two");
    let claims = desk.tables.item(desk.run, &two).expect("there").plan.claims;
    assert_eq!(claims.weakened, Some(WeakenedProof::Note));
    desk.work(Outcome::Completed);
    desk.show();
    assert!(desk.text.contains(said), "{}", desk.text);
    assert!(desk.found().is_empty());
}

#[test]
fn the_files_of_a_step_are_taken_in_and_stay_as_they_are_written() {
    let mut desk = desk();
    desk.start();
    assert_eq!(desk.work(Outcome::Completed), "build");
    let said = "        prompt: test two\n        files: [./src/, \"docs\"]   # mine\n";
    desk.replace("        prompt: test two\n", said);
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    let two = piton_core::Node::from_text("test/two");
    let scope = &desk.tables.item(desk.run, &two).expect("there").plan.scope;
    assert_eq!(scope.0, ["./src/", "docs"]);
    desk.work(Outcome::Completed);
    desk.show();
    assert!(desk.text.contains(said), "{}", desk.text);
    assert!(desk.found().is_empty());
}

#[test]
fn a_wait_is_taken_in_and_stays_as_it_is_written() {
    let mut desk = desk();
    desk.start();
    assert_eq!(desk.work(Outcome::Completed), "build");
    let two = piton_core::Node::from_text("test/two");
    let wait = |desk: &Desk| {
        let item = desk.tables.item(desk.run, &two).expect("there");
        item.plan.wait.as_ref().map(ToString::to_string)
    };
    let without = "        prompt: test two\n";
    let said = "        prompt: test two\n        wait: {command: up, every: 1m, until: 2026-11-26T22:00:00+01:00}   # mine\n";
    desk.replace(without, said);
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    let words = "until `up` says yes, asked each 60s, until 2026-11-26T21:00Z";
    assert_eq!(wait(&desk).as_deref(), Some(words));
    desk.work(Outcome::Completed);
    desk.show();
    assert!(desk.text.contains(said), "{}", desk.text);
    assert!(desk.found().is_empty());
    // The same in other words is no edit of what it waits for.
    desk.replace("every: 1m", "every: 60s");
    let edits = desk.found();
    let is_of_wait = |edit: &Edit| matches!(edit, Edit::SetWait { .. });
    assert!(!edits.iter().any(is_of_wait), "{edits:?}");
    desk.take_in();
    desk.show();
    assert!(desk.text.contains("every: 60s"), "{}", desk.text);
    desk.replace("every: 60s", "every: 2h");
    desk.take_in();
    let words = "until `up` says yes, asked each 2h, until 2026-11-26T21:00Z";
    assert_eq!(wait(&desk).as_deref(), Some(words));
    let said = said.replace("every: 1m", "every: 2h");
    desk.replace(&said, without);
    desk.take_in();
    assert_eq!(wait(&desk), None);
    desk.show();
    assert!(!desk.text.contains("wait:"), "{}", desk.text);
}

/// A node that waits is pending in the file; one that is late waits for a person.
#[test]
fn how_a_wait_stands_is_in_the_file_in_its_own_words() {
    use piton_core::wait::{WaitChange, WaitStep};
    let said = "    prompt: build it\n    wait: {command: up, until: 2026-11-26T22:00:00Z}\n";
    let mut desk = Desk::of(&TEXT.replace("    prompt: build it\n", said)).expect("a sprint");
    desk.start();
    let build = piton_core::Node::from_text("build");
    let step = |desk: &mut Desk, what: WaitChange| {
        let item = desk.tables.item(desk.run, &build).expect("there");
        let wait = item.plan.wait.as_deref().cloned().expect("it waits");
        let (run, token) = (desk.run, desk.token());
        let node = build.clone();
        let steps = vec![WaitStep { node, wait, what }];
        let command = Command::StepWaits {
            run,
            token,
            steps,
            holds_others: false,
        };
        desk.commit(&command).expect("it fits");
        desk.show();
        desk.text.clone()
    };
    let text = step(&mut desk, WaitChange::Begins);
    assert!(
        text.contains("  - id: build\n    status: pending\n"),
        "{text}"
    );
    assert!(!text.contains("next-retry-at"), "{text}");
    assert!(desk.found().is_empty());
    let printed = Some("not yet".to_owned());
    let text = step(&mut desk, WaitChange::Late { printed });
    assert!(
        text.contains("  - id: build\n    status: blocked\n"),
        "{text}"
    );
    assert!(text.contains("details: not yet"), "{text}");
    assert!(text.contains("status: needs-human\n"), "{text}");
    assert!(text.contains(said), "{text}");
    assert!(desk.found().is_empty());
}

/// A sprint with sub-phases that go on in the background.
const BACKGROUND: &str = "\
sprint-id: s
status: not-started
phases:
  - id: build
    status: pending
    steps:
      - id: one
        prompt: one
        status: pending
        phases:
          - {id: write, status: pending, prompt: write it}
          - {id: proof, status: pending, prompt: proof it, parallel: true}
          - {id: print, status: pending, prompt: print it, parallel: true}
  - {id: sync, status: pending, prompt: gather, wait-for-parallel: true}
current: {phase: 0, step: 0, sub-phase: 0}
stats: {started-at: null, total-phases: 2, completed-phases: 0}
parallel-tasks: []
";

/// What a file says under `parallel-tasks`.
fn parallel_tasks(text: &str) -> String {
    let from = text.find("parallel-tasks:").expect("it is there");
    let lines = text[from..].lines();
    let more = |(nth, line): &(usize, &str)| *nth == 0 || line.starts_with(' ');
    let lines = lines.enumerate().take_while(more).map(|(_, line)| line);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_goes_on_in_the_background_stands_in_parallel_tasks() {
    let mut desk = Desk::of(BACKGROUND).expect("a sprint");
    desk.start();
    assert_eq!(parallel_tasks(&desk.text), "parallel-tasks: []");
    assert_eq!(desk.work(Outcome::Completed), "build/one/write");
    assert_eq!(parallel_tasks(&desk.text), "parallel-tasks: []");
    let proof = desk.next().expect("the proof");
    let first = desk.begin(&proof);
    desk.show();
    insta::assert_snapshot!(parallel_tasks(&desk.text), @"
    parallel-tasks:
      - id: one-proof-1800000005
        step-id: one
        phase-id: proof
        status: running
        spawned-at: '2027-01-15T08:00:05.000Z'
    ");
    let other = piton_core::Node::from_text("build/one/print");
    let second = desk.begin(&other);
    desk.end(&proof, first, Outcome::Completed);
    desk.end(&other, second, Outcome::Blocked);
    desk.show();
    insta::assert_snapshot!(parallel_tasks(&desk.text), @"
    parallel-tasks:
      - id: one-proof-1800000005
        step-id: one
        phase-id: proof
        status: completed
        spawned-at: '2027-01-15T08:00:05.000Z'
        completed-at: '2027-01-15T08:00:07.000Z'
        exit-code: 0
      - id: one-print-1800000006
        step-id: one
        phase-id: print
        status: failed
        spawned-at: '2027-01-15T08:00:06.000Z'
        error: no reason was given
    ");
    // What it says is piton's own: nothing of it is an edit.
    assert!(desk.found().is_empty());
    desk.replace("exit-code: 0", "exit-code: 7");
    assert!(desk.found().is_empty());
    let told: Vec<String> = desk.problems.iter().map(ToString::to_string).collect();
    assert!(
        told.concat().contains("`parallel-tasks` was changed"),
        "{told:?}"
    );
    // What was there when the file was taken over stays in front.
    let again = Desk::of(&desk.text).expect("a sprint");
    assert_eq!(parallel_tasks(&again.text), parallel_tasks(&desk.text));
}

#[test]
fn what_does_not_fit_waits_in_the_file_while_the_run_goes_on() {
    let mut desk = desk();
    desk.start();
    let build = desk.next().expect("the first");
    let attempt = desk.begin(&build);
    desk.show();
    desk.replace(
        "status: in-progress\n    prompt: build it\n",
        "status: pending\n    prompt: build it better\n",
    );
    desk.replace(
        "    prompt: release it\n",
        "    prompt: release it softly\n",
    );
    let edits = desk.found();
    assert_eq!(edits.len(), 3);
    desk.take_in();
    assert_eq!(
        desk.left(),
        ["`build` is to be pending: `build` is being worked on"]
    );
    let row = desk.tables.item(desk.run, &build).expect("it is there");
    assert_eq!(row.plan.prompt.as_deref(), Some("build it better"));
    desk.end(&build, attempt, Outcome::Completed);
    assert_eq!(desk.work(Outcome::Completed), "test/one");
    let row = desk
        .tables
        .open_decisions(desk.run)
        .next()
        .expect("open")
        .clone();
    assert_eq!(row.file.as_deref(), Some(FILE));
    let (decision, run) = (row.id, row.run);
    let (verb, why) = (Verb::KeepPiton, None);
    desk.commit(&Command::Decide {
        decision,
        run,
        verb,
        why,
    })
    .expect("it is open");
    assert!(desk.left().is_empty());
}

#[test]
fn ids_that_come_twice_are_told_apart() {
    let text = TEXT
        .replace("id: docs", "id: build")
        .replace("id: release", "id: build");
    let mut desk = Desk::of(&text).expect("a sprint");
    desk.replace(
        "  - id: test     # with care\n",
        "  - id: build\n    status: pending\n    prompt: build a fourth\n  - id: test     # with care\n",
    );
    let edits = desk.take_in();
    assert_eq!(edits.len(), 1, "{edits:?}");
    assert_eq!(desk.left(), Vec::<String>::new());
    let nodes: Vec<String> = desk
        .tables
        .tree(desk.run)
        .filter(|item| item.plan.place.depth() == 1)
        .map(|item| item.node.to_string())
        .collect();
    assert_eq!(nodes, ["build", "build#4", "test", "build#2", "build#3"]);
    assert!(desk.found().is_empty());
    // Taken in twice, it is there once.
    let base = desk.base.clone();
    desk.base.phases.remove(1);
    let again = desk.found();
    assert!(
        !again.iter().any(|edit| matches!(edit, Edit::Insert { .. })),
        "{again:?}"
    );
    desk.base = base;
}

#[test]
fn a_twin_before_a_phase_takes_none_of_its_steps() {
    let mut desk = desk();
    let with_steps = "  - id: twin\n    status: pending\n    prompt: the same\n    steps:\n      - id: s\n        status: pending\n        prompt: p\n";
    let release = "  - id: release\n";
    desk.replace(release, &format!("{with_steps}{release}"));
    desk.take_in();
    let twin = "  - id: twin\n    status: pending\n    prompt: the same\n";
    desk.replace(with_steps, &format!("{twin}{with_steps}"));
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    let nodes: Vec<String> = desk
        .tables
        .tree(desk.run)
        .map(|item| item.node.to_string())
        .filter(|node| node.starts_with("twin"))
        .collect();
    assert_eq!(nodes, ["twin#2", "twin", "twin/s"]);
    assert!(desk.found().is_empty());
}

#[test]
fn what_is_gone_from_the_file_is_no_deletion_and_what_is_counted_is_not_taken() {
    let mut desk = desk();
    desk.replace(
        "  - id: release\n    status: pending\n    prompt: release it\n",
        "",
    );
    desk.replace("total-phases: 4", "total-phases: 9");
    desk.replace("current: {phase: 0", "current: {phase: 2");
    let edits = desk.take_in();
    assert_eq!(edits, []);
    let paths: Vec<&str> = desk.problems.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["stats.total-phases", "current"]);
    assert!(desk.problems.iter().all(|problem| !problem.is_error()));
    assert!(desk.text.contains("- id: release\n"));
    assert!(desk.text.contains("total-phases: 4\n"));
}

#[test]
fn limits_and_unknown_keys_anywhere_are_taken() {
    let mut desk = desk();
    desk.text
        .push_str("config: # mine\n  max-tasks: 2\n  x: 1\nx-last: [1]\n");
    desk.replace(
        "  completed-phases: 0\n",
        "  completed-phases: 0\n  x-stat: 1\n",
    );
    desk.take_in();
    assert_eq!(desk.left(), Vec::<String>::new());
    let run = desk.tables.run(desk.run).expect("there");
    assert_eq!(run.plan.policy.limits.tasks_max, Some(2));
    let run = desk.run;
    let fresh = piton_formats::sprint::SprintExporter::new(&desk.tables, run)
        .export(&desk.tables, jiff::Timestamp::UNIX_EPOCH)
        .expect("there");
    assert_eq!(fresh.extra[0].0, "x-last");
    assert_eq!(fresh.stats.extra[0].0, "x-stat");
    assert!(
        desk.text
            .contains("config: # mine\n  max-tasks: 2\n  x: 1\n")
    );
    desk.replace("x-last: [1]\n", "");
    desk.take_in();
    assert!(!desk.text.contains("x-last"));
    assert!(desk.found().is_empty());
}

#[test]
fn a_status_by_hand_pauses_and_resumes() {
    let mut desk = desk();
    desk.replace("status: not-started\n", "status: paused\n");
    desk.take_in();
    assert_eq!(
        desk.tables.run(desk.run).expect("there").state,
        RunState::Paused
    );
    desk.replace("status: paused\n", "status: in-progress\n");
    desk.take_in();
    assert_eq!(
        desk.tables.run(desk.run).expect("there").state,
        RunState::Interrupted
    );
}

#[test]
fn without_a_base_only_what_was_added_is_taken() {
    let mut desk = desk();
    desk.start();
    desk.work(Outcome::Completed);
    let old = TEXT
        .replace(
            "    prompt: release it\n",
            "    prompt: release it now\n    x-new: 1\n",
        )
        .replace(
            "  - id: release\n",
            "  - id: more\n    status: pending\n    prompt: more\n  - id: release\n",
        );
    let shown = ShownRun {
        file: FILE,
        tables: &desk.tables,
        run: desk.run,
    };
    let edits = collect_edits_without_base(&desk.base, &read(&old).expect("a sprint"), shown).edits;
    let told: Vec<String> = edits.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "a new `more`",
            "another prompt for `release`",
            "other keys of `release`"
        ]
    );
}

/// A sprint as large as the largest that was ever met: 660 KB, 36,000 lines.
fn large() -> String {
    let mut text = String::from("# large\nsprint-id: large\nstatus: not-started\nphases:\n");
    for phase in 0..40 {
        text.push_str(&format!(
            "  - id: p{phase}\n    status: pending\n    steps:\n"
        ));
        for step in 0..50 {
            text.push_str(&format!(
                "      # step {step}\n      - id: s{step}\n        prompt: |\n          do {step}\n          and more of it, at some length, in words\n\n          and again, so that the prompt is as long as they are\n        status: pending\n        phases:\n          - id: i\n            status: pending\n            prompt: 'implement it: {step}'\n\n\n\n          - id: q\n            status: pending\n            prompt: test it\n\n\n"
            ));
        }
    }
    text.push_str("current: {phase: 0, step: 0, sub-phase: 0}\nstats: {started-at: null, total-phases: 40, completed-phases: 0}\n");
    text
}

#[expect(clippy::disallowed_methods, reason = "a budget is measured")]
#[test]
fn case_25_a_file_of_36_000_lines_is_changed_in_place_and_fast() {
    let text = large();
    assert!(
        text.len() > 660_000 && text.lines().count() > 35_900,
        "{} {}",
        text.len(),
        text.lines().count()
    );
    let mut progress = read(&text).expect("a sprint");
    progress.phases[20].status = PhaseStatus::InProgress;
    progress.phases[20].progress.started_at = Some("2026-01-15T09:00:00Z".to_owned());
    progress.phases[39].children.as_mut().expect("steps")[49].prompt =
        Some("other\nwords\n".to_owned());
    let begun = std::time::Instant::now();
    let out = update_progress(&text, progress.clone());
    let took = begun.elapsed();
    // Far less than a second when optimised; here only its growth is watched.
    assert!(took.as_secs() < 10, "{took:?}");
    assert_eq!(read(&out), Some(progress));
    // A prompt of five lines became one of two; a status and a time are new.
    assert_eq!(out.lines().count(), text.lines().count() - 1);
    assert_eq!(
        out.lines().filter(|line| line.is_empty()).count(),
        text.lines().filter(|line| line.is_empty()).count() - 1
    );
    assert_eq!(out.matches('#').count(), text.matches('#').count());
}

// Anything at all.

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % n.max(1)
    }
}

fn meddle(nodes: &mut Vec<PhaseNode>, rng: &mut Rng, depth: usize) {
    if nodes.is_empty() {
        return;
    }
    let at = rng.below(nodes.len());
    let status = PhaseStatus::ALL[rng.below(PhaseStatus::ALL.len())];
    match rng.below(10) {
        0 | 1 => nodes[at].status = status,
        2 => nodes[at].prompt = Some(format!("by hand {}", rng.below(100))),
        3 => nodes.reverse(),
        4 if nodes[at].extra.is_empty() => nodes[at].extra.push((
            "x-hand".to_owned(),
            piton_formats::yaml::ValueNode::plain("1"),
        )),
        5 => nodes[at].progress.retry_count = Some(2),
        6 => nodes[at].break_after = Some(true),
        7 if depth < 3 => {
            if let Some(children) = nodes[at].children.as_mut() {
                meddle(children, rng, depth + 1);
            }
        }
        _ => {
            let new = PhaseNode {
                id: ["n", "build", "one"][rng.below(3)].to_owned(),
                status: [PhaseStatus::Pending, PhaseStatus::Completed][rng.below(2)],
                prompt: Some(format!("new {}", rng.below(100))),
                children: if depth == 0 && rng.below(2) == 0 {
                    Children::Steps(vec![PhaseNode {
                        id: "s".to_owned(),
                        prompt: Some("p".to_owned()),
                        ..PhaseNode::default()
                    }])
                } else {
                    Children::None
                },
                ..PhaseNode::default()
            };
            nodes.insert(at, new);
        }
    }
}

/// What a person decides about a node, without what happened to it.
fn plan_of(nodes: &[PhaseNode]) -> Vec<String> {
    let mut out = Vec::new();
    for node in nodes {
        let extra: Vec<&str> = node.extra.iter().map(|(key, _)| key.as_str()).collect();
        out.push(format!(
            "{} {:?} {:?} {:?}",
            node.id, node.prompt, node.break_after, extra
        ));
        out.extend(plan_of(node.children.as_slice()));
    }
    out
}

#[test]
fn any_edit_at_any_time_is_in_effect_or_asked_about_and_the_file_comes_to_rest() {
    for seed in (0..120).map(salted) {
        let mut rng = Rng(seed);
        let mut desk = desk();
        desk.start();
        for _ in 0..12 {
            let state = desk.tables.run(desk.run).expect("there").state;
            if rng.below(2) == 0 {
                let mut theirs: SprintProgress = read(&desk.text).expect("a sprint");
                meddle(&mut theirs.phases, &mut rng, 0);
                desk.text = update_progress(&desk.text, theirs.clone());
                // Keys that stood at an id stay there, also where another took it.
                let wanted = plan_of(&read(&desk.text).expect("a sprint").phases);
                let before = plan_of(&desk.base.phases);
                let edits = desk.take_in();
                if desk.left().is_empty() {
                    assert_eq!(
                        plan_of(&desk.base.phases),
                        wanted,
                        "seed {seed}: {before:#?} {edits:#?}"
                    );
                }
                assert_eq!(desk.found(), [], "seed {seed}");
            } else if state == RunState::Running
                && desk.next().is_some_and(|node| {
                    desk.tables
                        .item(desk.run, &node)
                        .is_some_and(|item| item.stage == piton_core::Stage::Work)
                })
            {
                let outcome = [Outcome::Completed, Outcome::Failed][rng.below(4) / 3];
                desk.work(outcome);
                assert_eq!(desk.found(), [], "seed {seed}");
            }
            for comment in [
                "# a sprint of mine\n",
                "  # nearly there\n",
                "# with care\n",
            ] {
                assert!(
                    desk.text.contains(comment),
                    "seed {seed}: {comment}\n{}",
                    desk.text
                );
            }
        }
    }
}

#[test]
fn a_version_shows_the_run_whenever_it_was_written_and_not_what_has_changed_since() {
    let mut desk = desk();
    desk.start();
    desk.show();
    let mut plan = PlanFile::of_run(&desk.tables, desk.run).expect("a plan of a file");
    let now = "2030-05-06T07:08:09Z".parse().expect("a time");
    assert!(plan.is_current_in(&desk.text, &desk.tables, now));
    let edited = desk.text.replacen("status: pending", "status: skipped", 1);
    assert_ne!(edited, desk.text);
    assert!(!plan.is_current_in(&edited, &desk.tables, now));
    let before = desk.text.clone();
    desk.work(Outcome::Completed);
    let mut plan = PlanFile::of_run(&desk.tables, desk.run).expect("a plan of a file");
    assert!(!plan.is_current_in(&before, &desk.tables, now));
}
