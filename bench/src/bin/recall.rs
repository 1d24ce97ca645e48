//! `recall MEMORY QUERIES`: how well recall answers queries whose answers are
//! known. What else it takes: [`USAGE`].

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;
use piton_bench::Result;
use piton_bench::recall::data::{self, Query, Ranking};
use piton_bench::recall::figures::figures;
use piton_bench::recall::fit;
use piton_bench::recall::program::rankings;
use piton_bench::recall::ranking::answers;
use piton_bench::recall::report::Report;
use piton_core::recall::advise::ADVISE_FROM;

const USAGE: &str = "usage: recall MEMORY.jsonl QUERIES.jsonl [--beside RANKING.jsonl]... [--write RANKING.jsonl] [--unseen RANKING.jsonl] [--through PITON] [--misses] [--fit]

--through ask this program, with a store of its own for each project
--beside  print the figures of a ranking that somebody else made, too
--write   write the ranking for `score.py`, decided by the weights in use
--unseen  the same, decided by weights that were fitted on the other projects
--misses  list what is not answered as it should be, and why
--fit     print the weights fitted on all of it";

#[derive(Default)]
struct Asked {
    files: Vec<PathBuf>,
    beside: Vec<PathBuf>,
    through: Option<PathBuf>,
    write: Option<PathBuf>,
    unseen: Option<PathBuf>,
    misses: bool,
    fit: bool,
}

fn main() -> Result<()> {
    let asked = asked(std::env::args().skip(1))?;
    let [memories, queries] = asked.files.as_slice() else {
        return Err(USAGE.into());
    };
    let set = memories;
    let memories: Vec<data::Memory> = data::load(set)?;
    let queries: Vec<Query> = data::load(queries)?;
    let now = memories.iter().map(|memory| memory.created_at).max();
    let now = now.unwrap_or(Timestamp::UNIX_EPOCH);
    let answers = answers(&memories, &queries, now);
    let used: Vec<Ranking> = answers
        .iter()
        .map(|answer| answer.ranking(answer.recall.advise))
        .collect();
    let chances = fit::unseen(&answers);
    let decided = answers.iter().zip(&chances);
    let unseen: Vec<Ranking> = decided
        .map(|(answer, chance)| answer.ranking(*chance >= ADVISE_FROM))
        .collect();

    let mut report = Report::new(std::io::stdout().lock());
    report.heading()?;
    for path in &asked.beside {
        let rankings: Vec<Ranking> = data::load(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        report.row(&name, &figures(queries.iter(), &rankings))?;
    }
    report.row("weights in use", &figures(queries.iter(), &used))?;
    if let Some(program) = &asked.through {
        let said = rankings(program, set, &queries, now)?;
        report.row("the program", &figures(queries.iter(), &said))?;
        if let Some(path) = &asked.write {
            fs::write(path.with_extension("program.jsonl"), lines(&said)?)?;
        }
    }
    report.row("fitted on others", &figures(queries.iter(), &unseen))?;
    report.by("difficulty", &queries, &unseen, |query| &query.difficulty)?;
    report.by("source", &queries, &unseen, |query| &query.source)?;
    report.by("project", &queries, &unseen, |query| &query.project)?;
    report.levels(&answers, &chances)?;
    if asked.fit {
        report.weights(&fit::fit(answers.iter()))?;
    }
    if asked.misses {
        report.misses(&memories, &answers, &chances)?;
    }
    for (path, rankings) in [(asked.write, used), (asked.unseen, unseen)] {
        if let Some(path) = path {
            fs::write(path, lines(&rankings)?)?;
        }
    }
    Ok(())
}

fn asked(mut arguments: impl Iterator<Item = String>) -> Result<Asked> {
    let mut asked = Asked::default();
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from).ok_or(USAGE);
        match argument.as_str() {
            "--beside" => asked.beside.push(path()?),
            "--through" => asked.through = Some(path()?),
            "--write" => asked.write = Some(path()?),
            "--unseen" => asked.unseen = Some(path()?),
            "--misses" => asked.misses = true,
            "--fit" => asked.fit = true,
            word if word.starts_with('-') => return Err(USAGE.into()),
            file => asked.files.push(file.into()),
        }
    }
    Ok(asked)
}

fn lines(rankings: &[Ranking]) -> Result<String> {
    let mut text = String::new();
    for ranking in rankings {
        text += &serde_json::to_string(ranking)?;
        text.push('\n');
    }
    Ok(text)
}
