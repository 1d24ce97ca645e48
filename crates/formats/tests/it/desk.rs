//! A desk with one run on it and the file that shows it: what an engine does
//! around the formats, without a disk.

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::Report;
use piton_core::evidence::ClaimSettings;
use piton_core::journal::EventStamp;
use piton_core::name::{FreeNumbers, NameRange};
use piton_core::policy::Limits;
use piton_core::standing::StandingCounts;
use piton_core::{
    Actor, AttemptId, CallerFacts, Command, DecisionId, Edit, EventId, HolderLiveness, Node,
    Outcome, Refusal, Role, Rows, RunId, Tables, decide,
};
use piton_formats::plan_file::PlanChanges;
use piton_formats::problem::Problem;
use piton_formats::sprint::{
    ShownRun, SourceText, SprintExporter, SprintProgress, collect_edits, parse_progress,
    plan_of_progress, update_progress,
};
use uuid::Uuid;

pub(crate) const FILE: &str = "sprints/x/PROGRESS.yaml";

pub(crate) struct Desk {
    pub(crate) run: RunId,
    pub(crate) tables: Tables,
    pub(crate) exporter: SprintExporter,
    /// What piton last wrote.
    pub(crate) base: SprintProgress,
    /// The file.
    pub(crate) text: String,
    pub(crate) problems: Vec<Problem>,
    now: Timestamp,
    ids: u128,
}

pub(crate) fn read(text: &str) -> Option<SprintProgress> {
    parse_progress(SourceText { name: FILE, text }).0
}

impl Desk {
    /// A desk with the file of a sprint, taken over as it stands.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let run = RunId(Uuid::from_u128(1));
        let progress = read(text)?;
        let mut desk = Self {
            run,
            tables: Tables::default(),
            exporter: SprintExporter::new(&Tables::default(), run),
            base: progress.clone(),
            text: text.to_owned(),
            problems: Vec::new(),
            now: Timestamp::from_second(1_800_000_000).expect("in range"),
            ids: 10,
        };
        let plan = plan_of_progress(&progress, run, "x", "sprints/x");
        desk.commit(&Command::PlanRun(Box::new(plan))).ok()?;
        desk.exporter = SprintExporter::new(&desk.tables, run);
        desk.show();
        Some(desk)
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids << 16)
    }

    pub(crate) fn commit(&mut self, command: &Command) -> Result<(), Refusal> {
        self.now += SignedDuration::from_secs(1);
        let facts = CallerFacts {
            actor: Actor::File(FILE.to_owned()),
            decision: DecisionId(self.id()),
            holder: HolderLiveness::Alive,
            checkout: None,
        };
        let rows = Rows {
            tables: self.tables.clone(),
            now: self.now,
            next_decision: self.tables.next_decision_number(),
            leases: std::collections::BTreeMap::new(),
            free_numbers: [FreeNumbers::free_from(1); piton_core::memory::KINDS],
            naming: NameRange::ALONE,
            standings: Some(StandingCounts::count_items(self.tables.tree(self.run))),
        };
        for draft in decide(&rows, command, &facts)? {
            let stamp = EventStamp {
                id: EventId(self.id()),
                position: 0,
                time: self.now,
                actor: facts.actor.clone(),
                checkout: None,
            };
            self.tables.fold(&draft.event, &stamp);
        }
        Ok(())
    }

    /// Brings the file up to date.
    pub(crate) fn show(&mut self) {
        let progress = self.exporter.export(&self.tables, self.now);
        self.base = progress.expect("the run is there");
        self.text = update_progress(&self.text, self.base.clone());
    }

    /// What somebody changed in the file.
    pub(crate) fn found(&mut self) -> Vec<Edit> {
        let Some(theirs) = read(&self.text) else {
            return Vec::new();
        };
        let shown = ShownRun {
            file: FILE,
            tables: &self.tables,
            run: self.run,
        };
        let PlanChanges {
            edits, problems, ..
        } = collect_edits(&self.base, &theirs, shown);
        self.problems = problems;
        edits
    }

    /// Takes in what somebody changed, and brings the file up to date.
    pub(crate) fn take_in(&mut self) -> Vec<Edit> {
        let edits = self.found();
        let (run, file) = (self.run, FILE.to_owned());
        self.commit(&Command::TakeEdits {
            run,
            token: None,
            file,
            edits: edits.clone(),
            word: piton_core::command::EditAuthor::File,
        })
        .expect("the run is there");
        self.show();
        edits
    }

    /// Somebody changes the file in an editor, once.
    #[track_caller]
    pub(crate) fn replace(&mut self, from: &str, to: &str) {
        assert_eq!(self.text.matches(from).count(), 1, "{from}\n{}", self.text);
        self.text = self.text.replacen(from, to, 1);
    }

    /// What could not be taken.
    pub(crate) fn left(&self) -> Vec<String> {
        let open = self.tables.open_decisions(self.run);
        open.filter(|row| row.file.is_some())
            .flat_map(|row| row.details.clone())
            .collect()
    }

    pub(crate) fn start(&mut self) -> u64 {
        let command = Command::StartRun {
            run: self.run,
            owner: "me".to_owned(),
            limits: Limits::default(),
            claims: ClaimSettings::default(),
            flags: Box::default(),
            settles: false,
            notify: false,
        };
        self.commit(&command).expect("nobody holds it");
        self.token()
    }

    pub(crate) fn token(&self) -> u64 {
        self.tables.run(self.run).map_or(0, |run| run.fence)
    }

    pub(crate) fn next(&self) -> Option<Node> {
        self.tables
            .next_actionable_item(self.run)
            .map(|item| item.node.clone())
    }

    pub(crate) fn begin(&mut self, node: &Node) -> AttemptId {
        let attempt = AttemptId(self.id());
        let (run, token) = (self.run, self.token());
        self.commit(&Command::StartAttempt {
            memories: Vec::new(),
            tree: None,
            baseline: None,
            run,
            token,
            attempt,
            node: node.clone(),
            role: Role::Worker,
            agent: "sh".to_owned(),
            model: None,
        })
        .expect("it may be started");
        attempt
    }

    pub(crate) fn end(&mut self, node: &Node, attempt: AttemptId, outcome: Outcome) {
        let (run, token) = (self.run, self.token());
        self.commit(&Command::EndAttempt {
            run,
            token,
            attempt,
            node: node.clone(),
            fence: self.tables.item(run, node).expect("it is there").fence,
            report: Box::new(Report::with_outcome(outcome)),
            recovery: None,
            claimed: Vec::new(),
            agents: Vec::new(),
        })
        .expect("it was started");
    }

    /// Somebody says that everything that failed is done.
    pub(crate) fn work_by_hand(&mut self) {
        self.text = self.text.replace("status: failed", "status: completed");
        self.take_in();
    }

    /// Works on whatever is next.
    #[track_caller]
    pub(crate) fn work(&mut self, outcome: Outcome) -> String {
        let node = self.next().expect("something is left");
        let attempt = self.begin(&node);
        self.end(&node, attempt, outcome);
        self.show();
        node.to_string()
    }
}
