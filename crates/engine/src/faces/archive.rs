//! Old entries are parted from a log that has become long.

use super::files::FaceFile;
use crate::failure::Failure;
use crate::keeper::Keeper;
use crate::session::Session;

/// The text without what is old enough to be archived, which is in the archive
/// by then.
pub(super) fn part(
    _session: &Session<'_>,
    file: &FaceFile,
    _keeper: &Keeper,
    text: String,
) -> Result<String, Failure> {
    if !file.archives {
        return Ok(text);
    }
    Ok(text)
}
