//! P1 and P2: one event by a fresh process.

use std::path::PathBuf;

use super::paired_unit::PairedUnit;
use crate::bed::{Bed, Size, time};
use crate::figure::{Figure, counted, seconds};
use crate::floor::FloorProgram;
use crate::sample::{Subject, take_turns};
use crate::{Result, event, fill, seed000};

fn log(bed: &Bed, folder: PathBuf) -> Subject<'_> {
    let arguments = event::arguments();
    Box::new(move || time(bed.command(&bed.piton, &folder).args(&arguments)))
}

/// P1: `piton log` beside the floor program, and that it costs the same
/// whatever the store holds.
pub(super) fn flat(bed: &Bed) -> Result<Vec<Figure>> {
    let sizes: &[usize] = match bed.size {
        Size::Small => &[0, 20],
        Size::Ordinary => &[0, 1_000, 10_000, 100_000],
        Size::Large => &[0, 1_000, 10_000, 100_000, 1_000_000],
    };
    let plain = bed.folder("floor")?;
    let line = plain.join("line");
    let program = FloorProgram::build(bed)?;
    let mut subjects: Vec<Subject<'_>> = vec![
        Box::new(|| time(&mut program.command(bed, &line))),
        Box::new(|| time(&mut bed.piton(&plain, &["--version"]))),
    ];
    for events in sizes {
        subjects.push(log(bed, fill::project(bed, *events)?));
    }
    let samples = take_turns(bed.size.pick(2, 61), &mut subjects)?;
    let (floor, version, logs) = (&samples[0], &samples[1], &samples[2..]);
    let baseline = program.name();
    let mut figures: Vec<Figure> = sizes
        .iter()
        .zip(logs)
        .map(|(events, samples)| {
            let what = format!("piton log at {} events", counted(*events));
            Figure::at_most(2.5, "P1", (&what, samples), (baseline, floor)).because(format!(
                "starting piton and nothing else (`--version`) takes {}, {:.2} times the whole floor program",
                seconds(version.median()),
                version.median() / floor.median()
            ))
        })
        .collect();
    if let [.., last] = sizes
        && let [_, thousand, .., largest] = logs
    {
        let what = format!("piton log at {} events", counted(*last));
        figures.push(Figure::at_most(
            1.2,
            "P1",
            (&what, largest),
            ("the same at 1,000", thousand),
        ));
    }
    figures.push(Figure::aside(
        "",
        ("piton --version", version),
        (baseline, floor),
    ));
    Ok(figures)
}

/// P2: `piton log` beside today's practice.
pub(super) fn practice(bed: &Bed) -> Result<Vec<Figure>> {
    let cases: &[(usize, usize, f64)] = match bed.size {
        Size::Small => &[(20, 2, 15.0)],
        Size::Ordinary | Size::Large => &[(10_000, 21, 15.0), (100_000, 11, 120.0)],
    };
    let mut figures = Vec::new();
    for &(entries, rounds, budget) in cases {
        let practice = bed.folder("practice")?;
        seed000::save(&practice, &seed000::filled(entries))?;
        let mut number = entries;
        let mut subjects: Vec<Subject<'_>> = vec![
            log(bed, fill::project(bed, entries)?),
            Box::new(|| {
                number += 1;
                let mut command = bed.command(&bed.seed000, &practice);
                time(command.arg(&practice).arg(number.to_string()))
            }),
        ];
        let samples = take_turns(rounds, &mut subjects)?;
        let what = format!("piton log at {} events", counted(entries));
        let baseline = format!("seed 000 at {} entries", counted(entries));
        figures.push(Figure::at_least(
            budget,
            "P2",
            (&what, &samples[0]),
            (&baseline, &samples[1]),
        ));
    }
    Ok(figures)
}

/// P1 for a comparison: what is recorded all day.
pub(super) fn paired<'b>(bed: &'b Bed, filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let events = bed.size.pick(20, 10_000);
    let at = format!("at {} events", counted(events));
    let folder = fill::project_by_program(bed, filler, events)?;
    let recorded = fill::project_by_program(bed, filler, events)?;
    let mut number = 0;
    let record: Subject<'b> = Box::new(move || {
        number += 1;
        time(&mut event::record(bed, &recorded, number))
    });
    Ok(vec![
        PairedUnit::new("P1", format!("piton log {at}"), log(bed, folder))
            .repeated(bed.size.pick(1, 5)),
        PairedUnit::new("P1", format!("piton record {at}"), record).repeated(bed.size.pick(1, 5)),
    ])
}
