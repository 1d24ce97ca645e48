//! A scratch project, and the command in it: hermetic home, fixed clock.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The run that [`Scratch::sprint`] writes.
pub(crate) const DEMO: &str = "2026-01-15_demo";

/// How long a test waits for what must come. Long, for busy machines.
const PATIENCE: Duration = Duration::from_secs(30);

/// A project in a folder of its own, with nothing of the machine around it.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    clock: Option<String>,
}

impl Drop for Scratch {
    /// A runner that was killed leaves its agent at work, which waits for a file of a
    /// folder that goes now.
    fn drop(&mut self) {
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return;
        };
        for process in processes.flatten() {
            let pid = process
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let cwd = std::fs::read_link(process.path().join("cwd")).unwrap_or_default();
            if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw)
                && cwd.starts_with(self.folder.path())
            {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            }
        }
    }
}

/// A folder in memory; the one for all scratch folders where there is none.
fn memory() -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    if tempfile::tempdir_in(&shared).is_ok() {
        return shared;
    }
    std::env::temp_dir()
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    /// Its stdout.
    pub(crate) out: String,
    /// Its stderr.
    pub(crate) err: String,
    /// Its exit status; -1 when a signal ended it.
    pub(crate) exit: i32,
}

impl Scratch {
    /// A git repository without commits.
    pub(crate) fn new() -> Self {
        Self::outside_git().with_repository()
    }

    /// The same in memory, where the system has a folder there: for many histories that
    /// say nothing of the disk. Programs may not be startable there; a shell reads them.
    pub(crate) fn in_memory() -> Self {
        Self::within(&memory()).with_repository()
    }

    /// The same folder, which becomes a repository.
    pub(crate) fn with_repository(self) -> Self {
        let scratch = self;
        // Samples of hooks are many files that each copy would have.
        let init = ["init", "--quiet", "--initial-branch=main", "--template="];
        scratch.git(&init);
        // What git sets up beside a command goes on in a folder that may be gone by then.
        let settings =
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[maintenance]\n\tauto = false\n";
        let config = scratch.read(".git/config") + settings;
        scratch.write(".git/config", &config);
        // As where a person wrote settings, or a run had lanes.
        scratch.write(".piton/.gitignore", "*\n!config.toml\n");
        scratch
    }

    /// The same project in another folder.
    pub(crate) fn copy(&self) -> Self {
        let above = self.folder.path().parent().expect("a folder has one");
        let mut copy = Self::within(above);
        copy.clock.clone_from(&self.clock);
        let all = self.folder.path().join(".");
        let mut cp = Command::new("cp");
        let status = cp.arg("-a").arg(all).arg(copy.folder.path()).status();
        assert!(status.expect("cp is installed").success());
        copy
    }

    /// A folder that is no git repository.
    pub(crate) fn outside_git() -> Self {
        Self::within(&std::env::temp_dir())
    }

    fn within(above: &Path) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("piton-")
            .tempdir_in(above)
            .expect("a scratch folder");
        Self {
            folder,
            clock: None,
        }
    }

    /// The same, with a clock that stands still, so that answers can be compared.
    pub(crate) fn with_fixed_clock(mut self) -> Self {
        self.clock = Some("2026-01-15T09:00:00Z".to_owned());
        self
    }

    /// The folder, as the system names it.
    pub(crate) fn path(&self) -> PathBuf {
        std::fs::canonicalize(self.folder.path()).expect("the folder is there")
    }

    /// The folder in which the project keeps its progress, as a path from here.
    pub(crate) fn home_name(&self) -> &'static str {
        let has = |name: &str| self.folder.path().join(name).is_file();
        if has(".git/HEAD") && !has(".piton/journal.db") {
            ".git/piton"
        } else {
            ".piton"
        }
    }

    /// The same, whole.
    pub(crate) fn home(&self) -> PathBuf {
        self.path().join(self.home_name())
    }

    /// The path of a file. What belongs to the journal is named as in `.piton/` and lies
    /// in the home, wherever that is; the rest of `.piton/` is in the work tree.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        const OF_THE_JOURNAL: [&str; 8] = [
            "/journal.",
            "/blobs",
            "/history.json",
            "/hooks",
            "/locks",
            "/logs",
            "/mirrors",
            "/spool",
        ];
        let below = name.strip_prefix(".piton").filter(|below| {
            below.is_empty() || OF_THE_JOURNAL.iter().any(|own| below.starts_with(own))
        });
        match below {
            Some(below) => self
                .folder
                .path()
                .join(format!("{}{below}", self.home_name())),
            None => self.folder.path().join(name),
        }
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders");
        std::fs::write(path, text).expect("written");
        self
    }

    /// Writes a sprint into `demo/`, whose workflow has these phases.
    pub(crate) fn sprint(&self, phases: &str) -> &Self {
        self.sprint_with("", phases)
    }

    /// The same, with further settings in `SPRINT.yaml`.
    pub(crate) fn sprint_with(&self, settings: &str, phases: &str) -> &Self {
        // The original asks every sprint for a collection, used or not.
        let unused = if settings.contains("collections:") {
            ""
        } else {
            "collections: {step: [{prompt: unused}]}\n"
        };
        self.write(
            "demo/SPRINT.yaml",
            &format!("workflow: main\nsprint-id: {DEMO}\n{unused}{settings}"),
        );
        self.write(
            ".claude/workflows/main.yaml",
            &format!("name: main\nschema-version: \"2.0\"\nphases:\n{phases}"),
        )
    }

    /// Writes `agent.sh`, started as `./agent.sh`.
    pub(crate) fn agent(&self, body: &str) -> &Self {
        self.script("agent.sh", body)
    }

    /// Writes a shell script that may be started.
    pub(crate) fn script(&self, name: &str, body: &str) -> &Self {
        self.write(name, &format!("#!/bin/sh\n{body}\n"));
        let path = self.folder.path().join(name);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("made executable");
        self
    }

    /// `piton run demo --agent ./agent.sh` and `more`, to its end.
    pub(crate) fn run(&self, more: &[&str]) -> Said {
        self.piton(&[RUN, more].concat())
    }

    /// The same, while the test goes on.
    pub(crate) fn start_run(&self, more: &[&str]) -> Running {
        Running::start(self.command(&[RUN, more].concat()))
    }

    /// The value of a top-level key of `demo/PROGRESS.yaml`.
    pub(crate) fn progress(&self, key: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.folder.path().join("demo/PROGRESS.yaml")).ok()?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key}:")))?;
        Some(value.trim().to_owned())
    }

    /// The answer of a command with `--json`, without the name of its shape, which it
    /// begins with.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let said = self.piton(&[args, &["--json"]].concat());
        let mut answer: serde_json::Value = serde_json::from_str(&said.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", said.out, said.err));
        let named = take_schema(&mut answer);
        assert!(named.is_some(), "no name of a shape: {}", said.out);
        answer
    }

    /// The list that is the answer of a command with `--json`.
    #[track_caller]
    pub(crate) fn json_list(&self, args: &[&str]) -> serde_json::Value {
        let answer = self.json(args);
        let mut lists = answer
            .as_object()
            .into_iter()
            .flat_map(|fields| fields.values());
        match (lists.next(), lists.next()) {
            (Some(list), None) if list.is_array() => list.clone(),
            _ => panic!("no list: {answer}"),
        }
    }

    /// Carries out a command that has no verb yet, or none that can be typed.
    #[track_caller]
    pub(crate) fn commit(&self, command: &piton_core::Command) {
        let mut world = piton_engine::World::from_environment().expect("there is a folder");
        world.cwd = self.path();
        let session = piton_engine::session::Session::open_writable(&world, &world.cwd)
            .expect("the store can be opened")
            .expect("something is recorded");
        session.execute_command(command).expect("it is not refused");
    }

    /// The kinds of all events, in order.
    pub(crate) fn event_kinds(&self) -> Vec<String> {
        let out = self.piton(&["journal", "export"]).out;
        let event =
            |line| serde_json::from_str::<serde_json::Value>(line).expect("a line is an event");
        out.lines()
            .map(event)
            .map(|event| event["kind"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Waits until something holds.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, holds: impl FnMut() -> bool) {
        until(what, holds);
    }

    /// Reads a file.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Whether a file is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// Runs git.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let said = self.try_git(args);
        assert!(said.exit == 0, "git {args:?}: {}", said.err);
        said.out
    }

    /// Runs git, which may refuse.
    pub(crate) fn try_git(&self, args: &[&str]) -> Said {
        let mut git = clean(Command::new("git"), self.folder.path());
        Said::of(&git.args(args).output().expect("git is installed"))
    }

    /// The command, not yet started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_in("", args)
    }

    /// The command in a folder below.
    pub(crate) fn command_in(&self, folder: &str, args: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_piton"));
        let mut command = clean(Command::new(program), &self.folder.path().join(folder));
        command
            .args(args)
            .stdin(Stdio::null())
            .env("PITON", program);
        if let Some(clock) = &self.clock {
            command.env("PITON_TEST_CLOCK", clock);
        }
        command
    }

    /// A shell script, not yet started.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = clean(Command::new("sh"), self.folder.path());
        command.arg(script).stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn piton(&self, args: &[&str]) -> Said {
        Said::of(&self.command(args).output().expect("piton starts"))
    }

    /// Runs the command to its end, with this on its stdin.
    pub(crate) fn fed(&self, args: &[&str], stdin: &[u8]) -> Said {
        let mut command = self.command(args);
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("piton starts");
        let mut pipe = child.stdin.take().expect("it is a pipe");
        // Whoever refuses need not have read all of it.
        pipe.write_all(stdin).ok();
        drop(pipe);
        Said::of(&child.wait_with_output().expect("it ends"))
    }

    /// What a command typed here says, as a person sees it: both streams, the
    /// exit status, and the name of the scratch folder taken out.
    pub(crate) fn shows(&self, args: &[&str]) -> String {
        self.piton(args).shown(self)
    }
}

/// A run of the sprint in `demo/`, whose agent answers by its exit status.
pub(crate) const RUN: &[&str] = &[
    "run",
    "demo",
    "--agent",
    "./agent.sh",
    "--verdict",
    "exit-status",
];

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, holds: impl FnMut() -> bool) {
    until_within(PATIENCE, what, holds);
}

pub(crate) fn until_within(patience: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < patience, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A command at work beside the test; killed, by its id, when the test ends first.
pub(crate) struct Running {
    child: Option<Child>,
    folder: tempfile::TempDir,
}

impl Running {
    /// Starts a command. What it says goes to files, so that it never waits for the test.
    pub(crate) fn start(mut command: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder for what it says");
        let file = |name| std::fs::File::create(folder.path().join(name)).expect("a file");
        let child = command
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .expect("piton starts");
        Self {
            child: Some(child),
            folder,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().expect("it was not waited for").id()
    }

    /// What it said on stderr so far.
    pub(crate) fn err(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join("err")).expect("stderr is a file");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What it said on stdout so far.
    pub(crate) fn out(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join("out")).expect("stdout is a file");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until stderr has this text.
    #[track_caller]
    pub(crate) fn until_said(&self, text: &str) {
        until(
            &format!("it says {text:?}; it says {:?}", self.err()),
            || self.err().contains(text),
        );
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_raw(i32::try_from(self.id()).expect("small"))
            .expect("not 0");
        rustix::process::kill_process(id, signal).expect("it is there");
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        let child = self.child.as_mut().expect("it was not waited for");
        child.kill().expect("it is there");
        child.wait().expect("it is ours");
        self.child = None;
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(self) -> Said {
        self.end_within(PATIENCE)
    }

    /// The same, of one that takes its time.
    #[track_caller]
    pub(crate) fn end_within(mut self, patience: Duration) -> Said {
        let mut child = self.child.take().expect("waited for once");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                break status;
            }
            if begun.elapsed() > patience {
                child.kill().ok();
                child.wait().ok();
                panic!("it does not end; it says {}", self.err());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let out = std::fs::read(self.folder.path().join("out")).expect("stdout is a file");
        Said {
            out: String::from_utf8_lossy(&out).into_owned(),
            err: self.err(),
            exit: status.code().unwrap_or(-1),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // A failed test leaves nothing behind: piton ends its agents when asked to.
            let id = i32::try_from(child.id())
                .ok()
                .and_then(rustix::process::Pid::from_raw);
            if let Some(id) = id {
                rustix::process::kill_process(id, rustix::process::Signal::TERM).ok();
            }
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(3) {
                if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Whether a process is at work: there, and not merely waiting to be buried.
pub(crate) fn is_alive(id: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())) else {
        return false;
    };
    !stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .trim_start()
        .starts_with(['Z', 'X'])
}

/// A process that sees nothing of the machine's settings.
fn clean(mut command: Command, folder: &Path) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .env("USER", "ada")
        .env("TZ", "UTC")
        .env("LANG", "C.UTF-8")
        .env("NO_COLOR", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        // The tests of trust take it away.
        .env("PITON_TEST_TRUST", "all")
        .current_dir(folder);
    command
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            exit: output.status.code().unwrap_or(-1),
        }
    }

    /// Both streams and the exit status.
    pub(crate) fn shown(&self, scratch: &Scratch) -> String {
        let text = format!("{}{}[exit {}]\n", self.out, self.err, self.exit);
        let text = text.replace(&scratch.path().to_string_lossy().into_owned(), "SCRATCH");
        without_ids(&text)
    }
}

/// Process ids and the machine's name are of no interest.
fn without_ids(text: &str) -> String {
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("process ") {
        let (before, after) = rest.split_at(start + "process ".len());
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < after.len() {
            out.push_str("PID");
        }
    }
    out.push_str(rest);
    out.replace(&format!("PID on {host}"), "PID on HOST")
}

/// Takes the name of its shape, as `piton.status/1`, off an answer that begins with it.
pub(crate) fn take_schema(answer: &mut serde_json::Value) -> Option<String> {
    let fields = answer.as_object_mut()?;
    if fields.keys().next()? != "schema" {
        return None;
    }
    let schema = fields.shift_remove("schema")?.as_str()?.to_owned();
    let (name, version) = schema.strip_prefix("piton.")?.split_once('/')?;
    (!name.is_empty() && version.parse() == Ok(1)).then_some(schema)
}
