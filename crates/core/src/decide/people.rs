//! What people answer to what they are asked, from any process, while a runner works
//! or none does.

use super::advance;
use super::agent_edits;
use super::changes::{add_answer_to_item, append_change};
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::guards::check_decision_open;
use super::leaving_out::skip_item;
use super::merge_needed;
use super::merge_queue;
use super::pausing::resume_at_breakpoint;
use super::remembering;
use super::reopening::advance_emptied_parents;
use super::requests;
use super::restarting::{reject_item, reset_for_retry};
use super::reviewing;
use super::waits;
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::event::{ItemChange, MemoryEvent, RunEvent};
use crate::id::{DecisionId, Node, RunId};
use crate::item::{Evidence, ItemRow, ItemState};
use crate::refusal::Refusal;
use crate::request::RequestAnswer;

/// Takes a run whose runner is gone, so that what it left under way can be
/// ended: a person steers the run before another runner comes.
pub(super) fn take_dead_run(
    story: &mut EventBuffer<'_>,
    run: RunId,
    owner: &str,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let row = story.require_run(run)?.clone();
    if let Some(holder) = row.holder {
        return Err(Refusal::Busy {
            name: row.name,
            holder,
        });
    }
    story.append(RunEvent::LeaseTaken {
        run,
        owner: owner.to_owned(),
        token: row.fence + 1,
        joins: None,
    });
    Ok(())
}

/// What failed at an item: of a gate, what it printed says more than how it ended.
fn describe_failure(item: &ItemRow) -> Option<String> {
    let error = item.error.clone()?;
    let gate = item.proof.gate_runs.as_ref().filter(|runs| !runs.passed);
    Some(match gate.map(|runs| runs.output.trim()) {
        Some(output) if !output.is_empty() => format!("{error}\n{output}"),
        Some(_) | None => error,
    })
}

pub(super) fn apply_verdict(
    story: &mut EventBuffer<'_>,
    id: DecisionId,
    verb: Verb,
    why: Option<&str>,
) -> Result<(), Refusal> {
    let row = check_decision_open(story, id, verb)?;
    let why = why.map(str::trim).filter(|why| !why.is_empty());
    if let (Some(id), Verb::Approve) = (&row.memory, verb) {
        story.append(MemoryEvent::Retired {
            id: id.clone(),
            why: Some(why.unwrap_or("attempts kept failing with it").to_owned()),
            superseded_by: None,
        });
    }
    if matches!(
        (row.kind, verb),
        (DecisionKind::ClaimedItems, Verb::Approve)
    ) || matches!((row.kind, verb), (DecisionKind::AgentEdit, Verb::KeepFile))
    {
        return agent_edits::accept_edits(story, id, verb, why);
    }
    if row.kind == DecisionKind::UnconfirmedMemory {
        remembering::decide_unconfirmed(story, &row, verb, why);
        return Ok(());
    }
    if row.kind == DecisionKind::Question {
        return answer_question(story, &row, verb, why);
    }
    if row.kind == DecisionKind::Request {
        return match RequestAnswer::from_verb(verb) {
            Some(answer) => requests::decide_open_request(story, &row, &answer, why),
            None => answer_question(story, &row, verb, why),
        };
    }
    if row.kind == DecisionKind::MergeNeeded && row.node.is_none() {
        return merge_needed::decide_items_question(story, &row, verb, why);
    }
    // The process that writes the file acts on the verdict.
    let Some(node) = row.node else {
        story.decide_if_open(id, verb, why);
        return Ok(());
    };
    match verb {
        Verb::Approve if matches!(row.kind, DecisionKind::Claim | DecisionKind::Approval) => {
            return accept_claim(story, row.run, &node, why);
        }
        Verb::Approve if row.kind == DecisionKind::AgentReview => {
            return reviewing::approve_review(story, row.run, id, &node, why);
        }
        Verb::Reject if row.kind == DecisionKind::AgentReview => {
            let Some(why) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            return reviewing::reject_review(story, row.run, id, &node, why);
        }
        Verb::Approve if row.kind == DecisionKind::Review => {
            merge_queue::approve_merge(story, row.run, &node)?;
        }
        Verb::Reject if matches!(row.kind, DecisionKind::Review | DecisionKind::PullRequest) => {
            let Some(why) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            release_dead_runner(story, row.run)?;
            let item = story.require_item(row.run, &node)?.clone();
            merge_queue::reject_merge_by_person(story, &item, why);
        }
        Verb::Reject if row.kind == DecisionKind::Approval => {
            let Some(why) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            return reject_item(story, row.run, id, &node, why);
        }
        Verb::Approve if row.kind == DecisionKind::MergeNeeded => {
            // An item that goes on without the merge is not asked about again.
            let words = why.unwrap_or("go on without it");
            let told = format!("{}: {words}", row.question);
            reset_for_retry(story, row.run, &node, Some(&told))?;
            append_change(story, row.run, &node, ItemChange::WithoutMerge(true));
        }
        Verb::Approve if row.kind == DecisionKind::Wait => {
            release_dead_runner(story, row.run)?;
            waits::skip_wait(story, row.run, &node, why)?;
        }
        Verb::Approve => {
            resume_at_breakpoint(story, row.run)?;
            story.decide_if_open(id, verb, why);
            return Ok(());
        }
        Verb::Answer => {
            let Some(answer) = why else {
                return Err(Refusal::EmptyAnswer);
            };
            let problem = if row.kind == DecisionKind::BlockedNode {
                describe_failure(story.require_item(row.run, &node)?)
            } else {
                Some(row.question.clone())
            };
            reset_for_retry(story, row.run, &node, Some(answer))?;
            // An agent that meets the same problem can recall the answer.
            let problem = problem.unwrap_or_else(|| row.question.clone());
            remembering::record_resolution(story, &problem, answer, Some(node.as_str()), None);
        }
        Verb::Retry => reset_for_retry(story, row.run, &node, why)?,
        Verb::Skip => return skip_item(story, row.run, &node, why),
        Verb::KeepFile
        | Verb::KeepPiton
        | Verb::Merge
        | Verb::Reject
        | Verb::Defer
        | Verb::Backlog
        | Verb::Settled => {
            story.decide_if_open(id, verb, why);
            return Ok(());
        }
    }
    story.settle_decisions_below(row.run, &node, verb, why);
    advance_emptied_parents(story, row.run);
    Ok(())
}

/// Asks a person something that holds nothing up. An item of a plan must be
/// there; of the project's own an item is there when something is recorded of it.
pub(super) fn ask_person(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: Option<&Node>,
    question: &str,
    details: Option<&str>,
) -> Result<(), Refusal> {
    if run != RunId::PROJECT {
        story.require_run(run)?;
        if let Some(node) = node {
            story.require_item(run, node)?;
        }
    }
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let question = question.trim().to_owned();
    story.ask_person(run, node, question, details.and_then(said));
    Ok(())
}

/// Answers a question that holds nothing up: the answer goes into the next prompt of
/// its item, if it has one, and into memory for agents that meet the same problem.
fn answer_question(
    story: &mut EventBuffer<'_>,
    row: &DecisionRow,
    verb: Verb,
    why: Option<&str>,
) -> Result<(), Refusal> {
    if verb == Verb::Answer {
        let Some(answer) = why else {
            return Err(Refusal::EmptyAnswer);
        };
        if let Some(node) = &row.node {
            add_answer_to_item(story, row.run, node, &row.question, answer);
        }
        let item = row.node.as_ref().map(Node::as_str);
        remembering::record_resolution(story, &row.question, answer, item, None);
    }
    story.decide_if_open(row.id, verb, why);
    Ok(())
}

/// A person accepts the proof that there is.
fn accept_claim(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    why: Option<&str>,
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    if story.require_item(run, node)?.state == ItemState::Waiting {
        let decided = Evidence::Decided {
            by: story.facts.actor.name().to_owned(),
            at: story.rows.now,
            through: "piton decide".to_owned(),
        };
        advance::finish_item_with_evidence(story, run, node, Some(decided));
    }
    story.settle_decisions_below(run, node, Verb::Approve, why);
    advance_emptied_parents(story, run);
    Ok(())
}
