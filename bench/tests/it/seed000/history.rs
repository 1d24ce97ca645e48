//! One history, kept by both: drawn from a seed, played attempt by attempt.

use piton_core::event::MemoryEvent;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use piton_bench::recovery::world::{Asker, World};
use piton_bench::seed000::{
    Action, Category, Context, Entry, Observation, ObservationType, Progress, Recovery as Word,
    Status,
};
use piton_core::attempt::{
    Outcome, ProgramReport, RecoveryAction, Report, ReportedAttempt, ReportedChanges,
};
use piton_core::memory::{Memory, UnconfirmedPolicy};
use piton_core::prepare::{PreparedContext, Section};
use piton_core::recover::{Advice, AdviceKind, FailureContext, Recovery, Rule, choose_recovery};
use piton_core::{AttemptId, AttemptRow, Command, DecodedRecord, Event, Need, Node, RunId};
use piton_engine::memory::preparation::{self, BlockerScope, PrepareRequest};
use piton_store::Store as _;
use piton_testkit::chance::Chance;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::differences::{Difference, Seen};
use super::rules::{self, Decided, Matches};

/// More than any history needs, so that nothing is left out for want of room.
const TOKENS: usize = 100_000;

/// piton tells so many failures in a row.
const FAILURES_TOLD: usize = 3;

/// So many changed files are too many for one attempt.
const FILES_MANY: usize = 20;

const ITEMS: [&str; 2] = ["hull", "mast"];

/// What observations and failures are about: a title and a description. No two
/// share a word that says something, so that two are alike when they are the
/// same. A description is missing, repeats the title, or does neither.
const SUBJECTS: [(&str, &str); 6] = [
    ("Oak planks split", "Steam before bending"),
    (
        "Varnish never dries",
        "Varnish never dries below ten degrees",
    ),
    ("Rivets corrode quickly", ""),
    ("Compass deviates eastwards", "Keep iron away"),
    (
        "Pumps clog daily",
        "Pumps clog daily unless sieves are cleaned",
    ),
    ("Lanterns smoke heavily", "Trim wicks short"),
];

/// What an attempt fails with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// One of the subjects.
    Subject(usize),
    Passing(&'static str),
    State(&'static str),
    Large(&'static str),
    Unneeded(&'static str),
    Unknown(&'static str),
}

const CAUSES: [Cause; 8] = [
    Cause::Passing("read ECONNRESET from registry.example.org"),
    Cause::Passing("429 Too Many Requests"),
    Cause::State("sh: protoc: command not found"),
    Cause::State("connect to 127.0.0.1:5432: connection refused"),
    Cause::Large("the context window is full"),
    Cause::Unneeded("the export is no longer needed"),
    Cause::Unknown("assertion failed: sails differ"),
    Cause::Unknown("panicked at main"),
];

impl Cause {
    fn drawn(chance: &mut Chance) -> Self {
        if chance.below(2) == 0 {
            return Self::Subject(below(chance, SUBJECTS.len()));
        }
        CAUSES[below(chance, CAUSES.len())]
    }

    fn detail(self) -> String {
        match self {
            Self::Subject(subject) => format!("stopped because: {}", SUBJECTS[subject].0),
            Self::Passing(text)
            | Self::State(text)
            | Self::Large(text)
            | Self::Unneeded(text)
            | Self::Unknown(text) => text.to_owned(),
        }
    }
}

/// What the document leaves open: a failure is about what it names.
struct ByTitle;

impl Matches for ByTitle {
    fn is_similar(&self, blocker: &str, detail: &str) -> bool {
        detail.contains(blocker)
    }

    fn is_relevant(&self, learning: &str, detail: &str) -> bool {
        let named = SUBJECTS.iter().filter(|(title, _)| detail.contains(title));
        let mut named = named.map(|(title, description)| match *description {
            "" => title,
            description => description,
        });
        named.any(|words| learning == words)
    }
}

fn below(chance: &mut Chance, end: usize) -> usize {
    usize::try_from(chance.below(end as u64)).expect("below a small number")
}

fn pick<T: Copy>(chance: &mut Chance, from: &[T]) -> T {
    from[below(chance, from.len())]
}

/// One thing in the words of the other side: both read the same JSON.
fn translated<T: DeserializeOwned>(value: &impl Serialize) -> T {
    let value = serde_json::to_value(value).expect("JSON");
    serde_json::from_value(value).expect("the same words on both sides")
}

/// A history, as both keep it.
pub(super) struct History {
    chance: Chance,
    progress: Progress,
    world: World,
    /// What piton decided after the last attempt at an item, if it failed.
    decided: BTreeMap<&'static str, (Word, String)>,
    /// What the last attempt at an item failed with, if it failed.
    causes: BTreeMap<&'static str, Cause>,
    /// What piton has learned, and while it worked on which item.
    learned: BTreeMap<String, String>,
    ids: BTreeSet<String>,
}

impl History {
    pub(super) fn drawn(seed: u64) -> Self {
        let start = Timestamp::from_second(1_800_000_000).expect("a time of this century");
        Self {
            chance: Chance::seeded(seed),
            progress: Progress {
                version: "1.0".to_owned(),
                created_at: start,
                project_name: String::new(),
                entries: Vec::new(),
                learnings: Vec::new(),
                patterns: Vec::new(),
            },
            world: World::new(start),
            decided: BTreeMap::new(),
            causes: BTreeMap::new(),
            learned: BTreeMap::new(),
            ids: BTreeSet::new(),
        }
    }

    /// Makes some attempts, and compares every answer on the way.
    pub(super) fn play(mut self, seen: &mut Seen) {
        for _ in 0..2 + self.chance.below(4) {
            let item = pick(&mut self.chance, &ITEMS);
            let prepared = self.prepare(item, seen);
            let cause = self.cause(item);
            let decided = self.decided.remove(item);
            let entry = self.entry(item, cause, rules::context(&prepared, decided));
            let error = (self.chance.below(2) == 0).then(|| format!("{}!", entry.summary));
            let events = self.record(&entry, error.filter(|_| failed(&entry)));
            self.learn(&entry, &events, seen);
            self.progress.entries.push(entry.clone());
            if failed(&entry) {
                self.recover(&entry, cause, seen);
            }
            self.world.pass(SignedDuration::from_mins(7));
        }
    }

    /// What the next attempt at an item fails with, if it fails: often the same
    /// as before.
    fn cause(&mut self, item: &'static str) -> Cause {
        let last = self.causes.get(item).copied();
        let again = last.filter(|_| self.chance.below(2) == 0);
        let cause = again.unwrap_or_else(|| Cause::drawn(&mut self.chance));
        self.causes.insert(item, cause);
        cause
    }

    /// The attempts at an item as piton keeps them, oldest first.
    fn attempts(&self, item: &str) -> Vec<AttemptRow> {
        let need = Need::AttemptsAt(RunId::PROJECT, Node::from_text(item));
        let rows = self.world.store.load_rows(&[need]).expect("in memory");
        let mut rows: Vec<AttemptRow> = rows.tables.attempts().cloned().collect();
        rows.sort_by_key(|row| row.number);
        rows
    }

    // Preparing.

    fn prepare(&self, item: &str, seen: &mut Seen) -> rules::Prepared {
        let seed = rules::prepare_execution(&self.progress, item);
        let place = (RunId::PROJECT, &Node::from_text(item));
        let store = &self.world.store;
        let request = PrepareRequest {
            run: place.0,
            node: place.1,
            now: self.world.now(),
            tokens_max: TOKENS,
            blockers: BlockerScope::Project,
            rule_texts: &[],
            unconfirmed: UnconfirmedPolicy::default(),
        };
        let piton = preparation::prepare_item(store, &request).expect("in memory");
        assert_eq!(piton.left_out, 0);
        assert_eq!(piton.iteration, seed.iteration);
        assert_eq!(piton.retry_count, seed.retry_count);
        self.compare_failures(item, &seed, &piton, seen);
        self.compare_warning(&seed, &piton, seen);
        self.compare_help(item, &seed, &piton, seen);
        seed
    }

    fn compare_failures(
        &self,
        item: &str,
        seed: &rules::Prepared,
        piton: &PreparedContext,
        seen: &mut Seen,
    ) {
        let notes = texts(piton, Section::Tried);
        let rows = self.attempts(item);
        let reason = seed.previous_failure_reason.as_ref().map(|summary| {
            let last = rows.last().expect("it failed");
            let report = last.report.as_ref().expect("it is over");
            let error = report.error.as_ref().filter(|error| *error != summary);
            seen.note(Difference::ErrorBeforeSummary, error.is_some());
            let why = error.unwrap_or(summary);
            format!(
                "attempt {}: {}: {why}",
                last.number,
                report.outcome.as_str()
            )
        });
        let first = notes.first().and_then(|text| text.lines().next());
        assert_eq!(first, reason.as_deref());
        assert_eq!(notes.len(), seed.retry_count.min(FAILURES_TOLD));
        seen.note(Difference::EarlierFailuresToo, notes.len() > 1);
    }

    fn compare_warning(&self, seed: &rules::Prepared, piton: &PreparedContext, seen: &mut Seen) {
        let count = |is_failure: fn(&Entry) -> bool, kinds: &[ObservationType]| {
            let entries = self
                .progress
                .entries
                .iter()
                .filter(|entry| is_failure(entry));
            let noticed = entries.flat_map(|entry| &entry.observations);
            let friction = noticed
                .filter(|one| one.category == Some(Category::ToolingFriction))
                .filter(|one| kinds.contains(&one.kind));
            friction.count() > 3
        };
        use ObservationType::{Blocker, Completion, Finding};
        let with_partial = count(failed, &[Blocker, Finding, Completion]);
        seen.note(
            Difference::FrictionOfPartialAttempts,
            with_partial != seed.warns_of_friction,
        );
        let expected = count(failed, &[Blocker, Finding]);
        seen.note(Difference::CompletionIsNoFriction, expected != with_partial);
        let warnings = texts(piton, Section::Warnings);
        assert_eq!(warnings.len(), usize::from(expected), "{warnings:?}");
    }

    fn compare_help(
        &self,
        item: &str,
        seed: &rules::Prepared,
        piton: &PreparedContext,
        seen: &mut Seen,
    ) {
        let told = texts(piton, Section::Learnings);
        // What the last failure said, and what it noticed.
        let rows = self.attempts(item);
        let reports = rows.iter().rev().filter_map(|row| row.report.as_ref());
        let mut failures = reports.filter(|report| report.outcome != Outcome::Completed);
        let said = failures.next().map_or_else(String::new, |report| {
            let titles = report.observations.iter().map(|one| one.title.as_str());
            let error = report.error.as_deref().into_iter();
            let all = titles.chain(error).chain(report.summary.as_deref());
            all.collect::<Vec<_>>().join("\n")
        });
        for text in &told {
            let about = SUBJECTS.iter().filter(|(title, _)| text.contains(title));
            let helps = about.filter(|(title, _)| said.contains(title)).count();
            let from = self.learned.get(*text).expect("it was learned");
            assert!(
                helps > 0 || from == item,
                "`{text}` has nothing to do with `{said}`"
            );
        }
        let unrelated = |content: &String| !told.iter().any(|text| text.contains(content.as_str()));
        let left_out = seed.learnings.iter().any(unrelated);
        seen.note(Difference::OnlyWhatHelps, left_out);
    }

    // Recording.

    fn entry(&mut self, item: &str, cause: Cause, context: Context) -> Entry {
        let chance = &mut self.chance;
        let statuses = [
            Status::Completed,
            Status::Failed,
            Status::Failed,
            Status::Blocked,
            Status::Partial,
        ];
        let status = pick(chance, &statuses);
        let files = pick(chance, &[0, 0, 2, FILES_MANY]);
        let mut observations: Vec<Observation> =
            (0..chance.below(5)).map(|_| observation(chance)).collect();
        if let Cause::Subject(subject) = cause
            && chance.below(2) == 0
        {
            observations.push(blocker(subject));
        }
        let summary = match status {
            Status::Completed => "it is done".to_owned(),
            Status::Failed | Status::Blocked | Status::Partial => cause.detail(),
        };
        let iteration = rules::attempts(&self.progress, item) + 1;
        rules::record_execution(Entry {
            id: String::new(),
            timestamp: self.world.now(),
            prd_id: item.to_owned(),
            iteration: i64::try_from(iteration).expect("few"),
            status,
            duration_seconds: 60,
            summary,
            observations,
            files_modified: (0..files).map(|nth| format!("src/{nth}.rs")).collect(),
            git_commits: vec!["a1b2c3d".to_owned()],
            context: Some(context),
        })
    }

    fn record(&mut self, entry: &Entry, error: Option<String>) -> Vec<DecodedRecord> {
        let report = Report {
            summary: Some(entry.summary.clone()),
            error,
            observations: translated(&entry.observations),
            context: Some(translated(&entry.context)),
            changes: ReportedChanges {
                files: Some(entry.files_modified.clone()),
                commits: Some(entry.git_commits.clone()),
                ..ReportedChanges::default()
            },
            program: ProgramReport {
                duration_s: u64::try_from(entry.duration_seconds).ok(),
                ..ProgramReport::default()
            },
            ..Report::with_outcome(translated(&entry.status))
        };
        let attempt = AttemptId(self.world.fresh());
        let told = ReportedAttempt {
            attempt,
            run: RunId::PROJECT,
            node: Node::from_text(&*entry.prd_id),
            item: entry.prd_id.clone(),
            number: None,
            name: None,
            agent: "sh".to_owned(),
            ended_at: None,
            report: Box::new(report.clone()),
            native: None,
        };
        let command = Command::TellAttempt(Box::new(told));
        let events = self.world.tell(&command, Asker::Person).expect("accepted");
        let rows = self.attempts(&entry.prd_id);
        let row = rows.iter().find(|row| row.id == attempt).expect("kept");
        assert_eq!(row.name.as_ref(), Some(&entry.id));
        assert_eq!(i64::from(row.number), entry.iteration);
        assert_eq!(row.ended_at, Some(entry.timestamp));
        let mut kept = row.report.clone().expect("it is over");
        for (kept, sent) in kept.observations.iter_mut().zip(&report.observations) {
            // What came of it is filled in: see `learn`.
            kept.related_learning_id
                .clone_from(&sent.related_learning_id);
        }
        assert_eq!(kept, report);
        events
    }

    // Learning.

    fn learn(&mut self, entry: &Entry, events: &[DecodedRecord], seen: &mut Seen) {
        let seed = rules::extract_learnings(&self.progress, entry);
        seen.note(Difference::IdsAreUnique, seed.len() > 1);
        let mut expected: Vec<String> = Vec::new();
        let mut confirmed: BTreeSet<String> = BTreeSet::new();
        for one in extracted(entry) {
            let by_itself = one.kind == ObservationType::Completion;
            if seen.note(Difference::CompletionTeachesNothing, by_itself)
                || seen.note(
                    Difference::LearnedAlready,
                    !one.related_learning_id.is_empty(),
                )
            {
                continue;
            }
            let content = content(one, seen);
            let is_repeated = expected.contains(&content) || confirmed.contains(&content);
            let is_known = self.learned.contains_key(&content);
            if seen.note(Difference::KnownIsConfirmed, is_repeated || is_known) {
                if !is_repeated {
                    confirmed.insert(content);
                }
            } else {
                expected.push(content);
            }
        }
        let added: Vec<&Memory> = events.iter().filter_map(added).collect();
        for (memory, learning) in added.iter().zip(&seed) {
            assert_eq!(memory.context.as_ref(), Some(&learning.context));
            assert_eq!(memory.source_item.as_ref(), Some(&learning.source_prd_id));
            assert_eq!(
                memory.source_attempt.as_ref(),
                Some(&learning.source_entry_id)
            );
            let id = memory.id.clone().expect("it is kept under an id");
            assert!(self.ids.insert(id), "two learnings have one id");
        }
        let contents: Vec<String> = added.iter().map(|one| one.content.clone()).collect();
        assert_eq!(contents, expected);
        let second = events
            .iter()
            .filter(|one| matches!(one.event, Event::Memory(MemoryEvent::Confirmed { .. })));
        assert_eq!(second.count(), confirmed.len());
        let item = &entry.prd_id;
        self.learned
            .extend(contents.into_iter().map(|content| (content, item.clone())));
        self.progress.learnings.extend(seed);
    }

    // Recovering.

    fn recover(&mut self, entry: &Entry, cause: Cause, seen: &mut Seen) {
        let item = ITEMS.iter().find(|item| **item == entry.prd_id);
        let item = *item.expect("it was picked from them");
        let expected = self.expected_recovery(entry, cause, seen);
        let rows = self.attempts(item);
        let attempts: Vec<&AttemptRow> = rows.iter().collect();
        let of = |kind, texts: Vec<String>| texts.into_iter().map(move |text| (kind, text));
        let detail = &entry.summary;
        let known: Vec<(AdviceKind, String)> = of(
            AdviceKind::Resolution,
            rules::resolutions(&self.progress, detail, &ByTitle).collect(),
        )
        .chain(of(
            AdviceKind::Memory,
            rules::workarounds(&self.progress, detail, &ByTitle).collect(),
        ))
        .collect();
        let advice: Vec<Advice<'_>> = known
            .iter()
            .map(|(kind, guidance)| Advice {
                id: "known",
                kind: *kind,
                guidance,
            })
            .collect();
        let piton = choose_recovery(&FailureContext {
            detail,
            attempts: &attempts,
            advice: &advice,
            workspace: &[],
            needed_by: &[],
        });
        assert_eq!(Answer::of(&piton), expected, "{item}: {detail}");
        self.decided
            .insert(item, (translated(&piton.action), piton.guidance));
    }

    /// What the document decides, with every wanted difference.
    fn expected_recovery(&self, entry: &Entry, cause: Cause, seen: &mut Seen) -> Answer {
        let (item, detail) = (&entry.prd_id, &entry.summary);
        let by = |attempts| rules::decide_recovery(&self.progress, detail, attempts, &ByTitle);
        let seed = by(rules::attempts(&self.progress, item));
        let own = self.progress.entries.iter().filter(|e| e.prd_id == *item);
        let in_a_row = own.clone().rev().take_while(|e| failed(e)).count();
        let counted = by(in_a_row);
        seen.note(Difference::AttemptsInARow, counted != seed);
        let says_done = entry
            .observations
            .iter()
            .any(|one| one.kind == ObservationType::Completion);
        if seen.note(
            Difference::AlreadyDone,
            says_done && entry.files_modified.is_empty(),
        ) {
            return Answer::bare(RecoveryAction::Skip, Rule::AlreadyDone);
        }
        let first = match counted {
            Decided::TooManyAttempts => {
                return Answer::bare(RecoveryAction::Manual, Rule::AttemptsUsedUp);
            }
            Decided::Retry(first) => Some(first),
            Decided::NothingFound => None,
        };
        let was_tried = |guidance: &String| {
            let mut given = own.clone().filter(|e| failed(e));
            given.any(|e| {
                let context = e.context.as_ref();
                context.is_some_and(|context| context.recovery_guidance.contains(guidance.as_str()))
            })
        };
        let fresh = rules::advice(&self.progress, detail, &ByTitle).find(|one| !was_tried(one));
        seen.note(Difference::AdviceOnce, fresh != first);
        if let Some(guidance) = fresh {
            return Answer::advice(guidance);
        }
        unadvised(entry, cause, seen)
    }
}

/// What piton decides where nothing that is known helps; the seed asks a person.
fn unadvised(entry: &Entry, cause: Cause, seen: &mut Seen) -> Answer {
    let before = entry.context.as_ref().and_then(|c| c.recovery_action);
    if seen.note(
        Difference::PassingTrouble,
        matches!(cause, Cause::Passing(_)),
    ) {
        return Answer::bare(RecoveryAction::Retry, Rule::PassingTrouble);
    }
    let is_broken = matches!(cause, Cause::State(_)) && before != Some(Word::FixState);
    if seen.note(Difference::BrokenState, is_broken) {
        return Answer::bare(RecoveryAction::FixState, Rule::BrokenState);
    }
    let is_large = matches!(cause, Cause::Large(_))
        || entry.status == Status::Partial
        || entry.files_modified.len() >= FILES_MANY;
    if seen.note(
        Difference::TooLarge,
        is_large && before != Some(Word::BreakChunks),
    ) {
        return Answer::bare(RecoveryAction::BreakChunks, Rule::TooLarge);
    }
    if seen.note(Difference::NotNeeded, matches!(cause, Cause::Unneeded(_))) {
        return Answer::bare(RecoveryAction::Skip, Rule::NotNeeded);
    }
    Answer::bare(RecoveryAction::Manual, Rule::NothingKnown)
}

/// What is decided: by which rule, and with which guidance if that is known.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    action: RecoveryAction,
    /// None for advice: whether it is a resolution is not the document's matter.
    rule: Option<Rule>,
    guidance: Option<String>,
}

impl Answer {
    fn bare(action: RecoveryAction, rule: Rule) -> Self {
        Self {
            action,
            rule: Some(rule),
            guidance: None,
        }
    }

    fn advice(guidance: String) -> Self {
        Self {
            action: RecoveryAction::Retry,
            rule: None,
            guidance: Some(guidance),
        }
    }

    fn of(recovery: &Recovery) -> Self {
        let advised = [Rule::ResolvedBlocker, Rule::KnownWorkaround];
        if advised.contains(&recovery.rule) {
            assert_eq!(recovery.action, RecoveryAction::Retry);
            return Self::advice(recovery.guidance.clone());
        }
        Self::bare(recovery.action, recovery.rule)
    }
}

fn failed(entry: &Entry) -> bool {
    entry.status != Status::Completed
}

fn texts(prepared: &PreparedContext, section: Section) -> Vec<&str> {
    let notes = prepared.notes.iter();
    let of_it = notes.filter(|note| note.section == section);
    of_it.map(|note| note.text.as_str()).collect()
}

fn added(recorded: &DecodedRecord) -> Option<&Memory> {
    if let Event::Memory(MemoryEvent::Added(memory)) = &recorded.event {
        return Some(memory);
    }
    None
}

/// The observations that the seed learns from.
fn extracted(entry: &Entry) -> impl Iterator<Item = &Observation> {
    entry.observations.iter().filter(|one| {
        one.action_taken == Some(Action::Documented) || one.category == Some(Category::Architecture)
    })
}

/// What piton keeps of an observation.
fn content(one: &Observation, seen: &mut Seen) -> String {
    if seen.note(Difference::DescriptionIsEmpty, one.description.is_empty()) {
        return one.title.clone();
    }
    if seen.note(
        Difference::TitleIsKept,
        !one.description.starts_with(&one.title),
    ) {
        return format!("{}: {}", one.title, one.description);
    }
    one.description.clone()
}

fn about(subject: usize, kind: ObservationType) -> Observation {
    let (title, description) = SUBJECTS[subject];
    Observation {
        kind,
        title: title.to_owned(),
        description: description.to_owned(),
        file: String::new(),
        category: None,
        severity: None,
        action_taken: None,
        related_learning_id: String::new(),
    }
}

fn blocker(subject: usize) -> Observation {
    Observation {
        category: Some(Category::Dependency),
        action_taken: Some(Action::Escalated),
        ..about(subject, ObservationType::Blocker)
    }
}

fn observation(chance: &mut Chance) -> Observation {
    let subject = below(chance, SUBJECTS.len());
    let kinds = [
        ObservationType::Finding,
        ObservationType::Finding,
        ObservationType::Blocker,
        ObservationType::Completion,
    ];
    let categories = [
        None,
        Some(Category::Bug),
        Some(Category::Architecture),
        Some(Category::ToolingFriction),
        Some(Category::ToolingFriction),
    ];
    let actions = [
        None,
        Some(Action::None),
        Some(Action::Fixed),
        Some(Action::Documented),
        Some(Action::Documented),
    ];
    Observation {
        category: pick(chance, &categories),
        action_taken: pick(chance, &actions),
        related_learning_id: pick(chance, &["", "", "", "", "", "learning-0001"]).to_owned(),
        ..about(subject, pick(chance, &kinds))
    }
}
