//! `piton files merge-driver`: git merges native files as what they are, and is as
//! it was when the driver is taken out.

use crate::harness::{Said, Scratch};

const ATTRIBUTES: &str = ".gitattributes";
const PRD: &str = "prd.json";

fn list(items: &[(&str, bool)]) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|(id, passes)| {
            format!("    {{\n      \"id\": \"{id}\",\n      \"description\": \"Lay it\",\n      \"steps\": [],\n      \"passes\": {passes}\n    }}")
        })
        .collect();
    format!("{{\n  \"features\": [\n{}\n  ]\n}}\n", items.join(",\n"))
}

fn commit(scratch: &Scratch, text: &str) {
    scratch.write(PRD, text);
    scratch.git(&["add", "--all"]);
    scratch.git(&["commit", "--quiet", "--message", "x"]);
}

/// Two branches that changed a list; `main` is checked out.
fn branches(base: &str, ours: &str, theirs: &str) -> Scratch {
    let scratch = Scratch::new();
    commit(&scratch, base);
    scratch.git(&["checkout", "--quiet", "-b", "feature"]);
    commit(&scratch, theirs);
    scratch.git(&["checkout", "--quiet", "main"]);
    commit(&scratch, ours);
    scratch
}

fn git_merge(scratch: &Scratch) -> Said {
    let mut shell = scratch.shell("-c");
    shell.arg("git merge --no-edit --quiet feature");
    Said::of(&shell.output().expect("git is installed"))
}

#[track_caller]
fn install(scratch: &Scratch) {
    let said = scratch.piton(&["files", "merge-driver", "install", "--yes"]);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
}

#[test]
fn git_keeps_the_marks_and_items_of_both_sides() {
    let base = list(&[("a", false), ("b", false)]);
    let ours = list(&[("a", true), ("b", false), ("c", false), ("both", false)]);
    let theirs = list(&[("a", false), ("b", true), ("d", true), ("both", false)]);
    let scratch = branches(&base, &ours, &theirs);
    install(&scratch);
    let said = git_merge(&scratch);
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    let expect = [
        ("a", true),
        ("b", true),
        ("c", false),
        ("d", true),
        ("both", false),
    ];
    assert_eq!(scratch.read(PRD), list(&expect));
    assert!(!scratch.has(".piton"));
}

#[test]
fn a_contradiction_is_marked_alone_and_left_to_a_person() {
    let of = |words: &str| list(&[("a", false), ("b", false)]).replacen("Lay it", words, 1);
    let scratch = branches(&of("Lay it"), &of("Lay this"), &of("Lay that"));
    install(&scratch);
    let said = git_merge(&scratch);
    assert_eq!(said.exit, 1, "{}{}", said.out, said.err);
    assert!(
        said.err.contains("prd.json: 1 place between marks"),
        "{}",
        said.err
    );
    let lines = of("L").lines().count();
    let text = scratch.read(PRD);
    assert_eq!(text.lines().count(), lines + 4, "{text}");
    assert!(text.contains(
        "<<<<<<< ours\n      \"description\": \"Lay this\",\n=======\n      \"description\": \"Lay that\",\n>>>>>>> theirs\n"
    ), "{text}");
    assert_eq!(
        scratch.git(&["diff", "--name-only", "--diff-filter=U"]),
        "prd.json\n"
    );
}

#[test]
fn what_is_no_text_is_left_with_all_its_versions() {
    let scratch = Scratch::new();
    for (name, text) in [("base", "{}"), ("theirs", "{\"features\": []}")] {
        scratch.write(name, text);
    }
    std::fs::write(scratch.path().join("ours"), b"\xff\0{").expect("written");
    let said = scratch.piton(&[
        "files",
        "merge-driver",
        "run",
        "base",
        "ours",
        "theirs",
        "7",
        PRD,
    ]);
    assert_eq!(said.exit, 6, "{}", said.err);
    assert_eq!(
        std::fs::read(scratch.path().join("ours")).expect("read"),
        b"\xff\0{"
    );
    scratch.write("ours", "{\"features\": [\n");
    let run = [
        "files",
        "merge-driver",
        "run",
        "base",
        "ours",
        "theirs",
        "9",
        PRD,
    ];
    let merged = scratch.json(&run);
    assert_eq!(merged["conflicts"], 1);
    assert!(merged["by_lines"].is_string());
    assert!(
        scratch
            .read("ours")
            .starts_with("<<<<<<<<< ours\n{\"features\": [\n=========\n")
    );
}

#[test]
fn what_install_did_is_taken_out_to_the_byte() {
    for own in [
        None,
        Some("*.png binary"),
        Some("# mine\n*.png binary\nprd.json -merge\n"),
    ] {
        let scratch = Scratch::new();
        if let Some(own) = own {
            scratch.write(ATTRIBUTES, own);
        }
        let config = scratch.read(".git/config");
        let command = |what: &str, how: &str| scratch.piton(&["files", "merge-driver", what, how]);
        let shown = command("install", "--dry-run");
        assert!(
            shown.out.contains("+RALPH_TASK.md merge=piton"),
            "{}",
            shown.out
        );
        assert!(
            shown.out.contains("+merge.piton.driver = "),
            "{}",
            shown.out
        );
        let is_untouched = || {
            scratch.read(".git/config") == config
                && scratch.has(ATTRIBUTES) == own.is_some()
                && own.is_none_or(|own| scratch.read(ATTRIBUTES) == own)
        };
        assert!(is_untouched());
        // Without a terminal nobody is asked, and nothing is done.
        let refused = scratch.piton(&["files", "merge-driver", "install"]);
        assert_eq!(refused.exit, 2, "{}", refused.err);
        assert!(refused.err.contains("--yes") && is_untouched());
        let first = scratch.json(&["files", "merge-driver", "install", "--yes"]);
        assert_eq!(
            (&first["changes"], &first["done"]),
            (&true.into(), &true.into())
        );
        let text = scratch.read(ATTRIBUTES);
        let again = scratch.json(&["files", "merge-driver", "install", "--yes"]);
        assert_eq!(
            (&again["changes"], &again["done"]),
            (&false.into(), &false.into())
        );
        assert_eq!(scratch.read(ATTRIBUTES), text);
        assert_eq!(text.matches("prd.json").count(), 1);
        assert_eq!(command("uninstall", "--yes").exit, 0);
        assert!(is_untouched(), "{}", scratch.read(".git/config"));
        let nothing = command("uninstall", "--yes");
        assert_eq!((nothing.exit, nothing.out.as_str()), (0, ""));
        assert!(!scratch.has(".piton"));
    }
}

#[test]
fn a_driver_of_the_same_name_is_left_alone() {
    let scratch = Scratch::new();
    scratch.git(&["config", "merge.piton.driver", "mine %A"]);
    let config = scratch.read(".git/config");
    insta::assert_snapshot!(scratch.shows(&["files", "merge-driver", "install", "--yes"]), @r"
    error: another merge driver is called `piton` in the configuration of this repository [file.conflict]
    hint: see it with `git config --local --get-regexp '^merge[.]piton[.]'`, and give it another name
    [exit 1]
    ");
    scratch.piton(&["files", "merge-driver", "uninstall", "--yes"]);
    assert_eq!(scratch.read(".git/config"), config);
    let scratch = Scratch::new();
    scratch.git(&["config", "merge.piton.name", "mine"]);
    let config = scratch.read(".git/config");
    install(&scratch);
    scratch.piton(&["files", "merge-driver", "uninstall", "--yes"]);
    assert_eq!(scratch.read(".git/config"), config);
    let outside = Scratch::outside_git();
    let said = outside.piton(&["files", "merge-driver", "install", "--yes"]);
    assert_eq!(said.exit, 7, "{}", said.err);
}

#[test]
fn what_is_made_of_the_log_is_merged_with_it() {
    let scratch = Scratch::new();
    let log = |what: &str| {
        let said = scratch.piton(&["log", "milestone_reached", "--description", what]);
        assert_eq!(said.exit, 0, "{}", said.err);
    };
    let save = |what: &str| {
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "--quiet", "--message", what]);
    };
    assert_eq!(
        scratch.piton(&["init", "--yes", "--with", "agent-os"]).exit,
        0
    );
    scratch.git(&["checkout", "--quiet", "-B", "main"]);
    install(&scratch);
    log("the keel is laid");
    save("base");
    scratch.git(&["checkout", "--quiet", "-b", "feature"]);
    log("the mast stands");
    save("theirs");
    scratch.git(&["checkout", "--quiet", "main"]);
    log("a sail is sewn");
    log("the anchor is cast");
    save("ours");
    let merged = git_merge(&scratch);
    assert_eq!(merged.exit, 0, "{}{}", merged.out, merged.err);
    let page = scratch.read(".agent-os/progress/progress.md");
    assert!(page.contains("*Total entries: 4*"), "{page}");
    assert_eq!(page.matches("\n### ").count(), 4, "{page}");
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        !said.shown(&scratch).contains("before-piton"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read(".agent-os/progress/progress.md"), page);
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
}

/// Two clones do the same item, at different times: the times that the merge
/// comes to are nobody's edit, and nothing is warned of.
#[test]
fn the_times_that_a_merge_comes_to_are_no_edit() {
    let works = |scratch: &Scratch, at: &str| {
        let run = "run demo --agent ./agent.sh --verdict exit-status --once";
        let run: Vec<&str> = run.split(' ').collect();
        let mut command = scratch.command(&run);
        command.env("PITON_TEST_CLOCK", format!("2026-01-15T{at}:00Z"));
        let said = Said::of(&command.output().expect("piton starts"));
        assert!([0, 5].contains(&said.exit), "{}", said.err);
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "--quiet", "--message", at]);
    };
    let first = Scratch::new();
    let phases = ["one", "two", "three"].map(|id| format!("  - {{id: {id}, prompt: do {id}}}\n"));
    first
        .sprint(&phases.concat())
        .agent("echo x >>made-$PITON_ITEM");
    install(&first);
    works(&first, "09:00");
    let second = Scratch::new();
    let path = first.path();
    second.git(&["pull", "--quiet", path.to_str().expect("UTF-8"), "main"]);
    works(&first, "10:05");
    works(&second, "10:00");
    let path = second.path();
    let from = [path.to_str().expect("UTF-8"), "main"];
    first.git(&[&["pull", "--quiet", "--no-rebase", "--no-edit"], &from[..]].concat());
    let merged = first.read("demo/PROGRESS.yaml");
    assert!(
        merged.contains("10:00") && merged.contains("10:05"),
        "{merged}"
    );
    let said = first.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(!said.err.contains("EDIT_IGNORED"), "{}", said.err);
    // Whoever types a time is told what becomes of it.
    let typed = first.read("demo/PROGRESS.yaml").replace("09:00", "08:00");
    first.write("demo/PROGRESS.yaml", &typed);
    let said = first.piton(&["files", "sync"]);
    assert!(said.err.contains("EDIT_IGNORED"), "{}", said.err);
}
