//! What a tool takes: one table, from which the schema is made that agents see,
//! and by which what they send is checked.
//!
//! An agent mends what it is told plainly: an argument that does not fit is
//! named, with what would fit and an example.

use piton_engine::Failure;
use serde_json::{Map, Value, json};

/// Longest text that is taken, in characters.
const TEXT_CHARS_MAX: usize = 8_000;
/// Longest list that is taken.
const ITEMS_MAX: usize = 100;

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentShape {
    /// Text that is kept: it has a longest length.
    Text,
    /// Text that is only looked at, such as what a tool printed.
    Output,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of the words of any of these lists.
    OneOfAll(&'static [&'static [&'static str]]),
    /// A list of texts.
    Texts,
    /// An object of texts.
    Named,
    /// A list of objects with these fields.
    Objects(&'static [ArgumentField]),
}

/// One argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgumentField {
    pub(super) name: &'static str,
    pub(super) shape: ArgumentShape,
    pub(super) is_required: bool,
    /// What it is, in a few words.
    pub(super) about: &'static str,
}

impl ArgumentField {
    pub(super) const fn required(
        name: &'static str,
        shape: ArgumentShape,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            is_required: true,
            about,
        }
    }

    pub(super) const fn optional(
        name: &'static str,
        shape: ArgumentShape,
        about: &'static str,
    ) -> Self {
        Self {
            is_required: false,
            ..Self::required(name, shape, about)
        }
    }
}

impl ArgumentShape {
    fn allowed_words(self) -> Vec<&'static str> {
        let mut words = Vec::new();
        let all = match self {
            Self::OneOf(one) => vec![one],
            Self::OneOfAll(lists) => lists.to_vec(),
            Self::Text | Self::Output | Self::Texts | Self::Named | Self::Objects(_) => Vec::new(),
        };
        for word in all.into_iter().flatten() {
            if !words.contains(word) {
                words.push(*word);
            }
        }
        words
    }

    /// In JSON Schema, without what some clients do not understand: no
    /// references, no alternatives.
    fn json_schema(self) -> Map<String, Value> {
        let kind = match self {
            Self::Text | Self::Output | Self::OneOf(_) | Self::OneOfAll(_) => "string",
            Self::Texts | Self::Objects(_) => "array",
            Self::Named => "object",
        };
        let text = || json!({ "type": "string" });
        let mut rest = match self {
            Self::Text | Self::Output => Map::new(),
            Self::OneOf(_) | Self::OneOfAll(_) => single_entry("enum", self.allowed_words()),
            Self::Texts => single_entry("items", text()),
            Self::Objects(fields) => single_entry("items", object_schema(fields)),
            Self::Named => single_entry("additionalProperties", text()),
        };
        let mut whole = single_entry("type", kind);
        whole.append(&mut rest);
        whole
    }

    /// What would fit, in words.
    fn describe_expected(self) -> String {
        match self {
            Self::Text | Self::Output => "a text".to_owned(),
            Self::OneOf(_) | Self::OneOfAll(_) => {
                format!("one of {}", self.allowed_words().join(", "))
            }
            Self::Texts => "a list of texts".to_owned(),
            Self::Named => "an object of texts".to_owned(),
            Self::Objects(_) => "a list of objects".to_owned(),
        }
    }

    /// What does not fit in a value at `path`; none when all does.
    fn find_misfit(self, path: &str, value: &Value) -> Option<String> {
        let wants = || {
            let shown: String = value.to_string().chars().take(200).collect();
            Some(format!(
                "`{path}` must be {}, not {shown}",
                self.describe_expected()
            ))
        };
        match (self, value) {
            (Self::Texts | Self::Objects(_), Value::Array(items)) if items.len() > ITEMS_MAX => {
                Some(format!(
                    "`{path}` has {} entries, at most {ITEMS_MAX} are taken",
                    items.len()
                ))
            }
            (Self::Output, Value::String(_)) => None,
            (Self::Text, Value::String(text)) => {
                let chars = text.chars().count();
                (chars > TEXT_CHARS_MAX).then(|| {
                    format!("`{path}` has {chars} characters, at most {TEXT_CHARS_MAX} are taken: say what matters of it")
                })
            }
            (Self::OneOf(_) | Self::OneOfAll(_), Value::String(word)) => {
                let fits = self.allowed_words().contains(&word.as_str());
                if fits { None } else { wants() }
            }
            (Self::Texts, Value::Array(items)) => items
                .iter()
                .enumerate()
                .find_map(|(at, item)| Self::Text.find_misfit(&format!("{path}[{at}]"), item)),
            (Self::Named, Value::Object(map)) => map
                .iter()
                .find_map(|(key, item)| Self::Text.find_misfit(&format!("{path}.{key}"), item)),
            (Self::Objects(fields), Value::Array(items)) => {
                items.iter().enumerate().find_map(|(at, item)| {
                    let path = format!("{path}[{at}]");
                    let Value::Object(map) = item else {
                        return Some(format!("`{path}` must be an object, not {item}"));
                    };
                    find_field_misfit(fields, map, &format!("{path}."))
                })
            }
            _ => wants(),
        }
    }
}

/// An object with one key.
fn single_entry(key: &str, value: impl Into<Value>) -> Map<String, Value> {
    std::iter::once((key.to_owned(), value.into())).collect()
}

/// The schema of an object with these fields and no others.
pub(super) fn object_schema(fields: &[ArgumentField]) -> Map<String, Value> {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = field.shape.json_schema();
            schema.insert("description".to_owned(), field.about.into());
            (field.name.to_owned(), Value::Object(schema))
        })
        .collect();
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.is_required)
        .map(|field| field.name)
        .collect();
    let mut schema = single_entry("type", "object");
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// The first thing that does not fit.
fn find_field_misfit(
    fields: &[ArgumentField],
    map: &Map<String, Value>,
    path: &str,
) -> Option<String> {
    let known = |key: &String| fields.iter().any(|field| field.name == key);
    if let Some(key) = map.keys().find(|key| !known(key)) {
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let there_is = match names.as_slice() {
            [] => "it takes none".to_owned(),
            names => format!("there is {}", names.join(", ")),
        };
        return Some(format!("there is no argument `{path}{key}`; {there_is}"));
    }
    fields.iter().find_map(|field| {
        let path = format!("{path}{}", field.name);
        match map.get(field.name).filter(|value| !value.is_null()) {
            None => field
                .is_required
                .then(|| format!("`{path}` is missing: {}", field.about)),
            Some(Value::String(text)) if field.is_required && text.trim().is_empty() => {
                Some(format!("`{path}` is empty: {}", field.about))
            }
            Some(value) => field.shape.find_misfit(&path, value),
        }
    })
}

/// Arguments that were checked.
#[derive(Clone, Debug)]
pub(super) struct ToolArguments(Map<String, Value>);

impl ToolArguments {
    /// What was sent, if it fits.
    ///
    /// # Errors
    ///
    /// With the name of the field that does not fit, and an example.
    pub(super) fn parse_checked(
        sent: Map<String, Value>,
        fields: &[ArgumentField],
        example: &str,
    ) -> Result<Self, Failure> {
        match find_field_misfit(fields, &sent, "") {
            None => Ok(Self(sent)),
            Some(wrong) => {
                // Whatever an agent sends by mistake need not come back whole.
                let wrong: String = wrong.chars().take(500).collect();
                Err(Failure::new("usage", wrong).with_hint(format!("for example {example}")))
            }
        }
    }

    /// A text that says something.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = self.0.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A list of texts.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    /// An object of texts.
    pub(super) fn string_map(&self, name: &str) -> Map<String, Value> {
        let map = self.0.get(name).and_then(Value::as_object);
        map.cloned().unwrap_or_default()
    }

    /// A list of objects, as they are; absent keys and null are the same.
    pub(super) fn objects(&self, name: &str) -> Vec<Value> {
        let list = self.0.get(name).and_then(Value::as_array);
        let mut objects: Vec<Value> = list.into_iter().flatten().cloned().collect();
        for object in objects.iter_mut().filter_map(Value::as_object_mut) {
            object.retain(|_, value| !value.is_null());
        }
        objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static INNER: [ArgumentField; 2] = [
        ArgumentField::required("title", ArgumentShape::Text, "in a few words"),
        ArgumentField::optional("kind", ArgumentShape::OneOf(&["a", "b"]), "which"),
    ];
    static FIELDS: [ArgumentField; 4] = [
        ArgumentField::required("text", ArgumentShape::Text, "what to say"),
        ArgumentField::optional("list", ArgumentShape::Texts, "more"),
        ArgumentField::optional("data", ArgumentShape::Named, "further keys"),
        ArgumentField::optional("seen", ArgumentShape::Objects(&INNER), "what was noticed"),
    ];

    #[track_caller]
    fn check(sent: Value, expected: Option<&str>) {
        let Value::Object(sent) = sent else {
            panic!("arguments are an object")
        };
        let checked = ToolArguments::parse_checked(sent, &FIELDS, r#"{"text": "hello"}"#);
        let wrong = checked.err().map(|failure| failure.message);
        assert_eq!(wrong.as_deref(), expected);
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_would() {
        check(json!({ "text": "x" }), None);
        check(
            json!({ "text": "x", "list": null, "seen": [{ "title": "t" }] }),
            None,
        );
        check(json!({}), Some("`text` is missing: what to say"));
        check(
            json!({ "text": null }),
            Some("`text` is missing: what to say"),
        );
        check(json!({ "text": " " }), Some("`text` is empty: what to say"));
        check(json!({ "text": 1 }), Some("`text` must be a text, not 1"));
        check(
            json!({ "texts": "x" }),
            Some("there is no argument `texts`; there is text, list, data, seen"),
        );
        check(
            json!({ "text": "x", "list": ["a", 2] }),
            Some("`list[1]` must be a text, not 2"),
        );
        check(
            json!({ "text": "x", "data": { "k": [] } }),
            Some("`data.k` must be a text, not []"),
        );
        check(
            json!({ "text": "x", "seen": [{ "title": "t", "kind": "c" }] }),
            Some("`seen[0].kind` must be one of a, b, not \"c\""),
        );
        check(
            json!({ "text": "x", "seen": [{ "titel": "t" }] }),
            Some("there is no argument `seen[0].titel`; there is title, kind"),
        );
    }

    #[test]
    fn a_long_mistake_is_not_sent_back_whole() {
        let sent = json!({ "text": ["x".repeat(100_000)] });
        let Value::Object(sent) = sent else {
            unreachable!()
        };
        let failure =
            ToolArguments::parse_checked(sent, &FIELDS, "{}").expect_err("it does not fit");
        assert!(failure.message.chars().count() <= 500);
    }
}
