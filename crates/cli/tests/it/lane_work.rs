//! What becomes of work in lanes: which tree its check saw, and that none of it is
//! lost without a word.

use crate::harness::{Running, Scratch};
use crate::lanes::{
    TARGET, all_done, arguments, fine, list, main_has_it, merges, on_target, project, run, shell,
};

/// What a story is checked by: the file of the item says what it is to say. Each run
/// is noted.
fn check_of(words: &str) -> String {
    format!(r#""verificationCommands": ["echo run >>$PITON_PROJECT/.piton/checks; {words}"], "#)
}

/// A hook of the user's that runs before each commit, in every lane.
fn before_each_commit(scratch: &Scratch, script: &str) {
    scratch.script(".git/hooks/pre-commit", script);
}

/// How often checks were run.
fn checks(scratch: &Scratch) -> usize {
    scratch.read(".piton/checks").lines().count()
}

/// The hook, and how often the check of one item runs: before its first attempt and
/// after it, and once more where the commit has another tree.
const HOOKS: &[(&str, usize)] = &[("true", 2), ("echo >>notes; git add notes", 3)];

#[test]
fn the_check_is_left_out_where_it_saw_the_merged_tree_and_nowhere_else() {
    for (hook, times) in HOOKS {
        let scratch = project("echo made >US-001.txt", 1);
        scratch.write("prd.json", &list(1, &check_of("test -e US-001.txt")));
        before_each_commit(&scratch, hook);
        fine(&run(&scratch, "2"));
        assert_eq!(merges(&scratch), ["prd: merge US-001"]);
        assert_eq!(checks(&scratch), *times, "{hook}");
    }
}

#[test]
fn what_a_hook_made_of_the_work_is_not_merged_where_its_check_fails() {
    let scratch = project("echo made >US-001.txt", 1);
    scratch.write("prd.json", &list(1, &check_of("grep -qx made US-001.txt")));
    before_each_commit(&scratch, "echo formatted >US-001.txt; git add US-001.txt");
    let said = run(&scratch, "2");
    assert_eq!(merges(&scratch), [""; 0], "{}", said.err);
    assert_ne!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("fails on the merged tree"),
        "{}",
        said.err
    );
}

/// Where the work on the first item stands when its runner dies.
const DEATHS: &[&str] = &[
    "run.agent-ended",
    "gate.ended:2",
    "run.before-commit",
    "git.staged",
];

/// Takes away every lane that there is, as a person may.
fn lanes_vanish(scratch: &Scratch) {
    shell(scratch, "rm -rf .piton/lanes/*/*-[0-9]");
}

#[test]
fn finished_work_whose_lane_is_gone_is_done_again_by_the_next_run() {
    for death in DEATHS {
        let scratch = project("echo made >$PITON_ITEM.txt", 1);
        scratch.write("prd.json", &list(1, &check_of("ls US-*.txt")));
        let mut command = scratch.command(&arguments("2"));
        command.env("PITON_FAILPOINT", death);
        let said = Running::start(command).end();
        assert_eq!(said.exit, -1, "{death}: {}", said.err);
        lanes_vanish(&scratch);
        let said = run(&scratch, "2");
        assert_eq!(said.exit, 0, "{death}: {}", said.err);
        assert!(said.err.contains("is gone, "), "{death}: {}", said.err);
        assert!(
            said.err.contains("is worked on again"),
            "{death}: {}",
            said.err
        );
        all_done(&scratch, 1);
        fine(&scratch.piton(&["journal", "verify"]));
    }
}

/// What a check does to the lane in which it passes.
const TAKEN: &[&str] = &["rm -rf $PWD", "rm .git"];

#[test]
fn a_lane_that_its_check_does_away_with_leads_to_a_person_and_changes_nothing_else() {
    for taken in TAKEN {
        let scratch = project("echo made >$PITON_ITEM.txt", 1);
        let script = format!("test -e US-001.txt && {taken}");
        scratch.write("prd.json", &list(1, &check_of(&script)));
        let before = scratch.git(&["log", "--all", "--format=%H"]);
        let said = run(&scratch, "2");
        assert_ne!(said.exit, 0, "{taken}: {}", said.err);
        assert!(
            said.err.contains("what was done in it is lost"),
            "{taken}: {}",
            said.err
        );
        assert_eq!(merges(&scratch), [""; 0], "{taken}");
        let shown = scratch.json(&["show", "US-001"]);
        assert_eq!(shown["item"]["state"], "failed", "{taken}: {shown}");
        // Nothing was committed, and the main work tree is as it was.
        assert_eq!(
            scratch.git(&["log", "--all", "--format=%H"]),
            before,
            "{taken}"
        );
        assert_eq!(
            scratch.git(&["branch", "--show-current"]),
            "main\n",
            "{taken}"
        );
        assert!(scratch.has("prd.json"), "{taken}");
    }
}

#[test]
fn what_a_person_leaves_out_while_it_has_a_lane_is_kept_and_said_where() {
    let scratch = project("echo half >$PITON_ITEM.txt", 2);
    let list = list(2, &check_of("ls US-*.txt"));
    let second = "\"id\": \"US-002\", ";
    let behind = format!("{second}\"dependsOn\": [\"US-001\"], ");
    scratch.write("prd.json", &list.replace(second, &behind));
    let mut command = scratch.command(&arguments("2"));
    command.env("PITON_FAILPOINT", "gate.before-start:2");
    Running::start(command).end();
    fine(&scratch.piton(&["plan", "skip", "US-001"]));
    let said = run(&scratch, "2");
    let words = "the work on US-001 that is not merged is kept: see it with `";
    let line = said.err.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("{}", said.err));
    for typed in line.split('`').skip(1).step_by(2) {
        shell(&scratch, &format!("{typed} | grep -q ."));
    }
    let diff = line.split('`').nth(3).expect("a command");
    shell(&scratch, &format!("{diff} | grep -q '+half'"));
}

#[test]
fn what_a_person_marks_at_a_pause_stays_in_its_lane_and_cleaning_names_it() {
    let agent = "touch $PITON_PROJECT/.piton/at-$PITON_ITEM
until [ -e $PITON_PROJECT/.piton/go ]; do sleep 0.05; done
echo half >$PITON_ITEM.txt";
    let scratch = project(agent, 2);
    let running = Running::start(scratch.command(&arguments("2")));
    let is_at_work = |item: &str| scratch.has(&format!(".piton/at-{item}"));
    scratch.until("both work", || is_at_work("US-001") && is_at_work("US-002"));
    fine(&scratch.piton(&["pause", "prd"]));
    scratch.write(".piton/go", "");
    assert_eq!(running.end().exit, 3);
    let marked = scratch.read("prd.json").replace("false", "true");
    scratch.write("prd.json", &marked);
    fine(&scratch.piton(&["resume", "prd"]));
    for _ in 0..2 {
        let said = run(&scratch, "2");
        fine(&said);
        let words = "what was begun on US-002 is not merged, and in its lane alone";
        assert!(said.err.contains(words), "{}", said.err);
        let status = scratch.piton(&["status", "prd"]);
        assert!(status.out.contains(words), "{}", status.out);
    }
    // Another run takes lanes of its own.
    scratch.git(&["add", "prd.json"]);
    scratch.git(&["commit", "-qm", "what was planned"]);
    scratch.write("other.json", &list(2, ""));
    let mut of_other = arguments("2");
    of_other[1] = "other.json";
    fine(&scratch.piton(&of_other));
    let cleaned = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(cleaned.exit, 1, "{}", cleaned.err);
    let status = cleaned.err.split('`').nth(1).expect("what to type");
    shell(&scratch, &format!("{status} --short | grep -q US-00"));
    // An agent may have committed it, on no branch.
    for lane in [1, 2] {
        let lane = format!("git -C .piton/lanes/{lane}/*-{lane}");
        shell(
            &scratch,
            &format!("{lane} add --all; {lane} commit --quiet -m half"),
        );
    }
    let cleaned = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(cleaned.exit, 1, "{}", cleaned.err);
    let log = cleaned.err.split('`').nth(1).expect("what to type");
    shell(&scratch, &format!("{log} | grep -q half"));
    // On a branch of its own it is kept without the lane.
    for number in [1, 2] {
        let lane = format!("git -C .piton/lanes/{number}/*-{number}");
        shell(&scratch, &format!("{lane} switch --quiet -c keep-{number}"));
    }
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    shell(
        &scratch,
        "git log --branches=keep-* --format=%s | grep -q half",
    );
}

/// A run that a person marked as done while two units were begun in their lanes, and
/// another one that has used these since.
fn with_lanes_handed_on() -> Scratch {
    let agent = "at=$PITON_PROJECT/.piton; touch $at/at-$PITON_ITEM
until [ -e $at/go ]; do sleep 0.05; done
[ ! -e $at/second ] || echo $PITON_LANE >$PITON_ITEM-$PITON_RUN.txt";
    let scratch = project(agent, 2);
    let running = Running::start(scratch.command(&arguments("2")));
    let is_at_work = |item: &str| scratch.has(&format!(".piton/at-{item}"));
    scratch.until("both work", || is_at_work("US-001") && is_at_work("US-002"));
    fine(&scratch.piton(&["pause", "prd"]));
    scratch.write(".piton/go", "");
    assert_eq!(running.end().exit, 3);
    let planned = scratch.read("prd.json");
    scratch.write("prd.json", &planned.replace("false", "true"));
    fine(&scratch.piton(&["resume", "prd"]));
    fine(&run(&scratch, "2"));
    scratch.write(".piton/second", "");
    scratch.write("other.json", &list(4, ""));
    let mut of_other = arguments("2");
    of_other[1] = "other.json";
    fine(&scratch.piton(&of_other));
    let files = scratch.git(&["grep", "-h", "", "main", "--", "US-*.txt"]);
    let used: Vec<&str> = files.lines().collect();
    assert_eq!(used.len(), 4);
    assert!(used.contains(&"1") && used.contains(&"2"), "{used:?}");
    scratch
}

#[test]
fn a_lane_that_was_handed_on_is_cleaned_with_the_run_that_used_it_last() {
    let scratch = with_lanes_handed_on();
    fine(&scratch.piton(&["plan", "retry", "prd:US-002"]));
    let cleaned = scratch.json(&["plan", "clean", "other"]);
    assert_eq!(cleaned.get("stays"), None, "{cleaned}");
    for lane in ["1", "2"] {
        assert!(!scratch.has(&format!(".piton/lanes/{lane}")), "{cleaned}");
    }
}

#[test]
fn lanes_of_a_run_that_is_done_are_used_again_where_nothing_in_them_is_unmerged() {
    let scratch = with_lanes_handed_on();
    // A unit that had such a lane begins without what another run left there.
    shell(
        &scratch,
        "for lane in .piton/lanes/*/*-[0-9]; do echo >$lane/left; done",
    );
    fine(&scratch.piton(&["plan", "retry", "prd:US-002"]));
    fine(&run(&scratch, "2"));
    assert_eq!(
        merges(&scratch).last().map(|it| &**it),
        Some("prd: merge US-002")
    );
    let changed = scratch.git(&["diff", "--name-only", "piton/prd^", "piton/prd"]);
    assert_eq!(changed, "US-002-prd.txt\n");
    fine(&scratch.piton(&["journal", "verify"]));
}

#[test]
fn what_had_nothing_to_merge_begins_at_the_target_when_it_is_done_again() {
    let agent = "ls >>$PITON_PROJECT/.piton/seen-$PITON_ITEM
[ $PITON_ITEM = US-001 ] || echo made >$PITON_ITEM.txt";
    let scratch = project(agent, 2);
    scratch.write("prd.json", &list(2, "\"claims\": {\"word\": \"accept\"}, "));
    fine(&run(&scratch, "2"));
    assert_eq!(merges(&scratch), ["prd: merge US-002"]);
    // What is merged was done on the commit that the target is at then.
    let out = scratch.piton(&["journal", "export"]).out;
    let tip = scratch.git(&["rev-parse", TARGET]);
    let events = out.lines().filter(|line| line.contains("item-moved"));
    let mut done = events.filter(|line| line.contains("US-002") && line.contains("merged"));
    let done = done.next().expect("it is done");
    assert_eq!(done.matches(tip.trim()).count(), 2, "{done}");
    fine(&scratch.piton(&["plan", "retry", "US-001"]));
    fine(&run(&scratch, "2"));
    let seen = scratch.read(".piton/seen-US-001");
    assert!(seen.contains("US-002.txt"), "{seen}");
    let refs = scratch.git(&["for-each-ref", "--format=%(refname)", "refs/piton"]);
    assert_eq!(refs, "");
}

#[test]
fn runs_whose_names_differ_in_nothing_but_what_git_refuses_keep_their_work_apart() {
    let agent =
        "echo $PITON_RUN >US-001.txt; echo '{\"status\": \"blocked\", \"error\": \"no\"}'; exit";
    let scratch = project(agent, 1);
    scratch.write("prd-2.json", &list(1, ""));
    scratch.write(".git/info/exclude", "/prd*\n");
    let start = |plan, more: &[&str]| {
        let run = ["run", plan, "--agent", "./agent.sh", "--workers", "2"];
        let said = scratch.piton(&[&run, more].concat());
        assert_ne!(said.exit, 0, "{}", said.err);
    };
    start("prd.json", &[]);
    start("prd.json", &["--recompile"]);
    start("prd-2.json", &[]);
    let refs = scratch.git(&["for-each-ref", "--format=%(refname)", "refs/piton"]);
    assert_eq!(refs.lines().count(), 3, "{refs}");
    let folders: std::collections::BTreeSet<&str> = refs
        .lines()
        .filter_map(|name| name.rsplit_once('/').map(|it| it.0))
        .collect();
    assert_eq!(folders.len(), 3, "{refs}");
}

/// Does a half of the whole and says that it is too large; then the rest of it, for
/// which it needs what its pieces have made. It waits for the death of its runner where
/// a file asks for that.
const IN_PIECES: &str = r#"prompt=$(cat)
if [ -e $PITON_PROJECT/.piton/die-at-$PITON_ITEM ] && { [ $PITON_ITEM != US-001 ] || [ -e US-001-2.txt ]; }
then mv $PITON_PROJECT/.piton/die-at-$PITON_ITEM $PITON_PROJECT/.piton/dies; sleep 30; fi
if echo "$prompt" | grep -q '^Split '
then echo '{"status": "completed", "summary": "in two", "pieces": [{"title": "the walls", "prompt": "of stone"}, {"title": "the roof"}]}'; exit
elif [ $PITON_ITEM = US-001 ] && ! [ -e half ]
then echo half >half; echo '{"status": "failed", "error": "the context window is exceeded"}'; exit
elif [ $PITON_ITEM = US-001 ]
then echo "$prompt" >$PITON_PROJECT/.piton/told; ls >US-001.txt
else echo made >$PITON_ITEM.txt
fi"#;

const IN_PIECES_CHECK: &str = "test -e US-002.txt || test -e US-003.txt || { test -e half && test -e US-001.txt && test -e US-001-1.txt && test -e US-001-2.txt; }";

/// Three stories, the first of which is split.
fn in_pieces(agent: &str) -> Scratch {
    let scratch = project("", 3);
    let completed = r#"echo '{"status": "completed", "summary": "did it"}'"#;
    scratch.agent(&format!("{agent}\n{completed}"));
    scratch.git(&["commit", "--all", "--quiet", "--amend", "--no-edit"]);
    scratch.write("prd.json", &list(3, &check_of(IN_PIECES_CHECK)));
    scratch
}

#[test]
fn what_was_split_is_finished_with_what_its_pieces_made() {
    for dies_at in ["US-001-1", "US-001"] {
        let scratch = in_pieces(IN_PIECES);
        scratch.write(&format!(".piton/die-at-{dies_at}"), "");
        let running = Running::start(scratch.command(&arguments("3")));
        scratch.until("it is at work", || scratch.has(".piton/dies"));
        running.kill();
        let said = run(&scratch, "3");
        assert_eq!(said.exit, 0, "{dies_at}: {}", said.err);
        main_has_it(&scratch);
        let mut merged = merges(&scratch);
        merged.sort();
        let all = ["001", "001-1", "001-2", "002", "003"];
        let all = all.map(|id| format!("prd: merge US-{id}"));
        assert_eq!(merged, all, "{dies_at}");
        let list = scratch.read("prd.json");
        assert_eq!(list.matches("\"passes\": true").count(), 3, "{list}");
        fine(&scratch.piton(&["journal", "verify"]));
    }
}

#[test]
fn what_conflicts_with_its_pieces_is_told_where_they_are() {
    let agent = IN_PIECES
        .replace("echo half >half", "echo half >half; cp half US-001-1.txt")
        .replace(
            "; ls >US-001.txt",
            "; git add --all; git commit -qm half; git merge -q piton/prd; git checkout --theirs US-001-1.txt; git add US-001-1.txt; git commit -qm both; ls >US-001.txt",
        );
    let scratch = in_pieces(&agent);
    fine(&run(&scratch, "3"));
    let told = scratch.read(".piton/told");
    let words = "What `US-001-1`, `US-001-2` made is on the branch `piton/prd`";
    assert!(told.contains(words), "{told}");
    assert_eq!(on_target(&scratch, "US-001-1.txt"), "made\n");
}

#[test]
fn a_lane_that_is_removed_under_an_agent_fails_its_attempt_and_the_others_go_on() {
    for plan_is_tracked in [false, true] {
        let agent = "at=$PITON_PROJECT/.piton
if [ $PITON_ITEM = US-001 ] && mkdir $at/once
then echo $PITON_LANE >$at/lane; until [ -e $at/removed ]; do sleep 0.05; done
fi
if [ $PITON_ITEM = US-002 ]
then until [ -s $at/lane ]; do sleep 0.05; done; rm -r $at/lanes/$(cat $at/lane); touch $at/removed
fi
echo made >$PITON_ITEM.txt";
        let scratch = project(agent, 3);
        if plan_is_tracked {
            scratch.git(&["add", "prd.json"]);
            scratch.git(&["commit", "--quiet", "--amend", "--no-edit"]);
        }
        let said = run(&scratch, "2");
        fine(&said);
        assert!(said.err.contains("US-001, attempt 2"), "{}", said.err);
        let shown = scratch.piton(&["show", "US-001"]).out;
        assert!(shown.contains("what was done in it is lost"), "{shown}");
        all_done(&scratch, 3);
        fine(&scratch.piton(&["plan", "clean", "prd"]));
        fine(&scratch.piton(&["journal", "verify"]));
    }
}

/// What an agent does in a repository within its lane, what shows that it is there, and
/// how it undoes that when it is tried again.
const INNER: &[(&str, &str, &str, &str)] = &[
    (
        "sub",
        "git -C sub commit --quiet --allow-empty -m more",
        "git -C sub log -1 --format=%s | grep -qx more",
        "git -C sub checkout --quiet $(git rev-parse main:sub)",
    ),
    (
        "sub",
        "echo more >sub/lib",
        "grep -qx more sub/lib",
        "git -C sub checkout --quiet lib",
    ),
    (
        "app",
        "git init --quiet app; echo >app/page; git -C app commit --quiet --allow-empty -m new",
        "test -e app/page && git -C app log -1 --format=%s | grep -qx new",
        "rm -rf app/.git; git rm --quiet --cached app",
    ),
    (
        "app",
        "git init --quiet app; echo >app/page",
        "test -e app/page && test -d app/.git",
        "rm -rf app/.git",
    ),
];

fn inner() -> Scratch {
    let inner = Scratch::new();
    inner.write("lib", "made\n");
    inner.git(&["add", "lib"]);
    inner.git(&["commit", "--quiet", "-m", "inner"]);
    inner
}

/// Adds a submodule to a project, which `setup` checks out.
fn with_submodule(scratch: &Scratch, inner: &Scratch, config: &str) {
    let allow = "git -c protocol.file.allow=always";
    let url = inner.path().display().to_string();
    shell(scratch, &format!("{allow} submodule --quiet add {url} sub"));
    scratch.git(&["commit", "--quiet", "--amend", "-m", "begin"]);
    let setup = format!("setup = \"{allow} submodule --quiet update --init\"");
    let config = format!("[workspace]\n{setup}\n\n{config}");
    scratch.write(".piton/config.toml", &config);
}

#[test]
fn what_is_in_a_repository_within_a_lane_is_not_merged_and_stays_until_it_is_undone() {
    let inner = inner();
    for (name, does, shows, undoes) in INNER {
        // The third item begins when the first has failed, and before a lane is free.
        let agent = format!(
            "echo $PITON_LANE >$PITON_ITEM.txt
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
touch $PITON_PROJECT/.piton/at-$PITON_ITEM
case $PITON_ITEM in
US-001) if mkdir $PITON_PROJECT/.piton/once; then {does}
  elif {shows}; then {undoes}; else exit 9; fi;;
US-002) until [ -e $PITON_PROJECT/.piton/at-US-003 ]; do sleep 0.05; done;;
esac"
        );
        let scratch = project(&agent, 3);
        with_submodule(&scratch, &inner, "");
        let said = run(&scratch, "2");
        assert_eq!(said.exit, 1, "{}", said.err);
        let words = format!("-1/{name} is a repository of its own");
        assert!(said.err.contains(&words), "{}", said.err);
        let mut merged = merges(&scratch);
        merged.sort();
        assert_eq!(merged, ["prd: merge US-002", "prd: merge US-003"]);
        let is_there = || shell(&scratch, &format!("cd .piton/lanes/1/*-1; {shows}"));
        is_there();
        // To commit it once more changes nothing: an agent has to undo it.
        fine(&scratch.piton(&["decide", "d1", "retry"]));
        assert_eq!(run(&scratch, "2").exit, 1);
        is_there();
        fine(&scratch.piton(&["decide", "d2", "answer", "--why", "undo it"]));
        // Where git could not see what the agent undid, a person is asked.
        let said = run(&scratch, "2");
        if said.exit == 3 {
            let unseen = "could not see what its attempts changed";
            assert!(said.err.contains(unseen), "{}", said.err);
            fine(&scratch.piton(&["decide", "d3", "approve"]));
            fine(&run(&scratch, "2"));
        } else {
            fine(&said);
        }
        all_done(&scratch, 3);
        let links = scratch.git(&["ls-tree", "-r", TARGET]);
        assert_eq!(links.matches("160000").count(), 1, "{links}");
        let begun = inner.git(&["rev-parse", "HEAD"]);
        assert!(links.contains(begun.trim()), "{links}");
        fine(&scratch.piton(&["plan", "clean", "prd"]));
    }
}

/// An agent that goes on with its conversations: the first two items are done, and the
/// third, which gets the lane that the first has left, does something else.
const TALKS: &str = r#"#!/bin/sh
cat >/dev/null
at=$PITON_PROJECT/.piton
touch $at/at-$PITON_ITEM
echo "$PITON_ITEM $PITON_LANE $*" >>$at/args
echo more >>$PITON_ITEM.txt
case $PITON_ITEM in
US-002) until [ -e $at/at-US-003 ]; do sleep 0.05; done;;
US-003) if mkdir $at/once; then DOES; fi;;
esac
echo '{"session": "talk-'$PITON_ITEM'", "words": "{\"status\": \"completed\", \"summary\": \"did it\"}"}'
"#;

const TALKS_CONFIG: &str = "[merge]\nreview = true\n\n[agents.robot]\nprogram = './robot.sh'\noutput = 'jsonl'\nsession-flag = '--new {session}'\nresume-flag = '--go-on {session}'\n\n[agents.robot.read]\nsession = 'session'\nwords = 'words'\n";

#[test]
fn what_is_rejected_does_not_get_the_lane_in_which_another_unit_left_a_repository() {
    let inner = inner();
    for (_, does, shows, _) in INNER {
        let scratch = project("", 3);
        with_submodule(&scratch, &inner, TALKS_CONFIG);
        let export = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b";
        let script = TALKS.replace("DOES", &format!("{export}; {does}"));
        scratch.script("robot.sh", &script);
        scratch.git(&["add", "robot.sh"]);
        scratch.git(&["commit", "--quiet", "-m", "robot"]);
        let run = || scratch.piton(&["run", "prd.json", "--agent", "robot", "--workers", "2"]);
        let said = run();
        assert_ne!(said.exit, 0, "{}", said.err);
        let is_there = || shell(&scratch, &format!("cd .piton/lanes/1/*-1; {shows}"));
        is_there();
        let asked = scratch.json_list(&["inbox"]);
        let asked = asked.as_array().expect("a list").iter();
        let mut first = asked.filter(|asked| asked["node"] == "US-001");
        let id = first.next().expect("it waits")["id"].clone();
        let id = id.as_str().expect("an id");
        fine(&scratch.piton(&["decide", id, "reject", "--why", "Say whose it is."]));
        let said = run();
        let args = scratch.read(".piton/args");
        let lanes: Vec<&str> = args
            .lines()
            .filter(|line| line.contains("US-001"))
            .collect();
        assert!(lanes[0].starts_with("US-001 1 --new"), "{args}");
        assert!(!lanes[1].starts_with("US-001 1 "), "{args}{}", said.err);
        is_there();
        assert!(!said.err.contains("US-001 failed"), "{}", said.err);
    }
}

/// What an agent leaves in its lane, whether its work is merged all the same, and what
/// of it `plan clean` names.
const LEAVES: &[(&str, bool, &str)] = &[
    (
        "git -C sub commit --quiet --allow-empty -m more",
        false,
        "has commits that no remote of it has",
    ),
    (
        "git -C sub switch --quiet --create x; git -C sub commit --quiet --allow-empty -m more",
        false,
        "has commits that no remote of it has",
    ),
    (
        "echo >sub/new; git -C sub stash --quiet --include-untracked",
        true,
        "has commits that no remote of it has",
    ),
    (
        "echo >sub/built",
        true,
        "has changes that are not committed",
    ),
    (
        "git init --quiet app; echo >app/page; git -C app commit --quiet --allow-empty -m new",
        false,
        "was made there and is nowhere else",
    ),
    (
        "git init --quiet sub/app",
        true,
        "was made there and is nowhere else",
    ),
    (
        "git worktree add --quiet wt -b try; echo >wt/mine",
        false,
        "is a worktree with changes",
    ),
];

/// A run that is over, whose agent has left something in its lane.
fn that_left(does: &str, is_merged: bool, inner: &Scratch) -> Scratch {
    let export = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b";
    let scratch = project(&format!("{export}; echo >$PITON_ITEM.txt; {does}"), 1);
    with_submodule(&scratch, inner, "");
    let said = run(&scratch, "2");
    if is_merged {
        fine(&said);
    } else {
        assert_eq!(said.exit, 1, "{}", said.err);
        fine(&scratch.piton(&["decide", "d1", "skip"]));
        fine(&run(&scratch, "2"));
    }
    scratch
}

#[test]
fn what_is_typed_as_plan_clean_says_keeps_what_is_in_a_lane_and_lets_it_go() {
    for (does, is_merged, words) in LEAVES {
        let inner = inner();
        let scratch = that_left(does, *is_merged, &inner);
        let refused = scratch.piton(&["plan", "clean", "prd"]);
        assert_eq!(refused.exit, 1, "{does}: {}", refused.err);
        assert!(refused.err.contains(words), "{does}: {}", refused.err);
        assert!(scratch.has(".piton/lanes/1/lane.json"), "{does}");
        let typed = refused.err.split('`').skip(1).step_by(2);
        let typed = typed.filter(|typed| !typed.starts_with("piton "));
        let kept = tempfile::tempdir().expect("a folder");
        for line in typed {
            let folder = kept.path().join("moved").display().to_string();
            let line = line.replace("FOLDER", &folder);
            shell(&scratch, &line.replace("NAME", "kept").replace("TEXT", "x"));
        }
        let cleaned = scratch.piton(&["plan", "clean", "prd"]);
        assert_eq!(cleaned.exit, 0, "{does}: {}{}", refused.err, cleaned.err);
        assert!(!scratch.has(".piton/lanes/1"), "{does}");
        let is_moved = kept.path().join("moved").exists();
        let branches = inner.git(&["branch", "--list", "kept", "x"]);
        assert!(is_moved || !branches.is_empty(), "{does}");
    }
}

/// A person marks an item whose agent has committed in its lane.
#[test]
fn a_commit_that_goes_with_its_lane_is_named() {
    let agent = "touch $PITON_PROJECT/.piton/at-work
until [ -e $PITON_PROJECT/.piton/go ]; do sleep 0.05; done
echo mine >$PITON_ITEM.txt; git add --all; git -c user.name=A -c user.email=a@b commit --quiet -m mine";
    let scratch = project(agent, 1);
    let running = Running::start(scratch.command(&arguments("2")));
    scratch.until("it works", || scratch.has(".piton/at-work"));
    fine(&scratch.piton(&["pause", "prd"]));
    scratch.write(".piton/go", "");
    assert_eq!(running.end().exit, 3);
    let marked = scratch.read("prd.json").replace("false", "true");
    scratch.write("prd.json", &marked);
    fine(&scratch.piton(&["resume", "prd"]));
    fine(&run(&scratch, "2"));
    let refused = scratch.piton(&["plan", "clean", "prd"]);
    assert_eq!(refused.exit, 1, "{}{}", refused.out, refused.err);
    assert!(!refused.err.contains("--abandon"), "{}", refused.err);
    let gone = scratch.piton(&["plan", "clean", "prd", "--abandon"]);
    fine(&gone);
    let said = format!("{}{}", gone.out, gone.err);
    let mut typed = said
        .split('`')
        .filter(|typed| typed.starts_with("git branch"));
    let typed = typed.next().unwrap_or_else(|| panic!("{said}"));
    shell(&scratch, &typed.replace("NAME", "kept"));
    assert_eq!(scratch.git(&["show", "kept:US-001.txt"]).trim(), "mine");
}

#[test]
fn what_is_abandoned_goes_with_its_lane_and_is_named() {
    let inner = inner();
    for (does, is_merged, words) in LEAVES {
        let scratch = that_left(does, *is_merged, &inner);
        let gone = scratch.json(&["plan", "clean", "prd", "--abandon"]);
        let what = gone["abandoned"][0]["what"].as_str().expect("it is named");
        assert!(what.contains(words), "{does}: {gone}");
        assert_eq!(
            gone["abandoned"].as_array().map(Vec::len),
            Some(1),
            "{gone}"
        );
        assert!(!scratch.has(".piton/lanes/1"), "{does}");
        fine(&scratch.piton(&["plan", "clean", "prd", "--abandon"]));
    }
}

/// An agent writes a sign into the guardrails of its lane, as those of Ralph do.
#[test]
fn a_sign_that_an_agent_writes_in_its_lane_is_merged_and_known_when_it_lands() {
    let agent = "echo >$PITON_ITEM.txt
[ $PITON_ITEM = US-002 ] || echo '- Make a backup before migrations' >>.ralph/guardrails.md";
    let scratch = project(agent, 2);
    let signs = "# Guardrails\n\n## Signs\n- Never touch vendor/\n";
    std::fs::create_dir(scratch.path().join(".ralph")).expect("made");
    scratch.write(".ralph/guardrails.md", signs);
    let checks = check_of("grep -q backup .ralph/guardrails.md && ls $PITON_ITEM.txt");
    let list = list(2, &checks);
    let second = "\"id\": \"US-002\", ";
    let behind = format!("{second}\"dependsOn\": [\"US-001\"], ");
    scratch.write("prd.json", &list.replace(second, &behind));
    scratch.git(&["add", ".ralph", "prd.json"]);
    scratch.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    fine(&scratch.piton(&["init", "--yes"]));
    fine(&run(&scratch, "2"));
    all_done(&scratch, 2);
    let landed = scratch.read(".ralph/guardrails.md");
    assert_eq!(landed.matches("backup before").count(), 1, "{landed}");
    assert!(landed.contains("vendor"), "{landed}");
    let known = scratch.piton(&["learn", "list"]).out;
    assert!(known.contains("backup before"), "{known}");
    fine(&scratch.piton(&["plan", "clean", "prd"]));
}

/// What failed is saved, and gone on with in another lane: the first one has nothing
/// that is nowhere else, unless somebody changes something there afterwards.
#[test]
fn a_lane_whose_work_went_on_in_another_one_goes_with_the_run() {
    for touched in [false, true] {
        let agent = "echo x >> made-$PITON_ITEM\n\
            [ $PITON_ITEM != US-002 ] || [ -e \"$PITON_PROJECT/.git/go\" ] || {\n\
            echo '{\"status\": \"failed\", \"error\": \"no luck\"}'\nexit\n}";
        let scratch = project(agent, 3);
        assert_eq!(run(&scratch, "2").exit, 1);
        scratch.write(".git/go", "");
        fine(&scratch.piton(&["decide", "d1", "retry"]));
        fine(&run(&scratch, "2"));
        let lanes = scratch.path().join(".piton/lanes");
        let has_left = |tree: &std::path::Path| tree.join("made-US-002").exists();
        let trees = std::fs::read_dir(lanes).expect("there are lanes").flatten();
        let trees = trees.flat_map(|lane| std::fs::read_dir(lane.path()).expect("listed"));
        let mut trees = trees.flatten().map(|entry| entry.path());
        let left = trees.find(|tree| {
            has_left(tree)
                && !scratch
                    .git(&["-C", &tree.to_string_lossy(), "status", "-s"])
                    .is_empty()
        });
        let left = left.expect("it failed there");
        if touched {
            std::fs::write(left.join("by-hand"), "x").expect("written");
        }
        let said = scratch.piton(&["plan", "clean", "prd"]);
        assert_eq!(said.exit, i32::from(touched), "{}", said.err);
        assert_eq!(left.exists(), touched);
    }
}
