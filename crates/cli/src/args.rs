//! What can be typed.

mod deferred;
mod files;
mod hook;
mod issue;
mod learn;
mod merge_driver;
mod permission;
mod recall;
mod record;
mod sessions;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use piton_core::dollars::Dollars;

pub(crate) use self::deferred::Deferred;
pub(crate) use self::files::{FilesCommand, InitArgs};
pub(crate) use self::hook::{HookArgs, HookCommand, HookSettings, parse_hook_event};
pub(crate) use self::issue::{IssueAdd, IssueCommand, IssueList};
pub(crate) use self::learn::{ConfidenceArg, KindArg, LearnAdd, LearnCommand};
pub(crate) use self::merge_driver::{MergeDriverCommand, MergeDriverRun, MergeDriverSettings};
pub(crate) use self::recall::RecallArgs;
pub(crate) use self::record::{ActionArg, OutcomeArg, RecordArgs};
pub(crate) use self::sessions::{LogArgs, RecentArgs, SessionCommand};

/// Durable state, memory and control underneath autonomous coding agents.
///
/// Agents fall; their progress doesn't.
#[derive(Debug, Parser)]
#[command(name = "piton", version, arg_required_else_help = true, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print data as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Write what piton does, step by step, to the end of this file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// Whether what was typed asks for JSON, even where it is not understood.
pub(crate) fn is_json_requested(typed: impl Iterator<Item = OsString>) -> bool {
    typed
        .take_while(|word| word != "--")
        .any(|word| word == "--json")
}

const EXAMPLES: &str = "Examples:
  piton run sprints/2026-01-15_auth --agent claude
  piton status
  piton inbox
  piton decide d1 answer --why 'use the staging key'

Exit status: 0 done, 1 no, 2 usage, 3 waits for a person, 4 busy, 5 a limit was reached,
6 state is damaged, 7 the world failed, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Begin to keep progress here; finds what is there, and adopts it
    #[command(
        after_help = "Nothing else is changed: no commit, no git hook, no file of another tool.\n\nExamples:\n  piton init\n  piton init --with ralph-dir\n  piton init --dry-run\n  piton init --yes --json | jq '.found[] | {path, intent}'"
    )]
    Init(Deferred<InitArgs>),
    /// Work through a plan with an agent until it is done, waits for a person, or reaches a limit
    #[command(after_help = RUN_EXAMPLES)]
    Run(Deferred<Box<RunArgs>>),
    /// Show where everything stands
    #[command(
        after_help = "With --failures one count is one attempt that failed or was blocked, or one item that\nfailed or is blocked without such an attempt. A check that says no fails the attempt\nbefore it. Categories count what was noticed; an attempt may notice several things.\n\nExamples:\n  piton status\n  piton status 2026-01-15_auth --watch\n  piton status --failures\n  piton status --costs\n  piton status --json | jq .run.counters"
    )]
    Status {
        /// The run: its name, the path of its plan, or the beginning of its id
        run: Option<String>,
        /// Keep it live until the run rests
        #[arg(long)]
        watch: bool,
        /// Show each finished item in a line of its own
        #[arg(long)]
        all: bool,
        /// Count what failed and blocked attempts have in common: by error, and by category
        #[arg(long, conflicts_with = "watch")]
        failures: bool,
        /// Show what attempts used and cost: by item, by model, and in all
        #[arg(long, conflicts_with_all = ["watch", "failures"])]
        costs: bool,
    },
    /// Show all that is known of an item, a run or an attempt
    #[command(
        after_help = "Examples:\n  piton show auth-login\n  piton show 2026-01-15_auth:development/step-2\n  piton show auth-login#2 --json | jq -r .last_words"
    )]
    Show {
        /// An item ([RUN:]NODE), a run, or an attempt: its name, the beginning of its id, or ITEM#N
        name: String,
    },
    /// Print what an agent printed, readable, also while it works
    #[command(
        after_help = "Words stand as they are, a call of a tool in one line, what it gave shortened.\n\nExamples:\n  piton transcript auth-login -f\n  piton transcript auth-login#1 --raw | less\n  piton transcript auth-login --json | jq -r 'select(.kind == \"words\").text'"
    )]
    Transcript(Deferred<TranscriptArgs>),
    /// Say what can be worked on, what waits for what, and what is stuck and why
    #[command(
        after_help = "Without RUN: every run that is not over.\n\nExamples:\n  piton next\n  piton next 2026-01-15_auth --limit 5\n  piton next --json | jq -r '.runs[].ready[].node'"
    )]
    Next {
        /// The run: its name, the path of its plan, or the beginning of its id
        run: Option<String>,
        /// At most so many of each kind
        #[arg(long, value_name = "N", default_value_t = piton_engine::verbs::next::SHOWN)]
        limit: usize,
    },
    /// List everything that waits for a person; `ask` puts a question there
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  piton inbox\n  piton inbox --json | jq -r '.[].id'\n  piton inbox ask 'Do we keep the old endpoint?' --item release"
    )]
    Inbox {
        #[command(subcommand)]
        command: Option<InboxCommand>,
    },
    /// Decide what is open
    #[command(
        after_help = "Examples:\n  piton decide d1 answer --why 'port 5433'\n  piton decide d2 retry\n  piton decide d3 skip --why 'not needed any more'\n  piton decide d4 approve\n  piton decide d5 keep-file\n  piton decide d6 defer --until end-of-sprint\n  piton decide d6 approve --at end-of-phase\n  piton decide d7 reject --why 'the name says too little'"
    )]
    Decide(Deferred<Box<DecideArgs>>),
    /// Pause a run at its next boundary
    #[command(after_help = "Examples:\n  piton pause\n  piton pause 2026-01-15_auth")]
    Pause {
        /// The run
        run: Option<String>,
    },
    /// Let a paused run go on; says what to type to run it
    #[command(
        after_help = "Example:\n  piton resume 2026-01-15_auth && piton run 2026-01-15_auth --agent claude"
    )]
    Resume {
        /// The run
        run: Option<String>,
    },
    /// Stop a run now; it can be run again
    #[command(after_help = "Examples:\n  piton stop\n  piton stop 2026-01-15_auth")]
    Stop {
        /// The run
        run: Option<String>,
    },
    /// Bring the work of a run in lanes to the branch that it is for, if that only has to go
    /// forward
    #[command(
        after_help = "Nothing is forced: where the branch has moved on, or has changes that are in no commit, it\nstays as it is, and what to type is printed.\n\nExamples:\n  piton land\n  piton land 2026-01-15_auth"
    )]
    Land {
        /// The run
        run: Option<String>,
    },
    /// Compile, check, skip, retry
    #[command(
        subcommand,
        after_help = "Examples:\n  piton plan check sprints/2026-01-15_auth\n  piton plan skip development/step-2 --why 'not needed any more'"
    )]
    Plan(Deferred<PlanCommand>),
    /// Record a session event
    #[command(
        after_help = "Types: session_started, session_ended, task_completed, task_blocked, debug_resolved,\nscope_override, milestone_reached.\n\nExamples:\n  piton log task_completed --spec auth --task 1.2 --description 'JWT validation'\n  piton log task_blocked --task 1.3 --description 'no key' --data owner=ops"
    )]
    Log(Deferred<LogArgs>),
    /// Begin a session, end it, say what it is about
    #[command(
        subcommand,
        after_help = "Examples:\n  piton session start finish the login\n  piton session focus the token refresh comes first\n  piton session end 'login works, refresh is next'"
    )]
    Session(Deferred<SessionCommand>),
    /// Record an attempt that piton did not start: what came of the work at an item
    #[command(after_help = record::EXAMPLES)]
    Record(Deferred<Box<RecordArgs>>),
    /// Show what happened lately, the last task, the unresolved blockers
    #[command(
        after_help = "Examples:\n  piton recent\n  piton recent 5 --json | jq .unresolved_blockers\n  piton recent --item auth-login\n  piton recent 10 --observations\n  piton recent --blockers"
    )]
    Recent(Deferred<RecentArgs>),
    /// Show what to know before beginning work on an item
    #[command(after_help = recall::PREPARE)]
    Prepare {
        /// The item, as `piton status` or `piton recent` shows it
        item: String,
        /// No longer than so many tokens (of three bytes; at least 200)
        #[arg(long, value_name = "N")]
        max_tokens: Option<usize>,
    },
    /// Say what to do after an attempt that did not complete
    #[command(after_help = recall::RECOVER)]
    Recover {
        /// The item, as `piton status` or `piton recent` shows it
        item: String,
        /// What failed, in a file; `-` reads it from stdin [default: the last attempt]
        #[arg(long, value_name = "FILE")]
        failure: Option<PathBuf>,
    },
    /// Say what is known that helps with a failure, or before a task
    #[command(after_help = recall::EXAMPLES)]
    Recall(Deferred<RecallArgs>),
    /// Add, list, show and retire what is worth knowing the next time
    #[command(
        subcommand,
        after_help = "Examples:\n  piton learn add --type build-command 'Run `make gen` before the tests'\n  piton learn list --kind guardrail\n  piton learn retire learning-0003 --why 'the build does it now'"
    )]
    Learn(Deferred<LearnCommand>),
    /// See, add and move the issues of a run that came from a state.json
    #[command(
        subcommand,
        after_help = "The file shows what was said at once.\n\nExamples:\n  piton issue ready\n  piton issue start shop#7\n  piton issue done shop#7\n  piton issue list --status failed --json | jq -r '.issues[].id'"
    )]
    Issue(Deferred<IssueCommand>),
    /// List, check, bring up to date, convert and migrate native files
    #[command(
        subcommand,
        after_help = "Examples:\n  piton files list\n  piton files check --strict .ralph/progress.json\n  piton files sync"
    )]
    Files(Deferred<FilesCommand>),
    /// Show, verify or export what is stored
    #[command(
        subcommand,
        after_help = "Examples:\n  piton journal show --since 2h\n  piton journal verify"
    )]
    Journal(Deferred<JournalCommand>),
    /// See to the place where everything is kept
    #[command(
        subcommand,
        after_help = "Examples:\n  piton store info\n  piton store backup ../auth.db"
    )]
    Store(Deferred<StoreCommand>),
    /// Hear what an agent program tells at its hooks; name piton in them
    #[command(after_help = hook::EXAMPLES)]
    Hook(Deferred<HookArgs>),
    /// Serve status, memory and records to an agent as tools, over stdin and stdout
    #[command(after_help = MCP)]
    Mcp {
        /// What is worked on: [RUN:]NODE; without it, PITON_ITEM
        #[arg(long)]
        item: Option<String>,
    },
    /// Print the completions of a shell
    #[command(
        after_help = "Example:\n  piton completions bash > ~/.local/share/bash-completion/completions/piton"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example:\n  piton man > piton.1 && man ./piton.1")]
    Man,
}

const MCP: &str =
    "It is started by a client of the Model Context Protocol, in the folder of the project, and
ends when the client closes stdin. The tools: status, next, prepare and recall read; record,
log, learn and ask write about the item that is worked on. Which one that is says PITON_ATTEMPT
in the agents that `piton run` starts, elsewhere --item or PITON_ITEM; without any of them the
tools that write are refused.

Examples:
  claude mcp add piton -- piton mcp --item auth-login
  claude -p --allowedTools 'mcp__piton__status,mcp__piton__recall' 'where do we stand?'";

const RUN_EXAMPLES: &str = "Examples:
  piton run sprints/2026-01-15_auth --agent claude
  piton run 2026-01-15_auth --max-iterations 20 --time-box 4h
  piton run . --agent ./agent.sh --dry-run
  piton run prd.json --agent claude
  piton run RALPH_TASK.md --agent ./agent.sh
  piton run prd.json --agent claude --workers 4

The agent is any shell command: it reads its prompt on stdin. Without --agent a
run goes on with the one it had, a new one uses `use` under [agent] in .piton/config.toml.
Safe to kill: run again to go on; the flags of before hold where none is given.";

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A sprint's folder, its SPRINT.yaml, a prd.json, a state.json, a task file with
    /// criteria, or a run; without it, what is found here
    pub(crate) plan: Option<String>,
    /// The agent: a name from the configuration, else a shell command (`sh:CMD` forces one)
    #[arg(long, value_name = "NAME|CMD")]
    pub(crate) agent: Option<String>,
    /// What says that the agent's work is done: its own words in the form that the prompt asks
    /// for, or, of a plain command, exit status 0 [default: form]
    #[arg(long, value_name = "HOW", value_enum)]
    pub(crate) verdict: Option<VerdictArg>,
    /// The folder of the workflows [default: .claude/workflows of the work tree]
    #[arg(long, value_name = "DIR")]
    pub(crate) workflows: Option<PathBuf>,
    /// The model for nodes whose plan names none
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Work on so many items at once, each in a lane: a git worktree of its own. What is done is
    /// merged on the branch piton/RUN, and `piton land` brings it to yours
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workers: Option<u32>,
    /// Work beside the runner that holds the run, with lanes of this process; what it may
    /// use is what that one was started with
    #[arg(long, conflicts_with_all = ["max_iterations", "stop_on_failure", "time_box", "budget_usd", "budget_tokens", "wait", "once", "dry_run", "recompile", "from", "same_tree", "ignore"])]
    pub(crate) join: bool,
    /// Start at most so many agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// End at the first item that fails or waits for a person, though others are
    /// ready.
    #[arg(long)]
    pub(crate) stop_on_failure: bool,
    /// Work at most so long: 90s, 45m, 1h30m, 4h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_arg)]
    pub(crate) time_box: Option<u64>,
    /// Use at most so many dollars, in all invocations of the run together
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) budget_usd: Option<Dollars>,
    /// Use at most so many tokens, in all invocations of the run together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_tokens: Option<u64>,
    /// Stay at a wait for a person, and go on when it is decided
    #[arg(long)]
    pub(crate) wait: bool,
    /// End after one node
    #[arg(long)]
    pub(crate) once: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Compile and begin anew; the old PROGRESS.yaml is kept beside
    #[arg(long)]
    pub(crate) recompile: bool,
    /// Begin with this file as the progress
    #[arg(long, value_name = "FILE", conflicts_with = "recompile")]
    pub(crate) from: Option<PathBuf>,
    /// Work although another run is at work in this work tree; each takes the other's changes for
    /// its own
    #[arg(long)]
    pub(crate) same_tree: bool,
    /// Run without what the sprint enables under KEY: `worktree`, `orchestration` or
    /// `per-iteration-hooks`
    #[arg(long, value_name = "KEY", action = ArgAction::Append)]
    pub(crate) ignore: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TranscriptArgs {
    /// An attempt, as `piton show` takes it, or an item: its last attempt
    pub(crate) attempt: String,
    /// Go on while the agent works, until the attempt is over
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print what is stored, as it is
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum VerdictArg {
    /// The agent's words
    Form,
    /// Exit status 0 of a plain command, unless it says otherwise
    ExitStatus,
}

fn parse_duration_arg(text: &str) -> Result<u64, piton_core::amount::ParseDurationError> {
    piton_core::amount::parse_duration(text)
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum VerbArg {
    /// Go on after a breakpoint; merge what is in review
    Approve,
    /// Try again, with the text of --why in the prompt
    Answer,
    /// Try again
    Retry,
    /// Leave it out
    Skip,
    /// Take what the file says
    KeepFile,
    /// Write the file as the journal has it; the old one is kept beside
    KeepPiton,
    /// Take what fits, and write the rest as the journal has it
    Merge,
    /// Not so: a request is not done, work in review is done otherwise
    Reject,
    /// Ask about it again later: see --until
    Defer,
    /// Keep what an agent asks for in the backlog
    Backlog,
}

/// What is decided.
#[derive(Debug, ClapArgs)]
pub(crate) struct DecideArgs {
    /// The decision, as `piton inbox` names it
    pub(crate) id: String,
    /// What is decided
    pub(crate) verb: VerbArg,
    /// Why, or the answer itself
    #[arg(long)]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) terms: RequestArgs,
}

/// What more may be said of what an agent asks for.
#[derive(Debug, ClapArgs)]
pub(crate) struct RequestArgs {
    /// With `defer`: until when [default: end-of-phase]
    #[arg(long)]
    pub(crate) until: Option<UntilArg>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// With `approve`: what to tell the agent [default: the words of the request]
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// With `approve`: the model to ask for
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// With `approve`: how the id begins
    #[arg(long, value_name = "PREFIX")]
    pub(crate) id_prefix: Option<String>,
}

/// Where something is added to a plan.
#[derive(Debug, ClapArgs)]
pub(crate) struct PlaceArgs {
    /// Where it is added
    #[arg(long, conflicts_with_all = ["after", "before"])]
    pub(crate) at: Option<AtArg>,
    /// Add it behind this node
    #[arg(long, value_name = "NODE", conflicts_with = "before")]
    pub(crate) after: Option<String>,
    /// Add it before this node
    #[arg(long, value_name = "NODE")]
    pub(crate) before: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AtArg {
    /// Behind what the run is at
    AfterCurrent,
    /// At the end of the phase that the run is at
    EndOfPhase,
    /// Behind everything
    EndOfWorkflow,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UntilArg {
    /// When the phase is over
    EndOfPhase,
    /// When the sprint is done
    EndOfSprint,
    /// When the next sprint is begun
    NextSprint,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Compile a sprint to PROGRESS.yaml
    #[command(
        after_help = "Examples:\n  piton plan compile sprints/2026-01-15_auth\n  piton plan compile . --workflows workflows -o - --strict"
    )]
    Compile {
        /// The sprint's folder, or its SPRINT.yaml
        sprint: PathBuf,
        /// The folder of the workflows [default: .claude/workflows of the work tree]
        #[arg(long, value_name = "DIR")]
        workflows: Option<PathBuf>,
        /// Where to write; `-` is stdout [default: PROGRESS.yaml of the sprint, unless it is started]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Take variables that nothing fills in for errors
        #[arg(long)]
        strict: bool,
    },
    /// Say what is wrong with a plan, and write nothing
    #[command(
        after_help = "Examples:\n  piton plan check sprints/2026-01-15_auth\n  piton plan check prd.json\n  piton plan check . --strict --json | jq -r '.problems[].code'"
    )]
    Check {
        /// The sprint's folder, its SPRINT.yaml, a prd.json, a state.json or a task file
        #[arg(value_name = "PLAN")]
        sprint: PathBuf,
        /// The folder of the workflows [default: .claude/workflows of the work tree]
        #[arg(long, value_name = "DIR")]
        workflows: Option<PathBuf>,
        /// Take variables that nothing fills in, and whatever is not to the letter
        /// of its format, for errors
        #[arg(long)]
        strict: bool,
    },
    /// Begin a sprint: its folder and a SPRINT.yaml to fill in; or, of a manifest and
    /// requirements, the state.json of a run that goes from them to issues
    #[command(
        after_help = "Examples:\n  piton plan new --sprint feature-auth\n  piton plan new --sprint feature-auth --workflow bugfix-workflow\n  piton plan new --manifest manifest.yaml --prd requirements/orders.md\n  piton plan new --manifest .sdlc/manifest.yaml --prd https://example.org/orders"
    )]
    New(Box<NewArgs>),
    /// Add phases to a sprint that is under way
    #[command(
        after_help = "Examples:\n  piton plan inject 'Update the changelog'\n  piton plan inject 'Review the API' --after development --id-prefix review\n  piton plan inject --workflow hardening --at end-of-workflow"
    )]
    Inject(Box<InjectArgs>),
    /// Add a step to the definition of a sprint, and to its run if it is under way
    #[command(
        after_help = "Examples:\n  piton plan add-step 'Add a login page'\n  piton plan add-step 'Fix the reset mail' --sprint .claude/sprints/2026-01-15_auth --workflow bugfix"
    )]
    AddStep {
        /// What is to be done
        prompt: String,
        #[command(flatten)]
        target: StepsArgs,
        /// Its id
        #[arg(long)]
        id: Option<String>,
        /// The workflow of this step
        #[arg(long, value_name = "NAME")]
        workflow: Option<String>,
        /// The model for this step
        #[arg(long)]
        model: Option<String>,
    },
    /// Add the steps of a file; `-` is stdin
    #[command(
        after_help = "Examples:\n  piton plan import steps.yaml\n  gh issue list --label bug --json number,title,body | piton plan import -"
    )]
    Import {
        /// `steps:` with a list of `- prompt: TEXT`, or what `gh issue list --json` prints
        file: PathBuf,
        #[command(flatten)]
        target: StepsArgs,
    },
    /// Leave a node out, with all that lies below it
    #[command(
        after_help = "Examples:\n  piton plan skip development/step-2\n  piton plan skip 2026-01-15_auth:release --why 'not needed any more'"
    )]
    Skip {
        /// The node: [RUN:]NODE, as `piton status` shows it
        node: String,
        /// Why
        #[arg(long)]
        why: Option<String>,
    },
    /// Try a node again, with all that failed below it
    #[command(
        after_help = "Examples:\n  piton plan retry development/step-2\n  piton plan retry 2026-01-15_auth:release --why 'the disk has room again'"
    )]
    Retry {
        /// The node: [RUN:]NODE, as `piton status` shows it
        node: String,
        /// Why
        #[arg(long)]
        why: Option<String>,
    },
    /// Remove the worktree of a run, if nothing in it is uncommitted, and keep its branch; or
    /// the lanes and the branch of a run that has landed. Where a lane has what is nowhere
    /// else nothing is removed
    #[command(
        after_help = "Examples:\n  piton plan clean 2026-01-15_auth\n  piton plan clean sprints/2026-01-15_auth\n  piton plan clean 2026-01-15_auth --abandon"
    )]
    Clean {
        /// The run: its name, or the path of its plan
        run: String,
        /// Remove its lanes with what is in them and nowhere else
        #[arg(long)]
        abandon: bool,
    },
}

/// What is begun.
#[derive(Debug, ClapArgs)]
pub(crate) struct NewArgs {
    /// The name of the sprint; its folder begins with the date
    #[arg(long, value_name = "NAME", required_unless_present = "manifest")]
    pub(crate) sprint: Option<String>,
    /// The workflow that it follows
    #[arg(long, value_name = "NAME", requires = "sprint")]
    pub(crate) workflow: Option<String>,
    /// Who owns it
    #[arg(long, requires = "sprint")]
    pub(crate) owner: Option<String>,
    /// Begin a run of issues in the repository that this manifest.yaml names
    #[arg(long, value_name = "FILE", conflicts_with = "sprint")]
    pub(crate) manifest: Option<PathBuf>,
    /// Where its requirements are: a file, or an address, which is not fetched
    /// [default: `prd` of the manifest]
    #[arg(long, value_name = "FILE|URL", requires = "manifest")]
    pub(crate) prd: Option<String>,
    /// The file to write [default: state.json beside the manifest]
    #[arg(long, value_name = "FILE", requires = "manifest")]
    pub(crate) out: Option<PathBuf>,
}

/// What is added to a sprint that is under way.
#[derive(Debug, ClapArgs)]
pub(crate) struct InjectArgs {
    /// What to tell the agent; with --workflow, what its phases are about
    #[arg(required_unless_present = "workflow")]
    pub(crate) prompt: Option<String>,
    /// The run: its name, the path of its plan, or the beginning of its id
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Add the phases of this workflow
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// The folder of the workflows [default: .claude/workflows of the work tree]
    #[arg(long, value_name = "DIR", requires = "workflow")]
    pub(crate) workflows: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// How the ids begin
    #[arg(long, value_name = "PREFIX")]
    pub(crate) id_prefix: Option<String>,
    /// The model to ask for
    #[arg(long)]
    pub(crate) model: Option<String>,
}

/// The sprint that steps are added to.
#[derive(Debug, ClapArgs)]
pub(crate) struct StepsArgs {
    /// The sprint's folder [default: here, else the newest of .claude/sprints]
    #[arg(long, value_name = "DIR")]
    pub(crate) sprint: Option<PathBuf>,
    /// The collection [default: step, or the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// The folder of the workflows [default: .claude/workflows of the work tree]
    #[arg(long, value_name = "DIR")]
    pub(crate) workflows: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// Ask a person something that holds nothing up
    #[command(
        after_help = "Examples:\n  piton inbox ask 'Do we keep the old endpoint?'\n  piton inbox ask 'Tabs or blanks?' --item auth-login --details 'The files have both.'"
    )]
    Ask {
        /// The question, in one line
        text: String,
        /// The item that it is about: its next prompt tells the answer
        #[arg(long)]
        item: Option<String>,
        /// More, if one line does not say it
        #[arg(long, value_name = "TEXT")]
        details: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Print events in the order in which they were stored
    #[command(
        after_help = "Examples:\n  piton journal show --since 2h\n  piton journal show --since 2026-01-15 --json | jq -r .kind"
    )]
    Show {
        /// From this time, so long ago, or from this event on
        #[arg(long, value_name = "TIME|DURATION|ID")]
        since: Option<String>,
    },
    /// Check everything that is stored: hashes, heads, and that the views are the fold of the journal
    #[command(
        after_help = "Examples:\n  piton journal verify\n  piton journal verify --json | jq .damage"
    )]
    Verify,
    /// Print every event as one JSON object a line
    #[command(
        after_help = "Examples:\n  piton journal export > journal.jsonl\n  piton journal export | jq -r .kind | sort | uniq -c"
    )]
    Export,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Show where everything is kept, and how large it is
    #[command(after_help = "Examples:\n  piton store info\n  piton store info --json | jq .events")]
    Info,
    /// Copy the store to a file, while others write
    #[command(after_help = "Example:\n  piton store backup ../auth-$(date +%F).db")]
    Backup {
        /// The file; it must not be there yet
        file: PathBuf,
    },
    /// Put a copy into the place of the store, which is kept beside
    #[command(after_help = "Example:\n  piton store restore ../auth-2026-01-15.db")]
    Restore {
        /// A file that `piton store backup` wrote
        file: PathBuf,
    },
}
