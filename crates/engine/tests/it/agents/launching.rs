//! How programs are started, and what a configuration may say of it.

use piton_engine::agents::{self, LaunchOptions, prices::Prices};
use piton_engine::config::Config;
use piton_engine::process::ProcessProgram;

use super::*;

fn config(text: &str) -> Config {
    Config::parse(text).expect("a configuration")
}

fn order() -> LaunchOptions<'static> {
    LaunchOptions {
        conversation: "0199-id",
        ..LaunchOptions::default()
    }
}

fn line(config: &Config, name: &str, order: &LaunchOptions<'_>) -> String {
    let agent = config.resolve_agent(name).expect("an agent");
    let launch = agent.launch_command(order).expect("it can be started");
    let mut words: Vec<String> = launch
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    match launch.program {
        ProcessProgram::Shell(line) => words.push(format!("sh: {line}")),
        ProcessProgram::Args { program, args } => {
            let all = [program].into_iter().chain(args);
            words.extend(all.map(|word| word.to_string_lossy().into_owned()));
        }
    }
    words.join(" ")
}

#[test]
fn each_program_is_started_as_it_works_without_a_terminal() {
    let plain = config("");
    insta::assert_snapshot!(line(&plain, "claude", &order()), @"CLAUDE_CODE_MAX_RETRIES=4 CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1 claude -p --output-format stream-json --verbose --include-partial-messages --session-id 0199-id --permission-mode acceptEdits --allowedTools Bash");
    insta::assert_snapshot!(line(&plain, "codex", &order()), @r#"codex exec --json --skip-git-repo-check -c sandbox_mode="workspace-write" -"#);
    insta::assert_snapshot!(line(&plain, "gemini", &order()), @"gemini -o stream-json --skip-trust --approval-mode auto_edit --allowed-tools run_shell_command --session-id 0199-id");
    insta::assert_snapshot!(line(&plain, "qwen", &order()), @"qwen -o stream-json --approval-mode auto-edit --allowed-tools run_shell_command");
    insta::assert_snapshot!(line(&plain, "copilot", &order()), @"copilot --output-format json --no-auto-update --allow-tool=write --allow-tool=shell --session-id=0199-id");
    insta::assert_snapshot!(line(&plain, "opencode", &order()), @"opencode run --format json");
    insta::assert_snapshot!(line(&plain, "sh:claude", &order()), @"sh: claude");
    insta::assert_snapshot!(line(&plain, "make work", &order()), @"sh: make work");
    let named = config("[agent.commands]\nclaude = \"claude -p\"\n");
    insta::assert_snapshot!(line(&named, "claude", &order()), @"sh: claude -p");
}

#[test]
fn a_conversation_goes_on_with_its_id_and_a_budget_bounds_it() {
    let plain = config("");
    let order = LaunchOptions {
        resume: Some("old-id"),
        budget_usd: Some(1.5),
        model: Some("opus"),
        ..order()
    };
    insta::assert_snapshot!(line(&plain, "claude", &order), @"CLAUDE_CODE_MAX_RETRIES=4 CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1 claude -p --output-format stream-json --verbose --include-partial-messages --resume old-id --permission-mode acceptEdits --allowedTools Bash --model opus --max-budget-usd 1.5");
    insta::assert_snapshot!(line(&plain, "codex", &order), @r#"codex exec resume --json --skip-git-repo-check -c sandbox_mode="workspace-write" old-id -"#);
    insta::assert_snapshot!(line(&plain, "gemini", &order), @"gemini -o stream-json --skip-trust --approval-mode auto_edit --allowed-tools run_shell_command --resume old-id");
    insta::assert_snapshot!(line(&plain, "qwen", &order), @"qwen -o stream-json --approval-mode auto-edit --allowed-tools run_shell_command --resume old-id");
    insta::assert_snapshot!(line(&plain, "copilot", &order), @"copilot --output-format json --no-auto-update --allow-tool=write --allow-tool=shell --resume=old-id");
    insta::assert_snapshot!(line(&plain, "opencode", &order), @"opencode run --format json --session old-id");
}

#[test]
fn the_tools_of_piton_are_handed_to_programs_that_can_be_told_at_their_start() {
    let tools = agents::McpServerCommand {
        program: "/opt/my piton".to_owned(),
        env: vec![("PITON_ATTEMPT".to_owned(), "0199-id".to_owned())],
    };
    let order = LaunchOptions {
        tools: Some(&tools),
        ..order()
    };
    let plain = config("");
    insta::assert_snapshot!(line(&plain, "claude", &order), @r#"CLAUDE_CODE_MAX_RETRIES=4 CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1 claude -p --output-format stream-json --verbose --include-partial-messages --session-id 0199-id --permission-mode acceptEdits --allowedTools Bash mcp__piton --mcp-config {"mcpServers":{"piton":{"command":"/opt/my piton","args":["mcp"],"env":{"PITON_ATTEMPT":"0199-id"}}}}"#);
    insta::assert_snapshot!(line(&plain, "codex", &order), @r#"codex exec --json --skip-git-repo-check -c sandbox_mode="workspace-write" -c mcp_servers.piton={command="/opt/my piton",args=["mcp"],env={PITON_ATTEMPT="0199-id"},default_tools_approval_mode="approve"} -"#);
    let without = config("[agents.claude]\ntools = false\n");
    let said = line(&without, "claude", &order);
    assert!(!said.contains("mcp"), "{said}");
}

#[test]
fn claude_gets_the_hooks_of_piton_for_its_own_process() {
    let order = LaunchOptions {
        hooks: Some("'/opt/my piton'"),
        ..order()
    };
    let plain = config("");
    insta::assert_snapshot!(line(&plain, "claude", &order), @r#"PITON_HOOKS=0199-id CLAUDE_CODE_MAX_RETRIES=4 CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1 claude -p --output-format stream-json --verbose --include-partial-messages --session-id 0199-id --permission-mode acceptEdits --allowedTools Bash --settings {"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"'/opt/my piton' hook SessionStart --from-run","timeout":15}]}],"Stop":[{"hooks":[{"type":"command","command":"'/opt/my piton' hook Stop --from-run","timeout":15}]}]}}"#);
    for settings in ["'--settings', 'mine.json'", "'--settings={}'"] {
        let own = config(&format!("[agents.claude]\nargs = [{settings}]\n"));
        assert!(
            own.resolve_agent("claude")
                .expect("an agent")
                .replaces_hooks()
        );
        let said = line(&own, "claude", &order);
        assert_eq!(said.matches("--settings").count(), 1, "{said}");
        assert!(!said.contains("piton") && !said.contains("PITON"), "{said}");
    }
    for other in ["codex", "gemini", "qwen", "copilot", "opencode"] {
        let said = line(&plain, other, &order);
        assert!(!said.contains("piton") && !said.contains("PITON"), "{said}");
    }
}

const OWN: &str = r#"
[agents.careful]
adapter = "claude"
program = "/opt/claude"
args = ["--effort", "high"]
permissions = "edits"
allowed-tools = ["Bash(make:*)", "Bash(git diff:*)"]
max-turns = 30
model = "sonnet"
models = { small = "haiku" }
env = { CLAUDE_CODE_MAX_RETRIES = "1" }
idle-timeout = "10m"

[agents.robot]
program = "robot"
args = ["work"]
model-flag = "--model={model}"
session-flag = "--new {session}"
resume-flag = "--go-on {session}"
prompt = "argument"
output = "jsonl"

[agents.robot.read]
session = "id"
words = "say.text"
success-when = { path = "done.ok", equals = true }
error = "done.why"
model = "model"
input-tokens = "used.0"
output-tokens = "used.1"
cost-usd = "usd"
cumulative = true
tool = "tool.name"
tool-command = "tool.cmd"
tool-exit = "tool.exit"

[prices]
date = 2026-11-01
models = { m1 = { input = 1.0, output = 2.0 } }
"#;

#[test]
fn what_is_configured_stands_on_the_command_line() {
    let own = config(OWN);
    insta::assert_snapshot!(line(&own, "careful", &order()), @"CLAUDE_CODE_MAX_RETRIES=1 CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1 /opt/claude -p --output-format stream-json --verbose --include-partial-messages --session-id 0199-id --permission-mode acceptEdits --allowedTools Bash(make:*) Bash(git diff:*) --model sonnet --max-turns 30 --effort high");
    let small = LaunchOptions {
        model: Some("small"),
        resume: Some("old"),
        ..order()
    };
    assert!(line(&own, "careful", &small).contains("--model haiku"));
    insta::assert_snapshot!(line(&own, "robot", &small), @r#"sh -c exec "$0" "$@" "$(cat)" robot work --model=small --go-on old"#);
    let limits = own.limits_of_agent("careful");
    assert_eq!(limits.idle, Some(std::time::Duration::from_secs(600)));
    assert_eq!(own.limits_of_agent("robot").idle, None);
}

#[test]
fn silence_is_bounded_of_known_programs_and_of_others_when_asked() {
    let minutes = |minutes: u64| Some(std::time::Duration::from_secs(60 * minutes));
    let plain = config("");
    for known in ["claude", "codex", "gemini", "qwen", "opencode", "copilot"] {
        assert_eq!(plain.limits_of_agent(known).idle, minutes(15), "{known}");
    }
    for command in ["sh:claude", "make work"] {
        assert_eq!(plain.limits_of_agent(command).idle, None, "{command}");
    }
    let own = config(
        "[agent]\nidle-timeout = \"5m\"\n[agents.codex]\nidle-timeout = \"off\"\n\
         [agents.careful]\nadapter = \"claude\"\nidle-timeout = \"20m\"\n",
    );
    let limits =
        ["make work", "claude", "careful", "codex"].map(|name| own.limits_of_agent(name).idle);
    assert_eq!(limits, [minutes(5), minutes(5), minutes(20), None]);
    assert_eq!(
        config("[agent]\nidle-timeout = \"off\"\n")
            .limits_of_agent("claude")
            .idle,
        None
    );
}

#[test]
fn root_gets_no_program_without_permissions_and_is_told_what_to_do() {
    let config = config("[agents.claude]\npermissions = \"bypass\"\n");
    let agent = config.resolve_agent("claude").expect("an agent");
    assert!(agent.launch_command(&order()).is_ok());
    let root = LaunchOptions {
        is_root: true,
        ..order()
    };
    let failure = agent.launch_command(&root).expect_err("root may not");
    insta::assert_snapshot!(
        format!("{failure}; {}", failure.hint.as_deref().unwrap_or("")),
        @r#"Claude Code is not started without permissions as root; take permissions = "bypass" away, or set permissions = "edits" and allowed-tools = ["Bash(make:*)"], or run piton as another user"#
    );
}

#[test]
fn what_does_not_fit_names_its_key() {
    let wrong = |text: &str| Config::parse(text).expect_err("it does not fit");
    let texts = [
        "[agents.x]\nargs = []\n",
        "[agents.codex]\nmax-turns = 3\n",
        "[agents.claude]\noutput = \"json\"\n",
        "[agents.claude]\nidle-timeout = \"soon\"\n",
        "[agents.claude]\nverdict = \"exit-status\"\n",
        "[agents.x]\nprogram = \"x\"\nmodel-flag = \"-m\"\n",
        "[agents.x]\nprogram = \"x\"\nread = { words = \"a\" }\n",
        "[prices.models]\nm = { input = 1, output = 1 }\n",
        "[prices]\ndate = 2026-01-01\nmodels = { m = { input = -1, output = 1 } }\n",
    ];
    let all: Vec<String> = texts.map(wrong).to_vec();
    insta::assert_snapshot!(all.join("\n"), @r#"
    agents.x.program: which program? piton knows none of this name
    agents.codex.max-turns: no key of the adapter codex
    agents.claude.output: no key of the adapter claude
    agents.claude.idle-timeout: `soon` is not a duration such as 90s, 45m, 1h30m or 4h
    agents.claude.verdict: `exit-status` is for plain commands; claude is asked once more when it does not say what came of its work
    agents.x.model-flag: has no {model} in it
    agents.x.read: needs output = "json" or "jsonl"
    prices.date: say from when these prices are
    prices.models.m: a price is no less than 0
    "#);
    for text in [
        "[agents.claude]\nmax_turns = 3\n",
        "[agents.claude]\npermissions = \"all\"\n",
        "[agents.claude]\nmax-turns = \"many\"\n",
    ] {
        let said = wrong(text);
        assert!(said.contains("line 2"), "{said}");
    }
}

#[test]
fn what_the_user_sets_in_the_environment_is_not_set_again() {
    let own = config("[agents.claude.env]\nCLAUDE_CODE_DISABLE_BACKGROUND_TASKS = \"0\"\n");
    let said = line(&own, "claude", &order());
    assert!(
        said.starts_with("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0 CLAUDE_CODE_MAX_RETRIES=4 claude"),
        "{said}"
    );
}

#[test]
fn a_plain_command_may_be_judged_by_its_exit_status_and_a_known_program_not() {
    use VerdictSource::{ExitStatus, Form};
    let config = config(
        "[agent.commands]\nscript = \"./work.sh\"\n\
         [agents.robot]\nprogram = \"robot\"\nverdict = \"exit-status\"\n\
         [agents.careful]\nadapter = \"claude\"\nverdict = \"form\"\n",
    );
    let by = |name, asked| config.resolve_verdict_by(name, asked).expect("it fits");
    assert_eq!(by("robot", None), ExitStatus);
    assert_eq!(by("robot", Some(Form)), Form);
    for command in ["./work.sh", "script", "sh:claude -p"] {
        assert_eq!(by(command, None), Form, "{command}");
        assert_eq!(by(command, Some(ExitStatus)), ExitStatus, "{command}");
    }
    assert_eq!(by("claude", Some(Form)), Form);
    for known in [
        "claude", "codex", "gemini", "qwen", "opencode", "copilot", "careful",
    ] {
        let failure = config.resolve_verdict_by(known, Some(ExitStatus));
        let failure = failure.expect_err("it can be asked");
        assert!(
            failure
                .to_string()
                .starts_with("--verdict: `exit-status` is for plain commands")
        );
    }
}

#[test]
fn a_program_of_ones_own_is_read_by_its_table() {
    let own = config(OWN);
    let agent = own.resolve_agent("robot").expect("an agent");
    let output = br#"starting
{"id": "c1", "model": "m1"}
{"tool": {"name": "run", "cmd": "make", "exit": 2}}
{"say": {"text": "It is red.\n{\"status\":\"failed\",\"error\":\"red\"}"}, "used": [100, 10]}
{"say": {"text": "Now it is green.\n{\"status\":\"completed\",\"summary\":\"green\"}"}}
{"surprise": 1}
{"done": {"ok": true}, "used": [1500, 40]}
"#;
    let before = Usage {
        input_tokens: Some(500),
        output_tokens: Some(10),
        ..Usage::default()
    };
    let got = read(agent.as_ref(), output, &ended(Some(0)), Some(&before));
    let report = &got.report;
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(report.summary.as_deref(), Some("green"));
    assert_eq!(report.program.usage.input_tokens, Some(1000));
    assert_eq!(report.program.usage.output_tokens, Some(30));
    assert_eq!(got.calls(|kind| kind == CallKind::Shell), 1);
    let unknown = got
        .seen
        .iter()
        .filter(|seen| **seen == OutputEvent::Unknown);
    assert_eq!(unknown.count(), 1);
    let conversation = report.program.conversation.as_ref().expect("it is told");
    assert_eq!(conversation.id, "c1");
    let total = conversation.total.as_ref().expect("it counts so");
    assert_eq!(total.input_tokens, Some(1500));
    // Not said, said otherwise, said with a bad status: no success.
    for (output, code) in [
        (&b"{\"id\":\"c1\"}\n"[..], 0),
        (
            b"{\"done\":{\"ok\":false,\"why\":\"usage limit, retry in 5m\"}}\n",
            0,
        ),
        (b"{\"done\":{\"ok\":true}}\n", 3),
    ] {
        let got = read(agent.as_ref(), output, &ended(Some(code)), None);
        assert_ne!(got.report.outcome, Outcome::Completed);
    }
}

#[test]
fn an_estimate_comes_only_from_a_table_with_a_date() {
    let own = config(OWN);
    let agent = own.resolve_agent("robot").expect("an agent");
    let mut reader = agent.output_reader(None).expect("it reads");
    reader.parse_line(
        r#"{"model":"m1","used":[1000000,1000000],"done":{"ok":true}}"#,
        now(),
    );
    let mut said = reader.finish(&ended(Some(0)));
    Prices::new(&own.prices).fill_estimates(&mut said, None);
    assert_eq!(said.usage.estimate_usd, Some(3.0));
    assert_eq!(said.usage.prices.as_deref(), Some("2026-11-01"));
    assert_eq!(said.usage.cost_usd, None);
}
