//! The sprint that is run, killed and run again, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use piton_formats::sprint::{SourceText, SprintProgress, parse_progress};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::harness::Scratch;

const AGENT: &str = include_str!("agent.sh");

const SPRINT: &str = "\
workflow: crash
sprint-id: 2026-01-15_crash
retry:
  maxAttempts: 3
  backoffMs: [50]
  retryOn: [network]
collections:
  first:
    - { id: a, prompt: Lay the first stone. }
    - { id: b, prompt: Lay the second stone., workflow: guarded }
    - { id: c, prompt: Lay the third stone. }
  second:
    - { id: d, prompt: Look at the first stone. }
    - { id: e, prompt: Look at the second stone. }
    - { id: f, prompt: Look at the third stone. }
";

const AUTO_COMMIT: &str = "config:\n  auto-commit: true\n";

const CRASH: &str = "\
name: crash
schema-version: '2.0'
phases:
  - { id: build, for-each: step, collection: first, workflow: plain }
  - { id: check, for-each: step, collection: second, workflow: plain }
";

const PLAIN: &str = "\
name: plain
schema-version: '2.0'
phases:
  - { id: make, prompt: 'Make: {{step.prompt}}' }
  - { id: test, prompt: 'Test: {{step.prompt}}' }
";

const GUARDED: &str = "\
name: guarded
schema-version: '2.0'
phases:
  - { id: make, prompt: 'Make: {{step.prompt}}' }
  - id: test
    prompt: 'Test: {{step.prompt}}'
    gate:
      script: test -e \"$WATCH/mended\" || { echo the stone is loose; exit 3; }
      on-fail: { prompt: MEND the stone., max-retries: 3 }
      timeout: 20
";

/// Agents that an undisturbed run starts on a node beyond the first.
const MORE_AGENTS: &[(&str, usize)] = &[
    // The gate fails once.
    ("build/b/test", 1),
    // The network fails once.
    ("check/f/make", 1),
];

/// A hang is a failure, too.
const PATIENCE: Duration = Duration::from_secs(90);

/// Which sprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing but the sprint.
    Plain,
    /// With `auto-commit`.
    Commits,
    /// With a `PROGRESS.yaml`, `.checksum` and `.backup` that another program left.
    TakenOver,
}

/// How piton is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// `kill -9`.
    Kill,
    /// `kill -9` of its whole process group.
    KillGroup,
    /// `SIGTERM`.
    Terminate,
    /// `SIGINT`.
    Interrupt,
}

/// What an undisturbed run comes to.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) duration: Duration,
    /// How many commands its runner carries out between taking the run and
    /// giving it back.
    pub(super) commits: usize,
    tree: String,
    progress: String,
    evidence: BTreeMap<String, Vec<String>>,
}

/// One sprint in a folder of its own.
pub(super) struct Trial {
    pub(super) scratch: Scratch,
    watch: tempfile::TempDir,
    slow: Option<(&'static str, &'static str)>,
    said: Vec<Value>,
    deaths: usize,
    /// Lines of the agents' log before the last start, and what was durable then.
    before: usize,
    done: BTreeSet<String>,
    completed: BTreeSet<(String, String)>,
    intents: BTreeSet<String>,
    starts: usize,
}

impl Trial {
    pub(super) fn new(kind: Kind) -> Self {
        let scratch = Scratch::new();
        let sprint = match kind {
            Kind::Plain | Kind::TakenOver => SPRINT.to_owned(),
            Kind::Commits => format!("{SPRINT}{AUTO_COMMIT}"),
        };
        scratch
            .write("sprint/SPRINT.yaml", &sprint)
            .write(".claude/workflows/crash.yaml", CRASH)
            .write(".claude/workflows/plain.yaml", PLAIN)
            .write(".claude/workflows/guarded.yaml", GUARDED)
            .write(".piton/config.toml", "[agent]\ngrace = \"1s\"\n");
        if kind == Kind::Commits {
            scratch.write(".gitignore", ".piton/\n");
            scratch.git(&["add", "--all"]);
            scratch.git(&["commit", "--quiet", "-m", "begin"]);
        }
        if kind == Kind::TakenOver {
            assert_eq!(scratch.piton(&["plan", "compile", "sprint"]).exit, 0);
            let text = format!("# by hand\n{}", scratch.read("sprint/PROGRESS.yaml"));
            scratch
                .write("sprint/PROGRESS.yaml", &text)
                .write("sprint/PROGRESS.yaml.backup", &text)
                .write("sprint/PROGRESS.yaml.checksum", "0123456789abcdef\n");
        }
        let watch = tempfile::Builder::new()
            .prefix("piton-watch-")
            .tempdir()
            .expect("a folder for the agents' log");
        fs::write(watch.path().join("agent.sh"), AGENT).expect("written");
        fs::create_dir(watch.path().join("locks")).expect("made");
        Self {
            scratch,
            watch,
            slow: None,
            said: Vec::new(),
            deaths: 0,
            before: 0,
            done: BTreeSet::new(),
            completed: BTreeSet::new(),
            intents: BTreeSet::new(),
            starts: 0,
        }
    }

    /// The first agent at this node behaves like this.
    pub(super) fn slow_at(mut self, node: &'static str, mode: &'static str) -> Self {
        self.slow = Some((node, mode));
        self
    }

    pub(super) fn watched(&self, name: &str) -> PathBuf {
        self.watch.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = self.scratch.command(&[
            "run",
            "sprint",
            "--agent",
            "sh \"$WATCH/agent.sh\"",
            "--json",
        ]);
        command.env("WATCH", self.watch.path()).process_group(0);
        if let Some((node, mode)) = self.slow {
            command.env("SLOW", node).env("MODE", mode);
        }
        command
    }

    /// Starts `piton run`.
    pub(super) fn start(&mut self, failpoint: Option<&str>) -> Runner {
        self.start_with(failpoint, &[])
    }

    /// Starts `piton run` with more arguments.
    pub(super) fn start_with(&mut self, failpoint: Option<&str>, args: &[&str]) -> Runner {
        self.starts += 1;
        let mut command = self.command();
        command.args(args);
        if let Some(failpoint) = failpoint {
            command.env("PITON_FAILPOINT", failpoint);
        }
        let file = |name: &str| self.watched(&format!("{name}.{}", self.starts));
        let (out, err) = (file("out"), file("err"));
        let child = command
            .stdout(File::create(&out).expect("a file"))
            .stderr(File::create(&err).expect("a file"))
            .spawn()
            .expect("piton starts");
        Runner { child, out, err }
    }

    /// Takes in what a runner left that has ended: what it said is stored, the
    /// journal is whole, the native file is readable and true.
    pub(super) fn look(&mut self, runner: &Runner) {
        let said = fs::read_to_string(&runner.out).expect("what it said is text");
        // The last line may be cut off in the middle by a kill.
        let whole = said.rfind('\n').map_or("", |end| &said[..=end]);
        for line in whole.lines() {
            let mut said: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            // The account at the end is no event; the item beside one is made of rows.
            if said["kind"] == "account" {
                continue;
            }
            said.as_object_mut().map(|fields| fields.remove("item"));
            self.said.push(said);
        }
        if self.scratch.has(".piton/journal.db") {
            let verified = self.scratch.piton(&["journal", "verify"]);
            assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
        }
        let events = self.events();
        let stored: BTreeMap<&str, &Value> = events
            .iter()
            .filter_map(|event| Some((event["id"].as_str()?, event)))
            .collect();
        for said in &self.said {
            let id = said["id"].as_str().expect("an event has an id");
            assert_eq!(
                stored.get(id),
                Some(&said),
                "what was said is not what is stored"
            );
        }
        self.nothing_done_was_started_again(&events);
        self.before = self.log().len();
        self.done = done(&events).into_keys().collect();
        self.completed = completed(&events);
        self.intents = intents(&events)
            .map(|(attempt, ..)| attempt.to_owned())
            .collect();
        if let Some((_, progress)) = self.progress() {
            let (counted, derived) = (&progress.stats, progress.derived_stats());
            assert_eq!(
                (
                    counted.total_phases,
                    counted.completed_phases,
                    counted.total_steps,
                    counted.completed_steps
                ),
                (
                    derived.total_phases,
                    derived.completed_phases,
                    derived.total_steps,
                    derived.completed_steps
                ),
                "counters that are not true"
            );
        }
    }

    fn nothing_done_was_started_again(&self, events: &[Value]) {
        for line in self.log().iter().skip(self.before) {
            assert!(
                !(line.what == "start" && self.done.contains(&line.node)),
                "{} was done, and was started again",
                line.node
            );
        }
        for (attempt, node, role) in intents(events) {
            let again = !self.intents.contains(attempt)
                && self.completed.contains(&(node.clone(), role.clone()));
            assert!(
                !again,
                "the {role} of {node} had completed, and was started again"
            );
        }
    }

    /// A death: what the dead left is taken in.
    pub(super) fn buried(&mut self, runner: &Runner) {
        self.deaths += 1;
        self.look(runner);
    }

    /// Runs piton until the sprint is done.
    pub(super) fn run_to_end(&mut self) {
        let mut runner = self.start(None);
        let status = runner.wait();
        assert_eq!(status.code(), Some(0), "{}", runner.words());
        self.look(&runner);
    }

    /// What must hold when the sprint is done.
    pub(super) fn check(&self, expected: &Expected) {
        let events = self.events();
        assert_eq!(self.tree(), expected.tree);
        assert_eq!(
            normal(&self.progress().expect("it is there").0),
            expected.progress
        );
        assert_eq!(done(&events), expected.evidence);
        self.check_agents(&events);
        self.check_rest();
        let finished = self.scratch.piton(&["run", "sprint", "--agent", "false"]);
        assert_eq!(finished.exit, 0, "{}", finished.err);
        assert!(
            finished.err.contains("already finished"),
            "{}",
            finished.err
        );
    }

    fn check_agents(&self, events: &[Value]) {
        let mut starts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut attempts: BTreeSet<&str> = BTreeSet::new();
        let log = self.log();
        for line in &log {
            match line.what.as_str() {
                "start" => {
                    *starts.entry(&line.node).or_default() += 1;
                    assert!(
                        attempts.insert(&line.attempt),
                        "{} was started twice",
                        line.attempt
                    );
                }
                "end" => {}
                other => panic!("{} {}: {other}", line.node, line.attempt),
            }
        }
        for (node, count) in &starts {
            let more = MORE_AGENTS
                .iter()
                .find(|(at, _)| at == node)
                .map_or(0, |(_, more)| *more);
            assert!(
                *count <= 1 + more + self.deaths,
                "{count} agents were started on {node}, with {} deaths",
                self.deaths
            );
        }
        assert_eq!(starts.len(), 12, "{starts:?}");
        let mut outcomes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for event in events {
            if let Some(attempt) = event["body"]["attempt"].as_str() {
                let counts = outcomes.entry(attempt).or_default();
                match event["kind"].as_str() {
                    Some("attempt-started") => counts.0 += 1,
                    Some("attempt-ended") => counts.1 += 1,
                    _ => {}
                }
            }
        }
        for (attempt, counts) in &outcomes {
            assert_eq!(*counts, (1, 1), "intents and outcomes of attempt {attempt}");
        }
        for attempt in attempts {
            assert!(outcomes.contains_key(attempt), "nobody recorded {attempt}");
        }
    }

    /// No process, no spool, no temporary file is left.
    pub(super) fn check_rest(&self) {
        assert_eq!(self.processes(), Vec::<String>::new(), "processes are left");
        let mut left = Vec::new();
        files(&self.scratch.path(), &mut left);
        left.retain(|path| {
            let text = path.to_string_lossy();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !text.contains("/.git/")
                && (text.contains("/spool/") || name.contains("tmp") || name.contains(".new"))
        });
        assert_eq!(left, Vec::<PathBuf>::new(), "files are left");
    }

    /// What runs with this trial's mark, by its command line.
    pub(super) fn processes(&self) -> Vec<String> {
        let mark = format!("WATCH={}", self.watch.path().display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("this is Linux").flatten() {
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environ
                .split(|&byte| byte == 0)
                .any(|pair| pair == mark.as_bytes())
            {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(format!(
                    "{} {}",
                    entry.file_name().to_string_lossy(),
                    String::from_utf8_lossy(&line).replace('\0', " ")
                ));
            }
        }
        found
    }

    /// Everything in the journal.
    pub(super) fn events(&self) -> Vec<Value> {
        if !self.scratch.has(".piton/journal.db") {
            return Vec::new();
        }
        let exported = self.scratch.piton(&["journal", "export"]);
        assert_eq!(exported.exit, 0, "{}", exported.err);
        exported
            .out
            .lines()
            .map(|line| serde_json::from_str(line).expect("the export is JSON lines"))
            .collect()
    }

    /// The state of the only run.
    pub(super) fn state(&self) -> String {
        let status = self.status();
        status["runs"][0]["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn status(&self) -> Value {
        let said = self.scratch.piton(&["status", "--json"]);
        assert_eq!(said.exit, 0, "{}", said.err);
        serde_json::from_str(&said.out).expect("the status is JSON")
    }

    /// The tree with states and summaries, a node a line.
    fn tree(&self) -> String {
        let (_, progress) = self.progress().expect("a finished run has its file");
        let mut text = format!("{} {:?}\n", self.state(), progress.status);
        let mut nodes: Vec<(String, &piton_formats::sprint::PhaseNode)> = progress
            .phases
            .iter()
            .rev()
            .map(|node| (String::new(), node))
            .collect();
        while let Some((above, node)) = nodes.pop() {
            let path = format!("{above}{}", node.id);
            text.push_str(&format!(
                "{path} {:?} {:?}\n",
                node.status, node.progress.summary
            ));
            let below = node.children.as_slice().iter().rev();
            nodes.extend(below.map(|child| (format!("{path}/"), child)));
        }
        text
    }

    /// The native file, if there is one. One that cannot be read is a failure.
    pub(super) fn progress(&self) -> Option<(String, SprintProgress)> {
        if !self.scratch.has("sprint/PROGRESS.yaml") {
            return None;
        }
        let text = self.scratch.read("sprint/PROGRESS.yaml");
        let (progress, problems) = parse_progress(SourceText {
            name: "PROGRESS.yaml",
            text: &text,
        });
        assert!(
            problems.iter().all(|problem| !problem.is_error()),
            "{problems:?}\n{text}"
        );
        Some((text, progress.expect("it can be read")))
    }

    /// What the agents wrote down.
    pub(super) fn log(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.watched("log")).unwrap_or_default();
        text.lines()
            .map(|line| {
                let mut words = line.splitn(3, ' ').map(str::to_owned);
                let mut word = || words.next().unwrap_or_default();
                Line {
                    node: word(),
                    attempt: word(),
                    what: word(),
                }
            })
            .collect()
    }

    /// What an undisturbed run of this kind comes to.
    pub(super) fn undisturbed(kind: Kind) -> Expected {
        let mut trial = Self::new(kind);
        let begun = now();
        let mut runner = trial.start(None);
        assert_eq!(runner.wait().code(), Some(0), "{}", runner.words());
        let duration = begun.elapsed();
        trial.look(&runner);
        let expected = Expected {
            duration,
            commits: commits(&trial.events()),
            tree: trial.tree(),
            progress: normal(&trial.progress().expect("it is there").0),
            evidence: done(&trial.events()),
        };
        trial.check(&expected);
        assert_eq!(
            expected.evidence.len(),
            12 + 6 + 2,
            "{:?}",
            expected.evidence
        );
        expected
    }
}

/// A line of the agents' log.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) node: String,
    pub(super) attempt: String,
    pub(super) what: String,
}

/// A `piton run` that was started.
pub(super) struct Runner {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Runner {
    /// Waits for its end, but not for ever.
    pub(super) fn wait(&mut self) -> ExitStatus {
        let begun = now();
        loop {
            if let Some(status) = self
                .child
                .try_wait()
                .expect("it is a child of this process")
            {
                return status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().ok();
                self.child.wait().ok();
                panic!("piton does not come to an end: {}", self.words());
            }
            pause(Duration::from_millis(2));
        }
    }

    /// Strikes after some time, or not at all when it has ended by itself.
    pub(super) fn strike(&mut self, after: Duration, blow: Blow) -> ExitStatus {
        let begun = now();
        while let Some(left) = after
            .checked_sub(begun.elapsed())
            .filter(|left| !left.is_zero())
        {
            if let Some(status) = self
                .child
                .try_wait()
                .expect("it is a child of this process")
            {
                return status;
            }
            pause(left.min(Duration::from_millis(1)));
        }
        if self
            .child
            .try_wait()
            .expect("it is a child of this process")
            .is_none()
        {
            let pid = Pid::from_child(&self.child);
            // Not waited for yet, so the number is still its own.
            match blow {
                Blow::Kill => kill_process(pid, Signal::KILL),
                Blow::KillGroup => kill_process_group(pid, Signal::KILL),
                Blow::Terminate => kill_process(pid, Signal::TERM),
                Blow::Interrupt => kill_process(pid, Signal::INT),
            }
            .expect("it can be signalled");
        }
        self.wait()
    }

    /// What it said, as far as it helps to understand a failure.
    pub(super) fn words(&self) -> String {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let out = read(&self.out);
        let last: Vec<&str> = out.lines().rev().take(3).collect();
        format!(
            "{}\nits last events, the newest first:\n{}",
            read(&self.err),
            last.join("\n")
        )
    }
}

impl Drop for Runner {
    /// A test that fails leaves no piton behind.
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Trial {
    /// A test that fails leaves no agent behind.
    fn drop(&mut self) {
        for process in self.processes() {
            let pid = process.split(' ').next().and_then(|pid| pid.parse().ok());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }
}

/// Whether a status says that a SIGKILL ended it.
pub(super) fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}

fn commits(events: &[Value]) -> usize {
    let by_runner = |event: &&Value| {
        let kind = event["kind"].as_str().unwrap_or_default();
        let actor = event["actor"].as_str().unwrap_or_default();
        let stream = event["stream"].as_str().unwrap_or_default();
        // Beginning and end are no commands of the loop, and are logged as well.
        actor.starts_with("runner:")
            && stream.starts_with("run:")
            && !matches!(kind, "lease-taken" | "run-started" | "lease-released")
    };
    let commands: BTreeSet<&str> = events
        .iter()
        .filter(by_runner)
        .filter_map(|event| event["command"].as_str())
        .collect();
    commands.len()
}

/// The nodes that are done, and what shows that they are.
fn done(events: &[Value]) -> BTreeMap<String, Vec<String>> {
    let moved = events
        .iter()
        .filter(|event| event["kind"] == "item-moved" && event["body"]["to"] == "done");
    moved
        .map(|event| {
            let evidence = event["body"]["evidence"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            // What an attempt changed whose runner died before its end, nobody saw.
            let is_seen = |kind: &String| !["changed", "none-asked"].contains(&kind.as_str());
            let kinds = evidence.iter().map(kind_of).filter(is_seen).collect();
            (
                event["body"]["node"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                kinds,
            )
        })
        .collect()
}

fn kind_of(evidence: &Value) -> String {
    let with_fields = || evidence.as_object()?.keys().next().map(String::as_str);
    let kind = evidence.as_str().or_else(with_fields);
    kind.expect("evidence has a kind").to_owned()
}

/// The nodes, and in which role, whose agents have completed.
fn completed(events: &[Value]) -> BTreeSet<(String, String)> {
    let ended: BTreeSet<&str> = events
        .iter()
        .filter(|event| {
            event["kind"] == "attempt-ended" && event["body"]["report"]["outcome"] == "completed"
        })
        .filter_map(|event| event["body"]["attempt"].as_str())
        .collect();
    intents(events)
        .filter(|(attempt, ..)| ended.contains(attempt))
        .map(|(_, node, role)| (node, role))
        .collect()
}

fn intents(events: &[Value]) -> impl Iterator<Item = (&str, String, String)> {
    events
        .iter()
        .filter(|event| event["kind"] == "attempt-started")
        .filter_map(|event| {
            let body = &event["body"];
            let text = |key: &str| body[key].as_str().map(str::to_owned);
            Some((body["attempt"].as_str()?, text("node")?, text("role")?))
        })
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// A `PROGRESS.yaml` without what a crash may change: times, and how often
/// something was tried.
fn normal(text: &str) -> String {
    const LEFT_OUT: &[&str] = &[
        "started-at",
        "completed-at",
        "last-activity",
        "elapsed",
        "current-iteration",
        "retry-count",
        "next-retry-at",
        "interrupted-at",
        "commit",
    ];
    text.lines()
        .filter(|line| {
            let key = line
                .trim_start_matches([' ', '-'])
                .split(':')
                .next()
                .unwrap_or_default();
            !LEFT_OUT.contains(&key)
        })
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Says something that is shown with the test.
#[expect(
    clippy::print_stdout,
    reason = "only what is printed so is kept with a test"
)]
pub(super) fn say(text: &str) {
    println!("{text}");
}

pub(super) fn now() -> Instant {
    Instant::now()
}

pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}
