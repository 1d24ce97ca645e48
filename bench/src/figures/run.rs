//! P9 and P10: the loop, and getting back into it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::Result;
use crate::bed::{Bed, time};
use crate::figure::{Figure, seconds};
use crate::floor::Preallocated;
use crate::sample::{Ratio, Samples};
use crate::sprint::{self, Shape};

/// The agent of P9, as it is given to `--agent`.
const ANSWER: &str = "./answer.sh";
/// How long somebody waits for an agent before the measurement has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A sprint of so many nodes, run to its end: what each of them took.
fn run_through(bed: &Bed, nodes: usize) -> Result<Duration> {
    let folder = sprint::project(bed, nodes, Shape::Single)?;
    answer(&folder)?;
    let mut command = bed.piton(&folder, &["run", "sprint", "--agent", ANSWER]);
    let took = time(&mut command)?;
    fs::remove_dir_all(&folder)?;
    Ok(took.div_f64(nodes as f64))
}

fn answer(folder: &Path) -> Result<()> {
    let line = r#"echo '{"status":"completed","summary":"done"}'"#;
    sprint::script(&folder.join("answer.sh"), line)
}

/// The agent started as the runner starts it, and nothing around it.
fn start(bed: &Bed, folder: &Path) -> Result<Duration> {
    let output = File::create(folder.join("output"))?;
    let mut shell = bed.command(Path::new("/bin/sh"), folder);
    time(shell.args(["-c", ANSWER]).stdout(output).process_group(0))
}

/// P9: what the loop itself costs a node.
pub(super) fn per_node(bed: &Bed) -> Result<Vec<Figure>> {
    let (few, many) = (bed.size.pick(3, 100), bed.size.choose(6, 2_000, 10_000));
    let (rounds, long_rounds) = (bed.size.pick(1, 7), bed.size.choose(1, 2, 1));
    let folder = bed.folder("agent")?;
    answer(&folder)?;
    let mut floor = Preallocated::create(&folder.join("floor"))?;
    let (mut starts, mut flushes, mut whole) =
        (Samples::default(), Samples::default(), Samples::default());
    let (mut short, mut long) = (Samples::default(), Samples::default());
    // The short runs of the rounds that have a long one, too.
    let mut beside = Samples::default();
    for round in 0..rounds {
        let (mut of_start, mut of_flush) = (Samples::default(), Samples::default());
        for _ in 0..bed.size.pick(3, 40) {
            of_start.push(start(bed, &folder)?);
            of_flush.push(floor.flush()?);
        }
        starts.push_seconds(of_start.median());
        flushes.push_seconds(of_flush.median());
        whole.push_seconds(of_start.median() + 2.0 * of_flush.median());
        let of_few = run_through(bed, few)?;
        short.push(of_few);
        if round < long_rounds {
            beside.push(of_few);
            long.push(run_through(bed, many)?);
        }
    }
    let rest = short.median() - whole.median();
    let reason = format!(
        "of {} a node, the script takes {}, two flushes {}, and all the rest {}",
        seconds(short.median()),
        seconds(starts.median()),
        seconds(2.0 * flushes.median()),
        seconds(rest)
    );
    let what = |nodes: usize| format!("piton run, a node of {nodes}");
    Ok(vec![
        Figure::at_most(
            4.0,
            "P9",
            (&what(few), &short),
            ("the script and 2 flushes", &whole),
        )
        .because(reason),
        Figure::at_most(
            1.3,
            "P9",
            (&what(many), &long),
            (&format!("a node of {few}"), &beside),
        ),
    ])
}

/// A run of a plan whose agent says that it was started, and stays.
struct Stuck {
    folder: std::path::PathBuf,
}

impl Stuck {
    fn make(bed: &Bed, nodes: usize) -> Result<Self> {
        let folder = sprint::project(bed, nodes, Shape::Single)?;
        sprint::script(
            &folder.join("stay.sh"),
            "echo started >>started\nexec sleep 600",
        )?;
        fs::write(folder.join("started"), "")?;
        Ok(Self { folder })
    }

    fn started(&self) -> Result<u64> {
        Ok(fs::metadata(self.folder.join("started"))?.len())
    }

    /// From `piton run` to the next agent; the runner is left as it is.
    fn run(&self, bed: &Bed) -> Result<(Duration, Child)> {
        let already = self.started()?;
        let before = Instant::now();
        let mut runner = bed
            .piton(&self.folder, &["run", "sprint", "--agent", "./stay.sh"])
            .spawn()?;
        loop {
            if self.started()? > already {
                return Ok((before.elapsed(), runner));
            }
            if before.elapsed() > PATIENCE || runner.try_wait()?.is_some() {
                runner.kill()?;
                runner.wait()?;
                return Err("`piton run` started no agent".into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Ends the last runner, which ends its agent.
    fn stop(&self, mut runner: Child) -> Result<()> {
        let mut kill = Command::new("kill");
        kill.arg("-TERM").arg(runner.id().to_string()).status()?;
        runner.wait()?;
        Ok(())
    }
}

/// P10: from `piton run` after kill -9 to the next agent.
pub(super) fn recovery(bed: &Bed) -> Result<Vec<Figure>> {
    let nodes = bed.size.pick(20, 10_000);
    let stuck = Stuck::make(bed, nodes)?;
    let (first, mut runner) = stuck.run(bed)?;
    let (mut again, mut status) = (Samples::default(), Samples::default());
    for _ in 0..bed.size.pick(1, 7) {
        // SIGKILL: the agent lives on, and the next runner has to end it.
        runner.kill()?;
        runner.wait()?;
        status.push(time(&mut bed.piton(&stuck.folder, &["status"]))?);
        let took;
        (took, runner) = stuck.run(bed)?;
        again.push(took);
    }
    stuck.stop(runner)?;
    let baseline = format!("piton status of {nodes} nodes");
    let mut once = Samples::default();
    once.push(first);
    let mut begun = Figure::aside(
        "",
        ("the first agent, compiling and planning first", &once),
        (&baseline, &status),
    );
    begun.ratio = Ratio::once(once.median(), status.median());
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
