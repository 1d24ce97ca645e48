//! What becomes of a plan that somebody edited in its file.
//!
//! Each edit is tried by the rules of a person's commands. What is so already
//! is done; what does not fit is left, and asked about: it stops nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::advance::{after_hook, after_work, must_wait, release_dependents};
use super::agent_edits::{Agent, forget_answered, take_agent_edits};
use super::by_hand::{ask_by_hand, fail_by_hand, set_dependencies, take_in_hand};
use super::claims::judge_attempt;
use super::people::{
    ask_pause, bury_runner, close_emptied, drop_item, is_under_way, open_question, redo_item,
    reopen_above, resume_run, retry_item, skip_item,
};
use super::planning::{check_order, index, with_inherited};
use super::requests;
use super::runner::guard_runner;
use super::story::Story;
use super::waits;
use crate::attempt::Outcome;
use crate::command::{Facts, Word};
use crate::decision::{Verb, Way};
use crate::edit::Edit;
use crate::event::{Change, Event, ItemChanged, ItemPlanned, ItemsPlaced, RunChanged};
use crate::id::{DecisionId, Node, Place, RunId, StreamId};
use crate::item::{Evidence, ItemRow, ItemState, Stage};
use crate::merge::MergeRow;
use crate::needs::Rows;
use crate::plan::{Past, PlannedItem};
use crate::refusal::Refusal;
use crate::run::{Request, RunState};

/// Why an edit does not fit, in one line.
pub(super) struct Unfit(pub(super) String);

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.to_string())
    }
}

pub(super) fn unfit<T>(why: impl Into<String>) -> Result<T, Unfit> {
    Err(Unfit(why.into()))
}

/// Takes what fits of the edits of `file`. About the rest a person is asked;
/// one who was asked is told when it cannot be done.
pub(super) fn take_edits(
    story: &mut Story<'_>,
    (run, token): (RunId, Option<u64>),
    file: &str,
    edits: &[Edit],
    word: &Word,
) -> Result<(), Refusal> {
    if let Some(token) = token {
        guard_runner(story, (run, token))?;
    }
    story.asker = token;
    if let Word::Person { decision, .. } = word {
        check_question(story, run, file, *decision)?;
    }
    bury_runner(story, run)?;
    let by = By { file, word };
    if let Word::Typed { .. } = word {
        let left = take_all(story, run, &by, edits);
        return match left.is_empty() {
            true => Ok(()),
            false => Err(Refusal::Unfit {
                file: file.to_owned(),
                why: in_lines(&left),
            }),
        };
    }
    if let Some(agent) = Agent::of_word(story, run, word) {
        let asked = story.tables.open_decisions(run);
        let asked = asked.filter(|row| row.file.as_deref() == Some(file));
        let asked: Vec<Edit> = asked.flat_map(|row| row.edits.iter().cloned()).collect();
        // What a person was asked about before is no agent's, and stays asked about.
        let is_asked = |edit: &&Edit| asked.contains(edit);
        let (known, new): (Vec<&Edit>, Vec<&Edit>) = edits.iter().partition(is_asked);
        let new: Vec<Edit> = new.into_iter().cloned().collect();
        if matches!(word, Word::MaybeAgent { in_lane: true, .. }) {
            take_agent_edits(story, run, &agent, &by, &new);
            return Ok(());
        }
        let mut left: Vec<(&Edit, String)> = known
            .into_iter()
            .map(|edit| (edit, "it is asked about".to_owned()))
            .collect();
        left.extend(take_agent_edits(story, run, &agent, &by, &new));
        ask_about_file(story, run, file, &left);
        return Ok(());
    }
    let (gone, edits): (Vec<&Edit>, Vec<&Edit>) = edits
        .iter()
        .partition(|edit| matches!(word, Word::Hand { .. }) && takes_out(edit).is_some());
    let mut left = take_all(story, run, &by, edits.iter().copied());
    // Who takes all out that is open may have meant something else.
    if leaves_open(story, run, &gone) {
        left.extend(take_all(story, run, &by, gone.iter().copied()));
    } else {
        let why = || "no open item would be left".to_owned();
        left.extend(gone.iter().map(|edit| (*edit, why())));
    }
    match word {
        Word::File | Word::Hand { .. } | Word::MaybeAgent { .. } => {
            let is_taken = |edit: &&&Edit| !left.iter().any(|(one, _)| one.is_like(edit));
            let all = edits.iter().chain(&gone);
            let taken: Vec<Edit> = all.filter(is_taken).map(|edit| (*edit).clone()).collect();
            forget_answered(story, run, &taken);
            ask_about_file(story, run, file, &left);
            Ok(())
        }
        Word::Piton if left.is_empty() => Ok(()),
        Word::Person { decision, why } if left.is_empty() => {
            story.tell_unless_made(*decision, Verb::KeepFile, why.as_deref());
            Ok(())
        }
        Word::Piton | Word::Person { .. } | Word::Typed { .. } => Err(Refusal::Unfit {
            file: file.to_owned(),
            why: in_lines(&left),
        }),
    }
}

/// The item that an edit takes out of the file.
fn takes_out(edit: &Edit) -> Option<&Node> {
    if let Edit::SetPresent {
        node,
        present: false,
    } = edit
    {
        Some(node)
    } else {
        None
    }
}

/// Whether something open is left in the plan when these items are taken out of
/// it; also where nothing open is taken out.
fn leaves_open(story: &Story<'_>, run: RunId, gone: &[&Edit]) -> bool {
    let open = story.tables.tree(run);
    let open = open.filter(|row| row.is_leaf() && !row.state.is_finished());
    let is_gone = |row: &&ItemRow| {
        let mut nodes = gone.iter().filter_map(|edit| takes_out(edit));
        nodes.any(|node| row.node.is_within(node))
    };
    let (gone, left): (Vec<&ItemRow>, Vec<&ItemRow>) = open.partition(is_gone);
    gone.is_empty() || !left.is_empty()
}

/// A person's word holds for the file that was asked about, as long as it is
/// asked, and where that was offered.
fn check_question(
    story: &Story<'_>,
    run: RunId,
    file: &str,
    decision: DecisionId,
) -> Result<(), Refusal> {
    let verb = Verb::KeepFile;
    let row = open_question(story, decision, verb)?;
    if row.run != run || row.file.as_deref() != Some(file) {
        return Err(Refusal::NoSuchDecision(decision.to_string()));
    }
    // An old question does not say what its verbs come to.
    match row.way(verb) {
        None | Some(Way::FileHolds) => Ok(()),
        Some(Way::LeftAlone | Way::PitonHolds | Way::Merged | Way::Retired | Way::FollowedOn) => {
            Err(Refusal::WrongVerb {
                kind: row.kind,
                verb,
                fits: row.verbs(),
            })
        }
    }
}

/// Which of these edits cannot be taken as the rows stand.
#[must_use]
pub fn edits_left<'e>(
    rows: &Rows,
    facts: &Facts,
    (run, token): (RunId, Option<u64>),
    file: &str,
    edits: &'e [Edit],
) -> Vec<&'e Edit> {
    let mut story = Story::new(rows, facts, StreamId::run(run));
    story.asker = token;
    if bury_runner(&mut story, run).is_err() {
        return Vec::new();
    }
    let by = By {
        file,
        word: &Word::File,
    };
    let left = take_all(&mut story, run, &by, edits);
    left.into_iter().map(|(edit, _)| edit).collect()
}

/// Where edits come from, and what their word counts for.
pub(super) struct By<'a> {
    pub(super) file: &'a str,
    pub(super) word: &'a Word,
}

/// Takes what fits, and gives back the rest, each with why it does not.
pub(super) fn take_all<'e>(
    story: &mut Story<'_>,
    run: RunId,
    by: &By<'_>,
    edits: impl IntoIterator<Item = &'e Edit>,
) -> Vec<(&'e Edit, String)> {
    let mut left: Vec<(&Edit, String)> = Vec::new();
    let mut open: Vec<&Edit> = edits.into_iter().collect();
    // One edit may make room for another: a phase for what waits for it.
    loop {
        let before = open.len();
        left.clear();
        for edit in std::mem::take(&mut open) {
            if let Err(Unfit(why)) = take(story, run, by, edit) {
                left.push((edit, why));
            }
        }
        open.extend(left.iter().map(|(edit, _)| *edit));
        if open.is_empty() || open.len() == before {
            return left;
        }
    }
}

pub(super) fn in_lines(left: &[(&Edit, String)]) -> String {
    let lines = left.iter().map(|(edit, why)| format!("{edit}: {why}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Opens the one question about a file, or closes it when all of it fits.
fn ask_about_file(story: &mut Story<'_>, run: RunId, file: &str, left: &[(&Edit, String)]) {
    if left.is_empty() {
        return story.settle_file(run, file, "what the file says fits");
    }
    let what = if left.len() == 1 {
        "an edit".to_owned()
    } else {
        format!("{} edits", left.len())
    };
    let question = format!("{what} of `{file}` cannot be taken: which version holds?");
    let mut trial = story.clone();
    let ways = || {
        // Nothing is offered that would be refused.
        let word = &Word::Person {
            decision: DecisionId(uuid::Uuid::nil()),
            why: None,
        };
        let edits = left.iter().map(|(edit, _)| *edit);
        let holds = take_all(&mut trial, run, &By { file, word }, edits).is_empty();
        let file = holds.then_some(Way::FileHolds);
        file.into_iter()
            .chain([Way::PitonHolds, Way::Merged])
            .collect()
    };
    let edits = left.iter().map(|(edit, _)| (*edit).clone()).collect();
    let words = (question, Some(in_lines(left)));
    story.ask_about_file(run, file, (words, edits), ways);
}

fn take(story: &mut Story<'_>, run: RunId, by: &By<'_>, edit: &Edit) -> Result<(), Unfit> {
    match edit {
        Edit::SetState { node, to } => set_state(story, run, by, node, *to),
        Edit::SetRetries { node, retries } => change(story, run, node, Change::Retries(*retries)),
        Edit::SetPrompt { node, prompt } => {
            if prompt.is_none() && story.item(run, node)?.is_leaf() {
                return unfit("an agent needs a prompt");
            }
            change(story, run, node, Change::Prompt(prompt.clone()))
        }
        Edit::SetModel { node, model } => change(story, run, node, Change::Model(model.clone())),
        Edit::SetGate { node, gate } => {
            let row = story.item(run, node)?;
            let at_gate = !row.state.is_finished()
                && matches!(
                    row.stage,
                    Stage::Gate
                        | Stage::Fix
                        | Stage::IterationHooks
                        | Stage::Review
                        | Stage::Commit
                );
            if gate.is_none() && at_gate && row.gate.is_some() {
                return unfit("it is at its gate");
            }
            let is_to_be_mended = row.stage == Stage::Fix && !is_under_way(row);
            let is_another = row.gate != *gate;
            change(story, run, node, Change::Gate(gate.clone()))?;
            // What another check found is not to be mended for this one.
            if is_another && is_to_be_mended {
                story.stage(run, node, Stage::Gate);
            }
            Ok(())
        }
        Edit::SetBreakpoint { node, breakpoint } => {
            change(story, run, node, Change::Breakpoint(*breakpoint))
        }
        Edit::SetWait { node, wait } => {
            let waited = story.item(run, node)?.waits_by_plan();
            let is_another = story.item(run, node)?.wait.as_deref() != wait.as_ref();
            change(story, run, node, Change::Wait(wait.clone()))?;
            if waited && is_another {
                waits::begin_anew(story, run, node);
            }
            Ok(())
        }
        Edit::SetSummary { node, summary } => {
            let row = story.item(run, node)?;
            if row.summary == *summary {
                return Ok(());
            }
            tell_change(story, run, node, Change::Summary(summary.clone()));
            Ok(())
        }
        Edit::SetDependsOn { node, depends_on } => {
            let row = story.item(run, node)?;
            if row.depends_on == *depends_on {
                return Ok(());
            }
            if let Word::Piton | Word::Typed { .. } = by.word {
                return set_dependencies(story, run, node, depends_on);
            }
            let drops = depends_on.iter().all(|on| row.depends_on.contains(on));
            if drops && matches!(by.word, Word::Person { .. }) {
                return drop_dependencies(story, run, node, depends_on);
            }
            unfit("what it waits for is told when it is planned")
        }
        Edit::SetClaims { node, claims } => change(story, run, node, Change::Claims(*claims)),
        Edit::SetScope { node, scope } => change(story, run, node, Change::Scope(scope.clone())),
        Edit::SetRepository { node, repository } => {
            set_repository(story, run, node, repository.as_ref())
        }
        Edit::SetPresent {
            node,
            present: false,
        } => match by.word {
            Word::Person { .. } | Word::Hand { .. } | Word::Typed { .. } => {
                Ok(drop_item(story, run, node)?)
            }
            Word::File | Word::Piton | Word::MaybeAgent { .. } => Ok(()),
        },
        Edit::SetPresent { node, .. } => {
            let row = story.item(run, node)?.clone();
            if row.state != ItemState::Dropped {
                return Ok(());
            }
            set_pending(story, run, by, &row)
        }
        Edit::Insert {
            parent,
            after,
            items,
        } => insert(story, run, parent.as_ref(), after.as_ref(), items).map(|_| ()),
        Edit::Order { parent, nodes } => order(story, run, parent.as_ref(), nodes),
        Edit::SetNative {
            node: Some(node),
            native,
        } => {
            let row = story.item(run, node)?;
            if row.native != *native {
                tell_change(story, run, node, Change::Native(native.clone()));
            }
            Ok(())
        }
        Edit::SetNative { node: None, native } => {
            if native.is_some() && story.run(run)?.native != *native {
                story.tell(Event::RunChanged(Box::new(RunChanged {
                    run,
                    native: native.clone(),
                    policy: None,
                })));
            }
            Ok(())
        }
        Edit::SetPolicy(policy) => {
            let row = story.run(run)?;
            let policy = (**policy).clone().without(&row.flags.ignore);
            if row.policy != policy {
                story.tell(Event::RunChanged(Box::new(RunChanged {
                    run,
                    native: None,
                    policy: Some(policy),
                })));
                leave_hooks(story, run);
            }
            Ok(())
        }
        Edit::AddRequest(request) => {
            requests::open_all(story, run, std::slice::from_ref(&**request));
            Ok(())
        }
        Edit::AnswerRequest { id, answer, why } => Ok(requests::decide_named(
            story,
            run,
            id,
            answer,
            why.as_deref(),
        )?),
        Edit::SetRunState { to } => set_run_state(story, run, *to),
    }
}

/// An item goes to another repository as long as nothing was made of it in its own: one that
/// failed there may belong elsewhere.
fn set_repository(
    story: &mut Story<'_>,
    run: RunId,
    node: &Node,
    named: Option<&String>,
) -> Result<(), Unfit> {
    let policy = &story.run(run)?.policy;
    let repository = policy.repository_of(named.cloned());
    let own = policy.repositories.as_ref();
    let own = own.and_then(|known| known.own.first());
    let row = story.item(run, node)?;
    if row.repository == repository {
        return Ok(());
    }
    let is_at_work = matches!(row.state, ItemState::Working | ItemState::Done);
    if is_at_work || row.has_work() {
        return unfit(match row.repository.as_ref().or(own) {
            Some(name) => format!("what was done of it is in `{name}`"),
            None => "what was done of it is in the repository of the project".to_owned(),
        });
    }
    change(story, run, node, Change::Repository(repository))
}

/// What waits for hooks that are not there any more goes on.
fn leave_hooks(story: &mut Story<'_>, run: RunId) {
    let at_hooks = |item: &&ItemRow| {
        item.state == ItemState::Working
            && item.stage == Stage::IterationHooks
            && item.attempt.is_none()
    };
    let waiting = story.tables.tree(run).filter(at_hooks);
    let waiting: Vec<Node> = waiting.map(|item| item.node.clone()).collect();
    for node in waiting {
        after_hook(story, run, &node);
    }
}

// What the plan says of an item.

pub(super) fn tell_change(story: &mut Story<'_>, run: RunId, node: &Node, change: Change) {
    story.tell(Event::ItemChanged(Box::new(ItemChanged {
        run,
        node: node.clone(),
        change,
    })));
}

/// Changes what the plan says of an item. What is under way on it goes on with
/// what it was started with; the change is in force from the next start.
pub(super) fn change(
    story: &mut Story<'_>,
    run: RunId,
    node: &Node,
    change: Change,
) -> Result<(), Unfit> {
    let row = story.item(run, node)?;
    let mut changed = row.clone();
    change.apply(&mut changed);
    if changed == *row {
        return Ok(());
    }
    // How an item is to be proven undoes no work: it holds should it be done again.
    // Another turn would say that it was done in another order.
    let undoes_nothing = matches!(
        change,
        Change::Prompt(_)
            | Change::Gate(_)
            | Change::Claims(_)
            | Change::Model(_)
            | Change::Scope(_)
            | Change::Wait(_)
    );
    if row.state.is_finished() && !undoes_nothing {
        return unfit(format!("it is {}", row.state));
    }
    tell_change(story, run, node, change);
    Ok(())
}

// States.

fn set_state(
    story: &mut Story<'_>,
    run: RunId,
    by: &By<'_>,
    node: &Node,
    to: ItemState,
) -> Result<(), Unfit> {
    let row = story.item(run, node)?.clone();
    let typed = match by.word {
        Word::Typed { why, .. } => Some(why.as_deref()),
        Word::File
        | Word::Piton
        | Word::Hand { .. }
        | Word::Person { .. }
        | Word::MaybeAgent { .. } => None,
    };
    // What waits for somebody else is taken in hand as well.
    let is_so = row.state == to && (typed.is_none() || to != ItemState::Waiting);
    if is_so {
        return Ok(());
    }
    match to {
        ItemState::Skipped if row.skip_asked => Ok(()),
        ItemState::Skipped => Ok(skip_item(story, run, node, None)?),
        ItemState::Pending | ItemState::Ready => set_pending(story, run, by, &row),
        ItemState::Done => mark_done(story, run, by, &row),
        ItemState::Waiting if let Some(why) = typed => take_in_hand(story, &row, why),
        ItemState::Failed if let Some(why) = typed => fail_by_hand(story, &row, why),
        ItemState::Failed if let Some(person) = person(story, by) => {
            let why = format!("{person} wrote in {} that it failed", by.file);
            fail_by_hand(story, &row, Some(&why))
        }
        ItemState::Waiting if let Some(person) = person(story, by) => {
            let why = format!("{person} wrote in {} that it waits for a person", by.file);
            ask_by_hand(story, &row, why)
        }
        ItemState::Working
        | ItemState::Waiting
        | ItemState::Failed
        | ItemState::Blocked
        | ItemState::Dropped => unfit(format!(
            "it is {}, and a file cannot make it {to}",
            row.state
        )),
    }
}

fn set_pending(story: &mut Story<'_>, run: RunId, by: &By<'_>, row: &ItemRow) -> Result<(), Unfit> {
    let why = format!("reset in {}", by.file);
    match row.state {
        ItemState::Pending | ItemState::Ready => Ok(()),
        ItemState::Waiting if row.waiting_for().is_some() => Ok(()),
        ItemState::Done if !row.is_leaf() => {
            unfit("it is done with all that it holds; set that back which is to be done again")
        }
        ItemState::Done => match by.word {
            // A file that an old writer brought back says so as well.
            Word::File | Word::Piton | Word::Hand { .. } | Word::MaybeAgent { .. } => {
                unfit("it is done")
            }
            Word::Person { why: said, .. } | Word::Typed { why: said, .. } => {
                Ok(redo_item(story, run, row, (&why, said.as_deref()))?)
            }
        },
        // What holds others shows what they came to.
        ItemState::Working if !row.is_leaf() && !any_under_way(story, run, row) => Ok(()),
        ItemState::Working => Err(Refusal::BeingWorkedOn(row.node.clone()).into()),
        ItemState::Waiting
        | ItemState::Failed
        | ItemState::Blocked
        | ItemState::Skipped
        | ItemState::Dropped => {
            // That a file says so is no word of a person to the agent.
            let said = match by.word {
                Word::Person { why, .. } | Word::Typed { why, .. } => why.as_deref(),
                Word::File | Word::Piton | Word::Hand { .. } | Word::MaybeAgent { .. } => None,
            };
            Ok(retry_item(story, run, &row.node, (Some(&why), said))?)
        }
    }
}

fn any_under_way(story: &Story<'_>, run: RunId, top: &ItemRow) -> bool {
    story.tables.subtree(run, &top.place).any(is_under_way)
}

/// The item waits for fewer others; it is ready if it waits for none that is open.
pub(super) fn drop_dependencies(
    story: &mut Story<'_>,
    run: RunId,
    node: &Node,
    depends_on: &[Node],
) -> Result<(), Unfit> {
    change(story, run, node, Change::DependsOn(depends_on.to_vec()))?;
    let waiting: Vec<ItemRow> = story
        .tables
        .tree(run)
        .filter(|row| row.state == ItemState::Pending && row.node.is_within(node))
        .cloned()
        .collect();
    for row in waiting {
        if !must_wait(story, run, &row) {
            story.move_item(run, &row.node, ItemState::Ready, |_| {});
        }
    }
    Ok(())
}

/// The person who changed a file, where one did.
fn person(story: &Story<'_>, by: &By<'_>) -> Option<String> {
    match by.word {
        Word::Hand { by, .. } => Some(by.clone()),
        Word::Person { .. } | Word::Typed { .. } => Some(story.facts.actor.name().to_owned()),
        Word::File | Word::Piton | Word::MaybeAgent { .. } => None,
    }
}

/// Why an item counts as done that is marked in a file.
fn mark(story: &Story<'_>, by: &By<'_>, node: &Node) -> Evidence {
    if let Word::Hand { brought, .. } = by.word
        && brought.contains(node)
    {
        return Evidence::TakenOver;
    }
    let person = person(story, by);
    match person {
        Some(person) => Evidence::Decided {
            by: person,
            at: story.rows.now,
            through: match by.word {
                Word::Typed { through, .. } => through.clone(),
                Word::File
                | Word::Piton
                | Word::Hand { .. }
                | Word::Person { .. }
                | Word::MaybeAgent { .. } => by.file.to_owned(),
            },
        },
        None => Evidence::Claimed {
            by: by.file.to_owned(),
        },
    }
}

/// A person says that an item is done, with all that lies below it.
fn mark_done(story: &mut Story<'_>, run: RunId, by: &By<'_>, top: &ItemRow) -> Result<(), Unfit> {
    // Work that waits to be merged would be on no branch, and its item done.
    let is_waiting = |row: &ItemRow| row.merge().is_some_and(MergeRow::is_waiting);
    if story.tables.subtree(run, &top.place).any(is_waiting) {
        return unfit("its work waits to be merged, and it is done when it is");
    }
    let evidence = [mark(story, by, &top.node)];
    Ok(complete(story, run, top, (&evidence, by.file))?)
}

/// Completes an item, with all that lies below it, by what is known of it from
/// elsewhere.
pub(super) fn complete(
    story: &mut Story<'_>,
    run: RunId,
    top: &ItemRow,
    (evidence, through): (&[Evidence], &str),
) -> Result<(), Refusal> {
    if top.state.is_left_out() {
        story.move_item(run, &top.node, ItemState::Done, |moved| {
            moved.evidence = evidence.to_vec();
        });
        return Ok(());
    }
    if any_under_way(story, run, top) {
        return Err(Refusal::BeingWorkedOn(top.node.clone()));
    }
    reopen_above(story, run, &top.node);
    for above in story.above(run, &top.node).into_iter().rev() {
        if above.state == ItemState::Ready {
            story.move_item(run, &above.node, ItemState::Working, |_| {});
        }
    }
    let below: Vec<Node> = story
        .tables
        .subtree(run, &top.place)
        .map(|item| item.node.clone())
        .collect();
    for node in below.iter().rev() {
        let row = story.item(run, node)?.clone();
        if !row.state.is_finished() {
            judge_attempt(story, &row, Outcome::Completed, None);
            story.move_item(run, node, ItemState::Done, |moved| {
                moved.evidence = evidence.to_vec();
            });
            release_dependents(story, run, node);
        }
    }
    let why = format!("completed in {through}");
    story.settle(run, &top.node, Verb::Settled, Some(&why));
    close_above(story, run, &top.node, evidence);
    close_emptied(story, run);
    Ok(())
}

/// What holds only finished items goes on, or is done by the same word when it
/// could not have begun.
fn close_above(story: &mut Story<'_>, run: RunId, node: &Node, evidence: &[Evidence]) {
    let Some(parent) = node.parent() else {
        return;
    };
    let Some(row) = story.tables.item(run, &parent) else {
        return;
    };
    if row.open_children > 0 {
        return;
    }
    match row.state {
        ItemState::Working => after_work(story, run, &parent),
        ItemState::Waiting if !row.waits_by_plan() => {}
        ItemState::Pending | ItemState::Ready | ItemState::Waiting => {
            story.move_item(run, &parent, ItemState::Done, |moved| {
                moved.evidence = evidence.to_vec();
            });
            release_dependents(story, run, &parent);
            story.settle_own(run, &parent, Verb::Settled);
            close_above(story, run, &parent, evidence);
        }
        ItemState::Done
        | ItemState::Failed
        | ItemState::Skipped
        | ItemState::Dropped
        | ItemState::Blocked => {}
    }
}

fn set_run_state(story: &mut Story<'_>, run: RunId, to: RunState) -> Result<(), Unfit> {
    let row = story.run(run)?;
    let pauses = row
        .asked
        .as_ref()
        .is_some_and(|asked| asked.request == Request::Pause);
    match (to, row.state) {
        (RunState::Paused, RunState::Paused) => Ok(()),
        // At a breakpoint, which files call a pause as well.
        (RunState::Paused, RunState::Waiting) if row.pause.is_some() => Ok(()),
        (RunState::Paused, _) if pauses => Ok(()),
        (RunState::Paused, _) => Ok(ask_pause(story, run)?),
        (RunState::Running, RunState::Running | RunState::Interrupted) => Ok(()),
        (RunState::Running, _) => Ok(resume_run(story, run)?),
        (_, state) => unfit(format!("it is {state}, and a file cannot make it {to}")),
    }
}

// Places.

/// The siblings below `parent`, in order.
pub(super) fn siblings(
    story: &Story<'_>,
    run: RunId,
    parent: Option<&Node>,
) -> Result<Vec<ItemRow>, Refusal> {
    let above = match parent {
        Some(parent) => story.item(run, parent)?.place.clone(),
        None => Place::default(),
    };
    let depth = above.depth() + 1;
    let below: Vec<&ItemRow> = match parent {
        Some(_) => story.tables.subtree(run, &above).collect(),
        None => story.tables.tree(run).collect(),
    };
    let rows = below.into_iter().filter(|item| item.place.depth() == depth);
    Ok(rows.cloned().collect())
}

/// Puts siblings, each with what lies below it, at these indexes.
pub(super) fn place(story: &mut Story<'_>, run: RunId, moves: &[(ItemRow, u32)]) {
    let mut places = BTreeMap::new();
    for (row, index) in moves {
        let level = row.place.depth() - 1;
        if row.place.0.get(level) == Some(index) {
            continue;
        }
        for item in story.tables.subtree(run, &row.place) {
            let mut place = item.place.clone();
            if let Some(at) = place.0.get_mut(level) {
                *at = *index;
            }
            places.insert(item.node.clone(), place);
        }
    }
    if !places.is_empty() {
        story.tell(Event::ItemsPlaced(Box::new(ItemsPlaced { run, places })));
    }
}

fn order(
    story: &mut Story<'_>,
    run: RunId,
    parent: Option<&Node>,
    nodes: &[Node],
) -> Result<(), Unfit> {
    let now = siblings(story, run, parent)?;
    let mut named: BTreeMap<&Node, usize> = BTreeMap::new();
    for node in nodes {
        let next = named.len();
        named.entry(node).or_insert(next);
    }
    let known: BTreeSet<&Node> = now.iter().map(|row| &row.node).collect();
    if let Some(unknown) = nodes.iter().find(|node| !known.contains(node)) {
        return Err(Refusal::NoSuchItem(unknown.clone()).into());
    }
    // One that is not named keeps behind the one that it follows now.
    let mut keyed: Vec<((usize, usize), ItemRow)> = Vec::with_capacity(now.len());
    let mut last = (0, 0);
    for row in now {
        last = match named.get(&row.node) {
            Some(at) => (at + 1, 0),
            None => (last.0, last.1 + 1),
        };
        keyed.push((last, row));
    }
    keyed.sort_by_key(|(key, _)| *key);
    let rows = keyed.into_iter().map(|(_, row)| row);
    let moves: Vec<(ItemRow, u32)> = rows.zip(0..).collect();
    place(story, run, &moves);
    Ok(())
}

// New items.

/// Adds an item with all that lies below it; gives back its node.
pub(super) fn insert(
    story: &mut Story<'_>,
    run: RunId,
    parent: Option<&Node>,
    after: Option<&Node>,
    items: &[PlannedItem],
) -> Result<Node, Unfit> {
    let now = siblings(story, run, parent)?;
    let above = match parent {
        Some(parent) => Some(may_hold(story, run, parent)?),
        None => None,
    };
    let at = match after {
        None => 0,
        Some(after) => now
            .iter()
            .position(|row| row.node == *after)
            .map_or(now.len(), |before| before + 1),
    };
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    let top = above
        .as_ref()
        .map_or_else(Place::default, |row| row.place.clone())
        .child(at);
    let closed = parent.is_some_and(|parent| is_closed(story, run, parent));
    let items = renamed(items, parent, &now, &top)?;
    let items = prepared(story, run, items, closed)?;
    let open = !items[0].state.is_finished();
    if let Some(above) = above.filter(|above| above.is_leaf() && !open) {
        return unfit(format!("nothing would be left to do in `{}`", above.node));
    }
    let later = now.into_iter().zip(0..).filter(|(_, index)| *index >= at);
    let moves: Vec<(ItemRow, u32)> = later.map(|(row, index)| (row, index + 1)).collect();
    place(story, run, &moves);
    let node = items[0].node.clone();
    for item in items {
        story.tell(Event::ItemPlanned(Box::new(ItemPlanned { run, item })));
    }
    if open {
        reopen_above(story, run, &node);
        close_emptied(story, run);
    }
    Ok(node)
}

/// The item, when others may be added below it.
fn may_hold(story: &Story<'_>, run: RunId, parent: &Node) -> Result<ItemRow, Unfit> {
    let row = story.item(run, parent)?.clone();
    let begun = !matches!(row.state, ItemState::Pending | ItemState::Ready) || row.attempts > 0;
    if row.is_leaf() && begun {
        return unfit(format!("`{parent}` has been begun as it is"));
    }
    let line = std::iter::once(row.clone()).chain(story.above(run, parent));
    for above in line {
        if is_under_way(&above) {
            return Err(Refusal::BeingWorkedOn(above.node).into());
        }
    }
    Ok(row)
}

/// Whether nothing below `node` is started any more.
fn is_closed(story: &Story<'_>, run: RunId, node: &Node) -> bool {
    std::iter::once(node.clone())
        .chain(node.ancestors())
        .filter_map(|node| story.tables.item(run, &node))
        .any(|row| row.skip_asked || row.state.is_left_out())
}

/// The items with the nodes and places that they get: a sibling that repeats
/// an id gets the next number that is free.
fn renamed(
    items: &[PlannedItem],
    parent: Option<&Node>,
    now: &[ItemRow],
    top: &Place,
) -> Result<Vec<PlannedItem>, Unfit> {
    let Some(first) = items.first() else {
        return unfit("there is nothing to add");
    };
    let (old_node, old_depth) = (&first.node, first.place.depth());
    let free = (1..)
        .map(|nth| Node::child(parent, &first.id, nth))
        .find(|node| !now.iter().any(|row| row.node == *node));
    let Some(new_node) = free else {
        return unfit("there is no name left for it");
    };
    let name = |node: &Node| {
        let rest = node.as_str().strip_prefix(old_node.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then(|| Node::named(format!("{new_node}{rest}")))
    };
    let mut out = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let below = item.place.0.get(old_depth..).unwrap_or_default();
        let (Some(node), true) = (name(&item.node), below.is_empty() == (index == 0)) else {
            return unfit(format!("`{}` hangs on nothing", item.node));
        };
        let mut place = top.clone();
        place.0.extend_from_slice(below);
        let depends_on = item.depends_on.iter();
        out.push(PlannedItem {
            depends_on: depends_on
                .map(|on| name(on).unwrap_or_else(|| on.clone()))
                .collect(),
            node,
            place,
            ..item.clone()
        });
    }
    Ok(out)
}

/// The items with the states in which they begin, and with all that they wait
/// for.
fn prepared(
    story: &Story<'_>,
    run: RunId,
    mut items: Vec<PlannedItem>,
    closed: bool,
) -> Result<Vec<PlannedItem>, Unfit> {
    check_subtree(story, run, &items)?;
    let parent = items[0].node.parent();
    let above: Vec<ItemRow> = parent
        .iter()
        .flat_map(|parent| std::iter::once(parent.clone()).chain(parent.ancestors()))
        .filter_map(|node| story.tables.item(run, &node).cloned())
        .collect();
    let indexes = items.iter().map(|item| &item.node).zip(0..).collect();
    let depends_on: Vec<Vec<Node>> = items
        .iter()
        .map(|item| {
            let mut all = with_inherited(&items, &indexes, item);
            let inherited = above.iter().flat_map(|row| &row.depends_on);
            for on in inherited.filter(|_| !item.depends_on.is_empty()) {
                if !all.contains(on) {
                    all.push(on.clone());
                }
            }
            all
        })
        .collect();
    let policy = story.tables.run(run).map(|row| &row.policy);
    for (item, depends_on) in items.iter_mut().zip(depends_on) {
        item.depends_on = depends_on;
        let named = item.repository.take();
        item.repository = policy.and_then(|policy| policy.repository_of(named));
        if item.state.is_finished() {
            continue;
        }
        if !matches!(item.state, ItemState::Pending | ItemState::Ready) {
            return unfit(format!(
                "`{}` is new, and cannot be {}",
                item.node, item.state
            ));
        }
        item.past = Past::default();
        if closed {
            item.state = ItemState::Skipped;
        }
    }
    settle_states(story, run, &mut items);
    Ok(items)
}

/// An item below which nothing is to be done has nothing to do itself; below
/// one that is finished nothing is begun; what waits is pending.
fn settle_states(story: &Story<'_>, run: RunId, items: &mut [PlannedItem]) {
    let at: BTreeMap<Node, usize> = items
        .iter()
        .map(|item| item.node.clone())
        .zip(0..)
        .collect();
    let parents: Vec<Option<usize>> = items
        .iter()
        .map(|item| at.get(&item.node.parent()?).copied())
        .collect();
    let mut open = vec![0_u32; items.len()];
    let (mut all, mut done) = (open.clone(), open.clone());
    for index in 0..items.len() {
        let above = parents[index].map(|parent| items[parent].state);
        if above.is_some_and(ItemState::is_finished) && !items[index].state.is_finished() {
            items[index].state = ItemState::Skipped;
        }
    }
    for index in (0..items.len()).rev() {
        if all[index] > 0 && open[index] == 0 && !items[index].state.is_finished() {
            items[index].state = if done[index] > 0 {
                ItemState::Done
            } else {
                ItemState::Skipped
            };
        }
        if let Some(parent) = parents[index] {
            all[parent] += 1;
            open[parent] += u32::from(!items[index].state.is_finished());
            done[parent] += u32::from(items[index].state == ItemState::Done);
        }
    }
    for index in 0..items.len() {
        if items[index].state.is_finished() {
            continue;
        }
        let state_of = |node: &Node| {
            let new = at.get(node).map(|index| items[*index].state);
            new.or_else(|| story.tables.item(run, node).map(|row| row.state))
        };
        let held_up = items[index].node.parent().is_some_and(|parent| {
            let known = story.tables.item(run, &parent);
            match at.get(&parent) {
                Some(new) => items[*new].state == ItemState::Pending || items[*new].wait.is_some(),
                None => {
                    known.is_some_and(|row| must_wait(story, run, row) || row.is_held_by_wait())
                }
            }
        });
        let free = items[index]
            .depends_on
            .iter()
            .all(|on| state_of(on).is_some_and(ItemState::is_finished));
        items[index].state = if held_up || !free {
            ItemState::Pending
        } else {
            ItemState::Ready
        };
    }
}

/// Refuses items that wait for what is not there, or for themselves.
fn check_subtree(story: &Story<'_>, run: RunId, items: &[PlannedItem]) -> Result<(), Unfit> {
    let top = &items[0].node;
    let mut alone: Vec<PlannedItem> = Vec::with_capacity(items.len());
    for item in items {
        let mut inner = Vec::new();
        for on in &item.depends_on {
            if on.is_within(top) {
                inner.push(on.clone());
            } else if story.tables.item(run, on).is_none() || top.is_within(on) {
                return unfit(format!("it waits for `{on}`, which is not there"));
            }
        }
        alone.push(PlannedItem {
            depends_on: inner,
            node: Node::named(item.node.as_str()),
            ..item.clone()
        });
    }
    // Within a tree of its own, the top has no parent.
    let parents = top.parent();
    if let Some(parent) = parents {
        let cut = parent.as_str().len() + 1;
        let own = |node: &Node| Node::named(node.as_str().get(cut..).unwrap_or_default());
        for item in &mut alone {
            item.node = own(&item.node);
            item.depends_on = item.depends_on.iter().map(own).collect();
        }
    }
    let indexes = index(&alone)?;
    Ok(check_order(&alone, &indexes)?)
}
