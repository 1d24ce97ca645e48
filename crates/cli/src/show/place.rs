//! Where the work of a run is that is not worked on in place.

use piton_engine::shell::quote;
use piton_engine::worktree::WorkPlace;

/// The branch, and what to type to look at it and to land it.
pub(crate) fn lines(place: &WorkPlace) -> Vec<String> {
    let path = place.path.as_ref();
    let at = path.map_or_else(String::new, |path| format!(" in {}", path.display()));
    let mut lines = vec![
        format!("on the branch {}{at}", place.branch),
        format!("see it with `{}` and `{}`", place.log, place.diff),
    ];
    if let (Some(path), Some(first)) = (path, place.uncommitted.first()) {
        let files = match place.uncommitted.len() - 1 {
            0 => first.clone(),
            more => format!("{first} and {more} more"),
        };
        lines.push(format!(
            "not committed there: {files}; commit it with `git -C {} commit`",
            quote(&path.to_string_lossy())
        ));
    }
    if let Some(onto) = place.onto.as_ref().filter(|_| place.merged) {
        lines.push(format!("its commits are merged into {onto}"));
    }
    if let (Some(onto), Some(merge)) = (&place.onto, &place.merge) {
        lines.push(format!("land it on {onto} with `{merge}`"));
    }
    lines
}
