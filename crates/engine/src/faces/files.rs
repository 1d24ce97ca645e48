//! The files of the project that can be faces, as a table.

use piton_formats::face::{About, CannotShow, Detected, Shown, Took};

use super::large::Element;

/// Shows rows in a text.
pub(super) type Show = fn(Option<&str>, &[Shown<'_>], &About<'_>) -> Result<String, CannotShow>;

/// Makes of a file's text what people read.
pub(super) type Render = fn(&str) -> Result<String, String>;

/// What a file of the project is, and what makes it a face.
#[derive(Clone, Copy)]
pub struct FaceFile {
    /// The native format.
    pub face: &'static str,
    /// Its path, relative to the project.
    pub path: &'static str,
    /// Tells what a text is.
    pub detect: fn(&str) -> Detected,
    /// Tells what a text holds that is not in the version that piton wrote.
    pub take: fn(&str, Option<&str>, &About<'_>) -> Took,
    /// The text, showing rows as well.
    pub(super) show: Show,
    /// A file that is made of it for people to read, and how.
    pub(super) derived: Option<(&'static str, Render)>,
    /// The list that a large one is spliced at.
    pub(super) list: Option<List>,
    /// Whether old entries are parted from it.
    pub(super) archives: bool,
}

/// The list of a large file.
#[derive(Clone, Copy)]
pub(super) struct List {
    /// The key of the list at the top of the document.
    pub(super) key: &'static str,
    /// What a row is in it.
    pub(super) element: fn(Shown<'_>) -> Element,
}

/// Every file of the project that can be a face.
pub const FILES: &[FaceFile] = &[];

/// The one at that path.
#[must_use]
pub fn file_at(path: &str) -> Option<&'static FaceFile> {
    FILES.iter().find(|file| file.path == path)
}
