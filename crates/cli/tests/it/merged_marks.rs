//! Marks in a plan's file that git brought with a merge: what they say of stories that
//! ask for something else by now, and whose they are.

use crate::harness::{Said, Scratch};

/// Makes what the item asks for, which its prompt names.
const AGENT: &str = "made=$(grep -o 'file [a-z0-9.]*' | tail -1)
touch ${made#file }
echo $PITON_ITEM ${made#file } >>$PITON_PROJECT/.piton/order
echo '{\"status\": \"completed\", \"summary\": \"did it\"}'";

/// A list of two stories, which ask for files that begin with these words.
fn list(of: &str) -> String {
    let story = |nth: u32| {
        format!(
            r#"    {{
      "id": "US-{nth}",
      "title": "the {of} {nth}",
      "description": "file {of}{nth}.txt",
      "verificationCommands": ["test -f {of}{nth}.txt"],
      "priority": {nth},
      "notes": "",
      "passes": false
    }}"#
        )
    };
    let stories: Vec<String> = (1..=2).map(story).collect();
    format!(
        "{{\n  \"userStories\": [\n{}\n  ]\n}}\n",
        stories.join(",\n")
    )
}

const IN_LANES: [&str; 6] = ["run", "prd.json", "--agent", "./agent.sh", "--workers", "2"];
const IN_PLACE: [&str; 4] = ["run", "prd.json", "--agent", "./agent.sh"];

/// A repository with a list that git tracks.
fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(AGENT);
    scratch.write("prd.json", &list("keel"));
    scratch.write(".gitignore", ".piton/\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch
}

/// The same, of which a run has done the list on its branch; main has moved on.
fn done_on_branch() -> Scratch {
    let scratch = project();
    let moves = format!("git -C $PITON_PROJECT commit -q --allow-empty -m mine\n{AGENT}");
    scratch.agent(&moves);
    scratch.git(&["commit", "-qam", "another agent"]);
    fine(&scratch.piton(&IN_LANES));
    scratch.agent(AGENT);
    scratch.git(&["commit", "-qam", "the agent"]);
    scratch
}

/// Another plan, of the same ids, is committed in the file of the list.
fn replace(scratch: &Scratch) {
    scratch.write("prd.json", &list("sail"));
    scratch.git(&["commit", "-qam", "another plan"]);
}

/// Main gets what the run did on its branch: the marks with it, not the words.
fn merge(scratch: &Scratch) {
    scratch.git(&["merge", "-q", "--no-edit", "piton/prd"]);
    let text = scratch.read("prd.json");
    assert_eq!(count(&text, "\"passes\": true"), 2, "{text}");
    assert_eq!(count(&text, "test -f sail"), 2, "{text}");
}

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

fn count(text: &str, words: &str) -> usize {
    text.matches(words).count()
}

fn order(scratch: &Scratch) -> Vec<String> {
    let mut order: Vec<String> = scratch
        .read(".piton/order")
        .lines()
        .map(str::to_owned)
        .collect();
    order.sort();
    order
}

const ALL: [&str; 4] = [
    "US-1 keel1.txt",
    "US-1 sail1.txt",
    "US-2 keel2.txt",
    "US-2 sail2.txt",
];

#[test]
fn the_marks_of_another_plan_leave_the_stories_open() {
    for run in [&IN_LANES[..], &IN_PLACE] {
        let scratch = done_on_branch();
        replace(&scratch);
        merge(&scratch);
        let said = scratch.piton(run);
        fine(&said);
        let told = "prd.json marks `US-1`, `US-2` as done, but a merge took these marks from items of other words or another check: open";
        assert!(said.err.contains(told), "{}", said.err);
        assert_eq!(order(&scratch), ALL, "{}", said.err);
        assert!(scratch.has("sail1.txt") && scratch.has("sail2.txt"));
        // What was done since is not opened again.
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "-q", "--allow-empty", "-m", "done"]);
        let again = scratch.piton(&[run, &["--recompile"]].concat());
        fine(&again);
        assert_eq!(order(&scratch), ALL, "{}", again.err);
    }
}

#[test]
fn the_marks_of_another_plan_complete_nothing_of_a_run_that_has_begun() {
    for run in [&IN_LANES[..], &IN_PLACE] {
        let scratch = done_on_branch();
        replace(&scratch);
        scratch.agent("cat >/dev/null; exit 1");
        scratch.git(&["commit", "-qam", "no agent"]);
        assert_ne!(scratch.piton(&[run, &["--once"]].concat()).exit, 0);
        scratch.git(&["checkout", "-q", "--", "."]);
        merge(&scratch);
        scratch.agent(AGENT);
        scratch.git(&["commit", "-qam", "the agent"]);
        let said = scratch.piton(&["files", "sync"]);
        assert!(
            said.err.contains("but a merge took these marks"),
            "{}",
            said.err
        );
        let said = scratch.piton(&["status"]);
        assert!(
            said.out.contains("0 of 2 stories done"),
            "{}{}",
            said.out,
            said.err
        );
        scratch.piton(&["plan", "retry", "US-1"]);
        let said = scratch.piton(run);
        fine(&said);
        assert_eq!(order(&scratch), ALL, "{}", said.err);
    }
}

#[test]
fn the_marks_of_another_clone_are_taken_over_and_those_of_a_person_are_theirs() {
    let scratch = project();
    scratch.agent("cat >/dev/null; exit 1");
    assert_ne!(
        scratch.piton(&[&IN_PLACE[..], &["--once"]].concat()).exit,
        0
    );
    scratch.git(&["checkout", "-q", "--", "."]);
    let other = Scratch::new();
    let path = |scratch: &Scratch| scratch.path().to_str().expect("UTF-8").to_owned();
    other.git(&["pull", "-q", &path(&scratch), "main"]);
    let one = other.piton(&[&IN_PLACE[..], &["--max-iterations", "1"]].concat());
    assert_eq!(one.exit, 5, "{}", one.err);
    other.git(&["add", "--all"]);
    other.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    let text = list("keel");
    let (before, second) = text.rsplit_once("false").expect("it is open");
    scratch.write("prd.json", &format!("{before}true{second}"));
    scratch.git(&["commit", "-qam", "mine"]);
    scratch.git(&[
        "pull",
        "-q",
        "--no-rebase",
        "--no-edit",
        &path(&other),
        "main",
    ]);
    let text = scratch.read("prd.json");
    assert_eq!(count(&text, "\"passes\": true"), 2, "{text}");
    fine(&scratch.piton(&["files", "sync"]));
    let shown = scratch.piton(&["status"]).out;
    let line = |id: &str| {
        let line = shown.lines().find(|line| line.contains(id));
        line.unwrap_or_default().to_owned()
    };
    assert!(
        line("US-1").contains("(taken over from prd.json)"),
        "{shown}"
    );
    assert!(line("US-2").contains("accepted by"), "{shown}");
}
