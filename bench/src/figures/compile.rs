//! P8: from SPRINT.yaml to PROGRESS.yaml.

use std::path::PathBuf;

use super::paired_unit::PairedUnit;
use crate::Result;
use crate::bed::{Bed, time};
use crate::figure::{Figure, counted};
use crate::sample::{Subject, take_turns};
use crate::sprint::{self, Shape};

fn compile_it(bed: &Bed, folder: PathBuf) -> Subject<'_> {
    Box::new(move || time(&mut bed.piton(&folder, &["plan", "compile", "sprint", "-o", "-"])))
}

/// P8: a sprint of 1,000 lines beside a process that does nothing, and ten
/// times as many steps beside the tenth.
pub(super) fn compile(bed: &Bed) -> Result<Vec<Figure>> {
    let lines = bed.size.pick(50, 1_000);
    let folder = sprint::project(bed, sprint::steps_of(lines), Shape::Workflow)?;
    let nothing = folder.clone();
    let mut subjects: Vec<Subject<'_>> = vec![
        Box::new(move || time(&mut bed.piton(&nothing, &["--version"]))),
        compile_it(bed, folder),
    ];
    let short = take_turns(bed.size.pick(2, 41), &mut subjects)?;
    let (few, many) = (bed.size.pick(10, 1_000), bed.size.pick(20, 10_000));
    let mut subjects = vec![
        compile_it(bed, sprint::project(bed, few, Shape::Workflow)?),
        compile_it(bed, sprint::project(bed, many, Shape::Workflow)?),
    ];
    let long = take_turns(bed.size.pick(1, 9), &mut subjects)?;
    let what = format!("compile of {lines} lines");
    let (of_many, of_few) = (
        format!("compile of {many} steps"),
        format!("of {few} steps"),
    );
    Ok(vec![
        Figure::at_most(
            4.0,
            "P8",
            (&what, &short[1]),
            ("piton --version", &short[0]),
        ),
        Figure::at_most(12.0, "P8", (&of_many, &long[1]), (&of_few, &long[0])),
    ])
}

/// P8 for a comparison.
pub(super) fn paired<'b>(bed: &'b Bed, _filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let lines = bed.size.pick(50, 1_000);
    let few = sprint::project(bed, sprint::steps_of(lines), Shape::Workflow)?;
    let steps = bed.size.pick(20, 2_000);
    let many = sprint::project(bed, steps, Shape::Workflow)?;
    let of_lines = format!("compile of {} lines", counted(lines));
    let of_steps = format!("compile of {} steps", counted(steps));
    Ok(vec![
        PairedUnit::new("P8", of_lines, compile_it(bed, few)).repeated(bed.size.pick(1, 5)),
        PairedUnit::new("P8", of_steps, compile_it(bed, many)).repeated(bed.size.pick(1, 2)),
    ])
}
