//! The files of the project that can be faces, as a table.

use piton_core::command::Found;
use piton_formats::face::{About, CannotShow, Detected, Shown, Took};
use piton_formats::{agent_os, ralph_json};

use super::large::{Element, List};

/// Tells what a text holds that is not in the version that piton wrote.
type Take = fn(&str, Option<&str>, &About<'_>) -> Took;

/// Shows rows in a text.
type Show = fn(Option<&str>, &[Shown<'_>], &About<'_>) -> Result<String, CannotShow>;

/// Makes of a file's text what people read.
type Render = fn(&str) -> Result<String, CannotShow>;

/// What a file of the project is, and what makes it a face.
#[derive(Clone, Copy)]
pub struct FaceFile {
    /// The native format.
    pub face: &'static str,
    /// Its path, relative to the project.
    pub path: &'static str,
    /// Tells what a text is.
    pub detect: fn(&str) -> Detected,
    pub(super) take: Take,
    pub(super) show: Show,
    /// What would be found where a row is shown: a file may have fewer words
    /// than the journal.
    pub(super) told_again: fn(&Shown<'_>) -> Option<Found>,
    /// A file that is made of it for people to read, and how.
    pub(super) derived: Option<(&'static str, Render)>,
    /// The list that a large one is spliced at.
    pub(super) list: Option<List>,
    /// The folder that old entries are parted to.
    pub(super) archive: Option<&'static str>,
}

/// A file that nothing is made of, spliced into or parted from.
const PLAIN: FaceFile = FaceFile {
    face: "",
    path: "",
    detect: |_| Detected::Ours,
    take: |_, _, _| Took::default(),
    show: |text, _, _| Ok(text.unwrap_or_default().to_owned()),
    told_again: |_| None,
    derived: None,
    list: None,
    archive: None,
};

/// Every file of the project that can be a face.
pub const FILES: &[FaceFile] = &[
    FaceFile {
        face: ralph_json::FACE,
        path: ".ralph/progress.json",
        detect: ralph_json::detect,
        take: |text, _, about| ralph_json::take(text, about),
        show: ralph_json::show,
        told_again: ralph_json::told_again,
        list: Some(List {
            key: "entries",
            element: ralph_element,
        }),
        ..PLAIN
    },
    FaceFile {
        face: agent_os::FACE,
        path: ".agent-os/progress/progress.json",
        detect: agent_os::detect,
        take: |text, _, about| agent_os::take(text, about),
        show: agent_os::show,
        told_again: agent_os::told_again,
        derived: Some((".agent-os/progress/progress.md", agent_os::markdown)),
        archive: Some(".agent-os/progress/archive"),
        ..PLAIN
    },
];

fn ralph_element(row: Shown<'_>) -> Element {
    match row {
        Shown::Entry(_) => Element::None,
        Shown::Attempt(row) => ralph_json::element_of(row).map_or(Element::None, Element::New),
        Shown::Memory(row) if row.memory.kind == piton_core::memory::MemoryKind::Guardrail => {
            Element::None
        }
        Shown::Memory(_) => Element::Other,
    }
}

/// The one at that path.
#[must_use]
pub fn file_at(path: &str) -> Option<&'static FaceFile> {
    FILES.iter().find(|file| file.path == path)
}
