//! Which document a file named `PROGRESS.yaml` really is.

use crate::yaml::{self, ValueNode};

/// A document that stands, or may stand, under the name `PROGRESS.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SprintLayout {
    /// The one that piton reads and writes.
    Current,
    /// The first one, of January 2026: a queue of tasks.
    TaskQueue,
    /// The second one: a goal, and steps found on the way.
    GoalDriven,
    /// Some other tool's, with the first of its keys.
    Foreign(Vec<String>),
    /// Nothing but blanks and comments.
    Empty,
    /// Not YAML, or not one document.
    Unreadable,
}

impl SprintLayout {
    /// A sentence that says what the document is.
    pub fn describe(&self) -> String {
        match self {
            Self::Current => "the progress of a sprint".to_owned(),
            Self::TaskQueue => {
                "the progress of a sprint in its first layout, a queue of tasks (`queue`, `completed`, `current-task`), which nothing has written since January 2026"
                    .to_owned()
            }
            Self::GoalDriven => {
                "the progress of a goal-driven sprint (`mode: ralph`), a kind that no longer exists"
                    .to_owned()
            }
            Self::Foreign(keys) => format!(
                "a document of another tool, not the progress of a sprint: it begins with {}",
                keys.iter()
                    .map(|key| format!("`{key}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Self::Empty => "an empty file".to_owned(),
            Self::Unreadable => "not a YAML document".to_owned(),
        }
    }
}

/// Tells which document `text` is, by its content.
pub fn detect_layout(text: &str) -> SprintLayout {
    let parsed = yaml::parse(text);
    match parsed.root {
        None if parsed.faults.is_empty() => SprintLayout::Empty,
        None => SprintLayout::Unreadable,
        // Half a document may look like anything.
        Some(root) => {
            let layout = layout_of_root(&root);
            let is_foreign = matches!(layout, SprintLayout::Foreign(_));
            if is_foreign && !parsed.faults.is_empty() {
                SprintLayout::Unreadable
            } else {
                layout
            }
        }
    }
}

/// Tells which document this is.
pub(super) fn layout_of_root(root: &ValueNode) -> SprintLayout {
    const KEYS_SHOWN: usize = 3;
    if root.is_null() {
        return SprintLayout::Empty;
    }
    let Some(map) = root.as_map() else {
        return SprintLayout::Foreign(vec![root.describe()]);
    };
    let has = |key: &str| map.get(key).is_some();
    if map.get("mode").and_then(ValueNode::as_str) == Some("ralph")
        || has("ralph")
        || has("ralph-exit")
    {
        return SprintLayout::GoalDriven;
    }
    if !has("phases") && has("queue") && (has("completed") || has("current-task")) {
        return SprintLayout::TaskQueue;
    }
    let is_ours = (has("sprint-id") && (has("phases") || has("current") || has("stats")))
        || (has("phases") && has("current") && has("stats"));
    if is_ours {
        return SprintLayout::Current;
    }
    SprintLayout::Foreign(
        map.iter()
            .take(KEYS_SHOWN)
            .map(|(key, _)| key.text.clone())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layout_is_told_by_its_content() {
        let cases = [
            ("sprint-id: a\nphases: []\n", SprintLayout::Current),
            (
                "sprint-id: a\ncurrent-task: null\nqueue: []\ncompleted: []\n",
                SprintLayout::TaskQueue,
            ),
            (
                "sprint-id: a\nmode: ralph\ngoal: x\n",
                SprintLayout::GoalDriven,
            ),
            (
                "current_phase: 1\nblockers: []\n",
                SprintLayout::Foreign(vec!["current_phase".to_owned(), "blockers".to_owned()]),
            ),
            ("# nothing\n", SprintLayout::Empty),
            ("a: [\n", SprintLayout::Unreadable),
            ("\tsprint-id: a\n", SprintLayout::Unreadable),
        ];
        for (text, layout) in cases {
            assert_eq!(detect_layout(text), layout, "{text}");
        }
    }
}
