//! What is printed as the next thing to type works as it is printed: each hint
//! of each error page, and of each state of a run.

use std::collections::BTreeSet;

use crate::harness::{DEMO, RUN, Running, Said, Scratch};

const PHASES: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

/// Works until it is told to go on; at once where that was said.
const PATIENT: &str = "[ -e go ] && { echo built; exit; }
touch at-work
while ! [ -e go ]; do sleep 0.02; done
echo built";

const ASKS: &str = r#"[ -e go ] && { echo built; exit; }
echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'"#;

const FAILS: &str = "[ -e go ] && { echo built; exit; }\necho it does not compile\nexit 1";

/// A program that answers as Claude Code does.
const CLAUDE: &str = r#"cat >/dev/null
echo '{"type":"system","subtype":"init","session_id":"s","cwd":"/"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"{\"status\":\"completed\",\"summary\":\"built\"}"}'"#;

/// A situation, and what was said in it.
struct Made {
    scratch: Scratch,
    said: Said,
    runner: Option<Running>,
}

impl Made {
    fn of(scratch: Scratch, command: &[&str]) -> Self {
        let mut command = scratch.command(command);
        let output = command.env("PATH", search_path(&scratch)).output();
        let said = Said::of(&output.expect("piton starts"));
        Self {
            scratch,
            said,
            runner: None,
        }
    }

    fn beside((scratch, runner): (Scratch, Running), command: &[&str]) -> Self {
        Self {
            runner: Some(runner),
            ..Self::of(scratch, command)
        }
    }

    /// Types a command as it was printed, in a shell that finds piton.
    fn types(&self, typed: &str) -> Said {
        let mut shell = self.scratch.shell("-c");
        shell.arg(typed).env("PATH", search_path(&self.scratch));
        let running = Running::start(shell);
        // What waits for an agent waits no longer.
        self.scratch.write("go", "");
        running.end()
    }
}

/// Where a shell finds piton, and the agent of a project.
fn search_path(scratch: &Scratch) -> String {
    let piton = std::path::Path::new(env!("CARGO_BIN_EXE_piton"));
    format!(
        "{}:{}:{}",
        piton.parent().expect("it lies in a folder").display(),
        scratch.path().join("bin").display(),
        std::env::var("PATH").unwrap_or_default()
    )
}

/// The commands of a text that can be typed: in backticks, without a word in
/// capitals that stands for another.
fn commands(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_form = |typed: &str| {
        let mut words = typed.split(' ');
        words.any(|word| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase()))
    };
    let is_command = |typed: &&str| typed.starts_with("piton ") || typed.starts_with("git ");
    let all = quoted.filter(is_command).filter(|typed| !is_form(typed));
    all.map(str::to_owned).collect()
}

fn hint(said: &Said) -> String {
    let lines = said.err.lines().filter(|line| line.starts_with("hint: "));
    lines.collect::<Vec<_>>().join("\n")
}

fn project(agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch
        .sprint(PHASES)
        .agent(agent)
        .script("bin/claude", CLAUDE);
    scratch
}

fn after(agent: &str, run: &[&str]) -> Scratch {
    let scratch = project(agent);
    scratch.run(run);
    scratch
}

fn at_work() -> (Scratch, Running) {
    let scratch = project(PATIENT);
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || scratch.has("at-work"));
    (scratch, runner)
}

/// One that can be committed, with a change that nobody committed.
fn dirty() -> Scratch {
    let scratch = project("echo x >>made; echo built");
    scratch.sprint_with("config:\n  auto-commit: true\n", PHASES);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    scratch.write("mine.txt", "mine");
    scratch
}

/// One that can be committed, and wants a worktree in `trees/demo`.
fn with_worktree(agent: &str) -> Scratch {
    let scratch = project(agent);
    let worktree = "worktree: {enabled: true, branch: sprint/demo, path: trees/demo}\n";
    scratch.sprint_with(worktree, PHASES);
    scratch.write(".gitignore", "/trees/\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    scratch
}

/// A run of two workers that is done, after this was typed in the work tree.
fn in_lanes(typed: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(&format!(
        "(cd $PITON_PROJECT; {typed})\necho x >made-$PITON_ITEM; echo built"
    ));
    scratch.write("shared", "begin\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    let list = r#"{"features": [{"id": "a", "description": "do a", "passes": false}]}"#;
    scratch.write("prd.json", list);
    scratch.piton(&[RUN_LIST, &["--workers", "2"]].concat());
    scratch
}

/// The same worktree, made by a person.
const ADD_WORKTREE: [&str; 6] = ["worktree", "add", "-q", "-b", "sprint/demo", "trees/demo"];

fn with_progress(name: &str, text: &str) -> Scratch {
    let scratch = project("echo built");
    scratch.write(&format!("demo/{name}"), text);
    scratch
}

/// A page, how it comes to be shown, and how what it prints ends when it is
/// typed: 0 unless the command is there to tell what is wrong.
struct Situation {
    page: &'static str,
    make: fn() -> Made,
    exits: &'static [i32],
}

const LEGACY: &str = "sprint-id: s\nstatus: in-progress\ncurrent-task: null\nqueue: []\ncompleted: []\nblocked: []\n";

const SITUATIONS: &[Situation] = &[
    Situation {
        page: "agent.cannot_start",
        make: || {
            Made::of(
                project("true"),
                &["run", "demo", "--agent", "no-such-agent"],
            )
        },
        exits: &[0],
    },
    Situation {
        page: "agent.missing",
        make: || Made::of(project("true"), &["run", "demo"]),
        exits: &[0],
    },
    Situation {
        page: "agent.turned_away",
        make: || {
            Made::of(
                project("echo built"),
                &["run", "demo", "--agent", "./agent.sh"],
            )
        },
        exits: &[0],
    },
    Situation {
        page: "decision.decided",
        make: || {
            let scratch = after(ASKS, &[]);
            scratch.piton(&["decide", "d1", "retry"]);
            Made::of(scratch, &["decide", "d1", "retry"])
        },
        exits: &[0],
    },
    Situation {
        page: "decision.unknown",
        make: || Made::of(after(ASKS, &[]), &["decide", "d9", "retry"]),
        exits: &[0],
    },
    Situation {
        page: "git.dirty",
        make: || Made::of(dirty(), RUN),
        exits: &[0],
    },
    Situation {
        page: "git.no_commit",
        make: || {
            let scratch = project("echo built");
            scratch.sprint_with("worktree: {enabled: true}\n", PHASES);
            Made::of(scratch, RUN)
        },
        exits: &[0],
    },
    Situation {
        page: "git.no_identity",
        make: || {
            let scratch = dirty();
            scratch.git(&["add", "--all"]);
            scratch.git(&["commit", "-qm", "all of it"]);
            scratch.git(&["config", "user.useConfigOnly", "true"]);
            scratch.git(&["config", "--unset", "user.email"]);
            Made::of(scratch, RUN)
        },
        exits: &[],
    },
    Situation {
        page: "item.being_worked_on",
        make: || Made::beside(at_work(), &["plan", "retry", "build"]),
        exits: &[0],
    },
    Situation {
        page: "item.no_check",
        make: || Made::of(after("echo built", &[]), &["gate", "build"]),
        exits: &[0],
    },
    Situation {
        page: "item.not_planned",
        make: || Made::of(after(FAILS, &[]), &["record", "biuld"]),
        exits: &[0, 0],
    },
    Situation {
        page: "item.state",
        make: || Made::of(after(FAILS, &[]), &["plan", "retry", "test"]),
        exits: &[0],
    },
    Situation {
        page: "item.unknown",
        make: || Made::of(after(FAILS, &[]), &["prepare", "biuld"]),
        exits: &[0],
    },
    Situation {
        page: "memory.known",
        make: || {
            let scratch = Scratch::new();
            let add = [
                "learn",
                "add",
                "--kind",
                "guardrail",
                "--title",
                "Ask",
                "--trigger",
                "always",
                "ask first",
            ];
            scratch.piton(&add);
            Made::of(scratch, &add)
        },
        exits: &[0],
    },
    Situation {
        page: "memory.retired",
        make: || {
            let scratch = Scratch::new();
            scratch.piton(&["learn", "add", "--type", "build-command", "run make"]);
            scratch.piton(&["learn", "retire", "learning-0001", "--why", "old"]);
            Made::of(
                scratch,
                &["learn", "retire", "learning-0001", "--why", "old"],
            )
        },
        exits: &[0],
    },
    Situation {
        page: "memory.unknown",
        make: || {
            let scratch = Scratch::new();
            scratch.piton(&["learn", "add", "--type", "build-command", "run make"]);
            Made::of(
                scratch,
                &["learn", "retire", "learning-0009", "--why", "old"],
            )
        },
        exits: &[0],
    },
    Situation {
        page: "plan.legacy",
        make: || Made::of(with_progress("PROGRESS.yaml", LEGACY), RUN),
        exits: &[0],
    },
    Situation {
        page: "plan.problems",
        make: || {
            let scratch = project("true");
            scratch.write("demo/SPRINT.yaml", "workflow: nowhere\n");
            Made::of(scratch, RUN)
        },
        // It says again what is wrong.
        exits: &[1],
    },
    Situation {
        page: "plan.started",
        make: || Made::of(after("echo built", &[]), &["plan", "compile", "demo"]),
        exits: &[0, 0],
    },
    Situation {
        page: "plan.unreadable",
        make: || Made::of(with_progress("PROGRESS.yaml", "a: [\n"), RUN),
        exits: &[0],
    },
    Situation {
        page: "run.blocked",
        make: || Made::of(after(FAILS, &[]), &["resume", "demo"]),
        exits: &[0],
    },
    Situation {
        page: "run.busy",
        make: || Made::beside(at_work(), &["run", DEMO]),
        exits: &[0, 0],
    },
    Situation {
        page: "run.finished",
        make: || Made::of(after("echo built", &[]), &["resume", "demo"]),
        exits: &[0, 0],
    },
    Situation {
        page: "run.needs_human",
        make: || Made::of(after(ASKS, &[]), &["run", DEMO]),
        exits: &[0],
    },
    Situation {
        page: "run.detach_failed",
        make: || {
            let scratch = project("true");
            let run = ["run", "demo", "--agent", "./agent.sh", "--detach"];
            let mut command = scratch.command(&run);
            command.env("PITON_FAILPOINT", "run.locked:1");
            let said = Said::of(&command.output().expect("piton starts"));
            Made {
                scratch,
                said,
                runner: None,
            }
        },
        exits: &[0],
    },
    Situation {
        page: "run.not_started",
        make: || Made::of(project("true"), &["resume", "demo"]),
        exits: &[0],
    },
    Situation {
        page: "run.paused",
        make: || {
            let scratch = project("echo built");
            scratch.write("demo/PAUSE", "");
            scratch.run(&[]);
            Made::of(scratch, &["run", DEMO])
        },
        exits: &[0],
    },
    Situation {
        page: "run.same_tree",
        make: || {
            let list =
                r#"{"features": [{"id": "a", "description": "a", "steps": [], "passes": false}]}"#;
            let (scratch, runner) = at_work();
            scratch
                .write("prd.json", list)
                .script("writes.sh", "echo x >>made; echo done");
            let run = [
                "run",
                "prd.json",
                "--agent",
                "./writes.sh",
                "--verdict",
                "exit-status",
            ];
            Made::beside((scratch, runner), &run)
        },
        exits: &[0, 0, 0],
    },
    Situation {
        page: "run.state",
        make: || {
            let (scratch, runner) = at_work();
            runner.kill();
            scratch.piton(&["resume"]);
            Made::of(scratch, &["stop", DEMO])
        },
        exits: &[0],
    },
    Situation {
        page: "land.nothing",
        make: || Made::of(after("echo built", &[]), &["land", "demo"]),
        exits: &[0],
    },
    Situation {
        page: "lane.dirty",
        make: || {
            let scratch = in_lanes("cd \"$OLDPWD\"; git init -q app");
            let lane = scratch.path().join(".piton/lanes/1");
            let entries = std::fs::read_dir(lane).expect("there is one").flatten();
            let mut folders = entries.filter(|entry| entry.path().is_dir());
            let tree = folders.next().expect("a worktree").path();
            std::fs::write(tree.join("mine"), "").expect("written");
            Made::of(scratch, &["plan", "clean", "prd"])
        },
        exits: &[0, 0],
    },
    Situation {
        page: "land.refused",
        make: || {
            let scratch = in_lanes("git commit -q --allow-empty -m mine");
            Made::of(scratch, &["land", "prd"])
        },
        exits: &[0],
    },
    Situation {
        page: "run.not_landed",
        make: || {
            let scratch = in_lanes("git switch -q --detach");
            scratch.git(&["switch", "-q", "main"]);
            Made::of(scratch, &["plan", "clean", "prd"])
        },
        exits: &[0],
    },
    Situation {
        page: "store.damaged",
        make: || {
            let scratch = after("echo built", &[]);
            scratch.write(".piton/journal.db", "no database");
            Made::of(scratch, &["status"])
        },
        // They say what is damaged.
        exits: &[6, 6],
    },
    Situation {
        page: "worktree.dirty",
        make: || {
            let scratch = with_worktree("echo built");
            scratch.git(&ADD_WORKTREE);
            scratch.write("trees/demo/mine", "");
            Made::of(scratch, RUN)
        },
        exits: &[0],
    },
    Situation {
        page: "worktree.gone",
        make: || {
            let scratch = with_worktree("echo built");
            scratch.run(&["--once"]);
            scratch.git(&["worktree", "remove", "trees/demo"]);
            scratch.git(&["branch", "-qD", "sprint/demo"]);
            Made::of(scratch, RUN)
        },
        exits: &[0],
    },
    Situation {
        page: "worktree.locked",
        make: || {
            let scratch = with_worktree("echo built");
            scratch.git(&ADD_WORKTREE);
            scratch.git(&["worktree", "lock", "trees/demo"]);
            Made::of(scratch, RUN)
        },
        exits: &[0],
    },
    Situation {
        page: "worktree.taken",
        make: || {
            let scratch = with_worktree("echo built");
            scratch.write("trees/demo/mine", "");
            Made::of(scratch, RUN)
        },
        exits: &[0],
    },
];

/// Pages whose hints are not typed here, and why.
const NOT_TYPED: &[(&str, &str)] = &[
    (
        "agent.not_allowed",
        "an agent is told what it may write; typed in `fence`",
    ),
    (
        "attempt.over",
        "names a form, `piton record ITEM`, for a person",
    ),
    ("attempt.unknown", "says how a server is started"),
    ("blocker.unknown", "its command is typed in `record`"),
    ("decision.needs_words", "names the option `--why TEXT`"),
    ("lane.not_ours", "a person moves what is theirs"),
    ("run.other_tree", "its commands are typed in `control`"),
    ("target.checked_out", "its commands are typed in `landing`"),
    ("target.moved", "its commands are typed in `lanes`"),
    ("workspace.setup_failed", "names a key of a file"),
    ("decision.wrong_verb", "lists the verbs that fit"),
    ("file.conflict", "its commands are typed in `questions`"),
    ("file.exists", "says to name another file"),
    ("file.fault", "says to try again"),
    ("file.missing", "says to name another file"),
    ("file.not_an_image", "names options"),
    ("file.outside", "says what to copy to where"),
    ("file.unreadable", "says what to look at"),
    ("file.unwritable", "says what to look at"),
    ("git.missing", "says what to install, or what to leave out"),
    ("plan.foreign", "says to name another plan"),
    ("plan.none", "names a form, `piton run PLAN`"),
    ("plan.repository", "says what to change in the manifest"),
    ("plan.secret", "says what to change in the plan"),
    ("plan.unsupported", "says what can be run"),
    ("record.problems", "says what is wrong in what was sent"),
    (
        "run.fenced",
        "needs a runner whose lease ran out while it worked",
    ),
    ("run.unknown", "lists the names that there are"),
    ("store.busy", "needs a store that is locked for long"),
    ("store.fault", "needs a disk that fails"),
    ("store.gone", "names a form, `piton run PLAN`"),
    ("store.lost", "names forms; see `cleaned`"),
    ("store.missing", "names forms that begin a journal"),
    ("store.network", "needs a network file system"),
    ("store.newer", "needs a store of a later version"),
    ("store.two_journals", "see `cleaned`"),
    ("store.tracked", "its commands are typed in `trust`"),
    ("trust.needed", "its commands are typed in `trust`"),
    ("trust.register", "says what to look at"),
    ("usage", "names the option or the form that was meant"),
    ("worktree.failed", "needs a git that fails"),
    ("worktree.in_use", "says to leave the present folder"),
];

#[test]
fn every_error_page_is_typed_or_says_why_not() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
    let entries = std::fs::read_dir(folder).expect("the pages are there");
    let pages = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_suffix(".md").map(str::to_owned)
    });
    let pages: BTreeSet<String> = pages.filter(|name| name != "README").collect();
    let typed = SITUATIONS.iter().map(|situation| situation.page);
    let all = typed.chain(NOT_TYPED.iter().map(|(page, _)| *page));
    let listed: Vec<String> = all.map(str::to_owned).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), pages);
    assert_eq!(listed.len(), pages.len(), "each stands once");
}

#[track_caller]
fn check(situation: &Situation) {
    for (at, exit) in situation.exits.iter().enumerate() {
        let made = (situation.make)();
        let (page, said) = (situation.page, &made.said.err);
        assert!(said.contains(&format!("[{page}]")), "{page}: {said}");
        let typed = commands(&hint(&made.said));
        assert_eq!(typed.len(), situation.exits.len(), "{page}: {said}");
        let then = made.types(&typed[at]);
        assert_eq!(then.exit, *exit, "{page}: {}: {}", typed[at], then.err);
        made.scratch.write("go", "");
        if let Some(runner) = made.runner {
            runner.end();
        }
    }
}

#[test]
fn what_pages_about_agents_and_memory_print_can_be_typed() {
    for situation in SITUATIONS.iter().filter(|one| one.page < "plan") {
        check(situation);
    }
}

#[test]
fn what_pages_about_plans_and_runs_print_can_be_typed() {
    for situation in SITUATIONS.iter().filter(|one| one.page > "plan") {
        check(situation);
    }
}

const LIST: &str = r#"{"features": [{"id": "a", "description": "do a", "steps": [], "passes": false}, {"id": "b", "description": "do b", "steps": [], "passes": false}, {"id": "c", "description": "do c", "steps": [], "passes": false}]}"#;

const RUN_LIST: &[&str] = &[
    "run",
    "prd.json",
    "--agent",
    "./agent.sh",
    "--verdict",
    "exit-status",
];

/// A run of a list, each of whose items asks or fails until it is told to go on.
fn list(agent: &str, more: &[&str]) -> Made {
    let scratch = Scratch::new();
    let agent = agent.replace("echo built", "echo x >>made; echo built");
    scratch.write("prd.json", LIST).agent(&agent);
    Made::of(scratch, &[RUN_LIST, more].concat())
}

fn died() -> Scratch {
    let (scratch, runner) = at_work();
    runner.kill();
    scratch
}

/// What was typed, how, and how what it prints ends when that is typed.
type Printed = (&'static str, fn() -> Made, &'static [i32]);

const PRINTED: &[Printed] = &[
    (
        "decide skip, and another item waits",
        || Made::of(list(ASKS, &[]).scratch, &["decide", "d1", "skip"]),
        &[0],
    ),
    (
        "plan skip, and another item failed",
        || Made::of(list(FAILS, &[]).scratch, &["plan", "skip", "a"]),
        &[0],
    ),
    (
        "plan retry, and two others failed",
        || Made::of(list(FAILS, &[]).scratch, &["plan", "retry", "b"]),
        &[1],
    ),
    (
        "run --stop-on-failure, at a question",
        || list(ASKS, &["--stop-on-failure"]),
        &[0, 3],
    ),
    (
        "run --stop-on-failure, at a failure",
        || list(FAILS, &["--stop-on-failure"]),
        &[0, 1],
    ),
    (
        "plan retry after a death",
        || Made::of(died(), &["plan", "retry", "build"]),
        &[0],
    ),
    (
        "plan skip after a death",
        || Made::of(died(), &["plan", "skip", "build"]),
        &[0],
    ),
    (
        "transcript after a death",
        || Made::of(died(), &["transcript", "build", "--follow"]),
        &[0],
    ),
    (
        "a dry run where all waits",
        || Made::of(list(ASKS, &[]).scratch, &["run", "prd", "--dry-run"]),
        &[0],
    ),
    (
        "a dry run of a paused run",
        || {
            let scratch = project("echo built");
            scratch.write("demo/PAUSE", "");
            scratch.run(&[]);
            Made::of(scratch, &["run", DEMO, "--dry-run"])
        },
        &[0],
    ),
    (
        "a dry run of a finished run",
        || Made::of(after("echo built", &[]), &["run", DEMO, "--dry-run"]),
        &[0, 0],
    ),
];

#[test]
fn what_steering_a_run_prints_can_be_typed() {
    for (name, make, exits) in PRINTED {
        for (at, exit) in exits.iter().enumerate() {
            let made = make();
            let said = &made.said.err;
            let typed = commands(&hint(&made.said));
            assert_eq!(typed.len(), exits.len(), "{name}: {said}");
            let then = made.types(&typed[at]);
            assert_eq!(then.exit, *exit, "{name}: {}: {}", typed[at], then.err);
        }
    }
}

/// Types what is printed as the next thing, again and again, until the run is done.
#[track_caller]
fn follow(state: &str, scratch: Scratch) {
    let status = scratch.json(&["status", DEMO]);
    assert_eq!(status["run"]["state"], state);
    let mut next = status["run"]["next"].as_str().map(str::to_owned);
    let made = Made::of(scratch, &["status"]);
    let mut typed = Vec::new();
    while let Some(command) = next {
        assert!(typed.len() < 6, "{state}: {typed:?} leads nowhere");
        let said = made.types(&command);
        assert_ne!(said.exit, 2, "{state}: {command}: {}", said.err);
        typed.push(command);
        // The inbox prints what can be decided, line by line.
        let offered = said.out.lines().map(str::trim);
        let mut offered = offered.filter(|line| line.starts_with("piton decide "));
        next = offered
            .find(|line| line.ends_with(" retry") || line.ends_with(" approve"))
            .map(str::to_owned)
            .or_else(|| commands(&hint(&said)).into_iter().next())
            .filter(|_| made.scratch.json(&["status", DEMO])["run"]["state"] != "done");
    }
    let status = made.scratch.json(&["status", DEMO]);
    assert_eq!(status["run"]["state"], "done", "{state}: {typed:?}");
}

#[test]
fn what_a_state_prints_leads_on_until_the_run_is_done() {
    let breaks = PHASES.replace("build it\n", "build it\n    break: true\n");
    let at_break = project("echo built");
    at_break.sprint(&breaks);
    at_break.run(&[]);
    let by_file = project("echo built");
    by_file.write("demo/PAUSE", "");
    by_file.run(&[]);
    let (by_person, runner) = at_work();
    by_person.piton(&["pause"]);
    by_person.write("go", "");
    runner.end();
    let (died, runner) = at_work();
    runner.kill();
    let recorded = project("echo built");
    recorded.write(".piton/config.toml", "[agent]\nuse = \"claude\"\n");
    let mut command = recorded.command(&["run", "demo", "--agent", "./agent.sh"]);
    command.env("PITON_FAILPOINT", "run.planned:1");
    Running::start(command).end();
    for (state, scratch) in [
        ("new", recorded),
        ("interrupted", died),
        ("paused", by_person),
        ("paused", by_file),
        ("waiting", at_break),
        ("paused", after("echo built", &["--max-iterations", "1"])),
        ("waiting", after(ASKS, &[])),
        ("blocked", after(FAILS, &[])),
    ] {
        follow(state, scratch);
    }
}

#[test]
fn a_run_that_was_begun_anew_is_named_so_that_it_is_found() {
    let scratch = after("echo built", &[]);
    let anew = format!("piton run {DEMO} --recompile");
    let made = Made::of(scratch, &["resume", DEMO]);
    assert!(
        commands(&hint(&made.said)).contains(&anew),
        "{}",
        made.said.err
    );
    assert_eq!(made.types(&anew).exit, 0);
    let made = Made::of(made.scratch, &["resume", "demo"]);
    let typed = commands(&hint(&made.said));
    assert_eq!(typed[0], format!("piton status {DEMO}~2"));
    for command in typed {
        let said = made.types(&command);
        assert_eq!(said.exit, 0, "{command}: {}", said.err);
    }
}

#[test]
fn a_name_with_blanks_is_quoted_where_it_is_printed() {
    let scratch = project("echo built");
    let agent = "./my agent.sh";
    std::fs::rename(
        scratch.path().join("agent.sh"),
        scratch.path().join("my agent.sh"),
    )
    .expect("renamed");
    std::fs::rename(scratch.path().join("demo"), scratch.path().join("my demo")).expect("renamed");
    scratch.write("my demo/PROGRESS.yaml", LEGACY);
    let agent = format!("'{agent}'");
    let run = [
        "run",
        "my demo",
        "--agent",
        &agent,
        "--verdict",
        "exit-status",
    ];
    let made = Made::of(scratch, &run);
    let typed = commands(&hint(&made.said));
    assert_eq!(typed.len(), 1, "{}", made.said.err);
    let said = made.types(&typed[0]);
    assert_eq!(said.exit, 0, "{}: {}", typed[0], said.err);
}
