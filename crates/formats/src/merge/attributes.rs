//! The lines of `.gitattributes` that name piton as the merge driver.
//!
//! They stand between two comments, so that they can be taken out again; what a
//! person says of a file goes before.

use crate::format::{ANYWHERE, DocumentRole, Format, all_formats};
use crate::markdown::newline_of;
use crate::project_format::ProjectFile;
use crate::registry;

const BEGIN: &str = "# piton files merge-driver install";
const END: &str = "# piton files merge-driver: end";
/// Behind the first comment, what is to be done when it goes.
const MADE: &str = ", made this file";
const JOINED: &str = ", ended the line above";
const DRIVER: &str = " merge=piton";

/// The lines for the files that are merged, each once.
#[must_use]
pub fn attribute_lines() -> Vec<String> {
    // A plan that is looked for in some folders alone has a name that other files have,
    // too: who wants those merged names them.
    let is_own_name =
        |format: &Format| format.role == DocumentRole::Other || format.folders == ANYWHERE;
    let merged = all_formats().filter(|format| format.merge.is_some() && is_own_name(format));
    let mut lines: Vec<String> = merged
        .flat_map(|format| {
            let is_anywhere = |path: &str| !path.contains('/');
            let name = format.file_name();
            let by_name = format.paths.contains(&name);
            // An ending is that of other files, too.
            let paths = format.paths.iter().filter(move |path| {
                !(path.starts_with('.') && is_anywhere(path)) && (!by_name || is_anywhere(path))
            });
            paths.map(move |path| match is_anywhere(path) {
                true => format!("{path}{DRIVER}"),
                false => format!("**/{path}{DRIVER}"),
            })
        })
        .collect();
    // What is made of a file for people is text with headings; it is made anew
    // when piton next writes that file.
    let derived = registry::project_files().filter_map(ProjectFile::derived_path);
    lines.extend(derived.map(|path| format!("**/{path}{DRIVER}")));
    let archives = registry::project_files().filter_map(|file| file.archive);
    lines.extend(archives.map(|archive| format!("**/{}/*.json{DRIVER}", archive.folder)));
    lines.sort();
    lines.dedup();
    lines
}

/// The text with the lines; the same where they are there already.
#[must_use]
pub fn install(text: Option<&str>) -> String {
    let parted = SplitAttributes::parse(text.unwrap_or_default());
    let is_set = |line: &String| {
        let pattern = line.split(' ').next();
        let others = parted.before.lines().chain(parted.behind.lines());
        let mut others = others.map(str::split_whitespace);
        others.any(|mut words| {
            words.next() == pattern
                && words.any(|word| {
                    word.trim_start_matches(['-', '!']).split('=').next() == Some("merge")
                })
        })
    };
    let lines: Vec<String> = attribute_lines()
        .into_iter()
        .filter(|line| !is_set(line))
        .collect();
    let newline = newline_of(text.unwrap_or_default());
    let is_joined = !parted.before.is_empty() && !parted.before.ends_with('\n');
    let end = match (&parted.ends_with, text) {
        (Some(had), _) => had.as_str(),
        (None, None) => MADE,
        (None, Some(_)) if is_joined => JOINED,
        (None, Some(_)) => "",
    };
    let mut out = parted.before;
    if is_joined {
        out.push_str(newline);
    }
    if !lines.is_empty() {
        let first = format!("{BEGIN}{end}");
        let all = [first].into_iter().chain(lines).chain([END.to_owned()]);
        for line in all {
            out.push_str(&line);
            out.push_str(newline);
        }
    }
    out.push_str(&parted.behind);
    out
}

/// The text without what [`install`] added; none where it made the file.
#[must_use]
pub fn uninstall(text: &str) -> Option<String> {
    let parted = SplitAttributes::parse(text);
    let mut before = parted.before;
    let how = parted.ends_with.as_deref();
    if how == Some(JOINED) && parted.behind.is_empty() {
        let bare = before.strip_suffix(newline_of(text)).map(str::len);
        before.truncate(bare.unwrap_or(before.len()));
    }
    let rest = before + &parted.behind;
    (how != Some(MADE) || !rest.is_empty()).then_some(rest)
}

/// A text without the lines of piton.
struct SplitAttributes {
    before: String,
    /// What a person wrote behind the lines, or between them.
    behind: String,
    /// What stands behind the first comment, where that is there.
    ends_with: Option<String>,
}

impl SplitAttributes {
    fn parse(text: &str) -> Self {
        let mut parted = Self {
            before: String::new(),
            behind: String::new(),
            ends_with: None,
        };
        let mut is_within = false;
        for line in text.split_inclusive('\n') {
            let bare = line.trim_end();
            if let (None, Some(end)) = (&parted.ends_with, bare.strip_prefix(BEGIN)) {
                parted.ends_with = Some(end.to_owned());
                is_within = true;
            } else if is_within && (bare == END || bare.ends_with(DRIVER)) {
                is_within = bare != END;
            } else if parted.ends_with.is_some() {
                parted.behind.push_str(line);
            } else {
                parted.before.push_str(line);
            }
        }
        parted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_that_is_merged_has_one_line() {
        insta::assert_snapshot!(attribute_lines().join("\n"), @"
        **/.agent-os/progress/archive/*.json merge=piton
        **/.agent-os/progress/progress.json merge=piton
        **/.agent-os/progress/progress.md merge=piton
        **/.ralph/progress.json merge=piton
        **/.ralph/progress.md merge=piton
        PROGRESS.yaml merge=piton
        RALPH_TASK.md merge=piton
        guardrails.md merge=piton
        prd.json merge=piton
        ");
    }

    #[test]
    fn what_was_there_comes_back_to_the_byte() {
        for text in [
            "",
            "*.png binary\n",
            "*.png binary",
            "\n\n",
            "a b\r\nc d\r\n",
        ] {
            let installed = install(Some(text));
            assert!(installed.contains("prd.json merge=piton"), "{installed}");
            assert_eq!(install(Some(&installed)), installed);
            assert_eq!(uninstall(&installed).as_deref(), Some(text));
            let more = format!("{installed}*.gif binary\n");
            assert_eq!(install(Some(&more)), more);
        }
        assert_eq!(uninstall(&install(None)), None);
        let more = install(None) + "*.png binary\n";
        assert_eq!(uninstall(&more).as_deref(), Some("*.png binary\n"));
        assert_eq!(
            uninstall("prd.json merge=piton\n").as_deref(),
            Some("prd.json merge=piton\n")
        );
    }

    #[test]
    fn what_a_person_says_of_a_file_holds() {
        let own = "prd.json -merge\nRALPH_TASK.md merge=piton\n";
        let installed = install(Some(own));
        for pattern in ["prd.json", "RALPH_TASK.md"] {
            assert_eq!(installed.matches(pattern).count(), 1, "{installed}");
        }
        assert_eq!(uninstall(&installed).as_deref(), Some(own));
        let within = installed.replace(
            "guardrails.md merge=piton\n",
            "guardrails.md merge=piton\n*.x text\n",
        );
        let expect = format!("{own}*.x text\n");
        assert_eq!(uninstall(&within).as_deref(), Some(expect.as_str()));
    }
}
