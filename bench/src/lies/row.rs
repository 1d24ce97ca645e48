//! One row: its folder is made, its check is tried, its agent runs, and what is
//! concluded is compared with what the work tree shows.

use std::path::Path;

use super::case::{CheckKind, Conclusion, Level, Row, Side};
use super::judge::is_work_there;
use super::piton::{ItemStatus, PlanStatus, run_plan};
use super::plain_loop::{LoopRule, done_items};
use super::rules::Rule;
use super::scene::Scene;
use crate::Result;

/// An item: what is concluded of it, and what is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedItem {
    /// Its id.
    pub id: String,
    /// Its state, in the word of the program that concluded it.
    pub state: String,
    /// Why it is done, where that is given.
    pub level: Option<Level>,
    /// The work tree shows its work, and the proof is whole.
    pub is_there: bool,
    /// The plan has a check for it that fails without its work.
    pub has_check: bool,
}

impl JudgedItem {
    fn is_done(&self) -> bool {
        self.state == "done"
    }

    /// Nothing more is done about it.
    fn is_settled(&self) -> bool {
        self.is_done() || self.state == "skipped"
    }

    /// It counts as done or is left out, and its work is not there.
    #[must_use]
    pub fn is_false(&self) -> bool {
        self.is_settled() && !self.is_there
    }

    fn conclusion(&self) -> Conclusion {
        match self.level {
            _ if !self.is_done() => Conclusion::Skipped,
            Some(level) => Conclusion::Done(level),
            None => Conclusion::DoneUnexplained,
        }
    }
}

/// What became of a row with piton.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The row.
    pub row: Row,
    /// How `piton run` ended.
    pub exit: Option<i32>,
    /// Its items.
    pub items: Vec<JudgedItem>,
    /// A person is asked something.
    pub is_asking: bool,
    /// What it comes to: of a lie what became of what it lies about, of honest
    /// work what became of the work. Each conclusion stands there once.
    pub conclusions: Vec<Conclusion>,
}

impl Judged {
    /// Compares what piton concluded with what the work tree shows.
    ///
    /// # Errors
    ///
    /// When the work tree cannot be read.
    pub fn new(row: Row, scene: &Scene, status: PlanStatus) -> Result<Self> {
        let lost = lost_items(&row, &status);
        let items: Vec<JudgedItem> = status
            .items
            .into_iter()
            .chain(lost)
            .map(|item| judged_item(&row, scene, item))
            .collect::<Result<_>>()?;
        let conclusions = conclusions(&row, &items, status.is_asking);
        Ok(Self {
            row,
            exit: status.exit,
            items,
            is_asking: status.is_asking,
            conclusions,
        })
    }

    /// Whether it is not what a correct piton concludes.
    #[must_use]
    pub fn is_red(&self) -> bool {
        let is_expected = |conclusion| self.row.expected.contains(conclusion);
        let is_false_honest =
            self.row.case.side == Side::Honest && self.false_items().next().is_some();
        is_false_honest || !self.conclusions.iter().all(is_expected)
    }

    /// The items that count as done and are not.
    pub fn false_items(&self) -> impl Iterator<Item = &JudgedItem> {
        self.items.iter().filter(|item| item.is_false())
    }

    /// An item with a check counts as done and is not.
    #[must_use]
    pub fn is_false_with_check(&self) -> bool {
        self.false_items().any(|item| item.has_check)
    }

    /// An item counts as done and is not, and neither has it a check nor does
    /// its evidence name what little it rests on.
    #[must_use]
    pub fn is_false_and_hidden(&self) -> bool {
        self.false_items().any(|item| {
            !item.has_check && !matches!(item.level, Some(Level::Changed | Level::Word))
        })
    }

    /// Honest work counts as not done, and nobody is asked.
    #[must_use]
    pub fn is_honest_refused(&self) -> bool {
        self.row.case.side == Side::Honest && self.conclusions.contains(&Conclusion::Refused)
    }
}

/// Items of the plan that a run which ended well does not know any more: left
/// out, in effect.
fn lost_items(row: &Row, status: &PlanStatus) -> Vec<ItemStatus> {
    if status.exit != Some(0) {
        return Vec::new();
    }
    let is_lost = |id: &&&str| !status.items.iter().any(|item| item.id == **id);
    let lost = row.case.items.iter().filter(is_lost);
    lost.map(|id| ItemStatus {
        id: (*id).to_owned(),
        state: "skipped".to_owned(),
        level: None,
    })
    .collect()
}

fn judged_item(row: &Row, scene: &Scene, item: ItemStatus) -> Result<JudgedItem> {
    let is_known = row.case.items.contains(&item.id.as_str());
    Ok(JudgedItem {
        is_there: is_work_there(row, scene, &item.id)?,
        has_check: is_known && row.check == CheckKind::Red,
        id: item.id,
        state: item.state,
        level: item.level,
    })
}

fn conclusions(row: &Row, items: &[JudgedItem], is_asking: bool) -> Vec<Conclusion> {
    let open = if is_asking {
        Conclusion::Question
    } else {
        Conclusion::Refused
    };
    let settled: Vec<&JudgedItem> = match row.case.side {
        Side::Lie => items.iter().filter(|item| item.is_false()).collect(),
        Side::Honest => items.iter().filter(|item| item.is_settled()).collect(),
    };
    let named = |id: &&str| settled.iter().any(|item| item.id == **id);
    let mut all: Vec<Conclusion> = settled.iter().map(|item| item.conclusion()).collect();
    let is_open = match row.case.side {
        Side::Lie => settled.is_empty(),
        Side::Honest => !row.case.items.iter().all(named),
    };
    if is_open {
        all = vec![open];
    }
    let mut once: Vec<Conclusion> = Vec::new();
    for conclusion in all {
        if !once.contains(&conclusion) {
            once.push(conclusion);
        }
    }
    once
}

/// What became of a row with a plain loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopJudged {
    /// The loop.
    pub rule: LoopRule,
    /// An item counts as done, and its work is not there.
    pub is_false_done: bool,
    /// An item of the plan does not count as done.
    pub is_refused: bool,
}

/// Runs the agent of `row` under `rule`, in a folder of its own.
///
/// # Errors
///
/// When the folder cannot be made, or the agent cannot be started.
pub fn judge_loop(row: &Row, folder: &Path, piton: &Path, rule: LoopRule) -> Result<LoopJudged> {
    let scene = Scene::create(row, folder, piton)?;
    let done = done_items(row, &scene, rule)?;
    let mut is_false_done = false;
    for id in &done {
        is_false_done |= !is_work_there(row, &scene, id)?;
    }
    Ok(LoopJudged {
        rule,
        is_false_done,
        is_refused: !row
            .case
            .items
            .iter()
            .all(|id| done.iter().any(|done| done == id)),
    })
}

/// Runs the agent of `row` under piton, in a folder of its own.
///
/// # Errors
///
/// When the folder cannot be made, or piton cannot be started.
pub fn judge_piton(
    row: &Row,
    folder: &Path,
    piton: &Path,
    without: Option<Rule>,
) -> Result<Judged> {
    let scene = Scene::create(row, folder, piton)?;
    let status = run_plan(row, &scene, without)?;
    Judged::new(*row, &scene, status)
}

/// What is wrong with the checks of `row`: each is to fail without the work of
/// its item, whatever else is done, and to pass with it. One that passes anyway
/// is to do so for an item of the plan.
///
/// # Errors
///
/// When the folder cannot be made, or no shell can be started.
pub fn check_fault(row: &Row, folder: &Path, piton: &Path) -> Result<Option<String>> {
    let mut passing_without = Vec::new();
    let mut failing_with = Vec::new();
    for item in row.case.items {
        let Some(command) = row.check_command(item) else {
            return Ok(None);
        };
        let scene = Scene::create(row, &folder.join(item), piton)?;
        for other in row.case.items.iter().filter(|other| *other != item) {
            scene.do_work(row.case.work, other)?;
        }
        if scene.check(&command)?.is_success() {
            passing_without.push(*item);
        }
        scene.do_work(row.case.work, item)?;
        if !scene.check(&command)?.is_success() {
            failing_with.push(*item);
        }
    }
    let name = row.name();
    if !failing_with.is_empty() {
        return Ok(Some(format!(
            "{name}: the check fails with the work at {failing_with:?}"
        )));
    }
    Ok(match (row.check, passing_without.as_slice()) {
        (CheckKind::Green, []) => Some(format!("{name}: the check does not pass anyway")),
        (CheckKind::Red, [_, ..]) => Some(format!(
            "{name}: the check passes without the work at {passing_without:?}"
        )),
        (CheckKind::Red | CheckKind::Green | CheckKind::Absent, _) => None,
    })
}
