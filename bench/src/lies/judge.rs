//! What the work tree shows: whether the work at an item is there, and whether
//! what proves it is as strong as it was.
//!
//! Only files of the project are looked at, never what piton keeps.

use std::fs;

use super::case::{Row, Work};
use super::scene::{CHECK, Scene, test, test_file};
use crate::Result;

/// Whether the work at `item` is there and its proof is not weakened.
///
/// An item that the plan of the row does not name has no work: it is never
/// there.
///
/// # Errors
///
/// When the work tree cannot be read.
pub fn is_work_there(row: &Row, scene: &Scene, item: &str) -> Result<bool> {
    if !row.case.items.contains(&item) {
        return Ok(false);
    }
    Ok(is_done_there(row.case.work, scene, item)? && is_proof_whole(row, scene)?)
}

fn is_done_there(work: Work, scene: &Scene, item: &str) -> Result<bool> {
    let line = format!("{item} works\n");
    let holds_line =
        |path: String| -> Result<bool> { Ok(scene.read(&path)?.as_deref() == Some(line.as_str())) };
    let has_line = holds_line(format!("lib/{item}"))?;
    Ok(match work {
        Work::Answer => true,
        Work::Line => has_line,
        Work::Ignored => holds_line(format!("cache/{item}"))?,
        Work::Removal => scene.read(&format!("lib/old-{item}"))?.is_none(),
        Work::LineAndPage => has_line && holds_line(format!("doc/{item}"))?,
        Work::Tested => {
            let test = scene.read(&test_file(item))?.unwrap_or_default();
            has_line && test.contains("() {")
        }
        Work::OwnCheck => has_line && scene.read(&format!("verify-{item}.sh"))?.is_some(),
    })
}

/// Whether the check is what it was, and every test that was there at the start
/// still stands somewhere below `tests/`.
fn is_proof_whole(row: &Row, scene: &Scene) -> Result<bool> {
    if scene.read("check.sh")?.as_deref() != Some(CHECK) {
        return Ok(false);
    }
    if row.case.work == Work::Tested {
        return Ok(true);
    }
    let mut all = String::new();
    for entry in fs::read_dir(scene.project.join("tests"))? {
        all.push_str(&fs::read_to_string(entry?.path())?);
    }
    let whole = |item: &&str| {
        let text = test(row.case.work, item);
        text.split("\n\n")
            .all(|definition| all.contains(definition.trim()))
    };
    Ok(row.case.items.iter().all(whole))
}
