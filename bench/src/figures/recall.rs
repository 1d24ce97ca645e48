//! P6: what a recall costs among a hundred thousand memories.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use piton_core::Command;
use piton_core::id::CommandId;
use piton_core::memory::{Memory, MemoryKind};
use serde_json::json;
use uuid::Uuid;

use super::paired_unit::PairedUnit;
use crate::bed::{Bed, time};
use crate::figure::{Figure, counted};
use crate::sample::{Subject, take_turns};
use crate::{Result, event, fill};

/// Words that every project has.
const COMMON: [&str; 24] = [
    "error", "test", "build", "server", "request", "failed", "file", "module", "config", "cache",
    "user", "table", "value", "update", "client", "worker", "queue", "timeout", "version", "path",
    "branch", "index", "token", "deploy",
];
/// How many names there are that few memories hold.
const NAMES: usize = 20_000;
/// So many memories are kept at once.
const CHUNK: usize = 1_000;

/// A number that looks drawn: the same for the same place.
fn drawn(place: usize, below: usize) -> usize {
    let mut mixed = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 29;
    mixed = mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 32)) % below
}

fn common(place: usize) -> &'static str {
    // The first ones are the most frequent.
    let at = drawn(place, COMMON.len()).min(drawn(place + 7, COMMON.len()));
    COMMON[at]
}

fn name(place: usize) -> String {
    let number = drawn(place, NAMES);
    match number % 3 {
        0 => format!("load_{number:05}"),
        1 => format!("Handler{number:05}"),
        _ => format!("src/part{}/step_{number:05}.rs", number % 40),
    }
}

fn sentence(place: usize, words: usize) -> String {
    let word = |nth: usize| {
        let at = place * 64 + nth;
        if nth % 5 == 2 {
            name(at)
        } else {
            common(at).to_owned()
        }
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

fn memory(number: usize) -> Memory {
    Memory {
        title: Some(sentence(number * 3, 7)),
        context: Some(sentence(number * 3 + 1, 4)),
        external_id: Some(format!("m-{number}")),
        ..Memory::new(MemoryKind::ResolvedBlocker, sentence(number * 3 + 2, 36))
    }
}

/// What a tool says of a failure that one of the memories is about.
fn failure(number: usize) -> String {
    let mut text = String::new();
    for line in 0..18 {
        text += &format!("   Compiling part{line} v0.{line}.1\n");
    }
    text + &format!(
        "error: {}\n  --> {}\n",
        sentence(number * 3, 7),
        name(number)
    )
}

/// A project whose memory holds so much.
fn project(bed: &Bed, memories: usize) -> Result<PathBuf> {
    let folder = bed.project(&format!("memories-{memories}"))?;
    let home = fill::empty_home(bed, &folder)?;
    fill::create(&home)?;
    let store = fill::open(&home)?;
    let numbers: Vec<usize> = (0..memories).collect();
    for chunk in numbers.chunks(CHUNK) {
        let chunk = chunk.iter().map(|number| memory(*number)).collect();
        let id = CommandId(Uuid::now_v7());
        store.commit(id, &Command::ImportMemories(chunk), &event::facts())?;
    }
    Ok(folder)
}

fn recalls<'b>(bed: &'b Bed, folder: &Path, texts: Vec<String>) -> Subject<'b> {
    let folder = folder.to_owned();
    let mut turn = 0;
    Box::new(move || {
        let text = &texts[turn % texts.len()];
        turn += 1;
        let mut command = bed.piton(&folder, &["recall", "-", "--json"]);
        let begun = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(text.as_bytes())?;
        }
        if !child.wait()?.success() {
            return Err("piton recall failed".into());
        }
        Ok(begun.elapsed())
    })
}

/// P6: recall by a fresh process beside a process that does nothing.
pub(super) fn among_many(bed: &Bed) -> Result<Vec<Figure>> {
    let count = bed.size.pick(50, 100_000);
    let folder = project(bed, count)?;
    let failures = (0..21).map(|nth| failure(drawn(nth, count))).collect();
    let common = vec![COMMON.join(" ")];
    let version = {
        let folder = folder.clone();
        move || time(&mut bed.piton(&folder, &["--version"]))
    };
    let mut subjects: Vec<Subject<'_>> = vec![
        Box::new(version),
        recalls(bed, &folder, failures),
        recalls(bed, &folder, common),
    ];
    let samples = take_turns(bed.size.pick(2, 42), &mut subjects)?;
    let figure = |budget, what, nth: usize| {
        Figure::at_most(
            budget,
            "P6",
            (what, &samples[nth]),
            ("piton --version", &samples[0]),
        )
    };
    Ok(vec![
        figure(10.0, "piton recall, of 100,000", 1),
        figure(30.0, "the same, common words only", 2),
    ])
}

/// The line of `piton learn import` for a memory.
fn line_of_memory(number: usize) -> String {
    let memory = memory(number);
    let line = json!({
        "id": memory.external_id,
        "kind": "resolved-blocker",
        "title": memory.title,
        "context": memory.context,
        "content": memory.content,
    });
    format!("{line}\n")
}

/// P6 for a comparison.
pub(super) fn paired<'b>(bed: &'b Bed, _filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let count = bed.size.pick(50, 10_000);
    let folder = bed.project("memories")?;
    let lines: String = (0..count).map(line_of_memory).collect();
    fs::write(folder.join("memory.jsonl"), lines)?;
    time(&mut bed.piton(&folder, &["learn", "import", "memory.jsonl"]))?;
    let failures = (0..21).map(|nth| failure(drawn(nth, count))).collect();
    let what = format!("piton recall, of {}", counted(count));
    let unit = PairedUnit::new("P6", what, recalls(bed, &folder, failures));
    Ok(vec![unit.repeated(bed.size.pick(1, 3))])
}
