//! The merge queue: how the work of a unit gets to the target of the run.
//!
//! One merge is under way at a time. It is made in git's objects, checked in a lane
//! of its own, and then the target is moved to it by compare-and-swap.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use piton_core::attempt::{Outcome, Report};
use piton_core::classify::FailureCategory;
use piton_core::gate::{Gate, is_script_unrunnable};
use piton_core::lane::TargetRow;
use piton_core::merge::{MergeCommit, MergeReturn, MergeStep};
use piton_core::redact::Redactor;
use piton_core::run_loop::{Input, MergeEnd};
use piton_core::{ItemRow, Node, Rows, tables_after_merge};
use piton_formats::merge::{MergeVersions, merge_preferring_ours};
use piton_formats::plan_file::{self, PlanFile};

use super::active_work::{ActiveWork, GitCallEnd, MergeAttempt, MergeCheck, WorkPurpose};
use super::held_lanes::HeldLane;
use super::lanes::failure_of_lane;
use super::run_facts::commit_mark;
use super::runner_state::Runner;
use super::target_branch::{refuse_checked_out, target_moved_failure};
use crate::failpoint;
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git::{
    self, GitControl, GitMergeOutcome, MergeSpec, OwnPaths, RefMove, RefStep, WorktreeState,
};
use crate::native_files::plan_sync::{open_plan_file, remove_open_agent_edits};
use crate::process::ProcessExit;
use crate::runner::lane_pool::{
    Lane, LaneOccupant, LanePreparation, LaneStart, Pool, PreparedLane, QUEUE,
};

/// A plan file with the mark of a unit, made of the version at a commit.
struct MarkedPlanFile {
    at: String,
    path: String,
    text: String,
}

impl MarkedPlanFile {
    fn into_file(self) -> (String, Vec<u8>) {
        (self.path, self.text.into_bytes())
    }
}

/// What a merge is made of, and where.
struct MergeOrder {
    /// The work tree of the repository.
    main: PathBuf,
    /// The same where that is not the one of the project.
    other: Option<PathBuf>,
    target: TargetRow,
    pool: Pool,
    /// The lane of the queue.
    lane: Arc<Lane>,
    /// Whether that lane is ready.
    is_ready: bool,
    taken: LaneOccupant,
    redactor: Redactor,
    /// The commit of the work.
    work: String,
    own: OwnPaths,
    shown: Option<MarkedPlanFile>,
    /// The tree on which the check of the work passed, if it did.
    checked: Option<String>,
    message: String,
}

impl MergeOrder {
    fn make_merge(self, by: &GitControl<'_>) -> Result<MergeAttempt, Failure> {
        let (main, target, other) = (&self.main, &self.target, self.other.as_deref());
        refuse_checked_out(main, other, target)?;
        let onto = git::read_ref(main, &format!("refs/heads/{}", target.branch))?;
        let onto = match onto {
            Some(at) if git::is_built_on(main, &at, &target.tip)? => at,
            elsewhere => return Err(target_moved_failure(other, target, elsewhere)),
        };
        let prepared = match self.is_ready {
            true => None,
            false => Some(self.prepare_lane(&onto, by)?),
        };
        // Shown in the text of another commit it is in none of this one.
        let put = self.shown.filter(|shown| shown.at == onto);
        let put: Vec<(String, Vec<u8>)> = put.into_iter().map(MarkedPlanFile::into_file).collect();
        let order = MergeSpec {
            onto: &onto,
            work: &self.work,
            own: &self.own,
            put: &put,
            checked: self.checked.as_deref(),
            message: &self.message,
        };
        let outcome = git::merge_commits(&self.lane.tree, &order, by)?;
        failpoint::point("merge.made");
        Ok(MergeAttempt {
            onto,
            outcome,
            prepared,
        })
    }

    fn prepare_lane(&self, onto: &str, by: &GitControl<'_>) -> Result<PreparedLane, Failure> {
        let order = LanePreparation {
            taken: &self.taken,
            from: onto,
            start: LaneStart::Clean,
            marks: &[],
            recorded: &[],
            by,
            redactor: &self.redactor,
        };
        self.pool
            .prepare_lane(&self.lane, &order)
            .map_err(failure_of_lane)
    }
}

fn merge_ended(node: Node, end: MergeEnd) -> Vec<Input> {
    vec![Input::MergeEnded { node, end }]
}

impl Runner<'_, '_> {
    /// Makes a merge of the work of a unit and the target, beside the runner.
    pub(super) fn make_merge(&mut self, node: &Node) -> Result<Vec<Input>, Failure> {
        let Some((item, merge)) = self.queued_merge(node) else {
            return Ok(merge_ended(node.clone(), MergeEnd::Stopped));
        };
        let Some(target) = self.target_of_item(node) else {
            return Ok(merge_ended(node.clone(), MergeEnd::Stopped));
        };
        let merge_lane = match self.take_merge_lane(node) {
            Ok(lane) => lane,
            Err(failure) => return Ok(vec![self.record_merge_fault(node.clone(), failure)]),
        };
        let Some((pool, held)) = merge_lane else {
            return Ok(merge_ended(node.clone(), MergeEnd::Stopped));
        };
        let shown = match self.plan_file_with_mark(node, &target) {
            Ok(shown) => shown,
            Err(failure) => return Ok(vec![self.record_merge_fault(node.clone(), failure)]),
        };
        let order = MergeOrder {
            main: self.main_tree_of_item(node),
            other: self.other_tree_of_item(node),
            target,
            pool,
            is_ready: self.is_merge_lane_ready(node, &held),
            lane: held.lane,
            taken: self.lane_taking(&Node::from_text(QUEUE), self.lp.token()),
            redactor: self.session.world.redactor(),
            work: merge.work,
            own: self.native_file_paths_at(node),
            shown,
            checked: item.checked_tree().cloned(),
            message: format!("{}: merge {}", self.prompts.sprint_id, item.plan.id),
        };
        self.start_git_calls(node, commit_mark(self.row.id, node), move |by| {
            GitCallEnd::Merged(order.make_merge(by).map(Box::new))
        });
        Ok(Vec::new())
    }

    pub(super) fn handle_made_merge(
        &mut self,
        node: Node,
        tried: Result<Box<MergeAttempt>, Failure>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Input {
        let tried = match tried {
            Ok(tried) => *tried,
            Err(failure) => return self.record_merge_fault(node, failure),
        };
        if let Some(prepared) = tried.prepared {
            for warning in &prepared.warnings {
                tell(Notice::Warning(warning));
            }
            self.record_merge_lane(&node, prepared);
        }
        let step = match tried.outcome {
            // A check that the item has got since runs on what is there.
            GitMergeOutcome::Nothing { onto, tree } if self.needs_check(&node) => {
                MergeStep::Start {
                    made: MergeCommit {
                        onto: onto.clone(),
                        commit: onto,
                        tree,
                    },
                    is_checked: false,
                }
            }
            GitMergeOutcome::Nothing { onto, .. } => MergeStep::Nothing { at: onto },
            GitMergeOutcome::Conflict { files } => MergeStep::Return {
                why: MergeReturn::Conflict { files },
            },
            GitMergeOutcome::Made {
                commit,
                tree,
                is_checked,
            } => {
                self.work.checked_in_lane = is_checked.then(|| commit.clone());
                MergeStep::Start {
                    made: MergeCommit {
                        onto: tried.onto,
                        commit,
                        tree,
                    },
                    is_checked,
                }
            }
        };
        let end = MergeEnd::Step(step);
        Input::MergeEnded { node, end }
    }

    /// Puts the merged tree into the lane of the queue, beside the runner; its
    /// checks follow.
    pub(super) fn check_merge(&mut self, node: &Node) -> Result<Vec<Input>, Failure> {
        let made = self.queued_merge(node).and_then(|(_, merge)| merge.made);
        let merge_lane = match self.take_merge_lane(node) {
            Ok(lane) => lane,
            Err(failure) => return Ok(vec![self.record_merge_fault(node.clone(), failure)]),
        };
        let Some((made, (pool, held))) = made.zip(merge_lane) else {
            return Ok(merge_ended(node.clone(), MergeEnd::Stopped));
        };
        let taken = self.lane_taking(&Node::from_text(QUEUE), self.lp.token());
        let redactor = self.session.world.redactor();
        let is_ready = self.is_merge_lane_ready(node, &held);
        self.start_git_calls(node, commit_mark(self.row.id, node), move |by| {
            let order = LanePreparation {
                taken: &taken,
                from: &made.commit,
                start: LaneStart::Clean,
                marks: &[],
                recorded: &[],
                by,
                redactor: &redactor,
            };
            let prepared = match is_ready {
                true => {
                    git::restore_merge_worktree(&held.lane.tree, &made.commit, by).map(|()| None)
                }
                false => pool
                    .prepare_lane(&held.lane, &order)
                    .map(Some)
                    .map_err(failure_of_lane),
            };
            GitCallEnd::Checkable(prepared)
        });
        Ok(Vec::new())
    }

    pub(super) fn handle_checkable_merge(
        &mut self,
        node: Node,
        prepared: Result<Option<PreparedLane>, Failure>,
    ) -> Result<Vec<Input>, Failure> {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => return Ok(vec![self.record_merge_fault(node, failure)]),
        };
        if let Some(prepared) = prepared {
            self.record_merge_lane(&node, prepared);
        }
        let Some((item, merge)) = self.queued_merge(&node) else {
            return Ok(merge_ended(node, MergeEnd::Stopped));
        };
        let made = merge.made.map(|made| made.commit);
        let is_checked = made.is_some() && made == self.work.checked_in_lane;
        let passed_in_lane = is_checked && !item.is_missing_check();
        let own = item.required_checks().filter(|_| !passed_in_lane).cloned();
        let lanes = self.lp.run().and_then(|row| row.branches.lanes.as_ref());
        let of_run =
            lanes.and_then(|lanes| lanes.terms.check_in_repository(item.repository_of_work()));
        let of_run = of_run.cloned();
        let gates = own.chain(of_run).collect();
        self.start_next_check(&node, gates)
    }

    /// Starts the next check of a merged tree.
    fn start_next_check(
        &mut self,
        node: &Node,
        mut gates: VecDeque<Gate>,
    ) -> Result<Vec<Input>, Failure> {
        let Some(gate) = gates.pop_front() else {
            let end = MergeEnd::Step(MergeStep::Pass);
            return Ok(merge_ended(node.clone(), end));
        };
        let lanes = self.lanes.as_ref();
        let held =
            lanes.and_then(|lanes| lanes.merges.get(&self.repository_of_item(node)).cloned());
        let item = self.lp.tables().item(self.row.id, node).cloned();
        let Some((held, item)) = held.zip(item) else {
            return Ok(merge_ended(node.clone(), MergeEnd::Stopped));
        };
        let mut spec = self.spec_of_gate(&gate, &item, held.lane.tree.clone())?;
        let prepared = held.prepared.iter();
        spec.env
            .extend(prepared.flat_map(|ready| ready.env.clone()));
        let script = gate.script.clone();
        let purpose = WorkPurpose::MergeCheck(Box::new(MergeCheck {
            mark: spec.mark.clone(),
            gate,
            left: gates,
        }));
        Ok(match self.start_process(spec, node, None, purpose)? {
            Ok(()) => Vec::new(),
            Err(error) => {
                let output = format!("the script cannot be started: {error}");
                merge_ended(node.clone(), unrunnable_check_end(script, output))
            }
        })
    }

    pub(super) fn handle_checked_merge(
        &mut self,
        work: &ActiveWork,
        check: &MergeCheck,
        exit: &ProcessExit,
    ) -> Result<Vec<Input>, Failure> {
        let node = work.node.clone();
        let report = self.report_of_check(
            &check.mark,
            exit,
            work.asked.is_some(),
            check.gate.timeout_s,
        )?;
        if report.interrupted {
            return Ok(merge_ended(node, MergeEnd::Stopped));
        }
        if !report.passed {
            let script = check.gate.script.clone();
            let could_run = !is_script_unrunnable(report.exit);
            let output = match report.error {
                Some(error) => format!("{}\n{error}", report.output),
                None => report.output,
            };
            let end = match could_run {
                true => failed_check_end(script, output),
                false => unrunnable_check_end(script, output),
            };
            return Ok(merge_ended(node, end));
        }
        self.start_next_check(&node, check.left.clone())
    }

    /// Moves the target to a merge that passed, beside the runner.
    pub(super) fn move_target(&mut self, node: &Node) -> Vec<Input> {
        let made = self.queued_merge(node).and_then(|(_, merge)| merge.made);
        let Some((made, target)) = made.zip(self.target_of_item(node)) else {
            return merge_ended(node.clone(), MergeEnd::Stopped);
        };
        let main = self.main_tree_of_item(node);
        let other = self.other_tree_of_item(node);
        self.start_git_calls(node, commit_mark(self.row.id, node), move |by| {
            let name = format!("refs/heads/{}", target.branch);
            let step = RefStep {
                from: Some(&made.onto),
                to: Some(&made.commit),
            };
            failpoint::point("merge.before-move");
            let free = refuse_checked_out(&main, other.as_deref(), &target);
            let moved = free.and_then(|()| git::move_ref(&main, &name, step, by));
            let moved = moved.and_then(|moved| {
                failpoint::point("merge.moved");
                Ok(match moved {
                    RefMove::Moved => MergeStep::End,
                    RefMove::Elsewhere(Some(at)) if git::is_built_on(&main, &at, &made.commit)? => {
                        MergeStep::End
                    }
                    RefMove::Elsewhere(_) => MergeStep::Requeue,
                })
            });
            GitCallEnd::Moved(moved)
        });
        Vec::new()
    }

    pub(super) fn handle_moved_target(
        &mut self,
        node: Node,
        step: Result<MergeStep, Failure>,
    ) -> Input {
        match step {
            Ok(step) => Input::MergeEnded {
                node,
                end: MergeEnd::Step(step),
            },
            Err(failure) => self.record_merge_fault(node, failure),
        }
    }

    /// An agent that was to bring two sides together, and left both in a file, has
    /// not done it.
    pub(super) fn check_conflict_markers(&self, node: &Node, tree: &Path, report: &mut Report) {
        let item = self.lp.tables().item(self.row.id, node);
        let why = item.and_then(|item| item.merge()?.why.as_ref());
        let Some(MergeReturn::Conflict { files }) = why else {
            return;
        };
        if report.outcome != Outcome::Completed {
            return;
        }
        let left = git::files_with_conflict_markers(tree, files);
        if left.is_empty() {
            return;
        }
        report.outcome = Outcome::Failed;
        report.category = Some(FailureCategory::Validation);
        report.error = Some(format!(
            "both sides still stand between git's markers in {}",
            left.join(", ")
        ));
    }

    /// The plan file with the mark of a unit, where git tracks that file: it is part
    /// of the merge.
    fn plan_file_with_mark(
        &self,
        node: &Node,
        target: &TargetRow,
    ) -> Result<Option<MarkedPlanFile>, Failure> {
        let (project, run) = (&self.session.project, self.row.id);
        let path = PlanFile::path_of_run(&self.row);
        let is_here = self.repository_of_item(node).is_none();
        let Some(path) = path.filter(|path| is_here && project.is_tracked(path)) else {
            return Ok(None);
        };
        let main = &project.work_tree;
        let inner = project.path_in_work_tree(&path);
        let at = git::read_ref(main, &format!("refs/heads/{}", target.branch))?;
        let Some((inner, at)) = inner.zip(at) else {
            return Ok(None);
        };
        let Some(present) = git::stored_text(main, &at, &inner)? else {
            return Ok(None);
        };
        let rows = Rows {
            tables: self.lp.tables().clone(),
            ..self.session.load(&[])?
        };
        let mut tables = tables_after_merge(&rows, run, node, &self.current_facts());
        remove_open_agent_edits(&mut tables, run);
        let Some(mut plan) = open_plan_file(project, &tables, run) else {
            return Ok(None);
        };
        // What cannot be shown in that version of the file is shown when it can.
        let mut text = plan
            .render(Some(&present), &tables, rows.now)
            .ok()
            .flatten();
        // Of an item that an agent added a list has what only its agent wrote of it.
        let work = self.queued_merge(node).map(|(_, merge)| merge.work);
        let work = work.filter(|_| plan.format().is_one_file());
        if let (Some(shown), Some(work)) = (&text, work)
            && let Some(merged) = merge_work_into_plan(main, &inner, &present, &at, &work)?
            && let Ok(Some(merged)) = plan.render(Some(&merged), &tables, rows.now)
        {
            let of = plan_file::ShownRun {
                file: &inner,
                tables: &tables,
                run,
            };
            let said = plan.collect_edits(Some(shown), &merged, of, rows.now);
            let is_known = said.is_ok_and(|said| said.edits.is_empty() && said.removed.is_empty());
            text = text.map(|shown| if is_known { merged } else { shown });
        }
        let text = text.filter(|text| *text != present);
        Ok(text.map(|text| MarkedPlanFile {
            at,
            path: inner,
            text,
        }))
    }

    /// The lane in which merges of the repository of a unit are made, taken when the first
    /// is.
    fn take_merge_lane(&mut self, node: &Node) -> Result<Option<(Pool, HeldLane)>, Failure> {
        let repository = self.repository_of_item(node);
        let Some(pool) = self.pool_of_unit(node).cloned() else {
            return Ok(None);
        };
        let known = self.lanes.as_ref();
        let known = known
            .and_then(|lanes| lanes.merges.get(&repository))
            .cloned();
        let held = match known {
            Some(held) => held,
            None => HeldLane::new(self.take_free_lane(&Node::from_text(QUEUE), &pool)?),
        };
        let Some(lanes) = &mut self.lanes else {
            return Ok(None);
        };
        lanes.merges.insert(repository, held.clone());
        Ok(Some((pool, held)))
    }

    /// Notes what came of making the lane ready in which a unit is merged.
    fn record_merge_lane(&mut self, node: &Node, prepared: PreparedLane) {
        let repository = self.repository_of_item(node);
        let lanes = self.lanes.as_mut();
        if let Some(held) = lanes.and_then(|lanes| lanes.merges.get_mut(&repository)) {
            held.prepared = Some(Arc::new(prepared));
        }
    }

    /// Whether the lane of the queue was made ready and is still there.
    fn is_merge_lane_ready(&self, node: &Node, held: &HeldLane) -> bool {
        let state = git::worktree_state(&self.main_tree_of_item(node), &held.lane.tree);
        held.prepared.is_some() && matches!(state, WorktreeState::Sound { .. })
    }

    /// The commit that the target is at after a step of the queue which ends a merge.
    pub(super) fn target_commit_after(&self, node: &Node, step: &MergeStep) -> Option<String> {
        match step {
            MergeStep::End => Some(self.queued_merge(node)?.1.made?.commit),
            MergeStep::Nothing { at } => Some(at.clone()),
            MergeStep::Start { .. }
            | MergeStep::Pass
            | MergeStep::Return { .. }
            | MergeStep::Requeue => None,
        }
    }

    fn needs_check(&self, node: &Node) -> bool {
        let item = self.lp.tables().item(self.row.id, node);
        item.is_some_and(ItemRow::needs_check)
    }

    fn queued_merge(&self, node: &Node) -> Option<(ItemRow, piton_core::merge::MergeRow)> {
        let item = self.lp.tables().item(self.row.id, node)?;
        Some((item.clone(), item.merge()?.clone()))
    }

    fn record_merge_fault(&mut self, node: Node, failure: Failure) -> Input {
        let end = MergeEnd::Fault(failure.message.clone());
        self.fault.get_or_insert(failure);
        Input::MergeEnded { node, end }
    }
}

/// The plan file as it is at a commit, with what the work changed in it; none where
/// that is nothing, or cannot be told.
fn merge_work_into_plan(
    main: &Path,
    path: &str,
    present: &str,
    at: &str,
    work: &str,
) -> Result<Option<String>, Failure> {
    let Some(base) = git::merge_base(main, at, work)? else {
        return Ok(None);
    };
    let base = git::stored_text(main, &base, path)?;
    let theirs = git::stored_text(main, work, path)?;
    let merged = base.zip(theirs).and_then(|(base, theirs)| {
        let versions = MergeVersions {
            base: &base,
            ours: present,
            theirs: &theirs,
        };
        merge_preferring_ours(path, versions)
    });
    Ok(merged.filter(|merged| merged != present))
}

fn failed_check_end(command: String, output: String) -> MergeEnd {
    let with = Vec::new();
    MergeEnd::Step(MergeStep::Return {
        why: MergeReturn::Red {
            command,
            output,
            with,
            changed: false,
        },
    })
}

fn unrunnable_check_end(command: String, output: String) -> MergeEnd {
    MergeEnd::Step(MergeStep::Return {
        why: MergeReturn::Unchecked { command, output },
    })
}
