//! Which file of a crate names what of which other one, and the circles in that.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::sources::{Crate, Module};

/// How many re-exports lead to where something is defined.
const REEXPORTS_MAX: usize = 8;

/// A path that a module names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// `*` ends the path of a glob.
    path: Vec<String>,
    /// The name under which a `use` has it; none for a path inside of code.
    name: Option<String>,
    /// Handed on to others only.
    is_reexport: bool,
}

/// The paths that an item names.
pub(super) fn collect_imports(item: &syn::Item) -> Vec<Import> {
    let mut paths = Paths(Vec::new());
    paths.visit_item(item);
    paths.0
}

struct Paths(Vec<Import>);

impl Paths {
    fn add_tree(&mut self, tree: &syn::UseTree, before: &[String], is_reexport: bool) {
        let mut path = before.to_vec();
        let add = |paths: &mut Self, path: Vec<String>, name: Option<String>| {
            paths.0.push(Import {
                path,
                name,
                is_reexport,
            });
        };
        match tree {
            syn::UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.add_tree(&inner.tree, &path, is_reexport);
            }
            syn::UseTree::Name(inner) if inner.ident == "self" => {
                let name = path.last().cloned();
                add(self, path, name);
            }
            syn::UseTree::Name(inner) => {
                path.push(inner.ident.to_string());
                add(self, path, Some(inner.ident.to_string()));
            }
            syn::UseTree::Rename(inner) => {
                if inner.ident != "self" {
                    path.push(inner.ident.to_string());
                }
                add(self, path, Some(inner.rename.to_string()));
            }
            syn::UseTree::Glob(_) => {
                path.push("*".to_owned());
                add(self, path, Some("*".to_owned()));
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, before, is_reexport);
                }
            }
        }
    }

    /// Paths inside the call of a macro are tokens like any.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_path(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.add_path(std::mem::take(&mut path));
                    colons = 0;
                    self.add_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.add_path(std::mem::take(&mut path));
                    colons = 0;
                }
            }
        }
        self.add_path(path);
    }

    fn add_path(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.0.push(Import {
                path,
                name: None,
                is_reexport: false,
            });
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
        self.add_tree(&item.tree, &[], is_reexport);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.add_path(names.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.add_tokens(item.tokens.clone());
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // Modules inside of a file are read as modules.
        let _ = item;
    }
}

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

    #[test]
    fn paths_inside_of_macros_and_groups_are_found() {
        let item = syn::parse_quote! {
            fn f() { assert!(crate::a::is_b(super::C)); }
        };
        let found = collect_imports(&item);
        let paths: Vec<String> = found.iter().map(|import| import.path.join("::")).collect();
        assert_eq!(paths, ["crate::a::is_b", "super::C"]);
        let item = syn::parse_quote! { use crate::{a::{self, B}, c::D as E}; };
        let names: Vec<_> = collect_imports(&item)
            .into_iter()
            .filter_map(|import| import.name)
            .collect();
        assert_eq!(names, ["a", "B", "E"]);
    }
}
