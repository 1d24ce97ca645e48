//! A [`SprintProgress`] as YAML text and as JSON.
//!
//! The order of the keys stands in the tables of [`super::shape`].

use serde::{Serialize, Serializer};

use super::progress::{PhaseNode, SprintProgress};
use crate::record::{AsJson, TableRecord, merge_record, push_yaml};
use crate::yaml;

/// The text of `PROGRESS.yaml`.
pub fn render_progress(progress: &SprintProgress) -> String {
    let mut out = String::with_capacity(4096);
    push_yaml(&mut out, progress, progress.extra(), 0, true);
    out
}

impl Serialize for SprintProgress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AsJson(self).serialize(serializer)
    }
}

impl Serialize for PhaseNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AsJson(self).serialize(serializer)
    }
}

/// The text `present` with what it says brought up to date: what did not
/// change keeps its bytes, and keys that neither piton nor `progress` knows
/// stay wherever they stand. A text that cannot be changed in place is written
/// anew, with such keys where it could be read.
pub fn update_progress(present: &str, progress: SprintProgress) -> String {
    let wanted = {
        let Some(root) = yaml::parse(present).root else {
            return render_progress(&progress);
        };
        merge_record(&progress, progress.extra(), Some(&root))
    };
    // Of a large sprint each of these is as large as all that its run needs.
    drop(progress);
    yaml::patch(present, &wanted).unwrap_or_else(|_| yaml::render(&wanted))
}
