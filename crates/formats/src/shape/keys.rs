//! Which keys of a document are known, and which nothing reads.

use std::fmt;

use super::check::is_kind;
use super::{FieldShape, OtherKeys, Shape};
use crate::problem::Problem;
use crate::report::{ProblemReport, ValuePath, closest_word};
use crate::tree::{Map, MapKey, Span, Value, ValueNode};

/// The keys of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyComparison {
    /// How many are known.
    pub known: usize,
    /// Those that are not, in the order of the file.
    pub unknown: Vec<UnknownKey>,
}

/// A key that nothing reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key.
    pub key: String,
    /// Where it stands, as in `userStories[0].verify`.
    pub path: String,
    /// Its bytes and line.
    pub span: Span,
    /// The known key that was most likely meant.
    pub nearest: Option<&'static str>,
}

impl UnknownKey {
    /// The warning about it.
    #[must_use]
    pub fn to_problem(&self, file: &str) -> Problem {
        let hint = "nothing reads it; it is kept as it stands";
        let problem = Problem::warning("UNKNOWN_KEY", file, &*self.path, self.span);
        problem.with_message(self.to_string(), hint)
    }
}

impl fmt::Display for UnknownKey {
    /// A fragment: what is unknown, and what is known instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key `{}` is not known", self.key.escape_debug())?;
        match self.nearest {
            Some(nearest) => write!(f, "; `{nearest}` is"),
            None => Ok(()),
        }
    }
}

/// The keys of `root`, compared with those that `shape` names and those that
/// readers take beside them.
///
/// Below a value that is not of its shape, nothing is compared. Where any key is
/// read, only a slip of the finger counts as unknown.
pub fn compare_keys(root: &ValueNode, shape: &'static Shape) -> KeyComparison {
    let mut found = UnknownKeyFinder::default();
    found.visit_value(root, shape, ValuePath::ROOT);
    found.keys.unknown.sort_by_key(|key| key.span.start);
    found.keys
}

impl ProblemReport<'_> {
    /// Warns of keys that the table of a document does not have.
    pub(crate) fn warn_unknown_keys(&mut self, root: &ValueNode, shape: &'static Shape) {
        let unknown = compare_keys(root, shape).unknown;
        let problems = unknown.iter().map(|key| key.to_problem(self.file));
        self.problems.extend(problems);
    }
}

#[derive(Default)]
struct UnknownKeyFinder {
    keys: KeyComparison,
}

impl UnknownKeyFinder {
    fn visit_value(&mut self, node: &ValueNode, shape: &'static Shape, path: ValuePath<'_>) {
        match (shape, &node.value) {
            (Shape::Named(named), _) => self.visit_value(node, &named.shape, path),
            (Shape::Map(fields, rest), Value::Map(map)) => {
                for (key, value) in map.iter() {
                    self.visit_pair(key, value, fields, *rest, path);
                }
            }
            // A document may be the list that another has under a key.
            (Shape::Map(fields, _), Value::Seq(items)) => {
                let lists = fields.iter().map(|field| &field.shape);
                if let Some(list) = lists.into_iter().find(|shape| is_list_of_maps(shape)) {
                    self.visit_items(items, list, path);
                }
            }
            (Shape::List(_), Value::Seq(items)) => self.visit_items(items, shape, path),
            (Shape::Each(values), Value::Map(map)) => self.visit_each(map, values, path),
            (Shape::Either(shapes), Value::Map(_) | Value::Seq(_)) => {
                if let Some(meant) = shapes.iter().find(|shape| is_kind(node, shape)) {
                    self.visit_value(node, meant, path);
                }
            }
            _ => {}
        }
    }

    fn visit_items(&mut self, items: &[ValueNode], list: &'static Shape, path: ValuePath<'_>) {
        let Shape::List(shape) = list else { return };
        for (index, item) in items.iter().enumerate() {
            self.visit_value(item, shape, path.index(index));
        }
    }

    fn visit_each(&mut self, map: &Map, values: &'static Shape, path: ValuePath<'_>) {
        for (key, value) in map.iter() {
            self.visit_value(value, values, path.key(&key.text));
        }
    }

    fn visit_pair(
        &mut self,
        key: &MapKey,
        value: &ValueNode,
        fields: &'static [FieldShape],
        rest: OtherKeys,
        path: ValuePath<'_>,
    ) {
        let path = path.key(&key.text);
        if let Some(field) = fields.iter().find(|field| field.key == key.text) {
            self.keys.known += 1;
            return self.visit_value(value, &field.shape, path);
        }
        let known = || fields.iter().filter(|field| !field.tolerated);
        let known: Vec<&'static str> = known().map(|field| field.key).collect();
        let nearest = match rest {
            OtherKeys::Closed | OtherKeys::Unread => nearest_key(&key.text, &known),
            OtherKeys::Open => closest_word(&key.text, &known),
        };
        if rest == OtherKeys::Open && nearest.is_none() {
            self.keys.known += 1;
            return;
        }
        self.keys.unknown.push(UnknownKey {
            key: key.text.clone(),
            path: path.to_string(),
            span: key.span,
            nearest,
        });
    }
}

fn is_list_of_maps(shape: &Shape) -> bool {
    matches!(shape, Shape::List(items) if is_map(items))
}

fn is_map(shape: &Shape) -> bool {
    matches!(shape, Shape::Map(..)) || matches!(shape, Shape::Named(named) if is_map(&named.shape))
}

/// The known key that `word` is most likely meant to be: one that is a slip of
/// the finger away, one that is spelt in another manner, or one that begins or
/// ends alike.
fn nearest_key(word: &str, known: &[&'static str]) -> Option<&'static str> {
    /// So many letters must be alike at the beginning.
    const ALIKE_MIN: usize = 4;
    let bare = |word: &str| -> String {
        let letters = word.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let found = bare(word);
    if let Some(same) = known.iter().find(|known| bare(known) == found) {
        return Some(same);
    }
    if let Some(slip) = closest_word(word, known) {
        return Some(slip);
    }
    let alike = |known: &str| -> usize {
        let known = bare(known);
        let pairs = found.chars().zip(known.chars());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let begins = known.iter().map(|known| (alike(known), *known));
    let begins = begins.filter(|(count, known)| {
        // `verify` and `verification`; not `projectile` and `project-manager`.
        *count >= ALIKE_MIN && 2 * *count > found.chars().count().min(known.chars().count())
    });
    // Of several that begin alike, the shortest one.
    let begins = begins.max_by_key(|(count, known)| (*count, std::cmp::Reverse(known.len())));
    let ends = || {
        let ends = |known: &&&str| found.len() >= ALIKE_MIN && bare(known).ends_with(&found);
        known.iter().find(ends).copied()
    };
    begins.map(|(_, known)| known).or_else(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::shape::NamedShape;

    static ITEM: NamedShape = NamedShape {
        name: "Item",
        shape: Shape::Map(
            &[
                FieldShape::required("id", Shape::TEXT),
                FieldShape::optional("verification", Shape::TEXT),
                FieldShape::optional("test_command", Shape::TEXT),
                FieldShape::tolerated("criteria", Shape::TEXT),
                FieldShape::optional(
                    "data",
                    Shape::Map(
                        &[FieldShape::optional("files", Shape::Any)],
                        OtherKeys::Open,
                    ),
                ),
                FieldShape::optional(
                    "meta",
                    Shape::Map(
                        &[FieldShape::optional("total", Shape::Any)],
                        OtherKeys::Unread,
                    ),
                ),
            ],
            OtherKeys::Closed,
        ),
    };
    static SHAPE: Shape = Shape::Map(
        &[
            FieldShape::required("items", Shape::List(&Shape::Named(&ITEM))),
            FieldShape::optional("by", Shape::Each(&Shape::Named(&ITEM))),
        ],
        OtherKeys::Closed,
    );

    #[track_caller]
    fn check(text: &str, known: usize, unknown: &[&str]) {
        let root = json::parse(text).root.expect("JSON");
        let keys = compare_keys(&root, &SHAPE);
        let told: Vec<String> = keys
            .unknown
            .iter()
            .map(|key| format!("{} -> {}", key.path, key.nearest.unwrap_or("-")))
            .collect();
        assert_eq!(
            (keys.known, told),
            (known, unknown.iter().map(|one| (*one).to_owned()).collect()),
            "{text}"
        );
    }

    #[test]
    fn a_key_is_known_by_the_table_wherever_its_mapping_stands() {
        check(r#"{"items": [{"id": "a", "criteria": "b"}]}"#, 3, &[]);
        check(
            r#"{"items": [{"id": "a"}, {"verify": "b"}], "by": {"x": {"ID": "a"}}}"#,
            3,
            &["items[1].verify -> verification", "by.x.ID -> id"],
        );
        check(r#"[{"id": "a", "colour": 1}]"#, 1, &["[0].colour -> -"]);
        check(r#"{"items": 3, "item": []}"#, 1, &["item -> items"]);
        check(
            r#"{"items": [{"data": {"weather": 1, "file": 2}}]}"#,
            3,
            &["items[0].data.file -> files"],
        );
        check(
            r#"{"items": [{"meta": {"total": 1, "weather": 1}}]}"#,
            3,
            &["items[0].meta.weather -> -"],
        );
    }

    #[test]
    fn the_nearest_key_is_the_one_that_was_meant() {
        let known = [
            "verification",
            "verificationCommands",
            "test_command",
            "dependsOn",
            "priority",
            "model",
        ];
        for (word, meant) in [
            ("verify", Some("verification")),
            ("verificationCommand", Some("verificationCommands")),
            ("testCommand", Some("test_command")),
            ("depends-on", Some("dependsOn")),
            ("command", Some("test_command")),
            ("prio", Some("priority")),
            ("model_name", Some("model")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest_key(word, &known), meant, "{word}");
        }
    }
}
