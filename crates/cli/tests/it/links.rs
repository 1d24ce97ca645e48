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

const ALL: &str = "init --yes --with ralph-dir --with ralph-json --with agent-os";
const RECORD: &str = "record keel --outcome failed --error $(touch~/OWNED)";
const SYNC: &str = "files sync";
const LIST: &str = "files list";
const RUN: &str = "run demo --agent ./agent.sh --verdict exit-status";
const OUTSIDE: &str = "is no place in the project";
const CODE: &str = "[file.outside]";

/// A kind of attack: what is given before the link is there, and then; what the last
/// command ends with and names.
type Kind = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    i32,
    &'static str,
);

const KINDS: &[Kind] = &[
    ("new", &[], &["init --yes", RECORD, SYNC, LIST], 0, OUTSIDE),
    (
        "kept",
        &[ALL],
        &[RECORD, LIST, SYNC],
        1,
        "[file.outside]; piton follows no link out",
    ),
    ("plan", &[], &["init --yes", LIST, RUN], 1, CODE),
    ("flow", &[], &[RUN], 1, OUTSIDE),
    ("ran", &[RUN], &["plan skip build", SYNC], 1, CODE),
    ("all", &[ALL], &[RECORD], 1, CODE),
    ("home", &[ALL], &[RECORD, SYNC], 1, CODE),
    ("bare", &[], &[SYNC, RECORD], 1, CODE),
    // Nothing needs what the link hides: the command goes on without it.
    ("quiet", &[ALL], &[RECORD, SYNC, RUN], 0, ""),
];

const VICTIMS: &[(&str, &str)] = &[
    ("text", "export KEY=of-the-user-alone\n"),
    (
        "signs",
        "# Ralph Guardrails (Signs)\n\n### Sign: of-the-user-alone\n- **Trigger**: x\n",
    ),
    ("page", "# Progress Log\n\n- [x] of-the-user-alone\n"),
    ("list", "[]\n"),
    ("log", "{\"entries\": []}\n"),
    (
        "prd",
        r#"{"stories": [{"id": "A", "title": "of-the-user-alone", "passes": false}]}"#,
    ),
    ("task", "# Task\n\n- [ ] of-the-user-alone\n"),
];

/// In each row a kind, the link, what it leads to (`OUT` is the folder outside), what is
/// in `OUT/victim`, and the commands where they are other ones than those of the kind.
const ATTACKS: &str = "\
new .ralph/errors.log OUT/victim text
new .ralph/activity.log OUT/victim text
new .ralph/guardrails.md OUT/victim signs
new .ralph/progress.md OUT/victim page
new .ralph/progress.json OUT/victim list
new .agent-os/progress/progress.json OUT/victim log
new .ralph OUT text
new .agent-os/progress OUT text
new .ralph/errors.log ../hop/errors.log text
new .ralph/errors.log ../hop/new text
new .ralph/errors.log ../../../../../../../../../OUT/victim text
new .ralph/errors.log ../.git/hooks/pre-commit text
new .ralph/errors.log ../.git/config text
new prd.json OUT/victim prd
kept .ralph/errors.log OUT/new -
kept .ralph/errors.log OUT/victim text
kept .ralph/activity.log OUT/victim text
kept .ralph/guardrails.md OUT/victim signs
kept .ralph/progress.md OUT/victim page
kept .ralph/progress.json OUT/victim list
kept .ralph/.iteration OUT/victim text
kept .ralph OUT text
kept .agent-os/progress/progress.json OUT/victim log
kept .agent-os/progress/progress.md OUT/victim text
plan prd.json OUT/victim prd init --yes; run prd.json --agent ./agent.sh
plan prd.json OUT/victim prd plan check prd.json
plan RALPH_TASK.md OUT/victim task run RALPH_TASK.md --agent ./agent.sh
plan demo/PROGRESS.yaml OUT/victim text
plan demo/PROGRESS.yaml OUT/new - plan compile demo
plan demo/SPRINT.yaml OUT/victim text
plan .claude/sprints OUT text plan new --sprint keel
plan .gitattributes OUT/victim text files merge-driver install --yes
plan .claude/settings.json OUT/victim list hook install --agent claude --yes
flow .claude/workflows/main.yaml OUT/victim text
ran demo/PROGRESS.yaml OUT/victim text
all .ralph/screenshots OUT text record keel --screenshot a.png
all .piton/locks OUT text run demo --agent ./agent.sh
all .piton/locks/entering OUT/victim text run demo --agent ./agent.sh
all .piton/spool OUT text run demo --agent ./agent.sh
all .piton/blobs OUT text run demo --agent ./agent.sh
all .piton/config.toml OUT/victim text run demo --agent ./agent.sh
bare .piton OUT text
bare .piton OUT text store restore a.png
bare .piton/journal.db OUT/new -
home .piton/journal.lock OUT/victim text
home .piton/history.json OUT/victim text
home .piton/mirrors OUT text
home .piton/mirrors/_ralph_errors_log.json OUT/victim text
quiet .piton/mirrors/_ralph_errors_log.base OUT/victim text
quiet .piton/blobs/transcripts OUT text
quiet .piton/.gitignore OUT/new -
quiet .piton/lanes OUT text
quiet .agent-os/progress/archive OUT text
quiet demo/BACKLOG.yaml OUT/victim text
quiet demo/context/_shared.md OUT/victim text
";

/// Every file and folder below one, with its bytes, and no link followed.
fn list_all(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("listed").flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().expect("known").is_dir();
        let bytes = if is_folder {
            Vec::new()
        } else {
            fs::read(&path).unwrap_or_default()
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

fn set_link(scratch: &Scratch, out: &Scratch, name: &str, to: &str) {
    let out_path = out.path();
    let link = scratch.file(name);
    fs::create_dir_all(link.parent().expect("a folder")).expect("made");
    match fs::symlink_metadata(&link).is_ok_and(|found| found.is_dir()) {
        true => fs::rename(&link, scratch.path().join("aside")).expect("moved"),
        false => drop(fs::remove_file(&link)),
    }
    if to.starts_with("../hop") {
        symlink(&out_path, scratch.path().join("hop")).expect("linked");
        symlink("victim", out_path.join("errors.log")).expect("linked");
    }
    let out_text = out_path.to_string_lossy();
    let to = to.replace("/OUT", &out_text).replace("OUT", &out_text);
    symlink(to, link).expect("linked");
}

/// What is wrong after the attack of a row; nothing where all is as it was.
fn try_attack(row: &str) -> Result<(), String> {
    let mut words = row.splitn(5, ' ');
    let mut next = || words.next().unwrap_or_default();
    let (kind, link, to, victim, own) = (next(), next(), next(), next(), next());
    let known = KINDS.iter().find(|(name, ..)| *name == kind);
    let (_, before, commands, exit, names) = known.expect("a kind");
    let own: Vec<&str> = own.split("; ").filter(|own| !own.is_empty()).collect();
    let commands = if own.is_empty() { commands } else { &*own };
    let (scratch, out) = (Scratch::in_memory(), Scratch::outside_git());
    scratch.sprint(SPRINT).agent("cat >>prompts");
    scratch.write(".ralph/x", "").write(".git/hooks/x", "");
    fs::write(scratch.path().join("a.png"), b"\x89PNG\r\n\x1a\n").expect("written");
    let type_in = |command: &str| {
        let said = give(&scratch, command);
        let shown = format!(
            "$ {command}\n{}{}[exit {}]\n",
            said.out, said.err, said.exit
        );
        (said.exit, shown)
    };
    for command in *before {
        let (exit, shown) = type_in(command);
        assert_eq!(exit, 0, "{row}: {shown}");
    }
    if let Some((_, text)) = VICTIMS.iter().find(|(name, _)| *name == victim) {
        out.write("victim", text);
    }
    set_link(&scratch, &out, link, to);
    let (outside, git) = (out.path(), scratch.path().join(".git"));
    let (home, link) = (scratch.home(), scratch.file(link));
    let snapshot = || {
        let mut found = snapshot(&[&outside, &git]);
        found.retain(|path, _| !Path::new(path).starts_with(&home));
        found
    };
    let link = link
        .strip_prefix(scratch.path())
        .unwrap_or(&link)
        .to_string_lossy();
    let before = snapshot();
    let said: Vec<(i32, String)> = commands.iter().map(|command| type_in(command)).collect();
    let after = snapshot();
    let (last, shown) = said.last().expect("a command");
    let all: String = said.iter().map(|(_, shown)| shown.as_str()).collect();
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
        (last != exit, "another exit status"),
        (!shown.contains(names), "not named"),
        (
            !names.is_empty() && !all.contains(&*link),
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
        false => Err(format!("## {row}: {wrong:?}\n{all}")),
    }
}

#[test]
fn nothing_outside_of_the_project_is_read_or_written_through_a_link() {
    let rows: Vec<&str> = ATTACKS.lines().collect();
    let try_all = |rows: &[&str]| -> Vec<String> {
        rows.iter()
            .filter_map(|row| try_attack(row).err())
            .collect()
    };
    let (some, others) = rows.split_at(rows.len() / 2);
    let failed = std::thread::scope(|scope| {
        let other = scope.spawn(|| try_all(others));
        let mut failed = try_all(some);
        failed.extend(other.join().expect("no panic"));
        failed
    });
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        rows.len(),
        failed.join("\n")
    );
}

fn give(scratch: &Scratch, command: &str) -> Said {
    scratch.piton(&command.split(' ').collect::<Vec<_>>())
}

#[test]
fn other_files_go_on_beside_a_link_that_leads_out() {
    let (scratch, out) = (Scratch::in_memory(), Scratch::outside_git());
    out.write("victim", "export A=1\n");
    scratch.write(".ralph/x", "");
    assert_eq!(give(&scratch, ALL).exit, 0);
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
    assert_eq!(give(&scratch, SYNC).exit, 1);
    // The way out that is told.
    fs::rename(&link, scratch.path().join("old")).expect("moved");
    fs::copy(out.path().join("victim"), &link).expect("copied");
    assert_eq!(give(&scratch, SYNC).exit, 0);
    assert_eq!(out.read("victim"), "export A=1\n");
}

#[test]
fn links_that_stay_in_the_project_and_a_project_behind_a_link_work_as_ever() {
    let (scratch, out) = (Scratch::new(), Scratch::outside_git());
    scratch
        .sprint(SPRINT)
        .agent("cat >>prompts")
        .write("kept/x", "");
    let root = scratch.path();
    symlink("kept", root.join(".ralph")).expect("linked");
    symlink(root.join("demo"), root.join("plan")).expect("linked");
    symlink("../kept/shared.md", root.join("demo/notes")).expect("linked");
    symlink(&root, out.path().join("door")).expect("linked");
    for text in [ALL, RECORD, SYNC, LIST, &RUN.replace("demo", "plan")] {
        let mut command = scratch.command(&text.split(' ').collect::<Vec<_>>());
        let said = command.current_dir(out.path().join("door")).output();
        let said = Said::of(&said.expect("piton starts"));
        assert_eq!(said.exit, 0, "{text}: {}{}", said.out, said.err);
        assert!(!said.err.contains("no place"), "{}", said.err);
    }
    assert!(scratch.read("kept/progress.json").contains("keel"));
    let typed = out.path().join("door/demo");
    let said = scratch.piton(&["plan", "check", &typed.to_string_lossy()]);
    assert_eq!(said.exit, 0, "{}", said.err);
    out.write(
        "beside/prd.json",
        r#"{"stories": [{"id": "A", "title": "a", "passes": false}]}"#,
    );
    let up = format!(
        "../../{}/beside",
        out.path().file_name().expect("a name").display()
    );
    let mut command = scratch.command_in("demo", &["plan", "check", &up]);
    let said = Said::of(&command.output().expect("piton starts"));
    assert_eq!(said.exit, 0, "{}", said.err);
    // What a user names is the user's.
    let progress = out.path().join("PROGRESS.yaml");
    let said = scratch.piton(&["plan", "compile", "demo", "-o", &progress.to_string_lossy()]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(progress.is_file());
}

/// What other users can do with each file and folder of the home.
fn open_to_others(scratch: &Scratch) -> Vec<String> {
    let home = scratch.home();
    let mut below = BTreeMap::new();
    list_all(&home, &mut below);
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let mut open = vec![(String::from("home"), mode(&home))];
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
    let home = scratch.home();
    let mode = fs::metadata(&home).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(open_to_others(&scratch), Vec::<String>::new());
    // A file of the project is as every other file of this user.
    let native = scratch.path().join(".ralph/errors.log");
    let mode = fs::metadata(native).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o666);
}

#[test]
fn a_store_that_is_open_is_closed_by_the_next_writing_command() {
    let scratch = Scratch::in_memory();
    scratch.write(".ralph/x", "");
    assert_eq!(give(&scratch, ALL).exit, 0);
    assert_eq!(give(&scratch, RECORD).exit, 0);
    let home = scratch.home();
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
    let said = give(&scratch, RECORD);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(!said.err.contains("warning"), "{}", said.err);
    assert_eq!(open_to_others(&scratch), Vec::<String>::new());
    assert_eq!(scratch.piton(&["journal", "verify"]).exit, 0);
}

#[test]
fn no_lane_is_made_or_noted_through_a_link() {
    for (link, to) in [
        (".piton/lanes/1", "OUT"),
        (".piton/lanes/1/lock", "OUT/victim"),
        (".piton/lanes/1/env", "OUT/victim"),
        (".piton/lanes/1/setup.log", "OUT/victim"),
    ] {
        let (scratch, out) = (Scratch::new(), Scratch::outside_git());
        scratch.git(&["init", "-q"]);
        scratch.sprint(SPRINT).agent("cat >>prompts");
        scratch.git(&["add", "-f", "."]);
        scratch.git(&["commit", "-qm", "begin"]);
        scratch.write(
            ".piton/config.toml",
            "[workspace]\nsetup = \"echo OWNED\"\n",
        );
        out.write("victim", "of-the-user-alone\n");
        set_link(&scratch, &out, link, to);
        let before = snapshot(&[&out.path()]);
        let said = give(&scratch, &format!("{RUN} --workers 2"));
        assert_eq!(before, snapshot(&[&out.path()]), "{link}: {said:?}");
        assert!(said.err.contains(OUTSIDE), "{link}: {said:?}");
    }
}

#[test]
fn a_path_that_a_repository_names_stays_in_the_project() {
    let (scratch, out) = (Scratch::new(), Scratch::outside_git());
    let named = out.path().join("flow.yaml");
    out.write(
        "flow.yaml",
        "name: flow\nphases:\n  - id: of-the-user-alone\n    prompt: x\n",
    );
    scratch.write(
        "named/SPRINT.yaml",
        &format!("workflow: {}\n", named.display()),
    );
    let said = give(&scratch, "plan compile named");
    assert_eq!(said.exit, 1, "{said:?}");
    assert!(said.err.contains(OUTSIDE), "{said:?}");
    assert!(!said.err.contains(SECRET), "{said:?}");
    assert!(!scratch.has("named/PROGRESS.yaml"));
}

#[test]
fn a_plan_behind_a_link_to_another_project_is_not_run() {
    let (scratch, out) = (Scratch::new(), Scratch::outside_git());
    scratch.git(&["init", "-q"]);
    out.git(&["init", "-q"]);
    let (_, plan) = VICTIMS
        .iter()
        .find(|(name, _)| *name == "prd")
        .expect("there");
    out.write("prd.json", plan);
    scratch.agent("cat >>prompts");
    symlink(out.path(), scratch.path().join("sub")).expect("linked");
    let said = give(&scratch, "run sub/prd.json --agent ./agent.sh");
    assert_eq!(said.exit, 1, "{said:?}");
    assert!(said.err.contains(CODE), "{said:?}");
    assert!(!scratch.has("prompts") && !out.has("prompts"));
}

#[test]
fn a_store_behind_a_link_is_not_rebuilt() {
    let (scratch, other) = (Scratch::outside_git(), Scratch::outside_git());
    assert_eq!(give(&other, RECORD).exit, 0);
    symlink(other.path().join(".piton"), scratch.path().join(".piton")).expect("linked");
    let before = snapshot(&[&other.path()]);
    let said = give(&scratch, "store rebuild");
    assert_eq!(said.exit, 1, "{said:?}");
    assert!(said.err.contains(CODE), "{said:?}");
    assert_eq!(before, snapshot(&[&other.path()]));
}
