//! The format in the registry.

use serde::Deserialize;

use super::{FACE, FEATURES_SHAPE, Layout, USER_STORIES_SHAPE, convert, criteria_in_prompt};
use super::{detect, edits, import, read, show};
use crate::face::Detected;
use crate::format::{ANYWHERE, Format, Role, Strict, UNNAMED};
use crate::merge::rules::{Merge, Settled};
use crate::plan_file::About;
use crate::plan_format::{
    Claim, IN_ONE_FILE, ItemUnit, PlanFormat, PlanKind, PlanRefusal, PlanText, Stateless,
    Templates, sound,
};
use crate::problem::Source;

/// Lists of requirements.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    kind: PlanKind::List,
    unit: ItemUnit {
        one: "story",
        many: "stories",
    },
    formats: &[
        Format {
            name: "prd-features",
            about: "a list of features",
            detect: |text| detected(text, |layout| *layout == Layout::Features),
            strict: Strict::Json(&FEATURES_SHAPE, "prd"),
            ..LIST
        },
        Format {
            name: "prd-user-stories",
            about: "a list of user stories",
            detect: |text| {
                detected(text, |layout| {
                    matches!(layout, Layout::UserStories | Layout::Requirements(_))
                })
            },
            strict: Strict::Json(&USER_STORIES_SHAPE, "prd"),
            ..LIST
        },
    ],
    example: Some("a prd.json"),
    candidates: &["prd.json", ".ralph/prd.json"],
    claim,
    read: |source, of| {
        let (list, problems) = read(source);
        let name = of.name.or_own(None);
        let plan = list.map(|list| import(&list, of.run, &name, of.source));
        sound((plan, problems))
    },
    identity: |source| Some(read(source).0?.identity()),
    without_items: (
        "lists nothing to do",
        "a list without items is never complete: add what is to be done",
    ),
    document: |_, run| {
        Box::new(Stateless {
            run,
            show: |present, tables, run, _| {
                // What people wrote cannot be made anew.
                let shown = present.map(|present| show(present, tables, run));
                shown.transpose()
            },
            edits,
        })
    },
    about: |source, _| about(source),
    templates: |_, source| Templates {
        header: Some(format!("# The list in {source}: {{{{node}}}}")),
        position: Some(
            "You work on item {{phase.index}} of {{phase.total}}. Attempt {{attempt}}.".to_owned(),
        ),
        files: Some(format!(
            "Leave `.piton/` alone, and `passes` in {source} as it stands: piton sets it when there is evidence that the item is done."
        )),
        ..Templates::default()
    },
    companions: &["ralph-json"],
    conversions: convert::CONVERSIONS,
    criteria_in_prompt,
    keeps_what_was_refused: true,
    ..IN_ONE_FILE
};

static MERGE: Merge = Merge {
    settled: &[("passes", Settled::Mark)],
    ..Merge::JSON
};

const LIST: Format = Format {
    face: FACE,
    paths: &["prd.json"],
    folders: ANYWHERE,
    role: Role::Plan,
    read: |source| read(source).1,
    merge: Some(&MERGE),
    ..UNNAMED
};

fn detected(text: &str, is_ours: fn(&Layout) -> bool) -> Detected {
    let layout = detect(text);
    if is_ours(&layout) {
        return Detected::Ours;
    }
    match layout {
        Layout::Empty => Detected::Empty,
        Layout::Unreadable => Detected::Unreadable,
        layout @ (Layout::Features
        | Layout::UserStories
        | Layout::Requirements(_)
        | Layout::Single
        | Layout::Foreign(_)) => Detected::Foreign(layout.describe()),
    }
}

fn claim(text: &PlanText<'_>) -> Claim {
    if !text.is_json() {
        return Claim::NotOurs;
    }
    match detect(text.source.text) {
        Layout::Features | Layout::UserStories | Layout::Requirements(_) => Claim::Plan,
        Layout::Empty => Claim::Refused(PlanRefusal::new(
            "plan.unreadable",
            "is empty",
            "name the list that you mean",
        )),
        Layout::Unreadable => Claim::Refused(PlanRefusal {
            problems: Some(read(text.source).1),
            ..PlanRefusal::new(
                "plan.unreadable",
                "is not readable JSON; nothing was changed",
                "mend the file, then run again",
            )
        }),
        layout @ Layout::Single => Claim::Refused(PlanRefusal::foreign(&layout.describe())),
        layout @ Layout::Foreign(_) => Claim::Unknown(PlanRefusal::foreign(&layout.describe())),
    }
}

/// What stands in a list beside its items.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    project: Option<String>,
    description: Option<String>,
}

/// It is read before each attempt: of plain JSON the items, of which there may be
/// thousands, are passed over.
fn head(source: Source<'_>) -> Head {
    serde_json::from_str(source.text).unwrap_or_else(|_| {
        let list = read(source).0;
        list.map_or_else(Head::default, |list| Head {
            project: list.project,
            description: list.description,
        })
    })
}

fn about(source: Source<'_>) -> About {
    let Head {
        project,
        description,
    } = head(source);
    let texts = [project, description].into_iter().flatten();
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    About {
        whole: (!texts.is_empty()).then(|| texts.join("\n\n")),
        details: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_the_items_is_read_of_every_list() {
        const ITEMS: &str = r#""userStories": [{"id": "a", "title": "b", "project": "no"}]"#;
        for (text, whole) in [
            (
                format!(r#"{{"project": "p", {ITEMS}, "description": "d"}}"#),
                Some("p\n\nd"),
            ),
            // What is not plain JSON, or fits no head.
            (
                format!("\u{feff}{{\"project\": \"p\", {ITEMS}}}"),
                Some("p"),
            ),
            (
                format!(r#"{{"project": 5, "description": "d", {ITEMS}}}"#),
                Some("5\n\nd"),
            ),
            (format!(r#"{{"description": " ", {ITEMS}}}"#), None),
            ("[{\"id\": \"a\", \"project\": \"no\"}]".to_owned(), None),
        ] {
            let name = "prd.json";
            let said = about(Source { name, text: &text });
            assert_eq!(said.whole.as_deref(), whole, "{text}");
        }
    }
}
