//! `prd.json`, task files and `state.json` as faces of their runs: imported,
//! shown, edited by hand and taken in, without a disk.

use jiff::{SignedDuration, Timestamp};
use piton_core::attempt::Report;
use piton_core::evidence::ClaimSettings;
use piton_core::gate::GateReport;
use piton_core::journal::EventStamp;
use piton_core::name::{FreeNumbers, NameRange};
use piton_core::plan::Plan;
use piton_core::policy::Limits;
use piton_core::review::{AgentReview, ReviewVerdict};
use piton_core::standing::StandingCounts;
use piton_core::{
    Actor, AttemptId, CallerFacts, Command, DecisionId, Edit, EventId, HolderLiveness, ItemRow,
    ItemState, Node, Outcome, Refusal, Role, Rows, RunId, Stage, Tables, decide,
};
use piton_formats::format::{Grade, format_named};
use piton_formats::plan_file::{PlanFile, ShownRun};
use piton_formats::plan_format::RunContext;
use piton_formats::problem::Problem;
use piton_formats::sprint::SourceText;
use piton_formats::{prd, sdlc, task};
use piton_simkit::seed::cases;
use proptest::prelude::*;
use uuid::Uuid;

mod issue_moves;
mod status_lists;

const RUN: RunId = RunId(Uuid::from_u128(1));

/// Whether a task file says that everything is done.
fn all_ticked(text: &str) -> bool {
    let (task, _) = task::parse_task(SourceText { name: "", text });
    !task.criteria.is_empty() && task.criteria.iter().all(|criterion| criterion.ticked)
}

/// A run with its file, and whatever an engine does around both.
struct Desk {
    tables: Tables,
    face: PlanFile,
    /// What piton last wrote or took in.
    base: String,
    text: String,
    problems: Vec<Problem>,
    now: Timestamp,
    ids: u128,
    /// Whether the file is to be strictly valid after every event.
    is_strict: bool,
}

fn prd_plan(text: &str) -> Plan {
    let (prd, problems) = prd::parse_prd(SourceText {
        name: "prd.json",
        text,
    });
    assert!(!problems.iter().any(Problem::is_error), "{problems:?}");
    prd::plan_of_prd(&prd.expect("a list"), RUN, "prd", "prd.json")
}

fn task_plan(text: &str) -> Plan {
    let (task, problems) = task::parse_task(SourceText {
        name: "TASK.md",
        text,
    });
    assert!(!problems.iter().any(Problem::is_error), "{problems:?}");
    task::plan_of_task(&task, RUN, "task", "TASK.md")
}

fn sdlc_plan(text: &str) -> Plan {
    let (state, problems) = sdlc::parse_state(SourceText {
        name: "state.json",
        text,
    });
    assert!(!problems.iter().any(Problem::is_error), "{problems:?}");
    sdlc::plan_of_state(&state.expect("a state"), RUN, "state", "state.json")
}

impl Desk {
    fn of(plan: Plan, text: &str) -> Self {
        let mut desk = Self {
            tables: Tables::default(),
            face: prd::PLAN.open(&Tables::default(), RUN),
            base: text.to_owned(),
            text: text.to_owned(),
            problems: Vec::new(),
            now: Timestamp::from_second(1_800_000_000).expect("in range"),
            ids: 10,
            is_strict: false,
        };
        desk.commit(&Command::PlanRun(Box::new(plan)))
            .expect("a plan");
        desk.face = PlanFile::of_run(&desk.tables, RUN).expect("a plan of a file");
        desk
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids << 16)
    }

    fn commit(&mut self, command: &Command) -> Result<(), Refusal> {
        self.now += SignedDuration::from_secs(1);
        let facts = CallerFacts {
            actor: Actor::File("the file".to_owned()),
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
            standings: Some(StandingCounts::count_items(self.tables.tree(RUN))),
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
            if self.is_strict {
                self.check_strictly();
            }
        }
        Ok(())
    }

    /// The file as it would be shown now is what its format strictly wants.
    #[track_caller]
    fn check_strictly(&mut self) {
        let shown = self.face.render(Some(&self.text), &self.tables, self.now);
        let text = shown.expect("it can be shown").expect("the run is there");
        let format = format_named(self.face.format().formats[0].name).expect("it is known");
        let name = "the file";
        let problems = format.check(SourceText { name, text: &text }, Grade::Strict);
        assert!(problems.is_empty(), "{problems:#?}\n{text}");
    }

    /// Brings the file up to date. Twice comes to the same as once.
    #[track_caller]
    fn show(&mut self) {
        let show = |desk: &mut Self, text: &str| {
            let now = desk.now + SignedDuration::from_secs(desk.ids.try_into().unwrap_or(9));
            let shown = desk.face.render(Some(text), &desk.tables, now);
            shown.expect("it can be shown").expect("the run is there")
        };
        let text = self.text.clone();
        self.text = show(self, &text);
        self.ids += 1;
        let text = self.text.clone();
        assert_eq!(show(self, &text), text, "twice is not once");
        self.base = text;
    }

    fn found(&mut self) -> Vec<Edit> {
        let shown = ShownRun {
            file: "the file",
            tables: &self.tables,
            run: RUN,
        };
        let changed = self
            .face
            .collect_edits(Some(&self.base), &self.text, shown, self.now);
        let changed = changed.expect("it can be read");
        self.problems = changed.problems;
        changed.edits
    }

    /// Takes in what somebody changed; the problems are kept.
    #[track_caller]
    fn take_in(&mut self) -> Vec<Edit> {
        self.take_in_as(piton_core::command::EditAuthor::File)
    }

    /// The same, while the agent of an attempt may have written the file.
    #[track_caller]
    fn take_in_from_agent(&mut self, attempt: AttemptId) -> Vec<Edit> {
        self.take_in_as(piton_core::command::EditAuthor::MaybeAgent {
            attempt,
            criteria: true,
            in_lane: false,
        })
    }

    #[track_caller]
    fn take_in_as(&mut self, word: piton_core::command::EditAuthor) -> Vec<Edit> {
        let edits = self.found();
        self.commit(&Command::TakeEdits {
            run: RUN,
            token: None,
            file: "the file".to_owned(),
            edits: edits.clone(),
            word,
        })
        .expect("the run is there");
        self.base.clone_from(&self.text);
        edits
    }

    #[track_caller]
    fn replace(&mut self, from: &str, to: &str) {
        assert_eq!(self.text.matches(from).count(), 1, "{from}\n{}", self.text);
        self.text = self.text.replacen(from, to, 1);
    }

    /// What could not be taken.
    fn left(&self) -> Vec<String> {
        let open = self.tables.open_decisions(RUN);
        open.filter(|row| row.file.is_some())
            .flat_map(|row| row.details.clone())
            .collect()
    }

    fn start(&mut self) {
        self.commit(&Command::StartRun {
            run: RUN,
            owner: "me".to_owned(),
            limits: Limits::default(),
            claims: ClaimSettings::default(),
            flags: Box::default(),
            settles: false,
            notify: false,
        })
        .expect("nobody holds it");
    }

    fn token(&self) -> u64 {
        self.tables.run(RUN).map_or(0, |run| run.fence)
    }

    #[track_caller]
    fn begin(&mut self) -> (Node, AttemptId) {
        let next = self
            .tables
            .next_actionable_item(RUN)
            .expect("something is left");
        self.begin_as(Role::Worker, next.node.clone())
    }

    fn begin_as(&mut self, role: Role, node: Node) -> (Node, AttemptId) {
        let attempt = AttemptId(self.id());
        self.commit(&Command::StartAttempt {
            memories: Vec::new(),
            tree: None,
            baseline: None,
            run: RUN,
            token: self.token(),
            attempt,
            node: node.clone(),
            role,
            agent: "sh".to_owned(),
            model: None,
        })
        .expect("it may be started");
        (node, attempt)
    }

    fn end(&mut self, begun: &(Node, AttemptId), outcome: Outcome) {
        self.end_with(begun, Report::with_outcome(outcome));
    }

    fn end_with(&mut self, (node, attempt): &(Node, AttemptId), report: Report) {
        self.commit(&Command::EndAttempt {
            run: RUN,
            token: self.token(),
            attempt: *attempt,
            node: node.clone(),
            fence: self.item(node.as_str()).fence,
            report: Box::new(report),
            recovery: None,
            claimed: Vec::new(),
            agents: Vec::new(),
        })
        .expect("it was started");
    }

    fn gate(&mut self, node: &Node, passed: bool) {
        let (run, token, node) = (RUN, self.token(), node.clone());
        self.commit(&Command::StartGate {
            run,
            token,
            node: node.clone(),
        })
        .expect("it has a gate");
        let report = GateReport {
            passed,
            exit: Some(i32::from(!passed)),
            ..GateReport::default()
        };
        self.commit(&Command::EndGate {
            run,
            token,
            fence: self.item(node.as_str()).fence,
            node,
            report,
            recovery: None,
        })
        .expect("it was started");
    }

    /// Works on whatever is next, to a good end.
    #[track_caller]
    fn work(&mut self) -> String {
        let begun = self.begin();
        self.end(&begun, Outcome::Completed);
        if self.item(begun.0.as_str()).plan.gate.is_some() {
            self.gate(&begun.0, true);
        }
        if self.item(begun.0.as_str()).stage == Stage::Review {
            self.show();
            let reviewer = self.begin_as(Role::Reviewer, begun.0.clone());
            let review = AgentReview {
                verdict: ReviewVerdict::Approve,
                summary: None,
                observations: Vec::new(),
            };
            let report = Report {
                review: Some(Box::new(review)),
                ..Report::with_outcome(Outcome::Completed)
            };
            self.end_with(&reviewer, report);
        }
        self.show();
        begun.0.to_string()
    }

    #[track_caller]
    fn item(&self, node: &str) -> &ItemRow {
        let node = Node::from_text(node);
        self.tables.item(RUN, &node).expect("it is there")
    }

    #[track_caller]
    fn state(&self, node: &str) -> ItemState {
        self.item(node).state
    }
}

mod lists {
    use super::*;

    const STORIES: &str = "{\r\n  \"branchName\": \"x\",\r\n  \"userStories\": [\r\n    {\"id\": \"US-1\", \"title\": \"Numbers\", \"acceptanceCriteria\": [\"no gaps\"], \"priority\": 2, \"passes\": false, \"notes\": \"\"},\r\n    {\"id\": \"US-2\", \"title\": \"Store\", \"acceptanceCriteria\": [], \"priority\": 3, \"passes\": true},\r\n    {\"id\": \"US-3\", \"title\": \"First\", \"acceptanceCriteria\": [], \"priority\": 1, \"passes\": false, \"verificationCommands\": [\"make a\"]},\r\n    {\"id\": \"US-4\", \"title\": \"Whenever\", \"acceptanceCriteria\": [], \"passes\": false},\r\n    {\"id\": \"US-5\", \"title\": \"After 4\", \"acceptanceCriteria\": [], \"priority\": 0, \"passes\": false, \"dependsOn\": [\"US-4\", \"gone\"]}\r\n  ],\r\n  \"verification\": {\"tests\": \"make test\"}\r\n}";

    fn desk() -> Desk {
        Desk::of(prd_plan(STORIES), STORIES)
    }

    #[test]
    fn items_come_by_dependency_then_priority_then_place() {
        let plan = prd_plan(STORIES);
        let order: Vec<(&str, ItemState)> = plan
            .items
            .iter()
            .map(|item| (item.id.as_str(), item.state))
            .collect();
        assert_eq!(
            order,
            [
                ("US-3", ItemState::Ready),
                ("US-1", ItemState::Ready),
                ("US-2", ItemState::Done),
                ("US-4", ItemState::Ready),
                ("US-5", ItemState::Pending),
            ]
        );
        assert_eq!(plan.items[4].depends_on, [Node::from_text("US-4")]);
        let gate = plan.items[0].gate.as_ref().expect("it is verified");
        assert_eq!(
            gate.script,
            "(\nmake a\n) || exit\n(\nmake test\n) || exit\n"
        );
        assert_eq!(
            plan.items[1].gate.as_ref().expect("too").script,
            "make test"
        );
        let prompt = plan.items[1].prompt.as_deref().expect("words");
        assert_eq!(
            prompt,
            "**US-1**: Numbers\n\nWhat must be true in the end:\n\n- no gaps"
        );
    }

    #[test]
    fn passes_is_written_when_the_gate_passed_and_not_before() {
        let mut desk = desk();
        desk.start();
        let begun = desk.begin();
        desk.end(&begun, Outcome::Completed);
        desk.show();
        assert_eq!(desk.text, STORIES, "the agent's word is no evidence");
        desk.gate(&begun.0, false);
        desk.show();
        assert_eq!(desk.text, STORIES);
        // It is tried again, with another agent.
        let fix = AttemptId(desk.id());
        desk.commit(&Command::StartAttempt {
            memories: Vec::new(),
            tree: None,
            baseline: None,
            run: RUN,
            token: desk.token(),
            attempt: fix,
            node: begun.0.clone(),
            role: Role::GateFix,
            agent: "sh".to_owned(),
            model: None,
        })
        .expect("it mends");
        desk.end(&(begun.0.clone(), fix), Outcome::Completed);
        desk.gate(&begun.0, true);
        desk.show();
        let told = "\"First\", \"acceptanceCriteria\": [], \"priority\": 1, \"passes\": ";
        assert_eq!(
            desk.text,
            STORIES.replacen(&format!("{told}false"), &format!("{told}true"), 1)
        );
        let order: Vec<String> = (0..3).map(|_| desk.work()).collect();
        assert_eq!(order, ["US-1", "US-4", "US-5"]);
        assert!(!desk.text.contains("\"passes\": false"));
    }

    #[test]
    fn an_agent_that_says_passes_of_its_own_item_is_not_believed() {
        let mut desk = desk();
        desk.start();
        let begun = desk.begin();
        let mine = "\"priority\": 1, \"passes\": ";
        desk.replace(&format!("{mine}false"), &format!("{mine}true"));
        desk.take_in_from_agent(begun.1);
        // Agents do that all the time: nobody is warned of it.
        assert!(desk.problems.is_empty(), "{:?}", desk.problems);
        assert_eq!(desk.tables.open_decisions(RUN).count(), 0);
        desk.show();
        assert_eq!(desk.text, STORIES);
        desk.replace(&format!("{mine}false"), &format!("{mine}true"));
        desk.end(&begun, Outcome::Completed);
        // The file was read while the attempt was open.
        desk.take_in_from_agent(begun.1);
        desk.gate(&begun.0, false);
        desk.show();
        assert_eq!(desk.text, STORIES);
    }

    #[test]
    fn a_person_who_says_passes_of_another_item_is_believed() {
        let mut desk = desk();
        desk.start();
        desk.begin();
        let other = "\"Whenever\", \"acceptanceCriteria\": [], \"passes\": ";
        desk.replace(&format!("{other}false"), &format!("{other}true"));
        assert_eq!(desk.take_in().len(), 1);
        assert_eq!(
            (desk.state("US-4"), desk.state("US-5")),
            (ItemState::Done, ItemState::Ready)
        );
        let kept = desk.text.clone();
        desk.show();
        assert_eq!(desk.text, kept);
        // What is done is asked about before it is undone.
        desk.replace(&format!("{other}true"), &format!("{other}false"));
        desk.take_in();
        assert_eq!(desk.left(), ["`US-4` is to be pending: it is done"]);
    }

    #[test]
    fn new_items_other_words_and_another_order_are_taken_in() {
        let mut desk = desk();
        desk.replace("\"Numbers\"", "\"Numbers, in Roman\"");
        desk.replace("\"priority\": 1", "\"priority\": 9");
        desk.replace(
            "    {\"id\": \"US-4\"",
            "    {\"id\": \"US-6\", \"title\": \"New\", \"acceptanceCriteria\": [], \"priority\": 1, \"passes\": false, \"dependsOn\": [\"US-7\"]},\r\n    {\"id\": \"US-7\", \"title\": \"Newer\", \"acceptanceCriteria\": [], \"priority\": 5, \"passes\": false},\r\n    {\"id\": \"US-4\"",
        );
        desk.take_in();
        assert_eq!(desk.left(), Vec::<String>::new());
        assert_eq!(desk.problems, []);
        let prompt = desk.item("US-1").plan.prompt.clone().expect("words");
        assert!(
            prompt.starts_with("**US-1**: Numbers, in Roman"),
            "{prompt}"
        );
        desk.start();
        let order: Vec<String> = (0..6).map(|_| desk.work()).collect();
        assert_eq!(order, ["US-1", "US-7", "US-6", "US-3", "US-4", "US-5"]);
        assert_eq!(desk.found(), []);
    }

    #[test]
    fn what_is_taken_out_is_no_change_of_it_and_not_put_back() {
        let mut desk = desk();
        let at = desk.text.find("    {\"id\": \"US-1\"").expect("there");
        let end = at + desk.text[at..].find('\n').expect("a line") + 1;
        desk.text.replace_range(at..end, "");
        assert_eq!(desk.take_in(), []);
        assert_eq!(desk.problems, []);
        assert_eq!(desk.state("US-1"), ItemState::Ready);
        desk.show();
        assert!(!desk.text.contains("{\"id\": \"US-1\""), "nor put back");
    }

    #[test]
    fn without_a_base_only_what_cannot_be_old_is_taken() {
        let mut desk = desk();
        desk.start();
        desk.work();
        let edits = |desk: &mut Desk, text: &str| {
            let (tables, now) = (desk.tables.clone(), desk.now);
            let shown = ShownRun {
                file: "the file",
                tables: &tables,
                run: RUN,
            };
            let changed = desk.face.collect_edits(None, text, shown, now);
            changed.expect("it can be read").edits
        };
        assert_eq!(edits(&mut desk, STORIES), [], "an old version");
        let ticked = STORIES.replace("2, \"passes\": false", "2, \"passes\": true");
        assert_eq!(edits(&mut desk, &ticked).len(), 1, "never tried");
    }

    #[test]
    fn a_list_that_passes_is_a_run_that_is_done() {
        let text = "{\"features\": [{\"id\": 1, \"description\": \"a\", \"passes\": true}]}";
        let plan = prd_plan(text);
        assert!(plan.past.as_ref().is_some_and(|past| past.done));
        let mut desk = Desk::of(plan, text);
        desk.show();
        assert_eq!(desk.text, text);
    }
}

mod tasks {
    use super::*;

    const TASK: &str = "---\r\ntask: Serve tides\r\ntest_command: make check\r\nmax_iterations: 12\r\nmodel: opus\r\n---\r\n# Tides\r\n\r\n## Criteria\r\n\r\n1. [X] The harbours load\r\n2. [ ] A tide is computed\r\n   for every hour\r\n   - [ ] in metres\r\n   - [ ] in feet\r\n3. [ ] WD-01: served\r\n\r\n`- [ ] no criterion`";

    fn desk() -> Desk {
        Desk::of(task_plan(TASK), TASK)
    }

    const TIDE: &str = "a-tide-is-computed-for-every-hour";

    const GROUPS: &str = "\
- [ ] last
- [ ] third <!-- group: 7 -->
- [ ] first <!-- group: 1 -->
- [ ] second <!-- group: 1 -->
  - [ ] two <!-- group: 2 -->
  - [ ] one <!-- group: 1 -->
";

    /// The items in the order in which they are worked on.
    fn worked_on(desk: &mut Desk) -> Vec<String> {
        let mut order = Vec::new();
        while let Some(next) = desk.tables.next_actionable_item(RUN) {
            order.push(next.node.to_string());
            desk.work();
        }
        order
    }

    #[test]
    fn groups_come_one_after_another_and_those_without_one_last() {
        let mut desk = Desk::of(task_plan(GROUPS), GROUPS);
        desk.start();
        let order = worked_on(&mut desk);
        let expected = ["first", "second/one", "second/two", "third", "last"];
        assert_eq!(order, expected);
    }

    #[test]
    fn what_a_group_waits_for_may_be_done_already() {
        let text = GROUPS.replace("- [ ] first", "- [x] first");
        let state = |text: &str, node: &str| {
            let plan = task_plan(text);
            let mut items = plan.items.into_iter();
            let item = items.find(|item| item.node.as_str() == node);
            item.expect("an item").state
        };
        assert_eq!(state(&text, "third"), ItemState::Pending);
        let text = text.replace("- [ ] two", "- [x] two");
        let text = text.replace("- [ ] one", "- [x] one");
        assert_eq!(state(&text, "third"), ItemState::Ready);
        assert_eq!(state(&text, "last"), ItemState::Pending);
        // A file without groups says nothing of an order.
        assert_eq!(state("- [ ] a\n- [ ] b\n", "b"), ItemState::Ready);
    }

    #[test]
    fn what_is_added_to_a_group_waits_for_those_before_it_and_holds_up_nobody() {
        let mut desk = Desk::of(task_plan(GROUPS), GROUPS);
        desk.start();
        desk.show();
        desk.text
            .push_str("- [ ] late <!-- group: 7 -->\n- [ ] early <!-- group: 1 -->\n");
        desk.take_in();
        assert_eq!(desk.left(), Vec::<String>::new());
        let late = desk.tables.item(RUN, &Node::from_text("late"));
        let on: Vec<&str> = late
            .expect("an item")
            .plan
            .depends_on
            .iter()
            .map(Node::as_str)
            .collect();
        assert_eq!(on, ["first", "second"]);
        assert_eq!(desk.found(), []);
        let order = worked_on(&mut desk);
        assert_eq!(order.len(), 7, "{order:?}");
    }

    #[test]
    fn a_criterion_that_gets_another_group_is_asked_about() {
        let mut desk = Desk::of(task_plan(GROUPS), GROUPS);
        desk.show();
        desk.replace("third <!-- group: 7 -->", "third <!-- group: 1 -->");
        let edits = desk.take_in();
        let [Edit::SetDependsOn { node, depends_on }] = &edits[..] else {
            panic!("{edits:?}");
        };
        assert_eq!((node.as_str(), &depends_on[..]), ("third", &[][..]));
        assert_eq!(desk.left().len(), 1);
    }

    #[test]
    fn a_criterion_is_an_item_and_what_is_nested_is_below_it() {
        let plan = task_plan(TASK);
        let metres = format!("{TIDE}/in-metres");
        let nodes: Vec<(&str, ItemState)> = plan
            .items
            .iter()
            .map(|item| (item.node.as_str(), item.state))
            .collect();
        assert_eq!(
            nodes,
            [
                ("the-harbours-load", ItemState::Done),
                (TIDE, ItemState::Ready),
                (&*metres, ItemState::Ready),
                (&*format!("{TIDE}/in-feet"), ItemState::Ready),
                ("wd-01", ItemState::Ready),
            ]
        );
        assert_eq!(plan.policy.limits.iterations_max, Some(12));
        let item = &plan.items[2];
        assert_eq!(item.model.as_deref(), Some("opus"));
        assert_eq!(item.gate.as_ref().expect("checked").script, "make check");
        assert_eq!(
            item.prompt.as_deref(),
            Some(
                "The task: Serve tides\n\nMake this criterion true: **in metres**\n\nIt stands under “Criteria”. It is a part of “A tide is computed for every hour”."
            )
        );
        assert_eq!((&plan.items[1].gate, &plan.items[1].prompt), (&None, &None));
    }

    #[test]
    fn a_box_is_one_byte_and_a_parent_is_ticked_after_its_children() {
        let mut desk = desk();
        desk.start();
        desk.show();
        assert_eq!(desk.text, TASK);
        assert_eq!(desk.work(), format!("{TIDE}/in-metres"));
        let half = TASK.replacen("- [ ] in metres", "- [x] in metres", 1);
        assert_eq!(desk.text, half);
        assert_eq!(desk.work(), format!("{TIDE}/in-feet"));
        let whole = half
            .replacen("- [ ] in feet", "- [x] in feet", 1)
            .replacen("2. [ ]", "2. [x]", 1);
        assert_eq!(desk.text, whole);
        assert_eq!(desk.work(), "wd-01");
        assert_eq!(desk.text, whole.replacen("3. [ ]", "3. [x]", 1));
        assert_eq!(desk.found(), []);
    }

    #[test]
    fn a_tick_by_the_agent_at_work_is_taken_back() {
        let mut desk = desk();
        desk.start();
        let begun = desk.begin();
        desk.replace("- [ ] in metres", "- [x] in metres");
        desk.replace("2. [ ]", "2. [x]");
        desk.take_in_from_agent(begun.1);
        assert!(desk.problems.is_empty(), "{:?}", desk.problems);
        // What else the box says is done is claimed, and nothing more.
        let open: Vec<_> = desk.tables.open_decisions(RUN).collect();
        assert_eq!(open.len(), 1, "{open:?}");
        assert_eq!(open[0].edits.len(), 1, "{open:?}");
        desk.end(&begun, Outcome::Failed);
        desk.show();
        assert_eq!(desk.text, TASK);
    }

    #[test]
    fn a_person_ticks_adds_rewords_and_sorts() {
        let mut desk = desk();
        desk.start();
        let begun = desk.begin();
        desk.replace(
            "3. [ ] WD-01: served\r\n",
            "3. [ ] New\r\n   - [ ] one\r\n   - [x] two\r\n     - [ ] three\r\n4. [x] WD-01: served\r\n",
        );
        desk.replace(
            "   - [ ] in feet\r\n",
            "   - [ ] in feet, exactly\r\n   - [ ] counted by hand\r\n",
        );
        let edits = desk.take_in();
        assert_eq!(desk.left(), Vec::<String>::new(), "{edits:#?}");
        assert_eq!(desk.problems, []);
        assert_eq!(desk.state("wd-01"), ItemState::Done);
        let feet = desk.item(&format!("{TIDE}/in-feet"));
        assert!(
            feet.plan
                .prompt
                .as_deref()
                .is_some_and(|text| text.contains("**in feet, exactly**"))
        );
        desk.end(&begun, Outcome::Completed);
        desk.gate(&begun.0, true);
        desk.show();
        let order: Vec<String> = (0..4).map(|_| desk.work()).collect();
        let below = |name: &str| format!("{TIDE}/{name}");
        assert_eq!(
            order,
            [
                below("in-feet"),
                below("counted-by-hand"),
                "new/one".to_owned(),
                "new/two/three".to_owned()
            ]
        );
        assert!(all_ticked(&desk.text), "{}", desk.text);
        assert_eq!(desk.found(), []);
        assert!(!desk.text.replace("\r\n", "").contains('\n'));
    }

    #[test]
    fn another_test_command_holds_for_what_is_open() {
        let mut desk = desk();
        desk.replace("test_command: make check", "test_command: make all");
        desk.replace("max_iterations: 12", "max_iterations: 3");
        desk.take_in();
        assert_eq!(
            desk.item("wd-01")
                .plan
                .gate
                .as_ref()
                .expect("checked")
                .script,
            "make all"
        );
        let run = desk.tables.run(RUN).expect("there");
        assert_eq!(run.plan.policy.limits.iterations_max, Some(3));
        assert_eq!(desk.left(), Vec::<String>::new());
    }

    proptest! {
        #![proptest_config(cases(64))]

        #[test]
        fn showing_changes_boxes_and_nothing_else(
            shape in prop::collection::vec((0_usize..3, any::<bool>()), 1..12),
            works in 0_usize..12,
        ) {
            let mut text = String::from("# T\n\nprose [ ] here\n\n");
            let mut deepest = 0;
            for (at, (level, ticked)) in shape.iter().enumerate() {
                let level = *level.min(&deepest);
                deepest = level + 1;
                let mark = if *ticked { 'x' } else { ' ' };
                text.push_str(&format!("{}- [{mark}] thing {at}\n", "  ".repeat(level)));
            }
            let mut desk = Desk::of(task_plan(&text), &text);
            desk.show();
            let bare = |text: &str| text.replace("[x]", "[ ]");
            prop_assert_eq!(bare(&desk.text), bare(&text));
            if desk.tables.next_actionable_item(RUN).is_some() {
                desk.start();
            }
            for _ in 0..works {
                if desk.tables.next_actionable_item(RUN).is_none() {
                    break;
                }
                desk.work();
                prop_assert_eq!(bare(&desk.text), bare(&text));
                prop_assert_eq!(desk.found(), []);
            }
            if works >= shape.len() {
                prop_assert!(all_ticked(&desk.text), "{}", desk.text);
            }
        }
    }
}

mod issues {
    use super::*;

    pub(super) const STATE: &str = r#"{
  "run_id": "2026-01-15-orders",
  "prd_url": "file:///prd.md",
  "phase": "EXECUTING",
  "phase_status": "in_progress",
  "bootstrap": {"languages": {"shop": "go"}, "docs_generated": {}},
  "artifacts": {"scoping_doc": null, "pert": "pert.md"},
  "issues": {
    "A-1": {"repo": "shop", "title": "Store", "status": "done", "pr": "o/shop#1", "pr_number": 1, "blocked_by": [], "review_iterations": 1, "human_iterations": 0},
    "A-2": {"repo": "shop", "title": "Serve", "status": "blocked", "pr": null, "pr_number": null, "blocked_by": ["A-1"], "review_iterations": 0, "human_iterations": 0, "branch": "b"},
    "A-3": {"repo": "shop", "title": "Show", "status": "blocked", "pr": null, "pr_number": null, "blocked_by": ["A-2"], "review_iterations": 0, "human_iterations": 0},
    "A-4": {"repo": "shop", "title": "Sell", "status": "reviewing", "pr": null, "pr_number": null, "blocked_by": [], "review_iterations": 2, "human_iterations": 0}
  },
  "updated_at": "2026-01-15T10:00:00Z",
  "metrics": {"started_at": "2026-01-15T09:00:00Z", "phases": {}, "agent_invocations": [], "totals": {"duration_s": 0, "agent_spawns": 0, "review_iterations": {"agent": 3, "human": 0}, "issues_created": 4, "prs_created": 9, "prs_merged": 1}}
}"#;

    fn desk() -> Desk {
        Desk::of(sdlc_plan(STATE), STATE)
    }

    #[test]
    fn statuses_and_totals_are_shown_and_words_of_others_stay() {
        let mut desk = desk();
        desk.show();
        assert_eq!(
            ["A-1", "A-2", "A-3", "A-4"].map(|node| desk.state(node)),
            [
                ItemState::Done,
                ItemState::Ready,
                ItemState::Pending,
                ItemState::Ready
            ]
        );
        let now = desk.text.split("\"updated_at\": \"").nth(1).expect("there");
        let now = now.split('"').next().expect("a time");
        let expected = STATE
            .replacen(
                "\"title\": \"Serve\", \"status\": \"blocked\"",
                "\"title\": \"Serve\", \"status\": \"ready\"",
                1,
            )
            .replacen("\"prs_created\": 9", "\"prs_created\": 1", 1)
            .replacen("2026-01-15T10:00:00Z", now, 1);
        assert_eq!(desk.text, expected);
        assert_eq!(desk.found(), [], "piton's own writing is no edit");
    }

    #[test]
    fn what_others_did_is_taken_in() {
        let mut desk = desk();
        desk.show();
        desk.replace(
            "\"title\": \"Serve\", \"status\": \"ready\"",
            "\"title\": \"Serve\", \"status\": \"implementing\"",
        );
        desk.take_in();
        let kept = desk.text.clone();
        desk.show();
        assert_eq!(desk.text, kept, "a word that the core has not");
        desk.replace(
            "\"title\": \"Serve\", \"status\": \"implementing\"",
            "\"title\": \"Serve\", \"status\": \"done\"",
        );
        desk.replace(
            "    \"A-4\":",
            "    \"A-9\": {\"repo\": \"shop\", \"title\": \"Ship\", \"status\": \"blocked\", \"pr\": null, \"pr_number\": null, \"blocked_by\": [\"A-4\"], \"review_iterations\": 0, \"human_iterations\": 0},\n    \"A-4\":",
        );
        desk.replace(
            "\"phase_status\": \"in_progress\"",
            "\"phase_status\": \"awaiting_human\"",
        );
        desk.take_in();
        assert_eq!(desk.left(), Vec::<String>::new());
        assert_eq!(
            ["A-2", "A-3", "A-9"].map(|node| desk.state(node)),
            [ItemState::Done, ItemState::Ready, ItemState::Pending]
        );
        desk.show();
        assert!(
            desk.text
                .contains("\"title\": \"Show\", \"status\": \"ready\"")
        );
        assert!(desk.text.contains("\"branch\": \"b\""));
        let native = desk
            .tables
            .run(RUN)
            .and_then(|run| run.plan.native.clone())
            .expect("kept");
        assert!(native.body.contains("awaiting_human"));
    }

    /// The file of a run in one of its phases, as the original leaves it.
    pub(super) fn at_phase(phase: &str, status: &str) -> String {
        STATE
            .replace("file:///prd.md", "https://example.org/prd")
            .replace(
                "\"phase\": \"EXECUTING\"",
                &format!("\"phase\": \"{phase}\""),
            )
            .replace("\"in_progress\"", &format!("\"{status}\""))
            .replace(", \"branch\": \"b\"", "")
            .replace("{\"languages\": {\"shop\": \"go\"}", "{\"languages\": {}")
    }

    /// The same without issues.
    pub(super) fn planned_at(phase: &str, status: &str) -> Desk {
        let text = at_phase(phase, status);
        let (before, rest) = text.split_once("\"issues\": {").expect("there");
        let (_, after) = rest.split_once("\n  },").expect("there");
        let text = format!("{before}\"issues\": {{\n  }},{after}");
        let mut desk = Desk::of(sdlc_plan(&text), &text);
        desk.is_strict = true;
        desk.show();
        desk
    }

    const TASKS: &str = r#"{"tasks": [
      {"id": "shop#1", "repo": "shop", "team": "", "title": "Store", "description": "Keep it.", "blocked_by": [], "size": "S"},
      {"id": "shop#2", "repo": "shop", "team": "", "title": "Serve", "blocked_by": ["shop#1"], "size": "M"}
    ]}"#;

    impl Desk {
        #[track_caller]
        pub(super) fn words(&self) -> (String, String) {
            let word = |key: &str| {
                let (_, rest) = self
                    .text
                    .split_once(&format!("\"{key}\": \""))
                    .expect("there");
                rest.split_once('"').expect("a text").0.to_owned()
            };
            (word("phase"), word("phase_status"))
        }

        /// Somebody writes another phase into the file.
        pub(super) fn set_words(&mut self, phase: &str, status: &str) {
            let (was, was_status) = self.words();
            self.replace(
                &format!("\"phase\": \"{was}\""),
                &format!("\"phase\": \"{phase}\""),
            );
            self.replace(
                &format!("\"phase_status\": \"{was_status}\""),
                &format!("\"phase_status\": \"{status}\""),
            );
        }

        /// Does what no agent does at an item, with these files beside the plan.
        fn own_work(&mut self, node: &str, files: &[(&str, &str)]) -> Result<String, String> {
            let phases = self.face.format().phases.expect("it has phases");
            let beside = |path: &str| {
                let file = files.iter().find(|(name, _)| *name == path);
                file.map(|(_, text)| (*text).to_owned())
            };
            let in_tree = |_: Option<&str>, path: &str| beside(path).is_some();
            let around = RunContext {
                tables: &self.tables,
                run: RUN,
                beside: &beside,
                in_tree: &in_tree,
                tree_name: "shop",
            };
            let done = (phases.own_work)(self.item(node), &around).expect("piton does it")?;
            self.commit(&Command::TakeEdits {
                run: RUN,
                token: Some(self.token()),
                file: "the file".to_owned(),
                edits: done.edits,
                word: piton_core::command::EditAuthor::File,
            })
            .expect("the run is there");
            assert_eq!(self.left(), Vec::<String>::new());
            Ok(done.summary)
        }

        #[track_caller]
        fn approval(&self) -> DecisionId {
            let mut open = self.tables.open_decisions(RUN);
            let asked = open.find(|row| row.kind == piton_core::DecisionKind::Approval);
            asked.expect("an approval is asked for").id
        }

        fn decide(&mut self, verb: piton_core::Verb, why: Option<&str>) {
            let decision = self.approval();
            self.let_go();
            self.commit(&Command::Decide {
                run: RUN,
                decision,
                verb,
                why: why.map(str::to_owned),
            })
            .expect("it fits");
            self.start();
            self.show();
        }

        /// The runner ends: all that is left waits for a person.
        fn let_go(&mut self) {
            let (run, token) = (RUN, self.token());
            self.commit(&Command::ReleaseRun { run, token })
                .expect("it holds the run");
        }
    }

    fn phase(name: &str, status: &str) -> (String, String) {
        (name.to_owned(), status.to_owned())
    }

    #[test]
    fn a_run_goes_through_its_phases_and_its_file_is_strictly_valid_after_every_event() {
        use piton_core::Verb::{Approve, Reject};
        let mut desk = planned_at("BOOTSTRAP", "in_progress");
        desk.start();
        desk.show();
        assert_eq!(desk.words(), phase("BOOTSTRAP", "in_progress"));
        let begun = desk.begin();
        let files = [("go.mod", ""), ("artifacts/pert-tasks.json", TASKS)];
        let done = desk
            .own_work("BOOTSTRAP", &files)
            .expect("it can be found out");
        assert_eq!(done, "shop: go");
        desk.end(&begun, Outcome::Completed);
        desk.show();
        assert!(
            desk.text.contains("\"languages\": {\"shop\": \"go\"}"),
            "{}",
            desk.text
        );
        assert_eq!(desk.work(), "DESIGN");
        assert_eq!(desk.words(), phase("DESIGN", "awaiting_approval"));
        desk.decide(Reject, Some("smaller"));
        assert_eq!(desk.words(), phase("DESIGN", "in_progress"));
        assert_eq!(desk.work(), "DESIGN");
        desk.decide(Approve, None);
        assert_eq!(desk.words(), phase("PLANNING", "in_progress"));
        assert!(
            desk.text
                .contains("\"scoping_doc\": \"artifacts/scoping-doc.md\"")
        );
        assert_eq!(desk.work(), "PLANNING");
        assert_eq!(desk.words(), phase("PLANNING", "awaiting_approval"));
        desk.decide(Approve, None);
        assert_eq!(desk.words(), phase("TRACKING", "in_progress"));
        let begun = desk.begin();
        let made = desk
            .own_work("TRACKING", &files)
            .expect("the tasks can be read");
        assert_eq!(made, "made 2 issues");
        // Made once, they are not made again by whoever goes on after a death.
        let made = desk
            .own_work("TRACKING", &files)
            .expect("the tasks can be read");
        assert_eq!(made, "made 0 issues");
        assert_eq!(desk.state("shop#1"), ItemState::Pending);
        desk.show();
        assert_eq!(desk.words(), phase("TRACKING", "in_progress"));
        desk.end(&begun, Outcome::Completed);
        assert_eq!(
            desk.item("shop#1").plan.prompt.as_deref(),
            Some("Store\n\nKeep it.")
        );
        desk.show();
        assert_eq!(desk.words(), phase("EXECUTING", "in_progress"));
        let begun = desk.begin();
        desk.end(&begun, Outcome::NeedsHuman);
        desk.show();
        assert_eq!(desk.words(), phase("EXECUTING", "awaiting_human"));
        desk.let_go();
        desk.commit(&Command::SkipItem {
            run: RUN,
            node: begun.0.clone(),
            why: None,
        })
        .expect("it waits");
        desk.start();
        desk.show();
        assert_eq!(desk.words(), phase("EXECUTING", "in_progress"));
        assert_eq!(desk.work(), "shop#2");
        assert_eq!(desk.words(), phase("COMPLETED", "completed"));
        assert_eq!(desk.found(), []);
        let (state, _) = sdlc::parse_state(SourceText {
            name: "",
            text: &desk.text,
        });
        let state = state.expect("a state");
        assert_eq!(state.metrics.phases.len(), 5);
        for (phase, times) in &state.metrics.phases {
            let (ended, took) = (&times.ended_at, times.duration_s);
            assert!(
                ended.is_some() && took.is_some_and(|took| took > 0.0),
                "{phase}: {times:?}"
            );
        }
    }

    /// Where a run begins from each state in which the original leaves one, before
    /// its issues are worked on.
    #[test]
    fn case_50_each_phase_of_a_file_goes_on_where_it_stands() {
        let cases = [
            ("BOOTSTRAP", "in_progress", "BOOTSTRAP", ItemState::Ready, 0),
            ("DESIGN", "in_progress", "DESIGN", ItemState::Ready, 0),
            (
                "DESIGN",
                "awaiting_approval",
                "DESIGN",
                ItemState::Waiting,
                1,
            ),
            ("DESIGN", "awaiting_human", "DESIGN", ItemState::Waiting, 1),
            ("DESIGN", "completed", "PLANNING", ItemState::Ready, 0),
            ("PLANNING", "in_progress", "PLANNING", ItemState::Ready, 0),
            (
                "PLANNING",
                "awaiting_approval",
                "PLANNING",
                ItemState::Waiting,
                1,
            ),
            ("TRACKING", "in_progress", "TRACKING", ItemState::Ready, 0),
        ];
        for (at, status, node, state, asked) in cases {
            let desk = planned_at(at, status);
            let case = format!("{at} {status}");
            assert_eq!(desk.state(node), state, "{case}");
            assert_eq!(desk.tables.open_decisions(RUN).count(), asked, "{case}");
            let before = Node::from_text("BOOTSTRAP");
            let has_before = desk.tables.item(RUN, &before).is_some();
            assert_eq!(
                has_before,
                at == "BOOTSTRAP",
                "what is over is not made up: {case}"
            );
        }
        for (at, status) in [("EXECUTING", "in_progress"), ("COMPLETED", "completed")] {
            let text = at_phase(at, status);
            let desk = Desk::of(sdlc_plan(&text), &text);
            assert_eq!(desk.tables.tree(RUN).count(), 4, "{at}");
        }
    }

    #[test]
    fn issues_that_are_there_already_wait_until_the_rest_is_made() {
        let text = at_phase("TRACKING", "in_progress");
        let mut desk = Desk::of(sdlc_plan(&text), &text);
        desk.show();
        let nodes = ["A-1", "A-2", "A-3", "A-4"];
        let states = nodes.map(|node| desk.state(node));
        use ItemState::{Done, Pending};
        assert_eq!(states, [Done, Pending, Pending, Pending]);
        assert!(
            desk.text
                .contains("\"title\": \"Serve\", \"status\": \"ready\"")
        );
        desk.start();
        let begun = desk.begin();
        assert_eq!(begun.0.as_str(), "TRACKING");
        // The tracker gave the first two ids of its own; the third is not there yet.
        let tasks = r#"[
          {"id": "shop#1", "repo": "shop", "title": "Store", "blocked_by": []},
          {"id": "shop#2", "repo": "shop", "title": " Serve ", "blocked_by": ["shop#1"]},
          {"id": "shop#3", "repo": "shop", "title": "Ship", "blocked_by": ["shop#2"]}]"#;
        let files = [("artifacts/pert-tasks.json", tasks)];
        let made = desk
            .own_work("TRACKING", &files)
            .expect("the tasks can be read");
        assert_eq!(made, "made 1 issue");
        desk.end(&begun, Outcome::Completed);
        desk.show();
        let on: Vec<&str> = desk
            .item("shop#3")
            .plan
            .depends_on
            .iter()
            .map(Node::as_str)
            .collect();
        assert_eq!(on, ["A-2", "TRACKING"]);
        assert!(
            desk.text.contains("\"blocked_by\": [\"A-2\"]"),
            "{}",
            desk.text
        );
    }

    #[test]
    fn tasks_that_cannot_become_issues_are_refused_with_the_place_of_each_problem() {
        let mut desk = planned_at("TRACKING", "in_progress");
        desk.start();
        desk.begin();
        let tasks = r#"{"tasks": [
{"id": "a#1", "repo": "a", "title": "x", "blocked_by": ["a#2", "gone"]},
{"id": "a#2", "repo": "a", "title": "y", "blocked_by": ["a#1"]},
{"id": "a#2", "repo": "b", "title": "", "blocked_by": []},
{"id": "DESIGN", "repo": "a", "title": "z"}, 5]}"#;
        let files = [("artifacts/pert-tasks.json", tasks)];
        let why = desk
            .own_work("TRACKING", &files)
            .expect_err("they are wrong");
        insta::assert_snapshot!(why, @r"
        no issues can be made of artifacts/pert-tasks.json: mend it and try again, or `piton plan retry PLANNING` has it planned anew
        artifacts/pert-tasks.json:2:56: `a#1` waits for `gone`, which is not there [MISSING_REFERENCE]
        artifacts/pert-tasks.json:2:56: tasks wait for each other: `a#1` for `a#2` for `a#1` [CYCLE_DETECTED]
        artifacts/pert-tasks.json:4:8: the id `a#2` stands there twice [DUPLICATE_ID]
        artifacts/pert-tasks.json:4:23: there is no repository `b`; known: a [UNKNOWN_REPO]
        artifacts/pert-tasks.json:4:37: the task has no `title` [MISSING_KEY]
        artifacts/pert-tasks.json:5:8: `DESIGN` is the name of a phase [RESERVED_ID]
        artifacts/pert-tasks.json:5:46: a task belongs here, not the number 5 [WRONG_TYPE]
        ");
        let files = [("artifacts/pert-tasks.json", "{\"tasks\": [")];
        let why = desk
            .own_work("TRACKING", &files)
            .expect_err("it is cut off");
        assert!(why.contains("TASKS_PARSE_ERROR"), "{why}");
        let why = desk.own_work("TRACKING", &[]).expect_err("it is not there");
        assert!(
            why.contains("artifacts/pert-tasks.json is not there"),
            "{why}"
        );
        let manifest = "repos:\n- {name: shop, path: ., team: t}\n";
        let one = r#"[{"id": "a#1", "repo": "a", "title": "x"}]"#;
        let files = [
            ("artifacts/pert-tasks.json", one),
            ("manifest.yaml", manifest),
        ];
        let why = desk
            .own_work("TRACKING", &files)
            .expect_err("it is unknown");
        assert!(
            why.contains("there is no repository `a`; known: shop"),
            "{why}"
        );
    }

    #[test]
    fn case_48_a_phase_that_a_person_changes_approves_a_gate_and_nothing_else() {
        let person = || piton_core::command::EditAuthor::Hand {
            by: "ada".to_owned(),
            brought: Vec::new(),
        };
        let change = |desk: &mut Desk, phase: &str, status: &str| {
            desk.set_words(phase, status);
            desk.take_in_as(person());
        };
        // As the original's command for it leaves the file.
        let mut desk = planned_at("DESIGN", "awaiting_approval");
        change(&mut desk, "PLANNING", "in_progress");
        assert_eq!(desk.state("DESIGN"), ItemState::Done);
        assert_eq!(desk.tables.open_decisions(RUN).count(), 0);
        assert_eq!(desk.problems, []);
        // Back to it: asked about, since it is done.
        desk.show();
        change(&mut desk, "DESIGN", "in_progress");
        assert_eq!(desk.left(), ["`DESIGN` is to be pending: it is done"]);
        for (from, status, phase, to) in [
            ("DESIGN", "awaiting_approval", "EXECUTING", "in_progress"),
            ("DESIGN", "in_progress", "PLANNING", "in_progress"),
            ("PLANNING", "in_progress", "PLANNING", "awaiting_approval"),
        ] {
            let mut desk = planned_at(from, status);
            let before = desk.state(from);
            change(&mut desk, phase, to);
            let codes: Vec<&str> = desk.problems.iter().map(|one| &*one.code).collect();
            assert_eq!(codes, ["PHASE_FOLLOWS"], "{from} {status}");
            assert_eq!(desk.state(from), before, "{from} {status}");
        }
    }

    #[test]
    fn an_issue_that_is_called_as_a_phase_is_refused_with_its_place() {
        let text = STATE.replace("\"A-3\"", "\"DESIGN\"");
        let (_, problems) = sdlc::parse_state(SourceText {
            name: "state.json",
            text: &text,
        });
        let told = problems
            .iter()
            .find(|problem| problem.code == "RESERVED_ID");
        let told = told.map(ToString::to_string);
        let expected =
            "state.json:11:5: error: an issue is called `DESIGN`, as a phase is [RESERVED_ID]";
        assert_eq!(told.as_deref(), Some(expected));
    }

    #[test]
    fn what_waits_for_others_than_before_is_asked_about() {
        let mut desk = desk();
        desk.show();
        desk.replace("\"blocked_by\": [\"A-2\"]", "\"blocked_by\": [\"A-4\"]");
        desk.take_in();
        assert_eq!(
            desk.left(),
            ["`A-3` is to wait for others: what it waits for is told when it is planned"]
        );
    }

    #[test]
    fn a_state_that_is_gone_is_written_anew() {
        let mut desk = desk();
        let now = desk.now;
        let text = desk.face.render(None, &desk.tables, now);
        let text = text.expect("it can be made").expect("the run is there");
        let (state, problems) = sdlc::parse_state(SourceText {
            name: "",
            text: &text,
        });
        assert!(
            !problems.iter().any(Problem::is_error),
            "{problems:?}\n{text}"
        );
        let state = state.expect("a state");
        assert_eq!(state.issues.len(), 4);
        assert_eq!(state.pert.as_deref(), Some("pert.md"));
        assert_eq!(state.issues[3].status, Some(sdlc::IssueStatus::Reviewing));
    }
}
