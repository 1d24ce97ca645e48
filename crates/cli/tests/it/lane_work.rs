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

/// What an agent does in a repository within its lane, and how it undoes that when it
/// is tried again.
const INNER: &[(&str, &str, &str)] = &[
    (
        "sub",
        "git -C sub commit --quiet --allow-empty -m more",
        "git -C sub checkout --quiet $(git rev-parse main:sub)",
    ),
    (
        "app",
        "git init --quiet app; git -C app commit --quiet --allow-empty -m new",
        "rm -rf app/.git; git rm --quiet --cached app; echo >app/page",
    ),
];

#[test]
fn what_is_committed_in_a_repository_within_a_lane_is_said_and_not_merged() {
    let inner = Scratch::new();
    inner.git(&["commit", "--quiet", "--allow-empty", "-m", "inner"]);
    let allow = "git -c protocol.file.allow=always";
    for (name, does, undoes) in INNER {
        let agent = format!(
            "echo made >$PITON_ITEM.txt
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
once=$PITON_PROJECT/.piton/once
if [ $PITON_ITEM = US-001 ] && mkdir $once; then {does}
elif [ $PITON_ITEM = US-001 ]; then {undoes}
fi"
        );
        let scratch = project(&agent, 2);
        let url = inner.path().display().to_string();
        shell(
            &scratch,
            &format!("{allow} submodule --quiet add {url} sub"),
        );
        scratch.git(&["commit", "--quiet", "--amend", "-m", "begin"]);
        let setup = format!("setup = \"{allow} submodule --quiet update --init\"");
        scratch.write(".piton/config.toml", &format!("[workspace]\n{setup}\n"));
        let said = run(&scratch, "2");
        assert_eq!(said.exit, 1, "{}", said.err);
        let words = format!("{name} is a repository of its own, and what is done in it is not");
        assert!(said.err.contains(&words), "{}", said.err);
        assert_eq!(merges(&scratch), ["prd: merge US-002"]);
        // To commit it once more changes nothing: an agent has to undo it.
        fine(&scratch.piton(&["decide", "d1", "retry"]));
        assert_eq!(run(&scratch, "2").exit, 1);
        fine(&scratch.piton(&["decide", "d2", "answer", "--why", "undo it"]));
        fine(&run(&scratch, "2"));
        all_done(&scratch, 2);
        let links = scratch.git(&["ls-tree", "-r", TARGET]);
        assert_eq!(links.matches("160000").count(), 1, "{links}");
        let begun = inner.git(&["rev-parse", "HEAD"]);
        assert!(links.contains(begun.trim()), "{links}");
    }
}
