//! From the answer of a decision to what is stored: records, heads, rows.
//!
//! Pure; the stores differ only in where they put the result.

use piton_core::event::RunEvent;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use piton_core::checkout::Checkout;
use piton_core::id::{RunId, StreamId};
use piton_core::journal::{
    CLOCK_JUMP, DecodedRecord, Draft, EventStamp, GENESIS, Record, WriteRequest, redact_and_encode,
};
use piton_core::redact::Redactor;
use piton_core::{Actor, Event};

use crate::clock::{Clock, truncate_to_micros};
use crate::store::{ClockJump, StreamHead};

/// For how long a lease holds when it is taken, in seconds. A holder says well
/// before its end, by a heartbeat, that it still lives.
pub const LEASE_TTL_S: u64 = 30;

/// The heads of the streams that a commit locks.
pub(crate) type Heads = BTreeMap<StreamId, StreamHead>;

/// What a commit is made of, beside the drafts.
pub(crate) struct Sealer<'s> {
    pub(crate) clock: &'s dyn Clock,
    pub(crate) redactor: &'s Redactor,
    pub(crate) request: WriteRequest,
    pub(crate) actor: &'s Actor,
    pub(crate) checkout: Option<&'s Checkout>,
}

/// When a commit happens.
pub(crate) struct CommitTime {
    /// That of its events.
    pub(crate) time: Timestamp,
    /// A stream that it may append to has an event from the future.
    pub(crate) jump: Option<ClockJump>,
}

/// The time of a commit: that of the clock, but not behind the last event of a stream that
/// it may append to. An event from beyond [`CLOCK_JUMP`] holds up no later one.
pub(crate) fn commit_time(clock: &dyn Clock, heads: &Heads) -> CommitTime {
    let clock = truncate_to_micros(clock.now());
    let is_ahead = |time: &Timestamp| time.duration_since(clock) > CLOCK_JUMP;
    let (ahead, near): (Vec<_>, Vec<_>) = heads.values().map(|head| head.time).partition(is_ahead);
    let jump = ahead.into_iter().max();
    CommitTime {
        time: near.into_iter().fold(clock, Timestamp::max),
        jump: jump.map(|event| ClockJump { event, clock }),
    }
}

impl Sealer<'_> {
    /// The records of the drafts, chained to the heads, which move along.
    pub(crate) fn seal(
        &self,
        drafts: Vec<Draft>,
        time: Timestamp,
        heads: &mut Heads,
    ) -> Vec<DecodedRecord> {
        let mut recorded = Vec::with_capacity(drafts.len());
        for (nth, draft) in drafts.into_iter().enumerate() {
            let belongs = draft.event.has_checkout();
            let checkout = self.checkout.filter(|_| belongs);
            let (body, event) = redact_and_encode(draft.event, checkout, self.redactor);
            let head = heads
                .entry(draft.stream.clone())
                .or_insert_with(|| empty_head(draft.stream.clone()));
            let stamp = EventStamp {
                id: self
                    .clock
                    .event_id(time, u32::try_from(nth).unwrap_or(u32::MAX)),
                position: head.count + 1,
                time,
                actor: self.actor.clone(),
                checkout: checkout.cloned(),
            };
            let record = Record::new(draft.stream, stamp, &event, body, self.request, &head.hash);
            head.count += 1;
            head.hash = record.hash;
            head.time = time;
            recorded.push(DecodedRecord { record, event });
        }
        recorded
    }
}

/// The head of a stream without events.
pub(crate) fn empty_head(stream: StreamId) -> StreamHead {
    StreamHead {
        stream,
        count: 0,
        hash: GENESIS,
        time: Timestamp::MIN,
    }
}

/// What an event does to the register of leases.
pub(crate) enum LeaseChange {
    /// It is held, with this token, until then.
    Held(RunId, u64, Timestamp),
    /// The one with this token holds it no more.
    Free(RunId, u64),
}

/// What an event that was stored at `time` does to the register of leases.
pub(crate) fn lease_change_of_event(event: &Event, time: Timestamp) -> Option<LeaseChange> {
    match event {
        Event::Run(RunEvent::LeaseTaken { run, token, .. }) => Some(LeaseChange::Held(
            *run,
            *token,
            seconds_after(time, LEASE_TTL_S),
        )),
        Event::Run(
            RunEvent::LeaseLost { run, token, .. } | RunEvent::LeaseReleased { run, token },
        ) => Some(LeaseChange::Free(*run, *token)),
        Event::Run(
            RunEvent::Planned(_)
            | RunEvent::Started { .. }
            | RunEvent::Targeted { .. }
            | RunEvent::LanesEntered { .. }
            | RunEvent::LandStarted { .. }
            | RunEvent::Landed { .. }
            | RunEvent::Moved { .. }
            | RunEvent::Asked { .. }
            | RunEvent::Changed(_),
        )
        | Event::Item(_)
        | Event::Unit(_)
        | Event::Attempt(_)
        | Event::Decision(_)
        | Event::Session(_)
        | Event::Memory(_)
        | Event::Notification(_)
        | Event::File(_) => None,
    }
}

/// So many seconds after `time`, or the end of time.
pub(crate) fn seconds_after(time: Timestamp, seconds: u64) -> Timestamp {
    let span = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
    time.checked_add(span).unwrap_or(Timestamp::MAX)
}
