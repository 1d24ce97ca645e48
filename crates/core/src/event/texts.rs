//! Which parts of an event are texts, written freely by people, agents and
//! programs, and may therefore hold a secret.
//!
//! All else is a name, a word of a fixed list, a number or a time: it is
//! compared with others, and means something else once it is changed. No field
//! is passed over by a wildcard, so that a new one is not forgotten here.

use serde_json::{Map, Value};

use super::{
    Event, ItemChange, ItemChanged, ItemMoved, ItemPlanned, ItemsPlaced, RunChanged, RunPlanned,
};
use crate::attempt::{AttemptContext, HumanNeeded, Report, ReportedAttempt, SplitPiece};
use crate::call::{AgentCall, SessionCall};
use crate::edit::Edit;
use crate::entry::Entry;
use crate::evidence::{ClaimSettings, Evidence};
use crate::flags::RunFlags;
use crate::gate::{Gate, GateReport};
use crate::item::Rejection;
use crate::iteration_hook::IterationHook;
use crate::lane::LaneTerms;
use crate::memory::{Memory, MemoryKind};
use crate::merge::{MergeCommit, MergeReturn};
use crate::native::Native;
use crate::observation::Observation;
use crate::plan::{ImportedItemHistory, PlannedItem};
use crate::policy::Policy;
use crate::pull_request::PullRequestNews;
use crate::recover::FollowedRecovery;
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

type TextVisitor<'a> = &'a mut dyn FnMut(EventText<'_>);

impl Event {
    /// Hands over every text of the event, to be changed in place.
    pub(crate) fn visit_texts_mut(&mut self, each: TextVisitor<'_>) {
        match self {
            Self::RunPlanned(planned) => visit_run_planned(planned, each),
            Self::ItemPlanned(planned) => visit_item_planned(planned, each),
            Self::LeaseTaken {
                run: _,
                owner: _,
                token: _,
                joins: _,
            }
            | Self::LaneTaken {
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
            }
            | Self::RunTargeted {
                run: _,
                repository: _,
                branch: _,
                base: _,
                onto: _,
                path: _,
                was_there: _,
            }
            | Self::LandStarted {
                run: _,
                commit: _,
                onto: _,
                at: _,
            }
            | Self::RunLanded {
                run: _,
                commit: _,
                onto: _,
                at: _,
            }
            | Self::LeaseLost {
                run: _,
                owner: _,
                token: _,
            }
            | Self::LeaseReleased { run: _, token: _ }
            | Self::RunAsked {
                run: _,
                request: _,
                by: _,
            }
            | Self::GateStarted {
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
            | Self::ItemSkipAsked { run: _, node: _ }
            | Self::NotificationStarted {
                subject: _,
                again: _,
            }
            | Self::ItemClaimed {
                run: _,
                node: _,
                by: _,
            } => {}
            Self::LanesEntered { run: _, terms } => {
                let LaneTerms {
                    check,
                    checks,
                    review: _,
                    pull_requests: _,
                } = &mut **terms;
                visit_gate(check.as_deref_mut(), each);
                for own in checks.values_mut() {
                    visit_gate(own.as_mut(), each);
                }
            }
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
            Self::RunStarted {
                run: _,
                limits: _,
                claims:
                    ClaimSettings {
                        rules: _,
                        baseline: _,
                        check: gate,
                        items: _,
                    },
                flags,
                notify: _,
            } => {
                visit_gate(gate.as_deref_mut(), each);
                visit_run_flags(flags, each);
            }
            Self::ItemStaged {
                run: _,
                node: _,
                stage: _,
                gate,
            } => visit_gate(gate.as_deref_mut(), each),
            Self::RunMoved {
                run: _,
                from: _,
                to: _,
                pause: _,
                at: _,
                reason,
            } => visit_option(reason, each),
            Self::AttemptStarted {
                attempt: _,
                run: _,
                node: _,
                fence: _,
                number: _,
                role: _,
                agent,
                model: _,
                iteration: _,
                name: _,
                memories: _,
                tree: _,
                baseline: _,
                hook: _,
            } => each(EventText::Free(agent)),
            Self::AttemptEnded {
                attempt: _,
                run: _,
                node: _,
                report,
                unchecked: _,
            }
            | Self::AttemptAnswered {
                attempt: _,
                run: _,
                node: _,
                answer: report,
            } => visit_report(report, each),
            Self::AttemptJudged {
                attempt: _,
                run: _,
                node: _,
                outcome: _,
                error,
            } => visit_option(error, each),
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
            Self::NotificationEnded { subject: _, error } => visit_option(error, each),
            Self::ItemReviewed {
                run: _,
                node: _,
                attempt: _,
                by: _,
                verdict: _,
                why,
            } => visit_option(why, each),
            Self::ItemMoved(moved) => visit_item_moved(moved, each),
            Self::DecisionOpened {
                decision: _,
                number: _,
                decision_kind: _,
                run: _,
                node: _,
                file: _,
                memory: _,
                question,
                details,
                ways: _,
                edits,
                request,
            } => {
                each(EventText::Free(question));
                visit_option(details, each);
                edits.iter_mut().for_each(|edit| visit_edit(edit, each));
                if let Some(request) = request {
                    visit_request(request, each);
                }
            }
            Self::DecisionRevised {
                decision: _,
                question,
                details,
                edits,
            } => {
                each(EventText::Free(question));
                visit_option(details, each);
                edits.iter_mut().for_each(|edit| visit_edit(edit, each));
            }
            Self::DecisionMade {
                decision: _,
                verb: _,
                why,
                answer,
            } => {
                visit_option(why, each);
                if let Some(answer) = answer {
                    visit_request_answer(answer, each);
                }
            }
            Self::DecisionDeferred {
                decision: _,
                until: _,
                phase: _,
                why,
            } => visit_option(why, each),
            Self::ItemChanged(changed) => visit_item_changed(changed, each),
            Self::ItemsPlaced(placed) => {
                let ItemsPlaced { run: _, places: _ } = &**placed;
            }
            Self::RunChanged(changed) => {
                let RunChanged {
                    run: _,
                    native,
                    policy,
                } = &mut **changed;
                visit_native(native, each);
                if let Some(policy) = policy {
                    visit_policy(policy, each);
                }
            }
            Self::EntryLogged(entry) => visit_entry(entry, each),
            Self::AttemptTold(told) | Self::AttemptRevised(told) => {
                visit_reported_attempt(told, each)
            }
            Self::EntryRevised {
                position: _,
                entry,
                // Names, as in `BlockerResolved`.
                blocked_before: _,
            } => visit_entry(entry, each),
            Self::MemoryAdded(memory) | Self::MemoryRevised(memory) => visit_memory(memory, each),
            Self::MemoryRetired {
                id: _,
                why,
                superseded_by: _,
            } => visit_option(why, each),
            Self::MemoryConfirmed { id: _, source: _ }
            | Self::MemoryUsed { ids: _, attempt: _ }
            | Self::MemoryJudged { ids: _, helped: _ } => {}
            Self::BlockerResolved {
                spec: _,
                task_id: _,
                resolution,
            } => each(EventText::Free(resolution)),
            Self::CallNoted(noted) => {
                let SessionCall {
                    session: _,
                    item: _,
                    call,
                } = &mut **noted;
                visit_call(call, each);
            }
            Self::FaceTurned {
                path: _,
                face: _,
                on: _,
            } => {}
        }
    }
}

fn visit_option(text: &mut Option<String>, each: TextVisitor<'_>) {
    if let Some(text) = text {
        each(EventText::Free(text));
    }
}

fn visit_run_planned(planned: &mut RunPlanned, each: TextVisitor<'_>) {
    let RunPlanned {
        run: _,
        name: _,
        face: _,
        source: _,
        policy,
        order: _,
        native,
        past: _,
    } = planned;
    visit_native(native, each);
    visit_policy(policy, each);
}

fn visit_policy(policy: &mut Policy, each: TextVisitor<'_>) {
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

fn visit_item_planned(planned: &mut ItemPlanned, each: TextVisitor<'_>) {
    let ItemPlanned { run: _, item } = planned;
    visit_planned_item(item, each);
}

fn visit_planned_item(item: &mut PlannedItem, each: TextVisitor<'_>) {
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
    } = item;
    visit_option(prompt, each);
    visit_list(Some(&mut scope.0), each);
    visit_gate(gate.as_mut(), each);
    visit_wait(wait.as_mut(), each);
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

fn visit_run_flags(flags: &mut RunFlags, each: TextVisitor<'_>) {
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

fn visit_wait(wait: Option<&mut Wait>, each: TextVisitor<'_>) {
    if let Some(wait) = wait {
        let Wait {
            command,
            every_s: _,
            until: _,
        } = wait;
        visit_option(command, each);
    }
}

fn visit_gate(gate: Option<&mut Gate>, each: TextVisitor<'_>) {
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
        ItemChange::Model(_)
        | ItemChange::Breakpoint(_)
        | ItemChange::Retries(_)
        | ItemChange::DependsOn(_)
        | ItemChange::Claims(_)
        | ItemChange::Repository(_)
        | ItemChange::Turn(_)
        | ItemChange::WithoutMerge(_) => {}
    }
}

fn visit_edit(edit: &mut Edit, each: TextVisitor<'_>) {
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

fn visit_native(native: &mut Option<Native>, each: TextVisitor<'_>) {
    if let Some(native) = native {
        let Native {
            face: _,
            version: _,
            body,
        } = native;
        each(EventText::Document(body));
    }
}

fn visit_human_needed(human: &mut Option<HumanNeeded>, each: TextVisitor<'_>) {
    if let Some(human) = human {
        let HumanNeeded { reason, details } = human;
        each(EventText::Free(reason));
        visit_option(details, each);
    }
}

fn visit_report(report: &mut Report, each: TextVisitor<'_>) {
    let Report {
        outcome: _,
        summary,
        error,
        category: _,
        human,
        process: _,
        usage: _,
        transcript: _,
        cannot_start: _,
        observations,
        files,
        commits: _,
        tree_before: _,
        tree_after: _,
        context,
        duration_s: _,
        notes,
        checked,
        screenshots: _,
        lacks_screenshot: _,
        validations,
        pieces,
        requests,
        trouble: _,
        resets_at: _,
        conversation: _,
        models: _,
        activity,
        diff: _,
        can_be_asked: _,
        proof,
        review,
    } = report;
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

fn visit_review(review: &mut AgentReview, each: TextVisitor<'_>) {
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

fn visit_request(request: &mut WorkRequest, each: TextVisitor<'_>) {
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

fn visit_request_answer(answer: &mut RequestAnswer, each: TextVisitor<'_>) {
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

fn visit_call(call: &mut AgentCall, each: TextVisitor<'_>) {
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

fn visit_list(texts: Option<&mut Vec<String>>, each: TextVisitor<'_>) {
    for text in texts.into_iter().flatten() {
        each(EventText::Free(text));
    }
}

fn visit_observation(observation: &mut Observation, each: TextVisitor<'_>) {
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

fn visit_context(context: &mut AttemptContext, each: TextVisitor<'_>) {
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

fn visit_reported_attempt(told: &mut ReportedAttempt, each: TextVisitor<'_>) {
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

fn visit_memory(memory: &mut Memory, each: TextVisitor<'_>) {
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

fn visit_gate_report(report: &mut GateReport, each: TextVisitor<'_>) {
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
fn visit_evidence<'e>(evidence: impl IntoIterator<Item = &'e mut Evidence>, each: TextVisitor<'_>) {
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

fn visit_entry(entry: &mut Entry, each: TextVisitor<'_>) {
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
