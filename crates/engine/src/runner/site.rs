//! Where works are done: in the work tree of the run, or in one beside it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use piton_core::{AttemptId, Node};

use crate::git::{OwnFilePrefix, WorkTreeSnapshot, WorkTreeTracker};
use crate::native_files::file_stamps::FileStamps;
use crate::project::Project;

/// A work tree in which works are done, and what is known of it. Each work holds
/// its own from its start to its end.
pub(super) struct Site {
    /// The project with this work tree.
    pub(super) project: Project,
    /// What agents and checks find in their environment here, beside what all find.
    pub(super) env: Vec<(String, String)>,
    /// Files that stay out of commits here beside those of piton, by their paths in
    /// the work tree.
    pub(super) left_out: Vec<String>,
    /// Whether it is of another repository than the project's: piton writes no file there.
    pub(super) is_of_other: bool,
    /// Whether the work tree is looked at before and after an attempt.
    pub(super) is_looked_at: Cell<bool>,
    /// What it is looked at with, in git.
    pub(super) trees: RefCell<Option<Rc<WorkTreeTracker>>>,
    /// The last look at it, until something else happens here.
    looked: RefCell<Option<RecentSiteSnapshot>>,
    /// The last attempt that this runner ended here.
    pub(super) last_attempt: Cell<Option<AttemptId>>,
}

impl Site {
    /// The work tree of a project.
    pub(super) fn of_project(project: Project) -> Self {
        Self {
            project,
            env: Vec::new(),
            left_out: Vec::new(),
            is_of_other: false,
            is_looked_at: Cell::new(true),
            trees: RefCell::default(),
            looked: RefCell::default(),
            last_attempt: Cell::new(None),
        }
    }

    /// The work tree.
    pub(super) fn tree_path(&self) -> &Path {
        &self.project.work_tree
    }

    /// Keeps a look for what comes next here.
    pub(super) fn store_snapshot(&self, looked: RecentSiteSnapshot) {
        self.looked.replace(Some(looked));
    }

    /// Takes out the last look.
    pub(super) fn pop_snapshot(&self) -> Option<RecentSiteSnapshot> {
        self.looked.take()
    }

    /// Whether there is a look that stands for what the work tree holds now.
    pub(super) fn has_snapshot(&self) -> bool {
        self.looked.borrow().is_some()
    }

    /// The hash of what the work tree held at the last look.
    pub(super) fn last_tree_hash(&self) -> Option<String> {
        self.looked.borrow().as_ref()?.tree_hash()
    }

    /// Something happens here: the last look stands for nothing any more.
    pub(super) fn clear_snapshot(&self) {
        self.looked.take();
    }
}

/// The sites of a run.
pub(super) struct Sites {
    /// That of the run: of all that has none of its own, and of what is asked about
    /// the run as a whole.
    pub(super) of_run: Rc<Site>,
    of_items: BTreeMap<Node, Rc<Site>>,
}

impl Sites {
    pub(super) fn new(of_run: Site) -> Self {
        Self {
            of_run: Rc::new(of_run),
            of_items: BTreeMap::new(),
        }
    }

    /// Lets an item be worked on elsewhere, with all below it.
    pub(super) fn assign_site(&mut self, node: Node, site: Site) {
        self.of_items.insert(node, Rc::new(site));
    }

    /// The item is not worked on there any more.
    pub(super) fn unassign_item(&mut self, node: &Node) {
        self.of_items.remove(node);
    }

    /// Where an item is worked on.
    pub(super) fn site_of_item(&self, node: &Node) -> Rc<Site> {
        let mut line = std::iter::once(node.clone()).chain(node.ancestors());
        let own = line.find_map(|node| self.of_items.get(&node));
        Rc::clone(own.unwrap_or(&self.of_run))
    }

    /// Whether a site is that of the run.
    pub(super) fn is_of_run(&self, site: &Rc<Site>) -> bool {
        Rc::ptr_eq(site, &self.of_run)
    }

    fn iter(&self) -> impl Iterator<Item = &Rc<Site>> {
        std::iter::once(&self.of_run).chain(self.of_items.values())
    }

    /// Time passes without a work: people may change any of them.
    pub(super) fn clear_snapshots(&self) {
        self.iter().for_each(|site| site.clear_snapshot());
    }

    /// Lets go of all that holds temporary folders.
    pub(super) fn close(&self) {
        for site in self.iter() {
            site.clear_snapshot();
            site.trees.take();
        }
    }
}

/// The work tree before an attempt, and what it is looked at with again.
pub(super) enum SiteSnapshot {
    /// In git.
    Git {
        trees: Rc<WorkTreeTracker>,
        moment: WorkTreeSnapshot,
    },
    /// Elsewhere.
    Files {
        stamps: FileStamps,
        own: Vec<OwnFilePrefix>,
    },
    /// The look took too long.
    Late,
}

/// A look at the work tree that may stand for the start of what comes next.
pub(super) struct RecentSiteSnapshot {
    pub(super) at: Box<SiteSnapshot>,
    /// When, as [`crate::world::World::uptime`] says it.
    pub(super) since: Duration,
}

impl SiteSnapshot {
    /// The hash of what the work tree held; none where that is not known.
    pub(super) fn tree_hash(&self) -> Option<String> {
        match self {
            Self::Git { moment, .. } => Some(moment.tree.clone()),
            Self::Files { stamps, .. } => Some(stamps.hash()),
            Self::Late => None,
        }
    }

    /// Whether this look may stand for one that is made now, for all that git says.
    pub(super) fn is_untouched(&self) -> bool {
        match self {
            Self::Git { trees, moment } => trees.has_room() && trees.is_untouched_since(moment),
            Self::Files { .. } | Self::Late => true,
        }
    }
}

impl RecentSiteSnapshot {
    /// The hash of what the work tree held.
    pub(super) fn tree_hash(&self) -> Option<String> {
        self.at.tree_hash()
    }
}
