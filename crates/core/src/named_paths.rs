//! Paths that a memory names, so that the caller can check whether they exist.
//!
//! Named is what looks like a path within the project. Left out is what only
//! seems to be one ("and/or", `Node.js`), what lies outside (`/etc/hosts`), what
//! stands for others (globs, placeholders) and what is built, not written.

use std::collections::{BTreeSet, HashSet};

use crate::memory::Memory;
use crate::recall::{strip_line_number, trim_punctuation};

/// A memory that names more is a list; the first ones tell enough.
const PATHS_MAX: usize = 16;

/// What names of files end with.
const ENDINGS: &str = "adoc bash bat c cc cfg cjs clj conf cpp cs css csv cts dart ex exs fs gd \
    gitignore go gradle graphql groovy h hcl hpp hs html ini ipynb java jl js json json5 jsonc jsx kt \
    kts less lock lua m md mdx mjs mk ml mts nix php pl plist po prisma properties proto ps1 py pyi r \
    rake rb rs rst sass scala scss sh sql sqlite svelte svg swift tf tfvars toml tpl ts tscn tsv tsx \
    txt vue xml yaml yml zig";

/// What the first folder of a path is often called: `src/app` is a path, "read/write" is none.
const FOLDERS: &str = ".cargo .claude .config .github .gitlab .husky .storybook .vscode api app apps \
    assets backend bench benches bin client cmd config configs core crates data db deploy doc docs e2e \
    etc examples fixtures frontend include infra internal lib libs migrations modules ops packages pkg \
    public resources schema scripts server services spec specs sql src static templates test tests \
    tools ui web workflows xtask";

/// Folders of what is built: that they are not there says nothing.
const BUILT: &str = ".bin .cache .git .gradle .mypy_cache .next .nuxt .piton .pytest_cache .ralph .terraform \
    .tox .turbo .venv __pycache__ build coverage dist node_modules out target tmp venv";

/// Parts that stand for others.
const PLACEHOLDERS: &str = "... foo bar baz path your xxx";
/// Words in parts that do.
const LETTERS: &str = "N NN NNN NNNN X XX XXX XXXX YYYY NAME";

fn is_among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// The paths that a memory names, relative to the project, each once, in order.
///
/// A bare `cart.rs` is one, too, and `cart/mod.rs` need not begin at the root of
/// the project: ask [`find_missing_paths`] whether there is such a file.
#[must_use]
pub fn paths_in_memory(memory: &Memory) -> Vec<String> {
    let texts = [memory.title.as_deref(), Some(memory.content.as_str())];
    let texts = texts.into_iter().flatten();
    let texts = texts.chain(memory.examples.iter().map(String::as_str));
    let mut paths: Vec<String> = Vec::new();
    for path in texts.flat_map(str::split_whitespace).filter_map(parse_path) {
        if paths.len() < PATHS_MAX && !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// The path that a word is.
fn parse_path(word: &str) -> Option<&str> {
    let said = trim_punctuation(word);
    // `response.json()` is called, not opened; `*.rs` stands for others.
    let stands_for_others = |sign: char| matches!(sign, '*' | '$' | '<' | '{' | '~' | '|');
    if word.contains(&format!("{said}(")) || word.contains(stands_for_others) {
        return None;
    }
    let word = strip_line_number(said);
    let word = word.strip_prefix("./").unwrap_or(word);
    let is_plain =
        |sign: char| sign.is_alphanumeric() || matches!(sign, '/' | '.' | '_' | '-' | '+' | '@');
    if !word.chars().all(is_plain) || word.starts_with(['/', '-', '@']) || word.contains("//") {
        return None;
    }
    let parts: Vec<&str> = word.trim_end_matches('/').split('/').collect();
    let (first, last) = (parts.first()?, parts.last()?);
    let is_no_name = |part: &&str| matches!(*part, "" | "." | "..") || is_placeholder(part);
    if parts.iter().any(is_no_name) || is_among(BUILT, first) {
        return None;
    }
    let is_path = if word == *first {
        has_known_extension(last) && !is_product_name(last)
    } else {
        // A first part with a dot inside is a host: `example.org/a.html`. So is
        // a last one without a known ending: `lines/Reader.read` is a name.
        let has_dot = |name: &str| name.trim_start_matches('.').contains('.');
        let is_folder = !has_dot(last) && (is_among(FOLDERS, first) || word.ends_with('/'));
        !has_dot(first) && last.len() > 1 && (has_known_extension(last) || is_folder)
    };
    is_path.then(|| word.trim_end_matches('/'))
}

/// `path/to/NNN.sql`: a part of it, or a word in a part.
fn is_placeholder(part: &str) -> bool {
    let mut words = part.split(|sign: char| !sign.is_alphanumeric());
    is_among(PLACEHOLDERS, &part.to_lowercase()) || words.any(|word| is_among(LETTERS, word))
}

/// `cart.rs`, not `self.rs.len` and not `.rs`.
fn has_known_extension(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && is_among(ENDINGS, &ending.to_lowercase()))
}

/// `Node.js` is no file, and neither is `user.go` what `User.Go` calls.
fn is_product_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let products = "node.js vue.js next.js nuxt.js react.js three.js d3.js express.js ember.js alpine.js docs.rs";
    is_among(products, &lower) || name.ends_with(".Go")
}

/// Which of the named paths are nowhere among the files of the project.
///
/// A path is there when a file is called so, or a folder that a file is in,
/// also below other folders: people say `cart/mod.rs` for `src/cart/mod.rs`.
/// `files` are relative to the project, with `/`.
#[must_use]
pub fn find_missing_paths<'n, 'f>(
    named: impl IntoIterator<Item = &'n str>,
    files: impl IntoIterator<Item = &'f str>,
) -> BTreeSet<String> {
    let mut gone: HashSet<&str> = named.into_iter().collect();
    for file in files {
        let starts = file.match_indices('/').map(|(at, _)| at + 1);
        for start in std::iter::once(0).chain(starts) {
            let rest = &file[start..];
            let ends = rest.match_indices('/').map(|(at, _)| at);
            for end in ends.chain(std::iter::once(rest.len())) {
                gone.remove(&rest[..end]);
            }
        }
    }
    gone.into_iter().map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryKind;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let memory = Memory::new(MemoryKind::Learning, text);
        assert_eq!(paths_in_memory(&memory), expected, "{text}");
    }

    #[test]
    fn what_looks_like_a_path_of_the_project_is_named() {
        check(
            "see `crates/keel/src/oak.rs:12:7`.",
            &["crates/keel/src/oak.rs"],
        );
        check(
            "(docs/tar.md), ./scripts/cut.sh;",
            &["docs/tar.md", "scripts/cut.sh"],
        );
        check("Cargo.toml and keel/mod.rs", &["Cargo.toml", "keel/mod.rs"]);
        check(
            "look into .github/workflows/ci.yml",
            &[".github/workflows/ci.yml"],
        );
        check("all of src/hull or tests/it/", &["src/hull", "tests/it"]);
        check("the folder masts/", &["masts"]);
        check("oak.rs, oak.rs and \"oak.rs\"", &["oak.rs"]);
    }

    #[test]
    fn what_only_seems_to_be_a_path_is_not() {
        for text in [
            "read/write and/or TCP/IP 24/7",
            "application/json from linux/arm64 at origin/main",
            "https://example.org/a/b.html",
            "example.org/a/b.html",
            "/etc/hosts ~/.ssh/config ../other/src/a.rs",
            "src/*.rs src/{a,b}.rs src/<name>.rs $HOME/a.sh ${DIR}/a.sh",
            "path/to/file.rs foo/bar.rs src/.../a.rs",
            "Node.js and Vue.js",
            "std::fs::read self.items.len() v1.2 e.g. 1.5",
            "@scope/pkg.js --config=a.toml -o",
            "target/debug/keel.rs dist/app.js node_modules/x/y.js",
            "A.B. Smith",
            "w/ a mast, see docs.rs",
            "db/NNN.sql migrate_N.gd internal/lines.Reader **/*.test.ts",
            "await response.json() of process.env",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn titles_and_examples_are_read_and_lists_are_cut() {
        let memory = Memory {
            title: Some("In src/oak.rs".to_owned()),
            examples: vec!["src/elm.rs".to_owned(), "let a = 1;".to_owned()],
            ..Memory::new(MemoryKind::Pattern, "as in src/ash.rs")
        };
        assert_eq!(
            paths_in_memory(&memory),
            ["src/oak.rs", "src/ash.rs", "src/elm.rs"]
        );
        let list: Vec<String> = (0..50).map(|number| format!("src/{number}.rs")).collect();
        let memory = Memory::new(MemoryKind::Learning, list.join(" "));
        assert_eq!(paths_in_memory(&memory).len(), PATHS_MAX);
    }

    #[test]
    fn a_path_is_there_below_any_folder() {
        let files = ["crates/keel/src/oak.rs", "Cargo.toml"];
        let named = ["oak.rs", "src/oak.rs", "keel/src", "crates", "Cargo.toml"];
        assert_eq!(find_missing_paths(named, files), BTreeSet::new());
        let named = ["ak.rs", "keel/oak.rs", "src/elm.rs"];
        let missing: Vec<String> = find_missing_paths(named, files).into_iter().collect();
        assert_eq!(missing, ["ak.rs", "keel/oak.rs", "src/elm.rs"]);
    }
}
