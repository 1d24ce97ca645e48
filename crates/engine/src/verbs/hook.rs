//! `piton hook EVENT`: what an agent program tells, and the answer to it.
//!
//! Whatever goes wrong here, the session goes on: a fault is noted in
//! `.piton/logs/hook.log` and nothing is answered. How long everything may take
//! is bounded, too: a program that waits for its hook does nothing else.

pub mod settings;

use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use piton_core::call::SessionCall;
use piton_core::entry::{Entry, EntryType};
use piton_core::{AttemptId, CommandId, HolderLiveness};
use serde_json::{Value, json};

use super::log;
use crate::agents::hook::event::{HookEvent, HookEventKind};
use crate::agents::hook::notes::SessionNotes;
use crate::agents::hook::settings::{HOOKS_VARIABLE, HookOrigin};
use crate::agents::hook::{context, fault, finish};
use crate::agents::program_table::KNOWN_PROGRAMS;
use crate::caller;
use crate::caller::held_item::AssignedWork;
use crate::config::Config;
use crate::failure::Failure;
use crate::native_files::FileNotice;
use crate::native_files::project_sync;
use crate::process::MARK;
use crate::project::Project;
use crate::session::Session;
use crate::session::hook_spool::{HookRecord, PendingRecord};
use crate::world::World;

/// What is read of stdin at most.
const INPUT_BYTES_MAX: u64 = 64 << 20;
/// How long the program may take to hand over its words.
const INPUT_TIME: Duration = Duration::from_secs(5);
/// How long all else may take: a hook does not wait longer for a process that holds
/// the store.
const WORK_TIME: Duration = Duration::from_secs(2);

/// What came of a hook.
#[derive(Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// What the program is told; most of the time nothing.
    pub said: Option<Value>,
    /// What went wrong, in one line. It is noted already.
    pub fault: Option<String>,
}

/// Hears what a program tells at an event, and answers. It never fails, and
/// never takes longer than some seconds.
#[must_use]
pub fn hook(
    world: &World,
    typed: Option<&str>,
    origin: HookOrigin,
    input: impl Read + Send + 'static,
) -> HookAnswer {
    let read = run_with_timeout(INPUT_TIME, move || {
        let mut bytes = Vec::new();
        let read = input.take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
        read.map(|_| bytes)
    });
    // The runner has heard of it already. This is what happens most often.
    let held = AssignedWork::from_environment(world, None);
    if held.is_supervised() && typed.and_then(HookEventKind::parse) == Some(HookEventKind::Called) {
        return HookAnswer::default();
    }
    // The run gave the process hooks of its own: what the settings have answers nothing,
    // so that no stop counts twice.
    let given = world.var(HOOKS_VARIABLE);
    let has_own = given.is_some() && given == world.var(MARK);
    if has_own && origin == HookOrigin::Settings {
        return HookAnswer::default();
    }
    let world = world_of_session(world);
    let told = match read {
        Ok(Ok(bytes)) => HookEvent::parse(&bytes).map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(why) => Err(why.to_owned()),
    };
    let told = match told {
        Ok(told) => told,
        Err(why) => {
            let fault = format!("what was told on stdin cannot be read: {why}");
            return answer_fault(&world, typed.unwrap_or("hook"), fault);
        }
    };
    let moment = told.event_kind(typed);
    if moment == HookEventKind::Quiet || (held.is_supervised() && moment == HookEventKind::Called) {
        return HookAnswer::default();
    }
    let pending = PendingRecord::default();
    let (worker, recording) = (world.clone(), pending.clone());
    let done = run_with_timeout(WORK_TIME, move || {
        answer_event(&worker, moment, &told, &held, &recording).map_err(|failure| {
            // Only what waited in vain is recorded later.
            if failure.code != "store.busy" {
                recording.end();
            }
            failure.to_line()
        })
    });
    let name = format!("{moment:?}");
    let fault = match done {
        Ok(Ok(said)) => return HookAnswer { said, fault: None },
        Ok(Err(fault)) => fault,
        Err(why) => why.to_owned(),
    };
    let then = match pending.spool(&world) {
        Ok(false) => String::new(),
        Ok(true) => "; the next command that writes records the event".to_owned(),
        Err(failure) => format!("; the event is lost: {}", failure.to_line()),
    };
    answer_fault(&world, &name, fault + &then)
}

fn answer_fault(world: &World, event: &str, fault: String) -> HookAnswer {
    fault::log_fault(world, event, &fault);
    HookAnswer {
        said: None,
        fault: Some(fault),
    }
}

/// Does something in a thread of its own; why not, when it takes too long or
/// panics. The thread is left behind then and ends with the process, as if that
/// had crashed: what is stored is stored whole or not at all.
fn run_with_timeout<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, &'static str> {
    let (done, is_done) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || done.send(work()).ok());
    if started.is_err() {
        return Err("no thread can be started");
    }
    is_done.recv_timeout(time).map_err(|error| match error {
        mpsc::RecvTimeoutError::Timeout => "it took too long",
        mpsc::RecvTimeoutError::Disconnected => "it panicked",
    })
}

/// The world, seen from the folder that the session began in: a session may
/// change into another project and still belongs to its own.
fn world_of_session(world: &World) -> World {
    let named = KNOWN_PROGRAMS
        .iter()
        .filter_map(|program| program.project_variable);
    let mut folders = named
        .filter_map(|name| world.var(name))
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute() && folder.is_dir());
    let mut seen = world.clone();
    if let Some(folder) = folders.next() {
        seen.cwd = folder;
    }
    // Keys in the configuration are secrets here, too. A command that needs the
    // configuration reports one that cannot be read.
    match Config::load(&Project::find(&seen, &seen.cwd)) {
        Ok(config) => seen.with_agent_secrets(config.agent_variables()),
        Err(_) => seen,
    }
}

fn answer_event(
    world: &World,
    moment: HookEventKind,
    told: &HookEvent,
    held: &AssignedWork,
    pending: &PendingRecord,
) -> Result<Option<Value>, Failure> {
    let project = Project::find(world, &world.cwd);
    if !project.exists() {
        return Ok(None);
    }
    let notes = SessionNotes::new(&project.home);
    // An agent of a run may have lost its mark on the way to the hook.
    let recognized = (!held.is_supervised()).then(|| caller::recognize_hook_caller(world));
    let agent = recognized.as_ref().and_then(World::agent);
    let held = &agent.map_or_else(|| held.clone(), AssignedWork::of_agent);
    match moment {
        HookEventKind::SessionStart => handle_session_start(world, told, held, (&notes, pending)),
        HookEventKind::Called if held.is_supervised() => Ok(None),
        HookEventKind::Called => handle_tool_call(world, told, held, pending).map(|()| None),
        HookEventKind::Stop => handle_stop(world, told, held, &notes),
        HookEventKind::SessionEnd => {
            handle_session_end(world, told, held, (&notes, pending)).map(|()| None)
        }
        HookEventKind::Quiet => Ok(None),
    }
}

/// A session begins, or goes on with its memory gone: it is told what it should
/// know. The prompt of an attempt has told it at its beginning.
fn handle_session_start(
    world: &World,
    told: &HookEvent,
    held: &AssignedWork,
    (notes, pending): (&SessionNotes, &PendingRecord),
) -> Result<Option<Value>, Failure> {
    let name = told.session_name();
    let source = told.source();
    let begins = !held.is_supervised() && source != "compact";
    let begun = begins.then(|| {
        let entry = Entry::with_type(EntryType::SessionStarted).with_text(
            "description",
            format!("An agent's session began ({source})"),
        );
        let entry = entry_of_session(entry, name.clone(), held);
        (
            pending.begin(world, HookRecord::Entry(Box::new(entry.clone()))),
            entry,
        )
    });
    if let AssignedWork::Attempt(attempt) = held {
        let Some(name) = &name else { return Ok(None) };
        let is_own = is_session_of_attempt(notes, *attempt, name)?;
        if source == "startup" || !is_own {
            return Ok(None);
        }
    }
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(None);
    };
    let text = match held {
        AssignedWork::Attempt(attempt) => context::context_of_attempt(&session, *attempt)?,
        AssignedWork::Item(item) => Some(context::context_of_item(&session, item)?),
        AssignedWork::Nothing => context::context_of_project(&session)?,
        AssignedWork::Unknown => None,
    };
    drop(session);
    if let Some((id, entry)) = begun {
        if let Some(name) = &name {
            let begun = notes.begin_session(name, world.now());
            begun.map_err(|error| unwritable_notes_failure(&error))?;
        }
        log_entry(world, id, entry)?;
    }
    Ok(text.map(|text| context::render_answer(&text)))
}

/// A tool was called in a session that piton did not start.
fn handle_tool_call(
    world: &World,
    told: &HookEvent,
    held: &AssignedWork,
    pending: &PendingRecord,
) -> Result<(), Failure> {
    let Some(mut call) = told.tool_call(&world.redactor()) else {
        return Ok(());
    };
    call.at = Some(world.now());
    let record = HookRecord::Call(Box::new(SessionCall {
        session: told.session_name().unwrap_or_default(),
        item: held.item_name().map(str::to_owned),
        call,
    }));
    let id = pending.begin(world, record.clone());
    let Some(session) = Session::open_writable(world, &world.cwd)? else {
        return Ok(());
    };
    let facts = session.facts_of_caller(HolderLiveness::Nothing);
    session.commit_with_id(id, &record.into_command(), &facts)?;
    check_sync_news(project_sync::sync_call_files(&session))
}

/// The agent wants to stop: it may, unless the item that this session holds is
/// not finished, and then it is told so twice at most.
fn handle_stop(
    world: &World,
    told: &HookEvent,
    held: &AssignedWork,
    notes: &SessionNotes,
) -> Result<Option<Value>, Failure> {
    let Some(name) = told.session_name().filter(|_| !told.is_from_sub_agent()) else {
        return Ok(None);
    };
    if matches!(held, AssignedWork::Nothing | AssignedWork::Unknown) {
        return Ok(None);
    }
    if let AssignedWork::Attempt(attempt) = held
        && !is_session_of_attempt(notes, *attempt, &name)?
    {
        return Ok(None);
    }
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        return Ok(None);
    };
    let missing = match held {
        AssignedWork::Attempt(attempt) => {
            finish::missing_record_of_attempt(&session, *attempt, told.last_message())?
        }
        AssignedWork::Item(item) => {
            finish::missing_record_of_item(&session, item, notes.session_start(&name))?
        }
        AssignedWork::Nothing | AssignedWork::Unknown => None,
    };
    let Some(missing) = missing else {
        return Ok(None);
    };
    let may = notes
        .try_block_stop(&name, &missing.key)
        .map_err(|error| unwritable_notes_failure(&error))?;
    Ok(may.then(|| json!({ "decision": "block", "reason": missing.reason })))
}

/// A session of a person ends.
fn handle_session_end(
    world: &World,
    told: &HookEvent,
    held: &AssignedWork,
    (notes, pending): (&SessionNotes, &PendingRecord),
) -> Result<(), Failure> {
    if held.is_supervised() {
        return Ok(());
    }
    let name = told.session_name();
    let reason = told.reason();
    let why = if reason.is_empty() {
        String::new()
    } else {
        format!(" ({reason})")
    };
    let mut entry = Entry::with_type(EntryType::SessionEnded)
        .with_text("description", format!("An agent's session ended{why}"));
    if let Some(since) = name.as_deref().and_then(|name| notes.session_start(name)) {
        let seconds = world.now().duration_since(since).as_secs().max(0);
        let data = &mut entry.data;
        data.insert("duration_minutes".to_owned(), (seconds / 60).into());
    }
    let entry = entry_of_session(entry, name, held);
    let id = pending.begin(world, HookRecord::Entry(Box::new(entry.clone())));
    log_entry(world, id, entry)
}

fn entry_of_session(mut entry: Entry, session: Option<String>, held: &AssignedWork) -> Entry {
    if let Some(session) = session {
        entry = entry.with_text("session", session);
    }
    entry.task_id = held.item_name().map(str::to_owned);
    entry
}

fn log_entry(world: &World, id: CommandId, entry: Entry) -> Result<(), Failure> {
    // What is said of native files is said again by the next command.
    log::log_with_id(world, id, entry, &mut |_| {}).map(drop)
}

fn is_session_of_attempt(
    notes: &SessionNotes,
    attempt: AttemptId,
    session: &str,
) -> Result<bool, Failure> {
    let is_of = notes.try_claim_attempt(attempt, session);
    is_of.map_err(|error| unwritable_notes_failure(&error))
}

fn unwritable_notes_failure(error: &std::io::Error) -> Failure {
    Failure::new(
        "file.unwritable",
        format!("what is kept of the session: {error}"),
    )
}

/// What came of bringing files up to date, as far as it is a fault.
fn check_sync_news(news: Vec<FileNotice>) -> Result<(), Failure> {
    let behind = news
        .into_iter()
        .find(|news| matches!(news, FileNotice::Behind(..)));
    match behind {
        Some(news) => Err(Failure::new("file.unwritable", news.to_string())),
        None => Ok(()),
    }
}
