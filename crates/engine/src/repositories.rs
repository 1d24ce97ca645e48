//! In which repositories a run is worked on: where they are, and what is refused of
//! them. See `docs/design/0034-several-repositories.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use piton_core::RunRow;
use piton_core::plan::Plan;
use piton_core::policy::Repositories;
use piton_formats::plan_file::PlanFile;
use piton_formats::plan_format::{RunRepo, RunRepos};
use piton_formats::registry::plan_format;

use crate::failure::Failure;
use crate::git;
use crate::input;
use crate::project::Project;
use crate::shell::quote;
use crate::world::World;

/// The repositories of a run beside that of the project: the work tree of each, by its
/// name in the plan.
pub(crate) type Trees = BTreeMap<String, PathBuf>;

/// What the files of a plan say of the repositories in which it is to be worked on.
pub(crate) struct PlanRepositories<'p> {
    project: &'p Project,
    /// The file of the plan, as people are told.
    file: String,
    /// Where paths of the manifest begin.
    folder: PathBuf,
    found: RunRepos,
    /// What they call the repository of the project.
    own: Vec<String>,
}

impl<'p> PlanRepositories<'p> {
    /// Looks into the files of a plan; none where its format has no repositories, or its
    /// file cannot be read: that is told when it is read as a plan.
    pub(crate) fn look(
        world: &World,
        project: &'p Project,
        (face, source): (&str, &str),
    ) -> Option<Self> {
        let phases = plan_format(face).and_then(|format| format.phases)?;
        let path = PlanFile::path_of(face, source)?;
        let file = project.absolute(&path);
        let folder = file.parent().unwrap_or(&project.root).to_owned();
        let text = input::read_text(&file).ok()?;
        let manifest = input::read_text(&folder.join(phases.manifest)).ok();
        let found = (phases.repositories)(&text, manifest.as_deref());
        Some(Self::of(world, project, (path, folder), found))
    }

    /// What was found in a file, which lies in a folder.
    pub(crate) fn of(
        world: &World,
        project: &'p Project,
        (file, folder): (String, PathBuf),
        found: RunRepos,
    ) -> Self {
        let path = |repo: &RunRepo| repo.path.as_ref().map(|path| folder.join(path));
        let is_own =
            |repo: &&RunRepo| path(repo).is_some_and(|path| is_this(world, project, &path));
        let own = found.repos.iter().filter(is_own);
        Self {
            own: own.map(|repo| repo.name.clone()).collect(),
            project,
            file,
            folder,
            found,
        }
    }

    /// Those beside that of the project in which something is to be done.
    fn others(&self) -> Vec<&RunRepo> {
        // One name that no file places is that of the repository at hand.
        let is_placed = self.found.manifest.is_some() || self.found.repos.len() > 1;
        let all = self.found.repos.iter().filter(|_| is_placed);
        let others = all.filter(|repo| repo.is_needed && !self.own.contains(&repo.name));
        others.collect()
    }

    /// Prepares a plan that is new for several repositories, where it is for several.
    ///
    /// # Errors
    ///
    /// When one is not where its manifest says, or is another one as well.
    pub(crate) fn enter(&self, world: &World, plan: &mut Plan) -> Result<(), Failure> {
        let others = self.others();
        if others.is_empty() {
            return Ok(());
        }
        self.refuse_misplaced(world)?;
        plan.policy.repositories = Some(Repositories {
            own: self.own.clone(),
            others: others.iter().map(|repo| repo.name.clone()).collect(),
        });
        Ok(())
    }

    /// Refuses a run that has work in a repository which it did not have when it began,
    /// or of which one is not where it was.
    ///
    /// # Errors
    ///
    /// Then.
    pub(crate) fn refuse_new(&self, world: &World, row: &RunRow) -> Result<(), Failure> {
        let known = row.policy.repositories.as_ref();
        let is_known = |name: &String| known.is_some_and(|known| known.others.contains(name));
        let others = self.others();
        let new: Vec<&&RunRepo> = others.iter().filter(|repo| !is_known(&repo.name)).collect();
        if let Some(first) = new.first() {
            let what = format!(
                "run `{}` was begun without the repository {}, in which {} is to be worked on",
                row.name,
                in_words(first),
                self.file
            );
            let hint = format!(
                "begin it anew with `piton run {} --recompile`, which goes on with what the file says is open",
                quote(&self.file)
            );
            return Err(Failure::new("plan.unsupported", what).hint(hint));
        }
        let known = known.iter().flat_map(|known| &known.others);
        self.trees(world, known.map(String::as_str)).map(|_| ())
    }

    /// Refuses a plan of which one is not where its manifest says.
    ///
    /// # Errors
    ///
    /// Then.
    pub(crate) fn refuse_misplaced(&self, world: &World) -> Result<(), Failure> {
        let others = self.others();
        let names = others.iter().map(|repo| &*repo.name);
        self.trees(world, names).map(|_| ())
    }

    /// The work trees of some of them.
    ///
    /// # Errors
    ///
    /// When one is not where its manifest says, or is another one as well.
    pub(crate) fn trees<'n>(
        &self,
        world: &World,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Trees, Failure> {
        let mut trees = Trees::new();
        let mut taken: Vec<(PathBuf, String)> = Vec::new();
        taken.extend(git::repository_of(&self.project.work_tree).map(|own| {
            let shown = self.project.work_tree.display();
            (own, format!("that of {shown}"))
        }));
        for name in names {
            let tree = self.tree_of(world, name)?;
            let repository = git::repository_of(&tree);
            let other = taken.iter().find(|(at, _)| Some(at) == repository.as_ref());
            if let Some((_, other)) = other {
                let what = format!(
                    "`{name}` in {} is the same repository as {other}",
                    self.manifest()
                );
                return Err(misplaced(what, self.manifest()));
            }
            taken.extend(repository.map(|at| (at, format!("`{name}`"))));
            trees.insert(name.to_owned(), tree);
        }
        Ok(trees)
    }

    fn tree_of(&self, world: &World, name: &str) -> Result<PathBuf, Failure> {
        let manifest = self.manifest();
        let named = self.found.repos.iter().find(|repo| repo.name == name);
        let Some(path) = named.and_then(|repo| repo.path.as_deref()) else {
            let what = format!(
                "`{name}` has a part in {}, and no file says where it is",
                self.file
            );
            return Err(misplaced(what, manifest));
        };
        let whole = self.folder.join(path);
        let Ok(there) = whole.canonicalize() else {
            let what = format!("`{name}` is not at {path}, where {manifest} says that it is");
            return Err(misplaced(what, manifest));
        };
        let found = Project::find(world, &there);
        match found.in_git && git::git_dir(&found.work_tree).is_some() {
            true => Ok(found.work_tree),
            false => {
                let what = format!("`{name}` at {path} is in no git repository with a work tree");
                Err(misplaced(what, manifest))
            }
        }
    }

    fn manifest(&self) -> &'static str {
        self.found.manifest.unwrap_or("manifest.yaml")
    }
}

fn misplaced(what: String, manifest: &str) -> Failure {
    let hint =
        format!("name it with its path in {manifest} beside the file of the run, then run again");
    Failure::new("plan.repository", what).hint(hint)
}

/// The work trees of the repositories of a run beside that of the project; none of a run
/// in one repository.
///
/// # Errors
///
/// When one is not where its manifest says.
pub(crate) fn trees_of_run(
    world: &World,
    project: &Project,
    row: &RunRow,
) -> Result<Trees, Failure> {
    let Some(known) = &row.policy.repositories else {
        return Ok(Trees::new());
    };
    let found = PlanRepositories::look(world, project, (&row.face, &row.source));
    match found {
        Some(found) => found.trees(world, known.others.iter().map(String::as_str)),
        None => {
            let what = format!(
                "the file of run `{}` does not say where its repositories are",
                row.name
            );
            Err(misplaced(what, "manifest.yaml"))
        }
    }
}

/// Whether a path leads into the repository of the project, in whichever of its work
/// trees.
fn is_this(world: &World, project: &Project, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let there = Project::find(world, &path);
    let of = |work_tree: &Path| git::repository_of(work_tree);
    there.work_tree == project.work_tree
        || of(&there.work_tree).is_some_and(|at| Some(at) == of(&project.work_tree))
}

fn in_words(repo: &RunRepo) -> String {
    let issues = match repo.issues {
        0 => String::new(),
        1 => "1 open issue".to_owned(),
        count => format!("{count} open issues"),
    };
    let more = [repo.path.clone().unwrap_or_default(), issues];
    let more: Vec<String> = more.into_iter().filter(|text| !text.is_empty()).collect();
    match more.as_slice() {
        [] => format!("`{}`", repo.name),
        more => format!("`{}` ({})", repo.name, more.join(", ")),
    }
}
