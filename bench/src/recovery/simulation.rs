//! One run: the real loop over a project in memory, with agents that do what
//! they were told and a person who answers at once.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::{ProcessEnd, ProgramReport, Report};
use piton_core::classify::classify_failure;
use piton_core::evidence::ClaimSettings;
use piton_core::memory::{MemoryRow, UnconfirmedPolicy};
use piton_core::plan::{ImportedItemHistory, ItemTurn, Order, Plan, PlannedItem};
use piton_core::policy::{Limits, Policy as PlanPolicy};
use piton_core::run_loop::{Effect, Input, RunLoop, RunLoopEnding, RunLoopOptions};
use piton_core::{
    AttemptId, Command, ItemRow, ItemState, Need, Node, Outcome, Role, RunId, Tables, TreePosition,
    Verb,
};
use piton_engine::agents::prompt::{self, Level, PromptInput, PromptTemplates};
use piton_engine::memory::recovery::IncompleteAttempt;
use piton_store::Store as _;

use super::counts::End;
use super::policy::{Known, Policy};
use super::project::Drawn;
use super::world::{Asker, World};
use crate::Result;
use crate::recall::data::Query;

/// A run that has not ended after so many effects never will.
const EFFECTS_MAX: u32 = 10_000;
/// So often a person lets an item be tried again before they leave it out.
const RETRIES_OF_PERSON: u32 = 2;
/// How long an agent works.
const WORK: SignedDuration = SignedDuration::from_mins(5);
/// So many characters of a memory are looked for in a prompt: long ones are cut
/// there.
const CHARS_COMPARED: usize = 200;

/// What a person in charge can do about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    /// They do not know the memory: that they say "try again" helps only where
    /// the memory has nothing, and what is missing is theirs to give.
    Unknowing,
    /// Whatever they are asked about succeeds afterwards.
    Knowing,
}

/// An item, and what its agents meet.
struct Task<'p> {
    query: &'p Query,
    /// The beginnings of the memories that help.
    helps: Vec<String>,
    /// How often a person decided that it is to be tried again.
    decided: u32,
    end: End,
}

struct Simulation<'p> {
    world: World,
    run: RunId,
    policy: Policy,
    person: Person,
    /// What is followed of the memory, as at the beginning.
    memories: Vec<MemoryRow>,
    tasks: BTreeMap<Node, Task<'p>>,
    runner: RunLoop,
    known: Known,
}

/// Works what a seed drew through to its end, and says how each item ended.
///
/// # Errors
///
/// When the run does not end, or a command of the runner is refused.
pub fn simulate(drawn: &Drawn<'_>, policy: Policy, person: Person) -> Result<Vec<End>> {
    let learned = drawn.project.memories.iter();
    let now = learned.map(|memory| memory.created_at).max();
    let mut world = World::new(now.unwrap_or(Timestamp::UNIX_EPOCH));
    let rows = world.remember(&drawn.project.memories)?;
    let run = RunId(world.fresh());
    let tasks = drawn.queries.iter().zip(1_u32..);
    let tasks: BTreeMap<Node, Task<'_>> = tasks
        .map(|(query, number)| (node(number), task(query, &rows)))
        .collect();
    let items = drawn.queries.iter().zip(0_u32..);
    let plan = Plan {
        run,
        name: "simulated".to_owned(),
        face: "sprint-yaml".to_owned(),
        source: "sprints/simulated/SPRINT.yaml".to_owned(),
        policy: PlanPolicy {
            retry: policy.retry(),
            ..PlanPolicy::default()
        },
        order: Order::InTurn,
        native: None,
        past: None,
        requests: Vec::new(),
        items: items.map(|(query, index)| planned(query, index)).collect(),
    };
    world.tell(&Command::PlanRun(Box::new(plan)), Asker::Person)?;
    let start = Command::StartRun {
        run,
        owner: "simulated".to_owned(),
        limits: Limits::default(),
        claims: ClaimSettings::default(),
        flags: Box::default(),
        settles: false,
        notify: false,
    };
    world.tell(&start, Asker::Runner)?;
    world.news();
    let picture = [Need::Run(run), Need::Tree(run)];
    let tables: Tables = world.store.load_rows(&picture)?.tables;
    let token = tables.run(run).map_or(0, |row| row.fence);
    let options = RunLoopOptions {
        agents: vec!["simulated".to_owned()],
        wait: true,
        ..RunLoopOptions::default()
    };
    Simulation {
        world,
        run,
        policy,
        person,
        memories: rows.into_values().filter(MemoryRow::is_followed).collect(),
        tasks,
        runner: RunLoop::new(run, token, options, tables),
        known: Known::default(),
    }
    .carried_through()
}

fn node(number: u32) -> Node {
    Node::from_text(format!("part-{number}"))
}

/// An item of the plan. What is to be done says nothing of what will fail,
/// unless that is what the query is.
fn planned(query: &Query, index: u32) -> PlannedItem {
    let number = index + 1;
    let prompt = if query.source == "preflight" {
        query.text.clone()
    } else {
        format!("do part {number}")
    };
    PlannedItem {
        node: node(number),
        id: format!("part-{number}"),
        place: TreePosition(vec![index]),
        state: ItemState::Ready,
        prompt: Some(prompt),
        model: None,
        gate: None,
        breakpoint: false,
        approval: false,
        depends_on: Vec::new(),
        native: None,
        past: ImportedItemHistory::default(),
        piece_of: None,
        injected: None,
        tags: piton_core::plan::ItemTags::default(),
        claims: piton_core::evidence::ClaimOverrides::default(),
        turn: ItemTurn::default(),
        scope: piton_core::scope::FileScope::default(),
        repository: None,
        wait: None,
    }
}

fn task<'p>(query: &'p Query, rows: &BTreeMap<String, MemoryRow>) -> Task<'p> {
    let helps = query.relevant.iter().filter(|relevant| relevant.grade > 0);
    let helps = helps.filter_map(|relevant| rows.get(&relevant.id));
    let beginning = |row: &MemoryRow| {
        let text = row.memory.content.chars().take(CHARS_COMPARED);
        one_line(&text.collect::<String>())
    };
    Task {
        query,
        helps: helps.map(beginning).collect(),
        decided: 0,
        end: End {
            is_answerable: !query.relevant.is_empty(),
            is_finished: false,
            attempts: 0,
            aside: 0,
            advised: 0,
            asked: 0,
            told_bytes: 0,
        },
    }
}

/// The text without its line breaks: a prompt indents what it quotes.
fn one_line(text: &str) -> String {
    // A prompt quotes the further lines of what it was given.
    let words = text.split_whitespace().filter(|word| *word != ">");
    words.collect::<Vec<_>>().join(" ")
}

impl Task<'_> {
    /// Whether an agent with this prompt can do it.
    fn can_be_done(&self, prompt: &str, person: Person) -> bool {
        let has_decided = self.decided > 0;
        if has_decided && (person == Person::Knowing || !self.end.is_answerable) {
            return true;
        }
        let prompt = one_line(prompt);
        self.helps.iter().any(|text| prompt.contains(text.as_str()))
    }
}

impl Simulation<'_> {
    fn carried_through(mut self) -> Result<Vec<End>> {
        let mut queue = VecDeque::from([Effect::Look]);
        for _ in 0..EFFECTS_MAX {
            let effect = queue.pop_front().ok_or("the loop waits for nothing")?;
            let input = match effect {
                Effect::Look => Input::Looked {
                    events: self.world.news(),
                    pause_file: false,
                    attempt: AttemptId(self.world.fresh()),
                },
                Effect::Commit(command) => {
                    let command = self.with_what_is_known(command)?;
                    match self.world.ask(&command, Asker::Runner)? {
                        Ok(events) => Input::Committed(events),
                        Err(refusal) => Input::Refused(refusal),
                    }
                }
                Effect::StartAgent {
                    attempt,
                    node,
                    role,
                    ..
                } => self.agent(attempt, node, role)?,
                Effect::WaitUntil(time) => {
                    self.world.wait_until(time);
                    Input::Time
                }
                Effect::WaitForPerson => {
                    self.decide()?;
                    Input::Changed(self.world.news())
                }
                Effect::Finish(RunLoopEnding::State) => return Ok(self.ends()),
                other @ (Effect::Finish(_)
                | Effect::SettleAgent { .. }
                | Effect::AskBaseline { .. }
                | Effect::RunGate { .. }
                | Effect::MakeCommit { .. }
                | Effect::LaneIntent { .. }
                | Effect::PrepareLane { .. }
                | Effect::SaveWork { .. }
                | Effect::MakeMerge { .. }
                | Effect::CheckMerge { .. }
                | Effect::MoveTarget { .. }
                | Effect::OpenPullRequest { .. }
                | Effect::TakePullRequest { .. }
                | Effect::FollowPullRequest { .. }
                | Effect::LookAtPullRequest { .. }
                | Effect::CommitIntent { .. }
                | Effect::AskWait { .. }
                | Effect::EndAsking { .. }
                | Effect::WakeAt(_)
                | Effect::StopWork { .. }) => {
                    return Err(format!("nothing here leads to {other:?}").into());
                }
            };
            queue.extend(self.runner.step(self.world.now(), input));
        }
        Err("it never ends".into())
    }

    fn ends(self) -> Vec<End> {
        let tables = self.runner.tables();
        let is_done = |node: &Node| {
            let item = tables.item(self.run, node);
            item.is_some_and(|item| item.state == ItemState::Done)
        };
        let ends = self.tasks.iter().map(|(node, task)| End {
            is_finished: is_done(node),
            ..task.end
        });
        ends.collect()
    }

    fn item(&self, node: &Node) -> Result<&ItemRow> {
        let item = self.runner.tables().item(self.run, node);
        item.ok_or_else(|| format!("there is no item {node}").into())
    }

    /// The intent to start an attempt, with what its prompt carries of the
    /// memory, as the runner has it.
    fn with_what_is_known(&mut self, mut command: Command) -> Result<Command> {
        if let Command::StartAttempt {
            run,
            node,
            role,
            memories,
            ..
        } = &mut command
        {
            let all: Vec<&MemoryRow> = self.memories.iter().collect();
            self.known = self.policy.known(&self.world, &all, (*run, &*node))?;
            memories.extend(self.known.carried.iter().cloned());
            let followed = self.item(node)?.tries.recovery.as_ref();
            let followed =
                followed.filter(|followed| *role == Role::Worker && followed.is_from_memory());
            for id in followed.iter().flat_map(|followed| &followed.evidence) {
                if !memories.contains(id) {
                    memories.push(id.clone());
                }
            }
        }
        Ok(command)
    }

    /// An agent works, and ends.
    fn agent(&mut self, attempt: AttemptId, node: Node, role: Role) -> Result<Input> {
        self.world.pass(WORK);
        let item = self.item(&node)?.clone();
        let prompt = self.prompt(&item);
        let followed = item
            .tries
            .recovery
            .as_ref()
            .filter(|_| role == Role::Worker);
        let guidance = followed.map_or(0, |followed| followed.guidance.len());
        let is_advised = followed.is_some_and(|followed| followed.is_from_memory());
        let told = self.known.bytes() + guidance;
        let person = self.person;
        let Some(task) = self.tasks.get_mut(&node) else {
            return Err(format!("there is no item {node}").into());
        };
        task.end.attempts += 1;
        task.end.aside += u32::from(role != Role::Worker);
        task.end.advised += u32::from(is_advised);
        task.end.told_bytes += u64::try_from(told)?;
        let tries = task.end.attempts;
        let mut report = match role {
            Role::Worker if task.can_be_done(&prompt, person) => {
                Report::with_outcome(Outcome::Completed)
            }
            Role::Worker => failed(&task.query.text),
            Role::Split => failed("it cannot be split"),
            Role::Repair
            | Role::GateFix
            | Role::Verdict
            | Role::IterationHook
            | Role::Resolve
            | Role::Reviewer => Report::with_outcome(Outcome::Completed),
        };
        report.context = self.runner.context_of_attempt(&node);
        let recovery = if role == Role::Worker && report.outcome == Outcome::Failed {
            let ended = IncompleteAttempt {
                run: self.run,
                node: &node,
                attempt,
                report: &report,
                output: "",
                unconfirmed: UnconfirmedPolicy::default(),
            };
            let all: Vec<&MemoryRow> = self.memories.iter().collect();
            self.policy.recovery(&self.world, &all, (&ended, tries))?
        } else {
            None
        };
        Ok(Input::AgentEnded {
            attempt,
            node,
            report: Box::new(report),
            recovery: recovery.map(Box::new),
        })
    }

    /// The prompt of a worker, as the runner writes it.
    fn prompt(&self, item: &ItemRow) -> String {
        let index = item.plan.place.0.last().map_or(1, |index| index + 1);
        let level = Level {
            id: item.plan.id.clone(),
            prompt: item.plan.prompt.clone().unwrap_or_default(),
            index,
            total: u32::try_from(self.tasks.len()).unwrap_or(index),
        };
        let ingredients = PromptInput {
            iteration: self
                .runner
                .run()
                .map_or(1, |row| row.invocation.iterations_total),
            levels: vec![level],
            known: self.known.prepared.clone(),
            ..PromptInput::of_first_attempt("simulated", item)
        };
        let prompt = prompt::render_worker_prompt(&PromptTemplates::default(), &ingredients);
        match &self.known.text {
            Some(text) => format!("{text}\n\n{prompt}"),
            None => prompt,
        }
    }

    /// The person in charge decides all that is open.
    fn decide(&mut self) -> Result<()> {
        let run = self.run;
        let rows = self
            .world
            .store
            .load_rows(&[Need::OpenDecisions(Some(run))])?;
        let open = rows.tables.open_decisions(run);
        let open: Vec<_> = open.filter(|row| row.kind.is_blocking_run()).collect();
        for row in open {
            let node = row.node.clone().ok_or("a question about no item")?;
            let Some(task) = self.tasks.get_mut(&node) else {
                return Err(format!("there is no item {node}").into());
            };
            task.end.asked += 1;
            let verb = if task.decided < RETRIES_OF_PERSON {
                task.decided += 1;
                Verb::Retry
            } else {
                Verb::Skip
            };
            let command = Command::Decide {
                decision: row.id,
                run,
                verb,
                why: None,
            };
            self.world.tell(&command, Asker::Person)?;
        }
        Ok(())
    }
}

fn failed(why: &str) -> Report {
    Report {
        error: Some(why.to_owned()),
        category: Some(classify_failure(Some(1), why)),
        program: ProgramReport {
            process: Some(ProcessEnd {
                code: Some(1),
                signal: None,
                stopped_by: None,
            }),
            ..ProgramReport::default()
        },
        ..Report::with_outcome(Outcome::Failed)
    }
}
