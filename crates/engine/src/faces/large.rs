//! Large files, which are not read for each change: what is new is put in
//! where their list ends.

use std::io;

use piton_formats::json;

use super::files::FaceFile;
use super::rows::Behind;
use crate::keeper::{Keeper, Put};

/// From this size on a file is spliced.
const LARGE_BYTES: usize = 1 << 20;

/// Where the list of a large file ends; none for a small one.
pub(super) fn tail(file: &FaceFile, text: &str) -> Option<u64> {
    let list = file.list?;
    if text.len() < LARGE_BYTES {
        return None;
    }
    let point = json::append_point(text, &[list.key])?;
    (!point.is_empty && !point.is_inline).then_some(point.offset as u64)
}

/// Puts new elements into a large file that is as piton left it; none when it
/// is not, or when something else than new elements is to be shown.
pub(super) fn splice(
    file: &FaceFile,
    keeper: &mut Keeper,
    behind: &Behind,
) -> io::Result<Option<Put>> {
    let (Some(list), Some(at)) = (file.list, keeper.stamp().tail) else {
        return Ok(None);
    };
    if keeper.may_be_foreign() {
        return Ok(None);
    }
    let mut insert = String::new();
    for row in &behind.rows {
        match (list.element)(row.shown()) {
            Element::New(text) => insert.push_str(&text),
            Element::None => {}
            Element::Other => return Ok(None),
        }
    }
    if insert.is_empty() {
        keeper.note(behind.positions.clone())?;
        return Ok(Some(Put::Done));
    }
    keeper
        .splice(at, insert.as_bytes(), behind.positions.clone())
        .map(Some)
}

/// What a row is in the list of a file.
pub(super) enum Element {
    /// A new element, with the comma and the line break before it.
    New(String),
    /// Nothing.
    None,
    /// A change of something else in the file.
    Other,
}
