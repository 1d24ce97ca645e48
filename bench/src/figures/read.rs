//! P5: what people ask for all day.

use crate::bed::{Bed, time};
use crate::figure::Figure;
use crate::sample::{Subject, take_turns};
use crate::{Result, fill};

/// P5: reads by a fresh process beside a process that does nothing.
pub(super) fn at_rest(bed: &Bed) -> Result<Vec<Figure>> {
    let folder = fill::project(bed, bed.size.pick(20, 100_000))?;
    let asks: [&[&str]; 4] = [&["--version"], &["recent", "20"], &["status"], &["inbox"]];
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for args in asks {
        let folder = folder.clone();
        subjects.push(Box::new(move || time(&mut bed.piton(&folder, args))));
    }
    let samples = take_turns(bed.size.pick(2, 61), &mut subjects)?;
    let figure = |nth: usize| {
        let what = format!("piton {}", asks[nth].join(" "));
        Figure::at_most(
            2.0,
            "P5",
            (&what, &samples[nth]),
            ("piton --version", &samples[0]),
        )
    };
    Ok((1..asks.len()).map(figure).collect())
}
