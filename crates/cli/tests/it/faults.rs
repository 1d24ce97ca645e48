//! Agents that misbehave: nothing is lost, nothing hangs, nothing stays behind,
//! and secrets go nowhere.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{DEMO, Running, Said, Scratch, is_alive};

const ONE: &str = "  - id: build\n    prompt: build it\n";

fn project(agent: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(ONE).agent(agent);
    scratch
}

fn build(scratch: &Scratch) -> serde_json::Value {
    scratch.json(&["status", DEMO])["run"]["nodes"][0].clone()
}

#[test]
fn an_agent_that_floods_is_stopped_with_that_reason() {
    let scratch = project("yes 'all work and no play'");
    scratch.write(
        ".piton/config.toml",
        "[agent]\noutput-bytes-max = 2000000\n",
    );
    let begun = Instant::now();
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let error = build(&scratch)["error"].clone();
    assert!(
        error
            .as_str()
            .is_some_and(|error| error.contains("it printed more than")),
        "{error}"
    );
    assert!(scratch.read("demo/PROGRESS.yaml").len() < 20_000);
    let spooled = std::fs::read_dir(scratch.file(".piton/spool"))
        .expect("the spool")
        .filter_map(Result::ok);
    let left: Vec<_> = spooled
        .filter_map(|run| std::fs::read_dir(run.path()).ok())
        .flatten()
        .collect();
    assert!(left.is_empty(), "what was said raw is gone: {left:?}");
}

#[test]
#[ignore = "writes a gigabyte"]
fn a_gigabyte_is_taken_without_holding_it_in_memory() {
    let scratch = project("head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo fine");
    scratch.write(
        ".piton/config.toml",
        "[agent]\noutput-bytes-max = 2000000000\n",
    );
    let runner = scratch.start_run(&[]);
    let id = runner.id();
    let peak = || -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap_or_default();
        line.trim()
            .trim_end_matches(" kB")
            .trim()
            .parse()
            .unwrap_or(0)
    };
    let mut seen = 0;
    scratch.until("it is over", || {
        let now = peak();
        seen = seen.max(now);
        now == 0 || !is_alive(&id.to_string())
    });
    let said = runner.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(seen < 200_000, "{seen} kB");
    assert_eq!(build(&scratch)["summary"], "fine");
}

#[test]
fn an_agent_that_never_reads_its_prompt_is_an_agent_all_the_same() {
    let scratch = Scratch::new();
    scratch.sprint(ONE).agent("exec <&-; sleep 0.2; echo fine");
    // Larger than any pipe.
    scratch.write("demo/context/_shared.md", &"x".repeat(200_000));
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let scratch = project("sleep 0.2; echo fine");
    scratch.write("demo/context/_shared.md", &"x".repeat(200_000));
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn an_agent_that_ignores_sigterm_is_killed_after_its_grace() {
    let scratch =
        project("trap '' TERM INT HUP; echo $$ >pid; touch at; while :; do sleep 0.1; done");
    scratch.write(".piton/config.toml", "[agent]\ngrace = \"1s\"\n");
    let runner = scratch.start_run(&[]);
    scratch.until("the agent works", || scratch.has("at"));
    runner.signal(Signal::TERM);
    let begun = Instant::now();
    let said = runner.end();
    assert_eq!(said.exit, 130, "{}", said.err);
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "{:?}",
        begun.elapsed()
    );
    assert!(!is_alive(&scratch.read("pid")));
}

#[test]
fn an_agent_beyond_its_time_is_stopped_and_tried_again() {
    let scratch = Scratch::new();
    scratch.sprint_with(
        "retry: {maxAttempts: 1, backoffMs: [1], retryOn: [timeout]}\n",
        ONE,
    );
    scratch.agent("[ -e once ] && { echo fine; exit; }; touch once; sleep 60");
    scratch.write(".piton/config.toml", "[agent]\nwall-timeout = \"1s\"\n");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("it ran longer than 1s and was stopped"),
        "{}",
        said.err
    );
    assert_eq!(build(&scratch)["retries"], 1);
}

#[test]
fn an_agent_that_says_nothing_for_too_long_is_stopped() {
    let scratch = Scratch::new();
    scratch.sprint_with(
        "retry: {maxAttempts: 0, backoffMs: [1], retryOn: [timeout]}\n",
        ONE,
    );
    scratch.agent("echo begun; sleep 60");
    scratch.write(".piton/config.toml", "[agent]\nidle-timeout = \"1s\"\n");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err
            .contains("it printed nothing for 1s and was stopped"),
        "{}",
        said.err
    );
}

#[test]
fn grandchildren_end_with_their_agent_also_those_in_a_session_of_their_own() {
    let agent = "sleep 60 & echo $! >child\nsetsid sh -c 'echo $$ >apart; exec sleep 60' &\nwhile ! [ -s apart ]; do sleep 0.02; done\necho fine";
    let scratch = project(agent);
    let begun = Instant::now();
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(build(&scratch)["summary"], "fine");
    for name in ["child", "apart"] {
        assert!(!is_alive(&scratch.read(name)), "{name} is still there");
    }
}

#[test]
fn invalid_utf_8_is_taken_as_it_can_be() {
    let scratch = project(r"printf 'caf\351 \377\376\n'; printf 'fine \303\251\n'");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(build(&scratch)["summary"], "fine é");
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

#[test]
fn what_would_move_the_cursor_of_a_terminal_is_not_passed_on() {
    let scratch = project(r"printf 'fine \033[2J\033]0;title\007\n'");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let status = scratch.piton(&["status"]);
    for text in [said.err, said.out, status.out] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text:?}"
        );
    }
}

const GITHUB: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const VALUE: &str = "correct-horse-battery-staple";

/// All files below a folder that hold one of these texts.
fn holding(folder: &Path, secrets: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)
            .expect("a folder")
            .filter_map(Result::ok)
        {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("readable");
            let text = String::from_utf8_lossy(&bytes);
            found.extend(
                secrets
                    .iter()
                    .filter(|secret| text.contains(**secret))
                    .map(|secret| format!("{}: {secret}", path.display())),
            );
        }
    }
    found
}

#[test]
fn secrets_that_an_agent_prints_go_nowhere() {
    let says = [
        format!("echo key $MY_API_TOKEN and {GITHUB}; echo fine"),
        format!("echo died of $MY_API_TOKEN and {GITHUB}; exit 1"),
        format!(
            r#"printf '{{"status":"needs-human","summary":"%s","humanNeeded":{{"reason":"is %s right?","details":"{GITHUB}"}}}}\n' "$MY_API_TOKEN" "$MY_API_TOKEN""#
        ),
    ];
    for agent in says {
        let scratch = Scratch::new();
        let phases = format!(
            "{ONE}    gate:\n      script: echo gate $MY_API_TOKEN $PRINTED; exit 1\n      on-fail: {{prompt: Mend it., max-retries: 1}}\n"
        );
        scratch.sprint(&phases);
        let start = |args: &[&str]| -> Said {
            let mut command = scratch.command(args);
            command.env("MY_API_TOKEN", VALUE).env("PRINTED", GITHUB);
            Running::start(command).end()
        };
        // The command itself, and not a file in the project, prints the secret.
        let said = start(&["run", "demo", "--agent", &format!("sh:{agent}")]);
        assert_ne!(said.exit, 0);
        let mut printed = format!("{}{}", said.out, said.err);
        for args in [
            &["status"][..],
            &["inbox"],
            &["status", "--json"],
            &["journal", "export"],
        ] {
            let said = start(args);
            printed.push_str(&format!("{}{}", said.out, said.err));
        }
        for secret in [VALUE, GITHUB] {
            assert!(!printed.contains(secret), "{printed}");
        }
        assert_eq!(
            holding(&scratch.home(), &[VALUE, GITHUB]),
            Vec::<String>::new()
        );
        let progress = scratch.read("demo/PROGRESS.yaml");
        assert!(!progress.contains(VALUE), "{progress}");
    }
}

#[test]
fn work_that_git_cannot_see_is_not_done_by_its_agents_word() {
    let list = r#"{"userStories": [{"id": "US-1", "title": "one", "passes": false}]}"#;
    let scratch = Scratch::new();
    scratch.git(&["init", "-q"]);
    scratch.write("prd.json", list).agent(
        "cat > /dev/null; echo garbage > .git/index; echo '{\"status\": \"completed\", \"summary\": \"did nothing\"}'",
    );
    scratch.git(&["add", "."]);
    scratch.git(&["commit", "-qm", "begin"]);
    let said = scratch.piton(&["run", "prd.json", "--agent", "./agent.sh"]);
    assert_eq!(said.exit, 3, "{said:?}");
    let asked = scratch.json(&["inbox"])["questions"][0]["question"].clone();
    let asked = asked.as_str().unwrap_or_default();
    assert!(
        asked.contains("could not see what its attempts changed"),
        "{asked}"
    );
    assert!(
        scratch.read("prd.json").contains("\"passes\": false"),
        "{}",
        scratch.read("prd.json")
    );
}

#[test]
fn a_limit_of_file_sizes_is_reported_as_a_full_disk_is() {
    let scratch = Scratch::new();
    let program = env!("CARGO_BIN_EXE_piton");
    scratch.write(
        "limited.sh",
        &format!("ulimit -f 16\nexec {program} log milestone_reached --description x\n"),
    );
    let said = scratch.shell("limited.sh").output().expect("sh starts");
    assert_eq!(said.status.code(), Some(7), "{said:?}");
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(told.contains("[store.fault]"), "{told}");
}
