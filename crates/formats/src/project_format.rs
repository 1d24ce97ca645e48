//! A family of files of the project as one value: everything that is asked of it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use piton_core::command::ImportedRecord;
use piton_core::memory::Memory;

use crate::conflict;
use crate::ends::TextEnds;
use crate::format::Format;
use crate::native_file::{Detection, FileContents, FileContext, RenderError, ShownRow};
use crate::problem::SourceText;
use crate::tree::ValueNode;

/// A family of files that show what happens in a project.
pub struct ProjectFormat {
    /// Its formats.
    pub formats: &'static [Format],
    /// Its files that can be faces.
    pub files: &'static [ProjectFile],
    /// What earlier layouts of it left.
    pub old_files: &'static [LegacyFile],
    /// Where it keeps pictures, relative to the project.
    pub pictures: Option<&'static str>,
}

/// Tells what a text holds that is not in the version that piton wrote.
pub type ImportFile = fn(&str, Option<&str>, &FileContext<'_>) -> FileContents;

/// Shows rows in a text.
pub type RenderFile =
    fn(Option<&str>, &[ShownRow<'_>], &FileContext<'_>) -> Result<String, RenderError>;

/// Makes of a file's text what people read.
pub type RenderDerived = fn(&str) -> Result<String, RenderError>;

/// A file that is made of another one for people to read.
#[derive(Clone, Copy)]
pub struct DerivedFile {
    /// Its path, relative to the project.
    pub path: &'static str,
    /// Makes it.
    pub render: RenderDerived,
    /// Makes one of three versions: base, ours and theirs.
    pub merge: fn([&str; 3]) -> String,
    /// Makes it of the one before, given what is made of the ends of the file before
    /// and afterwards: made of ends, page, made of new ends.
    pub extend: fn([&str; 3]) -> String,
}

/// What a file of the project is, and what makes it a face.
#[derive(Clone, Copy)]
pub struct ProjectFile {
    /// The native format.
    pub face: &'static str,
    /// Its path, relative to the project.
    pub path: &'static str,
    /// Tells what a text is.
    pub detect: fn(&str) -> Detection,
    /// Tells what a text holds.
    pub take: ImportFile,
    /// Shows rows in a text.
    pub show: RenderFile,
    /// What would be found where a row is shown: a file may have fewer words
    /// than the journal.
    pub told_again: fn(&ShownRow<'_>) -> Option<ImportedRecord>,
    /// Whether it says so little of a thing that one of a known name is always
    /// what is known of it.
    pub by_name_alone: bool,
    /// A file that is made of it for people to read, and how.
    pub derived: Option<DerivedFile>,
    /// Whether it shows anything of a row.
    pub shows: fn(&ShownRow<'_>) -> bool,
    /// Of a large one, the ends that are enough to show what is new.
    pub ends: Option<fn(&str) -> Option<TextEnds>>,
    /// Where old entries are parted to, and how.
    pub archive: Option<Archive>,
    /// What it is called when it is turned into another format, or made of one.
    pub converts: Option<&'static str>,
    /// What there is where the file is to be as well.
    pub belongs_to: &'static [&'static str],
    /// What git should not see of it, and the folder that says so for all of it.
    pub ignored: Option<GitignoreLine>,
    /// Whether it shows the calls of sessions that piton did not start.
    pub calls: bool,
    /// Whether it shows the words of criteria.
    pub criteria: bool,
    /// Whether what it lists are attempts; else they are entries of sessions.
    pub lists_attempts: bool,
    /// What a text of it says beside its lists, by key: the name of the project
    /// under [`crate::native_file::PROJECT`].
    pub whole: fn(&str) -> BTreeMap<String, String>,
    /// The lines of a text that is no document, each without what marks it.
    pub lines: fn(&str) -> Vec<String>,
    /// What a text says that agents are to keep to and that was not taken, where
    /// the file is there to say such things.
    pub unread: Option<fn(&str) -> Vec<UnreadText>>,
}

/// Words of a file that could not be read as what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadText {
    /// The line where they begin, from 1.
    pub line: u32,
    /// The words, as they stand.
    pub text: String,
}

/// A file that nothing is made of or parted from.
pub(crate) const PLAIN: ProjectFile = ProjectFile {
    face: "",
    path: "",
    detect: |_| Detection::Ours,
    take: |_, _, _| FileContents::default(),
    show: |text, _, _| Ok(text.unwrap_or_default().to_owned()),
    told_again: |_| None,
    by_name_alone: false,
    derived: None,
    shows: |_| true,
    ends: None,
    archive: None,
    converts: None,
    belongs_to: &[],
    ignored: None,
    calls: false,
    criteria: false,
    lists_attempts: false,
    whole: |_| BTreeMap::new(),
    lines: |_| Vec::new(),
    unread: None,
};

impl ProjectFile {
    /// What a text holds that is not in the version that piton wrote.
    #[must_use]
    pub fn import_changes(
        &self,
        text: &str,
        base: Option<&str>,
        about: &FileContext<'_>,
    ) -> FileContents {
        let name = about.file;
        match conflict::find_unresolved_merge(SourceText { name, text }) {
            Some(problem) => FileContents {
                found: Vec::new(),
                problems: vec![problem],
            },
            None => (self.take)(text, base, about),
        }
    }

    /// The path of the file that is made of it for people to read.
    #[must_use]
    pub fn derived_path(&self) -> Option<&'static str> {
        self.derived.map(|derived| derived.path)
    }
}

/// A line of `.gitignore`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitignoreLine {
    /// The line.
    pub line: &'static str,
    /// The folder whose line says so as well.
    pub folder: &'static str,
}

/// A text that was parted.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchiveSplit {
    /// What the file keeps.
    pub keep: String,
    /// What goes to the archive by month: `2026-01`, in UTC.
    pub months: BTreeMap<String, Vec<ValueNode>>,
}

/// Where old entries are parted to.
#[derive(Clone, Copy)]
pub struct Archive {
    /// The folder, relative to the project.
    pub folder: &'static str,
    /// Parts a text, given the time, the most entries and days to keep; none
    /// where nothing is old enough.
    pub part: fn(&str, Timestamp, usize, u32) -> Option<ArchiveSplit>,
    /// Whether a text, or the ends of one, tells of so many entries of which one is
    /// older than so many days.
    pub is_due: fn(&str, Timestamp, usize, u32) -> bool,
    /// The archive of a month with more entries.
    pub merge: fn(Option<&str>, &[ValueNode]) -> Result<String, RenderError>,
    /// Tells what the archive of a month holds.
    pub take: fn(&str, &FileContext<'_>) -> FileContents,
}

/// A file of an earlier layout.
#[derive(Clone, Copy)]
pub struct LegacyFile {
    /// What it is called.
    pub name: &'static str,
    /// The folders in which it lies, as in [`Format::folders`].
    pub folders: &'static [&'static str],
    /// Where it is looked for, in this order, relative to the project.
    pub paths: &'static [&'static str],
    /// What is remembered of a text; nothing when it says nothing.
    pub take: fn(&str, Timestamp) -> Vec<Memory>,
    /// The face that shows it from then on: its format and path.
    pub target: (&'static str, &'static str),
}
