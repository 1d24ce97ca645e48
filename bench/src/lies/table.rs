//! All rows, several at once, each in a folder of its own.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use super::case::Row;
use super::plain_loop::LoopRule;
use super::row::{Judged, LoopJudged, check_fault, judge_loop, judge_piton};
use super::rules::Rule;
use crate::{Error, Result};

/// What the rows are tried with.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The piton that is measured.
    pub piton: PathBuf,
    /// The folder in which each row gets one.
    pub folder: PathBuf,
    /// How many rows at once.
    pub jobs: usize,
    /// Whether the folders of the rows stay.
    pub keep: Keep,
}

/// What becomes of the folder of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It goes when the row is judged.
    Nothing,
    /// It stays, so that one can look.
    Folders,
}

/// What became of a row, with piton and with the loops.
#[derive(Clone, Debug)]
pub struct RowOutcome {
    /// With piton.
    pub piton: Judged,
    /// With each loop, in the order of [`LOOPS`].
    pub loops: Vec<LoopJudged>,
}

/// The loops beside piton.
pub const LOOPS: [LoopRule; 2] = [LoopRule::ExitStatus, LoopRule::PromiseWord];

impl Trial {
    /// Every row with piton and with both loops, its check tried before.
    ///
    /// # Errors
    ///
    /// When a folder cannot be made or a program cannot be started, or a check
    /// of the table is not what it is to be.
    pub fn outcomes(&self, rows: &[Row]) -> Result<Vec<RowOutcome>> {
        self.each(rows, "table", |row, folder| {
            let fault = check_fault(row, &folder.join("checks"), &self.piton)?;
            if let Some(fault) = fault {
                return Err(fault.into());
            }
            let piton = judge_piton(row, &folder.join("piton"), &self.piton, None)?;
            let one = |rule: LoopRule| {
                let folder = folder.join(rule.as_str().replace(' ', "-"));
                judge_loop(row, &folder, &self.piton, rule)
            };
            let loops = LOOPS.into_iter().map(one).collect::<Result<_>>()?;
            Ok(RowOutcome { piton, loops })
        })
    }

    /// Every row with a piton that leaves `rule` out.
    ///
    /// # Errors
    ///
    /// As [`Trial::outcomes`].
    pub fn without(&self, rows: &[Row], rule: Rule) -> Result<Vec<Judged>> {
        self.each(rows, rule.as_str(), |row, folder| {
            judge_piton(row, &folder.join("piton"), &self.piton, Some(rule))
        })
    }

    /// What `judge` makes of each row, in the order of the rows.
    fn each<T: Send>(
        &self,
        rows: &[Row],
        name: &str,
        judge: impl Fn(&Row, &Path) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, Result<T>)>> = Mutex::default();
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(row) = rows.get(index) else { break };
                let folder = self.folder.join(format!("{name}-{index:03}"));
                let result = fs::create_dir_all(&folder)
                    .map_err(Error::from)
                    .and_then(|()| judge(row, &folder))
                    .and_then(|judged| self.tidy(&folder).map(|()| judged))
                    .map_err(|error| format!("{}: {error}", row.name()).into());
                results.lock().expect("no row panics").push((index, result));
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(work);
            }
        });
        let mut results = results.into_inner().expect("no row panics");
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn tidy(&self, folder: &Path) -> Result<()> {
        match self.keep {
            Keep::Folders => Ok(()),
            Keep::Nothing => Ok(fs::remove_dir_all(folder)?),
        }
    }
}
