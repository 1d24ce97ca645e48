//! Reading what is met: a value that fits is taken, another one is told.

use piton_core::evidence::ClaimOverrides;
use piton_core::scope::FileScope;

use crate::json;
use crate::problem::{Problem, Source};
use crate::record::{At, Manner, Optional, Slot};
use crate::report::{Path, Report};
use crate::tree::{Map, Node, Parsed, Span};

/// Reads the fields of mappings, and tells what does not fit.
pub(crate) struct Reader<'r> {
    pub(crate) report: Report<'r>,
}

/// A mapping and the way to it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) map: &'p Map,
    pub(crate) path: Path<'p>,
}

impl Report<'_> {
    /// Reads fields, and tells here what does not fit.
    pub(crate) fn reader(&mut self) -> Reader<'_> {
        Reader {
            report: Report {
                file: self.file,
                problems: &mut *self.problems,
            },
        }
    }
}

impl Reader<'_> {
    /// A value of that type; absent and null are nothing.
    pub(crate) fn get<T: Optional>(&mut self, place: Place<'_>, key: &str) -> Option<T> {
        let (key, node) = place.map.entry(key)?;
        let mut at = At {
            report: &mut self.report,
            place,
            key,
            manner: Manner::Lenient,
        };
        let mut value = None;
        Slot::read(&mut value, node, &mut at);
        value
    }

    /// Any scalar as text; absent and null are nothing.
    pub(crate) fn text(&mut self, place: Place<'_>, key: &str) -> Option<String> {
        self.get(place, key)
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&mut self, place: Place<'_>, key: &str) -> Option<u64> {
        self.get(place, key)
    }

    /// Any number that is finite.
    pub(crate) fn number(&mut self, place: Place<'_>, key: &str) -> Option<f64> {
        self.get(place, key)
    }

    /// A list of texts, or one text for a list of one.
    pub(crate) fn texts(&mut self, place: Place<'_>, key: &str) -> Vec<String> {
        let Some(node) = present(place, key) else {
            return Vec::new();
        };
        if let Some(text) = node.text() {
            return vec![text.to_owned()];
        }
        let Some(items) = node.as_seq() else {
            self.mistyped(place, key, node, "a list of texts");
            return Vec::new();
        };
        let path = place.path.key(key);
        let mut out = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item.text().filter(|_| !item.is_null()) {
                Some(text) => out.push(text.to_owned()),
                None => self.report.error(
                    "WRONG_TYPE",
                    path.index(index),
                    item.span,
                    (
                        format!("a text belongs here, not {}", item.describe()),
                        KEPT,
                    ),
                ),
            }
        }
        out
    }

    /// What proof is worth for an item (`claims`), in the words of `[claims]`.
    pub(crate) fn claims(&mut self, place: Place<'_>) -> ClaimOverrides {
        self.get(place, "claims").unwrap_or_default()
    }

    /// The files that an item is about, under whichever of the keys.
    pub(crate) fn scope(&mut self, place: Place<'_>, keys: &[&str]) -> FileScope {
        FileScope(keys.iter().flat_map(|key| self.texts(place, key)).collect())
    }

    /// A mapping.
    pub(crate) fn map<'n>(&mut self, place: Place<'n>, key: &str) -> Option<&'n Map> {
        let node = present(place, key)?;
        if node.as_map().is_none() {
            self.mistyped(place, key, node, "a mapping");
        }
        node.as_map()
    }

    /// What is in the mapping under a key; nothing where there is none.
    pub(crate) fn child<'p>(&mut self, place: &'p Place<'p>, key: &'p str) -> Place<'p> {
        const NOTHING: &Map = &Map { pairs: Vec::new() };
        Place {
            map: self.map(*place, key).unwrap_or(NOTHING),
            path: place.path.key(key),
        }
    }

    /// An error at the value under a key, or where it is missing.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        (place, key): (Place<'_>, &str),
        message: impl Into<String>,
        hint: &str,
    ) {
        let (path, span) = (place.path.key(key), span_of(place.map, key));
        self.report.error(code, path, span, (message.into(), hint));
    }

    /// A warning about the value under a key, or what is missing there.
    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        (place, key): (Place<'_>, &str),
        message: impl Into<String>,
        hint: &str,
    ) {
        let (path, span) = (place.path.key(key), span_of(place.map, key));
        self.report
            .warning(code, path, span, (message.into(), hint));
    }

    /// A list.
    pub(crate) fn list<'n>(&mut self, place: Place<'n>, key: &str) -> &'n [Node] {
        let Some(node) = present(place, key) else {
            return &[];
        };
        if node.as_seq().is_none() {
            self.mistyped(place, key, node, "a list");
        }
        node.as_seq().unwrap_or_default()
    }

    fn mistyped(&mut self, place: Place<'_>, key: &str, node: &Node, wanted: &str) {
        let message = format!("`{key}` must be {wanted}, not {}", node.describe());
        self.report.error(
            "WRONG_TYPE",
            place.path.key(key),
            node.span,
            (message, KEPT),
        );
    }
}

pub(crate) const KEPT: &str =
    "correct the value; until then it is kept as it stands and has no effect";

/// The texts of a list, or one text for a list of one; what is none is left out.
pub(crate) fn texts_of(node: &Node) -> Vec<String> {
    let text = |node: &Node| node.text().filter(|_| !node.is_null()).map(str::to_owned);
    match node.as_seq() {
        Some(items) => items.iter().filter_map(text).collect(),
        None => text(node).into_iter().collect(),
    }
}

/// A whole number that is not negative, however it is written: `3`, `3.0`, `3e0`.
pub(crate) fn count(node: &Node) -> Option<u64> {
    let value = node.as_f64().filter(|value| *value >= 0.0)?;
    let whole = || Some(format!("{value:.0}")).filter(|_| value.fract() == 0.0);
    let exact = node.as_u64().or_else(|| node.text()?.parse().ok());
    exact.or_else(|| whole()?.parse().ok())
}

fn present<'n>(place: Place<'n>, key: &str) -> Option<&'n Node> {
    place.map.get(key).filter(|node| !node.is_null())
}

/// The place of the pair under `key`, or of the mapping that lacks it.
pub(crate) fn span_of(map: &Map, key: &str) -> Span {
    let first = || map.pairs.first().map(|(key, _)| key.span);
    let own = map.entry(key).map(|(_, node)| node.span);
    // In a mapping without any key: where every file begins.
    own.or_else(first).unwrap_or(Span::TOP)
}

/// Reads a JSON text. Nothing is read of one with a fault, nor of one of which
/// `read` knows that it is something else.
pub(crate) fn read_json<T>(
    code: &'static str,
    source: Source<'_>,
    read: impl FnOnce(&mut Reader<'_>, &Node) -> Option<T>,
) -> (Option<T>, Vec<Problem>) {
    let mut problems = Vec::new();
    let root = whole(json::parse(source.text), code, source.name, &mut problems);
    let Some(root) = root else {
        return (None, problems);
    };
    let report = Report {
        file: source.name,
        problems: &mut problems,
    };
    let value = read(&mut Reader { report }, &root);
    problems.sort_by_key(|problem| problem.bytes.start);
    (value, problems)
}

/// A document without a fault; else its faults as problems.
pub(crate) fn whole(
    parsed: Parsed,
    code: &'static str,
    file: &str,
    problems: &mut Vec<Problem>,
) -> Option<Node> {
    let is_whole = parsed.faults.is_empty();
    let faults = parsed.faults.into_iter();
    problems.extend(faults.map(|fault| fault.problem(code, file)));
    parsed.root.filter(|_| is_whole)
}
