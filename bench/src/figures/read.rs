//! P5: what people ask for all day.

use std::path::Path;

use super::paired_unit::PairedUnit;
use crate::bed::{Bed, time};
use crate::figure::{Figure, counted};
use crate::sample::{Subject, take_turns};
use crate::sprint::{self, ANSWERING_AGENT, Shape};
use crate::{Result, fill};

/// Reads, beside a process that does nothing.
const READS: [&[&str]; 4] = [&["--version"], &["recent", "20"], &["status"], &["inbox"]];

/// P5: reads by a fresh process beside a process that does nothing.
pub(super) fn at_rest(bed: &Bed) -> Result<Vec<Figure>> {
    let folder = fill::project(bed, bed.size.pick(20, 100_000))?;
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for args in READS {
        let folder = folder.clone();
        subjects.push(Box::new(move || time(&mut bed.piton(&folder, args))));
    }
    let samples = take_turns(bed.size.pick(2, 61), &mut subjects)?;
    let figure = |nth: usize| {
        let what = format!("piton {}", READS[nth].join(" "));
        Figure::at_most(
            2.0,
            "P5",
            (&what, &samples[nth]),
            ("piton --version", &samples[0]),
        )
    };
    Ok((1..READS.len()).map(figure).collect())
}

/// P5 for a comparison, with a run of 40 nodes of which one is done.
pub(super) fn paired<'b>(bed: &'b Bed, filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let (events, nodes) = (bed.size.pick(20, 10_000), bed.size.pick(2, 40));
    let folder = fill::project_by_program(bed, filler, events)?;
    sprint::write(&folder, Path::new("sprint"), nodes, Shape::Single)?;
    sprint::write_answering_agent(&folder)?;
    let mut begin = bed.piton(
        &folder,
        &["run", "sprint", "--agent", ANSWERING_AGENT, "--trust"],
    );
    begin.arg("--once").status()?;
    // Without a run there is nothing to show.
    time(&mut bed.piton(&folder, &["status", "2026-01-15_bench"]))?;
    let unit = |args: &'static [&'static str]| {
        let folder = folder.clone();
        let what = match args {
            ["--version"] => "piton --version".to_owned(),
            _ => format!("piton {} at {} events", args.join(" "), counted(events)),
        };
        let subject = Box::new(move || time(&mut bed.piton(&folder, args)));
        PairedUnit::new("P5", what, subject).repeated(bed.size.pick(1, 5))
    };
    Ok(READS.into_iter().map(unit).collect())
}
