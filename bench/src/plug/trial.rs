//! The two trials: writers that are killed, and a disk that loses its power.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;

use piton_simkit::recorded_disk::{Flushes, RecordedDisk, STRACE};
use piton_simkit::seed::mix;

use super::Amounts;
use super::way::{Setting, Way};
use crate::Result;
use crate::bed::Bed;

/// The argument that makes this program one of the writers.
pub const WRITER: &str = "plug-writer";

/// Acknowledged records, and those of them that are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Acknowledged.
    pub acknowledged: usize,
    /// Of these, there.
    pub kept: usize,
}

impl Count {
    /// Those that are not there.
    #[must_use]
    pub fn lost(self) -> usize {
        self.acknowledged - self.kept
    }

    fn add(&mut self, acknowledged: &BTreeSet<usize>, stored: &BTreeSet<usize>) {
        self.acknowledged += acknowledged.len();
        self.kept += acknowledged.intersection(stored).count();
    }
}

/// What came of writers that were killed.
#[derive(Debug)]
pub struct Kills {
    /// Of all writers.
    pub count: Count,
    /// How many were killed.
    pub kills: usize,
    /// Whether what they left can be read.
    pub readable: bool,
}

/// What came of power cuts, each of which is looked at alone.
#[derive(Debug)]
pub struct Cuts {
    /// Over all cuts.
    pub count: Count,
    /// How many.
    pub cuts: usize,
    /// After so many what was left could not be read.
    pub unreadable: usize,
}

/// A writer: stores these records and prints each number, and whether it was
/// acknowledged.
///
/// # Errors
///
/// When it cannot print.
pub fn write_records(way: &Way, setting: &Setting<'_>, numbers: Range<usize>) -> Result<()> {
    let mut out = io::stdout().lock();
    for number in numbers {
        let word = match (way.save)(setting, number) {
            Ok(()) => "ack",
            Err(_) => "failed",
        };
        out.write_all(format!("{word} {number}\n").as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn writer(bed: &Bed, way: &Way, folder: &Path, numbers: &Range<usize>) -> Command {
    let mut command = bed.command(&bed.own, folder);
    command.arg(WRITER).arg(way.key).arg(folder).arg(&bed.piton);
    command.args([numbers.start.to_string(), numbers.end.to_string()]);
    command.stdout(Stdio::piped());
    command
}

/// A line of a writer: which one, and what it printed; none at its end.
type Heard = (usize, Option<String>);

/// A writer at work; a group of its own, so that what it started dies with it.
fn start(mut command: Command, nth: usize, heard: &Sender<Heard>) -> Result<Child> {
    let mut child = command.process_group(0).spawn()?;
    let out = child.stdout.take().ok_or("stdout is a pipe")?;
    let heard = heard.clone();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(io::Result::ok) {
            heard.send((nth, Some(line))).ok();
        }
        heard.send((nth, None)).ok();
    });
    Ok(child)
}

/// Lets writers work at once, kills one of them now and then, and starts it again
/// behind the record that it was at.
///
/// # Errors
///
/// When a writer cannot be started.
pub fn kill_writers(bed: &Bed, way: &Way, amounts: Amounts) -> Result<Kills> {
    let folder = bed.project("plug")?;
    let setting = Setting {
        folder: &folder,
        piton: &bed.piton,
    };
    (way.prepare)(&setting)?;
    let (sender, receiver) = mpsc::channel::<Heard>();
    let each = amounts.records / amounts.writers;
    let part = |nth| 1 + nth * each..1 + (nth + 1) * each;
    let mut left: Vec<Range<usize>> = (0..amounts.writers).map(part).collect();
    let mut children = Vec::new();
    for (nth, numbers) in left.iter().enumerate() {
        children.push(start(writer(bed, way, &folder, numbers), nth, &sender)?);
    }
    let mut acknowledged = BTreeSet::new();
    let (mut heard, mut kills, mut at_work) = (0, 0, amounts.writers);
    while at_work > 0 {
        let (nth, line) = receiver.recv()?;
        let Some(line) = line else {
            children[nth].wait()?;
            // The record that it was at may be there; it was not acknowledged.
            left[nth].start += usize::from(!left[nth].is_empty());
            if left[nth].is_empty() {
                at_work -= 1;
            } else {
                children[nth] = start(writer(bed, way, &folder, &left[nth]), nth, &sender)?;
            }
            continue;
        };
        let (word, number) = line.split_once(' ').ok_or("a word and a number")?;
        let number: usize = number.parse()?;
        left[nth].start = number + 1;
        acknowledged.extend((word == "ack").then_some(number));
        heard += 1;
        let victim = draw(heard, amounts.writers)?;
        if heard % amounts.records_a_kill == 0 && !left[victim].is_empty() {
            kills += usize::from(kill(bed, &children[victim])?);
        }
    }
    let stored = (way.read)(&setting);
    let mut count = Count::default();
    count.add(&acknowledged, &stored.numbers);
    Ok(Kills {
        count,
        kills,
        readable: stored.readable,
    })
}

/// A number below `end` that follows from a number.
fn draw(number: usize, end: usize) -> Result<usize> {
    let mixed = mix(u64::try_from(number)?);
    Ok(usize::try_from(mixed % u64::try_from(end)?)?)
}

/// Kills a writer and what it started.
fn kill(bed: &Bed, writer: &Child) -> Result<bool> {
    let group = format!("-{}", writer.id());
    let mut kill = bed.command(Path::new("kill"), &bed.cache);
    Ok(kill.args(["-KILL", "--", &group]).status()?.success())
}

/// Records one writer and cuts its power at moments of chance; none, said aloud,
/// where there is no strace.
///
/// # Errors
///
/// When what strace recorded cannot be repeated.
pub fn cut_power(bed: &Bed, way: &Way, amounts: Amounts) -> Result<Option<Cuts>> {
    let folder = bed.project("plug")?;
    let setting = Setting {
        folder: &folder,
        piton: &bed.piton,
    };
    (way.prepare)(&setting)?;
    let trace = bed.folder("trace")?.join("trace");
    let mut disk = RecordedDisk::before(&folder)?;
    let plain = writer(bed, way, &folder, &(1..1 + amounts.cut_records));
    let mut strace = bed.command(Path::new("strace"), &folder);
    strace.args(STRACE).arg("-o").arg(&trace);
    strace.arg(plain.get_program()).args(plain.get_args());
    // A pipe: what is printed is recorded as what was acknowledged.
    let recorded = strace.stdout(Stdio::piped()).output();
    if !recorded.is_ok_and(|output| output.status.success()) {
        crate::tell("skipped: power cuts take strace, and the right to trace")?;
        return Ok(None);
    }
    disk.record(BufReader::new(File::open(&trace)?))?;
    fs::remove_file(&trace)?;
    let (mut count, mut unreadable) = (Count::default(), 0);
    for nth in 0..amounts.cuts {
        let at = draw(nth, disk.len() + 1)?;
        let left = disk.cut(at, Flushes::Work, mix(u64::try_from(at)?));
        let acknowledged = acknowledged_in(&left.printed);
        let folder = bed.folder("cut")?;
        left.write_to(&folder)?;
        let stored = (way.read)(&Setting {
            folder: &folder,
            ..setting
        });
        unreadable += usize::from(!stored.readable);
        count.add(&acknowledged, &stored.numbers);
        fs::remove_dir_all(&folder)?;
    }
    Ok(Some(Cuts {
        count,
        cuts: amounts.cuts,
        unreadable,
    }))
}

fn acknowledged_in(printed: &str) -> BTreeSet<usize> {
    let numbers = printed.lines().map(|line| line.strip_prefix("ack "));
    numbers
        .flatten()
        .filter_map(|number| number.parse().ok())
        .collect()
}
