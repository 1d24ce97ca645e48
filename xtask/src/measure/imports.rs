//! Which paths an item names.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A path that a module names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// `*` ends the path of a glob.
    pub(super) path: Vec<String>,
    /// The name under which a `use` has it; none for a path inside of code.
    pub(super) name: Option<String>,
    /// Handed on to others only.
    pub(super) is_reexport: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

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
