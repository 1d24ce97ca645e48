//! Where native files lie, and what is there.

use std::fs;
use std::path::{Path, PathBuf};

use piton_formats::{format, registry};

use crate::project::Project;
use crate::project::inside::OutsideLink;
use crate::world::input;

/// How deep below the project native files are looked for.
const DEPTH_MAX: usize = 4;
/// Folders that have no such files of a project.
const PASSED_OVER: [&str; 6] = [".git", ".piton", "node_modules", "target", "dist", ".venv"];

/// Whether a native file lies at this path, seen from the project.
fn is_native_path(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folders: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let fits = |place: &&str| {
        let is_whole = place.starts_with('/');
        let place: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
        let count = folders.len().checked_sub(place.len());
        count.is_some_and(|above| {
            let mut pairs = folders[above..].iter().zip(&place);
            (above == 0 || !is_whole) && pairs.all(|(folder, at)| *at == "*" || folder == at)
        })
    };
    let formats =
        format::all_formats().filter_map(|format| Some((format.file_name(), format.folders?)));
    let old = registry::legacy_files().map(|file| (file.name, file.folders));
    formats
        .chain(old)
        .filter(|(known, _)| *known == name)
        .any(|(_, places)| places.is_empty() || places.iter().any(fits))
}

/// What lies in a folder where native files do, seen from that folder, whatever
/// it is: folders, pipes and links as well. Sorted.
pub(crate) fn collect_native_paths(project: &Project, root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let seen_from = Project {
        root: root.to_owned(),
        ..project.clone()
    };
    collect_in_folder(&seen_from, root, DEPTH_MAX, &mut found);
    // A file that is made of another one is left out.
    found.retain(|path| registry::project_files().all(|file| file.derived_path() != Some(&**path)));
    found.sort();
    found
}

fn collect_in_folder(project: &Project, folder: &Path, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = project.relative_path(&entry.path());
        if is_native_path(&path) {
            found.push(path);
            continue;
        }
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 && !PASSED_OVER.contains(&&*name.to_string_lossy()) {
            collect_in_folder(project, &entry.path(), depth - 1, found);
        }
    }
}

/// What is at a path.
pub(crate) enum PathContent {
    /// Nothing at all.
    Nothing,
    /// A text.
    Text(String),
    /// Something that cannot be read as one, in a few words.
    Unfit(String),
}

/// Looks at what is at a path of the project.
pub(crate) fn read_content(project: &Project, path: &str) -> PathContent {
    let path = &project.absolute_path(path);
    if let Some(link) = outside_link(project, path) {
        return PathContent::Unfit(link.to_string());
    }
    if fs::symlink_metadata(path).is_err() {
        return PathContent::Nothing;
    }
    if let Some(what) = describe_dangling_link(path) {
        return PathContent::Unfit(what);
    }
    match project.read_text(path) {
        Ok(text) => PathContent::Text(text),
        Err(error) => PathContent::Unfit(error.to_string()),
    }
}

fn describe_dangling_link(path: &Path) -> Option<String> {
    let to = link_target(path).filter(|_| !path.exists())?;
    Some(format!(
        "it is a link to {}, where nothing is",
        to.display()
    ))
}

/// The link on the way to a path that leads out of the project.
pub(crate) fn outside_link(project: &Project, path: &Path) -> Option<OutsideLink> {
    let resolved = project.resolve_inside(path);
    OutsideLink::of_error(&resolved.err()?).cloned()
}

/// Why there can be no file at this path; none where there is one, or nothing.
pub(crate) fn blocked_reason(project: &Project, path: &str) -> Option<String> {
    let path = &project.absolute_path(path);
    if let Some(link) = outside_link(project, path) {
        return Some(link.to_string());
    }
    let found = fs::metadata(path).ok();
    let other = found.filter(|found| !found.is_file());
    let other = other.and_then(|found| input::unreadable_reason(&found));
    other.or_else(|| describe_dangling_link(path))
}

/// Where a link leads, as it says; none for what is no link.
pub(crate) fn link_target(path: &Path) -> Option<PathBuf> {
    fs::read_link(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_file_lies_where_its_format_keeps_it() {
        for (path, lies) in [
            (".ralph/progress.json", true),
            ("web/.ralph/progress.json", true),
            (".ralph.orig/progress.md", false),
            ("docs/guardrails.md", false),
            (".agent-os/progress/progress.json", true),
            ("progress/progress.json", false),
            ("state.json", true),
            (".sdlc/state.json", true),
            ("src/store/state.json", false),
            ("deploy/manifest.yaml", false),
            ("progress.txt", true),
            ("docs/progress.txt", false),
            ("a/b/prd.json", true),
            ("prd.json.bak", false),
        ] {
            assert_eq!(is_native_path(path), lies, "{path}");
        }
    }
}
