//! One process at work in one project: its store, and how runs are named.

pub(crate) mod hook_spool;
pub(crate) mod person_edits;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use piton_core::checkout::Checkout;
use piton_core::name::NameRange;
use piton_core::redact::Redactor;
use piton_core::{
    CallerFacts, Command, CommandId, DecisionRow, HolderLiveness, Need, Node, Rows, RunId, RunRow,
};
use piton_store::{
    Clock, ClockJump, CommitError, CommitOutcome, LostEvents, Store, StoreAccess, StoreOptions,
    SystemClock, WriterWait,
};

use self::hook_spool::import_spooled_records;
use self::person_edits::trust_edits_of_command;
use crate::config::Config;
use crate::config::store_access::apply_store_access;
use crate::failure::Failure;
use crate::git;
use crate::git::worktree;
use crate::native_files::plan_file_owner::run_of_file;
use crate::project::Project;
use crate::project::own_store::refuse_tracked_store;
use crate::runner::lane_pool;
use crate::runner::run_lock;
use crate::world::World;

/// A store that does not answer is asked again so often before it is given up.
const ASKS_MAX: u32 = 3;
/// How often a runner reports that it waits for its turn to write.
const WAIT_REPORT_EVERY: Duration = Duration::from_secs(60);

/// A process at work in a project.
#[derive(Debug)]
pub struct Session<'w> {
    /// The world.
    pub world: &'w World,
    /// The project.
    pub project: Project,
    /// The project's store.
    pub store: Box<dyn Store>,
}

/// A clock that always says the same, for tests.
struct FixedClock(Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// How a store is opened in this world.
#[must_use]
pub fn store_options(world: &World, access: StoreAccess) -> StoreOptions {
    let clock: Arc<dyn Clock> = match world.fixed_time() {
        Some(time) => Arc::new(FixedClock(time)),
        None => Arc::new(SystemClock),
    };
    let redactor = match access {
        StoreAccess::ReadWrite => world.redactor(),
        // Nothing is stored, and to know the values of all variables costs a short command.
        StoreAccess::ReadOnly | StoreAccess::JournalOnly => Redactor::rules_only(),
    };
    StoreOptions {
        redactor,
        clock,
        access,
        wait: WriterWait::default(),
    }
}

/// How a store is opened to write in a project.
fn write_options(world: &World, project: &Project) -> StoreOptions {
    let wait = match world.wait_report() {
        Some(report) => WriterWait::Endless {
            every: WAIT_REPORT_EVERY,
            report: report.clone(),
        },
        // A command that needs the configuration reports one that cannot be read.
        None => WriterWait::Limited(Config::load(project).unwrap_or_default().store.wait()),
    };
    store_options(world, StoreAccess::ReadWrite).with_wait(wait)
}

/// Where the names begin that a new store gives out. A repository that knows
/// another one has, or will have, clones that give names as well.
fn naming_of_project(world: &World, project: &Project) -> NameRange {
    if git::has_remotes(&project.work_tree) {
        NameRange::for_shared_store(world.new_id())
    } else {
        NameRange::ALONE
    }
}

impl<'w> Session<'w> {
    /// Opens the store to read; none when nothing was ever recorded here.
    ///
    /// # Errors
    ///
    /// When there is a store that cannot be read.
    pub fn open_read_only(world: &'w World, start: &Path) -> Result<Option<Self>, Failure> {
        Self::open(world, start, StoreAccess::ReadOnly)
    }

    fn open(world: &'w World, start: &Path, access: StoreAccess) -> Result<Option<Self>, Failure> {
        Project::check_named(world)?;
        let project = Project::find(world, start);
        if !project.has_journal()? {
            project.check_not_lost(world)?;
            return Ok(None);
        }
        if access == StoreAccess::ReadWrite {
            world.check_write_allowed(&project)?;
            refuse_tracked_store(&project)?;
        }
        project.check_home()?;
        if access == StoreAccess::ReadWrite {
            apply_store_access(world, &project)?;
        }
        let options = match access {
            StoreAccess::ReadWrite => write_options(world, &project),
            StoreAccess::ReadOnly | StoreAccess::JournalOnly => store_options(world, access),
        };
        let store = project.store_address()?.open(options)?;
        if access == StoreAccess::ReadWrite {
            project.note_journal_in_tree(world);
        }
        let session = Self::from_store(world, project, store);
        if access == StoreAccess::ReadWrite {
            import_spooled_records(&session)?;
        }
        Ok(Some(session))
    }

    /// Opens the journal alone, also one that a newer piton wrote; none when
    /// nothing was ever recorded here.
    ///
    /// # Errors
    ///
    /// When there is a store that cannot be read.
    pub fn open_journal(world: &'w World, start: &Path) -> Result<Option<Self>, Failure> {
        Self::open(world, start, StoreAccess::JournalOnly)
    }

    /// Opens the store to write; none when nothing was ever recorded here.
    ///
    /// # Errors
    ///
    /// When there is a store that cannot be read or written.
    pub fn open_writable(world: &'w World, start: &Path) -> Result<Option<Self>, Failure> {
        Self::open(world, start, StoreAccess::ReadWrite)
    }

    /// Opens the store to write, making it if there is none and was none; `told` hears
    /// of that.
    ///
    /// # Errors
    ///
    /// When it cannot be made, read or written; `store.lost` where a former one is gone.
    pub fn open_or_create(
        world: &'w World,
        project: Project,
        told: &mut dyn FnMut(&str),
    ) -> Result<Self, Failure> {
        if !project.has_journal()? {
            project.check_not_lost(world)?;
        }
        Self::open_or_begin_anew(world, project, told)
    }

    /// The same, also where a former store is gone.
    ///
    /// # Errors
    ///
    /// When it cannot be made, read or written.
    pub fn open_or_begin_anew(
        world: &'w World,
        project: Project,
        told: &mut dyn FnMut(&str),
    ) -> Result<Self, Failure> {
        Project::check_named(world)?;
        world.check_write_allowed(&project)?;
        refuse_tracked_store(&project)?;
        project.create()?;
        apply_store_access(world, &project)?;
        let address = project.store_address()?;
        let made = address.create_if_missing(naming_of_project(world, &project))?;
        let store = address.open(write_options(world, &project))?;
        if made {
            told(&format!("keeping progress in {}", project.home.display()));
        }
        project.note_journal_in_tree(world);
        let session = Self::from_store(world, project, store);
        import_spooled_records(&session)?;
        Ok(session)
    }

    fn from_store(world: &'w World, project: Project, store: Box<dyn Store>) -> Self {
        if let Some(loss) = store.loss_at_open() {
            warn_of_loss(world, &project, loss);
        }
        Self {
            world,
            project,
            store,
        }
    }

    /// Carries out a command for a person.
    ///
    /// # Errors
    ///
    /// When it is refused, or the store fails.
    pub fn execute_command(&self, command: &Command) -> Result<CommitOutcome, Failure> {
        let facts = match command.run_id() {
            Some(run) => self.facts_of_run(run, self.holder_of_run(run)?),
            None => self.facts_of_caller(HolderLiveness::Nothing),
        };
        Ok(self.commit(command, &facts)?)
    }

    /// What commands about a run bring with them: its work is where the run is
    /// worked on, wherever the caller is.
    #[must_use]
    pub fn facts_of_run(&self, run: RunId, holder: HolderLiveness) -> CallerFacts {
        let facts = self.facts_of_caller(holder);
        // Where the store cannot be read, the command is not carried out either.
        let rows = (run != RunId::PROJECT).then(|| self.load(&[Need::Run(run)]));
        let rows = rows.and_then(Result::ok);
        let row = rows.as_ref().and_then(|rows| rows.tables.run(run));
        match row.and_then(|row| worktree::checkout_of_run(&self.project, row)) {
            Some(checkout) => CallerFacts {
                checkout: Some(checkout),
                ..facts
            },
            None => facts,
        }
    }

    /// What the commands of the caller bring with them.
    #[must_use]
    pub fn facts_of_caller(&self, holder: HolderLiveness) -> CallerFacts {
        let of_lane = || self.checkout_of_lane();
        CallerFacts {
            checkout: of_lane().or_else(|| git::read_checkout(&self.project.work_tree)),
            ..self.world.command_facts(holder)
        }
    }

    /// What is recorded in a lane is recorded on the branch of its run, which is
    /// checked out nowhere.
    fn checkout_of_lane(&self) -> Option<Checkout> {
        let run = lane_pool::run_of_tree(&self.project.work_tree)?;
        let run = run.parse().ok()?;
        let rows = self.load(&[Need::Run(run)]).ok()?;
        worktree::checkout_of_run(&self.project, rows.tables.run(run)?)
    }

    /// What is known of the runner of a run: first who it is, then whether its
    /// lock is free. A runner takes its lock before it takes the run.
    pub(crate) fn holder_of_run(&self, run: RunId) -> Result<HolderLiveness, Failure> {
        if run == RunId::PROJECT {
            // No runner works through the project's own run.
            return Ok(HolderLiveness::Nothing);
        }
        let rows = self.load(&[Need::Run(run)])?;
        let row = rows.tables.run(run);
        let held = row.filter(|row| row.runners().next().is_some());
        Ok(match held {
            Some(row) if run_lock::is_free(&self.project, row) => HolderLiveness::Gone(row.fence),
            Some(_) => HolderLiveness::Alive,
            None => HolderLiveness::Nothing,
        })
    }

    /// The question about a file that a person has not answered.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn open_question_about_file(
        &self,
        run: RunId,
        file: &str,
    ) -> Result<Option<DecisionRow>, Failure> {
        let rows = self.load(&[Need::OpenDecisions(Some(run))])?;
        let mut open = rows.tables.open_decisions(run);
        Ok(open.find(|row| row.file.as_deref() == Some(file)).cloned())
    }

    /// Whether the file of its plan shows a run: it is the one whose plan stands
    /// there, or the last one where no run knows what stands there.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn is_shown_in_plan_file(&self, row: &RunRow) -> Result<bool, Failure> {
        let runs = self.runs()?;
        let mut of_source = runs
            .iter()
            .rev()
            .filter(|run| run.plan.source == row.plan.source);
        let newest = of_source.next();
        let is_only = of_source.next().is_none();
        let shown = if is_only {
            newest
        } else {
            run_of_file(&self.project, &runs, &row.plan.source).or(newest)
        };
        Ok(shown.is_some_and(|shown| shown.id == row.id))
    }

    /// Carries out a command, asking again when the connection was lost.
    ///
    /// # Errors
    ///
    /// When it is refused, or the store fails.
    pub fn commit(
        &self,
        command: &Command,
        facts: &CallerFacts,
    ) -> Result<CommitOutcome, CommitError> {
        self.commit_with_id(CommandId(self.world.new_id()), command, facts)
    }

    /// Carries out a command that others may carry out as well, under the same
    /// id: the first caller does, and the others get the result.
    ///
    /// # Errors
    ///
    /// When it is refused, or the store fails.
    pub fn commit_with_id(
        &self,
        id: CommandId,
        command: &Command,
        facts: &CallerFacts,
    ) -> Result<CommitOutcome, CommitError> {
        let mut asks = 1;
        loop {
            match self.store.commit(id, command, facts) {
                Err(CommitError::Unknown(_)) if asks < ASKS_MAX => asks += 1,
                other => {
                    trace_commit(&other);
                    if let Ok(committed) = &other {
                        trust_edits_of_command(self, command);
                        if let Some(jump) = &committed.jump {
                            warn_of_jump(self.world, jump);
                        }
                    }
                    return other;
                }
            }
        }
    }

    /// Rows, to read.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn load(&self, needs: &[Need]) -> Result<Rows, Failure> {
        Ok(self.store.load_rows(needs)?)
    }

    /// Every run of a plan, the oldest first. The project's own is none of
    /// them: no runner works through it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn runs(&self) -> Result<Vec<RunRow>, Failure> {
        Ok(runs_of_plans(&self.load(&[Need::Runs])?))
    }

    /// The run that `text` names: its name, a path of its plan, or the
    /// beginning of its id.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one.
    pub fn resolve_run(&self, text: &str) -> Result<RunRow, Failure> {
        let runs = self.runs()?;
        self.resolve_run_among(&runs, text).cloned()
    }

    pub(crate) fn resolve_run_among<'r>(
        &self,
        runs: &'r [RunRow],
        text: &str,
    ) -> Result<&'r RunRow, Failure> {
        if let Some(run) = runs
            .iter()
            .find(|run| run.name == text || run.id.to_string() == text)
        {
            return Ok(run);
        }
        for source in self.sources_of_path(text) {
            let of_source = runs.iter().rfind(|run| run.plan.source == source);
            let copied = || {
                let path = self.project.absolute_path(&source);
                worktree::run_of_plan_copy(&self.project, runs, &path)
            };
            if let Some(run) = of_source.or_else(copied) {
                return Ok(run);
            }
        }
        let short = text.len() >= 4 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let fitting: Vec<&RunRow> = runs
            .iter()
            .filter(|run| short && run.id.to_string().starts_with(text))
            .collect();
        match fitting.as_slice() {
            [run] => Ok(run),
            [] => Err(unknown_run(text, runs)),
            several => Err(ambiguous_run(several)),
        }
    }

    /// The sources under which the journal may know the plan at a path: a file
    /// itself, also one that was taken away, then the folder that it lies in.
    /// None where there is no such folder.
    #[must_use]
    pub fn sources_of_path(&self, text: &str) -> Vec<String> {
        let path = self.world.resolve_path(text);
        let found = std::fs::canonicalize(&path).or_else(|gone| {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(gone);
            };
            std::fs::canonicalize(folder).map(|folder| folder.join(name))
        });
        let Ok(path) = found else {
            return Vec::new();
        };
        let own = self.project.relative_path(&path);
        if path.is_dir() {
            return vec![own];
        }
        if !path.exists() {
            return vec![own];
        }
        let folder = path
            .parent()
            .map(|folder| self.project.relative_path(folder));
        std::iter::once(own).chain(folder).collect()
    }

    /// The run that is meant when none is named: the only one that is not
    /// finished, or the only one that fits.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one.
    pub fn resolve_run_or_default(&self, text: Option<&str>) -> Result<RunRow, Failure> {
        if let Some(text) = text {
            return self.resolve_run(text);
        }
        let runs = self.runs()?;
        let open: Vec<&RunRow> = open_runs(&runs).collect();
        match (open.as_slice(), runs.as_slice()) {
            ([run], _) => Ok((*run).clone()),
            ([], [run]) => Ok(run.clone()),
            ([], []) => Err(no_runs_failure()),
            ([], several) => Err(ambiguous_run(&several.iter().collect::<Vec<_>>())),
            (several, _) => Err(ambiguous_run(several)),
        }
    }

    /// The run and node that `[RUN:]NODE` names, among `runs`, which are all runs;
    /// none where no run has such a node. What stands before the first `:` and names
    /// no run is part of the node.
    ///
    /// # Errors
    ///
    /// When more than one run has it, or the store cannot be read.
    pub(crate) fn find_item(
        &self,
        runs: &[RunRow],
        text: &str,
    ) -> Result<Option<(RunId, Node)>, Failure> {
        if runs.is_empty() {
            return Ok(None);
        }
        let named = text
            .split_once(':')
            .and_then(|(run, node)| Some((self.resolve_run_among(runs, run).ok()?, node)));
        let (among, node) = match named {
            Some((run, node)) => (vec![run], node),
            None => (runs.iter().collect(), text),
        };
        let exact = Node::from_text(node);
        let shown = Node::readings_of_shown(node).filter(|reading| *reading != exact);
        for node in std::iter::once(exact.clone()).chain(shown) {
            if let Some(found) = self.find_node(runs, among.clone(), node)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The one of some of the runs that has this node; none where none has.
    fn find_node(
        &self,
        runs: &[RunRow],
        among: Vec<&RunRow>,
        node: Node,
    ) -> Result<Option<(RunId, Node)>, Failure> {
        let needs: Vec<Need> = among
            .iter()
            .map(|run| Need::Line(run.id, node.clone()))
            .collect();
        let rows = self.load(&needs)?;
        let mut found = among;
        found.retain(|run| rows.tables.item(run.id, &node).is_some());
        // A run that is over gives way to one that is not.
        if found.len() > 1 {
            let open: Vec<RunId> = open_runs(runs).map(|run| run.id).collect();
            if found.iter().any(|run| open.contains(&run.id)) {
                found.retain(|run| open.contains(&run.id));
            }
        }
        match found.as_slice() {
            [] => Ok(None),
            [run] => Ok(Some((run.id, node))),
            several => Err(ambiguous_item(several, &node)),
        }
    }
}

/// The runs of plans among rows, the oldest first.
pub(crate) fn runs_of_plans(rows: &Rows) -> Vec<RunRow> {
    let runs = rows.tables.runs().filter(|run| run.id != RunId::PROJECT);
    runs.cloned().collect()
}

/// The runs that are not over: not finished, and no later run of the same plan
/// has taken their place. `runs` are all runs, the oldest first.
pub(crate) fn open_runs(runs: &[RunRow]) -> impl Iterator<Item = &RunRow> {
    runs.iter().enumerate().filter_map(move |(index, run)| {
        let replaced = runs[index + 1..]
            .iter()
            .any(|later| later.plan.source == run.plan.source);
        (run.state != piton_core::RunState::Done && !replaced).then_some(run)
    })
}

/// The later run of the same plan that has taken the place of `run`; none where
/// there is none, or `run` was worked on again since. `runs` are all runs, the
/// oldest first.
pub(crate) fn replacing_run<'r>(runs: &'r [RunRow], run: &RunRow) -> Option<&'r RunRow> {
    let newest = runs
        .iter()
        .rfind(|later| later.plan.source == run.plan.source)?;
    let goes_on = run.invocation.invoked_at > Some(newest.created_at);
    (newest.id != run.id && !goes_on).then_some(newest)
}

/// Nothing was ever run here.
#[must_use]
pub fn no_runs_failure() -> Failure {
    Failure::new("run.unknown", "there is no run here").with_hint(format!(
        "begin one with `piton run PLAN`, where PLAN is {}",
        piton_formats::registry::describe_plan_kinds()
    ))
}

pub(crate) fn unknown_run(text: &str, runs: &[RunRow]) -> Failure {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let hint = if names.is_empty() {
        "begin one with `piton run PLAN`".to_owned()
    } else {
        format!("there is: {}", names.join(", "))
    };
    Failure::new("run.unknown", format!("there is no run `{text}`")).with_hint(hint)
}

fn ambiguous_run(runs: &[&RunRow]) -> Failure {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    Failure::new("usage", "more than one run fits")
        .with_hint(format!("name one of: {}", names.join(", ")))
}

fn ambiguous_item(runs: &[&RunRow], node: &piton_core::Node) -> Failure {
    let names: Vec<String> = runs
        .iter()
        .map(|run| format!("{}:{node}", run.name))
        .collect();
    Failure::new("usage", format!("more than one run has a node `{node}`"))
        .with_hint(format!("name one of: {}", names.join(", ")))
}

fn trace_commit(committed: &Result<CommitOutcome, CommitError>) {
    match committed {
        Ok(committed) => {
            for recorded in &committed.events {
                let stamp = &recorded.record.stamp;
                tracing::debug!(
                    stream = %recorded.record.stream,
                    position = stamp.position,
                    kind = recorded.event.kind(),
                    "stored"
                );
            }
        }
        Err(error) => tracing::debug!(%error, "not stored"),
    }
}

fn warn_of_jump(world: &World, jump: &ClockJump) {
    let (clock, event) = (world.local_time(jump.clock), world.local_time(jump.event));
    world.warn(format!(
        "the clock of this machine shows {clock}, and an event of the journal is from {event}: the clock jumped. What is recorded from now on has the time of the clock: see that `date` is right"
    ));
}

/// Warns of acknowledged events that are gone.
pub(crate) fn warn_of_loss(world: &World, project: &Project, loss: &LostEvents) {
    world.warn(format!(
        "{loss}; another program deleted or changed {}: see `piton journal verify`, and what the native files and git still say",
        project.home.join("journal.db-wal").display()
    ));
}
