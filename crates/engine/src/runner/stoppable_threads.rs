//! Threads that ask something for items, and are stopped with the runner.

use std::collections::BTreeMap;
use std::thread::JoinHandle;

use piton_core::Node;

use crate::process::StopHandle;

/// The commands that are asked just now. What is left of them is ended with it.
#[derive(Default)]
pub(super) struct StoppableThreads(BTreeMap<Node, (StopHandle, JoinHandle<()>)>);

impl StoppableThreads {
    pub(super) fn insert(&mut self, node: Node, stop: StopHandle, thread: JoinHandle<()>) {
        self.0.insert(node, (stop, thread));
    }

    /// Asks the command of an item to end.
    pub(super) fn request_stop(&self, node: &Node) {
        if let Some((stop, _)) = self.0.get(node) {
            stop.request_stop(false);
        }
    }

    pub(super) fn remove(&mut self, node: &Node) {
        self.0.remove(node);
    }
}

impl Drop for StoppableThreads {
    fn drop(&mut self) {
        let asked = std::mem::take(&mut self.0);
        asked.values().for_each(|(stop, _)| stop.request_stop(true));
        for (_, thread) in asked.into_values() {
            // One that panicked has no answer.
            thread.join().ok();
        }
    }
}
