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

use piton_core::call::NotedCall;
use piton_core::entry::{Entry, EntryType};
use piton_core::{AttemptId, Command};
use serde_json::{Value, json};

use super::log;
use crate::caller;
use crate::config::Config;
use crate::failure::Failure;
use crate::held::Given;
use crate::hook::notes::Notes;
use crate::hook::told::{Moment, Told};
use crate::hook::{context, fault, finish};
use crate::native_files::News;
use crate::native_files::project_sync;
use crate::project::Project;
use crate::session::Session;
use crate::world::World;

/// What is read of stdin at most.
const INPUT_BYTES_MAX: u64 = 64 << 20;
/// How long the program may take to hand over its words.
const INPUT_TIME: Duration = Duration::from_secs(5);
/// How long all else may take: whoever holds the store for longer is not waited
/// for.
const WORK_TIME: Duration = Duration::from_secs(2);

/// What came of a hook.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// What the program is told; most of the time nothing.
    pub said: Option<Value>,
    /// What went wrong, in one line. It is noted already.
    pub fault: Option<String>,
}

/// Hears what a program tells at an event, and answers. It never fails, and
/// never takes longer than some seconds.
#[must_use]
pub fn hook(world: &World, typed: Option<&str>, input: impl Read + Send + 'static) -> Answer {
    let read = within(INPUT_TIME, move || {
        let mut bytes = Vec::new();
        let read = input.take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
        read.map(|_| bytes)
    });
    // The runner has heard of it already. This is what happens most often.
    let held = Given::of(world, None);
    if held.is_watched() && typed.and_then(Moment::of) == Some(Moment::Called) {
        return Answer::default();
    }
    let world = in_project(world);
    let told = match read {
        Ok(Ok(bytes)) => Told::read(&bytes).map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(why) => Err(why.to_owned()),
    };
    let told = match told {
        Ok(told) => told,
        Err(why) => {
            let fault = format!("what was told on stdin cannot be read: {why}");
            return at_fault(&world, typed.unwrap_or("hook"), fault);
        }
    };
    let moment = told.moment(typed);
    if moment == Moment::Quiet || (held.is_watched() && moment == Moment::Called) {
        return Answer::default();
    }
    let worker = world.clone();
    let done = within(WORK_TIME, move || {
        answer(&worker, moment, &told, &held).map_err(|failure| fault::in_one_line(&failure))
    });
    let name = format!("{moment:?}");
    match done {
        Ok(Ok(said)) => Answer { said, fault: None },
        Ok(Err(fault)) => at_fault(&world, &name, fault),
        Err(why) => at_fault(&world, &name, why.to_owned()),
    }
}

fn at_fault(world: &World, event: &str, fault: String) -> Answer {
    fault::note(world, event, &fault);
    Answer {
        said: None,
        fault: Some(fault),
    }
}

/// Does something in a thread of its own; why not, when it takes too long or
/// panics. The thread is left behind then and ends with the process, as if that
/// had crashed: what is stored is stored whole or not at all.
fn within<T: Send + 'static>(
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
fn in_project(world: &World) -> World {
    let named = ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"];
    let mut folders = named
        .iter()
        .filter_map(|name| world.var(name))
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute() && folder.is_dir());
    let mut seen = world.clone();
    if let Some(folder) = folders.next() {
        seen.cwd = folder;
    }
    // Keys that stand in the configuration are secrets here, too. One that
    // cannot be read is told by whoever needs it.
    match Config::load(&Project::find(&seen, &seen.cwd)) {
        Ok(config) => seen.knowing(&config),
        Err(_) => seen,
    }
}

fn answer(
    world: &World,
    moment: Moment,
    told: &Told,
    held: &Given,
) -> Result<Option<Value>, Failure> {
    let project = Project::find(world, &world.cwd);
    if !project.exists() {
        return Ok(None);
    }
    let notes = Notes::of(&project.home);
    // An agent of a run may have lost its mark on the way to the hook.
    let recognized = (!held.is_watched()).then(|| caller::recognize(world));
    let agent = recognized.as_ref().and_then(World::agent);
    let held = &agent.map_or_else(|| held.clone(), Given::of_agent);
    match moment {
        Moment::SessionStart => begin(world, told, held, &notes),
        Moment::Called if held.is_watched() => Ok(None),
        Moment::Called => called(world, told, held).map(|()| None),
        Moment::Stop => stop(world, told, held, &notes),
        Moment::SessionEnd => end(world, told, held, &notes).map(|()| None),
        Moment::Quiet => Ok(None),
    }
}

/// A session begins, or goes on with its memory gone: it is told what it should
/// know. The prompt of an attempt has told it at its beginning.
fn begin(
    world: &World,
    told: &Told,
    held: &Given,
    notes: &Notes,
) -> Result<Option<Value>, Failure> {
    let name = told.session();
    let source = told.source();
    if let Given::Attempt(attempt) = held {
        let Some(name) = &name else { return Ok(None) };
        let is_own = is_of(notes, *attempt, name)?;
        if source == "startup" || !is_own {
            return Ok(None);
        }
    }
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Ok(None);
    };
    let text = match held {
        Given::Attempt(attempt) => context::of_attempt(&session, *attempt)?,
        Given::Item(item) => Some(context::of_item(&session, item)?),
        Given::Nothing => context::of_project(&session)?,
        Given::Unknown => None,
    };
    drop(session);
    if !held.is_watched() && source != "compact" {
        if let Some(name) = &name {
            let begun = notes.begin(name, world.now());
            begun.map_err(|error| unkept(&error))?;
        }
        let entry = Entry::bare(EntryType::SessionStarted).saying(
            "description",
            format!("An agent's session began ({source})"),
        );
        log_entry(world, entry, name, held)?;
    }
    Ok(text.map(|text| context::answer(&text)))
}

/// A tool was called in a session that piton did not start.
fn called(world: &World, told: &Told, held: &Given) -> Result<(), Failure> {
    let Some(mut call) = told.call(&world.redactor()) else {
        return Ok(());
    };
    call.at = Some(world.now());
    let Some(session) = Session::write(world, &world.cwd)? else {
        return Ok(());
    };
    session.tell(&Command::NoteCall(Box::new(NotedCall {
        session: told.session().unwrap_or_default(),
        item: held.item().map(str::to_owned),
        call,
    })))?;
    heard(project_sync::follow_calls(&session))
}

/// The agent wants to stop: it may, unless the item that this session holds is
/// not finished, and then it is told so twice at most.
fn stop(world: &World, told: &Told, held: &Given, notes: &Notes) -> Result<Option<Value>, Failure> {
    let Some(name) = told.session().filter(|_| !told.is_sub_agent()) else {
        return Ok(None);
    };
    if matches!(held, Given::Nothing | Given::Unknown) {
        return Ok(None);
    }
    if let Given::Attempt(attempt) = held
        && !is_of(notes, *attempt, &name)?
    {
        return Ok(None);
    }
    let Some(session) = Session::read(world, &world.cwd)? else {
        return Ok(None);
    };
    let missing = match held {
        Given::Attempt(attempt) => finish::of_attempt(&session, *attempt, told.last_words())?,
        Given::Item(item) => finish::of_item(&session, item, notes.since(&name))?,
        Given::Nothing | Given::Unknown => None,
    };
    let Some(missing) = missing else {
        return Ok(None);
    };
    let may = notes
        .may_keep(&name, &missing.key)
        .map_err(|error| unkept(&error))?;
    Ok(may.then(|| json!({ "decision": "block", "reason": missing.reason })))
}

/// A session of a person ends.
fn end(world: &World, told: &Told, held: &Given, notes: &Notes) -> Result<(), Failure> {
    if held.is_watched() {
        return Ok(());
    }
    let name = told.session();
    let reason = told.reason();
    let why = if reason.is_empty() {
        String::new()
    } else {
        format!(" ({reason})")
    };
    let mut entry = Entry::bare(EntryType::SessionEnded)
        .saying("description", format!("An agent's session ended{why}"));
    if let Some(since) = name.as_deref().and_then(|name| notes.since(name)) {
        let seconds = world.now().duration_since(since).as_secs().max(0);
        let data = &mut entry.data;
        data.insert("duration_minutes".to_owned(), (seconds / 60).into());
    }
    log_entry(world, entry, name, held)
}

fn log_entry(
    world: &World,
    mut entry: Entry,
    session: Option<String>,
    held: &Given,
) -> Result<(), Failure> {
    if let Some(session) = session {
        entry = entry.saying("session", session);
    }
    entry.task_id = held.item().map(str::to_owned);
    // What is said of native files is said again by the next command.
    log::log(world, entry, &mut |_| {}).map(drop)
}

fn is_of(notes: &Notes, attempt: AttemptId, session: &str) -> Result<bool, Failure> {
    let is_of = notes.is_of(attempt, session);
    is_of.map_err(|error| unkept(&error))
}

fn unkept(error: &std::io::Error) -> Failure {
    Failure::new(
        "file.unwritable",
        format!("what is kept of the session: {error}"),
    )
}

/// What came of bringing files up to date, as far as it is a fault.
fn heard(news: Vec<News>) -> Result<(), Failure> {
    let behind = news
        .into_iter()
        .find(|news| matches!(news, News::Behind(..)));
    match behind {
        Some(news) => Err(Failure::new("file.unwritable", news.to_string())),
        None => Ok(()),
    }
}
