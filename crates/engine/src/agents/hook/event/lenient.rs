//! Fields that accept any value and do not store what no reader needs: the result of
//! a tool may be many megabytes.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Longer texts are cut: what is shown of them is shorter by far.
const CHARS_MAX: usize = 4_000;

/// A short text; the texts of a list, with blanks between; else nothing.
#[derive(Debug, Default)]
pub(super) struct LenientText(pub(super) String);

/// A text of any length; else nothing.
#[derive(Debug, Default)]
pub(super) struct LenientLongText(pub(super) String);

/// A whole number; else none.
#[derive(Debug, Default)]
pub(super) struct LenientCount(pub(super) Option<u64>);

/// The members of an object that are texts.
#[derive(Debug, Default)]
pub(super) struct LenientMembers(Vec<(String, LenientText)>);

impl LenientMembers {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(known, _)| known == key);
        let (_, said) = found.next()?;
        Some(&said.0)
            .filter(|said| !said.is_empty())
            .map(String::as_str)
    }
}

/// What a tool gave back.
#[derive(Debug, Default)]
pub(super) struct ToolResponse {
    /// How much text it was, in bytes.
    pub(super) bytes: u64,
    /// The exit status of a command, where it is told.
    pub(super) exit: Option<i32>,
    /// Whether it says that it failed.
    pub(super) failed: bool,
}

/// What one visitor makes of any value; what it has no word for is passed over.
trait LenientValue<'de>: Default {
    fn accept_text(&mut self, _: &str) {}
    fn accept_number(&mut self, _: i64) {}
    fn accept_true(&mut self) {}
    fn accept_list<A: SeqAccess<'de>>(&mut self, list: A) -> Result<(), A::Error> {
        skip_list(list)
    }
    fn accept_object<A: MapAccess<'de>>(&mut self, object: A) -> Result<(), A::Error> {
        skip_object(object)
    }
}

fn skip_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Visits any value for a [`LenientValue`].
struct LenientVisitor<T>(T);

impl<'de, T: LenientValue<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(mut self, text: &str) -> Result<T, E> {
        self.0.accept_text(text);
        Ok(self.0)
    }

    fn visit_bool<E>(mut self, is: bool) -> Result<T, E> {
        if is {
            self.0.accept_true();
        }
        Ok(self.0)
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<T, E> {
        self.0
            .accept_number(i64::try_from(number).unwrap_or(i64::MAX));
        Ok(self.0)
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<T, E> {
        self.0.accept_number(number);
        Ok(self.0)
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(self.0)
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, list: A) -> Result<T, A::Error> {
        self.0.accept_list(list)?;
        Ok(self.0)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, object: A) -> Result<T, A::Error> {
        self.0.accept_object(object)?;
        Ok(self.0)
    }
}

impl LenientValue<'_> for LenientLongText {
    fn accept_text(&mut self, text: &str) {
        text.clone_into(&mut self.0);
    }
}

impl LenientValue<'_> for LenientCount {
    fn accept_number(&mut self, number: i64) {
        self.0 = u64::try_from(number).ok();
    }
}

impl<'de> LenientValue<'de> for LenientText {
    fn accept_text(&mut self, text: &str) {
        let end = text.char_indices().nth(CHARS_MAX);
        self.0 = text[..end.map_or(text.len(), |(end, _)| end)].to_owned();
    }

    fn accept_list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(Self(text)) = list.next_element()? {
            if text.is_empty() || self.0.len() > CHARS_MAX {
                continue;
            }
            if !self.0.is_empty() {
                self.0.push(' ');
            }
            self.0.push_str(&text);
        }
        Ok(())
    }
}

impl<'de> LenientValue<'de> for LenientMembers {
    fn accept_object<A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        /// Tools have a handful of parameters; what has more is none of those
        /// that are looked into.
        const MEMBERS_MAX: usize = 32;
        while let Some(key) = object.next_key::<LenientText>()? {
            let said = object.next_value::<LenientText>()?;
            if self.0.len() < MEMBERS_MAX {
                self.0.push((key.0, said));
            }
        }
        Ok(())
    }
}

impl ToolResponse {
    fn add_bytes(&mut self, more: &Self) {
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

impl<'de> LenientValue<'de> for ToolResponse {
    fn accept_text(&mut self, text: &str) {
        self.bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    }

    fn accept_list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<Self>()? {
            self.add_bytes(&element);
        }
        Ok(())
    }

    fn accept_object<A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<LenientText>()? {
            match key.0.as_str() {
                "exit_code" | "exitCode" => {
                    let code = object.next_value::<LenientExitCode>()?.0;
                    self.exit = code;
                    self.failed |= code.is_some_and(|code| code != 0);
                }
                "is_error" | "interrupted" => self.failed |= object.next_value::<LenientTrue>()?.0,
                "error" => {
                    let error = object.next_value::<Self>()?;
                    self.failed |= error.bytes > 0;
                    self.add_bytes(&error);
                }
                _ => {
                    let member = object.next_value::<Self>()?;
                    self.add_bytes(&member);
                }
            }
        }
        Ok(())
    }
}

/// An exit status; else none.
#[derive(Debug, Default)]
struct LenientExitCode(Option<i32>);

impl LenientValue<'_> for LenientExitCode {
    fn accept_number(&mut self, number: i64) {
        self.0 = i32::try_from(number).ok();
    }
}

/// Whether it is `true`.
#[derive(Debug, Default)]
struct LenientTrue(bool);

impl LenientValue<'_> for LenientTrue {
    fn accept_true(&mut self) {
        self.0 = true;
    }
}

/// Makes a type whose [`LenientValue`] says all that reads it.
macro_rules! any {
    ($($type:ty),+) => {
        $(impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(LenientVisitor(Self::default()))
            }
        })+
    };
}

any!(
    LenientText,
    LenientLongText,
    LenientCount,
    LenientMembers,
    ToolResponse,
    LenientExitCode,
    LenientTrue
);
