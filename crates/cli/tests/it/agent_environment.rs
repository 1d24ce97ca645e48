//! `env-pass` of `[agents.NAME]`: which variables of piton's environment an agent inherits.

use crate::harness::{DEMO, Said, Scratch};
use crate::lanes::fine;

/// Two phases: one that is done by its agent's word, and one whose gate notes its
/// environment.
const PHASES: &str = "  - {id: build, prompt: build it}\n  - {id: test, prompt: test it, gate: {script: 'env >gate-env', on-fail: {prompt: fix it}}}\n";

/// An agent that notes its environment. It gives its verdict only when it is asked once
/// more, in the same conversation.
const ROBOT: &str = r#"cat >/dev/null
echo "$*" >>args
env >env-$PITON_ROLE
words=hm
if [ $PITON_ROLE = verdict ]; then words='{\"status\": \"completed\", \"summary\": \"did it\"}'; fi
echo '{"session": "talk-1", "words": "'$words'"}'"#;

/// How that agent is started, behind which a test sets more.
const TABLE: &str = "[agents.robot]\nprogram = './robot.sh'\noutput = 'jsonl'\nsession-flag = '--new {session}'\nresume-flag = '--go-on {session}'\nread = { session = 'session', words = 'words' }\nenv = { OWN_KEY = 'of-the-table' }\n";

fn project(settings: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch
        .sprint(PHASES)
        .script("robot.sh", ROBOT)
        .write(".piton/config.toml", &format!("{TABLE}{settings}"));
    scratch
}

/// A run of that agent, from an environment with a secret and with other variables.
fn run(settings: &str) -> (Scratch, Said) {
    let scratch = project(settings);
    let mut command = scratch.command(&["run", "demo", "--agent", "robot"]);
    command
        .env("SECRET_TOKEN", "of-the-shell")
        .env("AWS_REGION", "eu-north-1")
        .env("LC_TIME", "C")
        .env("PITON_TRUST", "0000");
    let said = Said::of(&command.output().expect("piton starts"));
    (scratch, said)
}

/// Whether a variable is in an environment that was noted.
fn has(environment: &str, name: &str) -> bool {
    let begins = format!("{name}=");
    environment.lines().any(|line| line.starts_with(&begins))
}

/// The names of these that an agent finds, the same at each of its starts.
#[track_caller]
fn found<'n>(settings: &str, names: &[&'n str]) -> Vec<&'n str> {
    let (scratch, said) = run(settings);
    fine(&said);
    assert!(scratch.read("args").contains("--go-on talk-1"));
    let environments = ["env-worker", "env-verdict"].map(|name| scratch.read(name));
    let [first, verdict] = environments.each_ref().map(|environment| {
        let found = names.iter().copied().filter(|name| has(environment, name));
        found.collect::<Vec<_>>()
    });
    assert_eq!(first, verdict);
    assert!(has(&scratch.read("gate-env"), "SECRET_TOKEN"), "{settings}");
    first
}

/// What piton sets itself, and what a shell cannot do without.
const ALWAYS: [&str; 6] = [
    "PITON_RUN",
    "PITON_ATTEMPT",
    "PITON_PROJECT",
    "OWN_KEY",
    "PATH",
    "LC_TIME",
];

#[test]
fn an_agent_without_env_pass_inherits_everything() {
    let names = ["SECRET_TOKEN", "AWS_REGION", "PITON_TRUST", "PATH"];
    assert_eq!(found("", &names), names);
}

#[test]
fn an_agent_with_env_pass_inherits_what_it_names_and_the_least_it_needs() {
    let names = [&ALWAYS[..], &["SECRET_TOKEN", "PITON_TRUST", "AWS_REGION"]].concat();
    assert_eq!(found("env-pass = []\n", &names), ALWAYS);
    let with_region = [&ALWAYS[..], &["AWS_REGION"]].concat();
    for key in ["env-pass", "env_pass"] {
        assert_eq!(found(&format!("{key} = ['AWS_*']\n"), &names), with_region);
    }
}

#[test]
fn a_pattern_that_is_none_is_refused_with_its_line() {
    for wrong in ["A*B", "*", "", "A=b", "A B", "AWS_?", "**", "1ST"] {
        let (scratch, said) = run(&format!("env-pass = [\n  'PATH',\n  '{wrong}',\n]\n"));
        assert_eq!(said.exit, 2, "{wrong}: {}", said.err);
        assert!(
            said.err.contains("config.toml: line 10, column 3: "),
            "{wrong}: {}",
            said.err
        );
        assert!(!scratch.has("args"), "{wrong}");
    }
}

#[test]
fn what_an_agent_inherits_is_shown_before_a_run() {
    let scratch = project("env-pass = ['AWS_*', 'SSH_AUTH_SOCK']\n");
    let dry = scratch.json(&["run", "demo", "--dry-run", "--agent", "robot"]);
    let commands = dry["commands"].as_array().expect("a list").iter();
    let mut environment = commands.filter(|part| part["kind"] == "agent-environment");
    assert!(environment.any(|part| part["text"] == "'AWS_*'\nSSH_AUTH_SOCK"));
}

#[test]
fn a_variable_that_an_agent_does_not_inherit_is_missing_to_it() {
    for (settings, state) in [("", "failed"), ("env-pass = []\n", "blocked")] {
        let scratch = Scratch::new();
        let table = "[agents.robot]\nprogram = './robot.sh'\n";
        scratch
            .sprint_with("retry: {maxAttempts: 0}\n", "  - {id: build, prompt: b}\n")
            .script("robot.sh", "echo '###BLOCKED:SECRET_TOKEN is not set###'")
            .write(".piton/config.toml", &format!("{table}{settings}"));
        let mut run = scratch.command(&["run", "demo", "--agent", "robot"]);
        let ended = run.env("SECRET_TOKEN", "of-the-shell").output();
        assert_ne!(ended.expect("piton starts").status.code(), Some(0));
        let status = scratch.json(&["status", DEMO]);
        assert_eq!(status["run"]["nodes"][0]["state"], state, "{settings}");
    }
}
