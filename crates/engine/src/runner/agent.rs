//! Agents: started, ended, and what came of them.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use jiff::Timestamp;
use piton_core::attempt::{
    AttemptContext, Conversation, HumanNeeded, Outcome, ProcessEnd, ProgramReport, Report,
    Transcript,
};
use piton_core::dollars::Dollars;
use piton_core::item::millis_between;
use piton_core::memory::UnconfirmedPolicy;
use piton_core::policy::BROKEN_OFF_MAX;
use piton_core::recover::Recovery;
use piton_core::run_loop::Input;
use piton_core::standstill::StandstillBounds;
use piton_core::stuck::LoopDetector;
use piton_core::trouble::Trouble;
use piton_core::{AttemptId, ItemRow, Need, Node, Role};
use tempfile::NamedTempFile;

use super::active_work::{ActiveWork, WorkNumber, WorkPurpose, WorkStopCause};
use super::dead_runner::{sanitize_file_name, transcripts_folder};
use super::feed::{AgentFeed, SessionSource};
use super::runner_state::{Runner, WorkingAgent};
use super::site::{Site, SiteSnapshot};
use crate::agents::answer::{self, AgentStopReason, ProgramEnd};
use crate::agents::hook::settings::piton_path_command;
use crate::agents::session_file::SessionScope;
use crate::agents::spool;
use crate::agents::{Agent, LaunchOptions, McpServerCommand, outcome};
use crate::config::VerdictSource;
use crate::failpoint;
use crate::failure::notice::Notice;
use crate::failure::{Failure, unwritable_file};
use crate::git::worktree;
use crate::memory::preparation::unconfirmed_policy;
use crate::memory::recovery::{self, IncompleteAttempt};
use crate::process::{self, ProcessExit, ProcessSpec, StartError, StopReason};
use crate::project::inside::create_own_folder;

/// How much of the end of an agent's output is searched for its answer.
const ANSWER_BYTES: u64 = 4 << 20;
/// How much of an agent's output is kept as its transcript; the middle of a
/// longer one is left out.
const TRANSCRIPT_BYTES_MAX: u64 = 64 << 20;

/// An agent whose process and all that it started are gone.
pub(super) struct EndedAgent<'e> {
    pub(super) attempt: AttemptId,
    /// The items that it claimed at last, of which the loop does not know yet.
    pub(super) claimed: Vec<Node>,
    pub(super) node: Node,
    pub(super) site: Rc<Site>,
    pub(super) exit: &'e ProcessExit,
    /// Why it was asked to stop, if it was.
    pub(super) asked: Option<WorkStopCause>,
    pub(super) before: Option<Box<SiteSnapshot>>,
    /// What it printed, where its adapter reads that.
    pub(super) feed: Option<Box<AgentFeed>>,
}

impl Runner<'_, '_> {
    pub(super) fn start_agent(
        &mut self,
        attempt: AttemptId,
        node: &Node,
        role: Role,
        until: Option<Timestamp>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Vec<Input>, Failure> {
        let site = self.work.sites.site_of_item(node);
        self.work.agents_time |= self.work.sites.is_of_run(&site);
        self.write_files_if_due(tell);
        let Some(item) = self.lp.tables().item(self.row.id, node).cloned() else {
            return Ok(Vec::new());
        };
        if let Some(ended) = self.work_on_piton_item(attempt, &item, role)? {
            return Ok(vec![ended]);
        }
        self.record_artifact_before(&item, &site, role);
        let mark = attempt.to_string();
        let fault = |error| unwritable_file(&self.session.project.home.join("spool"), error);
        let agent = self.agent_of_attempt(attempt).clone();
        let ongoing = self.ongoing_conversation(&item, role, &agent);
        let mut env = self.agent_environment(&item, role, &mark);
        let tools = self.agent_tools(&env, &mark);
        // Without a form to answer in there is nothing to remind of.
        let hooks =
            (agent.verdict == VerdictSource::Form).then(|| piton_path_command(self.session.world));
        if hooks.is_some() && agent.program.replaces_hooks() {
            self.report_replaced_hooks(&agent.name, tell);
        }
        let order = LaunchOptions {
            conversation: &mark,
            resume: ongoing.map(|ongoing| ongoing.id.as_str()),
            model: self.model_of_item(&item, &agent),
            budget_usd: self.lp.budget_left().usd.map(Dollars::as_f64),
            is_root: rustix::process::geteuid().is_root(),
            tools: tools.as_ref(),
            hooks: hooks.as_deref(),
        };
        let launch = match agent.program.launch_command(&order) {
            Ok(launch) => launch,
            Err(failure) => {
                let why = describe_failure(&failure);
                return Ok(vec![unstarted_agent_input(attempt, node, why)]);
            }
        };
        let output = self.spool.output_path(&mark).map_err(fault)?;
        let feed = self.agent_feed(attempt, &output, ongoing);
        let hook = self.hook_part(&item, role);
        let (config, name) = (&self.job.config, &agent.name);
        let admitted = self
            .job
            .trust
            .admit_agent(config, name, &launch, hook.clone());
        let program = match admitted {
            Ok(program) => program,
            Err(failure) => return Err(self.ask_for_trust(hook.as_slice(), failure)),
        };
        env.extend(launch.env);
        let spec = ProcessSpec {
            program,
            cwd: site.tree_path().to_owned(),
            inherited: config.environment_for_agent(name, &self.session.world.env),
            env,
            stdin: self.render_prompt(&item, role, ongoing.is_some())?,
            output,
            limits: agent.limits,
            mark: mark.clone(),
        };
        let starting = self.work.starting.remove(node);
        let before = starting.and_then(|starting| starting.before);
        failpoint::point("run.before-start");
        let purpose = WorkPurpose::Agent {
            attempt,
            before,
            feed,
        };
        Ok(match self.start_process(spec, node, until, purpose)? {
            Ok(()) => Vec::new(),
            Err(error) => {
                let why = describe_start_error(&error);
                vec![unstarted_agent_input(attempt, node, why)]
            }
        })
    }

    /// What reads the output of an attempt; none where its program prints plain text.
    fn agent_feed(
        &self,
        attempt: AttemptId,
        output: &Path,
        ongoing: Option<&Conversation>,
    ) -> Option<Box<AgentFeed>> {
        let program = &*self.agent_of_attempt(attempt).program;
        let total = ongoing.and_then(|ongoing| ongoing.total.as_ref());
        let reader = program.output_reader(total)?;
        let circles = LoopDetector::new(self.job.config.stuck.thresholds());
        let redactor = self.session.world.redactor();
        let feed = AgentFeed::new(output.to_owned(), reader, circles, redactor);
        Some(Box::new(feed.with_session(
            self.session_source(attempt, program, ongoing),
        )))
    }

    /// Where `program` records what an attempt uses that goes on in a
    /// conversation, or begins one.
    fn session_source(
        &self,
        attempt: AttemptId,
        program: &dyn Agent,
        ongoing: Option<&Conversation>,
    ) -> Option<SessionSource> {
        let files = program.session_files(&self.session.world.env)?;
        let row = self.lp.tables().attempt(attempt);
        let began = row.map(|row| row.started_at);
        let own = program
            .can_set_conversation_id()
            .then(|| attempt.to_string());
        Some(SessionSource {
            files,
            conversation: ongoing.map(|ongoing| ongoing.id.clone()).or(own),
            part: SessionScope {
                since: ongoing.and(began),
                before: ongoing.and_then(|ongoing| ongoing.total.clone()),
            },
        })
    }

    fn report_replaced_hooks(&mut self, agent: &str, tell: &mut dyn FnMut(Notice<'_>)) {
        if !std::mem::replace(&mut self.reported.hooks_replaced, true) {
            tell(Notice::Said(&format!(
                "`{agent}` gets no hooks of piton: its `args` have `--settings` of their own"
            )));
        }
    }

    /// How the agent's program starts the tools of piton for this attempt.
    fn agent_tools(
        &self,
        environment: &[(String, String)],
        mark: &str,
    ) -> Option<McpServerCommand> {
        let program = self.session.world.program_path()?;
        let attempt = (process::MARK.to_owned(), mark.to_owned());
        let env = environment.iter().filter(|(name, _)| *name != attempt.0);
        Some(McpServerCommand {
            program: program.to_str()?.to_owned(),
            env: env.cloned().chain([attempt.clone()]).collect(),
        })
    }

    /// The conversation in which an attempt goes on.
    fn ongoing_conversation<'i>(
        &self,
        item: &'i ItemRow,
        role: Role,
        agent: &WorkingAgent,
    ) -> Option<&'i Conversation> {
        let ongoing = match role {
            Role::Worker | Role::Verdict => item.tries.ongoing.as_deref(),
            // Programs know their conversations by the folder.
            Role::Resolve => item
                .rejected_conversation()
                .filter(|own| item.lane().is_some_and(|lane| lane.lane == own.lane))
                .map(|own| &own.conversation),
            Role::GateFix | Role::Repair | Role::Split | Role::IterationHook | Role::Reviewer => {
                None
            }
        };
        let fits = |ongoing: &&Conversation| {
            ongoing.agent == agent.recorded_name && agent.program.can_resume()
        };
        ongoing.filter(fits)
    }

    /// Reads what an agent that works has printed since the last look.
    pub(super) fn read_agent_output(
        &mut self,
        number: WorkNumber,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Vec<Input> {
        let now = self.now();
        let Some(ActiveWork {
            for_:
                WorkPurpose::Agent {
                    attempt,
                    feed: Some(feed),
                    ..
                },
            asked,
            node,
            ..
        }) = self.work.works.get_mut(number)
        else {
            return Vec::new();
        };
        if let Err(error) = feed.read_added(now) {
            // It is read once more when the agent has ended.
            let said = format!("what the agent prints cannot be read now: {error}");
            tell(Notice::Warning(&said));
            return Vec::new();
        }
        let mut inputs = Vec::new();
        if feed.is_ending() {
            // What is known now comes with its report; it is not stopped for it.
            return inputs;
        }
        if self.lp.has_budget() {
            feed.read_session(now);
        }
        if let Some(mut said) = feed.drain_new_usage() {
            let row = self.lp.tables().attempt(*attempt);
            let asked = row.and_then(|row| row.model.as_deref());
            let agent = self.job.agent_of_name(row.map_or("", |row| &row.agent));
            let model = agent.program.resolve_model(asked);
            self.job.prices.fill_estimates(&mut said, model.as_deref());
            inputs.push(Input::Spent {
                node: node.clone(),
                usage: said.usage,
            });
        }
        if asked.is_none() && feed.loop_reason().is_some() {
            inputs.push(Input::Circling { node: node.clone() });
        }
        inputs
    }

    /// Whether an agent that works makes no progress. The work tree is looked at
    /// only when its calls show none: what a command changed is progress, too.
    pub(super) fn detect_standstill(
        &mut self,
        number: WorkNumber,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Vec<Input> {
        let now = self.now();
        let bounds = self.job.config.agent.standstill_bounds();
        let Some(why) = self.standstill_reason(number, bounds, now) else {
            return Vec::new();
        };
        let Some(site) = self
            .work
            .works
            .get(number)
            .map(|work| Rc::clone(&work.site))
        else {
            return Vec::new();
        };
        let tree = self.snapshot_tree(&site, tell);
        let tree = tree.and_then(|looked| looked.tree_hash());
        let Some(work) = self.work.works.get_mut(number) else {
            return Vec::new();
        };
        let WorkPurpose::Agent { before, feed, .. } = &mut work.for_ else {
            return Vec::new();
        };
        let at_start = || before.as_ref().and_then(|before| before.tree_hash());
        let known = work.tree.take().or_else(at_start);
        // What cannot be seen may have changed.
        let is_same = tree.is_some() && tree == known;
        if is_same {
            work.no_progress = Some(why);
            let node = work.node.clone();
            return vec![Input::Circling { node }];
        }
        if let Some(feed) = feed {
            feed.record_change(now);
        }
        work.tree = tree;
        Vec::new()
    }

    /// Why an agent that works seems to make no progress.
    fn standstill_reason(
        &self,
        number: WorkNumber,
        bounds: Option<StandstillBounds>,
        now: Timestamp,
    ) -> Option<String> {
        let work = self
            .work
            .works
            .get(number)
            .filter(|work| work.asked.is_none())?;
        let WorkPurpose::Agent {
            feed: Some(feed), ..
        } = &work.for_
        else {
            return None;
        };
        let is_over = feed.is_ending() || feed.loop_reason().is_some();
        feed.standstill_reason(bounds?, now).filter(|_| !is_over)
    }

    /// What an agent or a gate finds in its environment.
    pub(super) fn environment(&self, item: &ItemRow, mark: &str) -> Vec<(String, String)> {
        let agent = self.agent_of_item(item);
        let model = self.model_of_item(item, agent).unwrap_or_default();
        let own = [
            ("PITON_RUN", self.row.name.as_str()),
            ("PITON_ITEM", item.node.as_str()),
            ("PITON_ATTEMPT", mark),
            ("PITON_MODEL", model),
            (
                "PITON_PROJECT",
                &self.session.project.root.to_string_lossy(),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let there = self.work.sites.site_of_item(&item.node);
        let known = self.row.plan.policy.repositories.as_ref();
        let named = self.repository_of_item(&item.node);
        let named = named.or_else(|| known.and_then(|known| known.own.first().cloned()));
        let named = named.filter(|_| known.is_some());
        let named = named.map(|name| ("PITON_REPOSITORY".to_owned(), name));
        there.env.iter().cloned().chain(own).chain(named).collect()
    }

    /// What an agent finds in its environment, with its role.
    fn agent_environment(&self, item: &ItemRow, role: Role, mark: &str) -> Vec<(String, String)> {
        let mut env = self.environment(item, mark);
        let role_name = self.role_name(item, role).to_owned();
        env.push(("PITON_ROLE".to_owned(), role_name));
        env
    }

    pub(super) fn handle_agent_end(
        &mut self,
        over: EndedAgent<'_>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Input, Failure> {
        let EndedAgent {
            attempt,
            claimed,
            node,
            site,
            exit,
            asked,
            before,
            feed,
        } = over;
        let stopped_for = trouble_of_stop(exit, asked.as_ref());
        let no_progress = matches!(asked, Some(WorkStopCause::NoProgress(_)));
        let ended = ProgramEnd {
            code: exit.code,
            signal: exit.signal,
            stopped: self.stop_details(attempt, exit, asked),
        };
        let (mut report, text) = self.read_report(attempt, &node, feed, &ended)?;
        add_trouble_of_stop(stopped_for, &mut report);
        self.interrupt_at_budget(&node, exit, &mut report);
        report.program.process = Some(process_end(exit));
        if let Some(answer) = self.stored_answer(attempt)? {
            answer::merge_tool_report(&mut report, &answer);
        }
        fail_if_worktree_gone(
            worktree::refuse_missing_worktree(&self.session.project, &self.row),
            &mut report,
        );
        fail_if_worktree_gone(self.refuse_lost_lane(&node), &mut report);
        self.collect_screenshots(&node, &site, &mut report);
        self.check_artifact(&node, &site, &mut report);
        let checks = self.checks_of_attempt(&node, attempt, &claimed);
        self.record_changes_after(&site, before, &checks, &mut report, tell);
        self.parse_review(attempt, &text, &mut report);
        self.verify_blocker(attempt, &node, &mut report);
        self.apply_disabled_rules(&node, &mut report);
        self.check_conflict_markers(&node, site.tree_path(), &mut report);
        self.decide_follow_up(attempt, &node, &text, &mut report);
        if no_progress {
            self.offer_wrap_up(attempt, &mut report);
        }
        tracing::info!(
            %node, outcome = report.outcome.as_str(), error = report.error,
            trouble = ?report.program.trouble, usage = ?report.program.usage, "came to"
        );
        report.program.transcript = self.store_transcript(attempt, &node);
        failpoint::point("run.transcript-kept");
        let started_from = self.lp.context_of_attempt(&node);
        report.context = merge_contexts(report.context.take(), started_from);
        let recovery = self.recovery_after_attempt(attempt, &node, &report, &text, tell);
        self.job.config.requests.apply_rules(&mut report);
        Ok(Input::AgentEnded {
            attempt,
            node,
            report: Box::new(report),
            recovery,
        })
    }

    /// What came of an agent by what it printed, and its words.
    fn read_report(
        &mut self,
        attempt: AttemptId,
        node: &Node,
        feed: Option<Box<AgentFeed>>,
        ended: &ProgramEnd,
    ) -> Result<(Report, String), Failure> {
        let output = self.output_path(attempt)?;
        let verdict = self.verdict_source(attempt);
        let read = match feed {
            Some(feed) => self.report_of_feed(attempt, *feed, ended, verdict),
            None => spool::read_tail(&output, ANSWER_BYTES)
                .map(|text| (answer::report_of_output(&text, ended, verdict), text)),
        };
        let (mut report, text) = match read {
            Ok(read) => {
                self.work.unreadable_outputs.remove(node);
                read
            }
            Err(error) => {
                let mut report = answer::report_of_unreadable_output(&error, ended);
                self.ask_about_unreadable_output(node, &output, &error, &mut report);
                (report, String::new())
            }
        };
        report.program.conversation = report
            .program
            .conversation
            .take()
            .or_else(|| self.assigned_conversation(attempt));
        Ok((report, text))
    }

    /// An item is tried again where its agent's output cannot be read, which may be the
    /// disk, or the agent that removed it; after some times a person is asked.
    fn ask_about_unreadable_output(
        &mut self,
        node: &Node,
        output: &Path,
        error: &io::Error,
        report: &mut Report,
    ) {
        let times = self
            .work
            .unreadable_outputs
            .entry(node.clone())
            .or_default();
        *times += 1;
        if *times < BROKEN_OFF_MAX {
            return;
        }
        let reason = format!("piton cannot read what the agent printed, {times} times in a row");
        self.work.unreadable_outputs.remove(node);
        let file = output.display();
        let details = format!(
            "{file}: {error}. See that the disk is well and that the agent leaves its file there; nothing was counted against the item"
        );
        report.outcome = Outcome::NeedsHuman;
        report.human = Some(HumanNeeded {
            reason,
            details: Some(details),
        });
    }

    /// The conversation of an attempt whose program was told its id and prints
    /// none; that of an attempt that went on in one is the same.
    fn assigned_conversation(&self, attempt: AttemptId) -> Option<Conversation> {
        let agent = self.agent_of_attempt(attempt);
        if !agent.program.can_set_conversation_id() {
            return None;
        }
        let row = self.lp.tables().attempt(attempt)?;
        let item = self.lp.tables().item(self.row.id, &row.node)?;
        let known = self
            .ongoing_conversation(item, row.role, agent)
            .map(|ongoing| ongoing.id.clone());
        Some(Conversation {
            agent: agent.recorded_name.clone(),
            id: known.unwrap_or_else(|| attempt.to_string()),
            total: None,
        })
    }

    /// What the agent said by a tool of piton. It is asked of the store: the
    /// loop hears of others a moment later.
    fn stored_answer(&self, attempt: AttemptId) -> Result<Option<Box<Report>>, Failure> {
        let rows = self.session.load(&[Need::Attempt(attempt)])?;
        let row = rows.tables.attempt(attempt);
        Ok(row.and_then(|row| row.answer.clone()))
    }

    /// What says how an attempt ended: the prompt of a hook does not ask its agent for
    /// the form in which others answer.
    fn verdict_source(&self, attempt: AttemptId) -> VerdictSource {
        let row = self.lp.tables().attempt(attempt);
        if row.is_some_and(|row| !row.role.is_asked_to_report()) {
            return VerdictSource::ExitStatus;
        }
        self.agent_of_attempt(attempt).verdict
    }

    /// What came of an agent whose adapter read what it printed, and its words.
    fn report_of_feed(
        &self,
        attempt: AttemptId,
        feed: AgentFeed,
        ended: &ProgramEnd,
        verdict: VerdictSource,
    ) -> io::Result<(Report, String)> {
        let mut fed = feed.read_to_end(ended, self.now())?;
        let agent = self.agent_of_attempt(attempt);
        let row = self.lp.tables().attempt(attempt);
        let item = row.and_then(|row| self.lp.tables().item(self.row.id, &row.node));
        let asked = item.and_then(|item| self.model_of_item(item, agent));
        let model = agent.program.resolve_model(asked);
        self.job
            .prices
            .fill_estimates(&mut fed.said, model.as_deref());
        let words = [Some(fed.said.words.clone()), fed.said.error.clone()];
        let words: Vec<String> = words.into_iter().flatten().collect();
        let mut report = outcome::report_of_result(fed.said, ended, verdict);
        report.program.activity = fed.activity;
        if let Some(conversation) = &mut report.program.conversation {
            conversation.agent.clone_from(&agent.recorded_name);
        }
        Ok((report, words.join("\n")))
    }

    /// What to do now, when a worker did not complete. Not to know it loses
    /// nothing: the plan's own retries or a person decide then.
    fn recovery_after_attempt(
        &self,
        attempt: AttemptId,
        node: &Node,
        report: &Report,
        output: &str,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<Box<Recovery>> {
        let row = self.lp.tables().attempt(attempt)?;
        let failed = [Outcome::Failed, Outcome::Partial, Outcome::Blocked];
        let is_work = matches!(row.role, Role::Worker | Role::Verdict);
        // An agent that is asked once more, or whose check decides, has not failed yet.
        let item = self.lp.tables().item(self.row.id, node);
        let has_check = item.is_some_and(|item| item.pending_gate().is_some());
        let goes_on = report.program.can_be_asked || (report.is_missing_verdict() && has_check);
        if !is_work || goes_on || !failed.contains(&report.outcome) {
            return None;
        }
        let ended = IncompleteAttempt {
            run: self.row.id,
            node,
            attempt,
            report,
            output,
            unconfirmed: unconfirmed_policy(self.session).unwrap_or(UnconfirmedPolicy::LeaveOut),
        };
        self.find_recovery(&ended, tell)
    }

    /// What the rules say; nothing, and a warning, where the store cannot be read.
    pub(super) fn find_recovery(
        &self,
        ended: &IncompleteAttempt<'_>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<Box<Recovery>> {
        let site = self.work.sites.site_of_item(ended.node);
        match recovery::plan_recovery(self.session, ended, site.tree_path(), self.now()) {
            Ok(recovery) => Some(Box::new(recovery)),
            Err(failure) => {
                let said = format!("what to do about {} is not known: {failure}", ended.node);
                tell(Notice::Warning(&said));
                None
            }
        }
    }

    fn stop_details(
        &self,
        attempt: AttemptId,
        exit: &ProcessExit,
        asked: Option<WorkStopCause>,
    ) -> Option<AgentStopReason> {
        let limits = &self.agent_of_attempt(attempt).limits;
        let spoken = |time: Option<std::time::Duration>| {
            piton_core::amount::format_duration(time.unwrap_or_default().as_secs())
        };
        Some(match exit.stopped_by? {
            StopReason::Asked => {
                let (why, is_wanted) = match asked {
                    Some(WorkStopCause::Circling(why)) => {
                        (format!("it went in circles and was stopped: {why}"), false)
                    }
                    Some(WorkStopCause::NoProgress(why)) => {
                        (format!("it made no progress and was stopped: {why}"), false)
                    }
                    Some(WorkStopCause::Wanted(why)) => (why, true),
                    None => ("it was stopped".to_owned(), true),
                };
                AgentStopReason {
                    why,
                    asked: is_wanted,
                    late: false,
                }
            }
            StopReason::Wall => AgentStopReason {
                why: format!("it ran longer than {} and was stopped", spoken(limits.wall)),
                asked: false,
                late: true,
            },
            StopReason::Idle => AgentStopReason {
                why: format!(
                    "it printed nothing for {} and was stopped",
                    spoken(limits.idle)
                ),
                asked: false,
                late: true,
            },
            StopReason::Flood => AgentStopReason {
                why: format!(
                    "it printed more than {} and was stopped",
                    piton_core::amount::format_size(limits.output_bytes_max.unwrap_or(0))
                ),
                asked: false,
                late: false,
            },
        })
    }

    fn output_path(&self, attempt: AttemptId) -> Result<PathBuf, Failure> {
        self.spool
            .output_path(&attempt.to_string())
            .map_err(|error| unwritable_file(&self.session.project.home.join("spool"), error))
    }

    /// Keeps what an agent said, without secrets. A transcript that cannot be
    /// kept is missed, and never delays the outcome.
    fn store_transcript(&self, attempt: AttemptId, node: &Node) -> Option<Transcript> {
        let row = self.lp.tables().attempt(attempt);
        let number = row.map_or(0, |row| row.number);
        let output = self.output_path(attempt).ok()?;
        let agent = row.map(|row| row.agent.as_str()).unwrap_or_default();
        let whole = self.output_without_partials(&output, agent);
        let from = whole.as_ref().map_or(output.as_path(), |file| file.path());
        let tail: String = attempt.to_string().chars().rev().take(6).collect();
        let name = format!("{}.{number}.{tail}.log", sanitize_file_name(node.as_str()));
        let path = transcripts_folder(&self.row).join(name);
        let to = self.session.project.home.join(&path);
        let to = self.session.project.resolve_inside(&to).ok()?;
        create_own_folder(to.parent()?).ok()?;
        let redactor = self.session.world.redactor();
        let copied = spool::copy_redacted(
            from,
            &to,
            &|text| redactor.redact(text),
            TRANSCRIPT_BYTES_MAX,
        )
        .ok()?;
        Some(Transcript {
            path: path.to_string_lossy().into_owned(),
            bytes: copied.bytes,
            sha256: copied.sha256,
            truncated: copied.truncated,
        })
    }

    /// What an agent printed, without the parts of what it printed whole later;
    /// none where its program prints no such parts, or no file can be written.
    fn output_without_partials(&self, output: &Path, agent: &str) -> Option<NamedTempFile> {
        let program = self.job.config.resolve_agent(agent).ok()?;
        let begin = program.partial_line_prefix()?;
        let whole = NamedTempFile::new_in(self.spool.folder()).ok()?;
        spool::copy_without_lines(output, whole.as_file(), begin).ok()?;
        Some(whole)
    }

    /// How long an agent whose runner died was seen at work, in seconds: from
    /// its start to the last time that it printed something.
    fn seconds_at_work(&self, attempt: AttemptId, output: &Path) -> Option<u64> {
        let started_at = self.lp.tables().attempt(attempt)?.started_at;
        let changed = std::fs::metadata(output).and_then(|found| found.modified());
        let last = changed.ok().and_then(|time| Timestamp::try_from(time).ok());
        let last = last.map_or(started_at, |last| last.min(self.session.world.now()));
        Some(millis_between(started_at, last) / 1_000)
    }

    /// What is known of an attempt whose runner died, by what its agent printed until then.
    fn report_of_dead_agent(&self, attempt: AttemptId, node: &Node, output: PathBuf) -> Report {
        let mut report = unseen_end_report();
        let row = self.lp.tables().attempt(attempt);
        let agent = row.map(|row| row.agent.clone()).unwrap_or_default();
        // The dead runner may have had another one.
        let program = self.job.config.resolve_agent(&agent).ok();
        let item = self.lp.tables().item(self.row.id, node);
        let ongoing = item.and_then(|item| item.tries.ongoing.as_deref());
        let ongoing = ongoing.filter(|ongoing| ongoing.agent == agent);
        let total = ongoing.and_then(|ongoing| ongoing.total.as_ref());
        let source = program
            .as_deref()
            .and_then(|program| self.session_source(attempt, program, ongoing));
        let reader = program.and_then(|program| program.output_reader(total));
        let Some(reader) = reader else {
            let said = spool::read_tail(&output, ANSWER_BYTES);
            report.observations = said
                .map(|said| answer::observations_of_output(&said))
                .unwrap_or_default();
            return report;
        };
        // What it did, used and noticed until then is no less true.
        let redactor = self.session.world.redactor();
        let feed =
            AgentFeed::new(output, reader, LoopDetector::default(), redactor).with_session(source);
        let verdict = self.agent_of_attempt(attempt).verdict;
        let read = self.report_of_feed(attempt, feed, &ProgramEnd::default(), verdict);
        let Ok((seen, words)) = read else {
            return report;
        };
        report.observations = answer::observations_of_output(&words);
        // A limit that it met holds for the next attempt as well.
        if seen.program.trouble == Some(Trouble::RateLimit) {
            report.error = seen.error;
            report.program.trouble = seen.program.trouble;
            report.program.resets_at = seen.program.resets_at;
        }
        report.program.usage = seen.program.usage;
        report.program.models = seen.program.models;
        report.program.conversation = seen.program.conversation;
        if let Some(conversation) = &mut report.program.conversation {
            conversation.agent = agent;
        }
        report.program.activity = seen.program.activity;
        report
    }

    /// What became of an agent whose runner died: its end is unknown, but what it
    /// said is kept. Its processes are gone by now.
    pub(super) fn settle_dead_agent(
        &mut self,
        attempt: AttemptId,
        node: Node,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Input, Failure> {
        self.import_other_plans(tell)?;
        self.import_plan_from_lane(&node, attempt, tell)?;
        let site = self.work.sites.site_of_item(&node);
        site.last_attempt.set(Some(attempt));
        let output = self.output_path(attempt)?;
        let seen_s = self.seconds_at_work(attempt, &output);
        let mut report = self.report_of_dead_agent(attempt, &node, output);
        if let Some(answer) = self.stored_answer(attempt)? {
            answer::merge_tool_report(&mut report, &answer);
        }
        let kept = self.refuse_remade_worktree();
        let kept =
            kept.and_then(|()| worktree::refuse_missing_worktree(&self.session.project, &self.row));
        fail_if_worktree_gone(kept, &mut report);
        report.program.duration_s = seen_s;
        report.program.transcript = self.store_transcript(attempt, &node);
        // What it changed until then is its own; the tree before is recorded
        // with its start.
        site.clear_snapshot();
        report.changes.tree_after = self.tree_hash_to_check(&site, tell);
        self.job.config.requests.apply_rules(&mut report);
        Ok(Input::AgentEnded {
            attempt,
            node,
            report: Box::new(report),
            recovery: None,
        })
    }
}

fn process_end(exit: &ProcessExit) -> ProcessEnd {
    ProcessEnd {
        code: exit.code,
        signal: exit.signal,
        stopped_by: exit.stopped_by.map(|why| stop_reason_name(why).to_owned()),
    }
}

/// Adds to a report why its agent was stopped, unless it says more itself.
fn add_trouble_of_stop(stopped_for: Option<Trouble>, report: &mut Report) {
    if let Some(trouble) = stopped_for {
        // A service that had enough says more than that it was silent then.
        let is_late = trouble == Trouble::Timeout;
        let known = report.program.trouble.filter(|_| is_late);
        report.program.trouble = known.or(Some(trouble));
    }
}

/// What an attempt began with: as it reported it, then as the loop knows it.
fn merge_contexts(
    known: Option<AttemptContext>,
    started_from: Option<AttemptContext>,
) -> Option<AttemptContext> {
    match (known, started_from) {
        (Some(known), Some(started_from)) => Some(known.merge_missing(started_from)),
        (known, started_from) => known.or(started_from),
    }
}

fn describe_start_error(error: &StartError) -> String {
    std::error::Error::source(error)
        .map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// An agent that was not started, and why.
fn unstarted_agent_input(attempt: AttemptId, node: &Node, why: String) -> Input {
    let report = Report {
        error: Some(why),
        program: ProgramReport {
            cannot_start: true,
            ..unseen_end_report().program
        },
        ..unseen_end_report()
    };
    Input::AgentEnded {
        attempt,
        node: node.clone(),
        report: Box::new(report),
        recovery: None,
    }
}

/// An attempt whose worktree is gone has lost what it made, whatever it said. What
/// it asked is still to be answered.
fn fail_if_worktree_gone(kept: Result<(), Failure>, report: &mut Report) {
    let Err(failure) = kept else {
        return;
    };
    report.pieces.clear();
    if matches!(report.outcome, Outcome::Completed | Outcome::Partial) {
        report.outcome = Outcome::Failed;
        report.error = Some(describe_failure(&failure));
    }
}

/// A failure in one text, with what to do.
fn describe_failure(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{failure}; {hint}"),
        None => failure.to_string(),
    }
}

/// What stood in the way of an agent that piton stopped, if that says it.
fn trouble_of_stop(exit: &ProcessExit, asked: Option<&WorkStopCause>) -> Option<Trouble> {
    match (exit.stopped_by?, asked) {
        (StopReason::Wall | StopReason::Idle, _) => Some(Trouble::Timeout),
        (StopReason::Flood, _) => Some(Trouble::Limit),
        (StopReason::Asked, Some(WorkStopCause::Circling(_) | WorkStopCause::NoProgress(_))) => {
            Some(Trouble::Stuck)
        }
        (StopReason::Asked, Some(WorkStopCause::Wanted(_)) | None) => None,
    }
}

fn stop_reason_name(why: StopReason) -> &'static str {
    match why {
        StopReason::Wall => "wall-timeout",
        StopReason::Idle => "idle-timeout",
        StopReason::Flood => "output-limit",
        StopReason::Asked => "asked",
    }
}

/// An attempt whose end no runner saw.
fn unseen_end_report() -> Report {
    Report {
        summary: None,
        error: Some("its runner died; how it ended is unknown".to_owned()),
        ..Report::with_outcome(Outcome::Interrupted)
    }
}
