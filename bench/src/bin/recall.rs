//! `recall MEMORY QUERIES`: how well recall answers queries whose answers are
//! known. What else it takes: [`USAGE`].

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;
use piton_bench::Result;
use piton_bench::recall::data::{self, Query, Ranking};
use piton_bench::recall::figures::{Figures, figures};
use piton_bench::recall::fit;
use piton_bench::recall::ranking::{Answer, answers};
use piton_core::recall::advise::{ADVISE_FROM, Features};

const USAGE: &str = "usage: recall MEMORY.jsonl QUERIES.jsonl [--beside RANKING.jsonl]... [--write RANKING.jsonl] [--unseen RANKING.jsonl] [--misses] [--fit]

--beside  print the figures of a ranking that somebody else made, too
--write   write the ranking for `score.py`, decided by the weights in use
--unseen  the same, decided by weights that were fitted on the other projects
--misses  list what is not answered as it should be, and why
--fit     print the weights fitted on all of it";

#[derive(Default)]
struct Asked {
    files: Vec<PathBuf>,
    beside: Vec<PathBuf>,
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
    let memories: Vec<data::Memory> = data::load(memories)?;
    let queries: Vec<Query> = data::load(queries)?;
    let now = memories.iter().map(|memory| memory.created_at).max();
    let answers = answers(&memories, &queries, now.unwrap_or(Timestamp::UNIX_EPOCH));
    let used: Vec<Ranking> = answers
        .iter()
        .map(|answer| answer.ranking(answer.recall.advise))
        .collect();
    let chances = fit::unseen(&answers);
    let decided = answers.iter().zip(&chances);
    let unseen: Vec<Ranking> = decided
        .map(|(answer, chance)| answer.ranking(*chance >= ADVISE_FROM))
        .collect();

    println!("{}", heading());
    for path in &asked.beside {
        let rankings: Vec<Ranking> = data::load(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        println!("{}", row(&name, &figures(queries.iter(), &rankings)));
    }
    println!("{}", row("weights in use", &figures(queries.iter(), &used)));
    println!(
        "{}",
        row("fitted on others", &figures(queries.iter(), &unseen))
    );
    by("difficulty", &queries, &unseen, |query| &query.difficulty);
    by("source", &queries, &unseen, |query| &query.source);
    by("project", &queries, &unseen, |query| &query.project);
    levels(&answers, &chances);
    if asked.fit {
        let weights = fit::fit(answers.iter());
        println!("\nbias {:.3}", weights.bias);
        for (name, weight) in Features::NAMES.iter().zip(weights.features) {
            println!("{name:<16} {weight:.3}");
        }
    }
    if asked.misses {
        misses(&memories, &answers, &chances);
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

fn heading() -> String {
    format!(
        "{:<20} {:>7} {:>8} {:>8} {:>6} {:>6} {:>6} {:>7} {:>6}",
        "", "queries", "recall@1", "recall@3", "MRR", "nDCG", "wrong", "silent", "right"
    )
}

fn row(name: &str, figures: &Figures) -> String {
    format!(
        "{name:<20} {:>7} {:>8.3} {:>8.3} {:>6.3} {:>6.3} {:>6.3} {:>7.3} {:>6.3}",
        figures.answerable + figures.unanswerable,
        figures.recall_1,
        figures.recall_3,
        figures.mrr,
        figures.ndcg,
        figures.wrong,
        figures.silent,
        figures.right
    )
}

/// The figures of each part of the queries.
fn by(what: &str, queries: &[Query], rankings: &[Ranking], part: impl Fn(&Query) -> &str) {
    println!("\nby {what}");
    let mut parts: Vec<&str> = Vec::new();
    for query in queries {
        if !parts.contains(&part(query)) {
            parts.push(part(query));
        }
    }
    for name in parts {
        let those = queries.iter().filter(|query| part(query) == name);
        println!("{}", row(name, &figures(those, rankings)));
    }
}

/// What other levels than the one in use would give.
fn levels(answers: &[Answer<'_>], chances: &[f64]) {
    println!("\nadvise from a chance of");
    for level in [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8] {
        let decided = answers.iter().zip(chances);
        let rankings: Vec<Ranking> = decided
            .map(|(answer, chance)| answer.ranking(*chance >= level))
            .collect();
        let queries = answers.iter().map(|answer| answer.query);
        println!(
            "{}",
            row(&format!("{level:.2}"), &figures(queries, &rankings))
        );
    }
}

/// What is not answered as it should be.
fn misses(memories: &[data::Memory], answers: &[Answer<'_>], chances: &[f64]) {
    for (answer, chance) in answers.iter().zip(chances) {
        let (query, results) = (answer.query, &answer.recall.results);
        let advise = *chance >= ADVISE_FROM;
        let what = match (query.relevant.is_empty(), advise, answer.helps()) {
            (true, true, _) => "advice where nothing helps",
            (false, _, false) => "what helps is not among the first three",
            (false, false, true) => "found, and not said",
            (true, false, _) | (false, true, true) => continue,
        };
        println!(
            "\n{} {} {} {chance:.2}: {what}",
            query.id, query.difficulty, query.source
        );
        println!("  {}", query.why);
        for relevant in &query.relevant {
            let place = results.iter().position(|found| found.id == relevant.id);
            let place = place.map_or("nowhere".to_owned(), |place| format!("at {}", place + 1));
            println!(
                "  helps: {} {place}: {}",
                relevant.id,
                title(memories, &relevant.id)
            );
        }
        for found in results.iter().take(3) {
            println!(
                "  found: {:.1} {} {} [{}]",
                found.score,
                found.id,
                title(memories, &found.id),
                found.why.join(", ")
            );
        }
    }
}

fn title<'a>(memories: &'a [data::Memory], id: &str) -> &'a str {
    let memory = memories.iter().find(|memory| memory.id == id);
    memory.map_or("", |memory| memory.title.as_str())
}

fn lines(rankings: &[Ranking]) -> Result<String> {
    let mut text = String::new();
    for ranking in rankings {
        text += &serde_json::to_string(ranking)?;
        text.push('\n');
    }
    Ok(text)
}
