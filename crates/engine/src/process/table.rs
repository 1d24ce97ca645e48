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
pub(super) use self::proc::{
    boot_info, environment_of_process, find_process, folder_of_process, is_ending, list_processes,
    mark_of_process, own_children,
};
#[cfg(not(target_os = "linux"))]
pub(super) use self::ps::{
    boot_info, environment_of_process, find_process, folder_of_process, is_ending, list_processes,
    mark_of_process, own_children,
};

/// The environment variable that marks everything an attempt started.
pub const MARK: &str = "PITON_ATTEMPT";

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessRow {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    /// Ended, but its parent has not asked for its status yet: runs nothing.
    pub(super) zombie: bool,
    /// Stopped by a signal or held by a debugger: runs nothing until it is continued.
    pub(super) stopped: bool,
    /// Together with the pid names one process of this boot. See
    /// [`super::ProcessIdentity::start_time`].
    pub(super) start: u64,
}

/// What holds for all processes of this machine until it starts again.
#[derive(Clone, Debug, Default)]
pub(super) struct BootInfo {
    pub(super) machine: String,
    pub(super) boot_id: String,
    pub(super) pid_space: String,
}

/// A pid as the system calls take it. Zero and a number that does not fit name no process.
pub(super) fn to_pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalOutcome {
    Yes,
    Gone,
    /// The process belongs to another user.
    Refused,
}

impl From<rustix::io::Result<()>> for SignalOutcome {
    fn from(result: rustix::io::Result<()>) -> Self {
        match result {
            Ok(()) => SignalOutcome::Yes,
            Err(Errno::PERM) => SignalOutcome::Refused,
            Err(_) => SignalOutcome::Gone,
        }
    }
}

/// Sends a signal to exactly this process, not to a later one with its number.
pub(super) fn send_signal(row: &ProcessRow, signal: Signal) -> SignalOutcome {
    let Some(pid) = to_pid(row.pid) else {
        return SignalOutcome::Gone;
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        match pidfd_open(pid, PidfdFlags::empty()) {
            // The descriptor holds the process: what is true of the number now
            // stays true of the descriptor.
            Ok(held) if is_still_running(row) => return pidfd_send_signal(&held, signal).into(),
            Ok(_) | Err(Errno::SRCH) => return SignalOutcome::Gone,
            // Kernels before 5.3, and filters that do not know the call.
            Err(_) => {}
        }
    }
    if is_still_running(row) {
        rustix::process::kill_process(pid, signal).into()
    } else {
        SignalOutcome::Gone
    }
}

fn is_still_running(known: &ProcessRow) -> bool {
    find_process(known.pid).is_some_and(|found| found.start == known.start)
}
