//! A JSON document of the project: what it is, opened to be taken in or to be
//! changed.

use crate::json;
use crate::native_file::{Detection, FileContents, FileContext, RenderError};
use crate::problem::Problem;
use crate::shape_merge::{from_map, into_map, parse_json, too_new_problem};
use crate::tree::{Map, ValueNode};

/// What is to be known of a kind of document.
pub(crate) struct DocumentKind {
    /// What paths of problems begin with.
    pub(crate) root_name: &'static str,
    /// Judges a document that could be read.
    pub(crate) judge: fn(&ValueNode) -> Detection,
    /// The code of the error about another document.
    pub(crate) foreign: &'static str,
    /// A new one.
    pub(crate) begin: fn(&FileContext<'_>) -> Map,
}

/// Whether there is nothing but blanks in a text.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// A JSON text, as far as it can be read.
pub(crate) enum JsonText {
    Root(ValueNode),
    /// Nothing but blanks.
    Blank,
    /// Not JSON, or half a document, which may look like anything.
    Broken,
}

/// Reads a text of unknown format.
pub(crate) fn parse_json_text(text: &str) -> JsonText {
    let parsed = json::parse(text);
    match parsed.root {
        Some(root) if parsed.faults.is_empty() => JsonText::Root(root),
        Some(_) | None if is_blank(text) => JsonText::Blank,
        Some(_) | None => JsonText::Broken,
    }
}

impl DocumentKind {
    /// Judges a text by its contents.
    pub(crate) fn detect(&self, text: &str) -> Detection {
        match parse_json_text(text) {
            JsonText::Root(root) => (self.judge)(&root),
            JsonText::Blank => Detection::Empty,
            JsonText::Broken => Detection::Unreadable,
        }
    }

    /// Takes in what `taken` finds in a text. Nothing is found in a text that
    /// is empty, that is something else, or whose version is too new.
    pub(crate) fn import(
        &self,
        text: &str,
        about: &FileContext<'_>,
        taken: impl FnOnce(&ValueNode) -> FileContents,
    ) -> FileContents {
        match self.parse_root(text, about.file) {
            Ok(Some(root)) => taken(&root),
            Ok(None) => FileContents::default(),
            Err(problems) => FileContents {
                found: Vec::new(),
                problems,
            },
        }
    }

    fn parse_root(&self, text: &str, file: &str) -> Result<Option<ValueNode>, Vec<Problem>> {
        if is_blank(text) {
            return Ok(None);
        }
        let root = parse_json(text, file)?;
        match (self.judge)(&root) {
            Detection::Empty => return Ok(None),
            Detection::Foreign(what) => {
                let problem = Problem::error(self.foreign, file, self.root_name, root.span);
                let hint = "piton leaves it alone";
                return Err(vec![problem.with_message(format!("this is {what}"), hint)]);
            }
            Detection::Ours | Detection::Unreadable => {}
        }
        match too_new_problem(&root, file, self.root_name) {
            Some(problem) => Err(vec![problem]),
            None => Ok(Some(root)),
        }
    }

    /// The root of a text that is to be changed or rendered.
    pub(crate) fn root_for_edit(&self, text: &str, file: &str) -> Result<ValueNode, RenderError> {
        let root = parse_for_edit(text, file, "it is not JSON")?;
        if let Detection::Foreign(what) = (self.judge)(&root) {
            return Err(RenderError(format!("it is {what}")));
        }
        match too_new_problem(&root, file, self.root_name) {
            Some(problem) => Err(RenderError(problem.message)),
            None => Ok(root),
        }
    }

    /// The text, or a new one, in which `show` showed something. Where it says
    /// that nothing changed, the text stays as it is to the byte.
    pub(crate) fn render_with(
        &self,
        text: Option<&str>,
        about: &FileContext<'_>,
        show: impl FnOnce(&mut Map) -> Result<bool, RenderError>,
    ) -> Result<String, RenderError> {
        let Some(text) = text.filter(|text| !is_blank(text)) else {
            let mut map = (self.begin)(about);
            show(&mut map)?;
            return Ok(json::render(&from_map(map)));
        };
        let root = self.root_for_edit(text, about.file)?;
        let mut map = match (self.judge)(&root) {
            Detection::Empty => (self.begin)(about),
            Detection::Ours | Detection::Foreign(_) | Detection::Unreadable => into_map(root)?,
        };
        if !show(&mut map)? {
            return Ok(text.to_owned());
        }
        patch_json(text, map)
    }
}

/// Reads a text that is to be changed. `otherwise` says what it is not, where
/// nothing else is known.
pub(crate) fn parse_for_edit(
    text: &str,
    file: &str,
    otherwise: &str,
) -> Result<ValueNode, RenderError> {
    parse_json(text, file).map_err(|problems| {
        let first = problems.first().map(ToString::to_string);
        RenderError(first.unwrap_or_else(|| otherwise.to_owned()))
    })
}

/// The text with what `map` says.
pub(crate) fn patch_json(text: &str, map: Map) -> Result<String, RenderError> {
    json::patch(text, &from_map(map)).map_err(|error| RenderError(error.to_string()))
}
