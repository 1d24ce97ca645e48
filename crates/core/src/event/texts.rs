//! Which parts of an event are texts, written freely by people, agents and
//! programs, and may therefore hold a secret.
//!
//! All else is a name, a word of a fixed list, a number or a time: it is
//! compared with others, and means something else once it is changed. No field
//! is passed over by a wildcard, so that a new one is not forgotten here.

use serde_json::{Map, Value};

use crate::attempt::{
    AttemptContext, HumanNeeded, ProgramReport, Report, ReportedAttempt, ReportedChanges,
    SplitPiece,
};
use crate::call::AgentCall;
use crate::edit::Edit;
use crate::entry::Entry;
use crate::evidence::Evidence;
use crate::flags::RunFlags;
use crate::gate::{Gate, GateReport};
use crate::iteration_hook::IterationHook;
use crate::memory::{Memory, MemoryKind};
use crate::native::Native;
use crate::observation::Observation;
use crate::plan::{ImportedItemHistory, ItemTags, PlannedItem};
use crate::policy::Policy;
use crate::request::{Injection, RequestAnswer, Ruling, WorkRequest};
use crate::review::{AgentReview, ReviewObservation};
use crate::wait::Wait;

/// A text of an event.
pub(crate) enum EventText<'e> {
    /// Words, the output of a program, a script.
    Free(&'e mut String),
    /// A document of a native format, which must stay one.
    Document(&'e mut String),
    /// Values under names that a person or another program chose.
    Named(&'e mut Map<String, Value>),
}

pub(super) type TextVisitor<'a> = &'a mut dyn FnMut(EventText<'_>);

pub(super) fn visit_option(text: &mut Option<String>, each: TextVisitor<'_>) {
    if let Some(text) = text {
        each(EventText::Free(text));
    }
}

pub(super) fn visit_policy(policy: &mut Policy, each: TextVisitor<'_>) {
    let Policy {
        retry: _,
        limits: _,
        auto_commit: _,
        iteration_hooks,
        proposals: _,
        concurrency_max: _,
        on_dependency_failure: _,
        review: _,
        // Names that the manifest has, as those of items have them.
        repositories: _,
    } = policy;
    for IterationHook { id: _, prompt } in iteration_hooks {
        each(EventText::Free(prompt));
    }
}

pub(super) fn visit_planned_item(item: &mut PlannedItem, each: TextVisitor<'_>) {
    let PlannedItem {
        node: _,
        id: _,
        place: _,
        state: _,
        prompt,
        model: _,
        gate,
        breakpoint: _,
        approval: _,
        depends_on: _,
        native,
        past,
        piece_of: _,
        injected: _,
        turn: _,
        claims: _,
        scope,
        repository: _,
        wait,
        tags: ItemTags {
            labels,
            priority: _,
        },
    } = item;
    visit_option(prompt, each);
    visit_list(Some(&mut scope.0), each);
    visit_gate(gate.as_mut(), each);
    visit_wait(wait.as_mut(), each);
    visit_list(Some(labels), each);
    visit_native(native, each);
    let ImportedItemHistory {
        started_at: _,
        completed_at: _,
        summary,
        error,
        retries: _,
        human,
        pull_request: _,
        pull_request_name: _,
    } = past;
    visit_option(summary, each);
    visit_option(error, each);
    visit_human_needed(human, each);
}

pub(super) fn visit_run_flags(flags: &mut RunFlags, each: TextVisitor<'_>) {
    let RunFlags {
        agent,
        model: _,
        verdict: _,
        workers: _,
        workflows: _,
        ignore: _,
        limits: _,
    } = flags;
    visit_option(agent, each);
}

pub(super) fn visit_wait(wait: Option<&mut Wait>, each: TextVisitor<'_>) {
    if let Some(wait) = wait {
        let Wait {
            command,
            every_s: _,
            until: _,
        } = wait;
        visit_option(command, each);
    }
}

pub(super) fn visit_gate(gate: Option<&mut Gate>, each: TextVisitor<'_>) {
    if let Some(gate) = gate {
        let Gate {
            script,
            on_fail_prompt,
            runs_max: _,
            timeout_s: _,
        } = gate;
        each(EventText::Free(script));
        each(EventText::Free(on_fail_prompt));
    }
}

pub(super) fn visit_edit(edit: &mut Edit, each: TextVisitor<'_>) {
    match edit {
        Edit::SetPrompt { node: _, prompt } => visit_option(prompt, each),
        Edit::SetSummary { node: _, summary } => visit_option(summary, each),
        Edit::SetGate { node: _, gate } => visit_gate(gate.as_mut(), each),
        Edit::SetWait { node: _, wait } => visit_wait(wait.as_mut(), each),
        Edit::Insert {
            parent: _,
            after: _,
            items,
        } => items
            .iter_mut()
            .for_each(|item| visit_planned_item(item, each)),
        Edit::SetNative { node: _, native } => visit_native(native, each),
        Edit::SetTags {
            node: _,
            tags: ItemTags {
                labels,
                priority: _,
            },
        } => visit_list(Some(labels), each),
        Edit::SetScope { node: _, scope } => visit_list(Some(&mut scope.0), each),
        Edit::AddRequest(request) => visit_request(request, each),
        Edit::AnswerRequest { id: _, answer, why } => {
            visit_request_answer(answer, each);
            visit_option(why, each);
        }
        Edit::SetState { node: _, to: _ }
        | Edit::SetRetries {
            node: _,
            retries: _,
        }
        | Edit::SetModel { node: _, model: _ }
        | Edit::SetBreakpoint {
            node: _,
            breakpoint: _,
        }
        | Edit::SetDependsOn {
            node: _,
            depends_on: _,
        }
        | Edit::SetClaims { node: _, claims: _ }
        | Edit::SetRepository {
            node: _,
            repository: _,
        }
        | Edit::Take { node: _, for_s: _ }
        | Edit::SetPresent {
            node: _,
            present: _,
        }
        | Edit::Order {
            parent: _,
            nodes: _,
        }
        | Edit::SetPolicy(_)
        | Edit::SetRunState { to: _ } => {}
    }
}

pub(super) fn visit_native(native: &mut Option<Native>, each: TextVisitor<'_>) {
    if let Some(native) = native {
        let Native {
            face: _,
            version: _,
            body,
        } = native;
        each(EventText::Document(body));
    }
}

pub(super) fn visit_human_needed(human: &mut Option<HumanNeeded>, each: TextVisitor<'_>) {
    if let Some(human) = human {
        let HumanNeeded { reason, details } = human;
        each(EventText::Free(reason));
        visit_option(details, each);
    }
}

pub(super) fn visit_report(report: &mut Report, each: TextVisitor<'_>) {
    let Report {
        outcome: _,
        summary,
        error,
        category: _,
        human,
        program,
        changes,
        observations,
        context,
        notes,
        checked,
        screenshots: _,
        lacks_screenshot: _,
        validations,
        pieces,
        requests,
        review,
    } = report;
    let ProgramReport {
        process: _,
        usage: _,
        transcript: _,
        cannot_start: _,
        duration_s: _,
        trouble: _,
        resets_at: _,
        conversation: _,
        models: _,
        activity,
        can_be_asked: _,
    } = program;
    let ReportedChanges {
        files,
        commits: _,
        tree_before: _,
        tree_after: _,
        diff: _,
        proof,
    } = changes;
    if let Some(review) = review {
        visit_review(review, each);
    }
    for entry in proof.iter_mut().flat_map(|proof| &mut proof.entries) {
        each(EventText::Free(&mut entry.entry));
    }
    visit_option(summary, each);
    visit_option(error, each);
    visit_human_needed(human, each);
    for observation in observations {
        visit_observation(observation, each);
    }
    visit_list(files.as_mut(), each);
    if let Some(context) = context {
        visit_context(context, each);
    }
    visit_option(notes, each);
    visit_option(checked, each);
    visit_list(Some(validations), each);
    for piece in pieces {
        let SplitPiece { title, prompt } = piece;
        each(EventText::Free(title));
        each(EventText::Free(prompt));
    }
    for request in requests {
        visit_request(request, each);
    }
    for call in &mut activity.kept {
        visit_call(call, each);
    }
}

pub(super) fn visit_review(review: &mut AgentReview, each: TextVisitor<'_>) {
    let AgentReview {
        verdict: _,
        summary,
        observations,
    } = review;
    visit_option(summary, each);
    for seen in observations {
        let ReviewObservation {
            file,
            line: _,
            severity,
            message,
        } = seen;
        visit_option(file, each);
        visit_option(severity, each);
        each(EventText::Free(message));
    }
}

pub(super) fn visit_request(request: &mut WorkRequest, each: TextVisitor<'_>) {
    let WorkRequest {
        kind: _,
        id: _,
        title,
        fields,
        ruling,
    } = request;
    each(EventText::Free(title));
    each(EventText::Named(fields));
    if let Some(ruling) = ruling {
        let Ruling { answer, why: _ } = &mut **ruling;
        visit_request_answer(answer, each);
    }
}

pub(super) fn visit_request_answer(answer: &mut RequestAnswer, each: TextVisitor<'_>) {
    match answer {
        RequestAnswer::Approve(injection) => {
            let Injection {
                position: _,
                prompt,
                model: _,
                id_prefix: _,
                items,
            } = &mut **injection;
            visit_option(prompt, each);
            for item in items.iter_mut().flatten() {
                visit_planned_item(item, each);
            }
        }
        RequestAnswer::Reject | RequestAnswer::Defer(_) | RequestAnswer::Backlog => {}
    }
}

pub(super) fn visit_call(call: &mut AgentCall, each: TextVisitor<'_>) {
    let AgentCall {
        kind: _,
        tool,
        what,
        exit: _,
        failed: _,
        bytes: _,
        ms: _,
        at: _,
    } = call;
    each(EventText::Free(tool));
    each(EventText::Free(what));
}

pub(super) fn visit_list(texts: Option<&mut Vec<String>>, each: TextVisitor<'_>) {
    for text in texts.into_iter().flatten() {
        each(EventText::Free(text));
    }
}

pub(super) fn visit_observation(observation: &mut Observation, each: TextVisitor<'_>) {
    let Observation {
        kind: _,
        title,
        description,
        file,
        category: _,
        severity: _,
        action_taken: _,
        related_learning_id: _,
    } = observation;
    each(EventText::Free(title));
    visit_option(description, each);
    visit_option(file, each);
}

pub(super) fn visit_context(context: &mut AttemptContext, each: TextVisitor<'_>) {
    let AttemptContext {
        retry_count: _,
        previous_failure_reason,
        recovery_action: _,
        recovery_guidance,
        dependencies_completed: _,
        blocker_verified: _,
        blocker_valid: _,
    } = context;
    visit_option(previous_failure_reason, each);
    visit_option(recovery_guidance, each);
}

pub(super) fn visit_reported_attempt(told: &mut ReportedAttempt, each: TextVisitor<'_>) {
    let ReportedAttempt {
        attempt: _,
        run: _,
        node: _,
        item: _,
        number: _,
        name: _,
        agent,
        ended_at: _,
        report,
        native,
    } = told;
    each(EventText::Free(agent));
    visit_report(report, each);
    visit_native(native, each);
}

pub(super) fn visit_memory(memory: &mut Memory, each: TextVisitor<'_>) {
    let Memory {
        kind,
        id: _,
        topic: _,
        title,
        content,
        context,
        evidence,
        added_after,
        examples,
        confidence: _,
        source_item: _,
        source_attempt: _,
        learned_at: _,
        external_id: _,
        times_referenced: _,
        native,
    } = memory;
    // A guardrail is found again by its title: it is a name.
    if *kind != MemoryKind::Guardrail {
        visit_option(title, each);
    }
    each(EventText::Free(content));
    visit_option(context, each);
    visit_option(evidence, each);
    visit_option(added_after, each);
    visit_list(Some(examples), each);
    visit_native(native, each);
}

pub(super) fn visit_gate_report(report: &mut GateReport, each: TextVisitor<'_>) {
    let GateReport {
        passed: _,
        interrupted: _,
        exit: _,
        output,
        error,
        tree: _,
        took_s: _,
    } = report;
    each(EventText::Free(output));
    visit_option(error, each);
}

/// What stands in evidence as it was written: commands and sentences.
pub(super) fn visit_evidence<'e>(
    evidence: impl IntoIterator<Item = &'e mut Evidence>,
    each: TextVisitor<'_>,
) {
    for one in evidence {
        match one {
            Evidence::Checked {
                command,
                tree: _,
                means: _,
            } => each(EventText::Free(command)),
            Evidence::Weakened { how } => how.iter_mut().for_each(|one| each(EventText::Free(one))),
            Evidence::GatePassed
            | Evidence::Decided { .. }
            | Evidence::Committed { .. }
            | Evidence::Merged { .. }
            | Evidence::Changed { .. }
            | Evidence::NoneAsked
            | Evidence::Claim
            | Evidence::TakenOver
            | Evidence::Claimed { .. } => {}
        }
    }
}

pub(super) fn visit_entry(entry: &mut Entry, each: TextVisitor<'_>) {
    // A blocker is found again by its spec and task: they are names.
    let Entry {
        kind: _,
        word: _,
        name: _,
        mark: _,
        at: _,
        spec: _,
        task_id: _,
        data,
        native,
    } = entry;
    each(EventText::Named(data));
    visit_native(native, each);
}
