//! P7: what keeping a native file up to date costs, large and small.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use piton_core::id::CommandId;
use uuid::Uuid;

use super::paired_unit::PairedUnit;
use crate::bed::{Bed, Size, time};
use crate::figure::Figure;
use crate::sample::{Subject, take_turns};
use crate::{Result, event, fill, seed000, trace};

/// How many entries a file of about so many bytes has.
fn count_in(bytes: usize) -> Result<usize> {
    let one = serde_json::to_vec_pretty(&seed000::filled(1))?.len();
    let many = serde_json::to_vec_pretty(&seed000::filled(101))?.len();
    Ok(bytes * 100 / (many - one))
}

/// A file of so many entries, of many features.
fn filled(count: usize) -> seed000::Progress {
    let entry = |number: usize| {
        let feature = format!("{}-{:05}", event::SPEC, number / event::ITERATIONS);
        let iteration = number % event::ITERATIONS + 1;
        seed000::Entry {
            id: format!("{feature}-{iteration}"),
            prd_id: feature,
            ..seed000::entry(iteration)
        }
    };
    seed000::Progress {
        project_name: "bench".to_owned(),
        entries: (0..count).map(entry).collect(),
        ..seed000::filled(0)
    }
}

/// A file of about so many bytes.
pub(super) fn filled_to(bytes: usize) -> Result<seed000::Progress> {
    Ok(filled(count_in(bytes)?))
}

/// A project that has adopted a `.ralph/progress.json` of so many entries.
fn adopted(bed: &Bed, name: &str, count: usize) -> Result<PathBuf> {
    let folder = bed.project(name)?;
    fs::create_dir(folder.join(".ralph"))?;
    seed000::save(&folder.join(".ralph"), &filled(count))?;
    time(&mut bed.piton(&folder, &["init", "--yes"]))?;
    Ok(folder)
}

/// Stops keeping the file up to date, as the answer to a decision does.
fn turn_off(folder: &Path) -> Result<()> {
    let store = fill::open(&fill::home(folder))?;
    let command = piton_core::Command::TurnFace {
        path: ".ralph/progress.json".to_owned(),
        face: "ralph-json".to_owned(),
        on: false,
    };
    store.commit(CommandId(Uuid::now_v7()), &command, &event::facts())?;
    Ok(())
}

fn recorded(bed: &Bed, folder: PathBuf) -> Subject<'_> {
    let mut number = 0;
    Box::new(move || {
        number += 1;
        time(&mut event::record(bed, &folder, number))
    })
}

fn practice(bed: &Bed, folder: PathBuf, entries: usize) -> Subject<'_> {
    let mut number = entries;
    Box::new(move || {
        number += 1;
        let mut command = bed.command(&bed.seed000, &folder);
        time(command.arg(&folder).arg(number.to_string()).arg("flush"))
    })
}

/// P1's last sentence: what a small native file adds to `piton log`.
pub(super) fn small(bed: &Bed) -> Result<Vec<Figure>> {
    let off = bed.project("file-none")?;
    let on = bed.project("file-small")?;
    time(&mut bed.piton(&on, &["init", "--yes", "--with", "agent-os"]))?;
    let log = |folder: &Path| {
        let mut command = bed.command(&bed.piton, folder);
        command.args(event::arguments());
        command
    };
    let mut counts = Vec::new();
    for folder in [&off, &on] {
        time(&mut log(folder))?;
        counts.push(trace::count_calls(bed, &log(folder))?.map(|calls| calls.flushes));
    }
    if !on.join(".agent-os/progress/progress.json").is_file() {
        return Err("the small file is not kept up to date".into());
    }
    let said = match counts.as_slice() {
        [Some(without), Some(with)] => {
            format!("flushes of one `piton log`: {without} without it, {with} with it")
        }
        _ => "skipped: flushes are not counted, because strace is not there".to_owned(),
    };
    writeln!(io::stderr(), "  {said}")?;
    let mut subjects: Vec<Subject<'_>> = vec![
        Box::new(|| time(&mut log(&off))),
        Box::new(|| time(&mut log(&on))),
    ];
    let samples = take_turns(bed.size.pick(2, 41), &mut subjects)?;
    let (plain, kept) = (("with no file kept", &samples[0]), &samples[1]);
    let figure = Figure::aside("P1", ("piton log, a small file kept", kept), plain);
    Ok(vec![figure.because(said)])
}

/// What the file of a project holds, after all that was recorded.
fn shows_all(folder: &Path, entries: usize) -> Result<()> {
    let held = seed000::load(&folder.join(".ralph"))?.entries.len();
    if held == entries {
        Ok(())
    } else {
        Err(format!("the file holds {held} entries and not {entries}").into())
    }
}

/// P7: a large file of seed 000, kept up to date beside the journal.
pub(super) fn large(bed: &Bed) -> Result<Vec<Figure>> {
    let (bytes, less) = match bed.size {
        Size::Small => (256_000, 64_000),
        Size::Ordinary | Size::Large => (60_000_000, 6_000_000),
    };
    let rounds = bed.size.pick(2, 15);
    let count = count_in(bytes)?;
    let folder = adopted(bed, "file-large", count)?;
    let smaller = adopted(bed, "file-less", count_in(less)?)?;
    // The same journal, and nothing to keep up to date.
    let off = adopted(bed, "file-off", count)?;
    turn_off(&off)?;
    let plain = bed.folder("practice-large")?;
    seed000::save(&plain, &filled(count))?;
    let mut subjects = vec![
        practice(bed, plain, count),
        recorded(bed, folder.clone()),
        recorded(bed, smaller),
        recorded(bed, off),
    ];
    let samples = take_turns(rounds, &mut subjects)?;
    drop(subjects);
    // One round is not counted.
    shows_all(&folder, count + rounds + 1)?;
    let [practice, large, less_of_it, off] = samples.as_slice() else {
        return Err("four subjects have four samples".into());
    };
    let sized = |bytes: usize| match bytes {
        0..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    };
    let what = format!("piton record, a file of {} kept", sized(bytes));
    Ok(vec![
        Figure::at_least(
            8.0,
            "P7",
            (&what, large),
            ("seed 000 with fsync, the same size", practice),
        ),
        Figure::aside(
            "",
            (&what, large),
            (&format!("the same at {}", sized(less)), less_of_it),
        ),
        Figure::aside("", (&what, large), ("the same with no file kept", off)),
    ])
}

/// P7 for a comparison.
pub(super) fn paired<'b>(bed: &'b Bed, _filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let bytes = bed.size.pick(64_000, 1_500_000);
    let folder = adopted(bed, "file-paired", count_in(bytes)?)?;
    let what = format!("piton record, a file of {} KB kept", bytes / 1_000);
    let unit = PairedUnit::new("P7", what, recorded(bed, folder));
    Ok(vec![unit.repeated(bed.size.pick(1, 2))])
}
