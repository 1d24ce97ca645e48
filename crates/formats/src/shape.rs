//! What a format demands strictly, as a table.
//!
//! A [`Shape`] says which keys, types, words and bounds a document must have.
//! [`check`] finds every place where a tree has others, [`json_schema`] prints
//! the same table as JSON Schema 2020-12; they cannot disagree, because
//! neither knows anything of a format. Trees from YAML are checked alike.
//!
//! [`compare_keys()`] tells which keys of a document nothing reads, by the same table:
//! what a tolerant reader takes beyond the format is a field that is
//! [tolerated](FieldShape::tolerated), which the other two do not see.

mod check;
mod keys;
mod pattern;
mod schema;
mod version;

pub use check::check;
pub use keys::{KeyComparison, UnknownKey, compare_keys};
pub use pattern::{Pattern, is_date_time};
pub use schema::json_schema;
pub use version::FormatVersion;

/// What a value must be.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Anything.
    Any,
    /// A text.
    Text(TextShape),
    /// A number without a fraction, not below the minimum.
    Integer {
        /// The least that is allowed.
        min: Option<i32>,
    },
    /// A number, not below the minimum.
    Number {
        /// The least that is allowed.
        min: Option<i32>,
    },
    /// `true` or `false`.
    Bool,
    /// `null`.
    Null,
    /// A list of any length.
    List(&'static Shape),
    /// A mapping with these keys.
    Map(&'static [FieldShape], OtherKeys),
    /// A mapping of any keys, whose values are all of this shape.
    Each(&'static Shape),
    /// One of these.
    Either(&'static [Shape]),
    /// A shape that has a name of its own in the schema.
    Named(&'static NamedShape),
}

/// What a text must be.
#[derive(Clone, Copy, Debug)]
pub enum TextShape {
    /// Anything.
    Any,
    /// Anything but nothing.
    NotEmpty,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Made after a pattern.
    Pattern(Pattern),
    /// A time of RFC 3339, with its zone.
    DateTime,
}

/// Whether a mapping may have other keys than those that are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherKeys {
    /// It may not.
    Closed,
    /// It may, and they may hold anything.
    Open,
    /// It may, and nothing reads them.
    Unread,
}

/// A key of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct FieldShape {
    /// The key.
    pub key: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// What its value must be.
    pub shape: Shape,
    /// What it is for, in one line; may be empty.
    pub about: &'static str,
    /// Whether readers take it although the format does not have it.
    pub tolerated: bool,
}

/// A key that must be there.
pub(crate) const fn required_field(key: &'static str, shape: Shape) -> FieldShape {
    FieldShape::required(key, shape)
}

/// A key that may be there.
pub(crate) const fn optional_field(key: &'static str, shape: Shape) -> FieldShape {
    FieldShape::optional(key, shape)
}

/// Whether a table has a key.
pub(crate) fn has_key(fields: &[FieldShape], key: &str) -> bool {
    fields.iter().any(|field| field.key == key)
}

/// A mapping of these keys and no others.
pub(crate) const fn closed_map(fields: &'static [FieldShape]) -> Shape {
    Shape::Map(fields, OtherKeys::Closed)
}

/// A shape with a name. Tables that use one are statics, as it is itself.
#[derive(Clone, Copy, Debug)]
pub struct NamedShape {
    /// The name, unique within a format.
    pub name: &'static str,
    /// What it stands for.
    pub shape: Shape,
}

impl NamedShape {
    /// A mapping of these keys and no others.
    pub(crate) const fn closed_map(name: &'static str, fields: &'static [FieldShape]) -> Self {
        let shape = closed_map(fields);
        Self { name, shape }
    }
}

impl Shape {
    /// Any text.
    pub const TEXT: Self = Self::Text(TextShape::Any);
    /// A time of RFC 3339, with its zone.
    pub const DATE_TIME: Self = Self::Text(TextShape::DateTime);
    /// A whole number that is not negative.
    pub const COUNT: Self = Self::Integer { min: Some(0) };

    /// One of these words.
    pub const fn one_of(words: &'static [&'static str]) -> Self {
        Self::Text(TextShape::OneOf(words))
    }
}

impl FieldShape {
    /// A key that must be there.
    pub const fn required(key: &'static str, shape: Shape) -> Self {
        Self {
            key,
            required: true,
            shape,
            about: "",
            tolerated: false,
        }
    }

    /// A key that may be there.
    pub const fn optional(key: &'static str, shape: Shape) -> Self {
        Self {
            required: false,
            ..Self::required(key, shape)
        }
    }

    /// A key that the format does not have, and that readers take.
    pub const fn tolerated(key: &'static str, shape: Shape) -> Self {
        Self {
            tolerated: true,
            ..Self::optional(key, shape)
        }
    }

    /// The same key, with what it is for.
    #[must_use]
    pub const fn with_about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

#[cfg(test)]
mod tests;
