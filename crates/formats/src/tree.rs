//! What a YAML or JSON document holds, with the place of every value.
//!
//! One tree for both, so that what a format wants and how a file is changed in
//! place is said once. [`crate::yaml`] and [`crate::json`] read it.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::problem::Problem;

pub(crate) mod scalar;
mod span;

pub use scalar::{Scalar, ScalarKind, Style};
pub use span::Span;

/// How deep collections may be nested in a text that is read.
pub const DEPTH_MAX: usize = 200;

/// How many faults are told; a file with more has one cause for most of them.
pub(crate) const FAULTS_MAX: usize = 100;

/// What could be read of a document, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct ParsedTree {
    /// The first document; `None` when there is none or its syntax is broken.
    pub root: Option<ValueNode>,
    /// What is wrong, in the order of the file.
    pub faults: Vec<SyntaxFault>,
}

/// Something that makes a text unfit to be read as one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFault {
    /// Where.
    pub span: Span,
    /// What was found.
    pub message: String,
    /// How to mend it.
    pub hint: String,
}

impl SyntaxFault {
    /// The fault as an error of a file.
    pub(crate) fn into_problem(self, code: &'static str, file: &str) -> Problem {
        Problem::error(code, file, "", self.span).with_message(self.message, self.hint)
    }
}

/// A value and its place.
///
/// Two nodes are equal when they say the same: spans, and the choice between
/// quotes and blocks, do not count; whether a scalar is a string does.
#[derive(Clone, Debug)]
pub struct ValueNode {
    /// The value.
    pub value: Value,
    /// Its place. A collection starts at its bracket, or, where YAML needs
    /// none, at its first entry.
    pub span: Span,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text, with the style it was written in.
    Scalar(Scalar),
    /// A list.
    Seq(Vec<ValueNode>),
    /// A mapping in the order it was written.
    Map(Map),
}

/// A mapping: keys in the order they were written, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// The pairs.
    pub pairs: Vec<(MapKey, ValueNode)>,
}

/// The key of a pair.
#[derive(Clone, Debug)]
pub struct MapKey {
    /// Its text. Of a list or mapping, what JavaScript makes of it for a key.
    pub text: String,
    /// Its place.
    pub span: Span,
    /// Whether the key was a list or a mapping, as an unquoted `{{x}}` makes it.
    pub is_collection: bool,
}

impl PartialEq for ValueNode {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialEq for MapKey {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl ValueNode {
    /// A string.
    pub fn string(text: impl Into<String>) -> Self {
        Self::scalar(text.into(), Style::Quoted)
    }

    /// Source text to be written without quotes: a number, `true`, `null`.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::scalar(text.into(), Style::Plain)
    }

    /// `true` or `false`.
    pub fn bool(value: bool) -> Self {
        Self::plain(if value { "true" } else { "false" })
    }

    /// A list.
    pub fn seq(items: Vec<Self>) -> Self {
        Self::without_span(Value::Seq(items))
    }

    /// A mapping.
    pub fn map<K: Into<String>>(pairs: impl IntoIterator<Item = (K, Self)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(key, node)| (MapKey::new(key), node))
            .collect();
        Self::from_map(Map { pairs })
    }

    /// A mapping of the pairs that are known.
    pub(crate) fn map_of_present<const N: usize>(pairs: [(&str, Option<Self>); N]) -> Self {
        let known = |(key, node): (_, Option<_>)| Some((key, node?));
        Self::map(pairs.into_iter().filter_map(known))
    }

    /// A list of texts.
    pub(crate) fn seq_of_texts(texts: &[String]) -> Self {
        Self::seq(texts.iter().map(Self::string).collect())
    }

    /// A mapping that was put together before.
    pub(crate) fn from_map(map: Map) -> Self {
        Self::without_span(Value::Map(map))
    }

    fn scalar(text: String, style: Style) -> Self {
        Self::without_span(Value::Scalar(Scalar {
            text,
            style,
            tag: None,
        }))
    }

    fn without_span(value: Value) -> Self {
        Self {
            value,
            span: Span::default(),
        }
    }

    /// The type of a scalar; `None` for a collection.
    pub fn kind(&self) -> Option<ScalarKind> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar.kind()),
            Value::Seq(_) | Value::Map(_) => None,
        }
    }

    /// The text of a scalar that is a string, and of nothing else.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) if scalar.kind() == ScalarKind::Text => Some(&scalar.text),
            Value::Scalar(_) | Value::Seq(_) | Value::Map(_) => None,
        }
    }

    /// The source text of any scalar, whatever its type.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            Value::Seq(_) | Value::Map(_) => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind() {
            Some(ScalarKind::Bool(value)) => Some(value),
            Some(
                ScalarKind::Null
                | ScalarKind::Int(_)
                | ScalarKind::Float(_)
                | ScalarKind::Timestamp
                | ScalarKind::Text,
            )
            | None => None,
        }
    }

    /// The value of a whole number that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i64().and_then(|value| u64::try_from(value).ok())
    }

    /// The value of a whole number.
    pub fn as_i64(&self) -> Option<i64> {
        match self.kind() {
            Some(ScalarKind::Int(value)) => Some(value),
            Some(
                ScalarKind::Null
                | ScalarKind::Bool(_)
                | ScalarKind::Float(_)
                | ScalarKind::Timestamp
                | ScalarKind::Text,
            )
            | None => None,
        }
    }

    /// The value of any number.
    #[expect(
        clippy::cast_precision_loss,
        reason = "as JavaScript reads it, whose only number is the double"
    )]
    pub fn as_f64(&self) -> Option<f64> {
        match self.kind() {
            Some(ScalarKind::Int(value)) => Some(value as f64),
            Some(ScalarKind::Float(value)) => Some(value),
            Some(
                ScalarKind::Null | ScalarKind::Bool(_) | ScalarKind::Timestamp | ScalarKind::Text,
            )
            | None => None,
        }
    }

    /// Whether this is `null`, `~` or nothing at all.
    pub fn is_null(&self) -> bool {
        self.kind() == Some(ScalarKind::Null)
    }

    /// The elements of a list.
    pub fn as_seq(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Seq(items) => Some(items),
            Value::Scalar(_) | Value::Map(_) => None,
        }
    }

    /// The pairs of a mapping.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            Value::Scalar(_) | Value::Seq(_) => None,
        }
    }

    /// The value under `key`, when this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map().and_then(|map| map.get(key))
    }

    /// What this is, in the words of an error message: `a list`, `the number 3`.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Seq(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
            Value::Scalar(scalar) => match scalar.kind() {
                ScalarKind::Null => "nothing".to_owned(),
                ScalarKind::Bool(value) => format!("the boolean {value}"),
                ScalarKind::Int(_) | ScalarKind::Float(_) => {
                    format!("the number {}", shorten(&scalar.text))
                }
                ScalarKind::Timestamp => format!("the date {}", shorten(&scalar.text)),
                ScalarKind::Text if scalar.text.is_empty() => "an empty string".to_owned(),
                ScalarKind::Text => format!("the string `{}`", shorten(&scalar.text)),
            },
        }
    }
}

/// The beginning of a text, fit for a message of one line.
fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let line = text.lines().next().unwrap_or_default();
    let mut out: String = line.chars().take(CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

impl Map {
    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&ValueNode> {
        self.entry(key).map(|(_, node)| node)
    }

    /// The pair under `key`, for its place.
    pub fn entry(&self, key: &str) -> Option<&(MapKey, ValueNode)> {
        self.pairs.iter().find(|(have, _)| have.text == key)
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&MapKey, &ValueNode)> {
        self.pairs.iter().map(|(key, node)| (key, node))
    }
}

impl MapKey {
    /// A key that was made, not read.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            span: Span::default(),
            is_collection: false,
        }
    }
}

impl Serialize for ValueNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Scalar(scalar) => match scalar.kind() {
                ScalarKind::Null => serializer.serialize_unit(),
                ScalarKind::Bool(value) => serializer.serialize_bool(value),
                ScalarKind::Int(value) => serializer.serialize_i64(value),
                // A float keeps its text: `6673e79` is more likely a commit.
                ScalarKind::Float(_) | ScalarKind::Timestamp | ScalarKind::Text => {
                    serializer.serialize_str(&scalar.text)
                }
            },
            Value::Seq(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Value::Map(map) => {
                let mut out = serializer.serialize_map(Some(map.pairs.len()))?;
                for (key, node) in map.iter() {
                    out.serialize_entry(&key.text, node)?;
                }
                out.end()
            }
        }
    }
}
