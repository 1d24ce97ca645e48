//! The guide as a book, and whether its links lead somewhere.

use std::fs;
use std::io;
use std::path::Path;

use crate::tidy::{resolve, targets};
use crate::{program, tree};

/// What the book is made of: the pages, with links out of them as addresses.
const SOURCES: &str = "target/book-src";
const BOOK: &str = "target/book";

/// Builds the book, and looks at every link in it.
pub(crate) fn build(root: &Path) -> Result<(), String> {
    let cannot = |error: io::Error| format!("the book cannot be made: {error}");
    let sources = root.join(SOURCES);
    copy_folder(&root.join("docs"), &sources).map_err(cannot)?;
    let repository = repository(root)?;
    for page in tree::texts(&sources).map_err(cannot)? {
        if page.has_ending("md") {
            let path = format!("docs/{}", page.path);
            let text = with_outer_links(&path, &page.text, &repository);
            fs::write(sources.join(&page.path), text).map_err(cannot)?;
        }
    }
    program::run(root, "mdbook", &["build", SOURCES])?;
    let book = root.join(BOOK);
    let mut broken = Vec::new();
    for page in tree::texts(&book).map_err(cannot)? {
        if page.has_ending("html") {
            let lost = links_of_html(&page.text).filter(|link| !leads(&book, &page.path, link));
            broken.extend(lost.map(|link| format!("{}: {link}", page.path)));
        }
    }
    if broken.is_empty() {
        crate::say(format!("book: every link of {BOOK} leads somewhere"));
        return Ok(());
    }
    let broken = broken.join("\n");
    Err(format!("book: these links lead nowhere:\n{broken}"))
}

/// Where the sources are for those who read the book.
fn repository(root: &Path) -> Result<String, String> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| format!("cargo metadata failed: {error}"))?;
    let named = metadata
        .packages
        .into_iter()
        .find_map(|package| package.repository);
    named.ok_or_else(|| "no package names the repository".to_owned())
}

/// A page whose links out of the documents are addresses in the repository: the book does
/// not have what they lead to.
fn with_outer_links(page: &str, text: &str, repository: &str) -> String {
    let mut text = text.to_owned();
    let found: Vec<(usize, String)> = targets(&text)
        .into_iter()
        .map(|(offset, link)| (offset, link.to_owned()))
        .collect();
    for (offset, link) in found.into_iter().rev() {
        let path = link.split('#').next().unwrap_or_default();
        let target = resolve(page, path);
        if path.is_empty() || path.contains("://") || target.starts_with("docs/") {
            continue;
        }
        let heading = &link[path.len()..];
        let start = offset + "](".len();
        let address = format!("{repository}/blob/main/{target}{heading}");
        text.replace_range(start..start + link.len(), &address);
    }
    text
}

/// The files that a page of the book needs or leads to, as it names them.
fn links_of_html(text: &str) -> impl Iterator<Item = &str> {
    let values = ["href=\"", "src=\""].into_iter().flat_map(|attribute| {
        text.split(attribute)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
    });
    values
        .filter(|link| !link.contains(':'))
        .map(|link| link.split('#').next().unwrap_or_default())
        .filter(|path| !path.is_empty())
}

fn leads(book: &Path, page: &str, link: &str) -> bool {
    book.join(resolve(page, link)).exists()
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_are_addresses() {
        let text = "[a](agents.md#b) [c](../../bench/README.md#d) `[e](../../f.md)`\n";
        assert_eq!(
            with_outer_links("docs/guide/x.md", text, "https://example.org/p"),
            "[a](agents.md#b) [c](https://example.org/p/blob/main/bench/README.md#d) `[e](../../f.md)`\n"
        );
    }

    #[test]
    fn links_of_a_page_are_found() {
        let html =
            r##"<a href="x.html#y">x</a><a href="#z"><img src="p/q.png"><a href="https://a">"##;
        let found: Vec<&str> = links_of_html(html).collect();
        assert_eq!(found, ["x.html", "p/q.png"]);
    }
}
