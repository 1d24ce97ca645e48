//! What shows that an item is done, and what that is worth in its run.
//!
//! The levels are those of [`crate::evidence`]. Here is what has to follow from them:
//! the item is finished, has to pass a given command, or a person is asked.

use super::event_buffer::EventBuffer;
use crate::evidence::{
    ChangeExtent, CheckSignificance, ClaimRules, ClaimSettings, Level, TreeChange, WeakenedProof,
    Worth,
};
use crate::gate::{Gate, GateReport};
use crate::item::{Evidence, ItemRow};

/// How well it is shown that an item is done, before anybody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimProof {
    /// It only holds others, and has no check of its own.
    NoneNeeded,
    /// A level of proof.
    Level(Level),
    /// No attempt here worked on it: what came of it was seen elsewhere, as in a pull
    /// request that a person merged.
    WorkedElsewhere,
    /// The agent's word, and the tree is not known.
    UnknownTree,
}

/// What follows for an item of which all was done that its plan asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClaimJudgement {
    Finish,
    Check(Box<Gate>),
    Ask(String),
    Refuse(String),
}

fn measure_proof(story: &EventBuffer<'_>, item: &ItemRow) -> ClaimProof {
    let checks = item.proof.evidence.iter().rev();
    let checked = checks.filter_map(Evidence::passed_check).next();
    let changed = tree_change_of_item(story, item).map(|change| change.remaining_extent());
    match (checked, changed) {
        (Some(check), _) if check.is_proof => ClaimProof::Level(Level::Check),
        (Some(check), None) if check.tree.is_none() => ClaimProof::WorkedElsewhere,
        (Some(check), changed)
            if check.tree.is_none() || changed == Some(ChangeExtent::Unknown) =>
        {
            ClaimProof::UnknownTree
        }
        (Some(_), _) => ClaimProof::Level(Level::Word),
        (None, _) if !item.is_leaf() => ClaimProof::NoneNeeded,
        (None, Some(ChangeExtent::Something { .. })) => ClaimProof::Level(Level::Changed),
        (None, Some(ChangeExtent::Nothing)) => ClaimProof::Level(Level::Word),
        (None, Some(ChangeExtent::Unknown)) => ClaimProof::UnknownTree,
        (None, None) => ClaimProof::WorkedElsewhere,
    }
}

/// What the attempts that count for an item did to the tree: its own, those at
/// items below it, and one at another item that claimed it.
fn tree_change_of_item(story: &EventBuffer<'_>, item: &ItemRow) -> Option<TreeChange> {
    let claimed = item.proof.claimed.as_ref().and_then(|by| by.change.clone());
    let own = match (item.work.change.as_deref().cloned(), claimed) {
        (Some(own), Some(claimed)) => Some(own.join(&claimed, true)),
        (own, claimed) => own.or(claimed),
    };
    if item.is_leaf() {
        return own;
    }
    let mut below: Vec<&ItemRow> = story
        .tables
        .subtree(item.run, &item.plan.place)
        .filter(|row| row.node != item.node && row.work.change.is_some())
        .collect();
    below.sort_by_key(|row| row.started_at);
    let all = below
        .into_iter()
        .filter_map(|row| row.work.change.as_deref().cloned());
    all.chain(own)
        .reduce(|earlier, later| earlier.join(&later, false))
}

/// What a check that passed shows of an item.
pub(super) fn evidence_of_check(
    story: &EventBuffer<'_>,
    item: &ItemRow,
    report: &GateReport,
) -> Option<Evidence> {
    let gate = item.pending_gate().filter(|_| report.passed)?;
    let changed =
        tree_change_of_item(story, item).map(|change| change.extent_on_tree(report.tree.as_ref()));
    Some(Evidence::Checked {
        command: gate.script.clone(),
        tree: report.tree.clone(),
        means: check_means(item, changed),
    })
}

fn check_means(item: &ItemRow, changed: Option<ChangeExtent>) -> Option<CheckSignificance> {
    match changed {
        Some(ChangeExtent::Something { .. }) => Some(CheckSignificance::Change),
        Some(ChangeExtent::Nothing | ChangeExtent::Unknown) | None => item
            .proof
            .seen_to_fail
            .then_some(CheckSignificance::SeenToFail),
    }
}

/// What it shows of an item that the check which it was given in the merge queue
/// passed on the merged tree. That has the work of others as well: what the attempts
/// changed is seen in the tree that they left.
pub(super) fn evidence_of_merged_check(
    story: &EventBuffer<'_>,
    item: &ItemRow,
    tree: &str,
) -> Option<Evidence> {
    let gate = item
        .plan
        .gate
        .as_ref()
        .filter(|_| item.is_missing_check())?;
    let changed = tree_change_of_item(story, item).map(|change| change.remaining_extent());
    Some(Evidence::Checked {
        command: gate.script.clone(),
        tree: Some(tree.to_owned()),
        means: check_means(item, changed),
    })
}

/// Why an item that is finished now counts as done, beyond its check and the
/// commit that was made of it.
pub(super) fn collect_evidence(story: &EventBuffer<'_>, item: &ItemRow) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    let left = tree_change_of_item(story, item).map(|change| change.remaining_extent());
    match (measure_proof(story, item), left) {
        (ClaimProof::NoneNeeded, _) => {}
        (
            ClaimProof::Level(Level::Check | Level::Changed),
            Some(ChangeExtent::Something { files }),
        ) if item.is_leaf() => evidence.push(Evidence::Changed { files }),
        (ClaimProof::Level(Level::Check), _) => {}
        _ if item.plan.gate.is_none() => evidence.push(Evidence::NoneAsked),
        _ => {}
    }
    let how = describe_weakenings(item);
    if !how.is_empty() {
        evidence.push(Evidence::Weakened { how });
    }
    evidence
}

fn claim_rules_of_item(story: &EventBuffer<'_>, item: &ItemRow) -> (ClaimRules, Option<Box<Gate>>) {
    let claims = story
        .tables
        .run(item.run)
        .map(|run| run.invocation.claims.clone());
    let claims: ClaimSettings = claims.unwrap_or_default();
    (
        claims.rules_of_item(&item.node, &item.plan.claims),
        claims.check,
    )
}

pub(super) fn judge_claim(story: &EventBuffer<'_>, item: &ItemRow) -> ClaimJudgement {
    let (rules, check) = claim_rules_of_item(story, item);
    let weakened = describe_weakenings(item);
    if !weakened.is_empty() {
        let how = weakened.join("; ");
        let why = format!("what proves `{}` was weakened: {how}", item.node);
        match rules.weakened {
            WeakenedProof::Ask => return ClaimJudgement::Ask(why),
            WeakenedProof::Refuse => return ClaimJudgement::Refuse(why),
            WeakenedProof::Note => {}
        }
    }
    let strength = measure_proof(story, item);
    let worth = match strength {
        ClaimProof::NoneNeeded
        | ClaimProof::WorkedElsewhere
        | ClaimProof::Level(Level::Check | Level::Person) => Worth::Accept,
        ClaimProof::Level(Level::Changed) => rules.changed,
        ClaimProof::Level(Level::Word) => rules.word,
        // It may be either. An agent can cause it, by damaging git's index.
        ClaimProof::UnknownTree => rules.changed.max(rules.word),
    };
    // The given command has passed already.
    let has_passed = item.proof.claim_gate.is_some();
    match (worth, check) {
        (Worth::Accept, _) => ClaimJudgement::Finish,
        (Worth::Check, Some(_)) if has_passed => ClaimJudgement::Finish,
        (Worth::Check, Some(check)) => ClaimJudgement::Check(check),
        (Worth::Check, None) | (Worth::Ask, _) => {
            ClaimJudgement::Ask(claim_question(story, item, strength))
        }
    }
}

/// What weakened the proof of an item over all of its attempts, a sentence each.
fn describe_weakenings(item: &ItemRow) -> Vec<String> {
    let proof = item.proof.changes.iter();
    proof
        .flat_map(|proof| proof.weakenings())
        .map(|one| one.to_string())
        .collect()
}

/// How many letters of a commit people are shown.
pub(super) const SHORT_COMMIT: usize = 12;

fn claim_question(story: &EventBuffer<'_>, item: &ItemRow, strength: ClaimProof) -> String {
    let node = &item.node;
    if strength == ClaimProof::Level(Level::Changed) {
        return format!(
            "`{node}` is said to be done and changed files; nothing checks it: is it done?"
        );
    }
    if strength == ClaimProof::UnknownTree {
        let check = match item.plan.gate {
            Some(_) => format!("the check of `{node}` passes, but it was not seen to fail before"),
            None => format!("`{node}` is said to be done"),
        };
        return format!("{check}, and piton could not see what its attempts changed: is it done?");
    }
    let is_gone = tree_change_of_item(story, item).is_some_and(|change| {
        change.remaining_extent() == ChangeExtent::Nothing
            && change.changed != ChangeExtent::Nothing
    });
    let changed = match item.work.commits.last() {
        Some(commit) => format!(
            "left its work behind in commit {}",
            commit.get(..SHORT_COMMIT).unwrap_or(commit)
        ),
        None if is_gone => "changed files of which nothing is left".to_owned(),
        None => "changed nothing".to_owned(),
    };
    if item.plan.gate.is_some() {
        return format!(
            "the check of `{node}` passes, but its attempts {changed} and it was not seen to fail before: is it done?"
        );
    }
    format!("`{node}` is said to be done, and its attempts {changed}: is it done?")
}

/// Whether an attempt that ended well leads to nothing more to do or to ask:
/// its outcome need not wait for anything.
pub(super) fn needs_nothing_more(story: &EventBuffer<'_>, item: &ItemRow) -> bool {
    item.pending_gate().is_none() && judge_claim(story, item) == ClaimJudgement::Finish
}

/// Whether one check stands for two items: that it passes shows the work on one
/// of them, and it is not known of which.
pub(super) fn has_same_check(one: &ItemRow, other: &ItemRow) -> bool {
    let script = |item: &ItemRow| item.plan.gate.as_ref().map(|gate| gate.script.clone());
    one.plan.gate.is_some() && script(one) == script(other)
}
