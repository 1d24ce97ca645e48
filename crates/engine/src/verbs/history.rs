//! `piton log` without a type: what happened, a line each, as people say it.
//!
//! Nothing is recorded for it: the lines are read out of the journal. `piton journal
//! show` prints every event as it is stored.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use piton_core::event::{
    AttemptEvent, DecisionEvent, ItemEvent, MemoryEvent, RunEvent, SessionEvent,
};
use piton_core::id::{DecisionId, EventId};
use piton_core::journal::Record;
use piton_core::run::RunnerRequest;
use piton_core::{Actor, Event, ItemState, Need, Node, Outcome, RunId, Verb};
use piton_store::Cursor;
use serde::Serialize;

use super::journal::missing_store_failure;
use super::record::unknown_item::resolve_planned_item;
use crate::failure::Failure;
use crate::session::Session;
use crate::world::{World, pause};

/// So many lines are shown where nothing says which.
pub const SHOWN: usize = 20;

/// How many events are read at once.
const PAGE: usize = 1_000;

/// Where there is no other beginning, so many hours before now are looked at first, then
/// these, then everything.
const HOURS: [i64; 4] = [1, 24, 24 * 7, 24 * 60];

/// How often a log that is followed is looked at.
const FOLLOW_PAUSE: Duration = Duration::from_millis(500);

/// Which lines are wanted.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Those of this item and of what lies below it, `[RUN:]NODE`.
    pub item: Option<String>,
    /// Those from this time on.
    pub since: Option<Timestamp>,
    /// The last so many; all since that time where one is given, or else [`SHOWN`].
    pub last: Option<usize>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryLine {
    /// When.
    pub time: Timestamp,
    /// The id of its event.
    pub event: String,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// What happened, in words.
    pub what: String,
    /// Who did it: `person:NAME`, `runner:NAME`, `agent:NAME`, `file:PATH`.
    pub actor: String,
}

crate::name_schema!(HistoryLine, "piton.log/1");

/// Hands on what happened, the newest last, until `each` says that it is enough.
///
/// # Errors
///
/// When there is no such item, or a store that cannot be read.
pub fn show_history(
    world: &World,
    query: &HistoryQuery,
    each: &mut dyn FnMut(&HistoryLine) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let session = open_session(world)?;
    let mut reader = HistoryReader::new(&session, query)?;
    let lines = reader.last_lines(world.now())?;
    for line in &lines {
        if each(line).is_break() {
            break;
        }
    }
    Ok(())
}

/// The same, and then what happens from now on. Ends when `each` says so.
///
/// # Errors
///
/// As [`show_history`].
pub fn follow_history(
    world: &World,
    query: &HistoryQuery,
    each: &mut dyn FnMut(&HistoryLine) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let session = open_session(world)?;
    let mut reader = HistoryReader::new(&session, query)?;
    for line in reader.last_lines(world.now())? {
        if each(&line).is_break() {
            return Ok(());
        }
    }
    loop {
        let mut fresh = Vec::new();
        let end = read_after(&session, reader.end.clone(), &mut |record| {
            fresh.push(record.clone());
            Ok(())
        })?;
        reader.end = end;
        for record in &fresh {
            if let Some(line) = reader.line(record)?
                && each(&line).is_break()
            {
                return Ok(());
            }
        }
        pause(FOLLOW_PAUSE);
    }
}

fn open_session(world: &World) -> Result<Session<'_>, Failure> {
    Session::open_read_only(world, &world.cwd)?.ok_or_else(missing_store_failure)
}

/// Hands on every event behind one, in the order in which they were stored.
fn read_after(
    session: &Session<'_>,
    mut after: Option<Cursor>,
    each: &mut dyn FnMut(&Record) -> Result<(), Failure>,
) -> Result<Option<Cursor>, Failure> {
    loop {
        let page = session.store.read_journal(after.as_ref(), PAGE)?;
        let Some(last) = page.last() else {
            return Ok(after);
        };
        after = Some(Cursor::from(last));
        page.iter().try_for_each(&mut *each)?;
    }
}

/// What a line says of.
type Described = (Option<RunId>, Option<Node>, String);

/// Reads the journal and says what its events mean.
struct HistoryReader<'s> {
    session: &'s Session<'s>,
    /// The names of the runs.
    runs: BTreeMap<RunId, String>,
    item: Option<(RunId, Node)>,
    since: Option<Timestamp>,
    last: usize,
    /// The last event that was read.
    end: Option<Cursor>,
}

impl<'s> HistoryReader<'s> {
    fn new(session: &'s Session<'s>, query: &HistoryQuery) -> Result<Self, Failure> {
        let item = match &query.item {
            Some(text) => Some(resolve_planned_item(session, text)?),
            None => None,
        };
        let runs = session.runs()?.into_iter();
        let all_of_time = if query.since.is_some() {
            usize::MAX
        } else {
            SHOWN
        };
        Ok(Self {
            session,
            runs: runs.map(|run| (run.id, run.name)).collect(),
            item,
            since: query.since,
            last: query.last.unwrap_or(all_of_time),
            end: None,
        })
    }

    /// The last lines that are wanted.
    fn last_lines(&mut self, now: Timestamp) -> Result<VecDeque<HistoryLine>, Failure> {
        if let Some(since) = self.since {
            return self.lines_from(since);
        }
        for hours in HOURS {
            let start = now.checked_sub(SignedDuration::from_hours(hours));
            let lines = self.lines_from(start.unwrap_or(Timestamp::MIN))?;
            if lines.len() >= self.last {
                return Ok(lines);
            }
        }
        self.lines_from(Timestamp::MIN)
    }

    fn lines_from(&mut self, start: Timestamp) -> Result<VecDeque<HistoryLine>, Failure> {
        let after = self.session.store.find_event_before(start)?;
        let mut lines = VecDeque::new();
        self.end = read_after(self.session, after, &mut |record| {
            // Behind the first one there are events from before, where the clock was behind.
            if self.since.is_none_or(|since| record.stamp.time >= since) {
                lines.extend(self.line(record)?);
            }
            if lines.len() > self.last {
                lines.pop_front();
            }
            Ok(())
        })?;
        Ok(lines)
    }

    /// The line of an event, if it is wanted.
    fn line(&mut self, record: &Record) -> Result<Option<HistoryLine>, Failure> {
        // One of a newer piton is told by that one.
        let Ok(event) = record.decode_event() else {
            return Ok(None);
        };
        if let Event::Run(RunEvent::Planned(planned)) = &event {
            self.runs.insert(planned.run, planned.name.clone());
        }
        let Some((run, node, what)) = self.describe_event(&event, &record.stamp.actor)? else {
            return Ok(None);
        };
        let is_wanted = self.item.as_ref().is_none_or(|(of, below)| {
            run == Some(*of) && node.as_ref().is_some_and(|node| node.is_within(below))
        });
        let EventId(id) = record.stamp.id;
        Ok(is_wanted.then(|| HistoryLine {
            time: record.stamp.time,
            event: id.to_string(),
            run: run.map(|run| self.name_of_run(run)),
            item: node.map(|node| node.as_str().to_owned()),
            what,
            actor: record.stamp.actor.to_string(),
        }))
    }

    fn name_of_run(&self, run: RunId) -> String {
        let name = self.runs.get(&run).cloned();
        name.unwrap_or_else(|| run.to_string())
    }

    fn describe_event(&self, event: &Event, actor: &Actor) -> Result<Option<Described>, Failure> {
        Ok(match event {
            Event::Run(event) => {
                describe_run_event(event).map(|what| (Some(event.run()), None, what))
            }
            Event::Item(event) => describe_item_event(event),
            Event::Attempt(event) => describe_attempt_event(event),
            Event::Decision(event) => self.describe_decision(event)?,
            Event::Memory(event) => describe_memory_event(event).map(|what| (None, None, what)),
            // A runner logs what its attempts tell already.
            Event::Session(_) if matches!(actor, Actor::Runner(_)) => None,
            Event::Session(event) => describe_session_event(event).map(|what| (None, None, what)),
            Event::Unit(_) | Event::File(_) | Event::Notification(_) => None,
        })
    }

    /// What became of a question, which another event asked.
    fn describe_decision(&self, event: &DecisionEvent) -> Result<Option<Described>, Failure> {
        let (id, what) = match event {
            DecisionEvent::Opened {
                number,
                run,
                node,
                question,
                ..
            } => {
                let what = format!("d{number} is asked: {question}");
                // A question that belongs to no run has the run that is none.
                let run = self.runs.contains_key(run).then_some(*run);
                return Ok(Some((run, node.clone(), what)));
            }
            DecisionEvent::Revised { .. } => return Ok(None),
            DecisionEvent::Made {
                decision,
                verb: Verb::Settled,
                why,
                ..
            } => (*decision, with_reason("is settled", why.as_deref())),
            DecisionEvent::Made {
                decision,
                verb,
                why,
                ..
            } => {
                let what = format!("is decided: {verb}");
                (*decision, with_reason(&what, why.as_deref()))
            }
            DecisionEvent::Deferred {
                decision,
                until,
                why,
                ..
            } => {
                let what = format!("is put off until {until}");
                (*decision, with_reason(&what, why.as_deref()))
            }
        };
        self.describe_decided(id, &what)
    }

    fn describe_decided(&self, id: DecisionId, what: &str) -> Result<Option<Described>, Failure> {
        let rows = self.session.load(&[Need::Decision(id)])?;
        Ok(rows.tables.decision(id).map(|row| {
            let run = self.runs.contains_key(&row.run).then_some(row.run);
            (run, row.node.clone(), format!("d{} {what}", row.number))
        }))
    }
}

fn with_reason(what: &str, why: Option<&str>) -> String {
    match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("{what}: {why}"),
        None => what.to_owned(),
    }
}

fn describe_run_event(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::Planned(planned) => format!("planned from {}", planned.source),
        RunEvent::Started { .. } => "started".to_owned(),
        RunEvent::Moved { to, reason, .. } => with_reason(to.as_str(), reason.as_deref()),
        RunEvent::Asked { request, by, .. } => match request {
            RunnerRequest::Pause => format!("{by} asks it to pause"),
            RunnerRequest::Stop => format!("{by} asks it to stop"),
            RunnerRequest::GoOn => format!("{by} asks it to go on"),
        },
        RunEvent::Landed { commit, onto, .. } => {
            let short: String = commit.chars().take(10).collect();
            format!("landed on {onto} as {short}")
        }
        RunEvent::LeaseLost { owner, .. } => format!("lost its runner, {owner}"),
        RunEvent::LeaseTaken { .. }
        | RunEvent::LeaseReleased { .. }
        | RunEvent::Targeted { .. }
        | RunEvent::LanesEntered { .. }
        | RunEvent::LandStarted { .. }
        | RunEvent::Changed(_) => return None,
    })
}

fn describe_item_event(event: &ItemEvent) -> Option<Described> {
    let (run, node, what) = match event {
        ItemEvent::Moved(moved) => {
            let human = moved.human.as_ref().map(|human| human.reason.as_str());
            let why = moved.error.as_deref().or(human);
            let what = match moved.to {
                // These are told by the attempt that begins, and by the one before it.
                ItemState::Pending | ItemState::Ready | ItemState::Working => return None,
                ItemState::Waiting => with_reason("waits for a person", why),
                ItemState::Done
                | ItemState::Failed
                | ItemState::Skipped
                | ItemState::Blocked
                | ItemState::Dropped => with_reason(moved.to.as_str(), why),
            };
            (moved.run, &moved.node, what)
        }
        ItemEvent::GateEnded {
            run, node, report, ..
        } if !report.interrupted => {
            let what = match report.passed {
                true => "its check passed".to_owned(),
                false => with_reason("its check failed", report.error.as_deref()),
            };
            (*run, node, what)
        }
        ItemEvent::CommitEnded {
            run,
            node,
            commit: Some(commit),
            ..
        } => {
            let short: String = commit.chars().take(10).collect();
            (*run, node, format!("committed as {short}"))
        }
        ItemEvent::Reviewed {
            run,
            node,
            by,
            verdict,
            why,
            ..
        } => {
            let verdict = verdict.map_or("no verdict", |verdict| verdict.as_str());
            let what = with_reason(&format!("reviewed by {by}: {verdict}"), why.as_deref());
            (*run, node, what)
        }
        ItemEvent::SkipAsked { run, node } => (*run, node, "is to be skipped".to_owned()),
        ItemEvent::Planned(_)
        | ItemEvent::Claimed { .. }
        | ItemEvent::GateStarted { .. }
        | ItemEvent::GateEnded { .. }
        | ItemEvent::CommitStarted { .. }
        | ItemEvent::CommitEnded { .. }
        | ItemEvent::Staged { .. }
        | ItemEvent::Changed(_)
        | ItemEvent::Placed(_) => return None,
    };
    Some((Some(run), Some(node.clone()), what))
}

fn describe_attempt_event(event: &AttemptEvent) -> Option<Described> {
    let (run, node, what) = match event {
        AttemptEvent::Started {
            run,
            node,
            number,
            agent,
            ..
        } => (*run, node, format!("attempt {number} begins, by {agent}")),
        AttemptEvent::Ended {
            run, node, report, ..
        } => {
            let said = report.error.as_deref().or(report.summary.as_deref());
            let what = match report.outcome {
                Outcome::Completed => "its agent says that it is done",
                outcome @ (Outcome::Failed
                | Outcome::Blocked
                | Outcome::Partial
                | Outcome::NeedsHuman
                | Outcome::Interrupted) => outcome.as_str(),
            };
            (*run, node, with_reason(what, said))
        }
        AttemptEvent::Judged {
            run,
            node,
            outcome,
            error,
            ..
        } => {
            let what = format!("the attempt counts as {}", outcome.as_str());
            (*run, node, with_reason(&what, error.as_deref()))
        }
        AttemptEvent::Reported(told) | AttemptEvent::Revised(told) => {
            let report = &told.report;
            let said = report.error.as_deref().or(report.summary.as_deref());
            let what = format!("recorded: {}", report.outcome.as_str());
            (told.run, &told.node, with_reason(&what, said))
        }
        AttemptEvent::Answered { .. } => return None,
    };
    Some((Some(run), Some(node.clone()), what))
}

fn describe_memory_event(event: &MemoryEvent) -> Option<String> {
    Some(match event {
        MemoryEvent::Added(memory) => {
            let id = memory.id.as_deref().unwrap_or_default();
            format!("{} {id} is learned: {}", memory.kind, memory.content)
        }
        MemoryEvent::Retired { id, why, .. } => {
            with_reason(&format!("{id} is retired"), why.as_deref())
        }
        MemoryEvent::Confirmed { id, .. } => format!("{id} is confirmed"),
        MemoryEvent::Revised(_)
        | MemoryEvent::Endorsed { .. }
        | MemoryEvent::Reworded { .. }
        | MemoryEvent::Used { .. }
        | MemoryEvent::Judged { .. } => return None,
    })
}

fn describe_session_event(event: &SessionEvent) -> Option<String> {
    Some(match event {
        SessionEvent::EntryLogged(entry) => {
            let of = [entry.spec.as_deref(), entry.task_id.as_deref()];
            let of: Vec<&str> = of.into_iter().flatten().collect();
            let of = match of.is_empty() {
                true => String::new(),
                false => format!(" [{}]", of.join(" ")),
            };
            format!("{}{of}: {}", entry.type_name(), entry.one_line_title())
        }
        SessionEvent::BlockerResolved {
            task_id,
            resolution,
            ..
        } => {
            let task = task_id.as_deref().unwrap_or("a blocker");
            format!("{task} is blocked no more: {resolution}")
        }
        SessionEvent::EntryRevised { .. } | SessionEvent::CallNoted(_) => return None,
    })
}
