//! Agents: started, ended, and what came of them.

use std::path::PathBuf;

use jiff::Timestamp;
use piton_core::attempt::{Outcome, ProcessEnd, Report, Transcript};
use piton_core::prepare::Section;
use piton_core::recover::Recovery;
use piton_core::run_loop::Input;
use piton_core::{AttemptId, Command, ItemRow, Node, Role};

use super::left_behind::{plain, transcripts};
use super::seen::Before;
use super::work::Purpose;
use super::{Runner, unseen};
use crate::answer::{self, Ended, Stopped};
use crate::fail;
use crate::failure::{Failure, unwritable};
use crate::notice::Notice;
use crate::preparing::{self, TOKENS};
use crate::process::{Exit, Program, Spec, StopReason};
use crate::prompt::{self, Ingredients, Level};
use crate::recovering::{self, EndedAttempt};
use crate::spool;

/// How much of the end of an agent's output is searched for its answer.
const ANSWER_BYTES: u64 = 4 << 20;
/// How much of an agent's output is kept as its transcript; the middle of a
/// longer one is left out.
const TRANSCRIPT_BYTES_MAX: u64 = 64 << 20;

/// An agent whose process and all that it started are gone.
pub(super) struct AgentOver<'e> {
    pub(super) attempt: AttemptId,
    pub(super) node: Node,
    pub(super) exit: &'e Exit,
    /// Why it was asked to stop, if it was.
    pub(super) asked: Option<String>,
    pub(super) before: Option<Box<Before>>,
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
        self.follow(tell);
        let Some(item) = self.lp.tables().item(self.row.id, node).cloned() else {
            return Ok(Vec::new());
        };
        let mark = attempt.to_string();
        let fault = |error| unwritable(&self.session.project.home.join("spool"), error);
        let spec = Spec {
            program: Program::Shell(self.job.command.clone()),
            cwd: self.session.project.work_tree.clone(),
            env: self.environment(&item, &mark),
            stdin: self.prompt(&item, role)?,
            output: self.spool.output(&mark).map_err(fault)?,
            limits: self.job.agent_limits,
            mark: mark.clone(),
        };
        let before = self.look_before(tell);
        fail::point("run.before-start");
        Ok(
            match self.begin(spec, node, until, Purpose::Agent { attempt, before })? {
                Ok(()) => Vec::new(),
                Err(error) => {
                    let why = std::error::Error::source(&error)
                        .map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
                    let report = Report {
                        error: Some(why),
                        cannot_start: true,
                        ..unseen()
                    };
                    vec![Input::AgentEnded {
                        attempt,
                        node: node.clone(),
                        report: Box::new(report),
                        recovery: None,
                    }]
                }
            },
        )
    }

    /// What an agent or a gate finds in its environment.
    pub(super) fn environment(&self, item: &ItemRow, mark: &str) -> Vec<(String, String)> {
        let model = self.lp.model(item).unwrap_or_default();
        [
            ("PITON_RUN", self.row.name.as_str()),
            ("PITON_ITEM", item.node.as_str()),
            ("PITON_ATTEMPT", mark),
            ("PITON_MODEL", model),
            (
                "PITON_PROJECT",
                &self.session.project.root.to_string_lossy(),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    fn prompt(&self, item: &ItemRow, role: Role) -> Result<String, Failure> {
        let tables = self.lp.tables();
        let run = self.row.id;
        let mut levels = Vec::new();
        for depth in 1..=item.place.depth() {
            let place = piton_core::Place(item.place.0[..depth].to_vec());
            let Some(at) = tables.item_at(run, &place) else {
                continue;
            };
            let siblings = match at
                .node
                .parent()
                .and_then(|parent| tables.item(run, &parent))
            {
                Some(parent) => parent.children,
                None => self.roots(),
            };
            levels.push(Level {
                id: at.id.clone(),
                prompt: at.prompt.clone().unwrap_or_default(),
                index: place.0.last().map_or(1, |index| index + 1),
                total: siblings,
            });
        }
        let ingredients = Ingredients {
            sprint_id: &self.sprint_id,
            iteration: self.lp.run().map_or(1, |row| row.iterations_total),
            levels,
            item,
            context: if self.is_sprint() {
                prompt::read_context(&self.plan_folder())
            } else {
                Vec::new()
            },
            known: self.known(item),
            pieces: self.pieces_of(item),
        };
        Ok(match role {
            Role::Worker => prompt::worker(&self.templates, &ingredients),
            Role::GateFix => prompt::gate_fix(&self.templates, &ingredients),
            Role::Repair => prompt::repair(&self.templates, &ingredients),
            Role::Split => prompt::split(&self.templates, &ingredients),
        })
    }

    /// The intent to start an attempt, with the ids of what its prompt will carry
    /// of the memory; any other command as it is.
    pub(super) fn with_memories(&mut self, mut command: Command) -> Result<Command, Failure> {
        let Command::StartAttempt {
            run,
            node,
            role,
            memories,
            ..
        } = &mut command
        else {
            return Ok(command);
        };
        let (store, now) = (&self.session.store, self.clock.now(self.session.world));
        let prepared = preparing::prepare(store, (*run, node), now, TOKENS)?;
        memories.extend(prepared.carried().map(str::to_owned));
        let item = self.lp.tables().item(*run, node);
        let followed = item.and_then(|item| item.recovery.as_ref());
        let followed =
            followed.filter(|followed| *role == Role::Worker && followed.is_remembered());
        for id in followed.iter().flat_map(|followed| &followed.evidence) {
            if !memories.contains(id) {
                memories.push(id.clone());
            }
        }
        self.prepared = Some(prepared);
        Ok(command)
    }

    /// The block of what is known, for the prompt; none where that is nothing.
    /// What failed last stands in the prompt by itself.
    fn known(&self, item: &ItemRow) -> Option<String> {
        let mut prepared = self.prepared.clone()?;
        if item.error.is_some() || item.answer.is_some() {
            let tried = prepared.notes.iter();
            let last = tried
                .enumerate()
                .find(|(_, note)| note.section == Section::Tried);
            let last = last.map(|(at, _)| at);
            last.map(|at| prepared.notes.remove(at));
        }
        (!prepared.notes.is_empty()).then(|| prepared.in_markdown())
    }

    /// The pieces that an item was split into, each with what came of it.
    fn pieces_of(&self, item: &ItemRow) -> Vec<String> {
        let tables = self.lp.tables();
        let rows = item.depends_on.iter();
        let rows = rows.filter_map(|on| tables.item(item.run, on));
        let pieces = rows.filter(|row| row.piece_of.as_ref() == Some(&item.node));
        let shown = pieces.map(|row| {
            let title = row.prompt.as_deref().unwrap_or_default();
            let title = title.lines().next().unwrap_or_default();
            let said = row.summary.as_deref().unwrap_or_default();
            let said = said.lines().next().unwrap_or_default();
            let state = row.state;
            match said {
                "" => format!("`{}` ({state}): {title}", row.node),
                said => format!("`{}` ({state}): {title}. {said}", row.node),
            }
        });
        shown.collect()
    }

    /// How many roots the tree has: one more than the index of the last.
    fn roots(&self) -> u32 {
        let last = self.lp.tables().last_root(self.row.id);
        last.map_or(1, |item| item.place.0.first().map_or(1, |index| index + 1))
    }

    pub(super) fn agent_ended(
        &mut self,
        over: AgentOver<'_>,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Result<Input, Failure> {
        let AgentOver {
            attempt,
            node,
            exit,
            asked,
            before,
        } = over;
        fail::point("run.agent-ended");
        if !self.is_sprint() {
            // A mark that the agent set for its own item is seen while the
            // item is still worked on: it is no evidence.
            self.look(tell)?;
        }
        let output = self.output_of(attempt)?;
        let ended = Ended {
            code: exit.code,
            signal: exit.signal,
            stopped: self.stopped(exit, asked),
        };
        let (mut report, text) = match spool::tail(&output, ANSWER_BYTES) {
            Ok(text) => (answer::report(&text, &ended), text),
            Err(error) => (answer::unread(&error, &ended), String::new()),
        };
        report.process = Some(ProcessEnd {
            code: exit.code,
            signal: exit.signal,
            stopped_by: exit.stopped_by.map(|why| stop_word(why).to_owned()),
        });
        self.look_after(before, &mut report, tell);
        self.verify_blocker(attempt, &node, &mut report);
        report.transcript = self.keep_transcript(attempt, &node);
        fail::point("run.transcript-kept");
        let started_from = self.lp.started_from(&node);
        report.context = match (report.context.take(), started_from) {
            (Some(known), Some(started_from)) => Some(known.or(started_from)),
            (known, started_from) => known.or(started_from),
        };
        let recovery = self.recovery(attempt, &node, &report, &text, tell);
        Ok(Input::AgentEnded {
            attempt,
            node,
            report: Box::new(report),
            recovery,
        })
    }

    /// What to do now, when a worker did not complete. Not to know it loses
    /// nothing: the plan's own retries or a person decide then.
    fn recovery(
        &self,
        attempt: AttemptId,
        node: &Node,
        report: &Report,
        output: &str,
        tell: &mut dyn FnMut(Notice<'_>),
    ) -> Option<Box<Recovery>> {
        let row = self.lp.tables().attempt(attempt)?;
        let failed = [Outcome::Failed, Outcome::Partial, Outcome::Blocked];
        if row.role != Role::Worker || !failed.contains(&report.outcome) {
            return None;
        }
        let ended = EndedAttempt {
            run: self.row.id,
            node,
            attempt,
            report,
            output,
        };
        match recovering::recover(self.session, &ended, self.now()) {
            Ok(recovery) => Some(Box::new(recovery)),
            Err(failure) => {
                let said = format!("what to do about {node} is not known: {failure}");
                tell(Notice::Warning(&said));
                None
            }
        }
    }

    fn stopped(&self, exit: &Exit, asked: Option<String>) -> Option<Stopped> {
        let limits = &self.job.agent_limits;
        let spoken = |time: Option<std::time::Duration>| {
            piton_core::amount::spoken(time.unwrap_or_default().as_secs())
        };
        Some(match exit.stopped_by? {
            StopReason::Asked => Stopped {
                why: asked.unwrap_or_else(|| "it was stopped".to_owned()),
                asked: true,
                late: false,
            },
            StopReason::Wall => Stopped {
                why: format!("it ran longer than {} and was stopped", spoken(limits.wall)),
                asked: false,
                late: true,
            },
            StopReason::Idle => Stopped {
                why: format!(
                    "it printed nothing for {} and was stopped",
                    spoken(limits.idle)
                ),
                asked: false,
                late: true,
            },
            StopReason::Flood => Stopped {
                why: format!(
                    "it printed more than {} and was stopped",
                    piton_core::amount::size(limits.output_bytes_max.unwrap_or(0))
                ),
                asked: false,
                late: false,
            },
        })
    }

    fn output_of(&self, attempt: AttemptId) -> Result<PathBuf, Failure> {
        self.spool
            .output(&attempt.to_string())
            .map_err(|error| unwritable(&self.session.project.home.join("spool"), error))
    }

    /// Keeps what an agent said, without secrets. A transcript that cannot be
    /// kept is missed, and never delays the outcome.
    fn keep_transcript(&self, attempt: AttemptId, node: &Node) -> Option<Transcript> {
        let from = self.output_of(attempt).ok()?;
        let number = self
            .lp
            .tables()
            .attempt(attempt)
            .map_or(0, |row| row.number);
        let tail: String = attempt.to_string().chars().rev().take(6).collect();
        let name = format!("{}.{number}.{tail}.log", plain(node.as_str()));
        let path = transcripts(&self.row).join(name);
        let to = self.session.project.home.join(&path);
        std::fs::create_dir_all(to.parent()?).ok()?;
        let redactor = self.session.world.redactor();
        let copied = spool::copy_redacted(
            &from,
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

    /// What became of an agent whose runner died: nobody knows, but what it
    /// said is kept. Its processes are gone by now.
    pub(super) fn settle_agent(
        &mut self,
        attempt: AttemptId,
        node: Node,
    ) -> Result<Input, Failure> {
        let mut report = unseen();
        // What it noticed until then is no less true.
        let said = spool::tail(&self.output_of(attempt)?, ANSWER_BYTES);
        report.observations = said
            .map(|said| answer::noticed_in(&said))
            .unwrap_or_default();
        report.transcript = self.keep_transcript(attempt, &node);
        Ok(Input::AgentEnded {
            attempt,
            node,
            report: Box::new(report),
            recovery: None,
        })
    }
}

fn stop_word(why: StopReason) -> &'static str {
    match why {
        StopReason::Wall => "wall-timeout",
        StopReason::Idle => "idle-timeout",
        StopReason::Flood => "output-limit",
        StopReason::Asked => "asked",
    }
}
