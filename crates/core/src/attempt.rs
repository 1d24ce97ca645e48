//! An attempt: one try at an item by an agent, started once.

pub(crate) mod outcome;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::call::AttemptActivity;
use crate::checkout::Checkout;
use crate::classify::FailureCategory;
use crate::id::{AttemptId, Node, RunId};
use crate::native::Native;
use crate::observation::Observation;
use crate::request::WorkRequest;
use crate::review::AgentReview;
use crate::trouble::Trouble;
use crate::weakening::ProofChange;
use crate::word::words;

pub use crate::usage::{Spend, Usage};
pub use outcome::{HumanNeeded, Outcome};

/// What an agent was started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// To do the item.
    Worker,
    /// To mend what the item's gate found.
    GateFix,
    /// To put the workspace in order before the item is tried again.
    Repair,
    /// To say into which pieces the item is to be split.
    Split,
    /// To say what came of the work, where the attempt before did not.
    Verdict,
    /// To do what the plan wants after each item.
    IterationHook,
    /// To bring the work of the item together with what was merged meanwhile.
    Resolve,
    /// To say whether what was made of the item is good.
    Reviewer,
}

impl Role {
    /// The name, as stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::GateFix => "gate-fix",
            Self::Repair => "repair",
            Self::Split => "split",
            Self::Verdict => "verdict",
            Self::IterationHook => "iteration-hook",
            Self::Resolve => "resolve",
            Self::Reviewer => "reviewer",
        }
    }

    /// Whether its prompt asks for a report of what came of the work: the prompt of an
    /// iteration hook is the plan's, and a reviewer answers in the form of reviews.
    #[must_use]
    pub fn is_asked_to_report(self) -> bool {
        match self {
            Self::Worker
            | Self::GateFix
            | Self::Repair
            | Self::Split
            | Self::Verdict
            | Self::Resolve => true,
            Self::IterationHook | Self::Reviewer => false,
        }
    }
}

/// The conversation of an agent's program that an attempt was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The agent: its name or command. No other one can go on with it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// As the program names it.
    pub id: String,
    /// What the whole conversation used until the end of this attempt, where the
    /// program counts that and not each attempt by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Usage>,
}

impl Conversation {
    /// Whether the id is one that can be handed to a program: it comes from what
    /// a program printed, and an option of a command line begins with a dash.
    #[must_use]
    pub fn is_valid_id(id: &str) -> bool {
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        (1..=200).contains(&id.len()) && !id.starts_with('-') && id.bytes().all(plain)
    }
}

/// How much an attempt changed, as `git diff --shortstat` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffStat {
    /// Files.
    pub files: u64,
    /// Lines added.
    pub insertions: u64,
    /// Lines taken away.
    pub deletions: u64,
}

/// How the agent's process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// Its exit status, unless a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why piton ended it: `wall-timeout`, `idle-timeout`, `output-limit`, `asked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
}

/// Where the transcript of an attempt is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Its path below the home of the project.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Whether its middle was left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

words! {
    /// What is done after a failure: the five actions of seed 000.
    RecoveryAction {
        /// Try again.
        Retry = "retry",
        /// Mend the workspace or the environment first.
        FixState = "fix-state",
        /// Split the item.
        BreakChunks = "break-chunks",
        /// Leave it out.
        Skip = "skip",
        /// Ask a person.
        Manual = "manual",
    }
}

/// What an attempt started from. What is not known is absent, never 0 or false.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptContext {
    /// How often the item had been tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u64>,
    /// Why the attempt before failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_failure_reason: Option<String>,
    /// What was decided after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_action: Option<RecoveryAction>,
    /// With what guidance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_guidance: Option<String>,
    /// What was done before, by item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies_completed: Option<Vec<String>>,
    /// Whether the claim of a blocker was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker_verified: Option<bool>,
    /// Whether the claim was true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker_valid: Option<bool>,
}

impl AttemptContext {
    /// The same, with what `known` says where this says nothing.
    #[must_use]
    pub fn merge_missing(self, known: Self) -> Self {
        Self {
            retry_count: self.retry_count.or(known.retry_count),
            previous_failure_reason: self
                .previous_failure_reason
                .or(known.previous_failure_reason),
            recovery_action: self.recovery_action.or(known.recovery_action),
            recovery_guidance: self.recovery_guidance.or(known.recovery_guidance),
            dependencies_completed: self.dependencies_completed.or(known.dependencies_completed),
            blocker_verified: self.blocker_verified.or(known.blocker_verified),
            blocker_valid: self.blocker_valid.or(known.blocker_valid),
        }
    }
}

/// A part of an item that was too large, as the agent names it that splits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitPiece {
    /// What it is, in one line.
    pub title: String,
    /// What to tell the agent that does it, beyond the title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
}

/// An item is split into so many pieces at least: one is the item itself.
pub const PIECES_MIN: usize = 2;
/// And into so many at most.
pub const PIECES_MAX: usize = 12;

/// How the program of an attempt ran, and what it says of that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramReport {
    /// How the process ended; none when piton did not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessEnd>,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
    /// Where its words are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
    /// The agent's program could not be started at all: nothing was tried, so
    /// nothing counts against the item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cannot_start: bool,
    /// How long it took, in seconds, where that was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<u64>,
    /// What stood in the agent's way, as its program tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// When the service that had enough serves again, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// The conversation that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// What it used, by model, where the program says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, Usage>,
    /// What it did.
    #[serde(default, skip_serializing_if = "AttemptActivity::is_empty")]
    pub activity: AttemptActivity,
    /// The agent did not say what came of its work, and can be asked once more
    /// in the same conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_be_asked: bool,
}

/// What an attempt changed in the work tree, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportedChanges {
    /// The files that were changed; none when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// The commits that were made; none when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<Vec<String>>,
    /// The hash of the work tree, as git would commit it, when the agent was
    /// started; none where that is not known. Git may not have the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_before: Option<String>,
    /// The same when it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_after: Option<String>,
    /// How much it changed; none when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffStat>,
    /// What it did to what proves its item; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<ProofChange>>,
}

/// What came of an attempt: everything that is known when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// What was done, in one line or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What kind of failure it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<FailureCategory>,
    /// What a person is needed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<HumanNeeded>,
    /// How its program ran.
    #[serde(flatten)]
    pub program: ProgramReport,
    /// What it changed in the work tree.
    #[serde(flatten)]
    pub changes: ReportedChanges,
    /// What was noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<Observation>,
    /// What it started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<AttemptContext>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What the agent says that it ran to check its work, and what that printed.
    /// Its word: it proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<String>,
    /// Pictures that show it, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub screenshots: Vec<String>,
    /// The plan asks for a picture of the outcome, and there is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_screenshot: bool,
    /// What was looked at in a browser, and found right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validations: Vec<String>,
    /// Into what the item is to be split: the answer to [`Role::Split`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<SplitPiece>,
    /// What the agent asks for beside its work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<WorkRequest>,
    /// What its reviewer says of the item: the answer to [`Role::Reviewer`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<AgentReview>>,
}

impl Report {
    /// A report that says how it ended and nothing else.
    #[must_use]
    pub fn with_outcome(outcome: Outcome) -> Self {
        Self {
            outcome,
            summary: None,
            error: None,
            category: None,
            human: None,
            program: ProgramReport::default(),
            changes: ReportedChanges::default(),
            observations: Vec::new(),
            context: None,
            notes: None,
            checked: None,
            screenshots: Vec::new(),
            lacks_screenshot: false,
            validations: Vec::new(),
            pieces: Vec::new(),
            requests: Vec::new(),
            review: None,
        }
    }

    /// Whether its program ended well and the agent did not say in the form
    /// that it was asked for what came of its work.
    #[must_use]
    pub fn is_missing_verdict(&self) -> bool {
        self.program.trouble == Some(Trouble::NoVerdict)
    }

    /// Whether the service had enough, so that trying again now is of no use.
    #[must_use]
    pub fn is_rate_limited(&self) -> bool {
        self.outcome == Outcome::Interrupted
            && (self.program.resets_at.is_some()
                || self.program.trouble == Some(Trouble::RateLimit))
    }

    /// Whether it broke off without a request to stop: nothing counts against the
    /// item, as long as it does not happen again and again.
    #[must_use]
    pub fn was_cut_off(&self) -> bool {
        let by_itself = matches!(
            self.program.trouble,
            Some(Trouble::Signal | Trouble::Session)
        );
        self.outcome == Outcome::Interrupted && by_itself && !self.is_rate_limited()
    }

    /// What it adds to the sums of its item and its run: nothing where no
    /// program was started.
    #[must_use]
    pub fn counted_spend(&self) -> Spend {
        if self.program.cannot_start {
            return Spend::default();
        }
        Spend::from_usage(&self.program.usage)
    }

    /// What it adds to the sums by model.
    pub fn spend_by_model(&self) -> impl Iterator<Item = (&String, Spend)> {
        let counts = !self.program.cannot_start;
        let models = self.program.models.iter().filter(move |_| counts);
        models.map(|(model, usage)| (model, Spend::from_usage(usage)))
    }

    /// The pieces, when they are such that the item can be split into them.
    #[must_use]
    pub fn usable_pieces(&self) -> Option<&[SplitPiece]> {
        let counts = (PIECES_MIN..=PIECES_MAX).contains(&self.pieces.len());
        let named = self
            .pieces
            .iter()
            .all(|piece| !piece.title.trim().is_empty());
        (counts && named).then_some(self.pieces.as_slice())
    }
}

/// What the read tables know of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRow {
    /// Its id.
    pub id: AttemptId,
    /// The run of its item.
    pub run: RunId,
    /// Its item.
    pub node: Node,
    /// Which attempt at the item it is, from 1.
    pub number: u32,
    /// What the agent was started for.
    pub role: Role,
    /// The agent: its name or command.
    pub agent: String,
    /// The model it was asked to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which agent of the run it is, from 1.
    pub iteration: u32,
    /// When the intent was recorded.
    pub started_at: Timestamp,
    /// When the outcome was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// The name that it has in `.ralph/progress.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The item as its file names it, where that is not the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// What only its native file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
    /// The ids of what its prompt carried of the memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<String>,
    /// What the agent said came of it while it still worked, by a tool of piton.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<Report>>,
    /// The tree on which it was started; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What came of it, while its outcome waits for the check of its item: the
    /// agent's word, which counts for nothing yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<Box<Report>>,
    /// What was checked out when it ended, or when it started, while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<Checkout>,
}

impl AttemptRow {
    /// Whether its agent may still be at work.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.ended_at.is_none() && self.report.is_none()
    }

    /// When it happened, for the order among others: when it was over, else when
    /// it was started. Its id does not say it, nor when it was stored: one that
    /// was taken from a file has an id that is made of its words.
    #[must_use]
    pub fn happened_at(&self) -> Timestamp {
        self.ended_at.unwrap_or(self.started_at)
    }

    /// How long it took, in seconds: as its report says, or from its start to its
    /// end. None where that is nothing.
    #[must_use]
    pub fn duration_s(&self) -> Option<u64> {
        let said = self
            .report
            .as_ref()
            .and_then(|report| report.program.duration_s);
        let ended = self.ended_at.unwrap_or(self.started_at);
        let took = ended
            .as_second()
            .saturating_sub(self.started_at.as_second());
        said.or_else(|| u64::try_from(took).ok().filter(|took| *took > 0))
    }
}

/// An attempt that was made without piton, and is reported when it is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedAttempt {
    /// The id that it will have.
    pub attempt: AttemptId,
    /// The run of its item; [`RunId::PROJECT`] for an item of no plan.
    pub run: RunId,
    /// Its item.
    pub node: Node,
    /// The item as its file names it.
    pub item: String,
    /// Which attempt at the item it is, from 1; the next one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The name that it has in a file; drawn when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who made it.
    pub agent: String,
    /// When it was over, where that is not when it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What came of it.
    pub report: Box<Report>,
    /// What only its native file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
}
