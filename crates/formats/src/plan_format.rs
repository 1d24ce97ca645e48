//! A format of plans as one value: everything that is asked of it.

use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use piton_core::native::Native;
use piton_core::plan::{ItemTags, Plan, PlannedItem};
use piton_core::review::AgentReview;
use piton_core::terminal::escape_controls;
use piton_core::{Edit, ItemRow, Node, RunId, RunRow, Tables};
use serde::{Serialize, Serializer};

use crate::format::Format;
use crate::native_file::RenderError;
use crate::plan_convert::Outline;
use crate::plan_file::{PlanChanges, PlanFileNotes, ShownRun};
use crate::plan_identity::PlanIdentity;
use crate::problem::{Problem, SourceText};
use crate::tree::Span;

/// What kind of plan a run works through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// A sprint: phases, steps, sub-phases.
    Sprint,
    /// A list of requirements or features.
    List,
    /// A task file with criteria.
    Task,
    /// A graph of issues.
    Issues,
}

/// What the items of a plan are called that an agent works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemUnit {
    /// The word for one of them.
    pub one: &'static str,
    /// The word for several.
    pub many: &'static str,
}

impl ItemUnit {
    /// Where no format has a word of its own.
    pub const NODES: Self = Self {
        one: "node",
        many: "nodes",
    };

    /// The word for so many.
    #[must_use]
    pub fn noun(self, count: usize) -> &'static str {
        if count == 1 { self.one } else { self.many }
    }
}

impl Default for ItemUnit {
    fn default() -> Self {
        Self::NODES
    }
}

impl Serialize for ItemUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.many)
    }
}

/// Where the file of a run lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanPlace {
    /// The source of the run is a folder, with a file of this name in it.
    Folder(&'static str),
    /// The source of the run is the file.
    File,
    /// In the journal alone: no file shows the run.
    Journal,
}

/// A text that may be a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'a> {
    /// The file and its text.
    pub source: SourceText<'a>,
    /// The ending of its name, without the dot.
    pub ending: &'a str,
}

impl PlanText<'_> {
    /// Whether it can only be a JSON document: by its name, or as it begins.
    #[must_use]
    pub fn is_json(&self) -> bool {
        let bare = self.source.text.trim_start_matches('\u{feff}').trim_start();
        self.has_ending(&["json"]) || bare.starts_with(['{', '['])
    }

    /// Whether its name has one of these endings.
    #[must_use]
    pub fn has_ending(&self, endings: &[&str]) -> bool {
        let mut endings = endings.iter();
        endings.any(|known| known.eq_ignore_ascii_case(self.ending))
    }
}

/// What a format says of a text that may be a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanClaim {
    /// It is one of this format.
    Plan,
    /// It is none of this format.
    NotOurs,
    /// It is nearly one, and no other format knows better.
    Refused(PlanRefusal),
    /// It is none, which is to be said unless another format knows better.
    Unknown(PlanRefusal),
}

/// Why a text cannot be worked through as a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRefusal {
    /// The code of the failure: `plan.foreign`.
    pub code: &'static str,
    /// What the file is, to stand behind its name: `is empty`.
    pub what: String,
    /// What to do about it.
    pub hint: &'static str,
    /// What is wrong, where that is known by line.
    pub problems: Option<Vec<Problem>>,
}

impl PlanRefusal {
    /// One that is told in a sentence.
    #[must_use]
    pub fn new(code: &'static str, what: impl Into<String>, hint: &'static str) -> Self {
        Self {
            code,
            what: what.into(),
            hint,
            problems: None,
        }
    }

    /// A document that is not in the language it is to be in, `JSON`.
    #[must_use]
    pub fn unreadable(language: &str, problems: Vec<Problem>) -> Self {
        Self {
            problems: Some(problems),
            ..Self::new(
                "plan.unreadable",
                format!("is not readable {language}; nothing was changed"),
                "mend the file, then run again",
            )
        }
    }

    /// Another tool's document, which is `what`.
    #[must_use]
    pub fn foreign(what: &str) -> Self {
        Self::new(
            "plan.foreign",
            format!("is {what}; it was left alone"),
            "name the list or the task file that you mean",
        )
    }
}

/// What a plan is called.
#[derive(Clone, Copy, Debug)]
pub enum PlanName<'a> {
    /// So.
    Given(&'a str),
    /// As its file says, and so where it says nothing.
    Own(&'a str),
}

impl PlanName<'_> {
    /// The name, where the file has this one.
    #[must_use]
    pub fn resolve(self, own: Option<&str>) -> String {
        match self {
            Self::Given(name) => name.to_owned(),
            Self::Own(otherwise) => own.unwrap_or(otherwise).to_owned(),
        }
    }
}

/// The run that a plan is read for.
#[derive(Clone, Copy, Debug)]
pub struct PlanContext<'a> {
    /// Its id.
    pub run: RunId,
    /// Its name.
    pub name: PlanName<'a>,
    /// The path of the plan, as the journal keeps it.
    pub source: &'a str,
    /// What only its format has, where there is such a run already.
    pub native: Option<&'a Native>,
    /// What lies beside the file.
    pub beside: FilesBeside<'a>,
}

impl PlanContext<'static> {
    /// Of a text by itself, without a run.
    #[must_use]
    pub fn of_text() -> Self {
        Self {
            run: RunId::PROJECT,
            name: PlanName::Given(""),
            source: "",
            native: None,
            beside: FilesBeside(&|_| None),
        }
    }
}

/// The texts of the files around a plan, by their paths from its folder. `*` is any one
/// folder: the first of those that have such a file.
#[derive(Clone, Copy)]
pub struct FilesBeside<'a>(pub &'a dyn Fn(&str) -> Option<String>);

impl FilesBeside<'_> {
    /// The text of a file; none where there is no such file, or it cannot be read.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<String> {
        (self.0)(path)
    }
}

/// The folder of a plan, and how a file is read that lies around it: see [`FilesBeside`].
#[derive(Clone, Debug)]
pub struct PlanFolder {
    /// Where it is.
    pub path: PathBuf,
    /// The text of a file, by its path from the folder.
    pub read: fn(&Path, &str) -> Option<String>,
}

impl fmt::Debug for FilesBeside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FilesBeside")
    }
}

/// The plan in a text, and what is wrong there; no plan where it cannot be read.
pub type ParsePlan = fn(SourceText<'_>, PlanContext<'_>) -> (Option<Plan>, Vec<Problem>);

/// The file of one run: what it shows, and what a person or another program changed in it.
pub trait PlanDocument: fmt::Debug {
    /// Says where the file lies: what stands beside it counts for what is new in it.
    fn set_beside(&mut self, _: PlanFolder) {}

    /// The text that shows the run as of `tables`, made from the present one;
    /// none when it cannot be made.
    ///
    /// # Errors
    ///
    /// When the present text cannot be made to say it.
    fn render(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        now: Timestamp,
    ) -> Result<Option<String>, RenderError>;

    /// What changed in the file since piton wrote `base`.
    ///
    /// # Errors
    ///
    /// What keeps the file from being read.
    fn collect_edits(
        &mut self,
        base: Option<&str>,
        theirs: &str,
        shown: ShownRun<'_>,
        now: Timestamp,
    ) -> Result<PlanChanges, Vec<Problem>>;
}

/// The templates of prompts, by their names in the `prompts` of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptTemplates {
    /// Before everything else.
    pub header: Option<String>,
    /// Where the agent stands in the plan.
    pub position: Option<String>,
    /// What failed before; only after a failure.
    pub retry_warning: Option<String>,
    /// Further rules of the plan's author.
    pub instructions: Option<String>,
    /// How to say what came of it.
    pub result_reporting: Option<String>,
    /// The same for an agent that has the tools of piton, where the format has
    /// words for it. No author replaces it.
    pub reporting_by_tool: Option<String>,
    /// Which files to leave alone, where that depends on the file of the plan.
    /// No author replaces it.
    pub files: Option<String>,
}

/// Who works on an item, as its format has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRole {
    /// What the role is called.
    pub name: &'static str,
    /// The model where neither the plan nor the caller names one.
    pub model: Option<&'static str>,
    /// The file that comes of it where the plan names no other, relative to the
    /// folder of the plan.
    pub artifact: Option<&'static str>,
    /// How an agent with this role proceeds, beside the item's own words; none where
    /// those say it.
    pub brief: Option<&'static str>,
}

/// What lies around a run.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// The run and all its items.
    pub tables: &'a Tables,
    /// The run.
    pub run: RunId,
    /// The text of a file, by its path from the folder of the plan.
    pub beside: &'a dyn Fn(&str) -> Option<String>,
    /// Whether there is a file, by its path from the root of a work tree: of the
    /// repository of this name, else of that of the project.
    pub in_tree: &'a dyn Fn(Option<&str>, &str) -> bool,
    /// What the folder of the work tree is called.
    pub tree_name: &'a str,
}

/// What comes of an item that piton works on itself.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnWork {
    /// What it changes in the plan.
    pub edits: Vec<Edit>,
    /// What was done, in a line.
    pub summary: String,
}

/// A repository in which a run is to be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRepo {
    /// What the files call it.
    pub name: String,
    /// Where it is, relative to the folder of the plan; none where no file says so.
    pub path: Option<String>,
    /// Whether something is, or may come, to be done there.
    pub is_needed: bool,
}

/// The repositories in which a run is to be worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRepos {
    /// All that its files name, by their names.
    pub repos: Vec<RunRepo>,
    /// Whether there is a file that says where they are.
    pub has_manifest: bool,
    /// Why that file says nothing certain, with where it stands.
    pub faults: Vec<Problem>,
}

/// What a new run is to be about.
#[derive(Clone, Copy)]
pub struct NewRunRequest<'a> {
    /// Where the requirements are: an address, or a path from the folder of its file.
    pub requirements: &'a str,
    /// What they are about, in a few words; none where only the repository says so.
    pub topic: Option<&'a str>,
    /// Whether there is a run of this name.
    pub is_taken: &'a dyn Fn(&str) -> bool,
}

/// The file of a run that is not begun yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// What the run is called.
    pub name: String,
    /// The text of its file.
    pub text: String,
    /// The repositories that it is for, as files call them.
    pub repos: Vec<String>,
}

/// The file of a new run, and what is wrong with the manifest that it is made of; no
/// file where that has errors.
pub type BeginRun =
    fn(SourceText<'_>, &NewRunRequest<'_>, Timestamp) -> (Option<NewRun>, Vec<Problem>);

/// Phases of a run, each with a role, of which piton does some itself.
#[derive(Clone, Copy)]
pub struct Phases {
    /// Who works on an item.
    pub role: fn(&ItemRow) -> Option<ItemRole>,
    /// What its roles are called, in the order in which they work.
    pub role_names: fn() -> Vec<&'static str>,
    /// A text that a project has for a role, with what the file of the run says in the
    /// place of its holes.
    pub fill_prompt: fn(&RunRow, &str) -> String,
    /// What comes of an item that no agent works on, or why nothing can, in a line with
    /// the details below it; none of one that an agent works on.
    pub own_work: fn(&ItemRow, &RunContext<'_>) -> Option<Result<OwnWork, String>>,
    /// Why what was made of an item cannot be worked with.
    pub check_artifact: fn(&ItemRow, &RunContext<'_>) -> Result<(), String>,
    /// Where that lies: a path relative to the folder of the plan, or an address.
    pub artifact: fn(&RunRow, &ItemRow) -> Option<String>,
    /// The phases that came to something, or to nothing, by what came of an item, the
    /// last one first: who wants that again wants these again.
    pub made_of: fn(&Tables, &ItemRow) -> Vec<Node>,
    /// The phases that are over in a version of the file, which has no items for them.
    pub over_in: fn(&str) -> Vec<Node>,
    /// The file that names the repositories of a run, beside its own.
    pub manifest: &'static str,
    /// What the plan calls the repository of an item.
    pub repository_of: fn(&ItemRow) -> Option<String>,
    /// The repositories, by the text of the run's own file and of that one.
    pub repositories: fn(&str, Option<&str>) -> RunRepos,
    /// The file of a new run, made of a manifest.
    pub begin: BeginRun,
    /// Where a manifest says that the requirements are.
    pub requirements_of: fn(SourceText<'_>) -> Option<String>,
    /// The verdict in what a reviewer printed, or why there is none.
    pub read_review: fn(&str) -> Result<AgentReview, String>,
    /// The form that a reviewer is asked for.
    pub review_form: &'static str,
}

/// What the file says of an item that is an issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssueSummary {
    /// Where it stands, in the word of the file.
    pub state: Option<&'static str>,
    /// What it is about.
    pub title: Option<String>,
    /// The repository that it belongs to.
    pub repo: Option<String>,
    /// Its pull request.
    pub pr: Option<String>,
    /// The issues that it waits for in the end, as the file names them.
    pub blocked_by: Vec<String>,
}

/// What a person, or an agent outside of piton, says of an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueMove {
    /// A person or an outside agent works on it now; once more, after a review wanted changes.
    Start,
    /// What was made of it is looked at.
    Review {
        /// The pull request, as `org/repo#7`.
        pr: Option<String>,
    },
    /// It is done.
    Done,
    /// The person or agent that worked on it gave it up.
    Fail,
    /// It waits for another issue.
    Block {
        /// That issue.
        on: String,
    },
    /// It waits for another issue no longer, whatever became of that.
    Unblock {
        /// That issue; the only one that it waits for when absent.
        on: Option<String>,
    },
}

impl IssueMove {
    /// What to type for it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Review { .. } => "review",
            Self::Done => "done",
            Self::Fail => "fail",
            Self::Block { .. } => "block",
            Self::Unblock { .. } => "unblock",
        }
    }
}

/// An issue that is to be added to a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewIssue {
    /// Its id.
    pub id: String,
    /// What it is about, in one line.
    pub title: String,
    /// All else that the person or agent that works on it has to know.
    pub description: Option<String>,
    /// Its repository; the only one when absent.
    pub repo: Option<String>,
    /// The issues that it waits for.
    pub blocked_by: Vec<String>,
}

/// Why something cannot be said of an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueRefusal {
    /// The code of the failure: `item.state`.
    pub code: &'static str,
    /// Why.
    pub what: String,
    /// What to type next.
    pub hint: String,
}

/// The edits that bring about what is said of an issue, or why nothing can.
pub type MoveIssue = fn(&Tables, &ItemRow, &IssueMove) -> Result<Vec<Edit>, IssueRefusal>;

/// The edits that add an issue to a run, given the text of its manifest, or why
/// nothing can.
pub type AddIssue = fn(&Tables, RunId, Option<&str>, &NewIssue) -> Result<Vec<Edit>, IssueRefusal>;

/// Items that are issues.
#[derive(Clone, Copy)]
pub struct IssueFormat {
    /// The states of an issue in the words of the file.
    pub states: &'static [&'static str],
    /// What the file says of an item; none for one that is no issue.
    pub words: fn(&Tables, &ItemRow) -> Option<IssueSummary>,
    /// The edits that follow from an [`IssueMove`].
    pub moves: MoveIssue,
    /// How one is added.
    pub add: AddIssue,
}

/// An item that is to be added to a plan by command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewItem {
    /// Its id, which no other item of the plan has.
    pub id: String,
    /// What it is about, in one line.
    pub title: String,
    /// All else that its agent has to know.
    pub prompt: Option<String>,
    /// The shell command that must succeed.
    pub check: Option<String>,
    /// The items that it waits for.
    pub after: Vec<Node>,
    /// What it is sorted by.
    pub tags: ItemTags,
}

impl NewItem {
    /// What its agent is told: the title, then the rest.
    #[must_use]
    pub fn words(&self) -> String {
        join_title(&self.title, self.prompt.as_deref())
    }
}

/// What an agent is told: the title, then the rest.
pub(crate) fn join_title(title: &str, rest: Option<&str>) -> String {
    match rest {
        Some(rest) => format!("{title}\n\n{rest}"),
        None => title.to_owned(),
    }
}

/// The title and the rest in what an agent is told.
pub(crate) fn split_title(words: &str) -> (&str, Option<&str>) {
    match words.split_once("\n\n") {
        Some((title, rest)) => (title, Some(rest)),
        None => (words, None),
    }
}

/// What is to be different of an item that is edited by command. What is not named stays
/// as it is; what is named with nothing goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemPatch {
    /// What it is about, in one line.
    pub title: Option<String>,
    /// All else that its agent has to know.
    pub prompt: Option<Option<String>>,
    /// The shell command that must succeed.
    pub check: Option<Option<String>>,
    /// Which comes first.
    pub priority: Option<Option<u32>>,
    /// All of its labels.
    pub labels: Option<Vec<String>>,
    /// The items that it waits for.
    pub depends_on: Option<Vec<Node>>,
}

/// The edits that change an item of a run that no file shows.
pub type EditInJournal = fn(&Tables, &ItemRow, &ItemPatch) -> Vec<Edit>;

/// The text of a file with an item changed, and no other change; why it cannot be.
pub type EditInFile = fn(&str, &ItemRow, &ItemPatch) -> Result<String, String>;

/// How an item of a plan is edited by command.
#[derive(Clone, Copy)]
pub enum ItemEditing {
    /// In the journal alone.
    Journal(EditInJournal),
    /// In the file: the edits are those that a person would make there.
    File(EditInFile),
}

/// The item as it is planned, given the text of the file; why it cannot be added.
pub type PlanNewItem = fn(Option<&str>, &NewItem) -> Result<PlannedItem, String>;

/// The text of a file with one more item; why it cannot be added.
pub type WriteNewItem = fn(&str, &NewItem) -> Result<String, String>;

/// How items of a plan are added and edited by command.
#[derive(Clone, Copy)]
pub struct ItemCommands {
    /// To a run: its file shows the item from then on.
    pub plan: PlanNewItem,
    /// To a file that is no run yet; none of a plan that no file shows.
    pub write: Option<WriteNewItem>,
    /// How one is edited.
    pub edit: ItemEditing,
}

/// When the worktree of a run is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeCleanup {
    /// When a person asks for it.
    Never,
    /// When the run is done.
    OnComplete,
    /// When its branch is merged into the one that it began on.
    OnMerge,
}

/// A worktree of git in which a plan wants to be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeSettings {
    /// The branch that is checked out there.
    pub branch: String,
    /// The folder, relative to that of the project.
    pub path: String,
    /// When it is removed.
    pub cleanup: WorktreeCleanup,
}

/// How a plan is turned into another format, and made of one.
#[derive(Clone, Copy)]
pub struct Conversion {
    /// What the format is called there.
    pub name: &'static str,
    /// The text of a plan.
    pub write: fn(&Outline, Timestamp) -> String,
    /// Adds what a text says in words that other formats have, too.
    pub words: fn(&str, &mut Outline),
    /// The keys under which stands what is compared in the plan itself, or what
    /// follows from the rest.
    pub judged: &'static [&'static str],
}

/// How the plans of a format are found, and told from others.
#[derive(Clone, Copy)]
pub struct PlanFinding {
    /// Where the file of a run lies.
    pub place: PlanPlace,
    /// What such a plan is for people, as an example; none where messages do not
    /// name one.
    pub example: Option<&'static str>,
    /// Where plans in one file are looked for when none is named, seen from a
    /// folder: `*` is any one folder.
    pub candidates: &'static [&'static str],
    /// The same of files that are looked for where they are plans of the format: others
    /// have files of that name as well.
    pub shared_names: &'static [&'static str],
    /// What it says of a text that may be a plan.
    pub claim: fn(&PlanText<'_>) -> PlanClaim,
    /// What the plan in a text is known by; none where no other plan takes the
    /// place of a file of this format.
    pub identity: fn(SourceText<'_>) -> Option<PlanIdentity>,
    /// When a text says that it was written last: shown at that time again, it is the
    /// same text. None where the format says no such time.
    pub time_of_text: fn(&str) -> Option<Timestamp>,
    /// What is said of a plan without items.
    pub without_items: (&'static str, &'static str),
}

/// What the runs and items of a format are called, and what prompts say of them.
#[derive(Clone, Copy)]
pub struct PlanWords {
    /// What prompts, checks and commits call a run.
    pub title: fn(&RunRow) -> String,
    /// The templates of prompts, given what only the format has and the source.
    pub templates: fn(Option<&Native>, &str) -> PromptTemplates,
    /// What an item is called, given what only the format has.
    pub title_of_native: fn(&Native) -> Option<String>,
    /// The words of an item that says in one line what is to be true.
    pub words_of_native: fn(&Native) -> Option<String>,
    /// Where in the work tree a picture of the outcome of an item is to be, without
    /// its ending; none where the plan asks for none.
    pub screenshot_of_native: fn(&Native) -> Option<String>,
    /// What must be true, as a prompt of this format says it.
    pub criteria_in_prompt: fn(&str) -> Vec<String>,
}

/// A format of plans.
pub struct PlanFormat {
    /// What rows and events call it: their `face`.
    pub name: &'static str,
    /// What kind of plan it is: which settings hold.
    pub kind: PlanKind,
    /// What its items are called.
    pub unit: ItemUnit,
    /// Its documents.
    pub formats: &'static [Format],
    /// How a text is found, and told from others.
    pub finding: PlanFinding,
    /// What its runs and items are called, and what prompts say of them.
    pub words: PlanWords,
    /// Reads a plan.
    pub read: ParsePlan,
    /// The file of a run.
    pub document: fn(&Tables, RunId) -> Box<dyn PlanDocument>,
    /// What a file says of its whole and of an item, beyond what was planned.
    pub about: fn(SourceText<'_>, &ItemRow) -> PlanFileNotes,
    /// The worktree in which it wants to be worked on, given what only the format
    /// has.
    pub worktree: fn(Option<&Native>) -> Option<WorktreeSettings>,
    /// The phases of its runs, where they have roles of their own.
    pub phases: Option<Phases>,
    /// Which files of the project belong to a run, by their format.
    pub companions: &'static [&'static str],
    /// How it is converted.
    pub conversions: &'static [Conversion],
    /// The lines, from 1, at which the items begin in a text that is no document,
    /// in the order of the plan.
    pub lines_of_items: fn(&str) -> Vec<usize>,
    /// Its items as issues, where they are.
    pub issues: Option<IssueFormat>,
    /// How items are added and edited by command, which the file then shows; none where
    /// the format has no way to.
    pub item_commands: Option<ItemCommands>,
    /// Whether the check of an item is made of several places of the file, so
    /// that what was refused stays there.
    pub keeps_what_was_refused: bool,
    /// A list beside the file of a run to which piton adds; none where there is none.
    pub list_beside: Option<CompanionList>,
    /// The script that closes an item where it is kept, where its file is an export that
    /// piton does not write: `PITON_ISSUE` names the item.
    pub close_script: Option<CloseScript>,
    /// Whether the file of a run, or that beside it, shows the attempts that are over.
    pub shows_attempts: bool,
}

/// How an item is closed where it is kept.
#[derive(Clone, Copy, Debug)]
pub struct CloseScript {
    /// The program that it needs.
    pub program: &'static str,
    /// A line for `sh -c`.
    pub script: &'static str,
    /// What a person types for it, before the ids.
    pub typed: &'static str,
}

/// Adds to the text of a list, if there is one, what it lacks of a run.
pub type AddToList = fn(Option<&str>, &Tables, RunId) -> Result<Option<String>, String>;

/// A file beside that of a run, a list of people to which piton adds what it lacks.
#[derive(Clone, Copy, Debug)]
pub struct CompanionList {
    /// Its name.
    pub name: &'static str,
    /// How many elements it has from a run.
    pub count: fn(&Tables, RunId) -> usize,
    /// The text with what it lacks, or none where it lacks nothing; why what is
    /// there is no such list.
    pub with_new: AddToList,
}

/// A plan in one file, of which nothing else is known.
pub(crate) const IN_ONE_FILE: PlanFormat = PlanFormat {
    name: "",
    kind: PlanKind::List,
    unit: ItemUnit::NODES,
    formats: &[],
    read: |_, _| (None, Vec::new()),
    document: |_, run| {
        Box::new(StatelessPlanDocument {
            run,
            show: |present, _, _, _| Ok(present.map(str::to_owned)),
            edits: |_, _, _| Ok(PlanChanges::default()),
        })
    },
    about: |_, _| PlanFileNotes::default(),
    worktree: |_| None,
    phases: None,
    companions: &[],
    conversions: &[],
    lines_of_items: |_| Vec::new(),
    issues: None,
    item_commands: None,
    keeps_what_was_refused: false,
    list_beside: None,
    close_script: None,
    shows_attempts: false,
    finding: PlanFinding {
        place: PlanPlace::File,
        example: None,
        candidates: &[],
        shared_names: &[],
        claim: |_| PlanClaim::NotOurs,
        identity: |_| None,
        without_items: ("", ""),
        time_of_text: |_| None,
    },
    words: PlanWords {
        templates: |_, _| PromptTemplates::default(),
        title: |row| row.name.clone(),
        title_of_native: |_| None,
        words_of_native: |_| None,
        screenshot_of_native: |_| None,
        criteria_in_prompt: |_| Vec::new(),
    },
};

/// The file of a run by functions that keep nothing between two calls.
#[derive(Debug)]
pub(crate) struct StatelessPlanDocument {
    /// The run.
    pub(crate) run: RunId,
    /// Shows it.
    pub(crate) show: RenderPlan,
    /// Tells what was changed.
    pub(crate) edits: CollectPlanEdits,
}

/// The text that shows a run, made from the present one.
type RenderPlan =
    fn(Option<&str>, &Tables, RunId, Timestamp) -> Result<Option<String>, RenderError>;

/// What changed in the file of a run since a version.
type CollectPlanEdits = fn(Option<&str>, &str, ShownRun<'_>) -> Result<PlanChanges, Vec<Problem>>;

impl PlanDocument for StatelessPlanDocument {
    fn render(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        now: Timestamp,
    ) -> Result<Option<String>, RenderError> {
        (self.show)(present, tables, self.run, now)
    }

    fn collect_edits(
        &mut self,
        base: Option<&str>,
        theirs: &str,
        shown: ShownRun<'_>,
        _: Timestamp,
    ) -> Result<PlanChanges, Vec<Problem>> {
        (self.edits)(base, theirs, shown)
    }
}

impl fmt::Debug for PlanFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PlanFormat").field(&self.name).finish()
    }
}

/// A plan, unless something keeps its file from being understood.
pub(crate) fn reject_broken_plan(
    file: &str,
    plan: Option<Plan>,
    mut problems: Vec<Problem>,
) -> (Option<Plan>, Vec<Problem>) {
    let plan = plan.filter(|_| !problems.iter().any(Problem::is_error));
    if !problems.iter().any(|of| of.code == CONTROL_IN_ID) {
        let nodes = plan.iter().flat_map(|plan| &plan.items);
        let nodes = nodes.map(|item| item.node.as_str());
        problems.extend(
            nodes
                .filter(|node| node.contains(char::is_control))
                .map(|node| {
                    let problem = Problem::warning(CONTROL_IN_ID, file, "", Span::TOP);
                    let (message, hint) = explain_control_in_id(node);
                    problem.with_message(message, hint)
                }),
        );
    }
    (plan, problems)
}

/// The problem of an id that cannot be typed, and looks like another in a terminal.
pub(crate) const CONTROL_IN_ID: &str = "CONTROL_IN_ID";

/// That an id has control characters, and what to do about it.
pub(crate) fn explain_control_in_id(id: &str) -> (String, &'static str) {
    (
        format!("the id `{}` has control characters", escape_controls(id)),
        "write it in plain letters and signs, so that it can be typed",
    )
}

impl PlanFormat {
    /// Whether the text `now` holds another plan than `before`. What cannot be
    /// read is no other plan.
    #[must_use]
    pub fn is_replaced(&self, before: &str, now: &str) -> bool {
        let identity = |text| (self.finding.identity)(SourceText { name: "", text });
        let both = identity(before).zip(identity(now));
        both.is_some_and(|(before, now)| before.is_replaced_by(&now))
    }

    /// Whether a plan of it is one file, which people write.
    #[must_use]
    pub fn is_one_file(&self) -> bool {
        self.finding.place == PlanPlace::File
    }

    /// Whether a plan of it is a folder, in which more may lie than its file.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        matches!(self.finding.place, PlanPlace::Folder(_))
    }
}
