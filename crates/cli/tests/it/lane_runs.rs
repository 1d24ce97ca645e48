//! What a sprint and a flag say means the same in lanes as in place: the run comes to
//! the same end, with each node in the same state.

use crate::harness::{Running, Scratch};
use crate::lanes::{all_done, arguments, fine, project};

struct Case {
    name: &'static str,
    settings: &'static str,
    phases: &'static str,
    /// What the agent does before it says that it has completed.
    agent: &'static str,
    flags: &'static [&'static str],
    /// Exit status, and state of the run.
    ends: (i32, &'static str),
}

const TWO: &str = "  - {id: one, prompt: do one}\n  - {id: two, prompt: do two}\n";
const STEPS: &str = "  - {id: house, for-each: step}\n";

const GRAPH: &str = "collections:\n  step:\n    - {id: first, prompt: p}\n    - {id: after, prompt: p, depends-on: [first]}\n    - {id: beside, prompt: p}\nretry: {maxAttempts: 0, backoffMs: [1], retryOn: [network]}\n";
const SKIP: &str = "collections:\n  step:\n    - {id: first, prompt: p}\n    - {id: after, prompt: p, depends-on: [first]}\n    - {id: beside, prompt: p}\nretry: {maxAttempts: 0, backoffMs: [1], retryOn: [network]}\nparallel-execution: {enabled: true, onDependencyFailure: skip-dependents}\n";
const FAIL: &str = "collections:\n  step:\n    - {id: first, prompt: p}\n    - {id: after, prompt: p, depends-on: [first]}\nretry: {maxAttempts: 0, backoffMs: [1], retryOn: [network]}\nparallel-execution: {enabled: true, onDependencyFailure: fail-phase}\n";
const GO_ON: &str = "collections:\n  step:\n    - {id: first, prompt: p}\n    - {id: after, prompt: p, depends-on: [first]}\n    - {id: beside, prompt: p}\nretry: {maxAttempts: 0, backoffMs: [1], retryOn: [network]}\nparallel-execution: {enabled: true, onDependencyFailure: continue}\n";
const FIRST_FAILS: &str = "case $PITON_ITEM in *first*) exit 1;; esac";

const CASES: &[Case] = &[
    Case {
        name: "two phases",
        settings: "",
        phases: TWO,
        agent: "",
        flags: &[],
        ends: (0, "done"),
    },
    Case {
        name: "one node an invocation",
        settings: "",
        phases: TWO,
        agent: "",
        flags: &["--once"],
        ends: (5, "paused"),
    },
    Case {
        name: "a limit of agents",
        settings: "",
        phases: TWO,
        agent: "",
        flags: &["--max-iterations", "1"],
        ends: (5, "paused"),
    },
    Case {
        name: "a budget",
        settings: "",
        phases: TWO,
        agent: r#"echo 1 >>made-it; echo '{"status":"completed","summary":"","usage":{"cost_usd":1}}'; exit"#,
        flags: &["--budget-usd", "1"],
        ends: (5, "paused"),
    },
    Case {
        name: "a gate that is mended",
        settings: "",
        phases: "  - id: one\n    prompt: do one\n    gate: {script: 'test -e mended', on-fail: {prompt: mend it}}\n  - {id: two, prompt: do two}\n",
        agent: "[ -e begun ] && echo yes >mended; touch begun",
        flags: &[],
        ends: (0, "done"),
    },
    Case {
        name: "a gate that stays red",
        settings: "",
        phases: "  - id: one\n    prompt: do one\n    gate: {script: 'exit 3', on-fail: {prompt: mend it, max-retries: 1}}\n  - {id: two, prompt: do two}\n",
        agent: "",
        flags: &[],
        ends: (1, "blocked"),
    },
    Case {
        name: "a question",
        settings: "",
        phases: TWO,
        agent: r#"case $PITON_ITEM in *one*) echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'; exit;; esac"#,
        flags: &[],
        ends: (3, "waiting"),
    },
    Case {
        name: "what something outside stands in the way of",
        settings: "",
        phases: TWO,
        agent: r#"case $PITON_ITEM in *one*) echo '{"status":"blocked","summary":"","error":"the quarry is closed"}'; exit;; esac"#,
        flags: &[],
        ends: (1, "blocked"),
    },
    Case {
        name: "a breakpoint",
        settings: "",
        phases: "  - {id: one, prompt: do one, break: true}\n  - {id: two, prompt: do two}\n",
        agent: "",
        flags: &[],
        ends: (3, "waiting"),
    },
    Case {
        name: "hooks after each node",
        settings: "",
        phases: "  - {id: one, prompt: do one}\n  - {id: two, prompt: do two}\nper-iteration-hooks:\n  - {id: learn, prompt: hook, enabled: true}\n",
        agent: "",
        flags: &[],
        ends: (0, "done"),
    },
    Case {
        name: "a collection without steps",
        settings: "collections: {step: [{id: first, prompt: p}], none: []}\n",
        phases: "  - {id: none, for-each: none}\n  - {id: house, for-each: step}\n",
        agent: "",
        flags: &[],
        ends: (0, "done"),
    },
    Case {
        name: "a failure holds up what waits for it",
        settings: GRAPH,
        phases: STEPS,
        agent: FIRST_FAILS,
        flags: &[],
        ends: (1, "blocked"),
    },
    Case {
        name: "skip-dependents",
        settings: SKIP,
        phases: STEPS,
        agent: FIRST_FAILS,
        flags: &[],
        ends: (1, "blocked"),
    },
    Case {
        name: "fail-phase",
        settings: FAIL,
        phases: STEPS,
        agent: FIRST_FAILS,
        flags: &[],
        ends: (1, "blocked"),
    },
    Case {
        name: "continue",
        settings: GO_ON,
        phases: STEPS,
        agent: FIRST_FAILS,
        flags: &[],
        ends: (1, "blocked"),
    },
    Case {
        name: "the end at the first failure",
        settings: "retry: {maxAttempts: 0, backoffMs: [1], retryOn: [network]}\n",
        phases: TWO,
        agent: "case $PITON_ITEM in *one*) exit 1;; esac",
        flags: &["--stop-on-failure"],
        ends: (1, "blocked"),
    },
];

/// How a run ended, the state of each node, and how many agents and hooks there were.
#[derive(Debug)]
struct Outcome {
    exit: i32,
    said: String,
    run: String,
    nodes: Vec<(String, String)>,
    told: usize,
}

fn states(nodes: &serde_json::Value, into: &mut Vec<(String, String)>) {
    for node in nodes.as_array().into_iter().flatten() {
        let word = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
        into.push((word("node"), word("state")));
        states(&node["nodes"], into);
    }
}

fn outcome(case: &Case, workers: &str) -> Outcome {
    let scratch = Scratch::new();
    scratch.sprint_with(case.settings, case.phases);
    let told = "echo told >>$PITON_PROJECT/.piton/told";
    scratch.agent(&format!(
        "cat >/dev/null\n{told}\n{}\ndate >>\"made-$(echo $PITON_ITEM | tr / -)\"\necho '{{\"status\": \"completed\", \"summary\": \"did it\"}}'",
        case.agent
    ));
    scratch.write(".gitignore", "made-*\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    let said = scratch.run(&[&["--workers", workers][..], case.flags].concat());
    let status = scratch.json(&["status"]);
    let mut nodes = Vec::new();
    states(&status["run"]["nodes"], &mut nodes);
    let run = status["run"]["state"].as_str().unwrap_or_default();
    Outcome {
        exit: said.exit,
        said: said.err,
        run: run.to_owned(),
        nodes,
        told: scratch.read(".piton/told").lines().count(),
    }
}

#[test]
fn what_a_sprint_says_means_the_same_in_lanes() {
    for case in CASES {
        let [in_place, in_lanes] = ["1", "2"].map(|workers| outcome(case, workers));
        let (exit, run) = case.ends;
        for one in [&in_place, &in_lanes] {
            assert_eq!((one.exit, &*one.run), (exit, run), "{}: {one:?}", case.name);
        }
        assert!(!in_place.nodes.is_empty(), "{}", case.name);
        assert_eq!(
            in_lanes.nodes, in_place.nodes,
            "{}: {}",
            case.name, in_lanes.said
        );
        assert_eq!(
            in_lanes.told, in_place.told,
            "{}: {}",
            case.name, in_lanes.said
        );
    }
}

#[test]
fn a_question_in_one_lane_is_answered_while_others_work_and_no_runner_starts_again() {
    let agent = r#"if [ $PITON_ITEM != US-001 ]
then until [ -e $PITON_PROJECT/.piton/go ]; do sleep 0.05; done
elif ! [ -e half ]
then echo half >half; echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'; exit
else touch $PITON_PROJECT/.piton/went-on
fi
cat half >$PITON_ITEM.txt || echo made >$PITON_ITEM.txt"#;
    let scratch = project(agent, 3);
    let waits = [&arguments("3")[..], &["--wait"]].concat();
    let running = Running::start(scratch.command(&waits));
    scratch.until("it asks", || {
        let asked = scratch.piton(&["inbox", "--json"]).out;
        asked.contains("which port?")
    });
    fine(&scratch.piton(&["decide", "d1", "answer", "--why", "80"]));
    // It goes on while the others still work.
    scratch.until("it goes on", || scratch.has(".piton/went-on"));
    scratch.write(".piton/go", "");
    fine(&running.end());
    all_done(&scratch, 3);
    assert_eq!(scratch.git(&["show", "main:US-001.txt"]), "half\n");
}
