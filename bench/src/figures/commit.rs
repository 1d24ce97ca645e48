//! P3 and P4: commits in process, alone and with others.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use piton_core::id::StreamId;

use crate::bed::Bed;
use crate::figure::Figure;
use crate::floor::Preallocated;
use crate::sample::{Samples, Spread};
use crate::{Result, fill, queue};

/// When the database itself was written last: only a checkpoint does that.
fn written_back(home: &Path) -> Result<SystemTime> {
    Ok(fs::metadata(home.join("journal.db"))?.modified()?)
}

/// P3: one durable event in process beside one flush.
pub(super) fn in_process(bed: &Bed) -> Result<Vec<Figure>> {
    let home = fill::home(&fill::project(bed, bed.size.pick(20, 1_000))?);
    let store = fill::open(&home)?;
    let mut floor = Preallocated::create(&home.join("floor"))?;
    let (mut flushes, mut beside) = (Samples::default(), Samples::default());
    let (mut commits, mut checkpoints) = (Samples::default(), Samples::default());
    let rounds = bed.size.pick(60, 600);
    for number in 0..rounds {
        let flush = floor.flush()?;
        let before_it = written_back(&home)?;
        let before = Instant::now();
        fill::log(&*store, number)?;
        let took = before.elapsed();
        if written_back(&home)? == before_it {
            commits.push(took);
            flushes.push(flush);
        } else {
            checkpoints.push(took);
            beside.push(flush);
        }
    }
    let baseline = "floor flush";
    let mut figures = vec![
        Figure::at_most(
            6.0,
            "P3",
            ("commit of one event", &commits),
            (baseline, &flushes),
        )
        .because("a commit is one flush; the rest is SQLite, JSON, hashes and two locks"),
    ];
    if !checkpoints.is_empty() {
        let what = format!("commit with checkpoint, {} of {rounds}", checkpoints.len());
        figures.push(Figure::aside(
            "",
            (&what, &checkpoints),
            (baseline, &beside),
        ));
    }
    Ok(figures)
}

/// P4: many processes append at once.
pub(super) fn many_at_once(bed: &Bed) -> Result<Vec<Figure>> {
    let each = bed.size.pick(3, 200);
    let rounds = bed.size.pick(1, 3);
    let mut floor = Preallocated::create(&bed.folder("flushes")?.join("floor"))?;
    let mut flushes = Samples::default();
    let mut waits = [Samples::default(), Samples::default()];
    let mut per_event = [Samples::default(), Samples::default(), Samples::default()];
    for _ in 0..rounds {
        for _ in 0..50 {
            flushes.push(floor.flush()?);
        }
        for (nth, writers) in [1, 8, 16].into_iter().enumerate() {
            let home = queue::home(bed)?;
            // As many events each time, so that their rates compare.
            let events = if writers == 1 {
                each * 8
            } else {
                each * 16 / writers
            };
            let came = queue::together(bed, &home, writers, events)?;
            let stored = fill::open(&home)?.event_count(&StreamId::sessions())?;
            if stored != (writers * events) as u64 || came.acknowledged != writers * events {
                return Err(format!(
                    "{} were acknowledged and {stored} are stored, of {}",
                    came.acknowledged,
                    writers * events
                )
                .into());
            }
            per_event[nth].push(came.took.div_f64(came.acknowledged as f64));
            if let Some(at) = nth.checked_sub(1) {
                waits[at].push(came.longest);
            }
        }
    }
    let mut figures = Vec::new();
    for (writers, waits) in [8, 16].into_iter().zip(&waits) {
        let what = format!("longest wait, {writers} processes");
        let mut worst = Samples::default();
        worst.push(Duration::from_secs_f64(waits.longest()));
        let mut figure = Figure::at_most(400.0, "P4", (&what, &worst), ("floor flush", &flushes));
        figure.ratio = Spread::once(worst.median(), flushes.median());
        figures.push(figure);
    }
    figures.push(Figure::at_least(
        1.0,
        "P4",
        ("an event, 16 processes", &per_event[2]),
        ("an event, 1 process", &per_event[0]),
    ));
    Ok(figures)
}
