//! What a phase, a step or a sub-phase waits for before it begins (`wait`).

use jiff::Timestamp;
use piton_core::amount::{parse_duration, typed};

use super::import::show_time;
use super::native::NodeRest;
use super::progress::Wait;
use crate::record::{At, record};
use crate::report::{Path, Report, closest};
use crate::shape::{Named, Shape, Text, closed, may, must};
use crate::tolerant::Place;
use crate::yaml::{Node, Span};

const COMMAND: Shape = Shape::Text(Text::NotEmpty);

record! {
    static WAIT: Wait {
        command: may("command", COMMAND),
        every: may("every", Shape::TEXT),
        until: may("until", Shape::DATE_TIME),
    }

    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
        read_wait(node, at)
    }
}

/// A command, with or without a time, or a time alone.
pub(super) static WAIT_SHAPE: Named = Named {
    name: "Wait",
    shape: Shape::Either(&[
        closed(&[
            must("command", COMMAND).about("It begins when this ends with 0"),
            may("every", Shape::TEXT).about("How often it is asked: 90s, 45m, 1h30m"),
            may("until", Shape::DATE_TIME).about("A person is asked then"),
        ]),
        closed(&[must("until", Shape::DATE_TIME).about("It begins then")]),
    ]),
};

/// A wait of which nothing is missing and nothing is unknown. A slip of the pen would
/// let a step begin at once, or never.
fn read_wait(node: &Node, at: &mut At<'_, '_>) -> Option<Wait> {
    let Some(map) = node.as_map() else {
        at.mistyped(node, "a mapping with `command`, `until` or both");
        return None;
    };
    let mut wait = Wait::default();
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
                let hint = match closest(name, &known) {
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
pub(super) fn read_in(place: Place<'_>, report: &mut Report<'_>) -> Option<Wait> {
    report.reader().get(place, "wait")
}

/// The `wait` of a mapping that was checked before.
pub(super) fn wait_of(node: &Node) -> Option<Wait> {
    let map = node.as_map()?;
    let mut report = Report {
        file: "",
        problems: &mut Vec::new(),
    };
    let path = Path::ROOT;
    read_in(Place { map, path }, &mut report)
}

/// A wait as the core knows it.
pub(super) fn imported(wait: &Wait) -> piton_core::wait::Wait {
    piton_core::wait::Wait {
        command: wait.command.clone(),
        every_s: wait.every.as_deref().and_then(every_s),
        until: wait.until.as_deref().and_then(until),
    }
}

/// The same as the file has it: in the words in which it was written, where they still
/// say the same.
pub(super) fn exported(wait: &piton_core::wait::Wait, rest: &NodeRest) -> Wait {
    let kept_every = rest.wait_every.clone();
    let kept_every = kept_every.filter(|text| every_s(text) == wait.every_s);
    let kept_until = rest.wait_until.clone();
    let kept_until = kept_until.filter(|text| until(text) == wait.until);
    Wait {
        command: wait.command.clone(),
        every: kept_every.or_else(|| wait.every_s.map(typed)),
        until: kept_until.or_else(|| wait.until.map(show_time)),
    }
}

/// Durations and times as they were written, where piton would write them otherwise.
pub(super) fn kept_words(wait: &Wait) -> (Option<String>, Option<String>) {
    let own = exported(&imported(wait), &NodeRest::default());
    let every = wait.every.clone().filter(|_| wait.every != own.every);
    let until = wait.until.clone().filter(|_| wait.until != own.until);
    (every, until)
}

fn every_s(text: &str) -> Option<u64> {
    parse_duration(text).ok()
}

fn until(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
