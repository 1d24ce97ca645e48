//! `cargo run -p piton-bench --release`: see `bench/README.md`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use jiff::Timestamp;
use piton_bench::bed::{Bed, Size};
use piton_bench::compare::{self, Sides};
use piton_bench::figure::{Figure, table};
use piton_bench::plug::way::{Setting, Way};
use piton_bench::{Result, figures, plug, queue};
use serde_json::{Value, json};

const USAGE: &str =
    "usage: piton-bench [--small | --large] [--only P1,P9] [--json FILE] [--dir FOLDER]
                   [--piton FILE] [--beside FILE [--pairs N]]
       piton-bench plug [--small] [--dir FOLDER] [--piton FILE]

  plug           what piton and other ways of saving lose: writers at once, kills,
                 power cuts; a table in Markdown

  --small        tiny sizes, to see that everything runs; nothing is judged
  --large        also 1,000,000 events and 10,000 nodes: takes long
  --only P1,P9   only these budgets
  --json FILE    also write the figures to FILE
  --dir FOLDER   measure there: its disk is what is measured [default: target/bench-data]
  --piton FILE   measure this binary; so does the variable PITON [default: that of
                 this workspace, which is built first]
  --beside FILE  compare this binary with that one, in pairs; the ratio is how much
                 longer FILE takes
  --pairs N      so many pairs [default: 30]";

/// Pairs of a comparison.
const PAIRS: usize = 30;

#[derive(Debug)]
struct Args {
    size: Size,
    only: Vec<String>,
    json: Option<PathBuf>,
    dir: Option<PathBuf>,
    piton: Option<PathBuf>,
    beside: Option<PathBuf>,
    pairs: usize,
    plug: bool,
}

impl Args {
    fn parse(words: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut args = Self {
            size: Size::Ordinary,
            only: Vec::new(),
            json: None,
            dir: None,
            piton: std::env::var_os("PITON").map(PathBuf::from),
            beside: None,
            pairs: PAIRS,
            plug: false,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .ok_or_else(|| format!("{word} needs a value\n{USAGE}"))
            };
            match word.as_str() {
                plug::WORD => args.plug = true,
                "--small" => args.size = Size::Small,
                "--large" => args.size = Size::Large,
                "--json" => args.json = Some(value()?.into()),
                "--dir" => args.dir = Some(value()?.into()),
                "--piton" => args.piton = Some(value()?.into()),
                "--beside" => args.beside = Some(value()?.into()),
                "--pairs" => args.pairs = parse_pairs(&value()?)?,
                "--only" => args.only = value()?.split(',').map(str::to_uppercase).collect(),
                _ => return Err(USAGE.into()),
            }
        }
        if let Some(unknown) = args.only.iter().find(|id| !args.measures(id)) {
            return Err(match args.beside {
                Some(_) => format!("{unknown} has no pairs. {}", compare::NOT_COMPARED),
                None => format!("{unknown} is not measured here"),
            }
            .into());
        }
        Ok(args)
    }

    /// Whether there is a budget of that number.
    fn measures(&self, id: &str) -> bool {
        match self.beside {
            Some(_) => figures::PAIRED.iter().any(|(known, _)| *known == id),
            None => figures::ALL.iter().any(|(known, _)| known.contains(&id)),
        }
    }

    fn wants(&self, ids: &[&str]) -> bool {
        self.only.is_empty() || ids.iter().any(|id| self.only.iter().any(|only| only == id))
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [word, home, events] if word == queue::WORD => append(home, events),
        [word, rest @ ..] if word == plug::trial::WRITER => write_records(rest),
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

fn write_records(words: &[String]) -> Result<()> {
    let [way, folder, piton, start, end] = words else {
        return Err(USAGE.into());
    };
    let way = Way::find(way).ok_or(USAGE)?;
    let setting = Setting {
        folder: Path::new(folder),
        piton: Path::new(piton),
    };
    plug::trial::write_records(way, &setting, start.parse()?..end.parse()?)
}

fn parse_pairs(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(pairs) if pairs > 0 => Ok(pairs),
        _ => Err(format!("--pairs is a number from 1 on, and not {text}").into()),
    }
}

fn bench(args: &Args) -> Result<()> {
    build(args.piton.is_none())?;
    let bed = Bed::new(args.size, args.piton.clone(), args.dir.clone())?;
    if args.plug {
        return Ok(writeln!(io::stdout(), "{}", plug::compare(&bed)?)?);
    }
    let (text, figures) = match &args.beside {
        Some(beside) => compare_with(&bed, beside, args)?,
        None => measure(&bed, args)?,
    };
    let mut out = io::stdout().lock();
    if cfg!(debug_assertions) && args.beside.is_none() {
        writeln!(out, "a debug build: the ratios say little, use --release\n")?;
    }
    writeln!(out, "{text}")?;
    if let Some(path) = &args.json {
        std::fs::write(path, format!("{:#}\n", history(args, &figures)))?;
    }
    Ok(())
}

/// The table of the budgets, and the figures as JSON.
fn measure(bed: &Bed, args: &Args) -> Result<(String, Vec<Value>)> {
    let mut all: Vec<Figure> = Vec::new();
    for (ids, measure) in figures::ALL {
        if args.wants(ids) {
            writeln!(io::stderr(), "measuring {} ...", ids.join(", "))?;
            all.extend(measure(bed)?);
        }
    }
    let figures = all.iter().map(|figure| figure.to_json(args.size));
    Ok((table(&all, args.size), figures.collect()))
}

/// The table of a comparison, and its figures as JSON.
fn compare_with(bed: &Bed, beside: &Path, args: &Args) -> Result<(String, Vec<Value>)> {
    let sides = Sides {
        piton: &bed.with_copy_of(&bed.piton)?,
        beside: &bed.with_copy_of(beside)?,
        pairs: args.pairs,
    };
    let all = sides.compare(|id| args.wants(&[id]))?;
    let text = format!(
        "piton:  {}\nbeside: {}\n{} pairs\n\n{}\n{}",
        bed.piton.display(),
        beside.display(),
        args.pairs,
        compare::table(&all, args.size),
        compare::NOT_COMPARED
    );
    let figures = all.iter().map(|comparison| comparison.to_json(args.size));
    Ok((text, figures.collect()))
}

fn history(args: &Args, figures: &[Value]) -> Value {
    json!({
        "at": Timestamp::now(),
        "version": env!("CARGO_PKG_VERSION"),
        "size": args.size.word(),
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
