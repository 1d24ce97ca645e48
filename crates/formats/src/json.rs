//! JSON as a spanned tree, and changes written into a JSON text.
//!
//! [`parse`] reads strictly, as RFC 8259 has it, and goes on after a mistake
//! where it is plain what was meant, so that one reading tells all of them.
//! Every value knows where it stands, and a number keeps its text.
//!
//! [`patch`] is how a file is changed: the text is made to say something else
//! by the fewest edits, and everything that did not change keeps its bytes.
//! [`find_list_ends`] is the way into a text that is too large for that.
//! [`render`] writes a document that was not there before.

mod byte_edit;
mod emit;
mod ends;
mod parse;
mod patch;
mod string;
mod style;

pub use crate::tree::{
    DEPTH_MAX, Map, MapKey, ParsedTree, Scalar, ScalarKind, Span, Style, SyntaxFault, Value,
    ValueNode,
};
pub(crate) use byte_edit::{ByteEdit, apply_edits};
pub use emit::{is_same_json, render};
pub use ends::find_list_ends;
pub use parse::{has_bom, parse, parse_stream};
pub use patch::{JsonPatchError, patch};
