//! Changing `guardrails.md`.

use std::collections::HashSet;

use super::lines::is_resolved_section;
use super::read::parse_guardrails;
use super::{FieldName, GuardrailSign, Guardrails, NewSign, RuleForm};
use crate::ends::{TextEnds, WINDOW_BYTES};
use crate::markdown::{
    Doc, EditError, Heading, confirm_edit, indent_lines, insert_at, newline_of, parse_marker,
    replace_range, to_one_line, with_newline,
};
use crate::sprint::SourceText;

/// What a new file begins and ends with.
const HEAD: &str = "# Guardrails (Signs)\n\nLessons learned from previous iterations. \
     Read this FIRST before starting work.\n\n## Active Guardrails\n";
const FOOT: &str = "\n## Resolved Guardrails\n\n\
     <!-- Move guardrails here when the underlying issue is permanently fixed -->\n";

fn parse(text: &str) -> Guardrails {
    parse_guardrails(SourceText { name: "", text }).0
}

fn heading_words(name: &str) -> String {
    let name = to_one_line(name);
    match name.strip_suffix('#') {
        Some(rest) => format!("{rest}\\#"),
        None => name,
    }
}

/// Signs at the end of `## Active Guardrails` or `## Learned Signs`, none of which
/// holds already; where there is neither, a section is made for them. A file without
/// text gets the head of a new one.
///
/// # Errors
///
/// [`EditError::NotReadBack`] when the file would not say so afterwards.
pub fn add_signs(text: &str, signs: &[NewSign]) -> Result<String, EditError> {
    if signs.is_empty() {
        return Ok(text.to_owned());
    }
    let blocks: Vec<String> = signs.iter().map(render_sign).collect();
    let out = add_block(text, &blocks.join("\n\n"));
    let after = parse(&out);
    let holding: HashSet<&str> = after
        .signs
        .iter()
        .filter(|sign| !sign.resolved)
        .map(|sign| sign.name.as_str())
        .collect();
    let lost = signs
        .iter()
        .map(|sign| to_one_line(&sign.name))
        .find(|name| !holding.contains(name.as_str()));
    match lost {
        Some(name) => Err(EditError::not_read_back("sign", name)),
        None if after.signs.len() == parse(text).signs.len() + signs.len() => Ok(out),
        None => Err(EditError::not_read_back("signs", signs.len().to_string())),
    }
}

fn add_block(text: &str, block: &str) -> String {
    if crate::document::is_blank(text) {
        let file = format!("{HEAD}\n{block}\n{FOOT}");
        return format!("{text}{}", with_newline(&file, newline_of(text)));
    }
    let doc = Doc::new(text);
    match open_section(&doc) {
        Some(section) => append_to_section(&doc, &section, block),
        None => insert_at(
            text,
            offset_before_resolved(&doc),
            &new_section(&doc, block),
        ),
    }
}

fn render_sign(sign: &NewSign) -> String {
    let mut out = format!("### Sign: {}", heading_words(&sign.name));
    let fields = [
        (FieldName::Trigger, Some(&sign.trigger)),
        (FieldName::Instruction, Some(&sign.instruction)),
        (FieldName::Evidence, sign.evidence.as_ref()),
        (FieldName::AddedAfter, Some(&sign.added_after)),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            out.push_str(&format!("\n- **{}**:{}", name.as_str(), value_words(value)));
        }
    }
    out
}

/// A value behind its name. One that begins with code begins on its own line.
fn value_words(value: &str) -> String {
    let value = value.trim();
    let fenced = ["```", "~~~"].iter().any(|fence| value.starts_with(fence));
    if fenced {
        return indent_lines(&format!("\n{value}"), 2);
    }
    let words = indent_lines(value, 2);
    format!(" {words}").trim_end().to_owned()
}

/// Where new signs go.
fn open_section(doc: &Doc<'_>) -> Option<Heading> {
    let titled = |title: &str| {
        doc.headings.iter().find(|heading| {
            heading.level <= 2 && doc.heading_text(heading).eq_ignore_ascii_case(title)
        })
    };
    titled("Active Guardrails")
        .or_else(|| titled("Learned Signs"))
        .copied()
}

/// Up to the section that new signs go to, and its last signs with all that follows.
pub(in crate::ralph_dir) fn find_ends(text: &str) -> Option<TextEnds> {
    let doc = Doc::new(text);
    let section = open_section(&doc)?;
    let lines = section.line + 1..section.end;
    let end = doc.line_start(section.end);
    let signs = doc.headings.iter().rev();
    let mut signs = signs.filter(|heading| lines.contains(&heading.line));
    let first = signs.find(|heading| end - doc.line_start(heading.line) >= WINDOW_BYTES)?;
    TextEnds {
        head: doc.line_start(lines.start),
        tail: doc.line_start(first.line),
        first: doc.line_range(first.line).len(),
        open: Vec::new(),
    }
    .if_useful(text)
}

fn resolved_section(doc: &Doc<'_>) -> Option<Heading> {
    doc.headings
        .iter()
        .find(|heading| heading.level <= 2 && is_resolved_section(doc.heading_text(heading)))
        .copied()
}

fn append_to_section(doc: &Doc<'_>, section: &Heading, block: &str) -> String {
    let line = doc
        .last_content_line(section.line..section.end, |_, _| false)
        .unwrap_or(section.line);
    insert_at(doc.text, doc.words_end(line), &format!("\n\n{block}"))
}

/// Where a new section for signs that hold belongs: before the resolved ones.
fn offset_before_resolved(doc: &Doc<'_>) -> usize {
    resolved_section(doc).map_or(doc.text.len(), |section| doc.line_start(section.line))
}

fn new_section(doc: &Doc<'_>, block: &str) -> String {
    let section = format!("## Active Guardrails\n\n{block}\n");
    if resolved_section(doc).is_some() {
        return format!("{section}\n");
    }
    format!("{}{section}", gap_before_heading(doc.text))
}

/// What parts the end of a text from a heading put behind it.
fn gap_before_heading(text: &str) -> &'static str {
    if text.ends_with('\n') { "\n" } else { "\n\n" }
}

/// Moves a sign, byte for byte, to `## Resolved Guardrails`, with a line that
/// says when and why.
///
/// # Errors
///
/// [`EditError::Missing`] when no sign of this name holds;
/// [`EditError::NotReadBack`] when the file would not say so afterwards.
pub fn resolve_sign(text: &str, name: &str, reason: &str, date: &str) -> Result<String, EditError> {
    let before = parse(text);
    let sign = before
        .find_sign(name)
        .filter(|sign| !sign.resolved)
        .ok_or_else(|| EditError::missing("sign", name))?;
    let why = format!("{} - {}", to_one_line(date), to_one_line(reason));
    let why = why.trim_end_matches(['-', ' ']);
    let block = &text[sign.bytes.clone()];
    let newline = newline_of(text);
    let is_line = sign.form == RuleForm::Line;
    let block = match sign.fields.first() {
        Some(words) if is_line => resolved_line(text, sign, words.bytes.end, why),
        Some(_) | None => format!("{block}{newline}- **Resolved**: {why}"),
    };
    let rest = remove_sign(text, sign);
    let doc = Doc::new(&rest);
    // The sign's own bytes must not be touched, so line ends are made here.
    let (at, lead, trail) = match resolved_section(&doc) {
        Some(section) => {
            // Below a sign, a line would be a part of it.
            let below = doc.headings.iter().find(|next| next.line > section.line);
            let next = below.map_or(section.end, |next| next.line);
            let end = if is_line { next } else { section.end };
            let line = doc
                .last_content_line(section.line..end, |_, _| false)
                .unwrap_or(section.line);
            (doc.words_end(line), "\n\n".to_owned(), "")
        }
        None => {
            let lead = format!("{}## Resolved Guardrails\n\n", gap_before_heading(&rest));
            (rest.len(), lead, newline)
        }
    };
    let lead = with_newline(&lead, newline);
    let out = replace_range(&rest, at..at, &format!("{lead}{block}{trail}"));
    let after = parse(&out);
    let holds = |all: &Guardrails| all.signs.iter().filter(|sign| !sign.resolved).count();
    let is_said = after.signs.len() == before.signs.len() && holds(&after) + 1 == holds(&before);
    confirm_edit(is_said, out, "sign", name)
}

/// A rule that is a line, as an item of a list that says why it was resolved.
fn resolved_line(text: &str, sign: &GuardrailSign, words_end: usize, why: &str) -> String {
    let block = &text[sign.bytes.clone()];
    let mark = match parse_marker(block.lines().next().unwrap_or_default()) {
        Some(_) => "",
        None => "- ",
    };
    let at = words_end - sign.bytes.start;
    let (words, below) = block.split_at(at);
    format!("{mark}{} (resolved {why}){below}", words.trim_end())
}

/// The text without a sign and without the blank lines that parted it from
/// what follows.
fn remove_sign(text: &str, sign: &GuardrailSign) -> String {
    let rest = &text[sign.bytes.end..];
    let mut end = sign.bytes.end;
    for line in rest.split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    replace_range(text, sign.bytes.start..end, "")
}

/// Exchanges what one field of a sign says, or adds the field behind the others.
///
/// # Errors
///
/// [`EditError::Missing`] when there is no sign of this name;
/// [`EditError::NotReadBack`] when the file would not say so afterwards.
pub fn set_sign_field(
    text: &str,
    name: &str,
    field: FieldName,
    value: &str,
) -> Result<String, EditError> {
    let before = parse(text);
    let sign = before
        .find_sign(name)
        .ok_or_else(|| EditError::missing("sign", name))?;
    // A line has no place but for its words.
    let is_line = sign.form == RuleForm::Line;
    if is_line && field != FieldName::Instruction {
        return Ok(text.to_owned());
    }
    let words = if is_line {
        to_one_line(value)
    } else {
        value_words(value)
    };
    let newline = newline_of(text);
    let out = match sign.find_field(field) {
        Some(have) => {
            let blank = text[..have.bytes.start].ends_with([' ', '\t']);
            let words = words.strip_prefix(' ').filter(|_| blank).unwrap_or(&words);
            replace_range(text, have.bytes.clone(), &with_newline(words, newline))
        }
        None => {
            let end = sign
                .fields
                .last()
                .map_or_else(|| heading_end(text, sign), |last| last.bytes.end);
            insert_at(text, end, &format!("\n- **{}**:{words}", field.as_str()))
        }
    };
    let after = parse(&out);
    let said = after.signs.len() == before.signs.len()
        && after
            .find_sign(name)
            .is_some_and(|sign| sign.get(field).is_some());
    confirm_edit(said, out, "sign", name)
}

fn heading_end(text: &str, sign: &GuardrailSign) -> usize {
    let bytes = &text[sign.bytes.clone()];
    let line = bytes.lines().next().unwrap_or_default();
    sign.bytes.start + line.trim_end().len()
}
