//! What a command leads to, or why not: all rules live here.
//!
//! A decision is told as a story: each event is folded into a copy of the rows
//! as soon as it is told, so that what follows sees what came before. Who may
//! do what in which state of a run is the table in `docs/formats/sprint-yaml.md`.

mod advance;
mod agent_edits;
mod applying;
mod by_hand;
mod changes;
mod claims;
mod dead_runner;
mod dependencies;
mod editing;
mod event_buffer;
mod file_import;
mod giving_up;
mod guards;
mod imported_attempts;
mod inserting;
mod joining;
mod judging;
mod lanes;
mod leaving_out;
mod lost_work;
mod marking;
mod merge_needed;
mod merge_queue;
mod moves;
mod notifying;
mod pausing;
mod people;
mod plan_graph;
mod planning;
mod pull_requests;
mod queueing;
mod recording;
mod recovering;
mod remembering;
mod reopening;
mod requests;
mod restarting;
mod reviewing;
mod runner;
mod settling;
mod siblings;
mod similar;
mod splitting;
mod waits;

use crate::command::{CallerFacts, Command};
use crate::event::SessionEvent;
use crate::id::{Node, RunId, StreamId};
use crate::journal::Draft;
use crate::needs::{Rows, can_fail_item, needs_whole_tree};
use crate::refusal::Refusal;
use crate::tables::Tables;
use event_buffer::{EventBuffer, QuestionText};

pub use editing::{PlanFileEdits, find_inapplicable_edits};

/// The rows as they will be when the work of a unit in the queue is on the target:
/// its merge commit holds the plan file that shows them.
#[must_use]
pub fn tables_after_merge(rows: &Rows, run: RunId, node: &Node, facts: &CallerFacts) -> Tables {
    let mut story = EventBuffer::new(rows, facts, StreamId::of_run(run));
    merge_queue::simulate_merge(&mut story, run, node);
    story.tables
}

/// What `command` leads to.
///
/// # Errors
///
/// A [`Refusal`] when the command does not fit the state; nothing is stored then.
pub fn decide(rows: &Rows, command: &Command, facts: &CallerFacts) -> Result<Vec<Draft>, Refusal> {
    let mut story = EventBuffer::new(rows, facts, home_stream(command));
    let it = &mut story;
    match command {
        Command::PlanRun(plan) => planning::plan_run(it, plan)?,
        Command::LogEntry(entry) => recording::log_entry(it, (**entry).clone()),
        Command::NoteCall(noted) => it.append(SessionEvent::CallNoted(noted.clone())),
        Command::TellAttempt(told) => imported_attempts::import_attempt(it, told)?,
        Command::AddMemory(memory) => remembering::add_memory(it, memory)?,
        Command::NoticeMemory { memory, carried } => {
            remembering::record_or_confirm(it, memory, carried)
        }
        Command::RetireMemory {
            id,
            why,
            superseded_by,
        } => remembering::retire_memory(it, id, why.as_deref(), superseded_by.as_deref())?,
        Command::ImportMemories(memories) => remembering::import_memories(it, memories),
        Command::DoubtMemories(ids) => remembering::ask_about_doubted(it, ids),
        Command::EndorseMemories(ids) => remembering::endorse_memories(it, ids)?,
        Command::AskAboutUnconfirmed => remembering::ask_about_unconfirmed(it),
        Command::ResolveBlocker {
            spec,
            task_id,
            resolution,
        } => recording::resolve_blocker(it, spec.as_deref(), task_id.as_deref(), resolution)?,
        Command::TurnFace { path, face, on } => recording::set_native_file(it, path, face, *on),
        Command::TakeFile(taken) => file_import::import_file(it, taken)?,
        Command::AskAboutFile {
            run,
            path,
            question,
            details,
            ways,
        } => {
            let text = QuestionText {
                question: question.clone(),
                details: details.clone(),
            };
            it.ask_about_file(*run, path, text, Vec::new(), || ways.clone());
        }
        Command::StartNotification(subject) => notifying::start_notification(it, subject),
        Command::EndNotification { subject, error } => {
            notifying::end_notification(it, subject, error.as_deref());
        }
        Command::SettleFile { run, path, why } => it.settle_file_decisions(*run, path, why),
        Command::StartRun {
            run,
            owner,
            limits,
            claims,
            flags,
            settles: _,
            notify,
        } => {
            let invocation = runner::InvocationStart {
                owner,
                limits,
                claims,
                flags,
                notify: *notify,
                sees_whole_tree: needs_whole_tree(command),
            };
            runner::start_run(it, *run, &invocation)?;
        }
        Command::TakeRun { run, owner } => people::take_dead_run(it, *run, owner)?,
        Command::TargetRun {
            run,
            token,
            repository,
            target,
        } => {
            let repository = repository.as_deref();
            lanes::record_target(it, (*run, *token), repository, target)?;
        }
        Command::EnterLanes { run, token, terms } => lanes::enter_lanes(it, (*run, *token), terms)?,
        Command::TakeLane {
            run,
            token,
            node,
            lane,
            saved,
        } => lanes::assign_lane(it, (*run, *token), node, *lane, saved.as_ref())?,
        Command::LeaveLane {
            run,
            token,
            node,
            fence,
            saved,
        } => lanes::release_lane(it, (*run, *token), (node, *fence), saved.as_ref())?,
        Command::LoseWork {
            run,
            token,
            node,
            fence,
            why,
        } => lost_work::record_lost_work(it, (*run, *token), (node, *fence), why)?,
        Command::StepMerge {
            run,
            token,
            node,
            fence,
            step,
        } => merge_queue::apply_merge_step(it, (*run, *token), (node, *fence), step)?,
        Command::StepPullRequest {
            run,
            token,
            node,
            step,
        } => pull_requests::apply_pull_request_step(it, (*run, *token), node, step)?,
        Command::LandRun { run, landing } => lanes::start_landing(it, *run, landing)?,
        Command::EndLanding { run, landing } => lanes::end_landing(it, *run, landing)?,
        Command::ContinueRun { run, token } => runner::continue_run(it, *run, *token)?,
        Command::ReleaseRun { run, token } => runner::release_run(it, *run, *token)?,
        Command::JoinRun { run, owner, lock } => joining::join_run(it, *run, owner, lock)?,
        Command::HoldRun { run, token } => joining::take_over_run(it, (*run, *token))?,
        Command::LoseRunner { run, token, lost } => {
            joining::record_lost_runner(it, (*run, *token), *lost)?;
        }
        Command::PauseRun { run, token, pause } => runner::pause_run(it, *run, *token, pause)?,
        Command::InterruptRun { run, token, reason } => {
            runner::interrupt_run(it, *run, *token, reason)?
        }
        Command::StartAttempt {
            run,
            token,
            attempt,
            node,
            role,
            agent,
            model,
            memories,
            tree,
            baseline,
        } => {
            let started = runner::AttemptStart {
                attempt: *attempt,
                role: *role,
                agent,
                model: model.as_deref(),
                memories,
                tree: tree.as_ref(),
                baseline: baseline.as_ref(),
            };
            runner::start_attempt(it, (*run, *token), node, &started)?;
        }
        Command::EndAttempt {
            run,
            token,
            attempt,
            node,
            fence,
            report,
            recovery,
            claimed,
            agents,
        } => {
            let ended = runner::AttemptEnd {
                attempt: *attempt,
                report,
                recovery: recovery.as_deref(),
                claimed,
                agents,
            };
            runner::end_attempt(it, (*run, *token), (node, *fence), &ended)?;
        }
        Command::AnswerAttempt {
            run,
            attempt,
            node,
            answer,
        } => runner::record_agent_answer(it, *run, *attempt, node, answer)?,
        Command::StartBaseline {
            run,
            token,
            node,
            before,
        } => runner::start_baseline(it, (*run, *token), node, before.as_ref())?,
        Command::StartGate { run, token, node } => runner::start_gate(it, (*run, *token), node)?,
        Command::EndGate {
            run,
            token,
            node,
            fence,
            report,
            recovery,
        } => {
            let recovery = recovery.as_deref();
            runner::end_gate(it, (*run, *token), (node, *fence), report, recovery)?;
        }
        Command::AskForMerge {
            run,
            token,
            items,
            merged,
        } => merge_needed::update_merge_needed(it, *run, *token, items, merged)?,
        Command::StepWaits {
            run,
            token,
            steps,
            holds_others,
        } => waits::apply_wait_steps(it, (*run, *token), steps, *holds_others)?,
        Command::StartCommit {
            run,
            token,
            node,
            head,
        } => runner::start_commit(it, (*run, *token), node, head.clone())?,
        Command::EndCommit {
            run,
            token,
            node,
            fence,
            result,
        } => runner::end_commit(it, (*run, *token), (node, *fence), result)?,
        Command::AskPause { run } => pausing::request_pause(it, *run)?,
        Command::AskStop { run } => pausing::request_stop(it, *run)?,
        Command::ResumeRun { run } => pausing::resume_run(it, *run)?,
        Command::SkipItem { run, node, why } => {
            leaving_out::skip_item(it, *run, node, why.as_deref())?
        }
        Command::RetryItem { run, node, why } => {
            restarting::retry_item(it, *run, node, why.as_deref(), why.as_deref())?
        }
        Command::AskPerson {
            run,
            node,
            question,
            details,
        } => people::ask_person(it, *run, node.as_ref(), question, details.as_deref())?,
        Command::Decide {
            decision,
            verb,
            why,
            ..
        } => people::apply_verdict(it, *decision, *verb, why.as_deref())?,
        Command::DecideRequest {
            decision,
            answer,
            why,
            ..
        } => requests::decide_request(it, *decision, answer, why.as_deref())?,
        Command::Inject {
            run,
            kind,
            injections,
        } => requests::inject_items(it, *run, *kind, injections)?,
        Command::TakeEdits {
            run,
            token,
            file,
            edits,
            word,
        } => {
            let changes = PlanFileEdits {
                run: *run,
                token: *token,
                file,
                edits,
            };
            editing::apply_edits(it, &changes, word)?;
        }
    }
    // Nothing about a run follows from who knows of it.
    if let Command::StartNotification(_) | Command::EndNotification { .. } = command {
        return Ok(story.into_drafts());
    }
    // A run that is planned is new, or stands where its plan says.
    let settles = !matches!(command, Command::PlanRun(_));
    if let Some(run) = command
        .run_id()
        .filter(|run| settles && *run != RunId::PROJECT)
    {
        let sees_whole_tree = needs_whole_tree(command)
            || (can_fail_item(command) && settling::has_failure_strategy(it, run));
        if sees_whole_tree {
            settling::skip_dependents(it, run);
            settling::update_ready_items(it, run);
        }
        settling::update_run_state(it, run, sees_whole_tree);
    }
    if let Some(run) = command.run_id() {
        requests::reopen_deferred(it, run);
        agent_edits::drop_finished_edits(it, run);
        merge_needed::settle_items_question(it, run);
    }
    Ok(story.into_drafts())
}

/// Where the events of a command go that no other stream is for.
fn home_stream(command: &Command) -> StreamId {
    StreamId::of_run(command.run_id().unwrap_or(RunId::PROJECT))
}
