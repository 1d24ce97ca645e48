//! What agents ask for beside their work, and what is added to a plan that is
//! under way.

use super::changes::EditRejection;
use super::dead_runner::release_dead_runner;
use super::event_buffer::EventBuffer;
use super::guards::check_decision_open;
use super::inserting::insert_items;
use super::siblings::siblings_below;
use crate::decision::{DecisionKind, DecisionRow, Verb};
use crate::event::DecisionEvent;
use crate::evidence::ClaimOverrides;
use crate::id::{DecisionId, Node, RunId, TreePosition};
use crate::item::{ItemRow, ItemState};
use crate::plan::{ImportedItemHistory, ItemTags, ItemTurn, Order, Plan, PlannedItem};
use crate::refusal::Refusal;
use crate::request::{
    Injection, InsertPosition, RequestAnswer, RequestKind, Ruling, Until, WorkRequest, is_item_id,
    sanitize_id,
};
use crate::run::RunState;
use crate::scope::FileScope;

/// Asks what is to become of what the agent at `node` asks for, or does what
/// the rules say.
pub(super) fn open_requests(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: &Node,
    requests: &[WorkRequest],
) {
    for request in requests {
        open_request(story, run, Some(node), request);
    }
}

/// The same, for requests that stood in a plan that was taken over.
pub(super) fn open_requests_of_plan(
    story: &mut EventBuffer<'_>,
    run: RunId,
    requests: &[WorkRequest],
) {
    for request in requests {
        open_request(story, run, None, request);
    }
}

fn open_request(
    story: &mut EventBuffer<'_>,
    run: RunId,
    node: Option<&Node>,
    request: &WorkRequest,
) {
    let Some(decision) = story.ask_about_request(run, node, request) else {
        return;
    };
    // What a request brought in asks a person for more: a plan does not grow by itself
    // for ever.
    let item = node.and_then(|node| story.tables.item(run, node));
    if item.is_some_and(|item| item.plan.injected.is_some()) {
        return;
    }
    let Some(ruling) = ruling_of_request(story, run, request) else {
        return;
    };
    let Some(row) = story.tables.decision(decision).cloned() else {
        return;
    };
    // What cannot be added as the plan stands is left to a person.
    let mut trial = story.clone();
    if apply_request_answer(&mut trial, &row, node, &ruling.answer, Some(&ruling.why)).is_ok() {
        *story = trial;
    }
}

/// What rules say of a request: of a step, the plan's own.
fn ruling_of_request(story: &EventBuffer<'_>, run: RunId, request: &WorkRequest) -> Option<Ruling> {
    if request.kind == RequestKind::Discovery {
        return request.ruling.as_deref().cloned();
    }
    let proposals = story.tables.run(run)?.plan.policy.proposals.as_ref()?;
    proposals.auto_approve.then(|| Ruling {
        answer: RequestAnswer::Approve(Box::default()),
        why: "the plan approves proposed steps by itself".to_owned(),
    })
}

pub(super) fn decide_request(
    story: &mut EventBuffer<'_>,
    id: DecisionId,
    said: &RequestAnswer,
    why: Option<&str>,
) -> Result<(), Refusal> {
    // What has no words of its own is done in those that a person gives.
    let is_worded = match said {
        RequestAnswer::Approve(injection) => {
            injection.prompt.is_some() || !injection.items.is_empty()
        }
        RequestAnswer::Reject | RequestAnswer::Defer(_) | RequestAnswer::Backlog => false,
    };
    let is_request = |row: &DecisionRow| row.request.is_some() && row.verdict.is_none();
    let worded = story.tables.decision(id).filter(|row| is_request(row));
    let row = match worded.filter(|_| is_worded) {
        Some(row) => row.clone(),
        None => check_decision_open(story, id, said.verb())?,
    };
    let why = why.map(str::trim).filter(|why| !why.is_empty());
    decide_open_request(story, &row, said, why)
}

/// A person says what becomes of a request.
pub(super) fn decide_open_request(
    story: &mut EventBuffer<'_>,
    row: &DecisionRow,
    said: &RequestAnswer,
    why: Option<&str>,
) -> Result<(), Refusal> {
    release_dead_runner(story, row.run)?;
    apply_request_answer(story, row, None, said, why)
}

/// The file of the plan says what becomes of a request.
pub(super) fn decide_request_by_id(
    story: &mut EventBuffer<'_>,
    run: RunId,
    id: &str,
    said: &RequestAnswer,
    why: Option<&str>,
) -> Result<(), Refusal> {
    let is_it = |row: &&DecisionRow| {
        let request = row.request.as_ref();
        request.is_some_and(|request| request.id.as_deref() == Some(id))
    };
    let row = story.tables.open_decisions(run).find(is_it).cloned();
    let row = row.ok_or_else(|| Refusal::NoSuchDecision(id.to_owned()))?;
    let is_put_off = row.deferred.as_ref().map(|deferred| deferred.until);
    if matches!(said, RequestAnswer::Defer(until) if is_put_off == Some(*until)) {
        return Ok(());
    }
    apply_request_answer(story, &row, None, said, why)
}

fn apply_request_answer(
    story: &mut EventBuffer<'_>,
    row: &DecisionRow,
    current: Option<&Node>,
    said: &RequestAnswer,
    why: Option<&str>,
) -> Result<(), Refusal> {
    let Some(request) = &row.request else {
        return Err(Refusal::NoSuchDecision(row.id.to_string()));
    };
    let said = match said {
        RequestAnswer::Defer(until) => {
            // What is over will not end once more.
            let is_done = story.require_run(row.run)?.state == RunState::Done;
            if is_done && *until != Until::NextSprint {
                return Err(story.wrong_run_state(row.run));
            }
            let is_open = |phase: &Node| {
                let phase = story.tables.item(row.run, phase);
                phase.is_some_and(|row| !row.state.is_finished())
            };
            let own = row.node.as_ref().map(root_of_node).filter(is_open);
            let phase = own.or_else(|| current_node(story, row.run).as_ref().map(root_of_node));
            story.append(DecisionEvent::Deferred {
                decision: row.id,
                until: *until,
                phase: phase.filter(|_| *until == Until::EndOfPhase),
                why: why.map(str::to_owned),
            });
            return Ok(());
        }
        RequestAnswer::Approve(injection) => {
            let injection = fill_in_injection(story, row.run, request, injection);
            add_injection(story, row.run, current, &injection, request)?;
            RequestAnswer::Approve(Box::new(injection))
        }
        RequestAnswer::Reject | RequestAnswer::Backlog => said.clone(),
    };
    story.append(DecisionEvent::Made {
        decision: row.id,
        verb: said.verb(),
        why: why.map(str::to_owned),
        answer: Some(Box::new(said)),
    });
    Ok(())
}

/// What is added for a request, with defaults for what the answer leaves open.
fn fill_in_injection(
    story: &EventBuffer<'_>,
    run: RunId,
    request: &WorkRequest,
    said: &Injection,
) -> Injection {
    let proposals = story.tables.run(run);
    let proposals = proposals.and_then(|row| row.plan.policy.proposals.as_ref());
    let id = sanitize_id(request.id.as_deref().unwrap_or_default());
    let (position, id_prefix) = match request.kind {
        RequestKind::Discovery => (request.position(), format!("fix-{id}")),
        RequestKind::Step => {
            let of_plan = proposals.and_then(|proposals| proposals.insert.clone());
            let of_plan = of_plan.or_else(|| request.position());
            let position = of_plan.unwrap_or(InsertPosition::EndOfPhase(None));
            (
                Some(position),
                request.requested_id().map_or(id, str::to_owned),
            )
        }
    };
    let said = said.clone();
    Injection {
        position: said
            .position
            .or(position)
            .or(Some(InsertPosition::default())),
        prompt: said.prompt.or_else(|| request.prompt_text()),
        model: said
            .model
            .or_else(|| request.requested_model().map(str::to_owned)),
        id_prefix: said.id_prefix.or(Some(id_prefix)),
        items: said.items,
    }
}

/// A person adds items to a plan.
pub(super) fn inject_items(
    story: &mut EventBuffer<'_>,
    run: RunId,
    kind: RequestKind,
    injections: &[Injection],
) -> Result<(), Refusal> {
    release_dead_runner(story, run)?;
    let unasked = WorkRequest {
        kind,
        id: None,
        title: String::new(),
        fields: serde_json::Map::new(),
        ruling: None,
    };
    for injection in injections {
        add_injection(story, run, None, injection, &unasked)?;
    }
    Ok(())
}

fn add_injection(
    story: &mut EventBuffer<'_>,
    run: RunId,
    current: Option<&Node>,
    injection: &Injection,
    request: &WorkRequest,
) -> Result<(), Refusal> {
    // A place that is not there is another refusal than one that takes nothing.
    let place = injection.position.as_ref();
    if let Some(name) = place.and_then(InsertPosition::reference_item)
        && story.require_run(run)?.plan.order == Order::InTurn
    {
        find_item_by_name(story, run, name)?;
    }
    let added = try_add_injection(story, run, current, injection, request);
    added.map_err(|EditRejection(why)| Refusal::Unfit {
        file: "what is to be added".to_owned(),
        why,
    })
}

fn try_add_injection(
    story: &mut EventBuffer<'_>,
    run: RunId,
    current: Option<&Node>,
    injection: &Injection,
    request: &WorkRequest,
) -> Result<(), EditRejection> {
    // What a list or a task file holds is written by the people who keep it.
    if story.require_run(run)?.plan.order != Order::InTurn {
        return Err(EditRejection(
            "only a sprint takes in new phases".to_owned(),
        ));
    }
    let prefix = injection.id_prefix.as_deref();
    if let Some(prefix) = prefix.filter(|prefix| !is_item_id(prefix)) {
        return Err(EditRejection(format!(
            "`{prefix}` is no id: letters, digits, `-`, `_` and `.` make one"
        )));
    }
    let current = current.cloned().or_else(|| current_node(story, run));
    let current = current.ok_or_else(|| EditRejection("the plan has no items".to_owned()))?;
    let position = injection.position.clone().unwrap_or_default();
    let (parent, mut after) =
        parent_and_predecessor(story, run, request.kind, &position, &current)?;
    let now = siblings_below(story, run, parent.as_ref())?;
    after = after.map(|after| last_added_behind(&now, after));
    let roots = match injection.items.is_empty() {
        true => vec![vec![item_of_prompt(
            injection,
            request,
            parent.as_ref(),
            &now,
        )?]],
        false => injection.items.clone(),
    };
    for mut items in roots {
        for item in &mut items {
            item.injected = Some(story.rows.now);
        }
        after = Some(insert_items(
            story,
            run,
            parent.as_ref(),
            after.as_ref(),
            &items,
        )?);
    }
    Ok(())
}

/// Behind what was added behind `after` before: what is added at one place stands
/// in the order in which it was added.
fn last_added_behind(siblings: &[ItemRow], after: Node) -> Node {
    let mut behind = siblings.iter().skip_while(|row| row.node != after);
    let anchor = behind.next().and_then(|row| row.plan.injected);
    let added = behind.take_while(|row| row.plan.injected > anchor);
    added.last().map_or(after, |row| row.node.clone())
}

/// The item that a prompt makes.
fn item_of_prompt(
    injection: &Injection,
    request: &WorkRequest,
    parent: Option<&Node>,
    siblings: &[ItemRow],
) -> Result<PlannedItem, EditRejection> {
    let Some(prompt) = injection.prompt.clone() else {
        return Err(EditRejection("an agent needs a prompt".to_owned()));
    };
    let prefix = injection.id_prefix.as_deref().unwrap_or("injected");
    let is_free = |id: &String| !siblings.iter().any(|row| row.plan.id == *id);
    let numbered = || {
        (0..)
            .map(|number| format!("{prefix}-{number}"))
            .find(is_free)
    };
    let own = Some(prefix.to_owned()).filter(|_| request.kind == RequestKind::Step);
    let id = own.filter(is_free).or_else(numbered);
    let id = id.ok_or_else(|| EditRejection("there is no name left for it".to_owned()))?;
    let depends_on = request.depends_on();
    Ok(PlannedItem {
        node: Node::child(None, &id, 1),
        id,
        place: TreePosition::default().child(0),
        state: ItemState::Ready,
        prompt: Some(prompt),
        model: injection.model.clone(),
        gate: None,
        breakpoint: false,
        approval: false,
        depends_on: depends_on.map(|id| Node::child(parent, id, 1)).collect(),
        native: None,
        past: ImportedItemHistory::default(),
        piece_of: None,
        injected: None,
        tags: ItemTags::default(),
        claims: ClaimOverrides::default(),
        turn: ItemTurn::default(),
        scope: FileScope::default(),
        repository: None,
        wait: None,
    })
}

/// The item that the run is at.
fn current_node(story: &EventBuffer<'_>, run: RunId) -> Option<Node> {
    story.tables.current_item(run).map(|row| row.node.clone())
}

/// The root that a node lies below, or is.
fn root_of_node(node: &Node) -> Node {
    node.ancestors().last().unwrap_or_else(|| node.clone())
}

/// Below what, and behind what, a position is.
fn parent_and_predecessor(
    story: &EventBuffer<'_>,
    run: RunId,
    kind: RequestKind,
    position: &InsertPosition,
    current: &Node,
) -> Result<(Option<Node>, Option<Node>), EditRejection> {
    let last = |parent: Option<&Node>| {
        let now = siblings_below(story, run, parent)?;
        Ok::<_, Refusal>(now.last().map(|row| row.node.clone()))
    };
    // Steps go into their phase, where it has steps.
    let takes_steps = |phase: &Node| {
        let row = story.tables.item(run, phase);
        kind == RequestKind::Step && row.is_some_and(|row| !row.is_leaf())
    };
    let phase = root_of_node(current);
    Ok(match position {
        InsertPosition::AfterCurrent if takes_steps(&phase) => {
            let line = std::iter::once(current.clone()).chain(current.ancestors());
            let step = line.filter(|node| *node != phase).last();
            (Some(phase), step)
        }
        InsertPosition::AfterCurrent => (None, Some(phase)),
        InsertPosition::EndOfPhase(of) => {
            let named = of.as_ref().map(|of| find_item_by_name(story, run, of));
            let phase = named.transpose()?.map_or(phase, |node| root_of_node(&node));
            match takes_steps(&phase) {
                true => (Some(phase.clone()), last(Some(&phase))?),
                false => (None, Some(phase)),
            }
        }
        InsertPosition::EndOfWorkflow => (None, last(None)?),
        InsertPosition::After(of) => {
            let node = find_item_by_name(story, run, of)?;
            (node.parent(), Some(node))
        }
        InsertPosition::Before(of) => {
            let node = find_item_by_name(story, run, of)?;
            let parent = node.parent();
            let now = siblings_below(story, run, parent.as_ref())?;
            let before = now.iter().take_while(|row| row.node != node).last();
            (parent, before.map(|row| row.node.clone()))
        }
    })
}

/// The item of this path, or of this id: the highest, then the first.
fn find_item_by_name(story: &EventBuffer<'_>, run: RunId, name: &str) -> Result<Node, Refusal> {
    let by_path = Node::from_text(name);
    if story.tables.item(run, &by_path).is_some() {
        return Ok(by_path);
    }
    let named = story.tables.tree(run).filter(|row| row.plan.id == name);
    let found = named.min_by_key(|row| row.plan.place.depth());
    found
        .map(|row| row.node.clone())
        .ok_or(Refusal::NoSuchItem(by_path))
}

/// Asks again about what was put off, where the time for it has come.
pub(super) fn reopen_deferred(story: &mut EventBuffer<'_>, run: RunId) {
    let Some(state) = story.tables.run(run).map(|row| row.state) else {
        return;
    };
    let is_over = |phase: &Node| {
        let row = story.tables.item(run, phase);
        row.is_some_and(|row| row.state.is_finished())
    };
    let is_due = |row: &&DecisionRow| {
        let Some(deferred) = &row.deferred else {
            return false;
        };
        match deferred.until {
            Until::EndOfPhase => {
                state == RunState::Done || deferred.phase.as_ref().is_some_and(is_over)
            }
            Until::EndOfSprint => state == RunState::Done,
            Until::NextSprint => false,
        }
    };
    let due = story.tables.open_decisions(run).filter(is_due);
    let due: Vec<DecisionRow> = due.cloned().collect();
    for row in due {
        story.append(DecisionEvent::Revised {
            decision: row.id,
            question: row.question,
            details: row.details,
            edits: row.edits,
        });
    }
}

/// What was put off until the next sprint is asked about in the run that is
/// planned now, where that is one of the same format.
pub(super) fn reopen_in_next_sprint(story: &mut EventBuffer<'_>, plan: &Plan) {
    if plan.order != Order::InTurn {
        return;
    }
    let is_due = |row: &&DecisionRow| {
        let deferred = row.deferred.as_ref();
        let is_put_off = deferred.is_some_and(|off| off.until == Until::NextSprint);
        let of = story.tables.run(row.run);
        let is_alike =
            of.is_some_and(|of| of.plan.order == plan.order && of.plan.face == plan.face);
        row.verdict.is_none() && is_put_off && is_alike
    };
    let due: Vec<DecisionRow> = story.tables.decisions().filter(is_due).cloned().collect();
    for row in due {
        debug_assert_eq!(row.kind, DecisionKind::Request);
        let why = format!("it is asked about in run `{}`", plan.name);
        story.decide_if_open(row.id, Verb::Settled, Some(&why));
        if let Some(request) = &row.request {
            let mut request = (**request).clone();
            record_origin(&mut request, &row);
            story.ask_about_request(plan.run, None, &request);
        }
    }
}

/// Notes in a request where and when it was made, which its next decision does
/// not tell.
fn record_origin(request: &mut WorkRequest, row: &DecisionRow) {
    let (place, time) = match request.kind {
        RequestKind::Discovery => ("discovered-in", "created-at"),
        RequestKind::Step => ("proposedBy", "proposedAt"),
    };
    if let Some(node) = &row.node {
        let place = request.fields.entry(place.to_owned());
        place.or_insert_with(|| node.display_path().into());
    }
    let time = request.fields.entry(time.to_owned());
    time.or_insert_with(|| format!("{:.3}", row.opened_at).into());
}
