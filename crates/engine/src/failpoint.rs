//! Failpoints of this crate: instants at which a test can end the process.
//!
//! There is one between every two steps of a run that leave something behind.
//! What they do, and that they are nothing without the feature: see
//! [`piton_store::failpoint`].

pub use piton_store::failpoint::point;

/// Every failpoint of this crate, in the order in which a run comes to them.
pub const POINTS: &[&str] = &[
    // The home is opened to a group, or closed again.
    "access.files-opened",
    "access.files-closed",
    // What is there is kept, and the run is planned.
    "project.home-made",
    "run.copy-made",
    "run.present-kept",
    "run.set-aside",
    "run.planned",
    // The worktree of the run is made.
    "worktree.before-add",
    "worktree.added",
    "worktree.before-detach",
    "worktree.detached",
    // The run is taken.
    "run.locked",
    "run.leased",
    "run.survivors-ended",
    // The native file.
    "exchange.temp-made",
    "exchange.flush",
    "exchange.splice-begun",
    "exchange.spare-taken",
    "synced-file.staged",
    "synced-file.stamped",
    "synced-file.exchanged",
    "synced-file.put-back",
    "synced-file.tidied",
    "plan-sync.edits-taken",
    "project-sync.taken",
    "archive.month-written",
    "archive.written",
    // What older layouts hold.
    "migrate.taken",
    "migrate.shown",
    // Any command of the runner.
    "run.committed",
    // An agent.
    "run.before-start",
    "process.output-made",
    "run.started",
    "run.recorded",
    "run.agent-ended",
    "transcript.written",
    "run.transcript-kept",
    "spool.half-removed",
    "run.spool-removed",
    // A gate.
    "gate.before-start",
    "gate.ended",
    "gate.spool-removed",
    // A commit.
    "run.before-commit",
    "git.staged",
    "run.after-commit",
    // What was written of an item whose agent commits.
    "progress.before-commit",
    "progress.after-commit",
    // The branch of a run in lanes.
    "target.recorded",
    "target.followed",
    // A lane: taken, made ready, left, removed.
    "unit.lane-chosen",
    "lane.registered",
    "lane.lent",
    "lane.added",
    "lane.cleaned",
    "lane.followed",
    "lane.included",
    "lane.set-up",
    "unit.both-sides",
    "unit.edits-taken",
    "unit.plan-seen",
    "unit.kept",
    "unit.saved",
    "unit.opened",
    "unit.before-refs-dropped",
    "lane.torn-down",
    "lane.unlocked",
    "lane.removed",
    // A merge.
    "merge.made",
    "merge.before-move",
    "merge.moved",
    // A pull request.
    "pull-request.before-push",
    "pull-request.pushed",
    "pull-request.before-create",
    "pull-request.created",
    "pull-request.looked",
    "pull-request.fetched",
    // What was merged lands, and is cleaned up after.
    "land.started",
    "land.edit-put-aside",
    "land.moved",
    "clean.lanes-removed",
    "clean.refs-dropped",
    // Several runners.
    "join.locked",
    "join.recorded",
    "join.lost",
    "join.holds",
    // A notification.
    "notify.before-start",
    "notify.started",
    "notify.sent",
    "notify.ended",
    // What a hook left to others.
    "hook-spool.written",
    "hook-spool.recorded",
    // A command that an item waits for.
    "wait.before-ask",
    "wait.answered",
    // The end.
    "run.over",
    "run.released",
    "target.files-made",
    "target.files-moved",
    "worktree.before-put-back",
    "worktree.before-remove",
    // The journal moves into git's folder.
    "move.copied",
    "move.placed",
    "move.retired",
    "move.partly-removed",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the source is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_failpoint_of_the_source_is_in_the_list_and_the_other_way_round() {
        let mut files = Vec::new();
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut files,
        );
        // Put together here, so that this file does not find itself.
        let call = ["failpoint::", "point(\""].concat();
        let mut used = BTreeSet::new();
        for file in files {
            let text = fs::read_to_string(&file).expect("source is text");
            for rest in text.split(&call).skip(1) {
                let name = rest.split('"').next().unwrap_or_default().to_owned();
                assert!(used.insert(name.clone()), "{name} stands in two places");
            }
        }
        let listed: BTreeSet<String> = POINTS.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(used, listed);
        assert_eq!(listed.len(), POINTS.len(), "a name is in the list twice");
    }
}
