//! How the proof of an item changes between two moments.

use std::fs;

use piton_core::weakening::ProofChange;
use piton_engine::git::{ProofSources, WorkTreeSnapshot, WorkTreeTracker};

use super::Scene;

/// A Makefile with a target that the check runs, and one that it does not run.
const MAKEFILE: &str = "build:\n\tcc main.c\n\ntest: build\n\t./run-tests\n";
const PACKAGE: &str = r#"{"scripts": {"test": "jest", "build": "tsc"}}"#;
const TWO_TESTS: &str = "#[test]\nfn a() {}\n\n#[test]\nfn b() {}\n";

/// A repository with tests and checks, all of it committed.
fn project() -> Scene {
    let scene = Scene::new();
    for (name, text) in [
        ("src/a.rs", TWO_TESTS),
        ("tests/test_b.py", "def test_c():\n    assert True\n"),
        ("check.sh", "set -e\nsh part.sh\n"),
        ("part.sh", "exit 1\n"),
        ("Makefile", MAKEFILE),
        ("run-tests", "exit 1\n"),
        ("package.json", PACKAGE),
        ("notes.md", "notes\n"),
    ] {
        scene.write(name, text);
    }
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "-m", "first"]);
    scene
}

impl Scene {
    /// How the proof changed, as seen from a folder of the repository.
    fn proof_change(
        &self,
        trees: &WorkTreeTracker,
        (before, after): (&WorkTreeSnapshot, &WorkTreeSnapshot),
        commands: &[&str],
    ) -> Option<ProofChange> {
        let changed = trees.changes_between(&self.world, before, after);
        let commands: Vec<String> = commands.iter().map(|one| (*one).to_owned()).collect();
        let sources = ProofSources {
            before,
            after,
            files_changed: &changed.files.expect("git answers"),
            commands: &commands,
        };
        trees.proof_change(&self.world, &sources)
    }
}

/// What is weaker after `work` on the project.
#[track_caller]
fn check(work: impl Fn(&Scene), commands: &[&str], expect: &[&str]) -> ProofChange {
    let scene = project();
    let trees = scene.trees(&[]);
    let before = scene.now(&trees);
    work(&scene);
    let after = scene.now(&trees);
    let change = scene.proof_change(&trees, (&before, &after), commands);
    let change = change.expect("git answers");
    let weakenings: Vec<String> = change
        .weakenings()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(weakenings, expect, "{change:?}");
    change
}

#[test]
fn a_deleted_test_is_one_fewer() {
    let fewer = ["1 test definition fewer than before"];
    check(|scene| scene.remove("tests/test_b.py"), &[], &fewer);
    check(
        |scene| scene.write("src/a.rs", "#[test]\nfn a() {}\n"),
        &["cargo test"],
        &fewer,
    );
    let all = ["3 test definitions fewer than before"];
    let both = |scene: &Scene| {
        scene.remove("tests/test_b.py");
        scene.git(&["rm", "--quiet", "src/a.rs"]);
        scene.git(&["commit", "--quiet", "-m", "tidy"]);
    };
    check(both, &[], &all);
}

#[test]
fn a_test_that_is_commented_out_is_one_fewer() {
    let fewer = ["2 test definitions fewer than before"];
    let text = TWO_TESTS.replace("#[test]", "// #[test]");
    check(|scene| scene.write("src/a.rs", &text), &[], &fewer);
    let text = format!("/*\n{TWO_TESTS}*/\n");
    check(|scene| scene.write("src/a.rs", &text), &[], &fewer);
    // In a file that is no source any more.
    let renamed = |scene: &Scene| {
        scene.remove("src/a.rs");
        scene.write("src/a.rs.txt", TWO_TESTS);
    };
    check(renamed, &[], &fewer);
}

#[test]
fn a_skip_mark_is_one_more() {
    let text = TWO_TESTS.replacen("fn a", "#[ignore]\nfn a", 1);
    check(
        |scene| scene.write("src/a.rs", &text),
        &[],
        &["1 more skip mark than before"],
    );
}

#[test]
fn tests_that_moved_or_were_replaced_are_none_fewer() {
    let moved = |scene: &Scene| {
        scene.remove("src/a.rs");
        scene.write("src/later/b.rs", TWO_TESTS);
    };
    let change = check(moved, &[], &[]);
    assert_eq!((change.tests_removed, change.tests_added), (2, 2));
    let replaced = |scene: &Scene| {
        scene.write("src/a.rs", "#[test]\nfn a() {}\n");
        scene.write("src/c.rs", "#[test]\nfn c() {}\n");
    };
    check(replaced, &[], &[]);
}

#[test]
fn a_script_that_the_check_runs_is_not_to_be_changed() {
    let weaker = |scene: &Scene| scene.write("check.sh", "true\n");
    let changed = ["check.sh, which the check runs, was changed"];
    for command in [
        "sh check.sh",
        "./check.sh",
        "(\ncd src && make\n) || exit\n(\nCI=1 timeout 60 sh check.sh\n) || exit\n",
    ] {
        check(weaker, &[command], &changed);
    }
    check(weaker, &["true", "cd src; sh ../check.sh"], &changed);
    check(|scene| scene.remove("check.sh"), &["sh check.sh"], &changed);
    // Another one is none of this.
    check(weaker, &["sh other.sh", "cargo test"], &[]);
}

#[test]
fn a_script_that_the_item_creates_it_may_create() {
    let create = |scene: &Scene| scene.write("new.sh", "true\n");
    let change = check(create, &["sh new.sh"], &[]);
    assert_eq!(change.entries_changed().count(), 0);
    assert_eq!(change.entries[0].entry, "new.sh");
}

#[test]
fn of_a_makefile_only_the_target_counts_that_the_check_runs() {
    let changed = ["target `test` of Makefile, which the check runs, was changed"];
    let text = MAKEFILE.replace("./run-tests", "true");
    check(
        |scene| scene.write("Makefile", &text),
        &["make test"],
        &changed,
    );
    let text = MAKEFILE.replace("main.c", "main.c other.c");
    check(|scene| scene.write("Makefile", &text), &["make test"], &[]);
    // What the target runs is part of the check.
    check(
        |scene| scene.write("run-tests", "true\n"),
        &["make test"],
        &["run-tests, which the check runs, was changed"],
    );
    // make reads this one first.
    let shadow = |scene: &Scene| scene.write("GNUmakefile", "test:\n\ttrue\n");
    check(shadow, &["make test"], &changed);
}

#[test]
fn of_a_package_only_the_script_counts_that_the_check_runs() {
    let changed = ["script `test` of package.json, which the check runs, was changed"];
    let text = PACKAGE.replace("jest", "true");
    check(
        |scene| scene.write("package.json", &text),
        &["npm test"],
        &changed,
    );
    let text = PACKAGE.replace("tsc", "tsc --strict");
    check(
        |scene| scene.write("package.json", &text),
        &["npm test"],
        &[],
    );
}

#[test]
fn a_file_that_is_given_to_a_runner_is_counted() {
    let better = "def test_c():\n    assert 1 == 1\n\ndef test_d():\n    pass\n";
    let commands = ["pytest tests/test_b.py"];
    check(
        |scene| scene.write("tests/test_b.py", better),
        &commands,
        &[],
    );
    check(
        |scene| scene.write("tests/test_b.py", "pass\n"),
        &commands,
        &["1 test definition fewer than before"],
    );
}

#[test]
fn the_paths_of_a_check_are_those_of_its_work_tree() {
    let scene = project();
    scene.write("inner/check.sh", "exit 1\n");
    let inner = scene.repository.path().join("inner");
    let trees = WorkTreeTracker::open(&scene.world, scene.scratch.path(), &inner, &[]);
    let trees = trees.expect("it is a repository");
    let before = scene.now(&trees);
    scene.write("inner/check.sh", "true\n");
    scene.write("part.sh", "true\n");
    let after = scene.now(&trees);
    let absolute = inner.join("check.sh").display().to_string();
    for (command, expect) in [
        ("sh check.sh", vec!["check.sh"]),
        (absolute.as_str(), vec![absolute.as_str()]),
        ("sh ../part.sh", vec!["../part.sh"]),
        ("sh part.sh", vec![]),
        ("sh ../../part.sh", vec![]),
    ] {
        let change = scene.proof_change(&trees, (&before, &after), &[command]);
        let change = change.expect("git answers");
        assert_eq!(change.entries_changed().collect::<Vec<_>>(), expect);
    }
}

#[test]
fn a_test_that_goes_among_a_thousand_files_is_seen() {
    let many = |scene: &Scene| {
        for number in 0..1_000 {
            scene.write(&format!("a/{number}.txt"), "x");
        }
        scene.remove("tests/test_b.py");
    };
    check(many, &[], &["1 test definition fewer than before"]);
}

#[test]
fn where_no_file_matters_git_is_not_asked() {
    let scene = project();
    let trees = scene.trees(&[]);
    let before = scene.now(&trees);
    scene.write("notes.md", "other\n");
    let after = scene.now(&trees);
    scene.write("src/a.rs", "");
    let later = scene.now(&trees);
    fs::rename(scene.repository.path(), scene.scratch.path().join("away")).expect("moved");
    let asked = |files: &[&str], after| {
        let files: Vec<String> = files.iter().map(|name| (*name).to_owned()).collect();
        let sources = ProofSources {
            before: &before,
            after,
            files_changed: &files,
            commands: &["sh check.sh".to_owned()],
        };
        trees.proof_change(&scene.world, &sources)
    };
    let nothing = Some(ProofChange::default());
    assert_eq!(asked(&[], &before), nothing);
    assert_eq!(asked(&["notes.md"], &after), nothing);
    assert_eq!(asked(&["src/a.rs"], &later), None, "git cannot be asked");
    fs::create_dir(scene.repository.path()).expect("for those who remove it");
}

#[test]
fn of_trees_that_git_does_not_have_nothing_is_known() {
    let scene = project();
    let trees = scene.trees(&[]);
    let before = scene.now(&trees);
    let gone = WorkTreeSnapshot {
        tree: "0123456789012345678901234567890123456789".to_owned(),
        head: None,
        log: None,
        at_s: 0,
    };
    let sources = ProofSources {
        before: &before,
        after: &gone,
        files_changed: &["src/a.rs".to_owned()],
        commands: &[],
    };
    assert_eq!(trees.proof_change(&scene.world, &sources), None);
}
