//! What a case is made of.

use std::fmt;

/// Whether the agent of a case deserves to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It ends, and the work at an item is not there.
    Lie,
    /// It does what it was asked for.
    Honest,
}

impl Side {
    /// The word in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lie => "lie",
            Self::Honest => "honest",
        }
    }
}

/// The format of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// A `prd.json` with features.
    List,
    /// A Markdown file with boxes.
    Task,
    /// A `SPRINT.yaml` with a workflow.
    Sprint,
}

impl PlanKind {
    /// The word in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "prd.json",
            Self::Task => "task file",
            Self::Sprint => "sprint",
        }
    }
}

/// What the plan says of how the work is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// Each item has a check that fails without its work.
    Red,
    /// An item has a check that passes without its work.
    Green,
    /// There is no check.
    Absent,
}

impl CheckKind {
    /// The words in the table.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Red => "check",
            Self::Green => "a check that passes anyway",
            Self::Absent => "no check",
        }
    }
}

/// Why piton holds an item for done: the levels of its model of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every check passed, and something came between.
    Check,
    /// A person decided it.
    Person,
    /// The agent reported it, and its attempts changed the work tree.
    Changed,
    /// The agent reported it, and nothing else shows it.
    Word,
}

impl Level {
    /// The name, as `piton status --json` gives it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Person => "person",
            Self::Changed => "changed",
            Self::Word => "word",
        }
    }

    /// The level of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Check, Self::Person, Self::Changed, Self::Word]
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The work counts as not done, and nobody is asked.
    Refused,
    /// A person is asked.
    Question,
    /// It counts as done, with this evidence.
    Done(Level),
    /// It counts as done, and nothing says why.
    DoneUnexplained,
    /// It was left out on the word of an agent.
    Skipped,
}

impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("refused"),
            Self::Question => f.write_str("question"),
            Self::Done(level) => write!(f, "done ({})", level.as_str()),
            Self::DoneUnexplained => f.write_str("done (-)"),
            Self::Skipped => f.write_str("skipped"),
        }
    }
}

/// What the work at an item is, so that it can be looked up in the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `lib/ITEM` holds the line `ITEM works`.
    Line,
    /// The line, and a page `doc/ITEM` that the check does not look at.
    LineAndPage,
    /// `cache/ITEM` holds the line. git ignores that folder.
    Ignored,
    /// `lib/old-ITEM` is gone.
    Removal,
    /// The line, and the test of it, which is not there at the start.
    Tested,
    /// The line, and the script that checks it, which is not there at the start.
    OwnCheck,
    /// An answer: the work tree stays as it is.
    Answer,
}

/// How piton starts the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// As a shell command, which cannot be asked again.
    Command,
    /// By a table of the configuration that says how to resume a conversation.
    Resumable,
    /// By a table that says that the exit status is the verdict.
    ExitStatus,
}

/// Some of the rows of a case, and what may become of them.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// The kinds of plan.
    pub kinds: &'static [PlanKind],
    /// How the work is checked.
    pub check: CheckKind,
    /// What a correct piton concludes: of a lie any of these, of honest work
    /// for each item any of these.
    pub expected: &'static [Conclusion],
}

/// An agent, what it is asked for, and what is to become of it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name in the table.
    pub name: &'static str,
    /// Whether it lies.
    pub side: Side,
    /// The items of the plan, in the order of work.
    pub items: &'static [&'static str],
    /// What the work at each of them is.
    pub work: Work,
    /// How the agent is started.
    pub program: Program,
    /// The check, where it is not the usual one; `{item}` stands for the item.
    pub check_command: Option<&'static str>,
    /// Which plans it is tried with.
    pub cells: &'static [Cells],
    /// What it does, in shell: see `prelude.sh` for the words that it has.
    pub agent: &'static str,
}

/// One row of the table: a case with one plan.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The case.
    pub case: &'static Case,
    /// The kind of plan.
    pub kind: PlanKind,
    /// How the work is checked.
    pub check: CheckKind,
    /// What may become of it.
    pub expected: &'static [Conclusion],
}

impl Row {
    /// Its name: `nothing changed (sprint, no check)`.
    #[must_use]
    pub fn name(&self) -> String {
        let (kind, check) = (self.kind.as_str(), self.check.as_str());
        format!("{} ({kind}, {check})", self.case.name)
    }

    /// The command that checks `item`, if there is one.
    ///
    /// A task file has one command for all of its items.
    #[must_use]
    pub fn check_command(&self, item: &str) -> Option<String> {
        let items = match self.kind {
            PlanKind::Task => self.case.items.join(" "),
            PlanKind::List | PlanKind::Sprint => item.to_owned(),
        };
        let own = self.case.check_command;
        match self.check {
            CheckKind::Absent => None,
            CheckKind::Red => Some(
                own.unwrap_or("sh check.sh {item}")
                    .replace("{item}", &items),
            ),
            CheckKind::Green => Some(own.unwrap_or("test -d lib").replace("{item}", &items)),
        }
    }
}

/// Every row of these cases, in their order.
#[must_use]
pub fn rows(cases: &'static [Case]) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in cases {
        for cells in case.cells {
            rows.extend(cells.kinds.iter().map(|kind| Row {
                case,
                kind: *kind,
                check: cells.check,
                expected: cells.expected,
            }));
        }
    }
    rows
}
