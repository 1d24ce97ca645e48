//! The sources of a crate as a tree of modules, and what each of them defines.
//!
//! Only what ships is read: items and modules behind `#[cfg(test)]` are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::imports::{Import, collect_imports};

/// What a definition defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A struct with so many fields, an enum, a trait, an alias.
    Type { fields: usize },
    /// A function that somebody named here: not one that a trait demands.
    Function { tuple_parameters: usize },
    /// A function of a trait that is implemented here.
    Implementation { tuple_parameters: usize },
}

/// A type or a function.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) column: usize,
    /// From its first line to its last, its documentation aside.
    pub(super) lines: usize,
    pub(super) owner: Option<String>,
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A module with its own file, or one inside the file of another.
#[derive(Debug)]
pub(super) struct Module {
    /// Its names below the crate; empty for the crate's root.
    pub(super) names: Vec<String>,
    pub(super) file: String,
    pub(super) children: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
}

/// A crate as it ships.
#[derive(Debug, Default)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) modules: BTreeMap<Vec<String>, Module>,
    pub(super) definitions: Vec<Definition>,
    /// Lines that hold code.
    pub(super) code_lines: usize,
    /// The texts of its files, by path.
    pub(super) texts: BTreeMap<String, String>,
    /// The texts between quotes.
    pub(super) literals: Vec<(String, usize, String)>,
}

impl Crate {
    /// Reads `crates/NAME` of the workspace at `root`.
    ///
    /// # Errors
    ///
    /// A file of it cannot be read or is no Rust.
    pub(super) fn read(root: &Path, name: &str) -> Result<Self, String> {
        let src = root.join("crates").join(name).join("src");
        let main = ["lib.rs", "main.rs"].map(|file| src.join(file));
        let mut read = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let mut reader = Reader {
            root,
            read: &mut read,
        };
        for file in main.into_iter().filter(|file| file.is_file()) {
            reader.read_file(&file, &src, Vec::new())?;
        }
        Ok(read)
    }
}

struct Reader<'a> {
    root: &'a Path,
    read: &'a mut Crate,
}

impl Reader<'_> {
    /// Reads the module of that file and all below it. `folder` is where the
    /// files of its children are.
    fn read_file(&mut self, file: &Path, folder: &Path, names: Vec<String>) -> Result<(), String> {
        let path = file.strip_prefix(self.root).unwrap_or(file);
        let path = path.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(file).map_err(|error| format!("{path}: {error}"))?;
        let syntax = syn::parse_file(&text).map_err(|error| format!("{path}: {error}"))?;
        let mut code = Code::default();
        let tokens: TokenStream = text.parse().map_err(|error| format!("{path}: {error}"))?;
        code.read(tokens);
        let mut tests = TestLines::default();
        tests.visit_file(&syntax);
        self.read.code_lines += code.lines.difference(&tests.0).count();
        for (line, literal) in code.literals {
            if !tests.0.contains(&line) {
                self.read.literals.push((path.clone(), line, literal));
            }
        }
        self.read.texts.insert(path.clone(), text);
        self.read_items(&syntax.items, &path, folder, names)
    }

    fn read_items(
        &mut self,
        items: &[syn::Item],
        path: &str,
        folder: &Path,
        names: Vec<String>,
    ) -> Result<(), String> {
        let mut module = Module {
            names: names.clone(),
            file: path.to_owned(),
            children: BTreeSet::new(),
            imports: Vec::new(),
        };
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            if let syn::Item::Mod(child) = item {
                let name = child.ident.to_string();
                module.children.insert(name.clone());
                let mut below = names.clone();
                below.push(name.clone());
                if let Some((_, items)) = &child.content {
                    self.read_items(items, path, &folder.join(&name), below)?;
                } else {
                    let file = file_of_module(folder, &name);
                    self.read_file(&file, &folder.join(&name), below)?;
                }
                continue;
            }
            if let syn::Item::Macro(call) = item {
                for name in modules_in_tokens(call.mac.tokens.clone()) {
                    let file = file_of_module(folder, &name);
                    if file.is_file() {
                        module.children.insert(name.clone());
                        let mut below = names.clone();
                        below.push(name.clone());
                        self.read_file(&file, &folder.join(&name), below)?;
                    }
                }
            }
            module.imports.extend(collect_imports(item));
            let mut definitions = Definitions {
                path,
                owner: None,
                of_trait: false,
                found: &mut self.read.definitions,
            };
            definitions.visit_item(item);
        }
        self.read.modules.insert(names, module);
        Ok(())
    }
}

fn file_of_module(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(format!("{name}.rs"));
    if file.is_file() {
        file
    } else {
        folder.join(name).join("mod.rs")
    }
}

/// The modules that the call of a macro declares.
fn modules_in_tokens(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_declared = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(ident) if is_declared => found.push(ident.to_string()),
            TokenTree::Group(group) => found.extend(modules_in_tokens(group.stream())),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        is_declared = matches!(&token, TokenTree::Ident(ident) if ident == "mod");
    }
    found
}

/// Whether something is compiled for tests only.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return attribute.path().is_ident("test");
        };
        list.path.is_ident("cfg") && list.tokens.to_string() == "test"
    })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "syn may add kinds of items in any version"
)]
fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The lines of what is for tests only.
#[derive(Default)]
struct TestLines(BTreeSet<usize>);

impl<'ast> Visit<'ast> for TestLines {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_for_tests(attributes(item)) {
            let span = item.span();
            self.0.extend(span.start().line..=span.end().line);
        } else {
            visit::visit_item(self, item);
        }
    }
}

/// The lines that hold a token, documentation aside, and the texts between quotes.
#[derive(Default)]
struct Code {
    lines: BTreeSet<usize>,
    literals: Vec<(usize, String)>,
}

impl Code {
    fn read(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            if let TokenTree::Punct(punct) = &token
                && punct.as_char() == '#'
            {
                // `//!` is `#![doc = "…"]` here, `///` is `#[doc = "…"]`.
                let inner = tokens.next_if(
                    |next| matches!(next, TokenTree::Punct(punct) if punct.as_char() == '!'),
                );
                let documents = tokens.next_if(is_documentation);
                if documents.is_none() {
                    self.mark(&token);
                    inner.iter().for_each(|token| self.mark(token));
                }
                continue;
            }
            match token {
                TokenTree::Group(group) => {
                    if group.delimiter() != Delimiter::None {
                        self.lines.insert(group.span_open().start().line);
                        self.lines.insert(group.span_close().end().line);
                    }
                    self.read(group.stream());
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => self.mark(&token),
                TokenTree::Literal(_) => {
                    self.mark(&token);
                    let text = token.to_string();
                    if text.contains('"') {
                        self.literals.push((token.span().start().line, text));
                    }
                }
            }
        }
    }

    fn mark(&mut self, token: &TokenTree) {
        let span = token.span();
        self.lines.extend(span.start().line..=span.end().line);
    }
}

fn is_documentation(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    let mut inside = group.stream().into_iter();
    group.delimiter() == Delimiter::Bracket
        && matches!(inside.next(), Some(TokenTree::Ident(ident)) if ident == "doc")
        && matches!(inside.next(), Some(TokenTree::Punct(punct)) if punct.as_char() == '=')
}

/// Collects what an item defines, what is inside of it as well.
struct Definitions<'a> {
    path: &'a str,
    owner: Option<String>,
    of_trait: bool,
    found: &'a mut Vec<Definition>,
}

impl Definitions<'_> {
    fn add(&mut self, ident: &syn::Ident, lines: usize, kind: Kind) {
        let start = ident.span().start();
        self.found.push(Definition {
            path: self.path.to_owned(),
            line: start.line,
            column: start.column,
            lines,
            owner: self.owner.clone(),
            name: ident.to_string(),
            kind,
        });
    }

    fn add_function(&mut self, signature: &syn::Signature, end: usize) {
        let is_tuple = |ty: &syn::Type| matches!(behind_references(ty), syn::Type::Tuple(tuple) if tuple.elems.len() > 1);
        let tuple_parameters = signature
            .inputs
            .iter()
            .filter(|input| matches!(input, syn::FnArg::Typed(typed) if is_tuple(&typed.ty)))
            .count();
        let lines = end + 1 - signature.span().start().line;
        let kind = if self.of_trait {
            Kind::Implementation { tuple_parameters }
        } else {
            Kind::Function { tuple_parameters }
        };
        self.add(&signature.ident, lines, kind);
    }
}

fn behind_references(ty: &syn::Type) -> &syn::Type {
    if let syn::Type::Reference(reference) = ty {
        return behind_references(&reference.elem);
    }
    ty
}

fn name_of_type(ty: &syn::Type) -> Option<String> {
    let syn::Type::Path(path) = behind_references(ty) else {
        return None;
    };
    path.path.segments.last().map(|last| last.ident.to_string())
}

impl<'ast> Visit<'ast> for Definitions<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let fields = item.fields.len();
        self.add(&item.ident, 0, Kind::Type { fields });
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.ident, 0, Kind::Type { fields: 0 });
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add(&item.ident, 0, Kind::Type { fields: 0 });
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add(&item.ident, 0, Kind::Type { fields: 0 });
        let owner = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = owner;
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = std::mem::replace(&mut self.owner, name_of_type(&item.self_ty));
        let of_trait = std::mem::replace(&mut self.of_trait, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.owner = owner;
        self.of_trait = of_trait;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let owner = self.owner.take();
        let of_trait = std::mem::replace(&mut self.of_trait, false);
        self.add_function(&item.sig, item.block.span().end().line);
        visit::visit_item_fn(self, item);
        self.owner = owner;
        self.of_trait = of_trait;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            self.add_function(&item.sig, item.block.span().end().line);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add_function(&item.sig, item.span().end().line);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}
