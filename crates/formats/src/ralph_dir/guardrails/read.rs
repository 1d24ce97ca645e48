//! Reading `guardrails.md`.

use std::collections::HashSet;
use std::ops::Range;

use super::{Field, FieldName, Guardrails, Sign};
use crate::markdown::{Doc, Heading, Kind, dedent, indent_of, marker, one_line};
use crate::problem::{Problem, Severity};
use crate::sprint::Source;

const REQUIRED: [FieldName; 3] = [
    FieldName::Trigger,
    FieldName::Instruction,
    FieldName::AddedAfter,
];

/// Reads a `guardrails.md`. Problems are warnings.
pub fn read(source: Source<'_>) -> (Guardrails, Vec<Problem>) {
    let doc = Doc::new(source.text);
    let guardrails = Guardrails { signs: signs(&doc) };
    let problems = problems(source, &guardrails);
    (guardrails, problems)
}

/// Everything in which a `guardrails.md` is not what the format demands.
pub fn check(source: Source<'_>) -> Vec<Problem> {
    let (_, mut problems) = read(source);
    for problem in &mut problems {
        problem.severity = Severity::Error;
    }
    problems
}

pub(super) fn sign_name<'t>(doc: &Doc<'t>, heading: &Heading) -> Option<&'t str> {
    let text = doc.heading_text(heading);
    let start = text.get(..5)?;
    start
        .eq_ignore_ascii_case("sign:")
        .then(|| text[5..].trim())
}

fn signs(doc: &Doc<'_>) -> Vec<Sign> {
    let mut found = Vec::new();
    let mut above: Vec<Heading> = Vec::new();
    for heading in &doc.headings {
        while above.pop_if(|last| last.level >= heading.level).is_some() {}
        if let Some(name) = sign_name(doc, heading) {
            let section = above
                .iter()
                .rev()
                .find(|above| sign_name(doc, above).is_none());
            let section = section.map(|section| doc.heading_text(section).to_owned());
            found.push(sign(doc, heading, name, section));
        }
        above.push(*heading);
    }
    found
}

fn sign(doc: &Doc<'_>, heading: &Heading, name: &str, section: Option<String>) -> Sign {
    let lines = heading.line..end(doc, heading);
    let fields = fields(doc, lines.start + 1..lines.end);
    let in_resolved = section.as_deref().is_some_and(is_resolved_section);
    let says_resolved = fields
        .iter()
        .any(|field| field.name.eq_ignore_ascii_case("resolved"));
    Sign {
        name: one_line(&name.replace("\\#", "#")),
        section,
        resolved: in_resolved || says_resolved,
        fields,
        span: doc.line_span(heading.line),
        bytes: doc.start(lines.start)..doc.range(lines.end - 1).end,
    }
}

pub(super) fn is_resolved_section(title: &str) -> bool {
    title
        .get(..8)
        .is_some_and(|start| start.eq_ignore_ascii_case("resolved"))
}

/// The line behind the last of a sign: a rule parts it from what follows, and
/// so does the next heading that is not below its own.
fn end(doc: &Doc<'_>, heading: &Heading) -> usize {
    let rule = (heading.line + 1..heading.end).find(|line| doc.kind(*line) == Kind::Rule);
    let end = rule.unwrap_or(heading.end);
    doc.tail(heading.line..end, |_, _| false)
        .map_or(heading.line + 1, |last| last + 1)
}

/// The name of the field that begins on a line, and where the line goes on.
fn field_start(line: &str) -> Option<(&str, usize)> {
    let from = marker(line).map_or(0, |marker| marker.content);
    let words = line[from..].trim_start();
    let at = line.len() - words.len();
    if indent_of(line) > 1 {
        return None;
    }
    if let Some(bold) = words.strip_prefix("**") {
        let (name, rest) = bold.split_once("**")?;
        let (name, colon) = match name.strip_suffix(':') {
            Some(name) => (name, 0),
            None => (name, usize::from(rest.starts_with(':'))),
        };
        let is_field = colon == 1 || bold[name.len()..].starts_with(':');
        let behind = line.len() - rest.len() + colon;
        return is_field.then_some((name.trim(), behind));
    }
    let (name, rest) = words.split_once(':')?;
    let known = FieldName::ALL
        .iter()
        .any(|known| known.as_str().eq_ignore_ascii_case(name));
    (known && from > 0 && at > 0).then_some((name, line.len() - rest.len()))
}

fn fields(doc: &Doc<'_>, lines: Range<usize>) -> Vec<Field> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str, usize)> = None;
    for line in lines.clone() {
        if doc.kind(line) != Kind::Text {
            continue;
        }
        if let Some((name, from)) = field_start(doc.line(line))
            && let Some(before) = open.replace((line, name, from))
        {
            found.push(field(doc, before, line));
        }
    }
    if let Some(last) = open {
        found.push(field(doc, last, lines.end));
    }
    found
}

/// A field whose lines end at the latest before line `end`. An instruction goes
/// on to the next field, whatever it is made of; others end with their paragraph.
fn field(doc: &Doc<'_>, (line, name, from): (usize, &str, usize), end: usize) -> Field {
    let is_instruction = name.eq_ignore_ascii_case("instruction");
    let ends = |next: &usize| {
        let blank = doc.kind(*next) == Kind::Blank;
        let deeper = indent_of(doc.line(*next)) > 1 || doc.line(*next).trim().is_empty();
        !is_instruction && ((blank && !goes_on_behind(doc, *next, end)) || heading(doc, *next))
            || !is_instruction && !deeper && after_blank(doc, *next)
    };
    let behind = (line + 1..end).find(ends).unwrap_or(end);
    let last = doc.tail(line..behind, |_, _| false).unwrap_or(line);
    let start = doc.start(line) + from;
    let value_end = doc.words_end(last).max(start);
    let raw = &doc.text[start..value_end];
    let lead = raw.len() - raw.trim_start_matches([' ', '\t']).len();
    let value = dedent(&raw[lead..], 2);
    Field {
        name: name.to_owned(),
        value: crate::markdown::plain(&value),
        span: doc.line_span(line),
        bytes: start + lead..value_end,
    }
}

fn heading(doc: &Doc<'_>, line: usize) -> bool {
    matches!(doc.kind(line), Kind::Heading(_))
}

fn after_blank(doc: &Doc<'_>, line: usize) -> bool {
    line > 0 && doc.line(line - 1).trim().is_empty()
}

/// Whether the line behind a blank one is indented and so part of the item.
fn goes_on_behind(doc: &Doc<'_>, blank: usize, end: usize) -> bool {
    blank + 1 < end && (doc.line(blank + 1).trim().is_empty() || indent_of(doc.line(blank + 1)) > 1)
}

fn problems(source: Source<'_>, guardrails: &Guardrails) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    for (at, sign) in guardrails.signs.iter().enumerate() {
        let path = format!("signs[{at}]");
        let warn = |code, message: String, hint: String| {
            Problem::warning(code, source.name, path.clone(), sign.span).saying(message, hint)
        };
        if sign.name.is_empty() {
            problems.push(warn(
                "SIGN_WITHOUT_NAME",
                "this sign has no name".to_owned(),
                "write `### Sign: NAME`".to_owned(),
            ));
        } else if !sign.resolved && !names.insert(&sign.name) {
            problems.push(warn(
                "SIGN_TWICE",
                format!("there is a sign `{}` already", sign.name),
                "give one of them another name".to_owned(),
            ));
        }
        for name in REQUIRED {
            let said = sign.get(name).is_some_and(|value| !value.is_empty());
            if !said {
                let name = name.as_str();
                problems.push(warn(
                    "MISSING_FIELD",
                    format!("this sign has no `{name}`"),
                    format!("add `- **{name}**: …` below its heading"),
                ));
            }
        }
    }
    problems
}
