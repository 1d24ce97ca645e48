//! What a sprint asks for that piton cannot do yet: refused by name, never
//! silently passed over.

use piton_formats::sprint::{PhaseNode, Progress};
use piton_formats::yaml::Node;

use crate::failure::Failure;
use crate::notice::Notice;

/// Whether a sprint asks for it.
type Asks = fn(&Progress) -> bool;

/// What a sprint may ask for that piton cannot do yet, and how to see that it does.
const UNSUPPORTED: &[(&str, Asks)] = &[
    ("worktree", |progress| {
        is_enabled(progress.worktree.as_ref())
    }),
    ("orchestration", |progress| {
        is_enabled(progress.orchestration.as_ref())
    }),
    ("per-iteration-hooks", |progress| {
        let hooks = progress
            .per_iteration_hooks
            .as_ref()
            .and_then(|hooks| hooks.as_seq());
        hooks.is_some_and(|hooks| hooks.iter().any(|hook| is_enabled(Some(hook))))
    }),
];

fn is_enabled(node: Option<&Node>) -> bool {
    node.and_then(|node| node.get("enabled"))
        .and_then(Node::as_bool)
        == Some(true)
}

pub(crate) fn refuse_unsupported(progress: &Progress, ignore: &[String]) -> Result<(), Failure> {
    let missing: Vec<&str> = UNSUPPORTED
        .iter()
        .filter(|(key, asks)| asks(progress) && !ignore.iter().any(|ignored| ignored == key))
        .map(|(key, _)| *key)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let flags: Vec<String> = missing
        .iter()
        .map(|key| format!("--ignore {key}"))
        .collect();
    Err(Failure::new(
        "plan.unsupported",
        format!(
            "the sprint enables what piton does not do yet: {}",
            missing.join(", ")
        ),
    )
    .hint(format!(
        "leave it out of the plan, or run without it: `{}`",
        flags.join(" ")
    )))
}

/// Says what is done one after another although the plan allows more.
pub(super) fn warn_sequential(progress: &Progress, tell: &mut dyn FnMut(Notice<'_>)) {
    let mut keys = Vec::new();
    let mut nodes: Vec<&PhaseNode> = progress.phases.iter().collect();
    while let Some(node) = nodes.pop() {
        keys.extend((node.parallel == Some(true)).then_some("parallel"));
        keys.extend((node.wait_for_parallel == Some(true)).then_some("wait-for-parallel"));
        keys.extend((!node.depends_on.is_empty()).then_some("depends-on"));
        nodes.extend(node.children.as_slice());
    }
    keys.extend(is_enabled(progress.parallel_execution.as_ref()).then_some("parallel-execution"));
    keys.sort_unstable();
    keys.dedup();
    if !keys.is_empty() {
        tell(Notice::Warning(&format!(
            "{}: done one after another, in an order that the dependencies allow",
            keys.join(", ")
        )));
    }
}
