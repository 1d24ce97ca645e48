//! P12: the memory of `piton run` over many attempts, and what is left behind.
//!
//! The agent is scripted: it prints what Claude Code prints, calls tools, leaves
//! processes behind now and then, and is read by the adapter `claude`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bed::Bed;
use crate::sprint::{self, Shape};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// So much of the run is for warming up; what comes after is compared.
const WARM_PERCENT: u64 = 20;
/// How much larger than in the first fifth after that it may be in the last.
const GROWTH_MAX: f64 = 1.1;

/// What was seen at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Attempts begun by then.
    pub attempts: u64,
    /// Resident memory, in bytes.
    pub resident: u64,
    /// Open files.
    pub files: usize,
    /// Threads.
    pub threads: usize,
}

/// What was seen of a run.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Moments, in their order.
    pub moments: Vec<Moment>,
    /// Attempts in all.
    pub attempts: u64,
    /// How long all of it took.
    pub took: Duration,
    /// Processes that its agents started and that are still there, by number.
    pub left: Vec<u32>,
}

/// Runs a plan of so many nodes, an attempt each, to its end.
///
/// # Errors
///
/// When it cannot be started, or does not end with status 0.
pub fn run(bed: &Bed, attempts: usize, out: &mut dyn Write) -> Result<Seen> {
    let folder = sprint::project(bed, attempts, Shape::Single)?;
    let config = "[agents.scripted]\nadapter = \"claude\"\nprogram = \"./agent.sh\"\n";
    fs::create_dir_all(folder.join(".piton"))?;
    fs::write(folder.join(".piton/config.toml"), config)?;
    sprint::script(&folder.join("agent.sh"), AGENT)?;
    fs::write(folder.join("begun"), "")?;
    let began = Instant::now();
    let mut command = bed.piton(
        &folder,
        &["run", "sprint", "--agent", "scripted", "--trust"],
    );
    let mut child = command.spawn()?;
    let mut moments: Vec<Moment> = Vec::new();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Some(moment) = look(&child, &folder) {
            let tenth = |moment: &Moment| moment.attempts * 10 / attempts.max(1) as u64;
            if moments
                .last()
                .is_none_or(|last| tenth(last) < tenth(&moment))
            {
                writeln!(out, "{moment}")?;
            }
            moments.push(moment);
        }
        std::thread::sleep(LOOK);
    };
    if !status.success() {
        return Err(format!("piton run ended with {status}").into());
    }
    Ok(Seen {
        moments,
        attempts: fs::metadata(folder.join("begun"))?.len(),
        took: began.elapsed(),
        left: left(&folder)?,
    })
}

/// Prints a stream with two calls. Each 20th leaves two processes behind, one
/// of them in a session of its own.
const AGENT: &str = r#"cat >/dev/null
printf x >>begun
n=$(wc -c <begun)
if [ $((n % 20)) = 0 ]; then sleep 600 & setsid sleep 600 & fi
s=11111111-2222-4333-8444-555555555555
echo '{"type":"system","subtype":"init","cwd":".","session_id":"'$s'","tools":["Bash"],"model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make '$n'"}}]},"session_id":"'$s'"}'
echo '{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"well","is_error":false}]},"session_id":"'$s'"}'
echo '{"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"Part '$n' is there."}]},"session_id":"'$s'"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Part '$n' is there.","stop_reason":"end_turn","session_id":"'$s'","total_cost_usd":0.01,"usage":{"input_tokens":10,"cache_creation_input_tokens":1,"cache_read_input_tokens":5,"output_tokens":4},"modelUsage":{"m":{"inputTokens":10,"outputTokens":4,"cacheReadInputTokens":5,"cacheCreationInputTokens":1,"costUSD":0.01}},"permission_denials":[]}'"#;

fn look(child: &Child, folder: &Path) -> Option<Moment> {
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let status = fs::read_to_string(process.join("status")).ok()?;
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(Moment {
        attempts: fs::metadata(folder.join("begun")).ok()?.len(),
        resident: number("VmRSS:")? * 1024,
        files: fs::read_dir(process.join("fd")).ok()?.count(),
        threads: usize::try_from(number("Threads:")?).ok()?,
    })
}

/// Who still runs in the folder of the project.
fn left(folder: &Path) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        let (Some(number), Ok(cwd)) = (number, fs::read_link(path.join("cwd"))) else {
            continue;
        };
        if cwd.starts_with(folder) {
            found.push(number);
        }
    }
    Ok(found)
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:>7} attempts  {:>7.1} MB resident  {} files  {} threads",
            self.attempts,
            self.resident as f64 / 1e6,
            self.files,
            self.threads
        )
    }
}

impl Seen {
    /// How much larger the memory was in the last fifth than in the first one
    /// after warming up: medians. None for a run that was too short to tell.
    #[must_use]
    pub fn growth(&self) -> Option<f64> {
        let part = |from: u64, to: u64| {
            let of = |percent: u64| self.attempts * percent / 100;
            let within = |moment: &&Moment| (of(from)..=of(to)).contains(&moment.attempts);
            let mut sizes: Vec<u64> = self
                .moments
                .iter()
                .filter(within)
                .map(|m| m.resident)
                .collect();
            sizes.sort_unstable();
            sizes.get(sizes.len() / 2).map(|size| *size as f64)
        };
        Some(part(80, 100)? / part(WARM_PERCENT, 2 * WARM_PERCENT)?)
    }

    /// Whether nothing grew and nothing was left behind.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.left.is_empty() && self.growth().is_some_and(|growth| growth <= GROWTH_MAX)
    }
}
