//! The files of the project that can be faces, as a table.

use piton_core::command::Found;
use piton_formats::face::{About, CannotShow, Detected, Shown, Took};
use piton_formats::ralph_dir::face;
use piton_formats::{agent_os, ralph_json};

use super::large::{Element, List};

/// Tells what a text holds that is not in the version that piton wrote.
pub(crate) type Take = fn(&str, Option<&str>, &About<'_>) -> Took;

/// Shows rows in a text.
pub(crate) type Show = fn(Option<&str>, &[Shown<'_>], &About<'_>) -> Result<String, CannotShow>;

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
    pub(crate) take: Take,
    pub(crate) show: Show,
    /// What would be found where a row is shown: a file may have fewer words
    /// than the journal.
    pub(super) told_again: fn(&Shown<'_>) -> Option<Found>,
    /// A file that is made of it for people to read, and how.
    pub(super) derived: Option<(&'static str, Render)>,
    /// The list that a large one is spliced at.
    pub(super) list: Option<List>,
    /// The folder that old entries are parted to.
    pub(super) archive: Option<&'static str>,
    /// What it is called when it is turned into another format, or made of one.
    pub converts: Option<&'static str>,
    /// What there is where the file is to be as well.
    pub belongs_to: &'static [&'static str],
    /// Whether it shows the calls of sessions that piton did not start.
    pub(super) calls: bool,
}

impl FaceFile {
    /// The path of the file that is made of it for people to read.
    #[must_use]
    pub fn derived_path(&self) -> Option<&'static str> {
        self.derived.map(|(path, _)| path)
    }
}

/// What tells that a project keeps the directory of seed 002.
const RALPH_DIR: &[&str] = &[
    ".ralph/progress.md",
    ".ralph/guardrails.md",
    "RALPH_TASK.md",
];

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
    converts: None,
    belongs_to: &[],
    calls: false,
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
        converts: Some("ralph-json"),
        belongs_to: &["prd.json", ".ralph/prd.json", ".ralph/progress.txt"],
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
        converts: Some("agent-os"),
        belongs_to: &[".agent-os"],
        ..PLAIN
    },
    FaceFile {
        path: ".ralph/progress.md",
        detect: face::progress_md::detect,
        take: face::progress_md::take,
        show: face::progress_md::show,
        converts: Some("ralph-progress"),
        ..RALPH
    },
    FaceFile {
        path: ".ralph/guardrails.md",
        detect: face::guardrails_md::detect,
        take: face::guardrails_md::take,
        show: face::guardrails_md::show,
        ..RALPH
    },
    FaceFile {
        path: ".ralph/activity.log",
        detect: face::activity_log::detect,
        take: face::activity_log::take,
        show: face::activity_log::show,
        calls: true,
        ..RALPH
    },
    FaceFile {
        path: ".ralph/errors.log",
        detect: face::errors_log::detect,
        take: face::errors_log::take,
        show: face::errors_log::show,
        ..RALPH
    },
    FaceFile {
        path: ".ralph/.iteration",
        detect: face::iteration::detect,
        take: face::iteration::take,
        show: face::iteration::show,
        ..RALPH
    },
];

/// A file of the directory of seed 002.
const RALPH: FaceFile = FaceFile {
    face: face::FACE,
    belongs_to: RALPH_DIR,
    ..PLAIN
};

fn ralph_element(row: Shown<'_>) -> Element {
    match row {
        Shown::Entry(_) | Shown::Call(_) => Element::None,
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
