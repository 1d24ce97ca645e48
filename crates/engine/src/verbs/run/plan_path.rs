//! Plans in one file: what it is, judged by its content, and the plan in it.

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::RunId;
use piton_core::plan::Plan;
use piton_formats::conflict;
use piton_formats::plan_format::{
    FilesBeside, PlanClaim, PlanContext, PlanFormat, PlanName, PlanRefusal, PlanText,
};
use piton_formats::problem::{Problem, SourceText};
use piton_formats::registry::plan_formats;
use serde::Serialize;

use crate::failure::notice::Notice;
use crate::failure::{Failure, Findings, outside_failure, unreadable_file};
use crate::project::find_outside_link;
use crate::project::inside::{OutsideLink, read_beside};
use crate::world::World;
use crate::world::input;

/// A file that may be a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanPath {
    /// The file.
    pub(crate) file: PathBuf,
    /// How the user named it, for messages.
    pub(crate) shown: PathBuf,
    /// The link on the way that leads out of the project.
    outside: Option<OutsideLink>,
}

/// How many items a plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ItemCounts {
    /// Those that are neither done nor left out.
    pub open: usize,
    /// All that an agent works on.
    pub total: usize,
}

impl PlanPath {
    /// The file at a path as typed, unless it is one of YAML or none.
    pub(crate) fn resolve(world: &World, typed: &Path) -> Option<Self> {
        let path = world.resolve_path(typed);
        let file = fs::canonicalize(&path).ok()?;
        // YAML is a sprint, unless it has the name of a list.
        let is_yaml = has_extension(&file, &["yaml", "yml"]) && !has_name_of_list(&file);
        (file.is_file() && !is_yaml).then(|| Self {
            file,
            shown: typed.to_owned(),
            outside: find_outside_link(world, &path),
        })
    }

    /// Whether it can be run.
    pub(crate) fn is_plan(&self) -> bool {
        self.check().is_ok()
    }

    /// Refuses a file to which a link out of the project leads.
    ///
    /// # Errors
    ///
    /// With the link.
    pub(super) fn refuse_outside(&self) -> Result<(), Failure> {
        let link = self.outside.as_ref().map(outside_failure);
        link.map_or(Ok(()), Err)
    }

    /// Looks whether it can be run.
    ///
    /// # Errors
    ///
    /// As [`Self::read_plan`].
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.read_plan(RunId::PROJECT, "", "").map(drop)
    }

    /// How many of its items an agent is to work on; none where it is no plan.
    pub(crate) fn count_items(&self) -> Option<ItemCounts> {
        let (plan, _) = self.read_plan(RunId::PROJECT, "", "").ok()?;
        let work = plan.items.iter().filter(|item| item.prompt.is_some());
        let (finished, open): (Vec<_>, Vec<_>) = work.partition(|item| item.state.is_finished());
        Some(ItemCounts {
            open: open.len(),
            total: open.len() + finished.len(),
        })
    }

    /// The plans in one file that lie in a folder, or below it where such plans lie.
    pub(crate) fn collect_in_folder(world: &World, folder: &Path) -> Vec<Self> {
        let formats = plan_formats().iter();
        let here = fs::canonicalize(world.resolve_path(folder));
        let path_from_here = |name: &&'static str| match &here {
            Ok(here) if is_folder_of(here, name) => last_part(name),
            Ok(_) | Err(_) => *name,
        };
        let found = formats.flat_map(|format| {
            let files = |names: &'static [&'static str]| {
                let paths = names
                    .iter()
                    .map(path_from_here)
                    .flat_map(|name| input::expand_path(folder, name));
                paths.filter_map(|path| Self::resolve(world, &path))
            };
            let shared = files(format.finding.shared_names).filter(Self::is_plan);
            files(format.finding.candidates).chain(shared)
        });
        found.collect()
    }

    /// The folder that it lies in.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    /// What runs of it are called: as its file, or as its folder where every plan of
    /// its kind has a file of the same name.
    pub(super) fn run_name(&self) -> String {
        let is_in_folders =
            |name: &&str| name.contains("/*/") && self.file.ends_with(last_part(name));
        let shared = plan_formats()
            .iter()
            .flat_map(|format| format.finding.shared_names);
        let folder = self.folder().file_name();
        let name = match shared.copied().find(is_in_folders) {
            Some(_) => folder.or(self.file.file_stem()),
            None => self.file.file_stem(),
        };
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The plan in it, for a run of this id and source, and its text. It is called
    /// `name`, unless runs of its format have names of their own.
    ///
    /// # Errors
    ///
    /// When it is no plan, one that piton cannot work through, or one with
    /// mistakes in it.
    pub(in crate::verbs) fn read_plan(
        &self,
        run: RunId,
        name: &str,
        source: &str,
    ) -> Result<(Plan, String), Failure> {
        self.refuse_outside()?;
        let bytes =
            input::read_bytes(&self.file).map_err(|error| unreadable_file(&self.shown, error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            Failure::new("plan.unreadable", self.message_about("is not UTF-8 text"))
                .with_source(error)
        })?;
        if text.contains('\0') {
            return Err(self.refusal_failure(PlanRefusal::foreign("a binary file"), &text));
        }
        let shown = self.shown.to_string_lossy();
        let read = SourceText {
            name: &shown,
            text: &text,
        };
        if let Some(problem) = conflict::find_unresolved_merge(read) {
            return Err(self.problems_failure(self.findings_in_text(vec![problem], &text)));
        }
        let format = self.detect_format(&text)?;
        let of = PlanContext {
            run,
            // A graph of issues says how its run is called.
            name: match format.issues {
                Some(_) => PlanName::Own(name),
                None => PlanName::Given(name),
            },
            source,
            native: None,
            beside: FilesBeside(&|path| read_beside(self.folder(), path)),
        };
        let (plan, problems) = (format.read)(read, of);
        let Some(plan) = plan else {
            return Err(self.problems_failure(self.findings_in_text(problems, &text)));
        };
        if plan.items.is_empty() {
            let (what, hint) = format.finding.without_items;
            return Err(Failure::new("plan.problems", self.message_about(what)).with_hint(hint));
        }
        Ok((plan, text))
    }

    /// The format that a text is a plan of.
    fn detect_format(&self, text: &str) -> Result<&'static PlanFormat, Failure> {
        let shown = self.shown.to_string_lossy();
        let ending = self.file.extension().unwrap_or_default();
        let plan = PlanText {
            source: SourceText { name: &shown, text },
            ending: &ending.to_string_lossy(),
        };
        let (mut refused, mut unknown) = (None, None);
        // What cannot be read is told by the format that has files of this name.
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let is_named = |format: &&'static PlanFormat| {
            let paths = format.formats.iter().flat_map(|format| format.paths);
            paths
                .map(|path| path.rsplit('/').next())
                .any(|last| last == Some(&name))
        };
        let formats = plan_formats().iter().copied();
        let (named, others): (Vec<_>, Vec<_>) = formats.partition(is_named);
        let named_count = named.len();
        for (nth, format) in named.into_iter().chain(others).enumerate() {
            match (format.finding.claim)(&plan) {
                PlanClaim::Plan => return Ok(format),
                PlanClaim::NotOurs => {}
                // Others take any text of such an ending.
                PlanClaim::Refused(refusal) if nth < named_count => {
                    return Err(self.refusal_failure(refusal, text));
                }
                PlanClaim::Refused(refusal) => drop(refused.get_or_insert(refusal)),
                PlanClaim::Unknown(refusal) => drop(unknown.get_or_insert(refusal)),
            }
        }
        let refusal = refused
            .or(unknown)
            .unwrap_or_else(|| PlanRefusal::foreign("a document that piton does not know"));
        Err(self.refusal_failure(refusal, text))
    }

    fn message_about(&self, what: &str) -> String {
        format!("{} {what}", self.shown.display())
    }

    fn refusal_failure(&self, refusal: PlanRefusal, text: &str) -> Failure {
        let failure =
            Failure::new(refusal.code, self.message_about(&refusal.what)).with_hint(refusal.hint);
        match refusal.problems {
            Some(problems) => failure.with_findings(self.findings_in_text(problems, text)),
            None => failure,
        }
    }

    fn findings_in_text(&self, problems: Vec<Problem>, text: &str) -> Findings {
        let name = self.shown.to_string_lossy().into_owned();
        Findings {
            problems,
            sources: [(name, text.to_owned())].into(),
        }
    }

    fn problems_failure(&self, findings: Findings) -> Failure {
        let errors = findings.error_count();
        let count = if errors == 1 {
            "1 error".to_owned()
        } else {
            format!("{errors} errors")
        };
        let what = format!("has {count}; nothing was started");
        Failure::new("plan.problems", self.message_about(&what))
            .with_hint("mend the file, then run again")
            .with_findings(findings)
    }
}

/// The name at the end of a path.
fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a folder is one in which files of this path lie: `specs/1-tides` of
/// `specs/*/tasks.md`.
fn is_folder_of(folder: &Path, path: &str) -> bool {
    let Some((parents, _)) = path.rsplit_once('/') else {
        return false;
    };
    let mut names = folder.iter().rev();
    let mut parts = parents.rsplit('/');
    parts.all(|part| {
        let name = names.next();
        name.is_some_and(|name| part == "*" || name == part)
    })
}

/// Whether a plan of some format is looked for at the end of this path.
fn has_name_of_list(file: &Path) -> bool {
    let findings = plan_formats().iter().map(|format| &format.finding);
    let paths = findings.flat_map(|finding| finding.candidates.iter().chain(finding.shared_names));
    paths.into_iter().any(|path| file.ends_with(path))
}

fn has_extension(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        endings
            .iter()
            .any(|known| known.eq_ignore_ascii_case(ending))
    })
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
