//! Control holds: one run in a work tree, restarts at once, one word for a state.

use rustix::process::Signal;

use crate::harness::{DEMO, RUN, Running, Said, Scratch, is_alive};

const PHASES: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

/// Works until it is told to go on; at once where that was said.
const PATIENT: &str = "[ -e go ] && { echo x >>made; echo done; exit; }\necho $$ >agent.pid\nwhile ! [ -e go ]; do sleep 0.02; done\necho done";

const LIST: &str =
    r#"{"features": [{"id": "a", "description": "do a", "steps": [], "passes": false}]}"#;

const TWO: &str = r#"{"features": [
  {"id": "a", "description": "do a", "steps": [], "passes": false},
  {"id": "b", "description": "do b", "steps": [], "passes": false}
]}"#;

fn at_work() -> (Scratch, Running) {
    let scratch = Scratch::new();
    scratch
        .sprint(PHASES)
        .agent(PATIENT)
        .write("prd.json", LIST);
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || scratch.has("agent.pid"));
    (scratch, runner)
}

/// The second plan, as it is run beside the first.
fn second(scratch: &Scratch, more: &[&str]) -> Said {
    let run = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    scratch.piton(&[&run, more].concat())
}

/// Ends an agent that outlived its runner, by its id.
fn end_agent(scratch: &Scratch) {
    let id = scratch.read("agent.pid");
    if is_alive(&id) {
        let id = rustix::process::Pid::from_raw(id.trim().parse().expect("a pid")).expect("not 0");
        rustix::process::kill_process(id, Signal::KILL).ok();
    }
}

#[test]
fn a_second_run_in_a_work_tree_is_refused_and_the_first_is_named() {
    let (scratch, runner) = at_work();
    let said = second(&scratch, &[]);
    insta::assert_snapshot!(said.shown(&scratch), @r"
    warning: prd.json: the item that is left has no command that verifies it: a change and its agent's word make it done
    error: run `2026-01-15_demo` is at work in this work tree (process PID on HOST) [run.same_tree]
    hint: wait for it with `piton status 2026-01-15_demo --watch`, or stop it with `piton stop 2026-01-15_demo`; `piton run prd.json --agent ./agent.sh --verdict exit-status --same-tree` runs both here all the same
    [exit 4]
    ");
    assert!(!scratch.event_kinds().is_empty());
    let runs = scratch.json(&["status"])["runs"].as_array().map(Vec::len);
    assert_eq!(runs, Some(1), "nothing of the second is stored");
    // Whoever wants it gets it.
    let typed = said
        .err
        .split('`')
        .find(|word| word.contains("--same-tree"));
    let typed = typed.expect("it is printed").replacen("piton ", "", 1);
    let typed: Vec<&str> = typed.split(' ').collect();
    scratch.write("go", "");
    assert_eq!(scratch.piton(&typed).exit, 0);
    assert_eq!(runner.end().exit, 0);
}

#[test]
fn a_dead_runner_and_another_work_tree_keep_nobody_out() {
    let (scratch, runner) = at_work();
    scratch.write("go", "");
    runner.kill();
    let said = second(&scratch, &["--dry-run"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = second(&scratch, &[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    end_agent(&scratch);
}

#[test]
fn a_runner_in_a_linked_worktree_is_no_neighbour() {
    let scratch = Scratch::new();
    scratch
        .sprint(PHASES)
        .agent(PATIENT)
        .write("prd.json", LIST);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    scratch.git(&["worktree", "add", "--quiet", "linked"]);
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || scratch.has("agent.pid"));
    scratch.write("linked/go", "");
    let run = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let output = scratch.command_in("linked", &run).output().expect("starts");
    let said = Said::of(&output);
    assert_eq!(said.exit, 0, "{}", said.err);
    scratch.write("go", "");
    assert_eq!(runner.end().exit, 0);
}

#[test]
fn a_run_is_not_gone_on_with_in_a_work_tree_that_has_a_file_of_its_own() {
    let scratch = Scratch::new();
    scratch
        .agent("echo $PITON_ITEM >>done")
        .write("prd.json", TWO);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    scratch.git(&["worktree", "add", "--quiet", "linked"]);
    let flags = ["--agent", "./agent.sh", "--verdict", "exit-status"];
    let with = |plan: &str, more: &[&str]| -> Vec<String> {
        let words = ["run", plan]
            .into_iter()
            .chain(flags)
            .chain(more.iter().copied());
        words.map(str::to_owned).collect()
    };
    let typed_in = |folder: &str, args: &[String]| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Running::start(scratch.command_in(folder, &args)).end()
    };
    let begun = typed_in("linked", &with("prd.json", &["--once"]));
    assert_eq!(begun.exit, 5, "{}", begun.err);
    let marked = scratch.read("linked/prd.json");
    // Neither here nor in a folder below it.
    for folder in ["", ".piton"] {
        let said = typed_in(folder, &with("prd", &[]));
        assert_eq!(said.exit, 1, "{}", said.err);
        assert!(said.err.contains("[run.other_tree]"), "{}", said.err);
        let linked = scratch.path().join("linked");
        let hint = format!(
            "go on there, with `cd {}` and `piton run prd`, or the file of this work tree with `piton run {}`",
            linked.display(),
            scratch.path().join("prd.json").display()
        );
        assert!(said.err.contains(&hint), "{}", said.err);
    }
    assert_eq!(scratch.read("linked/prd.json"), marked);
    assert!(!scratch.has("done"));
    let said = typed_in("linked", &with("prd", &[]));
    assert_eq!(said.exit, 0, "{}", said.err);
}

/// A file that git does not track is one for all work trees.
#[test]
fn a_run_whose_file_is_untracked_goes_on_in_another_work_tree() {
    let scratch = Scratch::new();
    scratch.agent("echo $PITON_ITEM >>done");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "begin"]);
    scratch.write("prd.json", TWO);
    scratch.git(&["worktree", "add", "--quiet", "linked"]);
    let flags = ["--agent", "./agent.sh", "--verdict", "exit-status"];
    let once = [&["run", "prd.json", "--once"], &flags[..]].concat();
    assert_eq!(scratch.piton(&once).exit, 5);
    let again = [&["run", "prd"], &flags[..]].concat();
    let said = Running::start(scratch.command_in("linked", &again)).end();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(scratch.has("linked/done"));
}

#[test]
fn a_restart_at_once_after_kill_is_never_busy() {
    let (scratch, mut runner) = at_work();
    for _ in 0..8 {
        runner.signal(Signal::KILL);
        // Not waited for: it may not be gone yet, and then it is a zombie.
        std::fs::remove_file(scratch.path().join("agent.pid")).expect("it was there");
        let next = Running::start(scratch.command(&["run", DEMO]));
        scratch.until("the agent works", || {
            scratch.has("agent.pid") || next.err().contains("error:")
        });
        assert!(!next.err().contains("error:"), "{}", next.err());
        runner = next;
    }
    scratch.write("go", "");
    assert_eq!(runner.end().exit, 0);
}

#[test]
fn after_a_runner_died_everything_says_interrupted_and_people_steer_at_once() {
    let (scratch, runner) = at_work();
    runner.kill();
    let status = scratch.json(&["status", DEMO]);
    assert_eq!(status["run"]["state"], "interrupted");
    assert_eq!(status["runs"][0]["state"], "interrupted");
    assert_eq!(status["run"]["next"], format!("piton run {DEMO}"));
    let next = scratch.json(&["next"]);
    assert_eq!(next["runs"][0]["state"], "interrupted");
    let said = scratch.piton(&["plan", "skip", "test"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let said = scratch.json(&["plan", "retry", "test"]);
    assert_eq!(
        (&said["state"], &said["live"]),
        (&"interrupted".into(), &false.into())
    );
    end_agent(&scratch);
    scratch.write("go", "");
    assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
}

#[test]
fn a_question_is_decided_at_once_after_the_runner_that_waited_died() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent(
        r#"[ -e go ] && { echo done; exit; }
echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'"#,
    );
    let runner = Running::start(scratch.command(&[RUN, &["--wait"]].concat()));
    runner.until_said("waiting for a person");
    runner.kill();
    scratch.write("go", "");
    let said = scratch.piton(&["decide", "d1", "answer", "--why", "5433"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains(&format!("piton run {DEMO}")),
        "{}",
        said.err
    );
    assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
}

#[test]
fn questions_of_a_run_that_was_begun_anew_are_not_listed_until_it_is_worked_on_again() {
    let scratch = Scratch::new();
    scratch.sprint(PHASES).agent(
        r#"[ -e go ] && { echo x >>made; echo done; exit; }
echo '{"status":"needs-human","summary":"","humanNeeded":{"reason":"which port?"}}'"#,
    );
    assert_eq!(scratch.run(&[]).exit, 3);
    scratch.write("go", "");
    assert_eq!(scratch.piton(&["run", "demo", "--recompile"]).exit, 0);
    std::fs::remove_file(scratch.path().join("go")).expect("it was there");
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    assert_eq!(scratch.json(&["next"])["questions"], 0);
    let said = scratch.piton(&["run", DEMO]);
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(
        said.err.contains(&format!("`piton status {DEMO}`")),
        "{}",
        said.err
    );
    let shown = scratch.piton(&["status", DEMO]);
    assert!(shown.out.contains("? d1: "), "{}", shown.out);
    // It can still be answered, and what its file says is done is done for it, too.
    assert_eq!(scratch.piton(&["decide", "d1", "retry"]).exit, 0);
    assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}

#[test]
fn an_id_is_typed_as_it_is_shown() {
    let scratch = Scratch::new();
    let list = LIST.replace("\"a\"", "\"a/b 50%\"");
    scratch.agent("exit 3").write("prd.json", &list);
    assert_ne!(second(&scratch, &["--max-iterations", "1"]).exit, 0);
    for typed in ["a/b 50%", "prd:a/b 50%", "a%2Fb 50%25"] {
        let shown = scratch.json(&["show", typed]);
        assert_eq!(shown["item"]["node"], "a%2Fb 50%25", "{typed}");
    }
    let said = scratch.piton(&["plan", "skip", "a/b 50%"]);
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn json_names_an_item_in_one_form() {
    const FIELDS: [&str; 6] = ["node", "nodes", "item", "items", "piece_of", "task_id"];
    fn collect(value: &serde_json::Value, field: &str, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(name, value)| collect(value, name, found));
            }
            serde_json::Value::Array(values) => {
                values.iter().for_each(|value| collect(value, field, found));
            }
            serde_json::Value::String(text) => {
                found.extend(FIELDS.contains(&field).then(|| text.clone()));
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            }
        }
    }
    let scratch = Scratch::new();
    let list = LIST.replace("\"a\"", "\"a/b 50%\"");
    scratch.agent("exit 3").write("prd.json", &list);
    let run = ["run", "prd.json", "--agent", "./agent.sh", "--verdict"];
    scratch.piton(&[&run[..], &["exit-status"]].concat());
    let ask = ["inbox", "ask", "which port?", "--item", "a/b 50%"];
    assert_eq!(scratch.piton(&ask).exit, 0);
    let open = scratch.json_list(&["inbox"]);
    let mut open = open.as_array().expect("a list").iter();
    let asked = open.find(|one| one["kind"] == "question");
    let asked = asked
        .and_then(|one| one["id"].as_str())
        .expect("it is open");
    for args in [
        &["status"][..],
        &["status", "--failures"],
        &["next"],
        &["inbox"],
        &["show", "a/b 50%"],
        &["recent"],
        &["log"],
        &["decide", asked, "answer", "--why", "5433"],
    ] {
        let said = scratch.piton(&[args, &["--json"]].concat());
        let mut found = Vec::new();
        for value in serde_json::Deserializer::from_str(&said.out).into_iter() {
            collect(&value.expect("JSON"), "", &mut found);
        }
        assert!(!found.is_empty(), "{args:?}: {}{}", said.out, said.err);
        let typed: Vec<&String> = found.iter().filter(|id| id.contains("a/b")).collect();
        assert!(typed.is_empty(), "{args:?}: {typed:?}");
    }
}

#[test]
fn no_text_shows_an_id_otherwise_than_people_type_it() {
    let scratch = Scratch::new();
    let list = LIST.replace("\"a\"", "\"a/b 50%\"");
    scratch.agent("echo done; exit 3").write("prd.json", &list);
    let run = ["run", "prd.json", "--agent", "./agent.sh"];
    let typed: [&[&str]; 7] = [
        &run,
        &["status"],
        &["status", "--failures"],
        &["next"],
        &["inbox"],
        &["show", "a/b 50%"],
        &["record", "x/y 1%", "--outcome", "failed", "--error", "e"],
    ];
    let mut seen = 0;
    for args in typed {
        let said = scratch.piton(args);
        let text = said.err + &said.out;
        assert!(
            !text.contains("%2F") && !text.contains("%25"),
            "{args:?}: {text}"
        );
        seen += usize::from(text.contains("a/b 50%"));
    }
    assert!(seen >= 5, "{seen} of them name it");
}

#[test]
fn outside_of_git_commands_in_folders_below_find_the_same_journal() {
    let scratch = Scratch::outside_git();
    scratch
        .agent("echo done")
        .write("sub/prd.json", LIST)
        .write("sub/deep/x", "");
    // The home of the user is no project.
    let piton = |folder: &str, args: &[&str]| {
        let mut command = scratch.command_in(folder, args);
        command.env("HOME", scratch.path().join("sub/deep"));
        Said::of(&command.output().expect("piton is there"))
    };
    let run = ["run", "sub/prd.json", "--agent", "./agent.sh"];
    let said = piton("", &run);
    assert!(said.err.contains("keeping progress in "), "{}", said.err);
    for folder in ["", "sub", "sub/deep"] {
        let shown = piton(folder, &["status"]);
        assert!(shown.out.starts_with("prd"), "{folder}: {}", shown.err);
    }
    assert!(!scratch.path().join("sub/.piton").exists());
}

#[test]
fn a_mistyped_project_begins_no_journal() {
    let scratch = Scratch::new();
    scratch.write("file", "");
    for named in ["nowhere", "file"] {
        for typed in [
            &["log", "session_started"][..],
            &["status"],
            &["init", "--yes"],
            &["inbox"],
        ] {
            let mut command = scratch.command(typed);
            let said = Said::of(
                &command
                    .env("PITON_PROJECT", named)
                    .output()
                    .expect("it starts"),
            );
            assert_eq!(said.exit, 2, "{typed:?} {named}: {}{}", said.out, said.err);
            assert!(said.err.contains("PITON_PROJECT"), "{}", said.err);
        }
    }
    assert!(!scratch.has("nowhere"));
}
