//! `recovery MEMORY QUERIES`: how many attempts items take, simulated. What
//! else it takes: [`USAGE`].

use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use piton_bench::Result;
use piton_bench::recall::data;
use piton_bench::recovery::project::projects;
use piton_bench::recovery::simulation::Person;
use piton_bench::recovery::{outcomes, piton_needs_fewest, report};
use serde_json::json;

const USAGE: &str = "usage: recovery MEMORY.jsonl QUERIES.jsonl [--seeds N] [--json]

--seeds   how many runs are simulated; 1000
--json    print the counts as JSON";

const SEEDS: u32 = 1_000;

struct Asked {
    files: Vec<PathBuf>,
    seeds: u32,
    as_json: bool,
}

fn main() -> Result<ExitCode> {
    let asked = asked(std::env::args().skip(1))?;
    let [memories, queries] = asked.files.as_slice() else {
        return Err(USAGE.into());
    };
    let projects = projects(data::load(memories)?, data::load(queries)?);
    let seeds = asked.seeds;
    let strict = outcomes(&projects, seeds, Person::Unknowing)?;
    let kind = outcomes(&projects, seeds, Person::Knowing)?;
    let mut out = stdout().lock();
    if asked.as_json {
        let all = json!({
            "seeds": seeds,
            "unknowing_person": report::json(&strict),
            "knowing_person": report::json(&kind),
        });
        writeln!(out, "{all:#}")?;
    } else {
        let title = format!("{seeds} seeds; the person who is asked does not know the memory");
        report::table(&mut out, &title, &strict)?;
        let title = format!("{seeds} seeds; whatever a person is asked about succeeds afterwards");
        report::table(&mut out, &title, &kind)?;
    }
    if piton_needs_fewest(&strict) {
        return Ok(ExitCode::SUCCESS);
    }
    let said = "piton does not need fewest attempts for a finished item";
    writeln!(std::io::stderr(), "{said}")?;
    Ok(ExitCode::FAILURE)
}

fn asked(mut arguments: impl Iterator<Item = String>) -> Result<Asked> {
    let mut asked = Asked {
        files: Vec::new(),
        seeds: SEEDS,
        as_json: false,
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seeds" => asked.seeds = arguments.next().ok_or(USAGE)?.parse()?,
            "--json" => asked.as_json = true,
            word if word.starts_with('-') => return Err(USAGE.into()),
            file => asked.files.push(file.into()),
        }
    }
    Ok(asked)
}
