//! A folder with a sprint that is run through again and again.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bed::{Bed, time};
use crate::sample::Samples;
use crate::sprint::{self, ANSWERING_AGENT, Shape};
use crate::trace::{Calls, count_calls};
use crate::{Result, repository};

/// A folder with a sprint in its root, whose agent answers at once.
#[derive(Debug)]
pub struct SprintFolder<'b> {
    bed: &'b Bed,
    root: PathBuf,
    nodes: usize,
    /// Where the agent's output goes when it is started alone.
    output: PathBuf,
}

impl<'b> SprintFolder<'b> {
    fn new(bed: &'b Bed, root: PathBuf, nodes: usize) -> Result<Self> {
        let output = bed.folder("output")?.join("output");
        Ok(Self {
            bed,
            root,
            nodes,
            output,
        })
    }

    /// A sprint of so many nodes below `base`, a folder of no repository.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn outside_of_git(bed: &'b Bed, base: &Path, nodes: usize) -> Result<Self> {
        let root = base.join(format!("sprint-{nodes}"));
        fs::create_dir_all(&root)?;
        sprint::write(&root, Path::new(""), nodes, Shape::Single)?;
        sprint::write_answering_agent(&root)?;
        Self::new(bed, root, nodes)
    }

    /// A sprint of so many nodes in the repository of so many files.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn in_repository(bed: &'b Bed, files: usize, nodes: usize) -> Result<Self> {
        Self::new(bed, repository::open(bed, files, nodes)?, nodes)
    }

    /// Runs the sprint to its end: what each node took, start and native file included.
    ///
    /// # Errors
    ///
    /// When the run does not end with status 0.
    pub fn run_through(&self) -> Result<Duration> {
        sprint::clear(&self.root)?;
        let took = time(&mut self.command())?;
        sprint::clear(&self.root)?;
        Ok(took.div_f64(self.nodes as f64))
    }

    fn command(&self) -> Command {
        let args = ["run", ".", "--agent", ANSWERING_AGENT, "--trust"];
        self.bed.piton(&self.root, &args)
    }

    /// Starts the agent as the runner starts it, and nothing around it.
    ///
    /// # Errors
    ///
    /// When it does not end with status 0.
    pub fn start_agent(&self) -> Result<Duration> {
        let mut shell = self.bed.command(Path::new("/bin/sh"), &self.root);
        let output = File::create(&self.output)?;
        shell.args(["-c", ANSWERING_AGENT]);
        time(shell.stdout(output).process_group(0))
    }

    /// What a node takes above the median of so many starts of its agent, and
    /// that median.
    ///
    /// # Errors
    ///
    /// When the run or an agent does not end with status 0.
    pub fn run_above_agent(&self, starts: usize) -> Result<AboveAgent> {
        let mut alone = Samples::default();
        for _ in 0..starts {
            alone.push(self.start_agent()?);
        }
        let agent = Duration::from_secs_f64(alone.median());
        Ok(AboveAgent {
            above: self.run_through()?.saturating_sub(agent),
            agent,
        })
    }

    /// What a run of all nodes calls; none without strace.
    ///
    /// # Errors
    ///
    /// When the traces cannot be read.
    pub fn count_calls(&self) -> Result<Option<Calls>> {
        sprint::clear(&self.root)?;
        let calls = count_calls(self.bed, &self.command())?;
        sprint::clear(&self.root)?;
        Ok(calls)
    }
}

/// What a node takes, in two parts.
#[derive(Clone, Copy, Debug)]
pub struct AboveAgent {
    /// What the loop adds.
    pub above: Duration,
    /// The start of the agent alone.
    pub agent: Duration,
}
