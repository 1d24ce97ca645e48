//! What bounds a child, what happens to it, and how it ends.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::identity::ProcessIdentity;

/// When a child is stopped, and how much time it gets to go by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Longest life.
    pub wall: Option<Duration>,
    /// Longest time in which the output does not change.
    pub idle: Option<Duration>,
    /// Most bytes of output. A child that goes on an eighth beyond it gets no grace.
    pub output_bytes_max: Option<u64>,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        ProcessLimits {
            wall: None,
            idle: None,
            output_bytes_max: None,
            grace: Duration::from_secs(5),
        }
    }
}

/// Why a child was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// It ran longer than [`ProcessLimits::wall`].
    Wall,
    /// Its output did not change for [`ProcessLimits::idle`].
    Idle,
    /// It wrote more than [`ProcessLimits::output_bytes_max`].
    Flood,
    /// [`super::RunningProcess::terminate`] or [`super::RunningProcess::kill`].
    Asked,
}

/// What happened to a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// The output file has another size.
    OutputGrew {
        /// Its size now.
        bytes: u64,
    },
    /// The child has been told to stop. Comes at most once.
    Stopping {
        /// For which reason.
        why: StopReason,
    },
    /// The child and all it started are gone. Comes exactly once, and last.
    Exited(ProcessExit),
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessExit {
    /// The status it ended with, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Set when it was told to stop, whatever it then did.
    pub stopped_by: Option<StopReason>,
    /// Size of the output file at the end.
    pub output_bytes: u64,
    /// From start to the end of the main process and of all that it left running.
    pub duration: Duration,
    /// What could not be ended: a process of another user, or one that the
    /// kernel does not let go. Empty but for such cases.
    pub left: Vec<ProcessIdentity>,
}

impl ProcessExit {
    /// How a command of a project failed that may take so long; none where it did not.
    pub(crate) fn describe_failure(&self, timeout: &str) -> Option<String> {
        match (self.stopped_by, self.code) {
            (None, Some(0)) => None,
            (Some(StopReason::Wall | StopReason::Idle), _) => {
                Some(format!("did not end in {timeout}"))
            }
            (Some(StopReason::Flood), _) => Some("printed more than can be kept".to_owned()),
            (Some(StopReason::Asked), _) => Some("was stopped".to_owned()),
            (None, Some(code)) => Some(format!("ended with {code}")),
            (None, None) => Some(match self.signal {
                Some(signal) => format!("was ended by signal {signal}"),
                None => "did not say how it ended".to_owned(),
            }),
        }
    }

    /// Whether it ended by itself with status 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0) && self.stopped_by.is_none()
    }
}

/// Why a child could not be started. Nothing runs and no output file is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The folder to run in is not there, or is not a folder.
    #[error("cannot run in {}", cwd.display())]
    Folder {
        /// The folder.
        cwd: PathBuf,
        /// What looking at it said.
        source: io::Error,
    },
    /// The file for the output could not be made.
    #[error("cannot create {}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text for stdin could not be put into a file.
    #[error("cannot hand over the input of `{}`", program.display())]
    Input {
        /// What was to be started.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// The program is not there, may not be executed, or has impossible arguments.
    #[error("cannot start `{}`", program.display())]
    Program {
        /// What was to be started.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// The mark is empty: the child could not be found again.
    #[error("the attempt has no mark")]
    Unmarked,
}

#[expect(
    clippy::disallowed_methods,
    reason = "durations of real processes; never stored as a time"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}
