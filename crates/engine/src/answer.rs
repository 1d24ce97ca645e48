//! What a verb answers: one JSON object, the same wherever it is printed.
//!
//! The type of the answer serialises itself; the terminal, MCP and later HTTP
//! print it as a [`LabelledAnswer`] and in no other way. What an answer looks
//! like to people is decided where it is shown.

use serde::Serialize;

/// What a verb answers.
pub trait Answer: Serialize {
    /// The name of its shape, and the version of that shape: `piton.status/1`. The
    /// version grows when a program that reads the answer may have to change.
    const SCHEMA: &'static str;
}

/// An answer as it is printed: its `schema` first, then its fields.
#[derive(Debug, Serialize)]
pub struct LabelledAnswer<'a, A> {
    schema: &'static str,
    #[serde(flatten)]
    answer: &'a A,
}

impl<'a, A: Answer> LabelledAnswer<'a, A> {
    /// The answer with the name of its shape.
    pub fn new(answer: &'a A) -> Self {
        Self {
            schema: A::SCHEMA,
            answer,
        }
    }
}

/// Names the shape of answers: `name_schema!(StatusReport, "piton.status/1")`.
#[macro_export]
macro_rules! name_schema {
    ($answer:ty, $schema:expr) => {
        impl $crate::answer::Answer for $answer {
            const SCHEMA: &'static str = $schema;
        }
    };
}
