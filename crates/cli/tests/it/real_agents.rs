//! The real programs, driven by piton through a sprint of two steps.
//!
//! Each is tried where its variable names it, against a server on this machine
//! that answers as its service would: no account, no key, no network. How a
//! person does the same stands in `docs/guide/agents.md`.

mod limits;
mod stops;
mod tools;
mod work;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use piton_testkit::fake_api::{FakeApi, Piece, Rule, Scenario, Turn};
use serde_json::Value;

use crate::harness::{DEMO, Running, Scratch};

/// A test for each program that is named: the claim, then the programs.
macro_rules! claim {
    ($claim:ident: $($program:ident),+) => {
        mod $claim {
            $(
                #[test]
                fn $program() {
                    let name = stringify!($program);
                    if let Some(program) = crate::real_agents::Real::named(name) {
                        super::$claim(&program);
                    }
                }
            )+
        }
    };
}
use claim;

/// Two steps, each told apart by its prompt.
const STEPS: &str = "collections:\n  step:\n    - {id: one, prompt: Build the harbour.}\n    - {id: two, prompt: Build the bridge.}\n";
/// One.
const STEP: &str = "collections:\n  step:\n    - {id: one, prompt: Build the harbour.}\n";
const PHASES: &str = "  - id: steps\n    for-each: step\n";

/// A program that is there.
struct Real {
    name: &'static str,
    path: PathBuf,
}

/// What a program is set up for, beside the usual.
#[derive(Default)]
struct Setup {
    scenario: Scenario,
    /// For `SPRINT.yaml`, with its collection.
    sprint: String,
    /// For `[agents.NAME]`.
    table: String,
    /// In place of a key, with Claude Code: a login, which has limits that reset.
    login: bool,
}

/// A project with a program in it.
struct Tried {
    scratch: Scratch,
    api: FakeApi,
    _home: tempfile::TempDir,
}

impl Real {
    /// The program of this name, where its variable says where it is.
    fn named(name: &'static str) -> Option<Real> {
        let variable = format!("PITON_E2E_{}", name.to_uppercase());
        let Some(path) = std::env::var_os(&variable) else {
            eprintln!("skipped: the real {name}, which {variable} names where it is there");
            return None;
        };
        Some(Real {
            name,
            path: path.into(),
        })
    }

    /// A project in which `piton run demo` starts this program.
    fn project(&self, setup: Setup) -> Tried {
        let scratch = Scratch::new();
        scratch.git(&["commit", "--quiet", "--allow-empty", "--message=start"]);
        let api = FakeApi::start(setup.scenario.in_folder(&scratch.path())).expect("a port");
        let home = tempfile::Builder::new()
            .prefix("piton-home-")
            .tempdir()
            .expect("a home for the program");
        let mut env = self.prepare(home.path(), &api.url());
        if setup.login {
            env.remove("ANTHROPIC_API_KEY");
            env.insert("CLAUDE_CODE_OAUTH_TOKEN", "not-a-token".to_owned());
        }
        let mut config = format!(
            "[agent]\nuse = \"{name}\"\ngrace = \"2s\"\n\n[agents.{name}]\nprogram = {path:?}\n{table}\n\n[agents.{name}.env]\n",
            name = self.name,
            path = self.path,
            table = setup.table,
        );
        for (name, value) in env {
            config.push_str(&format!("{name} = {value:?}\n"));
        }
        scratch
            .write(".piton/config.toml", &config)
            .write(".ralph/activity.log", "# Activity Log\n\n")
            .sprint_with(&setup.sprint, PHASES);
        let said = scratch.piton(&["init"]);
        assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
        Tried {
            scratch,
            api,
            _home: home,
        }
    }

    /// Writes what the program wants in its home; its environment.
    fn prepare(&self, home: &Path, url: &str) -> BTreeMap<&'static str, String> {
        let place = |name: &str| home.join(name).display().to_string();
        let temporary = home.join("tmp");
        std::fs::create_dir(&temporary).expect("a folder for what it forgets");
        let mut env = BTreeMap::from([
            ("HOME", home.display().to_string()),
            ("TMPDIR", temporary.display().to_string()),
            ("CI", "1".to_owned()),
        ]);
        let settings = |name: &str, text: &str| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders");
            std::fs::write(path, text).expect("written");
        };
        match self.name {
            "claude" => env.extend([
                ("CLAUDE_CONFIG_DIR", place(".claude")),
                ("ANTHROPIC_BASE_URL", url.to_owned()),
                ("ANTHROPIC_API_KEY", "not-a-key".to_owned()),
                ("DISABLE_AUTOUPDATER", "1".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ]),
            "codex" => {
                settings(
                    ".codex/config.toml",
                    &format!(
                        "model = \"fake-model\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"{url}/v1\"\nenv_key = \"FAKE_KEY\"\nwire_api = \"responses\"\n"
                    ),
                );
                env.extend([
                    ("CODEX_HOME", place(".codex")),
                    ("FAKE_KEY", "not-a-key".to_owned()),
                ]);
            }
            "qwen" => env.extend([
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_API_KEY", "not-a-key".to_owned()),
                ("OPENAI_MODEL", "fake-model".to_owned()),
            ]),
            "opencode" => env.extend([
                ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
                (
                    "OPENCODE_CONFIG_CONTENT",
                    serde_json::json!({
                        "model": "fake/fake-model", "small_model": "fake/fake-model",
                        "share": "disabled",
                        "provider": {"fake": {
                            "npm": "@ai-sdk/openai-compatible",
                            "options": {"baseURL": format!("{url}/v1"), "apiKey": "not-a-key"},
                            "models": {"fake-model": {"cost": {"input": 1, "output": 2}}},
                        }},
                    })
                    .to_string(),
                ),
            ]),
            "copilot" => env.extend([
                ("COPILOT_OFFLINE", "true".to_owned()),
                ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
                ("COPILOT_PROVIDER_API_KEY", "not-a-key".to_owned()),
                ("COPILOT_MODEL", "gpt-4.1".to_owned()),
            ]),
            _ => {
                settings(
                    ".gemini/settings.json",
                    r#"{"privacy": {"usageStatisticsEnabled": false}, "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": true}}"#,
                );
                env.extend([
                    ("GEMINI_API_KEY", "not-a-key".to_owned()),
                    ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
                ]);
            }
        }
        env
    }
}

impl Tried {
    /// `piton run demo` to its end: its exit status and what it said.
    fn run(&self) -> (i32, String) {
        let said = self.scratch.piton(&["run", "demo"]);
        (said.exit, format!("{}{}", said.out, said.err))
    }

    /// The same, while the test goes on.
    fn start(&self) -> Running {
        Running::start(self.scratch.command(&["run", "demo"]))
    }

    /// The reports of all attempts that ended, as the journal has them.
    fn reports(&self) -> Vec<Value> {
        let events = self.scratch.piton(&["journal", "export"]).out;
        let events = events.lines();
        let events = events.map(|line| serde_json::from_str::<Value>(line).expect("an event"));
        let ended = events.filter(|event| event["kind"] == "attempt-ended");
        ended.map(|event| event["body"]["report"].clone()).collect()
    }

    /// What `piton status --json` says of the run.
    fn status(&self) -> Value {
        self.scratch.json(&["status", DEMO])["run"].clone()
    }

    /// The same of a step.
    fn step(&self, name: &str) -> Value {
        let status = self.status();
        let node = format!("steps/{name}/execute");
        let nodes = status["nodes"].as_array().expect("nodes").iter();
        let mut nodes = nodes.filter(|one| one["node"] == node.as_str());
        nodes
            .next()
            .cloned()
            .unwrap_or_else(|| panic!("there is no node {node}: {status}"))
    }

    /// Nothing of the program is left: no process has this project's mark.
    #[track_caller]
    fn leaves_nothing_running(&self) {
        let mark = format!("PITON_PROJECT={}\0", self.scratch.path().display());
        let left = processes_with(&mark);
        assert!(left.is_empty(), "still at work: {left:?}");
    }
}

/// The command lines of the processes that have this in their environment.
fn processes_with(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let marked = entries.filter(|entry| {
        let env = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&env).contains(mark)
    });
    marked
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok())
        .filter(|line| !line.is_empty())
        .collect()
}

/// Turns for the step with this prompt, before any other rule.
fn told(scenario: Scenario, prompt: &str, turns: Vec<Turn>) -> Scenario {
    scenario.when(prompt, turns)
}

/// A command, a file, and done.
fn works(name: &str) -> Vec<Turn> {
    vec![
        Turn::say([
            Piece::text("I run a command."),
            Piece::shell(&format!("echo {name} > {name}-by-command.txt")),
        ]),
        Turn::say([Piece::write(
            &format!("{{work}}/{name}-by-tool.txt"),
            &format!("{name}\n"),
        )]),
        Turn::done(&format!("built the {name}")),
    ]
}

/// Both steps go well.
fn both_go_well() -> Scenario {
    let rules = Scenario {
        rules: vec![Rule::default()],
        ..Scenario::default()
    };
    let rules = told(rules, "Build the bridge.", works("bridge"));
    told(rules, "Build the harbour.", works("harbour"))
}
