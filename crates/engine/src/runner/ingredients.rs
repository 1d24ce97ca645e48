//! What the prompt of an attempt is made of: gathered from the rows of the run,
//! the attempts at the items that matter, the file of the plan and git.
//!
//! What of it matters is chosen in `piton_core::earlier_work`; how it is written:
//! [`crate::agents::prompt`].

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;

use piton_core::earlier_work::{
    earlier_done_items, earlier_findings, failed_tries_of_item, last_interrupted_attempt,
    last_open_question,
};
use piton_core::evidence::Evidence;
use piton_core::gate::Gate;
use piton_core::memory::UnconfirmedPolicy;
use piton_core::quote::first_line;
use piton_core::{AttemptRow, Command, ItemRow, Need, Node, Role, TreePosition};
use piton_formats::plan_file::{PlanFile, PlanFileNotes};
use piton_formats::problem::SourceText;

use super::own_work::PITON;
use super::runner_state::{Runner, StartingAttempt};
use crate::agents::prompt::{
    self, CommitBy, DoneItem, LaterCheck, Level, OwnWorktree, PromptHistory, PromptInput,
    PromptRepositories, ReportBy,
};
use crate::failure::Failure;
use crate::failure::notice::Notice;
use crate::git;
use crate::memory::preparation::{self, BlockerScope, PrepareRequest, TOKENS};
use crate::world::input;

/// So many items that were done are told.
const DONE_MAX: usize = 8;
/// So many findings of earlier attempts are told.
const NOTICED_MAX: usize = 8;
/// Most of the file of a plan that is read for what it says of the whole.
const PLAN_BYTES_MAX: u64 = 4 << 20;
/// Longest line that is told of a piece, in characters.
const PIECE_CHARS_MAX: usize = 200;

impl Runner<'_, '_> {
    /// The prompt of an attempt that was just recorded as started.
    pub(super) fn render_prompt(
        &self,
        item: &ItemRow,
        role: Role,
        goes_on: bool,
    ) -> Result<String, Failure> {
        let is_work = matches!(role, Role::Worker | Role::GateFix | Role::Reviewer);
        let context = if self.has_plan_folder() {
            prompt::read_context(&self.session.project, &self.plan_folder())
        } else {
            Vec::new()
        };
        let (told, brief) = self.apply_role_text(item);
        let ingredients = PromptInput {
            iteration: self
                .lp
                .run()
                .map_or(1, |row| row.invocation.iterations_total),
            levels: self.levels_of_item(item),
            context,
            known: self
                .work
                .starting
                .get(&item.node)
                .and_then(|starting| starting.prepared.clone()),
            // What failed before is no matter of a reviewer.
            past: match role {
                Role::Reviewer => PromptHistory::default(),
                Role::Worker
                | Role::GateFix
                | Role::Repair
                | Role::Split
                | Role::Verdict
                | Role::IterationHook
                | Role::Resolve => self.collect_past(item, goes_on)?,
            },
            about: if is_work {
                self.plan_file_context(item)
            } else {
                PlanFileNotes::default()
            },
            later_check: self.later_check(item),
            worktree: self.own_worktree(item),
            commit_by: self.commit_by(),
            report_by: self.report_by(item),
            pieces: self.describe_pieces(item),
            goes_on,
            claimed_at: self.node_of_claim(item)?,
            brief,
            review: self.review_context(item, role),
            ..PromptInput::of_first_attempt(&self.prompts.sprint_id, &told)
        };
        Ok(match role {
            Role::Worker => prompt::render_worker_prompt(&self.prompts.templates, &ingredients),
            Role::Resolve => prompt::render_resolve_prompt(&self.prompts.templates, &ingredients),
            Role::GateFix => prompt::render_gate_fix_prompt(&self.prompts.templates, &ingredients),
            Role::Repair => prompt::render_repair_prompt(&self.prompts.templates, &ingredients),
            Role::Split => prompt::render_split_prompt(&self.prompts.templates, &ingredients),
            Role::Verdict => prompt::render_verdict_prompt(&self.prompts.templates, &ingredients),
            Role::Reviewer => prompt::render_review_prompt(&self.prompts.templates, &ingredients),
            Role::IterationHook => self.render_hook_prompt(item)?,
        })
    }

    /// The item, and how its role does the work on it: in the words of the project where
    /// that has some, which are the whole task where the format has none beside those of
    /// the item.
    fn apply_role_text<'i>(
        &self,
        item: &'i ItemRow,
    ) -> (Cow<'i, ItemRow>, Option<Cow<'static, str>>) {
        let role = self.role_of_item(item);
        let brief = role.as_ref().and_then(|role| role.brief);
        let text = role.and_then(|role| self.role_text(&role));
        match (text, brief) {
            (Some(text), None) => {
                let mut told = item.clone();
                told.plan.prompt = Some(text);
                (Cow::Owned(told), None)
            }
            (Some(text), Some(_)) => (Cow::Borrowed(item), Some(Cow::Owned(text))),
            (None, brief) => (Cow::Borrowed(item), brief.map(Cow::Borrowed)),
        }
    }

    /// Phase, step and sub-phase of an item.
    fn levels_of_item(&self, item: &ItemRow) -> Vec<Level> {
        let tables = self.lp.tables();
        let run = self.row.id;
        let places = (1..=item.plan.place.depth())
            .map(|depth| TreePosition(item.plan.place.0[..depth].to_vec()));
        let at = places.filter_map(|place| tables.item_at(run, &place));
        at.map(|at| {
            let parent = at.node.parent();
            let parent = parent.and_then(|parent| tables.item(run, &parent));
            Level {
                id: at.plan.id.clone(),
                prompt: at.plan.prompt.clone().unwrap_or_default(),
                index: at.plan.place.0.last().map_or(1, |index| index + 1),
                total: parent.map_or_else(|| self.count_roots(), |parent| parent.children),
            }
        })
        .collect()
    }

    /// How many roots the tree has: one more than the index of the last.
    fn count_roots(&self) -> u32 {
        let last = self.lp.tables().last_root(self.row.id);
        last.map_or(1, |item| {
            item.plan.place.0.first().map_or(1, |index| index + 1)
        })
    }

    /// What failed, was done and was noticed before.
    fn collect_past(&self, item: &ItemRow, goes_on: bool) -> Result<PromptHistory, Failure> {
        let run = self.row.id;
        let done = earlier_done_items(self.lp.tables(), run, &item.node, DONE_MAX);
        let nodes = done.iter().map(|done| &done.node).chain([&item.node]);
        let needs: Vec<Need> = nodes
            .map(|node| Need::AttemptsAt(run, node.clone()))
            .collect();
        let rows = self.session.load(&needs)?;
        let mut attempts: Vec<&AttemptRow> = rows.tables.attempts().collect();
        attempts.sort_by_key(|row| (row.started_at, row.iteration));
        let own: Vec<&AttemptRow> = attempts
            .iter()
            .copied()
            .filter(|row| row.node == item.node)
            .collect();
        let tries = failed_tries_of_item(item, &own);
        let interrupted = last_interrupted_attempt(&own).filter(|_| !goes_on);
        let has_left = !tries.is_empty() || interrupted.is_some();
        Ok(PromptHistory {
            tries,
            interrupted,
            question: last_open_question(&own).map(|(number, asked)| (number, asked.to_owned())),
            done: done.iter().map(|done| done_item(done, &attempts)).collect(),
            noticed: earlier_findings(&attempts, NOTICED_MAX)
                .into_iter()
                .map(|one| (one.node.to_string(), one.seen.clone()))
                .collect(),
            files_left: if has_left {
                self.count_uncommitted_files(&item.node)
            } else {
                None
            },
        })
    }

    /// How many files have changes that are not committed; none where git
    /// cannot say.
    fn count_uncommitted_files(&self, node: &Node) -> Option<usize> {
        let site = self.work.sites.site_of_item(node);
        if !site.project.in_git {
            return None;
        }
        let changes = git::uncommitted_changes(site.tree_path(), &self.non_agent_files_at(node));
        changes.ok().map(|changes| changes.len())
    }

    /// What the file of the plan says beside its items.
    fn plan_file_context(&self, item: &ItemRow) -> PlanFileNotes {
        let Some(path) = PlanFile::path_of_run(&self.row).filter(|_| !self.has_plan_folder())
        else {
            return PlanFileNotes::default();
        };
        let mut text = String::new();
        let project = &self.session.project;
        let file = project.resolve_inside(&project.absolute_path(&path));
        let file = file.and_then(|file| input::open_file(&file));
        let read = file.and_then(|file| file.take(PLAN_BYTES_MAX).read_to_string(&mut text));
        if read.is_err() {
            // The plan is known without it.
            return PlanFileNotes::default();
        }
        // What it names is not there in another repository.
        let whole = self.session.project.absolute_path(&path);
        let whole = whole.to_string_lossy();
        let name = match self.repository_of_item(&item.node) {
            Some(_) => &*whole,
            None => &*path,
        };
        let source = SourceText { name, text: &text };
        let mut notes = PlanFileNotes::parse(&self.row.plan.face, source, item);
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let seen_from = project.absolute_path(&folder.to_string_lossy());
        notes.documents = notes
            .documents
            .iter()
            .flat_map(|document| input::expand_path(&seen_from, document))
            .filter_map(|path| Some(folder.join(path.strip_prefix(&seen_from).ok()?)))
            .map(|path| path.to_string_lossy().into_owned())
            .filter(|path| {
                let path = project.absolute_path(path);
                project
                    .resolve_inside(&path)
                    .is_ok_and(|path| path.exists())
            })
            .collect();
        notes
    }

    /// The nearest check above an item that has none.
    fn later_check(&self, item: &ItemRow) -> Option<LaterCheck> {
        let tables = self.lp.tables();
        let above = item.node.ancestors();
        let mut above = above.filter_map(|node| tables.item(self.row.id, &node));
        above.find_map(|row| {
            let Gate { script, .. } = row.plan.gate.as_ref()?;
            Some(LaterCheck {
                node: row.node.clone(),
                script: script.clone(),
            })
        })
    }

    fn own_worktree(&self, item: &ItemRow) -> Option<OwnWorktree> {
        let project = &self.session.project;
        if let Some(held) = self.lane_of_item(&item.node) {
            return Some(OwnWorktree {
                path: held.lane.tree.display().to_string(),
                branch: None,
                main: match self.repository_of_item(&item.node) {
                    None => project.root.display().to_string(),
                    Some(_) => self.main_tree_of_item(&item.node).display().to_string(),
                },
                lacks: self.missing_dependencies(item, &held.lane.tree),
                repositories: self.repositories_for_prompt(item),
            });
        }
        let target = self.row.branches.target.as_deref();
        let target = target.filter(|target| target.path.is_some());
        target.map(|target| OwnWorktree {
            path: project.work_tree.display().to_string(),
            branch: Some(target.branch.clone()),
            main: project.root.display().to_string(),
            lacks: None,
            repositories: None,
        })
    }

    /// The repositories of the run, as seen from that of an item.
    fn repositories_for_prompt(&self, item: &ItemRow) -> Option<PromptRepositories> {
        let row = self.lp.run()?;
        let known = row.plan.policy.repositories.as_ref()?;
        let here = self.repository_of_item(&item.node);
        let own_name = known.own.first().cloned();
        let names = std::iter::once(None).chain(known.others.iter().map(Some));
        let others = names
            .filter(|name| name.cloned() != here)
            .filter_map(|name| {
                let pool = self
                    .lanes
                    .as_ref()?
                    .pool_of_repository(name.map(String::as_str))?;
                let target = row.target_in_repository(name.map(String::as_str))?;
                let shown = match name.or(own_name.as_ref()) {
                    Some(name) => format!("`{name}`"),
                    None => "the one in which the run was begun".to_owned(),
                };
                let path = pool.main_work_tree().display().to_string();
                Some((shown, path, target.branch.clone()))
            });
        Some(PromptRepositories {
            own: here.clone().or_else(|| own_name.clone()),
            others: others.collect(),
        })
    }

    /// What an item waited for that is on the target and not in its lane, which begins
    /// at work that was saved before. What git has no more says nothing.
    fn missing_dependencies(&self, item: &ItemRow, lane: &Path) -> Option<(Vec<String>, String)> {
        let target = self.target_of_item(&item.node)?;
        let head = git::head_commit(lane).ok()??;
        let has = |commit: &str, on: &str| git::is_built_on(lane, commit, on).ok();
        let is_lacking = |row: &&ItemRow| {
            let mut commits = row.proof.evidence.iter().filter_map(Evidence::commit_id);
            let made = commits.next_back();
            made.is_some_and(|made| {
                has(&target.tip, made) == Some(true) && has(&head, made) == Some(false)
            })
        };
        let tables = self.lp.tables();
        let waited = item.plan.depends_on.iter();
        let waited = waited.filter_map(|on| tables.item(item.run, on));
        let lacking: Vec<String> = waited
            .filter(is_lacking)
            .map(|row| row.node.to_string())
            .collect();
        (!lacking.is_empty()).then_some((lacking, target.branch))
    }

    fn commit_by(&self) -> CommitBy {
        let row = self.lp.run();
        let by_piton =
            row.is_some_and(|row| row.plan.policy.auto_commit || row.branches.lanes.is_some());
        match (self.session.project.in_git, by_piton) {
            (_, true) => CommitBy::Piton,
            (true, false) => CommitBy::Agent,
            (false, false) => CommitBy::NoCommit,
        }
    }

    fn report_by(&self, item: &ItemRow) -> ReportBy {
        let has_tools = self.agent_of_item(item).program.can_use_tools()
            && self.session.world.program_path().is_some();
        if has_tools {
            ReportBy::Tool
        } else {
            ReportBy::Words
        }
    }

    /// The intent to start an attempt, with the ids of what its prompt will carry
    /// of the memory and the tree on which it starts; any other command as it is.
    pub(super) fn complete_start_command(
        &mut self,
        mut command: Command,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Command, Failure> {
        let Command::StartAttempt {
            run,
            node,
            role,
            agent,
            model,
            memories,
            tree,
            ..
        } = &mut command
        else {
            return Ok(command);
        };
        if let Some(item) = self.lp.tables().item(*run, node) {
            let working = self.job.agent_of_name(agent);
            *model = self.model_of_item(item, working).map(str::to_owned);
            if *role == Role::Worker && self.is_done_by_piton(item) {
                PITON.clone_into(agent);
            }
        }
        self.recreate_lane(node)?;
        let site = self.work.sites.site_of_item(node);
        if matches!(role, Role::IterationHook | Role::Reviewer) {
            // Its node is marked when its hooks have run.
            let before = self.snapshot_before(&site, tell);
            if *role == Role::Reviewer {
                *tree = before.as_ref().and_then(|before| before.tree_hash());
            }
            self.work.starting.insert(
                node.clone(),
                StartingAttempt {
                    before,
                    prepared: None,
                },
            );
            return Ok(command);
        }
        self.commit_progress(tell);
        let before = self.snapshot_before(&site, tell);
        *tree = before.as_ref().and_then(|before| before.tree_hash());
        let rule_texts = preparation::unparsed_rule_texts(self.session)?;
        let request = PrepareRequest {
            run: *run,
            node,
            now: self.time.clock.now(self.session.world),
            tokens_max: TOKENS,
            blockers: BlockerScope::Item,
            rule_texts: &rule_texts,
            unconfirmed: self.ask_about_unconfirmed()?,
        };
        let prepared = preparation::prepare_item(&*self.session.store, &request)?;
        memories.extend(prepared.carried_memory_ids().map(str::to_owned));
        let item = self.lp.tables().item(*run, node);
        for id in remembered_evidence(item, *role) {
            if !memories.contains(id) {
                memories.push(id.clone());
            }
        }
        let prepared = Some(prepared);
        self.work
            .starting
            .insert(node.clone(), StartingAttempt { before, prepared });
        Ok(command)
    }

    /// What becomes of memories that no person confirmed; a person is asked about them
    /// where the project wants that.
    fn ask_about_unconfirmed(&self) -> Result<UnconfirmedPolicy, Failure> {
        let policy = preparation::unconfirmed_policy(self.session)?;
        if policy == UnconfirmedPolicy::Ask {
            let command = Command::AskAboutUnconfirmed;
            self.session.commit(&command, &self.current_facts())?;
        }
        Ok(policy)
    }

    /// Where the attempt was made that marked the item as done.
    fn node_of_claim(&self, item: &ItemRow) -> Result<Option<Node>, Failure> {
        let Some(attempt) = item.proof.claimed.as_ref().and_then(|by| by.attempt) else {
            return Ok(None);
        };
        let rows = self.session.load(&[Need::Attempt(attempt)])?;
        Ok(rows.tables.attempt(attempt).map(|row| row.node.clone()))
    }

    /// The pieces that an item was split into, each with what came of it.
    fn describe_pieces(&self, item: &ItemRow) -> Vec<String> {
        let tables = self.lp.tables();
        let rows = item.plan.depends_on.iter();
        let rows = rows.filter_map(|on| tables.item(item.run, on));
        let pieces = rows.filter(|row| row.plan.piece_of.as_ref() == Some(&item.node));
        let shown = pieces.map(|row| {
            let title = first_line(
                row.plan.prompt.as_deref().unwrap_or_default(),
                PIECE_CHARS_MAX,
            );
            let summary = first_line(row.summary.as_deref().unwrap_or_default(), PIECE_CHARS_MAX);
            let state = row.state;
            match summary.as_str() {
                "" => format!("`{}` ({state}): {title}", row.node),
                summary => format!("`{}` ({state}): {title}. {summary}", row.node),
            }
        });
        shown.collect()
    }
}

/// The memories that the next attempt at an item is to follow.
fn remembered_evidence(item: Option<&ItemRow>, role: Role) -> &[String] {
    let followed = item.and_then(|item| item.tries.recovery.as_ref());
    let followed = followed.filter(|followed| role == Role::Worker && followed.is_from_memory());
    followed.map_or(&[][..], |followed| followed.evidence.as_slice())
}

/// An item that was done, with what its last attempt changed.
fn done_item(item: &ItemRow, attempts: &[&AttemptRow]) -> DoneItem {
    let is_work = |row: &&&AttemptRow| row.node == item.node && row.role != Role::IterationHook;
    let mut own = attempts.iter().rev().filter(is_work);
    let report = own.find_map(|row| row.report.as_ref());
    let commits = report.and_then(|report| report.changes.commits.as_ref());
    DoneItem {
        node: item.node.to_string(),
        summary: item.summary.clone(),
        files: report
            .and_then(|report| report.changes.files.as_ref())
            .map(Vec::len),
        commit: commits.and_then(|commits| commits.last().cloned()),
    }
}
