//! What has happened to an item of a plan.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::edited::{ItemChange, ItemChanged, ItemsPlaced};
use super::subject::subject_events;
use super::texts::{
    EventText, TextVisitor, visit_evidence, visit_gate, visit_gate_report, visit_human_needed,
    visit_list, visit_native, visit_option, visit_planned_item, visit_wait,
};
use crate::attempt::HumanNeeded;
use crate::evidence::{BaselineResult, Evidence, WorkCredit};
use crate::gate::{Gate, GateReport};
use crate::id::{AttemptId, Node, RunId};
use crate::item::{ItemState, Rejection, Stage};
use crate::plan::PlannedItem;
use crate::recover::FollowedRecovery;
use crate::review::ReviewVerdict;
use crate::wait::WaitProgress;

subject_events! {
    /// What has happened to an item of a plan.
    ItemEvent {
        /// An item of a run was planned.
        "item-planned" Planned(Box<ItemPlanned>),
        /// An attempt at another item marked this one as done, or that attempt has
        /// ended: what it did to the tree is known then.
        "item-claimed" Claimed {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
            /// By which attempt; none when nothing is left of the claim.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            by: Option<Box<WorkCredit>>,
        },
        /// A gate is about to be run: an intent.
        "gate-started" GateStarted {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
            /// The token with which the item was taken, from 1; 0 in events of
            /// versions that counted none.
            #[serde(default, skip_serializing_if = "crate::item::is_zero")]
            fence: u64,
            /// Which run of the script, from 1; 0 before the first attempt.
            number: u32,
            /// What the same command is known to have come to before the attempt
            /// that marked the item as done.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            before: Option<BaselineResult>,
        },
        /// A gate was run: the one outcome of its intent.
        "gate-ended" GateEnded {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
            /// What came of it.
            report: GateReport,
            /// What that shows, when it passed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            evidence: Option<Evidence>,
        },
        /// A commit is about to be made: an intent.
        "commit-started" CommitStarted {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
            /// The token with which the item was taken, from 1; 0 in events of
            /// versions that counted none.
            #[serde(default, skip_serializing_if = "crate::item::is_zero")]
            fence: u64,
            /// What `HEAD` is.
            head: Option<String>,
        },
        /// A commit was made, or not: the one outcome of its intent.
        "commit-ended" CommitEnded {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
            /// The commit; none when nothing had changed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            commit: Option<String>,
            /// Why it could not be made.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            error: Option<String>,
        },
        /// An item came into another state.
        "item-moved" Moved(Box<ItemMoved>),
        /// An item that is being worked on came to another stage.
        "item-staged" Staged {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
            /// What comes next for it.
            stage: Stage,
            /// The gate that its agent's word has to stand up to, where the plan
            /// gives it none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            gate: Option<Box<Gate>>,
        },
        /// A person asked to skip an item that is being worked on.
        "item-skip-asked" SkipAsked {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
        },
        /// What the plan says of an item was changed.
        "item-changed" Changed(Box<ItemChanged>),
        /// Items stand somewhere else among their siblings.
        "items-placed" Placed(Box<ItemsPlaced>),
        /// A reviewer looked at the work on an item, or a person did instead.
        "item-reviewed" Reviewed {
            /// The run.
            run: RunId,
            /// The item.
            node: Node,
            /// The attempt of the reviewer; none of a person.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            attempt: Option<AttemptId>,
            /// Who, in words.
            by: String,
            /// What they say; none where that is no verdict, or does not count.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            verdict: Option<ReviewVerdict>,
            /// Why.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            why: Option<String>,
        },
    }
}

impl ItemEvent {
    /// Hands over every text of the event, to be changed in place.
    pub(super) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::Planned(planned) => visit_item_planned(planned, each),
            Self::GateStarted {
                run: _,
                node: _,
                fence: _,
                number: _,
                before: _,
            }
            | Self::CommitStarted {
                run: _,
                node: _,
                fence: _,
                head: _,
            }
            | Self::SkipAsked { run: _, node: _ }
            | Self::Claimed {
                run: _,
                node: _,
                by: _,
            } => {}
            Self::Staged {
                run: _,
                node: _,
                stage: _,
                gate,
            } => visit_gate(gate.as_deref_mut(), each),
            Self::GateEnded {
                run: _,
                node: _,
                report,
                evidence,
            } => {
                visit_gate_report(report, each);
                visit_evidence(evidence, each);
            }
            Self::CommitEnded {
                run: _,
                node: _,
                commit: _,
                error,
            } => visit_option(error, each),
            Self::Reviewed {
                run: _,
                node: _,
                attempt: _,
                by: _,
                verdict: _,
                why,
            } => visit_option(why, each),
            Self::Moved(moved) => visit_item_moved(moved, each),
            Self::Changed(changed) => visit_item_changed(changed, each),
            Self::Placed(placed) => {
                let ItemsPlaced { run: _, places: _ } = &**placed;
            }
        }
    }
}

/// See [`ItemEvent::Planned`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemPlanned {
    /// The run.
    pub run: RunId,
    /// The item.
    #[serde(flatten)]
    pub item: PlannedItem,
}

/// See [`ItemEvent::Moved`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemMoved {
    /// The run.
    pub run: RunId,
    /// The item.
    pub node: Node,
    /// The state it was in.
    pub from: ItemState,
    /// The state it is in now.
    pub to: ItemState,
    /// What comes next for it; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// How often it has been tried again; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Not before this time is it tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong; as before when absent, except that what is done has no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a person is needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<HumanNeeded>,
    /// What a person answered, for the next prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Why it counts as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Whether this completes a task, for `max-tasks`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub task: bool,
    /// What the next attempt follows. Where it is absent, what was followed
    /// before holds on as long as the item only goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Box<FollowedRecovery>>,
    /// How far what it waits for before it begins has come; as before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<WaitProgress>,
    /// A person looked at what was made of it, and wants it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<Rejection>>,
}

impl ItemMoved {
    /// A move that says nothing but where to.
    #[must_use]
    pub fn new(run: RunId, node: Node, from: ItemState, to: ItemState) -> Self {
        Self {
            run,
            node,
            from,
            to,
            stage: None,
            retries: None,
            until: None,
            summary: None,
            error: None,
            human: None,
            answer: None,
            evidence: Vec::new(),
            task: false,
            recovery: None,
            waited: None,
            rejected: None,
        }
    }
}

fn visit_item_planned(planned: &mut ItemPlanned, each: TextVisitor<'_>) {
    let ItemPlanned { run: _, item } = planned;
    visit_planned_item(item, each);
}

fn visit_item_changed(changed: &mut ItemChanged, each: TextVisitor<'_>) {
    let ItemChanged {
        run: _,
        node: _,
        change,
    } = changed;
    match change {
        ItemChange::Prompt(text) | ItemChange::Summary(text) | ItemChange::Answer(text) => {
            visit_option(text, each)
        }
        ItemChange::Gate(gate) => visit_gate(gate.as_mut(), each),
        ItemChange::Wait(wait) => visit_wait(wait.as_mut(), each),
        ItemChange::Native(native) => visit_native(native, each),
        ItemChange::Scope(scope) => visit_list(Some(&mut scope.0), each),
        ItemChange::Tags(tags) => visit_list(Some(&mut tags.labels), each),
        ItemChange::Model(_)
        | ItemChange::Breakpoint(_)
        | ItemChange::Retries(_)
        | ItemChange::DependsOn(_)
        | ItemChange::Claims(_)
        | ItemChange::Repository(_)
        | ItemChange::Turn(_)
        | ItemChange::Taken(_)
        | ItemChange::WithoutMerge(_) => {}
    }
}

fn visit_item_moved(moved: &mut ItemMoved, each: TextVisitor<'_>) {
    let ItemMoved {
        run: _,
        node: _,
        from: _,
        to: _,
        stage: _,
        retries: _,
        until: _,
        summary,
        error,
        human,
        answer,
        evidence,
        task: _,
        recovery,
        waited: _,
        rejected,
    } = moved;
    visit_evidence(evidence, each);
    visit_option(summary, each);
    visit_option(error, each);
    visit_human_needed(human, each);
    visit_option(answer, each);
    if let Some(followed) = recovery {
        let FollowedRecovery {
            action: _,
            rule: _,
            guidance,
            evidence,
            times: _,
        } = &mut **followed;
        each(EventText::Free(guidance));
        visit_list(Some(evidence), each);
    }
    if let Some(rejected) = rejected {
        let Rejection { by: _, why } = &mut **rejected;
        each(EventText::Free(why));
    }
}
