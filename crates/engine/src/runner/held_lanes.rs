//! The lanes that this process holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use piton_core::Node;
use piton_core::lane::unit_of_node;

use crate::git::repositories::RepositoryWorkTrees;
use crate::runner::lane_pool::{Lane, LaneRepository, Pool, PreparedLane};

/// What a runner has of the lanes of its run.
pub(super) struct RunLanes {
    /// The pool for lanes of the project's repository.
    pub(super) pool: Pool,
    /// Those for lanes of the others, by their names.
    pub(super) others: BTreeMap<String, Pool>,
    /// The lanes of units, by the units.
    pub(super) units: BTreeMap<Node, HeldLane>,
    /// Those in which merges are made and checked, by their repositories.
    pub(super) merges: BTreeMap<Option<String>, HeldLane>,
}

/// A lane that this process holds.
#[derive(Clone)]
pub(super) struct HeldLane {
    pub(super) lane: Arc<Lane>,
    /// What came of making it ready.
    pub(super) prepared: Option<Arc<PreparedLane>>,
}

impl HeldLane {
    pub(super) fn new(lane: Lane) -> Self {
        Self {
            lane: Arc::new(lane),
            prepared: None,
        }
    }

    /// Files that are in no commit, by their paths in the worktree.
    pub(super) fn included_files(&self) -> Vec<String> {
        let prepared = self.prepared.as_ref();
        prepared.map_or_else(Vec::new, |prepared| prepared.included.clone())
    }
}

impl RunLanes {
    /// The lanes of a run that is worked on in these repositories beside the project's.
    pub(super) fn new(pool: Pool, trees: &RepositoryWorkTrees) -> Self {
        let others = trees.iter().map(|(name, tree)| {
            let repository = LaneRepository {
                name: name.clone(),
                tree: tree.clone(),
            };
            (name.clone(), pool.for_repository(repository))
        });
        Self {
            others: others.collect(),
            pool,
            units: BTreeMap::new(),
            merges: BTreeMap::new(),
        }
    }

    /// The pool for lanes of a repository; none where the run is not worked on there.
    pub(super) fn pool_of_repository(&self, repository: Option<&str>) -> Option<&Pool> {
        match repository {
            None => Some(&self.pool),
            Some(name) => self.others.get(name),
        }
    }

    /// The lane of the unit that an item belongs to.
    pub(super) fn lane_of_item(&self, node: &Node) -> Option<&HeldLane> {
        self.units.get(&unit_of_node(node))
    }
}
