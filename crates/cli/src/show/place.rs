//! Where the work of a run is that is not worked on in place.

use piton_engine::process::shell::quote_word;
use piton_engine::runner::work_place::WorkPlace;
use piton_engine::verbs::clean::CleanedRun;

/// What was taken away of a run.
pub(crate) fn cleanup_lines(cleaned: &CleanedRun) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(removed) = &cleaned.worktree {
        let (path, branch) = (removed.path.display(), &removed.branch);
        lines.push(format!(
            "removed the worktree {path}; its work is on the branch {branch}"
        ));
    }
    let lanes = cleaned.lanes.iter();
    lines.extend(lanes.map(|lane| format!("removed the lane {}", lane.display())));
    let abandoned = cleaned.abandoned.iter();
    lines.extend(abandoned.map(|gone| {
        let commit = gone.commit.as_ref();
        let commit =
            commit.map(|commit| format!("; `git branch NAME {commit}` keeps what was committed"));
        format!(
            "it went with its lane: {}{}",
            gone.what,
            commit.unwrap_or_default()
        )
    }));
    let branch = cleaned.branch.iter().chain(&cleaned.others);
    lines.extend(branch.map(|branch| format!("removed the branch {branch}, which has landed")));
    lines.extend(cleaned.left_out.iter().map(|left| {
        let (item, commit) = (&left.item, &left.commit);
        format!("what was begun on {item} and left out is on no branch: `git branch NAME {commit}` keeps it")
    }));
    lines.extend(cleaned.stays.iter().cloned());
    if lines.is_empty() {
        lines.push("there is no worktree of its own".to_owned());
    }
    lines
}

/// The branch, and what to type to look at it and to land it.
pub(crate) fn work_place_lines(place: &WorkPlace) -> Vec<String> {
    let path = place.path.as_ref();
    let at = path.map_or_else(String::new, |path| format!(" in {}", path.display()));
    let on_branch = format!("on the branch {}{at}", place.branch);
    let mut lines: Vec<String> = Some(on_branch)
        .filter(|_| !place.branch_removed)
        .into_iter()
        .collect();
    lines.push(format!("see it with `{}` and `{}`", place.log, place.diff));
    if let (Some(path), Some(first)) = (path, place.uncommitted.first()) {
        let files = match place.uncommitted.len() - 1 {
            0 => first.clone(),
            more => format!("{first} and {more} more"),
        };
        lines.push(format!(
            "not committed there: {files}; commit it with `git -C {} commit`",
            quote_word(&path.to_string_lossy())
        ));
    }
    if let (Some(onto), Some(commit)) = (&place.onto, &place.landed) {
        let commit = commit.get(..12).unwrap_or(commit);
        lines.push(format!("landed on {onto}, at {commit}"));
    } else if let Some(onto) = place.onto.as_ref().filter(|_| place.merged) {
        lines.push(format!("its commits are merged into {onto}"));
    }
    if let (Some(onto), Some(merge)) = (&place.onto, &place.merge) {
        lines.push(format!("land it on {onto} with `{merge}`"));
    }
    for other in &place.others {
        lines.push(format!(
            "in {}: on the branch {}; see it with `{}`",
            other.repository, other.branch, other.log
        ));
    }
    let unseen = place.others_unseen.as_ref();
    lines.extend(unseen.map(|why| format!("of other repositories nothing is known: {why}")));
    lines
}
