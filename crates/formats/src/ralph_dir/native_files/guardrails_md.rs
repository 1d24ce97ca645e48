//! `guardrails.md` as a face: what to do instead of what went wrong.
//!
//! A sign is a guardrail of the memory, known by its name. Its instruction is
//! the content, its trigger the context. A rule that is a plain line is known by
//! its words, and its heading is the context; piton never writes one anew.

use std::collections::{HashMap, HashSet};

use piton_core::command::ImportedRecord;
use piton_core::memory::{Memory, MemoryKind, MemoryRow};
use piton_core::native::Native;

use super::FACE;
use crate::adoption::{AdoptionCount, CountedKind, SkippedEntry};
use crate::markdown::{EditError, to_one_line};
use crate::native_file::{FileContents, FileContext, RenderError, ShownRow};
use crate::project_format::UnreadText;
use crate::ralph_dir::SourceText;
use crate::ralph_dir::guardrails::{
    self, FieldName, GuardrailSign, Guardrails, NewSign, RuleForm, add_signs, is_specific_heading,
    resolve_sign, set_sign_field,
};

/// The signs that `base` does not have in the same words, those that are
/// resolved as retired, and those that only `base` has as removed. Of several of
/// one name it is the one that holds.
#[must_use]
pub fn import_changes(text: &str, base: Option<&str>, about: &FileContext<'_>) -> FileContents {
    let name = about.file;
    let (all, problems) = guardrails::parse_guardrails(SourceText { name, text });
    let base = base.unwrap_or_default();
    let before = parse_text(base);
    let known = signs_by_name(&before);
    let mut given = HashSet::new();
    let signs = signs_by_name(&all);
    let gone = before.signs.iter().filter(|sign| {
        let is_there = signs.contains_key(sign.name.as_str());
        !sign.name.is_empty() && !sign.resolved && !is_there
    });
    let gone = gone.map(|sign| ImportedRecord::Removed(Box::new(memory_of_sign(base, sign))));
    let found = all
        .signs
        .iter()
        .filter(|sign| !sign.name.is_empty() && given.insert(sign.name.as_str()))
        .filter_map(|sign| signs.get(sign.name.as_str()).copied())
        .map(|sign| (sign, memory_of_sign(text, sign)))
        .filter(|(sign, memory)| {
            let known = known.get(sign.name.as_str());
            known.is_none_or(|have| {
                have.resolved != sign.resolved || memory_of_sign(base, have) != *memory
            })
        })
        .map(|(sign, memory)| {
            let memory = Box::new(memory);
            if sign.resolved {
                ImportedRecord::Retired(memory)
            } else {
                ImportedRecord::Memory(memory)
            }
        })
        .chain(gone)
        .collect();
    FileContents { found, problems }
}

/// The rules that are taken, and what may be one and is not.
#[must_use]
pub fn collect_counts(source: SourceText<'_>) -> Vec<AdoptionCount> {
    let (all, _) = guardrails::parse_guardrails(source);
    let taken = signs_by_name(&all)
        .into_keys()
        .filter(|name| !name.is_empty());
    let displaced = displaced_signs(source.text, &all);
    let left = merge_unread(source.text, &all, displaced);
    let left = left
        .iter()
        .map(|unread| SkippedEntry::new(unread.line, &unread.text));
    let count = AdoptionCount::new(CountedKind::Rules, taken.count(), left);
    vec![count.with_hint("agents are told them as they stand; piton takes `### Sign: NAME` with Trigger and Instruction, each NAME once, and one line each")]
}

/// What may be rules that hold, and is not taken; of a text that cannot be read at
/// all, everything.
#[must_use]
pub fn unread_rules(text: &str) -> Vec<UnreadText> {
    if crate::conflict::find_unresolved_merge(SourceText { name: "", text }).is_some() {
        let text = text.to_owned();
        return vec![UnreadText { line: 1, text }];
    }
    let all = parse_text(text);
    let displaced = displaced_signs(text, &all).filter(|sign| !sign.resolved);
    merge_unread(text, &all, displaced)
}

/// The signs that are not taken: those without a name, and those that say something
/// else than the one that is taken under their name.
fn displaced_signs<'g>(
    text: &'g str,
    all: &'g Guardrails,
) -> impl Iterator<Item = &'g GuardrailSign> {
    let taken = signs_by_name(all);
    all.signs.iter().filter(move |sign| {
        let own = taken.get(sign.name.as_str());
        let own = own.filter(|_| !sign.name.is_empty());
        own.is_none_or(|own| memory_of_sign(text, own) != memory_of_sign(text, sign))
    })
}

/// What cannot be read as rules and some signs, in the order of the file.
fn merge_unread<'g>(
    text: &str,
    all: &Guardrails,
    signs: impl Iterator<Item = &'g GuardrailSign>,
) -> Vec<UnreadText> {
    let signs = signs.map(|sign| UnreadText {
        line: sign.span.line,
        text: text.get(sign.bytes.clone()).unwrap_or_default().to_owned(),
    });
    let mut left: Vec<UnreadText> = all.unread.iter().cloned().chain(signs).collect();
    left.sort_by_key(|unread| unread.line);
    left
}

fn parse_text(text: &str) -> Guardrails {
    guardrails::parse_guardrails(SourceText { name: "", text }).0
}

/// The sign of each name: one that holds before one that is resolved.
fn signs_by_name(all: &Guardrails) -> HashMap<&str, &GuardrailSign> {
    let mut signs: HashMap<&str, &GuardrailSign> = HashMap::new();
    for sign in &all.signs {
        let have = signs.entry(sign.name.as_str()).or_insert(sign);
        if have.resolved && !sign.resolved {
            *have = sign;
        }
    }
    signs
}

fn memory_of_sign(text: &str, sign: &GuardrailSign) -> Memory {
    let said = |name| {
        let words = sign.get(name).map(trim_lines);
        words.filter(|words| !words.is_empty())
    };
    let is_line = sign.form == RuleForm::Line;
    let section = sign
        .section
        .clone()
        .filter(|section| is_specific_heading(section));
    Memory {
        title: Some(sign.name.clone()),
        context: said(FieldName::Trigger).or(section.filter(|_| is_line && !sign.resolved)),
        evidence: said(FieldName::Evidence),
        added_after: said(FieldName::AddedAfter),
        native: Some(Native {
            face: FACE.to_owned(),
            version: 1,
            body: if is_line { LINE } else { "{}" }.to_owned(),
        }),
        ..Memory::new(MemoryKind::Guardrail, instruction_of_sign(text, sign))
    }
}

/// What is kept of a rule that is a plain line.
const LINE: &str = r#"{"line":true}"#;

/// What a sign says to do. One that has no such field says it in free words, or
/// in its heading alone.
fn instruction_of_sign(text: &str, sign: &GuardrailSign) -> String {
    if let Some(words) = sign.get(FieldName::Instruction) {
        return trim_lines(words);
    }
    let resolved = FieldName::Resolved.as_str();
    let end = sign
        .fields
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case(resolved))
        .map_or(sign.bytes.end, |field| field.span.start);
    let body = text.get(sign.bytes.start..end).unwrap_or_default();
    let words = trim_lines(body.split_once('\n').map_or("", |(_, below)| below));
    match sign.form {
        RuleForm::Titled if words.is_empty() => sign.name.clone(),
        RuleForm::Titled | RuleForm::Sign | RuleForm::Line => words,
    }
}

/// Words as a file keeps them: without blanks where lines end, and around them.
fn trim_lines(words: &str) -> String {
    let lines: Vec<&str> = words.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

/// The text with a sign for each guardrail that is followed. One that is
/// retired moves to those that are resolved, if it is there; one that says
/// something else than the journal is changed.
///
/// A guardrail without a title cannot be a sign: nothing would tell on the next
/// reading which one it is.
///
/// # Errors
///
/// When the text would not say so afterwards, as behind a code fence that is
/// never closed. The file stays as it is then.
pub fn render_rows(
    text: Option<&str>,
    rows: &[ShownRow<'_>],
    _about: &FileContext<'_>,
) -> Result<String, RenderError> {
    render_signs(text.unwrap_or_default(), rows).map_err(|error| RenderError(error.to_string()))
}

/// Whether a row is a guardrail.
#[must_use]
pub fn is_guardrail(row: &ShownRow<'_>) -> bool {
    matches!(row, ShownRow::Memory(row) if row.memory.kind == MemoryKind::Guardrail)
}

fn render_signs(text: &str, rows: &[ShownRow<'_>]) -> Result<String, EditError> {
    let titled = || {
        rows.iter().filter_map(|row| match row {
            ShownRow::Memory(row) if row.memory.kind == MemoryKind::Guardrail => {
                let name = to_one_line(row.memory.title.as_deref()?);
                (!name.is_empty()).then_some((name, *row))
            }
            ShownRow::Memory(_) | ShownRow::Entry(_) | ShownRow::Attempt(_) | ShownRow::Call(_) => {
                None
            }
        })
    };
    // A title that was retired may have been given again.
    let followed: HashMap<String, &MemoryRow> =
        titled().filter(|(_, row)| row.retired.is_none()).collect();
    let all = parse_text(text);
    let signs = signs_by_name(&all);
    let mut out = text.to_owned();
    let mut new = Vec::new();
    let mut done = HashSet::new();
    for (name, row) in titled() {
        let holding = signs.get(name.as_str()).filter(|sign| !sign.resolved);
        let again = followed.get(&name);
        if again.is_some_and(|again| again.id != row.id) || !done.insert(name.clone()) {
            continue;
        }
        match (holding, &row.retired) {
            // A person removed the line, or the branch has none: that wants no sign.
            (None, None) if is_line_rule(&row.memory) => {}
            (None, None) => new.push(new_sign(name, &row.memory)),
            (None, Some(_)) => {}
            (Some(sign), Some(retired)) => {
                let date = retired.at.strftime("%Y-%m-%d").to_string();
                let why = retired.why.as_deref().unwrap_or_default();
                out = match resolve_sign(&out, &name, why, &date) {
                    Ok(resolved) => resolved,
                    // What stands beside a line may say what it is.
                    Err(_) if sign.form == RuleForm::Line => out,
                    Err(error) => return Err(error),
                };
            }
            (Some(sign), None) => {
                let fields = changed_fields(&memory_of_sign(text, sign), &row.memory);
                out = apply_changes(out, sign, &name, &fields)?;
            }
        }
    }
    add_signs(&out, &new)
}

/// The text with those fields of a sign changed.
///
/// A field goes on until the next one begins, so one that is put into a sign
/// of free words may claim them. Then the sign stays as it is.
fn apply_changes(
    text: String,
    sign: &GuardrailSign,
    name: &str,
    fields: &[(FieldName, &str)],
) -> Result<String, EditError> {
    // Most signs say what the journal says: the text is not read for each of them.
    if fields.is_empty() {
        return Ok(text);
    }
    let mut out = text.clone();
    for (field, words) in fields {
        out = set_sign_field(&out, name, *field, words)?;
    }
    let wanted = |field: &FieldName| {
        let given = fields.iter().find(|(given, _)| given == field);
        let words = given.map(|(_, words)| *words).or_else(|| sign.get(*field));
        words.map(trim_lines)
    };
    let all = parse_text(&out);
    let says = |field| {
        all.find_sign(name)
            .and_then(|sign| sign.get(field))
            .map(trim_lines)
    };
    let as_said = FieldName::ALL
        .iter()
        .all(|field| says(*field) == wanted(field));
    Ok(if as_said { out } else { text })
}

fn is_line_rule(memory: &Memory) -> bool {
    let native = memory.native.as_ref();
    native.is_some_and(|native| native.face == FACE && native.body == LINE)
}

fn new_sign(name: String, memory: &Memory) -> NewSign {
    let words = |text: &Option<String>| text.as_deref().map(trim_lines).unwrap_or_default();
    NewSign {
        name,
        trigger: words(&memory.context),
        instruction: trim_lines(&memory.content),
        evidence: memory.evidence.as_deref().map(trim_lines),
        added_after: words(&memory.added_after),
    }
}

/// The fields in which a sign says something else than the journal.
///
/// A person may change evidence and occasion of a sign in the file without a question,
/// so those of the file stay unless the guardrail was revised.
fn changed_fields<'m>(have: &Memory, wanted: &'m Memory) -> Vec<(FieldName, &'m str)> {
    let differs =
        |have: Option<&str>, wanted: &str| have.is_none_or(|have| have != trim_lines(wanted));
    let content = Some(wanted.content.as_str())
        .filter(|words| differs(Some(&have.content), words))
        .filter(|words| !trim_lines(words).is_empty());
    let context = wanted.context.as_deref();
    let context = context.filter(|words| differs(have.context.as_deref(), words));
    let revised = content.is_some() || context.is_some();
    if !revised {
        return Vec::new();
    }
    let beside = |have: &Option<String>, wanted: &'m Option<String>| {
        let wanted = wanted.as_deref();
        wanted.filter(|words| differs(have.as_deref(), words))
    };
    let fields = [
        (FieldName::Trigger, context),
        (FieldName::Instruction, content),
        (
            FieldName::Evidence,
            beside(&have.evidence, &wanted.evidence),
        ),
        (
            FieldName::AddedAfter,
            beside(&have.added_after, &wanted.added_after),
        ),
    ];
    let said = |(name, words): (FieldName, Option<&'m str>)| {
        let words = words.filter(|words| !words.trim().is_empty())?;
        Some((name, words))
    };
    fields.into_iter().filter_map(said).collect()
}
