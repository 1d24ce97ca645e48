//! Ways of saving a record: piton, and what other tools do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::bed::Bed;
use crate::seed000::{self, Durable};
use crate::{Result, event};

/// The key of piton.
pub const PITON: &str = "piton";

/// A way of saving.
pub struct Way {
    /// What it is called among the arguments.
    pub key: &'static str,
    /// What it is called in the table.
    pub name: &'static str,
    /// The program that has to be on the PATH.
    pub program: Option<&'static str>,
    /// Whether each record starts a program that takes a second.
    pub starts_slowly: bool,
    /// Makes a project of a folder that is a git repository.
    pub prepare: fn(&Setting<'_>) -> Result<()>,
    /// Stores a record, and returns when it is stored.
    pub save: fn(&Setting<'_>, usize) -> Result<()>,
    /// The numbers of all records that can be read.
    pub read: fn(&Setting<'_>) -> Stored,
}

/// What is there of records.
#[derive(Debug, Default)]
pub struct Stored {
    /// The numbers of those that can be read.
    pub numbers: BTreeSet<usize>,
    /// Whether everything that is there can be read.
    pub readable: bool,
}

impl From<Result<BTreeSet<usize>>> for Stored {
    /// Of records that stand in one place: all can be read or none.
    fn from(read: Result<BTreeSet<usize>>) -> Self {
        Self {
            readable: read.is_ok(),
            numbers: read.unwrap_or_default(),
        }
    }
}

/// Where records are saved, and by which piton.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The folder of the project.
    pub folder: &'a Path,
    /// The command.
    pub piton: &'a Path,
}

/// All of them, in the order of the table.
pub const ALL: &[Way] = &[
    Way {
        key: PITON,
        name: "piton: `piton log`",
        program: None,
        starts_slowly: false,
        prepare: |_| Ok(()),
        save: piton_save,
        read: |setting| piton_read(setting).into(),
    },
    Way {
        key: "json",
        name: "a JSON file: read, add, write to a name of one's own, rename",
        program: None,
        starts_slowly: false,
        prepare: |_| Ok(()),
        save: |setting, number| json_save(setting, number, OnUnreadable::Fail),
        read: |setting| json_read(setting).into(),
    },
    Way {
        key: "progress-json",
        name: "`.ralph/progress.json`, as its documents show: `progress.json.tmp`, rename",
        program: None,
        starts_slowly: false,
        prepare: |_| Ok(()),
        save: |setting, number| {
            seed000::append_entry(setting.folder, seed000::entry(number), Durable::No)
        },
        read: |setting| seed000_read(setting).into(),
    },
    Way {
        key: "start-fresh",
        name: "`.agent-os/progress.json`, as its documents show: the same, and a file that cannot be parsed starts fresh",
        program: None,
        starts_slowly: false,
        prepare: |_| Ok(()),
        save: |setting, number| json_save(setting, number, OnUnreadable::StartFresh),
        read: |setting| json_read(setting).into(),
    },
    Way {
        key: "backlog",
        name: "Backlog.md: `backlog task create`",
        program: Some("backlog"),
        starts_slowly: true,
        prepare: |setting| quiet(backlog(setting, &["init", "demo", "--defaults"])),
        save: |setting, number| {
            let title = record(number);
            quiet(backlog(setting, &["task", "create", &title, "--plain"]))
        },
        read: backlog_read,
    },
];

impl Way {
    /// The way of that key.
    #[must_use]
    pub fn find(key: &str) -> Option<&'static Self> {
        ALL.iter().find(|way| way.key == key)
    }

    /// Whether its program can be started.
    #[must_use]
    pub fn is_there(&self, bed: &Bed) -> bool {
        self.program.is_none_or(|program| {
            let mut command = bed.command(Path::new(program), &bed.cache);
            command
                .arg("--version")
                .status()
                .is_ok_and(|status| status.success())
        })
    }
}

fn record(number: usize) -> String {
    format!("record {number}")
}

/// The number at the end of a text as [`record`] makes it.
fn number_of(text: &str) -> Option<usize> {
    text.trim().strip_prefix("record ")?.parse().ok()
}

fn quiet(mut command: Command) -> Result<()> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.status()? {
        status if status.success() => Ok(()),
        status => Err(format!("{command:?}: {status}").into()),
    }
}

fn piton(setting: &Setting<'_>, args: &[&str]) -> Command {
    let mut command = Command::new(setting.piton);
    command.args(args).current_dir(setting.folder);
    command
}

fn piton_save(setting: &Setting<'_>, number: usize) -> Result<()> {
    let notes = record(number);
    let log = ["log", "task_completed", "--description", event::SUMMARY];
    quiet(piton(setting, &[&log[..], &["--notes", &notes]].concat()))
}

fn piton_read(setting: &Setting<'_>) -> Result<BTreeSet<usize>> {
    if !setting.folder.join(".piton/journal.db").exists() {
        return Ok(BTreeSet::new());
    }
    quiet(piton(setting, &["journal", "verify"]))?;
    let mut export = piton(setting, &["journal", "export"]);
    let exported = export.stderr(Stdio::null()).output()?;
    if !exported.status.success() {
        return Err("the journal cannot be exported".into());
    }
    let mut numbers = BTreeSet::new();
    for line in String::from_utf8_lossy(&exported.stdout).lines() {
        let event: Value = serde_json::from_str(line)?;
        numbers.extend(event["body"]["data"]["notes"].as_str().and_then(number_of));
    }
    Ok(numbers)
}

/// What becomes of a file that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnUnreadable {
    /// The record is not stored.
    Fail,
    /// It begins anew, with this record alone.
    StartFresh,
}

const JSON: &str = "records.json";

fn json_load(folder: &Path) -> Result<Vec<Value>> {
    match fs::read(folder.join(JSON)) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Reads all, adds one, and writes all: no lock, no flush.
fn json_save(setting: &Setting<'_>, number: usize, unreadable: OnUnreadable) -> Result<()> {
    let mut records = match json_load(setting.folder) {
        Err(_) if unreadable == OnUnreadable::StartFresh => Vec::new(),
        loaded => loaded?,
    };
    records.push(json!({ "record": number, "summary": event::SUMMARY, "notes": event::NOTES }));
    let name = match unreadable {
        OnUnreadable::Fail => format!("{JSON}.{}", std::process::id()),
        OnUnreadable::StartFresh => format!("{JSON}.tmp"),
    };
    let beside = setting.folder.join(name);
    fs::write(&beside, serde_json::to_vec_pretty(&records)?)?;
    Ok(fs::rename(&beside, setting.folder.join(JSON))?)
}

fn json_read(setting: &Setting<'_>) -> Result<BTreeSet<usize>> {
    let records = json_load(setting.folder)?;
    let numbers = records
        .iter()
        .filter_map(|record| record["record"].as_u64());
    Ok(numbers
        .filter_map(|number| usize::try_from(number).ok())
        .collect())
}

fn seed000_read(setting: &Setting<'_>) -> Result<BTreeSet<usize>> {
    let entries = seed000::load(setting.folder)?.entries;
    let numbers = entries.iter().map(|entry| usize::try_from(entry.iteration));
    Ok(numbers.filter_map(std::result::Result::ok).collect())
}

fn backlog(setting: &Setting<'_>, args: &[&str]) -> Command {
    let mut command = Command::new("backlog");
    command.args(args).current_dir(setting.folder);
    command
}

/// Each task is a file of Markdown; one without its title cannot be read.
fn backlog_read(setting: &Setting<'_>) -> Stored {
    let tasks = fs::read_dir(setting.folder.join("backlog/tasks"));
    let mut stored = Stored {
        readable: tasks.is_ok(),
        ..Stored::default()
    };
    for path in tasks
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let title = text.lines().find_map(|line| line.strip_prefix("title:"));
        let title = title.map(|title| title.trim().trim_matches(['\'', '"']));
        let number = title.and_then(number_of);
        stored.readable &= number.is_some();
        stored.numbers.extend(number);
    }
    stored
}
