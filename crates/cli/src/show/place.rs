//! Where the work of a run is that is not worked on in place.

use piton_engine::worktree::WorkPlace;

/// The branch, and what to type to look at it and to land it.
pub(crate) fn lines(place: &WorkPlace) -> Vec<String> {
    let path = place.path.as_ref();
    let at = path.map_or_else(String::new, |path| format!(" in {}", path.display()));
    let mut lines = vec![
        format!("on the branch {}{at}", place.branch),
        format!("see it with `{}` and `{}`", place.log, place.diff),
    ];
    if let (Some(onto), Some(merge)) = (&place.onto, &place.merge) {
        lines.push(format!("land it on {onto} with `{merge}`"));
    }
    lines
}
