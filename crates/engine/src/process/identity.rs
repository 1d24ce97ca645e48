//! Which process: a number alone names a different one a moment later.

use serde::{Deserialize, Serialize};

use super::table;

/// One process of one boot of one machine.
///
/// Kept in files, so that a later process can tell whether this one still runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Its number. Also the number of its process group, if piton started it.
    pub pid: u32,
    /// When it started: clock ticks since boot (Linux), seconds since 1970
    /// (elsewhere). Only good for comparing.
    pub start_time: u64,
    /// The boot of the machine. Empty if unknown.
    pub boot_id: String,
    /// The PID namespace (Linux containers). Empty if unknown or there is no such thing.
    #[serde(default)]
    pub pid_space: String,
    /// The machine's own id. Empty if it has none.
    #[serde(default)]
    pub machine: String,
    /// The name of the machine on its network.
    #[serde(default)]
    pub host: String,
}

/// Whether a process still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// It cannot be known here: another machine, or another container.
    Unknown,
}

impl ProcessIdentity {
    /// That of a process of this machine with this number.
    ///
    /// `None` if there is none. Of a process that ended and was not waited for
    /// yet it can still be had.
    pub fn of_pid(pid: u32) -> Option<ProcessIdentity> {
        Some(ProcessIdentity::from_row(&table::find_process(pid)?))
    }

    pub(super) fn from_row(row: &table::ProcessRow) -> ProcessIdentity {
        let boot = table::boot_info();
        ProcessIdentity {
            pid: row.pid,
            start_time: row.start,
            boot_id: boot.boot_id.clone(),
            pid_space: boot.pid_space.clone(),
            machine: boot.machine.clone(),
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
        }
    }

    /// Whether its number means something in this process.
    pub(super) fn is_of_this_boot(&self) -> bool {
        let boot = table::boot_info();
        self.boot_id == boot.boot_id && self.pid_space == boot.pid_space
    }
}

/// This process.
pub fn current_process() -> ProcessIdentity {
    let pid = std::process::id();
    ProcessIdentity::of_pid(pid).unwrap_or_else(|| {
        // No `/proc` and no `ps`: other processes cannot find this one by its start,
        // so that it counts as unknown rather than as dead.
        ProcessIdentity::from_row(&table::ProcessRow {
            pid,
            parent: 0,
            group: 0,
            zombie: false,
            stopped: false,
            start: 0,
        })
    })
}

/// Whether the process runs, as far as can be seen from here.
pub fn liveness(id: &ProcessIdentity) -> Liveness {
    if id.boot_id.is_empty() || id.start_time == 0 {
        return Liveness::Unknown;
    }
    if !id.is_of_this_boot() {
        let me = current_process();
        let rebooted = id.boot_id != me.boot_id
            && !me.machine.is_empty()
            && id.machine == me.machine
            && id.host == me.host;
        // The same machine, started again. All others may be remote.
        return if rebooted {
            Liveness::Dead
        } else {
            Liveness::Unknown
        };
    }
    match table::find_process(id.pid) {
        Some(row) if row.start == id.start_time && !row.zombie => Liveness::Alive,
        Some(_) => Liveness::Dead,
        None => match table::to_pid(id.pid).map(rustix::process::test_kill_process) {
            // It is there but cannot be seen (`hidepid`).
            Some(Ok(()) | Err(rustix::io::Errno::PERM)) => Liveness::Unknown,
            _ => Liveness::Dead,
        },
    }
}

/// Whether the process is there and does nothing until it is continued: it was stopped by
/// a signal, or a debugger holds it.
pub fn is_stopped(id: &ProcessIdentity) -> bool {
    let row = table::find_process(id.pid).filter(|_| id.is_of_this_boot());
    row.is_some_and(|row| row.start == id.start_time && row.stopped)
}

/// The variables that a living process was started with; none where they may not be read.
pub(crate) fn environment_of_process(id: &ProcessIdentity) -> Vec<(String, String)> {
    match liveness(id) {
        Liveness::Alive => table::environment_of_process(id.pid),
        Liveness::Dead | Liveness::Unknown => Vec::new(),
    }
}

/// Whether the process is over, or about to be: it was killed, and the kernel
/// has not taken it down yet. It does nothing any more, and what it holds is
/// freed in a moment.
pub fn has_ended(id: &ProcessIdentity) -> bool {
    match liveness(id) {
        Liveness::Dead => true,
        Liveness::Alive => table::is_ending(id.pid),
        Liveness::Unknown => false,
    }
}
