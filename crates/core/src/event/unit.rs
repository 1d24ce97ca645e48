//! What has happened to a unit: an item that has a lane, with all below it.

use super::subject::subject_events;
use super::texts::{EventText, TextVisitor, visit_evidence, visit_option};
use crate::evidence::Evidence;
use crate::id::{Node, RunId};
use crate::merge::{MergeCommit, MergeReturn};
use crate::pull_request::PullRequestNews;
use crate::scope::FileScope;

subject_events! {
    /// What has happened to a unit: an item that has a lane, with all below it.
    UnitEvent {
        /// A unit got a lane: an intent, durable before the lane is made ready.
        "lane-taken" LaneTaken {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// The token with which the unit was taken.
            fence: u64,
            /// The token of the runner.
            by: u64,
            /// The lane.
            lane: u32,
            /// The commit at which the work in it begins.
            from: String,
            /// The commit that holds what was in its last lane, where that one could
            /// not be had again.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            saved: Option<String>,
            /// How many attempts there were at the unit before it got this lane.
            attempts: u32,
            /// How many merges there were when its work began.
            #[serde(default, skip_serializing_if = "crate::item::is_zero")]
            since: u64,
            /// The files that it is about.
            #[serde(default, skip_serializing_if = "FileScope::is_empty")]
            scope: FileScope,
            /// The repository that the lane is of; none is the one in which the project lies.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            repository: Option<String>,
        },
        /// A unit has its lane no more.
        "lane-left" LaneLeft {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// The commit that holds what was in the lane.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            saved: Option<String>,
        },
        /// The work of a unit waits for its turn in the merge queue, and its lane is
        /// free; or its merge has to be made anew.
        "merge-queued" MergeQueued {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// The commit of its work.
            work: String,
            /// Why it will count as done.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            evidence: Vec<Evidence>,
            /// It waits for a person to look at it first.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            review: bool,
        },
        /// The merge of a unit was made, and is to be checked.
        "merge-started" MergeStarted {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// The token with which the unit was taken.
            fence: u64,
            /// What was made.
            #[serde(flatten)]
            made: MergeCommit,
        },
        /// Its checks passed: the target is about to be moved.
        "merge-passed" MergePassed {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
        },
        /// It conflicts, is red or was rejected: an agent works on it again.
        "merge-returned" MergeReturned {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// Why.
            why: MergeReturn,
        },
        /// A unit left the merge queue.
        "merge-ended" MergeEnded {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// The merge to which the target was moved; none where there was nothing
            /// to merge, or the unit is worked on again or left out.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            made: Option<MergeCommit>,
            /// Which merge of the run that is, from 1.
            #[serde(default, skip_serializing_if = "crate::item::is_zero")]
            number: u64,
            /// The commit of the target that had all of it already, where that left
            /// nothing to merge.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            at: Option<String>,
            /// The repository that the target is of; none is the one in which the project
            /// lies.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            repository: Option<String>,
        },
        /// The work of a unit is about to be pushed, and a pull request to be opened: an
        /// intent, durable before both.
        "pull-request-asked" PullRequestAsked {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// The commit of its work.
            head: String,
            /// The branch that is pushed.
            branch: String,
            /// The branch into which it is to be merged.
            base: String,
        },
        /// The pull request in which others left the work of a unit was found: the unit goes
        /// on with it.
        "pull-request-taken" PullRequestTaken {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// Its number.
            number: u64,
            /// Its address.
            url: String,
            /// The commit of its work.
            head: String,
            /// The branch that has it.
            branch: String,
            /// The branch into which it is to be merged.
            base: String,
            /// The repository that it is in; none is the one in which the project lies.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            repository: Option<String>,
        },
        /// The pull request is there, with that commit, and waits.
        "pull-request-opened" PullRequestOpened {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// Its number.
            number: u64,
            /// Its address.
            url: String,
        },
        /// A look at the pull request of a unit brought something new.
        "pull-request-seen" PullRequestSeen {
            /// The run.
            run: RunId,
            /// The unit.
            node: Node,
            /// What.
            news: PullRequestNews,
        },
    }
}

impl UnitEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::LaneTaken {
                run: _,
                node: _,
                fence: _,
                by: _,
                lane: _,
                from: _,
                saved: _,
                attempts: _,
                since: _,
                scope: _,
                repository: _,
            }
            | Self::LaneLeft {
                run: _,
                node: _,
                saved: _,
            }
            | Self::MergeStarted {
                run: _,
                node: _,
                fence: _,
                made:
                    MergeCommit {
                        onto: _,
                        commit: _,
                        tree: _,
                    },
            }
            | Self::MergePassed { run: _, node: _ }
            | Self::MergeEnded {
                run: _,
                node: _,
                made: _,
                number: _,
                at: _,
                repository: _,
            } => {}
            Self::MergeQueued {
                run: _,
                node: _,
                work: _,
                evidence,
                review: _,
            } => visit_evidence(evidence, each),
            Self::PullRequestAsked {
                run: _,
                node: _,
                head: _,
                branch: _,
                base: _,
            }
            | Self::PullRequestTaken {
                run: _,
                node: _,
                number: _,
                url: _,
                head: _,
                branch: _,
                base: _,
                repository: _,
            }
            | Self::PullRequestOpened {
                run: _,
                node: _,
                number: _,
                url: _,
            } => {}
            Self::PullRequestSeen {
                run: _,
                node: _,
                news,
            } => match news {
                PullRequestNews::Closed { words } => visit_option(words, each),
                PullRequestNews::Words {
                    by: _,
                    words,
                    ids: _,
                } => each(EventText::Free(words)),
                PullRequestNews::Held { why } | PullRequestNews::Trouble { why } => {
                    each(EventText::Free(why));
                }
                PullRequestNews::Merged { commit: _ }
                | PullRequestNews::MergedBefore { head: _ }
                | PullRequestNews::Open => {}
                PullRequestNews::Lost { why } => each(EventText::Free(why)),
            },
            Self::MergeReturned {
                run: _,
                node: _,
                why,
            } => match why {
                MergeReturn::Conflict { files } => {
                    files
                        .iter_mut()
                        .for_each(|file| each(EventText::Free(file)));
                }
                MergeReturn::Red {
                    command,
                    output,
                    with: _,
                    changed: _,
                } => {
                    each(EventText::Free(command));
                    each(EventText::Free(output));
                }
                MergeReturn::Unchecked { command, output } => {
                    each(EventText::Free(command));
                    each(EventText::Free(output));
                }
                MergeReturn::Rejected { by: _, why } => each(EventText::Free(why)),
            },
        }
    }
}

impl UnitEvent {
    /// The run, and the node of the unit.
    #[must_use]
    pub fn unit(&self) -> (RunId, &Node) {
        match self {
            Self::LaneTaken { run, node, .. }
            | Self::LaneLeft { run, node, .. }
            | Self::MergeQueued { run, node, .. }
            | Self::MergeStarted { run, node, .. }
            | Self::MergePassed { run, node }
            | Self::MergeReturned { run, node, .. }
            | Self::MergeEnded { run, node, .. }
            | Self::PullRequestAsked { run, node, .. }
            | Self::PullRequestTaken { run, node, .. }
            | Self::PullRequestOpened { run, node, .. }
            | Self::PullRequestSeen { run, node, .. } => (*run, node),
        }
    }
}
