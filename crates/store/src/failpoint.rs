//! Failpoints: instants at which a test can end the process.
//!
//! A program that was built with the feature `failpoints` and that finds
//! `PITON_FAILPOINT=name` (or `name:N` for the `N`th time, from 1) in its
//! environment kills itself, as `kill -9` would, when it comes to that point.
//! Without the feature a failpoint is nothing at all.

#[cfg(feature = "failpoints")]
use rustix::process::Signal;

/// Every failpoint of this crate, for tests that try them all.
pub const POINTS: &[&str] = &[
    "create.begun",
    "create.filled",
    "create.before-link",
    "create.linked",
    "commit.locked",
    "commit.begun",
    "commit.decided",
    "commit.head",
    "commit.event",
    "commit.views",
    "commit.before-durable",
    "commit.durable",
    "commit.acknowledged",
    "checkpoint.before",
    "checkpoint.after",
    "heartbeat.before",
    "heartbeat.after",
    "backup.copied",
    "backup.before-link",
    "backup.linked",
    "restore.copied",
    "restore.verified",
    "restore.kept",
    "restore.renamed",
    "rebuild.copied",
    "rebuild.folded",
    "rebuild.verified",
];

/// Ends or stops the process, as `kill` would, if a test asked for it at this point.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn point(_name: &str) {}

/// Ends or stops the process, as `kill` would, if a test asked for it at this point.
#[cfg(feature = "failpoints")]
pub fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static ARMED: OnceLock<Option<Failpoint>> = OnceLock::new();
    static HITS: AtomicU64 = AtomicU64::new(0);

    let Some(armed) = ARMED.get_or_init(armed_failpoint) else {
        return;
    };
    if armed.name == name && HITS.fetch_add(1, Ordering::SeqCst) + 1 == armed.nth {
        // Nothing is flushed and nothing is unwound: that is the point.
        if rustix::process::kill_process(rustix::process::getpid(), armed.signal).is_err() {
            std::process::abort();
        }
        if armed.signal == Signal::STOP {
            return;
        }
        loop {
            std::thread::park();
        }
    }
}

/// Where the process gets a signal.
#[cfg(feature = "failpoints")]
struct Failpoint {
    name: String,
    nth: u64,
    signal: Signal,
}

#[cfg(feature = "failpoints")]
#[expect(
    clippy::disallowed_methods,
    reason = "a test arms a failpoint of a child process through its environment"
)]
fn armed_failpoint() -> Option<Failpoint> {
    let text = std::env::var("PITON_FAILPOINT").ok()?;
    let (name, when) = text.split_once(':').unwrap_or((&text, ""));
    Some(Failpoint {
        name: name.to_owned(),
        nth: when.parse().unwrap_or(1),
        signal: match when {
            "stop" => Signal::STOP,
            _ => Signal::KILL,
        },
    })
}
