//! A cloned repository may hold links to anything of the user's: nothing outside of the
//! project is read or written through them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::harness::{Said, Scratch};

/// What the victim holds, and no journal, prompt or message may.
const SECRET: &str = "of-the-user-alone";

const SPRINT: &str = "  - id: build\n    prompt: build it\n";
const PRD: &str = r#"{"stories": [{"id": "US-1", "title": "of-the-user-alone", "passes": false}]}"#;
const TASK: &str = "# Task\n\n- [ ] of-the-user-alone\n";
const SIGNS: &str = "# Ralph Guardrails (Signs)\n\n### Sign: of-the-user-alone\n- **Trigger**: x\n\
                     - **Instruction**: of-the-user-alone\n";

const INIT: &[&str] = &["init", "--yes"];
const ALL: &[&str] = &[
    "init",
    "--yes",
    "--with",
    "ralph-dir",
    "--with",
    "ralph-json",
    "--with",
    "agent-os",
];
const SYNC: &[&str] = &["files", "sync"];
const LIST: &[&str] = &["files", "list"];
const RECORD: &[&str] = &[
    "record",
    "keel",
    "--outcome",
    "failed",
    "--error",
    "$(touch ~/OWNED)",
];
const RUN: &[&str] = &[
    "run",
    "demo",
    "--agent",
    "./agent.sh",
    "--verdict",
    "exit-status",
];

/// One repository: a link, to what, the commands that are given in it, and what the
/// last of them ends with.
struct Attack {
    /// Given before the link is there.
    before: &'static [&'static [&'static str]],
    link: &'static str,
    /// `OUT` is the folder outside; else it is seen from the folder of the link.
    to: &'static str,
    /// What is outside in `victim`; none where nothing is.
    victim: Option<&'static str>,
    commands: &'static [&'static [&'static str]],
    exit: i32,
    /// What the last command names.
    names: &'static str,
}

const NATIVE: Attack = Attack {
    before: &[],
    link: "",
    to: "OUT/victim",
    victim: Some("export KEY=of-the-user-alone\n"),
    commands: &[INIT, RECORD, SYNC, LIST],
    exit: 0,
    names: "is no place in the project",
};

/// The same, of a file that is kept already.
const KEPT: Attack = Attack {
    before: &[ALL],
    commands: &[RECORD, LIST, SYNC],
    exit: 1,
    names: "[file.outside]; piton follows no link out of a project: copy",
    ..NATIVE
};

/// The same, of a plan.
const PLAN: Attack = Attack {
    commands: &[INIT, LIST, RUN],
    exit: 1,
    names: "[file.outside]",
    ..NATIVE
};

/// The same, of what piton keeps for itself.
const HOME: Attack = Attack {
    before: &[ALL],
    commands: &[RECORD, SYNC],
    ..PLAN
};

/// A link that harms nothing else: the command goes on without what it hides.
const QUIET: Attack = Attack {
    exit: 0,
    names: "",
    ..PLAN
};

const ATTACKS: &[Attack] = &[
    Attack {
        link: ".ralph/errors.log",
        ..NATIVE
    },
    Attack {
        link: ".ralph/activity.log",
        ..NATIVE
    },
    Attack {
        link: ".ralph/guardrails.md",
        victim: Some(SIGNS),
        ..NATIVE
    },
    Attack {
        link: ".ralph/progress.md",
        victim: Some("# Progress Log\n\n- [x] of-the-user-alone\n"),
        ..NATIVE
    },
    Attack {
        link: ".ralph/progress.json",
        victim: Some("[]\n"),
        ..NATIVE
    },
    Attack {
        link: ".agent-os/progress/progress.json",
        victim: Some("{\"entries\": []}\n"),
        ..NATIVE
    },
    Attack {
        link: ".ralph",
        to: "OUT",
        ..NATIVE
    },
    Attack {
        link: ".agent-os/progress",
        to: "OUT",
        ..NATIVE
    },
    Attack {
        link: ".ralph/errors.log",
        to: "../hop/errors.log",
        ..NATIVE
    },
    Attack {
        link: ".ralph/errors.log",
        to: "../hop/new",
        ..NATIVE
    },
    Attack {
        link: ".ralph/errors.log",
        to: "../hop/../../../../../../../../../OUT/victim",
        ..NATIVE
    },
    Attack {
        link: ".ralph/errors.log",
        to: "../.git/hooks/pre-commit",
        ..NATIVE
    },
    Attack {
        link: ".ralph/errors.log",
        to: "../.git/config",
        ..NATIVE
    },
    Attack {
        link: ".ralph/errors.log",
        to: "OUT/new",
        victim: None,
        ..KEPT
    },
    Attack {
        link: ".ralph/errors.log",
        ..KEPT
    },
    Attack {
        link: ".ralph/activity.log",
        ..KEPT
    },
    Attack {
        link: ".ralph/guardrails.md",
        victim: Some(SIGNS),
        ..KEPT
    },
    Attack {
        link: ".ralph/progress.md",
        victim: Some("# Progress Log\n"),
        ..KEPT
    },
    Attack {
        link: ".ralph/progress.json",
        victim: Some("[]\n"),
        ..KEPT
    },
    Attack {
        link: ".ralph/.iteration",
        victim: Some("7\n"),
        ..KEPT
    },
    Attack {
        link: ".ralph",
        to: "OUT",
        ..KEPT
    },
    Attack {
        link: ".agent-os/progress/progress.json",
        victim: Some("{\"entries\": []}\n"),
        ..KEPT
    },
    Attack {
        link: ".agent-os/progress/progress.md",
        victim: Some("# of-the-user-alone\n"),
        ..KEPT
    },
    Attack {
        link: ".agent-os/progress/archive",
        to: "OUT",
        ..QUIET
    },
    Attack {
        link: "prd.json",
        victim: Some(PRD),
        commands: &[INIT, LIST],
        exit: 0,
        ..NATIVE
    },
    Attack {
        link: "prd.json",
        victim: Some(PRD),
        commands: &[INIT, &["run", "prd.json", "--agent", "./agent.sh"]],
        ..PLAN
    },
    Attack {
        link: "prd.json",
        victim: Some(PRD),
        commands: &[&["plan", "check", "prd.json"]],
        ..PLAN
    },
    Attack {
        link: "RALPH_TASK.md",
        victim: Some(TASK),
        commands: &[INIT, &["run", "RALPH_TASK.md", "--agent", "./agent.sh"]],
        ..PLAN
    },
    Attack {
        link: "demo/BACKLOG.yaml",
        victim: Some("of-the-user-alone: [\n"),
        ..QUIET
    },
    Attack {
        link: "demo/PROGRESS.yaml",
        ..PLAN
    },
    Attack {
        link: "demo/PROGRESS.yaml",
        victim: None,
        to: "OUT/new",
        commands: &[&["plan", "compile", "demo"]],
        ..PLAN
    },
    Attack {
        link: "demo/SPRINT.yaml",
        ..PLAN
    },
    Attack {
        link: "demo/PROGRESS.yaml",
        before: &[RUN],
        commands: &[&["plan", "skip", "build"], SYNC],
        ..PLAN
    },
    Attack {
        link: "demo/context/_shared.md",
        ..QUIET
    },
    Attack {
        link: ".claude/workflows/main.yaml",
        names: "is no place in the project",
        ..PLAN
    },
    Attack {
        link: ".claude/sprints",
        to: "OUT",
        commands: &[&["plan", "new", "--sprint", "keel"]],
        ..PLAN
    },
    Attack {
        link: ".gitattributes",
        commands: &[&["files", "merge-driver", "install", "--yes"]],
        ..PLAN
    },
    Attack {
        link: ".claude/settings.json",
        victim: Some("{}\n"),
        commands: &[&["hook", "install", "--agent", "claude", "--yes"]],
        ..PLAN
    },
    Attack {
        link: ".ralph/screenshots",
        to: "OUT",
        before: &[ALL],
        commands: &[&["record", "keel", "--screenshot", "a.png"]],
        ..PLAN
    },
    Attack {
        commands: &[SYNC, RECORD],
        link: ".piton",
        to: "OUT",
        before: &[],
        ..HOME
    },
    Attack {
        commands: &[SYNC, RECORD],
        link: ".piton/journal.db",
        to: "OUT/new",
        victim: None,
        before: &[],
        ..HOME
    },
    Attack {
        link: ".piton/journal.lock",
        ..HOME
    },
    Attack {
        link: ".piton/.gitignore",
        to: "OUT/new",
        victim: None,
        ..HOME
    },
    Attack {
        link: ".piton/config.toml",
        ..HOME
    },
    Attack {
        link: ".piton/history.json",
        ..HOME
    },
    Attack {
        link: ".piton/mirrors",
        to: "OUT",
        ..HOME
    },
    Attack {
        link: ".piton/mirrors/_ralph_errors_log.json",
        ..HOME
    },
    Attack {
        link: ".piton/mirrors/_ralph_errors_log.base",
        ..KEPT_BASE
    },
    Attack {
        link: ".piton/locks",
        to: "OUT",
        commands: &[RUN],
        ..HOME
    },
    Attack {
        link: ".piton/locks/entering",
        commands: &[RUN],
        ..HOME
    },
    Attack {
        link: ".piton/spool",
        to: "OUT",
        commands: &[RUN],
        ..HOME
    },
    Attack {
        link: ".piton/blobs",
        to: "OUT",
        commands: &[RUN],
        ..HOME
    },
    Attack {
        link: ".piton/blobs/transcripts",
        to: "OUT",
        before: &[ALL],
        ..QUIET
    },
    Attack {
        link: ".piton/lanes",
        to: "OUT",
        ..HOME
    },
];

const KEPT_BASE: Attack = Attack {
    commands: &[RECORD, SYNC],
    exit: 0,
    names: "",
    ..HOME
};

/// Every file and folder below one, with its bytes, and no link followed.
fn list_all(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("listed").flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().expect("known").is_dir();
        let bytes = if is_folder {
            Vec::new()
        } else {
            fs::read(&path).expect("read")
        };
        found.insert(path.display().to_string(), bytes);
        if is_folder {
            list_all(&path, found);
        }
    }
}

fn snapshot(folders: &[&Path]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    folders
        .iter()
        .for_each(|folder| list_all(folder, &mut found));
    found
}

fn set_link(scratch: &Scratch, out: &Scratch, attack: &Attack) {
    let out_path = out.path();
    let link = scratch.path().join(attack.link);
    fs::create_dir_all(link.parent().expect("a folder")).expect("made");
    let is_folder = fs::symlink_metadata(&link).is_ok_and(|found| found.is_dir());
    let aside = scratch.path().join("aside");
    match is_folder {
        true => fs::rename(&link, aside).expect("moved"),
        false => drop(fs::remove_file(&link)),
    }
    if attack.to.starts_with("../hop") {
        symlink(&out_path, scratch.path().join("hop")).expect("linked");
        symlink("victim", out_path.join("errors.log")).expect("linked");
    }
    let out_text = out_path.to_string_lossy().into_owned();
    let to = attack
        .to
        .replace("/OUT", &out_text)
        .replace("OUT", &out_text);
    symlink(to, link).expect("linked");
}

/// What is wrong after an attack; nothing where all is as it was.
fn try_attack(attack: &Attack) -> Result<(), String> {
    let (scratch, out) = (Scratch::in_memory(), Scratch::outside_git());
    scratch
        .sprint(SPRINT)
        .agent("cat >>prompts")
        .write(".ralph/x", "")
        .write(".git/hooks/x", "")
        .write("a.png", "\u{89}PNG\r\n\u{1a}\n");
    fs::write(scratch.path().join("a.png"), b"\x89PNG\r\n\x1a\n").expect("written");
    for command in attack.before {
        let said = scratch.piton(command);
        assert_eq!(said.exit, 0, "{}: {command:?}: {}", attack.link, said.err);
    }
    if let Some(text) = attack.victim {
        out.write("victim", text);
    }
    set_link(&scratch, &out, attack);
    let (outside, git) = (out.path(), scratch.path().join(".git"));
    let before = snapshot(&[&outside, &git]);
    let (mut all, mut last) = (
        String::new(),
        Said {
            out: String::new(),
            err: String::new(),
            exit: 0,
        },
    );
    for command in attack.commands {
        last = scratch.piton(command);
        all += &format!(
            "$ {command:?}\n{}{}[exit {}]\n",
            last.out, last.err, last.exit
        );
    }
    let mut after = snapshot(&[&outside, &git]);
    // The driver of merges is a setting of git, and what was asked for.
    after.retain(|name, _| !name.contains("/.git/") || before.contains_key(name));
    let journal = scratch.piton(&["journal", "export"]).out;
    let prompts = fs::read_to_string(scratch.path().join("prompts")).unwrap_or_default();
    let wrong = [
        (before != after, "what is outside was changed"),
        (journal.contains(SECRET), "the journal has what is outside"),
        (
            prompts.contains(SECRET),
            "an agent was shown what is outside",
        ),
        (all.contains(SECRET), "it was printed"),
        (all.contains("panicked"), "it panicked"),
        (last.exit != attack.exit, "another exit status"),
        (
            !last.out.contains(attack.names) && !last.err.contains(attack.names),
            "not named",
        ),
        (
            !attack.names.is_empty() && !all.contains(attack.link),
            "the link is not named",
        ),
    ];
    let wrong: Vec<&str> = wrong
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, what)| *what)
        .collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "## {} -> {}: {wrong:?}\n{all}",
            attack.link, attack.to
        )),
    }
}

#[test]
fn nothing_outside_of_the_project_is_read_or_written_through_a_link() {
    let halves = ATTACKS.split_at(ATTACKS.len() / 2);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let try_all = |attacks: &'static [Attack]| {
            move || {
                attacks
                    .iter()
                    .filter_map(|attack| try_attack(attack).err())
                    .collect()
            }
        };
        let other = scope.spawn(try_all(halves.0));
        let mut failed: Vec<String> = try_all(halves.1)();
        failed.extend(other.join().expect("no panic"));
        failed
    });
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        ATTACKS.len(),
        failed.join("\n")
    );
}

#[test]
fn other_files_go_on_beside_a_link_that_leads_out() {
    let (scratch, out) = (Scratch::in_memory(), Scratch::outside_git());
    out.write("victim", "export A=1\n");
    scratch.write(".ralph/x", "");
    assert_eq!(scratch.piton(ALL).exit, 0);
    let link = scratch.path().join(".ralph/errors.log");
    fs::remove_file(&link).ok();
    symlink(out.path().join("victim"), &link).expect("linked");
    let said = scratch.piton(&["record", "keel", "--summary", "laid the keel"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(said.err.contains("[file.outside]"), "{}", said.err);
    assert!(
        scratch
            .read(".ralph/progress.json")
            .contains("laid the keel")
    );
    assert_eq!(scratch.piton(SYNC).exit, 1);
    // The way out that is told.
    fs::rename(&link, scratch.path().join("old")).expect("moved");
    fs::copy(out.path().join("victim"), &link).expect("copied");
    assert_eq!(scratch.piton(SYNC).exit, 0);
    assert_eq!(out.read("victim"), "export A=1\n");
}

#[test]
fn links_that_stay_in_the_project_and_a_project_behind_a_link_work_as_ever() {
    let (scratch, out) = (Scratch::in_memory(), Scratch::outside_git());
    scratch
        .sprint(SPRINT)
        .agent("cat >>prompts")
        .write("kept/x", "");
    let root = scratch.path();
    symlink("kept", root.join(".ralph")).expect("linked");
    symlink(root.join("demo"), root.join("plan")).expect("linked");
    symlink("../kept/shared.md", root.join("demo/notes")).expect("linked");
    symlink(&root, out.path().join("door")).expect("linked");
    let behind = |args: &[&str]| {
        let mut command = scratch.command(args);
        command
            .current_dir(out.path().join("door"))
            .env("PWD", out.path().join("door"));
        Said::of(&command.output().expect("piton starts"))
    };
    for args in [
        ALL,
        RECORD,
        SYNC,
        LIST,
        &[
            "run",
            "plan",
            "--agent",
            "./agent.sh",
            "--verdict",
            "exit-status",
        ],
    ] {
        let said = behind(args);
        assert_eq!(said.exit, 0, "{args:?}: {}{}", said.out, said.err);
        assert!(!said.err.contains("no place"), "{}", said.err);
    }
    assert!(scratch.read("kept/progress.json").contains("keel"));
    let typed = out.path().join("door/demo");
    let said = scratch.piton(&["plan", "check", &typed.to_string_lossy()]);
    assert_eq!(said.exit, 0, "{}", said.err);
    // What a user names is the user's.
    let progress = out.path().join("PROGRESS.yaml");
    let said = scratch.piton(&["plan", "compile", "demo", "-o", &progress.to_string_lossy()]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(progress.is_file());
}

/// What other users can do with each file and folder of `.piton/`, lanes aside.
fn open_to_others(scratch: &Scratch) -> Vec<String> {
    let home = scratch.path().join(".piton");
    let mut below = BTreeMap::new();
    list_all(&home, &mut below);
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let mut open = vec![(String::from(".piton"), mode(&home))];
    open.extend(below.into_keys().map(|path| {
        let mode = mode(Path::new(&path));
        (path, mode)
    }));
    open.retain(|(_, mode)| mode & 0o077 != 0);
    let open = open.iter();
    open.map(|(path, mode)| format!("{path} {mode:o}"))
        .collect()
}

#[test]
fn a_store_is_closed_to_others_whatever_the_umask() {
    let scratch = Scratch::in_memory();
    scratch.write(".ralph/x", "").write(
        "commands.sh",
        "set -e\numask 000\n\"$1\" init --yes --with ralph-dir\n\
         \"$1\" record keel --outcome failed --error no\n\"$1\" files sync\n",
    );
    let mut shell = scratch.shell("commands.sh");
    let said = shell.arg(env!("CARGO_BIN_EXE_piton")).output();
    let said = Said::of(&said.expect("sh starts"));
    assert_eq!(said.exit, 0, "{}", said.err);
    let home = scratch.path().join(".piton");
    let mode = fs::metadata(&home).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let open = open_to_others(&scratch);
    let folders_aside = open.iter().filter(|line| !line.contains("/mirrors 777"));
    assert_eq!(folders_aside.collect::<Vec<_>>(), Vec::<&String>::new());
    // A file of the project is as every other file of this user.
    let native = scratch.path().join(".ralph/errors.log");
    let mode = fs::metadata(native).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o666);
}

#[test]
fn a_store_that_is_open_is_closed_by_the_next_writing_command() {
    let scratch = Scratch::in_memory();
    scratch.write(".ralph/x", "");
    assert_eq!(scratch.piton(ALL).exit, 0);
    assert_eq!(scratch.piton(RECORD).exit, 0);
    let home = scratch.path().join(".piton");
    let mut below = BTreeMap::new();
    list_all(&home, &mut below);
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    };
    for path in below.keys().map(Path::new) {
        set(path, if path.is_dir() { 0o755 } else { 0o644 });
    }
    set(&home, 0o755);
    assert_eq!(scratch.piton(&["status"]).exit, 0);
    assert!(
        !open_to_others(&scratch).is_empty(),
        "a look changes nothing"
    );
    let said = scratch.piton(RECORD);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(!said.err.contains("warning"), "{}", said.err);
    assert_eq!(open_to_others(&scratch), Vec::<String>::new());
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}
