//! Large files, which are not read for each change: what is new is put in
//! where their list ends.

use std::io;

use piton_formats::json;
use piton_formats::project_format::{Element, FaceFile};
use piton_formats::tree::Node;

use super::rows::Behind;
use crate::keeper::{Keeper, Put, Tail};

/// From this size on a file is spliced.
const LARGE_BYTES: usize = 1 << 20;

/// Where the list of a large file ends; none for a small one.
pub(super) fn tail(file: &FaceFile, text: &str) -> Option<Tail> {
    let list = file.list?;
    if text.len() < LARGE_BYTES {
        return None;
    }
    let point = json::append_point(text, &[list.key])?;
    let plain = !point.is_empty && !point.is_inline && !text.contains('\r');
    plain.then_some(Tail {
        at: point.offset as u64,
        indent: point.indent,
    })
}

/// Puts new elements into a large file that is as piton left it; none when it
/// is not, or when something else than new elements is to be shown.
pub(super) fn splice(
    file: &FaceFile,
    keeper: &mut Keeper,
    behind: &Behind,
) -> io::Result<Option<Put>> {
    let (Some(list), Some(tail)) = (file.list, keeper.stamp().tail.clone()) else {
        return Ok(None);
    };
    if keeper.may_be_foreign() {
        return Ok(None);
    }
    let mut insert = String::new();
    for row in &behind.rows {
        match (list.element)(row.shown()) {
            Element::New(node) => push_element(&mut insert, &node, &tail.indent),
            Element::None => {}
            Element::Other => return Ok(None),
        }
    }
    if insert.is_empty() {
        keeper.note(behind.positions.clone())?;
        return Ok(Some(Put::Done));
    }
    keeper
        .splice(&tail, insert.as_bytes(), behind.positions.clone())
        .map(Some)
}

/// An element behind others, each of its lines indented as theirs are.
fn push_element(out: &mut String, node: &Node, indent: &str) {
    // An element stands two levels deep.
    let unit = &indent[..indent.len() / 2];
    out.push(',');
    for line in json::render(node).lines() {
        let own = line.trim_start_matches(' ');
        let levels = (line.len() - own.len()) / 2;
        out.push('\n');
        out.push_str(indent);
        out.extend(std::iter::repeat_n(unit, levels));
        out.push_str(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_takes_the_indentation_of_the_others() {
        let node = Node::map([("a", Node::seq(vec![Node::string("x  y")]))]);
        let mut out = String::new();
        push_element(&mut out, &node, "\t\t");
        assert_eq!(
            out,
            ",\n\t\t{\n\t\t\t\"a\": [\n\t\t\t\t\"x  y\"\n\t\t\t]\n\t\t}"
        );
    }
}
