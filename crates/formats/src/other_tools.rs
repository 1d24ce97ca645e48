//! Plans that only the tool can work through that made them: recognised, named, and left
//! alone.

use crate::format::{DocumentRole, Format, UNNAMED, detect_yaml_key};
use crate::native_file::Detection;
use crate::plan_format::{IN_ONE_FILE, PlanClaim, PlanFinding, PlanFormat, PlanRefusal, PlanText};

/// The name of this family.
const FACE: &str = "other-tool";

/// Plans of other tools.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    formats: &[
        Format {
            name: "gsd-2",
            about: "GSD 2, which keeps its plan in a database: work on it with GSD",
            paths: &["STATE.md"],
            folders: Some(&[".gsd"]),
            detect: |text| detect_words(text, "**Active Milestone:**", "no state of GSD 2"),
            ..NAMED
        },
        Format {
            name: "backlog-md",
            about: "Backlog.md, with a file for each task: work on it with `backlog`",
            paths: &["config.yml"],
            folders: Some(&["backlog"]),
            detect: |text| detect_yaml_key(text, "statuses"),
            ..NAMED
        },
    ],
    finding: PlanFinding {
        candidates: &[".gsd/STATE.md", "backlog/config.yml"],
        claim: claim_plan,
        ..IN_ONE_FILE.finding
    },
    ..IN_ONE_FILE
};

const NAMED: Format = Format {
    face: FACE,
    role: DocumentRole::OtherTool,
    ..UNNAMED
};

fn detect_words(text: &str, words: &str, instead: &str) -> Detection {
    match text.contains(words) {
        true => Detection::Ours,
        false => Detection::Foreign(instead.to_owned()),
    }
}

/// A file of these has one name alone: what else begins so is none.
fn claim_plan(text: &PlanText<'_>) -> PlanClaim {
    let is_named = |format: &&Format| {
        format
            .paths
            .iter()
            .any(|end| text.source.name.ends_with(end))
    };
    let is_ours = |format: &&Format| (format.detect)(text.source.text) == Detection::Ours;
    let mut formats = PLAN.formats.iter();
    match formats.find(|format| is_named(format) && is_ours(format)) {
        Some(format) => PlanClaim::Refused(PlanRefusal::new(
            "plan.foreign",
            format!("is a plan of {}", format.about),
            "piton left it alone; `piton add` makes a list of its own",
        )),
        None => PlanClaim::NotOurs,
    }
}
