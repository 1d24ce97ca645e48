//! Stores with a past: filled once through the one way to write, and kept.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use piton_core::id::{CommandId, Node, RunId, TreePosition};
use piton_core::name::NameRange;
use piton_core::plan::{ImportedItemHistory, Plan, PlannedItem};
use piton_core::policy::Policy;
use piton_core::redact::Redactor;
use piton_core::{Command, ItemState};
use piton_store::{SCHEMA_VERSION, Store, StoreAddress, StoreOptions};
use uuid::Uuid;

use crate::bed::{Bed, time};
use crate::{Result, event};

/// What a store consists of, as far as it is copied.
const FILES: [&str; 2] = ["journal.db", "journal.db-wal"];
/// How many nodes the one run of a filled store has.
const NODES: u32 = 40;
/// Changed when what is filled in changes.
const VERSION: u32 = 1;

/// Opens the store of a folder to write.
///
/// # Errors
///
/// When there is none, or it cannot be opened.
pub fn open(home: &Path) -> Result<Box<dyn Store>> {
    let address = StoreAddress::parse(home.as_os_str())?;
    Ok(address.open(StoreOptions::new(Redactor::rules_only()))?)
}

/// Makes an empty store in a folder.
///
/// # Errors
///
/// When it cannot be made.
pub fn create(home: &Path) -> Result<bool> {
    let address = StoreAddress::parse(home.as_os_str())?;
    Ok(address.create_if_missing(NameRange::ALONE)?)
}

/// Keeps the event of that number.
///
/// # Errors
///
/// When the store fails.
pub fn log(store: &dyn Store, number: usize) -> Result<()> {
    let id = CommandId(Uuid::now_v7());
    store.commit(id, &event::log(number), &event::facts())?;
    Ok(())
}

/// The folder in which a project keeps its journal: in git's folder, with an older piton
/// in the work tree.
#[must_use]
pub fn home(folder: &Path) -> PathBuf {
    let in_git = folder.join(".git/piton");
    if in_git.is_dir() {
        in_git
    } else {
        folder.join(".piton")
    }
}

/// The same, made by the piton that is measured, for a store that is not its own.
///
/// # Errors
///
/// When it cannot be made or emptied.
pub fn empty_home(bed: &Bed, folder: &Path) -> Result<PathBuf> {
    time(&mut bed.piton(folder, &["log", "session_started"]))?;
    let home = home(folder);
    for entry in fs::read_dir(&home)?.flatten() {
        if entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(home)
}

/// A project whose store holds so many session events, on stable storage.
///
/// # Errors
///
/// When it cannot be made.
pub fn project(bed: &Bed, events: usize) -> Result<PathBuf> {
    let folder = bed.project(&format!("events-{events}"))?;
    let home = empty_home(bed, &folder)?;
    copy(&filled(bed, events)?, &home)?;
    Ok(folder)
}

/// The same, filled by the piton of `filler` with a command an event: whatever
/// version a piton is of, it opens what it or an older one has filled.
///
/// # Errors
///
/// When it cannot be made.
pub fn project_by_program(bed: &Bed, filler: &Bed, events: usize) -> Result<PathBuf> {
    let folder = bed.project(&format!("events-{events}"))?;
    let home = empty_home(bed, &folder)?;
    copy(&filled_by_program(filler, events)?, &home)?;
    // The first writing command of a newer piton renews the store.
    time(&mut bed.piton(&folder, &["log", "session_started"]))?;
    Ok(folder)
}

fn filled_by_program(filler: &Bed, events: usize) -> Result<PathBuf> {
    let mut program = DefaultHasher::new();
    fs::read(&filler.piton)?.hash(&mut program);
    let name = format!("store-by-{:016x}-{events}", program.finish());
    keep(filler, &name, |folder| {
        filler.git(folder, &["init", "--quiet"])?;
        let arguments = event::arguments();
        for _ in 0..events {
            time(filler.command(&filler.piton, folder).args(&arguments))?;
        }
        Ok(home(folder))
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for name in FILES {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name))?;
            // What is still on its way to the disk would be paid by whoever flushes next.
            File::open(to.join(name))?.sync_all()?;
        }
    }
    File::open(to)?.sync_all()?;
    Ok(())
}

/// The folder of a filled store that is kept from one run to the next.
fn filled(bed: &Bed, events: usize) -> Result<PathBuf> {
    let name = format!("store-{SCHEMA_VERSION}.{VERSION}-{events}");
    keep(bed, &name, |folder| {
        fill(folder, events)?;
        Ok(folder.to_owned())
    })
}

/// The store of that name; `make` makes it in a folder, and says where, unless
/// it is kept already.
fn keep(bed: &Bed, name: &str, make: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    let kept = bed.cache.join(name);
    if kept.is_dir() {
        return Ok(kept);
    }
    // Where flushes cost nothing, if there is such a place: a hundred thousand
    // commits are quick then.
    let memory = Path::new("/dev/shm");
    let at = if memory.is_dir() {
        tempfile::tempdir_in(memory)?
    } else {
        tempfile::tempdir_in(&bed.cache)?
    };
    let made = make(at.path())?;
    let whole = tempfile::tempdir_in(&bed.cache)?;
    copy(&made, whole.path())?;
    fs::rename(whole.keep(), &kept)?;
    Ok(kept)
}

fn fill(home: &Path, events: usize) -> Result<()> {
    create(home)?;
    let store = open(home)?;
    if events > 0 {
        let id = CommandId(Uuid::now_v7());
        store.commit(id, &Command::PlanRun(Box::new(plan())), &event::facts())?;
    }
    (1..=events).try_for_each(|number| log(&*store, number))
}

/// A run that was planned and not yet begun, so that there is something to show.
fn plan() -> Plan {
    let root = Node::child(None, "development", 1);
    let mut items = vec![item(
        root.clone(),
        TreePosition(vec![0]),
        "development",
        None,
    )];
    for index in 0..NODES {
        let id = format!("step-{index}");
        let node = Node::child(Some(&root), &id, 1);
        items.push(item(
            node,
            TreePosition(vec![0, index]),
            &id,
            Some("do what is to be done"),
        ));
    }
    Plan {
        run: RunId(Uuid::now_v7()),
        name: "2026-01-15_bench".to_owned(),
        face: "sprint-yaml".to_owned(),
        source: "sprints/bench".to_owned(),
        policy: Policy::default(),
        order: piton_core::plan::Order::InTurn,
        native: None,
        past: None,
        items,
        requests: Vec::new(),
    }
}

fn item(node: Node, place: TreePosition, id: &str, prompt: Option<&str>) -> PlannedItem {
    PlannedItem {
        id: id.to_owned(),
        node,
        place,
        state: ItemState::Ready,
        prompt: prompt.map(str::to_owned),
        model: None,
        gate: None,
        breakpoint: false,
        approval: false,
        depends_on: Vec::new(),
        native: None,
        past: ImportedItemHistory::default(),
        piece_of: None,
        injected: None,
        tags: piton_core::plan::ItemTags::default(),
        claims: piton_core::evidence::ClaimOverrides::default(),
        turn: piton_core::plan::ItemTurn::default(),
        scope: piton_core::scope::FileScope::default(),
        repository: None,
        wait: None,
    }
}
