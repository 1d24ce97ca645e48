//! In which repositories a run is worked on: where they are, and what is refused of
//! them. See `docs/design/0034-several-repositories.md`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use piton_core::plan::Plan;
use piton_core::policy::{Policy, Repositories};
use piton_core::{Edit, ItemRow, RunRow, Tables};
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{RunRepo, RunRepos};
use piton_formats::problem::Problem;
use piton_formats::registry::plan_format;

use crate::failure::{Failure, Findings};
use crate::git;
use crate::project::Project;
use crate::world::World;

/// The repositories of a run beside that of the project: the work tree of each, by its
/// name in the plan.
pub(crate) type RepositoryWorkTrees = BTreeMap<String, PathBuf>;

/// The same, each by itself: one that is not where it is to be is no reason to leave the
/// others alone.
pub(crate) type RepositoryWorkTreeResults = BTreeMap<String, Result<PathBuf, Failure>>;

/// What the files of a plan say of the repositories in which it is to be worked on.
pub(crate) struct PlanRepositories<'p> {
    project: &'p Project,
    /// The file of the plan, as people are told.
    file: String,
    /// Where paths of the manifest begin.
    folder: PathBuf,
    /// What the file is called that says where they are.
    manifest: &'static str,
    found: RunRepos,
    /// What they call the repository of the project.
    own: Vec<String>,
    /// Where the only repository is on the machine on which its manifest was written.
    elsewhere: Option<String>,
}

/// Where the files of a plan are.
pub(crate) struct PlanLocation {
    /// The path of its file, as the journal has it.
    pub(crate) file: String,
    /// The folder in which that lies.
    pub(crate) folder: PathBuf,
    /// The name of the manifest beside it.
    pub(crate) manifest: &'static str,
}

impl<'p> PlanRepositories<'p> {
    /// Looks into the files of a plan; none where its format has no repositories, or its
    /// file cannot be read: that is told when it is read as a plan.
    ///
    /// # Errors
    ///
    /// When its manifest says nothing certain, with where.
    pub(crate) fn read_plan(
        world: &World,
        project: &'p Project,
        face: &str,
        source: &str,
    ) -> Result<Option<Self>, Failure> {
        let phases = plan_format(face).and_then(|format| format.phases);
        let path = PlanFile::path_of_source(face, source);
        let (Some(phases), Some(path)) = (phases, path) else {
            return Ok(None);
        };
        let file = project.absolute_path(&path);
        let folder = file.parent().unwrap_or(&project.root).to_owned();
        let Ok(text) = project.read_text(&file) else {
            return Ok(None);
        };
        let manifest = match project.read_text(&folder.join(phases.manifest)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let what = format!("{} cannot be read: {error}", phases.manifest);
                return Err(misplaced_failure(what, phases.manifest));
            }
        };
        let found = (phases.repositories)(&text, manifest.as_deref());
        if !found.faults.is_empty() {
            return Err(unclear_manifest_failure(
                phases.manifest,
                found.faults,
                manifest,
            ));
        }
        let at = PlanLocation {
            file: path,
            folder,
            manifest: phases.manifest,
        };
        Ok(Some(Self::from_found(world, project, at, found)))
    }

    /// What was found in the file of a plan and in the manifest beside it.
    pub(crate) fn from_found(
        world: &World,
        project: &'p Project,
        at: PlanLocation,
        found: RunRepos,
    ) -> Self {
        let PlanLocation {
            file,
            folder,
            manifest,
        } = at;
        let path = |repo: &RunRepo| repo.path.as_ref().map(|path| folder.join(path));
        let is_own = |repo: &&RunRepo| {
            path(repo).is_some_and(|path| is_own_repository(world, project, &path))
        };
        let names = |is_needed: bool| {
            let named = found.repos.iter().filter(is_own);
            let named = named.filter(move |repo| repo.is_needed == is_needed);
            named.map(|repo| repo.name.clone()).collect::<Vec<_>>()
        };
        // A second name of which nothing is to be done says nothing.
        let mut own = names(true);
        if own.is_empty() {
            own = names(false);
            own.truncate(1);
        }
        let mut elsewhere = None;
        if let [only] = found.repos.as_slice() {
            // One name that nothing places here is that of the repository at hand.
            elsewhere = only.path.clone().filter(|path| is_of_other_machine(path));
            if !found.has_manifest || elsewhere.is_some() {
                own.push(only.name.clone());
            }
        }
        Self {
            own,
            elsewhere,
            project,
            file,
            folder,
            manifest,
            found,
        }
    }

    /// Those beside that of the project in which something is to be done.
    fn other_repositories(&self) -> Vec<&RunRepo> {
        let all = self.found.repos.iter();
        all.filter(|repo| repo.is_needed && !self.own.contains(&repo.name))
            .collect()
    }

    /// What a person should know of where a run is worked on.
    pub(crate) fn describe_elsewhere(&self) -> Option<String> {
        let (name, path) = (self.own.first()?, self.elsewhere.as_ref()?);
        Some(format!(
            "{path}, where {} has `{name}`, is a path of another machine: its issues are worked on in {}",
            self.manifest,
            self.project.work_tree.display()
        ))
    }

    /// Prepares a plan that is new for the repositories that its files name.
    ///
    /// # Errors
    ///
    /// When one is not where its manifest says, or is another one as well.
    pub(crate) fn add_to_new_plan(&self, world: &World, plan: &mut Plan) -> Result<(), Failure> {
        self.refuse_misplaced(world)?;
        let others = self.other_repositories();
        let known = Repositories {
            own: self.own.clone(),
            others: others.iter().map(|repo| repo.name.clone()).collect(),
        };
        // Without any name whatever comes is in the repository at hand.
        let is_known = self.found.has_manifest || !self.found.repos.is_empty();
        plan.policy.repositories = is_known.then_some(known);
        Ok(())
    }

    /// What is to be changed at a run, of which these are the items, for the repositories
    /// that came in since it began.
    ///
    /// # Errors
    ///
    /// When one is not where its manifest says, or is another one as well.
    pub(crate) fn edits_for_new_repositories(
        mut self,
        world: &World,
        row: &RunRow,
        items: &Tables,
    ) -> Result<Vec<Edit>, Failure> {
        let open = items.tree(row.id).filter(|item| !item.state.is_finished());
        let open: Vec<(&ItemRow, Option<String>)> = open
            .map(|item| (item, self.repository_of_item(row, item)))
            .collect();
        // A tracked file has what was added under way when the run has landed.
        for name in open.iter().filter_map(|(_, name)| name.as_ref()) {
            match self.found.repos.iter_mut().find(|repo| repo.name == *name) {
                Some(repo) => repo.is_needed = true,
                None => self.found.repos.push(RunRepo {
                    name: name.clone(),
                    path: None,
                    is_needed: true,
                }),
            }
        }
        let next = self.with_new_repositories(world, row)?;
        if Some(&next) == row.plan.policy.repositories.as_ref() || next == Repositories::default() {
            return Ok(Vec::new());
        }
        let policy = Policy {
            repositories: Some(next),
            ..row.plan.policy.clone()
        };
        let moved = open.into_iter().filter(|(item, _)| !was_item_begun(item));
        let moved = moved
            .filter(|(item, name)| policy.resolve_repository(name.clone()) != item.plan.repository);
        let moved: Vec<Edit> = moved
            .map(|(item, repository)| Edit::SetRepository {
                node: item.node.clone(),
                repository,
            })
            .collect();
        let policy = Edit::SetPolicy(Box::new(policy));
        Ok(std::iter::once(policy).chain(moved).collect())
    }

    /// What the plan calls the repository of an item, as long as nothing is done in
    /// another one.
    fn repository_of_item(&self, row: &RunRow, item: &ItemRow) -> Option<String> {
        let phases = plan_format(&row.plan.face).and_then(|format| format.phases);
        let named = phases.and_then(|phases| (phases.repository_of)(item));
        match was_item_begun(item) {
            true => item.plan.repository.clone(),
            false => named.or_else(|| item.plan.repository.clone()),
        }
    }

    /// The repositories of a run with those that it does not know yet.
    fn with_new_repositories(&self, world: &World, row: &RunRow) -> Result<Repositories, Failure> {
        let mut next = row.plan.policy.repositories.clone().unwrap_or_default();
        let others = self.other_repositories();
        let moved = |name: &&String| others.iter().any(|repo| repo.name == **name);
        if let Some(name) = next.own.iter().find(moved) {
            let what = format!(
                "run `{}` works on `{name}` in {}, and {} says that it is elsewhere",
                row.name,
                self.project.work_tree.display(),
                self.manifest
            );
            return Err(misplaced_failure(what, self.manifest));
        }
        for name in &self.own {
            let is_known = next.own.contains(name) || next.others.contains(name);
            if !is_known && next.own.is_empty() {
                next.own.push(name.clone());
            } else if !is_known {
                return Err(self.duplicate_failure(name, &format!("`{}`", next.own[0])));
            }
        }
        for repo in others {
            if !next.others.contains(&repo.name) {
                next.others.push(repo.name.clone());
            }
        }
        // What is done nowhere any more may be gone.
        let needed = self.found.repos.iter().filter(|repo| repo.is_needed);
        let needed: Vec<&str> = needed.map(|repo| &*repo.name).collect();
        let names = next.others.iter().map(String::as_str);
        let trees = self.work_trees(world, names.filter(|name| needed.contains(name)))?;
        for (name, tree) in &trees {
            self.refuse_without_commit(row, name, tree)?;
        }
        Ok(next)
    }

    /// Refuses a second name of a repository.
    fn duplicate_failure(&self, name: &str, other: &str) -> Failure {
        let what = format!(
            "`{name}` in {} is the same repository as {other}",
            self.manifest
        );
        let hint = format!(
            "give each repository one name in {}, then type the same again",
            self.manifest
        );
        Failure::new("plan.repository", what).with_hint(hint)
    }

    /// Refuses a plan of which one is not where its manifest says.
    ///
    /// # Errors
    ///
    /// Then.
    pub(crate) fn refuse_misplaced(&self, world: &World) -> Result<(), Failure> {
        if let [first, second, ..] = self.own.as_slice() {
            return Err(self.duplicate_failure(second, &format!("`{first}`")));
        }
        let others = self.other_repositories();
        let names = others.iter().map(|repo| &*repo.name);
        self.work_trees(world, names).map(|_| ())
    }

    /// The work trees of some of them.
    ///
    /// # Errors
    ///
    /// When one is not where its manifest says, or is another one as well.
    pub(crate) fn work_trees<'n>(
        &self,
        world: &World,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<RepositoryWorkTrees, Failure> {
        let each = self.try_work_trees(world, names).into_iter();
        each.map(|(name, tree)| Ok((name, tree?))).collect()
    }

    /// The same, each by itself.
    fn try_work_trees<'n>(
        &self,
        world: &World,
        names: impl Iterator<Item = &'n str>,
    ) -> RepositoryWorkTreeResults {
        let mut trees = RepositoryWorkTreeResults::new();
        let mut taken: Vec<(PathBuf, String)> = Vec::new();
        taken.extend(git::repository_of(&self.project.work_tree).map(|own| {
            let shown = self.project.work_tree.display();
            (own, format!("that of {shown}"))
        }));
        for name in names {
            let mut tree = self.find_work_tree(world, name);
            let repository = tree.as_deref().ok().and_then(git::repository_of);
            let other = taken.iter().find(|(at, _)| Some(at) == repository.as_ref());
            if let Some((_, other)) = other {
                tree = Err(self.duplicate_failure(name, other));
            }
            taken.extend(repository.map(|at| (at, format!("`{name}`"))));
            trees.insert(name.to_owned(), tree);
        }
        trees
    }

    /// Refuses one that has not what was merged in it for a run.
    fn refuse_without_commit(&self, row: &RunRow, name: &str, tree: &Path) -> Result<(), Failure> {
        let target = row.target_in_repository(Some(name));
        let Some(target) = target.filter(|target| is_missing_commit(tree, &target.tip)) else {
            return Ok(());
        };
        let what = format!(
            "`{name}` at {} is another repository than the one in which run `{}` was worked on: it has no commit {}",
            tree.display(),
            row.name,
            git::short_commit(&target.tip)
        );
        Err(misplaced_failure(what, self.manifest))
    }

    fn find_work_tree(&self, world: &World, name: &str) -> Result<PathBuf, Failure> {
        let manifest = self.manifest;
        let named = self.found.repos.iter().find(|repo| repo.name == name);
        let Some(path) = named.and_then(|repo| repo.path.as_deref()) else {
            let what = format!(
                "`{name}` has a part in {}, and no file says where it is",
                self.file
            );
            return Err(misplaced_failure(what, manifest));
        };
        let whole = self.folder.join(path);
        let Ok(there) = whole.canonicalize() else {
            let what = format!("`{name}` is not at {path}, where {manifest} says that it is");
            return Err(misplaced_failure(what, manifest));
        };
        let found = Project::find(world, &there);
        match found.in_git && git::git_dir(&found.work_tree).is_some() {
            true => Ok(found.work_tree),
            false => {
                let what = format!("`{name}` at {path} is in no git repository with a work tree");
                Err(misplaced_failure(what, manifest))
            }
        }
    }
}

/// A manifest whose content is ambiguous.
fn unclear_manifest_failure(
    manifest: &str,
    problems: Vec<Problem>,
    text: Option<String>,
) -> Failure {
    let what = format!("{manifest} does not say where the repositories of the run are");
    let findings = Findings {
        problems,
        sources: text
            .into_iter()
            .map(|text| (manifest.to_owned(), text))
            .collect(),
    };
    Failure::new("plan.problems", what)
        .with_hint("mend it, then type the same again")
        .with_findings(findings)
}

fn misplaced_failure(what: String, manifest: &str) -> Failure {
    let hint =
        format!("name it with its path in {manifest} beside the file of the run, then run again");
    Failure::new("plan.repository", what).with_hint(hint)
}

/// The work trees of the repositories of a run beside that of the project; none of a run
/// in one repository.
///
/// # Errors
///
/// When one is not where its manifest says.
pub(crate) fn work_trees_of_run(
    world: &World,
    project: &Project,
    row: &RunRow,
) -> Result<RepositoryWorkTrees, Failure> {
    let each = try_work_trees_of_run(world, project, row)?.into_iter();
    each.map(|(name, tree)| Ok((name, tree?))).collect()
}

/// The same, each by itself.
///
/// # Errors
///
/// When the files of the plan, which name them, cannot be read.
pub(crate) fn try_work_trees_of_run(
    world: &World,
    project: &Project,
    row: &RunRow,
) -> Result<RepositoryWorkTreeResults, Failure> {
    let known = row.plan.policy.repositories.as_ref();
    let others = known.map_or(&[] as &[String], |known| &known.others);
    if others.is_empty() {
        return Ok(RepositoryWorkTreeResults::new());
    }
    let Some(found) =
        PlanRepositories::read_plan(world, project, &row.plan.face, &row.plan.source)?
    else {
        let file = PlanFile::path_of_run(row).unwrap_or_default();
        let what = format!("{file}, which names the repositories of the run, cannot be read");
        let hint = "see to the file, then type the same again";
        return Err(Failure::new("plan.repository", what).with_hint(hint));
    };
    let each = found.try_work_trees(world, others.iter().map(String::as_str));
    let each = each.into_iter().map(|(name, tree)| {
        let tree = tree.and_then(|tree| {
            found.refuse_without_commit(row, &name, &tree)?;
            Ok(tree)
        });
        (name, tree)
    });
    Ok(each.collect())
}

/// Whether a path begins where nothing is on this machine: it was written on another one.
fn is_of_other_machine(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let root = parts.next();
    let Some(first) = parts.next().filter(|_| root == Some(Component::RootDir)) else {
        return false;
    };
    !Path::new("/").join(first).exists()
}

/// Whether something was done of an item, or others left something.
fn was_item_begun(item: &ItemRow) -> bool {
    item.attempts > 0 || item.work.unit.is_some()
}

/// Whether a repository has no such commit, as far as git answers.
fn is_missing_commit(tree: &Path, commit: &str) -> bool {
    matches!(git::has_commit(tree, commit), Ok(false))
}

/// Whether a path leads into the repository of the project, in whichever of its work
/// trees.
fn is_own_repository(world: &World, project: &Project, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let there = Project::find(world, &path);
    let of = |work_tree: &Path| git::repository_of(work_tree);
    there.work_tree == project.work_tree
        || of(&there.work_tree).is_some_and(|at| Some(at) == of(&project.work_tree))
}
