//! The questions that wait for a person, as everything that shows them does.

use piton_core::request::Until;
use piton_core::request::WorkRequest;
use piton_core::{DecisionChoice, DecisionKind, DecisionRow, ItemRow, Need, RunId, RunRow, Verb};
use piton_formats::plan_file::PlanFile;
use piton_formats::registry::plan_format;
use serde::Serialize;

use crate::failure::Failure;
use crate::git::repositories::work_trees_of_run;
use crate::git::{self, FileChange, short_commit};
use crate::process::shell::quote_word;
use crate::runner::trust_questions::trust_way_on;
use crate::session::{Session, replacing_run};
use crate::verbs::item_view::{CheckView, title_of_item};

/// A question that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct OpenQuestion {
    /// What to type for it.
    pub id: String,
    /// What is to be decided.
    pub kind: DecisionKind,
    /// The run that waits.
    pub run: String,
    /// The node that it is about, unless it is about a file.
    pub node: Option<String>,
    /// What that item is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The native file that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The memory that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The question.
    pub question: String,
    /// More, if there is more.
    pub details: Option<String>,
    /// The check of that item, where it failed: with what it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckView>,
    /// Since when.
    pub since: jiff::Timestamp,
    /// What may be said.
    pub verbs: Vec<Verb>,
    /// What each of them comes to, where that is not plain.
    #[serde(skip)]
    pub ways: Vec<Option<DecisionChoice>>,
    /// What an agent asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<WorkRequest>>,
    /// Until when it is put off; none while it is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Until>,
    /// The work that is to be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewedWork>,
    /// What is to be approved, and how to see it.
    #[serde(flatten)]
    pub look_at: Option<ApprovalSubject>,
}

crate::name_schema!(OpenQuestion, "piton.question/1");

/// What a person is to approve.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalSubject {
    /// The file that came of it, relative to the project, or its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// What to type to see it, where it is not in the work tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub see: Option<String>,
}

/// Work that waits for a review.
#[derive(Clone, Debug, Serialize)]
pub struct ReviewedWork {
    /// What to type to see what it changes.
    pub diff: String,
    /// The files that it changes; none where git does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileChange>>,
}

impl ReviewedWork {
    /// The work of a unit, beside what is on the branch of its run.
    fn of_unit(session: &Session<'_>, run: &RunRow, item: &ItemRow) -> Option<Self> {
        let unit = item.work.unit.as_ref()?;
        let repository = item.repository_of_work();
        let target = run.target_in_repository(repository)?;
        let trees = work_trees_of_run(session.world, &session.project, run).unwrap_or_default();
        let other = match repository {
            Some(name) => Some(trees.get(name)?),
            None => None,
        };
        let queued = unit.merge.as_ref().map(|merge| &merge.work);
        let work = queued.or(unit.work.as_ref())?;
        let main = other.unwrap_or(&session.project.root);
        let is_there = git::tip_of_branch(main, &target.branch).is_some();
        let from = match is_there {
            true => &target.branch,
            false => &target.tip,
        };
        let at = other.map_or_else(String::new, |tree| {
            format!("-C {} ", quote_word(&tree.to_string_lossy()))
        });
        Some(Self {
            diff: format!("git {at}diff {}...{}", quote_word(from), short_commit(work)),
            files: git::file_changes(main, from, work),
        })
    }
}

/// The questions that wait for a person; what is put off is not among them.
pub(crate) fn open_questions(
    session: &Session<'_>,
    runs: &[RunRow],
) -> Result<Vec<DecisionRow>, Failure> {
    let mut open = open_decisions(session, runs)?;
    open.retain(|row| row.deferred.is_none());
    Ok(open)
}

/// All that is not decided. What is asked in a run that a later one of its plan
/// has taken the place of waits for no person, until it is worked on again; what
/// agents asked for beside their work there is still to be decided.
pub(super) fn open_decisions(
    session: &Session<'_>,
    runs: &[RunRow],
) -> Result<Vec<DecisionRow>, Failure> {
    let rows = session.load(&[Need::OpenDecisions(None)])?;
    let is_replaced = |id| {
        let row = runs.iter().find(|row| row.id == id);
        row.is_some_and(|row| replacing_run(runs, row).is_some())
    };
    let open = rows.tables.decisions().filter(|row| row.verdict.is_none());
    let waits = |row: &&DecisionRow| row.kind == DecisionKind::Request || !is_replaced(row.run);
    Ok(open.filter(waits).cloned().collect())
}

/// The open questions of a project, the oldest first.
pub(super) fn questions_of_project(session: &Session<'_>) -> Result<Vec<OpenQuestion>, Failure> {
    let runs = session.runs()?;
    let rows = session.load(&[Need::OpenDecisions(None)])?;
    let open = rows.tables.decisions().filter(|row| row.verdict.is_none());
    let open: Vec<DecisionRow> = open.cloned().collect();
    views_of_decisions(session, &runs, &open)
}

pub(super) fn views_of_decisions(
    session: &Session<'_>,
    runs: &[RunRow],
    open: &[DecisionRow],
) -> Result<Vec<OpenQuestion>, Failure> {
    let about = open.iter();
    let about = about.filter_map(|row| Some(Need::Line(row.run, row.node.clone()?)));
    let needs: Vec<Need> = about.collect();
    let items = session.load(&needs)?.tables;
    let open = open.iter().map(|row| {
        let run = runs.iter().find(|run| run.id == row.run);
        let name = run.map_or_else(String::new, |run| run.name.clone());
        let node = row.node.as_ref();
        let item = node.and_then(|node| items.item(row.run, node));
        let is = |kinds: &[DecisionKind]| run.zip(item).filter(|_| kinds.contains(&row.kind));
        let work = is(&[DecisionKind::Review, DecisionKind::AgentReview]);
        let to_approve = is(&[DecisionKind::Approval]);
        let in_place =
            is(&[DecisionKind::AgentReview]).filter(|(run, _)| run.branches.target.is_none());
        OpenQuestion {
            review: work.and_then(|(run, item)| ReviewedWork::of_unit(session, run, item)),
            look_at: to_approve
                .and_then(|(run, item)| approval_subject(session, run, item))
                .or_else(|| in_place.map(|(_, item)| work_tree_subject(item))),
            ..OpenQuestion::of_decision(row, name, item)
        }
    });
    Ok(open.collect())
}

/// A decision as `piton inbox` shows it.
pub(crate) fn view_of_decision(
    session: &Session<'_>,
    runs: &[RunRow],
    row: &DecisionRow,
) -> Result<OpenQuestion, Failure> {
    let views = views_of_decisions(session, runs, std::slice::from_ref(row))?;
    Ok(views.into_iter().next().expect("one for each decision"))
}

impl OpenQuestion {
    /// What to type to say that.
    #[must_use]
    pub fn decide_command(&self, verb: Verb) -> String {
        let is_with_words =
            verb == Verb::Answer || (verb == Verb::Reject && self.request.is_none());
        let words = if is_with_words { " --why '...'" } else { "" };
        format!("piton decide {} {verb}{words}", self.id)
    }

    pub(super) fn of_decision(row: &DecisionRow, run: String, item: Option<&ItemRow>) -> Self {
        let waits = item.filter(|_| row.kind.is_blocking_run());
        let check = waits.and_then(CheckView::of_item);
        let mut verbs = row.allowed_verbs();
        // An answer in words trusts nothing.
        verbs.retain(|verb| *verb != Verb::Answer || trust_way_on(row).is_none());
        Self {
            title: item.and_then(title_of_item),
            check: check.filter(|check| check.passed == Some(false)),
            ways: verbs.iter().map(|verb| row.choice_of_verb(*verb)).collect(),
            id: format!("d{}", row.number),
            kind: row.kind,
            run,
            node: row.node.as_ref().map(|node| node.as_str().to_owned()),
            file: row.file.clone(),
            memory: row.memory.clone(),
            question: row.question.clone(),
            details: row.details.clone(),
            since: row.opened_at,
            verbs,
            request: row.request.clone(),
            deferred: row.deferred.as_ref().map(|deferred| deferred.until),
            review: None,
            look_at: None,
        }
    }
}

/// Whether a name of a file is one that is not looked for in the project.
pub(super) fn is_address(text: &str) -> bool {
    text.contains("://") || text.starts_with('/')
}

/// How to see work on an item that its reviewer did not approve.
fn work_tree_subject(item: &ItemRow) -> ApprovalSubject {
    let see = match item.work.commits.first() {
        Some(first) => format!("git diff {}^", short_commit(first)),
        None => "git status -vv".to_owned(),
    };
    ApprovalSubject {
        artifact: None,
        see: Some(see),
    }
}

/// What is to be approved of an item: the file that comes of it, else its commit.
pub(super) fn approval_subject(
    session: &Session<'_>,
    run: &RunRow,
    item: &ItemRow,
) -> Option<ApprovalSubject> {
    let phases = plan_format(&run.plan.face).and_then(|format| format.phases);
    let artifact = phases.and_then(|phases| (phases.artifact)(run, item));
    let artifact = artifact.map(|artifact| match PlanFile::folder_of_run(run) {
        "" => artifact,
        _ if is_address(&artifact) => artifact,
        folder => format!("{folder}/{artifact}"),
    });
    let path = artifact.as_deref().filter(|path| !is_address(path));
    let in_lanes = run.branches.lanes.is_some();
    let commit = item
        .work
        .commits
        .last()
        .filter(|_| in_lanes || path.is_none());
    let see = commit.map(|commit| {
        // Paths of the project are seen from its folder, those of git from the root.
        let from_root = path.map(|path| session.project.absolute_path(path));
        let tree = &session.project.work_tree;
        let from_root = from_root
            .as_deref()
            .and_then(|path| path.strip_prefix(tree).ok());
        match from_root {
            Some(path) => format!(
                "git show {}",
                quote_word(&format!("{}:{}", short_commit(commit), path.display()))
            ),
            None => format!("git show {}", short_commit(commit)),
        }
    });
    (artifact.is_some() || see.is_some()).then_some(ApprovalSubject { artifact, see })
}

/// The open questions about the file of a run and about those of the project, each
/// with its file: what may be an agent's edit of the plan is about that of the plan.
pub(crate) fn open_file_questions(
    session: &Session<'_>,
    run: &RunRow,
) -> Result<Vec<DecisionRow>, Failure> {
    let needs = [run.id, RunId::PROJECT].map(|run| Need::OpenDecisions(Some(run)));
    let rows = session.load(&needs)?;
    let plan = PlanFile::path_of_run(run);
    let open = rows.tables.decisions().filter(|row| row.verdict.is_none());
    let about_files = open.filter_map(|row| {
        let of_plan = plan
            .as_ref()
            .filter(|_| row.kind == DecisionKind::AgentEdit);
        let file = row.file.as_ref().or(of_plan)?.clone();
        let file = Some(file);
        Some(DecisionRow {
            file,
            ..row.clone()
        })
    });
    Ok(about_files.collect())
}
