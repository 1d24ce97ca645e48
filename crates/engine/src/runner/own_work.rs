//! Items that have a role in their format: what piton does of them itself, what
//! comes of those of agents, and the model where neither the plan nor the command names one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::attempt::{HumanNeeded, Outcome, Report};
use piton_core::classify::FailureCategory;
use piton_core::command::EditAuthor;
use piton_core::run_loop::Input;
use piton_core::{AttemptId, Command, ItemRow, Need, Node, Role, RunRow};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{ItemRole, OwnWork, Phases, RunContext};
use piton_formats::registry::plan_format;

use super::runner_state::{Runner, RunnerJob, WorkingAgent};
use super::site::Site;
use crate::failure::Failure;
use crate::project::inside::resolve_named_within;
use crate::session::Session;
use crate::world::input;

/// The agent of an attempt that piton makes itself.
pub(super) const PITON: &str = "piton";

/// What the project tells agents in the place of the words of piton, by the roles that
/// the plan has.
///
/// # Errors
///
/// When a file is not there, or cannot be read.
pub(super) fn read_role_texts(
    session: &Session<'_>,
    job: &RunnerJob,
    row: &RunRow,
) -> Result<BTreeMap<String, String>, Failure> {
    let phases = plan_format(&row.plan.face).and_then(|format| format.phases);
    let names = phases.map_or_else(Vec::new, |phases| (phases.role_names)());
    let tables = job.config.roles.iter();
    let of_plan = tables.filter(|(name, _)| names.contains(&name.as_str()));
    let files = of_plan.filter_map(|(name, table)| Some((name, table.prompt.as_ref()?)));
    files
        .map(|(name, file)| {
            let path = session.project.root.join(file);
            let path = session.project.resolve_named(&path);
            let text = path.and_then(|path| input::read_text(&path));
            let text = text.map_err(|failure| {
                let what = format!(
                    ".piton/config.toml: roles.{name}.prompt: {}: {failure}",
                    file.display()
                );
                Failure::new("usage", what).with_hint(
                    "write the file or correct its path, then run again; nothing was started",
                )
            })?;
            Ok((name.clone(), text))
        })
        .collect()
}

impl Runner<'_, '_> {
    pub(super) fn plan_phases(&self) -> Option<Phases> {
        plan_format(&self.row.plan.face)?.phases
    }

    /// Who works on an item, where its format says it.
    pub(super) fn role_of_item(&self, item: &ItemRow) -> Option<ItemRole> {
        (self.plan_phases()?.role)(item)
    }

    /// The project's instructions for work on an item in its role, in the place of those
    /// of piton.
    pub(super) fn role_text(&self, role: &ItemRole) -> Option<String> {
        let text = self.prompts.role_texts.get(role.name)?;
        Some((self.plan_phases()?.fill_prompt)(&self.row, text))
    }

    /// The model that an agent is asked to use for an item: that of the plan or of
    /// the person, else that of the role in which it works. What is configured for
    /// the role comes before what is for the agent, and that before the role's own.
    pub(super) fn model_of_item<'m>(
        &'m self,
        item: &'m ItemRow,
        agent: &'m WorkingAgent,
    ) -> Option<&'m str> {
        let config = &self.job.config;
        let of_role = || {
            let table = config.roles.get(self.role_of_item(item)?.name)?;
            table.model.as_deref()
        };
        let own = || {
            let has_own = config
                .agents
                .get(&agent.name)
                .is_some_and(|table| table.model.is_some());
            let program = config.program_of_agent(&agent.name)?;
            let role = self.role_of_item(item).filter(|_| !has_own)?;
            role.model.filter(|model| program.understands_model(model))
        };
        self.lp.model_of_item(item).or_else(of_role).or_else(own)
    }

    /// The agent that works on an item, or the first one.
    pub(super) fn agent_of_item(&self, item: &ItemRow) -> &WorkingAgent {
        let open = item.attempt.map(|attempt| self.agent_of_attempt(attempt));
        open.unwrap_or_else(|| self.job.first_agent())
    }

    /// The agent of an attempt that is open.
    pub(super) fn agent_of_attempt(&self, attempt: AttemptId) -> &WorkingAgent {
        let row = self.lp.tables().attempt(attempt);
        self.job.agent_of_name(row.map_or("", |row| &row.agent))
    }

    /// Whether piton works on an item itself.
    pub(super) fn is_done_by_piton(&self, item: &ItemRow) -> bool {
        let has_role = self
            .plan_phases()
            .map(|phases| (phases.role)(item).is_some());
        has_role == Some(false)
    }

    /// What comes of an attempt at an item that piton works on itself; none of one that
    /// an agent works on.
    pub(super) fn work_on_piton_item(
        &mut self,
        attempt: AttemptId,
        item: &ItemRow,
        role: Role,
    ) -> Result<Option<Input>, Failure> {
        let Some(phases) = self.plan_phases().filter(|_| role == Role::Worker) else {
            return Ok(None);
        };
        let site = self.work.sites.site_of_item(&item.node);
        // What was taken in a moment ago is not in the rows of the loop yet.
        let rows = self
            .session
            .load(&[Need::Run(self.row.id), Need::Tree(self.row.id)])?;
        let done = self.with_surroundings(&site, &rows.tables, |around| {
            (phases.own_work)(item, around)
        });
        let Some(done) = done else {
            return Ok(None);
        };
        self.work.starting.remove(&item.node);
        let report = match done {
            Ok(work) => self.apply_own_work(work)?,
            Err(why) => {
                let (reason, details) = match why.split_once('\n') {
                    Some((reason, details)) => (reason, Some(details.to_owned())),
                    None => (why.as_str(), None),
                };
                Report {
                    human: Some(HumanNeeded {
                        reason: reason.to_owned(),
                        details,
                    }),
                    error: Some(why),
                    ..Report::with_outcome(Outcome::NeedsHuman)
                }
            }
        };
        Ok(Some(Input::AgentEnded {
            attempt,
            node: item.node.clone(),
            report: Box::new(report),
            recovery: None,
        }))
    }

    /// Changes the plan as the work of piton wants it, in one commit.
    fn apply_own_work(&self, work: OwnWork) -> Result<Report, Failure> {
        let OwnWork { edits, summary } = work;
        if !edits.is_empty() {
            let command = Command::TakeEdits {
                run: self.row.id,
                token: Some(self.lp.token()),
                file: PlanFile::path_of_run(&self.row).unwrap_or_default(),
                edits,
                word: EditAuthor::Piton,
            };
            self.session
                .commit(&command, &super::run_facts::runner_facts(self.session))?;
        }
        Ok(Report {
            summary: Some(summary),
            ..Report::with_outcome(Outcome::Completed)
        })
    }

    /// Notes what stands where an agent is to write, before the first one begins, and
    /// before one to whom a person gave it back.
    pub(super) fn record_artifact_before(&mut self, item: &ItemRow, site: &Site, role: Role) {
        let is_anew = item.attempts <= 1 || item.people.rejected.is_some();
        if role != Role::Worker || !is_anew {
            return;
        }
        match self.read_artifact(item, site) {
            Some(text) => self.work.artifacts_before.insert(item.node.clone(), text),
            None => self.work.artifacts_before.remove(&item.node),
        };
    }

    /// What stands where an agent is to write what comes of an item.
    fn read_artifact(&self, item: &ItemRow, site: &Site) -> Option<String> {
        let path = (self.plan_phases()?.artifact)(&self.row, item)?;
        self.read_beside_plan(site, &self.plan_folder_in(site).join(path))
    }

    /// A file that lies beside the plan, or where an item is worked on.
    fn read_beside_plan(&self, site: &Site, path: &Path) -> Option<String> {
        let project = &self.session.project;
        let roots = [site.tree_path(), &project.work_tree, &project.root];
        input::read_text(&resolve_named_within(&roots, path).ok()?).ok()
    }

    /// An attempt has failed when what it was to write is not there, stands there as it
    /// did before, or cannot be worked with.
    pub(super) fn check_artifact(&self, node: &Node, site: &Site, report: &mut Report) {
        let item = self.lp.tables().item(self.row.id, node);
        let (Some(phases), Some(item)) = (self.plan_phases(), item) else {
            return;
        };
        if report.outcome != Outcome::Completed {
            return;
        }
        let checked = self.with_surroundings(site, self.lp.tables(), |around| {
            (phases.check_artifact)(item, around)
        });
        let before = self.work.artifacts_before.get(node);
        let is_old = before.is_some() && self.read_artifact(item, site).as_ref() == before;
        let path = (phases.artifact)(&self.row, item).filter(|_| is_old);
        let checked = checked.and_then(|()| match path {
            Some(path) => Err(format!(
                "{path} was not written: it stands there as it did before the attempt"
            )),
            None => Ok(()),
        });
        if let Err(why) = checked {
            report.outcome = Outcome::Failed;
            report.category = Some(FailureCategory::Validation);
            report.error = Some(why);
        }
    }

    /// The folder of the plan in a work tree.
    fn plan_folder_in(&self, site: &Site) -> PathBuf {
        let project = &self.session.project;
        let folder = project.path_in_work_tree(PlanFile::folder_of_run(&self.row));
        match folder {
            Some(folder) => site.tree_path().join(folder),
            None => project.absolute_path(PlanFile::folder_of_run(&self.row)),
        }
    }

    fn with_surroundings<T>(
        &self,
        site: &Site,
        tables: &piton_core::Tables,
        ask: impl FnOnce(&RunContext<'_>) -> T,
    ) -> T {
        let folder = self.plan_folder_in(site);
        let own_folder = self
            .session
            .project
            .absolute_path(PlanFile::folder_of_run(&self.row));
        let read = |path: &Path| self.read_beside_plan(site, path);
        // What agents wrote lies where they work; what lies beside the plan need not
        // be in every work tree.
        let beside = |path: &str| {
            let there = folder.join(path);
            read(&there).or_else(|| read(&own_folder.join(path)))
        };
        let in_tree = |repository: Option<&str>, path: &str| {
            let lanes = self.lanes.as_ref();
            let other = repository.and_then(|name| lanes?.pool_of_repository(Some(name)));
            let tree = other.map_or_else(|| site.tree_path(), |pool| pool.main_work_tree());
            fs::metadata(tree.join(path)).is_ok_and(|at| at.is_file())
        };
        let tree_name = self.session.project.work_tree.file_name();
        let tree_name = tree_name.map(|name| name.to_string_lossy().into_owned());
        ask(&RunContext {
            tables,
            run: self.row.id,
            beside: &beside,
            in_tree: &in_tree,
            tree_name: tree_name.as_deref().unwrap_or("project"),
        })
    }
}
