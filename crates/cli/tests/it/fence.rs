//! Who is a person: what an agent of a run may do by piton's own commands, and
//! in whose name things are stored.

use std::process::Command;

use serde_json::Value;

use crate::harness::{DEMO, Running, Said, Scratch};

const ONE: &str = "  - {id: build, prompt: build it}\n";
const TWO: &str = "  - {id: build, prompt: build it}\n  - {id: test, prompt: test it}\n";
const COMPLETED: &str = r#"echo '{"status": "completed", "summary": "built"}'"#;

/// What an agent may put before a command so that it seems to be a person's.
/// Each is a word for the files, and the text.
const DISGUISES: [(&str, &str); 6] = [
    ("plain", ""),
    ("unset", "env -u PITON_ATTEMPT"),
    ("cleared", "env -i"),
    ("named", "env -i PITON_USER=ada"),
    ("session", "setsid -w env -i"),
    ("nohup", "nohup env -i"),
];

/// A project with a sprint, a question and a learning.
fn project(phases: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(phases);
    done(&scratch.piton(&["inbox", "ask", "tabs or blanks?"]));
    done(&scratch.piton(&["learn", "add", "--type", "tool-usage", "use make"]));
    scratch
}

#[track_caller]
fn done(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

/// A line of an agent: gives a command, and keeps its exit status and what it
/// says in files of this name.
fn attempt(name: &str, command: &str) -> String {
    format!("{command} >'{name}.out' 2>'{name}.err'; echo $? >'{name}.exit'\n")
}

/// `piton`, with the path that the agent is given.
fn with_program(mut command: Command) -> Command {
    command.env("PITON", env!("CARGO_BIN_EXE_piton"));
    command
}

/// Runs the sprint with an agent of these lines.
fn run(scratch: &Scratch, lines: &str) -> Said {
    scratch.agent(&format!("{lines}\n{COMPLETED}"));
    let command = scratch.command(&["run", "demo", "--agent", "./agent.sh"]);
    let output = with_program(command).output().expect("piton starts");
    Said::of(&output)
}

#[track_caller]
fn exit_of(scratch: &Scratch, name: &str) -> i32 {
    let said = scratch.read(&format!("{name}.exit"));
    let exit = said.trim().parse();
    exit.unwrap_or_else(|_| panic!("{name}: {said}"))
}

#[track_caller]
fn refused(scratch: &Scratch, name: &str) {
    let err = scratch.read(&format!("{name}.err"));
    assert_eq!(exit_of(scratch, name), 1, "{name}: {err}");
    assert!(err.contains("[agent.not_allowed]"), "{name}: {err}");
    assert!(err.contains("hint: "), "{name}: {err}");
}

fn events(scratch: &Scratch) -> Vec<Value> {
    let out = scratch.piton(&["journal", "export"]).out;
    let event = |line| serde_json::from_str(line).expect("a line is an event");
    out.lines().map(event).collect()
}

/// The events of a kind.
fn of_kind(scratch: &Scratch, kind: &str) -> Vec<Value> {
    let mut all = events(scratch);
    all.retain(|event| event["kind"] == kind);
    all
}

/// The actor of the attempt that was made.
fn agent(scratch: &Scratch) -> String {
    let started = of_kind(scratch, "attempt-started");
    let id = started[0]["body"]["attempt"].as_str().expect("an id");
    format!("agent:{id}")
}

/// What reproduces the gap: commands of a person, typed by an agent.
const FORBIDDEN: [(&str, &str); 4] = [
    ("decide", "decide d1 answer --why tabs"),
    ("skip", "plan skip test"),
    ("retire", "learn retire learning-0001 --why x"),
    ("confirm", "learn confirm learning-0001"),
];

/// After an agent tried all that is forbidden: nothing of it came to pass.
#[track_caller]
fn nothing_was_decided(scratch: &Scratch) {
    let inbox = scratch.json_list(&["inbox"]);
    assert_eq!(inbox[0]["id"], "d1", "{inbox}");
    let learned = scratch.json_list(&["learn", "list"]);
    assert_eq!(learned[0]["id"], "learning-0001", "{learned}");
    let status = scratch.json(&["status", DEMO]);
    let nodes = status["run"]["nodes"].as_array().expect("nodes");
    assert!(
        nodes.iter().all(|node| node["state"] == "done"),
        "{status:#}"
    );
}

#[test]
fn an_agent_decides_skips_and_retires_nothing() {
    let scratch = project(TWO);
    let mut lines = "[ $PITON_ITEM = build ] || exec ./answer.sh\n".to_owned();
    scratch.script("answer.sh", COMPLETED);
    for (disguise, before) in DISGUISES {
        for (name, command) in FORBIDDEN {
            lines += &attempt(
                &format!("{disguise}-{name}"),
                &format!("{before} $PITON {command}"),
            );
        }
    }
    done(&run(&scratch, &lines));
    for (disguise, _) in DISGUISES {
        for (name, _) in FORBIDDEN {
            refused(&scratch, &format!("{disguise}-{name}"));
        }
    }
    nothing_was_decided(&scratch);
}

#[test]
fn a_refusal_names_the_attempt_and_what_to_do_instead() {
    let scratch = project(ONE);
    let plain = attempt("plain", "$PITON decide d1 skip");
    let json = attempt("json", "env -u PITON_ATTEMPT $PITON decide d1 skip --json");
    done(&run(&scratch, &format!("{plain}{json}")));
    insta::assert_snapshot!(scratch.read("plain.err"), @r"
    error: `piton decide` is for people, and this caller is the agent of attempt 1 at `2026-01-15_demo:build`: PITON_ATTEMPT is in its environment [agent.not_allowed]
    hint: ask a person with `piton inbox ask 'QUESTION'`, or end with the status needs-human
    ");
    let said = scratch.read("json.err");
    let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(said["error"]["code"], "agent.not_allowed", "{said}");
    let message = said["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains("PITON_ATTEMPT is in the environment of process "),
        "{message}"
    );
}

#[test]
fn a_process_that_its_parent_left_behind_is_still_the_agents() {
    let scratch = project(TWO);
    // Waits until its parent is gone and the runner has taken its place.
    scratch.script(
        "orphan.sh",
        &format!(
            "while [ \"$(cut -d' ' -f4 /proc/$$/stat)\" = \"$1\" ]; do sleep 0.01; done\n{}touch over",
            attempt("orphan", "env -i $PITON plan skip test")
        ),
    );
    let lines = "[ $PITON_ITEM = build ] || exec ./answer.sh\n\
                 env -i PITON=$PITON PATH=$PATH sh -c 'setsid ./orphan.sh $$ &'\n\
                 while ! [ -e over ]; do sleep 0.01; done\n";
    scratch.script("answer.sh", COMPLETED);
    done(&run(&scratch, lines));
    refused(&scratch, "orphan");
    nothing_was_decided(&scratch);
}

#[test]
fn an_agent_that_outlives_its_runner_is_still_an_agent() {
    let scratch = project(TWO);
    scratch.agent(&format!(
        "touch works; while ! [ -e go ]; do sleep 0.01; done\n{}",
        attempt("late", "env -i $PITON decide d1 answer --why tabs")
    ));
    let command = scratch.command(&["run", "demo", "--agent", "env -u PITON_ATTEMPT ./agent.sh"]);
    let runner = Running::start(with_program(command));
    scratch.until("the agent works", || scratch.has("works"));
    runner.kill();
    scratch.write("go", "");
    scratch.until("the agent has tried", || scratch.has("late.exit"));
    scratch.until("the status is written", || {
        !scratch.read("late.exit").is_empty()
    });
    refused(&scratch, "late");
    assert_eq!(scratch.json_list(&["inbox"])[0]["id"], "d1");
}

#[test]
fn an_agent_starts_and_stops_no_run_of_its_own_project() {
    let scratch = project(ONE);
    let root = scratch.path();
    let root = root.display();
    let lines = [
        attempt("run", "$PITON run demo --agent true"),
        attempt("stop", "env -i $PITON stop"),
        attempt("init", "$PITON init --yes"),
        attempt("sync", "$PITON files sync"),
        // A folder of another project that is named like the run.
        format!("git init --quiet {DEMO}\n"),
        attempt("decoy", &format!("$PITON pause {DEMO}")),
        // From elsewhere, too: the project is that of the plan.
        "out=$PWD; cd $(mktemp -d); unset PITON_PROJECT\n".to_owned(),
        attempt(
            "far",
            &format!("env -i $PITON run {root}/demo --agent true"),
        )
        .replace("'far", "$out/'far"),
        attempt("plain-far", &format!("$PITON stop {root}/demo/SPRINT.yaml"))
            .replace("'plain-far", "$out/'plain-far"),
        "rmdir $PWD\n".to_owned(),
    ];
    done(&run(&scratch, &lines.concat()));
    for name in ["run", "stop", "init", "sync", "decoy", "far", "plain-far"] {
        refused(&scratch, name);
    }
}

#[test]
fn an_agent_reads_what_it_likes() {
    let scratch = project(ONE);
    let commands = [
        "status",
        "status --json",
        "next",
        "inbox",
        "recent",
        "recall make",
        "prepare build",
        "learn list",
        "learn show learning-0001",
        "files list",
        "journal show",
        "journal verify",
        "store info",
        "plan check demo",
        "plan compile demo -o -",
        "run demo --dry-run",
        "init --dry-run",
        "man",
    ];
    let lines: String = commands
        .iter()
        .map(|command| attempt(command, &format!("$PITON {command}")))
        .collect();
    done(&run(&scratch, &lines));
    for command in commands {
        let err = scratch.read(&format!("{command}.err"));
        assert_eq!(exit_of(&scratch, command), 0, "{command}: {err}");
    }
}

#[test]
fn what_an_agent_records_is_about_its_own_item_and_in_its_name() {
    let scratch = project(TWO);
    let own = [
        (
            "named",
            "record 2026-01-15_demo:build --outcome partial --summary half",
        ),
        ("record", "record build --summary by-hand --file src/a.rs"),
        ("log", "log milestone_reached --description half"),
        (
            "log-own",
            "log milestone_reached --spec 2026-01-15_demo --task build",
        ),
        ("learn", "learn add --type tool-usage 'use gcc'"),
        (
            "learn-own",
            "learn add --type tool-usage --item build 'use ld'",
        ),
        ("ask", "inbox ask 'which port?' --item test"),
    ];
    let others = [
        ("record-other", "record test --summary x"),
        ("record-new", "record something-new --summary x"),
        ("resolve", "record build --resolves other --resolution x"),
        ("log-other", "log task_completed --task test"),
        ("log-spec", "log task_completed --spec other"),
        ("learn-other", "learn add --type tool-usage --item test x"),
        ("session", "session start"),
    ];
    let mut lines = "[ $PITON_ITEM = build ] || exec ./answer.sh\n".to_owned();
    scratch.script("answer.sh", COMPLETED);
    for (name, command) in own.iter().chain(&others) {
        lines += &attempt(name, &format!("env -i $PITON {command}"));
    }
    let before = events(&scratch).len();
    done(&run(&scratch, &lines));
    for (name, _) in own {
        let err = scratch.read(&format!("{name}.err"));
        assert_eq!(exit_of(&scratch, name), 0, "{name}: {err}");
    }
    for (name, _) in others {
        refused(&scratch, name);
    }
    let all = events(&scratch);
    let agent = agent(&scratch);
    let by_agent = |kind: &str| {
        let of_agent = all.iter().skip(before);
        let of_agent = of_agent.filter(|event| event["kind"] == kind && event["actor"] == *agent);
        of_agent.cloned().collect::<Vec<Value>>()
    };
    // What it records of its own attempt is its answer, no attempt beside it.
    assert_eq!(by_agent("attempt-answered").len(), 2);
    assert!(of_kind(&scratch, "attempt-told").is_empty());
    let logged = by_agent("entry-logged");
    assert_eq!(logged.len(), 2);
    for entry in &logged {
        assert_eq!(entry["body"]["task_id"], "build", "{entry}");
        assert_eq!(entry["body"]["spec"], DEMO, "{entry}");
    }
    let learned = by_agent("memory-added");
    assert_eq!(learned.len(), 2);
    assert!(
        learned
            .iter()
            .all(|event| event["body"]["source_item"] == "build"),
        "{learned:?}"
    );
    assert_eq!(by_agent("decision-opened").len(), 1);
    insta::assert_snapshot!(scratch.read("record.err"), @"noted for attempt 1 at `build` of run `2026-01-15_demo`: completed; it counts when the attempt ends");
}

#[test]
fn an_agent_whose_attempt_is_over_records_nothing() {
    let scratch = project(ONE);
    done(&run(&scratch, ""));
    let mark = agent(&scratch).replace("agent:", "");
    for command in [
        ["record", "build"],
        ["log", "task_completed"],
        ["inbox", "ask"],
    ] {
        let mut command = scratch.command(&command);
        if command.get_args().any(|word| word == "ask") {
            command.arg("which port?");
        }
        command.env("PITON_ATTEMPT", &mark);
        let said = Said::of(&command.output().expect("piton starts"));
        assert_eq!(said.exit, 1, "{}", said.err);
        assert!(said.err.contains("[attempt.over]"), "{}", said.err);
    }
    let mut command = scratch.command(&["pause"]);
    command.env("PITON_ATTEMPT", &mark);
    let said = Said::of(&command.output().expect("piton starts"));
    assert!(said.err.contains("[agent.not_allowed]"), "{}", said.err);
}

#[test]
fn a_gate_decides_nothing_either() {
    let scratch = project(
        "  - id: build\n    prompt: build it\n    gate: {script: ./gate.sh, on-fail: {prompt: fix it}}\n",
    );
    let plain = attempt("plain", "$PITON decide d1 skip");
    let cleared = attempt("cleared", "env -i $PITON decide d1 skip");
    let record = attempt("record", "$PITON record build --summary x");
    let reads = attempt("reads", "$PITON status");
    scratch.script("gate.sh", &format!("{plain}{cleared}{record}{reads}true"));
    done(&run(&scratch, ""));
    for name in ["plain", "cleared", "record"] {
        refused(&scratch, name);
        let err = scratch.read(&format!("{name}.err"));
        assert!(err.contains(&format!("a process of run `{DEMO}`")), "{err}");
    }
    assert_eq!(exit_of(&scratch, "reads"), 0);
}

#[test]
fn a_server_of_an_agent_holds_its_attempt_whatever_it_is_given() {
    let scratch = project(TWO);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"log","arguments":{"type":"task_completed","description":"x"}}}"#;
    scratch.write("calls", &format!("{call}\n"));
    let lines = format!(
        "[ $PITON_ITEM = build ] || exec ./answer.sh\n{}",
        attempt("mcp", "env -i $PITON mcp --item test <calls")
    );
    scratch.script("answer.sh", COMPLETED);
    done(&run(&scratch, &lines));
    let out = scratch.read("mcp.out");
    assert!(out.contains("\"isError\":false"), "{out}");
    let agent = agent(&scratch);
    let logged = of_kind(&scratch, "entry-logged");
    let own = logged.iter().find(|event| event["actor"] == *agent);
    assert_eq!(own.expect("it is logged")["body"]["task_id"], "build");
}

#[test]
fn a_hook_of_an_agent_without_its_mark_is_not_taken_for_one_of_a_person() {
    let scratch = project(ONE);
    scratch.write(
        "call",
        r#"{"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x"}}"#,
    );
    let lines = attempt("hook", "env -i $PITON hook PostToolUse <call");
    done(&run(&scratch, &lines));
    assert_eq!(exit_of(&scratch, "hook"), 0);
    assert!(of_kind(&scratch, "call-noted").is_empty());
}

#[test]
fn a_scratch_project_of_an_agent_is_a_project_as_any_other() {
    let scratch = project(ONE);
    scratch.write(
        "prd.json",
        r#"{"features": [{"id": "works", "description": "it works", "passes": false}]}"#,
    );
    let commands = [
        ("init", "init --yes"),
        ("run", "run prd.json --agent ./inner.sh"),
        ("ask", "inbox ask 'which port?'"),
        ("decide", "decide d1 answer --why 5433"),
        ("record", "record project:something --summary x"),
    ];
    scratch.script("inner.sh", &format!("echo x >>made\n{COMPLETED}"));
    let mut lines = "out=$PWD; mkdir inner; cd inner; git init --quiet; unset PITON_PROJECT\n\
                     cp ../inner.sh ../prd.json .\n"
        .to_owned();
    for (name, command) in commands {
        lines += &attempt(&format!("inner-{name}"), &format!("$PITON {command}"))
            .replace("'inner-", "$out/'inner-");
    }
    done(&run(&scratch, &lines));
    for (name, _) in commands {
        let err = scratch.read(&format!("inner-{name}.err"));
        assert_eq!(
            exit_of(&scratch, &format!("inner-{name}")),
            0,
            "{name}: {err}"
        );
    }
    let exported = scratch.command_in("inner", &["journal", "export"]).output();
    let exported = Said::of(&exported.expect("piton starts")).out;
    let mut lines = exported.lines();
    let decided = lines.find(|line| line.contains("\"decision-made\""));
    let decided = decided.expect("it is decided");
    assert!(decided.contains("\"actor\":\"person:ada\""), "{decided}");
}

#[test]
fn a_person_whose_shell_started_the_run_is_a_person() {
    let scratch = project(ONE);
    scratch.agent(&format!(
        "touch works; while ! [ -e go ]; do sleep 0.01; done\n{COMPLETED}"
    ));
    let person = [
        "$PITON run demo --agent ./agent.sh >run.out 2>&1 &\n".to_owned(),
        "while ! [ -e works ]; do sleep 0.01; done\n".to_owned(),
        attempt("decide", "$PITON decide d1 answer --why tabs"),
        attempt("pause", "$PITON pause"),
        attempt("record", "$PITON record project:else --summary x"),
        "touch go; wait\n".to_owned(),
    ];
    scratch.script("person.sh", &person.concat());
    let shell = scratch.shell("person.sh");
    done(&Running::start(with_program(shell)).end());
    for name in ["decide", "pause", "record"] {
        let err = scratch.read(&format!("{name}.err"));
        assert_eq!(exit_of(&scratch, name), 0, "{name}: {err}");
    }
}

#[test]
fn a_person_is_named_by_the_variable_then_by_git_then_by_the_login() {
    let scratch = Scratch::outside_git();
    let mut last = 0;
    let mut actor = |change: &dyn Fn(&mut Command)| {
        let mut command = scratch.command(&["log", "milestone_reached"]);
        change(&mut command);
        done(&Said::of(&command.output().expect("piton starts")));
        let logged = of_kind(&scratch, "entry-logged");
        assert_eq!(logged.len(), last + 1);
        last = logged.len();
        logged[last - 1]["actor"]
            .as_str()
            .expect("an actor")
            .to_owned()
    };
    let without_account = |command: &mut Command| {
        command.env_remove("USER").env_remove("HOME");
    };
    let unnamed = actor(&without_account);
    assert!(!unnamed.contains("somebody"), "{unnamed}");
    assert!(unnamed.len() > "person:".len(), "{unnamed}");
    assert_eq!(actor(&|_| {}), "person:ada");
    scratch.write(".gitconfig", "[user]\n\tname = Ada of Home\n");
    assert_eq!(actor(&|_| {}), "person:Ada of Home");
    scratch.write("global", "[USER] Name = \"Ada Global\" # hers");
    let global = |command: &mut Command| {
        command.env("GIT_CONFIG_GLOBAL", "global");
    };
    assert_eq!(actor(&global), "person:Ada Global");
    scratch.git(&["init", "--quiet"]);
    scratch.git(&["config", "user.name", "Ada Lovelace"]);
    assert_eq!(actor(&global), "person:Ada Lovelace");
    let named = |command: &mut Command| {
        command.env("PITON_USER", "  countess\n");
    };
    assert_eq!(actor(&named), "person:countess");
}
