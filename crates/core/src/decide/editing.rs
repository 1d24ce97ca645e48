//! What becomes of a plan that was edited in its file.
//!
//! Each edit is tried by the rules of a person's commands. An edit that changes
//! nothing is done. One that does not fit is left, and a person is asked about it: it
//! stops nothing else.

use super::agent_edits::{EditingAgent, apply_agent_edits, drop_changed_edits};
use super::applying::{apply_all_edits, render_rejected_edits};
use super::changes::EditSource;
use super::dead_runner::release_dead_runner;
use super::event_buffer::{EventBuffer, QuestionText};
use super::guards::{check_decision_open, check_runner};
use crate::command::{CallerFacts, EditAuthor};
use crate::decision::{DecisionChoice, Verb};
use crate::edit::Edit;
use crate::id::{DecisionId, Node, RunId, StreamId};
use crate::item::ItemRow;
use crate::needs::Rows;
use crate::refusal::Refusal;

/// The edits of the file of a plan that are to be applied to its run.
#[derive(Clone, Copy, Debug)]
pub struct PlanFileEdits<'e> {
    /// The run.
    pub run: RunId,
    /// The token of the runner, when it is the one that applies them.
    pub token: Option<u64>,
    /// The file, relative to the project.
    pub file: &'e str,
    /// The edits, in the order in which they are to be tried.
    pub edits: &'e [Edit],
}

/// Applies the edits of a file that fit, and asks a person about the rest. The answer
/// of a person who was asked is refused when an edit does not fit.
pub(super) fn apply_edits(
    story: &mut EventBuffer<'_>,
    changes: &PlanFileEdits<'_>,
    word: &EditAuthor,
) -> Result<(), Refusal> {
    let PlanFileEdits {
        run,
        token,
        file,
        edits,
    } = *changes;
    if let Some(token) = token {
        check_runner(story, (run, token))?;
    }
    story.asker = token;
    if let EditAuthor::Person { decision, .. } = word {
        check_file_question(story, run, file, *decision)?;
    }
    release_dead_runner(story, run)?;
    let by = EditSource { file, word };
    if let EditAuthor::Typed { .. } = word {
        let left = apply_all_edits(story, run, &by, edits);
        return require_all_applied(file, &left);
    }
    if let Some(agent) = EditingAgent::from_author(story, run, word) {
        apply_edits_of_agent(story, run, &agent, &by, edits);
        return Ok(());
    }
    let (gone, edits): (Vec<&Edit>, Vec<&Edit>) = edits
        .iter()
        .partition(|edit| matches!(word, EditAuthor::Hand { .. }) && removed_node(edit).is_some());
    let mut left = apply_all_edits(story, run, &by, edits.iter().copied());
    // Who takes all out that is open may have meant something else.
    if has_open_items_without(story, run, &gone) {
        left.extend(apply_all_edits(story, run, &by, gone.iter().copied()));
    } else {
        let why = || "no open item would be left".to_owned();
        left.extend(gone.iter().map(|edit| (*edit, why())));
    }
    match word {
        EditAuthor::File | EditAuthor::Hand { .. } | EditAuthor::MaybeAgent { .. } => {
            let all = edits.iter().chain(&gone).copied();
            drop_applied_edits(story, run, all, &left);
            ask_about_file(story, run, file, &left);
            Ok(())
        }
        EditAuthor::Person { decision, why } if left.is_empty() => {
            story.decide_if_open(*decision, Verb::KeepFile, why.as_deref());
            Ok(())
        }
        EditAuthor::Piton | EditAuthor::Person { .. } | EditAuthor::Typed { .. } => {
            require_all_applied(file, &left)
        }
    }
}

/// Applies the edits of a file that may be an agent's, and asks a person about what does
/// not fit.
fn apply_edits_of_agent(
    story: &mut EventBuffer<'_>,
    run: RunId,
    agent: &EditingAgent,
    by: &EditSource<'_>,
    edits: &[Edit],
) {
    let asked = story.tables.open_decisions(run);
    let asked = asked.filter(|row| row.file.as_deref() == Some(by.file));
    let asked: Vec<Edit> = asked.flat_map(|row| row.edits.iter().cloned()).collect();
    // What a person was asked about before is no agent's, and stays asked about.
    let is_asked = |edit: &&Edit| asked.contains(edit);
    let (known, new): (Vec<&Edit>, Vec<&Edit>) = edits.iter().partition(is_asked);
    let new: Vec<Edit> = new.into_iter().cloned().collect();
    if matches!(by.word, EditAuthor::MaybeAgent { in_lane: true, .. }) {
        apply_agent_edits(story, run, agent, by, &new);
        return;
    }
    let mut left: Vec<(&Edit, String)> = known
        .into_iter()
        .map(|edit| (edit, "it is asked about".to_owned()))
        .collect();
    left.extend(apply_agent_edits(story, run, agent, by, &new));
    ask_about_file(story, run, by.file, &left);
}

/// Refuses the edits when one of them did not fit.
fn require_all_applied(file: &str, left: &[(&Edit, String)]) -> Result<(), Refusal> {
    match left.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Unfit {
            file: file.to_owned(),
            why: render_rejected_edits(left),
        }),
    }
}

/// Drops the questions about edits of agents that an applied edit answers.
fn drop_applied_edits<'e>(
    story: &mut EventBuffer<'_>,
    run: RunId,
    all: impl Iterator<Item = &'e Edit>,
    left: &[(&Edit, String)],
) {
    let is_applied = |edit: &&Edit| {
        !left
            .iter()
            .any(|(one, _)| one.is_same_kind_and_subject(edit))
    };
    let applied: Vec<Edit> = all.filter(is_applied).cloned().collect();
    drop_changed_edits(story, run, &applied);
}

/// The item that an edit takes out of the file.
fn removed_node(edit: &Edit) -> Option<&Node> {
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
fn has_open_items_without(story: &EventBuffer<'_>, run: RunId, gone: &[&Edit]) -> bool {
    let open = story.tables.tree(run);
    let open = open.filter(|row| row.is_leaf() && !row.state.is_finished());
    let is_gone = |row: &&ItemRow| {
        let mut nodes = gone.iter().filter_map(|edit| removed_node(edit));
        nodes.any(|node| row.node.is_within(node))
    };
    let (gone, left): (Vec<&ItemRow>, Vec<&ItemRow>) = open.partition(is_gone);
    gone.is_empty() || !left.is_empty()
}

/// A person's word holds for the file that was asked about, as long as it is
/// asked, and where that was offered.
fn check_file_question(
    story: &EventBuffer<'_>,
    run: RunId,
    file: &str,
    decision: DecisionId,
) -> Result<(), Refusal> {
    let verb = Verb::KeepFile;
    let row = check_decision_open(story, decision, verb)?;
    if row.run != run || row.file.as_deref() != Some(file) {
        return Err(Refusal::NoSuchDecision(decision.to_string()));
    }
    // An old question does not say what its verbs come to.
    match row.choice_of_verb(verb) {
        None | Some(DecisionChoice::FileHolds) => Ok(()),
        Some(
            DecisionChoice::LeftAlone
            | DecisionChoice::PitonHolds
            | DecisionChoice::Merged
            | DecisionChoice::Retired
            | DecisionChoice::FollowedOn,
        ) => Err(Refusal::WrongVerb {
            kind: row.kind,
            verb,
            fits: row.allowed_verbs(),
        }),
    }
}

/// Which of these edits cannot be taken as the rows stand.
#[must_use]
pub fn find_inapplicable_edits<'e>(
    rows: &Rows,
    facts: &CallerFacts,
    changes: &PlanFileEdits<'e>,
) -> Vec<&'e Edit> {
    let PlanFileEdits {
        run,
        token,
        file,
        edits,
    } = *changes;
    let mut story = EventBuffer::new(rows, facts, StreamId::of_run(run));
    story.asker = token;
    if release_dead_runner(&mut story, run).is_err() {
        return Vec::new();
    }
    let by = EditSource {
        file,
        word: &EditAuthor::File,
    };
    let left = apply_all_edits(&mut story, run, &by, edits);
    left.into_iter().map(|(edit, _)| edit).collect()
}

/// Opens the one question about a file, or closes it when all of it fits.
fn ask_about_file(story: &mut EventBuffer<'_>, run: RunId, file: &str, left: &[(&Edit, String)]) {
    if left.is_empty() {
        return story.settle_file_decisions(run, file, "what the file says fits");
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
        let word = &EditAuthor::Person {
            decision: DecisionId(uuid::Uuid::nil()),
            why: None,
        };
        let edits = left.iter().map(|(edit, _)| *edit);
        let holds = apply_all_edits(&mut trial, run, &EditSource { file, word }, edits).is_empty();
        let file = holds.then_some(DecisionChoice::FileHolds);
        file.into_iter()
            .chain([DecisionChoice::PitonHolds, DecisionChoice::Merged])
            .collect()
    };
    let edits = left.iter().map(|(edit, _)| (*edit).clone()).collect();
    let text = QuestionText {
        question,
        details: Some(render_rejected_edits(left)),
    };
    story.ask_about_file(run, file, text, edits, ways);
}
