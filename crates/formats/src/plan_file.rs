//! The file of a plan, as a face of its run.
//!
//! `show` makes the text say how the run stands, in place of what it said, and
//! `edits` tells what somebody changed in it. Which format it is, is the only
//! thing that differs.

use jiff::Timestamp;
use piton_core::{Edit, RunId, RunRow, Tables};

use crate::face::CannotShow;
use crate::problem::{Problem, Source};
use crate::sprint;

/// The file of a plan.
#[derive(Debug)]
pub enum PlanFile {
    /// `PROGRESS.yaml` in the folder of a sprint.
    Sprint(Box<sprint::Exporter>),
}

/// What somebody changed in the file of a plan.
#[derive(Debug, Default)]
pub struct Changed {
    /// What it comes to, in the order in which it is to be tried.
    pub edits: Vec<Edit>,
    /// What cannot be taken from a file, and stays as it is.
    pub problems: Vec<Problem>,
}

impl PlanFile {
    /// The file of a run; none for a run that has no plan in a file.
    #[must_use]
    pub fn of(tables: &Tables, run: RunId) -> Option<Self> {
        let row = tables.run(run)?;
        match row.face.as_str() {
            sprint::FACE => Some(Self::Sprint(Box::new(sprint::Exporter::new(tables, run)))),
            _ => None,
        }
    }

    /// Its path, relative to the project.
    #[must_use]
    pub fn path(row: &RunRow) -> Option<String> {
        match row.face.as_str() {
            sprint::FACE if row.source.is_empty() => Some("PROGRESS.yaml".to_owned()),
            sprint::FACE => Some(format!("{}/PROGRESS.yaml", row.source)),
            _ => None,
        }
    }

    /// The text that shows the run as of `tables`, made from the present one.
    /// None when the run is not in the tables.
    ///
    /// # Errors
    ///
    /// When the present text cannot be made to say it.
    pub fn show(
        &mut self,
        present: Option<&str>,
        tables: &Tables,
        now: Timestamp,
    ) -> Result<Option<String>, CannotShow> {
        match self {
            Self::Sprint(exporter) => {
                Ok(exporter.export(tables, now).map(|progress| match present {
                    Some(present) => sprint::update_progress(present, &progress),
                    None => sprint::render_progress(&progress),
                }))
            }
        }
    }

    /// What somebody changed since piton wrote `base`, the last version of it
    /// that is known.
    ///
    /// # Errors
    ///
    /// What keeps the file from being read.
    pub fn edits(
        &mut self,
        file: &str,
        base: Option<&str>,
        theirs: &str,
        tables: &Tables,
        run: RunId,
        now: Timestamp,
    ) -> Result<Changed, Vec<Problem>> {
        match self {
            Self::Sprint(exporter) => {
                sprint_edits(exporter, (file, tables, run, now), base, theirs)
            }
        }
    }
}

fn sprint_edits(
    exporter: &mut sprint::Exporter,
    (file, tables, run, now): (&str, &Tables, RunId, Timestamp),
    base: Option<&str>,
    theirs: &str,
) -> Result<Changed, Vec<Problem>> {
    let read = |text| sprint::parse_progress(Source { name: file, text });
    let (theirs, mut problems) = read(theirs);
    let Some(theirs) = theirs.filter(|_| !problems.iter().any(Problem::is_error)) else {
        return Err(problems);
    };
    let shown = sprint::Shown { file, tables, run };
    let base = base.and_then(|base| read(base).0);
    let ours = exporter.export(tables, now);
    let (edits, more) = match (base, ours) {
        (Some(base), _) => sprint::edits(&base, &theirs, shown),
        (None, Some(ours)) => sprint::edits_without_base(&ours, &theirs, shown),
        (None, None) => (Vec::new(), Vec::new()),
    };
    problems.extend(more);
    Ok(Changed { edits, problems })
}
