//! Files that git tracks show what belongs to the branch that is checked out.

use crate::harness::{Running, Said, Scratch};

const LOG: &str = ".agent-os/progress/progress.json";
const LEARNED: &str = ".ralph/progress.json";
const MARKDOWN: &str = ".ralph/progress.md";
const SIGNS: &str = ".ralph/guardrails.md";
const FILES: [&str; 4] = [LOG, LEARNED, MARKDOWN, SIGNS];

#[track_caller]
fn fine(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

fn log(scratch: &Scratch, what: &str) {
    fine(&scratch.piton(&["log", "milestone_reached", "--description", what]));
}

fn learn(scratch: &Scratch, what: &str) {
    fine(&scratch.piton(&["learn", "add", "--type", "tool-usage", what]));
}

fn commit(scratch: &Scratch, what: &str) {
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-qm", what]);
}

/// A project whose files are kept up to date and committed on `main`, with an
/// entry and a learning of it.
fn project() -> Scratch {
    let scratch = Scratch::new();
    let families = ["agent-os", "ralph-json", "ralph-dir"];
    let with = families.iter().flat_map(|family| ["--with", family]);
    let init: Vec<&str> = ["init", "--yes"].into_iter().chain(with).collect();
    fine(&scratch.piton(&init));
    scratch.git(&["checkout", "-qB", "main"]);
    log(&scratch, "the keel is laid");
    learn(&scratch, "Pine is soft.");
    commit(&scratch, "the keel");
    scratch
}

/// All of the files as they stand.
fn texts(scratch: &Scratch) -> Vec<String> {
    let files = FILES
        .iter()
        .filter(|file| scratch.path().join(file).exists());
    files.map(|file| scratch.read(file)).collect()
}

/// What git says has changed.
fn changes(scratch: &Scratch) -> String {
    scratch.git(&["status", "--porcelain", "--untracked-files=no"])
}

#[test]
fn a_finished_run_names_the_branch_that_has_its_work() {
    let scratch = Scratch::new();
    scratch.write("TODO.md", "- [ ] one\n");
    scratch.agent("echo made > made\ngit add made\ngit commit -qm made");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-qm", "begin"]);
    scratch.git(&["switch", "-qc", "side"]);
    let run = [
        "run",
        "TODO.md",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let said = scratch.piton(&run);
    assert_eq!(said.exit, 0, "{}", said.err);
    let words = "1 item of run `TODO` is done on the branch side, which is not in what is checked out: `git merge side`";
    let there = scratch.piton(&run);
    assert!(!there.err.contains(words), "{}", there.err);
    scratch.git(&["switch", "-q", "main"]);
    let here = scratch.piton(&run);
    assert!(here.err.contains(words), "{}", here.err);
    assert!(here.err.contains("already finished"), "{}", here.err);
}

#[test]
fn what_happened_on_another_branch_is_not_written_into_the_files_of_this_one() {
    let scratch = project();
    scratch.git(&["switch", "-qc", "feature"]);
    log(&scratch, "the mast stands");
    learn(&scratch, "Oak is hard.");
    commit(&scratch, "the mast");
    let of_feature = texts(&scratch);
    assert!(of_feature.concat().contains("the mast stands"));

    scratch.git(&["switch", "-q", "main"]);
    let of_main = texts(&scratch);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(texts(&scratch), of_main);
    assert_eq!(changes(&scratch), "");
    log(&scratch, "the anchor is cast");
    let all = texts(&scratch).concat();
    assert!(all.contains("the anchor is cast"), "{all}");
    assert!(!all.contains("the mast stands"), "{all}");
    assert!(!all.contains("Oak is hard."), "{all}");
    commit(&scratch, "the anchor");

    // Nothing that came meanwhile is written there either, or lost from there.
    scratch.git(&["switch", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(texts(&scratch), of_feature);
    assert_eq!(changes(&scratch), "");
    log(&scratch, "the sail is set");
    let all = texts(&scratch).concat();
    for (what, is_there) in [
        ("the keel is laid", true),
        ("the mast stands", true),
        ("the sail is set", true),
        ("the anchor is cast", false),
    ] {
        assert_eq!(all.contains(what), is_there, "{what}: {all}");
    }
    // The page that is made of the log is piton's own on each branch.
    let copy = ".agent-os/progress/progress.md.before-piton";
    assert!(!scratch.path().join(copy).exists());
    // The journal knows all of it.
    let recent = scratch.piton(&["recent", "20"]).out;
    for what in ["the anchor is cast", "the mast stands", "the sail is set"] {
        assert!(recent.contains(what), "{recent}");
    }
}

#[test]
fn a_sign_that_one_branch_retires_leaves_the_file_of_the_other_alone() {
    let scratch = project();
    let sign = ["learn", "add", "--kind", "guardrail", "--title", "Ask"];
    let words = ["--trigger", "Before a cut", "Ask first."];
    fine(&scratch.piton(&[&sign[..], &words[..]].concat()));
    commit(&scratch, "a sign");
    scratch.git(&["switch", "-qc", "feature"]);
    let id = scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
    let id = id[0]["id"].as_str().expect("an id").to_owned();
    fine(&scratch.piton(&["learn", "retire", &id, "--why", "no more cuts"]));
    commit(&scratch, "no more cuts");

    scratch.git(&["switch", "-q", "main"]);
    let of_main = scratch.read(SIGNS);
    fine(&scratch.piton(&["files", "sync"]));
    log(&scratch, "the anchor is cast");
    assert_eq!(scratch.read(SIGNS), of_main);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    // What stands there is no new sign, however often the branch is switched.
    for branch in ["feature", "main"] {
        scratch.git(&["switch", "-q", branch]);
        fine(&scratch.piton(&["files", "sync"]));
        let signs = scratch.json_list(&["learn", "list", "--kind", "guardrail", "--retired"]);
        assert_eq!(signs.as_array().map(Vec::len), Some(1), "{signs}");
    }
    assert_eq!(scratch.read(SIGNS), of_main);
    // The file is no frozen one: what comes is shown.
    let words = ["--trigger", "Before a knot", "Look twice."];
    let sign = ["learn", "add", "--kind", "guardrail", "--title", "Look"];
    fine(&scratch.piton(&[&sign[..], &words[..]].concat()));
    assert!(scratch.read(SIGNS).contains("Look twice."));
}

#[test]
fn the_file_of_a_branch_that_is_where_the_other_began_is_not_taken_for_a_torn_one() {
    let scratch = project();
    scratch.git(&["switch", "-qc", "feature"]);
    for nth in 0..3 {
        log(&scratch, &format!("plank {nth}"));
    }
    commit(&scratch, "planks");
    scratch.git(&["switch", "-q", "main"]);
    for _ in 0..2 {
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(changes(&scratch), "");
    }
}

#[test]
fn a_file_that_git_does_not_track_is_one_for_all_branches() {
    let scratch = Scratch::new();
    fine(&scratch.piton(&["init", "--yes", "--with", "agent-os"]));
    scratch.write(".gitignore", ".piton/\n.agent-os/\n");
    scratch.git(&["checkout", "-qB", "main"]);
    commit(&scratch, "begin");
    log(&scratch, "the keel is laid");
    scratch.git(&["switch", "-qc", "feature"]);
    log(&scratch, "the mast stands");
    scratch.git(&["switch", "-q", "main"]);
    log(&scratch, "the anchor is cast");
    let all = scratch.read(LOG);
    for what in ["the keel is laid", "the mast stands", "the anchor is cast"] {
        assert_eq!(all.matches(what).count(), 1, "{all}");
    }
}

#[test]
fn what_is_recorded_knows_the_branch_and_the_commit() {
    let scratch = project();
    let commit = scratch.git(&["rev-parse", "HEAD"]);
    log(&scratch, "the mast stands");
    let recent = scratch.json(&["recent", "1"]);
    let text = recent.to_string();
    assert!(text.contains("\"branch\":\"main\""), "{text}");
    assert!(text.contains(commit.trim()), "{text}");
}

const STORIES: &str = r#"{
  "project": "yard",
  "branchName": "main",
  "userStories": [
    {"id": "US-1", "title": "Lay the keel", "acceptanceCriteria": ["it lies"], "priority": 1, "passes": false},
    {"id": "US-2", "title": "Set the mast", "acceptanceCriteria": ["it stands"], "priority": 2, "passes": false}
  ]
}
"#;

/// A repository with a list of stories, and an agent that commits what it does.
fn yard() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .write("prd.json", STORIES)
        .write(".gitignore", ".piton/\nagent.sh\n");
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"",
    );
    scratch.git(&["checkout", "-qB", "main"]);
    commit(&scratch, "begin");
    scratch
}

/// One item of the list.
const ONE: [&str; 7] = [
    "run",
    "prd.json",
    "--once",
    "--agent",
    "./agent.sh",
    "--verdict",
    "exit-status",
];

fn run_one(scratch: &Scratch) {
    let said = scratch.piton(&ONE);
    assert!([0, 5].contains(&said.exit), "{}{}", said.out, said.err);
}

fn passes(scratch: &Scratch) -> Vec<bool> {
    let list: serde_json::Value = serde_json::from_str(&scratch.read("prd.json")).expect("JSON");
    let stories = list["userStories"].as_array().expect("a list").iter();
    stories.map(|story| story["passes"] == true).collect()
}

#[test]
fn a_story_that_is_done_on_one_branch_is_not_ticked_on_another() {
    let scratch = yard();
    scratch.git(&["branch", "feature"]);
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);

    scratch.git(&["switch", "-q", "feature"]);
    for _ in 0..2 {
        fine(&scratch.piton(&["files", "sync"]));
        fine(&scratch.piton(&["session", "focus", "the mast"]));
        assert_eq!(passes(&scratch), [false, false]);
        assert_eq!(changes(&scratch), "");
    }
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    // What is done here is ticked here.
    run_one(&scratch);
    assert_eq!(passes(&scratch), [false, true]);

    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false]);
    assert_eq!(changes(&scratch), "");
    // What git merges stays.
    let message = ["merge", "-q", "-m", "both", "feature", "-X", "ours"];
    scratch.git(&message);
    let merged = scratch.read("prd.json").replace(
        "\"priority\": 2, \"passes\": false",
        "\"priority\": 2, \"passes\": true",
    );
    scratch.write("prd.json", &merged);
    commit(&scratch, "both are done");
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, true]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn a_branch_without_the_plan_that_is_checked_out_during_a_run_is_told_of_once() {
    let scratch = yard();
    scratch.git(&["switch", "-q", "--orphan", "bare"]);
    scratch.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
    scratch.git(&["switch", "-q", "main"]);
    scratch.agent(
        "git switch -q bare 2>>switched; echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"",
    );
    let words = [
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let said = scratch.piton(&words);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(!scratch.has("prd.json"), "{}", said.err);
    let told = said.err.matches("this branch has no prd.json").count();
    assert_eq!(told, 1, "{}", said.err);
}

#[test]
fn a_story_of_another_branch_is_not_put_into_the_list_of_this_one() {
    let scratch = yard();
    run_one(&scratch);
    scratch.git(&["switch", "-qc", "feature"]);
    let more = scratch.read("prd.json").replace(
        "\"priority\": 2, \"passes\": false}",
        "\"priority\": 2, \"passes\": false},\n    {\"id\": \"US-3\", \"title\": \"Sew a sail\", \"acceptanceCriteria\": [\"it holds\"], \"priority\": 3, \"passes\": false}",
    );
    scratch.write("prd.json", &more);
    fine(&scratch.piton(&["files", "sync"]));
    commit(&scratch, "a sail");
    assert_eq!(passes(&scratch), [true, false, false]);
    assert!(scratch.piton(&["next"]).out.contains("US-2"));

    scratch.git(&["switch", "-q", "main"]);
    for _ in 0..2 {
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(passes(&scratch), [true, false]);
        assert_eq!(changes(&scratch), "");
    }
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    scratch.git(&["switch", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false, false]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn a_tick_that_a_person_takes_away_after_a_merge_is_not_passed_over() {
    let scratch = yard();
    scratch.git(&["switch", "-qc", "feature"]);
    run_one(&scratch);
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    scratch.git(&["merge", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false]);
    let again = scratch.read("prd.json").replace(
        "\"priority\": 1, \"passes\": true",
        "\"priority\": 1, \"passes\": false",
    );
    scratch.write("prd.json", &again);
    scratch.piton(&["files", "sync"]);
    let asked = scratch.json_list(&["inbox"]).as_array().map_or(0, Vec::len);
    let next = scratch.piton(&["next"]).out;
    assert!(asked == 1 || next.contains("US-1"), "{next}");
    assert_eq!(passes(&scratch), [false, false]);
}

#[test]
fn older_words_of_another_branch_are_no_edit() {
    let scratch = yard();
    scratch.git(&["switch", "-qc", "feature"]);
    run_one(&scratch);
    let reworded = scratch
        .read("prd.json")
        .replace("Set the mast", "Set the tall mast")
        .replace("it stands", "it stands upright");
    scratch.write("prd.json", &reworded);
    fine(&scratch.piton(&["files", "sync"]));
    commit(&scratch, "a tall mast");
    scratch.git(&["switch", "-q", "main"]);
    for _ in 0..2 {
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
        assert_eq!(changes(&scratch), "");
    }
    scratch.git(&["switch", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(changes(&scratch), "");
    assert_eq!(scratch.read("prd.json"), reworded);
}

#[test]
fn what_is_logged_in_the_middle_of_a_rebase_is_shown_later() {
    let scratch = project();
    scratch.git(&["checkout", "-q", "--detach"]);
    log(&scratch, "aground for a while");
    for file in FILES {
        if scratch.path().join(file).exists() {
            scratch.git(&["checkout", "-q", "--", file]);
        }
    }
    scratch.git(&["switch", "-q", "main"]);
    log(&scratch, "afloat again");
    let all = scratch.read(LOG);
    for what in ["aground for a while", "afloat again"] {
        assert_eq!(all.matches(what).count(), 1, "{what}: {all}");
    }
}

/// Four stories, and an agent that makes a branch of `main` for each of them.
fn branching_yard() -> Scratch {
    let scratch = Scratch::new();
    let story = |nth| {
        format!(
            r#"    {{"id": "US-{nth}", "title": "Part {nth}", "acceptanceCriteria": ["it is there"], "priority": {nth}, "passes": false}}"#
        )
    };
    let stories: Vec<String> = (1..=4).map(story).collect();
    scratch.write(
        "prd.json",
        &format!(
            "{{\n  \"project\": \"yard\",\n  \"userStories\": [\n{}\n  ]\n}}\n",
            stories.join(",\n")
        ),
    );
    scratch.write(".gitignore", ".piton/\nagent.sh\n");
    scratch.agent(
        "set -e; git switch -q main; git switch -qc \"story-$PITON_ITEM\"\n\
         echo work >\"$PITON_ITEM.txt\"; git add -A; git commit -qm \"$PITON_ITEM\"",
    );
    scratch.git(&["checkout", "-qB", "main"]);
    commit(&scratch, "begin");
    scratch
}

fn run_all(scratch: &Scratch) -> Said {
    scratch.piton(&[
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ])
}

#[test]
fn an_agent_can_make_a_branch_for_each_story() {
    let scratch = branching_yard();
    fine(&run_all(&scratch));
    assert_eq!(changes(&scratch), "");
    for nth in 1..=4 {
        let branch = format!("story-US-{nth}");
        scratch.git(&["switch", "-q", &branch]);
        let expect: Vec<bool> = (1..=4).map(|story| story == nth).collect();
        assert_eq!(passes(&scratch), expect, "{branch}");
        let subjects = scratch.git(&["log", "--format=%s", "main..HEAD"]);
        let expect = format!("Mark US-{nth} as done\nUS-{nth}");
        assert_eq!(subjects.trim(), expect, "{branch}");
        let files = scratch.git(&["show", "--format=", "--name-only", "HEAD"]);
        assert_eq!(files.trim(), "prd.json", "{branch}");
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(changes(&scratch), "");
    }
    scratch.git(&["switch", "-q", "main"]);
    assert_eq!(passes(&scratch), [false; 4]);
    // The commits of an attempt are those of its agent.
    let attempts = scratch.json(&["show", "US-2"]);
    let report = attempts.to_string();
    let mark = scratch.git(&["rev-parse", "story-US-1", "story-US-2"]);
    for commit in mark.lines() {
        assert!(!report.contains(commit), "{commit}: {report}");
    }
}

#[test]
fn a_mark_is_committed_alone_and_leaves_what_a_person_staged() {
    let scratch = yard();
    scratch.write("notes.txt", "mine\n");
    scratch.git(&["add", "notes.txt"]);
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\" -- \"$PITON_ITEM.txt\"",
    );
    run_one(&scratch);
    let head = scratch.git(&["show", "--format=%s", "--name-only", "HEAD"]);
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>(),
        ["Mark", "US-1", "as", "done", "prd.json"]
    );
    assert_eq!(
        scratch
            .git(&["status", "--porcelain", "--", "notes.txt"])
            .trim(),
        "A  notes.txt"
    );
}

#[test]
fn a_mark_stays_in_the_work_tree_where_its_work_does() {
    let scratch = yard();
    scratch.agent("echo work >\"$PITON_ITEM.txt\"");
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);
    assert_eq!(changes(&scratch).trim(), "M prd.json");
}

#[test]
fn a_mark_is_not_committed_where_the_configuration_says_so() {
    let scratch = yard();
    scratch.write(".piton/config.toml", "[git]\ncommit-progress = false\n");
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);
    assert_eq!(changes(&scratch).trim(), "M prd.json");
    assert_eq!(scratch.git(&["log", "-1", "--format=%s"]).trim(), "US-1");
}

#[test]
fn a_mark_that_cannot_be_committed_is_told_once_and_stays() {
    let scratch = yard();
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"; touch .git/index.lock",
    );
    let said = run_all(&scratch);
    let told = said
        .err
        .matches("prd.json not committed with the work")
        .count()
        + said
            .out
            .matches("prd.json not committed with the work")
            .count();
    assert_eq!(told, 1, "{}{}", said.out, said.err);
    std::fs::remove_file(scratch.path().join(".git/index.lock")).expect("it is there");
    assert_eq!(passes(&scratch), [true, true]);
    assert_eq!(changes(&scratch).trim(), "M prd.json");
}

#[test]
fn a_mark_is_committed_once_another_git_lets_go_of_the_index() {
    let scratch = yard();
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"; touch .git/index.lock",
    );
    let running = Running::start(scratch.command(&ONE));
    let lock = scratch.path().join(".git/index.lock");
    scratch.until("the index is locked and a mark is written", || {
        lock.exists() && scratch.read("prd.json").contains("\"passes\": true")
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    std::fs::remove_file(lock).expect("it is there");
    assert_eq!(running.end().exit, 5, "one item was asked for");
    assert_eq!(changes(&scratch), "");
}

#[test]
fn a_hook_that_looks_at_commits_is_not_run_for_a_mark() {
    let scratch = yard();
    let hook = scratch.path().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("made");
    scratch.script(
        ".git/hooks/pre-commit",
        "git diff --cached --name-only >>.git/seen",
    );
    run_one(&scratch);
    assert_eq!(changes(&scratch), "");
    assert_eq!(scratch.read(".git/seen").trim(), "US-1.txt");
}

#[test]
fn a_mark_whose_commit_a_death_prevents_is_committed_by_the_next_run() {
    for point in ["progress.before-commit:2", "progress.after-commit:2"] {
        let scratch = branching_yard();
        let args = ["run", "prd.json", "--agent", "./agent.sh"];
        let mut command = scratch.command(&args);
        command.args(["--verdict", "exit-status"]);
        command.env("PITON_FAILPOINT", point);
        let died = Running::start(command).end();
        assert_ne!(died.exit, 0, "{point}: {}", died.err);
        fine(&run_all(&scratch));
        assert_eq!(changes(&scratch), "", "{point}");
        for nth in 1..=4 {
            let range = format!("main..story-US-{nth}");
            let subjects = scratch.git(&["log", "--format=%s", &range]);
            let expect = format!("Mark US-{nth} as done\nUS-{nth}");
            assert_eq!(subjects.trim(), expect, "{point}");
        }
    }
}

/// One story is done on `feature`, and its mark is not committed with it.
fn done_on_feature() -> Scratch {
    let scratch = yard();
    scratch.write(".piton/config.toml", "[git]\ncommit-progress = false\n");
    scratch.git(&["switch", "-qc", "feature"]);
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);
    scratch.git(&["checkout", "-q", "--", "prd.json"]);
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false, false]);
    scratch
}

/// Nobody can tell whether a person wants the story done again.
#[test]
fn marks_alone_that_are_put_back_are_asked_about_and_are_shown_again() {
    for (verb, expected) in [("keep-piton", [true, false]), ("keep-file", [false, false])] {
        let scratch = yard();
        scratch.write(".piton/config.toml", "[git]\ncommit-progress = false\n");
        run_one(&scratch);
        scratch.git(&["checkout", "-q", "--", "prd.json"]);
        assert_eq!(scratch.piton(&["files", "sync"]).exit, 3);
        let inbox = scratch.json_list(&["inbox"]);
        let id = inbox[0]["id"].as_str().expect("a question");
        fine(&scratch.piton(&["decide", id, verb, "--why", "so"]));
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(passes(&scratch), expected, "{verb}");
        let state = scratch.json(&["show", "US-1"])["item"]["state"].clone();
        assert_eq!(state, if expected[0] { "done" } else { "ready" });
    }
}

#[track_caller]
fn check_ticked_after(bring: &[&[&str]]) {
    let scratch = done_on_feature();
    scratch.write("own.txt", "own\n");
    scratch.git(&["add", "own.txt"]);
    scratch.git(&["commit", "-qm", "own"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false, false]);
    bring.iter().for_each(|args| drop(scratch.git(args)));
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false], "{bring:?}");
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false], "{bring:?}");
}

#[test]
fn a_story_is_ticked_where_its_work_was_merged_without_its_mark() {
    check_ticked_after(&[&["merge", "-q", "-m", "both", "feature"]]);
}

#[test]
fn a_story_is_ticked_where_its_work_was_picked_without_its_mark() {
    check_ticked_after(&[&["cherry-pick", "feature"]]);
}

#[test]
fn a_story_is_ticked_where_its_work_was_rebased_without_its_mark() {
    check_ticked_after(&[
        &["switch", "-qc", "rebased", "feature"],
        &["rebase", "-q", "main"],
    ]);
}

#[test]
fn a_story_is_ticked_where_its_work_was_squashed_without_its_mark() {
    check_ticked_after(&[
        &["switch", "-qc", "squashed", "main~1"],
        &["merge", "-q", "--squash", "feature"],
        &["commit", "-qm", "in one"],
    ]);
}

#[test]
fn git_is_asked_once_for_each_change_of_what_is_checked_out() {
    let scratch = done_on_feature();
    let own = scratch.path().display().to_string();
    let body = format!("echo \"$@\" >>\"{own}/calls\"; PATH=${{PATH#*:}} exec git \"$@\"");
    scratch.script("bin/git", &body);
    let calls = || {
        let mut sync = scratch.command(&["files", "sync"]);
        let path = std::env::var("PATH").unwrap_or_default();
        sync.env("PATH", format!("{own}/bin:{path}"));
        fine(&Said::of(&sync.output().expect("it runs")));
        let said = std::fs::read_to_string(scratch.path().join("calls")).unwrap_or_default();
        std::fs::remove_file(scratch.path().join("calls")).ok();
        said.lines().count()
    };
    assert_eq!((calls(), calls()), (0, 0), "asked before");
    scratch.git(&["commit", "-q", "--allow-empty", "-m", "own"]);
    assert_eq!((calls(), calls()), (1, 0), "another commit");
    scratch.git(&["switch", "-q", "feature"]);
    assert_eq!((calls(), calls()), (0, 0), "its own branch");
}

const DEPENDENT: &str = r#"{
  "project": "yard",
  "userStories": [
    {"id": "keel", "title": "Lay the keel", "acceptanceCriteria": ["it lies"], "priority": 1, "passes": false},
    {"id": "sail", "title": "Sew a sail", "acceptanceCriteria": ["it holds"], "priority": 2, "passes": false},
    {"id": "mast", "title": "Set the mast", "acceptanceCriteria": ["it stands"], "priority": 3, "passes": false, "dependsOn": ["keel"]}
  ]
}
"#;

/// A list whose agent makes a branch of `main` for each story but the mast.
fn dependent() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .write("prd.json", DEPENDENT)
        .write(".gitignore", ".piton/\nagent.sh\n");
    scratch.agent(
        "set -e; [ \"$PITON_ITEM\" = mast ] || { git switch -q main; git switch -qc \"$PITON_ITEM\"; }\n\
         echo work >\"$PITON_ITEM.txt\"; git add -A; git commit -qm \"$PITON_ITEM\"",
    );
    scratch.git(&["checkout", "-qB", "main"]);
    commit(&scratch, "begin");
    scratch
}

fn is_in_state(scratch: &Scratch, item: &str, state: &str) -> bool {
    let shown = scratch.piton(&["show", item, "--json"]).out;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap_or_default();
    shown["item"]["state"] == state
}

#[test]
fn what_depends_on_work_that_is_on_another_branch_waits_for_the_merge() {
    let scratch = dependent();
    insta::assert_snapshot!(run_all(&scratch).shown(&scratch), @r"
    warning: prd.json: its items have no command that verifies them: a change and their agent's word make them done
    keeping progress in SCRATCH/.git/piton
    > keel: Lay the keel
    done keel 0s (1 file changed)
    > sail: Sew a sail
    done sail 0s (2 files changed)
    ? mast needs a person: `keel` is done on keel and not here
    2 of 3 stories done (2 changed)
    ? mast: Set the mast - `keel` is done on keel and not here
        piton decide d1 approve
    report: .git/piton/reports/prd.html
    run `prd` waits for a person at mast
    hint: see the question with `piton inbox`
    [exit 3]
    ");
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
    d1  `keel` is done on keel and not here  prd at mast: Set the mast
        git merge keel
        piton run prd
        piton decide d1 approve
        piton decide d1 skip
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["next"]), @r"
    prd  waiting
      run `prd` waits for a person at mast
      waits    mast (Set the mast) for a person: `keel` is done on keel and not here (`piton decide d1`)
      Next: piton inbox
    [exit 0]
    ");
    assert_eq!(run_all(&scratch).exit, 3, "nothing was merged");
    let branch = |args: &[&str], at: &str| scratch.json(args).pointer(at).cloned();
    let keel = Some(serde_json::json!("keel"));
    assert_eq!(branch(&["status", "prd"], "/run/nodes/0/done_on"), keel);
    assert_eq!(branch(&["status", "prd"], "/run/nodes/1/done_on"), None);
    assert_eq!(branch(&["show", "keel"], "/item/done_on"), keel);
    let status = scratch.shows(&["status", "prd"]);
    assert!(status.contains("- done on keel\n"), "{status}");
    scratch.git(&["merge", "-q", "-m", "keel and sail", "keel", "-X", "ours"]);
    fine(&run_all(&scratch));
    assert!(is_in_state(&scratch, "mast", "done"));
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}

#[test]
fn a_person_may_do_without_what_is_on_another_branch() {
    let scratch = dependent();
    assert_eq!(run_all(&scratch).exit, 3);
    fine(&scratch.piton(&["decide", "d1", "approve"]));
    fine(&run_all(&scratch));
    assert!(is_in_state(&scratch, "mast", "done"));
}

#[test]
fn a_runner_that_stays_goes_on_once_it_is_merged() {
    let scratch = dependent();
    let mut command = scratch.command(&["run", "prd.json", "--agent", "./agent.sh"]);
    command.args(["--verdict", "exit-status", "--wait"]);
    let running = Running::start(command);
    // That it waits is known a moment before the mark of what is done is written.
    scratch.until("it waits", || {
        let last = scratch.git(&["log", "-1", "--format=%s"]);
        is_in_state(&scratch, "mast", "waiting") && last == "Mark sail as done\n"
    });
    scratch.git(&["merge", "-q", "-m", "keel and sail", "keel", "-X", "ours"]);
    fine(&running.end());
    assert!(is_in_state(&scratch, "mast", "done"));
}

fn add_sign(scratch: &Scratch, title: &str) {
    let sign = ["learn", "add", "--kind", "guardrail", "--title", title];
    let words = ["--trigger", "Before a cut", &format!("{title} first.")];
    fine(&scratch.piton(&[&sign[..], &words[..]].concat()));
}

fn signs(scratch: &Scratch) -> Vec<String> {
    let list = scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
    let list = list.as_array().expect("a list").iter();
    let titles = list.map(|sign| sign["title"].as_str().unwrap_or_default().to_owned());
    titles.collect()
}

#[test]
fn a_sign_that_git_takes_out_of_the_file_is_not_retired() {
    let scratch = project();
    add_sign(&scratch, "Ask");
    commit(&scratch, "a sign");
    add_sign(&scratch, "Look");
    // Made on main, committed on another branch.
    scratch.git(&["switch", "-qc", "feature"]);
    commit(&scratch, "another sign");
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(changes(&scratch), "", "nothing is in the way of a switch");
    scratch.git(&["switch", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(signs(&scratch), ["Ask", "Look"]);
    // Stashed, and reset to before.
    add_sign(&scratch, "Think");
    scratch.git(&["stash", "-q"]);
    fine(&scratch.piton(&["files", "sync"]));
    scratch.git(&["checkout", "-q", "--", "."]);
    scratch.git(&["reset", "-q", "--hard", "HEAD~1"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(signs(&scratch), ["Ask", "Look", "Think"]);
}

#[test]
fn a_sign_that_a_person_takes_out_and_commits_is_retired() {
    let scratch = project();
    add_sign(&scratch, "Ask");
    add_sign(&scratch, "Look");
    commit(&scratch, "signs");
    let all = scratch.read(SIGNS);
    let sign = |title| all.find(&format!("### Sign: {title}")).expect("a sign");
    let without = format!("{}{}", &all[..sign("Ask")], &all[sign("Look")..]);
    scratch.write(SIGNS, &without);
    commit(&scratch, "no asking");
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(signs(&scratch), ["Look"]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn an_edit_that_is_committed_on_a_new_branch_comes_back_with_its_merge() {
    let scratch = project();
    scratch.git(&["switch", "-qc", "feature"]);
    let edited = scratch
        .read(LEARNED)
        .replace("Pine is soft.", "Pine is quite soft.");
    scratch.write(LEARNED, &edited);
    commit(&scratch, "quite");
    fine(&scratch.piton(&["files", "sync"]));
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert!(scratch.read(LEARNED).contains("Pine is soft."));
    assert_eq!(changes(&scratch), "");
    scratch.git(&["merge", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(scratch.read(LEARNED), edited);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}

#[test]
fn words_that_are_changed_on_a_new_branch_reach_the_agent() {
    let scratch = yard();
    run_one(&scratch);
    scratch.git(&["switch", "-qc", "feature"]);
    let edited = scratch
        .read("prd.json")
        .replace("Set the mast", "Set the tall mast");
    scratch.write("prd.json", &edited);
    commit(&scratch, "a tall mast");
    scratch.agent(
        "cat >prompt.out; echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"",
    );
    run_one(&scratch);
    assert!(scratch.read("prompt.out").contains("Set the tall mast"));
    assert_eq!(passes(&scratch), [true, true]);
}

#[test]
fn what_git_is_about_to_check_out_is_nobodys_edit() {
    let scratch = branching_yard();
    scratch.git(&["config", "filter.slow.smudge", "sleep 1; cat"]);
    scratch.git(&["config", "filter.slow.clean", "cat"]);
    scratch.write(".gitattributes", "*.slow filter=slow\n");
    scratch.write("zz.slow", "begin\n");
    commit(&scratch, "a slow file");
    scratch.agent(
        "set -e; git switch -q main; git switch -qc \"story-$PITON_ITEM\"\n\
         echo \"$PITON_ITEM\" >zz.slow; git add zz.slow; git commit -qm \"$PITON_ITEM\"",
    );
    let said = run_all(&scratch);
    fine(&said);
    assert!(!said.err.contains("may be an agent's"), "{}", said.err);
    for nth in 1..=4 {
        let text = scratch.git(&["show", &format!("story-US-{nth}:prd.json")]);
        let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let stories = list["userStories"].as_array().expect("a list").iter();
        let done: Vec<&str> = stories
            .filter(|story| story["passes"] == true)
            .filter_map(|story| story["id"].as_str())
            .collect();
        assert_eq!(done, [format!("US-{nth}")]);
    }
}

#[test]
fn what_came_done_with_its_plan_was_done_on_the_branch_of_that() {
    let scratch = branching_yard();
    scratch.git(&["switch", "-qc", "theirs"]);
    let marked = scratch.read("prd.json").replacen("false", "true", 1);
    scratch.write("prd.json", &marked).write("US-1.txt", "work");
    commit(&scratch, "US-1 by hand");
    scratch.agent("echo work >\"$PITON_ITEM.txt\"; git add -A; git commit -qm \"$PITON_ITEM\"");
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, true, false, false]);
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false; 4]);
    assert_eq!(changes(&scratch), "");
    let nodes = &scratch.json(&["status", "prd"])["run"]["nodes"];
    assert_eq!(nodes[0]["done_on"], "theirs", "{nodes}");
    // What came with the file, and stands in it on each branch, is done on each.
    scratch.git(&["switch", "-q", "theirs"]);
    scratch.git(&["switch", "-qc", "later"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, true, false, false]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn a_mark_is_not_committed_with_what_a_person_has_changed_in_the_file() {
    let scratch = yard();
    let edited = scratch
        .read("prd.json")
        .replace("Set the mast", "Set a mast");
    scratch.write("prd.json", &edited);
    scratch.git(&["add", "prd.json"]);
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\" -- \"$PITON_ITEM.txt\"",
    );
    let said = run_all(&scratch);
    fine(&said);
    let told = "prd.json has other changes as well, and is not committed with the work";
    assert_eq!(said.err.matches(told).count(), 1, "{}", said.err);
    let subjects = scratch.git(&["log", "--format=%s", "-2"]);
    assert_eq!(subjects.trim(), "US-2\nUS-1");
    assert_eq!(passes(&scratch), [true, true]);
}

#[test]
fn what_an_agent_does_to_the_signs_at_its_very_end_is_asked_about() {
    let scratch = yard();
    fine(&scratch.piton(&["init", "--yes", "--with", "ralph-dir"]));
    add_sign(&scratch, "Ask");
    add_sign(&scratch, "Look");
    commit(&scratch, "signs");
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"\n\
         sed -i 's/Look first/Look last/' .ralph/guardrails.md",
    );
    run_one(&scratch);
    let inbox = scratch.shows(&["inbox"]);
    assert!(inbox.contains(".ralph/guardrails.md"), "{inbox}");
    let list = scratch.json_list(&["learn", "list", "--kind", "guardrail"]);
    assert_eq!(list[1]["content"], "Look first.");
    let files = scratch.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert!(!files.contains("guardrails.md"), "{files}");
}

#[test]
fn the_end_of_a_run_leaves_nothing_in_the_way_of_a_switch() {
    let scratch = branching_yard();
    let families = ["agent-os", "ralph-json", "ralph-dir"];
    let with = families.iter().flat_map(|family| ["--with", family]);
    let init: Vec<&str> = ["init", "--yes"].into_iter().chain(with).collect();
    fine(&scratch.piton(&init));
    log(&scratch, "the yard opens");
    scratch.write(
        ".gitignore",
        ".piton/\nagent.sh\n.ralph/activity.log\n.ralph/errors.log\n.ralph/.iteration\n",
    );
    commit(&scratch, "files");
    fine(&run_all(&scratch));
    assert_eq!(changes(&scratch), "");
    for branch in ["main", "story-US-1", "story-US-3", "main"] {
        scratch.git(&["switch", "-q", branch]);
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(changes(&scratch), "", "{branch}");
    }
}

#[test]
fn what_was_begun_here_and_committed_on_a_new_branch_is_there_again_after_its_merge() {
    let scratch = yard();
    scratch.agent("echo work >\"$PITON_ITEM.txt\"");
    run_one(&scratch);
    let more = scratch.read("prd.json").replace(
        "    {\"id\": \"US-2\"",
        "    {\"id\": \"US-9\", \"title\": \"Sew a sail\", \"acceptanceCriteria\": [\"it holds\"], \"priority\": 9, \"passes\": false},\n    {\"id\": \"US-2\"",
    );
    scratch.write("prd.json", &more);
    fine(&scratch.piton(&["files", "sync"]));
    scratch.git(&["switch", "-qc", "feature"]);
    commit(&scratch, "the keel, and a sail to do");
    scratch.git(&["switch", "-q", "main"]);
    for _ in 0..2 {
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(changes(&scratch), "");
    }
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    scratch.git(&["merge", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(changes(&scratch), "");
    fine(&run_all(&scratch));
    assert_eq!(passes(&scratch), [true, true, true]);
}

#[test]
fn a_merge_that_an_agent_leaves_open_in_the_plan_hides_nothing_from_whoever_looks() {
    let scratch = yard();
    let reword = |words: &str| {
        let edited = scratch.read("prd.json").replace("it stands", words);
        scratch.write("prd.json", &edited);
        commit(&scratch, words);
    };
    scratch.git(&["switch", "-qc", "other"]);
    reword("it is upright");
    scratch.git(&["switch", "-q", "main"]);
    reword("it does not fall");
    scratch.agent("git merge -q other || true");
    let said = run_all(&scratch);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    let inbox = scratch.piton(&["inbox"]).out;
    assert!(
        inbox.contains("`US-1` is said to be done, and its attempts changed nothing"),
        "{inbox}"
    );
}

#[test]
fn a_file_that_a_branch_does_not_have_is_not_made_there() {
    let scratch = Scratch::new();
    scratch.git(&["checkout", "-qB", "main"]);
    scratch.write("README.md", "a yard\n");
    commit(&scratch, "begin");
    scratch.git(&["switch", "-qc", "feature"]);
    let with = [
        "--with",
        "agent-os",
        "--with",
        "ralph-dir",
        "--with",
        "ralph-json",
    ];
    fine(&scratch.piton(&[&["init", "--yes"][..], &with].concat()));
    log(&scratch, "the keel is laid");
    learn(&scratch, "Pine is soft.");
    commit(&scratch, "files");
    scratch.git(&["switch", "-q", "main"]);
    for what in ["the anchor is cast", "the sail is set"] {
        fine(&scratch.piton(&["files", "sync"]));
        log(&scratch, what);
        assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    }
    scratch.git(&["switch", "-q", "feature"]);
    log(&scratch, "the mast stands");
    let all = scratch.read(LOG);
    for (what, is_there) in [
        ("the keel is laid", true),
        ("the mast stands", true),
        ("the anchor is cast", false),
    ] {
        assert_eq!(all.contains(what), is_there, "{what}: {all}");
    }
    // It comes with the merge, and is kept up to date from then on.
    commit(&scratch, "a mast");
    scratch.git(&["switch", "-q", "main"]);
    scratch.git(&["merge", "-q", "feature"]);
    log(&scratch, "all is well");
    let all = scratch.read(LOG);
    for what in ["all is well", "the anchor is cast", "the sail is set"] {
        assert_eq!(all.matches(what).count(), 1, "{what}: {all}");
    }
}

#[test]
fn what_is_recorded_on_a_branch_without_the_file_comes_with_its_merge() {
    let scratch = project();
    scratch.git(&["switch", "-qc", "bare"]);
    scratch.git(&["rm", "-q", LOG]);
    scratch.git(&["commit", "-qm", "no log here"]);
    log(&scratch, "the anchor is cast");
    scratch.write("anchor", "iron\n");
    commit(&scratch, "an anchor");
    scratch.git(&["switch", "-q", "main"]);
    for what in ["the hull is tight", "the mast stands"] {
        log(&scratch, what);
        let all = scratch.read(LOG);
        assert!(!all.contains("the anchor is cast"), "{all}");
    }
    commit(&scratch, "a log");
    // Its file is not merged, its work is.
    let merge = ["merge", "-q", "--no-ff", "-s", "ours", "-m", "both", "bare"];
    scratch.git(&merge);
    for _ in 0..2 {
        fine(&scratch.piton(&["files", "sync"]));
        let all = scratch.read(LOG);
        for what in ["the hull is tight", "the anchor is cast", "the mast stands"] {
            assert_eq!(all.matches(what).count(), 1, "{what}: {all}");
        }
    }
}

/// The words of an edit reach the next agent: `agent.sh` keeps its prompt.
fn says_to_next_agent(scratch: &Scratch, words: &str) -> bool {
    scratch.agent("cat >prompt.txt; echo more >>more.txt; git add more.txt; git commit -qm more");
    run_one(scratch);
    scratch.read("prompt.txt").contains(words)
}

#[test]
fn an_edit_that_was_committed_before_piton_looked_is_an_edit() {
    let scratch = yard();
    scratch.write(".gitignore", ".piton/\nagent.sh\nprompt.txt\n");
    commit(&scratch, "ignore");
    run_one(&scratch);
    let text = scratch.read("prd.json");
    scratch.write("prd.json", &text.replace("it stands", "it stands upright"));
    commit(&scratch, "upright");
    fine(&scratch.piton(&["files", "sync"]));
    assert!(says_to_next_agent(&scratch, "it stands upright"));
    assert!(scratch.read("prd.json").contains("it stands upright"));
}

#[test]
fn an_edit_that_came_by_a_pull_is_an_edit() {
    let scratch = yard();
    scratch.write(".gitignore", ".piton/\nagent.sh\nprompt.txt\n");
    commit(&scratch, "ignore");
    run_one(&scratch);
    // A colleague's commit on top, and one beside a commit of one's own.
    scratch.git(&["switch", "-qc", "colleague"]);
    let text = scratch.read("prd.json");
    scratch.write("prd.json", &text.replace("it stands", "it stands upright"));
    commit(&scratch, "upright");
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    scratch.git(&["merge", "-q", "--ff-only", "colleague"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert!(says_to_next_agent(&scratch, "it stands upright"));
}

#[test]
fn a_mark_that_was_taken_out_and_committed_is_asked_about() {
    let scratch = yard();
    run_one(&scratch);
    let text = scratch.read("prd.json");
    let unticked = text.replacen("\"passes\": true", "\"passes\": false", 1);
    scratch.write("prd.json", &unticked);
    commit(&scratch, "not done after all");
    scratch.piton(&["files", "sync"]);
    assert_eq!(
        scratch.json_list(&["inbox"]).as_array().map_or(0, Vec::len),
        1
    );
    assert_eq!(passes(&scratch), [false, false]);
}

#[test]
fn a_story_that_was_taken_out_and_committed_is_dropped() {
    let scratch = yard();
    run_one(&scratch);
    let mut list: serde_json::Value =
        serde_json::from_str(&scratch.read("prd.json")).expect("JSON");
    let stories = list["userStories"].as_array_mut().expect("a list");
    let more = serde_json::json!({
        "id": "US-3", "title": "Sew a sail", "acceptanceCriteria": ["it is sewn"],
        "priority": 3, "passes": false,
    });
    stories[1] = more;
    scratch.write(
        "prd.json",
        &serde_json::to_string_pretty(&list).expect("JSON"),
    );
    commit(&scratch, "a sail in place of the mast");
    fine(&scratch.piton(&["files", "sync"]));
    let state = |item| scratch.json(&["show", item])["item"]["state"].clone();
    assert_eq!(state("US-2"), "dropped");
    assert_eq!(state("US-3"), "ready");
}

#[test]
fn what_a_hook_of_git_writes_as_a_mark_is_committed_is_nobodys_word() {
    let scratch = yard();
    for hook in ["post-commit", "prepare-commit-msg", "post-index-change"] {
        scratch.script(
            &format!(".git/hooks/{hook}"),
            "sed -i 's/\"passes\": false/\"passes\": true/' prd.json",
        );
    }
    // The agent's own commits run none.
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git -c core.hooksPath=/dev/null commit -qm \"$PITON_ITEM\"",
    );
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn what_was_done_on_no_branch_is_ticked_where_its_commit_is() {
    let scratch = yard();
    scratch.git(&["checkout", "-q", "--detach"]);
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);
    commit(&scratch, "its mark");
    let work = scratch.git(&["rev-parse", "HEAD"]);
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["session", "focus", "the mast"]));
    run_one(&scratch);
    assert_eq!(passes(&scratch), [false, true]);
    scratch.git(&["merge", "-q", "-m", "both", "-X", "ours", work.trim()]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, true]);
}

#[test]
fn a_branch_that_is_made_anew_inherits_no_mark() {
    let scratch = yard();
    scratch.git(&["switch", "-qc", "feature"]);
    run_one(&scratch);
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    scratch.git(&["branch", "-qD", "feature"]);
    scratch.git(&["switch", "-qc", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false, false]);
    // Set back, it has lost the work as well.
    run_one(&scratch);
    assert_eq!(passes(&scratch), [false, true]);
    scratch.git(&["reset", "-q", "--hard", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false, false]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn a_commit_that_is_amended_is_the_same_work() {
    let scratch = yard();
    run_one(&scratch);
    scratch.git(&["reset", "-q", "--soft", "HEAD~1"]);
    scratch.write("US-1.txt", "better work\n");
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "-q", "--amend", "-m", "US-1, better"]);
    fine(&scratch.piton(&["session", "focus", "the mast"]));
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, true]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn who_goes_to_another_branch_and_commits_nothing_has_committed_nothing() {
    let scratch = yard();
    scratch.git(&["branch", "base"]);
    scratch.write("other.txt", "other");
    commit(&scratch, "other");
    scratch.git(&["switch", "-q", "base"]);
    scratch.agent("git switch -q main; echo work >\"$PITON_ITEM.txt\"");
    run_one(&scratch);
    let shown = scratch.json(&["show", "US-1"]).to_string();
    let other = scratch.git(&["rev-parse", "main"]);
    assert!(!shown.contains(other.trim()), "{shown}");
    let last = scratch.git(&["log", "-1", "--format=%s"]);
    assert_eq!(last, "other\n", "its mark stays with its work");
}

#[test]
fn work_on_a_branch_that_was_left_again_is_that_branchs() {
    let scratch = yard();
    scratch.agent(
        "git switch -qc \"$PITON_ITEM\"; echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"; git switch -q main",
    );
    assert_eq!(scratch.piton(&ONE).exit, 5);
    let commit = scratch.git(&["rev-parse", "US-1"]);
    let shown = scratch.json(&["show", "US-1"]).to_string();
    assert!(shown.contains(commit.trim()), "{shown}");
    let asked = scratch.json_list(&["inbox"]).to_string();
    let behind = format!("left its work behind in commit {}", &commit[..12]);
    assert!(asked.contains(&behind), "{asked}");
    fine(&scratch.piton(&["decide", "d1", "approve"]));
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false, false]);
    assert_eq!(changes(&scratch), "");
    scratch.git(&["merge", "-q", "US-1"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false]);
}

#[test]
fn words_of_a_person_do_not_stand_for_a_merge() {
    let scratch = dependent();
    assert_eq!(run_all(&scratch).exit, 3);
    fine(&scratch.piton(&["plan", "retry", "mast", "--why", "use oak"]));
    assert_eq!(run_all(&scratch).exit, 3, "it waits for the merge again");
    fine(&scratch.piton(&["decide", "d2", "approve"]));
    assert_eq!(run_all(&scratch).exit, 0, "it goes without");
}

#[test]
fn a_mark_is_committed_where_git_changes_line_ends() {
    let scratch = yard();
    scratch.git(&["config", "core.autocrlf", "true"]);
    scratch.git(&["rm", "-q", "--cached", "prd.json"]);
    scratch.git(&["commit", "-qm", "without it"]);
    let text = scratch.read("prd.json").replace('\n', "\r\n");
    scratch.write("prd.json", &text);
    commit(&scratch, "with it");
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);
    assert_eq!(changes(&scratch), "");
    assert!(scratch.read("prd.json").contains("\r\n"));
}

#[test]
fn a_mark_waits_for_work_that_is_left_in_the_work_tree() {
    let scratch = yard();
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"; echo more >more.txt",
    );
    let said = scratch.piton(&ONE);
    assert!(
        said.err.contains("more.txt is not committed"),
        "{}{}",
        said.out,
        said.err
    );
    assert_eq!(changes(&scratch), " M prd.json\n");
    scratch.agent("git add more.txt; git commit -qm \"$PITON_ITEM\"; echo work >\"$PITON_ITEM.txt\"; git add -A; git commit -qm work");
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, true]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn words_of_a_person_are_not_committed_as_a_mark() {
    let scratch = project();
    scratch
        .write("prd.json", STORIES)
        .write(".gitignore", ".piton/\nagent.sh\n");
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"",
    );
    add_sign(&scratch, "Ask");
    commit(&scratch, "begin");
    let signs = scratch.read(SIGNS);
    scratch.write(SIGNS, &signs.replace("Ask first.", "Ask me first."));
    run_one(&scratch);
    let words = scratch.git(&["show", &format!("HEAD:{SIGNS}")]);
    assert!(words.contains("Ask first."), "{words}");
    assert!(changes(&scratch).contains(SIGNS));
    // The others are committed with the work, and this one once it was.
    assert!(!changes(&scratch).contains("prd.json"));
    commit(&scratch, "me");
    add_sign(&scratch, "Look");
    run_one(&scratch);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn a_mark_that_git_carries_to_another_branch_is_not_its_mark() {
    let scratch = yard();
    scratch.agent(
        "git switch -qc \"$PITON_ITEM\" main; echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"",
    );
    // Words of a person keep the marks from being committed.
    let text = scratch.read("prd.json");
    scratch.write("prd.json", &text.replace("it stands", "it stands upright"));
    assert_eq!(run_all(&scratch).exit, 0);
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false, false]);
    assert!(scratch.read("prd.json").contains("it stands upright"));
    let status = scratch.shows(&["status", "prd"]);
    assert_eq!(status.matches("done on US-").count(), 2, "{status}");
    scratch.git(&["merge", "-q", "-m", "both", "US-1"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false]);
}

#[test]
fn a_commit_before_its_mark_is_nobodys_edit() {
    let scratch = yard();
    run_one(&scratch);
    scratch.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [true, false]);
    assert_eq!(changes(&scratch), "");
}

#[test]
fn a_tick_that_a_person_committed_on_another_branch_is_not_taken_out_here() {
    let scratch = yard();
    run_one(&scratch);
    scratch.git(&["switch", "-qc", "feature"]);
    let text = scratch.read("prd.json");
    scratch.write(
        "prd.json",
        &text.replace("\"passes\": false", "\"passes\": true"),
    );
    fine(&scratch.piton(&["files", "sync"]));
    commit(&scratch, "it stands");
    fine(&scratch.piton(&["files", "sync"]));
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    assert_eq!(passes(&scratch), [true, false]);
}

#[test]
fn work_that_was_left_behind_is_not_ticked_by_what_is_committed_later() {
    let scratch = yard();
    scratch.agent(
        "git switch -qc \"$PITON_ITEM\"; echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"; git switch -q main",
    );
    assert_eq!(scratch.piton(&ONE).exit, 5);
    fine(&scratch.piton(&["decide", "d1", "approve"]));
    scratch.write("other.txt", "other");
    commit(&scratch, "other");
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(passes(&scratch), [false, false]);
}

#[test]
fn what_to_merge_is_a_commit_where_the_branch_has_another_name() {
    let scratch = dependent();
    assert_eq!(run_all(&scratch).exit, 3);
    let shown = || scratch.json_list(&["inbox"])[0]["details"].to_string();
    assert!(shown().contains("git merge keel"), "{}", shown());
    fine(&scratch.piton(&["plan", "retry", "mast"]));
    scratch.git(&["branch", "-m", "keel", "kiel"]);
    assert_eq!(run_all(&scratch).exit, 3);
    let commit = scratch.git(&["rev-parse", "kiel~1"]);
    let merge = format!("git merge {}", &commit[..12]);
    assert!(shown().contains(&merge), "{}", shown());
}

#[test]
fn what_an_agent_commits_in_another_work_tree_is_its_work_once_it_is_here() {
    let scratch = yard();
    scratch.agent(
        "set -e; git worktree add -q -b \"$PITON_ITEM\" .git/other; cd .git/other
echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"
cd ../..; git merge -q \"$PITON_ITEM\"; git worktree remove .git/other; git branch -qd \"$PITON_ITEM\"",
    );
    let begin = scratch.git(&["rev-parse", "HEAD"]);
    run_one(&scratch);
    assert_eq!(passes(&scratch), [true, false]);
    assert_eq!(changes(&scratch), "");
    let shown = scratch.json(&["show", "US-1"]).to_string();
    let work = scratch.git(&["rev-parse", "HEAD~1"]);
    assert!(
        shown.contains(work.trim()) && !shown.contains(begin.trim()),
        "{shown}"
    );
}

#[test]
fn what_an_agent_pulls_was_made_by_others() {
    let scratch = yard();
    scratch.git(&["switch", "-qc", "colleague"]);
    scratch.write("theirs.txt", "theirs");
    scratch.git(&["add", "--all"]);
    let (date, commit) = (
        "2026-01-01T00:00:00Z",
        ["commit", "-qm", "theirs", "--date"],
    );
    let mut shell = scratch.shell("-c");
    shell.arg(format!(
        "GIT_COMMITTER_DATE={date} git {} {date}",
        commit.join(" ")
    ));
    assert!(shell.status().expect("git is installed").success());
    scratch.git(&["switch", "-q", "main"]);
    scratch.agent("git merge -q colleague; echo work >\"$PITON_ITEM.txt\"");
    run_one(&scratch);
    let theirs = scratch.git(&["rev-parse", "colleague"]);
    let shown = scratch.json(&["show", "US-1"]).to_string();
    assert!(!shown.contains(theirs.trim()), "{shown}");
}

#[test]
fn a_branch_without_the_file_of_a_plan_is_told_so() {
    let scratch = yard();
    run_one(&scratch);
    scratch.git(&["switch", "-q", "--orphan", "docs"]);
    scratch.git(&["commit", "-q", "--allow-empty", "-m", "docs"]);
    let said = scratch.piton(&["files", "sync"]);
    fine(&said);
    assert!(
        said.err.contains("this branch has no prd.json"),
        "{}",
        said.err
    );
    assert!(!scratch.has("prd.json"));
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(changes(&scratch), "");
}

/// Both stories are done by one run, each on a branch of its own, and `main` has
/// neither.
fn done_on_two_branches() -> Scratch {
    let scratch = yard();
    for branch in ["feature", "other"] {
        scratch.git(&["switch", "-qc", branch, "main"]);
        run_one(&scratch);
    }
    scratch.git(&["switch", "-q", "main"]);
    assert_eq!(passes(&scratch), [false, false]);
    scratch
}

/// The plan, begun anew.
fn run_anew(scratch: &Scratch) -> Said {
    scratch.piton(&[
        "run",
        "prd.json",
        "--recompile",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ])
}

/// How many commits of what is checked out are called so.
fn commits_of(scratch: &Scratch, subject: &str) -> usize {
    let log = scratch.git(&["log", "--format=%s"]);
    log.lines().filter(|line| *line == subject).count()
}

#[test]
fn another_run_asks_once_about_all_that_an_earlier_one_did_elsewhere() {
    let scratch = done_on_two_branches();
    insta::assert_snapshot!(run_anew(&scratch).shown(&scratch), @r"
    warning: prd.json: its items have no command that verifies them: a change and their agent's word make them done
    ? US-1 needs a person: `US-1` is done on feature and not here
    ? US-2 needs a person: `US-2` is done on other and not here
    0 of 2 stories done
    ? US-1: Lay the keel - `US-1` is done on feature and not here
        piton decide d1 approve
    ? US-2: Set the mast - `US-2` is done on other and not here
        piton decide d1 approve
    report: .git/piton/reports/prd_2.html
    run `prd~2` waits for a person at US-1
    hint: see the question with `piton inbox`
    [exit 3]
    ");
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
    d1  another run did 2 items on other branches, and they are not here: do them again?
        `US-1` is done on feature
        `US-2` is done on other
        git merge feature
        git merge other
        piton run prd~2
        piton decide d1 approve
        piton decide d1 skip
    [exit 0]
    ");
    assert_eq!(commits_of(&scratch, "US-1"), 0, "it was not done again");
    assert_eq!(run_all(&scratch).exit, 3, "nothing was merged");
    // What is merged is done, by the mark that came along.
    scratch.git(&["merge", "-q", "feature"]);
    assert_eq!(run_all(&scratch).exit, 3);
    assert_eq!(passes(&scratch), [true, false]);
    insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
    d1  another run did `US-2` on other, and it is not here: do it again?
        `US-2` is done on other
        git merge other
        piton run prd~2
        piton decide d1 approve
        piton decide d1 skip
    [exit 0]
    ");
    // And by its commits, where the mark did not.
    scratch.git(&["merge", "-q", "-m", "both", "other", "-X", "ours"]);
    insta::assert_snapshot!(run_all(&scratch).shown(&scratch), @r"
    2 of 2 stories done (1 by a person, 1 changed)
    report: .git/piton/reports/prd_2.html
    run `prd~2` is already finished
    [exit 0]
    ");
    assert_eq!(passes(&scratch), [true, true]);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    for story in ["US-1", "US-2"] {
        assert_eq!(commits_of(&scratch, story), 1, "{story}");
    }
    insta::assert_snapshot!(scratch.shows(&["show", "prd~2:US-2"]), @r"
    done    US-2: Set the mast (1 file changed)
      state done in prd~2, at US-2
      criterion it stands
      prompt
        **US-2**: Set the mast

        What must be true in the end:

        - it stands
    [exit 0]
    ");
}

#[test]
fn what_another_run_asks_about_is_done_here_again_when_a_person_says_so() {
    let scratch = done_on_two_branches();
    assert_eq!(run_anew(&scratch).exit, 3);
    fine(&scratch.piton(&["decide", "d1", "approve"]));
    fine(&run_all(&scratch));
    assert_eq!(passes(&scratch), [true, true]);
    assert_eq!(commits_of(&scratch, "US-1"), 1, "it was done here");
}

#[test]
fn what_another_run_asks_about_is_left_out_when_a_person_says_so() {
    let scratch = done_on_two_branches();
    assert_eq!(run_anew(&scratch).exit, 3);
    fine(&scratch.piton(&["decide", "d1", "skip"]));
    fine(&run_all(&scratch));
    assert_eq!(passes(&scratch), [false, false]);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}

#[test]
fn a_plan_that_is_begun_anew_asks_nothing_about_what_was_done_here() {
    let scratch = yard();
    run_one(&scratch);
    run_one(&scratch);
    scratch.git(&["switch", "-qc", "feature"]);
    let list = scratch
        .read("prd.json")
        .replace("\"passes\": true", "\"passes\": false");
    scratch.write("prd.json", &list);
    scratch.agent("git commit -q --allow-empty -m \"$PITON_ITEM\"; date >>all.txt");
    fine(&run_anew(&scratch));
    assert_eq!(commits_of(&scratch, "US-1"), 2, "it was done again");
}

/// A sprint with these phases, whose file is tracked. The first is done on `main`,
/// and the second on `feature`.
fn sprint_on_two_branches(phases: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(phases);
    scratch.write(".gitignore", ".piton/\nagent.sh\n");
    scratch.agent(
        "echo work >\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"",
    );
    scratch.git(&["checkout", "-qB", "main"]);
    commit(&scratch, "begin");
    let run_one = || {
        let said = scratch.run(&["--once"]);
        assert!([0, 5].contains(&said.exit), "{}{}", said.out, said.err);
    };
    run_one();
    commit(&scratch, "the hull is tight");
    scratch.git(&["switch", "-qc", "feature"]);
    run_one();
    assert_eq!(changes(&scratch), "", "the mark is committed");
    scratch
}

/// What the file of the sprint says of the whole, and of each phase.
fn statuses(scratch: &Scratch) -> Vec<String> {
    let text = scratch.read("demo/PROGRESS.yaml");
    let lines = text.lines().map(str::trim);
    let said = lines.filter_map(|line| line.strip_prefix("status: "));
    said.map(str::to_owned).collect()
}

#[test]
fn a_sprint_that_is_done_on_one_branch_changes_no_file_of_another() {
    let phases = "  - {id: keel, prompt: Lay it}\n  - {id: mast, prompt: Set it}\n";
    let scratch = sprint_on_two_branches(phases);
    assert_eq!(statuses(&scratch), ["completed"; 3]);
    scratch.git(&["switch", "-q", "main"]);
    for _ in 0..2 {
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(statuses(&scratch), ["paused", "completed", "pending"]);
        assert_eq!(changes(&scratch), "");
    }
    scratch.git(&["merge", "-q", "feature"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(statuses(&scratch), ["completed"; 3]);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}

#[test]
fn a_sprint_is_not_completed_on_a_branch_that_lacks_a_part_of_it() {
    let phases = "  - {id: keel, prompt: Lay it}\n  - {id: mast, prompt: Set it}\n  - {id: sail, prompt: Sew it}\n";
    let scratch = sprint_on_two_branches(phases);
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.run(&[]));
    let lacking = ["interrupted", "completed", "pending", "completed"];
    assert_eq!(statuses(&scratch), lacking);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(statuses(&scratch), lacking);
    assert_eq!(changes(&scratch), "");
    // It is where that part is merged.
    scratch.git(&["merge", "-q", "-m", "both", "feature", "-X", "ours"]);
    fine(&scratch.piton(&["files", "sync"]));
    assert_eq!(statuses(&scratch), ["completed"; 4]);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
}

#[test]
fn a_sprint_that_is_begun_anew_waits_at_a_part_that_is_elsewhere() {
    let phases = "  - {id: keel, prompt: Lay it}\n  - {id: mast, prompt: Set it}\n";
    let scratch = sprint_on_two_branches(phases);
    scratch.git(&["switch", "-q", "main"]);
    scratch.agent("date +%s%N >>\"$PITON_ITEM.txt\"; git add \"$PITON_ITEM.txt\"; git commit -qm \"$PITON_ITEM\"");
    let said = scratch.run(&["--recompile"]);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    // The work of the first is here: it is done again, as whoever begins anew wants.
    assert_eq!(commits_of(&scratch, "keel"), 2);
    assert_eq!(statuses(&scratch), ["needs-human", "completed", "blocked"]);
    let asked = scratch.json_list(&["inbox"]);
    let question = "another run did `mast` on feature, and it is not here: do it again?";
    assert_eq!(asked[0]["question"], question);
    assert_eq!(asked.as_array().map(Vec::len), Some(1));
    scratch.git(&["cherry-pick", "feature~1"]);
    fine(&scratch.run(&[]));
    assert_eq!(statuses(&scratch), ["completed"; 3]);
    assert_eq!(scratch.json_list(&["inbox"]), serde_json::json!([]));
    assert_eq!(commits_of(&scratch, "mast"), 1);
}

#[test]
fn a_mark_of_an_agent_does_not_stand_for_the_merge_that_another_run_needs() {
    let scratch = yard();
    scratch.git(&["switch", "-qc", "feature"]);
    run_one(&scratch);
    scratch.git(&["switch", "-q", "main"]);
    scratch.agent(
        "sed -i 's/\"passes\": false/\"passes\": true/' prd.json; date >\"$PITON_ITEM.txt\"; git add -A; git commit -qm \"$PITON_ITEM\"",
    );
    assert_eq!(run_anew(&scratch).exit, 3);
    assert_eq!(commits_of(&scratch, "US-2"), 1);
    assert_eq!(run_all(&scratch).exit, 3, "the first still waits");
    let shown = scratch.json(&["show", "prd~2:US-1"]);
    assert_eq!(shown["item"]["state"], "waiting", "{shown}");
}

#[test]
fn what_another_run_asks_about_shrinks_by_what_is_skipped_alone() {
    let scratch = done_on_two_branches();
    assert_eq!(run_anew(&scratch).exit, 3);
    fine(&scratch.piton(&["plan", "skip", "prd~2:US-1"]));
    assert_eq!(run_all(&scratch).exit, 3);
    let asked = scratch.json_list(&["inbox"]);
    let question = "another run did `US-2` on other, and it is not here: do it again?";
    assert_eq!(asked[0]["question"], question);
}

#[test]
fn a_runner_that_stays_goes_on_once_what_another_run_did_is_merged() {
    let scratch = done_on_two_branches();
    let mut command = scratch.command(&["run", "prd.json", "--recompile", "--wait"]);
    command.args(["--agent", "./agent.sh", "--verdict", "exit-status"]);
    let running = Running::start(command);
    scratch.until("it waits", || {
        is_in_state(&scratch, "prd~2:US-2", "waiting")
    });
    scratch.git(&["merge", "-q", "feature"]);
    scratch.git(&["merge", "-q", "-m", "both", "other", "-X", "ours"]);
    fine(&running.end());
    assert_eq!(passes(&scratch), [true, true]);
    assert_eq!(commits_of(&scratch, "US-2"), 1);
}

#[test]
fn an_agent_can_make_a_branch_for_each_phase_of_a_sprint() {
    let scratch = Scratch::new();
    let phase = |id: &str| format!("  - {{id: {id}, prompt: Build the {id}}}\n");
    let phases: String = ["keel", "mast", "sail", "helm"].map(phase).concat();
    scratch.sprint(&phases);
    scratch.write(".gitignore", ".piton/\nagent.sh\n");
    fine(&scratch.piton(&["init", "--yes", "--with", "agent-os"]));
    scratch.git(&["checkout", "-qB", "main"]);
    // The file of the sprint, and the log, are committed with the first phase.
    scratch.agent("echo work >\"$PITON_ITEM.txt\"; echo done");
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    commit(&scratch, "the keel");
    scratch.agent(
        "set -e; git switch -q main; git switch -qc \"step-$PITON_ITEM\"\n\
         echo work >\"$PITON_ITEM.txt\"; git add -A; git commit -qm \"$PITON_ITEM\"; echo done",
    );
    let said = scratch.run(&[]);
    fine(&said);
    assert!(!said.err.contains("attempt 2"), "{}", said.err);
    assert_eq!(changes(&scratch), "");
    for item in ["mast", "sail", "helm"] {
        scratch.git(&["switch", "-q", &format!("step-{item}")]);
        let text = scratch.read("demo/PROGRESS.yaml");
        assert_eq!(
            text.matches("    status: completed").count(),
            2,
            "{item}: {text}"
        );
        fine(&scratch.piton(&["files", "sync"]));
        assert_eq!(changes(&scratch), "");
    }
}

/// A log of which `main` has an older version than what is checked out, and an agent
/// that changes to `main` as soon as `go` is there.
fn switching_agent() -> Scratch {
    let scratch = yard();
    scratch.write(".gitignore", ".piton/\nagent.sh\ngo\n");
    fine(&scratch.piton(&["init", "--yes", "--with", "agent-os"]));
    fine(&scratch.piton(&["record", "project:the first"]));
    commit(&scratch, "the log");
    scratch.git(&["switch", "-qc", "feature"]);
    fine(&scratch.piton(&["record", "project:the second"]));
    commit(&scratch, "the log grows");
    scratch.agent(
        "touch at-work; while [ ! -e go ]; do sleep 0.05; done; rm at-work\n\
         git switch -q main && echo x >left && git add left && git commit -qm left; echo done",
    );
    scratch
}

fn start_one(scratch: &Scratch) -> Running {
    let mut command = scratch.command(&["run", "prd.json", "--max-iterations", "1"]);
    command.args(["--agent", "./agent.sh", "--verdict", "exit-status"]);
    let running = Running::start(command);
    scratch.until("it works", || scratch.path().join("at-work").exists());
    running
}

#[test]
fn what_people_record_while_an_agent_works_stands_in_no_way_of_it() {
    let scratch = switching_agent();
    let running = start_one(&scratch);
    fine(&scratch.piton(&["record", "project:the third"]));
    fine(&scratch.piton(&["session", "start"]));
    fine(&scratch.piton(&["session", "end"]));
    fine(&scratch.piton(&["files", "sync"]));
    scratch.write("go", "");
    running.end();
    assert!(scratch.path().join("left").exists(), "it could not switch");
    fine(&scratch.piton(&["files", "sync"]));
}

#[test]
fn an_attempt_of_the_dead_keeps_no_file_waiting() {
    let scratch = switching_agent();
    let running = start_one(&scratch);
    running.kill();
    fine(&scratch.piton(&["record", "project:the third"]));
    let log = scratch.read(".agent-os/progress/progress.json");
    assert!(log.contains("the third"), "{log}");
    scratch.write("go", "");
}

#[test]
fn a_file_that_branches_have_differently_follows_an_agent_that_commits_nothing() {
    let scratch = Scratch::new();
    let phase = |id: &str| format!("  - {{id: {id}, prompt: Build the {id}}}\n");
    scratch.sprint(&["keel", "mast", "sail"].map(phase).concat());
    scratch.write(".gitignore", ".piton/\nagent.sh\n");
    scratch.git(&["checkout", "-qB", "main"]);
    scratch.agent("cp demo/PROGRESS.yaml \"$PITON_ITEM.seen\" 2>/dev/null; echo done");
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    commit(&scratch, "the keel");
    scratch.git(&["switch", "-qc", "other"]);
    let text = scratch.read("demo/PROGRESS.yaml");
    scratch.write("demo/PROGRESS.yaml", &text.replace("the sail", "the sails"));
    commit(&scratch, "other words");
    scratch.git(&["switch", "-q", "main"]);
    fine(&scratch.run(&[]));
    let seen = scratch.read("sail.seen");
    let done = seen.matches("    status: completed").count();
    assert_eq!(done, 2, "what was done before: {seen}");
}

#[test]
fn a_tracked_file_is_live_where_all_branches_have_it_alike() {
    let scratch = Scratch::new();
    scratch.sprint("  - {id: keel, prompt: Lay it}\n  - {id: mast, prompt: Set it}\n");
    scratch.write(".gitignore", ".piton/\nagent.sh\n");
    scratch.git(&["checkout", "-qB", "main"]);
    scratch.agent("cat demo/PROGRESS.yaml >>\"$PITON_ITEM.seen\"; echo done");
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    commit(&scratch, "the keel");
    scratch.git(&["branch", "other"]);
    fine(&scratch.run(&[]));
    let seen = scratch.read("mast.seen");
    assert!(seen.contains("status: in-progress"), "{seen}");
}
