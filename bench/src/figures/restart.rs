//! P10: getting back into a run after its runner was killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::paired_unit::PairedUnit;
use crate::Result;
use crate::bed::{Bed, time};
use crate::figure::{Figure, counted};
use crate::sample::{Samples, Spread};
use crate::sprint::{self, Shape};

/// How long the next agent may take to start before the measurement has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a file is, which gets a line from each agent.
fn length_of(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file)?.len())
}

/// A run of a plan whose agent records that it was started, and stays.
struct Stuck<'b> {
    bed: &'b Bed,
    folder: PathBuf,
    runner: Option<Child>,
}

impl<'b> Stuck<'b> {
    fn make(bed: &'b Bed, nodes: usize) -> Result<Self> {
        let folder = sprint::project(bed, nodes, Shape::Single)?;
        sprint::script(
            &folder.join("stay.sh"),
            "echo started >>started\nexec sleep 600",
        )?;
        fs::write(folder.join("started"), "")?;
        Ok(Self {
            bed,
            folder,
            runner: None,
        })
    }

    /// From `piton run` to the next agent; the runner is left as it is.
    fn run(&mut self) -> Result<Duration> {
        let already = length_of(&self.folder.join("started"))?;
        let before = Instant::now();
        let mut command = self.bed.piton(
            &self.folder,
            &["run", "sprint", "--agent", "./stay.sh", "--trust"],
        );
        let runner = self.runner.insert(command.spawn()?);
        loop {
            if length_of(&self.folder.join("started"))? > already {
                return Ok(before.elapsed());
            }
            if before.elapsed() > PATIENCE || runner.try_wait()?.is_some() {
                return Err("`piton run` started no agent".into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Kills the runner with SIGKILL: its agent lives on, and the next runner
    /// has to end it.
    fn kill_runner(&mut self) -> Result<()> {
        if let Some(mut runner) = self.runner.take() {
            runner.kill()?;
            runner.wait()?;
        }
        Ok(())
    }
}

impl Drop for Stuck<'_> {
    /// Ends the last runner, which ends its agent.
    fn drop(&mut self) {
        if let Some(mut runner) = self.runner.take() {
            let mut kill = Command::new("kill");
            let killed = kill.arg("-TERM").arg(runner.id().to_string()).status();
            // A runner that cannot be asked would be waited for without end.
            if killed.is_ok_and(|status| status.success()) {
                runner.wait().ok();
            }
        }
    }
}

/// P10: from `piton run` after kill -9 to the next agent.
pub(super) fn after_kill(bed: &Bed) -> Result<Vec<Figure>> {
    let nodes = bed.size.pick(20, 10_000);
    let mut stuck = Stuck::make(bed, nodes)?;
    let first = stuck.run()?;
    let (mut again, mut status) = (Samples::default(), Samples::default());
    for _ in 0..bed.size.pick(1, 7) {
        stuck.kill_runner()?;
        status.push(time(&mut bed.piton(&stuck.folder, &["status"]))?);
        again.push(stuck.run()?);
    }
    let baseline = format!("piton status of {} nodes", counted(nodes));
    let mut once = Samples::default();
    once.push(first);
    let mut begun = Figure::aside(
        "",
        ("the first agent, compiling and planning first", &once),
        (&baseline, &status),
    );
    begun.ratio = Spread::once(once.median(), status.median());
    Ok(vec![
        Figure::at_most(
            20.0,
            "P10",
            ("next agent after kill -9", &again),
            (&baseline, &status),
        ),
        begun,
    ])
}

/// P10 for a comparison.
pub(super) fn paired<'b>(bed: &'b Bed, _filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let nodes = bed.size.pick(20, 2_000);
    let mut stuck = Stuck::make(bed, nodes)?;
    stuck.run()?;
    Ok(vec![PairedUnit::new(
        "P10",
        format!("next agent after kill -9, {} nodes", counted(nodes)),
        Box::new(move || {
            stuck.kill_runner()?;
            stuck.run()
        }),
    )])
}
