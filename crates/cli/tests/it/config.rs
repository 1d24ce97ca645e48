//! `piton config`: settings are shown with where they come from, and changed one by one.

use std::fs;

use crate::harness::{Said, Scratch, take_schema};

const CONFIG: &str = ".piton/config.toml";
const OURS: &str = "# ours\n[agent]\nuse = \"codex\"   # for now\n\n[notify]\ncommand = \"touch OWNED\"\n\n[agents.careful]\nadapter = \"claude\"\nargs = [\"--evil\"]\nenv = { API_TOKEN = \"hunter2-hunter2\" }\n";

fn with_settings() -> Scratch {
    let scratch = Scratch::new();
    scratch.write(CONFIG, OURS);
    scratch
}

#[track_caller]
fn done(said: &Said) -> &str {
    assert_eq!(said.exit, 0, "{}", said.err);
    &said.out
}

#[test]
fn a_setting_is_written_and_read_and_the_rest_stays() {
    let scratch = with_settings();
    let set = |key: &str, value: &str| {
        let said = scratch.piton(&["config", "set", key, value]);
        done(&said);
        said.err
    };
    let said = set("agent.use", "claude");
    assert_eq!(
        said,
        "agent.use = \"claude\" is written into .piton/config.toml\n"
    );
    set("workspace.lanes", "3");
    set("merge.check", "true");
    set("store.group", "1001");
    set("agents.careful.max-turns", "7");
    let expected = OURS
        .replace("\"codex\"", "\"claude\"")
        .replace("--evil\"]\n", "--evil\"]\nmax-turns = 7\n");
    let added =
        "\n[workspace]\nlanes = 3\n\n[merge]\ncheck = \"true\"\n\n[store]\ngroup = \"1001\"\n";
    assert_eq!(scratch.read(CONFIG), expected.clone() + added);
    let get = |key: &str| scratch.piton(&["config", "get", key]);
    assert_eq!(done(&get("agent.use")), "claude\n");
    assert_eq!(done(&get("agent.grace")), "5s\n");
    assert_eq!(done(&get("agents.careful.args")), "[\"--evil\"]\n");
    assert_eq!(
        done(&get("workspace")).lines().next(),
        Some("workspace.lanes = 3")
    );
    let unset = get("roles.coder.model");
    assert_eq!(
        (done(&unset), &*unset.err),
        ("", "roles.coder.model is not set\n")
    );
    let said = set("agent.use", "claude");
    assert!(
        said.contains("stands in .piton/config.toml already"),
        "{said}"
    );
    assert_eq!(scratch.read(CONFIG), expected + added);
}

#[test]
fn the_first_setting_makes_the_file() {
    let scratch = Scratch::outside_git();
    let said = scratch.piton(&["config", "set", "agent.use", "claude", "--json"]);
    let mut answer = serde_json::from_str(done(&said)).expect("JSON");
    assert_eq!(
        take_schema(&mut answer).as_deref(),
        Some("piton.config.set/1")
    );
    let expected = serde_json::json!({
        "file": ".piton/config.toml", "key": "agent.use", "value": "claude",
        "origin": "file", "line": 2, "changed": true,
    });
    assert_eq!(answer, expected);
    assert_eq!(scratch.read(CONFIG), "[agent]\nuse = \"claude\"\n");
    assert!(scratch.has(".piton/.gitignore"));
}

#[test]
fn each_setting_says_where_it_comes_from_and_secrets_stay_out() {
    let scratch = with_settings();
    let shown = scratch.piton(&["config", "show", "--origin"]);
    let lines: Vec<&str> = done(&shown).lines().collect();
    for line in [
        "agent.use = \"codex\" # .piton/config.toml:3",
        "agent.grace = \"5s\" # default",
        "notify.command = \"touch OWNED\" # .piton/config.toml:6",
        "agents.careful.env.API_TOKEN = \"[redacted:env:API_TOKEN]\" # .piton/config.toml:11",
    ] {
        assert!(lines.contains(&line), "{line}: {}", shown.out);
    }
    let answer = scratch.json(&["config", "show"]);
    assert!(!answer.to_string().contains("hunter2"), "{answer}");
    let setting = answer["settings"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["key"] == "agent.use"));
    let expected = serde_json::json!({
        "key": "agent.use", "value": "codex", "origin": "file", "line": 3,
    });
    assert_eq!(setting, Some(&expected));
    // What it prints is the same settings.
    let plain = scratch.piton(&["config", "show"]);
    scratch.write(CONFIG, done(&plain));
    assert_eq!(done(&scratch.piton(&["config", "show"])), plain.out);
}

#[test]
fn an_unknown_key_of_the_file_is_named_with_the_nearest_known_one() {
    let scratch = Scratch::new();
    scratch.write(CONFIG, "[claims]\nchangd = \"ask\"\n");
    let meant = "the setting may be `claims.changed`";
    for args in [&["config", "show"][..], &["run", "x.md"], &["doctor"]] {
        let said = scratch.piton(args);
        let shown = format!("{}{}", said.out, said.err);
        assert!(shown.contains("line 2, column 1"), "{shown}");
        assert!(shown.contains(meant), "{shown}");
    }
}

#[test]
fn what_is_no_setting_or_does_not_fit_changes_nothing() {
    let scratch = with_settings();
    for (key, value, message) in [
        ("agnt.use", "x", "there is no setting `agnt.use`"),
        ("agnt.use", "x", "hint: the setting may be `agent.use`"),
        ("a b", "x", "there is no setting `a b`"),
        (
            "workspace.lanes",
            "sesame",
            "`workspace.lanes` does not take this value",
        ),
        ("workspace.lanes", "0", "does not take this value"),
        ("agent.grace", "1y", "does not take this value"),
        ("agent", "x", "`agent` has no place"),
        ("agents.careful.adapter", "nope", "unknown variant"),
        ("agent.use", "", "does not take an empty name"),
        ("agent.use", "claude\nx", "it is more than one line"),
        ("store.group", "no-such-group", "there is no group"),
        ("workspace.ports", "a", "expected a whole number"),
        ("workspace.lanes", "0", "expected a whole number from 1"),
    ] {
        let said = scratch.piton(&["config", "set", key, value]);
        assert_eq!(said.exit, 2, "{key}: {}", said.err);
        assert!(said.err.contains(message), "{key}: {}", said.err);
        assert!(!said.err.contains("sesame"), "{}", said.err);
        assert_eq!(scratch.read(CONFIG), OURS);
    }
    let said = scratch.piton(&["config", "get", "agnt.use"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    scratch.write(CONFIG, "[agent]\nuse = 3\n");
    let said = scratch.piton(&["config", "set", "agent.grace", "9s"]);
    assert!(said.err.contains("config.toml: line 2"), "{}", said.err);
    let said = scratch.piton(&["config", "set", "agent.use", "claude"]);
    done(&said);
    assert_eq!(scratch.read(CONFIG), "[agent]\nuse = \"claude\"\n");
}

#[test]
fn what_was_set_is_trusted_and_nothing_beside_it() {
    let scratch = with_settings();
    let state = tempfile::tempdir().expect("a folder for the state of a user");
    let piton = |args: &[&str]| {
        let mut command = scratch.command(args);
        command
            .env_remove("PITON_TEST_TRUST")
            .env("XDG_STATE_HOME", state.path());
        Said::of(&command.output().expect("piton starts"))
    };
    let asked = || {
        let said = piton(&["trust", "--show", "--json"]);
        let answer: serde_json::Value = serde_json::from_str(done(&said)).expect("JSON");
        let parts = answer["parts"].as_array().expect("a list").clone();
        let texts = parts
            .iter()
            .map(|part| part["text"].as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>().expect("texts")
    };
    done(&piton(&["config", "set", "agent.use", "careful"]));
    let expected = ["touch OWNED", "--evil", "claude"];
    let mut found = asked();
    found.retain(|text| expected.contains(&&**text));
    assert_eq!(found.len(), 3, "{found:?}");
    done(&piton(&["config", "set", "merge.check", "make test"]));
    done(&piton(&[
        "config",
        "set",
        "agents.careful.permissions",
        "bypass",
    ]));
    let found = asked();
    assert!(!found.contains(&"make test".to_owned()), "{found:?}");
    assert!(!found.contains(&"bypass".to_owned()), "{found:?}");
    assert!(found.contains(&"--evil".to_owned()), "{found:?}");
    // An answer to what stood there is typed again.
    done(&piton(&["config", "set", "notify.command", "touch OWNED"]));
    assert!(!asked().contains(&"touch OWNED".to_owned()));
}

#[test]
fn an_agent_changes_no_setting() {
    let scratch = Scratch::new();
    scratch.sprint("  - {id: a, prompt: x}\n");
    scratch.write(CONFIG, OURS);
    scratch.agent(
        "cat >/dev/null\n\"$PITON\" config set merge.check true 2>refused\n\"$PITON\" config get agent.use >read\ntrue",
    );
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let refused = scratch.read("refused");
    assert!(refused.contains("[agent.not_allowed]"), "{refused}");
    assert_eq!(scratch.read("read"), "codex\n");
    assert_eq!(scratch.read(CONFIG), OURS);
}

#[test]
fn a_setting_is_not_written_through_a_link_that_leads_out() {
    let scratch = Scratch::new();
    let outside = tempfile::tempdir().expect("a folder");
    let target = outside.path().join("bashrc");
    fs::write(&target, "").expect("written");
    std::os::unix::fs::symlink(&target, scratch.path().join(CONFIG)).expect("linked");
    let said = scratch.piton(&["config", "set", "agent.use", "claude"]);
    assert_ne!(said.exit, 0, "{}", said.out);
    assert_eq!(fs::read_to_string(&target).expect("there"), "");
}

#[test]
fn a_table_that_was_set_is_answered_as_it_was_written() {
    let scratch = with_settings();
    let said = scratch.piton(&["config", "set", "agents.my", "{ program = \"claude\" }"]);
    done(&said);
    assert_eq!(
        said.err,
        "agents.my = { program = \"claude\" } is written into .piton/config.toml\n"
    );
}
