//! Two threads look after one child.
//!
//! The *waiter* blocks in the kernel until the main process ends, so that no
//! time is lost between that and the event; it then ends what is left and says
//! so. The *follower* looks at the output and the clock, and sends the signals.
//! Only these two threads call the events, and the waiter last.
//!
//! The main process stays unreaped until the state says that it has ended, and
//! both happen under one lock: as long as the state says that it runs, its
//! number and that of its group belong to no other process.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use std::os::unix::process::ExitStatusExt as _;

use rustix::io::Errno;
use rustix::process::{
    Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process, test_kill_process_group,
    waitid,
};

use super::child::{ProcessEvent, ProcessExit, ProcessLimits, StartError, StopReason, now};
use super::identity::ProcessIdentity;
use super::orphans;
use super::table::{self, ProcessRow, SignalOutcome};

/// What a child that ended by itself may take to end its background work.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// How long SIGKILL is repeated before a process counts as one that cannot be ended.
const KILL_PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at the output: while it grows, and at most.
const LOOK_MIN: Duration = Duration::from_millis(1);
const LOOK_MAX: Duration = Duration::from_millis(50);
/// Between two looks for orphans that have ended.
const REAP_EVERY: Duration = Duration::from_secs(1);

pub(super) type Events = Box<dyn FnMut(ProcessEvent) + Send>;

/// What happens to what the main process leaves running.
#[derive(Debug)]
pub(super) enum Leftovers {
    /// It is ended: all of the group, and all that carries this mark.
    End(String),
    /// It stays, unless the main process was stopped; then the group is ended.
    Leave,
}

/// How a child is to be looked after.
pub(super) struct WatchSpec {
    pub(super) limits: ProcessLimits,
    pub(super) leftovers: Leftovers,
    pub(super) output: File,
    pub(super) events: Events,
}

/// What the caller may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StopRequest {
    Nothing,
    Terminate,
    Kill,
}

/// What both threads know of a child.
pub(super) struct Watch {
    group: u32,
    limits: ProcessLimits,
    leftovers: Leftovers,
    output: File,
    started: Instant,
    state: Mutex<WatchState>,
    changed: Condvar,
    /// Locked before `state`, where both are. Gone after the last event.
    events: Mutex<Option<Events>>,
}

struct WatchState {
    running: bool,
    ask: StopRequest,
    stop: Option<WatchStop>,
    /// Found outside of the group when the stop began, while parents still
    /// told whose children they are.
    strays: Vec<ProcessRow>,
}

#[derive(Clone, Copy)]
struct WatchStop {
    why: StopReason,
    kill_at: Instant,
    killed: bool,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

/// A child that was started. Dropping it changes nothing for the child.
#[derive(Clone, Debug)]
pub struct RunningProcess {
    id: ProcessIdentity,
    watch: Arc<Watch>,
}

impl RunningProcess {
    /// What the child can be found by, also after a crash of this process.
    pub fn id(&self) -> &ProcessIdentity {
        &self.id
    }

    /// Asks the child and all it started to end, and ends them after
    /// [`ProcessLimits::grace`]. Does not wait. Nothing happens when it is over.
    pub fn terminate(&self) {
        self.watch.request_stop(StopRequest::Terminate);
    }

    /// Ends the child and all it started at once. Does not wait.
    pub fn kill(&self) {
        self.watch.request_stop(StopRequest::Kill);
    }
}

/// Starts the command, which must lead a group of its own, and its two threads.
pub(super) fn spawn_watched(
    mut command: Command,
    order: WatchSpec,
) -> Result<RunningProcess, StartError> {
    let program = command.get_program().to_owned();
    let mark = match &order.leftovers {
        Leftovers::End(mark) => Some(mark.as_str()),
        Leftovers::Leave => None,
    };
    let started = now();
    let (child, row) =
        orphans::spawn_child(&mut command, mark).map_err(|source| StartError::Program {
            program: program.clone(),
            source,
        })?;
    let id = ProcessIdentity::from_row(&row);
    let watch = Arc::new(Watch {
        group: row.pid,
        limits: order.limits,
        leftovers: order.leftovers,
        output: order.output,
        started,
        state: Mutex::new(WatchState {
            running: true,
            ask: StopRequest::Nothing,
            stop: None,
            strays: Vec::new(),
        }),
        changed: Condvar::new(),
        events: Mutex::new(Some(order.events)),
    });
    let (follower, waiter) = (Arc::clone(&watch), Arc::clone(&watch));
    // The child is shared until it is known that the waiter exists: without one
    // it has to be ended here.
    let child = Arc::new(Mutex::new(child));
    let waited = Arc::clone(&child);
    thread::Builder::new()
        .name("piton-wait".into())
        .spawn(move || waiter.wait_for_child(&mut lock(&waited)))
        .and_then(|_| {
            thread::Builder::new()
                .name("piton-follow".into())
                .spawn(move || follower.follow_child())
        })
        .map_err(|source| {
            watch.abandon(&child);
            StartError::Program { program, source }
        })?;
    Ok(RunningProcess { id, watch })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here is left half-changed by a panic of the caller's events.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    pub(super) fn request_stop(&self, ask: StopRequest) {
        let mut state = lock(&self.state);
        state.ask = state.ask.max(ask);
        drop(state);
        self.changed.notify_all();
    }

    /// Ends a child that cannot be looked after for want of a thread.
    fn abandon(&self, child: &Mutex<Child>) {
        lock(&self.events).take();
        {
            let mut state = lock(&self.state);
            state.ask = StopRequest::Kill;
            if state.running {
                self.signal_group(Signal::KILL);
            }
        }
        // The waiter may exist after all; then it waits, and this finds it done.
        let mut child = lock(child);
        if lock(&self.state).running {
            self.wait_for_child(&mut child);
        }
    }

    // The follower

    fn follow_child(&self) {
        let mut bytes = 0;
        let mut changed_at = self.started;
        let mut reaped_at = self.started;
        let mut pause = LOOK_MIN;
        loop {
            let at = now();
            let size = self.output_bytes();
            if size == bytes {
                pause = (pause * 2).min(LOOK_MAX);
            } else {
                bytes = size;
                changed_at = at;
                pause = LOOK_MIN;
                self.emit_event(ProcessEvent::OutputGrew { bytes });
            }
            let Some(due) = self.enforce_limits(at, bytes, changed_at) else {
                return;
            };
            if at.duration_since(reaped_at) >= REAP_EVERY {
                reaped_at = at;
                orphans::reap_orphans();
            }
            let state = lock(&self.state);
            // Looked at again under the lock: a request made since would be
            // slept through.
            if state.running && !state.has_new_request() {
                let wait = due.map_or(pause, |due| due.saturating_duration_since(at).min(pause));
                drop(
                    self.changed
                        .wait_timeout(state, wait.max(LOOK_MIN))
                        .unwrap_or_else(PoisonError::into_inner),
                );
            }
        }
    }

    /// Stops the child if there is a reason to. Gives the next time at which
    /// there may be one, or nothing when it has ended.
    fn enforce_limits(
        &self,
        at: Instant,
        bytes: u64,
        changed_at: Instant,
    ) -> Option<Option<Instant>> {
        let state = lock(&self.state);
        if !state.running {
            return None;
        }
        if let Some(stop) = state.stop {
            let kill = state.ask == StopRequest::Kill
                || at >= stop.kill_at
                || self.is_runaway(stop, bytes);
            drop(state);
            if kill && !stop.killed {
                self.stop_child(stop.why, Signal::KILL);
            }
            return Some((!stop.killed).then_some(stop.kill_at));
        }
        let wall_at = self
            .limits
            .wall
            .and_then(|wall| self.started.checked_add(wall));
        let idle_at = self
            .limits
            .idle
            .and_then(|idle| changed_at.checked_add(idle));
        let is_due = |due: Option<Instant>| due.is_some_and(|due| at >= due);
        let why = if state.ask > StopRequest::Nothing {
            StopReason::Asked
        } else if self.limits.output_bytes_max.is_some_and(|max| bytes > max) {
            StopReason::Flood
        } else if is_due(wall_at) {
            StopReason::Wall
        } else if is_due(idle_at) {
            StopReason::Idle
        } else {
            return Some([wall_at, idle_at].into_iter().flatten().min());
        };
        let signal = if state.ask == StopRequest::Kill || self.limits.grace.is_zero() {
            Signal::KILL
        } else {
            Signal::TERM
        };
        drop(state);
        self.stop_child(why, signal);
        Some(Some(at))
    }

    /// Whether a child that was stopped for its output goes on regardless.
    fn is_runaway(&self, stop: WatchStop, bytes: u64) -> bool {
        let max = self.limits.output_bytes_max.unwrap_or(u64::MAX);
        stop.why == StopReason::Flood && bytes > max.saturating_add(max / 8)
    }

    fn stop_child(&self, why: StopReason, signal: Signal) {
        // Before the signal: afterwards no process can be found by its parent any more.
        let strays = self.strays_while_running();
        let mut events = lock(&self.events);
        let mut state = lock(&self.state);
        if !state.running {
            return;
        }
        let first = state.stop.is_none();
        let at = now();
        state.stop = Some(WatchStop {
            why,
            kill_at: at.checked_add(self.limits.grace).unwrap_or(at),
            killed: signal == Signal::KILL,
        });
        self.signal_group(signal);
        for stray in &strays {
            send_and_continue(stray, signal);
        }
        for stray in strays {
            if !state.strays.contains(&stray) {
                state.strays.push(stray);
            }
        }
        drop(state);
        if let Some(events) = events.as_mut().filter(|_| first) {
            events(ProcessEvent::Stopping { why });
        }
    }

    /// What the child started outside of its group, while it still runs.
    fn strays_while_running(&self) -> Vec<ProcessRow> {
        let Leftovers::End(mark) = &self.leftovers else {
            return Vec::new();
        };
        let rows = table::list_processes();
        let mut family: HashSet<u32> = HashSet::from([self.group]);
        // A child is not always listed after its parent.
        loop {
            let before = family.len();
            let children = rows.iter().filter(|row| family.contains(&row.parent));
            let children: Vec<u32> = children.map(|row| row.pid).collect();
            family.extend(children);
            if family.len() == before {
                break;
            }
        }
        let marked = orphans::find_strays(mark);
        rows.into_iter()
            .filter(|row| family.contains(&row.pid))
            .chain(marked)
            .filter(|row| row.group != self.group && !row.zombie)
            .collect()
    }

    /// Only while the state says that the main process runs, or after looking
    /// whose the group is.
    fn signal_group(&self, signal: Signal) {
        if let Some(group) = table::to_pid(self.group) {
            // Gone already, or a program of another user, which the sweep reports.
            kill_process_group(group, signal).ok();
            if signal == Signal::TERM {
                // A process that is suspended does not see the first one.
                kill_process_group(group, Signal::CONT).ok();
            }
        }
    }

    fn output_bytes(&self) -> u64 {
        self.output.metadata().map_or(0, |found| found.len())
    }

    fn emit_event(&self, event: ProcessEvent) {
        if let Some(events) = lock(&self.events).as_mut() {
            events(event);
        }
    }

    // The waiter

    fn wait_for_child(&self, child: &mut Child) {
        if let Some(pid) = table::to_pid(child.id()) {
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(Errno::INTR) = waitid(WaitId::Pid(pid), look) {}
        }
        let (status, stop) = {
            let mut state = lock(&self.state);
            state.running = false;
            (orphans::reap_child(child).ok(), state.stop)
        };
        self.changed.notify_all();
        let left = match &self.leftovers {
            Leftovers::Leave if stop.is_none() => Vec::new(),
            Leftovers::Leave | Leftovers::End(_) => self.end_leftovers(stop),
        };
        if let Leftovers::End(mark) = &self.leftovers {
            orphans::forget_mark(mark);
        }
        let exit = ProcessExit {
            code: status.and_then(|status| status.code()),
            signal: status.as_ref().and_then(ExitStatus::signal),
            stopped_by: stop.map(|stop| stop.why),
            output_bytes: self.output_bytes(),
            duration: now().duration_since(self.started),
            left,
        };
        let events = lock(&self.events).take();
        if let Some(mut events) = events {
            events(ProcessEvent::Exited(exit));
        }
    }

    /// Ends what the main process left running. Gives what cannot be ended.
    fn end_leftovers(&self, stop: Option<WatchStop>) -> Vec<ProcessIdentity> {
        let mut told: HashSet<(u32, u64)> = HashSet::new();
        let mut kill_at = stop.map(|stop| stop.kill_at);
        let mut give_up_at = None;
        let mut pause = LOOK_MIN;
        loop {
            let rest = self.remaining_processes();
            if rest.is_empty() {
                return Vec::new();
            }
            let at = now();
            let grace = LEFTOVER_GRACE.min(self.limits.grace);
            let kill_at = *kill_at.get_or_insert(at + grace);
            let killing = at >= kill_at
                || stop.is_some_and(|stop| stop.killed)
                || lock(&self.state).ask == StopRequest::Kill;
            let mut refused = 0;
            if killing {
                if at >= *give_up_at.get_or_insert(at + KILL_PATIENCE) {
                    return rest.iter().map(ProcessIdentity::from_row).collect();
                }
                if rest.iter().any(|row| row.group == self.group) {
                    // All at once, or one that forks could outrun this.
                    self.signal_group(Signal::KILL);
                }
            }
            for row in &rest {
                let sent = match killing {
                    true => send_and_continue(row, Signal::KILL),
                    false if told.insert((row.pid, row.start)) => {
                        send_and_continue(row, Signal::TERM)
                    }
                    false => SignalOutcome::Yes,
                };
                refused += usize::from(sent == SignalOutcome::Refused);
            }
            if killing && refused == rest.len() {
                return rest.iter().map(ProcessIdentity::from_row).collect();
            }
            let state = lock(&self.state);
            drop(
                self.changed
                    .wait_timeout(state, pause)
                    .unwrap_or_else(PoisonError::into_inner),
            );
            pause = (pause * 2).min(LOOK_MAX / 2);
        }
    }

    /// What still runs after the main process has been waited for.
    fn remaining_processes(&self) -> Vec<ProcessRow> {
        orphans::reap_group(self.group);
        let mut rest = self.remaining_in_group();
        if let Leftovers::End(mark) = &self.leftovers {
            rest.extend(orphans::find_strays(mark));
        }
        for stray in &lock(&self.state).strays {
            let found = table::find_process(stray.pid);
            rest.extend(found.filter(|row| row.start == stray.start && !row.zombie));
        }
        rest.sort_unstable_by_key(|row| row.pid);
        rest.dedup_by_key(|row| row.pid);
        rest
    }

    fn remaining_in_group(&self) -> Vec<ProcessRow> {
        let Some(group) = table::to_pid(self.group) else {
            return Vec::new();
        };
        // A number is not given out again while a group has it. So if there is
        // a process with the number, the group was empty once, and this one is
        // not of the attempt.
        let is = |found: rustix::io::Result<()>| !matches!(found, Err(Errno::SRCH));
        if !is(test_kill_process_group(group)) || is(test_kill_process(group)) {
            return Vec::new();
        }
        // One that has ended and whose parent does not wait for it still counts
        // for the kernel, but not here.
        let mut rows = table::list_processes();
        rows.retain(|row| row.group == self.group && !row.zombie);
        rows
    }
}

impl WatchState {
    /// Whether a request has not been acted on.
    fn has_new_request(&self) -> bool {
        match self.stop {
            None => self.ask > StopRequest::Nothing,
            Some(stop) => self.ask == StopRequest::Kill && !stop.killed,
        }
    }
}

fn send_and_continue(row: &ProcessRow, signal: Signal) -> SignalOutcome {
    let sent = table::send_signal(row, signal);
    if signal == Signal::TERM && sent == SignalOutcome::Yes {
        table::send_signal(row, Signal::CONT);
    }
    sent
}
