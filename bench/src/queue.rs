//! Many writers at once: each a process of its own, which is this program again.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bed::Bed;
use crate::{Result, fill};

/// The argument that makes this program one of the writers.
pub const WORD: &str = "append-to-store";

/// One of the writers: waits for the end of its stdin, so that all begin at
/// once, appends, and says how many were acknowledged and what the longest
/// wait was, in microseconds.
///
/// # Errors
///
/// When the store fails.
pub fn writer(home: &Path, events: usize) -> Result<()> {
    let store = fill::open(home)?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    let mut longest = Duration::ZERO;
    for number in 0..events {
        let before = Instant::now();
        fill::log(&*store, number)?;
        longest = longest.max(before.elapsed());
    }
    writeln!(io::stdout().lock(), "{events} {}", longest.as_micros())?;
    Ok(())
}

/// What so many writers came to.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    /// Acknowledged in all.
    pub acknowledged: usize,
    /// From the word to begin until the last one was done.
    pub took: Duration,
    /// The longest that anybody waited for one event.
    pub longest: Duration,
}

/// Lets so many processes append to one store at once.
///
/// # Errors
///
/// When one of them fails.
pub fn together(bed: &Bed, home: &Path, writers: usize, events: usize) -> Result<Together> {
    let mut children = Vec::new();
    for _ in 0..writers {
        let mut command = bed.command(&bed.own, home);
        command.arg(WORD).arg(home).arg(events.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        children.push(command.spawn()?);
    }
    // Until each has opened the store.
    std::thread::sleep(Duration::from_millis(100));
    let before = Instant::now();
    for child in &mut children {
        drop(child.stdin.take());
    }
    let mut sum = Together {
        acknowledged: 0,
        took: Duration::ZERO,
        longest: Duration::ZERO,
    };
    for mut child in children {
        let mut said = String::new();
        if let Some(mut out) = child.stdout.take() {
            out.read_to_string(&mut said)?;
        }
        if !child.wait()?.success() {
            return Err("a writer failed".into());
        }
        let (acknowledged, longest) = said.trim().split_once(' ').ok_or("a writer said nothing")?;
        sum.acknowledged += acknowledged.parse::<usize>()?;
        sum.longest = sum.longest.max(Duration::from_micros(longest.parse()?));
    }
    sum.took = before.elapsed();
    Ok(sum)
}

/// A home with an empty store.
///
/// # Errors
///
/// When it cannot be made.
pub fn home(bed: &Bed) -> Result<std::path::PathBuf> {
    let home = bed.folder("queue")?;
    crate::fill::create(&home)?;
    fs::File::open(&home)?.sync_all()?;
    Ok(home)
}
