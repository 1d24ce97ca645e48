//! What happened to a native file that the user should know.

use std::fmt;
use std::path::Path;

use piton_formats::problem::Problem;
use piton_formats::tree::Span;

use crate::failure::Failure;
use crate::failure::notice::Notice;

/// What happened to a file that the user should know, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNotice {
    /// Something of it was taken in, or done to it.
    Told(String),
    /// A person is asked about it from now on.
    Asked(String),
    /// Something in it stays there and is not taken in.
    Left(String),
    /// It could not be brought up to date.
    Behind(String),
}

impl fmt::Display for FileNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Told(text) | Self::Asked(text) | Self::Left(text) | Self::Behind(text)) = self;
        f.write_str(text)
    }
}

impl FileNotice {
    /// So many things of a file of the project were taken in; none where there
    /// were none.
    pub(super) fn things_imported(file: &str, count: usize) -> Option<Self> {
        Some(Self::Told(match count {
            0 => return None,
            1 => format!("took 1 thing in from {file}"),
            count => format!("took {count} things in from {file}"),
        }))
    }

    /// What a file lacks is shown again; none where it lacks nothing.
    pub(super) fn things_restored(file: &str, names: &[String]) -> Option<Self> {
        let first = names.first()?;
        let more = names.len() - 1;
        Some(Self::Told(match more {
            0 => format!("{file} lacks `{first}`, which the journal keeps: it is shown again"),
            more => format!(
                "{file} lacks `{first}` and {more} more that the journal keeps: they are shown again"
            ),
        }))
    }

    /// A version that another writer saved while piton did, and that cannot be imported,
    /// is kept.
    pub(super) fn conflicting_copy_stored(file: &str, copy: &Path) -> Self {
        let name = copy.file_name().unwrap_or_default().to_string_lossy();
        Self::Left(format!(
            "another program saved {file} in the moment in which piton did, and that version cannot be read: it is kept beside it as {name}"
        ))
    }

    /// Other words of known things are not taken from a file that has too few of
    /// them; none where there are none.
    pub(super) fn rewordings_ignored(file: &str, names: &[String]) -> Option<Self> {
        let (first, more) = (names.first()?, names.len() - 1);
        let what = match more {
            0 => format!("`{first}`"),
            more => format!("`{first}` and {more} more"),
        };
        Some(Self::Left(format!(
            "{file} has other words for {what}: they stay there, and the journal keeps what was recorded; record what is new with `piton log`"
        )))
    }

    /// A person is asked about a file from now on.
    pub(super) fn question_opened(file: &str) -> Self {
        Self::Asked(format!(
            "{file} cannot be taken in whole: what is asked about stays as it is; see `piton inbox`"
        ))
    }

    /// A file could not be brought up to date.
    pub(crate) fn sync_failed(file: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::Behind(format!("{file} is not kept up to date: {why}"))
    }

    /// The same, of a failure: where it has a way out of its own, that is told.
    pub(crate) fn sync_refused(file: &str, failure: &Failure) -> Self {
        match (failure.code, &failure.hint) {
            ("file.outside", Some(hint)) => {
                Self::sync_failed(file, format!("{} [file.outside]; {hint}", failure.message))
            }
            _ => Self::sync_failed(file, &failure.message),
        }
    }

    /// Tells all of it.
    pub(crate) fn emit_all(news: &[Self], tell: &mut dyn FnMut(Notice<'_>)) {
        for one in news {
            let text = one.to_string();
            tell(match one.is_warning() {
                true => Notice::Warning(&text),
                false => Notice::Said(&text),
            });
        }
    }

    /// Whether the user should look at it.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        !matches!(self, Self::Told(_))
    }
}

/// That a person was asked about a file, and has not answered.
pub(crate) fn describe_open_question(file: &str) -> String {
    format!("1 question about {file} waits, and what it is about stays as it is; see `piton inbox`")
}

/// Problems that are errors, one a line.
pub(super) fn render_errors(problems: &[Problem]) -> String {
    const SHOWN: usize = 10;
    let errors: Vec<&Problem> = problems
        .iter()
        .filter(|problem| problem.is_error())
        .collect();
    let mut lines: Vec<String> = errors.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = errors.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

/// That a file is no UTF-8 text, and where.
pub(crate) fn not_utf8_problem(path: &str, bytes: &[u8]) -> Problem {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let before = &bytes[..valid];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    let span = Span {
        start: valid,
        end: valid,
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    };
    Problem::error("NOT_UTF8", path, "", span)
        .with_message("this is no UTF-8 text", "save it as UTF-8")
}

/// That a file is another program's.
pub(crate) fn foreign_file_problem(path: &str, what: &str) -> Problem {
    let span = Span {
        start: 0,
        end: 0,
        line: 1,
        column: 1,
    };
    Problem::error("FOREIGN", path, "", span).with_message(
        format!("this is {what}"),
        "move one of the two programs' files elsewhere",
    )
}
