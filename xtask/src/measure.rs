//! How the sources that ship measure up: names, circles, lengths.
//!
//! [`print()`] shows each figure beside its goal. A figure has a limit as well,
//! which `tidy` holds: the goal where it is reached, else the best so far.

mod imports;
mod paths;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use self::paths::{FileImports, circles, file_imports};
use self::sources::{Crate, Definition, Kind};

/// The crates that ship.
const SHIPPED: [&str; 6] = ["core", "formats", "store", "engine", "server", "cli"];

/// Words without a subject: text names who does what.
const NAMELESS: [&str; 3] = ["somebody", "nobody", "whoever"];

/// Of a figure that only says how much there is.
const NO_GOAL: [usize; 2] = [usize::MAX; 2];

/// A figure with its goal and its limit.
struct Measure {
    name: &'static str,
    value: usize,
    goal: usize,
    limit: usize,
    /// What counts, each with its place.
    found: Vec<String>,
}

impl Measure {
    fn new(name: &'static str, [goal, limit]: [usize; 2], found: Vec<String>) -> Self {
        Self {
            name,
            value: found.len(),
            goal,
            limit,
            found,
        }
    }

    /// A share of `all`, in tenths of a percent.
    fn share(name: &'static str, limits: [usize; 2], found: Vec<String>, all: usize) -> Self {
        let value = found.len() * 1000 / all.max(1);
        Self {
            value,
            ..Self::new(name, limits, found)
        }
    }
}

/// Prints every figure; with a name, what counts for it.
pub(crate) fn print(root: &Path, name: Option<&str>) -> Result<(), String> {
    let measures = measure(root)?;
    if let Some(name) = name {
        let measure = measures.iter().find(|measure| measure.name == name);
        let measure = measure.ok_or_else(|| {
            let names: Vec<&str> = measures.iter().map(|measure| measure.name).collect();
            format!("no measure is called `{name}`: {}", names.join(", "))
        })?;
        measure.found.iter().for_each(crate::say);
        return Ok(());
    }
    for Measure {
        name,
        value,
        goal,
        limit,
        ..
    } in &measures
    {
        let bounds = format!("   goal {goal:>6}   limit {limit:>6}");
        let bounds = if [*goal, *limit] == NO_GOAL {
            ""
        } else {
            &bounds
        };
        crate::say(format!("{name:28} {value:>7}{bounds}"));
    }
    Ok(())
}

/// What is beyond its limit.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let beyond = |measure: &Measure| {
        let Measure {
            name, value, limit, ..
        } = measure;
        (value > limit)
            .then(|| format!("{name}: {value} is beyond {limit}: see `cargo xtask measure {name}`"))
    };
    Ok(measure(root)?.iter().filter_map(beyond).collect())
}

fn measure(root: &Path) -> Result<Vec<Measure>, String> {
    let crates = SHIPPED
        .iter()
        .map(|name| Crate::read(root, name))
        .collect::<Result<Vec<Crate>, String>>()?;
    let definitions: Vec<&Definition> = crates.iter().flat_map(|read| &read.definitions).collect();
    let mut measures = measure_names(&definitions);
    measures.extend(measure_shapes(&definitions));
    measures.extend(measure_words(&crates));
    measures.extend(measure_modules(&crates));
    let lines = crates.iter().map(|read| read.code_lines).sum();
    let by_crate = |read: &Crate| format!("{}: {}", read.name, read.code_lines);
    measures.push(Measure {
        value: lines,
        ..Measure::new(
            "lines",
            [116_477, 145_380],
            crates.iter().map(by_crate).collect(),
        )
    });
    Ok(measures)
}

fn describe(definition: &Definition) -> String {
    let Definition {
        path,
        line,
        column,
        owner,
        name,
        ..
    } = definition;
    let owner = owner
        .as_ref()
        .map(|owner| format!("{owner}::"))
        .unwrap_or_default();
    format!("{path}:{line}:{column} {owner}{name}")
}

fn measure_names(definitions: &[&Definition]) -> Vec<Measure> {
    let is_type = |definition: &Definition| matches!(definition.kind, Kind::Type { .. });
    let mut types: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
    for definition in definitions.iter().filter(|definition| is_type(definition)) {
        types.entry(&definition.name).or_default().push(definition);
    }
    let all_types = types.values().map(Vec::len).sum();
    let shared = types.values().filter(|types| types.len() > 1).flatten();
    let shared = shared.map(|definition| describe(definition)).collect();

    let describe_all = |kept: &dyn Fn(&Definition) -> bool| {
        let kept = definitions.iter().filter(|definition| kept(definition));
        kept.map(|definition| describe(definition))
            .collect::<Vec<String>>()
    };
    let is_function = |definition: &Definition| matches!(definition.kind, Kind::Function { .. });
    let functions: Vec<_> = definitions
        .iter()
        .filter(|definition| matches!(definition.kind, Kind::Function { .. }))
        .collect();
    let of_one_word = functions
        .iter()
        .filter(|definition| !definition.name.trim_start_matches("r#").contains('_'))
        .map(|definition| describe(definition))
        .collect();
    vec![
        Measure::new("types", NO_GOAL, describe_all(&is_type)),
        Measure::new("functions", NO_GOAL, describe_all(&is_function)),
        Measure::share("shared-type-names", [79, 79], shared, all_types),
        Measure::share(
            "one-word-functions",
            [349, 349],
            of_one_word,
            functions.len(),
        ),
    ]
}

fn measure_shapes(definitions: &[&Definition]) -> Vec<Measure> {
    let mut tuples = Vec::new();
    let mut lengths = Vec::new();
    let mut widths = Vec::new();
    for definition in definitions {
        match definition.kind {
            Kind::Type { fields } => widths.push((fields, *definition)),
            Kind::Function { tuple_parameters } | Kind::Implementation { tuple_parameters } => {
                tuples.extend(std::iter::repeat_n(describe(definition), tuple_parameters));
                lengths.push((definition.lines, *definition));
            }
        }
    }
    widths.sort_by_key(|(width, _)| std::cmp::Reverse(*width));
    lengths.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    let with_figure =
        |(figure, definition): &(usize, &Definition)| format!("{figure} {}", describe(definition));
    let hundredth = lengths.len() / 100;
    let longest = lengths.get(hundredth).map_or(0, |(length, _)| *length);
    let widest = widths.first().map_or(0, |(width, _)| *width);
    vec![
        Measure::new("tuple-parameters", [5, 5], tuples),
        Measure {
            value: longest,
            ..Measure::new(
                "function-lines-p99",
                [70, 70],
                lengths
                    .iter()
                    .take_while(|(length, _)| *length > 70)
                    .map(with_figure)
                    .collect(),
            )
        },
        Measure {
            value: widest,
            ..Measure::new(
                "widest-row",
                [20, 20],
                widths
                    .iter()
                    .take_while(|(width, _)| *width > 20)
                    .map(with_figure)
                    .collect(),
            )
        },
    ]
}

fn measure_words(crates: &[Crate]) -> Vec<Measure> {
    let mut in_sources = Vec::new();
    for (path, text) in crates.iter().flat_map(|read| &read.texts) {
        for (number, line) in text.lines().enumerate() {
            in_sources.extend(nameless(line).map(|word| format!("{path}:{} {word}", number + 1)));
        }
    }
    let mut in_messages = Vec::new();
    for (path, line, literal) in crates.iter().flat_map(|read| &read.literals) {
        in_messages.extend(nameless(literal).map(|word| format!("{path}:{line} {word}")));
    }
    vec![
        Measure::new("nameless-words", [9, 9], in_sources),
        Measure::new("nameless-words-in-messages", [0, 1], in_messages),
    ]
}

fn nameless(text: &str) -> impl Iterator<Item = &'static str> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphabetic())
        .map(str::to_lowercase)
        .collect();
    NAMELESS.into_iter().flat_map(move |not| {
        std::iter::repeat_n(not, words.iter().filter(|word| *word == not).count())
    })
}

fn measure_modules(crates: &[Crate]) -> Vec<Measure> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut measures = Vec::new();
    for read in crates {
        let imports = file_imports(read);
        let in_crate = circles(imports.keys());
        found.extend(
            in_crate
                .iter()
                .map(|circle| (circle.len(), describe_circle(circle, &imports))),
        );
        if read.name == "engine" {
            measures.extend(measure_top(read, &imports));
        }
    }
    found.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    measures.push(Measure {
        value: found.first().map_or(0, |(length, _)| *length),
        ..Measure::new(
            "largest-circle",
            [3, 3],
            found.into_iter().map(|(_, circle)| circle).collect(),
        )
    });
    measures
}

/// How many files a circle has, and what each names of which other one of them.
fn describe_circle(circle: &BTreeSet<String>, imports: &FileImports) -> String {
    let inside = imports
        .iter()
        .filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
    let arrows = inside.map(|((from, to), names)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("\n  {from} -> {to}: {}", names.join(", "))
    });
    format!("{} files{}", circle.len(), arrows.collect::<String>())
}

/// The modules at the top of a crate, and what they name of each other.
fn measure_top(read: &Crate, imports: &FileImports) -> Vec<Measure> {
    let at_top: Vec<String> = read
        .modules
        .keys()
        .filter(|names| names.len() == 1)
        .map(|names| names.join("::"))
        .collect();
    let top_of = |file: &str| -> Option<String> {
        let inner = file.split("/src/").nth(1)?.split('/').next()?;
        Some(inner.trim_end_matches(".rs").to_owned())
    };
    let between: BTreeSet<(String, String)> = imports
        .keys()
        .filter_map(|(from, to)| Some((top_of(from)?, top_of(to)?)))
        .filter(|(from, to): &(String, String)| from != to && from != "lib" && to != "lib")
        .collect();
    let joined = |circle: &BTreeSet<String>| circle.iter().cloned().collect::<Vec<_>>().join(" ");
    let in_circles = circles(&between).iter().map(joined).collect();
    let arrows = between
        .iter()
        .map(|(from, to)| format!("{from} -> {to}"))
        .collect();
    vec![
        Measure::new("engine-modules", [20, 20], at_top),
        Measure::new("engine-imports", [80, 80], arrows),
        Measure::new("engine-circles", [3, 3], in_circles),
    ]
}
