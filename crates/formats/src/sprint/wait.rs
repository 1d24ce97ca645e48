//! What a phase, a step or a sub-phase waits for before it begins (`wait`).

use jiff::Timestamp;
use piton_core::amount::parse_duration;

use super::progress::SprintWait;
use crate::record::{ValuePosition, record};
use crate::report::{MapPosition, ProblemReport, ValuePath, closest_word};
use crate::shape::{NamedShape, Shape, TextShape, closed_map, optional_field, required_field};
use crate::yaml::{Span, ValueNode};

const COMMAND: Shape = Shape::Text(TextShape::NotEmpty);

record! {
    static WAIT: SprintWait {
        command: optional_field("command", COMMAND),
        every: optional_field("every", Shape::TEXT),
        until: optional_field("until", Shape::DATE_TIME),
    }

    fn read_record(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self> {
        parse_wait(node, at)
    }
}

/// A command, with or without a time, or a time alone.
pub(super) static WAIT_SHAPE: NamedShape = NamedShape {
    name: "Wait",
    shape: Shape::Either(&[
        closed_map(&[
            required_field("command", COMMAND).with_about("It begins when this ends with 0"),
            optional_field("every", Shape::TEXT)
                .with_about("How often it is asked: 90s, 45m, 1h30m"),
            optional_field("until", Shape::DATE_TIME).with_about("A person is asked then"),
        ]),
        closed_map(&[required_field("until", Shape::DATE_TIME).with_about("It begins then")]),
    ]),
};

/// A wait of which nothing is missing and nothing is unknown. A slip of the pen would
/// let a step begin at once, or never.
fn parse_wait(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<SprintWait> {
    let Some(map) = node.as_map() else {
        at.report_mistyped(node, "a mapping with `command`, `until` or both");
        return None;
    };
    let mut wait = SprintWait::default();
    let mut is_sound = true;
    let parent = at.place.path.key(&at.key.text);
    let report = &mut *at.report;
    let mut wrong = |span: Span, key: &str, message: String, hint: &str| {
        let path = if key.is_empty() {
            parent
        } else {
            parent.key(key)
        };
        report.error("INVALID_WAIT", path, span, (message, hint));
        is_sound = false;
    };
    for (key, value) in map.iter() {
        let text = value
            .text()
            .filter(|text| !value.is_null() && !text.trim().is_empty());
        let text = text.map(str::to_owned);
        let span = if value.is_null() {
            key.span
        } else {
            value.span
        };
        let name = key.text.as_str();
        let (slot, fits, wanted, hint) = match name {
            "command" => (
                &mut wait.command,
                text.is_some(),
                "a command",
                "write a command that ends with 0 when it may begin",
            ),
            "every" => (
                &mut wait.every,
                text.as_deref()
                    .is_some_and(|text| parse_duration(text).is_ok()),
                "a time such as `90s`, `45m` or `1h30m`",
                "write how often the command is asked, as in `every: 5m`",
            ),
            "until" => (
                &mut wait.until,
                text.as_deref()
                    .is_some_and(|text| text.parse::<Timestamp>().is_ok()),
                "a time of RFC 3339, with its zone",
                "write it as in `until: 2026-11-26T22:00:00Z`",
            ),
            _ => {
                let known: Vec<&str> = WAIT.iter().map(|field| field.key).collect();
                let hint = match closest_word(name, &known) {
                    Some(meant) => format!("write `{meant}`"),
                    None => "a wait has `command`, `every` and `until`".to_owned(),
                };
                wrong(key.span, name, format!("a wait has no key `{name}`"), &hint);
                continue;
            }
        };
        if fits {
            *slot = text;
        } else {
            let message = format!("`{name}` must be {wanted}, not {}", value.describe());
            wrong(span, name, message, hint);
        }
    }
    let has = |key| map.get(key).is_some();
    if !has("command") && !has("until") {
        let hint = "add `command:`, `until:` or both";
        wrong(
            node.span,
            "",
            "it is not said what is waited for".to_owned(),
            hint,
        );
    }
    is_sound.then_some(wait)
}

/// The `wait` of a mapping, and what is wrong with it.
pub(super) fn check_wait(
    place: MapPosition<'_>,
    report: &mut ProblemReport<'_>,
) -> Option<SprintWait> {
    report.field_reader().read_value(place, "wait")
}

/// The `wait` of a mapping that was checked before.
pub(super) fn wait_of_node(node: &ValueNode) -> Option<SprintWait> {
    let map = node.as_map()?;
    let mut report = ProblemReport {
        file: "",
        problems: &mut Vec::new(),
    };
    let path = ValuePath::ROOT;
    check_wait(MapPosition { map, path }, &mut report)
}
