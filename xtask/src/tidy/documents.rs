//! The documents: every link leads somewhere, every test that is named is
//! there, every failure has its page, and no page tells anybody to throw
//! something away.

use std::collections::BTreeSet;
use std::path::Path;

use super::finding::{Finding, file, quoted};
use crate::tree::Text;

/// Where the codes of failures stand.
pub(crate) const CODES: &str = "crates/engine/src/failure.rs";
/// The table of contents of the guide.
const CONTENTS: &str = "docs/SUMMARY.md";
/// Where their pages are.
pub(crate) const PAGES: &str = "docs/errors";

/// Words that no page about a failure has.
const NEVER_SAID: [&str; 6] = ["delete", "remove", "reset", "force", "rm", "discard"];

pub(super) fn check(root: &Path, files: &[Text]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        if file.has_ending("md") {
            findings.extend(links(root, file, files));
        }
        findings.extend(mentions(root, file));
    }
    findings.extend(pages(files));
    findings.extend(claims(files));
    findings.extend(unlisted(files));
    findings
}

/// Pages that the table of contents does not list: the book would not have them.
fn unlisted(files: &[Text]) -> Vec<Finding> {
    let Some(contents) = file(files, CONTENTS) else {
        return Vec::new();
    };
    let listed: BTreeSet<String> = targets(&contents.text)
        .into_iter()
        .map(|(_, link)| resolve(CONTENTS, link))
        .collect();
    let is_page = |file: &&Text| file.path.starts_with("docs/") && file.has_ending("md");
    files
        .iter()
        .filter(is_page)
        .filter(|page| page.path != CONTENTS && !listed.contains(&page.path))
        .map(|page| Finding::at(page, 0, format!("{CONTENTS} does not list it")))
        .collect()
}

/// Tests that are named as what holds an invariant, and are not there.
fn claims(files: &[Text]) -> Vec<Finding> {
    let Some(page) = file(files, "ARCHITECTURE.md") else {
        return Vec::new();
    };
    let is_claim = |name: &&str| {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        name.chars().all(word) && name.matches('_').count() >= 3
    };
    let mut findings = Vec::new();
    for name in quoted(&page.text).into_iter().filter(is_claim) {
        let written = format!("fn {name}(");
        let mut sources = files.iter().filter(|file| file.has_ending("rs"));
        if !sources.any(|source| source.text.contains(&written)) {
            let offset = page.text.find(name).unwrap_or(0);
            findings.push(Finding::at(
                page,
                offset,
                format!("no test is called {name}"),
            ));
        }
    }
    findings
}

/// Links between files of this repository, with the heading they lead to.
fn links(root: &Path, page: &Text, files: &[Text]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (offset, link) in targets(&page.text) {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = if path.is_empty() {
            page.path.clone()
        } else {
            resolve(&page.path, path)
        };
        if !root.join(&target).exists() {
            findings.push(Finding::at(page, offset, format!("{link} leads nowhere")));
        } else if !heading.is_empty()
            && file(files, &target).is_some_and(|found| !has_heading(&found.text, heading))
        {
            let what = format!("{target} has no heading #{heading}");
            findings.push(Finding::at(page, offset, what));
        }
    }
    findings
}

/// What stands between `](` and `)`, outside of code.
pub(crate) fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let at = offset;
        offset += line.len();
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        for (start, _) in line.match_indices("](") {
            let code = line[..start].matches('`').count() % 2 == 1;
            let rest = &line[start + 2..];
            if let Some(end) = rest.find(')').filter(|_| !code) {
                found.push((at + start, &rest[..end]));
            }
        }
    }
    found
}

/// A path as seen from the folder of another one.
pub(crate) fn resolve(page: &str, path: &str) -> String {
    let mut names: Vec<&str> = page.split('/').collect();
    names.pop();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Whether a page has a heading to which `#anchor` leads, as forges make them.
fn has_heading(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter_map(|line| {
        let rest = line.trim_start_matches('#');
        (rest.len() < line.len() && rest.starts_with(' ')).then(|| rest.trim())
    });
    let slug = |heading: &str| -> String {
        let keep = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let kept: String = heading.chars().filter(keep).collect();
        kept.to_lowercase().replace(' ', "-")
    };
    headings.into_iter().any(|heading| slug(heading) == anchor)
}

/// Documents that are named in passing: `docs/guide/sprints.md`.
fn mentions(root: &Path, file: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    let end = match file.text.find("#[cfg(test)]\nmod ") {
        Some(tests) if file.has_ending("rs") => tests,
        Some(_) | None => file.text.len(),
    };
    for (offset, _) in file.text[..end].match_indices("docs/") {
        let before = file.text[..offset].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '-')) {
            continue;
        }
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
        let named: String = file.text[offset..].chars().take_while(plain).collect();
        // `NNNN` stands for a number.
        let pattern = named.contains("NNNN");
        if named.ends_with(".md") && !pattern && !root.join(&named).exists() {
            findings.push(Finding::at(file, offset, format!("there is no {named}")));
        }
    }
    findings
}

/// A code of a failure and the exit status that goes with it, by name.
pub(crate) fn codes(source: &str) -> Vec<(String, String)> {
    let Some(start) = source.find("pub const CODES") else {
        return Vec::new();
    };
    let table = &source[start..];
    let table = &table[..table.find("];").unwrap_or(table.len())];
    table
        .lines()
        .filter_map(|line| {
            let (code, exit) = line
                .trim()
                .strip_prefix("(\"")?
                .split_once("\", CommandExit::")?;
            let exit = exit.trim_end_matches([',', ')']);
            Some((code.to_owned(), exit.to_owned()))
        })
        .collect()
}

/// The number of an exit status, by its name.
pub(crate) fn number(source: &str, exit: &str) -> Option<String> {
    let wanted = format!("{exit} = ");
    source.lines().find_map(|line| {
        let number = line.trim().strip_prefix(&wanted)?.strip_suffix(',')?;
        Some(number.to_owned())
    })
}

/// The first sentence of a page, below its title.
pub(crate) fn first_sentence(page: &str) -> String {
    let body = page.lines().skip(1).find(|line| !line.trim().is_empty());
    let body = body.unwrap_or_default().trim();
    body.find(". ")
        .map_or(body, |end| &body[..end])
        .trim_end_matches('.')
        .to_owned()
}

fn pages(files: &[Text]) -> Vec<Finding> {
    let Some(source) = file(files, CODES) else {
        return vec![Finding::of(CODES, "is not there")];
    };
    let codes = codes(&source.text);
    if codes.is_empty() {
        return vec![Finding::of(CODES, "has no table of codes")];
    }
    let mut findings = Vec::new();
    for (code, exit) in &codes {
        let path = format!("{PAGES}/{code}.md");
        let Some(page) = file(files, &path) else {
            findings.push(Finding::of(path, format!("the code `{code}` has no page")));
            continue;
        };
        let title = format!("# {code}\n");
        if !page.text.starts_with(&title) {
            findings.push(Finding::at(
                page,
                0,
                format!("does not begin with `# {code}`"),
            ));
        }
        let number = number(&source.text, exit).unwrap_or_default();
        let status = format!("Exit status {number}.");
        if !page.text.contains(&status) {
            findings.push(Finding::at(page, 0, format!("does not say `{status}`")));
        }
    }
    let known: BTreeSet<String> = codes
        .iter()
        .map(|(code, _)| format!("{PAGES}/{code}.md"))
        .collect();
    let there = files.iter().filter(|file| file.path.starts_with(PAGES));
    for page in there {
        if !known.contains(&page.path) && page.path != format!("{PAGES}/README.md") {
            findings.push(Finding::at(page, 0, "is about a code that there is not"));
        }
        let lower = page.text.to_lowercase();
        for word in NEVER_SAID {
            if let Some(offset) = find_word(&lower, word) {
                let what = format!("a page about a failure never says `{word}`");
                findings.push(Finding::at(page, offset, what));
            }
        }
    }
    findings
}

/// Where a word stands by itself.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let open = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(word)
        .find(|(start, _)| {
            open(text[..*start].chars().next_back())
                && open(text[start + word.len()..].chars().next())
        })
        .map(|(start, _)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_listed_is_found() {
        let page = |path: &str, text: &str| Text {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            page(CONTENTS, "- [Trust](guide/trust.md)\n"),
            page("docs/guide/trust.md", "# Trust\n"),
            page("docs/guide/new.md", "# New\n"),
            page("README.md", "# piton\n"),
        ];
        let found: Vec<String> = unlisted(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("docs/guide/new.md"), "{found:?}");
    }

    #[test]
    fn links_in_code_are_not_links() {
        let text = "[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n";
        assert_eq!(targets(text), [(2, "b.md")]);
    }

    #[test]
    fn a_link_is_seen_from_its_page() {
        assert_eq!(
            resolve("docs/guide/a.md", "../errors/b.md"),
            "docs/errors/b.md"
        );
        assert_eq!(resolve("README.md", "./docs/"), "docs");
    }

    #[test]
    fn headings_are_found_by_their_anchors() {
        let text = "# The store, and one `commit`\n";
        assert!(has_heading(text, "the-store-and-one-commit"));
        assert!(!has_heading(text, "the-store"));
    }

    #[test]
    fn a_word_is_not_found_inside_another() {
        assert_eq!(find_word("confirm the form", "rm"), None);
        assert_eq!(find_word("type rm -r", "rm"), Some(5));
    }

    #[test]
    fn codes_come_with_their_status() {
        let source = "    Busy = 4,\npub const CODES: &[(&str, CommandExit)] = &[\n    (\"run.busy\", CommandExit::Busy),\n];\n";
        assert_eq!(codes(source), [("run.busy".to_owned(), "Busy".to_owned())]);
        assert_eq!(number(source, "Busy").as_deref(), Some("4"));
    }
}
