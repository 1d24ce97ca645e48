//! The processes of this machine, as the system shows them.
//!
//! Linux reads `/proc`; elsewhere `ps` is asked, which costs a few
//! milliseconds and does not show other programs' environments.

#[cfg(target_os = "linux")]
mod proc;
#[cfg(any(not(target_os = "linux"), test))]
mod ps;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

#[cfg(target_os = "linux")]
pub(super) use self::proc::{boot, children, folder, is_ending, mark, row, rows};
#[cfg(not(target_os = "linux"))]
pub(super) use self::ps::{boot, children, folder, is_ending, mark, row, rows};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    /// Ended, but its parent has not asked for its status yet: runs nothing.
    pub(super) zombie: bool,
    /// Together with the pid names one process of this boot. See
    /// [`super::Identity::start_time`].
    pub(super) start: u64,
}

/// What holds for all processes of this machine until it starts again.
#[derive(Clone, Debug, Default)]
pub(super) struct Boot {
    pub(super) machine: String,
    pub(super) boot_id: String,
    pub(super) pid_space: String,
}

/// A pid as the system calls take it. Zero and what does not fit name nobody.
pub(super) fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Yes,
    Gone,
    /// A process of somebody else.
    Refused,
}

impl From<rustix::io::Result<()>> for Sent {
    fn from(result: rustix::io::Result<()>) -> Self {
        match result {
            Ok(()) => Sent::Yes,
            Err(Errno::PERM) => Sent::Refused,
            Err(_) => Sent::Gone,
        }
    }
}

/// Sends a signal to exactly this process, not to a later one with its number.
pub(super) fn signal(row: &Row, signal: Signal) -> Sent {
    let Some(pid) = pid(row.pid) else {
        return Sent::Gone;
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        match pidfd_open(pid, PidfdFlags::empty()) {
            // The descriptor holds the process: what is true of the number now
            // stays true of the descriptor.
            Ok(held) if is_still(row) => return pidfd_send_signal(&held, signal).into(),
            Ok(_) | Err(Errno::SRCH) => return Sent::Gone,
            // Kernels before 5.3, and filters that do not know the call.
            Err(_) => {}
        }
    }
    if is_still(row) {
        rustix::process::kill_process(pid, signal).into()
    } else {
        Sent::Gone
    }
}

fn is_still(known: &Row) -> bool {
    row(known.pid).is_some_and(|found| found.start == known.start)
}
