//! Many items in several lanes, some of which conflict or are red only together, and a
//! runner that is killed every few moments.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::{Running, Scratch};
use crate::lanes::fine;

struct Size {
    lanes: u32,
    items: u32,
    /// One of so many writes a line where others write theirs. Four of them stand one
    /// after another, so that some are at work at once whatever the machine's pace.
    conflict_each: u32,
    /// So many items are red together with another one.
    red: u32,
    /// How long a runner lives at most, in milliseconds.
    life_ms: u64,
    /// How often it is killed, at most.
    kills: u32,
}

/// What an agent does: it resolves, adds its line where it has one, and of a pair that
/// must not both be on leaves its own off where the other one is on.
const AGENT: &str = r#"cat >/dev/null
if grep -q '^<<<<<<<' shared
then grep -v '^[<=>|]\{7\}' shared >.both; sort -u .both >shared; rm .both
fi
if grep -qx "$PITON_ITEM" conflicts && ! grep -qx "$PITON_ITEM" shared
then echo "$PITON_ITEM" >>shared
fi
other=$(sed -n "s/^$PITON_ITEM //p" pairs)
if [ -n "$other" ]
then if grep -qsx on "switches/$other"; then echo off; else echo on; fi >"switches/$PITON_ITEM"
fi
sleep 0.2
echo made >$PITON_ITEM.txt
echo '{"status": "completed", "summary": "did it"}'
"#;

/// Each line stands once, nothing between markers, and of no pair both are on.
const CHECK: &str = r#"#!/bin/sh
if grep -q '^[<=>]\{7\}' shared || [ -n "$(sort shared | uniq -d)" ]; then exit 1; fi
while read -r one other
do if grep -qsx on "switches/$one" && grep -qsx on "switches/$other"; then exit 1; fi
done <pairs
"#;

fn id(number: u32) -> String {
    format!("US-{number:03}")
}

fn project(size: &Size) -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(AGENT);
    scratch.write("check.sh", CHECK);
    scratch.write("shared", "begin\n");
    scratch.write("switches/none", "");
    let numbers = 1..=size.items;
    let conflicts = numbers
        .clone()
        .filter(|number| (number - 1) % (4 * size.conflict_each) >= 4 * (size.conflict_each - 1));
    let conflicts: String = conflicts
        .map(|number| format!("{}\n", id(number)))
        .collect();
    scratch.write("conflicts", &conflicts);
    let pairs: String = (1..=size.red)
        .map(|number| format!("{} {}\n", id(number), id(((number - 1) ^ 1) + 1)))
        .collect();
    scratch.write("pairs", &pairs);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    let mut items = String::new();
    for number in numbers {
        let id = id(number);
        let comma = if number > 1 { "," } else { "" };
        write!(
            items,
            r#"{comma}{{"id": "{id}", "title": "Story {number}", "verification": {{"custom": ["test -s {id}.txt"]}}, "passes": false}}"#
        )
        .expect("a string takes everything");
    }
    let list = format!(r#"{{"project": "many", "userStories": [{items}]}}"#);
    scratch.write("prd.json", &list);
    scratch.write(".piton/config.toml", "[merge]\ncheck = 'sh check.sh'\n");
    scratch
}

fn command(scratch: &Scratch, size: &Size) -> Command {
    let workers = size.lanes.to_string();
    let agent = ["run", "prd.json", "--agent", "./agent.sh", "--workers"];
    let arguments: Vec<&str> = agent.into_iter().chain([&*workers]).collect();
    scratch.command(&arguments)
}

/// Kills the runner again and again, until it comes to the end.
fn carried_through(scratch: &Scratch, size: &Size) {
    let mut kills = 0;
    loop {
        let running = Running::start(command(scratch, size));
        let life = size.life_ms / 2 + u64::from(kills) * 397 % size.life_ms;
        let begun = Instant::now();
        while kills < size.kills && begun.elapsed() < Duration::from_millis(life) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if kills == size.kills {
            return fine(&running.end_within(Duration::from_secs(600)));
        }
        running.kill();
        kills += 1;
    }
}

/// At every commit of the target the check of the item that was merged there passes,
/// and that of the run.
#[track_caller]
fn every_commit_is_green(scratch: &Scratch, size: &Size) {
    let log = [
        "log",
        "--first-parent",
        "--reverse",
        "--format=%H %s",
        "piton/prd",
    ];
    let log = scratch.git(&log);
    let mut merged: Vec<&str> = Vec::new();
    let tree = tempfile::tempdir().expect("a folder");
    for line in log.lines().skip(1) {
        let (commit, subject) = line.split_once(' ').expect("a subject");
        let item = subject.rsplit(' ').next().expect("it names its item");
        merged.push(item);
        let script = format!(
            "git archive {commit} | tar -x -C {0} && cd {0} && test -s {item}.txt && sh check.sh",
            tree.path().display()
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(scratch.path())
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{line}: {output:?}");
    }
    let count = merged.len();
    merged.sort_unstable();
    merged.dedup();
    assert_eq!(merged.len(), count, "something was merged twice");
    assert_eq!(count, size.items as usize);
}

fn nothing_is_lost(size: &Size) {
    let scratch = project(size);
    carried_through(&scratch, size);
    let status = scratch.json(&["status"]);
    assert_eq!(status["run"]["state"], "done", "{status}");
    every_commit_is_green(&scratch, size);
    let told = scratch.piton(&["journal", "export"]).out;
    let told = told.replace(['\\', ' '], "");
    for what in [
        r#""cause":"conflict""#,
        r#""cause":"red""#,
        r#""kind":"lease-lost""#,
    ] {
        assert!(told.contains(what), "there is no {what}");
    }
    let shared = scratch.git(&["show", "piton/prd:shared"]);
    let lines = size.items / size.conflict_each + 1;
    assert_eq!(shared.lines().count(), lines as usize, "{shared}");
    let list = scratch.read("prd.json");
    assert_eq!(
        list.matches("\"passes\": true").count(),
        size.items as usize
    );
    // Until it is cleaned there are the target and the pool, and afterwards nothing.
    let tips = scratch.git(&["rev-parse", "main", "piton/prd"]);
    let tips: Vec<&str> = tips.lines().collect();
    assert_eq!(tips[0], tips[1], "it has landed");
    let refs = || scratch.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs(), "refs/heads/main\nrefs/heads/piton/prd\n");
    fine(&scratch.piton(&["journal", "verify"]));
    fine(&scratch.piton(&["plan", "clean", "prd"]));
    assert_eq!(refs(), "refs/heads/main\n");
    assert_eq!(scratch.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn forty_items_in_three_lanes_are_merged_once_each_however_often_the_runner_is_killed() {
    nothing_is_lost(&Size {
        lanes: 3,
        items: 40,
        conflict_each: 5,
        red: 4,
        life_ms: 1_500,
        kills: 8,
    });
}

#[test]
#[ignore = "takes minutes; run it by hand"]
fn two_hundred_items_in_eight_lanes_are_merged_once_each_however_often_the_runner_is_killed() {
    nothing_is_lost(&Size {
        lanes: 8,
        items: 200,
        conflict_each: 5,
        red: 20,
        life_ms: 4_000,
        kills: 20,
    });
}
