//! `piton add`, `list`, `done`, `skip` and `reopen`: items by command.

use crate::harness::{Running, Said, Scratch};

const RUN: &[&str] = &["run", "--agent", "./agent.sh", "--verdict", "exit-status"];
/// An agent that says in `order` what it worked on.
const AGENT: &str = "cat >told\necho \"$PITON_ITEM\" >>order\n";

fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.agent(AGENT);
    scratch
}

#[track_caller]
fn done(said: &Said) {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

#[track_caller]
fn nodes(scratch: &Scratch, args: &[&str]) -> Vec<String> {
    let found = scratch.json(&[&["list"], args].concat());
    let items = found["items"].as_array().expect("a list");
    let name = |item: &serde_json::Value| item["node"].as_str().expect("a name").to_owned();
    items.iter().map(name).collect()
}

#[test]
fn from_an_empty_folder_to_an_item_that_is_done_by_commands_alone() {
    let scratch = Scratch::outside_git();
    let state = tempfile::tempdir().expect("a folder for the state of a user");
    // Nothing is trusted but what is typed.
    let piton = |args: &[&str]| {
        let mut command = scratch.command(args);
        command
            .env_remove("PITON_TEST_TRUST")
            .env("XDG_STATE_HOME", state.path());
        Said::of(&command.output().expect("piton starts"))
    };
    done(&piton(&["init", "--yes"]));
    done(&piton(&["add", "Write hello", "--check", "test -f hello"]));
    let run = [
        "run",
        "--agent",
        "sh:touch hello",
        "--verdict",
        "exit-status",
    ];
    done(&piton(&run));
    let said = piton(&["status"]);
    assert!(said.out.contains("done    write-hello"), "{}", said.out);
    assert!(scratch.has("hello"));
    let found = scratch.json(&["list"]);
    let item = &found["items"][0];
    assert_eq!(item["check"]["passed"], true, "{item}");
    assert_eq!(item["state"], "done", "{item}");
}

#[test]
fn what_is_added_is_told() {
    let scratch = project().with_fixed_clock();
    insta::assert_snapshot!(scratch.shows(&["add", "Write hello", "--check", "test -f hello"]), @r"
    keeping progress in SCRATCH/.git/piton
    added `write-hello`: Write hello
    hint: start it with `piton run list`
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["add", "Write hello", "--after", "write-hello"]), @r"
    added `write-hello-2`: Write hello
    hint: start it with `piton run list`
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["list"]), @r"
    list
      ready   write-hello: Write hello
      pending write-hello-2: Write hello
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["list", "--ready", "--in", "list"]), @r"
    list
      ready   write-hello: Write hello
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["add", "Next", "--after", "write-hallo"]), @r"
    error: there is no item `write-hallo` [item.unknown]
    hint: near to it: `write-hello`, `write-hello-2`; see the nodes with `piton status list`
    [exit 2]
    ");
    insta::assert_snapshot!(scratch.shows(&["add", " "]), @r"
    error: the title is empty [usage]
    hint: say in one line what is to be done: `piton add 'Write hello'`
    [exit 2]
    ");
    assert_eq!(nodes(&scratch, &[]), ["write-hello", "write-hello-2"]);
}

#[test]
fn an_item_added_while_a_runner_works_is_done_in_the_same_run() {
    let scratch = project();
    scratch.agent(&format!("{AGENT}while [ ! -e go ]; do sleep 0.02; done\n"));
    done(&scratch.piton(&["add", "first"]));
    let running = Running::start(scratch.command(RUN));
    scratch.until("the first is worked on", || scratch.has("order"));
    done(&scratch.piton(&["add", "second", "--after", "first"]));
    scratch.write("go", "");
    done(&running.end());
    assert_eq!(scratch.read("order"), "first\nsecond\n");
}

#[test]
fn an_item_added_to_a_finished_list_opens_it_again() {
    let scratch = project();
    done(&scratch.piton(&["add", "first"]));
    done(&scratch.piton(RUN));
    done(&scratch.fed(&["add", "second", "--prompt", "-"], b"At length.\n"));
    assert_eq!(nodes(&scratch, &["--open"]), ["second"]);
    done(&scratch.piton(RUN));
    assert_eq!(scratch.read("order"), "first\nsecond\n");
    assert!(scratch.read("told").contains("second\n\nAt length."));
    assert_eq!(nodes(&scratch, &["--open"]), [""; 0]);
}

#[test]
fn a_run_names_the_list_and_the_plans_beside_it() {
    let scratch = project();
    scratch.write(
        "prd.json",
        "{\"features\": [{\"id\": \"a\", \"description\": \"A\", \"steps\": [], \"passes\": false}]}\n",
    );
    done(&scratch.piton(&["add", "first"]));
    let said = scratch.piton(RUN);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("prd.json, list"), "{}", said.err);
    let named = [&["run", "list"], &RUN[1..]].concat();
    done(&scratch.piton(&named));
    assert_eq!(scratch.read("order"), "first\n");
}

#[test]
fn a_plan_that_is_called_list_is_not_taken_for_the_list() {
    let scratch = project();
    scratch.write("list.json", PRD);
    let run = [&["run", "list.json"], &RUN[1..]].concat();
    done(&scratch.piton(&run));
    done(&scratch.piton(&["add", "first"]));
    assert_eq!(nodes(&scratch, &["--open"]), ["first"]);
    assert!(!scratch.read("list.json").contains("first"));
}

#[test]
fn an_agent_adds_nothing() {
    let scratch = project();
    let tries = [
        "add 'more for me' --check 'touch own'",
        "edit first --check true",
        "dep add first first",
        "take first",
        "release first",
    ];
    let tries = tries.map(|typed| format!("\"$PITON\" {typed} 2>>refused\n"));
    scratch.agent(&format!("{AGENT}{}true\n", tries.concat()));
    done(&scratch.piton(&["add", "first"]));
    done(&scratch.piton(RUN));
    let refused = scratch.read("refused");
    assert_eq!(refused.matches("agent.not_allowed").count(), 5, "{refused}");
    assert_eq!(nodes(&scratch, &[]), ["first"]);
}

#[test]
fn a_person_says_of_an_item_that_it_is_done_left_out_or_open_again() {
    let scratch = project();
    for title in ["first", "second", "third"] {
        done(&scratch.piton(&["add", title]));
    }
    done(&scratch.piton(&["done", "first", "--why", "by hand"]));
    done(&scratch.piton(&["skip", "second", "--why", "not needed"]));
    assert_eq!(nodes(&scratch, &["--open"]), ["third"]);
    done(&scratch.piton(&["reopen", "list:second"]));
    done(&scratch.piton(RUN));
    assert_eq!(scratch.read("order"), "second\nthird\n");
    let said = scratch.piton(&["done", "frist"]);
    assert!(said.err.contains("near to it: `first`"), "{}", said.err);
}

const PRD: &str = "{\"features\": [\n  {\"id\": \"a\", \"description\": \"A\", \"steps\": [], \"passes\": false}\n],\n  \"project\": \"p\"}\n";
const ADDED: &str = "  {\"id\": \"more\", \"description\": \"More\", \"steps\": [], \"passes\": false, \"may_depend_on\": [\"a\"]}\n";

#[test]
fn an_item_of_a_plan_in_a_file_stands_in_the_file() {
    let add = ["add", "More", "--in", "prd.json", "--after", "a"];
    let run = [&["run", "prd.json"], &RUN[1..]].concat();
    let passed = |text: &str, count| text.replacen("\"passes\": false", "\"passes\": true", count);
    let last = "\"passes\": false}\n";
    let with_item = PRD.replace(last, &format!("\"passes\": false}},\n{ADDED}"));
    // Before it is a run, and as one of which an item is done.
    for done_before in [0, 1] {
        let scratch = project();
        scratch.write("prd.json", PRD);
        if done_before > 0 {
            scratch.piton(&[&run[..], &["--once"]].concat());
            assert_eq!(scratch.read("prd.json"), passed(PRD, 1));
        }
        done(&scratch.piton(&add));
        assert_eq!(scratch.read("prd.json"), passed(&with_item, done_before));
        done(&scratch.piton(&run));
        assert_eq!(scratch.read("order"), "a\nmore\n");
        assert_eq!(scratch.read("prd.json"), passed(&with_item, 2));
    }
}

#[test]
fn a_check_of_the_file_is_not_trusted_by_an_item_that_is_added() {
    let scratch = project();
    scratch.write(
        "prd.json",
        &PRD.replace("\"project\": \"p\"", "\"verification\": \"touch canary\""),
    );
    let state = tempfile::tempdir().expect("a folder for the state of a user");
    let piton = |args: &[&str]| {
        let mut command = scratch.command(args);
        command
            .env_remove("PITON_TEST_TRUST")
            .env("XDG_STATE_HOME", state.path());
        Said::of(&command.output().expect("piton starts"))
    };
    let run = [&["run", "prd.json"], &RUN[1..]].concat();
    let ran = || std::fs::remove_file(scratch.file("canary")).is_ok();
    done(&piton(&["add", "More", "--in", "prd.json"]));
    assert_ne!(piton(&run).exit, 0);
    assert!(!ran());
    // Once it is a run as well, which somebody began who trusts the plan.
    scratch.agent("cat >/dev/null; exit 1");
    scratch.piton(&[&run[..], &["--once"]].concat());
    ran();
    done(&piton(&[
        "add", "Other", "--in", "prd.json", "--check", "true",
    ]));
    assert_ne!(piton(&run).exit, 0);
    assert!(!ran());
}

#[test]
fn a_format_that_takes_no_item_says_so_by_its_name() {
    let scratch = project();
    scratch.sprint("  - {id: one, prompt: do one}\n");
    done(&scratch.run(&[]));
    let said = scratch.piton(&["add", "More", "--in", "demo"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    assert!(said.err.contains("sprint-yaml"), "{}", said.err);
    assert!(said.err.contains("piton plan inject"), "{}", said.err);
}

#[test]
fn items_of_all_runs_and_memories_are_found_by_their_words() {
    let scratch = project().with_fixed_clock();
    scratch.write("prd.json", PRD);
    done(&scratch.piton(&[&["run", "prd.json"], &RUN[1..]].concat()));
    let prompt = ["--prompt", "Beside the LOGIN of the shop."];
    done(&scratch.piton(&["add", "Write hello"]));
    done(&scratch.piton(&[&["add", "Translate hello"], &prompt[..]].concat()));
    done(&scratch.piton(&["add", "Wire the login"]));
    done(&scratch.piton(&["done", "write-hello"]));
    done(&scratch.piton(&["learn", "add", "The login needs port 5433 open"]));
    insta::assert_snapshot!(scratch.shows(&["find", "login"]), @r"
    list:wire-the-login: Wire the login (ready)
    list:translate-hello: Translate hello (ready)
    learning-0001  The login needs port 5433 open (learning)
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["find", "HELLO", "write"]), @r"
    list:write-hello: Write hello (done)
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["find", "zebra"]), @r"
    nothing here has these words
    [exit 0]
    ");
    let found = scratch.json(&["find", "a"]);
    let items = found["items"].as_array().expect("a list");
    let typed = items
        .iter()
        .map(|item| item["item"].as_str().expect("a name"));
    let typed: Vec<&str> = typed.collect();
    assert!(typed.contains(&"prd:a"), "{typed:?}");
    for item in typed {
        done(&scratch.piton(&["show", item]));
    }
    let memory = &scratch.json(&["find", "login"])["memories"][0]["id"];
    done(&scratch.piton(&["learn", "show", memory.as_str().expect("an id")]));
}

#[test]
fn what_waits_for_what_is_changed_and_never_goes_round() {
    let scratch = project().with_fixed_clock();
    for title in ["first", "second"] {
        done(&scratch.piton(&["add", title]));
    }
    insta::assert_snapshot!(scratch.shows(&["dep", "add", "first", "list:second"]), @r"
    `first` waits for `second`
    run `list` is new
    hint: start it with `piton run list`
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["dep", "add", "second", "first"]), @r"
    error: `second` is to wait for others: it would wait for `first`, which waits for it [item.state]
    hint: see where its items stand with `piton status list`
    [exit 1]
    ");
    insta::assert_snapshot!(scratch.shows(&["dep", "remove", "second", "first"]), @r"
    error: `second` does not wait for `first` [item.state]
    hint: see what it waits for with `piton show second`
    [exit 1]
    ");
    assert_eq!(nodes(&scratch, &["--ready"]), ["second"]);
    done(&scratch.piton(&["dep", "remove", "first", "second"]));
    done(&scratch.piton(&["dep", "add", "first", "second"]));
    done(&scratch.piton(RUN));
    assert_eq!(scratch.read("order"), "second\nfirst\n");
    insta::assert_snapshot!(scratch.shows(&["dep", "add", "first", "second"]), @r"
    error: `first` is done: it waits for nothing any more [item.state]
    hint: open it again with `piton reopen first`
    [exit 1]
    ");
}

#[test]
fn an_edit_holds_from_the_next_attempt_on() {
    let scratch = project();
    scratch.agent(&format!(
        "{AGENT}[ -e go ] || {{ touch at-work; while [ ! -e go ]; do sleep 0.02; done; exit 1; }}\n"
    ));
    done(&scratch.piton(&["add", "first", "--prompt", "At length."]));
    let running = Running::start(scratch.command(RUN));
    scratch.until("it is worked on", || scratch.has("at-work"));
    let edit = [
        "edit",
        "first",
        "--title",
        "The first",
        "--check",
        "test -e told",
    ];
    let said = scratch.piton(&edit);
    done(&said);
    assert!(said.err.contains("goes on with what it was started with"));
    assert!(scratch.read("told").contains("first\n\nAt length."));
    scratch.write("go", "");
    done(&running.end());
    done(&scratch.piton(&["reopen", "first"]));
    done(&scratch.piton(RUN));
    assert!(scratch.read("told").contains("The first\n\nAt length."));
    let item = &scratch.json(&["list"])["items"][0];
    assert_eq!(item["check"]["passed"], true, "{item}");
    // Once more, it changes nothing.
    assert_eq!(scratch.json(&edit)["changed"], false);
}

#[test]
fn items_are_listed_by_label_and_worked_on_by_priority() {
    let scratch = project();
    done(&scratch.piton(&["add", "last", "--label", "ui", "--label", "db"]));
    done(&scratch.piton(&["add", "second", "--priority", "2", "--label", "ui"]));
    done(&scratch.piton(&["add", "third"]));
    done(&scratch.piton(&["add", "first", "--priority", "1"]));
    assert_eq!(nodes(&scratch, &["--label", "ui"]), ["second", "last"]);
    let both = ["--label", "ui", "--label", "db"];
    assert_eq!(nodes(&scratch, &both), ["last"]);
    done(&scratch.piton(&["edit", "third", "--priority", "3", "--label", "db"]));
    assert_eq!(nodes(&scratch, &["--label", "db"]), ["third", "last"]);
    done(&scratch.piton(RUN));
    assert_eq!(scratch.read("order"), "first\nsecond\nthird\nlast\n");
}

#[test]
fn what_a_person_took_is_left_out_until_it_is_given_back() {
    let scratch = project().with_fixed_clock();
    for title in ["first", "second"] {
        done(&scratch.piton(&["add", title]));
    }
    insta::assert_snapshot!(scratch.shows(&["take", "first", "--for", "45m"]), @r"
    `first` is taken by Ada until 2026-01-15 09:45 UTC
    run `list` is new
    hint: start it with `piton run list`
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["find", "first"]), @r"
    list:first (taken by Ada)
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["status"]), @r"
    list  new
    taken   first < - taken by Ada until 2026-01-15T09:45Z
    ready   second

    0 of 2 items done, 0 agents started
    Last activity: 0s ago
    Run `list` has not been started
    Next: piton run list
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["next"]), @r"
    list  new
      ready    second
      waits    first taken by Ada until 2026-01-15T09:45Z
      Next: piton run list
    [exit 0]
    ");
    assert_eq!(nodes(&scratch, &["--ready"]), ["second"]);
    let mut other = scratch.command(&["take", "first"]);
    let said = Said::of(
        &other
            .env("PITON_USER", "grace")
            .output()
            .expect("it starts"),
    );
    assert!(
        said.err.contains("it is taken by Ada until"),
        "{}",
        said.err
    );
    scratch.piton(&[RUN, &["--once"]].concat());
    assert_eq!(scratch.read("order"), "second\n");
    insta::assert_snapshot!(scratch.shows(&["release", "first"]), @r"
    `first` is given back
    run `list` is paused
    hint: go on with `piton run list`; the limit is counted anew
    [exit 0]
    ");
    done(&scratch.piton(RUN));
    assert_eq!(scratch.read("order"), "second\nfirst\n");
}

#[test]
fn a_run_that_waits_for_a_person_says_who_took_what() {
    let scratch = project();
    done(&scratch.piton(&["add", "only"]));
    done(&scratch.piton(&["take", "only", "--for", "2s"]));
    let said = scratch.piton(RUN);
    let words = "waiting: `only` is taken by Ada until 20";
    assert!(said.err.contains(words), "{}", said.err);
    let typed = "give it back with `piton release list:only`";
    assert!(said.err.contains(typed), "{}", said.err);
    assert_eq!(scratch.read("order"), "only\n");
}

#[test]
fn a_list_of_nothing_says_why_it_is_empty() {
    let scratch = project();
    let why = |args: &[&str]| {
        let found = scratch.json(&[&["list"], args].concat());
        found["none_because"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        why(&[]),
        "there is no item here; add one with `piton add TITLE`"
    );
    done(&scratch.piton(&["add", "first", "--label", "bug"]));
    done(&scratch.piton(&["add", "second", "--after", "first"]));
    done(&scratch.piton(&["take", "first"]));
    assert_eq!(
        why(&["--label", "nope"]),
        "no item is labelled `nope`; the labels here are: `bug`"
    );
    assert_eq!(
        why(&["--ready"]),
        "nothing is ready: 1 taken by a person, 1 waiting for other items"
    );
    done(&scratch.piton(&["done", "first"]));
    done(&scratch.piton(&["done", "second"]));
    assert_eq!(why(&["--open"]), "all 2 items are finished");
    assert_eq!(
        why(&["--open", "--label", "bug"]),
        "the only item is finished"
    );
    scratch.write("TODO.md", "- [x] one\n");
    done(&scratch.piton(&[&["run", "TODO.md"], &RUN[1..]].concat()));
    assert_eq!(nodes(&scratch, &[]), ["first", "second"]);
}

#[test]
fn a_finished_run_is_named_by_a_list_of_what_is_open() {
    let scratch = project();
    scratch.write("prd.json", ONE_FEATURE);
    done(&scratch.piton(&[&["run", "prd.json"], &RUN[1..]].concat()));
    let said = scratch.piton(&["list"]);
    let words = "run `prd` is done; see its items with `piton list --in prd`";
    assert!(said.err.contains(words), "{}", said.err);
}

const ONE_FEATURE: &str = "{\"features\": [{\"id\": \"b\", \"description\": \"B\", \"passes\": false}], \"project\": \"p\"}\n";

#[test]
fn a_plan_that_no_run_has_begun_is_listed_and_named() {
    let scratch = project();
    scratch.write("prd.json", ONE_FEATURE);
    let begin = "`piton run prd.json";
    let says = |args: &[&str]| {
        let said = scratch.piton(args);
        assert!(said.err.contains(begin), "{args:?}: {}", said.err);
    };
    for _ in ["before `init`", "after it"] {
        assert_eq!(nodes(&scratch, &["--in", "prd.json"]), ["b"]);
        says(&["list"]);
        says(&["done", "b"]);
        says(&["edit", "b", "--title", "C"]);
        says(&["take", "b"]);
        done(&scratch.piton(&["init"]));
    }
}

#[test]
fn an_item_below_others_is_named_as_it_is_shown() {
    let scratch = project();
    scratch.write(
        "TODO.md",
        "- [ ] 1. Build\n  - [ ] 1.1 Lay the keel\n  - [ ] 1.2 Set the mast\n",
    );
    scratch.piton(&[&["run", "TODO.md"], &RUN[1..], &["--once"]].concat());
    let listed = scratch.piton(&["list"]).out;
    for node in nodes(&scratch, &[]) {
        assert!(node.contains('/'), "{node}");
        assert!(listed.contains(&format!(" {node}: ")), "{listed}");
        let (_, short) = node.rsplit_once('/').expect("it is below another");
        for name in [&*node, short, &format!("TODO:{short}")] {
            let shown = scratch.json(&["show", name]);
            assert_eq!(shown["item"]["node"], *node, "{name}: {shown}");
        }
        done(&scratch.piton(&["done", short]));
    }
}

#[test]
fn an_id_of_two_items_below_others_is_refused_with_both_names() {
    let scratch = project();
    for file in ["TODO.md", "IMPLEMENTATION_PLAN.md"] {
        scratch.write(file, "- [ ] a\n  - [ ] x\n  - [ ] y\n");
        scratch.piton(&[&["run", file], &RUN[1..], &["--once"]].concat());
    }
    let said = scratch.piton(&["take", "y"]);
    assert_eq!(said.exit, 2, "{}", said.err);
    let hint = "name one of: TODO:a/y, IMPLEMENTATION_PLAN:a/y";
    assert!(said.err.contains(hint), "{}", said.err);
}

#[test]
fn a_negative_number_is_refused_as_a_number() {
    let scratch = project();
    let said = scratch.piton(&["edit", "first", "--priority", "-1"]);
    assert!(
        said.err.contains("invalid value '-1' for '--priority"),
        "{}",
        said.err
    );
    assert!(!said.err.contains("tip:"), "{}", said.err);
}

#[test]
fn a_secret_in_new_words_is_named() {
    let scratch = project();
    let list = "{\"features\": [{\"id\": \"b\", \"description\": \"B\", \"passes\": false}, {\"id\": \"a\", \"description\": \"A\", \"passes\": false}], \"project\": \"p\"}\n";
    scratch.write("prd.json", list);
    scratch.piton(&[&["run", "prd.json"], &RUN[1..], &["--once"]].concat());
    let token = "token ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let said = scratch.piton(&["edit", "a", "--title", token]);
    done(&said);
    let words = "the prompt of `a` holds a secret";
    assert!(said.err.contains(words), "{}", said.err);
}

#[test]
fn an_edit_of_a_plan_in_a_file_changes_the_file_by_that_alone() {
    let list = "{\"features\": [\n  {\"id\": \"a\", \"description\": \"A\", \"passes\": false},\n  {\"id\": \"b\", \"description\": \"B\", \"passes\": false}\n], \"project\": \"p\"}\n";
    let scratch = project();
    scratch.write("prd.json", list);
    let run = [&["run", "prd.json"], &RUN[1..]].concat();
    scratch.piton(&[&run[..], &["--once"]].concat());
    let state = tempfile::tempdir().expect("a folder for the state of a user");
    let typed = |args: &[&str]| {
        let mut command = scratch.command(args);
        command
            .env_remove("PITON_TEST_TRUST")
            .env("XDG_STATE_HOME", state.path());
        Said::of(&command.output().expect("piton starts"))
    };
    done(&typed(&["add", "Last", "--in", "prd.json"]));
    let before = scratch.read("prd.json");
    done(&typed(&[
        "edit",
        "b",
        "--title",
        "Better",
        "--check",
        "test -e order",
    ]));
    done(&typed(&["dep", "add", "b", "last"]));
    let keys =
        "\"passes\": false, \"verification\": [\"test -e order\"], \"may_depend_on\": [\"last\"]}";
    let after = before
        .replace("\"B\"", "\"Better\"")
        .replacen("\"passes\": false}", keys, 1);
    assert_eq!(scratch.read("prd.json"), after);
    let said = typed(&["dep", "add", "last", "b"]);
    assert!(said.err.contains("depend on each other"), "{}", said.err);
    assert_eq!(scratch.read("prd.json"), after);
    // What was typed is trusted, and nothing is asked about.
    done(&typed(&run));
    assert_eq!(scratch.read("order"), "a\nlast\nb\n");
    assert!(scratch.read("told").contains("Better"));
    let passed = after.replace("\"passes\": false", "\"passes\": true");
    assert_eq!(scratch.read("prd.json"), passed);
}

#[test]
fn a_box_of_a_checklist_is_added_and_named_anew_in_its_own_way() {
    let list = "# Tasks\n\n- [ ] T001 Begin here\n- [ ] T002 Go on there\n\n## Notes\n\nNone.\n";
    let tick = |text: &str, count| text.replacen("[ ]", "[x]", count);
    for done_before in [0, 1] {
        let scratch = project();
        scratch.write("tasks.md", list);
        let run = [&["run", "tasks.md"], &RUN[1..]].concat();
        if done_before > 0 {
            scratch.piton(&[&run[..], &["--once"]].concat());
        }
        done(&scratch.piton(&["add", "End at last", "--in", "tasks.md"]));
        let added = list.replace("there\n", "there\n- [ ] T003 End at last\n");
        assert_eq!(scratch.read("tasks.md"), tick(&added, done_before));
        if done_before > 0 {
            done(&scratch.piton(&["edit", "T003", "--title", "End here at last"]));
        }
        done(&scratch.piton(&run));
        let named = match done_before {
            0 => added,
            _ => added.replace("End at", "End here at"),
        };
        assert_eq!(scratch.read("tasks.md"), tick(&named, 3));
        assert_eq!(scratch.read("order"), "T001\nT002\nT003\n");
    }
}

#[test]
fn what_was_acknowledged_is_there_wherever_the_next_one_dies() {
    let scratch = project();
    done(&scratch.piton(&["add", "first"]));
    for nth in 1.. {
        let mut command = scratch.command(&["add", "second"]);
        let died = command.env("PITON_FAILPOINT", format!("commit.durable:{nth}"));
        let said = Said::of(&died.output().expect("piton starts"));
        let known = nodes(&scratch, &[]);
        assert_eq!(known[0], "first", "{known:?}");
        // It is there once for each command that came to its commit.
        assert_eq!(known.len(), 1 + nth, "{known:?}");
        if said.exit == 0 {
            break;
        }
    }
}

#[test]
fn an_edit_that_dies_over_its_file_is_made_by_the_same_command() {
    let scratch = project();
    scratch.write("prd.json", PRD);
    scratch.agent("cat >/dev/null; exit 1");
    scratch.piton(&[&["run", "prd.json"], &RUN[1..]].concat());
    for nth in 1.. {
        let title = format!("Better {nth}");
        let edit = ["edit", "a", "--title", &title];
        let mut command = scratch.command(&edit);
        let died = command.env("PITON_FAILPOINT", format!("commit.durable:{nth}"));
        let said = Said::of(&died.output().expect("piton starts"));
        done(&scratch.piton(&edit));
        let text = scratch.read("prd.json");
        assert_eq!(text, PRD.replace("\"A\"", &format!("{title:?}")));
        let prompt = &scratch.json(&["show", "a"])["prompt"];
        assert!(
            prompt
                .as_str()
                .is_some_and(|prompt| prompt.contains(&title))
        );
        if said.exit == 0 {
            break;
        }
    }
}

/// The lines of a checklist, each id once.
fn ids_of_boxes(scratch: &Scratch) -> Vec<String> {
    let text = scratch.read("tasks.md");
    let ids = text.lines().filter_map(|line| line.strip_prefix("- [ ] "));
    let ids = ids.filter_map(|line| line.split(' ').next());
    let mut ids: Vec<String> = ids.map(str::to_owned).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn add_at_once(scratch: &Scratch, count: usize) {
    let adding = (0..count).map(|nth| {
        let title = format!("Job {nth}");
        Running::start(scratch.command(&["add", &title, "--in", "tasks.md"]))
    });
    let adding: Vec<Running> = adding.collect();
    for said in adding.into_iter().map(Running::end) {
        assert_eq!(said.exit, 0, "{}", said.err);
    }
}

#[test]
fn boxes_that_are_added_at_once_are_all_there_each_with_its_own_id() {
    let scratch = project();
    scratch.write("tasks.md", "# Tasks\n\n- [ ] T001 First\n");
    // The file alone says what there is; then it is the plan of a run.
    add_at_once(&scratch, 8);
    assert_eq!(
        ids_of_boxes(&scratch).len(),
        9,
        "{}",
        scratch.read("tasks.md")
    );
    scratch.agent("exit 1");
    scratch.piton(&[
        "run",
        "tasks.md",
        "--agent",
        "./agent.sh",
        "--max-iterations",
        "1",
    ]);
    add_at_once(&scratch, 8);
    done(&scratch.piton(&["files", "sync"]));
    assert_eq!(
        ids_of_boxes(&scratch).len(),
        17,
        "{}",
        scratch.read("tasks.md")
    );
    // What the journal calls an item is what the file calls it.
    let items = scratch.json(&["list", "--in", "tasks.md"]);
    let items = items["items"].as_array().expect("items").clone();
    for item in items {
        let (id, title) = (item["id"].as_str(), item["title"].as_str());
        let line = format!("- [ ] {} {}", id.expect("an id"), title.expect("a title"));
        let text = scratch.read("tasks.md");
        assert!(text.lines().any(|have| have == line), "{line}: {text}");
    }
}

#[test]
fn boxes_are_added_while_a_runner_works_one_after_another() {
    let scratch = project();
    scratch.write("tasks.md", "# Tasks\n\n- [ ] T001 First\n");
    scratch.agent("touch begun; while ! [ -e go ]; do sleep 0.05; done; echo work >>work.txt");
    let words = [
        "run",
        "tasks.md",
        "--agent",
        "./agent.sh",
        "--verdict",
        "exit-status",
    ];
    let running = Running::start(scratch.command(&words));
    scratch.until("the agent works", || scratch.has("begun"));
    for title in ["Second", "Third"] {
        done(&scratch.piton(&["add", title, "--in", "tasks.md"]));
    }
    scratch.write("go", "");
    let said = running.end();
    assert_eq!(said.exit, 0, "{}", said.err);
    let expect = "# Tasks\n\n- [x] T001 First\n- [x] T002 Second\n- [x] T003 Third\n";
    assert_eq!(scratch.read("tasks.md"), expect);
}
