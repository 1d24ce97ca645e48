//! Plans in one file: what it is, judged by its content, and the plan in it.

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::RunId;
use piton_core::plan::Plan;
use piton_formats::prd::{self, Prd};
use piton_formats::problem::{Problem, Source};
use piton_formats::sdlc;
use piton_formats::task::{self, Task};

use crate::failure::{Failure, Findings, unreadable};
use crate::input;
use crate::notice::Notice;
use crate::world::World;

/// Where plans in one file are looked for when none is named.
const NAMES: &[&str] = &["prd.json", ".ralph/prd.json", "RALPH_TASK.md"];

/// A file that may be a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanPath {
    /// The file.
    pub(crate) file: PathBuf,
    /// How the user named it, for messages.
    pub(crate) shown: PathBuf,
}

/// What a plan in one file says.
pub(super) enum Document {
    Prd(Prd),
    Task(Task),
}

impl PlanPath {
    /// The file at a path as typed, unless it is one of YAML or none.
    pub(crate) fn at(world: &World, typed: &Path) -> Option<Self> {
        let file = fs::canonicalize(world.path(typed)).ok()?;
        let is_yaml = has_ending(&file, &["yaml", "yml"]);
        (file.is_file() && !is_yaml).then(|| Self {
            file,
            shown: typed.to_owned(),
        })
    }

    /// Whether it can be run.
    pub(crate) fn is_plan(&self) -> bool {
        self.read().is_ok()
    }

    /// The plans in one file that lie in a folder.
    pub(super) fn among(world: &World, folder: &Path) -> Vec<Self> {
        let names = NAMES.iter().map(|name| folder.join(name));
        names.filter_map(|path| Self::at(world, &path)).collect()
    }

    /// The folder that it lies in.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    /// What runs of it are called.
    pub(super) fn name(&self) -> String {
        let stem = self.file.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// What it says, and its text.
    ///
    /// # Errors
    ///
    /// When it is no plan, one that piton cannot work through, or one with
    /// mistakes in it.
    pub(super) fn read(&self) -> Result<(Document, String), Failure> {
        let bytes = input::read(&self.file).map_err(|error| unreadable(&self.shown, error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            Failure::new("plan.unreadable", self.is("is not UTF-8 text")).because(error)
        })?;
        let bare = text.trim_start_matches('\u{feff}').trim_start();
        let document = if has_ending(&self.file, &["json"]) || bare.starts_with(['{', '[']) {
            Document::Prd(self.list(&text)?)
        } else {
            Document::Task(self.task(&text)?)
        };
        Ok((document, text))
    }

    fn is(&self, what: &str) -> String {
        format!("{} {what}", self.shown.display())
    }

    fn list(&self, text: &str) -> Result<Prd, Failure> {
        let name = self.shown.to_string_lossy();
        let read = || prd::read(Source { name: &name, text });
        match prd::detect(text) {
            prd::Layout::Features | prd::Layout::UserStories => {}
            prd::Layout::Empty => {
                return Err(Failure::new("plan.unreadable", self.is("is empty"))
                    .hint("name the list that you mean"));
            }
            prd::Layout::Unreadable => {
                return Err(Failure::new(
                    "plan.unreadable",
                    self.is("is not readable JSON; nothing was changed"),
                )
                .hint("mend the file, then run again")
                .finding(self.findings(read().1, text)));
            }
            prd::Layout::Single => return Err(self.foreign(&prd::Layout::Single.describe())),
            prd::Layout::Foreign(keys) => {
                return Err(match sdlc::detect(text) {
                    sdlc::Layout::Current => Failure::new(
                        "plan.unsupported",
                        self.is("is a graph of issues, which piton cannot run yet"),
                    )
                    .hint("running issue graphs comes later; a list of requirements or a task file can be run now"),
                    other @ (sdlc::Layout::LowerCase | sdlc::Layout::IssueList) => {
                        self.foreign(&other.describe())
                    }
                    sdlc::Layout::Foreign(_)
                    | sdlc::Layout::Empty
                    | sdlc::Layout::Unreadable => {
                        self.foreign(&prd::Layout::Foreign(keys).describe())
                    }
                });
            }
        }
        let (prd, problems) = read();
        let prd = prd.filter(|_| !problems.iter().any(Problem::is_error));
        let Some(prd) = prd else {
            return Err(self.problems(self.findings(problems, text)));
        };
        if prd.items.is_empty() {
            return Err(
                Failure::new("plan.problems", self.is("lists nothing to do"))
                    .hint("a list without items is never complete: add what is to be done"),
            );
        }
        Ok(prd)
    }

    fn task(&self, text: &str) -> Result<Task, Failure> {
        let name = self.shown.to_string_lossy();
        let (task, problems) = task::read(Source { name: &name, text });
        if task.criteria.is_empty() && !has_ending(&self.file, &["md", "markdown"]) {
            return Err(
                Failure::new("plan.none", self.is("is a file, and not a plan")).hint(
                    "name a folder with a SPRINT.yaml, a prd.json, or a task file with criteria",
                ),
            );
        }
        if problems.iter().any(Problem::is_error) {
            return Err(self.problems(self.findings(problems, text)));
        }
        if task.criteria.is_empty() {
            return Err(Failure::new(
                "plan.problems",
                self.is("has no criteria, so that nothing says when it is complete"),
            )
            .hint("write what is to be true in the end as lines that begin with `- [ ]`"));
        }
        Ok(task)
    }

    fn foreign(&self, what: &str) -> Failure {
        Failure::new(
            "plan.foreign",
            self.is(&format!("is {what}; it was left alone")),
        )
        .hint("name the list or the task file that you mean")
    }

    fn findings(&self, problems: Vec<Problem>, text: &str) -> Findings {
        let name = self.shown.to_string_lossy().into_owned();
        Findings {
            problems,
            sources: [(name, text.to_owned())].into(),
        }
    }

    fn problems(&self, findings: Findings) -> Failure {
        let errors = findings.errors();
        let count = if errors == 1 {
            "1 error".to_owned()
        } else {
            format!("{errors} errors")
        };
        let what = format!("has {count}; nothing was started");
        Failure::new("plan.problems", self.is(&what))
            .hint("mend the file, then run again")
            .finding(findings)
    }
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        endings
            .iter()
            .any(|known| known.eq_ignore_ascii_case(ending))
    })
}

/// The plan of a file, for a run of this id and name.
pub(super) fn import(document: &Document, run: RunId, name: &str, source: &str) -> Plan {
    match document {
        Document::Prd(prd) => prd::import(prd, run, name, source),
        Document::Task(task) => task::import(task, run, name, source),
    }
}

/// Says what will be done on an agent's word alone.
pub(super) fn warn_unchecked(plan: &Plan, tell: &mut dyn FnMut(Notice<'_>)) {
    let open = || {
        let work = plan.items.iter().filter(|item| item.prompt.is_some());
        work.filter(|item| !item.state.is_finished())
    };
    let unchecked = open().filter(|item| item.gate.is_none()).count();
    if unchecked == 0 {
        return;
    }
    let (who, is_one) = match (unchecked, open().count()) {
        (_, 1) => ("the item that is left".to_owned(), true),
        (some, all) if some == all => ("its items".to_owned(), false),
        (some, all) => (format!("{some} of its {all} open items"), some == 1),
    };
    let what = if is_one {
        "has no command that verifies it: a change and its agent's word make it done"
    } else {
        "have no command that verifies them: a change and their agent's word make them done"
    };
    tell(Notice::Warning(&format!("{}: {who} {what}", plan.source)));
}
