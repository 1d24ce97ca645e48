//! A JSON document of the project: what it is, opened to be taken in or to be
//! changed.

use crate::face::{About, CannotShow, Detected, Took};
use crate::json;
use crate::problem::Problem;
use crate::tree::{Map, Node};
use crate::understood::{from_map, into_map, read, too_new};

/// What is to be known of a kind of document.
pub(crate) struct Document {
    /// What paths of problems begin with.
    pub(crate) root_name: &'static str,
    /// Judges a document that could be read.
    pub(crate) judge: fn(&Node) -> Detected,
    /// The code of the error about another document.
    pub(crate) foreign: &'static str,
    /// A new one.
    pub(crate) begin: fn(&About<'_>) -> Map,
}

/// Whether there is nothing but blanks in a text.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// A JSON text, as far as it can be read.
pub(crate) enum Opened {
    Root(Node),
    /// Nothing but blanks.
    Blank,
    /// Not JSON, or half a document, which may look like anything.
    Broken,
}

/// Reads a text of which nobody knows what it is.
pub(crate) fn open(text: &str) -> Opened {
    let parsed = json::parse(text);
    match parsed.root {
        Some(root) if parsed.faults.is_empty() => Opened::Root(root),
        Some(_) | None if is_blank(text) => Opened::Blank,
        Some(_) | None => Opened::Broken,
    }
}

impl Document {
    /// Judges a text by its contents.
    pub(crate) fn detect(&self, text: &str) -> Detected {
        match open(text) {
            Opened::Root(root) => (self.judge)(&root),
            Opened::Blank => Detected::Empty,
            Opened::Broken => Detected::Unreadable,
        }
    }

    /// Takes in what `taken` finds in a text. Nothing is found in a text that
    /// is empty, that is something else, or whose version is too new.
    pub(crate) fn take(
        &self,
        text: &str,
        about: &About<'_>,
        taken: impl FnOnce(&Node) -> Took,
    ) -> Took {
        match self.open(text, about.file) {
            Ok(Some(root)) => taken(&root),
            Ok(None) => Took::default(),
            Err(problems) => Took {
                found: Vec::new(),
                problems,
            },
        }
    }

    fn open(&self, text: &str, file: &str) -> Result<Option<Node>, Vec<Problem>> {
        if is_blank(text) {
            return Ok(None);
        }
        let root = read(text, file)?;
        match (self.judge)(&root) {
            Detected::Empty => return Ok(None),
            Detected::Foreign(what) => {
                let problem = Problem::error(self.foreign, file, self.root_name, root.span);
                let hint = "piton leaves it alone";
                return Err(vec![problem.saying(format!("this is {what}"), hint)]);
            }
            Detected::Ours | Detected::Unreadable => {}
        }
        match too_new(&root, file, self.root_name) {
            Some(problem) => Err(vec![problem]),
            None => Ok(Some(root)),
        }
    }

    /// The root of a text that is to be changed or rendered.
    pub(crate) fn root(&self, text: &str, file: &str) -> Result<Node, CannotShow> {
        let root = read_to_change(text, file, "it is not JSON")?;
        if let Detected::Foreign(what) = (self.judge)(&root) {
            return Err(CannotShow(format!("it is {what}")));
        }
        match too_new(&root, file, self.root_name) {
            Some(problem) => Err(CannotShow(problem.message)),
            None => Ok(root),
        }
    }

    /// The text, or a new one, in which `show` showed something. Where it says
    /// that nothing changed, the text stays as it is to the byte.
    pub(crate) fn show(
        &self,
        text: Option<&str>,
        about: &About<'_>,
        show: impl FnOnce(&mut Map) -> Result<bool, CannotShow>,
    ) -> Result<String, CannotShow> {
        let Some(text) = text.filter(|text| !is_blank(text)) else {
            let mut map = (self.begin)(about);
            show(&mut map)?;
            return Ok(json::render(&from_map(map)));
        };
        let root = self.root(text, about.file)?;
        let mut map = match (self.judge)(&root) {
            Detected::Empty => (self.begin)(about),
            Detected::Ours | Detected::Foreign(_) | Detected::Unreadable => into_map(root)?,
        };
        if !show(&mut map)? {
            return Ok(text.to_owned());
        }
        patch(text, map)
    }
}

/// Reads a text that is to be changed. `otherwise` says what it is not, where
/// nothing else is known.
pub(crate) fn read_to_change(text: &str, file: &str, otherwise: &str) -> Result<Node, CannotShow> {
    read(text, file).map_err(|problems| {
        let first = problems.first().map(ToString::to_string);
        CannotShow(first.unwrap_or_else(|| otherwise.to_owned()))
    })
}

/// The text with what `map` says.
pub(crate) fn patch(text: &str, map: Map) -> Result<String, CannotShow> {
    json::patch(text, &from_map(map)).map_err(|error| CannotShow(error.to_string()))
}
