//! Fields that take whatever stands there, without keeping what nobody needs:
//! what a tool gave back may be many megabytes.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Longer texts are cut: what is shown of them is shorter by far.
const CHARS_MAX: usize = 4_000;

/// A short text; the texts of a list, with blanks between; else nothing.
#[derive(Debug, Default)]
pub(super) struct Said(pub(super) String);

/// A text of any length; else nothing.
#[derive(Debug, Default)]
pub(super) struct Words(pub(super) String);

/// A whole number; else none.
#[derive(Debug, Default)]
pub(super) struct Count(pub(super) Option<u64>);

/// The members of an object that are texts.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(String, Said)>);

impl Members {
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
pub(super) struct Response {
    /// How much text it was, in bytes.
    pub(super) bytes: u64,
    /// The exit status of a command, where it is told.
    pub(super) exit: Option<i32>,
    /// Whether it says that it failed.
    pub(super) failed: bool,
}

/// What one visitor makes of any value; what it has no word for is passed over.
trait Taken<'de>: Default {
    fn text(&mut self, _: &str) {}
    fn number(&mut self, _: i64) {}
    fn yes(&mut self) {}
    fn list<A: SeqAccess<'de>>(&mut self, list: A) -> Result<(), A::Error> {
        pass_over_list(list)
    }
    fn object<A: MapAccess<'de>>(&mut self, object: A) -> Result<(), A::Error> {
        pass_over(object)
    }
}

fn pass_over_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn pass_over<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Visits any value for a [`Taken`].
struct Any<T>(T);

impl<'de, T: Taken<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(mut self, text: &str) -> Result<T, E> {
        self.0.text(text);
        Ok(self.0)
    }

    fn visit_bool<E>(mut self, is: bool) -> Result<T, E> {
        if is {
            self.0.yes();
        }
        Ok(self.0)
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<T, E> {
        self.0.number(i64::try_from(number).unwrap_or(i64::MAX));
        Ok(self.0)
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<T, E> {
        self.0.number(number);
        Ok(self.0)
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(self.0)
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, list: A) -> Result<T, A::Error> {
        self.0.list(list)?;
        Ok(self.0)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, object: A) -> Result<T, A::Error> {
        self.0.object(object)?;
        Ok(self.0)
    }
}

impl Taken<'_> for Words {
    fn text(&mut self, text: &str) {
        text.clone_into(&mut self.0);
    }
}

impl Taken<'_> for Count {
    fn number(&mut self, number: i64) {
        self.0 = u64::try_from(number).ok();
    }
}

impl<'de> Taken<'de> for Said {
    fn text(&mut self, text: &str) {
        let end = text.char_indices().nth(CHARS_MAX);
        self.0 = text[..end.map_or(text.len(), |(end, _)| end)].to_owned();
    }

    fn list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
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

impl<'de> Taken<'de> for Members {
    fn object<A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        /// Tools have a handful of parameters; what has more is none of those
        /// that are looked into.
        const MEMBERS_MAX: usize = 32;
        while let Some(key) = object.next_key::<Said>()? {
            let said = object.next_value::<Said>()?;
            if self.0.len() < MEMBERS_MAX {
                self.0.push((key.0, said));
            }
        }
        Ok(())
    }
}

impl Response {
    fn add(&mut self, more: &Self) {
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

impl<'de> Taken<'de> for Response {
    fn text(&mut self, text: &str) {
        self.bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    }

    fn list<A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<Self>()? {
            self.add(&element);
        }
        Ok(())
    }

    fn object<A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<Said>()? {
            match key.0.as_str() {
                "exit_code" | "exitCode" => {
                    let code = object.next_value::<Code>()?.0;
                    self.exit = code;
                    self.failed |= code.is_some_and(|code| code != 0);
                }
                "is_error" | "interrupted" => self.failed |= object.next_value::<Yes>()?.0,
                "error" => {
                    let error = object.next_value::<Self>()?;
                    self.failed |= error.bytes > 0;
                    self.add(&error);
                }
                _ => {
                    let member = object.next_value::<Self>()?;
                    self.add(&member);
                }
            }
        }
        Ok(())
    }
}

/// An exit status; else none.
#[derive(Debug, Default)]
struct Code(Option<i32>);

impl Taken<'_> for Code {
    fn number(&mut self, number: i64) {
        self.0 = i32::try_from(number).ok();
    }
}

/// Whether it is `true`.
#[derive(Debug, Default)]
struct Yes(bool);

impl Taken<'_> for Yes {
    fn yes(&mut self) {
        self.0 = true;
    }
}

/// Makes a type whose [`Taken`] says all that reads it.
macro_rules! any {
    ($($type:ty),+) => {
        $(impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(Any(Self::default()))
            }
        })+
    };
}

any!(Said, Words, Count, Members, Response, Code, Yes);
