//! What a prompt is made of.

use std::borrow::Cow;

use piton_core::earlier_work::FailedTry;
use piton_core::observation::Observation;
use piton_core::prepare::PreparedContext;
use piton_core::{ItemRow, Node};
use piton_formats::plan_file::PlanFileNotes;

/// One level of the place at which an agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// The id.
    pub id: String,
    /// The prompt of that level, if it has one.
    pub prompt: String,
    /// Which of its siblings, from 1.
    pub index: u32,
    /// How many siblings there are, itself included.
    pub total: u32,
}

/// An item that was done before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoneItem {
    /// Its node.
    pub node: String,
    /// What was done.
    pub summary: Option<String>,
    /// How many files its last attempt changed, where that was looked up.
    pub files: Option<usize>,
    /// The last commit that its last attempt made.
    pub commit: Option<String>,
}

/// What happened before an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptHistory {
    /// The failures of the item, oldest first.
    pub tries: Vec<FailedTry>,
    /// The number of the last attempt, where that was ended from outside.
    pub interrupted: Option<u32>,
    /// What the last attempt asked a person, and its number.
    pub question: Option<(u32, String)>,
    /// What was done at other items, the latest at the end.
    pub done: Vec<DoneItem>,
    /// What was noticed, by which node, the latest at the end.
    pub noticed: Vec<(String, Observation)>,
    /// How many files of the work tree have changes that are not committed, where
    /// an earlier attempt may have left them.
    pub files_left: Option<usize>,
}

/// A check that runs when more than the item is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaterCheck {
    /// The node that has it.
    pub node: Node,
    /// Its script.
    pub script: String,
}

/// Who commits what an agent changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitBy {
    /// No commit is made: the work tree is none of git.
    #[default]
    NoCommit,
    /// The agent.
    Agent,
    /// piton, when the task is done.
    Piton,
}

/// How an agent can say what came of its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportBy {
    /// In what it prints.
    #[default]
    Words,
    /// By the tool `record` of piton, or in what it prints.
    Tool,
}

/// The worktree in which an agent works, where its run has one of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnWorktree {
    /// Its folder.
    pub path: String,
    /// The branch that is checked out there; none in a lane, whose work is merged
    /// afterwards.
    pub branch: Option<String>,
    /// The folder of the project, which is another work tree.
    pub main: String,
    /// What the item waited for and the folder lacks, since both conflict, and the
    /// branch that has it.
    pub lacks: Option<(Vec<String>, String)>,
    /// Where the run is worked on in several repositories; none elsewhere.
    pub repositories: Option<PromptRepositories>,
}

/// The repositories of a run, as an agent is told of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptRepositories {
    /// What the plan calls that in which the agent works.
    pub own: Option<String>,
    /// The others: their names, a work tree of each, and the branch with what is done
    /// there.
    pub others: Vec<(String, String, String)>,
}

/// Everything that a prompt is made of.
#[derive(Clone, Debug)]
pub struct PromptInput<'a> {
    /// The sprint's id.
    pub sprint_id: &'a str,
    /// Which agent of this run it is, from 1.
    pub iteration: u32,
    /// Phase, step and sub-phase, as far as there are any.
    pub levels: Vec<Level>,
    /// The item.
    pub item: &'a ItemRow,
    /// Files that every agent of the sprint is shown: name and text.
    pub context: Vec<(String, String)>,
    /// What the memory has that matters here: see [`crate::memory::preparation`].
    pub known: Option<PreparedContext>,
    /// What happened before.
    pub past: PromptHistory,
    /// What the file of the plan says beside its items.
    pub about: PlanFileNotes,
    /// The check that follows where the item has none of its own.
    pub later_check: Option<LaterCheck>,
    /// Where the agent works, where that is not the work tree of the project.
    pub worktree: Option<OwnWorktree>,
    /// Who commits.
    pub commit_by: CommitBy,
    /// How the agent can report.
    pub report_by: ReportBy,
    /// The pieces that the item was split into, each with what came of it.
    pub pieces: Vec<String>,
    /// Whether the agent goes on in a conversation that was interrupted.
    pub goes_on: bool,
    /// The item whose attempt marked this one as done.
    pub claimed_at: Option<Node>,
    /// How an agent of this role goes about its work.
    pub brief: Option<Cow<'a, str>>,
    /// What a reviewer has to know.
    pub review: Option<ReviewInput>,
}

/// What a reviewer has to know of what it reviews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewInput {
    /// The commit at which the work begins; none where git does not know.
    pub base: Option<String>,
    /// The form in which the verdict is asked for.
    pub form: &'static str,
}

impl<'a> PromptInput<'a> {
    /// Those of a first attempt at an item of which nothing else is known.
    #[must_use]
    pub fn of_first_attempt(sprint_id: &'a str, item: &'a ItemRow) -> Self {
        Self {
            sprint_id,
            iteration: 1,
            levels: Vec::new(),
            item,
            context: Vec::new(),
            known: None,
            past: PromptHistory::default(),
            about: PlanFileNotes::default(),
            later_check: None,
            worktree: None,
            commit_by: CommitBy::default(),
            report_by: ReportBy::default(),
            pieces: Vec::new(),
            goes_on: false,
            claimed_at: None,
            brief: None,
            review: None,
        }
    }
}
