//! Reading `guardrails.md`.

use std::collections::HashSet;
use std::ops::Range;

use super::{FieldName, GuardrailSign, Guardrails, RuleForm, SignField, lines};
use crate::markdown::{Doc, Heading, LineKind, dedent, indent_columns, parse_marker, to_one_line};
use crate::problem::{Problem, Severity};
use crate::sprint::SourceText;

const REQUIRED: [FieldName; 3] = [
    FieldName::Trigger,
    FieldName::Instruction,
    FieldName::AddedAfter,
];

/// Reads a `guardrails.md`. Problems are warnings.
pub fn parse_guardrails(source: SourceText<'_>) -> (Guardrails, Vec<Problem>) {
    let doc = Doc::new(source.text);
    let (mut signs, covered) = collect_signs(&doc);
    let (plain, unread) = lines::parse_line_rules(&doc, &covered);
    signs.extend(plain);
    signs.sort_by_key(|sign| sign.bytes.start);
    let guardrails = Guardrails { signs, unread };
    let problems = collect_problems(source, &guardrails);
    (guardrails, problems)
}

/// Everything in which a `guardrails.md` is not what the format demands.
pub fn check_guardrails(source: SourceText<'_>) -> Vec<Problem> {
    let (guardrails, mut problems) = parse_guardrails(source);
    let others = guardrails.signs.iter().enumerate();
    let others = others.filter(|(_, sign)| sign.form != RuleForm::Sign);
    problems.extend(others.map(|(at, sign)| {
        let path = format!("signs[{at}]");
        Problem::error("NOT_A_SIGN", source.name, path, sign.span).with_message(
            "this is taken as a rule, and not written as a sign",
            "write `### Sign: NAME` with `- **Trigger**: …` and `- **Instruction**: …` below it",
        )
    }));
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

/// The rules that have headings of their own, and the lines of each.
fn collect_signs(doc: &Doc<'_>) -> (Vec<GuardrailSign>, Vec<Range<usize>>) {
    let mut found = Vec::new();
    let mut covered: Vec<Range<usize>> = Vec::new();
    let mut inside_until = 0;
    let mut above: Vec<Heading> = Vec::new();
    for (index, heading) in doc.headings.iter().enumerate() {
        while above.pop_if(|last| last.level >= heading.level).is_some() {}
        let form_and_name = match sign_name(doc, heading) {
            Some(name) => Some((RuleForm::Sign, name)),
            // What stands in a rule is part of it.
            None if heading.line < inside_until => None,
            None => titled_rule_name(doc, index).map(|name| (RuleForm::Titled, name)),
        };
        if let Some((form, name)) = form_and_name {
            let mut sections = above.iter().rev();
            let section = sections.find(|above| sign_name(doc, above).is_none());
            let section = section.map(|section| doc.heading_text(section).to_owned());
            let lines = heading.line..sign_end(doc, heading);
            found.push(parse_sign(doc, &lines, form, name, section));
            inside_until = inside_until.max(lines.end);
            covered.push(lines);
        }
        above.push(*heading);
    }
    (found, covered)
}

/// The name of a rule whose heading is not that of a sign: fields of one stand
/// below it, or it has a number of its own such as `G1:` or `RULE-7:`.
fn titled_rule_name<'t>(doc: &Doc<'t>, index: usize) -> Option<&'t str> {
    let heading = &doc.headings[index];
    let next = doc.headings.get(index + 1);
    let own = heading.line + 1..next.map_or(doc.line_count(), |next| next.line);
    let names: Vec<(usize, FieldName)> = own
        .clone()
        .filter(|line| doc.kind_of_line(*line) == LineKind::Text)
        .filter_map(|line| Some((line, field_start(doc.line(line), RuleForm::Titled)?.0)))
        .filter_map(|(line, name)| Some((line, FieldName::from_word(name)?)))
        .collect();
    let count = |name: FieldName| names.iter().filter(|(_, one)| *one == name).count();
    let (when, what) = (count(FieldName::Trigger), count(FieldName::Instruction));
    // Several of each are several rules, which no heading tells apart.
    let is_one = heading.level > 1 && when + what > 0 && (when < 2 || what < 2);
    // An item before the first field is a rule of its own.
    let is_first = || {
        let items = doc.list_items(own, |_| false);
        let item = items.first().map(|item| item.lines.start);
        item.is_none_or(|item| names.first().is_some_and(|(line, _)| *line <= item))
    };
    let has_fields = is_one && is_first();
    let text = doc.heading_text(heading);
    let is_last = next.is_none_or(|next| next.level <= heading.level);
    let is_rule = has_fields || (is_last && has_number(text));
    is_rule.then(|| text.trim_end_matches(':').trim_matches('*').trim())
}

/// Whether a heading begins with a number as rules have them.
fn has_number(text: &str) -> bool {
    const WORDS: [&str; 5] = ["sign", "rule", "guardrail", "lesson", "guard"];
    let text = text.trim_start_matches('*');
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, rest) = text.split_at(letters);
    let is_word = !word.is_empty()
        && (word.bytes().all(|byte| byte.is_ascii_uppercase())
            || WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)));
    let rest = rest.trim_start_matches(['-', '_', ' ', '#']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = rest[digits..].trim_start_matches('*');
    is_word
        && (1..=4).contains(&digits)
        && (behind.is_empty() || behind.starts_with([':', '.', ')', ' ', '-', '–', '—']))
}

fn parse_sign(
    doc: &Doc<'_>,
    lines: &Range<usize>,
    form: RuleForm,
    name: &str,
    section: Option<String>,
) -> GuardrailSign {
    let fields = parse_fields(doc, lines.start + 1..lines.end, form);
    let in_resolved = section.as_deref().is_some_and(lines::is_resolved_section);
    let says_resolved = fields
        .iter()
        .any(|field| field.name.eq_ignore_ascii_case("resolved"));
    GuardrailSign {
        form,
        name: to_one_line(&name.replace("\\#", "#")),
        section,
        resolved: in_resolved || says_resolved,
        fields,
        span: doc.line_span(lines.start),
        bytes: doc.line_start(lines.start)..doc.line_range(lines.end - 1).end,
    }
}

/// The line behind the last of a sign: a rule parts it from what follows, and
/// so does the next heading that is not below its own.
fn sign_end(doc: &Doc<'_>, heading: &Heading) -> usize {
    let rule =
        (heading.line + 1..heading.end).find(|line| doc.kind_of_line(*line) == LineKind::Rule);
    let end = rule.unwrap_or(heading.end);
    doc.last_content_line(heading.line..end, |_, _| false)
        .map_or(heading.line + 1, |last| last + 1)
}

/// The name of the field that begins on a line, and where the line goes on.
fn field_start(line: &str, form: RuleForm) -> Option<(&str, usize)> {
    let from = parse_marker(line).map_or(0, |marker| marker.content);
    let words = line[from..].trim_start();
    let at = line.len() - words.len();
    if indent_columns(line) > 1 {
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
    let known = FieldName::from_word(name);
    let is_field = match form {
        RuleForm::Titled => known.is_some(),
        RuleForm::Sign | RuleForm::Line => {
            let is_own = known.is_some_and(|known| known.as_str().eq_ignore_ascii_case(name));
            is_own && from > 0 && at > 0
        }
    };
    is_field.then_some((name, line.len() - rest.len()))
}

fn parse_fields(doc: &Doc<'_>, lines: Range<usize>, form: RuleForm) -> Vec<SignField> {
    let mut found = Vec::new();
    let mut open: Option<FieldStart<'_>> = None;
    for line in lines.clone() {
        if doc.kind_of_line(line) != LineKind::Text {
            continue;
        }
        if let Some((name, column)) = field_start(doc.line(line), form)
            && let Some(before) = open.replace(FieldStart { line, name, column })
        {
            found.push(parse_field(doc, before, line, form));
        }
    }
    if let Some(last) = open {
        found.push(parse_field(doc, last, lines.end, form));
    }
    found
}

/// Where a field begins.
#[derive(Clone, Copy)]
struct FieldStart<'t> {
    line: usize,
    name: &'t str,
    /// The byte of the line behind the name.
    column: usize,
}

/// A field whose lines end at the latest before line `end`. An instruction goes
/// on to the next field, whatever it is made of; others end with their paragraph.
fn parse_field(doc: &Doc<'_>, at: FieldStart<'_>, end: usize, form: RuleForm) -> SignField {
    let FieldStart { line, name, column } = at;
    let is_instruction = name.eq_ignore_ascii_case("instruction")
        || (form == RuleForm::Titled && FieldName::from_word(name) == Some(FieldName::Instruction));
    let ends = |next: &usize| {
        let blank = doc.kind_of_line(*next) == LineKind::Blank;
        let deeper = indent_columns(doc.line(*next)) > 1 || doc.line(*next).trim().is_empty();
        !is_instruction
            && ((blank && !is_continued_after(doc, *next, end)) || is_heading(doc, *next))
            || !is_instruction && !deeper && is_after_blank(doc, *next)
    };
    let behind = (line + 1..end).find(ends).unwrap_or(end);
    let last = doc
        .last_content_line(line..behind, |_, _| false)
        .unwrap_or(line);
    let start = doc.line_start(line) + column;
    let value_end = doc.words_end(last).max(start);
    let raw = &doc.text[start..value_end];
    let lead = raw.len() - raw.trim_start_matches([' ', '\t']).len();
    let value = dedent(&raw[lead..], 2);
    SignField {
        name: name.to_owned(),
        value: crate::markdown::unescape(&value),
        span: doc.line_span(line),
        bytes: start + lead..value_end,
    }
}

fn is_heading(doc: &Doc<'_>, line: usize) -> bool {
    matches!(doc.kind_of_line(line), LineKind::Heading(_))
}

fn is_after_blank(doc: &Doc<'_>, line: usize) -> bool {
    line > 0 && doc.line(line - 1).trim().is_empty()
}

/// Whether the line behind a blank one is indented and so part of the item.
fn is_continued_after(doc: &Doc<'_>, blank: usize, end: usize) -> bool {
    blank + 1 < end
        && (doc.line(blank + 1).trim().is_empty() || indent_columns(doc.line(blank + 1)) > 1)
}

fn collect_problems(source: SourceText<'_>, guardrails: &Guardrails) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    for (at, sign) in guardrails.signs.iter().enumerate() {
        let path = format!("signs[{at}]");
        let warn = |code, message: String, hint: String| {
            Problem::warning(code, source.name, path.clone(), sign.span).with_message(message, hint)
        };
        if sign.name.is_empty() {
            problems.push(warn(
                "SIGN_WITHOUT_NAME",
                "this sign has no name".to_owned(),
                "write `### Sign: NAME`".to_owned(),
            ));
        } else if !sign.resolved && !names.insert(&sign.name) && sign.form != RuleForm::Line {
            problems.push(warn(
                "SIGN_TWICE",
                format!("there is a sign `{}` already", sign.name),
                "give one of them another name".to_owned(),
            ));
        }
        for name in REQUIRED.into_iter().filter(|_| sign.form == RuleForm::Sign) {
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
