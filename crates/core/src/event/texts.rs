//! Which parts of an event are texts, written freely by people, agents and
//! programs, and may therefore hold a secret.
//!
//! All else is a name, a word of a fixed list, a number or a time: it is
//! compared with others, and means something else once it is changed. No field
//! is passed over by a wildcard, so that a new one is not forgotten here.

use serde_json::{Map, Value};

use super::{
    Change, Event, ItemChanged, ItemMoved, ItemPlanned, ItemsPlaced, RunChanged, RunPlanned,
};
use crate::attempt::{Context, HumanNeeded, Piece, Report, ToldAttempt};
use crate::call::{Call, NotedCall};
use crate::edit::Edit;
use crate::entry::Entry;
use crate::evidence::{Claims, Evidence};
use crate::flags::RunFlags;
use crate::gate::{Gate, GateReport};
use crate::item::Rejection;
use crate::iteration_hook::IterationHook;
use crate::lane::LaneTerms;
use crate::memory::{Memory, MemoryKind};
use crate::merge::{MadeMerge, MergeReturn};
use crate::native::Native;
use crate::observation::Observation;
use crate::plan::{Past, PlannedItem};
use crate::policy::Policy;
use crate::pull_request::PullRequestNews;
use crate::recover::Followed;
use crate::request::{Injection, RequestAnswer, Ruling, WorkRequest};
use crate::review::{AgentReview, ReviewObservation};
use crate::wait::Wait;

/// A text of an event.
pub(crate) enum Text<'e> {
    /// Words, the output of a program, a script.
    Free(&'e mut String),
    /// A document of a native format, which must stay one.
    Document(&'e mut String),
    /// Values under names that somebody chose.
    Named(&'e mut Map<String, Value>),
}

type Each<'a> = &'a mut dyn FnMut(Text<'_>);

impl Event {
    /// Hands over every text of the event, to be changed in place.
    pub(crate) fn texts_mut(&mut self, each: Each<'_>) {
        match self {
            Self::RunPlanned(planned) => run_planned(planned, each),
            Self::ItemPlanned(planned) => item_planned(planned, each),
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
                    MadeMerge {
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
                a_gate(check.as_deref_mut(), each);
                for own in checks.values_mut() {
                    a_gate(own.as_mut(), each);
                }
            }
            Self::MergeQueued {
                run: _,
                node: _,
                work: _,
                evidence,
                review: _,
            } => proofs(evidence, each),
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
                PullRequestNews::Closed { words } => option(words, each),
                PullRequestNews::Words {
                    by: _,
                    words,
                    ids: _,
                } => each(Text::Free(words)),
                PullRequestNews::Held { why } | PullRequestNews::Trouble { why } => {
                    each(Text::Free(why));
                }
                PullRequestNews::Merged { commit: _ }
                | PullRequestNews::MergedBefore { head: _ }
                | PullRequestNews::Open => {}
                PullRequestNews::Lost { why } => each(Text::Free(why)),
            },
            Self::MergeReturned {
                run: _,
                node: _,
                why,
            } => match why {
                MergeReturn::Conflict { files } => {
                    files.iter_mut().for_each(|file| each(Text::Free(file)));
                }
                MergeReturn::Red {
                    command,
                    output,
                    with: _,
                    changed: _,
                } => {
                    each(Text::Free(command));
                    each(Text::Free(output));
                }
                MergeReturn::Unchecked { command, output } => {
                    each(Text::Free(command));
                    each(Text::Free(output));
                }
                MergeReturn::Rejected { by: _, why } => each(Text::Free(why)),
            },
            Self::RunStarted {
                run: _,
                limits: _,
                claims:
                    Claims {
                        rules: _,
                        baseline: _,
                        check: gate,
                        items: _,
                    },
                flags,
                notify: _,
            } => {
                a_gate(gate.as_deref_mut(), each);
                run_flags(flags, each);
            }
            Self::ItemStaged {
                run: _,
                node: _,
                stage: _,
                gate,
            } => a_gate(gate.as_deref_mut(), each),
            Self::RunMoved {
                run: _,
                from: _,
                to: _,
                pause: _,
                at: _,
                reason,
            } => option(reason, each),
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
            } => each(Text::Free(agent)),
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
            } => attempt_report(report, each),
            Self::AttemptJudged {
                attempt: _,
                run: _,
                node: _,
                outcome: _,
                error,
            } => option(error, each),
            Self::GateEnded {
                run: _,
                node: _,
                report,
                evidence,
            } => {
                gate_report(report, each);
                proofs(evidence, each);
            }
            Self::CommitEnded {
                run: _,
                node: _,
                commit: _,
                error,
            } => option(error, each),
            Self::NotificationEnded { subject: _, error } => option(error, each),
            Self::ItemReviewed {
                run: _,
                node: _,
                attempt: _,
                by: _,
                verdict: _,
                why,
            } => option(why, each),
            Self::ItemMoved(moved) => item_moved(moved, each),
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
                each(Text::Free(question));
                option(details, each);
                edits.iter_mut().for_each(|edit| of_edit(edit, each));
                if let Some(request) = request {
                    asked_for(request, each);
                }
            }
            Self::DecisionRevised {
                decision: _,
                question,
                details,
                edits,
            } => {
                each(Text::Free(question));
                option(details, each);
                edits.iter_mut().for_each(|edit| of_edit(edit, each));
            }
            Self::DecisionMade {
                decision: _,
                verb: _,
                why,
                answer,
            } => {
                option(why, each);
                if let Some(answer) = answer {
                    answer_to_request(answer, each);
                }
            }
            Self::DecisionDeferred {
                decision: _,
                until: _,
                phase: _,
                why,
            } => option(why, each),
            Self::ItemChanged(changed) => item_changed(changed, each),
            Self::ItemsPlaced(placed) => {
                let ItemsPlaced { run: _, places: _ } = &**placed;
            }
            Self::RunChanged(changed) => {
                let RunChanged {
                    run: _,
                    native,
                    policy,
                } = &mut **changed;
                document(native, each);
                if let Some(policy) = policy {
                    rules(policy, each);
                }
            }
            Self::EntryLogged(entry) => entry_logged(entry, each),
            Self::AttemptTold(told) | Self::AttemptRevised(told) => attempt_told(told, each),
            Self::EntryRevised {
                position: _,
                entry,
                // Names, as in `BlockerResolved`.
                blocked_before: _,
            } => entry_logged(entry, each),
            Self::MemoryAdded(memory) | Self::MemoryRevised(memory) => remembered(memory, each),
            Self::MemoryRetired {
                id: _,
                why,
                superseded_by: _,
            } => option(why, each),
            Self::MemoryConfirmed { id: _, source: _ }
            | Self::MemoryUsed { ids: _, attempt: _ }
            | Self::MemoryJudged { ids: _, helped: _ } => {}
            Self::BlockerResolved {
                spec: _,
                task_id: _,
                resolution,
            } => each(Text::Free(resolution)),
            Self::CallNoted(noted) => {
                let NotedCall {
                    session: _,
                    item: _,
                    call,
                } = &mut **noted;
                called(call, each);
            }
            Self::FaceTurned {
                path: _,
                face: _,
                on: _,
            } => {}
        }
    }
}

fn option(text: &mut Option<String>, each: Each<'_>) {
    if let Some(text) = text {
        each(Text::Free(text));
    }
}

fn run_planned(planned: &mut RunPlanned, each: Each<'_>) {
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
    document(native, each);
    rules(policy, each);
}

fn rules(policy: &mut Policy, each: Each<'_>) {
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
        each(Text::Free(prompt));
    }
}

fn item_planned(planned: &mut ItemPlanned, each: Each<'_>) {
    let ItemPlanned { run: _, item } = planned;
    planned_item(item, each);
}

fn planned_item(item: &mut PlannedItem, each: Each<'_>) {
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
    option(prompt, each);
    list(Some(&mut scope.0), each);
    a_gate(gate.as_mut(), each);
    a_wait(wait.as_mut(), each);
    document(native, each);
    let Past {
        started_at: _,
        completed_at: _,
        summary,
        error,
        retries: _,
        human,
        pull_request: _,
        pull_request_name: _,
    } = past;
    option(summary, each);
    option(error, each);
    human_needed(human, each);
}

fn run_flags(flags: &mut RunFlags, each: Each<'_>) {
    let RunFlags {
        agent,
        model: _,
        verdict: _,
        workers: _,
        workflows: _,
        ignore: _,
        limits: _,
    } = flags;
    option(agent, each);
}

fn a_wait(wait: Option<&mut Wait>, each: Each<'_>) {
    if let Some(wait) = wait {
        let Wait {
            command,
            every_s: _,
            until: _,
        } = wait;
        option(command, each);
    }
}

fn a_gate(gate: Option<&mut Gate>, each: Each<'_>) {
    if let Some(gate) = gate {
        let Gate {
            script,
            on_fail_prompt,
            runs_max: _,
            timeout_s: _,
        } = gate;
        each(Text::Free(script));
        each(Text::Free(on_fail_prompt));
    }
}

fn item_changed(changed: &mut ItemChanged, each: Each<'_>) {
    let ItemChanged {
        run: _,
        node: _,
        change,
    } = changed;
    match change {
        Change::Prompt(text) | Change::Summary(text) | Change::Answer(text) => option(text, each),
        Change::Gate(gate) => a_gate(gate.as_mut(), each),
        Change::Wait(wait) => a_wait(wait.as_mut(), each),
        Change::Native(native) => document(native, each),
        Change::Scope(scope) => list(Some(&mut scope.0), each),
        Change::Model(_)
        | Change::Breakpoint(_)
        | Change::Retries(_)
        | Change::DependsOn(_)
        | Change::Claims(_)
        | Change::Repository(_)
        | Change::Turn(_)
        | Change::WithoutMerge(_) => {}
    }
}

fn of_edit(edit: &mut Edit, each: Each<'_>) {
    match edit {
        Edit::SetPrompt { node: _, prompt } => option(prompt, each),
        Edit::SetSummary { node: _, summary } => option(summary, each),
        Edit::SetGate { node: _, gate } => a_gate(gate.as_mut(), each),
        Edit::SetWait { node: _, wait } => a_wait(wait.as_mut(), each),
        Edit::Insert {
            parent: _,
            after: _,
            items,
        } => items.iter_mut().for_each(|item| planned_item(item, each)),
        Edit::SetNative { node: _, native } => document(native, each),
        Edit::SetScope { node: _, scope } => list(Some(&mut scope.0), each),
        Edit::AddRequest(request) => asked_for(request, each),
        Edit::AnswerRequest { id: _, answer, why } => {
            answer_to_request(answer, each);
            option(why, each);
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

fn document(native: &mut Option<Native>, each: Each<'_>) {
    if let Some(native) = native {
        let Native {
            face: _,
            version: _,
            body,
        } = native;
        each(Text::Document(body));
    }
}

fn human_needed(human: &mut Option<HumanNeeded>, each: Each<'_>) {
    if let Some(human) = human {
        let HumanNeeded { reason, details } = human;
        each(Text::Free(reason));
        option(details, each);
    }
}

fn attempt_report(report: &mut Report, each: Each<'_>) {
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
        reviewed(review, each);
    }
    for entry in proof.iter_mut().flat_map(|proof| &mut proof.entries) {
        each(Text::Free(&mut entry.entry));
    }
    option(summary, each);
    option(error, each);
    human_needed(human, each);
    for observation in observations {
        noticed(observation, each);
    }
    list(files.as_mut(), each);
    if let Some(context) = context {
        started_from(context, each);
    }
    option(notes, each);
    option(checked, each);
    list(Some(validations), each);
    for piece in pieces {
        let Piece { title, prompt } = piece;
        each(Text::Free(title));
        each(Text::Free(prompt));
    }
    for request in requests {
        asked_for(request, each);
    }
    for call in &mut activity.kept {
        called(call, each);
    }
}

fn reviewed(review: &mut AgentReview, each: Each<'_>) {
    let AgentReview {
        verdict: _,
        summary,
        observations,
    } = review;
    option(summary, each);
    for seen in observations {
        let ReviewObservation {
            file,
            line: _,
            severity,
            message,
        } = seen;
        option(file, each);
        option(severity, each);
        each(Text::Free(message));
    }
}

fn asked_for(request: &mut WorkRequest, each: Each<'_>) {
    let WorkRequest {
        kind: _,
        id: _,
        title,
        fields,
        ruling,
    } = request;
    each(Text::Free(title));
    each(Text::Named(fields));
    if let Some(ruling) = ruling {
        let Ruling { answer, why: _ } = &mut **ruling;
        answer_to_request(answer, each);
    }
}

fn answer_to_request(answer: &mut RequestAnswer, each: Each<'_>) {
    match answer {
        RequestAnswer::Approve(injection) => {
            let Injection {
                position: _,
                prompt,
                model: _,
                id_prefix: _,
                items,
            } = &mut **injection;
            option(prompt, each);
            for item in items.iter_mut().flatten() {
                planned_item(item, each);
            }
        }
        RequestAnswer::Reject | RequestAnswer::Defer(_) | RequestAnswer::Backlog => {}
    }
}

fn called(call: &mut Call, each: Each<'_>) {
    let Call {
        kind: _,
        tool,
        what,
        exit: _,
        failed: _,
        bytes: _,
        ms: _,
        at: _,
    } = call;
    each(Text::Free(tool));
    each(Text::Free(what));
}

fn list(texts: Option<&mut Vec<String>>, each: Each<'_>) {
    for text in texts.into_iter().flatten() {
        each(Text::Free(text));
    }
}

fn noticed(observation: &mut Observation, each: Each<'_>) {
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
    each(Text::Free(title));
    option(description, each);
    option(file, each);
}

fn started_from(context: &mut Context, each: Each<'_>) {
    let Context {
        retry_count: _,
        previous_failure_reason,
        recovery_action: _,
        recovery_guidance,
        dependencies_completed: _,
        blocker_verified: _,
        blocker_valid: _,
    } = context;
    option(previous_failure_reason, each);
    option(recovery_guidance, each);
}

fn attempt_told(told: &mut ToldAttempt, each: Each<'_>) {
    let ToldAttempt {
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
    each(Text::Free(agent));
    attempt_report(report, each);
    document(native, each);
}

fn remembered(memory: &mut Memory, each: Each<'_>) {
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
        option(title, each);
    }
    each(Text::Free(content));
    option(context, each);
    option(evidence, each);
    option(added_after, each);
    list(Some(examples), each);
    document(native, each);
}

fn gate_report(report: &mut GateReport, each: Each<'_>) {
    let GateReport {
        passed: _,
        interrupted: _,
        exit: _,
        output,
        error,
        tree: _,
        took_s: _,
    } = report;
    each(Text::Free(output));
    option(error, each);
}

/// What stands in evidence as it was written: commands and sentences.
fn proofs<'e>(evidence: impl IntoIterator<Item = &'e mut Evidence>, each: Each<'_>) {
    for one in evidence {
        match one {
            Evidence::Checked {
                command,
                tree: _,
                means: _,
            } => each(Text::Free(command)),
            Evidence::Weakened { how } => how.iter_mut().for_each(|one| each(Text::Free(one))),
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

fn item_moved(moved: &mut ItemMoved, each: Each<'_>) {
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
    proofs(evidence, each);
    option(summary, each);
    option(error, each);
    human_needed(human, each);
    option(answer, each);
    if let Some(followed) = recovery {
        let Followed {
            action: _,
            rule: _,
            guidance,
            evidence,
            times: _,
        } = &mut **followed;
        each(Text::Free(guidance));
        list(Some(evidence), each);
    }
    if let Some(rejected) = rejected {
        let Rejection { by: _, why } = &mut **rejected;
        each(Text::Free(why));
    }
}

fn entry_logged(entry: &mut Entry, each: Each<'_>) {
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
    each(Text::Named(data));
    document(native, each);
}
