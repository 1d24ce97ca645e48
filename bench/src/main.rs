//! `cargo run -p piton-bench --release`: see `bench/README.md`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use jiff::Timestamp;
use piton_bench::bed::{Bed, Size};
use piton_bench::figure::{Figure, table};
use piton_bench::{Result, figures, queue};
use serde_json::json;

const USAGE: &str =
    "usage: piton-bench [--small | --large] [--only P1,P9] [--json FILE] [--dir FOLDER]

  --small        tiny sizes, to see that everything runs; nothing is judged
  --large        also 1,000,000 events and 10,000 nodes: takes long
  --only P1,P9   only these budgets
  --json FILE    also write the figures to FILE
  --dir FOLDER   measure there: its disk is what is measured [default: target/bench-data]

The variable PITON names the binary to measure; without it the one of this
workspace is built, and measured.";

#[derive(Debug)]
struct Args {
    size: Size,
    only: Vec<String>,
    json: Option<PathBuf>,
    dir: Option<PathBuf>,
}

impl Args {
    fn parse(words: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut args = Self {
            size: Size::Ordinary,
            only: Vec::new(),
            json: None,
            dir: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| format!("{word} needs a value\n{USAGE}"))
            };
            match word.as_str() {
                "--small" => args.size = Size::Small,
                "--large" => args.size = Size::Large,
                "--json" => args.json = Some(value()?.into()),
                "--dir" => args.dir = Some(value()?.into()),
                "--only" => args.only = value()?.split(',').map(str::to_uppercase).collect(),
                _ => return Err(USAGE.into()),
            }
        }
        let known = |id: &String| {
            figures::ALL
                .iter()
                .any(|(ids, _)| ids.contains(&id.as_str()))
        };
        if let Some(unknown) = args.only.iter().find(|id| !known(id)) {
            return Err(format!("{unknown} is not measured here").into());
        }
        Ok(args)
    }

    fn wants(&self, ids: &[&str]) -> bool {
        self.only.is_empty() || ids.iter().any(|id| self.only.iter().any(|only| only == id))
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [word, home, events] if word == queue::WORD => append(home, events),
        _ => Args::parse(words).and_then(|args| bench(&args)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is gone.
            writeln!(io::stderr(), "error: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn append(home: &str, events: &str) -> Result<()> {
    queue::writer(Path::new(home), events.parse()?)
}

fn bench(args: &Args) -> Result<()> {
    let piton = std::env::var_os("PITON").map(PathBuf::from);
    build(piton.is_none())?;
    let bed = Bed::new(args.size, piton, args.dir.clone())?;
    let mut all: Vec<Figure> = Vec::new();
    for (ids, measure) in figures::ALL {
        if args.wants(ids) {
            writeln!(io::stderr(), "measuring {} ...", ids.join(", "))?;
            all.extend(measure(&bed)?);
        }
    }
    let mut out = io::stdout().lock();
    if cfg!(debug_assertions) {
        writeln!(out, "a debug build: the ratios say little, use --release\n")?;
    }
    writeln!(out, "{}", table(&all, args.size))?;
    if let Some(path) = &args.json {
        std::fs::write(path, format!("{:#}\n", history(args.size, &all)))?;
    }
    Ok(())
}

fn history(size: Size, all: &[Figure]) -> serde_json::Value {
    let figures: Vec<_> = all.iter().map(|figure| figure.to_json(size)).collect();
    json!({
        "at": Timestamp::now(),
        "version": env!("CARGO_PKG_VERSION"),
        "size": size.word(),
        "debug": cfg!(debug_assertions),
        "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        "figures": figures,
    })
}

/// Builds what is measured, when cargo started this: it has only built this
/// program, and an old binary would be measured without anybody noticing.
fn build(with_piton: bool) -> Result<()> {
    let Some(cargo) = std::env::var_os("CARGO") else {
        return Ok(());
    };
    // One after another: together, each would be built with the other's features.
    let mut packages = vec!["piton-bench"];
    packages.extend(with_piton.then_some("piton"));
    for package in packages {
        let mut command = Command::new(&cargo);
        command.args(["build", "--quiet", "--bins", "-p", package]);
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        if !command.status()?.success() {
            return Err(format!("{package} cannot be built").into());
        }
    }
    Ok(())
}
