//! A bit flips, or a file ends early, in any file of the store: every command then
//! answers as before, or says that something is wrong.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use piton_simkit::seed::salted;
use piton_testkit::chance::Chance;
use rusqlite::Connection;

use super::{report, trials};
use crate::harness::{Said, Scratch};

/// Damages that every run of the tests tries; each takes four starts of piton.
const DAMAGES: usize = 40;

const RUN: &[&str] = &[
    "run",
    "prd.json",
    "--agent",
    "sh:echo fine",
    "--verdict",
    "exit-status",
];

/// The commands that are judged: what people and programs read, and what a run would do.
fn questions() -> [Vec<&'static str>; 4] {
    [
        vec!["status", "--json"],
        vec!["journal", "export"],
        vec!["journal", "verify", "--json"],
        [RUN, &["--dry-run"]].concat(),
    ]
}

/// Where the newest rows are.
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// In the write-ahead log: the database is older.
    InLog,
    /// Written back into the database; there is no log.
    InDatabase,
}

/// A project with entries, and a run at work with its transcript.
fn project(rows: Rows) -> Scratch {
    let scratch = Scratch::in_memory().with_fixed_clock();
    let story = |nth: u32| {
        format!(
            "{{\"id\": \"US-{nth}\", \"title\": \"story {nth}\", \"acceptanceCriteria\": [\"it is there\"], \"passes\": false}}"
        )
    };
    let stories = [1, 2, 3, 4].map(story).join(", ");
    let list = format!(
        "{{\"project\": \"yard\", \"branchName\": \"main\", \"userStories\": [{stories}]}}\n"
    );
    scratch.write("prd.json", &list);
    let log = |notes: &str| {
        let said = scratch.piton(&["log", "task_blocked", "--task", notes, "--notes", notes]);
        assert_eq!(said.exit, 0, "{}", said.err);
    };
    log("one");
    log("two");
    let said = scratch.piton(&[RUN, &["--once"]].concat());
    assert_eq!(said.exit, 5, "{}", said.err);
    log("three");
    if let Rows::InDatabase = rows {
        let db = Connection::open(scratch.file(".piton/journal.db"));
        db.and_then(|db| db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"))
            .expect("no other process has it open");
    }
    scratch
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// The store as it was, put back before each damage.
struct Healthy {
    scratch: Scratch,
    store: PathBuf,
    _kept: tempfile::TempDir,
    kept: PathBuf,
    files: Vec<PathBuf>,
    answers: Vec<Said>,
}

impl Healthy {
    fn new(rows: Rows) -> Self {
        let scratch = project(rows);
        let store = scratch.home();
        let folder = tempfile::tempdir().expect("a folder elsewhere");
        let kept = folder.path().join("store");
        let below = |path: PathBuf| path.strip_prefix(&store).expect("below it").to_owned();
        let files: Vec<PathBuf> = files_below(&store).into_iter().map(below).collect();
        let mut healthy = Self {
            store: store.clone(),
            _kept: folder,
            kept,
            files,
            answers: Vec::new(),
            scratch,
        };
        copy(&healthy.store, &healthy.kept);
        healthy.answers = healthy.ask();
        for (question, answer) in questions().iter().zip(&healthy.answers) {
            assert_eq!(answer.exit, 0, "{question:?}: {}", answer.err);
        }
        healthy
    }

    fn put_back(&self) {
        fs::remove_dir_all(&self.store).expect("it is there");
        copy(&self.kept, &self.store);
    }

    /// The answers to all questions, each asked of the store as it is now.
    fn ask(&self) -> Vec<Said> {
        questions()
            .iter()
            .map(|question| self.scratch.piton(question))
            .collect()
    }

    /// What came of each question.
    fn judge(&self) -> Vec<Answer> {
        let answers = self.ask();
        let healthy = self.answers.iter();
        let judged = healthy
            .zip(&answers)
            .map(|(healthy, answer)| judge(healthy, answer));
        judged.collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("writable");
    fs::set_permissions(to, fs::metadata(from).expect("there").permissions()).expect("ours");
    for entry in fs::read_dir(from).expect("readable").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("copied, with its mode");
        }
    }
}

/// What an answer is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// To the byte what it was.
    Same,
    /// The command failed, and said why: `verify` lists damage on stdout.
    Refused,
    /// Another answer, with a warning that was not there before.
    Warned,
    /// Another answer without a word, a panic, a death.
    Wrong(String),
}

fn judge(healthy: &Said, answer: &Said) -> Answer {
    let warnings = |said: &Said| {
        let all = said.err.lines().map(str::to_owned);
        all.filter(|line| line.starts_with("warning") || line.contains(".warning/"))
            .collect::<Vec<_>>()
    };
    match answer.exit {
        0 if answer.out == healthy.out => Answer::Same,
        0 if warnings(answer) != warnings(healthy) => Answer::Warned,
        1..=100 if !(answer.out.is_empty() && answer.err.is_empty()) => Answer::Refused,
        exit => {
            let lines = answer.out.lines().zip(healthy.out.lines());
            let other = lines.into_iter().find(|(is, was)| is != was);
            Answer::Wrong(format!("exit {exit}, {other:?}, {}", answer.err))
        }
    }
}

/// Changes one bit, or cuts the end off; says what it did.
fn damage(path: &Path, chance: &mut Chance) -> String {
    let mut bytes = fs::read(path).expect("readable");
    let mut below = |end: usize| {
        usize::try_from(chance.below(u64::try_from(end).expect("small"))).expect("small")
    };
    let done = if bytes.is_empty() {
        bytes.push(u8::try_from(below(256)).expect("a byte"));
        "a byte in an empty file".to_owned()
    } else if below(4) == 0 {
        bytes.truncate(below(bytes.len()));
        format!("cut to {} bytes", bytes.len())
    } else {
        let (at, bit) = (below(bytes.len()), below(8));
        bytes[at] ^= 1 << bit;
        format!("bit {bit} of byte {at}")
    };
    fs::write(path, bytes).expect("writable");
    done
}

/// What came of damages.
#[derive(Default)]
struct Outcomes {
    /// Of each file: how often a command refused, warned, or all answered as before.
    files: BTreeMap<OsString, [usize; 3]>,
    wrong: Vec<String>,
}

impl Outcomes {
    fn try_damage(&mut self, healthy: &Healthy, name: &Path, chance: &mut Chance) {
        healthy.put_back();
        let done = damage(&healthy.store.join(name), chance);
        let answers = healthy.judge();
        for (question, answer) in questions().iter().zip(&answers) {
            if let Answer::Wrong(why) = answer {
                let place = name.display();
                self.wrong
                    .push(format!("{place}: {done}: {question:?}: {why}"));
            }
        }
        let first = name.components().next().expect("a path has a part");
        let of_file = self.files.entry(first.as_os_str().to_owned()).or_default();
        let worst = [Answer::Refused, Answer::Warned];
        let place = worst.iter().position(|worst| answers.contains(worst));
        of_file[place.unwrap_or(2)] += 1;
    }
}

#[test]
fn damage_to_any_file_of_the_store_leads_to_no_wrong_answer() {
    let mut chance = Chance::seeded(salted(16));
    let (damages, mut outcomes) = (trials(DAMAGES), Outcomes::default());
    for rows in [Rows::InLog, Rows::InDatabase] {
        let healthy = Healthy::new(rows);
        let mut others = healthy.files.iter().cycle();
        for nth in 0..damages / 2 {
            // Half of them in the database, which has most to lose.
            let name = if nth % 2 == 0 {
                Path::new("journal.db")
            } else {
                others.next().expect("a store has files")
            };
            outcomes.try_damage(&healthy, name, &mut chance);
        }
    }
    for (file, [refused, warned, same]) in &outcomes.files {
        let file = file.display();
        report(&format!(
            "damage: {file}: refused {refused}, warned {warned}, same answers {same}"
        ));
    }
    let wrong = outcomes.wrong;
    report(&format!(
        "damage: {damages} damages, {} wrong answers",
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The control: a store that answers differently and is whole.
#[test]
fn a_wrong_answer_without_a_word_is_seen() {
    let healthy = Healthy::new(Rows::InLog);
    let said = healthy
        .scratch
        .piton(&["log", "task_blocked", "--task", "four", "--notes", "four"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let wrong = |answer: &Answer| matches!(answer, Answer::Wrong(_));
    assert!(
        healthy
            .judge()
            .iter()
            .filter(|answer| wrong(answer))
            .count()
            >= 2
    );
    healthy.put_back();
    assert_eq!(healthy.judge(), vec![Answer::Same; questions().len()]);
}
