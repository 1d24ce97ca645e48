//! Several workers on one run: each in a lane, and their work merged one after another.

mod changed_checks;
mod reviews;

use std::fmt::Write as _;

use crate::harness::{Running, Said, Scratch};

/// The branch that the work of `prd.json` goes to.
pub(crate) const TARGET: &str = "piton/prd";

const DONE: &str = "echo '{\"status\": \"completed\", \"summary\": \"did it\"}'\n";

/// A repository with an agent, and a list that git does not track.
pub(crate) fn project(agent: &str, stories: u32) -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(&format!("cat >/dev/null\n{agent}\n{DONE}"));
    scratch.write("shared", "begin\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch.write("prd.json", &list(stories, ""));
    scratch
}

/// A list of stories, each with these keys besides.
pub(crate) fn list(stories: u32, more: &str) -> String {
    let mut items = Vec::new();
    for number in 1..=stories {
        let mut item = String::new();
        let id = format!("US-{number:03}");
        write!(
            item,
            r#"  {{"id": "{id}", "title": "Story {number}", {more}"passes": false}}"#
        )
        .expect("a string takes everything");
        items.push(item);
    }
    format!(
        "{{\"project\": \"side\", \"userStories\": [\n{}\n]}}\n",
        items.join(",\n")
    )
}

pub(crate) fn arguments(workers: &'static str) -> [&'static str; 6] {
    [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--workers",
        workers,
    ]
}

pub(crate) fn run(scratch: &Scratch, workers: &'static str) -> Said {
    scratch.piton(&arguments(workers))
}

#[track_caller]
pub(crate) fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

/// A file as the target has it.
pub(crate) fn on_target(scratch: &Scratch, file: &str) -> String {
    scratch.git(&["show", &format!("{TARGET}:{file}")])
}

/// The merges on the target, oldest first.
pub(crate) fn merges(scratch: &Scratch) -> Vec<String> {
    let args = ["log", "--first-parent", "--reverse", "--format=%s", TARGET];
    let said = scratch.git(&args);
    said.lines().skip(1).map(str::to_owned).collect()
}

/// Every item is done, and what each wrote is on the target.
#[track_caller]
pub(crate) fn all_done(scratch: &Scratch, stories: u32) {
    let status = scratch.json(&["status"]);
    assert_eq!(status["run"]["state"], "done", "{status}");
    assert_eq!(merges(scratch).len(), stories as usize);
    for number in 1..=stories {
        let file = format!("US-{number:03}.txt");
        assert!(!on_target(scratch, &file).is_empty(), "{file}");
    }
    let list = scratch.read("prd.json");
    assert_eq!(list.matches("\"passes\": true").count(), stories as usize);
}

/// The work has landed in the main work tree, and nothing else has changed there.
#[track_caller]
pub(crate) fn main_has_it(scratch: &Scratch) {
    let tips = scratch.git(&["rev-parse", "main", TARGET]);
    let tips: Vec<&str> = tips.lines().collect();
    assert_eq!(tips[0], tips[1]);
    let changed = scratch.git(&["status", "--porcelain"]);
    // The settings are the user's.
    assert_eq!(changed.replace("?? .piton/\n", ""), "?? prd.json\n");
    assert_eq!(scratch.git(&["branch", "--show-current"]), "main\n");
}

/// Waits for the other agent before it goes on.
const BARRIER: &str = "touch $PITON_PROJECT/.piton/at-$PITON_ITEM
until [ -e $PITON_PROJECT/.piton/at-US-001 ] && [ -e $PITON_PROJECT/.piton/at-US-002 ]
do sleep 0.05; done
echo $PITON_LANE $PITON_PORT_BASE >$PITON_ITEM.txt";

#[test]
fn two_agents_work_at_once_and_their_work_is_merged() {
    let scratch = project(BARRIER, 2);
    let said = run(&scratch, "2");
    fine(&said);
    all_done(&scratch, 2);
    main_has_it(&scratch);
    // A lane each, with ports of its own.
    let lanes = ["US-001.txt", "US-002.txt"].map(|file| on_target(&scratch, file));
    assert_ne!(lanes[0], lanes[1]);
    let kinds = scratch.event_kinds();
    let at = |kind: &str| kinds.iter().position(|known| known == kind);
    assert!(at("run-targeted") < at("lane-taken"), "{kinds:?}");
    assert!(at("merge-started") < at("merge-ended"), "{kinds:?}");
    // Of the refs of the run only the target is left.
    let refs = scratch.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main\nrefs/heads/piton/prd\n");
    let shown = scratch.json(&["show", "US-001"]);
    let commit = scratch.git(&["log", "--format=%H", "--grep=merge US-001", TARGET]);
    assert!(shown.to_string().contains(commit.trim()), "{shown}");
}

#[test]
fn items_about_the_same_files_are_not_worked_on_at_once() {
    // Each is alone in `src`, and what is about other files goes on beside it.
    let agent = "case $PITON_ITEM in
US-001) until [ -e $PITON_PROJECT/.piton/at-US-003 ]; do sleep 0.05; done;;
US-003) touch $PITON_PROJECT/.piton/at-US-003
  until [ -e $PITON_PROJECT/.piton/go ]; do sleep 0.05; done;;
esac
if [ $PITON_ITEM != US-003 ]
then mkdir $PITON_PROJECT/.piton/in-src || exit 9; sleep 0.3; rmdir $PITON_PROJECT/.piton/in-src
fi
echo made >$PITON_ITEM.txt";
    let scratch = project(agent, 3);
    let story = |number, files| {
        format!(
            r#"{{"id": "US-00{number}", "title": "Story", "related_files": ["{files}"], "passes": false}}"#
        )
    };
    let stories = [story(1, "src/a"), story(2, "src"), story(3, "docs")].join(",\n");
    scratch.write(
        "prd.json",
        &format!("{{\"branchName\": \"x\", \"userStories\": [\n{stories}\n]}}\n"),
    );
    scratch.write(".piton/config.toml", "[workspace]\nlanes = 3\n");
    let running = Running::start(scratch.command(&arguments("3")));
    scratch.until("the third works", || scratch.has(".piton/at-US-003"));
    let next = scratch.piton(&["next"]);
    let status = scratch.piton(&["status"]);
    scratch.write(".piton/go", "");
    fine(&running.end());
    let why = "for US-001, which is about src/a as well";
    assert!(next.out.contains(why), "{}", next.out);
    assert!(status.out.contains(why), "{}", status.out);
    all_done(&scratch, 3);
    assert_eq!(merges(&scratch).len(), 3);
}

/// Both write the same line; who is to resolve takes both.
const SAME: &str = "if grep -q '^<<<<<<<' shared
then grep -v '^[<=>|]\\{7\\}' shared >.both; sort -u .both >shared; rm .both
else echo $PITON_ITEM >shared
fi
echo made >$PITON_ITEM.txt";

#[test]
fn what_conflicts_is_returned_to_an_agent_that_sees_both_sides() {
    let agent = format!("{BARRIER}\n{SAME}");
    let scratch = project(&agent, 2);
    let said = run(&scratch, "2");
    fine(&said);
    all_done(&scratch, 2);
    assert_eq!(on_target(&scratch, "shared"), "US-001\nUS-002\n");
    let kinds = scratch.event_kinds();
    assert!(
        kinds.iter().any(|kind| kind == "merge-returned"),
        "{kinds:?}"
    );
    main_has_it(&scratch);
}

#[test]
fn a_conflict_that_is_left_between_the_markers_is_not_resolved() {
    // Who resolves for the first time leaves both sides as git put them.
    let agent = format!(
        "{BARRIER}\nif [ ! -e $PITON_PROJECT/.piton/seen ] && grep -q '^<<<<<<<' shared\nthen touch $PITON_PROJECT/.piton/seen; echo made >$PITON_ITEM.txt\nelse {SAME}\nfi"
    );
    let scratch = project(&agent, 2);
    let said = run(&scratch, "2");
    fine(&said);
    all_done(&scratch, 2);
    assert_eq!(on_target(&scratch, "shared"), "US-001\nUS-002\n");
    let shown = ["US-001", "US-002"].map(|item| scratch.json(&["show", item]).to_string());
    let words = "both sides still stand between git's markers in shared";
    assert!(shown.concat().contains(words), "{shown:?}");
}

/// Each is fine by itself, and the two are not.
const RED: &str = "if [ -e US-001.txt ] && [ -e US-002.txt ]
then touch mended
fi
echo made >$PITON_ITEM.txt";

#[test]
fn what_is_green_alone_and_red_together_is_found_and_named() {
    let agent = format!("{BARRIER}\n{RED}");
    let scratch = project(&agent, 2);
    scratch.write(
        ".piton/config.toml",
        "[merge]\ncheck = 'test ! -e US-001.txt || test ! -e US-002.txt || test -e mended'\n",
    );
    let said = run(&scratch, "2");
    fine(&said);
    all_done(&scratch, 2);
    on_target(&scratch, "mended");
    assert!(
        said.err
            .contains("green alone, and red together with US-00"),
        "{}",
        said.err
    );
}

#[test]
fn in_a_plan_that_git_tracks_the_mark_is_part_of_the_merge() {
    // An agent that ticks all of the list in its lane has no say in it there.
    // A person commits meanwhile, so the work does not land by itself.
    let agent = format!(
        "{BARRIER}\nsed -i 's/false/true/' prd.json
[ $PITON_ITEM = US-001 ] && git -C $PITON_PROJECT commit -q --allow-empty -m mine"
    );
    let scratch = project(&agent, 2);
    scratch.git(&["add", "prd.json"]);
    scratch.git(&["commit", "-qm", "plan"]);
    let before = scratch.read("prd.json");
    fine(&run(&scratch, "2"));
    let ticked = |at: &str| {
        let text = scratch.git(&["show", &format!("{at}:prd.json")]);
        text.matches("\"passes\": true").count()
    };
    assert_eq!(
        [ticked("main"), ticked("piton/prd~1"), ticked(TARGET)],
        [0, 1, 2]
    );
    let changed = |at: &str| {
        let range = format!("{at}~1..{at}");
        scratch.git(&["diff", "--name-only", &range])
    };
    assert_eq!(
        changed("piton/prd").lines().count(),
        2,
        "{}",
        changed("piton/prd")
    );
    assert_eq!(scratch.read("prd.json"), before, "in the main work tree");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    let status = scratch.json(&["status"]);
    assert_eq!(status["run"]["nodes"][0]["done_on"], TARGET, "{status}");
    assert_eq!(status["run"]["decisions"], serde_json::json!([]));
    scratch.git(&["merge", "-q", "--no-edit", TARGET]);
    fine(&scratch.piton(&["land", "prd"]));
    assert_eq!(ticked("main"), 2);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    let status = scratch.json(&["status"]);
    assert_eq!(status["run"]["nodes"][0].get("done_on"), None, "{status}");
    assert_eq!(status["run"]["decisions"], serde_json::json!([]));
}

#[test]
fn with_one_worker_it_is_worked_on_in_place() {
    let scratch = project("echo made >$PITON_ITEM.txt", 2);
    fine(&run(&scratch, "1"));
    assert!(scratch.has("US-001.txt") && scratch.has("US-002.txt"));
    let kinds = scratch.event_kinds();
    let of_lanes = ["lane", "merge", "run-targeted"];
    let is_of_lanes = |kind: &String| of_lanes.iter().any(|of| kind.starts_with(of));
    assert!(!kinds.iter().any(is_of_lanes), "{kinds:?}");
}

/// Where lanes cannot begin.
const REFUSED: &[(&str, &str)] = &[
    (
        "echo changed >shared",
        "several workers begin at the commit that is checked out, and these have changes that are in none: shared [git.dirty]",
    ),
    (
        "git add prd.json; git commit -qm plan; echo >>prd.json",
        "these have changes that are in none: prd.json [git.dirty]",
    ),
];

#[test]
fn lanes_that_cannot_begin_are_refused_in_words_and_nothing_is_begun() {
    for (made, words) in REFUSED {
        let scratch = project("true", 2);
        shell(&scratch, made);
        let said = run(&scratch, "2");
        assert_eq!(said.exit, 1, "{made}: {}", said.err);
        assert!(said.err.contains(words), "{made}: {}", said.err);
        assert_eq!(scratch.git(&["branch", "--list", "piton/*"]), "");
    }
}

#[test]
fn a_file_that_git_does_not_track_is_named_and_in_nobodys_way() {
    let scratch = project("echo made >$PITON_ITEM.txt; ls >$PITON_ITEM.txt", 2);
    // What the shell has made of `>run.log` when piton begins.
    scratch.write("run.log", "log\n");
    let said = run(&scratch, "2");
    fine(&said);
    let words = "git does not track these, and no lane has them: run.log\n";
    assert!(said.err.contains(words), "{}", said.err);
    assert!(!on_target(&scratch, "US-001.txt").contains("run.log"));
    let tips = scratch.git(&["rev-parse", "main", TARGET]);
    let tips: Vec<&str> = tips.lines().collect();
    assert_eq!(tips[0], tips[1], "it has landed");
    assert_eq!(scratch.read("run.log"), "log\n");
}

#[test]
fn several_workers_are_refused_outside_of_git_and_without_a_commit() {
    let scratch = Scratch::outside_git();
    scratch.agent("true").write("prd.json", &list(2, ""));
    let said = run(&scratch, "2");
    assert_eq!(said.exit, 7, "{}", said.err);
    assert!(said.err.contains("[git.missing]"), "{}", said.err);
    let scratch = Scratch::new();
    scratch.agent("true").write("prd.json", &list(2, ""));
    let said = run(&scratch, "2");
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("[git.no_commit]"), "{}", said.err);
}

#[test]
fn an_agent_that_no_lane_will_have_is_named_before_anything_is_started() {
    let scratch = project("true", 2);
    scratch.git(&["rm", "-q", "--cached", "agent.sh"]);
    scratch.write(".gitignore", "agent.sh\n");
    scratch.git(&["add", ".gitignore"]);
    scratch.git(&["commit", "-qm", "the agent is nobody else's"]);
    let said = run(&scratch, "2");
    assert_eq!(said.exit, 7, "{}", said.err);
    let told = "`./agent.sh` is in no lane, for it is not in the commit at which they begin";
    assert!(said.err.contains(told), "{}", said.err);
    let whole = scratch.path().join("agent.sh");
    let whole = whole.to_str().expect("a path in UTF-8");
    assert!(said.err.contains(whole), "{}", said.err);
    let arguments = ["run", "prd.json", "--workers", "2", "--agent", whole];
    assert_eq!(
        scratch.piton(&arguments).exit,
        3,
        "it is asked what changed nothing"
    );
    // Where it is copied into lanes it is there.
    let scratch = project("echo made >$PITON_ITEM.txt", 2);
    scratch.git(&["rm", "-q", "--cached", "agent.sh"]);
    scratch.write(".gitignore", "agent.sh\n");
    scratch.write(".worktreeinclude", "agent.sh\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "the agent is nobody else's"]);
    fine(&run(&scratch, "2"));
    assert!(on_target(&scratch, "US-002.txt").contains("made"));
}

#[test]
fn a_check_of_the_run_that_is_not_there_is_asked_about_before_an_agent_looks() {
    let scratch = project("echo made >$PITON_ITEM.txt; echo x >>$STARTS", 1);
    scratch.write(".piton/config.toml", "[merge]\ncheck = 'nothere'\n");
    let starts = scratch.path().join(".piton/starts");
    let run = || {
        let mut command = scratch.command(&arguments("2"));
        command.env("STARTS", &starts);
        Running::start(command).end()
    };
    let said = run();
    assert_eq!(said.exit, 1, "{}", said.err);
    let asked = scratch.json_list(&["inbox"]);
    let details = asked.to_string();
    assert!(
        details.contains("`nothere` cannot be run on the merged tree"),
        "{details}"
    );
    assert!(details.contains("nothere: not found"), "{details}");
    assert!(!said.err.contains("goes back to an agent"), "{}", said.err);
    scratch.write(".piton/config.toml", "[merge]\ncheck = 'true'\n");
    fine(&scratch.piton(&["decide", "d1", "retry"]));
    fine(&run());
    all_done(&scratch, 1);
    assert_eq!(scratch.read(".piton/starts"), "x\n", "one agent was enough");
}

#[test]
fn a_hook_that_refuses_a_commit_is_not_gone_past_by_trying_again() {
    let scratch = project("echo $WORD >$PITON_ITEM.txt", 1);
    let hook = "if git diff --cached | grep -q '^+bad'; then echo no bad words; exit 1; fi";
    scratch.script(".git/hooks/pre-commit", &format!("#!/bin/sh\n{hook}\n"));
    let run = |word: &str| {
        let mut command = scratch.command(&arguments("2"));
        command.env("WORD", word);
        Running::start(command).end()
    };
    for decision in ["d1", "d2", "d3"] {
        let said = run("bad");
        assert_eq!(said.exit, 1, "{}", said.err);
        assert!(said.err.contains("no bad words"), "{}", said.err);
        assert_eq!(merges(&scratch), Vec::<String>::new());
        fine(&scratch.piton(&["decide", decision, "retry"]));
    }
    scratch.script(".git/hooks/pre-commit", "#!/bin/sh\n");
    fine(&run("bad"));
    all_done(&scratch, 1);
    let messages = scratch.git(&["log", "--format=%B", TARGET]);
    assert!(!messages.contains("Piton-Saved"), "{messages}");
}

#[test]
fn a_setup_that_fails_counts_against_no_item() {
    let scratch = project("echo $DB >$PITON_ITEM.txt", 2);
    scratch.write(
        ".piton/config.toml",
        "[workspace]\nsetup = 'echo no database; exit 3'\n",
    );
    let said = run(&scratch, "2");
    assert_eq!(said.exit, 7, "{}", said.err);
    assert!(said.err.contains("no database"), "{}", said.err);
    assert!(
        said.err.contains("[workspace.setup_failed]"),
        "{}",
        said.err
    );
    scratch.write(
        ".piton/config.toml",
        "[workspace]\nsetup = 'echo DB=shop_$PITON_LANE >$PITON_LANE_ENV'\n",
    );
    fine(&run(&scratch, "2"));
    all_done(&scratch, 2);
    assert!(on_target(&scratch, "US-001.txt").starts_with("shop_"));
}

/// A target that another hand took away or set back, and what puts it right.
const MOVED: &[(&str, &str)] = &[
    ("git branch -q -D piton/prd", "the branch piton/prd is gone"),
    (
        "git branch -q -f piton/prd main",
        "lacks what was merged up to",
    ),
];

#[test]
fn a_target_that_was_moved_stops_the_queue_and_the_hint_puts_it_right() {
    for (made, words) in MOVED {
        let agent = "if [ $PITON_ITEM = US-002 ] && [ ! -e $PITON_PROJECT/.piton/go ]\nthen echo '{\"status\": \"blocked\", \"error\": \"no\"}'; exit; fi\necho made >$PITON_ITEM.txt";
        let scratch = project(agent, 2);
        assert_ne!(run(&scratch, "2").exit, 0);
        assert_eq!(merges(&scratch), ["prd: merge US-001"]);
        shell(&scratch, made);
        scratch.write(".piton/go", "");
        fine(&scratch.piton(&["plan", "retry", "US-002"]));
        let said = run(&scratch, "2");
        assert_eq!(said.exit, 1, "{}", said.err);
        assert!(said.err.contains(words), "{words}: {}", said.err);
        assert!(said.err.contains("[target.moved]"), "{}", said.err);
        let hint = said.err.lines().find(|line| line.starts_with("hint:"));
        let typed = hint.expect("a hint").split('`').skip(1).step_by(2);
        for command in typed {
            shell(&scratch, command);
        }
        scratch.git(&["switch", "-q", "main"]);
        fine(&run(&scratch, "2"));
        on_target(&scratch, "US-001.txt");
        on_target(&scratch, "US-002.txt");
    }
}

#[track_caller]
pub(crate) fn shell(scratch: &Scratch, script: &str) {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).current_dir(scratch.path());
    assert!(shell.status().expect("a shell").success(), "{script}");
}

/// What an agent does to its lane the first time, whatever it says then.
const LOST: &[&str] = &[
    "d=$(pwd); cd /; rm -rf \"$d\"",
    "rm .git; git init -q .; git add x.txt; git commit -qm mine",
];

#[test]
fn an_agent_that_does_away_with_its_lane_has_done_nothing() {
    for lost in LOST {
        let agent = format!(
            "echo made >$PITON_ITEM.txt; echo x >x.txt\nif [ $PITON_ITEM = US-002 ] && [ ! -e $PITON_PROJECT/.piton/seen ]\nthen touch $PITON_PROJECT/.piton/seen; {lost}; fi\nrm -f x.txt"
        );
        let scratch = project(&agent, 3);
        let said = run(&scratch, "2");
        assert_eq!(said.exit, 0, "{lost}: {}", said.err);
        all_done(&scratch, 3);
        let shown = scratch.json(&["show", "US-002"]).to_string();
        assert!(shown.contains("what was done in it is lost"), "{shown}");
    }
}

#[test]
fn an_agent_that_leaves_a_history_of_its_own_holds_up_no_other() {
    let agent = "echo made >$PITON_ITEM.txt
if [ $PITON_ITEM = US-002 ]; then git checkout -q --orphan mine; git add --all; git commit -qm mine; fi";
    let scratch = project(agent, 3);
    let said = run(&scratch, "2");
    assert_ne!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("was not built on"), "{}", said.err);
    let mut merged = merges(&scratch);
    merged.sort();
    assert_eq!(merged, ["prd: merge US-001", "prd: merge US-003"]);
}

#[test]
fn further_work_begins_at_what_was_committed_since_the_work_landed() {
    let scratch = project("cat shared >$PITON_ITEM.txt", 2);
    fine(&run(&scratch, "2"));
    main_has_it(&scratch);
    scratch.write("shared", "mended\n");
    scratch.git(&["commit", "-qam", "mend"]);
    scratch.write("prd.json", &list(3, ""));
    let text = scratch.read("prd.json");
    let text = text.replacen("\"passes\": false", "\"passes\": true", 2);
    scratch.write("prd.json", &text);
    fine(&run(&scratch, "2"));
    assert_eq!(on_target(&scratch, "US-003.txt"), "mended\n");
    main_has_it(&scratch);
}

/// What leaves a run at work in lanes, and how that ends.
#[test]
fn a_pause_a_stop_and_a_skip_leave_nothing_half_done() {
    let agent = "touch $PITON_PROJECT/.piton/at-$PITON_ITEM
until [ -e $PITON_PROJECT/.piton/go ]; do sleep 0.05; done
echo made >$PITON_ITEM.txt";
    let scratch = project(agent, 3);
    let running = Running::start(scratch.command(&arguments("2")));
    let at = |item: &str| scratch.has(&format!(".piton/at-{item}"));
    scratch.until("two work", || at("US-001") && at("US-002"));
    fine(&scratch.piton(&["plan", "skip", "US-001"]));
    // The lane of what is left out is free for the third.
    scratch.until("the third works", || at("US-003"));
    running.signal(rustix::process::Signal::INT);
    let said = running.end();
    assert_eq!(said.exit, 130, "{}", said.err);
    main_has_it(&scratch);
    scratch.write(".piton/go", "");
    fine(&run(&scratch, "2"));
    let merged = merges(&scratch);
    assert_eq!(merged.len(), 2, "{merged:?}");
    assert!(
        !merged.iter().any(|line| line.contains("US-001")),
        "{merged:?}"
    );
    main_has_it(&scratch);
}

/// Failpoints that a run in lanes comes to, each with how often it is passed before.
const POINTS: &[&str] = &[
    "target.recorded",
    "unit.lane-chosen",
    "unit.lane-chosen:2",
    "lane.registered",
    "lane.registered:2",
    "lane.added",
    "lane.cleaned:2",
    "lane.included",
    "lane.set-up",
    "run.started",
    "run.started:2",
    "run.agent-ended",
    "git.staged",
    "run.before-commit:2",
    "run.after-commit",
    "unit.kept",
    "unit.kept:2",
    "merge.made",
    "merge.made:2",
    "merge.before-move",
    "merge.moved",
    "merge.moved:2",
    "unit.both-sides",
    "unit.opened",
    "run.over",
    "unit.before-refs-dropped",
];

/// Dies at each of these points, once more at the same in the run after that, and
/// goes on to the end.
#[test]
fn wherever_the_runner_dies_the_next_one_finishes_or_undoes_it() {
    for point in POINTS {
        let scratch = project(SAME, 3);
        scratch.write(".piton/config.toml", "[workspace]\nsetup = 'true'\n");
        for (nth, must_die) in [true, false].into_iter().enumerate() {
            let mut command = scratch.command(&arguments("3"));
            command.env("PITON_FAILPOINT", point);
            let said = Running::start(command).end();
            let died = said.exit != 0;
            assert!(died || !must_die, "{point}, time {nth}: {}", said.err);
        }
        let said = run(&scratch, "3");
        assert_eq!(said.exit, 0, "{point}: {}", said.err);
        all_done(&scratch, 3);
        main_has_it(&scratch);
        assert_eq!(on_target(&scratch, "shared").lines().count(), 3, "{point}");
        let refs = scratch.git(&["for-each-ref", "--format=%(refname)"]);
        assert_eq!(refs, "refs/heads/main\nrefs/heads/piton/prd\n", "{point}");
        fine(&scratch.piton(&["journal", "verify"]));
    }
}

/// So many times the runner is killed, each a little later.
const KILLS: u64 = 12;

#[test]
fn a_runner_that_is_killed_again_and_again_loses_and_doubles_nothing() {
    const STORIES: u32 = 12;
    // Each third writes what each third writes.
    let agent = "if grep -q '^<<<<<<<' shared
then grep -v '^[<=>|]\\{7\\}' shared >.both; sort -u .both >shared; rm .both
else case $PITON_ITEM in *3|*6|*9|*12) grep -q $PITON_ITEM shared || echo $PITON_ITEM >>shared;; esac
fi
sleep 0.2
echo made >$PITON_ITEM.txt";
    let scratch = project(agent, STORIES);
    for kill in 0..KILLS {
        let running = Running::start(scratch.command(&arguments("3")));
        std::thread::sleep(std::time::Duration::from_millis(150 + kill * 67 % 600));
        running.kill();
    }
    fine(&run(&scratch, "3"));
    all_done(&scratch, STORIES);
    main_has_it(&scratch);
    let shared = on_target(&scratch, "shared");
    for number in (3..=STORIES).step_by(3) {
        let item = format!("US-{number:03}");
        assert_eq!(shared.matches(&item).count(), 1, "{shared}");
    }
    let verified = scratch.piton(&["journal", "verify"]);
    fine(&verified);
}
