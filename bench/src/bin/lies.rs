//! `lies`: whether `done` is true, over a table of agents that lie and agents
//! that do not. What it takes: [`USAGE`].

use std::fs;
use std::io::{Write as _, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use piton_bench::Result;
use piton_bench::lies::case::{Row, rows};
use piton_bench::lies::cases::CASES;
use piton_bench::lies::report;
use piton_bench::lies::rule_off::{RuleOff, rule_faults};
use piton_bench::lies::rules::Rule;
use piton_bench::lies::table::{Keep, RowOutcome, Trial};
use piton_bench::lies::totals::Totals;
use serde_json::Value;

const USAGE: &str = "usage: lies [--small] [--only TEXT] [--jobs N] [--json] [--markdown FILE]
            [--without RULE | --each-rule] [--keep FOLDER] [--list]

--small          a handful of rows, to see that everything runs
--only TEXT      rows whose name holds TEXT
--jobs N         so many rows at once; 2
--json           print JSON instead of Markdown
--markdown FILE  write the table into FILE, between its marks
--without RULE   run the table a second time, without this rule of piton
--each-rule      the same for every rule
--keep FOLDER    leave the folders of the rows there
--list           print the names of the rows, and run nothing

PITON=FILE measures another piton than the one beside this program.";

/// Rows of `--small`: one of each kind of conclusion.
const SMALL: [&str; 8] = [
    "nothing changed (prd.json, check)",
    "nothing changed (sprint, no check)",
    "another item ticked (prd.json, check)",
    "verdict cut off (task file, no check)",
    "right work (prd.json, check)",
    "right work (task file, no check)",
    "right work (sprint, check)",
    "research without a change (task file, no check)",
];

#[derive(Debug, Default)]
struct Options {
    small: bool,
    only: Option<String>,
    jobs: Option<usize>,
    json: bool,
    markdown: Option<PathBuf>,
    rules: Vec<Rule>,
    keep: Option<PathBuf>,
    list: bool,
}

fn main() -> Result<ExitCode> {
    let options = options(std::env::args().skip(1))?;
    let rows = wanted_rows(&options)?;
    let mut out = stdout().lock();
    if options.list {
        for row in &rows {
            writeln!(out, "{} ({})", row.name(), row.case.side.as_str())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let scratch = tempfile::Builder::new().prefix("lies-").tempdir()?;
    let trial = trial(&options, scratch.path())?;
    let outcomes = trial.outcomes(&rows)?;
    let rules_off = options
        .rules
        .iter()
        .map(|rule| {
            Ok(RuleOff::new(
                *rule,
                &outcomes,
                &trial.without(&rows, *rule)?,
            ))
        })
        .collect::<Result<Vec<_>>>()?;
    let block = block(&outcomes, &rules_off);
    if let Some(page) = &options.markdown {
        fs::write(page, report::page_with(&fs::read_to_string(page)?, &block)?)?;
    }
    if options.json {
        let mut all = report::json(&outcomes);
        all["without"] = rules_off
            .iter()
            .map(RuleOff::json)
            .collect::<Vec<Value>>()
            .into();
        writeln!(out, "{all:#}")?;
    } else {
        write!(out, "{block}")?;
    }
    let mut faults = Totals::of_rows(outcomes.iter().map(|outcome| &outcome.piton)).faults();
    faults.extend(rule_faults(&trial.piton, &rules_off));
    let mut err = stderr().lock();
    for fault in &faults {
        writeln!(err, "does not hold: {fault}")?;
    }
    Ok(if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match argument.as_str() {
            "--small" => options.small = true,
            "--json" => options.json = true,
            "--list" => options.list = true,
            "--only" => options.only = Some(value()?),
            "--jobs" => options.jobs = Some(value()?.parse()?),
            "--markdown" => options.markdown = Some(value()?.into()),
            "--keep" => options.keep = Some(value()?.into()),
            "--each-rule" => options.rules = Rule::ALL.to_vec(),
            "--without" => {
                let name = value()?;
                options
                    .rules
                    .push(Rule::parse(&name).ok_or_else(|| unknown_rule(&name))?);
            }
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

fn unknown_rule(name: &str) -> String {
    let names = Rule::ALL.map(Rule::as_str).join(", ");
    format!("there is no rule `{name}`; the rules: {names}")
}

fn wanted_rows(options: &Options) -> Result<Vec<Row>> {
    let mut rows = rows(CASES);
    if options.small {
        rows.retain(|row| SMALL.contains(&row.name().as_str()));
    }
    if let Some(text) = &options.only {
        rows.retain(|row| row.name().contains(text.as_str()));
        if rows.is_empty() {
            return Err(format!("no row is called so: {text}").into());
        }
    }
    Ok(rows)
}

fn trial(options: &Options, scratch: &Path) -> Result<Trial> {
    let beside = std::env::current_exe()?.with_file_name("piton");
    let piton = std::env::var_os("PITON").map_or(beside, PathBuf::from);
    let piton = fs::canonicalize(&piton).map_err(|_| {
        let piton = piton.display();
        format!("{piton} is not there: build it with `cargo build --release -p piton`, or name it by the variable PITON")
    })?;
    let (folder, keep) = match &options.keep {
        Some(folder) => {
            fs::create_dir_all(folder)?;
            (fs::canonicalize(folder)?, Keep::Folders)
        }
        None => (scratch.to_owned(), Keep::Nothing),
    };
    Ok(Trial {
        piton,
        folder,
        jobs: options.jobs.unwrap_or(2),
        keep,
    })
}

/// What stands between the marks of a page.
fn block(outcomes: &[RowOutcome], rules_off: &[RuleOff]) -> String {
    let mut block = report::markdown(outcomes);
    if !rules_off.is_empty() {
        block.push_str("\nWith one rule of piton switched off, rows turn red:\n\n");
        for rule in rules_off {
            block.push_str(&rule.line());
            block.push('\n');
        }
    }
    block
}
