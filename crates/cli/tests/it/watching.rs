//! A run that is watched: in a terminal of tmux, which knows what stands on its screen.
//! Skipped aloud without tmux.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{DEMO, RUN, Running, Said, Scratch};
use crate::lanes::project;

/// Items of the run and screens that are looked at: `PITON_WATCH_ITEMS=40` and
/// `PITON_WATCH_SCREENS=200` are the long form.
fn size() -> (u32, usize) {
    let of = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let items = of("PITON_WATCH_ITEMS").unwrap_or(9);
    let screens = of("PITON_WATCH_SCREENS").unwrap_or(12);
    (items, screens as usize)
}

/// A terminal of its own, in which a command line runs in a scratch project.
pub(crate) struct Terminal<'s> {
    scratch: &'s Scratch,
    /// The server of the one before may not have ended yet.
    server: String,
}

static TERMINALS: AtomicU32 = AtomicU32::new(0);

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux("kill-server");
    }
}

impl<'s> Terminal<'s> {
    /// None where there is no tmux.
    pub(crate) fn start(scratch: &'s Scratch, columns: u32, line: &str) -> Option<Self> {
        let version = Command::new("tmux").arg("-V").output();
        if !version.is_ok_and(|said| said.status.success()) {
            #[expect(clippy::print_stderr, reason = "the report of a test run shows it")]
            {
                eprintln!("skipped: this is typed in a terminal of tmux");
            }
            return None;
        }
        let piton = env!("CARGO_BIN_EXE_piton");
        scratch.script(
            "watched.sh",
            &format!("trap : INT\nunset NO_COLOR\npiton() {{ '{piton}' \"$@\"; }}\n{line}\necho \"ended $?\"\nexec sleep 600"),
        );
        let number = TERMINALS.fetch_add(1, Ordering::Relaxed);
        let server = format!("piton-{number}");
        let terminal = Self { scratch, server };
        terminal.tmux(&format!(
            "-f /dev/null new-session -d -x {columns} -y 20 ./watched.sh"
        ));
        Some(terminal)
    }

    pub(crate) fn tmux(&self, arguments: &str) -> String {
        let folder = self.scratch.path().join("tmux");
        std::fs::create_dir_all(&folder).expect("a folder for its socket");
        self.scratch.script(
            "tmux.sh",
            &format!(
                "TMUX_TMPDIR='{}' exec tmux -L {} -u {arguments}",
                folder.display(),
                self.server
            ),
        );
        let said = self.scratch.shell("tmux.sh").output().expect("a shell");
        Said::of(&said).out
    }

    /// What stands on the screen and has left it above, without blank lines at the end.
    fn screen(&self) -> Vec<String> {
        let text = self.tmux("capture-pane -p -J -S -");
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        let mut lines: Vec<String> = lines.collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Waits for a line that begins so, and gives the screen then.
    #[track_caller]
    pub(crate) fn until_line(&self, start: &str) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if screen.iter().any(|line| line.starts_with(start)) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{screen:#?}");
        }
    }

    fn resize(&self, columns: u32) {
        self.tmux(&format!("resize-window -x {columns}"));
    }
}

/// How many lanes are told of at the end of a screen; none where the region of the run is
/// not whole there, or more of it stands above.
fn shown_lanes(screen: &[String], items: u32) -> Option<usize> {
    let is_summary = |line: &String| {
        let done = line.split_once(&format!("/{items} · "));
        let done = done.or_else(|| line.split_once(&format!("/{items}")));
        done.is_some_and(|(done, _)| done.parse::<u32>().is_ok())
    };
    let is_lane = |line: &String| line.starts_with("US-");
    let summary = screen.last().filter(|line| is_summary(line))?;
    let lanes = screen.iter().rev().skip(1).take_while(|line| is_lane(line));
    let lanes = lanes.count();
    let mut parts = summary.split(" · ");
    let told = parts.find_map(|part| part.split_once(" lane")?.0.parse::<usize>().ok());
    let above = &screen[..screen.len() - lanes - 1];
    let is_alone = !above.iter().any(|line| is_lane(line) || is_summary(line));
    // One item at work stands in the line of the run. Work that is merged is in no lane.
    let is_whole = lanes != 1 && told.unwrap_or(0) <= lanes;
    (is_whole && is_alone).then_some(told.unwrap_or(0))
}

/// The items with a line that says that they are done.
fn done_items(screen: &[String]) -> Vec<&str> {
    let done = screen.iter().filter_map(|line| line.strip_prefix("✓ "));
    done.filter_map(|line| line.split(' ').next())
        .filter(|item| item.starts_with("US-"))
        .collect()
}

#[test]
fn the_region_is_whole_on_each_screen_and_each_finished_item_stands_above_it_once() {
    let (items, screens_min) = size();
    let agent = "echo work >$PITON_ITEM.txt; echo printed; sleep 0.$(($$ % 5 + 3))";
    let scratch = project(agent, items);
    // Lines that fill the terminal at both widths.
    let title = "Story of which the title is longer than a line of a terminal of 80 columns";
    let list = scratch.read("prd.json").replace("Story", title);
    scratch.write("prd.json", &list);
    let line = "piton run prd.json --agent ./agent.sh --workers 3";
    let Some(terminal) = Terminal::start(&scratch, 80, line) else {
        return;
    };
    let (begun, mut resized) = (Instant::now(), Instant::now());
    let (mut screens, mut lanes_max) = (0, 0);
    let mut wider = Some(120);
    let last = loop {
        let screen = terminal.screen();
        if screen.last().is_some_and(|line| line.starts_with("ended ")) {
            break screen;
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "{screen:#?}");
        let has_begun = screens > 0 || shown_lanes(&screen, items).is_some();
        // What a terminal makes of a new width stands there until the next line is drawn.
        if !has_begun || resized.elapsed() < Duration::from_millis(700) {
            continue;
        }
        let lanes = shown_lanes(&screen, items);
        // The end of the run has taken the region away.
        let is_over = done_items(&screen).len() == items as usize;
        if is_over && !screen.iter().any(|line| line.starts_with("US-")) {
            continue;
        }
        assert!(lanes.is_some(), "{screen:#?}");
        lanes_max = lanes_max.max(lanes.unwrap_or(0));
        let done = done_items(&screen);
        let once: BTreeSet<&str> = done.iter().copied().collect();
        assert_eq!(once.len(), done.len(), "{screen:#?}");
        screens += 1;
        if screens >= screens_min / 2
            && let Some(columns) = wider.take()
        {
            terminal.resize(columns);
            resized = Instant::now();
        }
    };
    assert!(last.contains(&"ended 0".to_owned()), "{last:#?}");
    assert_eq!(done_items(&last).len(), items as usize, "{last:#?}");
    let rest = last.iter().find(|line| line.starts_with("US-"));
    assert_eq!(rest, None, "{last:#?}");
    assert!(screens >= screens_min, "{screens} screens");
    assert_eq!(lanes_max, 3);
}

#[test]
fn after_ctrl_c_nothing_of_the_region_is_left() {
    let scratch = project("sleep 60", 1);
    let line = "export NO_COLOR=1; piton run prd.json --agent ./agent.sh";
    let Some(terminal) = Terminal::start(&scratch, 80, line) else {
        return;
    };
    scratch.until("the agent works", || {
        let screen = terminal.screen();
        shown_lanes(&screen, 1).is_some() && screen.iter().any(|line| line.contains("US-001"))
    });
    let coloured = terminal.tmux("capture-pane -p -e");
    assert!(!coloured.contains('\u{1b}'), "{coloured:?}");
    // No shell is there that could let it go on: it does not stop.
    terminal.tmux("send-keys C-z");
    terminal.tmux("send-keys C-c");
    let screen = terminal.until_line("ended ");
    assert!(screen.contains(&"ended 130".to_owned()), "{screen:#?}");
    assert_eq!(shown_lanes(&screen, 1), None, "{screen:#?}");
    let is_rest = |line: &&String| line.starts_with("0/1") || line.contains("^C");
    assert_eq!(screen.iter().find(is_rest), None, "{screen:#?}");
}

#[test]
fn after_ctrl_z_nothing_of_the_region_is_left_and_it_is_back_when_the_run_goes_on() {
    let scratch = project("echo begun; sleep 60", 2);
    let line = "set -m; export NO_COLOR=1; piton run prd.json --agent ./agent.sh --workers 2
echo \"stopped $?\"
until [ -e go ]; do sleep 0.1; done
fg >/dev/null";
    let Some(terminal) = Terminal::start(&scratch, 80, line) else {
        return;
    };
    // A process that is being started at Ctrl-Z can keep its parent from being stopped.
    let is_live = |screen: &[String]| {
        let begun = screen.iter().filter(|line| line.contains("printed"));
        shown_lanes(screen, 2) == Some(2) && begun.count() == 2
    };
    scratch.until("the agent works", || is_live(&terminal.screen()));
    terminal.tmux("send-keys C-z");
    let screen = terminal.until_line("stopped ");
    let is_rest = |line: &&String| line.contains(" \u{b7} ");
    assert_eq!(screen.iter().find(is_rest), None, "{screen:#?}");
    scratch.write("go", "");
    scratch.until("the run goes on", || is_live(&terminal.screen()));
    terminal.tmux("send-keys C-c");
    let screen = terminal.until_line("ended ");
    assert_eq!(screen.iter().find(is_rest), None, "{screen:#?}");
}

#[test]
fn a_terminal_that_does_not_read_holds_up_no_run() {
    let agent = "until [ -e go ]; do sleep 0.05; done; echo work >$PITON_ITEM.txt";
    let scratch = project(agent, 2);
    let line = "piton run prd.json --agent ./agent.sh; touch over";
    let Some(terminal) = Terminal::start(&scratch, 80, line) else {
        return;
    };
    scratch.until("the agent works", || {
        shown_lanes(&terminal.screen(), 2).is_some()
    });
    terminal.tmux("send-keys C-s");
    let until = Instant::now() + Duration::from_millis(600);
    scratch.until("the terminal is behind", || Instant::now() > until);
    scratch.write("go", "");
    scratch.until("the run is done", || {
        scratch.json(&["status"])["run"]["state"] == "done"
    });
    scratch.until("piton has ended", || scratch.has("over"));
    terminal.tmux("send-keys C-q");
    terminal.until_line("ended 0");
}

#[test]
fn a_terminal_that_cannot_redraw_gets_a_line_an_event_in_letters() {
    let scratch = project("echo work >$PITON_ITEM.txt", 1);
    let line = "export TERM=dumb; piton run prd.json --agent ./agent.sh";
    let Some(terminal) = Terminal::start(&scratch, 80, line) else {
        return;
    };
    let screen = terminal.until_line("ended 0");
    let has = |start: &str| screen.iter().any(|line| line.starts_with(start));
    assert!(has("> US-001") && has("done US-001"), "{screen:#?}");
}

/// An agent that prints a secret and waits for the file `go`.
const TALKS: &str = "echo begun; echo \"DB_PASSWORD=correct9horse9battery\"
while ! [ -e go ]; do sleep 0.02; done\necho ended";

const ONE: &str = "  - {id: build, prompt: build it}\n";

#[test]
fn tail_follows_the_agent_at_work_and_ends_with_its_attempt() {
    let scratch = Scratch::new();
    scratch.sprint(ONE).agent(TALKS);
    let said = scratch.shows(&["tail"]);
    insta::assert_snapshot!(said, @r"
    error: no agent is at work [attempt.unknown]
    hint: name an item to see the transcript of its last attempt: `piton tail ITEM`
    [exit 2]
    ");
    let runner = scratch.start_run(&[]);
    scratch.until("it talks", || {
        scratch
            .piton(&["tail", "--no-follow"])
            .out
            .contains("begun")
    });
    let now = scratch.shows(&["tail", "build", "--no-follow"]);
    insta::assert_snapshot!(now, @r"
    begun
    DB_PASSWORD=[redacted:assigned-secret]
    attempt 1 at build: build it is under way
    hint: follow it with `piton tail build`
    [exit 0]
    ");
    let follows = Running::start(scratch.command(&["tail"]));
    scratch.until("it is followed", || follows.out().contains("begun"));
    scratch.write("go", "");
    insta::assert_snapshot!(follows.end().shown(&scratch), @r"
    begun
    DB_PASSWORD=[redacted:assigned-secret]
    ended
    following the agent at build: build it
    attempt 1 at build: build it is over
    [exit 0]
    ");
    assert_eq!(runner.end().exit, 0);
    let said = scratch.piton(&["tail", "build", "--json"]);
    let first = said.out.lines().next().unwrap_or_default();
    let first: serde_json::Value = serde_json::from_str(first).expect("a line is an object");
    assert_eq!(
        (&first["kind"], &first["text"]),
        (&"line".into(), &"begun".into())
    );
    assert!(!said.out.contains("9horse9"), "{}", said.out);
}

#[test]
fn tail_takes_out_what_only_the_runner_knows_as_a_secret() {
    let scratch = Scratch::new();
    let agent = "cat >/dev/null; echo \"begun $MY_TOKEN\"; until test -e go; do sleep 0.05; done";
    scratch.sprint(ONE).agent(agent);
    let mut command = scratch.command(RUN);
    command.env("MY_TOKEN", "zzsecretzz99");
    let runner = Running::start(command);
    let tail = || scratch.piton(&["tail", "--no-follow"]).out;
    scratch.until("it talks", || tail().contains("begun"));
    let said = tail();
    assert!(said.contains("begun [redacted:env:MY_TOKEN]"), "{said}");
    scratch.write("go", "");
    assert_eq!(runner.end().exit, 0);
}

/// A sprint with one item, whose agent waits for the file `go`.
fn one_item() -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(ONE).agent(TALKS);
    scratch
}

const DETACH: &[&str] = &[
    "run",
    "demo",
    "--agent",
    "./agent.sh",
    "--verdict",
    "exit-status",
    "--detach",
];

fn is_live(scratch: &Scratch) -> bool {
    scratch.json(&["status"])["run"]["live"] == true
}

#[test]
fn a_detached_run_is_taken_when_the_command_returns_and_goes_on_by_itself() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = one_item();
    let said = scratch.shows(DETACH);
    assert!(is_live(&scratch), "{said}");
    insta::assert_snapshot!(said, @r"
    keeping progress in SCRATCH/.git/piton
    process PID works on run `2026-01-15_demo` in the background
    log: .git/piton/logs/2026-01-15_demo.log
    hint: watch it with `piton attach 2026-01-15_demo`, end it with `piton stop 2026-01-15_demo`
    [exit 0]
    ");
    let log = scratch.home().join("logs").join(format!("{DEMO}.log"));
    let mode = std::fs::metadata(&log)
        .expect("it has a log")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let status = scratch.piton(&["status"]).out;
    assert!(
        status.contains(&format!("Log: .git/piton/logs/{DEMO}.log")),
        "{status}"
    );
    let watches = Running::start(scratch.command(&["attach"]));
    watches.until_said("> build");
    scratch.write("go", "");
    let said = watches.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("done build") && said.err.contains("is done"),
        "{}",
        said.err
    );
    let again = scratch.piton(&["attach"]);
    assert!(
        again.exit == 0 && again.err.contains("is done"),
        "{again:?}"
    );
    assert!(!scratch.piton(&["status"]).out.contains("Log:"));
}

#[test]
fn a_detached_run_that_is_killed_is_interrupted_and_nothing_starts_by_itself() {
    let scratch = one_item();
    let run = scratch.json(DETACH);
    let process = run["process"]
        .as_i64()
        .and_then(|id| i32::try_from(id).ok());
    let process = process.and_then(rustix::process::Pid::from_raw);
    let process = process.expect("it is told");
    let watches = Running::start(scratch.command(&["attach"]));
    watches.until_said("> build");
    rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("it works");
    scratch.until("it is gone", || !is_live(&scratch));
    let interrupted = format!(
        "error: run `{DEMO}` is interrupted; no runner works on it [run.state]\nhint: go on with `piton run {DEMO}`\n"
    );
    let said = watches.end();
    assert!(said.err.ends_with(&interrupted), "{}", said.err);
    assert_eq!(said.exit, 1);
    let status = scratch.piton(&["status"]).out;
    assert!(status.contains("interrupted"), "{status}");
    assert!(
        status.contains(&format!("Next: piton run {DEMO}")),
        "{status}"
    );
    assert!(status.contains("1 agent of the runner"), "{status}");
    let attached = scratch.piton(&["attach"]);
    assert!(attached.err.contains("> build"), "{}", attached.err);
    assert!(attached.err.ends_with(&interrupted), "{}", attached.err);
    assert_eq!(attached.exit, 1);
    scratch.write("go", "");
    assert_eq!(scratch.piton(&["run", DEMO]).exit, 0);
}

#[test]
fn attach_shows_no_log_of_what_was_before() {
    let scratch = one_item();
    scratch.piton(DETACH);
    scratch.until("it talks", || {
        let said = scratch.piton(&["tail", "--no-follow"]);
        said.out.contains("begun")
    });
    scratch.piton(&["stop"]);
    scratch.until("it has ended", || !is_live(&scratch));
    let stopped = scratch.piton(&["attach"]);
    assert!(stopped.err.contains("> build"), "{}", stopped.err);
    assert_eq!(stopped.exit, 1, "{}", stopped.err);
    let was_begun = stopped.err.contains("1 node begun and not finished");
    assert!(was_begun, "{}", stopped.err);
    scratch.piton(DETACH);
    let watches = Running::start(scratch.command(&["attach"]));
    watches.until_said("> build");
    assert!(!watches.err().contains("interrupted"), "{}", watches.err());
    scratch.piton(&["stop"]);
    assert_eq!(watches.end().exit, 1);
    scratch.until("it has ended", || !is_live(&scratch));
    // The lines of a run in a terminal stand there, and in no log.
    let until = Instant::now() + Duration::from_millis(300);
    scratch.until("the log is old", || Instant::now() > until);
    let runner = scratch.start_run(&[]);
    scratch.until("it works", || is_live(&scratch));
    let watches = Running::start(scratch.command(&["attach"]));
    watches.until_said("has no log");
    scratch.write("go", "");
    assert_eq!(runner.end().exit, 0);
    let said = watches.end();
    assert!(!said.err.contains("> build"), "{}", said.err);
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn attach_says_of_a_run_that_was_not_started_how_to_start_it() {
    let scratch = one_item();
    let mut command = scratch.command(DETACH);
    command.env("PITON_FAILPOINT", "run.leased:1");
    Running::start(command).end();
    let said = scratch.piton(&["attach", DEMO]);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(
        said.err.contains(&format!("`piton run {DEMO}`")),
        "{}",
        said.err
    );
}

#[test]
fn of_two_runs_at_work_each_hint_names_one_that_works_as_typed() {
    let scratch = one_item();
    let list = r#"{"userStories": [{"id": "build", "title": "build it", "passes": false}]}"#;
    scratch.write("prd.json", list);
    let first = scratch.start_run(&[]);
    scratch.until("it works", || {
        scratch.piton(&["tail", "--no-follow"]).exit == 0
    });
    let run = ["run", "prd.json", "--agent", "./agent.sh", "--same-tree"];
    let second = Running::start(scratch.command(&run));
    scratch.until("both work", || {
        scratch
            .piton(&["tail", "--no-follow"])
            .err
            .contains("others")
    });
    let said = scratch.piton(&["attach"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    let hint = format!("`piton attach {DEMO}` or `piton attach prd`");
    assert!(said.err.contains(&hint), "{}", said.err);
    let said = scratch.piton(&["tail", "--no-follow"]);
    let typed = said
        .err
        .split('`')
        .find_map(|text| text.strip_prefix("piton tail "));
    assert_eq!(typed, Some(&*format!("{DEMO}:build")), "{}", said.err);
    let typed = typed.unwrap_or_default();
    let said = scratch.piton(&["tail", typed, "--no-follow"]);
    assert!(said.exit == 0 && said.out.contains("begun"), "{said:?}");
    scratch.write("go", "");
    first.end();
    second.end();
}

#[test]
fn the_hint_of_a_detached_run_works_as_typed_whatever_its_name() {
    let scratch = one_item();
    let list = r#"{"userStories": [{"id": "build", "title": "build it", "passes": false}]}"#;
    scratch.write("my plan.json", list);
    let run = ["run", "my plan.json", "--agent", "./agent.sh", "--detach"];
    let said = scratch.piton(&run);
    let hint = "watch it with `piton attach 'my plan'`, end it with `piton stop 'my plan'`";
    assert!(said.err.contains(hint), "{}", said.err);
    scratch.write("go", "");
    scratch.piton(&["attach", "my plan"]);
}

#[test]
fn a_detached_run_answers_in_one_object_and_logs_text() {
    let agent = "until [ -e go ]; do sleep 0.05; done; echo work >$PITON_ITEM.txt";
    let scratch = project(agent, 1);
    let run = scratch.json(&["run", "prd.json", "--agent", "./agent.sh", "--detach"]);
    assert_eq!(run["run"], "prd");
    scratch.write("go", "");
    let said = scratch.piton(&["attach", "prd"]);
    assert!(said.err.contains("done US-001"), "{}", said.err);
    let said = scratch.piton(&["attach", "prd", "--json"]);
    let mut lines = said
        .out
        .lines()
        .map(serde_json::from_str::<serde_json::Value>);
    let is_line = |line: &serde_json::Value| line["line"].is_string();
    assert!(
        lines.all(|line| line.is_ok_and(|line| is_line(&line))),
        "{}",
        said.out
    );
}

#[test]
fn a_second_detached_process_finds_the_run_taken() {
    let scratch = one_item();
    let both = [0, 1].map(|_| Running::start(scratch.command(DETACH)));
    let mut exits = both.map(|one| one.end().exit);
    exits.sort_unstable();
    assert_eq!(exits, [0, 4]);
}

#[test]
fn what_keeps_a_detached_run_from_starting_is_told_where_it_was_typed() {
    let scratch = one_item();
    for (point, exit) in [("run.locked:1", 7), ("run.leased:1", 7)] {
        let mut command = scratch.command(DETACH);
        command.env("PITON_FAILPOINT", point);
        let said = Running::start(command).end();
        assert_eq!(said.exit, exit, "{}", said.err);
        assert!(said.err.contains("[run.detach_failed]"), "{}", said.err);
        assert!(!is_live(&scratch));
    }
    let scratch = one_item();
    let mut command = scratch.command(DETACH);
    let state = scratch.path().join(".git/state");
    command
        .env_remove("PITON_TEST_TRUST")
        .env("XDG_STATE_HOME", state);
    scratch.write(".piton/config.toml", "[notify]\ncommand = \"true\"\n");
    let said = Running::start(command).end();
    assert_eq!(said.exit, 3, "{}", said.err);
    assert!(said.err.contains("trust.needed"), "{}", said.err);
}

#[test]
fn a_run_that_is_not_announced_is_interrupted() {
    let scratch = one_item();
    let piton = env!("CARGO_BIN_EXE_piton");
    let run = "run demo --agent ./agent.sh --verdict exit-status --detached";
    // As where the first process is ended before it hears of the other one.
    scratch.script(
        "piped.sh",
        &format!("('{piton}' {run}; echo $? >code) | true"),
    );
    let said = scratch.shell("piped.sh").output().expect("a shell");
    assert!(said.status.success(), "{said:?}");
    scratch.until("it has ended", || scratch.has("code"));
    assert_eq!(scratch.read("code").trim(), "130");
    assert_eq!(scratch.json(&["status"])["run"]["state"], "interrupted");
}

#[test]
fn a_run_whose_log_cannot_be_opened_goes_on_and_says_so() {
    let scratch = one_item();
    scratch.piton(&["add", "other"]);
    std::fs::create_dir_all(scratch.home().join("logs").join(format!("{DEMO}.log")))
        .expect("a folder in its place");
    let said = scratch.piton(DETACH);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("goes on without a log"), "{}", said.err);
    scratch.write("go", "");
    scratch.until("it is done", || {
        scratch.json(&["status", DEMO])["run"]["state"] == "done"
    });
}

#[test]
fn a_detached_run_outlives_its_terminal_and_ctrl_c_leaves_it() {
    let scratch = one_item();
    let line = "piton run demo --agent ./agent.sh --verdict exit-status --detach && piton attach";
    let Some(terminal) = Terminal::start(&scratch, 80, line) else {
        return;
    };
    terminal.until_line("0/1");
    terminal.tmux("send-keys C-c");
    let screen = terminal.until_line("ended 0");
    let has = |text: &str| screen.iter().any(|line| line.starts_with(text));
    assert!(has("left run") && !has("0/1"), "{screen:#?}");
    drop(terminal);
    assert!(is_live(&scratch));
    scratch.write("go", "");
    scratch.until("it is done", || {
        scratch.json(&["status"])["run"]["state"] == "done"
    });
}
