//! The processes above this one.

use super::ProcessIdentity;
use super::table::{self, ProcessRow};

/// A chain of processes is at most so long.
const GENERATIONS_MAX: usize = 500;
/// A parent that ends while it is looked up is looked up again so often.
const LOOKS_MAX: usize = 20;

/// A process that this one descends from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its number.
    pub pid: u32,
    /// When it started, as in [`ProcessIdentity::start_time`].
    pub start_time: u64,
    /// The mark of an attempt in the environment that it was started with.
    pub mark: Option<String>,
}

impl Ancestor {
    /// Whether it is this very process, not another one with its number.
    #[must_use]
    pub fn is_same_process(&self, id: &ProcessIdentity) -> bool {
        self.pid == id.pid && self.start_time == id.start_time && id.is_of_this_boot()
    }
}

/// The processes that this one descends from, the parent first.
///
/// On Linux only; elsewhere there are none. A process that another user started
/// is among them without a mark: its environment cannot be read.
#[must_use]
pub fn list_ancestors() -> Vec<Ancestor> {
    if cfg!(not(target_os = "linux")) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut child = table::find_process(std::process::id());
    while let Some(parent) = child.take().and_then(|row| find_parent(&row)) {
        found.push(Ancestor {
            pid: parent.pid,
            start_time: parent.start,
            mark: table::mark_of_process(parent.pid),
        });
        if found.len() < GENERATIONS_MAX {
            child = Some(parent);
        }
    }
    found
}

/// The parent of a process. When the parent ends while it is looked up, the
/// process gets another one: it must not seem to have none.
fn find_parent(child: &ProcessRow) -> Option<ProcessRow> {
    let mut parent = child.parent;
    for _ in 0..LOOKS_MAX {
        if parent == 0 {
            return None;
        }
        // One that is younger than its child got the number of the parent.
        let found = table::find_process(parent).filter(|row| row.start <= child.start);
        if found.is_some() {
            return found;
        }
        parent = table::find_process(child.pid)
            .filter(|row| row.start == child.start)?
            .parent;
    }
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_this_process_is_the_first_ancestor() {
        let found = list_ancestors();
        let parent = std::os::unix::process::parent_id();
        assert_eq!(found.first().map(|ancestor| ancestor.pid), Some(parent));
        let id = ProcessIdentity::of_pid(parent).expect("it is there");
        assert!(found[0].is_same_process(&id));
        assert!(found.iter().all(|found| found.pid != std::process::id()));
    }

    #[test]
    fn a_process_that_started_at_another_time_is_another_one() {
        let mut id = super::super::current_process();
        let ancestor = Ancestor {
            pid: id.pid,
            start_time: id.start_time,
            mark: None,
        };
        assert!(ancestor.is_same_process(&id));
        id.start_time += 1;
        assert!(!ancestor.is_same_process(&id));
    }
}
