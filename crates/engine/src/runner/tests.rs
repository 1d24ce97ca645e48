//! A runner that works on two items at once, each in a work tree of its own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::gate::Gate;
use piton_testkit::sketch;
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::agents;
use crate::process::{Call, output};
use crate::world::World;

const RUN: RunId = RunId(Uuid::from_u128(7));

/// What an agent of these tests does: it waits for the other one, and changes a
/// file that both of them change.
const MEETING: &str = r#"touch "$MEETING/$PITON_ITEM"
while ! test -f "$MEETING/a" || ! test -f "$MEETING/b"; do sleep 0.02; done
echo "$PITON_ITEM at $SITE" > work.txt"#;

fn git_in(folder: &Path, args: &[&str]) -> String {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let called = output(&Call {
        program: "git",
        args: &args,
        cwd: folder,
        input: b"",
        env: &[],
        mark: None,
        stop: None,
        timeout: Duration::from_secs(60),
    });
    let called = called.expect("git is there");
    assert!(called.exit.success(), "{args:?}: {called:?}");
    let text = String::from_utf8(called.stdout).expect("text");
    text.trim_end().to_owned()
}

/// A repository with two worktrees beside it.
struct Repository {
    folder: TempDir,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let main = folder.path().join("main");
        fs::create_dir_all(main.join("sprints/two")).expect("made");
        fs::create_dir(folder.path().join("meeting")).expect("made");
        fs::write(main.join("sprints/two/SPRINT.yaml"), "phases: []\n").expect("written");
        fs::write(main.join("work.txt"), "nothing\n").expect("written");
        let git = |args: &[&str]| git_in(&main, args);
        git(&["init", "--quiet", "--initial-branch", "main"]);
        git(&["config", "user.name", "Ada"]);
        git(&["config", "user.email", "ada@example.org"]);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "Begin"]);
        for name in ["a", "b"] {
            git(&[
                "worktree",
                "add",
                "--quiet",
                "--detach",
                &format!("../{name}"),
            ]);
        }
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        let folder = fs::canonicalize(self.folder.path()).expect("it is there");
        folder.join(name)
    }

    fn world(&self) -> World {
        let mut world = World::real().expect("a world");
        world.env.retain(|name, _| !name.starts_with("PITON_"));
        world.cwd = self.at("main");
        world
    }
}

fn plan() -> piton_core::plan::Plan {
    let mut plan = sketch::plan(RUN, "two", &[("a", &[]), ("b", &[])]);
    plan.order = piton_core::plan::Order::Any;
    plan.policy.auto_commit = true;
    for item in &mut plan.items {
        item.gate = Some(Gate {
            // It passes in its own work tree alone, after the attempt.
            script: format!(
                r#"grep -x "{0} at {0}" work.txt && test "$SITE" = {0}"#,
                item.id
            ),
            on_fail_prompt: String::new(),
            runs_max: 1,
            timeout_s: 60,
        });
    }
    plan
}

/// Hands over a runner with two workers and a site for each of two items.
fn with_runner(script: &str, check: impl FnOnce(&Repository, Runner<'_, '_>)) {
    let repository = Repository::new();
    let world = repository.world();
    let project = Project::find(&world, &world.cwd);
    let session = Session::create(&world, project, &mut |_| {}).expect("a store");
    session.tell(&sketch::keep(plan())).expect("planned");
    let config = Config::default();
    let agent = format!("sh:{script}");
    let program = agents::named(&config, &agent).expect("an agent");
    let job = Job {
        aim: Aim::Work,
        run: RUN,
        program: program.into(),
        verdict: VerdictBy::ExitStatus,
        agent_limits: config.limits(&agent),
        agent,
        prices: Prices::new(&config.prices),
        config,
        model: None,
        limits: Limits::default(),
        claims: Claims::default(),
        flags: RunFlags::default(),
        wait: false,
        once: false,
        workers: NonZeroUsize::new(2).expect("two"),
        worktree: None,
    };
    let mut runner = open(&session, job, mpsc::channel(), &mut |_| {}).expect("it is taken");
    for name in ["a", "b"] {
        let mut project = session.project.clone();
        project.work_tree = repository.at(name);
        let mut site = Site::of(project);
        let meeting = repository.at("meeting").display().to_string();
        site.env = vec![
            ("SITE".to_owned(), name.to_owned()),
            ("MEETING".to_owned(), meeting),
        ];
        runner.sites.assign(Node::named(name), site);
    }
    check(&repository, runner);
}

/// Goes on as [`Runner::drive`] does, until both agents work.
fn start_both(runner: &mut Runner<'_, '_>) -> VecDeque<Effect> {
    let tell: &mut dyn FnMut(Notice<'_>) = &mut |_| {};
    let mut effects = VecDeque::from([Effect::Look]);
    let agents = |runner: &Runner<'_, '_>| {
        let is_agent = |work: &Work| matches!(work.for_, Purpose::Agent { .. });
        runner
            .works
            .iter()
            .filter(|(_, work)| is_agent(work))
            .count()
    };
    let begun = runner.session.world.uptime();
    while agents(runner) < 2 {
        let took = runner.session.world.uptime() - begun;
        assert!(took < Duration::from_secs(60), "they do not start");
        let inputs = match effects.pop_front() {
            Some(effect) => runner.perform(effect, tell),
            None => runner.listen(tell),
        };
        runner.step(inputs.expect("it goes on"), &mut effects, tell);
    }
    effects
}

#[test]
fn two_works_at_once_are_done_looked_at_and_committed_each_in_its_own_tree() {
    with_runner(MEETING, |repository, mut runner| {
        let mut most = 0;
        let row = runner.drive(&mut |notice| {
            if let Notice::Working(all) = notice {
                most = most.max(all.len());
            }
        });
        let row = row.expect("it ends");
        assert_eq!(row.state, RunState::Done);
        assert_eq!(most, 2);
        let rows = runner.session.load(&[Need::Tree(RUN)]).expect("rows");
        for name in ["a", "b"] {
            let tree = repository.at(name);
            assert_eq!(
                git_in(&tree, &["log", "-1", "--format=%s"]),
                format!("{}: {name}", runner.sprint_id)
            );
            assert_eq!(
                git_in(&tree, &["show", "HEAD:work.txt"]),
                format!("{name} at {name}")
            );
            assert_eq!(git_in(&tree, &["rev-list", "--count", "HEAD"]), "2");
            let node = Node::named(name);
            let item = rows.tables.item(RUN, &node).expect("an item");
            assert_eq!(item.commits, [git_in(&tree, &["rev-parse", "HEAD"])]);
            let attempts = runner
                .session
                .load(&[Need::AttemptsAt(RUN, node)])
                .expect("rows");
            let attempt = attempts.tables.attempts().next().expect("an attempt");
            let report = attempt.report.as_ref().expect("it is over");
            assert_eq!(report.files, Some(vec!["work.txt".to_owned()]));
            let head = git_in(&tree, &["rev-parse", "HEAD^{tree}"]);
            assert_eq!(report.tree_after, Some(head));
        }
        let main = repository.at("main");
        assert_eq!(git_in(&main, &["log", "--format=%s"]), "Begin");
        assert_eq!(
            fs::read_to_string(main.join("work.txt")).expect("read"),
            "nothing\n"
        );
    });
}

#[test]
fn a_signal_ends_both_works() {
    with_runner("sleep 600", |_, mut runner| {
        let effects = start_both(&mut runner);
        assert!(effects.is_empty(), "{effects:?}");
        let message = Message::Signal("SIGTERM");
        runner.sender.send(message).expect("it listens");
        let row = runner.drive(&mut |_| {}).expect("it ends");
        assert_eq!(row.state, RunState::Interrupted);
        assert!(runner.works.is_empty());
        let rows = runner.session.load(&[Need::OpenAttempts(Some(RUN))]);
        assert_eq!(rows.expect("rows").tables.open_attempts().count(), 0);
    });
}

#[test]
fn a_runner_that_cannot_go_on_ends_both_works() {
    with_runner("sleep 600", |_, mut runner| {
        start_both(&mut runner);
        let spooled = runner.spool.list().expect("a spool").into_iter();
        let started: Vec<process::Identity> = spooled.filter_map(|one| one.id).collect();
        runner.abandon(&Failure::new("store.fault", "the disk is full"));
        assert!(runner.works.is_empty());
        assert_eq!(started.len(), 2);
        assert!(started.iter().all(process::has_ended));
    });
}
