//! How many attempts an item takes when agents fail as those of a data set do.
//!
//! The loop, the rules, the memory and the prompts are the real ones, over a
//! store in memory; only the agents and the person are made up. An agent does
//! what it was told, if what helps stands in its prompt, and fails with the
//! text of a query if not. The same items are worked through by each
//! [`policy`], so that what differs is owed to it alone.
//!
//! What it does not show: whether an agent that is told what helps would follow
//! it, and whether one that is told too much would be misled.

pub mod counts;
pub mod policy;
pub mod project;
pub mod report;
pub mod seed;
pub mod simulation;
pub mod world;

use std::thread;

use crate::Result;

use self::counts::Counts;
use self::policy::Policy;
use self::project::{Drawn, Project};
use self::simulation::{Person, simulate};

/// What came of one policy over all seeds.
pub struct Outcome {
    /// Whose.
    pub policy: Policy,
    /// What it took.
    pub counts: Counts,
    /// In how many seeds piton needed fewer attempts than this, as many, more.
    pub beside_piton: [u32; 3],
}

/// Works the items of so many seeds through by each policy.
///
/// # Errors
///
/// When a simulated run does not end, or a command is refused.
pub fn outcomes(projects: &[Project], seeds: u32, person: Person) -> Result<Vec<Outcome>> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let workers = u32::try_from(workers).unwrap_or(1);
    let parts: Vec<Result<Vec<Outcome>>> = thread::scope(|scope| {
        let parts: Vec<_> = (0..workers)
            .map(|first| {
                let own = (first..seeds).step_by(workers as usize);
                scope.spawn(move || part(projects, own, person))
            })
            .collect();
        let joined = parts.into_iter().map(|part| part.join());
        joined
            .map(|part| part.unwrap_or_else(|_| Err("a simulated run panicked".into())))
            .collect()
    });
    let mut all = fresh();
    for part in parts {
        for (sum, more) in all.iter_mut().zip(part?) {
            sum.counts.add(&more.counts);
            for (sum, more) in sum.beside_piton.iter_mut().zip(more.beside_piton) {
                *sum += more;
            }
        }
    }
    Ok(all)
}

fn fresh() -> Vec<Outcome> {
    let fresh = |policy| Outcome {
        policy,
        counts: Counts::default(),
        beside_piton: [0; 3],
    };
    Policy::ALL.map(fresh).into()
}

fn part(
    projects: &[Project],
    seeds: impl Iterator<Item = u32>,
    person: Person,
) -> Result<Vec<Outcome>> {
    let mut outcomes = fresh();
    for seed in seeds {
        let drawn = Drawn::of(projects, seed).ok_or("there is nothing to draw from")?;
        let mut pitons = 0;
        for outcome in &mut outcomes {
            let ends = simulate(&drawn, outcome.policy, person)
                .map_err(|error| format!("seed {seed}, {}: {error}", outcome.policy.name()))?;
            let attempts: u32 = ends.iter().map(|end| end.attempts).sum();
            if outcome.policy == Policy::Piton {
                pitons = attempts;
            }
            outcome.beside_piton[match pitons.cmp(&attempts) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => 1,
                std::cmp::Ordering::Greater => 2,
            }] += 1;
            ends.iter().for_each(|end| outcome.counts.take(end));
        }
    }
    Ok(outcomes)
}

/// Whether piton needs fewest attempts for a finished item, of those that are
/// judged.
#[must_use]
pub fn piton_needs_fewest(outcomes: &[Outcome]) -> bool {
    let of = |outcome: &Outcome| outcome.counts.all().per_finished();
    let piton = outcomes
        .iter()
        .find(|outcome| outcome.policy == Policy::Piton)
        .and_then(of);
    let Some(piton) = piton else {
        return false;
    };
    let others = outcomes
        .iter()
        .filter(|outcome| outcome.policy != Policy::Piton && outcome.policy.is_judged());
    // Who finishes nothing needs infinitely many.
    others
        .into_iter()
        .all(|other| of(other).is_none_or(|other| piton < other))
}
