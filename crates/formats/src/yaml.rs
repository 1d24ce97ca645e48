//! YAML as a spanned tree, and a writer for it.
//!
//! A thin shell around `granit_parser`, which nothing outside this module
//! sees. [`parse`] gives a [`ValueNode`] in which every value knows where it came
//! from and keeps the text it was written with: `6673e79` stays `6673e79`
//! although a YAML reader may take it for a number. What the text *means* is
//! asked for with [`ValueNode::kind`], which answers as `js-yaml` 4 does, because
//! that is what the tools read with whose files these are.
//!
//! [`render`] writes block style whose strings YAML 1.1 and 1.2 readers agree on;
//! [`patch`](fn@patch) changes a text in place so that it says something else.

mod build;
mod emit;
mod faults;
mod parse;
mod patch;
mod shallow;

pub use crate::tree::{
    DEPTH_MAX, Map, MapKey, ParsedTree, Scalar, ScalarKind, Span, Style, SyntaxFault, Value,
    ValueNode,
};
pub use emit::render;
pub(crate) use emit::{push_indent, push_key, push_node, push_text};
pub use parse::parse;
pub use patch::{YamlPatchError, patch};
