//! What a simulated run is drawn from: the projects of the data set, each with
//! its memory and its queries.

use std::collections::BTreeMap;

use crate::recall::data::{Memory, Query};

/// So many items a plan has, fewer where the project has fewer queries.
const ITEMS: usize = 6;

/// A project of the set.
#[derive(Default)]
pub struct Project {
    /// What it remembers.
    pub memories: Vec<Memory>,
    /// What its agents meet.
    pub queries: Vec<Query>,
}

/// The projects that have queries, in the order of their names.
#[must_use]
pub fn projects(memories: Vec<Memory>, queries: Vec<Query>) -> Vec<Project> {
    let mut by_name: BTreeMap<String, Project> = BTreeMap::new();
    for query in queries {
        let project = by_name.entry(query.project.clone()).or_default();
        project.queries.push(query);
    }
    for memory in memories {
        if let Some(project) = by_name.get_mut(&memory.project) {
            project.memories.push(memory);
        }
    }
    by_name.into_values().collect()
}

/// What one seed works on.
pub struct Drawn<'p> {
    /// The project.
    pub project: &'p Project,
    /// What the agent of each item meets; no query twice.
    pub queries: Vec<&'p Query>,
}

impl<'p> Drawn<'p> {
    /// What a seed draws; none where there is no project.
    #[must_use]
    pub fn of(projects: &'p [Project], seed: u32) -> Option<Self> {
        let mut chance = Chance(u64::from(seed));
        if projects.is_empty() {
            return None;
        }
        let project = &projects[chance.below(projects.len())];
        let mut left: Vec<&Query> = project.queries.iter().collect();
        let mut queries = Vec::new();
        while queries.len() < ITEMS && !left.is_empty() {
            queries.push(left.swap_remove(chance.below(left.len())));
        }
        Some(Self { project, queries })
    }
}

/// Numbers that look random and follow from a seed: SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() >> 33).expect("31 bits fit") % n
    }
}
