//! P9: what the loop itself costs a node, outside of git and in repositories.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::paired_unit::PairedUnit;
use crate::Result;
use crate::bed::{Bed, Size};
use crate::figure::{Figure, counted, seconds};
use crate::floor::Preallocated;
use crate::sample::Samples;
use crate::sprint_folder::SprintFolder;

/// A repository that P9 is measured in.
struct RepositoryCase {
    files: usize,
    /// Nodes of a run: fewer where each of them takes longer.
    nodes: usize,
    rounds: usize,
    /// What a node may cost above its agent.
    budget_ms: f64,
}

const fn case(files: usize, nodes: usize, rounds: usize, budget_ms: f64) -> RepositoryCase {
    RepositoryCase {
        files,
        nodes,
        rounds,
        budget_ms,
    }
}

const SMALL: [RepositoryCase; 2] = [case(10, 2, 1, 9.0), case(500, 2, 1, 45.0)];
const ORDINARY: [RepositoryCase; 3] = [
    case(10, 100, 7, 9.0),
    case(20_000, 60, 5, 45.0),
    case(100_000, 40, 3, 130.0),
];
/// Repositories for comparisons, which make many short runs.
const PAIRED: [RepositoryCase; 3] = [
    case(10, 20, 1, 9.0),
    case(20_000, 10, 1, 45.0),
    case(100_000, 5, 1, 130.0),
];

fn cases<'c>(bed: &Bed, cases: &'c [RepositoryCase]) -> &'c [RepositoryCase] {
    match bed.size {
        Size::Small => &SMALL,
        Size::Ordinary | Size::Large => cases,
    }
}

/// How often the agent is started alone, to see what it takes.
const STARTS: usize = 20;

/// What an attempt calls: how many calls more a longer run makes than a shorter
/// one, divided by how many attempts more it makes. It is a sentence.
fn calls_of_attempt<'b>(
    bed: &Bed,
    open: impl Fn(usize) -> Result<SprintFolder<'b>>,
) -> Result<String> {
    let (few, many) = (bed.size.pick(1, 2), bed.size.pick(2, 12));
    let shorter = open(few)?.count_calls()?;
    let longer = open(many)?.count_calls()?;
    let (Some(shorter), Some(longer)) = (shorter, longer) else {
        return Ok(
            "skipped: git processes and flushes are not counted, because strace is not there"
                .to_owned(),
        );
    };
    let each =
        |shorter: usize, longer: usize| longer.saturating_sub(shorter) as f64 / (many - few) as f64;
    Ok(format!(
        "an attempt starts {:.1} git processes and makes {:.1} flushes",
        each(shorter.git_processes, longer.git_processes),
        each(shorter.flushes, longer.flushes)
    ))
}

fn note(text: &str) -> Result<()> {
    Ok(writeln!(io::stderr(), "  {text}")?)
}

/// A node outside of git, round by round, and what it is measured beside.
#[derive(Default)]
struct OutsideOfGit {
    /// The agent's script alone.
    agent: Samples,
    flush: Samples,
    /// The script and two flushes.
    floor: Samples,
    /// A node of a short run.
    short: Samples,
    /// The same in the rounds that have a long run, too.
    short_beside_long: Samples,
    /// A node of a long run.
    long: Samples,
}

impl OutsideOfGit {
    fn measure_floor(&mut self, pairs: usize, place: &SprintFolder<'_>, file: &Path) -> Result<()> {
        let mut preallocated = Preallocated::create(file)?;
        let (mut agent, mut flush) = (Samples::default(), Samples::default());
        for _ in 0..pairs {
            agent.push(place.start_agent()?);
            flush.push(preallocated.flush()?);
        }
        self.agent.push_seconds(agent.median());
        self.flush.push_seconds(flush.median());
        let floor = agent.median() + 2.0 * flush.median();
        self.floor.push_seconds(floor);
        Ok(())
    }

    /// Where the time of a node goes.
    fn reason(&self) -> String {
        format!(
            "of {} a node, the script takes {}, two flushes {}, and all the rest {}",
            seconds(self.short.median()),
            seconds(self.agent.median()),
            seconds(2.0 * self.flush.median()),
            seconds(self.short.median() - self.floor.median())
        )
    }
}

/// P9 outside of git: beside the agent's script and two flushes, and that a node
/// of a long run costs what one of a short run does.
pub(super) fn outside_of_git(bed: &Bed) -> Result<Vec<Figure>> {
    let (few, many) = (bed.size.pick(3, 100), bed.size.choose(6, 2_000, 10_000));
    let (rounds, long_rounds) = (bed.size.pick(1, 7), bed.size.choose(1, 2, 1));
    let base = bed.outside_of_git()?;
    let open = |nodes| SprintFolder::outside_of_git(bed, base.path(), nodes);
    let (short, long) = (open(few)?, open(many)?);
    let mut node = OutsideOfGit::default();
    for round in 0..rounds {
        node.measure_floor(bed.size.pick(3, 40), &short, &base.path().join("floor"))?;
        let took = short.run_through()?;
        node.short.push(took);
        if round < long_rounds {
            node.short_beside_long.push(took);
            node.long.push(long.run_through()?);
        }
    }
    let calls = calls_of_attempt(bed, open)?;
    note(&format!("outside of git, {calls}"))?;
    let what = |nodes: usize| format!("outside of git, a node of {}", counted(nodes));
    Ok(vec![
        Figure::at_most(
            4.0,
            "P9",
            (&what(few), &node.short),
            ("the script and 2 flushes", &node.floor),
        )
        .because(node.reason())
        .because(calls),
        Figure::at_most(
            1.3,
            "P9",
            (&what(many), &node.long),
            (&format!("a node of {few}"), &node.short_beside_long),
        ),
    ])
}

/// P9 in repositories: what a node costs above its agent, in milliseconds.
pub(super) fn in_repositories(bed: &Bed) -> Result<Vec<Figure>> {
    let cases = cases(bed, &ORDINARY);
    // What an attempt calls does not depend on how many files there are.
    let least = cases.iter().map(|case| case.files).min().unwrap_or(1);
    let open = |nodes| SprintFolder::in_repository(bed, least, nodes);
    let calls = calls_of_attempt(bed, open)?;
    note(&format!("in git, {calls}"))?;
    let figure = |case| Ok(in_repository(bed, case)?.because(calls.clone()));
    cases.iter().map(figure).collect()
}

fn in_repository(bed: &Bed, case: &RepositoryCase) -> Result<Figure> {
    let place = SprintFolder::in_repository(bed, case.files, case.nodes)?;
    let (mut above, mut agents) = (Samples::default(), Samples::default());
    for _ in 0..case.rounds {
        let node = place.run_above_agent(bed.size.pick(3, STARTS))?;
        above.push(node.above);
        agents.push(node.agent);
    }
    let files = counted(case.files);
    let what = format!("in git, {files} files, a node above its agent");
    let agent = ("the agent's script alone", &agents);
    Ok(Figure::at_most_ms(
        case.budget_ms,
        "P9",
        (&what, &above),
        agent,
    ))
}

/// P9 for a comparison.
pub(super) fn paired<'b>(bed: &'b Bed, _filler: &Bed) -> Result<Vec<PairedUnit<'b>>> {
    let base = bed.outside_of_git()?;
    let nodes = bed.size.pick(2, 20);
    let place = SprintFolder::outside_of_git(bed, base.path(), nodes)?;
    let mut units = vec![PairedUnit::new(
        "P9",
        "outside of git, a node",
        Box::new(move || {
            // The folder lives as long as what works in it.
            let _base = &base;
            place.run_through()
        }),
    )];
    for case in cases(bed, &PAIRED) {
        let place = SprintFolder::in_repository(bed, case.files, case.nodes)?;
        let files = counted(case.files);
        units.push(PairedUnit::new(
            "P9",
            format!("in git, {files} files, a node above its agent"),
            Box::new(move || -> Result<Duration> { Ok(place.run_above_agent(5)?.above) }),
        ));
    }
    Ok(units)
}
