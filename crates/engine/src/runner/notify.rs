//! Notifies a person: the command of `[notify]` is started for each thing that is due.
//!
//! The process that holds the lock sends, so that one process of a project does at a
//! time, and what a dead one started is known by that. Each notification is started in
//! the journal before its command is, and ended after. `piton_core::notification` says
//! what is due; why it is so: `docs/design/0032-notify.md`.
//!
//! Nothing here fails whatever it is called beside: what cannot be sent stays due.

mod message;

use piton_core::event::DecisionEvent;
use std::fs::File;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use piton_core::notification::{DueNotification, NotificationSubject, due_notifications};
use piton_core::trust::{ExecutablePart, PartKind};
use piton_core::{Actor, CallerFacts, Command, Event, HolderLiveness, Need};

use self::message::NotificationMessage;
use crate::config::NotifyConfig;
use crate::config::trust::TrustCheck;
use crate::failpoint;
use crate::failure::notice::Notice;
use crate::failure::{Failure, unwritable_file};
use crate::process::Trusted;
use crate::process::{self, CallOutput, ScriptCall, StopHandle, StopReason};
use crate::project::Project;
use crate::project::inside::{create_own_folder, open_own_file};
use crate::runner::run_facts::owner_name;
use crate::runner::signals::SignalListener;
use crate::session::Session;
use crate::verbs::open_questions::open_questions;
use crate::world::{self, World};

/// With less than this part of the time that a command may take, none is started any
/// more.
const LEAST_PART: u32 = 6;
/// How often it is looked for what others asked.
const LOOK_PAUSE: Duration = Duration::from_secs(10);
/// How often a lock is asked for that a process which has just died may still hold.
const LOCK_LOOKS: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Between asking what a dead process left of a command to end and ending it.
const GRACE: Duration = Duration::from_secs(1);
/// Where the command stands.
const CONFIG: &str = ".piton/config.toml";
/// Most characters that are kept of what a failed command printed.
const PRINTED_MAX: usize = 200;

/// Has the sender look at once for what may be due.
pub(crate) struct SenderWaker(Option<Sender<()>>);

impl SenderWaker {
    /// Has it look where this may be something that a person should know.
    pub(crate) fn wake_if_news(&self, notice: &Notice<'_>) {
        let is_news = matches!(
            notice,
            Notice::Event(recorded, _)
                if matches!(recorded.event, Event::Decision(DecisionEvent::Opened { .. } | DecisionEvent::Revised { .. }))
        );
        if let Some(sender) = self.0.as_ref().filter(|_| is_news) {
            // One that has ended early looks no more.
            sender.send(()).ok();
        }
    }
}

/// Of what is notified, with which command, and whether that is trusted.
#[derive(Clone, Copy)]
pub(crate) struct Notifying<'a> {
    pub(crate) project: &'a Project,
    pub(crate) config: &'a NotifyConfig,
    pub(crate) trust: &'a TrustCheck,
}

/// Does `work`, and sends beside it what is due; at the end, what is due then.
pub(crate) fn run_with_notifications<T>(
    world: &World,
    notifying: Notifying<'_>,
    work: impl FnOnce(&SenderWaker) -> T,
) -> T {
    let config = notifying.config;
    if config.command().is_none() {
        return work(&SenderWaker(None));
    }
    let (sender, nudges) = mpsc::channel();
    let (stop, deadline) = (StopHandle::default(), OnceLock::new());
    let until = SendLimits {
        deadline: &deadline,
        stop: &stop,
    };
    std::thread::scope(|scope| {
        scope.spawn(move || send_until_disconnected(world, notifying, &nudges, until));
        let nudge = SenderWaker(Some(sender));
        let result = work(&nudge);
        deadline.get_or_init(|| world.uptime() + config.timeout());
        drop(nudge);
        // From now on a signal ends the wait for the command, and nothing else.
        let on_signal = stop.clone();
        let heard = move |_: &'static str| {
            on_signal.request_stop(true);
            true
        };
        // Without it the wait is as long as it is.
        (result, SignalListener::listen(heard).ok())
    })
    .0
}

/// Sends what is due until the nudges end, and then what is due at the end.
fn send_until_disconnected(
    world: &World,
    notifying: Notifying<'_>,
    nudges: &Receiver<()>,
    until: SendLimits<'_>,
) {
    let send = || {
        // The first run of a project makes its store.
        if let Ok(Some(session)) = Session::open_writable(world, &notifying.project.root) {
            let session = &session;
            NotificationSender {
                session,
                config: notifying.config,
                trust: notifying.trust,
                until,
            }
            .send_due();
        }
    };
    loop {
        send();
        match nudges.recv_timeout(LOOK_PAUSE) {
            Ok(()) => while nudges.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    send();
}

/// Sends what is due, and waits for it.
pub(crate) fn send_due(session: &Session<'_>, config: &NotifyConfig, trust: &TrustCheck) {
    let deadline = OnceLock::from(session.world.uptime() + config.timeout());
    let until = SendLimits {
        deadline: &deadline,
        stop: &StopHandle::default(),
    };
    NotificationSender {
        session,
        config,
        trust,
        until,
    }
    .send_due();
}

/// What ends the sending.
#[derive(Clone, Copy)]
struct SendLimits<'a> {
    /// When, by the time that the process is at work; once that is known.
    deadline: &'a OnceLock<Duration>,
    /// Stopped by a signal: the person does not want to wait for it.
    stop: &'a StopHandle,
}

/// What is needed to send.
struct NotificationSender<'a> {
    session: &'a Session<'a>,
    config: &'a NotifyConfig,
    trust: &'a TrustCheck,
    until: SendLimits<'a>,
}

/// Whether there is a point in sending more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SendFlow {
    GoOn,
    End,
}

impl NotificationSender<'_> {
    fn send_due(&self) {
        let command = self.config.command();
        let part = command.map(|text| ExecutablePart::new(PartKind::Notify, CONFIG, text));
        // One that is not trusted is asked about when a run begins.
        if let Some(Ok(command)) = part.map(|part| self.trust.admit_script(part))
            && let Err(failure) = self.send_all(&command)
        {
            tracing::warn!(%failure, "cannot notify");
        }
    }

    fn send_all(&self, command: &Trusted<String>) -> Result<(), Failure> {
        // A process that found the lock held leaves its notifications to the holder. So
        // the holder looks once more when the lock is free.
        while self.next_due()?.is_some() {
            let Some(_lock) = self.acquire_lock()? else {
                return Ok(());
            };
            while let Some(due) = self.next_due()? {
                if self.send_notification(command, &due)? == SendFlow::End {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The lock of the sending process; none where a living one holds it. A file without
    /// content: no caller needs to know its holder.
    fn acquire_lock(&self) -> Result<Option<File>, Failure> {
        let path = self.session.project.home.join("locks").join("notifying");
        let fault = |error| unwritable_file(&path, error);
        if let Some(folder) = path.parent() {
            create_own_folder(folder).map_err(fault)?;
        }
        let file = open_own_file(&path, File::options().create(true).append(true));
        let file = file.map_err(fault)?;
        for _ in 0..LOCK_LOOKS {
            if file.try_lock().is_ok() {
                return Ok(Some(file));
            }
            world::pause(LOCK_PAUSE);
        }
        Ok(None)
    }

    fn next_due(&self) -> Result<Option<DueNotification>, Failure> {
        let needs = [Need::Runs, Need::OpenDecisions(None)];
        let rows = self.session.load(&needs)?;
        let due = due_notifications(&rows.tables, &self.config.on);
        if due.is_empty() {
            return Ok(None);
        }
        // A question of a run that another run replaced waits for no person, and is not
        // among the open ones.
        let asked = open_questions(self.session, &self.session.runs()?)?;
        let mut due = due.into_iter();
        Ok(due.find(|due| match &due.subject {
            NotificationSubject::Decision { id, .. } => asked.iter().any(|row| row.id == *id),
            NotificationSubject::Invocation { .. } => true,
        }))
    }

    /// How long the next command may take; none where it is too late for one.
    fn time_left(&self) -> Option<Duration> {
        let (at, most) = (self.session.world.uptime(), self.config.timeout());
        let deadline = self.until.deadline.get();
        let left = deadline.map_or(most, |end| end.saturating_sub(at));
        Some(left).filter(|left| *left >= most / LEAST_PART)
    }

    fn send_notification(
        &self,
        command: &Trusted<String>,
        due: &DueNotification,
    ) -> Result<SendFlow, Failure> {
        let Some(time) = self.time_left() else {
            return Ok(SendFlow::End);
        };
        let mark = process::own_mark(&format!("notify-{}", due.subject.id()));
        if due.again {
            // What the dead process started would say the same beside.
            process::end_survivors(std::slice::from_ref(&mark), &[], GRACE);
        }
        failpoint::point("notify.before-start");
        let started = self.commit(&Command::StartNotification(due.subject.clone()))?;
        if !started {
            // It was answered until now.
            return Ok(SendFlow::GoOn);
        }
        failpoint::point("notify.started");
        let message = NotificationMessage::from_due(self.session, due)?.to_json();
        let output = process::run_script(&ScriptCall {
            script: command,
            cwd: &self.session.project.root,
            input: message.as_bytes(),
            env: &[],
            mark: Some(&mark),
            stop: Some(self.until.stop),
            timeout: time,
        });
        failpoint::point("notify.sent");
        let error = match &output {
            // The person does not want to wait: as if this process had died.
            Ok(output) if output.exit.stopped_by == Some(StopReason::Asked) => {
                return Ok(SendFlow::End);
            }
            Ok(output) => self.describe_failure(output, time),
            Err(error) => Some(format!("could not start: {error}")),
        };
        let subject = due.subject.clone();
        self.commit(&Command::EndNotification { subject, error })?;
        failpoint::point("notify.ended");
        Ok(SendFlow::GoOn)
    }

    /// Carries out a command; whether anything came of it.
    fn commit(&self, command: &Command) -> Result<bool, Failure> {
        let facts = CallerFacts {
            actor: Actor::Runner(owner_name()),
            ..self.session.facts_of_caller(HolderLiveness::Nothing)
        };
        Ok(!self.session.commit(command, &facts)?.events.is_empty())
    }

    /// Why a command failed, with the last that it said; none where it did not.
    fn describe_failure(&self, output: &CallOutput, time: Duration) -> Option<String> {
        let how = output
            .exit
            .describe_failure(&format!("{} s", time.as_secs()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let redactor = self.session.world.redactor();
        let said = redactor.redact(&said);
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        Some(match last {
            Some(last) => {
                let last: String = last.trim().chars().take(PRINTED_MAX).collect();
                format!("{how}: {last}")
            }
            None => how,
        })
    }
}
