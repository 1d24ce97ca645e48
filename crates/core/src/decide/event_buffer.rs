//! The telling of a decision: events, and the rows as each one leaves them.

use jiff::Timestamp;
use uuid::Uuid;

use super::similar::WordHolders;
use crate::command::{CallerFacts, HolderLiveness};
use crate::decision::{DecisionChoice, DecisionKind, DecisionRow, Verb};
use crate::edit::Edit;
use crate::event::{DecisionEvent, Event, MemoryEvent, RunEvent};
use crate::id::{DecisionId, EventId, Node, RunId, StreamId};
use crate::item::ItemRow;
use crate::journal::{CLOCK_JUMP, Draft, EventStamp};
use crate::memory::KINDS;
use crate::name::FreeNumbers;
use crate::needs::Rows;
use crate::refusal::Refusal;
use crate::request::WorkRequest;
use crate::run::{Pause, RunRow, RunState};
use crate::tables::Tables;

/// What a question is about.
enum QuestionSubject {
    Node(Node),
    File(String),
    Memory(String),
    /// Nothing that has a name here.
    Nothing,
}

/// The words of a question.
pub(super) struct QuestionText {
    /// What is asked, in one line.
    pub(super) question: String,
    /// What a person who answers has to know beside that.
    pub(super) details: Option<String>,
}

/// What may be done about what is asked, and the edits that it is about.
#[derive(Default)]
struct QuestionOptions {
    ways: Option<Vec<DecisionChoice>>,
    edits: Vec<Edit>,
    request: Option<Box<WorkRequest>>,
    memories: Vec<String>,
}

/// A decision while it is being made.
#[derive(Clone)]
pub(super) struct EventBuffer<'a> {
    /// The rows that were asked for, as the events told so far leave them.
    pub(super) tables: Tables,
    /// The rows as they were.
    pub(super) rows: &'a Rows,
    /// What the caller knows.
    pub(super) facts: &'a CallerFacts,
    /// The token of the runner that asks, which is therefore not gone.
    pub(super) asker: Option<u64>,
    /// The attempts at this item were asked for: what they did can be said.
    pub(super) attempts_at: Option<Node>,
    /// Where events go that no other stream is for.
    home: StreamId,
    next_decision: u64,
    /// The numbers that no memory was given yet, by kind: the numbers before
    /// them need not be looked at again.
    pub(super) free_numbers: [FreeNumbers; KINDS],
    /// Which memories hold which words, once that was asked.
    word_holders: Option<WordHolders>,
    drafts: Vec<Draft>,
}

impl<'a> EventBuffer<'a> {
    pub(super) fn new(rows: &'a Rows, facts: &'a CallerFacts, home: StreamId) -> Self {
        Self {
            tables: rows.tables.clone(),
            rows,
            facts,
            asker: None,
            attempts_at: None,
            home,
            next_decision: rows.next_decision,
            free_numbers: rows.free_numbers,
            word_holders: None,
            drafts: Vec::new(),
        }
    }

    pub(super) fn into_drafts(self) -> Vec<Draft> {
        self.drafts
    }

    /// The stamp of the next event, as far as rules may read it: the id and the
    /// position are given by the store, and no row that was loaded has these.
    pub(super) fn next_stamp(&self) -> EventStamp {
        let nth = u64::try_from(self.drafts.len()).unwrap_or(0);
        EventStamp {
            id: EventId(Uuid::nil()),
            position: u64::MAX - nth,
            time: self.rows.now,
            actor: self.facts.actor.clone(),
            checkout: None,
        }
    }

    /// Adds an event to the story.
    pub(super) fn append(&mut self, event: impl Into<Event>) {
        let event = event.into();
        let stamp = self.next_stamp();
        self.tables.fold(&event, &stamp);
        if let Event::Memory(MemoryEvent::Added(memory) | MemoryEvent::Revised(memory)) = &event
            && let (Some(holders), Some(id)) = (&mut self.word_holders, &memory.id)
        {
            holders.add_memory(id, memory);
        }
        self.drafts.push(Draft {
            stream: self.stream_of(&event),
            event,
        });
    }

    /// Which memories hold which words.
    pub(super) fn memory_word_index(&mut self) -> &WordHolders {
        let tables = &self.tables;
        let holders = &mut self.word_holders;
        holders.get_or_insert_with(|| WordHolders::from_tables(tables))
    }

    /// The memories that were revised, by their ids.
    pub(super) fn revised_memories(&self) -> Vec<String> {
        let revised = self.drafts.iter().filter_map(|draft| {
            let Event::Memory(MemoryEvent::Revised(memory)) = &draft.event else {
                return None;
            };
            memory.id.clone()
        });
        revised.collect()
    }

    /// How many events were told.
    pub(super) fn event_count(&self) -> usize {
        self.drafts.len()
    }

    fn stream_of(&self, event: &Event) -> StreamId {
        match event {
            Event::Session(_) => StreamId::sessions(),
            Event::Memory(_) => StreamId::memory(),
            Event::File(_) => StreamId::files(),
            Event::Run(_)
            | Event::Item(_)
            | Event::Unit(_)
            | Event::Attempt(_)
            | Event::Decision(_)
            | Event::Notification(_) => self.home.clone(),
        }
    }

    pub(super) fn require_run(&self, run: RunId) -> Result<&RunRow, Refusal> {
        self.tables.run(run).ok_or(Refusal::NoSuchRun(run))
    }

    pub(super) fn require_item(&self, run: RunId, node: &Node) -> Result<&ItemRow, Refusal> {
        self.tables
            .item(run, node)
            .ok_or_else(|| Refusal::NoSuchItem(node.clone()))
    }

    /// The run is in another state than the command needs.
    pub(super) fn wrong_run_state(&self, run: RunId) -> Refusal {
        match self.tables.run(run) {
            None => Refusal::NoSuchRun(run),
            Some(row) => Refusal::RunState {
                name: row.name.clone(),
                state: row.state,
                pause: row.pause.clone(),
                at: row.at.clone(),
            },
        }
    }

    /// Whether a runner that is not known to be gone holds the run.
    pub(super) fn has_live_runner(&self, run: RunId) -> bool {
        let row = self.tables.run(run);
        let mut runners = row.into_iter().flat_map(RunRow::runners);
        runners.any(|runner| self.is_runner_alive(runner.token))
    }

    /// Whether the runner with this token is not known to be gone.
    pub(super) fn is_runner_alive(&self, token: u64) -> bool {
        if self.asker == Some(token) {
            return true;
        }
        match self.facts.holder {
            HolderLiveness::Alive => true,
            HolderLiveness::Gone(gone) => token > gone,
            HolderLiveness::Excluded => false,
            HolderLiveness::Nothing => self
                .rows
                .leases
                .get(&token)
                .is_some_and(|until| is_lease_valid(*until, self.rows.now)),
        }
    }

    pub(super) fn move_run(&mut self, run: RunId, to: RunState, about: StateReason) {
        let Some(row) = self.tables.run(run) else {
            return;
        };
        let from = row.state;
        self.append(RunEvent::Moved {
            run,
            from,
            to,
            pause: about.pause,
            at: about.at,
            reason: about.reason,
        });
    }

    pub(super) fn ask_about_node(
        &mut self,
        kind: DecisionKind,
        run: RunId,
        node: &Node,
        question: String,
        details: Option<String>,
    ) {
        let about = QuestionSubject::Node(node.clone());
        let text = QuestionText { question, details };
        self.open_decision(kind, run, about, text, None);
    }

    /// Asks about a native file, unless the same is asked already. What was asked
    /// about another version of it is settled: a person who answers has read what
    /// is asked. Whether it is the same is told by the edits where there are any:
    /// stored words may be redacted.
    pub(super) fn ask_about_file(
        &mut self,
        run: RunId,
        file: &str,
        text: QuestionText,
        edits: Vec<Edit>,
        ways: impl FnOnce() -> Vec<DecisionChoice>,
    ) {
        let is_asked = self.open_decisions_about_file(run, file).any(|row| {
            let all = || row.edits.iter().zip(&edits);
            let is_same = row.edits.len() == edits.len()
                && all().all(|(asked, edit)| asked.is_same_kind_and_subject(edit))
                && (!edits.is_empty() || row.details == text.details);
            row.question == text.question && is_same
        });
        if is_asked {
            return;
        }
        let ways = Some(ways());
        self.settle_file_decisions(run, file, "the file was changed again");
        let about = QuestionSubject::File(file.to_owned());
        let ways = QuestionOptions {
            ways,
            edits,
            ..QuestionOptions::default()
        };
        self.open_decision_with_options(DecisionKind::FileConflict, run, about, text, ways);
    }

    /// Asks whether something remembered is to be followed on.
    pub(super) fn ask_about_memory(&mut self, id: &str, question: String, details: Option<String>) {
        let about = QuestionSubject::Memory(id.to_owned());
        let text = QuestionText { question, details };
        let ways = Some(vec![DecisionChoice::Retired, DecisionChoice::FollowedOn]);
        self.open_decision(
            DecisionKind::DoubtedMemory,
            RunId::PROJECT,
            about,
            text,
            ways,
        );
    }

    /// Asks whether things that came by files are to be followed.
    pub(super) fn ask_about_unconfirmed(&mut self, ids: Vec<String>, text: QuestionText) {
        let more = QuestionOptions {
            memories: ids,
            ..QuestionOptions::default()
        };
        let (kind, about) = (DecisionKind::UnconfirmedMemory, QuestionSubject::Nothing);
        self.open_decision_with_options(kind, RunId::PROJECT, about, text, more);
    }

    /// Asks about edits of the plan of a run; nothing waits for the answer.
    pub(super) fn ask_about_edits(
        &mut self,
        kind: DecisionKind,
        run: RunId,
        question: String,
        details: Option<String>,
        edits: Vec<Edit>,
    ) {
        let text = QuestionText { question, details };
        let ways = QuestionOptions {
            edits,
            ..QuestionOptions::default()
        };
        self.open_decision_with_options(kind, run, QuestionSubject::Nothing, text, ways);
    }

    /// Settles what is asked about a native file: it needs no answer any more.
    pub(super) fn settle_file_decisions(&mut self, run: RunId, file: &str, why: &str) {
        let open: Vec<_> = self
            .open_decisions_about_file(run, file)
            .map(|row| row.id)
            .collect();
        for decision in open {
            self.decide_if_open(decision, Verb::Settled, Some(why));
        }
    }

    fn open_decisions_about_file<'s>(
        &'s self,
        run: RunId,
        file: &'s str,
    ) -> impl Iterator<Item = &'s DecisionRow> {
        let open = self.tables.open_decisions(run);
        open.filter(move |row| row.file.as_deref() == Some(file))
    }

    /// Asks what is to become of something.
    fn open_decision(
        &mut self,
        kind: DecisionKind,
        run: RunId,
        about: QuestionSubject,
        text: QuestionText,
        ways: Option<Vec<DecisionChoice>>,
    ) {
        let ways = QuestionOptions {
            ways,
            ..QuestionOptions::default()
        };
        self.open_decision_with_options(kind, run, about, text, ways);
    }

    fn open_decision_with_options(
        &mut self,
        kind: DecisionKind,
        run: RunId,
        about: QuestionSubject,
        text: QuestionText,
        more: QuestionOptions,
    ) -> DecisionId {
        let QuestionText { question, details } = text;
        let number = self.next_decision;
        self.next_decision += 1;
        // One fresh id comes in with the facts; a second question of the same
        // story, which only two breakpoints at once can lead to, derives its own.
        let (mut node, mut file, mut memory) = (None, None, None);
        match about {
            QuestionSubject::Node(is) => node = Some(is),
            QuestionSubject::File(is) => file = Some(is),
            QuestionSubject::Memory(is) => memory = Some(is),
            QuestionSubject::Nothing => {}
        }
        let fresh = self.facts.decision.0.as_u128() + u128::from(number - self.rows.next_decision);
        let decision = DecisionId(Uuid::from_u128(fresh));
        let QuestionOptions {
            ways,
            edits,
            mut request,
            memories,
        } = more;
        if let Some(request) = &mut request {
            let (kind, id) = (request.kind, &mut request.id);
            id.get_or_insert_with(|| WorkRequest::id_of_decision(kind, decision));
        }
        self.append(DecisionEvent::Opened {
            decision,
            number,
            decision_kind: kind,
            run,
            node,
            file,
            memory,
            memories,
            question,
            details,
            ways,
            edits,
            request,
        });
        decision
    }

    /// Asks what is to become of a request; none where the same is asked
    /// already, or was decided before the item that asks for it was repeated.
    pub(super) fn ask_about_request(
        &mut self,
        run: RunId,
        node: Option<&Node>,
        request: &WorkRequest,
    ) -> Option<DecisionId> {
        let is_known = |row: &&DecisionRow| {
            let is_of_item = row.verdict.is_none() || row.node.as_ref() == node;
            let asked = row.request.as_ref().filter(|_| is_of_item);
            asked.is_some_and(|asked| asked.is_same_request(request))
        };
        let of_run = self.tables.decisions().filter(|row| row.run == run);
        let is_asked = of_run.filter(is_known).count() > 0;
        if is_asked {
            return None;
        }
        let about = node.map_or(QuestionSubject::Nothing, |node| {
            QuestionSubject::Node(node.clone())
        });
        let text = QuestionText {
            question: request.question_text(),
            details: request.details_text(),
        };
        let ways = QuestionOptions {
            request: Some(Box::new(request.clone())),
            ..QuestionOptions::default()
        };
        Some(self.open_decision_with_options(DecisionKind::Request, run, about, text, ways))
    }

    /// Asks what holds nothing up, unless the same is asked already.
    pub(super) fn ask_person(
        &mut self,
        run: RunId,
        node: Option<&Node>,
        question: String,
        details: Option<String>,
    ) {
        let is_asked = self.tables.open_decisions(run).any(|row| {
            row.kind == DecisionKind::Question
                && row.node.as_ref() == node
                && (&row.question, &row.details) == (&question, &details)
        });
        if is_asked {
            return;
        }
        let about = node.map_or(QuestionSubject::Nothing, |node| {
            QuestionSubject::Node(node.clone())
        });
        let text = QuestionText { question, details };
        self.open_decision(DecisionKind::Question, run, about, text, None);
    }

    /// Asks for the picture of an outcome that there is none of; a question of that
    /// kind is settled where there is one now.
    pub(super) fn update_screenshot_question(&mut self, run: RunId, node: &Node, is_missing: bool) {
        let question = format!(
            "the plan asks for a screenshot of `{node}`, and there is none: does it look right?"
        );
        if is_missing {
            self.ask_person(run, Some(node), question, None);
            return;
        }
        let asked = self.tables.open_decisions(run).find(|row| {
            row.kind == DecisionKind::Question
                && row.node.as_ref() == Some(node)
                && row.question == question
        });
        if let Some(decision) = asked.map(|row| row.id) {
            self.decide_if_open(decision, Verb::Settled, None);
        }
    }

    /// Closes the open questions about `node` and what lies below it. A question that
    /// holds nothing up is closed only when its item is left out.
    pub(super) fn settle_decisions_below(
        &mut self,
        run: RunId,
        node: &Node,
        verb: Verb,
        why: Option<&str>,
    ) {
        let open: Vec<_> = self
            .tables
            .open_decisions(run)
            .filter(|row| row.node.as_ref().is_some_and(|at| at.is_within(node)))
            .filter(|row| match row.kind {
                DecisionKind::Question => verb == Verb::Skip,
                // What was discovered there is there all the same.
                DecisionKind::Request => false,
                // It may have come to that just now.
                DecisionKind::Review => {
                    let node = row.node.as_ref();
                    let item = node.and_then(|node| self.tables.item(run, node));
                    !item.is_some_and(ItemRow::is_in_merge_review)
                }
                // Likewise.
                DecisionKind::PullRequest => {
                    let node = row.node.as_ref();
                    let item = node.and_then(|node| self.tables.item(run, node));
                    !item.is_some_and(ItemRow::is_in_pull_request)
                }
                DecisionKind::HumanNeeded
                | DecisionKind::Claim
                | DecisionKind::BlockedNode
                | DecisionKind::MergeNeeded
                | DecisionKind::Breakpoint
                | DecisionKind::FileConflict
                | DecisionKind::ClaimedItems
                | DecisionKind::AgentEdit
                | DecisionKind::Wait
                | DecisionKind::DoubtedMemory
                | DecisionKind::UnconfirmedMemory
                | DecisionKind::InHand
                | DecisionKind::Approval
                | DecisionKind::AgentReview => true,
            })
            .map(|row| row.id)
            .collect();
        for decision in open {
            self.append(DecisionEvent::Made {
                decision,
                verb,
                why: why.map(str::to_owned),
                answer: None,
            });
        }
    }

    /// Closes the open questions about `node` itself, except whether to go on
    /// after it.
    pub(super) fn settle_decisions_of_node(&mut self, run: RunId, node: &Node, verb: Verb) {
        let open: Vec<_> = self
            .tables
            .open_decisions(run)
            .filter(|row| row.node.as_ref() == Some(node) && row.kind.is_blocking_run())
            .map(|row| row.id)
            .collect();
        for decision in open {
            self.decide_if_open(decision, verb, None);
        }
    }

    /// Notes the outcome of a decision, unless something else did already.
    pub(super) fn decide_if_open(&mut self, decision: DecisionId, verb: Verb, why: Option<&str>) {
        if self
            .tables
            .decision(decision)
            .is_some_and(|row| row.verdict.is_none())
        {
            self.append(DecisionEvent::Made {
                decision,
                verb,
                why: why.map(str::to_owned),
                answer: None,
            });
        }
    }

    /// The items above `node`, nearest first.
    pub(super) fn ancestors_of(&self, run: RunId, node: &Node) -> Vec<ItemRow> {
        node.ancestors()
            .filter_map(|node| self.tables.item(run, &node).cloned())
            .collect()
    }
}

/// Whether a lease still holds. One that ends far ahead was taken under a clock that was
/// ahead, and would hold for as long.
fn is_lease_valid(until: Timestamp, now: Timestamp) -> bool {
    until > now && until.duration_since(now) <= CLOCK_JUMP
}

/// What a change of a run's state is about.
#[derive(Default)]
pub(super) struct StateReason {
    pub(super) pause: Option<Pause>,
    pub(super) at: Option<Node>,
    pub(super) reason: Option<String>,
}

impl StateReason {
    pub(super) fn from_reason(reason: impl Into<String>) -> Self {
        Self {
            reason: Some(reason.into()),
            ..Self::default()
        }
    }

    pub(super) fn from_pause(pause: Pause) -> Self {
        Self {
            pause: Some(pause),
            ..Self::default()
        }
    }
}
