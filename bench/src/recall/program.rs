//! Asks the program itself, as users do: a project of its own for each one of
//! the set, its memory imported, a call for each query.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use jiff::Timestamp;
use serde::Deserialize;
use tempfile::TempDir;

use super::data::{Query, Ranked, Ranking};
use crate::Result;

/// What `piton recall --json` says.
#[derive(Deserialize)]
struct Said {
    advise: bool,
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    external_id: Option<String>,
    score: f64,
}

/// What the program says to each query, as of a time.
///
/// # Errors
///
/// When it cannot be run, or fails.
pub fn rankings(
    program: &Path,
    memories: &Path,
    queries: &[Query],
    now: Timestamp,
) -> Result<Vec<Ranking>> {
    let program = std::path::absolute(program)?;
    let memories = std::path::absolute(memories)?;
    let projects: BTreeSet<&str> = queries.iter().map(|query| query.project.as_str()).collect();
    let mut rankings = Vec::new();
    for project in projects {
        let place = tempfile::tempdir()?;
        let import = ["learn", "import", "--project", project];
        let import = run(
            piton(&program, &place)
                .args(import)
                .arg(&memories)
                .stdin(Stdio::null()),
            "",
        )?;
        drop(import);
        for query in queries.iter().filter(|query| query.project == project) {
            let mut call = piton(&program, &place);
            call.args(["recall", "-", "--json", "--now", &now.to_string()]);
            let output = run(call.stdin(Stdio::piped()), &query.text)?;
            let said: Said = serde_json::from_slice(&output.stdout)?;
            let ranked = said.results.into_iter().filter_map(|found| {
                Some(Ranked {
                    id: found.external_id?,
                    score: found.score,
                })
            });
            rankings.push(Ranking {
                project: query.project.clone(),
                id: query.id.clone(),
                ranked: ranked.collect(),
                advise: said.advise,
            });
        }
    }
    Ok(rankings)
}

fn piton(program: &Path, place: &TempDir) -> Command {
    let mut command = Command::new(program);
    command.current_dir(place.path());
    command.env("PITON_PROJECT", place.path());
    command
}

fn run(command: &mut Command, text: &str) -> Result<Output> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{command:?} failed: {said}").into())
}
