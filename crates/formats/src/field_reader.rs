//! Reading what is met: a value that fits is taken, another one is told.

use piton_core::evidence::ClaimOverrides;
use piton_core::scope::FileScope;

use crate::json;
use crate::problem::{Problem, SourceText};
use crate::record::{FieldSlot, OptionalValue, ReadMode, ValuePosition};
use crate::report::{KEPT, MapPosition, ProblemReport};
use crate::tree::{Map, ParsedTree, Span, ValueNode};

/// Reads the fields of mappings, and tells what does not fit.
pub(crate) struct FieldReader<'r> {
    pub(crate) report: ProblemReport<'r>,
}

impl ProblemReport<'_> {
    /// Reads fields, and tells here what does not fit.
    pub(crate) fn field_reader(&mut self) -> FieldReader<'_> {
        FieldReader {
            report: ProblemReport {
                file: self.file,
                problems: &mut *self.problems,
            },
        }
    }
}

impl FieldReader<'_> {
    /// A value of that type; absent and null are nothing.
    pub(crate) fn read_value<T: OptionalValue>(
        &mut self,
        place: MapPosition<'_>,
        key: &str,
    ) -> Option<T> {
        let (key, node) = place.map.entry(key)?;
        let mut at = ValuePosition {
            report: &mut self.report,
            place,
            key,
            manner: ReadMode::Lenient,
        };
        let mut value = None;
        FieldSlot::read_value(&mut value, node, &mut at);
        value
    }

    /// Any scalar as text; absent and null are nothing.
    pub(crate) fn read_text(&mut self, place: MapPosition<'_>, key: &str) -> Option<String> {
        self.read_value(place, key)
    }

    /// A whole number that is not negative.
    pub(crate) fn read_count(&mut self, place: MapPosition<'_>, key: &str) -> Option<u64> {
        self.read_value(place, key)
    }

    /// Any number that is finite.
    pub(crate) fn read_number(&mut self, place: MapPosition<'_>, key: &str) -> Option<f64> {
        self.read_value(place, key)
    }

    /// A list of texts, or one text for a list of one.
    pub(crate) fn read_texts(&mut self, place: MapPosition<'_>, key: &str) -> Vec<String> {
        let Some(node) = find_present(place, key) else {
            return Vec::new();
        };
        if let Some(text) = node.text() {
            return vec![text.to_owned()];
        }
        let Some(items) = node.as_seq() else {
            self.report_mistyped(place, key, node, "a list of texts");
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
    pub(crate) fn read_claims(&mut self, place: MapPosition<'_>) -> ClaimOverrides {
        self.read_value(place, "claims").unwrap_or_default()
    }

    /// The files that an item is about, under whichever of the keys.
    pub(crate) fn read_scope(&mut self, place: MapPosition<'_>, keys: &[&str]) -> FileScope {
        FileScope(
            keys.iter()
                .flat_map(|key| self.read_texts(place, key))
                .collect(),
        )
    }

    /// A mapping.
    pub(crate) fn read_map<'n>(&mut self, place: MapPosition<'n>, key: &str) -> Option<&'n Map> {
        let node = find_present(place, key)?;
        if node.as_map().is_none() {
            self.report_mistyped(place, key, node, "a mapping");
        }
        node.as_map()
    }

    /// What is in the mapping under a key; nothing where there is none.
    pub(crate) fn read_child<'p>(
        &mut self,
        place: &'p MapPosition<'p>,
        key: &'p str,
    ) -> MapPosition<'p> {
        const NOTHING: &Map = &Map { pairs: Vec::new() };
        MapPosition {
            map: self.read_map(*place, key).unwrap_or(NOTHING),
            path: place.path.key(key),
        }
    }

    /// An error at the value under a key, or where it is missing.
    pub(crate) fn report_error(
        &mut self,
        code: &'static str,
        place: MapPosition<'_>,
        key: &str,
        message: impl Into<String>,
        hint: &str,
    ) {
        let (path, span) = (place.path.key(key), span_of_key(place.map, key));
        self.report.error(code, path, span, (message.into(), hint));
    }

    /// A warning about the value under a key, or what is missing there.
    pub(crate) fn report_warning(
        &mut self,
        code: &'static str,
        place: MapPosition<'_>,
        key: &str,
        message: impl Into<String>,
        hint: &str,
    ) {
        let (path, span) = (place.path.key(key), span_of_key(place.map, key));
        self.report
            .warning(code, path, span, (message.into(), hint));
    }

    /// A list.
    pub(crate) fn read_list<'n>(&mut self, place: MapPosition<'n>, key: &str) -> &'n [ValueNode] {
        let Some(node) = find_present(place, key) else {
            return &[];
        };
        if node.as_seq().is_none() {
            self.report_mistyped(place, key, node, "a list");
        }
        node.as_seq().unwrap_or_default()
    }

    fn report_mistyped(
        &mut self,
        place: MapPosition<'_>,
        key: &str,
        node: &ValueNode,
        wanted: &str,
    ) {
        let message = format!("`{key}` must be {wanted}, not {}", node.describe());
        self.report.error(
            "WRONG_TYPE",
            place.path.key(key),
            node.span,
            (message, KEPT),
        );
    }
}

/// The texts of a list, or one text for a list of one; what is none is left out.
pub(crate) fn texts_of_node(node: &ValueNode) -> Vec<String> {
    let text = |node: &ValueNode| node.text().filter(|_| !node.is_null()).map(str::to_owned);
    match node.as_seq() {
        Some(items) => items.iter().filter_map(text).collect(),
        None => text(node).into_iter().collect(),
    }
}

fn find_present<'n>(place: MapPosition<'n>, key: &str) -> Option<&'n ValueNode> {
    place.map.get(key).filter(|node| !node.is_null())
}

/// The place of the pair under `key`, or of the mapping that lacks it.
pub(crate) fn span_of_key(map: &Map, key: &str) -> Span {
    let first = || map.pairs.first().map(|(key, _)| key.span);
    let own = map.entry(key).map(|(_, node)| node.span);
    // In a mapping without any key: where every file begins.
    own.or_else(first).unwrap_or(Span::TOP)
}

/// Reads a JSON text. Nothing is read of one with a fault, nor of one of which
/// `read` knows that it is something else.
pub(crate) fn parse_json_with<T>(
    code: &'static str,
    source: SourceText<'_>,
    read: impl FnOnce(&mut FieldReader<'_>, &ValueNode) -> Option<T>,
) -> (Option<T>, Vec<Problem>) {
    let mut problems = Vec::new();
    let root = root_without_faults(json::parse(source.text), code, source.name, &mut problems);
    let Some(root) = root else {
        return (None, problems);
    };
    let report = ProblemReport {
        file: source.name,
        problems: &mut problems,
    };
    let value = read(&mut FieldReader { report }, &root);
    problems.sort_by_key(|problem| problem.bytes.start);
    (value, problems)
}

/// A document without a fault; else its faults as problems.
pub(crate) fn root_without_faults(
    parsed: ParsedTree,
    code: &'static str,
    file: &str,
    problems: &mut Vec<Problem>,
) -> Option<ValueNode> {
    let is_whole = parsed.faults.is_empty();
    let faults = parsed.faults.into_iter();
    problems.extend(faults.map(|fault| fault.into_problem(code, file)));
    parsed.root.filter(|_| is_whole)
}
