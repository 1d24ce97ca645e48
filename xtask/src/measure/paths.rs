//! Which file of a crate names what of which other one, and the circles in that.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Crate, Module};

/// How many re-exports lead to where something is defined.
const REEXPORTS_MAX: usize = 8;

/// What a path leads to: a module, or something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    module: Vec<String>,
    /// What of the module; none for the module itself.
    name: Option<String>,
}

/// Which file names something of which other file, and the names.
pub(super) type FileImports = BTreeMap<(String, String), BTreeSet<String>>;

/// Which file of a crate names what of which other file.
pub(super) fn file_imports(read: &Crate) -> FileImports {
    let mut found = FileImports::new();
    for module in read.modules.values() {
        let used = module.imports.iter().filter(|import| !import.is_reexport);
        for import in used {
            let Some(target) = resolve(read, module, &import.path, 0) else {
                continue;
            };
            let Some(there) = read.modules.get(&target.module) else {
                continue;
            };
            // `use super::plans;` names nothing yet: the paths behind it do.
            if let Some(name) = target.name
                && there.file != module.file
            {
                let files = (module.file.clone(), there.file.clone());
                found.entry(files).or_default().insert(name);
            }
        }
    }
    found
}

fn resolve(read: &Crate, module: &Module, path: &[String], depth: usize) -> Option<Target> {
    if depth > REEXPORTS_MAX {
        return None;
    }
    let (first, rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.names.clone(),
        "super" => parent(&module.names)?,
        name => return resolve_name(read, module, name, rest, depth),
    };
    let mut rest = rest;
    while let Some((first, behind)) = rest.split_first()
        && first == "super"
    {
        at = parent(&at)?;
        rest = behind;
    }
    walk(read, at, rest, depth)
}

fn parent(names: &[String]) -> Option<Vec<String>> {
    names.split_last().map(|(_, before)| before.to_vec())
}

/// A path whose first name is a child of the module, or was brought in by a `use`.
fn resolve_name(
    read: &Crate,
    module: &Module,
    name: &str,
    rest: &[String],
    depth: usize,
) -> Option<Target> {
    if module.children.contains(name) {
        let mut at = module.names.clone();
        at.push(name.to_owned());
        return walk(read, at, rest, depth);
    }
    let import = module
        .imports
        .iter()
        .find(|import| import.name.as_deref() == Some(name))?;
    if import.path.first().map(String::as_str) == Some(name) && import.path.len() == 1 {
        return None;
    }
    let mut path = import.path.clone();
    path.extend_from_slice(rest);
    resolve(read, module, &path, depth + 1)
}

fn walk(read: &Crate, at: Vec<String>, rest: &[String], depth: usize) -> Option<Target> {
    let module = read.modules.get(&at)?;
    let Some((first, behind)) = rest.split_first() else {
        return Some(Target {
            module: at,
            name: None,
        });
    };
    if module.children.contains(first) {
        let mut below = at;
        below.push(first.clone());
        return walk(read, below, behind, depth);
    }
    let handed_on = module
        .imports
        .iter()
        .find(|import| import.is_reexport && import.name.as_deref() == Some(first));
    if let Some(import) = handed_on {
        let mut path = import.path.clone();
        path.extend_from_slice(behind);
        return resolve(read, module, &path, depth + 1);
    }
    Some(Target {
        module: at,
        name: Some(first.clone()),
    })
}

/// The sets of nodes that reach each other, those of one node left out.
pub(super) fn circles<'a>(
    edges: impl IntoIterator<Item = &'a (String, String)>,
) -> Vec<BTreeSet<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().push(to);
        next.entry(to).or_default();
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> = next
        .keys()
        .map(|start| {
            let mut seen = BTreeSet::new();
            let mut open = vec![*start];
            while let Some(node) = open.pop() {
                for to in next.get(node).into_iter().flatten() {
                    if seen.insert(*to) {
                        open.push(to);
                    }
                }
            }
            (*start, seen)
        })
        .collect();
    let mut found = BTreeSet::new();
    for (node, reached) in &reach {
        let circle: BTreeSet<String> = reached
            .iter()
            .filter(|other| reach.get(*other).is_some_and(|back| back.contains(node)))
            .map(|other| (*other).to_owned())
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pairs: &[(&str, &str)]) -> BTreeSet<(String, String)> {
        let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_circle_is_found_once_whatever_leads_to_it() {
        let found = circles(&edges(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].iter().collect::<Vec<_>>(), ["b", "c"]);
        assert!(circles(&edges(&[("a", "b"), ("a", "c"), ("b", "c")])).is_empty());
    }
}
