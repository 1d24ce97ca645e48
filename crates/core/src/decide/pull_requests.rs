//! The pull request of a unit: how its work gets into one, and what becomes of the unit
//! by what is seen there. Which news mean what is the table in
//! `docs/design/0035-pull-requests.md`.

use super::event_buffer::EventBuffer;
use super::guards::{HeldRun, check_can_begin, check_holder, wrong_item_state};
use super::merge_queue::{requeue_unchecked_unit, return_rejected_merge};
use crate::attempt::HumanNeeded;
use crate::decision::{DecisionKind, Verb};
use crate::event::UnitEvent;
use crate::id::Node;
use crate::item::{ItemRow, ItemState, Stage};
use crate::merge::{MergeReturn, MergeState};
use crate::pull_request::{
    AdoptedPullRequest, PullRequestNews, PullRequestRow, PullRequestStep, branch_of_unit,
};
use crate::refusal::Refusal;

/// Takes the pull request of a unit a step further.
pub(super) fn apply_pull_request_step(
    story: &mut EventBuffer<'_>,
    held: HeldRun,
    node: &Node,
    step: &PullRequestStep,
) -> Result<(), Refusal> {
    check_holder(story, held)?;
    let run = held.0;
    let item = story.require_item(run, node)?.clone();
    match step {
        PullRequestStep::Take(found) => return adopt_pull_request(story, &item, found),
        PullRequestStep::Saw {
            news: news @ PullRequestNews::Lost { .. },
        } if item.unadopted_pull_request().is_some() => {
            append_news(story, &item, news);
            return Ok(());
        }
        PullRequestStep::Ask | PullRequestStep::Opened { .. } | PullRequestStep::Saw { .. } => {}
    }
    let Some(merge) = item.merge() else {
        return Err(wrong_item_state(&item));
    };
    let known = item.pull_request().cloned();
    let is_asked = known.as_ref().is_some_and(|known| known.head == merge.work);
    match (merge.state, step) {
        (MergeState::Queued, PullRequestStep::Ask) if !is_asked => {
            check_can_begin(story, run)?;
            let row = story.require_run(run)?;
            let Some(base) = row.pull_request_base(&item) else {
                return Err(wrong_item_state(&item));
            };
            // One that others opened has its own.
            let own = known.filter(|it| {
                !it.is_unadopted() && it.number.is_some() && !it.closed && it.merged.is_none()
            });
            let (base, branch) = match own {
                Some(own) => (own.base, own.branch),
                None => {
                    let run = row.name_in_repository(story.tables.repository_of(&item));
                    (base.to_owned(), branch_of_unit(&run, node))
                }
            };
            story.append(UnitEvent::PullRequestAsked {
                run,
                node: node.clone(),
                head: merge.work.clone(),
                branch,
                base,
            });
        }
        (MergeState::Queued, PullRequestStep::Opened { head, number, url })
            if is_asked && *head == merge.work =>
        {
            story.append(UnitEvent::PullRequestOpened {
                run,
                node: node.clone(),
                number: *number,
                url: url.clone(),
            });
            ask_about_pull_request(story, &item);
        }
        (MergeState::Queued, PullRequestStep::Saw { news })
            if is_asked && matches!(news, PullRequestNews::Trouble { .. }) =>
        {
            append_news(story, &item, news);
            ask_about_pull_request(story, &item);
        }
        (MergeState::Requested, PullRequestStep::Saw { news })
            if known.is_some_and(|known| is_news_applicable(&known, news)) =>
        {
            apply_news(story, &item, news);
        }
        (MergeState::Queued, _)
        | (
            MergeState::InReview
            | MergeState::Requested
            | MergeState::Checking
            | MergeState::Passed
            | MergeState::Returned,
            _,
        ) => return Err(wrong_item_state(&item)),
    }
    Ok(())
}

/// Whether such news can be of what is known: of one in which the work does not stand yet
/// only that it was merged.
fn is_news_applicable(known: &PullRequestRow, news: &PullRequestNews) -> bool {
    match news {
        PullRequestNews::Merged { .. } | PullRequestNews::MergedBefore { .. } => {
            known.number.is_some()
        }
        PullRequestNews::Closed { .. }
        | PullRequestNews::Open
        | PullRequestNews::Held { .. }
        | PullRequestNews::Lost { .. }
        | PullRequestNews::Trouble { .. }
        | PullRequestNews::Words { .. } => known.is_open,
    }
}

/// The unit goes on with what others left in a pull request: it waits there, where they
/// waited for a person, and is reviewed first otherwise.
fn adopt_pull_request(
    story: &mut EventBuffer<'_>,
    item: &ItemRow,
    found: &AdoptedPullRequest,
) -> Result<(), Refusal> {
    let (run, node) = (item.run, &item.node);
    let row = story.require_run(run)?;
    let goes_there = row
        .branches
        .lanes
        .as_ref()
        .is_some_and(|lanes| lanes.terms.pull_requests);
    if !goes_there || item.unadopted_pull_request() != Some(found.number) {
        return Err(wrong_item_state(item));
    }
    let is_reviewed = item.state == ItemState::Ready && row.plan.policy.is_awaiting_review(item);
    let AdoptedPullRequest {
        number,
        url,
        head,
        branch,
        base,
    } = found.clone();
    let repository = story.tables.repository_of(item).map(str::to_owned);
    story.append(UnitEvent::PullRequestTaken {
        run,
        repository,
        node: node.clone(),
        number,
        url: url.clone(),
        head: head.clone(),
        branch,
        base,
    });
    let stage = match is_reviewed {
        true => Stage::Review,
        false => Stage::Merge,
    };
    story.settle_decisions_of_node(run, node, Verb::Settled);
    story.move_item(run, node, ItemState::Working, |moved| {
        moved.stage = Some(stage);
    });
    if !is_reviewed {
        story.append(UnitEvent::MergeQueued {
            run,
            node: node.clone(),
            work: head,
            evidence: Vec::new(),
            review: false,
        });
        story.append(UnitEvent::PullRequestOpened {
            run,
            node: node.clone(),
            number,
            url,
        });
        ask_about_pull_request(story, item);
    }
    Ok(())
}

fn append_news(story: &mut EventBuffer<'_>, item: &ItemRow, news: &PullRequestNews) {
    story.append(UnitEvent::PullRequestSeen {
        run: item.run,
        node: item.node.clone(),
        news: news.clone(),
    });
}

fn apply_news(story: &mut EventBuffer<'_>, item: &ItemRow, news: &PullRequestNews) {
    append_news(story, item, news);
    match news {
        PullRequestNews::Merged { .. } | PullRequestNews::MergedBefore { .. } => {
            requeue_unchecked_unit(story, item);
            story.settle_decisions_of_node(item.run, &item.node, Verb::Settled);
        }
        PullRequestNews::Words { by, words, .. } => {
            let name = item.pull_request().map(PullRequestRow::display_name);
            let why = MergeReturn::Rejected {
                by: by.clone(),
                why: format!("at {}: {words}", name.unwrap_or_default()),
            };
            return_rejected_merge(story, item, why);
            story.settle_decisions_of_node(item.run, &item.node, Verb::Settled);
        }
        // Of one that is known there is no such news.
        PullRequestNews::Lost { .. } => {}
        PullRequestNews::Closed { .. }
        | PullRequestNews::Open
        | PullRequestNews::Held { .. }
        | PullRequestNews::Trouble { .. } => {
            story.settle_decisions_of_node(item.run, &item.node, Verb::Settled);
            let Some(now) = story.tables.item(item.run, &item.node).cloned() else {
                return;
            };
            let details = match news {
                PullRequestNews::Closed { words } => words.clone(),
                PullRequestNews::Merged { .. }
                | PullRequestNews::MergedBefore { .. }
                | PullRequestNews::Open
                | PullRequestNews::Held { .. }
                | PullRequestNews::Lost { .. }
                | PullRequestNews::Words { .. }
                | PullRequestNews::Trouble { .. } => None,
            };
            ask_with_details(story, &now, details);
        }
    }
}

/// The unit waits, and people know for what.
fn ask_about_pull_request(story: &mut EventBuffer<'_>, item: &ItemRow) {
    let Some(now) = story.tables.item(item.run, &item.node).cloned() else {
        return;
    };
    ask_with_details(story, &now, now.summary.clone());
}

fn ask_with_details(story: &mut EventBuffer<'_>, item: &ItemRow, details: Option<String>) {
    let Some(known) = item.pull_request() else {
        return;
    };
    let (run, node) = (item.run, &item.node);
    let human = HumanNeeded {
        reason: pull_request_question(node, known),
        details,
    };
    if item.state == ItemState::Waiting {
        // What is asked changes with it, and an item has no other way to say so.
        story.move_item(run, node, ItemState::Working, |_| {});
    }
    story.move_item(run, node, ItemState::Waiting, |moved| {
        moved.human = Some(human.clone());
    });
    let kind = DecisionKind::PullRequest;
    story.ask_about_node(kind, run, node, human.reason, human.details);
}

/// What a person is asked, or told that is waited for.
fn pull_request_question(node: &Node, known: &PullRequestRow) -> String {
    let name = known.display_name();
    let at = match &known.url {
        Some(url) => format!(": {url}"),
        None => String::new(),
    };
    match (&known.trouble, known.closed) {
        (Some(why), _) if known.merged.is_some() => {
            format!("{name} of `{node}` was merged, and {why}{at}")
        }
        (Some(why), _) if known.held => format!("{name} of `{node}`: {why}{at}"),
        (Some(why), _) if known.is_open => {
            format!("{name} of `{node}` cannot be looked at ({why}){at}")
        }
        (Some(why), _) => format!("{name} of `{node}` cannot be opened: {why}"),
        (None, true) => format!("{name} of `{node}` was closed without a merge: what now?{at}"),
        (None, false) => format!("{name} of `{node}` waits to be merged{at}"),
    }
}
